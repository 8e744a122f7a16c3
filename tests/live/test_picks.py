"""Picks: the settings, the record, and `scorer pick`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scorer.errors import ChallengeError
from scorer.live.entry import key_of, submissions
from scorer.organising.files import submission_files
from scorer.organising.picks import amend, clear_picks, forget_outcome, pick, record_pick
from scorer.organising.run import plan
from scorer.record.events import Event, Key
from scorer.rules.picks import picks
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Track
from scorer.store.store import Store
from tests.commands import Answer, Terminal
from tests.databases import record_teams
from tests.live_challenges import (
    ANNOUNCED,
    DAY,
    END,
    INVALID,
    ONE,
    SECOND,
    SECOND_END,
    SECOND_START,
    START,
    TWO,
    Live,
    lists,
    ranking,
    stop_clock,
)
from tests.seeded_challenge import SETTINGS, write_challenge

BEFORE = datetime(2011, 4, 20, tzinfo=UTC)
CLOSED = datetime(2011, 7, 8, 12, tzinfo=UTC)
AFTER = CLOSED + timedelta(days=1)
FOLDER = Path("submissions", "main", "kite")

PICKS = SETTINGS.replace("[tracks.main]", '[tracks.main]\nentry = "picks"')


# The settings


def settings_error(folder: Path, *lines: str) -> str:
    """The error in a challenge with these lines in its track."""
    write_challenge(folder, SETTINGS.replace("[tracks.main]", "\n".join(["[tracks.main]", *lines])))
    with pytest.raises(ChallengeError) as caught:
        read_challenge(folder)
    return str(caught.value).partition(": ")[2]


def test_a_track_may_count_picks(tmp_path: Path) -> None:
    """Two by default."""
    write_challenge(tmp_path, PICKS)
    (track,) = read_challenge(tmp_path).tracks

    assert (track.entry, track.picks) == ("picks", 2)


@pytest.mark.parametrize("rule", ["best_final", "best-final", "final"])
def test_a_rule_that_chooses_by_the_final_queries_is_refused_with_the_reason(tmp_path: Path, rule: str) -> None:
    """It would favour teams with many entries."""
    error = settings_error(tmp_path, f'entry = "{rule}"')

    assert error == (
        f'tracks.main.entry: found "{rule}", which chooses by the final queries: that favours teams with many entries, '
        'and the final scores would be optimistic; allowed: "best", "last" or "picks"'
    )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ['entry = "picks"', "picks = 0"],
            'tracks.main.picks: found 0; allowed: a whole number from 1, with entry = "picks"',
        ),
        (["picks = 3"], 'tracks.main.picks: found 3, which has no effect with entry = "best"'),
        (['entry = "last"', "picks = 3"], 'tracks.main.picks: found 3, which has no effect with entry = "last"'),
        (['entry = "pick"'], 'tracks.main.entry: found "pick"; allowed: "best", "last" or "picks"'),
    ],
)
def test_a_number_of_picks_needs_picks(tmp_path: Path, lines: list[str], message: str) -> None:
    """Otherwise it is an error."""
    assert message in settings_error(tmp_path, *lines)


# The folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The database of the challenge in `tmp_path`, whose submissions are imported: two of the team kite."""
    write_challenge(tmp_path, PICKS)
    (tmp_path / FOLDER).mkdir()
    for number in (1, 2, 3):
        write_run(tmp_path, f"run{number}.txt")
    with Store.open(tmp_path / "scores.db") as opened_store:
        imported(opened_store, tmp_path)
        yield opened_store


def write_run(folder: Path, name: str, team: str = "amber-lamp") -> None:
    """Write a submission of kite, with the lists of another team and a line that depends on the name."""
    (source,) = (folder / "submissions" / "main").glob(f"*-{team}.txt")
    (folder / FOLDER / name).write_text(source.read_text() + f"q-{name.encode('utf-8', 'replace').hex()}:i1\n")


def track_of(folder: Path) -> Track:
    """The track of the challenge."""
    return read_challenge(folder).track("main")


