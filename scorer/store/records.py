"""What the store takes and returns, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

import numpy as np

from scorer.challenge.splits import QuerySplit
from scorer.errors import Findings
from scorer.matching.counts import Counts
from scorer.measures.arrays import Bools
from scorer.measures.matched import JudgedItems
from scorer.options import Split
from scorer.scoring.means import Mean
from scorer.scoring.outcomes import FailureKind
from scorer.scoring.rules import Rules


@dataclass(frozen=True, slots=True)
class Submission:
    """A file of a team in a track, identified by track, file and digest."""

    track: str
    team: str
    file: str
    """Its path below submissions/; names are bytes, decoded with surrogateescape."""
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    received: datetime
    """With a time zone; a time without one raises ValueError."""

    def __post_init__(self) -> None:
        if self.received.tzinfo is None:
            raise ValueError(f"a time without a zone: {self.received}")

    @property
    def sort_key(self) -> tuple[datetime, str, str, str]:
        """Orders the submissions of a track by time of receipt, team, file and digest."""
        return self.received, self.team, self.file, self.digest


@dataclass(frozen=True, slots=True)
class Basis:
    """What results depend on besides the submission: a solution and matching rules, by their digests."""

    solution: str
    matching: str
    """Of the matching rules; empty in a basis that schema 1 recorded."""
    version_1: str = field(default="", compare=False)
    """The digest that schema 1 has for the same settings: results from before the migration are found by it."""
    split: QuerySplit | None = field(default=None, compare=False, repr=False)
    """Decides which queries the preliminary means are taken over; None: the flags of the solution do. A result has the
    means of any split, so it is no part of what results are found by."""

    @classmethod
    def of(cls, solution: str, rules: Rules, split: QuerySplit | None = None) -> Basis:
        """The basis of results by these rules; `solution` is the digest of the solution."""
        return cls(solution, rules.matching_digest, rules.version_1_digest, split)

    def flags(self, queries: StoredQueries) -> Bools:
        """[query]: whether it enters the preliminary scores; `queries` are those of the solution."""
        if self.split is None:
            return queries.flagged
        return np.array(self.split.flags(queries.ids), dtype=bool)

    def has_rules_of(self, other: Basis) -> bool:
        """Whether both have the same matching rules, by the digest of either schema."""
        return self.matching == other.matching if self.matching else self.version_1 == other.version_1


class StoredQueries(NamedTuple):
    """The queries of a solution, in the order of the per-query scores."""

    ids: Sequence[str]
    flagged: Bools
    """[query]: whether the solution flags it for the preliminary scores."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What became of a submission."""

    status: Literal["scored", "rejected"]
    counts: Counts | None
    """None for a rejected submission."""
    findings: Findings
    """The reasons for the rejection, or the notes on a scored submission."""
    means: Mapping[Split, Mapping[str, Mean]]
    """By split and canonical name of the measure; empty for a rejected submission."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a submission has no result yet, although it was tried."""

    kind: FailureKind
    reason: str
    """Of the last attempt; for the organiser, not for the public."""
    attempts: int
    """Those that count, see `Failed.is_counted`."""


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """What a scan found about a file: while the numbers are the same, the file need not be read again."""

    size: int
    """Bytes."""
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int
    digest: str
    """SHA-256 of its content, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class FolderScan:
    """The last scan of the folder of a track: a run listed it."""

    at: datetime
    """From before the folder was listed, so that a file that it did not have came later."""
    unread: Mapping[str, datetime | None]
    """By mark of what was listed and could not be recorded: the last scan that did not list it; None without one."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredSolution:
    """The queries of a solution, in the order of the per-query scores, and its grades."""

    query_ids: tuple[str, ...]
    flagged: Bools
    """[query]: whether the solution flags it for the preliminary scores; see `Basis.flags`."""
    ideal: JudgedItems
    """The graded items, the best of each query first."""


@dataclass(frozen=True, slots=True)
class RecordedBasis:
    """The basis of a track's board, as recorded."""

    basis: Basis
    settings: Mapping[str, object] | None
    """All settings of the track; None if schema 1 recorded it."""
    generations: Mapping[str, int]
    at: datetime | None
    """When it was recorded, in UTC; None if schema 1 recorded it."""
    items: str | None = None
    """The digest of the list of candidate items; None without one."""

    @property
    def key_sha256(self) -> str | None:
        """The SHA-256 of the key of the split, in hexadecimal; None without a split."""
        split = (self.settings or {}).get("split")
        return str(split["key_sha256"]) if isinstance(split, Mapping) else None

    @property
    def excluded(self) -> str | None:
        """The SHA-256 of the list of excluded items, in hexadecimal; None without one."""
        exclude = (self.settings or {}).get("exclude")
        return str(exclude["sha256"]) if isinstance(exclude, Mapping) else None
