"""score() and check(): one submission becomes Scored, Rejected or Failed."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.files import is_regular, located
from scorer.limits import OWN_FILES, Limits
from scorer.lists import AS_TO_FORM, READ_AS
from scorer.lists.detection import opened
from scorer.lists.match import ScatteredError, match, read_batches
from scorer.lists.ranked_lists import Order, RankedDicts, RankedLists
from scorer.lists.reading.arrow import coded, fingerprints
from scorer.lists.reading.blocks import (
    InaccessibleError,
    Ranked,
    UnreadableError,
    by_query,
    is_large,
    partitions_for,
    whole_lists,
)
from scorer.lists.solution import Excluded, Solution
from scorer.measures.matched import Floats, Matched
from scorer.scoring.outcomes import CHANGED, NEEDS_MEMORY, Failed, Outcome, Rejected, Rules, Scored
from scorer.scoring.statistics.judges import TwoJudges
from scorer.wording import quoted

Parted = Callable[[Iterable[Ranked]], Iterable[Sequence[Ranked]]]
"""Makes parts of whole lists from the rows of a file."""

PASSAGES, FIRST = ("#", "%p", "::"), 1_000
"""The marks between a document and the number of its passage, and the items in which they are sought."""


class ChangedError(Exception):
    """The bytes of a file do not have the expected digest."""


def score(
    solution: Solution,
    path: str | os.PathLike[str],
    rules: Rules,
    *,
    threads: int = 1,
    digest: str | None = None,
    limits: Limits = OWN_FILES,
) -> Outcome:
    """Score the submission in a file: a path or a URL, or "-" for standard input.

    A large file is read and matched in blocks, by this number of threads; memory holds little more than the blocks in
    work. The outcome is Rejected, with all errors in the file, if its bytes are invalid or exceed a limit. It is Failed
    if the machine prevents the file from being read, or if its bytes do not have the digest, a SHA-256 in hexadecimal.
    """
    file_scored = partial(_score_file, solution, path, rules, digest, limits)
    try:
        parallel = threads > 1 and (is_large(path) or not is_regular(path))
        with ThreadPoolExecutor(threads) if parallel else nullcontext() as pool:
            with suppress(ScatteredError):
                return file_scored(pool, whole_lists)
            # The rows of a query are not adjacent.
            if not is_regular(path):
                problems = Findings()
                found = "the rows of a query are not adjacent, which needs a second pass"
                problems.add(0, f"{found}; save the submission as a file")
                return Rejected(problems)
            if is_large(path):
                partitions = partitions_for(located(path).stat().st_size)
                return file_scored(pool, partial(by_query, partitions=partitions, temporary_mb=limits.temporary_mb))
            return file_scored(pool, lambda batches: [list(batches)])
    except InaccessibleError as error:
        return Failed(str(error))
    except ChangedError:
        return Failed(CHANGED)
    except MemoryError:
        return Failed(NEEDS_MEMORY, "memory")
    except OSError as error:
        if error.errno == errno.EFBIG:  # the system limits each file to the same size
            return Failed(f"it took more than {limits.temporary_mb:,} MB of temporary disk space", "space")
        return Failed(f"the system failed while it was scored: {error.strerror or error}")


def _score_file(
    solution: Solution,
    path: str | os.PathLike[str],
    rules: Rules,
    digest: str | None,
    limits: Limits,
    pool: Executor | None,
    parted: Parted,
) -> Scored | Rejected:
    problems, notes = Findings(), Findings()
    exceeded: Mapping[str, int] = {}
    outcome, read, order = None, None if digest is None else hashlib.sha256(), Order()
    try:
        with opened(path, rules.submission_format, "submission_format", read, limits) as (detected, head, blocks):
            ranked = detected.ranked(head, solution.rows)
            rows, layout = read_batches(ranked, blocks, problems, pool, limits), ranked.layout
            batches = order.of(rows, detected.options.get("tag", "*"))
            has_lists = layout is not None and layout.has_lists
            if layout is not None and has_lists and solution.mark_in_items(layout.between):
                found = f"ids of items have {quoted(layout.between)}, which separates items here ({layout})"
                problems.add(0, f'{found}; write lists in brackets, as in ["d1", "d2"], or a run of TREC')
            outcome = score_parts(
                solution, parted(batches), rules, problems, notes, order, query_once=has_lists, pool=pool, limits=limits
            )
            if layout is not None and not layout.has_header:
                notes.note(0, READ_AS, layout=str(layout))
    except InaccessibleError:
        raise
    except UnreadableError as error:
        problems.put(error.problem)
        exceeded = error.limits
    if read is not None and read.hexdigest() != digest:
        raise ChangedError
    if not order.items:  # no line is valid
        problems = problems.merged()
    return Rejected(problems, exceeded) if problems or outcome is None else outcome


def check(
    queries: Solution | None,
    path: str | os.PathLike[str],
    rules: Rules,
    *,
    candidates: pa.StringArray | None = None,
    excluded: Excluded | None = None,
    limits: Limits = OWN_FILES,
) -> Outcome:
    """Check a submission, as `score` reads it, without a solution; the measures of the rules are not used.

    The known queries are those of `queries`, as from `Solution.of_queries`; None: every query of the file is known. The
    candidate items are those given, or else those of `queries`, if any, and so are the excluded ones. A valid file
    gives a Scored with counts and notes, but without scores.
    """
    try:
        known, is_predicted = _known(queries, path, rules, limits, findings := Findings())
    except InaccessibleError as error:
        return Failed(str(error))
    except UnreadableError as error:
        findings.put(error.problem)
        return Rejected(findings, error.limits)
    if candidates is not None and not is_predicted:
        known = known.with_candidates(candidates)
    if excluded is not None and not is_predicted:
        known = known.with_parts(excluded=excluded)
    outcome = score(known, path, replace(rules, measures=()), limits=limits)
    if isinstance(outcome, Scored) and is_regular(path):
        with opened(path, rules.submission_format, "submission_format", limits=limits) as (detected, head, _):
            ranked = detected.ranked(head, known.rows)
            read = [f"{quoted(name)} is the {column}" for column, name in ranked.columns().items()]
            first = ranked(head, Findings())
        if read:
            outcome.notes.note(0, "columns", columns=", ".join(read))
        if is_predicted:
            outcome = replace(outcome, notes=Findings())
            outcome.notes.note(0, AS_TO_FORM, numbers=len(first.item))
        for mark in PASSAGES:
            if found := _passages(first, mark, known):
                outcome.notes.note(0, "passages", items=found, mark=mark)
    return outcome


def same_lists(
    path: str | os.PathLike[str], earlier: str | os.PathLike[str], rules: Rules, limits: Limits
) -> tuple[int, int]:
    """Return how many lists of a submission an earlier one has, with the same items in the same order, and of how many.

    Only the ranks that count are compared. The files are in memory as wholes.
    """
    try:
        own, before = (_list_digests(each, rules, limits) for each in (path, earlier))
    except UnreadableError:
        return 0, 0
    return sum(before.get(query) == digest for query, digest in own.items()), len(own)


def _list_digests(path: str | os.PathLike[str], rules: Rules, limits: Limits) -> Mapping[str, int]:
    """The digest of each list, by its query; those of two different lists are almost never the same."""
    with opened(path, rules.submission_format, "submission_format", limits=limits) as (detected, head, blocks):
        lists = RankedLists.of(list(read_batches(detected.ranked(head, None), blocks, Findings(), None, limits)))
    _, rank = lists.ranks()
    values = fingerprints(lists.items)[lists.order] * (2 * rank + 1).astype(np.uint64)
    values[rank > (rules.list_length or rank.size)] = 0
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])[lists.start]
    return dict(zip(lists.queries.to_pylist(), np.diff(ends).tolist(), strict=True))


def _known(
    queries: Solution | None, path: str | os.PathLike[str], rules: Rules, limits: Limits, findings: Findings
) -> tuple[Solution, bool]:
    """Return the known queries, and whether the file has predictions for rows that are not known here."""
    if queries is not None and (queries.rows is not None or not is_regular(path)):
        return queries, False
    with opened(path, rules.submission_format, "submission_format", limits=limits) as (detected, head, blocks):
        if queries is not None and not detected.is_predicted:
            return queries, False
        batches = read_batches(detected.ranked(head, None), blocks, findings, None, limits)
        ids = [query for batch in batches for query in coded([batch.query])[1].to_pylist()]
        return Solution.of_queries(ids), detected.is_predicted


def _passages(batch: Ranked, mark: str, queries: Solution) -> list[str]:
    """Return two passages of a document, with the mark after its id; nothing for items that look like others."""
    items, lists = batch.item[:FIRST].to_pylist(), batch.row_of_item[:FIRST]
    if not all(mark in item for item in items) or queries.mark_in_items(mark):
        return []
    seen: dict[tuple[str, str], str] = {}
    names = batch.query.take(lists).to_pylist()
    for query, item in zip(names, items, strict=True):
        first = seen.setdefault((query, item.partition(mark)[0]), item)
        if first != item:
            return [first, item]
    return []


def score_parts(
    solution: Solution,
    parts: Iterable[Sequence[Ranked]] | RankedDicts,
    rules: Rules,
    problems: Findings,
    notes: Findings,
    order: Order | RankedDicts,
    *,
    query_once: bool = False,
    pool: Executor | None = None,
    limits: Limits = OWN_FILES,
) -> Scored | None:
    """Match parts of whole lists, which `order` looks at, as `match` does, and score them; None for problems."""
    matched, counts = match(
        solution,
        parts,
        problems=problems,
        notes=notes,
        query_once=query_once,
        list_length=rules.list_length,
        missing=rules.missing,
        needs_lists=not rules.scores_nothing,
        ties=rules.ties,
        tie_bounds=rules.tie_bounds or rules.notes_ties,
        pool=pool,
        limits=limits,
    )
    if problems:
        return None
    judged_tie = matched.extremes is not None or not (rules.tie_bounds or rules.notes_ties)
    are_noted = order.check(rules.ties, notes, judged_tie=judged_tie)
    if rules.unjudged == "drop":
        matched = matched.condensed()
    scores, judges = _scores(matched, rules), None
    if matched.checked is not None:
        by_people = _scores(matched.checked, rules)
        judges = TwoJudges.of(scores, by_people, solution.checked_queries, solution.flagged, rules.machine_weight)
        scores = judges.values
    extremes = (scores, scores) if rules.tie_bounds else None
    if matched.extremes is not None and (rules.tie_bounds or are_noted):
        extremes = _scores(matched.extremes[0], rules), _scores(matched.extremes[1], rules)
    return Scored(
        measures=rules.measures,
        scores=scores,
        extremes=extremes,
        flagged=solution.flagged,
        matched=matched,
        counts=counts,
        notes=notes,
        judges=judges,
    )


def _scores(matched: Matched, rules: Rules) -> Floats:
    """[measure, query]"""
    scores = np.empty((len(rules.measures), matched.queries))
    for nth, measure in enumerate(rules.measures):
        scores[nth] = measure(matched)
    if rules.nothing_relevant == "zero":
        for row, measure in zip(scores, rules.measures, strict=True):
            row[np.isnan(row) & (matched.relevant_items(measure.threshold) == 0)] = 0
    if rules.missing == "skip" and matched.answered is not None:
        scores[:, ~matched.answered] = np.nan
    return scores
