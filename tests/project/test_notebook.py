"""docs/notebook.md is a session at Python's prompt: each line prints what the page shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples import failures_of
from tests.paths import DOCS

PAGE = DOCS / "notebook.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_session_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom in an empty folder; the page has no other code."""
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))

    assert {language for language, _ in blocks} == {"pycon"}
    assert failures_of("\n".join(code for _, code in blocks), PAGE.name) == ""


def test_a_wrong_output_is_found() -> None:
    """The runner compares what is printed; only white space may differ."""
    assert failures_of(">>> 1 + 1\n2\n", "right") == ""
    assert "Expected:\n    3" in failures_of(">>> 1 + 1\n3\n", "wrong")
