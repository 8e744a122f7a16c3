"""Interrupted runs, by kill -9 or by a full disk: the next run leaves the state of an uninterrupted one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from multiprocessing.util import get_temp_dir
from pathlib import Path

import psutil
import pytest

from scorer.files import digest
from scorer.scoring.executors import isolation
from scorer.store.sidecar import KEPT_SUBMISSIONS, Archive
from tests.commands import Terminal, here, process
from tests.databases import content, removed, unsalted
from tests.hostile.test_machine import write_scattered

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")

ONE_TRACK = """\
name = "Cut short"

[tracks.one]
title = "One"
solution = "solution.txt"
list_length = 10
cutoffs = [5, 10]
primary = "MARp"
measures = ["AP", "nDCG@10", "P", "RR"]
stage = "final"
"""

TWO_TRACKS = f"""\
{ONE_TRACK}
[tracks.two]
title = "Two"
solution = "solution.txt"
list_length = 10
primary = "nDCG@10"
stage = "final"
"""

QUERIES = 200
ITEMS = [f"i{number}" for number in range(300)]
TEAMS = 8
"""In each track."""

ALL = 2 * TEAMS + 2
"""The number of submissions."""

KILLS = int(os.environ.get("SCORER_TEST_KILLS", "9"))
"""How many runs are killed."""

LAST_SCORED = "two: "
"""The beginning of the line that a run prints between scoring and rendering."""


def write_submission(file: Path, seed: str) -> None:
    """Write a list of ten random items for every query."""
    chance = random.Random(seed)
    lists = (f"q{query}:{','.join(chance.sample(ITEMS, 10))}\n" for query in range(QUERIES))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lists), encoding="utf-8")


def write_challenge(folder: Path) -> None:
    """Write two tracks, sixteen submissions, an invalid one, and one that takes temporary space to score.

    All times of receipt are in the names.
    """
    chance = random.Random(0)
    graded = (",".join(f"{item}|{chance.randint(1, 4)}" for item in chance.sample(ITEMS, 8)) for _ in range(QUERIES))
    solution = (f"q{query}:{int(query % 5 == 0)}:{items}\n" for query, items in enumerate(graded))
    (folder / "challenge.toml").write_text(TWO_TRACKS, encoding="utf-8")
    (folder / "solution.txt").write_text("".join(solution), encoding="utf-8")
    for track in ("one", "two"):
        for team in range(TEAMS):
            file = folder / "submissions" / track / f"{track}-{team}" / "20110418T120000Z.txt"
            write_submission(file, f"{track} {team}")
    (folder / "submissions" / "one" / "20110418T120000Z-torn-sail.txt").write_text("q1;a\n", encoding="utf-8")
    write_scattered(folder / "submissions" / "two" / "20110418T120000Z-scattered.txt")


def stored(database: Path) -> dict[str, list[str]]:
    """Return the rows of every table, sorted, without volatile columns; the database must be sound."""
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    return {"rows": content(str(database))}


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return the content of every file in the folder, and None for each folder in it."""
    paths = folder.rglob("[!.]*")
    return {
        path.relative_to(folder).as_posix(): unsalted(path.read_bytes()) if path.is_file() else None for path in paths
    }


State = Mapping[str, object]
"""The state after a run: the rows of every table, and the content of every file of the site."""


def state(folder: Path) -> State:
    """Return the state of the database and of the site of a challenge."""
    return {**stored(folder / "scores.db"), **tree(folder / "site")}


def assert_same(found: State, wanted: State, when: str) -> None:
    """Fail with the names of what differs."""
    differing = {name for name in found.keys() | wanted.keys() if found.get(name, ...) != wanted.get(name, ...)}
    assert not differing, when


def assert_clean(folder: Path, temporary: Path) -> None:
    """Fail if a temporary file is left, or a copy of the solution or of a submission that is not complete."""
    assert list(temporary.iterdir()) == []
    kept = Archive(folder / f"scores.db{KEPT_SUBMISSIONS}", is_compressed=True)
    assert len(list(kept.folder.iterdir())) == len(kept.digests())
    assert [digest(kept.file(each)) for each in kept.digests()] == kept.digests()
    assert all(path.is_file() and len(path.name) == 64 for path in (folder / "scores.db.solutions").iterdir())


def forget(folder: Path) -> None:
    """Remove the database and the site."""
    shutil.rmtree(folder / "site", ignore_errors=True)
    removed(folder / "scores.db")


# Killed at any moment


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """An uninterrupted run."""

    folder: Path
    code: int
    state: State
    scoring: float
    """Seconds from the creation of the database until all submissions are scored."""
    rendering: float
    """Seconds from then until the last line, which is the path of the site."""


