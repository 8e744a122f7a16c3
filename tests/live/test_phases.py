"""Phases: the settings, the schedule, announcements and extensions, and what the time of receipt decides."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from pydantic import ValidationError

from scorer.board.board import rules
from scorer.errors import ChallengeError
from scorer.organising.phases import extend
from scorer.organising.picks import amend
from scorer.rules.phases import Extension, Phase, Phases, check_order, duration_text
from scorer.settings.loading import read_challenge
from tests.commands import Terminal
from tests.databases import record_teams
from tests.live_challenges import (
    ANNOUNCED,
    DAY,
    END,
    MICROSECOND,
    ONE,
    SECOND,
    SECOND_END,
    SECOND_START,
    START,
    TWO,
    Live,
    lists,
    phase,
    ranking,
    stop_clock,
)
from tests.strategies import rest

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def made(name: str = "one", start: datetime = START, end: datetime = END, **more: object) -> Phase:
    """A phase."""
    return Phase.model_validate({"name": name, "start": start, "end": end, **more})


TIMES = Phases((made(grace="5m", freeze="24h"), made("two", SECOND_START, SECOND_END, shows="nothing")))


# A schedule


@pytest.mark.parametrize(
    ("received", "place"),
    [
        (START - MICROSECOND, (None, "early")),
        (START, ("one", "ok")),
        (END - MICROSECOND, ("one", "ok")),
        (END, ("one", "ok")),
        (END + 5 * MINUTE - MICROSECOND, ("one", "ok")),
        (END + 5 * MINUTE, ("one", "late")),
        (SECOND_START - MICROSECOND, ("one", "late")),
        (SECOND_START, ("two", "ok")),
        (SECOND_END - MICROSECOND, ("two", "ok")),
        (SECOND_END, ("two", "late")),
        (SECOND_END + 1000 * DAY, ("two", "late")),
    ],
)
def test_a_phase_receives_from_its_start_until_before_its_end_and_grace(received: datetime, place: object) -> None:
    """To the microsecond; between two phases an entry is late for the first one."""
    assert TIMES.place(received) == place


def test_the_offset_of_a_time_has_no_effect() -> None:
    """The same instant has the same place, in the settings and as a time of receipt."""
    east = timezone(timedelta(hours=2))
    there = made(start=START.astimezone(east), end=END.astimezone(east))

    assert there == made()
    assert there.recorded() == made().recorded()
    for received in (START - MICROSECOND, START, END - MICROSECOND, END):
        assert Phases((there,)).place(received.astimezone(east)) == Phases((made(),)).place(received)


def test_without_phases_an_entry_is_received_at_any_time() -> None:
    """It has no phase; nothing starts, is over, or is frozen."""
    none = Phases(())

    assert none.place(START) == (None, "ok")
    assert (none.has_started(START), none.is_over(START), none.has_closed(None, START)) == (False, False, False)
    assert (none.current(START), none.upcoming(START), none.frozen_since(START)) == (None, None, None)


@pytest.mark.parametrize(
    ("now", "current", "upcoming"),
    [
        (START - MICROSECOND, None, "one"),
        (START, "one", "two"),
        (END + 5 * MINUTE - MICROSECOND, "one", "two"),
        (END + 5 * MINUTE, None, "two"),
        (SECOND_START, "two", None),
        (SECOND_END, None, None),
    ],
)
def test_at_most_one_phase_is_open(now: datetime, current: str | None, upcoming: str | None) -> None:
    """Also during its grace; none is open between phases."""
    open_now, next_one = TIMES.current(now), TIMES.upcoming(now)

    assert (open_now.name if open_now else None, next_one.name if next_one else None) == (current, upcoming)
    assert TIMES.has_started(now) is (now >= START)
    assert TIMES.is_over(now) is (now >= SECOND_END)


@pytest.mark.parametrize(
    ("now", "since"),
    [
        (END - DAY - MICROSECOND, None),
        (END - DAY, END - DAY),
        (END + 5 * MINUTE - MICROSECOND, END - DAY),
        (END + 5 * MINUTE, None),
        (SECOND_END - MICROSECOND, None),
    ],
)
def test_a_freeze_lasts_until_the_grace_is_over(now: datetime, since: datetime | None) -> None:
    """A phase without a freeze is never frozen."""
    assert TIMES.frozen_since(now) == since


def test_a_recorded_phase_is_read_back() -> None:
    """With microseconds, grace, freeze and what it shows."""
    written = made(end=END + MICROSECOND, grace="90s", freeze="36h", shows="nothing")

    assert Phase.of_record(written.recorded()) == written
    assert written.recorded() == {
        "name": "one",
        "start": "2011-04-18T10:00:00+00:00",
        "end": "2011-04-28T10:00:00.000001+00:00",
        "grace": 90,
        "freeze": 129600,
        "shows": "nothing",
    }


# Settings


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0s", timedelta(0)),
        ("90s", timedelta(seconds=90)),
        ("5m", 5 * MINUTE),
        ("24h", DAY),
        (" 7d ", 7 * DAY),
        ("999999s", timedelta(seconds=999_999)),
    ],
)
def test_a_duration_is_a_number_with_a_unit(text: str, duration: timedelta) -> None:
    """Seconds, minutes, hours or days."""
    assert made(grace=text).grace == duration


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5.5m", "5M", "1h30m", "٣m", "5w", "9999999s", "5m\n5m"])
def test_another_text_is_no_duration(text: str) -> None:
    """It is refused."""
    with pytest.raises(ValidationError, match="is not a duration"):
        made(grace=text)


@pytest.mark.parametrize(
    ("duration", "text"), [("0s", "0d"), ("90s", "90s"), ("120s", "2m"), ("90m", "90m"), ("48h", "2d")]
)
def test_a_duration_is_shown_in_the_largest_exact_unit(duration: str, text: str) -> None:
    """As challenge.toml has it, so it can be copied from a message."""
    assert duration_text(made(grace=duration).grace) == text


def test_phases_follow_one_another() -> None:
    """A phase may start at the moment at which the one before has closed, and not a microsecond earlier."""
    first = made(grace="5m")
    check_order((first, made("two", first.closes, SECOND_END)))

    with pytest.raises(
        ValueError, match="two starts at 2011-04-28T10:04:59Z, before one has ended, with its grace, at"
    ):
        check_order((first, made("two", first.closes - SECOND, SECOND_END)))
    with pytest.raises(ValueError, match="one starts at"):
        check_order((made("two", SECOND_START, SECOND_END), first))
    with pytest.raises(ValueError, match="two phases are called one"):
        check_order((first, made("one", SECOND_START, SECOND_END)))


def error_of(folder: Path, table: str, settings: str = "") -> str:
    """The error in a challenge with this table."""
    Live.of(folder, table, settings=settings)
    with pytest.raises(ChallengeError) as caught:
        read_challenge(folder)
    return str(caught.value).partition("challenge.toml: ")[2]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            phase("one", "2011-04-18T10:00:00", END),
            'tracks.main.phases[0].start: found "2011-04-18 10:00:00", which has no offset from UTC; allowed: a '
            "date-time with its offset from UTC, as in 2027-04-18T10:00:00+02:00",
        ),
        (phase("one", START, "2011-04-28"), "tracks.main.phases[0].end: found"),
        (phase("one", START, '"2011-04-28T10:00:00Z"'), "tracks.main.phases[0].end: found"),
        (phase("one", START, "0001-01-01T00:00:00+23:00"), "tracks.main.phases[0].end: found"),
        (phase("one", END, START), "end: is not after start"),
        (phase("one", START, START), "end: is not after start"),
        (phase("Phase 1", START, END), "has other characters than a-z, 0-9 and -"),
        (phase("one", START, END, 'freeze = "11d"'), "freeze: is longer than the phase"),
        (
            phase("one", START, END, 'grace = "soon"'),
            'grace: found "soon", which is not a duration; allowed: a text such',
        ),
        (phase("one", START, END, "grace = 5"), "tracks.main.phases[0].grace: found 5"),
        (
            phase("one", START, END, 'shows = "rank"'),
            'shows: found "rank"; allowed: "score", "ladder", "own" or "nothing"',
        ),
        (phase("one", START, END, "length = 1"), "tracks.main.phases[0].length: unknown key"),
        (ONE + phase("two", END - SECOND, SECOND_END), "tracks.main.phases: "),
        (ONE + ONE, "two phases are called one"),
        (ONE.partition("end = ")[0], "tracks.main.phases[0].end: is missing"),
    ],
)
def test_an_invalid_phase_is_refused(tmp_path: Path, table: str, message: str) -> None:
    """The message names the key, what was found, and what is allowed."""
    assert message in error_of(tmp_path, table)


def test_phases_and_stage_cannot_be_combined(tmp_path: Path) -> None:
    """The phases decide which scores are shown."""
    assert "which cannot be combined with stage; remove stage" in error_of(tmp_path, ONE, 'stage = "final"')


# Receipt


@pytest.mark.holds(
    r"The phase \w+ receives entries from .* UTC until .* UTC(, with .* of grace)?\.",
    r"A phase closes at its end, or at the end of its grace .* the exact moment at which it closes is not\.",
    r"An entry that is received before the first phase is early; .* are scored and are never ranked\.",
)
def test_an_entry_counts_only_if_it_was_received_in_a_phase(tmp_path: Path) -> None:
    """An early or late entry is scored and not ranked, also by a run in a later phase."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    for name, received in {
        "early": START - SECOND,
        "first": START,
        "last": END - SECOND,
        "late": END,
        "between": SECOND_START - SECOND,
        "second": SECOND_START,
    }.items():
        live.put(f"{name}/1.txt", lists(3, 3, name), received)
    live.run(SECOND_START + DAY)

    assert live.states() == {
        "early/1.txt": "early",
        "first/1.txt": "scored",
        "last/1.txt": "scored",
        "late/1.txt": "late",
        "between/1.txt": "late",
        "second/1.txt": "scored",
    }
    assert {each.file: each.phase for each in live.entries().all} == {
        "main/early/1.txt": None,
        "main/first/1.txt": "one",
        "main/last/1.txt": "one",
        "main/late/1.txt": "one",
        "main/between/1.txt": "one",
        "main/second/1.txt": "two",
    }
    assert len(live.outcomes) == 6
    ranks = {name: rank for rank, name, _ in ranking(live.board())}
    assert ranks == {"early": None, "first": 1, "last": 1, "late": None, "between": None, "second": 1}


