"""Quotas: how many entries of a team are within the limits."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Annotated, ClassVar, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from scorer.record.log import RESOLUTION
from scorer.rules.phases import Phase, Phases
from scorer.rules.tables import SettingsTable, sentences
from scorer.wording import counted, joined, utc_moment

COUNT = "a whole number from 1"


def _known_zone(name: str) -> str:
    """The name in the IANA database, where the sign of an offset is the opposite: "AoE" is UTC-12, "Etc/GMT+12"."""
    offset = re.fullmatch(r"(?:UTC|GMT)([+-])0?(\d{1,2})(?::?00)?", "UTC-12" if name == "AoE" else name)
    if offset:
        name = f"Etc/GMT{'-' if offset[1] == '+' else '+'}{offset[2]}"
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError("is not the name of a time zone") from None
    return name


def zone_text(zone: str) -> str:
    """A zone as people write it: ``AoE``, ``UTC+2``, ``Europe/Ljubljana``."""
    signs = {"Etc/GMT+": "UTC-", "Etc/GMT-": "UTC+"}
    return "AoE" if zone == "Etc/GMT+12" else signs.get(zone[:8], zone[:8]) + zone[8:]


_Count = Annotated[int, Field(ge=1, le=10**9)]


class Quota(SettingsTable):
    """The limits on the entries of a team in a track; None: no limit."""

    always_recorded: ClassVar = frozenset({"per_day", "zone", "per_phase", "total", "rejected_per_day"})

    per_day: _Count | None = Field(None, description=COUNT)
    zone: Annotated[str, AfterValidator(_known_zone)] = Field(
        "UTC", description='the name of a time zone, as in "UTC", "Europe/Ljubljana", "UTC-12" or "AoE"'
    )
    per_phase: _Count | None = Field(None, description=COUNT)
    total: _Count | None = Field(None, description=COUNT)
    rejected_per_day: _Count | None = Field(None, description=COUNT)

    @property
    def limits_anything(self) -> bool:
        return any(limit is not None for limit in (self.per_day, self.per_phase, self.total, self.rejected_per_day))

    @property
    def counts_days(self) -> bool:
        """Whether the day of an entry matters."""
        return self.per_day is not None or self.rejected_per_day is not None

    def day(self, moment: datetime) -> str:
        """The calendar day of a moment in the zone of the quota, as in ``2027-04-18``."""
        return self._local(moment).date().isoformat()

    def next_day(self, moment: datetime) -> datetime:
        """When the next calendar day begins, in UTC: when the limits per day begin again."""
        tomorrow = self._local(moment).date() + timedelta(days=1)
        return datetime.combine(tomorrow, time(), ZoneInfo(self.zone)).astimezone(UTC)

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.zone))


NO_QUOTA = Quota.model_construct()


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


_Used = Counter[tuple[Cost, tuple[str, str | None]]]
"""What a team has used of each scope: "scored" and "rejected" are certain; "open" may become either."""

_Limit = Literal["per_day", "per_phase", "total", "rejected_per_day"]
_Scope = Literal["day", "phase", "total"]

_LIMITS: tuple[tuple[_Limit, Cost, _Scope], ...] = (
    ("per_day", "scored", "day"),
    ("per_phase", "scored", "phase"),
    ("total", "scored", "total"),
    ("rejected_per_day", "rejected", "day"),
)
"""The keys of a quota, with which entries each limits, and where they are counted."""


def admissions(claims: Iterable[Claim], quota: Quota, pool: Pool) -> dict[int, bool | None]:
    """Whether each entry is within the quota, by index; None if that depends on an earlier entry without an outcome.

    Entries are considered in the order of their indexes. A scored entry takes a place of its day, of its phase, and of
    the total; a rejected one takes a place among the rejected files of its day; an entry that could not be scored for a
    reason of ours takes none. When the rejected files of a day reach their limit, later entries of the day are over the
    quota. Days are calendar days in the zone of the quota.
    """
    used: dict[str, _Used] = {}
    within: dict[int, bool | None] = {}
    for claim in sorted(claims, key=lambda claim: claim.index):
        members = [used.setdefault(team, Counter()) for team in sorted({claim.team, *pool(claim.team, claim.index)})]
        scopes = _scopes(claim.received, claim.phase, quota)
        admitted = _is_within(scopes, quota, members)
        within[claim.index] = admitted
        if admitted is not False:
            cost: Cost = "open" if admitted is None and claim.cost != "none" else claim.cost
            if cost != "none":
                used[claim.team].update((cost, scope) for scope in scopes.items())
    return within


def _scopes(received: datetime, phase: str | None, quota: Quota) -> Mapping[_Scope, str | None]:
    """What an entry of a phase counts for, by its time of receipt: its day, its phase, the total."""
    return {"day": quota.day(received), "phase": phase, "total": None}


def _is_within(scopes: Mapping[_Scope, str | None], quota: Quota, members: Sequence[_Used]) -> bool | None:
    certain = possible = True
    for key, cost, kind in _LIMITS:
        limit: int | None = getattr(quota, key)
        if limit is None:
            continue
        scope = kind, scopes[kind]
        least = sum(used[cost, scope] for used in members)
        most = least + sum(used["open", scope] for used in members)
        possible &= least < limit
        certain &= most < limit
    return None if possible and not certain else possible


@dataclass(frozen=True, slots=True)
class Left:
    """What a team has left of one limit."""

    what: _Limit
    limit: int
    used: int
    """By entries with an outcome, and by those that may still take a place."""
    waiting: int
    """How many of these have no outcome yet."""
    resets: datetime | None
    """When it begins again, in UTC; None if it does not."""

    @property
    def left(self) -> int:
        return max(self.limit - self.used, 0)

    @property
    def expected(self) -> int:
        """What is left if the entries without an outcome are scored."""
        rejected = self.waiting if self.what == "rejected_per_day" else 0
        return max(self.limit - self.used + rejected, 0)


@dataclass(frozen=True)
class UsedQuota:
    """What the teams of a track have used of their quota."""

    quota: Quota
    phases: Phases
    claims: tuple[Claim, ...]
    """The entries that are within the quota, or may be."""

    @cached_property
    def _by_team(self) -> Mapping[str, Sequence[Claim]]:
        by_team: dict[str, list[Claim]] = defaultdict(list)
        for claim in self.claims:
            by_team[claim.team].append(claim)
        return by_team

    def left(self, members: Collection[str], now: datetime) -> tuple[Left, ...]:
        """What a team has left of each limit, given the folders of the teams that share its quota.

        Between phases, the limit on the entries of a phase is that of the next one. Empty without a quota, and once the
        last phase has closed.
        """
        quota = self.quota
        if not quota.limits_anything or self.phases.is_over(now):
            return ()
        current = self.phases.current_or_next(now)
        here = _scopes(now, current.name if current else None, quota)
        ours = [
            (claim.cost, _scopes(claim.received, claim.phase, quota))
            for team in members
            for claim in self._by_team.get(team, ())
        ]
        return tuple(
            Left(
                key,
                limit,
                sum(claimed in (cost, "open") and scopes[scope] == here[scope] for claimed, scopes in ours),
                sum(claimed == "open" and scopes[scope] == here[scope] for claimed, scopes in ours),
                quota.next_day(now) if scope == "day" else None,
            )
            for key, cost, scope in _LIMITS
            if (limit := getattr(quota, key)) is not None
        )

    def open_in_words(self, members: Collection[str]) -> str:
        """How many entries of a team have no outcome yet, for the end of a sentence; empty if all have one."""
        waiting = sum(claim.cost == "open" for team in members for claim in self._by_team.get(team, ()))
        return f"; {counted(waiting, 'entry', 'entries')} without an outcome, counted in every limit" if waiting else ""

    def in_words(self, members: Collection[str], now: datetime, note: str = "") -> str:
        """What a team has left, on one line, with a note after the limits; empty where `left` is."""
        left = self.left(members, now)
        if not left:
            return ""
        phase = self.phases.current_or_next(now)
        words = f"left of its quota: {left_in_words(left, phase.name if phase else None)}"
        note += self.open_in_words(members)
        reset = next_reset(left)
        again = f"; the limits of a day begin again at {utc_moment(reset)}" if reset else ""
        return f"{words}{note}{again}"


def left_in_words(left: Sequence[Left], phase: str | None) -> str:
    """What a team has left of each limit: ``1 of 2 scored entries a day, 4 of 5 scored entries in the phase main``."""
    scopes = {
        "per_day": "a day",
        "per_phase": f"in the phase {phase}" if phase else "in all phases",
        "total": "in all",
        "rejected_per_day": "a day",
    }
    return ", ".join(f"{limit.left:,} of {_limit(limit)} {scopes[limit.what]}" for limit in left)


def next_place(left: Sequence[Left]) -> tuple[str, str]:
    """What is left for one more entry, as in ``4 of 5 left today``, and why there is nothing left, as a sentence.

    One of them is empty, or both without a limit on entries.
    """
    full = [limit for limit in left if not limit.left]
    if not full:
        scored = [limit for limit in left if limit.what != "rejected_per_day"]
        least = min(scored, key=lambda limit: limit.left, default=None)
        periods = {"per_day": "today", "per_phase": "in this phase", "total": "in all"}
        return f"{least.left:,} of {least.limit:,} left {periods[least.what]}" if least else "", ""
    last = next((limit for limit in reversed(full) if limit.resets is None), full[0])  # the one that lasts the longest
    one, many = ("rejected file", "rejected files") if last.what == "rejected_per_day" else ("entry", "entries")
    period = {"per_phase": " of this phase", "total": ""}.get(last.what, " of today")
    if last.expected:
        return "", f"An entry without an outcome may take the last {one}{period}; look again when it is scored."
    used = f"The only {one}{period} is" if last.limit == 1 else f"All {last.limit:,} {many}{period} are"
    return "", f"{used} used{f'; next at {last.resets:%H:%M} UTC' if last.resets else ''}."


def _limit(left: Left) -> str:
    if left.what == "rejected_per_day":
        return counted(left.limit, "rejected file")
    return counted(left.limit, "scored entry", "scored entries")


def next_reset(left: Sequence[Left]) -> datetime | None:
    """When the limits of a day begin again, in UTC; None if nothing of them is used."""
    return next((limit.resets for limit in left if limit.used and limit.resets), None)


def unused_limits(quota: Quota, phases: Sequence[Phase], files: int) -> Iterator[str]:
    """The limits that no team can use up, because of the others, of the dates, and of the files that it may have."""
    spans = [(quota.day(phase.start), quota.day(phase.closes - RESOLUTION)) for phase in phases]
    days = [(date.fromisoformat(last) - date.fromisoformat(first)).days + 1 for first, last in spans] or [files]
    of_days = [min((quota.per_day or files) * count, files) for count in days]
    of_phases = [min(quota.per_phase or files, most) for most in of_days]
    total = min(quota.total or files, sum(of_phases), files)
    most = {"per_day": min(max(of_phases), total), "per_phase": min(max(of_days), total), "total": total}
    for name, reached in most.items():
        limit = getattr(quota, name)
        if limit is not None and limit > reached:
            yield f"quota.{name} = {limit:,} cannot be used up: the other rules leave {reached:,}"


def quota_rules(quota: Quota, *, has_phases: bool, by_service: bool = False) -> tuple[str, ...]:
    """The rules on the number of entries; none without a quota. `by_service`: as of `phase_rules`."""
    if not quota.limits_anything:
        return ()
    day = f"a day (a calendar day in the time zone {zone_text(quota.zone)})"
    limits = ((quota.per_day, day), (quota.per_phase, "a phase"), (quota.total, "in all"))
    stated = [f"{counted(limit, 'scored entry', 'scored entries')} {per}" for limit, per in limits if limit is not None]
    limit = "" if quota.rejected_per_day is None else counted(quota.rejected_per_day, "rejected file")
    names = [*(["scored"] if stated else []), *(["rejected"] if limit else []), "service" if by_service else "folder"]
    (outside,) = sentences("quota", "outside") if has_phases else ("",)
    values = {"limits": joined(stated) if stated else "", "limit": limit, "day": day, "outside": outside}
    return sentences("quota", *names, "withdrawn", "order", **values)
