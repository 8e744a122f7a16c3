"""Writes the challenge whose database is ``schema-4.db``: its solution and its submissions, from a fixed seed.

The database and the board ``expected-main.json`` were made by the last versions that wrote schema 4 and earlier ones.
They are never made again: a test opens a copy of the database with the current version. The files with odd names, the
Latin-1 bytes ``caf<E9>`` and a name with a tab, are written by the test, because not every tool keeps such names.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

FOLDER = Path(__file__).parent
ITEMS = [f"i{number}" for number in range(40)]
QUERIES = [f"q{number}" for number in range(20)]
SUBMISSIONS = FOLDER / "submissions" / "main"
WITHDRAWN = "20110423T080000Z-gone-soon.txt"
ODD = (b"20110424T080000Z-caf\xe9.txt", b"20110424T090000Z-tab\there.txt")
"""The names of the files whose names are no plain text."""


def lists(seed: int, queries: list[str] = QUERIES) -> str:
    """The content of a submission."""
    chance = random.Random(seed)
    return "".join(f"{query}:{','.join(chance.sample(ITEMS, 8))}\n" for query in queries)


def solution(seed: int) -> str:
    """The content of a solution: every fourth query counts for the preliminary scores."""
    chance = random.Random(seed)

    def graded(number: int) -> str:
        return "" if number % 7 == 3 else ",".join(f"{item}|{chance.randint(1, 3)}" for item in chance.sample(ITEMS, 6))

    return "".join(f"{query}:{int(number % 4 == 0)}:{graded(number)}\n" for number, query in enumerate(QUERIES))


def write_odd_names(folder: Path) -> None:
    """Write the files whose names are no plain text."""
    for seed, name in enumerate(ODD, 50):
        (folder / os.fsdecode(name)).write_text(lists(seed), encoding="utf-8")


def main() -> None:
    """Write all files."""
    SUBMISSIONS.mkdir(parents=True, exist_ok=True)
    (FOLDER / "solutions").mkdir(exist_ok=True)
    (FOLDER / "solutions" / "main.txt").write_text(solution(2), encoding="utf-8")
    for seed, name in enumerate(("popular", "amber-lamp", "river-mill")):
        (SUBMISSIONS / f"2011041{seed}T100000Z-{name}.txt").write_text(lists(seed), encoding="utf-8")
    (SUBMISSIONS / "20110420T100000Z-short-list.txt").write_text(lists(9, [*QUERIES[:12], "other"]), encoding="utf-8")
    (SUBMISSIONS / "20110421T100000Z-torn-page.txt").write_text("q1;i2\n", encoding="utf-8")


if __name__ == "__main__":
    main()