@pytest.mark.holds(
    r"An entry that is received before .* never ranked\. They are listed on a late board after the last phase\."
)
def test_a_late_board_is_shown_after_the_last_phase(tmp_path: Path) -> None:
    """With `late_board`, from the moment at which the last phase has closed; its rows have no rank."""
    live = Live.of(tmp_path, phase("one", START, END, 'grace = "1h"'), settings="late_board = true")
    live.run(ANNOUNCED)
    live.put("early/1.txt", lists(1, 1), START - SECOND)
    live.put("good/1.txt", lists(3, 3), START)
    live.put("late/1.txt", lists(5, 5), END + HOUR)
    live.run(END + HOUR)

    assert [(row.rank, row.team.name, row.entry and row.entry.final[0]) for row in live.board().late] == [
        (None, "late", 1.0),
        (None, "early", 0.2),
    ]
    assert live.board(END + HOUR - MICROSECOND).late == ()
    assert [(rank, name) for rank, name, _ in ranking(live.board()) if rank] == [(1, "good")]
    live.configure(phase("one", START, END, 'grace = "1h"'))
    assert live.board().late == ()


@pytest.mark.holds(
    r"Final scores are not shown until the phase \w+ has closed, .* UTC(, with .* of grace)?\.",
    r"The board is ranked by the preliminary P@1\. Final scores are not shown yet\.",
    r"The board is ranked by the final P@1\.",
    r"Preliminary scores are means over 5 of them, final scores over all 10\.",
)
def test_phases_decide_which_scores_are_shown(tmp_path: Path) -> None:
    """Preliminary scores until the last phase has closed; then final ones."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    live.put("a/1.txt", lists(4, 0), START)
    live.put("b/1.txt", lists(3, 5), START)
    live.run(START + DAY)

    for now in (START + DAY, END, SECOND_END - MICROSECOND):
        assert ranking(live.board(now)) == [(1, "a", 0.8), (2, "b", 0.6)]
        assert all(row.entry and row.entry.final == (None,) for row in live.board(now).rows)
    assert ranking(live.board(SECOND_END)) == [(1, "b", 0.8), (2, "a", 0.4)]


@pytest.mark.holds(
    r"The track has no preliminary queries, so the board shows scores over all queries from the beginning\.",
    r"Scores are means over the 10 queries of the solution\.",
    r"No entry has been scored yet\.",
)
def test_without_preliminary_queries_final_scores_are_shown_from_the_start(tmp_path: Path) -> None:
    """The board of a challenge with phases is never blank for lack of flags."""
    live = Live.of(tmp_path, ONE, flagged=0)
    live.run(ANNOUNCED)
    assert "No entry has been scored yet." in rules(live.board())
    live.put("a/1.txt", lists(4, 0), START)
    live.run(START + DAY)

    assert ranking(live.board()) == [(1, "a", 0.4)]
    assert "No entry has been scored yet." not in rules(live.board())


@pytest.mark.holds(
    r"From the start of the phase \w+ until it has closed, .* UTC.*, the board lists .* without scores and ranks\.",
    r"The board shows no scores and no ranks during the phase \w+\.",
)
def test_a_phase_that_shows_nothing_lists_teams_without_scores(tmp_path: Path) -> None:
    """Neither scores nor ranks from its start until it has closed. Before it, baselines have scores."""
    hidden = phase("one", START, END, 'shows = "nothing"', 'grace = "1h"')
    live = Live.of(tmp_path, hidden, settings='baselines = ["popular"]')
    live.put("popular/1.txt", lists(2, 2), ANNOUNCED)
    live.run(ANNOUNCED)
    assert ranking(live.board(START - MICROSECOND)) == [(None, "popular", 0.4)]
    live.put("a/1.txt", lists(4, 0), START)
    live.put("b/1.txt", lists(3, 5), START)
    live.run(START + DAY)

    for now in (START, END + HOUR - MICROSECOND):
        assert {each[1:] for each in ranking(live.board(now))} == {("popular", None), ("a", None), ("b", None)}
    assert ranking(live.board(END + HOUR)) == [(1, "b", 0.8), (None, "popular", 0.4), (2, "a", 0.4)]


@pytest.mark.holds(
    r"From .* UTC until the phase has closed, .* UTC.*, the board is frozen: it shows the record as it was before\. "
    r"What is recorded later, also of files that were received before, appears then\."
)
def test_a_freeze_shows_the_record_as_it_was_when_it_began(tmp_path: Path) -> None:
    """Until the phase has closed. What was received before and is imported during the freeze appears then, too, and so
    do decisions.
    """
    live = Live.of(tmp_path, phase("one", START, END, 'freeze = "24h"', 'grace = "1h"'))
    live.run(ANNOUNCED)
    live.put("a/1.txt", lists(2, 2), END - DAY - SECOND)
    live.run(END - DAY - MICROSECOND)
    live.put("a/2.txt", lists(3, 3), END - DAY - SECOND)
    live.put("a/3.txt", lists(5, 5), END - DAY)
    live.run(END - HOUR)

    with live.store(END) as store:
        record_teams(store, {"a": {"disqualified": "two accounts"}}, {})
    for now in (END - HOUR, END + HOUR - MICROSECOND):
        frozen = live.board(now)
        assert (ranking(frozen), frozen.frozen_since) == ([(1, "a", 0.4)], END - DAY)
        assert [entry.file for row in frozen.rows for entry in row.entries] == ["main/a/1.txt"]
    thawed = live.board(END + HOUR)
    assert (ranking(thawed), thawed.frozen_since) == ([(None, "a", 1.0)], None)
    assert len(thawed.rows[0].entries) == 3


def test_a_freeze_lasts_as_long_as_the_clock_of_its_first_event_says(tmp_path: Path) -> None:
    """An event after the first one that was recorded in the freeze is hidden, also if its clock was earlier."""
    live = Live.of(tmp_path, phase("one", START, END, 'freeze = "24h"'))
    live.run(ANNOUNCED)
    live.put("a/1.txt", lists(1, 1), END - 2 * DAY)
    live.run(END - 2 * DAY)
    live.put("a/2.txt", lists(2, 2), END - DAY - HOUR)
    live.run(END - DAY)
    live.put("a/3.txt", lists(3, 3), END - DAY - HOUR)
    live.run(END - DAY - SECOND)

    assert ranking(live.board(END - SECOND)) == [(1, "a", 0.2)]
    assert ranking(live.board(END)) == [(1, "a", 0.6)]


def test_a_file_from_before_the_freeze_that_claims_to_be_from_it_stays(tmp_path: Path) -> None:
    """It was recorded before, by a clock that differs a little, or with an impossible time."""
    live = Live.of(tmp_path, phase("one", START, END, 'freeze = "24h"'))
    live.run(ANNOUNCED)
    live.put("a/1.txt", lists(1, 1), END - DAY - SECOND)
    live.put("a/2.txt", lists(2, 2), END - DAY)
    live.put("a/3.txt", lists(3, 3), END - HOUR)
    live.run(END - DAY - SECOND)

    for now in (END - DAY - SECOND, END - DAY, END - SECOND, END):
        (row,) = live.board(now).rows
        assert ranking(live.board(now)) == [(1, "a", 0.4)]
        assert [entry.state for entry in row.entries] == ["misdated", "scored", "scored"]


# Impossible times


@pytest.mark.holds(
    r"A time of receipt that is more than 5 minutes in the future, .* The entry does not count until .* time\."
)
def test_a_time_in_the_future_does_not_count_until_it_is_amended(tmp_path: Path) -> None:
    """Five minutes are tolerated. An amended time decides the phase."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/soon.txt", lists(1, 1), START + HOUR + 5 * MINUTE)
    live.put("a/far.txt", lists(2, 2), START + HOUR + 5 * MINUTE + SECOND)
    live.run(START + HOUR)

    assert live.states() == {"a/soon.txt": "scored", "a/far.txt": "misdated"}
    live.run(START + DAY)
    assert live.states()["a/far.txt"] == "misdated"
    with live.store() as store:
        amend(live.challenge, store, "main/a/far.txt", START + HOUR, "the clock of the server was wrong")
    assert (live.entry("a/far.txt").state, live.entry("a/far.txt").phase) == ("scored", "one")
    with live.store() as store:
        amend(live.challenge, store, "main/a/far.txt", START - HOUR, "it was even earlier")
    assert live.states()["a/far.txt"] == "early"


