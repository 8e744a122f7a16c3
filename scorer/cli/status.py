"""``scorer status``: where a challenge stands."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import opened
from scorer.cli.console import say


def status(folder: Path) -> int:
    """Print the state of a challenge: entries of each track, and the last run and render."""
    from scorer.organising.status import status as status_lines
    from scorer.store.store import Store

    challenge, _ = opened(folder, None)
    with Store.open(challenge.database_address, create=False) as store:
        for line in status_lines(challenge, store):
            say(line)
    return 0
