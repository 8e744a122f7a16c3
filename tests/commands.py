"""Running the command line in tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from scorer.cli import main


@dataclass(frozen=True, slots=True)
class Answer:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


class Terminal:
    """Runs commands in this process, which is fast, with the exit codes of `main`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def run(self, *arguments: str | Path) -> Answer:
        """Run ``scorer`` with these arguments."""
        self._monkeypatch.setattr(sys, "argv", ["scorer", *map(str, arguments)])
        self._capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Answer(code, *self._capsys.readouterr())


def command(*arguments: str | Path) -> list[str]:
    """The command line that runs ``scorer`` in another process."""
    return [sys.executable, "-c", "from scorer.cli import main; main()", *map(str, arguments)]


def process(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Answer:
    """Run ``scorer`` in another process."""
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **(environment or {})},
    )
    return Answer(done.returncode, done.stdout, done.stderr)
