"""score() and check(): one submission becomes Scored or Rejected."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.detection import opened
from scorer.formats.reading.batches import Ranked
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import UnreadableError, is_large
from scorer.matching.match import AHEAD, ScatteredError, match
from scorer.matching.parallel import ordered
from scorer.matching.partition import by_query, whole_lists
from scorer.matching.solution import Solution, coded
from scorer.measures.arrays import Floats
from scorer.measures.matched import Matched
from scorer.paths import is_regular, located
from scorer.scoring.outcomes import Outcome, Rejected, Scored
from scorer.scoring.rules import Rules

PARTITION_BYTES = 16 << 20
"""The bytes of a file with scattered lists that are matched at a time."""

MAX_PARTITIONS = 256
"""Each partition is an open file while the lists are collected."""


class ChangedError(Exception):
    """The bytes of a file do not have the expected digest."""


def score(
    solution: Solution, path: str | os.PathLike[str], rules: Rules, *, threads: int = 1, digest: str | None = None
) -> Outcome:
    """Score the submission in a file.

    A large file is read and matched in blocks; memory holds little more than the blocks in work.

    Parameters
    ----------
    solution
        The graded items.
    path
        A path or a URL, or "-" for standard input.
    rules
        The measures and all settings that decide the scores.
    threads
        The number of threads for a large file.
    digest
        The SHA-256 that the file must have, in hexadecimal; None: any.

    Returns
    -------
    Scored or Rejected
        Rejected, with all errors in the file, if it cannot be read or is invalid; no exception is raised.

    Raises
    ------
    ChangedError
        The bytes that were read do not have the digest.
    """
    parallel = threads > 1 and (is_large(path) or not is_regular(path))
    with ThreadPoolExecutor(threads) if parallel else nullcontext() as pool:
        try:
            return _score_file(solution, path, rules, pool, digest, whole_lists)
        except ScatteredError:
            if not is_regular(path):
                problems = Findings()
                problems.add(
                    0, "the rows of a query are not adjacent, which needs a second pass; save the submission as a file"
                )
                return Rejected(problems)
        if is_large(path):
            partitions = min(located(path).stat().st_size // PARTITION_BYTES + 1, MAX_PARTITIONS)
            return _score_file(solution, path, rules, pool, digest, partial(by_query, partitions=partitions))
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
        with opened(path, rules.submission_format, "submission_format", read) as (detected, head, blocks):
            batches = _read(detected.ranked(head), blocks, problems, pool)
            outcome = score_parts(solution, parted(batches), rules, problems, notes, detected.format.QUERY_ONCE, pool)
    except UnreadableError as error:
        problems.add(error.line, str(error))
    except OSError as error:
        problems.add(0, f"its lists cannot be collected in the folder for temporary files: {error.strerror or error}")
    if read is not None and read.hexdigest() != digest:
        raise ChangedError(os.fspath(path))
    return Rejected(problems) if problems or outcome is None else outcome


def _read(
    read: Callable[[Block, Findings], Ranked], blocks: Iterable[Block], problems: Findings, pool: Executor | None
) -> Iterator[Ranked]:
    """The rows of each block; problems are added in the order of the blocks."""

    def read_apart(block: Block) -> tuple[Ranked, Findings]:
        found = Findings()
        return read(block, found), found

    for batch, found in ordered(pool, read_apart, blocks, AHEAD):
        problems.extend(found)
        yield batch


def check(
    queries: Solution | None,
    path: str | os.PathLike[str],
    rules: Rules,
    *,
    candidates: pa.StringArray | None = None,
) -> Outcome:
    """Check a submission without a solution.

    Parameters
    ----------
    queries
        The known queries, as from `Solution.of_queries`; None: every query of the file is known.
    path
        A path or a URL, or "-" for standard input.
    rules
        The settings; their measures are not used.
    candidates
        The candidate items; None: those of `queries`, if any.

    Returns
    -------
    Scored or Rejected
        A valid file gives a Scored with counts and notes, but without scores.
    """
    if queries is None:
        findings = Findings()
        try:
            with opened(path, rules.submission_format, "submission_format") as (detected, head, blocks):
                batches = _read(detected.ranked(head), blocks, findings, None)
                ids = [query for batch in batches for query in coded([batch.query])[1].to_pylist()]
        except UnreadableError as error:
            findings.add(error.line, str(error))
            return Rejected(findings)
        queries = Solution.of_queries(ids)
    if candidates is not None:
        queries = queries.with_candidates(candidates)
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
    """Match parts of whole lists with the solution and score them; None if there are problems.

    The parameters are those of `match`.
    """
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
