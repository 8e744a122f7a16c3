"""Executors score submissions in this process, in several processes, or on a cluster.

    serial          one after the other, in this process
    processes       in as many processes of this machine as it has cores
    processes:N     in N processes of this machine
    dask:ADDRESS    on the workers of a Dask cluster, by the address of its scheduler, as in dask:tcp://10.0.0.1:8786

An executor scores files and returns summaries; it writes nothing. Each worker receives the solution once. If a worker
dies, or exceeds the time limit, only the submission that it was scoring becomes a Failed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from scorer.errors import ExecutorError
from scorer.wording import quoted

if TYPE_CHECKING:
    from scorer.scoring.executors.base import Executor

GoOn = Callable[[], bool]
"""Asked before each file: whether to begin it. Once it is false, no further file is begun."""

FORMS = "serial, processes, processes:N or dask:ADDRESS"


def always() -> bool:
    """Begin every file."""
    return True


def executor_named(name: str) -> Executor:
    """The executor with this name, as in the option --executor. Raises ExecutorError for an unknown name."""
    from scorer.scoring.executors.base import Processes, Serial
    from scorer.scoring.executors.dask import Dask

    kind, _, detail = name.partition(":")
    if kind == "serial" and not detail:
        return Serial()
    if kind == "processes" and (not detail or (detail.isascii() and detail.isdigit() and int(detail) > 0)):
        return Processes(int(detail) if detail else os.cpu_count() or 1)
    if kind == "dask" and detail:
        return Dask(detail)
    raise ExecutorError(f"unknown executor {quoted(name)}; expected {FORMS}")
