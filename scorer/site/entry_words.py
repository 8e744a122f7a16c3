"""The words for what became of an entry, why a team has no score, and what is left of its quota."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from markupsafe import Markup, escape

from scorer.board.board import Board, Row
from scorer.live.entry import Admission, Answer, ColumnScores, Entry, Outcome, Presence, State
from scorer.live.quotas import left_in_words, next_reset
from scorer.reports.entries import REASONS
from scorer.site.status import moment
from scorer.wording import counted, day_and_month, utc_time

Word = Presence | Admission | Outcome | Answer
"""One of the words that the state of an entry has."""

LABELS: Mapping[Word, str] = {
    "waiting": "not scored yet",
    "failed": "not scored yet",
    "misdated": "time not confirmed",
    "superseded": "replaced",
    "over-quota": "over the quota",
    "improvement": "scored, an improvement",
    "no improvement": "scored, no improvement",
    "waits": "waits for an earlier entry",
}
"""What pages call a state, where they use other words."""

STATUS_WORDS: dict[State, str] = {
    "scored": "scored",
    "rejected": "rejected",
    "waiting": "not scored yet",
    "failed": "not scored yet",
    "misdated": "whose time of receipt is not confirmed",
    "early": "early",
    "late": "late",
    "over-quota": "over the quota",
}
"""How the parts of the number of entries are called; withdrawn entries are not counted."""

NOTES: Mapping[Word, str] = {
    "waiting": "An entry that is not scored yet was received. The organisers' machine has not succeeded in scoring it "
    "so far, and tries again. The team need not do anything.",
    "misdated": "The organisers must confirm the time of receipt of an entry before it can count.",
    "early": "An early entry was received before the first phase. It is scored, and is never ranked.",
    "late": "A late entry was received when its phase had closed. It is scored, and is never ranked.",
    "over-quota": "An entry over the quota is kept, and is not scored.",
    "superseded": "A replaced entry does not count: its file has another content now.",
    "withdrawn": "A withdrawn entry does not count: its file is gone.",
    "no improvement": "A preliminary score is shown only if it is clearly better than the one that was shown last for "
    "the team: the Ladder decides. Final scores do not depend on it.",
    "waits": "An entry waits for an earlier one if that has no result yet: the Ladder looks at entries in the order in "
    "which they were recorded.",
}
"""What the states mean, for the notes below the table."""


NOT_THERE = (
    "A file was not in the folder yet when the organisers' machine looked into it after the time of receipt that the "
    "file states. Ask the organisers to correct the time."
)
"""The note on such files."""


def status_words(entry: Entry) -> str:
    """What became of an entry: its outcome, or why it does not matter, as in ``replaced, late``."""
    words: list[Word] = [
        *([entry.presence] if entry.presence != "present" else []),
        *([entry.admission] if entry.admission != "ok" else []),
    ]
    return ", ".join(LABELS.get(word, word) for word in words or [entry.answer or entry.outcome])


def entry_notes(entries: Collection[Entry]) -> tuple[str, ...]:
    """The notes on the states of some entries."""
    states: set[Word] = {entry.presence for entry in entries}
    states |= {entry.admission for entry in entries}
    if any(entry.state in ("waiting", "failed") for entry in entries):
        states.add("waiting")
    states |= {entry.answer for entry in entries if entry.answer is not None and entry.state == "scored"}
    absent = [NOT_THERE] if any(entry.absent_at for entry in entries) else []
    return (*absent, *(text for state, text in NOTES.items() if state in states))


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
        return f"No rank: {REASONS[last.state]}."
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
