"""Withdrawals: only a file that is seen to be gone is withdrawn, and never many at a time without a confirmation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.sieges import LISTS, Siege, assert_printable, make_sparse
from tests.organising.test_faults import bound_by_permissions
from tests.strategies import rest, some

COUNT = 20
"""The files of a large team."""


@pytest.fixture
def siege(tmp_path: Path) -> Siege:
    """A challenge with four entries of three teams."""
    return Siege(tmp_path / "challenge")


@pytest.fixture
def large(siege: Siege) -> Siege:
    """With a team of many entries."""
    (siege.main / "large").mkdir()
    for number in range(COUNT):
        (siege.main / "large" / f"{number}.txt").write_text(f"{LISTS}q4:i{number}\n", encoding="utf-8")
    assert siege.run("run").code == 0
    return siege


def entries(siege: Siege) -> dict[str, object]:
    """How many entries of each team are present."""
    return {team: row["entries"] for team, row in siege.board().items()}


LOCKS: dict[str, Callable[[Siege], list[Path]]] = {
    "file": lambda siege: [siege.main / "20260131T120000Z-bravo.txt"],
    "folder-of-the-best-team": lambda siege: [siege.main / "alpha"],
    "all-files": lambda siege: [path for path in siege.main.rglob("*") if path.is_file()],
    "folder-of-the-track": lambda siege: [siege.main],
    "folder-of-all-submissions": lambda siege: [siege.main.parent],
}


@pytest.mark.parametrize("case", some(LOCKS, "file", "folder-of-the-track"))
def test_what_cannot_be_read_is_not_withdrawn(case: str, siege: Siege) -> None:
    """Not even if withdrawals are confirmed."""
    locked = LOCKS[case](siege)
    modes = [path.stat().st_mode for path in locked]
    for path in locked:
        path.chmod(0)
    try:
        answer = bound_by_permissions("score", siege.folder, "--confirm-withdrawals")
    finally:
        for path, before in zip(locked, modes, strict=True):
            path.chmod(before)

    assert answer.code == 1
    assert "Permission denied" in answer.err
    assert_printable(answer)
    assert siege.run("render").code == 0
    assert siege.board() == siege.rows
    assert siege.run("run").code == 0
    assert siege.board() == siege.rows


def remove(path: Path) -> None:
    """Remove a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def empty(folder: Path) -> None:
    """Remove what is in a folder."""
    for path in folder.iterdir():
        remove(path)


def mount_another_disk(siege: Siege) -> None:
    """Leave what a new disk has."""
    empty(siege.main)
    (siege.main / "lost+found").mkdir()


def move_and_link(siege: Siege) -> None:
    """Leave nothing but a link."""
    siege.main.rename(siege.main.with_name("moved"))
    siege.main.mkdir()
    (siege.main / "other.txt").symlink_to("../moved/20260131T120000Z-bravo.txt")


def remove_three(siege: Siege) -> None:
    """Leave one of four files."""
    for path in sorted(siege.main.rglob("*.txt"))[:3]:
        remove(path)


def rename_all(prefix: str) -> Callable[[Siege], None]:
    """Rename all files."""

    def rename(siege: Siege) -> None:
        for path in list(siege.main.rglob("*.txt")):
            path.rename(path.with_name(f"{prefix}{path.name}"))

    return rename


def replace_all(siege: Siege) -> None:
    """Leave nothing but a new file."""
    empty(siege.main)
    (siege.main / "new.txt").write_text(LISTS, encoding="utf-8")


GONE: dict[str, Callable[[Siege], None]] = {
    "empty-folder": lambda siege: empty(siege.main),
    "missing-folder": lambda siege: remove(siege.main),
    "missing-folder-of-all-tracks": lambda siege: remove(siege.main.parent),
    "folder-of-another-disk": mount_another_disk,
    "folder-with-nothing-but-links": move_and_link,
    "three-of-four-files": remove_three,
    "all-files-renamed": rename_all("new-"),
    "empty-folder-with-a-new-file": replace_all,
    "all-files-upload-again": rename_all("."),
}


