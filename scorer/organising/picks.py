"""Picks of teams, and decisions of the organiser about single entries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from scorer.board.site.captions import status_words
from scorer.errors import ChallengeError, StoreError
from scorer.files import digest as digest_of
from scorer.live.entries import entries
from scorer.live.entry import SERVICE, Entry, SubmissionState, key_of, recorded, stays
from scorer.live.now import Now, submissions_of
from scorer.live.phases import is_misdated
from scorer.organising.files import final_path
from scorer.record.events import Key
from scorer.record.log import iso
from scorer.rules.metadata import body, field_text
from scorer.rules.phases import closing
from scorer.rules.picks import PickSource, picks
from scorer.settings.metadata import Given, Stated, checked
from scorer.settings.tracks import Challenge, Track
from scorer.store.events import Basis
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, printable_name, quoted, utc_moment

_INDEX = re.compile(r"[1-9][0-9]{0,6}")
"""Shorter than a part of a digest, so that it cannot be mistaken for one."""

PART_OF_DIGEST = re.compile(r"[0-9a-f]{8,64}")


def retry(challenge: Challenge, store: Store, names: Sequence[str] = ()) -> int:
    """Let the next run try failed entries again, also those that were given up; return how many had failed.

    Without names, which are as for `entry_named`, these are all.
    """

    def read(view: Snapshot) -> tuple[list[SubmissionState], list[Basis | None]]:
        named = [entry_named(view, challenge.tracks, name) for name in names]
        return named, [Now.of(view, track).basis for track in challenge.tracks]

    named, bases = store.read(read)
    count = 0
    for track, basis in zip(challenge.tracks, bases, strict=True):
        digests = {state.submission.digest for state in named if state.submission.track == track.name}
        if basis is not None and (digests or not names):
            count += store.retry(basis, digests if names else None)
    return count


def forget(challenge: Challenge, store: Store, name: str, reason: str) -> tuple[SubmissionState, int]:
    """Drop the results and the kept bytes of an entry, so that the next run scores its file again; that is recorded.

    Returns the entry, and how many others have the same content and so lose them, too.
    """
    state = store.read(lambda view: entry_named(view, challenge.tracks, name))
    submission = state.submission
    forget_outcome(store, submission.track, key_of(submission), reason)
    store.kept_submissions(challenge.root).remove([submission.digest])
    states = store.read(lambda view: submissions_of(view, challenge.tracks))
    return state, sum(other.submission.digest == submission.digest for other in states) - 1


def amend(challenge: Challenge, store: Store, name: str, received: datetime, reason: str) -> SubmissionState:
    """Correct the time at which an entry was received; the decision is recorded. Returns the entry as it was."""
    state = store.read(lambda view: entry_named(view, challenge.tracks, name))
    submission = state.submission
    amend_received(store, submission.track, key_of(submission), received, reason)
    return state


def amend_metadata(challenge: Challenge, store: Store, name: str, pairs: Sequence[str], reason: str) -> SubmissionState:
    """Correct values of an entry, each given as ``key=value``; the decision is recorded. Returns the entry."""
    state = store.read(lambda view: entry_named(view, challenge.tracks, name))
    stated = {key: Given(value) for key, _, value in (pair.partition("=") for pair in pairs)}
    track = challenge.track(state.submission.track)
    record_metadata(store, track, key_of(state.submission), stated, "command", reason)
    return state


def record_metadata(store: Store, track: Track, key: Key, stated: Stated, source: str, reason: str = "") -> None:
    """Record what is stated of a submission in place of what was; with a reason of the organiser, in addition.

    Raises MetadataError; and ChallengeError if the phase of the entry has closed, which does not concern the organiser.
    """

    def changed(view: Snapshot) -> Added:
        state = recorded(view, track.name)[key]
        if not reason and stays(state.submission, Now.of(view, track).phases, track, view.now):
            raise ChallengeError("the phase of the entry has closed, so its metadata stay; ask the organisers")
        before = state.metadata.values if reason else {}
        earlier = {each.name: Given(field_text(before.get(each.name))) for each in track.metadata}
        values = checked(track.metadata, {**earlier, **stated})
        if values == state.metadata.values:
            return []
        return [(track.name, "metadata", body(track.metadata, key, values, source, reason))]

    store.record(changed)


def withdraw_entry(store: Store, track: Track, key: Key) -> None:
    """Record that a team withdraws an entry, which no scan brings back, and delete its file.

    An entry that is withdrawn already stays so. Raises ChallengeError if its phase has closed.
    """

    def changed(view: Snapshot) -> Added:
        state = recorded(view, track.name)[key]
        if stays(state.submission, Now.of(view, track).phases, track, view.now):
            raise ChallengeError("the phase of the entry has closed, so it stays; ask the organisers")
        if not state.present and state.source == SERVICE:
            return []
        # A result that the same bytes get later, perhaps of another team, is none of this entry.
        unscored = {} if view.has_result(key[1]) else {"unscored": True}
        return [(track.name, "withdrawal", {"file": key[0], "digest": key[1], "source": SERVICE, **unscored})]

    store.record(changed)
    with suppress(OSError):
        delivered_file = final_path(track, key[0])
        if digest_of(delivered_file) == key[1]:
            delivered_file.unlink()


def forget_outcome(store: Store, track: str, key: Key, reason: str) -> None:
    """Drop what became of a submission, by every basis, so that the next run scores it again; record the reason.

    Results belong to the content of a file: other submissions with the same content are scored again, too.
    """
    store.record_forgetting(lambda _: [(track, "forgetting", _about(key, reason))], key[1])


def amend_received(store: Store, track: str, key: Key, received: datetime, reason: str) -> None:
    """Record the correct time of receipt of a submission. Raises ValueError if it has no zone."""
    if received.tzinfo is None:
        raise ValueError(f"a time without a zone: {received}")
    if is_misdated(received, store.now()):
        raise StoreError(f"{iso(received)}: is not a time of receipt; give one from 1990 on and not later than now")
    store.record(lambda _: [(track, "amendment", {**_about(key, reason), "received": iso(received)})])


def _about(key: Key, reason: str) -> dict[str, str]:
    """The body of a decision about a submission. Raises StoreError if the reason is blank."""
    if not reason.strip():
        raise StoreError("the reason is blank; give one: it is recorded")
    return {"file": key[0], "digest": key[1], "reason": reason}


def entry_named(view: Snapshot, tracks: Iterable[Track], name: str) -> SubmissionState:
    """The entry with this name: its id, its file as messages and pages show it, or the beginning of its SHA-256.

    Raises ChallengeError if there is no such entry, or several.
    """
    states = [state for state in submissions_of(view, tracks) if _is_named(state, name)]
    if not states:
        raise ChallengeError(
            f"no entry is called {quoted(name)}; give its id, as `scorer entries` shows it, its file as messages show "
            "it, as in main/team/run.txt, or at least 8 digits of its SHA-256"
        )
    if len(states) > 1:
        submissions = [state.submission for state in states[:5]]
        entries = ", ".join(f"{printable_name(submission.file)} {submission.digest[:12]}" for submission in submissions)
        raise ChallengeError(f"{quoted(name)} names {len(states)} entries ({entries}); give more digits of the SHA-256")
    return states[0]


def _is_named(state: SubmissionState, name: str) -> bool:
    submission = state.submission
    if _INDEX.fullmatch(name):
        return state.index == int(name)
    if PART_OF_DIGEST.fullmatch(name) and submission.digest.startswith(name):
        return True
    return name in (submission.file, printable_name(submission.file))


def record_pick(store: Store, track: str, team: str, keys: Sequence[Key], source: PickSource, reason: str = "") -> None:
    """Record which entries a team picks, instead of its earlier picks, unless they are the same."""

    def changed(view: Snapshot) -> Added:
        last = picks(view.events(track)).get(team, ())[-1:]
        if (last[0].keys if last else ()) == tuple(keys):
            return []
        picked = [{"file": file, "digest": digest} for file, digest in keys]
        pick = {"team": team, "picks": picked, "source": source} | ({"reason": reason} if reason else {})
        return [(track, "pick", pick)]

    store.record(changed)


def pick(
    challenge: Challenge, store: Store, names: Sequence[str], source: PickSource = "command", reason: str = ""
) -> Mapping[tuple[str, str], tuple[Entry, ...]]:
    """Record which entries teams pick instead of their earlier ones, and return them by track and folder of the team.

    Entries are named as for `entry_named`; those of one team in one track are all of its picks there. One that does not
    count now, but may later, is accepted; if one never counts, nothing is recorded.
    """

    def read(view: Snapshot) -> dict[tuple[str, str], tuple[Entry, ...]]:
        of_teams: dict[tuple[str, str], list[SubmissionState]] = defaultdict(list)
        for name in names:
            state = entry_named(view, challenge.tracks, name)
            submission = state.submission
            team = Now.of(view, challenge.track(submission.track)).merges.final(submission.team)
            of_teams[submission.track, team].append(state)
        return {of: _accepted(view, challenge.track(of[0]), of[1], states) for of, states in of_teams.items()}

    picks = store.read(read)
    for (track, team), picked in picks.items():
        record_pick(store, track, team, [(entry.file, entry.digest) for entry in picked], source, reason)
    return picks


def _accepted(view: Snapshot, declared: Track, team: str, states: Sequence[SubmissionState]) -> tuple[Entry, ...]:
    """The entries of a team, which may be its picks. Raises ChallengeError if they may not."""
    now = _with_picks(view, declared)
    track = now.rules
    if len({state.index for state in states}) < len(states):
        raise ChallengeError(f"{printable_name(team)}: an entry is picked twice; pick each once")
    if len(states) > track.picks:
        raise ChallengeError(
            f"{printable_name(team)}: found {counted(len(states), 'pick')}; the limit is {track.picks} "
            f"(tracks.{track.name}.picks)"
        )
    by_index = {entry.index: entry for entry in entries(now).all}
    picked = tuple(by_index[state.index] for state in states)
    for state, entry in zip(states, picked, strict=True):
        if entry.never_counts or (not state.present and stays(state.submission, now.phases, track, view.now)):
            raise ChallengeError(f"{entry.file}: never counts ({status_words(entry)}); pick another entry")
    return picked


def clear_picks(store: Store, track: Track, team: str, source: PickSource = "command", reason: str = "") -> None:
    """Record that a team, given by the name of its folder, has no picks. Raises ChallengeError and StoreError."""
    store.read(lambda view: _with_picks(view, track))
    record_pick(store, track.name, team, (), source, reason)


def _with_picks(view: Snapshot, track: Track) -> Now:
    """The track now. Raises ChallengeError if it has no picks, or they are closed."""
    now = Now.of(view, track)
    if now.rules.entry != "picks":
        raise ChallengeError(
            f'tracks.{track.name}.entry: found "{now.rules.entry}", so picks have no effect; set entry = "picks"'
        )
    if now.phases.is_over(view.now):
        last = now.phases.all[-1]
        raise ChallengeError(f"{track.name}: picks were accepted until {closing(last, utc_moment)}")
    return now
