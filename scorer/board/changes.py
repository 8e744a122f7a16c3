"""What changed for each team of a board, and the gaps to the next rank and to the baselines, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from scorer.board.board import Board, Pair, Row, counting_entries
from scorer.live.entry import rounded
from scorer.measures.matched import Floats
from scorer.store.log import RESOLUTION
from scorer.wording import counted, exact_time, joined, long_time, shortened

NAMED, LONGEST_NAME = 3, 40
"""How many teams a sentence names, and with how many characters."""


def with_changes(board: Board) -> Board:
    """The board with what changed for each ranked team, by the rules and the scores that it has now.

    That is since the end of the day before that of the newest scored entry of all teams, in UTC, and since the newest
    one of the team.
    """
    teams = [row for row in (*board.rows, *board.gone) if not row.baseline]
    newest = [max((each.received for each in row.entries if each.may_count), default=None) for row in teams]
    last = {place: when for place, (row, when) in enumerate(zip(teams, newest, strict=True)) if row.rank and when}
    if not last:
        return board
    day = max(last.values()).replace(hour=0, minute=0, second=0, microsecond=0) - RESOLUTION
    scores, indexes = _counted(board, teams, [day, *last.values()])
    ranks = np.array([row.rank or np.nan for row in teams])
    places = {row.team.slug: place for place, row in enumerate(board.rows)}
    pairs = {(pair.row, pair.other): pair for pair in board.pairs}
    rows = list(board.rows)
    for moment, place in enumerate(last, 1):

        def since(when: int, label: str, own: int = place) -> str:
            score, equal = scores[when] - scores[when, own], board.track.equal_ranks == "earlier"
            ahead = (score > 0) | (equal & (score == 0) & (indexes[when] < indexes[when, own]))
            then = None if np.isnan(scores[when, own]) else 1 + int(ahead.sum())
            by = [teams[other] for other in np.flatnonzero((ranks < ranks[own]) & ~ahead)]
            passed = [teams[other] for other in np.flatnonzero((ranks > ranks[own]) & ahead)]
            return f"Since {label}: {_moved(then, int(ranks[own]), by, passed)}."

        of_days = [since(0, f"the end of {long_time(day).partition(',')[0]}")] if np.isfinite(scores[0]).any() else []
        of_entry = since(moment, f"its last scored entry, {exact_time(last[place])}")
        position = places[teams[place].team.slug]
        rows[position] = replace(rows[position], changes=(*of_days, of_entry, *_gaps(board, position, pairs)))
    return replace(board, rows=tuple(rows))


def _counted(board: Board, teams: Sequence[Row], moments: Sequence[datetime]) -> tuple[Floats, Floats]:
    """[moment, team]: the score that counted then, and the place of its entry in the record; NaN for none."""
    found = np.full((2, len(moments), len(teams)), np.nan)
    times = [when.timestamp() for when in moments]
    for place, row in enumerate(teams):
        steps = counting_entries(board, row, gone=True)
        scores = [(board.shown_scores(entry)[0], entry and entry.index) for _, entry in steps]
        values = np.array([(None, None), *scores], dtype=np.float64)
        found[:, :, place] = values[np.searchsorted([when.timestamp() for when, _ in steps], times, "right")].T
    return found[0], found[1]


def _moved(then: int | None, now: int, passed_by: Sequence[Row], passed: Sequence[Row]) -> str:
    if then is None:
        return f"no rank then, rank {now} now"
    ranks = f"rank {now} then and now" if then == now else f"rank {then} then, {now} now"
    by = [] if passed and not passed_by else [f"passed by {_names(passed_by)}"]
    return "; ".join([ranks, *by, *([f"passed {_names(passed)}"] if passed else [])])


def _names(rows: Sequence[Row]) -> str:
    names = [shortened(row.team.name, LONGEST_NAME) for row in rows[:NAMED]]
    more = [counted(len(rows) - NAMED, "other")] if len(rows) > NAMED else []
    return joined([*names, *more]) if names else "no team"


def _gaps(board: Board, own: int, pairs: Mapping[tuple[int, int], Pair]) -> Iterator[str]:
    """Whether the team is behind the next rank, or as the first ahead of it, and better than each baseline."""
    ranks = [row.rank for row in board.rows]
    rank = ranks[own] or 0
    above = [other for other, of_other in enumerate(ranks) if of_other and of_other < rank]
    below = [other for other, of_other in enumerate(ranks) if of_other and of_other > rank]
    for other in above[-1:] or below[:1]:
        lead = "Behind" if above else "Ahead of"
        yield f"{lead} rank {ranks[other]}, {_names([board.rows[other]])}: {_answer(board, own, other, pairs)}."
    for other, row in enumerate(board.rows):
        if row.baseline and board.shown_scores(row.entry)[0] is not None:
            yield f"Better than the baseline {_names([row])}: {_answer(board, own, other, pairs)}."


def _answer(board: Board, own: int, other: int, pairs: Mapping[tuple[int, int], Pair]) -> str:
    """The answer by the interval and the test of a pair, and the difference."""
    pair = pairs.get((min(own, other), max(own, other)))
    if pair is None:
        one, two = (board.shown_scores(board.rows[place].entry)[0] or 0.0 for place in (own, other))
        answer, difference = "not compared", one - two
    else:
        difference = pair.difference if own < other else -pair.difference
        claims_above = board.rows[other].baseline or own < other
        answer = "too close to call" if not pair.is_clear else "yes" if (difference > 0) == claims_above else "no"
    decimals = board.track.shown_decimals
    shown = f"{rounded(difference, decimals) or 0.0:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    return f"{answer} ({shown})"
