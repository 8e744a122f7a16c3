"""The measures as columns of boards and as entries of the page of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scorer.board.board import Board
from scorer.measures import Measure


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure as a column of boards and as an entry of the page of measures."""

    measure: Measure
    name: str
    """Canonical."""
    head: str
    """`nDCG` of `nDCG(gain=exp)@10`."""
    tail: tuple[str, ...]
    """The rest of the name, in pieces between which a line may break."""
    anchor: str
    """Unique on the page of measures."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The rest of the name for the heading of a narrow column: several cut-offs are ``@5…30``."""
        cutoffs = self.measure.cutoff
        if not isinstance(cutoffs, tuple) or len(cutoffs) < 3:
            return self.tail
        parameters = re.sub(r"@.*", "", "".join(self.tail))
        return *([parameters] if parameters else []), f"@{cutoffs[0]}…{cutoffs[-1]}"

    @property
    def label(self) -> str:
        """The name where there is little room: ``MARp@5…30``."""
        return self.head + "".join(self.lines)


def measure_columns(boards: Iterable[Board]) -> dict[str, MeasureColumn]:
    """The column of every measure on any board by its name, in order of appearance."""
    columns: dict[str, MeasureColumn] = {}
    anchors: set[str] = set()
    for board in boards:
        measures = {str(measure): measure for measure in board.track.all_measures}
        for name in board.columns:
            if name not in columns:
                anchor = _anchor(name, anchors)
                anchors.add(anchor)
                head, *tail = re.split(r"(?=[(@])|(?<=[,])", name)
                columns[name] = MeasureColumn(measures[name], name, head, tuple(tail), anchor)
    return columns


def _anchor(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return next(
        anchor
        for number in range(len(taken) + 1)
        if (anchor := f"{plain}-v{number + 1}" if number else plain) not in taken
    )
