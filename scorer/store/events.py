"""Events, the rows of the record: their kinds and the values of their bodies; and plain values that the store takes
and returns.

Each kind of event has a model of its body, which checks what is read from a database or a bundle.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar, get_args

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

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


def need_time(value: str) -> None:
    """Raise an error unless this is a time with a zone, to which as much as a grace can be added."""
    iso(time_of(value) + timedelta(days=1_000_000))


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


def _time(text: Any) -> datetime:
    need(isinstance(text, str))
    time = time_of(text)
    iso(time)
    return time


def _end_time(text: Any) -> datetime:
    need(isinstance(text, str))
    need_time(text)
    return time_of(text)


_Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_Time = Annotated[datetime, BeforeValidator(_time)]
OptionalTime = Annotated[datetime | None, BeforeValidator(_time)]
"""None only where the key is missing."""
EndTime = Annotated[datetime, BeforeValidator(_end_time)]
_Count = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]
_Given = Annotated[str | None, Field(strict=True), _checked(lambda text: need(text is not None))]
"""A text; None only where the key is missing."""
_Place = tuple[_Count | None, Annotated[float | None, Field(strict=True)]]


class Names(NamedTuple):
    """What visitors see in the place of names in an event."""

    team: Callable[[str], str]
    """Given the folder of a team."""
    file: Callable[[str], str]
    row: Callable[[str], str]
    """Given a row of a board: a folder as `printable_name` returns it, and perhaps the index of an entry after "/"."""


class Body(BaseModel):
    """The body of an event, with all of its keys; those that an event may lack have a default.

    A class says which keys are `plain`: they name no team and no file.
    """

    model_config = ConfigDict(frozen=True)

    _plain: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, *, plain: tuple[str, ...], **others: Any) -> None:
        """Take the plain keys of a class."""
        super().__init_subclass__(**others)
        cls._plain = plain

    def without_names(self, names: Names) -> Self:
        """What visitors see of it while names are hidden: plain keys, and others as `_named` returns them.

        Each other key has its default. A body with plain keys only stays as it is.
        """
        if set(self._plain) == type(self).model_fields.keys():
            return self
        plain = {key: getattr(self, key) for key in self._plain}
        return self.model_construct(None, **plain, **self._named(names))

    def _named(self, names: Names) -> dict[str, Any]:  # noqa: ARG002
        """The other keys that visitors see while names are hidden, with what they see."""
        return {}


class RecordedBasis(Body, plain=("solution", "matching", "version_1", "settings", "generations", "items")):
    """The basis of a track's board, as recorded."""

    solution: _Digest
    matching: str
    version_1: str
    settings: Annotated[dict[str, Any] | None, _checked(_check_settings)]
    """All settings of the track; None if schema 1 recorded it."""
    generations: dict[str, Any]
    items: str | None = None
    """The digest of the list of candidate items; None without one."""

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


_OF_FILE = "digest", "replaced_by", "source", "unscored", "reason"
"""The plain keys of bodies about a file."""


class FileBody(Body, plain=_OF_FILE):
    """Of an event about a file: a withdrawal, a return, a forgetting, and others with more keys; and a pick."""

    file: str
    digest: _Digest
    replaced_by: _Digest = ""
    source: str = ""
    unscored: Flag = False
    reason: str = ""

    def _named(self, names: Names) -> dict[str, Any]:
        return {"file": names.file(self.file)}


