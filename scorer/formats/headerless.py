"""Tables without a header: of MS MARCO and ColBERT, and lists as in RecSys Challenges and at Kaggle."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from scorer.formats.reading.column_names import NAMES, plain

LAYOUTS = (("query", "items"), ("query", "item", "rank"), ("query", "item", "rank", "score"))
"""The columns of a submission."""
EXAMPLES = (*map(" ".join, LAYOUTS[1:]), 'query,"item item ..."')

MARKS = ("\t", ",", " ")
"""What may separate columns, by precedence; commas separate a query and its items only."""


def layout(lines: Sequence[str], most: int = 4) -> tuple[str, tuple[str, ...]] | None:
    """Return the mark between columns and what the columns are, if the lines are of a layout with at most `most`.

    Lines with four columns may as well be qrels.
    """
    for mark in MARKS:
        rows = [[part.strip() for part in found] for found in csv.reader(lines, delimiter=mark)]
        if not rows or any(not row or not row[0] or set(row[0]) & set(" \t:<{[(|,;") for row in rows):
            continue
        if any(plain(name) in NAMES for name in rows[0]):  # a header
            return None
        if {*map(len, rows)} == {2} and _have_lists(rows, mark):
            return mark, LAYOUTS[0]
        for columns in LAYOUTS[1:] if mark in "\t " else ():
            if {*map(len, rows)} == {len(columns)} and len(columns) <= most and _have_ranks(rows):
                return mark, columns
    return None


def _have_lists(rows: Sequence[Sequence[str]], mark: str) -> bool:
    """Whether the second column has items. Between commas, one word in each row may as well be something else.

    So may a comma in each query of a TREC file, where the same word is next to all queries.
    """
    used = set().union(*(row[1] for row in rows))
    words = [row[1].split() for row in rows]
    is_trec = min(map(len, words)) > 3 and len({row[1] for row in words}) == 1 < len(rows)
    return not (used & set("<{|") or is_trec) and (mark in "\t " or bool(used & set(" ,[(")))


def _have_ranks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the third column counts the items of each query from 0 or 1.

    In qrels, the second column has the same iteration in most rows, and the third has items in any order.
    """
    ranks: dict[str, int] = {}
    for query, _, text, *_ in rows:
        rank = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
        if rank not in ((ranks[query] + 1,) if query in ranks else (0, 1)):
            return False
        ranks[query] = rank
    return len({(row[0], row[1]) for row in rows}) == len(rows) and {row[1] for row in rows} not in ({"0"}, {"Q0"})
