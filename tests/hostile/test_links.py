"""Links and odd files: nothing is read but the file that a team has uploaded, neither before nor after a swap."""

from __future__ import annotations

import io
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scorer.files import BY_DESCRIPTOR, FileBelow
from scorer.scoring.executors.base import Processes
from tests.hostile.sieges import HONEST, LISTS, Attack, Siege, assert_printable
from tests.strategies import some

pytestmark = pytest.mark.skipif(not BY_DESCRIPTOR, reason="needs files that are opened relative to a folder")

Make = Callable[[Path], object]

FIRST = "alpha/20260131T100000Z-first.txt"


def challenge_of(path: Path) -> Path:
    """The challenge of a file or of a team's folder in the folder of its track."""
    return next(parent for parent in path.parents if (parent / "challenge.toml").exists())


def link(target: str) -> Make:
    """Make a symbolic link with this text."""
    return lambda path: path.symlink_to(target)


def link_into(target: str) -> Make:
    """Make a symbolic link to a file of the challenge, by its whole path."""
    return lambda path: path.symlink_to(challenge_of(path) / target)


def hard_link(target: str) -> Make:
    """Make another name of a file of the challenge."""
    return lambda path: path.hardlink_to(challenge_of(path) / target)


def stored_solution(path: Path) -> Path:
    """The copy of the solution next to the database."""
    return next((challenge_of(path) / "scores.db.solutions").iterdir())


def link_through_a_folder(path: Path) -> None:
    """Make a link to a file by way of a link to a folder."""
    way = path.parent / ".way"
    way.symlink_to(challenge_of(path) / "solutions")
    path.symlink_to(".way/main.txt")


def chain(path: Path) -> None:
    """Make a link to a link to a link to the solution."""
    target = challenge_of(path) / "solutions" / "main.txt"
    for number in range(3):
        (path.parent / f".chain-{number}").symlink_to(target)
        target = path.parent / f".chain-{number}"
    path.symlink_to(target)


def hard_link_to_an_upload(path: Path) -> None:
    """Make another name of a file that another team is uploading."""
    upload = path.parent / "alpha" / ".third.txt"
    upload.write_text(HONEST[FIRST], encoding="utf-8")
    path.hardlink_to(upload)


def hard_link_to_a_link(path: Path) -> None:
    """Make another name of a symbolic link."""
    (path.parent / ".symbolic").symlink_to(challenge_of(path) / "solutions" / "main.txt")
    os.link(path.parent / ".symbolic", path, follow_symlinks=False)


def listen(path: Path) -> None:
    """Leave a socket."""
    with socket.socket(socket.AF_UNIX) as server:
        home = Path.cwd()
        os.chdir(path.parent)  # the path of a socket must be short
        server.bind(path.name)
        os.chdir(home)


def device(kind: int, number: tuple[int, int]) -> Make:
    """Make a device, or a named pipe where only root may make devices."""

    def make(path: Path) -> None:
        try:
            os.mknod(path, kind | 0o666, os.makedev(*number))
        except PermissionError:
            os.mkfifo(path)

    return make


A_LINK = ": a link; links are not followed: submit the file itself; skipped"
A_HARD_LINK = ": a hard link; submit a copy; skipped"
ODD = ": not a regular file; skipped"


def symbolic(make: Make, file: bytes = b"") -> Attack:
    """A symbolic link, which is refused."""
    return Attack(None, "refused", A_LINK, make, file, file.decode())


