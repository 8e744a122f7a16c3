"""Labels at the ends of lines, moved apart and joined to their lines."""

from __future__ import annotations

from collections.abc import Container, Sequence

from scorer.charts.labels import LINE, Label, spread
from scorer.charts.panel import INK, REFERENCE, SOFT, Anchor, Panel

JOIN = 11
"""The width of the joining lines in pixels."""


def end_labels(
    panel: Panel,
    ends: Sequence[tuple[float, Label]],
    *,
    left: bool = False,
    apart: float = 3.0,
    quiet: Container[int] = (),
) -> None:
    """Add a label at the right, or at the left, end of lines; each label is joined to the end of its line.

    `ends` has the value of the y axis where each line ends, and its label. The joining lines begin `apart` pixels from
    the panel; the labels whose indices `quiet` has are in italics.
    """
    down = [panel.pixels(panel.x[0], y)[1] for y, _ in ends]
    order = sorted(range(len(ends)), key=lambda place: (down[place], place))
    placed = spread(
        [down[place] for place in order], LINE, -panel.top + LINE / 2, panel.height + panel.bottom - LINE / 2
    )
    edge, join, text = (panel.x_at(side) for side in _sides(panel.width, apart, left=left))
    at = dict(zip(order, (panel.y_at(value) for value in placed), strict=True))
    panel.rules([(edge, y, join, at[place]) for place, (y, _) in enumerate(ends)], REFERENCE, 0.5)
    labels = [(text, at[place], label) for place, (_, label) in enumerate(ends)]
    anchor: Anchor = "end" if left else "start"
    panel.texts([each for place, each in enumerate(labels) if place not in quiet], INK, anchor)
    panel.texts([each for place, each in enumerate(labels) if place in quiet], SOFT, anchor, fontStyle="italic")


def _sides(width: float, apart: float, *, left: bool) -> tuple[float, float, float]:
    """Where joining lines begin and end, and where labels begin, in pixels from the left end of the panel."""
    distances = (apart, apart + JOIN, apart + JOIN + 3)
    first, second, third = (-each for each in distances) if left else (width + each for each in distances)
    return first, second, third