def imported(store: Store, folder: Path) -> None:
    """Import the submissions."""
    challenge = read_challenge(folder)
    plan(store, challenge, challenge.track("main"))


def present_picks(events: Iterable[Event]) -> dict[str, tuple[Key, ...]]:
    """The present picks of each team that has any."""
    return {team: own[-1].keys for team, own in picks(events).items() if own[-1].keys}


def names(store: Store) -> tuple[str, ...]:
    """The names of the files that kite picks."""
    present = store.read(lambda view: present_picks(view.events("main")))
    return tuple(file.rpartition("/")[2] for file, _ in present.get("kite", ()))


def pick_events(store: Store) -> int:
    """How many events have picks."""
    return sum(event.kind == "pick" for event in store.read(lambda view: view.events()))


def test_a_file_with_picks_is_no_submission(store: Store, tmp_path: Path, terminal: Terminal) -> None:
    """A run says what to do instead and goes on. It is exactly this name in the folder of a team."""
    (tmp_path / FOLDER / "picks.toml").write_text('picks = ["run1.txt"]')
    write_run(tmp_path, "Picks.toml")
    (tmp_path / FOLDER.parent / "picks.toml").write_text("q1:i1\n")
    listed = submission_files(track_of(tmp_path))
    answer = terminal.run("score", tmp_path)

    assert {file for file in listed.files if "icks" in file} == {"main/kite/Picks.toml", "main/picks.toml"}
    message = "main/kite/picks.toml: picks in a file have no effect; record them with `scorer pick`; skipped\n"
    assert (answer.code, message in answer.err) == (0, True)
    assert pick_events(store) == 0


def test_picks_that_an_earlier_version_recorded_from_a_file_stay(store: Store) -> None:
    """Of those and the picks of a command the later ones count."""
    run1, run2 = (
        key_of(state.submission)
        for state in store.read(lambda view: submissions(view.events("main")).values())
        if state.submission.file in ("main/kite/run1.txt", "main/kite/run2.txt")
    )
    record_pick(store, "main", "kite", [run1], "folder")
    assert names(store) == ("run1.txt",)
    record_pick(store, "main", "kite", [run2], "command")
    assert names(store) == ("run2.txt",)


# The command


def command(terminal: Terminal, folder: Path, *arguments: str) -> Answer:
    """Run ``scorer pick``."""
    return terminal.run("pick", *arguments, "--challenge", folder)


def test_the_command_replaces_and_clears_picks(store: Store, tmp_path: Path, terminal: Terminal) -> None:
    """It names the entries as other commands do."""
    first = command(terminal, tmp_path, "main/kite/run1.txt", "main/kite/run2.txt")
    assert (first.code, names(store)) == (0, ("run1.txt", "run2.txt"))
    assert first.out == "kite: picks main/kite/run1.txt, main/kite/run2.txt; `scorer run` shows it\n"

    assert command(terminal, tmp_path, "main/kite/run3.txt").code == 0
    assert names(store) == ("run3.txt",)

    assert command(terminal, tmp_path, "--clear", "--track", "main", "--team", "kite").code == 0
    assert (names(store), pick_events(store)) == ((), 3)


