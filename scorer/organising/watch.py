"""Watching: a challenge is run again and again, by two loops in two processes that share only the database.

The loop of arrivals scores what is handed in at once, at the cost of the entries of its teams. The loop of runs looks
into the folders, scores all else, and renders the site. Both score in waves, until no entry waits for the outcome of
another one.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from scorer.errors import ScorerError
from scorer.limits import MB, Limits
from scorer.live.entry import SERVICE, SubmissionState, key_of
from scorer.live.now import Now
from scorer.organising.files import SubmissionFile, WithFile
from scorer.organising.rules import RuleSet
from scorer.record.events import ArrivalBody, Event, FileBody, Key, bodies
from scorer.rules.picks import PickBody
from scorer.scoring.executors import GoOn, always
from scorer.scoring.outcomes import Failed
from scorer.settings.tracks import Challenge
from scorer.store.database import ReplacedError
from scorer.store.events import Submission
from scorer.store.sidecar import Archive, SourceError, chunks_up_to
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import printable_name

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.scoring.executors.base import Executor, FileOutcome


_Answer = TypeVar("_Answer")

STORE_EVERY = 0.5
"""Seconds between two transactions that store results."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the bytes of submissions are: in the folder of the track, or kept by their digests."""

    files: tuple[WithFile, ...]
    """All submissions in the folder."""
    kept: Archive
    keeps_more: bool
    """Whether the bytes of what is scored are kept, so that it can be scored again without its file."""
    limits: Limits

    @property
    def digests(self) -> frozenset[str]:
        """Of all submissions that can be scored."""
        return frozenset((*(submission.digest for _, submission in self.files), *self.kept.digests()))

    def pending(self, unscored: Iterable[SubmissionState]) -> tuple[WithFile, ...]:
        """The submissions without an outcome that can be scored, with their files, or else with their kept bytes.

        Teams take turns: first one submission of each team, in the order of the record, then the second ones. So many
        files of one team do not delay those of the others. What has failed before, as by its time, comes last.
        """
        states = list(unscored)
        digests = {state.submission.digest for state in states}
        files = [each for each in self.files if each[1].digest in digests] if states else []
        by_key = {key_of(submission): (file, submission) for file, submission in files}
        by_digest = {submission.digest: (file, submission) for file, submission in files}
        wanted: dict[Key, tuple[bool, WithFile]] = {}
        for state in states:
            recorded = state.submission
            # A name that schema 1 recorded escaped is found by the content.
            source = by_key.get(key_of(recorded)) or by_digest.get(recorded.digest)
            if source is None and recorded.digest in self.kept:
                path = self.kept.file(recorded.digest)
                source = SubmissionFile(path, recorded.file, recorded.team, recorded.received, None), recorded
            if source is not None:
                wanted[key_of(source[1])] = state.failure is not None, source
        turns: Counter[str] = Counter()
        in_turn: list[tuple[bool, int, WithFile]] = []
        for has_failed, source in wanted.values():
            turns[source[1].team] += 1
            in_turn.append((has_failed, turns[source[1].team], source))
        return tuple(source for *_, source in sorted(in_turn, key=lambda turn: turn[:2]))

    @contextmanager
    def keeping(self, files: Collection[WithFile]) -> Iterator[Callable[[str], str]]:
        """Keep the bytes of files, in threads. Raises StoreError.

        Yields a function that waits for the bytes with a digest, and returns why they cannot be kept; empty if they
        are.
        """
        new = {
            submission.digest: file
            for file, submission in files
            if self.keeps_more and submission.digest not in self.kept
        }
        if not new:
            yield lambda _: ""
            return
        pool, most = ThreadPoolExecutor(os.cpu_count() or 1), self.limits.file_mb * MB
        with self.kept.adding() as add:
            copies = {digest: pool.submit(add, chunks_up_to(file.path, most), digest) for digest, file in new.items()}

            def why_not(digest: str) -> str:
                try:
                    if digest in copies:
                        copies[digest].result()
                except SourceError as error:
                    return str(error)
                return ""

            try:
                yield why_not
            finally:
                pool.shutdown(cancel_futures=True)

    def keep(self, files: Collection[WithFile]) -> list[str]:
        """Keep the bytes of files; return which cannot be kept, and why. Raises StoreError."""
        with self.keeping(files) as why_not:
            return [
                f"{printable_name(submission.file)}: its bytes are not kept yet: {reason}"
                for _, submission in files
                if (reason := why_not(submission.digest))
            ]


