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

from scorer.verification.log import KnownHead, verified_log
from tests import second_verifier
from tests.forging import PUBLIC, Forger, answers, forger_of, table
from tests.live_challenges import POOR
from tests.second_verifier import canonical, sha256

pytestmark = pytest.mark.usefixtures("serial")

OTHER = "ab" * 32

Change = Callable[[Forger], object]


def again(change: Change) -> Change:
    """The change, and then all is computed again."""

    def both(forger: Forger) -> None:
        change(forger)
        forger.recompute()

    return both


def arrival(forger: Forger, team: str, number: int = 0) -> Any:
    """The body of the event of an entry."""
    return forger.event("arrival", team, number)["body"]


def dropped(kind: str, team: str = "") -> Change:
    """Without an event."""
    return again(lambda forger: forger.drop(forger.event(kind, team)["index"]))


def in_force(**rules: Any) -> Change:
    """Other rules in the last basis."""
    return again(lambda forger: forger.event("basis", number=-1)["body"]["settings"].update(rules))


def without(*names: str) -> Change:
    """Without members."""
    return lambda forger: [forger.members.pop(f"{PUBLIC}{name}") for name in names]


def of_settings(forger: Forger, change: Callable[[str], str]) -> None:
    """Change challenge.toml."""
    name = "challenge/challenge.toml"
    forger.members[name] = change(forger.members[name].decode()).encode()


# Entries


def the_files_of_two_teams_are_swapped(forger: Forger) -> None:
    """Each has the bytes of the other one."""
    one, other = arrival(forger, "amber"), arrival(forger, "cedar")
    one["digest"], other["digest"] = other["digest"], one["digest"]


def an_entry_is_added(forger: Forger) -> None:
    """With the bytes of another team."""
    body = {**arrival(forger, "birch"), "team": "new", "file": "main/new/1.txt"}
    forger.add(forger.event("arrival", "torn")["index"], "arrival", body)


def decided(kind: str, team: str, number: int = 0, **facts: str) -> Change:
    """One more decision about an entry."""

    def add(forger: Forger) -> None:
        forger.add(26, kind, {key: arrival(forger, team, number)[key] for key in ("file", "digest")} | facts)

    return again(add)


ENTRIES: dict[str, Change] = {
    "an entry is dropped": dropped("arrival", "amber"),
    "a late entry has a forged time": again(
        lambda forger: arrival(forger, "late").update(
            received="2027-01-19T12:00:00.000000+00:00", absent_at="2027-01-18T00:00:00.000000+00:00"
        )
    ),
    "the files of two teams are swapped": again(the_files_of_two_teams_are_swapped),
    "an entry has another team": again(lambda forger: arrival(forger, "cedar", 1).update(team="amber")),
    "an entry has other bytes": again(
        lambda forger: arrival(forger, "amber").update(digest=forger.store("submissions", POOR.encode() + b"q8:x\n"))
    ),
    "an entry is added": again(an_entry_is_added),
    "a withdrawal is dropped": dropped("withdrawal"),
    "a withdrawal is added": decided("withdrawal", "cedar", 1),
    "an amendment is added": decided("amendment", "late", received="2027-01-19T12:00:00+00:00", reason="."),
    "the last entry has another time": again(
        lambda forger: arrival(forger, "cedar", 2).update(received="2027-01-30T05:30:00.000000+00:00")
    ),
}


# Rules and decisions


def the_solution_is_another_one(forger: Forger) -> None:
    """With an erratum."""
    digest = forger.store("solutions", b"q1:1:a|3,b|1,c|1\nq2:1:d|1,e|2\nq3:0:f|2,g|1\nq4:0:a|1\n")
    forger.event("basis", number=-1)["body"]["solution"] = digest


def the_solution_without_erratum_is_another_one(forger: Forger) -> None:
    """Of the other track."""
    digest = forger.store("solutions", b"".join(b"q%d:0:b|1\n" % number for number in range(1, 9)))
    for event in forger.events.values():
        if event["kind"] == "basis" and event["track"] == "lists":
            event["body"]["solution"] = digest


def a_pick_decides(forger: Forger) -> None:
    """As if picks counted."""
    forger.event("basis", number=-1)["body"]["settings"]["entry"] = "picks"
    pick = {key: arrival(forger, "cedar")[key] for key in ("file", "digest")}
    forger.add(26, "pick", {"team": "cedar", "picks": [pick], "source": "organiser", "reason": "."})


def without_errata(change: Callable[[Forger, int], object]) -> Change:
    """The erratum is changed, and on no list."""

    def both(forger: Forger) -> None:
        change(forger, forger.event("erratum")["index"])
        forger.document("commitment.json", lambda document: document.update(errata=[]))

    return again(both)


