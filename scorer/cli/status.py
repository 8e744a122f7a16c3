"""``scorer status``: the state of a challenge."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import open_store
from scorer.cli.console import print_result


def status(challenge: Path) -> int:
    """Print the state of a challenge: entries of each track, and the last run and render."""
    from scorer.organising.status import status as status_lines

    with open_store(challenge) as (settings, _, store):
        print_result(*status_lines(settings, store))
    return 0