def score_queue(
    store: Store,
    rules: RuleSet,
    unscored: Callable[[Snapshot], Iterable[SubmissionState]],
    first: Iterable[SubmissionState],
    sources: Sources,
    solution: Solution,
    executor: Executor | None,
    go_on: GoOn = always,
) -> Iterator[tuple[Submission, FileOutcome]]:
    """Score entries by some rules, one wave after the other, until no entry can be scored or `go_on` is false.

    The record is the queue: `unscored` returns those without an outcome as of a snapshot that wait for no other entry.
    `first` are the entries of the first wave. Yields each submission with its outcome, once it is stored. Its bytes are
    kept before: those that are scored, because both have the digest of the submission.
    """
    from scorer.scoring.executors.base import FileToScore, Processes, Scoring  # noqa: PLC0415 (Arrow is slow to load)

    queries = rules.store_solution(store, solution)
    solution = solution.with_parts(flagged=rules.basis.flags(queries))
    scoring = Scoring(solution, rules.rules, sources.limits)
    chosen = executor or Processes(os.cpu_count() or 1)
    wave, tried = sources.pending(first), set[str]()
    while wave:
        tried.update(submission.digest for _, submission in wave)
        to_score = [FileToScore(file.path, submission.digest) for file, submission in wave]
        done: list[tuple[Submission, FileOutcome]] = []
        stored_at = time.monotonic()
        # Closing it ends the work if the database fails or the caller stops.
        with (
            sources.keeping(wave) as why_not,
            closing(chosen.results(scoring, to_score, go_on)) as outcomes,
        ):
            for position, outcome in outcomes:
                submission = wave[position][1]
                reason = why_not(submission.digest)
                done.append((submission, Failed(reason) if reason else outcome))
                if time.monotonic() - stored_at > STORE_EVERY:
                    store.store_results([(stored.digest, result) for stored, result in done], rules.basis)
                    yield from done
                    done, stored_at = [], time.monotonic()
        store.store_results([(stored.digest, result) for stored, result in done], rules.basis)
        yield from done
        if not go_on() or not rules.track.quota.limits_anything:  # without a quota, no entry waits for another one
            return
        wave = tuple(source for source in sources.pending(store.read(unscored)) if source[1].digest not in tried)


LOOK_EVERY = 0.05
"""Seconds between two looks at the number of events, or of writes."""

SLICE = 1.0
"""Seconds after which a loop begins no further file if others were recorded meanwhile: each team has its turn."""

SLICE_OF_RUN = 5.0
"""Seconds after which a run begins no further file, so that the site is rendered; then the next run goes on."""

_PAUSE = 9.0
"""A run begins at the earliest after so many times the time that the last one took, unless something was decided."""

FRESH, FRESH_FAILURE = timedelta(hours=1), timedelta(seconds=60)
"""How long a run leaves what was handed in to the loop of arrivals: two loops at once would delay all teams. What has
failed is tried again by a run.
"""

_AT_ONCE = timedelta(seconds=3)
"""How long a render waits for the score of what was just handed in."""

_FEW = 20
"""The last events that a render looks at for that."""

_OF_RUNS = ("arrival", "return", "team", "phases")
"""The kinds of events that a run records of what it finds in the folder of the challenge, and takes into account."""

_OF_NO_RUN = ("basis", "pick", "token", "withdrawal", "reveal", "log")
"""The kinds of events after which nothing else has to be scored."""

ENDS_WITH_PARENT = "SCORER_ENDS_WITH_PARENT"
"""The environment variable with the process of a service: the loop ends if the service does, however that happens."""


ALIVE, ALIVE_EVERY, PAUSED_AFTER = "*", 30.0, timedelta(minutes=3)
"""In the place of a track, when a loop last noted that it runs; after how many seconds it notes that again; and for how
long it may not do so."""


def paused_since(view: Snapshot, track: str) -> datetime | None:
    """When a loop last ran, if it has not run for `PAUSED_AFTER`; None if it runs, or runs are begun in another way."""
    alive, ran = view.last_run(ALIVE), view.last_run(track)
    if alive is None or view.now - alive < PAUSED_AFTER or (ran is not None and ran - alive > PAUSED_AFTER):
        return None
    return alive


@dataclass
class Loop:
    """What both loops share."""

    store: Store
    report: Callable[[str], object]
    """Prints the message of an error, after which everything is tried again."""
    stopped: threading.Event = field(default_factory=threading.Event, kw_only=True)
    _last: str = field(default="", init=False)
    """The last message of an error."""
    _note_at: float = field(default=-math.inf, init=False)

    def read(self, work: Callable[[Snapshot], _Answer], otherwise: _Answer) -> _Answer:
        """The result of `work`, which reads one snapshot; `otherwise` if it cannot be read."""
        answers: list[_Answer] = []
        self.succeeds(lambda: answers.append(self.store.read(work)))
        return answers[0] if answers else otherwise

    def count(self) -> int:
        """The number of events; 0 if they cannot be read."""
        return self.read(Snapshot.count_events, 0)

    def note_alive(self) -> None:
        """Note that the loop runs, unless it has just done so."""
        if time.monotonic() >= self._note_at:
            self._note_at = time.monotonic() + ALIVE_EVERY
            self.succeeds(partial(self.store.note_run, ALIVE))

    def since(self, known: int) -> Sequence[Event]:
        """The events after so many."""
        return () if self.count() == known else self.read(lambda view: view.all_events[known:], ())

    def succeeds(self, work: Callable[[], object]) -> bool:
        """Do some work; after an error, wait a little, and print its message unless it was the last one.

        Raises ReplacedError: what the loop would record is lost.
        """
        try:
            work()
        except ReplacedError:
            raise
        except (ScorerError, OSError) as error:
            if str(error) != self._last:
                self._last = str(error)
                self.report(self._last)
            self.stopped.wait(SLICE)
            return False
        return True


