"""Sessions: a browser shows a cookie instead of a token, after a team has signed in with one."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from scorer.live.tokens import sha256_of
from scorer.paths.writing import replace_content
from scorer.service.refusals import RefusedError

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
    _open: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By the SHA-256 of the cookie: that of the token, and when the session ends, in seconds since 1970."""

    def __post_init__(self) -> None:
        with suppress(OSError, ValueError, TypeError, AttributeError):
            kept = json.loads(self.file.read_bytes())
            self._open = {str(cookie): (str(token), float(end)) for cookie, (token, end) in kept.items()}

    def begin(self, response: Response, sha256: str, now: datetime) -> None:
        """Set the cookie of a new session, for the token with this SHA-256."""
        text, end = secrets.token_urlsafe(32), (now + LASTS).timestamp()
        self._open = {cookie: one for cookie, one in self._open.items() if now.timestamp() < one[1]}
        self._open[sha256_of(text)] = sha256, end
        self._keep()
        _set(response, text, int(LASTS.total_seconds()))

    def token_of(self, request: Request, now: datetime) -> str | None:
        """The SHA-256 of the token of a request's session; None without a valid one."""
        token, end = self._open.get(sha256_of(request.cookies.get(COOKIE, "")), (None, 0.0))
        return token if now.timestamp() < end else None

    def end(self, request: Request, response: Response) -> None:
        """Sign out: the cookie is removed, and a copy of it is worth nothing."""
        if self._open.pop(sha256_of(request.cookies.get(COOKIE, "")), None):
            self._keep()
        _set(response, "", 0)

    def _keep(self) -> None:
        with suppress(OSError):  # then the teams sign in again after a restart
            replace_content(self.file, json.dumps(self._open).encode("ascii"), mode=0o600)


def _set(response: Response, value: str, seconds: int) -> None:
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="strict")


def check_same_origin(request: Request) -> None:
    """Refuse a request that a page of another site has caused. Raises RefusedError.

    A browser sends `Origin` with each form, and a page cannot change it.
    """
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if request.headers.get("origin") != own or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise RefusedError("cross-site", "the form was sent by another site; open the page of the service again")
