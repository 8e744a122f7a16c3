"""Whether the settings for preliminary scores agree with the number of preliminary queries."""

from __future__ import annotations

from scorer.challenge.settings import Track
from scorer.errors import ChallengeError
from scorer.wording import counted

LADDER_QUERIES = 2
"""How many preliminary queries the Ladder needs: its standard error is that of a sample."""


def check_stage(track: Track, flagged: int) -> None:
    """Check that the track's `stage` agrees with its preliminary queries.

    Parameters
    ----------
    track
        The track.
    flagged
        How many queries enter the preliminary scores: those that the solution flags, or that the split selects.

    Raises
    ------
    ChallengeError
        There are such queries, but neither phases nor a `stage`; or `stage` is "preliminary" without such queries.
    """
    key = f"tracks.{track.name}.stage"
    if track.phases:
        return
    if flagged and track.stage is None:
        selects = "the solution flags" if track.split is None else "split selects"
        raise ChallengeError(
            f"{key}: is missing, and {selects} {counted(flagged, 'query', 'queries')} for preliminary scores; "
            'set stage = "preliminary" while final scores are hidden, stage = "final" to show them'
        )
    if not flagged and track.stage == "preliminary":
        raise ChallengeError(
            f'{key}: found "preliminary", but the solution flags no query, so there are no preliminary scores to show; '
            'flag queries in the solution, set split = {preliminary = 0.2}, or set stage = "final"'
        )


def check_ladder(track: Track, queries: int) -> None:
    """Check that there are enough preliminary queries for the phases that use the Ladder.

    Parameters
    ----------
    track
        The track.
    queries
        How many queries enter the preliminary scores.

    Raises
    ------
    ChallengeError
        There are fewer than `LADDER_QUERIES`.
    """
    for position, phase in enumerate(track.phases):
        if phase.shows == "ladder" and queries < LADDER_QUERIES:
            raise ChallengeError(
                f'tracks.{track.name}.phases[{position}].shows: found "ladder", which needs at least {LADDER_QUERIES} '
                f"preliminary queries with a defined {track.primary_measure}; found {queries}; flag queries in the "
                'solution, set split = {preliminary = 0.2}, or set shows = "score"'
            )
