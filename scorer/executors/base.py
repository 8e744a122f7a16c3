"""What all executors share: their protocol, the files they score, and the outcomes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from scorer.matching.solution import Solution
from scorer.paths import Location
from scorer.scoring.outcomes import Failed, Rejected, Scored, Summary
from scorer.scoring.rules import Rules
from scorer.scoring.submission import ChangedError, score

FileOutcome = Summary | Rejected | Failed


@dataclass(frozen=True, slots=True)
class FileToScore:
    """The file of a submission."""

    path: Location
    digest: str
    """SHA-256 of its content, in hexadecimal."""


FileOutcomes = Generator[tuple[int, FileOutcome], None, None]
"""For each file, its index among the files and its outcome. Closing the generator stops the work."""


class Executor(Protocol):
    """Scores files."""

    def results(
        self, solution: Solution, rules: Rules, files: Sequence[FileToScore], time_limit: float
    ) -> FileOutcomes:
        """Score the files.

        Parameters
        ----------
        solution, rules
            What the files are scored against, and how.
        files
            The files to score.
        time_limit
            The seconds that one file may take.

        Yields
        ------
        tuple[int, FileOutcome]
            A file's index in `files` and its outcome, in the order in which they are done.
        """
        ...


def too_slow(time_limit: float) -> Failed:
    """The outcome of a file that took longer than `time_limit` seconds."""
    return Failed(f"it took longer than {time_limit:g} seconds")


def outcome_of(solution: Solution, rules: Rules, file: FileToScore, threads: int) -> FileOutcome:
    """Score one file. Exceptions become a Failed."""
    try:
        outcome = score(solution, file.path, rules, threads=threads, digest=file.digest)
    except ChangedError:
        return Failed("it changed while it was read, or could not be read completely")
    except MemoryError:
        return Failed("it needs more memory than is available")
    except OSError as error:
        return Failed(f"it could not be read: {error.strerror or error}")
    except Exception as error:
        # A file that reveals a bug must not keep the others from being scored.
        return Failed(f"scorer failed on it ({type(error).__name__}: {error}); `scorer evaluate` shows where")
    return outcome.summary() if isinstance(outcome, Scored) else outcome
