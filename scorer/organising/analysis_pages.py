"""The analysis page of a track: computed if no cached one fits, and hidden where it would show single queries."""

from __future__ import annotations

from functools import partial

from pydantic import TypeAdapter

from scorer.board.board import Board
from scorer.organising.rules import current_basis
from scorer.paths import code_digest
from scorer.reports.document import TaskView
from scorer.scoring.means import split_masks
from scorer.store.cache import Cache
from scorer.store.snapshot import Snapshot

_JSON = TypeAdapter(TaskView)


def analysis_view(view: Snapshot, board: Board, cache: Cache) -> TaskView | None:
    """Return the analysis of a track by its primary measure, as its page shows it; the board is of the same snapshot.

    None without two ranked teams, for a measure that is not a mean, and where the scores of queries are hidden, as by
    the Ladder. Raises StoreError if the database fails.
    """
    track = board.track
    ranked = [row for row in board.rows if row.rank is not None and row.entry is not None]
    basis = current_basis(view, track)
    if basis is None or len(ranked) < 2 or track.primary_measure.kind.aggregation != "mean" or not track.shows_queries:
        return None
    rows = [[row.team.name, row.rank, row.entry.digest if row.entry else ""] for row in ranked]
    preliminary = split_masks(view.flags(basis))["preliminary"].digest
    results = [basis.solution, basis.matching, preliminary, track.primary_measure.full]
    shown = [track.stage, track.final, track.shown_decimals]
    parts = ["analysis", code_digest(), results, shown, track.name, rows]
    return _JSON.validate_json(cache.value(parts, partial(_computed, view, board)))


def _computed(view: Snapshot, board: Board) -> str:
    """The view as JSON."""
    from scorer.analysis.analysis import analysed  # noqa: PLC0415 (SciPy is slow to load)
    from scorer.organising.analysis import track_task  # noqa: PLC0415
    from scorer.site.report_page import task_view  # noqa: PLC0415

    return _JSON.dump_json(task_view(analysed(track_task(view, board)))).decode()
