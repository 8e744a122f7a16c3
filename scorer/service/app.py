"""The application: the routes of the interface, the site as files, errors as answers, and the web server.

Each error is a document of RFC 9457 with one code, and what failed inside is only in the log.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from h11 import LocalProtocolError
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from scorer.board.site.folder import listed_files
from scorer.board.site.templates import SUBMIT_ASSETS, asset
from scorer.errors import ScorerError, StoreError
from scorer.limits import MB
from scorer.organising.files import final_path
from scorer.organising.teams import InvalidTokenError, redeem
from scorer.organising.watch import ENDS_WITH_PARENT
from scorer.rules.teams import Token
from scorer.service.accepting import Delivery, RefusedError, check_open, examined, refusing
from scorer.service.documents import (
    accepted_document,
    challenge_document,
    entry_documents,
    event_documents,
    last_file,
    quota_document,
    same_entry,
)
from scorer.service.state import Service
from scorer.service.submitting import act, receipt, show, token_file
from scorer.service.uploads import CONNECTIONS, BoundedProtocol, check_headers, in_thread, received, sender, small_body
from scorer.settings.metadata import read, read_all
from scorer.settings.tracks import Challenge, Track
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import printable

_log = logging.getLogger("scorer.service")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""Of every answer that is not a file of the site."""


def problem(status: int, code: str, text: str, **facts: Any) -> JSONResponse:
    """An error as RFC 9457 has it."""
    phrase = HTTPStatus(status).phrase
    document = {"type": "about:blank", "title": phrase, "status": status, "code": code, "detail": text, **facts}
    headers = {"Retry-After": str(facts["retry_after"])} if "retry_after" in facts else {}
    return JSONResponse(document, status, {**HEADERS, **headers}, media_type="application/problem+json")


async def _refused(service: Service, request: Request, error: RefusedError) -> Response:
    service.metrics.refused.labels(error.code).inc()
    _log.info("refused: %s %s: %s", request.method, _shown_path(request), error.code)
    response = problem(error.status, error.code, error.text, **error.facts)
    if error.code == "unauthorised":
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


async def _invalid_invitation(service: Service, request: Request, _error: InvalidTokenError) -> Response:
    refusal = RefusedError(
        "unauthorised", "the invitation was used, has expired or was revoked; ask the organisers for another one"
    )
    return await _refused(service, request, refusal)


async def _failed(service: Service, request: Request, error: Exception) -> Response:
    """The database or the disk failed: the sender may try again; what failed is only in the log."""
    service.metrics.refused.labels("unavailable").inc()
    _log.error("failed: %s %s: %s", request.method, _shown_path(request), error)
    return problem(503, "unavailable", "the server cannot do that now; try again later", retry_after=10)


async def _http_problem(_request: Request, error: HTTPException) -> Response:
    codes = {404: "not-found", 405: "invalid", 413: "too-large", 503: "unavailable"}
    return problem(error.status_code, codes.get(error.status_code, "invalid"), str(error.detail))


LENGTHS = {b"content-length", b"transfer-encoding"}
"""A request with both may hide another one (RFC 9112, 6.1)."""


