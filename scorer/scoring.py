"""Score one submission: Scored or Rejected. And evaluate(), the library's front door."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args

import numpy as np

from scorer.errors import Findings, SolutionError, SubmissionError
from scorer.formats import Block, Ranked, Unreadable, frames, opened
from scorer.formats.arrow import take
from scorer.formats.text import is_large, is_regular
from scorer.hits import Bools, Floats, Ints, Judged
from scorer.judging import AHEAD, Counts, Missing, ScatteredError, judge, whole_lists
from scorer.lists import Ties
from scorer.measures import Measure, parse, parse_one
from scorer.packing import pack_hits
from scorer.solution import Solution, coded
from scorer.spilling import by_query
from scorer.threads import ordered

if TYPE_CHECKING:
    import pandas as pd

    from scorer.challenge import Track

__all__ = [
    "SPLITS",
    "Counts",
    "Evaluation",
    "Outcome",
    "Rejected",
    "Rules",
    "Scored",
    "Split",
    "Summary",
    "check",
    "evaluate",
    "named",
    "score",
]

Split = Literal["all", "preliminary", "rest"]
"""Which of the solution's queries: every one, those flagged for the preliminary board, or the others."""

SPLITS: tuple[Split, ...] = get_args(Split)
MISSING: tuple[Missing, ...] = get_args(Missing)
TIES: tuple[Ties, ...] = get_args(Ties)

PILE = 16 << 20
"""Bytes of a file whose lists lie in pieces that are brought together at a time."""

MOST_PILES = 256
"""Each is a file that is open while they are made."""

GENERATION = 1
"""Counts up when the same file, solution and rules begin to give another result; stored results are then made anew."""

Source = Union[str, os.PathLike[str], Mapping[str, Any], "pd.DataFrame"]
"""A path, a DataFrame, or a dict by query."""

