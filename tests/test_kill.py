"""Runs that are cut short, by kill -9 or by a full disk: the next one ends where an undisturbed one does."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from tests.commands import Terminal
from tests.databases import content, removed

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

QUERIES = 400
ITEMS = [f"i{number}" for number in range(300)]
TEAMS = 20
"""In each track."""

LAST_SCORED = "two: "
"""Begins the line that a run prints when all is scored and the pages are yet to come."""


def write_submission(file: Path, seed: str) -> None:
    """A list of ten random items for every query."""
    chance = random.Random(seed)
    lists = (f"q{query}:{','.join(chance.sample(ITEMS, 10))}\n" for query in range(QUERIES))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lists), encoding="utf-8")


def write_challenge(folder: Path) -> None:
    """Two tracks, forty submissions, and one more that is at fault; no time in it is a clock's."""
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


def kept(database: Path) -> dict[str, list[str]]:
    """The rows of every table, sorted, without volatile columns; the database must be sound."""
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    return {"rows": content(str(database))}


def tree(folder: Path) -> dict[str, bytes | None]:
    """The content of every file in the folder, and None for a folder in it."""
    paths = folder.rglob("[!.]*")
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in paths}


State = Mapping[str, object]
"""What a run leaves: the rows of every table, and the content of every file of the site."""


def state(folder: Path) -> State:
    """The state of a challenge's database and of its site."""
    return {**kept(folder / "scores.db"), **tree(folder / "site")}


def assert_same(found: State, wanted: State, when: str) -> None:
    """Tells what differs by its name: the whole of it would fill pages."""
    differing = {name for name in found.keys() | wanted.keys() if found.get(name, ...) != wanted.get(name, ...)}
    assert not differing, when


def forget(folder: Path) -> None:
    """Take away all that runs have left."""
    shutil.rmtree(folder / "site", ignore_errors=True)
    removed(folder / "scores.db")


# Killed at any moment


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A run that nothing stops."""

    folder: Path
    code: int
    state: State
    scoring: float
    """Seconds from the making of the database until all is scored."""
    rendering: float
    """Seconds from there until the last line, which is the path of the site."""


KEEPING_EACH = "from scorer.organising import run; run.STORE_EVERY = 0; from scorer.cli import main; main()"
"""``scorer``, which keeps each result by itself, as where scoring takes its time."""


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    """A run in a process, and a process group, of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", KEEPING_EACH, "run", str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_the_database(run: subprocess.Popen[str], folder: Path) -> None:
    """Until the run has begun to keep results, or has ended."""
    while run.poll() is None and not (folder / "scores.db").exists():
        time.sleep(0.001)


def wait_for_the_scores(run: subprocess.Popen[str]) -> None:
    """Until the run says that the last track is scored, or has ended."""
    assert run.stdout is not None
    while (line := run.stdout.readline()) and not line.startswith(LAST_SCORED):
        pass


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """What all others are compared with, and how long its parts take."""
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
    """So many random moments within that time: one in each of as many equal parts."""
    chance = random.Random(count)
    return [seconds * (part + chance.random()) / count for part in range(count)]


def cut_short(folder: Path, after: str, moment: float, *options: str) -> bool:
    """Kill a run so many seconds after it began to score or to render; was it still running then?"""
    with started(folder, *options) as run:
        if after == "scoring":
            wait_for_the_database(run, folder)
        else:
            wait_for_the_scores(run)
        time.sleep(moment)
        # Only the run itself: its processes notice, and take their semaphores with them.
        run.kill()
    return run.returncode == -signal.SIGKILL


def results(folder: Path) -> int:
    """How many are in the database. Looked up in a copy: reading it would mend what the kill left."""
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


