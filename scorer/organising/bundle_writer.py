"""Writes a bundle; see `scorer.verification.bundle_archive`."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from scorer.paths import chunks_of, digest_of
from scorer.verification.bundle_archive import (
    COMMENT,
    COMMENT_BYTES,
    FORMAT,
    MANIFEST,
    SECRET,
    VERSION,
)

EARLIEST = (1980, 1, 1, 0, 0, 0)
"""The time of all members: the earliest that a ZIP archive can have."""

UNIX = 3
"""The system that the archive says it is from, on every system."""


class BundleWriter:
    """Writes a new bundle. Members are added in the order of their names."""

    def __init__(self, path: Path) -> None:
        """Create the file, which only its owner can read. Raises OSError."""
        self._path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), SECRET)
        self._stream = os.fdopen(descriptor, "w+b")
        self._archive = ZipFile(self._stream, "w", ZIP_STORED)
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._stream:
            self._archive.close()

    def add(self, name: str, chunks: Iterable[bytes]) -> None:
        """Add a member. Raises OSError."""
        if any(name <= other for other in self._digests):
            raise ValueError(f"not in order: {name}")
        found = hashlib.sha256()
        with self._archive.open(_member(name), "w", force_zip64=True) as member:
            for chunk in chunks:
                found.update(chunk)
                member.write(chunk)
        self._digests[name] = found.hexdigest()

    def finish(self, facts: Mapping[str, object]) -> str:
        """Add the manifest with these facts, and the digest of the whole; return the digest. Raises OSError."""
        manifest = {"format": FORMAT, "version": VERSION, **facts, "members": self._digests}
        with self._archive.open(_member(MANIFEST), "w", force_zip64=True) as member:
            member.write((json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode("ascii"))
        self._archive.comment = bytes(COMMENT_BYTES)
        self._archive.close()
        size = self._stream.seek(0, os.SEEK_END) - COMMENT_BYTES
        self._stream.seek(0)
        digest = digest_of(chunks_of(self._stream, size))
        self._stream.seek(size)
        self._stream.write(f"{COMMENT}{digest}".encode("ascii"))
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return digest


def _member(name: str) -> ZipInfo:
    info = ZipInfo(name, EARLIEST)
    info.create_system = UNIX
    info.external_attr = (stat.S_IFREG | SECRET) << 16
    return info
