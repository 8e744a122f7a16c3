"""The loops that score what is handed in: teams take turns, and a full disk loses nothing."""

from __future__ import annotations

import errno
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from scorer.errors import ChallengeError
from scorer.limits import Limits
from scorer.organising.run import carry_out, plan
from scorer.organising.scan import Arrivals
from scorer.organising.watch import ArrivalLoop, RunLoop, is_fresh
from scorer.scoring.executors import GoOn, always
from scorer.scoring.executors.base import FileOutcomes, FileToScore, Processes, Scoring, Serial
from scorer.scoring.executors.isolation import isolated
from scorer.scoring.outcomes import Failed
from scorer.store.events import Failure
from tests.live_challenges import GOOD, POOR, Live, day
from tests.served import Served, served
from tests.service.test_service import problem
from tests.service.test_service_processes import until


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Served]:
    """A served challenge."""
    with served(Live.graded(tmp_path / "live")) as opened:
        yield opened


def different(number: int) -> str:
    """A valid file."""
    return GOOD.replace("q4:a", f"q4:a,x{number}")


def teams_of(files: Sequence[str]) -> list[str]:
    """The teams of files."""
    return [file.split("/")[1] for file in files]


class TestTurns:
    """Many files of one team delay no other team."""

    def test_teams_take_turns_in_a_run(self, found: Served) -> None:
        """The first file of each team comes first."""
        for team, number in (("amber", 1), ("amber", 2), ("amber", 3), ("brass", 4), ("copper", 5), ("brass", 6)):
            found.accept(team, different(number))
        work = plan(found.store, found.live.challenge, found.live.track)
        order = [submission.file for _, submission in work.pending]
        assert teams_of(order) == ["amber", "brass", "copper", "amber", "brass", "amber"]

    @pytest.mark.parametrize("executor", [Serial(), Processes(1)], ids=["serial", "processes"])
    def test_a_run_that_is_to_end_begins_no_further_file(self, found: Served, executor: Serial | Processes) -> None:
        """The next run scores the others."""
        for number in range(6):
            found.accept("amber", different(number))
        done: list[str] = []

        def go_on() -> bool:
            return not done

        def scored() -> list[str]:
            work = plan(found.store, found.live.challenge, found.live.track)
            for submission, _ in carry_out(found.store, work, executor, go_on if not done else always):
                done.append(submission.file)
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("scorer.organising.watch.STORE_EVERY", -1.0)
            assert 1 <= len(scored()) < 6
        assert len(scored()) == 6 == len(set(done))

    def test_jobs_in_processes_are_begun_only_while_it_goes_on(self) -> None:
        """Those that are begun are completed."""
        done: list[int] = []
        answers = isolated(_twice, 2, list(range(20)), Limits(), count=2, go_on=lambda: len(done) < 5)
        for _, answer in answers:
            assert isinstance(answer, int)
            done.append(answer)
        assert 5 <= len(done) <= 8

    def test_a_new_team_is_scored_before_the_queue_of_another(
        self, found: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While the loop runs: the next slice begins with each team's first one."""
        monkeypatch.setattr("scorer.organising.watch.SLICE", 0.02)
        for number in range(20):
            found.accept("amber", different(number))
        slow = Slow(pause_after=3)
        with looping(found, slow):
            until(lambda: len(slow.scored) == 3)
            found.accept("brass", POOR)
            slow.going_on.set()
            until(lambda: any(path.parent.name == "brass" for path in slow.scored))
        teams = [path.parent.name for path in slow.scored]
        assert teams.index("brass") < 6

    def test_what_failed_before_comes_last(self, found: Served) -> None:
        """It may have taken all the time that a file may take."""
        found.accept("amber", POOR)
        found.run()
        slow = found.accept("amber", different(1))
        found.accept("brass", different(2))
        work = plan(found.store, found.live.challenge, found.live.track)
        failed = [(slow.values["digest"], Failed("it took too long", "time"))]
        found.store.store_results(failed, work.rules.basis)
        work = plan(found.store, found.live.challenge, found.live.track)
        assert teams_of([submission.file for _, submission in work.pending]) == ["brass", "amber"]

    def test_the_queue_of_one_track_does_not_hold_up_another(
        self, found: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each track has a slice of time, also if nothing else is recorded."""
        monkeypatch.setattr("scorer.organising.watch.SLICE", 0.02)
        event = found.accept("amber", GOOD)
        scored: list[str] = []

        def score(track: str, _teams: frozenset[str], go_on: GoOn) -> None:
            scored.append(track)
            while track == "first" and "second" not in scored and go_on():
                assert len(scored) < 1000
                scored.append(track)
                time.sleep(0.01)
            if track == "second":
                loop.stopped.set()

        loop = ArrivalLoop(found.store, pytest.fail, score)
        both = [replace(event, track="first"), replace(event, track="second")]
        monkeypatch.setattr(loop, "since", lambda known: [] if known else both)
        loop()
        assert scored[-1] == "second"

    def test_a_run_leaves_what_waits_to_the_loop(self, found: Served) -> None:
        """But for what has failed, and what waits for so long that something is wrong."""
        found.accept("amber", GOOD)
        found.store.read(found.service.followed.follow)
        (state,) = found.service.followed.submissions("main", "amber")
        assert state.recorded is not None
        failed = replace(state, failure=Failure("time", "it took too long", 1))
        minutes = [timedelta(minutes=minute) for minute in (0, 2, 59, 61)]
        assert [is_fresh(state, state.recorded + later) for later in minutes] == [True, True, True, False]
        assert [is_fresh(failed, state.recorded + later) for later in minutes] == [True, False, False, False]

    def test_the_loop_scores_what_came_while_it_was_down(self, found: Served) -> None:
        """Also after a run scored some."""
        found.accept("amber", GOOD)
        found.run()
        index = found.accept("amber", POOR).index
        slow = Slow()
        with looping(found, slow):
            until(lambda: found.entry("amber", index)["outcome"] == "scored")
        assert len(slow.scored) == 1


def _twice(shared: int, job: int) -> int:
    return shared * job


@dataclass
class Slow:
    """Scores files one after the other, each after a pause; after some files, until it may go on."""

    pause_after: int = -1
    scored: list[Path] = field(default_factory=list)
    going_on: threading.Event = field(default_factory=threading.Event)

    def results(self, scoring: Scoring, files: Sequence[FileToScore], go_on: GoOn = always) -> FileOutcomes:
        for index, file in enumerate(files):
            if not go_on():
                return
            time.sleep(0.02)
            assert len(self.scored) != self.pause_after or self.going_on.wait(60)
            self.scored.append(Path(str(file.path)))
            for _, outcome in Serial().results(scoring, [file]):
                yield index, outcome


@contextmanager
def running(loop: ArrivalLoop | RunLoop) -> Iterator[None]:
    """Run a loop in a thread."""
    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        loop.stopped.set()
        thread.join()


@contextmanager
def looping(found: Served, executor: Slow) -> Iterator[None]:
    """Run the loop of arrivals in a thread."""
    arrivals, errors = Arrivals(found.store, found.service.followed, executor), list[str]()

    def score(track: str, teams: frozenset[str], go_on: Callable[[], bool]) -> None:
        challenge = found.live.challenge
        list(arrivals.scored(challenge, challenge.track(track), teams, go_on))

    with running(ArrivalLoop(found.store, errors.append, score)):
        yield
    assert not errors


def test_runs_render_when_the_site_would_change_and_follow_decisions(found: Served) -> None:
    """A run leaves what was just handed in to the other loop."""
    runs: list[object] = []
    renders: list[object] = []
    loop = RunLoop(
        found.store,
        runs.append,
        found.live.challenge,
        lambda _: runs.append(found.store.read(lambda view: view.count_events())),
        lambda: renders.append(found.store.read(lambda view: view.revision)),
        every=3600,
    )
    with running(loop):
        until(lambda: renders)
        assert len(runs) == 1
        arrived = found.accept("amber", GOOD)
        found.run()  # as the loop of arrivals
        until(lambda: len(renders) > 1)
        assert len(runs) == 1
        amended = {key: arrived.values[key] for key in ("file", "digest", "received")}
        found.store.record(lambda _: [("main", "amendment", {**amended, "reason": "a test"})])
        until(lambda: len(runs) > 1)
    (state,) = found.service.followed.submissions("main", "amber")
    assert is_fresh(state, found.now)
    assert not is_fresh(state, day(12))


def test_a_long_run_is_cut_so_that_the_site_follows(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run goes on at once."""
    monkeypatch.setattr("scorer.organising.watch.SLICE_OF_RUN", 0.1)
    for number in range(10):
        found.live.put(f"amber/{number}.txt", different(number), found.now)
    done: list[str] = []
    rendered: list[int] = []

    def run(go_on: GoOn) -> None:
        work = plan(found.store, found.live.challenge, found.live.track)
        done.extend(submission.file for submission, _ in carry_out(found.store, work, Slow(), go_on))

    loop = RunLoop(found.store, done.append, found.live.challenge, run, lambda: rendered.append(len(done)), every=3600)
    with running(loop):
        until(lambda: len(done) == 10)
    assert [count for count in rendered if 0 < count < 10]


def test_an_error_that_stays_is_printed_once(found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop tries again, and goes on once the error is gone."""
    monkeypatch.setattr("scorer.organising.watch.SLICE", 0.01)
    said: list[str] = []
    tried: list[int] = []

    def fail(_track: str, _teams: frozenset[str], _go_on: GoOn) -> None:
        tried.append(len(tried))
        if len(tried) < 5:
            raise ChallengeError("challenge.toml: not TOML")

    found.accept("amber", GOOD)
    with running(ArrivalLoop(found.store, said.append, fail)):
        until(lambda: len(tried) >= 5)
    assert said == ["challenge.toml: not TOML"]


class TestDisk:
    """A disk that is full."""

    @pytest.mark.parametrize("function", ["write", "fsync"])
    def test_an_upload_is_507_and_leaves_nothing(
        self, found: Served, monkeypatch: pytest.MonkeyPatch, function: str
    ) -> None:
        """Whenever it is full."""
        found.headers("amber")

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            if function == "fsync":
                patch.setattr(os, "fsync", full)
            else:
                patch.setattr("scorer.service.uploads._sync", full)
            answer = found.put("amber", GOOD)
        assert (answer.status_code, problem(answer)) == (507, "disk-full")
        assert found.files() == []
        assert found.put("amber", GOOD).status_code == 201

    def test_an_upload_that_does_not_fit_is_refused_before_a_byte_is_stored(
        self, found: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Room stays for the database and the site."""
        monkeypatch.setattr("scorer.service.uploads.RESERVE", 1 << 60)
        answer = found.put("amber", GOOD)
        assert (answer.status_code, problem(answer)) == (507, "disk-full")
        assert found.client.get("/readyz").status_code == 503

    def test_a_disk_that_is_full_while_it_is_recorded(self, small_disk: Path) -> None:
        """The event cannot be written: nothing is accepted, and it works again once there is room."""
        delivery = str(uuid.uuid4())
        with served(Live.graded(small_disk / "live")) as opened, pytest.MonkeyPatch.context() as patch:
            patch.setattr("scorer.service.uploads.RESERVE", 0)
            opened.headers("amber")
            filler = small_disk / "filler"
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            answer = opened.put("amber", GOOD * 100, delivery)
            assert answer.status_code in (503, 507), answer.text
            assert opened.live.events("arrival") == []
            filler.unlink()
            assert opened.put("amber", GOOD, delivery).status_code == 201
            opened.run()
            assert opened.entry("amber", delivery)["state"] == "scored"
