"""Solutions and submissions: their files, the ranked lists in them, and the match of the two.

`reading` turns bytes into batches of rows, and `formats` has a module for each format. `detection` lists the formats
and detects that of a file, and `conversion` converts a file to another format. `Counts` says how much of a submission
the solution has.
"""

from __future__ import annotations

import re
from typing import NamedTuple

CLUSTER = "{cluster}"
"""The part of a pattern for ids of queries that is their cluster. Other parts are the same for all; * is anything."""


def cluster_by(pattern: str, query: str) -> str:
    """The cluster of a query by a pattern, the shortest that fits: 31 of 31_1 by {cluster}_*; its id if none fits."""
    parts = (".*".join(map(re.escape, part.split("*"))) for part in pattern.split(CLUSTER, 1))
    match = re.fullmatch("(.+?)".join(parts), query, re.DOTALL)
    return match[1] if match else query


NO_QUERY_KNOWN, OTHER_TRACK, SCORES_NOTHING, READ_AS = "no-query-known", "other-track", "scores-nothing", "read-as"
ALL_EQUAL, EQUAL_SCORES, AS_TO_FORM, SAME_LISTS = "all-equal", "equal-scores", "as-to-form", "same-lists"
"""The codes of findings that something is decided by."""

JUDGING = OTHER_TRACK, SCORES_NOTHING, SAME_LISTS
"""The codes of findings that judge a file: they come first."""


class Counts(NamedTuple):
    """How many queries, lists and items of a submission the solution has."""

    queries: int
    """The solution's queries; 0 where a board hides which these are."""
    answered: int
    """Those for which the submission has a list; all of its lists where a board hides the queries."""
    unknown: int
    """The submission's other queries; they are ignored."""
    items: int
    """Ranked items of known queries, within the list length."""
    repeated: int
    """Items that are listed again in the same list; each item counts once."""
    overlong: int
    """Lists that are longer than the list length; the items beyond it are ignored."""
    in_solution: int | None = None
    """Those of `items` that are in the solution; None where it was not counted, as without a solution.

    Usually the items that are judged for their own query. If these are fewer than 1 in 100 of `items` and fewer than 1
    in 10 of the judged items that the lists could hold, then lists with as few of them count with the items that are
    judged for any query. So the number is 0 exactly if no item is in the solution.
    """
    few_known: bool = False
    """Whether none or hardly any of `items` are in the solution: the ids may be those of something else."""
