"""The rank of each team under each ranking rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from scorer.charts.labels import LINE, SMALL, column_width, fitted, spoken, wrapped
from scorer.charts.panel import HAIR, INK, JOIN, PAPER, REFERENCE, ROWS, SOFT, WIDTH, Panel, below, end_labels, first_of
from scorer.charts.svg import Chart
from scorer.charts.ticks import rank_ticks
from scorer.wording import counted

ROW = 20
"""The height of a rank in pixels."""


def ranking_rules(names: Sequence[str], ranks: Mapping[str, Sequence[int]], *, width: float = WIDTH) -> Chart:
    """Draw the ranks of the teams, by the name of each rule, as one line for each team; rank 1 is at the top.

    Lines of teams whose rank changes are darker.
    """
    lines = [[row[place] for row in ranks.values()] for place in range(len(names))]
    drawing = partial(_panel, tuple(names[:ROWS]), len(names), tuple(ranks), lines[:ROWS], width)
    return Chart(drawing, "Rank of each team under each ranking rule", _description(names, tuple(ranks), lines))


def _changes(line: Sequence[int]) -> int:
    return max(line) - min(line) if line else 0


def _description(names: Sequence[str], rules: Sequence[str], lines: Sequence[Sequence[int]]) -> str:
    if not names or not rules:
        return "No team has a rank."
    kept = sum(1 for line in lines if not _changes(line))
    words = f"{kept} of {counted(len(names), 'team')} {'has' if kept == 1 else 'have'} the same rank under all of the "
    words += f"{counted(len(rules), 'rule')}."
    winners = sorted({place for place, line in enumerate(lines) if 1 in line})
    first = ", ".join(spoken(names[place]) for place in winners[:5])
    words += f" First under {'all rules' if len(winners) == 1 else 'at least one rule'}: {first}."
    widest = max(range(len(names)), key=lambda place: _changes(lines[place]))
    if _changes(lines[widest]):
        ends = f"from {min(lines[widest])} to {max(lines[widest])}"
        words += f" The rank of {spoken(names[widest])} changes most, {ends}."
    return " ".join([words, *first_of(ROWS, len(names))])


def _panel(
    names: Sequence[str],
    count: int,
    rules: Sequence[str],
    lines: Sequence[Sequence[int]],
    width: float,
) -> Panel:
    last = max((rank for line in lines for rank in line), default=1)
    left, right = column_width(names, width / 3) + JOIN + 32, 30.0
    columns = max(1, len(rules) - 1)
    heads = [wrapped(rule, (width - left - right) / (columns + 0.5) - 10) for rule in rules]
    notes = first_of(len(names), count)
    panel = Panel(
        x=(-0.25, columns + 0.25),
        y=(last + 0.5, 0.5),
        width=width - left - right,
        height=max(ROW * min(last, 2 * ROWS), LINE * len(names), 2 * ROW),
        left=left,
        right=right,
        top=14 + 13 * max(map(len, heads), default=1),
        bottom=8 + 18 * len(notes),
    )
    panel.rules([(place, last + 0.5, place, 0.5) for place in range(len(rules))], HAIR)
    panel.texts(
        [
            (place, panel.y_at(-10 - 13 * (len(head) - 1 - line)), text)
            for place, head in enumerate(heads)
            for line, text in enumerate(head)
        ],
        SOFT,
        "middle",
        SMALL,
    )
    at = panel.x_at(-4)
    panel.texts([(at, rank, text) for rank, text in rank_ticks(last, 2 * ROWS)], SOFT, "end", SMALL)
    points = [[(float(x), float(rank)) for x, rank in enumerate(line)] for line in lines]
    moved = [place for place, line in enumerate(lines) if _changes(line)]
    for places, stroke in (([place for place in range(len(lines)) if place not in moved], REFERENCE), (moved, INK)):
        panel.lines([points[place] for place in places], stroke, 1.5 if stroke == INK else 1)
    panel.dots([point for line in points for point in line], 3.5, INK, PAPER, strokeWidth=1.5)
    named = [(line[0][1], fitted(name, left - JOIN - 30)) for line, name in zip(points, names, strict=True) if line]
    end_labels(panel, named, left=True, apart=20.0)
    below(panel, notes)
    return panel
