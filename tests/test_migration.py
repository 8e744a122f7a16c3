"""Migrations: a database of every released schema opens, and gives the same boards."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from scorer.challenge.loading import read_challenge
from scorer.organising.render import boards
from scorer.reports.leaderboard import to_json
from scorer.store.integrity import derived_problems, record_problems
from scorer.store.schema import SCHEMA_VERSION
from scorer.store.store import Store
from tests.commands import Terminal, process
from tests.databases import changed, content, rows, schema
from tests.schema_2.make import write_odd_names

SCHEMA_1 = Path(__file__).parent / "schema_1"
SCHEMA_2 = Path(__file__).parent / "schema_2"
SCHEMA_3 = Path(__file__).parent / "schema_3"
SCHEMA_4 = Path(__file__).parent / "schema_4"
BACKUP = "schema-1.db.schema-1.backup"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the challenge with a database of schema 1."""
    copied = tmp_path / "challenge"
    shutil.copytree(SCHEMA_1, copied)
    return copied


def expected(track: str) -> dict[str, object]:
    """The board of a track as the release that wrote schema 1 rendered it."""
    board: dict[str, object] = json.loads((SCHEMA_1 / f"expected-{track}.json").read_text())
    return board


LATER = ("low", "high", "rank from", "rank to", "tier")
"""Columns that the releases which wrote the expected boards did not have."""


def rendered(folder: Path, track: str) -> dict[str, object]:
    """The board of a track as it is in the site."""
    board = json.loads((folder / "site" / track / "leaderboard.json").read_text())
    columns = [name for name in board["columns"] if name not in LATER]
    return {"columns": columns, "rows": [{name: row[name] for name in columns} for row in board["rows"]]}


def test_a_database_of_schema_1_renders_the_same_boards(folder: Path, terminal: Terminal) -> None:
    """The columns, the scores, the ranks, the order and the numbers of entries are those of the release before."""
    answer = terminal.run("render", folder)

    assert (answer.code, answer.err) == (0, "")
    for track in ("main", "tied"):
        assert rendered(folder, track) == expected(track)
    assert rows(str(folder / "schema-1.db"), "SELECT version FROM scorer_schema") == [(SCHEMA_VERSION,)]


def test_migrated_results_are_not_scored_again(folder: Path, terminal: Terminal) -> None:
    """A run finds them by the digest that schema 1 has for the settings, and the boards stay the same."""
    before = (folder / "schema-1.db").read_bytes()

    answer = terminal.run("run", folder)

    assert "main: 0 scored, 7 known" in answer.err
    assert "tied: 0 scored, 3 known" in answer.err
    for track in ("main", "tied"):
        assert rendered(folder, track) == expected(track)
    assert before != (folder / "schema-1.db").read_bytes()


def test_the_migrated_means_are_those_that_the_judged_items_give(folder: Path) -> None:
    """All means that the migration takes over are computed again, and are equal to the last bit."""
    with Store.open(folder / "schema-1.db"):
        pass
    challenge = read_challenge(folder)
    with Store.open(folder / "schema-1.db") as store:
        taken_over = [to_json(board) for board in store.read(lambda view: boards(view, challenge.tracks))]
        means = rows(str(folder / "schema-1.db"), "SELECT count(*) FROM mean")
    with closing(sqlite3.connect(folder / "schema-1.db")) as connection, connection:
        connection.execute("DELETE FROM mean")
    with Store.open(folder / "schema-1.db") as store:
        computed = [to_json(board) for board in store.read(lambda view: boards(view, challenge.tracks))]

    assert means != [(0,)]
    assert computed == taken_over


def test_the_file_is_backed_up_before_it_is_migrated(folder: Path) -> None:
    """The backup is a database of schema 1 with all its rows, and a second opening leaves it as it is."""
    before = content(str(folder / "schema-1.db"))
    with Store.open(folder / "schema-1.db"):
        pass
    backup = (folder / BACKUP).read_bytes()
    with Store.open(folder / "schema-1.db"):
        pass

    assert content(str(folder / BACKUP)) == before
    assert rows(str(folder / BACKUP), "SELECT version FROM scorer_schema") == [(1,)]
    assert (folder / BACKUP).read_bytes() == backup


def test_withdrawn_submissions_and_bases_become_events(folder: Path) -> None:
    """Nothing of the record is lost; the events of schema 1 have no time of recording."""
    with Store.open(folder / "schema-1.db") as store:
        events = store.read(lambda view: view.events())
        states = store.read(lambda view: view.submissions("main"))

    assert [event.index for event in events] == list(range(1, len(events) + 1))
    assert [event.kind for event in events].count("arrival") == 11
    assert [(event.kind, event.body["file"]) for event in events if event.kind == "withdrawal"] == [
        ("withdrawal", "main/gone-soon/20110424T080000Z.txt")
    ]
    assert {event.track for event in events if event.kind == "basis"} == {"main", "tied"}
    assert {event.at for event in events} == {None}
    assert [state.submission.file for state in states if not state.present] == ["main/gone-soon/20110424T080000Z.txt"]


