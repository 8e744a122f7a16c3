"""Errata: a changed solution or rule is previewed, then applied to the board as a whole, or cancelled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from scorer.board.board import Board
from scorer.board.build import board
from scorer.errors import ChallengeError
from scorer.live.entries import with_outcomes
from scorer.live.errata import BeforeAfter, Changes, Erratum, Scale, recorded_changes
from scorer.live.state import in_force, track_state
from scorer.organising.rules import RuleSet, rules_in_force, scored_by
from scorer.organising.run import Work, carry_out, plan
from scorer.settings.tracks import Challenge, Track
from scorer.store.events import Basis, Submission, recorded_body
from scorer.store.sidecar import Archive
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, printable_name

if TYPE_CHECKING:
    from scorer.scoring.executors.base import Executor


def preview(challenge: Challenge, store: Store, track: Track, executor: Executor | None = None) -> Changes:
    """Open an erratum: score all entries by the files as they are now, and compare the boards.

    The board stays as it is. Until the erratum is applied or cancelled, runs score new entries by both. If one is open,
    this one replaces it.
    """
    archive = store.archive(track.root)
    by_files = RuleSet.of_files(track)
    store.read(lambda view: _check_preview(view, track, by_files, archive))
    by_files.checked_solution(archive)
    _refresh(challenge, store, track, executor)

    def opened(view: Snapshot) -> Added:
        errata = track_state(view, track).errata
        number = 1 + len(errata.applied)
        is_same = errata.open is not None and not _differences(errata.open, by_files, archive)
        return [] if is_same else [("erratum", _event(number, "previewed", "", recorded_body(by_files.recorded)))]

    store.record(track.name, opened)
    _refresh(challenge, store, track, executor)
    return store.read(lambda view: pending_changes(view, track, archive))


def apply(
    challenge: Challenge,
    store: Store,
    track: Track,
    reason: str,
    executor: Executor | None = None,
    *,
    without_missing: bool = False,
) -> tuple[Erratum, Changes]:
    """Apply the open erratum of a track: the board changes as a whole; return it, and what it changes.

    Entries that arrived since the preview are scored first, by both rules. With `without_missing`, entries whose files
    are gone, and whose bytes are not kept, may be left without a score. The files must be as they were previewed.
    """
    if not reason.strip():
        raise ChallengeError("the reason is blank; give one: visitors read it")
    by_files, archive = RuleSet.of_files(track), store.archive(track.root)
    store.read(lambda view: _check_unchanged(_open(view, track), by_files, archive))
    work = _refresh(challenge, store, track, executor)
    compared: list[Changes] = []

    def applied(view: Snapshot) -> Added:
        erratum = _open(view, track)
        _check_unchanged(erratum, by_files, archive)
        _check_complete(view, track, by_files, work.sources.digests if without_missing else None)
        compared.append(pending_changes(view, track, archive))
        shown = compared[-1]
        if in_force(view, track).hides_scores:
            shown = pending_changes(view, track, archive, as_shown=True)
        body = recorded_body(by_files.recorded)
        event = _event(erratum.number, "applied", reason.strip(), body)
        # Results by the old basis may be dropped one day, so that the boards cannot be computed again.
        return [("erratum", {**event, "changes": recorded_changes(shown)}), ("basis", body)]

    store.record(track.name, applied)
    return store.read(lambda view: track_state(view, track).errata.applied)[-1], compared[-1]


def cancel(store: Store, track: Track) -> Erratum:
    """Cancel the open erratum of a track; return it. Raises ChallengeError if none is open, and StoreError."""
    cancelled_errata: list[Erratum] = []

    def cancelled(view: Snapshot) -> Added:
        erratum = _open(view, track)
        cancelled_errata.append(erratum)
        return [("erratum", _event(erratum.number, "cancelled", "", recorded_body(erratum.basis)))]

    store.record(track.name, cancelled)
    return cancelled_errata[-1]


def pending_changes(view: Snapshot, track: Track, archive: Archive, *, as_shown: bool = False) -> Changes:
    """What the open erratum of a track would change. Raises ChallengeError if none is open.

    With `as_shown`, the changes are for visitors: without scores in a phase that shows nothing.
    """
    erratum = _open(view, track)
    new = RuleSet.of_record(track, erratum.basis, archive)
    present, present_basis = scored_by(view, track)
    tracks, bases = [present, in_force(view, track, erratum.basis)], [present_basis, new.basis]
    if not as_shown:
        deciding = track_state(view, track).phases.deciding_between(view.now)
        tracks = [
            track.model_copy(update={"deciding_phase": deciding}) if track.hides_scores else track for track in tracks
        ]
    return changes(*(board(view, track, basis) for track, basis in zip(tracks, bases, strict=True)))


def track_of_erratum(challenge: Challenge, store: Store, name: str | None) -> Track:
    """The track with this name, or else the only one with an open erratum, or with files that differ from its rules."""
    if name is not None:
        return challenge.track(name)

    def is_meant(view: Snapshot, track: Track) -> bool:
        if track_state(view, track).errata.open is not None:
            return True
        if not track_state(view, track).are_rules_fixed:
            return False
        by_files = RuleSet.of_files(track)
        return bool(by_files.differences(rules_in_force(view, by_files, store.archive(track.root))))

    meant = [track for track in challenge.tracks if store.read(partial(is_meant, track=track))]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise ChallengeError(f"{', '.join(track.name for track in meant)} have an erratum; choose one with --track")
    raise ChallengeError(
        "no track has an open erratum, or files that differ from its rules in force; change the solution or a rule "
        "first"
    )


def _check_preview(view: Snapshot, track: Track, by_files: RuleSet, archive: Archive) -> None:
    if not track_state(view, track).are_rules_fixed:
        raise ChallengeError(
            f"{track.name}: no phase has started, or nothing was scored yet; `scorer run` uses the files as they are"
        )
    if not track_state(view, track).phases.has_started(view.now):
        raise ChallengeError(
            f"{track.name}: no phase has started; an erratum changes a challenge that has; before the start, "
            "`scorer commit` commits to the changed files"
        )
    if not by_files.differences(rules_in_force(view, by_files, archive)):
        raise ChallengeError(
            f"{track.name}: the solution and the rules are those in force; change a file first, then preview it"
        )


def _refresh(challenge: Challenge, store: Store, track: Track, executor: Executor | None) -> Work:
    """Import what arrived, and score it by the rules in force and by those of the open erratum."""
    work = plan(store, challenge, track)
    for _ in carry_out(store, work, executor):
        pass
    return work


def _open(view: Snapshot, track: Track) -> Erratum:
    """The open erratum of a track. Raises ChallengeError without one."""
    erratum = track_state(view, track).errata.open
    if erratum is None:
        raise ChallengeError(f"{track.name}: no erratum is open; `scorer erratum preview` opens one")
    return erratum


def _differences(erratum: Erratum, by_files: RuleSet, archive: Archive) -> tuple[str, ...]:
    return by_files.differences(RuleSet.of_record(by_files.track, erratum.basis, archive))


def _check_unchanged(erratum: Erratum, by_files: RuleSet, archive: Archive) -> None:
    changed = _differences(erratum, by_files, archive)
    if changed:
        raise ChallengeError(
            f"{erratum.track}: {', '.join(changed)} changed since the preview; preview again, or restore what changed"
        )


def _check_complete(view: Snapshot, track: Track, rules: RuleSet, there: Collection[str] | None) -> None:
    """Refuse to apply an erratum while an entry that may count has a result by the old rules only.

    `there` are the digests of what can be scored, if entries without a file are left out; None: they are not.
    """
    by_old = _with_result(view, track, scored_by(view, track)[1])
    by_new = _with_result(view, track, rules.basis)
    listed = rules.entries(view)
    wanted = {entry.index for entry in listed.all if entry.admission == "ok"} & {
        state.index for state in listed.to_score
    }
    lacking = [
        submission.file
        for index, submission in by_old.items()
        if index in wanted and index not in by_new and (there is None or submission.digest in there)
    ]
    if lacking:
        raise ChallengeError(
            f"{track.name}: {counted(len(lacking), 'entry', 'entries')} cannot be scored by the new rules, such as "
            f"{printable_name(lacking[0])}; restore the missing files, or `scorer retry` what failed, and apply again; "
            "--without-missing leaves entries without a file unscored"
        )


def _with_result(view: Snapshot, track: Track, basis: Basis | None) -> dict[int, Submission]:
    """The submissions with a result, by index."""
    return {
        state.index: state.submission
        for state in with_outcomes(view, track_state(view, track).submissions.values(), basis)
        if state.result is not None
    }


def _event(number: int, state: str, reason: str, basis: Mapping[str, Any]) -> dict[str, Any]:
    return {"number": number, "state": state, "reason": reason, "basis": basis}


def changes(before: Board, after: Board) -> Changes:
    """The boards of the same entries by two bases, side by side."""
    earlier, later = ({row.team.slug: row for row in board.rows} for board in (before, after))
    order = [*later, *(slug for slug in earlier if slug not in later)]
    return Changes(
        _scale(before),
        _scale(after),
        tuple(
            BeforeAfter(
                team=(later.get(slug) or earlier[slug]).team,
                baseline=(later.get(slug) or earlier[slug]).baseline,
                before=before.placing(earlier.get(slug)),
                after=after.placing(later.get(slug)),
            )
            for slug in order
        ),
        are_hidden=after.track.hides_scores,
    )


def _scale(board: Board) -> Scale:
    return Scale(board.columns[0], board.track.shown_decimals, board.track.shown_stage)
