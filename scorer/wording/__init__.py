"""Text for people: counted, quoted, shortened and printable; times; escaping for Markdown, LaTeX and spreadsheets."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal
from unicodedata import category

QUOTED = 60
"""How many characters of text from a file a message repeats."""


def counted(count: int, singular: str, plural: str = "") -> str:
    """``1 list``, ``2 lists``; `plural` is needed where it is not the singular with an s."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
ORDINALS = (
    *("", "first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
)


def in_words(count: int) -> str:
    """``no``, ``one``, up to ``twelve``; figures beyond: ``1,300``."""
    return WORDS[count] if 0 <= count < len(WORDS) else f"{count:,}"


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

MARKS = 4
"""How many marks one letter may have. More of them cover the lines above and below."""


def printable(text: str) -> str:
    """`text` with all characters escaped that do not show, or not in their place.

    These are controls, bidirectional marks, fillers, lone surrogates, and marks on a letter that has `MARKS` of them.
    """
    if text.isprintable() and (text.isascii() or not (INVISIBLE.search(text) or any(map(_is_mark, text)))):
        return text
    shown, marks = [], 0
    for char in text:
        marks = marks + 1 if _is_mark(char) else 0
        plain = char.isprintable() and not INVISIBLE.match(char) and marks <= MARKS
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


def suggestion(name: str, names: Sequence[str]) -> str:
    """`` (did you mean ...?)`` with the most similar of `names`, for messages; empty if none is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 (only errors need it)

    similar = get_close_matches(name.lower(), names, n=1)
    return f" (did you mean {similar[0]}?)" if similar else ""


def joined(texts: Sequence[str]) -> str:
    """The texts in a sentence: ``A``, ``A and B``, or ``A, B and C``."""
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def shared_rank(rank: int | None, sharing: Mapping[int | None, int]) -> str:
    """A rank: ``3``, or ``=3`` if several rows have the rank, given how many have each; empty for None."""
    return "" if rank is None else f"={rank}" if sharing[rank] > 1 else f"{rank}"


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


def explained(function: Callable[..., object]) -> tuple[str, str]:
    """The first paragraph of a docstring, and the others, each of the two in one line."""
    summary, _, others = (inspect.getdoc(function) or "").partition("\n\n")
    return " ".join(summary.split()), " ".join(others.split())
