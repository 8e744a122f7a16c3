"""The fast reader of each format and its reader by lines give the same rows, or the same findings."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.lists.reading.blocks import UnreadableError, checked_utf8
from tests.readers import agree
from tests.strategies import examples

NUMBERS = st.sampled_from(["1", "2", "0", "-3e2", "0.1", "0.10000000000000002"]) | st.floats(-9, 9).map(repr)
IDS = st.sampled_from(["q", "r", "a", "b", "007", "NA", "null", "nan", "#0", "é", "1677128#0"])
FLAGS = st.sampled_from(["0", "1"])
ODDITIES = [
    *("", " ", "  ", "\t", "\v", "\f", "\r", "\n", "\r\n", " \n", "\n ", "\n\n", "\n#", "#", "\x1c", "\x85"),
    *("\u00a0", "\u3000"),
    *("\ufeff", '"', '""', "'", "\\", "/", ",", ", ", ",,", ";", ":", "|", "[", "]", "{", "}", "(", "x", "é"),
    *("nan", "NaN", "inf", "Infinity", "1e999", "+1", ".5", "5.", "-0", "0x1", "1_0", "1e", "true", "null", "007"),
    "\u0661",
]


@st.composite
def edited(draw: st.DrawFn, files: st.SearchStrategy[str]) -> bytes:
    """A file whose lines are alike, but for a few edits anywhere in it."""
    text = draw(files)
    for _ in range(draw(st.integers(0, 3))):
        at, cut = draw(st.integers(0, len(text))), draw(st.integers(0, 2))
        text = text[:at] + draw(st.sampled_from(ODDITIES)) + text[at + cut :]
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"]))).encode()


def lines(line: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A few lines."""
    return st.lists(line, min_size=1, max_size=4).map(lambda found: "".join(f"{each}\n" for each in found))


