"""Decisions of the organiser about submissions, impossible times of receipt, and names that earlier schemas escaped."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from scorer.errors import StoreError
from scorer.live.entry import SubmissionState, key_of
from scorer.organising.picks import amend_received, forget_outcome
from scorer.organising.scan import import_submissions
from scorer.store.events import BasisBody, Submission
from scorer.store.schema import event_table
from scorer.store.store import GENERATIONS, Store
from tests.databases import changed, record_basis, rows, seal
from tests.store.test_store import BASIS, OTHER_SETTINGS, START, entries, opened, scored, store_result, submission

NOW = datetime(2012, 5, 1, 12, tzinfo=UTC)


def at_noon(place: str) -> Store:
    """A store whose clock has stopped."""
    opened(place).close()
    return Store.open(place, clock=lambda: NOW)


def only(store: Store) -> SubmissionState:
    """The one submission of the track."""
    (stored,) = entries(store, "cold-start", BASIS)
    return stored


def kinds(store: Store) -> list[str]:
    """The kinds of all events."""
    return [event.kind for event in store.read(lambda view: view.events())]


def revision(store: Store) -> int:
    """The revision of the database."""
    return store.read(lambda view: view.revision)


# Times of receipt


@pytest.mark.parametrize(
    ("received", "misdated"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), True),
        (datetime(1989, 12, 31, 23, 59, 59, tzinfo=UTC), True),
        (datetime(1990, 1, 1, tzinfo=UTC), False),
        (NOW + timedelta(minutes=5), False),
        (NOW + timedelta(minutes=5, seconds=1), True),
        (datetime(9999, 12, 31, tzinfo=UTC), True),
    ],
)
def test_an_impossible_time_of_receipt_is_marked(place: str, received: datetime, misdated: bool) -> None:
    """Before 1990, or more than five minutes after it was recorded; it stays so later."""
    with at_noon(place) as store:
        import_submissions(store, "cold-start", [Submission("cold-start", "t", "t.txt", "d" * 64, received)])
        assert only(store).misdated is misdated
    with Store.open(place) as store:
        assert only(store).misdated is misdated


def test_an_unknown_time_of_recording_is_not_checked(place: str) -> None:
    """Schema 1 did not record it."""
    late = Submission("cold-start", "t", "t.txt", "d" * 64, datetime(2999, 1, 1, tzinfo=UTC))
    with at_noon(place) as store:
        import_submissions(store, "cold-start", [late])
    changed(place, "UPDATE event SET at = NULL")
    seal(place, event_table)

    with Store.open(place) as store:
        assert not only(store).misdated


def test_an_amended_time_of_receipt_counts(place: str) -> None:
    """It is recorded with its reason, in UTC, and orders the submission; a withdrawn submission keeps it."""
    sent = Submission("cold-start", "t", "t.txt", "d" * 64, datetime(1, 1, 1, tzinfo=UTC))
    right = datetime.fromisoformat("2011-04-18T12:30:00+02:00")
    with at_noon(place) as store:
        import_submissions(store, "cold-start", [sent])
        amend_received(store, "cold-start", ("t.txt", "d" * 64), right, "the clock of the server was wrong")
        import_submissions(store, "cold-start", [])
        stored = only(store)
        event = store.read(lambda view: view.events())[1]

    assert (stored.submission.received, stored.misdated, stored.present) == (right, False, False)
    assert event.kind == "amendment"
    assert event.values == {
        "file": "t.txt",
        "digest": "d" * 64,
        "received": "2011-04-18T10:30:00.000000+00:00",
        "reason": "the clock of the server was wrong",
    }


@pytest.mark.parametrize(
    ("received", "reason", "message"),
    [
        (START, " \n", "the reason is blank"),
        (datetime(1989, 1, 1, tzinfo=UTC), "why", "not a time of receipt; give one from 1990 on"),
        (NOW + timedelta(days=1), "why", "not later than now"),
    ],
)
def test_a_wrong_amendment_is_refused(place: str, received: datetime, reason: str, message: str) -> None:
    """Nothing is recorded."""
    with at_noon(place) as store:
        import_submissions(store, "cold-start", [Submission("cold-start", "t", "t.txt", "d" * 64, START)])
        before = revision(store)
        with pytest.raises(StoreError, match=message):
            amend_received(store, "cold-start", ("t.txt", "d" * 64), received, reason)
        assert (kinds(store), revision(store)) == (["arrival"], before)


# Forgetting


def test_a_forgotten_outcome_is_scored_again(place: str) -> None:
    """By every basis, with its means; the submission stays, and the reason is recorded."""
    first, second = submission("first"), submission("second", hours=1)
    with opened(place) as store:
        for basis in (BASIS, OTHER_SETTINGS):
            store_result(store, first, basis, scored(1))
            store_result(store, second, basis, scored(2))
        forget_outcome(store, "cold-start", key_of(first), "scored on a broken disk")
        of_first, of_second = entries(store, "cold-start", BASIS)
        event = store.read(lambda view: view.events())[-1]

        assert (of_first.present, of_first.result) == (True, None)
        assert of_second.result is not None
        assert (event.kind, event.values["reason"]) == ("forgetting", "scored on a broken disk")
        assert rows(place, "SELECT count(*) FROM result") == [(2,)]
        assert rows(place, "SELECT count(*) FROM mean WHERE result_digest NOT IN (SELECT digest FROM result)") == [(0,)]
        store_result(store, first, BASIS, scored(3))
        assert entries(store, "cold-start", BASIS)[0].result is not None


def test_an_outcome_is_not_forgotten_without_a_reason(place: str) -> None:
    """The result stays."""
    first = submission("first")
    with opened(place) as store:
        store_result(store, first, BASIS, scored())
        with pytest.raises(StoreError, match="the reason is blank"):
            forget_outcome(store, "cold-start", key_of(first), "")
        assert only(store).result is not None


# Imports


def test_an_import_without_withdrawals_records_the_rest(place: str) -> None:
    """Arrivals and returns; the missing file stays present until an import with withdrawals."""
    first, second, third = (submission(name, hours=hours) for hours, name in enumerate(("first", "second", "third")))
    with opened(place) as store:
        import_submissions(store, "cold-start", [first, second])
        import_submissions(store, "cold-start", [second])
        import_submissions(store, "cold-start", [first, third], allowed=lambda kind, _: kind == "return")
        assert [stored.present for stored in entries(store, "cold-start", BASIS)] == [True, True, True]
        assert kinds(store) == ["arrival", "arrival", "withdrawal", "arrival", "return"]
        before = revision(store)
        import_submissions(store, "cold-start", [first, third], allowed=lambda kind, _: kind == "return")
        assert revision(store) == before
        import_submissions(store, "cold-start", [first, third])
        assert [stored.present for stored in entries(store, "cold-start", BASIS)] == [True, False, True]


def test_what_changes_nothing_keeps_the_revision(place: str) -> None:
    """A render of the same state is not later."""
    first = submission("first")
    with opened(place) as store:
        store_result(store, first, BASIS, scored())
        record_basis(store, "cold-start", BasisBody.of(BASIS, None, GENERATIONS))
        before = revision(store)
        import_submissions(store, "cold-start", [first])
        import_submissions(store, "cold-start", [], recheck=lambda files: dict.fromkeys(files, first.digest))
        store.store_results([(first.digest, scored(5).summary())], BASIS)
        record_basis(store, "cold-start", BasisBody.of(BASIS, None, GENERATIONS))
        assert revision(store) == before


# Names that schema 1 and 2 recorded escaped

RAW, LITERAL = "caf\udce9", "caf\\udce9"
"""The Latin-1 bytes of a name, and a name that is their escaped form."""


def with_escaped_names(place: str) -> None:
    """A database with a file and a team whose names were recorded as earlier schemas did."""
    with opened(place) as store:
        import_submissions(store, "cold-start", [Submission("cold-start", LITERAL, LITERAL, "d" * 64, START)])
    (body,) = rows(place, "SELECT body FROM event")[0]
    escaped = json.loads(body)
    del escaped["names"]
    changed(place, "UPDATE event SET body = '" + json.dumps(escaped).replace(":", r"\:") + "'")
    seal(place, event_table)


@pytest.mark.parametrize("name", [RAW, LITERAL])
def test_a_file_whose_escaped_name_is_recorded_neither_arrives_nor_is_withdrawn(place: str, name: str) -> None:
    """The record does not tell which of the two names it was; the file that is there is meant."""
    with_escaped_names(place)
    there = Submission("cold-start", name, name, "d" * 64, START)
    looked: list[set[str]] = []

    def recheck(files: set[str]) -> dict[str, str | None]:
        looked.append(files)
        return {file: "d" * 64 if file == name else None for file in files}

    with Store.open(place) as store:
        import_submissions(store, "cold-start", [there], recheck)
        assert (kinds(store), looked) == (["arrival"], [])
        assert only(store).submission.team == RAW
        import_submissions(store, "cold-start", [])
        import_submissions(store, "cold-start", [there], recheck)
        assert (kinds(store), looked) == (["arrival", "withdrawal", "return"], [{name}])


def test_of_two_files_that_were_recorded_as_one_the_other_arrives(place: str) -> None:
    """Both are entries from then on."""
    with_escaped_names(place)
    both = [Submission("cold-start", name, name, "d" * 64, START) for name in (RAW, LITERAL)]

    with Store.open(place) as store:
        for _ in range(2):
            import_submissions(store, "cold-start", both)
        assert kinds(store) == ["arrival", "arrival"]
        assert {each.submission.file for each in entries(store, "cold-start", BASIS)} == {RAW, LITERAL}


def test_new_content_of_such_a_file_replaces_the_old(place: str) -> None:
    """The new content arrives and the old one is withdrawn, for the same team."""
    with_escaped_names(place)

    with Store.open(place) as store:
        import_submissions(store, "cold-start", [Submission("cold-start", RAW, RAW, "e" * 64, START)])
        stored = entries(store, "cold-start", BASIS)

    assert {each.submission.digest: each.present for each in stored} == {"d" * 64: False, "e" * 64: True}
    assert {each.submission.team for each in stored} == {RAW}
