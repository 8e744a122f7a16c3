"""Commitments: what is recorded before the start, what it fixes, and what the site publishes before and after."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import signal
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from scorer.errors import ChallengeError, SolutionError
from scorer.organising.doctor import status
from scorer.organising.phases import extend
from scorer.organising.run import plan
from scorer.store.store import Store
from tests.commands import Terminal, process
from tests.committed import COMMITTED, KEY, LISTS, Committed
from tests.databases import rows
from tests.live_challenges import BEFORE, CORRECTED, PHASES, SOLUTION, day, stop_clock
from tests.pages import read
from tests.strategies import some

HOUR = timedelta(hours=1)


@pytest.fixture
def live(tmp_path: Path, place: str) -> Committed:
    """The challenge with its files, on each kind of database; nothing is recorded."""
    return Committed.create(tmp_path / "live", place)


def kinds(live: Committed) -> list[tuple[str, str]]:
    """The track and the kind of each event."""
    return [(event.track, event.kind) for event in live.events()]


def content_of(opening: str) -> dict[str, object]:
    """The content of an opening, read without scorer; a number that is not whole is an error."""

    def refuse(text: str) -> None:
        raise AssertionError(f"a float: {text}")

    first, rest = opening.split("\n", 1)
    assert first == "scorer-commitment-v1"
    content: dict[str, object] = json.loads(rest, parse_float=refuse)
    assert rest == json.dumps(content, sort_keys=True, separators=(",", ":"))
    return content


# What is recorded


def test_a_commitment_records_phases_bases_and_the_opening_at_once(live: Committed) -> None:
    """In this order: the phases of all tracks, what their boards are based on, and the commitment."""
    made = live.commit()

    tracks = ("main", "lists")
    expected = [*((track, "phases") for track in tracks), *((track, "basis") for track in tracks), ("", "commitment")]
    assert kinds(live) == expected
    assert len({event.at for event in live.events()}) == 1
    assert made.index == len(expected)
    assert not made.is_revealed


def test_the_commitment_is_the_sha_256_of_the_opening(live: Committed) -> None:
    """It has the bytes of the solutions, the rules, the phases, the hash of the key, and the key of receipts."""
    made = live.commit()

    content = content_of(made.opening)
    assert made.sha256 == hashlib.sha256(made.opening.encode()).hexdigest()
    assert sorted(content) == ["challenge", "receipts", "salt", "scorer", "tracks"]
    assert content["challenge"] == "Live"
    tracks = content["tracks"]
    assert isinstance(tracks, dict)
    for name, text in (("main", SOLUTION), ("lists", LISTS)):
        assert tracks[name]["solution"] == hashlib.sha256(text.encode()).hexdigest()
        assert tracks[name]["items"] is None
        assert tracks[name]["rules"]["list_length"] == 3
        assert tracks[name]["rules"]["baselines"] == ["popular"]
        assert [phase["name"] for phase in tracks[name]["phases"]] == ["one", "two"]
        assert tracks[name]["phases"][0]["freeze"] == 24 * 3600
    assert tracks["main"]["split"] is None
    key_sha256 = hashlib.sha256(bytes.fromhex(KEY)).hexdigest()
    assert tracks["lists"]["split"] == {"preliminary": "0.5", "key_sha256": key_sha256}
    assert KEY not in made.opening
    assert "split.key" not in made.opening


def test_the_salt_is_an_hmac_of_the_rest(live: Committed) -> None:
    """So it differs for each content, and the secret cannot be computed from it."""
    made = live.commit()
    secret = live.do(day(6), lambda _, store: store.read(lambda view: view.secret("commitment")))

    content = content_of(made.opening)
    salt = content.pop("salt")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert salt == hmac.new(secret, text.encode(), "sha256").hexdigest()


def test_a_repeated_commitment_records_nothing(
    live: Committed, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints the same; another title, which is no rule, is not committed."""
    stop_clock(monkeypatch, COMMITTED)
    first = terminal.run("commit", live.folder)
    recorded = kinds(live)
    live.edit('title = "Main"', 'title = "Other"')

    assert terminal.run("commit", live.folder).out == first.out
    assert first.out.startswith("the commitment has the SHA-256 ")
    assert kinds(live)[: len(recorded)] == recorded
    assert [kind for _, kind in kinds(live)].count("commitment") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda live: live.write_solution(CORRECTED),
        lambda live: live.edit("list_length = 3", "list_length = 2"),
        lambda live: live.edit("2027-01-30", "2027-01-29"),
        lambda live: live.edit('name = "Live"', 'name = "Life"'),
        lambda live: (live.folder / "split.key").write_text(f"{2:064}\n"),
    ],
    ids=["solution", "rule", "phase", "challenge", "key"],
)
def test_before_the_start_a_changed_challenge_is_committed_again(
    live: Committed, change: Callable[[Committed], None]
) -> None:
    """With another salt, so that nobody can see that only little changed."""
    first = live.commit()
    change(live)
    second = live.commit(COMMITTED + HOUR)

    assert second.index > first.index
    assert second.sha256 != first.sha256
    assert content_of(second.opening)["salt"] != content_of(first.opening)["salt"]
    assert live.commit(COMMITTED + 2 * HOUR) == second


