"""Format: what a module of this package offers to read and to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from scorer.formats.reading.batches import Graded, Ranked, Reader
from scorer.formats.reading.blocks import Block

if TYPE_CHECKING:
    from scorer.formats.writing import SolutionContent, SubmissionContent


class Format(Protocol):
    """A way to write solutions and submissions down. A module of this package is one; FORMATS lists them."""

    NAME: str
    SOLUTION: str
    """A solution's line, as an example."""
    SUBMISSION: str
    """A submission's line, as an example."""
    OPTIONS: Mapping[str, str]
    """What may be settled after the name, as in ``letor:feature=21``, and what it means."""
    WHOLE: bool
    """Is a file one block, whatever its bytes, since no line stands for itself?"""
    QUERY_ONCE: bool
    """Does a query have one row only?"""
    LISTED_IS_RELEVANT: bool
    """Is every item that a solution lists right, whatever its grade?"""

    def recognises(self, lines: list[str]) -> bool:
        """Are these, the first lines of a file that are not blank, in this format?"""
        ...

    def graded(self, head: Block, options: Mapping[str, str], /) -> Reader[Graded]:
        """How to read a solution that begins with the block `head`. Raises Unreadable."""
        ...

    def ranked(self, head: Block, options: Mapping[str, str], /) -> Reader[Ranked]:
        """How to read a submission, likewise."""
        ...

    def write_solution(self, solution: SolutionContent, options: Mapping[str, str], /) -> bytes:
        """A file with the solution. Raises Unwritable for what the format cannot hold."""
        ...

    def write_submission(self, submission: SubmissionContent, options: Mapping[str, str], /) -> bytes:
        """A file with the submission, likewise."""
        ...
