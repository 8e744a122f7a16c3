"""The boards of phases that have closed, as they were then: by the primary measure, without statistics."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.challenge.phases import Phase
from scorer.entries.teams import TeamStatus


@dataclass(frozen=True, slots=True)
class PastRow:
    """A team on the board of a phase that has closed, with its name and its status of that time."""

    rank: int | None
    """From 1; None for baselines, and for teams without a score or without a rank."""
    name: str
    folder: str
    """The name of its folder, as `printable_name` returns it; it never changes."""
    status: TeamStatus
    baseline: bool
    score: float | None
    """On the primary measure, rounded."""
    entries: int
    """How many of its entries were there."""


@dataclass(frozen=True, slots=True)
class PastBoard:
    """The board of a track as it was when a phase closed."""

    phase: Phase
    decimals: int
    """Of the scores."""
    shows_final: bool
    """Whether its scores are over all queries, because there were no preliminary ones."""
    rows: tuple[PastRow, ...]
    """The best first."""
