"""The formats of solutions and submissions, and how a file's format is told.

Each module is one format: how its lines read is all that it knows. To add one, write such a module (see
`rows.Format`) and put it into FORMATS.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Literal

from scorer.errors import quoted
from scorer.formats import delimited, trec, vlnet
from scorer.formats.rows import Format, Graded, Ranked
from scorer.formats.text import Block, Digest, Unreadable, blocks, open_bytes

FORMATS: dict[str, Format] = {module.NAME: module for module in (delimited, trec, vlnet)}
"""By name, in the order in which they are tried."""

Setting = Literal["solution_format", "submission_format"]

SAMPLE_LINES = 20
SAMPLE_BYTES = 1 << 16

__all__ = ["FORMATS", "Block", "Format", "Graded", "Ranked", "Unreadable", "opened"]


@contextmanager
def opened(
    path: str | os.PathLike[str], name: str | None, setting: Setting, digest: Digest | None = None
) -> Iterator[tuple[Format, Block, Iterator[Block]]]:
    """The file's format, its first block that is not blank, and all blocks from that one on.

    `name` is the format's, or None to tell it from the content; `setting` is what it is named by, for the message
    where it cannot be told. All bytes of the file go into `digest`. Raises Unreadable.
    """
    with open_bytes(path, digest) as stream:
        rest = blocks(stream)
        first = next((block for block in rest if block.content.strip()), None)
        if first is None:
            raise Unreadable("the file is empty")
        yield _named(name) if name else _told(first, setting), first, chain([first], rest)


def _named(name: str) -> Format:
    if name not in FORMATS:
        raise Unreadable(f"no format is called {quoted(name)}; there are {', '.join(FORMATS)}")
    return FORMATS[name]


def _told(first: Block, setting: Setting) -> Format:
    """The format that recognises the file's first lines."""
    sample = first.content[:SAMPLE_BYTES].decode("utf-8", errors="ignore").splitlines()
    lines = [line.strip("\r\n") for line in sample if line.strip()][:SAMPLE_LINES]
    example = "SOLUTION" if setting == "solution_format" else "SUBMISSION"
    for known in FORMATS.values():
        if known.recognises(lines):
            return known
    looks = ", ".join(f"{getattr(known, example)} ({name})" for name, known in FORMATS.items())
    raise Unreadable(
        f"the format cannot be told from {quoted(lines[0])}; expected lines like {looks}; "
        f"to name it: --{setting.replace('_', '-')} NAME, or {setting} in challenge.toml",
        first.first_line,
    )
