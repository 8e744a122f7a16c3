"""The picks of teams: the entries from which the counting one is chosen with ``entry = "picks"``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from scorer.store.decisions import pick_keys
from scorer.store.events import Event, Key


def picked(events: Iterable[Event]) -> Mapping[str, list[tuple[datetime, tuple[Key, ...]]]]:
    """The picks of each team from each time on, given the events of a track in order.

    A pick may meanwhile be withdrawn or not count for another reason.
    """
    found: dict[str, list[tuple[datetime, tuple[Key, ...]]]] = {}
    for event in events:
        if event.kind == "pick" and event.at is not None:
            found.setdefault(event.body["team"], []).append((event.at, pick_keys(event)))
    return found
