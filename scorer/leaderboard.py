"""The rows and columns of a board: frozen plain values, made from the store, shown by the website and the terminal.

Values are rounded to the track's decimals before anything is compared, so what is printed is what was ranked. All
ordering is done here, none in the database, and a blank never outranks a number.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from scorer import wording
from scorer.challenge.settings import RESERVED, Track
from scorer.errors import Problem
from scorer.matching.match import Counts
from scorer.options import Split
from scorer.store import Basis, Kept, Mean, Result, Store
from scorer.wording import counted, printable

Scores = tuple[float | None, ...]
"""One for each column of the board, rounded to the track's decimals; None where undefined or not to be shown."""


@dataclass(frozen=True, slots=True)
class Team:
    """Who sent something in."""

    name: str
    """Foreign text, made printable."""
    slug: str
    """Safe in a path and in an address, unlike those of all other teams (also without regard to case)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file that a team sent in for a track."""

    file: str
    """Its path under submissions/, as foreign text made printable."""
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    received: datetime
    """UTC."""
    status: str
    """"scored" | "rejected" | "withdrawn" (no longer among the submissions) | "pending" (not yet scored so)."""
    counts_for_board: bool
    """The one of the team's entries that its place on the board comes from."""
    final: Scores
    preliminary: Scores
    counts: Counts | None
    findings: tuple[Problem, ...]
    """Why it was rejected, or what to know though it was scored; the first of them."""
    findings_count: int
    """How many there are in all."""


@dataclass(frozen=True, slots=True)
class Row:
    """A team's line on a board."""

    rank: int | None
    """From 1; equal scores as the track's rule has it; None for a baseline, and for a team with nothing scored."""
    team: Team
    baseline: bool
    entry: Entry | None
    """The entry that counts; None where the team has nothing scored."""
    entries: tuple[Entry, ...]
    """All, latest first."""

    @property
    def sent(self) -> tuple[Entry, ...]:
        """Those that were not withdrawn; at least one."""
        return tuple(entry for entry in self.entries if entry.status != "withdrawn")

    @property
    def last_received(self) -> datetime:
        return self.sent[0].received


@dataclass(frozen=True, slots=True)
class Board:
    """One track's leaderboard."""

    track: Track
    columns: tuple[str, ...]
    """Canonical names of the measures, the primary one first."""
    rows: tuple[Row, ...]
    """Best first; baselines stand where their score puts them, teams with nothing scored come last."""
    queries: int
    """In the solution."""
    scored_queries: int
    """Those of them that enter the mean of the primary measure (all splits taken together)."""
    preliminary_queries: int
    """Those of `scored_queries` that the preliminary scores come from; 0 where the solution flags none."""
    solution_digest: str
    """SHA-256 in hexadecimal; empty where the track was never scored."""


def board(store: Store, track: Track, basis: Basis | None = None) -> Board:
    """The track's board as the store has it, by this solution and these settings, or those it was last scored with.

    Raises `StoreError` where the database fails.
    """
    basis = basis or store.basis(track.name)
    kept = store.entries(track.name, basis)
    columns = tuple(map(str, track.all_measures))
    flagged = store.solution(basis.solution).flagged if basis else ()
    results = [each.result for each in kept if each.result is not None and each.result.status == "scored"]
    scored_queries = _defined(results, "all", columns[0], len(flagged))
    preliminary_queries = _defined(results, "preliminary", columns[0], int(sum(flagged)))
    by_team: dict[str, list[Entry]] = {}
    for each in kept:
        by_team.setdefault(printable(each.submission.team), []).append(_entry(each, track, columns))
    baselines = set(map(printable, track.baselines))
    rows = [
        _row(name, entries, track, baseline=name in baselines, by_preliminary=preliminary_queries > 0)
        for name, entries in by_team.items()
        if any(entry.status != "withdrawn" for entry in entries)
    ]
    return Board(
        track=track,
        columns=columns,
        rows=_ranked(rows, track),
        queries=len(flagged),
        scored_queries=scored_queries,
        preliminary_queries=preliminary_queries,
        solution_digest=basis.solution if basis else "",
    )


# Entries and rows


def rounded(value: float | None, decimals: int) -> float | None:
    """A score as it is compared and printed: half to even, as ``f"{value:.{decimals}f}"``; None for None and NaN."""
    if value is None or math.isnan(value):
        return None
    return round(value, decimals) + 0.0  # + 0.0: what rounds to -0.0 is 0


def _defined(results: Iterable[Result], split: Split, measure: str, queries: int) -> int:
    """How many of the split's queries enter the mean of the measure; 0 as long as nothing is scored."""
    means = (result.means.get(split, {}).get(measure) for result in results)
    return max((queries - mean.undefined for mean in means if mean is not None), default=0)


