"""judge(): a submission seen through a solution, in one pass, a part of whole lists at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from scorer.errors import Findings
from scorer.formats.reading.arrow import run_starts, take
from scorer.formats.reading.batches import Ranked
from scorer.matching.parallel import ordered
from scorer.matching.ranked_lists import BY_GRADE, FoundItems, RankedLists
from scorer.matching.solution import NOWHERE, Solution, report_repeated
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.measures.matched import JudgedItems, Matched, Tied
from scorer.options import Missing, Ties
from scorer.wording import quoted

AHEAD = 2
"""How many parts may wait for each other; each holds some ten times the bytes of its block."""


class ScatteredError(Exception):
    """A query's rows lie apart, or it has two lists: the parts cannot be judged one by one."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How a submission's queries and lists meet the solution's."""

    queries: int
    """In the solution."""
    answered: int
    """Of those, with a list in the submission."""
    unknown: int
    """In the submission, not in the solution; ignored."""
    items: int
    """Ranked in all, within the list length."""
    repeated: int
    """Items that stand again in the same list; each counts once."""
    overlong: int
    """Lists longer than the list length; cut there."""


def match(
    solution: Solution,
    parts: Iterable[Sequence[Ranked]],
    *,
    problems: Findings,
    notes: Findings,
    query_once: bool = False,
    list_length: int | None = None,
    missing: Missing = "zero",
    ties: Ties = "trec",
    tie_bounds: bool = False,
    pool: Executor | None = None,
) -> tuple[Matched, Counts]:
    """Match the submission's lists with the solution.

    What makes the submission unfit becomes `problems`; what its reader should know all the same, `notes`. Where there
    are problems, the result is not to be used.

    The submission comes in parts of whole lists: as one, or as `whole_lists` or `spilling.by_query` make them. They are
    judged by the threads of `pool`, if there is one, and each is let go of before the next but a few is taken. Raises
    ScatteredError where a query is in two parts. With `tie_bounds` the result has its extremes.
    """
    match_part = partial(
        _match_part, solution, query_once=query_once, list_length=list_length, ties=ties, with_groups=tie_bounds
    )
    seen = _Matches(np.zeros(len(solution.queries), dtype=np.int64), np.zeros(len(solution.queries), dtype=bool))
    for part in ordered(pool, match_part, parts, AHEAD):
        seen.add(part)
    problems.extend(seen.problems)
    if not seen.lengths or not sum(map(len, seen.lengths)):
        _no_lists(problems)
    _check_queries(solution, seen.answered, missing, problems, notes)
    _check_lengths(np.concatenate([np.zeros(0, dtype=np.int64), *seen.lengths]), list_length, notes)
    notes.extend(seen.notes)
    limit = np.iinfo(np.int64).max if list_length is None else list_length
    retrieved = np.minimum(seen.length, limit)
    found = seen.joined()

    def matched_by(rule: Ties, extremes: tuple[Matched, Matched] | None = None) -> Matched:
        hits = _hits(found, solution.ideal, rule)
        hits = hits.top(list_length) if rule in ("best", "worst") else hits
        return Matched(hits, solution.ideal, retrieved, seen.answered, extremes)

    matched = matched_by(ties, (matched_by("worst"), matched_by("best")) if tie_bounds else None)
    counts = Counts(
        queries=len(solution.queries),
        answered=int(seen.answered.sum()),
        unknown=len(seen.unknown),
        items=int(retrieved.sum()),
        repeated=seen.repeated,
        overlong=int((seen.length > limit).sum()),
    )
    return matched, counts


def whole_lists(batches: Iterable[Ranked]) -> Iterator[list[Ranked]]:
    """The batches cut and joined anew, so that no list lies in two parts, if those of a query lie together."""
    coming = iter(batches)
    part: list[Ranked] = []
    batch = next(coming, None)
    while batch is not None:
        following = next(coming, None)
        start = _last_list(batch) if following is not None else len(batch.query)
        if part and len(batch.query) and not _same_list(part[-1], batch):
            yield part
            part = []
        if start:
            yield [*part, batch.part(0, start)]
            part = []
        if start < len(batch.query):
            part.append(batch.part(start, len(batch.query)))
        batch = following
    if part:
        yield part


def _same_list(before: Ranked, after: Ranked) -> bool:
    """Does a list go on from one batch to the next?"""
    return not len(before.query) or before.query[-1].as_py() == after.query[0].as_py()


def _last_list(batch: Ranked) -> int:
    """The row in which the batch's last list begins; 0 where it has no rows."""
    return int(run_starts(batch.query)[-1]) if len(batch.query) else 0


# A part


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What is kept of some lists once they are judged."""

    number: Ints
    """[list]: the query's number in the solution; NOWHERE for an unknown one."""
    unknown: list[str]
    """The ids of the unknown ones."""
    length: Ints
    """[list]: how many items were listed."""
    found: FoundItems
    repeated: int
    problems: Findings
    notes: Findings