def test_all_events_of_a_commitment_are_recorded_or_none(live: Committed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the announcement of the second track is refused."""
    live.run(BEFORE)
    before = kinds(live)
    live.write_solution(CORRECTED)
    text = (live.folder / "challenge.toml").read_text()
    first, second = text.split("[tracks.lists]")
    (live.folder / "challenge.toml").write_text(f"{first}[tracks.lists]{second.replace('2027-01-10', '2027-01-02')}")

    with pytest.raises(ChallengeError, match="the changed phase one starts in the past"):
        live.commit()
    assert kinds(live) == before


# Refusals


def refused(live: Committed, at: datetime = COMMITTED) -> str:
    """The message of a commitment that is refused and records nothing."""
    before = kinds(live)
    with pytest.raises((ChallengeError, SolutionError)) as error:
        live.commit(at)
    assert kinds(live) == before
    return str(error.value)


def test_every_track_needs_phases(live: Committed) -> None:
    """The message has the table to add."""
    text = (live.folder / "challenge.toml").read_text()
    (live.folder / "challenge.toml").write_text(text.replace(PHASES.format(name="lists"), ""))

    assert refused(live) == (
        "tracks.lists.phases: is missing; a challenge is committed before its start, so every track needs phases; add "
        "a table [[tracks.lists.phases]]"
    )
    assert advised(live, COMMITTED) == []


@pytest.mark.parametrize("was_committed", [True, False])
def test_a_challenge_is_committed_before_its_start(live: Committed, was_committed: bool) -> None:
    """At the first second of the first phase it is too late; the message has the command that changes it then."""
    live.run(BEFORE)
    if was_committed:
        live.commit()
    start = day(10, 0)

    message = refused(live, start)

    assert message == (
        "main: the phase one started at 2027-01-10 00:00:00 UTC; a challenge is committed before its start; "
        "`scorer erratum preview` changes a solution or a rule afterwards"
    )
    assert live.commit(start - timedelta(microseconds=1)).sha256


def with_key(key: str) -> Callable[[Committed], None]:
    """A change that adds a key to the track, which names a file with one line."""
    return lambda live: live.edit('solution = "solutions/main', f'{key} = "ids.txt"\nsolution = "solutions/main')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda live: live.write_solution("no solution\n"), "solutions/main.txt"),
        (lambda live: (live.folder / "solutions" / "main.txt").unlink(), "solutions/main.txt: no such file"),
        (lambda live: (live.folder / "split.key").unlink(), "split.key: there is no such file"),
        (lambda live: live.edit("0.5", "0.000001"), "tracks.lists.split: selects no query of 8"),
        (with_key("queries"), "ids.txt: lacks 3 queries of the solution"),
        (with_key("items"), "ids.txt"),
    ],
    ids=["solution", "missing", "key", "share", "queries", "items"],
)
def test_files_are_validated_as_a_run_does(
    live: Committed,
    place: str,
    change: Callable[[Committed], None],
    message: str,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is committed that a run could not score by."""
    stop_clock(monkeypatch, COMMITTED)
    if "lacks" in message:
        (live.folder / "ids.txt").write_text("q1\n")
    Store.open(place).close()
    change(live)

    answer = terminal.run("commit", live.folder)

    assert (answer.code, answer.out) == (1, "")
    assert message in answer.err
    assert rows(place, "SELECT count(*) FROM event") == [(0,)]


# What is fixed


def test_runs_go_on_by_what_is_committed(live: Committed) -> None:
    """Also before the start. The run says what differs, and another commitment changes it."""
    live.commit()
    live.write_solution(CORRECTED)
    live.edit("list_length = 3", "list_length = 2")
    live.chosen = "main"

    notes = live.do(day(7), lambda challenge, store: plan(store, challenge, challenge.track("main")).notes)
    assert notes == (
        "main: list_length, solution differ from the committed rules, by which runs go on; restore the files, or "
        "commit again before the start with `scorer commit`",
    )
    live.arrive()
    scored = live.board(day(11))
    assert scored.track.list_length == 3
    assert [row.team.folder for row in scored.rows if row.rank == 1] == ["amber"]


def test_another_commitment_changes_the_rules(live: Committed) -> None:
    """From then on, runs go on by these."""
    live.commit()
    live.write_solution(CORRECTED)
    live.commit(COMMITTED + HOUR)
    live.arrive()

    assert [row.team.folder for row in live.board(day(11)).rows if row.rank == 1] == ["birch"]


def test_a_track_that_was_added_later_follows_its_files_until_the_start(live: Committed) -> None:
    """It is not committed to."""
    settings = live.folder / "challenge.toml"
    one, other = settings.read_text().split("[tracks.lists]")
    settings.write_text(one)
    live.commit()
    settings.write_text(f"{one}[tracks.lists]{other}")
    live.run(day(7))
    settings.write_text(f"{one}[tracks.lists]{other.replace('list_length = 3', 'list_length = 2')}")
    live.run(day(8))

    live.chosen = "lists"
    assert live.board(day(8)).track.list_length == 2
    assert live.board(day(11)).track.list_length == 2


def test_an_erratum_is_for_the_time_after_the_start(live: Committed) -> None:
    """Before, the message names the command to use."""
    live.commit()
    live.write_solution(CORRECTED)

    with pytest.raises(ChallengeError, match="before the start, `scorer commit` commits to the changed files"):
        live.preview(day(7))
    live.run(day(10))
    assert live.preview(day(10)).summary


def test_phases_cannot_be_removed_from_a_committed_challenge(live: Committed) -> None:
    """Without phases it would never start."""
    live.commit()
    text = (live.folder / "challenge.toml").read_text()
    (live.folder / "challenge.toml").write_text(text.replace(PHASES.format(name="main"), 'stage = "final"\n'))

    with pytest.raises(ChallengeError, match=r"^tracks\.main\.phases: is missing, but the challenge is committed"):
        live.run(day(7))


# What the site publishes


def test_after_the_reveal_the_site_has_the_opening(live: Committed) -> None:
    """Its bytes have the committed SHA-256, and the boards are based on it; the timeline links the files."""
    made = live.commit()
    live.arrive()
    live.run(day(31))
    live.reveal(day(31))
    site = live.rendered(day(31, 13))

    assert hashlib.sha256((site / "commitment.txt").read_bytes()).hexdigest() == made.sha256
    document, committed = live.document(), content_of(made.opening)["tracks"]
    assert document["revealed"] is True
    assert isinstance(committed, dict)
    for name in ("main", "lists"):
        assert {key: document["tracks"][name][key] for key in ("solution", "items", "rules")} == {
            key: committed[name][key] for key in ("solution", "items", "rules")
        }
    assert json.loads(document["event"])["body"] == {"sha256": made.sha256, "opening": made.opening}

    found = [each for each in live.timeline(day(31, 13)).happenings if not each.track]

    assert [(each.kind, each.at, each.text, each.link) for each in found] == [
        ("revealed", day(31), "Commitment revealed", "commitment.txt"),
        ("committed", COMMITTED, "Solutions, rules and keys committed", "commitment.json"),
    ]
    assert {each.detail for each in found} == {f"SHA-256: {made.sha256}"}
    live.rendered(day(31, 13))
    for file in ("timeline.html", "feed.xml"):
        assert 'href="commitment.json"' in live.page(file)


def test_errata_are_listed_with_what_they_changed(live: Committed) -> None:
    """With their events; during a freeze only those from before it."""
    live.commit()
    live.arrive()
    live.write_solution(CORRECTED)
    live.edit("list_length = 3", "list_length = 2")
    live.preview(day(12))
    live.apply(day(12))
    live.rendered(day(13))

    (index,) = (event.index for event in live.events("erratum") if event.values["state"] == "applied")
    assert live.document()["errata"] == [
        {"track": "main", "number": 1, "index": index, "changed": ["list_length", "solution"]}
    ]


def test_before_the_reveal_the_site_has_only_hashes(live: Committed) -> None:
    """No file has the opening, the salt, the SHA-256 of a solution, or the key. Every site has the key of receipts."""
    live.run(BEFORE)
    site = live.rendered(BEFORE)

    assert (site / "receipts.pem").read_text().startswith("-----BEGIN PUBLIC KEY-----\n")
    assert not (site / "commitment.json").exists()
    assert "commitment.json" not in live.page("verification.html")

    first = live.commit()
    live.write_solution(CORRECTED)
    last = live.commit(COMMITTED + HOUR)
    live.rendered(COMMITTED + HOUR)

    page = read(live.page("verification.html"))
    shown = [code.words() for code in page.all("code") if code.attributes.get("class") == "commitment"]
    assert shown == [last.sha256, first.sha256]
    assert f"--sha256 {last.sha256}" in page.words()
    links = {link.attributes.get("href") for link in page.all("a")}
    assert {"commitment.json", "receipts.pem", "log.jsonl"} <= links
    assert "commitment.txt" not in links

    live.arrive()
    site = live.rendered(day(11))

    document = live.document()
    assert [(each["sha256"], each["index"]) for each in document["commitments"]] == [
        (first.sha256, first.index),
        (last.sha256, last.index),
    ]
    assert document["revealed"] is False
    assert document["tracks"]["main"] == {"key_sha256": None}
    assert list(document["tracks"]["lists"]) == ["key_sha256"]
    assert not (site / "commitment.txt").exists()
    content = content_of(last.opening)
    secrets = [str(content["salt"]), KEY]
    secrets += [hashlib.sha256(text.encode()).hexdigest() for text in (SOLUTION, CORRECTED, LISTS)]
    for path in (each for each in site.rglob("*") if each.is_file()):
        text = path.read_bytes()
        assert not [secret for secret in secrets if secret.encode() in text], path


# scorer reveal


def test_a_reveal_publishes_keys_and_the_commitment(
    live: Committed, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once; repeated, it says so and records nothing."""
    made = live.commit()
    live.arrive()
    live.run(day(31))
    stop_clock(monkeypatch, day(31))
    key = hashlib.sha256(bytes.fromhex(KEY)).hexdigest()

    first, second = (terminal.run("reveal", "--challenge", live.folder) for _ in range(2))

    assert first.out == (
        f"lists: the key with the SHA-256 {key} is revealed; `scorer render` publishes it\n"
        f"the commitment with the SHA-256 {made.sha256} is revealed; `scorer render` publishes it\n"
    )
    assert second.out == first.out.replace("is revealed; `scorer render` publishes it", "was revealed before")
    assert [event.values for event in live.events("reveal")] == [{"split_key": KEY}, {"commitment": made.sha256}]
    assert kinds(live)[-2:] == [("lists", "reveal"), ("", "reveal")]


def advised(live: Committed, at: datetime) -> list[str]:
    """The commands that publish, among those that `scorer status` names."""
    lines = [line.removeprefix("next: ") for line in live.do(at, status)]
    return [line.partition(":")[0] for line in lines if line.startswith(("`scorer commit", "`scorer reveal"))]


def test_the_commitment_is_not_revealed_before_all_tracks_are_over(live: Committed) -> None:
    """One ends later than the other one. Nothing is revealed then, not even a key; --track reveals only the key.

    The state of the challenge names what can be committed to and revealed.
    """
    assert advised(live, COMMITTED) == ["`scorer commit`"]
    live.commit()
    live.arrive()
    assert advised(live, COMMITTED) == []
    live.do(day(26), lambda challenge, store: extend(challenge, store, "main", "two", day(31), "a reason"))
    live.run(day(30))
    assert advised(live, day(30)) == ["`scorer reveal --track lists`"]

    with pytest.raises(ChallengeError) as error:
        live.reveal(day(30))
    assert str(error.value) == (
        "main: is open until 2027-01-31 12:00:00 UTC; the opening of the commitment would show the SHA-256 of its "
        "solution; reveal it when all tracks show final scores, or only the key of a track with --track"
    )
    assert live.events("reveal") == []
    (only,) = live.reveal(day(30), ["lists"])
    assert (only.track, only.is_new) == ("lists", True)
    assert advised(live, day(30)) == []
    assert advised(live, day(31)) == ["`scorer reveal`"]
    keys, commitment = live.reveal(day(31))
    assert advised(live, day(31)) == []
    assert (keys.is_new, commitment.track, commitment.is_new) == (False, "", True)


def test_a_track_that_always_shows_final_scores_must_be_over_too(tmp_path: Path) -> None:
    """Otherwise its solution could be guessed from its SHA-256 while it is open."""
    live = Committed.graded(tmp_path / "live")
    live.write_solution(SOLUTION.replace(":1:", ":0:"))
    live.commit()
    live.run(day(26))

    with pytest.raises(ChallengeError, match=r"^main: is open until 2027-01-30 00:00:00 UTC"):
        live.reveal(day(26))
    (revealed,) = live.reveal(day(30))
    assert revealed.is_new


def test_the_only_track_reveals_the_commitment_with_its_name(tmp_path: Path) -> None:
    """As without a name."""
    live = Committed.graded(tmp_path / "live")
    made = live.commit()

    assert [each.sha256 for each in live.reveal(day(31), ["main"])] == [made.sha256]


# Kills

KILLED = """
import os, signal
from datetime import datetime
from scorer.cli import main
from scorer.store.store import Store
now = datetime.fromisoformat(os.environ["NOW"])
Store.open.__kwdefaults__["clock"] = lambda: now
number, when = int(os.environ["WRITE"]), os.environ["WHEN"]
write = Store._write
def killed(self, *arguments, **options):
    global number
    number -= 1
    if number == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, *arguments, **options)
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
Store._write = killed
main()
"""
"""Runs a command with a stopped clock, and kills it before or after one of its transactions."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each command, a challenge in which it has something to do."""
    folder = tmp_path_factory.mktemp("kills")
    live = Committed.create(folder / "commit")
    live.run(BEFORE)
    live.write_solution(CORRECTED)
    shutil.copytree(live.folder, folder / "reveal")
    other = Committed(folder / "reveal")
    other.commit()
    other.arrive()
    other.run(day(31))
    return {"commit": folder / "commit", "reveal": folder / "reveal"}


COMMANDS = {"commit": (["commit"], COMMITTED, 3), "reveal": (["reveal", "--challenge"], day(31), 1)}
"""Each command, its time, and how many transactions it has."""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize(
    ("name", "write", "when"),
    some(
        [
            (*step, when)
            for step in (("commit", 1), ("commit", 2), ("commit", 3), ("reveal", 1))
            for when in ("before", "after")
        ],
        ("commit", 3, "after"),
        ("reveal", 1, "before"),
    ),
)
def test_a_killed_and_repeated_command_writes_the_same_log(
    name: str,
    write: int,
    when: str,
    prepared: dict[str, Path],
    tmp_path: Path,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one that was never killed. It is killed before and after each of its transactions."""
    arguments, now, _ = COMMANDS[name]
    shutil.copytree(prepared[name], tmp_path / "killed")
    shutil.copytree(prepared[name], tmp_path / "twin")
    environment = {"NOW": now.isoformat(), "WRITE": str(write), "WHEN": when}
    killed = process(*arguments, tmp_path / "killed", program=KILLED, environment=environment)
    assert killed.code == -signal.SIGKILL, killed.err

    stop_clock(monkeypatch, now)
    answers = [terminal.run(*arguments, tmp_path / folder) for folder in ("killed", "twin")]

    assert [answer.code for answer in answers] == [0, 0], answers[0].err
    logs = [Committed(tmp_path / folder).log() for folder in ("killed", "twin")]
    assert logs[0] == logs[1]
    assert len(logs[0]) > len(Committed(prepared[name]).log())


def test_the_number_of_transactions_is_the_tested_one(
    prepared: dict[str, Path], tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a kill before and after each of them is tested."""
    for name, (arguments, now, writes) in COMMANDS.items():
        shutil.copytree(prepared[name], tmp_path / name)
        count = 0
        with monkeypatch.context() as patch:
            stop_clock(patch, now)
            original = Store._write

            def counted(self: Store, *given: object, original: object = original, **options: object) -> None:
                nonlocal count
                count += 1
                original(self, *given, **options)  # type: ignore[operator]

            patch.setattr(Store, "_write", counted)
            assert terminal.run(*arguments, tmp_path / name).code == 0
        assert count == writes, name
