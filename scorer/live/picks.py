"""Picks: the entries from which the counting one is chosen with ``entry = "picks"``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from scorer.challenge.settings import Track
from scorer.store.decisions import pick_keys
from scorer.store.events import Event, Key
from scorer.wording import counted


def picked(events: Iterable[Event]) -> Mapping[str, list[tuple[datetime, tuple[Key, ...]]]]:
    """The picks of each team from each time on, given the events of a track in order.

    A pick may meanwhile be withdrawn or not count for another reason.
    """
    found: dict[str, list[tuple[datetime, tuple[Key, ...]]]] = {}
    for event in events:
        if event.kind == "pick" and event.at is not None:
            found.setdefault(event.body["team"], []).append((event.at, pick_keys(event)))
    return found


def entry_rules(track: Track) -> tuple[str, ...]:
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
