"""Score ranked lists against graded solutions, store the results, and render a leaderboard.

docs/architecture.md says what each folder of the package holds.

As a library:

    >>> import scorer
    >>> scorer.evaluate({"q": {"a": 2, "b": 1}}, {"q": ["b", "c", "a"]}, ["RR", "nDCG@2"])["RR"]
    1.0

The names in ``__all__`` are public; ``dir(scorer)`` lists them without importing numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorer.board.site.report_page import figures, report
    from scorer.errors import (
        ChallengeError,
        ConversionError,
        FileError,
        FusionError,
        MeasureError,
        ScorerError,
        SolutionError,
        StoreError,
        SubmissionError,
        SubmissionsError,
    )
    from scorer.lists.conversion import convert
    from scorer.lists.solution import Solution
    from scorer.measures import Measure, parse
    from scorer.measures.kinds import measure
    from scorer.runs.fuse import fuse
    from scorer.runs.overlap import Overlaps, overlap
    from scorer.runs.tuning import Tuning, tune
    from scorer.scoring.analysis.agreement import JudgeAgreement, agree
    from scorer.scoring.analysis.compare import Comparison, compare
    from scorer.scoring.evaluation import Evaluation, Evaluations, evaluate
    from scorer.settings.loading import read_challenge
    from scorer.settings.tracks import Challenge

_NAMES = {
    "board.site.report_page": ("figures", "report"),
    "errors": (
        "ChallengeError",
        "ConversionError",
        "FileError",
        "FusionError",
        "MeasureError",
        "ScorerError",
        "SolutionError",
        "StoreError",
        "SubmissionError",
        "SubmissionsError",
    ),
    "lists.conversion": ("convert",),
    "lists.solution": ("Solution",),
    "measures": ("Measure", "parse"),
    "measures.kinds": ("measure",),
    "runs.fuse": ("fuse",),
    "runs.overlap": ("Overlaps", "overlap"),
    "runs.tuning": ("Tuning", "tune"),
    "scoring.analysis.agreement": ("JudgeAgreement", "agree"),
    "scoring.analysis.compare": ("Comparison", "compare"),
    "scoring.evaluation": ("Evaluation", "Evaluations", "evaluate"),
    "settings.loading": ("read_challenge",),
    "settings.tracks": ("Challenge",),
}
"""The public names by the modules that they are imported from."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Challenge",
    "ChallengeError",
    "Comparison",
    "ConversionError",
    "Evaluation",
    "Evaluations",
    "FileError",
    "FusionError",
    "JudgeAgreement",
    "Measure",
    "MeasureError",
    "Overlaps",
    "ScorerError",
    "Solution",
    "SolutionError",
    "StoreError",
    "SubmissionError",
    "SubmissionsError",
    "Tuning",
    "agree",
    "compare",
    "convert",
    "evaluate",
    "figures",
    "fuse",
    "measure",
    "overlap",
    "parse",
    "read_challenge",
    "report",
    "tune",
]
__version__ = "1.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that the command line starts without numpy and Arrow."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, which are not imported by it."""
    return list(__all__)
