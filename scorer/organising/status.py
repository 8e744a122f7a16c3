"""The state of a challenge: its tracks, entries, and the last run and render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from scorer.challenge.settings import Challenge, Track
from scorer.organising.run import current_basis
from scorer.organising.submission_files import submission_files
from scorer.site.folder import MANIFEST
from scorer.store.records import StoredSubmission
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import counted, utc_moment


def status(challenge: Challenge, store: Store) -> list[str]:
    """A few lines on the state of a challenge.

    Raises StoreError if the database fails, and ChallengeError if a folder of submissions cannot be read.
    """
    lines = [f"challenge: {challenge.name}", f"database: {store.where}", f"site: {_last_render(challenge)}"]
    for track in challenge.tracks:
        lines += store.read(lambda view, of=track: list(_track_lines(view, of)))  # type: ignore[misc]
    return lines


def _last_render(challenge: Challenge) -> str:
    try:
        changed = (challenge.site_path / MANIFEST).stat().st_mtime
    except OSError:
        return "not rendered yet; `scorer run` renders it"
    return f"rendered {utc_moment(datetime.fromtimestamp(changed, UTC))}, {challenge.site_path / 'index.html'}"


def _track_lines(view: Snapshot, track: Track) -> Iterator[str]:
    basis = current_basis(track, view.recorded_basis(track.name))
    present = [each for each in view.entries(track.name, basis) if each.present]
    states = Counter(map(_state, present))
    listed = submission_files(track)
    known = {found.file for each in view.submissions(track.name) if each.present and (found := listed.recorded(each))}
    new = len(listed.files) - len(known)
    teams = len({each.submission.team for each in present})
    yield (
        f"{track.name}: {counted(len(present), 'entry', 'entries')} of {counted(teams, 'team')}: "
        f"{states['scored']:,} scored, {states['rejected']:,} rejected, {states['failed']:,} failed, "
        f"{states['waiting']:,} waiting; "
        f"{counted(new, 'new file')} in the folder"
    )
    last_run = view.last_run(track.name)
    yield f"{track.name}: last run {utc_moment(last_run) if last_run else 'never'}; stage {track.stage or 'not set'}"


def _state(entry: StoredSubmission) -> str:
    if entry.result is not None:
        return entry.result.status
    return "waiting" if entry.failure is None else "failed"