def test_a_time_before_the_announcement_does_not_count_until_it_is_amended(tmp_path: Path) -> None:
    """The times of an old file cannot be trusted, unless it was recorded before the phases were announced."""
    live = Live.of(tmp_path)
    live.configure(settings='stage = "preliminary"')
    live.put("a/before.txt", lists(1, 1), ANNOUNCED - DAY)
    live.run(ANNOUNCED - HOUR)
    live.configure(ONE)
    live.run(ANNOUNCED)
    live.put("a/close.txt", lists(2, 2), ANNOUNCED - 5 * MINUTE)
    live.put("a/old.txt", lists(3, 3), ANNOUNCED - 5 * MINUTE - SECOND)
    live.run(START + HOUR)

    assert live.states() == {"a/before.txt": "early", "a/close.txt": "early", "a/old.txt": "misdated"}
    with live.store() as store:
        amend(live.challenge, store, "main/a/old.txt", START, "it came by mail")
    assert live.states()["a/old.txt"] == "scored"


@pytest.mark.holds(
    r"Baselines have no phase and no quota\. The board lists them also before the first phase\.",
    r"Baselines are listed by their scores and have no rank\.",
)
def test_baselines_have_no_phase(tmp_path: Path) -> None:
    """They count at any time, also one that is older than the announcement of the phases, and have no rank."""
    live = Live.of(tmp_path, ONE, settings='baselines = ["popular"]')
    live.put("popular/old.txt", lists(4, 4), ANNOUNCED - 100 * DAY)
    live.run(ANNOUNCED)
    assert ranking(live.board()) == [(None, "popular", 0.8)]
    live.put("popular/late.txt", lists(2, 2), END + DAY)
    live.put("a/1.txt", lists(5, 5), START)
    live.put("b/1.txt", lists(1, 1, "b"), START)
    live.run(END + 2 * DAY)

    assert set(live.states().values()) == {"scored"}
    assert ranking(live.board()) == [(1, "a", 1.0), (None, "popular", 0.8), (2, "b", 0.2)]


