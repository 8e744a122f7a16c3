"""Picks: the settings, picks.toml in the folder of a team, and `scorer pick`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import pytest

from scorer.errors import ChallengeError, StoreError
from scorer.files import Remote
from scorer.live.entry import Key, key_of, submissions
from scorer.live.quotas import picks
from scorer.organising.files import submission_files
from scorer.organising.picks import amend, clear_picks, forget_outcome, import_picks, pick, record_pick
from scorer.organising.run import plan
from scorer.organising.teams import record_teams
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Track
from scorer.store.events import Event
from scorer.store.store import Store
from scorer.store.transfer import record_problems
from scorer.wording import printable_name
from tests.commands import Answer, Terminal
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
from tests.store.test_store import add, opened, submission

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


def write_picks(folder: Path, content: str | bytes, changed: datetime = BEFORE) -> None:
    """Write picks.toml, last changed at this time."""
    path = folder / FOLDER / "picks.toml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (changed.timestamp(), changed.timestamp()))


def messages(
    store: Store, folder: Path, *, closed_at: datetime | None = None, last_run: datetime | None = None
) -> list[str]:
    """Import the picks; the messages about them."""
    return [
        str(each)
        for each in import_picks(
            store, track_of(folder), submission_files(track_of(folder)).picks, closed_at=closed_at, last_run=last_run
        )
    ]


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


def test_picks_are_no_submission(store: Store, tmp_path: Path) -> None:
    """Exactly this name in the folder of a team; the file is neither scored nor skipped with a message."""
    write_picks(tmp_path, "")
    for name in ("Picks.toml", "picks.toml.txt"):
        write_run(tmp_path, name)
    (tmp_path / FOLDER.parent / "picks.toml").write_text("q1:i1\n")
    listed = submission_files(track_of(tmp_path))

    assert [each.file for each in listed.picks] == ["main/kite/picks.toml"]
    assert {file for file in listed.files if "icks" in file} == {
        "main/kite/Picks.toml",
        "main/kite/picks.toml.txt",
        "main/picks.toml",
    }
    assert "main/kite/picks.toml" not in {each.file for each in listed}


def test_picks_in_a_remote_folder_are_no_submission(tmp_path: Path) -> None:
    """As in a folder of this machine."""
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for name in ("run1.txt", "picks.toml"):
        system.pipe(f"/picks-{tmp_path.name}/kite/{name}", b'picks = ["run1.txt"]')
    write_challenge(
        tmp_path, PICKS.replace("list_length", f'submissions = "memory://picks-{tmp_path.name}"\nlist_length')
    )
    track = track_of(tmp_path)
    listed = submission_files(track)

    assert isinstance(track.submissions_path, Remote)
    assert list(listed.files) == ["main/kite/run1.txt"]
    with Store.open(tmp_path / "scores.db") as store:
        add(store, submission("x", team="kite", track="main"))
        (message,) = messages(store, tmp_path)
    assert 'picks "run1.txt" (did you mean x.txt?), but no submission in this folder is called so' in message


def test_new_picks_replace_the_earlier_ones(store: Store, tmp_path: Path) -> None:
    """The order is kept; the same picks are not recorded again; none clear them."""
    write_picks(tmp_path, 'picks = ["run3.txt", "run1.txt"]  # the best\n')
    assert messages(store, tmp_path) == []
    assert messages(store, tmp_path) == []
    assert (names(store), pick_events(store)) == (("run3.txt", "run1.txt"), 1)

    write_picks(tmp_path, b"\xef\xbb\xbfpicks = ['run2.txt']\r\n")
    assert messages(store, tmp_path) == []
    assert names(store) == ("run2.txt",)

    write_picks(tmp_path, "picks = []")
    assert messages(store, tmp_path) == []
    assert (names(store), pick_events(store)) == ((), 3)
    assert list(record_problems(store)) == []


def test_a_picked_file_is_picked_with_its_present_content(store: Store, tmp_path: Path) -> None:
    """If the content changes, the new content is picked."""
    write_picks(tmp_path, 'picks = ["run1.txt"]')
    messages(store, tmp_path)
    before = store.read(lambda view: present_picks(view.events("main")))["kite"]
    write_run(tmp_path, "run1.txt", team="birch-gate")
    imported(store, tmp_path)
    messages(store, tmp_path)
    ((file, digest),) = store.read(lambda view: present_picks(view.events("main")))["kite"]

    assert (file, digest) != before[0]
    present = [each for each in store.read(lambda view: submissions(view.events("main")).values()) if each.present]
    assert (file, digest) in {key_of(each.submission) for each in present}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            'picks = ["run4.txt"]',
            'picks "run4.txt" (did you mean run3.txt?), but no submission in this folder is called',
        ),
        ('picks = ["run1.txt", "run1.txt"]', 'picks "run1.txt" twice; pick each file once'),
        ('picks = ["run1.txt", "run2.txt", "run3.txt"]', "picks 3 files; the limit is 2 (picks)"),
        ('picks = ["../amber-lamp.txt"]', 'picks "../amber-lamp.txt"'),
        ('picks = ["kite/run1.txt"]', 'picks "kite/run1.txt" (did you mean'),
        ('picks = ["picks.toml"]', 'picks "picks.toml"'),
        ("picks = 3", "picks is not a list of names of files"),
        ("picks = [1]", "picks is not a list of names of files"),
        ("", "lacks the key picks"),
        ('pick = ["run1.txt"]', 'unknown key "pick" (did you mean picks?)'),
        ('picks = ["run1.txt"', "not TOML ("),
        ('picks = ["run1.txt\\u202e"]', 'picks "run1.txt\\u202e"'),
        (b"picks = ['\xff']", "not UTF-8"),
        ("x = " + "[" * 20_000, "not TOML (nested too deep)"),
        ("x = " + "1" * 20_000, "not TOML ("),
        ("a." * 30_000 + "b = 1", "has more than 100 dots outside of names"),
        ('"a".' * 12_000 + "b = 1", "has more than 100 dots outside of names"),
        ('x = ["""\n# """, {' + "a." * 30_000 + "b = 1}]", "has more than 100 dots outside of names"),
        ("x = ['''\n# ''', {" + "a." * 30_000 + "b = 1}]", "has more than 100 dots outside of names"),
        ('x = ["""a"""", {' + "a." * 30_000 + 'b = 1}, ""]', "has more than 100 dots outside of names"),
        ('"' + '\\"' * 31_900, "not TOML (Unterminated string"),
        ("#" * 64_001, "has more than 64 kB"),
    ],
)
def test_invalid_picks_are_reported_and_the_earlier_ones_stay(
    store: Store, tmp_path: Path, content: str | bytes, message: str
) -> None:
    """One message, which names the file and what to do, on one line and printable."""
    write_picks(tmp_path, 'picks = ["run2.txt"]')
    messages(store, tmp_path)
    write_picks(tmp_path, content)
    (found,) = messages(store, tmp_path)

    assert message in found
    assert found.startswith("main/kite/picks.toml: ")
    assert found.endswith("; the earlier picks stay")
    assert found.isprintable()
    assert len(found) < 500
    assert names(store) == ("run2.txt",)


