"""Generate the files of the benchmarks, from a seed.

    python -m benchmarks.generate qrels QUERIES FILE [--judged N]
    python -m benchmarks.generate run QUERIES FILE [--judged N]       FILE may be a pipe
    python -m benchmarks.generate log EVENTS FILE
    python -m benchmarks.generate challenge SUBMISSIONS FOLDER --queries N
    python -m benchmarks.generate trec SUBMISSIONS FOLDER --queries N

`run`: lists of 1,000 items, best first, and N judged items (50) for each query with grades of 0 to 3, half of them in
the list, mostly near its top. One row in fifty has the run score of the row before it, but only where neither item is
judged: tools that order ties in different ways give the same scores, and all of them have to handle ties.

`log`: the log of a challenge, of which every tenth event is no arrival.

`challenge`: a folder for `scorer run` with lists of 30 in VL.NET's format; `trec`: the same as TREC qrels and runs.

Ids have a fixed width, so the lines of a query are a fixed pattern of bytes, and only digits are filled in. The items
of a query are the steps of a walk through all items with a stride for this query: scattered, and without repetition.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from scorer.record.log import LOG_VERSION, NONCE_BYTES, START, LogLine, leaf_of

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

SEED = 20110418
AT_A_TIME = 500
"""Queries in a block. Each block has its own seed, so a smaller file is the beginning of a larger one."""

DEPTH = 1000
JUDGED = 50
FIRST_QUERY = 1_000_000
FIRST_ITEM = 1_000_000
ITEMS = 8_841_823
"""A prime: every stride reaches all items."""

LIST_LENGTH = 30
LONGEST_SOLUTION = 60
CANDIDATES = 90
"""Items of a query that a team's list is drawn from, including the relevant ones."""
CHALLENGE_FIRST_QUERY = 1000
CHALLENGE_FIRST_ITEM = 1000
CHALLENGE_ITEMS = 8999

TOML = """\
name = "Benchmark"

[tracks.main]
title = "Main"
solution = "solution.txt"
list_length = 30
cutoffs = [5, 10, 15, 20, 25, 30]
primary = "MARp"
measures = ["nDCG@10", "NDCNG@10", "muAP", "AP", "Rprec", "P@10", "RR", "R@30", "F@10"]
stage = "final"
"""


# A run


class Block:
    """Some queries, their lists and their judged items; the whole block is always drawn."""

    def __init__(self, number: int, queries: int, judged: int) -> None:
        rng = np.random.default_rng([SEED, number])
        start, stride = rng.integers(0, ITEMS, (AT_A_TIME, 1)), rng.integers(1, ITEMS, (AT_A_TIME, 1))
        walk = FIRST_ITEM + (start + stride * np.arange(DEPTH + judged)) % ITEMS
        # The smallest of random numbers that grow with the rank: ranks near the top are more likely.
        in_list = judged // 2
        lot = rng.random((AT_A_TIME, DEPTH)) * np.arange(1, DEPTH + 1)
        position = np.argpartition(lot, in_list, axis=1)[:, :in_list]
        found = np.take_along_axis(walk, position, axis=1)
        grade = np.maximum(rng.integers(-2, 4, (AT_A_TIME, judged)), 0)
        grade[:, 0] = np.maximum(grade[:, 0], 1)  # tools differ on a query without relevant items
        self.query: Ints = (FIRST_QUERY + 37 * (number * AT_A_TIME + np.arange(AT_A_TIME)))[:queries]
        self.item: Ints = walk[:queries, :DEPTH]
        self.matched: Ints = np.concatenate([found, walk[:, DEPTH : DEPTH + judged - in_list]], axis=1)[:queries]
        self.grade: Ints = grade[:queries]
        self.score: Ints = _falling_scores(rng, position)[:queries]


def _falling_scores(rng: np.random.Generator, judged_position: Ints) -> Ints:
    """Return run scores, ``[query, rank]``, in units of 0.00001, between 14 and 40; distinct in single precision."""
    gap = rng.integers(1, 2500, (AT_A_TIME, DEPTH))
    tied = rng.random((AT_A_TIME, DEPTH)) < 0.02
    rows = np.arange(AT_A_TIME)[:, None]
    tied[rows, judged_position] = False
    tied[rows, np.minimum(judged_position + 1, DEPTH - 1)] = False
    return np.asarray(3_999_999 - np.cumsum(np.where(tied, 0, gap), axis=1), dtype=np.int64)


