"""The rules of a running challenge in challenge.toml, as validated models: splits, phases and quotas."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from scorer.errors import ChallengeError, os_errors_as
from scorer.files import Location, Remote, is_url
from scorer.options import FORMAT_NAMES, PHASE_SHOWS, PhaseShows
from scorer.wording import counted, iso_time

if TYPE_CHECKING:
    from scorer.measures import Measure
    from scorer.settings.tracks import Track


TEXT = "a text"
MARKDOWN = "a text in Markdown"


class SettingsTable(BaseModel):
    """A table of challenge.toml; the description of each field says which values are allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    not_keys: ClassVar[frozenset[str]] = frozenset()
    """Fields that do not come from a key of the table."""
    always_recorded: ClassVar[frozenset[str]] = frozenset()
    """Fields that version 1 of the recorded form has with their defaults; each other one only where it differs."""
    never_recorded: ClassVar[frozenset[str]] = frozenset()
    """Fields that no score depends on, or that other events or other parts of this form have."""
    only_with: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """By field: another one, and the value of it without which the field has no effect and is not recorded."""
    checks: ClassVar[Mapping[str, Callable[[Any, Mapping[str, Any]], object]]] = {}
    """By field: what is wrong with its value, if anything is, given the values of the fields before it."""

    @field_validator("*")
    @classmethod
    def _checked(cls, value: Any, validated: ValidationInfo) -> Any:
        name, known = validated.field_name or "", validated.data
        check = cls.checks.get(name)
        if check is not None and (wrong := check(value, known)):
            raise ValueError(wrong)
        key, needed = cls.only_with.get(name, ("", ""))
        if known.get(key, needed) != needed and value != cls.model_fields[name].default:
            raise ValueError(f'has no effect with {key} = "{known[key]}"')
        return value

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The values, so that a new optional key changes nothing that is recorded, committed or published."""
        fields, always = type(self).model_fields, self.always_recorded | self.only_with.keys()
        idle = {name for name, (key, needed) in self.only_with.items() if getattr(self, key) != needed}
        return {
            name: value
            for name, value in write(self).items()
            if name not in idle and (name in always or getattr(self, name) != fields[name].default)
        }

    def recorded(self) -> dict[str, Any]:
        """The values in the form in which they are recorded and committed to."""
        return self.model_dump(mode="json", exclude={*self.never_recorded})

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that the table can have, in the order of the documentation."""
        return [name for name in cls.model_fields if name not in cls.not_keys]


def valid(is_valid: Callable[[str], object], wrong: str) -> AfterValidator:
    """Refuses a text that is not valid; `wrong` says what it is."""

    def check(text: str) -> str:
        if not is_valid(text):
            raise ValueError(wrong)
        return text

    return AfterValidator(check)


def located_in(root: Path, path: str) -> Location:
    """The location that `path` names: a URL, or a path relative to `root`."""
    return Remote(path) if is_url(path) else absolute(root, path)


def absolute(root: Path, path: str) -> Path:
    """The absolute path that `path` names, relative to `root`."""
    return Path(os.path.normpath(root.absolute() / path))


IGNORED_1 = ("README", "README.*", "LICENSE", "LICENSE.*", "metadata.json", "Thumbs.db", "desktop.ini", "__MACOSX")
"""Those of `IGNORED` in challenges that began with the rule of version 1.0."""

IGNORED = (
    *IGNORED_1,
    *("*.yml", "*.yaml", "*.meta.json", "*.prototext"),
    *("stdout.txt", "stderr.txt", "runtime.txt", "size.txt", "file-list.txt"),
)
"""Names of files and folders, in upper or lower case, that people and systems such as TIRA add to submissions."""

FILE_NAMES = "{team}"
"""The pattern of names of files that have a whole name for a team."""

