"""scorer doctor and scorer status: what they find, and what they say to do."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from scorer.organising.doctor import status
from tests.commands import Terminal
from tests.databases import changed
from tests.live_challenges import BEFORE, Live, day
from tests.organising.test_import import send, write_challenge


@pytest.fixture
def folder(tmp_path: Path, terminal: Terminal) -> Path:
    """A challenge with two teams that has been run."""
    write_challenge(tmp_path)
    assert terminal.run("run", tmp_path).code == 0
    return tmp_path


def database(folder: Path) -> str:
    """Its database."""
    return str(folder / "scores.db")


def test_files_that_are_missing_or_changed_are_found(folder: Path, terminal: Terminal) -> None:
    """After a sound database, in which each check has a line; each is named, with what to do."""
    answer = terminal.run("doctor", folder)

    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("ok ") for line in lines)

    (stored,) = (folder / "scores.db.solutions").iterdir()
    stored.write_text("other")
    assert f"replace it by the solution with the SHA-256 {stored.name}" in terminal.run("doctor", folder).err
    stored.unlink()
    assert "copy the solution with this SHA-256 there" in terminal.run("doctor", folder).err

    first, second = sorted((folder / "submissions" / "main").iterdir())
    first.unlink()
    second.write_text("q1:i1\n")

    answer = terminal.run("doctor", folder)

    assert answer.code == 1
    assert f"main/{first.name}: is recorded and missing; restore it" in answer.err
    assert f"main/{second.name}: has changed since it was recorded" in answer.err


@pytest.mark.parametrize(
    ("statement", "check", "problem"),
    [
        ('DELETE FROM event WHERE "index" = 2', "record", "is damaged: event 2 is missing; restore a backup"),
        (
            "UPDATE event SET body = replace(body, 'amber', 'x') WHERE kind = 'arrival'",
            "record",
            "event 1 has the wrong checksum; it cannot be derived again; restore a backup",
        ),
        ("UPDATE result SET hits = substr(hits, 1, 12)", "results", "has the wrong checksum; it can be derived again"),
        ("UPDATE result SET matching_digest = 'x'", "results", "the result"),
        ("UPDATE solution SET ideal = substr(ideal, 1, 9)", "results", "the solution"),
    ],
)
def test_damage_is_found(folder: Path, terminal: Terminal, statement: str, check: str, problem: str) -> None:
    """The check that failed is named, with what was found, and the exit code is 1."""
    changed(database(folder), statement)

    answer = terminal.run("doctor", folder)

    assert answer.code == 1
    assert [line for line in answer.out.splitlines() if line.startswith("problem") and check in line]
    assert problem in answer.err


def test_status_shows_the_state_of_a_challenge(folder: Path, terminal: Terminal) -> None:
    """Entries, waiting and rejected ones, new files, the last run and the last render, and what to do, in ten lines."""
    send(folder, "cedar")
    (folder / "submissions" / "main" / "20110418T100000Z-birch.txt").write_text("q1;x\n")
    assert terminal.run("score", folder).code == 1
    send(folder, "delta")

    answer = terminal.run("status", folder)

    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert len(lines) <= 10
    assert lines[0] == "challenge: Arrivals"
    assert lines[2].startswith("site: rendered 20")
    assert lines[3] == "main: 3 entries of 3 teams: 2 scored, 1 rejected, 0 failed, 0 waiting; 1 new file in the folder"
    assert lines[4].startswith("main: last run 20")


def test_status_advises_a_run_before_and_after_a_close(tmp_path: Path) -> None:
    """From a day before the close until a run has followed it; the run after it shows what the phase has hidden."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    after = "next: `scorer run`: the phase two of main has closed since the last run"

    def advised(at: datetime) -> list[str]:
        return [line for line in live.do(at, status) if line.startswith("next: `scorer run`")]

    live.run(day(28))
    assert advised(day(28, 23)) == []
    assert len(advised(day(29, 0))) == len(advised(day(29, 23))) == 1
    assert advised(day(30, 0)) == [after]
    live.run(day(30, 0))
    assert advised(day(30, 0)) == []