# Files that vanish


@pytest.mark.holds(
    r"A file that is deleted or replaced withdraws its entry when the next run finds it so\. Once the phase of an "
    r"entry has closed, no run withdraws it, and a withdrawn entry does not return\."
)
def test_before_the_close_a_missing_file_is_withdrawn_and_after_it_is_not(tmp_path: Path) -> None:
    """The grace counts. Neither a deleted nor a replaced file takes an entry from the board, and none returns to it."""
    live = Live.of(tmp_path, phase("one", START, END, 'grace = "1h"'), TWO)
    live.run(ANNOUNCED)
    for name in ("a/gone.txt", "a/deleted.txt", "b/replaced.txt", "c/early.txt"):
        live.put(name, lists(3, 3, name[0]), START if name != "c/early.txt" else START - SECOND)
    live.run(START + HOUR)
    live.path("a/gone.txt").unlink()
    live.run(END + HOUR - MICROSECOND)
    assert live.states()["a/gone.txt"] == "withdrawn"

    live.put("d/late.txt", lists(1, 1, "d"), END + HOUR)
    live.run(END + HOUR)
    for name in ("a/deleted.txt", "c/early.txt", "d/late.txt"):
        live.path(name).unlink()
    live.put("a/gone.txt", lists(3, 3, "a"), START)
    live.put("b/replaced.txt", lists(5, 5, "new"), SECOND_START)
    live.run(SECOND_START + DAY)

    found = [(entry.file, entry.state, entry.phase) for entry in live.entries().all]
    assert ("main/a/gone.txt", "withdrawn", "one") in found
    assert ("main/a/deleted.txt", "scored", "one") in found
    assert ("main/c/early.txt", "early", None) in found
    assert ("main/b/replaced.txt", "scored", "one") in found
    assert ("main/b/replaced.txt", "scored", "two") in found
    assert live.kinds().count("withdrawal") == 1
    before = live.kinds()
    live.run(SECOND_START + 2 * DAY)
    assert live.kinds() == before


