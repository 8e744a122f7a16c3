"""Rules: all settings that decide the scores of a submission."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorer.measures import Measure
from scorer.options import SELF, Missing, NothingRelevant, Ties, Unjudged

if TYPE_CHECKING:
    from scorer.challenge.settings import Track

MATCHING_GENERATION = 1
"""Increase when the same file, solution and matching rules give another match; stored results are then made again."""

MEASURE_GENERATION = 2
"""Increase when a measure gives another score for the same match; stored means are then computed again."""

_OF_FILES = ("list_length", "missing", "ties", "solution_format", "submission_format")
"""The rules that digests begin with, in this order."""


@dataclass(frozen=True, slots=True)
class Rules:
    """All settings that decide the scores of a submission."""

    measures: tuple[Measure, ...]
    list_length: int | None = None
    """How many items of each list count; None: all."""
    missing: Missing = "zero"
    ties: Ties = "trec"
    solution_format: str | None = None
    submission_format: str | None = None
    """The names of formats; None: detected from the file."""
    nothing_relevant: NothingRelevant = "skip"
    unjudged: Unjudged = "nonrelevant"
    tie_bounds: bool = False
    """Whether to compute the scores with ties in their worst and in their best order, too."""
    candidates: str | None = None
    """SHA-256 of the public list of candidate items; None without such a list."""
    exclude: str | None = None
    """"self", or the SHA-256 of the public list of excluded items; None without exclusions."""

    def __post_init__(self) -> None:
        """Raise MeasureError for a measure that the rule for ties does not support."""
        if self.ties == "expected":
            for measure in self.measures:
                measure.need_closed_form(cut=self.list_length is not None)

    @classmethod
    def of(cls, track: Track, candidates: str | None = None, excluded: str | None = None) -> Rules:
        """The rules that the settings of a track make, with the SHA-256 of its lists of items."""
        return cls(
            measures=track.all_measures,
            list_length=track.list_length,
            missing=track.missing,
            ties=track.ties,
            solution_format=track.solution_format,
            submission_format=track.submission_format,
            candidates=candidates,
            exclude=SELF if track.exclude == SELF else excluded,
        )

    @property
    def matching_digest(self) -> str:
        """SHA-256 in hexadecimal: equal for rules that match alike. Measures are computed from the stored match."""
        kept = (*_OF_FILES, "unjudged", "candidates", *(["exclude"] if self.exclude is not None else []))
        return _digest({"generation": MATCHING_GENERATION, **{name: getattr(self, name) for name in kept}})

    @property
    def version_1_digest(self) -> str:
        """The digest that databases of schema 1 store for these rules, measures included; empty if they have none."""
        if self.candidates is not None or self.exclude is not None:
            return ""
        kept = (*_OF_FILES, "nothing_relevant", "unjudged")
        names = [measure.full for measure in self.measures]
        return _digest([1, names, *(getattr(self, name) for name in kept)])


def _digest(settings: object) -> str:
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()
