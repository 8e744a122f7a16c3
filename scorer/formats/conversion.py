"""From any format to any: a file's bytes in another format, or the reason why that cannot hold them."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Literal

import pyarrow as pa

from scorer.errors import FileError, Findings, SolutionError, SubmissionError
from scorer.formats.detection import DetectedFormat, format_named, opened
from scorer.formats.reading.batches import Graded, Ranked
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
"""The formats that the ends of names stand for."""


class AmbiguousError(Exception):
    """Whether the file is a solution or a submission cannot be told."""


def converted(
    source: str | os.PathLike[str],
    target: DetectedFormat,
    *,
    kind: Kind | None = None,
    source_format: str | None = None,
    ties: TieRule | None = None,
) -> bytes:
    """The file's content in the target's format; the same content gives the same bytes.

    Parameters
    ----------
    kind
        What the file is; None where it can be read as one of the two only.
    ties
        How to order equal run scores for a format that has no scores.

    Raises
    ------
    FileError
        The file cannot be read, with all that is wrong in it.
    Unwritable
        The target cannot hold what the file has.
    AmbiguousError
        It could be a solution as well as a submission.
    """
    findings = Findings()
    try:
        with opened(source, source_format, "from") as (told, head, rest):
            blocks = list(rest)
    except UnreadableError as error:
        findings.add(error.line, str(error))
        raise FileError(shown(source), findings) from error
    tried = {each: _read(told, head, blocks, each) for each in ((kind,) if kind else ("solution", "submission"))}
    fit = [each for each, (_, _, found) in tried.items() if not found]
    if len(fit) > 1:
        raise AmbiguousError(f"{shown(source)} can be read as a solution and as a submission; say which it is")
    if not fit:
        # What it was meant for is told by what fits more of it.
        likely = min(tried, key=lambda each: tried[each][2].count)
        fault = SolutionError if likely == "solution" else SubmissionError
        raise fault(shown(source), tried[likely][2])
    graded, ranked, _ = tried[fit[0]]
    return _solution(graded, told, target) if fit[0] == "solution" else _submission(ranked, target, ties)


def _read(
    told: DetectedFormat, head: Block, blocks: Sequence[Block], kind: Kind
) -> tuple[list[Graded], list[Ranked], Findings]:
    """The blocks as a solution or as a submission, and what is wrong with them as such."""
    findings = Findings()
    graded: list[Graded] = []
    ranked: list[Ranked] = []
    try:
        if kind == "solution":
            read_graded = told.graded(head)
            graded = [read_graded(block, findings) for block in blocks]
            SolutionContent.of(graded, findings)
        else:
            read_ranked = told.ranked(head)
            ranked = [read_ranked(block, findings) for block in blocks]
            SubmissionContent.of(ranked, None, findings)
    except UnreadableError as error:
        findings.add(error.line, str(error))
    rows = sum(len(batch.query) for batch in graded) + sum(len(batch.query) for batch in ranked)
    if not findings and not rows:
        findings.add(0, "the file has no rows")
    return graded, ranked, findings


def _solution(batches: Sequence[Graded], source: DetectedFormat, target: DetectedFormat) -> bytes:
    solution = SolutionContent.of(batches, Findings())
    if source.LISTED_IS_RELEVANT != target.LISTED_IS_RELEVANT:
        for query, items in solution.grades.items():
            for item, grade in items.items():
                if grade <= 0:
                    means = "right" if target.LISTED_IS_RELEVANT else "not relevant"
                    raise UnwritableError(
                        f"item {quoted(item)} of query {quoted(query)} has the grade {grade:g}, which would make it "
                        f"{means} in {target.form.NAME}; leave such items out, or write another format"
                    )
    return target.form.write_solution(solution, target.options)


def _submission(batches: Sequence[Ranked], target: DetectedFormat, ties: TieRule | None) -> bytes:
    return target.form.write_submission(SubmissionContent.of(batches, ties, Findings()), target.options)


def format_of(path: str) -> DetectedFormat | None:
    """The format that a file's name stands for, whatever it is compressed with; None where it stands for none."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return format_named(NAMES[suffixes[-1]]) if suffixes and suffixes[-1] in NAMES else None


def _gzip(content: bytes) -> bytes:
    # Without the time, which would make other bytes of the same content.
    return gzip.compress(content, mtime=0)


def _xz(content: bytes) -> bytes:
    import lzma  # noqa: PLC0415 (few files need it)

    return lzma.compress(content)


def _zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


COMPRESSIONS: Mapping[str, Callable[[bytes], bytes]] = {".gz": _gzip, ".xz": _xz, ".zst": _zstd}
"""By the end of a file's name."""


def compressed(content: bytes, path: str) -> bytes:
    """The content as the file's name asks for it."""
    suffix = PurePath(path).suffix.lower()
    return COMPRESSIONS[suffix](content) if suffix in COMPRESSIONS else content
