"""Time `scorer.evaluate` on data in memory, and print seconds as JSON.

    python -m benchmarks.kernels QRELS RUN
    python -m benchmarks.kernels QRELS RUN DEPTH       only dicts, with the solution kept and read again

`dicts`: from a dict of dicts, the input of pytrec_eval and ranx, with matching and ranking. `pandas` and `polars`: from
a frame, where the library is installed. With DEPTH, lists have that many items.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers import frames, timed, top
from benchmarks.tools import MEASURES
from scorer import Solution, evaluate


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
    return timed(partial(scores, solution, submission))


def scores(solution: Any, submission: Any) -> dict[str, float]:
    """Return the means."""
    return dict(evaluate(solution, submission, MEASURES))


def main(arguments: Sequence[str]) -> None:
    """Print scores and seconds as JSON."""
    qrels_path, run_path, *depth = arguments
    run = run_as_dict(run_path)
    if depth:
        qrels, run = qrels_as_dict(qrels_path), top(run, int(depth[0]))
        cases = {"kept": (Solution.read(qrels), run), "not kept": (qrels, run)}
    else:
        solution = Solution.read(qrels_path)
        cases = {form: (solution, submission) for form, submission in {"dicts": run, **frames(run)}.items()}
    print(json.dumps({name: evaluated(*case) for name, case in cases.items()}))


if __name__ == "__main__":
    main(sys.argv[1:])
