"""Stated times of receipt: a file cannot be earlier than the last look into its folder that did not find it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from scorer.files import FileBelow
from scorer.organising import run
from scorer.organising import scan as organising_scan
from scorer.organising.bundles import export, import_bundle
from scorer.organising.errata import apply, preview_erratum
from scorer.organising.phases import extend
from scorer.organising.picks import amend
from scorer.organising.run import plan
from scorer.scoring.executors.base import Serial
from tests.commands import Terminal
from tests.live_challenges import (
    ANNOUNCED,
    DAY,
    END,
    INVALID,
    ONE,
    SECOND,
    SECOND_START,
    START,
    TWO,
    Live,
    lists,
    phase,
    ranking,
    stop_clock,
)
from tests.strategies import rest, some

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
BY_NAME = "a/20110428T095900Z-1"
"""A file whose name states the last minute of the first phase."""


def live_at(folder: Path, *looks: datetime, settings: str = "", tables: tuple[str, ...] = (ONE, TWO)) -> Live:
    """A challenge that was announced, and whose folder was looked into at these times."""
    live = Live.of(folder, *tables, settings=settings)
    for look in (ANNOUNCED, *looks):
        live.run(look)
    return live


@pytest.mark.parametrize("file", [BY_NAME, "a/touched"])
def test_a_forged_time_of_receipt_does_not_count(tmp_path: Path, file: str) -> None:
    """A file that comes after the close and states an earlier time, in its name or by the time of its last change."""
    live = live_at(tmp_path, START)
    live.put("b/1", lists(1, 1), END - DAY)
    live.run(END)
    live.put(file, lists(5, 5), END - MINUTE)
    live.run(END + 20 * MINUTE)

    assert live.states() == {"b/1": "scored", file: "misdated"}
    assert ranking(live.board()) == [(1, "b", 0.2), (None, "a", None)]

    with live.store() as store:
        amend(live.challenge, store, f"main/{file}", END - HOUR, "The mail server confirms it.")
    assert live.states()[file] == "scored"


def test_a_file_that_came_before_the_close_keeps_its_time(tmp_path: Path) -> None:
    """The last look that did not find it was in the phase, however late it is recorded."""
    live = live_at(tmp_path, START)
    live.put("a/1", lists(1, 1), END - MINUTE)
    live.run(END + 3 * DAY)

    assert live.states() == {"a/1": "scored"}
    assert live.entry("a/1").is_recorded_late


def test_a_first_look_takes_the_times_that_it_finds(tmp_path: Path) -> None:
    """Nothing is known of the folder from before."""
    live = Live.of(tmp_path, settings='quota = {per_day = 1}\nstage = "preliminary"')
    live.put("a/1", lists(1, 1), START)
    live.run(END + DAY)

    assert live.states() == {"a/1": "scored"}


@pytest.mark.parametrize(
    ("look", "stated", "state"),
    [
        (END - SECOND, END - HOUR, "scored"),  # both in the phase
        (END, END - HOUR, "misdated"),
        (END + HOUR, END, "late"),  # both late for it
        (END + HOUR, END + HOUR, "late"),
        (SECOND_START - SECOND, END, "late"),
        (SECOND_START, END, "misdated"),
        (SECOND_START, SECOND_START, "scored"),
        (START - SECOND, ANNOUNCED, "early"),
        (START, ANNOUNCED, "misdated"),
    ],
)
def test_the_phase_of_the_last_look_decides(tmp_path: Path, look: datetime, stated: datetime, state: str) -> None:
    """At the boundaries; a stated time from the look on contradicts nothing."""
    live = live_at(tmp_path, look)
    live.put("a/1", lists(1, 1), stated)
    live.run(look + HOUR)

    assert live.states() == {"a/1": state}


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ("quota = {per_day = 1}", "misdated"),
        ("quota = {rejected_per_day = 1}", "misdated"),
        ('quota = {per_day = 1, zone = "Pacific/Auckland"}', "scored"),
        ("quota = {total = 5, per_phase = 5}", "scored"),
        ("", "scored"),
        ('quota = {per_day = 1}\nbaselines = ["a"]', "scored"),
        ("quota = {per_day = 1}\ntrusted_times = true", "scored"),
    ],
)
@pytest.mark.parametrize("tables", [(ONE,), *rest([((),)])])
def test_the_day_of_the_quota_counts_where_a_limit_is_by_day(
    tmp_path: Path, tables: tuple[str, ...], settings: str, state: str
) -> None:
    """In the time zone of the quota: 11:00 and 13:00 UTC are on two days in Auckland, 23:00 and 1:00 are not."""
    stage = "" if tables else '\nstage = "preliminary"'
    look = START.replace(hour=1) + 2 * DAY
    live = live_at(tmp_path, look, settings=f"{settings}{stage}", tables=tables)
    live.put("a/1", lists(1, 1), look - 2 * HOUR)
    live.run(look + HOUR)

    assert live.states() == {"a/1": state}


def test_an_erratum_puts_trusted_times_into_force(tmp_path: Path) -> None:
    """A changed file does not, once a phase has started."""
    live = live_at(tmp_path, END)
    live.put("b/1", lists(1, 1), END + HOUR)
    live.put(BY_NAME, lists(1, 1), END + HOUR)
    live.run(END + HOUR)
    live.configure(ONE, TWO, settings="trusted_times = true")
    assert any("trusted_times differs" in note for note in live.run(END + 2 * HOUR).notes)
    assert live.states()[BY_NAME] == "misdated"

    with live.store(END + 3 * HOUR) as store:
        preview_erratum(live.challenge, store, live.track, Serial())
        apply(live.challenge, store, live.track, "Our server writes the names.", Serial())
    live.run(END + 4 * HOUR)
    assert live.states()[BY_NAME] == "scored"


def test_the_schedule_in_force_decides(tmp_path: Path) -> None:
    """A look between the old end and the new one is in the phase; the board as of an earlier event is as it was."""
    live = live_at(tmp_path, START, tables=(phase("one", START, END, 'grace = "2h"'),))
    live.run(END + HOUR)
    with live.store(END + HOUR + MINUTE) as store:
        extend(live.challenge, store, "main", "one", END + DAY, "The server was down.")
    live.put("a/1", lists(1, 1), END - HOUR)
    live.run(END + 3 * HOUR)
    live.put("a/2", lists(1, 1, "2"), END - HOUR)
    live.run(END + 2 * DAY)
    live.put("a/3", lists(1, 1, "3"), END + DAY)
    live.run(END + 3 * DAY)

    assert live.states() == {"a/1": "scored", "a/2": "scored", "a/3": "misdated"}


# Files that were listed and could not be read


def hidden(live: Live) -> Callable[[], object]:
    """An upload under a name with a dot; returns what makes it a submission."""
    live.put("a/.1", lists(1, 1), END - HOUR)
    return lambda: live.path("a/.1").rename(live.path("a/1"))


def under_another_name(live: Live) -> Callable[[], object]:
    """As rsync names the file that it writes."""
    live.put("a/.1.Xy12Zw", lists(1, 1), END - HOUR)
    return lambda: live.path("a/.1.Xy12Zw").rename(live.path("a/1"))


def linked(live: Live) -> Callable[[], object]:
    """A file with a hard link."""
    live.put("a/1", lists(1, 1), END - HOUR)
    other = live.folder / "other"
    os.link(live.path("a/1"), other)
    return other.unlink


def too_large(live: Live) -> Callable[[], object]:
    """A file that is larger than the limit; the limit is raised."""
    toml = live.folder / "challenge.toml"
    text = toml.read_text()
    toml.write_text(f"{text}\n[limits]\nfile_mb = 1\n")
    live.put("a/1", lists(1, 1) + "\n" * 1_000_001, END - HOUR)
    return lambda: toml.write_text(text)


def beyond(live: Live) -> Callable[[], object]:
    """More files than a team may have; the limit is raised."""
    toml = live.folder / "challenge.toml"
    text = toml.read_text()
    toml.write_text(f"{text}\n[limits]\nfiles_per_team = 1\n")
    live.put("a/0", lists(2, 2), END - 2 * HOUR)
    live.put("a/1", lists(1, 1), END - HOUR)
    return lambda: toml.write_text(text)


UNREADABLE = (hidden, under_another_name, linked, too_large, beyond)


@pytest.mark.parametrize(
    ("arrive", "before"),
    some(product(UNREADABLE, (True, False)), *((each, True) for each in UNREADABLE), (hidden, False)),
)
def test_what_was_listed_before_the_close_keeps_its_time(
    tmp_path: Path, arrive: Callable[[Live], Callable[[], object]], before: bool
) -> None:
    """Also if further looks after the close could not read it; what was listed only then does not."""
    live = live_at(tmp_path, START)
    if not before:
        live.run(END)
    ready = arrive(live)
    for moment in (END - MINUTE, END, END + HOUR)[0 if before else 2 :]:
        live.run(moment)
    assert "a/1" not in live.states()
    ready()
    live.run(END + 2 * HOUR)

    assert live.states()["a/1"] == ("scored" if before else "misdated")


@pytest.mark.parametrize(("method", "name"), [("open", "1"), ("list", "a")])
def test_what_could_not_be_read_before_the_close_keeps_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, name: str
) -> None:
    """The file, or its folder. The error is raised here, because root has every permission."""
    live = live_at(tmp_path, START)
    live.put("a/1", lists(1, 1), END - HOUR)
    live.put("b/2", lists(2, 2), END - HOUR)
    original = getattr(FileBelow, method)

    def refused(path: FileBelow, *mode: str) -> object:
        if path.parts[-1:] == (name,):
            raise PermissionError(13, "Permission denied")
        return original(path, *mode)

    with monkeypatch.context() as patch:
        patch.setattr(FileBelow, method, refused)
        live.run(END - MINUTE)
        live.run(END + HOUR)
    assert live.states() == {"b/2": "scored"}
    live.run(END + 2 * HOUR)

    assert live.states() == {"a/1": "scored", "b/2": "scored"}


def test_a_content_that_replaces_an_upload_was_not_seen(tmp_path: Path) -> None:
    """An empty file under the name of an upload reserves nothing."""
    live = live_at(tmp_path, START)
    live.put("a/.1", "", END - HOUR)
    live.run(END - MINUTE)
    live.run(END)
    live.path("a/.1").unlink()
    live.put("a/1", lists(5, 5), END - HOUR)
    live.run(END + HOUR)

    assert live.states() == {"a/1": "misdated"}


# Looks


def test_a_folder_that_may_be_the_wrong_one_is_no_look(tmp_path: Path) -> None:
    """A disk that is not mounted shows nothing about what is on it."""
    live = live_at(tmp_path, START)
    live.put("a/1", lists(1, 1), START)
    live.run(START + HOUR)
    live.put("b/1", lists(1, 1), END - HOUR)
    live.path("").rename(tmp_path / "unmounted")
    live.path("").mkdir()
    live.run(END + HOUR, confirm_withdrawals=False)
    live.path("").rmdir()
    (tmp_path / "unmounted").rename(live.path(""))
    live.run(END + 2 * HOUR)

    assert live.states() == {"a/1": "scored", "b/1": "scored"}


def test_an_older_look_that_ends_later_replaces_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own new files are compared with the look before it, later files with the later look."""
    live = live_at(tmp_path, START)
    live.put("a/1", lists(1, 1), END - HOUR)
    scan = organising_scan.scan

    def slow(*given: object, **named: object) -> object:
        found = scan(*given, **named)  # type: ignore[arg-type]
        monkeypatch.setattr(run, "scan", scan)
        live.path("a/1").rename(tmp_path / "away")
        live.run(END + HOUR)  # another run begins and ends meanwhile
        (tmp_path / "away").rename(live.path("a/1"))
        return found

    monkeypatch.setattr(run, "scan", slow)
    live.run(END - MINUTE)
    live.put("a/2", lists(1, 1, "2"), END + MINUTE - HOUR)
    live.run(END + 2 * HOUR)

    assert live.states() == {"a/1": "scored", "a/2": "misdated"}


