"""Sessions: a browser shows a signed cookie instead of a token, after a team has signed in with one."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response

from scorer.service.refusals import RefusedError

COOKIE = "__Host-scorer"
"""Browsers accept this name only for a cookie that is sent over TLS, to the whole of one host."""

LASTS = timedelta(days=1)
"""How long a session lasts."""


@dataclass(slots=True)
class Sessions:
    """Issues and reads the cookies. A session ends with its token, with its time, or when the team signs out."""

    key: bytes
    _ended: dict[str, float] = field(default_factory=dict)
    """When the sessions would have ended of which the teams have signed out, in seconds since 1970."""

    def begin(self, response: Response, sha256: str, now: datetime) -> None:
        """Set the cookie of a new session, for the token with this SHA-256."""
        said = f"{sha256}.{int((now + LASTS).timestamp())}.{secrets.token_hex(16)}"
        _set(response, f"{said}.{self._signature(said)}", int(LASTS.total_seconds()))

    def token_of(self, request: Request, now: datetime) -> str | None:
        """The SHA-256 of the token of a request's session; None without a valid one."""
        said, _, signature = request.cookies.get(COOKIE, "").rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(said).encode()):
            return None
        sha256, expires, nonce = said.split(".")
        return sha256 if nonce not in self._ended and now.timestamp() < int(expires) else None

    def end(self, request: Request, response: Response, now: datetime) -> None:
        """Sign out: the cookie is removed, and a copy of it is worth nothing."""
        if self.token_of(request, now) is not None:
            _, expires, nonce, _ = request.cookies[COOKIE].split(".")
            self._ended = {one: end for one, end in self._ended.items() if end > now.timestamp()}
            self._ended[nonce] = int(expires)
        _set(response, "", 0)

    def _signature(self, said: str) -> str:
        return hmac.new(self.key, said.encode(), hashlib.sha256).hexdigest()


def _set(response: Response, value: str, seconds: int) -> None:
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="strict")


def check_same_origin(request: Request) -> None:
    """Refuse a request that a page of another site has caused. Raises RefusedError.

    A browser sends `Origin` with each form, and a page cannot change it.
    """
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    if request.headers.get("origin") != own or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise RefusedError("cross-site", "the form was sent by another site; open the page of the service again")
