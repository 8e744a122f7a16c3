"""`scorer run --quiet`: prints what is new and needs a person, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scorer.organising.job import Messages, Output
from tests.commands import Answer, Terminal, here

VALID = "q1:apple,pear\nq2:fig\nq3:lemon\nq4:pear\n"


@pytest.fixture
def challenge(tmp_path: Path) -> Path:
    """A new challenge that is scored."""
    folder = tmp_path / "challenge"
    assert here("init", folder).code == 0
    assert here("score", folder, "--executor", "serial", "--quiet") == Answer(0, "", "")
    return folder


def quiet(terminal: Terminal, folder: Path, *options: str) -> Answer:
    """A quiet run that does not render."""
    return terminal.run("score", "--quiet", "-C", folder, "--executor", "serial", *options)


def submit(folder: Path, text: str, name: str = "new") -> Path:
    """A file of a new team."""
    file = folder / "submissions" / "main" / f"{name}.txt"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_run_without_news_prints_nothing(challenge: Path, terminal: Terminal) -> None:
    """Also if it scores a new file; the site shows it."""
    assert quiet(terminal, challenge) == Answer(0, "", "")

    submit(challenge, VALID)

    assert terminal.run("run", "--quiet", challenge, "--executor", "serial") == Answer(0, "", "")
    assert "new" in (challenge / "site" / "index.html").read_text(encoding="utf-8")


def test_a_rejection_is_printed_once(challenge: Path, terminal: Terminal) -> None:
    """The exit codes are those of any run."""
    submit(challenge, VALID + VALID)

    first = quiet(terminal, challenge)

    assert (first.code, first.out) == (1, "")
    assert all(line.startswith("main/new") for line in first.err.splitlines()), first.err
    assert first.err
    assert quiet(terminal, challenge) == Answer(0, "", "")
    assert quiet(terminal, challenge, "--strict") == Answer(1, "", "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_missing_files_are_news_once(challenge: Path, terminal: Terminal) -> None:
    """A folder that is empty by mistake is not a second mail, also in a challenge whose name is not text."""
    folder = challenge.rename(challenge.with_name("\udcff"))
    for file in (folder / "submissions" / "main").iterdir():
        file.unlink()

    answer = quiet(terminal, folder)

    assert (answer.code, answer.out) == (1, "")
    assert "submissions are missing" in answer.err
    assert quiet(terminal, folder) == Answer(1, "", "")


def test_a_problem_that_stays_is_printed_once(challenge: Path, terminal: Terminal) -> None:
    """It is new again after it was gone, and when the list of what was reported is damaged."""
    (challenge / "teams.toml").write_text("= broken", encoding="utf-8")
    first = quiet(terminal, challenge)
    assert first.code == 1
    assert "teams.toml" in first.err

    assert quiet(terminal, challenge) == Answer(1, "", "")
    assert quiet(terminal, challenge, "--track", "main") == Answer(1, "", "")
    assert "teams.toml" in terminal.run("score", challenge, "--executor", "serial").err

    (challenge / "teams.toml").write_text("", encoding="utf-8")
    assert quiet(terminal, challenge) == Answer(0, "", "")
    (challenge / "teams.toml").write_text("= broken", encoding="utf-8")
    assert quiet(terminal, challenge) == first
    (file,) = challenge.glob("*.reported")
    for damaged in (b"", b"{}", b"[1", b"7", b"\xff"):
        file.write_bytes(damaged)
        assert quiet(terminal, challenge) == first
        assert quiet(terminal, challenge).err == ""


def test_a_track_that_cannot_be_scored_is_news_once(challenge: Path, terminal: Terminal) -> None:
    """An error that stops the whole run is printed each time."""
    (solution,) = (challenge / "solutions").iterdir()
    submit(challenge, VALID)
    solution.write_bytes(b"\xff\xfe broken")

    first = quiet(terminal, challenge)
    again = quiet(terminal, challenge)

    assert first.code == again.code == 1
    assert "not scored" in first.err
    assert again.err == ""

    (challenge / "challenge.toml").write_text("= broken", encoding="utf-8")
    assert "challenge.toml" in quiet(terminal, challenge).err
    assert "challenge.toml" in quiet(terminal, challenge).err


def test_run_and_score_share_the_list(challenge: Path, terminal: Terminal) -> None:
    """What one of them reported is not news for the other."""
    (challenge / "teams.toml").write_text("= broken", encoding="utf-8")

    assert "teams.toml" in terminal.run("run", challenge, "--quiet", "--executor", "serial").err
    assert quiet(terminal, challenge).err == ""


def test_a_watch_prints_a_message_once_as_long_as_it_stays_true(tmp_path: Path) -> None:
    """One that went away and comes back is new; the next process knows all of the last ones."""
    printed: list[str] = []
    output = Output(lambda *texts: printed.extend(texts), lambda results, *_: results)
    with Messages(tmp_path / "reported", output, are_quiet=True, is_partial=False) as messages:
        for texts in (["a", "b"], ["a"], ["a"], ["a", "b"]):
            messages(*texts)
            messages.again()
    assert printed == ["a", "b", "b"]
    with Messages(tmp_path / "reported", output, are_quiet=True, is_partial=False) as messages:
        messages("b", "c")
    assert printed == ["a", "b", "b", "c"]
