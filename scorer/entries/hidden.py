"""What entries show until final scores are shown: only what follows from their files and from public files."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from scorer.challenge.settings import Track
from scorer.entries.entry import Entry
from scorer.errors import SHOWN, Problem, SolutionError
from scorer.matching.match import Counts
from scorer.matching.notes import FEW_KNOWN, NO_LIST
from scorer.matching.solution import Solution


def are_queries_public(track: Track, queries: Collection[str]) -> bool:
    """Whether the public list of a track has exactly these queries of its solution."""
    if track.queries_path is None:
        return False
    try:
        return set(Solution.read_queries(track.queries_path).queries.to_pylist()) == set(queries)
    except SolutionError:
        return False


def without_solution(entry: Entry, *, queries_are_public: bool) -> Entry:
    """The entry without what only the solution knows: its items, and which queries it has unless these are public.

    If they are not, a scored entry has no notes, because those on items depend on the queries of their lists, too, and
    `answered` is the number of its lists.
    """
    counts, found = entry.counts, entry.findings
    if counts is None:
        lacks_lists = not queries_are_public and any(NO_LIST in each.text for each in found)
        return replace(entry, findings=(Problem(0, "not every query has a list"),)) if lacks_lists else entry
    if not queries_are_public:
        lists = Counts(queries=0, answered=counts.answered + counts.unknown, unknown=0, items=0, repeated=0, overlong=0)
        return replace(entry, counts=lists, findings=(), findings_count=0)
    kept = [each for each in found if not each.text.startswith(FEW_KNOWN)]
    return replace(
        entry,
        counts=replace(counts, in_solution=None, few_known=False),
        findings=tuple(kept[: SHOWN - 1]),  # the note that is left out has the place of another one
        findings_count=entry.findings_count - len(found) + len(kept),
    )
