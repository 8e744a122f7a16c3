"""Commitments: the solutions, rules and keys that were committed to before the start, as the record has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scorer.store.events import Event
from scorer.store.opening import content_of


@dataclass(frozen=True, slots=True)
class Commitment:
    """What the organiser committed to."""

    index: int
    """Of its event."""
    at: datetime | None
    """When it was recorded, in UTC."""
    sha256: str
    """Of the opening, in hexadecimal; public from the beginning."""
    opening: str
    """Secret until it is revealed."""
    is_revealed: bool

    @property
    def content(self) -> Mapping[str, Any]:
        """The content of the opening."""
        return content_of(self.opening)


def commitments(events: Iterable[Event]) -> tuple[Commitment, ...]:
    """The commitments among the events of the whole challenge, in their order; the last one is in force."""
    listed = list(events)
    revealed = {event.body.get("commitment") for event in listed if event.kind == "reveal"}
    return tuple(
        Commitment(event.index, event.at, event.body["sha256"], event.body["opening"], event.body["sha256"] in revealed)
        for event in listed
        if event.kind == "commitment"
    )


def is_committed(events: Iterable[Event], track: str) -> bool:
    """Whether the last commitment includes a track."""
    found = commitments(events)
    return bool(found) and track in found[-1].content["tracks"]
