"""The input of every measure, the judged items of a submission's lists and of the ideal lists; and parameters of
measures.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, wraps
from types import UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from scorer.errors import MeasureError
from scorer.wording import quoted, texts_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOTHING, ONE = np.zeros(()), np.ones((), dtype=np.int64)
"""Arrays, with which numpy computes in half of the time of numbers."""


def ratio(numerator: Floats, denominator: Floats | float, defined: Bools) -> Floats:
    """Return `numerator` / `denominator`, and NaN where not `defined`."""
    quotients = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotients, where=defined)
    return quotients


def rows_at(values: Floats, rows: Ints) -> Floats:
    """Return the rows at some positions; the array itself, not a copy, if these are all of its rows in their order."""
    return values if np.array_equal(rows, np.arange(len(values))) else values[rows]


def distinct(values: Ints) -> Ints:
    """Return the distinct values, ascending. ``np.unique`` loads masked arrays, which takes a tenth of a start-up."""
    ascending = np.sort(values)
    first = np.append(True, ascending[1:] != ascending[:-1])[: ascending.size]
    return np.asarray(ascending[first], dtype=np.int64)


def ranges(start: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """Return the integers of all ranges, from `start` up to and without `stop`, and for each the index of its range."""
    length = stop - start
    owner = np.repeat(np.arange(start.size), length)
    within = np.arange(owner.size) - np.repeat(np.cumsum(length) - length, length)
    return start[owner] + within, owner


def cumulative(position: Ints, values: Floats, operation: np.ufunc = np.add) -> Floats:
    """Return the cumulative sums, or products, of groups of values; a `position`, from 1, of 1 begins a new group.

    Each group is summed on its own, by doubling steps. The difference of cumulative sums over all groups would carry
    the rounding of one group into the next.
    """
    results = values.copy()
    step = 1
    while step < position.max(initial=0):
        later = np.flatnonzero(position > step)
        results[later] = operation(results[later], results[later - step])
        step *= 2
    return results


Threshold = float | Literal["positive"]
"""What makes an item relevant: a grade of at least this number, or any positive grade."""


def is_relevant(grade: Floats, rel: Threshold) -> Bools:
    """Whether each grade is relevant."""
    relevant: Bools = grade > NOTHING if rel == "positive" else grade >= rel
    return relevant


Computed = TypeVar("Computed")
_Settings = ParamSpec("_Settings")


@dataclass(slots=True, eq=False)
class Tied:
    """The tie group of each item: the items of its list that have the same run score."""

    before: Ints
    """[item]: the number of items of the list before the group."""
    size: Ints
    """[item]: the number of items in the group, also unjudged ones. Further rows of a relevant item are after it."""
    rows: Ints | None = None
    """[item]: the number of rows of the group; None: as many as items."""
    copies: Ints | None = None
    """[item]: the number of rows of the item in the group; None: one."""

    @property
    def with_copies(self) -> tuple[Ints, Ints]:
        """[item]: the rows of its group, and its own."""
        copies = np.ones_like(self.size) if self.copies is None else self.copies
        return self.size if self.rows is None else self.rows, copies

    def where(self, selected: Bools | Ints) -> Tied:
        columns = (self.before, self.size, self.rows, self.copies)
        return Tied(*(None if column is None else column[selected] for column in columns))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Subtopics:
    """The grades that items have for the subtopics of their query: pairs of an item and a subtopic, by item."""

    first: Ints
    """[item + 1]: the index at which the pairs of each item begin, and the end of the last one."""
    subtopic: Ints
    """[pair]: the number of the subtopic in its query, from 0; ascending for each item."""
    grade: Floats
    """[pair]"""
    id_rank: Ints
    """[item]: the rank, from 1, of its id among those of its query, in descending order of their bytes."""


@dataclass(slots=True, eq=False)
class JudgedItems:
    """Items of ranked lists that the solution lists: arrays with one entry an item, sorted by query, then by rank.

    An item that the solution does not list has no entry, so the ranks of a list may have gaps.
    """

    query: Ints
    """[entry]: the index of the query in the solution, from 0."""
    rank: Ints
    """[entry]: the rank in the list, from 1."""
    grade: Floats
    """[entry]: the grade, the highest of all subtopics; an item with grade 0 or below is not relevant."""
    tie_rank: Ints
    """[entry]: 1 + the number of relevant items of the query with a strictly higher grade; 0 for other items.

    Relevant means a grade above 0; in a solution in VL.NET's format, every item that it lists is relevant.
    """
    tied: Tied | None = None
    """None: each item has one rank. Otherwise all orders of a tie group are equally likely, `rank` is the first rank of
    the group, and a measure is the mean over these orders."""
    entry: Ints | None = None
    """[entry]: the index in the ideal list of the solution; None where the solution has no subtopics."""
    subtopics: Subtopics | None = None
    """Of all items of a solution; None where it has no subtopics, and for the items of a submission."""
    cache: dict[object, Any] = field(default_factory=dict, repr=False)
    """Results that are needed several times, which nobody changes; of a solution, those of `once`."""

    @classmethod
    def ideal(cls, query: Ints, grade: Floats, *, listed_is_relevant: bool = False) -> JudgedItems:
        """Return the items of a solution, given in the order of `Matched.ideal`, with their ranks and tie ranks."""
        new = np.append(True, query[1:] != query[:-1])[: query.size]
        first = np.flatnonzero(new)
        rank = np.arange(1, query.size + 1) - np.repeat(first, np.diff(first, append=query.size))
        new[1:] |= grade[1:] != grade[:-1]
        first = np.flatnonzero(new)
        tie_rank = np.repeat(rank[first], np.diff(first, append=query.size))
        if not listed_is_relevant:
            tie_rank[grade <= 0] = 0
        return cls(query, rank, grade, tie_rank)

    @classmethod
    def listed(cls, ideal: JudgedItems, entry: Ints, rank: Ints, tied: Tied | None = None) -> JudgedItems:
        """Return the items at these indexes of a solution's, with their ranks in lists."""
        known = None if ideal.subtopics is None else entry
        return cls(ideal.query[entry], rank, ideal.grade[entry], ideal.tie_rank[entry], tied, known)

    def __len__(self) -> int:
        return self.query.size

    def where(self, selected: Bools | Ints) -> JudgedItems:
        """Return the entries that the mask `selected` has, or those whose indexes it lists, in that order."""
        if selected.dtype.kind == "b":
            (selected,) = selected.nonzero()
            if selected.size == self.query.size:
                return self
        tied = None if self.tied is None else self.tied.where(selected)
        entry = None if self.entry is None else self.entry[selected]
        return JudgedItems(
            self.query[selected], self.rank[selected], self.grade[selected], self.tie_rank[selected], tied, entry
        )

    def top(self, k: int | None) -> JudgedItems:
        """Return the entries with a rank of at most `k`; all of them if `k` is None."""
        return self if k is None else self.where(self.rank <= k)

    def relevant(self, rel: Threshold = "positive") -> JudgedItems:
        """Return the entries whose items are relevant."""
        key = "relevant", rel
        if key not in self.cache:
            relevant = self.where(is_relevant(self.grade, rel))
            # In its own cache, it would remain in memory until Python searches for garbage.
            self.cache[key] = None if relevant is self else relevant
        kept: JudgedItems | None = self.cache[key]
        return self if kept is None else kept

    def position_in_query(self) -> Ints:
        """[entry]: 1 for the first entry of a query, 2 for the second, and so on."""
        if "position" not in self.cache:
            self.cache["position"] = np.arange(1, self.query.size + 1) - self.query.searchsorted(self.query)
        position: Ints = self.cache["position"]
        return position

    def count_so_far(self, counted: Bools) -> Ints:
        """[entry]: how many entries of the query, up to and including this one, are in the mask `counted`."""
        starts = np.flatnonzero(np.diff(self.query, prepend=-1))
        count: Ints = np.cumsum(counted)
        earlier: Ints = (count - counted)[starts]
        return count - np.repeat(earlier, np.diff(starts, append=len(self)))


