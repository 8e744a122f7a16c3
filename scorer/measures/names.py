"""The names of measures: ``Name(parameter=value)@k``, and the spellings of other tools."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from scorer.errors import MeasureError, ScorerError
from scorer.measures.kinds import AMBIGUOUS, Kind, Measure, combination
from scorer.measures.matched import LARGEST_CUTOFF, ParameterValue, decimal
from scorer.measures.trec_eval import DEFAULT_GROUP, GROUPS, TREC_EVAL, TREC_LEFT_OUT, TrecMeasure
from scorer.wording import closest, quoted

_PARTS = re.compile(
    r"""(?P<name> [^()@]*? )
        (?: \( (?P<parameters> [^()]* ) \) \s* )?
        (?: @ (?P<cutoffs> .*? ) | (?P<joint> _cut[_.] | _at_ | [_.] ) (?P<trailing> (?: [0-9] | [a-z]+= ) .*? ) )?
        (?: -l \s* (?P<level> [0-9]+ (?: \.[0-9]+ )? ) )?""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""``Name(parameter=value)@k``; or the cut-off as other tools write it (P_10, P.5,10, ndcg_cut_10, ndcg_at_10), or
parameters (ndcg.1=3,2=9, rbp.p=0.8); ``-l2`` at the end is ``rel=2``."""

_NUMBER = re.compile(
    r"\s* [+-]? [0-9.]+ \s* (?: = \s* [+-]? [0-9.]+ \s* )? (?: -l \s* [0-9.]+ \s* )? (?: \+ .* )?", re.VERBOSE
)
"""A part of a list that belongs to the name before it: the 10 of ``P@5,10``, the ``2=9`` of ``ndcg.1=3.5,2=9``, and the
end of ``0.5*MARp@5,10+0.5*AP``."""

_PLUS = re.compile(
    r"(?<![0-9.]e)\+(?![^(]*\))(?![^{]*\})(?= \s* (?: [^\W\d] | [+-]? [0-9.]+ (?: e[+-]?[0-9]+ )? \s* \* ) )",
    re.VERBOSE | re.IGNORECASE,
)
"""What separates the terms of a combination: a plus outside of parentheses, before a name or before a weight."""

_TERM = re.compile(r"\s* (?: (?P<weight> [^*()@]+? ) \s* \* )? \s* (?P<name> [^*]+? ) \s*", re.VERBOSE)

_WITH_CUTOFFS = re.compile(r"(.+?)[._][0-9].*")
"""A name with cut-offs in trec_eval's spelling: ``ndcg_cut.1,4``."""

_CUTOFF = ("cutoff", "recall")
"""ir_measures' parameters that are the cut-off: ``AP(cutoff=10)`` is ``AP@10``."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A name in its parts."""

    text: str
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    """The parameters in parentheses, by their names in lower case."""
    level: str | None = None
    """The threshold that ``-l`` sets."""
    joint: str = ""
    """What separates the name from `written`; empty without it."""
    written: str | None = None
    """What follows the joint: cut-offs or parameters."""
    start: int = 0
    """Where `written` starts, or would start, in `text`."""

    @classmethod
    def of(cls, text: str) -> Spelling:
        """Return the parts of `text`; raise MeasureError if it has another form."""
        parts = _PARTS.fullmatch(text)
        if parts is None:
            raise MeasureError(f"{quoted(text)} is not of the form Name(parameter=value)@k")
        written, start = parts["trailing"], parts.start("trailing")
        joint = parts["joint"] or ""
        if written is None:
            written, start, joint = parts["cutoffs"], parts.start("cutoffs"), "@"
        if written is None:
            # The end of the name, or of its parameters, without the spaces before -l.
            start, joint = len(text if parts["level"] is None else text[: text.casefold().rindex("-l")].rstrip()), ""
        name, parameters = parts["name"].strip(), _parameters(parts["parameters"])
        return cls(text, name, parameters, parts["level"], joint, written, start)

    @property
    def is_cut(self) -> bool:
        """Whether a cut-off is written."""
        return self.written is not None or any(name in self.parameters for name in _CUTOFF)

    def cut_at(self, cutoff: str) -> str:
        """Return the text with this cut-off in the place of those that are written."""
        if self.written is not None:
            return self.text[: self.start] + cutoff.strip() + self.text[self.start + len(self.written) :]
        joint = "@" if self.parameters else "_"
        return self.text[: self.start] + joint + cutoff + self.text[self.start :]


