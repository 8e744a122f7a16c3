"""The names of measures: how they are written, read and refused."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections import Counter
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer.measures
from scorer.errors import MeasureError, ScorerError
from scorer.measures import KINDS, Kind, Measure, earlier, parse, parse_one, registry
from scorer.measures.matched import GivenValue
from scorer.measures.names import in_version_1_0
from tests.strategies import examples, matched, measures

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


GAINS = "linear or exp or binary or gains as in {1: 3.5, 2: 9}"
RELATIVE = '"relative_P(denominator=R)@5": relative_P sets denominator already; write R'


def names(text: str, *cutoffs: int) -> list[str]:
    """The canonical names of the measures that the text names."""
    return [str(measure) for measure in parse(text, cutoffs)]


# --- Written ----------------------------------------------------------------------------------------------------------


@examples(300)
@given(measure=measures(), change=st.sampled_from([str, str.upper, str.lower, str.swapcase]))
def test_what_a_measure_prints_is_read_as_that_measure(measure: Measure, change: type[str]) -> None:
    """The canonical name and the full name are read as the same measure, in upper and lower case."""
    assert parse(change(str(measure))) == (measure,)
    assert parse(change(measure.full)) == (measure,)
    assert str(parse_one(measure.full)) == str(measure)


@pytest.mark.parametrize(
    ("text", "canonical", "full"),
    [
        ("ndcg@10", "nDCG@10", "nDCG(gain=linear,discount=log2,ideal=judged,rel=positive)@10"),
        (
            "nDCG( IDEAL = retrieved, gain='EXP' )",
            "nDCG(gain=exp,ideal=retrieved)",
            "nDCG(gain=exp,discount=log2,ideal=retrieved,rel=positive)",
        ),
        ("nDCG(gain=linear)", "nDCG", "nDCG(gain=linear,discount=log2,ideal=judged,rel=positive)"),
        ("AP(rel=2.0)@05", "AP(rel=2)@5", "AP(denominator=R,rel=2)@5"),
        ("AP(DENOMINATOR=r,rel=positive)", "AP", "AP(denominator=R,rel=positive)"),
        ("F(rel=.5,beta=2)@10", "F(beta=2,rel=0.5)@10", "F(beta=2,weight=squared,rel=0.5)@10"),
        ("MARp@30,5,10", "MARp@5,10,30", "MARp(rel=positive)@5,10,30"),
        ("IPrec@0", "IPrec@0.0", "IPrec(reach=exact,rel=positive)@0.0"),
        ("muap()@5", "muAP@5", "muAP@5"),
        ("P(rel=-0)@5", "P(rel=0)@5", "P(rel=0)@5"),
        (
            "DCG(gain={2: 9, 1: 3.50})@5",
            "DCG(gain={1:3.5,2:9})@5",
            "DCG(gain={1:3.5,2:9},discount=log2,rel=positive)@5",
        ),
        ("rbp.90", "RBP(gain=linear)", "RBP(p=0.9,gain=linear,rel=positive)"),
        ("set_F.0.5", "SetF(beta=0.5,weight=plain)", "SetF(beta=0.5,weight=plain,rel=positive)"),
        ("NumRet(rel=1)", "NumRelRet(rel=1)", "NumRelRet(rel=1)"),
        ("hits-l2", "Hits(rel=2)", "Hits(rel=2)"),
    ],
)
def test_canonical_names(text: str, canonical: str, full: str) -> None:
    """The canonical name has no defaults, and parameters in the declared order; the full name has all parameters."""
    measure = parse_one(text)

    assert str(measure) == canonical
    assert measure.full == full


@pytest.mark.parametrize(
    ("text", "mean"), [("muAP@5", "muMAP@5"), ("AP(rel=2)", "MAP(rel=2)"), ("rr@10", "MRR@10"), ("P@5", "P@5")]
)
def test_a_mean_can_have_its_own_name(text: str, mean: str) -> None:
    """The mean of AP over queries is printed as MAP, and that name is read too."""
    assert parse_one(text).mean_name == mean
    assert parse_one(mean) == parse_one(text)


def test_measures_are_values() -> None:
    """Measures with equal names are equal: in sets, as copies, and in another process."""
    measure = parse_one("nDCG(gain=exp)@10")

    assert {measure, parse_one("ndcg_burges@10")} == {measure}
    assert measure != parse_one("nDCG@10")
    for again in (copy.deepcopy(measure), pickle.loads(pickle.dumps(measure))):
        assert again == measure
        assert again.kind is measure.kind


# --- Read -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MARp", "MARp@5,10"),
        ("MARp(rel=2)", "MARp(rel=2)@5,10"),
        ("Rp", "Rp@5 Rp@10"),
        ("P", "P@5 P@10"),
        ("P@3", "P@3"),
        ("nDCG", "nDCG"),
        ("Rprec", "Rprec"),
    ],
)
def test_a_measure_that_needs_cutoffs_takes_those_of_the_track(text: str, expected: str) -> None:
    """A measure with an optional cut-off does not take them."""
    assert " ".join(names(text, 5, 10)) == expected


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("P@10, 5", "P@10 P@5"),
        ("MARp@5,10", "MARp@5,10"),
        ("IPrec@0.0,0.1", "IPrec@0.0 IPrec@0.1"),
        ("nDCG(gain=exp)@5,10", "nDCG(gain=exp)@5 nDCG(gain=exp)@10"),
        ("  Rprec ", "Rprec"),
        ("ndcg_cut.5,10", "nDCG@5 nDCG@10"),
        ("ndcg_cut_5,10", "nDCG@5 nDCG@10"),
        ("ndcg_at_10", "nDCG@10"),
        ("P.5,10", "P@5 P@10"),
        ("recall.10", "R@10"),
        ("recall@5-l2", "R(rel=2)@5"),
        ("R-prec", "Rprec"),
        ("iprec_at_recall.0.1,0.2", "IPrec(reach=nearest)@0.1 IPrec(reach=nearest)@0.2"),
        ("f1_10", "F@10"),
        ("F2(rel=3)@10", "F(beta=2,rel=3)@10"),
        ("muMAP", "muAP"),
        ("μMAP@5", "muAP@5"),
        ("nDCGφ@5", "nDCGphi@5"),
        ("mean_ndcg@5", "MeanNDCG@5"),
        ("11-pt_avg", "11pt_avg"),
        ("success_1,5,10", "Success@1 Success@5 Success@10"),
        ("R_cap@5", "R(denominator=min)@5"),
        ("RBP(p=0.8)@10", "RBP(p=0.8)@10"),
        ("Compatibility(p=0.9)", "Compat(p=0.9)"),
        ("RBO_ext(p=0.9)", "RBO(p=0.9)"),
        ("RBO(p=0.9,depth=list)", "Compat(p=0.9,depth=list)"),
        ("RBO(normalize=False)", "Compat(normalise=no)"),
        ("nDCG(dcg='log2')@10", "nDCG@10"),
        ("nDCG(gains={1: 3.5, 2: 9})@10", "nDCG(gain={1:3.5,2:9})@10"),
        ("ndcg.1=3.5,2=9", "nDCG(gain={1:3.5,2:9})"),
        ("map@100-l2", "AP(rel=2)@100"),
        ("map-l2", "AP(rel=2)"),
        ("ndcg-l2", "nDCG(rel=2)"),
        ("precision@5,10-l1.5", "P(rel=1.5)@5 P(rel=1.5)@10"),
        ("P_10 -l 2", "P(rel=2)@10"),
        ("ap@10", "AP@10"),
        ("Q-measure@10", "Q@10"),
        ("p+(beta=2)", "P-plus(beta=2)"),
        ("0.5*P-plus+0.5*AP", "0.5*P-plus+0.5*AP"),
        ("Rprec@10", "Rprec@10"),
    ],
)
def test_lists_of_cutoffs_and_the_spellings_of_other_tools(spelling: str, expected: str) -> None:
    """Of papers, lists of cut-offs and thresholds; the tables of docs/peers.py have the others."""
    assert " ".join(names(spelling)) == expected


@every_kind
def test_a_kind_is_found_under_all_its_names(kind: Kind) -> None:
    """Its name, its aliases, and the name of its mean."""
    for name in (kind.name, kind.name.upper(), *kind.aliases, kind.mean_name or kind.name):
        assert registry.kind(name) is kind


def test_no_two_kinds_share_a_name() -> None:
    """Not even names that differ only in case, hyphens and underscores."""
    spelled = [
        name.casefold().replace("_", "").replace("-", "") for kind in KINDS for name in (kind.name, *kind.aliases)
    ]

    assert [name for name, times in Counter(spelled).items() if times > 1] == []


def test_a_name_with_two_meanings_is_refused_also_in_a_track_with_cutoffs() -> None:
    """A track's cut-offs do not decide between the readings of the name."""
    for name in ("recall", "Recall(rel=2)", "recall-l2"):
        with pytest.raises(MeasureError, match="means different measures in different tools"):
            parse(name, (5, 10))


