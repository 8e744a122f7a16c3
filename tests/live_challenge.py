"""A challenge with phases in a folder, run at chosen times: files arrive, `scorer run` imports and scores them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from scorer.board.board import Board
from scorer.challenge.loading import read_challenge
from scorer.challenge.settings import Challenge
from scorer.challenge.splits import KEY_FILE
from scorer.challenge.starter import FILES
from scorer.executors.names import executor_named
from scorer.organising.render import boards, render
from scorer.organising.run import carry_out, plan
from scorer.store.store import Store

BEST = "q1:apple,pear,plum\nq2:fig,grape\nq3:lemon\nq4:apple\n"
GOOD = "q1:pear,apple\nq2:grape\nq3:fig\nq4:apple\n"
WEAK = "q1:plum\nq2:fig\nq3:apple\nq4:apple\n"
INVALID = "no list\n"
"""Submissions, from the best on the preliminary query and on all queries to one that is rejected."""

KEY = "0c" * 32
"""The key of a split."""

PHASES = """
[[tracks.main.phases]]
name = "one"
start = 2027-01-10T00:00:00Z
end = 2027-01-20T00:00:00Z
grace = "1h"
freeze = "24h"

[[tracks.main.phases]]
name = "two"
start = 2027-01-25T00:00:00Z
end = 2027-01-30T00:00:00Z
"""


def january(day: int, hour: int = 12, minute: int = 0, second: int = 0) -> datetime:
    """A time in January 2027, in UTC."""
    return datetime(2027, 1, day, hour, minute, second, tzinfo=UTC)


@dataclass(frozen=True)
class LiveChallenge:
    """A challenge in a folder, with one track `main`."""

    folder: Path

    @classmethod
    def create(cls, folder: Path, settings: str = "", phases: str = PHASES, *, flags: bool = True) -> LiveChallenge:
        """Write the files of a new challenge, and announce its phases on 5 January.

        Parameters
        ----------
        folder
            Where to write it.
        settings
            Further settings of its track.
        phases
            The tables of its phases.
        flags
            Whether the solution flags preliminary queries.
        """
        for name, text in FILES.items():
            path = folder / name
            if not name.startswith("submissions/"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        toml = folder / "challenge.toml"
        before = toml.read_text(encoding="utf-8").partition('stage = "preliminary"')[0]
        toml.write_text(f"{before}{settings}\n{phases}", encoding="utf-8")
        if not flags:
            solution = folder / "solutions" / "main.txt"
            solution.write_text(solution.read_text(encoding="utf-8").replace(":1:", ":0:"), encoding="utf-8")
        if KEY_FILE in settings:
            (folder / KEY_FILE).write_text(f"{KEY}\n", encoding="ascii")
            (folder / KEY_FILE).chmod(0o600)
        (folder / "submissions" / "main").mkdir(parents=True)
        live = cls(folder)
        live.run(january(5))
        return live

    @property
    def challenge(self) -> Challenge:
        """Its settings."""
        return read_challenge(self.folder)

    def send(self, name: str, content: str, received: datetime) -> None:
        """Put a file of a team into the folder, as in ``team/run.txt``."""
        path = self.folder / "submissions" / "main" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        os.utime(path, (received.timestamp(),) * 2)

    def store(self, now: datetime) -> Store:
        """The database, with the time of its clock."""
        return Store.open(self.challenge.database_address, clock=lambda: now)

    def run(self, now: datetime) -> None:
        """Import what arrived, and score it."""
        challenge = self.challenge
        with self.store(now) as store:
            work = plan(store, challenge, challenge.tracks[0])
            assert all(outcome for _, outcome in carry_out(store, work, executor_named("serial")))

    def board(self, now: datetime) -> Board:
        """The public board."""
        with self.store(now) as store:
            return store.read(lambda view: boards(view, self.challenge.tracks)[0])

    def site(self, now: datetime) -> dict[str, str]:
        """Render the site, and return its text files by path."""
        with self.store(now) as store:
            render(self.challenge, store)
        root = self.challenge.site_path
        files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith("."))
        return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}

    def run_and_render(self, now: datetime) -> dict[str, str]:
        """As `scorer run` does: import, score, render."""
        self.run(now)
        return self.site(now)
