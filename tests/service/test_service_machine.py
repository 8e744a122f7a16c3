"""Any sequence of deliveries, repetitions, kills, decisions and scans: every accepted file is one entry, in order."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from scorer.errors import ChallengeError, StoreError
from scorer.live.entry import SERVICE
from scorer.organising.phases import extend
from scorer.organising.picks import pick, withdraw_entry
from scorer.rules.teams import token_digest
from scorer.service.accepting import RefusedError
from scorer.service.documents import Checks
from scorer.service.state import Service
from tests.live_challenges import CORRECTED, GOOD, OTHER, POOR, Live, day
from tests.served import Served, checked_at_once, served
from tests.service.test_submit_page import Visitor
from tests.strategies import number

TEAMS = ("amber", "brass", "copper")
TEXTS = (GOOD, OTHER, POOR, "not a list\n")
LIMIT = 4


class Deliveries(RuleBasedStateMachine):
    """A challenge with a quota and picks, and what a test expects of it."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.receipts: dict[tuple[str, str], str] = {}
        """By team and id of the delivery."""
        self.cut = 0

    @initialize()
    def begin(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="deliveries-"))
        self.stack.callback(shutil.rmtree, folder, ignore_errors=True)
        rules = f'entry = "picks"\npicks = 1\nquota = {{per_day = {LIMIT}}}\n'
        self.found: Served = self.stack.enter_context(served(Live.graded(folder / "live", rules=rules)))

    def teardown(self) -> None:
        self.stack.close()

    # What teams do

    @rule(team=st.sampled_from(TEAMS), text=st.sampled_from(TEXTS), number=st.integers(0, 5), kill=st.booleans())
    def deliver(self, team: str, text: str, number: int, kill: bool) -> None:
        """Hand in a file, by one of a few ids; the process may be killed after the event."""
        delivery = f"00000000-0000-4000-8000-00000000000{number}"
        known = self.receipts.get((team, delivery))
        with pytest.MonkeyPatch.context() as patch:
            if kill:
                patch.setattr("scorer.service.accepting.move", _cut)
            try:
                receipt = self.found.service.followed.issuer.receipt(self.found.accept(team, text, delivery))
            except RefusedError as error:
                self._check_refusal(error, known)
                return
            except OSError:
                self.cut += 1
                self._leave_bytes(text)
                return
        assert known in (None, receipt)
        self.receipts[team, delivery] = receipt

    def _check_refusal(self, error: RefusedError, known: str | None) -> None:
        assert error.code in ("closed", "quota", "conflict")
        assert error.code != "conflict" or known is not None or self.cut > 0

    def _leave_bytes(self, text: str) -> None:
        """What a killed process leaves: the received file under its dot name."""
        track = self.found.service.track("main")
        (self.found.service.incoming(track) / f"left-{self.cut}").write_text(text)

    @rule(team=st.sampled_from(TEAMS), first=st.sampled_from(TEXTS[:3]), second=st.sampled_from(TEXTS[:3]))
    def hand_in_two(self, team: str, first: str, second: str) -> None:
        """Two tabs of a team check a file each; each then presses its button, the second one first."""
        tabs = [Visitor(self.found, team), Visitor(self.found, team)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Checks, "of", checked_at_once)
            held = []
            for tab, text in zip(tabs, (first, second), strict=True):
                if tab.choose(text).status_code != 303:  # no phase receives files
                    return
                held.append(tab.address["file"])
            for tab, file in zip(reversed(tabs), reversed(held), strict=True):
                assert tab.post(action="hand-in", track="main", file=file, again="on").status_code in (303, 429)
        for file in held:
            arrival = self.found.service.followed.delivered("main", team, file)
            if arrival is not None:
                self.receipts[team, file] = self.found.service.followed.issuer.receipt(arrival[0])

    @rule(team=st.sampled_from(TEAMS))
    def revoke_during_an_upload(self, team: str) -> None:
        """The token ends before the file is recorded."""
        sha256 = token_digest(self.found.headers(team)["Authorization"].split()[1])
        self.found.revoke(team)
        del self.found.tokens[team]
        before = len(self.found.live.events("arrival"))
        with pytest.raises(RefusedError, match="token is not valid"):
            self.found.accept(team, GOOD, token=sha256)
        assert len(self.found.live.events("arrival")) == before

    @rule(team=st.sampled_from(TEAMS))
    def deliver_without_the_database(self, team: str) -> None:
        """It is deleted, and put back later."""
        path = self.found.live.folder / "scores.db"
        path.rename(path.with_suffix(".away"))
        with pytest.raises(StoreError):
            self.found.accept(team, GOOD)
        assert not path.exists()
        path.with_suffix(".away").rename(path)

    @rule(team=st.sampled_from(TEAMS), data=st.data())
    def withdraw(self, team: str, data: st.DataObject) -> None:
        """Withdraw an entry."""
        states = self.found.service.followed.submissions("main", team)
        if not states:
            return
        chosen = data.draw(st.sampled_from(states)).submission
        with suppress(ChallengeError):
            withdraw_entry(self.found.store, self.found.live.track, (chosen.file, chosen.digest))

    @rule(team=st.sampled_from(TEAMS), data=st.data())
    def pick(self, team: str, data: st.DataObject) -> None:
        states = self.found.service.followed.submissions("main", team)
        if states:
            index = data.draw(st.sampled_from(states)).index
            with suppress(ChallengeError):
                pick(self.found.live.challenge, self.found.store, [str(index)], "service")

    # What the organiser and the machine do

    @rule()
    def scan(self) -> None:
        self.found.run()

    @rule()
    def restart(self) -> None:
        """Start the service again."""
        self.found.service = Service.open(self.found.live.challenge, self.found.store)

    @rule(minutes=st.integers(1, 2000))
    def wait(self, minutes: int) -> None:
        """Let time pass."""
        self.found.now += timedelta(minutes=minutes)

    @precondition(lambda self: self.found.now < day(20, 0))
    @rule()
    def extend(self) -> None:
        with suppress(ChallengeError):
            extend(self.found.live.challenge, self.found.store, "main", "one", day(22, 0), "a holiday")

    @rule()
    def erratum(self) -> None:
        self.found.run()
        with suppress(ChallengeError):
            self.found.live.write_solution(CORRECTED)
            self.found.live.preview(self.found.now)
            self.found.live.apply(self.found.now)

    # What always holds

    @invariant()
    def every_receipt_is_of_an_event_with_its_file(self) -> None:
        """Until the entry is withdrawn."""
        if not hasattr(self, "found"):
            return
        self.found.store.read(self.found.service.followed.follow)
        files = set(self.found.files())
        for team, delivery in self.receipts:
            followed = self.found.service.followed
            event, _ = followed.deliveries[followed.delivery("main", team, delivery)]
            (state,) = [
                state for state in self.found.service.followed.submissions("main", team) if state.index == event.index
            ]
            assert not state.misdated
            assert (state.submission.file.removeprefix("main/") in files) == state.present

    @invariant()
    def nobody_exceeds_the_quota(self) -> None:
        """Each accepted file is admitted: none is over the quota, late or early."""
        if hasattr(self, "found"):
            entries = self.found.live.entries(self.found.now)
            assert {entry.admission for entry in entries.all} <= {"ok"}
            days: dict[tuple[str, object], int] = {}
            unscored = {state.index for state in entries.stored if state.unscored}
            for entry in entries.all:
                # What is withdrawn before it has an outcome costs nothing.
                costs = entry.outcome == "scored" or (entry.outcome == "waiting" and entry.presence == "present")
                key = entry.team, entry.received.date()
                days[key] = days.get(key, 0) + (costs and entry.index not in unscored)
            assert max(days.values(), default=0) <= LIMIT

    @invariant()
    def the_record_is_in_order(self) -> None:
        """Each delivery is in it once, and a scan has not withdrawn what was handed in."""
        if hasattr(self, "found"):
            events: list[Any] = self.found.live.events("arrival")
            keys = [(event.values["team"], event.values["delivery"]) for event in events]
            assert len(set(keys)) == len(keys)
            assert {event.values["source"] for event in events} <= {SERVICE}
            assert all("source" in event.values for event in self.found.live.events("withdrawal"))


def _cut(*_: object) -> None:
    raise OSError(5, "killed")


class TestSome(Deliveries.TestCase):  # type: ignore[misc,valid-type]
    """A few sequences."""

    settings = settings(max_examples=number(20), stateful_step_count=20, deadline=None)


@pytest.mark.endurance
class TestMany(Deliveries.TestCase):  # type: ignore[misc,valid-type]
    """Ten thousand steps."""

    settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
