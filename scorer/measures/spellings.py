"""The parts of a measure's name, as `Name(parameter=value)@k` or as other tools write it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from scorer.errors import MeasureError
from scorer.measures.kinds import Kind
from scorer.measures.parameters import Value
from scorer.wording import quoted

_PARTS = re.compile(
    r"""(?P<name> [^()@]*? )
        (?: \( (?P<parameters> [^()]* ) \) \s* )?
        (?: @ (?P<cutoffs> .*? ) | (?P<joint> _cut[_.] | _at_ | [_.] ) (?P<trailing> (?: [0-9] | [a-z]+= ) .*? ) )?
        (?: -l \s* (?P<level> [0-9]+ (?: \.[0-9]+ )? ) )?""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
"""``Name(parameter=value)@k``; or the cut-off as other tools write it (P_10, P.5,10, ndcg_cut_10, ndcg_at_10), or
parameters (ndcg.1=3,2=9, rbp.p=0.8); ``-l2`` at the end is ``rel=2``."""

_NUMBER = re.compile(r"\s* [+-]? [0-9.]+ \s* (?: = \s* [+-]? [0-9.]+ \s* )? (?: -l \s* [0-9.]+ \s* )?", re.VERBOSE)
"""A part of a list that belongs to the name before it: the 10 of ``P@5,10``, the ``2=9`` of ``ndcg.1=3.5,2=9``."""

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


def listed(text: str) -> list[str]:
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


def settings(kind: Kind, spelling: Spelling, parameters: dict[str, str]) -> tuple[str | None, dict[str, Value]]:
    """Return the cut-offs as written, None without any, and the values of parameters: those in parentheses, and others.

    The kind that the name means decides what follows the name.
    """
    cut, suffixed = _suffix(kind, spelling)
    values: dict[str, Value] = {**parameters}
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


def _suffix(kind: Kind, spelling: Spelling) -> tuple[str | None, dict[str, Value]]:
    """Return the cut-offs as written, None without any, and the parameters that other tools write after the name."""
    parameters: dict[str, Value] = {} if spelling.level is None else {"rel": spelling.level}
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


def _pairs(kind: Kind, spelling: Spelling, written: str) -> dict[str, Value]:
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
