"""What a report of scores is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scorer.measures import Measure
    from scorer.scoring.evaluation import Evaluation


MEAN = "all"
"""What stands for the query in the row of the means, as in trec_eval's output."""


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """What is to be printed: the scores of submissions, by their paths as given."""

    submissions: Sequence[tuple[str, Evaluation]]
    measures: Mapping[str, Measure]
    """By the names that they were asked for, and as they were."""
    per_query: bool = False
    side_by_side: bool = False
    """Are the submissions columns, and the measures rows?"""
    significance: float | None = None
    """The level at which differences count; None: not tested."""
    rel: float | None = None
    """The threshold that was asked for all measures."""


def is_count(measure: Measure) -> bool:
    """Is it a number of things, and no score?"""
    return measure.kind.aggregation == "sum"
