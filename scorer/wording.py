"""Text for people: counts, quotes, printable characters, times, and escaping; and tables in the forms that they are
written in.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal
from unicodedata import category

QUOTED = 60
"""How many characters of text from a file a message repeats."""


@cache
def texts_of(module: str, name: str = "") -> Mapping[str, Any]:
    """Return the texts of a module, given its file: those in the TOML file next to it with the same or another name.

    The file is read when a text is needed first.
    """
    import tomllib  # noqa: PLC0415 (few commands need it)

    path = Path(module)
    return tomllib.loads((path.with_name(name) if name else path.with_suffix(".toml")).read_text("utf-8"))


def counted(count: int, singular: str, plural: str = "") -> str:
    """``1 list``, ``2 lists``; `plural` is needed where it is not the singular with an s."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ORDINALS = (
    *("", "first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)


def in_words(count: int) -> str:
    """``no``, ``one``, up to ``twelve``; figures beyond: ``1,300``."""
    return _WORDS[count] if 0 <= count < len(_WORDS) else f"{count:,}"


def ordinal(number: int) -> str:
    """``first``, up to ``twelfth``; figures beyond: ``13th``."""
    if 0 < number < len(ORDINALS):
        return ORDINALS[number]
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def sentence(text: str) -> str:
    """`text` with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0100-\U000e01ef]"
)
"""Characters that Python calls printable although they show nothing (Unicode's Default_Ignorable_Code_Point, and the
blank pattern of braille and a blank note)."""

_MARKS = 4
"""How many marks one letter may have. More of them cover the lines above and below."""


def printable(text: str) -> str:
    """`text` with all characters escaped that do not show, or not in their place.

    These are controls, bidirectional marks, fillers, lone surrogates, and marks on a letter that has `_MARKS` of them.
    """
    if text.isprintable() and (text.isascii() or not (INVISIBLE.search(text) or any(map(_is_mark, text)))):
        return text
    shown, marks = [], 0
    for char in text:
        marks = marks + 1 if _is_mark(char) else 0
        plain = char.isprintable() and not INVISIBLE.match(char) and marks <= _MARKS
        shown.append(char if plain else char.encode("unicode_escape").decode())
    return "".join(shown)


def one_line(text: str) -> str:
    """`text` as `printable` returns it, on one line, with single spaces."""
    return printable(" ".join(text.split()))


def _is_mark(char: str) -> bool:
    return category(char) in ("Mn", "Me")


def printable_name(name: str) -> str:
    """The name of a file or of a team as printable text. Different names give different text.

    Spaces that a page would not show, those at an end or after another space, are escaped too.
    """
    return printable(re.sub(r"^ | $|(?<= ) ", r"\\x20", name.replace("\\", "\\\\")))


def shortened(text: str, length: int) -> str:
    """`text` in at most `length` characters; what is cut is replaced by "..."."""
    return text if len(text) <= length else text[: length - 3] + "..."


def quoted(text: str) -> str:
    """Text from a file for a message: in double quotes, on one line, escaped and shortened."""
    return printable(json.dumps(shortened(text, QUOTED), ensure_ascii=False))


def closest(name: str, names: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the names that are most similar to one that is unknown, regardless of upper and lower case."""
    from difflib import get_close_matches  # noqa: PLC0415 (only errors need it)

    by_folded = {known.casefold(): known for known in names}
    return [by_folded[folded] for folded in get_close_matches(name.casefold(), by_folded, most, cutoff)]


def suggestion(name: str, names: Iterable[str]) -> str:
    """`` (did you mean ...?)`` with the most similar of `names`, for messages; empty if none is similar."""
    return "".join(f" (did you mean {printable_name(known)}?)" for known in closest(name, names))


def joined(texts: Sequence[str]) -> str:
    """The texts in a sentence: ``A``, ``A and B``, or ``A, B and C``."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def shared_ranks(ranks: Iterable[int | None]) -> list[str]:
    """The ranks of rows: ``3``, or ``=3`` if several rows have the rank; empty for None."""
    listed = list(ranks)
    sharing = Counter(listed)
    return ["" if rank is None else f"={rank}" if sharing[rank] > 1 else f"{rank}" for rank in listed]


def range_of_ranks(first: int, last: int) -> str:
    """The ranks that are possible: ``2 only`` or ``2 to 5``."""
    return f"{first} only" if first == last else f"{first} to {last}"


def letters(index: int) -> str:
    """A, B, ..., Z, AA, AB, ... for 0, 1, ..."""
    index, last = divmod(index, 26)
    return (letters(index - 1) if index else "") + chr(ord("A") + last)


def utc_time(when: datetime, unit: Literal["day", "minute", "second"] = "minute") -> str:
    """A time in UTC: ``2011-04-18``, ``2011-04-18 08:15`` or ``2011-04-18 08:15:30``. The year has four digits."""
    return iso_time(when).replace("T", " ")[: {"day": 10, "minute": 16, "second": 19}[unit]]


def utc_moment(when: datetime) -> str:
    """A time in UTC to the second, with its zone: ``2011-04-18 08:15:30 UTC``."""
    return f"{utc_time(when, 'second')} UTC"


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def day_and_month(when: datetime) -> str:
    """A day in UTC without its year: ``8 Jul``."""
    moment = when.astimezone(UTC)
    return f"{moment.day} {MONTHS[moment.month - 1][:3]}"


def long_time(when: datetime) -> str:
    """A time in UTC for a sentence: ``8 July 2011, 12:00 UTC``."""
    moment = when.astimezone(UTC)
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {utc_time(when)[11:]} UTC"


def exact_time(when: datetime) -> str:
    """A time in UTC for a sentence, with its second unless it is 0: ``8 July 2011, 23:59:59 UTC``."""
    clock = utc_time(when, "second" if when.second else "minute")[11:]
    return f"{long_time(when).partition(',')[0]}, {clock} UTC"


def iso_time(when: datetime) -> str:
    """A time for programs, in UTC: ``2011-04-18T08:15:30Z``. The year has four digits."""
    return when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


FORMULA = re.compile(r"""(?:^|(?<=[;\t\r\n]))(?=[ "]*[=+\-@\t\r])""")
"""Where a spreadsheet may find a formula: at the beginning of a cell, also of one that ``;``, a tab or a line end in
the text begins. Spaces and quotes may precede the formula."""

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{char: f"\\{char}" for char in "{}$&#%_"},
}


def guard_formula(text: str) -> str:
    """`text` for a cell of a spreadsheet, with a ' wherever a formula would begin, regardless of the delimiter."""
    return FORMULA.sub("'", text)


def escape_markdown(text: str) -> str:
    """`text` escaped for Markdown and for the HTML in it."""
    import html  # noqa: PLC0415 (its table of all entities is large, and few commands need it)

    return html.escape(re.sub(r"([\\`*_\[\]|~])", r"\\\1", text), quote=False)


def escape_latex(text: str) -> str:
    """`text` escaped for LaTeX."""
    return "".join(LATEX.get(char, char) for char in text)


def escape_html(text: str) -> str:
    """`text` escaped for HTML, with the characters escaped that do not show."""
    import html  # noqa: PLC0415 (as above)

    return html.escape(printable(text))


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A plain table as HTML; the first cell of a row is its head, and `caption` is below the table."""
    head = "".join(f'<th scope="col">{escape_html(text)}</th>' for text in heads)
    lines = [
        f'<tr><th scope="row">{escape_html(first)}</th>'
        + "".join(f"<td>{escape_html(text)}</td>" for text in rest)
        + "</tr>"
        for first, *rest in rows
    ]
    return "\n".join(
        [
            "<table>",
            f'<caption style="caption-side: bottom; text-align: left">{escape_html(caption)}</caption>',
            f"<thead><tr>{head}</tr></thead>",
            "<tbody>",
            *lines,
            "</tbody>",
            "</table>",
        ]
    )


SCORE_DECIMALS = 4
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
    decimals: int = SCORE_DECIMALS
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
    return "\n".join([aligned(rows, right), *filter(None, [table.note])])


def csv_table(table: Table, line_end: str = "\n") -> str:
    """Return CSV as RFC 4180 has it, but for the line end; text that a spreadsheet takes for a formula gets a ' ."""

    def value(cell: Cell) -> CellValue:
        if cell.is_blank:
            return ""
        if isinstance(cell.value, str):
            return guard_formula(cell.value)
        return cell.value if table.all_digits else cell.text("")

    text = io.StringIO()
    rows = csv.writer(text, lineterminator=line_end)
    rows.writerow(guard_formula(column.head) for column in table.columns)
    rows.writerows(map(value, cells) for cells in table.rows)
    return text.getvalue().removesuffix(line_end)


def markdown_table(table: Table) -> str:
    """Return a table of GitHub's Markdown, the best scores in bold, letters raised; text stays text."""

    def marked(cell: Cell) -> str:
        text = escape_markdown(cell.text(table.blank))
        text = f"**{text}**" if cell.best else text
        return f"{text}<sup>{cell.above}</sup>" if cell.above else text

    heads = [escape_markdown(printable(column.head)) for column in table.columns]
    ruler = ["---:" if column.numeric else ":---" for column in table.columns]
    rows = [list(map(marked, cells)) for cells in table.rows]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, ruler, *rows)]
    return "\n".join([*lines, *(["", table.note] if table.note else [])])


def latex_table(table: Table) -> str:
    r"""Return a tabular with the rules of the package booktabs, the best scores in bold, letters raised."""

    def marked(cell: Cell) -> str:
        text = escape_latex(cell.text(table.blank))
        text = f"\\textbf{{{text}}}" if cell.best else text
        return f"{text}\\textsuperscript{{{cell.above}}}" if cell.above else text

    def row(cells: Iterable[str]) -> str:
        return f"{' & '.join(cells)} \\\\"

    alignment = "".join("r" if column.numeric else "l" for column in table.columns)
    return "\n".join(
        [
            "% needs \\usepackage{booktabs}, and \\usepackage[T1]{fontenc} where a name holds a double quote",
            *([f"% {table.note}"] if table.note else []),
            f"\\begin{{tabular}}{{{alignment}}}",
            "\\toprule",
            row(escape_latex(printable(column.head)) for column in table.columns),
            "\\midrule",
            *(row(map(marked, cells)) for cells in table.rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


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
        return html_table(*self._printed())
