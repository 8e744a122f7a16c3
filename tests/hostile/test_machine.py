"""Machines that fail, through the command line: no fault of theirs rejects a file or appears on a page."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import shutil
import signal
import subprocess
import textwrap
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet

from scorer.errors import system_failure
from scorer.scoring.executors.base import Processes
from scorer.store.store import Store
from tests.commands import RUN, Answer, command, here, process
from tests.databases import site_content
from tests.organising.test_faults import GOOD, board, submissions
from tests.strategies import rest, some

pytestmark = pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="the faults are made with means of Linux")

TEAM = "late"
SCATTERED = "20110418T120000Z-late.txt"
"""A file of the team that takes a second, and temporary space, to score."""

NOT_COUNTED = "; the next run tries it again"


UNREADABLE = f"/proc/{os.getpid()}/mem"
"""A file that can be opened, and whose first byte cannot be read."""


def write_scattered(file: Path) -> None:
    """Write lists in nine megabytes, whose rows are in several blocks, so that they are collected on the disk."""
    unknown = "".join(f"unknown-{query} Q0 item 1 1 t\n" for query in range(150_000))
    known = "".join(f"q{query} Q0 {item} 1 2 t\n" for query, item in ((1, "apple"), (2, "fig"), (3, "lemon")))
    file.write_text(known + unknown + known.replace(" 2 t", " 1 t").replace("Q0 ", "Q0 second-") + unknown)


def run(
    folder: Path,
    *options: str,
    prefix: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    program: str | None = None,
) -> Answer:
    """Run ``scorer run`` in another process, below the program `prefix`, or `program` in the place of the command.

    A run without any of them needs no other process, and is faster in this one.
    """
    if not prefix and environment is None and program is None:
        return here("run", folder, *options)
    called = RUN if program is None else textwrap.dedent(program)
    return process("run", folder, *options, environment=environment, prefix=prefix, program=called)


def assert_neutral(folder: Path, answer: Answer, *reasons: str) -> None:
    """The run has failed for one of the reasons, which no page has; nothing is rejected."""
    assert answer.code == 1
    assert any(reason in answer.err for reason in reasons), answer.err
    assert "rejected by" not in answer.err
    assert "0 rejected" in answer.err
    for page in site_content(folder / "site").values():
        assert not any(reason.encode() in page for reason in reasons)


def assert_waits(folder: Path, answer: Answer, reason: str) -> None:
    """The entry of the team has failed, and its page says neutrally that it is not scored yet."""
    assert_neutral(folder, answer, reason)
    page = (folder / "site" / "teams" / f"{TEAM}.html").read_text(encoding="utf-8")
    assert "not scored yet" in page
    assert "The team need not do anything." in page
    assert board(folder)[TEAM]["rank"] is None


def assert_recovers(folder: Path) -> None:
    """Without the fault, the entry of the team is scored."""
    answer = run(folder)
    assert (answer.code, "0 rejected" in answer.err) == (0, True), answer.err
    assert all(row["nDCG@5"] is not None for row in board(folder).values())
    assert board(folder).keys() >= {"first-team", "most-popular", TEAM}


@pytest.fixture
def large(challenge: Path) -> Path:
    """A challenge with a file that needs temporary space."""
    write_scattered(submissions(challenge) / SCATTERED)
    return challenge


@pytest.fixture
def small(challenge: Path) -> Path:
    """A challenge with another small file."""
    (submissions(challenge) / SCATTERED).write_text(GOOD, encoding="utf-8")
    return challenge


@contextmanager
def unreadable(file: Path) -> Iterator[None]:
    """Let reading the file give EIO: what is mounted over it can be opened and not read."""
    if subprocess.run(["mount", "--bind", UNREADABLE, str(file)], check=False, capture_output=True).returncode:
        pytest.skip("needs permission to mount a file that cannot be read")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(file)], check=True)


# Temporary space


@pytest.mark.endurance
def test_a_full_temporary_disk_never_counts(large: Path, small_disk: Path) -> None:
    """Four runs fail, one more than there are attempts, and the fifth scores the file."""
    for _ in range(4):
        answer = run(large, environment={"TMPDIR": str(small_disk)})
        assert_waits(large, answer, f"No space left on device{NOT_COUNTED}")
    assert list(small_disk.iterdir()) == []
    assert_recovers(large)


@pytest.mark.endurance
@pytest.mark.parametrize("fault", ["full", "missing", "read-only", "long"])
def test_an_unusable_temporary_folder_is_replaced_by_another(fault: str, small: Path, small_disk: Path) -> None:
    """That of the system."""
    place = {"missing": small_disk / "nowhere", "long": small_disk / ("x" * 120)}.get(fault, small_disk)
    if fault == "full":
        (small_disk / "filler").write_bytes(bytes(os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize))
    elif fault == "long":
        place.mkdir()
    elif fault == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    answer = run(small, environment={"TMPDIR": str(place)})

    assert (answer.code, answer.err) == (0, "main: 3 scored, 0 known, 0 rejected\n")


# Open files, processes, memory


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")
@pytest.mark.parametrize("count", some((24, 16, 12, 10, 8, 6), 12))
def test_too_few_open_files_are_reported(count: int, small: Path) -> None:
    """24 are enough, 12 for a board without the new files, and less for a message."""
    answer = run(small, prefix=("prlimit", f"--nofile={count}:{count}"))

    assert "Traceback" not in answer.err
    assert answer.code == (0 if count == 24 else 1)
    if count in {16, 12}:
        assert_waits(small, answer, f"Too many open files{NOT_COUNTED}")
    assert ("Too many open files" in answer.err) == (count < 24)
    assert_recovers(small)


OTHER_USER = ("setpriv", "--reuid=65533", *(f"--{kind}-caps=+dac_override,+fowner" for kind in ("inh", "ambient")))
"""Another user, whose processes are limited, but who may read and write the files of the test."""


@pytest.mark.endurance
@pytest.mark.skipif(shutil.which("prlimit") is None or shutil.which("setpriv") is None, reason="needs setpriv, prlimit")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start processes of another user")
def test_processes_that_cannot_be_started_never_count(small: Path) -> None:
    """The board is rendered, without the new files."""
    answer = run(small, prefix=("prlimit", "--nproc=6:6", *OTHER_USER))
    assert_waits(small, answer, "no process can be started to score it: ")
    assert "attempt" not in answer.err
    assert_recovers(small)


def formats() -> dict[str, bytes]:
    """The same lists in the formats, plain and compressed, whose readers take memory in their own ways."""
    lists = {f"q{number}": ["apple", "fig", "lemon"] for number in range(1, 20_001)}
    rows = [(query, item) for query, items in lists.items() for item in items]
    columns = {"query": [row[0] for row in rows], "item": [row[1] for row in rows], "rank": [1, 2, 3] * len(lists)}
    text = "".join(f"{query}:{','.join(items)}\n" for query, items in lists.items()).encode()
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink, compression="zstd")
    return {
        "parquet": sink.getvalue().to_pybytes(),
        "json": json.dumps(lists).encode(),
        "txt.gz": gzip.compress(text),
        "txt.xz": lzma.compress(text),
        "txt.zst": pa.compress(text, codec="zstd", asbytes=True),
    }


@pytest.mark.endurance
@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")
def test_no_file_is_rejected_because_memory_is_short(challenge: Path) -> None:
    """With more and more memory: each file is scored, or has failed, or the command ends with a message.

    The pages need SciPy, whose library for matrices never ends its search for memory where it has too little.
    """
    for number, (ending, content) in enumerate(formats().items()):
        (submissions(challenge) / f"20110418T12000{number}Z-{number}.{ending}").write_bytes(content)
    for megabytes in (280, 340, 400):
        answer = process("score", challenge, prefix=("prlimit", f"--as={megabytes * 1_000_000}"))
        assert "rejected by" not in answer.err
        assert "0 rejected" in answer.err or "stopped" in answer.err or answer.code == -signal.SIGABRT, answer.err
    run(challenge)
    assert here("retry", "--challenge", challenge).code == 0
    answer = run(challenge)
    assert (answer.code, "0 rejected" in answer.err) == (0, True), answer.err
    assert sum(row["nDCG@5"] is not None for row in board(challenge).values()) == 7


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily unavailable"), OSError),
        (RuntimeError("can't start new thread"), OSError),
        (OSError("ZSTD decompress failed: Allocation error : not enough memory"), MemoryError),
        (zlib.error("Error -4 while decompressing data: insufficient memory"), MemoryError),
        (pa.ArrowMemoryError("malloc of size 64 failed"), MemoryError),
        (OSError(5, "Input/output error"), OSError),
        (zlib.error("Error -3 while decompressing data: invalid block type"), type(None)),
        (OSError("ZSTD decompress failed: Corrupted block detected"), type(None)),
        (ImportError("_ufuncs_cxx.so: failed to map segment from shared object"), MemoryError),
        (ImportError("libscipy_openblas.so: cannot allocate memory in static TLS block"), MemoryError),
        (ImportError("No module named 'memory_profiler'"), type(None)),
        (KeyError("memory_mb"), type(None)),
    ],
)
def test_failures_of_the_system_are_no_errors_in_the_content(error: Exception, kind: type) -> None:
    """However a library reports them."""
    assert isinstance(system_failure(error), kind)


# Reading


def test_a_disk_that_fails_withdraws_and_rejects_nothing(small: Path) -> None:
    """EIO on a submission that is scored, on a new one, and on the solution, four times: nothing is lost."""
    first, *_ = sorted(submissions(small).iterdir())
    late = submissions(small) / SCATTERED
    shutil.move(late, small / "kept")
    assert run(small).code == 0
    before = board(small)
    shutil.move(small / "kept", late)
    with unreadable(first), unreadable(late):
        for _ in range(4):
            answer = run(small)
            assert_neutral(small, answer, "Input/output error")
            assert board(small) == before
    with unreadable(small / "solutions" / "main.txt"):
        answer = run(small)
        assert answer.code == 1
        assert "solutions/main.txt: cannot be read: Input/output error" in answer.err
        assert board(small) == before
    assert_recovers(small)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("rm {0}", "no such file"),
        ("echo q1:pear > {0}", "it changed while it was read, or could not be read completely"),
        ("mount --bind {1} {0}", "Input/output error"),
        *rest(
            [
                ("truncate --size=9 {0}", "it changed while it was read, or could not be read completely"),
                ("rm {0}; mkdir {0}", "not a regular file"),
                ("rm {0}; ln -s /etc/hostname {0}", "a link; links are not followed: submit the file itself"),
            ]
        ),
    ],
)
def test_a_file_that_changes_before_it_is_scored_has_failed(
    change: str, reason: str, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between intake and scoring. It is tried again, without an attempt."""
    late = submissions(small) / SCATTERED
    if change.startswith("mount"):
        with unreadable(late):
            pass
    results = Processes.results

    def changed(self: Processes, *work: Any) -> Any:
        subprocess.run(change.format(late, UNREADABLE), shell=True, check=True)
        return results(self, *work)

    monkeypatch.setattr(Processes, "results", changed)

    answer = run(small)

    monkeypatch.undo()
    if change.startswith("mount"):
        subprocess.run(["umount", "--lazy", str(late)], check=True)
    assert_waits(small, answer, reason)
    assert NOT_COUNTED in answer.err
    if late.is_dir() and not late.is_symlink():
        late.rmdir()
    late.unlink(missing_ok=True)
    late.write_text(GOOD, encoding="utf-8")
    assert_recovers(small)