Filled = Annotated[str, valid(str.strip, "is blank")]
PathText = Annotated[str, valid(lambda path: path.strip() and "\0" not in path, "is not a path")]
FormatText = Annotated[str, valid(lambda name: name.partition(":")[0] in FORMAT_NAMES, "is not a format")]
"""The name of a format, with its options if it has any, as in ``letor:feature=21``."""


# Measures


def parsed(name: str, known: Mapping[str, Any]) -> tuple[Measure, ...]:
    """The measures that a name means with the track's cut-offs.

    Invalid cut-offs are a separate error, so the measures that would use them count as valid.
    """
    from scorer.measures import parse  # noqa: PLC0415 (whoever verifies a document needs no arrays)

    return parse(name, known.get("cutoffs", (1,)))


def _measure_name(name: str, validated: ValidationInfo) -> str:
    parsed(name, validated.data)
    return name


def _one_measure_name(name: str, validated: ValidationInfo) -> str:
    measures = parsed(name, validated.data)
    if len(measures) > 1:
        raise ValueError(f"means {' and '.join(map(str, measures))}")
    return name


def no_unit_mean(known: Mapping[str, Any], what: str) -> str:
    """Why the primary measure is no mean of scores from 0 to 1, which `what` needs; empty if it is one."""
    for measure in parsed(known["primary"], known) if "primary" in known else ():
        if measure.kind.aggregation != "mean" or not measure.bounded:
            return f"{what}, but {measure} is not a mean of scores from 0 to 1"
    return ""


MeasureName = Annotated[str, AfterValidator(_measure_name)]
OneMeasureName = Annotated[str, AfterValidator(_one_measure_name)]


# The decimals of scores: a number, or those that the number of preliminary queries justifies

FULL_DECIMALS = 4
"""Of scores, where challenge.toml says nothing else."""

AUTO = "auto"

LARGEST_DEVIATION = 0.5
"""The standard deviation of scores from 0 to 1 is not larger."""

Decimals = Annotated[
    int | None,
    BeforeValidator(lambda value: None if value == AUTO else value),
    PlainSerializer(lambda value: AUTO if value is None else value, when_used="json"),
]
"""The value of the key `decimals`; None: "auto"."""


def auto_decimals(queries: int) -> int:
    """The decimals of the standard error of a mean over so many preliminary queries; 0 if none is scored yet."""
    # This is -log10(d / √n), but exact where the result is half a number: 4 n is a power of ten there.
    return round(math.log10(queries / LARGEST_DEVIATION**2) / 2) if queries else 0


KEY_FILE = "split.key"
"""The key file of a track that names no other one, in the folder of the challenge."""

KEY_BYTES = 32

_DECIMALS = 18
"""Decimals of the preliminary share at most: shares that differ by less than 2^-64 select the same queries."""

LADDER_QUERIES = 2
"""How many preliminary queries the Ladder needs: with one, it shows the score of a single query."""

SHA256 = re.compile(r"[0-9a-f]{64}")

_KEY = re.compile(rb"([0-9A-Fa-f]{64})\r?\n?")


def share(value: object) -> Decimal:
    """The preliminary share: a decimal number between 0 and 1 without trailing zeros, never rounded.

    The value is a number of challenge.toml, or the text of the decimal, as in ``0.2``. Raises ValueError if it is
    anything else, also for a float, which is no exact decimal.
    """
    if isinstance(value, str) and re.fullmatch(r"0\.[0-9]+", value):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite() or not 0 < value < 1:
        raise ValueError("is not a number between 0 and 1")
    # The first condition comes first because the text of 1e-999999999 would not fit into memory.
    if value.adjusted() < -_DECIMALS or len(share_text(value)) > len("0.") + _DECIMALS:
        raise ValueError(f"has more than {_DECIMALS} decimals")
    return Decimal(share_text(value))


def share_text(value: Decimal) -> str:
    """The share as text, without an exponent: ``0.2``."""
    return format(value, "f").rstrip("0")


Share = Annotated[Decimal, BeforeValidator(share), PlainSerializer(share_text, when_used="json")]


