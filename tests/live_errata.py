"""A live challenge for tests: its clock, its files, and its runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeVar

from scorer.board.board import Board
from scorer.challenge.settings import Challenge, Track
from scorer.executors.base import Executor, Serial
from scorer.live.errata import Changes, Erratum
from scorer.live.timeline import Timeline, timeline
from scorer.organising import errata
from scorer.store.events import Event
from scorer.store.store import Store
from tests.clocked import Clocked

_Answer = TypeVar("_Answer")

TRACK = """
[tracks.{name}]
title = "{title}"
solution = "solutions/{name}.txt"
list_length = 3
primary = "nDCG@3"
baselines = ["popular"]
"""

PHASES = """
[[tracks.{name}.phases]]
name = "one"
start = 2027-01-10T00:00:00Z
end = 2027-01-20T00:00:00Z
grace = "1h"
freeze = "24h"
[[tracks.{name}.phases]]
name = "two"
start = 2027-01-25T00:00:00Z
end = 2027-01-30T00:00:00Z
"""

SOLUTION = "q1:1:a|3,b|1,c|1\nq2:1:d|2,e|1\nq3:0:f|2,g|1\nq4:0:a|1\n"
CORRECTED = SOLUTION.replace("a|3,b|1", "a|1,b|3")
"""With other grades of a preliminary query."""

GOOD = "q1:a,b,c\nq2:d,e\nq3:f,g\nq4:a\n"
"""The best lists by `SOLUTION`."""
OTHER = "q1:b,a,c\nq2:d,e\nq3:g,f\nq4:a\n"
"""The best preliminary lists by `CORRECTED`."""
POOR = "q1:x,c\nq2:x,d\nq3:x\nq4:x\n"
"""Far from both."""

BEFORE = datetime(2027, 1, 5, tzinfo=UTC)


def day(number: int, hour: int = 12, minute: int = 0) -> datetime:
    """A time in January 2027."""
    return datetime(2027, 1, number, hour, minute, tzinfo=UTC)


@dataclass
class Live(Clocked):
    """A challenge with phases in a folder, run at given times."""

    executor: Executor
    track: str = "main"

    @classmethod
    def new(cls, folder: Path, *, rules: str = "", phases: str = PHASES, tracks: tuple[str, ...] = ("main",)) -> Self:
        """A challenge whose tracks have these phases and, after their settings, these rules."""
        for name in ("solutions", *(f"submissions/{track}" for track in tracks)):
            (folder / name).mkdir(parents=True)
        text = 'name = "Live"\n'
        for track in tracks:
            (folder / "solutions" / f"{track}.txt").write_text(SOLUTION)
            text += f"{TRACK.format(name=track, title=track.capitalize())}{rules}{phases.format(name=track)}"
        (folder / "challenge.toml").write_text(text)
        return cls(folder, Serial())

    def edit(self, before: str, after: str) -> None:
        """Replace a text in challenge.toml."""
        file = self.folder / "challenge.toml"
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after))

    def solve(self, text: str) -> None:
        """Write the solution."""
        (self.folder / "solutions" / f"{self.track}.txt").write_text(text)

    def put(self, team: str, lists: str, at: datetime, name: str = "1.txt") -> Path:
        """Write the file of a team, received at a time."""
        return self.submit(f"{self.track}/{team}/{name}", lists, at)

    def run(self, at: datetime) -> Board:
        """Import and score what arrived; returns the board."""
        self.score(at)
        return self.board(at)

    def board(self, at: datetime, as_of: datetime | int | None = None) -> Board:
        """The board of the track."""
        return self.public_board(at, self.track, as_of)

    def preview(self, at: datetime) -> Changes:
        """Open an erratum."""
        return self.do(at, lambda challenge, store: errata.preview(challenge, store, self._track(), self.executor))

    def apply(self, at: datetime, reason: str = "wrong grades", **options: bool) -> tuple[Erratum, Changes]:
        """Apply the open erratum."""
        return self.do(
            at, lambda challenge, store: errata.apply(challenge, store, self._track(), reason, self.executor, **options)
        )

    def cancel(self, at: datetime) -> Erratum:
        """Cancel the open erratum."""
        return self.do(at, lambda _, store: errata.cancel(store, self._track()))

    def timeline(self, at: datetime) -> Timeline:
        """What happened in public."""
        return self.do(at, lambda challenge, store: store.read(lambda view: timeline(view, challenge.tracks)))

    def events(self, *kinds: str) -> list[Event]:
        """The events of some kinds, or of all."""

        def read(_: Challenge, store: Store) -> list[Event]:
            return store.read(lambda view: [event for event in view.events() if not kinds or event.kind in kinds])

        return self.do(day(31), read)

    def page(self, path: str) -> str:
        """The text of a file of the site."""
        return (self.folder / "site" / path).read_text(encoding="utf-8")

    def has_page(self, path: str) -> bool:
        return (self.folder / "site" / path).exists()

    def _track(self) -> Track:
        return self.challenge.track(self.track)


def ranks(board: Board) -> dict[str, tuple[int | None, float | None]]:
    """Rank and score of each team."""
    return {row.team.folder: (row.rank, board.shown_scores(row.entry)[0]) for row in board.rows}
