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
"""A gain for each grade: pairs of grade and gain, by ascending grade."""

Value = float | str | GainMap
"""The value of a parameter: a number, a word, or a gain for each grade."""

Given = Value | Mapping[float, float]
"""A value as a caller may give it."""


@dataclass(frozen=True, slots=True)
class About:
    """What the signature of a measure function says about a parameter, besides its type."""

    description: str
    least: float = -math.inf
    most: float = math.inf
    also: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other tools' names for the parameter, each with their words for its values."""


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
    """Whether the parameter takes numbers."""
    mapped: bool
    """Whether the parameter takes gains by grade."""
    about: About

    @classmethod
    def declared(cls, name: str, default: Value, annotation: object) -> Parameter:
        """Return the parameter that a keyword argument annotated ``Annotated[float | Literal[...], About(...)]`` is."""
        declared_type, about = get_args(annotation)
        kinds = get_args(declared_type) if get_origin(declared_type) in (Union, UnionType) else (declared_type,)
        words = tuple(word for each in kinds if get_origin(each) is Literal for word in get_args(each))
        return cls(name, default, words, float in kinds, GainMap in kinds, about)

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        limited = math.isfinite(self.about.least)
        number = f"a number from {self.about.least:g} to {self.about.most:g}" if limited else "a number"
        values = [
            *self.words,
            *([number] if self.numeric else []),
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
            pairs = [each.partition(":") for each in text[1:-1].split(",")]
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
