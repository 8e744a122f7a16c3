"""Sieges: a challenge with honest teams is attacked by other teams, and nothing happens to anybody but them."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Literal

import pytest

from scorer.files import digest
from scorer.scoring.executors import isolation
from scorer.store.store import Store
from tests.commands import Answer, here
from tests.databases import site_content, without_log

UNSEEN = ("unseen-3f9c1a", "unseen-b2407e", "unseen-77d0c5")
"""Items that only the solution has."""

OUTSIDE = "outside-9b1e77"
"""What a file next to the challenge has."""

SOLUTION = f"""\
q1:1:apple|3,pear|2,{UNSEEN[0]}|1
q2:0:fig|2,grape|2,{UNSEEN[1]}|1
q3:0:lemon|1,{UNSEEN[2]}|1
q4:0:
"""

LISTS = "q1:plum,cherry\nq2:plum\nq3:cherry\n"
"""A valid submission that finds nothing, so that its team takes no rank from the others."""

HONEST = {
    "alpha/20260131T100000Z-first.txt": "q1:apple,pear\nq2:fig,grape\nq3:lemon\nq4:plum\n",
    "alpha/20260201T100000Z-second.txt": "q1:apple\nq2:fig\nq3:plum,lemon\n",
    "20260131T120000Z-bravo.txt": "q1:pear,apple\nq2:grape,plum\nq3:plum\nq4:plum\n",
    "20260131T130000Z-charlie.txt": "q1:plum,apple\nq2:plum,plum\nunknown:lemon\n",
}
"""The files of the honest teams."""

TOML = """\
name = "A siege"

[tracks.main]
title = "Main track"
solution = "solutions/main.txt"
list_length = 5
cutoffs = [1, 5]
primary = "nDCG@5"
measures = ["AP", "RR"]
"""

BOUND = 60_000
"""The bytes that a hostile file may add to the site, to the database and to the messages: 20 findings of 300
characters, each in up to 8 bytes."""

Outcome = Literal["scored", "rejected", "failed", "refused"]
"""Refused: it is not read, and not recorded."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A file of a hostile team."""

    content: bytes | Callable[[], bytes] | None
    """None: `make` makes it."""
    outcome: Outcome
    message: str = ""
    """Part of a message about it."""
    make: Callable[[Path], object] | None = None
    """Makes what is at the path."""
    file: bytes = b""
    """The path in the folder of the track; empty: the name of the case, with .txt."""
    shown: str = ""
    """The path in messages; empty: as it is."""


def own(row: dict[str, object]) -> dict[str, object]:
    """What a row says of its team only: ranges of ranks, tiers and changes depend on the other teams."""
    return {
        name: value
        for name, value in row.items()
        if name not in ("rank from", "rank to", "tier", "separable_from_leader", "changes")
    }


@cache
def scored(limits: str, stage: str, settings: str) -> Path:
    """The folder of a challenge after a run, which this process makes once and keeps until it ends."""
    parent = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, parent)
    folder = parent / "challenge"
    (folder / "submissions" / "main" / "alpha").mkdir(parents=True)
    (folder / "solutions").mkdir()
    (folder / "solutions" / "main.txt").write_text(SOLUTION, encoding="utf-8")
    declared = f'{TOML}stage = "{stage}"\n{settings}\n[limits]\n{limits}'
    (folder / "challenge.toml").write_text(declared, encoding="utf-8")
    for name, content in HONEST.items():
        (folder / "submissions" / "main" / name).write_text(content, encoding="utf-8")
    answer = here("run", folder)
    assert answer.code == 0, answer.err
    return folder


