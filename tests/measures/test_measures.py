"""The measures: properties that hold for all of them, and the values in their sources."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.measures import KINDS, Cutoff, Kind, Measure, Parameter, ParameterValue, parse_one
from scorer.measures.graded import Whisker, relevance_curves
from scorer.measures.matched import Floats, JudgedItems, Matched
from tests import oracles
from tests.oracles import OF_THE_WHOLE_SOLUTION, ORACLES
from tests.strategies import (
    ITEMS,
    JUNK,
    QUERIES,
    Divided,
    Solution,
    Submission,
    divided_solutions,
    examples,
    matched,
    measures,
    solutions,
    submissions,
    undivided,
)

CUTOFFS: dict[str, tuple[Cutoff, ...]] = {
    "none": (None,),
    "optional": (None, 1, 3, 10),
    "required": (1, 3, 10),
    "list": ((3,), (1, 2, 5, 20)),
    "level": (0.0, 0.1, 0.5, 1.0),
    "multiple": (0.2, 1.0, 2.5),
}

PERFECT_BELOW_ONE = {
    "P": "is divided by k, also for fewer relevant items",
    "F": "contains P",
    "DCG": "is not normalised",
    "ERR": "the user is never certain to stop",
    "RBP": "the list ends before the user does",
    "BPM": "the user reads on until the total gain is reached",
    "INST": "the list ends before the user does",
    "INSQ": "the list ends before the user does",
    "SDCG": "is divided by k best items, also for fewer items",
    "NERR8": "the user is not certain to stop",
    "NERR9": "the user is not certain to stop",
    "NERR10": "the user is not certain to stop",
    "NERR11": "the user is not certain to stop",
    "alpha-DCG": "is divided by the sum for k items",
    "ERR-IA": "is divided by the sum for k items",
    "NRBP": "the list ends before the user does",
    "P-IA": "is divided by k, also for fewer relevant items",
    "infAP": "is an estimate with an epsilon",
    "NumRet": "is a count",
    "NumRel": "is a count",
    "NumRelRet": "is a count",
    "RprecMult": "is divided by more ranks than there are relevant items",
    "G": "counts a rank of the ideal list at least 1",
    "Hits": "is a count",
}
PERFECT_BELOW_ONE_WITH_CUTOFF = {
    "R": "k ranks cannot hold more than k items",
    "AP": "is divided by all relevant items",
    "Rprec": "is divided by all relevant items",
    "GMAP": "is made of AP",
    "muAP": "is made of AP",
}
OTHER_FORMULAS = {
    "k": "is divided by more ranks than there are relevant items",
    "full": "there are fewer best items than ranks",
    "no": "is not normalised",
}
NOT_THE_HIGHEST_FOR_THE_BEST = {
    "Utility": "may reward items that are not relevant",
    "Unjudged": "counts unjudged items",
    "RBPresidual": "counts unjudged items",
    "NumNonrelJudgedRet": "counts items that are not relevant",
    "Rndcg": "has gains below its threshold, too",
    "NumRet": "counts items that are not relevant too",
    "Judged": "counts items that are not relevant too, and is 0 for an empty list",
}
DEFINED_EVERYWHERE = (
    *("Judged", "Unjudged", "RBPresidual", "Utility"),
    *("NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelJudgedRet"),
)

BELOW_ZERO = ("Utility",)
"""Measures whose scores may be negative."""

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
lists = examples(30)
over_all_variants = examples(15)


def values_tried(parameter: Parameter) -> tuple[ParameterValue, ...]:
    """All words that a parameter takes, two numbers if it takes numbers, and a map of gains if it takes one."""
    least, most = parameter.about.least, parameter.about.most
    numbers = (max(0.5, least), max(min(2.0, most), least)) if parameter.numeric else ()
    maps = (((0.3, 5.0), (1.0, 0.5), (2.0, 3.0)),) if parameter.mapped else ()
    return (*parameter.words, *numbers, *maps)


MOST_COMBINATIONS = 12


def combinations(kind: Kind) -> Iterator[tuple[ParameterValue, ...]]:
    """All combinations of the parameters' values, or a selection of them if they are many."""
    every = list(product(*map(values_tried, kind.parameters)))
    usual = [parameter.default for parameter in kind.parameters]
    for number, values in enumerate(every):
        unusual = sum(value != default for value, default in zip(values, usual, strict=True))
        if len(every) <= MOST_COMBINATIONS or unusual <= 1 or number % 7 == 0:
            yield values


