"""`python -m benchmarks`: measure scorer and its peers on the same files, in one run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import batch, boards, fusion, live, parts, record, serving, tools, verification
from benchmarks.meter import CommandError, floor
from benchmarks.picture import drawn
from benchmarks.report import limits, tables

PARTS = (
    "run",
    "start",
    "submissions",
    "kernels",
    "small",
    "judged",
    "growth",
    "batch",
    "statistics",
    "live",
    "serving",
    "record",
    "verification",
    "fusion",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the tables, and write them into the folder that `--output` names."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as compiled:
        folder = options.files or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            results = _measured(options, folder, Path(compiled))
        except CommandError as error:
            raise SystemExit(f"stopped: {error}") from error
    if options.output and (options.output / "results.json").exists():
        keep_parts(results, json.loads((options.output / "results.json").read_text()))
    text = tables(results)
    print(text)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        (options.output / "results.md").write_text(text + "\n")
        (options.output / "results.svg").write_text(drawn(results))
    if not _same(results):
        raise SystemExit("the tools disagree")
    if exceeded := [limit.sentence for limit in limits(results) if not limit.held]:
        raise SystemExit("\n".join(exceeded))


def keep_parts(results: dict[str, Any], earlier: dict[str, Any]) -> None:
    """Add the parts of earlier results that were not measured, and when each of them was."""
    if results["quick"] != earlier["quick"]:
        return
    now, then = (f"{each['date']}, scorer {each['versions']['scorer']}" for each in (results, earlier))
    kept = [name for name in (*PARTS, "huge") if name in earlier and name not in results]
    measured = {name: earlier.get("earlier", {}).get(name, then) for name in kept}
    results |= {name: earlier[name] for name in kept}
    results["earlier"] = {name: when for name, when in measured.items() if when != now}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, one round, to check that it works")
    parser.add_argument("--trec-eval", type=Path, help="the program trec_eval, compiled with -O3")
    parser.add_argument(
        "--peers", type=Path, help="a Python with the group `peers`; default: this one, and with --quick none"
    )
    parser.add_argument("--files", type=Path, help="a folder for generated files; default: a temporary one")
    parser.add_argument(
        "--output",
        type=Path,
        help="the folder for results.json, results.md and results.svg; it keeps parts that are not measured",
    )
    parser.add_argument("--date", default="", help="the date to write into the results")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=PARTS, help=f"some of {','.join(PARTS)}")
    parser.add_argument("--huge", action="store_true", help="also score 100,000,000 lines through a pipe")
    parser.add_argument("--memory-limit", type=float, default=8, help="gigabytes of address space for --huge")
    parser.add_argument("--rounds", type=int, default=0, help="how often each tool is measured; default: 3 times")
    parser.add_argument("--patience", type=float, default=0, help="seconds to wait each time for a quiet machine")
    parser.add_argument("--repeats", type=int, default=0, help="how often to repeat a disturbed measurement")
    parser.add_argument("--time-limit", type=float, default=900, help="the time limit of one process, in seconds")
    return parser


def _measured(options: argparse.Namespace, folder: Path, compiled: Path) -> dict[str, Any]:
    python = options.peers or Path(sys.executable)
    found = tools.peer_versions(python) if options.peers or not options.quick else {}
    installed = [name for name in tools.PEERS if name in found]
    left_out = [name for name in tools.PEERS if name not in found]
    chosen = [tools.scorer()]
    if options.trec_eval:
        chosen.append(tools.trec_eval(options.trec_eval))
    else:
        left_out.insert(0, "trec_eval")
    chosen += tools.peers(python, installed, compiled)
    sizes = parts.QUICK if options.quick else parts.FULL
    sizes = replace(sizes, rounds=options.rounds or sizes.rounds)
    bench = parts.Bench(chosen, sizes, folder, options.time_limit, options.patience, options.repeats, _say)
    parts.warmed_up(bench, bench.run(sizes.growth[0]))
    results: dict[str, Any] = {
        "date": options.date,
        "quick": options.quick,
        "machine": _machine(),
        "versions": _versions(options, found),
        "left_out": left_out,
        "memory_floor": floor(),
    }
    work = {
        "run": lambda: parts.one_run(bench),
        "start": lambda: parts.start(bench),
        "submissions": lambda: parts.many_submissions(bench, tools.scorer_on_trec()),
        "kernels": lambda: parts.kernels(bench, python, installed, sizes.kernels),
        "small": lambda: parts.kernels(bench, python, installed, sizes.small),
        "judged": lambda: parts.judged(bench, python, installed),
        "growth": lambda: parts.growth(bench),
        "batch": lambda: batch.batch(bench, dask=find_spec("distributed") is not None and not options.quick),
        "statistics": lambda: boards.statistics(bench),
        "live": lambda: live.live(bench),
        "serving": lambda: serving.serving(bench),
        "record": lambda: record.record(bench),
        "verification": lambda: verification.verification(bench),
        "fusion": lambda: fusion.fusion(bench, python, compiled, with_ranx="ranx" in installed),
    }
    results |= {name: work[name]() for name in options.parts}
    if options.huge:
        results["huge"] = parts.huge(bench, int(options.memory_limit * 1e9))
    return results


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": memory,
    }


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in listed.open() if line.startswith("model name")]
        if listed.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


def _versions(options: argparse.Namespace, peers: dict[str, str]) -> dict[str, str]:
    """Return the versions of scorer, of its dependencies, of the peers and of their dependencies."""
    ours = {"scorer": version("challenge-scorer"), "Python": platform.python_version()}
    for name in ("numpy", "scipy", "pyarrow", "SQLAlchemy", "distributed"):
        try:
            ours[name] = version(name)
        except PackageNotFoundError:
            continue
    if options.trec_eval:
        ours["trec_eval"] = tools.trec_eval_version(options.trec_eval)
    theirs = {name: number for name, number in peers.items() if name not in ("Python", "numpy") or number != ours[name]}
    return ours | {name if name not in ours else f"{name} of the peers": number for name, number in theirs.items()}


def _same(results: dict[str, Any]) -> bool:
    """Return whether all tools give the same numbers, and all executors store the same results."""
    each = [
        tool
        for part in ("run", "start", "submissions", "kernels", "small")
        for tool in results.get(part, {}).get("tools", {}).values()
    ]
    each += [tool for point in results.get("judged", {}).get("points", ()) for tool in point["tools"].values()]
    each += results.get("statistics", {}).get("boards", [])
    each += results.get("live", {}).get("challenges", [])
    each += [point for points in results.get("growth", {}).get("tools", {}).values() for point in points]
    each += [results[part] for part in ("batch", "verification") if part in results]
    each += [tool for part in results.get("fusion", {}).get("methods", {}).values() for tool in part["tools"].values()]
    return all(tool.get("same", True) for tool in each)


if __name__ == "__main__":
    main()