@pytest.mark.parametrize(
    ("one", "two", "states"),
    [
        ("x", "yz-", "scored withdrawn withdrawn"),
        ("x", "y-y", "scored scored"),
        ("wx", "y-", "superseded scored withdrawn"),
        ("w-", "y", "superseded scored"),
        ("", "xyx", "scored superseded"),
        *rest(
            [
                ("x", "y-", "scored withdrawn"),
                ("x", "yx", "scored superseded"),
                ("x", "yz", "scored superseded scored"),
                ("x", "y-y-", "scored withdrawn"),
                ("wx", "-", "superseded scored"),
                ("w-", "y-", "withdrawn withdrawn"),
                ("", "xyx-", "withdrawn withdrawn"),
                ("", "x-y", "superseded scored"),
            ]
        ),
    ],
)
def test_an_entry_is_superseded_only_if_its_file_has_another_content(
    tmp_path: Path, one: str, two: str, states: str
) -> None:
    """The contents of one file in two phases, ``-`` where it is removed, with a run after each change."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    live.put("other/1", lists(1, 1), START)
    for begin, contents in ((START, one), (SECOND_START, two)):
        for number, content in enumerate(contents):
            moment = begin + number * HOUR
            live.path("a/1").unlink(missing_ok=True) if content == "-" else live.put(
                "a/1", lists(2, 2, content), moment
            )
            live.run(moment + MINUTE)

    assert [entry.state for entry in live.entries().all if entry.team == "a"] == states.split()


def test_a_disk_that_is_not_mounted_withdraws_no_file_with_a_name_of_an_earlier_phase(tmp_path: Path) -> None:
    """The entry of the earlier phase stays in any case; that of the present phase needs a confirmation."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    for start in START, SECOND_START:
        for team in "abcd":
            live.put(f"{team}/1", lists(1, 1, f"{team}{start:%m}"), start)
        live.run(start + HOUR)
    live.path("").rename(tmp_path / "unmounted")
    live.path("").mkdir()

    work = live.run(SECOND_START + 2 * HOUR, confirm_withdrawals=False)
    assert [warning for warning in work.warnings if "4 of 4 submissions are missing" in warning]
    assert set(live.states().values()) == {"scored"}
    live.run(SECOND_START + 2 * HOUR)
    assert set(live.states().values()) == {"withdrawn"}


@pytest.mark.parametrize("folders", ["", "a"], ids=["no folder", "an empty folder of a team"])
def test_a_disk_that_is_not_mounted_is_no_look_that_found_nothing(tmp_path: Path, folders: str) -> None:
    """What arrives meanwhile, and is seen after the close, is of the phase by its time: the last look was before it."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/1", lists(1, 1), START)
    live.run(START + HOUR)
    live.path("").rename(tmp_path / "unmounted")
    live.path(folders).mkdir(parents=True)
    live.run(END + HOUR, confirm_withdrawals=False)
    shutil.rmtree(live.path(""))
    (tmp_path / "unmounted").rename(live.path(""))
    live.put("a/2", lists(2, 2), END - HOUR)
    live.run(END + 2 * HOUR)

    assert live.states() == {"a/1": "scored", "a/2": "scored"}


def test_what_is_removed_or_replaced_before_the_close_stays_if_no_run_sees_it_before(tmp_path: Path) -> None:
    """The run that finds it is after the close. The new content is an entry of the phase, next to the earlier one."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/1.txt", lists(3, 3, "a"), START)
    live.put("b/1.txt", lists(4, 4, "b"), START)
    live.run(START + HOUR)
    live.path("a/1.txt").unlink()
    live.put("b/1.txt", lists(1, 1, "b"), END - SECOND)
    live.run(END)

    assert [(entry.team, entry.state) for entry in live.entries().all] == [(team, "scored") for team in "abb"]
    assert ranking(live.board()) == [(1, "b", 0.8), (2, "a", 0.6)]


