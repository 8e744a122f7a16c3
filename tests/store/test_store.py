"""The store: it returns what it stored, even if the process, the disk or other processes fail."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence, Set
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy.exc import IntegrityError

from scorer.errors import Findings, Problem, StoreError
from scorer.lists import Counts
from scorer.live.entry import SubmissionState, recorded, submissions
from scorer.measures import Measure, parse
from scorer.organising.scan import import_submissions
from scorer.scoring.outcomes import Rejected, Scored
from scorer.store.events import Basis, BasisBody, Submission
from scorer.store.rows import drop_outcomes
from scorer.store.schema import SCHEMA_VERSION, schema_table
from scorer.store.snapshot import Snapshot
from scorer.store.store import GENERATIONS, Store
from tests.databases import NewPlace, changed, content, record_basis, rows, seal
from tests.paths import ROOT
from tests.strategies import matched, rest

QUERIES = tuple(f"q{number}" for number in range(20))
FLAGGED = np.arange(20) % 5 == 0
SOLUTION = {query: {f"i{n}": float(n % 3) for n in range(0 if 3 <= at < 7 else 6)} for at, query in enumerate(QUERIES)}
IDEAL = matched(SOLUTION, {}).ideal
MEASURES = (*parse("MARp@5,10"), *parse("nDCG@10"))
BASIS = Basis("50" * 32, "settings" + "0" * 56)
OTHER_SETTINGS = Basis(BASIS.solution, "settings" + "1" * 56)
START = datetime(2011, 4, 18, 10, tzinfo=UTC)


def digest(text: str) -> str:
    """A text in place of the SHA-256 of a file."""
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def submission(name: str, *, team: str = "tea-kettle", track: str = "cold-start", hours: int = 0) -> Submission:
    """A submission with this name; its digest depends on the name."""
    return Submission(track, team, f"{track}/{team}/{name}.txt", digest(name), START + timedelta(hours=hours))


def scored(seed: int = 0) -> Scored:
    """The scores of a random submission by two measures, undefined for four of the queries."""
    random = np.random.default_rng(seed)
    submission = {query: [f"i{item}" for item in random.permutation(12)[:8]] for query in QUERIES[:19]}
    seen = matched(SOLUTION, submission)
    notes = Findings([Problem.of_form(3, 'item "a" is listed twice')], 21)
    scores = np.stack([measure(seen) for measure in MEASURES])
    return Scored(MEASURES, scores, FLAGGED, seen, Counts(20, 19, 0, 152, 1, 0), notes)


def add(store: Store, submission: Submission) -> None:
    """Import a submission in addition to those that are present."""
    states = store.read(lambda view: submissions(view.events(submission.track)).values())
    import_submissions(store, submission.track, [*(each.submission for each in states if each.present), submission])


def store_result(store: Store, submission: Submission, basis: Basis, outcome: Scored | Rejected) -> None:
    """Import a submission, and store its result."""
    add(store, submission)
    store.store_results([(submission.digest, outcome.summary() if isinstance(outcome, Scored) else outcome)], basis)


def entries(store: Store, track: str, basis: Basis | None) -> tuple[SubmissionState, ...]:
    """The submissions of a track with their results."""

    def read(view: Snapshot) -> tuple[SubmissionState, ...]:
        states = submissions(view.events(track)).values()
        if basis is None:
            return tuple(states)
        results = view.results(basis, {state.submission.digest for state in states}, MEASURES)
        failures = view.failures(basis).items()
        failed = {digest: failure for digest, failure in failures if digest not in results}
        each = ((state, state.submission.digest) for state in states)
        return tuple(replace(state, result=results.get(key), failure=failed.get(key)) for state, key in each)

    return store.read(read)


def per_query(
    store: Store, submission_digest: str, basis: Basis, measures: Sequence[Measure]
) -> dict[str, np.ndarray] | None:
    """The scores of one submission for each query, by the name of the measure; None if it has no scored result."""
    found = dict(store.read(lambda view: list(view.scores([submission_digest], basis, measures))))
    if submission_digest not in found:
        return None
    return dict(zip(map(str, measures), found[submission_digest], strict=True))


def known_digests(store: Store, basis: Basis) -> Set[str]:
    """The digests of the submissions that have a result."""
    return store.read(lambda view: view.known_digests(basis))


def basis_of(store: Store, track: str) -> Basis | None:
    """The last basis that was recorded."""
    recorded = store.read(lambda view: view.recorded_basis(track))
    return None if recorded is None else recorded.basis


def rejected() -> Rejected:
    """The outcome of a file with an invalid line 2."""
    return Rejected(Findings([Problem.of_form(2, "no colon")], 1))


def opened(place: str | Path) -> Store:
    """A store that holds the solution."""
    store = Store.open(place)
    store.store_solution(BASIS.solution, QUERIES, FLAGGED, IDEAL)
    return store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a new SQLite database."""
    return tmp_path / "scores.db"