def a_rule_changes_without_an_erratum(forger: Forger) -> None:
    """All that shows rules is changed, too."""
    for event in forger.events.values():
        if event["kind"] == "basis" and event["track"] == "lists":
            body = deepcopy(event["body"])
    body["settings"]["entry"] = "last"
    forger.add(forger.lines[-1]["index"], "basis", body, "lists")
    forger.document("commitment.json", lambda each: each["tracks"]["lists"]["rules"].update(entry="last"))
    of_settings(forger, lambda text: text.replace('title = "Lists"\n', 'title = "Lists"\nentry = "last"\n'))


RULES: dict[str, Change] = {
    "the solution is another one": again(the_solution_is_another_one),
    "the solution without erratum is another one": again(the_solution_without_erratum_is_another_one),
    "the quota is bent": again(
        lambda forger: forger.event("basis", number=-1)["body"]["settings"]["quota"].update(total=1)
    ),
    "the measure is another one": in_force(primary="P@3"),
    "the last entry counts instead of the best": in_force(entry="last"),
    "a pick decides": again(a_pick_decides),
    "a team becomes a baseline": in_force(baselines=["popular", "amber"]),
    "a team is renamed": again(lambda forger: forger.event("team")["body"]["settings"].update(name="Others")),
    "an extension is dropped": dropped("extension"),
    "a phase ends earlier": again(
        lambda forger: forger.event("phases")["body"]["phases"][0].update(end="2027-01-10T00:30:00+00:00", grace=0)
    ),
    "an erratum is dropped": without_errata(lambda forger, index: forger.drop(index, index + 1)),
    "an erratum is hidden": without_errata(Forger.hide),
    "a rule changes without an erratum": again(a_rule_changes_without_an_erratum),
    "files have another limit": lambda forger: of_settings(
        forger, lambda text: text.replace("[", "[limits]\nline_mb = 15\n\n[", 1)
    ),
}


# The log, the commitment, the split, and receipts


def an_entry_is_said_to_be_a_token(forger: Forger) -> None:
    """The text of such an event is never published."""
    index = forger.event("arrival", "amber")["index"]
    forger.hide(index)
    forger.lines[index - 1]["kind"] = "token"


def the_log_is_truncated(forger: Forger) -> None:
    """By two events."""
    lines = forger.members[f"{PUBLIC}log.jsonl"].splitlines(keepends=True)
    forger.members[f"{PUBLIC}log.jsonl"] = b"".join(lines[:-2])


def the_commitment_is_another_one(forger: Forger) -> None:
    """With its opening, and its hash everywhere."""
    event = forger.event("commitment")
    content = json.loads(event["body"]["opening"].partition("\n")[2])
    content["tracks"]["lists"]["rules"]["list_length"] = 2
    opening = f"scorer-commitment-v1\n{canonical(content)}"
    event["body"] |= {"opening": opening, "sha256": sha256(opening.encode())}
    forger.members[f"{PUBLIC}commitment.txt"] = opening.encode()
    forger.document("commitment.json", lambda each: each["commitments"][-1].update(sha256=event["body"]["sha256"]))


def a_receipt_is_signed_by_nobody(forger: Forger) -> None:
    """With zeros for a signature."""
    rows = forger.rows("receipts.jsonl")
    message, _, _ = rows[0]["receipt"].partition("\n")
    rows[0]["receipt"] = f"{message}\n{base64.b64encode(bytes(64)).decode()}\n"
    forger.members[f"{PUBLIC}receipts.jsonl"] = table(rows)


def split(change: Callable[[Any], object]) -> Change:
    """Another document of the split."""
    return lambda forger: forger.document("lists/split.json", change)


DOCUMENTS: dict[str, Change] = {
    "an entry is not published": again(lambda forger: forger.hide(forger.event("arrival", "amber")["index"])),
    "an entry is said to be a token": again(an_entry_is_said_to_be_a_token),
    "the log is truncated": the_log_is_truncated,
    "a withdrawal is not published": again(
        lambda forger: forger.hide(next(line["index"] for line in forger.lines if line["kind"] == "withdrawal"))
    ),
    "the commitment is another one": again(the_commitment_is_another_one),
    "the split has other queries": split(
        lambda document: document["queries"]["rest"].append(document["queries"]["preliminary"].pop())
    ),
    "the split has another key": split(
        lambda document: document.update(key=OTHER, key_sha256=sha256(bytes.fromhex(OTHER)))
    ),
    "a receipt is signed by nobody": a_receipt_is_signed_by_nobody,
}


# What the record says exists, and nothing else


