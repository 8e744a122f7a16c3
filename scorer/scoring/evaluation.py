"""evaluate(): the scores of one submission, or of several by name, and its results."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack, cast, get_args, overload

import numpy as np

from scorer.errors import (
    IN_MEMORY,
    Findings,
    MeasureError,
    Problem,
    SolutionError,
    SubmissionError,
    SubmissionsError,
    need_libraries,
)
from scorer.files import is_regular, shown
from scorer.lists import EQUAL_SCORES, Counts
from scorer.lists.formats import shortest
from scorer.lists.match import excluded_note
from scorer.lists.ranked_lists import Order, RankedDicts
from scorer.lists.reading import memory
from scorer.lists.reading.arrow import take
from scorer.lists.reading.blocks import UnreadableError
from scorer.lists.reading.memory import Several, several
from scorer.lists.slices import ClusterSource, Slice, SliceSource, read_clusters, read_slices
from scorer.lists.solution import Exclude, Solution, Source, excluded
from scorer.measures import DEFAULT_MEASURES, Measure, parse, registry
from scorer.measures.matched import Bools, Floats, Ints
from scorer.measures.names import MeasureNames
from scorer.options import (
    MISSING,
    NOTHING_RELEVANT,
    SPLIT,
    TIES,
    UNJUDGED,
    JudgedBounds,
    Missing,
    NothingRelevant,
    Split,
    Ties,
    Unjudged,
)
from scorer.scoring.outcomes import Failed, Outcome, Rejected, Rules, Scored, aggregated_rows, check_gains
from scorer.scoring.statistics.judges import JudgeCorrection, TwoJudges
from scorer.scoring.statistics.units import units_of, units_within
from scorer.scoring.submission import score, score_parts
from scorer.scoring.unjudged import mean_bounds
from scorer.wording import QUOTED, SCORE_DECIMALS, Tabular, counted, shortened, suggestion

if TYPE_CHECKING:
    import pandas as pd


Form = Literal["wide", "long"]
"""How a frame holds the scores of queries: a column for each measure, or a row for each score."""


class Keywords(TypedDict, total=False):
    """The keywords of `Options`, for type checkers."""

    split: Split
    missing: Missing
    ties: Ties
    nothing_relevant: NothingRelevant
    unjudged: Unjudged
    exclude: Exclude | None
    clusters: ClusterSource | None
    checked: Source | Solution | None
    machine_weight: float
    rel: float | None
    solution_format: str | None
    submission_format: str | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `evaluate`, which `compare` and `report` have too."""

    split: Split = "all"
    missing: Missing = "zero"
    ties: Ties = "trec"
    nothing_relevant: NothingRelevant = "skip"
    unjudged: Unjudged = "nonrelevant"
    exclude: Exclude | None = None
    clusters: ClusterSource | None = None
    checked: Source | Solution | None = None
    machine_weight: float = 1.0
    rel: float | None = None
    solution_format: str | None = None
    submission_format: str | None = None

    def policies(self) -> dict[str, str]:
        """The value of each setting by its name, as results have them. Raises ValueError if one is not allowed."""
        policies: dict[str, str] = {}
        for option in (SPLIT, MISSING, TIES, NOTHING_RELEVANT, UNJUDGED):
            policies[option.name] = getattr(self, option.name)
            option.check(policies[option.name])
        rel: object = self.rel
        if rel is not None and not (isinstance(rel, Real) and math.isfinite(rel)):
            raise ValueError(f"rel is a finite number; found {self.rel!r}")
        policies["rel"] = "positive" if self.rel is None else shortest(float(self.rel))
        for name in ("exclude", "clusters", "checked"):
            value = getattr(self, name)
            if value is not None:
                policies[name] = shown(value) if isinstance(value, str | os.PathLike) else "by query"
        if self.checked is not None:
            policies["machine_weight"] = shortest(float(check_weight(self.machine_weight)))
            if self.missing == "skip":
                raise ValueError('missing="skip" leaves out other queries for each submission; checked needs the same')
        elif self.machine_weight != 1:
            raise ValueError("machine_weight is for scores by two judges; expected checked, too")
        return policies


