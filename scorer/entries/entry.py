"""Entries: submissions as the challenge received them, their state and scores, and which one counts for a team."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from scorer.challenge.settings import Track
from scorer.errors import Problem
from scorer.matching.match import Counts
from scorer.options import Split
from scorer.scoring.means import Mean
from scorer.store.records import StoredSubmission
from scorer.wording import printable_name

ColumnScores = tuple[float | None, ...]
"""One for each column of the board, rounded to the track's decimals; None where undefined or not to be shown."""

Status = Literal["scored", "rejected", "withdrawn", "pending", "failed", "misdated"]
"""Withdrawn: no longer among the submissions. Pending: not scored yet. Failed: scoring it was tried, without a result.
Misdated: its time of receipt is impossible, so it does not count."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a team in a track."""

    file: str
    """Its path under submissions/, as `printable_name` returns it."""
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    received: datetime
    """UTC."""
    status: Status
    is_counting: bool
    """Whether the rank of the team comes from this entry."""
    final: ColumnScores
    preliminary: ColumnScores
    counts: Counts | None
    findings: tuple[Problem, ...]
    """Why it was rejected, or what to know though it was scored; the first of them."""
    findings_count: int
    """How many there are in all."""

    def scores(self, *, final: bool) -> ColumnScores:
        """The final or the preliminary scores."""
        return self.final if final else self.preliminary


# Entries and rows


def rounded(value: float | None, decimals: int) -> float | None:
    """A score as it is compared and printed: half to even, as ``f"{value:.{decimals}f}"``; None if it is no number."""
    if value is None or not math.isfinite(value):
        return None
    return round(value, decimals) + 0.0  # + 0.0: what rounds to -0.0 is 0


def entry_of(kept: StoredSubmission, track: Track, columns: tuple[str, ...]) -> Entry:
    """The entry that a stored submission makes."""
    result = kept.result
    findings = result.findings if result else None
    means: Mapping[Split, Mapping[str, Mean]] = result.means if result else {}
    final = means.get(track.final, {}) if track.shows_final else {}
    return Entry(
        file=printable_name(kept.submission.file),
        digest=kept.submission.digest,
        received=kept.submission.received,
        status=_status(kept),
        is_counting=False,
        final=_scores(final, columns, track.decimals),
        preliminary=_scores(means.get("preliminary", {}), columns, track.decimals),
        counts=result.counts if result else None,
        findings=tuple(findings) if findings else (),
        findings_count=findings.count if findings else 0,
    )


def _status(kept: StoredSubmission) -> Status:
    if not kept.present:
        return "withdrawn"
    if kept.misdated:
        return "misdated"
    if kept.result is not None:
        return kept.result.status
    return "pending" if kept.failure is None else "failed"


def _scores(means: Mapping[str, Mean], columns: tuple[str, ...], decimals: int) -> ColumnScores:
    return tuple(rounded(means[name].value, decimals) if name in means else None for name in columns)


def counting_entry(latest_first: list[Entry], track: Track, by_preliminary: bool) -> Entry | None:
    """The one of a team's scored entries that its place comes from; of equally good ones the earliest."""
    if track.entry == "last" or not latest_first:
        return latest_first[0] if latest_first else None
    return max(reversed(latest_first), key=lambda entry: _order(entry.scores(final=not by_preliminary)[0]))


def _order(score: float | None) -> float:
    return -math.inf if score is None else score
