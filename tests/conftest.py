"""Fixtures that many tests share."""

from __future__ import annotations

import pytest

from scorer.solution_cache import OFF, VARIABLE
from tests.commands import Terminal


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes what this machine's user keeps."""
    monkeypatch.setenv(VARIABLE, OFF)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Runs ``scorer`` commands."""
    return Terminal(monkeypatch, capsys)