# Reading what was written


def test_a_result_comes_back_as_it_was_recorded(place: str) -> None:
    """Means of every split, undefined counts, counts, notes and every bit of the per-query scores survive reopening."""
    outcome = scored()
    with opened(place) as store:
        store_result(store, submission("first"), BASIS, outcome)

    with Store.open(place, create=False) as store:
        (stored,) = entries(store, "cold-start", BASIS)
        scores = per_query(store, digest("first"), BASIS, [*MEASURES, *parse("AP")])

    assert stored.submission == submission("first")
    assert stored.present
    assert stored.result is not None
    assert (stored.result.status, stored.result.counts, stored.result.findings) == (
        "scored",
        outcome.counts,
        outcome.notes,
    )
    means: dict[str, list[float | None]] = {
        split: [mean.value for mean in by_name.values()] for split, by_name in stored.result.means.items()
    }
    expected = {
        "all": np.nanmean(outcome.scores, axis=1),
        "preliminary": np.nanmean(outcome.scores[:, FLAGGED], axis=1),
        "rest": np.nanmean(outcome.scores[:, ~FLAGGED], axis=1),
    }
    assert set(means) == set(expected)
    for split, values in expected.items():
        assert means[split] == pytest.approx(values.tolist(), abs=1e-15)
    undefined = {split: by_name["nDCG@10"].undefined for split, by_name in stored.result.means.items()}
    assert undefined == {"all": 4, "preliminary": 1, "rest": 3}
    assert scores is not None
    assert list(scores) == ["MARp@5,10", "nDCG@10", "AP"]
    assert scores["AP"].tobytes() == parse("AP")[0](outcome.matched).tobytes()
    for measure, row in zip(outcome.measures, outcome.scores, strict=True):
        assert scores[str(measure)].tobytes() == row.tobytes()


def test_a_store_sees_what_another_one_changed(place: str) -> None:
    """A result that it has read is read again when it is another one, and is gone when it is deleted."""
    with opened(place) as store, Store.open(place) as other:
        store_result(store, submission("first"), BASIS, scored())
        store_result(store, submission("second"), BASIS, scored(1))
        first, second = entries(store, "cold-start", BASIS)
        assert entries(store, "cold-start", BASIS) == (first, second)

        forget(other, submission("first"))
        gone, same = entries(store, "cold-start", BASIS)
        assert gone.result is None
        assert same == second

        other.store_results([(digest("first"), rejected())], BASIS)
        new, same = entries(store, "cold-start", BASIS)
        assert new.result is not None
        assert new.result.status == "rejected"
        assert same == second


def forget(store: Store, submission: Submission) -> None:
    """Drop what became of a submission."""
    with store.database.writing() as connection:
        drop_outcomes(connection, submission.digest, None)


def test_an_undefined_mean_is_none(place: str) -> None:
    """A measure that is undefined for all queries of a split has no mean there, and all of them count as left out."""
    outcome = scored()
    outcome.scores[1, FLAGGED] = np.nan
    with opened(place) as store:
        store_result(store, submission("first"), BASIS, outcome)
        (stored,) = entries(store, "cold-start", BASIS)

    assert stored.result is not None
    assert stored.result.means["preliminary"]["nDCG@10"] == (None, 4)


def test_only_the_means_over_the_requested_queries_are_read(place: str) -> None:
    """As the board reads only those that it shows; the others are not computed again, either."""
    with opened(place) as store:
        store_result(store, submission("first"), BASIS, scored())
        (whole,) = entries(store, "cold-start", BASIS)
        (part,) = store.read(lambda view: view.results(BASIS, {digest("first")}, MEASURES, ["rest"])).values()

    assert whole.result is not None
    assert part.means == {"all": {}, "preliminary": {}, "rest": whole.result.means["rest"]}
    assert part.means["rest"]


