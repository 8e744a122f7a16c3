"""Combinations of measures: their names, their scores query by query, and where they are allowed."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.errors import MeasureError
from scorer.measures import Measure, parse, parse_one, registry
from scorer.measures.kinds import combination
from tests.boards import board_of, challenge
from tests.measures.test_measures import ALL_VARIANTS, differing, oracle_scores, scores_of
from tests.pages import pages, read
from tests.strategies import Divided, Solution, Submission, divided_solutions, examples, matched, measures, solutions
from tests.strategies import submissions as all_submissions

AVERAGED = [measure for measure in ALL_VARIANTS if measure.kind.aggregation == "mean"]
WEIGHTS = st.sampled_from([1.0, 0.1, 0.9, -0.5, 2.0, 1e-7, 1e20, 1 / 3])
TERMS = st.lists(st.tuples(WEIGHTS, st.sampled_from(AVERAGED)), min_size=1, max_size=4).map(tuple)
ANY_TERMS = st.lists(
    st.tuples(WEIGHTS, measures().filter(lambda measure: measure.kind.aggregation == "mean")), min_size=1, max_size=4
).map(tuple)


@examples(100)
@given(terms=TERMS, solution=solutions() | divided_solutions(), submission=all_submissions())
def test_a_combination_is_the_sum_query_by_query(
    terms: tuple[tuple[float, Measure], ...], solution: Solution | Divided, submission: Submission
) -> None:
    """Each score is the weighted sum of the oracles' scores, undefined where one of them is."""
    of_parts = [oracle_scores(part, solution, submission) for _, part in terms]
    expected = [
        sum(weight * score for (weight, _), score in zip(terms, of, strict=True)) for of in zip(*of_parts, strict=True)
    ]
    scores = scores_of([combination(terms)], matched(solution, submission))
    scale = max(1.0, *(abs(weight) for weight, _ in terms), float(np.nanmax(np.abs(of_parts), initial=1.0)))

    assert not differing([combination(terms)], scores / scale, np.array([expected]) / scale)


@examples(50)
@given(terms=ANY_TERMS)
def test_its_name_is_read_as_the_combination(terms: tuple[tuple[float, Measure], ...]) -> None:
    """The canonical and the full name mean it, in the library and in lists; so does a copy from another process."""
    combined = combination(terms)

    assert parse_one(str(combined)) == parse_one(combined.full) == combined
    assert pickle.loads(pickle.dumps(combined)) == combined
    assert registry.listed(f"AP,{combined}") == ["AP", str(combined)]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0.1*RR+0.9*AP", "0.1*RR+0.9*AP"),
        (" .5 * map + 0.50*ndcg_cut_10 ", "0.5*AP+0.5*nDCG@10"),
        ("AP+1*RR", "AP+RR"),
        ("2*P(rel=2)@5+-1e-1*R@5", "2*P(rel=2)@5+-0.1*R@5"),
        ("0.5*MARp@5,10+0.5*AP", "0.5*MARp@5,10+0.5*AP"),
    ],
)
def test_spellings(text: str, canonical: str) -> None:
    """Spaces, names of other tools and forms of numbers do not matter."""
    assert str(parse_one(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0*AP", '"0\\*AP" in "0\\*AP" is no weight and measure'),
        ("x*AP+RR", '"x\\*AP" in "x\\*AP\\+RR" is no weight and measure; expected a number other than 0'),
        ("0.1*RR+0.9*", '"0.9\\*" in .* is no weight'),
        ("0.5*AP*2", "is no weight and measure"),
        ("0.1*RR+0.9*Foo", 'no measure is called "Foo"'),
        ("0.1*P@5,10", '"P@5,10" names 2 measures'),
        ("0.1*GMAP+AP", "GMAP is not a mean over queries"),
        ("NumRet+AP", "NumRet is not a mean over queries"),
    ],
)
def test_what_is_no_combination_is_refused(text: str, message: str) -> None:
    """The message says which part is wrong."""
    with pytest.raises(MeasureError, match=message):
        parse(text)


def test_bounds_and_thresholds_follow_from_the_parts() -> None:
    """A weighted mean of measures from 0 to 1 is from 0 to 1; the threshold for all measures reaches the parts."""
    assert parse_one("0.1*RR+0.9*AP").bounded
    assert not parse_one("RR+AP").bounded
    assert not parse_one("0.5*RR+-0.5*AP").bounded
    assert not parse_one("0.5*DCG@5+0.5*AP").bounded
    assert str(parse_one("0.5*RR+0.5*P(rel=3)@5").at_threshold(2)) == "0.5*RR(rel=2)+0.5*P(rel=3)@5"
    with pytest.raises(MeasureError, match="no formula is known"):
        parse_one("0.5*AP+0.5*infAP").need_closed_form(cut=True)


def test_the_library_takes_combinations() -> None:
    """By hand: RR is 1/2 and AP is (1/2 + 2/3) / 2."""
    scores = scorer.evaluate({"q": {"a": 1, "b": 1, "c": 0}}, {"q": ["c", "a", "b"]}, ["0.1*RR+0.9*AP", "RR"])

    assert scores["0.1*RR+0.9*AP"] == pytest.approx(0.1 * 0.5 + 0.9 * (1 / 2 + 2 / 3) / 2)
    assert list(scores) == ["0.1*RR+0.9*AP", "RR"]


def test_a_track_can_be_ranked_by_a_combination() -> None:
    """The page of measures explains the combination and its measures, and the board has its column."""
    declared = challenge(Path("nowhere"), primary="0.25*RR+0.75*nDCG@10", measures=["AP"])
    site = pages(declared, [board_of(track) for track in declared.tracks])

    words = read(site["measures.html"]).words()
    assert "The sum of 0.25 times RR and 0.75 times nDCG@10." in words
    assert "Reciprocal rank" in words
    assert "0.25*RR+0.75*nDCG@10" in read(site[f"{declared.tracks[0].name}/index.html"]).words()