@dataclass
class _Slice:
    """A slice of the time of a loop: once it is over, no further file is begun."""

    loop: Loop
    seconds: float
    recorded: int | None = None
    """It is prolonged until the record has more events than these; None: it is not."""
    began: float = field(default_factory=time.monotonic)
    is_over: bool = False

    def goes_on(self) -> bool:
        """Whether to begin another file."""
        if not self.is_over and time.monotonic() - self.began > self.seconds:
            self.is_over = self.recorded is None or self.loop.count() != self.recorded
        return not self.is_over and not self.loop.stopped.is_set()


@dataclass
class ArrivalLoop(Loop):
    """Scores what teams hand in."""

    score: Callable[[str, frozenset[str], GoOn], object]
    """Scores the entries of some teams of a track that were handed in."""

    def __call__(self) -> None:
        """Score until `stopped` is set, beginning with what is there."""
        known = 0
        teams: dict[str, set[str]] = defaultdict(set)
        while not self.stopped.is_set():
            events = self.since(known)
            known += len(events)
            for event, arrival in _handed_in(events):
                teams[event.track].add(arrival.team)
            if not teams:
                self.stopped.wait(LOOK_EVERY)
                continue
            for track, named in list(teams.items()):
                turn = _Slice(self, SLICE, self.count() if len(teams) == 1 else None)
                if self.succeeds(partial(self.score, track, frozenset(named), turn.goes_on)) and turn.goes_on():
                    del teams[track]


@dataclass
class RunLoop(Loop):
    """Runs all tracks when something was decided, and else from time to time; renders the site when it would change."""

    challenge: Challenge
    run: Callable[[GoOn], object]
    """Scores all tracks once."""
    render: Callable[[], object]
    """Updates the site."""
    every: float
    """Seconds after which a run looks into the folders, if nothing was decided."""

    def __call__(self) -> None:
        """Run and render until `stopped` is set."""
        known, run_at, shown = 0, -math.inf, None
        revision: int | None = None
        look_at = -math.inf
        while not self.stopped.is_set():
            last, revision = revision, self.read(lambda view: view.revision, None)
            if revision is not None and revision == last and time.monotonic() < min(run_at, look_at):
                self.stopped.wait(LOOK_EVERY)
                continue
            look_at = time.monotonic() + SLICE
            state = self.read(self._state, None)
            if known and state is not None and state != shown:
                self.succeeds(self.render)  # after an error, it is tried again after the next run
                shown = state
            events = self.since(known)
            known += len(events)
            began = time.monotonic()
            if began < run_at and not any(_needs_run(event) for event in events):
                continue
            shown = None  # files that pages depend on may have changed
            turn = _Slice(self, SLICE_OF_RUN)
            self.succeeds(partial(self.run, turn.goes_on))
            events = self.since(known)
            if not any(_needs_run(event) and event.kind not in _OF_RUNS for event in events):
                known += len(events)
            ended = time.monotonic()
            run_at = ended if turn.is_over else ended + max(self.every, _PAUSE * (ended - began))

    def _state(self, view: Snapshot) -> tuple[object, ...] | None:
        """The revision and the time, by which the site may have to be rendered; None if it will change at once."""
        for event, arrival in _handed_in(view.all_events[-_FEW:]):
            is_new = event.at is not None and view.now - event.at < _AT_ONCE
            if is_new and not view.has_result(arrival.digest):
                return None
        passed = [len(Now.of(view, track).phases.passed(view.now)) for track in self.challenge.tracks]
        return view.revision, passed, view.now.date()


def is_fresh(state: SubmissionState, now: datetime) -> bool:
    """Whether a run leaves a submission to the loop of arrivals."""
    limit = FRESH if state.failure is None else FRESH_FAILURE
    return state.source == SERVICE and state.recorded is not None and now - state.recorded < limit


def _handed_in(events: Iterable[Event]) -> Iterator[tuple[Event, ArrivalBody]]:
    return ((event, arrival) for event, arrival in bodies(events, ArrivalBody) if arrival.source == SERVICE)


def _needs_run(event: Event) -> bool:
    """Whether an event may decide what is scored, of any team."""
    is_of_service = isinstance(event.body, FileBody | PickBody) and event.body.source == SERVICE
    return event.kind not in _OF_NO_RUN and not is_of_service
