"""What charts have in common: round axes, and labels that fit and do not overlap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.board.charts.panel import (
    fitted,
    number_text,
    rank_ticks,
    score_ticks,
    spoken,
    spread,
    text_width,
    ticks,
    time_ticks,
    wrapped,
)

START = datetime(2011, 4, 18, 10, tzinfo=UTC)


# Labels


@given(st.lists(st.floats(-50, 150), max_size=8), st.floats(1, 12))
def test_spread_labels_keep_their_order_and_distance(wanted: list[float], gap: float) -> None:
    """They stay between the ends, and where they want to be if nothing is near."""
    wanted.sort()
    placed = spread(wanted, gap, 0, 100)
    assert all(after - before >= gap - 1e-9 for before, after in pairwise(placed))
    assert all(-1e-9 <= value <= 100 + 1e-9 for value in placed)
    inside = [0 <= value <= 100 for value in wanted]
    if all(inside) and all(after - before >= gap for before, after in pairwise(wanted)):
        assert placed == pytest.approx(wanted)


def test_a_crowd_is_centred_on_what_it_wants() -> None:
    """Three labels at one place."""
    assert spread([50, 50, 50, 90], 10, 0, 100) == [40, 50, 60, 90]
    assert spread([99, 99], 10, 0, 100) == [90, 100]
    assert spread([50] * 4, 40, 0, 100) == [0, 40, 80, 120]


def test_names_and_heads_fit() -> None:
    """The end of a name is cut, and the complete one is kept; in sentences it moves no words around it."""
    label = fitted("a-very-long-name-of-a-team", 80)
    assert label.shown.endswith("…")
    assert text_width(label.shown) <= 80
    assert label.full == "a-very-long-name-of-a-team"
    assert fitted("short", 80).shown == "short"
    assert wrapped("mean of the ranks", 50) == ["mean of", "the", "ranks"]
    assert wrapped("significance", 10) == ["significance"]
    assert spoken("x" * 300) == "x" * 37 + "..."
    assert spoken("a\u202eb") == "a\\u202eb"
    assert spoken("שלום") == "\u2068שלום\u2069"


# Axes


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 10))
def test_ticks_cover_their_values(low: float, width: float, most: int) -> None:
    """With equal steps, in order; their texts are their values."""
    found = ticks(low, low + width, most)
    values = [value for value, _ in found]
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert values[0] <= low + slack
    assert values[-1] >= low + width - slack
    assert len(found) <= most + 1
    steps = [after - before for before, after in pairwise(values)]
    assert min(steps) > 0
    assert max(steps) - min(steps) <= 1e-6 * max(steps) + 1e-9 * abs(low)
    assert len({text for _, text in found}) == len(found)


def test_axes_of_scores_begin_at_0_and_ranks_at_1() -> None:
    """Unless the lowest score is far from it; many ranks have round ones only. No zero has a minus sign."""
    assert [text for _, text in score_ticks(0.1, 0.46)] == ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert [text for _, text in score_ticks(0.92, 0.97)] == ["0.92", "0.93", "0.94", "0.95", "0.96", "0.97"]
    assert [text for _, text in score_ticks(-0.4, 0.1)] == ["−0.4", "−0.3", "−0.2", "−0.1", "0", "0.1"]
    assert [text for _, text in score_ticks(0.0, 0.0)] == ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [text for _, text in rank_ticks(4)] == ["1", "2", "3", "4"]
    assert [text for _, text in rank_ticks(60)] == ["1", "10", "20", "30", "40", "50", "60"]
    assert number_text(-0.25, 2) == "−0.25"
    assert number_text(-0.001, 2) == "0.00"


@pytest.mark.parametrize(
    ("days", "texts"),
    [
        (81, ["May 2011", "June", "July"]),
        (20, ["25 Apr 2011", "2 May"]),
        (300, ["May 2011", "July", "September", "November", "January 2012"]),
        (1200, ["2012", "2013", "2014"]),
        (3 / 24, ["18 Apr 2011, 10:00", "11:00", "12:00", "13:00"]),
        (0, ["18 Apr 2011, 10:00"]),
    ],
)
def test_times_have_round_ticks(days: float, texts: list[str]) -> None:
    """The first one has its year."""
    found = time_ticks(START, START + timedelta(days=days))
    assert [text for _, text in found] == texts
    assert all(START.timestamp() <= value <= (START + timedelta(days=days)).timestamp() for value, _ in found)


@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)), st.floats(0, 20_000), st.integers(1, 12))  # noqa: DTZ001
def test_times_have_few_ticks(start: datetime, days: float, most: int) -> None:
    """Inside the times, in order."""
    begin = start.replace(tzinfo=UTC)
    end = begin + timedelta(days=days)
    values = [value for value, _ in time_ticks(begin, end, most)]
    assert 1 <= len(values) <= max(2, most)
    assert values == sorted(set(values))
    assert all(begin.timestamp() <= value <= end.timestamp() for value in values)