@dataclass(frozen=True, slots=True, eq=False)
class TieGroups:
    """The tie groups of some judged items, in the order of the items."""

    query: Ints
    """[group]: the index of the query."""
    tied: Tied
    """[group]: where in the list the group is, and its size."""
    first: Ints
    """[group]: the index of its first judged item."""
    hits: Ints
    """[group]: how many of the judged items it has."""
    earlier: Ints
    """[group]: how many of the judged items are in earlier groups of the query."""

    @classmethod
    def of(cls, hits: JudgedItems, tied: Tied) -> TieGroups:
        """Return the groups of these items, which tie as `tied` says."""
        first = np.flatnonzero((np.diff(hits.query, prepend=-1) != 0) | (np.diff(tied.before, prepend=-1) != 0))
        sizes = np.diff(first, append=len(hits))
        return cls(hits.query[first], tied.where(first), first, sizes, hits.position_in_query()[first] - 1)

    def where(self, selected: Bools) -> TieGroups:
        return TieGroups(
            self.query[selected],
            self.tied.where(selected),
            self.first[selected],
            self.hits[selected],
            self.earlier[selected],
        )


@dataclass(slots=True, eq=False)
class RankValues:
    """Ranks of lists with a value at each, sorted by query, then by rank; ranks without a value are left out."""

    query: Ints
    """[entry]: the index of the query."""
    rank: Ints
    """[entry]: the rank, from 1."""
    value: Floats
    """[entry]"""


