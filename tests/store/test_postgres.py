"""PostgreSQL: failures that only a server has. test_store runs on both databases."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from sqlalchemy import Engine, create_engine, event, make_url, text

from scorer.errors import StoreError
from scorer.live.entry import submissions
from scorer.organising.run import carry_out, plan
from scorer.organising.scan import import_submissions
from scorer.record.events import Event
from scorer.scoring.executors.base import Serial
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Challenge
from scorer.store.database import REPEATS, Database
from scorer.store.migrations import prepare
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.commands import Answer, Terminal, here, process
from tests.databases import changed, content, rows, schema, site_content
from tests.scoring.test_batch import Interrupted
from tests.scoring.test_executors import write_challenge
from tests.store.test_store import BASIS, digest, entries, fill, known_digests, opened, scored, store_result, submission


@pytest.fixture
def place() -> Iterator[str]:
    """The URL of a new schema on the server."""
    with schema() as place:
        yield place


def use_database(place: str, folder: Path) -> None:
    """Make a challenge use this database."""
    file = folder / "challenge.toml"
    file.write_text(f'database = "{place}"\n' + file.read_text())


def test_the_site_is_the_same_from_both_databases(place: str, tmp_path: Path) -> None:
    """Every page and export of a challenge with ties and a rejected file has the same bytes."""
    for name in ("file", "server"):
        folder = tmp_path / name
        write_challenge(folder)
        first = folder / "submissions/main/20110418T100000Z-team-0.txt"
        (folder / "submissions/main/20110419T100000Z-twin.txt").write_bytes(first.read_bytes())
        (folder / "submissions/main/20110419T100000Z-broken.txt").write_text("no colon\n")
    use_database(place, tmp_path / "server")

    answers = [here("run", tmp_path / name) for name in ("file", "server")]

    assert [answer.code for answer in answers] == [1, 1]
    assert answers[0].err == answers[1].err
    assert not (tmp_path / "server/scores.db").exists()
    site = site_content(tmp_path / "file/site")
    assert "main/leaderboard.json" in site
    assert site_content(tmp_path / "server/site") == site
    boards = [here("leaderboard", tmp_path / name, "--format", "csv").out for name in ("file", "server")]
    assert boards[0] == boards[1]


def test_two_concurrent_runs_create_and_fill_a_database(place: str, tmp_path: Path) -> None:
    """Both succeed, and the content is that of one run."""
    write_challenge(tmp_path / "one")
    use_database(place, tmp_path / "one")
    answers = []
    both = [threading.Thread(target=lambda: answers.append(process("score", tmp_path / "one"))) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()

    assert [answer.code for answer in answers] == [0, 0]
    assert rows(place, "SELECT status, count(*) FROM result GROUP BY status") == [("scored", 6)]
    together = content(place)
    with schema() as other:
        write_challenge(tmp_path / "two")
        use_database(other, tmp_path / "two")
        assert here("score", tmp_path / "two").code == 0
        assert content(other) == together


def test_a_locked_database_is_reported(place: str) -> None:
    """A writer fails after its wait with a message; a reader does not wait."""
    opened(place).close()
    neighbour = create_engine(place)
    with neighbour.begin() as connection, Store.open(place, wait=0.1) as store:
        connection.execute(text("SELECT version FROM scorer_schema FOR UPDATE"))
        assert known_digests(store, BASIS) == frozenset()
        with pytest.raises(StoreError, match=r"is in use: another process did not finish writing within 0\.1 seconds"):
            store_result(store, submission("first"), BASIS, scored())
    neighbour.dispose()
    fill(place)


def test_long_random_names_are_stored(place: str) -> None:
    """The longest names of a file system, of bytes that are not text: escaped, they are six times as long."""
    chance = random.Random(1)
    names = ["".join(chr(chance.randrange(0xDC80, 0xDD00)) for _ in range(255)) for _ in range(2)]
    with opened(place) as store:
        sent = submission(names[0], team=names[1])
        store_result(store, sent, BASIS, scored())
        import_submissions(store, "cold-start", [sent])
        (kept,) = entries(store, "cold-start", BASIS)
    assert kept.present
    assert kept.submission.digest == digest(names[0])


def test_a_transaction_is_repeated_after_a_lost_connection(place: str) -> None:
    """The content is that of a run without the failure."""
    killed: list[int] = []

    def kill(connection: Any, _cursor: object, statement: str, *_rest: object) -> None:
        if statement.startswith("INSERT INTO result") and not killed:
            backend = connection.connection.dbapi_connection.info.backend_pid
            killed.append(backend)
            changed(place, f"SELECT pg_terminate_backend({backend})")

    event.listen(Engine, "after_cursor_execute", kill)
    try:
        fill(place)
    finally:
        event.remove(Engine, "after_cursor_execute", kill)

    assert killed
    with schema() as other:
        fill(other)
        assert content(place) == content(other)


# Time

HELD = ("LOCK TABLE event, scorer_schema IN ACCESS EXCLUSIVE MODE", "SELECT pg_advisory_xact_lock(hashtext('scorer'))")
"""What another process may do in a migration."""


def migrate(store: Store) -> None:
    """Begin a migration, and take no step."""
    with store.database.migrating():
        pass


USES: dict[str, Callable[[Store], object]] = {
    "read": lambda store: store.read(lambda view: view.events()),
    "write": lambda store: store.note_run("cold-start"),
    "open": lambda store: Store.open(store.where, wait=0.1).close(),
    "migrate": migrate,
}


@pytest.mark.parametrize(
    ("held", "use"), [(HELD[0], "read"), (HELD[0], "write"), (HELD[0], "open"), (HELD[1], "migrate")]
)
def test_every_lock_is_waited_for_in_limits(place: str, held: str, use: str) -> None:
    """Also by a reader, which a migration or a backup of the server keeps out."""
    opened(place).close()
    neighbour = create_engine(place)
    with Store.open(place, wait=0.1) as store:
        with neighbour.begin() as connection:
            connection.execute(text(held))
            with pytest.raises(StoreError, match=r"is in use: another process did not finish writing within 0\.1 sec"):
                USES[use](store)
        USES[use](store)
    neighbour.dispose()


def test_a_statement_that_takes_too_long_is_ended(place: str) -> None:
    """The server ends it, and the next statement uses the same connection."""

    def read(view: Snapshot, seconds: float) -> int:
        view.connection.execute(text(f"SELECT pg_sleep({seconds})"))
        return backend(view)

    with Store.open(place, wait=0.1) as store:
        before = store.read(lambda view: read(view, 0))
        with pytest.raises(StoreError, match=r"is in use: its server did not answer within 0\.1 seconds"):
            store.read(lambda view: read(view, 60))
        assert store.read(lambda view: read(view, 0)) == before


def test_a_migration_may_take_long(place: str) -> None:
    """Its steps may rewrite large tables; only locks have a limit."""
    with Store.open(place, wait=0.1) as store, store.database.migrating() as connection:
        limits = [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in ("lock_timeout", "statement_timeout")]
    assert limits == ["100ms", "0"]


def test_an_operation_that_takes_longer_than_the_wait_is_repeated(place: str) -> None:
    """The wait counts from the loss of the server, not from the beginning of the operation."""
    tried: list[int] = []

    def read(view: Snapshot) -> Sequence[Event]:
        tried.append(backend(view))
        if len(tried) < 4:
            time.sleep(0.2)
            changed(place, f"SELECT pg_terminate_backend({tried[-1]})")
        return view.events()

    fill(place)
    with Store.open(place, wait=0.1) as store:
        assert store.read(read) == store.read(lambda view: view.events()) != ()
    assert len(set(tried)) == 4


def test_an_operation_that_ends_the_server_is_not_repeated_for_ever(place: str) -> None:
    """It may be the cause."""
    tried: list[int] = []

    def read(view: Snapshot) -> Sequence[Event]:
        tried.append(backend(view))
        changed(place, f"SELECT pg_terminate_backend({tried[-1]})")
        return view.events()

    with opened(place) as store, pytest.raises(StoreError, match="cannot be reached: terminating connection"):
        store.read(read)
    assert len(tried) == 1 + REPEATS


def backend(view: Snapshot) -> int:
    """The id of the server's process for this connection."""
    return int(view.connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())


