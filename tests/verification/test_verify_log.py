"""`scorer verify log`: any change of the log is found, and the message says which event it concerns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.record.log import START, LogLine
from scorer.verification.log import read_log, verified_log
from tests.boards import published_log
from tests.commands import Answer, Terminal, failed

COUNT = 12

LINES = published_log(COUNT).lines

FORM = f"the log has {COUNT} events, and each line has the form of an event"
INDEXES = f"the events are 1 to {COUNT}, without a gap"
HEADS = f"each head follows from the leaves until it; the last is {LINES[-1].head.hex()}"


def text(lines: Sequence[LogLine]) -> str:
    """The content of log.jsonl."""
    return "".join(f"{line.text}\n" for line in lines)


def chained(lines: Sequence[LogLine]) -> list[LogLine]:
    """Lines with new indexes and heads, as someone writes them who wants to hide a change."""
    found, head = [], START
    for index, line in enumerate(lines, 1):
        head = replace(line, index=index).head_after(head)
        found.append(replace(line, index=index, head=head))
    return found


Verify = Callable[..., Answer]


@pytest.fixture
def verify(tmp_path: Path, terminal: Terminal) -> Verify:
    """Verifies a log with some options."""

    def run(content: str | bytes | Sequence[LogLine], *options: str | Path) -> Answer:
        file = tmp_path / "log.jsonl"
        if not isinstance(content, str | bytes):
            content = text(content)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return terminal.run("verify", "log", file, *options)

    return run


def test_a_log_is_verified(verify: Verify) -> None:
    """With a line for each check."""
    answer = verify(LINES)

    assert failed(answer) == []
    assert answer.out.splitlines() == [f"ok      {each}" for each in (FORM, INDEXES, HEADS)]


def test_an_earlier_copy_and_a_head_are_verified(verify: Verify, tmp_path: Path) -> None:
    """A head with its index or without it, in digits of any case."""
    copy = tmp_path / "earlier.jsonl"
    copy.write_text(text(LINES[:7]))
    head = LINES[4].head.hex()
    for given_head in (f"5:{head}", head, head.upper()):
        answer = verify(LINES, "--earlier", copy, "--head", given_head)

        assert failed(answer) == []
        assert "ok      the log begins with the 7 events of the earlier copy" in answer.out
        assert f"ok      event 5 has the head {head}" in answer.out


# Tampering


@given(data=st.data())
def test_each_change_of_one_byte_is_found(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any byte becomes any other one, is dropped, or is added, at any place: the check of its line fails first."""
    content = text(LINES).encode()
    place = data.draw(st.integers(0, len(content) - 1))
    new = data.draw(st.binary(max_size=2))
    changed = content[:place] + new + content[place + 1 :]
    if changed == content:
        return
    file = tmp_path_factory.getbasetemp() / "changed.jsonl"
    file.write_bytes(changed)
    line = content.count(b"\n", 0, place) + 1

    found = [each.contradiction for each in verified_log(file) if each.contradiction]

    assert found
    assert any(f"line {near} " in found[0] or f"line {near}:" in found[0] for near in (line, line + 1)), found


@pytest.mark.parametrize("dropped", [1, 6, COUNT - 1])
def test_a_dropped_line_is_found(verify: Verify, dropped: int) -> None:
    """By the gap, and by the head after it."""
    gap, head = failed(verify([line for line in LINES if line.index != dropped]))

    assert gap.endswith(f": line {dropped} has event {dropped + 1}: event {dropped} is missing")
    assert f": line {dropped} (event {dropped + 1}): found " in head
    assert head.endswith("or an event before it was changed, dropped or added")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*LINES[:6], LINES[5], *LINES[6:]], ": line 7 has event 6: this event is repeated"),
        (
            [replace(line, index=index) for index, line in enumerate((*LINES[:5], *LINES[6:]), 1)],
            ": line 6 (event 6): found ",
        ),
        (
            chained([*LINES[:5], *(replace(line, epoch=2) for line in LINES[5:])]),
            ": line 6 has epoch 2, expected 1",
        ),
    ],
    ids=["repeated", "dropped and numbered again", "another epoch, with heads that fit"],
)
def test_another_order_is_found(verify: Verify, lines: Sequence[LogLine], message: str) -> None:
    """By indexes, heads, and epochs."""
    assert message in failed(verify(lines))[0]


