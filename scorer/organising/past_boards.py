"""The boards of phases that have closed, as they were when they closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from pydantic import TypeAdapter

from scorer.board.board import Board, PastBoard, PastRow
from scorer.board.build import board
from scorer.challenge.phases import Phase
from scorer.challenge.settings import Track
from scorer.live.phases import at_stage
from scorer.live.state import in_force, public, track_state
from scorer.organising.rules import current_basis, settings
from scorer.paths import code_digest
from scorer.scoring.means import split_masks
from scorer.store.cache import Cache
from scorer.store.canonical import RESOLUTION
from scorer.store.snapshot import Snapshot

_JSON = TypeAdapter(PastBoard)


def archived_boards(view: Snapshot, tracks: Sequence[Track], cache: Cache) -> list[tuple[PastBoard, ...]]:
    """The boards of some tracks as they were when their phases closed.

    Parameters
    ----------
    view
        A snapshot of the database.
    tracks
        The tracks.
    cache
        Has the boards that were computed before.

    Returns
    -------
    For each track the boards of the phases that have closed, in order of time.

    Raises
    ------
    ChallengeError
        The list of items or the key of a split cannot be read.
    StoreError
        The database fails.
    """
    return [tuple(_archived(view, track, cache)) for track in tracks]


def closing_board(view: Snapshot, track: Track, phase: Phase) -> Board:
    """The board of a track at the last moment of a phase that has closed.

    It shows what was received and decided until then, also what was hidden by a freeze or by the phase: by the primary
    measure, without statistics. Raises ChallengeError and StoreError as `archived_boards`.
    """
    then, rules = _at_close(view, track, phase)
    return board(then, rules, current_basis(then, track))


def _at_close(view: Snapshot, track: Track, phase: Phase) -> tuple[Snapshot, Track]:
    """The snapshot and the rules of the last moment of a phase."""
    then = public(view, track).as_of(phase.closes - RESOLUTION)
    rules = in_force(then, track)
    plan = track_state(then, track).phases
    # What a phase that shows nothing hides is shown as soon as it has closed.
    deciding = plan.deciding_between(then.now) if rules.hides_scores else rules.deciding_phase
    return then, at_stage(rules.model_copy(update={"measures": ()}), plan, rules.stage or "final", deciding)


def _archived(view: Snapshot, track: Track, cache: Cache) -> Iterator[PastBoard]:
    for phase in track_state(view, track).phases.closed(view.now):
        yield _JSON.validate_json(
            cache.value(_parts(view, track, phase), partial(_computed, view, track, phase)), strict=False
        )


def _parts(view: Snapshot, track: Track, phase: Phase) -> list[object]:
    """What the board of a phase depends on: the events until its end, the rules, and which entries have a result."""
    then, rules = _at_close(view, track, phase)
    basis = current_basis(then, track)
    events = then.events()
    parts: list[object] = [
        *("past board", code_digest(), view.identity, track.name),
        *(phase.recorded(), [each.recorded() for each in rules.phases], dict(settings(rules))),
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


def _computed(view: Snapshot, track: Track, phase: Phase) -> str:
    """The board as JSON."""
    found = closing_board(view, track, phase)
    rows = tuple(
        PastRow(
            rank=row.rank,
            name=row.team.name,
            folder=row.team.folder,
            status=row.team.status,
            baseline=row.baseline,
            score=found.shown_scores(row.entry)[0],
            entries=len(row.present_entries),
        )
        for row in found.rows
    )
    return _JSON.dump_json(PastBoard(phase, found.track.shown_decimals, found.track.shows_final, rows)).decode()
