"""The part of the benchmark about the verification of a log: by scorer, and by a loop that only hashes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.meter import Cost, in_columns, measured, quiet
from benchmarks.parts import Bench, Results
from benchmarks.tools import SCORER

HASHES = """
import hashlib, sys
head = bytes(32)
with open(sys.argv[1], "rb") as lines:
    for line in lines:
        head = hashlib.sha256(b"\\2" + head + line.partition(b',"head"')[0] + b"}").digest()
print(head.hex())
"""
"""Reads the lines, which have version 2, and computes the heads, without a check."""


def verification(bench: Bench) -> Results:
    """Measure `scorer verify log`, a loop that only computes the heads, and a Python process that does nothing."""
    events = bench.sizes.events
    bench.say(f"verification of {events:,} events")
    file = str(bench.generated("log", events))
    commands: dict[str, Sequence[str]] = {
        "scorer verify log": [*SCORER, "verify", "log", file],
        "only the heads": [sys.executable, "-c", HASHES, file],
        "an empty process": [sys.executable, "-c", "pass"],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    texts = {}
    for _ in range(bench.sizes.rounds):
        for name, command in commands.items():
            quiet(bench.patience)
            cost, texts[name] = measured(command, time_limit=bench.time_limit)
            bench.say(f"  {name}: {cost.wall:.2f} s, {cost.memory / 1e6:.0f} MB")
            costs[name].append(cost)
    return {
        "events": events,
        "tools": {name: in_columns(each) for name, each in costs.items()},
        "same": texts["only the heads"].strip() in texts["scorer verify log"],
    }
