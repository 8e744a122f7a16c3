"""Attacks on the service over time: copies, other tabs, revoked tokens, slow and many connections, lost files."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import psutil
import pytest
from starlette.requests import Request

from scorer.errors import Findings
from scorer.files.writing import PART
from scorer.limits import MB
from scorer.organising.files import ABANDONED, READY, RESERVE
from scorer.service import app as serving_module
from scorer.service.accepting import Delivery, RefusedError, Upload, accept
from scorer.service.app import application
from scorer.service.documents import Checks, LastFile, Verdict
from scorer.service.state import COOKIE, STATE, Service
from scorer.service.uploads import file_form, received
from scorer.store.database import ReplacedError
from tests.commands import RUN, process
from tests.live_challenges import GOOD, POOR, Live
from tests.served import Served, checked_at_once, served
from tests.service.test_service_processes import arrivals, challenge, serving, token_of, until
from tests.service.test_submit_page import Visitor

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals and loopback addresses")

SHORT = f"""
import scorer.service.uploads, scorer.service.uploads
scorer.service.uploads._SILENCE = scorer.service.uploads._SILENCE = 1.0
{RUN}
"""
"""The command with a time-out of one second."""


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Served]:
    """The challenge of `Live.graded`, in its first phase."""
    with served(Live.graded(tmp_path / "live")) as one:
        yield one


@pytest.fixture(autouse=True)
def checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks start no process."""
    monkeypatch.setattr(Checks, "of", checked_at_once)


class TestCopies:
    """What somebody can do who has a copy of all files next to the database."""

    def test_nothing_in_them_is_a_session(self, found: Served) -> None:
        """Neither a value that is stored, nor one that is made of the secrets of the database."""
        visitor = Visitor(found)
        folder = found.live.folder
        stored = json.loads((folder / f"scores.db{STATE}").read_bytes())
        ((cookie, (token, _)),) = stored.items()
        salt = found.store.read(lambda view: bytes.fromhex(view.schema_row.salt))
        said = f"{token}.9999999999.{'0' * 32}"
        forged = f"{said}.{hashlib.sha256(salt + said.encode()).hexdigest()}"
        for value in (cookie, token, forged, "", said):
            thief = Visitor(found, signs_in=False)
            thief.client.cookies.set(COOKIE, value)
            assert not thief.is_signed_in()
        assert visitor.is_signed_in()
        assert visitor.client.cookies[COOKIE] not in "".join(
            path.read_text("latin-1") for path in folder.rglob("scores.db*") if path.is_file()
        )

    def test_only_the_organiser_can_read_the_sessions(self, found: Served) -> None:
        Visitor(found)
        assert (found.live.folder / f"scores.db{STATE}").stat().st_mode & 0o777 == 0o600

    def test_a_session_outlives_a_restart_and_ends_with_its_token(self, found: Served) -> None:
        visitor = Visitor(found)
        again = Visitor(SimpleNamespace(service=Service.open(found.live.challenge, found.store)), signs_in=False)  # type: ignore[arg-type]
        again.client.cookies.set(COOKIE, visitor.client.cookies[COOKIE])
        assert again.is_signed_in()
        found.revoke_all("amber")
        assert not again.is_signed_in()
        assert not visitor.is_signed_in()

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b'{"a": ["b", "c"]}', b"\xff"])
    def test_a_damaged_file_of_sessions_ends_them(self, found: Served, content: bytes) -> None:
        visitor = Visitor(found)
        (found.live.folder / f"scores.db{STATE}").write_bytes(content)
        found.service.sessions = Service.open(found.live.challenge, found.store).sessions
        assert not visitor.is_signed_in()
        assert Visitor(found).is_signed_in()


