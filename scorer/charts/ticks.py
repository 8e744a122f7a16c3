"""Round values for axes, as numbers and as times, with their texts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from scorer.wording import MONTHS, day_and_month

Tick = tuple[float, str]

MINUS = "\u2212"


def number(value: float, decimals: int) -> str:
    """Return a number as text, with a true minus sign; never a negative zero."""
    text = f"{abs(value):.{decimals}f}"
    return f"{MINUS}{text}" if value < 0 and float(text) else text


def ticks(low: float, high: float, most: int = 6) -> list[Tick]:
    """Return round values that cover `low` to `high`, `most` or fewer where that is possible, and their texts.

    The step is 1, 2 or 5 times a power of ten. Equal ends are moved apart.
    """
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = (low - 0.5, low + 0.5) if low else (0.0, 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for factor in (1, 2, 5, 10, 20):
        step = factor * power
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first < most:
            break
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    values = (place * step for place in range(first, last + 1))
    return [(float(f"{value:.{decimals + 2}f}"), _tick_text(value, decimals)) for value in values]


def _tick_text(value: float, decimals: int) -> str:
    return number(value, decimals) if float(f"{value:.{decimals}f}") else "0"


def score_ticks(low: float, high: float, most: int = 6) -> list[Tick]:
    """Return ticks for scores: from 0, unless all scores are far from it."""
    apart = low > 0.6 * high > 0
    return ticks(low if apart else min(low, 0.0), high if apart else max(high, 0.0), most)


def rank_ticks(last: int, most: int = 10) -> list[Tick]:
    """Return ranks from 1 to `last`: all of them, or 1 and round ones."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, last) if last / step <= most)
    return [(float(rank), str(rank)) for rank in range(1, last + 1) if rank == 1 or rank % step == 0]


def day(when: datetime) -> str:
    """Return a day of a month in UTC: ``30 June``."""
    when = when.astimezone(UTC)
    return f"{when.day} {MONTHS[when.month - 1]}"


def time_ticks(start: datetime, end: datetime, most: int = 6) -> list[Tick]:
    """Return round times in UTC from `start` to `end`, in seconds since 1970, and their texts; at most `most`, or 2."""
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    bare = [(start.timestamp(), _full_day(start))]
    if len(list(_months(start, end, 1))) < 2:
        return list(_shorter(start, end, most)) or bare
    every = (list(_months(start, end, step)) for step in (1, 2, 3, 6, 12, 24, 60, 120, 240, 1200, 12000))
    return next((months for months in every if 0 < len(months) <= max(2, most)), bare)


def _months(start: datetime, end: datetime, step: int) -> Iterator[Tick]:
    """The first days of each month, or of each `step` months. The first one and each January has its year."""
    place = -(-(start.year * 12 + start.month) // step) * step
    named = False
    while place // 12 < end.year or (place // 12 == end.year and place % 12 <= end.month - 1):
        year, month = divmod(place, 12)
        when = datetime(year, month + 1, 1, tzinfo=UTC)
        name = MONTHS[month] if step < 6 else MONTHS[month][:3]
        yield when.timestamp(), str(year) if step >= 12 else f"{name} {year}" if month == 0 or not named else name
        named = True
        place += step


def _shorter(start: datetime, end: datetime, most: int) -> Iterator[Tick]:
    """Days, or parts of a day, that are a whole number of steps after a midnight. The first one has its year."""
    steps = (timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440, 2880, 10080, 20160, 40320))
    step = next(step for step in steps if (end - start) / step <= max(1, most - 1) or step.days == 28)
    # 20 April 1970 is a Monday, so weeks begin on Mondays.
    origin = datetime(1970, 4, 20, tzinfo=UTC)
    when = origin + -((origin - start) // step) * step
    named = False
    while when <= end:
        words = [] if named and (when.hour or when.minute) else [day_and_month(when) if named else _full_day(when)]
        if not step.days:
            words.append(f"{when.hour:02}:{when.minute:02}")
        yield when.timestamp(), ", ".join(words)
        named = True
        when += step


def _full_day(when: datetime) -> str:
    return f"{day_and_month(when)} {when.year}"
