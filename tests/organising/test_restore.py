"""A backup of the database that is copied back: it is noticed, and `scorer restore` lets the record go on."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from scorer.organising.public import export_public
from scorer.settings.tracks import FILE
from tests.commands import Answer, failed, here
from tests.databases import record_teams
from tests.live_challenges import GOOD, OTHER, POOR, Live
from tests.public_archives import END
from tests.second_verifier import problems
from tests.served import Served, served
from tests.service.test_service_processes import challenge, serving, token_of, until
from tests.store import schema_5

AHEAD = "the site has published {} events, the record has {}: a backup was restored; `scorer restore` lets the record"


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as SQLite does, also into one that is open."""
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)


@dataclass
class Restored:
    """A challenge whose site has published more than its record has, since a backup was copied back."""

    live: Live
    backup: Path
    published: str
    """The log that the site had when the backup was copied back."""
    receipt: str = ""
    """Of an entry that is lost then."""

    @classmethod
    def of(cls, folder: Path) -> Restored:
        """With two entries in the backup, and two later ones, of which one file is not there any more."""
        live = Live.graded(folder / "live", phases="", rules='stage = "final"\n')
        restored = cls(live, folder / "backup.db", "")
        restored.arrive("amber", GOOD)
        restored.arrive("birch", OTHER)
        restored.back_up()
        restored.arrive("cedar", POOR)
        restored.arrive("gone", f"{POOR}q5:x\n")
        restored.receipt = restored.run("receipt", "main/cedar/1.txt").out
        restored.copy_back()
        live.path("gone/1.txt").unlink()
        return restored

    def arrive(self, team: str, text: str) -> None:
        """A file arrives, and the site shows it."""
        self.live.put(f"{team}/1.txt", text, self.live.now)
        assert here("run", self.live.folder).code == 0

    @property
    def log(self) -> Path:
        return self.live.folder / "site" / "log.jsonl"

    @property
    def count(self) -> int:
        """The number of published events."""
        return self.published.count("\n")

    def back_up(self) -> None:
        copy_database(self.live.folder / "scores.db", self.backup)

    def copy_back(self) -> None:
        """Put the backup in the place of the database."""
        self.published = self.log.read_text()
        shutil.copyfile(self.log.with_name("receipts.pem"), self.backup.with_name("receipts.pem"))
        for name in ("scores.db-wal", "scores.db-shm"):
            (self.live.folder / name).unlink(missing_ok=True)
        shutil.copyfile(self.backup, self.live.folder / "scores.db")

    def run(self, *command: str | Path) -> Answer:
        return here(command[0], *command[1:], "--challenge", self.live.folder)

    def lines(self) -> list[tuple[int, int, str]]:
        """The epoch, the index and the kind of each line of the log."""
        found = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [(each["epoch"], each["index"], each["kind"]) for each in found]

    def verify_receipt(self, text: str, *options: str | Path) -> Answer:
        file = self.backup.with_name("receipt.txt")
        file.write_text(text)
        return here("verify", "receipt", file, "--key", self.log.with_name("receipts.pem"), "--log", self.log, *options)

    @property
    def texts(self) -> tuple[str | Path, ...]:
        """The option with the texts of events about the log."""
        return "--texts", self.log.with_name("log-texts.jsonl")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Restored:
    """The challenge, which tests copy."""
    return Restored.of(tmp_path_factory.mktemp("restored"))


@pytest.fixture
def copied_back(original: Restored, tmp_path: Path) -> Restored:
    """A copy."""
    shutil.copytree(original.live.folder, tmp_path / "live")
    shutil.copyfile(original.backup, tmp_path / "backup.db")
    live = Live(tmp_path / "live", original.live.now)
    return Restored(live, tmp_path / "backup.db", original.published, original.receipt)


# It is noticed


