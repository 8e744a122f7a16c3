"""Events: what the record has of each, and the bodies that name files or teams."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from scorer.record.log import (
    EVENT_KINDS,
    EventKind,
    LogLine,
    chained,
    encoded,
    iso,
    nonce_of,
    text_of_fields,
    unescaped,
)

EVERY_TRACK = ""
"""The track of an event that concerns the whole challenge."""

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


def checked_by(check: Callable[[Any], object]) -> AfterValidator:
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


HexDigest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
RecordedTime = Annotated[datetime, BeforeValidator(_time)]

OptionalTime = Annotated[datetime | None, BeforeValidator(_time)]
"""None only where the key is missing."""

EndTime = Annotated[RecordedTime, checked_by(lambda time: need_time(iso(time)))]
WholeNumber = Annotated[int, Field(strict=True, ge=0)]
Flag = Annotated[bool, Field(strict=True)]

OptionalText = Annotated[str | None, Field(strict=True), checked_by(lambda text: need(text is not None))]
"""A text; None only where the key is missing."""


class Names(NamedTuple):
    """What visitors see in the place of names in an event."""

    team: Callable[[str], str]
    """Given the folder of a team."""
    file: Callable[[str], str]
    row: Callable[[str], str]
    """Given a row of a board: a folder as `printable_name` returns it, and perhaps the index of an entry after "/"."""


class Body(BaseModel):
    """The body of an event, with all of its keys; those that an event may lack have a default.

    A class says which of its keys are `plain`: they name no team and no file.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    _plain: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, plain: tuple[str, ...], **others: Any) -> None:
        """Add the plain keys of a class to those of the class that it extends."""
        super().__init_subclass__(**others)
        cls._plain = (*cls._plain, *plain)

    def without_names(self, names: Names) -> Self:
        """What visitors see of it while names are hidden: plain keys, pseudonyms, and others as `_named` returns them.

        Each other key has its default. A body with plain keys only stays as it is.
        """
        if set(self._plain) == type(self).model_fields.keys():
            return self
        plain = {key: getattr(self, key) for key in self._plain}
        seen = {"team": names.team, "file": names.file}
        named = {key: see(getattr(self, key)) for key, see in seen.items() if key in type(self).model_fields}
        return self.model_construct(None, **plain, **named, **self._named(names))

    def _named(self, names: Names) -> dict[str, Any]:  # noqa: ARG002
        """The other keys that visitors see while names are hidden, with what they see."""
        return {}


class FileBody(Body, plain=("digest", "replaced_by", "source", "unscored", "reason")):
    """Of an event about a file: a withdrawal, a return, a forgetting, and others with more keys; and a pick."""

    file: str
    digest: HexDigest
    replaced_by: HexDigest = ""
    source: str = ""
    unscored: Flag = False
    reason: str = ""


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

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the body as the row has them, also those that its kind does not have."""
        values: Mapping[str, Any] = json.loads(self.text)
        return values


_Body = TypeVar("_Body", bound=Body)


def bodies(events: Iterable[Event], kind: type[_Body]) -> Iterator[tuple[Event, _Body]]:
    """The events with bodies of a type, each with its body."""
    return ((event, event.body) for event in events if isinstance(event.body, kind))


SHA256 = re.compile(r"[0-9a-f]{64}")


Key = tuple[str, str]
"""A submission of a track: the file and the digest."""


def known_values(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the keys that a model has."""
    names = {known.alias or name for name, known in model.model_fields.items() if not known.exclude}
    return {key: value for key, value in values.items() if key in names}


class ArrivalBody(FileBody, plain=("received", "absent_at", "delivery", "naming")):
    """Of the arrival of a file."""

    team: str
    received: RecordedTime
    source: str
    absent_at: OptionalTime = None
    names: str = ""
    """``raw``; in an arrival that schema 1 or 2 recorded, empty, and there the names of team and file were escaped."""
    delivery: OptionalText = None
    naming: OptionalText = None

    @model_validator(mode="before")
    @classmethod
    def _as_the_system_has_them(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        if values.get("names") == "raw":
            return values
        return {**values, "team": unescaped(values["team"]), "file": unescaped(values["file"])}


class AmendmentBody(FileBody, plain=("received",)):
    """Of an event that gives an entry another time of receipt."""

    received: RecordedTime


class LogBody(Body, plain=("version", "kinds")):
    """Of the event from which on the log has another version."""

    version: Literal[2]
    kinds: HexDigest
    """Of the events before, as `kinds_digest` returns it."""


class RestoredBody(Body, plain=("from_", "to")):
    """The events after `from_` until `to` were lost."""

    from_: WholeNumber = Field(alias="from")
    to: WholeNumber


class LostBody(Body, plain=("kind", "leaf")):
    """Of an event that is lost."""

    kind: Annotated[str, checked_by(lambda kind: need(kind in EVENT_KINDS[2]))]
    leaf: HexDigest


def event_text(event: Event) -> bytes:
    """The text of an event for its leaf: JSON in ASCII with sorted keys and without spaces."""
    at = None if event.at is None else iso(event.at)
    return text_of_fields(event.index, event.track, event.kind, at, event.text)


def opening_text(key: bytes, event: Event) -> str:
    """The text of an event with its nonce, as JSON: with both, anybody computes its leaf."""
    text = event_text(event)
    nonce = nonce_of(key, event.index, text).hex()
    return encoded({"event": text.decode("ascii"), "index": event.index, "nonce": nonce})


def log_lines(key: bytes, events: Iterable[Event], before: LogLine | None = None) -> Iterator[LogLine]:
    """The log of events without a gap, which follow the event of the line `before`."""
    times = ((event, None if event.at is None else iso(event.at)) for event in events)
    fields = ((event.index, event.track, event.kind, at, event.text, event.log) for event, at in times)
    return chained(key, fields, before)
