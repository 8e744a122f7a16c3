"""The format of a bundle: the names of its members, and the digest of the whole.

A bundle is a ZIP archive. Members are not compressed, so that equal content gives equal bytes on any machine, and that
nothing grows when it is read. The last member, manifest.json, has the SHA-256 of the others. The comment of the archive
is ``sha256:`` and the SHA-256 of all bytes before the comment, so that any changed byte is noticed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import IO

FORMAT = "scorer-bundle"
VERSION = 1

MANIFEST = "manifest.json"
CHALLENGE = "challenge/"
TABLES = "tables/"
SOLUTIONS = "solutions/"
SUBMISSIONS = "submissions/"
INDEX = f"{SUBMISSIONS}index.jsonl"
"""A line for each file of a submissions folder in the bundle: its path and digest, by which the content is a member."""

SECRET = 0o600
"""The mode of a file that only its owner can read."""

COMMENT = "sha256:"
COMMENT_BYTES = len(COMMENT) + 64
"""The length of the comment: what it begins with, and the digits of the digest."""

HEADER_BYTES, EXTRA_BYTES = 30, 20
"""Bytes of the header of a member before its name, and of the sizes in 64 bits after it."""

CRC_AT = 14
"""Where a header has the CRC-32 of its member."""

DEEPEST, LONGEST_NAME = 100, 255
"""Folders on the way to a file, and bytes of a name. Few systems and programs accept more."""

CHUNK = 1 << 20
"""Bytes read at a time."""


def is_safe(path: str) -> bool:
    """Whether a relative path stays in its folder on every system, and can be the name of a member."""
    if re.search(r"[\x00-\x1f\x7f\\:\ud800-\udfff]", path):
        return False
    parts = path.split("/")
    is_short = len(parts) <= DEEPEST and all(len(part.encode()) <= LONGEST_NAME for part in parts)
    return is_short and all(part.strip() and part not in (".", "..") for part in parts)


def chunks_of(stream: IO[bytes], size: int | None = None) -> Iterator[bytes]:
    """The next bytes of an open file, in chunks: so many at most, or all until its end."""
    while (size is None or size > 0) and (chunk := stream.read(CHUNK if size is None else min(size, CHUNK))):
        size = None if size is None else size - len(chunk)
        yield chunk


def digest_of(chunks: Iterable[bytes]) -> str:
    """The SHA-256 of bytes in chunks, in hexadecimal."""
    found = hashlib.sha256()
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()
