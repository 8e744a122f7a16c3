"""Rules: all settings that decide a submission's scores."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorer.measures import Measure
from scorer.options import (
    Missing,
    NothingRelevant,
    Ties,
    Unjudged,
)

if TYPE_CHECKING:
    from scorer.challenge.settings import Track


GENERATION = 1
"""Counts up when the same file, solution and rules begin to give another result; stored results are then made anew."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All that decides on a submission's scores, besides the submission and the solution."""

    measures: tuple[Measure, ...]
    list_length: int | None = None
    """Places of each list that count; None: all."""
    missing: Missing = "zero"
    ties: Ties = "trec"
    solution_format: str | None = None
    submission_format: str | None = None
    """The names of formats; None: told from the file."""
    nothing_relevant: NothingRelevant = "skip"
    unjudged: Unjudged = "nonrelevant"
    tie_bounds: bool = False
    """Are the scores under the rules worst and best for ties wanted too?"""

    def __post_init__(self) -> None:
        """Raise MeasureError for a measure that the rule for ties does not go with."""
        if self.ties == "expected":
            for measure in self.measures:
                measure.need_closed_form(cut=self.list_length is not None)

    @classmethod
    def of(cls, track: Track) -> Rules:
        """What a track's settings say on scoring."""
        return cls(
            measures=track.all_measures,
            list_length=track.list_length,
            missing=track.missing,
            ties=track.ties,
            solution_format=track.solution_format,
            submission_format=track.submission_format,
        )

    @property
    def digest(self) -> str:
        """SHA-256, in hexadecimal: equal for rules that give the same result."""
        told = [
            GENERATION,
            [measure.full for measure in self.measures],
            self.list_length,
            self.missing,
            self.ties,
            self.solution_format,
            self.submission_format,
            self.nothing_relevant,
            self.unjudged,
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()
