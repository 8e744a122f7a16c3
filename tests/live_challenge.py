"""A challenge with phases in a folder, run at chosen times: files arrive, `scorer run` imports and scores them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from scorer.challenge.splits import KEY_FILE
from scorer.challenge.starter import FILES
from tests.clocked import Clocked

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


class LiveChallenge(Clocked):
    """A challenge in a folder, with one track `main`."""

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

    def send(self, name: str, content: str, received: datetime) -> None:
        """Put a file of a team into the folder, as in ``team/run.txt``."""
        self.submit(f"main/{name}", content, received)

    def run(self, now: datetime) -> None:
        """Import what arrived, and score it."""
        assert all(outcome for _, done in self.score(now) for _, outcome in done)

    def site(self, now: datetime) -> dict[str, str]:
        """Render the site, and return its text files by path."""
        self.render(now)
        root = self.challenge.site_path
        files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.startswith("."))
        return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}

    def run_and_render(self, now: datetime) -> dict[str, str]:
        """As `scorer run` does: import, score, render."""
        self.run(now)
        return self.site(now)
