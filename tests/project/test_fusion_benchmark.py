"""The benchmark of fusion: its runs can be fused, and a difference between fused runs is noticed."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest

import scorer
from benchmarks.fusion import CANDIDATES, same, write_run

pytestmark = pytest.mark.ci


def test_generated_runs_share_most_of_their_items(tmp_path: Path) -> None:
    """A run depends on its number only; two of them list no more items than there are candidates."""
    for number, name in ((0, "a"), (1, "b"), (0, "again")):
        write_run(2, number, tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "again").read_bytes()
    fused = scorer.fuse([tmp_path / "a", tmp_path / "b"])
    lengths = pc.value_counts(fused["query"]).field("counts").to_pylist()
    assert len(lengths) == 2
    assert all(1000 < length <= CANDIDATES for length in lengths)


def test_a_different_score_is_noticed(tmp_path: Path) -> None:
    """The order of tied items does not matter; the last list, which may be cut, is left out."""
    lines = ["1 Q0 a 1 0.5 x", "1 Q0 b 2 0.5 x", "2 Q0 a 1 1 x"]
    files = {"one": lines, "ties": [lines[1], lines[0], lines[2]], "other": ["1 Q0 a 1 0.6 x", *lines[1:]]}
    for name, text in files.items():
        (tmp_path / name).write_text("\n".join(text), encoding="ascii")

    assert same(tmp_path / "one", tmp_path / "ties")
    assert not same(tmp_path / "one", tmp_path / "other")
