"""The score of a team that counted at each time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from operator import itemgetter

from scorer.board.board import Board, Row
from scorer.live.entry import Entry, counting_entry

Steps = tuple[tuple[datetime, float | None], ...]
"""The score that counts from each time on, where it changes, in order of time; None: no score counts."""


def counting_scores(board: Board, row: Row) -> Steps:
    """The score of a team that counted from each time on, as the board shows it.

    At each time, the rules of the board choose an entry of those received until then, by the picks of that time. None
    counts while the team is disqualified or withdrawn. Files that are gone are left out, and merged teams are one.
    """
    changes: list[tuple[datetime, int, Entry | str]] = [
        *((entry.received, 0, entry) for entry in reversed(row.entries) if entry.may_count),
        *((at, 1, "picked") for at in {at for entry in row.entries for at, _ in entry.picks}),
        *((change.at, 2, change.kind) for change in row.team.history if change.at),
    ]
    steps: dict[datetime, float | None] = {}
    sent: list[Entry] = []
    best, is_excluded = None, False
    for when, _, change in sorted(changes, key=itemgetter(0, 1)):
        if isinstance(change, Entry):
            sent.append(change)
            among = [best, change] if best else [change]
        else:
            is_excluded = {"disqualified": True, "withdrawn": True, "reinstated": False}.get(change, is_excluded)
            among = sent
        then = [replace(each, picks=tuple(pick for pick in each.picks if pick[0] <= when)) for each in among]
        best = counting_entry(sorted(then, key=lambda each: each.index), board.track, board.preliminary_queries > 0)
        steps[when] = None if is_excluded else board.shown_scores(best)[0]
    befores = [None, *steps.values()]
    return tuple(step for step, before in zip(steps.items(), befores, strict=False) if step[1] != before)


def score_at(steps: Steps, when: datetime) -> float | None:
    """The score that counted at a time."""
    return next((score for since, score in reversed(steps) if since <= when), None)
