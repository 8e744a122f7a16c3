"""The record, followed event by event: what a request needs of a team costs what the events of the team cost."""

from __future__ import annotations

import heapq
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Self

from scorer.live.presence import SubmissionState, submissions
from scorer.live.receipts import Issuer
from scorer.live.teams import Merges, Team, merges, set_teams
from scorer.live.tokens import Token, tokens
from scorer.store.canonical import unescaped
from scorer.store.events import ABOUT_SUBMISSIONS, EVERY_TRACK, Event, name_of
from scorer.store.snapshot import Snapshot

_ALL = ""
"""In the place of a team: events that concern all teams."""


@dataclass(slots=True)
class Followed:
    """What a process knows of the record. Threads may use it at the same time."""

    issuer: Issuer
    tokens: dict[str, Token] = field(default_factory=dict)
    """Of all teams, by their SHA-256."""
    deliveries: dict[tuple[str, str, str], Event] = field(default_factory=dict)
    """The arrivals of files that were handed in, by track, team and id of the delivery."""
    arrivals: dict[int, Event] = field(default_factory=dict)
    """By index."""
    teams: dict[str, None] = field(default_factory=dict)
    """Of all tracks, in the order in which their first submissions were recorded."""
    _events: dict[tuple[str, str], list[Event]] = field(default_factory=lambda: defaultdict(list))
    """Without those on tokens, by track and team."""
    _team_of: dict[tuple[str, str], str] = field(default_factory=dict)
    """By track and file."""
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, view: Snapshot, challenge: str) -> Self:
        """What is known after a snapshot of the challenge with this name."""
        followed = cls(Issuer(challenge, view.secret("log"), view.secret("receipts")))
        followed.follow(view)
        return followed

    def follow(self, view: Snapshot) -> None:
        """Take the events that were recorded since."""
        events = view.all_events
        with self._lock:
            new = events[self._count :]
            if not new:
                return
            self.issuer.follow(events)
            if any(event.kind == "token" for event in new):
                self.tokens = tokens(new, self.tokens)
            for event in new:
                self._take(event)
            self._count = len(events)

    def _take(self, event: Event) -> None:
        track, body = event.track, event.body
        team: str | None = _ALL
        if event.kind == "arrival":
            team = name_of(body, "team")
            self.arrivals[event.index] = event
            self.teams.setdefault(team)
            self._team_of[track, name_of(body, "file")] = team
            if "delivery" in body:
                self.deliveries[track, team, body["delivery"]] = event
        elif event.kind in ABOUT_SUBMISSIONS:
            files = (body["file"], unescaped(body["file"]))
            team = next((self._team_of[track, file] for file in files if (track, file) in self._team_of), None)
        elif event.kind == "pick":
            team = body["team"]
        elif event.kind == "token":
            team = None
        if team is not None:  # an event about a submission that never arrived says nothing
            self._events[track, team].append(event)

    def members(self, track: str, team: str) -> tuple[str, ...]:
        """The teams that count as one with a team."""
        return self._merges(track).members(team)

    def final(self, track: str, team: str) -> str:
        """The team whose row has the entries of a team."""
        return self._merges(track).final(team)

    def _merges(self, track: str) -> Merges:
        return merges(self._of(track, [_ALL]))

    def settings(self, team: str) -> Team:
        """What is set for a team."""
        return set_teams(self._of(EVERY_TRACK, [_ALL])).get(team, Team())

    def events(self, track: str, teams: Collection[str]) -> list[Event]:
        """The events of a track that concern all teams, or one of these, in order."""
        return self._of(track, [_ALL, *teams])

    def own(self, view: Snapshot, track: str, team: str) -> Snapshot:
        """The snapshot with only the submissions of a team, and of those that count as one with it."""
        return view.with_events(track, self.events(track, self.members(track, team)))

    def submissions(self, track: str, team: str) -> list[SubmissionState]:
        """The submissions in the folder of a team, in the order of the record."""
        return list(submissions(self.events(track, [team])).values())

    def _of(self, track: str, teams: Iterable[str]) -> list[Event]:
        with self._lock:
            keys = [(track, team) for team in teams] + ([(EVERY_TRACK, _ALL)] if track != EVERY_TRACK else [])
            lists = [list(self._events[key]) for key in keys if key in self._events]
        return list(heapq.merge(*lists, key=attrgetter("index")))
