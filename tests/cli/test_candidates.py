"""`scorer check` with a public list of candidate items."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Answer, Terminal

ITEMS = "apple\npear\nplum\nfig\ngrape\nlemon\ncherry\n"


@pytest.fixture
def with_items(challenge: Path) -> Path:
    """A new challenge with a list of candidate items, and without its solution, as a participant has it."""
    (challenge / "solutions" / "main.txt").unlink()
    (challenge / "items").mkdir(exist_ok=True)
    (challenge / "items" / "main.txt").write_text(ITEMS, encoding="utf-8")
    settings = challenge / "challenge.toml"
    text = settings.read_text(encoding="utf-8")
    if "\nitems = " not in text:
        settings.write_text(text.replace("\nqueries = ", '\nitems = "items/main.txt"\nqueries = '), encoding="utf-8")
    return challenge


def check(terminal: Terminal, challenge: Path, content: str) -> Answer:
    """Check a submission with this content."""
    file = challenge / "mine.txt"
    file.write_text(content, encoding="utf-8")
    return terminal.run("check", file, "--track", "main", "--challenge", challenge)


def test_check_reports_items_that_are_not_candidates(with_items: Path, terminal: Terminal) -> None:
    """The file stays valid; a note has the number of unknown items and examples with their lines."""
    answer = check(terminal, with_items, "q1:apple,banana,pear\nq2:fig,9\nq3:lemon\nq4:cherry\n")

    assert answer.code == 0
    assert "2 of its 7 items are not candidate items" in answer.err
    assert "mine.txt:1: " in answer.err
    assert '"banana"' in answer.err
    assert "mine.txt:2: " in answer.err
    assert '"9"' in answer.err
    assert "valid for track main: 4 lists, 7 items" in answer.out


def test_check_accepts_candidates_that_the_solution_does_not_have(with_items: Path, terminal: Terminal) -> None:
    """Only the public list decides."""
    answer = check(terminal, with_items, "q1:cherry,apple\nq2:fig\nq3:lemon\nq4:plum\n")

    assert answer.code == 0
    assert " candidate" not in answer.err


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "{}: the file is empty"), (None, "tracks.main.items: names {}, but there is no such file")],
)
def test_the_list_of_items_must_have_items(
    content: str | None, message: str, with_items: Path, terminal: Terminal
) -> None:
    """The error names the list, which is the organiser's."""
    file = with_items / "items" / "main.txt"
    file.unlink() if content is None else file.write_text(content, encoding="utf-8")

    answer = check(terminal, with_items, "q1:apple\n")

    assert answer.code == 1
    assert all(part in answer.err for part in message.split("{}"))
    assert str(file) in answer.err
