"""Rendering: the site of a challenge, from one snapshot of its database."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

from scorer.challenge.settings import Challenge
from scorer.errors import StoreError
from scorer.live.commitment import published_commitment
from scorer.live.log import published_log
from scorer.live.state import public
from scorer.live.timeline import timeline
from scorer.organising.boards import analysis_view, archived_boards, boards
from scorer.organising.picks import with_picks_problems
from scorer.organising.update import Rendered, note_shown, site_notes, site_state
from scorer.site.folder import FRONT_PAGE, write, write_first
from scorer.site.pages import site_files
from scorer.store.cache import Cache
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store


def render(
    challenge: Challenge, store: Store, *, pending: bool = False, as_of: datetime | int | None = None
) -> Rendered:
    """Write the site of a challenge, from one snapshot and without a lock on the database.

    `pending` is as for `boards`. The site shows the state of the record at `as_of`; None: that of now.
    """
    sidecar = store.sidecar(challenge.root)

    def derived(whole: Snapshot) -> tuple[int, str, str, list[str], Cache, Callable[..., Mapping[str, str | bytes]]]:
        """The revision of the snapshot and its name, the state, notes, the cache, and the function that renders the
        pages.
        """
        view = whole if as_of is None else whole.as_of(as_of)
        state = site_state(view, challenge, pending=pending)
        cache = view.cache(sidecar)
        shown = [
            replace(with_picks_problems(view, board), past=archived_boards(view, track, cache))
            for track, board in zip(
                challenge.tracks, boards(view, challenge.tracks, cache, pending=pending), strict=True
            )
        ]
        analyses = {board.track.name: analysis_view(public(view, board.track), board, cache) for board in shown}
        happened = timeline(view, challenge.tracks)
        errata = itertools.chain.from_iterable(happened.errata.values())
        log, commitment = published_log(view, challenge.tracks), published_commitment(view, challenge, errata)
        notes = [*site_notes(view, challenge)]
        files = partial(site_files, challenge, shown, analyses, cache, happened, log, commitment)
        return view.revision, view.snapshot_name(view.revision), state, notes, cache, files

    revision, name, state, notes, cache, files = store.read(derived)

    def is_later(shown_snapshot: str) -> bool:
        """Whether the site shows a state that the database had after the one rendered here."""
        return store.read(
            lambda view: shown_snapshot in map(view.snapshot_name, range(revision + 1, view.revision + 1))
        )

    def publish(first: Mapping[str, str | bytes]) -> frozenset[str]:
        """Write the boards before the other pages are rendered."""
        return write_first(first, challenge.site_path, name, is_later)

    try:
        rendered = files(publish=publish)
    finally:
        with suppress(StoreError):  # a database that cannot be written to can still be shown
            store.keep(cache)
            if as_of is None:
                sidecar.tidy()
    if write(rendered, challenge.site_path, name, is_later) is None:
        notes.append(f"{challenge.site_path}: shows a later state of the database, so nothing was written")
    elif as_of is None:
        note_shown(challenge, store, state)
    return Rendered(challenge.site_path / FRONT_PAGE, tuple(notes))
