"""Score ranked lists against graded solutions, keep the results, show the board.

The way the data goes, a module a stage:

    challenge.toml -> challenge.Challenge      what is asked, and by which rules
    solution file  -> solution.Solution        what is right, integer-coded once
    submission     -> formats                  batches of (query, item, run score)
    both           -> judging.judge            Judged: the judged items found, and the ideal lists
    Judged         -> measures                 one score for each query, NaN where undefined
    all measures   -> scoring                  Scored, or Rejected with every problem
    both           -> store.Store              a database
    the database   -> leaderboard, website     the board, as plain values, then as pages

As a library:

    >>> import scorer
    >>> scorer.evaluate({"q": {"a": 2, "b": 1}}, {"q": ["b", "c", "a"]}, ["RR", "nDCG@2"])["RR"]
    1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorer.challenge.settings import Challenge
    from scorer.errors import (
        ChallengeError,
        FileError,
        MeasureError,
        ScorerError,
        SolutionError,
        StoreError,
        SubmissionError,
    )
    from scorer.matching.solution import Solution
    from scorer.measures import Measure, parse
    from scorer.scoring.evaluation import Evaluation, evaluate

_PLACES = {
    "Challenge": "challenge.settings",
    "ChallengeError": "errors",
    "Evaluation": "scoring.evaluation",
    "FileError": "errors",
    "Measure": "measures",
    "MeasureError": "errors",
    "ScorerError": "errors",
    "Solution": "matching.solution",
    "SolutionError": "errors",
    "StoreError": "errors",
    "SubmissionError": "errors",
    "evaluate": "scoring.evaluation",
    "parse": "measures",
    "read_challenge": "challenge.loading",
}

__all__ = [
    "Challenge",
    "ChallengeError",
    "Evaluation",
    "FileError",
    "Measure",
    "MeasureError",
    "ScorerError",
    "Solution",
    "SolutionError",
    "StoreError",
    "SubmissionError",
    "evaluate",
    "parse",
    "read_challenge",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line answers before numpy and Arrow are loaded."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