def check_weight(weight: object) -> float:
    """Return the weight of a machine's scores. Raises ValueError where it is not a number from 0 to 10."""
    if not (isinstance(weight, Real) and not weight < 0 and weight <= 10):
        raise ValueError(f"machine_weight is a number from 0 to 10; found {shortened(repr(weight), QUOTED)}")
    return float(weight)


Function = TypeVar("Function", bound=Callable[..., Any])


def takes_options(function: Function) -> Function:
    """Show the keywords of `Options`, with their defaults, in the signature of a function that takes them as one."""
    signature = inspect.signature(function)
    *own, _ = signature.parameters.values()
    shared = inspect.signature(Options).parameters.values()
    shown = signature.replace(parameters=[*own, *shared])

    @wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        for name in named:
            if name not in shown.parameters:
                raise TypeError(f"{function.__name__}() has no parameter {name!r}{suggestion(name, shown.parameters)}")
        return function(*args, **named)

    vars(called)["__signature__"] = shown
    return cast("Function", called)


@dataclass(frozen=True, eq=False)
class Request:
    """What `evaluate` computes for each submission."""

    names: Mapping[str, Measure]
    """The measures by name, as requested."""
    rules: Rules
    options: Options
    policies: Mapping[str, str]

    @cached_property
    def rows(self) -> dict[str, int]:
        """For each name, the row of its measure in the scores."""
        return {name: self.rules.measures.index(measure) for name, measure in self.names.items()}

    @cached_property
    def full_names(self) -> tuple[str, ...]:
        """[name]: that of the measure with all parameters."""
        return tuple(measure.full for measure in self.names.values())


