"""What the service says about a file and about the entries of a team, as plain values for JSON. What is hidden is
in none of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import anyio

from scorer.board.build import are_clear, board, worded_gap
from scorer.board.site.captions import status_words
from scorer.errors import Findings, Problem
from scorer.files import FileBelow, Location
from scorer.live.entries import Arrival, Followed, entries, scored_entries
from scorer.live.entry import (
    SERVICE,
    Entry,
    are_queries_public,
    counting_entries,
    is_baseline,
    rounded,
    stays,
    without_solution,
)
from scorer.live.names import shown_names
from scorer.live.now import Now
from scorer.organising.files import safe_digest, submissions_folder
from scorer.record.events import Event, FileBody
from scorer.rules.quota import next_place
from scorer.service.uploads import in_thread
from scorer.settings.tracks import FILE, LISTS, SOLUTION_KEYS, Challenge, Track
from scorer.store.documents import sent_name
from scorer.store.events import AppliedErratumBody, Basis
from scorer.store.snapshot import Snapshot
from scorer.wording import iso_time, printable

_VERSION = 1
"""Of the interface."""

AnswerDocument = dict[str, Any]

_SHOWN_EVENTS = ("phases", "extension", "commitment", "reveal")
"""The kinds of events that concern all teams and are public at any time."""

_OWN_EVENTS = ("arrival", "withdrawal", "return", "amendment", "metadata", "pick")


def challenge_document(view: Snapshot, challenge: Challenge) -> AnswerDocument:
    """The challenge, its tracks, and where they are in their phases."""
    return {
        "version": _VERSION,
        "challenge": challenge.name,
        "time": iso_time(view.now),
        "tracks": [track_document(view, track, challenge) for track in challenge.tracks],
    }


def track_document(view: Snapshot, track: Track, challenge: Challenge) -> AnswerDocument:
    """A track, and where it is in its phases."""
    phases = Now.of(view, track).phases
    return {
        "name": track.name,
        "title": track.title,
        "state": phases.state(view.now) if phases.all else "open",
        "phases": [
            {"name": phase.name, "start": iso_time(phase.start), "end": iso_time(phase.end)} for phase in phases.all
        ],
        "list_length": track.list_length,
        "file_mb": challenge.limits.file_mb,
    }


def accepted_document(followed: Followed, delivery: str, arrived: Arrival, same_as: int | None) -> AnswerDocument:
    """A delivery that is in the record; `same_as` is an earlier entry of the team with the same bytes."""
    event, arrival = arrived
    return {
        "id": delivery,
        "index": event.index,
        "team": printable(arrival.team),
        "track": event.track,
        "file": printable(arrival.file),
        "sha256": arrival.digest,
        "received": iso_time(arrival.received),
        "state": "received",
        "same_as": same_as,
        "receipt": followed.issuer.receipt(event),
    }


def same_entry(
    view: Snapshot,
    followed: Followed,
    track: Track,
    team: str,
    digest: str,
    moment: datetime,
    before: int | None = None,
) -> int | None:
    """The last entry of a team that has the same bytes in the phase of a moment and is not withdrawn; None without one.

    `before` leaves out this entry and later ones.
    """
    place = Now.of(view, track).phases.place
    known = (
        state.index
        for state in followed.submissions(track.name, team)
        if state.present and state.submission.digest == digest and place(state.submission.received) == place(moment)
    )
    return max((index for index in known if before is None or index < before), default=None)


def entry_documents(
    view: Snapshot, challenge: Challenge, followed: Followed, track: Track, team: str, compared: str = ""
) -> Mapping[int, AnswerDocument]:
    """The entries of a team by their indexes, as it may see them.

    Scores that the phase hides are left out, and so are those of entries since a freeze, which the board hides. The
    entry `compared`, by its index, has what it is against the last one before it that has a score.
    """
    now = followed.now(view, track, team).seen_by("team")
    rules, basis = now.track, now.basis
    # Automatic decimals depend on the results of all teams.
    whole = now if rules.decimals is not None or basis is None else Now.of(view, track).seen_by("team")
    scored = scored_entries(whole)
    published, is_hidden = published_board(challenge, track), Now.of(view, track).track.hides_scores
    ranks = published
    if is_hidden:
        ranks = _own_board(view, track) if rules.visibility and rules.visibility.rank else PublishedBoard()
    shown = shown_names(view, challenge.tracks, followed.pseudonyms)
    rows = published.of_team(slug := followed.slug(now.merges.final(team), {} if is_hidden else shown))
    queries_are_public = basis is not None and _are_queries_public(view, track, basis)
    names = tuple(map(str, rules.all_measures))
    members = now.merges.members(team)
    together = [entry for entry in scored.all if entry.team in members]
    counting = counting_entries(together, scored.track, basis is not None and bool(view.flags(basis).any()))
    states = {state.index: state for state in scored.stored}
    listed = {}
    before: tuple[Entry, float] | None = None
    for entry in scored.all:
        if entry.team != team:
            continue
        document = _entry_document(without_solution(entry, queries_are_public=queries_are_public), names)
        document["id"] = followed.arrival(entry.index)[1].delivery
        document["counts"] = entry in counting
        has_closed = stays(states[entry.index].submission, now.phases, rules, view.now)
        if team in shown:
            document["shown_as"] = shown[team]
        if track.metadata:
            document["metadata"] = states[entry.index].metadata.values
        document["may_withdraw"] = entry.presence == "present" and not has_closed
        if not entry.is_frozen and rows:
            document["rank_of_team"] = min(row["rank"] for row in rows.values())
        own = slug if rules.rows == "team" else f"{slug}.{entry.index}"
        shows_rank = now.shows("rank", entry.phase) and not entry.is_late
        score = document["scores"].get(ranks.stage, {}).get(names[0]) if shows_rank else None
        document["rank"] = ranks.rank_of(score, own)
        shown_score = document["scores"].get(rules.shown_stage, {}).get(names[0]) if shows_rank else None
        is_ranked = document["counts"] and shown_score is not None and not is_baseline(team, rules)
        document["board_follows"] = is_ranked and published.scores.get(own) != shown_score
        row = rows.get(own, {})
        has_range = entry in counting and row.get("rank from")
        document["rank_range"] = (row["rank from"], row["rank to"]) if has_range else None
        document |= {"tier": row.get("tier") if has_range else None, "against": None}
        listed[entry.index] = document
        if (own_score := document["scores"].get(rules.shown_stage, {}).get(names[0])) is None:
            continue
        if str(entry.index) == compared and before is not None:
            document["against"] = _against(view, now, scored.track, (entry, own_score), before)
        before = entry, own_score
    return listed


def _against(
    view: Snapshot, now: Now, track: Track, own: tuple[Entry, float], before: tuple[Entry, float]
) -> AnswerDocument:
    """What an entry with a score is against an earlier one of its team: better or worse, and whether clearly.

    A page asks again and again, so the answer is kept with the whole record, not with the part of the team in `now`.
    """
    digests = own[0].digest, before[0].digest
    version = now.basis, track.primary, track.shown_split, track.shows, track.clusters
    is_clear = view.kept(("clear", *digests), version, lambda: are_clear(now, track, digests))
    answer = {None: "not compared", True: "yes", False: "too close to call"}[is_clear]
    decimals, difference = track.shown_decimals, own[1] - before[1]
    text = worded_gap("{} than", f"entry {before[0].index}", difference, answer, decimals)
    if not rounded(difference, decimals):
        text = f"The same score as entry {before[0].index}."
    return {"entry": before[0].index, "difference": rounded(difference, decimals), "clear": is_clear, "text": text}


def _entry_document(entry: Entry, names: Sequence[str]) -> AnswerDocument:
    scores: dict[str, Mapping[str, float | None]] = {}
    if entry.state in ("scored", "early", "late"):
        for stage, values in (("preliminary", entry.preliminary), ("final", entry.final)):
            if any(value is not None for value in values):
                scores[stage] = dict(zip(names, values, strict=True))
    return {
        "index": entry.index,
        "file": entry.file,
        "name": sent_name(entry.file),
        "sha256": entry.digest,
        "received": iso_time(entry.received),
        "phase": entry.phase,
        "state": entry.state,
        "outcome": entry.outcome,
        "words": str(status_words(entry)),
        "picked": entry.is_picked,
        "scores": scores,
        "problems": [{"line": problem.line or None, "text": problem.text} for problem in entry.findings],
        "problem_count": entry.findings_count,
    }


_PUBLIC: dict[tuple[str, str], bool] = {}
"""Whether the public list of a track has exactly the queries of a solution, which a process finds out once."""


def _are_queries_public(view: Snapshot, track: Track, basis: Basis) -> bool:
    key = track.name, basis.solution
    if key not in _PUBLIC and "queries" in track.files and basis.solution in view.solution_digests():
        _PUBLIC[key] = are_queries_public(track, view.queries(basis.solution).ids)
    return _PUBLIC.get(key, False)


@dataclass(frozen=True, slots=True)
class PublishedBoard:
    """What the published board of a track shows of the rows that have a rank, by their ids."""

    stage: str = ""
    """Which scores it has: "preliminary" or "final"; empty if there is no board yet."""
    scores: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, AnswerDocument] = field(default_factory=dict)
    """As leaderboard.json has them."""

    def of_team(self, slug: str) -> Mapping[str, AnswerDocument]:
        """The rows of a team by their ids: the slug of the team, or with the index of an entry after a dot."""
        return {name: row for name, row in self.rows.items() if name.partition(".")[0] == slug}

    def rank_of(self, score: float | None, own: str) -> int | None:
        """The rank that an entry of a team would have if it counted; None without a score."""
        if score is None:
            return None
        return 1 + sum(other > score for team, other in self.scores.items() if team != own)


def _own_board(view: Snapshot, track: Track) -> PublishedBoard:
    """What teams may see of the scores of a board that is hidden: only the rank of an own entry among them."""
    key = "own board", track.name, id(track)
    if key not in view.derived:
        built = board(Now.of(view, track).seen_by("team"))
        scores = {row.slug: built.shown_scores(row.entry)[0] for row in built.rows if row.rank is not None}
        view.derived[key] = PublishedBoard(
            built.track.shown_stage, {slug: score for slug, score in scores.items() if score is not None}
        )
    kept: PublishedBoard = view.derived[key]
    return kept


def published_board(challenge: Challenge, track: Track) -> PublishedBoard:
    """The published board of a track."""
    board = challenge.site_path / track.name / "leaderboard.json"
    with suppress(OSError, ValueError, LookupError, TypeError):
        status = board.stat()
        return _published_board(board, status.st_mtime_ns, status.st_ino)
    return PublishedBoard()


@lru_cache(maxsize=16)
def _published_board(board: Path, *_status: int) -> PublishedBoard:
    document = json.loads(board.read_bytes())
    stage, primary = document["track"]["stage"], document["track"]["primary"]
    column = primary if stage == "final" else f"{stage} {primary}"
    rows = {row["id"]: row for row in document["rows"] if row["rank"] is not None}
    return PublishedBoard(stage, {team: row[column] for team, row in rows.items() if row.get(column) is not None}, rows)


def quota_document(view: Snapshot, followed: Followed, track: Track, team: str, digest: str = "") -> AnswerDocument:
    """What a team has left of its quota, and when it begins again; given the digest of a file, also which entry it is
    the same as.
    """
    now = followed.now(view, track, team)
    limits, left_now, used_up = [], "", ""
    if now.rules.quota.limits_anything:
        listed = entries(now).quota.left(now.merges.members(team), view.now)
        left_now, used_up = next_place(listed)
        limits = [
            {key: getattr(left, key) for key in ("what", "limit", "used", "left", "expected")}
            | {"resets_at": iso_time(left.resets) if left.resets else None}
            for left in listed
        ]
    same = {"same_as": same_entry(view, followed, track, team, digest, view.now)} if digest else {}
    left = {"limits": limits, "left": left_now, "used_up": used_up}
    return {"track": track.name, "time": iso_time(view.now), **left, **same}


def event_documents(
    view: Snapshot, challenge: Challenge, followed: Followed, team: str, since: int
) -> Iterator[AnswerDocument]:
    """The events after one with an index that a team may see: its own, and those that are public."""
    visible: list[Event] = []
    for track in challenge.tracks:
        erratum_until = Now.of(view, track).public.view.last_index
        visible += (
            event
            for event in followed.events(track.name, [team])
            if event.index > since
            and (
                event.kind in (*_SHOWN_EVENTS, *_OWN_EVENTS)
                or (isinstance(event.body, AppliedErratumBody) and event.index <= erratum_until)
            )
        )
    for index, event in sorted({event.index: event for event in visible}.items()):
        document = {"index": index, "kind": event.kind, "at": iso_time(event.at) if event.at else None}
        document |= {"track": event.track} if event.track else {}
        values = event.values
        document |= {key: values[key] for key in ("reason", "phase", "end", "number") if key in values}
        if event.kind in _OWN_EVENTS and isinstance(event.body, FileBody):
            document |= {"file": printable(values["file"]), "sha256": event.body.digest}
        yield document


_KEPT = 1000
"""So many answers are kept."""

_KEPT_WITH_URLS = 60.0
"""Seconds for which an answer is kept that depends on files behind URLs."""

_WAIT = 600.0
"""Seconds after which a check is given up. The limits of the challenge end it before."""

_Key = tuple[object, ...]
"""All that the check of a file depends on: the track, the digest of the file, and the files of the challenge."""


def _key(challenge: Challenge, track: str, digest: str, last: LastFile) -> _Key:
    """The key of a check. It reads the lists of all tracks, because a file may be for another one than it says."""
    files: set[Location] = {challenge.root / FILE}
    for each in challenge.tracks:
        files |= {path for key, path in each.files.items() if key in (*SOLUTION_KEYS, *LISTS)}
    local = sorted(path for path in files if isinstance(path, Path))
    # The version of a file behind a URL takes long to find out, so these checks are repeated after a while.
    minute = None if len(local) == len(files) else time.monotonic() // _KEPT_WITH_URLS
    return track, digest, last, minute, *map(_version, local)


def _version(path: Path) -> _Key:
    """A file as it is now: another content has another version."""
    with suppress(OSError):
        status = path.stat()
        return path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return (path,)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the check of a file says, by what the site publishes."""

    is_valid: bool
    findings: Findings
    summary: str
    """How much the file has, or how many errors."""


