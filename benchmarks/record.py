"""The part of the benchmark about a record that grows: what an entry costs, and what a run costs without a new one.

`python -m benchmarks.record FOLDER ROUNDS` follows the record of a challenge as a loop does, and prints what each step
costs, in seconds of the processor.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import psutil

from benchmarks.meter import measured, quiet
from benchmarks.parts import Bench, Results
from benchmarks.serving import QUERIES, TEAMS, challenge
from benchmarks.tools import SCORER
from scorer.live.entries import Followed
from scorer.organising.files import prepare_incoming
from scorer.organising.job import ChallengeRun, Output, RunOptions
from scorer.service.accepting import Delivery, Upload, accept
from scorer.settings.loading import read_challenge

_SETTLED = 2.5
"""Seconds after which a run need not read a file again."""


def record(bench: Bench) -> Results:
    """Measure a challenge at growing numbers of entries: in the process of a loop, and `scorer run` in a new one."""
    points = []
    for entries in bench.sizes.entries:
        bench.say(f"a record of {entries:,} entries")
        folder = bench.folder / f"record-{entries}"
        if not folder.exists():
            challenge(folder, entries)
        measured([*SCORER, "run", str(folder)], time_limit=bench.time_limit)
        time.sleep(_SETTLED)
        own = folder.with_name(f"{folder.name}-own")
        shutil.copytree(folder, own)
        measured([*SCORER, "run", str(own)], time_limit=bench.time_limit)
        time.sleep(_SETTLED)
        costs: dict[str, list[float]] = {}
        for number in range(bench.sizes.rounds):
            for name in ("nothing new", "one more"):
                if name == "one more":
                    _add(own, f"process-{number}")
                quiet(bench.patience)
                cost, _ = measured([*SCORER, "run", str(own)], time_limit=bench.time_limit)
                costs.setdefault(f"scorer run, {name}", []).append(cost.processor)
        words = [sys.executable, "-m", "benchmarks.record", str(own), str(bench.sizes.rounds)]
        _, printed = measured(words, time_limit=bench.time_limit)
        loop = json.loads(printed)
        bench.say(f"  {loop}")
        points.append({"entries": entries, "seconds": {**loop["seconds"], **costs}, "memory": loop["memory"]})
        shutil.rmtree(own)
    return {"teams": TEAMS, "points": points}


def _add(folder: Path, name: str) -> None:
    """Put one more file into the folder of a team."""
    (folder / "submissions" / "main" / "team-000" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}.txt").write_text(
        f"q{len(name) % QUERIES}:i1,{name}\n"
    )


def _in_a_loop(folder: Path, rounds: int) -> Results:
    """The costs of the steps in one process, in seconds of the processor, and its memory."""
    seconds: dict[str, list[float]] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        seconds.setdefault(name, []).append(time.process_time() - began)

    with _opened(folder) as run:
        followed = run.store.read(lambda view: Followed.of(view, run.challenge.name))
        run.score_others(lambda: True)
        run.update_site()
        for number in range(rounds):
            with timed("run, nothing new"):
                run.score_others(lambda: True)
            _add(folder, f"loop-{number}")
            with timed("run, one more"):
                run.score_others(lambda: True)
            with timed("render, one more"):
                run.update_site()
            delivery = _delivery(run, number)
            with timed("accept"):
                accept(run.store, run.challenge, followed, delivery)
            time.sleep(_SETTLED)
            run.score()
            run.update_site()
    return {"seconds": seconds, "memory": psutil.Process().memory_full_info().pss}


def _opened(folder: Path) -> AbstractContextManager[ChallengeRun]:
    options = RunOptions("serial", None, confirm_withdrawals=False, verify_files=False, strict=False, quiet=True)
    output = Output(lambda *_: None, lambda results, _count, _track: results)
    return ChallengeRun.opened(read_challenge(folder), None, options, output)


def _delivery(run: ChallengeRun, number: int) -> Delivery:
    """A file that a team hands in, completely received."""
    path = prepare_incoming(run.store, run.tracks[0]) / f"{number}.part"
    content = f"q{number}:i1,handed-in-{number}\n".encode()
    path.write_bytes(content)
    upload = Upload(path, sha256(content).hexdigest(), len(content))
    return Delivery(f"delivery-{number}", run.tracks[0].name, f"team-{number:03}", upload, datetime.now(UTC))


if __name__ == "__main__":
    print(json.dumps(_in_a_loop(Path(sys.argv[1]), int(sys.argv[2]))))