def test_a_rejected_file_has_its_problems_and_no_means(place: str) -> None:
    """Its findings are stored, the shown ones and their number; it has no mean and no score."""
    with opened(place) as store:
        store_result(store, submission("broken"), BASIS, rejected())
        (stored,) = entries(store, "cold-start", BASIS)

        assert known_digests(store, BASIS) == {digest("broken")}
        assert per_query(store, digest("broken"), BASIS, MEASURES) is None
    assert stored.result is not None
    assert stored.result.status == "rejected"
    assert stored.result.counts is None
    assert stored.result.findings == rejected().problems
    assert stored.result.means == {}


def test_a_solution_comes_back_in_its_order(place: str) -> None:
    """Ids are text ("007" and "7" differ), in the solution's order, with their flags; a known digest is not changed."""
    ids, flags = ("7", "007", "NA", "#0", 'a"b,c', "é\ud800", ""), np.array([1, 0, 0, 1, 1, 0, 1], dtype=bool)
    ideal = matched({query: {"a": 2.5, "b": -1.0} for query in ids}, {}).ideal
    with Store.open(place) as store:
        store.store_solution("d" * 64, ids, flags, ideal)
        store.store_solution("d" * 64, ids[::-1], flags, ideal)
        stored = store.read(lambda view: view.solution("d" * 64))

    assert stored.query_ids == ids
    assert stored.flagged.tolist() == flags.tolist()
    assert stored.ideal.grade.tolist() == ideal.grade.tolist()


def test_an_unknown_solution_is_reported(place: str) -> None:
    """The message says what to do."""
    with Store.open(place) as store, pytest.raises(StoreError, match="no solution"):
        store.read(lambda view: view.solution("d" * 64))


def test_the_last_basis_of_a_track_is_stored(place: str) -> None:
    """It is None at first, then the last one that was recorded."""
    with opened(place) as store:
        assert basis_of(store, "cold-start") is None
        record_basis(store, "cold-start", BasisBody.of(BASIS, None, GENERATIONS))
        record_basis(store, "cold-start", BasisBody.of(OTHER_SETTINGS, None, GENERATIONS))

    with Store.open(place) as store:
        assert basis_of(store, "cold-start") == OTHER_SETTINGS
        assert basis_of(store, "pooled-sequences") is None


def test_times_come_back_in_utc(place: str) -> None:
    """A time of another zone is the same moment in UTC, to the microsecond; one without a zone is refused."""
    moment = datetime(2011, 4, 18, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))
    with opened(place) as store:
        import_submissions(store, "cold-start", [Submission("cold-start", "t", "t.txt", "d" * 64, moment)])
        (stored,) = entries(store, "cold-start", None)
    with pytest.raises(ValueError, match="without a zone"):
        Submission("cold-start", "t", "t.txt", "e" * 64, moment.replace(tzinfo=None))

    assert stored.submission.received == moment
    assert stored.submission.received.utcoffset() == timedelta(0)


# Keys


def test_recording_again_changes_nothing(place: str) -> None:
    """Neither another outcome nor another time of receipt replaces what is stored."""
    with opened(place) as store:
        store_result(store, submission("first"), BASIS, scored(0))
    before = content(place)

    with Store.open(place) as store:
        store_result(store, submission("first", hours=5), BASIS, scored(1))
        import_submissions(store, "cold-start", [submission("first", hours=9)])
        store.store_solution(BASIS.solution, QUERIES, FLAGGED, IDEAL)

    assert content(place) == before


def test_a_changed_setting_makes_a_new_result(place: str) -> None:
    """A result belongs to a solution and to settings; the results by other settings stay as they are."""
    with opened(place) as store:
        store_result(store, submission("first"), BASIS, scored(0))
        assert known_digests(store, OTHER_SETTINGS) == frozenset()
        (pending,) = entries(store, "cold-start", OTHER_SETTINGS)
        store_result(store, submission("first"), OTHER_SETTINGS, scored(1))

        (old,), (new,) = entries(store, "cold-start", BASIS), entries(store, "cold-start", OTHER_SETTINGS)

    assert pending.result is None
    assert old.result is not None
    assert new.result is not None
    assert old.result.means != new.result.means


