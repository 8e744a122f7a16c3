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
"""``Name(parameter=value)@k``; or the cut-off as other tools write it (P_10, P.5,10, ndcg_cut_10, ndcg_at_10); ``-l2``
at the end is ``rel=2``."""

_TREC_EVAL_CUTOFFS = "5,10,15,20,30,100,200,500,1000"
"""The cut-offs that trec_eval takes for a measure named without one."""


class Registry:
    """All kinds of measures, and the reading of measures' names.

    Parameters
    ----------
    kinds
        The kinds.
    sets
        Names of several measures at once, each with the names of its measures.
    """

    def __init__(self, kinds: Iterable[Kind], sets: Mapping[str, Sequence[str]] | None = None) -> None:
        self.kinds = tuple(kinds)
        self.sets = dict(sets or {})
        self._named: dict[str, tuple[Kind, Mapping[str, Value]]] = {}
        for kind in self.kinds:
            self._named[_key(kind.name)] = kind, {}
            self._named |= {_key(alias): (kind, fixed) for alias, fixed in kind.aliases.items()}

    def kind(self, name: str) -> Kind:
        """Return the kind with this name or alias; case, hyphens and underscores do not matter.

        Raises
        ------
        MeasureError
            No kind has this name. The message lists the closest names.
        """
        return self._find(name)[0]

    def parse(self, text: str, cutoffs: Sequence[int] = ()) -> tuple[Measure, ...]:
        """Return the measures that `text` names.

        Parameters
        ----------
        text
            The name of a measure, or of a set. With several cut-offs it names one measure for each (``P@5,10``), except
            for a kind that is a mean over cut-offs (``MARp@5,10``), where it names one measure.
        cutoffs
            The cut-offs of a measure that needs one and is named without.

        Raises
        ------
        MeasureError
            `text` does not name a measure. The message says why, and what to write.
        """
        if text.strip().casefold() in self.sets:
            return tuple(each for name in self.sets[text.strip().casefold()] for each in self.parse(name))
        parts = _SPELLING.fullmatch(text.strip())
        if parts is None:
            raise MeasureError(f"{quoted(text)} is not of the form Name(parameter=value)@k")
        kind, fixed = self._find(parts["name"])
        parameters = _parameters(parts["parameters"])
        for name in fixed:
            if name in parameters:
                raise MeasureError(f"{quoted(text)}: {parts['name'].strip()} sets {name} already; write {kind.name}")
        written, suffixed = _suffix(kind, parts)
        for name in suffixed:
            if name in parameters:
                raise MeasureError(f"parameter {quoted(name)} is given twice")
        if written is None and _key(parts["name"]) in map(_key, kind.cutoff_families):
            raise _ambiguous(parts["name"].strip(), kind, fixed)
        found: tuple[float, ...] = _numbers(written) if written is not None else ()
        if written is None and kind.cutoff in ("required", "list"):
            found = tuple(cutoffs)
        each: Sequence[float | tuple[float, ...] | None] = (found,) if kind.cutoff == "list" else found or (None,)
        return tuple(kind.measure(cutoff, {**fixed, **parameters, **suffixed}) for cutoff in each)

    def parse_one(self, text: str, cutoffs: Sequence[int] = ()) -> Measure:
        """Return the measure that `text` names.

        Parameters and errors are those of `parse`. Text that names several measures is an error too.
        """
        measures = self.parse(text, cutoffs)
        if len(measures) > 1:
            names = ", ".join(map(str, measures))
            raise MeasureError(f"{quoted(text)} names {len(measures)} measures ({names}); expected one")
        return measures[0]

    def _find(self, name: str) -> tuple[Kind, Mapping[str, Value]]:
        """Return the kind with this name, and the parameters that the name sets."""
        try:
            return self._named[_key(name)]
        except KeyError:
            close = get_close_matches(_key(name), self._named, n=5, cutoff=0.5)
            names = dict.fromkeys(self._named[key][0].name for key in close)
            hint = f"; the closest names are {', '.join(names)}" if names else ""
            message = f"no measure is called {quoted(name.strip())}{hint}; `scorer measures` lists all"
            raise MeasureError(message) from None


def _key(name: str) -> str:
    """The name without what spellings may vary: case, hyphens, underscores and spaces."""
    return re.sub(r"[-_\s]", "", name.casefold())


def _ambiguous(name: str, kind: Kind, fixed: Mapping[str, Value]) -> MeasureError:
    whole = kind.measure(None, fixed)
    return MeasureError(
        f"{quoted(name)} needs a cut-off, as in {name}@10; for the whole list write {whole}, for the cut-offs of "
        f"trec_eval's {name} write {whole}@{_TREC_EVAL_CUTOFFS}"
    )


def _suffix(kind: Kind, parts: re.Match[str]) -> tuple[str | None, dict[str, Value]]:
    """Return the cut-offs as written, None without any, and the parameters that other tools write after the name."""
    parameters: dict[str, Value] = {"rel": parts["level"]} if parts["level"] else {}
    trailing, joint = parts["trailing"], parts["joint"]
    if trailing is None:
        return parts["cutoffs"], parameters
    if "=" in trailing:  # gains by grade, as in ndcg.1=3.5,2=9
        gains = f"{{{trailing.replace('=', ':')}}}"
        if joint not in (".", "_"):
            name = parts["name"].strip()
            raise MeasureError(
                f"{quoted(name + joint + trailing)}: {name}{joint[:-1]} takes cut-offs, not gains; write both as in "
                f"{kind.name}(gain={gains})@10"
            )
        return None, {**parameters, "gain": gains}
    if kind.decimals and joint == "." and trailing.isdecimal():
        return None, {**parameters, **kind.decimals_with, kind.decimals: f"0.{trailing}"}
    return trailing, parameters


def _parameters(text: str | None) -> dict[str, str]:
    """Return ``parameter=value,...`` as a mapping; commas within braces do not separate."""
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
    """Return a comma-separated list of distinct cut-offs or levels of recall."""
    numbers: list[float] = []
    for written in map(str.strip, text.split(",")):
        number = decimal(written)
        if not math.isfinite(number):
            raise MeasureError(f"cut-offs are numbers, as in P@5,10; found {quoted(written)}")
        if number in numbers:
            raise MeasureError(f"cut-off {quoted(written)} is listed twice in {quoted(text)}")
        numbers.append(number)
    return tuple(numbers)
