"""The part of the benchmark about many submissions: scored and stored by each executor, then rendered."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from benchmarks.meter import CommandError, measured, quiet
from benchmarks.parts import Bench, Results
from benchmarks.tools import SCORER

STORED = (
    "SELECT submission_digest, solution_digest, matching_digest, status, counts, findings, hits_checksum"
    " FROM result ORDER BY 1, 2, 3",
    "SELECT submission_digest, measure, mask, value, undefined FROM mean JOIN result ON result.digest = result_digest"
    " ORDER BY 1, 2, 3",
)
"""What has to be the same whichever executor scored."""


def batch(bench: Bench, dask: bool) -> Results:
    """Measure `scorer score` on many submissions, from scratch each time, and `scorer render` twice."""
    count, lists = bench.sizes.batch, bench.sizes.lists
    bench.say(f"{count:,} submissions of {lists:,} lists, scored, stored and rendered")
    folder = bench.generated("challenge", count, lists)
    executors = ["serial", "processes:1", "processes:2", *(["dask"] if dask else [])]
    seconds: dict[str, list[float]] = {name: [] for name in executors}
    stored: set[str] = set()
    for _ in range(bench.sizes.rounds):
        for name in list(seconds):
            _clear(folder)
            try:
                seconds[name].append(_scored(bench, folder, name))
            except CommandError as error:
                bench.say(f"  {name}: {error}")
                del seconds[name]
                continue
            stored.add(_stored(folder))
    rendered = [_rendered(bench, folder) for _ in range(2)]
    database = sum(file.stat().st_size for file in folder.glob("scores.db*") if file.is_file())
    _clear(folder)
    return {
        "submissions": count,
        "lists": lists,
        "measures": 10,
        "executors": {name: {"wall": walls} for name, walls in seconds.items()},
        "database": database,
        "render": rendered,
        "same": len(stored) == 1,
    }


def _scored(bench: Bench, folder: Path, executor: str) -> float:
    """Return the seconds of `scorer score`; the processor time of Dask workers cannot be measured."""
    quiet(bench.patience)
    with _cluster() if executor == "dask" else nullcontext(executor) as name:
        cost, _ = measured([*SCORER, "score", str(folder), "--executor", name], time_limit=bench.time_limit)
    bench.say(f"  {executor}: {cost.wall:.1f} s, {bench.sizes.batch / cost.wall:.1f} a second")
    return round(cost.wall, 4)


def _rendered(bench: Bench, folder: Path) -> float:
    """Return the seconds of `scorer render`."""
    quiet(bench.patience)
    cost, _ = measured([*SCORER, "render", str(folder)], time_limit=bench.time_limit)
    bench.say(f"  render: {cost.wall:.1f} s")
    return round(cost.wall, 4)


def _clear(folder: Path) -> None:
    for path in [folder / "site", *folder.glob("scores.db*")]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _stored(folder: Path) -> str:
    """Return one digest of all stored results."""
    whole = hashlib.sha256()
    with closing(sqlite3.connect(folder / "scores.db")) as database:
        for query in STORED:
            for row in database.execute(query):
                whole.update(repr(row).encode())
    return whole.hexdigest()


@contextmanager
def _cluster() -> Iterator[str]:
    """Run a Dask cluster of two workers on this machine, and yield the name of its executor."""
    command = [sys.executable, "-m", "benchmarks.cluster"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().strip() if process.stdout else ""
        yield f"dask:{address}"
        # Leaving closes the input of the cluster, which ends it.
