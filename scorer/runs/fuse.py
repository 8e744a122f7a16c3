"""fuse(): several runs as one, as a table or as a file."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, overload

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, FusionError, ScorerError
from scorer.files.writing import temporary_folder
from scorer.lists.conversion import format_by_suffix, submission_content
from scorer.lists.detection import DetectedFormat, format_named
from scorer.lists.formats import UnwritableError, fitting, parquet, trec
from scorer.lists.reading.arrow import from_numpy, pc, take, text_buffers, texts
from scorer.lists.reading.blocks import Ranked, UnreadableError
from scorer.lists.reading.memory import PyarrowTable
from scorer.measures.matched import Floats, Ints
from scorer.runs import AlignedRuns, Run, Runs, by_id_within_ties, for_each_part, fusion, runs_of
from scorer.runs.fusion import GivenParameter, Method, Normalisation, Weights
from scorer.wording import counted, printable, quoted, suggestion

_ROWS = 1 << 20
"""The rows that are turned into text at a time."""

_UNFIT = np.isin(np.arange(256), [0xEF, *b"\0\t\n\v\f\r #"])
"""[byte]: whether TREC's format may not hold an id with this byte."""


class Sink:
    """A file that is being written. Several threads may call `prepared` at the same time.

    This one takes any format, and writes the file at the end.
    """

    def __init__(self, stream: BinaryIO, form: DetectedFormat) -> None:
        self._stream, self._form = stream, form
        self.counts = FusedCounts()
        self._batches: list[Ranked] = []

    def prepared(self, rows: pa.RecordBatch) -> Any:
        """Return the content that the rows of some lists become."""
        return Ranked(rows["query"], np.arange(rows.num_rows), None, rows["item"], rows["score"].to_numpy())

    def write(self, content: Any) -> None:
        """Write content after that which was written before."""
        self._batches.append(content)

    def append(self, part: tuple[Any, FusedCounts]) -> None:
        """Write the content of a part of the lists, and count what it has."""
        content, counts = part
        self.write(content)
        self.counts += counts

    def clear(self) -> None:
        """Forget everything that was written."""
        self._stream.seek(0)
        self._stream.truncate()
        self.counts, self._batches = FusedCounts(), []

    def finish(self) -> None:
        """Write what is still to be written."""
        # Equal scores are in the order of their ids already.
        content = submission_content(self._batches, "order", Findings())
        self._stream.write(self._form.format.write_submission(content, self._form.options))


class _TrecSink(Sink):
    """A run in TREC's format."""

    def prepared(self, rows: pa.RecordBatch) -> list[memoryview]:
        return list(trec_lines(rows))

    def write(self, content: list[memoryview]) -> None:
        self._stream.writelines(content)

    def finish(self) -> None:
        pass


class _ParquetSink(Sink):
    """A Parquet file with columns query, item, score and rank."""

    _writer: Any = None

    def prepared(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        for column, what in (("query", "a query"), ("item", "an item")):
            if (np.diff(text_buffers(rows[column])[0]) == 0).any():
                fitting([""], parquet.EMPTY, what, parquet.NAME)
        return rows.rename_columns([self._form.options.get(name, name) for name in rows.schema.names])

    def write(self, content: pa.RecordBatch) -> None:
        from pyarrow import parquet as arrow  # noqa: PLC0415 (few files need it)

        if self._writer is None:
            self._writer = arrow.ParquetWriter(self._stream, content.schema)
        self._writer.write_batch(content)

    def clear(self) -> None:
        self._writer = None
        super().clear()

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


SINKS: Mapping[str, type[Sink]] = {trec.NAME: _TrecSink, parquet.NAME: _ParquetSink}
"""For the formats that need not be written as a whole."""


@contextmanager
def written_to(target: Path | BinaryIO, form: DetectedFormat) -> Iterator[Sink]:
    """Write a file by way of a temporary one, so that nothing is written where an error ends the block.

    The suffix of a path determines its compression. Raises UnwritableError where the format cannot hold an id, and
    OSError where the file cannot be written.
    """
    regular = isinstance(target, Path) and (target.is_file() or not target.exists())
    with temporary_folder(target.parent if regular and isinstance(target, Path) else None) as folder:
        file = folder / "fused"
        with file.open("w+b") as stream:
            sink = SINKS.get(form.format.NAME, Sink)(stream, form)
            yield sink
            sink.finish()
        if not isinstance(target, Path):
            with file.open("rb") as stream:
                shutil.copyfileobj(stream, target)
            return
        packed = _packed(file, target.suffix.lower())
        if regular:
            packed.replace(target)
            return
        # A device or a pipe, such as /dev/stdout.
        with packed.open("rb") as stream, target.open("wb") as device:
            shutil.copyfileobj(stream, device)


def _packed(file: Path, suffix: str) -> Path:
    if suffix not in _COMPRESSIONS:
        return file
    packed = file.with_name("packed")
    with file.open("rb") as plain, packed.open("wb") as raw, _COMPRESSIONS[suffix](raw) as stream:
        shutil.copyfileobj(plain, stream, 1 << 20)
    return packed


_COMPRESSIONS: Mapping[str, Callable[[BinaryIO], Any]] = {
    # A time or a name in the header would change the bytes of the same content.
    ".gz": lambda raw: gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0),
    ".xz": lambda raw: import_module("lzma").LZMAFile(raw, "wb"),
    ".zst": lambda raw: pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd"),
}