class Siege:
    """A challenge, and what its site was before the attack."""

    def __init__(self, folder: Path, limits: str = "", stage: str = "final", settings: str = "") -> None:
        """Copy a challenge whose honest teams are scored."""
        shutil.copytree(scored(limits, stage, settings), folder)
        self.folder = folder
        self.main = folder / "submissions" / "main"
        self.solution = folder / "solutions" / "main.txt"
        self.outside = folder.parent / "outside.txt"
        self.temporary = folder.parent / "temporary"
        self.temporary.mkdir()
        self.outside.write_text(f"q1:{OUTSIDE}\n{OUTSIDE}\n", encoding="utf-8")
        self.memory = 0
        """The most memory of the process of the run, in bytes; 0 if it was not measured."""
        self.answer = Answer(0, "", "")
        """Of the run under attack."""
        self.undisturbed = without_log(site_content(folder / "site"))
        self.rows = self.board()
        self.size = self.sizes()
        self._backup = folder.parent / "honest"
        shutil.copytree(self.main, self._backup)

    def run(self, command: str, *options: str | Path) -> Answer:
        """A command on this challenge, with its own folder for temporary files."""
        isolation._make_server_folder()  # it stays as long as this process
        with self._temporary():
            return here(command, self.folder, *options)

    def check(self, file: Path) -> Answer:
        with self._temporary():
            return here("check", file, "--track", "main", "--challenge", self.folder)

    def amend(self, entry: str, received: str) -> Answer:
        return here("amend", entry, "--received", received, "--reason", "a test", "--challenge", self.folder)

    @contextmanager
    def _temporary(self) -> Iterator[None]:
        get_temp_dir()  # multiprocessing keeps its own, until the tests end
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(self.temporary))
            yield

    def board(self) -> dict[str, dict[str, object]]:
        """The rows of the board, by team."""
        exported = json.loads((self.folder / "site/main/leaderboard.json").read_text(encoding="utf-8"))
        return {row["team"]: row for row in exported["rows"]}

    def sizes(self) -> dict[str, int]:
        """The bytes of the site and of the database."""
        files = [path for path in (self.folder / "site").rglob("*") if path.is_file()]
        return {"site": sum(map(size_of, files)), "database": sum(map(size_of, self.folder.glob("scores.db*")))}

    def place(self, attacks: Mapping[str, Attack]) -> None:
        """Put the files into the folder of the track."""
        for name, attack in attacks.items():
            path = self.main / os.fsdecode(attack.file or f"{name}.txt".encode())
            path.parent.mkdir(parents=True, exist_ok=True)
            if attack.make is not None:
                attack.make(path)
            else:
                path.write_bytes(attack.content() if callable(attack.content) else attack.content or b"")

    def lines(self, shown: str) -> list[str]:
        """The messages of the run about a file."""
        return [line for line in self.answer.err.splitlines() if line.startswith(f"main/{shown}:")]

    def outcome(self, shown: str, team: str) -> Outcome:
        """What became of the file, by the messages and the board."""
        lines = self.lines(shown)
        row = self.board().get(team)
        if row is None:
            assert len(lines) == 1, lines
            assert lines[0].endswith("; skipped")
            return "refused"
        if row["nDCG@5"] is not None:
            return "scored"
        assert lines
        if ": not scored: " in lines[0]:
            assert len(lines) == 1, lines
            return "failed"
        assert len(lines) <= 21
        return "rejected"

    def check_outcome(self, name: str, attack: Attack) -> None:
        """The file has the outcome that is expected, and a message says why."""
        shown = attack.shown or os.fsdecode(attack.file) or f"{name}.txt"
        team = shown.rpartition("/")[0] or shown.removesuffix(".txt")
        assert self.outcome(shown, team) == attack.outcome, self.lines(shown)
        assert any(attack.message in line for line in self.lines(shown)) or not attack.message, self.lines(shown)

    def check_others(self, hostile: int) -> None:
        """Nobody else is harmed, by so many hostile files; messages and files are bounded, and nothing is left."""
        assert_printable(self.answer)
        rows = self.board()
        assert {team: own(rows[team]) for team in self.rows} == {team: own(row) for team, row in self.rows.items()}
        most = (hostile + 1) * BOUND
        assert len(self.answer.err) < most
        for what, size in self.sizes().items():
            assert size < self.size[what] + most, what
        assert [str(path) for path in self.temporary.rglob("*")] == []
        self.check_secrets()

    def check_secrets(self) -> None:
        """No public byte is what only the organiser knows."""
        with Store.open(self.folder / "scores.db", create=False) as store:
            salt = store.read(lambda view: view.secret("solutions").hex())
        secrets = [*UNSEEN, OUTSIDE, digest(self.solution)[:12], salt[:12], str(self.folder)]
        for path in (self.folder / "site").rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            for secret in secrets:
                assert secret.encode() not in content, path

    def restore(self) -> None:
        """Remove what the hostile teams did, run again, and find the site as it was."""
        shutil.rmtree(self.main, ignore_errors=True)
        shutil.copytree(self._backup, self.main)
        answer = self.run("run", "--confirm-withdrawals")
        assert (answer.code, len(answer.err.splitlines())) == (0, 1), answer.err
        assert without_log(site_content(self.folder / "site")) == self.undisturbed


def make_sparse(path: Path) -> None:
    """Make a file of 1 TB that takes no space."""
    path.touch()
    os.truncate(path, 1 << 40)


def assert_printable(answer: Answer) -> None:
    """The output is text for a terminal, and no traceback."""
    assert "Traceback" not in answer.err
    assert all(char.isprintable() or char == "\n" for char in answer.out + answer.err)


def size_of(path: Path) -> int:
    """The bytes of a file."""
    return path.stat().st_size
