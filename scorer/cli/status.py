"""``scorer status``: the state of a challenge."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import open_challenge
from scorer.cli.console import print_result


def status(challenge: Path) -> int:
    """Print the state of a challenge: entries of each track, and the last run and render."""
    from scorer.organising.status import status as status_lines
    from scorer.store.store import Store

    settings, _ = open_challenge(challenge, None)
    with Store.open(settings.database_address, create=False) as store:
        for line in status_lines(settings, store):
            print_result(line)
    return 0
