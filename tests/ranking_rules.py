"""The rankings of scores by each rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scorer.measures.matched import Floats
from scorer.scoring.statistics.paired_tests import holm_matrix, wilcoxon_greater
from scorer.scoring.statistics.rankings import Ranking, by_median, by_query_ranks, by_wins, means, ranking

RANKING_RULES: Mapping[str, Callable[[Floats], Ranking]] = {
    "mean": lambda scores: ranking(means(scores)),
    "median": by_median,
    "mean-rank": lambda scores: by_query_ranks(scores)["mean-rank"],
    "median-rank": lambda scores: by_query_ranks(scores)["median-rank"],
    "wins": lambda scores: by_wins(wilcoxon_greater(scores)),
    "wins-holm": lambda scores: by_wins(holm_matrix(wilcoxon_greater(scores), ordered=True)),
}
"""The name of a rule -> the ranking of scores, [submission, query], by it."""
