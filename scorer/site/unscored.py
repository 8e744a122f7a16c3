"""Why a team has no score on a board."""

from __future__ import annotations

from scorer.board.board import Row
from scorer.live.entry import STATE_WORDS, ColumnScores
from scorer.wording import counted, day_and_month, utc_time


def why_without_score(row: Row, scores: ColumnScores, *, hides_scores: bool) -> str:
    """Why a team has no score."""
    if hides_scores and any(entry.state == "scored" for entry in row.sent):
        return "Scores are not shown yet."
    if row.entry is not None:
        return "" if scores[0] is not None else "The score is undefined."
    last = row.sent[0]
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
