"""``scorer run``, ``score`` and ``render``: from submissions to the site."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from scorer.cli.say import Folder, TrackName, complain, followed, say
from scorer.errors import ChallengeError, FileError

if TYPE_CHECKING:
    from scorer.challenge import Challenge, Track
    from scorer.store import Store


def run(folder: Folder = Path(), track: TrackName = None) -> None:
    """Score what is new, keep it, and render the site: the main job.

    The last line printed is the path of the site. Exits with 1 where a file is at fault; all others are scored, and the
    site is rendered, all the same.
    """
    from scorer.pipeline import render as render_site
    from scorer.store import Store

    challenge, tracks = _opened(folder, track)
    with Store.open(challenge.database_address) as store:
        fine = _score_all(store, tracks)
        say(str(render_site(challenge, store)))
    if not fine:
        raise typer.Exit(1)


def score(folder: Folder = Path(), track: TrackName = None) -> None:
    """Score what is new and keep it; the site stays as it is."""
    from scorer.store import Store

    challenge, tracks = _opened(folder, track)
    with Store.open(challenge.database_address) as store:
        fine = _score_all(store, tracks)
    if not fine:
        raise typer.Exit(1)


def render(folder: Folder = Path()) -> None:
    """Render the site from what is kept, without scoring anything."""
    from scorer.pipeline import render as render_site
    from scorer.store import Store

    challenge, _ = _opened(folder, None)
    with Store.open(challenge.database_address, create=False) as store:
        say(str(render_site(challenge, store)))


def _opened(folder: Path, track: str | None) -> tuple[Challenge, Sequence[Track]]:
    from scorer.challenge import Challenge

    challenge = Challenge.read(folder, solutions=False)
    return challenge, challenge.tracks if track is None else [chosen(challenge, track)]


def chosen(challenge: Challenge, name: str) -> Track:
    """The track that was asked for; a name that is none is a wrong call, not a fault of a file."""
    try:
        return challenge.track(name)
    except ChallengeError as error:
        raise typer.BadParameter(str(error), param_hint="--track") from error


def _score_all(store: Store, tracks: Sequence[Track]) -> bool:
    """Score the tracks one after the other; one at fault does not stop the others. Was everything fine?"""
    fine = True
    for track in tracks:
        try:
            fine &= _score_track(store, track)
        except (ChallengeError, FileError) as error:
            complain(str(error))
            complain(f"{track.name}: not scored; its board stays as it was")
            fine = False
    return fine


def _score_track(store: Store, track: Track) -> bool:
    from scorer.pipeline import carry_out, plan, rejected
    from scorer.scoring import Rejected

    work = plan(store, track)
    for skipped in work.skipped:
        complain(f"{skipped.file}: {skipped.reason}; left out")
    scored = 0
    for submission, outcome in followed(carry_out(store, work), len(work.pending), track.name):
        if isinstance(outcome, Rejected):
            complain("\n".join(outcome.problems.lines(submission.file)))
        else:
            scored += 1
    faulty = rejected(store, work)
    told = [f"{scored:,} scored", f"{work.known:,} known", f"{len(faulty):,} rejected"]
    complain(f"{track.name}: {', '.join(told)}")
    return not faulty and not work.skipped
