"""The examples in the help of every command."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

import scorer.cli
from scorer.cli import COMMANDS
from tests.commands import Terminal, here

EXAMPLES = {name: scorer.cli.examples(name) for name in COMMANDS}
ALL = [example for examples in EXAMPLES.values() for example in examples]

NEEDS_MORE = {
    *("amend", "collect", "commit", "erratum", "forget", "import", "init", "phases", "pick", "receipt", "retry"),
    *("restore", "reveal", "serve", "split", "submit", "teams", "verify"),
}
"""Commands whose examples go on, or need entries, keys, phases or a service that the folder of the test does not have.
"""

FREE = {"scorer phases", "scorer retry", "scorer teams"}
"""Examples of these commands that need nothing more."""

SLOW = {*EXAMPLES["run"], "scorer render", "scorer report challenge", EXAMPLES["report"][-1]}
"""Draw all charts; other tests run these commands."""

EARLIER = {example for example in ALL if "--as-of" in example}
"""Show a state before the record of the test begins, which has no board."""


RUN = [
    example
    for name, examples in EXAMPLES.items()
    for example in examples
    if (name not in NEEDS_MORE or example in FREE) and example not in SLOW | EARLIER
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored challenge with another one in the folder `challenge`, and the files that examples name."""
    folder = tmp_path_factory.mktemp("examples") / "folder"
    assert here("init", folder).code == 0
    assert here("score", folder, "--executor", "serial").code == 0
    shutil.copytree(folder, folder.parent / "challenge")
    (folder.parent / "challenge").rename(folder / "challenge")
    for name, text in {
        "qrels.txt": "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d4 1\n",
        "machine.txt": "q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 1\nq2 0 d4 2\n",
        "people.txt": "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d4 1\n",
        "run-a.txt": "q1 Q0 d2 1 3 a\nq1 Q0 d1 2 2 a\nq2 Q0 d4 1 1 a\n",
        "run-b.txt": "q1 Q0 d1 1 3 b\nq1 Q0 d3 2 2 b\nq2 Q0 d9 1 1 b\n",
        "run.csv": "session,track,score\nq1,apple,2\nq2,fig,1\nq3,lemon,1\nq4,pear,1\n",
        "lists.txt": "q1:apple,pear\nq2:fig\nq3:lemon\nq4:pear\n",
        "values.csv": "task,algorithm,case,value\n"
        + "".join(f"t,{name},{case},{case % 3}\n" for name in "ab" for case in range(9)),
        "errors.csv": "task,algorithm,case,value\nt,a,1,0.5\nt,b,1,0.25\nt,a,2,\nt,b,2,1\nt,a,3,1\nt,b,3,0\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def words(example: str) -> list[str]:
    """The arguments of an example, without the name of the program and where its output goes."""
    program, *arguments = shlex.split(example.partition(" > ")[0])
    assert program == "scorer"
    return arguments


def test_every_command_has_examples() -> None:
    """The first word of each is the command, and the help shows all of them."""
    assert all(EXAMPLES.values())
    written = Path(scorer.cli.__file__).with_name("examples.txt").read_text("utf-8").splitlines()
    assert sorted(written) == sorted(ALL)
    for name, examples in EXAMPLES.items():
        assert 1 <= len(examples) <= 4
        assert {words(example)[0] for example in examples} == {name}
        assert COMMANDS[name].parser(name).format_help().endswith("".join(f"  {example}\n" for example in examples))


@pytest.mark.parametrize("example", ALL)
def test_every_example_has_valid_arguments(example: str) -> None:
    """The parser of its command accepts it."""
    name, *arguments = words(example)

    COMMANDS[name].parser(name).parse_intermixed_args(arguments)


@pytest.mark.parametrize("example", RUN)
def test_examples_run(example: str, folder: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, in a folder with the files that they name, but those of commands that need more."""
    monkeypatch.chdir(folder)

    answer = terminal.run(*words(example))

    assert answer.code == 0, answer.err
