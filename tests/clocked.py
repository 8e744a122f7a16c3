"""A challenge in a folder whose database is opened at given times: files arrive, and runs import and score them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from scorer.board.board import Board
from scorer.challenge.loading import read_challenge
from scorer.challenge.settings import Challenge
from scorer.executors.base import FileOutcome, Serial
from scorer.organising.render import boards, render
from scorer.organising.run import Work, carry_out, plan
from scorer.store.records import Submission
from scorer.store.store import Store

_Answer = TypeVar("_Answer")


@dataclass
class Clocked:
    """A challenge in a folder."""

    folder: Path

    @property
    def challenge(self) -> Challenge:
        """The challenge, as its file is now."""
        return read_challenge(self.folder)

    def opened(self, now: datetime) -> Store:
        """The database, whose clock has stopped at a time."""
        return Store.open(self.challenge.database_address, clock=lambda: now)

    def do(self, now: datetime, work: Callable[[Challenge, Store], _Answer]) -> _Answer:
        """What `work` returns at a time."""
        with self.opened(now) as store:
            return work(self.challenge, store)

    def submit(self, file: str, content: str, received: datetime) -> Path:
        """Write a submission that was last changed at a time, given its path below the folder of submissions."""
        path = self.folder / "submissions" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        os.utime(path, (received.timestamp(),) * 2)
        return path

    def score(
        self, now: datetime, *, confirm_withdrawals: bool = False
    ) -> list[tuple[Work, list[tuple[Submission, FileOutcome]]]]:
        """Import what arrived and score it, as `scorer run` does; the work of each track with its outcomes."""

        def work(challenge: Challenge, store: Store) -> list[tuple[Work, list[tuple[Submission, FileOutcome]]]]:
            found = []
            for track in challenge.tracks:
                planned = plan(store, challenge, track, confirm_withdrawals=confirm_withdrawals)
                found.append((planned, list(carry_out(store, planned, Serial()))))
            return found

        return self.do(now, work)

    def public_board(self, now: datetime, track: str = "main", as_of: datetime | int | None = None) -> Board:
        """The board of a track."""

        def work(challenge: Challenge, store: Store) -> Board:
            chosen = [challenge.track(track)]
            return store.read(
                lambda view: boards(view if as_of is None else view.as_of(as_of), chosen, pending=True)[0]
            )

        return self.do(now, work)

    def render(self, now: datetime) -> None:
        """Write the site."""
        self.do(now, render)
