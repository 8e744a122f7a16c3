"""The record as of an event or a time: boards, lists of entries and sites of earlier states."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import StoreError
from scorer.live.entries import entries
from scorer.live.entry import recorded, submissions
from scorer.live.now import Now
from scorer.organising.picks import forget
from scorer.record.events import Event
from scorer.settings.tracks import Track
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.commands import Answer, Terminal
from tests.live_challenges import (
    ANNOUNCED,
    DAY,
    END,
    MICROSECOND,
    SECOND,
    SECOND_END,
    SECOND_START,
    START,
    Live,
    lists,
    phase,
    ranking,
)

SETTINGS = "quota = {per_day = 2}\nlate_board = true"
FROZEN = phase("one", START, END, 'freeze = "24h"', 'grace = "1h"')
TWO = phase("two", SECOND_START, SECOND_END)


def test_arrivals_are_selected_by_receipt_and_other_events_by_recording(tmp_path: Path) -> None:
    """To the microsecond: a file that was received before a time is in the state of that time, however late it came."""
    live = Live.of(tmp_path, FROZEN)
    live.run(ANNOUNCED)
    live.put("a/1", lists(1, 1), START)
    live.put("a/2", lists(3, 1), START + DAY)
    live.run(START + 2 * DAY)
    live.path("a/2").unlink()
    live.run(START + 3 * DAY)

    assert ranking(live.board(as_of=START - MICROSECOND)) == []
    assert ranking(live.board(as_of=START)) == [(1, "a", 0.2)]
    assert ranking(live.board(as_of=START + DAY - MICROSECOND)) == [(1, "a", 0.2)]
    assert ranking(live.board(as_of=START + DAY)) == [(1, "a", 0.6)]
    assert ranking(live.board(as_of=START + 3 * DAY - MICROSECOND)) == [(1, "a", 0.6)]
    assert ranking(live.board(as_of=START + 3 * DAY)) == [(1, "a", 0.2)]


def test_the_time_of_a_state_decides_its_phase(tmp_path: Path) -> None:
    """The board as of the preliminary phase shows preliminary scores, also after the end; a freeze holds, too."""
    live = Live.of(tmp_path, FROZEN)
    live.run(ANNOUNCED)
    live.put("a/1", lists(1, 5), START)
    live.run(START + DAY)
    live.put("a/2", lists(5, 5), END - SECOND)
    live.run(END + DAY)

    assert ranking(live.board(as_of=START + DAY)) == [(1, "a", 0.2)]
    assert ranking(live.board(as_of=END)) == [(1, "a", 0.2)]
    assert live.board(as_of=END).frozen_since == END - DAY
    assert ranking(live.board()) == [(1, "a", 1.0)]


def test_no_event_and_the_future_are_refused(tmp_path: Path) -> None:
    """Index 0 is the empty record."""
    live = Live.of(tmp_path, FROZEN)
    live.run(ANNOUNCED)

    assert live.board(as_of=0).rows == ()
    for moment, message in (
        (3, r"has no event 3; the record has the events 1 to 2"),
        (-1, "has no event -1"),
        (ANNOUNCED + SECOND, r"2011-04-01T00:00:01Z: is in the future; give a time until now"),
    ):
        with pytest.raises(StoreError, match=message):
            live.board(as_of=moment)


# The commands


def asked(terminal: Terminal, live: Live, command: str, *options: str) -> Answer:
    """The answer of a command for the challenge."""
    return terminal.run(command, live.folder, *options)


@pytest.fixture(scope="module")
def over(tmp_path_factory: pytest.TempPathFactory) -> Live:
    """A challenge that is over, with two files of one team, for tests that change nothing."""
    live = Live.of(tmp_path_factory.mktemp("over") / "challenge", phase("one", START, END))
    live.run(ANNOUNCED)
    for day, file in enumerate(("a/1", "a/2")):
        live.put(file, lists(1 + day, 5), START + day * DAY)
        live.run(START + day * DAY)
    return live


@pytest.fixture
def live(over: Live, tmp_path: Path) -> Live:
    """A copy of it."""
    return Live(Path(shutil.copytree(over.folder, tmp_path / "challenge")), over.now)


@pytest.mark.parametrize("moment", ["3", "2011-04-18T10:00:00Z", "2011-04-18T12:00:00+02:00", "2011-04-18 10:00:00.5Z"])
def test_the_commands_show_an_earlier_state(live: Live, terminal: Terminal, moment: str) -> None:
    """By the index of an event, or by a time with any offset."""
    (row,) = csv.DictReader(io.StringIO(asked(terminal, live, "leaderboard", "--format", "csv", "--as-of", moment).out))
    listed = json.loads(asked(terminal, live, "entries", "--format", "json", "--as-of", moment).out)["entries"]
    site = asked(terminal, live, "render", "--as-of", moment)

    assert (row["team"], row["preliminary P@1"]) == ("a", "0.200")
    assert [(each["file"], each["preliminary"], each["final"]) for each in listed] == [("main/a/1", 0.2, None)]
    assert site.code == 0
    assert "main/a/2" not in (live.folder / "site" / "teams" / "a.html").read_text()
    assert asked(terminal, live, "render").code == 0
    assert "main/a/2" in (live.folder / "site" / "teams" / "a.html").read_text()


@pytest.mark.parametrize("command", ["leaderboard", "entries", "render"])
@pytest.mark.parametrize(
    ("moment", "code", "message"),
    [
        ("99", 1, "has no event 99; the record has the events 1 to 4"),
        ("2999-01-01T00:00:00Z", 1, "2999-01-01T00:00:00Z: is in the future; give a time until now"),
        ("2011-04-18T10:00:00", 2, 'found "2011-04-18T10:00:00", expected the index of an event, as in 120, or a time'),
        ("2011-04-18", 2, "expected the index of an event"),
        ("-1", 2, ""),
        ("٣", 2, "expected the index of an event"),
        ("yesterday", 2, "expected the index of an event"),
        ("9" * 30, 2, "expected the index of an event"),
    ],
)
def test_a_wrong_moment_is_refused(
    over: Live, terminal: Terminal, command: str, moment: str, code: int, message: str
) -> None:
    """Nothing is printed or written."""
    answer = asked(terminal, over, command, "--as-of", moment)

    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert not (over.folder / "site").exists()


def test_a_state_before_the_first_scores_has_the_first_basis(over: Live) -> None:
    """Results follow from the files, so a board of every state has scores."""
    found = over.board(as_of=START)

    assert replace(found.rows[0], entries=()).entry is not None
    assert found.queries == 10


def test_what_a_process_keeps_is_what_a_new_one_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each change; each event is folded once, and where nothing is new nothing is computed."""
    folded: list[int] = []

    def counted(events: Sequence[Event], *before: Any) -> Any:
        folded.append(len(events))
        return submissions(events, *before)

    live = Live.of(tmp_path, FROZEN, TWO, settings=SETTINGS)
    live.run(ANNOUNCED)
    changes = (
        (START, lambda: [live.put(f"a/{number}", lists(number, 1), START) for number in range(1, 4)]),
        (START + DAY, lambda: live.path("a/2").unlink()),
        (START + 2 * DAY, lambda: live.put("b/1", lists(5, 1), START + 2 * DAY)),
        (
            START + 3 * DAY,
            lambda: live.do(live.now, lambda challenge, store: forget(challenge, store, "main/b/1", "a test")),
        ),
        (SECOND_START, lambda: live.put("a/1", lists(4, 4), SECOND_START)),
        (SECOND_END, lambda: None),
    )
    with Store.open(live.challenge.database_address, clock=lambda: live.now) as kept:
        for at, change in changes:
            change()
            live.run(at)
            states = [store.read(partial(_state, track=live.track)) for store in (kept, live.store(at))]
            assert states[0] == states[1]
            monkeypatch.setattr("scorer.live.entry.submissions", counted)
            assert kept.read(partial(_state, track=live.track)) == states[0]
            assert folded == []
            monkeypatch.undo()
        with Store.open(live.challenge.database_address, clock=lambda: live.now) as other:
            events = other.read(lambda view: len(view.all_events))
            assert other.read(lambda view: _state(view.as_of(events - 1), live.track)) != states[0]
            assert other.read(partial(_state, track=live.track)) == states[0]


def test_entries_of_a_past_state_are_computed_once(over: Live) -> None:
    """Of any kind: as of an event, from before a moment, or of some events only."""

    def read(view: Snapshot) -> list[bool]:
        some = view.with_events(over.track.name, view.events(over.track.name))
        pasts = (view.as_of(3), view.as_of(START), view.before(START), some)
        return [entries(Now.of(past, over.track)) is entries(Now.of(past, over.track)) for past in pasts]

    with over.store(over.now) as store:
        assert store.read(read) == [True] * 4


def _state(view: Snapshot, track: Track) -> tuple[object, ...]:
    listed = entries(Now.of(view, track))
    return dict(recorded(view, track.name)), listed.all, listed.to_score, listed.quota
