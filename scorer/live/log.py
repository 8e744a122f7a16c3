"""The log: a line for each event of the record that visitors may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scorer.challenge.settings import Track
from scorer.live.state import public_to_all
from scorer.store.log import LogLine, log_lines
from scorer.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PublishedLog:
    """The log as visitors may see it."""

    lines: tuple[LogLine, ...] = ()
    """By index, from 1; empty before the first event."""

    @property
    def head(self) -> LogLine | None:
        """The last line; None without an event."""
        return self.lines[-1] if self.lines else None

    def line(self, index: int) -> LogLine | None:
        """The line of an event; None if visitors may not see it yet."""
        return self.lines[index - 1] if 1 <= index <= len(self.lines) else None


NO_LOG = PublishedLog()


def published_log(view: Snapshot, tracks: Iterable[Track]) -> PublishedLog:
    """The log of a challenge. While a track is frozen, it ends with the last event before the freeze."""
    shown = public_to_all(view, tracks)
    return PublishedLog(tuple(log_lines(view.secret("log"), shown.all_events[: shown.last_index])))
