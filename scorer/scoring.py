"""Score one submission: Scored or Rejected. And evaluate(), the library's front door."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scorer.errors import Findings, SolutionError, SubmissionError
from scorer.formats.detection import opened
from scorer.formats.reading import memory
from scorer.formats.reading.arrow import take
from scorer.formats.reading.batches import Ranked
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import Unreadable, is_large
from scorer.formats.writing import shortest
from scorer.matching.match import AHEAD, Counts, ScatteredError, judge, whole_lists
from scorer.matching.parallel import ordered
from scorer.matching.partition import by_query
from scorer.matching.solution import Solution, coded
from scorer.measures import Aggregation, Measure, parse, parse_one
from scorer.measures.arrays import Bools, Floats, Ints
from scorer.measures.matched import Judged
from scorer.options import Missing, Ties
from scorer.packing import pack_hits
from scorer.paths import is_regular, located, shown

if TYPE_CHECKING:
    import pandas as pd

    from scorer.challenge.settings import Track
from scorer.options import MISSING, NOTHING_RELEVANT, SPLIT, SPLITS, TIES, UNJUDGED, NothingRelevant, Split, Unjudged

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

GEOMETRIC_FLOOR = 1e-5
"""The least that a score counts as in a geometric mean; as in trec_eval."""

PILE = 16 << 20
"""Bytes of a file whose lists lie in pieces that are brought together at a time."""

MOST_PILES = 256
"""Each is a file that is open while they are made."""

GENERATION = 1
"""Counts up when the same file, solution and rules begin to give another result; stored results are then made anew."""

Source = str | os.PathLike[str] | memory.Source
"""A path, or anything in memory that `formats.reading.memory` reads."""

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
    nothing_relevant: NothingRelevant = "skip"
    unjudged: Unjudged = "nonrelevant"
    tie_bounds: bool = False
    """Are the scores under the rules worst and best for ties wanted too?"""

    def __post_init__(self) -> None:
        """Raise MeasureError for a measure that the rule for ties does not go with."""
        if self.ties == "expected":
            for measure in self.measures:
                measure.need_closed_form(cut=self.list_length is not None)

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
            self.nothing_relevant,
            self.unjudged,
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
    aggregations: tuple[Aggregation, ...] = ()
    """[measure]: how one score comes from those of the queries; where there are none, it is the mean."""
    extremes: tuple[Floats, Floats] | None = None
    """As `scores`, with each group of equal run scores in its worst and in its best order, if that is asked for."""

    def inside(self, split: Split) -> Bools:
        """[query]: is it in the split?"""
        if split == "all":
            return np.ones(self.flagged.size, dtype=bool)
        return self.flagged if split == "preliminary" else ~self.flagged

    def means(self, split: Split = "all") -> Floats:
        """[measure]: the mean over the split's queries where the measure is defined, NaN where there is none.

        Or their sum or geometric mean, for measures that are taken so. Summed one by one in the solution's order, as
        VL.NET's own evaluator did, so that its last digits are met.
        """
        return self._aggregated(self.scores, split)

    def bounds(self, split: Split = "all") -> tuple[Floats, Floats] | None:
        """As `means`, with ties in their worst and in their best order; None if that was not asked for."""
        if self.extremes is None:
            return None
        worst, best = self.extremes
        return self._aggregated(worst, split), self._aggregated(best, split)

    def _aggregated(self, scores: Floats, split: Split) -> Floats:
        ways: Sequence[Aggregation] = self.aggregations or ["mean"] * len(self.measures)
        rows = scores[:, self.inside(split)]
        return np.array([_aggregate(row, way) for row, way in zip(rows, ways, strict=True)], dtype=np.float64)

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
        tie_bounds=rules.tie_bounds,
        pool=pool,
    )
    if problems:
        return None
    if rules.unjudged == "drop":
        judged = judged.condensed()
    extremes = judged.extremes
    return Scored(
        measures=tuple(map(str, rules.measures)),
        scores=_scores(judged, rules),
        aggregations=tuple(measure.kind.aggregation for measure in rules.measures),
        extremes=None if extremes is None else (_scores(extremes[0], rules), _scores(extremes[1], rules)),
        flagged=solution.flagged,
        judged=judged,
        counts=counts,
        notes=notes,
    )


def _scores(judged: Judged, rules: Rules) -> Floats:
    """[measure, query]"""
    scores = np.array([measure(judged) for measure in rules.measures], dtype=np.float64)
    scores = scores.reshape(len(rules.measures), judged.queries)
    if rules.nothing_relevant == "zero":
        for row, measure in zip(scores, rules.measures, strict=True):
            row[np.isnan(row) & (judged.relevant_items(measure.threshold) == 0)] = 0
    if rules.missing == "skip" and judged.answered is not None:
        scores[:, ~judged.answered] = np.nan
    return scores


def _aggregate(values: Floats, way: Aggregation) -> float:
    defined = values[~np.isnan(values)]
    if not defined.size:
        return float("nan")
    if way == "geometric":
        defined = np.log(np.maximum(defined, GEOMETRIC_FLOOR))
    total = float(np.cumsum(defined)[-1])
    if way == "sum":
        return total
    return math.exp(total / defined.size) if way == "geometric" else total / defined.size


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
        policies: Mapping[str, str] | None = None,
    ) -> None:
        self._rows = {name: scored.measures.index(str(measure)) for name, measure in names.items()}
        self._means, self._bounds = scored.means(split), scored.bounds(split)
        self._inside = scored.inside(split)
        self._scores = scored.scores
        self._queries = solution.queries
        self._per_query = per_query
        self.counts = scored.counts
        """How the submission's queries and lists meet the solution's."""
        self.notes = scored.notes
        """What to know about the submission though it was scored."""
        self.policies = dict(policies or {})
        """The rules that the scores follow, by their names."""
        self.variants = {name: measure.full for name, measure in names.items()}
        """For each measure, its name with all parameters."""

    def bounds(self) -> dict[str, tuple[float, float]] | None:
        """For each measure, the mean with ties in their worst and in their best order; None if not asked for."""
        if self._bounds is None:
            return None
        worst, best = self._bounds
        return {name: (float(worst[row]), float(best[row])) for name, row in self._rows.items()}

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
    nothing_relevant: NothingRelevant = "skip",
    unjudged: Unjudged = "nonrelevant",
    rel: float | None = None,
    tie_bounds: bool = False,
    solution_format: str | None = None,
    submission_format: str | None = None,
) -> Evaluation:
    """Score a submission against a solution.

    Parameters
    ----------
    solution
        A path; a table (of pandas, polars, pyarrow, ...) with columns query, item, grade (and flag, true where the
        query counts for the preliminary board); a dict query -> item -> grade; rows of query, item and grade (tuples,
        or ir_measures' Qrels); or a Solution that was read before.
    submission
        A path; a table with columns query, item and score or rank; a dict query -> item -> run score, or query -> items
        in order; rows of query, item and score (tuples, or ir_measures' ScoredDocs).
    measures
        One name or several, such as "MARp@5,10", "nDCG@10", "map"; or Measures; or a dict from any name to a Measure.
    per_query
        Also give each query's scores, as `Evaluation.per_query`.
    split
        The queries that the means are taken over.
    missing
        What becomes of a submission that lacks a query: the query scores 0 ("zero"), the submission is rejected
        ("reject"), or the means leave the query out ("skip").
    ties
        How equal run scores are ordered: by item id, descending ("trec"); as listed ("order"); the highest grade first
        ("best") or last ("worst"); or not at all, so that a score is the mean over all orders ("expected").
    nothing_relevant
        What becomes of a query that the solution has nothing relevant for: the means leave it out ("skip"), or it
        scores 0 ("zero").
    unjudged
        What becomes of items that the solution does not list: they are not relevant ("nonrelevant"), or the lists are
        closed up over them ("drop").
    rel
        The least grade that is relevant, for all measures that tell relevant items from others and do not name it
        themselves; None: any above 0.
    tie_bounds
        Also give the means with ties in their worst and in their best order, as `Evaluation.bounds`.
    solution_format, submission_format
        A format's name, where it is not to be told from the file.

    Raises
    ------
    ValueError
        `split`, `missing`, `ties`, `nothing_relevant` or `unjudged` is none of the words allowed, or `rel` is not
        finite.
    MeasureError
        A name is no measure's, or no formula is known for the measure's mean over the orders of tied items.
    SolutionError, SubmissionError
        With all that is wrong in the one or the other.
    """
    settings = {SPLIT: split, MISSING: missing, TIES: ties, NOTHING_RELEVANT: nothing_relevant, UNJUDGED: unjudged}
    for option, value in settings.items():
        option.check(value)
    if rel is not None and not math.isfinite(rel):
        raise ValueError(f"rel is a finite number; found {rel!r}")
    names = {name: measure.at_threshold(rel) for name, measure in named(measures).items()}
    rules = Rules(
        tuple(dict.fromkeys(names.values())),
        missing=missing,
        ties=ties,
        submission_format=submission_format,
        nothing_relevant=nothing_relevant,
        unjudged=unjudged,
        tie_bounds=tie_bounds,
    )
    policies: dict[str, str] = {option.name: value for option, value in settings.items()}
    policies["rel"] = "positive" if rel is None else shortest(float(rel))
    if not isinstance(solution, Solution):
        solution = _solution(solution, solution_format)
    if isinstance(submission, str | os.PathLike):
        where, outcome = shown(submission), score(solution, submission, rules, threads=os.cpu_count() or 1)
    else:
        where, outcome = "the submission", _score_table(solution, submission, rules)
    if isinstance(outcome, Rejected):
        raise SubmissionError(where, outcome.problems)
    return Evaluation(names, outcome, solution, split, per_query=per_query, policies=policies)


def _solution(source: Source, format_name: str | None) -> Solution:
    if isinstance(source, str | os.PathLike):
        return Solution.read(source, format_name)
    findings = Findings()
    try:
        solution = Solution.of([memory.graded(source, findings)], findings)
    except Unreadable as error:
        findings.add(error.line, str(error))
    if findings:
        raise SolutionError("the solution", findings)
    return solution


def _score_table(solution: Solution, source: memory.Source, rules: Rules) -> Outcome:
    """As `score`, for a submission in memory."""
    problems, notes = Findings(), Findings()
    outcome = None
    try:
        outcome = _scored(solution, [[memory.ranked(source, problems)]], rules, problems, notes)
    except Unreadable as error:
        problems.add(error.line, str(error))
    return Rejected(problems) if problems or outcome is None else outcome
