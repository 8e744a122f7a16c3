"""Watching: a challenge is run again and again, by two loops in two processes that share only the database.

The loop of arrivals scores what is handed in at once, at the cost of the entries of its teams. The loop of runs looks
into the folders, scores all else, and renders the site. If both score a submission, the first result is stored.
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from scorer.challenge.phases import Phase
from scorer.challenge.settings import Challenge
from scorer.errors import ScorerError
from scorer.executors import GoOn
from scorer.live.presence import SERVICE, SubmissionState
from scorer.live.state import track_state
from scorer.store.database import ReplacedError
from scorer.store.events import Event
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store

LOOK_EVERY = 0.2
"""Seconds between two looks at the database."""

SLICE = 1.0
"""Seconds after which a loop begins no further file if others were recorded meanwhile: each team has its turn."""

SLICE_OF_RUN = 5.0
"""Seconds after which a run begins no further file, so that the site is rendered; then the next run goes on."""

PAUSE = 9.0
"""A run begins at the earliest after so many times the time that the last one took, unless something was decided."""

FRESH, FRESH_FAILURE = timedelta(hours=1), timedelta(seconds=60)
"""How long a run leaves what was handed in to the loop of arrivals: two loops at once would delay all teams. What has
failed is tried again by a run.
"""

AT_ONCE = timedelta(seconds=3)
"""How long a render waits for the score of what was just handed in."""

_FEW = 20
"""The last events that a render looks at for that."""

_OF_RUNS = ("arrival", "return", "team", "phases")
"""The kinds of events that a run records of what it finds in the folder of the challenge, and takes into account."""

_OF_NO_RUN = ("basis", "pick", "token", "withdrawal", "reveal")
"""The kinds of events after which nothing else has to be scored."""

ENDS_WITH_PARENT = "SCORER_ENDS_WITH_PARENT"
"""The environment variable with the process of a service: the loop ends if the service does, however that happens."""


@dataclass
class Loop:
    """What both loops share."""

    store: Store
    report: Callable[[str], object]
    """Prints the message of an error, after which everything is tried again."""
    stopped: threading.Event = field(default_factory=threading.Event, kw_only=True)
    _last: str = field(default="", init=False)
    """The last message of an error."""

    def count(self) -> int:
        """The number of events; 0 if they cannot be read."""
        found = [0]
        self.succeeds(lambda: found.append(self.store.read(Snapshot.count_events)))
        return found[-1]

    def since(self, known: int) -> Sequence[Event]:
        """The events after so many."""
        if self.count() == known:
            return ()
        found: list[Event] = []
        self.succeeds(lambda: found.extend(self.store.read(lambda view: view.all_events[known:])))
        return found

    def slice(self, *, is_alone: bool) -> GoOn:
        """Whether to begin another file: not once a slice of time has passed, if others wait or were recorded since."""
        began, recorded = time.monotonic(), self.count()

        def go_on() -> bool:
            if self.stopped.is_set():
                return False
            return time.monotonic() - began < SLICE or (is_alone and self.count() == recorded)

        return go_on

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
            _add_teams(teams, events)
            if not teams:
                self.stopped.wait(LOOK_EVERY)
                continue
            for track, named in list(teams.items()):
                go_on = self.slice(is_alone=len(teams) == 1)
                if self.succeeds(partial(self.score, track, frozenset(named), go_on)) and go_on():
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
        while not self.stopped.is_set():
            state = self._state()
            if known and state is not None and state != shown and self.succeeds(self.render):
                shown = state
            events = self.since(known)
            known += len(events)
            began = time.monotonic()
            if began < run_at and not any(_needs_run(event) for event in events):
                self.stopped.wait(LOOK_EVERY)
                continue
            was_cut = self._run()
            events = self.since(known)
            if not any(_needs_run(event) and event.kind not in _OF_RUNS for event in events):
                known += len(events)
            ended = time.monotonic()
            run_at = ended if was_cut else ended + max(self.every, PAUSE * (ended - began))

    def _run(self) -> bool:
        """Run all tracks for a slice of time; return whether files are left."""
        end, was_cut = time.monotonic() + SLICE_OF_RUN, False

        def go_on() -> bool:
            nonlocal was_cut
            was_cut = was_cut or time.monotonic() > end
            return not was_cut and not self.stopped.is_set()

        self.succeeds(lambda: self.run(go_on))
        return was_cut

    def _state(self) -> tuple[object, ...] | None:
        """What decides whether the site may have to be rendered; None if it cannot be read, or will change at once."""
        found: list[tuple[object, ...] | None] = []
        self.succeeds(lambda: found.append(self.store.read(self._read_state)))
        return found[0] if found else None

    def _read_state(self, view: Snapshot) -> tuple[object, ...] | None:
        """The revision, and which times have passed."""
        for event in view.all_events[-_FEW:]:
            is_new = event.at is not None and view.now - event.at < AT_ONCE
            if is_new and _is_handed_in(event) and not view.has_result(event.body["digest"]):
                return None
        phases = [phase for track in self.challenge.tracks for phase in track_state(view, track).phases.all]
        passed = sum(time <= view.now for phase in phases for time in _times(phase))
        return view.revision, passed, view.now.date()


def is_fresh(state: SubmissionState, now: datetime) -> bool:
    """Whether a run leaves a submission to the loop of arrivals."""
    limit = FRESH if state.failure is None else FRESH_FAILURE
    return state.source == SERVICE and state.recorded is not None and now - state.recorded < limit


def _add_teams(teams: dict[str, set[str]], events: Iterable[Event]) -> None:
    """Add the teams that handed in files, by track."""
    for event in events:
        if _is_handed_in(event):
            teams[event.track].add(event.body["team"])


def _is_handed_in(event: Event) -> bool:
    return event.kind == "arrival" and bool(event.body["source"] == SERVICE)


def _needs_run(event: Event) -> bool:
    """Whether an event may decide what is scored, of any team."""
    return event.kind not in _OF_NO_RUN and event.body.get("source") != SERVICE


def _times(phase: Phase) -> tuple[datetime, ...]:
    times = (phase.start, phase.frozen_from, phase.end, phase.closes)
    return tuple(time for time in times if time is not None)
