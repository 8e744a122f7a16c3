"""Functions of Arrow on whole arrays.

Those that every TREC run needs are called by their names here; any other name is that of `pyarrow.compute`, which is
loaded on first use. Loading it takes a quarter as long as numpy and pyarrow together, because it makes a documented
Python function of each function of Arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

try:
    from pyarrow._compute import call_function
except ImportError:  # a version of pyarrow that has it only in the public module
    from pyarrow.compute import call_function


def _on_arrays(name: str) -> Callable[..., Any]:
    """The function of Arrow with a name, which takes arrays."""
    return lambda *arrays: call_function(name, list(arrays))


equal = _on_arrays("equal")
not_equal = _on_arrays("not_equal")
is_valid = _on_arrays("is_valid")
take = _on_arrays("take")
filter = _on_arrays("filter")  # noqa: A001 (Arrow's name)
sort_indices = _on_arrays("array_sort_indices")
binary_length = _on_arrays("binary_length")


def __getattr__(name: str) -> Any:
    """Return any other function of `pyarrow.compute`."""
    return getattr(import_module("pyarrow.compute"), name)
