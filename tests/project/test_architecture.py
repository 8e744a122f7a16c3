"""The map in docs/architecture.md, the import contract in pyproject.toml and the folders of scorer/ agree."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

import benchmarks
from tests.paths import DOCS, ROOT

PACKAGE = ROOT / "scorer"
MODULES = sorted(PACKAGE.rglob("*.py"))

TOP_LEVEL = {"__init__", "__main__", "errors", "limits", "options", "wording"}
"""The only modules outside of a room."""

LONGEST = 700
"""Lines of a module."""
REPEATED = {
    "each format has it, and `lists/detection.py` reads it": (
        "lists/formats",
        "NAME SOLUTION SUBMISSION OPTIONS UNFIT_QUERY UNFIT_ITEM recognises graded ranked columns "
        "write_solution write_submission",
    ),
    "a command and what it runs have one name": (
        "cli",
        "amend check collect commit compare convert entries evaluate export forget fuse overlap pick pool receipt "
        "render report restore retry reveal score serve similar status teams",
    ),
}
"""The public names that several modules define: why, the folder, and the names."""

CHANGES = [
    "a measure",
    "a fusion method",
    "a measure of overlap",
    "a name of another tool",
    "a format",
    "the layout of a file without a header, and what separates items in lists",
    "what a message says about a file that no format recognises",
    "a tie rule",
    "a column of the board",
    "a message about missing, unknown or repeated queries and items",
    "how the scores of single queries are stored",
    "an option of `run`",
    "a command",
    "a backup that was copied back",
    "a table of the database",
    "when an entry is late, the times of phases, a freeze",
    "another rule of a running challenge",
    "an event of the record",
    "what the service answers, its addresses and its errors",
    "when a delivery is accepted",
    "what teams state about submissions",
    "tokens and invitations",
    "where the files of deliveries are, and their names",
    "when new files are scored",
    "a document that can be verified",
    "the bundle of a challenge",
    "a statistic of each team",
    "slices of the queries",
    "names hidden until a date",
    "the overall ranking",
    "a chart of a board or an analysis",
    "an interval, a test or a tier",
    "a table of the page of an analysis",
    "a chart of a report",
    "when the site is rendered",
    "what of the statistics is kept for the next board",
    "a sentence of a report",
    "a message",
    "a key of leaderboard.json",
    "a key of challenge.toml",
    "an executor",
    "the comparison of two teams",
    "a page",
    "an optional library",
    "an exit code",
]


EXAMPLES = {
    "a measure": r"\bnDCGphi\b",
    "a format": r"[lL]etor",
    "a column of the board": r"\blast_received\b",
    "another rule of a running challenge": r"\bper_day\b|\bquota_rules\b",
    "an event of the record": r"'extension'",
    "an option of `run`": r"\bconfirm_withdrawals\b",
    "a document that can be verified": r"CommitmentDocument|verification\.commitment",
    "a statistic of each team": r"\brank_range|rank from",
    "a chart of a report": r"\btau_violin\b|Figure\('tau'",
    "a page": r"\berratum\.html\b",
}
"""For changes of ten kinds, what the code calls one of them that exists."""


def section(title: str) -> str:
    """The text of a section of docs/architecture.md."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The cells of the table in a section, without its header."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def quoted(cell: str) -> list[str]:
    """The names in backquotes."""
    return re.findall(r"`([^`]+)`", cell)


def layers() -> list[set[str]]:
    """The layers of the import contract, lowest first."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        contracts = tomllib.load(stream)["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("containers") == ["scorer"])
    return [set(re.split(r"\s*[|:]\s*", layer)) for layer in reversed(contract["layers"])]


def rooms() -> list[str]:
    """The rooms of the map, in its order."""
    return [quoted(room)[0] for room, _ in rows("The rooms")]


def test_map_lists_the_rooms_of_the_import_contract_in_its_order() -> None:
    """Rooms of one layer may follow each other in any order."""
    listed = rooms()

    start = 0
    for layer in layers():
        assert set(listed[start : start + len(layer)]) == layer
        start += len(layer)
    assert start == len(listed)


def test_map_lists_the_folders_and_modules_of_the_package() -> None:
    """Every folder with a module, and every module at the top level but the package's own."""
    folders = {folder.name for folder in PACKAGE.iterdir() if folder.is_dir() and any(folder.glob("*.py"))}
    modules = {module.stem for module in PACKAGE.glob("*.py")} - {"__init__", "__main__"}

    assert set(rooms()) == folders | modules


