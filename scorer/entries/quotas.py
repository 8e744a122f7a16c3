"""Quotas: which entries of a team are within the limits, in the order of the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from scorer.challenge.quota import Quota

Cost = Literal["scored", "rejected", "open", "none"]
"""What an entry costs: a place among the scored or the rejected ones; not known yet; nothing."""

Pool = Callable[[str, int], Collection[str]]
"""The teams whose entries count together with those of a team, as of an index of the record."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An entry that takes part in the quotas."""

    index: int
    """Of its arrival: entries are considered in this order."""
    team: str
    received: datetime
    phase: str | None
    cost: Cost
    """If it is admitted."""


@dataclass(frozen=True, slots=True)
class _Used:
    """What a team has used. `scored` and `rejected` are certain; with `open` they are what they may become."""

    scored: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)


TOTAL = "total"


def admissions(claims: Iterable[Claim], quota: Quota, pool: Pool) -> dict[int, bool | None]:
    """Whether each entry is within the quota.

    Entries are considered in the order of their indexes. A scored entry takes a place of its day, of its phase, and of
    the total; a rejected one takes a place among the rejected files of its day; an entry that could not be scored for a
    reason of ours takes none. When the rejected files of a day reach their limit, later entries of the day are over the
    quota.

    Parameters
    ----------
    claims
        The entries, in any order.
    quota
        The limits; days are calendar days in the zone of the quota.
    pool
        The teams that share a quota.

    Returns
    -------
    dict
        By index: True within the quota, False over it, None if it depends on an earlier entry that has no outcome yet.
    """
    used: dict[str, _Used] = {}
    found: dict[int, bool | None] = {}
    for claim in sorted(claims, key=lambda claim: claim.index):
        members = [used.setdefault(team, _Used()) for team in sorted({claim.team, *pool(claim.team, claim.index)})]
        admitted = _is_within(claim, quota, members)
        found[claim.index] = admitted
        if admitted is not False:
            own = used[claim.team]
            cost = "open" if admitted is None and claim.cost != "none" else claim.cost
            if cost != "none":
                getattr(own, cost).update(_scopes(claim, quota))
    return found


def _scopes(claim: Claim, quota: Quota) -> tuple[str, str, str]:
    """What an entry counts for: its day, its phase, the total."""
    return f"day {quota.day(claim.received)}", f"phase {claim.phase or ''}", TOTAL


def _is_within(claim: Claim, quota: Quota, members: Sequence[_Used]) -> bool | None:
    day, phase, total = _scopes(claim, quota)
    certain = possible = True
    for limit, scope, kind in (
        (quota.per_day, day, "scored"),
        (quota.per_phase, phase, "scored"),
        (quota.total, total, "scored"),
        (quota.rejected_per_day, day, "rejected"),
    ):
        if limit is None:
            continue
        least = sum(getattr(each, kind)[scope] for each in members)
        most = least + sum(each.open[scope] for each in members)
        possible &= least < limit
        certain &= most < limit
    return None if possible and not certain else possible


@dataclass(frozen=True, slots=True)
class Left:
    """What a team has left of one limit."""

    what: Literal["per_day", "per_phase", "total", "rejected_per_day"]
    limit: int
    used: int
    """By entries with an outcome, and by those that may still take a place."""
    resets: datetime | None
    """When it begins again, in UTC; None if it does not."""

    @property
    def left(self) -> int:
        return max(self.limit - self.used, 0)


def remaining(
    claims: Sequence[Claim], quota: Quota, members: Collection[str], now: datetime, phase: str | None
) -> tuple[Left, ...]:
    """What a team has left now.

    Parameters
    ----------
    claims
        The admitted entries that take part in the quotas.
    quota
        The limits.
    members
        The teams that share the quota, with the team itself.
    now
        The time, with a zone.
    phase
        The phase that receives entries now.
    """
    today, resets = quota.day(now), quota.next_day(now)
    ours = [claim for claim in claims if claim.team in members]
    scored, rejected = ([claim for claim in ours if claim.cost in (cost, "open")] for cost in ("scored", "rejected"))
    counts: Mapping[str, tuple[int, datetime | None]] = {
        "per_day": (sum(quota.day(claim.received) == today for claim in scored), resets),
        "per_phase": (sum(claim.phase == phase for claim in scored), None),
        "total": (len(scored), None),
        "rejected_per_day": (sum(quota.day(claim.received) == today for claim in rejected), resets),
    }
    return tuple(
        Left(what, limit, *counts[what])
        for what in ("per_day", "per_phase", "total", "rejected_per_day")
        if (limit := getattr(quota, what)) is not None
    )
