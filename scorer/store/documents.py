"""The documents that a challenge publishes and that anybody can verify: each model both writes and reads one.

This module needs no arrays and no database, so that whoever verifies a document waits for neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from scorer.errors import ScorerError
from scorer.record.events import checked_by
from scorer.rules.split import share
from scorer.rules.tables import valid

VERSION = 1
"""Of the documents."""

DOWNLOAD = "download the file again"


def _form(pattern: str) -> tuple[AfterValidator, Any]:
    """What refuses a text of another form, and what describes the form."""
    is_valid = valid(re.compile(pattern).fullmatch, f"is not of the form {pattern}")
    return is_valid, Field(description=f"a text of the form {pattern}")


_Stated = Annotated[str, *_form("(?s).+")]
Sha256 = Annotated[str, *_form(r"[0-9a-f]{64}")]
Nonce = Annotated[str, *_form(r"[0-9a-f]{32}")]
TrackName = Annotated[str, *_form(r"[a-z0-9][a-z0-9-]*")]
EventText = Annotated[str, *_form(r"\{[ -~]*\}")]
TimeText = Annotated[str, *_form(r"[0-9T:.+-]+")]
Index = Annotated[int, Field(ge=1, description="a whole number from 1")]


class Document(BaseModel):
    """A document, or an object in one; the description of each field says which values are expected."""

    model_config = ConfigDict(frozen=True, strict=True, defer_build=True)

    @classmethod
    def read(cls, path: Path, value: object, remedy: str = DOWNLOAD) -> Self:
        """The document with these plain values. Raises ScorerError with the key that has another value."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            key, expected = cls._expected(error.errors()[0]["loc"])
            raise ScorerError(f"{path}: {key}: expected {expected}; {remedy}") from error

    @classmethod
    def _expected(cls, location: Sequence[str | int]) -> tuple[str, str | None]:
        """The key at a place of the document, and what it should have."""
        key, *inside = location
        field = cls.model_fields[str(key)]
        for kind in get_args(field.annotation):
            if isinstance(kind, type) and issubclass(kind, Document) and inside:
                if inside[0] in kind.model_fields:
                    name, expected = kind._expected(inside)
                    return f"{key}.{name}", expected
                if len(inside) > 1:
                    return kind._expected(inside[1:])
        return str(key), field.description

    def values(self) -> dict[str, Any]:
        """The document as plain values, with the keys that were given, in their order."""
        return self.model_dump(exclude_unset=True, by_alias=True)


class ListedCommitment(Document):
    """A commitment that the document lists."""

    sha256: Sha256
    index: Index
    """Of its event."""
    at: str | None = Field(default=None, description="a time as text, or null")

    @property
    def time(self) -> datetime | None:
        """When it was recorded, in UTC."""
        return None if self.at is None else datetime.fromisoformat(self.at)


class CommittedTrack(Document):
    """What the board of a track is based on now; all but the key only once the commitment is revealed."""

    key_sha256: Any = None
    """The SHA-256 of the key of the split; None without a split."""
    solution: Any = None
    """The SHA-256 of the solution."""
    items: Any = None
    """The SHA-256 of the list of candidate items; None without one."""
    checked: Any = None
    """The SHA-256 of the second solution; None without one."""
    rules: dict[str, Any] = Field(default={}, description="an object")
    """As plain values, without the split."""
    phases: Any = ()
    """As plain values."""
    rescheduled: list[Index] = Field(default=[], description="a list of indexes of events")
    """The indexes of the events that changed the phases since the commitment."""


class ListedErratum(Document):
    """An erratum that was applied."""

    track: str = Field(description="the name of a track")
    number: int = Field(description="a whole number")
    index: Index
    """Of the event that applied it."""
    changed: list[str] = Field(description="a list of names for each erratum")
    """The names of what changed: rules, then ``solution`` and ``items``."""