def test_a_clock_that_is_set_back_makes_no_look_later_than_the_next(tmp_path: Path) -> None:
    """A look of tomorrow says that the file was not there until now, and no more."""
    live = live_at(tmp_path, END + DAY, END - HOUR)
    live.put("a/1", lists(1, 1), END - HOUR)
    live.run(END - MINUTE)

    assert live.states() == {"a/1": "scored"}


def test_a_run_with_confirmed_withdrawals_takes_an_empty_folder_as_it_is(tmp_path: Path) -> None:
    """Then it is the right folder."""
    live = live_at(tmp_path, START)
    live.put("a/1", lists(1, 1), START)
    live.run(START + HOUR)
    live.path("a/1").unlink()
    live.path("a").rmdir()
    live.run(END, confirm_withdrawals=True)
    live.put("b/1", lists(1, 1), END - HOUR)
    live.run(END + HOUR)

    assert live.states()["b/1"] == "misdated"


def test_a_look_is_stored_with_what_it_recorded(tmp_path: Path) -> None:
    """A run that ends between them leaves neither, so the file keeps the look that did not find it."""
    live = live_at(tmp_path, END)
    live.put("a/1", lists(1, 1), END - HOUR)
    with live.store(END + HOUR) as store:
        append = store._append
        store._append = lambda *_: 1 / 0  # type: ignore[assignment,method-assign]
        with pytest.raises(ZeroDivisionError):
            plan(store, live.challenge, live.track)
        store._append = append  # type: ignore[method-assign]
    live.run(END + 2 * HOUR)

    (event,) = [each for each in events(live) if each["kind"] == "arrival"]
    assert event["absent_at"] == "2011-04-28T10:00:00.000000+00:00"