def variants(kind: Kind) -> Iterator[Measure]:
    """The kind at some cut-offs, with combinations of its parameters."""
    names = [parameter.name for parameter in kind.parameters]
    for cutoff in CUTOFFS[kind.cutoff]:
        for values in combinations(kind):
            yield kind.measure(cutoff, dict(zip(names, values, strict=True)))


ALL_VARIANTS = [measure for kind in KINDS for measure in variants(kind)]
PROPORTIONAL = ("level", "multiple")
"""Cut-offs that depend on the number of relevant items."""

AT_CUTOFF = {
    k: [each for each in ALL_VARIANTS if each.cutoff in (k, (k,)) and each.kind.cutoff not in PROPORTIONAL]
    for k in (1, 3, 10)
}


def parameters_of(measure: Measure) -> dict[str, ParameterValue]:
    """The parameters by name."""
    return dict(zip((each.name for each in measure.kind.parameters), measure.parameters, strict=True))


def scores_of(measures: Sequence[Measure], seen: Matched) -> Floats:
    """[measure, query]"""
    return np.array([measure(seen) for measure in measures])


def differing(measures: Sequence[Measure], actual: Floats, expected: Floats) -> list[str]:
    """The measures whose scores differ from the expected scores by more than rounding."""
    same = np.isclose(actual, expected, rtol=1e-12, atol=1e-12, equal_nan=True)
    return [str(measure) for measure, row in zip(measures, same, strict=True) if not row.all()]


def oracle_scores(
    measure: Measure, solution: Solution | Divided, submission: Submission, **more: object
) -> list[float]:
    """The oracle's score of each query."""
    oracle = ORACLES[measure.kind.name]
    if not measure.kind.subtopics:
        solution = undivided(solution)
    if measure.kind.name in OF_THE_WHOLE_SOLUTION:
        more["highest_of_all"] = max(
            (grade for grades in undivided(solution).values() for grade in grades.values()), default=0
        )
    return [
        oracle(grades, submission.get(query, []), measure.cutoff, **parameters_of(measure), **more)
        for query, grades in solution.items()
    ]


def score(name: str, grades: Mapping[str, float], ranking: Sequence[str], *, listed_is_relevant: bool = False) -> float:
    """The score of one list."""
    return float(parse_one(name)(matched({"q": grades}, {"q": ranking}, listed_is_relevant=listed_is_relevant)).item())


def graded_list(*grades: float) -> tuple[dict[str, float], list[str]]:
    """Items with these grades, and their list in this order."""
    names = [f"item {rank}" for rank in range(1, len(grades) + 1)]
    return dict(zip(names, grades, strict=True)), names


# --- Rules of all measures --------------------------------------------------------------------------------------------


def test_every_kind_has_its_oracle() -> None:
    """Every measure has an oracle, and every oracle a measure."""
    assert sorted(ORACLES) == sorted(kind.name for kind in KINDS)


@every_kind
@lists
@given(solution=solutions() | divided_solutions(), submission=submissions())
def test_a_measure_equals_its_oracle(kind: Kind, solution: Solution | Divided, submission: Submission) -> None:
    """Every variant equals the loop over its definition, also where it is undefined, with and without subtopics."""
    measures = list(variants(kind))
    expected = np.array([oracle_scores(measure, solution, submission) for measure in measures])

    assert not differing(measures, scores_of(measures, matched(solution, submission)), expected)


GAIN_MAPS: tuple[ParameterValue, ...] = (
    *(((0.0, 1.0), (1.0, 4.0)), ((0.0, 5.0),), ((-1.0, 2.0), (1.0, 4.0)), ((-1.0, 2.0), (0.0, 1.0))),
    ((-1.0, 0.0), (2.0, 0.0)),
)
"""With gains for grades that are not positive."""


def at_any_grade(parameter: Parameter) -> st.SearchStrategy[ParameterValue]:
    """The values of a parameter that distinguish positive grades, 0, negative ones and unjudged items."""
    numbers = [-2.0, -1.0, 0.0, 0.3, 1.0, 5.0, parameter.about.least, parameter.about.most] if parameter.numeric else []
    allowed = [
        each for each in numbers if parameter.about.least <= each <= parameter.about.most and math.isfinite(each)
    ]
    return st.sampled_from([*parameter.words, *allowed, *(GAIN_MAPS * 3 if parameter.mapped else ())])


