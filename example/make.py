"""Make the example challenge: solutions/, submissions/, queries/ and items/ at the root of the repository.

    python example/make.py           write the files
    python example/make.py --check   list the files that differ from what would be written; exit with 1 if any does

One seed determines everything, and the bytes are the same on every machine and with every version of numpy: the
script uses only the raw output of PCG64, which numpy promises not to change, and only integer arithmetic, which has no
rounding.

The model: a query and an item each have a weight for every topic. An item is relevant to a query if the product of
their weights, plus the popularity of the item, plus chance, is high. A team predicts the part without chance, with an
error that is smaller for a stronger team.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

ROOT = Path(__file__).resolve().parent.parent
SEED = 20110418
TOPICS = 12
BLOCK = 5
"""Every cut-off of both tracks is a multiple of it, so MARp does not depend on the order within a block."""


@dataclass(frozen=True)
class Model:
    """The sizes of one track."""

    name: str
    number: int
    queries: int
    items: int
    first_query: int
    first_item: int
    list_length: int
    empty_of_ten: int
    """How many queries of ten have no relevant item."""


@dataclass(frozen=True)
class World:
    """The queries, items and relevance of a track: integer arrays, [query, item] unless stated otherwise."""

    model: Model
    query_ids: list[str]
    item_ids: list[str]
    predictable: Ints
    """The relevance without the part of chance."""
    popularity: Ints
    """[item]"""
    relevant: list[list[tuple[str, int]]]
    """For each query its relevant items and their grades, the best first."""
    flagged: list[bool]


@dataclass(frozen=True)
class File:
    """One submission of a team; its strength is the weight of the predictable part, in percent."""

    received: str
    note: str
    strength: int


COLD_START = Model("cold-start", 1, 320, 700, 24, 4622, 30, 2)
POOLED_SEQUENCES = Model("pooled-sequences", 2, 440, 900, 101, 1207, 10, 1)

TEAMS: Mapping[str, Mapping[str, Sequence[File]]] = {
    "cold-start": {
        "tea-kettle": (
            File("20110420T091500Z", "first", 14),
            File("20110516T174210Z", "second", 30),
            File("20110630T223001Z", "third", 45),
        ),
        "north-window": (File("20110427T120000Z", "title-only", 38), File("20110705T060507Z", "all-text", 42)),
        "paper-boats": (File("20110511T081144Z", "", 34),),
        "slow-river": (File("20110503T190320Z", "first", 31), File("20110622T101010Z", "tuned-too-far", 22)),
        "blue-ladder": (File("20110609T130000Z", "", 26),),
        "second-shelf": (File("20110522T054500Z", "", 19),),
        "long-division": (File("20110614T200059Z", "", 18),),
        "quiet-engine": (File("20110425T070000Z", "", 9),),
    },
    "pooled-sequences": {
        "tea-kettle": (File("20110421T100000Z", "first", 25), File("20110701T213045Z", "second", 37)),
        "north-window": (File("20110628T090909Z", "", 40),),
        "paper-boats": (File("20110512T111213Z", "", 36),),
        "slow-river": (File("20110504T080000Z", "first", 20), File("20110603T141500Z", "second", 29)),
        "winter-pears": (File("20110530T164000Z", "", 28),),
        "second-shelf": (File("20110523T054500Z", "", 15),),
        "long-division": (File("20110615T200059Z", "", 22),),
        "quiet-engine": (File("20110426T070000Z", "", 7),),
    },
}
"""By track and team. Files of a team with one file have no note."""


class Draws:
    """Random integers from the raw output of a bit generator."""

    def __init__(self, *key: int) -> None:
        self._words = np.random.PCG64([SEED, *key])

    def below(self, limit: int, *shape: int) -> Ints:
        """Integers from 0 to limit - 1 (limit at most 2^32), almost equally likely."""
        words = np.asarray(self._words.random_raw(int(np.prod(shape))), dtype=np.uint64)
        return (((words >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32)).astype(np.int64).reshape(shape)

    def bell(self, *shape: int) -> Ints:
        """Integers around 0, about normally distributed, with a standard deviation near 1000."""
        return sum((self.below(2001, *shape) for _ in range(2)), self.below(2001, *shape)) - 3000

    def order(self, length: int) -> Ints:
        """The numbers from 0 to length - 1 in random order."""
        return np.argsort(self.below(1 << 20, length), kind="stable")


def world(model: Model) -> World:
    """Draw a track's queries, items and solution."""
    draws = Draws(model.number)
    query_ids = [str(number) for number in model.first_query + np.cumsum(1 + draws.below(20, model.queries))]
    item_ids = [str(number) for number in model.first_item + np.cumsum(1 + draws.below(9, model.items))]
    query_topics = _topics(draws, model.queries)
    item_topics = _topics(draws, model.items)
    popularity = draws.below(64, model.items) * draws.below(64, model.items) // 3
    predictable = query_topics @ item_topics.T * 16 + popularity
    relevance = predictable + draws.bell(model.queries, model.items) * 2 // 3
    lengths = _lengths(draws, model)
    relevant = [_relevant(draws, row, length, item_ids) for row, length in zip(relevance, lengths, strict=True)]
    return World(model, query_ids, item_ids, predictable, popularity, relevant, _flags(relevant))


