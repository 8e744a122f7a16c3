"""Large solutions are kept: the same solution comes back, never that of other bytes, and no fault of it is a fault."""

from __future__ import annotations

import subprocess
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scorer import solution_cache
from scorer.errors import SolutionError
from scorer.formats.arrow import texts
from scorer.hits import Hits
from scorer.solution import Solution, digest
from scorer.solution_cache import HITS, VARIABLE, read_solution
from tests.commands import Terminal, command

VLNET = "q1:1:a|3,b|2,c|1\nq2:0:d|1,ü|0.5\nq3:0:\n"
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c -1\nq2 0 d 2\n"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache in which even small solutions are worth their place."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "kept" / "here"))
    monkeypatch.setattr(solution_cache, "WORTH", 1)
    return tmp_path / "kept" / "here"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A solution."""
    path = tmp_path / "solution.txt"
    path.write_text(VLNET, encoding="utf-8")
    return path


def same(one: Solution, other: Solution) -> bool:
    """In every part, to the type and the last bit."""
    for field in fields(Solution):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        pairs = (
            [(getattr(mine, name), getattr(its, name)) for name in HITS] if isinstance(mine, Hits) else [(mine, its)]
        )
        for left, right in pairs:
            if isinstance(left, pa.Array):
                if not left.equals(right):
                    return False
            elif left.dtype != right.dtype or not np.array_equal(left, right):
                return False
    return True


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a solution from its file fails."""

    def fail(*_: object, **__: object) -> Solution:
        raise AssertionError("read anew")

    monkeypatch.setattr(Solution, "read", fail)


@pytest.mark.parametrize("content", [VLNET, QRELS, "q:1:a|1\n"])
def test_a_kept_solution_is_the_same(content: str, cache: Path, file: Path, request: pytest.FixtureRequest) -> None:
    """In every part; it is not read again."""
    file.write_text(content, encoding="utf-8")
    plain = Solution.read(file)
    first = read_solution(file)
    request.getfixturevalue("unreadable")

    assert same(first, plain)
    assert same(read_solution(file), plain)
    assert same(read_solution(file, digest=digest(file)), plain)
    assert len(list(cache.iterdir())) == 1


def test_other_bytes_are_another_solution(cache: Path, file: Path) -> None:
    """Under the same name, too, and as old."""
    before = read_solution(file)
    file.write_text(VLNET.replace("a|3", "a|9"), encoding="utf-8")

    assert not same(read_solution(file), before)
    assert same(read_solution(file), Solution.read(file))


def test_another_format_is_another_solution(cache: Path, file: Path) -> None:
    """What the bytes mean depends on it."""
    file.write_text("q 0 i 1\n", encoding="utf-8")
    read_solution(file, "trec")

    with pytest.raises(SolutionError):
        read_solution(file, "vlnet")


def test_a_file_that_is_not_what_it_was_is_told(cache: Path, file: Path) -> None:
    """Whether it is kept or not."""
    read_solution(file)

    with pytest.raises(SolutionError, match="the file changed while it was read"):
        read_solution(file, digest="0" * 64)


def test_a_faulty_solution_is_not_kept(cache: Path, file: Path) -> None:
    """And is told as ever."""
    file.write_text("q1:1:a|x\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(SolutionError, match=r"solution\.txt:1: "):
            read_solution(file)
    assert not cache.exists()


@pytest.mark.parametrize("damage", [b"", b"PK", b"no container", None])
def test_what_is_damaged_is_made_anew(damage: bytes | None, cache: Path, file: Path) -> None:
    """Also where one bit of a number is another."""
    plain = read_solution(file)
    (kept,) = cache.iterdir()
    whole = kept.read_bytes()
    place = whole.index(np.array(plain.ideal.grade).tobytes())
    kept.write_bytes(whole[:place] + b"\1" + whole[place + 1 :] if damage is None else damage)

    assert same(read_solution(file), plain)
    assert kept.read_bytes() == whole


def test_where_nothing_can_be_written_nothing_is_lost(tmp_path: Path, cache: Path, file: Path) -> None:
    """The folder is a file, here."""
    (tmp_path / "kept").write_text("in the way", encoding="utf-8")

    assert same(read_solution(file), Solution.read(file))


def test_nothing_is_kept_of_what_is_small_or_where_it_is_off(
    tmp_path: Path, cache: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file is read as fast."""
    monkeypatch.setattr(solution_cache, "WORTH", len(VLNET.encode()) + 1)
    read_solution(file)
    monkeypatch.setattr(solution_cache, "WORTH", 1)
    monkeypatch.setenv(VARIABLE, "off")
    read_solution(file)

    assert not cache.exists()


def test_what_was_not_used_for_longest_goes_first(cache: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When there is no more room; the newest stays."""
    kept = []
    for query in range(3):
        file.write_text(f"q{query}:1:a|1\n", encoding="utf-8")
        read_solution(file)
        kept += [each for each in cache.iterdir() if each not in kept]
    file.write_text("q0:1:a|1\n", encoding="utf-8")
    read_solution(file)  # used again
    monkeypatch.setattr(solution_cache, "ROOM", 2 * kept[0].stat().st_size)
    file.write_text("q3:1:a|1\n", encoding="utf-8")
    read_solution(file)

    left = set(cache.iterdir())
    assert len(left) == 2
    assert kept[0] in left


def test_commands_that_run_at_once_do_not_disturb_each_other(tmp_path: Path, cache: Path, terminal: Terminal) -> None:
    """Each keeps the solution whole, or finds it."""
    items = ",".join(f"item-{number}|{number % 5 + 1}" for number in range(150))
    (tmp_path / "right").write_text("".join(f"q{query}:1:{items}\n" for query in range(12_000)), encoding="utf-8")
    (tmp_path / "one").write_text("q1:item-4,item-1\n", encoding="utf-8")
    asked = command("evaluate", tmp_path / "right", tmp_path / "one", "-m", "nDCG@5", "--format", "json")
    assert (tmp_path / "right").stat().st_size >= 1 << 24

    running = [subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = [each.communicate()[0] for each in running]

    assert told[0] == told[1] == told[2]
    assert terminal.run(*asked[3:]).out == told[0]
    assert [each.suffix for each in cache.iterdir()] == [".npz"]


def test_ids_that_are_no_ascii_come_back(cache: Path, file: Path) -> None:
    """As they were."""
    assert read_solution(file).items.equals(texts(["a", "b", "c", "d", "ü"]))
    assert read_solution(file).items.equals(texts(["a", "b", "c", "d", "ü"]))
