"""Failures of the system that Arrow, Python and zlib report like errors in the content."""

from __future__ import annotations

import errno
import os
import re
import zlib

import pyarrow as pa

NO_MEMORY = re.compile(r"(?<!too much )memory|alloc", re.IGNORECASE)
"""A frame of zstd that "requires too much memory" states so itself, on every machine."""
NO_ROOM = re.compile(r"failed to map segment|cannot allocate memory", re.IGNORECASE)
"""Of a library that is imported while memory is short."""
NO_THREAD = re.compile(r"can't start new thread|Failed to launch worker thread")


def system_failure(error: BaseException) -> MemoryError | OSError | None:
    """The failure of the system that an error means, as Python raises it; None if it may mean something else."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
        return error
    if isinstance(error, ImportError) and NO_ROOM.search(str(error)):
        return MemoryError(str(error))
    if not isinstance(error, pa.ArrowException | OSError | RuntimeError | zlib.error):
        return None
    if NO_THREAD.search(str(error)):
        return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return MemoryError(str(error)) if NO_MEMORY.search(str(error)) else None
