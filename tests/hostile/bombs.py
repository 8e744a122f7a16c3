"""Contents that are made to exhaust or to confuse what reads them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import struct
import zlib
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tests.hostile.colliding import colliding_ids

LINE = b"q1:plum\n"


def bomb() -> bytes:
    """Much that takes little space, compressed."""
    return LINE + (b" " * 999 + b"\n") * 80_000


def zstd(content: bytes) -> bytes:
    """Compressed with Zstandard."""
    return bytes(pa.compress(content, "zstd", asbytes=True))


def xz_with_dictionary(size: int) -> bytes:
    """A small .xz file whose header demands a dictionary: 40 for 4 GB."""
    content = bytearray(lzma.compress(LINE))
    length = (content[12] + 1) * 4
    content[content.index(b"\x21\x01", 12) + 2] = size
    content[12 + length - 4 : 12 + length] = struct.pack("<I", zlib.crc32(content[12 : 12 + length - 4]))
    return bytes(content)


def zstd_with_window(exponent: int) -> bytes:
    """A small .zst file whose header demands a window of 2 to the power of 10 + `exponent` bytes."""
    block = struct.pack("<I", len(LINE) << 3 | 1)[:3]
    return b"\x28\xb5\x2f\xfd\x00" + bytes([exponent << 3]) + block + LINE


def gzip_with_name(length: int) -> bytes:
    """A .gz file whose header has a name of so many bytes."""
    plain = gzip.compress(LINE)
    return plain[:3] + b"\x08" + plain[4:10] + b"x" * length + b"\0" + plain[10:]


def table(**columns: Any) -> bytes:
    """A Parquet file."""
    return written(pa.table(columns), compression="zstd")


def written(content: pa.Table, **options: Any) -> bytes:
    """A table as a Parquet file."""
    sink = io.BytesIO()
    parquet.write_table(content, sink, **options)
    return sink.getvalue()


def dictionary(text: str, rows: int) -> pa.DictionaryArray:
    """One text in every row, which takes little space in a file."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


def footer_of(length: int) -> bytes:
    """A Parquet file whose last bytes say that its footer has a length."""
    return b"PAR1" + b"x" * 100 + struct.pack("<I", length) + b"PAR1"


def broken_pages() -> bytes:
    """A Parquet file with a whole footer and damaged pages."""
    columns = {"query": ["q1"] * 5_000, "item": [f"i{n}" for n in range(5_000)], "score": [1.0] * 5_000}
    content = bytearray(written(pa.table(columns), compression="none"))
    for position in range(4, 20_000, 3):
        content[position] ^= 0xFF
    return bytes(content)


def many_row_groups(count: int) -> bytes:
    """A Parquet file with a row group for every row."""
    columns = {"query": ["q1"] * count, "item": [f"i{n}" for n in range(count)], "score": [1.0] * count}
    return written(pa.table(columns), row_group_size=1, compression="none", write_statistics=False)


def colliding(form: str, count: int) -> bytes:
    """Rows whose ids share one hash; `form` has a place for the id."""
    return "".join(map(form.format, colliding_ids(count))).encode()


def colliding_table(count: int, *, as_categories: bool = False) -> bytes:
    """A Parquet file whose items share one hash; as categories, they are in a dictionary of Arrow."""
    items = pa.array(colliding_ids(count))
    if as_categories:
        items = pa.DictionaryArray.from_arrays(pa.array(range(count), pa.int32()), items)
    return written(pa.table({"query": ["q1"] * count, "item": items, "score": [1.0] * count}), use_dictionary=False)


def colliding_dictionary(count: int) -> bytes:
    """A Parquet file with a dictionary of items that share one hash.

    To write them, Arrow would need quadratic time. So the file is written with other items, which are replaced.
    """
    others = [f"{number:016}" for number in range(count)]
    columns = {"query": ["q1"] * count, "item": others, "score": [1.0] * count}
    content = written(
        pa.table(columns),
        use_dictionary=["item"],
        dictionary_pagesize_limit=1 << 24,
        compression="none",
        write_statistics=False,
    )
    before, after = (
        "".join(f"\x10\0\0\0{item}" for item in items).encode() for items in (others, colliding_ids(count))
    )
    assert content.count(before) == 1
    return content.replace(before, after)


def json_lines(*rows: object) -> bytes:
    """JSON Lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