@pytest.mark.parametrize(
    "command",
    [
        *(("run",), ("run", "--watch"), ("score",), ("render",), ("heads",), ("receipt", "main/amber/1.txt")),
        *(
            ("teams", "token", "amber"),
            ("retry",),
            ("commit",),
            ("amend", "3", "--reason", "x", "--received", "2027-01-05T00:00:00Z"),
            ("export", "x.zip"),
        ),
    ],
    ids=" ".join,
)
def test_nothing_is_recorded_rendered_or_signed(
    copied_back: Restored, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The message says what happened and what to do. The site and the record stay."""
    monkeypatch.chdir(tmp_path)
    answer = copied_back.run(*command)

    assert answer.code == 1
    assert AHEAD.format(copied_back.count, copied_back.count - 2) in answer.err
    assert copied_back.log.read_text() == copied_back.published
    assert len(copied_back.live.events()) == copied_back.count - 2


def test_doctor_finds_it(copied_back: Restored) -> None:
    """As a problem, among its other checks."""
    answer = copied_back.run("doctor")

    assert answer.code == 1
    assert "problem  site: the record has the events that are published" in answer.out
    assert AHEAD.format(copied_back.count, copied_back.count - 2) in answer.err
    assert copied_back.run("status").code == 0
    copied_back.run("restore")
    assert "ok       site: the record has the events that are published" in copied_back.run("doctor").out


def test_without_a_site_nothing_is_compared(copied_back: Restored) -> None:
    """Its folder was deleted; a copy of the log from elsewhere is compared by `restore`."""
    copy = copied_back.backup.with_name("copy.jsonl")
    copy.write_text(copied_back.published)
    shutil.rmtree(copied_back.log.parent)
    assert copied_back.run("heads").code == 0
    answer = copied_back.run("restore")
    assert (answer.code, "is not there; name a copy of the published log with --log" in answer.err) == (1, True)

    assert copied_back.run("restore", "--log", copy).code == 0
    assert copied_back.run("run").code == 0
    assert copied_back.log.read_text().startswith(copied_back.published)


# It goes on


def test_the_record_goes_on_in_the_next_epoch(copied_back: Restored) -> None:
    """The published log stays as it is. A file that is there is a new arrival, and the output says what is void."""
    last = copied_back.count
    answer = copied_back.run("restore")

    assert (answer.code, answer.err) == (0, "")
    assert f"the events {last - 1} to {last} are lost; event {last + 1} begins epoch 2" in answer.out
    assert f"void receipts, by epoch and index: 1.{last - 1}, 1.{last}\n" in answer.out
    assert copied_back.run("run").code == 0
    assert copied_back.log.read_text().startswith(copied_back.published)
    assert copied_back.lines()[last - 2 :] == [
        *((1, last - 1, "arrival"), (1, last, "arrival")),
        *((2, last + 1, "restored"), (2, last + 2, "arrival")),
    ]
    assert [row.team.name for row in copied_back.live.board().rows] == ["amber", "birch", "cedar"]
    head = copied_back.run("heads").out.strip()
    assert head.startswith(f"2.{last + 2}:")
    answer = here("verify", "log", copied_back.log, "--head", head, *copied_back.texts)
    assert failed(answer) == []
    assert (
        f"restored at event {last + 1}, with which epoch 2 begins: the events {last - 1} to {last} are lost"
        in answer.out
    )


def test_a_receipt_of_a_lost_entry_is_void(copied_back: Restored) -> None:
    """Its signature, and the head that it names, stay true. That of the new arrival is another one."""
    last, lost = copied_back.count, copied_back.receipt
    copied_back.run("restore")
    copied_back.run("run")
    renewed = copied_back.run("receipt", "main/cedar/1.txt").out
    assert json.loads(lost.splitlines()[0])["index"] == last - 1
    assert json.loads(renewed.splitlines()[0])["epoch"] == 2

    assert failed(copied_back.verify_receipt(renewed, *copied_back.texts)) == []
    answer = copied_back.verify_receipt(lost)
    assert answer.code == 0
    assert f"note    a backup was restored later, at event {last + 1}: --texts log-texts.jsonl says" in answer.out
    (found,) = failed(copied_back.verify_receipt(lost, *copied_back.texts))
    assert found.startswith("the entry is still in the record: in epoch 1 it was lost when a backup was restored, and ")
    assert "hand in the file again, and show the organisers this receipt" in found


def test_texts_without_that_of_the_restore_are_refused(copied_back: Restored) -> None:
    """Otherwise a lost entry would seem to be in the record."""
    copied_back.run("restore")
    copied_back.run("run")
    copied_back.log.with_name("log-texts.jsonl").write_text("")

    for answer in (
        copied_back.verify_receipt(copied_back.receipt, *copied_back.texts),
        here("verify", "log", copied_back.log, *copied_back.texts),
    ):
        assert answer.code == 1
        assert f"log-texts.jsonl: lacks the text of event {copied_back.count + 1}; download the file" in answer.err


def test_nothing_is_restored_where_nothing_is_lost(copied_back: Restored) -> None:
    """A copy of the database may be newer than the site. A second call has nothing to do."""
    copied_back.run("restore")
    events = len(copied_back.live.events())
    answer = copied_back.run("restore")

    assert answer.code == 0
    assert answer.out.startswith(f"nothing to restore: the record has the {copied_back.count} events of the log; if ")
    assert len(copied_back.live.events()) == events


def test_receipts_of_events_that_were_not_published_are_void(copied_back: Restored) -> None:
    """With --unpublished, the next epoch begins although the site has no lost event."""
    live, last = copied_back.live, copied_back.count - 2
    copied_back.log.write_text("".join(copied_back.published.splitlines(keepends=True)[:last]))
    answer = copied_back.run("restore", "--unpublished")

    assert answer.out.startswith(
        f"event {last + 1} begins epoch 2; receipts of epoch 1 for events after {last} are void"
    )
    assert live.events()[-1].values == {"from": last, "to": last}
    assert copied_back.run("run").code == 0
    assert copied_back.lines()[-2:] == [(2, last + 1, "restored"), (2, last + 2, "arrival")]
    answer = here("verify", "log", copied_back.log, *copied_back.texts)
    assert "epoch 2 begins: no event of this log was lost, but receipts of the epoch before may be void" in answer.out


def test_a_backup_may_be_restored_twice(copied_back: Restored) -> None:
    """The lost events are then also those about the first time; the epoch is the third one."""
    copied_back.run("restore")
    copied_back.run("run")
    copied_back.copy_back()
    assert copied_back.run("run").code == 1
    assert copied_back.run("restore").code == 0
    assert copied_back.run("run").code == 0

    assert copied_back.log.read_text().startswith(copied_back.published)
    assert [epoch for epoch, _, kind in copied_back.lines() if kind == "restored"] == [2, 3]
    assert failed(here("verify", "log", copied_back.log, *copied_back.texts)) == []


def test_an_archive_says_which_events_are_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the record and the lost events have version 1 of the log. No text of them is needed."""
    shutil.copytree(Path(schema_5.__file__).parent, tmp_path / "live")
    live = Live(tmp_path / "live", END)
    live.render(END)
    lines = (live.folder / "site" / "log.jsonl").read_text().splitlines(keepends=True)
    lost = lines[0].replace('"index":1', '"index":30')
    assert len(lines) == 29
    published = tmp_path / "published.jsonl"
    published.write_text("".join([*lines, next_line(lines[-1], lost)]))

    assert here("restore", "--log", published, "--challenge", live.folder).code == 0
    live.do(END, lambda _, store: record_teams(store, {"amber": {"name": "Elder"}, "birch": {"name": "B"}}, {}))
    archive = tmp_path / "archive.zip"
    live.do(END, lambda opened, store: export_public(opened, store, live.folder / FILE, archive))

    live.render(END)
    assert (live.folder / "site" / "log.jsonl").read_text().startswith(published.read_text())
    kinds = [event.kind for event in live.events()[29:]]
    assert kinds == ["lost", "log", "restored", "team", "team"]
    answer = here("verify", "challenge", archive)
    assert failed(answer) == []
    assert "note    a backup was restored at event 32, with which epoch 2 begins: event 30 is lost" in (answer.out)
    assert problems(archive) == []
    bundle = tmp_path / "bundle.zip"
    assert here("export", bundle, "--challenge", live.folder).code == 0
    assert failed(here("verify", "bundle", bundle, "--log", live.folder / "site" / "log.jsonl")) == []


def next_line(before: str, line: str) -> str:
    """A line of version 1 with the head that follows."""
    values = json.loads(line) | {"kind": "token"}
    content = bytes.fromhex(json.loads(before)["head"]) + bytes.fromhex(values["leaf"])
    values["head"] = hashlib.sha256(b"\1" + content).hexdigest()
    return json.dumps(values, separators=(",", ":")) + "\n"


# It is refused


def test_the_log_of_another_database_is_another_message(copied_back: Restored) -> None:
    """`restore` refuses it, too."""
    for name in ("scores.db", "scores.db-wal", "scores.db-shm"):
        (copied_back.live.folder / name).unlink(missing_ok=True)
    for command in ("run", "restore"):
        answer = copied_back.run(command)
        assert answer.code == 1
        assert "is the log of another challenge or of another database: its first event is not that of" in answer.err
        assert copied_back.log.read_text() == copied_back.published


def test_a_record_that_went_on_after_the_backup_is_refused(copied_back: Restored) -> None:
    """As an earlier version let it: its events have the indexes of published ones."""
    copied_back.log.rename(copied_back.backup.with_name("log.jsonl"))
    assert copied_back.run("teams", "token", "amber").code == 0
    copied_back.backup.with_name("log.jsonl").rename(copied_back.log)

    for command in ("run", "restore"):
        answer = copied_back.run(command)
        assert answer.code == 1
        assert f"event {copied_back.count - 1} of the site is another one than in the record, which has " in answer.err
        assert "restore the backup again, and run `scorer restore` before anything else" in answer.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [lines[0].replace('"arrival"', '"team"'), *lines[1:]], "is not the log of the site"),
        (lambda lines: [*lines, lines[-1]], "line 6 has event 5: this event is repeated"),
        (lambda lines: [*lines, "{}\n"], "expected {"),
        (None, "copy.jsonl: is not there"),
    ],
)
def test_another_copy_of_the_log_is_refused(
    copied_back: Restored, change: Callable[[list[str]], list[str]] | None, message: str
) -> None:
    """It must be that of the site, or go on after it, with heads that follow."""
    copy = copied_back.backup.with_name("copy.jsonl")
    if change is not None:
        copy.write_text("".join(change(copied_back.published.splitlines(keepends=True))))
    answer = copied_back.run("restore", "--log", copy)

    assert answer.code == 1
    assert message in answer.err
    assert len(copied_back.live.events()) == copied_back.count - 2


