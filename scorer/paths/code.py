"""Digests of the package's own code, so that nothing that is cached outlives a change of what computed it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_digest(*rooms: str) -> str:
    """The SHA-256 of the modules in some folders of the package, in hexadecimal."""
    found = hashlib.sha256()
    for room in rooms:
        for file in sorted((Path(__file__).parents[1] / room).glob("*.py")):
            found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()
