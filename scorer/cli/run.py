"""``scorer run``: score new submissions, and render the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scorer.cli.render import print_rendered
from scorer.cli.score import open_scoring, score_tracks


def run(challenge: Path, track: str | None, **options: Any) -> int:
    """Score new submissions, store the results, and render the site: the main job.

    The last line of the output is the path of the site, which is rendered only if it would change. With --quiet, only
    what is new and needs a person is printed.

    Exit code 1 means that this run rejected a submission, or could not read or score one, or could not score a track,
    or that submissions are missing. All other submissions are scored, and the site is rendered, in that case too. With
    --strict, exit code 1 also means that a submission that an earlier run rejected or gave up is still there.
    """
    from scorer.organising.update import update

    with open_scoring(challenge, track, options) as scoring:
        succeeded = score_tracks(scoring)
        rendered = update(scoring.challenge, scoring.store)
        if scoring.options.quiet:
            scoring.messages(*rendered.notes)
        else:
            print_rendered(rendered)
    return 0 if succeeded else 1
