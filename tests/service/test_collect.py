"""`scorer collect`: files that teams put into a folder or a store are accepted once, and each has an answer."""

from __future__ import annotations

import json
import os
import signal
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scorer.files import FileBelow, Remote, chunks_of
from scorer.service import accepting
from tests.commands import Answer, Terminal, here, process
from tests.live_challenges import GOOD, OTHER, POOR, Live, day, stop_clock
from tests.service.test_service_processes import KILLED_AT, arrivals, delivered_files
from tests.stores import NAME, Bucket, s3_bucket
from tests.strategies import some

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

ONE_A_DAY = 'quota = {per_day = 1, zone = "UTC"}\n'


@dataclass
class Inbox:
    """A challenge, and a folder in which teams put files."""

    live: Live
    source: str
    terminal: Terminal
    patch: pytest.MonkeyPatch
    store: Any = None
    """The file system of fsspec; None for a folder."""
    options: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of teams, if it is on this machine."""
        return Path(self.source)

    def put(self, file: str, content: str | bytes = GOOD) -> None:
        """Put a file into the folder of a team, as TEAM/FILE."""
        body = content.encode() if isinstance(content, str) else content
        if self.store is not None:
            self.store.pipe_file(f"{self.source}/{file}", body)
            return
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)

    def get(self, file: str) -> str:
        if self.store is None:
            return (self.folder / file).read_text()
        return str(self.store.cat_file(f"{self.source}/{file}").decode())

    def names(self) -> set[str]:
        if self.store is None:
            return {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file()}
        self.store.invalidate_cache()
        root = Remote(self.source)._address()[1]
        return {path.removeprefix(f"{root}/") for path in self.store.find(self.source)}

    def collect(self, at: datetime | None = None) -> Answer:
        """Look into the folder, now or at a time."""
        if at is not None:
            stop_clock(self.patch, at)
        return self.terminal.run("collect", self.source, "-C", self.live.folder, *self.options)

    def received(self) -> list[tuple[str, str]]:
        """The team and the time of each entry."""
        events = self.live.events("arrival")
        return [(event.values["team"], event.values["received"]) for event in events]

    def contents(self) -> list[str]:
        """The content of each accepted file, by name."""
        return [path.read_text() for path in delivered_files(self.live.folder)]

    def left(self) -> list[Path]:
        """What is left of files on their way."""
        return list((self.live.folder / "submissions" / "main" / ".incoming").iterdir())


@pytest.fixture
def inbox(tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Inbox:
    """A folder on this machine, of a challenge without phases."""
    live = Live.graded(tmp_path / "live", phases="", rules='stage = "final"\n')
    (tmp_path / "inbox").mkdir()
    return Inbox(live, str(tmp_path / "inbox"), terminal, monkeypatch)


def with_phases(tmp_path: Path, terminal: Terminal, patch: pytest.MonkeyPatch, rules: str = "") -> Inbox:
    """A folder on this machine, of a challenge whose first phase is from 10 to 20 January, with an hour of grace."""
    (tmp_path / "inbox").mkdir()
    return Inbox(Live.graded(tmp_path / "live", rules=rules), str(tmp_path / "inbox"), terminal, patch)


# A folder of this machine


def test_each_file_becomes_an_entry_once(inbox: Inbox, tmp_path: Path) -> None:
    """It has a receipt that can be verified; a second look finds nothing new, and the run scores the entries."""
    inbox.put("amber/one.txt", GOOD)
    inbox.put("amber/two.txt", OTHER)
    inbox.put("brass/one.txt", POOR)

    first, second = inbox.collect(), inbox.collect()

    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[-1] == "main: 3 received, 0 known, 0 refused"
    assert second == Answer(0, "main: 0 received, 3 known, 0 refused\n", "")
    assert sorted(inbox.contents()) == sorted([GOOD, OTHER, POOR])
    assert inbox.left() == []
    assert here("run", inbox.live.folder, "--executor", "serial").code == 0
    site = inbox.live.folder / "site"
    public = ("--key", site / "receipts.pem", "--log", site / "log.jsonl")
    for name in ("amber/one.txt", "amber/two.txt", "brass/one.txt"):
        receipt = inbox.folder / f"{name}.receipt.txt"
        assert here("verify", "receipt", receipt, *public, "--file", inbox.folder / name).code == 0


def test_an_entry_stays_when_its_file_is_removed(inbox: Inbox) -> None:
    """As one that was handed in over the service."""
    inbox.put("amber/one.txt")
    inbox.collect()
    (inbox.folder / "amber" / "one.txt").unlink()

    assert inbox.collect().code == 0
    assert here("score", inbox.live.folder, "--executor", "serial").code == 0
    assert [entry.state for entry in inbox.live.entries().all] == ["scored"]


def test_a_changed_file_is_another_entry(inbox: Inbox) -> None:
    """Its receipt replaces the earlier one. The same bytes again are the same entry."""
    inbox.put("amber/one.txt", GOOD)
    inbox.collect()
    first = inbox.get("amber/one.txt.receipt.txt")
    inbox.put("amber/one.txt", OTHER)
    assert "1 received" in inbox.collect().out
    assert inbox.get("amber/one.txt.receipt.txt") != first
    inbox.put("amber/one.txt", GOOD)
    assert inbox.collect().out == "main: 0 received, 1 known, 0 refused\n"
    assert inbox.get("amber/one.txt.receipt.txt") == first
    assert sorted(inbox.contents()) == sorted([GOOD, OTHER])


def test_answers_that_are_lost_are_written_again(inbox: Inbox) -> None:
    """Also if the file with the last answers is lost, and if the folder has moved."""
    inbox.put("amber/one.txt")
    inbox.collect()
    receipt = inbox.get("amber/one.txt.receipt.txt")
    (inbox.folder / "amber" / "one.txt.receipt.txt").unlink()
    inbox.collect()
    assert inbox.get("amber/one.txt.receipt.txt") == receipt
    (inbox.live.folder / "scores.db.collected").write_text('["torn')
    inbox.folder.rename(inbox.folder.with_name("moved"))
    inbox.source = str(inbox.folder.with_name("moved"))
    assert inbox.collect().out == "main: 0 received, 1 known, 0 refused\n"
    assert inbox.get("amber/one.txt.receipt.txt") == receipt
    assert len(inbox.received()) == 1


def test_the_time_of_receipt_is_that_of_the_look(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of the file and of its name, which its team sets, have no effect."""
    inbox = with_phases(tmp_path, terminal, monkeypatch)
    inbox.put("amber/20270111T000000Z-one.txt")
    os.utime(inbox.folder / "amber" / "20270111T000000Z-one.txt", (day(11).timestamp(),) * 2)

    refused = inbox.collect(day(21))

    assert (refused.code, inbox.received()) == (1, [])
    assert "the phase one closed at 2027-01-20 00:00:00 UTC, with 1 hour of grace" in refused.err
    assert "received at 2027-01-21 12:00:00 UTC" in inbox.get("amber/20270111T000000Z-one.txt.errors.txt")
    assert inbox.collect(day(26)).code == 0, "it is not read again as it is"
    inbox.put("amber/20270111T000000Z-one.txt")
    assert inbox.collect(day(26)).code == 0
    assert inbox.received() == [("amber", day(26).isoformat(timespec="microseconds"))]
    assert inbox.names() == {"amber/20270111T000000Z-one.txt", "amber/20270111T000000Z-one.txt.receipt.txt"}


