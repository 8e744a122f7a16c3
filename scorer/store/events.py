"""Events, the rows of the record: their kinds and the values of their bodies; and plain values that the store takes
and returns.

The bodies in a database are as this package wrote them, which checksums show, and are only read. Those of a bundle are
not trusted: they are checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from scorer.errors import Findings
from scorer.lists import Counts
from scorer.measures.matched import Bools, JudgedItems
from scorer.options import Split
from scorer.scoring.outcomes import FailureKind, Mean, Rules
from scorer.settings.loading import TeamSettings
from scorer.settings.rules import SHA256, Phase, QuerySplit, check_order
from scorer.store.log import Kind, content_of, encoded, iso, unescaped


@dataclass(frozen=True, slots=True)
class Submission:
    """A file of a team in a track, identified by track, file and digest."""

    track: str
    team: str
    file: str
    """Its path below submissions/; names are bytes, decoded with surrogateescape."""
    digest: str
    """SHA-256 of its content, in hexadecimal."""
    received: datetime
    """With a time zone; a time without one raises ValueError."""

    def __post_init__(self) -> None:
        if self.received.tzinfo is None:
            raise ValueError(f"a time without a zone: {self.received}")

    @property
    def sort_key(self) -> tuple[datetime, str, str, str]:
        """Orders the submissions of a track by time of receipt, team, file and digest."""
        return self.received, self.team, self.file, self.digest


@dataclass(frozen=True, slots=True)
class Basis:
    """What results depend on besides the submission: a solution and matching rules, by their digests."""

    solution: str
    matching: str
    """Of the matching rules; empty in a basis that schema 1 recorded."""
    version_1: str = field(default="", compare=False)
    """The digest that schema 1 has for the same settings: results from before the migration are found by it."""
    split: QuerySplit | None = field(default=None, compare=False, repr=False)
    """Decides which queries the preliminary means are taken over; None: the flags of the solution do. A result has the
    means of any split, so it is no part of what results are found by."""

    @classmethod
    def of(cls, solution: str, rules: Rules, split: QuerySplit | None = None) -> Basis:
        """The basis of results by these rules; `solution` is the digest of the solution."""
        return cls(solution, rules.matching_digest, rules.version_1_digest, split)

    def flags(self, queries: StoredQueries) -> Bools:
        """[query]: whether it enters the preliminary scores; `queries` are those of the solution."""
        if self.split is None:
            return queries.flagged
        return np.array(self.split.flags(queries.ids), dtype=bool)

    def has_rules_of(self, other: Basis) -> bool:
        """Whether both have the same matching rules, by the digest of either schema."""
        return self.matching == other.matching if self.matching else self.version_1 == other.version_1


class StoredQueries(NamedTuple):
    """The queries of a solution, in the order of the per-query scores."""

    ids: Sequence[str]
    flagged: Bools
    """[query]: whether the solution flags it for the preliminary scores."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """What became of a submission."""

    status: Literal["scored", "rejected"]
    counts: Counts | None
    """None for a rejected submission."""
    findings: Findings
    """The reasons for the rejection, or the notes on a scored submission."""
    means: Mapping[Split, Mapping[str, Mean]]
    """By split and canonical name of the measure; empty for a rejected submission."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a submission has no result yet, although it was tried."""

    kind: FailureKind
    reason: str
    """Of the last attempt; for the organiser, not for the public."""
    attempts: int
    """Those that count, see `Failed.is_counted`."""


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """What a scan found about a file: while the numbers are the same, the file need not be read again."""

    size: int
    """Bytes."""
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int
    digest: str
    """SHA-256 of its content, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class FolderScan:
    """The last scan of the folder of a track: a run listed it."""

    at: datetime
    """From before the folder was listed, so that a file that it did not have came later."""
    unread: Mapping[str, datetime | None]
    """By mark of what was listed and could not be recorded: the last scan that did not list it; None without one."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredSolution:
    """The queries of a solution, in the order of the per-query scores, and its grades."""

    query_ids: tuple[str, ...]
    flagged: Bools
    """[query]: whether the solution flags it for the preliminary scores; see `Basis.flags`."""
    ideal: JudgedItems
    """The graded items, the best of each query first."""


