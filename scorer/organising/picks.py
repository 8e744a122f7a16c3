"""Picks of teams, in the file picks.toml or by a command, and decisions of the organiser about single entries."""

from __future__ import annotations

import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from scorer.board.board import Board
from scorer.board.site.captions import status_words
from scorer.errors import ChallengeError, StoreError
from scorer.files import FileBelow, RefusedError, Remote
from scorer.files import digest as digest_of
from scorer.live.entries import entries
from scorer.live.entry import SERVICE, Entry, Key, SubmissionState, key_of, recorded, stays
from scorer.live.now import Now, submissions_of
from scorer.live.phases import is_misdated
from scorer.live.quotas import Pick, PickSource, picks
from scorer.organising.files import FIRST_SECOND, LAST_SECOND, PicksFile, final_path, submission_files, why_skipped
from scorer.settings.tracks import Challenge, Track
from scorer.store.events import Basis
from scorer.store.log import iso
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, printable_name, quoted, suggestion, utc_moment

INDEX = re.compile(r"[1-9][0-9]{0,6}")
"""Shorter than a part of a digest, so that it cannot be mistaken for one."""

PART_OF_DIGEST = re.compile(r"[0-9a-f]{8,64}")


def retry(challenge: Challenge, store: Store, names: Sequence[str] = ()) -> int:
    """Let the next run try failed entries again, also those that were given up; return how many had failed.

    Without names, which are as for `entry_named`, these are all.
    """
    named = store.read(lambda view: [entry_named(view, challenge.tracks, name) for name in names])
    count = 0
    for track in challenge.tracks:
        basis = store.read(partial(_basis, track=track))
        digests = {state.submission.digest for state in named if state.submission.track == track.name}
        if basis is not None and (digests or not names):
            count += store.retry(basis, digests if names else None)
    return count


def _basis(view: Snapshot, track: Track) -> Basis | None:
    return Now.of(view, track).basis


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
        return [("withdrawal", {"file": key[0], "digest": key[1], "source": SERVICE})]

    store.record(track.name, changed)
    with suppress(OSError):
        delivered_file = final_path(track, key[0])
        if digest_of(delivered_file) == key[1]:
            delivered_file.unlink()


def forget_outcome(store: Store, track: str, key: Key, reason: str) -> None:
    """Drop what became of a submission, by every basis, so that the next run scores it again; record the reason.

    Results belong to the content of a file: other submissions with the same content are scored again, too.
    """
    store.record_forgetting(track, lambda view: [("forgetting", _about(store, view, track, key, reason))], key[1])


def amend_received(store: Store, track: str, key: Key, received: datetime, reason: str) -> None:
    """Record the correct time of receipt of a submission. Raises ValueError if it has no zone."""
    if received.tzinfo is None:
        raise ValueError(f"a time without a zone: {received}")
    if is_misdated(received, store.now()):
        raise StoreError(f"{iso(received)}: is not a time of receipt; give one from 1990 on and not later than now")
    amended = {"received": iso(received)}
    store.record(track, lambda view: [("amendment", {**_about(store, view, track, key, reason), **amended})])


def _about(store: Store, view: Snapshot, track: str, key: Key, reason: str) -> dict[str, str]:
    """The body of a decision about a submission. Raises StoreError if it never arrived, or the reason is blank."""
    if not reason.strip():
        raise StoreError("the reason is blank; give one: it is recorded")
    state = recorded(view, track).get(key)
    if state is None:
        raise StoreError(
            f"{store.where}: no submission of track {track} is {printable_name(key[0])} with the digest {key[1][:12]}; "
            "the page of the team lists its entries"
        )
    return {"file": state.submission.file, "digest": state.submission.digest, "reason": reason}


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
        listed = ", ".join(f"{printable_name(submission.file)} {submission.digest[:12]}" for submission in submissions)
        raise ChallengeError(f"{quoted(name)} names {len(states)} entries ({listed}); give more digits of the SHA-256")
    return states[0]