def test_a_map_of_gains_can_be_given_from_python() -> None:
    """As a mapping or as pairs, in any order; its name is read as the same measure."""
    every: list[GivenValue] = [{2: 9, 1: 3.5}, ((1.0, 3.5), (2.0, 9.0))]
    for gains in every:
        measure = registry.kind("nDCG").measure(10, {"gains": gains})
        assert str(measure) == "nDCG(gain={1:3.5,2:9})@10"
        assert parse_one(str(measure)) == measure
        assert len({measure, parse_one(measure.full)}) == 1
    with pytest.raises(MeasureError, match=r'found "\{1: inf\}"'):
        registry.kind("nDCG").measure(10, {"gains": {1: float("inf")}})


def test_bounds_and_closed_forms_can_depend_on_parameters() -> None:
    """Scores may leave [0, 1], or have no closed form, for some values of parameters."""
    assert parse_one("RBP(gain=share)").bounded
    assert not parse_one("RBP(gain=linear)").bounded
    assert not parse_one("DCG").bounded
    parse_one("AP(denominator=k)@5").need_closed_form()
    for name in ("AP(denominator=hits)@5", "IPrec@0.1", "Bpref"):
        with pytest.raises(
            MeasureError, match="no formula is known for its mean over the orders of tied items"
        ) as error:
            parse_one(name).need_closed_form()
        assert str(error.value).startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RBO", "Compat(depth=list)"),
        ("r-b_o( P=0.9 )", "Compat(p=0.9,depth=list)"),
        ("Compatibility(normalize=False)", "Compat(normalise=no,depth=list)"),
        ("0.5*RBO+0.5*Compat", "0.5*Compat(depth=list)+0.5*Compat(depth=list)"),
        ("Compat(depth=1000)", "Compat"),
        ("RBO_ext", "RBO"),
        ("AP@10", "AP@10"),
    ],
)
def test_names_of_version_1_0(text: str, expected: str) -> None:
    """RBO and Compat were both the sums over the lists; with a depth, and under another name, they are those of now."""
    assert " ".join(map(str, earlier.parse(text))) == expected


