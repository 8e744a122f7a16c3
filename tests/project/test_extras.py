"""What works without the extras of the package, and what says which one to install."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from scorer.cli import COMMANDS
from scorer.errors import _EXTRAS
from tests.commands import here
from tests.paths import ROOT
from tests.project.test_serving_docs import serving
from tests.public_archives import archived, decided

LIBRARIES = {**_EXTRAS, "fsspec": "remote"}
"""Those that may be missing, with the extra that has each."""

OF_ROOMS = {"cryptography", "jinja2", "markupsafe", "psutil", "sqlalchemy"}
"""Whole modules that no command of the base loads import them; `main` says which extra to install."""

WITHOUT = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *given: None if name in {sorted(LIBRARIES)} else find(name, *given)
"""
"""Python finds none of them."""

COMMAND_LINES = """
import json
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from scorer.cli import main
answers = []
for line in json.loads(sys.argv[1]):
    sys.argv = ["scorer", *line]
    code, out = 0, TextIOWrapper(BytesIO(), encoding="utf-8", newline="", write_through=True)
    try:
        with redirect_stdout(out), redirect_stderr(out):
            main()
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException as error:
        code = repr(error)
    answers.append((code, out.buffer.getvalue().decode()))
print(json.dumps(answers))
"""

LIBRARY = """
import json
import scorer
SOLUTION, RUN, OTHER = {"q": {"a": 2, "b": 1}}, {"q": ["b", "c", "a"]}, {"q": ["a"]}
one = scorer.evaluate(SOLUTION, RUN, ["RR"], per_query=True)
both = scorer.evaluate(SOLUTION, {"x": RUN, "y": OTHER}, ["RR"], per_query=True)
lists = scorer.overlap({"x": RUN, "y": OTHER})
tuned = scorer.tune(SOLUTION, {"x": {"q": {"a": 1.0}}, "y": {"q": {"b": 1.0}}}, "AP")
calls = {
    "evaluate": lambda: (one["RR"], both["y"]["RR"], repr(one), one._repr_html_(), one.by_query()),
    "fuse": lambda: scorer.fuse([RUN, OTHER]),
    "overlap": lambda: lists["x", "y"].means,
    "tune": lambda: tuned.best,
    "convert": lambda: scorer.convert("run.txt", "run.jsonl"),
    "parse": lambda: [scorer.parse(name) for name in ("AP", "nDCG@2")],
    "read_challenge": lambda: scorer.read_challenge("made"),
    "Solution": lambda: scorer.evaluate(scorer.Solution.read("solution.txt"), "run.txt", "AP"),
    "names": lambda: [getattr(scorer, name) for name in dir(scorer)],
    "agree": lambda: scorer.agree(SOLUTION, SOLUTION),
    "compare": lambda: scorer.compare(SOLUTION, {"x": RUN, "y": OTHER}, "RR"),
    "report": lambda: scorer.report(SOLUTION, {"x": RUN, "y": OTHER}, "RR"),
    "to_frame": one.to_frame,
    "per_query": lambda: one.per_query,
    "to_frame of several": both.to_frame,
    "per_query of several": lambda: both.per_query,
    "to_frame of overlaps": lists.to_frame,
    "to_frame of trials": tuned.to_frame,
}
answers = {}
for name, call in calls.items():
    try:
        call()
        answers[name] = ""
    except scorer.ScorerError as error:
        answers[name] = f"{isinstance(error, ImportError)}: {error}"
    except BaseException as error:
        answers[name] = repr(error)
print(json.dumps(answers))
"""


def missing(library: str) -> str:
    """The message about a library that is not installed."""
    return f"{library} is not installed; install it with `pip install 'challenge-scorer[{LIBRARIES[library]}]'`"


def answers(program: str, folder: Path, *arguments: str, without: str = WITHOUT) -> Any:
    """What a program prints in another process, in which no library of an extra can be imported."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", without + program, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, their solution, a challenge that was made with all extras, and a bundle of it."""
    folder = tmp_path_factory.mktemp("extras")
    (folder / "solution.txt").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 2\nq2 0 a 1\n")
    (folder / "run.txt").write_text("q1 Q0 a 1 3 r\nq1 Q0 b 2 2 r\nq2 Q0 a 1 3 r\nq2 Q0 c 2 1 r\n")
    (folder / "other.txt").write_text("q1 Q0 b 1 3 o\nq1 Q0 a 2 2 o\nq2 Q0 c 1 3 o\n")
    (folder / "values.csv").write_text("task,algorithm,case,value\nt,a,1,0.5\nt,b,1,0.6\nt,a,2,0.4\nt,b,2,0.7\n")
    (folder / "inbox" / "amber").mkdir(parents=True)
    (folder / "inbox" / "amber" / "one.txt").write_text("q1:apple\n")
    made = str(folder / "made")
    for line in (["init", made], ["run", made], ["export", str(folder / "e.zip"), "-C", made]):
        assert here(*line).code == 0
    archived(decided(folder / "live"), folder / "archive.zip")
    return folder