def events(live: Live) -> list[dict[str, object]]:
    """The bodies of all events, with their kinds."""
    with live.store() as store:
        return [{"kind": each.kind, **each.values} for each in store.read(lambda view: view.events())]


def test_the_last_look_is_known_without_derived_rows(tmp_path: Path) -> None:
    """It is recorded."""
    live = live_at(tmp_path, END)
    with closing(sqlite3.connect(live.folder / "scores.db")) as connection, connection:
        for table in ("scanned_file", "last_run", "mean", "result", "cached"):
            connection.execute(f"DELETE FROM {table}")
    live.put("a/1", lists(1, 1), END - HOUR)
    live.run(END + HOUR)

    assert live.states() == {"a/1": "misdated"}


def test_a_bundle_has_the_last_look(tmp_path: Path) -> None:
    """A run in the folder that it was imported into compares with it."""
    live = live_at(tmp_path / "live", END)
    with live.store() as store:
        export(live.challenge, store, live.folder / "challenge.toml", tmp_path / "b.zip", solutions=True, files=True)
    import_bundle(tmp_path / "b.zip", tmp_path / "new", clock=lambda: END)
    new = Live(tmp_path / "new")
    new.put("a/1", lists(1, 1), END - HOUR)
    new.run(END + HOUR)

    assert new.states() == {"a/1": "misdated"}