def trec_lines(rows: pa.RecordBatch) -> Iterator[memoryview]:
    """Return the lines of a run in TREC's format, in pieces. Raises UnwritableError for an id with white space."""
    _check_ids(rows["query"], trec.UNFIT_QUERY, "a query")
    _check_ids(rows["item"], trec.UNFIT_ITEM, "an item")
    label, end, space = texts(["Q0", f"{trec.TAG}\n", " "])
    for begin in range(0, rows.num_rows, _ROWS):
        query, item, score, rank = rows.slice(begin, _ROWS).columns
        # The shortest texts that are read as the same numbers.
        numbers = (pc.cast(column, pa.string()) for column in (rank, score))
        yield text_buffers(pc.binary_join_element_wise(query, label, item, *numbers, end, space))[1].data


def _check_ids(ids: pa.StringArray, unfit: re.Pattern[str], what: str) -> None:
    offsets, content = text_buffers(ids)
    if (np.diff(offsets) == 0).any() or _UNFIT[content].any():
        fitting(ids.to_pylist(), unfit, what, trec.NAME)


SORTED_AT_ONCE = 1024
"""The least number of candidates that are sorted together."""

METHODS: tuple[Method, ...] = tuple(
    sorted(
        (value for value in vars(fusion).values() if isinstance(value, Method)),
        key=lambda method: method.uses,
    )
)
"""All methods: those that use ranks, then those that use scores, in the order of their declarations."""

NORMALISATIONS: tuple[Normalisation, ...] = tuple(
    value for value in vars(fusion).values() if isinstance(value, Normalisation)
)

TRAINED = ("bayesfuse", "mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse")
"""Methods of ranx that are left out, because they must be trained on other runs."""

Named = TypeVar("Named", bound=Method | Normalisation)


def method_named(name: str) -> Method:
    """Return the method of this name. Raises FusionError."""
    if name.casefold() in TRAINED:
        raise FusionError(f"{quoted(name)} must be trained on other runs, which scorer does not do; {_known(METHODS)}")
    return _named(name, METHODS, "method")


def normalisation_named(name: str | None, method: Method) -> Normalisation:
    """Return the normalisation of this name for a method; None: min-max. Raises FusionError.

    A method that uses ranks needs none, but for one that inverts the lists.
    """
    chosen = fusion.min_max if name is None else _named(name, NORMALISATIONS, "normalisation")
    if method.uses == "ranks" and chosen is not fusion.min_max_inverted:
        return fusion.unchanged
    return chosen


def _named(name: str, known: Sequence[Named], what: str) -> Named:
    for declared in known:
        if name.casefold() in (declared.name, *declared.aliases):
            return declared
    hint = suggestion(name, [declared.name for declared in known])
    raise FusionError(f"no {what} is called {quoted(name)}{hint}; {_known(known)}")


