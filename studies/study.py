"""Study: what a study gives."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "holds in part", "does not hold"]


class AbsentError(Exception):
    """The data that a study needs is not there; the message says where it was looked for."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, and what became of it."""

    text: str
    """The statement, in our words."""
    verdict: Verdict
    found: str
    """The numbers that the verdict rests on."""


@dataclass(frozen=True, slots=True)
class Study:
    """A figure or a table of a paper, made again."""

    title: str
    figure: str
    """SVG."""
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    """The numbers that the figure shows."""
    claims: tuple[Claim, ...]

    def table(self) -> str:
        """The numbers as CSV, with a header; floats in full precision."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def report(self) -> str:
        """The title and the verdicts, for a terminal."""
        return "\n".join([self.title, *map(_told, self.claims)])


def verdict(holds: bool, in_part: bool = False) -> Verdict:
    """A verdict from what was found to be true."""
    if holds:
        return "holds"
    return "holds in part" if in_part else "does not hold"


def _told(claim: Claim) -> str:
    said = textwrap.fill(claim.text, 100, initial_indent=f"  {claim.verdict:15}", subsequent_indent=" " * 17)
    return said + "\n" + textwrap.fill(claim.found, 100, initial_indent=" " * 17, subsequent_indent=" " * 17)
