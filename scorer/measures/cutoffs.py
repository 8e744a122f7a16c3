"""Cut-offs of measures: which ones a kind takes, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from scorer.errors import MeasureError

Cutoff = int | float | tuple[int, ...] | None
"""How much of a list a measure looks at: k items, a level of recall, a multiple of R, several k, or with None the whole
list."""

CutoffRule = Literal["none", "optional", "required", "list", "level", "multiple"]
"""Which cut-offs a kind takes. With "list" several k make one measure; with the others, one measure each."""

LARGEST_CUTOFF = 10**9
LARGEST_MULTIPLE = 1000

_NEEDED = {
    "required": "needs a cut-off, as in {}@10",
    "list": "needs cut-offs, as in {}@5,10",
    "level": "needs a level of recall, as in {}@0.1",
    "multiple": "needs a multiple of R, as in {}@0.5",
}


def checked(name: str, rule: CutoffRule, cutoff: float | Sequence[float] | None) -> Cutoff:
    """Return a cut-off in the form that a kind takes; None or empty means the whole list.

    Raises MeasureError, whose text continues the name of the kind, where the kind does not take this cut-off.
    """
    if cutoff is None or cutoff == ():
        if rule in _NEEDED:
            raise MeasureError(_NEEDED[rule].format(name))
        return None
    if rule == "none":
        raise MeasureError("takes no cut-off")
    if rule == "list":
        return _whole_cutoffs(cutoff if isinstance(cutoff, Sequence) else (cutoff,))
    if isinstance(cutoff, Sequence):
        raise MeasureError(f"takes one cut-off; found {len(cutoff)}")
    if rule == "multiple":
        return _multiple(cutoff)
    return _level(cutoff) if rule == "level" else _whole_cutoff(cutoff)


def _whole_cutoff(cutoff: float) -> int:
    """Return `cutoff` as a number of items."""
    if not 1 <= cutoff <= LARGEST_CUTOFF or cutoff != int(cutoff):
        raise MeasureError(f"takes a whole number from 1 to {LARGEST_CUTOFF:,} as a cut-off; found {cutoff:g}")
    return int(cutoff)


def _whole_cutoffs(cutoffs: Sequence[float]) -> tuple[int, ...]:
    """Return `cutoffs` as numbers of items, in ascending order."""
    ascending = sorted(map(_whole_cutoff, cutoffs))
    if len(set(ascending)) < len(ascending):
        raise MeasureError(f"takes a cut-off only once; found {','.join(map(str, ascending))}")
    return tuple(ascending)


def _level(level: float) -> float:
    """Return `level` as a level of recall."""
    if not 0 <= level <= 1:
        raise MeasureError(f"takes a number from 0 to 1 as the level of recall; found {level:g}")
    return float(level)


def _multiple(multiple: float) -> float:
    """Return `multiple` as a multiple of R."""
    if not 0 <= multiple <= LARGEST_MULTIPLE:
        raise MeasureError(f"takes a number from 0 to {LARGEST_MULTIPLE} as the multiple of R; found {multiple:g}")
    return float(multiple)