def _topics(draws: Draws, rows: int) -> Ints:
    """[row, topic]: weights; a main topic, a second one, and a little of each."""
    weights = draws.below(3, rows, TOPICS)
    weights[np.arange(rows), draws.below(TOPICS, rows)] += 12
    weights[np.arange(rows), draws.below(TOPICS, rows)] += 7
    return weights


def _lengths(draws: Draws, model: Model) -> Ints:
    """How many relevant items each query has: none, or 1 to 60, mostly few."""
    product = draws.below(60, model.queries) * draws.below(60, model.queries) * draws.below(60, model.queries)
    lengths = 1 + product // 59**2
    lengths[draws.below(10, model.queries) < model.empty_of_ten] = 0
    return lengths


def _relevant(draws: Draws, relevance: Ints, length: int, item_ids: Sequence[str]) -> list[tuple[str, int]]:
    """The best items with their grades, which fall fast to 2 and stay there: many ties, as in counts of visitors."""
    best = np.argsort(-relevance, kind="stable")[:length]
    top = int(draws.below(30, 1)[0] * draws.below(30, 1)[0]) // 20
    return [(item_ids[item], 2 + top // (rank * (rank + 1) // 2)) for rank, item in enumerate(best, start=1)]


def _flags(relevant: Sequence[Sequence[object]]) -> list[bool]:
    """Flag every fifth query with a relevant item for the preliminary scores."""
    flags, seen = [], 0
    for items in relevant:
        seen += bool(items)
        flags.append(bool(items) and seen % 5 == 0)
    return flags


def _lists(world: World, scores: Ints) -> list[list[str]]:
    """For each query the items with the highest scores, list_length of them."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, : world.model.list_length]
    return [[world.item_ids[item] for item in row] for row in best]


def _team_lists(world: World, team: int, strength: int) -> list[list[str]]:
    """The lists of a team; its error is the same in all of its files."""
    error = Draws(world.model.number, 100 + team).bell(world.model.queries, world.model.items)
    return _lists(world, strength * world.predictable + (100 - strength) * error)


def _random_lists(world: World) -> list[list[str]]:
    draws = Draws(world.model.number, 99)
    return _lists(world, draws.below(1 << 20, world.model.queries, world.model.items))


def _popular_lists(world: World) -> list[list[str]]:
    return _lists(world, np.tile(world.popularity, (world.model.queries, 1)))


def _reversed_in_blocks(lists: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[item for at in range(0, len(row), BLOCK) for item in reversed(row[at : at + BLOCK])] for row in lists]


def solution_text(world: World) -> str:
    """The solution, one query a line: `query:flag:item|grade,...`."""
    lines = zip(world.query_ids, world.flagged, world.relevant, strict=True)
    return "".join(
        f"{query}:{int(flag)}:{','.join(f'{item}|{grade}' for item, grade in items)}\n" for query, flag, items in lines
    )


def submission_text(query_ids: Sequence[str], lists: Sequence[Sequence[str]]) -> str:
    """A submission, one query a line: `query:item,...`."""
    return "".join(f"{query}:{','.join(row)}\n" for query, row in zip(query_ids, lists, strict=True))


def broken_text(text: str) -> str:
    """An invalid file: no colon in line 12, an empty item in line 40, and line 7 repeated as line 77."""
    lines = text.splitlines(keepends=True)
    lines[11] = lines[11].replace(":", " ")
    lines[39] = lines[39].replace(",", ",,", 1)
    lines[76] = lines[6]
    return "".join(lines)


def submissions(world: World) -> Iterator[tuple[str, str]]:
    """The path under the track's folder and the text of every submission."""
    track, ids = world.model.name, world.query_ids
    yield "20110418T100000Z-random.txt", submission_text(ids, _random_lists(world))
    yield "20110418T100500Z-most-popular.txt", submission_text(ids, _popular_lists(world))
    for number, (team, team_files) in enumerate(TEAMS[track].items()):
        for file in team_files:
            text = submission_text(ids, _team_lists(world, number, file.strength))
            yield f"{team}/{file.received}-{file.note}.txt" if file.note else f"{file.received}-{team}.txt", text
    # The lists of paper-boats in another order with the same MARp: the two teams share a rank.
    paper_boats = list(TEAMS[track]).index("paper-boats")
    same = _team_lists(world, paper_boats, TEAMS[track]["paper-boats"][0].strength)
    yield "20110519T210530Z-copper-wire.txt", submission_text(ids, _reversed_in_blocks(same))
    weak = _team_lists(world, 50, 16)
    yield "open-drawer/20110601T000130Z-first.txt", _unfinished(world, weak)
    yield "open-drawer/20110601T004512Z-mended.txt", submission_text(ids, weak)
    yield "20110708T095900Z-loose-leaf.txt", broken_text(submission_text(ids, _team_lists(world, 51, 25)))


def _unfinished(world: World, lists: Sequence[Sequence[str]]) -> str:
    """A file that ends within the id of a query; three queries have no list."""
    return submission_text(world.query_ids[:-3], lists[:-3]) + world.query_ids[-3]


def files() -> dict[str, str]:
    """The text of every file of the example, by its path from the root."""
    made = {}
    for model in (COLD_START, POOLED_SEQUENCES):
        drawn = world(model)
        made[f"solutions/{model.name}.txt"] = solution_text(drawn)
        made[f"queries/{model.name}.txt"] = "".join(f"{query}\n" for query in drawn.query_ids)
        made[f"items/{model.name}.txt"] = "".join(f"{item}\n" for item in drawn.item_ids)
        for path, text in submissions(drawn):
            made[f"submissions/{model.name}/{path}"] = text
    return made


def write(made: Mapping[str, str], root: Path) -> None:
    """Write the files into a folder."""
    for path, text in made.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def differing(made: Mapping[str, str], root: Path) -> list[str]:
    """The paths of the files that are missing in the folder or have other bytes."""
    return [
        path
        for path, text in made.items()
        if not (root / path).is_file() or (root / path).read_bytes() != text.encode()
    ]


def main() -> int:
    """Write the example, or check it; return the exit code."""
    parser = argparse.ArgumentParser(description="Make the example challenge at the root of the repository.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    if not parser.parse_args().check:
        write(files(), ROOT)
        return 0
    different = differing(files(), ROOT)
    for path in different:
        print(f"{path}: differs from what example/make.py writes", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