@pytest.mark.parametrize("case", some(GONE, "empty-folder", "three-of-four-files", "empty-folder-with-a-new-file"))
def test_many_missing_files_withdraw_nobody(case: str, siege: Siege) -> None:
    """The run says what to do, and exits with 1, each time; then a confirmation withdraws them."""
    GONE[case](siege)

    for _ in range(2):
        answer = siege.run("run")
        assert answer.code == 1
        assert answer.err.count("confirm with --confirm-withdrawals") == 1
        assert "are missing" in answer.err
        assert {team: siege.board()[team]["nDCG@5"] for team in siege.rows} == {
            team: row["nDCG@5"] for team, row in siege.rows.items()
        }
        assert_printable(answer)
    assert siege.run("status").code == 0
    siege.run("run", "--confirm-withdrawals")
    assert "are missing" not in siege.run("run").err
    if case != "all-files-renamed":  # whose old entries stay on the pages of their teams
        siege.restore()


def test_a_file_instead_of_the_folder_withdraws_nobody(siege: Siege) -> None:
    """Nor does a link to nothing."""
    kept = siege.main.with_name("kept")
    siege.main.rename(kept)
    makes: list[Callable[[Path], object]] = [Path.touch, lambda path: path.symlink_to("nothing")]
    for make in makes:
        make(siege.main)
        answer = siege.run("run")
        assert answer.code == 1
        assert_printable(answer)
        assert siege.board() == siege.rows
        siege.main.unlink()
    kept.rename(siege.main)
    assert siege.run("run").code == 0


@pytest.mark.parametrize(("missing", "withdrawn"), [(2, True), (3, False), *rest([(1, True), (COUNT, False)])])
def test_a_tenth(missing: int, withdrawn: bool, large: Siege) -> None:
    """Up to two files are withdrawals, and so are more if they are no more than a tenth of the track's."""
    for number in range(missing):
        (large.main / "large" / f"{number}.txt").unlink()

    answer = large.run("run")

    assert answer.code == (0 if withdrawn else 1)
    assert entries(large)["large"] == (COUNT - missing if withdrawn else COUNT)
    confirmed = large.run("run", "--confirm-withdrawals")
    assert confirmed.code == 0
    assert entries(large).get("large", 0) == COUNT - missing
    assert {team: row for team, row in large.board().items() if team != "large"}.keys() == large.rows.keys()


def make_folder(path: Path) -> None:
    """Make a folder with a file."""
    path.mkdir()
    (path / "new.txt").write_text(LISTS, encoding="utf-8")


REPLACED: dict[str, tuple[Callable[[Path], object], bool]] = {
    "folder": (os.mkdir, False),
    "folder-with-a-file": (make_folder, False),
    "link": (lambda path: path.symlink_to("alpha"), True),
    "link-to-nothing": (lambda path: path.symlink_to("nothing"), True),
    "named-pipe": (os.mkfifo, True),
    "sparse-file-of-1-TB": (make_sparse, True),
}
"""What replaces the file of a team, and whether the name is still that of something that is not read."""


@pytest.mark.parametrize("case", some(REPLACED, "folder-with-a-file", "link", "named-pipe"))
def test_a_file_that_is_replaced(case: str, siege: Siege) -> None:
    """Costs its own team at most that entry."""
    path = siege.main / "20260131T130000Z-charlie.txt"
    make, stays = REPLACED[case]
    path.unlink()
    make(path)

    answer = siege.run("run")

    assert_printable(answer)
    assert ("charlie" in siege.board()) == stays
    for team in ("alpha", "bravo"):
        assert siege.board()[team]["rank"] == siege.rows[team]["rank"]
    for command_ in ("status", "doctor"):
        assert_printable(siege.run(command_))
    siege.restore()
