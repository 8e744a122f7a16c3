"""Isolation: a job that exceeds a limit or kills its process costs only itself."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from scorer.limits import Limits
from scorer.scoring.executors import isolation
from scorer.scoring.executors.isolation import isolated
from scorer.scoring.outcomes import Failed
from tests.paths import ROOT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes are those of POSIX")

LIMITS = Limits(seconds=2, memory_mb=200, temporary_mb=1)

Deed = Callable[[], object]


def perform(shared: str, deed: str) -> object:
    """In a child: do what the job names, and answer with it."""
    return shared, DEEDS[deed]()


def _do_nothing() -> int:
    return os.getpid()


def _hang() -> None:
    time.sleep(3600)


def _compute() -> None:
    """Hold the interpreter's lock for ever."""
    sum(iter(int, 1))  # in C, so that no other thread runs


def _allocate() -> None:
    held = []
    while True:
        held.append(b"x" * 10_000_000)
        time.sleep(0.001)


def _allocate_at_once() -> int:
    return len(bytearray(10_000_000_000))


def _allocate_and_release() -> int:
    return len(b"x" * 100_000_000)


def _leave() -> None:
    os._exit(3)


def _be_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _overflow() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _fail() -> None:
    raise KeyError("unheard of")


def _open_many() -> int:
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return int(error.errno or 0)
    finally:
        for descriptor in held:
            os.close(descriptor)


def _fill_disk() -> int:
    with tempfile.TemporaryFile() as file:
        try:
            file.write(bytes(2_000_000))
            file.flush()
        except OSError as error:
            os.ftruncate(file.fileno(), 0)
            return int(error.errno or 0)
    return 0


def _leave_a_file() -> str:
    descriptor, path = tempfile.mkstemp()
    os.close(descriptor)
    return path


DEEDS: dict[str, Deed] = {
    each.__name__.removeprefix("_"): each
    for each in (
        *(_do_nothing, _hang, _compute, _allocate, _allocate_at_once, _allocate_and_release, _leave, _be_killed),
        *(_overflow, _fail, _open_many, _fill_disk, _leave_a_file),
    )
}


def outcomes(*deeds: str, limits: Limits = LIMITS, count: int = 2) -> list[Any]:
    """The outcomes of the deeds, in their order."""
    found = dict(isolated(perform, "shared", deeds, limits, count=count))
    assert sorted(found) == list(range(len(deeds)))
    return [found[index] for index in range(len(deeds))]


@pytest.mark.parametrize(
    ("deed", "kind", "reason"),
    [
        ("hang", "time", "it took longer than 2 seconds"),
        ("compute", "time", "it took longer than 2 seconds"),
        ("allocate", "memory", "it took more than 200 MB of memory"),
        ("allocate_at_once", "memory", "it needs more memory than is available"),
        ("leave", "lost", "the process that scored it died (exit code 3)"),
        ("be_killed", "lost", "the process that scored it died (signal SIGKILL)"),
        ("overflow", "lost", "the process that scored it died (signal SIGSEGV)"),
        ("fail", "lost", "scorer failed on it (KeyError: 'unheard of')"),
    ],
)
def test_a_job_that_fails_costs_only_itself(deed: str, kind: str, reason: str) -> None:
    """The jobs before it and after it are done."""
    first, second, bad, last = outcomes("do_nothing", "do_nothing", deed, "do_nothing")

    assert isinstance(bad, Failed)
    assert bad.kind == kind
    assert bad.reason.startswith(reason)
    assert [shared for shared, _ in (first, second, last)] == ["shared"] * 3


def test_a_child_does_several_jobs() -> None:
    """It is not started again for each; the answers come from a process that is not this one."""
    processes = [process for _, process in outcomes(*["do_nothing"] * 5, count=1)]
    assert len(set(processes)) == 1
    assert os.getpid() not in processes


def test_a_child_that_has_grown_is_replaced() -> None:
    """Memory that one job leaves behind does not count against the next."""
    answers = outcomes(*["allocate_and_release"] * 4, count=1)
    assert not any(isinstance(answer, Failed) for answer in answers)


def test_open_files_and_file_sizes_are_limited() -> None:
    """The job sees the error of the system."""
    (_, files), (_, disk) = outcomes("open_many", "fill_disk")
    assert files == errno.EMFILE
    assert disk == errno.EFBIG


def test_a_system_that_refuses_limits_scores_too() -> None:
    """As macOS does with those of memory: the child starts, and the parent watches its memory."""
    script = (
        "import resource, tempfile\n"
        "from scorer.limits import Limits\n"
        "from scorer.scoring.executors import isolation\n"
        "def refuse(*_): raise ValueError('current limit exceeds maximum limit')\n"
        "resource.setrlimit = refuse\n"
        "isolation._confine(Limits(), tempfile.gettempdir())\n"
        "print('started')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "started\n"), done.stderr


def test_temporary_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of jobs that are done, and those of killed children; they are in a folder of the parent."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (_, path), *_ = outcomes("leave_a_file", "be_killed", "hang")
    assert Path(path).is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def refuse(*_given: object) -> None:
    """As the function of a child that dies while it starts."""
    os._exit(1)


def test_jobs_fail_if_no_child_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is tried for ever, and the failure is not that of the jobs."""
    monkeypatch.setattr(isolation, "_serve", refuse)
    found = outcomes(*["do_nothing"] * 5)
    assert {answer.kind for answer in found} == {"machine"}


def test_closing_stops_the_children() -> None:
    """Also those that hang."""
    jobs = isolated(perform, "shared", ["do_nothing", "hang", "hang"], Limits(seconds=60), count=2)
    next(jobs)
    before = {child.pid for child in _children()}
    jobs.close()
    assert before
    assert not before & {child.pid for child in _children()}


def _children() -> list[psutil.Process]:
    """The processes below this one that work, without the server that forks them, and without those of a browser."""
    below = psutil.Process().children(recursive=True)
    servers = {each.pid for each in below if each.ppid() == os.getpid() and "forkserver" in " ".join(each.cmdline())}
    return [each for each in below if each.ppid() in servers]


def test_children_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """Also if they hang; the next run removes the temporary files."""
    program = f"""
        import sys
        sys.path.insert(0, {str(ROOT)!r})
        from tests.scoring.test_isolation import isolated, perform, Limits
        if __name__ == "__main__":
            for _ in isolated(perform, "shared", ["leave_a_file", "hang"], Limits(seconds=60)):
                print("one", flush=True)
    """
    file = tmp_path / "parent.py"
    file.write_text(textwrap.dedent(program))
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"one\n"
        family = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()

    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive
    left = list(folder.glob("scorer-*"))
    assert left

    again = "from scorer.files.writing import temporary_folder\nwith temporary_folder(): pass"
    subprocess.run([sys.executable, "-c", again], env=environment, check=True)
    assert list(folder.glob("scorer-*")) == []
