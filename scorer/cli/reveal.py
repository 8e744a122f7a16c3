"""``scorer reveal``: publish which queries were preliminary."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from scorer.cli.arguments import add_challenge, add_track, open_challenge
from scorer.cli.console import print_result


def add_revealed(parser: ArgumentParser) -> None:
    """Add the arguments of ``reveal``."""
    add_track(parser)
    add_challenge(parser)


def reveal(track: str | None, challenge: Path) -> int:
    """Publish the keys of the splits, which show which queries were preliminary. This cannot be undone.

    The decision is recorded. Anybody can then verify the split with `scorer verify split`. A track that does not show
    its final scores yet is refused, and then no key is published.
    """
    from scorer.organising.splits import reveal as reveal_keys
    from scorer.store.store import Store

    settings, tracks = open_challenge(challenge, track)
    with Store.open(settings.database_address, create=False) as store:
        for each in reveal_keys(settings, store, tracks):
            state = "is revealed; `scorer render` publishes it" if each.is_new else "was revealed before"
            print_result(f"{each.track}: the key with the SHA-256 {each.key_sha256} {state}")
    return 0
