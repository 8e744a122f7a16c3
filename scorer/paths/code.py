"""The digest of the package's own code, so that nothing that is cached outlives a change of what computed it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_digest() -> str:
    """The SHA-256 of all modules of the package, in hexadecimal: the same wherever it is installed.

    It is that of the first call in a process: an installation that changes later does not change the modules that are
    in use.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).parts):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(package).as_posix()}\n{content}\n".encode())
    return digest.hexdigest()
