"""convert(): a solution or a submission, from any format or from memory, to a file of any format."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal

import pyarrow as pa

from scorer.errors import ConversionError, FileError, Findings, ScorerError, SolutionError, SubmissionError
from scorer.files import shown
from scorer.lists.detection import DetectedFormat, format_named, opened
from scorer.lists.formats import SolutionContent, SubmissionContent, UnwritableError
from scorer.lists.ranked_lists import RankedLists
from scorer.lists.reading import memory
from scorer.lists.reading.arrow import take
from scorer.lists.reading.blocks import Ranked, UnreadableError, findings_about, reported
from scorer.options import TIE_RULE, TieRule
from scorer.wording import printable, quoted

FileKind = Literal["solution", "submission"]
FILE_KINDS: tuple[FileKind, ...] = ("solution", "submission")

_NAMES: Mapping[str, str] = {
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

_KINDS: Mapping[str, FileKind] = {".qrels": "solution", ".run": "submission"}


_Source = str | os.PathLike[str] | memory.MemorySource


def convert(
    source: _Source,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    kind: FileKind | None = None,
    source_format: str | None = None,
    target_format: str | None = None,
    ties: TieRule | None = None,
    best_of: str | None = None,
) -> None:
    """Write a solution or a submission in another format.

    Parameters
    ----------
    source
        A path or a URL, or anything in memory that `evaluate` takes: a table, a dict, or rows.
    target
        The file to write, which is replaced; .gz, .zst or .xz at the end of its name compresses it. Or a binary stream.
    kind
        What the source is, "solution" or "submission"; None: the one of the two that it can be read as, or if it can be
        both, what the target is called: .qrels is a solution, .run a submission.
    source_format
        The format of the source, with options as in "delimited:query=session,item=track"; None: it is detected.
    target_format
        The format to write, with options; None: the name of the target determines it.
    ties
        The order of equal run scores in a format without run scores: "trec" (by item id, descending) or "order" (as
        listed); None: equal scores are an error.
    best_of
        The mark after the document in the ids of passages, as "#": a run of passages becomes one of documents, each by
        its best passage (MaxP).

    Raises
    ------
    ConversionError
        A setting is not an allowed word, or is needed: the name of the target does not determine the format, or the
        source can be read as a solution and as a submission. Also a ValueError.
    SolutionError, SubmissionError, FileError
        The source cannot be read or is invalid.
    ScorerError
        The format cannot hold the content, or the target cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> import scorer
    >>> scorer.convert({"q1": ["d2", "d1"]}, "lists.run")
    >>> print(Path("lists.run").read_text(), end="")
    q1 Q0 d2 1 2 scorer
    q1 Q0 d1 2 1 scorer
    >>> scorer.convert("lists.run", "lists.parquet")
    >>> scorer.convert({"q1": {"d1": 1}}, "solution.jsonl.gz", kind="solution")
    """
    for setting, value, allowed in (("kind", kind, FILE_KINDS), ("ties", ties, tuple(TIE_RULE.values))):
        if value is not None and value not in allowed:
            raise ConversionError(setting, f"expected {' or '.join(map(quoted, allowed))}; found {value!r}")
    if source_format is not None:
        _named("source_format", source_format)
    where = shown(target) if isinstance(target, str | os.PathLike) else "the target"
    form = _target_format(target, target_format)
    likely = _KINDS.get(_suffix(os.fspath(target))) if isinstance(target, str | os.PathLike) else None
    content, listed_is_relevant = _content(source, source_format, kind, ties, likely)
    try:
        if isinstance(content, SubmissionContent):
            content = content.best_of(best_of) if best_of else content
            written = form.format.write_submission(content, form.options)
        else:
            _check_relevance(content, form, listed_is_relevant=listed_is_relevant)
            written = form.format.write_solution(content, form.options)
    except UnwritableError as error:
        raise ScorerError(f"{printable(where)}: {error}") from error
    if not isinstance(target, str | os.PathLike):
        target.write(written)
        return
    try:
        Path(target).write_bytes(compressed(written, os.fspath(target)))
    except OSError as error:
        raise ScorerError(f"{printable(where)}: cannot be written: {error.strerror or error}") from error


def _named(setting: str, name: str) -> DetectedFormat:
    try:
        return format_named(name)
    except UnreadableError as error:
        raise ConversionError(setting, str(error)) from error


def _target_format(target: object, name: str | None) -> DetectedFormat:
    """The format that is requested, or that the name of the file determines."""
    if name is not None:
        return _named("target_format", name)
    if not isinstance(target, str | os.PathLike):
        if not hasattr(target, "write"):
            raise ConversionError("target", f"found a {type(target).__name__}; expected a path or a binary stream")
        raise ConversionError("target_format", "name the format to write; a stream does not determine it")
    detected = format_by_suffix(os.fspath(target))
    if detected is None:
        raise ConversionError(
            "target_format",
            f"the name {printable(shown(target))} does not determine the format ({', '.join(_NAMES)} would); name it",
        )
    return detected


def _content(
    source: _Source, source_format: str | None, kind: FileKind | None, ties: TieRule | None, likely: FileKind | None
) -> tuple[SolutionContent | SubmissionContent, bool]:
    """Return the source's content, and whether listed items of any grade are relevant in it.

    `likely` is the kind of a source that can be both. Raises FileError where the source cannot be read, and
    ConversionError where the kind is not given and the source can be either.
    """
    where = shown(source) if isinstance(source, str | os.PathLike) else "the source"
    batches, listed_is_relevant = _batches(source, source_format, where)
    found: dict[FileKind, Findings] = {each: Findings() for each in ((kind,) if kind else FILE_KINDS)}
    contents: dict[FileKind, SolutionContent | SubmissionContent] = {}
    for each, findings in found.items():
        with reported(findings):
            rows = batches(each, findings)
            if not any(len(batch.query) for batch in rows) and not findings:
                findings.add(0, "the file has no rows")
            if each == "solution":
                contents[each] = SolutionContent.of(rows, findings)
            else:
                contents[each] = submission_content(rows, ties, findings)
    valid = {each: content for each, content in contents.items() if not found[each]}
    if len(valid) > 1 and likely is None:
        raise ConversionError(
            "kind", f'{where} can be read as a solution and as a submission; name one, "solution" or "submission"'
        )
    if not valid:
        # The kind with fewer findings is more likely what the source is meant to be.
        meant = min(found, key=lambda each: found[each].count)
        raise (SolutionError if meant == "solution" else SubmissionError)(where, found[meant])
    return valid[likely] if likely in valid else next(iter(valid.values())), listed_is_relevant


Batches = Callable[[FileKind, Findings], Sequence[Any]]
"""Returns the source as graded or ranked batches, and adds what is wrong with it. Raises UnreadableError."""


def _batches(source: _Source, source_format: str | None, where: str) -> tuple[Batches, bool]:
    """Return how the source is read as either kind, and whether listed items of any grade are relevant in it."""
    if not isinstance(source, str | os.PathLike):
        if source_format is not None:
            raise ConversionError("source_format", "it is for files; the source is in memory")
        held = list(source) if isinstance(source, Iterator) else source  # which is read twice
        reader = {"solution": memory.graded_of, "submission": memory.ranked_of}
        return lambda kind, findings: [reader[kind](held, findings)], False
    with findings_about(where, FileError), opened(source, source_format, "from") as (detected, head, rest):
        blocks = list(rest)

    def batches(kind: FileKind, findings: Findings) -> Sequence[Any]:
        read = detected.graded(head) if kind == "solution" else detected.ranked(head)
        return [read(block, findings) for block in blocks]

    return batches, detected.is_vlnet


def submission_content(batches: Sequence[Ranked], ties: TieRule | None, findings: Findings) -> SubmissionContent:
    """Return the lists in the batches; equal ranks in a list become findings."""
    lists = RankedLists.of(batches)
    lists.report_repeated_ranks(findings)
    queries, parts = lists.queries.to_pylist(), [*pairwise(lists.start.tolist())]

    def by_query(values: list[Any]) -> dict[str, list[Any]]:
        return {query: values[start:end] for query, (start, end) in zip(queries, parts, strict=True)}

    items, scores = by_query(take(lists.items, lists.order).to_pylist()), None
    if lists.run_score is not None and not lists.by_rank:
        scores = by_query((lists.run_score[lists.order] + 0.0).tolist())  # -0.0 becomes 0.0
    return SubmissionContent(items, scores, ties)


def _check_relevance(solution: SolutionContent, target: DetectedFormat, *, listed_is_relevant: bool) -> None:
    """Raise UnwritableError where an item is relevant in the source or in the target only."""
    if listed_is_relevant == target.is_vlnet:
        return
    for query, items in solution.grades.items():
        for item, grade in items.items():
            if grade <= 0:
                means = "relevant" if target.is_vlnet else "not relevant"
                raise UnwritableError(
                    f"item {quoted(item)} of query {quoted(query)} has the grade {grade:g}, which would make it "
                    f"{means} in {target.format.NAME}; leave such items out, or write another format"
                )


def format_by_suffix(path: str) -> DetectedFormat | None:
    """Return the format by the suffix of a file's name before that of its compression; None for an unknown suffix."""
    suffix = _suffix(path)
    return format_named(_NAMES[suffix]) if suffix in _NAMES else None


def _suffix(path: str) -> str:
    """The suffix in lower case, that before the suffix of a compression."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


COMPRESSIONS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),  # a time in the header would change the bytes of the same content
    ".xz": lambda content: bytes(import_module("lzma").compress(content)),
    ".zst": lambda content: bytes(pa.Codec("zstd").compress(content, asbytes=True)),
}
"""By suffix."""


def compressed(content: bytes, path: str) -> bytes:
    """Return the content compressed as the suffix of the path says."""
    suffix = PurePath(path).suffix.lower()
    return COMPRESSIONS[suffix](content) if suffix in COMPRESSIONS else content
