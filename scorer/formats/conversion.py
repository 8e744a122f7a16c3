"""Conversion of a file from any format to any other."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Literal

import pyarrow as pa

from scorer.errors import FileError, Findings, SolutionError, SubmissionError
from scorer.formats.detection import DetectedFormat, format_named, opened
from scorer.formats.reading.blocks import Block
from scorer.formats.reading.bytes import UnreadableError
from scorer.formats.writing import SolutionContent, SubmissionContent, UnwritableError
from scorer.options import TieRule
from scorer.paths import shown
from scorer.wording import quoted

Kind = Literal["solution", "submission"]

NAMES: Mapping[str, str] = {
    ".csv": "delimited",
    ".tsv": "delimited:delimiter=tab",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".qrels": "trec",
    ".run": "trec",
}
"""The formats by the suffixes of file names."""


class AmbiguousError(Exception):
    """The file can be read both as a solution and as a submission."""


def converted(
    source: str | os.PathLike[str],
    target: DetectedFormat,
    *,
    kind: Kind | None = None,
    source_format: str | None = None,
    ties: TieRule | None = None,
) -> bytes:
    """Return the file's content in the target's format; the same content gives the same bytes.

    Parameters
    ----------
    kind
        What the file is; None to find out, where it can be read as one of the two only.
    ties
        The order of equal run scores in a format that has no scores.

    Raises
    ------
    FileError
        The file cannot be read; all its errors are reported together.
    UnwritableError
        The target cannot hold the content.
    AmbiguousError
        The kind is not given, and the file can be either.
    """
    findings = Findings()
    try:
        with opened(source, source_format, "from") as (detected, head, rest):
            blocks = list(rest)
    except UnreadableError as error:
        findings.add(error.line, str(error))
        raise FileError(shown(source), findings) from error
    kinds: tuple[Kind, ...] = (kind,) if kind else ("solution", "submission")
    read = {each: _read(detected, head, blocks, each, ties) for each in kinds}
    valid = [content for content, findings in read.values() if content is not None and not findings]
    if len(valid) > 1:
        raise AmbiguousError(f"{shown(source)} can be read as a solution and as a submission; say which it is")
    if not valid:
        # The kind with fewer findings is more likely what the file is meant to be.
        likely = min(read, key=lambda each: read[each][1].count)
        raise (SolutionError if likely == "solution" else SubmissionError)(shown(source), read[likely][1])
    content = valid[0]
    if isinstance(content, SubmissionContent):
        return target.format.write_submission(content, target.options)
    _check_relevance(content, detected, target)
    return target.format.write_solution(content, target.options)


def _read(
    detected: DetectedFormat, head: Block, blocks: Sequence[Block], kind: Kind, ties: TieRule | None
) -> tuple[SolutionContent | SubmissionContent | None, Findings]:
    """Read the blocks as a solution or as a submission; return the content and what is wrong with it."""
    findings = Findings()
    content: SolutionContent | SubmissionContent | None = None
    try:
        if kind == "solution":
            graded = detected.graded(head)
            content = SolutionContent.of([graded(block, findings) for block in blocks], findings)
            empty = not content.grades
        else:
            ranked = detected.ranked(head)
            content = SubmissionContent.of([ranked(block, findings) for block in blocks], ties, findings)
            empty = not content.items
        if empty and not findings:
            findings.add(0, "the file has no rows")
    except UnreadableError as error:
        findings.add(error.line, str(error))
    return content, findings


def _check_relevance(solution: SolutionContent, source: DetectedFormat, target: DetectedFormat) -> None:
    """Raise UnwritableError where an item is relevant in one of the formats only."""
    if source.format.LISTED_IS_RELEVANT == target.format.LISTED_IS_RELEVANT:
        return
    for query, items in solution.grades.items():
        for item, grade in items.items():
            if grade <= 0:
                means = "relevant" if target.format.LISTED_IS_RELEVANT else "not relevant"
                raise UnwritableError(
                    f"item {quoted(item)} of query {quoted(query)} has the grade {grade:g}, which would make it "
                    f"{means} in {target.format.NAME}; leave such items out, or write another format"
                )


def format_of(path: str) -> DetectedFormat | None:
    """Return the format by the suffix of a file's name before that of its compression; None for an unknown suffix."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return format_named(NAMES[suffixes[-1]]) if suffixes and suffixes[-1] in NAMES else None


def _gzip(content: bytes) -> bytes:
    # A time in the header would change the bytes of the same content.
    return gzip.compress(content, mtime=0)


def _xz(content: bytes) -> bytes:
    import lzma  # noqa: PLC0415 (few files need it)

    return lzma.compress(content)


def _zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


COMPRESSIONS: Mapping[str, Callable[[bytes], bytes]] = {".gz": _gzip, ".xz": _xz, ".zst": _zstd}
"""By suffix."""


def compressed(content: bytes, path: str) -> bytes:
    """Return the content compressed as the suffix of the path says."""
    suffix = PurePath(path).suffix.lower()
    return COMPRESSIONS[suffix](content) if suffix in COMPRESSIONS else content
