"""A dishonest organiser changes a public archive, and computes again all that has to fit: two programs find it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from scorer.organising.derivation import verified_challenge
from scorer.scoring.executors import base
from scorer.verification.log import KnownHead, verified_log
from tests import second_verifier
from tests.forging import PUBLIC, Forger, encoded, forger_of, sha256, table
from tests.live_challenges import POOR
from tests.second_verifier import problems

OTHER = "ab" * 32

Change = Callable[[Forger], object]

KEPT: dict[str, Change] = {}
"""What is found by nobody but those who kept a head: the archive fits itself."""

FOUND: dict[str, Change] = {}
"""What the archive shows."""


def found(change: Change) -> Change:
    """A change that the archive shows."""
    FOUND[change.__name__] = change
    return change


def kept(change: Change) -> Change:
    """A change that only a head shows that was kept."""
    KEPT[change.__name__] = change
    return change


def again(change: Change) -> Change:
    """The change, and then all is computed again."""

    def both(forger: Forger) -> None:
        change(forger)
        forger.recompute()

    both.__name__ = change.__name__
    return both


# Entries


@found
@again
def an_entry_is_dropped(forger: Forger) -> None:
    """An entry is dropped."""
    forger.drop(forger.event("arrival", "amber")["index"])


@found
@again
def a_late_entry_has_a_forged_time(forger: Forger) -> None:
    """A late entry has a forged time."""
    body = forger.event("arrival", "late")["body"]
    body |= {"received": "2027-01-19T12:00:00.000000+00:00", "absent_at": "2027-01-18T00:00:00.000000+00:00"}


@found
@again
def the_files_of_two_teams_are_swapped(forger: Forger) -> None:
    """The files of two teams are swapped."""
    one, other = forger.event("arrival", "amber")["body"], forger.event("arrival", "cedar")["body"]
    one["digest"], other["digest"] = other["digest"], one["digest"]


@found
@again
def an_entry_has_another_team(forger: Forger) -> None:
    """An entry has another team."""
    forger.event("arrival", "cedar", 1)["body"]["team"] = "amber"


@found
@again
def an_entry_has_other_bytes(forger: Forger) -> None:
    """An entry has other bytes."""
    body = forger.event("arrival", "amber")["body"]
    body["digest"] = forger.store("submissions", POOR.encode() + b"q8:x\n")


@found
@again
def an_entry_is_added(forger: Forger) -> None:
    """An entry is added."""
    body = forger.event("arrival", "birch")["body"]
    forger.add(forger.event("arrival", "torn")["index"], "arrival", {**body, "team": "new", "file": "main/new/1.txt"})


@found
@again
def a_withdrawal_is_dropped(forger: Forger) -> None:
    """A withdrawal is dropped."""
    forger.drop(forger.event("withdrawal")["index"])


@found
@again
def a_withdrawal_is_added(forger: Forger) -> None:
    """A withdrawal is added."""
    body = forger.event("arrival", "cedar", 1)["body"]
    forger.add(26, "withdrawal", {key: body[key] for key in ("file", "digest")})


@found
@again
def an_amendment_is_added(forger: Forger) -> None:
    """An amendment is added."""
    body = {key: forger.event("arrival", "late")["body"][key] for key in ("file", "digest")}
    forger.add(26, "amendment", {**body, "received": "2027-01-19T12:00:00+00:00", "reason": "."})


@found
@again
def the_last_entry_has_another_time(forger: Forger) -> None:
    """The last entry has another time."""
    forger.event("arrival", "cedar", 2)["body"]["received"] = "2027-01-30T05:30:00.000000+00:00"


# Rules and decisions


@found
@again
def the_solution_is_another_one(forger: Forger) -> None:
    """The solution is another one."""
    digest = forger.store("solutions", b"q1:1:a|3,b|1,c|1\nq2:1:d|1,e|2\nq3:0:f|2,g|1\nq4:0:a|1\n")
    forger.event("basis", number=-1)["body"]["solution"] = digest


@found
@again
def the_solution_without_erratum_is_another_one(forger: Forger) -> None:
    """The solution without erratum is another one."""
    digest = forger.store("solutions", b"".join(b"q%d:0:b|1\n" % number for number in range(1, 9)))
    for event in forger.events.values():
        if event["kind"] == "basis" and event["track"] == "lists":
            event["body"]["solution"] = digest


@found
@again
def the_quota_is_bent(forger: Forger) -> None:
    """The quota is bent."""
    forger.event("basis", number=-1)["body"]["settings"]["quota"]["total"] = 1


@found
@again
def the_measure_is_another_one(forger: Forger) -> None:
    """The measure is another one."""
    forger.event("basis", number=-1)["body"]["settings"]["primary"] = "P@3"


@found
@again
def the_last_entry_counts_instead_of_the_best(forger: Forger) -> None:
    """The last entry counts instead of the best."""
    forger.event("basis", number=-1)["body"]["settings"]["entry"] = "last"


@found
@again
def a_pick_decides(forger: Forger) -> None:
    """A pick decides."""
    forger.event("basis", number=-1)["body"]["settings"]["entry"] = "picks"
    pick = {key: forger.event("arrival", "cedar", 0)["body"][key] for key in ("file", "digest")}
    forger.add(26, "pick", {"team": "cedar", "picks": [pick], "source": "organiser", "reason": "."})


@found
@again
def a_team_becomes_a_baseline(forger: Forger) -> None:
    """A team becomes a baseline."""
    forger.event("basis", number=-1)["body"]["settings"]["baselines"] = ["popular", "amber"]


@found
@again
def a_team_is_renamed(forger: Forger) -> None:
    """A team is renamed."""
    forger.event("team")["body"]["settings"]["name"] = "Others"


@found
@again
def an_extension_is_dropped(forger: Forger) -> None:
    """An extension is dropped."""
    forger.drop(forger.event("extension")["index"])


@found
@again
def a_phase_ends_earlier(forger: Forger) -> None:
    """A phase ends earlier."""
    forger.event("phases")["body"]["phases"][0]["end"] = "2027-01-10T00:30:00+00:00"
    forger.event("phases")["body"]["phases"][0]["grace"] = 0


@found
@again
def an_erratum_is_dropped(forger: Forger) -> None:
    """An erratum is dropped."""
    index = forger.event("erratum")["index"]
    forger.drop(index, index + 1)
    forger.document("commitment.json", lambda document: document.update(errata=[]))


@found
@again
def an_erratum_is_hidden(forger: Forger) -> None:
    """An erratum is hidden."""
    forger.hide(forger.event("erratum")["index"])
    forger.document("commitment.json", lambda document: document.update(errata=[]))


# The log


@found
@again
def an_entry_is_not_published(forger: Forger) -> None:
    """An entry is not published."""
    forger.hide(forger.event("arrival", "amber")["index"])


@found
@again
def an_entry_is_said_to_be_a_token(forger: Forger) -> None:
    """An entry is said to be a token."""
    index = forger.event("arrival", "amber")["index"]
    forger.hide(index)
    forger.lines[index - 1]["kind"] = "token"


@found
def the_log_is_truncated(forger: Forger) -> None:
    """The log is truncated."""
    lines = forger.members[f"{PUBLIC}log.jsonl"].splitlines(keepends=True)
    forger.members[f"{PUBLIC}log.jsonl"] = b"".join(lines[:-2])


@found
@again
def a_kind_is_another_one(forger: Forger) -> None:
    """A kind is another one."""
    line = next(line for line in forger.lines if line["kind"] == "withdrawal")
    forger.hide(line["index"])


# Commitment, split, receipts


@found
@again
def the_commitment_is_another_one(forger: Forger) -> None:
    """The commitment is another one."""
    event = forger.event("commitment")
    content = json.loads(event["body"]["opening"].partition("\n")[2])
    content["tracks"]["lists"]["rules"]["list_length"] = 2
    opening = f"scorer-commitment-v1\n{encoded(content)}"
    event["body"] |= {"opening": opening, "sha256": sha256(opening.encode())}
    forger.members[f"{PUBLIC}commitment.txt"] = opening.encode()
    forger.document("commitment.json", lambda each: each["commitments"][-1].update(sha256=event["body"]["sha256"]))


@found
def the_split_has_other_queries(forger: Forger) -> None:
    """The split has other queries."""

    def move(document: dict[str, Any]) -> None:
        lists = document["queries"]
        lists["rest"].append(lists["preliminary"].pop())

    forger.document("lists/split.json", move)


@found
def the_split_has_another_key(forger: Forger) -> None:
    """The split has another key."""
    key = {"key": OTHER, "key_sha256": sha256(bytes.fromhex(OTHER))}
    forger.document("lists/split.json", lambda document: document.update(key))


@found
def a_receipt_is_signed_by_nobody(forger: Forger) -> None:
    """A receipt is signed by nobody."""
    rows = forger.rows("receipts.jsonl")
    message, _, _ = rows[0]["receipt"].partition("\n")
    rows[0]["receipt"] = f"{message}\n{base64.b64encode(bytes(64)).decode()}\n"
    forger.members[f"{PUBLIC}receipts.jsonl"] = table(rows)


# What the record says exists, and nothing else


@found
def a_track_is_left_out(forger: Forger) -> None:
    """A track is left out."""
    for name in [name for name in forger.members if "lists" in name or "split" in name]:
        del forger.members[name]
    settings = forger.members["challenge/challenge.toml"].decode().partition("[tracks.lists]")[0]
    forger.members["challenge/challenge.toml"] = settings.encode()


@found
def the_overall_ranking_is_left_out(forger: Forger) -> None:
    """The overall ranking is left out."""
    del forger.members[f"{PUBLIC}overall/leaderboard.json"], forger.members[f"{PUBLIC}overall/leaderboard.csv"]


@found
def the_overall_ranking_is_left_out_everywhere(forger: Forger) -> None:
    """The overall ranking is left out everywhere."""
    the_overall_ranking_is_left_out(forger)
    settings = forger.members["challenge/challenge.toml"].decode()
    start = settings.index("[overall]")
    settings = settings[:start] + settings[settings.index("[", start + 1) :]
    forger.members["challenge/challenge.toml"] = settings.encode()


@found
def the_commitment_is_left_out(forger: Forger) -> None:
    """The commitment is left out."""
    del forger.members[f"{PUBLIC}commitment.json"], forger.members[f"{PUBLIC}commitment.txt"]


@found
def a_board_is_added(forger: Forger) -> None:
    """A board is added."""
    for end in ("json", "csv"):
        forger.members[f"{PUBLIC}grand/leaderboard.{end}"] = forger.members[f"{PUBLIC}main/leaderboard.{end}"]


@found
def files_have_another_limit(forger: Forger) -> None:
    """Files have another limit."""
    settings = forger.members["challenge/challenge.toml"].decode()
    forger.members["challenge/challenge.toml"] = settings.replace("[", "[limits]\nline_mb = 15\n\n[", 1).encode()


@found
@again
def a_rule_changes_without_an_erratum(forger: Forger) -> None:
    """A rule changes without an erratum, and all that shows rules is changed, too."""
    for event in forger.events.values():
        if event["kind"] == "basis" and event["track"] == "lists":
            body = deepcopy(event["body"])
    body["settings"]["entry"] = "last"
    forger.add(forger.lines[-1]["index"], "basis", body, "lists")
    forger.document("commitment.json", lambda each: each["tracks"]["lists"]["rules"].update(entry="last"))
    settings = forger.members["challenge/challenge.toml"].decode()
    settings = settings.replace('title = "Lists"\n', 'title = "Lists"\nentry = "last"\n')
    forger.members["challenge/challenge.toml"] = settings.encode()


# Files and boards


@found
def a_submission_is_missing(forger: Forger) -> None:
    """A submission is missing."""
    del forger.members[f"submissions/{forger.event('arrival', 'amber')['body']['digest']}"]


@found
def a_submission_has_other_bytes(forger: Forger) -> None:
    """A submission has other bytes."""
    forger.members[f"submissions/{forger.event('arrival', 'amber')['body']['digest']}"] += b"\n"


@found
def a_solution_has_other_bytes(forger: Forger) -> None:
    """A solution has other bytes."""
    forger.members[f"solutions/{forger.event('basis')['body']['solution']}"] += b"q5:0:a|1\n"


# What fits itself


@kept
@again
def every_nonce_is_another_one(forger: Forger) -> None:
    """Every nonce is another one."""
    for number, row in enumerate(forger.opened.values()):
        row["nonce"] = f"{number:032x}"


@kept
@again
def a_reason_is_another_one(forger: Forger) -> None:
    """A reason is another one."""
    forger.event("extension")["body"]["reason"] = "Somebody wished it."


@kept
@again
def a_withdrawn_entry_vanishes(forger: Forger) -> None:
    """A withdrawn entry vanishes."""
    body = forger.event("withdrawal")["body"]
    arrival = next(
        each for each in forger.events.values() if each["kind"] == "arrival" and body.items() <= each["body"].items()
    )
    forger.drop(arrival["index"], forger.event("withdrawal")["index"])
    forger.members["tables/result.jsonl"] = b""


@kept
@again
def an_event_was_recorded_at_another_time(forger: Forger) -> None:
    """An event was recorded at another time."""
    forger.event("team")["at"] = "2027-01-13T12:00:00.000000+00:00"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    """The archive of a challenge."""
    return forger_of(tmp_path_factory.mktemp("original"), '[overall]\ntracks = ["main", "lists"]\n')


@pytest.fixture(autouse=True)
def _serial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "Processes", lambda _: base.Serial())


def answers(archive: bytes, path: Path, head: str = "") -> tuple[list[str], list[str]]:
    """What the command and the second program find in an archive."""
    path.write_bytes(archive)
    known = KnownHead(bytes.fromhex(head)) if head else None
    contradictions = [each.contradiction for each in verified_challenge(str(path), known) if each.contradiction]
    return contradictions, problems(path, head)


def test_the_second_program_is_short_and_needs_no_scorer() -> None:
    """It is written from the specification."""
    text = Path(second_verifier.__file__).read_text()

    assert len(text.splitlines()) <= 740
    assert not re.search(r"^\s*(import|from) (scorer|tests)", text, re.MULTILINE)


def test_both_programs_accept_the_archive(original: Forger, tmp_path: Path) -> None:
    """Also after all that can be computed again was computed again."""
    assert answers(original.sealed(), tmp_path / "a.zip", original.head) == ([], [])
    same = deepcopy(original)
    same.recompute()
    assert answers(same.sealed(), tmp_path / "a.zip", original.head) == ([], [])


@pytest.mark.parametrize("name", FOUND)
def test_the_archive_shows_it(name: str, original: Forger, tmp_path: Path) -> None:
    """Both programs find it, without anything that was kept."""
    forger = deepcopy(original)
    FOUND[name](forger)

    by_scorer, by_second = answers(forger.sealed(), tmp_path / "a.zip")

    assert by_scorer
    assert by_second


@pytest.mark.parametrize("name", KEPT)
def test_a_head_shows_it(name: str, original: Forger, tmp_path: Path) -> None:
    """The archive fits itself, so only who kept a head finds another history."""
    forger = deepcopy(original)
    KEPT[name](forger)

    assert answers(forger.sealed(), tmp_path / "a.zip") == ([], [])
    by_scorer, by_second = answers(forger.sealed(), tmp_path / "a.zip", original.head)
    assert by_scorer
    assert by_second


HIDDEN = ("arrival", "withdrawal", "team", "erratum", "basis", "extension", "reveal")


@pytest.mark.parametrize("kind", HIDDEN)
def test_no_event_is_hidden_from_who_kept_a_head(kind: str, original: Forger, tmp_path: Path) -> None:
    """With the kind of an event whose text is not published, a line has another head."""
    forger = deepcopy(original)
    event = forger.event(kind)
    forger.hide(event["index"])
    forger.lines[event["index"] - 1]["kind"] = "token"
    forger.recompute()
    path = tmp_path / "log.jsonl"
    path.write_bytes(forger.members[f"{PUBLIC}log.jsonl"])
    last = original.lines[-1]

    verified = [*verified_log(path, head=KnownHead(bytes.fromhex(last["head"]), last["index"]))]

    (statement,) = [each for each in verified if each.contradiction]
    assert f"an event until {last['index']} was changed, dropped or added" in statement.contradiction
    assert answers(forger.sealed(), tmp_path / "a.zip", original.head)[1]


def test_missing_bytes_name_the_entry(original: Forger, tmp_path: Path) -> None:
    """Whoever left out the bytes of the winner has to say whose."""
    forger = deepcopy(original)
    a_submission_is_missing(forger)

    by_scorer, _ = answers(forger.sealed(), tmp_path / "a.zip")

    assert 'missing: "main/amber/1.txt", "main/late/1.txt"' in by_scorer[0] or '"main/amber/1.txt"' in by_scorer[0]
