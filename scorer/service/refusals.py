"""Refusals: one tagged reason for each request that is not carried out; and how many requests a sender may make."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

STATUS: Mapping[str, HTTPStatus] = {
    "unauthorised": HTTPStatus.UNAUTHORIZED,
    **dict.fromkeys(("cross-site", "closed", "excluded", "of-a-solution", "too-late"), HTTPStatus.FORBIDDEN),
    "not-found": HTTPStatus.NOT_FOUND,
    "invalid": HTTPStatus.BAD_REQUEST,
    "too-slow": HTTPStatus.REQUEST_TIMEOUT,
    "conflict": HTTPStatus.CONFLICT,
    "too-large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "unsupported": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    **dict.fromkeys(("quota", "too-many-files", "too-fast"), HTTPStatus.TOO_MANY_REQUESTS),
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "disk-full": HTTPStatus.INSUFFICIENT_STORAGE,
}
"""The codes of all reasons, with the status of the answer to a request that is refused for it."""


class RefusedError(Exception):
    """A request is not carried out, and leaves nothing."""

    def __init__(self, code: str, text: str, **facts: Any) -> None:
        """`code` is a key of `STATUS`, and `facts` are further members of the answer; None is left out."""
        super().__init__(text)
        self.code, self.status = code, STATUS[code]
        self.text = text
        self.facts = {name: value for name, value in facts.items() if value is not None}


def too_large(limit: int) -> RefusedError:
    """The refusal of a file that has more bytes than the limit."""
    return RefusedError("too-large", f"the file is larger than {limit:,} bytes (limits.file_mb)", limit=limit)


_SENDERS = 10_000
"""So many senders are remembered; of more, those that were silent the longest are forgotten."""


@dataclass(slots=True)
class Rates:
    """A bucket of requests for each sender: it is full at first, and fills again with time."""

    per_second: float = 5.0
    burst: float = 100.0
    clock: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """Requests left, and when that was so, by sender."""

    def take(self, sender: str, cost: float = 1.0) -> None:
        """Count a request. Raises RefusedError if the sender has made too many."""
        now = self.clock()
        left, since = self._left.pop(sender, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.per_second)
        is_allowed = left >= cost
        self._left[sender] = (left - cost if is_allowed else left, now)
        while len(self._left) > _SENDERS:
            self._left.popitem(last=False)
        if not is_allowed:
            seconds = max(1, round((cost - left) / self.per_second + 0.5))
            raise RefusedError("too-fast", "too many requests; try again later", retry_after=seconds)