def test_two_teams_may_send_the_same_bytes(place: str) -> None:
    """The result is stored once and belongs to both entries."""
    ours = submission("same")
    theirs = Submission("cold-start", "paper-boats", "cold-start/paper-boats/x.txt", ours.digest, START)
    with opened(place) as store:
        store_result(store, ours, BASIS, scored())
        import_submissions(store, "cold-start", [ours, theirs])
        assert known_digests(store, BASIS) == {ours.digest}
        first, second = entries(store, "cold-start", BASIS)

    assert {first.submission.team, second.submission.team} == {"tea-kettle", "paper-boats"}
    assert first.result == second.result
    assert rows(place, "SELECT count(*) FROM result") == [(1,)]


def test_a_missing_file_is_withdrawn_and_may_return(place: str) -> None:
    """Nothing is deleted: a missing file is marked as withdrawn, and as present when it returns."""
    first, second = submission("first"), submission("second", hours=1)

    def present(store: Store) -> list[bool]:
        return [stored.present for stored in entries(store, "cold-start", BASIS)]

    with opened(place) as store:
        store_result(store, first, BASIS, scored(0))
        store_result(store, second, BASIS, scored(1))
        store_result(store, submission("other", track="pooled-sequences"), BASIS, scored(2))
        import_submissions(store, "cold-start", [second])
        assert present(store) == [False, True]
        import_submissions(store, "cold-start", [first, replace(second, digest="f" * 64)])
        assert present(store) == [True, False, True]
        import_submissions(store, "cold-start", [second])
        assert present(store) == [False, True, False]
        (untouched,) = entries(store, "pooled-sequences", BASIS)

    assert untouched.present


def test_names_are_kept_as_they_are(place: str) -> None:
    """Names are bytes: a lone surrogate, NUL and a name that prints alike stay three teams and three files."""
    names = ["a\udcffb\0", "a\\udcffb\\x00", "a\udcffb\\0"]
    sent = [Submission("cold-start", name, f"cold-start/{name}.txt", "d" * 64, START) for name in names]
    with opened(place) as store:
        for _ in range(2):
            import_submissions(store, "cold-start", sent)
        stored = entries(store, "cold-start", BASIS)
        recorded = store.read(lambda view: view.events())

    assert {each.submission.team for each in stored} == set(names)
    assert {each.submission.file for each in stored} == {each.file for each in sent}
    assert [event.kind for event in recorded] == ["arrival"] * 3


def test_one_import_records_by_time_of_receipt(new_place: NewPlace) -> None:
    """The order in which the scan lists the files does not matter; entries come by time of receipt, team and file."""
    sent = [submission(name, hours=hours) for name, hours in (("c", 1), ("a", 2), ("b", 1))]
    seen = []
    one, two = new_place(), new_place()
    for place, order in ((one, sent), (two, sent[::-1])):
        with opened(place) as store:
            import_submissions(store, "cold-start", order)
            for each in order:
                store.store_results([(each.digest, scored(len(each.digest)).summary())], BASIS)
            seen.append([stored.submission for stored in entries(store, "cold-start", BASIS)])

    assert seen[0] == seen[1] == [sent[2], sent[0], sent[1]]
    assert content(one) == content(two)


def test_damaged_scores_are_reported(place: str) -> None:
    """Packed bytes that cannot be unpacked raise StoreError."""
    with opened(place) as store:
        store_result(store, submission("first"), BASIS, scored())
    changed(place, "UPDATE result SET hits = substr(hits, 1, 12)")

    with Store.open(place) as store, pytest.raises(StoreError, match="damaged"):
        per_query(store, digest("first"), BASIS, MEASURES)


# Opening


def test_a_url_opens_the_same_database_as_its_path(file: Path) -> None:
    """An SQLAlchemy URL may be given instead of a path."""
    with opened(file) as store:
        store_result(store, submission("first"), BASIS, scored())

    with Store.open(f"sqlite:///{file}") as store:
        assert known_digests(store, BASIS) == {digest("first")}


def test_sqlite_is_set_up_to_survive(file: Path) -> None:
    """WAL is on in the file, and foreign keys are checked."""
    with opened(file):
        pass
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()

    with Store.open(file) as store, pytest.raises(IntegrityError, match="FOREIGN KEY"):
        store_result(store, submission("first"), Basis("unknown", "settings"), scored())