@every_kind
@lists
@given(solution=solutions((-2.0, -1.0, -1.0, -0.5, 0.0, 0.0, 0.3, 1.0, 2.0)), submission=submissions(), drawn=st.data())
def test_grades_that_are_not_positive(
    kind: Kind, solution: Solution, submission: Submission, drawn: st.DataObject
) -> None:
    """An item of grade 0, one of a negative grade and one that is not judged differ as the definition says.

    That is so with every threshold and gain map, also with those for such grades.
    """
    values = {each.name: drawn.draw(at_any_grade(each), label=each.name) for each in kind.parameters}
    measures = [kind.measure(cutoff, values) for cutoff in CUTOFFS[kind.cutoff]]
    expected = np.array([oracle_scores(measure, solution, submission) for measure in measures])

    assert not differing(measures, scores_of(measures, matched(solution, submission)), expected)


@pytest.mark.parametrize(
    ("name", "ranking", "expected"),
    [
        ("nDCG(gain={0:1,1:4})", "ba", 4 / math.log2(3) / (4 + 1 / math.log2(3))),  # 0.5450
        ("nDCG(gain={0:1,1:4})", "ca", (1 + 4 / math.log2(3)) / (4 + 1 / math.log2(3))),
        ("nDCG(gain={0:1,1:4})", "xa", 4 / math.log2(3) / (4 + 1 / math.log2(3))),
        ("nDCG(gain={-1:2,1:4})", "ba", (2 + 4 / math.log2(3)) / (4 + 2 / math.log2(3))),
        ("DCG(gain={0:1,1:4})", "bca", 1 / math.log2(3) + 2),
        ("G(gain={0:1,1:4})", "ba", 4 / math.log2(2 + 4 + 1 - 4) / 5),
        ("RBP(p=0.5,rel=0)", "bca", 0.25 + 0.125),
        ("RBP(p=0.5,rel=-1)", "bca", 0.5 + 0.25 + 0.125),
    ],
)
def test_a_negative_grade_is_not_grade_0(name: str, ranking: str, expected: float) -> None:
    """In a solution with a positive grade, grade 0 and a negative grade; x is not judged."""
    assert score(name, {"a": 1, "b": -1, "c": 0}, [*ranking]) == pytest.approx(expected, rel=1e-14)


def test_a_query_without_a_positive_grade_is_undefined_at_any_threshold() -> None:
    """As the pages of DCG and nDCG say, also with gains for other grades."""
    for name in ("nDCG(rel=0)", "nDCG(rel=-1)@5", "DCG(rel=0)", "nDCG(gain={0:1})", "nDCGrel(gain={0:1})"):
        assert math.isnan(score(name, {"a": 0, "b": -1}, ["a", "b"])), name


@lists
@given(solution=solutions(), submission=submissions())
def test_all_listed_items_can_be_relevant(solution: Solution, submission: Submission) -> None:
    """In a solution in VL.NET's format, items with a grade of 0 or less count for Rp and MARp too."""
    measures = [measure for measure in ALL_VARIANTS if measure.kind.name in ("MARp", "Rp")]
    expected = np.array([oracle_scores(measure, solution, submission, listed_is_relevant=True) for measure in measures])

    assert not differing(
        measures, scores_of(measures, matched(solution, submission, listed_is_relevant=True)), expected
    )


@over_all_variants
@given(solution=solutions(), submission=submissions())
def test_there_is_one_score_in_bounds_for_each_query(solution: Solution, submission: Submission) -> None:
    """Defined scores are at least 0, but for a utility, and at most 1 if the measure is bounded."""
    seen = matched(solution, submission)

    for measure in ALL_VARIANTS:
        scores = measure(seen)
        assert scores.dtype == np.float64
        assert scores.shape == (len(solution),)
        assert measure.kind.name in BELOW_ZERO or not (scores < 0).any(), str(measure)
        assert not measure.bounded or not (scores > 1 + 1e-12).any(), str(measure)


def perfect(solution: Solution, least: float) -> Matched:
    """Lists of all items with a positive grade of at least `least`, by descending grade."""
    return matched(
        solution,
        {
            query: [item for item in oracles.best_first(grades) if grades[item] > 0 and grades[item] >= least]
            for query, grades in solution.items()
        },
    )


