"""Executors: they all give the same results, and a fault costs only the file that causes it."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scorer.errors import ExecutorError
from scorer.files import digest
from scorer.limits import Limits
from scorer.lists.solution import Solution
from scorer.measures import parse
from scorer.organising.job import RunOptions
from scorer.scoring import submission
from scorer.scoring.executors import base, dask
from scorer.scoring.executors.base import Executor, FileOutcome, FileToScore, Processes, Scoring, Serial
from scorer.scoring.executors.dask import Dask
from scorer.scoring.outcomes import Failed, Rejected, Rules, Summary
from tests.commands import Terminal, here
from tests.databases import rows, site_content
from tests.paths import ROOT

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="needs /proc, to find the process that reads a file"
)

QUERIES = range(60)
RULES = Rules((*parse("MARp@5,10"), *parse("nDCG@10")), list_length=10)
PATIENT = Limits(seconds=60)
"""Limits that no file exceeds."""


def executor_named(name: str) -> Executor:
    """The executor that a run uses with this option."""
    executor = RunOptions(name, None, *[False] * 4).executor_named()
    assert executor is not None
    return executor


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
    """One track with six submissions, whose times are in their names."""
    teams = folder / "submissions/main"
    teams.mkdir(parents=True)
    write_solution(folder / "solution.txt")
    for team in range(6):
        write_lists(teams / f"20110418T100000Z-team-{team}.txt", str(team))
    (folder / "challenge.toml").write_text(
        'name = "Lists"\n[tracks.main]\ntitle = "Main"\nsolution = "solution.txt"\n'
        'list_length = 10\ncutoffs = [5, 10]\nprimary = "MARp"\nmeasures = ["AP"]\nstage = "final"\n'
    )


@dataclass(frozen=True, slots=True)
class Work:
    """Six files that can be scored, and one that cannot."""

    solution: Solution
    folder: Path
    files: tuple[FileToScore, ...]

    def with_a(self, path: Path) -> list[FileToScore]:
        """The files, with another one as the second."""
        return [self.files[0], FileToScore(path, "0" * 64), *self.files[1:]]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """A solution and seven files to score."""
    write_solution(tmp_path / "solution.txt")
    for number in range(6):
        write_lists(tmp_path / f"{number}.txt", str(number))
    (tmp_path / "6.txt").write_text("no colon\n")
    files = tuple(FileToScore(path, digest(path)) for path in sorted(tmp_path.glob("?.txt")))
    return Work(Solution.read(tmp_path / "solution.txt"), tmp_path, files)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe that no process writes: a process that reads it waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


SOURCE = ROOT


class Cluster:
    """A scheduler and two workers of one thread each, all of them processes of this machine."""

    def __init__(self, folder: Path, nanny: bool, sources: Sequence[Path]) -> None:
        self._file = folder / "scheduler.json"
        self._folder = folder
        quiet = ("--scheduler-file", str(self._file), "--no-dashboard")
        self._scheduler = self._started("scheduler", *quiet, "--host", "127.0.0.1", "--port", "0")
        options = ("--nthreads", "1", "--nanny" if nanny else "--no-nanny", "--local-directory", str(folder))
        self._workers = [self._started("worker", *quiet, *options, source=source) for source in sources]

    def _started(self, kind: str, *options: str, source: Path = SOURCE) -> subprocess.Popen[bytes]:
        """Start a program that imports scorer from the folder `source`."""
        command = [sys.executable, "-m", "dask", kind, *options]
        # A command that was run in this process has set PYTHONSAFEPATH: nothing comes from the current folder then.
        environment = {**os.environ, "PYTHONPATH": str(source)}
        with (self._folder / f"{kind}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=source, env=environment)

    @property
    def address(self) -> str:
        """The address of the scheduler, once both workers have started."""
        from distributed import Client

        with Client(scheduler_file=str(self._file), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            return str(client.scheduler.address)

    def stop_scheduler(self) -> None:
        self._scheduler.kill()
        self._scheduler.wait()

    def stop(self) -> None:
        # A worker that is terminated would wait for the file that hangs and for a scheduler that has gone. If it is
        # killed, the processes that it started end too.
        processes = [*self._workers, self._scheduler]
        for each in processes:
            each.kill()
        for each in processes:
            each.wait()


@contextmanager
def cluster_in(folder: Path, *, nanny: bool = True, sources: Sequence[Path] = (SOURCE, SOURCE)) -> Iterator[Cluster]:
    """A cluster that is stopped at the end."""
    pytest.importorskip("distributed", reason="dask is not installed")
    cluster = Cluster(folder, nanny, sources)
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster."""
    with cluster_in(tmp_path_factory.mktemp("cluster"), nanny=False) as cluster:
        yield cluster.address


