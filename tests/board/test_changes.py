"""What changed for each team, compared with the boards of the past, and the gaps to others."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from scorer.board.board import Board, Row, RowPair
from scorer.board.build import with_changes
from scorer.live.entry import Entry, State
from scorer.options import EqualRanks
from scorer.record.log import RESOLUTION
from scorer.rules.teams import ChangeKind, TeamChange, TeamStatus
from scorer.settings.tracks import Track
from scorer.wording import exact_time, long_time
from tests.boards import START, baseline_row, board_of, challenge, entry, in_state, rejected_row, scored_row, team

NAMES = ("amber", "birch", "cedar", "dune", "elm", "fern")
MISSED = " 484 queries may miss losses on up to 0.62 % of all queries."
MOVED = re.compile(r"Since (.*): (?:no rank then, rank (\d+) now|rank (\d+) then(?:, (\d+) now| and now); (.*))\.")


def random_row(name: str, chance: random.Random) -> Row:
    """Entries with few different scores, some of them rejected or withdrawn later, and decisions about the team."""
    sent = []
    for number in range(1, chance.randint(2, 6)):
        score = chance.choice((0.1, 0.2, 0.3, 0.4))
        state: State = chance.choice(("scored", "scored", "rejected"))
        made = entry(name, number, (score,) * 5, (score,) * 5, state=state)
        if chance.random() < 0.3:
            made = replace(in_state(made, "withdrawn"), gone_at=made.received + timedelta(hours=chance.randint(1, 200)))
        sent.append(made)
    decided: tuple[ChangeKind, ...] = ("disqualified", "reinstated") if chance.random() < 0.3 else ()
    history = tuple(
        TeamChange(9, sent[0].received + timedelta(hours=30 + 60 * number), kind) for number, kind in enumerate(decided)
    )
    return Row(None, None, replace(team(name), history=history), False, None, tuple(reversed(sent)))


def status_at(row: Row, when: datetime | None) -> TeamStatus:
    """The status of a team at a time; None: now."""
    made = [change.kind for change in row.team.history if change.at and (when is None or change.at <= when)]
    return "disqualified" if made[-1:] == ["disqualified"] else "ranked"


def chosen(entries: tuple[Entry, ...], counting: str) -> Entry | None:
    """The entry that counts, of those of a team, the latest first."""
    may = [each for each in reversed(entries) if each.may_count]
    best = max(may, key=lambda each: each.final[0] or 0.0, default=None)
    return may[-1] if may and counting == "last" else best


def as_of(rows: list[Row], when: datetime | None, track: Track) -> Board:
    """The board of the entries that were there at a time, with the status that the teams had; None: now."""
    then = []
    for row in rows:
        kept = tuple(
            replace(each, presence="present") if when and each.gone_at and each.gone_at > when else each
            for each in row.entries
            if when is None or each.received <= when
        )
        of_then = replace(row.team, status=status_at(row, when))
        then.append(replace(row, entry=chosen(kept, track.entry), entries=kept, team=of_then))
    gone = tuple(row for row in then if not row.present_entries)
    return replace(board_of(track, *(row for row in then if row.present_entries)), gone=gone)


def ranks(board: Board) -> dict[str, int]:
    """The rank of each ranked team."""
    return {row.team.name: row.rank for row in board.rows if row.rank}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("counting", ["best", "last"])
@pytest.mark.parametrize("equal_ranks", ["shared", "earlier"])
def test_ranks_of_then_are_those_of_the_board_of_then(seed: int, counting: str, equal_ranks: EqualRanks) -> None:
    """Also with files that are gone since, teams without a file, and decisions; and the teams that passed are named."""
    chance = random.Random(seed)
    rows = [random_row(name, chance) for name in NAMES]
    track = challenge(entry=counting, equal_ranks=equal_ranks).tracks[0]
    shown = with_changes(as_of(rows, None, track))
    ranked = [row for row in shown.rows if row.rank]
    last = {row.team.name: max(each.received for each in row.entries if each.may_count) for row in ranked}
    day = max(last.values(), default=START).replace(hour=0, minute=0, second=0) - RESOLUTION
    of_day = ranks(as_of(rows, day, track))
    for row in ranked:
        name = row.team.name
        then = {f"the end of {long_time(day).partition(',')[0]}": of_day} if of_day else {}
        of_entry = ranks(as_of(rows, last[name], track))
        then[f"its last scored entry, {exact_time(last[name])}"] = of_entry
        found = [match for change in row.changes if (match := MOVED.fullmatch(change))]
        assert [match[1] for match in found] == list(then)
        for match, before in zip(found, then.values(), strict=True):
            assert (match[3] and int(match[3])) == before.get(name)
            assert int(match[2] or match[4] or match[3]) == row.rank
            if match[5]:
                assert match[5] == _passed(name, before, ranks(shown))


def _passed(own: str, before: dict[str, int], now: dict[str, int]) -> str:
    """Who is ahead now and was not then, and who is behind now and was ahead."""
    ahead = [name for name in before if before[name] < before[own]]
    by = [name for name in now if now[name] < now[own] and name not in ahead]
    passed = [name for name in now if now[name] > now[own] and name in ahead]
    texts = [f"passed by {_listed(by) or 'no team'}"] if by or not passed else []
    return "; ".join([*texts, *([f"passed {_listed(passed)}"] if passed else [])])


def _listed(names: list[str]) -> str:
    shown = names[:3] + ([f"{len(names) - 3} other{'s' if len(names) > 4 else ''}"] if len(names) > 3 else [])
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def gaps(pairs: dict[tuple[int, int], RowPair], name: str, *, stage: str = "final") -> list[str]:
    """The sentences on gaps of a team of a board with three teams, a baseline between them and one after them."""
    rows = [
        scored_row("first", 0.5, 0.5, 5),
        scored_row("second", 0.4, 0.4, 5),
        baseline_row("most popular", 0.35, 0.35, 5),
        scored_row("third", 0.3, 0.3, 5),
        baseline_row("random", 0.3, 0.3, 5),
        replace(rejected_row("undefined", 5), baseline=True, entry=entry("undefined", 1, (None,) * 5, (None,) * 5)),
    ]
    board = replace(board_of(challenge(stage=stage).tracks[0], *rows), pairs=tuple(pairs.values()))
    (row,) = (row for row in with_changes(board).rows if row.team.name == name)
    return [change for change in row.changes if not change.startswith("Since")]


def compared(row: int, other: int, ends: tuple[float, float] | None, *, separable: bool | None) -> RowPair:
    """A pair with this interval and this decision."""
    difference = round((0.5, 0.4, 0.35, 0.3, 0.3)[row] - (0.5, 0.4, 0.35, 0.3, 0.3)[other], 4)
    difference = -difference if ends and ends[1] < 0 else difference
    return RowPair(row, other, difference, ends, 0.01, separable, 1, 1, 1, None)


@pytest.mark.parametrize(
    ("ends", "separable", "answer"),
    [
        ((0.05, 0.15), True, "yes"),
        ((-0.01, 0.15), True, "too close to call"),
        ((0.0, 0.15), True, "too close to call"),
        ((0.05, 0.15), False, "too close to call"),
        (None, True, "too close to call"),
    ],
)
def test_gaps_have_an_answer_by_the_interval_and_the_test(
    ends: tuple[float, float] | None, separable: bool, answer: str
) -> None:
    """Yes only if both agree. The first team has the gap to the second."""
    pairs = {(0, 1): compared(0, 1, ends, separable=separable)}
    assert gaps(pairs, "first")[0] == f"Ahead of rank 2, second: {answer} (+0.1000)."
    assert gaps(pairs, "second")[0] == f"Behind rank 1, first: {answer} (−0.1000)."


@pytest.mark.parametrize(
    ("ends", "of_first", "of_third"),
    [
        ((0.05, 0.15), "Better: yes (+0.1500)", "Worse: yes (−0.0500)"),
        ((-0.15, -0.05), "Worse: yes (−0.1500)", "Better: yes (+0.0500)"),
        ((-0.01, 0.15), "Better: too close to call (+0.1500)", "Worse: too close to call (−0.0500)"),
    ],
)
def test_baselines_have_an_answer_by_the_interval(ends: tuple[float, float], of_first: str, of_third: str) -> None:
    """By which of the two is above; a baseline that was not compared has the difference only.

    The probability that 484 queries have none of 0.62 % of all queries is 5 %.
    """
    pairs = {pair: compared(*pair, ends, separable=None) for pair in ((0, 2), (2, 3))}
    assert gaps(pairs, "first")[1:] == [
        of_first.replace(":", " than the baseline most popular:") + "." + MISSED * of_first.startswith("Better: yes"),
        "Better than the baseline random: not compared (+0.2000).",
    ]
    assert gaps(pairs, "third")[1:] == [
        of_third.replace(":", " than the baseline most popular:") + "." + MISSED * of_third.startswith("Better: yes"),
        "Better than the baseline random: not compared (+0.0000).",
    ]


def test_only_ranked_teams_with_shown_scores_have_changes() -> None:
    """No baseline, no team without a score; nothing while no entry may count."""
    board = with_changes(board_of(challenge().tracks[0], *(scored_row("a", 0.5, 0.5, 5), rejected_row("b", 5))))
    assert [bool(row.changes) for row in board.rows] == [True, False]
    assert "undefined" not in " ".join(gaps({}, "first"))
    nothing = board_of(challenge().tracks[0], rejected_row("b", 5), baseline_row("random", 0.3, 0.3, 5))
    assert with_changes(nothing) == nothing
