"""What is measured, part by part. Each part gives plain values, fit for JSON."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.meter import CommandError, Cost, measured, quiet
from benchmarks.tools import PEERS_SCRIPT, SCORER, Files, Scores, Tool, difference, evaluate, evaluated, trec_files

DEPTH = 1000
"""Lines of a query in a made run."""

DetectedFormat = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured."""

    run: int
    """Queries of 1,000 lines each."""
    submissions: int
    lists: int
    """Queries of a submission, with 30 items each."""
    growth: tuple[int, ...]
    """Queries of 1,000 lines each."""
    kernels: int
    """Queries of 1,000 lines each."""
    batch: int
    """Submissions of `scorer run`."""
    huge: int
    """Queries of 1,000 lines each."""
    rounds: int


FULL = Sizes(
    run=6980,
    submissions=100,
    lists=5704,
    growth=(100, 500, 1000, 5000, 20_000),
    kernels=1000,
    batch=1000,
    huge=100_000,
    rounds=3,
)
QUICK = Sizes(run=200, submissions=5, lists=500, growth=(20, 50, 100), kernels=50, batch=20, huge=500, rounds=1)


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools, the sizes, and the folder for the files."""

    tools: Sequence[Tool]
    """The product first: the others are compared with it."""
    sizes: Sizes
    folder: Path
    """Files in it are kept, and made where they are not there."""
    time_limit: float
    """Seconds for one process."""
    patience: float
    """Seconds to wait before each process for others to leave the cores alone."""
    repeats: int
    """How often a measurement is made anew because others took too much of the cores meanwhile."""
    say: Say

    def made(self, kind: str, count: int, queries: int = 0) -> Path:
        """The path of a made file or folder, after its content is read once, so that nobody is the first to."""
        path = self.folder / "-".join([kind, str(count), *([str(queries)] if queries else [])])
        if not path.exists():
            self.say(f"making {path.name}")
            asked = [kind, str(count), str(path), *(["--queries", str(queries)] if queries else [])]
            subprocess.run([sys.executable, "-m", "benchmarks.generate", *asked], check=True)
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file():
                _read_through(file)
        return path

    def run(self, queries: int) -> Files:
        """A made run and its qrels."""
        return trec_files(self.made("qrels", queries), self.made("run", queries))


def _read_through(file: Path) -> None:
    with file.open("rb") as stream:
        while stream.read(1 << 20):
            pass


def _tried(bench: Bench, tool: Tool, files: Files) -> tuple[Cost, list[Scores]] | None:
    """The least disturbed run of a tool, or the first undisturbed one; how long it took does not matter for that.

    None, saying why, where it fails. Where the product fails, CommandError: there is nothing to compare with.
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
            f"others took {others} of the cores"
        )
        results.append((cost, tool.read(text)))
        if not cost.disturbed:
            break
    return min(results, key=lambda result: result[0].others or 0)


def warmed_up(bench: Bench, files: Files) -> None:
    """Run each tool once on little, so that its byte code is compiled and its libraries have been read."""
    bench.say("warming up")
    for tool in bench.tools:
        if not tool.fresh_cache:
            _tried(replace(bench, patience=0, repeats=0), tool, files)


