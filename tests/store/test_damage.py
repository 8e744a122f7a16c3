"""Damaged database files: each command gives the unchanged board, or one message and exit code 1; or a run gives it,
which scores again what has no result any more.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from scorer.record.log import EventKind
from scorer.store.schema import layout, sealed, tables
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.commands import Answer, Terminal, here
from tests.databases import changed, content, rows
from tests.paths import tree
from tests.strategies import rest

COMMANDS = ("leaderboard", "render", "status", "run")
ITEMS = ("apple", "pear", "fig", "lemon", "plum", "grape", "kiwi", "lime")


@dataclass(frozen=True)
class Sound:
    """A challenge with a sound database, and what its commands give."""

    folder: Path
    content: bytes
    site: dict[str, bytes]
    board: str
    status: list[str]

    @property
    def database(self) -> Path:
        return self.folder / "scores.db"

    def put(self, content: bytes) -> None:
        """Replace the database, and what belongs to it."""
        for path in self.folder.glob("scores.db-*"):
            path.unlink()
        self.database.write_bytes(content)


def pages_of(folder: Path) -> dict[str, bytes]:
    """The content of each page of the site; the manifest also has the revision of the database."""
    return tree(folder / "site", "[!.]*")


def without_past(pages: dict[str, bytes]) -> dict[str, bytes]:
    """The pages without earlier ranks, for which the results of files that are gone are needed."""
    past = re.compile(rb"Since (the end of|its last scored entry,) [^.]*\.")
    return {name: past.sub(b"", page) for name, page in pages.items()}


def stable(status: str) -> list[str]:
    """The lines of a status without the times of the last render and of the last run."""
    return [line.partition("; stage")[2] if ": last run " in line else line for line in status.splitlines()[3:]]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    """A challenge with ten teams; one entry is rejected, one is withdrawn, and the measures changed once."""
    chance = random.Random(7)
    challenge = tmp_path_factory.mktemp("sound") / "challenge"
    assert here("init", challenge).code == 0
    settings = challenge / "challenge.toml"
    text = settings.read_text(encoding="utf-8")
    assert 'stage = "preliminary"' in text
    settings.write_text(text.replace('stage = "preliminary"', 'stage = "final"'), encoding="utf-8")
    folder = challenge / "submissions" / "main"
    for number in range(8):
        lists = "".join(f"q{query}:{','.join(chance.sample(ITEMS, 5))}\n" for query in range(1, 5))
        (folder / f"2011041{number}T100000Z-team-{number}.txt").write_text(lists, encoding="utf-8")
    (folder / "20110420T100000Z-torn.txt").write_text("q1;apple\n", encoding="utf-8")
    assert here("run", challenge).code == 1
    (folder / "20110417T100000Z-team-7.txt").unlink()
    text = settings.read_text(encoding="utf-8")
    assert "\nmeasures = [" in text
    settings.write_text(text.replace("\nmeasures = [", '\nmeasures = ["RR", "P@2", '), encoding="utf-8")
    assert here("run", challenge).code == 0
    board = here("leaderboard", challenge, "--format", "json").out
    status = stable(here("status", challenge).out)
    return Sound(challenge, (challenge / "scores.db").read_bytes(), pages_of(challenge), board, status)


@pytest.fixture
def sound(original: Sound, tmp_path: Path) -> Sound:
    """A copy that the test may damage."""
    return replace(original, folder=Path(shutil.copytree(original.folder, tmp_path / "challenge")))


def bits(database: Path, content: bytes, count: int) -> Iterator[tuple[int, int]]:
    """Places in the file as byte and bit: in its header, on the first page of each table and index, and anywhere."""
    with closing(sqlite3.connect(database)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        first = [page for (page,) in connection.execute("SELECT rootpage FROM sqlite_master WHERE rootpage > 0")]
    chance = random.Random(2011)
    starts = [0, *((page - 1) * size for page in first)]
    for number in range(count):
        if number % 2:
            yield chance.randrange(len(content)), chance.randrange(8)
            continue
        start = starts[number // 2 % len(starts)]
        used = [at for at in range(start, min(start + size, len(content))) if content[at] or at < start + 64]
        yield chance.choice(used), chance.randrange(8)


def seen(sound: Sound, command: str, terminal: Terminal) -> str:
    """What a command does with the database: "unchanged", "message", or what it must never do."""
    try:
        answer = terminal.run(command, sound.folder, *(["--format", "json"] if command == "leaderboard" else []))
    except Exception as error:
        return f"traceback: {type(error).__name__}: {error}"
    if pages_of(sound.folder) != sound.site:
        return "another board"
    return "unchanged" if is_unchanged(sound, command, answer) else refused(answer)


def derived_again(sound: Sound, command: str, terminal: Terminal) -> str:
    """What a command does after a run, which scores again what has no result."""
    answer = terminal.run("run", sound.folder)
    return seen(sound, command, terminal) if answer.code == 0 else refused(answer)


def is_unchanged(sound: Sound, command: str, answer: Answer) -> bool:
    """Whether the command succeeded with what it gives for the sound database."""
    if command == "leaderboard":
        return answer.code == 0 and answer.out == sound.board
    if command == "status":
        return answer.code == 0 and stable(answer.out) == sound.status
    return answer.code == 0


def refused(answer: Answer) -> str:
    """Whether the command refused the database with one message."""
    clear = answer.code == 1 and answer.err.count("scores.db: ") == 1
    return "message" if clear else f"another answer: {answer}"


def restore_site(sound: Sound) -> None:
    """Make the site what it was."""
    if pages_of(sound.folder) != sound.site:
        shutil.rmtree(sound.folder / "site")
        for name, content in sound.site.items():
            path = sound.folder / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def outcomes(sound: Sound, terminal: Terminal, count: int) -> tuple[Counter[str], list[str]]:
    """How often each command did what with copies of the database that have one flipped bit, and all mistakes."""
    found: Counter[str] = Counter()
    mistakes = []
    for byte, bit in bits(sound.database, sound.content, count):
        damaged = bytearray(sound.content)
        damaged[byte] ^= 1 << bit
        for command in COMMANDS:
            sound.put(bytes(damaged))
            outcome = seen(sound, command, terminal)
            restore_site(sound)
            if command != "run" and outcome not in ("unchanged", "message"):  # a result is not found
                outcome = derived_again(sound, command, terminal)
                restore_site(sound)
            found[f"{command}: {outcome.partition(':')[0]}"] += 1
            if outcome not in ("unchanged", "message"):
                mistakes.append(f"byte {byte}, bit {bit}, {command}: {outcome}")
    return found, mistakes


@pytest.mark.parametrize("count", [10, *rest([60])])
def test_a_flipped_bit_never_changes_a_board(count: int, sound: Sound, terminal: Terminal) -> None:
    """In the header, the schema, a page, an index, or a value; where a result is not found, not after the next run."""
    found, mistakes = outcomes(sound, terminal, count)

    assert mistakes == []
    assert all(found[f"{command}: message"] > count // 30 for command in COMMANDS), found


def test_a_board_needs_no_index_of_results(sound: Sound, terminal: Terminal) -> None:
    """Derived rows that an index lacks are read all the same."""
    changed(str(sound.database), "DROP INDEX result_key")

    assert [seen(sound, command, terminal) for command in COMMANDS] == ["unchanged"] * len(COMMANDS)


VALUES = [
    ("event", "body", "replace(body, 'team-1', 'team-2')", "event 2 has the wrong checksum"),
    ("event", "at", "'2001-01-01T00:00:00.000000+00:00'", "event 1 has the wrong checksum"),
    ("event", '"index"', '-"index"', "event -"),
    ("solution", "flagged", "x'ff'", "the solution"),
    ("result", "counts", "replace(counts, '4', '3')", "the result"),
    ("result", "findings", "replace(findings, '1', '2')", "the result"),
    ("mean", "value", "value / 2", "a mean of the result"),
    ("mean", "undefined", "undefined + 1", "a mean of the result"),
    ("scorer_schema", "salt", "identity", "the row of the schema"),
    ("scorer_schema", "version", "2", "the row of the schema"),
]
"""A table, a column, its new value, and the beginning of the message."""


@pytest.mark.parametrize(("table", "column", "value", "message"), VALUES)
def test_a_changed_value_is_reported(
    table: str, column: str, value: str, message: str, sound: Sound, terminal: Terminal
) -> None:
    """Every command that shows a board names the kind of row, and what to do."""
    changed(str(sound.database), f"UPDATE {table} SET {column} = {value}")

    for command in ("leaderboard", "render", "run"):
        answer = terminal.run(command, sound.folder)
        assert answer.code == 1
        assert f"scores.db: is damaged: {message}" in answer.err
        assert "`scorer doctor` lists all damage" in answer.err
    assert pages_of(sound.folder) == sound.site


UNREADABLE: dict[str, tuple[str, str, str, str | bytes | tuple[str, str]]] = {
    "an event that is no JSON": ("event", "", "body", "{"),
    "an event that is a list": ("event", "", "body", "[]"),
    "an event without its values": ("event", "WHERE kind = 'arrival'", "body", "{}"),
    "a time of receipt that is none": ("event", "WHERE kind = 'arrival'", "body", ('"received":"2', '"received":"x')),
    "a basis with a number for a digest": (
        "event",
        "WHERE kind = 'basis'",
        "body",
        ('"solution":"', '"solution":1,"":"'),
    ),
    "the time of an event that is none": ("event", "", "at", "yesterday"),
    "the time of an event without a zone": ("event", "", "at", "2011-04-18T10:00:00.000000"),
    "a salt that is not hexadecimal": ("scorer_schema", "", "salt", "salt"),
    "queries that are not compressed": ("solution", "", "queries", b"q1"),
    "flags of fewer queries": ("solution", "", "flagged", b""),
    "flags that are text": ("solution", "", "flagged", "1"),
    "findings that are no JSON": ("result", "", "findings", "{"),
    "findings without their count": ("result", "", "findings", '{"shown":[]}'),
    "counts without their values": ("result", "WHERE status = 'scored'", "counts", "{}"),
    "a status that is none": ("result", "", "status", "scored "),
    "a mean that is no number": ("mean", "", "value", "high"),
    "a number of queries that is none": ("mean", "", "undefined", "few"),
}
"""Values that cannot be read although the checksums of their rows are right: a table, a condition, a column, its value,
or what replaces a part of it."""


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_value_with_the_right_checksum_that_cannot_be_read_is_reported(
    case: str, sound: Sound, terminal: Terminal
) -> None:
    """Commands that need it say that the database is damaged, and what to do."""
    sealed_again(sound, *UNREADABLE[case])

    for command in ("leaderboard", "render"):
        answer = terminal.run(command, sound.folder)
        assert answer.code == 1
        assert "scores.db: is damaged" in answer.err
        assert "scorer doctor" in answer.err
    assert pages_of(sound.folder) == sound.site


def sealed_again(sound: Sound, table: str, condition: str, name: str, value: str | bytes | tuple[str, str]) -> None:
    """Change a column of some rows, and give them the checksums of their new values."""
    chosen = next(each for each in tables.sorted_tables if each.name == table)
    names = [column.name for column in layout(chosen).columns]
    listed = ", ".join(f'"{each}"' for each in names)
    with closing(sqlite3.connect(sound.database)) as connection, connection:
        for values in connection.execute(f"SELECT {listed} FROM {table} {condition}").fetchall():
            row = dict(zip(names, values, strict=True))
            row[name] = row[name].replace(*value) if isinstance(value, tuple) else value
            assert row[name] != values[names.index(name)]
            new = sealed(chosen, row)
            connection.execute(
                f'UPDATE {table} SET "{name}" = ?, checksum = ? WHERE checksum = ?',
                (new[name], new["checksum"], values[-1]),
            )


@pytest.mark.parametrize("error", [KeyError("team"), ValueError("no such rank"), IndexError("rank"), TypeError("rank")])
def test_a_mistake_in_what_reads_a_database_is_not_damage(error: Exception, sound: Sound) -> None:
    """It surfaces as it is, whether the database is read or written to."""

    def work(view: Snapshot) -> list[tuple[str, EventKind, dict[str, Any]]]:
        assert view.events("main")
        raise error

    with Store.open(sound.database) as store:
        for mistaken in (lambda: store.read(work), lambda: store.record(work)):
            with pytest.raises(type(error)) as caught:
                mistaken()
            assert caught.value is error


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE mean SET value = value / 2",
        "UPDATE result SET hits = substr(hits, 2)",
        "UPDATE solution SET ideal = x''",
        *rest(
            [
                "UPDATE mean SET measure = CAST(x'ff' AS TEXT) WHERE measure = (SELECT min(measure) FROM mean)",
                "UPDATE result SET counts = NULL",
                "UPDATE result SET submission_digest = CAST(x'ff' || submission_digest AS TEXT) "
                "WHERE status = 'rejected'",
                "UPDATE result SET digest = 'x' WHERE status = 'rejected'",
                "UPDATE last_run SET at = 'x'",
            ]
        ),
    ],
)
def test_a_repair_deletes_what_can_be_derived_again(statement: str, sound: Sound, terminal: Terminal) -> None:
    """The next run gives the same board; the backup next to the file has the damage."""
    record = content_of(sound, "event")
    changed(str(sound.database), statement)
    assert terminal.run("doctor", sound.folder).code == 1

    answer = terminal.run("doctor", sound.folder, "--repair")

    assert (answer.code, answer.err) == (0, "")
    assert "repair   deleted " in answer.out
    (backup,) = sound.folder.glob("scores.db.before-repair-*.backup")
    assert str(backup) in answer.out
    assert content_of(sound, "event") == record
    assert terminal.run("run", sound.folder).code in (0, 1)  # a rejected file may have been rejected again
    assert without_past(pages_of(sound.folder)) == without_past(sound.site)
    board = terminal.run("leaderboard", sound.folder, "--format", "json").out
    assert without_past({"": board.encode()}) == without_past({"": sound.board.encode()})
    assert terminal.run("doctor", sound.folder).code == 0


def test_a_repair_never_touches_the_record(sound: Sound, terminal: Terminal) -> None:
    """A damaged event is listed, and stays."""
    changed(str(sound.database), "UPDATE event SET track = 'other' WHERE \"index\" = 3")
    record = content_of(sound, "event")

    answer = terminal.run("doctor", sound.folder, "--repair")

    assert answer.code == 1
    assert "event 3 has the wrong checksum; it cannot be derived again; restore a backup" in answer.err
    assert content_of(sound, "event") == record


def test_a_repair_of_a_sound_database_changes_nothing(sound: Sound, terminal: Terminal) -> None:
    """It says so."""
    before = content(str(sound.database))

    answer = terminal.run("doctor", sound.folder, "--repair")

    assert answer.code == 0
    assert "found no damaged row that can be derived again" in answer.out
    assert content(str(sound.database)) == before


def content_of(sound: Sound, table: str) -> list[tuple[object, ...]]:
    """All rows of a table."""
    return rows(str(sound.database), f"SELECT * FROM {table}")
