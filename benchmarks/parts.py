"""The parts of the benchmark. Each returns plain values that JSON can represent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.meter import CommandError, Cost, measured, quiet
from benchmarks.tools import (
    PEERS,
    PEERS_SCRIPT,
    Files,
    Scores,
    Tool,
    difference,
    evaluate,
    evaluated,
    libraries,
    reading,
    trec_files,
)

DEPTH = 1000
"""Lines of a query in a generated run."""

START_ROUNDS = 5
"""How many times as often a short process is measured."""

Results = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the generated files."""

    run: int
    """Queries of 1,000 lines each."""
    submissions: int
    lists: int
    """Queries of a submission, with 30 items each."""
    growth: tuple[int, ...]
    """Queries of 1,000 lines each."""
    start: int
    """Queries of 1,000 lines each."""
    kernels: int
    """Queries of 1,000 lines each."""
    small: int
    """Queries of 1,000 lines each, of the smaller data in memory."""
    judged: tuple[tuple[int, int, int, int], ...]
    """Queries, judged items of each, items of each list, in dicts, and how many runs of them are evaluated."""
    batch: int
    """Submissions of `scorer run`."""
    huge: int
    """Queries of 1,000 lines each."""
    boards: tuple[tuple[int, int, int], ...]
    """Teams, queries, and draws of the bootstrap and of the tests."""
    calls: int
    """The largest number of calls of scipy that are measured."""
    events: int
    """Of a log."""
    live: tuple[tuple[int, int], ...]
    """Teams and queries of live challenges."""
    served: tuple[int, int, int]
    """Recorded entries, seconds of deliveries, and single deliveries."""
    entries: tuple[int, ...]
    """Of records."""
    rounds: int


