"""What is kept of a ranking for the next one changes no bit, in whichever order submissions come and go."""

from __future__ import annotations

import inspect
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scorer.board import statistics
from scorer.measures.matched import Floats, Ints
from scorer.organising import render
from scorer.scoring.analysis import kept
from scorer.scoring.analysis.kept import Arrays, Kept
from scorer.scoring.analysis.scores import TaskScores
from scorer.scoring.statistics.all_pairs import AllPairs, Change
from scorer.scoring.statistics.resampling import Sums
from scorer.store.sidecar import KEPT_STATISTICS, Sidecar
from tests.commands import here
from tests.databases import changed
from tests.live_challenges import START, stop_clock
from tests.paths import tree
from tests.seeded_challenge import write_challenge
from tests.strategies import examples

RESAMPLES = 40

VALUES = st.sampled_from([0.0, 0.1, 0.2, 1 / 3, 0.5, 1.0])


@pytest.fixture(autouse=True, scope="module")
def few_at_once() -> Iterator[None]:
    """Arrays are computed in parts, also of small rankings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "_COMPUTED_AT_ONCE", 2)
        yield


class Forgetful(Arrays):
    """Arrays of which every seventh is gone when it is read."""

    reads = 0

    def load(self, key: str) -> Floats | None:
        """Return the array of a key; None if it is absent or gone."""
        self.reads += 1
        return None if self.reads % 7 == 0 else super().load(key)


def analysed(scores: Floats, rows: Ints, ranked: Ints, kept: Kept | None, flips: int) -> TaskScores:
    """The analysis of some rows of a table."""
    own = scores[rows]
    return TaskScores(own, np.nanmean(own, axis=1), ranked, flips, RESAMPLES, kept=kept)


def assert_equal(found: TaskScores, wanted: TaskScores) -> None:
    """Fail if a number has other bits."""
    first, second = np.triu_indices(len(wanted.scores), 1)
    assert np.array_equal(found.resampled, wanted.resampled, equal_nan=True)
    assert np.array_equal(found.p_values(first, second), wanted.p_values(first, second), equal_nan=True)
    assert np.array_equal(found.tests.of_each, wanted.tests.of_each)
    for name in ("statistic", "reached", "size", "simultaneous", "marginal", "queries"):
        assert np.array_equal(getattr(found.tests, name), getattr(wanted.tests, name)), name
    assert found.tests.critical == wanted.tests.critical
    for ours, other in zip(found.differences(first, second), wanted.differences(first, second), strict=True):
        assert np.array_equal(ours, other, equal_nan=True)


@st.composite
def seasons(draw: st.DrawFn) -> tuple[Floats, list[tuple[Ints, Ints, Ints]]]:
    """Scores of submissions, [submission, query], some of them equal or with a missing score; and rankings one after
    the other: the submissions, the positions of those with a rank, and the queries that count.
    """
    count, queries = draw(st.integers(8, 14)), draw(st.integers(2, 9))
    scores = draw(arrays(np.float64, (count, queries), elements=VALUES))
    scores[-1] = scores[0]
    if draw(st.booleans()):
        scores[1, 0] = np.nan
    present = set(draw(st.sets(st.integers(0, count - 1), min_size=5)))
    every = np.arange(queries)
    rankings = []
    for _ in range(draw(st.integers(2, 6))):
        present ^= draw(st.sets(st.integers(0, count - 1), max_size=2))
        present |= {0} if len(present) < 2 else set()
        rows = np.array(draw(st.permutations(sorted(present))), dtype=np.int64)
        ranked = np.flatnonzero(draw(arrays(np.bool_, len(rows), elements=st.sampled_from([True, True, True, False]))))
        rankings.append((rows, ranked, draw(st.sampled_from([every, every, every[1:]]))))
    return scores, rankings


NOBODY = (np.arange(3), np.array([], dtype=np.int64), np.arange(2))
"""A ranking without a team that has a rank."""


@given(
    seasons(),
    st.sampled_from([Arrays, Forgetful]),
    st.sampled_from([19, 10_000, 10_050]),
)
@example((np.zeros((8, 2)), [NOBODY, NOBODY]), Arrays, 19)
@examples(60)
def test_changed_rankings_equal_those_that_are_computed_from_nothing(
    season: tuple[Floats, list[tuple[Ints, Ints, Ints]]], arrays_of: type[Arrays], flips: int
) -> None:
    """To the last bit: submissions that are added, replaced, withdrawn, excluded or equal, other queries, missing
    scores, and arrays that are gone.
    """
    scores, rankings = season
    stored = arrays_of()
    for rows, ranked, queries in rankings:
        kept = Kept(stored, (queries.tolist(),), tuple(map(str, rows.tolist())))
        shown = scores[:, queries]
        if not np.isnan(shown[rows]).all(axis=1).any():
            assert_equal(analysed(shown, rows, ranked, kept, flips), analysed(shown, rows, ranked, None, flips))


@st.composite
def changes(draw: st.DrawFn) -> tuple[Floats, Ints, Ints]:
    """Scores of submissions, [submission, query], and those of two rankings: some stay, come or go, in any order."""
    scores = draw(arrays(np.float64, (9, draw(st.integers(1, 9))), elements=VALUES))
    before, after = (draw(st.lists(st.integers(0, 8), min_size=2, unique=True)) for _ in range(2))
    return scores, np.array(before), np.array(after)


@given(changes())
@examples(200)
def test_the_largest_statistics_follow_a_change(change: tuple[Floats, Ints, Ints]) -> None:
    """To the last bit."""
    scores, before, after = change
    sums = Sums.of(scores, 50).flipped
    turned = Change.of(list(map(str, after)), list(map(str, before)))
    wanted = AllPairs.of(scores[after], sums[after])
    kept = AllPairs.of(scores[before], sums[before])
    found = kept.changed(turned, sums[before][turned.gone], scores[after], sums[after])

    assert np.array_equal(found.of_each, wanted.of_each)
    assert np.array_equal(found.size, wanted.size)


# A challenge


@pytest.fixture(autouse=True, scope="module")
def computed_here() -> Iterator[None]:
    """Statistics are computed in each test, not once by all of them; all runs are at one time."""
    with pytest.MonkeyPatch.context() as patch:
        stop_clock(patch, datetime.now(UTC))
        patch.setattr(statistics, "_computed", inspect.unwrap(statistics._computed))
        patch.setattr(render, "_computed_analysis", inspect.unwrap(render._computed_analysis))
        yield


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, computed_here: None) -> Path:
    """A challenge after a run."""
    folder = tmp_path_factory.mktemp("original") / "challenge"
    write_challenge(folder)
    assert here("run", folder).code == 0
    return folder


@pytest.fixture(scope="module")
def with_a_new_team(original: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Its site after a team arrived, from nothing."""
    folder = tmp_path_factory.mktemp("added")
    shutil.copytree(original, folder / "challenge")
    add(folder / "challenge")
    assert here("run", folder / "challenge").code == 0
    return from_nothing(folder / "challenge", folder / "copy")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy of the challenge."""
    return shutil.copytree(original, tmp_path / "challenge")


def site_of(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of the site but its manifest."""
    return tree(folder / "site", "[!.]*")