def _is_named(state: SubmissionState, name: str) -> bool:
    submission = state.submission
    if INDEX.fullmatch(name):
        return state.index == int(name)
    if PART_OF_DIGEST.fullmatch(name) and submission.digest.startswith(name):
        return True
    return name in (submission.file, printable_name(submission.file))


KB = 1000
LARGEST = 64
"""Kilobytes that picks.toml may have."""

MOST_DOTS = 100
"""Dots outside of strings. The time to read a key grows with the square of its parts."""

_TEXT_OR_COMMENT = re.compile(
    r"\"{3}(?:\\.|.)*?(?:\"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|\"(?:\\[^\n]|[^\"\\\n])*+\"?|'[^'\n]*+'?|#[^\n]*", re.DOTALL
)
"""Comments, and strings of all kinds, also without an end: the parser stops there, and no text is matched twice."""

KEY = "picks"
EXAMPLE = 'expected picks = ["run1.txt", "run3.txt"]'


class _InvalidPicksError(Exception):
    """The file has errors; its arguments are the messages."""


def import_picks(
    store: Store,
    track: Track,
    files: Collection[PicksFile],
    *,
    closed_at: datetime | None = None,
    last_run: datetime | None = None,
) -> tuple[str, ...]:
    """Record the picks in the folders of a track's teams that differ from the recorded ones, and return the problems.

    Call it once the submissions of the track are imported: a file that is picked must be one of them. Picks are closed
    from `closed_at` on, also if the time of the file is earlier and the track was scored since (`last_run`).
    """
    new, problems = store.read(lambda view: examine(view, track, files, closed_at=closed_at, last_run=last_run))
    for team, keys in new.items():
        record_pick(store, track.name, team, keys, "folder")
    return tuple(problem for _, problem in problems)


def record_pick(store: Store, track: str, team: str, keys: Sequence[Key], source: PickSource, reason: str = "") -> None:
    """Record which entries a team picks, instead of its earlier picks, unless they are the same."""

    def changed(view: Snapshot) -> Added:
        last = picks(view.events(track)).get(team, ())[-1:]
        if (last[0].keys if last else ()) == tuple(keys):
            return []
        known = recorded(view, track)
        for file, digest in keys:
            if (file, digest) not in known:
                raise StoreError(
                    f"no submission is {printable_name(file)} with the digest {digest[:12]}; the page of the team "
                    "lists its entries"
                )
        if len(set(keys)) < len(keys):
            raise StoreError("a submission is picked twice; pick each once")
        picked = [{"file": file, "digest": digest} for file, digest in keys]
        return [("pick", {"team": team, "picks": picked, "source": source} | ({"reason": reason} if reason else {}))]

    store.record(track, changed)


def picks_problems(view: Snapshot, track: Track) -> dict[str, list[str]]:
    """What visitors may see of what is wrong with the picks.toml of the teams now, by the name that pages show.

    Without the folder of submissions, as on another machine, nothing is known to be wrong. A board that is frozen shows
    nothing of it.
    """
    now, problems = Now.of(view, track), defaultdict[str, list[str]](list)
    if now.rules.entry != "picks" or now.frozen_since is not None:
        return problems
    with suppress(ChallengeError):
        files, last_run = submission_files(track).picks, view.last_run(track.name)
        for team, problem in examine(view, now.rules, files, closed_at=now.phases.end, last_run=last_run)[1]:
            problems[printable_name(team)].append(problem)
    return problems


def with_picks_problems(now: Now, board: Board) -> Board:
    """The board of a track, with what is wrong with the picks.toml of its teams now."""
    problems = picks_problems(now.view, now.declared)
    if not problems:
        return board
    rows = (replace(row, picks_problems=tuple(problems.get(row.team.folder, ()))) for row in board.rows)
    return replace(board, rows=tuple(rows))


