"""Large solutions, indexed once and kept on disk under the digest of what they were read from.

To index five million judgements takes seconds, to take them up again a part of one; below some hundred thousand the
difference is not worth a file. What is kept is a copy: where it is missing, damaged or cannot be written, the solution
is read as if there were no cache. It is off where the variable ``SCORER_CACHE`` says ``off``; else that names the
folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.formats.arrow import strings, text_buffers
from scorer.formats.text import regular_size
from scorer.hits import Hits
from scorer.solution import Solution
from scorer.solution import digest as sha256

VARIABLE = "SCORER_CACHE"
OFF = "off"

WORTH = 1 << 24
"""Bytes of a file from which on its solution is kept."""

ROOM = 1 << 30
"""Bytes that all that is kept may take; what was not used for longest goes first, the newest stays."""

SUFFIX = ".npz"
HITS = ("query", "rank", "grade", "tie_rank")


def read_solution(
    path: str | os.PathLike[str], format_name: str | None = None, *, digest: str | None = None
) -> Solution:
    """As `Solution.read`, from the cache where it is there. Raises SolutionError."""
    folder = _folder() if (regular_size(path) or 0) >= WORTH else None
    if folder is None:
        return Solution.read(path, format_name, digest=digest)
    try:
        found = digest or sha256(path)
    except OSError:
        return Solution.read(path, format_name)  # which tells why it cannot be read
    kept = folder / f"{_key(found, format_name)}{SUFFIX}"
    solution = _taken_up(kept)
    if solution is None:
        solution = Solution.read(path, format_name, digest=found)
        _keep(solution, kept)
    return solution


def _folder() -> Path | None:
    """Where solutions are kept; None where they are not to be, or where nobody knows."""
    named = os.environ.get(VARIABLE)
    if named:
        return None if named == OFF else Path(named)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "scorer" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "scorer"


def _key(found: str, format_name: str | None) -> str:
    """Another one for other bytes, another format, another scorer, or a Solution of other parts."""
    from importlib.metadata import version

    parts = [found, str(format_name), version("challenge-scorer"), *(field.name for field in fields(Solution))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _taken_up(kept: Path) -> Solution | None:
    """What is kept there; None where there is nothing, or nothing sound: the container has a check sum of each part."""
    from zipfile import BadZipFile

    try:
        with np.load(kept, allow_pickle=False) as parts:
            solution = _of_arrays({name: parts[name] for name in parts.files})
        os.utime(kept)
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile, pa.ArrowException):
        return None
    return solution


def _keep(solution: Solution, kept: Path) -> None:
    """Whole or not at all: where it cannot be written, there is none."""
    import tempfile

    try:
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, part = tempfile.mkstemp(dir=kept.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                np.savez(stream, **_arrays(solution))  # type: ignore[arg-type]  # it takes any names
            Path(part).replace(kept)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise
        _make_room(kept)
    except OSError:
        return


def _make_room(newest: Path) -> None:
    others = [(file.stat(), file) for file in newest.parent.glob(f"*{SUFFIX}") if file != newest]
    left = ROOM - newest.stat().st_size
    for stat, file in sorted(others, key=lambda other: other[0].st_mtime_ns, reverse=True):
        left -= stat.st_size
        if left < 0:
            file.unlink(missing_ok=True)


def _arrays(solution: Solution) -> dict[str, np.ndarray[Any, Any]]:
    """The parts as arrays of numbers; texts as their bytes and where each ends."""
    arrays = {f"ideal.{name}": getattr(solution.ideal, name) for name in HITS}
    for field in fields(Solution):
        part = getattr(solution, field.name)
        if isinstance(part, pa.StringArray):
            ends, content = text_buffers(part)
            arrays |= {f"{field.name}.ends": ends, f"{field.name}.content": content}
        elif not isinstance(part, Hits):
            arrays[field.name] = part
    return {name: _narrow(array) for name, array in arrays.items()}


def _of_arrays(arrays: dict[str, np.ndarray[Any, Any]]) -> Solution:
    parts: dict[str, Any] = {
        name: array.astype(np.int64) if array.dtype == np.int32 else array for name, array in arrays.items()
    }
    for name in ("queries", "items"):
        parts[name] = strings(parts.pop(f"{name}.ends"), parts.pop(f"{name}.content").tobytes())
    ideal = Hits(**{name: parts.pop(f"ideal.{name}") for name in HITS})
    return Solution(ideal=ideal, **parts)


def _narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whole numbers in half the bytes, where they fit."""
    fits = array.dtype == np.int64 and array.max(initial=0) < 2**31 and array.min(initial=0) >= -(2**31)
    return array.astype(np.int32) if fits else array
