"""What a measure is, and how its name is read and written.

A `Kind` is a function of a `Matched` with its declaration: name, cut-off, parameters, and the words that explain it.
A `Measure` is a kind with its cut-off and parameters settled: a value, named ``Name(parameter=value)@k``.
A `Registry` reads names: those that `str` writes, and the spellings of other tools.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pkgutil import resolve_name
from typing import Literal, get_type_hints

from scorer.errors import MeasureError
from scorer.measures.arrays import Floats
from scorer.measures.matched import Matched, Threshold
from scorer.measures.parameters import RELEVANT, Given, Parameter, Value
from scorer.wording import quoted

Aggregation = Literal["mean", "sum", "geometric"]
"""How one score comes from those of the queries: their mean, their sum, or their geometric mean."""

Cutoff = int | float | tuple[int, ...] | None
"""How much of a list a measure looks at: all of it, k places, a level of recall, or several k."""

CutoffRule = Literal["none", "optional", "required", "list", "level"]
"""Which of them a kind takes; "list" makes one measure of several k, where the others make one of each."""

LARGEST_CUTOFF = 10**9


@dataclass(frozen=True, eq=False)
class Kind:
    """A measure function and its declaration; made by ``@partial(Kind, name=..., ...)`` on the function.

    The function takes a `Matched`, then the cut-off if the kind has one, then its parameters by keyword, and gives one
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

    def __call__(self, matched: Matched) -> Floats:
        """The score of each query of the solution; NaN where the measure is undefined.

        Where tied items have no order, the mean over all orders, and a `MeasureError` if no formula for it is known.
        """
        if matched.found.tied is not None:
            self.need_closed_form(cut=matched.cut_within_ties)
        cutoff = () if self.kind.cutoff == "none" else (self.cutoff,)
        return self.kind.function(matched, *cutoff, **{each.name: value for each, value in self._settings()})

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