@pytest.mark.parametrize("create", [True, False])
def test_an_empty_file_is_a_new_database(file: Path, create: bool) -> None:
    """A process killed at its start leaves one: with `create` its tables are made, else it is reported."""
    file.touch()

    if create:
        with opened(file) as store:
            assert store.read(lambda view: view.solution(BASIS.solution)).query_ids == QUERIES
    else:
        with pytest.raises(StoreError, match=r"is empty; `scorer run`"):
            Store.open(file, create=False)


def test_reading_creates_no_database(file: Path) -> None:
    """Without `create`, a missing file is reported and not created."""
    with pytest.raises(StoreError, match="no such database"):
        Store.open(file, create=False)
    assert not file.exists()


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (0, rf": schema version 0 is unknown; expected 5 to {SCHEMA_VERSION}"),
        (
            SCHEMA_VERSION + 1,
            rf": scorer 99\.1 wrote it \(schema version {SCHEMA_VERSION + 1}\), .* install scorer 99\.1 or",
        ),
    ],
)
def test_another_schema_version_is_refused(place: str, version: int, message: str) -> None:
    """The message names the version found and the scorer that is needed; the database stays as it is."""
    opened(place).close()
    changed(place, f"UPDATE scorer_schema SET version = {version}, scorer = '99.1'")
    seal(place, schema_table)
    before = content(place)

    with pytest.raises(StoreError, match=message):
        Store.open(place)
    assert content(place) == before


def test_the_database_of_something_else_is_refused_and_unchanged(place: str) -> None:
    """A database with other tables is refused, and nothing in it changes."""
    changed(place, "CREATE TABLE recipe (name TEXT)")

    with pytest.raises(StoreError, match=r"tables of something else \(recipe\); name another"):
        Store.open(place)
    assert content(place) == []
    with pytest.raises(StoreError, match=r"tables of something else \(recipe\); name another"):
        Store.open(place)


NO_DATABASES = {
    "a folder": (lambda folder: folder, "is a folder"),
    "in no folder": (lambda folder: folder / "no" / "scores.db", "there is no folder"),
    "a path with NUL": (lambda folder: folder / "a\0b", "cannot be used as a path"),
    "a long path": (lambda folder: folder / ("x" * 5000), "cannot be used as a path"),
    "an unknown kind": (lambda _: "nosuch://secret@host/x", "not the address of a database"),
    "no address": (lambda _: "sqlite:/\\//x://", "not the address of a database"),
    "an empty address": (lambda _: "://", "not the address of a database"),
    "no driver": (lambda _: "mysql+mysqldb://me:secret@host/name", "driver of this database cannot be loaded"),
}


@pytest.mark.parametrize(("place_in", "message"), NO_DATABASES.values(), ids=NO_DATABASES.keys())
def test_a_place_that_is_no_database_is_refused(
    place_in: Callable[[Path], str | Path], message: str, tmp_path: Path
) -> None:
    """Nothing is created; the message has no password."""
    with pytest.raises(StoreError, match=message) as error:
        Store.open(place_in(tmp_path))
    assert "secret" not in str(error.value)
    assert not (tmp_path / "no").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused(file: Path) -> None:
    """It is refused before anything waits for its content."""
    os.mkfifo(file)

    with pytest.raises(StoreError, match="is not a file"):
        Store.open(file)


def test_a_locked_database_is_reported(file: Path) -> None:
    """A writer that has waited too long says that the database is in use; a reader does not wait."""
    opened(file).close()
    neighbour = sqlite3.connect(file, isolation_level=None)
    neighbour.execute("BEGIN IMMEDIATE")

    with Store.open(file, wait=0.05) as store:
        assert store.read(lambda view: view.solution(BASIS.solution)).query_ids == QUERIES
        with pytest.raises(StoreError, match=r"is in use: another process did not finish writing within 0\.05 seconds"):
            store_result(store, submission("first"), BASIS, scored())
        neighbour.execute("ROLLBACK")
        neighbour.close()
        store_result(store, submission("first"), BASIS, scored())