@dataclass(frozen=True, slots=True)
class RecordedBasis:
    """The basis of a track's board, as recorded."""

    basis: Basis
    settings: Mapping[str, object] | None
    """All settings of the track; None if schema 1 recorded it."""
    generations: Mapping[str, int]
    at: datetime | None
    """When it was recorded, in UTC; None if schema 1 recorded it."""
    items: str | None = None
    """The digest of the list of candidate items; None without one."""

    @property
    def key_sha256(self) -> str | None:
        """The SHA-256 of the key of the split, in hexadecimal; None without a split."""
        split = (self.settings or {}).get("split")
        return str(split["key_sha256"]) if isinstance(split, Mapping) else None

    @property
    def excluded(self) -> str | None:
        """The SHA-256 of the list of excluded items, in hexadecimal; None without one."""
        exclude = (self.settings or {}).get("exclude")
        return str(exclude["sha256"]) if isinstance(exclude, Mapping) else None


EVERY_TRACK = ""
"""The track of an event that concerns the whole challenge."""

ABOUT_SUBMISSIONS = frozenset({"withdrawal", "return", "amendment", "forgetting"})
"""The kinds of events that name a submission which has arrived before."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "arrival": ("team", "file", "digest", "received", "source"),
    "withdrawal": ("file", "digest"),
    "return": ("file", "digest"),
    "amendment": ("file", "digest", "received", "reason"),
    "forgetting": ("file", "digest", "reason"),
    "basis": ("solution", "matching", "version_1", "settings", "generations"),
    "phases": ("phases",),
    "extension": ("phase", "end", "reason"),
    "pick": ("team", "picks", "source"),
    "team": ("team", "settings", "reason"),
    "erratum": ("number", "state", "reason", "basis"),
    "commitment": ("sha256", "opening"),
    "reveal": (),
    "token": ("state", "sha256", "team"),
}
"""What the body of each kind of event has at least."""

OPTIONAL = frozenset({"absent_at", "replaced_by", "reason"})
"""What the bodies of arrivals, of withdrawals and of picks may have."""

STATES = ("previewed", "applied", "cancelled", "issued", "ended")
"""Of errata, and of tokens."""

INVALID = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading or checking raises for an invalid value."""

DEEPEST = 20
"""How deep the values of a bundle may be nested."""


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event."""

    index: int
    track: str
    kind: Kind
    at: datetime | None
    """When it was recorded, in UTC; None if schema 1 recorded it."""
    body: Mapping[str, Any]


def name_of(body: Mapping[str, Any], key: str) -> str:
    """A name in the body of an arrival, as the system has it: schema 1 and 2 escaped it."""
    name: str = body[key]
    return name if body.get("names") == "raw" else unescaped(name)


def event_of(index: int, track: str, kind: Kind, at: str | None, body: str) -> Event:
    """The event of a row. Raises ValueError, LookupError, TypeError or AttributeError if it is none."""
    values = json.loads(body)
    _read_body(kind, values)
    return Event(index, track, kind, None if at is None else time_of(at), values)


def check_event(kind: Kind, body: Mapping[str, Any]) -> None:
    """Check the kind and the body of an event of a bundle. Raises an error of `INVALID`."""
    _check_keys(body, KEYS[kind])
    _check_keys(body, OPTIONAL & body.keys())
    if kind == "team":
        TeamSettings.model_validate(body["settings"])
    if kind == "token" and body["state"] == "issued":
        need(body["use"] in ("token", "invitation") and type(body["label"]) is str)
        need(body["expires"] is None or time_of(body["expires"]))
    if kind == "erratum" and body["state"] == "applied":
        _check_changes(body["changes"])


def _read_body(kind: str, body: Mapping[str, Any]) -> None:
    for key in (*KEYS.get(kind, ()), *(OPTIONAL & body.keys())):
        _VALUES[key].read(body[key])


def _check_keys(body: Mapping[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        _VALUES[key].check(body[key])


def time_of(text: str) -> datetime:
    """The time of a text. Raises ValueError if it is none, or has no zone."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"a time without a zone: {text}")
    return time


def read_json(text: str) -> Any:
    """The value of a text in JSON. Texts in it are UTF-8 or names of files, and numbers are finite and have 64 bits."""
    value = json.loads(text)
    _check_plain(value, DEEPEST)
    return value


def _check_plain(value: Any, depth: int) -> None:
    if isinstance(value, str):
        value.encode("utf-8", "surrogateescape")
    elif isinstance(value, dict | list):
        need(depth > 0)
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_plain(inner, depth - 1)
    else:
        need(value is None or abs(value) < 1 << 63)