def test_a_file_over_the_quota_is_refused_until_it_is_uploaded_again(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer says when the quota begins again."""
    inbox = with_phases(tmp_path, terminal, monkeypatch, ONE_A_DAY)
    inbox.put("amber/one.txt", GOOD)
    inbox.put("amber/two.txt", OTHER)

    first = inbox.collect(day(11))

    assert (first.code, "quota is used up" in first.err) == (1, True)
    answer = inbox.get("amber/two.txt.errors.txt")
    assert "The quota begins again at 2027-01-12T00:00:00Z.\n" in answer
    assert "upload it again" in answer
    assert inbox.collect(day(12)) == Answer(0, "main: 0 received, 2 known, 0 refused\n", "")
    inbox.put("amber/two.txt", OTHER)
    assert "1 received" in inbox.collect(day(12)).out
    assert len(inbox.received()) == 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "the file is empty"),
        (b"#" * 1_000_001, "the file is larger than 1,000,000 bytes (limits.file_mb)"),
        (None, "the file has the bytes of a solution"),
    ],
)
def test_a_refused_file_holds_up_no_other(inbox: Inbox, content: bytes | None, why: str) -> None:
    """It has an answer that says why, and no receipt."""
    with (inbox.live.folder / "challenge.toml").open("a") as settings:
        settings.write("\n[limits]\nfile_mb = 1\n")
    solution = (inbox.live.folder / "solutions" / "main.txt").read_bytes()
    inbox.put("amber/one.txt", solution if content is None else content)
    inbox.put("brass/one.txt")

    first = inbox.collect()

    assert (first.code, first.out.splitlines()[-1]) == (1, "main: 1 received, 0 known, 1 refused")
    assert why in first.err
    assert why in inbox.get("amber/one.txt.errors.txt")
    assert "amber/one.txt.receipt.txt" not in inbox.names()
    assert (inbox.left(), inbox.contents()) == ([], [GOOD])


def test_a_file_is_never_copied_beyond_the_limit(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if its size was stated too low."""
    with (inbox.live.folder / "challenge.toml").open("a") as settings:
        settings.write("\n[limits]\nfile_mb = 1\n")
    inbox.put("amber/one.txt", b"#" * 5_000_000)
    stat = os.stat_result

    def small(path: FileBelow) -> os.stat_result:
        status = os.lstat(path.path)
        return stat((*status[:6], 10, *status[7:]))

    most = []
    monkeypatch.setattr(FileBelow, "stat", small)
    monkeypatch.setattr(os, "fsync", lambda descriptor: most.append(os.fstat(descriptor).st_size))
    assert "the file is larger than" in inbox.collect().err
    assert most[0] == 1_000_001


def test_hostile_names_harm_nobody(inbox: Inbox, tmp_path: Path) -> None:
    """They are skipped or refused, counted, and reported once; the other files are collected."""
    secret = tmp_path / "secret.txt"
    secret.write_text(GOOD)
    inbox.put("brass/one.txt", POOR)
    inbox.put("amber/deep/er/one.txt")
    inbox.put("amber/.hidden.txt")
    inbox.put(".team/one.txt")
    inbox.put("top.txt")
    inbox.put("amber/picks.toml", "picks = []\n")
    inbox.put("amber/" + "n" * 250)
    inbox.put("amber/new\nline.txt")
    inbox.put("back\\slash/one.txt")
    inbox.put("\u202eamber/one.txt")
    inbox.put("n" * 201 + "/one.txt")
    inbox.put("amber/own.receipt.txt", "mine")
    (inbox.folder / "amber" / "link.txt").symlink_to(secret)
    (inbox.folder / "linked").symlink_to(tmp_path)
    (inbox.folder / "amber" / "hard.txt").hardlink_to(secret)
    os.mkfifo(inbox.folder / "amber" / "pipe")

    first = inbox.collect()

    assert first.code == 1
    assert first.out.splitlines()[-1] == "main: 1 received, 0 known, 4 refused, 8 skipped, 2 in progress"
    assert inbox.contents() == [POOR]
    assert "main/amber/link.txt: a link" in first.err
    assert "main/linked: a link" in first.err
    assert "main/amber/hard.txt: a hard link; submit a copy; skipped" in first.err
    assert "main/top.txt: is in no folder of a team; move it into one; skipped" in first.err
    assert "main/amber/picks.toml: picks in a file have no effect; record them with `scorer pick`" in first.err
    assert "\u202e" not in first.err
    assert "give the file another name" in inbox.get("amber/new\nline.txt.errors.txt")
    assert "cannot be the name of a team's folder" in inbox.get("back\\slash/one.txt.errors.txt")
    assert inbox.get("amber/own.receipt.txt") == "mine"
    assert inbox.collect() == Answer(0, "main: 0 received, 13 known, 0 refused, 2 in progress\n", "")


def test_an_answer_replaces_a_link_and_does_not_follow_it(inbox: Inbox, tmp_path: Path) -> None:
    """A team that can make links in its folder has no file overwritten."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    inbox.put("amber/one.txt")
    for name in ("one.txt.receipt.txt", "one.txt.errors.txt", ".answer.part"):
        (inbox.folder / "amber" / name).symlink_to(secret)

    assert "1 received" in inbox.collect().out
    assert secret.read_text() == "secret"
    assert json.loads(inbox.get("amber/one.txt.receipt.txt").splitlines()[0])["team"] == "amber"


def test_an_answer_that_cannot_be_written_holds_up_no_other(inbox: Inbox) -> None:
    """The next call writes it."""
    inbox.put("amber/one.txt")
    inbox.put("brass/one.txt", OTHER)
    (inbox.folder / "amber" / "one.txt.receipt.txt").mkdir()

    first = inbox.collect()

    assert (first.code, first.err.count("main/amber/one.txt: not complete: ")) == (1, 1)
    assert "brass/one.txt.receipt.txt" in inbox.names()
    (inbox.folder / "amber" / "one.txt.receipt.txt").rmdir()
    assert inbox.collect().code == 0
    assert "amber/one.txt.receipt.txt" in inbox.names()
    assert len(inbox.received()) == 2


def test_a_file_that_changes_while_it_is_read_waits(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call reads it."""
    inbox.put("amber/one.txt", GOOD)
    genuine = chunks_of

    def changing(*arguments: Any) -> Iterator[bytes]:
        yield from genuine(*arguments)
        inbox.put("amber/one.txt", OTHER)

    with monkeypatch.context() as patch:
        patch.setattr(accepting, "chunks_of", changing)
        assert "it changed while it was read; the next call tries it again" in inbox.collect().err
    assert (inbox.received(), inbox.left()) == ([], [])
    inbox.collect()
    assert inbox.contents() == [OTHER]


def test_a_full_disk_is_no_fault_of_the_file(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no answer, and is tried again."""
    inbox.put("amber/one.txt")
    with monkeypatch.context() as patch:
        patch.setattr(accepting, "RESERVE", 1 << 60)
        full = inbox.collect()
    assert (full.code, "the disk is full; the next call tries it again" in full.err) == (1, True)
    assert inbox.names() == {"amber/one.txt"}
    assert inbox.collect().code == 0


def test_any_folder_is_a_team_unless_it_reads_as_another_one(inbox: Inbox) -> None:
    """As in the folder of submissions. A team that is excluded gets the reason."""
    inbox.put("amber/one.txt")
    inbox.collect()
    here("teams", "disqualify", "amber", "--reason", "Copied", "-C", inbox.live.folder)
    inbox.put("amber/two.txt", OTHER)
    inbox.put("Amber/one.txt", OTHER)
    inbox.put("new team/one.txt", POOR)

    answer = inbox.collect()

    assert answer.out.splitlines()[-1] == "main: 1 received, 1 known, 2 refused"
    assert "the team is disqualified: Copied" in inbox.get("amber/two.txt.errors.txt")
    assert "reads as the name of another team, amber" in inbox.get("Amber/one.txt.errors.txt")
    assert [team for team, _ in inbox.received()] == ["amber", "new team"]


def test_wrong_sources_have_a_message(inbox: Inbox, tmp_path: Path) -> None:
    """A missing folder, one that overlaps the submissions, an unknown protocol."""
    wrong: dict[str | Path, str] = {
        tmp_path / "none": "there is no such folder, or it is empty",
        inbox.live.folder: "overlaps the folder of the submissions",
        f"file://{inbox.live.folder}/submissions/main/amber": "overlaps the folder of the submissions",
        "nosuch://x/y": "Protocol not known: nosuch",
    }
    for source, why in wrong.items():
        answer = inbox.terminal.run("collect", source, "-C", inbox.live.folder)
        assert (answer.code, why in answer.err) == (1, True), answer.err


def test_a_challenge_with_several_tracks_needs_the_track(tmp_path: Path, terminal: Terminal) -> None:
    """Each track has its own folder."""
    live = Live.graded(tmp_path / "live", phases="", rules='stage = "final"\n', tracks=("main", "other"))
    (tmp_path / "inbox" / "amber").mkdir(parents=True)
    (tmp_path / "inbox" / "amber" / "one.txt").write_text(GOOD)

    assert terminal.run("collect", tmp_path / "inbox", live.folder).code == 2
    assert terminal.run("collect", tmp_path / "inbox", live.folder, "--track", "other").code == 0
    assert [event.track for event in live.events("arrival")] == ["other"]


def test_two_collectors_at_once_accept_each_file_once(inbox: Inbox) -> None:
    """The second one waits for the first."""
    for number in range(5):
        inbox.put(f"team-{number}/one.txt", GOOD + f"x{number}:a\n")
    arguments = ("collect", inbox.source, "-C", inbox.live.folder)
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda _: process(*arguments), range(2)))
    assert [answer.code for answer in answers] == [0, 0]
    assert sorted(answer.out.splitlines()[-1] for answer in answers) == [
        "main: 0 received, 5 known, 0 refused",
        "main: 5 received, 0 known, 0 refused",
    ]
    assert len(inbox.received()) == len(inbox.contents()) == 5


# Killed

STEPS = {
    "while it is copied": "scorer.service.accepting:_copied:before",
    "when it is copied": "scorer.service.accepting:_copied:after",
    "when it is recorded": "scorer.store.store:Store.record:after",
    "before it has its name": "scorer.organising.files:sync_folder:before",
    "before the receipt": "scorer.files:FileBelow.put_next:before",
    "while the receipt is written": "os:fsync:after",
    "when the receipt is written": "scorer.files:FileBelow.put_next:after",
}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("step", some(STEPS, "when it is recorded", "when the receipt is written"))
def test_the_next_call_completes_one_that_was_killed(inbox: Inbox, step: str) -> None:
    """The file is accepted once, and each file has an answer."""
    inbox.put("amber/one.txt")
    inbox.put("brass/empty.txt", "")
    arguments = (STEPS[step], "collect", inbox.source, "-C", inbox.live.folder)

    assert process(*arguments, program=KILLED_AT).code == -signal.SIGKILL

    assert inbox.collect().code in (0, 1)
    complete(inbox, {"amber/one.txt": GOOD}, {"brass/empty.txt"})


def complete(inbox: Inbox, accepted: Mapping[str, str], refused: set[str]) -> None:
    """Each file has its answer and its entry, and nothing else is there."""
    answers = {*(f"{name}.receipt.txt" for name in accepted), *(f"{name}.errors.txt" for name in refused)}
    visible = {name for name in inbox.names() if not name.rpartition("/")[2].startswith(".")}
    assert visible == {*accepted, *refused, *answers}
    assert sorted(inbox.contents()) == sorted(accepted.values())
    assert sorted(team for team, _ in arrivals(inbox.live.folder)) == sorted(name.split("/")[0] for name in accepted)
    for name in accepted:
        assert json.loads(inbox.get(f"{name}.receipt.txt").splitlines()[0])["team"] == name.split("/")[0]


# A store


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A bucket for the tests of the module."""
    with s3_bucket(tmp_path_factory.mktemp("s3") / "log") as opened:
        yield opened


@pytest.fixture
def remote(bucket: Bucket, inbox: Inbox) -> Inbox:
    """A folder in a bucket."""
    inbox.source = f"s3://{NAME}/{uuid.uuid4()}"
    inbox.store = bucket.store
    return inbox


def seconds(text: str) -> datetime:
    """A time of the record."""
    return datetime.fromisoformat(text)


def test_objects_are_collected_once_with_the_time_of_the_store(remote: Inbox) -> None:
    """The answers are objects next to them. The same bytes again are no new entry."""
    before = datetime.now(UTC).replace(microsecond=0)
    remote.put("amber/one.txt", GOOD)
    after = datetime.now(UTC)
    remote.put("brass/empty.txt", "")
    later = after + timedelta(days=3)

    first = remote.collect(later)

    assert (first.code, first.out.splitlines()[-1]) == (1, "main: 1 received, 0 known, 1 refused"), first.err
    assert before <= seconds(remote.received()[0][1]) <= after
    assert remote.collect(later) == Answer(0, "main: 0 received, 2 known, 0 refused\n", "")
    complete(remote, {"amber/one.txt": GOOD}, {"brass/empty.txt"})
    remote.put("amber/one.txt", OTHER)
    remote.put("brass/empty.txt", POOR)
    assert remote.collect(later).out.splitlines()[-1] == "main: 2 received, 0 known, 0 refused"
    assert "brass/empty.txt.errors.txt" not in remote.names()
    assert len(remote.received()) == 3


def test_an_object_that_is_uploaded_in_parts_has_the_time_of_the_look(remote: Inbox) -> None:
    """S3 states when such an upload began, so that a team could begin before a close and send the bytes after it."""
    remote.put("amber/small.txt", GOOD)
    large = POOR.encode() + b"#" * 6_000_000
    with remote.store.open(f"{remote.source}/brass/parts.txt", "wb", block_size=5 << 20) as file:
        file.write(large)
    later = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)

    assert remote.collect(later).code == 0
    received = {team: seconds(time) for team, time in remote.received()}
    assert received["amber"] < later - timedelta(days=2)
    assert received["brass"] == later


def test_hostile_keys_harm_nobody(remote: Inbox, tmp_path: Path) -> None:
    """Keys are texts; none becomes a path outside of the folder of a team."""
    root = remote.source.rpartition("/")[2]
    for key in ("../up/one.txt", "amber/../../one.txt", "amber//one.txt", "amber/deep/er/one.txt", "a\tb/one.txt"):
        remote.store.call_s3(
            "put_object", Bucket="challenge-inbox", Key=f"{root.rpartition('/')[2]}/{key}", Body=b"q:a"
        )
    remote.put("amber/" + "n" * 300)
    remote.put("brass/simplecache::x?y#z.txt")

    answer = remote.collect()

    assert answer.code == 1
    assert [team for team, _ in remote.received()] == ["brass"]
    assert remote.contents() == [GOOD]
    assert "brass/simplecache::x?y#z.txt.receipt.txt" in remote.names()
    assert {path.name for path in (remote.live.folder / "submissions" / "main").iterdir()} == {".incoming", "brass"}


def test_a_too_large_object_is_not_downloaded(remote: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its size is in the listing."""
    with (remote.live.folder / "challenge.toml").open("a") as settings:
        settings.write("\n[limits]\nfile_mb = 1\n")
    remote.put("amber/one.txt", b"#" * 1_000_001)

    def opened(_self: object) -> None:
        raise AssertionError("opened")

    monkeypatch.setattr(Remote, "open", opened)
    assert "the file is larger than" in remote.collect().err


def test_an_object_that_the_store_does_not_give_holds_up_no_other(
    remote: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again by the next call."""
    remote.put("amber/one.txt", GOOD)
    remote.put("brass/one.txt", OTHER)
    genuine = Remote.open

    def opened(file: Remote) -> Any:
        if "amber" in file.url:
            raise PermissionError(13, "no permission to read it")
        return genuine(file)

    with monkeypatch.context() as patch:
        patch.setattr(Remote, "open", opened)
        first = remote.collect()
    assert (first.code, "amber/one.txt: not complete: no permission to read it" in first.err) == (1, True)
    assert [team for team, _ in remote.received()] == ["brass"]
    assert remote.collect().code == 0
    assert len(remote.received()) == 2


def test_the_next_call_completes_one_that_was_killed_with_a_store(remote: Inbox, bucket: Bucket) -> None:
    """Before the receipt is written."""
    remote.put("amber/one.txt")
    arguments = ("scorer.files:Remote.put_next:before", "collect", remote.source, "-C", remote.live.folder)
    killed = process(*arguments, program=KILLED_AT, environment=bucket.environment)
    assert killed.code == -signal.SIGKILL, killed.err
    assert remote.collect().out == "main: 0 received, 1 known, 0 refused\n"
    complete(remote, {"amber/one.txt": GOOD}, set())


def test_another_store_has_the_time_of_the_look(inbox: Inbox) -> None:
    """Its clients may set its times."""
    store = fsspec.filesystem("memory")
    store.store.clear()
    inbox.source, inbox.store = "memory://inbox", store
    inbox.put("amber/one.txt")
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
    assert inbox.collect(later).code == 0
    assert seconds(inbox.received()[0][1]) == later
    assert store.exists("/inbox/amber/one.txt.receipt.txt")
    store.store.clear()