PAIR = ["run.txt", "other.txt"]
LISTS = "made/submissions/main/20260131T120000Z-first-team.txt"

BASE = [
    ["evaluate", "solution.txt", *PAIR, "-m", "AP,nDCG@2"],
    ["evaluate", "solution.txt", *PAIR, "-m", "AP", "--format", "latex", "--significance", "0.05"],
    ["trec_eval", "solution.txt", "run.txt"],
    ["fuse", *PAIR, "-o", "fused.txt"],
    ["overlap", *PAIR],
    ["pool", *PAIR, "--solution", "solution.txt", "-o", "pool.txt"],
    ["convert", "run.txt", "run.parquet"],
    ["measures"],
    ["measures", "MARp@5"],
    ["check", LISTS, "--challenge", "made/site"],
    ["verify", "log", "made/site/log.jsonl"],
    ["init", "new"],
    *([name, "--help"] for name in COMMANDS),
]
"""Command lines that need no extra. The others are refused at once, or where they compute what needs it."""

NEEDING = [
    (["agree", "solution.txt", "solution.txt", *PAIR], "compare"),
    (["compare", *PAIR, "--solution", "solution.txt", "-m", "AP"], "compare"),
    (["report", "values.csv", "-o", "report.html"], "board"),
    (["rehearse", "new"], "board"),
    (["run", "new"], "board"),
    (["score", "new"], "board"),
    (["render", "new"], "board"),
    (["leaderboard", "new"], "board"),
    (["status", "made"], "board"),
    (["entries", "made"], "board"),
    (["collect", "inbox", "-C", "made"], "board"),
    (["serve", "made"], "serve"),
    (["phases", "made"], "board"),
    (["teams", "made"], "board"),
    (["pick", f"{LISTS}", "-C", "made"], "board"),
    (["erratum", "preview", "-C", "made"], "board"),
    (["amend", "5f0c3a91", "--received", "2026-02-01T10:00:00Z", "--reason", "Mail", "-C", "made"], "board"),
    (["forget", "5f0c3a91", "--reason", "Lost", "-C", "made"], "board"),
    (["retry", "made"], "board"),
    (["similar", "made", "--track", "main"], "board"),
    (["split", "made"], "board"),
    (["commit", "made"], "board"),
    (["receipt", "1", "-C", "made"], "board"),
    (["heads", "made"], "board"),
    (["reveal", "made"], "board"),
    (["export", "again.zip", "-C", "made"], "board"),
    (["paper", "paper", "-C", "made"], "board"),
    (["import", "e.zip", "imported"], "board"),
    (["doctor", "made"], "board"),
    (["restore", "made"], "board"),
    (["completion", "bash"], "board"),
    (["verify", "challenge", "archive.zip"], "board"),
    (["verify", "bundle", "e.zip"], "board"),
    (["verify", "receipt", "r.txt", "--key", "receipts.pem"], "verify"),
    (["evaluate", "solution.txt", "memory://run.txt"], "remote"),
]
"""Those that need an extra, and which one."""

ELSEWHERE = {"submit"}
"""Commands that another test runs."""


def test_commands_without_the_extras(folder: Path) -> None:
    """The base commands succeed; the others print one line, with the extra to install, and write nothing."""
    found = answers(COMMAND_LINES, folder, json.dumps([*BASE, *(line for line, _ in NEEDING)]))

    for line, (code, text) in zip(BASE, found, strict=False):
        assert code == 0, (line, text)
    for (line, extra), (code, text) in zip(NEEDING, found[len(BASE) :], strict=True):
        assert code == 1, (line, text)
        library = text.removeprefix("memory://run.txt: ").partition(" ")[0]
        assert LIBRARIES.get(library) == extra, (line, text)
        assert text.removeprefix("memory://run.txt: ") == f"{missing(library)}\n", line
    lines = [*BASE[: -len(COMMANDS)], *(line for line, _ in NEEDING)]
    assert {line[0] for line in lines} == set(COMMANDS) - ELSEWHERE
    assert not (folder / "new" / "site").exists()
    assert not (folder / "imported").exists()
    assert not (folder / "report.html").exists()


