"""Receipts: what they say, that they are always the same, and how a team verifies its own."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from scorer.organising.phases import extend
from scorer.organising.picks import amend
from scorer.organising.teams import rename
from tests.commands import Answer, Terminal, failed
from tests.committed import Committed
from tests.live_challenges import GOOD, OTHER, day

KEYS = [
    *("challenge", "digest", "epoch", "event", "file", "head", "index", "leaf", "nonce", "phase", "received", "team"),
    "track",
    "version",
]


@pytest.fixture
def live(tmp_path: Path, place: str) -> Committed:
    """The challenge with entries of three teams, on each kind of database."""
    live = Committed.create(tmp_path / "live", place)
    live.commit()
    live.arrive()
    return live


def fields(receipt: str) -> dict[str, Any]:
    """What a receipt says."""
    found: dict[str, Any] = json.loads(receipt.split("\n", maxsplit=1)[0])
    return found


def log(live: Committed) -> list[dict[str, Any]]:
    """The published log."""
    return [json.loads(line) for line in live.page("log.jsonl").splitlines()]


# What they say


def test_a_receipt_says_what_was_received_and_where_it_is_in_the_log(live: Committed) -> None:
    """Canonical JSON: sorted keys, no spaces, ASCII. Leaf and signature are computed without scorer."""
    live.rendered(day(11))
    text, signature, end = live.receipt("main/birch/1.txt").split("\n")

    said = json.loads(text)
    assert list(said) == KEYS
    assert text == json.dumps(said, separators=(",", ":"))
    assert (len(base64.b64decode(signature, validate=True)), end) == (64, "")
    assert (said["challenge"], said["track"], said["team"], said["file"]) == (
        "Live",
        "main",
        "birch",
        "main/birch/1.txt",
    )
    assert said["digest"] == hashlib.sha256(OTHER.encode()).hexdigest()
    assert (said["received"], said["phase"], said["version"]) == ("2027-01-10T01:00:00.000000+00:00", "one", 2)
    line = log(live)[said["index"] - 1]
    assert line == {"kind": "arrival", **{key: said[key] for key in ("version", "epoch", "index", "leaf", "head")}}

    leaf = hashlib.sha256(b"\x00" + bytes.fromhex(said["nonce"]) + said["event"].encode()).hexdigest()
    assert leaf == said["leaf"]
    key = load_pem_public_key(live.page("receipts.pem").encode())
    key.verify(base64.b64decode(signature), f"{text}\n".encode())  # type: ignore[union-attr,call-arg]


def test_a_receipt_is_always_the_same(live: Committed) -> None:
    """It does not depend on what is recorded later: an amended time, another name of the team, a longer phase."""
    before = live.receipt("main/amber/1.txt")
    live.do(day(12), lambda challenge, store: amend(challenge, store, "main/amber/1.txt", day(9), "a reason"))
    live.do(day(12), lambda challenge, store: rename(challenge, store, "amber", "Ámber"))
    live.do(day(12), lambda challenge, store: extend(challenge, store, "main", "one", day(22), "a reason"))
    live.put("amber/1.txt", OTHER, day(12))
    live.run(day(12))

    index = fields(before)["index"]
    assert live.receipt(str(index)) == before


@pytest.mark.parametrize(("received", "phase"), [(day(9), None), (day(15), "one"), (day(22), None), (day(26), "two")])
def test_the_phase_is_the_one_that_received_the_entry(live: Committed, received: Any, phase: str | None) -> None:
    """Early and late entries have none."""
    live.put("delta/late.txt", GOOD, received)
    live.run(day(31))

    assert fields(live.receipt("main/delta/late.txt"))["phase"] == phase


def test_entries_of_all_states_have_receipts(live: Committed) -> None:
    """Rejected, withdrawn and replaced ones."""
    live.put("delta/bad.txt", "no list\n", day(12))
    live.put("delta/gone.txt", GOOD, day(12))
    live.run(day(12))
    (live.folder / "submissions/main/delta/gone.txt").unlink()
    live.run(day(13))

    for name in ("bad", "gone"):
        assert fields(live.receipt(f"main/delta/{name}.txt"))["file"] == f"main/delta/{name}.txt"


# scorer receipt


def test_receipts_are_printed_or_written(live: Committed, terminal: Terminal) -> None:
    """In the order of the arguments; an entry of another track is not found where one track is chosen."""
    names = ["main/birch/1.txt", "lists/amber/1.txt"]
    one, other = (live.receipt(name) for name in names)
    file = live.folder / "receipt.txt"

    assert terminal.run("receipt", *names, "--challenge", live.folder) == Answer(0, one + other, "")
    assert terminal.run("receipt", names[0], "-o", file, "--challenge", live.folder) == Answer(0, "", "")
    assert file.read_text() == one

    folder = live.folder / "receipts"

    answer = terminal.run("receipt", "--all", folder, "-t", "lists", "--challenge", live.folder)
    assert answer.out == f"{folder}: 3 receipts written, 0 there already\n"
    assert [path.name for path in folder.iterdir()] == ["lists"]
    answer = terminal.run("receipt", "main/birch/1.txt", "-t", "lists", "--challenge", live.folder)
    assert (answer.code, 'no entry is called "main/birch/1.txt"' in answer.err) == (1, True)

    for wrong in ("", "a b -o file", "a --all folder", "--all folder -o file"):
        answer = terminal.run("receipt", *wrong.split(), "--challenge", live.folder)
        assert (answer.code, "expected ENTRY..., ENTRY with -o FILE, or --all FOLDER" in answer.err) == (2, True)

    (live.folder / "taken").write_text("")

    for option in ("main/birch/1.txt -o {}/taken/receipt.txt", "--all {}/taken"):
        answer = terminal.run("receipt", *option.format(live.folder).split(), "--challenge", live.folder)
        assert (answer.code, "taken" in answer.err, answer.err.count("\n")) == (1, True, 1)


def test_all_receipts_are_written_once(live: Committed, terminal: Terminal) -> None:
    """A second call writes those of new entries only."""
    folder = live.folder / "receipts"
    first = terminal.run("receipt", "--all", folder, "--challenge", live.folder)
    live.put("delta/1.txt", GOOD, day(12))
    live.run(day(12))
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*.txt")}

    second = terminal.run("receipt", "--all", folder, "--challenge", live.folder)

    assert (first.code, first.out) == (0, f"{folder}: 6 receipts written, 0 there already\n")
    assert (second.code, second.out) == (0, f"{folder}: 1 receipt written, 6 there already\n")
    assert {path: path.stat().st_mtime_ns for path in times} == times
    for path in folder.rglob("*.txt"):
        said = fields(path.read_text())
        assert path.relative_to(folder).as_posix() == f"{said['track']}/{said['team']}/{said['index']}-1.receipt.txt"
        assert path.read_text() == live.receipt(str(said["index"]))


def test_another_receipt_is_never_replaced(live: Committed, terminal: Terminal) -> None:
    """Nothing is written then."""
    folder = live.folder / "receipts"
    path = folder / "main" / "cedar" / f"{fields(live.receipt('main/cedar/1.txt'))['index']}-1.receipt.txt"
    path.parent.mkdir(parents=True)
    path.write_text("another\n")

    answer = terminal.run("receipt", "--all", folder, "--challenge", live.folder)

    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"{path}: differs from the receipt of the record; ")
    assert [each.name for each in folder.rglob("*.txt")] == [path.name]


# scorer verify receipt


@dataclass(frozen=True)
class Held:
    """What a participant has: a receipt, the public files, and the file that was submitted."""

    folder: Path
    terminal: Terminal

    @property
    def receipt(self) -> Path:
        return self.folder / "receipt.txt"

    def verify(self, *options: str | Path) -> Answer:
        """Verify the receipt with the public files and some options."""
        return self.terminal.run("verify", "receipt", self.receipt, "--key", self.folder / "receipts.pem", *options)

    def verify_all(self) -> Answer:
        return self.verify("--log", self.folder / "log.jsonl", "--file", self.folder / "run.txt")


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files."""
    live = Committed.create(tmp_path_factory.mktemp("receipts") / "live")
    live.commit()
    live.arrive()
    folder = live.folder.parent / "held"
    folder.mkdir()
    (folder / "receipt.txt").write_text(live.receipt("main/birch/1.txt"))
    (folder / "run.txt").write_text(OTHER)
    site = live.rendered(day(11))
    for name in ("log.jsonl", "receipts.pem"):
        (folder / name).write_bytes((site / name).read_bytes())
    return folder


