"""What the site publishes about the errata of a track: reasons, what changed, and the boards before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from scorer.board.board import SaltedDigest
from scorer.board.build import salted_digest, teams
from scorer.board.changes import Changes, changes_of_record
from scorer.challenge.settings import Track
from scorer.entries.errata import Erratum, errata, file_changes, rule_changes
from scorer.entries.in_force import public
from scorer.store.snapshot import Snapshot
from scorer.wording import one_line


@dataclass(frozen=True, slots=True)
class ChangedRule:
    """A rule that an erratum changed."""

    name: str
    """The key of challenge.toml."""
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that an erratum changed: the solution, or the list of candidate items."""

    name: str
    """``solution`` or ``items``."""
    before: SaltedDigest | None
    """None without such a file, as `after`."""
    after: SaltedDigest | None


@dataclass(frozen=True, slots=True)
class PublishedErratum:
    """An erratum that was applied."""

    track: str
    number: int
    """From 1."""
    at: datetime
    """When it was applied, in UTC."""
    index: int
    """Of the event that applied it."""
    reason: str
    """On one line."""
    rules: tuple[ChangedRule, ...]
    files: tuple[ChangedFile, ...]
    changes: Changes
    """The board when it was applied; the teams have their present names."""

    @property
    def path(self) -> str:
        """Of its page in the site."""
        return f"{self.track}/errata/{self.number}.html"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what changed: rules, then ``solution`` and ``items``."""
        return (*(each.name for each in self.rules), *(each.name for each in self.files))

    @property
    def changed(self) -> str:
        """What changed, by name: ``decimals, solution``."""
        return ", ".join(self.names)


def published_errata(view: Snapshot, track: Track) -> tuple[PublishedErratum, ...]:
    """The errata of a track that visitors may see, the earliest first; during a freeze, those from before it.

    Parameters
    ----------
    view
        A snapshot of the database.
    track
        With the settings of challenge.toml.

    Raises
    ------
    StoreError
        The database fails.
    """
    shown = public(view, track)
    found = errata(shown.events(track.name))
    if not found:
        return ()
    known = tuple(teams(shown).values())
    return tuple(
        PublishedErratum(
            track=track.name,
            number=each.number,
            at=each.at or shown.now,
            index=each.index,
            reason=one_line(each.reason),
            rules=_rules(each),
            files=tuple(_files(shown, track, each)),
            changes=changes_of_record(each.changes, known),
        )
        for each in found
    )


def _rules(erratum: Erratum) -> tuple[ChangedRule, ...]:
    if erratum.before is None:
        return ()
    return tuple(
        ChangedRule(each.name, value_text(each.before), value_text(each.after))
        for each in rule_changes(erratum.before, erratum.basis)
    )


def _files(view: Snapshot, track: Track, erratum: Erratum) -> list[ChangedFile]:
    if erratum.before is None:
        return []
    return [
        ChangedFile(name, *(None if each is None else salted_digest(view, track, each) for each in (before, after)))
        for name, before, after in file_changes(erratum.before, erratum.basis)
    ]


NOT_SHOWN = frozenset({"key_file"})
"""Keys of tables that are no rule, but a path on the organiser's machine."""


def value_text(value: object) -> str:
    """The value of a setting, as the record has it, for people: ``5, 10``, ``per_day 5, zone UTC``, ``none``."""
    if isinstance(value, Mapping):
        parts = (
            f"{key} {value_text(each)}" for key, each in value.items() if key not in NOT_SHOWN and each is not None
        )
        return ", ".join(parts) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(value_text, value)) or "none"
    return "none" if value is None else one_line(str(value))
