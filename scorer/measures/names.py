"""The names of measures: ``Name(parameter=value)@k`` and the spellings of other tools."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from scorer.errors import MeasureError
from scorer.measures import spellings
from scorer.measures.kinds import AMBIGUOUS, Kind, Measure
from scorer.measures.parameters import Value, decimal
from scorer.measures.spellings import Spelling
from scorer.measures.trec_eval import TREC_LEFT_OUT
from scorer.wording import quoted

_Meaning = tuple[Kind, Mapping[str, Value]]
"""A kind, and the parameters that a name of it sets."""

_COSTS = "weighs gains against the effort of reading, which solutions do not have; INST is similar, with equal efforts"

REFUSED: Mapping[str, str] = {
    "runid": "is the tag of a run, not a measure",
    "relstring": "is text, not a number; `scorer trec_eval -m relstring` prints it",
    **TREC_LEFT_OUT,
    **dict.fromkeys(("BPM", "IFT"), _COSTS),
    "TBG": "needs the time that each item takes to read; RBP is similar, with time counted in items",
    "UMeasure": "needs the length of the text of each item; nDCG is similar, with a discount by rank",
    "rank_biased_precision": "is a function of ranx, whose name as a measure has a value of p; write rbp.95",
    "interpolated_precision_at_recall": "is a function of ranx with eleven results; write IPrec(reach=up)@0.0,0.1,0.2",
}
"""Why a name is not read, as the rest of a sentence that starts with the name."""


class Registry:
    """All kinds of measures, names of several measures at once (sets), and the reading of measures' names."""

    def __init__(
        self,
        kinds: Iterable[Kind],
        sets: Mapping[str, Sequence[str]] | None = None,
        listing: str = "`scorer measures` lists all",
    ) -> None:
        self._listing = listing
        self.kinds = tuple(kinds)
        self.sets = dict(sets or {})
        self._named: dict[str, _Meaning] = {}
        self._whole: dict[str, _Meaning] = {}
        self._families: dict[str, str] = {}
        for kind in self.kinds:
            self._named[_key(kind.name)] = kind, {}
            self._named |= {_key(alias): (kind, fixed) for alias, fixed in kind.aliases.items()}
            self._whole |= {_key(name): (kind, fixed) for name, fixed in kind.whole_list_names.items()}
            self._families |= {_key(name): cutoffs for name, cutoffs in kind.families.items()}
        for kind in self.kinds:
            self._named |= {_key(name): (kind, {}) for name in kind.families if _key(name) not in self._named}

    def kind(self, name: str) -> Kind:
        """Return the kind with this name or alias; case, hyphens and underscores do not matter.

        Raises MeasureError, with the closest names, where no kind has this name.
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
            The cut-offs of a measure that needs one and is named without. Without them, a name that trec_eval reads as
            several cut-offs (``P``, ``ndcg_cut``) has those of trec_eval.

        Raises
        ------
        MeasureError
            `text` does not name a measure. The message says why, and what to write.
        """
        return tuple(self._read(text, cutoffs).values())

    def parse_one(self, text: str, cutoffs: Sequence[int] = ()) -> Measure:
        """Return the measure that `text` names.

        Parameters and errors are those of `parse`. Text that names several measures is an error too.
        """
        return _only(text, self._read(text, cutoffs))

    def named(self, text: str) -> dict[str, Measure]:
        """Return the measures that `text` names, each by its name in the spelling of `text`.

        `text` may be a name of trec_eval, pytrec_eval, ir_measures or ranx. A name that one of them reads as another
        measure is refused, unless it has the parameter that decides: MeasureError then has a line for each meaning,
        with what to write. Where `text` names several measures, the key of each has its own cut-off: ``P_5`` and
        ``P_10`` for ``P_5,10``. The keys of a set are the names that it lists.
        """
        return self._read(text, decided=True)

    def named_one(self, text: str) -> Measure:
        """Return the measure that `text` names, as `named` reads it; text that names several is an error too."""
        return _only(text, self.named(text))

    listed = staticmethod(spellings.listed)

    def _read(self, text: str, cutoffs: Sequence[int] = (), *, decided: bool = False) -> dict[str, Measure]:
        """Return the measures that `text` names, by name; with `decided`, a name of several meanings is refused."""
        text = text.strip()
        if text.casefold() in self.sets:
            names = self.sets[text.casefold()]
            return {key: measure for name in names for key, measure in self._read(name, decided=decided).items()}
        spelling = Spelling.of(text)
        (kind, fixed), parameters = self._meant(spelling, cutoffs)
        for name in fixed:
            if name in parameters:
                raise MeasureError(f"{quoted(text)}: {spelling.name} sets {name} already; write {kind.name}")
        cut, settings = spellings.settings(kind, spelling, parameters)
        measures = {
            name: kind.measure(cutoff, {**fixed, **settings})
            for name, cutoff in self._cutoffs(spelling, kind, cut, cutoffs).items()
        }
        if decided and spelling.joint in ("", "@"):
            for measure in measures.values():
                _check_decided(text, measure, {**fixed, **settings})
        return measures

    def _meant(self, spelling: Spelling, cutoffs: Sequence[int]) -> tuple[_Meaning, dict[str, str]]:
        """Return the kind that a name means, with the parameters that the name sets, and those in parentheses."""
        key, parameters = _key(spelling.name), dict(spelling.parameters)
        if key in _REFUSED:
            raise MeasureError(f"{quoted(spelling.name)} {_REFUSED[key]}")
        if key in AMBIGUOUS and not spelling.is_cut:
            raise _ambiguous(spelling.text, AMBIGUOUS[key])
        whole = self._whole if not (spelling.is_cut or cutoffs) else {}
        meaning = whole[key] if key in whole else self._find(spelling.name)
        for name, kinds in meaning[0].redirected.items():
            value = parameters.get(name, "").strip().casefold()
            if name in parameters and (value in kinds or "*" in kinds):
                meaning = self._find(kinds.get(value, kinds.get("*", "")))
                if name not in {parameter.name for parameter in meaning[0].parameters}:
                    del parameters[name]
        return meaning, parameters

    def _cutoffs(
        self, spelling: Spelling, kind: Kind, cut: str | None, cutoffs: Sequence[int]
    ) -> dict[str, float | Sequence[float] | None]:
        """Return the cut-offs, each with the name of its measure: those written, those given, or trec_eval's."""
        family = None if spelling.is_cut else self._families.get(_key(spelling.name))
        numbers: Sequence[float]
        if cut is not None:
            written, numbers = cut.split(","), _numbers(cut)
        elif cutoffs and (kind.cutoff in ("required", "list") or (family and kind.cutoff == "optional")):
            written, numbers = list(map(str, cutoffs)), tuple(cutoffs)
        elif family:
            written, numbers = family.split(","), _numbers(family)
        else:
            return {spelling.text: None}
        if kind.cutoff == "list":
            return {spelling.text: numbers}
        if len(numbers) == 1:
            return {spelling.text: numbers[0]}
        return dict(zip(map(spelling.cut_at, written), numbers, strict=True))

    def _find(self, name: str) -> _Meaning:
        """Return the kind with this name, and the parameters that the name sets."""
        try:
            return self._named[_key(name)]
        except KeyError:
            from difflib import get_close_matches  # noqa: PLC0415 (needed only for a wrong name)

            close = get_close_matches(_key(name), self._named, n=5, cutoff=0.5)
            names = dict.fromkeys(self._named[key][0].name for key in close)
            hint = f"; the closest names are {', '.join(names)}" if names else ""
            message = f"no measure is called {quoted(name.strip())}{hint}; {self._listing}"
            raise MeasureError(message) from None