def test_a_shorter_copy_of_the_log_is_not_enough(copied_back: Restored) -> None:
    """All events that the site has are lost, also those that the copy lacks."""
    copy = copied_back.backup.with_name("copy.jsonl")
    copy.write_text("".join(copied_back.published.splitlines(keepends=True)[:-1]))
    assert copied_back.run("restore", "--log", copy).code == 0

    assert copied_back.live.events()[-1].values["to"] == copied_back.count


# The service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Served]:
    """A service."""
    with served(Live.graded(tmp_path / "live")) as found:
        yield found


def test_the_service_accepts_nothing_until_the_restore(service: Served, tmp_path: Path) -> None:
    """It says why, with 503. Then it accepts the same delivery as a new one, with a receipt of the next epoch."""
    live, database = service.live, service.live.folder / "scores.db"
    service.put("amber", GOOD)
    copy_database(database, tmp_path / "backup.db")
    delivery = str(uuid.uuid4())
    first = service.put("amber", OTHER, delivery).json()
    live.render(service.now)
    published = live.page("log.jsonl")
    copy_database(tmp_path / "backup.db", database)

    for answer in (service.put("amber", OTHER, delivery), service.put("amber", POOR)):
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert "a backup of the record was restored, and the organisers have not completed that" in answer.text
        assert str(live.folder) not in answer.text
    assert service.get("amber", f"/entries/{first['index'] - 1}/receipt").status_code == 503
    assert service.client.get("/readyz").status_code == 503
    assert here("restore", "--challenge", live.folder).code == 0

    assert service.client.get("/readyz").status_code == 200
    again = service.put("amber", OTHER, delivery)
    assert again.status_code == 201
    assert again.json()["index"] == published.count("\n") + 2
    assert json.loads(again.json()["receipt"].splitlines()[0])["epoch"] == 2
    live.render(service.now)
    assert live.page("log.jsonl").startswith(published)


