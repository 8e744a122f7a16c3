"""Tables of challenge.toml, and types of their values; the sentences of rules."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from scorer.files import Location, Remote, is_url
from scorer.options import FORMAT_NAMES
from scorer.record.events import checked_by
from scorer.wording import texts_of

if TYPE_CHECKING:
    from scorer.measures import Measure


def split_url(url: str) -> SplitResult | None:
    """The parts of a URL; None if it has characters that programs read differently: spaces, controls, backslashes."""
    if "\\" in url or not url.isprintable() or any(char.isspace() for char in url):
        return None
    try:
        return urlsplit(url)
    except ValueError:
        return None


RESERVED = frozenset(
    {"static", "teams", "con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
"""Names that a track cannot have, nor a page: `static` and `teams` are folders of the site, the others devices on
Windows.
"""

TEXT = "a text"
MARKDOWN = "a text in Markdown"


class SettingsTable(BaseModel):
    """A table of challenge.toml; the description of each field says which values are allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

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


def valid(is_valid: Callable[[Any], object], wrong: str) -> AfterValidator:
    """Refuses a value that is not valid; `wrong` says what it is."""

    def check(value: Any) -> None:
        if not is_valid(value):
            raise ValueError(wrong)

    return checked_by(check)


def _weight(value: object) -> Decimal:
    """A number of challenge.toml, or the text of one in the record."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,18})?", value):
        value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= 10:
        raise ValueError("is not a number from 0 to 10")
    if len(f"{Decimal(value):f}") > 20:
        raise ValueError("has more than 18 decimals")
    return Decimal(value)


Weight = Annotated[
    Decimal, BeforeValidator(_weight), PlainSerializer(lambda weight: f"{weight.normalize():f}", when_used="json")
]
"""Exact, as it was written."""


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


def sentences(about: str, *names: str, **values: object) -> tuple[str, ...]:
    """Sentences about something, by their names, with these values in their places."""
    texts: Mapping[str, str] = texts_of(__file__, "sentences.toml")[about]
    return tuple(texts[name].format(**values) for name in names)
