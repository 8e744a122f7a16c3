"""Requests that attack the service: by headers, addresses, cookies and bodies. None is accepted, and it goes on."""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live_challenges import GOOD
from tests.service.test_service_processes import Server, arrivals, challenge, delivered_files, serving, token_of

ENTRY = f"/api/v1/tracks/main/entries/{uuid.UUID(int=7)}"
BODY = GOOD.encode()


@dataclass(frozen=True)
class Attack:
    """A request, as its bytes; TOKEN is replaced by a valid token. An unfinished one has no answer before it ends."""

    head: str
    body: bytes = b""
    unfinished: bool = False

    def sent(self, token: str) -> bytes:
        return self.head.replace("\n", "\r\n").replace("TOKEN", token).encode("latin-1") + b"\r\n\r\n" + self.body


def put(*headers: str, path: str = ENTRY, body: bytes = BODY, length: bool = True, unfinished: bool = False) -> Attack:
    """A delivery with these headers."""
    lines = [f"PUT {path} HTTP/1.1", "Host: x", "Connection: close", *headers]
    return Attack("\n".join(lines + ([f"Content-Length: {len(body)}"] if length else [])), body, unfinished)


def get(path: str, *headers: str) -> Attack:
    """A request for an address."""
    return Attack("\n".join([f"GET {path} HTTP/1.1", "Host: x", "Connection: close", *headers]))


HEADERS = {
    "no token": put(),
    "an empty token": put("Authorization: Bearer "),
    "another scheme": put("Authorization: Basic TOKEN"),
    "a token twice": put("Authorization: Bearer x", "Authorization: Bearer TOKEN"),
    "a token with more": put("Authorization: Bearer TOKEN x"),
    "a token in capitals": put("Authorization: Bearer SCORER_X"),
    "a token as a cookie": put("Cookie: token=TOKEN; session=TOKEN; SCORER_TOKEN=TOKEN"),
    "a token in the address": put(path=f"{ENTRY}?token=TOKEN&access_token=TOKEN"),
    "a token as another header": put("X-Api-Key: TOKEN", "X-Authorization: Bearer TOKEN"),
    "two lengths": put("Authorization: Bearer TOKEN", "Content-Length: 1"),
    "a length and chunks": put("Authorization: Bearer TOKEN", "Transfer-Encoding: chunked", unfinished=True),
    "a negative length": put("Authorization: Bearer TOKEN", "Content-Length: -1", length=False),
    "a length in hexadecimal": put("Authorization: Bearer TOKEN", "Content-Length: 0x10", length=False),
    "an enormous length": put("Authorization: Bearer TOKEN", "Content-Length: 9" + "9" * 40, length=False),
    "an unknown transfer encoding": put("Authorization: Bearer TOKEN", "Transfer-Encoding: x", length=False),
    "chunks that are none": put(
        "Authorization: Bearer TOKEN", "Transfer-Encoding: chunked", length=False, unfinished=True
    ),
    "a header without a colon": put("Authorization Bearer TOKEN"),
    "a null byte": put("Authorization: Bearer TOKEN\0"),
    "a large header": put("Authorization: Bearer TOKEN", "X: " + "x" * 1_000_000),
    "many headers": put(*(f"X-{number}: {'x' * 100}" for number in range(1000))),
    "another method by a header": get(ENTRY, "X-HTTP-Method-Override: PUT"),
    "an address of a proxy": get("/metrics", "X-Forwarded-For: 127.0.0.1"),
    "an address by another header": get("/metrics", "Forwarded: for=127.0.0.1"),
}

OUTSIDE = (
    *("/../challenge.toml", "/../../etc/passwd", "/%2e%2e/challenge.toml", "/%2e%2e%2fscores.db"),
    *("/..%5c..%5cscores.db", "/..%c0%afscores.db", "/main/../../scores.db", "/main/%2e%2e/%2e%2e/solutions/main.txt"),
    *("//../challenge.toml", "/./../challenge.toml", "/.manifest.json", "/main/.lock", "/.%00/challenge.toml", "/%00"),
    *("/static/..;/challenge.toml", "http://x/../challenge.toml", "/submissions/main/.incoming/"),
    *("/solutions/main.txt", "/scores.db", "/split.key"),
)
ENTRIES = (
    *("main/entries/../../../x", "main/entries/%2e%2e%2fx", "main/entries/x.txt", "main/entries/"),
    *("../main/entries/" + "0" * 32, "main%2f..%2fmain/entries/" + "0" * 32, "main%00/entries/" + "0" * 32),
    *(f"MAIN/entries/{uuid.UUID(int=7)}", f"main/entries/{uuid.UUID(int=7)}/x", "main/entries/-1"),
    "main/entries/" + "9" * 5000,
)
PATHS = {
    **{f"outside {number}": get(path) for number, path in enumerate(OUTSIDE)},
    **{
        f"an entry {number}": put("Authorization: Bearer TOKEN", path=f"/api/v1/tracks/{path}")
        for number, path in enumerate(ENTRIES)
    },
}

