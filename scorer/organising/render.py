"""Rendering: the boards of a challenge from one snapshot of the database, and the site from the boards."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scorer.board.board import Board
from scorer.board.build import board
from scorer.challenge.settings import Challenge, Track, check_stage
from scorer.errors import StoreError
from scorer.organising.analysis_pages import analysis_view
from scorer.organising.run import current_basis
from scorer.paths import digest
from scorer.site.folder import write
from scorer.site.pages import Analyses, site_files
from scorer.store.cache import Cache
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store


@dataclass(frozen=True, slots=True)
class Rendered:
    """A site that was rendered."""

    index: Path
    """Its first page."""
    notes: tuple[str, ...]
    """What the organiser should know about it."""


def render(challenge: Challenge, store: Store, *, pending: bool = False) -> Rendered:
    """Write the site of a challenge, from one snapshot and without a lock on the database.

    Parameters
    ----------
    challenge
        The challenge.
    store
        Its database.
    pending
        As for `boards`.

    Raises
    ------
    StoreError
        The database fails, or has no results by the current settings.
    ScorerError
        A template is invalid, or the folder of the site cannot be written.
    """

    def derived(view: Snapshot) -> tuple[int, str, list[Board], Analyses, tuple[str, ...], Cache]:
        cache = view.cache()
        shown = boards(view, challenge.tracks, cache, pending=pending)
        analyses = {board.track.name: analysis_view(view, board, cache) for board in shown}
        notes = tuple(note for track in challenge.tracks for note in _outdated(view, track))
        return view.revision, view.identity, shown, analyses, notes, cache

    revision, identity, shown, analyses, notes, cache = store.read(derived)
    try:
        files = site_files(challenge, shown, analyses, cache)
    finally:
        with suppress(StoreError):  # a database that cannot be written to can still be shown
            store.keep(cache)
    if write(files, challenge.site_path, revision, identity) is None:
        notes += (
            f"{challenge.site_path}: shows a later state of the database, so nothing was written; if you restored "
            "the database from a backup, empty this folder and render again",
        )
    return Rendered(challenge.site_path / "index.html", notes)


def boards(
    view: Snapshot, tracks: Sequence[Track], cache: Cache | None = None, *, pending: bool = False
) -> list[Board]:
    """The boards of some tracks.

    Parameters
    ----------
    view
        A snapshot of the database.
    tracks
        The tracks.
    cache
        Of the same snapshot, for the statistics; None: the boards have no statistics.
    pending
        What happens if a track has no results by its current settings: its entries wait (True), or StoreError says
        what to do (False).
    """
    found = []
    for track in tracks:
        recorded = view.recorded_basis(track.name)
        basis = current_basis(track, recorded)
        if recorded is not None and basis is not None:
            check_stage(track, int(view.flags(basis.solution).sum()))
            if not recorded.basis.has_rules_of(basis) and not pending:
                raise StoreError(
                    f"{track.name}: its settings have changed since it was scored, and it has no scores by the new "
                    "settings yet; `scorer run` computes them"
                )
        found.append(board(view, track, basis, cache))
    return found


def _outdated(view: Snapshot, track: Track) -> list[str]:
    """A note if the solution has changed since the track was scored."""
    recorded = view.recorded_basis(track.name)
    try:
        changed = recorded is not None and digest(track.solution_path) != recorded.basis.solution
    except OSError:
        return []  # a site may be rendered without the solutions
    if not changed:
        return []
    return [
        f"{track.name}: the solution has changed since the track was scored; the board shows the scores by the earlier "
        "solution; `scorer run` scores by the new one"
    ]
