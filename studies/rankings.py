"""Many generated rankings at once: each is a query, and its solution has the items of the ranking."""

from __future__ import annotations

import numpy as np

from scorer.measures.matched import Floats, Ints, JudgedItems, Matched


def matched(grade: Floats) -> Matched:
    """Match rankings of graded items with these grades as the solution.

    Parameters
    ----------
    grade : ``[ranking, rank]``, the grade of the item at each rank, the first rank first

    Returns
    -------
    Matched
        One query for each ranking; its list has all items of its solution.
    """
    best_first = np.argsort(-grade, axis=1, kind="stable")
    ideal = np.take_along_axis(grade, best_first, axis=1)
    ideal_tie_rank = _tie_ranks(ideal)
    tie_rank = np.empty_like(ideal_tie_rank)
    np.put_along_axis(tie_rank, best_first, ideal_tie_rank, axis=1)
    return Matched(
        found=_judged_items(grade, tie_rank),
        ideal=_judged_items(ideal, ideal_tie_rank),
        retrieved=np.full(len(grade), grade.shape[1], dtype=np.int64),
    )


def _tie_ranks(descending: Floats) -> Ints:
    """Return ``[ranking, rank]``: 1 + the number of items with a higher grade; 0 where the grade is not positive."""
    ranks = np.arange(1, descending.shape[1] + 1)
    first_of_grade = np.diff(descending, axis=1, prepend=np.inf) != 0
    tie_rank = np.maximum.accumulate(np.where(first_of_grade, ranks, 0), axis=1)
    return np.where(descending > 0, tie_rank, 0)


def _judged_items(grade: Floats, tie_rank: Ints) -> JudgedItems:
    rankings, ranks = grade.shape
    return JudgedItems(
        query=np.repeat(np.arange(rankings), ranks),
        rank=np.tile(np.arange(1, ranks + 1), rankings),
        grade=grade.ravel(),
        tie_rank=tie_rank.ravel(),
    )
