"""Picks: the entries of a team from which the counting one is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from scorer.record.events import Body, Event, FileBody, Key, Names, bodies

PickSource = Literal["folder", "command", "service"]
"""Where picks come from: `scorer pick`, the service, or, in earlier versions, a file in the team's folder."""


class PickBody(Body, plain=("source", "reason")):
    """Of an event with the picks of a team from then on."""

    team: str
    picks: tuple[FileBody, ...]
    source: PickSource
    reason: str = ""

    def _named(self, names: Names) -> dict[str, Any]:
        return {"picks": tuple(pick.without_names(names) for pick in self.picks)}


@dataclass(frozen=True, slots=True)
class Pick:
    """The entries that a team picks from a time on. One may meanwhile be withdrawn or not count for another reason."""

    at: datetime
    keys: tuple[Key, ...]
    """Empty: the team has no picks any more."""


Picks = Mapping[str, Sequence[Pick]]
"""The picks of each team, by the name of its folder, the earliest first."""


def picks(events: Iterable[Event]) -> Picks:
    """The picks of each team, given the events of a track in order."""
    by_team: dict[str, list[Pick]] = {}
    for event, body in bodies(events, PickBody):
        if event.at is not None:
            keys = tuple((pick.file, pick.digest) for pick in body.picks)
            by_team.setdefault(body.team, []).append(Pick(event.at, keys))
    return by_team
