"""evaluate(): the scores of one submission, or of several by name."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from numbers import Real
from typing import Any, TypedDict, Unpack, overload

from scorer.errors import IN_MEMORY, Findings, MeasureError, Problem, SubmissionError, SubmissionsError
from scorer.formats.reading import memory
from scorer.formats.reading.bytes import UnreadableError
from scorer.formats.writing import shortest
from scorer.matching.exclusions import Exclude, excluded
from scorer.matching.ranked_dicts import RankedDicts
from scorer.matching.solution import Solution, Source
from scorer.measures import DEFAULT, Measure, registry
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
from scorer.scoring.evaluations import Evaluation, Evaluations, Request
from scorer.scoring.means import check_gains
from scorer.scoring.outcomes import Failed, Outcome, Rejected, Scored
from scorer.scoring.rules import Rules
from scorer.scoring.several import Several, several
from scorer.scoring.submission import score, score_parts
from scorer.wording import quoted

ByQuery = Mapping[str, Mapping[str, float]] | Mapping[str, Sequence[str]]
"""A submission as a dict: query -> item -> run score, or query -> items in order."""

SubmissionsByName = (
    Several
    | Mapping[str, str | os.PathLike[str] | memory.Frame | memory.ArrowTable | ByQuery | Iterable[tuple[Any, ...]]]
)
"""Several submissions, each of which is a path, a table, a dict by query, or rows."""

MeasureNames = str | Measure | Sequence[str | Measure] | Mapping[str, str | Measure]
"""Measures, by name or as objects; or a dict from any name to a measure."""


def measures_named(measures: MeasureNames) -> dict[str, Measure]:
    """The measures by their requested names.

    Text may list several names. A name of several measures gives each a name with its own cut-off.

    Raises MeasureError for an unknown name, and for an object that is neither a name nor a Measure.
    """
    if isinstance(measures, Mapping):
        return {
            name: measure if isinstance(measure, Measure) else registry.named_one(_name(measure))
            for name, measure in measures.items()
        }
    listed = measures if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
    requested: dict[str, Measure] = {}
    for measure in listed:
        if isinstance(measure, Measure):
            requested[str(measure)] = measure
            continue
        for name in registry.listed(_name(measure)):
            requested |= registry.named(name)
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
    """The rules of an evaluation, by name, as results have them. Raises ValueError for a value that is not allowed."""
    values = {SPLIT: split, MISSING: missing, TIES: ties, NOTHING_RELEVANT: nothing_relevant, UNJUDGED: unjudged}
    for option, value in values.items():
        option.check(value)
    if rel is not None and not _is_finite(rel):
        raise ValueError(f"rel is a finite number; found {rel!r}")
    threshold = "positive" if rel is None else shortest(float(rel))
    return {**{option.name: value for option, value in values.items()}, "rel": threshold}


def _is_finite(number: object) -> bool:
    return isinstance(number, Real) and math.isfinite(number)


RULES = ("missing", "ties", "nothing_relevant", "unjudged")
"""The options of `evaluate` that are words and rules."""


class Options(TypedDict, total=False):
    """The options of `evaluate`, with its parameters' names."""

    split: Split
    missing: Missing
    ties: Ties
    nothing_relevant: NothingRelevant
    unjudged: Unjudged
    exclude: Exclude | None
    rel: float | None
    tie_bounds: bool
    solution_format: str | None
    submission_format: str | None


