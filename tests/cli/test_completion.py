"""Completion in shells: the scripts are printed by one command, and bash completes by its script."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scorer.cli import COMMANDS
from scorer.cli.run import measure_names
from scorer.measures import parse
from tests.commands import Terminal, here, in_terminal

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")

DRIVER = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_scorer
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""Calls the function as bash does, with the words of a command line, and prints what it offers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two files and a folder, and the scripts in another one."""
    folder = tmp_path_factory.mktemp("completion") / "here"
    (folder / "runs").mkdir(parents=True)
    for name in ("qrels.txt", "run a.txt"):
        (folder / name).touch()
    for shell in ("bash", "zsh", "fish"):
        (folder.parent / shell).write_text(here("completion", shell).out, encoding="utf-8")
    return folder


def offered(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words; bash has split them at "=" and "@"."""
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-c", DRIVER, "bash", folder.parent / "bash", "scorer", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@needs_bash
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["eval"], ["evaluate"]),
        (["--v"], ["--version"]),
        (["evaluate", ""], ["qrels.txt", "run a.txt", "runs"]),
        (["evaluate", "qrels.txt", "run"], ["run a.txt", "runs"]),
        (["evaluate", "--si"], ["--side-by-side", "--significance"]),
        (["evaluate", "qrels.txt", "--format", "la"], ["latex"]),
        (["evaluate", "--format", "=", "la"], ["latex"]),
        (["evaluate", "--split", "="], ["all", "preliminary", "rest"]),
        (["evaluate", "--significance", ""], [""]),
        (["evaluate", "qrels.txt", "-m", "muA"], ["muAP"]),
        (["evaluate", "-m", "AP,muA"], ["AP,muAP"]),
        (["evaluate", "-m", "P", "@"], ["@10"]),
        (["evaluate", "-m", "P", "@", "5,muA"], ["@5,muAP"]),
        (["evaluate", "-m", "P", "@", "5,AP", "q"], ["qrels.txt"]),
        (["compare", "--challenge", ""], ["runs"]),
        (["verify", "lo"], ["log"]),
        (["verify", "log", "q"], ["qrels.txt"]),
        (["verify", "--key", "qrels.txt", "lo"], ["log"]),
        (["verify", "log", "qrels.txt", "q"], [""]),
        (["measures", "muA"], ["muAP"]),
        (["convert", "--from", "let"], ["letor"]),
        (["nonsense", ""], [""]),
    ],
    ids=" ".join,
)
def test_bash_completes(words: list[str], expected: list[str], folder: Path) -> None:
    """Commands, options, the values of options, measures after commas, files and folders."""
    assert sorted(offered(folder, *words)) == expected


@pytest.mark.parametrize(("program", "script"), [("bash", "bash"), ("bash", "zsh"), ("zsh", "zsh"), ("fish", "fish")])
def test_shells_read_their_scripts(program: str, script: str, folder: Path) -> None:
    """Where they are installed. The syntax of zsh has no differences here that bash finds invalid."""
    shell = shutil.which(program)
    if shell is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([shell, "-n", folder.parent / script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("eval", ["evaluate"]),
        ("--v", ["--version"]),
        ("evaluate qrels.txt run", ["run a.txt", "runs/"]),
        ("evaluate --si", ["--side-by-side", "--significance"]),
        ("evaluate --format=la", ["--format=latex"]),
        ("evaluate -m P@5,muA", ["P@5,muAP"]),
        ("evaluate --measure=AP,muA", ["--measure=AP,muAP"]),
        ("report --output=q", ["--output=qrels.txt"]),
        ("compare --challenge=", ["--challenge=runs/"]),
        ("verify --key qrels.txt lo", ["log"]),
        ("verify log qrels.txt q", []),
        ("nonsense ", []),
    ],
)
def test_fish_completes(line: str, expected: list[str], folder: Path) -> None:
    """As bash does; fish prints the whole word, and a description after a tabulator."""
    script = f"source ../fish; complete --do-complete 'scorer {line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder, capture_output=True, text=True, check=True)

    assert done.stderr == ""
    assert sorted(offer.partition("\t")[0] for offer in done.stdout.splitlines()) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_have_every_command_option_and_word(shell: str, folder: Path) -> None:
    """Also every measure; nothing of the templates is left."""
    script = (folder.parent / shell).read_text(encoding="utf-8")

    assert "<measures>" not in script
    for name, command in COMMANDS.items():
        assert name in script
        for action in command.parser(name)._actions:
            for spelling in action.option_strings:
                assert (spelling if shell != "fish" else f" {spelling.lstrip('-')} ") in script
            assert " ".join(map(str, action.choices or ())) in script
    assert all(name in script for name in measure_names())


def test_measures_that_are_offered_can_be_read() -> None:
    """Each is the name of a measure or of a group."""
    assert len(measure_names()) == len(set(measure_names())) > 30
    assert all(parse(name) for name in measure_names())


def test_a_shell_is_required(terminal: Terminal) -> None:
    """An unknown one is a wrong call."""
    assert terminal.run("completion").code == 2
    assert terminal.run("completion", "csh").code == 2


@pytest.fixture
def keyboard(folder: Path) -> Iterator[int]:
    """An interactive bash that has read the script: its keyboard and screen."""
    bash = [BASH or "", "--norc", "--noprofile", "-i"]
    with in_terminal(bash, folder, {"PS1": "ready> ", "TERM": "dumb"}) as (keyboard, _):
        read_until(keyboard, "ready> ")
        os.write(keyboard, b"source ../bash\n")
        read_until(keyboard, "ready> ")
        yield keyboard


def read_until(terminal: int, expected: str, seconds: float = 60) -> str:
    """Read from a terminal until it has shown a text. Fails if that takes too long."""
    shown, end = "", time.monotonic() + seconds
    while expected not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        assert ready, shown
        shown += os.read(terminal, 1 << 16).decode()
    return shown


@needs_bash
def test_the_tabulator_key_completes(keyboard: int) -> None:
    """In an interactive shell: a command, a file whose name has a space, and a measure after a comma."""
    os.write(keyboard, b"scorer evalu\tqr\trun\\ \t-m nDCG@10,muA\t")

    read_until(keyboard, "muAP ")
    os.write(keyboard, b"\x01echo \n")
    assert "\nscorer evaluate qrels.txt run a.txt -m nDCG@10,muAP\r\n" in read_until(keyboard, "muAP\r\n")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_the_tabulator_key_completes_in_zsh(folder: Path) -> None:
    """Also a second submission, and the value of an option after "="."""
    functions = folder.parent / "functions"
    functions.mkdir()
    shutil.copy(folder.parent / "zsh", functions / "_scorer")
    with in_terminal(["zsh", "-f", "-i"], folder, {"PS1": "ready> ", "TERM": "dumb"}) as (keyboard, _):
        read_until(keyboard, "ready> ")
        os.write(keyboard, b"fpath=(../functions $fpath); autoload -U compinit; compinit -u -D\n")
        read_until(keyboard, "ready> ")
        os.write(keyboard, b"scorer evalu\tqr\tqr\trun\\ \t-m nDCG@10,muA\t--format=la\t")

        read_until(keyboard, "latex ")
        os.write(keyboard, b"\x01echo \n")
        expected = "\nscorer evaluate qrels.txt qrels.txt run a.txt -m nDCG@10,muAP --format=latex\r\n"
        assert expected in read_until(keyboard, "latex\r\n")