@dataclass(slots=True, eq=False)
class _Matches:
    """What is kept of all parts so far."""

    length: Ints
    """[query of the solution]"""
    answered: Bools
    """[query of the solution]"""
    unknown: set[str] = field(default_factory=set)
    lengths: list[Ints] = field(default_factory=list)
    """Of all lists, also those for unknown queries."""
    found: list[FoundItems] = field(default_factory=list)
    repeated: int = 0
    problems: Findings = field(default_factory=Findings)
    notes: Findings = field(default_factory=Findings)

    def add(self, part: _Part) -> None:
        """Raises ScatteredError where a query has been seen before."""
        known = part.number != NOWHERE
        number = part.number[known]
        if self.answered[number].any() or not self.unknown.isdisjoint(part.unknown):
            raise ScatteredError
        self.answered[number] = True
        self.length[number] = part.length[known]
        self.lengths.append(part.length)
        self.unknown.update(part.unknown)
        self.found.append(part.found)
        self.repeated += part.repeated
        self.problems.extend(part.problems)
        self.notes.extend(part.notes)

    def joined(self) -> FoundItems:
        """The judged items that were found, in any order."""
        nothing = np.zeros(0, dtype=np.int64)
        query, rank, entry = (
            np.concatenate([nothing, *(getattr(found, name) for found in self.found)])
            for name in ("query", "rank", "entry")
        )
        groups = [found.tied for found in self.found if found.tied is not None]
        if self.found and not groups:
            return FoundItems(query, rank, entry)
        before, size = (
            np.concatenate([nothing, *(getattr(tied, name) for tied in groups)]) for name in ("before", "size")
        )
        return FoundItems(query, rank, entry, Tied(before, size))


def _hits(found: FoundItems, ideal: JudgedItems, ties: Ties) -> JudgedItems:
    """What was found, sorted by the solution's order of queries, then rank, which the rule for ties decides."""
    grade, tied, rank = ideal.grade[found.entry], found.tied, found.rank
    if ties not in BY_GRADE or tied is None:
        order = np.lexsort((rank, found.query))
        tied = None
    elif ties == "expected":
        # By grade within a group, so that sums do not depend on the names or the lines even in their last digit.
        rank = tied.before + 1
        order = np.lexsort((-grade, rank, found.query))
        tied = tied.where(order)
    else:
        rank, tied = _rank_by_grade(found.query, grade, tied, ties), None
        order = np.lexsort((rank, found.query))
    entry = found.entry[order]
    return JudgedItems(found.query[order], rank[order], ideal.grade[entry], ideal.tie_rank[entry], tied)


def _rank_by_grade(query: Ints, grade: Floats, tied: Tied, ties: Ties) -> Ints:
    """Ranks with the highest grade of each tie group first, or last; what is not graded stands below all grades."""
    by_grade = np.lexsort((-grade, tied.before, query))
    before, of_query = tied.before[by_grade], query[by_grade]
    new = np.append(True, (before[1:] != before[:-1]) | (of_query[1:] != of_query[:-1]))[: query.size]
    places = np.arange(query.size)
    position = np.empty_like(places)
    position[by_grade] = places - np.maximum.accumulate(np.where(new, places, 0))
    return tied.before + 1 + position if ties == "best" else tied.before + tied.size - position


def _match_part(
    solution: Solution,
    batches: Sequence[Ranked],
    *,
    query_once: bool,
    list_length: int | None,
    ties: Ties,
    with_groups: bool,
) -> _Part:
    lists = RankedLists.of(batches)
    problems, notes = Findings(), Findings()
    if query_once:
        report_repeated(lists.query_of_row, lists.queries, lists.line, problems)
    lists.repeated_ranks(problems)
    number = solution.query_codes(lists.queries)
    unknown = np.flatnonzero(number == NOWHERE)
    names = take(lists.queries, unknown).to_pylist()
    notes.add_each(
        lists.line[lists.first_rows()[unknown]],
        lambda at: f"query {quoted(names[at])} is not asked for; its list is ignored",
    )
    found, repeated = lists.found(solution, number, list_length, ties, notes, with_groups=with_groups)
    return _Part(number, names, lists.length, found, repeated, problems, notes)


def _no_lists(problems: Findings) -> None:
    if not problems:
        problems.add(0, "the file has no rows")


def _check_queries(solution: Solution, answered: Bools, missing: Missing, problems: Findings, notes: Findings) -> None:
    """Report what the submission lacks."""
    if problems:
        return
    lacking = np.flatnonzero(~answered)
    if lacking.size == answered.size:
        problems.add(0, "none of its queries is asked for; is it a submission for another track?")
    elif lacking.size:
        names = ", ".join(quoted(solution.queries[place].as_py()) for place in lacking[:5].tolist())
        names += ", ..." if lacking.size > 5 else ""
        found = f"{lacking.size:,} of {answered.size:,} queries have no list ({names})"
        if missing == "reject":
            problems.add(0, f"{found}; expected a list for every query")
        elif missing == "skip":
            notes.add(0, f"{found}; the means leave them out")
        else:
            notes.add(0, f"{found}; each scores 0, unless nothing is relevant to it")


def _check_lengths(length: Ints, list_length: int | None, notes: Findings) -> None:
    """Report empty lists, and those of another length than was asked for."""
    empty = int((length == 0).sum())
    if empty:
        notes.add(0, f"{_lists(empty)} empty; each scores 0, unless nothing is relevant to its query")
    if list_length is None:
        return
    shorter = int(((length < list_length) & (length > 0)).sum())
    if shorter:
        notes.add(0, f"{_lists(shorter)} shorter than {list_length} items; the places that are left open earn nothing")
    longer = int((length > list_length).sum())
    if longer:
        notes.add(0, f"{_lists(longer)} longer than {list_length} items; what follows is ignored")


def _lists(count: int) -> str:
    return "1 list is" if count == 1 else f"{count:,} lists are"
