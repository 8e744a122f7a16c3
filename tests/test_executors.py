"""Executors: the same results wherever files are scored, and a fault costs the one file that has it."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from scorer.errors import ExecutorError
from scorer.executors import base, dask, processes
from scorer.executors.base import Executor, Failed, FileOutcome, FileToScore
from scorer.executors.dask import Dask
from scorer.executors.names import executor_named
from scorer.executors.processes import Processes
from scorer.executors.serial import Serial
from scorer.matching.solution import Solution
from scorer.measures import parse
from scorer.paths import digest
from scorer.scoring import submission
from scorer.scoring.outcomes import Rejected, Summary
from scorer.scoring.rules import Rules
from tests.commands import Terminal, process

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc, to see who reads what")

QUERIES = range(60)
RULES = Rules((*parse("MARp@5,10"), *parse("nDCG@10")), list_length=10)
PATIENT = 60.0
"""Seconds that no file takes."""


def write_lists(file: Path, seed: str) -> None:
    """Ten random items for every query."""
    chance = random.Random(seed)
    lists = (f"{query}:{','.join(map(str, chance.sample(range(40), 10)))}" for query in QUERIES)
    file.write_text("\n".join(lists) + "\n")


def write_solution(file: Path) -> None:
    """Five items of different grades for every query."""
    rows = (f"{query}:{query % 3 == 0:d}:{query % 40}|3,{query % 40 + 40}|2,{query % 7 + 80}|2" for query in QUERIES)
    file.write_text("\n".join(rows) + "\n")


def write_challenge(folder: Path) -> None:
    """One track with six submissions; no time in it is a clock's."""
    teams = folder / "submissions/main"
    teams.mkdir(parents=True)
    write_solution(folder / "solution.txt")
    for team in range(6):
        write_lists(teams / f"20110418T100000Z-team-{team}.txt", str(team))
    (folder / "challenge.toml").write_text(
        'name = "Lists"\n[tracks.main]\ntitle = "Main"\nsolution = "solution.txt"\n'
        'list_length = 10\ncutoffs = [5, 10]\nprimary = "MARp"\nmeasures = ["AP"]\n'
    )


@dataclass(frozen=True, slots=True)
class Work:
    """Six files that can be scored, and one that cannot."""

    solution: Solution
    folder: Path
    files: tuple[FileToScore, ...]

    def with_a(self, path: Path) -> list[FileToScore]:
        """The files with another one among the first."""
        return [self.files[0], FileToScore(path, "0" * 64), *self.files[1:]]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """What is to be scored."""
    write_solution(tmp_path / "solution.txt")
    for number in range(6):
        write_lists(tmp_path / f"{number}.txt", str(number))
    (tmp_path / "6.txt").write_text("no colon\n")
    files = tuple(FileToScore(path, digest(path)) for path in sorted(tmp_path.glob("?.txt")))
    return Work(Solution.read(tmp_path / "solution.txt"), tmp_path, files)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A file that nobody writes: whoever reads it waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


