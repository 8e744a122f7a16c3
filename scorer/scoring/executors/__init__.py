"""Executors score submissions in this process, in several processes, or on a cluster.

    serial          one after the other, in this process
    processes       in as many processes of this machine as it has cores
    processes:N     in N processes of this machine
    dask:ADDRESS    on the workers of a Dask cluster, by the address of its scheduler, as in dask:tcp://10.0.0.1:8786

An executor scores files and returns summaries; it writes nothing. Each worker receives the solution once. If a worker
dies, or exceeds the time limit, only the submission that it was scoring becomes a Failed.
"""

from __future__ import annotations

from collections.abc import Callable

GoOn = Callable[[], bool]
"""Asked before each file: whether to begin it. Once it is false, no further file is begun."""


def always() -> bool:
    """Begin every file."""
    return True
