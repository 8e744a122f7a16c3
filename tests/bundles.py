"""Challenges to export, and bundles to import, for tests."""

from __future__ import annotations

import json
import os
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from scorer.organising.bundles import export, import_bundle
from scorer.organising.picks import pick
from scorer.organising.teams import import_teams
from scorer.record.log import chained, encoded, iso, secret_of
from scorer.settings.tracks import FILE, Challenge
from scorer.store.documents import Manifest
from scorer.store.store import Store
from scorer.verification.bundle import COMMENT_BYTES, EVENT_ROWS, MANIFEST, SCHEMA_ROWS
from tests.live_challenges import BEFORE, CORRECTED, GOOD, OTHER, POOR, SOLUTION, Live, day
from tests.shared import build_once
from tests.strangers import lines_of

KEY = "07" * 32
"""Of a split that selects the queries q2 and q3."""

RULES = """\
queries = "public/queries.txt"
items = "public/items.txt"
entry = "picks"
picks = 1
split = {preliminary = 0.5, key_file = "secret/main.key"}
"""

SITE = """
[site]
logo = "logo.svg"
footer = "Made by *us*."
accent = "#0a4c7a"
"""

FILES = {
    "public/queries.txt": "q1\nq2\nq3\nq4\n",
    "public/items.txt": "".join(f"{item}\n" for item in "abcdefgx"),
    "secret/main.key": f"{KEY}\n",
    "teams.toml": '[amber]\nname = "Team Amber"\nreason = "They are called so."\n',
    "pages/10-data.md": "# Data\n\nWhere the data is.\n",
    "pages/.draft.md": "no heading\n",
    "templates/extra.css": "main { color: inherit; }\n",
    "templates/static/logo.svg": '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
    "templates/static/rules/été.txt": "rules\n",
    "templates/static/.hidden": "hidden\n",
}
"""Files of a challenge that a render reads."""


def rich_challenge(folder: Path) -> Live:
    """A challenge in its second phase with pages, templates, a logo, a key, a wrong pick, and an open erratum.

    All are copies of one.
    """
    build_once(folder, "rich challenge", build=_write_rich)
    return Live(folder, day(27))


def _write_rich(folder: Path) -> None:
    live = Live.graded(folder, rules=RULES)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "secret" / "main.key").chmod(0o600)
    (folder / "pages" / "20-link.md").symlink_to("10-data.md")
    (folder / "templates" / "static" / "link.svg").symlink_to("logo.svg")
    with (folder / FILE).open("a", encoding="utf-8") as settings:
        settings.write(SITE)
    live.write_solution(without_flags(SOLUTION))
    live.run(BEFORE)
    live.put("amber/1.txt", GOOD, day(11))
    live.put("amber/2.txt", POOR, day(11, 14))
    live.put("brass/1.txt", POOR, day(12))
    live.put("popular/1.txt", OTHER, day(12))
    live.put("torn/1.txt", "no list\n", day(12))
    run(live, day(13))
    live.do(day(13), lambda challenge, store: pick(challenge, store, ["main/amber/1.txt"]))
    (folder / "submissions" / "main" / "brass" / "1.txt").unlink()
    live.put(os.fsdecode(b"brass/b\xe9.txt"), OTHER, day(14))
    run(live, day(15))
    live.put("cedar/1.txt", GOOD, day(26))
    live.write_solution(without_flags(CORRECTED))
    live.preview(day(26, 14))
    run(live, day(27))


def without_flags(solution: str) -> str:
    """A solution that flags no query."""
    return solution.replace(":1:", ":0:")


def run(live: Live, at: datetime) -> None:
    """As `scorer run` does: import teams, import and score submissions, render."""
    live.do(at, import_teams)
    live.run(at, confirm_withdrawals=False)
    live.do(at, import_teams)
    live.render(at)