def test_creating_a_database_waits_for_another_process_that_does(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite refuses to change to WAL, without waiting, while another process writes; the store then tries again."""
    neighbour = sqlite3.connect(file, isolation_level=None)
    neighbour.execute("BEGIN IMMEDIATE")
    waited = []

    def release(seconds: float) -> None:
        waited.append(seconds)
        neighbour.execute("ROLLBACK")

    monkeypatch.setattr("scorer.store.database.time.sleep", release)
    with opened(file) as store:
        assert store.read(lambda view: view.solution(BASIS.solution)).query_ids == QUERIES
    neighbour.close()
    assert len(waited) == 1


# Killed processes, and several at once

KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from sqlalchemy import Engine, event
    from tests.store.test_store import fill
    place, team, last, times = *sys.argv[1:4], int(sys.argv[4])
    def kill(_connection, _cursor, statement, *_):
        global times
        times -= bool(last) and statement.strip().startswith(last)
        if times == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    event.listen(Engine, "after_cursor_execute", kill)
    fill(place, team)
    """
)


def fill(place: str, team: str = "tea-kettle") -> None:
    """Record a team's twelve files, every fourth of them rejected."""
    with opened(place) as store:
        for number in range(12):
            outcome = rejected() if number % 4 == 3 else scored(number)
            store_result(store, submission(f"{team}-{number}", team=team, hours=number), BASIS, outcome)
        record_basis(store, "cold-start", BasisBody.of(BASIS, None, GENERATIONS))


def filling(place: str, *, team: str = "tea-kettle", last: str = "", times: int = 1) -> subprocess.Popen[str]:
    """The same in a process that kills itself after running the statement `last` so many times."""
    command = [sys.executable, "-c", KILLED, place, team, last, str(times)]
    root = ROOT
    return subprocess.Popen(command, cwd=root, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize(
    ("last", "times"),
    [
        ("INSERT INTO result", 3),
        *rest(
            [("PRAGMA journal_mode", 1), ("CREATE TABLE mean", 1), ("INSERT INTO event", 2), ("INSERT INTO mean", 5)]
        ),
    ],
)
def test_a_killed_writer_leaves_a_valid_database_that_the_next_completes(
    new_place: NewPlace, last: str, times: int
) -> None:
    """Killed while the tables are created or between two rows of a result: all of its rows are stored or none, and a
    second run ends with the same rows as an uninterrupted run.
    """
    place, other = new_place(), new_place()
    if "PRAGMA" in last and not place.endswith(".db"):
        pytest.skip("of SQLite alone")
    with filling(place, last=last, times=times) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL

    if place.endswith(".db"):
        assert rows(place, "PRAGMA integrity_check") == [("ok",)]
        assert rows(place, "PRAGMA foreign_key_check") == []
    if content(place):
        half = "SELECT digest FROM result WHERE status = 'scored' AND digest NOT IN (SELECT result_digest FROM mean)"
        assert rows(place, half) == []

    fill(other)
    undisturbed = content(other)
    assert content(place) != undisturbed
    fill(place)
    assert content(place) == undisturbed


def test_two_processes_may_create_and_fill_a_database_at_once(place: str) -> None:
    """Both wait for each other, neither fails, and nothing is lost."""
    with filling(place, team="tea-kettle") as one, filling(place, team="paper-boats") as two:
        assert (one.communicate()[1], two.communicate()[1]) == ("", "")

    with Store.open(place) as store:
        stored = entries(store, "cold-start", BASIS)
    assert len(stored) == 24
    assert all(each.result is not None for each in stored)


def test_another_history_in_the_same_file_is_noticed(file: Path) -> None:
    """A backup is written back into the open file, and then another process records as many events as were lost."""

    def state(view: Snapshot) -> tuple[object, ...]:
        return view.revision, list(view.all_events), dict(recorded(view, "cold-start")), view.known_digests(BASIS)

    with (
        opened(file) as kept,
        closing(sqlite3.connect(":memory:")) as backup,
        closing(sqlite3.connect(file)) as open_file,
    ):
        store_result(kept, submission("first"), BASIS, scored(1))
        open_file.backup(backup)
        store_result(kept, submission("lost"), BASIS, scored(2))
        lost = kept.read(state)
        backup.backup(open_file)
        with Store.open(file) as other:
            store_result(other, submission("new"), BASIS, scored(2))
            found = other.read(state)

        assert kept.read(state) == found
        assert found[0] == lost[0]
        assert found[1:] != lost[1:]
