"""Parameters of measures: how they are declared, read and written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from scorer.errors import MeasureError
from scorer.measures.matched import Threshold
from scorer.wording import quoted

GainMap = tuple[tuple[float, float], ...]
"""What each grade is worth: pairs of grade and gain, by ascending grade."""

Value = float | str | GainMap
"""A parameter's: a number, a word, or a gain for each grade."""

Given = Value | Mapping[float, float]
"""A value as it may be given from Python."""


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
            return self._gains([(decimal(grade.strip()), decimal(gain.strip())) for grade, _, gain in pairs])
        number = decimal(text)
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


def decimal(text: str) -> float:
    """The number that `text` is in decimal digits, NaN where it is none."""
    decimal = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE)
    return float(text) + 0.0 if decimal else math.nan  # + 0.0 makes -0.0 the 0.0 that it equals