def once(
    function: Callable[Concatenate[Matched, _Settings], Computed],
) -> Callable[Concatenate[Matched, _Settings], Computed]:
    """Decorate a function of the solution of a `Matched`: it is computed only once for the same settings, by place."""
    name, compute = function.__qualname__, cast("Callable[..., Computed]", function)

    @wraps(function)
    def kept(matched: Matched, /, *settings: Any) -> Computed:
        key, known = (name, matched.retrieved.size, settings), matched.ideal.cache
        if key not in known:
            known[key] = compute(matched, *settings)
        result: Computed = known[key]
        return result

    return cast("Callable[Concatenate[Matched, _Settings], Computed]", kept)


@dataclass(slots=True, eq=False)
class Matched:
    """The items of a submission found in the solution; arrays [query] are in the order of the solution."""

    found: JudgedItems
    """The judged items in the submission's lists. A repeated item has one entry, at its first rank."""
    ideal: JudgedItems
    """All items of the solution; those of a query by descending grade, with the ranks 1, 2, 3, ..."""
    retrieved: Ints
    """[query]: the length of the list, unjudged and repeated items included; 0 for a missing list."""
    answered: Bools | None = None
    """[query]: whether the submission has a list, even an empty one; None where nobody needs to know."""
    extremes: tuple[Matched, Matched] | None = None
    """The same lists with every tie group in its worst and in its best order; None if not requested or without ties."""
    checked: Matched | None = None
    """The same lists by a second solution for some of the queries, which are numbered from 0; None without one."""

    @property
    def queries(self) -> int:
        """The number of queries of the solution."""
        return self.retrieved.size

    def total(self, hits: JudgedItems | RankValues, weights: Floats | Bools | None = None) -> Floats:
        """[query]: the sum of the weights, [entry], or the number of the entries without weights; 0 without entries."""
        return np.asarray(np.bincount(hits.query, weights, self.retrieved.size), dtype=np.float64)

    @once
    def relevant_items(self, rel: Threshold = "positive") -> Floats:
        """[query]: R, the number of relevant items in the solution."""
        return self.total(self.ideal.relevant(rel))

    @once
    def wanted(self, rel: Threshold = "positive") -> Floats:
        """[query]: as `relevant_items`, but NaN for 0: what is divided by it is undefined without a relevant item."""
        wanted = self.relevant_items(rel)
        return np.where(wanted > 0, wanted, np.nan)

    @once
    def defined(self, rel: Threshold = "positive") -> Floats:
        """[query]: 1, or NaN without a relevant item: what is multiplied by it is undefined there."""
        return self.wanted(rel) / self.wanted(rel)

    def relevant_found(self, rel: Threshold = "positive", k: int | None = None) -> Floats:
        """[query]: the number of relevant items in the first `k` of the list; in the whole list if `k` is None."""
        return self.count(self.found.relevant(rel), k)

    def count(self, hits: JudgedItems, k: int | Floats | None = None) -> Floats:
        """[query]: the (expected) number of entries in the first `k` ranks; `k` may be [query], and None counts all.

        If p of the n ranks of a tie group are in the first k, each entry of the group counts p / n, the probability
        that it is there.
        """
        if hits.tied is None:
            if k is None:
                return self.total(hits)
            return self.total(hits, hits.rank <= (k[hits.query] if isinstance(k, np.ndarray) else k))
        ends = self.retrieved if k is None else np.minimum(self.retrieved, k)
        inside = np.clip(ends[hits.query] - hits.tied.before, 0, hits.tied.size)
        return self.total(hits, inside / hits.tied.size)

    def values_by_rank(
        self, hits: JudgedItems, values: Callable[[JudgedItems], Floats], k: int | None = None
    ) -> RankValues:
        """Return the (expected) value at each rank up to `k`, or at all; `values` computes that of each entry, [entry].

        Each rank of a tie group of n items, whose values sum to v, has the value v / n. Source: McSherry and Najork,
        Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores, ECIR 2008.
        """
        hits = hits.top(k)
        valued = values(hits)
        if hits.tied is None:
            return RankValues(hits.query, hits.rank, valued)
        groups = TieGroups.of(hits, hits.tied)
        group, rank = self.group_ranks(groups, k)
        of_group = np.repeat(np.arange(groups.query.size), groups.hits)
        means = np.bincount(of_group, valued, groups.query.size) / groups.tied.size
        if not np.isfinite(means).all():  # the sum of large values may overflow where their mean does not
            valued = valued / groups.tied.size[of_group]
            means = np.asarray(np.bincount(of_group, valued, groups.query.size), dtype=np.float64)
        return RankValues(groups.query[group], rank, means[group])

    def group_ranks(self, groups: TieGroups, k: int | None = None) -> tuple[Ints, Ints]:
        """[rank]: the index of a group; [rank]: the rank, from 1, of each of its ranks in the list, up to `k`."""
        last = np.minimum(groups.tied.before + groups.tied.size, self.retrieved[groups.query])
        if k is not None:
            last = np.minimum(last, k)
        before, group = ranges(groups.tied.before, np.maximum(last, groups.tied.before))
        return group, before + 1

    @property
    def cut_within_ties(self) -> bool:
        """Whether a list is cut within a tie group, so that the order decides which items it has."""
        tied = self.found.tied
        return tied is not None and bool((tied.before + tied.size > self.retrieved[self.found.query]).any())

    def condensed(self) -> Matched:
        """Return the same lists without unjudged items.

        An item with a negative grade counts as unjudged, as in TREC's files, unless it is relevant in VL.NET's sense.
        Raises ValueError where a list is cut within a tie group: the items after the cut would move up, and are not
        known.
        """
        if self.cut_within_ties:
            raise ValueError("a list is cut within a tie group")
        found = self.found.where((self.found.grade >= 0) | (self.found.tie_rank > 0))
        tied, rank = None, found.position_in_query()
        if found.tied is not None:
            groups = TieGroups.of(found, found.tied)
            tied = Tied(groups.earlier, groups.hits).where(np.repeat(np.arange(groups.query.size), groups.hits))
            rank = tied.before + 1
        return Matched(
            found=JudgedItems(found.query, rank, found.grade, found.tie_rank, tied, found.entry),
            ideal=self.ideal,
            retrieved=np.bincount(found.query, minlength=self.queries),
            answered=self.answered,
            extremes=None if self.extremes is None else (self.extremes[0].condensed(), self.extremes[1].condensed()),
            checked=self.checked and self.checked.condensed(),
        )


