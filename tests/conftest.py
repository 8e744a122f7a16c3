"""Fixtures that many tests share."""

from __future__ import annotations

import pytest

from tests.commands import Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """Runs ``scorer`` commands."""
    return Terminal(monkeypatch, capsys)
