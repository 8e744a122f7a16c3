"""Score ranked lists against graded solutions, store the results, and render a leaderboard.

Each folder of the package is one stage or one concern; imports go only from a later folder to an earlier one:

    measures, statistics    the measures, and significance tests: arrays in, arrays out
    formats                 the file formats, their detection, and reading them as Arrow batches; `convert`
    challenge               challenge.toml
    matching                the solution, and the items of a submission that are found in it
    scoring                 scores of submissions; `evaluate`
    runs                    operations on several runs; `fuse`, `tune`, `overlap`
    analysis                everything about one ranking, and comparisons of submissions; `compare`
    executors               scoring many submissions: in this process, in several, on a cluster
    store                   results in a database
    live, board, charts     the state of each submission, the leaderboard, and its pictures
    site, reports           pages, and tables in other formats; `report`
    verification            checks of what an organiser has published
    organising              the main job: score new submissions, store the results, render the site
    cli                     the commands

Every folder may use ``errors``, ``wording``, ``options`` and ``paths``.

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
    from scorer.analysis.compare import compare
    from scorer.analysis.comparison import Comparison
    from scorer.challenge.loading import read_challenge
    from scorer.challenge.settings import Challenge
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
    from scorer.formats.conversion import convert
    from scorer.matching.solution import Solution
    from scorer.measures import Measure, parse
    from scorer.measures.custom import measure
    from scorer.runs.fuse import fuse
    from scorer.runs.overlap import Overlaps, overlap
    from scorer.runs.tuning import Tuning, tune
    from scorer.scoring.evaluation import evaluate
    from scorer.scoring.evaluations import Evaluation, Evaluations
    from scorer.site.report_page import figures, report

_MODULES = {
    "Challenge": "challenge.settings",
    "ChallengeError": "errors",
    "Comparison": "analysis.comparison",
    "ConversionError": "errors",
    "Evaluation": "scoring.evaluations",
    "Evaluations": "scoring.evaluations",
    "FileError": "errors",
    "FusionError": "errors",
    "Measure": "measures",
    "MeasureError": "errors",
    "Overlaps": "runs.overlap",
    "ScorerError": "errors",
    "Solution": "matching.solution",
    "SolutionError": "errors",
    "StoreError": "errors",
    "SubmissionError": "errors",
    "SubmissionsError": "errors",
    "Tuning": "runs.tuning",
    "compare": "analysis.compare",
    "convert": "formats.conversion",
    "evaluate": "scoring.evaluation",
    "figures": "site.report_page",
    "fuse": "runs.fuse",
    "measure": "measures.custom",
    "overlap": "runs.overlap",
    "parse": "measures",
    "read_challenge": "challenge.loading",
    "report": "site.report_page",
    "tune": "runs.tuning",
}

__all__ = [
    "Challenge",
    "ChallengeError",
    "Comparison",
    "ConversionError",
    "Evaluation",
    "Evaluations",
    "FileError",
    "FusionError",
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
__version__ = "0.2.0"


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