def test_each_error_has_a_message(store: Store, tmp_path: Path) -> None:
    """All of them are reported together."""
    write_picks(tmp_path, 'picks = ["x", "y"]')

    assert len(messages(store, tmp_path)) == 2


@pytest.mark.parametrize(
    "line", ['picks = ["run1.txt"] # ', "picks = ['''run1.txt'''] # ''' ", 'picks = ["run1.txt"] # """']
)
def test_a_large_file_of_the_right_form_is_read(store: Store, tmp_path: Path, line: str) -> None:
    """64,000 bytes are allowed, with dots in names and in comments."""
    write_picks(tmp_path, line + "." * (64_000 - len(line)))

    assert messages(store, tmp_path) == []
    assert names(store) == ("run1.txt",)


@pytest.mark.parametrize("kind", ["link", "hard link", "folder", "pipe"])
def test_picks_that_are_no_regular_file_are_refused(store: Store, tmp_path: Path, kind: str) -> None:
    """No link is followed: it could lead to a file of anybody; a pipe does not block the run."""
    secret = tmp_path / "secret.toml"
    secret.write_text('picks = ["run1.txt"]')
    path = tmp_path / FOLDER / "picks.toml"
    if kind == "link":
        path.symlink_to(secret)
    elif kind == "hard link":
        path.hardlink_to(secret)
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    (found,) = messages(store, tmp_path)

    assert ("a link" if kind == "link" else "a hard link" if kind == "hard link" else "not a regular file") in found
    assert names(store) == ()


@pytest.mark.parametrize("name", ["ünï.txt", "a\u202eb.txt", "x\udcff.txt", "a\\b.txt", 'a"b.txt'])
def test_a_file_is_picked_by_its_name_as_messages_show_it(store: Store, tmp_path: Path, name: str) -> None:
    """So every name can be written in the file, although TOML has no invalid text."""
    write_run(tmp_path, name)
    imported(store, tmp_path)
    write_picks(tmp_path, f"picks = ['''{printable_name(name)}''']")

    assert messages(store, tmp_path) == []
    assert names(store) == (name,)