# Processes that end


def scoring(parent: int) -> list[psutil.Process]:
    """The processes below a run that read the scattered file."""
    found = []
    with suppress(psutil.Error):
        for child in psutil.Process(parent).children(recursive=True):
            with suppress(psutil.Error):
                if any(each.path.endswith(SCATTERED) for each in child.open_files()):
                    found.append(child)
    return found


INTERRUPTIBLE = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {RUN}"
"""``scorer``, also where the parent of the tests ignores interrupts, as shells let what runs in the background do."""


@contextmanager
def disturbed(
    folder: Path, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A run in its own group of processes, once a process of it reads the scattered file; no process of it is left."""
    with subprocess.Popen(
        command("run", folder, *options, program=INTERRUPTIBLE),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
    ) as running:
        while not scoring(running.pid):
            assert running.poll() is None
            time.sleep(0.02)
        family = psutil.Process(running.pid).children(recursive=True)
        yield running
    _, alive = psutil.wait_procs(family, timeout=20)
    assert not alive


def answer_of(running: subprocess.Popen[str]) -> Answer:
    """What a run prints until its end."""
    out, err = running.communicate(timeout=60)
    return Answer(running.returncode, out, err)


@pytest.mark.endurance
def test_a_process_that_is_killed_counts_three_times(large: Path) -> None:
    """As the system does when memory is short. Then the file is given up, until the organiser tries it again."""
    for attempt in (1, 2, 3):
        with disturbed(large) as running:
            for child in scoring(running.pid):
                child.kill()
            answer = answer_of(running)
        assert_waits(large, answer, f"died (signal SIGKILL) (attempt {attempt} of 3)")
    for options, code in (((), 0), (("--strict",), 1)):
        answer = run(large, *options)
        assert answer.code == code
        assert "given up after 3 attempts: the process that scored it died (signal SIGKILL)" in answer.err
        assert "0 scored, 2 known, 0 rejected, 1 failed" in answer.err
    assert here("retry", "--challenge", large).code == 0
    assert_recovers(large)


@pytest.mark.endurance
def test_the_server_of_processes_may_be_killed(large: Path) -> None:
    """Processes that work go on, or their files are tried again; no process is left."""
    with disturbed(large) as running:
        for child in psutil.Process(running.pid).children():
            if "forkserver" in " ".join(child.cmdline()):
                child.kill()
        answer = answer_of(running)
    assert "0 rejected" in answer.err
    assert_recovers(large)


@pytest.mark.parametrize(
    ("sent", "code", "message"),
    [(signal.SIGINT, 130, "stopped\n"), *rest([(signal.SIGTERM, -15, "")])],
)
def test_a_signal_ends_a_run_and_its_processes(
    sent: signal.Signals, code: int, message: str, large: Path, tmp_path: Path
) -> None:
    """To the whole group, as a terminal sends it. The next run removes the temporary files."""
    environment = {"TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    with disturbed(large, environment=environment) as running:
        os.killpg(running.pid, sent)
        answer = answer_of(running)
    assert (answer.code, answer.err) == (code, message)
    assert run(large, environment=environment).code == 0
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.endurance
def test_a_reader_of_the_messages_that_leaves_ends_a_run(large: Path) -> None:
    """As `scorer run 2>&1 | head -n 1` does: no process is left, and the next run goes on."""
    (submissions(large) / "20110418T120001Z-bad.txt").write_text("no colon\n", encoding="utf-8")
    with disturbed(large) as running:
        assert running.stderr is not None
        running.stderr.close()
        assert running.wait(60) == 1
    (submissions(large) / "20110418T120001Z-bad.txt").unlink()
    assert_recovers(large)


# The rest of the system

PARENT = """
    import os
    from pathlib import Path
    from scorer.cli import main
    try:
        main()
    finally:
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        print(len(os.listdir("/proc/self/fd")), status["VmHWM"].split()[0])
"""
"""``scorer``, which prints its open files and its kilobytes of memory."""


@pytest.mark.endurance
def test_many_files_cost_the_run_neither_open_files_nor_memory(challenge: Path) -> None:
    """150 files, each of which is scored by a process."""
    for number in range(150):
        file = submissions(challenge) / f"team-{number % 20}" / f"20110418T120000Z-{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"q1:apple,item-{number}\nq2:fig\nq3:lemon\n", encoding="utf-8")

    answer = run(challenge, program=PARENT)

    assert "152 scored" in answer.err
    files, kilobytes = map(int, answer.out.split()[-2:])
    assert files < 40
    assert kilobytes < 500_000  # most of them for drawing the charts


@pytest.mark.parametrize("days", [-3650, 3650])
def test_a_clock_that_jumps_changes_no_score(days: int, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of entries whose names say when they were received; the time of the record does not decide."""
    assert run(small).code == 0
    before = board(small)
    defaults = Store.open.__func__.__kwdefaults__  # type: ignore[attr-defined]
    monkeypatch.setitem(defaults, "clock", lambda: datetime.now(UTC) + timedelta(days=days))
    assert run(small, "--verify-files").code == 0
    monkeypatch.undo()
    assert board(small) == before
    assert_recovers(small)


def test_another_limit_voids_a_rejection_by_it(small: Path) -> None:
    """The organiser's limit was too low; the next run scores the file."""
    settings = small / "challenge.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}\n[limits]\nid_bytes = 4\n", encoding="utf-8")
    answer = run(small)
    assert answer.code == 1
    assert "limits.id_bytes" in answer.err
    settings.write_text(text, encoding="utf-8")
    assert_recovers(small)


def test_few_addresses_are_enough_for_a_board_and_its_pictures(small: Path) -> None:
    """They are drawn without an engine of a browser, which reserves many."""
    answer = run(small, prefix=("sh", "-c", 'ulimit -v 1300000 && exec "$@"', "sh"))

    assert (answer.code, answer.err) == (0, "main: 3 scored, 0 known, 0 rejected\n")
    assert "<svg" in (small / "site" / "main" / "index.html").read_text(encoding="utf-8")
    assert board(small)[TEAM]["rank"] is not None
