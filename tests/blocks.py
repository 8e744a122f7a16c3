"""Running the code blocks of a page of the documentation, as its readers do."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.commands import Terminal

BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)

PLAIN = re.compile(r"scorer [^|<>;&`$*\\]+")
"""A command of `scorer` that needs no shell."""

FAILS = re.compile(r"# exits with ([123])$")


def run_blocks(text: str, name: str, terminal: Terminal, names: dict[str, object], programs: Path | None = None) -> int:
    """Run the blocks from top to bottom in the current folder; return how many there are.

    Commands exit with the stated code, or 0. A block of text has the output of the command before it. Blocks of Python
    share `names`. With a folder of programs, they run everything instead of this process.
    """
    ran, printed, before = 0, "", ""
    for language, code in BLOCK.findall(text):
        ran += 1
        if language == "python":
            before += code
            if programs is None:
                exec(compile(code, name, "exec"), names)
            else:
                subprocess.run([programs / "python", "-c", before], check=True, stdout=subprocess.DEVNULL)
            continue
        if language == "text":
            assert code == printed
            continue
        for line in code.splitlines():
            assert line.startswith("$ "), line
            fails = FAILS.search(line)
            command = FAILS.sub("", line.removeprefix("$ ")).strip()
            if PLAIN.fullmatch(command) and programs is None:  # in this process, which is faster
                answer = terminal.run(*shlex.split(command)[1:])
                exit_code, printed = answer.code, answer.out
            else:
                exit_code, printed = shell(command, programs or Path(sys.executable).parent)
            assert exit_code == (int(fails[1]) if fails else 0), line
    return ran


def shell(command: str, programs: Path) -> tuple[int, str]:
    """Run a command line with the `scorer` of a folder; return its exit code and its output."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    bash = shutil.which("bash") or "/bin/sh"
    done = subprocess.run(
        [bash, "-c", command],
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
