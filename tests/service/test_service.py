"""The service: what it accepts, what it refuses, and what it says; on SQLite and PostgreSQL."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from scorer.board.site.folder import listed_files
from scorer.errors import ChallengeError, StoreError
from scorer.files.writing import part_of
from scorer.live.entry import SERVICE
from scorer.organising.doctor import examine
from scorer.organising.files import move
from scorer.organising.phases import extend
from scorer.organising.teams import InvalidTokenError, issue, redeem, revoke
from scorer.rules.teams import token_digest
from scorer.service.accepting import RefusedError
from scorer.service.state import Service
from scorer.store.store import Store
from tests.commands import here
from tests.live_challenges import BEFORE, GOOD, OTHER, POOR, SOLUTION, Live, day
from tests.served import Served, at_place, repr_digest, served

HOUR = timedelta(hours=1)

QUOTA = "quota = {per_day = 3, rejected_per_day = 2}\n"


@pytest.fixture
def challenge_served(place: str, tmp_path: Path) -> Iterator[Served]:
    """The challenge of `Live.graded`, in its first phase, on SQLite or PostgreSQL."""
    with served(at_place(Live.graded(tmp_path / "live"), place)) as found:
        yield found


@pytest.fixture
def here_served(tmp_path: Path) -> Iterator[Served]:
    """The same, on SQLite."""
    with served(Live.graded(tmp_path / "live")) as found:
        yield found


def problem(answer: object) -> str:
    """The code of a refusal."""
    assert answer.headers["content-type"] == "application/problem+json"  # type: ignore[attr-defined]
    document = answer.json()  # type: ignore[attr-defined]
    assert document["status"] == answer.status_code  # type: ignore[attr-defined]
    assert document["detail"]
    return str(document["code"])


class TestAccepting:
    """What becomes of a file that is accepted."""

    def test_an_accepted_file_is_an_event_and_a_file(self, challenge_served: Served) -> None:
        answer = challenge_served.put("amber", GOOD)
        assert answer.status_code == 201
        document = answer.json()
        assert document["state"] == "received"
        assert document["sha256"] == hashlib.sha256(GOOD.encode()).hexdigest()
        (event,) = challenge_served.live.events("arrival")
        assert (event.index, event.values["source"]) == (document["index"], SERVICE)
        assert document["id"] not in event.text  # the record becomes public, and an id is the sender's
        assert event.values["received"] == "2027-01-11T12:00:00.000000+00:00"
        file = f"amber/20270111T120000Z-{event.index:06}.txt"
        assert challenge_served.files() == [file]
        assert challenge_served.live.path(file).read_text() == GOOD
        for name in (document["id"], event.values["delivery"], event.index):
            assert challenge_served.entry("amber", name)["outcome"] == "waiting"
        challenge_served.run(day(11, 13))
        entry = challenge_served.entry("amber", event.index)
        assert (entry["state"], entry["scores"]["preliminary"]["nDCG@3"]) == ("scored", 1.0)
        assert "final" not in entry["scores"]

    def test_the_receipt_verifies(self, here_served: Served, tmp_path: Path) -> None:
        here_served.put("brass", POOR)
        receipt = tmp_path / "receipt.txt"
        receipt.write_text(here_served.put("amber", GOOD).json()["receipt"], encoding="ascii")
        here_served.run()
        here_served.live.render(here_served.now)
        site = here_served.live.folder / "site"
        answer = here("verify", "receipt", receipt, "--key", site / "receipts.pem", "--log", site / "log.jsonl")
        assert answer.code == 0, answer.err
        (folder,) = (path for path in [tmp_path / "all"])
        assert here("receipt", "--challenge", here_served.live.folder, "--all", folder).code == 0
        assert receipt.read_text() in [path.read_text() for path in folder.rglob("*.txt")]

    def test_the_same_delivery_again_is_the_same_entry(self, challenge_served: Served) -> None:
        """An id of another team says nothing."""
        delivery = str(uuid.uuid4())
        first = challenge_served.put("amber", GOOD, delivery)
        again = challenge_served.put("amber", GOOD, delivery.upper())
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()
        conflict = challenge_served.put("amber", POOR, delivery)
        assert (conflict.status_code, problem(conflict)) == (409, "conflict")
        assert len(challenge_served.files()) == len(challenge_served.live.events("arrival")) == 1
        assert challenge_served.put("brass", POOR, delivery).status_code == 201

    def test_many_deliveries_at_once_are_each_accepted_once(self, challenge_served: Served) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: challenge_served.accept(f"team-{number % 4}", f"q1:a{number}\n"), range(24)))
        events = challenge_served.live.events("arrival")
        assert len({event.values["file"] for event in events}) == 24 == len(challenge_served.files())

    def test_of_many_at_once_a_quota_accepts_what_is_left(self, place: str, tmp_path: Path) -> None:
        """Entries without an outcome are counted as used."""
        live = at_place(Live.graded(tmp_path / "live", rules=QUOTA), place)
        with served(live) as found:

            def handed_in(number: int) -> str:
                try:
                    found.accept("amber", f"{GOOD}# {number}\n")
                except RefusedError as error:
                    return error.code
                return "accepted"

            with ThreadPoolExecutor(4) as pool:  # which wait for one connection, and not for long on a slow machine
                outcomes = list(pool.map(handed_in, range(60)))
        assert outcomes.count("accepted") == 2  # the limit of rejected files may be reached by open ones
        assert outcomes.count("quota") == 58

    def test_what_cannot_be_read_at_all_is_refused_and_takes_nothing_of_the_quota(self, tmp_path: Path) -> None:
        """By its beginning; a list with an error is an entry, as before."""
        with served(Live.graded(tmp_path / "live", rules="quota = {per_day = 3, rejected_per_day = 1}\n")) as found:
            for content in (
                "<!DOCTYPE html>\n<p>a:b\n",
                "version https://git-lfs.github.com/spec/v1\noid a\n",
                "[1]\n",
            ):
                refused = found.put("amber", content)
                assert (refused.status_code, problem(refused)) == (400, "invalid")
                assert refused.json()["detail"].startswith("the file cannot be read: found ")
            assert found.live.events("arrival") == []
            assert found.files() == []
            assert {limit["used"] for limit in found.get("amber", "/quota").json()["limits"]} == {0}
            assert found.put("amber", f"{GOOD}no list\n").status_code == 201

    @pytest.mark.parametrize("first", [True, False])
    def test_the_same_bytes_of_another_team_make_no_accepted_file_one_too_many(
        self, tmp_path: Path, first: bool
    ) -> None:
        """What a team withdrew before it was scored takes no place, also if another team hands in the same file."""
        with served(Live.graded(tmp_path / "live", rules="quota = {per_day = 2}\n")) as found:
            if first:
                found.accept("amber", GOOD)
            index = found.accept("brass", GOOD).index
            assert found.client.delete(
                f"/api/v1/tracks/main/entries/{index}", headers=found.headers("brass")
            ).is_success
            for text in (POOR, OTHER):
                found.accept("brass", text)
            if not first:
                found.accept("amber", GOOD)
            found.run()
            entries = found.live.entries(found.now)
            assert {entry.admission for entry in entries.all} == {"ok"}
            (limit,) = found.get("brass", "/quota").json()["limits"]
            assert (limit["used"], limit["left"]) == (2, 0)

    def test_a_challenge_with_a_quota_says_what_is_left_and_when_it_begins_again(self, tmp_path: Path) -> None:
        with served(Live.graded(tmp_path / "live", rules="quota = {per_day = 3}\n")) as found:
            for number in range(3):
                assert found.put("amber", GOOD.replace("c", f"c{number}")).status_code == 201
            refused = found.put("amber", POOR)
            assert (refused.status_code, problem(refused)) == (429, "quota")
            document = refused.json()
            assert (document["limit"], document["used"], document["resets_at"]) == (3, 3, "2027-01-12T00:00:00Z")
            (limit,) = found.get("amber", "/quota").json()["limits"]
            assert (limit["left"], limit["resets_at"]) == (0, "2027-01-12T00:00:00Z")
            assert found.put("brass", POOR).status_code == 201
            found.run()
            assert found.put("amber", POOR).status_code == 429
            found.now = day(12, 0)
            assert found.put("amber", POOR).status_code == 201
            found.run()
            assert {entry["state"] for entry in found.get("amber", "/entries").json()["entries"]} == {"scored"}


class TestTimes:
    """When files are accepted."""

    def test_a_phase_receives_from_its_start_to_the_end_of_its_grace(self, here_served: Served) -> None:
        closed = day(20, 0) + HOUR
        for moment in (day(9, 23, 59, 59), closed, day(22), day(30, 0)):
            here_served.now = moment
            answer = here_served.put("amber", GOOD)
            assert (answer.status_code, problem(answer)) == (403, "closed")
            if closed <= moment < day(25, 0):  # it says when phases close and open
                times = answer.json()["closed_at"], answer.json()["opens_at"]
                assert times == ("2027-01-20T01:00:00Z", "2027-01-25T00:00:00Z")
        assert here_served.files() == []
        for moment in (day(10, 0), closed - timedelta(microseconds=1), day(25, 0)):
            here_served.now = moment
            assert here_served.put("amber", GOOD).status_code == 201

    def test_a_late_board_receives_by_the_same_door(self, tmp_path: Path) -> None:
        """Once the last phase has closed: the entry has a score and no rank, and takes no place of the quota."""
        rules = "late_board = true\nquota = {per_day = 1, total = 1}\n"
        with served(Live.graded(tmp_path / "live", rules=rules)) as found:
            first = found.put("amber", POOR).json()["index"]
            found.now = day(22)
            assert problem(found.put("amber", GOOD)) == "closed"
            found.now = day(30, 0)
            late = [found.put("amber", text).json()["index"] for text in (GOOD, OTHER)]
            entry = found.entry("amber", late[0])
            assert (entry["state"], entry["outcome"], entry["scores"]) == ("late", "waiting", {})
            found.run()
            entry = found.entry("amber", late[0])
            assert (entry["state"], entry["outcome"], entry["scores"]["final"]["nDCG@3"]) == ("late", "scored", 1.0)
            assert (entry["rank"], entry["counts"], entry["may_withdraw"]) == (None, False, False)
            assert found.entry("amber", first)["counts"]
            board = found.live.board(found.now)
            assert [row.entry and row.entry.index for row in (*board.rows, *board.late)] == [first, late[0]]

    @pytest.mark.parametrize("hours", [-1, 1])
    def test_a_clock_that_is_set_changes_no_order(self, here_served: Served, hours: int) -> None:
        first = here_served.put("amber", GOOD).json()["index"]
        here_served.now += hours * HOUR
        second = here_served.put("amber", POOR).json()["index"]
        here_served.run(day(11, 14))
        entries = here_served.get("amber", "/entries").json()["entries"]
        assert [entry["index"] for entry in entries] == [first, second]
        assert {entry["state"] for entry in entries} == {"scored"}

    def test_an_extension_by_the_organiser_is_in_force_at_once(self, here_served: Served) -> None:
        here_served.now = day(20, 0, 30)
        extend(here_served.live.challenge, here_served.store, "main", "one", day(21, 0), "the server was down")
        here_served.now = day(20, 23)
        assert here_served.put("amber", GOOD).status_code == 201


REFUSED_BODIES = {
    "empty": (b"", {}, 400, "invalid"),
    "a form": (b"a=b", {"Content_Type": "application/x-www-form-urlencoded"}, 415, "unsupported"),
    "parts": (b"--x", {"Content_Type": "multipart/form-data; boundary=x"}, 415, "unsupported"),
    "an encoding": (b"x", {"Content_Encoding": "gzip"}, 415, "unsupported"),
    "another digest": (b"x", {"Repr_Digest": repr_digest(b"y")}, 400, "invalid"),
    "a solution": (SOLUTION.encode(), {}, 403, "of-a-solution"),
    "too large": (b"x" * 1_000_001, {}, 413, "too-large"),
}


class TestRefusing:
    """What is refused, and that it leaves nothing."""

    def test_a_body(self, tmp_path: Path) -> None:
        """One without a length is refused at the limit."""
        live = Live.graded(tmp_path / "live")
        live.edit('name = "Live"\n', 'name = "Live"\nlimits = {file_mb = 1}\n')
        taken = 0

        def endless() -> Iterator[bytes]:
            nonlocal taken
            while taken < 100_000_000:
                taken += 65_536
                yield b"x" * 65_536

        with served(live) as found:
            for name, (body, headers, status, code) in REFUSED_BODIES.items():
                answer = found.put("amber", body, **headers)
                assert (answer.status_code, problem(answer)) == (status, code), name
            path = f"/api/v1/tracks/main/entries/{uuid.uuid4()}"
            assert found.client.put(path, content=endless(), headers=found.headers("amber")).status_code == 413
            assert found.files() == []
            assert found.live.events("arrival") == []
            assert found.put("amber", b"x", Repr_Digest="sha-256=:%%%:").status_code == 201  # no digest

    def test_an_address(self, here_served: Served) -> None:
        assert problem(here_served.put("amber", GOOD, "not-a-uuid")) == "invalid"
        unknown = here_served.put("amber", GOOD, track="mian")
        assert (unknown.status_code, problem(unknown)) == (404, "not-found")

    def test_more_files_than_a_team_may_have(self, tmp_path: Path) -> None:
        live = Live.graded(tmp_path / "live")
        live.edit('name = "Live"\n', 'name = "Live"\nlimits = {files_per_team = 2}\n')
        with served(live) as found:
            first = found.put("amber", GOOD).json()["index"]
            assert found.put("amber", POOR).status_code == 201
            assert problem(found.put("amber", OTHER)) == "too-many-files"
            address = f"/api/v1/tracks/main/entries/{first}"
            assert found.client.delete(address, headers=found.headers("amber")).status_code == 200
            assert found.put("amber", OTHER).status_code == 201

    def test_a_database_that_fails_is_503_and_leaves_what_may_be_recorded(
        self, here_served: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        headers = here_served.headers("amber")
        delivery = str(uuid.uuid4())

        def fail(*_: object) -> None:
            raise StoreError("main: /secret/place is in use")

        with monkeypatch.context() as patch:
            patch.setattr(Store, "record", fail)
            answer = here_served.put("amber", GOOD, delivery)
        assert (answer.status_code, problem(answer)) == (503, "unavailable")
        assert "secret" not in answer.text
        assert here_served.live.events("arrival") == []
        assert here_served.put("amber", GOOD, delivery).status_code == 201
        assert headers

    def test_too_many_requests(self, here_served: Served) -> None:
        here_served.service.rates.burst = 3.0
        here_served.service.rates.clock = lambda: 0.0
        here_served.service.rates._left.clear()
        headers = here_served.headers("amber")
        answers = [here_served.client.get("/api/v1/tracks/main/entries", headers=headers) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert problem(answers[-1]) == "too-fast"
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert here_served.get("brass", "/entries").status_code == 200


class TestTokens:
    """Tokens and invitations."""

    @pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic eDp5", "Bearer é"])
    def test_without_a_valid_token_nothing_is_said(self, here_served: Served, header: str | None) -> None:
        headers = {} if header is None else {b"Authorization": header.encode("utf-8")}
        for method, path in (
            ("PUT", f"entries/{uuid.uuid4()}"),
            ("GET", "entries"),
            ("GET", "quota"),
            ("PUT", "picks"),
        ):
            answer = here_served.client.request(method, f"/api/v1/tracks/main/{path}", headers=headers, content=b"x")
            assert (answer.status_code, problem(answer)) == (401, "unauthorised")
            assert answer.headers["www-authenticate"] == "Bearer"

    def test_a_token_ends(self, here_served: Served) -> None:
        token = here_served.tokens["amber"] = issue(here_served.store, "amber", "token")
        with pytest.raises(ChallengeError, match="names no"):
            revoke(here_served.store, "x" * 12)
        assert revoke(here_served.store, token_digest(token)[:12]).team == "amber"
        assert here_served.get("amber", "/entries").status_code == 401

        here_served.tokens["amber"] = issue(here_served.store, "amber", "token", expires=here_served.now + HOUR)
        assert here_served.get("amber", "/entries").status_code == 200
        here_served.now += HOUR
        assert here_served.get("amber", "/entries").status_code == 401

    def test_an_invitation_is_exchanged_once(self, challenge_served: Served) -> None:
        invitation = issue(challenge_served.store, "amber", "invitation", "for Monday")
        challenge_served.tokens["amber"] = invitation
        assert challenge_served.get("amber", "/entries").status_code == 401
        answer = challenge_served.client.post("/api/v1/token", json={"invitation": invitation})
        assert (answer.status_code, answer.json()["team"]) == (201, "amber")
        challenge_served.tokens["amber"] = answer.json()["token"]
        assert challenge_served.get("amber", "/entries").status_code == 200
        again = challenge_served.client.post("/api/v1/token", json={"invitation": invitation})
        assert (again.status_code, problem(again)) == (401, "unauthorised")

    def test_an_invitation_that_many_open_at_once_gives_one_token(self, challenge_served: Served) -> None:
        invitation = issue(challenge_served.store, "amber", "invitation")

        def redeemed(_: int) -> bool:
            try:
                redeem(challenge_served.store, invitation)
            except InvalidTokenError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(redeemed, range(16))) == 1

    def test_the_record_and_the_files_have_no_token(self, here_served: Served) -> None:
        invitation = issue(here_served.store, "brass", "invitation")
        _, token = redeem(here_served.store, invitation)
        here_served.put("amber", GOOD)
        here_served.run()
        here_served.live.render(here_served.now)
        secrets = [invitation, token, here_served.tokens["amber"]]
        contents = [path.read_bytes() for path in here_served.live.folder.rglob("*") if path.is_file()]
        assert not [secret for secret in secrets for content in contents if secret.encode() in content]
        hashes = [token_digest(secret) for secret in secrets]
        site = [path.read_bytes() for path in (here_served.live.folder / "site").rglob("*") if path.is_file()]
        assert not [value for value in hashes for content in site if value.encode() in content]

    def test_names_of_new_teams(self, here_served: Served) -> None:
        issue(here_served.store, "Amber Owls", "token")
        for name in ("", ".hidden", "a/b", "a\\b", "..", " x", "x\n", "\u202eabc", "a" * 201, "amber owls"):
            with pytest.raises(ChallengeError):
                issue(here_served.store, name, "token")

    def test_the_commands(self, here_served: Served) -> None:
        folder = here_served.live.folder
        made = here("teams", "token", "amber", "--label", "laptop", "-C", folder)
        assert made.code == 0
        token = made.out.strip()
        assert token.startswith("scorer_")
        invited = here("teams", "invite", "brass", "--server", "https://example.org/c/", "-C", folder)
        assert invited.out.startswith("https://example.org/c/invite#invite_")
        assert here("teams", "invite", "brass", "-C", folder).code == 2
        listed = json.loads(here("teams", "tokens", "-C", folder, "--format", "json").out)["tokens"]
        assert [(row["team"], row["use"], row["state"], row["label"]) for row in listed] == [
            ("amber", "token", "valid", "laptop"),
            ("brass", "invitation", "valid", ""),
        ]
        assert here("teams", "revoke", listed[0]["token"], "-C", folder).code == 0
        assert here("teams", "revoke", "0000", "-C", folder).code == 1
        listed = json.loads(here("teams", "tokens", "-C", folder, "--format", "json").out)["tokens"]
        assert [row["state"] for row in listed] == ["revoked", "valid"]


class TestOtherTeams:
    """What a team learns of others."""

    def test_what_belongs_to_another_team_is_not_found(self, here_served: Served) -> None:
        document = here_served.put("amber", GOOD).json()
        here_served.run()
        for name in (document["id"], str(document["index"])):
            path = f"/api/v1/tracks/main/entries/{name}"
            headers = here_served.headers("brass")
            answers = [
                here_served.client.get(path, headers=headers),
                here_served.client.get(f"{path}/receipt", headers=headers),
                here_served.client.delete(path, headers=headers),
                here_served.client.put("/api/v1/tracks/main/picks", headers=headers, json={"entries": [name]}),
            ]
            unknown = here_served.client.get("/api/v1/tracks/main/entries/999", headers=headers)
            assert {answer.status_code for answer in answers} == {404}
            assert {answer.text for answer in answers} == {unknown.text}
        assert here_served.get("brass", "/entries").json() == {"entries": []}
        assert "amber" not in here_served.client.get("/api/v1/events", headers=here_served.headers("brass")).text

    def test_a_team_sees_its_events_and_the_public_ones(self, here_served: Served) -> None:
        here_served.put("amber", GOOD)
        here_served.put("brass", POOR)
        answer = here_served.client.get("/api/v1/events", headers=here_served.headers("amber"))
        events = [json.loads(line) for line in answer.text.splitlines()]
        assert [event["kind"] for event in events] == ["phases", "arrival"]
        since = here_served.client.get(
            f"/api/v1/events?since={events[-1]['index']}", headers=here_served.headers("amber")
        )
        assert since.text == ""


class TestWithdrawing:
    """Withdrawals over the interface."""

    def test_a_withdrawal_is_recorded_and_the_file_is_gone(self, challenge_served: Served) -> None:
        index = challenge_served.put("amber", GOOD).json()["index"]
        challenge_served.run()
        path = f"/api/v1/tracks/main/entries/{index}"
        answer = challenge_served.client.delete(path, headers=challenge_served.headers("amber"))
        assert (answer.status_code, answer.json()["state"]) == (200, "withdrawn")
        assert challenge_served.files() == []
        challenge_served.run(day(11, 14))
        assert challenge_served.entry("amber", index)["state"] == "withdrawn"
        assert challenge_served.client.delete(path, headers=challenge_served.headers("amber")).status_code == 200
        assert len(challenge_served.live.events("withdrawal")) == 1

    def test_it_wins_over_the_folder(self, here_served: Served) -> None:
        """A file that a mirror of the folder brings back stays withdrawn; another content is a new entry."""
        here_served.live.put("amber/1.txt", GOOD, here_served.now)
        here_served.run()
        (entry,) = here_served.get("amber", "/entries").json()["entries"]
        path = f"/api/v1/tracks/main/entries/{entry['index']}"
        assert here_served.client.delete(path, headers=here_served.headers("amber")).status_code == 200
        here_served.live.put("amber/1.txt", GOOD, here_served.now)
        here_served.run(day(11, 13))
        assert here_served.entry("amber", entry["index"])["state"] == "withdrawn"
        here_served.live.put("amber/1.txt", POOR, here_served.now)
        here_served.run(day(11, 14))
        states = [entry["state"] for entry in here_served.get("amber", "/entries").json()["entries"]]
        assert states == ["superseded", "scored"]

    def test_after_the_close_of_the_phase_an_entry_stays(self, here_served: Served) -> None:
        index = here_served.put("amber", GOOD).json()["index"]
        here_served.run(day(21))
        answer = here_served.client.delete(f"/api/v1/tracks/main/entries/{index}", headers=here_served.headers("amber"))
        assert (answer.status_code, problem(answer)) == (403, "too-late")
        assert here_served.entry("amber", index)["state"] == "scored"
        assert len(here_served.files()) == 1


class TestPicks:
    """Picks over the interface."""

    @pytest.fixture
    def picking(self, tmp_path: Path) -> Iterator[Served]:
        with served(Live.graded(tmp_path / "live", rules='entry = "picks"\npicks = 1\n')) as found:
            yield found

    def test_a_team_picks_and_clears(self, picking: Served) -> None:
        first, second = (picking.put("amber", text).json() for text in (GOOD, POOR))
        picking.run()
        address, headers = "/api/v1/tracks/main/picks", picking.headers("amber")
        assert picking.client.put(address, headers=headers, json={"entries": [second["id"]]}).json() == {
            "entries": [second["index"]]
        }
        too_many = picking.client.put(address, headers=headers, json={"entries": [first["index"], second["index"]]})
        assert (too_many.status_code, problem(too_many)) == (400, "invalid")
        assert picking.client.get(address, headers=headers).json() == {"entries": [second["index"]]}
        assert picking.client.put(address, headers=headers, json={"entries": []}).json() == {"entries": []}
        for body in (b"", b"[]", b'{"entries": 1}', b'{"entries": [[]]}', b"[" * 50_000):
            assert picking.client.put(address, headers=headers, content=body).status_code == 400


def doctor(challenge: Served) -> str:
    """What `scorer doctor` says about the files of the challenge."""
    return " ".join(
        problem for _, problems in examine(challenge.live.challenge, challenge.store) for problem in problems
    )


class TestScans:
    """Scans of the folder."""

    def test_a_scan_records_nothing_of_what_was_handed_in(self, challenge_served: Served) -> None:
        challenge_served.put("amber", GOOD)
        challenge_served.live.put("brass/1.txt", POOR, challenge_served.now)
        for hour in (13, 14):
            challenge_served.run(day(11, hour))
        assert [event.values["source"] for event in challenge_served.live.events("arrival")] == ["service", "folder"]
        assert challenge_served.live.events("withdrawal", "return") == []

    def test_a_lost_file_is_restored_from_the_kept_bytes_or_reported(self, here_served: Served) -> None:
        """It is not withdrawn."""
        index = here_served.put("amber", GOOD).json()["index"]
        here_served.put("brass", POOR)
        here_served.run()
        here_served.live.path(file := here_served.files()[0]).unlink()
        assert f"main/{file}: is handed in and missing; `scorer run` restores it" in doctor(here_served)
        assert not here_served.live.run(day(11, 14)).warnings
        assert here_served.live.path(file).read_text() == GOOD
        here_served.live.path(file).unlink()
        shutil.rmtree(here_served.live.folder / "scores.db.submissions")
        assert f"main/{file}: is handed in and missing; restore it from a backup" in doctor(here_served)
        work = here_served.live.run(day(11, 14))
        assert [warning for warning in work.warnings if "was handed in, and its file is missing" in warning]
        assert here_served.entry("amber", index)["state"] == "scored"
        assert here_served.live.events("withdrawal") == []

    def test_a_changed_file_is_refused_and_the_entry_stays(self, here_served: Served) -> None:
        index = here_served.put("amber", GOOD).json()["index"]
        here_served.run()
        here_served.live.path(here_served.files()[0]).write_text(POOR)
        work = here_served.live.run(day(11, 14))
        assert ["has other bytes than the file that was handed in" in str(each) for each in work.scanned.skipped] == [
            True
        ]
        assert "handed in, and is skipped; delete it, and `scorer run` restores it" in doctor(here_served)
        assert here_served.entry("amber", index)["state"] == "scored"
        assert len(here_served.live.events("arrival")) == 1

    def test_the_folder_without_the_record_gives_the_same_scores(self, here_served: Served, tmp_path: Path) -> None:
        """Without the record, as after its loss."""
        for team, text in (("amber", POOR), ("amber", GOOD), ("brass", OTHER)):
            here_served.put(team, text)
            here_served.now += HOUR
        here_served.run()
        other = Live.graded(tmp_path / "other", rules="trusted_times = true\n")
        other.run(BEFORE)
        for file in here_served.files():
            other.put(file, here_served.live.path(file).read_text(), here_served.now)
        other.run(here_served.now)
        mine, theirs = here_served.live.board(here_served.now), other.board(here_served.now)
        assert [(row.team.folder, row.rank, row.entry and row.entry.preliminary) for row in mine.rows] == [
            (row.team.folder, row.rank, row.entry and row.entry.preliminary) for row in theirs.rows
        ]


@pytest.mark.parametrize("way", ["a run", "a start", "the same delivery"])
def test_a_delivery_that_was_killed_before_its_file_had_its_name_is_completed(here_served: Served, way: str) -> None:
    """The event is recorded: the next run, the next start and the same delivery again complete it."""
    delivery = str(uuid.uuid4())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scorer.service.accepting.move", lambda *_: Path("/none").stat())
        assert here_served.put("amber", GOOD, delivery).status_code == 503
    assert [file.startswith(".incoming/") for file in here_served.files()] == [True]
    assert len(here_served.live.events("arrival")) == 1

    if way == "a start":
        Service.open(here_served.live.challenge, here_served.store)
    elif way == "the same delivery":
        assert here_served.put("amber", GOOD, delivery).status_code == 200
    else:
        here_served.run()

    assert any(file.startswith("amber/20270111T120000Z-") for file in here_served.files())
    here_served.run()
    assert here_served.entry("amber", delivery)["state"] == "scored"


class TestSecrets:
    """What no answer tells."""

    def test_the_answers_do_not_depend_on_hidden_grades(self, tmp_path: Path) -> None:
        """Of the queries that are not preliminary."""
        texts = []
        for name, grades in (("one", SOLUTION), ("two", SOLUTION.replace("f|2,g|1", "f|1,g|3"))):
            live = Live.graded(tmp_path / name)
            live.write_solution(grades)
            with served(live) as found:
                index = found.put("amber", OTHER, "00000000-0000-4000-8000-000000000000").json()["index"]
                found.run()
                found.live.render(found.now)
                paths = (f"/entries/{index}", "/entries", "/quota", "/picks")
                delivery = found.entry("amber", index)["id"]  # by a key of the database
                texts.append([found.get("amber", path).text.replace(delivery, "") for path in paths])
        assert texts[0] == texts[1]

    def test_each_entry_has_the_rank_of_its_row(self, tmp_path: Path) -> None:
        """Where entries are rows: that on the board, and the team has the best of its ranks."""
        with served(Live.graded(tmp_path, rules='rows = "entry"\n')) as found:
            for team, text in (("amber", POOR), ("birch", OTHER), ("amber", GOOD)):
                found.put(team, text)
            found.run()
            found.live.render(found.now)
            entries = found.get("amber", "/entries").json()["entries"]
            rows = json.loads(found.live.page("main/leaderboard.json"))["rows"]
            ranks = {row["id"].partition(".")[2]: row["rank"] for row in rows}
            assert [entry["rank"] for entry in entries] == [ranks[str(entry["index"])] for entry in entries]
            assert {entry["rank_of_team"] for entry in entries} == {1}
            assert all(entry["counts"] for entry in entries)

    def test_hidden_names_of_others_are_in_no_answer(self, tmp_path: Path) -> None:
        """The team sees its pseudonym, and its rank on the published board."""
        texts = []
        for name in ("birch", "yew"):
            live = Live.graded(tmp_path / name)
            live.edit('name = "Live"\n', 'name = "Live"\n[visibility]\nnames = "final"\n')
            with served(live) as found:
                found.put(name, GOOD)
                index = found.put("amber", POOR, "00000000-0000-4000-8000-000000000000").json()["index"]
                found.run()
                live.render(found.now)
                (entry,) = found.get("amber", "/entries").json()["entries"]
                public = json.loads(live.page("main/leaderboard.json"))["rows"]
                assert entry["shown_as"] == public[1]["team"]
                assert entry["rank_of_team"] == public[1]["rank"] == 2
                paths = (f"/entries/{index}", "/entries", "/quota", "/picks")
                events = found.client.get("/api/v1/events", headers=found.headers("amber"))
                assert events.status_code == 200
                answers = [events.text, *(found.get("amber", path).text for path in paths)]
                pages = [found.client.get(path).status_code for path in ("/teams/amber.html", f"/teams/{name}.html")]
                assert pages == [404, 404]
                texts.append([text.replace(entry["shown_as"], "").replace(entry["id"], "") for text in answers])
                found.now = day(31)
                found.run()
                live.render(found.now)
                assert "shown_as" not in found.entry("amber", index)
                assert found.client.get("/teams/amber.html").status_code == 200
        assert texts[0] == texts[1]

    def test_messages_show_nothing_that_only_the_solution_knows(self, here_served: Served) -> None:
        index = here_served.put("amber", "q1:zzz\n").json()["index"]
        here_served.run()
        text = json.dumps(here_served.entry("amber", index))
        assert "q2" not in text
        assert "q4" not in text

    def test_metrics_are_for_this_machine_and_name_no_team(self, here_served: Served) -> None:
        here_served.put("amber", GOOD)
        assert here_served.client.get("/metrics").status_code == 404
        from scorer.service.app import application

        local = TestClient(application(here_served.service), client=("127.0.0.1", 1))
        text = local.get("/metrics").text
        assert "scorer_accepted_total 1.0" in text
        assert "amber" not in text
        assert local.get("/metrics", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 404

    def test_only_files_that_a_render_has_listed_are_served(self, here_served: Served) -> None:
        """No file in progress, of this version or an earlier one, nothing that somebody left, and no hidden file."""
        site = here_served.live.folder / "site"
        assert here_served.client.get("/index.html").status_code == 503
        here_served.run()
        here_served.live.render(here_served.now)
        (site / "log.jsonl.part").write_text("earlier")
        part_of(site / "log.jsonl").write_text("in progress")
        (site / "main" / "notes.txt").write_text("left")
        assert {here_served.client.get(f"/{path}").status_code for path in listed_files(site)} == {200}
        assert len(listed_files(site)) > 20
        assert {here_served.client.get(path).status_code for path in ("/", "/main/")} == {200}
        left = ("log.jsonl.part", part_of(site / "log.jsonl").name, "main/notes.txt", "main/./notes.txt")
        hidden = (".manifest.json", ".lock", "../teams.toml", "..%2fchallenge.toml", "..%2fscores.db", "/etc/passwd")
        for path in (*left, *hidden, "main/..%5c..%5cx"):
            assert here_served.client.get(f"/{path}").status_code == 404, path
        here_served.live.render(here_served.now + timedelta(hours=1))
        assert here_served.client.get("/log.jsonl").status_code == 200

    def test_the_site_is_compressed_and_answers_with_secrets_are_not(self, here_served: Served) -> None:
        here_served.run()
        here_served.live.render(here_served.now)
        page = here_served.live.folder / "site" / "main" / "index.html"
        answer = here_served.client.get("/main/index.html", headers={"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.content == page.read_bytes()
        plain = here_served.client.get("/main/index.html", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == page.read_bytes()
        part = {"Accept-Encoding": "gzip", "Range": "bytes=0-99"}
        assert here_served.client.get("/main/index.html", headers=part).content == page.read_bytes()[:100]
        assert "content-encoding" not in here_served.client.get("/submit", headers={"Accept-Encoding": "gzip"}).headers

    def test_the_log_has_no_token_and_no_team(self, here_served: Served, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level("INFO"):
            here_served.put("amber", GOOD)
            here_served.put("amber", GOOD, "no uuid")
            here_served.client.get("/api/v1/tracks/main/entries", headers={"Authorization": "Bearer guess-4711"})
        logged = [record.getMessage() for record in caplog.records if record.name == "scorer.service"]
        assert [text.partition(":")[0] for text in logged] == ["accepted", "refused", "refused"]
        assert not [text for text in logged for secret in (here_served.tokens["amber"], "4711") if secret in text]


@pytest.mark.holds(
    r"The time of receipt of a file decides its phase: the time at which its last byte .* the service refuses files\.",
    r"A team may withdraw an entry until its phase has closed\. .* may be handed in again, as a new entry\.",
    r"The service refuses a file over the quota\. An entry that is not scored yet counts in every limit\.",
)
def test_what_the_rules_say_of_a_challenge_with_a_service(tmp_path: Path) -> None:
    """The last byte decides. The bytes of a withdrawn entry may be handed in again, and count again."""
    with served(Live.graded(tmp_path / "live", rules="quota = {total = 3}\n")) as found:
        found.now = day(9)
        assert problem(found.put("amber", GOOD)) == "closed"
        found.now = day(20, 2)
        index = found.accept("amber", GOOD, at=day(20, 0, 59, 59)).index
        with pytest.raises(RefusedError, match="no phase receives files"):
            found.accept("brass", GOOD, at=day(20, 1))
        found.now = day(12)
        first = found.put("brass", GOOD).json()["index"]
        answer = found.client.delete(f"/api/v1/tracks/main/entries/{first}", headers=found.headers("brass"))
        assert answer.json()["state"] == "withdrawn"
        assert [found.put("brass", GOOD).status_code for _ in range(4)] == [201, 201, 201, 429]
        found.run(day(13))
        states = [entry["state"] for entry in found.get("brass", "/entries").json()["entries"]]
        assert sorted(states) == ["scored", "scored", "scored", "withdrawn"]
        assert found.entry("amber", index)["state"] == "scored"


def test_a_faulty_file_is_no_http_error(here_served: Served) -> None:
    """The second answer about the entry has what `scorer check` finds; after a run it is rejected."""
    document = here_served.put("amber", "q1:a,a\nnot a list\n").json()
    entry = here_served.entry("amber", document["id"])
    assert (entry["outcome"], entry["check"]) == ("waiting", {"valid": None, "messages": []})
    entry = here_served.entry("amber", document["id"])
    assert entry["check"]["valid"] is False
    assert [message for message in entry["check"]["messages"] if message.startswith("2:")]
    here_served.run()
    entry = here_served.entry("amber", document["id"])
    assert (entry["outcome"], entry["problems"][0]["line"]) == ("rejected", 2)


def test_a_file_that_expands_without_end_is_rejected_and_the_others_are_scored(here_served: Served) -> None:
    """A compressed file is delivered as it is."""
    bomb = here_served.put("amber", gzip.compress(b"q1:" + b"a," * 20_000_000, 9)).json()["index"]
    good = here_served.put("brass", gzip.compress(GOOD.encode())).json()["index"]
    here_served.run()
    assert here_served.entry("amber", bomb)["outcome"] == "rejected"
    assert here_served.entry("brass", good)["scores"]["preliminary"]["nDCG@3"] == 1.0


def test_a_length_of_two_gigabytes_is_refused_at_once(here_served: Served) -> None:
    """By its header: no byte is read."""
    headers = {**here_served.headers("amber"), "Content-Length": "2000000000"}
    answer = here_served.client.put(f"/api/v1/tracks/main/entries/{uuid.uuid4()}", content=b"x", headers=headers)
    assert (answer.status_code, answer.json()["limit"]) == (413, 1_000_000_000)


def test_the_overview_and_the_states_of_the_service(here_served: Served) -> None:
    """What anybody may ask."""
    document = here_served.client.get("/api/v1").json()
    assert (document["challenge"], document["time"], document["tracks"][0]["state"]) == (
        "Live",
        "2027-01-11T12:00:00Z",
        "open",
    )
    assert here_served.client.get("/healthz").text == "ok\n"
    assert here_served.client.get("/readyz").status_code == 200
    here_served.service.draining = True
    assert here_served.client.get("/readyz").status_code == 503
    draining = here_served.put("amber", GOOD)
    assert (draining.status_code, problem(draining)) == (503, "unavailable")


def test_challenge_toml_is_read_again_when_it_changes(here_served: Served) -> None:
    """An invalid file changes nothing."""
    here_served.live.edit('name = "Live"\n', 'name = "Live"\nlimits = {file_mb = 1}\n')
    os.utime(here_served.live.folder / "challenge.toml", (1, 1))
    assert here_served.put("amber", b"x" * 1_000_001).status_code == 413
    toml = here_served.live.folder / "challenge.toml"
    toml.write_text("not TOML = = =")
    assert here_served.put("amber", GOOD).status_code == 201


def test_a_folder_on_another_machine_is_refused(tmp_path: Path) -> None:
    """Files get their final names by a rename."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    live.edit('title = "Main"\n', 'title = "Main"\nsubmissions = "memory://submissions"\n')
    with live.store() as store, pytest.raises(ChallengeError, match="only to a folder of this machine"):
        Service.open(live.challenge, store)


def test_a_delivery_gets_its_name_where_folders_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where opening a folder fails."""
    opened = os.open

    def refuse(path: str, flags: int, *more: int, **others: int) -> int:
        if os.path.isdir(path) and not others:  # noqa: PTH112
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *more, **others)

    monkeypatch.setattr("scorer.organising.files.sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr("scorer.organising.files.os.open", refuse)
    received = tmp_path / "received"
    received.write_text("q1:a\n")
    move(received, tmp_path / "new" / "1.txt")
    assert (tmp_path / "new" / "1.txt").read_text() == "q1:a\n"
