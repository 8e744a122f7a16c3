"""The problems and notes about a submission as a whole: its queries, its lists' lengths, and its items."""

from __future__ import annotations

import numpy as np

from scorer.errors import Findings, Problem
from scorer.matching.membership import Membership, few
from scorer.matching.solution import Solution
from scorer.measures.arrays import Bools, Ints
from scorer.options import Missing
from scorer.wording import counted, quoted

EXAMPLES = 5
"""The number of queries or items that a message names."""

FEW_KNOWN = "none or hardly any of its "
NO_LIST = " queries have no list ("
"""These parts of messages identify them in stored results: boards hide what they say until final scores are shown."""


def check_queries(
    solution: Solution, answered: Bools, lists: int, missing: Missing, problems: Findings, notes: Findings
) -> None:
    """Report queries without a list, unless the file has other problems."""
    if problems:
        return
    if not lists:
        problems.add(0, "the file has no rows")
        return
    lacking = np.flatnonzero(~answered)
    if lacking.size == answered.size:
        problems.add(0, "none of its queries is known; check that the file is a submission for this track")
    elif lacking.size:
        names = ", ".join(quoted(solution.queries[number].as_py()) for number in lacking[:EXAMPLES].tolist())
        names += ", ..." if lacking.size > EXAMPLES else ""
        found = f"{lacking.size:,} of {answered.size:,}{NO_LIST}{names})"
        if missing == "reject":
            problems.add(0, f"{found}; expected a list for every query")
        elif missing == "skip":
            notes.add(0, f"{found}; the means leave them out")
        else:
            notes.add(0, f"{found}; each scores 0, unless nothing is relevant to it")


def check_lengths(length: Ints, list_length: int | None, notes: Findings) -> None:
    """Report empty lists, and lists that are shorter or longer than the list length."""
    empty = int((length == 0).sum())
    if empty:
        notes.add(0, f"{_lists(empty)} empty; each scores 0, unless nothing is relevant to its query")
    if list_length is None:
        return
    shorter = int(((length < list_length) & (length > 0)).sum())
    if shorter:
        notes.add(0, f"{_lists(shorter)} shorter than {list_length} items; unused ranks earn nothing")
    longer = int((length > list_length).sum())
    if longer:
        notes.add(0, f"{_lists(longer)} longer than {list_length} items; later items are ignored")


def check_items(members: Membership, in_solution: int | None, items: int, possible: int, notes: Findings) -> bool:
    """Report if hardly any items are in the solution, and items that are not candidates.

    Participants read this once final scores are shown: it shows ids of the submission only. Returns whether hardly any
    items are in the solution.
    """
    few_known = in_solution is not None and items > 0 and (not in_solution or bool(few(in_solution, items, possible)))
    if few_known:
        # The number would tell a team which items are judged for queries that are hidden.
        found = f"{FEW_KNOWN}{counted(items, 'item')} is in the solution"
        outside = next((f" (for example, {problem.text} is not)" for problem in members.outside), "")
        notes.add(0, f"{found}{outside}; check that the ids are those of this track")
    if members.strangers:
        count, shown = members.strangers.count, members.strangers.shown[:EXAMPLES]
        verb = "is not a candidate item" if count == 1 else "are not candidate items"
        total = Problem(0, f"{count:,} of its {counted(items, 'item')} {verb}; check the ids")
        notes.extend(Findings([total, *shown], 1 + len(shown)))
    return few_known


def _lists(count: int) -> str:
    return f"{counted(count, 'list')} {'is' if count == 1 else 'are'}"
