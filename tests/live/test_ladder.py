"""The Ladder: against a reference in exact arithmetic, and the properties that make probing useless."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.live.ladder import Ladder
from tests.oracles import ladder_fixed
from tests.strategies import examples

Entries = Sequence[Sequence[Fraction]]
"""The scores of each entry, for each query."""

STEPS = tuple(map(Fraction, ("0.01", "0.02", "0.05", "0.1", "0.15", "0.25", "0.3", "0.5")))

SCORES = tuple(sorted({Fraction(part, whole) for whole in range(1, 7) for part in range(whole + 1)}))
"""Scores of short lists. Means of thirds and fifths are not exact as floats, and many are equal to a threshold."""


@st.composite
def entries(draw: st.DrawFn) -> Entries:
    """Entries of one team, of 2 to 12 queries; many are an earlier one with another score for one or two queries."""
    count = draw(st.integers(2, 12))
    scores = st.sampled_from(SCORES) if draw(st.booleans()) else st.sampled_from((Fraction(0), Fraction(1)))
    made = [draw(st.lists(scores, min_size=count, max_size=count))]
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            made.append(draw(st.lists(scores, min_size=count, max_size=count)))
        else:
            changed = list(draw(st.sampled_from(made)))
            for query in draw(st.lists(st.integers(0, count - 1), max_size=2)):
                changed[query] = draw(scores)
            made.append(changed)
    return made


def losses(made: Entries) -> list[list[Fraction]]:
    """Return the losses of the entries."""
    return [[1 - score for score in scores] for scores in made]


def released(ladder: Ladder, made: Entries) -> list[float | None]:
    """Return the score that each entry releases."""
    return [ladder.look(np.array(scores, dtype=float)) for scores in made]


def scores_of(shown: Sequence[Fraction | None]) -> list[object]:
    """Return losses of the reference as scores; none is below 0."""
    return [None if loss is None else pytest.approx(max(0.0, float(1 - loss)), abs=1e-12) for loss in shown]


def right(count: int, of: int) -> list[Fraction]:
    """Return the scores of an entry that is right for some queries."""
    return [Fraction(1)] * count + [Fraction(0)] * (of - count)


@examples(300)
@given(made=entries(), step=st.sampled_from(STEPS))
def test_the_ladder_equals_the_definition(made: Entries, step: Fraction) -> None:
    """It releases the same scores for the same entries as the definition in exact arithmetic."""
    assert released(Ladder(float(step)), made) == scores_of(ladder_fixed(losses(made), step))


@examples(100)
@given(made=entries())
def test_the_reference_takes_floats_for_simple_fractions(made: Entries) -> None:
    """Losses that are floats give the same as the fractions that they are nearest to."""
    exact = losses(made)
    assert ladder_fixed([[float(loss) for loss in entry] for entry in exact], 0.1) == ladder_fixed(exact, 0.1)


@examples(100)
@given(made=entries())
def test_what_is_released_only_improves(made: Entries) -> None:
    """The first entry is released, each further score that is released is higher, and the loss never increases."""
    ladder = Ladder(0.1)
    shown, after = [], []
    for scores in made:
        shown.append(ladder.look(np.array(scores, dtype=float)))
        after.append(ladder.loss)

    assert shown[0] is not None
    improved = [score for score in shown if score is not None]
    assert improved == sorted(set(improved))
    assert after == sorted(after, reverse=True)
    assert len(set(after)) == len(improved)


@examples(100)
@given(made=entries())
def test_the_same_entry_again_changes_nothing(made: Entries) -> None:
    """Every entry sent twice releases nothing the second time, and the others release the same."""
    twice = released(Ladder(0.1), [scores for scores in made for _ in range(2)])

    assert twice[1::2] == [None] * len(made)
    assert twice[::2] == released(Ladder(0.1), made)


def test_an_improvement_by_exactly_one_step_is_not_released() -> None:
    """Of 100 queries one more is a step of 0.01, also where the difference of the floats is larger."""
    for count in range(98):
        shown = released(Ladder(0.01), [right(count + more, 100) for more in range(3)])

        assert shown == [pytest.approx(count / 100), None, pytest.approx((count + 2) / 100)]


def test_a_step_that_does_not_divide_1_shows_no_negative_score() -> None:
    """A loss of 1 is rounded to 7 steps of 0.15, which is 1.05."""
    assert released(Ladder(0.15), [right(0, 10), right(3, 10)]) == [0.0, pytest.approx(0.25)]