def a_track_is_left_out(forger: Forger) -> None:
    """With its rules."""
    for name in [name for name in forger.members if "lists" in name or "split" in name]:
        del forger.members[name]
    of_settings(forger, lambda text: text.partition("[tracks.lists]")[0])


def a_board_is_added(forger: Forger) -> None:
    """A copy of another one."""
    for end in ("json", "csv"):
        forger.members[f"{PUBLIC}grand/leaderboard.{end}"] = forger.members[f"{PUBLIC}main/leaderboard.{end}"]


without_overall = without("overall/leaderboard.json", "overall/leaderboard.csv")


def the_overall_ranking_is_left_out_everywhere(forger: Forger) -> None:
    """With its rules."""
    without_overall(forger)
    of_settings(forger, lambda text: re.sub(r"\[overall\][^\[]*\[[^\[]*", "", text, count=1))


MEMBERS: dict[str, Change] = {
    "a track is left out": a_track_is_left_out,
    "the overall ranking is left out": without_overall,
    "the overall ranking is left out everywhere": the_overall_ranking_is_left_out_everywhere,
    "the commitment is left out": without("commitment.json", "commitment.txt"),
    "a board is added": a_board_is_added,
}

FOUND = ENTRIES | RULES | DOCUMENTS | MEMBERS
"""What the archive shows."""

LEFT_TO_SCORER = {"the overall ranking is left out everywhere"}
"""The specification says nothing about the rules of the overall ranking."""


def every_nonce_is_another_one(forger: Forger) -> None:
    """No hash of an event is that of before."""
    for number, row in enumerate(forger.opened.values()):
        row["nonce"] = f"{number:032x}"


def a_withdrawn_entry_vanishes(forger: Forger) -> None:
    """With its withdrawal and its result."""
    body = forger.event("withdrawal")["body"]
    entry = next(
        each for each in forger.events.values() if each["kind"] == "arrival" and body.items() <= each["body"].items()
    )
    forger.drop(entry["index"], forger.event("withdrawal")["index"])
    forger.members["tables/result.jsonl"] = b""


KEPT: dict[str, Change] = {
    "every nonce is another one": again(every_nonce_is_another_one),
    "a reason is another one": again(
        lambda forger: forger.event("extension")["body"].update(reason="Somebody wished it.")
    ),
    "a withdrawn entry vanishes": again(a_withdrawn_entry_vanishes),
    "an event was recorded at another time": again(
        lambda forger: forger.event("team").update(at="2027-01-13T12:00:00.000000+00:00")
    ),
}
"""What is found by nobody but those who kept a head: the archive fits itself."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    """The archive of a challenge."""
    return forger_of(tmp_path_factory.mktemp("original"), '[overall]\ntracks = ["main", "lists"]\n')


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


SOME = {name for group in (ENTRIES, RULES, DOCUMENTS, MEMBERS) for name in [*group][::2]}
"""Those that `make test` tries: every second of each group."""


@pytest.mark.parametrize(
    "name", [name if name in SOME else pytest.param(name, marks=pytest.mark.endurance) for name in FOUND]
)
def test_the_archive_shows_it(name: str, original: Forger, tmp_path: Path) -> None:
    """Both programs find it, without anything that was kept."""
    forger = deepcopy(original)
    FOUND[name](forger)

    by_scorer, by_second = answers(forger.sealed(), tmp_path / "a.zip")

    assert by_scorer
    assert by_second or name in LEFT_TO_SCORER


@pytest.mark.parametrize("name", KEPT)
def test_a_head_shows_it(name: str, original: Forger, tmp_path: Path) -> None:
    """The archive fits itself, so only who kept a head finds another history."""
    forger = deepcopy(original)
    KEPT[name](forger)

    assert answers(forger.sealed(), tmp_path / "a.zip") == ([], [])
    by_scorer, by_second = answers(forger.sealed(), tmp_path / "a.zip", original.head)
    assert by_scorer
    assert by_second


HIDDEN = ("withdrawal", "team", "basis", "extension", "reveal", "phases", "commitment")


@pytest.mark.parametrize(
    "kind", ["arrival", "erratum", *(pytest.param(kind, marks=pytest.mark.endurance) for kind in HIDDEN)]
)
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
    assert all(answers(forger.sealed(), tmp_path / "a.zip", original.head))


def test_missing_bytes_name_the_entry(original: Forger, tmp_path: Path) -> None:
    """Whoever left out the bytes of the winner has to say whose."""
    forger = deepcopy(original)
    del forger.members[f"submissions/{arrival(forger, 'amber')['digest']}"]

    by_scorer, _ = answers(forger.sealed(), tmp_path / "a.zip")

    assert 'missing: "main/amber/1.txt", "main/late/1.txt"' in by_scorer[0] or '"main/amber/1.txt"' in by_scorer[0]
