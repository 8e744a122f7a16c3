"""What the first rows of a file say about it: whether it is a solution or a submission, and the tag of a run."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from scorer.errors import Findings
from scorer.formats import letor, trec
from scorer.formats.detection import SAMPLE_LINES, opened, recognised
from scorer.formats.reading.batches import Batch, Reader
from scorer.formats.reading.blocks import BYTE_ORDER_MARK, Block
from scorer.formats.reading.bytes import UnreadableError, open_bytes
from scorer.options import Role
from scorer.paths import is_regular

if TYPE_CHECKING:
    import io

TAG_BYTES = 1 << 12
"""How much of a file the search for a tag reads."""


def roles(path: str | os.PathLike[str]) -> set[Role]:
    """Return what a file can be, by its first block.

    Nothing if it is invalid as both, if it cannot be read twice, and for LETOR's format, in which the options decide.
    """
    found: set[Role] = set()
    if not is_regular(path):
        return found
    try:
        with opened(path, None, "from") as (detected, head, _):
            if detected.format is not letor:
                if _is_read(detected.graded, head):
                    found.add("solution")
                if _is_read(detected.ranked, head):
                    found.add("submission")
    except UnreadableError:
        pass
    return found


def _is_read(reader: Callable[[Block], Reader[Batch]], head: Block) -> bool:
    """Whether the first block has a row, and all of its rows are valid."""
    findings = Findings()
    try:
        return len(reader(head)(head, findings).query) > 0 and not findings
    except UnreadableError:
        return False


def run_tag(path: str | os.PathLike[str], format_name: str | None = None) -> str | None:
    """Return the tag of a run in TREC's format, which is detected or named: the sixth column of its first row.

    None for a file of another format, and for one that cannot be read twice, such as standard input.
    """
    if not is_regular(path) or format_name not in (None, trec.NAME):
        return None
    try:
        start = _start(path)
    except (UnreadableError, OSError, EOFError, zlib.error):
        return None
    text = start.removeprefix(BYTE_ORDER_MARK).decode("utf-8", errors="replace")
    if len(start) == TAG_BYTES:
        text = text.rpartition("\n")[0]  # the last line may go on
    lines = [line for line in text.split("\n") if line.strip()][:SAMPLE_LINES]
    detected = recognised(lines, "from") if format_name is None else None
    if format_name is None and (detected is None or detected.format is not trec):
        return None
    rows = (line.split() for line in lines if not line.startswith("#"))
    first = next(rows, [])
    return first[trec.RUN_COLUMNS - 1] if len(first) >= trec.RUN_COLUMNS else None


def _start(path: str | os.PathLike[str]) -> bytes:
    """Return the first `TAG_BYTES` of a file after decompression, without expanding more of it."""
    parts, wanted = [], TAG_BYTES
    with open_bytes(path) as stream:
        while wanted and (part := cast("io.BufferedReader", stream).read1(wanted)):
            parts.append(part)
            wanted -= len(part)
    return b"".join(parts)
