"""The entries of a challenge with the scores that visitors may see."""

from __future__ import annotations

from collections.abc import Sequence

from scorer.challenge.settings import Track
from scorer.organising.render import boards
from scorer.organising.rules import track_entries
from scorer.reports.entries import TrackEntries
from scorer.store.snapshot import Snapshot


def listed_entries(view: Snapshot, tracks: Sequence[Track]) -> list[TrackEntries]:
    """The entries of some tracks, each with the public board of its track.

    Raises StoreError if the database fails.
    """
    return [
        TrackEntries(tuple(track_entries(view, track).values()), board)
        for track, board in zip(tracks, boards(view, tracks, pending=True), strict=True)
    ]
