"""Format: what a module of this package offers to read and to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block

if TYPE_CHECKING:
    from scorer.formats.writing import SolutionContent, SubmissionContent


class Format(Protocol):
    """A notation for solutions and submissions. FORMATS lists the modules that implement it."""

    NAME: str
    SOLUTION: str
    """An example of a solution's line."""
    SUBMISSION: str
    """An example of a submission's line."""
    OPTIONS: Mapping[str, str]
    """The options after the name, as in ``letor:feature=21``, and their meanings."""
    ONE_BLOCK: bool
    """Whether a file is read as one block, because its lines cannot be read one by one."""
    QUERY_ONCE: bool
    """Whether each query has one row only."""
    LISTED_IS_RELEVANT: bool
    """Whether every item that a solution lists is relevant, regardless of its grade."""

    def recognises(self, lines: list[str]) -> bool:
        """Whether a file with these first lines that are not blank is in this format."""
        ...

    def graded(self, head: Block, options: Mapping[str, str], /) -> Reader[Graded]:
        """Return the reader of a solution that begins with the block `head`. Raises UnreadableError."""
        ...

    def ranked(self, head: Block, options: Mapping[str, str], /) -> Reader[Ranked]:
        """Return the reader of a submission that begins with the block `head`. Raises UnreadableError."""
        ...

    def write_solution(self, solution: SolutionContent, options: Mapping[str, str], /) -> bytes:
        """Return a file with the solution. Raises UnwritableError for what the format cannot hold."""
        ...

    def write_submission(self, submission: SubmissionContent, options: Mapping[str, str], /) -> bytes:
        """Return a file with the submission. Raises UnwritableError for what the format cannot hold."""
        ...
