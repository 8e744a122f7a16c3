"""Mutations of content by its structure: lines, fields, columns, members of JSON, and bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from tests.fuzz import oddities
from tests.fuzz.json_trees import mutated_document, mutated_lines

ENOUGH, LONGEST = 50_000, 1_000_000
"""The size in bytes after which content is not mutated again, and to which it is cut."""

Grid = list[list[str]]
"""Lines; in each, fields at even places and what separates them at odd places."""

SEPARATORS = {
    "vlnet": r"([:,|])",
    "trec": r"([ \t]+)",
    "delimited": r"([,;\t])",
    "jsonl": r"([{}\[\]:,])",
    "json": r"([{}\[\]:,])",
    "letor": r"([ \t]+|:|#)",
}


def mutated(rng: random.Random, format_: str, content: bytes) -> bytes:
    """Return content with a few mutations."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 5])):
        how = rng.random()
        if format_ in ("json", "jsonl") and how < 0.4:
            content = (mutated_document if format_ == "json" else mutated_lines)(rng, content)
        elif format_ in SEPARATORS and how < 0.8:
            content = _mutated_text(rng, SEPARATORS[format_], content)
        else:
            content = mutated_bytes(rng, content)
        if len(content) > ENOUGH:
            break
    return content[:LONGEST]


def _mutated_text(rng: random.Random, separator: str, content: bytes) -> bytes:
    text = content.decode("utf-8", "surrogateescape")
    grid = [re.split(separator, line) for line in text.split("\n")]
    rng.choice(ON_GRIDS)(rng, grid)
    return "\n".join("".join(line) for line in grid).encode("utf-8", "surrogatepass")


def mutated_bytes(rng: random.Random, content: bytes) -> bytes:
    """Return content with bytes that are changed, removed, repeated or added."""
    return rng.choice(ON_BYTES)(rng, content)


def spliced(rng: random.Random, first: bytes, second: bytes) -> bytes:
    """Return the beginning of one file and the end of another, cut between lines or anywhere."""
    if rng.random() < 0.7:
        heads, tails = first.splitlines(keepends=True), second.splitlines(keepends=True)
        return b"".join(heads[: rng.randint(0, len(heads))] + tails[rng.randint(0, len(tails)) :])
    return first[: rng.randint(0, len(first))] + second[rng.randint(0, len(second)) :]


def _odd(rng: random.Random) -> str:
    if rng.random() < 0.02:
        return rng.choice(rng.choice(oddities.COLLIDING)())
    return rng.choice(rng.choice([oddities.NUMBERS, oddities.TEXTS, oddities.NAMES]))


# --- Lines ------------------------------------------------------------------------------------------------------------


def _swap_lines(rng: random.Random, grid: Grid) -> None:
    one, other = rng.randrange(len(grid)), rng.randrange(len(grid))
    grid[one], grid[other] = grid[other], grid[one]


def _drop_line(rng: random.Random, grid: Grid) -> None:
    del grid[rng.randrange(len(grid))]


def _repeat_line(rng: random.Random, grid: Grid) -> None:
    line = rng.choice(grid)
    at = rng.randint(0, len(grid))
    grid[at:at] = [list(line) for _ in range(rng.choice([1, 1, 2, 30, 400]))]


def _split_line(rng: random.Random, grid: Grid) -> None:
    line = rng.choice(grid)
    line.insert(rng.randint(0, len(line)), rng.choice(["\n", "\n", "\r\n", "\r", "\n\n"]))


def _join_lines(rng: random.Random, grid: Grid) -> None:
    at = rng.randrange(len(grid))
    grid[at : at + 2] = [[part for line in grid[at : at + 2] for part in line]]


def _shuffle_lines(rng: random.Random, grid: Grid) -> None:
    rng.shuffle(grid)


def _odd_line(rng: random.Random, grid: Grid) -> None:
    grid.insert(rng.randint(0, len(grid)), [_odd(rng)])


# --- Fields and columns -----------------------------------------------------------------------------------------------


