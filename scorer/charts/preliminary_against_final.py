"""Preliminary scores and ranks against the final ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from scorer.charts.labels import LINE, SIZE, SMALL, Label, fitted, spoken, text_width
from scorer.charts.panel import ACCENT, DOTTED, INK, PAPER, REFERENCE, SOFT, WIDTH, Box, Panel, Point, below, first_of
from scorer.charts.svg import Chart
from scorer.charts.ticks import ticks
from scorer.wording import counted

MOST = 300
"""The number of teams that a chart has at most."""

LABELS = 16
"""The number of teams that are named at most: those that move most, then the first ones."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A team before and after the end of a challenge."""

    name: str
    preliminary: float
    final: float
    preliminary_rank: int
    final_rank: int

    @property
    def rise(self) -> int:
        """How many ranks the team rose; negative if it fell."""
        return self.preliminary_rank - self.final_rank


def preliminary_against_final(teams: Sequence[Moved], measure: str) -> Chart:
    """Draw the final score over the preliminary one; a triangle points to where the rank of a team moved.

    The teams are in the order of the final board. On the dotted line both scores are equal.
    """
    return Chart(
        partial(_panel, tuple(teams[:MOST]), len(teams), measure),
        f"Final {measure} against preliminary {measure}, with changes of rank",
        _description(teams),
    )


def _description(teams: Sequence[Moved]) -> str:
    if not teams:
        return "No team has both scores."
    kept = sum(1 for team in teams if not team.rise)
    words = f"{kept} of {counted(len(teams), 'team')} kept {'its' if len(teams) == 1 else 'their'} rank."
    rise = max(teams, key=lambda team: team.rise)
    fall = min(teams, key=lambda team: team.rise)
    for team, verb in ((rise, "rose"), (fall, "fell")):
        if (team.rise > 0) == (verb == "rose") and team.rise:
            words += f" {spoken(team.name)} {verb} most, from rank {team.preliminary_rank} to {team.final_rank}."
    return " ".join([words, *first_of(MOST, len(teams))])


def _panel(teams: Sequence[Moved], count: int, measure: str) -> Panel:
    scores = [score for team in teams for score in (team.preliminary, team.final)]
    axis = ticks(min(scores, default=0.0), max(scores, default=1.0), 5)
    ends = (axis[0][0], axis[-1][0])
    left, right = 40.0, 24.0
    side = WIDTH - left - right
    notes = first_of(len(teams), count)
    panel = Panel(ends, ends, side, min(side, 400.0), left, right, top=24, bottom=60 if notes else 44)
    panel.grid_down(axis)
    panel.grid_across(axis, top=False)
    panel.rules([(ends[0], ends[0], ends[1], ends[1])], REFERENCE, 1, DOTTED)
    panel.texts(
        [(panel.x_at(side / 2), panel.y_at(panel.height + 32), f"preliminary {measure}")], SOFT, "middle", SMALL
    )
    panel.texts([(panel.x_at(-left), panel.y_at(-14), f"final {measure}")], SOFT, size=SMALL)
    below(panel, notes)
    _name(panel, teams)
    at = {team: (team.preliminary, team.final) for team in teams}
    panel.dots([at[team] for team in teams if not team.rise], 4, PAPER, SOFT, strokeWidth=1.5)
    for is_up in (True, False):
        moved = [at[team] for team in teams if team.rise and (team.rise > 0) == is_up]
        shape, fill = ("triangle-up", ACCENT) if is_up else ("triangle-down", INK)
        panel.triangles(moved, shape, 90, fill, stroke=PAPER, strokeWidth=1)
    return panel


def _name(panel: Panel, teams: Sequence[Moved]) -> None:
    """Name the teams for which there is room, to the right or to the left of their dots."""
    centres = [panel.pixels(team.preliminary, team.final) for team in teams]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in centres]
    order = sorted(range(len(teams)), key=lambda place: (-abs(teams[place].rise), place))
    labels: dict[bool, list[tuple[float, float, Label]]] = {True: [], False: []}
    for place in order[: 4 * LABELS]:
        rise = teams[place].rise
        note = f"{'▲' if rise > 0 else '▼'} {abs(rise)}" if rise else ""
        label = fitted(teams[place].name, 110, note=note)
        for is_right in (True, False):
            box = _box(label, centres[place], is_right=is_right)
            is_outside = box[0] < -panel.left or box[2] > panel.width + panel.right
            if is_outside or any(_overlap(box, other) for other in taken):
                continue
            taken.append(box)
            labels[is_right].append((panel.x_at(box[0] if is_right else box[2]), teams[place].final, label))
            break
        if sum(map(len, labels.values())) == LABELS:
            break
    panel.texts(labels[True], INK)
    panel.texts(labels[False], INK, "end")


def _box(label: Label, centre: Point, *, is_right: bool) -> Box:
    wide = text_width(f"{label.shown} {label.note}".rstrip(), SIZE) + 2
    x = centre[0] + (9 if is_right else -9 - wide)
    return x, centre[1] - LINE / 2, x + wide, centre[1] + LINE / 2


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