Asked = str | Measure | Sequence[str | Measure] | Mapping[str, str | Measure]
"""Measures by their names or as such, or by names of the asker's own."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All that decides on a submission's scores, besides the submission and the solution."""

    measures: tuple[Measure, ...]
    list_length: int | None = None
    """Places of each list that count; None: all."""
    missing: Missing = "zero"
    ties: Ties = "trec"
    solution_format: str | None = None
    submission_format: str | None = None
    """The names of formats; None: told from the file."""

    @classmethod
    def of(cls, track: Track) -> Rules:
        """What a track's settings say on scoring."""
        return cls(
            measures=track.all_measures,
            list_length=track.list_length,
            missing=track.missing,
            ties=track.ties,
            solution_format=track.solution_format,
            submission_format=track.submission_format,
        )

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal: equal for rules that give the same result."""
        told = [
            GENERATION,
            [measure.full for measure in self.measures],
            self.list_length,
            self.missing,
            self.ties,
            self.solution_format,
            self.submission_format,
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A submission's scores."""

    measures: tuple[str, ...]
    """Canonical names, one for each row of `scores`."""
    scores: Floats
    """[measure, query], full precision, NaN where undefined; queries in the solution's order."""
    flagged: Bools
    """[query]: counts for the preliminary board."""
    judged: Judged
    """What the scores come from."""
    counts: Counts
    notes: Findings
    """What the reader of the file should know though it was scored: repeated items, unknown queries, ..."""

    def inside(self, split: Split) -> Bools:
        """[query]: is it in the split?"""
        if split == "all":
            return np.ones(self.flagged.size, dtype=bool)
        return self.flagged if split == "preliminary" else ~self.flagged

    def means(self, split: Split = "all") -> Floats:
        """[measure]: the mean over the split's queries where the measure is defined, NaN where there is none.

        Summed one by one in the solution's order, as VL.NET's own evaluator did, so that its last digits are met.
        """
        return np.array([_mean(row) for row in self.scores[:, self.inside(split)]], dtype=np.float64)

    def undefined(self, split: Split = "all") -> Ints:
        """[measure]: the number of the split's queries that the mean leaves out."""
        left_out: Ints = np.count_nonzero(np.isnan(self.scores[:, self.inside(split)]), axis=1)
        return left_out

    def summary(self) -> Summary:
        """What is worth keeping of it."""
        return Summary(
            measures=self.measures,
            means={split: tuple(self.means(split).tolist()) for split in SPLITS},
            undefined={split: tuple(self.undefined(split).tolist()) for split in SPLITS},
            hits=pack_hits(self.judged),
            counts=self.counts,
            notes=self.notes,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """A Scored in a few kilobytes, from which the scores of every query follow, if the solution is at hand."""

    measures: tuple[str, ...]
    """Canonical names."""
    means: Mapping[Split, tuple[float, ...]]
    """One for each measure, NaN where no query of the split defines it."""
    undefined: Mapping[Split, tuple[int, ...]]
    """For each measure, how many queries of the split the mean leaves out."""
    hits: bytes
    """As `packing.pack_hits` has them."""
    counts: Counts
    notes: Findings


@dataclass(frozen=True, slots=True, eq=False)
class Rejected:
    """A submission that could not be scored, and why."""

    problems: Findings


Outcome = Scored | Rejected


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
            piles = min(Path(path).stat().st_size // PILE + 1, MOST_PILES)
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
            outcome = _scored(solution, parted(batches), rules, problems, notes, told.QUERY_ONCE, pool)
    except Unreadable as error:
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
        except Unreadable as error:
            findings.add(error.line, str(error))
            return Rejected(findings)
        queries = Solution.of_queries(ids)
    return score(queries, path, replace(rules, measures=()))


def _scored(
    solution: Solution,
    parts: Iterable[Sequence[Ranked]],
    rules: Rules,
    problems: Findings,
    notes: Findings,
    query_once: bool = False,
    pool: Executor | None = None,
) -> Scored | None:
    judged, counts = judge(
        solution,
        parts,
        problems=problems,
        notes=notes,
        query_once=query_once,
        list_length=rules.list_length,
        missing=rules.missing,
        ties=rules.ties,
        pool=pool,
    )
    if problems:
        return None
    scores = np.array([measure(judged) for measure in rules.measures], dtype=np.float64)
    return Scored(
        measures=tuple(map(str, rules.measures)),
        scores=scores.reshape(len(rules.measures), judged.queries),
        flagged=solution.flagged,
        judged=judged,
        counts=counts,
        notes=notes,
    )


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(np.cumsum(defined)[-1] / defined.size) if defined.size else float("nan")


class Evaluation(Mapping[str, float]):
    """The scores of one submission: a mapping from the measures' names, as they were asked for, to the means.

    A mean is NaN where no query has a defined score.
    """

    def __init__(
        self,
        names: Mapping[str, Measure],
        scored: Scored,
        solution: Solution,
        split: Split = "all",
        *,
        per_query: bool = False,
    ) -> None:
        self._rows = {name: scored.measures.index(str(measure)) for name, measure in names.items()}
        self._means = scored.means(split)
        self._inside = scored.inside(split)
        self._scores = scored.scores
        self._queries = solution.queries
        self._per_query = per_query
        self.counts = scored.counts
        """How the submission's queries and lists meet the solution's."""
        self.notes = scored.notes
        """What to know about the submission though it was scored."""

    @property
    def queries(self) -> int:
        """Of the solution, in the split."""
        return int(self._inside.sum())

    @property
    def undefined(self) -> int:
        """Of those, how many have no score under any of the measures, mostly for want of a relevant item."""
        return int(np.isnan(self._scores[:, self._inside]).all(axis=0).sum())

    def left_out(self) -> dict[str, int]:
        """For each measure, how many of the queries its mean leaves out, because it is undefined for them."""
        undefined = np.isnan(self._scores[:, self._inside]).sum(axis=1)
        return {name: int(undefined[row]) for name, row in self._rows.items()}

    @property
    def per_query(self) -> pd.DataFrame | None:
        """A row for each query of the split, a column for each measure, NaN where undefined; None if not asked for."""
        if not self._per_query:
            return None
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed here alone)

        return pd.DataFrame.from_dict(self.by_query(), orient="index", columns=list(self._rows)).rename_axis("query")

    def by_query(self) -> dict[str, dict[str, float]]:
        """Query -> measure -> score, NaN where undefined, in the solution's order."""
        places = np.flatnonzero(self._inside)
        columns = {name: self._scores[row, places].tolist() for name, row in self._rows.items()}
        ids = take(self._queries, places).to_pylist()
        return {query: {name: column[place] for name, column in columns.items()} for place, query in enumerate(ids)}

    def __getitem__(self, name: str) -> float:
        return float(self._means[self._rows[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Evaluation({dict(self)!r}, queries={self.queries}, undefined={self.undefined})"


def named(measures: Asked) -> dict[str, Measure]:
    """The measures by the names that they were asked for; where a name stands for several, they go by their own.

    Raises MeasureError for a name that is none.
    """
    if isinstance(measures, Mapping):
        return {name: each if isinstance(each, Measure) else parse_one(each) for name, each in measures.items()}
    asked: dict[str, Measure] = {}
    for measure in [measures] if isinstance(measures, str | Measure) else measures:
        if isinstance(measure, Measure):
            asked[str(measure)] = measure
            continue
        meant = parse(measure)
        asked |= {measure: meant[0]} if len(meant) == 1 else {str(each): each for each in meant}
    return asked


def evaluate(
    solution: Source | Solution,
    submission: Source,
    measures: Asked,
    per_query: bool = False,
    *,
    split: Split = "all",
    missing: Missing = "zero",
    ties: Ties = "trec",
    solution_format: str | None = None,
    submission_format: str | None = None,
) -> Evaluation:
    """Score a submission against a solution.

    Parameters
    ----------
    solution
        A path; a DataFrame with columns query, item, grade (and flag, true where the query counts for the preliminary
        board); a dict query -> item -> grade; or a Solution that was read before.
    submission
        A path; a DataFrame with columns query, item and score or rank; a dict query -> item -> run score, or
        query -> items in order.
    measures
        One name or several, such as "MARp@5,10", "nDCG@10", "map"; or Measures; or a dict from any name to a Measure.
    per_query
        Also give each query's scores, as `Evaluation.per_query`.
    split
        The queries that the means are taken over.
    missing
        What becomes of a submission that lacks a query: the query scores 0, or the submission is rejected.
    ties
        How equal run scores are ordered: by item id, descending ("trec"), or as listed ("order").
    solution_format, submission_format
        A format's name, where it is not to be told from the file.

    Raises
    ------
    ValueError
        `split`, `missing` or `ties` is none of the words allowed.
    MeasureError
        A name is no measure's.
    SolutionError, SubmissionError
        With all that is wrong in the one or the other.
    """
    for setting, value, allowed in (("split", split, SPLITS), ("missing", missing, MISSING), ("ties", ties, TIES)):
        if value not in allowed:
            raise ValueError(f"{setting} is one of {', '.join(allowed)}; found {value!r}")
    names = named(measures)
    if not isinstance(solution, Solution):
        solution = _solution(solution, solution_format)
    measured = tuple(dict.fromkeys(names.values()))
    rules = Rules(measured, missing=missing, ties=ties, submission_format=submission_format)
    if isinstance(submission, str | os.PathLike):
        where, outcome = os.fspath(submission), score(solution, submission, rules, threads=os.cpu_count() or 1)
    else:
        where, outcome = "the submission", _score_table(solution, submission, rules)
    if isinstance(outcome, Rejected):
        raise SubmissionError(where, outcome.problems)
    return Evaluation(names, outcome, solution, split, per_query=per_query)


def _solution(source: Source, format_name: str | None) -> Solution:
    if isinstance(source, str | os.PathLike):
        return Solution.read(source, format_name)
    findings = Findings()
    try:
        solution = Solution.of([frames.graded(source, findings)], findings)
    except Unreadable as error:
        findings.add(error.line, str(error))
    if findings:
        raise SolutionError("the solution", findings)
    return solution


def _score_table(solution: Solution, source: Mapping[str, Any] | pd.DataFrame, rules: Rules) -> Outcome:
    """As `score`, for a submission in memory."""
    problems, notes = Findings(), Findings()
    outcome = None
    try:
        outcome = _scored(solution, [[frames.ranked(source, problems)]], rules, problems, notes)
    except Unreadable as error:
        problems.add(error.line, str(error))
    return Rejected(problems) if problems or outcome is None else outcome
