"""Imported by the fork server only, before it forks: lets it end without a traceback.

A process that has too many open files connects to the server, and then cannot send its request. The server ends with an
EOFError, and the process reports what it lacks.
"""

from __future__ import annotations

import sys
from types import TracebackType


def report_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Print an uncaught exception, unless it says that a request has no content."""
    if not issubclass(kind, EOFError):
        sys.__excepthook__(kind, error, traceback)


sys.excepthook = report_uncaught
