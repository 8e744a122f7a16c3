"""Live commands that are ended by kill -9: repeated, they leave the record and the site of an undisturbed twin.

The clock of all commands shows the same time, and the databases of the twins have the same salt. So their sites are the
same to the last byte, with the log and its heads.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.commands import Answer, process
from tests.databases import content, rows
from tests.organising.test_kill import STORING_EACH, copied, in_a_group, kill, moments, write_submission
from tests.paths import tree

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")

KILLS = 10
"""How often each command is killed."""

QUERIES = 400

SETTINGS = """\
name = "Live"

[tracks.one]
title = "One"
solution = "solution.txt"
list_length = 10
cutoffs = [5, 10]
primary = "MARp"
measures = ["AP", "nDCG@10"]
quota = {{total = 2}}

[[tracks.one.phases]]
name = "main"
start = {start}
end = {end}
freeze = "1h"
"""

START = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
"""When the phase began; it ends in two days, by the clock of this machine."""

END = START + timedelta(days=3)
LATER = END + timedelta(days=1)

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "run": ("run",),
    "apply": ("erratum", "apply", "--reason", "wrong grades", "--challenge"),
    "extend": ("phases", "extend", "main", "--end", LATER.isoformat(), "--reason", "power cut", "--challenge"),
}
"""Each command, before the folder of the challenge."""

CLOCK = START + timedelta(days=1, minutes=3)
"""The time at which every command runs: some minutes from now."""

SCORER = f"""
from datetime import datetime
from scorer.store.store import Store
Store.open.__kwdefaults__["clock"] = lambda: datetime.fromisoformat("{CLOCK.isoformat()}")
{STORING_EACH}
"""
"""``scorer`` with a clock that has stopped."""

DONE = {"run": "", "apply": "applied", "extend": "extension"}
"""What a row of the record contains once the command has decided."""


def solution(levels: int) -> str:
    """A solution in which every fifth query is flagged, with so many different grades."""
    return "".join(
        f"q{query}:{int(query % 5 == 0)}:i{query % 90}|{1 + query % levels},i{query % 70 + 100}|1\n"
        for query in range(QUERIES)
    )


def write_live_challenge(folder: Path) -> None:
    """Write a challenge with a phase that has begun, two teams and a file of each."""
    folder.mkdir(parents=True)
    (folder / "challenge.toml").write_text(SETTINGS.format(start=START.isoformat(), end=END.isoformat()))
    (folder / "solution.txt").write_text(solution(3))
    for team in range(2):
        write_submission(folder / "submissions" / "one" / f"team-{team}" / "a.txt", f"{team} a")


def succeed(*arguments: str | Path) -> Answer:
    """Run a command that must succeed."""
    answer = process(*arguments, program=SCORER)
    assert answer.code == 0, answer.err
    return answer


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """For each command, a challenge in which it has much to do: new files, of which some are over the quota."""
    folder = tmp_path_factory.mktemp("live") / "challenge"
    write_live_challenge(folder)
    succeed("run", folder)
    found = {"run": folder, "apply": copied(folder, folder.with_name("apply"))}
    (found["apply"] / "solution.txt").write_text(solution(2))
    succeed("erratum", "preview", "--challenge", found["apply"])
    for each in found.values():
        for team in range(6):
            for name in "bcd":
                write_submission(each / "submissions" / "one" / f"team-{team}" / f"{name}.txt", f"{team} {name}")
                moment = time.time() - 60 + 3 * team + ord(name) - ord("a")
                os.utime(each / "submissions" / "one" / f"team-{team}" / f"{name}.txt", (moment, moment))
    return {**found, "extend": found["run"]}


def state(folder: Path) -> dict[str, object]:
    """The rows of the database and the bytes of all files of the site."""
    files = tree(folder / "site", "[!.]*")
    assert "log.jsonl" in files
    return {"rows": content(str(folder / "scores.db")), **files}


@dataclass(frozen=True, slots=True)
class Twin:
    """A challenge in which a command was not disturbed."""

    state: Mapping[str, object]
    seconds: float
    """How long the command took."""


@pytest.fixture(scope="module")
def twins(prepared: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Twin]:
    """For each command, the state after it and a run."""
    found = {}
    for name, folder in prepared.items():
        twin = copied(folder, tmp_path_factory.mktemp("twin") / "challenge")
        began = time.monotonic()
        succeed(*COMMANDS[name], twin)
        seconds = time.monotonic() - began
        succeed("run", twin)
        found[name] = Twin(state(twin), seconds)
    return found


def has_decided(name: str, folder: Path) -> bool:
    """Whether the record has the decision of a command."""
    bodies = rows(str(folder / "scores.db"), "SELECT kind || body FROM event")
    return bool(DONE[name]) and any(DONE[name] in text for (text,) in bodies)


def indexes(folder: Path) -> list[int]:
    """The indexes of all events."""
    return [index for (index,) in rows(str(folder / "scores.db"), 'SELECT "index" FROM event ORDER BY "index"')]


@pytest.mark.endurance
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_is_completed_by_repeating_it(
    name: str, prepared: Mapping[str, Path], twins: Mapping[str, Twin], tmp_path: Path
) -> None:
    """Killed at any moment: the record has no gap, and a repeated command succeeds, or says that it was done. Then the
    record, the log and the site are those of the twin, so nothing is lost and nothing is recorded twice.
    """
    for number, moment in enumerate(moments(KILLS, twins[name].seconds)):
        folder = copied(prepared[name], tmp_path / str(number) / "challenge")
        with in_a_group(*COMMANDS[name], str(folder), program=SCORER) as running:
            time.sleep(moment)
            kill(running)
        recorded = indexes(folder)
        assert recorded == list(range(1, len(recorded) + 1))
        was_decided = has_decided(name, folder)
        answer = process(*COMMANDS[name], folder, program=SCORER)
        assert (answer.code == 0) is not was_decided, answer.err
        succeed("run", folder)
        found, wanted = state(folder), twins[name].state
        differing = {file for file in found.keys() | wanted.keys() if found.get(file, ...) != wanted.get(file, ...)}
        assert not differing, f"{name} killed after {moment:.3f} seconds"
        assert not [path for path in folder.rglob("*.part") if path.is_file()]
        shutil.rmtree(folder)
