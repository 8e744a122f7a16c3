"""The part of the benchmark about a live challenge: how long a new entry takes to be on the board."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.meter import Cost, in_columns, measured, quiet
from benchmarks.parts import Bench, Results
from benchmarks.serving import server
from benchmarks.tools import SCORER


def live(bench: Bench) -> Results:
    """Measure runs of challenges: the first one, with one file more, with one less, and with nothing new.

    And a render from nothing, which must write the same site as the run with one file more; and how soon an entry that
    is handed in to `scorer serve` is on the board.
    """
    return {"challenges": [_live(bench, *size) for size in bench.sizes.live]}


def _live(bench: Bench, teams: int, queries: int) -> Results:
    bench.say(f"live challenge of {teams:,} teams and {queries:,} queries")
    generated = bench.generated("challenge", teams, queries)
    costs: dict[str, list[Cost]] = {}
    until_boards: dict[str, list[float]] = {}
    loop: list[tuple[float, float]] = []
    same = True
    for _ in range(bench.sizes.rounds):
        folder = generated.with_name(f"{generated.name}-live")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(generated, folder)
        sites = {}
        for name, command in _steps(folder):
            cost, until = _run(bench, command, folder)
            bench.say(f"  {name}: {cost.wall:.1f} s, boards after {until:.1f} s, {cost.memory / 1e6:.0f} MB")
            costs.setdefault(name, []).append(cost)
            until_boards.setdefault(name, []).append(until)
            sites[name] = _content(folder / "site")
        same &= sites["one file more"] == sites["nothing new"] == sites["render from nothing"]
        loop += _in_loop(bench, folder)
        shutil.rmtree(folder)
    tools = {name: {**in_columns(costs[name]), "boards": until_boards[name]} for name in costs}
    return {"teams": teams, "queries": queries, "tools": tools, "loop": loop, "same": same}


def _steps(folder: Path) -> Iterator[tuple[str, str]]:
    """The name of each step and the command of `scorer` to measure; before, the folder is prepared for it."""
    last = max((folder / "submissions" / "main").iterdir())
    aside = last.rename(folder / last.name)
    yield "first run", "run"
    shutil.copy2(aside, last)
    yield "one file more", "run"
    yield "nothing new", "run"
    _forget(folder)
    yield "render from nothing", "render"
    last.unlink()
    yield "one file less", "run"


def _run(bench: Bench, command: str, folder: Path) -> tuple[Cost, float]:
    """The cost of a command, and the seconds until its boards were written; 0 if they were not."""
    quiet(bench.patience)
    began = time.time()
    cost, _ = measured([*SCORER, command, str(folder)], time_limit=bench.time_limit)
    return cost, max((folder / "site" / "main" / "index.html").stat().st_mtime - began, 0.0)


SETTLED = 5.0
"""Seconds to wait at most until the loops have nothing to do, unless there is more patience."""


def _in_loop(bench: Bench, folder: Path) -> list[tuple[float, float]]:
    """Hand in entries of new teams to `scorer serve`; the seconds until the row of each is on the board, and until the
    whole site is written.
    """
    site = folder / "scores.db.shown"
    lists = max((folder / "submissions" / "main").iterdir()).read_text().splitlines()
    found = []
    with server(folder, []) as sender:
        for number in range(1, bench.sizes.rounds + 1):
            quiet(bench.patience or SETTLED)
            sender.content = "".join(_turned(line, number) for line in lists).encode()
            before, began = site.stat().st_mtime_ns, time.monotonic()
            board = sum(sender.until_shown(folder))
            while site.stat().st_mtime_ns == before and time.monotonic() - began < bench.time_limit:
                time.sleep(0.05)
            found.append((board, time.monotonic() - began))
            bench.say(f"  in the loop: on the board after {board:.1f} s, the site after {found[-1][1]:.1f} s")
    return found


def _turned(line: str, places: int) -> str:
    """A line of a submission with so many of its first items at the end."""
    query, _, items = line.partition(":")
    listed = items.split(",")
    return f"{query}:{','.join(listed[places:] + listed[:places])}\n"


def _forget(folder: Path) -> None:
    """Remove the site, and everything that was derived for it."""
    shutil.rmtree(folder / "site")
    shutil.rmtree(folder / "scores.db.statistics")
    with closing(sqlite3.connect(folder / "scores.db")) as database, database:
        database.execute("DELETE FROM cached")


def _content(site: Path) -> dict[str, bytes]:
    """The files of a site that visitors see."""
    files = (path for path in site.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in files}
