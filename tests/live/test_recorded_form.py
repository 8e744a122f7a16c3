"""The form in which settings are recorded, committed to and published: a new optional key changes none of it."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic_core import to_jsonable_python

from scorer.limits import OF_MACHINE, Limits
from scorer.organising.bundles import export
from scorer.record.log import encoded
from scorer.rules.metadata import MetadataField
from scorer.rules.overall import Overall
from scorer.rules.phases import Phase
from scorer.rules.quota import Quota
from scorer.rules.split import KeySplit
from scorer.rules.tables import SettingsTable
from scorer.rules.teams import TeamSettings
from scorer.rules.visibility import Visibility
from scorer.settings.loading import LimitSettings
from scorer.settings.tracks import FILE, Challenge, Track
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
        lines.insert(node.end_lineno or 0, f"\n    new_in_{model.__name__.lower().strip('_')}: {key}\n")
        file.write_text("".join(lines), encoding="utf-8")
    return folder


def by_newer(code: Path, program: str, *arguments: Path) -> None:
    """Run a program that uses this code."""
    paths = {"PYTHONPATH": os.pathsep.join(map(str, (code, ROOT))), "PYTHONSAFEPATH": "1"}
    answer = process(*arguments, environment=paths, program=f"{IMPORTS}{program}")
    assert answer.code == 0, answer.err


IMPORTS = """
import json, sys
from functools import partial
from pathlib import Path
from scorer.live.now import Now
from scorer.organising.bundles import export
from scorer.organising.teams import import_teams
from scorer.settings.tracks import FILE, Track
from tests.commands import here
from tests.committed import Committed
from tests.live_challenges import day
from tests.public_archives import END, archived
from tests.shared import undrawn
from tests.verification.test_published import Quiet, http
assert "new_in_track" in Track.model_fields
folder, *rest = map(Path, sys.argv[1:])
live = Committed(folder, END)
before = live.kinds()
"""

SET = {
    "[tracks.main]": "[tracks.main]\nnew_in_track = 8\nquota = {new_in_quota = 8}",
    "[tracks.lists]": "[tracks.lists]\nsplit.new_in_keysplit = 8",
    "[overall]": "[overall]\nnew_in_overall = 8",
    "[visibility]": '[visibility]\nnew_in_visibility = "final"',
    'everyone = "close"': 'everyone = "close", new_in_row = 8',
    "[limits]": "[limits]\nnew_in_limits = 8",
    'name = "two"': 'name = "two"\nnew_in_phase = 8',
}
"""Texts of challenge.toml, and those in which a new key is set."""

WHERE_SET = """
settings = (folder / FILE).read_text()
(folder / FILE).write_text(rest[0].read_text())
live.do(day(6), import_teams)
live.commit(day(6))
*_, opening = (event.values["opening"] for event in live.events("commitment"))
recorded = json.dumps([event.values for event in live.events("phases", "basis", "team")])
for name in ("quota", "keysplit", "overall", "visibility", "row", "phase"):
    assert f"new_in_{name}" in opening, (name, opening)
for name in ("track", "quota", "keysplit", "overall", "visibility", "row", "limits", "phase", "teamsettings"):
    assert f"new_in_{name}" in recorded, (name, recorded)
declared = live.challenge.tracks
(folder / FILE).write_text(settings)
for wanted, track in zip(declared, live.challenge.tracks):
    rules = live.do(day(7), lambda _, store: store.read(lambda view: Now.of(view, track).rules))
    assert (rules.quota, rules.overall) == (wanted.quota, wanted.overall)
    split = rules.split and rules.split.model_copy(update={"key_sha256": ""})
    assert split == wanted.split
    assert rules.visibility == wanted.visibility != track.visibility
"""

BEFORE_THE_START = """
live.run(day(8))
live.commit(day(8))
assert live.kinds() == before, live.kinds()[len(before):]
"""

AT_THE_END = """
live.do(END, import_teams)
live.run(END)
with undrawn():
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
with http(partial(Quiet, directory=site)) as address:
    assert here("check", run, "--challenge", address, "--track", "main").code == 0
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


@pytest.mark.usefixtures("no_pictures")
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


def test_a_new_key_that_is_set_is_recorded_and_committed_to(code: Path, tmp_path: Path) -> None:
    """In any table that is recorded: what is committed to is in force although challenge.toml no longer has it."""
    live = Committed.create(tmp_path / "live")
    live.edit("[tracks.main]", f"{TABLES}[tracks.main]")
    live.put("amber/1.txt", GOOD, day(5))
    live.run(day(5))
    (live.folder / "teams.toml").write_text("[amber]\nnew_in_teamsettings = 8\n")
    text = (live.folder / FILE).read_text()
    for before, after in SET.items():
        assert before in text
        text = text.replace(before, after)
    (tmp_path / FILE).write_text(text.replace("split = {preliminary = 0.5}", "split.preliminary = 0.5"))

    by_newer(code, WHERE_SET, live.folder, tmp_path / FILE)


