"""``scorer render``: the site from what is kept."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import opened
from scorer.cli.console import say


def render(folder: Path) -> int:
    """Render the site from what is kept, without scoring anything."""
    from scorer.organising.run import render as render_site
    from scorer.store.store import Store

    challenge, _ = opened(folder, None)
    with Store.open(challenge.database_address, create=False) as store:
        say(str(render_site(challenge, store)))
    return 0
