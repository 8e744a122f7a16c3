"""The application: the routes of the interface, and the site."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route

from scorer.challenge.settings import Track
from scorer.errors import StoreError
from scorer.limits import MB
from scorer.live.tokens import Token
from scorer.organising.deliveries import final_path
from scorer.organising.tokens import redeem
from scorer.service.accepting import Delivery, check_open
from scorer.service.documents import (
    accepted_document,
    challenge_document,
    entry_documents,
    event_documents,
    quota_document,
)
from scorer.service.problems import HEADERS, error_handlers
from scorer.service.refusals import RefusedError
from scorer.service.state import Service
from scorer.service.static_site import Site
from scorer.service.submitting import act, receipt, show
from scorer.service.uploads import check_headers, received, small_body
from scorer.site.submit_page import ASSETS, asset
from scorer.store.snapshot import Snapshot

log = logging.getLogger("scorer.service")

TIME = 60.0
"""Seconds that a request may take, but for a delivery, whose bytes must come fast enough."""

LOOPBACK = ("127.0.0.1", "::1")

Handler = Callable[[Service, Request], Awaitable[Response]]


def application(service: Service) -> Starlette:
    """The application that serves a challenge."""

    def route(path: str, handler: Handler, *methods: str, seconds: float | None = TIME) -> Route:
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
        route(f"{track}/quota", _quota, "GET"),
        route(f"{track}/picks", _picks, "GET"),
        route(f"{track}/picks", _pick, "PUT"),
        route(f"{track}/entries", _entries, "GET"),
        route(entry, _deliver, "PUT", seconds=None),
        route(entry, _entry, "GET"),
        route(entry, _withdraw, "DELETE"),
        route(f"{entry}/receipt", _receipt, "GET"),
        route("/invite", show, "GET"),
        route("/submit", show, "GET"),
        route("/submit", act, "POST", seconds=None),
        route("/submit/receipts/{track}/{which}", receipt, "GET"),
        *(route(f"/{name}", _script, "GET") for name in ASSETS),
        route("/healthz", _health, "GET"),
        route("/readyz", _ready, "GET"),
        route("/metrics", _metrics, "GET"),
        Mount("/", app=Site(service.challenge.site_path)),
    ]
    return Starlette(routes=routes, exception_handlers=error_handlers(service))


# Who asks, and for what


def _sender(request: Request) -> str:
    return request.client.host if request.client else ""


async def _team(service: Service, request: Request) -> Token:
    return await service.authenticated(request.headers.get("authorization"), _sender(request))


# The interface


async def _challenge(service: Service, request: Request) -> Response:
    service.rates.take(_sender(request))
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
    is_known = (track.name, team, delivery_id) in service.followed.deliveries
    if not is_known:
        await service.read(lambda view: check_open(view, track, service.followed, team, service.store.now()))
    with service.metrics.uploading.track_inprogress():
        async with received(request, folder, most) as upload:
            at, name = service.store.now(), request.query_params.get("name", "")
            file = upload.path, upload.digest, upload.size
            delivery = Delivery(delivery_id, track.name, team, *file, at, name, token.sha256)
            accepted = await service.accept(delivery)
    status = 201 if accepted.is_new else 200
    return JSONResponse(accepted_document(accepted), status, {"Location": delivery_id})


async def _documents(service: Service, track: Track, team: str) -> Mapping[int, dict[str, Any]]:
    return await service.read(lambda view: entry_documents(view, service.challenge, service.followed, track, team))


async def _entries(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track = service.track(request.path_params["track"])
    return JSONResponse({"entries": list((await _documents(service, track, token.team)).values())})


async def _entry(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track = service.track(request.path_params["track"])
    state = service.own_entry(track, token.team, request.path_params["entry"])
    document = (await _documents(service, track, token.team))[state.index]
    check = None
    if document["outcome"] == "waiting" and state.present:
        digest = state.submission.digest
        known = service.checks.known(track.name, digest)
        document["check"] = known or {"valid": None, "messages": []}
        if known is None:
            path = final_path(track, state.submission.file)
            check = BackgroundTask(service.checks.begin, service.challenge.root, track.name, path, digest, token.team)
    return JSONResponse(document, background=check)


async def _receipt(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track = service.track(request.path_params["track"])
    state = service.own_entry(track, token.team, request.path_params["entry"])
    return PlainTextResponse(service.followed.issuer.receipt(service.followed.arrivals[state.index]))


async def _withdraw(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track = service.track(request.path_params["track"])
    state = await service.withdraw(track, token.team, request.path_params["entry"])
    return JSONResponse((await _documents(service, track, token.team))[state.index])


async def _quota(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track = service.track(request.path_params["track"])
    return JSONResponse(await service.read(lambda view: quota_document(view, service.followed, track, token.team)))


async def _picks(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track = service.track(request.path_params["track"])
    documents = await _documents(service, track, token.team)
    return JSONResponse({"entries": [index for index, document in documents.items() if document["picked"]]})


async def _pick(service: Service, request: Request) -> Response:
    token = await _team(service, request)
    track = service.track(request.path_params["track"])
    try:
        names = json.loads(await small_body(request))["entries"]
        if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
            raise TypeError  # noqa: TRY301
    except (ValueError, LookupError, TypeError, RecursionError):
        raise RefusedError("invalid", 'the body is not {"entries": [...]} with ids or indexes of entries') from None
    await service.pick(track, token.team, [str(name) for name in names])
    return await _picks(service, request)


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
    service.rates.take(_sender(request), cost=5)
    try:
        invitation = json.loads(await small_body(request))["invitation"]
    except (ValueError, LookupError, TypeError, RecursionError):
        invitation = None
    if not isinstance(invitation, str):
        raise RefusedError("invalid", 'the body is not {"invitation": "..."}')
    team, text = await service.write(lambda: redeem(service.store, invitation.strip()))
    return JSONResponse({"team": team, "token": text}, 201)


# The page for handing in


async def _script(service: Service, request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    return Response(asset(service.challenge, name), media_type=ASSETS[name])


# The organiser's view


async def _health(_service: Service, _request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _ready(service: Service, _request: Request) -> Response:
    """Whether deliveries can be accepted."""
    try:
        await service.read(lambda view: view.revision)
        for track in service.challenge.tracks:
            check_headers({}, service.incoming(track), 0)
    except (StoreError, OSError, RefusedError):
        return PlainTextResponse("not ready\n", 503)
    return PlainTextResponse("draining\n" if service.draining else "ready\n", 503 if service.draining else 200)


async def _metrics(service: Service, request: Request) -> Response:
    if _sender(request) not in LOOPBACK or "x-forwarded-for" in request.headers or "forwarded" in request.headers:
        raise HTTPException(404)
    service.metrics.events.set(await service.read(Snapshot.count_events))
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")