def listed_names(text: str) -> list[str]:
    """Split a comma-separated list of names: ``AP,P@5,10,RR`` into ``AP``, ``P@5,10`` and ``RR``.

    Commas within parentheses or braces do not separate. A number belongs to the name before it, and so does a gain of a
    grade, as in ``ndcg.1=3.5,2=9``. Raises MeasureError where there is no name before or after a comma.
    """
    names: list[str] = []
    for part in re.split(r",(?![^(]*\))(?![^{]*\})", text):
        if names and _NUMBER.fullmatch(part):
            names[-1] += f",{part}"
        else:
            names.append(part)
    names = [name.strip() for name in names]
    if len(names) > 1 and not all(names):
        raise MeasureError(
            f"found no name between the commas of {quoted(text)}; expected one or several names with commas between "
            "them, as in AP,nDCG@10,RR"
        )
    return names


def settings_of(
    kind: Kind, spelling: Spelling, parameters: dict[str, str]
) -> tuple[str | None, dict[str, ParameterValue]]:
    """Return the cut-offs as written, None without any, and the values of parameters: those in parentheses, and others.

    The kind that the name means decides what follows the name.
    """
    cut, suffixed = _suffix(kind, spelling)
    values: dict[str, ParameterValue] = {**parameters}
    for name in _CUTOFF:
        if name in values and not any(name == own.name for own in kind.parameters) and kind.cutoff != "none":
            if cut is not None:
                raise MeasureError(f"{quoted(spelling.text)}: the cut-off is given twice")
            cut = str(values.pop(name))
    if str(values.get("judged_only", "")).strip().casefold() == "false":
        del values["judged_only"]
    if "judged_only" in values:
        raise MeasureError(
            f"{quoted(spelling.text)}: judged_only is an option for all measures here; write --unjudged drop, or "
            'unjudged="drop" in Python'
        )
    for name in suffixed:
        if name in values:
            raise MeasureError(f"parameter {quoted(name)} is given twice")
    return cut, {**values, **suffixed}


def _suffix(kind: Kind, spelling: Spelling) -> tuple[str | None, dict[str, ParameterValue]]:
    """Return the cut-offs as written, None without any, and the parameters that other tools write after the name."""
    parameters: dict[str, ParameterValue] = {} if spelling.level is None else {"rel": spelling.level}
    written, joint = spelling.written, spelling.joint
    if written is None or joint == "@":
        return written, parameters
    if "=" in written:  # ndcg.1=3.5,2=9 or rbp.p=0.8
        return None, {**parameters, **_pairs(kind, spelling, written)}
    theirs = kind.with_numbers
    if theirs is not None and joint in (".", "_"):
        numbers = written.split(",")
        if len(numbers) > len(theirs.named):
            raise MeasureError(
                f"{quoted(spelling.text)}: {spelling.name} takes {len(theirs.named)} of {', '.join(theirs.named)}; "
                f"found {len(numbers)}"
            )
        return None, {**parameters, **theirs.parameters, **dict(zip(theirs.named, numbers, strict=False))}
    if kind.decimals and joint == "." and written.isdecimal():
        return None, {**parameters, **kind.decimals_with, kind.decimals: f"0.{written}"}
    return written, parameters


def _pairs(kind: Kind, spelling: Spelling, written: str) -> dict[str, ParameterValue]:
    """Return parameters as trec_eval writes them: a gain for each grade, or a value for a name."""
    pairs = [pair.partition("=") for pair in written.split(",")]
    named = {name.strip(): value for name, _, value in pairs if name.strip().isalpha()}
    gains = ",".join(f"{grade}:{gain}" for grade, _, gain in pairs if grade.strip() not in named)
    if spelling.joint not in (".", "_") and any(parameter.mapped for parameter in kind.parameters):
        family = spelling.name + spelling.joint[:-1]
        raise MeasureError(
            f"{quoted(spelling.name + spelling.joint + written)}: {family} takes cut-offs, not gains; write both as in "
            f"{kind.name}(gain={{{gains}}})@10"
        )
    return {**named, **({"gain": f"{{{gains}}}"} if gains else {})}


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


