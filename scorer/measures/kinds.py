"""Kinds of measures, and measures.

A `Kind` is a function of a `Matched` with its declaration: name, cut-off, parameters, and the words that explain it. A
`Measure` is a kind with a cut-off and parameters: a value, written ``Name(parameter=value)@k``. `measure` makes a
measure of a function.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from importlib import import_module
from pkgutil import resolve_name
from typing import Any, Literal

import numpy as np

from scorer.errors import MeasureError
from scorer.measures.matched import (
    CUTOFF_RULES,
    Cutoff,
    CutoffRule,
    Declared,
    Floats,
    GivenValue,
    JudgedItems,
    Matched,
    Parameter,
    ParameterValue,
    Threshold,
    checked_cutoff,
    declaration,
)
from scorer.measures.trec_eval import TREC_CUTOFFS, TREC_EVAL, TrecMeasure
from scorer.wording import joined, quoted

Aggregation = Literal["mean", "sum", "geometric"]
"""How the scores of the queries become one score: their mean, sum or geometric mean."""


_Claim = bool | Mapping[str, ParameterValue]
"""Whether something is true of a kind; or the values of parameters with which it is false."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """A kind whose name another tool reads as another measure, unless it gives a parameter."""

    tool: str
    parameter: str
    """The parameter that decides."""
    meant: Callable[[Measure], Measure | None]
    """Returns the tool's measure, for a measure with our default of the parameter; None where both are the same."""
    is_refused: bool = True
    """Whether the name is refused without the parameter; else it means ours, and an object of the tool theirs."""


AMBIGUOUS: Mapping[str, Mapping[str, str]] = {"recall": {"trec_eval": f"R@{TREC_CUTOFFS}", "ranx": "R"}}
"""Names that mean something else in each tool if they have no cut-off: tool -> our name of its measure."""


Terms = tuple[tuple[float, "Measure"], ...]
"""Weights and measures."""


