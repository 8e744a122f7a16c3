"""The tracks of a challenge as tasks for analyses and comparisons: from the stored results, by the board's rules."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from scorer.analysis.compare import need_mean
from scorer.analysis.kept import number_of
from scorer.analysis.task import Task, Words
from scorer.board.board import Board, Row
from scorer.board.published_statistics import ScoredRows
from scorer.challenge.settings import Track
from scorer.errors import MeasureError, ScorerError
from scorer.live.entry import rounded
from scorer.measures import Measure, parse
from scorer.options import Split
from scorer.organising.boards import boards
from scorer.organising.rules import scored_by
from scorer.scoring.means import aggregated
from scorer.store.cache import Cache
from scorer.store.snapshot import Snapshot
from scorer.wording import counted, quoted

WORDS = Words("track", "tracks", "team", "teams", "query", "queries")
"""What texts about a challenge call its algorithms and its cases."""

HIDDEN = "its phase publishes no statistics"

LISTED = 10
"""The names of teams that a message has at most."""


def track_tasks(view: Snapshot, tracks: Sequence[Track]) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    """Return tracks as tasks: their ranked teams on the primary measure, without baselines; and why others are none.

    Raises ScorerError if no track can be analysed.
    """
    tasks, notes = [], []
    for board in boards(view, tracks):
        reason = _reason(board)
        if reason:
            notes.append(f"Track {board.track.name} is not analysed: {reason}.")
        else:
            tasks.append(track_task(view, board))
    if not tasks:
        raise ScorerError("\n".join(["no track can be analysed", *notes]))
    return tuple(tasks), tuple(notes)


def track_task(
    view: Snapshot,
    board: Board,
    measure: Measure | None = None,
    rows: Sequence[Row] | None = None,
    cache: Cache | None = None,
) -> Task:
    """Return a track as a task, from a board of the same snapshot. A query without a score of any team is no case.

    Without a measure, which must be a mean, it is about the primary one; without rows, about the ranked teams. Each row
    has an entry that counts. `cache` has what is kept of the rows.
    """
    track = board.track
    _, basis = scored_by(view, track)
    if basis is None:
        raise ScorerError(f"{track.name}: no results yet; `scorer run` computes them")
    chosen = measure or track.primary_measure
    ranked = [row for row in board.rows if row.rank is not None]
    scored = ScoredRows(board, tuple(ranked if rows is None else rows), view, basis, view.flags(basis))
    inside = scored.mask.inside
    kept = scored.kept(cache or Cache({}))
    scores = scored.kept_scores(chosen, kept)[:, inside]
    means = [rounded(aggregated(row, "mean"), track.shown_decimals) for row in scores]
    defined = np.atleast_1d(~np.isnan(scores).all(axis=0))
    ids = view.solution(basis.solution).query_ids
    inside_ids = [query for query, is_inside in zip(ids, inside.tolist(), strict=True) if is_inside]
    left_out = int((~defined).sum())
    return Task(
        name=track.name,
        algorithms=tuple(row.team.name for row in scored.rows),
        cases=tuple(query for query, kept in zip(inside_ids, defined.tolist(), strict=True) if kept),
        values=scores[:, defined],
        means=tuple(float("nan") if mean is None else mean for mean in means),
        ranked=len(ranked),
        decimals=track.shown_decimals,
        measure=chosen.mean_name,
        words=WORDS,
        notes=_notes(track.shown_split, left_out),
        kept=kept.within(chosen.full, number_of(np.flatnonzero(inside)[defined])),
    )


def measure_of(track: Track, name: str | None) -> Measure:
    """Return a measure by its name, with the cut-offs of the track; None: the primary one.

    Raises MeasureError if the measure is unknown, means several, or its aggregate is not a mean.
    """
    chosen = (track.primary_measure,) if name is None else parse(name, track.cutoffs)
    if len(chosen) > 1:
        raise MeasureError(f"{name} means {', '.join(map(str, chosen))}; name one measure")
    need_mean(chosen[0])
    return chosen[0]


def teams_task(view: Snapshot, track: Track, names: Sequence[str], measure: Measure) -> Task:
    """Return the scores of some teams of a track, and of baselines, by their names on the board, as a task.

    Raises ScorerError if a team is unknown or has no scored entry, or the phase publishes no statistics.
    """
    (board,) = boards(view, [track])
    if board.track.shows != "score":
        raise ScorerError(f"track {track.name} is not analysed: {HIDDEN}")
    rows = {row.team.name: row for row in board.rows}
    for name in names:
        if name not in rows:
            more = f" and {len(rows) - LISTED:,} more" if len(rows) > LISTED else ""
            listed = ", ".join(list(rows)[:LISTED]) + more
            raise ScorerError(
                f"no team of track {track.name} is called {quoted(name)}{_suggestion(name, list(rows))}; "
                f"the teams are: {listed or 'none'}"
            )
        if rows[name].entry is None:
            raise ScorerError(f"team {quoted(name)} has no scored entry in track {track.name}")
    return track_task(view, board, measure, [rows[name] for name in names])


def _suggestion(name: str, names: Sequence[str]) -> str:
    """`` (did you mean ...?)``, regardless of upper and lower case; empty if no name is similar."""
    by_folded = {known.casefold(): known for known in names}
    similar = get_close_matches(name.casefold(), by_folded, n=1)
    return f" (did you mean {quoted(by_folded[similar[0]])}?)" if similar else ""


def _notes(split: Split, left_out: int) -> tuple[str, ...]:
    """What the scores are based on."""
    based = {
        "preliminary": "This is based on the preliminary queries only.",
        "rest": "This is based on the final scores, which leave out the preliminary queries.",
        "all": "This is based on the final scores, over all queries.",
    }
    if not left_out:
        return (based[split],)
    verb = "is" if left_out == 1 else "are"
    return based[split], f"The measure is undefined for {counted(left_out, 'query', 'queries')}, which {verb} left out."


def _reason(board: Board) -> str:
    """Why a track cannot be analysed; empty if it can."""
    aggregation = board.track.primary_measure.kind.aggregation
    if aggregation != "mean":
        what = "a sum" if aggregation == "sum" else "a geometric mean"
        return f"{board.columns[0]} is {what} over the queries, and the statistics are about means"
    if board.track.shows != "score":
        return HIDDEN
    return "" if any(row.rank is not None for row in board.rows) else "no team is ranked"