class TestTabs:
    """A team with several tabs, or two members."""

    def test_a_file_that_another_tab_checks_does_not_replace_one_that_is_being_handed_in(
        self, found: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one, two = Visitor(found), Visitor(found)
        one.choose(GOOD, "good.txt")
        held = one.held()

        def accepting(*arguments: object) -> object:
            answers.append(two.choose(POOR, "poor.txt").status_code)
            return accept(*arguments)  # type: ignore[arg-type]

        answers: list[int] = []
        monkeypatch.setattr("scorer.service.state.accept", accepting)
        assert one.post(action="hand-in", **held).status_code == 303
        assert answers == [303]
        ((_, arrival),) = found.service.followed.deliveries.values()
        assert (found.live.folder / "submissions" / arrival.file).read_text() == GOOD
        assert "poor.txt" in two.page()
        assert two.post(action="hand-in", **two.held()).status_code == 303
        assert len(found.service.followed.deliveries) == 2

    def test_a_refused_file_stays_ready(self, found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        """The button works again when the reason is gone."""
        visitor = Visitor(found)
        visitor.choose(GOOD)
        held = visitor.held()
        with monkeypatch.context() as patch:

            def refusing(*_: object) -> None:
                raise RefusedError("quota", "the quota is used up")

            patch.setattr("scorer.service.accepting._check", refusing)
            assert visitor.post(action="hand-in", **held).status_code == 429
        assert visitor.held() == held
        assert visitor.post(action="hand-in", **held).status_code == 303

    def test_a_file_that_is_gone_is_not_recorded(self, found: Served) -> None:
        path = found.service.incoming(found.service.track("main")) / "gone.part"
        delivery = Delivery(str(uuid.uuid4()), "main", "amber", Upload(path, "0" * 64, 5), found.now)
        with pytest.raises(RefusedError, match="not here any more"):
            accept(found.store, found.service.challenge, found.service.followed, delivery)
        assert not found.live.events("arrival")


class TestChecks:
    """Files of one team that take long to check."""

    def test_teams_take_turns(self, found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another team waits for the file that is being checked, and not for the queue."""
        monkeypatch.undo()
        checked: list[str] = []

        def slow(_checks: Checks, _root: Path, _track: str, path: Path, _last: LastFile) -> Verdict:
            checked.append(path.name)
            time.sleep(0.001)
            return Verdict(True, Findings(), "")

        monkeypatch.setattr(Checks, "_checked", slow)
        checks, challenge = Checks(), found.service.challenge

        async def all_at_once() -> None:
            async with anyio.create_task_group() as tasks:
                for number in range(50):
                    name = f"amber-{number}"
                    tasks.start_soon(checks.of, challenge, "main", Path(name), name, "amber", None)
                tasks.start_soon(checks.of, challenge, "main", Path("brass"), "brass", "brass", None)

        anyio.run(all_at_once)
        assert checked.index("brass") <= 2
        assert len(checked) == 51

    def test_an_answer_waits_for_no_check(self, found: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        """It says that the file is being checked; many questions begin one check."""
        begun: list[str] = []
        answered = threading.Event()

        def never(_checks: Checks, _root: Path, _track: str, path: Path, _last: LastFile) -> None:
            begun.append(path.name)
            answered.wait()

        monkeypatch.undo()
        monkeypatch.setattr(Checks, "_checked", never)
        address = f"/api/v1/tracks/main/entries/{found.put('amber', GOOD).json()['id']}"
        answers: list[dict[str, object]] = []
        app: Any = application(found.service)
        headers = found.headers("amber")
        scope = {
            "type": "http",
            "method": "GET",
            "path": address,
            "query_string": b"",
            "headers": [(b"authorization", headers["Authorization"].encode())],
        }

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, object]) -> None:
            if body := message.get("body"):
                answers.append(json.loads(body))  # type: ignore[arg-type]

        async def ask() -> None:
            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(app, scope, receive, send)
                with anyio.fail_after(60):
                    while len(answers) < 5:
                        await anyio.sleep(0.01)
                answered.set()

        anyio.run(ask)
        assert [answer["check"] for answer in answers] == [{"valid": None, "messages": []}] * 5
        assert len(begun) == 1

    def test_the_service_stops_without_them(self, tmp_path: Path) -> None:
        """The check that runs ends, and leaves no process."""
        folder = challenge(tmp_path / "live")
        hanging = tmp_path / "hanging"
        hanging.write_text("#!/bin/sh\nexec sleep 600\n")
        hanging.chmod(0o700)
        program = "import scorer.service.documents as checking, types\n"
        program += f"checking.sys = types.SimpleNamespace(executable={str(hanging)!r})\n{RUN}"
        token, delivery = token_of(folder), str(uuid.uuid4())
        with serving(folder, "--no-runner", program=program) as server:
            assert server.put(token, delivery, GOOD)[0] == 201
            document = server.request("GET", f"/api/v1/tracks/main/entries/{delivery}", token)[1]
            assert document["check"]["valid"] is None
            service = psutil.Process(server.process.pid)
            until(service.children)
            (check,) = service.children()
        assert "Cancel" not in (folder / "service.log").read_text()
        assert not check.is_running()


def test_a_token_that_is_revoked_during_an_upload_hands_in_nothing(
    found: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is checked again in the transaction that records the entry."""
    found.headers("amber")

    def revoking(*arguments: object) -> object:
        found.revoke("amber")
        return accept(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("scorer.service.state.accept", revoking)
    answer = found.put("amber", GOOD)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorised")
    assert not found.live.events("arrival")
    assert found.files() == []


def test_incomplete_files_go_at_the_next_start_and_after_an_hour(found: Served) -> None:
    """A complete one stays that long, because its arrival may be recorded."""
    incoming = found.service.incoming(found.service.track("main"))
    new, old, ready, forgotten = (incoming / name for name in (f"a{PART}", f"b{PART}", f"c{READY}", f"d{READY}"))
    before = time.time() - ABANDONED - 1
    for path in (new, old, ready, forgotten):
        path.write_text("q1:a\n")
    for path in (old, forgotten):
        os.utime(path, (before, before))
    found.run()
    assert sorted(incoming.iterdir()) == [new, ready]
    Service.open(found.live.challenge, found.store)
    assert sorted(incoming.iterdir()) == [ready]


@pytest.mark.parametrize("way", ["a delivery", "the form"])
def test_a_stream_stops_where_the_reserve_of_the_disk_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Without a Content-Length, it is found while the bytes are written."""
    full_after, sent = 3_000_000, 0

    async def receive() -> dict[str, object]:
        nonlocal sent
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' if not sent else b""
        sent += 65_536
        return {"type": "http.request", "body": head + b"q" * 65_536, "more_body": True}

    async def hand_in() -> None:
        headers = [(b"content-type", b"multipart/form-data; boundary=x")]
        request = Request({"type": "http", "method": "PUT", "path": "/", "headers": headers}, receive)
        context = received(request, tmp_path, 10**9) if way == "a delivery" else file_form(request, 10**9)
        async with context:
            pytest.fail("accepted")

    def usage(_: object) -> SimpleNamespace:
        return SimpleNamespace(free=10**12 if sent < full_after else RESERVE - 1)

    monkeypatch.setattr("shutil.disk_usage", usage)
    with pytest.raises(RefusedError, match="disk of the server is full"):
        anyio.run(hand_in)
    assert full_after <= sent < full_after + 2 * MB
    assert not list(tmp_path.iterdir())


class TestDeleted:
    """The database is deleted or replaced while the service runs."""

    def test_a_write_to_a_file_that_goes_meanwhile_fails(self, found: Served) -> None:
        """What a transaction wrote to the deleted file is lost, so it says so."""
        path = found.live.folder / "scores.db"

        def deciding(_view: object) -> list[tuple[str, str, dict[str, str]]]:
            path.rename(path.with_suffix(".away"))
            return [("*", "token", {"state": "ended", "sha256": "0", "team": "amber"})]

        with pytest.raises(ReplacedError, match="was deleted or replaced while it was in use"):
            found.store.record(deciding)  # type: ignore[arg-type]
        assert not path.exists()

    def test_another_file_in_its_place_is_not_written(self, found: Served) -> None:
        headers, path = found.headers("amber"), found.live.folder / "scores.db"
        copy = path.with_name("copy")
        copy.write_bytes(path.read_bytes())
        copy.replace(path)
        address = f"/api/v1/tracks/main/entries/{uuid.uuid4()}"
        assert found.client.put(address, content=GOOD, headers=headers).status_code == 503
        with pytest.raises(ReplacedError):
            found.store.read(lambda view: view.revision)
        assert found.client.get("/readyz").status_code == 503

    def test_a_running_service_refuses_until_the_file_is_back(self, tmp_path: Path) -> None:
        """Nothing is answered with a receipt, no new database is made, and the loop stops with one line."""
        folder = challenge(tmp_path / "live")
        token, path = token_of(folder), folder / "scores.db"
        with serving(folder) as server:
            assert server.put(token, str(uuid.uuid4()), POOR)[0] == 201
            until(lambda: b"amber" in server.request("GET", "/main/index.html")[1])
            path.rename(path.with_suffix(".away"))
            assert server.put(token, str(uuid.uuid4()), GOOD)[0] == 503
            assert server.request("GET", "/readyz")[0] == 503
            lines = folder / "service.log"
            until(lambda: f"\n{path}: was deleted or replaced" in lines.read_text())
            time.sleep(3)
            assert lines.read_text().count(f"\n{path}: ") == 1
            assert not path.exists()
            path.with_suffix(".away").rename(path)
            assert server.put(token, str(uuid.uuid4()), GOOD)[0] == 201
            assert server.request("GET", "/readyz")[0] == 200
            until(lambda: b"amber" in server.request("GET", "/main/index.html")[1])
        assert "Traceback" not in lines.read_text()
        assert len(arrivals(folder)) == 2


WAYS = {
    "the form": "POST /submit HTTP/1.1\nHost: x\nOrigin: http://x\nContent-Type: application/x-www-form-urlencoded\n"
    "Content-Length: 60000\n\n",
    "the form with a file": "POST /submit HTTP/1.1\nHost: x\nOrigin: http://x\n"
    "Content-Type: multipart/form-data; boundary=x\nContent-Length: 60000\n\n",
    "an exchange of an invitation": "POST /api/v1/token HTTP/1.1\nHost: x\nContent-Length: 60000\n\n",
    "a delivery": f"PUT /api/v1/tracks/main/entries/{uuid.UUID(int=8)} HTTP/1.1\nHost: x\n"
    "Authorization: Bearer TOKEN\nContent-Length: 60000\n\n",
    "a body that nobody reads": "GET / HTTP/1.1\nHost: x\nContent-Length: 60000\n\n",
    "endless headers": "GET / HTTP/1.1\nHost: x\nX: ",
    "nothing": "",
}


class TestConnections:
    """Slow, idle and many connections, without a proxy."""

    @pytest.fixture(scope="class")
    @staticmethod
    def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
        """A service that waits for a second only, and a token."""
        folder = challenge(tmp_path_factory.mktemp("slow") / "live")
        with serving(folder, "--no-runner", program=SHORT) as one:
            yield one.port, token_of(folder)

    @pytest.mark.parametrize("way", WAYS)
    def test_a_slow_one_ends_on_every_way_in(self, server: tuple[int, str], way: str) -> None:
        """Though a byte comes four times a second."""
        port, token = server
        with socket.create_connection(("127.0.0.1", port)) as sender:
            sender.settimeout(0.25)
            with suppress(ConnectionError):
                sender.sendall(WAYS[way].replace("\n", "\r\n").replace("TOKEN", token).encode())
                for _ in range(100):
                    try:
                        if not sender.recv(4096):
                            return
                    except TimeoutError:
                        sender.sendall(b"x" if WAYS[way] else b"")
                pytest.fail("the connection stays open")

    def test_one_address_cannot_take_all(self, tmp_path: Path) -> None:
        """A further connection of it is refused; those of others are served."""
        folder = challenge(tmp_path / "live")
        token = token_of(folder)
        with serving(folder, "--no-runner") as server:
            idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(1020)]
            with suppress(ConnectionError):
                assert b" 429 " in idle[-1].recv(100)
            other = socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0))
            head = f"PUT /api/v1/tracks/main/entries/{uuid.uuid4()} HTTP/1.1\r\nHost: x\r\n"
            head += f"Content-Length: {len(GOOD)}\r\nAuthorization: Bearer {token}\r\n\r\n"
            other.sendall((head + GOOD).encode())
            assert b" 201 " in other.recv(100)
            for connection in (*idle, other):
                connection.close()
            assert server.put(token, str(uuid.uuid4()), POOR)[0] == 201

    def test_guesses_of_sessions_are_counted(self, found: Served) -> None:
        """As other requests without a token are."""
        found.service.rates.burst = 3.0
        found.service.rates.clock = lambda: 0.0
        visitor = Visitor(found, signs_in=False)
        assert [visitor.client.get("/submit").status_code for _ in range(4)] == [200, 200, 200, 429]


class TestCurrentFolder:
    """Files with the names of modules in the folder of the challenge."""

    def test_none_is_executed(self, tmp_path: Path) -> None:
        """Neither by the loops, nor by the processes that score and check."""
        folder = challenge(tmp_path / "live")
        proof = tmp_path / "executed"
        for name in ("re", "socket", "signal", "struct", "multiprocessing", "scorer", "numpy", "resource"):
            (folder / f"{name}.py").write_text(f"open({str(proof)!r}, 'a').write(__name__)\nraise SystemExit(3)\n")
        token, delivery = token_of(folder), str(uuid.uuid4())
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            with serving(folder) as server:
                assert server.put(token, delivery, GOOD)[0] == 201
                path = f"/api/v1/tracks/main/entries/{delivery}"
                until(lambda: server.request("GET", path, token)[1]["outcome"] == "scored")
            (folder / "submissions" / "main" / "brass.txt").write_text(POOR)
            assert process("run").code == 0
        assert not proof.exists(), proof.read_text()

    def test_a_loop_that_ends_at_once_is_started_less_and_less_often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pauses: list[float] = []
        stopped = threading.Event()

        def wait(seconds: float) -> bool:
            pauses.append(seconds)
            if len(pauses) == 8:
                stopped.set()
            return stopped.is_set()

        done = subprocess.Popen(["true"])
        done.wait()
        monkeypatch.setattr("subprocess.Popen", lambda *_, **__: done)
        monkeypatch.setattr(serving_module, "_be_nice", lambda _: None)
        service = SimpleNamespace(
            challenge=SimpleNamespace(root=Path()),
            draining=False,
            store=SimpleNamespace(database=SimpleNamespace(is_replaced=False)),
        )
        stub = SimpleNamespace(is_set=stopped.is_set, wait=wait)
        serving_module._keep_running(service, (), stub)  # type: ignore[arg-type]
        assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]


ODD = {
    "no boundary": b"POST /submit HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nContent-Type: multipart/form-data\r\n"
    b"Cookie: COOKIE\r\nContent-Length: 3\r\n\r\nabc",
    "a boundary that is no text": b"POST /submit HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nCookie: COOKIE\r\n"
    b"Content-Type: multipart/form-data; boundary=\xff\r\nContent-Length: 3\r\n\r\nabc",
    "a host that is none": b"GET /main HTTP/1.1\r\nHost: [::1\r\n\r\n",
    "a null byte": b"GET /main/%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a long name": b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01",
    "half a request": b"PUT /api/v1/tracks/main/entries/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
    "a cookie that is no text": b"GET /submit HTTP/1.1\r\nHost: x\r\nCookie: __Host-scorer=\xff\xfe\r\n\r\n",
}


def test_no_request_and_no_missing_folder_ends_in_a_traceback(tmp_path: Path) -> None:
    """Before the first render, after it, and when the site is deleted."""
    folder = challenge(tmp_path / "live")
    site = folder / "site"
    site.rename(folder / "later")
    with serving(folder, "--no-runner") as server:
        assert server.request("GET", "/")[0] == 503
        for _ in range(2):
            for request in ODD.values():
                with socket.create_connection(("127.0.0.1", server.port)) as sender:
                    sender.sendall(request)
                    sender.shutdown(socket.SHUT_WR)
                    with suppress(ConnectionError):
                        assert b" 500 " not in sender.recv(4096)[:15]
            if not site.exists():
                (folder / "later").rename(site)
        assert server.request("GET", "/")[0] == 200
    assert "Traceback" not in (folder / "service.log").read_text()