ATTACKS: dict[str, Attack] = {
    "link-to-the-solution": symbolic(link("../../solutions/main.txt")),
    "link-to-the-solution-by-its-whole-path": symbolic(link_into("solutions/main.txt")),
    "link-to-a-stored-solution": symbolic(lambda path: path.symlink_to(stored_solution(path))),
    "link-to-the-database": symbolic(link_into("scores.db")),
    "link-to-challenge.toml": symbolic(link_into("challenge.toml")),
    "link-to-the-board": symbolic(link_into("site/main/leaderboard.csv")),
    "link-to-passwd": symbolic(link("/etc/passwd")),
    "link-to-the-environment": symbolic(link("/proc/self/environ")),
    "link-to-memory": symbolic(link("/proc/self/mem")),
    "link-to-an-open-file": symbolic(link("/proc/self/fd/0")),
    "link-to-endless-zeros": symbolic(link("/dev/zero")),
    "link-to-standard-input": symbolic(link("/dev/stdin")),
    "link-to-a-file-outside": symbolic(link("../../../outside.txt")),
    "link-to-another-team": symbolic(link(FIRST)),
    "link-to-a-file-in-no-folder": symbolic(link("20260131T120000Z-bravo.txt")),
    "link-to-nothing": symbolic(link("nothing")),
    "link-to-itself": symbolic(link("link-to-itself.txt")),
    "link-to-a-name-of-4,000-bytes": symbolic(link("x/" * 2_000)),
    "link-through-a-folder": symbolic(link_through_a_folder),
    "link-to-a-link-to-a-link": symbolic(chain),
    "link-in-the-folder-of-a-team": symbolic(link("../../../solutions/main.txt"), b"own/solution.txt"),
    "folder-that-is-a-link-to-solutions": symbolic(link("../../solutions"), b"solutions"),
    "folder-that-is-a-link-to-another-team": symbolic(link("alpha"), b"alpha-too"),
    "folder-that-is-a-link-to-the-track": symbolic(link("."), b"main"),
    "folder-that-is-a-link-upwards": symbolic(link(".."), b"upwards"),
    "folder-that-is-a-link-to-the-root": symbolic(link("/"), b"root"),
    "hard-link-to-a-link": symbolic(hard_link_to_a_link),
    "hard-link-to-the-solution": Attack(None, "refused", "the bytes of a solution", hard_link("solutions/main.txt")),
    "hard-link-to-a-stored-solution": Attack(
        None, "refused", "the bytes of a solution", lambda path: path.hardlink_to(stored_solution(path))
    ),
    "hard-link-to-the-database": Attack(None, "refused", A_HARD_LINK, hard_link("scores.db")),
    "hard-link-to-challenge.toml": Attack(None, "refused", A_HARD_LINK, hard_link("challenge.toml")),
    "hard-link-to-a-page": Attack(None, "refused", A_HARD_LINK, hard_link("site/index.html")),
    "hard-link-to-a-file-outside": Attack(None, "refused", A_HARD_LINK, hard_link("../outside.txt")),
    "hard-link-to-another-team": Attack(None, "refused", A_HARD_LINK, hard_link(f"submissions/main/{FIRST}")),
    "hard-link-to-an-upload": Attack(None, "refused", A_HARD_LINK, hard_link_to_an_upload),
    "copy-of-the-solution": Attack(
        None,
        "refused",
        "the bytes of a solution",
        lambda path: shutil.copy(challenge_of(path) / "solutions/main.txt", path),
    ),
    "named-pipe": Attack(None, "refused", ODD, os.mkfifo),
    "socket": Attack(None, "refused", ODD, listen),
    "endless-device": Attack(None, "refused", ODD, device(stat.S_IFCHR, (1, 5))),
    "terminal": Attack(None, "refused", ODD, device(stat.S_IFCHR, (5, 0))),
    "disk": Attack(None, "refused", ODD, device(stat.S_IFBLK, (7, 0))),
    "folder-in-a-folder": Attack(
        None, "refused", "a folder in a folder of a team", os.mkdir, b"nested/deeper/deepest", "nested/deeper/deepest"
    ),
}


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """All of them in one folder."""
    siege = Siege(tmp_path_factory.mktemp("siege") / "challenge")
    siege.place(ATTACKS)
    siege.answer = siege.run("run")
    yield siege
    siege.restore()


@pytest.mark.parametrize("case", ATTACKS)
def test_outcome(case: str, siege: Siege) -> None:
    """Each is refused, and the message says why."""
    siege.check_outcome(case, ATTACKS[case])


def test_nobody_else_is_harmed(siege: Siege) -> None:
    """The board is as it was, also for the teams whose files others link to."""
    assert siege.answer.code == 1
    assert siege.board() == siege.rows
    siege.check_others(len(ATTACKS))


@pytest.mark.parametrize(
    ("command", "code"), [("status", 0), ("doctor", 0), ("leaderboard", 0), ("render", 0), ("score", 1)]
)
def test_other_commands(command: str, code: int, siege: Siege) -> None:
    """They read none of it either."""
    answer = siege.run(command)
    assert answer.code == code, answer.err
    assert_printable(answer)
    siege.check_others(len(ATTACKS))


# Replaced files


@pytest.fixture
def alone(tmp_path: Path) -> Siege:
    """A challenge for one test."""
    return Siege(tmp_path / "challenge")


def submit(siege: Siege, name: str = "evil.txt", content: str = LISTS) -> Path:
    """Submit a file, and score it."""
    path = siege.main / name
    path.write_text(content, encoding="utf-8")
    siege.answer = siege.run("run")
    return path


REPLACEMENTS: dict[str, Make] = {
    "hard-link-to-another-team": hard_link(f"submissions/main/{FIRST}"),
    "hard-link-to-the-solution": hard_link("solutions/main.txt"),
    "hard-link-to-an-upload": hard_link_to_an_upload,
    "link-to-another-team": link(FIRST),
    "link-to-the-solution": link("../../solutions/main.txt"),
    "named-pipe": os.mkfifo,
}


@pytest.mark.parametrize("case", some(REPLACEMENTS, "hard-link-to-another-team", "link-to-the-solution", "named-pipe"))
def test_a_recorded_file_that_is_replaced(case: str, alone: Siege) -> None:
    """What replaces it is refused, however often a run looks at it."""
    path = submit(alone)
    before = alone.board()["evil"]
    path.unlink()
    REPLACEMENTS[case](path)

    for _ in range(2):
        alone.answer = alone.run("run")
        assert alone.answer.code == 1
        assert len(alone.lines("evil.txt")) == 1
        assert alone.board().get("evil", before) == before
        alone.check_others(1)
    assert alone.run("doctor").code in (0, 1)
    alone.restore()