def from_nothing(folder: Path, copy: Path) -> dict[str, bytes]:
    """The site of a copy of a challenge without anything that is kept."""
    shutil.copytree(folder, copy)
    shutil.rmtree(copy / f"scores.db{KEPT_STATISTICS}", ignore_errors=True)
    changed(str(copy / "scores.db"), "DELETE FROM cached")
    assert here("render", copy).code == 0
    return site_of(copy)


def submission(folder: Path, team: str) -> Path:
    """The file of a team."""
    (path,) = (folder / "submissions" / "main").glob(f"*{team}.txt")
    return path


def add(folder: Path) -> None:
    """A new team arrives."""
    lines = submission(folder, "amber-lamp").read_text().splitlines()
    turned = [f"{query}:{','.join(reversed(items.split(',')))}" for query, items in (line.split(":") for line in lines)]
    file = folder / "submissions" / "main" / "fern-hill.txt"
    file.write_text("\n".join(turned) + "\n")
    os.utime(file, (START.timestamp(),) * 2)


def replace_one(folder: Path) -> None:
    """A team replaces its file."""
    submission(folder, "copper-wire").write_bytes(submission(folder, "birch-gate").read_bytes())


def withdraw(folder: Path) -> None:
    """A team removes its file."""
    submission(folder, "delta-fen").unlink()


def edit(before: str, after: str) -> Callable[[Path], None]:
    """The organiser changes the settings."""

    def step(folder: Path) -> None:
        settings = folder / "challenge.toml"
        text = settings.read_text()
        assert before in text
        settings.write_text(text.replace(before, after))

    return step


def decide(*command: str) -> Callable[[Path], None]:
    """The organiser decides about a team."""

    def step(folder: Path) -> None:
        assert here("teams", *command, "-C", folder, "--reason", "They asked for it.").code == 0

    return step


def correct(folder: Path) -> None:
    """The organiser corrects the grades of a query."""
    solution = folder / "solutions" / "main.txt"
    solution.write_text(solution.read_text().replace("|3", "|2", 4))


