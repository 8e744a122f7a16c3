"""Connections: how many an address may have, and how long one may be open without a request."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from scorer.service.uploads import SILENCE

CONNECTIONS = 1000
"""So many connections are served at the same time; a further one is answered with 503."""

OF_AN_ADDRESS = CONNECTIONS // 4
"""So many of them may one address have, unless it is that of a proxy; a further one is answered with 429."""

_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nRetry-After: 10\r\nConnection: close\r\n\r\n"
    b"too many connections from this address\n"
)


class BoundedProtocol(H11Protocol):
    """A connection that ends if no request is complete in its headers, or being answered, for `SILENCE` seconds."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Serve a new connection, or end it at once."""
        super().connection_made(transport)
        host = self._host()
        others = sum(isinstance(other, BoundedProtocol) and other._host() == host for other in self.connections)
        if host not in self.config.forwarded_allow_ips and others > OF_AN_ADDRESS:
            transport.write(_TOO_MANY)
            transport.close()
            return
        self._idle_since = self.loop.time()
        self._timer = self.loop.call_later(SILENCE, self._end_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Note when the last request was answered. The rest of its body may still be on the way."""
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def _end_if_idle(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        is_idle = cycle is None or cycle.response_complete
        left = self._idle_since + SILENCE - self.loop.time() if is_idle else SILENCE
        if left <= 0:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(left, self._end_if_idle)

    def _host(self) -> Any:
        return self.client and self.client[0]
