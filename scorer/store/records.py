"""What the store gives and takes, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from scorer.errors import Findings
from scorer.matching.match import Counts
from scorer.measures.arrays import Bools
from scorer.measures.matched import JudgedItems
from scorer.options import Split


@dataclass(frozen=True, slots=True)
class Submission:
    """A file that a team sent in for a track; known by track, file and digest."""

    track: str
    team: str
    file: str
    """Its path under submissions/."""
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    received: datetime
    """With a time zone, or it is a ValueError."""

    def __post_init__(self) -> None:
        if self.received.tzinfo is None:
            raise ValueError(f"a time without a zone: {self.received}")


@dataclass(frozen=True, slots=True)
class Basis:
    """What results are results of, besides the submission: the digests of a solution and of a track's settings."""

    solution: str
    settings: str


class Mean(NamedTuple):
    """A measure's mean over a split."""

    value: float | None
    """None where no query of the split defines the measure."""
    undefined: int
    """How many of the split's queries the mean leaves out."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What became of a submission."""

    status: Literal["scored", "rejected"]
    counts: Counts | None
    """None where rejected."""
    findings: Findings
    """Why it was rejected, or what to know though it was scored."""
    means: Mapping[Split, Mapping[str, Mean]]
    """By split and canonical name of the measure; empty where rejected."""


@dataclass(frozen=True, slots=True)
class StoredSubmission:
    """A submission as the store knows it."""

    submission: Submission
    present: bool
    """Still among the submissions; False for one that was withdrawn."""
    result: StoredResult | None
    """None where it has not been scored by the basis that was asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredSolution:
    """A solution's queries, in the order of the per-query scores."""

    query_ids: tuple[str, ...]
    flagged: Bools
    """[query]: counts for the preliminary board."""
    ideal: JudgedItems
    """The graded items, the best of each query first."""
