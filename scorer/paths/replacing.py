"""Replaces the content of a file at once, so that nobody sees half of it."""

from __future__ import annotations

from pathlib import Path

PART = ".part"
"""The suffix of a file that is being written."""


def part_of(path: Path) -> Path:
    """Return the file that the new content is written to first."""
    return path.with_name(path.name + PART)


def replace_content(path: Path, content: bytes) -> bool:
    """Replace the content of a file; return whether it changed. Its folder is made if necessary. Raises OSError.

    A device or a pipe, such as /dev/stdout, is written to directly.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return True
    if _bytes(path) == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
    return True


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
