"""Threads: work that waits for the database or the disk, a few at a time, so that requests do not wait for each other
and memory stays small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import anyio

Kind = Literal["read", "write", "disk", "check"]

COUNTS: dict[Kind, int] = {"read": 2, "write": 1, "disk": 4, "check": 1}
"""How many threads of each kind work at the same time."""

Answer = TypeVar("Answer")

_limiters: dict[Kind, anyio.CapacityLimiter] = {}


async def in_thread(kind: Kind, work: Callable[..., Answer], *arguments: object) -> Answer:
    """The result of some work, which waits for its turn."""
    if kind not in _limiters:
        _limiters[kind] = anyio.CapacityLimiter(COUNTS[kind])
    return await anyio.to_thread.run_sync(work, *arguments, limiter=_limiters[kind])
