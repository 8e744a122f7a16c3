"""Time `scorer.evaluate` on data in memory, and print seconds as JSON.

    python -m benchmarks.kernels QRELS RUN
    python -m benchmarks.kernels QRELS RUN DEPTH       only dicts, with the solution kept and read again

`dicts`: from a dict of dicts, the input of pytrec_eval and ranx, with matching and ranking. `pandas` and `polars`: from
a frame, where the library is installed. With DEPTH, lists have that many items.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.generate import DEPTH
from benchmarks.peers import first_lines, frames, timed
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


def run_as_dict(path: str, depth: int = DEPTH) -> dict[str, dict[str, float]]:
    """Read a TREC run as query -> item -> run score; the first items of each query."""
    run: dict[str, dict[str, float]] = {}
    for line in first_lines(path, depth):
        query, _, item, _, run_score, _ = line.split()
        run.setdefault(query, {})[item] = float(run_score)
    return run


def scores(solution: Any, submission: Any) -> dict[str, float]:
    """Return the means."""
    return dict(evaluate(solution, submission, MEASURES))


def main(arguments: Sequence[str]) -> None:
    """Print scores and seconds as JSON."""
    qrels_path, run_path, *depth = arguments
    run = run_as_dict(run_path, *map(int, depth))
    if depth:
        qrels = qrels_as_dict(qrels_path)
        cases, clock = {"kept": (Solution.read(qrels), run), "not kept": (qrels, run)}, time.process_time
    else:
        solution = Solution.read(qrels_path)
        cases = {form: (solution, submission) for form, submission in {"dicts": run, **frames(run)}.items()}
        clock = time.perf_counter
    print(json.dumps({name: timed(partial(scores, *case), clock) for name, case in cases.items()}))


if __name__ == "__main__":
    main(sys.argv[1:])