class Evaluation(Tabular, Mapping[str, float]):
    """The scores of one submission: a mapping from the names of the measures, as requested, to their means.

    A mean is NaN where no query has a defined score. Any other spelling of a requested measure is a key too.
    """

    counts: Counts
    """The numbers of queries, lists and items."""
    notes: Findings
    """Notes about the submission, such as repeated items and unknown queries."""
    policies: dict[str, str]
    """The value of each setting, by its name."""
    variants: dict[str, str]
    """For each measure, its name with all parameters."""

    def __init__(self, request: Request, scored: Scored, graded: Solution, per_query: bool, units: Ints | None) -> None:
        self._request = request
        self._rows: dict[Any, int] = request.rows
        self._means: list[float] = scored.means(request.options.split).tolist()
        self._bounds = scored.bounds(request.options.split)
        self._scored, self._judges = scored, scored.judges
        self._scores = scored.scores if scored.judges is None else scored.judges.machine
        self._queries, self._per_query, self._units = graded.queries, per_query, units
        self.counts, self.notes = scored.counts, scored.notes
        if graded.excluded is not None or graded.iterations.names:
            for note in filter(None, (excluded_note(graded), graded.iterations.note(request.names.values()))):
                self.notes = Findings([Problem.of_form(0, note), *self.notes], self.notes.count + 1)
        self.policies, self.variants = dict(request.policies), dict(zip(request.names, request.full_names, strict=True))
        if self._bounds is not None and not request.rules.tie_bounds:
            self._note_ties(*self._bounds)
            self._bounds = None

    def _note_ties(self, worst: Floats, best: Floats) -> None:
        """Add the range of the means to the note on equal run scores, or remove the note where it is a point."""
        # Sums of the same numbers in another order differ by less.
        rows = {name: row for name, row in self._rows.items() if abs(best[row] - worst[row]) > 1e-9}
        ranges = ", ".join(f"{name} {worst[row]:.4f} to {best[row]:.4f}" for name, row in rows.items())
        if ranges:
            self.notes.note(0, "tie-bounds", ranges=ranges)
        else:
            self.notes = self.notes.without(EQUAL_SCORES)

    @cached_property
    def _inside(self) -> Bools:
        """[query]: whether it is in the split."""
        return self._scored.inside(self._request.options.split)

    @property
    def units(self) -> Ints | None:
        """[query]: the units of the queries of the split, by `clusters`; None where each query is a separate unit."""
        return units_within(self._units, self._inside)

    def bounds(self) -> dict[str, tuple[float, float]] | None:
        """For each measure, the mean with ties in their worst and in their best order; None if not requested."""
        if self._bounds is None:
            return None
        worst, best = self._bounds
        return {name: (float(worst[row]), float(best[row])) for name, row in self._rows.items()}

    def unjudged_bounds(self, reach: JudgedBounds = "any") -> dict[str, tuple[float, float]]:
        """For each measure with known bounds, the lowest and the highest mean that unjudged items allow: any, or those
        of the list.
        """
        if self._judges is not None:
            return {}
        return mean_bounds(self._request.names, self._scored.matched, self._request.rules, self._inside, reach)

    def judges(self, names: Sequence[str]) -> TwoJudges | None:
        """The scores on these measures by both judges, for the queries of the split; None without `checked`."""
        rows = np.array([self._rows[name] for name in names])
        return self._judges and self._judges.rows(rows).within(self._inside)

    def scores_of(self, name: str) -> Floats:
        """[query of the split]: the scores whose mean is that of a measure; with `checked`, they are by both judges."""
        judges = self.judges([name])
        values = self._scores[self._rows[name], self._inside][np.newaxis] if judges is None else judges.values
        return np.asarray(values[0], dtype=np.float64)

    def corrections(self) -> dict[str, JudgeCorrection] | None:
        """For each measure, what people who judged some of the queries changed of its mean; None without `checked`."""
        judges = self.judges(list(self._rows))
        return None if judges is None else dict(zip(self._rows, judges.corrections(self.units), strict=True))

    def intervals(self) -> dict[str, tuple[float, float]]:
        """For each measure that is a mean, the ends of its 95 % interval, as boards have it; NaN where undefined."""
        from scorer.scoring.statistics import resampling  # noqa: PLC0415 (scipy is slow to load)

        ends = {}
        for name, measure in self._request.names.items():
            defined = self._inside & ~np.isnan(self._scores[self._rows[name]])
            scores = self._scores[self._rows[name], defined][np.newaxis]
            if measure.kind.aggregation == "mean" and scores.size:
                units = units_within(self._units, defined)
                if self._judges is not None:
                    judges = self._judges.rows(np.array([self._rows[name]])).within(defined)
                    found = judges.intervals(units)
                else:
                    found = resampling.shown_intervals(scores, units, measure.bounded)
                ends[name] = float(found[0, 0]), float(found[0, 1])
        return ends

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
        return {name: int(np.isnan(self._scores[row, self._inside]).sum()) for name, row in self._rows.items()}

    @property
    def per_query(self) -> pd.DataFrame | None:
        """A row for each query of the split, a column for each measure, NaN where undefined; None if not requested."""
        return self.to_frame("wide") if self._per_query else None

    def by_query(self) -> dict[str, dict[str, float]]:
        """Query -> measure -> score, NaN where undefined, in the solution's order; with `checked`, by the solution."""
        inside = np.flatnonzero(self._inside)
        columns = {name: self._scores[row, inside].tolist() for name, row in self._rows.items()}
        ids = take(self._queries, inside).to_pylist()
        return {query: {name: column[at] for name, column in columns.items()} for at, query in enumerate(ids)}

    def by_slice(self, slices: SliceSource | Sequence[Slice]) -> dict[str, dict[str, float]]:
        """Label -> measure -> mean over the queries of the split with this label; `slices`: a file, or label -> ids."""
        if isinstance(slices, str | os.PathLike | Mapping):
            slices = read_slices(slices, self._queries.to_pylist())
        measures, judges = self._request.rules.measures, self._judges

        def within(inside: Bools) -> Floats:
            return self._scores[:, inside] if judges is None else judges.within(inside).values

        means = {part.label: aggregated_rows(measures, within(part.inside & self._inside)) for part in slices}
        return {label: {name: float(of[row]) for name, row in self._rows.items()} for label, of in means.items()}

    def to_frame(self, per_query: Form | None = None) -> pd.DataFrame:
        """Return the scores as a DataFrame of pandas.

        Parameters
        ----------
        per_query
            None: a row for each measure: score, and worst and best with the bounds of ties. "wide": a row for each
            query, a column for each measure. "long": a row for each score: query, measure and score.
        """
        need_libraries("pandas")
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        if per_query is None:
            heads, rows = self._table()
            return pd.DataFrame.from_dict(rows, orient="index", columns=heads).rename_axis("measure")
        if check_form(per_query) == "wide":
            frame = pd.DataFrame.from_dict(self.by_query(), orient="index", columns=list(self._rows))
            return frame.rename_axis("query")
        listed = [(query, *score) for query, scores in self.by_query().items() for score in scores.items()]
        return pd.DataFrame(listed, columns=["query", "measure", "score"]).astype({"score": np.float64})

    def _table(self) -> tuple[list[str], dict[str, list[float]]]:
        """The heads of the columns, and the numbers of each measure."""
        bounds = self.bounds()
        if bounds is None:
            return ["score"], {name: [score] for name, score in self.items()}
        return ["score", "worst", "best"], {name: [score, *bounds[name]] for name, score in self.items()}

    def _shown(self, name: str, score: float) -> str:
        """Return a score of a measure as tables show it: four decimals, a count without, "-" where undefined."""
        if math.isnan(score):
            return "-"
        return f"{score:.{0 if self._request.names[name].kind.aggregation == 'sum' else SCORE_DECIMALS}f}"

    def _row(self, name: object) -> int:
        """The row of a measure by its requested name or by any other spelling. Raises KeyError."""
        if name in self._rows:
            return self._rows[name]
        try:
            known = registry.of_object(name)
            meant = (known,) if known else parse(name) if isinstance(name, str) else ()
        except MeasureError:
            meant = ()
        wanted = [measure.at_threshold(self._request.options.rel) for measure in meant]
        for requested, measure in self._request.names.items():
            if wanted == [measure]:
                return self._rows[requested]
        raise KeyError(name)

    def __getitem__(self, name: str | Measure) -> float:
        row = self._rows.get(name)
        return self._means[self._row(name) if row is None else row]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Evaluation({dict(self)!r}, queries={self.queries}, undefined={self.undefined})"

    def _printed(self) -> tuple[list[str], list[list[str]], str]:
        heads, numbers = self._table()
        rows = [[name, *(self._shown(name, value) for value in values)] for name, values in numbers.items()]
        return ["measure", *heads], rows, _caption(self)


