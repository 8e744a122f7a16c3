"""Messages and progress in a terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from scorer.cli import output
from scorer.cli.output import progress, with_progress
from tests.commands import READ_AS, Terminal, command, in_terminal

SOLUTION = "q1 0 a 1\nq2 0 b 1\n"
RUN = "q1 Q0 a 1 1 {tag}\nq2 Q0 b 1 1 {tag}\n"


@pytest.mark.parametrize(
    ("done", "count", "seconds", "expected"),
    [
        (0, 300, 0.0, "main: 0/300"),
        (132, 300, 10.0, "main: 132/300, 13.2 a second, 13 s left"),
        (10, 4000, 1.0, "main: 10/4,000, 10.0 a second, 6 min 39 s left"),
        (2, 3, 8.0, "main: 2/3, 4.0 s each, 4 s left"),
        (60, 60, 3.0, "main: 60/60, 20.0 a second, 0 s left"),
    ],
)
def test_progress_has_counts_a_rate_and_the_time_left(done: int, count: int, seconds: float, expected: str) -> None:
    """Slow steps have their length in place of a rate."""
    assert progress("main", done, count, seconds) == expected


def test_nothing_is_shown_unless_standard_error_is_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The items are the same."""
    assert list(with_progress(iter("abc"), 3, "scoring")) == ["a", "b", "c"]
    assert capsys.readouterr() == ("", "")


SLOWLY = """
from scorer.cli import output
from scorer.cli import main
output._INTERVAL = 0
main()
"""


def written_to_terminal(*arguments: str | Path) -> str:
    """What ``scorer`` writes to a terminal."""
    written = b""
    with in_terminal(command(*arguments, program=SLOWLY)) as (screen, process):
        try:
            while block := os.read(screen, 1 << 16):
                written += block
        except OSError:  # the end of a terminal on Linux
            pass
        assert process.wait() == 0, written
    return written.decode()


def screen(written: str) -> list[str]:
    """The lines that a terminal shows after this text: a carriage return goes back to the beginning of a line."""
    lines = []
    for line in written.split("\r\n"):
        cells: list[str] = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        lines.append("".join(cells).rstrip())
    return lines


def test_a_terminal_shows_progress_on_one_line(tmp_path: Path) -> None:
    """It is replaced by the messages and the scores, and no part of it is left."""
    (tmp_path / "qrels.txt").write_text(SOLUTION, encoding="utf-8")
    for tag in "abc":
        (tmp_path / f"{tag}.txt").write_text(RUN.format(tag=tag) + "q3 Q0 x 1 1 b\n" * (tag == "b"), encoding="utf-8")
    files = [tmp_path / f"{tag}.txt" for tag in "abc"]

    written = written_to_terminal("evaluate", tmp_path / "qrels.txt", *files, "-m", "AP")

    assert written.index("\rscoring: 0/3") < written.index("\rscoring: 1/3, ") < written.index("\rscoring: 3/3, ")
    assert [line for line in screen(written) if READ_AS not in line] == [
        f'{files[1]}:3: query "q3" is unknown; its list is ignored',
        "submission      AP",
        "a           1.0000",
        "b           1.0000",
        "c           1.0000",
        "",
    ]


def test_the_line_fits_into_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A longer one would leave lines behind. Control characters are escaped."""
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((20, 5)))
    monkeypatch.setattr(sys.stderr, "fileno", lambda: 2)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(output, "_INTERVAL", 0)

    list(with_progress(iter("ab"), 2, "a\x1b[31m track with a long name"))

    lines = capsys.readouterr().err.split("\r")
    assert "\x1b" not in "".join(lines)
    assert lines[1] == r"a\x1b[31m track wit"
    assert all(len(line) < 20 for line in lines)


def test_an_error_leaves_no_progress(terminal: Terminal) -> None:
    """The line is cleared before a message, also where the work stops."""
    output._progress_line.show("scoring: 1/3")
    assert terminal.run("evaluate", "none.txt", "none.txt").err.split("\r")[1:] == [
        " " * len("scoring: 1/3"),
        "none.txt: no such file\n",
    ]
