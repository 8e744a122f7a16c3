"""Values that readers get wrong: numbers, ids and bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

NUMBERS = (
    *("0", "-0", "-0.0", "+1", ".5", "5.", "1e3", "1E+03", "007", "0.1", "0.10000000000000002", "1e-400", "1e999"),
    *("-1e999", "nan", "NaN", "-nan", "inf", "Infinity", "-Infinity", "0x10", "1_000", "1,5", "1.5.2", "1e", "e1"),
    *("1e308", "1.7976931348623157e308", "5e-324", "2.2250738585072011e-308", "9007199254740993", "1" * 400),
    *("18446744073709551616", "9223372036854775808", "-9223372036854775809", "1e16", "4503599627370497.5"),
    *(
        "0." + "0" * 400 + "1",
        "１２",
        "\u0661",
        "½",
        "1 000",
        "1\u00a0000",
        "--1",
        "+-1",
        "1-",
        "",
        " ",
        "true",
        "TRUE",
    ),
)

TEXTS = (
    *("", " ", "\t", "\v", "\f", "\r", "\n", "\r\n", "\0", "\x1c", "\x1f", "\x7f", "\x85", "\u00a0", "\u2028"),
    "\u3000",
    *("\u200b", "\u2060", "\ufeff", "\u202e", "\u034f", "\u3164", "\u2800", "\U000e0100", "\ufffe", "\uffff", "\ud83d"),
    *("\udc80", "\ud83d\ude00", "\U0001f600", "e\u0301", "é", "ß", "İ", "ﬁ", "null", "NULL", "None", "NA", "N/A"),
    "nan",
    *("true", "#", "#q", "# a", "//", "--", "=1+1", "@SUM(A1)", "+a", "-a", "'a", '"', '""', '"""', "'", "\\", '\\"'),
    *(",", ",,", ";", ":", "::", "|", "||", "[", "]", "[]", "{", "}", "{}", "(", ")", "a,b", "a:b", "a|b", "a b"),
    "a;b",
    *("qid:", "qid:1", "1:", ":1", "1:1:1", "docid=", "docid = a", "query", "query,item,score", "PAR1", "../../etc"),
    *("<script>", "&amp;", "%00", "{{7*7}}", "$HOME", "\x1b[31m", "\x1b]0;t\x07", "a" * 300, "é" * 700, "a" * 100_000),
)

BYTES = (
    *(b"\0", b"\xff", b"\xfe", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xef\xbb", b"\xc0\x80", b"\xed\xa0\x80"),
    *(b"\xf4\x90\x80\x80", b"\x80", b"\xe9", b"\r", b"\n", b"\r\n", b"\n\r", b"\x1a", b"\x1f\x8b", b"\xfd7zXZ\0"),
    *(b"\x28\xb5\x2f\xfd", b"PAR1", b'"', b",", b" ", b"\t", b"#", b"\n\n", b"\n#\n", b" \n", b"\x00\x00\x00\x00"),
)

JSON_VALUES = (
    *("null", "true", "false", "0", "-0", "-0.0", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1e400", "01"),
    *("1.", ".5", "+1", "9007199254740993", "18446744073709551616", "1" * 400, "1" * 5000, "-" + "9" * 19, "1e-999"),
    *('""', '" "', '"1"', '"\\u0000"', '"\\ud83d"', '"\\ud83d\\ude00"', '"\\ude00"', '"\\u0071"', '"\\x"', '"\\'),
    "'a'",
    *("[]", "{}", "[[]]", '[""]', "[1, 1]", '{"": 1}', '{"a": {}}', '{"a": 1, "a": 2}', "[1,]", '{"a":}', "undefined"),
    *("[" * 60 + "]" * 60, "[" * 3000, '{"a":' * 3000, "[" * 100_000, "2000-01-01", '"2000-01-01T00:00:00"', "/**/1"),
)

NAMES = (
    *("query", "query_id", "qid", "user", "topic", "item", "item_id", "docid", "score", "sim", "run_score", "rank"),
    *("position", "grade", "rel", "label", "flag", "preliminary", "items", "note", "Query", "ITEM ", " score", "", "x"),
)

ODD = np.uint64(0x9E3779B97F4A7C15)
ARROW = (np.uint64(11400714785074694791), np.uint64(14029467366897019727))
"""The factors of the two halves of a text of 16 bytes in the hash of Arrow's tables."""


@cache
def alike_for_arrow() -> list[str]:
    """Ids of 16 characters with one hash in Arrow's tables: each value of one half has a value of the other."""
    first = _words()
    inverse = np.uint64(pow(int(ARROW[0]), -1, 1 << 64))
    # The hash is the byte-swapped product of each half, combined by exclusive or.
    second = ((first[:1] * ARROW[1]) ^ (first * ARROW[1])) * inverse
    return _texts(first, second)


@cache
def alike_for_fingerprints() -> list[str]:
    """Ids of 16 characters with one fingerprint."""
    first = _words()
    mixed = (np.full(1, 16, dtype=np.uint64) * ODD ^ first) * ODD
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.full(1, ODD) * ODD
    return _texts(first, mixed ^ mixed[:1] ^ first[:1])


COLLIDING: tuple[Callable[[], list[str]], ...] = (alike_for_arrow, alike_for_fingerprints)


def _words() -> NDArray[np.uint64]:
    """Return words of eight letters."""
    letters = np.random.default_rng(0).integers(97, 123, size=(1 << 19, 8), dtype=np.uint8)
    return np.ascontiguousarray(letters).view("<u8").reshape(-1)


def _texts(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> list[str]:
    """Return the pairs of words that are letters, digits and common marks in ASCII."""
    codes = np.stack([first, second], axis=1).astype("<u8").view(np.uint8).reshape(-1, 16)
    plain = ((codes > 32) & (codes < 127) & ~np.isin(codes, list(b"\"#'(),:;[\\]{|}"))).all(axis=1)
    return [row.tobytes().decode() for row in codes[plain]]