ATTACKS = HEADERS | PATHS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path, str]]:
    """A server, its challenge, and a token."""
    folder = challenge(tmp_path_factory.mktemp("attacked") / "live")
    with serving(folder, "--no-runner") as found:
        yield found, folder, token_of(folder)


CHUNKS = {
    "a negative length": b"-1\r\n",
    "no length": b"zz\r\n",
    "an enormous length": b"f" * 30 + b"\r\n",
    "a long extension": b"1;" + b"x" * 100_000,
    "a header that is none": b"0\r\n x\r\n\r\n",
}


@pytest.mark.parametrize("chunk", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("path", [ENTRY, "/healthz", "/api/v1/token", "/submit"])
def test_chunks_that_are_none_leave_no_traceback(server: tuple[Server, Path, str], path: str, chunk: bytes) -> None:
    """Neither before an answer nor after one has begun; and the log does not say that the service failed."""
    found, folder, token = server
    with socket.create_connection(("127.0.0.1", found.port), timeout=60) as sender:
        sender.sendall(Attack(f"PUT {path} HTTP/1.1\nHost: x\nTransfer-Encoding: chunked").sent(token))
        sender.sendall(b"5\r\nq1:a,\r\n")
        time.sleep(0.1)
        with suppress(OSError):
            sender.sendall(chunk)
            while sender.recv(65_536):
                pass
    assert found.request("GET", "/healthz")[0] == 200
    logged = (folder / "service.log").read_text()
    assert "Traceback" not in logged
    assert "failed" not in logged


SMUGGLED = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("path", [ENTRY, "/healthz", "/api/v1", "/nothing"])
@pytest.mark.parametrize("version", ["1.1", "1.0\r\nConnection: keep-alive"])
@pytest.mark.parametrize("length", [0, 5, 5 + len(SMUGGLED)])
def test_no_request_follows_one_with_two_lengths(
    server: tuple[Server, Path, str], path: str, version: str, length: int
) -> None:
    """A proxy that believes the other length would take it for part of the first one (RFC 9112, 6.1)."""
    found, _, token = server
    head = f"PUT {path} HTTP/{version}\nHost: x\nAuthorization: Bearer TOKEN"
    attack = Attack(f"{head}\nContent-Length: {length}\nTransfer-Encoding: chunked", b"0\r\n\r\n" + SMUGGLED)
    with socket.create_connection(("127.0.0.1", found.port), timeout=60) as sender:
        sender.sendall(attack.sent(token))
        answer = b""
        try:
            while chunk := sender.recv(65_536):
                answer += chunk
        except ConnectionResetError:
            pass
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"connection: close" in answer.lower()
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"scorer_" not in answer


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nothing_is_accepted(server: tuple[Server, Path, str], attack: Attack) -> None:
    """The answer is an error or a closed connection, without a secret; afterwards the service answers as before."""
    found, folder, token = server
    with socket.create_connection(("127.0.0.1", found.port), timeout=60) as sender:
        answer = b""
        try:
            sender.sendall(attack.sent(token))
            if attack.unfinished:  # elsewhere, an end of the sender would hide what the service would have answered
                sender.shutdown(socket.SHUT_WR)
            while chunk := sender.recv(65_536):
                answer += chunk
        except OSError:  # the server closed the connection before it had the request
            pass
    status = answer[:12].decode("ascii", "replace")
    assert not answer or status.startswith("HTTP/1.1 4"), answer[:300]
    assert token.encode() not in answer
    assert b"Traceback" not in answer
    assert found.request("GET", "/healthz")[0] == 200
    assert arrivals(folder) == []
    assert delivered_files(folder) == []
    assert token not in (folder / "service.log").read_text()
