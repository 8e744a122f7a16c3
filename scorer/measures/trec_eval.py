"""The measures of trec_eval 10: their names, parameters and default cut-offs, and what `scorer` does not compute.

The table `TREC_EVAL` decides what a name means there and how it is printed. Its order is that of the output.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from scorer.errors import MeasureError, ScorerError
from scorer.measures.matched import LARGEST_CUTOFF, decimal
from scorer.wording import closest, quoted

if TYPE_CHECKING:
    from scorer.measures.kinds import Measure
    from scorer.measures.names import Registry

TREC_CUTOFFS = "5,10,15,20,30,100,200,500,1000"
"""The cut-offs that trec_eval takes for most measures that are named without one."""

Takes = Literal["nothing", "depths", "levels", "numbers", "pairs"]
"""What trec_eval reads after the dot: nothing; depths, or levels of recall or of R, which make one value each; numbers,
or pairs such as 1=3.5, which are parameters of one value."""

_DEPTHS = tuple(map(float, TREC_CUTOFFS.split(",")))
_TENTHS = tuple(tenth / 10 for tenth in range(11))
_MULTIPLES = tuple(fifth / 5 for fifth in range(1, 11))


class TrecMeasure(NamedTuple):
    """A measure of trec_eval."""

    name: str
    ours: str
    """Our name of it, without a cut-off and parameters; empty for a text."""
    takes: Takes = "nothing"
    default: tuple[float, ...] = ()
    """The cut-offs or numbers without any after the dot."""
    parameters: Mapping[str, float | str] = MappingProxyType({})
    """The parameters that give trec_eval's numbers."""
    named: tuple[str, ...] = ()
    """Our parameters for its numbers, or the names of its pairs; "gain" for pairs of level and gain."""
    per_query: bool = True
    """Whether it is printed for each query too."""

    @property
    def template(self) -> str:
        """The name as printed, ``{}`` being the cut-off: ``P_{}``."""
        return self.name + {"depths": "_{}", "levels": "_{:.2f}"}.get(self.takes, "")

    @property
    def cutoffs(self) -> str:
        """The default cut-offs as printed: ``5,10``; empty if it takes none."""
        decimals = {"depths": 0, "levels": 2}.get(self.takes)
        return "" if decimals is None else ",".join(f"{cutoff:.{decimals}f}" for cutoff in self.default)

    @property
    def with_cutoffs(self) -> str:
        """The name with its default cut-offs: ``P_5,10``."""
        return f"{self.name}_{self.cutoffs}" if self.cutoffs else self.name


TREC_EVAL: tuple[TrecMeasure, ...] = (
    TrecMeasure("runid", ""),
    TrecMeasure("num_q", "NumQ", per_query=False),
    TrecMeasure("num_ret", "NumRet"),
    TrecMeasure("num_rel", "NumRel"),
    TrecMeasure("num_rel_ret", "NumRelRet"),
    TrecMeasure("map", "AP"),
    TrecMeasure("gm_map", "GMAP", per_query=False),
    TrecMeasure("Rprec", "Rprec"),
    TrecMeasure("bpref", "Bpref"),
    TrecMeasure("recip_rank", "RR"),
    TrecMeasure("iprec_at_recall", "IPrec", "levels", _TENTHS, {"reach": "nearest"}),
    TrecMeasure("P", "P", "depths", _DEPTHS),
    TrecMeasure("relstring", "", "numbers", (10.0,)),
    TrecMeasure("recall", "R", "depths", _DEPTHS),
    TrecMeasure("infAP", "infAP"),
    TrecMeasure("gm_bpref", "GMBpref", per_query=False),
    TrecMeasure("Rprec_mult", "RprecMult", "levels", _MULTIPLES),
    TrecMeasure("utility", "Utility", "numbers", (1.0, -1.0, 0.0, 0.0), named=("relevant", "other", "missed", "rest")),
    TrecMeasure("11pt_avg", "11pt_avg", parameters={"reach": "nearest"}),
    TrecMeasure("binG", "binG"),
    TrecMeasure("G", "G", "pairs", named=("gain",)),
    TrecMeasure("dcg", "DCG", "pairs", named=("gain",)),
    TrecMeasure("ndcg", "nDCG", "pairs", named=("gain",)),
    TrecMeasure("ndcg_rel", "nDCGrel", "pairs", named=("gain",)),
    TrecMeasure("Rndcg", "Rndcg", "pairs", named=("gain",)),
    TrecMeasure("ndcg_cut", "nDCG", "depths", _DEPTHS),
    TrecMeasure("map_cut", "AP", "depths", _DEPTHS),
    TrecMeasure("relative_P", "R", "depths", _DEPTHS, {"denominator": "min"}),
    TrecMeasure("success", "Success", "depths", (1.0, 5.0, 10.0)),
    TrecMeasure("set_P", "SetP"),
    TrecMeasure("set_relative_P", "SetR", parameters={"denominator": "min"}),
    TrecMeasure("set_recall", "SetR"),
    TrecMeasure("set_map", "SetAP"),
    TrecMeasure("set_F", "SetF", "numbers", (1.0,), {"weight": "plain"}, ("beta",)),
    TrecMeasure("num_nonrel_judged_ret", "NumNonrelJudgedRet"),
    TrecMeasure("rbp", "RBP", "pairs", named=("p",)),
    TrecMeasure("rbp_resid", "RBPresidual", "pairs", named=("p",)),
    TrecMeasure("unj", "Unjudged", "depths", (5.0, 10.0, 20.0)),
)
"""In the order in which trec_eval prints them."""