FULL = Sizes(
    run=6980,
    submissions=100,
    lists=5704,
    growth=(100, 500, 1000, 5000, 20_000),
    start=100,
    kernels=1000,
    small=50,
    judged=(
        *((1, 50, 100, 1), (1, 750, 1000, 1), (50, 50, 100, 1), (50, 750, 100, 1), (50, 50, 1000, 1)),
        *((50, 750, 1000, 1), (1000, 50, 1000, 1), (6980, 50, 10, 1), (50, 50, 100, 100)),
    ),
    batch=1000,
    huge=100_000,
    boards=((20, 320, 10_000), (300, 5704, 10_000)),
    calls=20,
    events=100_000,
    live=((300, 5704), (1000, 5704), (2000, 20)),
    served=(10_000, 30, 20),
    entries=(500, 1000, 2000, 5000, 20_000),
    rounds=3,
)
QUICK = Sizes(
    run=200,
    submissions=5,
    lists=500,
    growth=(20, 50, 100),
    start=20,
    kernels=50,
    small=5,
    judged=((5, 50, 1000, 1), (5, 750, 100, 1), (1, 50, 100, 1), (1, 50, 100, 5)),
    batch=20,
    huge=500,
    boards=((4, 50, 2000),),
    calls=4,
    events=1000,
    live=((6, 50),),
    served=(20, 1, 1),
    entries=(20, 40),
    rounds=1,
)


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools, the sizes, and the folder for the files."""

    tools: Sequence[Tool]
    """scorer first: the others are compared with it."""
    sizes: Sizes
    folder: Path
    """Files in it are reused; missing ones are generated."""
    time_limit: float
    """Seconds that one process may take."""
    patience: float
    """Seconds to wait for a quiet machine before each process."""
    repeats: int
    """How often a measurement is repeated that other processes disturbed."""
    say: Say

    def generated(self, kind: str, count: int, queries: int = 0, judged: int = 0) -> Path:
        """Return the path of a generated file or folder. Its content is read once, to fill the cache of the system."""
        path = self.folder / "-".join([kind, str(count), *(str(number) for number in (queries, judged) if number)])
        if not path.exists():
            self.say(f"generating {path.name}")
            words = [kind, str(count), str(path), *(["--queries", str(queries)] if queries else [])]
            words += ["--judged", str(judged)] if judged else []
            subprocess.run([sys.executable, "-m", "benchmarks.generate", *words], check=True)
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file():
                _read_through(file)
        return path

    def run(self, queries: int, judged: int = 0) -> Files:
        """Return a generated run and its qrels, with this many judged items of each query; 0: the usual number."""
        qrels, run = (self.generated(kind, queries, judged=judged) for kind in ("qrels", "run"))
        return trec_files(qrels, run)


def _read_through(file: Path) -> None:
    with file.open("rb") as stream:
        while stream.read(1 << 20):
            pass


def _tried(bench: Bench, tool: Tool, files: Files) -> tuple[Cost, list[Scores]] | None:
    """Run a tool, and return the first undisturbed result, or else the least disturbed one.

    Returns None if the tool fails, after a message. The time of a run has no influence on which one is returned.

    Raises
    ------
    CommandError
        scorer failed, so the others cannot be compared with it.
    """
    results = []
    for _ in range(1 + bench.repeats):
        quiet(bench.patience)
        try:
            with tool.surroundings() as environment:
                cost, text = measured(tool.command(files), time_limit=bench.time_limit, environment=environment)
        except CommandError as error:
            bench.say(f"  {tool.name}: {error}")
            if tool is bench.tools[0]:
                raise
            return None
        others = "?" if cost.others is None else f"{cost.others:.0%}"
        bench.say(
            f"  {tool.name}: {cost.wall:.2f} s, {cost.processor:.2f} s of processor, {cost.memory / 1e6:.0f} MB; "
            f"others used {others} of the cores"
        )
        results.append((cost, tool.read(text)))
        if not cost.disturbed:
            break
    return min(results, key=lambda result: result[0].others or 0)


def warmed_up(bench: Bench, files: Files) -> None:
    """Run each tool once on a small file, to compile its byte code and to load its libraries."""
    bench.say("warming up")
    for tool in bench.tools:
        if not tool.fresh_cache:
            _tried(replace(bench, patience=0, repeats=0), tool, files)


def side_by_side(bench: Bench, tools: Sequence[Tool], files: Files, rounds: int) -> dict[str, Results]:
    """Run all tools on the same files, in turns, so that other load on the machine affects all of them.

    A tool that fails once is not run again and has no entry in the result.
    """
    costs: dict[str, list[Cost]] = {tool.name: [] for tool in tools}
    scores: dict[str, list[Scores]] = {}
    for _ in range(rounds):
        for tool in tools:
            if tool.name not in costs:
                continue
            result = _tried(bench, tool, files)
            if result is None:
                del costs[tool.name]
                continue
            costs[tool.name].append(result[0])
            scores[tool.name] = result[1]
    reference = scores[tools[0].name]
    return {
        tool.name: _as_lists(costs[tool.name]) | (_agreement(tool, reference, scores[tool.name]) if tool.scores else {})
        for tool in tools
        if tool.name in costs
    }


def _as_lists(costs: Sequence[Cost]) -> Results:
    return {
        "wall": [round(cost.wall, 4) for cost in costs],
        "processor": [round(cost.processor, 4) for cost in costs],
        "memory": [cost.memory for cost in costs],
        "others": [cost.others for cost in costs],
    }


def _agreement(tool: Tool, reference: Sequence[Scores], scores: Sequence[Scores]) -> Results:
    apart = difference(reference, scores)
    return {"scores": dict(scores[0]), "difference": apart, "same": apart <= tool.tolerance}


# The parts


def one_run(bench: Bench) -> Results:
    """Measure one large run."""
    queries = bench.sizes.run
    bench.say(f"a run of {queries * DEPTH:,} lines")
    return {
        "lines": queries * DEPTH,
        "queries": queries,
        "tools": side_by_side(
            bench, [bench.tools[0], reading(), *bench.tools[1:]], bench.run(queries), bench.sizes.rounds
        ),
    }


def start(bench: Bench) -> Results:
    """Measure scorer on a small run, and a process that only imports the libraries that it needs."""
    queries = bench.sizes.start
    bench.say(f"start-up: a run of {queries * DEPTH:,} lines")
    tools = [bench.tools[0], libraries()]
    return {
        "lines": queries * DEPTH,
        "tools": side_by_side(bench, tools, bench.run(queries), START_ROUNDS * bench.sizes.rounds),
    }


def many_submissions(bench: Bench, on_trec: Tool) -> Results:
    """Measure many submissions against one solution; the peers read them as TREC runs."""
    count, lists = bench.sizes.submissions, bench.sizes.lists
    bench.say(f"{count:,} submissions of {lists:,} lists")
    challenge, trec = bench.generated("challenge", count, lists), bench.generated("trec", count, lists)
    files = Files(
        challenge / "solution.txt",
        sorted((challenge / "submissions" / "main").iterdir()),
        trec / "qrels",
        sorted(trec.glob("*.run")),
    )
    tools = [bench.tools[0], on_trec, *bench.tools[1:]]
    return {
        "submissions": count,
        "lists": lists,
        "tools": side_by_side(bench, tools, files, bench.sizes.rounds),
    }


def kernels(bench: Bench, python: Path, peers: Sequence[str], queries: int) -> Results:
    """Measure only the evaluation, with all data in memory."""
    bench.say(f"in memory, {queries * DEPTH:,} lines")
    files = bench.run(queries)
    paths = [str(files.qrels), str(files.runs[0])]
    ours = json.loads(_printed(bench, [sys.executable, "-m", "benchmarks.kernels", *paths]))
    tools = {f"scorer, {form}": each for form, each in ours.items()}
    for name in ("pytrec-eval-terrier", "ranx"):
        if name in peers:
            theirs = json.loads(_printed(bench, [str(python), PEERS_SCRIPT, name, "kernel", *paths]))
            tools |= {f"{name}, {form}": each for form, each in theirs.items()}
    return {"lines": queries * DEPTH, "tools": _compared(tools, tools["scorer, dicts"]["scores"])}


def judged(bench: Bench, python: Path, peers: Sequence[str]) -> Results:
    """Measure the evaluation of dicts with few and with many judged items, in turns with the peers."""
    points = []
    for queries, count, depth, calls in bench.sizes.judged:
        bench.say(f"dicts, {queries} queries, {count} judged items of each, lists of {depth}, {calls} calls")
        files = bench.run(queries, count)
        paths = [str(files.qrels), str(files.runs[0]), str(depth), str(calls)]
        commands = {"scorer": [sys.executable, "-m", "benchmarks.kernels", *paths]}
        commands |= {name: [str(python), PEERS_SCRIPT, name, "solutions", *paths] for name in PEERS if name in peers}
        tools: dict[str, Results] = {}
        for _ in range(bench.sizes.rounds):
            for name, command in commands.items():
                for solution, each in json.loads(_printed(bench, command)).items():
                    known = tools.setdefault(f"{name}, {solution}", {"scores": each["scores"], "seconds": []})
                    known["seconds"] += each["seconds"]
        compared = _compared(tools, tools["scorer, kept"]["scores"])
        points.append({"queries": queries, "judged": count, "depth": depth, "calls": calls, "tools": compared})
    return {"points": points}


def _compared(tools: dict[str, Results], reference: Scores) -> dict[str, Results]:
    """Add to each result how far its scores are from the reference."""
    for each in tools.values():
        each["difference"] = difference([reference], [each["scores"]])
        each["same"] = each["difference"] <= 1e-6
    return tools


def _printed(bench: Bench, command: Sequence[str]) -> str:
    quiet(bench.patience)
    return measured(command, time_limit=bench.time_limit)[1]


def growth(bench: Bench) -> Results:
    """Measure time and memory for growing files; at the larger sizes each tool runs once.

    Tools that compile first are left out, because compiling takes the same time at every size.
    """
    points_of: dict[str, list[Results]] = {tool.name: [] for tool in bench.tools if not tool.fresh_cache}
    for queries in bench.sizes.growth:
        lines = queries * DEPTH
        bench.say(f"growth: {lines:,} lines")
        remaining = [tool for tool in bench.tools if tool.name in points_of]
        rounds = bench.sizes.rounds if lines <= 1_000_000 else 1
        results = side_by_side(bench, remaining, bench.run(queries), rounds)
        for name, result in results.items():
            points_of[name].append({"lines": lines} | result)
    return {"tools": {name: points for name, points in points_of.items() if points}}


def huge(bench: Bench, memory_limit: int) -> Results:
    """Measure a run that is generated into a pipe and never stored."""
    queries = bench.sizes.huge
    bench.say(f"{queries * DEPTH:,} lines through a pipe")
    qrels = bench.generated("qrels", queries)
    quiet(bench.patience)
    outcome: Results = {"lines": queries * DEPTH, "queries": queries}
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "run"
        os.mkfifo(pipe)
        maker = subprocess.Popen([sys.executable, "-m", "benchmarks.generate", "run", str(queries), str(pipe)])
        try:
            command = evaluate(qrels, [pipe])
            cost, text = measured(command, time_limit=bench.time_limit * 4, memory_limit=memory_limit)
            outcome |= _as_lists([cost]) | {"scores": dict(evaluated(text)[0])}
            bench.say(f"  scorer: {cost.wall:.1f} s, {cost.memory / 1e6:.0f} MB")
        except CommandError as error:
            bench.say(f"  scorer: {error}")
            outcome |= {"failed": f"not done in {memory_limit / 1e9:g} GB of memory"}
        finally:
            maker.kill()
            maker.wait()
    return outcome