@pytest.mark.parametrize(
    ("column", "earlier_column"),
    [
        ("Compat(depth=list)", "RBO"),
        ("preliminary Compat(p=0.8,depth=list)", "preliminary RBO(p=0.8)"),
        ("0.5*Compat(depth=list)+0.5*AP", "0.5*RBO+0.5*AP"),
        ("Compat", "Compat"),
        ("nDCG@10", "nDCG@10"),
    ],
)
def test_columns_of_version_1_0(column: str, earlier_column: str) -> None:
    """Boards that version 1.0 has published are compared by the names that columns had then."""
    assert in_version_1_0(column) == earlier_column


# --- Refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Rp", "Rp needs a cut-off, as in Rp@10"),
        ("MARp", "MARp needs cut-offs, as in MARp@5,10"),
        ("IPrec", "IPrec needs a level of recall, as in IPrec@0.1"),
        ("SetP@10", "SetP takes no cut-off"),
        ("P@", 'cut-offs are numbers, as in P@5,10; found ""'),
        ("P@5,,10", 'cut-offs are numbers, as in P@5,10; found ""'),
        ("P@ten", 'cut-offs are numbers, as in P@5,10; found "ten"'),
        ("P@1_0", 'cut-offs are numbers, as in P@5,10; found "1_0"'),
        ("P@0", "P takes a whole number from 1 to 1,000,000,000 as a cut-off; found 0"),
        ("P@-5", "P takes a whole number from 1 to 1,000,000,000 as a cut-off; found -5"),
        ("P@2.5", "P takes a whole number from 1 to 1,000,000,000 as a cut-off; found 2.5"),
        ("P@1e30", "P takes a whole number from 1 to 1,000,000,000 as a cut-off; found 1e+30"),
        ("P@5,5", 'cut-off "5" is listed twice in "5,5"'),
        ("MARp@5,5.0", 'cut-off "5.0" is listed twice in "5,5.0"'),
        ("IPrec@1.5", "IPrec takes a number from 0 to 1 as the level of recall; found 1.5"),
        ("P(relevance=1)@5", 'P has no parameter "relevance"; it takes rel'),
        ("P(cutoff=1)@5", '"P(cutoff=1)@5": the cut-off is given twice'),
        ("SetP(cutoff=1)", 'SetP has no parameter "cutoff"; it takes rel'),
        ("set_F.1,2", '"set_F.1,2": set_F takes 1 of beta; found 2'),
        ("rbp.p=0.8,1=0.5", 'RBP takes share or binary or linear as gain; found "{1:0.5}"'),
        (
            "AP(judged_only=True)",
            '"AP(judged_only=True)": judged_only is an option for all measures here; write --unjudged drop, or '
            'unjudged="drop" in Python',
        ),
        ("P(self=1)@5", 'P has no parameter "self"; it takes rel'),
        ("muAP(rel=1)", 'muAP has no parameter "rel"; it takes none'),
        ("P(rel=high)@5", 'P takes positive or a number as rel; found "high"'),
        ("P(rel=nan)@5", 'P takes positive or a number as rel; found "nan"'),
        ("P(rel=1e999)@5", 'P takes positive or a number as rel; found "1e999"'),
        ("nDCG(gain=cubic)", f'nDCG takes {GAINS} as gain; found "cubic"'),
        ("nDCG(gain=2)", f'nDCG takes {GAINS} as gain; found "2"'),
        ("nDCG(gain={})", f'nDCG takes {GAINS} as gain; found "{{nan: nan}}"'),
        ("nDCG(gain={1:2,1:3})", f'nDCG takes {GAINS} as gain; found "{{1: 2, 1: 3}}"'),
        ("nDCG(gain={1:-2})", f'nDCG takes {GAINS} as gain; found "{{1: -2}}"'),
        ("nDCG(gain=exp,gains={1:2})", 'parameter "gain" is given twice'),
        ("P(rel=1)@5-l2", 'parameter "rel" is given twice'),
        ("muAP-l2", 'muAP has no parameter "rel"; it takes none'),
        ("relative_P(denominator=R)@5", RELATIVE),
        ("rbp(gain=share).95", 'parameter "gain" is given twice'),
        (
            "ndcg_cut.1=3,2=5",
            '"ndcg_cut.1=3,2=5": ndcg_cut takes cut-offs, not gains; write both as in nDCG(gain={1:3,2:5})@10',
        ),
        (
            "recall",
            '"recall" means different measures in different tools; write\n'
            "  R@5,10,15,20,30,100,200,500,1000 for that of trec_eval\n  R for that of ranx",
        ),
        ("map_cut.1=3", 'AP has no parameter "gain"; it takes denominator, rel'),
        ("runid", '"runid" is the tag of a run, not a measure'),
        (
            "rbp.x",
            'no measure is called "rbp.x"; the closest names are RBP, NRBP, nNRBP, Rp, RBO; '
            "`scorer measures` lists all",
        ),
        ("RBP(p=1)", 'RBP takes a number from 0 to 0.9999 as p; found "1"'),
        ("F(beta=0)@5", 'F takes a number from 0.001 to 1000 as beta; found "0"'),
        ("F1(beta=2)@5", '"F1(beta=2)@5": F1 sets beta already; write F'),
        ("P(2)@5", '"2" is not of the form parameter=value'),
        ("P(rel=1,REL=2)@5", 'parameter "rel" is given twice'),
        ("P(rel=1@5", '"P(rel=1@5" is not of the form Name(parameter=value)@k'),
        ("P@5(rel=1)", 'cut-offs are numbers, as in P@5,10; found "5(rel=1)"'),
        (
            "ndgc@10",
            'no measure is called "ndgc"; the closest names are nDCG, alpha-nDCG, Rndcg, NDCNG; '
            "`scorer measures` lists all",
        ),
        (
            "precison@5",
            'no measure is called "precison"; the closest names are P, Rprec, SetP, AP; `scorer measures` lists all',
        ),
        ("", 'no measure is called ""; `scorer measures` lists all'),
        ("\x1b[31m@5", 'no measure is called "\\u001b[31m"; `scorer measures` lists all'),
    ],
)
def test_an_invalid_name_is_refused_with_what_is_allowed(text: str, message: str) -> None:
    """The message says what was found and what is allowed."""
    with pytest.raises(MeasureError) as refusal:
        parse(text)

    assert str(refusal.value) == message