def test_the_same_bytes_bring_an_entry_back_with_its_time(tmp_path: Path) -> None:
    """Of receipt, and with its place in the record. In between, a team without another entry has no row."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.put("a/1.txt", lists(3, 3), START)
    live.put("b/1.txt", lists(1, 1, "b"), START)
    live.run(START + HOUR)
    before = live.entry("a/1.txt")
    live.path("a/1.txt").unlink()
    live.run(START + 2 * HOUR)
    assert live.states()["a/1.txt"] == "withdrawn"
    assert ranking(live.board()) == [(1, "b", 0.2)]

    live.put("a/1.txt", lists(3, 3), START + DAY)
    live.run(START + DAY)
    assert live.entry("a/1.txt") == before
    assert (before.received, len(live.entries().all)) == (START, 2)
    assert ranking(live.board()) == [(1, "a", 0.6), (2, "b", 0.2)]


# Announcements


def test_phases_are_announced_once(tmp_path: Path) -> None:
    """By the first run; later runs record nothing while the file is the same."""
    live = Live.of(tmp_path, ONE, TWO)
    for now in (ANNOUNCED, ANNOUNCED + HOUR, START, SECOND_END):
        live.run(now)

    assert live.kinds().count("phases") == 1
    (announcement,) = live.entries().quota.phases.decisions
    assert (announcement.at, [each.name for each in announcement.phases]) == (ANNOUNCED, ["one", "two"])


def test_a_phase_may_change_before_it_starts(tmp_path: Path) -> None:
    """It is announced again; the earlier announcement stays in the record. A phase that has not started may go."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    live.configure(phase("one", START + DAY, END, 'grace = "1h"'), TWO)
    live.run(START - HOUR)
    live.configure(phase("one", START + DAY, END, 'grace = "1h"'))
    live.run(START + 2 * DAY)

    plan = live.entries().quota.phases
    assert [len(each.phases) for each in plan.decisions] == [2, 2, 1]
    assert plan.all == (made(start=START + DAY, grace="1h"),)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            phase("one", START, END + DAY),
            "tracks.main.phases[0].end: found 2011-04-29 10:00:00 UTC, but the phase one has started and was announced "
            "with 2011-04-28 10:00:00 UTC; restore 2011-04-28 10:00:00 UTC, or record a later end with `scorer phases "
            "extend one --end TIME --reason TEXT`",
        ),
        (
            phase("one", START, END - SECOND),
            "tracks.main.phases[0].end: found 2011-04-28 09:59:59 UTC, but the phase one has started",
        ),
        (
            phase("one", START + SECOND, END),
            "tracks.main.phases[0].start: found 2011-04-18 10:00:01 UTC, but the phase one has started and was "
            "announced with 2011-04-18 10:00:00 UTC; restore 2011-04-18 10:00:00 UTC",
        ),
        (
            phase("one", START, END, 'grace = "5m"'),
            'tracks.main.phases[0].grace: found "5m", but the phase one has started and was announced with "0d"',
        ),
        (phase("one", START, END, 'freeze = "1h"'), 'tracks.main.phases[0].freeze: found "1h", but'),
        (phase("one", START, END, 'shows = "nothing"'), 'tracks.main.phases[0].shows: found "nothing", but'),
        ("", "tracks.main.phases: lacks the phase one, which started at 2011-04-18 10:00:00 UTC; restore its table"),
        (
            ONE + phase("extra", END + HOUR, SECOND_END),
            "tracks.main.phases[1]: the new phase extra starts in the past, at 2011-04-28 11:00:00 UTC; a phase is "
            "announced before it starts",
        ),
        (
            phase("zero", START - DAY, START - HOUR) + ONE,
            "tracks.main.phases[0]: the new phase zero starts in the past",
        ),
    ],
)
def test_a_phase_that_has_started_cannot_change(tmp_path: Path, table: str, message: str) -> None:
    """The run says what was found and what was announced; nothing is recorded, and it goes on once it is restored."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.configure(table, settings="" if table else 'stage = "preliminary"')
    before = live.kinds()
    with pytest.raises(ChallengeError) as caught:
        live.run(END + 2 * HOUR)

    assert str(caught.value).startswith(message)
    assert live.kinds() == before
    live.configure(ONE)
    live.run(END + 3 * HOUR)


def test_a_phase_cannot_be_moved_into_the_past(tmp_path: Path) -> None:
    """Entries that were early would count."""
    live = Live.of(tmp_path, ONE)
    live.run(ANNOUNCED)
    live.configure(phase("one", ANNOUNCED + DAY, END))
    with pytest.raises(ChallengeError, match=r"phases\[0\]: the changed phase one starts in the past"):
        live.run(ANNOUNCED + 2 * DAY)


def test_phases_in_the_past_can_be_announced_by_the_first_run(tmp_path: Path) -> None:
    """A challenge may be moved to scorer while it runs."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(START + DAY)
    live.put("a/1.txt", lists(3, 3), START + DAY)
    live.run(START + 2 * DAY)

    assert live.states() == {"a/1.txt": "scored"}


# Extensions


def extended(live: Live, now: datetime, end: datetime, name: str = "one", reason: str = "the server was down") -> None:
    """Extend a phase at this time."""
    with live.store(now) as store:
        extend(live.challenge, store, None, name, end, reason)


def test_an_extension_is_recorded_with_its_history(tmp_path: Path) -> None:
    """Twice; entries are received until the new end."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    extended(live, END - HOUR, END + HOUR)
    extended(live, END, (END + DAY).astimezone(timezone(timedelta(hours=2))), reason=" again ")
    live.put("a/1.txt", lists(3, 3), END + DAY - SECOND)
    live.put("b/1.txt", lists(3, 3), END + DAY)
    live.run(END + 2 * DAY)

    plan = live.board().phases
    assert [
        (each.at, each.phase, each.before, each.end, each.reason)
        for each in plan.decisions
        if isinstance(each, Extension)
    ] == [
        (END - HOUR, "one", END, END + HOUR, "the server was down"),
        (END, "one", END + HOUR, END + DAY, "again"),
    ]
    assert plan.decisions[0].phases == (made(), made("two", SECOND_START, SECOND_END))
    assert live.states() == {"a/1.txt": "scored", "b/1.txt": "late"}


def test_after_an_extension_the_file_may_have_any_earlier_end(tmp_path: Path) -> None:
    """The announced one, or one that an extension gave; the last one stays in force."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    for number, end in enumerate((END + HOUR, END + DAY), 1):
        extended(live, START + number * HOUR, end)
    for number, end in enumerate((END, END + HOUR, END + DAY)):
        live.configure(phase("one", START, end), TWO)
        live.run(START + DAY + number * HOUR)
        assert live.entries().quota.phases.all[0].end == END + DAY
    live.configure(phase("one", START, END + 2 * HOUR), TWO)
    with pytest.raises(ChallengeError, match="was announced with 2011-04-29 10:00:00 UTC"):
        live.run(START + 2 * DAY)
    assert live.kinds().count("phases") == 1


