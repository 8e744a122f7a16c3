"""Invitations of many people at once: who gets a link, what the record has of them, and tables that are wrong."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from scorer.organising import teams
from scorer.organising.teams import InvalidTokenError, folder_called, redeem
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.commands import Answer, here
from tests.live_challenges import Live

PEOPLE = """\
Timestamp,Team name,Your e-mail address,Comment
2027-01-02,amber,Ann@example.org,"likes ""lists"", and more"
2027-01-02,birch,bob@example.org,
2027-01-03,amber,cem@example.org,
2027-01-03,birch,bob@example.org,twice
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A challenge whose service has an address."""
    live = Live.graded(tmp_path / "live")
    toml = live.folder / "challenge.toml"
    toml.write_text(f'{toml.read_text()}\n[site]\nservice = "https://example.org/c/"\n')
    return live.folder


def invite(folder: Path, table: str | bytes = PEOPLE, *more: str) -> Answer:
    """Call the command with a table."""
    path = folder.parent / "people.csv"
    path.write_bytes(table.encode() if isinstance(table, str) else table)
    return here("teams", "invite-all", path, "-o", folder.parent / "merge.csv", *more, "-C", folder)


def links(folder: Path) -> dict[tuple[str, str], str]:
    """The links of the file by team and address."""
    with (folder.parent / "merge.csv").open(newline="") as file:
        return {(row["team"], row["address"]): row["link"] for row in csv.DictReader(file)}


def use(folder: Path, link: str) -> str:
    """Open a link; return the team."""
    with Store.open(read_challenge(folder).database_address) as store:
        return redeem(store, link.partition("#")[2])[0]


def test_a_second_call_makes_links_for_who_has_not_signed_in(folder: Path) -> None:
    """The links of the others end, and the list of teams says who has signed in."""
    made = invite(folder, PEOPLE, "--expires", "2099-01-01T00:00:00Z")
    assert made.code == 0, made
    assert made.out.endswith("merge.csv: 3 new links; keep the file private\n")
    first = links(folder)
    assert list(first) == [("amber", "Ann@example.org"), ("birch", "bob@example.org"), ("amber", "cem@example.org")]
    assert all(link.startswith("https://example.org/c/invite#invite_") for link in first.values())
    assert (folder.parent / "merge.csv").stat().st_mode & 0o777 == 0o600
    assert (folder.parent / "merge.csv").read_text().count(",2099-01-01 00:00\n") == 3
    assert use(folder, first["amber", "Ann@example.org"]) == "amber"

    again = invite(folder, f"{PEOPLE}2027-01-04,cedar,ann@example.org,\n".replace("Ann@", "ann@"))
    assert again.out.endswith("merge.csv: 3 new links; 1 signed in before; keep the file private\n")
    second = links(folder)
    assert list(second) == [("birch", "bob@example.org"), ("amber", "cem@example.org"), ("cedar", "ann@example.org")]
    with pytest.raises(InvalidTokenError):
        use(folder, first["birch", "bob@example.org"])
    assert use(folder, second["birch", "bob@example.org"]) == "birch"
    assert here("teams", "token", "cedar", "-C", folder).code == 0  # by hand, which is no sign-in
    teams = json.loads(here("teams", "list", "--format", "json", "-C", folder).out)["teams"]
    assert {team["team"]: bool(team["signed_in"]) for team in teams} == {"amber": True, "birch": True, "cedar": False}


def test_no_address_is_in_the_record_or_on_the_site(folder: Path) -> None:
    """Also not in a file next to the database."""
    assert invite(folder).code == 0
    assert here("run", "--executor", "serial", folder).code == 0
    for path in (each for each in folder.rglob("*") if each.is_file()):
        assert b"example.org/c" in path.read_bytes() or b"@example.org" not in path.read_bytes(), path
        assert b"bob@" not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("", r"people\.csv:1: no column for the team among no heads; call it \"team\""),
        ("name,mail\na,b@c\n", r"people\.csv:1: no column for the team among \"name\", \"mail\"; call it \"team\""),
        ("team,mail,e-mail\n", r"people\.csv:1: 2 columns for the address among"),
        ("team,address\n", r"people\.csv: has no rows below its header"),
        ("team,address\n,a@b\namber,\n", r"people\.csv:2: has no team\n.*people\.csv:3: has no address"),
        ("team,address\namber,a b@c\n", r"people\.csv:2: found \"a b@c\" as the address; expected one, as in"),
        ("team,address\n../x,a@b\n.y,c@d\n", r"people\.csv:2: \"\.\./x\" cannot be .*\n.*people\.csv:3: \"\.y\""),
        ('team,address\n"amber,a@b\n', r"people\.csv: is no CSV file"),
        (b"team,address\n\xff,a@b\n", r"people\.csv: is not UTF-8 text"),
    ],
)
def test_a_table_that_is_wrong_records_nothing(folder: Path, table: str | bytes, message: str) -> None:
    """Each wrong row has a line of the message, and no file is written."""
    answer = invite(folder, table)
    assert answer.code == 1
    assert re.search(message, answer.err), answer.err
    assert not (folder.parent / "merge.csv").exists()
    assert json.loads(here("teams", "tokens", "--format", "json", "-C", folder).out)["tokens"] == []


def test_the_file_of_links_is_private(folder: Path) -> None:
    """One that others can read is refused, and nothing is recorded; so is a time that has passed."""
    merge = folder.parent / "merge.csv"
    merge.write_text("old")
    merge.chmod(0o644)
    answer = invite(folder)
    assert (answer.code, merge.read_text()) == (1, "old")
    assert "merge.csv: other users can read it; name a new file, or run `chmod 600 " in answer.err
    merge.chmod(0o600)
    people = folder.parent / "people.csv"
    people.chmod(0o600)
    for output, why in ((people, "is the table that is read"), (folder, "is a folder")):
        answer = here("teams", "invite-all", people, "-o", output, "-C", folder)
        assert (answer.code, answer.err) == (1, f"{output}: {why}; name a new file\n")
    assert people.read_text() == PEOPLE
    assert "has passed" in invite(folder, PEOPLE, "--expires", "2020-01-01T00:00:00Z").err
    assert invite(folder).code == 0
    assert here("teams", "invite-all", folder.parent / "people.csv", "-C", folder).code == 2
    wrong = invite(folder, PEOPLE, "--server", "example.org/c")
    assert (wrong.code, 'found "example.org/c", expected an address that begins with' in wrong.err) == (2, True)
    assert here("teams", "invite", "amber", "-o", merge, "-C", folder).code == 2


@pytest.mark.parametrize("arguments", [("invite", "amber"), ("invite-all", "people.csv", "-o", "merge.csv")])
def test_a_service_without_an_address_needs_one(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """The message names the key that the challenge should have."""
    answer = here("teams", *arguments, "-C", Live.graded(tmp_path / "live").folder)
    text = f"{arguments[0]} needs --server URL, or service in the table [site] of challenge.toml"
    assert (answer.code, text in answer.err) == (2, True)


def test_each_of_thousands_of_people_is_compared_with_few_teams(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is locked meanwhile, so that the service cannot record what arrives."""
    calls = Mock(wraps=folder_called)
    monkeypatch.setattr(teams, "folder_called", calls)
    rows = "".join(f"team {number},{number}@example.org\n" for number in range(3000))
    assert invite(folder, f"team,address\n{rows}Team 2999,x@example.org\n").err.endswith(
        'csv:3002: "Team 2999" reads as the name of another team, team 2999; give that or another name\n'
    )
    assert calls.call_count == 3001
    assert max(len(compared) for (_, compared), _ in calls.call_args_list) == 1


@pytest.mark.parametrize(("place", "why"), [("site", "its files become public"), ("submissions/main", "a run reads")])
def test_links_are_not_written_where_others_read_them(folder: Path, place: str, why: str) -> None:
    """Neither into the site nor among the submissions; nothing is recorded."""
    assert invite(folder).code == 0
    table, target = folder.parent / "people.csv", folder / place / "links.csv"
    answer = here("teams", "invite-all", table, "-o", target, "-C", folder)
    assert answer.code == 1
    assert f"links.csv: {why}" in answer.err
    assert answer.err.endswith("name a path elsewhere\n")
    assert not target.exists()