class Evaluations(Tabular, dict[str, Evaluation]):
    """The scores of several submissions by the same measures: a mapping from the name of each to its `Evaluation`."""

    @property
    def _first(self) -> Evaluation:
        return next(iter(self.values()))

    @property
    def queries(self) -> int:
        """The number of queries in the split."""
        return self._first.queries

    @property
    def policies(self) -> dict[str, str]:
        """The value of each setting, by its name."""
        return self._first.policies

    @property
    def variants(self) -> dict[str, str]:
        """For each measure, its name with all parameters."""
        return self._first.variants

    @property
    def notes(self) -> dict[str, tuple[str, ...]]:
        """For each submission, notes about it, such as unknown queries."""
        return {name: tuple(evaluation.notes.lines()) for name, evaluation in self.items()}

    @property
    def per_query(self) -> pd.DataFrame | None:
        """A row for each query of the split; None if not requested.

        The columns have two levels, submission and measure, so ``per_query["a"]`` is that of the submission a.
        """
        return None if self._first.per_query is None else self.to_frame("wide")

    def to_frame(self, per_query: Form | None = None) -> pd.DataFrame:
        """Return the scores as a DataFrame of pandas.

        Parameters
        ----------
        per_query
            None: a row for each submission, a column for each measure. "wide": a row for each query, a column for each
            measure of each submission (two levels). "long": a row for each score: submission, query, measure and score.
        """
        need_libraries("pandas")
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        if per_query is None:
            rows = {name: list(evaluation.values()) for name, evaluation in self.items()}
            return pd.DataFrame.from_dict(rows, orient="index", columns=list(self._first)).rename_axis("submission")
        frames = {name: evaluation.to_frame(check_form(per_query)) for name, evaluation in self.items()}
        if per_query == "wide":
            return pd.concat(frames, axis="columns", names=["submission", "measure"])
        for name, frame in frames.items():
            frame.insert(0, "submission", name)
        return pd.concat(frames.values(), ignore_index=True)

    def __repr__(self) -> str:
        means = {name: dict(evaluation) for name, evaluation in self.items()}
        return f"Evaluations({means!r}, queries={self.queries})"

    def _printed(self) -> tuple[list[str], list[list[str]], str]:
        rows = [[name, *(scores._shown(*score) for score in scores.items())] for name, scores in self.items()]
        return ["submission", *self._first], rows, _caption(self._first)