class ArrivalBody(FileBody, plain=(*_OF_FILE, "received", "absent_at", "delivery", "naming")):
    """Of the arrival of a file."""

    team: str
    received: _Time
    source: str
    absent_at: OptionalTime = None
    names: str = ""
    """``raw``; in an arrival that schema 1 or 2 recorded, empty, and there the names of team and file were escaped."""
    delivery: _Given = None
    naming: _Given = None

    @model_validator(mode="before")
    @classmethod
    def _as_the_system_has_them(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if values.get("names") == "raw":
            return values
        return {**values, "team": unescaped(values["team"]), "file": unescaped(values["file"])}

    def _named(self, names: Names) -> dict[str, Any]:
        return super()._named(names) | {"team": names.team(self.team), "names": "raw"}


class AmendmentBody(FileBody, plain=(*_OF_FILE, "received")):
    """Of an event that gives an entry another time of receipt."""

    received: _Time


class MetadataBody(FileBody, plain=(*_OF_FILE, "values", "public")):
    """Of an event that records all metadata of an entry."""

    values: dict[str, str | int | float | bool]
    public: dict[str, Publicity]
    source: str


class PhasesBody(Body, plain=("phases",)):
    """Of an announcement of phases."""

    phases: Annotated[tuple[Annotated[Phase, BeforeValidator(Phase.of_record)], ...], _checked(check_order)]


class ExtensionBody(Body, plain=("phase", "end", "reason")):
    """Of an event that gives a phase another end."""

    phase: str
    end: EndTime
    reason: str


PickSource = Literal["folder", "command", "service"]
"""Where picks come from: `scorer pick`, the service, or, in earlier versions, a file in the team's folder."""


class PickBody(Body, plain=("source", "reason")):
    """Of an event with the picks of a team from then on."""

    team: str
    picks: tuple[FileBody, ...]
    source: PickSource
    reason: str = ""

    def _named(self, names: Names) -> dict[str, Any]:
        return {"team": names.team(self.team), "picks": tuple(pick.without_names(names) for pick in self.picks)}


class TeamBody(Body, plain=("reason",)):
    """Of an event with all that is set for a team from then on."""

    team: str
    settings: Annotated[TeamSettings, BeforeValidator(lambda settings: TeamSettings(**_known(TeamSettings, settings)))]
    reason: str

    def _named(self, names: Names) -> dict[str, Any]:
        into = self.settings.merged_into
        settings = TeamSettings.model_construct(
            merged_into=None if into is None else names.team(into),
            disqualified=self.settings.disqualified,
            withdrawn=self.settings.withdrawn,
        )
        return {"team": names.team(self.team), "settings": settings}


class ErratumBody(Body, plain=("number", "state", "reason", "basis")):
    """Of an erratum that is previewed, applied or cancelled."""

    number: int = Field(strict=True, ge=1)
    state: Literal["previewed", "applied", "cancelled"]
    reason: str
    basis: RecordedBasis


class ChangesBody(BaseModel):
    """What an erratum changed on the board."""

    scales: Annotated[list[tuple[str, _Count, Stage]], Field(min_length=2, max_length=2)]
    teams: list[tuple[str, Flag, _Place, _Place]]
    hidden: Flag


class AppliedErratumBody(ErratumBody, plain=("number", "state", "reason", "basis")):
    """Of an applied erratum."""

    changes: ChangesBody

    def _named(self, names: Names) -> dict[str, Any]:
        rows = [(names.row(row), *rest) for row, *rest in self.changes.teams]
        return {"changes": self.changes.model_copy(update={"teams": rows})}


class CommitmentBody(Body, plain=("sha256", "opening")):
    """Of a commitment."""

    sha256: _Digest
    opening: Annotated[str, _checked(lambda opening: need(type(opened_content(opening)["tracks"]) is dict))]


class RevealBody(Body, plain=("split_key", "commitment")):
    """Of an event that reveals the key of a split, or a commitment."""

    split_key: _Given = None
    commitment: _Given = None


class LogBody(Body, plain=("version", "kinds")):
    """Of the event from which on the log has another version."""

    version: Literal[2]
    kinds: _Digest
    """Of the events before, as `kinds_digest` returns it."""


class RestoredBody(Body, plain=("from_", "to")):
    """The events after `from_` until `to` were lost."""

    from_: _Count = Field(alias="from")
    to: _Count


class LostBody(Body, plain=("kind", "leaf")):
    """Of an event that is lost."""

    kind: Annotated[str, _checked(lambda kind: need(kind in EVENT_KINDS[2]))]
    leaf: _Digest


class TokenBody(Body, plain=("state", "sha256")):
    """Of an event about a token that is issued, or ended."""

    state: Literal["issued", "ended"]
    sha256: _Digest
    team: str

    def _named(self, names: Names) -> dict[str, Any]:
        return {"team": names.team(self.team)}


class IssuedTokenBody(TokenBody, plain=("state", "sha256", "use", "expires")):
    """Of an event that issues a token."""

    use: Literal["token", "invitation"]
    label: str
    expires: _Time | None

    def _named(self, names: Names) -> dict[str, Any]:
        return super()._named(names) | {"label": ""}


BODIES: Mapping[str, type[Body]] = {
    "arrival": ArrivalBody,
    **dict.fromkeys(("withdrawal", "return", "forgetting"), FileBody),
    "amendment": AmendmentBody,
    "metadata": MetadataBody,
    "basis": RecordedBasis,
    "phases": PhasesBody,
    "extension": ExtensionBody,
    "pick": PickBody,
    "team": TeamBody,
    **dict.fromkeys(("erratum", "preview", "cancellation"), ErratumBody),
    "log": LogBody,
    "restored": RestoredBody,
    LOST: LostBody,
    "commitment": CommitmentBody,
    "reveal": RevealBody,
    "token": TokenBody,
}
"""The body of each kind of event."""

WITH_STATE: Mapping[tuple[str, str], type[Body]] = {
    ("erratum", "applied"): AppliedErratumBody,
    ("token", "issued"): IssuedTokenBody,
}
"""The bodies of kinds that have more keys in a state."""

_INNER: Mapping[str, type[BaseModel]] = {
    "picks": FileBody,
    "phases": Phase,
    "basis": RecordedBasis,
    "changes": ChangesBody,
}
"""By a key of a body: the model of the value there, or of each value in a list there."""


def body_of(kind: str, values: Mapping[str, Any]) -> Body:
    """The body of an event with these values. Raises an error of `INVALID` if they are none of its kind."""
    return _model(kind, values).model_validate(values)


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
    known, settings = _known(model, value), TeamSettings if model is TeamBody else Track
    unknown += [f"{path}{key}" for key in value if key not in known]
    for key, inner in {**_INNER, "settings": settings}.items():
        if key in known and issubclass(model, Body):
            known[key] = _declared(inner, known[key], f"{path}{key}.", unknown)
    return known


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event."""

    index: int
    track: str
    kind: EventKind
    at: datetime | None
    """When it was recorded, in UTC; None if schema 1 recorded it."""
    body: Body
    text: str
    """The body as JSON, as `encoded` returns it: hashes come from it, never from `body`."""
    log: int | None = None
    """The version of its line in the log; None is version 1."""

    @classmethod
    def of(
        cls, index: int, track: str, kind: EventKind, at: datetime | None, values: Mapping[str, Any], log: int | None
    ) -> Event:
        """The event with these values of its body. Raises an error of `INVALID` if they are none of its kind."""
        return cls(index, track, kind, at, body_of(kind, values), encoded(values), log)

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the body as the row has them, also those that its kind does not have."""
        values: Mapping[str, Any] = json.loads(self.text)
        return values


def event_of(index: int, track: str, kind: EventKind, at: str | None, body: str, log: int | None) -> Event:
    """The event of a row. Raises an error of `INVALID` if it is none."""
    return Event.of(index, track, kind, None if at is None else time_of(at), json.loads(body), log)


_Body = TypeVar("_Body", bound=Body)


def bodies(events: Iterable[Event], kind: type[_Body]) -> Iterator[tuple[Event, _Body]]:
    """The events with bodies of a type, each with its body."""
    return ((event, event.body) for event in events if isinstance(event.body, kind))


def last_basis(events: Sequence[Event]) -> RecordedBasis | None:
    """The last basis that events record, given in order; None without one."""
    return next((basis for _, basis in bodies(reversed(events), RecordedBasis)), None)


def new_basis(events: Sequence[Event], body: Mapping[str, Any]) -> list[tuple[EventKind, Mapping[str, Any]]]:
    """The event that records a basis, given the events of its track; none if the last basis is the same."""
    last = next((event for event in reversed(events) if event.kind == "basis"), None)
    return [] if last is not None and last.text == encoded(body) else [("basis", body)]