def _key(name: str) -> str:
    """The name without what spellings may vary: case, hyphens, underscores and spaces."""
    return re.sub(r"[-_\s]", "", name.casefold())


_REFUSED = {_key(name): reason for name, reason in REFUSED.items()}


def _only(text: str, measures: Mapping[str, Measure]) -> Measure:
    if len(measures) > 1:
        names = ", ".join(map(str, measures.values()))
        raise MeasureError(f"{quoted(text)} names {len(measures)} measures ({names}); expected one")
    return next(iter(measures.values()))


def _check_decided(text: str, measure: Measure, settings: Mapping[str, Value]) -> None:
    """Raise MeasureError if another tool reads the name of the measure as another one.

    `settings` are the parameters that the name gives or sets.
    """
    undecided = [unlike for unlike in measure.kind.unlike if unlike.parameter not in settings]
    meanings = {unlike.tool: str(meant) for unlike in undecided if (meant := unlike.meant(measure)) is not None}
    if meanings:
        raise _ambiguous(text, {**meanings, "scorer": measure.naming(undecided[0].parameter)})


def _ambiguous(text: str, meanings: Mapping[str, str]) -> MeasureError:
    lines = "".join(f"\n  {name} for that of {tool}" for tool, name in meanings.items())
    return MeasureError(f"{quoted(text)} means different measures in different tools; write{lines}")


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