def check_form(form: Form) -> Form:
    """Return the form of a frame. Raises ValueError where it is not an allowed word."""
    if form not in get_args(Form):
        raise ValueError(f'per_query is "wide", "long" or None; found {form!r}')
    return form


def _caption(evaluation: Evaluation) -> str:
    undefined = evaluation.undefined
    return counted(evaluation.queries, "query", "queries") + (f", {undefined:,} undefined" if undefined else "")


_ByQuery = Mapping[str, Mapping[str, float]] | Mapping[str, Sequence[str]]
"""A submission as a dict: query -> item -> run score, or query -> items in order."""

SubmissionsByName = (
    Several
    | Mapping[str, str | os.PathLike[str] | memory.Frame | memory.ArrowTable | _ByQuery | Iterable[tuple[Any, ...]]]
)
"""Several submissions, each of which is a path, a table, a dict by query, or rows."""


@overload
def evaluate(
    solution: Source | Solution,
    submission: SubmissionsByName,
    measures: MeasureNames = DEFAULT_MEASURES,
    per_query: bool = False,
    *,
    tie_bounds: bool = False,
    **options: Unpack[Keywords],
) -> Evaluations: ...


@overload
def evaluate(
    solution: Source | Solution,
    submission: Source,
    measures: MeasureNames = DEFAULT_MEASURES,
    per_query: bool = False,
    *,
    tie_bounds: bool = False,
    **options: Unpack[Keywords],
) -> Evaluation: ...