# What organisers and teams read


def test_messages_name_the_entry_the_reason_and_the_command(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the output of a run, in the list of entries, and on the page of the team."""
    live = live_at(tmp_path, END)
    live.put(BY_NAME, lists(1, 1), END)
    live.put("b/1", INVALID, END - 5 * DAY)
    stop_clock(monkeypatch, END + HOUR)
    message = (
        f"main/{BY_NAME}: received 2011-04-28 09:59:00 UTC, but a run at 2011-04-28 10:00:00 UTC, outside of that "
        "phase or day, did not find it in the folder; it does not count until `scorer amend 4 --received TIME --reason "
        "TEXT` corrects the time"
    )
    assert message in terminal.run("run", tmp_path).err.splitlines()

    listed = terminal.run("entries", tmp_path)
    assert message in listed.err.splitlines()
    assert "2011-04-28T11:00:00Z" in listed.out  # when it was recorded
    (_, entry) = json.loads(terminal.run("entries", tmp_path, "--format", "json").out)["entries"]
    assert (
        entry["reason"] == "not in the folder at 2011-04-28 10:00:00 UTC, outside of the stated phase or day; "
        "`scorer amend` corrects the time of receipt"
    )
    assert (entry["state"], entry["recorded"]) == ("misdated", "2011-04-28T11:00:00Z")

    page = (tmp_path / "site" / "teams" / "a.html").read_text()
    assert "time not confirmed" in page
    assert 'Not there <time datetime="2011-04-28T10:00:00Z">' in page
    assert 'Recorded <time datetime="2011-04-28T11:00:00Z">' in page
    assert "Ask the organisers to correct the time." in page
    rules = (tmp_path / "site" / "main" / "rules.html").read_text()
    assert "A look into the folder that did not find a file shows that it came later." in rules


def test_pages_say_when_an_entry_was_recorded_only_if_its_phase_had_closed(tmp_path: Path) -> None:
    """An entry of the second phase that is recorded in it has no such line."""
    live = live_at(tmp_path, START)
    live.put("a/1", lists(1, 1), END - HOUR)
    live.run(END + HOUR)
    live.put("b/1", lists(1, 1), SECOND_START)
    live.run(SECOND_START + HOUR)
    live.render(SECOND_START + HOUR)

    pages = [(live.folder / "site" / "teams" / f"{team}.html").read_text() for team in "ab"]
    assert [page.count("Recorded <time") for page in pages] == [1, 0]