@pytest.mark.holds(
    r"Once a phase has started, its end changes only by an extension, which is recorded and shown with its reason\."
)
def test_an_end_that_was_written_into_the_file_first_can_be_recorded(tmp_path: Path) -> None:
    """As the message of a run with a changed end says."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    live.configure(phase("one", START, END + DAY), TWO)
    with pytest.raises(ChallengeError, match="record a later end with `scorer phases extend one"):
        live.run(START + DAY)
    extended(live, START + DAY, END + DAY)
    live.run(START + 2 * DAY)

    assert live.entries().quota.phases.all[0].end == END + DAY


def test_a_phase_that_has_not_started_keeps_its_extension(tmp_path: Path) -> None:
    """Another change of the file does not take it back; a new time in the file does."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    extended(live, ANNOUNCED, SECOND_END + DAY, "two")
    live.configure(ONE, phase("two", SECOND_START, SECOND_END, 'grace = "1h"'))
    live.run(ANNOUNCED + DAY)
    assert live.entries().quota.phases.all[1] == made("two", SECOND_START, SECOND_END + DAY, grace="1h")

    live.configure(ONE, phase("two", SECOND_START, SECOND_END + 2 * DAY))
    live.run(ANNOUNCED + 2 * DAY)
    assert live.entries().quota.phases.all[1] == made("two", SECOND_START, SECOND_END + 2 * DAY)


def test_phases_that_overlap_by_an_extension_are_refused(tmp_path: Path) -> None:
    """Also if the file has the old end."""
    live = Live.of(tmp_path, ONE, TWO)
    live.run(ANNOUNCED)
    extended(live, START, END + DAY)
    live.configure(ONE, phase("two", END + HOUR, SECOND_END))
    with pytest.raises(ChallengeError, match="with the extensions, two starts at 2011-04-28T11:00:00Z, before one has"):
        live.run(START + DAY)


GRACE = phase("one", START, END, 'grace = "1h"')


@pytest.mark.parametrize(
    ("now", "name", "end", "reason", "message"),
    [
        (START, "one", END, "x", "is not after the end of one, 2011-04-28 10:00:00 UTC; give a later time"),
        (START, "one", END - DAY, "x", "is not after the end of one"),
        (
            END + HOUR,
            "one",
            END + DAY,
            "x",
            "the phase one closed at 2011-04-28 10:00:00 UTC, with 1 hour of grace; a ",
        ),
        (
            START,
            "one",
            SECOND_START - HOUR + SECOND,
            "x",
            "with the grace of one reaches into the phase two, which starts at 2011-05-02 10:00:00 UTC",
        ),
        (START, "on", END + DAY, "x", 'no phase is called "on" (did you mean one?); the phases are: one, two'),
        (START, "one", END + DAY, " ", "the reason is blank"),
    ],
)
def test_an_impossible_extension_is_refused(
    tmp_path: Path, now: datetime, name: str, end: datetime, reason: str, message: str
) -> None:
    """Nothing is recorded."""
    live = Live.of(tmp_path, GRACE, TWO)
    live.run(ANNOUNCED)
    with pytest.raises(ChallengeError) as caught:
        extended(live, now, end, name, reason)

    assert message in str(caught.value)
    assert "extension" not in live.kinds()


@pytest.mark.parametrize("now", [END + HOUR - MICROSECOND, ANNOUNCED])
def test_a_phase_is_extended_until_it_has_closed_and_up_to_the_next_one(tmp_path: Path, now: datetime) -> None:
    """During its grace, and before its start."""
    live = Live.of(tmp_path, GRACE, TWO)
    live.run(ANNOUNCED)
    extended(live, now, SECOND_START - HOUR)

    assert live.entries().quota.phases.all[0].closes == SECOND_START


def test_an_extension_is_public_during_a_freeze(tmp_path: Path) -> None:
    """The schedule is never frozen, and the freeze moves with the end."""
    live = Live.of(tmp_path, phase("one", START, END, 'freeze = "24h"'))
    live.run(ANNOUNCED)
    live.put("a/1.txt", lists(1, 1), END - DAY)
    live.run(END - DAY + HOUR - MICROSECOND)
    extended(live, END - HOUR, END + HOUR)

    frozen = live.board(END)
    assert (frozen.frozen_since, [each.end for each in frozen.phases.all]) == (END - DAY + HOUR, [END + HOUR])
    assert ranking(frozen) == [(1, "a", 0.2)]


@pytest.fixture
def two_tracks(tmp_path: Path) -> Live:
    """Two tracks with a phase one; the other track also has a phase two."""
    live = Live.of(tmp_path, ONE)
    settings = tmp_path / "challenge.toml"
    other = settings.read_text().partition("[tracks.main]")[2].replace("tracks.main", "tracks.other")
    two = phase("two", SECOND_START, SECOND_END).replace("main", "other")
    settings.write_text(f"{settings.read_text()}\n[tracks.other]{other}{two}")
    (tmp_path / "submissions" / "other").mkdir()
    live.run(ANNOUNCED)
    return live