@pytest.fixture(scope="module")
def restarting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster whose workers are restarted when they die."""
    with cluster_in(tmp_path_factory.mktemp("restarting")) as cluster:
        yield cluster.address


@pytest.fixture(params=["processes", pytest.param("dask", marks=pytest.mark.endurance)])
def executor(request: pytest.FixtureRequest) -> Executor:
    """Each executor that scores files outside this process."""
    return Processes(2) if request.param == "processes" else Dask(request.getfixturevalue("restarting"))


def results(executor: Executor, work: Work, files: list[FileToScore], limits: Limits = PATIENT) -> list[FileOutcome]:
    """The outcomes of the files, in their order. Each file has one."""
    found = list(executor.results(Scoring(work.solution, RULES, limits), files))
    assert sorted(index for index, _ in found) == list(range(len(files)))
    return [result for _, result in sorted(found, key=lambda each: each[0])]


def assert_only_one_failed(found: list[FileOutcome], reason: str) -> None:
    """The second file failed for this reason; the last is rejected, and all others are scored."""
    failed = found.pop(1)
    assert isinstance(failed, Failed)
    assert reason in failed.reason
    assert [type(each) for each in found] == [Summary] * 6 + [Rejected]


# The same everywhere


@pytest.mark.parametrize("excluding", [False, True])
def test_all_executors_give_the_same_results(excluding: bool, work: Work, cluster: str) -> None:
    """Means and judged items, to the last bit; excluded items go with the solution (items are named as queries)."""
    if excluding:
        work = replace(work, solution=work.solution.with_parts(excluded="self"))
    seen = []
    for name in ("serial", "processes:2", f"dask:{cluster}"):
        found = results(executor_named(name), work, list(work.files))
        assert [type(each) for each in found] == [Summary] * 6 + [Rejected]
        assert isinstance(found[0], Summary)
        assert any(" excluded, and removed" in note.text for note in found[0].notes) == excluding
        seen.append([(each.means, each.hits) for each in found if isinstance(each, Summary)])
    assert seen[0] == seen[1] == seen[2]


def test_all_executors_make_the_same_site(tmp_path: Path, cluster: str) -> None:
    """Byte for byte, from the command line."""
    sites = []
    for number, name in enumerate(("serial", "processes:2", f"dask:{cluster}")):
        folder = tmp_path / str(number)
        write_challenge(folder)

        answer = here("run", folder, "--executor", name)

        assert answer.code == 0
        assert answer.err.endswith("main: 6 scored, 0 known, 0 rejected\n")
        site = folder / "site"
        sites.append(site_content(site))
    assert sites[0] == sites[1] == sites[2]


def test_no_files_need_no_workers(work: Work) -> None:
    """Not even a cluster that exists."""
    for executor in (Serial(), Processes(2), Dask("tcp://127.0.0.1:1")):
        assert results(executor, work, []) == []


# A fault costs one file


def readers(pipe: Path) -> set[int]:
    """The other processes that have the file open."""
    found = set()
    for process_folder in Path("/proc").iterdir():
        if process_folder.name.isdigit() and int(process_folder.name) != os.getpid():
            with suppress(OSError):
                if any(link.readlink() == pipe for link in (process_folder / "fd").iterdir()):
                    found.add(int(process_folder.name))
    return found


@contextmanager
def deadly(pipe: Path) -> Iterator[list[int]]:
    """Kill every process that reads the pipe; the list holds their ids."""
    killed: list[int] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.02):
            try:
                end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                continue  # no process reads it
            # Open until the reader is found: until then it reads neither content nor an end.
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
    """The file that it was reading. Other workers score its other files."""
    with deadly(pipe) as killed:
        found = results(executor, work, work.with_a(pipe))
    assert killed
    assert_only_one_failed(found, "that scored it died")


def test_a_worker_that_hangs_costs_one_file(executor: Executor, work: Work, pipe: Path) -> None:
    """Only that file exceeds the time limit."""
    assert_only_one_failed(
        results(executor, work, work.with_a(pipe), Limits(seconds=5)), "it took longer than 5 seconds"
    )


def test_a_bug_costs_one_file(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that reveals a bug does not keep the others from being scored; the reason names the exception."""

    def score(solution: Solution, path: Path, *rest: object, **named: object) -> object:
        if path == work.folder / "odd":
            raise KeyError("unheard of")
        return genuine(solution, path, *rest, **named)  # type: ignore[arg-type]

    genuine = submission.score
    monkeypatch.setattr(base, "score", score)
    assert_only_one_failed(results(Serial(), work, work.with_a(work.folder / "odd")), "KeyError: 'unheard of'")


