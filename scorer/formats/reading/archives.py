"""Archives: the only file in a zip or tar archive. Nothing is extracted, and no name in it is used as a path."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
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

Files = list[tuple[str, Callable[[], IO[bytes]]]]
"""Names and how to open each."""


class ArchiveError(Exception):
    """The archive has not exactly one file, or cannot be read."""


def is_archive(start: bytes) -> bool:
    """Whether the first bytes are those of a zip or tar archive."""
    return start.startswith(ZIP) or start[TAR_AT:].startswith(TAR)


def only_file(content: bytes) -> IO[bytes]:
    """Return the content of the only file in an archive. Raises ArchiveError."""
    try:
        files = _in_zip(content) if content.startswith(ZIP) else _in_tar(content)
        files = [(name, opened) for name, opened in files if not LEFT_OVER.search(name)]
        if len(files) == 1:
            return files[0][1]()
    except Exception as error:
        if isinstance(error, ArchiveError) or system_failure(error):
            raise
        raise ArchiveError(f"the archive cannot be read ({printable(str(error))[:QUOTED]}); pack it again") from error
    names = ", ".join(quoted(name) for name, _ in files[:SHOWN]) + (", ..." if len(files) > SHOWN else "")
    raise ArchiveError(f"found an archive of {counted(len(files), 'file')}{': ' if files else ''}{names}; expected one")


def _in_zip(content: bytes) -> Files:
    if content.count(ZIP_ENTRY) > MOST:
        raise ArchiveError(f"the archive has more than {MOST:,} files; expected one")
    import zipfile  # noqa: PLC0415 (few files need it)

    archive = zipfile.ZipFile(io.BytesIO(content))
    return [(info.filename, partial(archive.open, info)) for info in archive.infolist()]


def _in_tar(content: bytes) -> Files:
    files: Files = []
    at = 0
    while any(head := content[at : at + TAR_BLOCK]):  # a block of zeros is the end
        name = b"/".join(filter(None, (head[345:500].rstrip(b"\0"), head[:100].rstrip(b"\0")))).decode(errors="replace")
        is_binary = head[124] & 0x80
        size = int.from_bytes(head[125:136], "big") if is_binary else int(head[124:136].strip(b" \0") or b"0", 8)
        at += TAR_BLOCK
        if at + size > len(content):
            raise ArchiveError("the archive is cut short; send the whole file")
        if head[156:157] in b"\x000":
            files.append((name, partial(_part, content, at, at + size)))
        if len(files) > MOST:
            raise ArchiveError(f"the archive has more than {MOST:,} files; expected one")
        at += -(-size // TAR_BLOCK) * TAR_BLOCK
    return files


def _part(content: bytes, start: int, end: int) -> IO[bytes]:
    return io.BytesIO(content[start:end])
