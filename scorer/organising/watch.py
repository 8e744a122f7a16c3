"""Watching: runs, one after the other, whenever something has changed; the site is rendered meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from scorer.challenge.phases import Phase
from scorer.challenge.settings import Challenge
from scorer.errors import ScorerError
from scorer.live.state import track_state
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store

LOOK_EVERY = 0.2
"""Seconds between two looks at the database."""

SCAN_EVERY = 10.0
"""Seconds after which a run looks into the folders of submissions, if nothing was recorded."""

SLICE = 1.0
"""Seconds after which a run begins no further file if others were recorded meanwhile: each team has its turn."""


@dataclass
class Watch:
    """Runs a challenge until it is stopped."""

    challenge: Challenge
    store: Store
    run: Callable[[Callable[[], bool]], object]
    """Scores all tracks once; begins no further file once the function that it is given is false."""
    render: Callable[[], object]
    """Updates the site. It is called in another thread."""
    report: Callable[[str], object]
    """Prints the message of an error, after which everything is tried again."""
    scan_every: float = SCAN_EVERY
    stopped: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        """Run and render until `stopped` is set."""
        rendering = threading.Thread(target=self._render, name="render")
        rendering.start()
        try:
            while not self.stopped.is_set():
                scanned_at, recorded = time.monotonic(), self._recorded()
                self._succeeds(lambda: self.run(self._go_on()))
                while not self.stopped.wait(LOOK_EVERY):
                    is_due = time.monotonic() - scanned_at >= self.scan_every
                    if is_due or self._recorded() != recorded:
                        break
        finally:
            self.stopped.set()
            rendering.join()

    def _go_on(self) -> Callable[[], bool]:
        """Whether a run may begin another file: not once it has had its slice, and others were recorded since."""
        began, recorded = time.monotonic(), self._recorded()

        def go_on() -> bool:
            if self.stopped.is_set():
                return False
            return time.monotonic() - began < SLICE or self._recorded() == recorded

        return go_on

    def _render(self) -> None:
        shown: object = None
        while True:
            state = self._read(self._shown)
            if state != shown and self._succeeds(self.render):
                shown = state
            if self.stopped.wait(LOOK_EVERY):
                return

    def _recorded(self) -> object:
        """The number of events; None if it cannot be read."""
        return self._read(Snapshot.count_events)

    def _shown(self, view: Snapshot) -> object:
        """What decides whether the site may have to be rendered: the revision, and which times have passed."""
        tracks = [track_state(view, track).phases for track in self.challenge.tracks]
        times = (time for phases in tracks for phase in phases.all for time in _times(phase))
        return view.revision, sum(time <= view.now for time in times), view.now.date()

    def _read(self, work: Callable[[Snapshot], object]) -> object:
        found: list[object] = []
        self._succeeds(lambda: found.append(self.store.read(work)))
        return found[0] if found else None

    def _succeeds(self, work: Callable[[], object]) -> bool:
        """Do some work; after an error that may pass, print its message, and wait a little."""
        try:
            work()
        except (ScorerError, OSError) as error:
            self.report(str(error))
            self.stopped.wait(SLICE)
            return False
        return True


def _times(phase: Phase) -> tuple[datetime, ...]:
    times = (phase.start, phase.frozen_from, phase.end, phase.closes)
    return tuple(time for time in times if time is not None)
