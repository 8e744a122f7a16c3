"""Files of fused lists: TREC runs and Parquet in parts, other formats as a whole."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa

from scorer.errors import Findings
from scorer.formats import parquet, trec
from scorer.formats.detection import DetectedFormat
from scorer.formats.reading import compute as pc
from scorer.formats.reading.arrow import take, text_buffers, texts
from scorer.formats.reading.batches import Ranked
from scorer.formats.writing import SubmissionContent, fitting
from scorer.paths.writing import temporary_folder
from scorer.runs.fused import FusedLists

ROWS = 1 << 20
"""The rows that are turned into text at a time."""

UNFIT = np.isin(np.arange(256), [0xEF, *b"\0\t\n\v\f\r #"])
"""[byte]: whether TREC's format may not hold an id with this byte."""


class Sink:
    """A file that is being written. Several threads may call `prepared` at the same time."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def prepared(self, lists: FusedLists) -> Any:
        """Return the content that the lists become."""
        raise NotImplementedError

    def write(self, content: Any) -> None:
        """Write content after that which was written before."""
        raise NotImplementedError

    def restart(self) -> None:
        """Forget everything that was written."""
        self._stream.seek(0)
        self._stream.truncate()

    def finish(self) -> None:
        """Write what is still to be written."""


class _TrecSink(Sink):
    """A run in TREC's format."""

    def prepared(self, lists: FusedLists) -> list[memoryview]:
        return list(trec_lines(lists))

    def write(self, content: list[memoryview]) -> None:
        for lines in content:
            self._stream.write(lines)


class _ParquetSink(Sink):
    """A Parquet file with columns query, item, score and rank."""

    def __init__(self, stream: BinaryIO, names: Mapping[str, str]) -> None:
        super().__init__(stream)
        self._names = names
        self._writer: Any = None

    def prepared(self, lists: FusedLists) -> pa.Table:
        for ids, what in ((lists.queries, "a query"), (lists.items, "an item")):
            if (np.diff(text_buffers(ids)[0]) == 0).any():
                fitting([""], parquet.EMPTY, what, parquet.NAME)
        table = lists.table()
        return table.rename_columns([self._names.get(name, name) for name in table.column_names])

    def write(self, content: pa.Table) -> None:
        from pyarrow import parquet as arrow  # noqa: PLC0415 (few files need it)

        if self._writer is None:
            self._writer = arrow.ParquetWriter(self._stream, content.schema)
        self._writer.write_table(content)

    def restart(self) -> None:
        self._writer = None
        super().restart()

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _WholeSink(Sink):
    """A file in any format, which is written at the end."""

    def __init__(self, stream: BinaryIO, form: DetectedFormat) -> None:
        super().__init__(stream)
        self._form = form
        self._batches: list[Ranked] = []

    def prepared(self, lists: FusedLists) -> Ranked:
        query, item = take(lists.queries, lists.query), take(lists.items, lists.item)
        return Ranked(query, np.arange(len(query)), None, item, lists.score)

    def write(self, content: Ranked) -> None:
        self._batches.append(content)

    def restart(self) -> None:
        self._batches.clear()

    def finish(self) -> None:
        # Equal scores are in the order of their ids already.
        content = SubmissionContent.of(self._batches, "order", Findings())
        self._stream.write(self._form.format.write_submission(content, self._form.options))


def _sink_to(stream: BinaryIO, form: DetectedFormat) -> Sink:
    """Return the sink that writes a format into a file."""
    if form.format.NAME == trec.NAME:
        return _TrecSink(stream)
    if form.format.NAME == parquet.NAME:
        return _ParquetSink(stream, form.options)
    return _WholeSink(stream, form)


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
            sink = _sink_to(stream, form)
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
    """Return the file, compressed as the suffix says."""
    if suffix not in COMPRESSIONS:
        return file
    packed = file.with_name("packed")
    with file.open("rb") as plain, packed.open("wb") as raw, COMPRESSIONS[suffix](raw) as stream:
        shutil.copyfileobj(plain, stream, 1 << 20)
    return packed


def _gzip(raw: BinaryIO) -> BinaryIO:
    # A time or a name in the header would change the bytes of the same content.
    return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))


def _xz(raw: BinaryIO) -> BinaryIO:
    import lzma  # noqa: PLC0415 (few files need it)

    return cast(BinaryIO, lzma.LZMAFile(raw, "wb"))


def _zstd(raw: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd"))


COMPRESSIONS: Mapping[str, Callable[[BinaryIO], BinaryIO]] = {".gz": _gzip, ".xz": _xz, ".zst": _zstd}


def trec_lines(lists: FusedLists) -> Iterator[memoryview]:
    """Return the lines of a run in TREC's format, in pieces. Raises UnwritableError for an id with white space."""
    _check_ids(lists.queries, trec.UNFIT_QUERY, "a query")
    _check_ids(lists.items, trec.UNFIT_ITEM, "an item")
    ranks = texts(map(str, range(1, int(lists.rank.max(initial=0)) + 1)))
    label, end, space = texts(["Q0", f"{trec.TAG}\n", " "])
    for begin in range(0, lists.rank.size, ROWS):
        rows = slice(begin, begin + ROWS)
        score = np.ascontiguousarray(lists.score[rows])
        lines = pc.binary_join_element_wise(
            take(lists.queries, lists.query[rows]),
            label,
            take(lists.items, lists.item[rows]),
            take(ranks, lists.rank[rows] - 1),
            # The shortest texts that are read as the same numbers.
            pc.cast(pa.DoubleArray.from_buffers(pa.float64(), score.size, [None, pa.py_buffer(score)]), pa.string()),
            end,
            space,
        )
        yield text_buffers(lines)[1].data


def _check_ids(ids: pa.StringArray, unfit: re.Pattern[str], what: str) -> None:
    """Raise UnwritableError for the first id that TREC's format cannot hold."""
    offsets, content = text_buffers(ids)
    if (np.diff(offsets) == 0).any() or UNFIT[content].any():
        fitting(ids.to_pylist(), unfit, what, trec.NAME)