@over_all_variants
@given(solution=solutions(), submission=submissions())
def test_no_list_scores_higher_than_a_perfect_list(solution: Solution, submission: Submission) -> None:
    """A list of all relevant items by descending grade scores 1, or at least as much as any other list."""
    seen = matched(solution, submission)
    best_lists = {rel: perfect(solution, least) for rel, least in (("positive", 0.0), (0.5, 0.5), (2.0, 2.0))}

    best = np.array([measure(best_lists[measure.threshold]) for measure in COMPARABLE])
    one = np.where(np.isnan(best), np.nan, 1.0)
    reaching = np.array([not below_one(measure) for measure in COMPARABLE])

    assert not (scores_of(COMPARABLE, seen) > best + 1e-12).any()
    assert not differing(COMPARABLE, best, np.where(reaching[:, np.newaxis], one, best))


def below_one(measure: Measure) -> bool:
    """Whether a perfect list may score less than 1."""
    cut = measure.cutoff is not None and measure.kind.name in PERFECT_BELOW_ONE_WITH_CUTOFF
    other = bool(set(OTHER_FORMULAS) & {value for value in measure.parameters if isinstance(value, str)})
    full = "denominator" in parameters_of(measure) and parameters_of(measure)["denominator"] in ("min", "hits")
    return (cut and not full) or other or measure.kind.name in PERFECT_BELOW_ONE


def is_comparable(measure: Measure) -> bool:
    """Whether no list scores higher than a perfect list."""
    values = parameters_of(measure)
    by_map = isinstance(values.get("gain"), tuple)
    longer_is_worse = values.get("ideal") == "full" and measure.cutoff is None
    other = values.get("denominator") == "hits" or by_map or longer_is_worse
    return measure.kind.name not in NOT_THE_HIGHEST_FOR_THE_BEST and not other


COMPARABLE = [measure for measure in ALL_VARIANTS if is_comparable(measure)]


@over_all_variants
@given(solution=solutions(), submission=submissions(), queries=st.permutations(QUERIES), items=st.permutations(ITEMS))
def test_order_and_names_of_queries_and_items_do_not_matter(
    solution: Solution, submission: Submission, queries: list[str], items: list[str]
) -> None:
    """Reordered and renamed queries and items of the solution change no score."""
    renamed = dict(zip(ITEMS, items, strict=True))
    indexes = [list(solution).index(query) for query in queries if query in solution]
    before = matched(solution, submission)
    after = matched(
        {
            query: {renamed[item]: solution[query][item] for item in ITEMS if item in solution[query]}
            for query in queries
            if query in solution
        },
        {query: [renamed.get(item, item) for item in ranking] for query, ranking in submission.items()},
    )

    expected = scores_of(ALL_VARIANTS, before)[:, indexes]
    assert not differing(ALL_VARIANTS, scores_of(ALL_VARIANTS, after), expected)


@over_all_variants
@given(solution=solutions(), submission=submissions(), tail=st.lists(st.sampled_from(ITEMS + JUNK), max_size=5))
def test_items_after_the_cutoff_change_no_score(solution: Solution, submission: Submission, tail: list[str]) -> None:
    """A list with more items after rank k scores the same as a list that ends at rank k."""
    for k in (1, 3, 10):
        filled = {query: [*submission.get(query, []), *"-" * k][:k] for query in solution}
        longer = {query: [*ranking, *tail] for query, ranking in filled.items()}
        # With ideal=retrieved, the ideal list has all items of the list.
        measures = [each for each in AT_CUTOFF[k] if "retrieved" not in each.parameters]

        expected = scores_of(measures, matched(solution, filled))
        assert not differing(measures, scores_of(measures, matched(solution, longer)), expected)


RAISED_BY_UNJUDGED_ITEMS = {
    "RBO": "supposes that the list goes on to agree as far as it is known, which unjudged items change",
    "Accuracy": "is the share of pairs of a relevant and another item that are in order",
    "MeanNDCG": "is a mean over the ranks of the list",
    "MeanNDCNG": "is a mean over the ranks of the list",
    "Rndcg": "also has the nDCG of the whole list, if it is long enough",
    "NumRet": "counts the items of the list",
    "Unjudged": "counts unjudged items",
    "RBPresidual": "counts unjudged items",
}
"""By definition."""


