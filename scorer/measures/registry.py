"""What a measure is, and how its name is read and written.

A `Kind` is a function of a `Judged` with its declaration: name, cut-off, parameters, and the words that explain it.
A `Measure` is a kind with its cut-off and parameters settled: a value, named ``Name(parameter=value)@k``.
A `Registry` reads names: those that `str` writes, and the spellings of other tools.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pkgutil import resolve_name
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from scorer.errors import MeasureError
from scorer.hits import Floats, Judged, Threshold
from scorer.wording import quoted

GainMap = tuple[tuple[float, float], ...]
"""What each grade is worth: pairs of grade and gain, by ascending grade."""

Value = float | str | GainMap
"""A parameter's: a number, a word, or a gain for each grade."""

Given = Value | Mapping[float, float]
"""A value as it may be given from Python."""

Aggregation = Literal["mean", "sum", "geometric"]
"""How one score comes from those of the queries: their mean, their sum, or their geometric mean."""

Cutoff = int | float | tuple[int, ...] | None
"""How much of a list a measure looks at: all of it, k places, a level of recall, or several k."""

CutoffRule = Literal["none", "optional", "required", "list", "level"]
"""Which of them a kind takes; "list" makes one measure of several k, where the others make one of each."""

LARGEST_CUTOFF = 10**9


@dataclass(frozen=True, slots=True)
class About:
    """What the signature of a measure's function says of a parameter, beside its type."""

    description: str
    least: float = -math.inf
    most: float = math.inf
    also: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other tools' names for the parameter, each with their words for its values."""


RELEVANT = About("which items are relevant: those with a positive grade, or with at least this one")

Relevant = Annotated[Threshold, RELEVANT]
"""The threshold of a binary measure, which a threshold for all of them sets."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kind: a word out of a few, a number in a range, gains by grade, or any of these."""

    name: str
    default: Value
    words: tuple[str, ...]
    numeric: bool
    mapped: bool
    about: About

    @classmethod
    def declared(cls, name: str, default: Value, annotation: object) -> Parameter:
        """Read from a keyword-only argument, annotated ``Annotated[float | Literal[...], About(...)]``."""
        declared_type, about = get_args(annotation)
        kinds = get_args(declared_type) if get_origin(declared_type) in (Union, UnionType) else (declared_type,)
        words = tuple(word for each in kinds if get_origin(each) is Literal for word in get_args(each))
        return cls(name, default, words, float in kinds, GainMap in kinds, about)

    @property
    def allowed(self) -> str:
        """The values it takes, in words."""
        bounded = math.isfinite(self.about.least)
        number = f"a number from {self.about.least:g} to {self.about.most:g}" if bounded else "a number"
        ways = [
            *self.words,
            *([number] if self.numeric else []),
            *(["gains as in {1: 3.5, 2: 9}"] if self.mapped else []),
        ]
        return " or ".join(ways)

    def value(self, given: Given) -> Value:
        """`given`, as text or as a number, as the value that it means; a `MeasureError` where it is not allowed."""
        if self.mapped and isinstance(given, Mapping | tuple):
            return self._gains(given)
        text = str(given).strip().strip("'\"").casefold()
        words = {word.casefold(): word for word in self.words}
        if text in words:
            return words[text]
        if self.mapped and text.startswith("{") and text.endswith("}"):
            pairs = [each.partition(":") for each in text[1:-1].split(",")]
            return self._gains([(_number(grade.strip()), _number(gain.strip())) for grade, _, gain in pairs])
        number = _number(text)
        if not self.numeric or not math.isfinite(number) or not self.about.least <= number <= self.about.most:
            raise self._refusal(str(given))
        return number

    def _gains(self, given: Mapping[float, float] | Iterable[tuple[float, float]]) -> GainMap:
        pairs = list(given.items() if isinstance(given, Mapping) else given)
        gains = {float(grade) + 0.0: float(gain) + 0.0 for grade, gain in pairs}
        fit = all(math.isfinite(grade) and 0 <= gain < math.inf for grade, gain in gains.items())
        if not fit or not 0 < len(gains) == len(pairs):
            told = ", ".join(f"{grade:g}: {gain:g}" for grade, gain in pairs)
            raise self._refusal(f"{{{told}}}")
        return tuple(sorted(gains.items()))

    def _refusal(self, found: str) -> MeasureError:
        return MeasureError(f"takes {self.allowed} as {self.name}; found {quoted(found)}")

    def spelled(self, value: Value) -> str:
        """As names have it: ``rel=2``, ``gain=exp``, ``gain={1:3.5,2:9}``."""
        if isinstance(value, tuple):
            gains = ",".join(f"{_spelled(grade)}:{_spelled(gain)}" for grade, gain in value)
            return f"{self.name}={{{gains}}}"
        return f"{self.name}={value if isinstance(value, str) else _spelled(value)}"


