"""The frame of charts that have one row for each team."""

from __future__ import annotations

from collections.abc import Container, Sequence

from scorer.charts.labels import SMALL, column_width, fitted
from scorer.charts.panel import INK, SOFT, Panel
from scorer.charts.ticks import Tick

MOST = 60
"""The number of rows that a chart has at most."""

ROW = 18
"""The height of a row in pixels."""

TOP, BOTTOM = 26, 6


def row_panel(
    names: Sequence[str],
    ticks: Sequence[Tick],
    width: float,
    *,
    count: int = 0,
    what: str = "teams",
    right: float = 12.0,
    row: float = ROW,
    quiet: Container[int] = (),
    ends: tuple[float, float] | None = None,
) -> Panel:
    """Return a panel with a row for each name, from the top, at y = 0, 1, 2, ..., and a hairline at each tick.

    The names are on the left, shortened to a third of the width; those of the rows in `quiet` are in italics. They are
    the first of `count` rows, as a note below says. The x axis goes from the first to the last tick, or has other ends.
    """
    notes = first_of(len(names), count, what)
    left = column_width(names, width / 3) + 12
    panel = Panel(
        x=ends or (ticks[0][0], ticks[-1][0]),
        y=(len(names) - 0.5, -0.5),
        width=width - left - right,
        height=row * max(len(names), 1),
        left=left,
        right=right,
        top=TOP,
        bottom=BOTTOM + 18 * len(notes),
    )
    if not names:
        panel.y = (0.5, -0.5)
    panel.grid_across(ticks)
    at = panel.x_at(-10)
    labels = [(at, float(place), fitted(name, left - 12)) for place, name in enumerate(names)]
    panel.texts([label for place, label in enumerate(labels) if place not in quiet], INK, "end")
    panel.texts([label for place, label in enumerate(labels) if place in quiet], SOFT, "end", fontStyle="italic")
    below(panel, notes)
    return panel


def below(panel: Panel, notes: Sequence[str]) -> None:
    """Add notes below a panel, one on each line."""
    first = panel.height + panel.bottom - 18 * len(notes) + 8
    panel.texts(
        [(panel.x_at(-panel.left), panel.y_at(first + 18 * line), text) for line, text in enumerate(notes)],
        SOFT,
        size=SMALL,
        fontStyle="italic",
    )


def first_of(shown: int, count: int, what: str = "teams") -> list[str]:
    """Return the note that a chart shows only the first rows; nothing if it shows all."""
    return [f"The first {shown} of {count:,} {what}."] if count > shown else []