def blocks(queries: int, judged: int = JUDGED) -> Iterator[Block]:
    """Yield this many queries in blocks, each query with this many judged items."""
    for number, first in enumerate(range(0, queries, AT_A_TIME)):
        yield Block(number, min(AT_A_TIME, queries - first), judged)


def run_text(query: Ints, item: Ints, score: Ints) -> Bytes:
    """Return the bytes of a TREC run: `query` [query], `item` and `score` [query, rank], scores in units of 0.00001."""
    widths = len(str(query.flat[0])), len(str(item.flat[0]))
    lines = [b"%s Q0 %s %d 00.00000 made\n" % (b"0" * widths[0], b"0" * widths[1], k + 1) for k in range(item.shape[1])]
    text = np.tile(np.frombuffer(b"".join(lines), dtype=np.uint8), (len(query), 1))
    start = np.cumsum([0, *map(len, lines)])[:-1]
    end_of_score = start + [len(line) - len(b" made\n") for line in lines]
    _fill(text, start, query[:, None], widths[0])
    _fill(text, start + widths[0] + len(b" Q0 "), item, widths[1])
    _fill(text, end_of_score - len("00.00000"), score // 100_000, 2)
    _fill(text, end_of_score - len("00000"), score % 100_000, 5)
    return text


def qrels_text(block: Block) -> Bytes:
    """Return the bytes of TREC qrels, the items of a query in order of their ids."""
    order = np.argsort(block.matched, axis=1)
    line = np.frombuffer(b"0000000 0 0000000 0\n", dtype=np.uint8)
    judged = block.matched.shape[1]
    text = np.tile(line, (len(block.query), judged))
    start = len(line) * np.arange(judged)
    _fill(text, start, block.query[:, None], 7)
    _fill(text, start + len("0000000 0 "), np.take_along_axis(block.matched, order, axis=1), 7)
    _fill(text, start + len("0000000 0 0000000 "), np.take_along_axis(block.grade, order, axis=1), 1)
    return text


def _fill(text: Bytes, positions: Ints, numbers: Ints, width: int) -> None:
    """Write the digits of each number into the columns that begin at `positions`, in all rows."""
    for digit in reversed(range(width)):
        text[:, positions + digit] = ord("0") + numbers % 10
        numbers = numbers // 10


# A log


def log_text(events: int) -> str:
    """Return a log of this many events."""
    lines, head = [], START
    for index in range(1, events + 1):
        leaf = leaf_of(bytes(NONCE_BYTES), f"{SEED} {index}".encode())
        line = LogLine(index, "arrival" if index % 10 else "withdrawal", leaf, b"", LOG_VERSION)
        head = line.head_after(head)
        lines.append(f"{replace(line, head=head).text}\n")
    return "".join(lines)


# A challenge


class Challenge:
    """Queries with 1 to 60 relevant items, many with equal grades, and teams of different strength."""

    def __init__(self, queries: int) -> None:
        rng = np.random.default_rng([SEED, queries])
        self.query: Ints = CHALLENGE_FIRST_QUERY + np.arange(queries)
        start = rng.integers(0, CHALLENGE_ITEMS, (queries, 1))
        stride = rng.integers(1, CHALLENGE_ITEMS, (queries, 1))
        self.walk: Ints = CHALLENGE_FIRST_ITEM + (start + stride * np.arange(CANDIDATES)) % CHALLENGE_ITEMS
        self.relevant: Ints = np.minimum(rng.geometric(0.12, queries), LONGEST_SOLUTION)
        grade = -np.sort(-np.minimum(rng.geometric(0.4, (queries, LONGEST_SOLUTION)), 9), axis=1)
        self.grade: Ints = grade

    def lists(self, team: int) -> Ints:
        """Return the items of a team's submission, ``[query, rank]``."""
        rng = np.random.default_rng([SEED, len(self.query), team])
        candidate = np.arange(CANDIDATES)
        worth = np.where(candidate < self.relevant[:, None], 1 - 0.5 * candidate / LONGEST_SOLUTION, 0)
        strength = rng.uniform(0.0, 0.6)
        guess = strength * worth + rng.random(worth.shape, dtype=np.float32)
        order = np.argsort(-guess, axis=1)[:, :LIST_LENGTH]
        return np.take_along_axis(self.walk, order, axis=1)

    def solution_lines(self, pattern: str) -> Iterator[tuple[int, list[str]]]:
        """Yield each query's id and its relevant items, formatted with {query}, {item} and {grade}."""
        for query, walk, relevant, grade in zip(self.query.tolist(), self.walk, self.relevant, self.grade, strict=True):
            items = zip(walk[:relevant].tolist(), grade[:relevant].tolist(), strict=True)
            yield query, [pattern.format(query=query, item=item, grade=grade) for item, grade in items]

    def vlnet_text(self, team: int) -> Bytes:
        """Return the bytes of a submission in VL.NET's format."""
        line = np.frombuffer(b"0000:" + b",".join([b"0000"] * LIST_LENGTH) + b"\n", dtype=np.uint8)
        text = np.tile(line, (len(self.query), 1))
        _fill(text, np.array([0]), self.query[:, None], 4)
        _fill(text, 5 * np.arange(1, LIST_LENGTH + 1), self.lists(team), 4)
        return text

    def trec_text(self, team: int) -> Bytes:
        """Return the bytes of the same submission as a TREC run."""
        lists = self.lists(team)
        scores = np.broadcast_to(100_000 * np.arange(40, 40 - LIST_LENGTH, -1), lists.shape)
        return run_text(self.query, lists, scores)


def make_challenge(submissions: int, folder: Path, queries: int) -> None:
    """Write a challenge with this many submissions."""
    challenge = Challenge(queries)
    submission_files = folder / "submissions" / "main"
    submission_files.mkdir(parents=True)
    lines = (
        f"{query}:{int(position % 5 == 0)}:{','.join(items)}\n"
        for position, (query, items) in enumerate(challenge.solution_lines("{item}|{grade}"))
    )
    (folder / "solution.txt").write_text("".join(lines))
    (folder / "challenge.toml").write_text(TOML)
    for team in range(submissions):
        name = f"20110418T100000Z-team-{team:04d}.txt"
        (submission_files / name).write_bytes(challenge.vlnet_text(team).tobytes())


def make_trec(submissions: int, folder: Path, queries: int) -> None:
    """Write the solution and the first submissions of that challenge as `qrels` and `team-0000.run`, ..."""
    challenge = Challenge(queries)
    folder.mkdir(parents=True)
    lines = ("".join(items) for _, items in challenge.solution_lines("{query} 0 {item} {grade}\n"))
    (folder / "qrels").write_text("".join(lines))
    for team in range(submissions):
        (folder / f"team-{team:04d}.run").write_bytes(challenge.trec_text(team).tobytes())


def _write(stream: BinaryIO, kind: str, queries: int, judged: int) -> None:
    for block in blocks(queries, judged):
        text = qrels_text(block) if kind == "qrels" else run_text(block.query, block.item, block.score)
        stream.write(text.data)


def main(arguments: Sequence[str] | None = None) -> None:
    """Generate a file or a folder; it gets its name when it is complete."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate")
    parser.add_argument("kind", choices=["qrels", "run", "log", "challenge", "trec"])
    parser.add_argument("count", type=int, help="how many queries or events a file has, or submissions a folder")
    parser.add_argument("path", type=Path)
    parser.add_argument("--queries", type=int, default=5704)
    parser.add_argument("--judged", type=int, default=JUDGED)
    options = parser.parse_args(arguments)
    if options.path.is_fifo():
        with options.path.open("wb") as stream:
            _write(stream, options.kind, options.count, options.judged)
        return
    beginning = options.path.with_name(f"{options.path.name}.{os.getpid()}.part")
    if options.kind == "challenge":
        make_challenge(options.count, beginning, options.queries)
    elif options.kind == "trec":
        make_trec(options.count, beginning, options.queries)
    elif options.kind == "log":
        beginning.write_text(log_text(options.count))
    else:
        with beginning.open("wb") as stream:
            _write(stream, options.kind, options.count, options.judged)
    beginning.rename(options.path)


if __name__ == "__main__":
    main()
