"""A table of texts and scores, and the forms that it is written in."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scorer import wording
from scorer.wording import printable

DECIMALS = 4
"""As the field prints scores."""


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One score of a table."""

    value: float
    """NaN where undefined."""
    decimals: int = DECIMALS
    best: bool = False
    """Does no other submission's mean print higher?"""
    above: str = ""
    """The letters of the submissions that it is significantly higher than."""

    @property
    def decimal(self) -> str:
        return "-" if math.isnan(self.value) else f"{self.value:.{self.decimals}f}"


NOTHING = ScoreCell(math.nan)
"""Where a row has no score."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Rows of texts and scores under their heads."""

    texts: tuple[str, ...]
    scores: tuple[str, ...]
    rows: Sequence[tuple[tuple[str, ...], tuple[ScoreCell, ...]]]
    note: str = ""
    """What the letters mean."""


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows of cells in columns, of which the first `left` are set flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


# The forms


def _aligned(table: ScoreTable) -> str:
    # Letters stand after the number, so wide that the numbers stay under each other.
    widths = [
        max(len(cell.above) for cell in column) for column in zip(*(cells for _, cells in table.rows), strict=True)
    ]
    rows = [[*map(printable, table.texts), *map(printable, table.scores)]]
    for texts, cells in table.rows:
        letters = [cell.above.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        scores = [
            f"{cell.decimal} {above}" if above else cell.decimal for cell, above in zip(cells, letters, strict=True)
        ]
        rows.append([*map(printable, texts), *scores])
    return "\n".join([aligned(rows, left=len(table.texts)), *([table.note] if table.note else [])])


def _csv(table: ScoreTable) -> str:
    """All digits, blanks where undefined; text that a spreadsheet takes for a formula gets a ' before it."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(map(wording.guard_formula, [*table.texts, *table.scores]))
    for texts, cells in table.rows:
        rows.writerow([*map(wording.guard_formula, texts), *(defined(cell.value) for cell in cells)])
    return text.getvalue().rstrip("\n")


def _markdown(table: ScoreTable) -> str:
    """A table of GitHub's Markdown, the best means in bold."""

    def marked(cell: ScoreCell) -> str:
        decimal = f"**{cell.decimal}**" if cell.best else cell.decimal
        return f"{decimal}<sup>{cell.above}</sup>" if cell.above else decimal

    heads = [*map(_markdown_text, table.texts), *map(_markdown_text, table.scores)]
    ruler = [":---"] * len(table.texts) + ["---:"] * len(table.scores)
    rows = [[*map(_markdown_text, texts), *map(marked, cells)] for texts, cells in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ruler, *rows)]
    return "\n".join([*lines, *(["", table.note] if table.note else [])])


def _markdown_text(text: str) -> str:
    return wording.escape_markdown(printable(text))


def _latex(table: ScoreTable) -> str:
    r"""A tabular with the rules of the package booktabs, the best means in bold, letters raised."""

    def marked(cell: ScoreCell) -> str:
        decimal = f"\\textbf{{{cell.decimal}}}" if cell.best else cell.decimal
        return f"{decimal}\\textsuperscript{{{cell.above}}}" if cell.above else decimal

    def row(cells: Iterable[str]) -> str:
        return f"{' & '.join(cells)} \\\\"

    return "\n".join(
        [
            "% needs \\usepackage{booktabs}, and \\usepackage[T1]{fontenc} where a name holds a double quote",
            *([f"% {table.note}"] if table.note else []),
            f"\\begin{{tabular}}{{{'l' * len(table.texts)}{'r' * len(table.scores)}}}",
            "\\toprule",
            row(map(_latex_text, [*table.texts, *table.scores])),
            "\\midrule",
            *(row([*map(_latex_text, texts), *map(marked, cells)]) for texts, cells in table.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


def _latex_text(text: str) -> str:
    return wording.escape_latex(printable(text))


def defined(score: float) -> float | None:
    """The score; None for NaN."""
    return None if math.isnan(score) else score


TABLES: Mapping[str, Callable[[ScoreTable], str]] = {
    "table": _aligned,
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
"""The forms that are tables."""
