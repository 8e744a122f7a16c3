"""What the service holds while it runs: the challenge, its database, the sessions of browsers, and metrics."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import anyio
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from scorer.errors import ChallengeError
from scorer.files.writing import replace_content
from scorer.live.entries import Arrival, Followed
from scorer.live.entry import SERVICE, SubmissionState, key_of
from scorer.organising.doctor import check_published
from scorer.organising.files import incoming_folder, prepare_incoming, remove_incomplete
from scorer.organising.picks import clear_picks, pick, record_metadata, withdraw_entry
from scorer.organising.teams import note_used
from scorer.rules.teams import Token, token_digest
from scorer.service.accepting import Delivery, HeldFiles, Rates, RefusedError, accept, refusing
from scorer.service.documents import Checks
from scorer.service.uploads import in_thread
from scorer.settings.loading import read_challenge
from scorer.settings.metadata import Stated
from scorer.settings.tracks import FILE, Challenge, Track
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import printable


@dataclass
class Metrics:
    """The counters of a process."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.accepted = Counter("scorer_accepted", "Deliveries that were accepted.", registry=self.registry)
        self.repeated = Counter("scorer_repeated", "Deliveries that had been accepted before.", registry=self.registry)
        self.refused = Counter("scorer_refused", "Requests that were refused.", ["code"], registry=self.registry)
        self.bytes = Counter("scorer_received_bytes", "Bytes of accepted deliveries.", registry=self.registry)
        self.uploading = Gauge("scorer_uploading", "Deliveries that are being received.", registry=self.registry)
        self.events = Gauge("scorer_events", "Events of the record.", registry=self.registry)
        self.accepting = Histogram(
            "scorer_accepting_seconds", "From the last byte of a delivery to its answer.", registry=self.registry
        )

    def text(self) -> bytes:
        """All of them, in the format of Prometheus."""
        return generate_latest(self.registry)


COOKIE = "__Host-scorer"
"""Browsers accept this name only for a cookie that is sent over TLS, to the whole of one host."""

STATE = ".sessions"
"""Ends the name of the file, next to the database. It may be deleted: then the teams sign in again."""

LASTS = timedelta(days=1)
"""How long a session lasts."""


@dataclass(slots=True)
class Sessions:
    """The sessions. Each ends with its token, with its time, or when the team signs out.

    A file keeps them while the service restarts. It has the SHA-256 of each cookie, so that a copy of it, or of the
    database, lets nobody act for a team.
    """

    file: Path
    _new: dict[str, str] = field(default_factory=dict)
    """By the SHA-256 of the cookie: the token that the session has taken by an invitation. No file has it."""
    _open: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By the SHA-256 of the cookie: that of the token, and when the session ends, in seconds since 1970."""

    def __post_init__(self) -> None:
        with suppress(OSError, ValueError, TypeError, AttributeError):
            kept = json.loads(self.file.read_bytes())
            self._open = {str(cookie): (str(token), float(end)) for cookie, (token, end) in kept.items()}

    def begin(self, response: Response, sha256: str, now: datetime, new: str = "") -> None:
        """Set the cookie of a new session, for the token with this SHA-256, which the page can show if it is `new`."""
        text, end = secrets.token_urlsafe(32), (now + LASTS).timestamp()
        self._open = {cookie: one for cookie, one in self._open.items() if now.timestamp() < one[1]}
        self._new = {cookie: token for cookie, token in self._new.items() if cookie in self._open}
        self._open[token_digest(text)] = sha256, end
        if new:
            self._new[token_digest(text)] = new
        self._keep()
        _set(response, text, int(LASTS.total_seconds()))

    def token_of(self, request: Request, now: datetime) -> str | None:
        """The SHA-256 of the token of a request's session; None without a valid one."""
        token, end = self._open.get(token_digest(request.cookies.get(COOKIE, "")), (None, 0.0))
        return token if now.timestamp() < end else None

    def new_token(self, request: Request) -> str:
        """The token that the session has taken by an invitation; empty if it has taken none."""
        return self._new.get(token_digest(request.cookies.get(COOKIE, "")), "")

    def end(self, request: Request, response: Response) -> None:
        """Sign out: the cookie is removed, and a copy of it is worth nothing."""
        cookie = token_digest(request.cookies.get(COOKIE, ""))
        self._new.pop(cookie, None)
        if self._open.pop(cookie, None):
            self._keep()
        _set(response, "", 0)

    def _keep(self) -> None:
        with suppress(OSError):  # then the teams sign in again after a restart
            replace_content(self.file, json.dumps(self._open).encode("ascii"), is_private=True)