STEPS = {
    "add": add,
    "replace": replace_one,
    "withdraw": withdraw,
    "exclude": decide("disqualify", "even-tide"),
    "merge": decide("merge", "birch-gate", "amber-lamp"),
    "other queries": edit('stage = "final"', 'stage = "preliminary"'),
    "more statistics": edit("decimals = 3", 'decimals = 3\nstatistics = "all"'),
    "another measure": edit('"nDCG@10", ', '"nDCG@5", "Rprec", '),
    "erratum": correct,
}


def test_a_board_after_any_change_equals_one_from_nothing(folder: Path, tmp_path: Path) -> None:
    """Every file of the site, after each step."""
    for number, (name, step) in enumerate(STEPS.items()):
        step(folder)
        answer = here("run", folder)
        assert answer.code == 0, (name, answer.err)
        found, wanted = site_of(folder), from_nothing(folder, tmp_path / f"copy-{number}")
        assert found.keys() == wanted.keys()
        assert [path for path in found if found[path] != wanted[path]] == [], name


def test_the_sidecar_has_what_the_present_board_needs(folder: Path) -> None:
    """What is no longer used is deleted, also the parts that a killed process left; a render keeps the others."""
    kept = folder / f"scores.db{KEPT_STATISTICS}"
    before = {path.name for path in kept.iterdir()}
    here("render", folder)  # which computes nothing, because all statistics are cached
    assert {path.name for path in kept.iterdir()} == before
    (kept / "0123.99.part").write_bytes(b"half")
    withdraw(folder)
    here("run", folder)
    withdrawn = {path.name for path in kept.iterdir()}
    add(folder)
    here("run", folder)
    added = {path.name for path in kept.iterdir()}

    # Of each row means and sums, and of a team the moves; eight tables; the largest statistics; and the resamples.
    assert len(before) == 6 * 2 + 5 + 8 + 1 + 1
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept.iterdir())
    assert withdrawn < before
    assert len(added - withdrawn) == 3


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda stored: stored[:0], id="empty"),
        pytest.param(lambda stored: stored[:20], id="short", marks=pytest.mark.endurance),
        pytest.param(lambda stored: stored[:-8], id="cut", marks=pytest.mark.endurance),
        pytest.param(lambda stored: stored[:-1], id="cut within a number"),
        pytest.param(lambda stored: stored[:50] + bytes([stored[50] ^ 1]) + stored[51:], id="another bit"),
        pytest.param(lambda stored: b"\0" * len(stored), id="zeros", marks=pytest.mark.endurance),
    ],
)
def test_a_damaged_sidecar_changes_nothing(
    damage: Callable[[bytes], bytes], folder: Path, with_a_new_team: dict[str, bytes]
) -> None:
    """Each file is damaged; the site is that of an undamaged one."""
    add(folder)
    for path in (folder / f"scores.db{KEPT_STATISTICS}").iterdir():
        path.write_bytes(damage(path.read_bytes()))

    answer = here("run", folder)

    assert (answer.code, answer.err) == (0, "main: 1 scored, 6 known, 0 rejected\n")
    assert site_of(folder) == with_a_new_team


def test_a_foreign_sidecar_changes_nothing(folder: Path, with_a_new_team: dict[str, bytes], tmp_path: Path) -> None:
    """The files of another challenge, of another key, and a file in place of the folder."""
    add(folder)
    kept = folder / f"scores.db{KEPT_STATISTICS}"
    names = sorted(path.name for path in kept.iterdir())
    contents = [(kept / name).read_bytes() for name in names]
    for name, content in zip(names, contents[1:] + contents[:1], strict=True):
        (kept / name).write_bytes(content)
    assert here("run", folder).code == 0
    assert site_of(folder) == with_a_new_team

    shutil.rmtree(kept)
    kept.write_text("no folder")
    withdraw(folder)
    answer = here("run", folder)
    assert (answer.code, answer.err) == (0, "main: 0 scored, 6 known, 0 rejected\n")
    with suppress(FileNotFoundError):
        kept.unlink()
    assert site_of(folder) == from_nothing(folder, tmp_path / "other")


def test_a_sidecar_returns_what_it_stored(tmp_path: Path) -> None:
    """Under its key only."""
    sidecar = Sidecar(tmp_path / f"scores.db{KEPT_STATISTICS}")
    assert sidecar.load("a") is None
    sidecar.save("a", np.arange(3.0))
    sidecar.save("b", np.zeros(0))
    found, empty = sidecar.load("a"), sidecar.load("b")
    assert found is not None
    assert found.tolist() == [0, 1, 2]
    assert not found.flags.writeable
    assert empty is not None
    assert empty.size == 0
