"""Time `scorer.evaluate` on data in memory, and print seconds as JSON.

    python -m benchmarks.kernels QRELS RUN
    python -m benchmarks.kernels QRELS RUN DEPTH CALLS only dicts, with the solution kept and read again

`dicts`: from a dict of dicts, the input of pytrec_eval and ranx, with matching and ranking. `pandas` and `polars`: from
a frame, where the library is installed. With DEPTH, lists have that many items.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.peers import frames, in_turn, qrels_as_dict, run_as_dict, timed, training_runs
from benchmarks.tools import MEASURES
from scorer import Solution, evaluate


def scores(solution: Any, submission: Any) -> dict[str, float]:
    """Return the means."""
    return dict(evaluate(solution, submission, MEASURES))


def main(arguments: Sequence[str]) -> None:
    """Print scores and seconds as JSON."""
    qrels_path, run_path, *numbers = arguments
    if numbers:
        depth, calls = map(int, numbers)
        qrels, runs = qrels_as_dict(qrels_path), training_runs(run_as_dict(run_path, depth), calls)
        solutions = {"kept": Solution.read(qrels), **({"not kept": qrels} if calls == 1 else {})}
        works = {name: partial(in_turn, partial(scores, solution), runs) for name, solution in solutions.items()}
        print(json.dumps({name: timed(work, time.process_time) for name, work in works.items()}))
        return
    solution, run = Solution.read(qrels_path), run_as_dict(run_path)
    forms = {"dicts": run, **frames(run)}
    print(json.dumps({form: timed(partial(scores, solution, each)) for form, each in forms.items()}))


if __name__ == "__main__":
    main(sys.argv[1:])