GainMap = tuple[tuple[float, float], ...]
"""A gain for each grade: pairs of grade and gain, by ascending grade."""

ParameterValue = float | str | GainMap
"""The value of a parameter: a number, a word, or a gain for each grade."""

GivenValue = ParameterValue | Mapping[float, float]
"""A value as a caller may give it."""

Cutoff = int | float | tuple[int, ...] | None
"""How much of a list a measure looks at: k items, a level of recall, a multiple of R, several k, or with None the whole
list."""

CutoffRule = Literal["none", "optional", "required", "list", "level", "multiple"]
"""Which cut-offs a kind takes. With "list" several k make one measure; with the others, one measure each."""

Level = Annotated[float, "a level of recall"]
Multiple = Annotated[float, "a multiple of R"]

CUTOFF_RULES: Mapping[object, CutoffRule] = {
    int | None: "optional",
    int: "required",
    tuple[int, ...]: "list",
    Level: "level",
    Multiple: "multiple",
}
"""By the annotation of the cut-off in the signature of a measure function."""

LARGEST_CUTOFF = 10**9

_SHARES: Mapping[CutoffRule, tuple[int, str]] = {
    "level": (1, "the level of recall"),
    "multiple": (1000, "the multiple of R"),
}
"""The largest cut-off that is no number of items, and what it is."""

