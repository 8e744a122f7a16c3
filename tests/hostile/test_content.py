"""Contents: a file is scored, rejected or has failed, regardless of its bytes; the parent takes little memory."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.commands import measured
from tests.hostile import bombs
from tests.hostile.colliding import colliding_ids
from tests.hostile.sieges import LISTS, Attack, Siege

LIMITS = """
seconds = 30
memory_mb = 250
file_mb = 16
document_mb = 8
line_mb = 4
queries = 20_000
items = 300_000
table_mb = 50
"""

MOST_MEMORY = 500_000_000
"""Bytes, most of them for drawing the charts."""

GOOD = LISTS.encode()
HEADER = b"query,item,score\n"
AGAIN = colliding_ids(1)[0].encode()

ATTACKS: dict[str, Attack] = {
    # Compressed
    "gzip-bomb": Attack(lambda: gzip.compress(bombs.bomb()), "rejected", "limits.expansion"),
    "xz-bomb": Attack(lambda: lzma.compress(bombs.bomb(), preset=0), "rejected", "limits.expansion"),
    "zstd-bomb": Attack(lambda: bombs.zstd(bombs.bomb()), "rejected", "limits.expansion"),
    "gzip-in-gzip": Attack(lambda: gzip.compress(gzip.compress(GOOD)), "scored"),
    "gzip-in-xz-in-zstd": Attack(lambda: bombs.zstd(lzma.compress(gzip.compress(GOOD))), "scored"),
    "gzip-with-100,000-empty-members": Attack(lambda: gzip.compress(b"") * 100_000, "rejected", "empty"),
    "gzip-with-a-member-for-each-line": Attack(
        lambda: b"".join(gzip.compress(b"q%d:plum\n" % number) for number in range(9_999)), "scored"
    ),
    "gzip-with-a-name-of-1-MB": Attack(lambda: bombs.gzip_with_name(1_000_000), "scored"),
    "gzip-with-waste-behind-it": Attack(lambda: gzip.compress(GOOD) + b"waste" * 9, "rejected", "other bytes follow"),
    "xz-with-a-dictionary-of-4-GB": Attack(lambda: bombs.xz_with_dictionary(40), "failed", "memory"),
    "zstd-with-a-window-of-2-GB": Attack(lambda: bombs.zstd_with_window(21), "rejected"),
    "zstd-with-a-window-of-2-TB": Attack(lambda: bombs.zstd_with_window(31), "rejected"),
    "zstd-with-100,000-empty-frames": Attack(lambda: bombs.zstd(b"") * 100_000, "rejected"),
    "gzip-without-content": Attack(b"\x1f\x8b", "rejected"),
    "xz-without-content": Attack(b"\xfd7zXZ\x00", "rejected"),
    "zstd-without-content": Attack(b"\x28\xb5\x2f\xfd", "rejected"),
    # JSON
    "json-of-10,000-open-brackets": Attack(b'{"q1":' + b"[" * 10_000, "rejected", "limits.nesting"),
    "json-of-10,000-brackets": Attack(b'{"q1":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "rejected", "limits.nesting"),
    "json-of-10,000-objects": Attack(b'{"q1":' * 10_000, "rejected", "limits.nesting"),
    "json-lines-of-10,000-brackets": Attack(
        bombs.json_lines({"query": "q1", "item": "plum", "score": 1}) + b"[" * 10_000, "rejected"
    ),
    "json-with-a-number-of-a-million-digits": Attack(
        lambda: b'[{"query": "q1", "item": "plum", "score": ' + b"9" * 1_000_000 + b"}]", "rejected"
    ),
    "json-lines-with-a-number-of-a-million-digits": Attack(
        lambda: b'{"query": "q1", "item": "plum", "score": ' + b"9" * 1_000_000 + b"}\n", "rejected"
    ),
    "json-with-a-score-of-1e999": Attack(b'[{"query": "q1", "item": "plum", "score": 1e999}]', "rejected", "finite"),
    "json-with-a-score-of-NaN": Attack(b'[{"query": "q1", "item": "plum", "score": NaN}]', "rejected"),
    "json-with-half-a-character": Attack(rb'{"q1": ["\ud83d"]}', "scored"),
    "json-with-a-nul": Attack(rb'{"q1": ["pl\u0000um"]}', "scored"),
    "json-with-an-id-of-7-MB": Attack(lambda: json.dumps({"q1": ["x" * 7_000_000]}).encode(), "rejected", "id_bytes"),
    "json-of-9-MB": Attack(lambda: b'{"q1": ["' + b'x", "' * 1_800_000 + b'x"]}', "rejected", "limits.document_mb"),
    "json-with-50,000-keys-that-are-alike": Attack(
        lambda: b"{" + b'"q1": ["plum"],' * 50_000 + b'"q2": []}', "rejected"
    ),
    "json-with-100,000-empty-objects": Attack(lambda: b"[" + b"{}," * 100_000 + b"{}]", "rejected"),
    "json-that-is-a-number": Attack(b"1", "rejected"),
    "json-that-is-never-closed": Attack(lambda: b'{"q1": ["' + b"x" * 1_000_000, "rejected"),
    # Parquet
    "parquet-with-a-dictionary-of-15-MB": Attack(
        lambda: bombs.table(query=["q1"] * 400, item=bombs.dictionary("x" * 15_000_000, 400), score=[1.0] * 400),
        "rejected",
        "limits.id_bytes",
    ),
    "parquet-with-a-dictionary-that-grows": Attack(
        lambda: bombs.table(query=bombs.dictionary("x" * 900, 200_000), item=["plum"] * 200_000, score=[1.0] * 200_000),
        "rejected",
        "limits.",
    ),
    "parquet-that-grows": Attack(
        lambda: bombs.table(query=["q1"] * 250_000, item=["x" * 500] * 250_000, score=[1.0] * 250_000),
        "rejected",
        "limits.",
    ),
    "parquet-with-a-million-rows": Attack(
        lambda: bombs.table(query=["q1"] * 10**6, item=["plum"] * 10**6, score=[1.0] * 10**6),
        "rejected",
        "limits.items",
    ),
    "parquet-with-5,000-columns": Attack(
        lambda: bombs.table(**{f"column {number}": ["plum"] for number in range(5_000)}), "rejected"
    ),
    "parquet-with-2,000-row-groups": Attack(lambda: bombs.many_row_groups(2_000), "scored"),
    "parquet-with-a-footer-of-4-GB": Attack(lambda: bombs.footer_of(0xFFFFFFFF), "rejected", "no whole Parquet file"),
    "parquet-with-a-footer-of-0-bytes": Attack(lambda: bombs.footer_of(0), "rejected", "no whole Parquet file"),
    "parquet-with-broken-pages": Attack(bombs.broken_pages, "rejected"),
    "parquet-of-lists": Attack(lambda: bombs.table(query=["q1"], item=pa.array([[["plum"]]]), score=[1.0]), "rejected"),
    "parquet-of-nothing-but-nulls": Attack(
        lambda: bombs.table(query=pa.nulls(9), item=pa.nulls(9), score=pa.nulls(9)), "rejected"
    ),
    "parquet-of-bytes-that-are-not-utf-8": Attack(
        lambda: bombs.table(query=["q1"], item=pa.array([b"\xff\xfe"]), score=[1.0]), "rejected"
    ),
    "parquet-that-begins-and-ends": Attack(b"PAR1PAR1", "rejected", "no whole Parquet file"),
    # Lists
    "ids-of-15-MB": Attack(
        lambda: b"".join(b"q%d:%s\n" % (number, b"x" * 3_900_000) for number in range(4)), "rejected", "limits.id_bytes"
    ),
    "items-with-one-hash": Attack(lambda: b"q1:" + bombs.colliding("{},", 150_000) + b"plum\n", "scored"),
    "queries-with-one-hash": Attack(lambda: GOOD + bombs.colliding("{}:plum\n", 19_000), "scored"),
    "trec-with-one-hash": Attack(lambda: bombs.colliding("q1 Q0 {} 1 1 run\n", 150_000), "scored"),
    "csv-with-one-hash": Attack(lambda: HEADER + bombs.colliding("q1,{},1\n", 150_000), "scored"),
    "json-with-one-hash": Attack(lambda: b'{"q1": [' + bombs.colliding('"{}", ', 150_000) + b'"plum"]}', "scored"),
    "parquet-with-one-hash": Attack(lambda: bombs.colliding_table(40_000), "scored"),
    # An item that is listed again makes all ids be compared.
    "items-with-one-hash-again": Attack(
        lambda: b"q1:" + bombs.colliding("{},", 200_000) + AGAIN + b",plum\n", "scored"
    ),
    "trec-with-one-hash-again": Attack(
        lambda: bombs.colliding("q1 Q0 {} 1 1 run\n", 200_000) + b"q1 Q0 %b 1 0 run\n" % AGAIN, "scored"
    ),
    "csv-with-one-hash-again": Attack(
        lambda: HEADER + bombs.colliding("q1,{},1\n", 200_000) + b"q1,%b,0\n" % AGAIN, "scored"
    ),
    "json-with-one-hash-again": Attack(
        lambda: b'{"q1": [' + bombs.colliding('"{}", ', 200_000) + b'"%b"]}' % AGAIN, "scored"
    ),
    "json-lines-with-one-hash-again": Attack(
        lambda: bombs.colliding('{{"query":"q1","item":"{}","score":1}}\n', 150_000) * 2, "scored"
    ),
    "json-lines-with-50,000-members": Attack(
        lambda: (
            bombs.json_lines({"query": "q1", "item": "plum", "score": 1})
            + bombs.json_lines({"query": "q1", "item": "fig", "score": 1, **{f"a{n}": 1 for n in range(50_000)}})
            + b'{"query":"q1","item":"lime","score":1}\n' * 12_000
        ),
        "scored",
    ),
    "json-lines-with-50,000-members-first": Attack(
        lambda: (
            bombs.json_lines({"query": "q1", "item": "plum", "score": 1, **{f"a{n}": 1 for n in range(50_000)}})
            + b'{"query":"q1","item":"lime","score":1}\n' * 12_000
        ),
        "scored",
    ),
    "parquet-dictionary-with-one-hash": Attack(lambda: bombs.colliding_dictionary(150_000), "scored"),
    "parquet-categories-with-one-hash": Attack(lambda: bombs.colliding_table(150_000, as_categories=True), "scored"),
    "lines-of-15-MB": Attack(lambda: b"q1:" + b"plum," * 3_000_000, "rejected", "limits.line_mb"),
    "many-queries": Attack(lambda: b"".join(b"q%d:plum\n" % number for number in range(30_000)), "rejected", "queries"),
    "many-items": Attack(lambda: b"q1:" + b"plum," * 400_000, "rejected", "limits.items"),
    "500,000-colons": Attack(lambda: b":" * 500_000, "rejected"),
    "500,000-commas": Attack(lambda: b"q1:" + b"," * 500_000, "rejected"),
    "a-million-blank-lines": Attack(lambda: b"\n" * 1_000_000, "rejected", "empty"),
    "a-million-returns": Attack(lambda: b"\r" * 1_000_000 + GOOD, "rejected", "carriage return"),
    "500,000-lists-of-one-query": Attack(lambda: b"q1:plum\n" * 19_999, "rejected", "and 19,978 more"),
    "one-byte": Attack(b"q", "rejected"),
    "one-new-line": Attack(b"\n", "rejected", "empty"),
    "one-nul": Attack(b"\0", "rejected"),
    "half-a-byte-order-mark": Attack(b"\xef\xbb", "rejected"),
    "1,000-byte-order-marks": Attack(b"\xef\xbb\xbf" * 1_000 + GOOD, "rejected"),
    "all-white-space-of-unicode": Attack("\u2028\u2029\u3000\u205f\x85\xa0".encode() * 999, "rejected"),
    "right-to-left-ids": Attack("q1:\u202egnp.exe,\u2066plum\n".encode(), "scored"),
    "markup-as-ids": Attack(b"q1:<img src=x onerror=alert(1)>,{{ 7 * 7 }}\nq9;<script>\n", "rejected", "<script>"),
    # Tables
    "csv-with-a-quote-that-is-never-closed": Attack(lambda: HEADER + b'"' + b"q1,plum,1\n" * 100_000, "rejected"),
    "csv-with-100,000-columns": Attack(lambda: b"a," * 100_000 + b"\n" + b"1," * 100_000, "rejected"),
    "csv-with-a-million-quotes": Attack(lambda: HEADER + b'q1,"' + b'""' * 500_000 + b'",1\n', "rejected", "quote"),
    "csv-with-a-score-of-a-million-digits": Attack(
        lambda: HEADER + b"q1,plum," + b"9" * 1_000_000 + b"\n", "rejected", "finite"
    ),
    "csv-with-a-score-of-infinity": Attack(HEADER + b"q1,plum,-Infinity\n", "rejected", "finite"),
    "csv-of-formulas": Attack(HEADER + b"=cmd(),@SUM(1),+1\n", "rejected"),
    "trec-with-a-rank-of-10,000-digits": Attack(b"q1 Q0 plum " + b"9" * 10_000 + b" 1 run\n", "scored"),
    "trec-with-a-score-of-1e999": Attack(b"q1 Q0 plum 1 1e999 run\n", "rejected", "finite"),
    "trec-with-150,000-scattered-rows": Attack(
        lambda: b"".join(b"q%d Q0 i%d 1 %d run\n" % (row % 3, row, row) for row in range(150_000)), "scored"
    ),
    "letor-with-a-feature-of-2-to-the-64": Attack(b"0 qid:q1 18446744073709551616:1 # plum\n", "rejected"),
}
"""By the name of the team."""


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """All of these files, scored by one run."""
    siege = Siege(tmp_path_factory.mktemp("siege") / "challenge", LIMITS)
    siege.place(ATTACKS)
    colliding_ids.cache_clear()
    siege.answer, siege.memory = measured("run", siege.folder, environment={"TMPDIR": str(siege.temporary)})
    yield siege
    siege.restore()


@pytest.mark.parametrize("case", ATTACKS)
def test_outcome(case: str, siege: Siege) -> None:
    """As the table has it, with a message that says why."""
    siege.check_outcome(case, ATTACKS[case])


def test_nobody_else_is_harmed(siege: Siege) -> None:
    """All of the others are scored as ever; no secret is on a page; all that is written is bounded."""
    assert siege.answer.code == 1
    siege.check_others(len(ATTACKS))


def test_the_parent_takes_little_memory(siege: Siege) -> None:
    """For any content of submissions."""
    assert siege.memory < MOST_MEMORY
