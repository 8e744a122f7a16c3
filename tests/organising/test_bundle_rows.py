"""Bundles with changed rows: each is imported, or refused with one message and nothing left."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import ScorerError
from scorer.organising.bundles import import_bundle
from scorer.record.events import INVALID
from scorer.store.events import body_of
from scorer.store.schema import SCHEMA_VERSION
from scorer.store.transfer import BUNDLED_TABLES
from scorer.verification.bundle import EVENT_ROWS, INDEX
from tests.bundles import archive, edited, members, rerecorded, with_manifest
from tests.public_archives import END
from tests.store import schema_5
from tests.strangers import at, lines_of, places
from tests.strategies import examples

MEMBERS = (*(f"tables/{name}.jsonl" for name in BUNDLED_TABLES), INDEX)

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**63, 10**400, 0.5, float("nan"), float("inf")),
    *("", " ", "x", "\0", "\ud800", "\udcff", "../x", "scored ", "rejected", "0" * 64, "A" * 64, "{", "{}", "[]"),
    *("2027-01-01", "2027-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59+00:00"),
    *("AAAA", "eJwDAAAAAAE=", [], [[]], [None], {}, {"x": 1}, {"split": 1}, {"split": {}}, [1, 2], [{"file": 1}]),
)
"""Of any kind, and near to what is valid."""


def change(rows: list[dict[str, Any]], draw: st.DataObject) -> None:
    """Repeat, remove or move a row, or change a value in one."""
    position = draw.draw(st.integers(0, len(rows) - 1), label="row")
    row = rows[position]
    action = draw.draw(st.sampled_from(["set", "set", "set", "other", "delete", "repeat", "remove", "move"]))
    if action == "repeat":
        rows.append(copy.deepcopy(row))
    elif action == "remove":
        del rows[position]
    elif action == "move":
        rows.append(rows.pop(position))
    else:
        *path, key = draw.draw(st.sampled_from([*places(row)]), label="place")
        table = at(row, tuple(path))
        if action == "delete":
            del table[key]
        elif action == "set":
            table[key] = draw.draw(st.sampled_from(VALUES), label="value")
        else:
            other = draw.draw(st.sampled_from(rows))
            table[key] = copy.deepcopy(at(other, draw.draw(st.sampled_from([*places(other)]), label="from")))


LOOKS = [
    {
        "track": track,
        "at": f"{END:%FT%T}+00:00",
        "unread": json.dumps({f"{track}/a": None, f"{track}//0": END.isoformat()}),
    }
    for track in ("main", "lists")
]
BUNDLE = Path(schema_5.__file__).parent / "challenge.zip"
RECORDED = [{**json.loads(line), "log": None} for line in members(BUNDLE)[EVENT_ROWS].splitlines()]
ADDED = {"tables/folder_look.jsonl": lines_of(LOOKS), EVENT_ROWS: lines_of(RECORDED)}
CONTENT = with_manifest({**members(BUNDLE), **ADDED}, schema=SCHEMA_VERSION)
"""Of the bundle of release 1.0.0, with a column that it did not have, and other looks."""


def outcome(bundle: bytes) -> str:
    """The message of an import that is refused; empty if it is imported."""
    folder = Path(tempfile.mkdtemp(prefix="rows-"))
    try:
        (folder / "b.zip").write_bytes(bundle)
        try:
            import_bundle(folder / "b.zip", folder / "sub" / "new", clock=lambda: END)
        except ScorerError as error:
            assert not list(folder.glob("sub/*"))
            return str(error)
        return ""
    finally:
        shutil.rmtree(folder)


def check(draw: st.DataObject) -> None:
    """Import a bundle with a changed row."""
    name = draw.draw(st.sampled_from([name for name in MEMBERS if CONTENT[name]]), label="member")
    edit = partial(change, draw=draw)
    try:
        bundle = rerecorded(CONTENT, edit) if name == EVENT_ROWS else edited(CONTENT, name, edit)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return  # what the log of cannot be computed
    message = outcome(bundle)
    assert "\n" not in message
    assert message.isprintable()
    assert len(message) < 600


@given(st.data())
@examples(10)
def test_changed_rows_are_imported_or_refused(draw: st.DataObject) -> None:
    """With one message."""
    check(draw)


def test_the_bundle_is_imported() -> None:
    """As it is; with other looks, it is refused."""
    assert outcome(archive(CONTENT)) == ""
    for unread in ("[]", "{", '{"x": "2027-01-01"}', '{"x": 1}'):
        changed = edited(CONTENT, "tables/folder_look.jsonl", lambda rows: rows[0].update(unread=unread))  # noqa: B023
        assert "table folder_look, row 1: its values cannot belong together; export it again" in outcome(changed)


def test_what_a_body_may_have_is_checked_too() -> None:
    """The digest of the content that replaced a withdrawn entry; a bundle of this version has it."""
    body = {"file": "main/a/1", "digest": "0" * 64}
    body_of("withdrawal", {**body, "replaced_by": "1" * 64})
    wrong: list[object] = [None, "1" * 63, [], 1]
    for value in wrong:
        with pytest.raises(INVALID):
            body_of("withdrawal", {**body, "replaced_by": value})
