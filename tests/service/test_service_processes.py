"""The service as real processes: kills, cut connections, slow senders, the loops, and the command that hands in."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import signal
import socket
import stat
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from scorer.live.entries import Followed
from scorer.organising.teams import issue
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.commands import RUN, command, here, process
from tests.databases import site_content, without_log
from tests.live_challenges import GOOD, OTHER, POOR, Live
from tests.served import at_place
from tests.strategies import rest, some

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")

WAIT = 60.0
"""Seconds within which what a test waits for must happen."""

KILLED_AT = """
import os, signal, sys
from functools import wraps
from importlib import import_module
place, name, when = sys.argv.pop(1).split(":")
module = import_module(place)
target, _, attribute = name.rpartition(".")
owner = getattr(module, target) if target else module
function = getattr(owner, attribute)
@wraps(function)
def killing(*arguments, **options):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    answer = function(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
    return answer
setattr(owner, attribute, killing)
from scorer.cli import main
main()
"""

STEPS = {
    "before the file is complete on the disk": "scorer.service.uploads:_sync:before",
    "when it is complete": "scorer.service.uploads:_sync:after",
    "before it is recorded": "scorer.store.store:Store.record:before",
    "when it is recorded": "scorer.store.store:Store.record:after",
    "before it has its name": "scorer.organising.files:sync_folder:before",
    "when it has its name": "scorer.service.accepting:move:after",
    "before the answer": "scorer.service.app:accepted_document:before",
}


def challenge(folder: Path, place: str = "scores.db") -> Path:
    """A challenge without phases that was run once."""
    live = at_place(Live.graded(folder, phases="", rules='stage = "final"\n'), place)
    live.put("popular.txt", POOR, live.now)
    assert here("run", folder).code == 0
    return folder


@dataclass
class Server:
    """A server in a process."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, token: str = "", body: bytes | None = None) -> tuple[int, Any]:
        """The status and the document of an answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)) as connection:
            connection.request(method, path, body, {"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            content = answer.read()
            is_document = "json" in answer.headers.get("content-type", "") and content
            return answer.status, json.loads(content) if is_document else content

    def put(self, token: str, delivery: str, text: str) -> tuple[int, Any]:
        return self.request("PUT", f"/api/v1/tracks/main/entries/{delivery}", token, text.encode())


@contextmanager
def serving(folder: Path, *options: str, program: str = RUN, first: tuple[str, ...] = ()) -> Iterator[Server]:
    """Serve a challenge on a free port."""
    log = folder / "service.log"
    log.write_text("")
    with log.open("a") as errors:
        line = command(*first, "serve", str(folder), "--port", "0", *options, program=program)
        server = subprocess.Popen(line, stderr=errors)
    try:
        until(lambda: "http://" in log.read_text() or server.poll() is not None)
        started = next((line for line in log.read_text().splitlines() if "http://" in line), "")
        assert started, log.read_text()
        found = Server(server, int(started.strip().rpartition(":")[2]))
        until(lambda: found.request("GET", "/healthz")[0] == 200)
        yield found
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        server.wait(WAIT)


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException):
            if holds():
                return
        time.sleep(0.05)
    raise AssertionError("it never held")


def opened(folder: Path) -> Store:
    """The database of a challenge."""
    return Store.open(read_challenge(folder).database_address)


def token_of(folder: Path, team: str = "amber") -> str:
    """A new token."""
    with opened(folder) as store:
        return issue(store, team, "token")


def arrivals(folder: Path) -> list[tuple[str, str]]:
    """The team and the recorded id of each delivery."""
    with opened(folder) as store:
        return [(team, delivery) for _, team, delivery in store.read(lambda view: Followed.of(view, "Live")).deliveries]


def delivered_files(folder: Path) -> list[Path]:
    """The files of accepted deliveries."""
    return sorted((folder / "submissions" / "main").glob("[!.]*/*.txt"))


def board(folder: Path) -> list[dict[str, Any]]:
    """The rows of the board, without times."""
    rows = json.loads((folder / "site" / "main" / "leaderboard.json").read_bytes())["rows"]
    return [{key: value for key, value in row.items() if key not in ("last entry", "changes")} for row in rows]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The board after an undisturbed delivery."""
    folder = challenge(tmp_path_factory.mktemp("calm") / "live")
    with serving(folder, "--no-runner") as server:
        assert server.put(token_of(folder), str(uuid.uuid4()), GOOD)[0] == 201
    assert here("run", folder).code == 0
    return board(folder)


class TestKilled:
    """`kill -9` of the server at every step of a delivery."""

    @pytest.mark.parametrize("step", some(STEPS, "when it is recorded"))
    def test_the_same_delivery_again_is_one_entry(
        self, tmp_path: Path, place: str, step: str, calm: list[dict[str, Any]]
    ) -> None:
        """Without a receipt nothing is lost, and nothing counts twice; the site equals an undisturbed one."""
        folder = challenge(tmp_path / "live", place)
        token, delivery = token_of(folder), str(uuid.uuid4())
        with serving(folder, "--no-runner", program=KILLED_AT, first=(STEPS[step],)) as server:
            with suppress(OSError, http.client.HTTPException):
                raise AssertionError(f"answered: {server.put(token, delivery, GOOD)}")
            assert server.process.wait(WAIT) == -signal.SIGKILL
        with serving(folder, "--no-runner") as server:
            status, document = server.put(token, delivery, GOOD)
        assert status in (200, 201)
        ((team, recorded),) = arrivals(folder)
        assert (team, recorded != delivery) == ("amber", True)
        (file,) = delivered_files(folder)
        assert file.read_text() == GOOD
        assert file.name.endswith(f"-{document['index']:06}.txt")
        assert here("run", folder).code == 0
        assert board(folder) == calm

    def test_a_loop_that_is_killed_is_started_again_and_ends_with_a_killed_server(self, tmp_path: Path) -> None:
        """What was handed in meanwhile is scored."""
        folder = challenge(tmp_path / "live")
        token, delivery = token_of(folder), str(uuid.uuid4())
        with serving(folder) as server:
            until(lambda: psutil.Process(server.process.pid).children())
            for child in psutil.Process(server.process.pid).children(recursive=True):
                with suppress(psutil.Error):
                    child.kill()
            assert server.put(token, delivery, GOOD)[0] == 201
            path = f"/api/v1/tracks/main/entries/{delivery}"
            until(lambda: server.request("GET", path, token)[1]["outcome"] == "scored")
            children = psutil.Process(server.process.pid).children(recursive=True)
            assert children
            server.process.kill()
        until(lambda: not [child for child in children if child.is_running() and child.status() != "zombie"])


def test_from_a_file_to_a_score_and_a_board(tmp_path: Path) -> None:
    """By the loops of the service, of which the first run scores what came before it; a file that arrives in the folder
    is scored, too, and a bad one delays no other.
    """
    folder = Live.graded(tmp_path / "live", phases="", rules='stage = "final"\n').folder
    file, receipt = tmp_path / "lists.txt", tmp_path / "receipt.txt"
    file.write_text(GOOD)
    bad = tmp_path / "bad.txt"
    bad.write_text("q1:a,a\nnot a list\n")
    with serving(folder) as server, pytest.MonkeyPatch.context() as patch:
        options = ("--track", "main", "--server", server.address, "--wait")
        patch.setenv("SCORER_TOKEN", token_of(folder))
        answer = here("submit", file, *options, "--receipt", receipt)
        assert answer.code == 0, answer.err
        assert "final nDCG@3 1.0" in answer.out.splitlines()
        until(lambda: b"amber" in server.request("GET", "/main/index.html")[1])
        worse = tmp_path / "worse.txt"
        worse.write_text(POOR)
        later = here("submit", worse, *options, "--receipt", receipt.with_name("2.txt"))
        assert later.code == 0, later.err
        assert "; it does not count; it would be rank " in later.err
        first, second = (int(each.out.partition("entry ")[2].split()[0]) for each in (answer, later))
        assert second > first
        assert re.search(rf"(?m)^Worse than entry {first}: too close to call \(\N{{MINUS SIGN}}0\.\d+\)\.$", later.out)
        assert "Better" not in answer.out
        rejected = here("submit", bad, *options)
        assert rejected.code == 1
        assert f"{bad}:2: " in rejected.err
        (folder / "submissions" / "main" / "brass.txt").write_text(POOR)
        until(lambda: b"brass" in server.request("GET", "/main/index.html")[1])
    assert server.process.returncode == 0
    site = folder / "site"
    assert here("verify", "receipt", receipt, "--key", site / "receipts.pem", "--log", site / "log.jsonl").code == 0
    assert without_log(site_content(site))


class TestSubmit:
    """The command that hands in."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return challenge(tmp_path / "live")

    def test_wrong_calls_and_refusals_have_one_message(self, folder: Path, tmp_path: Path) -> None:
        """And an exit code. An invalid file is not sent with the challenge, and a token is of mode 600."""
        file, bad, token = (tmp_path / name for name in ("lists.txt", "bad.txt", "token.txt"))
        file.write_text(GOOD)
        bad.write_text("not a list\n")
        token.write_text(token_of(folder))
        token.chmod(0o644)
        with serving(folder, "--no-runner") as server, pytest.MonkeyPatch.context() as patch:
            wrong = here("submit", file, "--track", "main", "--server", "example.org")
            assert (wrong.code, "begins with https://" in wrong.err) == (2, True)
            to_main = ("--track", "main", "--server", server.address)
            patch.setenv("SCORER_TOKEN", "scorer_guess")
            refused = here("submit", file, *to_main)
            assert (refused.code, "no valid token" in refused.err) == (1, True)
            patch.setenv("SCORER_TOKEN", token_of(folder))
            assert "no track is called" in here("submit", file, "--track", "x", "--server", server.address).err
            assert here("submit", tmp_path / "none", *to_main).code == 1
            assert here("submit", bad, *to_main, "-C", folder).code == 1
            bad.write_text("u1:a\n")  # the folder has the solution, which knows the queries
            assert "none of its queries is known" in here("submit", bad, *to_main, "-C", folder).err
            patch.delenv("SCORER_TOKEN")
            assert here("submit", file, *to_main, "--token-file", token).code == 2
            assert arrivals(folder) == []
            token.chmod(stat.S_IRUSR | stat.S_IWUSR)
            assert here("submit", file, *to_main, "--token-file", token).code == 0
        assert len(list(tmp_path.glob("*-lists.receipt.txt"))) == 1
        assert not (tmp_path / "lists.txt.delivery").exists()

    @pytest.mark.parametrize("faults", [(0, 700), *rest([((200,),), ((2_000, 2_000, 2_000),)])], ids=str)
    def test_connections_that_are_cut_give_one_entry(
        self, folder: Path, tmp_path: Path, faults: tuple[int, ...]
    ) -> None:
        """After so many bytes of both directions; the command goes on with the same delivery."""
        file = tmp_path / "lists.txt"
        file.write_text(GOOD + "".join(f"q{number}:x\n" for number in range(5, 400)))
        with (
            serving(folder, "--no-runner") as server,
            cutting(server.port, list(faults)) as port,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setenv("SCORER_TOKEN", token_of(folder))
            address = f"http://127.0.0.1:{port}"
            call = ("submit", file, "--track", "main", "--server", address, "--no-check", "--again")
            answer = here(*call)
        assert answer.code == 0, answer.err
        assert answer.err.count("trying again") == len(faults)
        assert len(arrivals(folder)) == len(delivered_files(folder)) == 1

    def test_a_command_that_is_killed_goes_on_with_the_same_delivery(self, folder: Path, tmp_path: Path) -> None:
        """The answer was lost."""
        file = tmp_path / "lists.txt"
        file.write_text(GOOD)
        with serving(folder, "--no-runner") as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("SCORER_TOKEN", token_of(folder))
            call = ("submit", file, "--track", "main", "--server", server.address)
            with pytest.MonkeyPatch.context() as cut:
                cut.setattr("scorer.cli.participate._ATTEMPTS", 1)
                cut.setattr("scorer.cli.participate._answer", _lost)
                assert here(*call, "--again").code == 1
            assert (tmp_path / "lists.txt.delivery").exists()
            assert here(*call).code == 0  # it is no second entry, so nothing is to be confirmed
            assert here(*call).code == 1
            file.write_text(OTHER)
            assert here(*call).code == 0
        assert len(arrivals(folder)) == 2


def _lost(_body: bytes) -> dict[str, Any]:
    raise ConnectionResetError("lost")


@contextmanager
def cutting(port: int, faults: list[int]) -> Iterator[int]:
    """A proxy that cuts its first connections after so many bytes, and passes the others on."""
    loop = asyncio.new_event_loop()

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = [faults.pop(0) if faults else 1 << 60]
        theirs, ours = await asyncio.open_connection("127.0.0.1", port)

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while left[0] > 0 and (chunk := await source.read(512)):
                    chunk = chunk[: left[0]]
                    left[0] -= len(chunk)
                    target.write(chunk)
                    await target.drain()

        pumps = [asyncio.ensure_future(pump(reader, ours)), asyncio.ensure_future(pump(theirs, writer))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in pumps:
                each.cancel()
            for end in (ours, writer):
                end.transport.abort() if left[0] <= 0 else end.close()

    server = loop.run_until_complete(asyncio.start_server(passed, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        while tasks := asyncio.all_tasks(loop):
            for each in tasks:
                each.cancel()
            loop.run_until_complete(asyncio.wait(tasks))
        loop.run_until_complete(asyncio.sleep(0.01))  # the connections are closed
        loop.close()


class TestSenders:
    """Senders that are slow, or state a wrong length."""

    def test_many_slow_senders_cost_little_memory_and_delay_nobody(self, tmp_path: Path) -> None:
        """Each has begun a delivery and sends nothing more."""
        folder = challenge(tmp_path / "live")
        with opened(folder) as store:
            token, *others = [issue(store, "amber", "token") for _ in range(201)]
        with serving(folder, "--no-runner") as server:
            memory = psutil.Process(server.process.pid)
            assert server.put(token, str(uuid.uuid4()), POOR)[0] == 201
            before = memory.memory_info().rss
            slow = []
            for each in others:
                sender = socket.create_connection(("127.0.0.1", server.port))
                head = (
                    f"PUT /api/v1/tracks/main/entries/{uuid.uuid4()} HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n"
                )
                sender.sendall(f"{head}Authorization: Bearer {each}\r\n\r\n".encode() + b"q1:a\n" * 100)
                slow.append(sender)
            status, _ = server.put(token, str(uuid.uuid4()), GOOD)
            assert status == 201
            assert memory.memory_info().rss - before < 60_000_000
            for sender in slow:
                sender.close()
            incoming = folder / "submissions" / "main" / ".incoming"
            until(lambda: not list(incoming.iterdir()))
        assert len(arrivals(folder)) == 2

    def test_a_wrong_length(self, tmp_path: Path) -> None:
        """Fewer bytes than stated are no file; more are another request, which is invalid."""
        folder = challenge(tmp_path / "live")
        token = token_of(folder)
        with serving(folder, "--no-runner") as server:
            for stated in (len(GOOD) + 5, len(GOOD) - 5):
                delivery = str(uuid.uuid4())
                with socket.create_connection(("127.0.0.1", server.port)) as sender:
                    head = f"PUT /api/v1/tracks/main/entries/{delivery} HTTP/1.1\r\nHost: x\r\n"
                    head += f"Content-Length: {stated}\r\nAuthorization: Bearer {token}\r\n\r\n"
                    sender.sendall(head.encode() + GOOD[:stated].encode())
                    if stated < len(GOOD):
                        assert b" 201 " in sender.recv(4096)
                        sender.sendall(GOOD[stated:].encode())
                    sender.shutdown(socket.SHUT_WR)
                    while sender.recv(4096):
                        pass
        assert [path.read_text() for path in delivered_files(folder)] == [GOOD[:-5]]


def test_a_help_and_a_check_load_nothing_of_the_service_and_no_database(tmp_path: Path) -> None:
    """Nor does the command that hands in."""
    file = tmp_path / "lists.txt"
    file.write_text(GOOD)
    folder = challenge(tmp_path / "live")
    program = (
        "import sys\nfrom scorer.cli import main\ntry:\n    main()\nfinally:\n"
        "    print(sorted({'starlette', 'uvicorn', 'anyio', 'prometheus_client', 'scipy', 'sqlalchemy'} "
        "& set(sys.modules)))"
    )
    calls = (("--help",), ("check", file, "--track", "main", "-C", folder), ("submit", "--help"), ("serve", "--help"))
    for call in calls:
        assert process(*call, program=program).out.splitlines()[-1] == "[]"


def test_an_address_in_use_is_one_message(tmp_path: Path) -> None:
    """Another server listens there."""
    folder = challenge(tmp_path / "live")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        answer = here("serve", folder, "--port", str(taken.getsockname()[1]), "--no-runner")
    assert (answer.code, "the service cannot start" in answer.err) == (1, True)
