"""Times of receipt: which are possible, and which ones a scan of the folder contradicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from scorer.challenge.settings import Track
from scorer.live.phases import Phases, Place
from scorer.store.canonical import iso
from scorer.store.records import FolderScan

FIRST_RECEIPT = datetime(1990, 1, 1, tzinfo=UTC)
"""The earliest time of receipt that is possible."""

CLOCK_SKEW = timedelta(minutes=5)
"""How far a time of receipt may be after the time at which it is recorded: clocks differ."""


def is_misdated(received: datetime, recorded: datetime | None) -> bool:
    """Whether a time of receipt is impossible: before 1990, or after it was recorded (None: unknown)."""
    return received < FIRST_RECEIPT or (recorded is not None and received > recorded + CLOCK_SKEW)


def precedes_phases(received: datetime, announcement: datetime | None) -> bool:
    """Whether a submission that is recorded after the first phases were announced claims to be from before that."""
    return announcement is not None and received < announcement - CLOCK_SKEW


def is_backdated(received: datetime, absent_at: datetime | None, phases: Phases, track: Track) -> bool:
    """Whether the stated time gives an entry another phase or day than the last scan that did not find its file.

    As the phase itself, this follows from the phases in force: if a phase is extended beyond that scan, the entry is in
    it by both times.
    """
    if track.trusted_times or absent_at is None or received >= absent_at:
        return False
    return _scope(received, phases, track) != _scope(absent_at, phases, track)


def _scope(moment: datetime, phases: Phases, track: Track) -> tuple[str | None, Place, str]:
    """What the rules make of a time of receipt: the phase, the place, and the day of the quota where it counts."""
    phase, place = phases.place(moment)
    return phase, place, track.quota.day(moment) if track.quota.counts_days and place == "ok" else ""


@dataclass(frozen=True, slots=True)
class NewScan:
    """A scan of the folder of a track that is about to be stored. Another run may have stored one meanwhile."""

    at: datetime
    unread: Collection[str] | None
    """The marks of what cannot be recorded now; None: it may be the wrong folder, so that the last scan stays."""
    earlier: FolderScan | None
    """The last scan when this one began."""

    def stored_after(self, last: FolderScan | None) -> FolderScan | None:
        """What to store of it; None: the last scan stays."""
        if self.unread is None or not self._follows(last):
            return None
        return FolderScan(self.at, {mark: self._lacked(last, mark) for mark in self.unread})

    def completed(self, last: FolderScan | None, arrival: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of an arrival, with the last scan that did not find the file."""
        file, digest = arrival["file"], arrival["digest"]
        since = self._lacked(last, file, folder_of(file), content_mark(file, digest))
        return arrival if since is None else {**arrival, "absent_at": iso(since)}

    def _follows(self, last: FolderScan | None) -> bool:
        return last is None or last == self.earlier or last.at <= self.at

    def _lacked(self, last: FolderScan | None, *marks: str) -> datetime | None:
        """The last scan before this one that did not list a file with these marks; None without one."""
        before = last if self._follows(last) else self.earlier
        if before is None:
            return None
        since = next((before.unread[mark] for mark in marks if mark in before.unread), before.at)
        return since and min(since, self.at)  # the clock may have been set back


def folder_of(file: str) -> str:
    """The path of the folder of a file."""
    return file.rpartition("/")[0]


def content_mark(file: str, digest: str) -> str:
    """The mark of a content under any name in the folder of a file. No path has two slashes."""
    return f"{folder_of(file)}//{digest}"
