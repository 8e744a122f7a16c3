"""Files below a folder that others can write to: nothing in it is trusted, and no link is followed."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
A_FILE = os.O_RDONLY | NO_LINKS | getattr(os, "O_NONBLOCK", 0)
"""Without O_NONBLOCK, opening a named pipe waits for a writer."""
A_FOLDER = os.O_RDONLY | NO_LINKS | getattr(os, "O_DIRECTORY", 0)

BY_DESCRIPTOR = os.open in os.supports_dir_fd
"""Whether the system opens files relative to an open folder. Without it, a link is refused if it is there in time."""


A_LINK = "a link; links are not followed: submit the file itself"
NOT_REGULAR = "not a regular file"


NEW = ".answer.part"
"""The name of a file that is being written."""


class RefusedError(OSError):
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
        """The last part of the path."""
        return self.parts[-1]

    @property
    def path(self) -> Path:
        """The path as one value. Opening it would follow links."""
        return self.root.joinpath(*self.parts)

    def open(self, mode: str = "rb") -> io.FileIO:
        """Open the file to read bytes, the only mode.

        Raises RefusedError where a part of the path is a link, or the file is a named pipe, a device or a folder; and
        OSError where the file cannot be opened.
        """
        del mode
        with _opened_folder(self.root, self.parts[:-1]) as folder:
            descriptor = _opened(self.name, A_FILE, folder, self.path)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RefusedError(NOT_REGULAR)
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

    def list(self) -> Iterator[tuple[FileBelow, os.stat_result | OSError]]:
        """The files in this folder, by name, with the status of each (of a link itself), or why it is unknown.

        Raises RefusedError if it is a link or not a folder, and OSError if it cannot be read.
        """
        with _opened_folder(self.root, self.parts) as folder:
            names = os.listdir(self.path if folder is None else folder)  # noqa: PTH208 (of a descriptor)
            for name in sorted(names):
                below = FileBelow(self.root, (*self.parts, name))
                try:
                    yield below, _status(name, folder, below.path)
                except OSError as error:
                    yield below, error

    def __fspath__(self) -> str:
        """The text that messages show."""
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)


def files_in(root: Path) -> Iterator[tuple[FileBelow, os.stat_result | OSError]]:
    """The files in a folder of the organiser's, as `FileBelow.list`."""
    return FileBelow(root, ()).list()


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
            inner = _opened(part, A_FOLDER, folder, path)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _opened(name: str, flags: int, folder: int | None, path: Path) -> int:
    """The descriptor of a file in an open folder. Raises RefusedError for a link."""
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
            raise RefusedError(NOT_REGULAR) from error
        raise


def _status(name: str, folder: int | None, path: Path) -> os.stat_result:
    return path.lstat() if folder is None else os.stat(name, dir_fd=folder, follow_symlinks=False)


def _refuse_link(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise RefusedError(A_LINK)
