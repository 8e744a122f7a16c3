"""A small live challenge with an injected clock: phases, files that arrive, runs, and boards."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scorer.board.board import Board, Row
from scorer.challenge.settings import Track
from scorer.live.entries import Entries, entries
from scorer.live.entry import Entry
from scorer.live.state import in_force
from scorer.organising.rules import current_basis
from scorer.organising.run import Work
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.clocked import Clocked

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)

ANNOUNCED = datetime(2011, 4, 1, tzinfo=UTC)
"""When the first run of a live challenge is."""
START = datetime(2011, 4, 18, 10, tzinfo=UTC)
"""When the first phase starts."""
END = datetime(2011, 4, 28, 10, tzinfo=UTC)
SECOND_START = datetime(2011, 5, 2, 10, tzinfo=UTC)
SECOND_END = datetime(2011, 5, 12, 10, tzinfo=UTC)

QUERIES = 10
FLAGGED = 5
"""The first ones."""

TOP = """
name = "Live"

[tracks.main]
title = "Main"
solution = "solutions/main.txt"
list_length = 2
primary = "P@1"
decimals = 3
"""


def phase(name: str, start: datetime | str, end: datetime | str, *more: str) -> str:
    """The table of a phase."""
    times = (each if isinstance(each, str) else each.isoformat() for each in (start, end))
    lines = [f"{key} = {time}" for key, time in zip(("start", "end"), times, strict=True)]
    return "\n".join(["", "[[tracks.main.phases]]", f'name = "{name}"', *lines, *more, ""])


ONE = phase("one", START, END)
TWO = phase("two", SECOND_START, SECOND_END)


def solution(flagged: int = FLAGGED) -> str:
    """Ten queries with one relevant item; the first ones are flagged."""
    return "".join(f"q{number}:{int(number < flagged)}:a|1\n" for number in range(QUERIES))


def lists(preliminary: int, others: int, mark: str = "") -> str:
    """A submission that finds the item of some flagged queries and of some others; `mark` changes only its bytes."""
    found = {*range(preliminary), *range(FLAGGED, FLAGGED + others)}
    return "".join(f"q{number}:{'a' if number in found else 'b'},c{mark}\n" for number in range(QUERIES))


INVALID = "q0:a,,b{}\n"


@dataclass
class Live(Clocked):
    """A challenge in a folder, whose clock shows the time of the last run."""

    now: datetime = ANNOUNCED
    outcomes: list[tuple[str, str]] = field(default_factory=list)
    """Of the last run: the file and the kind of its outcome."""

    @classmethod
    def of(cls, folder: Path, *tables: str, settings: str = "", flagged: int = FLAGGED) -> Live:
        """A new challenge with these lines in its track, and these tables of phases."""
        for name in ("solutions", "submissions/main"):
            (folder / name).mkdir(parents=True)
        live = cls(folder)
        live.write_solution(solution(flagged))
        live.configure(*tables, settings=settings)
        return live

    def configure(self, *tables: str, settings: str = "") -> None:
        """Write challenge.toml."""
        (self.folder / "challenge.toml").write_text(f"{TOP}{settings}\n{''.join(tables)}")

    def choose_decimals(self, value: str) -> None:
        """Write another value of `decimals`."""
        toml = self.folder / "challenge.toml"
        toml.write_text(toml.read_text().replace("decimals = 3\n", f"decimals = {value}\n"))

    def write_solution(self, text: str) -> None:
        """Write the solution."""
        (self.folder / "solutions" / "main.txt").write_text(text)

    @property
    def track(self) -> Track:
        """Its track."""
        return self.challenge.track("main")

    def path(self, file: str) -> Path:
        """The path of a submission."""
        return self.folder / "submissions" / "main" / file

    def put(self, file: str, content: str, received: datetime) -> None:
        """Write a submission that was last changed at this time."""
        self.submit(f"main/{file}", content, received)

    def store(self, now: datetime | None = None) -> Store:
        """The database; its clock has stopped at `now`, or at the time of the last run."""
        return self.opened(now or self.now)

    def run(self, now: datetime, *, confirm_withdrawals: bool = True) -> Work:
        """Import what arrived and score it, as `scorer run` does at this time."""
        self.now = now
        (work, done), *_ = self.score(now, confirm_withdrawals=confirm_withdrawals)
        self.outcomes = [(submission.file, type(outcome).__name__) for submission, outcome in done]
        return work

    def entries(self, now: datetime | None = None) -> Entries:
        """The entries, without regard to a freeze."""

        def found(view: Snapshot) -> Entries:
            return entries(view, in_force(view, self.track), current_basis(view, self.track))

        with self.store(now) as store:
            return store.read(found)

    def entry(self, file: str) -> Entry:
        """The last entry of a file, given without the folder of the track."""
        return [entry for entry in self.entries().all if entry.file == f"main/{file}"][-1]

    def states(self) -> dict[str, str]:
        """The state of the last entry of each file."""
        return {entry.file.removeprefix("main/"): entry.state for entry in self.entries().all}

    def board(self, now: datetime | None = None, as_of: datetime | int | None = None) -> Board:
        """The public board."""
        return self.public_board(now or self.now, as_of=as_of)

    def kinds(self) -> list[str]:
        """The kinds of all events of the record."""
        with self.store() as store:
            return [event.kind for event in store.read(lambda view: view.events())]


def ranking(board: Board) -> list[tuple[int | None, str, float | None]]:
    """The rank, the team and the score of each row that the board shows."""
    return [(row.rank, row.team.name, shown(board, row)) for row in board.rows]


def shown(board: Board, row: Row) -> float | None:
    """The primary score that the board shows for a row."""
    return board.shown_scores(row.entry)[0]


def stop_clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    """Let the databases that commands open read this time."""
    defaults = Store.open.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "clock", lambda: now)
