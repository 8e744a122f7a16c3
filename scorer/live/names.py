"""Names: the pseudonyms that visitors see of teams and files until a date."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import ClassVar

from scorer.live.now import Now
from scorer.record.events import ArrivalBody, Event, Names
from scorer.record.log import unescaped
from scorer.rules.picks import PickBody
from scorer.rules.teams import TeamBody, TokenBody
from scorer.rules.visibility import Moment
from scorer.settings.tracks import Track
from scorer.store.snapshot import Snapshot
from scorer.wording import printable_name

_DIGITS = (6, 8, 16, 64)
"""How many digits of its digest a pseudonym may have; the first number that gives an unused one is used."""


@dataclass(slots=True, eq=False)
class Pseudonyms:
    """The pseudonyms of all teams and files, in the order in which the record first names them.

    A pseudonym comes from the secret and from that order, never from a name, and nothing that is recorded later changes
    it.
    """

    secret: bytes
    baselines: frozenset[str] = frozenset()
    """Teams that keep their names."""
    teams: dict[str, str] = field(default_factory=dict)
    """By the names of their folders."""
    _by_folder: dict[str, str] = field(default_factory=dict)
    """The first team with each folder, as `printable_name` returns it."""
    _taken: set[str] = field(default_factory=set)
    _files: dict[tuple[str, str], str] = field(default_factory=dict)
    """By track and file."""
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The files by track and team."""
    _events: list[Event] = field(default_factory=list)

    def take(self, event: Event) -> None:
        """Give pseudonyms to what an event names; the events before were taken."""
        body = event.body
        if not isinstance(body, ArrivalBody | PickBody | TeamBody | TokenBody):
            return
        team, into = body.team, body.settings.merged_into if isinstance(body, TeamBody) else None
        for name in filter(None, (team, into)):
            if name not in self.teams:
                digest = hmac.digest(self.secret, str(len(self.teams)).encode("ascii"), "sha256").hex()
                texts = (f"team {digest[:digits]}" for digits in _DIGITS)
                self.teams[name] = next(text for text in texts if text not in self._taken)
                self._taken.add(self.teams[name])
                self._by_folder.setdefault(printable_name(name), name)
        file = event.track, body.file if isinstance(body, ArrivalBody) else ""
        if file[1] and file not in self._files:
            self._counts[event.track, team] += 1
            number = self._counts[event.track, team]
            self._files[file] = file[1] if self._keeps(team) else f"{event.track}/{self.teams[team]}/file {number}"

    def of(self, team: str) -> str:
        """What visitors see as the name of a team."""
        return team if self._keeps(team) else self.teams.get(team, team)

    def events(self, events: Sequence[Event]) -> list[Event]:
        """All events of the record with pseudonyms in the place of names; those that name somebody have no text."""
        for event in events[len(self._events) :]:
            self.take(event)
            body = event.body.without_names(Names(self.of, partial(self._file, event.track), self._row))
            self._events.append(event if body is event.body else replace(event, body=body, text=""))
        return list(self._events)

    def _file(self, track: str, file: str) -> str:
        return self._files.get((track, file)) or self._files.get((track, unescaped(file)), "")

    def _row(self, row: str) -> str:
        folder, of_entry, index = row.partition("/")
        team = self._by_folder.get(folder)
        return f"{'' if team is None else self.of(team)}{of_entry}{index}"

    def _keeps(self, team: str) -> bool:
        return not self.baselines.isdisjoint((team, printable_name(team)))


@dataclass(frozen=True, kw_only=True)
class _Pseudonymous(Snapshot):
    """A snapshot without the names of teams and files: all that is derived from its events has pseudonyms."""

    hides_names: ClassVar[bool] = True

    pseudonyms: Pseudonyms

    @cached_property
    def all_events(self) -> list[Event]:
        """All events, with pseudonyms."""
        return self.pseudonyms.events(super().all_events)


def names_until(view: Snapshot, tracks: Iterable[Track]) -> Moment | None:
    """The moment until which names are hidden from visitors; None if they are shown."""
    for track in tracks:
        now = Now.of(view, track)
        row = now.rules.visibility and now.rules.visibility.names
        if row and not now.has_reached(row.everyone):
            return row.everyone
    return None


def as_public(view: Snapshot, tracks: Sequence[Track]) -> Snapshot:
    """The record as visitors see it, given all tracks of the challenge: with pseudonyms while names are hidden.

    All that is public comes from this snapshot, but for the lines of the log, which are digests of the true events.
    """
    if view.hides_nothing or names_until(view, tracks) is None:
        return view
    state = {each.name: getattr(view, each.name) for each in fields(view) if each.init}
    return _Pseudonymous(**state, pseudonyms=Pseudonyms(view.secret("names"), baselines_of(view, tracks)))


def shown_names(view: Snapshot, tracks: Sequence[Track], known: Pseudonyms | None = None) -> Mapping[str, str]:
    """The pseudonyms that visitors see now, by the folders of the teams; empty while names are shown.

    `known` has those of the events of the snapshot; without it, they are read.
    """
    if names_until(view, tracks) is None:
        return {}
    if known is None:
        known = Pseudonyms(view.secret("names"))
        for event in view.all_events:
            known.take(event)
    kept = baselines_of(view, tracks)
    return {team: name for team, name in known.teams.items() if kept.isdisjoint((team, printable_name(team)))}


def baselines_of(view: Snapshot, tracks: Iterable[Track]) -> frozenset[str]:
    """The baselines of any track, which keep their names."""
    return frozenset(name for track in tracks for name in Now.of(view, track).rules.baselines)
