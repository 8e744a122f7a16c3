"""Texts for people: the length of messages, names, and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import LONGEST, MOST_SHOWN, Findings, Problem, SubmissionError
from scorer.rules.teams import slugs
from scorer.wording import iso_time, letters, printable_name, utc_time
from tests.commands import Terminal

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20) | st.text("\\ x20ud\udce9\u3164", max_size=8)
"""Also with lone surrogates, backslashes and text that looks like an escape."""


@given(st.text(max_size=400))
def test_the_text_of_a_problem_is_cut(text: str) -> None:
    """To 300 characters, with dots for what is cut; a shorter text does not change."""
    cut = Problem.of_form(1, text).text

    assert len(cut) <= LONGEST == 300
    assert cut == text if len(text) <= LONGEST else (cut[:-3], cut[-3:]) == (text[: LONGEST - 3], "...")


def test_the_problems_of_a_file_are_bounded() -> None:
    """At most 20 are shown, in any way of adding them; the message of the error is bounded as well."""
    findings = Findings([Problem.of_form(line, "é" * 10_000) for line in range(1, 100)], 99)
    assert len(findings.shown) == MOST_SHOWN == 20
    findings.add(0, "x" * 10_000)
    findings.add_each(range(5), lambda at: str(at) * 10_000)
    findings.extend(Findings([Problem.of_form(0, "y")] * 50, 50))

    assert (len(findings.shown), findings.count) == (MOST_SHOWN, 155)
    assert len(str(SubmissionError("file.txt", findings))) < 21 * (LONGEST + 30)


def test_the_errors_that_a_command_prints_are_bounded(challenge: Path, terminal: Terminal, tmp_path: Path) -> None:
    """A table with a column whose name is a megabyte long gives a short message."""
    file = tmp_path / "wide.csv"
    file.write_text("query,item," + "x" * 1_000_000 + "\nq1,a,1\n", encoding="utf-8")

    answer = terminal.run("check", "--challenge", challenge, "--track", "main", file)

    assert answer.code == 1
    assert len(answer.err) < 2 * (LONGEST + 200)


@given(ANY_TEXT, ANY_TEXT)
def test_different_names_are_shown_and_linked_differently(one: str, other: str) -> None:
    """The printable form is one line that every file can hold; neither forms nor slugs collide."""
    addresses = slugs([one, other])
    assert (one == other) == (printable_name(one) == printable_name(other)) == (addresses[one] == addresses[other])
    assert printable_name(one).isprintable()
    assert printable_name(one).encode().decode() == printable_name(one)
    assert "." not in addresses[one]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("caf\udce9", "caf\\udce9"),
        ("caf\\udce9", "caf\\\\udce9"),
        ("\u3164", "\\u3164"),
        ("a\u034fb", "a\\u034fb"),
        (" ", "\\x20"),
        (" a  b ", "\\x20a \\x20b\\x20"),
        ("Ünïcode 🦊", "Ünïcode 🦊"),
    ],
)
def test_what_a_page_would_not_show_is_escaped(name: str, shown: str) -> None:
    """Bytes that are not UTF-8, invisible characters, and spaces at an end or in a row."""
    assert printable_name(name) == shown


@pytest.mark.parametrize("year", [1, 99, 2011, 9999])
def test_years_have_four_digits(year: int) -> None:
    """In all forms of a time."""
    when = datetime(year, 4, 18, 8, 15, 30, 999_999, tzinfo=UTC)

    assert utc_time(when, "day") == f"{year:04}-04-18"
    assert utc_time(when) == f"{year:04}-04-18 08:15"
    assert utc_time(when, "second") == f"{year:04}-04-18 08:15:30"
    assert iso_time(when) == f"{year:04}-04-18T08:15:30Z"


def test_times_are_in_utc() -> None:
    """From any zone."""
    assert utc_time(datetime(2011, 4, 18, 1, tzinfo=timezone(timedelta(hours=2)))) == "2011-04-17 23:00"


def test_letters_go_on_after_z() -> None:
    """A to Z, then AA, AB, ..., as for tiers and for the columns of a spreadsheet."""
    assert [letters(index) for index in (0, 1, 25, 26, 27, 51, 52, 701, 702)] == [
        *("A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA")
    ]
