"""Events, the rows of the record: their kinds and the values of their bodies; and plain values that the store takes
and returns.

Each kind of event has a model of its body, which checks what is read from a database or a bundle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from scorer.errors import Findings
from scorer.lists import Counts
from scorer.measures.matched import Bools, JudgedItems
from scorer.options import Split, Stage
from scorer.scoring.outcomes import FailureKind, Mean, Rules
from scorer.settings.loading import TeamSettings
from scorer.settings.rules import SHA256, Phase, Publicity, QuerySplit, check_order
from scorer.settings.tracks import Track
from scorer.store.log import EVENT_KINDS, LOST, EventKind, OfEntries, encoded, iso, opened_content, unescaped


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


EVERY_TRACK = ""
"""The track of an event that concerns the whole challenge."""

ABOUT_SUBMISSIONS = frozenset(get_args(OfEntries)) - {"arrival"}
"""The kinds of events that name a submission which has arrived before."""

INVALID = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What reading or checking raises for an invalid value."""

_DEEPEST = 20
"""How deep the values of a bundle may be nested."""


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event."""

    index: int
    track: str
    kind: EventKind
    at: datetime | None
    """When it was recorded, in UTC; None if schema 1 recorded it."""
    body: Mapping[str, Any]
    log: int | None = None
    """The version of its line in the log; None is version 1."""


def name_of(body: Mapping[str, Any], key: str) -> str:
    """A name in the body of an arrival, as the system has it: schema 1 and 2 escaped it."""
    name: str = body[key]
    return name if body.get("names") == "raw" else unescaped(name)


def time_of(text: str) -> datetime:
    """The time of a text. Raises ValueError if it is none, or has no zone."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"a time without a zone: {text}")
    return time


def read_json(text: str) -> Any:
    """The value of a text in JSON. Texts in it are UTF-8 or names of files, and numbers are finite and have 64 bits."""
    value = json.loads(text)
    _check_plain(value, _DEEPEST)
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