class CommitmentDocument(Document):
    """The commitments of a challenge, what it is based on now, and the public key of receipts: commitment.json."""

    version: int
    challenge: _Stated
    """Its name."""
    commitments: list[ListedCommitment] = Field(description="a list of objects")
    """The earliest first; the last one is in force."""
    receipts: Sha256
    """The public key of receipts: 32 bytes in hexadecimal."""
    tracks: dict[str, CommittedTrack] = Field(description="an object for each track")
    errata: list[ListedErratum] = Field(description="a list of objects")
    revealed: bool = Field(default=False, description="true or false")
    """Whether the opening of the last commitment is public."""
    not_applied: list[Index] = Field(default=[], description="a list of indexes of events")
    """The indexes of the errata that were previewed or cancelled, in version 1 of the log."""
    event: EventText = ""
    """The text of the event of the last commitment; empty until it is revealed."""
    nonce: Nonce = ""
    """Of this event; empty until it is revealed."""
    opening: str = Field(default="", exclude=True)
    """Of the last commitment, in its own file; empty until it is revealed."""

    @property
    def last(self) -> ListedCommitment | None:
        """The commitment in force; None without one."""
        return self.commitments[-1] if self.commitments else None


class SplitQueries(Document):
    """The ids of the queries of a split, sorted."""

    preliminary: list[str] = Field(description="a list of ids, as texts")
    rest: list[str] = Field(description="a list of ids, as texts")
    """The other ones."""


class SplitDocument(Document):
    """The public part of a split: split.json. Without the key it does not show which queries are preliminary."""

    version: int
    track: TrackName
    preliminary: Annotated[str, checked_by(share)] = Field(description='a decimal between 0 and 1 as text, as in "0.2"')
    """The preliminary share."""
    key_sha256: Sha256
    clusters: str = Field(default="", description="a pattern for ids as text")
    """The key selects these clusters; empty: it selects queries."""
    key: Sha256 = ""
    """In hexadecimal; empty until it is revealed."""
    queries: SplitQueries | None = Field(default=None, description="an object with the lists preliminary and rest")
    """None until the key is revealed."""


OF_BODY = ("team", "file", "digest", "received")
"""What a receipt repeats from the body of its event."""


class Receipt(Document):
    """What a receipt says about an entry; the names are as the event has them. `version` is that of its line in the
    log, and `epoch` is in receipts of version 2.
    """

    version: int
    epoch: Index = 1
    challenge: _Stated
    track: TrackName
    team: _Stated
    file: _Stated
    digest: Sha256
    received: TimeText
    event: EventText
    nonce: Nonce
    leaf: Sha256
    head: Sha256
    index: Index
    phase: str | None = Field(default=None, description="the name of a phase, or null")
    """None if it was received in no phase."""


class Manifest(Document):
    """What a bundle says about itself."""

    format: str
    version: Literal[1]
    scorer: str
    """The version that wrote it."""
    tables: int = Field(alias="schema")
    """The version of the tables."""
    challenge: str
    """The name of the challenge."""
    events: int
    """How many events the record has."""
    head: Sha256
    """The head of its log, in hexadecimal."""
    members: dict[str, Sha256]
    """The SHA-256 of each member but the manifest, by name."""


_LONGEST = 60

_PREFIX = re.compile(r"(?:\d{8}T\d{6}Z-)?(?:\d{6}-)?(?=.)")
"""What the service puts before the name of a file: when it was received, and the index of its event."""


def plain_name(name: str) -> str:
    """The name of a file in letters, digits, dots, hyphens and underscores, which mean nothing in a path.

    It does not begin with a dot, and has at most 60 characters; empty if nothing of the name is left.
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).lstrip(".-")[:_LONGEST].rstrip(".-")


def sent_name(file: str) -> str:
    """The name that a file had for its team, given its name in the record."""
    name = file.rpartition("/")[2]
    return _PREFIX.sub("", name, count=1)


def receipt_name(index: int, file: str) -> str:
    """The name of the file with the receipt of an entry, as ``7-long-tail.receipt.txt``."""
    stem = plain_name(sent_name(file)).partition(".")[0]
    return f"{index}-{stem}.receipt.txt" if stem else f"{index}.receipt.txt"