def test_a_team_without_extras_hands_in(folder: Path) -> None:
    """The check before, the receipt and the outcome need none."""
    issued = here("teams", "token", "amber", "-C", folder / "made")
    assert issued.code == 0, issued.err
    token = folder / "token"
    token.touch(0o600)
    token.write_text(issued.out)
    (folder / "handed-in.txt").write_bytes((folder / LISTS).read_bytes())
    with serving(folder / "made") as address:
        line = ["submit", "handed-in.txt", "--server", address, "--token-file", str(token), "--wait"]
        ((code, text),) = answers(COMMAND_LINES, folder, json.dumps([line]))
    assert code == 0, text
    assert "valid for track main" in text
    assert len(list(folder.glob("*.receipt.txt"))) == 1


def test_comparisons_need_only_their_extra(folder: Path) -> None:
    """No library of pages."""
    program = WITHOUT.replace(str(sorted(LIBRARIES)), str(sorted(set(LIBRARIES) - {"pandas", "scipy"})))
    line = ["compare", *PAIR, "--solution", "solution.txt", "-m", "AP"]
    ((code, text),) = answers(COMMAND_LINES, folder, json.dumps([line]), without=program)
    assert code == 0, text
    refused = {name: text for name, text in answers(LIBRARY, folder, without=program).items() if text}
    assert refused == {"report": f"True: {missing('jinja2')}"}


def test_the_public_library_without_the_extras(folder: Path) -> None:
    """Each name can be imported, and what needs an extra raises a ScorerError that is also an ImportError."""
    found = answers(LIBRARY, folder)

    refused = {name: text for name, text in found.items() if text}
    scipy, pandas = (f"True: {missing(library)}" for library in ("scipy", "pandas"))
    assert refused.pop("agree") == refused.pop("compare") == scipy
    assert refused.pop("report") == f"True: {missing('jinja2')}"
    assert refused == dict.fromkeys((name for name in found if name.startswith(("to_frame", "per_query"))), pandas)


def imports(path: Path) -> Iterator[tuple[str, list[ast.AST]]]:
    """Each library of an extra that a file imports, and what is around the import."""
    nodes: list[tuple[ast.AST, list[ast.AST]]] = [(ast.parse(path.read_text(encoding="utf-8")), [])]
    while nodes:
        node, outer = nodes.pop()
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        yield from ((library, outer) for name in names if (library := name.partition(".")[0]) in LIBRARIES)
        nodes += [(child, [*outer, node]) for child in ast.iter_child_nodes(node)]


def test_each_import_of_an_extra_is_late_and_asks_first() -> None:
    """So no function of the library and no command ends with a ModuleNotFoundError."""
    asked = set()
    for path in sorted((ROOT / "scorer").rglob("*.py")):
        if path.parent.name == "service" or path.name == "postgresql.py":
            continue  # whole files that are imported late, after `need`
        for library, outer in imports(path):
            if any(isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) for node in outer):
                continue
            if library in OF_ROOMS:
                continue
            assert any(isinstance(node, ast.FunctionDef) for node in outer), (path, library)
            assert library == "fsspec" or f'need_libraries("{library}")' in path.read_text("utf-8"), (
                path,
                library,
            )
            asked.add(library)
    service = {library for library, extra in LIBRARIES.items() if extra in ("postgres", "serve")}
    assert asked == set(LIBRARIES) - OF_ROOMS - service


def test_the_extras_are_those_of_the_package() -> None:
    """Each library comes with the extra that its message names, and the base has none of them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    named = {extra: set(map(plain, listed)) for extra, listed in project["optional-dependencies"].items()}
    distributions = packages_distributions()

    for library, extra in LIBRARIES.items():
        (distribution,) = set(map(plain, distributions[library]))
        assert distribution in named[extra] or library == "markupsafe", library  # Jinja2 brings it
        assert distribution not in set(map(plain, project["dependencies"])), library
    assert "challenge-scorer[compare,verify]" in project["optional-dependencies"]["board"]
    assert "challenge-scorer[board]" in project["optional-dependencies"]["serve"]
    assert f"challenge-scorer[{','.join(sorted(named))}]" in settings["dependency-groups"]["dev"]


def plain(requirement: str) -> str:
    """The name of a distribution as indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>= ]", requirement)[0]).lower()