def _known(known: Sequence[Method | Normalisation]) -> str:
    return f"there are {', '.join(declared.name for declared in known)}"


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """A method with its parameters, and the normalisation of the runs before it."""

    method: Method
    normalisation: Normalisation
    settings: Mapping[str, float | Weights]

    @classmethod
    def named(cls, method: str, norm: str | None, parameters: Mapping[str, GivenParameter], runs: int) -> Fusion:
        """The fusion of these names for a number of runs. Raises FusionError."""
        if runs < 2:
            raise FusionError(f"found {counted(runs, 'run')}; expected two or more to fuse")
        chosen = method_named(method)
        return cls(chosen, normalisation_named(norm, chosen), chosen.settings(parameters, runs))

    def scores(self, runs: AlignedRuns) -> Floats:
        """[candidate]: the fused scores of normalised runs. Raises ScorerError where one is too large for a float64."""
        with np.errstate(all="ignore"):
            scores = self.method(runs, self.settings)
        wrong = np.flatnonzero(~np.isfinite(scores))
        if wrong.size:
            query = runs.queries[int(runs.query[wrong[0]])].as_py()
            raise ScorerError(
                f"the scores of query {quoted(query)} are too large to be fused by {self.method.name}; choose a method "
                "that uses ranks, such as rrf"
            )
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class FusedCounts:
    """What was fused."""

    queries: int = 0
    lists: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """[run]: the number of queries that it has."""
    repeated: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """[run]: the number of items that were left out, because an earlier one of the same list has the same id."""

    def __add__(self, other: FusedCounts) -> FusedCounts:
        return FusedCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def fused_rows(fusion: Fusion, depth: int | None, runs: AlignedRuns) -> tuple[pa.RecordBatch, FusedCounts]:
    """Fuse runs; return query, item, score and rank of the first `depth` items of each list (None: all), in the order
    of the ranks.
    """
    with np.errstate(all="ignore"):
        normalised = fusion.normalisation(runs)
    score = fusion.scores(normalised)
    order, rank = best_first(runs, score, depth)
    columns = {
        "query": take(runs.queries, runs.query[order]),
        "item": take(runs.items, runs.item[order]),
        "score": from_numpy(score[order]),
        "rank": from_numpy(rank),
    }
    lists = np.count_nonzero(runs.length.reshape(-1, runs.runs), axis=0)
    return pa.RecordBatch.from_pydict(columns), FusedCounts(len(runs.queries), lists, runs.repeated)


def best_first(runs: AlignedRuns, score: Floats, depth: int | None) -> tuple[Ints, Ints]:
    """The first `depth` candidates of each query (None: all) by falling score, [candidate], and their ranks, from 1.

    Equal scores are ordered by item id, descending.
    """
    candidates = runs.candidates
    start = np.cumsum(candidates) - candidates
    order = _falling(runs.query, score, start)
    query = runs.query[order]
    rank = np.arange(order.size) - start[query] + 1
    sorted_score = score[order]
    tied = (query[1:] == query[:-1]) & (sorted_score[1:] == sorted_score[:-1])
    if depth is not None:
        # A tie group that begins beyond the depth is cut as a whole.
        first_rank = np.maximum.accumulate(np.append(0, np.where(tied, 0, np.arange(1, order.size)))[: order.size])
        tied &= (rank[first_rank] <= depth)[1:]
    if tied.any():
        order = by_id_within_ties(tied, order, runs.items, runs.item)
    return (order, rank) if depth is None else (order[rank <= depth], rank[rank <= depth])


def _falling(query: Ints, score: Floats, start: Ints) -> Ints:
    """The candidates by query and falling score, equal scores in any order.

    Sorting many short stretches of whole queries is faster than sorting all candidates at once.
    """
    falling = -score
    order = np.empty(query.size, dtype=np.int64)
    edges = np.arange(0, query.size, SORTED_AT_ONCE)
    begins = np.unique(start[np.searchsorted(start, edges, side="right") - 1])
    for begin, end in pairwise([*begins.tolist(), query.size]):
        part = falling[begin:end]
        one_query = query[begin] == query[end - 1]
        order[begin:end] = (np.argsort(part) if one_query else np.lexsort((part, query[begin:end]))) + begin
    return order


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
    **parameters: GivenParameter,
) -> PyarrowTable: ...


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
    **parameters: GivenParameter,
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
    **parameters: GivenParameter,
) -> PyarrowTable | None:
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
        parts: list[tuple[pa.RecordBatch, FusedCounts]] = []
        for_each_part(named, partial(fused_rows, fusion, depth), parts)
        fused: PyarrowTable = pa.Table.from_batches([rows for rows, _ in parts])
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
        detected = format_by_suffix(path)
        return format_named(trec.NAME) if detected is None else detected
    except UnreadableError as error:
        raise FusionError(str(error)) from error


def fuse_to(
    runs: Sequence[Run], fusion: Fusion, depth: int | None, target: Path | BinaryIO, form: DetectedFormat
) -> FusedCounts:
    """Fuse runs into a file, which is complete or not written at all. Raises ScorerError where it cannot be written."""
    where = printable(str(target)) if isinstance(target, Path) else "standard output"
    try:
        with written_to(target, form) as sink:

            def content(part: AlignedRuns) -> tuple[Any, FusedCounts]:
                rows, counts = fused_rows(fusion, depth, part)
                return sink.prepared(rows), counts

            for_each_part(runs, content, sink)
    except UnwritableError as error:
        raise ScorerError(f"{where}: {error}") from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ScorerError(f"{where}: cannot be written: {error.strerror or error}") from error
    return sink.counts
