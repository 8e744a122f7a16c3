"""The entries of a challenge with the scores that visitors may see."""

from __future__ import annotations

from collections.abc import Sequence

from scorer.challenge.settings import Track
from scorer.entries.entries import entries
from scorer.entries.in_force import in_force
from scorer.organising.render import boards
from scorer.organising.rules import current_basis
from scorer.reports.entries import TrackEntries
from scorer.store.snapshot import Snapshot


def listed_entries(view: Snapshot, tracks: Sequence[Track]) -> list[TrackEntries]:
    """The entries of some tracks, each with the public board of its track.

    Raises StoreError if the database fails.
    """
    return [
        TrackEntries(entries(view, in_force(view, track), current_basis(view, track), measures=()).all, board)
        for track, board in zip(tracks, boards(view, tracks, pending=True), strict=True)
    ]