def test_a_changed_file_is_scored_again_after_the_migration(folder: Path, terminal: Terminal) -> None:
    """It has no result yet; the others keep theirs."""
    (folder / "submissions/main/20110425T000000Z-torn-page.txt").write_text("q1:i2\n")

    answer = terminal.run("run", folder)

    assert "main: 1 scored, 6 known, 0 rejected" in answer.err


def test_many_processes_may_migrate_at_once(folder: Path) -> None:
    """One of them does, the others wait, and all of them answer."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: process("leaderboard", folder, "--format", "csv"), range(3)))

    assert {(answer.code, answer.err) for answer in answers} == {(0, "")}
    assert len({answer.out for answer in answers}) == 1
    assert [file.name for file in folder.glob("*.part")] == []


def test_a_migration_that_cannot_write_its_backup_changes_nothing(small_disk: Path, terminal: Terminal) -> None:
    """The message says so, and the database stays as it is; with room on the disk the migration is made."""
    folder = small_disk / "challenge"
    shutil.copytree(SCHEMA_1, folder)
    before = content(str(folder / "schema-1.db"))
    filler = small_disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - (48 << 10)))

    answer = terminal.run("leaderboard", folder)

    assert answer.code == 1
    assert "cannot write the backup" in answer.err
    assert content(str(folder / "schema-1.db")) == before
    assert list(folder.glob("*.part")) == []
    filler.unlink()
    assert terminal.run("leaderboard", folder).code == 0


@pytest.mark.parametrize(("source", "name"), [(SCHEMA_1, "schema-1.db"), (SCHEMA_2, "schema-2.db")])
def test_an_earlier_schema_on_a_server_is_migrated_too(source: Path, name: str, tmp_path: Path) -> None:
    """The same rows in PostgreSQL give the same record and the same boards."""
    folder = tmp_path / "challenge"
    shutil.copytree(source, folder)
    with schema() as place:
        copy_to_server(folder / name, place, SERVER_TABLES[name])
        with Store.open(place) as on_server, Store.open(folder / name) as in_file:
            challenge = read_challenge(folder)
            seen = [
                [to_json(board) for board in store.read(lambda view: boards(view, challenge.tracks))]
                for store in (on_server, in_file)
            ]
        record = 'SELECT "index", track, kind, at, body, checksum FROM event ORDER BY "index"'
        assert rows(place, record) == rows(str(folder / name), record)

    assert seen[0] == seen[1]


@pytest.mark.parametrize("source", [SCHEMA_1, SCHEMA_2, SCHEMA_3, SCHEMA_4])
def test_a_migrated_database_has_the_tables_of_a_new_one(source: Path, tmp_path: Path) -> None:
    """Each step is frozen, so this fails if the last step and the current tables differ."""
    migrated, new = tmp_path / "migrated.db", tmp_path / "new.db"
    shutil.copy(next(source.glob("*.db")), migrated)
    for database in (migrated, new):
        Store.open(database).close()

    declared = "SELECT name, replace(sql, '\"', '') FROM sqlite_master ORDER BY name"
    assert rows(str(migrated), declared) == rows(str(new), declared)


@pytest.fixture
def folder_2(tmp_path: Path) -> Path:
    """A copy of the challenge with a database of schema 2, and with the files whose names are no plain text."""
    copied = tmp_path / "challenge-2"
    shutil.copytree(SCHEMA_2, copied)
    write_odd_names(copied / "submissions" / "main")
    return copied


def test_a_database_of_schema_2_renders_the_same_boards(folder_2: Path, terminal: Terminal) -> None:
    """And a run scores nothing again, records no event for escaped names, and shows the same board."""
    before = rows(str(folder_2 / "schema-2.db"), 'SELECT "index", track, kind, body FROM event ORDER BY "index"')
    expected_board = json.loads((SCHEMA_2 / "expected-main.json").read_text())
    for command in ("render", "run"):
        answer = terminal.run(command, folder_2)
        assert answer.code == 0
        assert rendered(folder_2, "main") == expected_board
    after = rows(str(folder_2 / "schema-2.db"), 'SELECT "index", track, kind, body FROM event ORDER BY "index"')

    assert "main: 0 scored, 7 known, 1 rejected" in answer.err
    assert after[: len(before)] == before
    assert {kind for _, _, kind, _ in after[len(before) :]} <= {"basis"}
    assert "0 new files in the folder" in terminal.run("status", folder_2).out
    assert "ok       main: the recorded files are present and unchanged" in terminal.run("doctor", folder_2).out
    assert rows(str(folder_2 / "schema-2.db"), "SELECT version FROM scorer_schema") == [(SCHEMA_VERSION,)]


@pytest.mark.parametrize("source", [SCHEMA_3, SCHEMA_4])
def test_a_later_database_renders_the_same_boards(folder_2: Path, terminal: Terminal, source: Path) -> None:
    """It has the submissions of schema 2, but for one; a run scores nothing again, and events stay as they are."""
    (stored,) = source.glob("*.db")
    database = folder_2 / stored.name
    shutil.copy(stored, database)
    settings = folder_2 / "challenge.toml"
    settings.write_text(settings.read_text().replace("schema-2.db", stored.name))
    before = rows(str(database), 'SELECT "index", track, kind, body, checksum FROM event ORDER BY "index"')
    for command in ("render", "run"):
        answer = terminal.run(command, folder_2)
        assert answer.code == 0
        assert rendered(folder_2, "main") == json.loads((SCHEMA_2 / "expected-main.json").read_text())
    after = rows(str(database), 'SELECT "index", track, kind, body, checksum FROM event ORDER BY "index"')

    assert "main: 0 scored, 7 known, 1 rejected" in answer.err
    assert after[: len(before)] == before
    assert rows(str(database), "SELECT version FROM scorer_schema") == [(SCHEMA_VERSION,)]
    assert (folder_2 / f"{stored.name}.{stored.stem}.backup").is_file()


@pytest.mark.parametrize(("source", "count"), [(SCHEMA_1, 10), (SCHEMA_2, 15), (SCHEMA_3, 7), (SCHEMA_4, 7)])
def test_migrated_rows_have_checksums(source: Path, count: int, tmp_path: Path) -> None:
    """Each is verified, and damage to it is found."""
    database = tmp_path / "copy.db"
    shutil.copy(next(source.glob("*.db")), database)
    with Store.open(database) as store:
        assert list(record_problems(store)) == []
        assert list(derived_problems(store)) == []
    assert rows(str(database), "SELECT count(*) FROM result") == [(count,)]
    changed(str(database), "UPDATE result SET findings = findings || ' '")
    with Store.open(database) as store:
        assert len(list(derived_problems(store))) == count


SERVER_TABLES = {
    "schema-1.db": """