@pytest.mark.endurance
def test_a_service_in_a_process_goes_on_after_the_restore(tmp_path: Path) -> None:
    """With its loop, which renders nothing until then."""
    folder = challenge(tmp_path / "live")
    token, delivery, log = token_of(folder), str(uuid.uuid4()), folder / "site" / "log.jsonl"
    assert here("run", folder).code == 0
    copy_database(folder / "scores.db", tmp_path / "backup.db")
    with serving(folder) as server:
        assert server.put(token, delivery, GOOD)[0] == 201
        until(lambda: log.read_text().count('"arrival"') == 2)
    published = log.read_text()
    copy_database(tmp_path / "backup.db", folder / "scores.db")
    with serving(folder) as server:
        status, document = server.put(token, delivery, GOOD)
        assert (status, document["code"]) == (503, "unavailable")
        until(lambda: "the loop that scores ended with exit code 1" in (folder / "service.log").read_text())
        assert log.read_text() == published
        assert here("restore", "--challenge", folder).code == 0
        assert server.put(token, delivery, GOOD)[0] == 201
        until(lambda: '"restored"' in log.read_text() and log.read_text().count('"arrival"') >= 3)
    assert log.read_text().startswith(published)
    assert failed(here("verify", "log", log, "--texts", log.with_name("log-texts.jsonl"))) == []
