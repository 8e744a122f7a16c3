"""The board as frozen plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from scorer.challenge.settings import Track
from scorer.entries.entry import Entry


@dataclass(frozen=True, slots=True)
class Team:
    """A team with at least one submission."""

    name: str
    """As `printable_name` returns it: different teams have different names."""
    slug: str
    """Safe in paths and URLs; unique among all teams, also when case is ignored."""


@dataclass(frozen=True, slots=True)
class Row:
    """A team on the board of a track."""

    rank: int | None
    """From 1, by the scores that the board shows; None for baselines and for rows without a score."""
    preliminary_rank: int | None
    """From 1, by preliminary scores; None as for `rank`."""
    team: Team
    baseline: bool
    entry: Entry | None
    """The team's counting entry; None where no entry is scored."""
    entries: tuple[Entry, ...]
    """All entries, the latest first."""

    @property
    def sent(self) -> tuple[Entry, ...]:
        """The entries that are not withdrawn; at least one."""
        return tuple(entry for entry in self.entries if entry.status != "withdrawn")

    @property
    def last_received(self) -> datetime | None:
        """When the last of them was received; None if no time of receipt is possible."""
        return next((entry.received for entry in self.sent if entry.status != "misdated"), None)


@dataclass(frozen=True, slots=True)
class Commitment:
    """Shows that the solution of a board stays the same, without a clue to its content before it is revealed."""

    salted_digest: str
    """The HMAC-SHA256 of `digest` with the salt as the key, in hexadecimal."""
    digest: str = ""
    """SHA-256 of the solution, in hexadecimal; empty until it is revealed."""
    salt: str = ""
    """In hexadecimal; empty until it is revealed."""


@dataclass(frozen=True, slots=True)
class Board:
    """The leaderboard of a track."""

    track: Track
    columns: tuple[str, ...]
    """Canonical names of the measures, the primary measure first."""
    rows: tuple[Row, ...]
    """The best first; baselines are listed by their scores, teams without a scored entry come last."""
    queries: int
    """How many queries the solution has."""
    scored_queries: int
    """How many of them enter the mean of the primary measure, over all splits."""
    preliminary_queries: int
    """How many of `scored_queries` enter the preliminary scores; 0 where the solution flags none."""
    commitment: Commitment | None
    """To the solution; None where the track was never scored."""
