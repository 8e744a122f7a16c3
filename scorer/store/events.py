"""Events, the rows of the record: their kinds and the values of their bodies; and plain values that the store takes
and returns.

Each kind of event has a model of its body, which checks what is read from a database or a bundle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import BaseModel, Field

from scorer.errors import Fact, Findings, Problem
from scorer.lists import Counts
from scorer.measures.matched import Bools, JudgedItems
from scorer.options import SPLITS, Split, Stage
from scorer.record.events import (
    AmendmentBody,
    ArrivalBody,
    Body,
    Event,
    FileBody,
    Flag,
    HexDigest,
    LogBody,
    LostBody,
    Names,
    OptionalText,
    RestoredBody,
    WholeNumber,
    checked_by,
    known_values,
    need,
    need_digest,
    time_of,
)
from scorer.record.log import LOST, EventKind, encoded, opened_content
from scorer.rules.metadata import MetadataBody
from scorer.rules.phases import ExtensionBody, Phase, PhasesBody
from scorer.rules.picks import PickBody
from scorer.rules.split import QuerySplit
from scorer.rules.teams import IssuedTokenBody, TeamBody, TeamSettings, TokenBody
from scorer.scoring.outcomes import FailureKind, Mean, Rules
from scorer.settings.tracks import Track


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
    checked: str = field(default="", compare=False)
    """The digest of the second solution; empty without one. The matching rules depend on it, and on the weight."""
    machine_weight: float = field(default=1.0, compare=False)
    """Of the scores by the solution, which those by the second one correct."""

    @classmethod
    def of(cls, solution: str, rules: Rules, split: QuerySplit | None = None) -> Basis:
        """The basis of results by these rules; `solution` is the digest of the solution."""
        checked = rules.checked or "", rules.machine_weight
        return cls(solution, rules.matching_digest, rules.version_1_digest, split, *checked)

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
    means: StoredMeans
    """None for a rejected submission."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredMeans(Mapping[Split, Mapping[str, Mean]]):
    """Means by split and canonical name of the measure, in as few objects as possible: there are thousands of them."""

    names: tuple[tuple[Split, str], ...]
    """The split and the name of each mean, the same value for all results."""
    numbers: tuple[float | None, ...]
    undefined: tuple[int, ...]
    """-1 where the mean is missing."""

    @classmethod
    def of(cls, names: tuple[tuple[Split, str], ...], means: Sequence[Mean | None]) -> Self:
        """The means with these names; None: it is missing."""
        numbers = (None if mean is None else mean.value for mean in means)
        return cls(names, tuple(numbers), tuple(-1 if mean is None else mean.undefined for mean in means))

    def undefined_of(self, split: Split, name: str) -> int | None:
        """How many queries a mean leaves out; None if it is missing."""
        key = split, name
        undefined = self.undefined[self.names.index(key)] if key in self.names else -1
        return None if undefined < 0 else undefined

    def __getitem__(self, split: Split) -> Mapping[str, Mean]:
        each = zip(self.names, self.numbers, self.undefined, strict=True)
        return {name: Mean(value, missing) for (of, name), value, missing in each if of == split and missing >= 0}

    def __iter__(self) -> Iterator[Split]:
        return iter(SPLITS if self.names else ())

    def __len__(self) -> int:
        return len(SPLITS if self.names else ())


NO_MEANS = StoredMeans((), (), ())


_ADVICE = re.compile(r"([,;](?: or)? name it with --submission-format .* in challenge\.toml)")
_LEGACY = {
    "none or hardly any of its |in Unicode's form NFC|ids of queries are written as decimals": "legacy-of-solution",
    ".* queries have no list \\(": "legacy-of-queries",
    "none of its queries is known": "legacy-of-ids",
}
"""The beginnings of texts of earlier releases that say something about the solution."""


def _problem(line: int, stored: str, facts: Mapping[str, Fact] | None = None) -> Problem:
    """A finding, stored by its code and facts, or before release 1.1 as text."""
    if facts is not None:
        return Problem(line, stored, facts)
    code = next((code for beginning, code in _LEGACY.items() if re.match(beginning, stored)), "legacy")
    text, *advice = _ADVICE.split(stored, 1)
    return Problem(line, code, {"text": text, "advice": "".join(advice)})


@lru_cache(4096)
def _findings(stored: str) -> Findings:
    """The findings of a row. Many rows have the same ones, which are one value."""
    values = json.loads(stored)
    return Findings([_problem(*each) for each in values["shown"]], values["count"])


@lru_cache(4096)
def _counts(stored: str) -> Counts:
    return Counts(**json.loads(stored))


class ResultRow(NamedTuple):
    """A stored result."""

    digest: str
    submission_digest: str
    matching_digest: str
    limits: str
    """Those of the submission, as JSON; only of a rejected one."""
    result: StoredResult
    """Without means."""
    checksum: int

    @classmethod
    def of(cls, row: Any) -> Self:
        """The result of a row. Raises an error of `INVALID` if it is none."""
        if row.status not in ("scored", "rejected"):
            raise ValueError(row.status)
        counts = _counts(row.counts) if row.status == "scored" else None
        result = StoredResult("scored" if counts else "rejected", counts, _findings(row.findings), NO_MEANS)
        matching, limits = intern(row.matching_digest), intern(row.limits)
        return cls(row.digest, row.submission_digest, matching, limits, result, row.checksum)


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


def _check_settings(settings: Mapping[str, Any] | None) -> None:
    if split := (settings or {}).get("split"):
        need_digest(split["key_sha256"])


_Place = tuple[WholeNumber | None, Annotated[float | None, Field(strict=True)]]