def _place(rng: random.Random, grid: Grid) -> tuple[list[str], int]:
    """Return a line and the place of one of its fields."""
    line = rng.choice(grid)
    return line, 2 * rng.randrange((len(line) + 1) // 2) if line else 0


def _odd_field(rng: random.Random, grid: Grid) -> None:
    line, at = _place(rng, grid)
    how = rng.randint(0, 3)
    line[at : at + 1] = [[_odd(rng)], [line[at], _odd(rng)], [_odd(rng), line[at]], [f'"{line[at]}"']][how]


def _swap_fields(rng: random.Random, grid: Grid) -> None:
    one, at = _place(rng, grid)
    other, there = _place(rng, grid)
    one[at], other[there] = other[there], one[at]


def _drop_field(rng: random.Random, grid: Grid) -> None:
    line, at = _place(rng, grid)
    del line[at : at + rng.choice([1, 2])]


def _repeat_field(rng: random.Random, grid: Grid) -> None:
    line, at = _place(rng, grid)
    line[at:at] = line[at : at + 2] * rng.choice([1, 1, 2, 300])


def _odd_separator(rng: random.Random, grid: Grid) -> None:
    line, at = _place(rng, grid)
    if at + 1 < len(line):
        line[at + 1] = rng.choice(
            ["", " ", "\t", "  ", ",", ";", ":", "|", "::", "\u00a0", "\v", "\n", line[at + 1] * 2]
        )


def _colliding(rng: random.Random, grid: Grid) -> None:
    """Replace one column of lines, or repeat a line, with ids that have one hash."""
    ids = rng.choice(oddities.COLLIDING)()
    line, at = _place(rng, grid)
    grid += [[*line[:at], each, *line[at + 1 :]] for each in ids]


def _column(rng: random.Random, grid: Grid) -> None:
    """Change a column of all lines."""
    _, at = _place(rng, grid)
    _, there = _place(rng, grid)
    how, odd = rng.randint(0, 4), _odd(rng)
    for line in grid:
        if max(at, there) >= len(line):
            continue
        if how == 0:
            line[at], line[there] = line[there], line[at]
        elif how == 1:
            del line[at : at + 2]
        elif how == 2:
            line[at:at] = line[at : at + 2]
        elif how == 3:
            line[at] = odd
        else:
            line[at] = line[there]


ON_GRIDS: tuple[Callable[[random.Random, Grid], None], ...] = (
    *(_swap_lines, _drop_line, _repeat_line, _split_line, _join_lines, _shuffle_lines, _odd_line),
    *(_odd_field, _odd_field, _odd_field, _odd_field, _swap_fields, _drop_field, _repeat_field, _odd_separator),
    *(_odd_separator, _column, _column, _colliding),
)


# --- Bytes ------------------------------------------------------------------------------------------------------------


def _flip(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(min(len(content), rng.choice([1, 1, 2, 8]))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _flip_near_end(rng: random.Random, content: bytes) -> bytes:
    """Change a byte of the last ones, where Parquet and compressed files describe their content."""
    at = len(content) - rng.randint(1, 400)
    return content if at < 0 else content[:at] + rng.randbytes(1) + content[at + 1 :]


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randint(0, len(content))]


def _cut_out(rng: random.Random, content: bytes) -> bytes:
    start = rng.randint(0, len(content))
    return content[:start] + content[start + rng.choice([1, 2, 10, 1000]) :]


def _insert(rng: random.Random, content: bytes) -> bytes:
    at = rng.choice([0, len(content), rng.randint(0, len(content))])
    return content[:at] + rng.choice(oddities.BYTES) + content[at:]


def _append(rng: random.Random, content: bytes) -> bytes:
    return content + rng.choice([rng.randbytes(rng.randint(1, 50)), content, b"\0" * 600])


def _repeat_block(rng: random.Random, content: bytes) -> bytes:
    start, end = sorted((rng.randint(0, len(content)), rng.randint(0, len(content))))
    return content[:end] + content[start:end] * rng.choice([1, 2, 40]) + content[end:]


ON_BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(_flip, _flip, _flip, _flip_near_end, _flip_near_end, _cut, _cut_out, _insert, _insert, _append, _repeat_block),
)