def _set(response: Response, value: str, seconds: int) -> None:
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="strict")


_log = logging.getLogger("scorer.service")


def check_same_origin(request: Request) -> None:
    """Refuse a request that a page of another site has caused. Raises RefusedError.

    A browser sends `Origin` with each form, and a page cannot change it.
    """
    host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
    own, site = f"{request.url.scheme}://{host}", request.headers.get("sec-fetch-site", "same-origin")
    if (origin, site) == (own, "same-origin"):
        return
    text = "the form was sent by another site; open the page of the service again"
    if site == "same-origin" and ("sec-fetch-site" in request.headers or origin.endswith(f"://{host}")):
        text = (
            f"the page is at {origin}, and the service at {own}: its proxy has to be named with --proxy, and to pass "
        )
        text += "Host and X-Forwarded-Proto; tell the organisers"
        _log.warning("%s", printable(text))
    raise RefusedError("cross-site", text)


_Answer = TypeVar("_Answer")

RESTORING = (
    "a backup of the record was restored, and the organisers have not completed that yet; nothing is accepted until "
    "then; try again later"
)

_NOTE_USE_EVERY = 60.0
"""Seconds between two times at which it is noted when tokens were used."""


def _build(base: type[BaseModel]) -> None:
    """Build all models below one. Some versions of pydantic cannot build one in two threads at once."""
    for model in base.__subclasses__():
        model.model_rebuild()
        _build(model)


