"""evaluate(): the scores of one submission, as a mapping."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from scorer.errors import Findings, MeasureError, Problem, SolutionError, SubmissionError
from scorer.formats.reading import memory
from scorer.formats.reading.arrow import take
from scorer.formats.reading.bytes import UnreadableError
from scorer.formats.writing import shortest
from scorer.matching.solution import Solution
from scorer.measures import Measure, parse, parse_one
from scorer.options import (
    MISSING,
    NOTHING_RELEVANT,
    SPLIT,
    TIES,
    UNJUDGED,
    Missing,
    NothingRelevant,
    Split,
    Ties,
    Unjudged,
)
from scorer.paths import shown
from scorer.scoring.large_scores import check_gains
from scorer.scoring.outcomes import Failed, Outcome, Rejected, Scored
from scorer.scoring.rules import Rules
from scorer.scoring.submission import score, score_parts
from scorer.wording import quoted

if TYPE_CHECKING:
    import pandas as pd

Source = str | os.PathLike[str] | memory.Source
"""A path or a URL, or an object that `formats.reading.memory` reads."""

MeasureNames = str | Measure | Sequence[str | Measure] | Mapping[str, str | Measure]
"""Measures, by name or as objects; or a dict from any name to a measure."""


class Evaluation(Mapping[str, float]):
    """The scores of one submission: a mapping from the names of the measures, as requested, to their means.

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
        self._rows = {name: scored.measures.index(measure) for name, measure in names.items()}
        self._means, self._bounds = scored.means(split), scored.bounds(split)
        self._inside = scored.inside(split)
        self._scores = scored.scores
        self._queries = solution.queries
        self._per_query = per_query
        self.counts = scored.counts
        """The numbers of queries, lists and items."""
        self.notes = scored.notes
        """Notes about the submission, such as repeated items and unknown queries."""
        self.policies = dict(policies or {})
        """The value of each setting, by its name."""
        self.variants = {name: measure.full for name, measure in names.items()}
        """For each measure, its name with all parameters."""

    def bounds(self) -> dict[str, tuple[float, float]] | None:
        """For each measure, the mean with ties in their worst and in their best order; None if not requested."""
        if self._bounds is None:
            return None
        worst, best = self._bounds
        return {name: (float(worst[row]), float(best[row])) for name, row in self._rows.items()}

    @property
    def queries(self) -> int:
        """The number of queries in the split."""
        return int(self._inside.sum())

    @property
    def undefined(self) -> int:
        """The number of those queries for which no measure is defined, mostly because they have no relevant item."""
        return int(np.isnan(self._scores[:, self._inside]).all(axis=0).sum())

    def left_out(self) -> dict[str, int]:
        """For each measure, the number of queries that its mean leaves out because it is undefined for them."""
        undefined = np.isnan(self._scores[:, self._inside]).sum(axis=1)
        return {name: int(undefined[row]) for name, row in self._rows.items()}

    @property
    def per_query(self) -> pd.DataFrame | None:
        """A row for each query of the split, a column for each measure, NaN where undefined; None if not requested."""
        if not self._per_query:
            return None
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        return pd.DataFrame.from_dict(self.by_query(), orient="index", columns=list(self._rows)).rename_axis("query")

    def by_query(self) -> dict[str, dict[str, float]]:
        """Query -> measure -> score, NaN where undefined, in the solution's order."""
        inside = np.flatnonzero(self._inside)
        columns = {name: self._scores[row, inside].tolist() for name, row in self._rows.items()}
        ids = take(self._queries, inside).to_pylist()
        return {query: {name: column[at] for name, column in columns.items()} for at, query in enumerate(ids)}

    def __getitem__(self, name: str) -> float:
        return float(self._means[self._rows[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Evaluation({dict(self)!r}, queries={self.queries}, undefined={self.undefined})"


def measures_named(measures: MeasureNames) -> dict[str, Measure]:
    """The measures by their requested names. The measures of a name that means several get their own names.

    Raises MeasureError for an unknown name, and for an object that is neither a name nor a Measure.
    """
    if isinstance(measures, Mapping):
        return {name: each if isinstance(each, Measure) else parse_one(_name(each)) for name, each in measures.items()}
    listed = measures if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
    requested: dict[str, Measure] = {}
    for measure in listed:
        if isinstance(measure, Measure):
            requested[str(measure)] = measure
            continue
        meant = parse(_name(measure))
        requested |= {measure: meant[0]} if len(meant) == 1 else {str(each): each for each in meant}
    return requested


def _name(measure: object) -> str:
    """The name of a measure, which may come from another tool's object by mistake."""
    if not isinstance(measure, str):
        raise MeasureError(
            f"found {quoted(repr(measure))}, an object of type {type(measure).__name__}, as a measure; give its name "
            "instead, as in str(measure)"
        )
    return measure


def policies_named(
    *,
    split: Split,
    missing: Missing,
    ties: Ties,
    nothing_relevant: NothingRelevant,
    unjudged: Unjudged,
    rel: float | None,
) -> dict[str, str]:
    """The rules of an evaluation, by their names, as results have them.

    Raises ValueError for a value that is not allowed.
    """
    values = {SPLIT: split, MISSING: missing, TIES: ties, NOTHING_RELEVANT: nothing_relevant, UNJUDGED: unjudged}
    for option, value in values.items():
        option.check(value)
    if rel is not None and not math.isfinite(rel):
        raise ValueError(f"rel is a finite number; found {rel!r}")
    threshold = "positive" if rel is None else shortest(float(rel))
    return {**{option.name: value for option, value in values.items()}, "rel": threshold}


def evaluate(
    solution: Source | Solution,
    submission: Source,
    measures: MeasureNames,
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
        or ir_measures' Qrels); or a Solution.
    submission
        A path; a table with columns query, item and score or rank; a dict query -> item -> run score, or query -> items
        in order; rows of query, item and score (tuples, or ir_measures' ScoredDocs).
    measures
        One name or several, such as "MARp@5,10", "nDCG@10", "map"; or Measures; or a dict from any name to either.
    per_query
        Whether to give the scores of each query, as `Evaluation.per_query`.
    split, missing, ties, nothing_relevant, unjudged
        The queries that the means are taken over; how to score missing queries, equal run scores, queries without
        relevant items, and unjudged items. `scorer.options` lists the allowed words and what they mean.
    rel
        The lowest grade that counts as relevant, for all measures with such a threshold whose name does not set it;
        None: any grade above 0.
    tie_bounds
        Whether to compute the means with ties in their worst and in their best order, as `Evaluation.bounds`.
    solution_format, submission_format
        The name of a format, with options as in "letor:feature=21"; None: it is detected.

    Returns
    -------
    Evaluation
        The means by the names of the measures, with the scores of each query, counts and notes.

    Raises
    ------
    ValueError
        `split`, `missing`, `ties`, `nothing_relevant` or `unjudged` is not an allowed word, or `rel` is not finite.
    MeasureError
        A name is not that of a measure, or `ties` is "expected" and a measure has no formula for it.
    SolutionError, SubmissionError
        The solution or the submission cannot be read or is invalid, or the solution has grades that are too high for a
        measure. All errors are reported together.
    """
    policies = policies_named(
        split=split, missing=missing, ties=ties, nothing_relevant=nothing_relevant, unjudged=unjudged, rel=rel
    )
    names = {name: measure.at_threshold(rel) for name, measure in measures_named(measures).items()}
    rules = Rules(
        tuple(dict.fromkeys(names.values())),
        missing=missing,
        ties=ties,
        submission_format=submission_format,
        nothing_relevant=nothing_relevant,
        unjudged=unjudged,
        tie_bounds=tie_bounds,
    )
    path = shown(solution) if isinstance(solution, str | os.PathLike) else "the solution"
    if not isinstance(solution, Solution):
        solution = _solution(solution, solution_format)
    check_gains(solution, rules.measures, path)
    if isinstance(submission, str | os.PathLike):
        where, outcome = shown(submission), score(solution, submission, rules, threads=os.cpu_count() or 1)
    else:
        where, outcome = "the submission", _score_table(solution, submission, rules)
    if isinstance(outcome, Failed):
        raise SubmissionError(where, Findings([Problem(0, outcome.reason)], 1))
    if isinstance(outcome, Rejected):
        raise SubmissionError(where, outcome.problems)
    return Evaluation(names, outcome, solution, split, per_query=per_query, policies=policies)


def _solution(source: Source, format_name: str | None) -> Solution:
    if isinstance(source, str | os.PathLike):
        return Solution.read(source, format_name)
    findings = Findings()
    try:
        solution = Solution.of([memory.graded(source, findings)], findings)
    except UnreadableError as error:
        findings.add(error.line, str(error))
    if findings:
        raise SolutionError("the solution", findings)
    return solution


def _score_table(solution: Solution, source: memory.Source, rules: Rules) -> Outcome:
    """As `score`, for a submission in memory."""
    problems, notes = Findings(), Findings()
    outcome = None
    try:
        outcome = score_parts(solution, [[memory.ranked(source, problems)]], rules, problems, notes)
    except UnreadableError as error:
        problems.add(error.line, str(error))
    return Rejected(problems) if problems or outcome is None else outcome
