"""The field: a board with what the pages of all its teams need, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scorer.board.board import Board
from scorer.board.certainty import Pair
from scorer.site.captions import ranked_positions


@dataclass(frozen=True, slots=True)
class Field:
    """A board, and what is derived from all of its rows. Positions are those in `Board.rows`."""

    board: Board
    ranked: tuple[int, ...]
    """The positions of the teams with a rank, the best first."""
    pairs: Mapping[int, Mapping[int, Pair]]
    """The pairs of each position by the position of the other row."""
    histograms: int
    """How many ranked teams have a histogram of their primary scores."""
    sums: tuple[int, ...]
    """The sum of these histograms."""

    def score(self, position: int) -> float | None:
        """The primary score of a row that the board is ranked by."""
        return self.board.shown_scores(self.board.rows[position].entry)[0]


def field_of(board: Board) -> Field:
    """Return the field of a board."""
    pairs: dict[int, dict[int, Pair]] = {}
    for pair in board.pairs:
        pairs.setdefault(pair.row, {})[pair.other] = pair
        pairs.setdefault(pair.other, {})[pair.row] = pair
    ranked = tuple(ranked_positions(board))
    histograms = [counts for position in ranked if (counts := board.rows[position].histogram)]
    sums = tuple(sum(counts) for counts in zip(*histograms, strict=True))
    return Field(board, ranked, pairs, len(histograms), sums)
