"""``scorer render``: the site from the stored results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import open_challenge
from scorer.cli.console import print_message, print_result

if TYPE_CHECKING:
    from scorer.organising.render import Rendered


def render(folder: Path) -> int:
    """Render the site from the stored results, without scoring."""
    from scorer.organising.render import render as render_site
    from scorer.store.store import Store

    challenge, _ = open_challenge(folder, None)
    with Store.open(challenge.database_address, create=False) as store:
        print_rendered(render_site(challenge, store))
    return 0


def print_rendered(rendered: Rendered) -> None:
    """Print the notes on a site, and the path of its first page as the last line."""
    for note in rendered.notes:
        print_message(note)
    print_result(str(rendered.index))
