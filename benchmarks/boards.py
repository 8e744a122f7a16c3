"""The part of the benchmark about the statistics of boards: by scorer, and by scipy called in a loop."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.meter import measured, quiet
from benchmarks.parts import Bench, Results


def statistics(bench: Bench) -> Results:
    """Measure the statistics of a board by scorer, and by scipy's functions for one team or pair, called in a loop."""
    return {"boards": [_statistics(bench, *size) for size in bench.sizes.boards]}


def _statistics(bench: Bench, teams: int, queries: int, draws: int) -> Results:
    bench.say(f"statistics of {teams:,} teams and {queries:,} queries")
    words = [str(teams), str(queries), str(draws)]
    found: dict[str, list[Results]] = {"scorer": [], "scipy": []}
    memory: dict[str, int] = {}
    for _ in range(bench.sizes.rounds):
        for tool, rounds in found.items():
            command = [sys.executable, "-m", "benchmarks.certainty", tool, *words]
            command += ["--most", str(bench.sizes.calls)] if tool == "scipy" else []
            quiet(bench.patience)
            cost, text = measured(command, time_limit=bench.time_limit)
            bench.say(f"  {tool}: {cost.wall:.1f} s, {cost.memory / 1e6:.0f} MB")
            rounds.append(json.loads(text))
            memory[tool] = max(memory.get(tool, 0), cost.memory)
    tasks: dict[str, Results] = {}
    for task in found["scorer"][0]:
        tasks[task] = {
            tool: {"seconds": [round(each[task]["seconds"], 4) for each in rounds]}
            for tool, rounds in found.items()
            if task in rounds[0]
        }
        if "scipy" in tasks[task]:
            tasks[task] |= near(found["scorer"][0][task]["results"], found["scipy"][0][task], draws)
    same = all(each.get("same", True) for each in tasks.values())
    return {"teams": teams, "queries": queries, "draws": draws, "tasks": tasks, "memory": memory, "same": same}


def near(ours: Sequence[Any], theirs: Results, draws: int) -> Results:
    """Return the largest difference of the measured calls, and whether random draws explain it.

    The standard error of a share of the draws is at most 1 / sqrt(4 draws), and that of the end of an interval about as
    much of the interval's width.
    """
    chosen = [ours[at] for at in theirs["measured"]]
    widths = [max(each) - min(each) if isinstance(each, list) else 1.0 for each in chosen]
    apart = [
        max(abs(x - y) for x, y in zip(one, other, strict=True)) if isinstance(one, list) else abs(one - other)
        for one, other in zip(chosen, theirs["results"], strict=True)
    ]
    allowed = 5 / draws**0.5
    return {
        "calls": theirs["calls"],
        "measured": len(chosen),
        "difference": max(apart),
        "same": all(each <= allowed * width for each, width in zip(apart, widths, strict=True)),
    }