def _spelled(number: float) -> str:
    return repr(number).removesuffix(".0")


@dataclass(frozen=True, eq=False)
class Kind:
    """A measure function and its declaration; made by ``@partial(Kind, name=..., ...)`` on the function.

    The function takes a `Judged`, then the cut-off if the kind has one, then its parameters by keyword, and gives one
    float64 for each query of the solution, NaN where the measure is undefined. Its docstring is for the readers of the
    scores: what the measure is, in a sentence, and after a blank line what it does in the cases that one may ask about.
    """

    function: Callable[..., Floats] = field(repr=False)
    name: str
    """As the field prints it."""
    title: str
    """In words."""
    cutoff: CutoffRule
    formula: str
    """Plain text, without angle brackets and ampersands."""
    source: str
    aliases: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    """Other spellings of the name, each with the parameters that it settles."""
    bounded: bool | Mapping[str, Value] = True
    """Are all scores in [0, 1]? A mapping: yes, but where a parameter has the value that stands here for it."""
    expected: bool | Mapping[str, Value] = True
    """Has the mean over the orders of tied items a closed form, which the function then gives? As `bounded`."""
    expected_when_cut: bool | Mapping[str, Value] = True
    """Does the closed form hold also where a list is cut within a tie group? As `bounded`."""
    aggregation: Aggregation = "mean"
    mean_name: str = ""
    """What the mean over queries is called, where it has a name of its own."""
    decimals: str = ""
    """The parameter that decimals after the name set: with "p", ``rbp.95`` is ``RBP(p=0.95)``."""

    @property
    def summary(self) -> str:
        """What the measure is, in one sentence."""
        return self._documentation[0]

    @property
    def edge_cases(self) -> str:
        """What it does with short lists, ties, nothing relevant, and the like."""
        return self._documentation[1]

    @cached_property
    def _documentation(self) -> tuple[str, str]:
        summary, _, edge_cases = (inspect.getdoc(self.function) or "").partition("\n\n")
        return summary, " ".join(edge_cases.split())

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the function, in the order of its signature."""
        hints = get_type_hints(self.function, include_extras=True)
        arguments = inspect.signature(self.function).parameters.values()
        keywords = [argument for argument in arguments if argument.kind is inspect.Parameter.KEYWORD_ONLY]
        return tuple(Parameter.declared(each.name, each.default, hints[each.name]) for each in keywords)

    @property
    def usage(self) -> str:
        """The name and where a cut-off goes: ``P@k``, ``AP[@k]``, ``MARp@z1,z2,...``."""
        if self.cutoff == "none":
            return self.name
        if self.cutoff == "list":
            return f"{self.name}@z1,z2,..."
        _, letter, *_ = inspect.signature(self.function).parameters
        return f"{self.name}[@{letter}]" if self.cutoff == "optional" else f"{self.name}@{letter}"

    def measure(
        self, cutoff: float | Sequence[float] | None = None, parameters: Mapping[str, Given] | None = None
    ) -> Measure:
        """The kind with its cut-off and its parameters settled; a parameter left out has its default.

        Raises
        ------
        MeasureError
            The cut-off or a parameter is not one that the kind takes.
        """
        given = self._translated(parameters or {})
        try:
            values = tuple(each.value(given.get(each.name, each.default)) for each in self.parameters)
            return Measure(self, self._settled(cutoff), values)
        except MeasureError as error:
            raise MeasureError(f"{self.name} {error}") from None

    def _translated(self, parameters: Mapping[str, Given]) -> dict[str, Given]:
        """The parameters with other tools' names and words for them replaced."""
        known: dict[str, tuple[str, Mapping[str, str]]] = {each.name: (each.name, {}) for each in self.parameters}
        known |= {name: (each.name, words) for each in self.parameters for name, words in each.about.also.items()}
        given: dict[str, Given] = {}
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

    def _settled(self, cutoff: float | Sequence[float] | None) -> Cutoff:
        """`cutoff` in the form that the kind has it; an error goes on from the kind's name."""
        if cutoff is None or cutoff == ():
            if self.cutoff in _NEEDED:
                raise MeasureError(_NEEDED[self.cutoff].format(self.name))
            return None
        if self.cutoff == "none":
            raise MeasureError("takes no cut-off")
        if self.cutoff == "list":
            return _several_places(cutoff if isinstance(cutoff, Sequence) else (cutoff,))
        if isinstance(cutoff, Sequence):
            raise MeasureError(f"takes one cut-off; found {len(cutoff)}")
        return _level(cutoff) if self.cutoff == "level" else _places(cutoff)

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        """Pickled by its address, so that it is the same object in every process."""
        return resolve_name, (f"{self.function.__module__}:{self.function.__qualname__}",)


