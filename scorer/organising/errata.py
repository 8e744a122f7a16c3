"""Errata: a changed solution or rule is previewed, then applied to the board as a whole, or cancelled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scorer.board.board import Board
from scorer.board.build import board
from scorer.errors import ChallengeError
from scorer.live.entries import entries
from scorer.live.errata import BeforeAfter, Changes, Erratum, Scale, recorded_changes
from scorer.live.now import Now
from scorer.live.rules import changes_in_words
from scorer.organising.rules import RuleSet
from scorer.organising.run import Work, carry_out, plan
from scorer.settings.tracks import Challenge, Track
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, printable_name

if TYPE_CHECKING:
    from scorer.scoring.executors.base import Executor


def preview_erratum(challenge: Challenge, store: Store, track: Track, executor: Executor | None = None) -> Changes:
    """Open an erratum: score all entries by the files as they are now, and compare the boards.

    The board stays as it is. Until the erratum is applied or cancelled, runs score new entries by both. If one is open,
    this one replaces it.
    """
    by_files = store.read(partial(_to_preview, track=track, store=store))
    by_files.checked_solution()
    _refresh(challenge, store, track, executor)

    def opened(view: Snapshot) -> Added:
        errata = Now.of(view, track).errata
        number = 1 + len(errata.applied)
        is_same = errata.open is not None and not by_files.differences(by_files.by(errata.open.basis))
        return [] if is_same else [(track.name, "preview", _event(number, "previewed", "", by_files.recorded.body))]

    store.record(opened)
    _refresh(challenge, store, track, executor)
    return store.read(lambda view: pending_changes(view, by_files))


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

    def read(view: Snapshot) -> RuleSet:
        by_files = RuleSet.of(view, track, store)
        _check_unchanged(_open(view, track), by_files)
        return by_files

    by_files = store.read(read)
    work = _refresh(challenge, store, track, executor)

    def applied(view: Snapshot) -> tuple[Added, Changes]:
        erratum = _open(view, track)
        _check_unchanged(erratum, by_files)
        _check_complete(view, track, by_files, work.sources.digests if without_missing else None)
        shown = compared = pending_changes(view, by_files)
        if Now.of(view, track).track.hides_scores:
            shown = pending_changes(view, by_files, as_shown=True)
        body = by_files.recorded.body
        event = _event(erratum.number, "applied", reason.strip(), body)
        # Results by the old basis may be dropped one day, so that the boards cannot be computed again.
        changes = {"changes": recorded_changes(shown)}
        return [(track.name, "erratum", event | changes), (track.name, "basis", body)], compared

    changed = store.record_with(applied)
    return store.read(lambda view: Now.of(view, track).errata.applied)[-1], changed


def cancel(store: Store, track: Track) -> Erratum:
    """Cancel the open erratum of a track; return it. Raises ChallengeError if none is open, and StoreError."""

    def cancelled(view: Snapshot) -> tuple[Added, Erratum]:
        erratum = _open(view, track)
        return [(track.name, "cancellation", _event(erratum.number, "cancelled", "", erratum.basis.body))], erratum

    return store.record_with(cancelled)


def pending_changes(view: Snapshot, rules: RuleSet, *, as_shown: bool = False) -> Changes:
    """What the open erratum of a track would change. Raises ChallengeError if none is open.

    With `as_shown`, the changes are for visitors: without scores in a phase that shows nothing. Otherwise they have the
    final scores, too, if the board does not show them yet.
    """
    new = rules.by(_open(view, rules.track).basis)
    before = Now.of(view, rules.track)
    both = before, before.by(new.track, new.basis)
    if as_shown:
        return changes(*map(board, both))
    shown, final = (
        changes(*(board(replace(each, hides_nothing=True, shows_end=at_end, viewer="organiser")) for each in both))
        for at_end in (False, True)
    )
    differs = changes_in_words(rules.in_force(view).recorded, new.recorded)
    return replace(shown, final=None if shown.before.stage == shown.after.stage == "final" else final, rules=differs)


def track_of_erratum(challenge: Challenge, store: Store, name: str | None) -> Track:
    """The track with this name, or else the only one with an open erratum, or with files that differ from its rules."""
    if name is not None:
        return challenge.track(name)

    def is_meant(view: Snapshot, track: Track) -> bool:
        now = Now.of(view, track)
        if now.errata.open is not None:
            return True
        if not now.are_rules_fixed:
            return False
        by_files = RuleSet.of(view, track, store)
        return bool(by_files.differences(by_files.in_force(view)))

    meant = store.read(lambda view: [track for track in challenge.tracks if is_meant(view, track)])
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise ChallengeError(f"{', '.join(track.name for track in meant)} have an erratum; choose one with --track")
    raise ChallengeError(
        "no track has an open erratum, or files that differ from its rules in force; change the solution or a rule "
        "first"
    )


def _to_preview(view: Snapshot, track: Track, store: Store) -> RuleSet:
    """The rules of the files, which an erratum may preview. Raises ChallengeError if none may."""
    now, by_files = Now.of(view, track), RuleSet.of(view, track, store)
    if not now.are_rules_fixed:
        raise ChallengeError(
            f"{track.name}: no phase has started, or nothing was scored yet; `scorer run` uses the files as they are"
        )
    if not now.phases.has_started(view.now):
        raise ChallengeError(
            f"{track.name}: no phase has started; an erratum changes a challenge that has; before the start, "
            "`scorer commit` commits to the changed files"
        )
    if not by_files.differences(by_files.in_force(view)):
        raise ChallengeError(
            f"{track.name}: the solution and the rules are those in force; change a file first, then preview it"
        )
    return by_files


def _refresh(challenge: Challenge, store: Store, track: Track, executor: Executor | None) -> Work:
    """Import what arrived, and score it by the rules in force and by those of the open erratum."""
    work = plan(store, challenge, track)
    list(carry_out(store, work, executor))  # to the last outcome
    return work


def _open(view: Snapshot, track: Track) -> Erratum:
    """The open erratum of a track. Raises ChallengeError without one."""
    erratum = Now.of(view, track).errata.open
    if erratum is None:
        raise ChallengeError(f"{track.name}: no erratum is open; `scorer erratum preview` opens one")
    return erratum


def _check_unchanged(erratum: Erratum, by_files: RuleSet) -> None:
    if changed := by_files.differences(by_files.by(erratum.basis)):
        raise ChallengeError(
            f"{by_files.track.name}: {', '.join(changed)} changed since the preview; preview again, or restore what "
            "changed"
        )


def _check_complete(view: Snapshot, track: Track, rules: RuleSet, there: Collection[str] | None) -> None:
    """Refuse to apply while an entry that may count, of those `there` unless None, lacks a result by the new rules."""
    had_result = {state.index for state in entries(Now.of(view, track)).stored if state.result is not None}
    by_new = rules.entries(view)
    wanted = had_result.intersection(entry.index for entry in by_new.all if entry.admission == "ok")
    lacking = [
        state.submission.file
        for state in by_new.to_score
        if state.index in wanted and state.result is None and (there is None or state.submission.digest in there)
    ]
    if lacking:
        raise ChallengeError(
            f"{track.name}: {counted(len(lacking), 'entry', 'entries')} cannot be scored by the new rules, such as "
            f"{printable_name(lacking[0])}; restore the missing files, or `scorer retry` what failed, and apply again; "
            "--without-missing leaves entries without a file unscored"
        )


def _event(number: int, state: str, reason: str, basis: Mapping[str, Any]) -> dict[str, Any]:
    return {"number": number, "state": state, "reason": reason, "basis": basis}


def changes(before: Board, after: Board) -> Changes:
    """The boards of the same entries by two bases, side by side."""
    earlier, later = ({row.slug: row for row in board.rows} for board in (before, after))
    order = [*later, *(slug for slug in earlier if slug not in later)]
    rows = []
    for slug in order:
        row = later.get(slug) or earlier[slug]
        team = replace(row.team, name=row.name, folder=row.folder)
        places = before.placing(earlier.get(slug)), after.placing(later.get(slug))
        rows.append(BeforeAfter(team, row.baseline, *places))
    return Changes(_scale(before), _scale(after), tuple(rows), are_hidden=after.track.hides_scores)


def _scale(board: Board) -> Scale:
    return Scale(board.columns[0], board.track.shown_decimals, board.track.shown_stage)