def test_cutoffs_of_a_track_are_checked_too() -> None:
    """The same rules hold for cut-offs from settings."""
    with pytest.raises(MeasureError, match="MARp takes a cut-off only once; found 5,5"):
        parse("MARp", (5, 5))


def test_parse_one_refuses_several_measures() -> None:
    """The message lists their names."""
    assert str(parse_one("P@5")) == "P@5"
    with pytest.raises(MeasureError, match=r'"P@5,10" names 2 measures \(P@5, P@10\); expected one'):
        parse_one("P@5,10")


def test_a_measure_error_is_a_scorer_error_and_a_value_error() -> None:
    """A caller may catch either."""
    assert issubclass(MeasureError, ScorerError)
    assert issubclass(MeasureError, ValueError)


# --- Declared ---------------------------------------------------------------------------------------------------------


def test_the_list_of_kinds_is_complete() -> None:
    """Every kind that a family declares is listed once."""
    families = [import_module(f"scorer.measures.{each.name}") for each in iter_modules(scorer.measures.__path__)]
    declared = {value for family in families for value in vars(family).values() if isinstance(value, Kind)}

    assert set(KINDS) == declared
    assert len(KINDS) == len(declared)


@every_kind
def test_a_kind_explains_itself(kind: Kind) -> None:
    """It has all texts of help and pages, without characters that a page must escape."""
    assert kind.title
    assert kind.summary.endswith(".")
    assert ("Undefined where" in kind.edge_cases) is not ("Defined for every query" in kind.edge_cases)
    assert kind.formula.startswith((f"{kind.name} ", f"{kind.name}@")) or "with gain" in kind.formula
    assert kind.source
    assert kind.usage.startswith(kind.name)
    words = [kind.title, kind.summary, kind.edge_cases, kind.formula, kind.source]
    words += [parameter.about.description for parameter in kind.parameters]
    assert not set("<>&") & set("".join(words))


