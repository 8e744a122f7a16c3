"""The fast reader of each format compared with its reader by lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from scorer.errors import Findings
from scorer.lists.detection import format_named
from scorer.lists.reading.blocks import Block, Graded, Ranked, UnreadableError, checked_utf8, subtopics

Read = tuple[object, ...]


def read(content: bytes, name: str, *, solution: bool) -> Read:
    """Return all that the format reads from the content: rows with their lines, or findings, or the error."""
    findings, note = Findings(), None
    try:
        head = Block(checked_utf8(content, 1), 1)
        detected = format_named(name)
        batch: Graded | Ranked
        if solution:
            batch = detected.graded(head)(head, findings)
            values: tuple[np.ndarray | None, ...] = (batch.grade, batch.flag)
        else:
            batch = detected.ranked(head)(head, findings)
            values = (batch.run_score, batch.rank)
            note = batch.note
    except UnreadableError as error:
        return ("unreadable", str(error), error.line)
    if findings:
        # Rows of an invalid file are not used.
        return ("invalid", findings.count, *map(str, findings))
    named = subtopics([batch]) if isinstance(batch, Graded) else None
    texts = (batch.query.to_pylist(), batch.item.to_pylist(), None if named is None else named.to_pylist())
    # repr tells -0.0 from 0.0.
    numbers = [None if each is None else repr(each.tolist()) for each in (*values, batch.line, batch.row_of_item)]
    return ("valid", texts, numbers, note)


@contextmanager
def by_lines() -> Iterator[None]:
    """Switch all fast readers off."""
    with (
        patch("scorer.lists.reading.tables.split_columns", lambda *_, **__: None),
        patch("scorer.lists.reading.tables.members", lambda *_: None),
        patch("scorer.lists.formats.vlnet._is_plain", lambda *_: False),
    ):
        yield


def agree(content: bytes, name: str) -> None:
    """Compare both readers, on the content as a solution and as a submission."""
    for solution in (False, True):
        fast = read(content, name, solution=solution)
        with by_lines():
            slow = read(content, name, solution=solution)
        assert fast == slow