@pytest.mark.parametrize(
    ("changed", "last_run", "is_open"),
    [
        (CLOSED - timedelta(seconds=1), None, True),
        (CLOSED - timedelta(seconds=1), CLOSED - timedelta(seconds=1), True),
        (CLOSED, None, False),
        (AFTER, None, False),
        (CLOSED - timedelta(seconds=1), CLOSED, False),
    ],
)
def test_picks_close_with_the_last_phase(
    store: Store, tmp_path: Path, changed: datetime, last_run: datetime | None, is_open: bool
) -> None:
    """By the time of the last change, and because that can be set to any time, by the first run after the end."""
    write_picks(tmp_path, 'picks = ["run1.txt"]', changed)
    found = messages(store, tmp_path, closed_at=CLOSED, last_run=last_run)

    assert bool(names(store)) is is_open
    assert found == (
        []
        if is_open
        else [
            "main/kite/picks.toml: picks were accepted until 2011-07-08 12:00:00 UTC, and these are later; the earlier "
            "picks stay"
        ]
    )


def test_recorded_picks_are_not_reported_after_the_end(store: Store, tmp_path: Path) -> None:
    """They are not new."""
    write_picks(tmp_path, 'picks = ["run1.txt"]')
    messages(store, tmp_path, closed_at=CLOSED)

    assert messages(store, tmp_path, closed_at=CLOSED, last_run=AFTER) == []


def test_picks_of_a_track_with_another_rule_are_reported(store: Store, tmp_path: Path) -> None:
    """They have no effect, and nothing is recorded."""
    write_picks(tmp_path, 'picks = ["run1.txt"]')
    (tmp_path / "challenge.toml").write_text(SETTINGS)
    (found,) = messages(store, tmp_path)

    assert 'has no effect: the rule of this track is entry = "best"' in found
    assert names(store) == ()


def test_picks_in_the_folder_of_a_merged_team_are_reported(store: Store, tmp_path: Path) -> None:
    """Those of the final team count."""
    write_picks(tmp_path, 'picks = ["run1.txt"]')
    record_teams(store, {"kite": {"merged_into": "amber-lamp"}}, {})
    (found,) = messages(store, tmp_path)

    assert "has no effect: the team is merged into amber-lamp" in found
    assert names(store) == ()


# The record


def test_picks_must_be_submissions(place: str) -> None:
    """Of the track, each once; otherwise nothing is recorded."""
    with opened(place) as store:
        sent = submission("run", team="kite")
        add(store, sent)
        unknown: Key = (sent.file, "0" * 64)
        for keys, message in (([unknown], "no submission is"), ([key_of(sent)] * 2, "picked twice")):
            with pytest.raises(StoreError, match=message):
                record_pick(store, "cold-start", "kite", keys, "command")
        with pytest.raises(StoreError, match="no submission is"):
            record_pick(store, "other", "kite", [key_of(sent)], "command")
        assert pick_events(store) == 0

        for _ in range(2):
            record_pick(store, "cold-start", "kite", [key_of(sent)], "command")
        assert pick_events(store) == 1
        assert store.read(lambda view: present_picks(view.events("cold-start"))) == {"kite": (key_of(sent),)}
        assert store.read(lambda view: present_picks(view.events("other"))) == {}


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


def test_of_the_command_and_the_file_the_later_one_counts(store: Store, tmp_path: Path) -> None:
    """By the time of the last change of the file."""
    challenge = read_challenge(tmp_path)
    write_picks(tmp_path, 'picks = ["run1.txt"]')
    messages(store, tmp_path)
    pick(challenge, store, ["main/kite/run2.txt"])
    assert messages(store, tmp_path) == []
    assert names(store) == ("run2.txt",)

    write_picks(tmp_path, 'picks = ["run3.txt"]', datetime.now(UTC) + timedelta(seconds=10))
    assert messages(store, tmp_path) == []
    assert names(store) == ("run3.txt",)


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
        (["main/kite/run1.txt", "main/20110418T100000Z-amber-lamp.txt"], 1, "are of several teams or tracks"),
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


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("a/early", "early"),
        ("a/late", "late"),
        ("a/over", "over the quota"),
        ("a/rejected", "rejected"),
        ("a/lost", "withdrawn"),
    ],
)
def test_the_command_refuses_an_entry_that_never_counts(live: Live, terminal: Terminal, file: str, words: str) -> None:
    """Nothing is recorded, also not another entry of the same command. A file that is lost since the close is one."""
    answer = command(terminal, live.folder, "main/a/kept", f"main/{file}")

    assert (answer.code, answer.out) == (1, "")
    assert f"main/{file}: never counts ({words}); pick another entry" in answer.err
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


def test_a_replaced_entry_may_return(live: Live, terminal: Terminal) -> None:
    """It is named by its digest."""
    first = next(entry for entry in live.entries().all if entry.file == "main/a/replaced")
    answer = command(terminal, live.folder, first.digest[:12])

    assert (answer.code, answer.err) == (0, "main/a/replaced: does not count now (replaced)\n")