@dataclass
class Service:
    """A challenge that is served. Database and disk are used in threads: `write` one at a time, `read` a few."""

    challenge: Challenge
    store: Store
    followed: Followed
    sessions: Sessions
    metrics: Metrics = field(default_factory=Metrics)
    rates: Rates = field(default_factory=Rates)
    checks: Checks = field(default_factory=Checks)
    held: HeldFiles = field(default_factory=HeldFiles)
    handing_in: anyio.Lock = field(default_factory=anyio.Lock)
    """Of the button that hands in a checked file: who presses it twice hands in once."""
    draining: bool = False
    """Whether the service is about to stop: no further delivery is accepted."""
    _revision: int = -1
    _changed: float = 0.0
    _used: dict[str, datetime] = field(default_factory=dict)
    _noted: datetime | None = None

    @classmethod
    def open(cls, challenge: Challenge, store: Store) -> Service:
        """Prepare the folders, and complete what an earlier process left. Raises ChallengeError and OSError."""
        _build(BaseModel)
        followed = store.read(lambda view: Followed.of(view, challenge.name))
        service = cls(challenge, store, followed, Sessions(store.beside(challenge.root, STATE)))
        for track in challenge.tracks:
            remove_incomplete(prepare_incoming(store, track), seconds=0)
        return service

    async def read(self, work: Callable[[Snapshot], _Answer]) -> _Answer:
        """The result of `work`, which reads one snapshot of the record."""

        def followed(view: Snapshot) -> _Answer:
            if view.revision != self._revision:
                self.followed.follow(view)
                self._revision = view.revision
            return work(view)

        return await in_thread("read", self.store.read, followed)

    async def write(self, work: Callable[..., _Answer], *arguments: object) -> _Answer:
        """The result of `work`, which writes to the record. Raises RefusedError as `check_record`."""

        def checked() -> _Answer:
            self._check_record()
            return work(*arguments)

        return await in_thread("write", checked)

    async def check_record(self) -> None:
        """Raise RefusedError if the record lacks events of the site: then nothing is recorded or signed."""
        await in_thread("read", self._check_record)

    def _check_record(self) -> None:
        try:
            check_published(self.challenge, self.store)
        except ChallengeError as error:
            _log.error("refused: %s", error)
            self.followed = self.store.read(lambda view: Followed.of(view, self.challenge.name))
            raise RefusedError("unavailable", RESTORING, retry_after=60) from None

    def reload(self) -> None:
        """Read challenge.toml again if it has changed; while it is invalid, the earlier settings stay."""
        try:
            changed = (self.challenge.root / FILE).stat().st_mtime
            if changed != self._changed:
                self._changed = changed
                self.challenge = read_challenge(self.challenge.root)
        except (ChallengeError, OSError):
            return

    def track(self, name: str) -> Track:
        """The track with this name. Raises RefusedError."""
        with refusing("not-found"):
            return self.challenge.track(name)

    def own_entry(self, track: Track, team: str, name: str) -> SubmissionState:
        """The entry of a team by the id of its delivery, or by its index. Raises RefusedError, also for one of another
        team.
        """
        arrival = self.followed.delivered(track.name, team, name)
        index = (
            arrival[0].index if arrival else int(name) if name.isascii() and name.isdigit() and len(name) < 12 else 0
        )
        for state in self.followed.submissions(track.name, team):
            if state.index == index:
                return state
        raise RefusedError("not-found", "the team has no entry with this id in the track")

    async def accept(self, delivery: Delivery) -> tuple[Arrival, bool]:
        """Accept a delivery. Returns and raises as `accept`."""
        self.check_running()
        with self.metrics.accepting.time():
            arrived, is_new = await self.write(accept, self.store, self.challenge, self.followed, delivery)
        if is_new:
            self.metrics.accepted.inc()
            self.metrics.bytes.inc(delivery.upload.size)
            _log.info("accepted: entry %d of track %s", arrived[0].index, delivery.track)
        else:
            self.metrics.repeated.inc()
        return arrived, is_new

    def check_running(self) -> None:
        """Refuse a delivery if the service is about to stop. Raises RefusedError."""
        if self.draining:
            raise RefusedError("unavailable", "the server is about to restart; try again", retry_after=5)

    async def withdraw(self, track: Track, team: str, name: str) -> SubmissionState:
        """Withdraw an entry of a team. Raises RefusedError."""
        state = self.own_entry(track, team, name)
        with refusing("too-late"):
            await self.write(withdraw_entry, self.store, track, key_of(state.submission))
        return state

    async def correct(self, track: Track, team: str, name: str, stated: Stated) -> None:
        """Record other metadata of an entry of a team. Raises RefusedError."""
        key = key_of(self.own_entry(track, team, name).submission)
        with refusing("too-late"):
            await self.write(record_metadata, self.store, track, key, stated, SERVICE)

    async def pick(self, track: Track, team: str, names: Sequence[str]) -> None:
        """Record which entries a team picks. Raises RefusedError."""
        indexes = [str(self.own_entry(track, team, name).index) for name in names]
        with refusing():
            if indexes:
                await self.write(pick, self.challenge, self.store, indexes, "service")
            else:
                await self.write(clear_picks, self.store, track, team, "service")

    def incoming(self, track: Track) -> Path:
        """Where the bytes of deliveries to a track are received."""
        folder = incoming_folder(track)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    async def authenticated(self, authorization: str | None, sender: str) -> Token:
        """The token of a request, given the header. Raises RefusedError without a valid one."""
        scheme, _, text = (authorization or "").partition(" ")
        sha256 = token_digest(text.strip())
        token = await self.read(lambda _: self.followed.tokens.get(sha256))
        now = self.store.now()
        if scheme.lower() != "bearer" or token is None or token.use != "token" or not token.is_valid(now):
            self.rates.take(sender, cost=5)  # whoever guesses is slowed down
            expired = token is not None and token.ended is None
            what = "the token has expired" if expired else "no valid token"
            raise RefusedError(
                "unauthorised", f"{what}; send the header Authorization: Bearer TOKEN, with a token of the organisers"
            )
        self.rates.take(sha256)
        self._used[sha256] = now
        if self._noted is None or (now - self._noted).total_seconds() > _NOTE_USE_EVERY:
            self._noted = now
            used, self._used = self._used, {}
            await in_thread("disk", note_used, self.store, self.challenge.root, used)
        return token
