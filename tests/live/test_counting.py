"""Which score of a team counted at each time, and what the figure of a board and its front page say of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from scorer.board.board import Board, Row, counting_scores, score_at
from scorer.board.site.figures import board_figures
from scorer.live.entry import State
from scorer.rules.teams import ChangeKind, TeamChange
from tests.boards import board_of, challenge, entry, in_state, team

HOUR = timedelta(hours=1)


def row(name: str, *scores: tuple[float, float]) -> Row:
    """A team with an entry for each pair of a preliminary and a final score, the first one first."""
    sent = [entry(name, number, (final,) * 5, (early,) * 5) for number, (early, final) in enumerate(scores, 1)]
    return Row(None, None, team(name), False, sent[-1], tuple(reversed(sent)))


def changed(one: Row, kind: ChangeKind, entries: int) -> Row:
    """The row of a team about which there was a decision an hour after it had sent this many entries."""
    change = TeamChange(99, one.entries[-entries].received + HOUR, kind)
    return replace(one, team=replace(one.team, history=(*one.team.history, change)))


def scores(one: Row, **settings: str) -> list[float | None]:
    """What counted from one change to the next."""
    return [score for _, score in counting_scores(board(one, **settings), one)]


def board(*rows: Row, counting: str = "best", stage: str = "final") -> Board:
    """A board with preliminary queries."""
    return board_of(challenge(entry=counting, stage=stage).tracks[0], *rows)


MIXED = row("mixed", (0.5, 0.4), (0.4, 0.7), (0.6, 0.3), (0.6, 0.9), (0.1, 0.2))
"""Its entries are not in the same order by preliminary as by final scores."""


@pytest.mark.parametrize(
    ("counting", "stage", "expected"),
    [
        ("best", "final", [0.4, 0.3]),
        ("best", "preliminary", [0.5, 0.6]),
        ("last", "final", [0.4, 0.7, 0.3, 0.9, 0.2]),
        ("last", "preliminary", [0.5, 0.4, 0.6, 0.1]),
        ("picks", "final", [0.4, 0.3]),
    ],
)
def test_the_score_of_the_entry_that_the_rule_chooses_counts(counting: str, stage: str, expected: list[float]) -> None:
    """By preliminary scores, also where final ones are shown; from the receipt of the entry on."""
    assert scores(MIXED, counting=counting, stage=stage) == expected
    (first, _), *_ = counting_scores(board(MIXED, counting=counting, stage=stage), MIXED)
    assert first == MIXED.entries[-1].received


def test_picks_count_from_the_time_at_which_they_were_made() -> None:
    """Before that the best entry; of several picks the best; without picks the best again."""
    *_, second, first = MIXED.entries
    times = [MIXED.entries[0].received + number * HOUR for number in (1, 2, 3)]
    picked = {first: (True, True, False), second: (False, True, False)}
    entries = (
        replace(each, picks=tuple(zip(times, picked.get(each, (False,) * 3), strict=True))) for each in MIXED.entries
    )
    one = replace(MIXED, entries=tuple(entries))

    found = counting_scores(board(one, counting="picks"), one)

    assert [score for _, score in found] == [0.4, 0.3, 0.4, 0.3]
    assert [when for when, _ in found[2:]] == [times[0], times[2]]


def test_nothing_counts_while_a_team_is_disqualified_or_withdrawn() -> None:
    """From the decision until the next one, regardless of what it submits in between."""
    gone = changed(MIXED, "disqualified", 2)
    back = changed(gone, "reinstated", 3)
    left = changed(back, "withdrawn", 4)

    assert scores(gone, counting="last") == [0.4, 0.7, None]
    assert scores(back, counting="last") == [0.4, 0.7, None, 0.3, 0.9, 0.2]
    assert scores(left, counting="last") == [0.4, 0.7, None, 0.3, 0.9, None]
    assert score_at(counting_scores(board(gone), gone), MIXED.entries[0].received) is None


def test_entries_that_cannot_count_are_left_out() -> None:
    """Rejected, withdrawn, late and misdated ones."""
    states: tuple[State, ...] = ("rejected", "withdrawn", "late", "misdated")
    one = row("one", *[(0.1, 0.1)] * 4, (0.05, 0.05))
    wrong = tuple(in_state(each, state) for each, state in zip(one.entries[1:], states, strict=True))

    assert scores(replace(one, entries=(one.entries[0], *wrong))) == [0.05]


def test_the_figure_ends_with_the_scores_and_the_leader_of_the_table() -> None:
    """By final scores of entries with the best preliminary ones. A disqualified leader led until then."""
    other = row("other", (0.2, 0.35), (0.1, 0.8))
    shown = board(MIXED, other)

    (figure,) = board_figures(shown)

    assert [score_at(counting_scores(shown, each), each.entries[0].received) for each in (MIXED, other)] == [0.3, 0.35]
    assert figure.caption.startswith("mixed led for")
    assert "; other has led since " in figure.caption
    assert "The best MARp@5,10,15,20,25,30 is 0.3500.</desc>" in figure.svg.text
    assert "0.3500" in figure.svg.text
    assert not {"0.9000", "0.8000", "0.7000"} & set(figure.svg.text.replace("<", ">").split(">"))

    gone = changed(row("gone", (0.5, 0.5)), "disqualified", 1)
    (figure,) = board_figures(board(other, gone))
    assert figure.caption.startswith("gone led for 1 hour; other ")