SWAPS: dict[str, Make] = REPLACEMENTS | {
    "other-bytes": lambda path: path.write_text(HONEST[FIRST], encoding="utf-8"),
    "nothing": lambda _: None,
    "folder": os.mkdir,
    "link-to-the-same-bytes": lambda path: (
        (path.parent / ".same").write_text(LISTS, encoding="utf-8") and path.symlink_to(".same")
    ),
    "link-to-endless-zeros": link("/dev/zero"),
}


@pytest.mark.parametrize(
    "case", some(SWAPS, "hard-link-to-the-solution", "link-to-another-team", "other-bytes", "nothing")
)
def test_a_swap_between_intake_and_scoring(case: str, alone: Siege, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes that were recorded are scored, or none: it has failed, and costs no attempt."""
    path = alone.main / "evil.txt"
    path.write_text(LISTS, encoding="utf-8")
    results = Processes.results

    def swapped(self: Processes, *work: Any) -> Any:
        path.unlink()
        SWAPS[case](path)
        return results(self, *work)

    monkeypatch.setattr(Processes, "results", swapped)
    alone.answer = alone.run("run")

    assert alone.outcome("evil.txt", "evil") == "failed"
    assert "attempt" not in alone.answer.err
    alone.check_others(1)
    monkeypatch.undo()
    alone.restore()


def test_a_file_that_grows_while_it_is_read(alone: Siege, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a terabyte: no more is read than the size that was checked."""
    path = alone.main / "evil.txt"
    path.write_text(LISTS, encoding="utf-8")
    opened = FileBelow.open

    class Growing(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            os.truncate(path, 1 << 40)
            return super().read(-1 if size is None else size)

    def open_growing(self: FileBelow, mode: str = "rb") -> io.FileIO:
        with opened(self, mode) as stream:
            return (Growing if self.name == path.name else io.FileIO)(os.dup(stream.fileno()), "rb")

    monkeypatch.setattr(FileBelow, "open", open_growing)
    alone.answer = alone.run("run")

    assert alone.outcome("evil.txt", "evil") == "refused"
    assert "it changed while it was read" in alone.answer.err
    alone.check_others(1)


def test_two_teams_that_link_to_each_other(alone: Siege) -> None:
    """Nobody knows whose file it is. Copies are accepted."""
    (alone.main / "one.txt").write_text(LISTS, encoding="utf-8")
    (alone.main / "two.txt").hardlink_to(alone.main / "one.txt")

    alone.answer = alone.run("run")
    assert (alone.outcome("one.txt", "one"), alone.outcome("two.txt", "two")) == ("refused", "refused")
    alone.check_others(2)

    (alone.main / "two.txt").unlink()
    shutil.copy(alone.main / "one.txt", alone.main / "two.txt")
    assert alone.run("run").code == 0
    assert {"one", "two"} < alone.board().keys()


def test_a_link_to_a_file_that_is_not_scored_yet(alone: Siege, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a file is recorded, nobody can prevent that it is scored."""
    path = alone.main / "late.txt"
    path.write_text(LISTS, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(Processes, "results", lambda *_: (each for each in tuple[Any]()))
        alone.run("run")
    (alone.main / "evil.txt").hardlink_to(path)

    alone.answer = alone.run("run")

    assert alone.outcome("evil.txt", "evil") == "refused"
    assert alone.outcome("late.txt", "late") == "scored"


def test_a_link_to_a_solution_that_is_replaced(alone: Siege) -> None:
    """The link is then the only name of the old one; its lines are not shown."""
    (alone.main / "evil.txt").hardlink_to(alone.solution)
    new = alone.solution.with_name(".new")
    new.write_text(alone.solution.read_text(encoding="utf-8").replace("|3", "|2"), encoding="utf-8")
    new.replace(alone.solution)

    alone.answer = alone.run("run")

    assert alone.outcome("evil.txt", "evil") == "refused"
    alone.check_secrets()


def test_a_link_to_a_submission_for_another_track(alone: Siege) -> None:
    """It is refused as one in the same track is."""
    with (alone.folder / "challenge.toml").open("a", encoding="utf-8") as declared:
        declared.write('\n[tracks.side]\ntitle = "Side"\nsolution = "solutions/side.txt"\nprimary = "AP"\n')
        declared.write('list_length = 5\nstage = "final"\n')
    (alone.folder / "solutions" / "side.txt").write_text("q1:1:plum|1\nq2:0:plum|1\n", encoding="utf-8")
    side = alone.folder / "submissions" / "side"
    side.mkdir()
    (side / "evil.txt").hardlink_to(alone.main / FIRST)

    answer = alone.run("run")

    assert "side/evil.txt: a hard link; submit a copy; skipped" in answer.err
    assert "side: 0 scored, 0 known, 0 rejected" in answer.err
    assert alone.board() == alone.rows