def guarded(app: ASGIApp) -> ASGIApp:
    """The application, of which an error that nothing has caught is one line in the log; no request has `LENGTHS`."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["type"] == "http" and {name for name, _ in scope["headers"]} >= LENGTHS:
                refusal = problem(400, "invalid", "found Content-Length and Transfer-Encoding; expected one of them")
                refusal.headers["Connection"] = "close"
                await refusal(scope, receive, send)
                return
            await app(scope, receive, send)
        except (asyncio.CancelledError, LocalProtocolError):  # the service stops, or has refused what is no HTTP
            return
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where, kind = f"{Path(place.filename).name}:{place.lineno}", type(error).__name__
            _log.error("failed: %s: %s: %s (%s)", scope["type"], kind, printable(str(error)), where)

    return answer


async def _broken(_request: Request, _error: Exception) -> Response:
    return problem(500, "unavailable", "the server failed; its organisers find the reason in the log")


async def _left(_request: Request, _error: Exception) -> Response:
    return Response(status_code=408)  # nobody receives it


def _shown_path(request: Request) -> str:
    return request.url.path.encode("unicode_escape").decode("ascii")[:200]


class Site(StaticFiles):
    """The site of a challenge: the files that a render has listed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, html=True, check_dir=False)
        self._folder = folder

    async def check_config(self) -> None:
        """Check nothing at the first request: the folder may be made later."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        full_path, status = super().lookup_path(path)
        if status and stat.S_ISREG(status.st_mode) and Path(path).as_posix() not in listed_files(self._folder):
            return "", None
        return full_path, status

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            response = await super().get_response(path, scope)
        except HTTPException:
            if not listed_files(self._folder):
                raise HTTPException(503, "the site is not rendered yet; reload the page in a moment") from None
            raise
        response.headers["X-Content-Type-Options"] = "nosniff"
        who = "*" if Path(path).name == "embed.html" else "'none'"
        response.headers["Content-Security-Policy"] = f"frame-ancestors {who}"
        response.headers["Cache-Control"] = "no-cache"  # a browser asks whether its copy is the present one
        return response


_TIME = 60.0
"""Seconds that a request may take, but for a delivery, whose bytes must come fast enough."""

LOOPBACK = ("127.0.0.1", "::1")

Handler = Callable[[Service, Request], Awaitable[Response]]


def application(service: Service) -> Starlette:
    """The application that serves a challenge."""

    def route(path: str, handler: Handler, *methods: str, seconds: float | None = _TIME) -> Route:
        async def endpoint(request: Request) -> Response:
            service.reload()
            try:
                with anyio.fail_after(seconds):
                    response = await handler(service, request)
            except TimeoutError:
                raise RefusedError("too-slow", "the request took too long; try again") from None
            for name, value in HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return Route(path, endpoint, methods=list(methods))

    track, entry = "/api/v1/tracks/{track}", "/api/v1/tracks/{track}/entries/{entry}"
    routes = [
        route("/api/v1", _challenge, "GET"),
        route("/api/v1/token", _token, "POST"),
        route("/api/v1/events", _events, "GET"),
        route(f"{track}/quota", _of_track(_quota), "GET"),
        route(f"{track}/picks", _of_track(_picks), "GET"),
        route(f"{track}/picks", _of_track(_pick), "PUT"),
        route(f"{track}/entries", _of_track(_entries), "GET"),
        route(entry, _deliver, "PUT", seconds=None),
        route(entry, _of_track(_entry), "GET"),
        route(entry, _of_track(_withdraw), "DELETE"),
        route(f"{entry}/metadata", _of_track(_correct), "PUT"),
        route(f"{entry}/receipt", _of_track(_receipt), "GET"),
        route("/invite", show, "GET"),
        route("/submit", show, "GET"),
        route("/submit", act, "POST", seconds=None),
        route("/submit/token", token_file, "GET"),
        route("/submit/receipts/{track}/{which}", receipt, "GET"),
        *(route(f"/{name}", _script, "GET") for name in SUBMIT_ASSETS),
        route("/healthz", _health, "GET"),
        route("/readyz", _ready, "GET"),
        route("/metrics", _metrics, "GET"),
        Mount("/", app=GZipMiddleware(Site(service.challenge.site_path), compresslevel=6)),  # pages without secrets
    ]
    handlers: dict[Any, Any] = {
        RefusedError: partial(_refused, service),
        InvalidTokenError: partial(_invalid_invitation, service),
        ScorerError: partial(_failed, service),
        OSError: partial(_failed, service),
        HTTPException: _http_problem,
        ClientDisconnect: _left,
        Exception: _broken,
    }
    return Starlette(routes=routes, exception_handlers=handlers)


# Who asks, and for what


async def _team(service: Service, request: Request) -> Token:
    return await service.authenticated(request.headers.get("authorization"), sender(request))


def _of_track(handler: Callable[[Service, Request, Track, str], Awaitable[Response]]) -> Handler:
    """The handler of a team's request about a track, given one that also takes the track and the team."""

    async def handle(service: Service, request: Request) -> Response:
        token = await _team(service, request)
        return await handler(service, request, service.track(request.path_params["track"]), token.team)

    return handle


# The interface


async def _challenge(service: Service, request: Request) -> Response:
    service.rates.take(sender(request))
    return JSONResponse(await service.read(lambda view: challenge_document(view, service.challenge)))