# A server that tests may stop


class Server:
    """A temporary PostgreSQL cluster; the user `postgres` runs it if this process is root."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user = "postgres" if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="scorer-"))
        if self._user:
            shutil.chown(self._folder, self._user)
        self._run("initdb", "--auth=trust", "--username=scorer", "--encoding=UTF8", "--no-sync")
        self.start()
        self.place = f"postgresql+psycopg://scorer:secret@/postgres?host={self._folder}"

    def start(self) -> None:
        options = f"-c listen_addresses= -c unix_socket_directories={self._folder} -c fsync=off"
        self._run("pg_ctl", "start", "--wait", "--silent", f"--log={self._folder}/log", "--options", options)

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "stop", "--wait", "--silent", f"--mode={mode}")

    def new_place(self, name: str, role: str = "scorer", options: str = "") -> str:
        """The URL of a new database, which this role owns."""
        engine = create_engine(self.place, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            if role != "scorer":
                connection.execute(text(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1"))
            connection.execute(text(f"CREATE DATABASE {name} OWNER {role} TEMPLATE template0 {options}"))
        engine.dispose()
        return f"postgresql+psycopg://{role}@/{name}?host={self._folder}"

    def remove(self) -> None:
        if (self._folder / "cluster/postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._folder)

    def _run(self, program: str, *options: str) -> None:
        command = [str(self._programs / program), "--pgdata", str(self._folder / "cluster"), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self._folder, user=self._user)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that the test may stop."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("no PostgreSQL server found in /usr/lib/postgresql")
    server = Server(programs[-1].parent)
    yield server
    server.remove()


@pytest.fixture
def batch(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Challenge:
    """A challenge on that server; each result is stored immediately."""
    write_challenge(tmp_path)
    use_database(server.place, tmp_path)
    monkeypatch.setattr("scorer.organising.watch.STORE_EVERY", -1.0)
    return read_challenge(tmp_path)


def test_a_batch_waits_for_a_server_that_restarts(server: Server, batch: Challenge, terminal: Terminal) -> None:
    """Storing a result waits until the server is back."""
    coming = threading.Timer(1.5, server.start)

    def restart() -> None:
        server.stop()
        coming.start()

    try:
        with Store.open(batch.database_address) as store:
            done = list(carry_out(store, plan(store, batch, batch.tracks[0]), Interrupted(Serial(), restart)))
    finally:
        coming.join()

    assert len(done) == 6
    assert rows(server.place, "SELECT count(*) FROM result") == [(6,)]
    answer = terminal.run("run", batch.root)
    assert (answer.code, answer.err) == (0, "main: 0 scored, 6 known, 0 rejected\n")


@pytest.mark.endurance
def test_a_server_that_does_not_return_is_reported(server: Server, batch: Challenge, terminal: Terminal) -> None:
    """The message comes after the wait and has no password; stored results stay, and the next run continues."""
    with Store.open(batch.database_address, wait=0.5) as store:
        work = plan(store, batch, batch.tracks[0])
        with pytest.raises(StoreError, match="cannot be reached") as error:
            list(carry_out(store, work, Interrupted(Serial(), server.stop)))
    assert "secret" not in str(error.value)

    answer = terminal.run("run", batch.root)
    assert answer.code == 1
    assert "cannot be reached" in answer.err
    assert "secret" not in answer.err
    assert "Traceback" not in answer.err

    server.start()
    answer = terminal.run("run", batch.root)
    assert (answer.code, answer.err) == (0, "main: 3 scored, 3 known, 0 rejected\n")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", pytest.param("LATIN1", marks=pytest.mark.endurance)])
def test_a_database_in_another_encoding_is_refused(server: Server, tmp_path: Path, encoding: str) -> None:
    """The message says what to do, and nothing is written."""
    other = server.new_place("other", options=f"ENCODING '{encoding}' LOCALE 'C'")
    write_challenge(tmp_path)
    use_database(other, tmp_path)

    answer = process("run", tmp_path)

    assert answer.code == 1
    assert f"the database is encoded in {encoding}, but scorer needs UTF8" in answer.err
    assert "`createdb --encoding=UTF8 --template=template0 NAME`" in answer.err
    assert "Traceback" not in answer.err
    assert rows(server.place, "SELECT count(*) FROM pg_stat_activity WHERE datname = 'other'") == [(0,)]


@pytest.mark.parametrize("option", ["client_encoding=LATIN1", "options=-cclient_encoding%3DSQL_ASCII"])
def test_the_encoding_of_the_connection_does_not_matter(
    place: str, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    """Neither in the address nor in the environment: names of any script are stored."""
    url = make_url(place)
    search_path = str(url.query["options"])
    name, _, value = option.partition("=")
    value = unquote(value)
    url = url.update_query_dict(
        {"options": search_path, name: f"{search_path} {value}" if name == "options" else value}
    )
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
    with opened(url.render_as_string(hide_password=False)) as store:
        sent = submission("\u732b", team="\u044f")
        import_submissions(store, "cold-start", [sent])
    monkeypatch.delenv("PGCLIENTENCODING")
    with opened(place) as store:
        assert [
            state.submission.team for state in store.read(lambda view: submissions(view.events("cold-start")).values())
        ] == ["\u044f"]


def test_another_driver_is_refused() -> None:
    """Limits and repeats are those of psycopg; the message has no password."""
    with pytest.raises(StoreError, match=r"begin the address with postgresql\+psycopg://") as error:
        Store.open("postgresql+psycopg2://me:secret@host/name")
    assert "secret" not in str(error.value)


COMMANDS = ("run", "render", "leaderboard", "status", "doctor")


@pytest.mark.endurance
@pytest.mark.parametrize("commands", [("run", "leaderboard", "run"), (*COMMANDS, "run")], ids=["some", "every"])
def test_one_connection_is_enough(commands: tuple[str, ...], server: Server, tmp_path: Path) -> None:
    """A command works for a role with CONNECTION LIMIT 1, right after the command before."""
    write_challenge(tmp_path)
    use_database(server.new_place("narrow", role="one"), tmp_path)
    for command in commands:
        answer = process(command, tmp_path)
        assert (answer.code, "Traceback" in answer.err) == (0, False), answer.err


@pytest.mark.endurance
def test_a_connection_that_becomes_free_is_waited_for(server: Server, tmp_path: Path) -> None:
    """Another process may have ended only just now. Without a free connection, the message says so."""
    place = server.new_place("narrow", role="one")
    neighbour = opened(place)
    with pytest.raises(StoreError, match=r"cannot be reached: .*too many connections"):
        Store.open(place, wait=0.1)
    leaving = threading.Timer(0.5, neighbour.close)
    leaving.start()
    opened(place).close()
    leaving.join()


@pytest.mark.endurance
def test_a_server_that_restarts_while_a_database_is_opened_is_waited_for(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the first connection and the first statement."""
    place = server.new_place("opened")
    opened(place).close()

    def restarted(database: Database, *, create: bool) -> None:
        server.stop("immediate")
        starting = threading.Timer(0.3, server.start)
        starting.start()
        prepare(database, create=create)
        starting.join()

    monkeypatch.setattr("scorer.store.store.prepare", restarted)
    opened(place).close()


