"""The form in which settings are recorded, committed to and published: a new optional key changes none of it."""

from __future__ import annotations

import ast
import inspect
import os
import shutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_args

import pytest

from scorer.organising.bundles import export
from scorer.settings.loading import TeamSettings
from scorer.settings.rules import SettingsTable
from scorer.settings.tracks import FILE, Challenge
from tests.commands import process
from tests.committed import Committed
from tests.live_challenges import GOOD, day
from tests.public_archives import END, archived, decided

ROOT = Path(__file__).parents[2]

TABLES = """\
[overall]
tracks = ["main", "lists"]

[visibility]
score = {team = "now", everyone = "close"}

[limits]
file_mb = 10

[[metadata]]
name = "kind"
title = "Kind"

"""

# A new optional key


def models(kind: object) -> Iterator[type]:
    """The models of all tables that a model has, itself included."""
    if isinstance(kind, type) and issubclass(kind, SettingsTable):
        yield kind
        for field in kind.model_fields.values():
            yield from models(field.annotation)
    elif isinstance(kind, type) and is_dataclass(kind):
        yield kind
    for part in get_args(kind):
        yield from models(part)


NEW = {"Limits": 'int = _limit(7, "something new")', "Visibility": "PublicRow = Field(None, description=_MOMENTS)"}
"""The types and defaults of new keys by the names of models; those of other models are whole numbers."""


def newer(folder: Path) -> Path:
    """The code with a new optional key in the model of each table of challenge.toml and teams.toml."""
    shutil.copytree(ROOT / "scorer", folder / "scorer", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "templates").symlink_to(ROOT / "templates")
    for model in {*models(Challenge), *models(TeamSettings)}:
        file = folder / Path(str(inspect.getsourcefile(model))).relative_to(ROOT)
        text = file.read_text(encoding="utf-8")
        (node,) = (each for each in ast.parse(text).body if getattr(each, "name", "") == model.__name__)
        key = NEW.get(model.__name__, 'int = Field(7, description="a whole number")')
        lines = text.splitlines(keepends=True)
        lines.insert(node.end_lineno or 0, f"\n    new_in_{model.__name__.lower()}: {key}\n")
        file.write_text("".join(lines), encoding="utf-8")
    return folder


def by_newer(code: Path, program: str, *arguments: Path) -> None:
    """Run a program that uses this code."""
    paths = {"PYTHONPATH": os.pathsep.join(map(str, (code, ROOT))), "PYTHONSAFEPATH": "1"}
    answer = process(*arguments, environment=paths, program=f"{IMPORTS}{program}")
    assert answer.code == 0, answer.err


IMPORTS = """
import sys
from pathlib import Path
import scorer
from scorer.organising.bundles import export
from scorer.organising.teams import import_teams
from scorer.settings.tracks import FILE, Track
from tests.commands import here
from tests.committed import Committed
from tests.live_challenges import day
from tests.public_archives import END, archived
assert "new_in_track" in Track.model_fields
folder, *rest = map(Path, sys.argv[1:])
live = Committed(folder, END)
before = live.kinds()
"""

BEFORE_THE_START = """
live.run(day(8))
live.commit(day(8))
assert live.kinds() == before, live.kinds()[len(before):]
"""

AT_THE_END = """
live.do(END, import_teams)
live.run(END)
live.render(END)
assert live.kinds() == before, live.kinds()[len(before):]
archive, site, run, (target, bundle) = rest[0], folder / "site", rest[1], rest[2:]
public = (site / "commitment.json", "--opening", site / "commitment.txt", "--log", site / "log.jsonl")
for command in (
    ("verify", "challenge", archive),
    ("verify", "commitment", *public, "--split", site / "lists" / "split.json"),
    ("check", run, "--challenge", site, "--track", "main"),
):
    assert here(*command).code == 0, here(*command)
archived(live, target)
live.do(END, lambda challenge, store: export(challenge, store, live.folder / FILE, bundle, solutions=True))
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The newer code."""
    return newer(tmp_path_factory.mktemp("newer"))


def tree(folder: Path) -> dict[str, bytes]:
    """The files below a folder, but for the list of what was rendered, which has times."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != ".manifest.json"}


def test_a_new_optional_key_commits_to_nothing_new(code: Path, tmp_path: Path) -> None:
    """In any table: a challenge that is committed stays so, and nothing is recorded before the start."""
    live = Committed.create(tmp_path / "live")
    live.edit("[tracks.main]", f"{TABLES}[tracks.main]")
    live.commit()
    live.run(day(7))

    by_newer(code, BEFORE_THE_START, live.folder)


def test_a_new_optional_key_changes_nothing_that_was_recorded_or_published(code: Path, tmp_path: Path) -> None:
    """In any table: what was published verifies, nothing is recorded, and the same bytes are written again."""
    live = decided(tmp_path / "live", table=TABLES)
    archive, bundle, run = archived(live, tmp_path / "1.zip"), tmp_path / "1.bundle.zip", tmp_path / "run.txt"
    live.do(END, lambda challenge, store: export(challenge, store, live.folder / FILE, bundle, solutions=True))
    site = tree(live.folder / "site")
    run.write_text(GOOD)
    again = (tmp_path / "2.zip", tmp_path / "2.bundle.zip")

    by_newer(code, AT_THE_END, live.folder, archive, run, *again)

    assert again[0].read_bytes() == archive.read_bytes()
    assert again[1].read_bytes() == bundle.read_bytes()
    assert {name for name, content in tree(live.folder / "site").items() if site.get(name) != content} == set()