CREATE TABLE scorer_schema (version INTEGER PRIMARY KEY);
CREATE TABLE solution (digest VARCHAR(64) PRIMARY KEY, queries BYTEA, flagged BYTEA, ideal BYTEA);
CREATE TABLE track (name VARCHAR PRIMARY KEY, solution_digest VARCHAR(64), settings_digest VARCHAR(64));
CREATE TABLE submission (track VARCHAR, file VARCHAR, digest VARCHAR(64), team VARCHAR, received TIMESTAMP,
    present BOOLEAN, PRIMARY KEY (track, file, digest));
CREATE TABLE result (digest VARCHAR(64) PRIMARY KEY, submission_digest VARCHAR(64), solution_digest VARCHAR(64)
    REFERENCES solution, settings_digest VARCHAR(64), status VARCHAR(8), counts JSON, findings JSON, hits BYTEA);
CREATE TABLE mean (result_digest VARCHAR(64) REFERENCES result, split VARCHAR(16), measure VARCHAR,
    value DOUBLE PRECISION, undefined INTEGER, PRIMARY KEY (result_digest, split, measure));
""",
    "schema-2.db": """
CREATE TABLE scorer_schema (version INTEGER PRIMARY KEY, scorer VARCHAR(32), identity VARCHAR(32), revision BIGINT);
CREATE TABLE event ("index" BIGINT PRIMARY KEY, track VARCHAR, kind VARCHAR(16), at TIMESTAMP, body VARCHAR);
CREATE TABLE solution (digest VARCHAR(64) PRIMARY KEY, queries BYTEA, flagged BYTEA, ideal BYTEA);
CREATE TABLE result (digest VARCHAR(64) PRIMARY KEY, submission_digest VARCHAR(64), solution_digest VARCHAR(64)
    REFERENCES solution, matching_digest VARCHAR(64), status VARCHAR(8), counts JSON, findings JSON, hits BYTEA,
    UNIQUE (submission_digest, solution_digest, matching_digest));
CREATE TABLE mean (result_digest VARCHAR(64) REFERENCES result, measure VARCHAR, mask VARCHAR(32), generation INTEGER,
    value DOUBLE PRECISION, undefined INTEGER, PRIMARY KEY (result_digest, measure, mask, generation));
CREATE TABLE last_run (track VARCHAR PRIMARY KEY, at TIMESTAMP);
""",
}
"""By the name of the file; in the order in which rows can be inserted."""


def copy_to_server(file: Path, place: str, declared: str) -> None:
    """Copy all tables of a file to a server."""
    engine = create_engine(place)
    with closing(sqlite3.connect(file)) as source, engine.begin() as target:
        for statement in declared.split(";"):
            if statement.strip():
                target.execute(text(statement))
        for table in re.findall(r"CREATE TABLE (\w+)", declared):
            cursor = source.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            columns, marks = (
                ", ".join(f"{mark}{name}{end}" for name in names) for mark, end in (('"', '"'), (":", ""))
            )
            for row in cursor:
                values = dict(zip(names, row, strict=True))
                if table == "submission":
                    values["present"] = bool(values["present"])
                target.execute(text(f"INSERT INTO {table} ({columns}) VALUES ({marks})"), values)
    engine.dispose()