class KeySplit(SettingsTable):
    """The table `split` of a track."""

    always_recorded: ClassVar = frozenset({"key_file", "key_sha256"})

    preliminary: Share = Field(description="a number between 0 and 1, as in 0.2")
    key_file: PathText = Field(KEY_FILE, description="the path of a file")
    key_sha256: Annotated[str, valid(lambda text: not text or SHA256.fullmatch(text), "is not a SHA-256")] = Field(
        "", description="the SHA-256 of the key, as `scorer split` prints it"
    )


@dataclass(frozen=True, slots=True)
class QuerySplit:
    """Decides which queries of a track enter the preliminary scores.

    A query does if the HMAC-SHA256 of track and query with the key, as a number from 0 to 1, is below the share. So
    each query is decided separately: a query that is dropped moves no other one.
    """

    track: str
    preliminary: Decimal
    """The share; between 0 and 1."""
    key: bytes = field(repr=False)
    """32 secret bytes."""

    @property
    def key_sha256(self) -> str:
        """The SHA-256 of the key, in hexadecimal, which is public."""
        return hashlib.sha256(self.key).hexdigest()

    @property
    def threshold(self) -> int:
        """The share of 2^64, rounded down. No floating-point number is involved."""
        numerator, denominator = self.preliminary.as_integer_ratio()
        return (numerator << 64) // denominator

    def flags(self, queries: Iterable[str]) -> list[bool]:
        """For each query, whether it enters the preliminary scores."""
        prefix, threshold = self.track.encode() + b"\0", self.threshold
        # JSON can have lone surrogates in ids; surrogatepass keeps different ids different.
        messages = (prefix + query.encode("utf-8", "surrogatepass") for query in queries)
        return [int.from_bytes(hmac.digest(self.key, message, "sha256")[:8], "big") < threshold for message in messages]


def split_of(track: Track) -> QuerySplit | None:
    """The split of a track, with its key; None without one. Raises ChallengeError for a missing or wrong key."""
    settings, path = track.split, track.key_path
    if settings is None or path is None:
        return None
    split = QuerySplit(track.name, settings.preliminary, read_split_key(path))
    if settings.key_sha256 not in ("", split.key_sha256):
        raise ChallengeError(
            f"{path}: has a key with the SHA-256 {split.key_sha256}; expected that with the SHA-256 "
            f"{settings.key_sha256}, by which {track.name} is split; restore it from a copy"
        )
    return split


def read_split_key(path: Path) -> bytes:
    """The key in a key file, which messages never repeat. Raises ChallengeError if no key can be read."""
    try:
        with path.open("rb") as stream:
            content = stream.read(1_000)
    except FileNotFoundError:
        raise ChallengeError(
            f"{path}: there is no such file, and a split needs the key in it; restore it from a copy, or make a new "
            "key with `scorer split` if none was used before: another key selects other queries"
        ) from None
    except OSError as error:
        raise ChallengeError(f"{path}: cannot be read: {error.strerror}; make it readable") from error
    match = _KEY.fullmatch(content)
    if match is None:
        found = f"{counted(len(content), 'byte')} of something else" if content.strip() else "a blank file"
        raise ChallengeError(
            f"{path}: expected the key of a split, 64 hexadecimal digits and a newline; found {found}; restore it from "
            "a copy, or delete it and make a new key with `scorer split` if none was used before"
        )
    return bytes.fromhex(match[1].decode())


