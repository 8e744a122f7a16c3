"""Metadata: what teams state about their submissions, what visitors see of it, and its rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from scorer.live.rules import TrackInForce
from scorer.rules.phases import Phases
from scorer.settings.metadata import PUBLICITIES, MetadataField, Publicity, Value
from scorer.settings.tracks import Track

WHEN: Mapping[Publicity, str] = {
    "now": "public at once",
    "end": "public at the end",
    "never": "only the organisers see it",
}


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
    track: Track, key: tuple[str, str], values: Mapping[str, Value], source: str, reason: str = ""
) -> dict[str, Any]:
    """The body of the event that records all values of a submission."""
    public = {each.name: each.public for each in track.metadata if each.name in values}
    stated = {"file": key[0], "digest": key[1], "values": values, "public": public, "source": source}
    return stated | ({"reason": reason} if reason else {})


def has_ended(phases: Phases, track: Track, moment: datetime) -> bool:
    """Whether values are public that are so at the end: the last phase has closed, or the stage is final."""
    return phases.is_over(moment) if phases.all else track.stage != "preliminary"


def public_fields(track: TrackInForce, *, ended: bool) -> tuple[MetadataField, ...]:
    """The fields that visitors see now."""
    if "metadata" in track.hidden:
        return ()
    return tuple(each for each in track.metadata if PUBLICITIES.index(each.public) <= ended)


def public_values(metadata: Metadata, track: TrackInForce, *, ended: bool) -> dict[str, Value]:
    """The values that visitors see now. Boards, pages and exports show only these.

    A value stays hidden as long as its team read that it would, also if challenge.toml says something else now.
    """
    return {
        each.name: metadata.values[each.name]
        for each in public_fields(track, ended=ended)
        if each.name in metadata.values and PUBLICITIES.index(metadata.promised[each.name]) <= ended
    }


Correction = tuple[datetime | None, str, Value | None]
"""When a value was corrected, its field, and the value before."""


def corrections(metadata: Metadata, track: TrackInForce, *, ended: bool) -> tuple[Correction, ...]:
    """What visitors see of corrections now, the latest first."""
    changes: list[Correction] = []
    after = public_values(metadata, track, ended=ended)
    for at, earlier in metadata.earlier:
        before = public_values(earlier, track, ended=ended)
        changes += ((at, name, before.get(name)) for name in {**before, **after} if before.get(name) != after.get(name))
        after = before
    return tuple(changes)


def field_text(value: Value | None) -> str:
    """A value as it may be stated; empty without one."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def metadata_rules(track: Track) -> tuple[str, ...]:
    """The rules on metadata; none where the challenge has none."""
    if not track.metadata:
        return ()
    return (
        "A team states metadata with each file. A file is not accepted if they are invalid or lack a required value.",
        *(
            f"{each.title} ({each.name}): {each.allowed}, {'required' if each.required else 'optional'}; "
            f"{WHEN[each.public]}{f'; {each.ir_metadata} in ir-metadata' if each.ir_metadata else ''}."
            for each in track.metadata
        ),
        f"The team may correct the metadata of an entry{' until its phase has closed' if track.phases else ''}. Each "
        "version stays in the record.",
    )
