"""A live challenge that is served: teams hand in files over the interface, at the times that a test chooses."""

from __future__ import annotations

import base64
import hashlib
import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from httpx2 import Response
from starlette.testclient import TestClient

from scorer.errors import Findings
from scorer.organising.run import carry_out, plan
from scorer.organising.teams import issue, list_tokens, revoke
from scorer.record.events import Event
from scorer.scoring.executors.base import Serial
from scorer.service.accepting import Delivery, Upload, accept, examined
from scorer.service.app import application
from scorer.service.documents import Checks, Verdict
from scorer.service.state import Service
from scorer.settings.tracks import Challenge
from scorer.store.store import Store
from tests.live_challenges import Live, day

OPEN = day(11)
"""A time at which the first phase of `Live.graded` receives files."""


@dataclass
class Served:
    """A challenge, its service, and a client in this process."""

    live: Live
    store: Store
    service: Service
    client: TestClient
    tokens: dict[str, str] = field(default_factory=dict)
    _parts: Iterator[int] = field(default_factory=itertools.count)

    @property
    def now(self) -> datetime:
        """The time by the clock of the service."""
        return self.live.now

    @now.setter
    def now(self, moment: datetime) -> None:
        self.live.now = moment

    def headers(self, team: str) -> dict[str, str]:
        """Of a request of a team, which gets a token if it has none."""
        if team not in self.tokens:
            self.tokens[team] = issue(self.store, team, "token")
        return {"Authorization": f"Bearer {self.tokens[team]}"}

    def revoke(self, team: str) -> None:
        revoke(self.store, hashlib.sha256(self.tokens[team].encode()).hexdigest())

    def revoke_all(self, team: str) -> None:
        for token in list_tokens(self.store)[0].values():
            if token.team == team and token.ended is None:
                revoke(self.store, token.sha256)

    def put(
        self, team: str, content: str | bytes, delivery: str | None = None, track: str = "main", **headers: str
    ) -> Response:
        body = content.encode() if isinstance(content, str) else content
        path = f"/api/v1/tracks/{track}/entries/{delivery or uuid.uuid4()}"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.put(path, content=body, headers={**self.headers(team), **sent})

    def get(self, team: str, path: str) -> Response:
        """A response for a team, given the path after that of the track."""
        return self.client.get(f"/api/v1/tracks/main{path}", headers=self.headers(team))

    def entry(self, team: str, name: str | int) -> dict[str, Any]:
        """An entry of a team, by its id or index."""
        answer = self.get(team, f"/entries/{name}")
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    def accept(
        self, team: str, content: str, delivery: str | None = None, at: datetime | None = None, token: str = ""
    ) -> Event:
        body = content.encode()
        track = self.service.track("main")
        path = self.service.incoming(track) / f"part-{next(self._parts)}"
        path.write_bytes(body)
        digest = hashlib.sha256(body).hexdigest()
        received = at or self.now
        upload = Upload(path, digest, len(body))
        try:
            challenge, name = self.service.challenge, delivery or str(uuid.uuid4())
            values = examined(challenge.track("main"), challenge.limits, upload, {})
            delivered = Delivery(name, "main", team, upload, received, token=token, values=values)
            return accept(self.store, challenge, self.service.followed, delivered)[0][0]
        finally:
            path.unlink(missing_ok=True)

    def run(self, moment: datetime | None = None) -> None:
        self.now = moment or self.now
        challenge = self.live.challenge
        for track in challenge.tracks:
            list(carry_out(self.store, plan(self.store, challenge, track), Serial()))

    def files(self) -> list[str]:
        """The files below the folder of the track, also hidden ones."""
        folder = self.live.folder / "submissions" / "main"
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@contextmanager
def served(live: Live, moment: datetime = OPEN) -> Iterator[Served]:
    """Serve a challenge that was run once, so that its phases are announced."""
    live.run(live.now)
    live.now = moment
    with Store.open(live.challenge.database_address, clock=lambda: live.now) as store:
        service = Service.open(live.challenge, store)
        service.rates.burst = 1e9
        with TestClient(application(service), raise_server_exceptions=False) as client:
            yield Served(live, store, service, client)


async def checked_at_once(_checks: Checks, _challenge: Challenge, track: str, path: Path, *_: str) -> Verdict:
    """What takes the place of `Checks.of`, which takes a second: only a file with an empty item is invalid."""
    valid = ",," not in path.read_text("utf-8", "replace")
    return Verdict(valid, Findings(), f"{'' if valid else 'in'}valid for track {track}: 4 lists, 8 items")


def at_place(live: Live, place: str | Path) -> Live:
    """The challenge with another database."""
    live.edit('name = "Live"\n', f'name = "Live"\ndatabase = "{place}"\n')
    return live


def repr_digest(content: bytes) -> str:
    """The header that states the SHA-256 of a body."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"