STORING_EACH = "from scorer.organising import watch; watch.STORE_EVERY = 0; from scorer.cli import main; main()"
"""``scorer``, which stores each result separately, as it does when scoring is slow."""


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start a run in a separate process and process group."""
    return in_a_group("run", str(folder), *options)


def in_a_group(*arguments: str, program: str = STORING_EACH) -> subprocess.Popen[str]:
    """Start a command in a separate process and process group."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_the_database(run: subprocess.Popen[str], folder: Path) -> None:
    """Wait until the database exists, or the run has ended."""
    while run.poll() is None and not (folder / "scores.db").exists():
        time.sleep(0.001)


def wait_for_the_scores(run: subprocess.Popen[str], track: str = LAST_SCORED) -> None:
    """Wait until the run reports that a track is scored, or has ended."""
    assert run.stdout is not None
    while (line := run.stdout.readline()) and not line.startswith(track):
        pass


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """An uninterrupted run, which the others are compared with, and the times of its parts."""
    folder = tmp_path_factory.mktemp("killed")
    write_challenge(folder)
    with started(folder) as run:
        assert run.stdout is not None
        wait_for_the_database(run, folder)
        opened = time.monotonic()
        wait_for_the_scores(run)
        scored = time.monotonic()
        assert run.stdout.readline() == f"{folder / 'site' / 'index.html'}\n"
        rendered = time.monotonic()
    return Undisturbed(folder, run.returncode, state(folder), scored - opened, rendered - scored)


def moments(count: int, seconds: float) -> list[float]:
    """Return random moments within this time, one in each of `count` equal parts."""
    chance = random.Random(count)
    return [seconds * (part + chance.random()) / count for part in range(count)]


def cut_short(folder: Path, after: str, moment: float, *options: str) -> bool:
    """Kill a run `moment` seconds after it began to score or to render; return whether it was still running."""
    with started(folder, *options) as run:
        if after == "scoring":
            wait_for_the_database(run, folder)
        else:
            wait_for_the_scores(run)
        time.sleep(moment)
        kill(run)
    return run.returncode == -signal.SIGKILL


def kill(process: subprocess.Popen[str]) -> None:
    """Kill only the process itself: those that it started notice, and end."""
    family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.kill()
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files of this process and of those that it starts."""
    isolation._make_server_folder()  # it stays as long as this process, as does that of multiprocessing
    get_temp_dir()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def results(folder: Path) -> int:
    """Return the number of results, counted in a copy: opening the database would repair it."""
    copy = folder / "copy"
    copy.mkdir()
    for file in folder.glob("scores.db*"):
        if file.is_file():
            shutil.copy(file, copy)
    with closing(sqlite3.connect(copy / "scores.db")) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'result'").fetchall()
        count = int(connection.execute("SELECT count(*) FROM result").fetchone()[0]) if tables else 0
    shutil.rmtree(copy)
    return count


@pytest.mark.endurance
def test_a_run_killed_at_any_moment_is_completed_by_the_next(undisturbed: Undisturbed, temporary: Path) -> None:
    """At moments during scoring and rendering: after the next run all tables have the same rows, and the site has the
    same files, byte for byte, as after an uninterrupted run; no process and no temporary file is left.
    """
    folder = undisturbed.folder
    plan = [("scoring", moment) for moment in moments(KILLS * 2 // 3, undisturbed.scoring)]
    plan += [("rendering", moment) for moment in moments(KILLS // 3, undisturbed.rendering)]
    hits: Counter[str] = Counter()
    for (after, moment), options in zip(plan, cycle([(), (), (), ("--executor", "processes:1")]), strict=False):
        forget(folder)
        if cut_short(folder, after, moment, *options):
            stored_before = results(folder)
            hits["rendering" if stored_before == ALL else "scoring"] += 1
            hits["within a track"] += stored_before not in {0, TEAMS + 1, ALL}

        answer = here("run", folder, "--strict")

        assert answer.code == undisturbed.code
        assert answer.out == f"{folder / 'site' / 'index.html'}\n"
        assert_same(state(folder), undisturbed.state, f"killed {moment:.3f} seconds into the {after}")
        assert_clean(folder, temporary)
    # A kill that comes too late finds a finished run and proves nothing; most kills must come in time.
    assert hits["scoring"] + hits["rendering"] >= KILLS // 3
    assert hits["scoring"] >= 3
    assert hits["rendering"] >= 2
    assert hits["within a track"] >= 1


# Commands that decide

ENTRY = "one/one-1/20110418T120000Z.txt"

DECISIONS = {
    "render": (),
    "retry": ("--challenge",),
    "forget": (ENTRY, "--reason", "wrong", "--challenge"),
    "amend": (ENTRY, "--received", "2011-04-17T12:00:00Z", "--reason", "mail", "--challenge"),
}
"""The arguments of each command, before the folder of the challenge."""


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge after a run; one of its entries has failed, because it takes more temporary space than is allowed."""
    folder = tmp_path_factory.mktemp("decided") / "challenge"
    folder.mkdir()
    write_challenge(folder)
    with (folder / "challenge.toml").open("a", encoding="utf-8") as settings:
        settings.write("\n[limits]\ntemporary_mb = 1\n")
    assert "more than 1 MB of temporary disk space (attempt 1 of 3)" in here("run", folder).err
    return folder


