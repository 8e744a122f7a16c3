"""The part of the benchmark about fusion: five runs in files become one file, by scorer and by ranx.

    python -m benchmarks.fusion run QUERIES NUMBER FILE
    python -m benchmarks.fusion ranx METHOD FILE RUN...
    python -m benchmarks.fusion same FILE FILE

`run`: a run whose lists of 1,000 items are drawn from 1,600 candidates of each query, which all runs share. `same`: the
first lists of two fused runs have the same items with the same scores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.generate import AT_A_TIME, DEPTH, FIRST_ITEM, FIRST_QUERY, ITEMS, SEED, run_text
from benchmarks.meter import CommandError, Cost, measured, quiet
from benchmarks.parts import Bench, Results
from benchmarks.tools import SCORER

RUNS = 5
METHODS = ("sum", "rrf")
CANDIDATES = 1600
COMPARED = 200_000
"""The lines of the fused runs that are compared."""


def fusion(bench: Bench, python: Path, compiled: Path, *, with_ranx: bool) -> Results:
    """Measure the fusion of five runs, from files to a file; `compiled` is the folder of compiled code for ranx."""
    queries = bench.sizes.run
    bench.say(f"fusion of {RUNS} runs of {queries * DEPTH:,} lines")
    files, warm = _runs(bench, queries), _runs(bench, 20)
    methods: dict[str, Results] = {}
    for method in METHODS:
        commands = {"scorer": [*SCORER, "fuse", "--method", method, "-o"]}
        if with_ranx:
            commands["ranx, warm"] = [str(python), "-m", "benchmarks.fusion", "ranx", method]
        tools: dict[str, Results] = {}
        for name, command in commands.items():
            target = bench.folder / f"fused-{name.partition(',')[0]}"
            surroundings = {"NUMBA_CACHE_DIR": str(compiled)}
            measured([*command, str(target), *warm], time_limit=bench.time_limit, environment=surroundings)
            costs = []
            # A round of ranx takes minutes.
            for _ in range(bench.sizes.rounds if name == "scorer" else 1):
                quiet(bench.patience)
                try:
                    cost, _ = measured(
                        [*command, str(target), *files], time_limit=bench.time_limit, environment=surroundings
                    )
                except CommandError as error:
                    bench.say(f"  {method}, {name}: {error}")
                    break
                bench.say(f"  {method}, {name}: {cost.wall:.2f} s, {cost.memory / 1e6:.0f} MB")
                costs.append(cost)
            else:
                tools[name] = _as_lists(costs) | {"same": _same(bench, target)}
        methods[method] = {"tools": tools}
    return {"lines": queries * DEPTH, "runs": RUNS, "methods": methods}


def _runs(bench: Bench, queries: int) -> list[str]:
    paths = [bench.folder / f"fuse-{queries}-{number}" for number in range(RUNS)]
    for number, path in enumerate(paths):
        if not path.exists():
            measured(
                [sys.executable, "-m", "benchmarks.fusion", "run", str(queries), str(number), str(path)],
                time_limit=bench.time_limit,
            )
    return [str(path) for path in paths]


def _as_lists(costs: Sequence[Cost]) -> Results:
    return {
        "wall": [round(cost.wall, 4) for cost in costs],
        "processor": [round(cost.processor, 4) for cost in costs],
        "memory": [cost.memory for cost in costs],
        "others": [cost.others for cost in costs],
    }


def _same(bench: Bench, target: Path) -> bool:
    """Whether the fused run equals that of scorer."""
    ours = bench.folder / "fused-scorer"
    command = [sys.executable, "-m", "benchmarks.fusion", "same", str(ours), str(target)]
    return measured(command, time_limit=bench.time_limit)[1].strip() == "same"


def write_run(queries: int, number: int, path: Path) -> None:
    """Write a run."""
    with path.open("wb") as stream:
        for first in range(0, queries, AT_A_TIME):
            shared = np.random.default_rng([SEED, first])
            own = np.random.default_rng([SEED, first, number])
            count = min(AT_A_TIME, queries - first)
            start, stride = shared.integers(0, ITEMS, (AT_A_TIME, 1)), shared.integers(1, ITEMS, (AT_A_TIME, 1))
            candidates = FIRST_ITEM + (start + stride * np.arange(CANDIDATES)) % ITEMS
            # Candidates near the top are more likely to be listed, and at high ranks.
            lot = own.random((AT_A_TIME, CANDIDATES)) * np.arange(500, CANDIDATES + 500)
            item = np.take_along_axis(candidates, np.argsort(lot, axis=1)[:, :DEPTH], axis=1)
            score = 3_999_999 - np.cumsum(own.integers(1, 2500, (AT_A_TIME, DEPTH)), axis=1)
            query = FIRST_QUERY + 37 * (first + np.arange(AT_A_TIME))
            stream.write(run_text(query[:count], item[:count], score[:count]).tobytes())


def fuse_by_ranx(method: str, target: str, runs: Sequence[str]) -> None:
    """Fuse runs by ranx, with its default normalisation."""
    from ranx import Run, fuse  # noqa: PLC0415 (only one of the processes needs it)

    fused = fuse([Run.from_file(run, kind="trec") for run in runs], norm="min-max", method=method)
    fused.save(target, kind="trec")


def same(first: Path, second: Path) -> bool:
    """Whether the whole lists at the beginning of two runs have the same scores, to nine digits."""
    one, other = _beginning(first), _beginning(second)
    return one.keys() == other.keys() and all(
        abs(score - other[pair]) <= 1e-9 * max(1.0, abs(score)) for pair, score in one.items()
    )


def _beginning(path: Path) -> dict[tuple[str, str], float]:
    with path.open(encoding="ascii") as stream:
        rows = [line.split() for line in islice(stream, COMPARED)]
    # The last list may be cut.
    return {(row[0], row[2]): float(row[4]) for row in rows if row[0] != rows[-1][0]}


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion")
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run")
    run.add_argument("queries", type=int)
    run.add_argument("number", type=int)
    run.add_argument("file", type=Path)
    ranx = actions.add_parser("ranx")
    ranx.add_argument("method")
    ranx.add_argument("file")
    ranx.add_argument("runs", nargs="+")
    pair = actions.add_parser("same")
    pair.add_argument("files", type=Path, nargs=2)
    options = parser.parse_args(arguments)
    if options.action == "run":
        write_run(options.queries, options.number, options.file)
    elif options.action == "ranx":
        fuse_by_ranx(options.method, options.file, options.runs)
    else:
        print("same" if same(*options.files) else "different")


if __name__ == "__main__":
    main()
