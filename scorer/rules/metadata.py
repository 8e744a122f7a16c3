"""Metadata: what teams state about their submissions, and what visitors see of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from scorer.options import Stage
from scorer.record.events import FileBody, Key
from scorer.rules.phases import Phases
from scorer.rules.tables import TEXT, Filled, SettingsTable, sentences, valid

OF_FILE, OF_FOLDER = (".meta.yaml", ".meta.json"), "ir-metadata.yml"
"""End the name of a submission in that of the file with its metadata; and the file with those of a whole folder."""

Value = str | int | float | bool
Publicity = Literal["now", "end", "never"]

PUBLICITIES: tuple[Publicity, ...] = ("now", "end", "never")
"""When the values of a field are public, the strictest last: at once, once the last phase has closed, or never."""

MetadataType = Literal["text", "choice", "number", "yes-no", "url"]


def _choices_wrong(choices: Sequence[str], known: Mapping[str, Any]) -> str:
    if bool(choices) != (known.get("type") == "choice"):
        return "has no effect" if choices else "is empty"
    return "names a choice twice" if len({choice.casefold() for choice in choices}) < len(choices) else ""


class MetadataField(SettingsTable):
    """A table [[metadata]]: a fact that teams state about a submission."""

    checks: ClassVar = {
        "choices": _choices_wrong,
        "unit": lambda unit, known: "has no effect" if unit and known.get("type") != "number" else "",
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


class MetadataBody(FileBody, plain=("values", "public")):
    """Of an event that records all metadata of an entry."""

    values: dict[str, str | int | float | bool]
    public: dict[str, Publicity]
    source: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a submission, as they were recorded last, by the names of fields."""

    values: Mapping[str, Value] = field(default_factory=dict)
    promised: Mapping[str, Publicity] = field(default_factory=dict)
    """When each value was to be public, as its team read it."""
    earlier: tuple[tuple[datetime | None, Metadata], ...] = ()
    """The values before each correction, with its time, the latest first."""

    def corrected(
        self, values: Mapping[str, Value], promised: Mapping[str, Publicity], at: datetime | None
    ) -> Metadata:
        """The metadata after an event that records other values, or the first ones."""
        earlier = ((at, replace(self, earlier=())), *self.earlier) if self.promised else ()
        return Metadata(values, promised, earlier)


NO_METADATA = Metadata()


def body(
    fields: Sequence[MetadataField], key: Key, values: Mapping[str, Value], source: str, reason: str = ""
) -> dict[str, Any]:
    """The body of the event that records all values of a submission."""
    public = {each.name: each.public for each in fields if each.name in values}
    stated = {"file": key[0], "digest": key[1], "values": values, "public": public, "source": source}
    return stated | ({"reason": reason} if reason else {})


def has_ended(phases: Phases, stage: Stage | None, moment: datetime) -> bool:
    """Whether values are public that are so at the end: the last phase has closed, or the stage is final."""
    return phases.is_over(moment) if phases.all else stage != "preliminary"


def public_fields(fields: Sequence[MetadataField], *, ended: bool) -> tuple[MetadataField, ...]:
    """Those of the fields that visitors see now."""
    return tuple(each for each in fields if PUBLICITIES.index(each.public) <= ended)


def public_values(metadata: Metadata, fields: Sequence[MetadataField], *, ended: bool) -> dict[str, Value]:
    """The values that visitors see now. Boards, pages and exports show only these.

    A value stays hidden as long as its team read that it would, also if challenge.toml says something else now.
    """
    return {
        each.name: metadata.values[each.name]
        for each in public_fields(fields, ended=ended)
        if each.name in metadata.values and PUBLICITIES.index(metadata.promised[each.name]) <= ended
    }


Correction = tuple[datetime | None, str, Value | None]
"""When a value was corrected, its field, and the value before."""


def corrections(metadata: Metadata, fields: Sequence[MetadataField], *, ended: bool) -> tuple[Correction, ...]:
    """What visitors see of corrections now, the latest first."""
    changes: list[Correction] = []
    after = public_values(metadata, fields, ended=ended)
    for at, earlier in metadata.earlier:
        before = public_values(earlier, fields, ended=ended)
        changes += ((at, name, before.get(name)) for name in {**before, **after} if before.get(name) != after.get(name))
        after = before
    return tuple(changes)


def field_text(value: Value | None) -> str:
    """A value as it may be stated; empty without one."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def metadata_rules(fields: Sequence[MetadataField], *, has_phases: bool) -> tuple[str, ...]:
    """The rules on metadata; none where the challenge has none."""
    if not fields:
        return ()
    rules = [*sentences("metadata", "stated")]
    for each in fields:
        (public,) = sentences("metadata", each.public)
        path = "".join(sentences("metadata", "path", path=each.ir_metadata)) if each.ir_metadata else ""
        values = {"title": each.title, "name": each.name, "allowed": each.allowed, "public": public, "path": path}
        rules += sentences("metadata", "field", required="required" if each.required else "optional", **values)
    until = "".join(sentences("metadata", "until")) if has_phases else ""
    return (*rules, *sentences("metadata", "corrected", until=until))
