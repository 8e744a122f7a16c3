"""Task: the values of algorithms on cases, which an analysis is about; and what is kept of a ranking for the next
one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from scorer.errors import ScorerError
from scorer.files import code_digest
from scorer.measures.matched import Floats, Ints, rows_at
from scorer.scoring.statistics import blocks
from scorer.scoring.statistics.all_pairs import AllPairs, Change
from scorer.scoring.statistics.judges import TwoJudges
from scorer.scoring.statistics.units import units_within
from scorer.wording import counted, quoted

_KEY_FLOATS = 4
"""A key of 32 bytes takes the place of so many numbers."""

_COMPUTED_AT_ONCE = 256
"""Rows or pairs whose arrays are computed at a time: those of all rows of a first board take much memory."""

_TOGETHER = 512
"""Arrays with at most so many values are kept together in a table: one file is read faster than many."""

_OTHERS = 3
"""How many times as many rows of a table are kept that another ranking or an earlier one had."""


class Arrays:
    """Arrays by keys, in memory. What is stored elsewhere may be gone at the next reading."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        """The keys that were loaded or saved, or that otherwise must stay."""
        self.recent: dict[str, tuple[dict[str, int], Floats]] = {}
        """What `Kept.values` returned last of each kind, which the analysis of a ranking takes from its board, with the
        row of each key.
        """
        self.recent_pairs: tuple[object, AllPairs | None] = None, None
        """The same of `Kept.all_pairs`, with what they are of."""
        self._stored: dict[str, Floats] = {}

    def load(self, key: str) -> Floats | None:
        """Return the array of a key, [value]; None if it is absent."""
        return self._stored.get(key)

    def save(self, key: str, *parts: Floats) -> None:
        """Store the array of a key: these parts, [value], one after the other."""
        self._stored[key] = np.concatenate(parts)


@dataclass(frozen=True)
class Kept:
    """The arrays of the rows of a ranking."""

    arrays: Arrays
    ranking: tuple[object, ...]
    """What the arrays of all rows depend on: text and numbers."""
    rows: tuple[str, ...]
    """What the arrays of each row depend on besides: rows with the same text have the same scores."""

    def within(self, *parts: object) -> Kept:
        """The same rows, whose arrays also depend on these parts."""
        return replace(self, ranking=(*self.ranking, *parts))

    def of(self, rows: Sequence[int]) -> Kept:
        return replace(self, rows=tuple(self.rows[row] for row in rows))

    def values(self, what: str, width: int, compute: Callable[[Ints], Floats]) -> Floats:
        """Return the arrays called `what`, [row, value] with `width` values.

        `compute` returns those of some rows, given their positions, and is called if any are absent.
        """
        if width <= _TOGETHER:
            row_keys = [hashlib.sha256(row.encode()).digest() for row in self.rows]
            return self._table(self._key("rows", what, width), row_keys, width, compute)
        keys, absent = self._keys(what, width), []
        row_of, found = self.arrays.recent.pop(what, ({}, np.empty(0)))
        if keys and row_of.keys() >= set(keys):
            self.arrays.recent[what] = row_of, found
            return rows_at(found, np.array([row_of[key] for key in keys]))
        found = np.empty((len(keys), width))
        for place, key in enumerate(keys):
            stored = self.arrays.load(key)
            if stored is not None and stored.size == width:
                found[place] = stored
            else:
                absent.append(place)
        for block in blocks(len(absent), _COMPUTED_AT_ONCE):
            chosen = absent[block]
            found[chosen] = compute(np.array(chosen))
            for place in chosen:
                self.arrays.save(keys[place], found[place])
        self.arrays.recent[what] = {key: place for place, key in enumerate(keys)}, found
        return found

    def of_pairs(
        self, what: str, width: int, first: Ints, second: Ints, compute: Callable[[Ints, Ints], Floats]
    ) -> Floats:
        """Return the values of pairs of rows called `what`, [pair, value] with `width` values.

        `compute` returns those of some pairs, given the positions of their rows, and is called if any are absent.
        """
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        keys = [hashlib.sha256(f"{self.rows[one]} {self.rows[other]}".encode()).digest() for one, other in pairs]

        def computed(absent: Ints) -> Floats:
            return compute(first[absent], second[absent])

        return self._table(self._key("pairs", what, width), keys, width, computed)

    def _table(self, key: str, keys: Sequence[bytes], width: int, compute: Callable[[Ints], Floats]) -> Floats:
        """[row, value]: the rows with these keys, of the table that is kept by `key`; computed where absent."""
        size = _KEY_FLOATS + width
        last = self.arrays.load(key)
        before = np.zeros((0, size)) if last is None or last.size % size else last.reshape(-1, size)
        place_of = {row.tobytes(): place for place, row in enumerate(before[:, :_KEY_FLOATS])}
        places = np.array([place_of.get(own, -1) for own in keys], dtype=np.int64)
        table = np.hstack(
            [np.frombuffer(b"".join(keys), dtype="<f8").reshape(-1, _KEY_FLOATS), np.zeros((len(keys), width))]
        )
        table[places >= 0] = before[places[places >= 0]]
        absent = np.flatnonzero(places < 0)
        if len(absent):
            for block in blocks(len(absent), _COMPUTED_AT_ONCE):
                table[absent[block], _KEY_FLOATS:] = compute(absent[block])
            present = set(keys)
            others = [place for own, place in place_of.items() if own not in present][: _OTHERS * len(keys)]
            self.arrays.save(key, np.vstack([table, before[others]]).ravel())
        return table[:, _KEY_FLOATS:]

    def all_pairs(self, what: str, width: int, scores: Floats, sums: Floats) -> AllPairs:
        """Return the largest statistics of the rows: those of the last ranking, changed.

        All scores, [row, query], are defined. `sums`, [row, flip], are the first of the values called `what`, which
        have this width.
        """
        own, flips = self._keys(what, width), sums.shape[1]
        key, (of, found) = self._key("pairs", flips), self.arrays.recent_pairs
        if found and of == (key, own):
            return found
        self.arrays.recent_pairs = None, None  # they take as much memory as what follows
        last, found = _unpacked(self.arrays.load(key)), None
        if last is not None:
            rows, before = last
            if rows == own:
                return before
            change = Change.of(own, rows)
            gone = [self.arrays.load(rows[row]) for row in change.gone.tolist()]
            of_gone = [stored[:flips] for stored in gone if stored is not None and stored.size >= flips]
            if len(of_gone) == len(gone):
                found = before.changed(change, np.array(of_gone).reshape(-1, flips), scores, sums)
        found = found or AllPairs.of(scores, sums)
        keys = np.frombuffer(bytes.fromhex("".join(own)), dtype=np.float64)
        self.arrays.save(key, np.array([len(own), flips]), keys, found.size.ravel(), found.of_each.ravel())
        self.arrays.recent_pairs = (key, own), found
        return found

    def _keys(self, what: str, width: int) -> list[str]:
        of_all, keys = self._hash(what, width), []
        for row in self.rows:
            of_row = of_all.copy()
            of_row.update(row.encode())
            keys.append(of_row.hexdigest())
        return keys

    def _key(self, *parts: object) -> str:
        return self._hash(*parts).hexdigest()

    def _hash(self, *parts: object) -> hashlib._Hash:
        text = json.dumps([code_digest(), self.ranking, parts], ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii"))


def number_of(queries: Ints) -> float:
    """A number for a set of queries that no other set is likely to have."""
    return float(int.from_bytes(hashlib.sha256(queries.astype("<i8").tobytes()).digest()[:6], "little"))


def _unpacked(array: Floats | None) -> tuple[list[str], AllPairs] | None:
    """The keys of the rows and their pairs, which `Kept.all_pairs` has saved; None without them."""
    if array is None or not array.size:
        return None
    count, flips = (int(length) for length in array[:2])
    ends = np.cumsum([2, count * _KEY_FLOATS, count * count]).tolist()
    keys = array[ends[0] : ends[1]].tobytes().hex()
    rows = [keys[start : start + 64] for start in range(0, len(keys), 64)]
    size = array[ends[1] : ends[2]].copy()  # it is needed for longer than the statistics, which are most of the file
    return rows, AllPairs(size.reshape(count, count), array[ends[2] :].reshape(-1, flips))


Na = float | Literal["drop"] | None
"""What a missing value is replaced by; "drop": it is left out; None: it is an error."""


@dataclass(frozen=True, slots=True)
class TaskWords:
    """What texts call a task, its algorithms and its cases."""

    task: str = "task"
    tasks: str = "tasks"

    algorithm: str = "algorithm"
    algorithms: str = "algorithms"
    case: str = "case"
    cases: str = "cases"


@dataclass(frozen=True, eq=False)
class Task:
    """A value of each algorithm on each case. In a challenge: a track, its teams and its queries."""

    name: str
    algorithms: tuple[str, ...]
    cases: tuple[str, ...]
    values: Floats
    """[algorithm, case]; NaN where missing."""
    larger_is_better: bool = True
    means: tuple[float, ...] | None = None
    """The mean of each algorithm, rounded to `decimals`, as it is stored; None: means are computed from the values."""
    ranked: int | None = None
    """How many algorithms the ranking has that these are part of; None: only these."""
    decimals: int | None = None
    """The decimals of the means that decide ranks; None: all digits decide."""
    measure: str = ""
    """The measure of the values; empty if it is not known."""
    bounded: bool = False
    """Whether all values are in [0, 1], as the measure has it."""
    units: Ints | None = None
    """[case]: which cases belong together, by `units.units_within`."""
    judges: TwoJudges | None = None
    """The values by each of two judges, from which `values` follow; None with one."""
    words: TaskWords = TaskWords()
    notes: tuple[str, ...] = ()
    """Sentences about the data, such as what is missing."""
    kept: Kept | None = None
    """What is kept of the algorithms; None: nothing is."""

    @property
    def shown(self) -> Floats:
        """[algorithm, case]: the values to show of single cases; of two judges, those by the first."""
        return self.values if self.judges is None else self.judges.machine

    @property
    def interval_words(self) -> str:
        """How the intervals of differences are found."""
        return "Student's t, " + ("wider where few differ" if self.judges is None else "as both judges vary")

    @property
    def scores(self) -> Floats:
        """The values, with the sign with which larger is better."""
        return self.values if self.larger_is_better else -self.values

    @property
    def sign(self) -> float:
        """1 if larger values are better, otherwise -1."""
        return 1.0 if self.larger_is_better else -1.0


class ExtremeQuery(NamedTuple):
    """A query on which a row is far above or far below the others."""

    query: int
    score: float
    median: float
    """The median of the other ranked rows."""


def without_missing(task: Task, na: Na) -> Task:
    """Return the task with its missing values treated, and with a note about them.

    With "drop", they stay NaN, which the statistics leave out; a case without any value is removed. Raises ScorerError
    if values are missing and `na` is None, or if an algorithm has no value.
    """
    missing = np.isnan(task.values)
    count = int(missing.sum())
    if not count:
        return task
    at, case = (int(index) for index in np.argwhere(missing)[0])
    words = task.words
    which = "that" if count == 1 else "first that"
    found = (
        f"{counted(count, 'value')} of {missing.size:,} {'is' if count == 1 else 'are'} missing, {which} of "
        f"{words.algorithm} {quoted(task.algorithms[at])} on {words.case} {quoted(task.cases[case])}"
    )
    if na is None:
        raise ScorerError(
            f"{words.task} {quoted(task.name)}: {found}; expected a value of each {words.algorithm} on each "
            f"{words.case}. --na NUMBER replaces missing values by a number, --na drop leaves them out"
        )
    if na != "drop":
        note = f"Of the values, {found}. {'It counts' if count == 1 else 'They count'} as {float(na):g}."
        return replace(task, values=np.where(missing, float(na), task.values), notes=(*task.notes, note))
    without = [name for name, row in zip(task.algorithms, missing, strict=True) if row.all()]
    if without:
        raise ScorerError(
            f"{words.task} {quoted(task.name)}: {words.algorithm} {quoted(without[0])} has no value; "
            "remove it, or use --na NUMBER"
        )
    kept = np.atleast_1d(~missing.all(axis=0))
    note = (
        f"Of the values, {found}. {'It is' if count == 1 else 'They are'} left out: a mean is over the {words.cases} "
        f"with a value, and two {words.algorithms} are compared on the {words.cases} that both have."
    )
    cases = tuple(name for name, is_kept in zip(task.cases, kept, strict=True) if is_kept)
    units = units_within(task.units, kept)
    return replace(task, values=task.values[:, kept], cases=cases, units=units, notes=(*task.notes, note))