def _entry(kept: Kept, track: Track, columns: tuple[str, ...]) -> Entry:
    result = kept.result
    findings = result.findings if result else None
    means: Mapping[Split, Mapping[str, Mean]] = result.means if result else {}
    final = means.get(track.final, {}) if track.stage == "final" else {}
    return Entry(
        file=printable(kept.submission.file),
        digest=kept.submission.digest,
        received=kept.submission.received,
        status="withdrawn" if not kept.present else result.status if result else "pending",
        counts_for_board=False,
        final=_scores(final, columns, track.decimals),
        preliminary=_scores(means.get("preliminary", {}), columns, track.decimals),
        counts=result.counts if result else None,
        findings=tuple(findings) if findings else (),
        findings_count=findings.count if findings else 0,
    )


def _scores(means: Mapping[str, Mean], columns: tuple[str, ...], decimals: int) -> Scores:
    return tuple(rounded(means[name].value, decimals) if name in means else None for name in columns)


def _row(name: str, entries: list[Entry], track: Track, *, baseline: bool, by_preliminary: bool) -> Row:
    """The row of a team with these entries (the earliest first), not yet ranked.

    `by_preliminary`: which entry is best is told by the preliminary scores.
    """
    latest_first = entries[::-1]
    counting = _counting([entry for entry in latest_first if entry.status == "scored"], track, by_preliminary)
    marked = tuple(replace(entry, counts_for_board=True) if entry is counting else entry for entry in latest_first)
    return Row(
        rank=None,
        team=Team(name, slug(name)),
        baseline=baseline,
        entry=next((entry for entry in marked if entry.counts_for_board), None),
        entries=marked,
    )


def _counting(latest_first: list[Entry], track: Track, by_preliminary: bool) -> Entry | None:
    """The one of a team's scored entries that its place comes from; of equally good ones the earliest."""
    if track.entry == "last" or not latest_first:
        return latest_first[0] if latest_first else None
    return max(
        reversed(latest_first), key=lambda entry: _order((entry.preliminary if by_preliminary else entry.final)[0])
    )


def _order(score: float | None) -> float:
    return -math.inf if score is None else score


# Ranks


def _standing(row: Row, track: Track) -> float | None:
    """The score that the row stands on the board by."""
    if row.entry is None:
        return None
    return (row.entry.final if track.stage == "final" else row.entry.preliminary)[0]


def _ranked(rows: Iterable[Row], track: Track) -> tuple[Row, ...]:
    """The rows in the order of the page, with the ranks of those that have one."""
    ordered = sorted(rows, key=lambda row: _place(row, track))
    keys = [_rank_key(row, track) for row in ordered]
    contest = [key for key in keys if key is not None]
    return tuple(
        row if key is None else replace(row, rank=1 + bisect_left(contest, key))
        for row, key in zip(ordered, keys, strict=True)
    )


def _place(row: Row, track: Track) -> tuple[int, float, float, str]:
    """Sorts rows: by score, then receipt, then name; after them those with a blank score, then those with none."""
    score = _standing(row, track)
    if row.entry is None:
        return 2, 0.0, 0.0, row.team.name
    return 1 if score is None else 0, -(score or 0.0), row.entry.received.timestamp(), row.team.name


def _rank_key(row: Row, track: Track) -> tuple[float, float] | None:
    """Rows of equal keys share a rank; None for a row that has none."""
    score = _standing(row, track)
    if row.baseline or row.entry is None or score is None:
        return None
    return -score, row.entry.received.timestamp() if track.equal_ranks == "earlier" else 0.0


# Slugs

_SLUG_LENGTH = 60
_MARK_LENGTH = 12
_OWN_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MARKED = re.compile(rf"(.*-)?[0-9a-f]{{{_MARK_LENGTH}}}")


def slug(name: str) -> str:
    """A team's name as a path and an address take it: a-z, 0-9 and single hyphens, 1 to 60 characters.

    A name that is one already stays as it is, unless it is reserved or ends as the others do. Any other gets a mark
    from its SHA-256, so that no two names share a slug and none depends on which other teams there are.
    """
    if len(name) <= _SLUG_LENGTH and _OWN_SLUG.fullmatch(name) and name not in RESERVED and not _MARKED.fullmatch(name):
        return name
    mark = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:_MARK_LENGTH]
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    stem = re.sub("[^a-z0-9]+", "-", letters)[: _SLUG_LENGTH - _MARK_LENGTH - 1].strip("-")
    return f"{stem}-{mark}" if stem else mark


# The rule sheet


TIES = {
    "trec": "Items of equal run score are ordered by item id, descending.",
    "order": "Items of equal run score stay in the order of the file.",
    "expected": "Items of equal run score have no order: a score is the mean over all orders of them.",
    "best": "Of items of equal run score, those with the highest grade stand first.",
    "worst": "Of items of equal run score, those with the highest grade stand last.",
}


