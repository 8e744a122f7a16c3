"""Phases: what visitors see at each time; the possible times of receipt; and the hash of the key of a split."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import compress
from typing import Any

from scorer.record.events import bodies
from scorer.record.log import iso
from scorer.rules.phases import Extension, Phase, PhasePlace, Phases, closing, phase_rules
from scorer.rules.split import QuerySplit, share_text
from scorer.rules.tables import sentences
from scorer.settings.tracks import Track
from scorer.store.documents import VERSION, SplitDocument, SplitQueries
from scorer.store.events import Basis, FolderScan, RevealBody
from scorer.store.snapshot import Snapshot
from scorer.wording import utc_moment


def phase_lines(phases: Phases, track: Track, now: datetime, *, has_preliminary: bool) -> Iterator[str]:
    """What `scorer phases` prints of a track: its phases, the extensions, and the rules."""
    if not phases.all:
        yield f"{track.name}: no phases; entries are received at any time"
        return
    announced = phases.decisions[0].at if phases.decisions else None
    when = f"announced {utc_moment(announced)}" if announced else "not announced yet; `scorer run` records them"
    yield f"{track.name}: {when}"
    for phase in phases.all:
        yield f"  {phase.name}: {utc_moment(phase.start)} to {closing(phase, utc_moment)}: {_state(phases, phase, now)}"
    for extension in (each for each in phases.decisions if isinstance(each, Extension)):
        recorded = f"{utc_moment(extension.at)}: " if extension.at else ""
        times = f"from {utc_moment(extension.before)} to {utc_moment(extension.end)}"
        yield f"  {recorded}{extension.phase} extended {times}: {extension.reason}"
    has = {"has_late_board": track.late_board, "has_baselines": bool(track.baselines)}
    for rule in phase_rules(phases, has_preliminary=has_preliminary, **has):
        yield f"  - {rule}"


def _state(plan: Phases, phase: Phase, moment: datetime) -> str:
    if moment < phase.start:
        return "not started"
    if moment >= phase.closes:
        return "closed"
    if moment >= phase.end:
        return "ended, in its grace"
    return "open, the board is frozen" if plan.frozen_since(moment) else "open"


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


def _scope(moment: datetime, phases: Phases, track: Track) -> tuple[str | None, PhasePlace, str]:
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


def published_split(view: Snapshot, basis: Basis) -> SplitDocument | None:
    """What is public about the split of a basis; None if the solution decides which queries are preliminary."""
    split = basis.split
    if split is None:
        return None
    document = SplitDocument(
        version=VERSION, track=split.track, preliminary=share_text(split.preliminary), key_sha256=split.key_sha256
    )
    if split.clusters:
        document = document.model_copy(update={"clusters": split.clusters})
    if not is_revealed(view, split):
        return document
    ids, flags = view.queries(basis.solution).ids, view.flags(basis)
    preliminary, rest = (sorted(compress(ids, inside)) for inside in (flags, ~flags))
    queries = SplitQueries(preliminary=preliminary, rest=rest)
    return document.model_copy(update={"key": split.key.hex(), "queries": queries})


def is_revealed(view: Snapshot, split: QuerySplit) -> bool:
    """Whether the key of a split, not only an earlier key of its track, was revealed."""
    reveals = bodies(view.events(split.track), RevealBody)
    return any(reveal.split_key == split.key.hex() for _, reveal in reveals)


def has_preliminary_queries(view: Snapshot, track: Track, basis: Basis | None) -> bool:
    """Whether a track has preliminary queries; True as long as it has no basis."""
    return basis is None or track.split is not None or bool(view.flags(basis).any())


def recorded_key(view: Snapshot, track: str) -> str | None:
    """The SHA-256 of the key that the board of a track is based on; None without a board or without a split."""
    recorded = view.recorded_basis(track)
    return None if recorded is None else recorded.key_sha256


def split_rules(split: SplitDocument | None) -> tuple[str, ...]:
    """The rules on the split; none without one."""
    if split is None:
        return ()
    return sentences("split", "revealed" if split.key else "secret", share=split.preliminary)
