"""The record as of an event or a time: boards, lists of entries and sites of earlier states."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import StoreError
from scorer.live.entries import entries, scored_entries
from scorer.live.entry import FOLDER, SERVICE, arrival, recorded, submissions
from scorer.live.now import Now, published_log
from scorer.organising.picks import forget
from scorer.record.events import Event
from scorer.record.log import EventKind, iso
from scorer.scoring.outcomes import Failed
from scorer.settings.tracks import Track
from scorer.store.events import Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.board.test_board import BASIS, Sent, rejected
from tests.board.test_board import outcome as scored_outcome
from tests.board.test_board import track as track_of
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
from tests.strategies import examples

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


TEAMS = ("a", "b", "c")
_PLACES = st.tuples(st.sampled_from(TEAMS), st.integers(0, 3))
STEPS = st.one_of(
    st.tuples(st.just("arrival"), _PLACES, st.integers(0, 40)),
    st.tuples(st.sampled_from(("withdrawal", "return", "forgetting")), _PLACES, st.booleans()),
    st.tuples(st.just("amendment"), _PLACES, st.integers(0, 40)),
    st.tuples(st.just("team"), st.sampled_from(TEAMS), st.sampled_from((None, *TEAMS))),
    st.tuples(st.just("extension"), st.just(None), st.integers(0, 6)),
    st.tuples(st.just("pick"), st.sampled_from(TEAMS), st.lists(_PLACES, max_size=2)),
    st.tuples(st.just("outcome"), _PLACES, st.sampled_from((0.2, 0.6, "rejected", "failed", "retried"))),
)
"""What is recorded: of a file of a team or of a team, and a time in hours, a team, or an outcome."""


@pytest.mark.parametrize("entry", ["best", "picks"])
@examples(40)
@given(steps=st.lists(STEPS, max_size=25), at_once=st.integers(1, 4))
def test_what_is_kept_after_any_events_is_what_is_computed_from_nothing(
    entry: str, steps: Sequence[tuple[str, Any, Any]], at_once: int
) -> None:
    """Also if another process records it: events of files and teams, results, failures, and what is dropped of them."""
    phases = [{"name": "one", "start": START, "end": START + timedelta(hours=20)}]
    track = track_of(entry=entry, quota={"per_day": 1, "rejected_per_day": 1}, phases=phases)
    at = START + 3 * DAY
    with (
        TemporaryDirectory() as folder,
        Store.open(Path(folder) / "scores.db", clock=lambda: at) as writer,
        Store.open(Path(folder) / "scores.db", create=False, clock=lambda: at) as kept,
    ):
        Sent(writer)
        writer.record(lambda _: [(track.name, "phases", {"phases": [each.recorded() for each in track.phases]})])
        for number, step in enumerate(steps, 1):
            _take(writer, track, *step)
            if number % at_once == 0 or number == len(steps):
                with Store.open(Path(folder) / "scores.db", create=False, clock=lambda: at) as new:
                    assert kept.read(partial(_whole_state, track=track)) == new.read(partial(_whole_state, track=track))


def _take(store: Store, track: Track, kind: str, what: Any, how: Any) -> None:
    """Record something, unless the record has no such file."""
    known = store.read(lambda view: recorded(view, track.name))

    def append(kind: EventKind, body: Mapping[str, Any], track: str = track.name) -> None:
        store.record(lambda _: [(track, kind, body)])

    if kind == "team":
        settings = {"merged_into": how} if how not in (None, what) else {}
        append("team", {"team": what, "settings": settings, "reason": "r"}, "")
    elif kind == "extension":
        append("extension", {"phase": "one", "end": iso(START + timedelta(hours=20 + how)), "reason": "r"})
    elif kind == "pick":
        picks = [_about(track, place) for place in how]
        picks = [pick for pick in picks if (pick["file"], pick["digest"]) in known]
        append("pick", {"team": what, "picks": picks, "source": "service"})
    else:
        about = _about(track, what)
        state = known.get((about["file"], about["digest"]))
        if kind == "arrival" and state is None:
            received = START + timedelta(hours=how)
            submission = Submission(track.name, what[0], about["file"], about["digest"], received)
            append("arrival", arrival(submission, SERVICE if how % 2 else FOLDER))
        elif kind == "amendment" and state is not None:
            append("amendment", {**about, "received": iso(START + timedelta(hours=how)), "reason": "r"})
        elif kind in ("withdrawal", "return") and state is not None and state.present == (kind == "withdrawal"):
            append("withdrawal" if state.present else "return", {**about, "unscored": how})
        elif state is not None:
            _drop_or_store(store, track, about, how)


def _about(track: Track, place: tuple[str, int]) -> dict[str, str]:
    file = f"{track.name}/{place[0]}/{place[1]}"
    return {"file": file, "digest": sha256(file.encode()).hexdigest()}


def _drop_or_store(store: Store, track: Track, about: Mapping[str, str], how: Any) -> None:
    """Forget what became of a file, drop that it failed, or store an outcome."""
    if isinstance(how, bool):
        store.record_forgetting(lambda _: [(track.name, "forgetting", {**about, "reason": "r"})], about["digest"])
    elif how == "retried":
        store.retry(BASIS, [about["digest"]])
    elif how == "failed":
        store.store_results([(about["digest"], Failed("lost"))], BASIS)
    else:
        outcome = scored_outcome(how).summary() if isinstance(how, float) else rejected()
        store.store_results([(about["digest"], outcome)], BASIS)


def _whole_state(view: Snapshot, track: Track) -> tuple[object, ...]:
    """What a track is at a moment, and what visitors see of it."""
    now = Now.of(view, track).by(track, BASIS)
    listed = (entries(now), scored_entries(now))
    return (
        *((each.all, each.stored, each.to_score, each.quota) for each in listed),
        *(dict(now.submissions), view.events(track.name), view.teams, view.known_digests(BASIS)),
        *(now.phases, now.merges, now.picks, now.errata, now.recorded, published_log(view, [track])),
    )


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
