"""Amounts: however much a team submits, the work, the messages, the pages and the database are bounded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hostile import bombs
from tests.hostile.sieges import BOUND, LISTS, Attack, Siege, assert_printable, make_sparse

FILES_PER_TEAM = 30
MANY = 600

LIMITS = f"""
seconds = 20
memory_mb = 400
file_mb = 8
files_per_team = {FILES_PER_TEAM}
"""

THIRTY_LISTS = b"".join(b"q%d:plum\n" % number for number in range(30))


def errors(text: bytes) -> bytes:
    """Thirty lists, and as many lines with this text that are none."""
    return THIRTY_LISTS + (b"q1;" + text + b"\n") * 30


ATTACKS: dict[str, Attack] = {
    "sparse-file-of-1-TB": Attack(None, "refused", "the limit is 8 (limits.file_mb)", make_sparse),
    "file-of-9-MB": Attack(lambda: b"\n" * 9_000_000, "refused", "the limit is 8 (limits.file_mb)"),
    "100,000-errors": Attack(lambda: b"no list\n" * 100_000, "rejected"),
    "100,000-errors-behind-lists": Attack(lambda: THIRTY_LISTS + b"no list\n" * 100_000, "rejected", "and "),
    "20-errors-of-300-characters": Attack(lambda: errors(b'"' * 9_000), "rejected"),
    "errors-that-must-be-escaped": Attack(lambda: errors(b"\x01\xc2\xad" * 900), "rejected"),
    "errors-of-markup": Attack(lambda: errors(b"<&'\"" * 900), "rejected"),
    "100,000-notes": Attack(
        lambda: b"".join(b"unknown%d:plum\n" % n for n in range(100_000)) + LISTS.encode(), "scored"
    ),
    "items-listed-again": Attack(lambda: b"q1:" + b"plum," * 100_000 + b"plum\n", "scored"),
    "json-with-20-long-ids": Attack(
        lambda: json.dumps({f"{'é' * 400}{number}": ["plum", "plum"] for number in range(30)} | {"q1": []}).encode(),
        "scored",
    ),
    "parquet-of-7-MB-with-one-text": Attack(
        lambda: bombs.table(query=[os.urandom(3_500_000).hex()], item=["plum"], score=[1.0]), "rejected", "limits."
    ),
    "json-with-one-text-of-7-MB": Attack(lambda: b'{"q1": "' + b"x" * 7_000_000 + b'"}', "rejected"),
    "name-of-a-column-of-7-MB": Attack(lambda: b"query,item,score," + b"x" * 7_000_000 + b"\n", "rejected"),
    "parquet-with-a-name-of-1-MB": Attack(lambda: bombs.table(**{"x" * 1_000_000: ["q1"]}), "rejected"),
}


def fill(folder: Path, make: Callable[[Path], object], suffix: str = ".txt", prefix: str = "") -> None:
    """Make many files in the folder of a team."""
    folder.mkdir()
    for number in range(MANY):
        make(folder / f"{prefix}{number}{suffix}")


def fill_with_hard_links(folder: Path) -> None:
    """Make many names of one file."""
    one = folder.with_name(".one")
    one.touch()
    fill(folder, lambda path: path.hardlink_to(one))


FOLDERS: dict[str, Callable[[Path], object]] = {
    "many-files": lambda folder: fill(folder, lambda path: path.write_text(f"{LISTS}q4:{path.name}\n")),
    "many-uploads": lambda folder: fill(folder, Path.touch, prefix="."),
    "many-links": lambda folder: fill(folder, lambda path: path.symlink_to("/etc/passwd")),
    "many-folders": lambda folder: fill(folder, lambda path: (path / "deeper").mkdir(parents=True)),
    "many-hard-links": fill_with_hard_links,
}


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """All of them in one folder."""
    siege = Siege(tmp_path_factory.mktemp("siege") / "challenge", LIMITS)
    siege.place(ATTACKS)
    for team, make in FOLDERS.items():
        make(siege.main / team)
    siege.answer = siege.run("run")
    yield siege
    siege.restore()


@pytest.mark.parametrize("case", ATTACKS)
def test_outcome(case: str, siege: Siege) -> None:
    """As the table has it, in few words."""
    siege.check_outcome(case, ATTACKS[case])
    lines = siege.lines(f"{case}.txt")
    assert len(lines) <= 22
    assert all(len(line) < 400 for line in lines)


@pytest.mark.parametrize("team", FOLDERS)
def test_a_full_folder_is_reported_in_few_lines(team: str, siege: Siege) -> None:
    """And costs no more than its first files."""
    lines = [line for line in siege.answer.err.splitlines() if line.startswith(f"main/{team}")]
    assert len(lines) <= 4 * FILES_PER_TEAM
    assert any(f"{MANY - 20:,} more" in line or f"{MANY - FILES_PER_TEAM:,} of them" in line for line in lines)


def test_nobody_else_is_harmed(siege: Siege) -> None:
    """All that is written is bounded."""
    assert siege.answer.code == 1
    siege.check_others(len(ATTACKS) + FILES_PER_TEAM)


def test_every_page_and_every_row_is_bounded(siege: Siege) -> None:
    """A page of a team has no more than one outcome of 20 findings for each of its entries."""
    for path in (siege.folder / "site").rglob("*.html"):
        assert path.stat().st_size < 5 * BOUND, path
    assert max(map(len, siege.answer.err.splitlines())) < 400


def test_the_files_beyond_the_limit_are_left_out(siege: Siege) -> None:
    """In the order of receipt; a later file does not replace one that is recorded."""
    assert siege.board()["many-files"]["entries"] == FILES_PER_TEAM
    early = siege.main / "many-files" / "19910101T000000Z-early.txt"
    early.write_text(LISTS, encoding="utf-8")
    siege.run("run")
    assert siege.board()["many-files"]["entries"] == FILES_PER_TEAM
    early.unlink()


@pytest.mark.parametrize(("command", "code"), [("status", 0), ("doctor", 0), ("leaderboard", 0), ("render", 0)])
def test_other_commands(command: str, code: int, siege: Siege) -> None:
    """Their output is bounded, too."""
    answer = siege.run(command)
    assert answer.code == code, answer.err
    assert_printable(answer)
    assert len(answer.out + answer.err) < BOUND


@pytest.mark.parametrize("case", ["sparse-file-of-1-TB", "100,000-errors", "json-with-one-text-of-7-MB"])
def test_check(case: str, siege: Siege) -> None:
    """The participant gets the same, in few words."""
    answer = siege.check(siege.main / f"{case}.txt")
    assert answer.code == 1
    assert_printable(answer)
    assert len(answer.err) < BOUND


def test_a_file_that_becomes_sparse(tmp_path: Path) -> None:
    """`scorer doctor` does not read a terabyte either."""
    siege = Siege(tmp_path / "challenge", LIMITS)
    os.truncate(siege.main / "20260131T130000Z-charlie.txt", 1 << 40)
    answer = siege.run("doctor")
    assert answer.code == 1
    assert "(limits.file_mb)" in answer.err
    assert siege.run("run").code == 1
    assert siege.board() == siege.rows


@pytest.mark.endurance
def test_a_slow_file_costs_its_time_three_times(tmp_path: Path) -> None:
    """Then it is given up, until the organiser decides otherwise; the others are scored by the first run."""
    siege = Siege(tmp_path / "challenge", "seconds = 1")
    (siege.main / "slow.txt").write_bytes(b"[" + b"{}," * 2_000_000 + b"{}]")
    late = siege.main / "20260131T140000Z-zulu.txt"
    late.write_text(LISTS, encoding="utf-8")
    for attempt in (1, 2, 3):
        siege.answer = siege.run("run")
        assert siege.outcome("slow.txt", "slow") == "failed"
        assert f"it took longer than 1 seconds (attempt {attempt} of 3)" in siege.answer.err
        assert siege.board()["zulu"]["nDCG@5"] == 0
        siege.check_others(2)
    siege.answer = siege.run("run")
    assert siege.answer.code == 0
    assert "given up after 3 attempts" in siege.answer.err
    siege.restore()
