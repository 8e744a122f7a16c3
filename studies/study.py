"""Study: a figure or table of a paper, its numbers, and verdicts on the claims."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scorer.wording import aligned

Verdict = Literal["holds", "holds in part", "does not hold"]


class AbsentError(Exception):
    """The data of a study is missing; the message names the folder."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper, with a verdict."""

    text: str
    """The statement, in our words."""
    verdict: Verdict
    found: str
    """The numbers that the verdict rests on."""


@dataclass(frozen=True, slots=True)
class Study:
    """A figure or a table of a paper, reproduced."""

    title: str
    figure: str
    """SVG."""
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    """The numbers that the figure shows."""
    claims: tuple[Claim, ...]

    def table(self) -> str:
        """Return the numbers as CSV, with a header; floats in full precision."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def report(self) -> str:
        """Return the title and the verdicts, for a terminal."""
        return "\n".join([self.title, *map(_printed, self.claims)])

    def grid(self) -> str:
        """Return the numbers in columns, for a terminal."""
        rows = [[f"{each:.4g}" if isinstance(each, float) else str(each) for each in row] for row in self.rows]
        return aligned([self.columns, *rows])


def verdict(holds: bool, in_part: bool = False) -> Verdict:
    """Return the verdict on a claim that holds, holds in part, or does not hold."""
    if holds:
        return "holds"
    return "holds in part" if in_part else "does not hold"


def _printed(claim: Claim) -> str:
    text = textwrap.fill(claim.text, 100, initial_indent=f"  {claim.verdict:15}", subsequent_indent=" " * 17)
    return text + "\n" + textwrap.fill(claim.found, 100, initial_indent=" " * 17, subsequent_indent=" " * 17)
