"""Folders that tests read: the project, its documentation, and real data."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The folder of the project."""

DOCS = ROOT / "docs"

REAL_DATA = Path(os.environ.get("SCORER_REAL_DATA", ROOT.parent / "shared" / "data"))
"""Third-party files outside the project; tests on them are skipped, saying so, where they are absent."""


def tree(folder: Path, pattern: str = "*") -> dict[str, bytes]:
    """The bytes of each file in a folder by its relative path; those of hidden files unless the pattern is [!.]*."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob(pattern) if path.is_file()}
