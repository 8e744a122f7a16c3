"""``scorer render``: the site from the stored results."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import Parser, add_as_of, add_challenge, open_store
from scorer.cli.console import print_message, print_result

if TYPE_CHECKING:
    from scorer.organising.update import Rendered


def add_moment(parser: Parser) -> None:
    """Add the arguments of ``render``."""
    add_challenge(parser)
    add_as_of(parser)


def render(challenge: Path, as_of: datetime | int | None) -> int:
    """Render the site from the stored results, without scoring.

    With --as-of, the site shows an earlier state of the record, and a later render replaces it.
    """
    from scorer.organising.render import render as render_site

    with open_store(challenge) as (settings, _, store):
        print_rendered(render_site(settings, store, as_of=as_of))
    return 0


def print_rendered(rendered: Rendered) -> None:
    """Print the notes on a site, and the path of its first page as the last line."""
    print_message(*rendered.notes)
    print_result(str(rendered.index))