_NEEDED = {
    "required": "needs a cut-off, as in {}@10",
    "list": "needs cut-offs, as in {}@5,10",
    "level": "needs a level of recall, as in {}@0.1",
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A kind with its cut-off and parameters settled; made by `Kind.measure` and `Registry.parse`, which check them."""

    kind: Kind
    cutoff: Cutoff
    parameters: tuple[Value, ...]
    """One for each of the kind's, in their order."""

    def __call__(self, judged: Judged) -> Floats:
        """The score of each query of the solution; NaN where the measure is undefined.

        Where tied items have no order, the mean over all orders, and a `MeasureError` if no formula for it is known.
        """
        if judged.found.tied is not None:
            self.need_closed_form(cut=judged.cut_within_ties)
        cutoff = () if self.kind.cutoff == "none" else (self.cutoff,)
        return self.kind.function(judged, *cutoff, **{each.name: value for each, value in self._settings()})

    def need_closed_form(self, *, cut: bool = False) -> None:
        """Raise MeasureError if no formula is known for the mean over the orders of tied items.

        `cut`: lists may be cut within a tie group, so that the order decides on what is in them.
        """
        known, known_when_cut = self._holds(self.kind.expected), self._holds(self.kind.expected_when_cut)
        if not known or (cut and not known_when_cut):
            where = " where a list is cut between them" if known else ""
            raise MeasureError(
                f"{self}: no formula is known for its mean over the orders of tied items{where}; choose another rule "
                "for ties"
            )

    @property
    def bounded(self) -> bool:
        """Are all scores in [0, 1]?"""
        return self._holds(self.kind.bounded)

    def _holds(self, fact: bool | Mapping[str, Value]) -> bool:
        if isinstance(fact, bool):
            return fact
        return all(fact.get(each.name) != value for each, value in self._settings())

    def _settings(self) -> Iterable[tuple[Parameter, Value]]:
        return zip(self.kind.parameters, self.parameters, strict=True)

    @property
    def threshold(self) -> Threshold:
        """What makes an item relevant to it."""
        told = [value for each, value in self._settings() if each.name == "rel" and isinstance(value, float)]
        return told[0] if told else "positive"

    def at_threshold(self, rel: float | None) -> Measure:
        """The measure with this grade as the least that is relevant, if it is binary and not at another one already.

        None leaves it as it is.
        """
        if rel is None:
            return self
        settled = (
            float(rel) if each.about is RELEVANT and value == each.default else value
            for each, value in self._settings()
        )
        return Measure(self.kind, self.cutoff, tuple(settled))

    def __str__(self) -> str:
        """The canonical name: defaults not written, parameters in the declared order."""
        return self._spelled(self.kind.name, full=False)

    @property
    def full(self) -> str:
        """The name with every parameter, also those at their default."""
        return self._spelled(self.kind.name, full=True)

    @property
    def mean_name(self) -> str:
        """What the mean over queries is called: ``MAP@10`` for ``AP@10``."""
        return self._spelled(self.kind.mean_name or self.kind.name, full=False)

    def _spelled(self, name: str, *, full: bool) -> str:
        told = [each.spelled(value) for each, value in self._settings() if full or value != each.default]
        parameters = f"({','.join(told)})" if told else ""
        if self.cutoff is None:
            return name + parameters
        cutoffs = self.cutoff if isinstance(self.cutoff, tuple) else (self.cutoff,)
        return f"{name}{parameters}@{','.join(map(repr, cutoffs))}"


_SPELLING = re.compile(
    r"""(?P<name> [^()@]*? )
        (?: \( (?P<parameters> [^()]* ) \) \s* )?
        (?: @ (?P<cutoffs> .*? ) | (?P<joint> _cut[_.] | _at_ | [_.] ) (?P<trailing> [0-9].*? ) )?
        (?: -l \s* (?P<level> [0-9]+ (?: \.[0-9]+ )? ) )?""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""``Name(parameter=value)@k``, or with the cut-off as other tools write it: P_10, P.5,10, ndcg_cut_10, ndcg_at_10; with
-l2 at the end for rel=2."""


class Registry:
    """The kinds that there are, and the reading of measures' names."""

    def __init__(self, kinds: Iterable[Kind], sets: Mapping[str, Sequence[str]] | None = None) -> None:
        """Of these kinds; `sets` are names that stand for several measures each."""
        self.kinds = tuple(kinds)
        self.sets = dict(sets or {})
        self._named: dict[str, tuple[Kind, Mapping[str, Value]]] = {}
        for kind in self.kinds:
            self._named[_key(kind.name)] = kind, {}
            self._named |= {_key(alias): (kind, settled) for alias, settled in kind.aliases.items()}

    def kind(self, name: str) -> Kind:
        """The kind of that name or alias, without regard to case, hyphens and underscores.

        Raises
        ------
        MeasureError
            There is none; the message names the nearest.
        """
        return self._find(name)[0]

    def parse(self, text: str, cutoffs: Sequence[int] = ()) -> tuple[Measure, ...]:
        """The measures that `text` names.

        A list of cut-offs makes a measure of each (``P@5,10``), but one of all where the kind is a mean over cut-offs
        (``MARp@5,10``). A name without the cut-off that it needs takes `cutoffs`.

        Raises
        ------
        MeasureError
            The text names no measure; the message says why, and what would.
        """
        if text.strip().casefold() in self.sets:
            return tuple(each for name in self.sets[text.strip().casefold()] for each in self.parse(name))
        parts = _SPELLING.fullmatch(text.strip())
        if parts is None:
            raise MeasureError(f"{quoted(text)} is not of the form Name(parameter=value)@k")
        kind, settled = self._find(parts["name"])
        parameters = _parameters(parts["parameters"])
        for name in settled:
            if name in parameters:
                raise MeasureError(f"{quoted(text)}: {parts['name'].strip()} settles {name} already; write {kind.name}")
        written, further = _appended(kind, parts)
        for name in further:
            if name in parameters:
                raise MeasureError(f"parameter {quoted(name)} is given twice")
        found: tuple[float, ...] = _numbers(written) if written is not None else ()
        if written is None and kind.cutoff in ("required", "list"):
            found = tuple(cutoffs)
        each: Sequence[float | tuple[float, ...] | None] = (found,) if kind.cutoff == "list" else found or (None,)
        return tuple(kind.measure(cutoff, {**settled, **parameters, **further}) for cutoff in each)

    def parse_one(self, text: str, cutoffs: Sequence[int] = ()) -> Measure:
        """The one measure that `text` names; as `parse`, and a `MeasureError` where it names several."""
        measures = self.parse(text, cutoffs)
        if len(measures) > 1:
            names = ", ".join(map(str, measures))
            raise MeasureError(f"{quoted(text)} names {len(measures)} measures ({names}) where one is wanted")
        return measures[0]

    def _find(self, name: str) -> tuple[Kind, Mapping[str, Value]]:
        try:
            return self._named[_key(name)]
        except KeyError:
            near = get_close_matches(_key(name), self._named, n=5, cutoff=0.5)
            names = dict.fromkeys(self._named[key][0].name for key in near)
            told = f"; the nearest are {', '.join(names)}" if names else ""
            message = f"no measure is called {quoted(name.strip())}{told}; `scorer measures` lists all"
            raise MeasureError(message) from None


def _key(name: str) -> str:
    """What two spellings of a name have in common."""
    return re.sub(r"[-_\s]", "", name.casefold())


def _appended(kind: Kind, parts: re.Match[str]) -> tuple[str | None, dict[str, str]]:
    """The cut-offs, and the parameters that other tools write after the name."""
    further = {"rel": parts["level"]} if parts["level"] else {}
    trailing = parts["trailing"]
    if trailing is None:
        return parts["cutoffs"], further
    if "=" in trailing:  # gains by grade, as in ndcg.1=3.5,2=9
        return None, {**further, "gain": f"{{{trailing.replace('=', ':')}}}"}
    if kind.decimals and parts["joint"] == "." and trailing.isdecimal():
        return None, {**further, kind.decimals: f"0.{trailing}"}
    return trailing, further


def _parameters(text: str | None) -> dict[str, str]:
    """``parameter=value,...`` as a mapping; commas within braces part nothing."""
    parameters: dict[str, str] = {}
    for written in re.split(r",(?![^{}]*\})", text) if text and text.strip() else ():
        name, equals, value = written.partition("=")
        name = name.strip().casefold()
        if not equals:
            raise MeasureError(f"{quoted(written.strip())} is not of the form parameter=value")
        if name in parameters:
            raise MeasureError(f"parameter {quoted(name)} is given twice")
        parameters[name] = value
    return parameters


def _number(text: str) -> float:
    """The number that `text` is in decimal digits, NaN where it is none."""
    decimal = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE)
    return float(text) + 0.0 if decimal else math.nan  # + 0.0 makes -0.0 the 0.0 that it equals


def _numbers(text: str) -> tuple[float, ...]:
    """A comma-separated list of cut-offs or levels, none of them twice."""
    numbers: list[float] = []
    for written in map(str.strip, text.split(",")):
        number = _number(written)
        if not math.isfinite(number):
            raise MeasureError(f"cut-offs are numbers, as in P@5,10; found {quoted(written)}")
        if number in numbers:
            raise MeasureError(f"cut-off {quoted(written)} stands twice in {quoted(text)}")
        numbers.append(number)
    return tuple(numbers)


def _places(cutoff: float) -> int:
    """`cutoff` as a number of places."""
    if not 1 <= cutoff <= LARGEST_CUTOFF or cutoff != int(cutoff):
        raise MeasureError(f"takes a whole number from 1 to {LARGEST_CUTOFF:,} as a cut-off; found {cutoff:g}")
    return int(cutoff)


def _several_places(cutoffs: Sequence[float]) -> tuple[int, ...]:
    """`cutoffs` as numbers of places, in ascending order."""
    places = sorted(map(_places, cutoffs))
    if len(set(places)) < len(places):
        raise MeasureError(f"takes a cut-off only once; found {','.join(map(str, places))}")
    return tuple(places)


def _level(level: float) -> float:
    """`level` as a level of recall."""
    if not 0 <= level <= 1:
        raise MeasureError(f"takes a number from 0 to 1 as the level of recall; found {level:g}")
    return float(level)
