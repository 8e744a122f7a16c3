"""The order of a board's rows, and their ranks by final and by preliminary scores."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from scorer.board.board import Row
from scorer.challenge.settings import Track
from scorer.options import EqualRanks


def ranks(
    scores: Sequence[float | None], received: Sequence[datetime], equal_ranks: EqualRanks
) -> tuple[int | None, ...]:
    """Ranks of entries by their scores, the highest first.

    Parameters
    ----------
    scores : sequence of shape (entries,)
        Rounded to the track's decimals; None for a blank.
    received : sequence of shape (entries,)
        When each entry was received.
    equal_ranks : {"shared", "earlier"}
        "shared": equal scores share a rank (1, 1, 3). "earlier": of equal scores, the entry received earlier ranks
        higher; entries with equal scores and equal times share a rank.

    Returns
    -------
    tuple of shape (entries,)
        From 1; None for a blank.
    """
    keys = [
        None if score is None else (-score, when.timestamp() if equal_ranks == "earlier" else 0.0)
        for score, when in zip(scores, received, strict=True)
    ]
    ordered = sorted(key for key in keys if key is not None)
    return tuple(None if key is None else 1 + bisect_left(ordered, key) for key in keys)


def ranked(rows: Iterable[Row], track: Track) -> tuple[Row, ...]:
    """The rows in the order of the board, with both of their ranks.

    Rows are ordered by score, then by time of receipt, then by team. Rows with a blank score follow, and rows with no
    scored entry come last. Baselines are ordered with the others; they have no rank and do not affect the ranks.
    """
    ordered = sorted(rows, key=lambda row: _position(row, track))
    by_shown = _ranks_of(ordered, track, final=track.shows_final)
    by_preliminary = _ranks_of(ordered, track, final=False)
    return tuple(
        replace(row, rank=rank, preliminary_rank=preliminary_rank)
        for row, rank, preliminary_rank in zip(ordered, by_shown, by_preliminary, strict=True)
    )


def _ranks_of(rows: Sequence[Row], track: Track, *, final: bool) -> tuple[int | None, ...]:
    scores = [None if row.baseline else _primary_score(row, final=final) for row in rows]
    received = [(row.entry or row.entries[0]).received for row in rows]
    return ranks(scores, received, track.equal_ranks)


def _position(row: Row, track: Track) -> tuple[int, float, float, str]:
    """A sort key for the rows of a board."""
    if row.entry is None:
        return 2, 0.0, 0.0, row.team.name
    score = _primary_score(row, final=track.shows_final)
    return 1 if score is None else 0, -(score or 0.0), row.entry.received.timestamp(), row.team.name


def _primary_score(row: Row, *, final: bool) -> float | None:
    return None if row.entry is None else row.entry.scores(final=final)[0]
