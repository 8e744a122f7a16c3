"""The rows of a solution with subtopics, which has an item once for each of its subtopics, as one entry an item."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats.reading import compute as pc
from scorer.formats.reading.arrow import integers, texts
from scorer.formats.reading.batches import Graded, subtopics
from scorer.measures import Measure
from scorer.measures.arrays import Floats, Ints, ranges
from scorer.measures.matched import Subtopics
from scorer.wording import counted, quoted


class Iterations(NamedTuple):
    """The column iteration of a solution, which has subtopics, or something else, such as rounds."""

    names: Sequence[str] = ()
    """Its values, each once; none without such a column."""
    repeated: Findings = Findings()
    """The items that are listed again with another iteration: errors, unless a measure uses subtopics."""

    @classmethod
    def of(cls, batches: Sequence[Graded], merged: MergedRows | None, repeated: Findings) -> Iterations:
        """Return what the rows say about the column."""
        if not any(batch.is_iteration and batch.subtopic is not None for batch in batches):
            return cls()
        return cls(["0"] if merged is None else pc.unique(merged.names).to_pylist(), repeated)

    def note(self, measures: Iterable[Measure]) -> str:
        """Return which measures use the column as subtopics although it does not look like them; "" without any."""
        using = ", ".join(str(measure) for measure in measures if measure.kind.subtopics)
        odd = next((name for name in self.names if not name.isdecimal()), None)
        if not (using and self.names) or (odd is None and self.repeated):
            return ""
        read = f"{counted(len(self.names), 'subtopic')} read from the column iteration"
        doubt = "no item has several" if odd is None else f"{quoted(odd)} is no whole number"
        return f"{using}: {read}, which does not look like subtopics: {doubt}"


NO_ITERATIONS = Iterations()


@dataclass(frozen=True, slots=True, eq=False)
class MergedRows:
    """The rows of a solution with subtopics. An entry is a query and an item; entries are in the order of the file."""

    row: Ints
    """[entry]: its first row."""
    grade: Floats
    """[entry]: the highest grade of its subtopics."""
    repeated: Ints
    """The rows whose entry has their subtopic already, ascending."""
    names: pa.StringArray
    """[row]: the subtopic."""
    code: Ints
    """[row]: the number of the subtopic in the whole solution."""
    pairs: Ints
    """[pair]: the rows by entry, then by subtopic."""
    first: Ints
    """[entry + 1]: the index in `pairs` at which each entry begins, and the end of the last one."""

    @classmethod
    def of(cls, batches: Sequence[Graded], key: Ints, grade: Floats) -> MergedRows | None:
        """Return the merged rows; None without subtopics. `key` is [row]: equal for the same query and item."""
        names = subtopics(batches)
        if names is None:
            return None
        # Sorted by length first, numbers ascend.
        known = sorted(pc.unique(names).to_pylist(), key=lambda name: (len(name), name))
        code = integers(pc.index_in(names, value_set=texts(known)))
        by_key = np.lexsort((code, key))
        new = np.append(True, key[by_key][1:] != key[by_key][:-1])
        again = np.append(False, code[by_key][1:] == code[by_key][:-1]) & ~new
        start = np.flatnonzero(new)
        row = np.minimum.reduceat(by_key, start)
        in_file = np.argsort(row)
        lengths = np.diff(start, append=by_key.size)[in_file]
        pair, _ = ranges(start[in_file], start[in_file] + lengths)
        return cls(
            row=row[in_file],
            grade=np.maximum.reduceat(grade[by_key], start)[in_file],
            repeated=np.sort(by_key[again]),
            names=names,
            code=code,
            pairs=by_key[pair],
            first=np.append(0, np.cumsum(lengths)),
        )

    def subtopics(self, entry: Ints, query: Ints, item: Ints, id_order: Ints, grade: Floats) -> Subtopics:
        """Return the subtopics of entries in the order of `entry`; `query`, ascending, and `item` are [entry, in this
        order].

        `id_order` is [item]: its index among the ids in ascending order of their bytes. `grade` is [row].
        """
        start, stop = self.first[entry], self.first[entry + 1]
        pair, owner = ranges(start, stop)
        rows = self.pairs[pair]
        count = int(self.code.max()) + 1
        known, number = np.unique(query[owner] * count + self.code[rows], return_inverse=True)
        by_id = np.lexsort((-id_order[item], query))
        id_rank = np.empty_like(by_id)
        id_rank[by_id] = np.arange(by_id.size) - np.searchsorted(query, query) + 1
        return Subtopics(
            first=np.append(0, np.cumsum(stop - start)),
            subtopic=number - np.searchsorted(known, query[owner] * count),
            grade=grade[rows],
            id_rank=id_rank,
        )
