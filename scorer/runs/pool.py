"""pool(): the items that runs have in their first ranks and that are not judged yet, for assessors."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable
from functools import partial

import numpy as np

from scorer.lists.reading.arrow import take
from scorer.lists.solution import UNKNOWN, Solution, is_excluded
from scorer.runs.aligned import AlignedRuns, Run, for_each_part

HEADS = ("query", "item", "grade")
"""The columns of a pool; assessors fill in the last one."""


def pool(solution: Solution, runs: Iterable[Run], depth: int, seed: int) -> list[tuple[str, str]]:
    """The unjudged items in the first `depth` ranks of any run, with their queries.

    Queries are in the order of the solution. The items of each are in an order that only the seed, the query and the
    item decide, so it says nothing about ranks and runs, and stays when runs are added. Raises SubmissionError.
    """
    found: set[tuple[int, str]] = set()
    for run in runs:
        parts: list[list[tuple[int, str]]] = []
        for_each_part([run], partial(_unjudged, solution, depth), parts)
        found.update(*parts)
    queries = solution.queries.to_pylist()

    def place(pair: tuple[int, str]) -> tuple[int, bytes]:
        return pair[0], hashlib.sha256(f"{seed}\0{queries[pair[0]]}\0{pair[1]}".encode()).digest()

    return [(queries[number], item) for number, item in sorted(found, key=place)]


def _unjudged(solution: Solution, depth: int, run: AlignedRuns) -> list[tuple[int, str]]:
    """The numbers of the queries, and the items, of the lists of one run."""
    query, item, rank = solution.query_codes(run.queries)[run.query], take(run.items, run.item), run.rank
    kept = query != UNKNOWN
    if solution.excluded is not None:
        removed = is_excluded(solution.excluded, take(run.queries, run.query), item)
        order = np.lexsort((rank, run.query))
        count, first = np.cumsum(removed[order]), np.searchsorted(run.query[order], run.query[order])
        rank, kept = rank.copy(), kept & ~removed
        rank[order] -= count - (count - removed[order])[first]
    entry = solution.ids.entries(query, solution.ids.item_codes(run.items)[run.item])
    ideal = solution.ideal
    judged = np.append((ideal.grade >= 0) | (ideal.tie_rank > 0), False)[entry]  # UNKNOWN is the last one
    chosen = np.flatnonzero(kept & ~judged & (rank <= depth))
    return list(zip(query[chosen].tolist(), take(item, chosen).to_pylist(), strict=True))


def written(pairs: Iterable[tuple[str, str]]) -> str:
    """The pool as text: columns with tabs between them, and an empty grade in each row."""
    text = io.StringIO()
    rows = csv.writer(text, delimiter="\t", lineterminator="\n")
    rows.writerow(HEADS)
    rows.writerows((*pair, "") for pair in pairs)
    return text.getvalue()