# Clusters that are not as they should be


@pytest.mark.endurance
def test_a_cluster_without_nannies_loses_one_file_too(tmp_path: Path, work: Work, pipe: Path) -> None:
    """Its dead workers are not replaced, so the file that kills them is tried last."""
    with cluster_in(tmp_path, nanny=False) as cluster, deadly(pipe) as killed:
        found = results(Dask(cluster.address), work, [FileToScore(pipe, "0" * 64), *work.files])
    assert killed
    assert [type(each) for each in found[1:]] == [Summary] * 6 + [Rejected]
    assert found[0] == dask.DIED


@pytest.mark.endurance
def test_a_batch_ends_if_the_scheduler_goes_away(
    tmp_path: Path, work: Work, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finished files have their outcomes, and the others fail."""
    monkeypatch.setattr(dask, "WORKER_TIMEOUT", 2.0)
    with cluster_in(tmp_path) as cluster:
        running = Dask(cluster.address).results(Scoring(work.solution, RULES, PATIENT), work.with_a(pipe))
        found = [next(running)]
        cluster.stop_scheduler()
        found += list(running)
    assert sorted(index for index, _ in found) == list(range(8))
    given_up = dict(found)[1]
    assert isinstance(given_up, Failed)
    assert given_up.kind == "machine"


OTHER_WORKERS = {
    "generation": (
        "scoring/outcomes.py",
        ("MATCHING_GENERATION = 1", "MATCHING_GENERATION = 2"),
        r"has scorer \S+ \(source (\w+)\), this machine \S+ \(source (?!\1)\w+\); install the same there, and restart",
    ),
    "measure": (
        "measures/binary.py",
        ('"""', '"""Another.\n\n'),
        r"has scorer \S+ \(source (\w+)\), this machine \S+ \(source (?!\1)\w+\); install the same there, and restart",
    ),
    "numpy": (
        "scoring/executors/dask.py",
        ("np.__version__", '"1.26.4"'),
        r"has scorer .*; numpy 1\.26\.4, this machine \d\S+; install the same there, and restart",
    ),
    "earlier": (
        "scoring/executors/dask.py",
        ("def identity", "def version"),
        r"has no scorer, or another version of it \(AttributeError.*\); install the same there, and restart",
    ),
}
"""Changes of the package that a worker runs: the module, what is replaced there, and the message."""


@pytest.mark.endurance
@pytest.mark.parametrize("change", ["generation", "measure", "numpy", "earlier"])
def test_a_worker_with_another_scorer_is_refused(tmp_path: Path, terminal: Terminal, change: str) -> None:
    """It might give other scores. Nothing is stored, although the cluster has a worker with this scorer, too."""
    module, (old, new), message = OTHER_WORKERS[change]
    other, challenge = tmp_path / "other", tmp_path / "challenge"
    shutil.copytree(Path(base.__file__).parents[2], other / "scorer", ignore=shutil.ignore_patterns("__pycache__"))
    altered = other / "scorer" / module
    text = altered.read_text()
    assert old in text
    altered.write_text(text.replace(old, new, 1))
    write_challenge(challenge)

    with cluster_in(tmp_path, sources=(SOURCE, other)) as cluster:
        answer = terminal.run("run", challenge, "--executor", f"dask:{cluster.address}")

    assert answer.code == 1
    assert re.search(rf"the worker at tcp://\S+ {message}", " ".join(answer.err.split())), answer.err
    assert "Traceback" not in answer.err
    assert rows(str(challenge / "scores.db"), "SELECT count(*) FROM result") == [(0,)]


def test_the_identity_does_not_depend_on_the_place(tmp_path: Path) -> None:
    """A copy of the package, as an installation is, has the same."""
    shutil.copytree(Path(base.__file__).parents[2], tmp_path / "scorer")
    code = "from scorer.scoring.executors.dask import identity; print(dict(identity()))"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout == f"{dict(dask.identity())}\n"


@pytest.mark.endurance
def test_a_file_that_the_scheduler_gives_up_is_lost(
    tmp_path: Path, work: Work, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler may fail the tasks of a worker that dies before the list of workers is updated."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with cluster_in(tmp_path) as cluster, deadly(pipe) as killed:
        found = results(Dask(cluster.address), work, work.with_a(pipe))
    assert killed
    assert found[1] == dask.DIED
    assert_only_one_failed(found, "that scored it died")


def test_a_cluster_that_does_not_exist_is_an_error(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message, exit code 1."""
    pytest.importorskip("distributed", reason="dask is not installed")
    write_challenge(tmp_path / "challenge")

    monkeypatch.setattr(dask, "SCHEDULER_TIMEOUT", 1.0)

    answer = terminal.run("run", tmp_path / "challenge", "--executor", "dask:tcp://127.0.0.1:1")

    assert answer.code == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("name", ["", "threads", "processes:0", "processes:x", "serial:2", "dask", "dask:"])
def test_an_unknown_executor_is_a_usage_error(tmp_path: Path, terminal: Terminal, name: str) -> None:
    """The message lists the executors."""
    terminal.run("init", tmp_path / "challenge")
    answer = terminal.run("run", tmp_path / "challenge", "--executor", name)
    assert answer.code == 2
    assert "processes:N or dask:ADDRESS" in " ".join(answer.err.split())
    with pytest.raises(ExecutorError):
        executor_named(name)


@pytest.mark.parametrize(
    ("earlier", "length", "found"),
    [
        ("query,item,score\nq2,c,1\nq1,b,1\nq1,a,2\nq3,x,1\n", 10, (2, 3)),
        ("q1:b,a\nq2:c\nq3:d,e\n", 10, (2, 3)),
        ("q1:a,c\nq2:d\n", 1, (1, 3)),
        ("q1:a,b,c\nq2:c\nq3:d,e\n", 10, (2, 3)),
        ("", 10, (0, 0)),
        ("no list\n", 10, (0, 3)),
    ],
    ids=["another format", "another order", "ranks that count", "longer", "empty", "invalid"],
)
def test_lists_that_are_the_same_are_counted(earlier: str, length: int, found: tuple[int, int], tmp_path: Path) -> None:
    """By the items and their order, in any format and order of queries; a file with errors has none."""
    file, other = tmp_path / "file.txt", tmp_path / "other.txt"
    file.write_text("q1:a,b\nq2:c\nq3:d,e\n")
    other.write_text(earlier)
    rules = Rules(parse("AP"), list_length=length)
    assert base.same_lists_in_child(file, other, rules, Limits()) == found
    assert base.same_lists_in_child(file, file, rules, Limits()) == (3, 3)
    assert base.same_lists_in_child(file, other, rules, Limits(file_mb=0)) == (0, 0)
