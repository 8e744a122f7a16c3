"""`scorer entries`: the structure for programs, the states, and what may be shown of the scores."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from scorer.board.reports.leaderboard import entry_values
from scorer.live.entry import Admission, EntryOutcome, Presence
from scorer.organising.render import listed_entries
from tests.commands import Terminal
from tests.databases import record_teams
from tests.live_challenges import ANNOUNCED, DAY, END, INVALID, ONE, SECOND, START, TWO, Live, lists, phase, stop_clock

HOUR = timedelta(hours=1)

KEYS = [
    *("id", "track", "team", "file", "sha256", "received", "recorded", "phase", "outcome", "admission", "presence"),
    *("state", "reason", "counts", "preliminary", "final"),
]


def listed(live: Live, terminal: Terminal, *options: str) -> list[dict[str, Any]]:
    """The entries as JSON has them."""
    document = json.loads(terminal.run("entries", live.folder, "--format", "json", *options).out)
    assert list(document) == ["version", "entries"]
    assert document["version"] == 2
    return list(document["entries"])


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge with an entry in every state that a run leaves behind."""
    live = Live.of(tmp_path, phase("one", START, END, 'grace = "1h"'), settings="quota = {per_day = 3}")
    live.run(ANNOUNCED)
    live.put("a/old", lists(1, 0, "m"), ANNOUNCED - DAY)
    live.put("a/early", lists(1, 0), START - SECOND)
    for number, file in enumerate(("a/1", "a/2", "a/gone", "a/over")):
        live.put(file, lists(number, 5), START + number * HOUR)
    live.put("b/bad", INVALID, START)
    live.put("b/future", lists(3, 3), END + 100 * DAY)
    live.run(START + 5 * HOUR)
    live.put("a/2", lists(2, 2), START + DAY)
    live.path("a/gone").unlink()
    live.run(START + 2 * DAY)
    live.put("c/late", lists(4, 4), END + HOUR)
    live.run(END + DAY)
    return live


def test_json_has_the_documented_structure(live: Live, terminal: Terminal) -> None:
    """Every entry has the same keys, in the order of the record, with the allowed values."""
    found = listed(live, terminal)

    assert [each["id"] for each in found] == sorted(each["id"] for each in found)
    for each in found:
        assert list(each) == KEYS
        assert each["outcome"] in get_args(EntryOutcome)
        assert each["admission"] in get_args(Admission)
        assert each["presence"] in get_args(Presence)
        assert isinstance(each["counts"], bool)
        assert each["reason"] is None or each["reason"].strip()
    first = next(each for each in found if each["file"] == "main/a/1")
    assert first == {
        "id": 5,
        "track": "main",
        "team": "a",
        "file": "main/a/1",
        "sha256": hashlib.sha256(live.path("a/1").read_bytes()).hexdigest(),
        "received": "2011-04-18T10:00:00Z",
        "recorded": None,
        "phase": "one",
        "outcome": "scored",
        "admission": "ok",
        "presence": "present",
        "state": "scored",
        "reason": None,
        "counts": False,
        "preliminary": 0.0,
        "final": 0.5,
    }


def test_the_state_is_the_first_that_is_not_normal(live: Live, terminal: Terminal) -> None:
    """Of presence, admission and outcome. An entry that is scored and ranked has no reason; others have one."""
    entries = listed(live, terminal)
    found = {
        (each["file"].removeprefix("main/"), each["sha256"]): tuple(
            each[name] for name in ("presence", "admission", "outcome", "state")
        )
        for each in entries
    }

    assert [(file, values) for (file, _), values in found.items()] == [
        ("a/old", ("present", "misdated", "scored", "misdated")),
        ("a/early", ("present", "early", "scored", "early")),
        ("a/1", ("present", "ok", "scored", "scored")),
        ("b/bad", ("present", "ok", "rejected", "rejected")),
        ("a/2", ("superseded", "ok", "scored", "superseded")),
        ("a/gone", ("withdrawn", "ok", "scored", "withdrawn")),
        ("a/over", ("present", "over-quota", "waiting", "over-quota")),
        ("b/future", ("present", "misdated", "scored", "misdated")),
        ("a/2", ("present", "ok", "scored", "scored")),
        ("c/late", ("present", "late", "scored", "late")),
    ]
    for presence, admission, outcome, state in found.values():
        assert state == (presence if presence != "present" else admission if admission != "ok" else outcome)

    reasons = {each["file"].removeprefix("main/"): each["reason"] for each in entries}

    assert reasons["a/1"] is None
    assert reasons["a/early"] == "received before the first phase"
    assert reasons["a/old"] == reasons["b/future"] == "the time of receipt is impossible; `scorer amend` corrects it"
    assert reasons["a/over"] == "over the quota of the team"
    assert reasons["a/gone"] == "the file is gone"
    assert reasons["c/late"] == "received after the end of the phase"
    assert reasons["b/bad"] == "item 2 of the list is empty; expected an item between the commas (and 1 more)"


