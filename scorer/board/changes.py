"""What changed for each team of a board, and the gaps to the next rank and to the baselines, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from scorer.board.board import Board, Pair, Row, counting_entries
from scorer.board.build import ranks
from scorer.live.entry import rounded
from scorer.options import LEVEL
from scorer.store.log import RESOLUTION
from scorer.wording import counted, exact_time, joined, long_time, shortened

NAMED, LONGEST_NAME = 3, 40
"""How many teams a sentence names, and with how many characters."""


def with_changes(board: Board) -> Board:
    """The board with what changed for each ranked team, by the rules and the scores that it has now.

    That is since the end of the day before that of the newest scored entry of all teams, in UTC, and since the newest
    one of the team.
    """
    teams = _rows_of(board)
    ranked = [own for own, row in enumerate(teams) if row.rank]
    last = {own: max(each.received for each in teams[own].entries if each.may_count) for own in ranked}
    if not last:
        return board
    steps = [
        [(when, board.shown_scores(entry)[0], entry.index if entry else 0) for when, entry in reversed(counting)]
        for counting in (counting_entries(board, row, gone=True) for row in teams)
    ]

    def ranks_at(moment: datetime) -> tuple[int | None, ...]:
        found = [next((step for step in of_team if step[0] <= moment), (moment, None, 0)) for of_team in steps]
        return ranks([score for _, score, _ in found], [index for *_, index in found], board.track.equal_ranks)

    day = max(last.values()).replace(hour=0, minute=0, second=0, microsecond=0) - RESOLUTION
    of_day = f"the end of {long_time(day).partition(',')[0]}", ranks_at(day)
    places = [place for place, row in enumerate(board.rows) if not row.baseline]
    pairs = {(pair.row, pair.other): pair for pair in board.pairs}
    rows = list(board.rows)
    for own, when in last.items():
        thens = (*([of_day] if any(of_day[1]) else []), (f"its last scored entry, {exact_time(when)}", ranks_at(when)))
        moved = [f"Since {label}: {_moved(teams, own, then)}." for label, then in thens]
        rows[places[own]] = replace(rows[places[own]], changes=(*moved, *_gaps(board, places[own], pairs)))
    return replace(board, rows=tuple(rows))


def _rows_of(board: Board) -> list[Row]:
    """All rows but those of baselines; where entries are rows, also one for each entry that is gone, at the end."""
    rows = [row for row in (*board.rows, *board.gone) if not row.baseline]
    if board.track.rows == "team":
        return rows
    gone = (
        replace(row, rank=None, tag=each.file, entries=(each,)) for row in rows for each in row.entries if each.gone_at
    )
    return [*(replace(row, entries=(row.entry,) if row.entry else ()) for row in rows), *gone]


def _moved(teams: Sequence[Row], own: int, ranks_then: Sequence[int | None]) -> str:
    """The rank of a team then and now, who passed it, and whom it passed."""
    then, now = ranks_then[own], teams[own].rank or 0
    if then is None:
        return f"no rank then, rank {now} now"
    compared = [(row, row.rank, rank is not None and rank < then) for row, rank in zip(teams, ranks_then, strict=True)]
    by = [row for row, rank, was_ahead in compared if rank and rank < now and not was_ahead]
    passed = [row for row, rank, was_ahead in compared if rank and rank > now and was_ahead]
    text = f"rank {now} then and now" if then == now else f"rank {then} then, {now} now"
    text += f"; passed by {_names(by)}" if by or not passed else ""
    return text + (f"; passed {_names(passed)}" if passed else "")


def _names(rows: Sequence[Row]) -> str:
    names = [shortened(row.name, LONGEST_NAME) for row in rows[:NAMED]]
    return joined([*names, *([counted(len(rows) - NAMED, "other")] if rows[NAMED:] else [])] or ["no team"])


def _gaps(board: Board, own: int, pairs: Mapping[tuple[int, int], Pair]) -> Iterator[str]:
    """Whether the team is behind the next rank, or as the first ahead of it, and better or worse than each baseline."""
    ranks = [row.rank or 0 for row in board.rows]
    above = [other for other, rank in enumerate(ranks) if 0 < rank < ranks[own]]
    below = [other for other, rank in enumerate(ranks) if rank > ranks[own]]
    listed = {other: f"{'Behind' if above else 'Ahead of'} rank {ranks[other]}," for other in above[-1:] or below[:1]}
    for other, row in enumerate(board.rows):
        if row.baseline and board.shown_scores(row.entry)[0] is not None:
            listed[other] = "{} than the baseline"
    for other, lead in listed.items():
        pair = pairs.get((min(own, other), max(own, other)))
        if pair is None:
            one, two = (board.shown_scores(board.rows[place].entry)[0] or 0.0 for place in (own, other))
            answer, difference = "not compared", one - two
        else:
            difference = pair.difference if own < other else -pair.difference
            is_so = not ranks[other] or (difference > 0) == (own < other)
            answer = "too close to call" if not pair.is_clear else "yes" if is_so else "no"
        decimals = board.track.shown_decimals
        shown = f"{rounded(difference, decimals) or 0.0:+.{decimals}f}".replace("-", "\N{MINUS SIGN}")
        word = "Better" if difference >= 0 else "Worse"
        missed = _missed(board) if board.rows[other].baseline and word == "Better" and answer == "yes" else ""
        yield f"{lead.format(word)} {_names([board.rows[other]])}: {answer} ({shown}).{missed}"


def _missed(board: Board) -> str:
    """How rare losses may be that the queries do not show: those that a sample lacks with the probability `LEVEL`."""
    queries = board.scored_queries if board.track.shows_final else board.preliminary_queries
    share = 100 * (1 - LEVEL ** (1 / max(queries, 1)))
    return f" {counted(queries, 'query', 'queries')} may miss losses on up to {share:.2g} % of all queries."
