"""Parameters and cut-offs of measures: how they are declared, read and written."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    get_args,
    get_origin,
    get_type_hints,
)

from scorer.errors import MeasureError
from scorer.measures.matched import Threshold
from scorer.wording import explained, quoted

GainMap = tuple[tuple[float, float], ...]
"""A gain for each grade: pairs of grade and gain, by ascending grade."""

Value = float | str | GainMap
"""The value of a parameter: a number, a word, or a gain for each grade."""

Given = Value | Mapping[float, float]
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
    """What the signature of a measure function says about a parameter, besides its type."""

    description: str
    least: float = -math.inf
    most: float = math.inf
    also: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other tools' names for the parameter, each with their words for its values."""

    @property
    def number(self) -> str:
        """The allowed numbers, in words."""
        if math.isfinite(self.most):
            return f"a number from {self.least:g} to {self.most:g}"
        return f"a number of {self.least:g} or more" if math.isfinite(self.least) else "a number"


Result = TypeVar("Result")
Made = TypeVar("Made")
Settings = ParamSpec("Settings")


@dataclass(frozen=True, eq=False)
class Declared(Generic[Result]):
    """A function and its declaration, which a decorator makes of it: see `declaration`.

    The docstring of the function is printed for users: one sentence that says what its result is, an empty line, and
    then the edge cases. Its parameters are those by keyword, annotated ``Annotated[type, About(...)]``.
    """

    function: Callable[..., Result] = field(repr=False)
    name: str

    @property
    def summary(self) -> str:
        """What the result is, in one sentence."""
        return explained(self.function)[0]

    @property
    def edge_cases(self) -> str:
        """How the function treats short lists, ties, queries without relevant items, and so on."""
        return explained(self.function)[1]

    @cached_property
    def annotations(self) -> Mapping[str, Any]:
        """The annotation of each argument."""
        return get_type_hints(self.function, include_extras=True)

    def keywords(self) -> Iterator[tuple[str, Any, object]]:
        """The name, the default (`Parameter.empty` of `inspect` without one) and the annotation of each parameter."""
        for parameter in inspect.signature(self.function).parameters.values():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                yield parameter.name, parameter.default, self.annotations[parameter.name]


def declaration(
    declared: Callable[Concatenate[Callable[..., Result], Settings], Made],
) -> Callable[Settings, Callable[[Callable[..., Result]], Made]]:
    """Return a decorator that makes a subclass of `Declared` of a function: ``@kind(name="AP", ...)``."""

    def with_settings(*args: Settings.args, **kwargs: Settings.kwargs) -> Callable[[Callable[..., Result]], Made]:
        return lambda function: declared(function, *args, **kwargs)

    return with_settings


RELEVANT = About("which items are relevant: those with a positive grade, or with at least this grade")

Relevant = Annotated[Threshold, RELEVANT]
"""The threshold of a binary measure; `Measure.at_threshold` sets it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kind: one of a few words, a number in a range, gains by grade, or several of these."""

    name: str
    default: Value
    words: tuple[str, ...]
    numeric: bool
    mapped: bool
    """Whether it takes gains by grade."""
    about: About

    @classmethod
    def declared(cls, name: str, default: Value, annotation: object) -> Parameter:
        """Return the parameter that a keyword argument annotated ``Annotated[float | Literal[...], About(...)]`` is."""
        declared_type, about = get_args(annotation)
        kinds = get_args(declared_type) if get_origin(declared_type) in (Union, UnionType) else (declared_type,)
        words = tuple(word for member in kinds if get_origin(member) is Literal for word in get_args(member))
        return cls(name, default, words, float in kinds, GainMap in kinds, about)

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        values = [
            *self.words,
            *([self.about.number] if self.numeric else []),
            *(["gains as in {1: 3.5, 2: 9}"] if self.mapped else []),
        ]
        return " or ".join(values)

    def value(self, given: Given) -> Value:
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

    def spelled(self, value: Value) -> str:
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
        return _whole_cutoffs(cutoff if isinstance(cutoff, Sequence) else (cutoff,))
    if isinstance(cutoff, Sequence):
        raise MeasureError(f"takes one cut-off; found {len(cutoff)}")
    if rule not in _SHARES:
        return _whole_cutoff(cutoff)
    most, meaning = _SHARES[rule]
    if not 0 <= cutoff <= most:
        raise MeasureError(f"takes a number from 0 to {most} as {meaning}; found {cutoff:g}")
    return float(cutoff)


def _whole_cutoff(cutoff: float) -> int:
    """Return `cutoff` as a number of items."""
    if not 1 <= cutoff <= LARGEST_CUTOFF or cutoff != int(cutoff):
        raise MeasureError(f"takes a whole number from 1 to {LARGEST_CUTOFF:,} as a cut-off; found {cutoff:g}")
    return int(cutoff)


def _whole_cutoffs(cutoffs: Sequence[float]) -> tuple[int, ...]:
    """Return `cutoffs` as numbers of items, in ascending order."""
    ascending = sorted(map(_whole_cutoff, cutoffs))
    if len(set(ascending)) < len(ascending):
        raise MeasureError(f"takes a cut-off only once; found {','.join(map(str, ascending))}")
    return tuple(ascending)
