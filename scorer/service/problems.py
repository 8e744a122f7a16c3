"""Errors as answers: each is a document of RFC 9457 with one code, and what failed inside is only in the log."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from scorer.errors import ScorerError
from scorer.organising.tokens import InvalidTokenError
from scorer.service.refusals import STATUS, RefusedError
from scorer.service.state import Service
from scorer.wording import printable

log = logging.getLogger("scorer.service")

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""Of every answer that is not a file of the site."""


def error_handlers(service: Service) -> Mapping[Any, Any]:
    """The functions that answer when a request raises, by the class of the error."""
    return {
        RefusedError: partial(_refused, service),
        InvalidTokenError: partial(_invalid_invitation, service),
        ScorerError: partial(_failed, service),
        OSError: partial(_failed, service),
        HTTPException: _http_problem,
        ClientDisconnect: _left,
        Exception: _broken,
    }


def problem(status: int, code: str, text: str, **facts: Any) -> JSONResponse:
    """An error as RFC 9457 has it."""
    phrase = HTTPStatus(status).phrase
    document = {"type": "about:blank", "title": phrase, "status": status, "code": code, "detail": text, **facts}
    headers = {"Retry-After": str(facts["retry_after"])} if "retry_after" in facts else {}
    return JSONResponse(document, status, {**HEADERS, **headers}, media_type="application/problem+json")


async def _refused(service: Service, request: Request, error: RefusedError) -> Response:
    service.metrics.refused.labels(error.code).inc()
    log.info("refused: %s %s: %s", request.method, _shown_path(request), error.code)
    response = problem(STATUS[error.code], error.code, error.text, **error.facts)
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
    log.error("failed: %s %s: %s", request.method, _shown_path(request), error)
    return problem(503, "unavailable", "the server cannot do that now; try again later", retry_after=10)


async def _http_problem(_request: Request, error: HTTPException) -> Response:
    codes = {404: "not-found", 405: "invalid", 413: "too-large", 503: "unavailable"}
    return problem(error.status_code, codes.get(error.status_code, "invalid"), str(error.detail))


def without_tracebacks(app: ASGIApp) -> ASGIApp:
    """The application, of which an error that nothing has caught is one line in the log."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:  # the service stops
            return
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where, kind = f"{Path(place.filename).name}:{place.lineno}", type(error).__name__
            log.error("failed: %s: %s: %s (%s)", scope["type"], kind, printable(str(error)), where)  # noqa: TRY400

    return guarded


async def _broken(_request: Request, _error: Exception) -> Response:
    return problem(500, "unavailable", "the server failed; its organisers find the reason in the log")


async def _left(_request: Request, _error: Exception) -> Response:
    return Response(status_code=408)  # nobody receives it


def _shown_path(request: Request) -> str:
    return request.url.path.encode("unicode_escape").decode("ascii")[:200]
