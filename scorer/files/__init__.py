"""Files on this machine, behind URLs, and below folders that others can write to.

A path is a pathlib.Path. A URL, as in s3://bucket/submissions, is a Remote: the methods of Path that reading needs, on
top of fsspec (S3, Google Cloud Storage, SFTP, memory, ...). Both raise OSError with a text for people. In a folder that
others can write to, nothing is trusted, and no link is followed.

universal-pathlib does not replace Remote: its paths parse the names in a listing. A file that a team calls ``a::b``
becomes another file once its path is pickled, and one called ``simplecache::x`` makes the folder unreadable.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple

NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
A_FILE = os.O_RDONLY | NO_LINKS | getattr(os, "O_NONBLOCK", 0)
"""Without O_NONBLOCK, opening a named pipe waits for a writer."""
_A_FOLDER = os.O_RDONLY | NO_LINKS | getattr(os, "O_DIRECTORY", 0)

BY_DESCRIPTOR = os.open in os.supports_dir_fd
"""Whether the system opens files relative to an open folder. Without it, a link is refused if it is there in time."""


A_LINK = "a link; links are not followed: submit the file itself"
NOT_REGULAR = "not a regular file"


NEW = ".answer.part"
"""The name of a file that is being written."""


class UnsafePathError(OSError):
    """The path is not a regular file, or is reached by a link."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EINVAL, reason)


@dataclass(frozen=True, slots=True)
class FileBelow:
    """A file below a folder, by the names of the folders on the way and its own.

    The folder itself may be reached by links: its path is the organiser's. Names are bytes to most systems; they are
    decoded with surrogateescape, as in the rest of Python, so different names are different texts.
    """

    root: Path
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def path(self) -> Path:
        """The path as one value. Opening it would follow links."""
        return self.root.joinpath(*self.parts)

    def open(self, mode: str = "rb") -> io.FileIO:
        """Open the file to read bytes, the only mode.

        Raises UnsafePathError where a part of the path is a link, or the file is a named pipe, a device or a folder;
        and OSError where the file cannot be opened.
        """
        del mode
        with _opened_folder(self.root, self.parts[:-1]) as folder:
            descriptor = _opened(self.name, A_FILE, folder, self.path)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnsafePathError(NOT_REGULAR)
        return io.FileIO(descriptor, "rb")

    def stat(self) -> os.stat_result:
        """The status of the file, of a link itself. Raises OSError."""
        with _opened_folder(self.root, self.parts[:-1]) as folder:
            return _status(self.name, folder, self.path)

    def version(self) -> str:
        """A text that differs once the file has changed. Raises OSError."""
        status = self.stat()
        return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"

    def put_next(self, suffix: str, content: bytes | None) -> None:
        """Write the file whose name is this one and `suffix` at once; without content, delete it. Raises OSError.

        A link in its place is replaced, not followed.
        """
        with _opened_folder(self.root, self.parts[:-1]) as folder:
            new, name = (
                each if folder is not None else self.path.with_name(each) for each in (NEW, self.name + suffix)
            )
            with suppress(FileNotFoundError):
                os.unlink(name if content is None else new, dir_fd=folder)
            if content is None:
                return
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS, 0o666, dir_fd=folder)
            with open(descriptor, "wb") as file:  # noqa: PTH123 (of a descriptor)
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)

    def list(self) -> Iterator[tuple[str, os.stat_result | OSError]]:
        """The names of the files in this folder, with the status of each (of a link itself), or why it is unknown.

        Raises UnsafePathError if it is a link or not a folder, and OSError if it cannot be read.
        """
        with _opened_folder(self.root, self.parts) as folder:
            names = os.listdir(self.path if folder is None else folder)  # noqa: PTH208 (of a descriptor)
            for name in sorted(names):
                try:
                    yield name, _status(name, folder, self.path / name if folder is None else self.root)
                except OSError as error:
                    yield name, error

    def __truediv__(self, name: str) -> FileBelow:
        """A file in this folder."""
        return FileBelow(self.root, (*self.parts, name))

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


@contextmanager
def _opened_folder(root: Path, parts: tuple[str, ...]) -> Iterator[int | None]:
    """The descriptor of a folder below the root; None where the system does not open files relative to it."""
    if not BY_DESCRIPTOR:
        path = root
        for part in parts:
            path = path / part
            _refuse_link(path.lstat())
        yield None
        return
    folder = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        path = root
        for part in parts:
            path = path / part
            inner = _opened(part, _A_FOLDER, folder, path)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _opened(name: str, flags: int, folder: int | None, path: Path) -> int:
    """The descriptor of a file in an open folder. Raises UnsafePathError for a link."""
    if folder is None:
        _refuse_link(path.lstat())
        return os.open(path, flags)
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        # Opening a link fails with ELOOP; as a folder, on some systems, with ENOTDIR.
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            _refuse_link(_status(name, folder, path))
        # A socket cannot be opened, nor a device without a driver.
        if error.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):
            raise UnsafePathError(NOT_REGULAR) from error
        raise


