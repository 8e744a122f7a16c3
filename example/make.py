"""Make the example challenge: solutions/, submissions/ and queries/ at the root of the repository.

    python example/make.py           write the files
    python example/make.py --check   say which of the files differ from what would be written; exit 1 if any does

Everything is drawn from one seed, and the bytes are the same on every machine and with every version of numpy:
only the raw words of PCG64 are used, which numpy promises to keep, and only integers are reckoned with, so that no
rounding of a processor and no order of a sum can show.

The model: a query and an item each have a weight in some topics. What belongs together is the product of the two,
plus how popular the item is, plus what nobody can foretell; the best of it is the solution. A team sees what can be
foretold, blurred by an error of its own; the less of it, the stronger the team.
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
"""Every cut-off of both tracks is a multiple of it, so MARp cannot see how items stand within a block of it."""


@dataclass(frozen=True)
class Model:
    """One track's world."""

    name: str
    number: int
    queries: int
    items: int
    first_query: int
    first_item: int
    list_length: int
    empty_of_ten: int
    """How many queries of ten have nothing right."""


@dataclass(frozen=True)
class World:
    """What is true in a track: integer arrays, [query, item] unless said otherwise."""

    model: Model
    query_ids: list[str]
    item_ids: list[str]
    foreseeable: Ints
    popularity: Ints
    """[item]"""
    right: list[list[tuple[str, int]]]
    """For each query its items and their grades, best first."""
    flagged: list[bool]


@dataclass(frozen=True)
class Sent:
    """One file of a team: how strong it was that day, in percent of what can be foreseen."""

    received: str
    note: str
    strength: int


COLD_START = Model("cold-start", 1, 320, 700, 24, 4622, 30, 2)
POOLED_SEQUENCES = Model("pooled-sequences", 2, 440, 900, 101, 1207, 10, 1)

TEAMS: Mapping[str, Mapping[str, Sequence[Sent]]] = {
    "cold-start": {
        "tea-kettle": (
            Sent("20110420T091500Z", "first", 14),
            Sent("20110516T174210Z", "second", 30),
            Sent("20110630T223001Z", "third", 45),
        ),
        "north-window": (Sent("20110427T120000Z", "title-only", 38), Sent("20110705T060507Z", "all-text", 42)),
        "paper-boats": (Sent("20110511T081144Z", "", 34),),
        "slow-river": (Sent("20110503T190320Z", "first", 31), Sent("20110622T101010Z", "tuned-too-far", 22)),
        "blue-ladder": (Sent("20110609T130000Z", "", 26),),
        "second-shelf": (Sent("20110522T054500Z", "", 19),),
        "long-division": (Sent("20110614T200059Z", "", 18),),
        "quiet-engine": (Sent("20110425T070000Z", "", 9),),
    },
    "pooled-sequences": {
        "tea-kettle": (Sent("20110421T100000Z", "first", 25), Sent("20110701T213045Z", "second", 37)),
        "north-window": (Sent("20110628T090909Z", "", 40),),
        "paper-boats": (Sent("20110512T111213Z", "", 36),),
        "slow-river": (Sent("20110504T080000Z", "first", 20), Sent("20110603T141500Z", "second", 29)),
        "winter-pears": (Sent("20110530T164000Z", "", 28),),
        "second-shelf": (Sent("20110523T054500Z", "", 15),),
        "long-division": (Sent("20110615T200059Z", "", 22),),
        "quiet-engine": (Sent("20110426T070000Z", "", 7),),
    },
}
"""By track and team; a team with one file has no note."""


