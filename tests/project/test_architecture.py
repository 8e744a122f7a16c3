"""The map in docs/architecture.md, the import contract in pyproject.toml and the folders of scorer/ agree."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from inspect import getsourcefile, unwrap
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from scorer.board.site.report_page import CHARTS
from scorer.cli import COMMANDS
from scorer.cli.parameters import add_parameters
from scorer.cli.reports import _DOCUMENTS, verify
from scorer.cli.run import run
from scorer.lists.detection import FORMATS
from scorer.measures import KINDS
from scorer.organising.job import RunOptions
from scorer.rules.tables import SettingsTable
from scorer.runs.fuse import METHODS
from scorer.runs.overlap import SIMILARITIES
from scorer.settings.tracks import Track
from scorer.store.events import BODIES
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
        "NAME SOLUTION SUBMISSION OPTIONS UNFIT_QUERY UNFIT_ITEM recognises graded ranked "
        "write_solution write_submission",
    ),
    "a command and what it runs have one name": (
        "cli",
        "agree amend check collect commit compare convert entries evaluate export forget fuse overlap pick pool "
        "receipt render report restore retry reveal score serve similar status teams",
    ),
}
"""The public names that several modules define: why, the folder, and the names."""

NAMES = {
    "a column of the board": ("last_received",),
    "another rule of a running challenge": ("per_day", "quota_rules", "Quota"),
    "an event of the record": ("'extension'",),
    "an option of `run`": ("confirm_withdrawals",),
    "a document that can be verified": ("CommitmentDocument", "verified_commitment", "_COMMITMENT"),
    "a statistic of each team": ("rank_range", "rank_ranges", "'rank from'"),
}
"""What the code calls one that exists, for changes in several places: names, and texts in quotes."""


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


@cache
def defined() -> dict[str, list[Path]]:
    """The modules that define each public name."""
    modules: dict[str, list[Path]] = {}
    for module in MODULES:
        for name in public_names(module):
            modules.setdefault(name, []).append(module)
    return modules


def test_a_public_name_is_defined_once() -> None:
    """A name means one thing in the package; outside of the folder of `REPEATED`, at most one module has it too."""
    folders = {
        name: [module.parent.relative_to(PACKAGE).as_posix() for module in modules]
        for name, modules in defined().items()
    }

    expected = {name: folder for folder, names in REPEATED.values() for name in names.split()}
    assert {name for name, places in folders.items() if len(places) > 1} == set(expected)
    for name, folder in expected.items():
        others = [place for place in folders[name] if place != folder]
        assert len(others) == (folder == "cli"), name


def test_every_change_names_a_file_or_a_folder_that_exists() -> None:
    """Each has at least one path."""
    for change, answer in rows("Where do I change ...?"):
        paths = [name for name in quoted(answer) if "/" in name]
        assert paths, change
        assert all((ROOT / path).exists() for path in paths), change


def places(*what: Any) -> set[str]:
    """The files that define objects, or public names."""
    files = [defined()[each][0] if isinstance(each, str) else getsourcefile(unwrap(each)) for each in what]
    return {Path(str(file)).relative_to(ROOT).as_posix() for file in files}


@cache
def naming() -> dict[str, set[str]]:
    """The files of the package and the templates that have a name, or a text in quotes, outside of docstrings."""
    files: dict[str, set[str]] = {}
    for path in sorted([*MODULES, *PACKAGE.rglob("*.json"), *(ROOT / "templates").glob("*.html")]):
        text = path.read_text(encoding="utf-8")
        names = {*re.findall(r"\w+", text), *(repr(each) for each in re.findall(r'"([^"\n]*)"', text))}
        if path.suffix == ".py":
            nodes = list(ast.walk(ast.parse(text)))
            names = {getattr(node, kind, None) for node in nodes for kind in ("id", "attr", "arg", "name")}
            names |= {repr(node.value) for node in nodes if isinstance(node, ast.Constant)}
        for name in names:
            files.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    return files


def registered() -> dict[str, list[set[str]]]:
    """For each that exists of a kind: the files that declare and register it."""
    keys = " ".join(str(field.annotation) for field in Track.model_fields.values())
    rules = [each for each in SettingsTable.__subclasses__() if f"{each.__module__}.{each.__name__}" in keys]
    texts = [naming().get(repr(path.name), set()) for path in (ROOT / "templates").glob("*.html")]
    pages = [{file for file in files if file.endswith(".py")} for files in texts]
    return {
        "a measure": [places(each.function) for each in KINDS],
        "a fusion method": [places(each.function) for each in METHODS],
        "a measure of overlap": [places(each.function, "SIMILARITIES") for each in SIMILARITIES],
        "a format": [places(each, "FORMATS", "FORMAT_NAMES") for each in FORMATS.values()],
        "another rule of a running challenge": [places(each, Track) for each in rules if ".rules." in each.__module__],
        "an event of the record": [places(body, "EventKind", "BODIES") for body in BODIES.values()],
        "an option of `run`": [places(run, RunOptions)],
        "a command": [places(each.function, add_parameters, "COMMANDS") for each in COMMANDS.values()],
        "a document that can be verified": [places(each.verified, verify) for each in _DOCUMENTS.values()],
        "a chart of a report": [places(each.__code__.co_names[0], "CHARTS", "Figure") for each in CHARTS.values()],
        "a page": [modules for modules in pages if len(modules) == 1],
    }


def test_the_map_names_the_files_that_declare_and_register() -> None:
    """Those of one that exists, and no others unless `NAMES` has the kind; the others are in the same folders."""
    for change, found in registered().items():
        answer = dict(rows("Where do I change ...?"))[change]
        mapped = {name for name in quoted(answer) if (ROOT / name) in MODULES}

        assert any(each <= mapped for each in found), change
        assert change in NAMES or mapped <= set().union(*found), change
        assert {Path(each).parent for each in set().union(*found)} <= {Path(each).parent for each in mapped}, change


@pytest.mark.parametrize("change", NAMES)
def test_a_change_needs_the_files_that_the_map_names(change: str) -> None:
    """What exists of each kind is named in these files and in no other."""
    answer = dict(rows("Where do I change ...?"))[change]
    found = set().union(*(naming()[name] for name in NAMES[change]))

    assert found == {name for name in quoted(answer) if name in set().union(*naming().values())}


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
