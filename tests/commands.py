"""Running the command line in tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from scorer.cli import main

READ_AS = "without a header, read as "
"""Begins the line on how a file without a header is read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Return the messages, without the lines on how files without a header are read."""
        return "".join(line for line in self.err.splitlines(keepends=True) if READ_AS not in line)


class Terminal:
    """Runs commands in this process, which is fast, with the exit codes of `main`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def run(self, *arguments: str | Path) -> Answer:
        self._monkeypatch.setattr(sys, "argv", ["scorer", *map(str, arguments)])
        self._capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Answer(code, *self._capsys.readouterr())


def here(*arguments: str | Path) -> Answer:
    """As `Terminal.run`, for fixtures of a module."""
    out, err, code = StringIO(), StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["scorer", *map(str, arguments)])
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Answer(code, out.getvalue(), err.getvalue())


RUN = "from scorer.cli import main; main()"

MEASURED = """
import atexit, sys
from pathlib import Path
def tell():
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print("MEMORY", status["VmHWM"].split()[0], file=sys.stderr)
atexit.register(tell)
from scorer.cli import main
main()
"""


def command(*arguments: str | Path, program: str = RUN) -> list[str]:
    """The command line that runs ``scorer``, or `program` in its place, in another process."""
    return [sys.executable, "-c", program, *map(str, arguments)]


def process(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    prefix: tuple[str, ...] = (),
    program: str = RUN,
    timeout: float = 120,
) -> Answer:
    """Run ``scorer`` in another process, below the command `prefix`; or `program` in its place."""
    done = subprocess.run(
        [*prefix, *command(*arguments, program=program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**os.environ, **(environment or {})},
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@contextmanager
def in_terminal(
    arguments: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a program in a terminal, in a folder; yields the terminal's keyboard and screen, and the process.

    The program ends with the context.
    """
    import pty

    keyboard, terminal = pty.openpty()
    try:
        with subprocess.Popen(
            arguments,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        ) as running:
            os.close(terminal)
            try:
                yield keyboard, running
            finally:
                running.kill()
    finally:
        os.close(keyboard)


def measured(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> tuple[Answer, int]:
    """Run ``scorer`` in another process. Returns the answer, and the most memory of that process, in bytes."""
    answer = process(*arguments, environment=environment, program=MEASURED, timeout=300)
    err, _, memory = answer.err.rpartition("MEMORY ")
    return Answer(answer.code, answer.out, err), int(memory) << 10


def failed(answer: Answer) -> list[str]:
    """The lines of a verification that failed; each other line has another outcome."""
    lines = answer.out.splitlines()
    assert all(line.startswith(("ok      ", "FAILED  ", "note    ", "open    ", "later   ")) for line in lines)
    found = [line.removeprefix("FAILED  ") for line in lines if line.startswith("FAILED")]
    assert (answer.code == 1) == bool(found or answer.err)
    return found