MeasureNames = str | Measure | Sequence[str | Measure] | Mapping[str, str | Measure]
"""Measures, by name or as objects; or a dict from any name to a measure."""

_Meaning = tuple[Kind, Mapping[str, ParameterValue]]
"""A kind, and the parameters that a name of it sets."""

REFUSED: Mapping[str, str] = {
    "runid": "is the tag of a run, not a measure",
    "relstring": "is text, not a number; `scorer trec_eval -m relstring` prints it",
    **TREC_LEFT_OUT,
    "IFT": "weighs gains against the effort of reading, which solutions lack; INST is similar, with equal efforts",
    "TBG": "needs the time that each item takes to read; RBP is similar, with time counted in items",
    "UMeasure": "needs the length of the text of each item; nDCG is similar, with a discount by rank",
    "rank_biased_precision": "is a function of ranx, whose name as a measure has a value of p; write rbp.95",
    "interpolated_precision_at_recall": "is a function of ranx with eleven results; write IPrec(reach=up)@0.0,0.1,0.2",
}
"""Why a name is not read, as the rest of a sentence that starts with the name."""

_HIT_RATES = ("hit", "hr", "hitratio")
"""Names of the share of queries with a hit, which `Success` is."""


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

    def named(self, text: str, tool: str = "") -> dict[str, Measure]:
        """Return the measures that `text` names, each by its name in the spelling of `text`; or means in a tool.

        `text` may be a name of trec_eval, pytrec_eval, ir_measures or ranx. A name that one of them reads as another
        measure is refused, unless it has the parameter that decides: MeasureError then has a line for each meaning,
        with what to write. Where `text` names several measures, the key of each has its own cut-off: ``P_5`` and
        ``P_10`` for ``P_5,10``. The keys of a set are the names that it lists.
        """
        return self._read(text, decided=not tool, tool=tool)

    def named_one(self, text: str, tool: str = "") -> Measure:
        """Return the measure that `text` names, as `named` reads it; text that names several is an error too."""
        return _only(text, self.named(text, tool))

    listed = staticmethod(listed_names)

    def requested(self, measures: MeasureNames) -> dict[str, Measure]:
        """Return measures by their requested names.

        Text may list several names. A name of several measures gives each a name with its own cut-off. One with default
        cut-offs counts only if no other name gives them: ``ndcg_cut`` and ``ndcg_cut.1,4`` are two measures, as in
        pytrec_eval. Raises MeasureError for an unknown name, and for an object that is no measure.
        """
        if isinstance(measures, Mapping):
            return {name: self.of_object(each) or self.named_one(_text(each)) for name, each in measures.items()}
        listed = measures if isinstance(measures, Iterable) and not isinstance(measures, str) else [measures]
        given: list[tuple[str, Measure | None]] = []
        for each in listed:
            measure = self.of_object(each)
            given += (
                [(_called(each, measure), measure)] if measure else [(name, None) for name in listed_names(_text(each))]
            )
        cut = {_key(name[1]) for name in (_WITH_CUTOFFS.fullmatch(name) for name, _ in given) if name}
        found: dict[str, Measure] = {}
        for name, measure in given:
            if measure is not None:
                found[name] = measure
            elif _key(name) not in self._families or _key(name) not in cut:
                found |= self.named(name)
        return found

    def of_object(self, measure: object) -> Measure | None:
        """Return the measure that an object is, or that its text is in ir_measures; None for anything else."""
        if type(measure).__module__.partition(".")[0] == "ir_measures":
            return self.named_one(str(measure), "ir_measures")
        return measure if isinstance(measure, Measure) else None

    def _read(
        self, text: str, cutoffs: Sequence[int] = (), *, decided: bool = False, tool: str = ""
    ) -> dict[str, Measure]:
        """Return the measures that `text` names, by name; with `decided`, a name of several meanings is refused, and
        with `tool`, it is that of the tool.
        """
        text = text.strip()
        if "*" in text or _PLUS.search(text):
            return {text: self._combined(text, cutoffs, decided=decided)}
        if text.casefold() in self.sets:
            names = self.sets[text.casefold()]
            return {key: measure for name in names for key, measure in self._read(name, decided=decided).items()}
        spelling = Spelling.of(text)
        (kind, fixed), parameters = self._meant(spelling, cutoffs)
        for name in fixed:
            if name in parameters:
                raise MeasureError(f"{quoted(text)}: {spelling.name} sets {name} already; write {kind.name}")
        cut, settings = settings_of(kind, spelling, parameters)
        measures = {
            name: kind.measure(cutoff, {**fixed, **settings})
            for name, cutoff in self._cutoffs(spelling, kind, cut, cutoffs).items()
        }
        if tool:
            measures = {name: _meant_by(tool, each, {**fixed, **settings}) for name, each in measures.items()}
        if decided and spelling.joint in ("", "@", "_at_"):
            for measure in measures.values():
                _check_decided(text, measure, {**fixed, **settings})
        return measures

    def _combined(self, text: str, cutoffs: Sequence[int], *, decided: bool) -> Measure:
        """Return the combination that `text` names, as in ``0.1*RR+0.9*AP``."""
        terms = []
        for written in _PLUS.split(text):
            term = _TERM.fullmatch(written)
            weight = decimal(term["weight"] or "1") if term else math.nan
            if term is None or not math.isfinite(weight) or not weight:
                raise MeasureError(
                    f"{quoted(written.strip())} in {quoted(text)} is no weight and measure; expected a number other "
                    "than 0, * and a name, as in 0.1*RR+0.9*AP"
                )
            terms.append((weight, _only(term["name"], self._read(term["name"], cutoffs, decided=decided))))
        return combination(tuple(terms))

    def _meant(self, spelling: Spelling, cutoffs: Sequence[int]) -> tuple[_Meaning, dict[str, str]]:
        """Return the kind that a name means, with the parameters that the name sets, and those in parentheses."""
        key, parameters = _key(spelling.name), dict(spelling.parameters)
        if key in _HIT_RATES:
            meant = f"Success@{spelling.written or 'k'}"
            raise MeasureError(f"no measure is called {quoted(spelling.name)}; write {meant}; {self._listing}")
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
                taken = meaning[0].parameters
                if not any(name in (parameter.name, *parameter.about.also) for parameter in taken):
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
        try:
            return self._named[_key(name)]
        except KeyError:
            names = dict.fromkeys(self._named[key][0].name for key in closest(_key(name), self._named, 5, 0.5))
            hint = f"; the closest names are {', '.join(names)}" if names else ""
            message = f"no measure is called {quoted(name.strip())}{hint}; {self._listing}"
            raise MeasureError(message) from None