def examine(
    view: Snapshot,
    track: Track,
    files: Collection[PicksFile],
    *,
    closed_at: datetime | None,
    last_run: datetime | None,
) -> tuple[dict[str, tuple[Key, ...]], list[tuple[str, str]]]:
    """The new picks in the folders of a track's teams, by team, and the problems, each with its team.

    A problem is an error in a file, or a pick in it that does not count; the parameters are those of `import_picks`.
    """
    if not files:
        return {}, []
    now = Now.of(view, track)
    present = {state.submission.file: state for state in now.submissions.values() if state.present}
    by_index = {entry.index: entry for entry in entries(now).all}
    targets = now.merges.targets()
    new: dict[str, tuple[Key, ...]] = {}
    problems: list[tuple[str, str]] = []
    for file in files:
        last = next(iter(now.picks.get(file.team, ())[-1:]), None)
        try:
            _check_use(track, targets.get(file.team))
            content, changed = _read(file)
            picked = [present[path] for path in _picks(content, file, track, present)]
            keys = tuple(key_of(state.submission) for state in picked)
            is_new = keys != (last.keys if last else ())
            if is_new:
                _check_source(last)
            if is_new and last is not None and last.source == "command" and changed <= last.at:
                continue  # the command is later than the file
            if is_new:
                _check_open(changed, closed_at, last_run)
                new[file.team] = keys
            if closed_at is None or view.now < closed_at:  # afterwards no other entry can be picked
                useless = filter(None, (_useless(by_index[state.index]) for state in picked))
                problems += [(file.team, f"{printable_name(file.file)}: {text}") for text in useless]
        except (_InvalidPicksError, OSError) as error:
            errors = error.args if isinstance(error, _InvalidPicksError) else [why_skipped(error)]
            name = printable_name(file.file)
            problems += [(file.team, f"{name}: {text}; the earlier picks stay") for text in errors]
    return new, problems


def _useless(entry: Entry) -> str:
    """What to do if a pick in a file does not count; empty if it does, and before it has a result."""
    if not entry.never_counts and entry.admission != "misdated":
        return ""
    advice = "pick another file" if entry.never_counts else "ask the organisers to correct the time of receipt"
    return f"picks {quoted(entry.file.rpartition('/')[2])}, which does not count ({status_words(entry)}); {advice}"


def _check_use(track: Track, target: str | None) -> None:
    if track.entry != "picks":
        raise _InvalidPicksError(f'has no effect: the rule of this track is entry = "{track.entry}"')
    if target is not None:
        raise _InvalidPicksError(
            f"has no effect: the team is merged into {printable_name(target)}, which has the picks"
        )


def _check_source(last: Pick | None) -> None:
    if last is not None and last.source == "service":
        raise _InvalidPicksError("has no effect: the team has picked over the service; pick there")


def _check_open(changed: datetime, closed_at: datetime | None, last_run: datetime | None) -> None:
    if closed_at is not None and (changed >= closed_at or (last_run is not None and last_run >= closed_at)):
        raise _InvalidPicksError(f"picks were accepted until {utc_moment(closed_at)}, and these are later")


def _read(file: PicksFile) -> tuple[bytes, datetime]:
    """The content of the file, and when it was last changed. Raises OSError, and RefusedError as for a submission."""
    most = LARGEST * KB
    with file.path.open("rb") as stream:
        if isinstance(file.path, FileBelow):
            status = os.fstat(stream.fileno())
            if status.st_nlink > 1:
                raise RefusedError("a hard link; submit a copy")
            changed: float | None = status.st_mtime
        else:
            changed = file.path.changed() if isinstance(file.path, Remote) else None
        if changed is None:
            raise RefusedError("the time of its last change is unknown; ask the organisers to record the picks")
        content = stream.read(most + 1)
    if len(content) > most:
        raise RefusedError(f"has more than {LARGEST} kB; {EXAMPLE}")
    moment = min(max(changed, FIRST_SECOND), LAST_SECOND)
    return content, datetime.fromtimestamp(moment, UTC)