_NEEDED = {
    "required": "needs a cut-off, as in {}@10",
    "list": "needs cut-offs, as in {}@5,10",
    "level": "needs a level of recall, as in {}@0.1",
    "multiple": "needs a multiple of R, as in {}@0.5",
}


@dataclass(frozen=True, slots=True)
class About:
    """What the signature of a declared function says about a parameter, besides its type."""

    least: float = -math.inf
    most: float = math.inf
    also: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other tools' names for the parameter, each with their words for its values."""
    grid: tuple[float, float, float] | None = None
    """The first value, the last one and the step that tuning tries by default; None where nothing tunes it."""
    sets_relevant: bool = False
    """Whether it is the threshold of a binary measure."""
    parameter_of: tuple[str, Callable[..., Any]] | None = None
    """The name of the parameter, and the function that has it."""

    @property
    def description(self) -> str:
        """What the parameter is: the TOML file has it by function, or for all functions of the module."""
        if self.parameter_of is None or self.sets_relevant:
            return "which items are relevant: those with a positive grade, or with at least this grade"
        name, function = self.parameter_of
        texts = _texts(inspect.getfile(function))
        own: dict[str, str] = {**texts["parameters"], **texts[function.__name__].get("parameters", {})}
        return own[name]

    @property
    def number(self) -> str:
        """The allowed numbers, in words."""
        if math.isfinite(self.most):
            return f"a number from {self.least:g} to {self.most:g}"
        return f"a number of {self.least:g} or more" if math.isfinite(self.least) else "a number"


_Result = TypeVar("_Result")
Made = TypeVar("Made")


