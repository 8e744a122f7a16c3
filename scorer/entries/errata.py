"""Errata: changes of the solution or of the rules while a challenge is live, as the record has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from scorer.entries.in_force import RULES
from scorer.store.events import Event, recorded_basis
from scorer.store.records import RecordedBasis

ErratumState = Literal["previewed", "applied", "cancelled"]


@dataclass(frozen=True, slots=True)
class Erratum:
    """A change of what a track is scored by."""

    track: str
    number: int
    """From 1, in the order in which the errata of the track were applied."""
    state: ErratumState
    reason: str
    """Empty until it is applied."""
    before: RecordedBasis | None
    """The basis that was in force when it got its state; None if the given events have none."""
    basis: RecordedBasis
    """The new basis."""
    changes: Mapping[str, Any]
    """What it changed on the board, as plain values; empty until it is applied."""
    index: int
    """Of the event that gave it its state."""
    at: datetime | None
    """When that was recorded, in UTC."""


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule that differs between two bases."""

    name: str
    """The key of challenge.toml."""
    before: object
    after: object


def errata(events: Iterable[Event]) -> tuple[Erratum, ...]:
    """The applied errata of a track, given its events in order."""
    return tuple(each for each in _all(events) if each.state == "applied")


def open_erratum(events: Iterable[Event]) -> Erratum | None:
    """The erratum that was previewed, and neither applied nor cancelled; None without one."""
    found = _all(events)
    return found[-1] if found and found[-1].state == "previewed" else None


def _all(events: Iterable[Event]) -> list[Erratum]:
    found = []
    before = None
    for event in events:
        if event.kind == "basis":
            before = recorded_basis(event.body, event.at)
        elif event.kind == "erratum":
            found.append(
                Erratum(
                    track=event.track,
                    number=event.body["number"],
                    state=event.body["state"],
                    reason=event.body["reason"],
                    before=before,
                    basis=recorded_basis(event.body["basis"], event.at),
                    changes=event.body.get("changes", {}),
                    index=event.index,
                    at=event.at,
                )
            )
    return found


def rule_changes(before: RecordedBasis, after: RecordedBasis) -> tuple[RuleChange, ...]:
    """The rules that differ between two bases, in the order of challenge.toml; none if schema 1 recorded one."""
    if before.settings is None or after.settings is None:
        return ()
    both = ((name, _rule(before.settings, name), _rule(after.settings, name)) for name in RULES)
    return tuple(RuleChange(name, old, new) for name, old, new in both if old != new)


def _rule(settings: Mapping[str, Any], name: str) -> Any:
    """The value of a rule; of a split without the path of the key, which is no rule."""
    value = settings.get(name)
    return {key: each for key, each in value.items() if key != "key_file"} if isinstance(value, dict) else value


def file_changes(before: RecordedBasis, after: RecordedBasis) -> tuple[tuple[str, str | None, str | None], ...]:
    """The files that differ between two bases: "solution" and "items", with the digest before and after."""
    digests = (
        ("solution", before.basis.solution, after.basis.solution),
        ("items", before.items, after.items),
    )
    return tuple((name, old, new) for name, old, new in digests if old != new)


def changed_names(before: RecordedBasis, after: RecordedBasis) -> tuple[str, ...]:
    """What differs between two bases: names of rules, and "solution" and "items" for files."""
    rules = (each.name for each in rule_changes(before, after))
    return (*rules, *(name for name, _, _ in file_changes(before, after)))
