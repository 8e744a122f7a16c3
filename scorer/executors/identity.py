"""Identity: what must be equal on two machines for them to give the same scores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pyarrow as pa

import scorer
from scorer.paths.code import code_digest


@cache
def identity() -> Mapping[str, str]:
    """The versions of scorer, with a digest of its source, of numpy and of pyarrow, by name.

    They are those of the first call in a process: an installation that changes later does not change the modules that
    are in use.
    """
    return {
        "scorer": f"{scorer.__version__} (source {code_digest()[:12]})",
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


def differences(worker: str, theirs: Mapping[str, str]) -> str:
    """What differs between a worker and this machine, and what to do; empty if nothing does."""
    found = [
        f"{name} {theirs.get(name, '(unknown)')}, this machine {mine}"
        for name, mine in identity().items()
        if theirs.get(name) != mine
    ]
    if not found:
        return ""
    return f"the worker at {worker} has {'; '.join(found)}; install the same there, and restart the worker"