def test_the_command_picks_for_several_teams(store: Store, tmp_path: Path, terminal: Terminal) -> None:
    """The picks of a season may be one list; entries of one team are its picks, in the order of the list."""
    other = "main/20110418T100000Z-amber-lamp.txt"
    answer = command(terminal, tmp_path, "main/kite/run3.txt", other, "main/kite/run1.txt")

    assert answer.out == (
        "kite: picks main/kite/run3.txt, main/kite/run1.txt; `scorer run` shows it\n"
        f"amber-lamp: picks {other}; `scorer run` shows it\n"
    )
    assert names(store) == ("run3.txt", "run1.txt")
    assert {*store.read(lambda view: present_picks(view.events("main")))} == {"kite", "amber-lamp"}
    assert command(terminal, tmp_path, other).code == 0
    assert pick_events(store) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "expected ENTRY..., or --clear --track NAME --team TEAM"),
        (["--clear"], 2, "expected ENTRY..., or --clear"),
        (["main/kite/run1.txt", "--track", "main"], 2, "expected ENTRY..., or --clear"),
        (["--clear", "--track", "mai", "--team", "kite"], 2, "no track is called"),
        (["--clear", "--track", "main", "--team", "kit"], 1, 'no team is called "kit" (did you mean kite?)'),
        (["7", "--server", "http://127.0.0.1:1", "--reason", "x"], 2, "neither --team nor --reason"),
        (["main/kite/run9.txt"], 1, 'no entry is called "main/kite/run9.txt"'),
        (
            [f"main/kite/run{number}.txt" for number in (1, 2, 3)],
            1,
            "found 3 picks; the limit is 2 (tracks.main.picks)",
        ),
        (["main/kite/run1.txt", "main/kite/run1.txt"], 1, "picked twice"),
        (
            ["main/20110418T100000Z-amber-lamp.txt", *(f"main/kite/run{number}.txt" for number in (1, 2, 3))],
            1,
            "kite: found 3 picks; the limit is 2",
        ),
    ],
)
def test_a_wrong_command_records_nothing(
    store: Store, tmp_path: Path, terminal: Terminal, arguments: list[str], code: int, message: str
) -> None:
    """The message says what to do."""
    answer = command(terminal, tmp_path, *arguments)

    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert pick_events(store) == 0


# Entries that do not count


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Live:
    """In the second of two phases: the team a has an entry of each kind."""
    live = Live.of(tmp_path, ONE, TWO, settings='entry = "picks"\nbaselines = ["popular"]\nquota = {per_day = 2}')
    live.run(ANNOUNCED)
    live.put("a/early", lists(5, 5, "e"), START - timedelta(days=1))
    live.put("a/kept", lists(2, 2, "k"), START)
    live.put("a/lost", lists(5, 5, "l"), START)
    live.put("a/over", lists(5, 5, "o"), START + SECOND)
    live.put("a/rejected", INVALID, START + DAY)
    live.put("popular/1", lists(1, 1), START)
    live.put("popular/2", lists(4, 4), START)
    live.run(END - SECOND)
    live.path("a/lost").unlink()
    live.run(END - SECOND)
    live.put("a/late", lists(5, 5, "a"), END)
    live.put("a/gone", lists(5, 5, "g"), SECOND_START)
    live.put("a/replaced", lists(4, 4, "r"), SECOND_START + DAY)
    live.put("a/misdated", lists(5, 5, "m"), SECOND_END + DAY)
    live.run(SECOND_START + DAY)
    live.path("a/gone").unlink()
    live.put("a/replaced", lists(3, 3, "s"), SECOND_START + DAY + SECOND)
    live.run(SECOND_START + 2 * DAY)
    stop_clock(monkeypatch, live.now)
    return live


def test_the_command_refuses_an_entry_that_never_counts(live: Live, terminal: Terminal) -> None:
    """Nothing is recorded, also not another entry of the same command. A file that is lost since the close is one."""
    reasons = {"early": "early", "late": "late", "over": "over the quota", "rejected": "rejected", "lost": "withdrawn"}
    for name, words in reasons.items():
        answer = command(terminal, live.folder, "main/a/kept", f"main/a/{name}")
        assert (answer.code, answer.out) == (1, "")
        assert f"main/a/{name}: never counts ({words}); pick another entry" in answer.err
    assert "pick" not in live.kinds()


@pytest.mark.parametrize(("file", "words"), [("a/misdated", "time not confirmed"), ("a/gone", "withdrawn")])
def test_the_command_warns_of_an_entry_that_does_not_count_now(
    live: Live, terminal: Terminal, file: str, words: str
) -> None:
    """It may later: its time may be corrected, and its file may return."""
    answer = command(terminal, live.folder, f"main/{file}")
    assert (answer.code, answer.err) == (0, f"main/{file}: does not count now ({words})\n")
    assert (1, "a", 0.6) in ranking(live.board())

    if file == "a/gone":
        live.put(file, lists(5, 5, "g"), live.now)
        live.run(live.now)
    else:
        live.do(live.now, lambda challenge, store: amend(challenge, store, f"main/{file}", live.now, "The clock."))
    assert (1, "a", 1.0) in ranking(live.board())