@overload
def evaluate(
    solution: Source | Solution,
    submission: SubmissionsByName,
    measures: MeasureNames = DEFAULT,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Evaluations: ...


@overload
def evaluate(
    solution: Source | Solution,
    submission: Source,
    measures: MeasureNames = DEFAULT,
    per_query: bool = False,
    **options: Unpack[Options],
) -> Evaluation: ...


def evaluate(
    solution: Source | Solution,
    submission: Source | SubmissionsByName,
    measures: MeasureNames = DEFAULT,
    per_query: bool = False,
    *,
    split: Split = "all",
    missing: Missing = "zero",
    ties: Ties = "trec",
    nothing_relevant: NothingRelevant = "skip",
    unjudged: Unjudged = "nonrelevant",
    exclude: Exclude | None = None,
    rel: float | None = None,
    tie_bounds: bool = False,
    solution_format: str | None = None,
    submission_format: str | None = None,
) -> Evaluation | Evaluations:
    """Score a submission, or several by name, against a solution.

    Parameters
    ----------
    solution
        A path; a table (of pandas, polars, pyarrow, ...) with columns query, item, grade (and flag, true where the
        query counts for the preliminary board; and subtopic); a dict query -> item -> grade; rows of query, item and
        grade (tuples, or ir_measures' Qrels); or a Solution.
    submission
        A path; a table with columns query, item and score or rank; a dict query -> item -> run score, or query -> items
        in order; rows of query, item and score (tuples, or ir_measures' ScoredDocs). Or several of these in a dict by
        name. The values of a dict decide: where they are lists of one query, it is one submission.
    measures
        One name or several, such as "MARp@5,10", "nDCG@10", "map"; or Measures; or a dict from any name to either.
    per_query
        Whether to give the scores of each query, as the `per_query` of the result.
    split, missing, ties, nothing_relevant, unjudged
        The queries that the means are taken over; how to score missing queries, equal run scores, queries without
        relevant items, and unjudged items. `scorer.options` lists the allowed words and what they mean.
    exclude
        The items to remove from lists before ranks are assigned: "self" for the item that has the id of its query, the
        path of a file with items for each query, or a dict query -> items.
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
        For one submission: the means by the names of the measures, with the scores of each query, counts and notes.
    Evaluations
        For several: the Evaluation of each by its name. The solution is read once.

    Raises
    ------
    ValueError
        `split`, `missing`, `ties`, `nothing_relevant` or `unjudged` is not an allowed word, `rel` is not finite, or the
        name of a submission is not text.
    MeasureError
        A name is not that of a measure, or `ties` is "expected" and a measure has no formula for it.
    SolutionError, SubmissionError
        The solution, the submission or the list of excluded items cannot be read or is invalid, or the solution has
        grades that are too high for a measure. All errors are reported together.
    SubmissionsError
        Some of several submissions cannot be read or are invalid; all were read. Also a SubmissionError.

    Examples
    --------
    >>> import scorer
    >>> solution = {"q1": {"d1": 2, "d2": 1}, "q2": {"d3": 1}}
    >>> scorer.evaluate(solution, {"q1": ["d2", "d1"], "q2": ["d3"]}, ["AP", "P@1"])
    Evaluation({'AP': 1.0, 'P@1': 1.0}, queries=2, undefined=0)
    >>> runs = {"lists": {"q1": ["d1"], "q2": ["d3"]}, "rows": [("q1", "d2", 0.5), ("q1", "d9", 0.9)]}
    >>> scorer.evaluate(solution, runs, "RR")
    Evaluations({'lists': {'RR': 1.0}, 'rows': {'RR': 0.25}}, queries=2)
    >>> sorted(scorer.evaluate(solution, runs)["lists"])
    ['AP', 'P@10', 'R@100', 'RR', 'nDCG@10']
    """
    request = _requested(
        measures,
        split=split,
        missing=missing,
        ties=ties,
        nothing_relevant=nothing_relevant,
        unjudged=unjudged,
        rel=rel,
        tie_bounds=tie_bounds,
        submission_format=submission_format,
    )
    submissions = several(submission)
    path = shown(solution) if isinstance(solution, str | os.PathLike) else "the solution"
    graded = Solution.for_a_call(solution, solution_format)
    chosen = request.rules.measures
    graded.ideal.cached(("gains", graded.iterations.repeated.count, *chosen), lambda: check_gains(graded, chosen, path))
    if exclude is not None:
        graded = graded.with_parts(excluded=excluded(exclude))
        what = shown(exclude) if isinstance(exclude, str | os.PathLike) else "by query"
        request = replace(request, policies={**request.policies, "exclude": what})

    def evaluated(source: Source) -> Evaluation:
        return Evaluation(request, score_source(graded, source, request.rules), graded, per_query=per_query)

    if submissions is None:
        return evaluated(submission)
    evaluations: dict[str, Evaluation] = {}
    errors: dict[str, SubmissionError] = {}
    for name, source in submissions.items():
        try:
            evaluations[name] = evaluated(source)
        except SubmissionError as error:
            errors[name] = error
    if errors:
        raise SubmissionsError(errors)
    return Evaluations(evaluations)


def _requested(measures: MeasureNames, **options: Any) -> Request:
    """As `_request`, which is called only once for the same measures and options."""
    by_name = isinstance(measures, Mapping)
    listed = measures.items() if isinstance(measures, Mapping) else measures
    given = tuple(listed) if isinstance(listed, Iterable) and not isinstance(listed, str) else (listed,)
    try:
        return _kept_request(given, by_name, **options)
    except TypeError:  # not a key of a cache
        pass
    return _request(given, by_name, **options)


def _request(measures: tuple[Any, ...], by_name: bool, split: Split, rel: float | None, **options: Any) -> Request:
    policies = policies_named(split=split, rel=rel, **{name: options[name] for name in RULES})
    named = measures_named(dict(measures) if by_name else measures)
    if not named:
        raise MeasureError(f"found no measure; name at least one, as in {list(DEFAULT[:2])}")
    names = {name: measure.at_threshold(rel) for name, measure in named.items()}
    return Request(names, Rules(tuple(dict.fromkeys(names.values())), **options), split, rel, policies)


_kept_request = lru_cache(maxsize=64, typed=True)(_request)


def score_source(solution: Solution, source: Source, rules: Rules, called: str = "") -> Scored:
    """Score one submission; messages call a file by its path, or `called`. Raises SubmissionError."""
    if isinstance(source, str | os.PathLike):
        where, outcome = called or shown(source), score(solution, source, rules, threads=os.cpu_count() or 1)
    else:
        where, outcome = IN_MEMORY, _score_table(solution, source, rules)
    if isinstance(outcome, Failed):
        raise SubmissionError(where, Findings([Problem(0, outcome.reason)], 1))
    if isinstance(outcome, Rejected):
        raise SubmissionError(where, outcome.problems)
    return outcome


def _score_table(solution: Solution, source: memory.Source, rules: Rules) -> Outcome:
    """As `score`, for a submission in memory."""
    problems, notes = Findings(), Findings()
    outcome = None
    try:
        # Dicts are matched as they are, but for rules that need all ids.
        needs_ids = any(part is not None for part in (solution.candidates, solution.excluded, rules.list_length))
        dicts = None if needs_ids else RankedDicts.of(source, solution)
        outcome = score_parts(solution, [dicts or [memory.ranked(source, problems)]], rules, problems, notes)
    except UnreadableError as error:
        problems.add(error.line, str(error))
    return Rejected(problems) if problems or outcome is None else outcome
