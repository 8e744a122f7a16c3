"""Tables of challenge.toml as validated models, and the kinds of values that several of them have."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationInfo

from scorer.options import FORMAT_NAMES
from scorer.paths import Location, Remote, is_url

if TYPE_CHECKING:
    from scorer.measures import Measure

TEXT = "a text"
MARKDOWN = "a text in Markdown"


class SettingsTable(BaseModel):
    """A table of challenge.toml; the description of each field says which values are allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    not_keys: ClassVar[frozenset[str]] = frozenset({"root"})
    """Fields that do not come from a key of the table."""

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that the table can have, in the order of the documentation."""
        return [name for name in cls.model_fields if name not in cls.not_keys]


def _valid(is_valid: Callable[[str], object], wrong: str) -> AfterValidator:
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


IGNORED = ("README", "README.*", "LICENSE", "LICENSE.*", "metadata.json", "Thumbs.db", "desktop.ini", "__MACOSX")
"""Names of files and folders, in upper or lower case, that people and systems add to submissions."""

Stated = Annotated[str, _valid(str.strip, "is blank")]
PathText = Annotated[str, _valid(lambda path: path.strip() and "\0" not in path, "is not a path")]
FormatText = Annotated[str, _valid(lambda name: name.partition(":")[0] in FORMAT_NAMES, "is not a format")]
"""The name of a format, with its options if it has any, as in ``letor:feature=21``."""


# Measures


def parsed(name: str, validated: ValidationInfo) -> tuple[Measure, ...]:
    """The measures that a name means with the track's cut-offs.

    Invalid cut-offs are a separate error, so the measures that would use them count as valid.
    """
    from scorer.measures import parse  # noqa: PLC0415 (whoever verifies a document needs no arrays)

    return parse(name, validated.data.get("cutoffs", (1,)))


def _measure_name(name: str, validated: ValidationInfo) -> str:
    parsed(name, validated)
    return name


def _one_measure_name(name: str, validated: ValidationInfo) -> str:
    measures = parsed(name, validated)
    if len(measures) > 1:
        raise ValueError(f"means {' and '.join(map(str, measures))}")
    return name


def check_unit_mean(validated: ValidationInfo, what: str) -> None:
    """Raise ValueError unless the primary measure is a mean of scores from 0 to 1; `what` says what needs one."""
    name = validated.data.get("primary")
    for measure in parsed(name, validated) if name else ():
        if measure.kind.aggregation != "mean" or not measure.bounded:
            raise ValueError(f"{what}, but {measure} is not a mean of scores from 0 to 1")


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
