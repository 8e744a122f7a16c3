"""The sentences of a board: each states what the statistics found, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from scorer.board.board import Board, Certainty, Row, RowCertainty, RowPair, ShakeUp, Tier
from scorer.board.site.captions import counts, significant, table_caption
from scorer.live.entry import State
from scorer.measures import parse_one
from scorer.wording import day_and_month, in_words, long_time, ordinal, sentence
from tests.boards import baseline_row, board_of, challenge, entry, rejected_row, scored_row, without_final
from tests.pages import said


def phrase(macro: str, *values: object) -> str:
    """What a macro says, as text."""
    return said("words.html", macro, *values).striptags()


def board_with(
    *tiers: tuple[int, ...], teams: int = 0, preliminary: bool = False, apart: tuple[int, ...] = (), **settings: Any
) -> Board:
    """A board of teams with falling scores, in these tiers; `apart` are separable within theirs."""
    count = teams or max(max(tier) for tier in tiers) + 1
    stage: dict[str, Any] = {"stage": "preliminary"} if preliminary else {}
    track = challenge(**stage, **settings).tracks[0]
    rows = [scored_row(f"team {number}", round(0.9 - number / 100, 4), 0.5, 5) for number in range(count)]
    board = board_of(track, *(without_final(row) if preliminary else row for row in rows))
    if not tiers:
        return board
    of = {row: number for number, tier in enumerate(tiers) for row in tier}
    certainties = [
        RowCertainty((0.1, 0.9), (1, count), of[number], 0.1, (), number in apart) for number in range(count)
    ]
    return replace(
        board,
        rows=tuple(replace(row, certainty=(each,)) for row, each in zip(board.rows, certainties, strict=True)),
        certainty=(Certainty(484, tuple(Tier(rows, 0.06) for rows in tiers), 1, 0.0612),),
    )


@pytest.mark.parametrize(
    ("board", "caption"),
    [
        (board_with((0, 1), (2, 3, 4), (5,)), "Six teams in three tiers; the first two are not separable."),
        (board_with((0, 1, 2), (3,)), "Four teams in two tiers; the first is not separable from the next two."),
        (board_with((0,), (1, 2)), "Three teams in two tiers; the first is separable from all others."),
        (board_with((0,), (1,), (2,)), "Three teams in three tiers; all are separable."),
        (board_with((0, 1, 2)), "Three teams in one tier; none is separable from the first."),
        (board_with((0, 1)), "Two teams in one tier; they are not separable."),
        (board_with((0,), (1,)), "Two teams in two tiers; all are separable."),
        (
            board_with((0, 1, 2), (3,), apart=(1,)),
            "Four teams in two tiers; the first is not separable from one other.",
        ),
        (board_with((0, 1, 2, 3), apart=(2,)), "Four teams in one tier; the first is not separable from two others."),
        (board_with(tuple(range(13))), "13 teams in one tier; none is separable from the first."),
        (
            board_with((0, 1), (2,), preliminary=True),
            "Three teams in two tiers by preliminary scores; the first two are not separable.",
        ),
        (board_with(teams=1), "One team."),
        (board_with(teams=4), "Four teams, ranked."),
        (board_with(teams=4, preliminary=True), "Four teams, ranked by preliminary scores."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_caption_states_what_was_found(board: Board, caption: str) -> None:
    """How many teams and tiers there are, and what the queries say about the first team."""
    assert table_caption(board) == caption


def test_a_board_without_ranks_or_queries_says_so() -> None:
    """No submissions, none scored, only baselines scored, or undefined scores; nothing is counted then."""
    track = challenge().tracks[0]
    undefined = entry("solo", 1, (None,) * 5, (None,) * 5, counting=True)
    assert table_caption(board_of(track)) == "No submissions yet."
    assert table_caption(board_of(track, rejected_row("solo", 5))) == "No entry is scored yet."
    with_baseline = board_of(track, rejected_row("solo", 5), baseline_row("random", 0.1, 0.1, 5))
    assert table_caption(with_baseline) == "Baselines only; no entry of a team is scored yet."
    row = replace(scored_row("solo", 0.1, 0.1, 5), entry=undefined, entries=(undefined,))
    assert table_caption(board_of(track, row)) == "No team has a score yet."
    empty = replace(board_of(challenge().tracks[0]), queries=0, scored_queries=0, preliminary_queries=0)
    assert phrase("what_is_ranked", empty).endswith(". Averaged over queries.")
    assert counts(empty) == ("0 teams", "0 entries")


@pytest.mark.parametrize(
    ("board", "statement"),
    [
        (
            board_with((0, 1), (2,)),
            "Two tiers; all below one are separable from its best. Typical differences under 0.061 are not separable.",
        ),
        (
            board_with((0, 1)),
            "One tier; no team is separable from the first. Typical differences under 0.061 are not separable.",
        ),
        (
            board_with((0,), (1,)),
            "All separable; each team is significantly better than every team after it. Typical differences "
            "under 0.061 are not separable.",
        ),
        (
            board_with(tuple(range(14))),
            "One tier; no team is separable from the first. Typical differences under 0.061 are not "
            "separable. 1 of 13 neighbouring ranks are separable.",
        ),
        (board_with(teams=1), "One team; a comparison needs two."),
        (board_of(challenge().tracks[0]), "No ranks yet; a comparison needs two teams with a score."),
        (board_with(teams=2, primary="NumRelRet"), "No intervals: NumRelRet is a sum over queries, not a mean."),
        (board_with(teams=2, primary="GMAP"), "No intervals: GMAP is a geometric mean over queries, not a mean."),
        (board_with(teams=2), "No intervals: they are not computed for this board."),
    ],
)
def test_a_board_says_how_sure_it_is(board: Board, statement: str) -> None:
    """The number of tiers and what they mean, the smallest separable difference, or why there are no statistics."""
    assert phrase("how_sure", board) == statement


def test_queries_that_all_agree_leave_no_smallest_difference() -> None:
    """One team scores 0 and the other 1 on each query: any difference would be separable."""
    board = board_with((0,), (1,))
    assert board.certainty[0] is not None
    alike = replace(board, certainty=(replace(board.certainty[0], smallest_difference=0.0), *board.certainty[1:]))
    assert "not separable" not in phrase("how_sure", alike) + phrase("front_summary", alike)


def pair(row: int, other: int, *, separable: bool, needed: int | None) -> RowPair:
    """A pair of rows; only what sentences read is real."""
    return RowPair(row, other, 0.01, (0.0, 0.02), 0.2, separable, 10, 1, 9, needed)


def test_a_board_says_what_would_separate_the_first_neighbours_that_are_not() -> None:
    """The number of queries in all, to two digits, next to the number of queries that the board has."""
    board = board_with((0, 1), (2, 3))
    first = replace(board, pairs=(pair(0, 1, separable=False, needed=1649),))
    assert phrase("how_sure", first).endswith("Separating ranks 1 and 2 would take about 1,600 queries instead of 484.")
    second = replace(board, pairs=(pair(0, 1, separable=True, needed=None), pair(2, 3, separable=False, needed=90_000)))
    assert phrase("how_sure", second).endswith(
        "Separating ranks 3 and 4 would take about 90,000 queries instead of 484."
    )
    without_difference = replace(board, pairs=(pair(0, 1, separable=False, needed=None),))
    assert "would take" not in phrase("how_sure", without_difference)
    preliminary = replace(board_with((0, 1), preliminary=True), pairs=(pair(0, 1, separable=False, needed=970),))
    assert phrase("how_sure", preliminary).endswith("about 970 queries instead of 97.")


def test_a_board_says_how_far_teams_moved_since_the_preliminary_ranking() -> None:
    """Next to how far chance would move them; nothing where one of the rankings is not shown."""
    board = board_with((0, 1))
    moved = replace(board, shake_up=ShakeUp(2, 1.24, (0.51, 1.36)))
    assert phrase("shake_up", moved) == (
        "Teams moved by 1.2 ranks on average; a random choice of 97 preliminary queries would move them by 0.5 to 1.4."
    )
    still = replace(board, shake_up=ShakeUp(0, 0.0, (0.0, 0.0)))
    assert phrase("shake_up", still) == (
        "Teams moved by 0.0 ranks on average; a random choice of 97 preliminary queries would move them by 0.0."
    )
    assert phrase("shake_up", board) == ""


def test_teams_that_share_a_rank_are_not_called_by_two_ranks() -> None:
    """The next neighbours with different ranks are named instead."""
    track = challenge().tracks[0]
    rows = [scored_row(name, score, 0.5, 5) for name, score in (("a", 0.3), ("b", 0.3), ("c", 0.2))]
    board = replace(
        board_of(track, *rows),
        certainty=(Certainty(484, (Tier((0, 1, 2), 0.06),), 0, 0.06),),
        pairs=(pair(0, 1, separable=False, needed=9000), pair(1, 2, separable=False, needed=800)),
    )
    assert "ranks 1 and 3 would take about 800 queries" in phrase("how_sure", board)


@pytest.mark.parametrize(
    ("board", "summary"),
    [
        (
            board_with((0, 1), (2,)),
            "The first two are not separable. Two tiers in all; differences of a typical pair under about 0.061 are "
            "not separable.",
        ),
        (board_with((0, 1, 2)), "Three teams in one tier; none is separable from the first."),
        (board_with(teams=3), "Three teams, ranked."),
    ],
)
def test_the_front_page_sums_a_board_up(board: Board, summary: str) -> None:
    """What is known about the first team, and the number of tiers."""
    assert phrase("front_summary", board) == summary


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {},
            ": how many of the 5 best items are among the first 5 of a list, and so on to 30; the mean of these "
            "shares, from 0 to 1. Averaged over 484 queries.",
        ),
        (
            {"primary": "MARp@3,20"},
            ": how many of the 3 best items are among the first 3 of a list, and so on to 20; the mean of these "
            "shares, from 0 to 1. Averaged over 484 queries.",
        ),
        (
            {"primary": "MARp@5"},
            ": the share of the z best items that are among the first z of the list; the mean over several cut-offs "
            "z. Averaged over 484 queries.",
        ),
        (
            {"primary": "AP", "equal_ranks": "earlier"},
            ": the mean, over the query's relevant items, of the precision at the rank of each. Averaged over 484 "
            "queries. Of equal scores, the earlier entry is first.",
        ),
        (
            {"primary": "NumRelRet", "final": "rest"},
            ": the number of relevant items in the list. Summed: 387 of 500 queries count now.",
        ),
        (
            {"primary": "AP", "preliminary": True},
            ": the mean, over the query's relevant items, of the precision at the rank of each. Averaged: 97 of 500 "
            "queries count now.",
        ),
    ],
)
def test_a_board_says_what_is_ranked(settings: dict[str, Any], text: str) -> None:
    """The meaning of the primary measure, the number of queries, and the rule for equal scores that share no rank."""
    assert phrase("what_is_ranked", board_with(teams=2, **settings)) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "MARp@5,10,15",
            "how many of the 5 best items are among the first 5 of a list, of the 10 best among the first 10, and so "
            "on, and then the mean of these shares; 0 is none, 1 is all",
        ),
        (
            "MARp@3,20",
            "how many of the 3 best items are among the first 3 of a list, of the 20 best among the first 20, and then "
            "the mean of these shares; 0 is none, 1 is all",
        ),
        ("RR", "one divided by the rank of the first relevant item"),
    ],
)
def test_a_measure_has_a_meaning(name: str, text: str) -> None:
    """That of MARp has its first two cut-offs."""
    assert phrase("meaning", parse_one(name)) == text


@pytest.mark.parametrize(
    ("share", "ranks", "words"),
    [
        (0.894, (1, 2), "first in 89 of 100 resamplings"),
        (0.0, (1, 9), "first in fewer than 1 of 100 resamplings"),
        (0.9994, (1, 2), "first in more than 99 of 100 resamplings"),
        (1.0, (1, 1), ""),
        (0.1, (2, 3), ""),
        (None, None, ""),
    ],
)
def test_a_team_that_may_be_first_has_the_share_of_resamples(
    share: float | None, ranks: tuple[int, int] | None, words: str
) -> None:
    """If another one may be first, too."""
    row = replace(scored_row("a", 0.3, 0.3, 5), certainty=(RowCertainty(None, ranks, 0, share, ()),))
    assert phrase("first_in", row) == words
    assert phrase("first_in", replace(row, certainty=())) == ""


def parts(board: Board) -> list[tuple[str, str]]:
    """Each number of a board with its parts."""
    return [(count, phrase("parts", board, count.split()[1])) for count in counts(board)]


def test_the_numbers_of_a_board_add_up() -> None:
    """Teams without baselines, entries with those of baselines, and queries, each with its parts."""
    track = challenge().tracks[0]
    undefined = entry("odd", 1, (None,) * 5, (None,) * 5, counting=True)
    statuses: tuple[State, ...] = ("failed", "misdated", "waiting")
    late = [entry("late", number, (None,) * 5, (None,) * 5, state=each) for number, each in enumerate(statuses, 1)]
    board = board_of(
        track,
        scored_row("a", 0.3, 0.3, 5, entries=3),
        replace(scored_row("odd", 0.1, 0.1, 5), entry=undefined, entries=(undefined,)),
        Row(None, None, rejected_row("late", 5).team, False, None, tuple(reversed(late))),
        rejected_row("b", 5),
        baseline_row("random", 0.1, 0.1, 5),
    )
    assert parts(board) == [
        ("4 teams", "1 ranked, 1 with an undefined score, 2 without a score; 1 baseline"),
        (
            "9 entries",
            "5 scored, 1 rejected, 2 not scored yet, 1 whose time of receipt is not confirmed; 1 of baselines",
        ),
        ("500 queries", "484 scored (97 preliminary), 16 left out"),
    ]


@pytest.mark.parametrize(
    ("changes", "queries"),
    [
        ({"stage": "preliminary"}, "97 scored, 387 kept for the final scores, 16 left out"),
        ({"final": "rest"}, "387 scored, 97 preliminary only, 16 left out"),
        ({}, "484 scored (97 preliminary), 16 left out"),
    ],
)
def test_the_queries_of_every_stage_add_up(changes: dict[str, Any], queries: str) -> None:
    """Each query is in one part."""
    board = board_of(challenge(**changes).tracks[0], scored_row("a", 0.3, 0.3, 5))
    assert parts(board)[-1] == ("500 queries", queries)
    none_flagged = replace(board, preliminary_queries=0)
    if board.track.shows_final:
        assert parts(none_flagged)[-1][1] == "484 scored, 16 left out"
    assert parts(replace(board, scored_queries=0))[-1][1] == "none scored yet"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0612, "0.061"), (0.06, "0.060"), (1649, "1,600"), (95, "95"), (0.00123, "0.0012"), (1.26, "1.3"), (12.6, "13")],
)
def test_numbers_of_sentences_have_two_digits(number: float, text: str) -> None:
    """Two digits are as many as such numbers are known to."""
    assert significant(number) == text


def test_numbers_and_times_of_sentences_are_in_english() -> None:
    """Up to twelve they are words; times are in UTC, regardless of the language of the machine."""
    assert [in_words(count) for count in (0, 1, 2, 12, 13, 1300)] == ["no", "one", "two", "twelve", "13", "1,300"]
    assert [ordinal(count) for count in (1, 3, 12, 13, 21, 22, 23, 111, 112)] == [
        *("first", "third", "twelfth", "13th", "21st", "22nd", "23rd", "111th", "112th")
    ]
    assert sentence("two nDCG") == "Two nDCG"
    assert sentence("") == ""
    when = datetime(2011, 7, 8, 12, 5, tzinfo=UTC)
    assert long_time(when) == "8 July 2011, 12:05 UTC"
    assert day_and_month(when) == "8 Jul"