_PREFERENCES = "compares pairs of items that an assessor preferred one of; a solution has grades"
_ASSESSORS = "needs the judgements of several assessors for each query; a solution has one grade for each item"

TREC_LEFT_OUT: Mapping[str, str] = {
    "ideal_dcg": "is a property of the solution, not a score of a list; nDCG is DCG divided by it",
    "yaap": "is negative for a poor list, so that a missing list, which scores 0, would be better; AP is the usual one",
    **dict.fromkeys(
        (
            *("prefs", "all_prefs", "prefs_simp", "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel"),
            *("prefs_simp_ret", "prefs_pair_ret", "prefs_avgjg_ret", "prefs_avgjg_Rnonrel_ret"),
            *("prefs_simp_imp", "prefs_pair_imp", "prefs_avgjg_imp"),
            *("prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret"),
        ),
        _PREFERENCES,
    ),
    **dict.fromkeys(("qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"), _ASSESSORS),
}
"""The names of trec_eval 10, with those of its groups, that `scorer trec_eval` does not compute either, and why."""

_COUNTED = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")
_NOT_IN_ALL = ("dcg",)
GROUPS: Mapping[str, tuple[str, ...]] = {
    "official": (*_COUNTED, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
    "set": (*_COUNTED, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(measure.name for measure in TREC_EVAL if measure.name not in _NOT_IN_ALL),
}
"""Names of several measures at once, without their cut-offs."""

TREC_SETS: dict[str, tuple[str, ...]] = {
    group: tuple(measure.with_cutoffs for measure in TREC_EVAL if measure.name in names and measure.ours)
    for group, names in GROUPS.items()
}
"""The same with the cut-offs, without the texts, in the order in which trec_eval prints them."""

DEFAULT_GROUP = "official"


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
            raise _unknown(name, registry)
        if dot and (name in GROUPS or _BY_NAME[name].takes == "nothing"):
            raise MeasureError(f"{quoted(text)}: {name} takes no parameters{_INSTEAD.get(name, '')}")
        names.update(GROUPS.get(name, (name,)))
        if dot:
            written.setdefault(name, parameters)
    return [
        value
        for measure in TREC_EVAL
        if measure.name in names
        for value in _values(measure, written.get(measure.name), registry, collection, level)
    ]


_BY_NAME = {measure.name: measure for measure in TREC_EVAL}

_INSTEAD = {
    "map": ", and trec_eval ignores them; for a cut-off write map_cut.10",
    "11pt_avg": " here; for other levels of recall write iprec_at_recall.0.2,0.5,0.8, and average its lines",
    **dict.fromkeys(GROUPS, ", and trec_eval ignores them; name a measure of the group, as in P.10"),
}


def _unknown(name: str, registry: Registry) -> MeasureError:
    close = closest(name, [*GROUPS, *_BY_NAME], 3)
    hint = f"; the closest names are {', '.join(close)}" if close else ""
    try:
        kind = registry.kind(name)
    except MeasureError:
        pass
    else:
        hint += f"; {kind.name} is a name of scorer, which `scorer evaluate -m {name}` reads"
    return MeasureError(f"trec_eval 10 has no measure {quoted(name)}{hint}")


def _values(
    measure: TrecMeasure, written: str | None, registry: Registry, collection: float, level: float
) -> Iterator[Printed]:
    """Yield the values of a measure, with the parameters as written after the dot; None without any."""
    try:
        if measure.takes in ("depths", "levels"):
            for cutoff in _cutoffs(measure, written):
                name = measure.template.format(int(cutoff) if measure.takes == "depths" else cutoff)
                yield Printed(name, _measure(measure, registry, cutoff, measure.parameters, level))
            return
        name = measure.name if written is None else f"{measure.name}_{written}"
        if not measure.ours:
            length = _numbers(measure, written)[0] if measure.takes == "numbers" else 0
            yield Printed(name, None, int(max(length, 0)))
            return
        parameters: dict[str, float | str | Mapping[float, float]] = dict(measure.parameters)
        if measure.takes == "numbers":
            parameters |= zip(measure.named, _numbers(measure, written), strict=True)
        elif measure.takes == "pairs" and written is not None:
            parameters = _pairs(measure, written)
        if measure.name == "utility":
            parameters["items"] = collection
        yield Printed(name, _measure(measure, registry, None, parameters, level))
    except MeasureError as error:
        text = measure.name if written is None else f"{measure.name}.{written}"
        raise TrecParametersError(f"{quoted(text)}: {error}") from None


def _measure(
    measure: TrecMeasure,
    registry: Registry,
    cutoff: float | None,
    parameters: Mapping[str, float | str | Mapping[float, float]],
    level: float,
) -> Measure:
    kind = registry.kind(measure.ours)
    # The default of a threshold is any grade above 0, which is the same for whole grades.
    return kind.measure(cutoff, parameters).at_threshold(None if level == 1 else level)


def _cutoffs(measure: TrecMeasure, written: str | None) -> list[float]:
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


def _numbers(measure: TrecMeasure, written: str | None) -> tuple[float, ...]:
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


def _pairs(measure: TrecMeasure, written: str) -> dict[str, float | str | Mapping[float, float]]:
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
