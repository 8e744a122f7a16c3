"""Databases for tests: a file, and a new schema of the PostgreSQL server that SCORER_TEST_DB names."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Table, create_engine, inspect, make_url, select, text, update

from scorer.organising.teams import team_events
from scorer.rules.teams import TeamSettings
from scorer.store.events import BasisBody, new_basis
from scorer.store.schema import sealed
from scorer.store.store import Store
from tests.paths import tree

KINDS = ("sqlite", "postgresql") if os.environ.get("SCORER_TEST_DB") else ("sqlite",)
"""Without a server, test_postgres says so once, for all."""

NewPlace = Callable[[], str]
"""Gives a place where there is no database yet, as `Store.open` takes it."""


@contextmanager
def new_places(kind: str, folder: Path) -> Iterator[NewPlace]:
    """Makes places for databases of that kind, and removes them in the end."""
    numbers = count()
    with ExitStack() as stack:
        if kind == "sqlite":
            yield lambda: str(folder / f"scores-{next(numbers)}.db")
        else:
            yield lambda: stack.enter_context(schema())


def server() -> str:
    """The URL of the PostgreSQL server that tests may use; without one the test is skipped."""
    url = os.environ.get("SCORER_TEST_DB")
    if not url:
        pytest.skip("SCORER_TEST_DB names no PostgreSQL server, as in postgresql+psycopg://user@host/name")
    return url


@contextmanager
def schema() -> Iterator[str]:
    """The URL of a new schema of the server."""
    url, name = make_url(server()), f"scorer_{uuid4().hex[:16]}"
    changed(server(), f"CREATE SCHEMA {name}")
    yield url.update_query_dict({"options": f"-csearch_path={name}"}).render_as_string(hide_password=False)
    changed(server(), f"DROP SCHEMA {name} CASCADE")


def rows(place: str, statement: str) -> list[tuple[Any, ...]]:
    """What a query gives."""
    with connected(place) as connection:
        return [tuple(row) for row in connection.execute(text(statement))]


def changed(place: str, statement: str) -> None:
    """Do something behind the store's back."""
    with connected(place) as connection:
        connection.execute(text(statement))


def removed(database: Path) -> None:
    """Delete a database file and all that is stored next to it."""
    for path in database.parent.glob(f"{database.name}*"):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def seal(place: str, table: Table) -> None:
    """Give all rows of a table the checksums of their values, as if the store had written them."""
    with connected(place) as connection:
        for row in connection.execute(select(table)).mappings().all():
            key = (column == row[column.name] for column in table.primary_key)
            connection.execute(update(table).where(*key).values(checksum=sealed(table, row)["checksum"]))


# The digits are searched first and what is before them is checked then, which is four times as fast.
SALTED = re.compile(
    rb'[0-9a-f]{64}(?:(?<=<code class="salted-digest">.{64})(?=</code>)|(?<=of the solution .{64})'
    # The log: leaves and heads in log.jsonl, in JSON, in feeds and on pages.
    rb'|(?<="leaf":".{64})|(?<="head":".{64})|(?<="head": ".{64})|(?<=, head .{64})'
    rb'|(?<=class="log-head">.{64})|(?<=href="../log.jsonl" title=".{64})(">#[0-9]+ )[0-9a-f]{12})'
)
PUBLIC_KEY = re.compile(rb"(-----BEGIN PUBLIC KEY-----\n).*")
UPDATED = re.compile(rb'<time class="updated".*?</time>')
DATES = re.compile(rb"^  (year|month|urldate) = .*$|^date-released: .*$", re.MULTILINE)


def unsalted(page: bytes) -> bytes:
    """A page without what depends on the salt of its database, which is random, and on when events were recorded."""
    return DATES.sub(b"", UPDATED.sub(b"", PUBLIC_KEY.sub(rb"\1", SALTED.sub(rb"\1", page))))


def site_content(folder: Path) -> dict[str, bytes]:
    """The content of every page of a site, without the salt; files whose names begin with a dot are left out."""
    return {name: unsalted(page) for name, page in tree(folder, "[!.]*").items()}


HEAD = re.compile(rb'"log": {[^}]*}')


def without_log(site: dict[str, bytes]) -> dict[str, bytes]:
    """The content of a site without what depends on the number of events in the record."""
    return {name: HEAD.sub(b"", text) for name, text in site.items() if name not in ("log.jsonl", "verification.html")}


VOLATILE = {"identity", "salt", "revision", "at", "checksum"}
"""Columns that differ between two databases with the same record: they depend on chance, the clock, or retries."""

LOOK = re.compile(r'"absent_at":"[^"]*",')
"""The time of a look, in the body of an arrival."""

CACHES = {"cached", "scanned_file"}
"""Tables that depend on when files were scanned and pages rendered, and decide only what is read or computed again."""


def content(place: str) -> list[str]:
    """All rows of a database without its caches and its volatile columns, sorted by their text."""
    found = []
    with connected(place) as connection:
        for table in sorted(set(inspect(connection).get_table_names()) - CACHES):
            rows = connection.execute(text(f'SELECT * FROM "{table}"')).mappings()
            stable = ({name: value for name, value in row.items() if name not in VOLATILE} for row in rows)
            stable = ({**row, "body": LOOK.sub("", row["body"])} if "body" in row else row for row in stable)
            found += [f"{table}: {row}" for row in stable]
    return sorted(found)


@contextmanager
def connected(place: str) -> Iterator[Any]:
    """A transaction behind the store's back."""
    engine = create_engine(place if "://" in place else f"sqlite:///{place}")
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def record_basis(store: Store, track: str, recorded: BasisBody) -> None:
    """Record what a track's board is based on, unless it is the same as before; the solution must be stored."""
    store.record(lambda view: new_basis(track, view.events(track), recorded.body))


def record_teams(store: Store, settings: Mapping[str, Mapping[str, Any]], reasons: Mapping[str, str]) -> None:
    """Record what the organiser sets for teams, as `team_events`."""
    stated = {
        team: TeamSettings(**settings.get(team, {}), reason=reasons.get(team)) for team in settings.keys() | reasons
    }
    store.record(lambda view: team_events(view, stated))
