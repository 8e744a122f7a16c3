"""A text with tables and charts, which can be written as a page or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scorer.charts.svg import Svg
from scorer.wording import escape_markdown
from scorer.wording.table import Table, markdown_table


@dataclass(frozen=True, slots=True)
class Captioned:
    """A table with its caption."""

    caption: str
    table: Table


@dataclass(frozen=True, slots=True)
class Figure:
    """A place for a chart."""

    chart: str
    """The name of the chart."""
    caption: str
    """States the finding."""


Block = str | Captioned | Figure
"""A paragraph, a table or a chart. A paragraph is plain text that does not begin with a name from the data."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document."""

    title: str
    blocks: Sequence[Block]


# The same on a page, with the charts: what ``report.html`` shows of a task


@dataclass(frozen=True, slots=True)
class BlockView:
    """A paragraph, a table or a chart of a page; the other two are None."""

    paragraph: str | None = None
    table: Table | None = None
    chart: Svg | None = None
    caption: str = ""
    """Of the table or of the chart."""


@dataclass(frozen=True, slots=True)
class SectionView:
    """A part of a page."""

    title: str
    blocks: tuple[BlockView, ...]


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task."""

    title: str
    anchor: str
    sections: tuple[SectionView, ...]


# The same as Markdown


def markdown(title: str, sections: Sequence[tuple[int, Section]]) -> str:
    """Return a document as Markdown, without charts and without a final line end.

    Each section has the level of its heading, from 2.
    """
    parts = [f"# {escape_markdown(title)}"]
    for level, section in sections:
        parts.append(f"{'#' * level} {escape_markdown(section.title)}")
        for block in section.blocks:
            if isinstance(block, str):
                parts.append(escape_markdown(block))
            elif isinstance(block, Captioned):
                parts += [escape_markdown(block.caption), markdown_table(block.table)]
    return "\n\n".join(parts)
