"""The phases of tracks as lines of text, with the rules on times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from scorer.board.live_rules import phase_rules
from scorer.challenge.phases import Phase
from scorer.challenge.settings import Track
from scorer.entries.in_force import has_preliminary_queries, track_schedule
from scorer.entries.schedule import Schedule
from scorer.store.snapshot import Snapshot
from scorer.wording import utc_moment


def phase_lines(view: Snapshot, tracks: Sequence[Track]) -> list[str]:
    """Return what `scorer phases` prints: for each track its phases, the extensions, and the rules.

    Raises StoreError if the database fails.
    """
    return [
        line
        for track in tracks
        for line in _lines(
            track,
            track_schedule(view, track),
            view.now,
            has_preliminary=has_preliminary_queries(view, track, view.recorded_basis(track.name)),
        )
    ]


def lines_without_record(tracks: Sequence[Track], moment: datetime) -> list[str]:
    """Return the same for a challenge without a database, by its settings."""
    return [line for track in tracks for line in _lines(track, Schedule(track.phases), moment, has_preliminary=True)]


def _lines(track: Track, plan: Schedule, moment: datetime, *, has_preliminary: bool) -> Iterator[str]:
    if not plan.phases:
        yield f"{track.name}: no phases; entries are received at any time"
        return
    announced = plan.announcements[0].at if plan.announcements else None
    when = f"announced {utc_moment(announced)}" if announced else "not announced yet; `scorer run` records them"
    yield f"{track.name}: {when}"
    for phase in plan.phases:
        yield f"  {phase.name}: {utc_moment(phase.start)} to {utc_moment(phase.end)}, {_state(plan, phase, moment)}"
    for each in plan.extensions:
        recorded = f"{utc_moment(each.at)}: " if each.at else ""
        yield (
            f"  {recorded}{each.phase} extended from {utc_moment(each.before)} to {utc_moment(each.end)}: {each.reason}"
        )
    for rule in phase_rules(plan, track, has_preliminary=has_preliminary):
        yield f"  - {rule}"


def _state(plan: Schedule, phase: Phase, moment: datetime) -> str:
    if moment < phase.start:
        return "not started"
    if moment >= phase.closes:
        return "closed"
    if moment >= phase.end:
        return "ended, in its grace"
    return "open, the board is frozen" if plan.frozen_since(moment) else "open"