def test_an_entry_without_a_result_may_be_picked(live: Live, terminal: Terminal) -> None:
    """It is scored later."""
    digest = live.entry("a/kept").digest
    live.do(live.now, lambda _, store: forget_outcome(store, "main", ("main/a/kept", digest), "why"))
    answer = command(terminal, live.folder, "main/a/kept")

    assert (answer.code, answer.err) == (0, "main/a/kept: does not count now (not scored yet)\n")


def test_picks_of_a_baseline_decide_its_score(live: Live, terminal: Terminal) -> None:
    """It has no rank, but a row."""
    assert ("popular", 0.8) in [each[1:] for each in ranking(live.board())]
    answer = command(terminal, live.folder, "main/popular/1")

    assert (answer.code, answer.err) == (0, "")
    assert (None, "popular", 0.2) in ranking(live.board())


def test_the_rule_in_force_decides_whether_there_are_picks(live: Live, terminal: Terminal) -> None:
    """An edited rule has no effect after the start, so picks still have one."""
    toml = live.folder / "challenge.toml"
    toml.write_text(toml.read_text().replace('entry = "picks"', 'entry = "best"'))

    assert command(terminal, live.folder, "main/a/kept").code == 0


def test_picks_that_do_not_count_are_reported_to_the_organiser_and_to_the_team(live: Live, terminal: Terminal) -> None:
    """They are recorded, and the others count. Nothing is said of an entry that is not scored yet."""
    late = 'picks "late", which does not count (late); pick another file'
    misdated = 'picks "misdated", which does not count (time not confirmed); ask the organisers to correct the time'
    live.put("a/new", lists(1, 1, "n"), live.now)
    live.put("a/picks.toml", 'picks = ["late", "new"]', live.now)
    first = terminal.run("run", live.folder)
    assert f"main/a/picks.toml: {late}\n" in first.err
    assert '"new"' not in first.err
    assert ranking(live.board()) == [(None, "popular", 0.8), (1, "a", 0.2)]
    page = (live.folder / "site" / "teams" / "a.html").read_text(encoding="utf-8")
    assert "1 problem in picks.toml" in page
    assert late in unescape(page)

    live.put("a/picks.toml", 'picks = ["misdated", "kept"]', live.now)
    assert misdated in terminal.run("run", live.folder).err
    assert misdated in terminal.run("run", live.folder).err


def test_picks_that_do_not_count_are_not_reported_after_the_end(live: Live) -> None:
    """Nobody can change them."""
    live.put("a/picks.toml", 'picks = ["late"]', live.now)
    assert len(live.run(SECOND_END - SECOND).picks) == 1
    assert live.run(SECOND_END).picks == ()


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
    team, found = pick(read_challenge(tmp_path), store, ["main/kite/run1.txt", "main/20110418T100000Z-amber-lamp.txt"])

    assert team == "amber-lamp"
    assert store.read(lambda view: present_picks(view.events("main"))) == {
        "amber-lamp": tuple((entry.file, entry.digest) for entry in found)
    }


def test_a_run_imports_picks_and_prints_problems(tmp_path: Path, terminal: Terminal) -> None:
    """A problem of a team does not make the run fail."""
    write_challenge(tmp_path, PICKS)
    (tmp_path / FOLDER).mkdir()
    write_run(tmp_path, "run1.txt")
    write_picks(tmp_path, 'picks = ["run1.txt"]')
    first = terminal.run("score", tmp_path)
    write_picks(tmp_path, "picks = 1")
    second = terminal.run("score", tmp_path)

    with Store.open(tmp_path / "scores.db") as store:
        assert names(store) == ("run1.txt",)
    assert (first.code, second.code) == (0, 0)
    assert "picks.toml" not in first.err
    assert "main/kite/picks.toml: picks is not a list of names of files" in second.err


def test_the_page_of_the_team_shows_problems_as_text(store: Store, tmp_path: Path, terminal: Terminal) -> None:
    """As long as they last, also if only the site is rendered; without the folder nothing is known to be wrong."""
    store.note_run("main")
    page = tmp_path / "site" / "teams" / "kite.html"
    shown = []
    for content in ('picks = ["<b>x"]', 'picks = ["run1.txt"]', 'picks = ["<b>y"]'):
        write_picks(tmp_path, content)
        assert terminal.run("render", tmp_path).code == 0
        shown.append(page.read_text(encoding="utf-8"))
    (tmp_path / "submissions").rename(tmp_path / "elsewhere")
    assert terminal.run("render", tmp_path).code == 0
    shown.append(page.read_text(encoding="utf-8"))

    assert ["1 problem in picks.toml" in text for text in shown] == [True, False, True, False]
    assert "picks &#34;&lt;b&gt;x&#34;, but no submission in this folder is called so" in shown[0]
    assert not any("<b>x" in text for text in shown)
