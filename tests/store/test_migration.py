"""Migrations: a database of every released schema opens, and gives the same boards."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from scorer.board.reports.leaderboard import to_json
from scorer.errors import StoreError
from scorer.live.entry import submissions
from scorer.measures import earlier
from scorer.organising.render import boards
from scorer.scoring.outcomes import Rules
from scorer.settings.loading import read_challenge
from scorer.store.schema import SCHEMA_VERSION, event_table, schema_table
from scorer.store.store import Store
from scorer.store.transfer import derived_problems, record_problems
from tests.bundles import members
from tests.commands import Terminal, process
from tests.databases import changed, content, rows, schema, seal
from tests.live_challenges import stop_clock
from tests.public_archives import END, LATER, without_statistics

MIGRATED = Path(__file__).parent / "migrated"
"""A challenge with a database of schema 5, which release 1.0.0 migrated from schema 1."""
SCHEMA_5 = Path(__file__).parent / "schema_5"
RELEASE_1_0 = Path(__file__).parent / "release_1_0"
BACKUP = "schema-5.db.schema-5.backup"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the challenge whose database release 1.0.0 migrated from schema 1."""
    copied = tmp_path / "challenge"
    shutil.copytree(MIGRATED, copied)
    return copied


def expected(track: str) -> dict[str, object]:
    """The board of a track as the version that wrote schema 1 rendered it."""
    board: dict[str, object] = json.loads((MIGRATED / f"expected-{track}.json").read_text())
    return board


def rendered(folder: Path, track: str) -> dict[str, Any]:
    """The board of a track as it is in the site."""
    board = json.loads((folder / "site" / track / "leaderboard.json").read_text())
    columns = [name for name in board["columns"] if name not in LATER]
    return {"columns": columns, "rows": [{name: row[name] for name in columns} for row in board["rows"]]}


def test_a_migrated_database_renders_the_same_boards(folder: Path, terminal: Terminal) -> None:
    """The columns, the scores, the ranks, the order and the numbers of entries are those of schema 1."""
    answer = terminal.run("render", folder)

    assert (answer.code, answer.err) == (0, "")
    for track in ("main", "tied"):
        assert rendered(folder, track) == expected(track)
    assert rows(str(folder / "schema-5.db"), "SELECT version FROM scorer_schema") == [(SCHEMA_VERSION,)]


def test_migrated_results_are_not_scored_again(folder: Path, terminal: Terminal) -> None:
    """A run finds them by the digest that schema 1 has for the settings, and the boards stay the same."""
    before = (folder / "schema-5.db").read_bytes()

    answer = terminal.run("run", folder)

    assert "main: 0 scored, 7 known" in answer.err
    assert "tied: 0 scored, 3 known" in answer.err
    for track in ("main", "tied"):
        assert rendered(folder, track) == expected(track)
    assert before != (folder / "schema-5.db").read_bytes()


def test_the_migrated_means_are_those_that_the_judged_items_give(folder: Path) -> None:
    """All means that the migrations took over are computed again, and are equal to the last bit."""
    with Store.open(folder / "schema-5.db"):
        pass
    challenge = read_challenge(folder)
    with Store.open(folder / "schema-5.db") as store:
        taken_over = [to_json(board) for board in store.read(lambda view: boards(view, challenge.tracks))]
        means = rows(str(folder / "schema-5.db"), "SELECT count(*) FROM mean")
    with closing(sqlite3.connect(folder / "schema-5.db")) as connection, connection:
        connection.execute("DELETE FROM mean")
    with Store.open(folder / "schema-5.db") as store:
        computed = [to_json(board) for board in store.read(lambda view: boards(view, challenge.tracks))]

    assert means != [(0,)]
    assert computed == taken_over


def test_the_file_is_backed_up_before_it_is_migrated(folder: Path) -> None:
    """The backup is a database of schema 5 with all its rows, and a second opening leaves it as it is."""
    before = content(str(folder / "schema-5.db"))
    with Store.open(folder / "schema-5.db"):
        pass
    backup = (folder / BACKUP).read_bytes()
    with Store.open(folder / "schema-5.db"):
        pass

    assert content(str(folder / BACKUP)) == before
    assert rows(str(folder / BACKUP), "SELECT version FROM scorer_schema") == [(5,)]
    assert (folder / BACKUP).read_bytes() == backup