def is_raised_by_unjudged_items(measure: Measure) -> bool:
    """Whether unjudged items at the end of a list may raise a score, by the definition of the measure."""
    values = parameters_of(measure)
    of_lists = values.get("depth") == "list"
    rewarded = measure.kind.name == "Utility" and (float(str(values["other"])) > 0 or float(str(values["rest"])) < 0)
    at_cutoff = measure.cutoff is not None and measure.kind.name in ("MeanNDCG", "MeanNDCNG")
    return (measure.kind.name in RAISED_BY_UNJUDGED_ITEMS and not at_cutoff) or of_lists or rewarded


def with_tail(solution: Solution, submission: Submission, *tail: str) -> Submission:
    """The lists of all queries, each with these items at its end."""
    return {query: [*submission.get(query, []), *tail] for query in solution}


@over_all_variants
@given(solution=solutions(), submission=submissions(), tail=st.lists(st.sampled_from("-+*/"), min_size=1, unique=True))
def test_unjudged_items_at_the_end_never_raise_a_score(
    solution: Solution, submission: Submission, tail: list[str]
) -> None:
    """So nobody gains by a longer list of items that nobody judged, except where the definition says so."""
    measures = [measure for measure in ALL_VARIANTS if not is_raised_by_unjudged_items(measure)]

    before = scores_of(measures, matched(solution, submission))
    after = scores_of(measures, matched(solution, with_tail(solution, submission, *tail)))
    assert not [str(measure) for measure, higher in zip(measures, after > before + 1e-12, strict=True) if higher.any()]


@pytest.mark.parametrize(
    ("name", "grades", "ranking"),
    [
        ("RBO", {"a": 1, "b": 1, "c": 2}, "a"),
        ("Compat(depth=list)", {"a": 1}, "xa"),
        ("Accuracy", {"a": 1}, "xa"),
        ("MeanNDCG", {"a": 1}, "xa"),
        ("MeanNDCNG", {"a": 1}, "xa"),
        ("Rndcg", {"a": 1}, "xa"),
        ("NumRet", {"a": 1}, "a"),
        ("Unjudged@3", {"a": 1}, "a"),
        ("RBPresidual", {"a": 1}, "a"),
        ("Utility(other=1)", {"a": 1}, "a"),
    ],
)
def test_which_scores_unjudged_items_at_the_end_raise(name: str, grades: dict[str, float], ranking: str) -> None:
    """Each exception is one."""
    assert is_raised_by_unjudged_items(parse_one(name))
    assert score(name, grades, [*ranking, "-"]) > score(name, grades, [*ranking])


@over_all_variants
@given(solution=solutions(), submission=submissions())
def test_unjudged_items_at_the_end_change_only_the_length(solution: Solution, submission: Submission) -> None:
    """Unjudged items at the end change only scores that depend on the length of the list."""
    knowing = (
        *("SetP", "SetF", "SetAP", "MeanNDCG", "MeanNDCNG", "RBO", "Judged", "NumRet", "Accuracy"),
        *("Rndcg", "Utility", "Unjudged", "RBPresidual"),
    )
    by_length = {"min", "k", "full", "list"}  # with these, a score without a cut-off depends on the length
    measures = [
        measure
        for measure in ALL_VARIANTS
        if measure.kind.name not in knowing
        and not by_length & {value for value in measure.parameters if isinstance(value, str)}
    ]

    expected = scores_of(measures, matched(solution, submission))
    longer = matched(solution, with_tail(solution, submission, "x", "y"))
    assert not differing(measures, scores_of(measures, longer), expected)


@every_kind
def test_a_query_without_relevant_items_is_undefined_and_a_missing_list_scores_zero(kind: Kind) -> None:
    """NaN marks only queries that the solution leaves undefined."""
    solution = {"none": {}, "judged": {"a": 0.0, "b": -2.0}, "some": {"a": 3.0, "b": 2.0}}

    for measure in variants(kind):
        scores = measure(matched(solution, {"none": ["a"], "judged": ["a", "b"]}))
        if kind.name in DEFINED_EVERYWHERE:
            assert not np.isnan(scores).any()
            continue
        np.testing.assert_array_equal(scores, [np.nan, np.nan, 0.0], err_msg=str(measure))


