"""The boards of a challenge as visitors may see them now, those of closed phases, and what pages derive from boards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pydantic import TypeAdapter

from scorer.analysis.task import Task
from scorer.board.board import Board, PastBoard, PastRow
from scorer.board.build import board
from scorer.challenge.phases import Phase
from scorer.challenge.settings import Track
from scorer.errors import StoreError
from scorer.live.phases import at_stage
from scorer.live.state import public, track_state
from scorer.organising.rules import scored_by, settings, track_entries
from scorer.organising.splits import check_preliminary
from scorer.paths import code_digest
from scorer.reports.entries import TrackEntries
from scorer.scoring.means import split_masks
from scorer.site.analysis_view import AnalysisView
from scorer.store.cache import Cache, digest_of
from scorer.store.canonical import RESOLUTION
from scorer.store.records import Basis
from scorer.store.snapshot import Snapshot

_PAST_BOARD = TypeAdapter(PastBoard)
_ANALYSIS = TypeAdapter(AnalysisView)


def boards(
    view: Snapshot, tracks: Sequence[Track], cache: Cache | None = None, *, pending: bool = False
) -> list[Board]:
    """The boards of some tracks; without a cache, which is of the same snapshot, they have no statistics.

    If a track has no results by its current settings, its entries wait (`pending`), or StoreError says what to do.
    """
    made = []
    for declared in tracks:
        shown = public(view, declared)
        track, basis = scored_by(shown, declared)
        recorded = track_state(shown, declared).basis
        if recorded is not None and basis is not None:
            check_preliminary(declared, basis, view.queries(basis.solution))
            if not recorded.basis.has_rules_of(basis) and not pending:
                raise StoreError(
                    f"{track.name}: its settings have changed since it was scored, and it has no scores by the new "
                    "settings yet; `scorer run` computes them"
                )
        # The times of the phases are public during a freeze, too.
        plan = track_state(view, declared).phases
        now = board(shown, track, basis, cache)
        made.append(replace(now, phases=plan, frozen_since=plan.frozen_since(view.now), now=view.now))
    return made


def listed_entries(view: Snapshot, tracks: Sequence[Track]) -> list[TrackEntries]:
    """The entries of some tracks, each with the public board of its track."""
    return [
        TrackEntries(tuple(track_entries(view, track).values()), board)
        for track, board in zip(tracks, boards(view, tracks, pending=True), strict=True)
    ]


def archived_boards(view: Snapshot, track: Track, cache: Cache) -> tuple[PastBoard, ...]:
    """The boards of a track as they were when its phases closed, in order of time; the cache has earlier ones."""
    return tuple(
        _PAST_BOARD.validate_json(
            cache.value(_parts(view, track, phase), partial(_computed_board, view, track, phase)), strict=False
        )
        for phase in track_state(view, track).phases.closed(view.now)
    )


def closing_board(view: Snapshot, track: Track, phase: Phase) -> Board:
    """The board of a track at the last moment of a phase that has closed.

    It shows what was received and decided until then, also what was hidden by a freeze or by the phase: by the primary
    measure, without statistics.
    """
    return board(*_at_close(view, track, phase))


def _at_close(view: Snapshot, track: Track, phase: Phase) -> tuple[Snapshot, Track, Basis | None]:
    """The snapshot, the rules and the basis of the last moment of a phase."""
    then = public(view, track).as_of(phase.closes - RESOLUTION)
    rules, basis = scored_by(then, track)
    plan = track_state(then, track).phases
    # What a phase that shows nothing hides is shown as soon as it has closed.
    deciding = plan.deciding_between(then.now) if rules.hides_scores else rules.deciding_phase
    return then, at_stage(rules.model_copy(update={"measures": ()}), plan, rules.stage or "final", deciding), basis


def _parts(view: Snapshot, track: Track, phase: Phase) -> list[object]:
    """What the board of a phase depends on: the events until its end, the rules, and which entries have a result."""
    then, rules, basis = _at_close(view, track, phase)
    events = then.events()
    parts: list[object] = [
        *("past board", code_digest(), view.identity, track.name),
        *(phase.recorded(), [stated.recorded() for stated in rules.phases], dict(settings(rules))),
        [event.index for event in events],
    ]
    if basis is None:
        return parts
    digests = {event.body["digest"] for event in events if event.kind == "arrival" and event.track == track.name}
    failures = then.failures(basis)
    return [
        *parts,
        *(basis.solution, basis.matching, split_masks(then.flags(basis))["preliminary"].digest),
        sorted(digests & then.known_digests(basis)),
        sorted((digest, failure.attempts) for digest, failure in failures.items() if digest in digests),
    ]


def _computed_board(view: Snapshot, track: Track, phase: Phase) -> str:
    closing = closing_board(view, track, phase)
    rows = tuple(
        PastRow(
            rank=row.rank,
            name=row.team.name,
            folder=row.team.folder,
            status=row.team.status,
            baseline=row.baseline,
            score=closing.shown_scores(row.entry)[0],
            entries=len(row.present_entries),
        )
        for row in closing.rows
    )
    return _PAST_BOARD.dump_json(
        PastBoard(phase, closing.track.shown_decimals, closing.track.shows_final, rows)
    ).decode()


def analysis_view(view: Snapshot, board: Board, cache: Cache) -> Callable[[], AnalysisView] | None:
    """Return what computes the analysis of a track by its primary measure, as its page shows it.

    The board is of the same snapshot, which is read now; the analysis may be computed when the snapshot is closed.
    None without two ranked teams, for a measure that is not a mean, and where the scores of queries are hidden, as by
    the Ladder.
    """
    track = board.track
    ranked = [row for row in board.rows if row.rank is not None and row.entry is not None]
    _, basis = scored_by(view, track)
    if basis is None or len(ranked) < 2 or track.primary_measure.kind.aggregation != "mean" or not track.shows_queries:
        return None
    rows = [[row.team.name, row.rank, row.entry.digest if row.entry else ""] for row in ranked]
    preliminary = split_masks(view.flags(basis))["preliminary"].digest
    results = [basis.solution, basis.matching, preliminary, track.primary_measure.full]
    shown = [track.stage, track.final, track.shown_decimals]
    parts = ["analysis", code_digest(), results, shown, track.name, rows]
    if digest_of(parts) in cache:
        return lambda: _ANALYSIS.validate_json(cache.value(parts, str))
    from scorer.organising.analysis import track_task  # noqa: PLC0415 (SciPy is slow to load)

    task = track_task(view, board, cache=cache)
    return lambda: _ANALYSIS.validate_json(cache.value(parts, partial(_computed_analysis, task)))


def _computed_analysis(task: Task) -> str:
    from scorer.analysis.analysis import analysed  # noqa: PLC0415 (SciPy is slow to load)
    from scorer.site.analysis_page import analysis_view  # noqa: PLC0415

    return _ANALYSIS.dump_json(analysis_view(analysed(task))).decode()
