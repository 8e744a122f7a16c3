"""A challenge with an erratum, a rename, an extension and withdrawn entries, and its public archive, for tests."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import datetime, timedelta
from pathlib import Path

from scorer.organising.phases import extend
from scorer.organising.public import export_public
from scorer.organising.teams import import_teams, issue
from scorer.settings.tracks import FILE
from tests.committed import Committed
from tests.live_challenges import CORRECTED, GOOD, OTHER, POOR, SOLUTION, day
from tests.shared import build_once

END = day(31, 13)
"""When all is over."""


def decided(folder: Path, secret: str = "", table: str = "", entries: str = "") -> Committed:
    """A committed challenge that is over and revealed, with its site; an erratum changed the solution of `main`.

    `secret` is in everything that nobody may see; `table` is one more table of challenge.toml, and `entries` one
    more key. Challenges with the same words are copies of one.
    """
    words = (secret, table, entries)
    build_once(folder, "decided", words, build=lambda place: _decide(place, *words))
    return Committed(folder, END)


def _decide(folder: Path, secret: str, table: str, entries: str) -> None:
    live = Committed.create(folder)
    live.edit('name = "Live"\n', f'name = "Live"\nlicence = "CC BY 4.0"\n{entries}# {secret}\n')
    live.edit("[tracks.main]", f"{table}[tracks.main]")
    live.edit('title = "Main"\n', 'title = "Main"\nquota = {per_day = 2}\n')
    live.run(day(5))
    live.commit()
    live.do(day(9), lambda _, store: issue(store, "amber", "token", f"{secret} laptop"))
    live.arrive()
    (folder / "teams.toml").write_text(f'# {secret}\n[birch]\nname = "Birch & Sons"\nreason = "They are called so."\n')
    live.do(day(12), import_teams)
    live.put("birch/2.txt", f"{POOR}q9:x\n", day(13))
    live.put("popular/1.txt", OTHER, day(13))
    live.put("cedar/2.txt", GOOD, day(14))
    live.put("amber/2.txt", POOR, day(14))
    live.put("torn/1.txt", "no list\n", day(14))
    live.run(day(15))
    (folder / "submissions" / "main" / "birch" / "2.txt").unlink()
    live.run(day(16))
    live.put("late/1.txt", GOOD, day(22))
    live.run(day(23))
    live.write_solution(SOLUTION.replace("a|3", "a|2"))
    live.preview(day(26))
    live.cancel(day(26, 13))
    live.write_solution(CORRECTED)
    live.preview(day(27))
    live.apply(day(27, 13))
    end = day(30, 6)
    live.do(day(28), lambda challenge, store: extend(challenge, store, "main", "two", end, "The server was down."))
    live.put("cedar/3.txt", OTHER, end - timedelta(hours=1))
    live.run(END)
    live.reveal(END)
    live.rendered(END)


def archived(live: Committed, target: Path, at: datetime = END) -> Path:
    """Write the public archive of a challenge."""
    live.do(at, lambda challenge, store: export_public(challenge, store, live.folder / FILE, target))
    return target


LATER = ("low", "high", "rank from", "rank to", "tier", "separable_from_leader")
"""Columns that the version which wrote the expected boards did not have."""


def without_statistics(board: bytes) -> object:
    """A board as JSON or CSV without its statistics, which version 1.0 computed in another way, and its version."""
    if not board.startswith(b"{"):
        return [{**row, **dict.fromkeys(LATER)} for row in csv.DictReader(io.StringIO(board.decode()), strict=True)]
    read = json.loads(board)
    changes = [
        [re.sub(r" [\d,]+ queries may miss.*", "", each) for each in row.get("changes", ())] for row in read["rows"]
    ]
    rows = [{**row, **dict.fromkeys(LATER), "changes": own} for row, own in zip(read["rows"], changes, strict=True)]
    columns = [name for name in read["columns"] if name not in LATER]
    return {**read, "version": None, "statistics": None, "rows": rows, "columns": columns}