def side_by_side(bench: Bench, tools: Sequence[Tool], files: Files, rounds: int) -> dict[str, DetectedFormat]:
    """All tools on the same files, in turns, so that what else the machine does hits all alike.

    A tool that fails is left out from there on, and has no entry.
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
        tool.name: _told(costs[tool.name]) | _agreement(tool, reference, scores[tool.name])
        for tool in tools
        if tool.name in costs
    }


def _told(costs: Sequence[Cost]) -> DetectedFormat:
    return {
        "wall": [round(cost.wall, 4) for cost in costs],
        "processor": [round(cost.processor, 4) for cost in costs],
        "memory": [cost.memory for cost in costs],
        "others": [cost.others for cost in costs],
    }


def _agreement(tool: Tool, reference: Sequence[Scores], scores: Sequence[Scores]) -> DetectedFormat:
    apart = difference(reference, scores)
    return {"scores": dict(scores[0]), "difference": apart, "same": apart <= tool.tolerance}


# The parts


def one_run(bench: Bench) -> DetectedFormat:
    """One large run."""
    queries = bench.sizes.run
    bench.say(f"a run of {queries * DEPTH:,} lines")
    return {
        "lines": queries * DEPTH,
        "queries": queries,
        "tools": side_by_side(bench, bench.tools, bench.run(queries), bench.sizes.rounds),
    }


def many_submissions(bench: Bench, on_trec: Tool) -> DetectedFormat:
    """Many submissions against one solution; the peers get them as TREC runs."""
    count, lists = bench.sizes.submissions, bench.sizes.lists
    bench.say(f"{count:,} submissions of {lists:,} lists")
    challenge, trec = bench.made("challenge", count, lists), bench.made("trec", count, lists)
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


def kernels(bench: Bench, python: Path, peers: Sequence[str]) -> DetectedFormat:
    """Evaluating alone, with everything in memory."""
    queries = bench.sizes.kernels
    bench.say(f"in memory, {queries * DEPTH:,} lines")
    files = bench.run(queries)
    paths = [str(files.qrels), str(files.runs[0])]
    ours = json.loads(_printed(bench, [sys.executable, "-m", "benchmarks.kernels", *paths]))
    told = {
        "scorer, judged arrays": ours["arrays"],
        "scorer, dicts": ours["dicts"],
    }
    for name, form in (("pytrec-eval-terrier", "dicts"), ("ranx", "its own objects")):
        if name in peers:
            command = [str(python), PEERS_SCRIPT, name, "kernel", *paths]
            told[f"{name}, {form}"] = json.loads(_printed(bench, command))
    reference = [told["scorer, judged arrays"]["scores"]]
    for each in told.values():
        each["difference"] = difference(reference, [each["scores"]])
        each["same"] = each["difference"] <= 1e-6
    return {"lines": queries * DEPTH, "tools": told}


def _printed(bench: Bench, command: Sequence[str]) -> str:
    quiet(bench.patience)
    return measured(command, time_limit=bench.time_limit)[1]


def growth(bench: Bench) -> DetectedFormat:
    """How time and memory grow with the lines; at the larger sizes each tool runs once.

    What compiles first is left out: that takes the same at every size.
    """
    told: dict[str, list[DetectedFormat]] = {tool.name: [] for tool in bench.tools if not tool.fresh_cache}
    for queries in bench.sizes.growth:
        lines = queries * DEPTH
        bench.say(f"growth: {lines:,} lines")
        still = [tool for tool in bench.tools if tool.name in told]
        rounds = bench.sizes.rounds if lines <= 1_000_000 else 1
        results = side_by_side(bench, still, bench.run(queries), rounds)
        for name, result in results.items():
            told[name].append({"lines": lines} | result)
    return {"tools": {name: points for name, points in told.items() if points}}


def huge(bench: Bench, memory_limit: int) -> DetectedFormat:
    """A run that is made on the fly and never kept, through a pipe."""
    queries = bench.sizes.huge
    bench.say(f"{queries * DEPTH:,} lines through a pipe")
    qrels = bench.made("qrels", queries)
    quiet(bench.patience)
    told: DetectedFormat = {"lines": queries * DEPTH, "queries": queries}
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder) / "run"
        os.mkfifo(pipe)
        maker = subprocess.Popen([sys.executable, "-m", "benchmarks.generate", "run", str(queries), str(pipe)])
        try:
            command = evaluate(qrels, [pipe])
            cost, text = measured(command, time_limit=bench.time_limit * 4, memory_limit=memory_limit)
            told |= _told([cost]) | {"scores": dict(evaluated(text)[0])}
            bench.say(f"  scorer: {cost.wall:.1f} s, {cost.memory / 1e6:.0f} MB")
        except CommandError as error:
            bench.say(f"  scorer: {error}")
            told |= {"failed": f"not done in {memory_limit / 1e9:g} GB of memory"}
        finally:
            maker.kill()
            maker.wait()
    return told


def batch(bench: Bench, dask: bool) -> DetectedFormat:
    """Many submissions scored, stored and rendered by `scorer run`, anew each time."""
    count, lists = bench.sizes.batch, bench.sizes.lists
    bench.say(f"scorer run on {count:,} submissions of {lists:,} lists")
    folder = bench.made("challenge", count, lists)
    executors = ["serial", "processes:1", "processes:2", *(["dask"] if dask else [])]
    told: dict[str, list[float]] = {name: [] for name in executors}
    sites: set[str] = set()
    for _ in range(bench.sizes.rounds):
        for name in list(told):
            try:
                told[name].append(_fresh_run(bench, folder, name))
            except CommandError as error:
                bench.say(f"  {name}: {error}")
                del told[name]
                continue
            sites.add(_content(folder / "site"))
    again, _ = measured([*SCORER, "run", str(folder)], time_limit=bench.time_limit)
    sites.add(_content(folder / "site"))
    database = sum(file.stat().st_size for file in folder.glob("scores.db*"))
    _clear(folder)
    return {
        "submissions": count,
        "lists": lists,
        "measures": 10,
        "executors": {name: {"wall": walls} for name, walls in told.items()},
        "database": database,
        "again": round(again.wall, 4),
        "same_site": len(sites) == 1,
    }


def _fresh_run(bench: Bench, folder: Path, executor: str) -> float:
    """Seconds; what workers take besides is not theirs to tell, since they are no children of the command."""
    _clear(folder)
    quiet(bench.patience)
    with _cluster() if executor == "dask" else _no_cluster(executor) as name:
        cost, _ = measured([*SCORER, "run", str(folder), "--executor", name], time_limit=bench.time_limit)
    bench.say(f"  {executor}: {cost.wall:.1f} s, {bench.sizes.batch / cost.wall:.1f} a second")
    return round(cost.wall, 4)


def _clear(folder: Path) -> None:
    for file in folder.glob("scores.db*"):
        file.unlink()
    shutil.rmtree(folder / "site", ignore_errors=True)


def _content(site: Path) -> str:
    """One digest of all pages and their names."""
    whole = hashlib.sha256()
    for file in sorted(site.rglob("[!.]*")):
        if file.is_file():
            whole.update(f"{file.relative_to(site)} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


@contextmanager
def _no_cluster(executor: str) -> Iterator[str]:
    yield executor


@contextmanager
def _cluster() -> Iterator[str]:
    """A Dask cluster of two worker processes on this machine, as the executor's name."""
    command = [sys.executable, "-m", "benchmarks.cluster"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip() if process.stdout else ""
        yield f"dask:{address}"
        # Leaving closes its input, at which it ends.
