"""The client: hands in a file over HTTP, follows its entry, and picks. It uses only the standard library."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.errors import ScorerError
from scorer.wording import one_line, shortened

TIMEOUT = 60.0
"""Seconds without an answer after which a try ends, and the longest pause that a server may request."""

_ATTEMPTS = 5

PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds between two tries."""

POLL_EVERY = 1.0

BOARD_WITHIN = 30.0
"""Seconds after the outcome of an entry within which a board is expected that shows it."""

_RETRIED = (408, 500, 502, 503, 504, 507)


class ServerError(ScorerError):
    """The server refused a request, or cannot be reached."""


@dataclass(frozen=True, slots=True)
class Client:
    """A client of a service, for one team."""

    server: str
    """The address of the service, with https:// or http://."""
    token: str
    report: Callable[[str], object] = lambda _text: None
    """Prints what happens: that a try failed and another one follows."""
    pause: Callable[[float], object] = time.sleep

    def hand_in(
        self, path: Path, digest: str, track: str, delivery: str, metadata: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """Hand in a file by an id; an interrupted try goes on with the same id, so the file becomes one entry.

        Each of `metadata` is a document of YAML or JSON.

        Returns the answer: the entry with its receipt. Raises ServerError.
        """
        name = urllib.parse.urlencode([("name", path.name), *(("metadata", text) for text in metadata)])
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(path.stat().st_size),
            "Repr-Digest": f"sha-256=:{b64encode(bytes.fromhex(digest)).decode('ascii')}:",
        }
        return self._json("PUT", f"{_entry(track, delivery)}?{name}", path, headers)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Raise ServerError for what only an answer of another program causes: a member is not there or is another."""
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ServerError(f"{self.server}: answers otherwise than `scorer serve`; check the address") from error

    def entry(self, track: str, delivery: str) -> Mapping[str, Any]:
        return self._json("GET", _entry(track, delivery))

    def same_as(self, track: str, digest: str) -> int | None:
        """The entry of the team with the same bytes in this phase; None without one."""
        same = self._json("GET", f"{_track(track)}/quota?sha256={digest}").get("same_as")
        return same if isinstance(same, int) else None

    def only_track(self) -> str:
        """The name of the only track of the challenge. Raises ServerError if there are several."""
        names = [str(track["name"]) for track in self._json("GET", "/api/v1").get("tracks", ())]
        if len(names) != 1:
            raise ServerError(f"{self.server}: has the tracks {', '.join(names)}; name one with --track")
        return names[0]

    def pick(self, track: str, entries: Sequence[str]) -> Sequence[int]:
        """Pick entries of the team by their indexes or ids of delivery; return the indexes of all picks."""
        body = json.dumps({"entries": list(entries)}).encode("ascii")
        picked = self._json("PUT", f"{_track(track)}/picks", body, {"Content-Type": "application/json"})
        return [int(index) for index in picked["entries"]]

    def followed(self, track: str, delivery: str, seconds: float) -> Iterator[Mapping[str, Any]]:
        """The entry again and again, until it has an outcome and is on the board, or the time is over."""
        deadline, had_outcome = time.monotonic() + seconds, False
        while True:
            entry = self.entry(track, delivery)
            yield entry
            has_outcome = entry["state"] not in ("waiting", "late") or entry["outcome"] != "waiting"
            if has_outcome and not had_outcome:
                had_outcome, deadline = True, min(deadline, time.monotonic() + BOARD_WITHIN)
            if (has_outcome and not entry.get("board_follows")) or time.monotonic() > deadline:
                return
            self.pause(POLL_EVERY)

    def _json(
        self, method: str, path: str, body: Path | bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        for attempt in range(_ATTEMPTS):
            try:
                status, answer = self._once(method, path, body, headers or {})
            except (OSError, http.client.HTTPException) as error:
                failure, wait = self._failure(f"cannot be reached: {str(error) or type(error).__name__}"), None
            else:
                if status < 300:
                    return answer
                failure = self._failure(str(answer.get("detail", f"HTTP status {status}")))
                if status not in _RETRIED and answer.get("code") != "too-fast":
                    raise ServerError(failure)
                wait = answer.get("retry_after")
            if attempt + 1 < _ATTEMPTS:
                asked = min(max(wait, 0), TIMEOUT) if isinstance(wait, int) else None
                seconds = PAUSES[min(attempt, len(PAUSES) - 1)] if asked is None else asked
                self.report(f"{failure}; trying again in {seconds:g} seconds")
                self.pause(seconds)
        raise ServerError(f"{failure}; the same command goes on later")

    def _failure(self, why: str) -> str:
        return f"{self.server}: {shortened(one_line(why), 1000)}"

    def _once(
        self, method: str, path: str, body: Path | bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, Any]]:
        parts = urllib.parse.urlsplit(self.server)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=TIMEOUT)
        try:
            address = parts.path.rstrip("/") + path
            sent = {"Authorization": f"Bearer {self.token}", "Accept": "application/json", **headers}
            if isinstance(body, Path):
                # The server may have answered before it has the whole body.
                with body.open("rb") as file, suppress(BrokenPipeError, ConnectionResetError):
                    connection.request(method, address, file, sent)
            else:
                connection.request(method, address, body, sent)
            response = connection.getresponse()
            return response.status, _document(response.read(10_000_000))
        finally:
            connection.close()


def _track(name: str) -> str:
    return f"/api/v1/tracks/{urllib.parse.quote(name, safe='')}"


def _entry(track: str, delivery: str) -> str:
    return f"{_track(track)}/entries/{delivery}"


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