def _called(given: object, measure: Measure) -> str:
    """The name in results of an object: its text, unless that is the name of another measure here."""
    return str(given if all(unlike.is_refused for unlike in measure.kind.unlike) else measure)


def _text(measure: object) -> str:
    """The name of a measure, which may be another object by mistake."""
    if callable(measure) and not isinstance(measure, type):
        raise MeasureError('found a function; make it a measure, as in scorer.measure(function, "its name")')
    if not isinstance(measure, str):
        raise MeasureError(
            f"found {quoted(repr(measure))}, an object of type {type(measure).__name__}, as a measure; give its name "
            "instead, as in str(measure)"
        )
    return measure


class EarlierNames(Registry):
    """Reads names as version 1.0 did, for tracks that it has recorded: RBO and Compat were the sums over the lists."""

    def _meant(self, spelling: Spelling, cutoffs: Sequence[int]) -> tuple[_Meaning, dict[str, str]]:
        if _key(spelling.name) in ("rbo", "compat", "compatibility") and "depth" not in spelling.parameters:
            spelling = replace(spelling, name="Compat", parameters={**spelling.parameters, "depth": "list"})
        return super()._meant(spelling, cutoffs)


def in_version_1_0(name: str) -> str:
    """Return the name that version 1.0 had for a measure, given that of now."""
    return re.sub(
        r"Compat\((?:([^()]*),)?depth=list\)", lambda found: f"RBO({found[1] or ''})".removesuffix("()"), name
    )


def _key(name: str) -> str:
    """The name without what spellings may vary: case, hyphens, underscores and spaces."""
    return re.sub(r"[-_\s]", "", name.casefold())