def test_the_events_of_schema_1_are_read(folder: Path) -> None:
    """They have no time of recording."""
    with Store.open(folder / "schema-5.db") as store:
        events = store.read(lambda view: view.events())
        states = store.read(lambda view: submissions(view.events("main")).values())

    assert [event.index for event in events] == list(range(1, len(events) + 1))
    assert [event.kind for event in events].count("arrival") == 11
    assert [(event.kind, event.values["file"]) for event in events if event.kind == "withdrawal"] == [
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


def test_two_processes_may_migrate_at_once(folder: Path) -> None:
    """One of them does, the other one waits, and both answer."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: process("leaderboard", folder, "--format", "csv"), range(2)))

    assert {(answer.code, answer.err) for answer in answers} == {(0, "")}
    assert len({answer.out for answer in answers}) == 1
    assert [file.name for file in folder.glob("*.part")] == []


def test_a_migration_that_cannot_write_its_backup_changes_nothing(small_disk: Path, terminal: Terminal) -> None:
    """The message says so, and the database stays as it is; with room on the disk the migration is made."""
    folder = small_disk / "challenge"
    shutil.copytree(MIGRATED, folder)
    before = content(str(folder / "schema-5.db"))
    filler = small_disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - (48 << 10)))

    answer = terminal.run("leaderboard", folder)

    assert answer.code == 1
    assert "cannot write the backup" in answer.err
    assert content(str(folder / "schema-5.db")) == before
    assert list(folder.glob("*.part")) == []
    filler.unlink()
    assert terminal.run("leaderboard", folder).code == 0


@pytest.mark.parametrize("source", [MIGRATED, SCHEMA_5])
def test_an_earlier_schema_on_a_server_is_migrated_too(source: Path, tmp_path: Path) -> None:
    """The same rows in PostgreSQL give the same record and the same boards."""
    folder = tmp_path / "challenge"
    shutil.copytree(source, folder)
    (database,) = folder.glob("*.db")
    with schema() as place:
        copy_to_server(database, place)
        with Store.open(place) as on_server, Store.open(database) as in_file:
            challenge = read_challenge(folder)
            seen = [
                [to_json(board) for board in store.read(lambda view: boards(view, challenge.tracks))]
                for store in (on_server, in_file)
            ]
        for table in ("event", "folder_look", "solution", "result", "mean"):
            statement = f"SELECT checksum FROM {table} ORDER BY checksum"
            assert rows(place, statement) == rows(str(database), statement)

    assert seen[0] == seen[1]


@pytest.mark.parametrize("source", [MIGRATED, SCHEMA_5])
def test_a_migrated_database_has_the_tables_of_a_new_one(source: Path, tmp_path: Path) -> None:
    """Also in the order of their columns, which a checksum depends on."""
    migrated, new = tmp_path / "migrated.db", tmp_path / "new.db"
    shutil.copy(next(source.glob("*.db")), migrated)
    for database in (migrated, new):
        Store.open(database).close()

    declared = "SELECT name, replace(sql, '\"', '') FROM sqlite_master ORDER BY name"
    assert [(name, sql and sql.split()) for name, sql in rows(str(migrated), declared)] == [
        (name, sql and sql.split()) for name, sql in rows(str(new), declared)
    ]


def test_escaped_names_of_schema_1_are_those_of_files(folder: Path, terminal: Terminal) -> None:
    """Schema 1 has names that are no plain text in escaped form. A run finds their files, and records no other ones."""
    database = str(folder / "schema-5.db")
    Store.open(database).close()
    for old, new, escaped in (("popular", b"caf\xe9", r"caf\udce9"), ("river-mill", b"tab\there", r"tab\there")):
        written = json.dumps(escaped)[1:-1]
        changed(database, f"UPDATE event SET body = replace(body, '{old}', '{written}') WHERE track = 'main'")
        (file,) = (folder / "submissions" / "main").glob(f"*{old}.txt")
        file.rename(file.with_name(os.fsdecode(os.fsencode(file.name).replace(old.encode(), new))))
    seal(database, event_table)

    answer = terminal.run("run", folder)

    assert "main: 0 scored, 7 known" in answer.err
    events = rows(database, "SELECT kind, body FROM event WHERE track = 'main'")
    assert [kind for kind, _ in events].count("arrival") == 8
    assert [kind for kind, _ in events].count("withdrawal") == 1
    board = json.loads((folder / "site" / "main" / "leaderboard.json").read_text())
    assert {row["team"] for row in board["rows"]} >= {r"caf\udce9", r"tab\there"}
    assert "0 new files in the folder" in terminal.run("status", folder).out
    assert "ok       main: the recorded files are present and unchanged" in terminal.run("doctor", folder).out


def test_a_database_of_schema_5_has_the_log_that_it_had(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening, rendering and running change no line; the boards are the published ones."""
    stop_clock(monkeypatch, END)
    folder = tmp_path / "challenge"
    shutil.copytree(SCHEMA_5, folder)
    public = members(folder / "challenge-archive.zip")
    for command in ("render", "run"):
        assert terminal.run(command, folder).code == 0
        assert (folder / "site" / "log.jsonl").read_bytes() == public["public/log.jsonl"]
        for board in ("main/leaderboard.json", "main/leaderboard.csv", "lists/leaderboard.json"):
            # Version 1.0 asked also of a team below the baseline whether it is better.
            words = b"Worse than the baseline popular", b"Better than the baseline popular"
            found = (folder / "site" / board).read_bytes().replace(*words)
            assert without_statistics(found) == without_statistics(public[f"public/{board}"])

    assert not (folder / "site" / "log-texts.jsonl").exists()
    assert (folder / "schema-5.db.schema-5.backup").is_file()


def test_names_of_measures_keep_their_meaning_in_a_track_of_version_1_0(tmp_path: Path, terminal: Terminal) -> None:
    """RBO and Compat were the sums over the lists: their columns have the parameter, and the same numbers.

    That is so from one run to the next, and also after a file is scored that came later. In a new challenge, the same
    names mean what they mean now.
    """
    folder, new = tmp_path / "challenge", tmp_path / "new"
    for copied in (folder, new):
        shutil.copytree(RELEASE_1_0, copied)
    (new / "release-1.0.db").unlink()
    wanted = json.loads((RELEASE_1_0 / "expected-main.json").read_text())

    for command in ("render", "run", "run"):
        assert terminal.run(command, folder).code == 0
        board = rendered(folder, "main")
        assert [[*row.values()] for row in board["rows"]] == [[*row.values()] for row in wanted["rows"]]
    assert board["columns"][3:8] == [
        "Compat(depth=list)",
        "Compat(p=0.8,depth=list)",
        "Compat(normalise=no,depth=list)",
        "0.5*Compat(depth=list)+0.5*AP",
        "AP",
    ]
    river_mill = next((folder / "submissions" / "main").glob("*river-mill.txt"))
    shutil.copy(river_mill, river_mill.with_name("20110425T000000Z-later.txt"))
    assert "main: 0 scored, 6 known" in terminal.run("run", folder).err
    scores = {row["team"]: row["Compat(depth=list)"] for row in rendered(folder, "main")["rows"]}
    assert scores["later"] == scores["river-mill"] == 0.1909
    compared = terminal.run(
        "compare", "river-mill", "popular", "--challenge", folder, "--track", "main", "-m", "RBO(p=0.8)"
    ).out
    assert compared.startswith("Compat(p=0.8,depth=list)")

    assert terminal.run("run", new).code == 1  # one of the files is invalid
    columns = rendered(new, "main")["columns"][3:8]
    assert columns == ["Compat", "RBO(p=0.8)", "Compat(normalise=no)", "0.5*RBO+0.5*AP", "AP"]
    assert rendered(new, "main")["rows"] != rendered(folder, "main")["rows"]


def test_digests_of_schema_1_keep_the_name_of_a_measure() -> None:
    """Results of schema 1 are found by a digest of the names that measures had then."""
    measures = (*earlier.parse("Compat(p=0.8)"), *earlier.parse("0.5*RBO+0.5*AP"))
    names = ["RBO(p=0.8,normalise=yes)", "0.5*RBO(p=0.95,normalise=yes)+0.5*AP(denominator=R,rel=positive)"]
    settings = [None, "zero", "trec", None, None, "skip", "nonrelevant"]

    wanted = hashlib.sha256(json.dumps([1, names, *settings]).encode()).hexdigest()
    assert Rules(measures).version_1_digest == wanted


@pytest.mark.parametrize(("version", "writer"), [(1, "0.1.0"), (4, "0.2.0")])
def test_a_database_from_before_release_1_is_refused_and_unchanged(version: int, writer: str, tmp_path: Path) -> None:
    """The message says which version wrote it, and which one migrates it."""
    database = tmp_path / "scores.db"
    Store.open(database).close()
    changed(str(database), f"UPDATE scorer_schema SET version = {version}, scorer = '{writer}'")
    seal(str(database), schema_table)
    if version == 1:
        for column in ("checksum", "scorer", "identity", "salt", "revision"):
            changed(str(database), f"ALTER TABLE scorer_schema DROP COLUMN {column}")
    before = content(str(database))

    message = rf"scorer {writer} wrote it \(schema version {version}\), .* install scorer 1\.0"
    with pytest.raises(StoreError, match=message):
        Store.open(database)

    assert content(str(database)) == before
    assert list(tmp_path.glob("*.backup")) == []


@pytest.mark.parametrize(("source", "count"), [(MIGRATED, 10), (SCHEMA_5, 16)])
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


TYPES = {"BLOB": "BYTEA", "DATETIME": "TIMESTAMP", "DOUBLE": "DOUBLE PRECISION", "WITHOUT ROWID": ""}
"""The types of SQLite, and those of PostgreSQL for them."""


def copy_to_server(file: Path, place: str) -> None:
    """Copy all tables of a file to a server."""
    engine = create_engine(place)
    with closing(sqlite3.connect(file)) as source, engine.begin() as target:
        for (declared,) in source.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall():
            target.execute(text(re.sub("|".join(TYPES), lambda found: TYPES[found[0]], declared)))
        for (table,) in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = source.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            columns, marks = (
                ", ".join(f"{mark}{name}{end}" for name in names) for mark, end in (('"', '"'), (":", ""))
            )
            for row in cursor:
                values = dict(zip(names, row, strict=True))
                target.execute(text(f"INSERT INTO {table} ({columns}) VALUES ({marks})"), values)
    engine.dispose()
