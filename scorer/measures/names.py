"""The names of measures: ``Name(parameter=value)@k`` and the spellings of other tools."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from scorer.errors import MeasureError
from scorer.measures.kinds import Kind, Measure
from scorer.measures.parameters import Value, decimal
from scorer.wording import quoted

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


def _numbers(text: str) -> tuple[float, ...]:
    """A comma-separated list of cut-offs or levels, none of them twice."""
    numbers: list[float] = []
    for written in map(str.strip, text.split(",")):
        number = decimal(written)
        if not math.isfinite(number):
            raise MeasureError(f"cut-offs are numbers, as in P@5,10; found {quoted(written)}")
        if number in numbers:
            raise MeasureError(f"cut-off {quoted(written)} stands twice in {quoted(text)}")
        numbers.append(number)
    return tuple(numbers)
