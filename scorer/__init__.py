"""Score ranked lists against graded solutions, store the results, and render a leaderboard.

Each folder of the package is one stage or one concern; imports go only from a later folder to an earlier one:

    measures, statistics    the measures, and significance tests: arrays in, arrays out
    formats                 the file formats, their detection, and reading them as Arrow batches
    challenge               challenge.toml
    matching                the solution, and the items of a submission that are found in it
    scoring                 scores of one submission; `evaluate`
    analysis                everything about one ranking, and comparisons of submissions; `compare`
    executors               scoring many submissions: in this process, in several, on a cluster
    store                   results in a database
    entries, board, charts  the state of each submission, the leaderboard, and its pictures
    site, reports           pages, and tables in other formats
    organising              the main job: score new submissions, store the results, render the site
    cli                     the commands

Every folder may use ``errors``, ``wording``, ``options`` and ``paths``.

As a library:

    >>> import scorer
    >>> scorer.evaluate({"q": {"a": 2, "b": 1}}, {"q": ["b", "c", "a"]}, ["RR", "nDCG@2"])["RR"]
    1.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorer.analysis.compare import Comparison, compare
    from scorer.challenge.loading import read_challenge
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

_MODULES = {
    "Challenge": "challenge.settings",
    "ChallengeError": "errors",
    "Comparison": "analysis.compare",
    "Evaluation": "scoring.evaluation",
    "FileError": "errors",
    "Measure": "measures",
    "MeasureError": "errors",
    "ScorerError": "errors",
    "Solution": "matching.solution",
    "SolutionError": "errors",
    "StoreError": "errors",
    "SubmissionError": "errors",
    "compare": "analysis.compare",
    "evaluate": "scoring.evaluation",
    "parse": "measures",
    "read_challenge": "challenge.loading",
}

__all__ = [
    "Challenge",
    "ChallengeError",
    "Comparison",
    "Evaluation",
    "FileError",
    "Measure",
    "MeasureError",
    "ScorerError",
    "Solution",
    "SolutionError",
    "StoreError",
    "SubmissionError",
    "compare",
    "evaluate",
    "parse",
    "read_challenge",
]
__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that the command line starts without numpy and Arrow."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
