"""fuse(): several runs as one, as a table or as a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar, overload

import pyarrow as pa

from scorer.errors import FusionError, ScorerError
from scorer.formats import trec
from scorer.formats.conversion import format_of
from scorer.formats.detection import DetectedFormat, format_named
from scorer.formats.reading.bytes import UnreadableError
from scorer.formats.reading.memory import Table
from scorer.formats.writing import UnwritableError
from scorer.runs.aligned import AlignedRuns
from scorer.runs.alignment import for_each_part
from scorer.runs.fused import Counts, FusedLists, Fusion
from scorer.runs.methods import Given
from scorer.runs.reading import Run, Runs, runs_of
from scorer.runs.writing import written_to
from scorer.wording import printable

Content = TypeVar("Content")


@overload
def fuse(
    runs: Runs,
    method: str = ...,
    norm: str | None = ...,
    *,
    depth: int | None = ...,
    to: None = ...,
    to_format: str | None = ...,
    submission_format: str | None = ...,
    **parameters: Given,
) -> Table: ...


@overload
def fuse(
    runs: Runs,
    method: str = ...,
    norm: str | None = ...,
    *,
    depth: int | None = ...,
    to: str | os.PathLike[str],
    to_format: str | None = ...,
    submission_format: str | None = ...,
    **parameters: Given,
) -> None: ...


def fuse(
    runs: Runs,
    method: str = "rrf",
    norm: str | None = None,
    *,
    depth: int | None = None,
    to: str | os.PathLike[str] | None = None,
    to_format: str | None = None,
    submission_format: str | None = None,
    **parameters: Given,
) -> Table | None:
    """Fuse two or more runs into one.

    Parameters
    ----------
    runs
        A list of runs, or a dict of runs by name: each a path or anything else that `evaluate` takes as a submission.
        A run without run scores gives its items the scores n, ..., 2, 1. A run that does not have a query of another
        run is treated as if its list were empty. An item that is repeated in a list counts once, at its first rank.
    method
        The name of a fusion method, as "rrf", "sum", "mnz", "wsum" or "condorcet"; `scorer fuse --help` lists them.
    norm
        How run scores are normalised, list by list, for a method that uses them: "min-max" (the default), "max", "sum",
        "zmuv", "rank", "borda", "min-max-inverted" or "none".
    depth
        The number of items to keep in each fused list; None: all.
    to
        The file to write; its name determines the format and the compression. None: return a table.
    to_format
        The format to write, if the name does not determine it; for an unknown name it is a TREC run.
    submission_format
        The format of the runs, with options as in "letor:feature=21"; None: it is detected.
    **parameters
        The parameters of the method, as ``k=60`` or ``weights=[0.7, 0.3]``.

    Returns
    -------
    pyarrow.Table or None
        A row for each item, with query, item, score and rank, which `evaluate` takes as a submission; None where a file
        was written. Scores descend in each list; equal scores are ordered by item id, descending.

    Raises
    ------
    FusionError
        There is no such method, normalisation or parameter, or there are fewer than two runs.
    SubmissionError
        A run cannot be read or is invalid.
    ScorerError
        The file cannot be written, or fused scores are too large.
    """
    named = runs_of(runs, submission_format)
    fusion = Fusion.named(method, norm, parameters, len(named))
    check_depth(depth)
    if to is None:
        tables: list[pa.Table] = []
        fuse_parts(named, fusion, depth, FusedLists.table, tables.append, tables.clear)
        fused: Table = pa.concat_tables(tables)
        return fused
    fuse_to(named, fusion, depth, Path(to), target_format(os.fspath(to), to_format))
    return None


def check_depth(depth: int | None) -> None:
    """Raise FusionError unless the depth is a number of items."""
    if depth is not None and depth < 1:
        raise FusionError(f"depth: expected 1 or more items; found {depth}")


def target_format(path: str, name: str | None) -> DetectedFormat:
    """The format of this name, or that the suffix of the path determines; TREC's for other suffixes."""
    try:
        if name is not None:
            return format_named(name)
        detected = format_of(path)
        return format_named(trec.NAME) if detected is None else detected
    except UnreadableError as error:
        raise FusionError(str(error)) from error


def fuse_parts(
    runs: Sequence[Run],
    fusion: Fusion,
    depth: int | None,
    content: Callable[[FusedLists], Content],
    receive: Callable[[Content], None],
    restart: Callable[[], None],
) -> Counts:
    """Fuse runs, some queries at a time; threads make the content of fused lists that `receive` gets.

    The other parameters are those of `FusedLists.of` and of `for_each_part`.
    """
    counts: list[Counts] = []

    def fused(part: AlignedRuns) -> tuple[Content, Counts]:
        lists = FusedLists.of(part, fusion, depth)
        return content(lists), lists.counts

    def received(result: tuple[Content, Counts]) -> None:
        receive(result[0])
        counts.append(result[1])

    def restarted() -> None:
        restart()
        counts.clear()

    for_each_part(runs, fused, received, restarted)
    return sum(counts, start=Counts())


def fuse_to(
    runs: Sequence[Run], fusion: Fusion, depth: int | None, target: Path | BinaryIO, form: DetectedFormat
) -> Counts:
    """Fuse runs into a file, which is complete or not written at all. Raises ScorerError where it cannot be written."""
    where = printable(str(target)) if isinstance(target, Path) else "standard output"
    try:
        with written_to(target, form) as sink:
            return fuse_parts(runs, fusion, depth, sink.prepared, sink.write, sink.restart)
    except UnwritableError as error:
        raise ScorerError(f"{where}: {error}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ScorerError(f"{where}: cannot be written: {error.strerror or error}") from error
