"""Rates: how many requests a sender may make."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from scorer.service.refusals import RefusedError

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
