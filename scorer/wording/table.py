"""Tables, and the forms that they are written in."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scorer import wording
from scorer.wording import printable

DECIMALS = 4
"""The decimals of a score, as the field prints it."""

CellValue = str | int | float | bool | None
"""None, or NaN, is a blank."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    head: str
    numeric: bool = False
    """Whether the column is aligned to the right."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: text, a number, or a score with its marks."""

    value: CellValue
    decimals: int = DECIMALS
    """The decimals with which a floating-point number is printed."""
    best: bool = False
    """Whether to mark the number as the best of several."""
    above: str = ""
    """The letters of the submissions that the score is significantly higher than."""

    @property
    def is_blank(self) -> bool:
        return self.value is None or (isinstance(self.value, float) and math.isnan(self.value))

    def text(self, blank: str) -> str:
        """The value as printed, without marks; `blank` for a blank."""
        if self.is_blank:
            return blank
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, float):
            return f"{self.value:.{self.decimals}f}"
        return printable(str(self.value))


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, and rows with a cell for each column."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    blank: str = ""
    """What to print for a blank; CSV has an empty cell."""
    all_digits: bool = False
    """Whether CSV has all digits of a number, rather than the printed ones."""
    note: str = ""
    """What the marks mean."""


def table_of(
    heads: Iterable[str],
    rows: Iterable[Iterable[CellValue | Cell]],
    texts: Collection[str],
    *,
    blank: str = "",
    all_digits: bool = False,
    note: str = "",
) -> Table:
    """Return a table of values and cells; the columns whose heads are in `texts` are text, the others numbers."""
    columns = [Column(head, numeric=head not in texts) for head in heads]
    cells = [[value if isinstance(value, Cell) else Cell(value) for value in row] for row in rows]
    return Table(columns, cells, blank, all_digits, note)


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return rows of cells, at least one, as aligned lines of text.

    The columns whose indexes `right` has are aligned to the right, the others to the left.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


# The forms


def text_table(table: Table) -> str:
    """Return aligned lines of text; letters follow the number, so that the decimal points stay aligned."""
    widths = [max(len(cell.above) for cell in column) for column in zip(*table.rows, strict=True)]
    rows = [[printable(column.head) for column in table.columns]]
    for cells in table.rows:
        letters = [cell.above.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        texts = [cell.text(table.blank) for cell in cells]
        rows.append([f"{text} {above}" if above else text for text, above in zip(texts, letters, strict=True)])
    right = {index for index, column in enumerate(table.columns) if column.numeric}
    return "\n".join([aligned(rows, right), *_note(table)])


def csv_table(table: Table, line_end: str = "\n") -> str:
    """Return CSV as RFC 4180 has it, but for the line end; text that a spreadsheet takes for a formula gets a ' ."""

    def value(cell: Cell) -> CellValue:
        if cell.is_blank:
            return ""
        if isinstance(cell.value, str):
            return wording.guard_formula(cell.value)
        return cell.value if table.all_digits else cell.text("")

    text = io.StringIO()
    rows = csv.writer(text, lineterminator=line_end)
    rows.writerow(wording.guard_formula(column.head) for column in table.columns)
    rows.writerows(map(value, cells) for cells in table.rows)
    return text.getvalue().removesuffix(line_end)


def markdown_table(table: Table) -> str:
    """Return a table of GitHub's Markdown, the best scores in bold, letters raised; text stays text."""

    def marked(cell: Cell) -> str:
        text = wording.escape_markdown(cell.text(table.blank))
        text = f"**{text}**" if cell.best else text
        return f"{text}<sup>{cell.above}</sup>" if cell.above else text

    heads = [wording.escape_markdown(printable(column.head)) for column in table.columns]
    ruler = ["---:" if column.numeric else ":---" for column in table.columns]
    rows = [list(map(marked, cells)) for cells in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ruler, *rows)]
    return "\n".join([*lines, *([""] if table.note else []), *_note(table)])


def latex_table(table: Table) -> str:
    r"""Return a tabular with the rules of the package booktabs, the best scores in bold, letters raised."""

    def marked(cell: Cell) -> str:
        text = wording.escape_latex(cell.text(table.blank))
        text = f"\\textbf{{{text}}}" if cell.best else text
        return f"{text}\\textsuperscript{{{cell.above}}}" if cell.above else text

    def row(cells: Iterable[str]) -> str:
        return f"{' & '.join(cells)} \\\\"

    alignment = "".join("r" if column.numeric else "l" for column in table.columns)
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}, and \\usepackage[T1]{fontenc} where a name holds a double quote",
            *(f"% {note}" for note in _note(table)),
            f"\\begin{{tabular}}{{{alignment}}}",
            "\\toprule",
            row(wording.escape_latex(printable(column.head)) for column in table.columns),
            "\\midrule",
            *(row(map(marked, cells)) for cells in table.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


def _note(table: Table) -> list[str]:
    return [table.note] if table.note else []


TABLES: Mapping[str, Callable[[Table], str]] = {
    "table": text_table,
    "csv": csv_table,
    "markdown": markdown_table,
    "latex": latex_table,
}
"""The forms that are tables; each returns text without a final line end."""


class Tabular:
    """A result that is shown as a table: in a notebook, and in a paper."""

    def _printed(self) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
        """The heads, the cells of each row as they are printed, and what is below the table."""
        raise NotImplementedError

    def to_markdown(self) -> str:
        """Return the table that a notebook shows as GitHub's Markdown."""
        return markdown_table(self._as_table())

    def to_latex(self) -> str:
        """Return it as LaTeX, with the rules of the package booktabs."""
        return latex_table(self._as_table())

    def _as_table(self) -> Table:
        heads, rows, note = self._printed()
        return table_of(heads, rows, ("measure", "submission", "first", "second"), note=note)

    def _repr_html_(self) -> str:
        """The table that a notebook shows."""
        return wording.html_table(*self._printed())