_REFUSED = {_key(name): reason for name, reason in REFUSED.items()}


def _only(text: str, measures: Mapping[str, Measure]) -> Measure:
    if len(measures) > 1:
        names = ", ".join(map(str, measures.values()))
        raise MeasureError(f"{quoted(text)} names {len(measures)} measures ({names}); expected one")
    return next(iter(measures.values()))


def _meant_by(tool: str, measure: Measure, settings: Mapping[str, ParameterValue]) -> Measure:
    """The measure that a tool means by the name of one, which gives or sets `settings`."""
    meant = [
        each.meant(measure) for each in measure.kind.unlike if each.tool == tool and each.parameter not in settings
    ]
    return next(filter(None, meant), measure)


def _check_decided(text: str, measure: Measure, settings: Mapping[str, ParameterValue]) -> None:
    """Raise MeasureError if another tool reads the name of the measure as another one.

    `settings` are the parameters that the name gives or sets.
    """
    undecided = [unlike for unlike in measure.kind.unlike if unlike.is_refused and unlike.parameter not in settings]
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


# The names of trec_eval


class TrecParametersError(ScorerError):
    """The parameters of a measure of trec_eval are wrong, or not possible here."""


class Printed(NamedTuple):
    """A value that trec_eval prints: a measure with the name that it has there, or a text."""

    name: str
    measure: Measure | None
    """None for a text: the run's tag, or the grades of the first items."""
    length: int = 0
    """The number of items whose grades are a text."""


def printed_measures(
    requested: Sequence[str], registry: Registry, *, collection: float = 0, level: float = 1
) -> list[Printed]:
    """Return the values that trec_eval prints for its names of measures, in its order; without names, `DEFAULT_GROUP`.

    The names are as the option -m has them: ``map``, ``P.5,10``, ``ndcg.1=3.5,2=9``, ``all_trec``. The first parameters
    of a measure count, as in trec_eval. `collection` is the number of its documents, for utility; `level` is the lowest
    grade that counts as relevant. Raises MeasureError where a name is not one of trec_eval's, or `scorer` does not
    compute the measure; and TrecParametersError where its parameters are wrong.
    """
    names: set[str] = set()
    written: dict[str, str] = {}
    for text in requested or (DEFAULT_GROUP,):
        name, dot, parameters = text.partition(".")
        if dot and not parameters:
            raise MeasureError(f"{quoted(text)} has nothing after the dot; write {name}, or its parameters")
        if name in TREC_LEFT_OUT:
            raise MeasureError(f"{name} of trec_eval is not computed: it {TREC_LEFT_OUT[name]}")
        if name not in GROUPS and name not in _BY_NAME:
            raise _not_in_trec_eval(name, registry)
        if dot and (name in GROUPS or _BY_NAME[name].takes == "nothing"):
            raise MeasureError(f"{quoted(text)}: {name} takes no parameters{_INSTEAD.get(name, '')}")
        names.update(GROUPS.get(name, (name,)))
        if dot:
            written.setdefault(name, parameters)
    return [
        value
        for measure in TREC_EVAL
        if measure.name in names
        for value in _trec_values(measure, written.get(measure.name), registry, collection, level)
    ]


_BY_NAME = {measure.name: measure for measure in TREC_EVAL}

_INSTEAD = {
    "map": ", and trec_eval ignores them; for a cut-off write map_cut.10",
    "11pt_avg": " here; for other levels of recall write iprec_at_recall.0.2,0.5,0.8, and average its lines",
    **dict.fromkeys(GROUPS, ", and trec_eval ignores them; name a measure of the group, as in P.10"),
}


def _not_in_trec_eval(name: str, registry: Registry) -> MeasureError:
    close = closest(name, [*GROUPS, *_BY_NAME], 3)
    hint = f"; the closest names are {', '.join(close)}" if close else ""
    try:
        kind = registry.kind(name)
    except MeasureError:
        pass
    else:
        hint += f"; {kind.name} is a name of scorer, which `scorer evaluate -m {name}` reads"
    return MeasureError(f"trec_eval 10 has no measure {quoted(name)}{hint}")