def test_only_shared_modules_are_at_the_top_level() -> None:
    """Everything else belongs to a room."""
    assert {module.stem for module in PACKAGE.glob("*.py")} <= TOP_LEVEL


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(ROOT).as_posix())
def test_modules_are_short(module: Path) -> None:
    """A module above the limit holds more than one thing."""
    lines = module.read_text(encoding="utf-8").count("\n")

    assert lines <= LONGEST


def public_names(module: Path) -> set[str]:
    """The classes, functions and values that a module defines at its top level, without those that are its own."""
    names = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            nodes = (each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
            names |= {each.id for each in nodes if isinstance(each.ctx, ast.Store)}
    return {name for name in names if not name.startswith("_")}


def test_a_public_name_is_defined_once() -> None:
    """A name means one thing in the package; outside of the folder of `REPEATED`, at most one module has it too."""
    folders: dict[str, list[str]] = {}
    for module in MODULES:
        for name in public_names(module):
            folders.setdefault(name, []).append(module.parent.relative_to(PACKAGE).as_posix())

    expected = {name: folder for folder, names in REPEATED.values() for name in names.split()}
    assert {name for name, places in folders.items() if len(places) > 1} == set(expected)
    for name, folder in expected.items():
        others = [place for place in folders[name] if place != folder]
        assert len(others) == (folder == "cli"), name


def test_every_change_names_a_file_or_a_folder_that_exists() -> None:
    """All changes, each with at least one path."""
    table = rows("Where do I change ...?")

    assert [change for change, _ in table] == CHANGES
    for change, answer in table:
        paths = [name for name in quoted(answer) if "/" in name]
        assert paths, change
        assert all((ROOT / path).exists() for path in paths), change


def is_named(pattern: str, path: str, text: str) -> bool:
    """Whether a file has the pattern; in a module, outside of comments, docstrings and strings that are no values."""
    if not re.search(pattern, text.replace('"', "'")) or not path.endswith(".py"):
        return bool(re.search(pattern, text))
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(getattr(node, "body", None), list):
            node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]  # type: ignore[attr-defined]
    return bool(re.search(pattern, ast.unparse(tree)))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The files of the package and the templates, by path."""
    paths = [path for folder in (PACKAGE, ROOT / "templates") for path in folder.rglob("*.*")]
    chosen = [path for path in paths if path.suffix in (".py", ".json", ".html", ".js")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in chosen}


@pytest.mark.parametrize("change", EXAMPLES)
def test_a_change_needs_the_files_that_the_map_names(change: str, texts: Mapping[str, str]) -> None:
    """What exists of each kind is named in these files and in no other."""
    answer = dict(rows("Where do I change ...?"))[change]
    mapped = {name for name in quoted(answer) if name in texts}
    naming = {path for path, text in texts.items() if is_named(EXAMPLES[change], path, text)}

    templates = {path for path in mapped if path.endswith(".html") and re.search(EXAMPLES[change], path)}
    assert naming | templates == mapped


def test_benchmarks_import_only_public_names() -> None:
    """Users cannot do what needs other names; `INTERNAL` says which modules need them, and why."""
    importing = set()
    for module in (ROOT / "benchmarks").glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            if any(name.startswith("scorer.") for name in names):
                importing.add(module.stem)
        assert "from scorer." not in module.read_text(encoding="utf-8") or module.stem in importing

    assert importing == set(benchmarks.INTERNAL)