def need(condition: object) -> None:
    """Raise ValueError unless this is true."""
    if not condition:
        raise ValueError("another value")


def need_time(value: str, *, later: timedelta = timedelta(days=1_000_000)) -> None:
    """Raise an error unless this is a time with a zone, to which as much as a grace can be added."""
    need((datetime.fromisoformat(value) + later).tzinfo)
    iso(datetime.fromisoformat(value))


def need_digest(value: str) -> None:
    """Raise an error unless this is a SHA-256 in hexadecimal."""
    need(SHA256.fullmatch(value))


def is_whole_number(value: object) -> bool:
    """Whether this is a whole number from 0."""
    return type(value) is int and value >= 0


def _check_settings(settings: Mapping[str, Any] | None) -> None:
    if split := (settings or {}).get("split"):
        need_digest(split["key_sha256"])


def _check_picks(picks: list[Mapping[str, Any]]) -> None:
    for pick in picks:
        _check_keys(pick, ("file", "digest"))


def _check_changes(changes: Mapping[str, Any]) -> None:
    """As `recorded_changes` made them."""
    need(len(changes["scales"]) == 2 and type(changes["hidden"]) is bool)
    for measure, decimals, stage in changes["scales"]:
        need(isinstance(measure, str) and is_whole_number(decimals) and stage in ("preliminary", "final"))
    for team, baseline, *places in changes["teams"]:
        need(isinstance(team, str) and type(baseline) is bool and len(places) == 2)
        for rank, score in places:
            need((rank is None or is_whole_number(rank)) and isinstance(score, float | int | None))


class _Value(NamedTuple):
    """How a value of a body is read, and how it is checked; either raises an error of `INVALID`."""

    read: Callable[[Any], object]
    check: Callable[[Any], object]


_TEXT = _Value(str.strip, lambda value: need(type(value) is str))
_DIGEST = _Value(str.strip, need_digest)
_TIME = _Value(time_of, partial(need_time, later=timedelta(0)))

_VALUES: Mapping[str, _Value] = {
    **dict.fromkeys(("team", "file", "source", "reason", "phase", "matching", "version_1"), _TEXT),
    **dict.fromkeys(("digest", "sha256", "solution", "replaced_by"), _DIGEST),
    **dict.fromkeys(("received", "absent_at"), _TIME),
    "end": _Value(time_of, need_time),
    "generations": _Value(dict, lambda value: need(type(value) is dict)),
    "settings": _Value(lambda settings: dict(settings or {}), _check_settings),
    "number": _Value(int, lambda value: need(is_whole_number(value) and value > 0)),
    "state": _Value(str.strip, lambda value: need(value in STATES)),
    "basis": _Value(partial(_read_body, "basis"), lambda value: _check_keys(value, KEYS["basis"])),
    "opening": _Value(str.strip, lambda value: need(type(content_of(value)["tracks"]) is dict)),
    "phases": _Value(
        lambda phases: list(map(Phase.of_record, phases)),
        lambda phases: check_order(tuple(map(Phase.of_record, phases))),
    ),
    "picks": _Value(lambda picks: [(pick["file"], pick["digest"]) for pick in picks], _check_picks),
}
"""By the keys of bodies."""


def recorded_basis(body: Mapping[str, Any], at: datetime | None) -> RecordedBasis:
    """The basis that `recorded_body` described."""
    basis = Basis(body["solution"], body["matching"], body["version_1"])
    return RecordedBasis(basis, body["settings"], body["generations"], at, body.get("items"))


def last_basis_event(events: Sequence[Event]) -> Event | None:
    """The last event that records a basis, given the events of a track in order; None without one."""
    return next((event for event in reversed(events) if event.kind == "basis"), None)


def new_basis(events: Sequence[Event], body: Mapping[str, Any]) -> list[tuple[Kind, Mapping[str, Any]]]:
    """The event that records a basis, given the events of its track; none if the last basis is the same."""
    last = last_basis_event(events)
    return [] if last is not None and encoded(last.body) == encoded(body) else [("basis", body)]


def recorded_body(recorded: RecordedBasis) -> dict[str, Any]:
    """The body of a recorded basis."""
    body = {
        "solution": recorded.basis.solution,
        "matching": recorded.basis.matching,
        "version_1": recorded.basis.version_1,
        "settings": recorded.settings,
        "generations": dict(recorded.generations),
    }
    return body if recorded.items is None else {**body, "items": recorded.items}
