"""The order of a board's rows, and their ranks by final and by preliminary scores."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from scorer.board.board import Row
from scorer.challenge.settings import Track
from scorer.options import EqualRanks


def ranks(scores: Sequence[float | None], indexes: Sequence[int], equal_ranks: EqualRanks) -> tuple[int | None, ...]:
    """Ranks of entries by their scores, the highest first.

    Parameters
    ----------
    scores : sequence of shape (entries,)
        Rounded to the track's decimals; None for a blank.
    indexes : sequence of shape (entries,)
        The place of each entry in the record.
    equal_ranks : {"shared", "earlier"}
        "shared": equal scores share a rank (1, 1, 3). "earlier": of equal scores, the entry recorded earlier ranks
        higher.

    Returns
    -------
    tuple of shape (entries,)
        From 1; None for a blank.
    """
    keys = [
        None if score is None else (-score, index if equal_ranks == "earlier" else 0)
        for score, index in zip(scores, indexes, strict=True)
    ]
    ordered = sorted(key for key in keys if key is not None)
    return tuple(None if key is None else 1 + bisect_left(ordered, key) for key in keys)


def ranked(rows: Iterable[Row], track: Track) -> tuple[Row, ...]:
    """The rows in the order of the board, with both of their ranks.

    Rows are ordered by score, then by the place of their entries in the record. Rows with a blank score follow, then
    rows with no scored entry. Baselines are ordered with the others. Teams that are disqualified or withdrawn come
    last. Neither have a rank or affect the ranks of others.
    """
    ordered = sorted(rows, key=lambda row: _position(row, track))
    by_shown = _ranks_of(ordered, track, final=track.shows_final)
    by_preliminary = _ranks_of(ordered, track, final=False)
    return tuple(
        replace(row, rank=rank, preliminary_rank=preliminary_rank)
        for row, rank, preliminary_rank in zip(ordered, by_shown, by_preliminary, strict=True)
    )


def _ranks_of(rows: Sequence[Row], track: Track, *, final: bool) -> tuple[int | None, ...]:
    scores = [None if row.baseline or row.team.is_excluded else _primary_score(row, final=final) for row in rows]
    indexes = [(row.entry or row.entries[0]).index for row in rows]
    return ranks(scores, indexes, track.equal_ranks)


def _position(row: Row, track: Track) -> tuple[bool, int, float, int, str]:
    """A sort key for the rows of a board."""
    excluded = row.team.is_excluded
    if row.entry is None:
        return excluded, 2, 0.0, 0, row.team.name
    score = _primary_score(row, final=track.shows_final)
    return excluded, 1 if score is None else 0, -(score or 0.0), row.entry.index, row.team.name


def _primary_score(row: Row, *, final: bool) -> float | None:
    return None if row.entry is None else row.entry.scores(final=final)[0]