class BasisBody(Body, plain=("solution", "matching", "version_1", "settings", "generations", "items", "checked")):
    """The basis of a track's board, as recorded."""

    solution: HexDigest
    matching: str
    version_1: str
    settings: Annotated[dict[str, Any] | None, checked_by(_check_settings)]
    """All settings of the track; None if schema 1 recorded it."""
    generations: dict[str, Any]
    items: str | None = None
    """The digest of the list of candidate items; None without one."""
    checked: HexDigest | None = None
    """The digest of the second solution; None without one."""

    @classmethod
    def of(
        cls, basis: Basis, settings: Mapping[str, Any] | None, generations: Mapping[str, int], items: str | None = None
    ) -> Self:
        """The basis of these results, before it is recorded."""
        values = {"solution": basis.solution, "matching": basis.matching, "version_1": basis.version_1}
        files = {"items": items, "checked": basis.checked or None}
        return cls.model_validate({**values, "settings": settings, "generations": generations, **files})

    @property
    def basis(self) -> Basis:
        """What results depend on."""
        weight = float((self.settings or {}).get("machine_weight", 1))
        return Basis(self.solution, self.matching, self.version_1, None, self.checked or "", weight)

    @property
    def body(self) -> dict[str, Any]:
        """The body of the event that records it."""
        return self.model_dump(exclude={name for name in ("items", "checked") if getattr(self, name) is None})

    @property
    def files(self) -> dict[str, str | None]:
        """The digests of the files that are rules but for that of excluded items, by their keys."""
        checked = {} if self.checked is None else {"checked": self.checked}
        return {"solution": self.solution, "items": self.items, **checked}

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


class ErratumBody(Body, plain=("number", "state", "reason", "basis")):
    """Of an erratum that is previewed, applied or cancelled."""

    number: int = Field(strict=True, ge=1)
    state: Literal["previewed", "applied", "cancelled"]
    reason: str
    basis: BasisBody


class ChangesBody(BaseModel):
    """What an erratum changed on the board."""

    scales: Annotated[list[tuple[str, WholeNumber, Stage]], Field(min_length=2, max_length=2)]
    teams: list[tuple[str, Flag, _Place, _Place]]
    hidden: Flag


class AppliedErratumBody(ErratumBody, plain=()):
    """Of an applied erratum."""

    changes: ChangesBody

    def _named(self, names: Names) -> dict[str, Any]:
        rows = [(names.row(row), *rest) for row, *rest in self.changes.teams]
        return {"changes": self.changes.model_copy(update={"teams": rows})}


class CommitmentBody(Body, plain=("sha256", "opening")):
    """Of a commitment."""

    sha256: HexDigest
    opening: Annotated[str, checked_by(lambda opening: need(type(opened_content(opening)["tracks"]) is dict))]


class RevealBody(Body, plain=("split_key", "commitment")):
    """Of an event that reveals the key of a split, or a commitment."""

    split_key: OptionalText = None
    commitment: OptionalText = None


BODIES: Mapping[str, type[Body]] = {
    "arrival": ArrivalBody,
    **dict.fromkeys(("withdrawal", "return", "forgetting"), FileBody),
    "amendment": AmendmentBody,
    "metadata": MetadataBody,
    "basis": BasisBody,
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
    "basis": BasisBody,
    "changes": ChangesBody,
}
"""By a key of a body: the model of the value there, or of each value in a list there."""


def body_of(kind: str, values: Mapping[str, Any]) -> Body:
    """The body of an event with these values. Raises an error of `INVALID` if they are none of its kind."""
    body = _model(kind, values).model_validate(values)
    # A body is kept for each event. What most of them share is one value: it would be most of their memory.
    given = _GIVEN.setdefault(frozenset(body.model_fields_set), body.model_fields_set)
    object.__setattr__(body, "__pydantic_fields_set__", given)
    for name in _SHARED & body.__dict__.keys():
        body.__dict__[name] = intern(body.__dict__[name])
    return body


_GIVEN: dict[frozenset[str], set[str]] = {}
"""The keys that bodies were made of."""

_SHARED = {"team", "source", "names"}
"""The keys with the same texts in many bodies."""


def _model(kind: str, body: Mapping[str, Any]) -> type[Body]:
    return WITH_STATE.get((kind, body.get("state", "")), BODIES[kind])


def unknown_keys(kind: str, body: Mapping[str, Any]) -> list[str]:
    """The keys of the body of an event that its kind does not have, at any depth, as ``basis.key``."""
    return list(_unknown(_model(kind, body), body, ""))


def _unknown(model: type[BaseModel], value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _unknown(model, each, path)
    elif value is not None:
        known, settings = known_values(model, value), TeamSettings if model is TeamBody else Track
        yield from (f"{path}{key}" for key in value if key not in known)
        for key, inner in {**_INNER, "settings": settings}.items():
            if key in known and issubclass(model, Body):
                yield from _unknown(inner, known[key], f"{path}{key}.")


def event_with(
    index: int, track: str, kind: EventKind, at: datetime | None, values: Mapping[str, Any], log: int | None = None
) -> Event:
    """The event with these values of its body. Raises an error of `INVALID` if they are none of its kind."""
    return Event(index, track, kind, at, body_of(kind, values), encoded(values), log)


def event_of(index: int, track: str, kind: EventKind, at: str | None, body: str, log: int | None) -> Event:
    """The event of a row. Raises an error of `INVALID` if it is none."""
    time = None if at is None else time_of(at)
    return event_with(index, intern(track), kind, time, json.loads(body), log)


def new_basis(
    track: str, events: Sequence[Event], body: Mapping[str, Any]
) -> list[tuple[str, EventKind, Mapping[str, Any]]]:
    """The event that records a basis, given the events of its track; none if the last basis is the same."""
    last = next((event for event in reversed(events) if event.kind == "basis"), None)
    return [] if last is not None and last.text == encoded(body) else [(track, "basis", body)]