@pytest.fixture
def held(public: Path, tmp_path: Path, terminal: Terminal) -> Held:
    """A copy of the files, elsewhere."""
    for path in public.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return Held(tmp_path, terminal)


def test_a_receipt_is_verified(held: Held) -> None:
    """With the key, which must be given, and all that a team has; another file and another key are found."""
    said = fields(held.receipt.read_text())
    first = ["ok      the receipt is signed by the key", "ok      the receipt has the leaf of its event"]
    first.append("ok      the event says what the receipt says")
    about = "note    birch handed in main/birch/1.txt, received 2027-01-10 01:00:00 UTC, in the phase one"

    assert held.verify() == Answer(0, "\n".join([*first, about, ""]), "")
    more = f"ok      the log has this leaf and this head at event {said['index']}"
    last = "ok      the file is the one that was received"
    assert held.verify_all() == Answer(0, "\n".join([*first, more, last, about, ""]), "")

    answer = held.terminal.run("verify", "receipt", held.receipt)
    assert (answer.code, "--key is missing" in answer.err) == (2, True)
    answer = held.verify("--opening", held.receipt)
    assert (answer.code, "--opening: no option of receipt" in answer.err) == (2, True)

    (held.folder / "run.txt").write_text(GOOD)

    (line,) = failed(held.verify_all())
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (GOOD, OTHER)]
    assert line.endswith(f"its SHA-256 is {digests[0]}, that of the entry {digests[1]}")

    public = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (held.folder / "receipts.pem").write_bytes(pem)

    assert failed(held.verify())[0].startswith("the receipt is signed by the key: the signature is wrong")