def untimed(answer: Answer) -> Answer:
    """The answer without the times of the last run and the last render."""
    return replace(answer, out=re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", answer.out))


@pytest.mark.endurance
@pytest.mark.parametrize("commands", [("run",), COMMANDS[1:]], ids=["run", "every other"])
def test_every_command_waits_for_a_server_that_restarts(
    commands: tuple[str, ...], server: Server, tmp_path: Path
) -> None:
    """The server fails while a command reads: the output and the site are those without the failure."""
    write_challenge(tmp_path)
    use_database(server.place, tmp_path)
    assert here("run", tmp_path).code == 0
    undisturbed = {command: here(command, tmp_path) for command in commands}
    site = site_content(tmp_path / "site")
    for command in commands:
        reading, goes_on = tmp_path / f"{command}-reading", tmp_path / f"{command}-goes-on"
        script = f"""
import time
from pathlib import Path
from scorer.cli import main
from scorer.store.snapshot import Snapshot
events = Snapshot.events
def paused(view, *given):
    found = events(view, *given)
    Path({str(reading)!r}).touch()
    while not Path({str(goes_on)!r}).exists():
        time.sleep(0.01)
    return found + events(view, "none")
Snapshot.events = paused
main()
"""
        with subprocess.Popen(
            [sys.executable, "-c", script, command, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            while not reading.exists():
                assert running.poll() is None
                time.sleep(0.01)
            server.stop("immediate")
            goes_on.touch()
            time.sleep(0.3)
            server.start()
            out, err = running.communicate(timeout=60)
        assert untimed(Answer(running.returncode, out, err)) == untimed(undisturbed[command])
    assert site_content(tmp_path / "site") == site


@pytest.mark.endurance
def test_a_server_that_hangs_is_reported(server: Server) -> None:
    """It is not waited for any longer, and when it works again, so does the store."""

    def hang(view: Snapshot) -> None:
        stopped.append(backend(view))
        os.kill(stopped[-1], signal.SIGSTOP)
        view.events()

    stopped: list[int] = []
    with Store.open(server.place, wait=0.1) as store:
        with pytest.raises(StoreError, match=r"is in use: its server did not answer within 0\.1 seconds"):
            store.read(hang)
        os.kill(stopped[-1], signal.SIGCONT)
        assert len(stopped) == 1
        assert store.read(lambda view: view.events()) == ()


@pytest.mark.parametrize("secret", ["me:sesame@localhost:1/x", "me@localhost:1/x?password=sesame"])
def test_a_password_is_never_shown(tmp_path: Path, secret: str) -> None:
    """It may be in either part of the URL of a server that does not answer."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    write_challenge(tmp_path)
    use_database(f"postgresql+psycopg://{secret}", tmp_path)
    answer = process("run", tmp_path)
    assert answer.code == 1
    assert "cannot be reached" in answer.err
    assert "sesame" not in answer.err + answer.out
    assert "Traceback" not in answer.err
