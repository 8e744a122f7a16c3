"""Answers of a server that is hostile, or is none of scorer: the commands of participants say so in a line."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from scorer.cli.participate import TIMEOUT, Client
from tests.commands import Answer, here

ACCEPTED = {"index": 1, "receipt": "{}", "received": "2027-01-01T00:00:00Z"}
RED = "\x1b[31m"


def http(body: object, status: str = "200 OK", *headers: str) -> bytes:
    """An answer, whose body is a document unless it is bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = (f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(content)}", "Connection: close")
    return "\r\n".join((*lines, "", "")).encode() + content


DOCUMENTS: tuple[object, ...] = (None, [], "x", 5)
TRACKS: tuple[object, ...] = (5, [5], [{}], {"a": 1}, [{"name": [1]}])
MEMBERS: tuple[object, ...] = (None, [], {"a": 1}, "../../x", "\ud800")

ANSWERS: dict[str, tuple[bytes, int]] = {
    "a document of 200,000 lists": (http(b"[" * 200_000), 1),
    "a document of 100,000 objects": (http(b'{"a":' * 100_000), 1),
    "a number of 100,000 digits": (http(b'{"index": ' + b"9" * 100_000 + b"}"), 1),
    **{f"a document that is {value!r}": (http(value), 1) for value in DOCUMENTS},
    **{f"tracks that are {value!r}": (http({"tracks": value}), 1) for value in TRACKS},
    **{
        f"{name} that is {value!r}": (http({"tracks": [{"name": "main"}], **ACCEPTED, name: value}), 1)
        for name in ("index", "receipt")
        for value in MEMBERS
        if (name, value) != ("receipt", "../../x")
    },
    "an entry that has nothing": (http({"tracks": [{"name": "main"}], **ACCEPTED, "state": RED}), 1),
    "an entry in colour": (
        http(
            {
                "tracks": [{"name": "main"}],
                **ACCEPTED,
                "received": RED,
                "state": RED,
                "outcome": "x",
                "problems": [],
                "scores": {RED: {RED: RED}},
                "rank_of_team": RED,
                "words": RED,
                "rank": 0,
            }
        ),
        0,
    ),
    "a refusal in colour": (http({"detail": f"{RED}\nok: received"}, "400 X"), 1),
    "a refusal of 5 MB": (http({"detail": "x" * 5_000_000}, "400 X"), 1),
    "a refusal that is a list": (http({"detail": [RED, {}]}, "400 X"), 1),
    "a pause of 30 years": (http({"retry_after": 10**9}, "503 X"), 1),
    "a pause of more than any clock has": (http({"retry_after": 10**30, "code": "too-fast"}, "429 X"), 1),
    "a pause below 0": (http({"retry_after": -5}, "503 X"), 1),
    "a redirection to a file": (http(b"", "302 Found", "Location: file:///etc/passwd"), 1),
    "a redirection to itself": (http(b"", "302 Found", "Location: /"), 1),
    "a reason in colour": (http(b"", f"500 {RED}"), 1),
    "a reason of 60,000 letters": (http(b"", f"500 {'x' * 60_000}"), 1),
    "no HTTP": (f"{RED}hello\r\n\r\n".encode(), 1),
    "nothing": (b"", 1),
    "101 headers": (http(b"", "200 OK", *(f"X-{number}: x" for number in range(101))), 1),
    "a header of 70,000 letters": (http(b"", "200 OK", f"X: {'x' * 70_000}"), 1),
    "a gzip bomb": (http(gzip.compress(b" " * 10**7), "200 OK", "Content-Encoding: gzip"), 1),
    "11 MB": (http(b" " * 11_000_000), 1),
    "a negative length": (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}", 1),
    "a chunk of a negative length": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc", 1),
    "settings of 400,000 lists": (http(b"a = " + b"[" * 400_000), 1),
    "settings with a key of 90,000 parts": (http(b".".join([b"a"] * 90_000) + b" = 1"), 1),
    "settings with a key of 90,000 quoted parts": (http(b"a = {" + b".".join([b"'x y'"] * 30_000) + b" = 1}"), 1),
    "settings of 300 kB": (http(b"#" * 300_000), 1),
    "settings in colour": (http(f'name = "{RED!r}"\n[tracks."\\u001b[31m/../x"]\nqueries = "q"\n'.encode()), 1),
    "settings of other types": (http(b"name = 5\ntracks = [1, 2]\n"), 1),
}
"""By what they are: the bytes, and the exit code."""


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The address of a server that gives each request the same answer."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    connection.recv(1 << 16)
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1 << 16):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which take no time."""
    made: list[float] = []
    original = Client.__init__

    def init(self: Client, *arguments: object, **options: object) -> None:
        original(self, *arguments, **{"pause": made.append, **options})  # type: ignore[arg-type]

    monkeypatch.setattr(Client, "__init__", init)
    return made


@pytest.mark.parametrize(("answer", "code"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("command", ["submit", "pick", "check"])
def test_each_is_said_in_a_line(
    command: str, answer: bytes, code: int, pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback, no colour, no long text, no pause that a server chooses, and no file elsewhere."""
    monkeypatch.setenv("SCORER_TOKEN", "scorer_x")
    lists = tmp_path / "team" / "lists.txt"
    lists.parent.mkdir()
    lists.write_text("q1:a\n")
    run: dict[str, Callable[[str], Answer]] = {
        "submit": lambda address: here("submit", lists, "--server", address, "--no-check", "--wait"),
        "pick": lambda address: here("pick", "1", "--server", address),
        "check": lambda address: here("check", lists, "--challenge", f"{address}/main/"),
    }
    with answering(answer) as address:
        said = run[command](address)
    assert said.code == (code if command == "submit" else 1), said.err
    assert all(char.isprintable() or char == "\n" for char in said.out + said.err)
    assert max(map(len, (said.out + said.err).splitlines()), default=0) < 1_300
    assert len(said.err.splitlines()) < 10
    assert all(0 <= pause <= TIMEOUT for pause in pauses)
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {lists.parent}