def _picks(content: bytes, file: PicksFile, track: Track, present: Collection[str]) -> tuple[str, ...]:
    """The files that the file picks. Raises _InvalidPicksError with all errors in it."""
    names = _names(_document(content))
    if len(names) > track.picks:
        raise _InvalidPicksError(f"picks {counted(len(names), 'file')}; the limit is {track.picks} (picks)")
    folder = file.file.rpartition("/")[0]
    known = {path.rpartition("/")[2]: path for path in present if path.rpartition("/")[0] == folder}
    shown = {printable_name(name): name for name in known}
    errors = list(_name_errors([shown.get(name, name) for name in names], known, list(shown)))
    if errors:
        raise _InvalidPicksError(*errors)
    return tuple(known[shown.get(name, name)] for name in names)


def _name_errors(names: Sequence[str], known: Collection[str], shown: Sequence[str]) -> Iterator[str]:
    for position, name in enumerate(names):
        if name in names[:position]:
            yield f"picks {quoted(name)} twice; pick each file once"
        elif name not in known:
            yield (
                f"picks {quoted(name)}{suggestion(name, shown)}, but no submission in this folder is called so; give "
                "the names of files in the folder"
            )


def _document(content: bytes) -> dict[str, Any]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _InvalidPicksError(f"not UTF-8; {EXAMPLE}") from error
    if _TEXT_OR_COMMENT.sub("", text).count(".") > MOST_DOTS:
        raise _InvalidPicksError(f"has more than {MOST_DOTS} dots outside of names; {EXAMPLE}")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise _InvalidPicksError(f"not TOML ({quoted(reason)[1:-1]}); {EXAMPLE}") from error


def _names(document: Mapping[str, Any]) -> Sequence[str]:
    errors = [
        f"unknown key {quoted(key)}{suggestion(key, [KEY])}; {EXAMPLE}" for key in list(document)[:3] if key != KEY
    ]
    names = document.get(KEY)
    if names is None and not errors:
        errors.append(f"lacks the key {KEY}; {EXAMPLE}")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        errors.append(f"{KEY} is not a list of names of files; {EXAMPLE}")
    if errors:
        raise _InvalidPicksError(*errors)
    return list(names or [])


# The command


def pick(
    challenge: Challenge, store: Store, names: Sequence[str], source: PickSource = "command", reason: str = ""
) -> tuple[str, list[Entry]]:
    """Record which entries a team picks instead of its earlier ones; returns the folder of the team, and the entries.

    All entries are of one team in one track, named as for `entry_named`. One that does not count now, but may later, is
    accepted; one that never counts is not.
    """
    track, team, keys, picked = store.read(lambda view: _picked(view, challenge, names))
    record_pick(store, track, team, keys, source, reason)
    return team, picked


def _picked(view: Snapshot, challenge: Challenge, names: Sequence[str]) -> tuple[str, str, list[Key], list[Entry]]:
    """The track, the folder of the team, and the entries with these names. Raises ChallengeError, as `pick`."""
    states = [entry_named(view, challenge.tracks, name) for name in names]
    tracks = {state.submission.track for state in states}
    teams = {
        Now.of(view, challenge.track(state.submission.track)).merges.final(state.submission.team) for state in states
    }
    if len(tracks) > 1 or len(teams) > 1:
        raise ChallengeError("the entries are of several teams or tracks; pick entries of one team in one track")
    (name,), (team,) = tracks, teams
    now = _with_picks(view, challenge.track(name))
    track = now.rules
    if len(states) > track.picks:
        raise ChallengeError(
            f"found {counted(len(states), 'pick')}; the limit is {track.picks} (tracks.{track.name}.picks)"
        )
    by_index = {entry.index: entry for entry in entries(now).all}
    picked = [by_index[state.index] for state in states]
    for state, entry in zip(states, picked, strict=True):
        if entry.never_counts or (not state.present and stays(state.submission, now.phases, track, view.now)):
            raise ChallengeError(f"{entry.file}: never counts ({status_words(entry)}); pick another entry")
    return name, team, [key_of(state.submission) for state in states], picked


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
    closed_at = now.phases.end
    if closed_at is not None and view.now >= closed_at:
        raise ChallengeError(f"{track.name}: picks were accepted until {utc_moment(closed_at)}")
    return now