async def _deliver(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track, team = service.track(request.path_params["track"]), token.team
    try:
        delivery_id = str(uuid.UUID(request.path_params["entry"]))
    except ValueError:
        raise RefusedError("invalid", "the id of the entry in the address is no UUID; choose a random one") from None
    service.check_running()
    folder, most = service.incoming(track), service.challenge.limits.file_mb * MB
    check_headers(request.headers, folder, most)
    is_known = service.followed.delivered(track.name, team, delivery_id) is not None
    if not is_known:
        await service.read(lambda view: check_open(view, track, service.followed, team, service.store.now()))
    with service.metrics.uploading.track_inprogress():
        async with received(request, folder, most) as upload:
            at, name = service.store.now(), request.query_params.get("name", "")
            with refusing():
                stated = await in_thread("disk", read_all, request.query_params.getlist("metadata"))
            values = await in_thread("disk", examined, track, service.challenge.limits, upload, stated)
            delivery = Delivery(delivery_id, track.name, team, upload, at, name, token.sha256, values)
            arrived, is_new = await service.accept(delivery)
    index = arrived[0].index
    own = service.own_entry(track, team, str(index)).submission
    same = await service.read(
        lambda view: same_entry(view, service.followed, track, team, own.digest, own.received, index)
    )
    document = accepted_document(service.followed, delivery_id, arrived, same)
    return JSONResponse(document, 201 if is_new else 200, {"Location": delivery_id})


async def _documents(service: Service, track: Track, team: str, compared: str = "") -> Mapping[int, dict[str, Any]]:
    return await service.read(
        lambda view: entry_documents(view, service.challenge, service.followed, track, team, compared)
    )


async def _entries(service: Service, _request: Request, track: Track, team: str) -> Response:
    return JSONResponse({"entries": list((await _documents(service, track, team)).values())})


async def _entry(service: Service, request: Request, track: Track, team: str) -> Response:
    state = service.own_entry(track, team, request.path_params["entry"])
    document = (await _documents(service, track, team, str(state.index)))[state.index]
    check = None
    if document["outcome"] == "waiting" and state.present:
        digest, last = state.submission.digest, last_file(service.followed, track, team, state.index)
        document["check"] = {"valid": None, "messages": []}
        if known := service.checks.known(service.challenge, track.name, digest, last):
            document["check"] = {"valid": known.is_valid, "messages": [*known.findings.lines(), known.summary]}
        else:
            path = final_path(track, state.submission.file)
            check = BackgroundTask(service.checks.begin, service.challenge, track.name, path, digest, team, last)
    return JSONResponse(document, background=check)


async def _receipt(service: Service, request: Request, track: Track, team: str) -> Response:
    state = service.own_entry(track, team, request.path_params["entry"])
    await service.check_record()
    return PlainTextResponse(service.followed.issuer.receipt(service.followed.arrival(state.index)[0]))


async def _withdraw(service: Service, request: Request, track: Track, team: str) -> Response:
    state = await service.withdraw(track, team, request.path_params["entry"])
    return JSONResponse((await _documents(service, track, team))[state.index])


async def _correct(service: Service, request: Request, track: Track, team: str) -> Response:
    service.own_entry(track, team, request.path_params["entry"])
    body = await small_body(request)
    with refusing():
        stated = await in_thread("disk", read, body)
    await service.correct(track, team, request.path_params["entry"], stated)
    return await _entry(service, request, track, team)


async def _quota(service: Service, request: Request, track: Track, team: str) -> Response:
    digest = request.query_params.get("sha256", "").lower()
    return JSONResponse(await service.read(lambda view: quota_document(view, service.followed, track, team, digest)))


async def _picks(service: Service, _request: Request, track: Track, team: str) -> Response:
    documents = await _documents(service, track, team)
    return JSONResponse({"entries": [index for index, document in documents.items() if document["picked"]]})


async def _stated(request: Request, key: str) -> object:
    """What a body of JSON has under a key; None if it has nothing."""
    try:
        stated: object = json.loads(await small_body(request))[key]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return stated


async def _pick(service: Service, request: Request, track: Track, team: str) -> Response:
    names = await _stated(request, "entries")
    if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
        raise RefusedError("invalid", 'the body is not {"entries": [...]} with ids or indexes of entries')
    await service.pick(track, team, [str(name) for name in names])
    return await _picks(service, request, track, team)


async def _events(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    since = request.query_params.get("since", "0")
    if not (since.isascii() and since.isdigit() and len(since) < 12):
        raise RefusedError("invalid", "since is not the index of an event")
    documents = await service.read(
        lambda view: list(event_documents(view, service.challenge, service.followed, token.team, int(since)))
    )
    lines = "".join(f"{json.dumps(document)}\n" for document in documents)
    return Response(lines, media_type="application/x-ndjson")


async def _token(service: Service, request: Request) -> Response:
    service.rates.take(sender(request), cost=5)
    invitation = await _stated(request, "invitation")
    if not isinstance(invitation, str):
        raise RefusedError("invalid", 'the body is not {"invitation": "..."}')
    team, text = await service.write(redeem, service.store, invitation.strip())
    return JSONResponse({"team": team, "token": text}, 201)


# The page for handing in


async def _script(service: Service, request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    return Response(asset(service.challenge, name), media_type=SUBMIT_ASSETS[name])


# The organiser's view


async def _health(_service: Service, _request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _ready(service: Service, _request: Request) -> Response:
    """Whether deliveries can be accepted."""
    try:
        await service.check_record()
        for track in service.challenge.tracks:
            check_headers({}, service.incoming(track), 0)
    except (StoreError, OSError, RefusedError):
        return PlainTextResponse("not ready\n", 503)
    return PlainTextResponse("draining\n" if service.draining else "ready\n", 503 if service.draining else 200)


async def _metrics(service: Service, request: Request) -> Response:
    if sender(request) not in LOOPBACK or "x-forwarded-for" in request.headers or "forwarded" in request.headers:
        raise HTTPException(404)
    service.metrics.events.set(await service.read(Snapshot.count_events))
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


RESTART_EVERY, RESTART_AT_MOST = 2.0, 60.0
"""Seconds until the loop that scores is started again, if it ends before the service: at first, and after it has ended
again and again. They double each time, until it has run for the longer time.
"""

STOP_WITHIN = 20
"""Seconds that requests have to end when the service stops."""

_GARBAGE = 2000
"""Python searches for garbage after so many new objects. Commands that end soon search less often; here the garbage of
many requests would take 20 MB.
"""

_NICE = 10
"""The loop leaves the processors to the web server when both need them."""


def serve(
    challenge: Challenge, host: str, port: int, proxies: Sequence[str] = (), *, runner: Sequence[str] | None
) -> None:
    """Serve a challenge at an address until the process gets SIGTERM or SIGINT.

    `proxies` are the addresses of proxies, whose headers say which address a request comes from.
    `runner` has the arguments of the loop that scores, after `scorer run --watch`; None: another process scores. Raises
    ChallengeError, StoreError, and OSError if the address is in use.
    """
    gc.set_threshold(_GARBAGE)
    with Store.open(challenge.database_address) as store, _listening(host, port) as listening:
        service = Service.open(challenge, store)
        config = uvicorn.Config(
            guarded(application(service)),
            http=BoundedProtocol,
            log_level="warning",
            access_log=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            limit_concurrency=CONNECTIONS,
            timeout_graceful_shutdown=STOP_WITHIN,
            server_header=False,
            h11_max_incomplete_event_size=16_384,
        )
        server = _Server(config, service)
        for wanted in (signal.SIGTERM, signal.SIGINT):
            signal.signal(wanted, lambda *_: None)  # uvicorn raises it again once it has stopped
        with _runner(service, runner):
            _log.info("http://%s:%d", *listening.getsockname()[:2])
            server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that accepts no further delivery once it is about to stop."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: object) -> None:
        self._service.draining = True
        self._service.checks.stop()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        if os.name == "posix":  # Windows would let another process take the same address
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        yield listening


@contextmanager
def _runner(service: Service, arguments: Sequence[str] | None) -> Iterator[None]:
    """The loop that scores, which is started again if it ends."""
    if arguments is None:
        yield
        return
    stopped = threading.Event()
    keeper = threading.Thread(target=_keep_running, args=(service, arguments, stopped), name="runner")
    keeper.start()
    try:
        yield
    finally:
        stopped.set()
        keeper.join()


def _keep_running(service: Service, arguments: Sequence[str], stopped: threading.Event) -> None:
    root = str(service.challenge.root)
    command = [sys.executable, "-P", "-m", "scorer", "run", "--watch", "--challenge", root, *arguments]

    def is_ending() -> bool:
        return stopped.is_set() or service.draining

    pause = RESTART_EVERY / 2
    while not is_ending():
        began = time.monotonic()
        # Its own session: a Ctrl-C in the terminal reaches only this process, which then ends the loop.
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, ENDS_WITH_PARENT: str(os.getpid())},
        )
        _be_nice(process.pid)
        while process.poll() is None and not stopped.wait(0.1):
            pass
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return
        if is_ending():  # the same signal has ended it
            return
        was_replaced = service.store.database.is_replaced
        while service.store.database.is_replaced and not stopped.wait(RESTART_EVERY):
            pass
        if was_replaced:  # the loop has said so
            continue
        ran = time.monotonic() - began
        pause = RESTART_EVERY if ran > RESTART_AT_MOST else min(2 * pause, RESTART_AT_MOST)
        _log.error(
            "the loop that scores ended with exit code %d; it is started again in %d seconds", process.returncode, pause
        )
        stopped.wait(pause)


def _be_nice(process: int) -> None:
    if sys.platform != "win32":
        os.setpriority(os.PRIO_PROCESS, process, _NICE)
