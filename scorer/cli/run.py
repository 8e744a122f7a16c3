"""``scorer run``: score new submissions, and render the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scorer.cli.arguments import open_challenge
from scorer.cli.render import print_rendered
from scorer.cli.score import Messages, ScoringOptions, requested_executor, score_tracks


def run(challenge: Path, track: str | None, **options: Any) -> int:
    """Score new submissions, store the results, and render the site: the main job.

    The last line of the output is the path of the site. With --quiet, only what is new and needs a person is printed.

    Exit code 1 means that this run rejected a submission, or could not read or score one, or could not score a track,
    or that submissions are missing. All other submissions are scored, and the site is rendered, in that case too. With
    --strict, exit code 1 also means that a submission that an earlier run rejected or gave up is still there.
    """
    from scorer.organising.render import render as render_site
    from scorer.store.store import Store

    settings, tracks = open_challenge(challenge, track)
    chosen = ScoringOptions(**options)
    scoring = requested_executor(chosen.executor, quiet=chosen.quiet)
    with Store.open(settings.database_address) as store, Messages.of(store, settings, track, chosen) as messages:
        succeeded = score_tracks(store, settings, tracks, scoring, chosen, messages)
        rendered = render_site(settings, store, pending=True)
        if messages.are_quiet:
            for note in rendered.notes:
                messages(note)
        else:
            print_rendered(rendered)
    return 0 if succeeded else 1
