"""The picks of teams: the entries from which the counting one is chosen with ``entry = "picks"``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scorer.store.decisions import pick_keys
from scorer.store.events import Event, Key


def picked(events: Iterable[Event]) -> Mapping[str, tuple[Key, ...]]:
    """The present picks of each team that has any, given the events of a track in order.

    A pick may meanwhile be withdrawn or not count for another reason.
    """
    found = {event.body["team"]: pick_keys(event) for event in events if event.kind == "pick"}
    return {team: keys for team, keys in found.items() if keys}
