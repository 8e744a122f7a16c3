"""``scorer render``: the site from the stored results."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import open_challenge
from scorer.cli.console import print_result


def render(folder: Path) -> int:
    """Render the site from the stored results, without scoring."""
    from scorer.organising.run import render as render_site
    from scorer.store.store import Store

    challenge, _ = open_challenge(folder, None)
    with Store.open(challenge.database_address, create=False) as store:
        print_result(str(render_site(challenge, store)))
    return 0
