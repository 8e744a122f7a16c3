"""Which team is significantly better than which other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike

from scorer.charts.labels import SMALL, column_width, fitted, spoken
from scorer.charts.panel import BAND, HAIR, INK, INTERVAL, PAPER, ROWS, SOFT, WIDTH, Panel, below, first_of
from scorer.charts.svg import Chart
from scorer.measures.arrays import Bools
from scorer.wording import counted

NUMBERS = 9.0
"""The width of a cell from which each column has its number."""


def significance_map(names: Sequence[str], better: ArrayLike, *, what: str = "team", width: float = WIDTH) -> Chart:
    """Draw a square of cells, filled where the team of the row is significantly better than the team of the column.

    All pairs are tested at once, at a level of 5 % together. Cells without a decision are empty, those of the diagonal
    have a line. Columns are numbered as the rows. `what` is the kind of the names: team or algorithm.
    """
    rows = np.asarray(better, dtype=bool)
    shown = rows[:ROWS].tolist()
    filled = [(place, start, end) for place, row in enumerate(shown) for start, end in _runs(row[:ROWS])]
    title = f"Which {what} is significantly better than which other, at a level of 5 % for all pairs"
    drawing = partial(_panel, tuple(names[:ROWS]), len(names), filled, what, width)
    return Chart(drawing, title, _description(names, rows, what))


def _runs(row: Sequence[bool]) -> list[tuple[int, int]]:
    """The first and the last column of each run of filled cells."""
    runs = []
    for is_filled, places in groupby(range(len(row)), key=row.__getitem__):
        columns = list(places)
        if is_filled:
            runs.append((columns[0], columns[-1]))
    return runs


def _description(names: Sequence[str], better: Bools, what: str) -> str:
    count = len(names)
    if count < 2:
        return f"There are no two {what}s to compare."
    decided = int(better.sum())
    pairs = count * (count - 1) // 2
    words = f"{decided:,} of {counted(pairs, 'pair')} {'is' if decided == 1 else 'are'} significantly different."
    wins = int(better[0].sum())
    words += f" {spoken(names[0])} is better than {wins} of {counted(count - 1, 'other')}."
    return " ".join([words, *first_of(ROWS, count, f"{what}s")])


def _panel(names: Sequence[str], count: int, filled: Sequence[tuple[int, int, int]], what: str, width: float) -> Panel:
    shown = max(1, len(names))
    numbers = 24.0
    left = column_width(names, width / 3) + numbers + 8
    cell = min(22.0, (width - left - 2) / shown)
    height = max(cell, 12.0 if shown <= 30 else 9.0)
    note = " ".join([f"Filled: the {what} of the row is better.", *first_of(shown, count, f"{what}s")])
    panel = Panel(
        x=(-0.5, shown - 0.5),
        y=(shown - 0.5, -0.5),
        width=cell * shown,
        height=height * shown,
        left=left,
        right=width - left - cell * shown,
        top=20,
        bottom=24,
    )
    panel.boxes([(-0.5, -0.5, shown - 0.5, shown - 0.5)], PAPER, HAIR)
    panel.boxes([(start - 0.5, row - 0.5, end + 0.5, row + 0.5) for row, start, end in filled], INTERVAL)
    edges = [place - 0.5 for place in range(1, shown)]
    panel.rules([(-0.5, edge, shown - 0.5, edge) for edge in edges], HAIR, 0.5)
    panel.rules([(edge, -0.5, edge, shown - 0.5) for edge in edges], HAIR, 0.5)
    panel.boxes([(place - 0.5, place - 0.5, place + 0.5, place + 0.5) for place in range(len(names))], BAND)
    panel.rules([(-0.5, -0.5, shown - 0.5, shown - 0.5)], SOFT)
    size = min(12.0, height - 0.5)
    step = 1 if cell >= NUMBERS else 5
    at, top = panel.x_at(-6), panel.y_at(-9)
    panel.texts([(at, place, str(place + 1)) for place in range(len(names))], SOFT, "end", min(SMALL, size))
    panel.texts(
        [(place, top, str(place + 1)) for place in range(len(names)) if place == 0 or (place + 1) % step == 0],
        SOFT,
        "middle",
        min(SMALL, max(8.0, cell - 2)),
    )
    at = panel.x_at(-numbers)
    panel.texts(
        [(at, place, fitted(name, left - numbers - 6, size)) for place, name in enumerate(names)], INK, "end", size
    )
    below(panel, [note])
    return panel
