"""PostgreSQL: failures that only a server has. test_store runs on both databases."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, text

from scorer.challenge.loading import read_challenge
from scorer.challenge.settings import Challenge
from scorer.errors import StoreError
from scorer.executors.serial import Serial
from scorer.organising.run import carry_out, plan
from scorer.store.store import Store
from tests.commands import Terminal, process
from tests.databases import changed, content, rows, schema
from tests.test_batch import Interrupted
from tests.test_executors import write_challenge
from tests.test_store import BASIS, digest, entries, fill, known_digests, opened, scored, store_result, submission


@pytest.fixture
def place() -> Iterator[str]:
    """The URL of a new schema on the server."""
    with schema() as place:
        yield place


def use_database(place: str, folder: Path) -> None:
    """Make a challenge use this database."""
    file = folder / "challenge.toml"
    file.write_text(f'database = "{place}"\n' + file.read_text())


def tree(folder: Path) -> dict[str, bytes]:
    """Return the content of every file."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("[!.]*") if file.is_file()}


def test_the_site_is_the_same_from_both_databases(place: str, tmp_path: Path) -> None:
    """Every page and export of a challenge with ties and a rejected file has the same bytes."""
    for name in ("file", "server"):
        folder = tmp_path / name
        write_challenge(folder)
        first = folder / "submissions/main/20110418T100000Z-team-0.txt"
        (folder / "submissions/main/20110419T100000Z-twin.txt").write_bytes(first.read_bytes())
        (folder / "submissions/main/20110419T100000Z-broken.txt").write_text("no colon\n")
    use_database(place, tmp_path / "server")

    answers = [process("run", tmp_path / name) for name in ("file", "server")]

    assert [answer.code for answer in answers] == [1, 1]
    assert answers[0].err == answers[1].err
    assert not (tmp_path / "server/scores.db").exists()
    site = tree(tmp_path / "file/site")
    assert "main/leaderboard.json" in site
    assert tree(tmp_path / "server/site") == site
    boards = [process("leaderboard", tmp_path / name, "--format", "csv").out for name in ("file", "server")]
    assert boards[0] == boards[1]


def test_a_second_run_scores_nothing_again(place: str, tmp_path: Path) -> None:
    """The next run finds all results in the database of the server."""
    write_challenge(tmp_path / "one")
    use_database(place, tmp_path / "one")
    assert process("score", tmp_path / "one").err == "main: 6 scored, 0 known, 0 rejected\n"
    before = content(place)
    assert process("score", tmp_path / "one").err == "main: 0 scored, 6 known, 0 rejected\n"
    assert content(place) == before


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
        assert process("score", tmp_path / "two").code == 0
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
        store.import_submissions("cold-start", [sent])
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

    def stop(self) -> None:
        self._run("pg_ctl", "stop", "--wait", "--silent", "--mode=fast")

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
    monkeypatch.setattr("scorer.organising.run.STORE_EVERY", -1.0)
    return read_challenge(tmp_path)


def test_a_batch_waits_for_a_server_that_restarts(server: Server, batch: Challenge, terminal: Terminal) -> None:
    """Storing a result waits until the server is back."""
    coming = threading.Timer(1.5, server.start)

    def restart() -> None:
        server.stop()
        coming.start()

    try:
        with Store.open(batch.database_address) as store:
            done = list(carry_out(store, plan(store, batch.tracks[0]), Interrupted(Serial(), restart)))
    finally:
        coming.join()

    assert len(done) == 6
    assert rows(server.place, "SELECT count(*) FROM result") == [(6,)]
    answer = terminal.run("run", batch.root)
    assert (answer.code, answer.err) == (0, "main: 0 scored, 6 known, 0 rejected\n")


def test_a_server_that_does_not_return_is_reported(server: Server, batch: Challenge, terminal: Terminal) -> None:
    """The message comes after the wait and has no password; stored results stay, and the next run continues."""
    with Store.open(batch.database_address, wait=0.5) as store:
        work = plan(store, batch.tracks[0])
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
