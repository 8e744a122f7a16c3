"""Picks: the entries from which the counting one is chosen with ``entry = "picks"``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from scorer.challenge.settings import Track
from scorer.live.presence import Key
from scorer.store.events import Event
from scorer.wording import counted

PickSource = Literal["folder", "command", "service"]
"""Where picks come from: the file `picks.toml` in the team's folder, `scorer pick`, or the service."""


@dataclass(frozen=True, slots=True)
class Pick:
    """The entries that a team picks from a time on. One may meanwhile be withdrawn or not count for another reason."""

    at: datetime
    keys: tuple[Key, ...]
    """Empty: the team has no picks any more."""
    source: PickSource


Picks = Mapping[str, Sequence[Pick]]
"""The picks of each team, by the name of its folder, the earliest first."""


def picks(events: Iterable[Event]) -> Picks:
    """The picks of each team, given the events of a track in order."""
    by_team: dict[str, list[Pick]] = {}
    for event in events:
        if event.kind == "pick" and event.at is not None:
            keys = tuple((pick["file"], pick["digest"]) for pick in event.body["picks"])
            by_team.setdefault(event.body["team"], []).append(Pick(event.at, keys, event.body["source"]))
    return by_team


def pick_rules(track: Track) -> tuple[str, ...]:
    """The rules on picks; none where the track has none."""
    if track.entry != "picks":
        return ()
    until = "until the last phase has closed" if track.phases else "at any time"
    return (
        f"A team may pick up to {counted(track.picks, 'entry', 'entries')}. New picks replace earlier ones, and are "
        f"accepted {until}.",
        "A team picks with a file picks.toml in its folder, which names the files. The organiser can record picks too. "
        "Of merged teams, the picks of the team whose row has the entries count.",
    )
