"""The timeline on its page: the happenings by month."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from datetime import UTC
from itertools import groupby

from scorer.live.timeline import Happening, Timeline
from scorer.wording import MONTHS


@dataclass(frozen=True, slots=True)
class Month:
    """What happened in a month."""

    name: str
    """In UTC: ``July 2011``."""
    anchor: str
    """Of its section on the page: ``2011-07``."""
    happenings: tuple[Happening, ...]
    """The latest first."""


def months(happenings: Iterable[Happening]) -> tuple[Month, ...]:
    """The months of happenings, the latest first, as the happenings are."""

    def month(happening: Happening) -> tuple[int, int]:
        at = happening.at.astimezone(UTC)
        return at.year, at.month

    return tuple(
        Month(f"{MONTHS[number - 1]} {year}", f"{year:04}-{number:02}", tuple(found))
        for (year, number), found in groupby(happenings, month)
    )


def with_known_links(timeline: Timeline, paths: Container[str]) -> Timeline:
    """The timeline without links to pages that the site does not have: a team has one only while it has entries."""

    def known(happenings: Iterable[Happening]) -> tuple[Happening, ...]:
        return tuple(each if each.link in paths else replace(each, link="") for each in happenings)

    return replace(timeline, happenings=known(timeline.happenings), upcoming=known(timeline.upcoming))
