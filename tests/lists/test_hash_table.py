"""Keys and texts are looked up in tables as in a dict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.lists import ranked_lists
from scorer.lists.ranked_lists import ABSENT, indices_of
from scorer.lists.reading import arrow
from scorer.lists.reading.arrow import coded, texts
from tests import strategies
from tests.hostile.colliding import colliding_ids

KEYS = st.integers(0, 40) | st.integers(0, 2**64 - 1)


@strategies.examples(100)
@given(st.lists(KEYS, max_size=60), st.lists(KEYS, max_size=60))
def test_indices_are_those_of_a_dict(keys: list[int], wanted: list[int]) -> None:
    """The index of each wanted key, ABSENT if it is not among the keys; None where keys repeat."""
    index = {key: at for at, key in enumerate(keys)}

    found = indices_of(np.array(wanted, dtype=np.uint64), np.array(keys, dtype=np.uint64))

    if len(index) < len(keys):
        assert found is None
    else:
        assert found is not None
        assert found.tolist() == [index.get(key, ABSENT) for key in wanted]


def test_a_repetition_among_many_keys_is_found() -> None:
    """Also if other keys with the same hash hide both of its places in the first table."""
    rng = np.random.default_rng(7)
    keys = rng.permutation(100_000).astype(np.uint64)
    assert indices_of(keys[:10], keys) is not None

    for at in rng.integers(1, keys.size, 20):
        repeated = keys.copy()
        repeated[at] = repeated[0]
        assert indices_of(keys[:10], repeated) is None


def test_keys_that_collide_too_often_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can choose ids so that a lookup takes long; the ids are compared instead, with the same scores."""
    solution, run = {"q": {"a": 2, "b": 1}}, [("q", item, 9.0 - at) for at, item in enumerate("cadbe")]
    before = scorer.evaluate(solution, run, ["AP", "nDCG"])
    monkeypatch.setattr(ranked_lists, "MOST_ROUNDS", 0)

    assert indices_of(np.zeros(0, dtype=np.uint64), np.arange(3, dtype=np.uint64)) is None
    assert scorer.evaluate(solution, run, ["AP", "nDCG"]) == before


@pytest.mark.parametrize("rounds", [30, 1, 0])
@strategies.examples(60)
@given(
    st.lists(st.lists(st.sampled_from([*colliding_ids(9), "", "é", "q", "q\0"]) | st.text(max_size=12), max_size=40))
)
def test_texts_are_numbered_as_in_a_dict(rounds: int, parts: list[list[str]]) -> None:
    """In order of first appearance, also where they are sorted because too many collide."""
    parts = [[text.encode("utf-8", "replace").decode() for text in part] for part in parts]
    listed = [text for part in parts for text in part]
    number = {text: at for at, text in enumerate(dict.fromkeys(listed))}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow, "MOST_ROUNDS", rounds)
        code, distinct = coded(map(texts, parts))

    assert code.tolist() == [number[text] for text in listed]
    assert distinct.to_pylist() == [*number]


def test_texts_with_one_fingerprint_stay_different(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes decide."""
    listed = [*colliding_ids(50), *reversed(colliding_ids(50)), "a"]
    monkeypatch.setattr(arrow, "fingerprints", lambda values: np.zeros(len(values), dtype=np.uint64))

    code, distinct = coded([texts(listed)])

    assert code.tolist() == [*range(50), *reversed(range(50)), 50]
    assert distinct.to_pylist() == [*colliding_ids(50), "a"]