def test_an_entry_may_be_picked_that_counts_later(live: Live, terminal: Terminal) -> None:
    """A replaced entry, named by its digest, may return; one without a result is scored later. A baseline has a row."""
    first = next(entry for entry in live.entries().all if entry.file == "main/a/replaced")
    answer = command(terminal, live.folder, first.digest[:12])

    assert (answer.code, answer.err) == (0, "main/a/replaced: does not count now (replaced)\n")

    assert ("popular", 0.8) in [each[1:] for each in ranking(live.board())]
    answer = command(terminal, live.folder, "main/popular/1")

    assert (answer.code, answer.err) == (0, "")
    assert (None, "popular", 0.2) in ranking(live.board())

    digest = live.entry("a/kept").digest
    live.do(live.now, lambda _, store: forget_outcome(store, "main", ("main/a/kept", digest), "why"))
    answer = command(terminal, live.folder, "main/a/kept")

    assert (answer.code, answer.err) == (0, "main/a/kept: does not count now (not scored yet)\n")

    toml = live.folder / "challenge.toml"
    toml.write_text(toml.read_text().replace('entry = "picks"', 'entry = "best"'))

    assert command(terminal, live.folder, "main/a/kept").code == 0


def test_of_merged_teams_the_picks_of_the_final_one_count(live: Live, terminal: Terminal) -> None:
    """Those that the other team had are in force again once it is separated."""
    live.put("b/1", lists(1, 0, "b"), live.now)
    live.put("b/2", lists(4, 0, "b"), live.now)
    live.run(live.now)
    for entry in ("main/a/kept", "main/b/1"):
        assert command(terminal, live.folder, entry).code == 0
    before = ranking(live.board())
    assert {each[1:] for each in before} == {("a", 0.4), ("b", 0.2), ("popular", 0.8)}
    live.do(live.now, lambda _, store: record_teams(store, {"a": {"merged_into": "b"}}, {"a": "one team"}))
    assert {each[1:] for each in ranking(live.board())} == {("b", 0.2), ("popular", 0.8)}
    live.do(live.now, lambda _, store: record_teams(store, {}, {"a": "two teams"}))
    assert ranking(live.board()) == before


def test_commands_are_refused_without_the_rule_and_after_the_end(store: Store, tmp_path: Path) -> None:
    """Also to clear picks."""
    settings = tmp_path / "challenge.toml"
    settings.write_text(
        re.sub(r"stage = .*", "", settings.read_text())
        + '[[tracks.main.phases]]\nname = "only"\nstart = 2011-04-18T00:00:00Z\nend = 2011-07-08T12:00:00Z\n'
    )
    challenge = read_challenge(tmp_path)
    with pytest.raises(ChallengeError, match="picks were accepted until 2011-07-08 12:00:00 UTC"):
        pick(challenge, store, ["main/kite/run1.txt"])
    with pytest.raises(ChallengeError, match="picks were accepted until"):
        clear_picks(store, challenge.track("main"), "kite")
    (tmp_path / "challenge.toml").write_text(SETTINGS)
    with pytest.raises(ChallengeError, match=r'tracks.main.entry: found "best", so picks have no effect'):
        pick(read_challenge(tmp_path), store, ["main/kite/run1.txt"])
    assert pick_events(store) == 0


def test_a_merged_team_picks_entries_of_all_members(store: Store, tmp_path: Path) -> None:
    """They are picks of the final team."""
    record_teams(store, {"kite": {"merged_into": "amber-lamp"}}, {})
    names_of_both = ["main/kite/run1.txt", "main/20110418T100000Z-amber-lamp.txt"]
    ((picked, entries),) = pick(read_challenge(tmp_path), store, names_of_both).items()

    assert picked == ("main", "amber-lamp")
    assert store.read(lambda view: present_picks(view.events("main"))) == {
        "amber-lamp": tuple((entry.file, entry.digest) for entry in entries)
    }