@pytest.mark.parametrize("grades", [{"a": 3.0, "b": 2.0}, {"a": 3.0, "b": 0.0}, {"a": {"1": 2.0, "2": 1.0}}])
def test_a_scored_list_is_freed_at_once(grades: Mapping[str, Any]) -> None:
    """It is in no cycle, so that a batch takes the memory of one list also while Python searches for no garbage."""
    solutions_in_use = []
    gc.collect()
    gc.disable()
    try:
        for measure in ALL_VARIANTS:
            seen = matched({"q": grades}, {"q": ["a", "b"]})
            solutions_in_use.append(seen.ideal)
            measure(seen)
        del seen
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found = [each for each in gc.garbage if isinstance(each, JudgedItems)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()

    assert not found


@every_kind
def test_a_solution_without_queries_has_no_scores(kind: Kind) -> None:
    """The array of scores is empty."""
    for measure in variants(kind):
        assert measure(matched({}, {})).shape == (0,)


@every_kind
@pytest.mark.parametrize("grades", [(1e308, 9e307, 5.0, 1.0), (5000.0, 4999.0, 3.0, 2.0), (4e-320, 2e-320, 1e-320)])
def test_grades_of_any_size_give_finite_scores(kind: Kind, grades: tuple[float, ...]) -> None:
    """No bounded score overflows or underflows, and numpy does not warn."""
    solution, best_list = graded_list(*grades)
    seen = matched({"best": solution, "worst": solution}, {"best": best_list, "worst": best_list[::-1]})

    for measure in variants(kind):
        scores = measure(seen)
        if measure.bounded and measure in COMPARABLE and not np.isnan(scores).all():
            best, worst = scores
            assert 0 <= worst <= best <= 1 + 1e-12, str(measure)


def test_a_gain_above_the_largest_number_is_undefined() -> None:
    """DCG is undefined if the sum of the best list exceeds the floating-point numbers; nDCG is defined."""
    solution, ranking = graded_list(1024.0, 1.0)

    assert math.isnan(score("DCG(gain=exp)", solution, ranking))
    assert math.isnan(score("DCG(gain=exp)", solution, ranking[1:]))
    assert score("nDCG(gain=exp)", solution, ranking) == 1.0


@given(
    measures(), solutions((-1e308, -1.0, 0.0, 1.0, 2.0, 1000.0, 1023.0, 5000.0, 1e308)), submissions(), submissions()
)
def test_which_queries_are_undefined_depends_on_the_solution_only(
    measure: Measure, solution: Solution, one: Submission, other: Submission
) -> None:
    """With grades of any size, no score is infinite, and a submission does not change which scores are undefined."""
    first, second = measure(matched(solution, one)), measure(matched(solution, other))

    assert not np.isinf(first).any()
    assert np.isnan(first).tolist() == np.isnan(second).tolist()


@given(measures(), solutions((-1e308, 0.0, 1.0, 1023.0, 5000.0, 1e308)), submissions())
def test_no_score_exceeds_the_highest(measure: Measure, solution: Solution, submission: Submission) -> None:
    """The highest score is at least that of any list."""
    seen = matched(solution, submission)
    highest = measure.highest(seen)

    if highest is not None:
        scores = measure(seen)
        assert (scores <= highest)[~np.isnan(scores)].all()


# --- The values of the sources ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relevant", "name", "expected"),
    [
        (2, "P@5", 0.4),
        (2, "SetP", 0.4),
        (20, "R", 0.1),
        (20, "R@5", 0.1),
        (20, "F@5", 0.16),
        (20, "SetF", 0.16),
        (5, "Rprec", 0.4),
        (2, "AP", 0.75),
        (5, "AP", 0.3),
        (20, "AP", 0.075),
        (5, "RR", 1),
        (5, "IPrec@0.0", 1),
        (5, "IPrec@0.4", 0.4 + 0.1),
        (5, "IPrec@0.5", 0),
    ],
)
def test_binary_measures_of_the_slides(relevant: int, name: str, expected: float) -> None:
    """The list 1, 0, 0, 1, 0 where the solution has `relevant` relevant items."""
    solution, ranking = graded_list(1, 0, 0, 1, 0)
    missed = {f"missed {number}": 1.0 for number in range(relevant - 2)}

    assert score(name, solution | missed, ranking) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("DCG(discount=jk)", 3.5),
        ("nDCG(discount=jk,ideal=retrieved)", 0.7),
        ("DCG", 3.292030),
        ("nDCG(ideal=retrieved)", 0.772440),
        ("DCG(gain=exp)", 6.014736),
        ("nDCG(gain=exp,ideal=retrieved)", 0.676361),
    ],
)
def test_gain_measures_of_the_slides(name: str, expected: float) -> None:
    """The list 2, 0, 0, 3, 0 with the three formulas that are called DCG."""
    assert score(name, *graded_list(2, 0, 0, 3, 0)) == pytest.approx(expected, abs=5e-7)


