"""The challenge of a command: -C FOLDER, and the folder as an argument."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from scorer.cli import COMMANDS
from tests.commands import Terminal, here

WITHOUT = {
    *("agree", "completion", "convert", "evaluate", "fuse", "import", "init", "measures", "overlap", "trec_eval"),
    "verify",
}
"""Commands that are not about a challenge, or that make one."""

FURTHER: Mapping[str, tuple[str, ...]] = {
    "amend": ("main/a/run.txt", "--received", "2011-04-18T10:00:00Z", "--reason", "Received by e-mail"),
    "collect": ("{folder}/queries",),
    "check": ("{folder}/submissions/main/popular/run.txt", "--track", "main"),
    "erratum": ("cancel",),
    "export": ("{folder}.zip",),
    "paper": ("{folder}-paper",),
    "forget": ("main/a/run.txt", "--reason", "Wrong"),
    "pick": ("main/a/run.txt",),
    "pool": ("--track", "main"),
    "receipt": ("main/a/run.txt",),
    "report": ("--format", "json"),
    "retry": ("main/a/run.txt",),
    "similar": ("--track", "main"),
    "serve": ("--host", "256.0.0.1", "--no-runner"),  # no machine has this address, so the command ends
}
"""The other arguments that a command needs."""

OPTION_ONLY = {"compare", "submit"}
"""The name of a team can be that of a folder, and a submission is no challenge."""


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored challenge."""
    folder = tmp_path_factory.mktemp("scored") / "owl"
    assert here("init", folder).code == 0
    assert here("score", folder, "--executor", "serial").code == 0
    return folder


@pytest.fixture
def folders(scored: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two copies of the challenge, of which a command may change one."""
    for name in ("owl", "hawk"):
        shutil.copytree(scored, tmp_path / name)
    return tmp_path / "owl", tmp_path / "hawk"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_about_a_challenge_takes_the_option(name: str) -> None:
    """The others are listed here."""
    spelled = COMMANDS[name].parser(name).format_help()

    assert ("-C FOLDER, --challenge FOLDER" in spelled or "-C, --challenge FOLDER" in spelled) == (name not in WITHOUT)


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - WITHOUT - OPTION_ONLY))
def test_the_folder_is_the_same_as_an_argument(name: str, folders: tuple[Path, Path], terminal: Terminal) -> None:
    """The option, the folder and its challenge.toml give the same answer; two challenges are refused."""
    folder, other = folders
    further = [word.format(folder=folder) for word in FURTHER.get(name, ())]

    answers = []
    for place in (("--challenge", folder), ("-C", folder), (folder,), (folder / "challenge.toml",)):
        shutil.rmtree(folder)
        shutil.copytree(other, folder)
        folder.with_suffix(".zip").unlink(missing_ok=True)
        shutil.rmtree(f"{folder}-paper", ignore_errors=True)
        answer = terminal.run(name, *further, *place)
        assert "unrecognized" not in answer.err
        assert answer.code in (0, 1), answer.err
        answers.append((answer.code, answer.out.splitlines()[:1], len(answer.err.splitlines())))
    assert len({str(each) for each in answers}) == 1, answers

    refused = terminal.run(name, *further, folder, "-C", other)
    assert refused.code == 2
    assert "found two challenges" in refused.err
    assert terminal.run(name, *further, folder, "-C", folder).code in (0, 1)


@pytest.mark.parametrize("name", ["extend", "rename"])
def test_a_word_of_a_command_is_never_a_folder(
    name: str, folders: tuple[Path, Path], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a challenge has this name."""
    folder, other = folders
    folder.rename(folder.with_name(name))
    monkeypatch.chdir(folder.parent)

    answer = terminal.run("phases" if name == "extend" else "teams", name, "-C", other)

    assert answer.code == 2
    assert "expected rename" in answer.err or "extend needs" in answer.err
