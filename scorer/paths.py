"""Where files are: on this machine, or behind the URL of a remote store.

A path is pathlib's. A URL, as in s3://bucket/submissions, is a Remote, which has those of its methods that reading
needs, over whatever fsspec knows (S3, Google Cloud Storage, SFTP, memory, ...). Both raise OSError, with words in it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any, NamedTuple

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
"""How a URL begins. One letter alone is a drive of Windows."""

PASSWORD = re.compile(r"(://[^/@:]*:)[^/]*@")


class Status(NamedTuple):
    """What is known of a remote file without reading it."""

    st_mode: int
    """As of a local file or folder."""
    st_size: int
    """Bytes; 0 where the store does not say."""


class _RemoteEntry(NamedTuple):
    """A file as its file system knows it."""

    system: Any
    """fsspec's."""
    path: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remote:
    """A file or a folder behind a URL. Nothing is asked of the store before a method is called."""

    url: str
    found: _RemoteEntry | None = field(default=None, compare=False, repr=False)
    """Set for what a listing named: such a name is foreign, and never read as a URL."""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.url.rstrip("/").rpartition("/")[2]

    def exists(self) -> bool:
        return self._type() is not None

    def is_file(self) -> bool:
        return self._type() == "file"

    def is_dir(self) -> bool:
        return self._type() == "directory"

    def stat(self) -> Status:
        with _in_words():
            facts = self._facts().facts
            mode = stat.S_IFDIR if facts["type"] == "directory" else stat.S_IFREG
            return Status(mode, int(facts.get("size") or 0))

    def changed(self) -> float | None:
        """When it was changed, in seconds since 1970; None where the store does not know."""
        with _in_words():
            system, path, _ = self._facts()
            try:
                when = system.modified(path)
            except NotImplementedError:
                return None
            return float(when.replace(tzinfo=when.tzinfo or UTC).timestamp()) if when else None

    def iterdir(self) -> Iterator[Remote]:
        with _in_words():
            system, path = self._place()
            system.invalidate_cache(path)
            inside = path.rstrip("/")
            for facts in system.ls(path, detail=True):
                parent, _, name = str(facts["name"]).rstrip("/").rpartition("/")
                # Stores without folders list an empty object in place of one.
                if name and parent == inside:
                    yield Remote(f"{self.url.rstrip('/')}/{name}", _RemoteEntry(system, facts["name"], facts))

    def open(self, mode: str = "rb") -> io.BufferedReader[Any]:
        """The content, as bytes: the only mode."""
        del mode
        with _in_words():
            system, path = self._place()
            return io.BufferedReader(_Stream(system.open(path, "rb")), buffer_size=1 << 20)

    def _type(self) -> str | None:
        with _in_words():
            try:
                return str(self._facts().facts["type"])
            except FileNotFoundError:
                return None

    def _facts(self) -> _RemoteEntry:
        if self.found is not None:
            return self.found
        system, path = self._place()
        return _RemoteEntry(system, path, system.info(path))

    def _place(self) -> tuple[Any, str]:
        """The file system and the path in it."""
        if self.found is not None:
            return self.found.system, self.found.path
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 (an optional extra, and slow to load)
        except ImportError as error:
            raise OSError(
                errno.ENOSYS, "reading from a URL needs more; `pip install challenge-scorer[remote]` installs it"
            ) from error
        system, path = url_to_fs(self.url)
        return system, str(path)

    def __str__(self) -> str:
        return shown(self.url)

    def __fspath__(self) -> str:
        """How messages call it."""
        return str(self)


Location = Path | Remote


def located(path: str | os.PathLike[str]) -> Location:
    """What a path or a URL stands for."""
    if isinstance(path, Path | Remote):
        return path
    text = os.fspath(path)
    return Remote(text) if is_url(text) else Path(text)


def is_url(text: str) -> bool:
    """Is it a URL, and no path?"""
    return URL.match(text) is not None


def shown(path: str | os.PathLike[str]) -> str:
    """A path or a URL as a message may show it, without a password."""
    return PASSWORD.sub(r"\1***@", os.fspath(path))


class _Stream(io.RawIOBase):
    """A remote file whose faults are told as those of a local one."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        with _in_words():
            content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


@contextmanager
def _in_words() -> Iterator[None]:
    """Every store has exceptions of its own; all become an OSError with a text."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "no such file") from error
    except PermissionError as error:
        raise PermissionError(errno.EACCES, "no permission to read it") from error
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        told = " ".join(str(error).split())
        raise OSError(errno.EIO, f"{type(error).__name__}: {told}" if told else type(error).__name__) from error


def digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of the file's bytes, in hexadecimal, as ``sha256sum`` prints it. Raises OSError."""
    with located(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


STANDARD_INPUT = "-"


def is_standard_input(path: str | os.PathLike[str]) -> bool:
    """A file of that name goes by ./- or as a Path."""
    return isinstance(path, str) and path == STANDARD_INPUT


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Is it an ordinary file, which can be read twice?"""
    return regular_size(path) is not None


def regular_size(path: str | os.PathLike[str]) -> int | None:
    """The bytes of a file; None for what is no ordinary one, and for a path that no file can have."""
    if is_standard_input(path):
        return None
    try:
        found = located(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