class _Text:
    """A text about a declared function, under the name of this attribute."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, declared: Declared[Any], _owner: type) -> str:
        return str(declared.texts.get(self._name, ""))


@cache
def _texts(file: str) -> dict[str, Any]:
    """The texts of all functions of a module: those in the TOML file of the same name."""
    return _joined(texts_of(file))


def _joined(texts: Mapping[str, Any]) -> dict[str, Any]:
    """The texts, whose lines are joined, and those within them."""
    return {key: " ".join(text.split()) if isinstance(text, str) else _joined(text) for key, text in texts.items()}


@dataclass(frozen=True, eq=False)
class Declared(Generic[_Result]):
    """A function and its declaration, which a decorator makes of it: see `declaration`.

    The docstring of the function, one sentence that says what its result is, is printed for users. Its parameters are
    those by keyword, some annotated ``Annotated[type, About(...)]``.
    """

    function: Callable[..., _Result] = field(repr=False)
    name: str
    stated: Mapping[str, Any] | None = field(default=None, kw_only=True, repr=False)
    """The texts of a function that is made while the program runs."""
    title = _Text()
    formula = _Text()
    """Plain text, without angle brackets and ampersands."""
    latex = _Text()
    """The same for pages: as LaTeX between ``$$``, then in words what its symbols mean, with LaTeX between ``$``. The
    page of measures defines the symbols that several formulas have."""
    edge_cases = _Text()
    """How the function treats short lists, ties, queries without relevant items, and so on."""
    source = _Text()

    @property
    def texts(self) -> Mapping[str, Any]:
        """What users read, apart from the docstring: a TOML file of the name of the module has it by function."""
        return self.stated or _texts(inspect.getfile(self.function))[self.function.__name__]

    @property
    def summary(self) -> str:
        """What the result is, in one sentence."""
        return " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split())

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """The annotation of each argument."""
        return get_type_hints(self.function, include_extras=True)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order of the function's signature."""
        return tuple(
            Parameter.declared(each, self.annotations[each.name], self.function)
            for each in inspect.signature(self.function).parameters.values()
            if each.kind is each.KEYWORD_ONLY
        )


def declaration(
    declared: Callable[Concatenate[Callable[..., _Result], _Settings], Made],
) -> Callable[_Settings, Callable[[Callable[..., _Result]], Made]]:
    """Return a decorator that makes a subclass of `Declared` of a function: ``@kind(name="AP", ...)``."""

    def with_settings(*args: _Settings.args, **kwargs: _Settings.kwargs) -> Callable[[Callable[..., _Result]], Made]:
        return lambda function: declared(function, *args, **kwargs)

    return with_settings