def make_key(path: Path) -> bytes:
    """Write a new random key into a new file that only its owner can read. Raises ChallengeError if there is one."""
    key = secrets.token_bytes(KEY_BYTES)
    with os_errors_as(ChallengeError, f"{path}: cannot write the key of a split"):
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii")
        try:
            with stream:
                stream.write(f"{key.hex()}\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise
    return key


def exposure(path: Path) -> str | None:
    """What to do about a key file that other users of this machine can read; None if only its owner can."""
    try:
        # On Windows the mode does not say who can read a file.
        exposed = os.name == "posix" and path.stat().st_mode & 0o077
    except OSError:
        return None
    return f"{path}: other users can read the key of the split; run chmod 600 on it" if exposed else None


def check_split(track: str, flagged: int, selected: int, queries: int) -> None:
    """Raise ChallengeError if the solution flags queries too, or a split selects none or all of the `queries`."""
    key = f"tracks.{track}.split"
    if flagged:
        raise ChallengeError(
            f"{key}: decides which queries are preliminary, but the solution flags "
            f"{counted(flagged, 'query', 'queries')}, too; remove the flags from the solution, or remove split"
        )
    if selected in (0, queries):
        found = "no query" if selected == 0 else "every query"
        better = "larger" if selected == 0 else "smaller"
        raise ChallengeError(
            f"{key}: selects {found} of {queries:,} for the preliminary scores; choose a {better} share, or, before "
            "the challenge opens, delete the key file and make another key with `scorer split`"
        )


def check_stage(track: Track, flagged: int) -> None:
    """Raise ChallengeError unless `stage` agrees with the number of preliminary queries, by flags or by the split."""
    key = f"tracks.{track.name}.stage"
    if track.phases:
        return
    if flagged and track.stage is None:
        selects = "the solution flags" if track.split is None else "split selects"
        raise ChallengeError(
            f"{key}: is missing, and {selects} {counted(flagged, 'query', 'queries')} for preliminary scores; "
            'set stage = "preliminary" while final scores are hidden, stage = "final" to show them'
        )
    if not flagged and track.stage == "preliminary":
        raise ChallengeError(
            f'{key}: found "preliminary", but the solution flags no query, so there are no preliminary scores to show; '
            'flag queries in the solution, set split = {preliminary = 0.2}, or set stage = "final"'
        )


def check_ladder(track: Track, queries: int) -> None:
    """Raise ChallengeError if a phase uses the Ladder, and there are too few preliminary queries for it."""
    for position, phase in enumerate(track.phases):
        if phase.shows == "ladder" and queries < LADDER_QUERIES:
            raise ChallengeError(
                f'tracks.{track.name}.phases[{position}].shows: found "ladder", which needs at least {LADDER_QUERIES} '
                f"preliminary queries with a defined {track.primary_measure}; found {queries}; flag queries in the "
                'solution, set split = {preliminary = 0.2}, or set shows = "score"'
            )


Publicity = Literal["now", "end", "never"]
PUBLICITIES: tuple[Publicity, ...] = ("now", "end", "never")
"""When the values of a field are public, the strictest last: at once, once the last phase has closed, or never."""

MetadataType = Literal["text", "choice", "number", "yes-no", "url"]


class MetadataField(SettingsTable):
    """A table [[metadata]]: a fact that teams state about a submission."""

    checks: ClassVar = {
        "choices": lambda choices, known: (
            (bool(choices) != (known.get("type") == "choice") and ("has no effect" if choices else "is empty"))
            or (len({choice.casefold() for choice in choices}) < len(choices) and "names a choice twice")
        ),
        "unit": lambda unit, known: unit and known.get("type") != "number" and "has no effect",
    }

    name: Annotated[str, valid(re.compile("[a-z][a-z0-9_-]{0,39}").fullmatch, "is not such a name")] = Field(
        description="a-z, 0-9, _ and -, at most 40 characters, beginning with a letter"
    )
    title: Filled = Field(description=TEXT)
    type: MetadataType = Field("text", description='"text", "choice", "number", "yes-no" or "url"')
    choices: tuple[Filled, ...] = Field(
        (), strict=False, validate_default=True, description='texts, each once, with type = "choice"'
    )
    unit: str = Field("", description='a text such as "s" or "kWh", with type = "number"')
    required: bool = Field(False, description="true or false")
    public: Publicity = Field("now", description='"now", "end" or "never"')
    ir_metadata: str = Field("", description='a path of keys in ir-metadata, as in "method.automatic"')

    def choice_of(self, text: str) -> str | bool | None:
        """The choice that a text means, or whether it says yes; None for another text."""
        allowed: dict[str, str | bool] = {choice.casefold(): choice for choice in self.choices}
        return (allowed or {"yes": True, "true": True, "no": False, "false": False}).get(text.casefold())

    @property
    def label(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def allowed(self) -> str:
        """The values that it may have, as messages name them."""
        unit = f" in {self.unit}" if self.unit else ""
        kinds = {"text": "a text", "number": f"a number{unit}", "yes-no": "yes or no", "url": "a URL"}
        return kinds[self.type] if self.type in kinds else f"one of {', '.join(self.choices)}"


UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
SIZES = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
"""Seconds of each unit, the largest first."""

_TIME = "a date-time with its offset from UTC, as in 2027-04-18T10:00:00+02:00"
LARGEST_STEP = Decimal("0.5")
"""Of the Ladder."""

DURATION = 'a text such as "90s", "5m", "24h" or "7d"'


def _with_offset(time: datetime) -> datetime:
    if time.utcoffset() is None:
        raise ValueError("has no offset from UTC")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("is out of range") from None


def _duration(text: object) -> object:
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d{1,6})([smhd])", text.strip(), re.ASCII)
    if match is None:
        raise ValueError("is not a duration")
    return timedelta(**{UNITS[match[2]]: int(match[1])})


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


def in_exact_unit(duration: timedelta) -> tuple[int, str]:
    """A duration in the largest of `UNITS` that is exact: how many, and the unit."""
    seconds = _seconds(duration)
    size, unit = next((size, unit) for size, unit in SIZES if seconds % size == 0)
    return seconds // size, unit


def duration_text(duration: timedelta) -> str:
    """A duration as challenge.toml has it: ``90s``, ``5m``."""
    count, unit = in_exact_unit(duration)
    return f"{count}{unit}"


_Time = Annotated[datetime, AfterValidator(_with_offset), PlainSerializer(datetime.isoformat, when_used="json")]
"""Converted to UTC."""

Duration = Annotated[timedelta, BeforeValidator(_duration), PlainSerializer(_seconds)]


def _step(value: object) -> Decimal:
    step = share(value)
    if step > LARGEST_STEP:
        raise ValueError(f"is more than {LARGEST_STEP}")
    return step


Step = Annotated[Decimal, BeforeValidator(_step), PlainSerializer(share_text, when_used="json")]
"""Exact, as it was written."""


class Phase(SettingsTable):
    """A phase of a track. Its entries are received in [start, end + grace)."""

    always_recorded: ClassVar = frozenset({"grace", "freeze", "shows"})

    name: str = Field(description="a-z, 0-9 and -, at most 60 characters, not beginning with -", max_length=60)
    start: _Time = Field(description=_TIME)
    end: _Time = Field(description=_TIME)
    grace: Duration = Field(timedelta(0), description=DURATION)
    freeze: Duration = Field(timedelta(0), description=DURATION)
    shows: PhaseShows = Field("score", description=PHASE_SHOWS.allowed)
    ladder_step: Step | None = Field(
        None, description=f'a number above 0 and up to {LARGEST_STEP}, required with shows = "ladder"'
    )

    @model_validator(mode="after")
    def _in_order(self) -> Phase:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", self.name):
            raise ValueError(f"name: {self.name!r} has other characters than a-z, 0-9 and -")
        if self.end <= self.start:
            raise ValueError("end: is not after start")
        if self.grace > datetime.max.replace(tzinfo=UTC) - self.end:
            raise ValueError("grace: is out of range")
        if self.freeze > self.end - self.start:
            raise ValueError("freeze: is longer than the phase")
        if self.ladder_step is not None and self.shows != "ladder":
            raise ValueError(f'ladder_step: has no effect with shows = "{self.shows}"')
        return self

    @property
    def hides_scores(self) -> bool:
        """Whether the board shows no scores during the phase."""
        return self.shows in ("own", "nothing")

    @property
    def closes(self) -> datetime:
        """When the grace ends: the first moment at which the phase receives nothing any more."""
        return self.end + self.grace

    @property
    def frozen_from(self) -> datetime | None:
        """When the board stops; None without a freeze."""
        return self.end - self.freeze if self.freeze else None

    @classmethod
    def of_record(cls, values: dict[str, Any]) -> Phase:
        """The phase that `recorded` returned, with times in UTC and durations in seconds."""
        times = {key: datetime.fromisoformat(values[key]) for key in ("start", "end")}
        lengths = {key: timedelta(seconds=values[key]) for key in ("grace", "freeze")}
        known = {key: values[key] for key in cls.model_fields if key in values}
        return cls(**{**known, **times, **lengths, "shows": values["shows"]})


def check_order(phases: tuple[Phase, ...]) -> None:
    """Raise ValueError unless the phases have different names and each one begins when the last one has closed."""
    names = [phase.name for phase in phases]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise ValueError(f"two phases are called {name}")
    for earlier, later in itertools.pairwise(phases):
        if later.start < earlier.closes:
            raise ValueError(
                f"{later.name} starts at {iso_time(later.start)}, before {earlier.name} has ended, with its grace, at "
                f"{iso_time(earlier.closes)}"
            )


COUNT = "a whole number from 1"


def _known_zone(name: str) -> str:
    """The name in the IANA database, where the sign of an offset is the opposite: "AoE" is UTC-12, "Etc/GMT+12"."""
    offset = re.fullmatch(r"(?:UTC|GMT)([+-])0?(\d{1,2})(?::?00)?", "UTC-12" if name == "AoE" else name)
    if offset:
        name = f"Etc/GMT{'-' if offset[1] == '+' else '+'}{offset[2]}"
    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ValueError("is not the name of a time zone") from None
    return name


def zone_text(zone: str) -> str:
    """A zone as people write it: ``AoE``, ``UTC+2``, ``Europe/Ljubljana``."""
    signs = {"Etc/GMT+": "UTC-", "Etc/GMT-": "UTC+"}
    return "AoE" if zone == "Etc/GMT+12" else signs.get(zone[:8], zone[:8]) + zone[8:]


_Count = Annotated[int, Field(ge=1, le=10**9)]


class Quota(SettingsTable):
    """The limits on the entries of a team in a track; None: no limit."""

    always_recorded: ClassVar = frozenset({"per_day", "zone", "per_phase", "total", "rejected_per_day"})

    per_day: _Count | None = Field(None, description=COUNT)
    zone: Annotated[str, AfterValidator(_known_zone)] = Field(
        "UTC", description='the name of a time zone, as in "UTC", "Europe/Ljubljana", "UTC-12" or "AoE"'
    )
    per_phase: _Count | None = Field(None, description=COUNT)
    total: _Count | None = Field(None, description=COUNT)
    rejected_per_day: _Count | None = Field(None, description=COUNT)

    @property
    def limits_anything(self) -> bool:
        return any(limit is not None for limit in (self.per_day, self.per_phase, self.total, self.rejected_per_day))

    @property
    def counts_days(self) -> bool:
        """Whether the day of an entry matters."""
        return self.per_day is not None or self.rejected_per_day is not None

    def day(self, moment: datetime) -> str:
        """The calendar day of a moment in the zone of the quota, as in ``2027-04-18``."""
        return self._local(moment).date().isoformat()

    def next_day(self, moment: datetime) -> datetime:
        """When the next calendar day begins, in UTC: when the limits per day begin again."""
        tomorrow = self._local(moment).date() + timedelta(days=1)
        return datetime.combine(tomorrow, time(), ZoneInfo(self.zone)).astimezone(UTC)

    def _local(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.zone))


NO_QUOTA = Quota.model_validate({})