@takes_options
def evaluate(
    solution: Source | Solution,
    submission: Source | SubmissionsByName,
    measures: MeasureNames = DEFAULT_MEASURES,
    per_query: bool = False,
    *,
    tie_bounds: bool = False,
    **options: Unpack[Keywords],
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
    clusters
        Which queries belong together, such as the turns of a conversation, for intervals and tests: the path of a file
        with lines query,cluster, a pattern for ids as in "{cluster}_*", or a dict query -> cluster.
    checked
        A second solution, by people, for a random part of the queries, in any form of `solution`, which then is by a
        machine: the mean over these queries of the score by people minus the weighted score by the machine is added to
        the weighted mean by the machine. Scores may be below 0 or above 1.
    machine_weight
        The weight of the machine's scores then; `scorer agree` proposes one.
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
        `split`, `missing`, `ties`, `nothing_relevant` or `unjudged` is not an allowed word, `rel` is not finite,
        `machine_weight` is not from 0 to 10, `checked` is combined with missing "skip" or `tie_bounds`, or the name of
        a submission is not text.
    MeasureError
        A name is not that of a measure, `ties` is "expected" and a measure has no formula for it, or with `checked`, a
        measure is no mean.
    SolutionError, SubmissionError
        The solution, the checked queries, the submission, the list of excluded items or the clusters cannot be read or
        is invalid, or the solution has grades that are too high for a measure. All errors are reported together.
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
    request = _requested(measures, tie_bounds, options)
    chosen = request.options
    submissions = several(submission)
    graded = Solution.for_a_call(solution, chosen.solution_format)
    fits = "gains", graded.iterations.repeated.count, request.full_names
    if fits not in graded.ideal.cache:
        path = shown(solution) if isinstance(solution, str | os.PathLike) else "the solution"
        check_gains(graded, request.rules.measures, path)
        graded.ideal.cache[fits] = True
    if chosen.exclude is not None:
        graded = graded.with_parts(excluded=excluded(chosen.exclude))
    if chosen.checked is not None:
        graded = _checked(graded, chosen.checked, chosen, request.rules.measures)
    units = None
    if chosen.clusters is not None:
        ids = graded.queries.to_pylist()
        (units,) = units_of([ids], [read_clusters(chosen.clusters, ids)])

    def evaluated(source: Source) -> Evaluation:
        return Evaluation(request, score_source(graded, source, request.rules), graded, per_query, units)

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


def _checked(solution: Solution, source: Source | Solution, options: Options, measures: Sequence[Measure]) -> Solution:
    """Return the solution with the second one. Raises SolutionError, and MeasureError for a measure that is no mean."""
    for measure in measures:
        if measure.kind.aggregation != "mean":
            raise MeasureError(f"{measure} is no mean over the queries, and checked corrects means; leave it out")
    where = shown(source) if isinstance(source, str | os.PathLike) else "the checked queries"
    try:
        second = Solution.for_a_call(source, options.solution_format)
    except SolutionError as error:
        raise type(error)(where, error.findings) from error
    check_gains(second, measures, where)
    return solution.with_checked(second, where)


def _requested(measures: MeasureNames, tie_bounds: bool, options: Mapping[str, Any]) -> Request:
    """As `_request`, which is called only once for the same measures and options."""
    listed: Any = measures
    by_name = not isinstance(measures, tuple | list | str) and isinstance(measures, Mapping)
    is_one = isinstance(measures, str) or not isinstance(measures, tuple | list | Iterable)
    given = (measures,) if is_one else tuple(listed.items() if by_name else listed)
    try:
        if options.get("checked") is None:
            return _request(given, by_name, tie_bounds, **options)
    except TypeError:  # not a key of a cache
        pass
    return _request.__wrapped__(given, by_name, tie_bounds, **options)


@lru_cache(maxsize=64, typed=True)
def _request(measures: tuple[Any, ...], by_name: bool, tie_bounds: bool, **given: Any) -> Request:
    options = Options(**given)
    policies = options.policies()
    if tie_bounds and options.checked is not None:
        raise ValueError("tie_bounds are not bounds of scores that checked queries correct; leave one of them out")
    named = registry.requested(dict(measures) if by_name else measures)
    if not named:
        raise MeasureError(f"found no measure; name at least one, as in {list(DEFAULT_MEASURES[:2])}")
    names = {name: measure.at_threshold(options.rel) for name, measure in named.items()}
    rules = Rules(
        tuple(dict.fromkeys(names.values())),
        missing=options.missing,
        ties=options.ties,
        nothing_relevant=options.nothing_relevant,
        unjudged=options.unjudged,
        tie_bounds=tie_bounds,
        notes_ties=options.ties == "trec" and options.checked is None,
        submission_format=options.submission_format,
        machine_weight=options.machine_weight,
    )
    return Request(names, rules, options, policies)


def score_source(solution: Solution, source: Source, rules: Rules, called: str = "") -> Scored:
    """Score one submission; messages call a file by its path, or `called`. Raises SubmissionError."""
    if type(source) is not dict and isinstance(source, str | os.PathLike):
        where = called or shown(source)
        if rules.scores_nothing and is_regular(source) and not Path(source).stat().st_size:
            return score_source(solution, {}, rules)
        outcome = score(solution, source, rules, threads=os.cpu_count() or 1)
    else:
        where, outcome = IN_MEMORY, _score_table(solution, source, rules)
    if isinstance(outcome, Failed):
        raise SubmissionError(where, Findings([Problem.of_form(0, outcome.reason)], 1))
    if isinstance(outcome, Rejected):
        raise SubmissionError(where, outcome.problems)
    return outcome


def _score_table(solution: Solution, source: memory.MemorySource, rules: Rules) -> Outcome:
    """As `score`, for a submission in memory."""
    problems, notes, outcome = Findings(), Findings(), None
    try:
        # Dicts are matched as they are, but for rules that need all ids.
        is_free = solution.candidates is None and solution.excluded is None and rules.list_length is None
        dicts = RankedDicts.of(source, solution) if is_free and solution.checked is None else None
        if dicts is not None:
            return score_parts(solution, dicts, rules, problems, notes, dicts) or Rejected(problems)
        order = Order()
        parts = [[*order.of([memory.ranked_of(source, problems)], "*")]]
        outcome = score_parts(solution, parts, rules, problems, notes, order)
    except UnreadableError as error:
        problems.put(error.problem)
    return Rejected(problems) if problems or outcome is None else outcome