SCHEEL = graded_list(1, 0, 3, 3, 2, 0, 1, 4)


@pytest.mark.parametrize(("threshold", "expected"), [(4, 0.125), (3, 0.402778), (2, 0.483333), (1, 0.780159), (0, 1.0)])
def test_scheel_table_1(threshold: int, expected: float) -> None:
    """Average precision of one list at each grade as the threshold; at 0, all judged items are relevant."""
    assert score(f"AP(rel={threshold})", *SCHEEL) == pytest.approx(expected, abs=5e-7)


def test_scheel_multi_graded_average_precision() -> None:
    """The mean over the thresholds 1 to 4. AP with a threshold above all grades is undefined."""
    assert score("muAP", *SCHEEL) == pytest.approx(0.447817, abs=5e-7)
    assert math.isnan(score("AP(rel=5)", *SCHEEL))


@pytest.mark.parametrize(
    ("name", "factor", "scores", "mean"),
    [
        (
            "nDCG(gain=exp)",
            1,
            [0.066667, 0.051503, 0.196365, 0.310417, 0.352720, 0.347685, 0.361044, 0.550690],
            0.279636,
        ),
        (
            "nDCG(gain=exp)",
            2,
            [0.011765, 0.010178, 0.105748, 0.185245, 0.201981, 0.201337, 0.204323, 0.444497],
            0.170634,
        ),
        ("NDCNG", 1, [0.189207, 0.132298, 0.299314, 0.422547, 0.486479, 0.470792, 0.500968, 0.651905], 0.394189),
        ("NDCNG", 2, [0.189207, 0.132298, 0.299314, 0.422547, 0.486479, 0.470792, 0.500968, 0.651905], 0.394189),
    ],
)
def test_scheel_table_2(name: str, factor: float, scores: list[float], mean: float) -> None:
    """Doubled grades lower nDCG and do not change NDCNG."""
    grades, ranking = SCHEEL
    scaled = {item: factor * grade for item, grade in grades.items()}
    mean_name = {"NDCNG": "MeanNDCNG"}.get(name, "MeanNDCG")

    assert [score(f"{name}@{k}", scaled, ranking) for k in range(1, 9)] == pytest.approx(scores, abs=5.1e-7)
    assert score(mean_name, scaled, ranking) == pytest.approx(mean, abs=5e-7)
    assert score(f"{mean_name}@8", scaled, ranking) == pytest.approx(mean, abs=5e-7)


def test_weights_of_uneven_levels() -> None:
    """For the grades 0.0, 0.3 and 1.0, the threshold 0.3 has the weight 0.3, and the threshold 1.0 has 0.7."""
    solution, ranking = graded_list(0.0, 0.3, 1.0)
    low, high = score("AP(rel=0.3)", solution, ranking), score("AP(rel=1)", solution, ranking)

    assert score("muAP", solution, ranking) == pytest.approx(0.3 * low + 0.7 * high, rel=1e-14)


def curve(grades: Sequence[float], whisker: Whisker = "observed") -> Floats:
    """phi of each of the grades."""
    solution, ranking = graded_list(*grades)
    seen = matched({"q": solution}, {"q": ranking})
    return relevance_curves(seen, whisker)(seen.found)


def test_phi_without_outliers() -> None:
    """For the grades 1 to 10, phi is 0 up to the median and then rises to 1."""
    expected = [0, 0, 0, 0, 0, 0.018381, 0.151852, 0.384088, 0.678875, 1]

    np.testing.assert_allclose(curve(range(1, 11)), expected, atol=5e-7)


def test_phi_with_an_outlier() -> None:
    """For the grades 1 to 10 and 40, the outlier lowers phi of the whisker at 10."""
    expected = [0, 0, 0, 0, 0, 0, 0.028677, 0.095704, 0.172570, 0.230769, 1]

    np.testing.assert_allclose(curve([*range(1, 11), 40]), expected, atol=5e-7)


POSITIVE = st.floats(1e-3, 1e6) | st.integers(1, 6).map(float) | st.integers(1, 1000).map(float)