def _status(name: str, folder: int | None, path: Path) -> os.stat_result:
    return path.lstat() if folder is None else os.stat(name, dir_fd=folder, follow_symlinks=False)


def _refuse_link(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UnsafePathError(A_LINK)


URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
"""The beginning of a URL. A scheme of one letter would be a drive of Windows."""

_LEVEL = 1
"""Of the compression of kept bytes: the fastest that makes them much smaller; bytes that are compressed already cost
next to nothing."""

CHUNK = 1 << 20
"""Bytes read at a time."""

CLOCKS = frozenset({"s3", "gs", "az", "abfs"})
"""The protocols of stores whose times clients cannot set."""

PASSWORD = re.compile(r"(://[^/@:]*:)[^/]*@")


class _RemoteEntry(NamedTuple):
    """A file as its file system lists it."""

    system: Any
    """The file system of fsspec."""
    path: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remote:
    """A file or a folder behind a URL. Creating it does not access the store."""

    url: str
    entry: _RemoteEntry | None = field(default=None, compare=False, repr=False)
    """Set for a file that a listing named: such a name is not trusted and is never read as a URL."""

    @property
    def name(self) -> str:
        return self.url.rstrip("/").rpartition("/")[2]

    def exists(self) -> bool:
        return self._type() is not None

    def is_file(self) -> bool:
        return self._type() == "file"

    def is_dir(self) -> bool:
        return self._type() == "directory"

    def stat(self) -> os.stat_result:
        """The type and the size, which is 0 where the store does not state it; all else is 0."""
        with _os_errors():
            facts = self._facts().facts
            mode = stat.S_IFDIR if facts["type"] == "directory" else stat.S_IFREG
            return os.stat_result((mode, 0, 0, 0, 0, 0, int(facts.get("size") or 0), 0, 0, 0))

    def changed(self) -> float | None:
        """The time of the last change, in seconds since 1970; None where the store does not record it."""
        with _os_errors():
            system, path, _ = self._facts()
            try:
                when = system.modified(path)
            except NotImplementedError:
                return None
            return float(when.replace(tzinfo=when.tzinfo or UTC).timestamp()) if when else None

    def received(self) -> datetime | None:
        """When the file was complete, by a clock that no client can set; None without one.

        S3 states of an upload in parts when it began; the tag of such a file has a hyphen.
        """
        with _os_errors():
            system, _, facts = self._facts()
        protocols = {system.protocol} if isinstance(system.protocol, str) else {*system.protocol}
        changed = None if protocols.isdisjoint(CLOCKS) or "-" in _tag(facts) else self.changed()
        return None if changed is None else datetime.fromtimestamp(changed, UTC)

    def version(self) -> str:
        """A text that differs once the file has changed; empty if the store says nothing that would."""
        tag, changed = _tag(self._facts().facts), self.changed()
        return f"{self.stat().st_size} {tag} {changed and int(changed)}" if tag or changed else ""

    def fresh(self) -> Remote:
        """The file with what the store says of it now. Raises OSError."""
        with _os_errors():
            system, path = self._address()
            system.invalidate_cache(path)
            return Remote(self.url, _RemoteEntry(system, path, system.info(path)))

    def put_next(self, suffix: str, content: bytes | None) -> None:
        """Write the file whose name is this one and `suffix`; without content, delete it. Raises OSError."""
        with _os_errors("write"):
            system, path = self._address()
            system.rm_file(path + suffix) if content is None else system.pipe_file(path + suffix, content)

    def iterdir(self) -> Iterator[Remote]:
        with _os_errors():
            system, path = self._address()
            system.invalidate_cache(path)
            inside = path.rstrip("/")
            for facts in system.ls(path, detail=True):
                parent, _, name = str(facts["name"]).rstrip("/").rpartition("/")
                # Stores without folders list an empty object for the folder itself.
                if name and parent == inside:
                    yield Remote(f"{self.url.rstrip('/')}/{name}", _RemoteEntry(system, facts["name"], facts))

    def open(self, mode: str = "rb") -> io.BufferedReader[Any]:
        """Open the file to read bytes, the only mode."""
        del mode
        with _os_errors():
            system, path = self._address()
            return io.BufferedReader(_Stream(system.open(path, "rb")), buffer_size=1 << 20)

    def _type(self) -> str | None:
        with _os_errors():
            try:
                return str(self._facts().facts["type"])
            except FileNotFoundError:
                return None

    def _facts(self) -> _RemoteEntry:
        if self.entry is not None:
            return self.entry
        system, path = self._address()
        return _RemoteEntry(system, path, system.info(path))

    def _address(self) -> tuple[Any, str]:
        """The file system and the path of this file in it."""
        if self.entry is not None:
            return self.entry.system, self.entry.path
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 (an optional extra, and slow to load)
        except ImportError as error:
            text = "fsspec is not installed; install it with `pip install 'challenge-scorer[remote]'`"
            raise OSError(errno.ENOSYS, text) from error
        system, path = url_to_fs(self.url)
        return system, str(path)

    def __str__(self) -> str:
        return shown(self.url)

    def __fspath__(self) -> str:
        return str(self)


def _tag(facts: Mapping[str, Any]) -> str:
    """What a store calls the content of a file; empty where it has no such tags."""
    return str(facts.get("ETag") or facts.get("etag") or "")


@dataclass(frozen=True)
class Compressed:
    """A file of this machine that `compressed_chunk` wrote, chunk by chunk; it is read as what it was before."""

    path: Path

    def open(self, mode: str = "rb") -> Any:
        """Open the file to read its content, the only mode. Raises OSError, also while reading damaged bytes."""
        del mode
        import pyarrow as pa  # noqa: PLC0415 (slow to load)

        return pa.CompressedInputStream(pa.OSFile(str(self.path)), "zstd")

    @cached_property
    def _size(self) -> int:
        with self.open() as stream:
            return sum(map(len, chunks_of(stream)))

    def stat(self) -> os.stat_result:
        """The status of the file with the size of its content, which is counted. Raises OSError."""
        status = self.path.stat()
        return os.stat_result((*status[:6], self._size, *status[7:]))

    def __fspath__(self) -> str:
        return str(self.path)


Location = Path | Remote
"""A file or folder of the organiser's."""

AnyFile = Location | FileBelow | Compressed
"""These, the files of teams, and the bytes of submissions that are kept."""


def compressed_chunk(chunk: bytes) -> bytes:
    """A chunk of the content of a `Compressed`, as its file has it."""
    import pyarrow as pa  # noqa: PLC0415

    packed: bytes = pa.Codec("zstd", compression_level=_LEVEL).compress(chunk, asbytes=True)
    return packed


def located(path: str | os.PathLike[str]) -> AnyFile:
    """The path or the remote file that `path` names."""
    if isinstance(path, AnyFile):
        return path
    text = os.fspath(path)
    return Remote(text) if is_url(text) else Path(text)


def is_url(text: str) -> bool:
    """Whether `text` is a URL."""
    return URL.match(text) is not None


def shown(path: str | os.PathLike[str]) -> str:
    """A path or a URL without its password, for a message."""
    return PASSWORD.sub(r"\1***@", os.fspath(path))


class _Stream(io.RawIOBase):
    """The bytes of a remote file. Errors are those of a local file."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        with _os_errors():
            content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _os_errors(work: str = "read") -> Iterator[None]:
    """Turn every exception of a store into an OSError with a text. `work` is what is done to a file."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "no such file") from error
    except PermissionError as error:
        raise PermissionError(errno.EACCES, f"no permission to {work} it") from error
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        text = " ".join(str(error).split())
        raise OSError(errno.EIO, f"{type(error).__name__}: {text}" if text else type(error).__name__) from error


def digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of the file's bytes, in hexadecimal, as ``sha256sum`` prints it. Raises OSError."""
    with located(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_of(chunks: Iterable[bytes]) -> str:
    """SHA-256 of bytes in chunks, in hexadecimal."""
    whole = hashlib.sha256()
    for chunk in chunks:
        whole.update(chunk)
    return whole.hexdigest()


def chunks_of(stream: IO[bytes], most: int | None = None) -> Iterator[bytes]:
    """The next bytes of an open file, in chunks: so many at most, or all until its end."""
    while (most is None or most > 0) and (chunk := stream.read(CHUNK if most is None else min(most, CHUNK))):
        most = None if most is None else most - len(chunk)
        yield chunk


@cache
def code_digest() -> str:
    """The SHA-256 of all modules, words and templates of the package, in hexadecimal, the same wherever that is.

    With it in their keys, cached values do not outlive a change of the code that computed them. It is that of the first
    call in a process: an installation that changes later does not change the modules that are in use.
    """
    whole = hashlib.sha256()
    for name, path in _code_files():
        whole.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


@cache
def code_status() -> list[tuple[str, int, int]]:
    """The name, the size and the time of each of these files, which tell that one has changed, and are read faster."""
    files = ((name, path.stat()) for name, path in _code_files())
    return [(name, status.st_size, status.st_mtime_ns) for name, status in files]


def _code_files() -> list[tuple[str, Path]]:
    """The modules, words and templates of the package, by their names, sorted."""
    package, templates = Path(__file__).parents[1], shipped_templates()
    files = [("scorer", package, path) for kind in ("py", "toml") for path in package.rglob(f"*.{kind}")]
    files += [("templates", templates, path) for path in templates.glob("*") if path.is_file()]
    return sorted((f"{place}/{path.relative_to(folder).as_posix()}", path) for place, folder, path in files)


def shipped_templates() -> Path:
    """The folder of the shipped templates: in the package if installed, next to it in the repository."""
    package = Path(__file__).parents[1]
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"


STANDARD_INPUT = "-"


def is_standard_input(path: str | os.PathLike[str]) -> bool:
    """Whether `path` means standard input. A file called "-" is ./- or a Path."""
    return isinstance(path, str) and path == STANDARD_INPUT


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is a regular file, which can be read twice."""
    return regular_size(path) is not None


def regular_size(path: str | os.PathLike[str]) -> int | None:
    """The size of a regular file in bytes; None for anything else, and for an invalid path."""
    if is_standard_input(path):
        return None
    try:
        status = located(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
