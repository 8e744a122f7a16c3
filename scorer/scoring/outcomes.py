"""The outcome of scoring a submission: Scored, Rejected or Failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from scorer.errors import Findings
from scorer.matching.counts import Counts
from scorer.measures import Measure
from scorer.measures.arrays import Bools, Floats
from scorer.measures.matched import Matched
from scorer.options import Split
from scorer.scoring.compact import pack_hits
from scorer.scoring.means import Mean, aggregated_rows, all_means, split_masks


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scored:
    """The scores of a submission."""

    measures: tuple[Measure, ...]
    """One for each row of `scores`."""
    scores: Floats
    """[measure, query], full precision, NaN where undefined; queries in the order of the solution."""
    flagged: Bools
    """[query]: whether the query counts for the preliminary board."""
    matched: Matched
    """What the scores are computed from."""
    counts: Counts
    notes: Findings
    """Findings that do not reject the file: repeated items, unknown queries, ..."""
    extremes: tuple[Floats, Floats] | None = None
    """As `scores`, with each group of equal run scores in its worst and in its best order; None if not requested."""

    def inside(self, split: Split) -> Bools:
        """[query]: whether the query is in the split."""
        return split_masks(self.flagged)[split].inside

    def means(self, split: Split = "all") -> Floats:
        """[measure]: the mean over the queries of the split; NaN where the measure is undefined for all of them.

        For measures that are summed or averaged geometrically, their sum or geometric mean.
        """
        return self._aggregated(self.scores, split)

    def bounds(self, split: Split = "all") -> tuple[Floats, Floats] | None:
        """As `means`, with ties in their worst and in their best order; None if not requested."""
        if self.extremes is None:
            return None
        worst, best = self.extremes
        return self._aggregated(worst, split), self._aggregated(best, split)

    def _aggregated(self, scores: Floats, split: Split) -> Floats:
        return aggregated_rows(self.measures, scores if split == "all" else scores[:, self.inside(split)])

    def summary(self) -> Summary:
        """The part of it that is stored."""
        return Summary(
            means=all_means(self.measures, self.scores, split_masks(self.flagged)),
            hits=pack_hits(self.matched),
            counts=self.counts,
            notes=self.notes,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Summary:
    """A Scored in a few kilobytes. With the solution, the scores of every query follow from it."""

    means: Mapping[tuple[str, str], Mean]
    """By the full name of the measure and the digest of the query mask."""
    hits: bytes
    """As `compact.pack_hits` returns them."""
    counts: Counts
    notes: Findings


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rejected:
    """A submission whose bytes are invalid: every machine finds the same errors. The outcome is final."""

    problems: Findings
    limits: Mapping[str, int] = field(default_factory=dict)
    """The limits that the file exceeds, by name, and their values. With another value, it is tried again."""


CHANGED = "it changed while it was read, or could not be read completely"
"""Why a submission failed whose bytes do not have the digest that they had before."""

FailureKind = Literal["time", "memory", "space", "lost", "machine"]
"""What a submission failed for: the limits `seconds`, `memory_mb` and `temporary_mb`; its process died; or anything
else about the machine, such as a full disk, too many open files, or a file that cannot be read."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A submission that was not scored for a reason outside of its bytes, as far as known. It is tried again."""

    reason: str
    kind: FailureKind = "machine"

    @property
    def is_counted(self) -> bool:
        """Whether it counts towards the attempts; the submission cannot be the cause of the other failures."""
        return self.kind != "machine"


Outcome = Scored | Rejected | Failed