def test_a_run_killed_at_any_moment_is_completed_by_the_next(undisturbed: Undisturbed, terminal: Terminal) -> None:
    """Twenty moments, spread over scoring (every fourth time in several processes) and rendering: in the end the
    database has the same rows in all of its tables, and the site the same files, byte for byte, as after one
    undisturbed run.
    """
    folder = undisturbed.folder
    plan = [("scoring", moment) for moment in moments(12, undisturbed.scoring)]
    plan += [("rendering", moment) for moment in moments(8, undisturbed.rendering)]
    hits: Counter[str] = Counter()
    for (after, moment), options in zip(plan, cycle([(), (), (), ("--executor", "processes:2")]), strict=False):
        forget(folder)
        if cut_short(folder, after, moment, *options):
            kept_before = results(folder)
            hits["rendering" if kept_before == 2 * TEAMS + 1 else "scoring"] += 1
            hits["within a track"] += kept_before not in {0, TEAMS + 1, 2 * TEAMS + 1}

        answer = terminal.run("run", folder, "--strict")

        assert answer.code == undisturbed.code
        assert answer.out == f"{folder / 'site' / 'index.html'}\n"
        assert_same(state(folder), undisturbed.state, f"killed {moment:.3f} seconds into the {after}")
    # A kill that comes too late finds a finished run, which proves nothing: most must not.
    assert hits["scoring"] + hits["rendering"] >= 7
    assert hits["scoring"] >= 3
    assert hits["rendering"] >= 3
    assert hits["within a track"] >= 2


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
"""``scorer``, which kills itself just before it does something to a file whose path ends so."""

DEEDS = [
    ("os.rename", ".manifest.json"),
    ("open", "one/index.html.part"),
    ("os.rename", "one/index.html"),
    ("os.rename", "teams/new.html"),
    ("os.remove", "two/index.html"),
    ("os.rmdir", "two"),
]
"""From the first to the last change that a render makes: a page is written aside, put in place, and others go."""


def change(folder: Path) -> None:
    """A team joins, and a track ends: pages are to be changed, added and removed."""
    (folder / "challenge.toml").write_text(ONE_TRACK, encoding="utf-8")
    write_submission(folder / "submissions" / "one" / "new" / "20110419T120000Z.txt", "new")


def change_again(folder: Path) -> None:
    """The new team sends in another file: the page that is being added is to have other content."""
    write_submission(folder / "submissions" / "one" / "new" / "20110420T120000Z.txt", "newer")


@pytest.fixture(scope="module")
def changed(undisturbed: Undisturbed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the undisturbed run left, before anything of it is rendered anew."""
    folder = tmp_path_factory.mktemp("changed") / "challenge"
    folder.mkdir()
    write_challenge(folder)
    with started(folder) as run:
        run.communicate()
    change(folder)
    return folder


@pytest.fixture(scope="module")
def changed_state(changed: Path) -> State:
    """What an undisturbed run makes of it once it has changed again."""
    folder = changed.with_name("undisturbed")
    shutil.copytree(changed, folder)
    change_again(folder)
    with started(folder) as run:
        run.communicate()
    return state(folder)


@pytest.mark.parametrize(("event", "ending"), DEEDS, ids=[" ".join(deed) for deed in DEEDS])
def test_a_run_killed_while_it_writes_the_site_is_completed_by_the_next(
    event: str, ending: str, changed: Path, changed_state: State, tmp_path: Path, terminal: Terminal
) -> None:
    """Whatever it was about to do, and though pages have changed since: nothing stays half-written or is left over."""
    folder = tmp_path / "challenge"
    shutil.copytree(changed, folder)

    killed = subprocess.run([sys.executable, "-c", KILLED, event, ending, "run", str(folder)], check=False)

    assert killed.returncode == -signal.SIGKILL
    change_again(folder)
    terminal.run("run", folder)
    assert_same(state(folder), changed_state, f"killed at {event} of {ending}")


# No room on the disk


def free(place: Path) -> int:
    """Bytes that are free on the disk."""
    disk = os.statvfs(place)
    return disk.f_bavail * disk.f_frsize


def test_a_run_on_a_full_disk_is_completed_by_the_next(small_disk: Path, terminal: Terminal) -> None:
    """However much room is missing, the run says so, and the database stays valid."""
    folder = small_disk / "challenge"
    terminal.run("init", folder)
    empty = free(small_disk)
    assert terminal.run("run", folder).code == 0
    wanted = state(folder)
    needed = empty - free(small_disk)
    for tenths in range(10):
        forget(folder)
        filler = small_disk / "filler"
        filler.write_bytes(bytes(free(small_disk) - needed * tenths // 10))

        answer = terminal.run("run", folder)

        assert answer.code == 1
        assert "disk" in answer.err or "No space left on device" in answer.err
        filler.unlink()
        assert terminal.run("run", folder).code == 0
        assert_same(state(folder), wanted, f"with {tenths} tenths of the room")
