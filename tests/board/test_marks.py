"""The marks in the rows of a board: strips on a shared axis, tiers, histograms, sparklines; and its columns."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from scorer.board.board import BINS, Board, Certainty, Row, RowCertainty, Tier
from scorer.board.site.figures import (
    HISTOGRAM_HEIGHT,
    LONG_ROWS,
    SPARK_HEIGHT,
    SPARK_WIDTH,
    Strip,
    axis_for,
    histograms,
    sparklines,
)
from scorer.board.site.timeline import latest_entries
from scorer.board.site.views import (
    LARGEST_WINDOW,
    SMALLEST_WINDOW,
    WINDOW_STEP,
    BoardColumn,
    BoardView,
    board_view,
    measure_columns,
)
from scorer.files import shipped_templates
from tests.boards import baseline_row, board, board_of, challenge, entry, rejected_row, scored_row


def view_of(one: Board) -> BoardView:
    """The view of a board."""
    return board_view(one, measure_columns([one]))


# The axis


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.491], ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ([0.5], ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ([0.98], ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ([0.0021], ["0", "0.0005", "0.0010", "0.0015", "0.0020", "0.0025"]),
        ([13.0], ["0", "2", "4", "6", "8", "10", "12", "14"]),
        ([-0.11, 0.2], ["-0.15", "-0.10", "-0.05", "0", "0.05", "0.10", "0.15", "0.20"]),
        ([0.0], ["0", "1"]),
        ([], ["0", "1"]),
    ],
)
def test_an_axis_goes_from_zero_to_a_round_number(values: list[float], labels: list[str]) -> None:
    """At most seven steps of 1, 2 or 5 times a power of ten; it reaches below 0 only for negative values."""
    assert [label for _, label in axis_for(values).ticks] == labels


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.41, 0.487], ["0.40", "0.42", "0.44", "0.46", "0.48", "0.50"]),
        ([-0.02, 0.4], ["-0.1", "0", "0.1", "0.2", "0.3", "0.4"]),
        ([0.0084, 0.0754], ["0", "0.02", "0.04", "0.06", "0.08"]),
        ([0.4, 0.4], ["0", "0.1", "0.2", "0.3", "0.4"]),
        ([0.4, 0.4 + 1e-9], ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]),
        ([], ["0", "1"]),
    ],
)
def test_an_axis_near_the_values_begins_below_the_lowest_one(values: list[float], labels: list[str]) -> None:
    """Unless they are nearly equal; every value is on it."""
    axis = axis_for(values, near=True)
    assert [label for _, label in axis.ticks] == labels
    assert all(axis.first * axis.step <= value <= axis.last * axis.step + 1e-9 for value in values)


def test_every_value_has_its_place_on_the_axis() -> None:
    """As a short percentage inside the picture; an axis includes values of any size with at most seven steps."""
    places = [axis_for([0.5]).percent(value) for value in (0, 0.25, 1 / 3, 0.5, 9, -1)]
    assert places == ["0%", "50%", "66.67%", "100%", "100%", "0%"]
    for exponent in range(-6, 7):
        for digit in (1.0, 1.37, 2.0, 3.3, 7.0, 9.99):
            axis = axis_for([digit * 10.0**exponent])
            assert axis.first == 0
            assert axis.last <= 7
            assert axis.last * axis.step >= digit * 10.0**exponent * (1 - 1e-9)


# Strips and tiers


def tiered(
    *tiers: tuple[int, ...],
    scores: tuple[float, ...],
    reach: float | None = 0.06,
    at: int = -1,
    apart: tuple[int, ...] = (),
) -> Board:
    """A board of teams in these tiers, with a baseline at position `at`; `apart` are separable within theirs."""
    track = challenge().tracks[0]
    rows = [
        baseline_row(f"baseline {number}", score, score, 5)
        if number == at
        else scored_row(f"t{number}", score, score, 5)
        for number, score in enumerate(scores)
    ]
    of = {row: number for number, tier in enumerate(tiers) for row in tier}
    one = board_of(track, *rows)
    certain = [
        RowCertainty(
            (score - 0.02, score + 0.02),
            (1, 9) if number in of else None,
            of.get(number),
            None,
            (),
            number in apart if number in of else None,
        )
        for number, score in enumerate(scores)
    ]
    return replace(
        one,
        rows=tuple(replace(row, certainty=(each,)) for row, each in zip(one.rows, certain, strict=True)),
        certainty=(Certainty(484, tuple(Tier(rows, reach) for rows in tiers), 0, 0.06),),
    )


def strip_of(view: BoardView, position: int) -> Strip:
    """The strip of a row that has one."""
    strip = view.rows[position].strip
    assert strip is not None
    return strip


def test_a_strip_shows_score_interval_and_preliminary_score() -> None:
    """On the axis of the board, whose end is the round number above the highest interval."""
    view = view_of(tiered((0, 1), scores=(0.48, 0.45)))
    assert view.axis.ticks[-1] == ("100%", "0.5")
    strip = strip_of(view, 0)
    assert (strip.mean, strip.interval, strip.preliminary) == ("96%", ("92%", "8%"), "96%")


def test_a_band_reaches_from_the_best_score_of_a_tier_to_what_is_separable() -> None:
    """And at least to the lowest score of the tier."""
    wide = strip_of(view_of(tiered((0, 1), scores=(0.48, 0.45))), 1).band
    assert wide is not None
    assert (wide.x, wide.width, wide.best) == ("84%", "12%", "96%")
    stretched = strip_of(view_of(tiered((0, 1), scores=(0.48, 0.4))), 0).band
    assert stretched is not None
    assert (stretched.x, stretched.width) == ("80%", "16%")
    without = strip_of(view_of(tiered((0, 1), scores=(0.48, 0.45), reach=None)), 0).band
    assert without is not None
    assert (without.x, without.width) == ("90%", "6%")


def test_a_tier_has_a_line_a_beginning_and_an_end() -> None:
    """The line goes from its best dot to the last; a tier of one team has none. The letter is in every row."""
    view = view_of(tiered((0, 1, 2), (3,), scores=(0.48, 0.47, 0.46, 0.3)))
    lines = [band.line for row in view.rows if row.strip and (band := row.strip.band)]
    assert lines == ["from", "through", "to", ""]
    view = view_of(tiered((0, 1), (2,), scores=(0.48, 0.47, 0.3)))
    assert [row.css for row in view.rows] == ["in-tier opens", "in-tier closes", "in-tier opens closes"]
    assert [row.tier for row in view.rows] == ["A", "A", "B"]


def test_a_baseline_inside_a_tier_has_its_band_but_no_letter() -> None:
    """A baseline between two tiers has neither."""
    inside = view_of(tiered((0, 2), (3,), scores=(0.48, 0.47, 0.46, 0.3), at=1))
    assert [row.css for row in inside.rows] == [
        *("in-tier opens", "baseline in-tier", "in-tier closes", "in-tier opens closes")
    ]
    assert strip_of(inside, 1).band is not None
    assert inside.rows[1].tier == inside.rows[1].range == ""
    between = view_of(tiered((0, 1), (3,), scores=(0.48, 0.47, 0.46, 0.3), at=2))
    assert between.rows[2].css == "baseline opens closes"
    assert strip_of(between, 2).band is None


def test_a_team_that_is_separable_within_a_tier_has_no_shade() -> None:
    """The line of the tier goes through its row."""
    view = view_of(tiered((0, 1, 2), (3,), scores=(0.48, 0.47, 0.46, 0.3), apart=(1,)))
    assert [row.tier for row in view.rows] == ["A", "A", "A", "B"]
    bands = [strip_of(view, at).band for at in range(3)]
    assert [band.line for band in bands if band] == ["from", "through", "to"]
    assert [band.width == "0%" for band in bands if band] == [False, True, False]


def test_ranges_are_in_words() -> None:
    """A team that may have one rank only has a range that says so."""
    one = tiered((0,), (1, 2), scores=(0.48, 0.3, 0.29))
    ranges = ((1, 1), (2, 3), (2, 3))
    rows = tuple(
        replace(row, certainty=(replace(row.certainty[0], rank_range=each),))  # type: ignore[type-var]
        for row, each in zip(one.rows, ranges, strict=True)
    )
    assert [row.range for row in view_of(replace(one, rows=rows)).rows] == ["1 only", "2 to 3", "2 to 3"]


# Histograms and sparklines


def with_histograms(*counts: tuple[int, ...]) -> Board:
    """A board with a team for each of these histograms."""
    one = tiered((*range(len(counts)),), scores=tuple(0.4 - number / 100 for number in range(len(counts))))
    rows = tuple(
        replace(row, certainty=(replace(row.certainty[0], histogram=each),))  # type: ignore[type-var]
        for row, each in zip(one.rows, counts, strict=True)
    )
    return replace(one, rows=rows)


def test_the_highest_bar_of_each_histogram_has_the_full_height() -> None:
    """A quarter of its count has half of it."""
    high, low = (100, *(0,) * (BINS - 1)), (0, 48, 12, *(0,) * (BINS - 4), 3)
    first, second = histograms(with_histograms(high, low))
    assert first is not None
    assert second is not None
    heights = [float(height) for height in re.findall(r"v-([\d.]+)", first.path + second.path)]
    assert heights == [HISTOGRAM_HEIGHT, HISTOGRAM_HEIGHT, HISTOGRAM_HEIGHT / 2, HISTOGRAM_HEIGHT / 4]
    assert first.label == "100 % of the queries score under 0.05, 0 % 0.95 or more"
    assert second.label == "0 % of the queries score under 0.05, 5 % 0.95 or more"
    assert (first.value, second.value) == (100, 0)


def test_a_mark_is_left_out_without_histograms_and_on_a_long_board() -> None:
    """Where the scores of queries are hidden; with more than 100 rows there are no sparklines either."""
    hidden = with_histograms((), ())
    assert (histograms(hidden), view_of(hidden).cells["queries"]) == ((None, None), "")
    one = with_histograms((5, *(1,) * (BINS - 1)), (5, *(1,) * (BINS - 1)))
    assert view_of(one).cells["queries"]
    assert view_of(one).cells["best"]
    many = replace(one, rows=one.rows * (LONG_ROWS // 2 + 1))
    assert view_of(many).is_long
    assert not view_of(many).cells["queries"]
    assert not view_of(many).cells["best"]


@pytest.mark.parametrize(("name", "width"), [("short", 40), ("a name of twenty-six let", 55), ("W" * 300, 60)])
def test_the_column_of_names_is_as_wide_as_the_longest_one(name: str, width: int) -> None:
    """Where the other columns leave room for it."""
    one = board_of(challenge(measures=[]).tracks[0], scored_row(name, 0.3, 0.3, 1))
    assert next(column.width for column in view_of(one).layout if column.kind == "team") == width


def test_a_sparkline_rises_with_each_better_entry() -> None:
    """Entries that were not the best leave it level, and those that cannot count are left out."""
    track = challenge().tracks[0]
    solo = scored_row("solo", 0.3, 0.3, 5)
    sent = tuple(
        entry("solo", number, (score,) * 5, (score,) * 5) for number, score in ((4, 0.2), (3, 0.4), (2, 0.1), (1, 0.2))
    )
    (mark, blank) = sparklines(board_of(track, replace(solo, entry=sent[1], entries=sent), rejected_row("b", 5)))
    assert blank is None
    assert mark is not None
    assert list(mark.end) == [SPARK_WIDTH - 2, 2]
    assert mark.path.count("V") == 1
    assert mark.path.endswith(f"H{SPARK_WIDTH - 2}")
    assert mark.label == "0.2000 at first, 0.4000 at last"
    heights = [float(at) for at in re.findall(r"(?:M[\d.]+ |V)([\d.]+)", mark.path)]
    assert heights == sorted(heights, reverse=True)
    assert max(heights) <= SPARK_HEIGHT
    gone = entry("solo", 7, (0.9,) * 5, (0.9,) * 5, state="withdrawn")
    (mark,) = sparklines(board_of(track, replace(solo, entries=(gone, *solo.entries))))
    assert mark is not None
    assert mark.label == "0.3000 at first"


def test_a_sparkline_with_a_pick_after_the_last_entry_stays_in_its_picture() -> None:
    """The pick makes another entry count; the line ends at the right margin."""
    track = challenge(entry="picks").tracks[0]
    solo = scored_row("solo", 0.3, 0.3, 5)
    last, first = (entry("solo", number, (score,) * 5, (score,) * 5) for number, score in ((4, 0.4), (1, 0.2)))
    picked = replace(first, picks=((last.received + timedelta(days=40), True),))
    (mark,) = sparklines(board_of(track, replace(solo, entry=picked, entries=(last, picked))))
    assert mark is not None
    assert mark.label == "0.2000 at first, 0.2000 at last"
    places = [float(at) for at in re.findall(r"[MH]([\d.]+)", mark.path)]
    assert places == sorted(places)
    assert (places[0], places[-2:]) == (2, [SPARK_WIDTH - 2] * 2)


# Columns


def layout(one: Board) -> dict[str, BoardColumn]:
    """The columns of a board by key."""
    return {column.key: column for column in view_of(one).layout}


def test_columns_that_are_equal_for_all_rows_are_off_at_first() -> None:
    """A measure, the entries and their course, if all rows have the same."""
    track = challenge(measures=["AP", "P@10"]).tracks[0]
    rows = []
    for name, score in (("a", 0.3), ("b", 0.2)):
        row = scored_row(name, score, score, 3)
        one = replace(row.entries[0], final=(score, score, 0.5))
        rows.append(replace(row, entry=one, entries=(one,)))
    columns = layout(board_of(track, *rows))
    assert {key for key, column in columns.items() if not column.shown} == {
        "P@10",
        "preliminary",
        "entries",
        "best",
        "last",
    }


def test_the_first_three_measures_that_differ_are_shown_at_first() -> None:
    """The others are in the list of columns."""
    track = challenge(measures=["nDCG@10", "AP", "RR", "P@10", "R@10"]).tracks[0]
    columns = layout(board_of(track, scored_row("a", 0.3, 0.3, 6), scored_row("b", 0.2, 0.2, 6)))
    shown = [column.key for column in columns.values() if column.kind == "measure" and column.shown]
    assert shown == ["nDCG@10", "AP", "RR"]
    assert all(column.toggle for column in columns.values() if column.kind == "measure")


def test_a_board_has_the_columns_that_it_needs() -> None:
    """No tiers, ranges and intervals without statistics; affiliations, at first not shown, if a team has one."""
    one = board_of(challenge().tracks[0], scored_row("aa", 0.2, 0.2, 5), scored_row("bb", 0.1, 0.1, 5))
    columns = layout(one)
    assert not {"tier", "range", "interval", "queries"} & set(columns)
    assert {"rank", "team", "score", "strip"} <= set(columns)

    assert view_of(one).cells["affiliation"] == ""
    first = one.rows[0]
    known = replace(first, team=replace(first.team, affiliation="University"))
    (column,) = (each for each in view_of(replace(one, rows=(known, one.rows[1]))).layout if each.kind == "affiliation")
    assert (column.label, column.shown) == ("Affiliation", False)


def test_a_narrow_window_leaves_columns_out_in_order() -> None:
    """First the last entry, then the best so far, queries, measures from the right, entries, and the others."""
    columns = layout(board(challenge().tracks[0]))
    order = ("last", "best", "queries", "P@10", "AP", "nDCG@10", "entries", "change", "before", "interval")
    windows = [columns[key].window for key in order]
    assert windows == sorted(windows, reverse=True)
    assert all(columns[key].window == 0 for key in ("tier", "rank", "range", "team", "score", "strip"))


def test_the_style_sheet_has_every_width_and_window() -> None:
    """A column without a rule would be as wide as its content, or never be left out."""
    style = (shipped_templates() / "style.css").read_text(encoding="utf-8")
    for window in range(SMALLEST_WINDOW, LARGEST_WINDOW + 1, WINDOW_STEP):
        assert f"width < {window}rem) {{ .bar:not(:has(#keep:checked)) ~ :is(.box, .notes) .from-{window} " in style
    for number in range(1, 41):
        assert f":has(#show-{number}:not(:checked)) ~ :is(.box, .notes, section) .t{number}" in style
    track = challenge(measures=["nDCG(gain=exp,discount=log2)@1000", "AP", "RBP(p=0.123456)"], decimals=12).tracks[0]
    for column in layout(board(track)).values():
        assert column.width == 0 or f".w{column.width} {{" in style


# The front page


def test_the_front_page_has_whole_tiers_until_five_teams() -> None:
    """A tier is shown whole, up to ten teams; teams that share the last rank are not separated."""
    small = view_of(tiered((0, 1), (2, 3, 4), (5,), scores=(0.48, 0.47, 0.46, 0.45, 0.44, 0.3)))
    assert len(small.leading) == 5
    wide = view_of(tiered((0, 1), (2, 3, 4, 5), (6,), scores=(0.48, 0.47, 0.46, 0.45, 0.44, 0.43, 0.3)))
    assert len(wide.leading) == 6
    huge = view_of(tiered((*range(15),), scores=tuple(0.48 - at / 100 for at in range(15))))
    assert len(huge.leading) == 10
    scores = (0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.05)
    rows = [scored_row(f"t{number}", score, score, 5) for number, score in enumerate(scores)]
    assert len(view_of(board_of(challenge().tracks[0], *rows)).leading) == 6


def texts(*rows: Row, counting: str = "best") -> list[str]:
    """What the latest entries of these rows changed, the latest first, where the best or the last entry counts."""
    one = board_of(challenge(entry=counting).tracks[0], *rows)
    return [f"{each.row.team.name}: {each.text}{each.lead}" for each in latest_entries([view_of(one)], 9)]


def sent(name: str, *scores: float | None) -> Row:
    """The row of a team with an entry of each score, the first one first; None for a rejected one."""
    entries = [
        entry(name, number, (score,) * 5, (score,) * 5, state="rejected" if score is None else "scored")
        for number, score in enumerate(scores, 1)
    ][::-1]
    scored = [each for each in entries if each.state == "scored"]
    best = max(scored, key=lambda each: each.final[0] or 0.0) if scored else None
    return replace(scored_row(name, 0.1, 0.1, 5), entry=best, entries=tuple(entries))


def test_the_latest_entries_say_what_each_changed() -> None:
    """The score, the best one before, and the rank at that time; the team that took the lead is named so."""
    assert texts(sent("aa", 0.2, 0.3, 0.25), sent("bbbb", 0.25, 0.4), sent("cccccc", 0.1)) == [
        "aa: 0.2500; 0.3000 still counts",
        "bbbb: 0.4000, from 0.2500, took the lead",
        "aa: 0.3000, from 0.2000, took the lead",
        "cccccc: 0.1000, now third",
        "bbbb: 0.2500, took the lead",
        "aa: 0.2000, now first",
    ]


def test_the_latest_entries_say_why_one_has_no_score() -> None:
    """Rejected ones count their errors; entries of baselines have no rank."""
    assert texts(sent("aa", None), baseline_row("random", 0.1, 0.1, 5)) == ["random: 0.1000, a baseline", "aa: "]
    assert texts(rejected_row("aa", 5)) == ["aa: , 12 errors"]


def test_with_the_last_entry_counting_a_lower_score_counts() -> None:
    """The text has the score before it, and the rank that it has now; of a team above it, the last entry counts too."""
    assert texts(sent("aa", 0.2, 0.3, 0.25), sent("bbbb", 0.4, 0.1), counting="last") == [
        "aa: 0.2500, from 0.3000; still first",
        "bbbb: 0.1000, from 0.4000; now second",
        "aa: 0.3000, from 0.2000; still second",
        "bbbb: 0.4000, took the lead",
        "aa: 0.2000, now first",
    ]