def test_table_and_csv_have_the_same_entries(live: Live, terminal: Terminal) -> None:
    """The table is for people; CSV has a line for each entry. Another track is an error."""
    found = listed(live, terminal)
    rows = list(csv.DictReader(io.StringIO(terminal.run("entries", live.folder, "--format", "csv").out)))
    table = terminal.run("entries", live.folder).out.splitlines()

    assert [(row["id"], row["file"], row["state"]) for row in rows] == [
        (str(each["id"]), each["file"], each["state"]) for each in found
    ]
    assert [row["preliminary"] for row in rows if row["file"] == "main/a/1"] == ["0.000"]
    names = "id track team file received recorded phase state counts preliminary final"
    assert table[0].split() == names.split()
    assert [line.split()[0] for line in table[1:]] == [str(each["id"]) for each in found]

    assert len(listed(live, terminal, "--track", "main")) == 10
    assert terminal.run("entries", live.folder, "--track", "other").code == 2


# Scores


def scores(live: Live) -> dict[str, tuple[float | None, float | None]]:
    """The preliminary and the final score of each entry, at the time of the last run."""
    with live.store() as store:
        values = entry_values(store.read(lambda view: listed_entries(view, [live.track])))
    return {each["file"].removeprefix("main/"): (each["preliminary"], each["final"]) for each in values}


def test_an_entry_of_a_frozen_period_has_no_scores(tmp_path: Path) -> None:
    """It is listed with its state; the earlier entry counts until the phase has closed."""
    live = Live.of(tmp_path, phase("one", START, END, 'freeze = "24h"'))
    live.run(ANNOUNCED)
    live.put("a/1", lists(3, 1), START)
    live.run(START)
    live.put("a/2", lists(5, 5), END - DAY)
    live.run(END - HOUR)

    assert scores(live) == {"a/1": (0.6, None), "a/2": (None, None)}
    assert live.states() == {"a/1": "scored", "a/2": "scored"}
    live.now = END
    assert scores(live) == {"a/1": (0.6, 0.4), "a/2": (1.0, 1.0)}


def test_no_score_is_listed_while_the_phase_shows_nothing(tmp_path: Path) -> None:
    """Also none by the rank of the list, and no entry is marked as counting by its score."""
    live = Live.of(tmp_path, phase("one", START, END, 'shows = "nothing"'))
    live.run(ANNOUNCED)
    live.put("a/1", lists(3, 1), START)
    live.put("a/2", lists(5, 5), START + SECOND)
    live.run(START + HOUR)

    assert scores(live) == {"a/1": (None, None), "a/2": (None, None)}
    with live.store() as store:
        values = entry_values(store.read(lambda view: listed_entries(view, [live.track])))
    assert [each["counts"] for each in values] != [False, True]


def test_late_entries_have_scores_once_the_late_board_is_shown(tmp_path: Path) -> None:
    """Not before, and not without `late_board`."""
    live = Live.of(tmp_path, ONE, settings="late_board = true")
    live.run(ANNOUNCED)
    live.put("a/early", lists(3, 1), START - SECOND)
    live.run(START + HOUR)
    assert scores(live) == {"a/early": (None, None)}
    live.now = END
    assert scores(live) == {"a/early": (0.6, 0.4)}
    live.configure(ONE)
    assert scores(live) == {"a/early": (None, None)}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not allow such names")
def test_hostile_names_are_text(tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """In JSON, on one line of the table, and guarded in CSV."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    names = ("=cmd()|' !A0", "<script>", 'a"b\\c', "line\nbreak", "\x1b[31mred", "abc\u202egnp")
    for number, name in enumerate(names):
        live.put(f"{name}/1", lists(number % 5, 1, str(number)), START + number * SECOND)
    live.run(START + HOUR)
    stop_clock(monkeypatch, START + HOUR)

    found = listed(live, terminal)
    assert {each["team"] for each in found} == {
        "=cmd()|' !A0",
        "<script>",
        'a"b\\\\c',
        "line\\nbreak",
        "\\x1b[31mred",
        "abc\\u202egnp",
    }
    assert len(terminal.run("entries", live.folder).out.splitlines()) == 1 + len(names)
    rows = list(csv.reader(io.StringIO(terminal.run("entries", live.folder, "--format", "csv").out)))
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    assert len(rows) == 1 + len(names)


def test_an_entry_counts_for_the_row_of_its_team_also_without_a_rank(tmp_path: Path) -> None:
    """Of baselines, and of teams that are disqualified or have withdrawn; not while the board has no scores."""
    hidden = phase("one", START, END, 'shows = "nothing"')
    live = Live.of(tmp_path, hidden, TWO, settings='baselines = ["popular"]')
    live.run(ANNOUNCED)
    for team in ("a", "b", "c", "popular"):
        live.put(f"{team}/1", lists(1, 1, team), START)
    live.run(START + DAY)
    with live.store() as store:
        record_teams(store, {"a": {"disqualified": "two accounts"}, "b": {"withdrawn": "no time"}}, {})
        assert not any(
            each["counts"] for each in entry_values(store.read(lambda view: listed_entries(view, [live.track])))
        )
    live.run(END)
    with live.store() as store:
        found = entry_values(store.read(lambda view: listed_entries(view, [live.track])))

    assert {each["team"]: each["counts"] for each in found} == dict.fromkeys(("a", "b", "c", "popular"), True)