def _known(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the keys that a model has."""
    names = {known.alias or name for name, known in model.model_fields.items() if not known.exclude}
    return {key: value for key, value in values.items() if key in names}


def _checked(check: Callable[[Any], object]) -> AfterValidator:
    """What refuses a value by the error of a check."""

    def checked(value: Any) -> Any:
        check(value)
        return value

    return AfterValidator(checked)


_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Time = Annotated[str, _checked(partial(need_time, later=timedelta(0)))]
EndTime = Annotated[str, _checked(need_time)]
_Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
_Place = tuple[_Count | None, Annotated[float | None, Field(strict=True)]]


class Body(BaseModel):
    """The body of an event, with all of its keys; those that an event may lack have a default."""

    model_config = ConfigDict(frozen=True)


class RecordedBasis(Body):
    """The basis of a track's board, as recorded."""

    solution: _Digest
    matching: str
    version_1: str
    settings: Annotated[dict[str, Any] | None, _checked(_check_settings)]
    """All settings of the track; None if schema 1 recorded it."""
    generations: dict[str, Any]
    items: str | None = None
    """The digest of the list of candidate items; None without one."""
    at: datetime | None = Field(default=None, exclude=True)
    """When it was recorded, in UTC; None if schema 1 recorded it."""

    @classmethod
    def of(
        cls, basis: Basis, settings: Mapping[str, Any] | None, generations: Mapping[str, int], items: str | None = None
    ) -> Self:
        """The basis of these results, before it is recorded."""
        values = {"solution": basis.solution, "matching": basis.matching, "version_1": basis.version_1}
        return cls.model_validate({**values, "settings": settings, "generations": generations, "items": items})

    @property
    def basis(self) -> Basis:
        """What results depend on."""
        return Basis(self.solution, self.matching, self.version_1)

    @property
    def body(self) -> dict[str, Any]:
        """The body of the event that records it."""
        return self.model_dump(exclude={"items"} if self.items is None else None)

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


class _OfFile(Body):
    file: str
    digest: _Digest
    replaced_by: _Digest = ""
    source: str = ""
    unscored: Flag = False
    reason: str = ""


class _Arrival(_OfFile):
    team: str
    received: _Time
    source: str
    absent_at: _Time = ""
    names: str = ""
    delivery: str = ""
    naming: str = ""


class _Amendment(_OfFile):
    received: _Time


class _Metadata(_OfFile):
    values: dict[str, str | int | float | bool]
    public: dict[str, Publicity]
    source: str


class _Phases(Body):
    phases: Annotated[list[Annotated[Any, AfterValidator(Phase.of_record)]], _checked(check_order)]


class _Extension(Body):
    phase: str
    end: EndTime
    reason: str


class _Pick(Body):
    team: str
    picks: list[_OfFile]
    source: str
    reason: str = ""


class _Team(Body):
    team: str
    settings: Annotated[dict[str, Any], _checked(lambda settings: TeamSettings(**_known(TeamSettings, settings)))]
    reason: str


class _Erratum(Body):
    number: int = Field(strict=True, ge=1)
    state: Literal["previewed", "applied", "cancelled"]
    reason: str
    basis: RecordedBasis


class _Changes(Body):
    scales: Annotated[list[tuple[str, _Count, Stage]], Field(min_length=2, max_length=2)]
    teams: list[tuple[str, Flag, _Place, _Place]]
    hidden: Flag


class _AppliedErratum(_Erratum):
    changes: _Changes


class _Commitment(Body):
    sha256: _Digest
    opening: Annotated[str, _checked(lambda opening: need(type(opened_content(opening)["tracks"]) is dict))]


class _Reveal(Body):
    split_key: str = ""
    commitment: str = ""


class _Log(Body):
    version: Literal[2]
    kinds: _Digest
    """Of the events before, as `kinds_digest` returns it."""


class _Restored(Body):
    """The events after `from_` until `to` were lost."""

    from_: _Count = Field(alias="from")
    to: _Count


class _Lost(Body):
    kind: Annotated[str, _checked(lambda kind: need(kind in EVENT_KINDS[2]))]
    leaf: _Digest


class _Token(Body):
    state: Literal["issued", "ended"]
    sha256: _Digest
    team: str


class _IssuedToken(_Token):
    use: Literal["token", "invitation"]
    label: str
    expires: _Time | None


BODIES: Mapping[str, type[Body]] = {
    "arrival": _Arrival,
    **dict.fromkeys(("withdrawal", "return", "forgetting"), _OfFile),
    "amendment": _Amendment,
    "metadata": _Metadata,
    "basis": RecordedBasis,
    "phases": _Phases,
    "extension": _Extension,
    "pick": _Pick,
    "team": _Team,
    **dict.fromkeys(("erratum", "preview", "cancellation"), _Erratum),
    "log": _Log,
    "restored": _Restored,
    LOST: _Lost,
    "commitment": _Commitment,
    "reveal": _Reveal,
    "token": _Token,
}
"""The body of each kind of event."""

WITH_STATE: Mapping[tuple[str, str], type[Body]] = {
    ("erratum", "applied"): _AppliedErratum,
    ("token", "issued"): _IssuedToken,
}
"""The bodies of kinds that have more keys in a state."""

_INNER: Mapping[str, type[BaseModel]] = {"picks": _OfFile, "phases": Phase, "basis": RecordedBasis, "changes": _Changes}
"""By a key of a body: the model of the value there, or of each value in a list there."""


def check_body(kind: str, body: Mapping[str, Any]) -> None:
    """Check the body of an event. Raises an error of `INVALID`."""
    _model(kind, body).model_validate(body)


def _model(kind: str, body: Mapping[str, Any]) -> type[Body]:
    return WITH_STATE.get((kind, body.get("state", "")), BODIES[kind])


def declared(kind: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The body of an event with the keys that its kind has, at any depth; and all other keys, as ``basis.key``."""
    unknown: list[str] = []
    return _declared(_model(kind, body), body, "", unknown), unknown


def _declared(model: type[BaseModel], value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list | tuple):
        return [_declared(model, each, path, unknown) for each in value]
    if value is None:
        return None
    known, settings = _known(model, value), TeamSettings if model is _Team else Track
    unknown += [f"{path}{key}" for key in value if key not in known]
    for key, inner in {**_INNER, "settings": settings}.items():
        if key in known and issubclass(model, Body):
            known[key] = _declared(inner, known[key], f"{path}{key}.", unknown)
    return known


def event_of(index: int, track: str, kind: EventKind, at: str | None, body: str, log: int | None) -> Event:
    """The event of a row. Raises ValueError, LookupError, TypeError or AttributeError if it is none."""
    values = json.loads(body)
    check_body(kind, values)
    return Event(index, track, kind, None if at is None else time_of(at), values, log)


def recorded_basis(body: Mapping[str, Any], at: datetime | None) -> RecordedBasis:
    """The basis that the body of an event records."""
    return RecordedBasis.model_validate({**body, "at": at})


def last_basis_event(events: Sequence[Event]) -> Event | None:
    """The last event that records a basis, given the events of a track in order; None without one."""
    return next((event for event in reversed(events) if event.kind == "basis"), None)


def new_basis(events: Sequence[Event], body: Mapping[str, Any]) -> list[tuple[EventKind, Mapping[str, Any]]]:
    """The event that records a basis, given the events of its track; none if the last basis is the same."""
    last = last_basis_event(events)
    return [] if last is not None and encoded(last.body) == encoded(body) else [("basis", body)]
