"""Who led a board, and the sentence about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scorer.board.charts.over_time import History, lasted, leaders_sentence, leads

OPENED = datetime(2011, 4, 20, 9, tzinfo=UTC)


def history(name: str, *entries: tuple[float, float | None], is_baseline: bool = False) -> History:
    """The scores of a team that counted, with the days after the opening from which on they did."""
    return History(name, tuple((OPENED + timedelta(days=day), score) for day, score in entries), is_baseline)


KETTLE = history("tea-kettle", (0, 0.065), (71, 0.458))
WINDOW = history("north-window", (7, 0.373), (75, 0.433))
OTHER = history("slow-river", (40, 0.27))


GONE = history("a", (0, 0.5), (3, None))
FALLING = [history("a", (0, 0.5), (2, 0.45), (5, 0.2)), history("b", (1, 0.4)), history("c", (1, 0.3))]
CHANGING = [history("a", (0, 0.1), (2, 0.3)), history("b", (1, 0.2), (3.25, 0.4))]


@pytest.mark.parametrize(
    ("teams", "sentence"),
    [
        ([KETTLE, WINDOW, OTHER], "north-window led for 64 days; tea-kettle passed it on 30 June."),
        # Better entries of the leader change nothing
        ([history("a", (0, 0.1), (5, 0.3)), history("b", (6, 0.2))], "a has led since 20 April."),
        ([], "No team has a score yet."),
        ([history("base", (0, 0.5), is_baseline=True)], "No team has a score yet."),
        (CHANGING, "a led for 1 day; b passed it on 23 April. The lead changed 3 times."),
        # The team with the highest score then has passed nobody
        (FALLING, "a led for 5 days; b has led since 25 April."),
        # As a team that is disqualified; while no team has a score, none leads
        ([GONE, history("b", (1, 0.4))], "a led for 3 days; b has led since 23 April."),
        ([GONE], "a led for 3 days."),
        ([GONE, history("b", (5, 0.4))], "a led for 3 days; b passed it on 25 April."),
    ],
)
def test_the_sentence_names_the_last_change_of_the_lead(teams: list[History], sentence: str) -> None:
    """With the time for which the earlier leader led."""
    assert leaders_sentence(teams) == sentence


def test_the_best_of_all_falls_with_its_team() -> None:
    """A score that is still the highest leads on."""
    assert [score for _, score in leads(FALLING)[1]] == [0.5, 0.45, 0.4]
    assert leads([GONE])[1][-1] == (OPENED + timedelta(days=3), None)


def test_each_lead_begins_with_a_higher_score() -> None:
    """An equal score and a baseline take none; of entries at one time the highest leads, then the first team."""
    teams = [
        history("late", (3, 0.5)),
        history("early", (1, 0.4), (2, 0.5)),
        history("base", (0, 0.9), is_baseline=True),
    ]
    (lead,), _ = leads(teams)
    assert (lead.team, lead.score, lead.until) == (1, 0.4, None)
    assert lead.since == OPENED + timedelta(days=1)

    at_once = [history("a", (0, 0.1)), history("b", (0, 0.3)), history("c", (0, 0.3))]
    assert [lead.team for lead in leads(at_once)[0]] == [1]

    found, _ = leads([KETTLE, WINDOW, OTHER])
    assert [(lead.team, lead.score) for lead in found] == [(0, 0.065), (1, 0.373), (0, 0.458)]
    assert [lead.until for lead in found] == [*(lead.since for lead in found[1:]), None]


def test_names_in_the_sentence_are_printable() -> None:
    """A page escapes markup in them."""
    sentence = leaders_sentence([history("<b>\u202e" + "x" * 300, (0, 0.1))])
    assert sentence.startswith("<b>\\u202e")
    assert len(sentence) < 80


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (timedelta(days=64, hours=23), "64 days"),
        (timedelta(days=1), "1 day"),
        (timedelta(hours=5, minutes=59), "5 hours"),
        (timedelta(minutes=1), "1 minute"),
        (timedelta(seconds=59), "less than a minute"),
    ],
)
def test_durations_are_in_one_unit(time: timedelta, text: str) -> None:
    """Whole ones only."""
    assert lasted(time) == text
