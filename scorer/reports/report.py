"""The input of a report of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scorer.measures import Measure
    from scorer.scoring.evaluations import Evaluation


MEAN = "all"
"""What the row of the means has in place of a query, as in trec_eval's output."""


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """Scores of submissions, and how to print them."""

    submissions: Sequence[tuple[str, Evaluation]]
    """Each scored submission with its path as given."""
    measures: Mapping[str, Measure]
    """By the requested names, before `rel` is applied."""
    per_query: bool = False
    """Whether to print the scores of each query too."""
    side_by_side: bool = False
    """Whether the submissions are columns and the measures rows."""
    significance: float | None = None
    """The significance level; None to test no differences."""
    rel: float | None = None
    """The requested threshold for all measures."""
    policies: Mapping[str, str] = field(default_factory=dict)
    """The requested policies by name, also where no submission could be scored."""
    names: Sequence[str] = ()
    """What the submissions are called; empty: by their paths. JSON has the paths."""
    tags: Sequence[str | None] = ()
    """The tag of each run, None where its format has none; empty: all None. Only JSON has them."""

    @property
    def called(self) -> Sequence[str]:
        """What the submissions are called."""
        return self.names or [path for path, _ in self.submissions]


def is_count(measure: Measure) -> bool:
    """Whether the measure counts something, rather than rates it."""
    return measure.kind.aggregation == "sum"
