"""Score one submission: Scored or Rejected. And evaluate(), the library's front door."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np

from scorer.errors import Findings
from scorer.formats.detection import opened
from scorer.formats.reading.batches import Ranked
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import UnreadableError, is_large
from scorer.matching.match import AHEAD, ScatteredError, match, whole_lists
from scorer.matching.parallel import ordered
from scorer.matching.partition import by_query
from scorer.matching.solution import Solution, coded
from scorer.measures.arrays import Floats
from scorer.measures.matched import Matched
from scorer.paths import is_regular, located
from scorer.scoring.outcomes import Outcome, Rejected, Scored
from scorer.scoring.rules import Rules

PILE = 16 << 20
"""Bytes of a file whose lists lie in pieces that are brought together at a time."""

MOST_PILES = 256
"""Each is a file that is open while they are made."""


class ChangedError(Exception):
    """A file is not what it was when its digest was taken."""


def score(
    solution: Solution, path: str | os.PathLike[str], rules: Rules, *, threads: int = 1, digest: str | None = None
) -> Outcome:
    """Score the submission in a file. Whatever is wrong with the file makes a Rejected, not an exception.

    A large file is read and judged in blocks, by so many threads; little more than the blocks in work is in memory.
    Raises ChangedError where the bytes that were read are not those of the SHA-256 `digest`, if one is given.
    """
    parallel = threads > 1 and (is_large(path) or not is_regular(path))
    with ThreadPoolExecutor(threads) if parallel else nullcontext() as pool:
        try:
            return _score_file(solution, path, rules, pool, digest, whole_lists)
        except ScatteredError:
            if not is_regular(path):
                problems = Findings()
                problems.add(0, "a query's rows lie apart, and what is no file cannot be read again; save it as a file")
                return Rejected(problems)
        if is_large(path):
            piles = min(located(path).stat().st_size // PILE + 1, MOST_PILES)
            return _score_file(solution, path, rules, pool, digest, partial(by_query, piles=piles))
        return _score_file(solution, path, rules, pool, digest, lambda batches: [list(batches)])


def _score_file(
    solution: Solution,
    path: str | os.PathLike[str],
    rules: Rules,
    pool: Executor | None,
    digest: str | None,
    parted: Callable[[Iterable[Ranked]], Iterable[Sequence[Ranked]]],
) -> Outcome:
    problems, notes = Findings(), Findings()
    outcome, read = None, None if digest is None else hashlib.sha256()
    try:
        with opened(path, rules.submission_format, "submission_format", read) as (told, head, blocks):
            batches = _read(told.ranked(head), blocks, problems, pool)
            outcome = score_parts(solution, parted(batches), rules, problems, notes, told.QUERY_ONCE, pool)
    except UnreadableError as error:
        problems.add(error.line, str(error))
    except OSError as error:
        problems.add(0, f"cannot be put in order: {error.strerror or error} (in the folder for temporary files)")
    if read is not None and read.hexdigest() != digest:
        raise ChangedError(os.fspath(path))
    return Rejected(problems) if problems or outcome is None else outcome


def _read(
    read: Callable[[Block, Findings], Ranked], blocks: Iterable[Block], problems: Findings, pool: Executor | None
) -> Iterator[Ranked]:
    """The blocks' rows, with the problems in the order of the blocks."""

    def read_apart(block: Block) -> tuple[Ranked, Findings]:
        found = Findings()
        return read(block, found), found

    for batch, found in ordered(pool, read_apart, blocks, AHEAD):
        problems.extend(found)
        yield batch


def check(queries: Solution | None, path: str | os.PathLike[str], rules: Rules) -> Outcome:
    """Look a submission over without a solution; if it is fit, a Scored with counts and notes and no measures.

    `queries` knows the ids that are asked for; where it is None, those in the file are taken for them.
    """
    if queries is None:
        findings = Findings()
        try:
            with opened(path, rules.submission_format, "submission_format") as (told, head, blocks):
                batches = _read(told.ranked(head), blocks, findings, None)
                ids = [query for batch in batches for query in coded([batch.query])[1].to_pylist()]
        except UnreadableError as error:
            findings.add(error.line, str(error))
            return Rejected(findings)
        queries = Solution.of_queries(ids)
    return score(queries, path, replace(rules, measures=()))


def score_parts(
    solution: Solution,
    parts: Iterable[Sequence[Ranked]],
    rules: Rules,
    problems: Findings,
    notes: Findings,
    query_once: bool = False,
    pool: Executor | None = None,
) -> Scored | None:
    """Match whole lists with the solution and compute their scores; None where there are problems."""
    matched, counts = match(
        solution,
        parts,
        problems=problems,
        notes=notes,
        query_once=query_once,
        list_length=rules.list_length,
        missing=rules.missing,
        ties=rules.ties,
        tie_bounds=rules.tie_bounds,
        pool=pool,
    )
    if problems:
        return None
    if rules.unjudged == "drop":
        matched = matched.condensed()
    extremes = matched.extremes
    return Scored(
        measures=rules.measures,
        scores=_scores(matched, rules),
        extremes=None if extremes is None else (_scores(extremes[0], rules), _scores(extremes[1], rules)),
        flagged=solution.flagged,
        matched=matched,
        counts=counts,
        notes=notes,
    )


def _scores(matched: Matched, rules: Rules) -> Floats:
    """[measure, query]"""
    scores = np.array([measure(matched) for measure in rules.measures], dtype=np.float64)
    scores = scores.reshape(len(rules.measures), matched.queries)
    if rules.nothing_relevant == "zero":
        for row, measure in zip(scores, rules.measures, strict=True):
            row[np.isnan(row) & (matched.relevant_items(measure.threshold) == 0)] = 0
    if rules.missing == "skip" and matched.answered is not None:
        scores[:, ~matched.answered] = np.nan
    return scores
