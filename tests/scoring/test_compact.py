"""Packing: every measure of the registry comes out of the packed bytes as it came out of the submission."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.measures import Measure
from scorer.scoring.outcomes import DamagedError, pack_hits, pack_ideal, unpack_hits, unpack_ideal
from tests import strategies


@strategies.examples(200)
@given(
    strategies.solutions() | strategies.divided_solutions(),
    strategies.submissions(),
    strategies.measures(),
    st.booleans(),
)
def test_measures_come_out_to_the_last_bit(
    solution: strategies.Solution | strategies.Divided,
    submission: strategies.Submission,
    measure: Measure,
    all_right: bool,
) -> None:
    """Ties, subtopics, grades of 0 and below, queries without items, lists that are short, empty or missing."""
    matched = strategies.matched(solution, submission, listed_is_relevant=all_right)
    ideal = unpack_ideal(pack_ideal(matched.ideal, matched.queries))

    again = unpack_hits(pack_hits(matched), ideal)

    assert again.queries == matched.queries
    for before, after in ((matched.ideal, ideal), (matched.found, again.found)):
        for name in ("query", "rank", "grade", "tie_rank"):
            np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
    assert measure(again).tobytes() == measure(matched).tobytes()


def test_it_is_small() -> None:
    """A submission of the size of VL.NET's takes some ten bytes a query, however many measures."""
    random = np.random.default_rng(1)
    solution = {
        f"q{n}": {f"i{m}": float(random.geometric(0.4)) for m in range(random.geometric(0.12))} for n in range(500)
    }
    submission = {query: [f"i{m}" for m in random.permutation(60)[:30]] for query in solution}
    matched = strategies.matched(solution, submission)

    assert len(matched.found) > 500
    assert len(pack_hits(matched)) < 10 * 500


@pytest.mark.parametrize(
    "damage", [b"", b"1234", b"1234no zlib", pack_ideal(strategies.matched({"q": {"a": 1}}, {}).ideal, 1)[:-3]]
)
def test_damaged_bytes_are_recognised(damage: bytes) -> None:
    """They are a fault of the database, not of the program."""
    with pytest.raises(DamagedError):
        unpack_ideal(damage)
