"""The part of the benchmark about the service: how many deliveries it accepts, and how soon an entry has a score."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil

from benchmarks.parts import Bench, Results
from scorer.live.entry import arrival
from scorer.organising.teams import issue
from scorer.store.events import Submission
from scorer.store.store import Store

TEAMS = 300
RATE = 20
"""Deliveries a second."""

QUERIES, ITEMS = 2000, 85
"""Lists of a delivered file and their items: a megabyte."""

SETTINGS = """\
name = "Serving"
[tracks.main]
title = "Main"
solution = "solution.txt"
list_length = 100
primary = "nDCG@10"
measures = ["AP", "P@10"]
quota = {per_day = 100000}
stage = "final"
"""

OTHERS = 20
"""The teams that hand in a file each while one team hands in many slow ones."""

SLOW_ITEMS = 3000
"""The items of each list of a slow file, which is compressed: it takes about a second."""

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def serving(bench: Bench) -> Results:
    """Measure a server with many recorded entries: deliveries at a fixed rate, which are accepted or also scored, and
    the seconds until a single entry is scored and on the board.
    """
    recorded, seconds, single = bench.sizes.served
    folder = bench.folder / f"served-{recorded}"
    if not folder.exists():
        challenge(folder, recorded)
    bench.say(f"service with {recorded:,} recorded entries")
    subprocess.run([*_scorer(), "run", str(folder)], check=False, capture_output=True)
    results: Results = {"recorded": recorded, "teams": TEAMS, "rate": RATE}
    for name, options in (("accepting", ["--no-runner"]), ("scoring", [])):
        with server(folder, options) as sender:
            results[name] = sender.at_rate(seconds)
        bench.say(f"  {name}: {results[name]}")
    with server(folder, []) as sender:
        results["single"] = []
        for _ in range(single):
            time.sleep(seconds)  # until the loops have nothing to do
            results["single"].append(sender.until_shown(folder))
    bench.say(f"  single: {results['single']}")
    with server(folder, []) as sender:
        results["crowded"] = sender.beside_slow_files(25 * seconds, OTHERS)
    bench.say(f"  crowded: {results['crowded']}")
    return results


def _scorer() -> list[str]:
    return [sys.executable, "-m", "scorer"]


def challenge(folder: Path, recorded: int) -> None:
    """A challenge with small recorded entries of all teams."""
    submissions = folder / "submissions" / "main"
    submissions.mkdir(parents=True)
    (folder / "challenge.toml").write_text(SETTINGS)
    grades = (
        ",".join(f"i{(7 * query + item) % 5000}|{item % 3 + 1}" for item in range(20)) for query in range(QUERIES)
    )
    (folder / "solution.txt").write_text("".join(f"q{query}:0:{line}\n" for query, line in enumerate(grades)))
    events: list[tuple[str, Any, dict[str, Any]]] = []
    for number in range(recorded):
        team, received = f"team-{number % TEAMS:03}", BEGUN + timedelta(minutes=number)
        name = f"{received:%Y%m%dT%H%M%SZ}-{number:06}.txt"
        content = f"q{number % QUERIES}:i1,i{number}\n".encode()
        (submissions / team).mkdir(exist_ok=True)
        (submissions / team / name).write_bytes(content)
        submission = Submission("main", team, f"main/{team}/{name}", sha256(content).hexdigest(), received)
        events.append(("main", "arrival", arrival(submission)))
    with Store.open(folder / "scores.db") as store:
        store.record(lambda _: events)


class _Sender:
    """Hands in files."""

    def __init__(self, port: int, tokens: list[str], process: psutil.Process) -> None:
        self.port, self.tokens, self.process = port, tokens, process
        chance = random.Random(1)  # noqa: S311
        lines = (
            f"q{query}:{','.join(f'i{chance.randrange(5000)}' for _ in range(ITEMS))}\n" for query in range(QUERIES)
        )
        self.content = "".join(lines).encode()
        self.number = 0

    def request(self, method: str, path: str, team: int, body: bytes | None = None) -> tuple[int, Any]:
        """The status and the document of an answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)) as connection:
            connection.request(method, path, body, {"Authorization": f"Bearer {self.tokens[team]}"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def hand_in(self) -> tuple[str, int, float]:
        """The address of a new entry, its team, and the seconds that its delivery took."""
        self.number += 1
        number = self.number
        body = self.content[:-1] + f",x{number}-{os.getpid()}-{time.time_ns()}\n".encode()
        path, team = f"/api/v1/tracks/main/entries/{uuid.uuid4()}", number % TEAMS
        began = time.monotonic()
        status, answer = self.request("PUT", path, team, body)
        if status != 201:
            raise SystemExit(f"a delivery was refused: {answer}")
        return path, team, time.monotonic() - began

    def at_rate(self, seconds: int) -> Results:
        """Hand in files at a fixed rate."""
        took: list[float] = []
        threads = []
        began = time.monotonic()
        for number in range(seconds * RATE):
            time.sleep(max(0.0, began + number / RATE - time.monotonic()))
            threads.append(threading.Thread(target=lambda: took.append(self.hand_in()[2])))
            threads[-1].start()
        for thread in threads:
            thread.join()
        elapsed = time.monotonic() - began
        took.sort()
        return {
            "accepted": len(took),
            "a_second": len(took) / elapsed,
            "median": took[len(took) // 2],
            "p99": took[int(0.99 * (len(took) - 1))],
            "memory": self.process.memory_info().rss,
        }

    def beside_slow_files(self, slow: int, others: int) -> Results:
        """The seconds from the last byte to the score for other teams, while one team hands in so many slow files."""
        row = ",".join(f"i{item}" for item in range(SLOW_ITEMS))
        packed = gzip.compress("".join(f"q{query}:{row}\n" for query in range(QUERIES)).encode())
        path = "/api/v1/tracks/main/entries/"
        address = ""
        for number in range(slow):
            body = gzip.compress(f"other-{time.time_ns()}:x{number}\n".encode()) + packed
            address = f"{path}{uuid.uuid4()}"
            self.request("PUT", address, 0, body)
        took: list[float] = []

        def hand_in(team: int) -> None:
            body = self.content[:-1] + f",y{team}-{time.time_ns()}\n".encode()
            entry = f"{path}{uuid.uuid4()}"
            self.request("PUT", entry, team, body)
            began = time.monotonic()
            while self.request("GET", entry, team)[1]["outcome"] == "waiting":
                time.sleep(1.0)  # as `scorer submit --wait` does
            took.append(time.monotonic() - began)

        threads = [threading.Thread(target=hand_in, args=(team,)) for team in range(1, others + 1)]
        for thread in threads:
            time.sleep(0.5)
            thread.start()
        for thread in threads:
            thread.join()
        took.sort()
        waiting = self.request("GET", address, 0)[1]["outcome"] == "waiting"
        return {
            "slow": slow,
            "others": others,
            "median": took[len(took) // 2],
            "p95": took[int(0.95 * (len(took) - 1))],
            "slow_files_wait": waiting,
        }

    def until_shown(self, folder: Path) -> tuple[float, float]:
        """The seconds from the last byte until an entry is scored, and from then until the board is written."""
        board = folder / "site" / "main" / "index.html"
        path, team, _ = self.hand_in()
        began, before = time.monotonic(), board.stat().st_mtime_ns
        while self.request("GET", path, team)[1]["outcome"] == "waiting":
            time.sleep(0.2)  # as often as the service allows
        scored = time.monotonic()
        while board.stat().st_mtime_ns == before and time.monotonic() - scored < 60:
            time.sleep(0.05)
        shown = time.monotonic()
        return scored - began, shown - scored


@contextmanager
def server(folder: Path, options: list[str]) -> Iterator[_Sender]:
    """A server of a challenge on a free port."""
    with Store.open(folder / "scores.db") as store:
        tokens = [issue(store, f"team-{number:03}", "token") for number in range(TEAMS)]
    log = folder / "service.log"
    with log.open("w") as errors:
        command = [*_scorer(), "serve", str(folder), "--port", "0", *options]
        server = subprocess.Popen(command, stderr=errors)
    try:
        while "http://" not in log.read_text():
            if server.poll() is not None:
                raise SystemExit(log.read_text())
            time.sleep(0.1)
        port = int(log.read_text().split("http://", 1)[1].split()[0].rpartition(":")[2])
        yield _Sender(port, tokens, psutil.Process(server.pid))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
