"""Live challenges whose databases are opened at given times: phases, files that arrive, runs, boards, errata."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self, TypeVar

import pytest

from scorer.board.board import Board, Row
from scorer.live.entries import Entries, scored_entries
from scorer.live.entry import Entry
from scorer.live.errata import Changes, Erratum
from scorer.live.now import Now
from scorer.live.timeline import Timeline, timeline
from scorer.organising import errata
from scorer.organising.render import boards, render
from scorer.organising.run import Work, carry_out, plan
from scorer.record.events import Event, log_lines
from scorer.rules.split import KEY_FILE
from scorer.scoring.executors.base import Executor, Serial
from scorer.settings.loading import read_challenge, write_challenge
from scorer.settings.tracks import Challenge, Track
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store

_Answer = TypeVar("_Answer")

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


# In January 2027: a challenge with grades

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


def day(number: int, hour: int = 12, minute: int = 0, second: int = 0) -> datetime:
    """A time in January 2027."""
    return datetime(2027, 1, number, hour, minute, second, tzinfo=UTC)


# In the same month: the challenge that `scorer init` writes

BEST = "q1:apple,pear,plum\nq2:fig,grape\nq3:lemon\nq4:apple\n"
FAIR = "q1:pear,apple\nq2:grape\nq3:fig\nq4:apple\n"
WEAK = "q1:plum\nq2:fig\nq3:apple\nq4:apple\n"
"""Submissions, from the best on the preliminary query and on all queries to the worst."""

KEY = "0c" * 32
"""The key of a split."""


@dataclass
class Live:
    """A challenge in a folder, whose clock shows the time of the last run."""

    folder: Path
    now: datetime = ANNOUNCED
    outcomes: list[tuple[str, str]] = field(default_factory=list)
    """Of the last run: the file and the kind of its outcome."""
    chosen: str = "main"
    """The name of the track that files arrive in, and that boards and errata are of."""
    executor: Executor = field(default_factory=Serial)
    """Scores what an erratum needs."""

    @classmethod
    def of(cls, folder: Path, *tables: str, settings: str = "", flagged: int = FLAGGED) -> Self:
        """A new challenge with these lines in its track, and these tables of phases."""
        for name in ("solutions", "submissions/main"):
            (folder / name).mkdir(parents=True)
        live = cls(folder)
        live.write_solution(solution(flagged))
        live.configure(*tables, settings=settings)
        return live

    @classmethod
    def graded(
        cls, folder: Path, *, rules: str = "", phases: str = PHASES, tracks: tuple[str, ...] = ("main",)
    ) -> Self:
        """A challenge whose tracks have these phases and, after their settings, these rules."""
        for name in ("solutions", *(f"submissions/{track}" for track in tracks)):
            (folder / name).mkdir(parents=True)
        text = 'name = "Live"\n'
        for track in tracks:
            (folder / "solutions" / f"{track}.txt").write_text(SOLUTION)
            text += f"{TRACK.format(name=track, title=track.capitalize())}{rules}{phases.format(name=track)}"
        (folder / "challenge.toml").write_text(text)
        return cls(folder, BEFORE)

    @classmethod
    def starter(cls, folder: Path, settings: str = "", phases: str = PHASES, *, flags: bool = True) -> Self:
        """The challenge of `scorer init` without its submissions, with these settings and phases, which are announced.

        Without `flags`, the solution flags no preliminary queries.
        """
        write_challenge(folder)
        shutil.rmtree(folder / "submissions")
        (folder / "split.key").unlink()
        toml = folder / "challenge.toml"
        before = toml.read_text(encoding="utf-8").partition('stage = "preliminary"')[0]
        toml.write_text(f"{before}{settings}\n{phases.replace('{name}', 'main')}", encoding="utf-8")
        if not flags:
            solved = folder / "solutions" / "main.txt"
            solved.write_text(solved.read_text(encoding="utf-8").replace(":1:", ":0:"), encoding="utf-8")
        if KEY_FILE in settings:
            (folder / KEY_FILE).write_text(f"{KEY}\n", encoding="ascii")
            (folder / KEY_FILE).chmod(0o600)
        (folder / "submissions" / "main").mkdir(parents=True)
        live = cls(folder)
        live.run(day(5))
        return live

    # Its files

    def configure(self, *tables: str, settings: str = "") -> None:
        """Write challenge.toml."""
        (self.folder / "challenge.toml").write_text(f"{TOP}{settings}\n{''.join(tables)}")

    def edit(self, before: str, after: str) -> None:
        """Replace a text in challenge.toml."""
        file = self.folder / "challenge.toml"
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after))

    def choose_decimals(self, value: str) -> None:
        self.edit("decimals = 3\n", f"decimals = {value}\n")

    def write_solution(self, text: str) -> None:
        (self.folder / "solutions" / f"{self.chosen}.txt").write_text(text)

    def path(self, file: str) -> Path:
        return self.folder / "submissions" / self.chosen / file

    def put(self, file: str, content: str, received: datetime) -> Path:
        """Write a submission that was last changed at this time."""
        return self.submit(f"{self.chosen}/{file}", content, received)

    def submit(self, file: str, content: str, received: datetime) -> Path:
        """As `put`, given the path below the folder of submissions."""
        path = self.folder / "submissions" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        os.utime(path, (received.timestamp(),) * 2)
        return path

    # The way of the challenge

    @property
    def challenge(self) -> Challenge:
        return read_challenge(self.folder)

    @property
    def track(self) -> Track:
        return self.challenge.track(self.chosen)

    def store(self, now: datetime | None = None) -> Store:
        """The database; its clock has stopped at `now`, or at the time of the last run."""
        return Store.open(self.challenge.database_address, clock=lambda: now or self.now)

    def do(self, now: datetime, work: Callable[[Challenge, Store], _Answer]) -> _Answer:
        """What `work` returns at a time."""
        with self.store(now) as store:
            return work(self.challenge, store)

    def run(self, now: datetime, *, confirm_withdrawals: bool = True) -> Work:
        """Import what arrived and score it, as `scorer run` does at this time; the work of the first track."""
        self.now = now

        def carried_out(challenge: Challenge, store: Store) -> Work:
            works = []
            for track in challenge.tracks:
                works.append(plan(store, challenge, track, confirm_withdrawals=confirm_withdrawals))
                done = list(carry_out(store, works[-1], Serial()))
                self.outcomes += [(submission.file, type(outcome).__name__) for submission, outcome in done]
            return works[0]

        self.outcomes = []
        return self.do(now, carried_out)

    def render(self, now: datetime) -> None:
        self.do(now, render)

    def preview(self, at: datetime) -> Changes:
        return self.do(at, lambda challenge, store: errata.preview_erratum(challenge, store, self.track, self.executor))

    def apply(self, at: datetime, reason: str = "wrong grades", **options: bool) -> tuple[Erratum, Changes]:
        return self.do(
            at, lambda challenge, store: errata.apply(challenge, store, self.track, reason, self.executor, **options)
        )

    def cancel(self, at: datetime) -> Erratum:
        return self.do(at, lambda _, store: errata.cancel(store, self.track))

    # What there is

    def entries(self, now: datetime | None = None) -> Entries:
        """All entries, with the scores that their teams see."""

        def found(view: Snapshot) -> Entries:
            return scored_entries(Now.of(view, self.track))

        with self.store(now) as store:
            return store.read(found)

    def entry(self, file: str) -> Entry:
        """The last entry of a file, given without the folder of the track."""
        return [entry for entry in self.entries().all if entry.file == f"main/{file}"][-1]

    def states(self) -> dict[str, str]:
        """The state of the last entry of each file."""
        return {entry.file.removeprefix("main/"): entry.state for entry in self.entries().all}

    def board(self, now: datetime | None = None, as_of: datetime | int | None = None) -> Board:
        """The public board of the track."""

        def found(view: Snapshot) -> Board:
            return boards(view if as_of is None else view.as_of(as_of), [self.track], pending=True)[0]

        with self.store(now) as store:
            return store.read(found)

    def timeline(self, at: datetime) -> Timeline:
        """What happened in public."""
        return self.do(at, lambda challenge, store: store.read(lambda view: timeline(view, challenge.tracks)))

    def events(self, *kinds: str) -> list[Event]:
        with self.store() as store:
            return store.read(lambda view: [event for event in view.events() if not kinds or event.kind in kinds])

    def log(self) -> list[str]:
        """The lines of the log of the record."""
        with self.store() as store:
            return store.read(lambda view: [line.text for line in log_lines(view.secret("log"), view.events())])

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events()]

    def page(self, path: str) -> str:
        """The text of a file of the site."""
        return (self.folder / "site" / path).read_text(encoding="utf-8")

    def has_page(self, path: str) -> bool:
        return (self.folder / "site" / path).exists()

    def site(self, now: datetime) -> dict[str, str]:
        """Render the site, and return its text files by path."""
        self.render(now)
        root = self.challenge.site_path
        files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith("."))
        files = (path for path in files if path.suffix not in (".zip", ".png"))
        return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}

    def run_and_render(self, now: datetime) -> dict[str, str]:
        """As `scorer run` does: import, score, render."""
        self.run(now)
        return self.site(now)


def ranking(board: Board) -> list[tuple[int | None, str, float | None]]:
    """The rank, the team and the score of each row that the board shows."""
    return [(row.rank, row.team.name, shown(board, row)) for row in board.rows]


def ranks(board: Board) -> dict[str, tuple[int | None, float | None]]:
    """Rank and score of each team."""
    return {row.team.folder: (row.rank, board.shown_scores(row.entry)[0]) for row in board.rows}


def ranks_after_run(live: Live, now: datetime) -> dict[str, tuple[int | None, float | None]]:
    """Those on the board after a run."""
    live.run(now)
    return ranks(live.board(now))


def shown(board: Board, row: Row) -> float | None:
    """The primary score that the board shows for a row."""
    return board.shown_scores(row.entry)[0]


def stop_clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    """Let the databases that commands open read this time."""
    defaults = Store.open.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "clock", lambda: now)