def exported(live: Live, target: Path, at: datetime, *, solutions: bool = True, files: bool = True) -> Manifest:
    """Export a challenge at a time."""

    def write(challenge: Challenge, store: Store) -> Manifest:
        return export(challenge, store, live.folder / FILE, target, solutions=solutions, files=files)

    return live.do(at, write)


def imported(bundle: Path, folder: Path, at: datetime, database: str | None = None) -> Live:
    """Import a bundle at a time."""
    index, *_ = import_bundle(bundle, folder, database, clock=lambda: at)
    assert index == folder / "site" / "index.html"
    return Live(folder)


def url_of(place: str) -> str | None:
    """The argument for the database at a place for tests; None for a file, which an import makes in its folder."""
    return place if "://" in place else None


def members(bundle: Path) -> dict[str, bytes]:
    """The content of each member of a bundle, by name."""
    with ZipFile(bundle) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def sealed(content: bytes) -> bytes:
    """An archive with a comment of the length of a digest, with the SHA-256 of the bytes before it as its comment."""
    body = content[:-COMMENT_BYTES]
    return body + f"sha256:{sha256(body).hexdigest()}".encode()


def parts(bundle: Path) -> Iterator[tuple[str, int, int]]:
    """The parts of a bundle: the name of a member for its content, or empty; where it begins, and where it ends."""
    content = bundle.read_bytes()
    with ZipFile(bundle) as archive:
        infos = archive.infolist()
        end = archive.start_dir
    for info in infos:
        name, extra = struct.unpack_from("<HH", content, info.header_offset + 26)
        start = info.header_offset + 30 + name + extra
        yield "", info.header_offset, start
        yield info.filename, start, start + info.file_size
    yield "", end, len(content)


def archive(content: Mapping[str, bytes], change: Callable[[ZipFile], object] | None = None) -> bytes:
    """A sealed archive of members."""
    stream = BytesIO()
    with warnings.catch_warnings(), ZipFile(stream, "w", ZIP_STORED) as made:
        warnings.simplefilter("ignore")  # a name that is repeated
        for name, data in content.items():
            made.writestr(ZipInfo(name), data)
        if change is not None:
            change(made)
        made.comment = bytes(COMMENT_BYTES)
    return sealed(stream.getvalue())


def with_manifest(content: Mapping[str, bytes], **facts: Any) -> dict[str, bytes]:
    """The members with a manifest that fits them, but for these facts."""
    others = {name: data for name, data in content.items() if name != MANIFEST}
    manifest = json.loads(content[MANIFEST])
    manifest |= {"members": {name: sha256(data).hexdigest() for name, data in others.items()}, **facts}
    return {**others, MANIFEST: (json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode()}


def edited(content: dict[str, bytes], name: str, change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """A sealed archive in which the rows of a member are changed, with a manifest that fits."""
    rows = [json.loads(line) for line in content[name].splitlines()]
    change(rows)
    return archive(with_manifest({**content, name: lines_of(rows)}))


def rerecorded(content: dict[str, bytes], change: Callable[[list[dict[str, Any]]], object]) -> bytes:
    """A sealed archive in which the rows of events are changed, with a log and a manifest that fit them.

    The body of each event is an object.
    """
    rows = [json.loads(line) for line in content[EVENT_ROWS].splitlines()]
    rows = [{**row, "body": json.loads(row["body"])} for row in rows]
    change(rows)
    salt = json.loads(content[SCHEMA_ROWS])["salt"]
    times = ((row, None if row["at"] is None else iso(datetime.fromisoformat(row["at"]))) for row in rows)
    fields = ((row["index"], row["track"], row["kind"], at, encoded(row["body"]), row["log"]) for row, at in times)
    *_, last = chained(secret_of(salt, "log"), fields)
    lines = lines_of({**row, "body": json.dumps(row["body"])} for row in rows)
    return archive(with_manifest({**content, EVENT_ROWS: lines}, events=len(rows), head=last.head.hex()))
