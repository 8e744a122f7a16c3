"""A backup of the database that was copied back: the log of the site shows that, and the record goes on after the lost
events.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

from scorer.errors import ChallengeError, os_errors_as
from scorer.record.events import log_lines
from scorer.record.log import LOG, LogLine
from scorer.settings.tracks import Challenge
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.verification.log import break_of, disorder, events_between, gap, read_log
from scorer.wording import counted


def check_published(challenge: Challenge, store: Store) -> None:
    """Raise ChallengeError if the site has published events that the record does not have.

    Until `restore`, nothing may be recorded, rendered or signed: the indexes of these events would be used twice.
    """
    if problem := published_problem(challenge, store):
        raise ChallengeError(problem)


def published_problem(challenge: Challenge, store: Store) -> str:
    """What is wrong if the site has published events that the record lacks; empty otherwise. Raises ScorerError."""
    path = challenge.site_path / LOG
    lines = _published(path)  # before the record, which may go on meanwhile
    return store.read(lambda view: _problem(view, path, lines))


def restore(challenge: Challenge, store: Store, copy: Path | None, *, unpublished: bool) -> list[str]:
    """Record which published events are lost, and begin the next epoch; return what that means, a line each.

    The published log is that of the site, or a longer `copy` of it. If the record has all of its events, nothing is
    recorded, unless `unpublished` says that receipts of other events may have been signed. Raises ChallengeError.
    """
    lines = _longest(challenge.site_path / LOG, copy)
    if not lines and not unpublished:
        raise ChallengeError(f"{challenge.site_path / LOG}: is not there; name a copy of the published log with --log")
    lost: list[LogLine] = []
    start = 0

    def decide(view: Snapshot) -> Sequence[LogLine] | None:
        nonlocal start
        start = len(view.all_events)
        first = _first_lacking(view, lines)
        if first == 1 or 0 < first <= start:
            raise ChallengeError(_problem(view, copy or challenge.site_path / LOG, lines))
        lost[:] = lines[start:]
        return lost if lost or unpublished else None

    index = store.record_restored(decide)
    if not index:
        hint = "; if receipts of later events were signed, `scorer restore --unpublished` begins a new epoch"
        return [f"nothing to restore: the record has the {counted(len(lines), 'event')} of the log{hint}"]
    last = store.read(lambda view: [*log_lines(view.secret("log"), view.all_events)][index - 1])
    said = (
        f"event {index} begins epoch {last.epoch}; receipts of epoch {last.epoch - 1} for events after {start} are void"
    )
    if not lost:
        return [said, "`scorer run` goes on; let the teams hand in again what is not in the folder of submissions"]
    receipts = ", ".join(f"{line.epoch}.{line.index}" for line in lost if line.kind == "arrival")
    return [
        f"{events_between(lost[0].index, lost[-1].index)} lost; {said}",
        f"void receipts, by epoch and index: {receipts or 'none'}",
        "the next `scorer run` records the files of lost entries that are in the folder of submissions as new "
        "arrivals; let the teams hand in the others again, and decide again what was decided since the backup",
    ]


def _longest(path: Path, copy: Path | None) -> Sequence[LogLine]:
    """The lines of the log of the site or of a copy, whichever is longer. Raises ChallengeError if they differ."""
    logs = sorted((_published(each) for each in (path, copy) if each is not None), key=len)
    if copy is not None and not copy.exists():
        raise ChallengeError(f"{copy}: is not there; name a copy of the published log")
    if any(log != logs[-1][: len(log)] for log in logs):
        raise ChallengeError(f"{copy}: is not the log of the site {path}; name a copy of the same log")
    if wrong := gap(logs[-1]) or disorder(logs[-1]) or break_of(logs[-1]):
        raise ChallengeError(f"{copy or path}: {wrong}; name another copy with --log")
    return logs[-1]


def _published(path: Path) -> Sequence[LogLine]:
    """The lines of a log; none if the file is not there. Raises ScorerError if it is no log."""
    with os_errors_as(ChallengeError, f"{path}: cannot be read"):
        if not path.exists():
            return ()
        status = path.stat()
    return _read(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)
def _read(path: Path, *_status: int) -> Sequence[LogLine]:
    """The lines of a log, read once for each status of the file."""
    return tuple(read_log(path))


def _first_lacking(view: Snapshot, lines: Sequence[LogLine]) -> int:
    """The index of the first published event that the record lacks; 0 if it has all."""
    events, key = view.all_events, view.secret("log")
    last = events[len(lines) - 1 : len(lines)]
    if not lines or [line.leaf for line in log_lines(key, last)] == [lines[-1].leaf]:
        return 0  # the leaf has the nonce, so no other record has this event
    pairs = zip_longest(log_lines(key, events), lines)
    return next((theirs.index for mine, theirs in pairs if theirs is not None and mine != theirs), 0)


def _problem(view: Snapshot, path: Path, lines: Sequence[LogLine]) -> str:
    """What is wrong if the site has published events that the record lacks, and what to do; empty if it has all."""
    first, count = _first_lacking(view, lines), len(view.all_events)
    if first == 1:
        return (
            f"{path}: is the log of another challenge or of another database: its first event is not that of the "
            "record; use the database of this site, or move the folder of the site away"
        )
    if first > count:
        return (
            f"{path}: the site has published {counted(len(lines), 'event')}, the record has {count:,}: a backup was "
            "restored; `scorer restore` lets the record go on, and until then nothing is recorded, rendered or signed"
        )
    if first:
        return (
            f"{path}: event {first} of the site is another one than in the record, which has "
            f"{counted(count, 'event')}: a backup was restored, and other events were recorded after it; restore the "
            "backup again, and run `scorer restore` before anything else"
        )
    return ""
