"""The words for what became of an entry, why a team has no score, and what is left of its quota."""

from __future__ import annotations

from collections.abc import Collection

from markupsafe import Markup, escape

from scorer.board.board import Board, Row
from scorer.live.entry import STATE_WORDS, Answer, ColumnScores, Entry, State
from scorer.live.quotas import left_in_words, next_reset
from scorer.site.status import moment
from scorer.wording import counted, day_and_month, utc_time

STATES: tuple[State, ...] = ("scored", "rejected", "waiting", "failed", "misdated", "early", "late", "over-quota")
"""The parts of the number of entries; withdrawn entries are not counted."""


def words_of(state: State) -> str:
    """What a part of the number of entries is called."""
    return STATE_WORDS[state].of_board or STATE_WORDS[state].label


NOT_THERE = (
    "A file was not in the folder yet when the organisers' machine looked into it after the time of receipt that the "
    "file states, outside of that phase or day of the quota. Ask the organisers to correct the time."
)
"""The note on such files."""


def status_words(entry: Entry) -> str:
    """What became of an entry: its outcome, or why it does not matter, as in ``replaced, late``."""
    words: list[State | Answer] = []
    if entry.presence != "present":
        words.append(entry.presence)
    if entry.admission != "ok":
        words.append(entry.admission)
    return ", ".join(STATE_WORDS[word].label for word in words or [entry.answer or entry.outcome])


def entry_notes(entries: Collection[Entry]) -> tuple[str, ...]:
    """The notes on the states of some entries."""
    states: set[str] = {entry.presence for entry in entries}
    states |= {entry.admission for entry in entries}
    if any(entry.state in ("waiting", "failed") for entry in entries):
        states.add("waiting")
    states |= {entry.answer for entry in entries if entry.answer is not None and entry.state == "scored"}
    absent = [NOT_THERE] if any(entry.absent_at for entry in entries) else []
    return (*absent, *(words.note for state, words in STATE_WORDS.items() if words.note and state in states))


def why_without_score(row: Row, scores: ColumnScores, *, hides_scores: bool) -> str:
    """Why a team has no score on a board; empty if it has one."""
    if hides_scores and any(entry.state == "scored" for entry in row.present_entries):
        return "Scores are not shown yet."
    if row.entry is not None:
        return "" if scores[0] is not None else "The score is undefined."
    last = row.present_entries[0]
    if last.state == "scored":
        return "No score is shown for the entries that are there."
    if last.state == "misdated":
        return "Nothing scored. The time of receipt is not confirmed."
    if last.state in ("early", "late", "over-quota"):
        return f"No rank: {STATE_WORDS[last.state].reason}."
    if last.state != "rejected":
        return f"Not scored yet: the file of {day_and_month(last.received)}."
    errors = f": {counted(last.findings_count, 'error')}" if last.findings_count else ""
    when = f"{day_and_month(last.received)}, {utc_time(last.received)[11:]}"
    return f"Nothing scored. The file of {when} was rejected{errors}."


def looks_in_words(board: Board, row: Row) -> str:
    """How many looks a team had, as a sentence; empty where they are not shown."""
    if not board.shows_looks:
        return ""
    return f"{counted(row.looks, 'look')} at the preliminary queries: its scored entries so far, also withdrawn ones."


def quota_left(board: Board, row: Row) -> Markup:
    """What the team has left of its quota, as a sentence of HTML; empty without a quota."""
    if not row.left:
        return Markup()
    phase = board.phases.current_or_next(board.now)
    words = left_in_words(row.left, phase.name if phase else None)
    lead = "Left of its quota" if board.frozen_since is None else "Left of its quota when the board was frozen"
    text = escape(f"{lead}: {words}.")
    reset = next_reset(row.left)
    if reset is None:
        return text
    zone = board.track.quota.zone
    begins = escape("" if zone == "UTC" else f" (midnight in {zone})")
    return text + Markup(" The limits of a day begin again {}{}.").format(moment(reset), begins)
