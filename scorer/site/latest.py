"""The latest entries of all boards, with what each changed when it was received."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest

from scorer.board.board import Row, counting_scores, score_at
from scorer.live.entry import STATE_WORDS, Entry
from scorer.site.entry_words import words_of
from scorer.site.views import BoardView
from scorer.store.canonical import RESOLUTION
from scorer.wording import counted, ordinal

SHOWN = 6
"""How many entries the front page lists."""


@dataclass(frozen=True, slots=True)
class LatestEntry:
    """An entry in the list of the front page."""

    boards: tuple[BoardView, ...]
    """The boards on which a team received the same at the same time, most often one."""
    row: Row
    entry: Entry
    text: str
    """What became of it: its score, or why it has none."""
    lead: str
    """That it took the lead; empty if it did not."""

    @property
    def is_rejected(self) -> bool:
        return self.entry.state == "rejected"


def latest_entries(boards: Sequence[BoardView], number: int = SHOWN) -> tuple[LatestEntry, ...]:
    """The entries received last, the latest first; without those whose time of receipt is not confirmed.

    What a team received at the same time and with the same result in several tracks is one.
    """
    candidates = [
        (board, view.row, entry)
        for board in boards
        for view in board.rows
        for entry in view.row.present_entries
        if entry.state != "misdated"
    ]
    latest = nlargest(
        number * len(boards), candidates, key=lambda shown: (shown[2].received, shown[1].team.slug, shown[2].file)
    )
    alike: dict[tuple[object, ...], LatestEntry] = {}
    for board, row, entry in latest:
        result = _result(board, row, entry)
        key = (row.team.slug, entry.received, entry.state == "rejected", *result)
        if key in alike and board not in alike[key].boards:
            alike[key] = replace(alike[key], boards=(board, *alike[key].boards))
        else:
            alike.setdefault(key, LatestEntry((board,), row, entry, *result))
    return tuple(alike.values())[:number]


def _result(board: BoardView, row: Row, entry: Entry) -> tuple[str, str]:
    """The text of an entry, and that it took the lead."""
    if entry.state == "rejected":
        return (f", {counted(entry.findings_count, 'error')}" if entry.findings_count else ""), ""
    if entry.state != "scored":
        return words_of(entry.state), ""
    if board.track.hides_scores:
        return "received", ""
    if entry.answer is not None and entry.answer != "improvement":
        return STATE_WORDS[entry.answer].label, ""
    score = board.board.shown_scores(entry)[0]
    if score is None:
        return "score undefined", ""
    if row.baseline:
        return f"{_printed(board, score)}, a baseline", ""
    if row.team.is_excluded:
        return f"{_printed(board, score)}, {row.team.status}", ""
    steps = counting_scores(board.board, row)
    before, after = score_at(steps, entry.received - RESOLUTION), score_at(steps, entry.received)
    if after != score:
        return f"{_printed(board, score)}; {_printed(board, after)} still counts", ""
    others = list(_other_scores(board, row, entry))
    now = _rank(score, others)
    then = None if before is None else _rank(before, others)
    text = _printed(board, score) + ("" if before is None else f", from {_printed(board, before)}")
    if now == 1 and then != 1 and others:
        return f"{text}, ", "took the lead"
    joint = "; " if before is not None else ", "
    return f"{text}{joint}{'still' if now == then else 'now'} {ordinal(now)}", ""


def _printed(board: BoardView, score: float | None) -> str:
    return "no score" if score is None else f"{score + 0.0:.{board.track.shown_decimals}f}"


def _other_scores(board: BoardView, row: Row, entry: Entry) -> Iterator[float]:
    """The scores of the other teams when an entry was received."""
    for view in board.rows:
        if not view.row.baseline and not view.row.team.is_excluded and view.row is not row:
            score = score_at(counting_scores(board.board, view.row), entry.received)
            if score is not None:
                yield score


def _rank(score: float, others: list[float]) -> int:
    return 1 + sum(other > score for other in others)