LastFile = tuple[FileBelow, str] | None
"""The file of the last entry of a team, which a check compares with another one, and its digest; None without one."""


def last_file(followed: Followed, track: Track, team: str, before: int | None = None) -> LastFile:
    """The file of the last entry of a team in a track that is not withdrawn, or of the last one before another entry.

    Only a file that the service has received is read for a team.
    """
    known = followed.submissions(track.name, team)
    present = (state for state in known if state.present and (before is None or state.index < before))
    last = max(present, key=lambda state: state.index, default=None)
    if last is None or last.source != SERVICE:
        return None
    parts = tuple(last.submission.file.split("/")[1:])
    return FileBelow(submissions_folder(track), parts), last.submission.digest


@dataclass(slots=True)
class Checks:
    """The checks of files, one at a time. Teams take turns: of each, one file at most waits for its turn."""

    _known: OrderedDict[_Key, Verdict] = field(default_factory=OrderedDict)
    _turns: defaultdict[str, anyio.Lock] = field(default_factory=lambda: defaultdict(anyio.Lock))
    """By team."""
    _process: subprocess.Popen[bytes] | None = None
    """The last check that was started."""
    _stopped: threading.Event = field(default_factory=threading.Event)

    async def of(
        self, challenge: Challenge, track: str, path: Path, digest: str, team: str, last: LastFile
    ) -> Verdict | None:
        """What the check of a file says, apart from its metadata; None if it cannot be checked now."""
        async with self._turns[team]:
            key = _key(challenge, track, digest, last)
            if key not in self._known:
                compared = last if last is not None and last[1] != digest else None
                answer = await in_thread("check", self._checked, challenge, track, path, compared)
                if answer is None:
                    return None
                self._known[key] = answer
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            return self._known[key]

    def known(self, challenge: Challenge, track: str, digest: str, last: LastFile) -> Verdict | None:
        """What the check of a file has said; None if it was not checked with the challenge as it is now."""
        return self._known.get(_key(challenge, track, digest, last))

    async def begin(self, challenge: Challenge, track: str, path: Path, digest: str, team: str, last: LastFile) -> None:
        """Check a file of which an answer says that it is being checked, unless another one of the team is."""
        if not self._turns[team].locked():
            await self.of(challenge, track, path, digest, team, last)

    def stop(self) -> None:
        """End the check that runs, and begin no other: the service does not wait for them when it stops."""
        self._stopped.set()
        if self._process is not None:
            self._process.kill()

    def _checked(self, challenge: Challenge, track: str, path: Path, last: LastFile) -> Verdict | None:
        """In a thread: check a file, and compare it with the last one if its bytes are still there."""
        if self._stopped.is_set():
            return None
        command = [sys.executable, "-P", "-m", "scorer", "check", str(path), "--track", track]
        command += ["--challenge", str(challenge.root), "--no-meta", "--no-solution", "--format", "json"]
        with suppress(OSError):
            if last is not None and safe_digest(last[0], challenge.limits) == last[1]:
                command += ["--last", str(last[0].path)]
        try:
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError:
            return None
        with process:
            self._process = process
            if self._stopped.is_set():
                process.kill()
            try:
                out, _ = process.communicate(timeout=_WAIT)
            except subprocess.TimeoutExpired:
                process.kill()
                return None
        if process.returncode not in (0, 1) or not out:  # the challenge cannot be read now
            return None
        answer = json.loads(out)
        found = [Problem(each["line"], each["code"], each["facts"]).without_advice() for each in answer["findings"]]
        return Verdict(answer["valid"], Findings(found, answer["count"]), answer["summary"])