class Draws:
    """Random integers from the raw words of a bit generator."""

    def __init__(self, *key: int) -> None:
        self._words = np.random.PCG64([SEED, *key])

    def below(self, limit: int, *shape: int) -> Ints:
        """Integers from 0 to limit - 1 (limit at most 2^32), near enough equally likely."""
        words = np.asarray(self._words.random_raw(int(np.prod(shape))), dtype=np.uint64)
        return (((words >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32)).astype(np.int64).reshape(shape)

    def bell(self, *shape: int) -> Ints:
        """Integers around 0, shaped much like a bell, with a standard deviation near 1000."""
        return sum((self.below(2001, *shape) for _ in range(2)), self.below(2001, *shape)) - 3000

    def order(self, length: int) -> Ints:
        """The numbers from 0 to length - 1, shuffled."""
        return np.argsort(self.below(1 << 20, length), kind="stable")


def world(model: Model) -> World:
    """Draw a track's queries, items and solution."""
    draws = Draws(model.number)
    query_ids = [str(number) for number in model.first_query + np.cumsum(1 + draws.below(20, model.queries))]
    item_ids = [str(number) for number in model.first_item + np.cumsum(1 + draws.below(9, model.items))]
    query_topics = _topics(draws, model.queries)
    item_topics = _topics(draws, model.items)
    popularity = draws.below(64, model.items) * draws.below(64, model.items) // 3
    foreseeable = query_topics @ item_topics.T * 16 + popularity
    chance = foreseeable + draws.bell(model.queries, model.items) * 2 // 3
    lengths = _lengths(draws, model)
    right = [_right(draws, row, length, item_ids) for row, length in zip(chance, lengths, strict=True)]
    return World(model, query_ids, item_ids, foreseeable, popularity, right, _flags(right))


def _topics(draws: Draws, rows: int) -> Ints:
    """A main topic, another one, and a little of all: [row, topic]."""
    weights = draws.below(3, rows, TOPICS)
    weights[np.arange(rows), draws.below(TOPICS, rows)] += 12
    weights[np.arange(rows), draws.below(TOPICS, rows)] += 7
    return weights


def _lengths(draws: Draws, model: Model) -> Ints:
    """How many right items each query has: from 1 to 60, mostly few; or none."""
    product = draws.below(60, model.queries) * draws.below(60, model.queries) * draws.below(60, model.queries)
    lengths = 1 + product // 59**2
    lengths[draws.below(10, model.queries) < model.empty_of_ten] = 0
    return lengths


def _right(draws: Draws, chance: Ints, length: int, item_ids: Sequence[str]) -> list[tuple[str, int]]:
    """The best items with their grades, which fall fast to 2 and stay there: many ties, as in counts of people."""
    best = np.argsort(-chance, kind="stable")[:length]
    top = int(draws.below(30, 1)[0] * draws.below(30, 1)[0]) // 20
    return [(item_ids[item], 2 + top // (place * (place + 1) // 2)) for place, item in enumerate(best, start=1)]


def _flags(right: Sequence[Sequence[object]]) -> list[bool]:
    """Every fifth query with something right is flagged for the preliminary board."""
    flags, seen = [], 0
    for items in right:
        seen += bool(items)
        flags.append(bool(items) and seen % 5 == 0)
    return flags


def _lists(world: World, liking: Ints) -> list[list[str]]:
    """For each query the items of the highest liking, as many as a list holds."""
    best = np.argsort(-liking, axis=1, kind="stable")[:, : world.model.list_length]
    return [[world.item_ids[item] for item in row] for row in best]


def _team_lists(world: World, team: int, strength: int) -> list[list[str]]:
    """A team's error is its own and stays with it from file to file."""
    error = Draws(world.model.number, 100 + team).bell(world.model.queries, world.model.items)
    return _lists(world, strength * world.foreseeable + (100 - strength) * error)


def _random_lists(world: World) -> list[list[str]]:
    draws = Draws(world.model.number, 99)
    return _lists(world, draws.below(1 << 20, world.model.queries, world.model.items))


def _popular_lists(world: World) -> list[list[str]]:
    return _lists(world, np.tile(world.popularity, (world.model.queries, 1)))


def _reversed_in_blocks(lists: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[item for at in range(0, len(row), BLOCK) for item in reversed(row[at : at + BLOCK])] for row in lists]


def solution_text(world: World) -> str:
    """`query:flag:item|grade,...`, one query a line."""
    lines = zip(world.query_ids, world.flagged, world.right, strict=True)
    return "".join(
        f"{query}:{int(flag)}:{','.join(f'{item}|{grade}' for item, grade in items)}\n" for query, flag, items in lines
    )


def submission_text(query_ids: Sequence[str], lists: Sequence[Sequence[str]]) -> str:
    """`query:item,...`, one query a line."""
    return "".join(f"{query}:{','.join(row)}\n" for query, row in zip(query_ids, lists, strict=True))


def broken_text(text: str) -> str:
    """A file that cannot be scored: no colon in line 12, an empty item in line 40, and line 7 again as line 77."""
    lines = text.splitlines(keepends=True)
    lines[11] = lines[11].replace(":", " ")
    lines[39] = lines[39].replace(",", ",,", 1)
    lines[76] = lines[6]
    return "".join(lines)


def submissions(world: World) -> Iterator[tuple[str, str]]:
    """Path under the track's folder, and text, of every submission."""
    track, ids = world.model.name, world.query_ids
    yield "20110418T100000Z-random.txt", submission_text(ids, _random_lists(world))
    yield "20110418T100500Z-most-popular.txt", submission_text(ids, _popular_lists(world))
    for number, (team, files) in enumerate(TEAMS[track].items()):
        for sent in files:
            text = submission_text(ids, _team_lists(world, number, sent.strength))
            yield f"{team}/{sent.received}-{sent.note}.txt" if sent.note else f"{sent.received}-{team}.txt", text
    # What paper-boats sent, in another order that MARp cannot see: the two share a rank.
    paper_boats = list(TEAMS[track]).index("paper-boats")
    same = _team_lists(world, paper_boats, TEAMS[track]["paper-boats"][0].strength)
    yield "20110519T210530Z-copper-wire.txt", submission_text(ids, _reversed_in_blocks(same))
    weak = _team_lists(world, 50, 16)
    yield "open-drawer/20110601T000130Z-first.txt", _unfinished(world, weak)
    yield "open-drawer/20110601T004512Z-mended.txt", submission_text(ids, weak)
    yield "20110708T095900Z-loose-leaf.txt", broken_text(submission_text(ids, _team_lists(world, 51, 25)))


def _unfinished(world: World, lists: Sequence[Sequence[str]]) -> str:
    """A file that ends in the middle of a line's query, so that three queries lack."""
    return submission_text(world.query_ids[:-3], lists[:-3]) + world.query_ids[-3]


def files() -> dict[str, str]:
    """Every file of the example, by its path from the root."""
    made = {}
    for model in (COLD_START, POOLED_SEQUENCES):
        drawn = world(model)
        made[f"solutions/{model.name}.txt"] = solution_text(drawn)
        made[f"queries/{model.name}.txt"] = "".join(f"{query}\n" for query in drawn.query_ids)
        for path, text in submissions(drawn):
            made[f"submissions/{model.name}/{path}"] = text
    return made


def write(made: Mapping[str, str], root: Path) -> None:
    """Write the files under a folder."""
    for path, text in made.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())


def differing(made: Mapping[str, str], root: Path) -> list[str]:
    """The paths whose file under the folder is absent or has other bytes."""
    return [
        path
        for path, text in made.items()
        if not (root / path).is_file() or (root / path).read_bytes() != text.encode()
    ]


def main() -> int:
    """Write the example, or check it."""
    parser = argparse.ArgumentParser(description="Make the example challenge at the root of the repository.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    if not parser.parse_args().check:
        write(files(), ROOT)
        return 0
    different = differing(files(), ROOT)
    for path in different:
        print(f"{path}: differs from what example/make.py writes", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