@dataclass(frozen=True, eq=False)
class Kind(Declared[Floats]):
    """A measure function and its declaration; `name` is that in the literature.

    The function takes a `Matched`, then the cut-off if the kind has one, then its parameters by keyword. It returns an
    array [query] of float64, NaN where the measure is undefined.
    """

    aliases: Mapping[str, Mapping[str, ParameterValue]] = field(default_factory=dict)
    """Other spellings of the name, each with the parameters that it sets."""
    whole_list_names: Mapping[str, Mapping[str, ParameterValue]] = field(default_factory=dict)
    """Names that mean this measure without a cut-off, and another kind with one; each with the parameters it sets."""
    unlike: tuple[Unlike, ...] = ()
    """Names of the kind that another tool reads as another measure."""
    redirected: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other tools' parameters that make it another kind: parameter -> value (``*``: any) -> name of that kind."""
    bounded: _Claim = True
    """Whether all scores are in [0, 1]."""
    closed_form: _Claim = True
    """Whether the mean over the orders of tied items has a closed form, which the function then computes."""
    closed_form_when_cut: _Claim = True
    """Whether the closed form holds also where a list is cut within a tie group."""
    highest: Callable[..., Floats] | None = None
    """Computes the highest score that any list can have, with the arguments of the function in order; infinite where it
    exceeds the floating-point numbers. None if no score is large."""
    subtopics: bool = False
    """Whether the measure uses the grades of the subtopics; a solution without subtopics has one for each query."""
    aggregation: Aggregation = "mean"
    mean_name: str = ""
    """The name of the mean over queries, where it has its own."""
    decimals: str = ""
    """The parameter that decimals after the name set: with "p", ``rbp.95`` sets p to 0.95."""
    decimals_with: Mapping[str, ParameterValue] = field(default_factory=dict)
    """Other parameters that this spelling sets."""
    terms: Terms = ()
    """The measures that a combination adds, with their weights; empty for a kind that is declared."""

    @cached_property
    def cutoff(self) -> CutoffRule:
        """Which cut-offs the kind takes, by the function's signature."""
        _, *cutoff = inspect.getfullargspec(self.function).args
        return CUTOFF_RULES[self.annotations[cutoff[0]]] if cutoff else "none"

    @cached_property
    def in_trec_eval(self) -> tuple[TrecMeasure, ...]:
        """The measures of trec_eval that this kind computes."""
        return tuple(measure for measure in TREC_EVAL if measure.ours == self.name)

    @property
    def trec_per_query(self) -> bool:
        """Whether trec_eval prints the measure for each query too."""
        return all(measure.per_query for measure in self.in_trec_eval)

    @property
    def families(self) -> dict[str, str]:
        """Names that trec_eval reads as several cut-offs, each with those cut-offs as trec_eval prints them."""
        theirs = self.in_trec_eval
        return {
            measure.name: measure.cutoffs for measure in theirs if measure.cutoffs and measure.name not in AMBIGUOUS
        }

    @property
    def with_numbers(self) -> TrecMeasure | None:
        """The measure of trec_eval, if any, that has numbers after its name: ``set_F.0.5`` sets beta to 0.5."""
        return next((measure for measure in self.in_trec_eval if measure.takes == "numbers"), None)

    @property
    def usage(self) -> str:
        """The name with its cut-off: ``P@k``, ``AP[@k]``, ``MARp@z1,z2,...``."""
        if self.cutoff == "none":
            return self.name
        if self.cutoff == "list":
            return f"{self.name}@z1,z2,..."
        _, letter, *_ = inspect.signature(self.function).parameters
        return f"{self.name}[@{letter}]" if self.cutoff == "optional" else f"{self.name}@{letter}"

    def measure(
        self, cutoff: float | Sequence[float] | None = None, parameters: Mapping[str, GivenValue] | None = None
    ) -> Measure:
        """Return the measure with this cut-off, as the kind takes it, and these parameters, as text or as numbers.

        A parameter that is not given has its default. Raises MeasureError where the kind does not take one of these.
        """
        given = self._own_names(parameters or {})
        try:
            values = tuple(
                parameter.value(given.get(parameter.name, parameter.default)) for parameter in self.parameters
            )
            return Measure(self, checked_cutoff(self.name, self.cutoff, cutoff), values)
        except MeasureError as error:
            raise MeasureError(f"{self.name} {error}") from None

    def _own_names(self, parameters: Mapping[str, GivenValue]) -> dict[str, GivenValue]:
        """Replace other tools' names and words for parameters by those of the kind."""
        known: dict[str, tuple[str, Mapping[str, str]]] = {}
        for parameter in self.parameters:
            known[parameter.name] = parameter.name, {}
            known |= {name: (parameter.name, words) for name, words in parameter.about.also.items()}
        given: dict[str, GivenValue] = {}
        for written, value in parameters.items():
            if written not in known:
                names = ", ".join(parameter.name for parameter in self.parameters)
                raise MeasureError(f"{self.name} has no parameter {quoted(written)}; it takes {names or 'none'}")
            name, words = known[written]
            if name in given:
                raise MeasureError(f"parameter {quoted(name)} is given twice")
            word = value.strip().strip("'\"").casefold() if isinstance(value, str) else ""
            given[name] = words.get(word, value)
        return given

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle the kind by its address, or its terms, so that every process has one object of it."""
        if self.terms:
            return _kind_of, (self.terms,)
        return resolve_name, (f"{self.function.__module__}:{self.function.__qualname__}",)


kind = declaration(Kind)


@dataclass(frozen=True, repr=False)
class Measure:
    """A kind with a cut-off and parameters; made by `Kind.measure` and `Registry.parse`, which check them."""

    kind: Kind
    cutoff: Cutoff = None
    """A number of items or a level of recall, several of them, or None."""
    parameters: tuple[ParameterValue, ...] = ()
    """One value for each parameter of the kind, in the same order."""

    def __post_init__(self) -> None:
        """Raise MeasureError for a name, which `parse` reads."""
        kind: object = self.kind
        if not isinstance(kind, Kind):
            raise MeasureError(f"found {quoted(str(kind))} as the kind of a measure; scorer.parse reads a name")

    def __call__(self, matched: Matched) -> Floats:
        """[query]: the scores; NaN where the measure is undefined, and the mean over all orders where tied items have
        none.

        Raises MeasureError where items tie, and no closed form of that mean is known.
        """
        if matched.found.tied is not None:
            self.need_closed_form(cut=matched.cut_within_ties)
        return self.kind.function(matched, *self._cutoff, **self.settings)

    def highest(self, matched: Matched) -> Floats | None:
        """[query of the solution]: the highest score that any list can have; None if no score is large.

        It is infinite where it exceeds the floating-point numbers.
        """
        highest = self.kind.highest
        return None if self.bounded or not highest else highest(matched, *self._cutoff, *self.parameters)

    @cached_property
    def _cutoff(self) -> tuple[Cutoff, ...]:
        return () if self.kind.cutoff == "none" else (self.cutoff,)

    def need_closed_form(self, *, cut: bool = False) -> None:
        """Raise MeasureError if no closed form of the mean over the orders of tied items is known.

        With `cut`, lists may be cut within a tie group, so that the order decides which items they have.
        """
        known = self._is_true(self.kind.closed_form)
        if not known or (cut and not self._is_true(self.kind.closed_form_when_cut)):
            where = " where a list is cut between them" if known else ""
            raise MeasureError(
                f"{self}: no formula is known for its mean over the orders of tied items{where}; choose another rule "
                "for ties"
            )

    @property
    def bounded(self) -> bool:
        """Whether all scores are in [0, 1]."""
        return self._is_true(self.kind.bounded)

    def _is_true(self, claim: _Claim) -> bool:
        return claim if isinstance(claim, bool) else not any(self.settings[name] == claim[name] for name in claim)

    @cached_property
    def settings(self) -> Mapping[str, ParameterValue]:
        """The value of each parameter, by its name."""
        return {parameter.name: value for parameter, value in self._pairs()}

    def _pairs(self) -> Iterable[tuple[Parameter, ParameterValue]]:
        return zip(self.kind.parameters, self.parameters, strict=True)

    @property
    def threshold(self) -> Threshold:
        """What makes an item relevant to the measure; for a combination, the highest threshold of its measures."""
        levels: list[object] = [part.threshold for _, part in self.kind.terms] or [self.settings.get("rel")]
        level = max(levels, key=lambda level: level if isinstance(level, float) else 0.0)
        return level if isinstance(level, float) else "positive"

    def at_threshold(self, rel: float | None) -> Measure:
        """Return the measure with `rel` as the lowest relevant grade.

        A measure that is not binary, or that has another threshold already, stays as it is; so does every measure
        where `rel` is None.
        """
        if rel is None:
            return self
        if self.kind.terms:
            return combination(tuple((weight, part.at_threshold(rel)) for weight, part in self.kind.terms))
        parameters = (
            float(rel) if parameter.about.sets_relevant and value == parameter.default else value
            for parameter, value in self._pairs()
        )
        return Measure(self.kind, self.cutoff, tuple(parameters))

    def to_ir_measures(self) -> Any:
        """Return the measure as one of ir_measures, for its functions and for ``pt.Experiment`` of PyTerrier.

        Ties are ordered by descending item id, and a query for which the measure is undefined scores 0. Raises
        MeasureError for a measure of subtopics, or that is no mean, and ImportError without ir_measures.
        """
        if self.kind.aggregation != "mean" or self.kind.subtopics:
            raise MeasureError(f"{self} is no mean over queries with one grade for each item, as ir_measures takes it")

        def scores(qrels: Any, run: Any) -> list[tuple[str, float]]:
            queries, matched = matched_columns(qrels, run)
            return list(zip(queries, np.nan_to_num(self(matched)).tolist(), strict=True))

        return import_module("ir_measures").define(scores, str(self), support_cutoff=False)

    def __repr__(self) -> str:
        return f"<Measure {self}>"

    def __str__(self) -> str:
        """The canonical name: without defaults, parameters in the declared order."""
        return self._spelled(self.kind.name)

    def changed(self, **parameters: GivenValue) -> Measure:
        """Return the measure with other values of some parameters."""
        return self.kind.measure(self.cutoff, {**self.settings, **parameters})

    def naming(self, parameter: str) -> str:
        """Return the canonical name with this parameter, also if it has its default."""
        return self._spelled(self.kind.name, shown=(parameter,))

    @property
    def full(self) -> str:
        """The name with every parameter, defaults included."""
        if self.kind.terms:
            return _sum_of((weight, part.full) for weight, part in self.kind.terms)
        return self._spelled(self.kind.name, shown=tuple(self.settings))

    @property
    def mean_name(self) -> str:
        """The name of the mean over queries: ``MAP@10`` for ``AP@10``."""
        return self._spelled(self.kind.mean_name or self.kind.name)

    def _spelled(self, name: str, shown: Sequence[str] = ()) -> str:
        settings = [
            parameter.spelled(value)
            for parameter, value in self._pairs()
            if value != parameter.default or parameter.name in shown
        ]
        parameters = f"({','.join(settings)})" if settings else ""
        if self.cutoff is None:
            return name + parameters
        cutoffs = self.cutoff if isinstance(self.cutoff, tuple) else (self.cutoff,)
        return f"{name}{parameters}@{','.join(map(repr, cutoffs))}"


def _sum_of(terms: Iterable[tuple[float, str]], times: str = "*", plus: str = "+") -> str:
    """The text of a sum of weighted names; a weight of 1 is left out."""
    return plus.join(name if weight == 1 else f"{weight!r}".removesuffix(".0") + times + name for weight, name in terms)


@cache
def combination(terms: Terms) -> Measure:
    """Return the weighted sum of measures, query by query: ``0.1*RR+0.9*AP``.

    Raises MeasureError for a measure whose scores are not averaged, because its mean is not the sum of the means.
    """

    def combined(matched: Matched) -> Floats:
        return np.asarray(sum(weight * part(matched) for weight, part in terms))

    def highest(matched: Matched) -> Floats:
        most = [(abs(weight), part.highest(matched)) for weight, part in terms]
        return np.asarray(sum(weight * (np.ones(matched.queries) if each is None else each) for weight, each in most))

    weights, parts = zip(*terms, strict=True)
    if weights == (1,):
        return terms[0][1]
    if uneven := [part for part in parts if part.kind.aggregation != "mean"]:
        raise MeasureError(f"{uneven[0]} is not a mean over queries, so that it cannot be a part of a combination")
    combined.__doc__ = f"The sum of {joined([f'{weight:g} times {part}' for weight, part in terms])}."
    names = [(weight, str(part)) for weight, part in terms]
    latex = ((weight, rf"\mathrm{{{re.sub('([_{}])', _ESCAPED, name)}}}") for weight, name in names)
    return Kind(
        combined,
        _sum_of(names),
        stated={
            "title": "Combination of measures",
            "formula": _sum_of(names, " · ", " + "),
            "latex": _sum_of(latex, r" \cdot ", " + ").join(("$$", "$$")),
            "edge_cases": _EDGE_CASES,
            "source": "Stated by the organiser, or by the command.",
        },
        bounded=min(weights) > 0 and sum(weights) < 1 + 1e-9 and all(part.bounded for part in parts),
        closed_form=all(part._is_true(part.kind.closed_form) for part in parts),
        closed_form_when_cut=all(part._is_true(part.kind.closed_form_when_cut) for part in parts),
        highest=highest if any(part.kind.highest for part in parts) else None,
        subtopics=any(part.kind.subtopics for part in parts),
        terms=terms,
    ).measure()


_EDGE_CASES = (
    "Undefined where one of these is undefined. The score of a query is the sum of its scores on these measures. So "
    "the mean over queries is the sum of their means, if all are defined for the same queries."
)
_ESCAPED = r"\\\1"


def _kind_of(terms: Terms) -> Kind:
    return combination(terms).kind


def measure(function: Callable[[Matched], Floats], name: str) -> Measure:
    """Return a function as a measure, for `evaluate`, `compare` and `report`.

    Parameters
    ----------
    function
        Takes a `Matched`, the judged items that were found in the lists, and returns the score of each query: an array
        in the order of the solution, NaN where the measure is undefined.
    name
        The name of the measure in results.

    Raises
    ------
    MeasureError
        When it is computed: the function does not return a number for each query, or `ties` is "expected".

    Examples
    --------
    >>> import scorer
    >>> def found(matched):  # the share of the judged items that are in the list
    ...     return matched.total(matched.found) / matched.total(matched.ideal)
    >>> scorer.evaluate({"q1": {"d1": 2, "d2": 0}}, {"q1": ["d3", "d2"]}, [scorer.measure(found, "Found"), "RR"])
    Evaluation({'Found': 0.5, 'RR': 0.0}, queries=1, undefined=0)
    """
    checked = partial(_checked, function, name)
    return _Kind(checked, name, stated={"title": name}, bounded=False, closed_form=False).measure()


class _Kind(Kind):
    """A kind that is no attribute of a module, and so is pickled by its value."""

    __reduce__ = object.__reduce__


def _checked(function: Callable[[Matched], Floats], name: str, matched: Matched) -> Floats:
    scores = np.asarray(function(matched))
    if scores.shape != (matched.queries,) or scores.dtype.kind not in "fiub":
        raise MeasureError(
            f"{quoted(name)}: found {scores.dtype} of shape {scores.shape}; expected a number for each of "
            f"{matched.queries} queries"
        )
    return scores.astype(np.float64)


def matched_columns(qrels: Any, run: Any) -> tuple[list[str], Matched]:
    """Return the judged queries, and the match of the columns that ir_measures has; ties by descending id."""
    graded: dict[str, dict[str, float]] = {}
    for query, item, grade in zip(qrels["query_id"], qrels["doc_id"], qrels["relevance"], strict=True):
        graded.setdefault(query, {})[item] = float(grade)
    lists: dict[str, list[tuple[float, str]]] = {query: [] for query in graded}
    for query, item, score in zip(run["query_id"], run["doc_id"], run["score"], strict=True):
        lists.setdefault(query, []).append((score, item))
    ideal_rows, rows = [], []
    for number, (query, grades) in enumerate(graded.items()):
        ideal_rows += [(number, grade) for grade in sorted(grades.values(), reverse=True)]
        ranked = enumerate(sorted(lists[query], reverse=True), 1)
        rows += [(number, rank, grades[item]) for rank, (_, item) in ranked if item in grades]
    numbers, grade = np.array(ideal_rows, dtype=np.float64).reshape(-1, 2).T
    ideal = JudgedItems.ideal(numbers.astype(np.int64), grade)
    tie_ranks = dict(zip(ideal_rows, ideal.tie_rank.tolist(), strict=True))
    tie_rank = np.array([tie_ranks[number, grade] for number, _, grade in rows], dtype=np.int64)
    numbers, rank, grade = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    found = JudgedItems(numbers.astype(np.int64), rank.astype(np.int64), grade, tie_rank)
    return [*graded], Matched(found, ideal, np.array([len(lists[query]) for query in graded]))