@pytest.mark.endurance
@pytest.mark.parametrize("name", DECISIONS)
def test_a_killed_command_has_done_all_or_nothing(name: str, decided: Path, tmp_path: Path, temporary: Path) -> None:
    """After the next run, the database and the site are those with or without the command."""
    wanted = []
    for arguments in ([], [name, *DECISIONS[name]]):
        folder = copied(decided, tmp_path / str(len(arguments)))
        began = time.monotonic()
        if arguments:
            assert process(*arguments, folder).code == 0
        seconds = time.monotonic() - began
        here("run", folder)
        wanted.append(state(folder))
    for number, moment in enumerate(moments(KILLS // 7, seconds)):
        folder = copied(decided, tmp_path / f"killed-{number}")
        with in_a_group(name, *DECISIONS[name], str(folder)) as running:
            time.sleep(moment)
            kill(running)
        here("run", folder)
        assert state(folder) in wanted
        assert_clean(folder, temporary)


def copied(folder: Path, target: Path) -> Path:
    """A copy of a challenge in which a file keeps its times."""
    return Path(shutil.copytree(folder, target, copy_function=shutil.copy2))


# Killed while the pages are written

KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from scorer.cli import main
    event, ending = sys.argv.pop(1), sys.argv.pop(1)
    def kill(happening, arguments):
        if happening == event and str(arguments[1 if event == "os.rename" else 0]).endswith(ending):
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(kill)
    main()
    """
)
"""``scorer``, which kills itself before an operation on a file whose path has this ending."""

OPERATIONS = [
    ("os.rename", "one/index.html"),
    ("os.rename", ".manifest.json"),
    ("os.remove", "two/index.html"),
    ("open", "one/.index.html.part"),
    ("os.rename", "teams/new.html"),
    ("os.rmdir", "two"),
]
"""Changes of a render: a page is written to a temporary file and renamed; others are removed."""


def change(folder: Path) -> None:
    """Add a team and remove a track: a render changes, adds and removes pages."""
    (folder / "challenge.toml").write_text(ONE_TRACK, encoding="utf-8")
    write_submission(folder / "submissions" / "one" / "new" / "20110419T120000Z.txt", "new")


def change_again(folder: Path) -> None:
    """Add another file of the new team: the page that is being added changes."""
    write_submission(folder / "submissions" / "one" / "new" / "20110420T120000Z.txt", "newer")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge after an uninterrupted run and a change, before the next render."""
    folder = tmp_path_factory.mktemp("changed") / "challenge"
    folder.mkdir()
    write_challenge(folder)
    (folder / "submissions" / "two" / "20110418T120000Z-scattered.txt").unlink()
    here("run", folder)
    change(folder)
    return folder


@pytest.fixture(scope="module")
def changed_state(changed: Path) -> State:
    """The state after a second change and an uninterrupted run."""
    folder = changed.with_name("undisturbed")
    shutil.copytree(changed, folder)
    change_again(folder)
    here("run", folder)
    return state(folder)


@pytest.mark.parametrize(
    ("event", "ending"),
    [OPERATIONS[0], *(pytest.param(*operation, marks=pytest.mark.endurance) for operation in OPERATIONS[1:])],
)
def test_a_run_killed_while_it_writes_the_site_is_completed_by_the_next(
    event: str, ending: str, changed: Path, changed_state: State, tmp_path: Path, terminal: Terminal
) -> None:
    """After each operation, even if pages change before the next run: no file is incomplete or left over."""
    folder = tmp_path / "challenge"
    shutil.copytree(changed, folder)

    killed = subprocess.run([sys.executable, "-c", KILLED, event, ending, "run", str(folder)], check=False)

    assert killed.returncode == -signal.SIGKILL
    change_again(folder)
    terminal.run("run", folder)
    assert_same(state(folder), changed_state, f"killed at {event} of {ending}")


# No space on the disk


def free(place: Path) -> int:
    """Return the free bytes on the disk."""
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.endurance)])
def test_a_run_on_a_full_disk_is_completed_by_the_next(step: int, small_disk: Path, terminal: Terminal) -> None:
    """The run reports the full disk, and the database stays valid, regardless of how much space is missing."""
    folder = small_disk / "challenge"
    terminal.run("init", folder)
    empty = free(small_disk)
    assert terminal.run("run", folder).code == 0
    wanted = state(folder)
    shutil.rmtree(folder / "scores.db.statistics")  # a run completes without it
    needed = empty - free(small_disk)
    for tenths in range(0, 10, step):
        forget(folder)
        filler = small_disk / "filler"
        filler.write_bytes(bytes(free(small_disk) - needed * tenths // 10))

        answer = terminal.run("run", folder)

        assert answer.code == 1
        assert "disk" in answer.err or "No space left on device" in answer.err
        filler.unlink()
        assert terminal.run("run", folder).code == 0
        assert_same(state(folder), wanted, f"with {tenths} tenths of the space")