def rewritten(change: str) -> list[LogLine]:
    """A log with a valid chain from which event 6 was dropped, or in which it was changed, or came twice."""
    others = {
        "dropped": [*LINES[:5], *LINES[6:]],
        "changed": [*LINES[:5], replace(LINES[5], leaf=bytes(32)), *LINES[6:]],
        "added": [*LINES[:5], LINES[8], *LINES[5:]],
    }
    return chained(others[change])


@pytest.mark.parametrize("change", ["dropped", "changed", "added"])
def test_a_new_chain_is_found_with_an_earlier_copy_or_a_head(verify: Verify, tmp_path: Path, change: str) -> None:
    """The log is valid, so only these show the change; the copy shows which event it concerns."""
    copy = tmp_path / "earlier.jsonl"
    copy.write_text(text(LINES[:9]))
    lines = rewritten(change)
    assert failed(verify(lines)) == []

    (found,) = failed(verify(lines, "--earlier", copy))
    assert found.endswith(": event 6 differs: it was changed, or an event until it was dropped or added")
    (found,) = failed(verify(lines, "--head", f"9:{LINES[8].head.hex()}"))
    assert found.endswith("; an event until 9 was changed, dropped or added")
    assert lines[8].head.hex() in found
    (found,) = failed(verify(lines, "--head", LINES[8].head.hex()))
    assert ": no event has it; " in found
    assert failed(verify(lines, "--head", LINES[4].head.hex())) == []


# Version 1


OLD = published_log(7, None).lines
"""A log of version 1."""


def switched(*, at: int = 6, kind: str = "log") -> list[LogLine]:
    """A log that begins with version 1, and has version 2 from an event on."""
    later = [replace(line, kind=kind if line.index == at else line.kind) for line in LINES[at - 1 :]]
    return chained([*OLD[: at - 1], *later])


def test_another_kind_in_version_1_is_found_with_an_earlier_copy(
    verify: Verify, tmp_path: Path, terminal: Terminal
) -> None:
    """No head covers it, which a note says."""
    copy = tmp_path / "earlier.jsonl"
    copy.write_text(text(OLD))
    lines = [*OLD[:5], replace(OLD[5], kind="arrival"), *OLD[6:]]

    answer = verify(lines)
    assert answer.code == 0
    note = "note    the heads of 7 events have version 1 and do not cover kinds: an earlier copy shows whether one was "
    assert answer.out.splitlines()[-1] == f"{note}changed"
    answer = verify(lines, "--earlier", copy)
    assert (answer.code, ": event 6 differs: " in answer.out) == (1, True)


def test_a_log_goes_on_with_version_2(verify: Verify) -> None:
    """The note says which events have version 1."""
    answer = verify(switched())

    assert answer.code == 0
    assert "note    the heads of 5 events have version 1 " in answer.out


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (chained([*LINES[:5], *OLD[5:]]), "line 6 has version 1 after a line of version 2"),
        (switched(kind="phases"), "line 6 has the kind phases: an event of the kind log begins version 2"),
        (chained([*LINES[:5], replace(LINES[5], kind="log")]), "line 6 has the kind log: an event of the kind log "),
        ([*OLD[:5], replace(OLD[5], kind="preview")], 'line 6: found the kind "preview"'),
        ([*LINES[:5], replace(LINES[5], kind="lost")], 'line 6: found the kind "lost"'),
        (text(LINES).replace('"version":2', '"version":3'), "line 1: found "),
        (text(LINES).replace('"epoch":1', '"epoch":0'), "line 1: found "),
        (text(LINES).replace(',"epoch":1', ""), "line 1: found "),
    ],
)
def test_versions_have_one_order(verify: Verify, lines: str | Sequence[LogLine], message: str) -> None:
    """From 1 to 2, with an event that says so, and never back."""
    answer = verify(lines)

    assert answer.code == 1
    assert message in answer.out


def test_a_log_that_is_older_than_a_copy_or_a_head_is_to_be_looked_at_again(verify: Verify, tmp_path: Path) -> None:
    """It may be that of a freeze, or an older download, so nobody is accused."""
    copy = tmp_path / "earlier.jsonl"
    copy.write_text(text(LINES))

    found = verify(LINES[:9], "--earlier", copy)
    assert found.code == 4
    assert "later   the log begins with the" in found.out
    assert ": the log ends before event 10 of the copy: download the log again" in found.out
    found = verify(LINES[:9], "--head", f"12:{LINES[11].head.hex()}")
    assert found.code == 4
    assert ": the log ends with event 9, and was published before event 12: download it again later" in found.out


