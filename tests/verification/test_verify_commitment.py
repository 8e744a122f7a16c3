"""``scorer verify commitment``: what was committed is what the boards are based on, or an erratum says what changed."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from scorer.organising.phases import extend
from tests.commands import Answer, Terminal, failed
from tests.committed import COMMITTED, KEY, LISTS, Committed, whole
from tests.live_challenges import CORRECTED, SOLUTION, day
from tests.strangers import chain

KEY_SHA256 = hashlib.sha256(bytes.fromhex(KEY)).hexdigest()
OTHER = "0" * 64

FILES = ("commitment.json", "commitment.txt", "log.jsonl", "receipts.pem")


@dataclass(frozen=True)
class Held:
    """What a visitor has: the public files in a folder."""

    folder: Path
    terminal: Terminal

    @classmethod
    def of(cls, site: Path, folder: Path, terminal: Terminal) -> Held:
        """Download the public files, and the solutions that the organiser published."""
        folder.mkdir(exist_ok=True)
        for name in FILES:
            if (site / name).exists():
                shutil.copyfile(site / name, folder / name)
        shutil.copyfile(site / "lists" / "split.json", folder / "split.json")
        for name, text in (("main", SOLUTION), ("lists", LISTS)):
            (folder / f"{name}.txt").write_text(text)
        return cls(folder, terminal)

    def verify(self, *options: str | Path) -> Answer:
        return self.terminal.run("verify", "commitment", self.folder / "commitment.json", *options)

    def verify_all(self, *options: str | Path) -> Answer:
        folder = self.folder
        files: list[str | Path] = [
            *("--opening", folder / "commitment.txt", "--log", folder / "log.jsonl", "--key", folder / "receipts.pem"),
            *("--split", folder / "split.json"),
            *("--solution", f"main={folder / 'main.txt'}", "--solution", f"lists={folder / 'lists.txt'}"),
        ]
        return self.verify(*files, *options)

    @property
    def document(self) -> dict[str, Any]:
        """The file commitment.json."""
        found: dict[str, Any] = json.loads((self.folder / "commitment.json").read_text())
        return found

    @property
    def sha256(self) -> str:
        return str(self.document["commitments"][-1]["sha256"])

    def write(self, document: object) -> None:
        """Replace the file commitment.json."""
        (self.folder / "commitment.json").write_text(document if isinstance(document, str) else json.dumps(document))

    def change(self, *keys: str | int, value: object) -> None:
        document = self.document
        place: Any = document
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        self.write(document)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a challenge that is over and revealed."""
    return whole(tmp_path_factory.mktemp("whole") / "live").folder / "site"


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with an erratum of the track `main`, which changes its solution and its list length."""
    live = Committed.create(tmp_path_factory.mktemp("corrected") / "live")
    live.commit()
    live.arrive()
    live.write_solution(CORRECTED)
    text = (live.folder / "challenge.toml").read_text()
    (live.folder / "challenge.toml").write_text(text.replace("list_length = 3", "list_length = 2", 1))
    live.preview(day(12))
    live.apply(day(12))
    live.run(day(31))
    live.reveal(day(31))
    return live.rendered(day(31))


@pytest.fixture
def held(site: Path, tmp_path: Path, terminal: Terminal) -> Held:
    """What a visitor has in the end."""
    return Held.of(site, tmp_path, terminal)


def test_a_commitment_is_verified(held: Held) -> None:
    """With everything that is public; each line says what was compared."""
    answer = held.verify_all("--sha256", held.sha256.upper())

    assert answer == Answer(
        0,
        "ok      the commitment is that of the earlier copy\n"
        "ok      the key of receipts is that of the document\n"
        "ok      the log has the commitments, errata and changes of phases of the document at their events, and no "
        "others\n"
        "ok      the key of the split of lists has the SHA-256 of the document\n"
        "ok      the opening has the SHA-256 of the commitment\n"
        "ok      the opening is that of this challenge and of this key of receipts\n"
        "ok      the log has this opening in its event\n"
        "ok      lists: the solution is the one that was committed\n"
        "ok      lists: the key of the split is the one that was committed\n"
        "ok      lists: the rules are those that were committed\n"
        "ok      lists: the list of phases is the one that was committed\n"
        "ok      main: the solution is the one that was committed\n"
        "ok      main: the rules are those that were committed\n"
        "ok      main: the list of phases is the one that was committed\n"
        "ok      main: main.txt is the solution that was committed\n"
        "ok      lists: lists.txt is the solution that was committed\n"
        "ok      lists: the key of split.json is the one that was committed\n"
        "ok      lists: the share of split.json is the one that was committed\n",
        "",
    )


def test_before_the_reveal_only_hashes_are_verified(tmp_path: Path, terminal: Terminal) -> None:
    """And the last line says that the rest is not revealed."""
    live = Committed.create(tmp_path / "live")
    made = live.commit()
    held = Held.of(live.rendered(day(7)), tmp_path / "held", terminal)
    log, split = held.folder / "log.jsonl", held.folder / "split.json"

    answer = held.verify("--sha256", made.sha256, "--log", log, "--split", split)

    assert failed(answer) == [
        "the commitment is revealed: not revealed yet; the organiser publishes it after the challenge"
    ]
    assert len(answer.out.splitlines()) == 4
    assert failed(held.verify("--sha256", OTHER))[0].endswith(
        f"the document has {made.sha256}, the earlier copy {OTHER}"
    )


def test_a_revealed_commitment_needs_its_opening(held: Held) -> None:
    """The message has the option."""
    assert failed(held.verify()) == [
        "the commitment is revealed: not verified; download commitment.txt and name it with --opening"
    ]


def test_a_commitment_that_was_replaced_before_the_start_is_named(tmp_path: Path, terminal: Terminal) -> None:
    """A visitor who has the hash of the earlier one sees that there is a later one."""
    live = Committed.create(tmp_path / "live")
    first = live.commit()
    live.write_solution(CORRECTED)
    second = live.commit(COMMITTED + timedelta(hours=1))
    held = Held.of(live.rendered(day(7)), tmp_path / "held", terminal)

    (line, _) = failed(held.verify("--sha256", first.sha256, "--log", held.folder / "log.jsonl"))

    assert line == (
        f"the commitment is that of the earlier copy: it is that of event {first.index}; the challenge was committed "
        f"again before its start, at event {second.index}, as {second.sha256}"
    )


# What an erratum changed


def test_changes_by_an_erratum_are_verified(corrected: Path, tmp_path: Path, terminal: Terminal) -> None:
    """The lines name the erratum. Both solutions may be published."""
    held = Held.of(corrected, tmp_path, terminal)
    answer = held.verify_all()

    assert failed(answer) == []
    for line in (
        "ok      main: the solution was changed by erratum 1 after the commitment",
        "ok      main: the rule list_length was changed by erratum 1 after the commitment",
        "ok      lists: the rules are those that were committed",
        "ok      main: main.txt is the solution that was committed",
    ):
        assert line in answer.out.splitlines()
    (tmp_path / "main.txt").write_text(CORRECTED)
    assert "ok      main: main.txt is the solution of erratum 1" in held.verify_all().out.splitlines()


def test_an_erratum_excuses_only_what_it_changed(corrected: Path, tmp_path: Path, terminal: Terminal) -> None:
    """Of its track."""
    held = Held.of(corrected, tmp_path, terminal)
    held.change("tracks", "main", "rules", "decimals", value=2)
    held.change("tracks", "lists", "rules", "list_length", value=2)

    assert failed(held.verify_all()) == [
        f"{track}: the rule {rule} is the one that was committed: committed {before}, now 2, and the document has no "
        "change"
        for track, rule, before in (("lists", "list_length", 3), ("main", "decimals", 4))
    ]


def test_an_extended_phase_is_named_with_its_event(tmp_path: Path, terminal: Terminal) -> None:
    """The log has the event."""
    live = Committed.create(tmp_path / "live")
    live.commit()
    live.arrive()
    end = day(30, 6)
    live.do(day(26), lambda challenge, store: extend(challenge, store, "main", "two", end, "The server was down."))
    live.run(day(31))
    live.reveal(day(31))
    held = Held.of(live.rendered(day(31)), tmp_path / "held", terminal)

    (index,) = held.document["tracks"]["main"]["rescheduled"]
    answer = held.verify_all()
    assert (answer.code, answer.err) == (0, "")
    line = f"ok      main: the list of phases was changed by event {index} after the commitment\n"
    assert line in answer.out


# Tampering


def swapped(held: Held) -> None:
    """The organiser scores by another solution."""
    held.change("tracks", "main", "solution", value=hashlib.sha256(CORRECTED.encode()).hexdigest())


def other_file(held: Held) -> None:
    """The organiser publishes another solution."""
    (held.folder / "main.txt").write_text(CORRECTED)


def other_key(held: Held) -> None:
    """The key of the split is another one, and all published hashes are that of the new key."""
    held.change("tracks", "lists", "key_sha256", value=OTHER)
    document = json.loads((held.folder / "split.json").read_text())
    (held.folder / "split.json").write_text(json.dumps({**document, "key_sha256": OTHER}))


def rechained(held: Held, index: int, **changes: Any) -> None:
    """Change a line of the log, and compute all heads again."""
    lines = [json.loads(line) for line in (held.folder / "log.jsonl").read_text().splitlines()]
    lines[index - 1] |= changes
    chain(lines)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (held.folder / "log.jsonl").write_text(text)


def index_of(held: Held) -> int:
    """The event of the commitment."""
    return int(held.document["commitments"][-1]["index"])


def with_opening(held: Held, before: str, after: str) -> None:
    """The organiser invents another opening, and publishes its hash everywhere."""
    text = (held.folder / "commitment.txt").read_text().replace(before, after)
    (held.folder / "commitment.txt").write_text(text)
    held.change("commitments", 0, "sha256", value=hashlib.sha256(text.encode()).hexdigest())


def change(*keys: str | int, value: object) -> Callable[[Held], None]:
    """A change of commitment.json."""
    return lambda held: held.change(*keys, value=value)


TAMPERED: list[tuple[Callable[[Held], object], list[str]]] = [
    (swapped, ["main: the solution is the one that was committed: committed "]),
    (other_file, ["main: main.txt is the solution that was committed: its SHA-256 is "]),
    (
        other_key,
        [
            f'lists: the key of the split is the one that was committed: committed "{KEY_SHA256}", now "000',
            f'the key of split.json is the one that was committed: committed "{KEY_SHA256}", now "{OTHER}"',
        ],
    ),
    (
        change("tracks", "lists", "key_sha256", value=OTHER),
        ["the key of the split of lists has the SHA-256 of the document: ", "lists: the key of the split is the one"],
    ),
    (
        change("tracks", "main", "rules", "ties", value="order"),
        ['main: the rule ties is the one that was committed: committed "trec", now "order", and the document has'],
    ),
    (change("tracks", "main", "items", value=OTHER), ["main: the list of items is the one that was committed: "]),
    (
        change("tracks", "main", value={"key_sha256": None}),
        ['main: what the board is based on is published: the document lacks "solution", "items", "rules"'],
    ),
    (
        change("tracks", "main", "phases", 0, "end", value="2027-01-21T00:00:00+00:00"),
        ['main: the list of phases is the one that was committed: committed [{"end": "2027-01-20'],
    ),
    (
        change("tracks", "main", "rescheduled", value=[13]),
        [
            "and no others: event 13 has the kind reveal, expected phases or extension",
            "main: the list of phases is the one that was committed: the document says that event 13 changed it",
        ],
    ),
    (change("tracks", value={}), ["the key of the split of lists", "lists: the board is", "main: the board is"]),
    (
        change("receipts", value=OTHER),
        ["the key of receipts is that of the document: ", "of this key of receipts: receipts: the opening has "],
    ),
    (change("challenge", value="Other"), ['challenge: the opening has "Live", the document "Other"']),
    (
        change("commitments", 0, "sha256", value=OTHER),
        [
            "the opening has the SHA-256 of the commitment: ",
            "the event has another index, kind, SHA-256, opening or time",
        ],
    ),
    (
        change("commitments", 0, "index", value=1),
        ["event 1 has the kind phases, expected commitment", "the leaf of the published event is "],
    ),
    (
        change("commitments", 0, "index", value=99),
        ["event 5 has the kind commitment, and the document does not have it"],
    ),
    (change("nonce", value="0" * 32), ["in its event: the leaf of the published event is "]),
    (change("event", value="{}"), ["in its event: the leaf of the published event is "]),
    (
        lambda held: with_opening(held, '"decimals":4', '"decimals":3'),
        ["has another index, kind, SHA-256, opening or time", "lists: the rule decimals", "main: the rule decimals"],
    ),
    (
        lambda held: rechained(held, index_of(held), leaf=OTHER),
        ["the log has this opening in its event: the leaf of the published event is "],
    ),
    (lambda held: rechained(held, index_of(held), kind="team"), ["has the kind team, expected commitment"]),
    (
        lambda held: rechained(held, index_of(held) + 1, kind="commitment"),
        ["has the kind commitment, and the document does not have it; if the log is newer than the document"],
    ),
]


@pytest.mark.parametrize(("change", "messages"), TAMPERED)
def test_each_change_is_found(held: Held, change: Callable[[Held], object], messages: list[str]) -> None:
    """Each line that fails says what differs; the others are ok."""
    change(held)

    found = failed(held.verify_all())

    assert len(found) == len(messages), found
    assert all(message in line for message, line in zip(messages, found, strict=True)), found


def test_every_changed_byte_of_the_opening_is_found(held: Held) -> None:
    """By its SHA-256."""
    file = held.folder / "commitment.txt"
    original = file.read_bytes()
    for place in range(0, len(original), 23):
        changed = bytearray(original)
        changed[place] ^= 1
        file.write_bytes(bytes(changed))

        first = failed(held.verify("--opening", file))[0]
        sha256 = hashlib.sha256(changed).hexdigest()
        differs = f"its SHA-256 is {sha256}, the commitment is {held.sha256}"
        assert first == f"the opening has the SHA-256 of the commitment: {differs}"


def test_a_solution_of_an_unknown_track_is_found(held: Held) -> None:
    """Nothing was committed for it."""
    (line,) = failed(held.verify_all("--solution", f"other={held.folder / 'main.txt'}"))

    assert line == 'other: main.txt is the solution that was committed: nothing was committed for a track "other"'


# Other documents


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda held: held.write(""), "commitment.json: not JSON: "),
        (change("version", value=2), 'commitment.json: found version "2", expected 1'),
        (change("commitments", value=[]), "commitment.json: commitments: expected at least one"),
        (change("commitments", value=1), "commitment.json: commitments: expected a list of objects"),
        (change("commitments", 0, "sha256", value=1), "commitment.json: sha256: expected a text of"),
        (change("commitments", 0, "index", value=0), "commitment.json: index: expected a whole"),
        (change("commitments", 0, "index", value=True), "commitment.json: index: expected a whole"),
        (change("tracks", value=[]), "commitment.json: tracks: expected an object"),
        (change("tracks", "main", value=1), "commitment.json: tracks: expected an object"),
        (change("errata", value={}), "commitment.json: errata: expected a list of objects"),
        (
            change("errata", value=[{"track": "main", "number": 1, "index": 1}]),
            "commitment.json: changed: expected a list",
        ),
        (change("nonce", value="1"), "commitment.json: nonce: expected a text of the form"),
        (change("receipts", value=None), "commitment.json: receipts: expected a text of the form"),
        (lambda held: (held.folder / "commitment.txt").write_text("x"), "commitment.txt: expected the opening of a"),
        (
            lambda held: (held.folder / "commitment.txt").write_bytes(b"\xff"),
            "commitment.txt: expected the opening of a",
        ),
        (
            lambda held: (held.folder / "commitment.txt").write_text('scorer-commitment-v1\n{"tracks":{"main":{}}}'),
            "commitment.txt: tracks: expected the rules and the split of each track",
        ),
        (
            lambda held: (held.folder / "commitment.txt").write_text("scorer-commitment-v1\n{}"),
            "commitment.txt: tracks: expected an object for each track",
        ),
        (lambda held: (held.folder / "main.txt").unlink(), "main.txt: cannot be read: No such file or directory"),
        (lambda held: (held.folder / "split.json").write_text("[]"), "split.json: expected a JSON object"),
    ],
)
def test_another_document_is_reported(held: Held, change: Callable[[Held], object], message: str) -> None:
    """What was expected, in one line, without a traceback."""
    change(held)

    answer = held.verify_all()

    assert (answer.code, message in answer.err, answer.err.count("\n")) == (1, True, 1), answer.err


def test_a_solution_is_named_with_its_track(held: Held) -> None:
    """Otherwise the message has an example."""
    answer = held.verify("--solution", "solution.txt")

    assert (answer.code, "expected TRACK=FILE, as in main=solution.txt" in answer.err) == (2, True)


def test_documents_that_are_newer_than_the_log_are_to_be_looked_at_again(tmp_path: Path, terminal: Terminal) -> None:
    """A receipt is signed before the next render, so nobody is accused of having dropped its event."""
    live = whole(tmp_path / "live")
    held = Held.of(live.folder / "site", tmp_path / "held", terminal)
    log, receipt = held.folder / "log.jsonl", tmp_path / "receipt.txt"
    receipt.write_text(live.receipt("main/amber/1.txt"))
    index = json.loads(receipt.read_text().splitlines()[0])["index"]
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[: index - 1]))

    found = terminal.run("verify", "receipt", receipt, "--key", held.folder / "receipts.pem", "--log", log)
    assert (found.code, failed(found)) == (4, [])
    ends = f"the log ends with event {index - 1}, and was published before event {index}: download it again later"
    assert ends in found.out

    log.write_text("".join(lines[:4]))
    found = held.verify_all()
    assert (found.code, failed(found)) == (4, [])
    assert found.out.count("later   ") == 2
