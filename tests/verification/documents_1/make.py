"""Writes the documents of this folder; run once, with the version that they are of.

A challenge with two tracks is committed twice before its start. An erratum of the track `main` is cancelled, another
one is applied after the description of the track has changed, and a third one takes it back. A phase of the track
`lists` is extended. In the end, the commitment and the key of the split are revealed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

from scorer.organising.phases import extend
from tests.committed import COMMITTED, LISTS, Committed
from tests.live_challenges import CORRECTED, GOOD, SOLUTION, day

FOLDER = Path(__file__).parent
STATES = ("early", "late")
"""Before the reveal, and after it."""
DOCUMENTS = ("commitment.json", "commitment.txt", "log.jsonl", "receipts.pem", "lists/split.json")


def make(live: Committed, target: Path) -> None:
    """Run the challenge, and copy what a visitor keeps of it into the folders `early` and `late`."""
    live.write_solution(CORRECTED)
    live.commit()
    live.write_solution(SOLUTION)
    live.commit(COMMITTED + timedelta(hours=1))
    live.arrive()
    live.write_solution(CORRECTED)
    live.preview(day(12))
    live.cancel(day(12, 13))
    live.preview(day(12, 14))
    live.edit('title = "Main"\n', 'title = "Main"\ndescription = "With corrected grades."\n')
    live.run(day(12, 15))
    live.apply(day(12, 16))
    published(live, target / "early", day(13))
    live.write_solution(SOLUTION)
    live.preview(day(14))
    live.apply(day(14, 13), "The first grades were right.")
    end = day(30, 6)
    live.do(day(26), lambda challenge, store: extend(challenge, store, "lists", "two", end, "The server was down."))
    live.run(day(31))
    live.reveal(day(31))
    published(live, target / "late", day(31))


def published(live: Committed, target: Path, at: datetime) -> None:
    """Copy the documents at a time."""
    target.mkdir()
    site = live.rendered(at)
    for name in DOCUMENTS:
        if (site / name).exists():
            shutil.copyfile(site / name, target / Path(name).name)
    (target / "receipt.txt").write_text(live.receipt("main/amber/1.txt"))
    (target / "run.txt").write_text(GOOD)
    for track, solution in (("main", SOLUTION), ("lists", LISTS)):
        (target / f"{track}.txt").write_text(solution)
    (target / "queries.txt").write_text("".join(f"q{number}\n" for number in range(1, 9)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make(Committed.create(Path(folder) / "live"), Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
