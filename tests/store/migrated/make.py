"""Writes the solutions and submissions of this challenge, from a fixed seed.

Version 0.1.0, the last one that wrote schema 1, made a database and the boards ``expected-*.json`` from them. Release
1.0.0 migrated this database: it is ``schema-5.db``. They are never made again: a test opens a copy of the database with
the current version.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

FOLDER = Path(__file__).parent
ITEMS = [f"i{number}" for number in range(60)]
QUERIES = [f"q{number}" for number in range(40)]


def main() -> None:
    """Write all files."""
    chance = random.Random(20111)

    def written(path: str, lines: list[str]) -> None:
        file = FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def graded(number: int) -> str:
        if number % 13 == 7:
            return ""
        return ",".join(f"{item}|{chance.randint(1, 3)}" for item in chance.sample(ITEMS, 6))

    def lists(path: str, queries: list[str] = QUERIES, length: int = 10) -> None:
        rows = [f"{query}:{','.join(chance.sample(ITEMS, length))}" for query in queries]
        written(f"submissions/main/{path}", rows)

    def run(path: str, queries: list[str]) -> None:
        rows = [
            f"{query} Q0 {item} {rank} {chance.randint(0, 3)} tag"
            for query in queries
            for rank, item in enumerate(chance.sample(ITEMS, 8), 1)
        ]
        written(f"submissions/tied/{path}", rows)

    written(
        "solutions/main.txt",
        [f"{query}:{int(number % 4 == 0)}:{graded(number)}" for number, query in enumerate(QUERIES)],
    )
    qrels = [f"{query} 0 {item} {chance.randint(0, 3)}" for query in QUERIES[:15] for item in chance.sample(ITEMS, 8)]
    written("solutions/tied.qrels", qrels)
    lists("20110418T100000Z-popular.txt")
    lists("amber-lamp/20110420T090000Z.txt")
    lists("amber-lamp/20110421T090000Z.txt", QUERIES[:30])
    lists("20110422T000000Z-river-mill.txt", [*QUERIES, "other"], 12)
    lists("gone-soon/20110423T080000Z.txt")
    lists("gone-soon/20110424T080000Z.txt")
    written("submissions/main/20110425T000000Z-torn-page.txt", ["q1;i2"])
    same = FOLDER / "submissions" / "main"
    shutil.copy(same / "amber-lamp/20110420T090000Z.txt", same / "20110426T000000Z-same-bytes.txt")
    run("20110420T000000Z-amber-lamp.run", QUERIES[:15])
    run("20110421T000000Z-river-mill.run", QUERIES[:15])
    run("20110422T000000Z-short-list.run", QUERIES[:9])
    # This file was withdrawn before the database got its last state.
    (same / "gone-soon/20110424T080000Z.txt").unlink()


if __name__ == "__main__":
    main()
