"""A batch whose SQLite database fails in the middle: stored results remain, and the next run scores the rest."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from scorer.errors import StoreError
from scorer.organising.run import carry_out, plan
from scorer.scoring.executors import GoOn, always
from scorer.scoring.executors.base import Executor, FileOutcome, FileToScore, Processes, Scoring, Serial
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Challenge
from scorer.store.store import Store
from tests.commands import Terminal
from tests.databases import rows
from tests.scoring.test_executors import write_challenge


@dataclass(frozen=True)
class Interrupted:
    """Scores files, and calls `what` when half of them are done."""

    executor: Executor
    what: Callable[[], object]

    def results(
        self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always
    ) -> Generator[tuple[int, FileOutcome], None, None]:
        for number, result in enumerate(self.executor.results(scoring, files, go_on)):
            if number == len(files) // 2:
                self.what()
            yield result


@pytest.fixture(autouse=True)
def store_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result is stored before the next is computed."""
    monkeypatch.setattr("scorer.organising.watch.STORE_EVERY", -1.0)


def batch(folder: Path) -> Challenge:
    """Six submissions."""
    write_challenge(folder)
    return read_challenge(folder)


@pytest.mark.parametrize("executor", [Serial(), Processes(2)], ids=["serial", "processes"])
def test_a_database_locked_for_too_long_ends_the_batch(tmp_path: Path, terminal: Terminal, executor: Executor) -> None:
    """With an error; stored results remain, and the next run scores the rest."""
    challenge = batch(tmp_path)
    neighbour = sqlite3.connect(tmp_path / "scores.db", isolation_level=None)
    with Store.open(challenge.database_address, wait=0.2) as store:
        work = plan(store, challenge, challenge.tracks[0])
        lock = Interrupted(executor, lambda: neighbour.execute("BEGIN IMMEDIATE"))
        with pytest.raises(StoreError, match="is in use: another process did not finish"):
            list(carry_out(store, work, lock))
    neighbour.execute("ROLLBACK")
    neighbour.close()

    assert rows(str(tmp_path / "scores.db"), "SELECT count(*) FROM result") == [(3,)]
    answer = terminal.run("run", tmp_path)
    assert (answer.code, answer.err) == (0, "main: 3 scored, 3 known, 0 rejected\n")


def test_a_disk_that_fills_up_ends_the_batch(small_disk: Path, terminal: Terminal) -> None:
    """With an error; stored results remain, and the database is not damaged."""
    challenge = batch(small_disk)
    filler = small_disk / "filler"

    def fill() -> None:
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(512))
            except OSError:
                pass

    with Store.open(challenge.database_address) as store:
        work = plan(store, challenge, challenge.tracks[0])
        with pytest.raises(StoreError, match="disk is full"):
            list(carry_out(store, work, Interrupted(Serial(), fill)))

    stored = rows(str(small_disk / "scores.db"), "SELECT count(*) FROM result")[0][0]
    assert stored == 3
    answer = terminal.run("run", small_disk)
    assert answer.code == 1
    assert "disk is full" in answer.err
    filler.unlink()
    assert rows(str(small_disk / "scores.db"), "PRAGMA integrity_check") == [("ok",)]
    answer = terminal.run("run", small_disk)
    assert (answer.code, answer.err) == (0, "main: 3 scored, 3 known, 0 rejected\n")
