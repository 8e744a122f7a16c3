"""``scorer render``: the site from what is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import opened
from scorer.cli.console import complain, say

if TYPE_CHECKING:
    from scorer.organising.render import Rendered


def render(folder: Path) -> int:
    """Render the site from what is kept, without scoring anything."""
    from scorer.organising.render import render as render_site
    from scorer.store.store import Store

    challenge, _ = opened(folder, None)
    with Store.open(challenge.database_address, create=False) as store:
        print_rendered(render_site(challenge, store))
    return 0


def print_rendered(rendered: Rendered) -> None:
    """Print the notes on a site, and the path of its first page as the last line."""
    for note in rendered.notes:
        complain(note)
    say(str(rendered.index))
