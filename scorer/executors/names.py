"""Executors by name, as in the option --executor."""

from __future__ import annotations

import os

from scorer.errors import ExecutorError
from scorer.executors.base import Executor
from scorer.executors.dask import Dask
from scorer.executors.processes import Processes
from scorer.executors.serial import Serial
from scorer.wording import quoted

FORMS = "serial, processes, processes:N or dask:ADDRESS"


def executor_named(name: str) -> Executor:
    """The executor with this name. Raises ExecutorError for an unknown name."""
    kind, _, detail = name.partition(":")
    if kind == "serial" and not detail:
        return Serial()
    if kind == "processes" and (not detail or (detail.isascii() and detail.isdigit() and int(detail) > 0)):
        return Processes(int(detail) if detail else os.cpu_count() or 1)
    if kind == "dask" and detail:
        return Dask(detail)
    raise ExecutorError(f"unknown executor {quoted(name)}; expected {FORMS}")
