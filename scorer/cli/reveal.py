"""``scorer reveal``: publish the keys of splits and the opening of the commitment."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import Parser, add_challenge, add_track, open_store
from scorer.cli.console import print_result


def add_revealed(parser: Parser) -> None:
    """Add the arguments of ``reveal``."""
    add_track(parser)
    add_challenge(parser)


def reveal(track: str | None, challenge: Path) -> int:
    """Publish the keys of the splits, and the opening of the commitment. This cannot be undone.

    The keys show which queries were preliminary; the opening shows to what `scorer commit` committed, with the SHA-256
    of each solution. The decision is recorded. Anybody can then verify both with `scorer verify`. While a track
    does not show its final scores, nothing is published; with --track, only the key of one track is.
    """
    from scorer.organising.commitment import reveal as reveal_all

    with open_store(challenge, track) as (settings, tracks, store):
        for key in reveal_all(settings, store, tracks):
            state = "is revealed; `scorer render` publishes it" if key.is_new else "was revealed before"
            what = f"{key.track}: the key" if key.track else "the commitment"
            print_result(f"{what} with the SHA-256 {key.sha256} {state}")
    return 0