@every_kind
def test_parameters_are_those_of_the_function(kind: Kind) -> None:
    """Names, order and defaults are those of the signature, and each default is allowed."""
    keywords = inspect.getfullargspec(kind.function).kwonlydefaults or {}

    assert {each.name: each.default for each in kind.parameters} == keywords
    assert all(each.value(each.default) == each.default for each in kind.parameters)


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("MARp", "MARp@z1,z2,..."),
        ("Rp", "Rp@z"),
        ("P", "P@k"),
        ("AP", "AP[@k]"),
        ("IPrec", "IPrec@recall"),
        ("SetP", "SetP"),
    ],
)
def test_usage_shows_where_a_cutoff_goes(name: str, usage: str) -> None:
    """An optional cut-off is in brackets."""
    assert registry.kind(name).usage == usage


def test_a_measure_can_be_made_without_text() -> None:
    """From Python, a kind takes its cut-off and parameters as values."""
    measure = registry.kind("AP").measure(2, {"rel": 2})

    assert str(measure) == "AP(rel=2)@2"
    seen = matched({"q": {"a": 2.0, "b": 1.0}}, {"q": ["b", "a"]})
    np.testing.assert_array_equal(measure(seen), [0.5])
    with pytest.raises(MeasureError, match="AP takes one cut-off; found 2"):
        registry.kind("AP").measure((1, 2))