def _trec_values(
    measure: TrecMeasure, written: str | None, registry: Registry, collection: float, level: float
) -> Iterator[Printed]:
    """Yield the values of a measure, with the parameters as written after the dot; None without any."""
    try:
        if measure.takes in ("depths", "levels"):
            for cutoff in _trec_cutoffs(measure, written):
                name = measure.template.format(int(cutoff) if measure.takes == "depths" else cutoff)
                yield Printed(name, _trec_measure(measure, registry, cutoff, measure.parameters, level))
            return
        name = measure.name if written is None else f"{measure.name}_{written}"
        if not measure.ours:
            length = _trec_numbers(measure, written)[0] if measure.takes == "numbers" else 0
            yield Printed(name, None, int(max(length, 0)))
            return
        parameters: dict[str, float | str | Mapping[float, float]] = dict(measure.parameters)
        if measure.takes == "numbers":
            parameters |= zip(measure.named, _trec_numbers(measure, written), strict=True)
        elif measure.takes == "pairs" and written is not None:
            parameters = _trec_pairs(measure, written)
        if measure.name == "utility":
            parameters["items"] = collection
        yield Printed(name, _trec_measure(measure, registry, None, parameters, level))
    except MeasureError as error:
        text = measure.name if written is None else f"{measure.name}.{written}"
        raise TrecParametersError(f"{quoted(text)}: {error}") from None


def _trec_measure(
    measure: TrecMeasure,
    registry: Registry,
    cutoff: float | None,
    parameters: Mapping[str, float | str | Mapping[float, float]],
    level: float,
) -> Measure:
    kind = registry.kind(measure.ours)
    # The default of a threshold is any grade above 0, which is the same for whole grades.
    return kind.measure(cutoff, parameters).at_threshold(None if level == 1 else level)


def _trec_cutoffs(measure: TrecMeasure, written: str | None) -> list[float]:
    """The cut-offs in ascending order."""
    if written is None:
        return list(measure.default)
    numbers = [decimal(number) for number in written.split(",")]
    whole = measure.takes == "depths"
    if not all(
        math.isfinite(number) and (not whole or (number == int(number) and 1 <= number <= LARGEST_CUTOFF))
        for number in numbers
    ):
        kind = "whole numbers above 0" if whole else "numbers"
        raise MeasureError(
            f"expected {kind} between commas, as in {measure.name}.{measure.default[0]:g},{measure.default[1]:g}"
        )
    if len(set(numbers)) < len(numbers):
        raise MeasureError("a cut-off is listed twice; list each once")
    return sorted(numbers)


def _trec_numbers(measure: TrecMeasure, written: str | None) -> tuple[float, ...]:
    if written is None:
        return measure.default
    numbers = tuple(map(decimal, written.split(",")))
    if len(numbers) != len(measure.default) or not all(map(math.isfinite, numbers)):
        example = ",".join(f"{number:g}" for number in measure.default)
        count = len(measure.default)
        raise MeasureError(
            f"expected {'a number' if count == 1 else f'{count} numbers'}, as in {measure.name}.{example}"
        )
    return numbers


def _trec_pairs(measure: TrecMeasure, written: str) -> dict[str, float | str | Mapping[float, float]]:
    """Return pairs such as ``p=0.8`` or ``1=3.5,2=9`` as our parameters."""
    pairs: dict[str, float] = {}
    for pair in written.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        number = decimal(value)
        is_level = name.isascii() and name.isdigit()
        if not equals or not math.isfinite(number) or name in pairs or not (is_level or name in measure.named):
            example = "p=0.8" if "p" in measure.named else "1=3.5,2=9"
            raise MeasureError(f"expected parameters as in {measure.name}.{example}; found {quoted(pair)}")
        if is_level and "gain" not in measure.named:
            raise MeasureError(
                f"{measure.name} takes no gains here: trec_eval normalises them with uninitialised numbers"
            )
        if number < 0 or (is_level and int(name) == 0 and number):
            raise MeasureError(f"found {quoted(pair)}; level 0 has gain 0, and no gain is negative, in scorer")
        pairs[name] = number
    if "gain" in measure.named:
        gains = {float(name): gain for name, gain in pairs.items()}
        if len(gains) < len(pairs):
            raise MeasureError("a level has two gains")
        return {"gain": gains}
    return dict(pairs)