@pytest.mark.parametrize("whisker", ["observed", "fence"])
@examples(60)
@given(queries=st.lists(st.lists(POSITIVE, max_size=14), min_size=1, max_size=4))
def test_phi_equals_scipys_interpolation(whisker: Whisker, queries: list[list[float]]) -> None:
    """The curves of all queries, computed at once, equal those of PchipInterpolator."""
    solution = {str(number): graded_list(*grades)[0] for number, grades in enumerate(queries)}
    seen = matched(solution, {query: list(grades) for query, grades in solution.items()})
    curves = relevance_curves(seen, whisker)
    expected: list[float] = []
    for grades in queries:
        phi = oracles.relevance(grades, whisker)
        expected += [0.0] * len(grades) if phi is None else map(phi, grades)

    np.testing.assert_allclose(curves(seen.found), expected, rtol=1e-9, atol=1e-9)
    assert curves.defined.tolist() == [oracles.relevance(grades, whisker) is not None for grades in queries]


NTCIR = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 2.0, "e": 1.0, "f": 0.0}


@pytest.mark.parametrize(
    ("gain", "q", "q_at_3", "with_beta_10", "p_plus", "nerr_at_3", "nerr"),
    [
        ("linear", 0.4857142857, 0.3095238095, 0.4916363399, 0.5595238095, 0.35, 0.4391173343),
        ("exp", 0.4608585859, 0.2361111111, 0.4643261434, 0.4953703704, 0.2351254480, 0.3698218574),
        ("binary", 0.5166666667, 0.3888888889, 0.5377192982, 0.6388888889, None, None),
        ("{1:2,2:3,3:10}", 0.4536168705, 0.2116959064, 0.4548555036, 0.4844231792, None, None),
    ],
)
def test_measures_of_ntcireval(
    gain: str,
    q: float,
    q_at_3: float,
    with_beta_10: float,
    p_plus: float,
    nerr_at_3: float | None,
    nerr: float | None,
) -> None:
    """The outputs of NTCIREVAL's formulas for the list x, b, c, a, y, f, d, with the gains -g 1:2:3 and so on."""
    names = [f"Q(gain={gain})", f"Q(gain={gain})@3", f"Q(beta=10,gain={gain})", f"P+(gain={gain})"]
    expected = [q, q_at_3, with_beta_10, p_plus]
    if nerr is not None and nerr_at_3 is not None:
        names += [f"nERR(gain={gain})@3", f"nERR(gain={gain})"]
        expected += [nerr_at_3, nerr]

    assert [score(name, NTCIR, [*"xbcayfd"]) for name in names] == pytest.approx(expected, abs=5e-11)


def test_q_without_gains_is_average_precision() -> None:
    """With beta = 0 the blended ratio is the precision."""
    assert score("Q(beta=0)", NTCIR, [*"xbcayfd"]) == pytest.approx(score("AP", NTCIR, [*"xbcayfd"]), rel=1e-14)
    capped = score("AP(denominator=min)@3", NTCIR, [*"xbcayfd"])
    assert score("Q(beta=0)@3", NTCIR, [*"xbcayfd"]) == pytest.approx(capped, rel=1e-14)


@pytest.mark.parametrize(("k", "expected"), [(1, 0.0), (2, 1 / 5), (4, 3 / 5), (5, 3 / 5), (9, 3 / 5)])
def test_r_precision_with_a_cutoff(k: int, expected: float) -> None:
    """The hits up to rank min(R, k), divided by R, as recommenders has it."""
    assert score(f"Rprec@{k}", NTCIR, [*"xbcayfd"]) == expected


@pytest.mark.parametrize(("day", "expected"), [((100, 80, 90, 15, 10), 0.969360), ((100, 20, 90, 15, 10), 0.935004)])
def test_moniz_table_1(day: tuple[float, ...], expected: float) -> None:
    """A swap of items costs more if their grades differ more."""
    assert score("nDCGphi@5", *graded_list(*day)) == pytest.approx(expected, abs=5e-7)


# --- Precision --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["MeanNDCG", "MeanNDCNG", "MeanNDCG@500", "muAP", "nDCG", "nDCGphi"])
def test_long_lists_keep_their_precision(name: str) -> None:
    """Cumulative sums over hundreds of ranks agree with the loop over the ranks."""
    solution, ranking = graded_list(*[float(number * 7919 % 23 - 5) for number in range(300)])
    measure = parse_one(name)

    assert score(name, solution, ranking) == pytest.approx(
        oracle_scores(measure, {"q": solution}, {"q": ranking})[0], rel=1e-12
    )
