"""Charts of scores that change: over time, over levels of recall and cut-offs, and from the preliminary scores to
the final ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter

from scorer.board.board import Steps
from scorer.board.build import RECALLS
from scorer.board.charts.panel import (
    ACCENT,
    CHART_WIDTH,
    DOTTED,
    HAIR,
    INK,
    JOIN,
    LINE,
    PAPER,
    REFERENCE,
    SIZE,
    SMALL_TEXT,
    SOFT,
    Anchor,
    Box,
    Chart,
    Label,
    Panel,
    Point,
    Tick,
    below,
    column_width,
    day,
    end_labels,
    first_of,
    fitted,
    number_text,
    score_ticks,
    spoken,
    text_width,
    ticks,
    time_ticks,
)
from scorer.wording import counted, day_and_month, printable

TICKS = 12
"""The number of cut-offs that have a number on the axis at most."""


@dataclass(frozen=True, slots=True)
class TeamLine:
    """The line of a team."""

    name: str
    values: tuple[float | None, ...]
    """One for each point of the x axis; None where undefined."""
    is_baseline: bool = False


def precision_recall(curves: Sequence[TeamLine]) -> Chart:
    """Draw the mean interpolated precision at each of `RECALLS`; the names are on the left, where lines differ most."""
    ticks = [(level, f"{level:g}") for level in RECALLS[::2]]
    panel = _curves_panel(curves, RECALLS, ticks, "recall", labels_left=True)
    description = _curves_description(curves, RECALLS, "recall")
    return Chart(panel, "Interpolated precision at eleven levels of recall", description)


def r_precision_by_cutoff(curves: Sequence[TeamLine], cutoffs: Sequence[int]) -> Chart:
    """Draw the mean R-precision Rp@z at each cut-off z, ascending."""
    step = -(-len(cutoffs) // TICKS)
    ticks = [(float(cutoff), str(cutoff)) for cutoff in cutoffs[::step]]
    panel = _curves_panel(curves, cutoffs, ticks, "cut-off z")
    return Chart(panel, "R-precision Rp@z at each cut-off z", _curves_description(curves, cutoffs, "z ="))


def _curves_panel(
    curves: Sequence[TeamLine],
    across: Sequence[float],
    ticks: Sequence[Tick],
    axis: str,
    *,
    labels_left: bool = False,
) -> Panel:
    """Return a panel with a line for each curve: the first one is emphasised, those of baselines are dotted.

    The curves are in the order of the board, with those of baselines at the end, and `across` has the positions of
    their values on the x axis. Names may be on the left, where some lines are further apart.
    """
    values = [value for curve in curves for value in curve.values if value is not None]
    down = score_ticks(min(values, default=0.0), max(values, default=1.0))
    names = column_width([curve.name for curve in curves], CHART_WIDTH / 3) + JOIN + 8
    numbers = 34.0
    left, right = (names, numbers) if labels_left else (numbers, names)
    ends = (min(across), max(across))
    panel = Panel(
        x=ends if ends[0] < ends[1] else (ends[0] - 1, ends[1] + 1),
        y=(down[0][0], down[-1][0]),
        width=CHART_WIDTH - left - right,
        height=max(200.0, LINE * len(curves)),
        left=left,
        right=right,
        top=10,
        bottom=44,
    )
    panel.grid_down(down, right=labels_left)
    panel.grid_across(ticks, top=False)
    panel.texts([(panel.x_at(panel.width / 2), panel.y_at(panel.height + 32), axis)], SOFT, "middle", SMALL_TEXT)
    first, *others = [points(curve, across) for curve in curves if not curve.is_baseline] or [[]]
    panel.lines([points(curve, across) for curve in curves if curve.is_baseline], REFERENCE, dash=DOTTED)
    panel.lines(others, REFERENCE)
    panel.dots([point for line in others for point in line], 2, PAPER, SOFT, stroke_width=1)
    panel.lines([first], ACCENT, 2.5)
    panel.dots(first, 3, ACCENT)
    at = -1 if not labels_left else 0
    named = [(curve, defined[at]) for curve in curves if (defined := points(curve, across))]
    end_labels(
        panel,
        [(y, fitted(curve.name, names - JOIN - 8)) for curve, (_, y) in named],
        left=labels_left,
        quiet={place for place, (curve, _) in enumerate(named) if curve.is_baseline},
    )
    return panel


def points(curve: TeamLine, across: Sequence[float]) -> list[Point]:
    """Return the defined points of a curve."""
    return [(x, y) for x, y in zip(across, curve.values, strict=True) if y is not None]


def _curves_description(curves: Sequence[TeamLine], across: Sequence[float], axis: str) -> str:
    """Return the text alternative of curves: the ends of the first one, and which is highest at either end."""
    teams = [(curve, line) for curve in curves if not curve.is_baseline and (line := points(curve, across))]
    if not teams:
        return "No team has a value."
    curve, line = teams[0]
    (start, first), (end, last) = line[0], line[-1]
    words = f"{spoken(curve.name)} goes from {number_text(first, 3)} at {axis} {start:g} to "
    words += f"{number_text(last, 3)} at {axis} {end:g}."
    if len(teams) > 1:
        leftmost = max(teams, key=lambda team: team[1][0][1])[0]
        rightmost = max(teams, key=lambda team: team[1][-1][1])[0]
        at_end = "and at the end" if rightmost is leftmost else f"{spoken(rightmost.name)} at the end"
        words += f" {spoken(leftmost.name)} is highest at the start{' ' if rightmost is leftmost else ', '}{at_end}."
    return words


@dataclass(frozen=True, slots=True)
class Spent:
    """The score of a team, its 95 % interval, and how much of a resource the team states."""

    name: str
    amount: float
    score: float
    low: float
    high: float


def front(teams: Sequence[Spent]) -> list[Spent]:
    """The teams, by amount, that no other one beats: with a score as high for less, or a higher one for as much."""
    found: list[Spent] = []
    for team in sorted(teams, key=lambda team: (team.amount, -team.score)):
        if not found or (team.score, -team.amount) >= (found[-1].score, -found[-1].amount):
            found.append(team)
    return found


def score_by_amount(teams: Sequence[Spent], resource: str, measure: str) -> Chart:
    """Draw the scores of at most `_MOST_LINES` teams against what they state of a resource, and the Pareto front."""
    count, teams = len(teams), teams[:_MOST_LINES]
    least, *_, most = sorted(team.amount for team in teams)
    is_wide = least > 0 and most / least >= 50  # then powers of ten are at equal distances
    place = math.log10 if is_wide else float
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1) if is_wide else range(0)
    across = [(float(power), f"{10.0**power:,.10g}") for power in powers] or ticks(least, most)
    down = score_ticks(min(team.low for team in teams), max(team.high for team in teams))
    notes, best = first_of(_MOST_LINES, count), front(teams)
    ends = (across[0][0], across[-1][0]), (down[0][0], down[-1][0])
    panel = Panel(*ends, CHART_WIDTH - 54, 300, 34, 20, 20, 44 + 16 * len(notes))
    panel.grid_down(down)
    panel.grid_across(across, top=False)
    panel.texts([(panel.x_at(panel.width / 2), panel.y_at(panel.height + 32), resource)], SOFT, "middle", SMALL_TEXT)
    below(panel, notes)
    panel.rules([(place(team.amount), team.low, place(team.amount), team.high) for team in teams], REFERENCE)
    line = [(place(team.amount), team.score) for team in best]
    panel.lines([line], ACCENT, 1.5, steps=True)
    panel.dots([(place(team.amount), team.score) for team in teams if team not in best], 4, PAPER, SOFT)
    panel.dots(line, 4, ACCENT)
    for team, point in zip(best, line, strict=True):
        left, high = panel.pixels(*point)
        side = -7 if left > panel.width / 3 else 7
        label = panel.x_at(left + side), panel.y_at(high - 10), fitted(team.name, panel.width / 4, halo=True)
        panel.texts([label], INK, "end" if side < 0 else "start")
    names = ", ".join(spoken(team.name) for team in best)
    words = f"No team scores higher for less than these, from the least to the most: {names}."
    return Chart(panel, f"{measure} against {resource}", words)


WIDE, MEDIUM, NARROW = 1328, 880, 358
"""The widths of the image on a wide page, on a tablet and on a phone, in pixels."""

_MOST_LINES, _NAMED = 60, 18
"""The number of teams that a chart has, and that it names, at most."""

BASELINE_LINES = 6
"""The number of baselines that a chart has at most."""

STEPS, RINGS = 800, 120
"""The number of steps of all lines at most, and of the entries that have rings, if there are not more."""

LEADS = 40
"""The number of earlier leaders that may be named, those that led longest."""

BREAK = 600
"""The width in pixels from which names have scores and dates."""

LEFT = 40
"""The margin for the scores of the axis in pixels."""

BOLD = 1.1
"""How much wider bold text is."""


@dataclass(frozen=True, slots=True)
class History:
    """The scores of a team over time."""

    name: str
    counted: Steps
    """The score that counted."""
    is_baseline: bool = False
    entries: tuple[tuple[datetime, float], ...] = ()
    """When each entry was received, and its score."""


@dataclass(frozen=True, slots=True)
class Lead:
    """A time for which one team has the best score."""

    team: int
    """The index of the team."""
    since: datetime
    score: float
    """Its score then."""
    until: datetime | None
    """When it lost the lead; None for the team that leads now."""

    @property
    def duration(self) -> timedelta:
        """How long it led; 0 for the team that leads now."""
        return (self.until or self.since) - self.since


def leaders_over_time(teams: Sequence[History], measure: str, decimals: int = 3, width: float = WIDE) -> Chart:
    """Draw the score of each team that counted as steps, and the best of all as a thick line with its leaders' names.

    A line ends where no score counts any more. A ring is an entry; dotted lines are baselines. Names are at the right,
    moved apart. The teams are in the order of the board, with baselines anywhere. The time axis ends at the last entry.
    """
    scored = [team for team in teams if any(score is not None for _, score in team.counted)]
    ranked = [team for team in scored if not team.is_baseline]
    shown = [*ranked[:_MOST_LINES], *[team for team in scored if team.is_baseline][:BASELINE_LINES]]
    times = [when for team in scored for when, _ in (*team.counted, *team.entries)]
    has_rings = sum(len(team.entries) for team in shown) <= RINGS
    lines = tuple(
        replace(team, counted=_thinned(team.counted, STEPS // len(shown)), entries=team.entries if has_rings else ())
        for team in shown
    )
    led, best = leads(scored)
    panel = _leaders_panel(
        lines,
        _thinned(best, STEPS),
        [(scored[lead.team].name, lead) for lead in led],
        (min(times), max(times)) if times else None,
        len(ranked),
        decimals,
        width,
    )
    description = leaders_sentence(scored, led)
    if best and best[-1][1] is not None:
        description += f" The best {printable(measure)} is {number_text(best[-1][1], decimals)}."
    description = " ".join([description, *first_of(_MOST_LINES, len(ranked))])
    return Chart(panel, f"{measure} of each team over time", description)


def _thinned(steps: Steps, most: int) -> Steps:
    """At most `most` of the steps, two at least, with the first and the last."""
    most = max(2, most)
    if len(steps) <= most:
        return steps
    return tuple(steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most))


def _leaders_panel(
    lines: Sequence[History],
    best: Steps,
    led: Sequence[tuple[str, Lead]],
    span: tuple[datetime, datetime] | None,
    count: int,
    decimals: int,
    width: float,
) -> Panel:
    teams = [line for line in lines if not line.is_baseline]
    baselines = [line for line in lines if line.is_baseline]
    named = [line for line in (*teams[:_NAMED], *baselines) if line.counted[-1][1] is not None]
    scores = [score for line in lines for _, score in (*line.counted, *line.entries) if score is not None]
    down = score_ticks(min(scores, default=0.0), max(scores, default=1.0))
    is_wide = width >= BREAK
    # The widest digit keeps room for any score.
    note = text_width(" " + "8" * (decimals + 2)) if is_wide else 0.0
    right = JOIN + 10 + min(width / 4 + 10, max((text_width(line.name) + note for line in named), default=0.0))
    first, last = (span[0].timestamp(), span[1].timestamp()) if span else (0.0, 0.0)
    last = last if last > first else first + 86_400  # a day
    panel = Panel(
        x=(first - (last - first) / 50, last + (last - first) / 250),
        y=(down[0][0], down[-1][0]),
        width=width - LEFT - right,
        height=max(260.0 if is_wide else 230.0, LINE * len(named)),
        left=LEFT,
        right=right,
        top=22,
        bottom=28,
    )
    panel.grid_down(down)
    times = time_ticks(*span, int(panel.width // 70)) if span else []
    top, low, at = panel.y_at(panel.height), panel.y_at(panel.height + 5), panel.y_at(panel.height + 15)
    panel.rules([(x, top, x, low) for x, _ in times], REFERENCE)
    panel.texts([(x, at, text) for x, text in times], SOFT, "middle", SMALL_TEXT)
    if count > len(teams):
        panel.bottom += 18
        below(panel, first_of(len(teams), count))
    levels = [score for line in baselines if (score := line.counted[-1][1]) is not None]
    panel.rules([(panel.x[0], y, panel.x[1], y) for y in levels], REFERENCE, 1, DOTTED)
    for some, stroke in ((teams[_NAMED:], HAIR), (teams[:_NAMED], REFERENCE)):
        panel.lines([piece for line in some for piece in _pieces(line.counted, last)], stroke, steps=True)
    rings = [(when.timestamp(), score) for line in teams for when, score in line.entries]
    panel.dots(rings, 2.5, PAPER, SOFT, stroke_width=1)
    panel.lines(_pieces(best, last), ACCENT, 2.5, steps=True)
    _name_leads(panel, led, decimals, is_wide=is_wide)
    ends = []
    for line in named:
        score = line.counted[-1][1] or 0.0
        text = number_text(score, decimals) if is_wide else ""
        ends.append((score, fitted(line.name, right - JOIN - 8 - note, note=text)))
    end_labels(panel, ends, quiet=range(len(named) - len(levels), len(named)))
    return panel


def _pieces(steps: Steps, last: float) -> list[list[Point]]:
    """The corners of the pieces of a line, each while there is a score; the last one goes on to the right end."""
    pieces: list[list[Point]] = []
    before: float | None = None
    for when, score in [*((when.timestamp(), score) for when, score in steps), (last, None)]:
        if score is not None:
            if before is None:
                pieces.append([])
            pieces[-1].append((when, score))
        elif before is not None:
            pieces[-1].append((when, before))
        before = score
    return pieces


def _name_leads(panel: Panel, led: Sequence[tuple[str, Lead]], decimals: int, *, is_wide: bool) -> None:
    """Mark each change of the lead with a dot, and name as many leaders as there is room for, the last one first."""
    panel.dots([(lead.since.timestamp(), lead.score) for _, lead in led], 4.5, ACCENT, PAPER, stroke_width=1.5)
    longest = sorted(led[:-1], key=lambda item: (-item[1].duration, item[1].since))
    taken: list[tuple[float, float, float]] = []
    labels: dict[Anchor, list[tuple[float, float, Label]]] = {"start": [], "end": []}
    for name, lead in [*led[-1:], *longest[:LEADS]]:
        x, y = panel.pixels(lead.since.timestamp(), lead.score)
        note = number_text(lead.score, decimals) + (f", {day_and_month(lead.since)}" if is_wide else "")
        label = fitted(name, 160 if is_wide else 90, note=note, halo=True)
        wide = 4 + BOLD * text_width(f"{label.shown} {note}")
        anchor: Anchor = "start" if x + wide <= panel.width else "end"
        left, right = (x + 4, x + wide) if anchor == "start" else (x - wide, x - 4)
        y -= 12
        is_free = all(right < other[0] or other[1] < left or abs(y - other[2]) >= LINE for other in taken)
        if left >= -panel.left and is_free:
            taken.append((left, right, y))
            labels[anchor].append((panel.x_at(left if anchor == "start" else right), panel.y_at(y), label))
    for side, texts in labels.items():
        panel.texts(texts, anchor=side, font_weight=700)


# Who led, and since when


def leads(teams: Sequence[History]) -> tuple[Sequence[Lead], Steps]:
    """Return who led, and the best score of all teams where it changes, in order of time. Baselines do not lead.

    A team keeps the lead until another one has a higher score. Of several, the highest counts, then the team that is
    listed first.
    """
    led: list[Lead] = []
    steps: list[tuple[datetime, float | None]] = []
    for when, scores in _scores_over_time(teams):
        best = max(scores.values(), default=None)
        if not steps or steps[-1][1] != best:
            steps.append((when, best))
        if led and led[-1].until is None and (best is None or scores.get(led[-1].team) != best):
            led[-1] = replace(led[-1], until=when)
        if best is not None and (not led or led[-1].until is not None):
            led.append(Lead(min(place for place in scores if scores[place] == best), when, best, None))
    return led, tuple(steps)


def _scores_over_time(teams: Sequence[History]) -> Iterator[tuple[datetime, Mapping[int, float]]]:
    """The scores that count by the index of the team, at each time at which one changes; without baselines."""
    changes = (
        (when, place, score) for place, team in enumerate(teams) if not team.is_baseline for when, score in team.counted
    )
    scores: dict[int, float] = {}
    for when, group in groupby(sorted(changes, key=itemgetter(0, 1)), key=itemgetter(0)):
        for _, place, score in group:
            scores.pop(place, None)
            if score is not None:
                scores[place] = score
        yield when, scores


def leaders_sentence(teams: Sequence[History], led: Sequence[Lead] | None = None) -> str:
    """Return who led and who passed whom: ``north-window led for 64 days; tea-kettle passed it on 30 June.``.

    The names of the teams are in it as text, which a page escapes. `led` is who led, if it is known.
    """
    led = leads(teams)[0] if led is None else led
    if not led:
        return "No team has a score yet."
    last = led[-1]
    leader = spoken(teams[last.team].name)
    if last.until is not None:
        return f"{leader} led for {lasted(last.until - last.since)}."
    if len(led) == 1:
        return f"{leader} has led since {day(last.since)}."
    before = led[-2]
    passed = spoken(teams[before.team].name)
    has_passed = any(when == last.since for when, _ in teams[last.team].counted)
    change = "passed it on" if has_passed else "has led since"
    sentence = f"{passed} led for {lasted((before.until or last.since) - before.since)}; "
    sentence += f"{leader} {change} {day(last.since)}."
    changes = len(led) - 1
    return sentence if changes <= 2 else f"{sentence} The lead changed {changes} times."


def lasted(time: timedelta) -> str:
    """Return a duration in whole days, hours or minutes, the first of them that is not 0."""
    minutes = int(time.total_seconds()) // 60
    for unit, length in (("day", 1440), ("hour", 60)):
        if minutes >= length:
            return counted(minutes // length, unit)
    return counted(minutes, "minute") if minutes else "less than a minute"


MOST_MOVED = 300
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
    shown = teams[:MOST_MOVED]
    scores = [score for team in shown for score in (team.preliminary, team.final)]
    axis = ticks(min(scores, default=0.0), max(scores, default=1.0), 5)
    ends = (axis[0][0], axis[-1][0])
    left, right = 40.0, 24.0
    side = CHART_WIDTH - left - right
    notes = first_of(MOST_MOVED, len(teams))
    panel = Panel(ends, ends, side, min(side, 400.0), left, right, top=24, bottom=60 if notes else 44)
    panel.grid_down(axis)
    panel.grid_across(axis, top=False)
    panel.rules([(ends[0], ends[0], ends[1], ends[1])], REFERENCE, 1, DOTTED)
    panel.texts(
        [(panel.x_at(side / 2), panel.y_at(panel.height + 32), f"preliminary {measure}")], SOFT, "middle", SMALL_TEXT
    )
    panel.texts([(panel.x_at(-left), panel.y_at(-14), f"final {measure}")], SOFT, size=SMALL_TEXT)
    below(panel, notes)
    _name(panel, shown)
    at = {team: (team.preliminary, team.final) for team in shown}
    panel.dots([at[team] for team in shown if not team.rise], 4, PAPER, SOFT, stroke_width=1.5)
    for is_up in (True, False):
        moved = [at[team] for team in shown if team.rise and (team.rise > 0) == is_up]
        panel.triangles(moved, 90, ACCENT if is_up else INK, PAPER, is_up=is_up)
    title = f"Final {measure} against preliminary {measure}, with changes of rank"
    return Chart(panel, title, _moves_description(teams))


def _moves_description(teams: Sequence[Moved]) -> str:
    if not teams:
        return "No team has both scores."
    kept = sum(1 for team in teams if not team.rise)
    words = f"{kept} of {counted(len(teams), 'team')} kept {'its' if len(teams) == 1 else 'their'} rank."
    rise = max(teams, key=lambda team: team.rise)
    fall = min(teams, key=lambda team: team.rise)
    for team, verb in ((rise, "rose"), (fall, "fell")):
        if (team.rise > 0) == (verb == "rose") and team.rise:
            words += f" {spoken(team.name)} {verb} most, from rank {team.preliminary_rank} to {team.final_rank}."
    return " ".join([words, *first_of(MOST_MOVED, len(teams))])


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