def rules(board: Board) -> tuple[str, ...]:
    """What decides on this board, in sentences made from the track's settings."""
    track = board.track
    return (
        _ranked_by(board),
        *_queries(board),
        "A query that a file leaves out scores 0."
        if track.missing == "zero"
        else "A file that leaves out a query is rejected.",
        "A query that the solution lacks is ignored.",
        f"What a list holds beyond its first {counted(track.list_length, 'item')} does not count.",
        "An item that stands twice in a list counts once, at its first place; its second place is lost.",
        TIES[track.ties],
        f"Scores are rounded to {counted(track.decimals, 'decimal')}, and then compared.",
        "Equal scores share a rank, and as many ranks after it are left out: 1, 1, 3."
        if track.equal_ranks == "shared"
        else "Of equal scores, the one received earlier stands higher.",
        _counts(board),
        "Rejected and withdrawn files never count.",
        *(["Baselines stand where their scores put them, and have no rank."] if track.baselines else []),
    )


def _ranked_by(board: Board) -> str:
    if board.track.stage == "preliminary":
        return f"The board is ranked by the preliminary {board.columns[0]}; final scores are not shown yet."
    return f"The board is ranked by the final {board.columns[0]}."


def _queries(board: Board) -> list[str]:
    """What the means are taken over."""
    queries, scored, preliminary = board.queries, board.scored_queries, board.preliminary_queries
    if not scored:
        return ["Nothing has been scored yet."]
    sentences = [f"Scores are means over the solution's {counted(queries, 'query', 'queries')}."]
    if scored < queries:
        sentences = [
            "Scores are means over the queries for which they are defined: "
            f"{scored:,} of the solution's {queries:,} for {board.columns[0]}."
        ]
    if preliminary:
        final = f"all {scored:,}" if board.track.final == "all" else f"the other {scored - preliminary:,}"
        sentences.append(f"Preliminary scores come from {preliminary:,} of them, final scores from {final}.")
    elif board.track.stage == "preliminary":
        sentences.append("The solution flags no query for preliminary scores, so there are none to show.")
    return sentences


def _counts(board: Board) -> str:
    if board.track.entry == "last":
        return "The last of a team's scored entries counts."
    score = "preliminary score" if board.preliminary_queries else "score"
    return f"The best of a team's entries counts, judged by its {score}; of equally good ones, the earliest."


# Exports

Cell = str | int | float | bool | None

EXPORT_VERSION = 1
"""Of the shape of `to_json`."""


def export_columns(board: Board) -> tuple[str, ...]:
    """The columns of every export.

    Of a final board: all measures, and the preliminary scores of the primary one if the solution flags queries. Of a
    preliminary board: the preliminary scores of all measures.
    """
    return ("rank", "team", "baseline", *_named_scores(board, None), "entries", "last entry")


def export_rows(board: Board) -> tuple[dict[str, Cell], ...]:
    """The rows of every export, by column; scores rounded to the track's decimals, None for a blank."""
    return tuple(
        {
            "rank": row.rank,
            "team": row.team.name,
            "baseline": row.baseline,
            **_named_scores(board, row.entry),
            "entries": len(row.sent),
            "last entry": _iso(row.last_received),
        }
        for row in board.rows
    )


def printed(cell: Cell, decimals: int) -> str:
    """A cell as text: scores at the track's decimals, a blank empty."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return f"{cell:.{decimals}f}" if isinstance(cell, float) else str(cell)


def to_csv(board: Board) -> str:
    """RFC 4180, numbers at the track's decimals, blanks empty; text that a spreadsheet takes for a formula gets a '."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(map(wording.spreadsheet, export_columns(board)))
    for row in export_rows(board):
        writer.writerow(
            wording.spreadsheet(cell) if isinstance(cell, str) else printed(cell, board.track.decimals)
            for cell in row.values()
        )
    return out.getvalue()


def to_json(board: Board) -> str:
    """The rows with the track, its rules and the numbers of queries; null for a blank."""
    track = board.track
    document = {
        "version": EXPORT_VERSION,
        "track": {
            "name": track.name,
            "title": track.title,
            "stage": track.stage,
            "primary": board.columns[0],
            "decimals": track.decimals,
            "queries": board.queries,
            "scored_queries": board.scored_queries,
            "preliminary_queries": board.preliminary_queries,
        },
        "rules": rules(board),
        "columns": export_columns(board),
        "rows": export_rows(board),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def to_markdown(board: Board) -> str:
    """A table of GitHub's Markdown, numbers at the track's decimals, blanks empty; a name stays text."""
    columns = export_columns(board)
    alignment = [":---" if name in ("team", "baseline", "last entry") else "---:" for name in columns]
    rows = [
        [wording.markdown(printed(cell, board.track.decimals)) for cell in row.values()] for row in export_rows(board)
    ]
    lines = [map(wording.markdown, columns), alignment, *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _named_scores(board: Board, entry: Entry | None) -> dict[str, Cell]:
    """The scores that an export shows, by column; blanks without an entry."""
    blank: Scores = (None,) * len(board.columns)
    final, preliminary = (entry.final, entry.preliminary) if entry else (blank, blank)
    names = [f"preliminary {name}" for name in board.columns]
    if board.track.stage == "preliminary":
        return dict(zip(names, preliminary, strict=True))
    named: dict[str, Cell] = dict(zip(board.columns, final, strict=True))
    if board.preliminary_queries:
        named[names[0]] = preliminary[0]
    return named


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