# Other files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty; expected a line for each event"),
        (text(LINES)[:-1], f"line {COUNT}: the line has no end; the file is incomplete"),
        (text(LINES)[:-9], f"line {COUNT}: the line has no end"),
        (f"{text(LINES[:2])}\n", 'line 3: found "", expected {"version":2,"epoch":1,"index":1,"kind":"arrival",'),
        (text(LINES).replace("\n", "\r\n"), 'line 1: found "{'),
        (text(LINES).replace('"index":3', '"index":03'), "line 3: found "),
        (text(LINES).replace('"index":3', '"index": 3'), "line 3: found "),
        (text(LINES).replace('"index":1,', '"index":0,', 1), "line 1: found "),
        (text(LINES).replace('"index":2,', f'"index":{"9" * 19},'), "line 2: found "),
        (text(LINES).replace('"phases"', '"phrases"', 1), 'line 1: found the kind "phrases"'),
        (text(LINES).upper(), "line 1: found "),
        (b"\xff\x00\x1b[31m\n", "line 1: found "),
        ("<html>\n" * 3, 'line 1: found "<html>"'),
        ("[" * 100_000 + "\n", "line 1: found "),
    ],
)
def test_a_malformed_line_is_found(verify: Verify, content: str | bytes, message: str) -> None:
    """Its number and what was expected; the other checks, which need the line, are left out."""
    answer = verify(content)
    (found,) = failed(answer)

    assert message in found
    assert len(answer.out.splitlines()) == 1
    assert len(found) < 600
    assert "\x1b" not in answer.out


def test_a_malformed_log_is_still_compared_with_a_copy(verify: Verify, tmp_path: Path) -> None:
    """The comparison is of bytes."""
    copy = tmp_path / "earlier.jsonl"
    copy.write_text(text(LINES))

    form, difference = failed(verify(text(LINES).replace('"index":4', '"index":x'), "--earlier", copy))

    assert ": line 4: found " in form
    assert ": event 4 differs: " in difference


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["verify", "log", "absent.jsonl"], 1, "absent.jsonl: cannot be read: No such file or directory"),
        (["verify", "log", "."], 1, ".: cannot be read: Is a directory"),
        (["verify", "log", "x", "--head", "12"], 2, "expected the index of an event and 64 hexadecimal digits"),
        (["verify", "log", "x", "--head", f"0:{'a' * 64}"], 2, "expected the index of an event"),
        (["verify", "log", "x", "--head", f"1:{'a' * 63}"], 2, "expected the index of an event"),
        (["verify", "log", "x", "--key-sha256", "a" * 64], 2, "--key-sha256: no option of log; it takes --earlier, --"),
        (["verify", "split", "x", "--head", "a" * 64], 2, "--head: no option of split; it takes --key-sha256"),
        (["verify", "log"], 2, "the following arguments are required: file"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: list[str], code: int, message: str, terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one message."""
    monkeypatch.chdir(tmp_path)
    answer = terminal.run(*arguments)

    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err


def test_a_log_can_be_read_by_other_checks(tmp_path: Path) -> None:
    """As its lines; a malformed line is an error."""
    from scorer.errors import ScorerError

    file = tmp_path / "log.jsonl"
    file.write_text(text(LINES))
    assert read_log(file) == list(LINES)
    file.write_text("{}\n")
    with pytest.raises(ScorerError, match=r"log.jsonl: line 1: found \"\{\}\", expected .*; download the file again"):
        read_log(file)


def test_verification_needs_neither_a_database_nor_arrays() -> None:
    """In a new process: nothing heavy is loaded, so that a participant waits for nothing but the file."""
    code = (
        "import sys, pkgutil, importlib, scorer.verification.log, scorer.verification.log\n"
        "print(sorted({'sqlalchemy', 'numpy', 'pandas', 'pyarrow', 'pydantic', 'scipy'} & set(sys.modules)))\n"
        "import scorer.verification as room\n"
        "for each in pkgutil.iter_modules(room.__path__):\n"
        "    importlib.import_module(f'scorer.verification.{each.name}')\n"
        "print(sorted({'sqlalchemy', 'numpy', 'pandas', 'pyarrow', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n[]\n"
