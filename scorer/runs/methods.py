"""Methods that fuse runs: their declarations, and how they are named and given parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, get_args

import numpy as np

from scorer.errors import FusionError
from scorer.measures.arrays import Floats
from scorer.measures.parameters import About, Declared, declaration
from scorer.runs.aligned import AlignedRuns
from scorer.wording import counted, quoted

Weights = Floats
"""[run]: its weight."""

Given = float | str | Sequence[float]
"""The value of a parameter as a caller may give it: a number, weights, or either as text."""

STEP = 0.1
"""The default step between weights that are tried."""


@dataclass(frozen=True, slots=True)
class Tunable(About):
    """What the signature of a method says about a parameter, besides its type and its default."""

    grid: tuple[float, float, float] | None = None
    """The first value, the last one and the step that tuning tries by default."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a method: a number, or a weight for each run."""

    name: str
    default: float | None
    """None: a value is required."""
    weights: bool
    about: Tunable

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        return f"{self.about.number} for each run" if self.weights else self.about.number

    def value(self, given: Given, runs: int) -> float | Weights:
        """Return the value that `given` means. Raises FusionError where it is not allowed."""
        parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, float | int) else given
        try:
            values = np.array([float(part) for part in parts])
        except (TypeError, ValueError):
            raise self._refusal(given) from None
        if not np.isfinite(values).all() or ((values < self.about.least) | (values > self.about.most)).any():
            raise self._refusal(given)
        if self.weights and values.size != runs:
            raise FusionError(f"{self.name}: found {counted(values.size, 'weight')} for {counted(runs, 'run')}")
        if not self.weights and values.size != 1:
            raise self._refusal(given)
        return values if self.weights else float(values[0])

    def _refusal(self, given: object) -> FusionError:
        return FusionError(f"{self.name}: expected {self.allowed}; found {quoted(str(given))}")


@dataclass(frozen=True, eq=False)
class Method(Declared[Floats]):
    """A function that fuses runs and its declaration; `name` is that in ranx.

    The function takes `AlignedRuns`, then its parameters by keyword, and returns the fused score of each candidate.
    """

    title: str
    uses: Literal["scores", "ranks"]
    """What it takes of the runs."""
    formula: str
    source: str
    aliases: tuple[str, ...] = ()

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order of the function's signature."""
        return tuple(
            Parameter(name, None if default is inspect.Parameter.empty else default, kind is not float, about)
            for name, default, annotation in self.keywords()
            for kind, about in [get_args(annotation)]
        )

    @property
    def usage(self) -> str:
        """The name with its parameters: ``rrf(k=60)``, ``wsum(weights=...)``."""
        settings = [
            f"{parameter.name}={'...' if parameter.default is None else f'{parameter.default:g}'}"
            for parameter in self.parameters
        ]
        return f"{self.name}({', '.join(settings)})" if settings else self.name

    def settings(self, given: Mapping[str, Given], runs: int) -> dict[str, float | Weights]:
        """Return the values of the parameters, given by name, for a number of runs.

        Raises FusionError where the method has no such parameter or does not take this value, or a value is missing.
        """
        known = {parameter.name for parameter in self.parameters}
        for name in given:
            if name not in known:
                raise FusionError(
                    f"{self.name} has no parameter {quoted(name)}; it takes {', '.join(sorted(known)) or 'none'}"
                )
        values: dict[str, float | Weights] = {}
        for parameter in self.parameters:
            name = parameter.name
            if name in given:
                values[name] = parameter.value(given[name], runs)
            elif parameter.default is not None:
                values[name] = parameter.default
            else:
                example = "1,2" if parameter.weights else "0.5"
                raise FusionError(
                    f"{self.name} needs {name}: {parameter.about.description}, as in {name}={example}; or give a "
                    "solution and a measure to tune it"
                )
        return values

    def __call__(self, runs: AlignedRuns, settings: Mapping[str, float | Weights]) -> Floats:
        """Return the fused scores: [candidate]."""
        return self.function(runs, **settings)


method = declaration(Method)

Persistence = Annotated[
    float, Tunable("how likely a user goes on from one rank to the next", least=0, most=1, grid=(0.01, 1.0, 0.01))
]
Exponent = Annotated[
    float, Tunable("the exponent of the number of runs that list the item", least=0, grid=(0.01, 1.0, 0.01))
]
Smoothing = Annotated[
    float, Tunable("is added to the number of runs before its logarithm", least=0, most=1, grid=(0.01, 1.0, 0.01))
]
Offset = Annotated[float, Tunable("is added to each rank", least=0, grid=(10, 100, 10))]
RunWeights = Annotated[Weights, Tunable("the weight of each run, in their order", least=0, grid=(0.0, 1.0, STEP))]