def test_every_changed_byte_of_a_receipt_is_found(held: Held) -> None:
    """The signature is wrong then."""
    original = held.receipt.read_bytes()
    for place in [*range(0, len(original) - 1, 7), *range(len(original) - 5, len(original) - 1)]:
        changed = bytearray(original)
        changed[place] ^= 1
        held.receipt.write_bytes(bytes(changed))

        assert failed(held.verify())[0].startswith("the receipt is signed by the key: the signature is wrong"), place


def signed(held: Held, **changes: object) -> None:
    """Write a receipt with other contents that is signed by another key, which replaces that of the site."""
    said = {**fields(held.receipt.read_text()), **changes}
    text = json.dumps(said, sort_keys=True, separators=(",", ":")) + "\n"
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    held.receipt.write_text(text + base64.b64encode(private.sign(text.encode())).decode() + "\n")
    pem = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (held.folder / "receipts.pem").write_bytes(pem)


OTHER_DIGEST = "0" * 64


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        ({"challenge": "other"}, []),
        ({"phase": None}, []),
        ({"team": "amber"}, ['the event says what the receipt says: team: the event has "birch", expected "amber"']),
        ({"file": "main/x.txt"}, ['receipt says: file: the event has "main/birch/1.txt", expected "main/x.txt"']),
        ({"track": "lists"}, ['receipt says: track: the event has "main", expected "lists"']),
        ({"received": "2027-01-11T00:00:00+00:00"}, ["receipt says: received: the event has "]),
        ({"digest": OTHER_DIGEST}, ["receipt says: digest: the event has ", "the file is the one that was received"]),
        ({"leaf": OTHER_DIGEST}, ["the receipt has the leaf of its event: the leaf", "at event 7: found leaf "]),
        ({"nonce": "0" * 32}, ["the receipt has the leaf of its event: the leaf of the event is "]),
        ({"head": OTHER_DIGEST}, ["the log has this leaf and this head at event 7: found head "]),
        ({"index": 6}, ['receipt says: index: the event has "7", expected "6"', "at event 6: found leaf "]),
        ({"index": 5}, ["receipt says: index", "at event 5: found kind commitment instead of arrival, leaf "]),
        ({"index": 999}, ["receipt says: index"]),
    ],
)
def test_a_receipt_that_contradicts_the_log_is_found(
    held: Held, changes: dict[str, object], messages: list[str]
) -> None:
    """Also one that the organisers signed: each line that fails says what differs."""
    index = fields(held.receipt.read_text())["index"]
    assert index == 7
    signed(held, **changes)

    found = failed(held.verify_all())

    assert len(found) == len(messages), found
    assert all(message in line for message, line in zip(messages, found, strict=True)), found


def test_an_event_of_another_kind_is_no_receipt_of_an_entry(held: Held) -> None:
    """The text of the event is compared, too."""
    said = fields(held.receipt.read_text())
    event = said["event"].replace('"kind":"arrival"', '"kind":"withdrawal"')
    leaf = hashlib.sha256(b"\0" + bytes.fromhex(said["nonce"]) + event.encode()).hexdigest()
    signed(held, event=event, leaf=leaf)

    first, second = failed(held.verify_all())
    assert 'kind: the event has "withdrawal", expected "arrival"' in first
    assert "found leaf" in second


def rsa() -> bytes:
    """A key of another kind."""
    return generate_private_key(65537, 2048).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("receipts.pem", lambda: b"", "receipts.pem: is no public key in PEM; download receipts.pem again"),
        ("receipts.pem", rsa, "receipts.pem: is a public key of another kind than Ed25519; download"),
        ("receipt.txt", lambda: b"", "receipt.txt: expected a receipt: a line of JSON, then a line with the signature"),
        ("receipt.txt", lambda: b"[]\nx\n", "receipt.txt: expected a receipt of version 1"),
        ("receipt.txt", lambda: b'{"version":2}\n', "receipt.txt: expected a receipt of version 1"),
        ("receipt.txt", lambda: b'{"version":1}\n', "receipt.txt: challenge: expected a text of the form"),
        ("receipt.txt", lambda: b"[" * 100_000, "receipt.txt: expected a receipt: a line of JSON"),
        ("log.jsonl", lambda: b"\xff\n", "log.jsonl: line 1: found"),
    ],
)
def test_another_document_is_reported(held: Held, name: str, content: Callable[[], bytes], message: str) -> None:
    """What was expected and what to do, without a traceback."""
    (held.folder / name).write_bytes(content())

    answer = held.verify_all()

    assert (answer.code, message in answer.err, answer.err.count("\n")) == (1, True, 1), answer.err


@pytest.mark.parametrize("name", ["receipt.txt", "receipts.pem", "log.jsonl", "run.txt"])
def test_a_missing_file_is_reported(held: Held, name: str) -> None:
    """By its name."""
    (held.folder / name).unlink()

    answer = held.verify_all()

    assert answer.code == 1
    assert f"{name}: cannot be read: No such file or directory; name" in answer.err