# The defaults


(ROW,) = {*models(Visibility)} - {Visibility}

SPECIFICATION = ROOT / "docs" / "verification-spec.md"

NEEDED: dict[str, tuple[type[SettingsTable], dict[str, Any]]] = {
    "`settings` of a basis": (Track, {"name": "a", "title": "A", "solution": "s", "list_length": 3, "primary": "AP"}),
    "`settings.split`": (KeySplit, {"preliminary": "0.5"}),
    "`settings.quota`": (Quota, {}),
    "`settings.overall`": (Overall, {"tracks": ["a", "b"]}),
    "`settings.visibility`": (Visibility, {}),
    "a row of it that is an object": (ROW, {}),
    "`settings.limits`": (LimitSettings, {}),
    "a phase": (Phase, {"name": "one", "start": day(1), "end": day(2)}),
    "`settings` of a team": (TeamSettings, {}),
}
"""By the names of the objects in the specification: their models, and the keys that must be set."""


def test_the_specification_has_the_defaults() -> None:
    """Another default, or a key that is recorded with its default, needs a new version of the recorded form."""
    section = SPECIFICATION.read_text(encoding="utf-8").partition("### Defaults")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| `({.*})` \| `({.*})` \|$", section, re.MULTILINE)
    stated = {name: (json.loads(always), json.loads(differing)) for name, always, differing in rows}
    found = {}
    for name, (model, needed) in NEEDED.items():
        kept = model.model_validate(needed).recorded()
        optional = {key: field for key, field in model.model_fields.items() if key not in needed}
        defaults = {key: to_jsonable_python(field.default) for key, field in optional.items()}
        always = {key: kept[key] for key in optional if key in kept}
        found[name] = always, {key: defaults[key] for key in optional.keys() - always.keys() - model.never_recorded}

    found["`settings.limits`"] = {}, {key: getattr(Limits(), key) for key in Limits.about() if key not in OF_MACHINE}
    assert stated == found
    covered = {model for model, _ in NEEDED.values()} | {Limits}
    assert {*models(Track), *models(TeamSettings)} - covered == {MetadataField}, "its events have all values"


# The bytes that hashes are of


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": 2, "B": 3, "": 4, "a b": 5, "a1": 6, "_": 7}, '{"":4,"B":3,"_":7,"a":2,"a b":5,"a1":6,"b":1}'),
        ({"a": [0, -1, 9007199254740991, -9007199254740991]}, '{"a":[0,-1,9007199254740991,-9007199254740991]}'),
        ({"a": [None, True, False], "b": {}, "c": []}, '{"a":[null,true,false],"b":{},"c":[]}'),
        ({"a": [{"z": 1, "y": {"x": 2, "w": 3}}]}, '{"a":[{"y":{"w":3,"x":2},"z":1}]}'),
        ({"a": "\b\t\n\f\r\x00\x0b\x1f"}, '{"a":"\\b\\t\\n\\f\\r\\u0000\\u000b\\u001f"}'),
        ({"a": "\"\\/ <>&'~"}, '{"a":"\\"\\\\/ <>&\'~"}'),
        ({"a": [0.5, -2.25, 1234.5625]}, '{"a":[0.5,-2.25,1234.5625]}'),
    ],
    ids=["keys", "numbers", "names", "objects", "controls", "texts", "fractions"],
)
def test_objects_are_encoded_as_rfc_8785_says(value: dict[str, Any], expected: str) -> None:
    """The bytes are written by hand from its sections 3.2.2 (values) and 3.2.3 (the order of keys)."""
    assert encoded(value) == expected


@pytest.mark.parametrize(
    ("value", "expected", "by_rfc"),
    [
        ({"a": "é\x7f"}, '{"a":"\\u00e9\\u007f"}', '{"a":"é\x7f"}'),
        ({"a": "😀"}, '{"a":"\\ud83d\\ude00"}', '{"a":"😀"}'),
        ({"a": [2.0, 1e-7, 1e16]}, '{"a":[2.0,1e-07,1e+16]}', '{"a":[2,1e-7,10000000000000000]}'),
        ({"\ue000": 1, "😀": 2}, '{"\\ue000":1,"\\ud83d\\ude00":2}', '{"😀":2,"\ue000":1}'),
    ],
    ids=["characters", "pairs", "floats", "keys"],
)
def test_what_differs_from_rfc_8785_stays(value: dict[str, Any], expected: str, by_rfc: str) -> None:
    """Hashes of names and of weights that were published depend on it."""
    assert encoded(value) == expected != by_rfc
