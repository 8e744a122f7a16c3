"""Archives: the only file in a zip or tar archive. Nothing is extracted, and no name in it is used as a path."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import IO

from scorer.errors import system_failure
from scorer.wording import QUOTED, counted, printable, quoted

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
ZIP_ENTRY = b"PK\x01\x02"
"""The first bytes of the entry of each file in the directory of a zip archive."""
TAR, TAR_AT, TAR_BLOCK = b"ustar", 257, 512

LEFT_OVER = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)|/$", re.IGNORECASE)
"""Folders, and files of macOS and Windows that are no content."""

MOST = 1_000
"""The files that an archive may have."""
SHOWN = 5


class ArchiveError(Exception):
    """The archive has not exactly one file, or cannot be read."""


def is_archive(start: bytes) -> bool:
    """Whether the first bytes are those of a zip or tar archive."""
    return start.startswith(ZIP) or start[TAR_AT:].startswith(TAR)


def only_file(content: bytes) -> IO[bytes]:
    """Return the content of the only file in an archive. Raises ArchiveError."""
    try:
        return _in_zip(content) if content.startswith(ZIP) else _in_tar(content)
    except Exception as error:
        if isinstance(error, ArchiveError) or system_failure(error):
            raise
        raise ArchiveError(f"the archive cannot be read ({printable(str(error))[:QUOTED]}); pack it again") from error


def _only(names: list[str]) -> int:
    """Return the position of the only name that is no left-over. Raises ArchiveError."""
    files = [at for at, name in enumerate(names) if not LEFT_OVER.search(name)]
    if len(files) == 1 and len(names) <= MOST:
        return files[0]
    listed = ", ".join(quoted(names[at]) for at in files[:SHOWN]) + ", ..." * (len(files) > SHOWN)
    count = counted(len(files), "file") if len(names) <= MOST else f"more than {MOST:,} files"
    raise ArchiveError(f"found an archive of {count}{': ' * bool(files)}{listed}; expected one")


def _in_zip(content: bytes) -> IO[bytes]:
    import zipfile  # noqa: PLC0415 (few files need it)

    if content.count(ZIP_ENTRY) > MOST:  # before an object is made of each
        raise ArchiveError(f"found an archive of more than {MOST:,} files; expected one")
    archive = zipfile.ZipFile(io.BytesIO(content))
    return archive.open(archive.infolist()[_only(archive.namelist())])


def _in_tar(content: bytes) -> IO[bytes]:
    files = list(islice(_tar_files(content), MOST + 1))
    _, start, end = files[_only([name for name, _, _ in files])]
    return io.BytesIO(content[start:end])


def _tar_files(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the start and the end of each file. `tarfile` may recurse or loop on hostile headers."""
    at = 0
    while any(head := content[at : at + TAR_BLOCK]):  # a block of zeros is the end
        name = b"/".join(filter(None, (head[345:500].rstrip(b"\0"), head[:100].rstrip(b"\0")))).decode(errors="replace")
        is_binary = head[124] & 0x80
        size = int.from_bytes(head[125:136], "big") if is_binary else int(head[124:136].strip(b" \0") or b"0", 8)
        at += TAR_BLOCK
        if size < 0 or at + size > len(content):
            raise ArchiveError("the archive is cut short; send the whole file")
        if head[156:157] in (b"\0", b"0"):
            yield name, at, at + size
        at += -(-size // TAR_BLOCK) * TAR_BLOCK
