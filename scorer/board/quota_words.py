"""What is left of a quota, in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from scorer.entries.quotas import Left
from scorer.wording import counted


def left_in_words(left: Sequence[Left], phase: str | None) -> str:
    """What a team has left of each limit: ``1 of 2 scored entries a day, 4 of 5 scored entries in the phase main``.

    Parameters
    ----------
    left
        What is left of each limit; at least one.
    phase
        The phase that receives entries, or the next one; None for a track without phases.
    """
    scopes = {
        "per_day": "a day",
        "per_phase": f"in the phase {phase}" if phase else "in all phases",
        "total": "in all",
        "rejected_per_day": "a day",
    }
    return ", ".join(f"{each.left:,} of {_limit(each)} {scopes[each.what]}" for each in left)


def _limit(left: Left) -> str:
    if left.what == "rejected_per_day":
        return counted(left.limit, "rejected file")
    return counted(left.limit, "scored entry", "scored entries")


def next_reset(left: Sequence[Left]) -> datetime | None:
    """When the limits of a day begin again, in UTC; None if nothing of them is used."""
    return next((each.resets for each in left if each.used and each.resets), None)
