"""The words on a team's page for what became of an entry, and for what is left of the team's quota."""

from __future__ import annotations

from collections.abc import Collection

from markupsafe import Markup, escape

from scorer.board.board import Board, Row
from scorer.live.entry import STATE_WORDS, Answer, Entry, State
from scorer.live.quotas import left_in_words, next_reset
from scorer.site.status import moment
from scorer.wording import counted

NOT_THERE = (
    "A file was not in the folder yet when the organisers' machine looked into it after the time of receipt that the "
    "file states. Ask the organisers to correct the time."
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
