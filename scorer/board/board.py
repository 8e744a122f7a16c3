"""The board as frozen plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from scorer.challenge.settings import Track
from scorer.entries.entry import Entry


@dataclass(frozen=True, slots=True)
class Team:
    """Who sent something in."""

    name: str
    """Foreign text, made printable."""
    slug: str
    """Safe in a path and in an address, unlike those of all other teams (also without regard to case)."""


@dataclass(frozen=True, slots=True)
class Row:
    """A team's line on a board."""

    rank: int | None
    """From 1; equal scores as the track's rule has it; None for a baseline, and for a team with nothing scored."""
    team: Team
    baseline: bool
    entry: Entry | None
    """The entry that counts; None where the team has nothing scored."""
    entries: tuple[Entry, ...]
    """All, latest first."""

    @property
    def sent(self) -> tuple[Entry, ...]:
        """Those that were not withdrawn; at least one."""
        return tuple(entry for entry in self.entries if entry.status != "withdrawn")

    @property
    def last_received(self) -> datetime:
        return self.sent[0].received


@dataclass(frozen=True, slots=True)
class Board:
    """One track's leaderboard."""

    track: Track
    columns: tuple[str, ...]
    """Canonical names of the measures, the primary one first."""
    rows: tuple[Row, ...]
    """Best first; baselines stand where their score puts them, teams with nothing scored come last."""
    queries: int
    """In the solution."""
    scored_queries: int
    """Those of them that enter the mean of the primary measure (all splits taken together)."""
    preliminary_queries: int
    """Those of `scored_queries` that the preliminary scores come from; 0 where the solution flags none."""
    solution_digest: str
    """SHA-256 in hexadecimal; empty where the track was never scored."""
