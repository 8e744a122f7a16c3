"""``scorer run``: score what is new, and render the site."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import opened
from scorer.cli.render import print_rendered
from scorer.cli.score import chosen_executor, score_tracks


def run(folder: Path, track: str | None, executor: str | None, time_limit: float) -> int:
    """Score what is new, keep it, and render the site: the main job.

    The last line printed is the path of the site. Exits with 1 where a file is at fault; all others are scored, and the
    site is rendered, all the same.
    """
    from scorer.organising.render import render as render_site
    from scorer.store.store import Store

    challenge, tracks = opened(folder, track)
    executor_ = chosen_executor(executor)
    with Store.open(challenge.database_address) as store:
        fine = score_tracks(store, tracks, executor_, time_limit)
        print_rendered(render_site(challenge, store, pending=True))
    return 0 if fine else 1