def rows(delimiter: str, *columns: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A few rows of these columns."""
    return lines(st.tuples(*columns).map(delimiter.join))


def trec() -> st.SearchStrategy[str]:
    """A run or qrels."""
    run = (IDS, st.just("Q0"), IDS, st.just("1"), NUMBERS, st.just("t"))
    return st.sampled_from(" \t").flatmap(
        lambda space: rows(space, *run) | rows(space, *run[:3], NUMBERS) | rows(space, *run[:5])
    )


COLUMNS = {
    "query": IDS, "item": IDS, "score": NUMBERS, "grade": NUMBERS, "flag": FLAGS, "note": IDS,
    "rank": st.integers(0, 9).map(str),
}  # fmt: skip


@st.composite
def table(draw: st.DrawFn) -> str:
    """A table with a header; its columns in any order."""
    delimiter = draw(st.sampled_from(",\t;"))
    number = draw(st.sampled_from(["score", "score", "grade", "rank"]))
    extra = draw(st.lists(st.sampled_from(["note", "flag", "rank"]), max_size=2, unique=True))
    names = draw(st.permutations(list(dict.fromkeys(["query", "item", number, *extra]))))
    return delimiter.join(names) + "\n" + draw(rows(delimiter, *(COLUMNS[name] for name in names)))


def vlnet() -> st.SearchStrategy[str]:
    """A submission or a solution."""
    items = st.lists(IDS, max_size=4).map(",".join)
    graded = st.lists(st.tuples(IDS, NUMBERS).map("|".join), max_size=4).map(",".join)
    return rows(":", IDS, items) | rows(":", IDS, FLAGS, graded)


JSON_IDS: st.SearchStrategy[object] = (
    IDS | st.sampled_from([-2, 7, 2**63, 1.5, True, None, "", " a", "\u0000", "\ud83d"]) | st.just([])
)
JSON_NUMBERS = st.floats() | st.integers() | st.sampled_from(["1", None, True, 10**400, -0.0, [1], {"a": 1}])
NAMES = ["query", "query_id", "item", "item_id", "Item", "score", "sim", "grade", "rank", "flag", "items", "note", "x"]


@st.composite
def json_lines(draw: st.DrawFn) -> str:
    """Objects of the same members, and in one of them another member, or another value, or another order."""
    number = draw(st.sampled_from(["score", "grade"]))
    extra = draw(st.sampled_from(["note", "x", "flag", "rank", None]))
    values = {"query": IDS, "item": IDS, number: st.floats(-9, 9)} | ({extra: JSON_IDS} if extra else {})
    objects = [list(each.items()) for each in draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=4))]
    for odd in draw(st.lists(st.sampled_from(objects), max_size=2)):
        added = (draw(st.sampled_from(NAMES)), draw(JSON_IDS | JSON_NUMBERS))
        odd.insert(draw(st.integers(0, len(odd))), added)
        del odd[draw(st.integers(0, len(odd))) :][:1]
    plain = draw(st.booleans())

    def dumped(pairs: list[tuple[str, object]]) -> str:
        members = (
            f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=plain or value == chr(0xD83D))}"
            for name, value in pairs
        )
        return "{" + ", ".join(members) + "}\n"

    return "".join(map(dumped, objects))


FILES = {
    "trec": edited(trec()),
    "delimited": edited(table()),
    "jsonl": edited(json_lines()),
    "jsonl:item=x": edited(json_lines()),
    "vlnet": edited(vlnet()),
}


@pytest.mark.parametrize("name", FILES)
def test_fast_and_slow_readers_agree(name: str) -> None:
    """A file whose lines are nearly alike is read the same either way."""

    @examples(75)
    @given(FILES[name])
    def check(content: bytes) -> None:
        try:
            checked_utf8(content, 1)
        except UnreadableError:
            return
        if content.strip():
            agree(content, name)

    check()


DISAGREED = {
    "an empty column": ("trec", b"q Q0  a 1 1\n"),
    "a second byte order mark": ("trec", b"\xef\xbb\xbfq Q0 a 1 1 t\n"),
    "an empty tag": ("trec", b"q Q0 a 1 1 \n"),
    "a blank id": ("delimited", b"query,item,score\nq, ,1\n"),
    "a form feed": ("delimited", b"query,item,score\nq,a\f,1\n"),
    "two names": (
        "jsonl",
        b'{"query":"q","item_id":"a","score":1}\n{"query":"q","item":"b","item_id":"a","score":2}\n',
    ),
    "NaN in another member": (
        "jsonl",
        b'{"query":"q","item":"a","score":1}\n{"query":"q","item":"b","score":1,"x":Inf}\n',
    ),
    "lines within objects": (
        "jsonl",
        b'{"query":"q","item":"a","score":1}{"query":"q","item":"b","score":2}\n'
        b'{"query":"q","item":"c","score":\n{"query":"q","item":"d","score":4}\n',
    ),
    "objects across lines": (
        "jsonl",
        b'{"query":"q","item":"a","score":1}{"query":"q","item":"b","score":2}\n'
        b'{"query":"q","item":"c","x":\n{"y":3},"score":1}\n',
    ),
    "as many bars as items, but not one each": ("vlnet", b"q:0:a|1,b|c|2,d\n"),
}


ODD_BLOCKS = {
    "a comment": "q Q0 a 1 2 t\n#c Q0 b 2 1 t\n",
    "a tab among spaces": "q Q0 a 1 2 t\nq\tQ0 b 2 1 t\n",
    "two spaces": "q Q0 a 1 2 t\nq  Q0 b 2 1 t\n",
    "a blank line": "q Q0 a 1 2 t\n\nq Q0 b 2 1 t\n",
    "a seventh column": "q Q0 a 1 2 t\nq Q0 b 2 1 t u\n",
    "spaces before and after": " q Q0 a 1 2 t \nq Q0 b 2 1 t\n",
    "a form feed": "q Q0 a\f1 2 t u\nq Q0 b 2 1 t\n",
    "a quote": 'q Q0 a" 1 2 t\nq Q0 b 2 1 t\n',
    "words for nothing": "null Q0 NaN 1 2 t\nNA Q0 null 2 1 t\n",
}
FIRST = '{"query": "q", "item": "a", "score": 1}\n'
ODD_LINES = {
    "whole numbers as ids": FIRST.replace('"q"', "7") + '{"query": 8, "item": "a", "score": 2}\n',
    "ids of both kinds": FIRST + '{"query": 7, "item": "a", "score": 2}\n',
    "a blank line": FIRST + "\n" + FIRST.replace("a", "b"),
    "another order": FIRST + '{"score": 2, "item": "b", "query": "q"}\n',
    "another name": FIRST + '{"qid": "r", "docno": "b", "score": 2}\n',
    "another member": FIRST + '{"query": "q", "item": "b", "score": 2, "note": [1, {"score": 3}]}\n',
    "a member twice": FIRST + '{"query": "q", "item": "b", "score": 2, "score": 3}\n',
    "two on a line": FIRST + FIRST.strip() * 2 + "\n",
    "one on two lines": FIRST + '{"query": "q", "item": "b",\n "score": 2}\n',
    "a list among them": FIRST + '{"query": "q", "items": ["b"]}\n',
    "an object among them": FIRST + '{"query": "q", "items": {"b": 2}, "item": "c", "score": 3}\n',
    "nothing for a score": FIRST + '{"query": "q", "item": "b", "score": null}\n',
    "no score": FIRST + '{"query": "q", "item": "b"}\n',
    "a score in quotes": FIRST + '{"query": "q", "item": "b", "score": "2"}\n',
    "infinite": FIRST + '{"query": "q", "item": "b", "score": 1e999}\n',
    "no id": FIRST + '{"query": "q", "item": "", "score": 2}\n',
    "escapes": FIRST + '{"query": "\\u0071", "item": "\\ud83d\\ude00\\n", "score": 0.1}\n',
    "half a character": FIRST + '{"query": "q", "item": "\\ud83d", "score": 2}\n',
    "no object": FIRST + "3\n",
    "digits": FIRST + '{"query": "q", "item": "b", "score": 0.10000000000000002}\n',
}
ODD = [
    *DISAGREED.values(),
    *(("trec", text.encode()) for text in ODD_BLOCKS.values()),
    *(("jsonl", text.replace("score", name).encode()) for text in ODD_LINES.values() for name in ("score", "grade")),
]


@pytest.mark.parametrize(("name", "content"), ODD)
def test_nearly_regular_files_are_read_by_lines(name: str, content: bytes) -> None:
    """The fast reader refuses a block that it would read differently; some of these once had two meanings."""
    agree(content, name)
