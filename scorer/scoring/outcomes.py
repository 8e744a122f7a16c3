"""What becomes of a submission: Scored or Rejected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scorer.errors import Findings
from scorer.matching.match import Counts
from scorer.measures import Aggregation
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.measures.matched import Matched
from scorer.options import (
    SPLITS,
    Split,
)
from scorer.scoring.compact import pack_hits

GEOMETRIC_FLOOR = 1e-5
"""The least that a score counts as in a geometric mean; as in trec_eval."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A submission's scores."""

    measures: tuple[str, ...]
    """Canonical names, one for each row of `scores`."""
    scores: Floats
    """[measure, query], full precision, NaN where undefined; queries in the solution's order."""
    flagged: Bools
    """[query]: counts for the preliminary board."""
    matched: Matched
    """What the scores come from."""
    counts: Counts
    notes: Findings
    """What the reader of the file should know though it was scored: repeated items, unknown queries, ..."""
    aggregations: tuple[Aggregation, ...] = ()
    """[measure]: how one score comes from those of the queries; where there are none, it is the mean."""
    extremes: tuple[Floats, Floats] | None = None
    """As `scores`, with each group of equal run scores in its worst and in its best order, if that is asked for."""

    def inside(self, split: Split) -> Bools:
        """[query]: is it in the split?"""
        if split == "all":
            return np.ones(self.flagged.size, dtype=bool)
        return self.flagged if split == "preliminary" else ~self.flagged

    def means(self, split: Split = "all") -> Floats:
        """[measure]: the mean over the split's queries where the measure is defined, NaN where there is none.

        Or their sum or geometric mean, for measures that are taken so. Summed one by one in the solution's order, as
        VL.NET's own evaluator did, so that its last digits are met.
        """
        return self._aggregated(self.scores, split)

    def bounds(self, split: Split = "all") -> tuple[Floats, Floats] | None:
        """As `means`, with ties in their worst and in their best order; None if that was not asked for."""
        if self.extremes is None:
            return None
        worst, best = self.extremes
        return self._aggregated(worst, split), self._aggregated(best, split)

    def _aggregated(self, scores: Floats, split: Split) -> Floats:
        ways: Sequence[Aggregation] = self.aggregations or ["mean"] * len(self.measures)
        rows = scores[:, self.inside(split)]
        return np.array([_aggregate(row, way) for row, way in zip(rows, ways, strict=True)], dtype=np.float64)

    def undefined(self, split: Split = "all") -> Ints:
        """[measure]: the number of the split's queries that the mean leaves out."""
        left_out: Ints = np.count_nonzero(np.isnan(self.scores[:, self.inside(split)]), axis=1)
        return left_out

    def summary(self) -> Summary:
        """What is worth keeping of it."""
        return Summary(
            measures=self.measures,
            means={split: tuple(self.means(split).tolist()) for split in SPLITS},
            undefined={split: tuple(self.undefined(split).tolist()) for split in SPLITS},
            hits=pack_hits(self.matched),
            counts=self.counts,
            notes=self.notes,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A Scored in a few kilobytes, from which the scores of every query follow, if the solution is at hand."""

    measures: tuple[str, ...]
    """Canonical names."""
    means: Mapping[Split, tuple[float, ...]]
    """One for each measure, NaN where no query of the split defines it."""
    undefined: Mapping[Split, tuple[int, ...]]
    """For each measure, how many queries of the split the mean leaves out."""
    hits: bytes
    """As `packing.pack_hits` has them."""
    counts: Counts
    notes: Findings


@dataclass(frozen=True, slots=True, eq=False)
class Rejected:
    """A submission that could not be scored, and why."""

    problems: Findings


Outcome = Scored | Rejected


def _aggregate(values: Floats, way: Aggregation) -> float:
    defined = values[~np.isnan(values)]
    if not defined.size:
        return float("nan")
    if way == "geometric":
        defined = np.log(np.maximum(defined, GEOMETRIC_FLOOR))
    total = float(np.cumsum(defined)[-1])
    if way == "sum":
        return total
    return math.exp(total / defined.size) if way == "geometric" else total / defined.size
