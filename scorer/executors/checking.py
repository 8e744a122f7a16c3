"""The check of a participant's file, isolated like scoring."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from scorer.executors.isolation import isolated
from scorer.limits import MB, Limits
from scorer.matching.solution import Solution
from scorer.paths import chunks_of, is_standard_input
from scorer.paths.temporary import temporary_folder
from scorer.scoring.outcomes import Failed, Rejected, Scored, Summary
from scorer.scoring.rules import Rules
from scorer.scoring.submission import check


@dataclass(frozen=True, slots=True, eq=False)
class _Check:
    """What the child needs."""

    queries: Solution | None
    rules: Rules
    candidates: pa.StringArray | None
    limits: Limits


def checked(
    queries: Solution | None,
    path: str | os.PathLike[str],
    rules: Rules,
    limits: Limits,
    *,
    candidates: pa.StringArray | None = None,
) -> Summary | Rejected | Failed:
    """Check a submission without a solution, in a child process within the limits.

    The parameters are those of `scorer.scoring.submission.check`. A valid file gives a Summary without means.
    """
    shared = _Check(queries, rules, candidates, limits)
    with ExitStack() as stack:
        if is_standard_input(path):
            # The child has no standard input.
            path = stack.enter_context(temporary_folder()) / "standard input"
            _copy_standard_input(path, limits)
        outcomes = stack.enter_context(closing(isolated(_outcome, shared, [path], limits)))
        return next(outcome for _, outcome in outcomes)


def _copy_standard_input(target: Path, limits: Limits) -> None:
    """Copy standard input into a file, up to the first byte that makes it too large."""
    with target.open("wb") as copy:
        for chunk in chunks_of(sys.stdin.buffer, limits.file_mb * MB + 1):
            copy.write(chunk)


def _outcome(shared: _Check, path: str | os.PathLike[str]) -> Summary | Rejected | Failed:
    outcome = check(shared.queries, path, shared.rules, candidates=shared.candidates, limits=shared.limits)
    return outcome.summary() if isinstance(outcome, Scored) else outcome