class Cluster:
    """A scheduler and two workers of one thread each, all of them processes of this machine."""

    def __init__(self, folder: Path, nanny: bool) -> None:
        self._file = folder / "scheduler.json"
        self._folder = folder
        quiet = ("--scheduler-file", str(self._file), "--no-dashboard")
        self._scheduler = self._started("scheduler", *quiet, "--host", "127.0.0.1", "--port", "0")
        alone = ("--nthreads", "1", "--nanny" if nanny else "--no-nanny", "--local-directory", str(folder))
        self._workers = [self._started("worker", *quiet, *alone) for _ in range(2)]

    def _started(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", kind, *options]
        with (self._folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=Path(__file__).parents[1])

    @property
    def address(self) -> str:
        """The scheduler's, once both workers are there."""
        from distributed import Client

        with Client(scheduler_file=str(self._file), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            return str(client.scheduler.address)

    def stop_scheduler(self) -> None:
        self._scheduler.kill()
        self._scheduler.wait()

    def stop(self) -> None:
        # Asked to end, a worker would first wait for the file that hangs, and for a scheduler that is no more. One that
        # is killed takes along what it started, which watches it.
        processes = [*self._workers, self._scheduler]
        for each in processes:
            each.kill()
        for each in processes:
            each.wait()


@contextmanager
def cluster_in(folder: Path, *, nanny: bool = True) -> Iterator[Cluster]:
    """A cluster that is stopped in the end."""
    pytest.importorskip("distributed", reason="dask is not installed")
    cluster = Cluster(folder, nanny)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster whose workers are restarted when they die."""
    with cluster_in(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster.address


@pytest.fixture(params=["processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Executor:
    """Each way to score files elsewhere than in this process."""
    return Processes(2) if request.param == "processes" else Dask(request.getfixturevalue("cluster"))


def results(executor: Executor, work: Work, files: list[FileToScore], time_limit: float = PATIENT) -> list[FileOutcome]:
    """What became of the files, in their order; each of them comes out once."""
    found = list(executor.results(work.solution, RULES, files, time_limit))
    assert sorted(place for place, _ in found) == list(range(len(files)))
    return [result for _, result in sorted(found, key=lambda each: each[0])]


def assert_only_one_failed(found: list[FileOutcome], reason: str) -> None:
    """The second file, for this reason; the last is rejected, and all the others are scored."""
    failed = found.pop(1)
    assert isinstance(failed, Failed)
    assert reason in failed.reason
    assert [type(each) for each in found] == [Summary] * 6 + [Rejected]


# The same everywhere


def test_all_executors_give_the_same(work: Work, cluster: str) -> None:
    """Means, hits and problems, to the last bit."""
    seen = []
    for name in ("serial", "processes:2", f"dask:{cluster}"):
        found = results(executor_named(name), work, list(work.files))
        assert [type(each) for each in found] == [Summary] * 6 + [Rejected]
        seen.append([(each.means, each.hits) for each in found if isinstance(each, Summary)])
    assert seen[0] == seen[1] == seen[2]


def test_all_executors_make_the_same_site(tmp_path: Path, cluster: str) -> None:
    """Byte for byte, from the command line."""
    sites = []
    for number, name in enumerate(("serial", "processes:2", f"dask:{cluster}")):
        folder = tmp_path / str(number)
        write_challenge(folder)

        answer = process("run", folder, "--executor", name)

        assert (answer.code, answer.err) == (0, "main: 6 scored, 0 known, 0 rejected\n")
        site = folder / "site"
        sites.append({str(page.relative_to(site)): page.read_bytes() for page in site.rglob("[!.]*") if page.is_file()})
    assert sites[0] == sites[1] == sites[2]


def test_no_files_need_no_workers(work: Work) -> None:
    """Not even a cluster that is not there."""
    for executor in (Serial(), Processes(2), Dask("tcp://127.0.0.1:1")):
        assert results(executor, work, []) == []


# A fault costs one file


def readers(pipe: Path) -> set[int]:
    """The processes, other than this one, that have the file open."""
    found = set()
    for process_folder in Path("/proc").iterdir():
        if process_folder.name.isdigit() and int(process_folder.name) != os.getpid():
            with suppress(OSError):
                if any(link.readlink() == pipe for link in (process_folder / "fd").iterdir()):
                    found.add(int(process_folder.name))
    return found


@contextmanager
def deadly(pipe: Path) -> Iterator[list[int]]:
    """Kills whatever process reads the pipe; gives who was killed."""
    killed: list[int] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.02):
            try:
                end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                continue  # nobody reads it
            # Held until the reader is seen, so that it finds neither content nor an end.
            while not (found := readers(pipe) - set(killed)) and not stop.wait(0.01):
                pass
            for reader in found:
                os.kill(reader, signal.SIGKILL)
                killed.append(reader)
            os.close(end)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield killed
    finally:
        stop.set()
        watcher.join()


def test_a_killed_worker_costs_one_file(executor: Executor, work: Work, pipe: Path) -> None:
    """The one that it was reading; what else it had in hand is scored by others."""
    with deadly(pipe) as killed:
        found = results(executor, work, work.with_a(pipe))
    assert killed
    assert_only_one_failed(found, "that scored it died")


def test_a_worker_that_hangs_costs_one_file(executor: Executor, work: Work, pipe: Path) -> None:
    """It is given up after the time limit, and so is nothing else."""
    assert_only_one_failed(results(executor, work, work.with_a(pipe), time_limit=2), "not done within 2 seconds")


def take_up_with_little_memory(solution: Solution, rules: Rules) -> None:
    """As a process of the pool does, but with no more than 100 MB to come."""
    status = Path("/proc/self/status").read_text()
    used = int(status.split("VmSize:")[1].split()[0]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), resource.RLIM_INFINITY))
    processes._here = solution, rules


def test_a_file_too_large_for_memory_costs_one_file(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real limit, of the system; the process goes on with the next file."""
    large = work.folder / "large"
    with large.open("w") as file:
        for query in range(400_000):
            file.write(f"other-{query}:{','.join(str(query * 10 + item) for item in range(10))}\n")
    monkeypatch.setattr(processes, "_take_up", take_up_with_little_memory)

    found = results(Processes(1), work, work.with_a(large))

    assert_only_one_failed(found, "it takes more memory than there is")


def test_a_fault_of_ours_costs_one_file(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that brings it to light does not keep the others from being scored, and the reason names it."""

    def score(solution: Solution, path: Path, *rest: object, **named: object) -> object:
        if path == work.folder / "odd":
            raise KeyError("unheard of")
        return genuine(solution, path, *rest, **named)  # type: ignore[arg-type]

    genuine = submission.score
    monkeypatch.setattr(base, "score", score)
    assert_only_one_failed(results(Serial(), work, work.with_a(work.folder / "odd")), "KeyError: 'unheard of'")


def take_up_once_there_is(file: Path, solution: Solution, rules: Rules) -> None:
    """As a process of the pool does, but the first dies, which leaves a file behind."""
    if not file.exists():
        file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    processes._here = solution, rules


def test_a_process_killed_with_nothing_in_hand_costs_no_file(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool breaks then, and a new one is made for what is left."""
    monkeypatch.setattr(processes, "_take_up", partial(take_up_once_there_is, work.folder / "once"))
    found = results(Processes(1), work, list(work.files))
    assert [type(each) for each in found] == [Summary] * 6 + [Rejected]


def test_processes_that_all_die_end_the_batch(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is tried for ever."""
    monkeypatch.setattr(processes, "_take_up", partial(take_up_once_there_is, work.folder / "no" / "folder"))
    found = results(Processes(2), work, list(work.files))
    assert {type(each) for each in found} == {Failed}


def test_what_failed_is_tried_again_and_what_was_scored_is_not(tmp_path: Path) -> None:
    """The run says so and exits with 1; the next one scores what is left."""
    folder = tmp_path / "challenge"
    write_challenge(folder)
    # Its opening takes longer than any limit: it becomes a pipe when its digest has been taken.
    file = folder / "submissions/main/slow.txt"
    write_lists(file, "slow")
    slow = f"""
import os, sys
from pathlib import Path
from scorer.organising import run
from scorer.cli import main
file = Path({str(file)!r})
plan = run.plan
def planned(*given):
    work = plan(*given)
    file.rename(file.with_name(".aside"))
    os.mkfifo(file)
    return work
run.plan = planned
main()
"""
    arguments = ["run", str(folder), "--executor", "processes:2", "--time-limit", "2"]
    first = subprocess.run(
        [sys.executable, "-c", slow, *arguments], capture_output=True, text=True, timeout=120, check=False
    )

    assert first.returncode == 1
    assert "main/slow.txt: not scored: not done within 2 seconds; the next run tries it again" in first.stderr
    assert "main: 6 scored, 0 known, 0 rejected, 1 failed" in first.stderr

    file.unlink()
    file.with_name(".aside").rename(file)
    second = process(*arguments)
    assert (second.code, second.err) == (0, "main: 1 scored, 6 known, 0 rejected\n")


# Clusters that are not as they should be


def test_a_cluster_without_nannies_loses_one_file_too(tmp_path: Path, work: Work, pipe: Path) -> None:
    """Its dead workers are not replaced, so what kills is tried last."""
    with cluster_in(tmp_path, nanny=False) as cluster, deadly(pipe) as killed:
        found = results(Dask(cluster.address), work, [FileToScore(pipe, "0" * 64), *work.files])
    assert killed
    assert [type(each) for each in found[1:]] == [Summary] * 6 + [Rejected]
    assert isinstance(found[0], Failed)


def test_a_scheduler_that_goes_away_ends_the_batch(
    tmp_path: Path, work: Work, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was done comes out, the rest is told as failed, and nobody waits for ever."""
    monkeypatch.setattr(dask, "NO_WORKER", 2.0)
    with cluster_in(tmp_path) as cluster:
        running = Dask(cluster.address).results(work.solution, RULES, work.with_a(pipe), PATIENT)
        found = [next(running)]
        cluster.stop_scheduler()
        found += list(running)
    assert sorted(place for place, _ in found) == list(range(8))
    assert isinstance(dict(found)[1], Failed)


def test_a_worker_with_another_scorer_is_told(cluster: str, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """It might score otherwise."""
    monkeypatch.setattr(dask, "__version__", "99.1")
    with pytest.raises(ExecutorError, match=r"has not scorer 99\.1 \(0\.\d+\.\d+\); install it there"):
        results(Dask(cluster), work, list(work.files))


def test_a_cluster_that_is_not_there_is_told(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one message, with exit code 1."""
    pytest.importorskip("distributed", reason="dask is not installed")
    write_challenge(tmp_path / "challenge")

    monkeypatch.setattr(dask, "NO_SCHEDULER", 1.0)

    answer = terminal.run("run", tmp_path / "challenge", "--executor", "dask:tcp://127.0.0.1:1")

    assert answer.code == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("name", ["", "threads", "processes:0", "processes:x", "serial:2", "dask", "dask:"])
def test_an_unknown_executor_is_a_wrong_call(tmp_path: Path, terminal: Terminal, name: str) -> None:
    """The message has the forms that there are."""
    terminal.run("init", tmp_path / "challenge")
    answer = terminal.run("run", tmp_path / "challenge", "--executor", name)
    assert answer.code == 2
    assert "processes:N or dask:ADDRESS" in " ".join(answer.err.split())
    with pytest.raises(ExecutorError):
        executor_named(name)
