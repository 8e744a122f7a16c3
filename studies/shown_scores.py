"""What a board shows of the preliminary scores of one team, by each mechanism that an organiser can choose."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from scorer.live.ladder import Ladder
from scorer.measures.matched import Bools, Floats

PRELIMINARY = 443
"""The preliminary queries: a fifth of 2,211, as a challenge with a split of 0.2 has them."""

AUTO = round(-math.log10(0.5 / math.sqrt(PRELIMINARY)))
"""The decimals of `decimals = "auto"`."""


@dataclass(frozen=True, slots=True)
class Mechanism:
    """How preliminary scores are shown."""

    name: str
    decimals: int | None = None
    """Each score is shown, rounded to these; None: by the Ladder."""
    step: float = 0
    """Of the Ladder; 0 without it."""

    def board(self) -> Board:
        """Return a board without entries."""
        return Board(self)


PLAIN = Mechanism("4 decimals", decimals=4)
ROUNDED = Mechanism(f"auto ({AUTO} decimals)", decimals=AUTO)
SMALL_STEP = Mechanism("the Ladder, step 0.01", step=0.01)
LARGE_STEP = Mechanism("the Ladder, step 0.05", step=0.05)
MECHANISMS = (PLAIN, ROUNDED, SMALL_STEP, LARGE_STEP)


class Board:
    """The row of one team, which shows its best score so far."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._decimals = mechanism.decimals
        self._ladder = Ladder(mechanism.step)
        self.shown = -math.inf
        """The best score that was shown."""
        self.file: Bools = np.zeros(0, dtype=bool)
        """The file that has it."""

    def look(self, scores: Floats, file: Bools) -> float | None:
        """Return what the board shows for the next file, or None: no improvement.

        Parameters
        ----------
        scores
            [preliminary query].
        file
            Kept with the score if that is the best one.
        """
        score = self._ladder.look(scores) if self._decimals is None else round(float(scores.mean()), self._decimals)
        if score is not None and score > self.shown:
            self.shown, self.file = score, file
        return score

    def after(self, scores: Floats, file: Bools) -> Board:
        """Return the board as it would be after one more look; this one is not changed."""
        other = copy(self)
        other._ladder = copy(self._ladder)
        other.look(scores, file)
        return other