def test_a_phase_is_extended_in_all_tracks_that_have_it(
    two_tracks: Live, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the help of --track says; with it, in this one."""
    stop_clock(monkeypatch, START)

    def lines(name: str, end: datetime, *more: str) -> list[str]:
        asked = ("phases", "extend", name, "--end", end.isoformat(), "--reason", "x", *more)
        answer = terminal.run(*asked, "--challenge", two_tracks.folder)
        assert (answer.code, answer.err) == (0, "")
        return [line.partition(", not at ")[0] for line in answer.out.splitlines()]

    assert lines("one", END + DAY) == [
        f"{track}: the phase one ends at 2011-04-29 10:00:00 UTC" for track in ("main", "other")
    ]
    assert lines("two", SECOND_END + DAY) == ["other: the phase two ends at 2011-05-13 10:00:00 UTC"]
    assert lines("one", END + 2 * DAY, "--track", "main") == ["main: the phase one ends at 2011-04-30 10:00:00 UTC"]


def test_a_phase_is_extended_in_all_tracks_or_in_none(two_tracks: Live) -> None:
    """In the other track, the new end would be in the next phase."""
    with pytest.raises(ChallengeError) as caught:
        extended(two_tracks, START, SECOND_START + SECOND)

    assert str(caught.value) == (
        "other: 2011-05-02 10:00:01 UTC reaches into the phase two, which starts at 2011-05-02 10:00:00 UTC; give an "
        "earlier time"
    )
    assert "extension" not in two_tracks.kinds()


def test_a_run_records_files_in_order_of_time_within_each_track(two_tracks: Live) -> None:
    """One track after the other, as in challenge.toml; equal times by team and file."""
    for file, hours in (("main/b/2", 1), ("main/b/1", 1), ("main/a/1", 2), ("other/a/1", 0)):
        two_tracks.submit(file, lists(1, 1, file), START + hours * HOUR)
    two_tracks.run(START + DAY)

    with two_tracks.store() as store:
        arrivals = store.read(lambda view: [event.values["file"] for event in view.events() if event.kind == "arrival"])
    assert arrivals == ["main/b/1", "main/b/2", "main/a/1", "other/a/1"]


# The command


def test_phases_are_listed_with_their_state_and_the_rules(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each extension and its reason."""
    live = Live.of(tmp_path, phase("one", START, END, 'freeze = "24h"', 'grace = "1h"'), TWO)

    def lines(now: datetime) -> list[str]:
        stop_clock(monkeypatch, now)
        return terminal.run("phases", "--challenge", tmp_path).out.splitlines()

    assert lines(ANNOUNCED)[0] == "main: not announced yet; `scorer run` records them"
    live.run(ANNOUNCED)
    assert lines(ANNOUNCED)[:3] == [
        "main: announced 2011-04-01 00:00:00 UTC",
        "  one: 2011-04-18 10:00:00 UTC to 2011-04-28 10:00:00 UTC, with 1 hour of grace: not started",
        "  two: 2011-05-02 10:00:00 UTC to 2011-05-12 10:00:00 UTC: not started",
    ]
    states = {START: "open", END - DAY: "open, the board is frozen", END: "ended, in its grace", END + HOUR: "closed"}
    assert {now: lines(now)[1].rpartition(": ")[2] for now in states} == states
    extended(live, END, END + DAY)
    assert (
        "  2011-04-28 10:00:00 UTC: one extended from 2011-04-28 10:00:00 UTC to 2011-04-29 10:00:00 UTC: the server "
        "was down" in lines(END)
    )
    assert any(line.startswith("  - The phase one receives entries from") for line in lines(END))


def test_the_command_lists_and_refuses(tmp_path: Path, challenge: Path, terminal: Terminal) -> None:
    """By the clock of the machine, the phase has closed; a challenge without phases says so."""
    assert terminal.run("phases", "--challenge", challenge).out == "main: no phases; entries are received at any time\n"
    folder = tmp_path / "live"
    Live.of(folder, ONE).run(ANNOUNCED)

    extend_one = ("phases", "extend", "one", "--challenge", folder)
    late = terminal.run(*extend_one, "--end", "2011-05-01T10:00:00Z", "--reason", "x")
    assert (late.code, late.err) == (
        1,
        "main: the phase one closed at 2011-04-28 10:00:00 UTC; a closed phase is not extended: add a new phase to "
        "challenge.toml\n",
    )
    assert (
        "expected a time with its offset"
        in terminal.run(*extend_one, "--end", "2011-05-01T10:00:00", "--reason", "x").err
    )
    assert terminal.run(*extend_one).code == 2
    assert terminal.run("phases", "--reason", "x", "--challenge", folder).code == 2


def test_a_phase_is_extended_by_the_command(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before it is announced. The command says what was and what is; the time may have any offset."""
    live = Live.of(tmp_path, ONE)
    stop_clock(monkeypatch, START)
    answer = terminal.run(
        *("phases", "extend", "one", "--end", "2011-05-01T12:00:00+02:00", "--reason", "x", "--challenge", tmp_path)
    )

    assert (answer.code, answer.out, answer.err) == (
        0,
        "main: the phase one ends at 2011-05-01 10:00:00 UTC, not at 2011-04-28 10:00:00 UTC; `scorer run` shows it\n",
        "",
    )
    assert live.entries(START).quota.phases.all[0].end == datetime(2011, 5, 1, 10, tzinfo=UTC)
