"""What the template ``analysis_body.html`` shows of a task."""

from __future__ import annotations

from dataclasses import dataclass

from scorer.charts.svg import Svg
from scorer.reports.table import Table


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
