"""Excluded items: those that are removed from the lists of a submission before ranks are assigned."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, SolutionError
from scorer.formats.detection import opened, roles
from scorer.formats.reading import compute as pc
from scorer.formats.reading import memory
from scorer.formats.reading.arrow import booleans, coded, joined, take
from scorer.formats.reading.batches import Graded, Ranked
from scorer.formats.reading.bytes import UnreadableError
from scorer.measures.arrays import Bools
from scorer.options import SELF
from scorer.paths import shown


class ExcludedPairs(NamedTuple):
    """A list of excluded items: pairs of ids."""

    query: pa.StringArray
    item: pa.StringArray


Excluded = ExcludedPairs | Literal["self"]
"""A list, or for each query the item that has its id."""

Listed = str | os.PathLike[str] | Mapping[str, Sequence[str] | Set[str]]

Exclude = Listed | ExcludedPairs
"""What to exclude: "self", the path or the URL of a list, a dict query -> items, or a list that has been read."""


def excluded(exclude: Exclude | None) -> Excluded | None:
    """Return what to exclude, after a list is read. Raises SolutionError if it cannot be read or is invalid."""
    if exclude is None or isinstance(exclude, ExcludedPairs):
        return exclude
    return SELF if exclude == SELF else excluded_pairs(exclude)


def excluded_pairs(listed: Listed) -> ExcludedPairs:
    """Return the pairs in a list, as `excluded` does. The format of a file is any of a submission or of qrels."""
    findings, name = Findings(), "the excluded items"
    batches: list[Ranked | Graded] = []
    try:
        if isinstance(listed, str | os.PathLike):
            name = shown(listed)
            with opened(listed, None, "exclude") as (detected, head, content):
                read = detected.graded(head) if roles(listed) == {"solution"} else detected.ranked(head)
                batches = [read(block, findings) for block in content]
        else:
            if isinstance(listed, Mapping):
                listed = {query: [*ids] if isinstance(ids, Set) else ids for query, ids in listed.items()}
            batches = [memory.ranked(listed, findings)]
    except UnreadableError as error:
        findings.add(error.line, str(error))
    if findings:
        raise SolutionError(name, findings)
    query = joined(take(batch.query, batch.row_of_item) for batch in batches)
    return ExcludedPairs(query, joined(batch.item for batch in batches))


def is_excluded(excluded: Excluded, query: pa.StringArray, item: pa.StringArray) -> Bools:
    """Whether each item is excluded for the query next to it."""
    if excluded == SELF:
        return booleans(pc.equal(query, item))
    query_code, _ = coded([excluded.query, query])
    item_code, ids = coded([excluded.item, item])
    pair, listed = query_code * len(ids) + item_code, len(excluded.query)
    return np.isin(pair[listed:], pair[:listed])
