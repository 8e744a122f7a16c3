"""Time scorer's measures on data in memory, and print seconds as JSON.

    python -m benchmarks.kernels QRELS RUN
    python -m benchmarks.kernels QRELS RUN --solutions       only dicts, with the solution kept and read again

`judged arrays`: from judged items to scores, only the measures. `dicts`: from a dict of dicts, the input of pytrec_eval
and ranx, with matching and ranking. `pandas` and `polars`: from a frame, where the library is installed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers import frames
from benchmarks.tools import MEASURES
from scorer import Solution, evaluate
from scorer.measures.matched import Matched
from scorer.scoring.evaluation import measures_named, read_solution
from scorer.scoring.outcomes import Failed, Rejected
from scorer.scoring.rules import Rules
from scorer.scoring.submission import score

REPEATED = 5


def timed(work: Callable[[], Any], prepare: Callable[[], None] = lambda: None) -> list[float]:
    """Return the seconds of several calls; `prepare` runs before each and is not timed."""
    seconds = []
    for _ in range(REPEATED):
        prepare()
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return seconds


class Arrays:
    """The measures on the judged items of a submission, without a cache between calls."""

    def __init__(self, matched: Matched) -> None:
        self._matched = matched
        self._measures = list(measures_named(MEASURES).values())
        self.forget()

    def forget(self) -> None:
        """Clear the cache in which judged items store what measures have in common."""
        found, ideal = (replace(items, cache={}) for items in (self._matched.found, self._matched.ideal))
        self._matched = replace(self._matched, found=found, ideal=ideal)

    def scores(self) -> dict[str, float]:
        """Return the mean of each measure."""
        return {name: float(each(self._matched).mean()) for name, each in zip(MEASURES, self._measures, strict=True)}


def qrels_as_dict(path: str) -> dict[str, dict[str, int]]:
    """Read TREC qrels as query -> item -> grade."""
    qrels: dict[str, dict[str, int]] = {}
    with Path(path).open() as lines:
        for line in lines:
            query, _, item, grade = line.split()
            qrels.setdefault(query, {})[item] = int(grade)
    return qrels


def run_as_dict(path: str) -> dict[str, dict[str, float]]:
    """Read a TREC run as query -> item -> run score."""
    run: dict[str, dict[str, float]] = {}
    with Path(path).open() as lines:
        for line in lines:
            query, _, item, _, run_score, _ = line.split()
            run.setdefault(query, {})[item] = float(run_score)
    return run


def evaluated(solution: Any, submission: Any) -> dict[str, Any]:
    """Return the scores, and the seconds of several evaluations."""
    work = partial(evaluate, solution, submission, MEASURES)
    return {"scores": dict(work()), "seconds": timed(work)}


def main(arguments: Sequence[str]) -> None:
    """Print scores and seconds as JSON."""
    qrels_path, run_path, *options = arguments
    if options:
        qrels, run = qrels_as_dict(qrels_path), run_as_dict(run_path)
        solutions = {"kept": read_solution(qrels, None), "not kept": qrels}
        print(json.dumps({name: evaluated(each, run) for name, each in solutions.items()}))
        return
    solution = Solution.read(qrels_path)
    outcome = score(solution, run_path, Rules(tuple(measures_named(MEASURES).values())))
    if isinstance(outcome, Failed):
        raise SystemExit(f"{run_path}: {outcome.reason}")
    if isinstance(outcome, Rejected):
        raise SystemExit("\n".join(outcome.problems.lines(run_path)))
    arrays = Arrays(outcome.matched)
    run = run_as_dict(run_path)
    results = {"judged arrays": {"scores": arrays.scores(), "seconds": timed(arrays.scores, arrays.forget)}}
    for form, submission in {"dicts": run, **frames(run)}.items():
        results[form] = evaluated(solution, submission)
    print(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1:])