Relevant = Annotated[Threshold, About(sets_relevant=True)]
"""The threshold of a binary measure; `Measure.at_threshold` sets it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a declared function: one of a few words, a number in a range, gains by grade, or several of these;
    or a number for each run.
    """

    name: str
    default: Any
    """None: a value is required."""
    words: tuple[str, ...]
    numeric: bool
    mapped: bool
    """Whether it takes gains by grade."""
    weights: bool
    """Whether it takes a number for each run."""
    about: About

    @classmethod
    def declared(cls, given: inspect.Parameter, annotation: object, function: Callable[..., Any]) -> Parameter:
        """Return the parameter that a keyword argument annotated ``Annotated[float | Literal[...], About(...)]`` is."""
        declared_type, about = get_args(annotation) if get_origin(annotation) is Annotated else (annotation, About())
        about, default = replace(about, parameter_of=(given.name, function)), given.default
        default = None if default is given.empty else default
        kinds = get_args(declared_type) if get_origin(declared_type) in (Union, UnionType) else (declared_type,)
        words = tuple(word for member in kinds if get_origin(member) is Literal for word in get_args(member))
        return cls(given.name, default, words, float in kinds, GainMap in kinds, Floats in kinds, about)

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        values = [
            *self.words,
            *([self.about.number] if self.numeric else []),
            *(["gains as in {1: 3.5, 2: 9}"] if self.mapped else []),
            *([f"{self.about.number} for each run"] if self.weights else []),
        ]
        return " or ".join(values)

    def value(self, given: GivenValue) -> ParameterValue:
        """Return the value that `given` means, as text or as a number; raise MeasureError if it is not allowed."""
        if self.mapped and isinstance(given, Mapping | tuple):
            return self._gains(given)
        text = str(given).strip().strip("'\"").casefold()
        words = {word.casefold(): word for word in self.words}
        if text in words:
            return words[text]
        if self.mapped and text.startswith("{") and text.endswith("}"):
            pairs = [pair.partition(":") for pair in text[1:-1].split(",")]
            return self._gains([(decimal(grade.strip()), decimal(gain.strip())) for grade, _, gain in pairs])
        number = decimal(text)
        if not self.numeric or not math.isfinite(number) or not self.about.least <= number <= self.about.most:
            raise self._refusal(str(given))
        return number

    def _gains(self, given: Mapping[float, float] | Iterable[tuple[float, float]]) -> GainMap:
        pairs = list(given.items() if isinstance(given, Mapping) else given)
        gains = {float(grade) + 0.0: float(gain) + 0.0 for grade, gain in pairs}
        valid = all(math.isfinite(grade) and 0 <= gain < math.inf for grade, gain in gains.items())
        if not valid or not 0 < len(gains) == len(pairs):
            found = ", ".join(f"{grade:g}: {gain:g}" for grade, gain in pairs)
            raise self._refusal(f"{{{found}}}")
        return tuple(sorted(gains.items()))

    def _refusal(self, found: str) -> MeasureError:
        return MeasureError(f"takes {self.allowed} as {self.name}; found {quoted(found)}")

    def spelled(self, value: ParameterValue) -> str:
        """The parameter with this value as names have it: ``rel=2``, ``gain=exp``, ``gain={1:3.5,2:9}``."""
        if isinstance(value, tuple):
            gains = ",".join(f"{_spelled(grade)}:{_spelled(gain)}" for grade, gain in value)
            return f"{self.name}={{{gains}}}"
        return f"{self.name}={value if isinstance(value, str) else _spelled(value)}"


def _spelled(number: float) -> str:
    return repr(number).removesuffix(".0")


def decimal(text: str) -> float:
    """Return the number that `text` has in decimal digits; NaN if `text` is anything else."""
    decimal = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE)
    return float(text) + 0.0 if decimal else math.nan  # + 0.0 turns -0.0 into 0.0


def checked_cutoff(name: str, rule: CutoffRule, cutoff: float | Sequence[float] | None) -> Cutoff:
    """Return a cut-off in the form that a kind takes; None or empty means the whole list.

    Raises MeasureError, whose text continues the name of the kind, where the kind does not take this cut-off.
    """
    if cutoff is None or cutoff == ():
        if rule in _NEEDED:
            raise MeasureError(_NEEDED[rule].format(name))
        return None
    if rule == "none":
        raise MeasureError("takes no cut-off")
    if rule == "list":
        ascending = sorted(map(_whole_cutoff, cutoff if isinstance(cutoff, Sequence) else (cutoff,)))
        if len(set(ascending)) < len(ascending):
            raise MeasureError(f"takes a cut-off only once; found {','.join(map(str, ascending))}")
        return tuple(ascending)
    if isinstance(cutoff, Sequence):
        raise MeasureError(f"takes one cut-off; found {len(cutoff)}")
    if rule not in _SHARES:
        return _whole_cutoff(cutoff)
    most, meaning = _SHARES[rule]
    if not 0 <= cutoff <= most:
        raise MeasureError(f"takes a number from 0 to {most} as {meaning}; found {cutoff:g}")
    return float(cutoff)


def _whole_cutoff(cutoff: float) -> int:
    if not 1 <= cutoff <= LARGEST_CUTOFF or cutoff != int(cutoff):
        raise MeasureError(f"takes a whole number from 1 to {LARGEST_CUTOFF:,} as a cut-off; found {cutoff:g}")
    return int(cutoff)
