"""What all executors share: the files that they take, and what becomes of each."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from scorer.matching.solution import Solution
from scorer.paths import Location
from scorer.scoring.outcomes import Rejected, Scored, Summary
from scorer.scoring.rules import Rules
from scorer.scoring.submission import ChangedError, score


@dataclass(frozen=True, slots=True)
class Failed:
    """A submission that was not scored, through no fault of its own that is known; it can be tried again."""

    reason: str


FileOutcome = Summary | Rejected | Failed


@dataclass(frozen=True, slots=True)
class FileToScore:
    """What is to be scored."""

    path: Location
    digest: str
    """SHA-256 of its content, in hexadecimal."""


FileOutcomes = Generator[tuple[int, FileOutcome], None, None]
"""For each file its place among the files, and what became of it. Closing it ends the work."""


class Executor(Protocol):
    """Scores files."""

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> FileOutcomes:
        """What becomes of the files, in the order in which they are done."""
        ...


def late_after(seconds: float) -> Failed:
    """A submission that took longer than that."""
    return Failed(f"not done within {seconds:g} seconds")


def result_of(solution: Solution, rules: Rules, file: FileToScore, threads: int) -> FileOutcome:
    """One file's result; what Python itself can tell of a failure becomes a Failed."""
    try:
        outcome = score(solution, file.path, rules, threads=threads, digest=file.digest)
    except ChangedError:
        return Failed("it changed while it was read, or could not be read to its end")
    except MemoryError:
        return Failed("it takes more memory than there is")
    except OSError as error:
        return Failed(f"it could not be read: {error.strerror or error}")
    except Exception as error:
        # A file that brings a fault of ours to light must not keep the others from being scored.
        return Failed(f"scorer fails on it ({type(error).__name__}: {error}); `scorer evaluate` shows where")
    return outcome.summary() if isinstance(outcome, Scored) else outcome
