"""The layouts of the field: each is read as its tool means it, or the message says how; archives are as their file."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import random
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from math import log2
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import scorer
from scorer.errors import ConversionError, FileError, ScorerError
from scorer.limits import Limits
from scorer.lists import READ_AS
from scorer.lists.reading.tables import USUAL_NAMES, plain
from scorer.lists.solution import Solution
from scorer.scoring.analysis.tables import read_table
from scorer.scoring.outcomes import Rejected, Rules, Scored
from scorer.scoring.submission import check
from tests.commands import Terminal

QRELS = {"q1": {"d1": 1}, "q2": {"d3": 1}}
RUN = {"q1": ["d1", "d2"], "q2": ["d2", "d3"]}
"""The only relevant item is first for q1 and second for q2."""
RR = 0.75
NDCG = (1 + 1 / log2(3)) / 2
"""0.8155."""

Rows = Sequence[Mapping[str, Any]]


def delimited(rows: Rows, mark: str) -> bytes:
    """Return a table as text."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), delimiter=mark, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: Rows) -> bytes:
    """Return a Parquet file."""
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(list(rows)), sink)
    return sink.getvalue()


class Dataset:
    """As Hugging Face's: it has rows that are dicts, and names of columns."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.column_names = list(rows[0])

    def __iter__(self) -> Any:
        return iter(self._rows)


class Attributes:
    """A row with attributes."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.__dict__.update({name.replace("-", "_"): value for name, value in row.items()})


AS_FILES: Mapping[str, Callable[[Rows], bytes]] = {
    "csv": lambda rows: delimited(rows, ","),
    "tsv": lambda rows: delimited(rows, "\t"),
    "semicolons": lambda rows: delimited(rows, ";"),
    "parquet": as_parquet,
    "jsonl": lambda rows: "".join(f"{json.dumps(row)}\n" for row in rows).encode(),
    "json": lambda rows: json.dumps(list(rows)).encode(),
}
IN_MEMORY: Mapping[str, Callable[[Rows], Any]] = {
    "DataFrame": lambda rows: pd.DataFrame(list(rows)),
    "Arrow": lambda rows: pa.Table.from_pylist(list(rows)),
    "rows": list,
    "objects": lambda rows: list(map(Attributes, rows)),
    "Dataset": Dataset,
}
WAYS = [*AS_FILES, *IN_MEMORY]


def source(way: str, rows: Rows, folder: Path) -> Any:
    """Return the rows in a file, or in memory."""
    if way in IN_MEMORY:
        return IN_MEMORY[way](rows)
    path = folder / f"table.{way}"
    path.write_bytes(AS_FILES[way](rows))
    return path


def listed(*, query: str, item: str, **more: Any) -> list[dict[str, Any]]:
    """Return the rows of `RUN` with these names, and more columns: of the rank, or with a value of it."""
    return [
        {query: of, item: each, **{name: value(rank) if callable(value) else value for name, value in more.items()}}
        for of, items in RUN.items()
        for rank, each in enumerate(items, 1)
    ]


def falling(rank: int) -> float:
    """Return a score that falls with the rank."""
    return 9.0 - rank


JUDGED = [{"query-id": query, "corpus-id": item, "score": 1} for query in QRELS for item in QRELS[query]]
PYTERRIER = [
    {**row, "query": "some words"}
    for row in listed(
        query="qid", item="docno", docid=lambda rank: 50 + rank, rank=lambda rank: rank - 1, score=falling
    )
]


@pytest.mark.parametrize("way", WAYS)
def test_the_qrels_of_beir_are_read(way: str, tmp_path: Path) -> None:
    """In every file and container."""
    scores = scorer.evaluate(source(way, JUDGED, tmp_path), RUN, ["RR", "nDCG@10"])

    assert dict(scores) == {"RR": RR, "nDCG@10": pytest.approx(NDCG)}


def test_a_split_of_hugging_face_is_read() -> None:
    """The only one; of several, one has to be chosen."""
    assert scorer.evaluate({"test": Dataset(JUDGED)}, RUN, "RR")["RR"] == RR
    with pytest.raises(scorer.SolutionError, match='found tables called "dev", "test"; give one'):
        scorer.evaluate({"dev": Dataset(JUDGED), "test": Dataset(JUDGED)}, RUN, "RR")


NAMED = {
    "PyTerrier": PYTERRIER,
    "Recommenders": listed(query="userID", item="itemID", rating=3.0, prediction=falling),
    "predictions": listed(query="userID", item="itemID", prediction=falling),
    "MovieLens": listed(query="userId", item="movieId", rating=falling),
    "RecBole": listed(query="user_id:token", item="item_id:token", **{"rating:float": falling}),
    "LensKit": listed(query="user", item="item", rating=3.0, score=falling),
    "MS MARCO": listed(query="QID", item="pid", rank=lambda rank: rank),
    "ranks and predictions": listed(query="user", item="item", prediction=lambda rank: rank, rank=lambda rank: rank),
    "both kinds of scores": listed(query="query", item="item", grade=1, score=falling),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMED)
def test_the_columns_of_a_tool_are_read_as_it_means_them(name: str, way: str, tmp_path: Path) -> None:
    """In every file and container; convert reads the same ids."""
    if way == "objects" and name == "RecBole":
        pytest.skip("no attribute has a colon")
    held = source(way, NAMED[name], tmp_path)
    scorer.convert(held, tmp_path / "converted.run", kind="submission")

    assert scorer.evaluate(QRELS, held, "RR")["RR"] == RR
    assert scorer.evaluate(QRELS, tmp_path / "converted.run", "RR")["RR"] == RR


LISTS = [{"user": query, "items": items} for query, items in RUN.items()]
LISTED = {
    "strings": [{"customer_id": query, "prediction": " ".join(items)} for query, items in RUN.items()],
    "brackets": [{"id": query, "predictions": f"[{', '.join(items)}]"} for query, items in RUN.items()],
    "repr": [{"user_id": query, "item_ids": repr(items)} for query, items in RUN.items()],
    "arrays": [{"user": query, "recommendations": f"['{items[0]}' '{items[1]}']"} for query, items in RUN.items()],
}


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("csv", "tsv", "semicolons")])
def test_nested_lists_are_read(way: str, tmp_path: Path) -> None:
    """In Parquet, JSON and in memory."""
    assert scorer.evaluate(QRELS, source(way, LISTS, tmp_path), "AP@12")["AP@12"] == RR


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("json", "jsonl")])
@pytest.mark.parametrize("name", LISTED)
def test_texts_with_lists_are_read(name: str, way: str, tmp_path: Path) -> None:
    """As Kaggle's."""
    assert scorer.evaluate(QRELS, source(way, LISTED[name], tmp_path), "AP@12")["AP@12"] == RR


HEADERLESS = {
    "MS MARCO": "q1\td1\t1\nq1\td2\t2\nq2\td2\t1\nq2\td3\t2\n",
    "MS MARCO, spaces": "q1 d1 1\nq1 d2 2\nq2 d2 1\nq2 d3 2\n",
    "MS MARCO, by rank": "q1 d1 1\nq2 d2 1\nq1 d2 2\nq2 d3 2\n",
    "pairs": "q1\td1\nq1\td2\nq2\td2\nq2\td3\n",
    "pairs, spaces": "q1 d1\nq1 d2\nq2 d2\nq2 d3\n",
    "ColBERT": "q1\td1\t1\t9.5\nq1\td2\t2\t8\nq2\td2\t1\t3.25\nq2\td3\t2\t-1\n",
    "ColBERT, spaces": "q1 d1 1 9.5\nq1 d2 2 8\nq2 d2 1 3.25\nq2 d3 2 -1\n",
    "RecSys": "q1\td1,d2\nq2\td2,d3\n",
    "RecSys, spaces": "q1\td1 d2\nq2\td2 d3\n",
    "Kaggle": 'q1,"d1 d2"\nq2,"d2 d3"\n',
    "Kaggle, commas": 'q1,"d1,d2"\nq2,"d2,d3"\n',
    "Kaggle, brackets": 'q1,"[d1, d2]"\nq2,"[d2, d3]"\n',
    "Kaggle, one of a list": 'q1,"d1"\nq2,"[d2, d3]"\n',
}


@pytest.mark.parametrize("text", HEADERLESS.values(), ids=HEADERLESS.keys())
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_layouts_without_a_header_are_read(text: str, end: str, tmp_path: Path) -> None:
    """By evaluate, convert and check alike."""
    path = tmp_path / "run.txt"
    path.write_bytes(text.replace("\n", end).encode())
    scorer.convert(path, tmp_path / "converted.json", kind="submission")

    assert dict(scorer.evaluate(QRELS, path, ["RR@10", "AP@12"])) == {"RR@10": RR, "AP@12": RR}
    assert scorer.evaluate(QRELS, tmp_path / "converted.json", "RR@10")["RR@10"] == RR
    outcome = check(Solution.of_queries(QRELS), path, Rules(()))
    assert isinstance(outcome, Scored)
    assert [note.code for note in outcome.notes] == [READ_AS]


@pytest.mark.parametrize(
    "qrels",
    ["1 0 2 1\n1 0 3 0\n2 0 5 1\n", "1 0 1 1\n1 0 2 0\n", "1 Q0 1 1\n2 Q0 1 1\n", "q 0 d1 1\n", "1 1 2 1\n1 1 4 1\n"],
)
def test_qrels_are_not_read_as_a_ranking(qrels: str, tmp_path: Path) -> None:
    """Their third column counts no items of a query, or their second is an iteration."""
    (tmp_path / "qrels").write_text(qrels, encoding="utf-8")

    with pytest.raises(scorer.SubmissionError, match="expected six columns"):
        scorer.evaluate({"1": {"1": 1}, "q": {"d1": 1}}, tmp_path / "qrels", "RR")


def test_a_ranking_is_no_solution(tmp_path: Path) -> None:
    """It has no grades."""
    (tmp_path / "run").write_text(HEADERLESS["MS MARCO"], encoding="utf-8")

    with pytest.raises(scorer.SolutionError, match="header=no,query=1,item=2,grade=3"):
        scorer.evaluate(tmp_path / "run", RUN, "RR")


BAD_LISTS = ['q1,"[[d1, 0.5], [d2, 0.1]]"\nq2,"[d2, d3]"\n', "user,items\nq1,\"{'d1': 1}\"\nq2,[d2 (d3)]\n"]


@pytest.mark.parametrize("text", BAD_LISTS)
def test_nested_lists_in_texts_are_refused(text: str, tmp_path: Path) -> None:
    """Scores in them are no ids."""
    (tmp_path / "run").write_text(text, encoding="utf-8")

    with pytest.raises(scorer.SubmissionError, match=r"expected a list of ids|expected a header"):
        scorer.evaluate(QRELS, tmp_path / "run", "RR")


AMBIGUOUS = {
    "query": (
        "qid",
        "query",
        [{**row, "query": "words"} for row in listed(query="qid", item="docid", score=falling)],
    ),
    "item": ("docno", "document_id", listed(query="query", item="docno", document_id="x", score=falling)),
    "score": ("score", "similarity", listed(query="query", item="item", score=falling, similarity=falling)),
    "PyTerrier's and another": (
        "docno",
        "doc_id",
        [{**row, "doc_id": "x"} for row in listed(query="qid", item="docno", score=falling)],
    ),
    "item, two tools": (
        "corpus-id",
        "movieId",
        [{**row, "movieId": "x"} for row in listed(query="query-id", item="corpus-id", score=falling)],
    ),
}
GRADES = {
    "score and label": ("score", "label"),
    "rel and relevance": ("rel", "relevance"),
    "rating and grade": ("rating", "grade"),
    "score and rating": ("score", "rating"),
}


@pytest.mark.parametrize("way", [way for way in WAYS if way != "objects"])
@pytest.mark.parametrize("name", AMBIGUOUS)
def test_two_columns_for_one_role_are_an_error(name: str, way: str, tmp_path: Path) -> None:
    """It names both, and for a file the option that chooses, which works."""
    one, other, rows = AMBIGUOUS[name]
    held = source(way, rows, tmp_path)
    with pytest.raises(scorer.SubmissionError) as caught:
        scorer.evaluate(QRELS, held, "RR")

    text = str(caught.value)
    assert f'"{one}"' in text
    assert f'"{other}"' in text
    if way in AS_FILES:
        (chosen,) = {*re.findall(r"(?:delimited|parquet|jsonl|json):[a-z]+=[\w-]+", text)}
        assert f"={one}" in chosen
        assert scorer.evaluate(QRELS, held, "RR", submission_format=chosen)["RR"] == RR


@pytest.mark.parametrize("way", [way for way in WAYS if way != "objects"])
@pytest.mark.parametrize("names", GRADES.values(), ids=GRADES.keys())
def test_two_columns_for_the_grade_are_an_error(names: tuple[str, str], way: str, tmp_path: Path) -> None:
    """Neither is the first of a list."""
    rows = [{"query": query, "item": item, names[0]: 1, names[1]: 2} for query in QRELS for item in QRELS[query]]
    with pytest.raises(scorer.SolutionError) as caught:
        scorer.evaluate(source(way, rows, tmp_path), RUN, "RR")

    assert all(f'"{name}"' in str(caught.value) for name in names)


def test_check_says_which_column_is_read_as_what(challenge: Path, terminal: Terminal, tmp_path: Path) -> None:
    """For each submission with named columns."""
    file = tmp_path / "run.csv"
    file.write_text("qid,docid,docno,rank,score,query\nq1,7,fig,0,1.5,words\n", encoding="utf-8")

    answer = terminal.run("check", file, "--track", "main", "--challenge", challenge)
    assert 'how the columns are read: "qid" is the query, "docno" is the item, "score" is the score' in answer.err


NAMES_OF_TOOLS = {
    "PyTerrier": ("qid", "docid", "docno", "rank", "score", "query"),
    "BEIR": ("query-id", "corpus-id", "score"),
    "ir_measures": ("query_id", "doc_id", "score"),
    "MS MARCO": ("qid", "pid", "rank"),
    "Recommenders": ("userID", "itemID", "rating", "prediction"),
    "MovieLens": ("userId", "movieId", "rating", "timestamp"),
    "RecBole": ("user_id:token", "item_id:token", "rating:float"),
    "LensKit": ("user", "item", "score", "rank", "rating"),
    "scorer": ("query", "item", "score", "rank", "grade"),
    "Kaggle": ("id", "predictions"),
    "others": ("similarity", "label", "relevance", "place", "text", "docnos", "score2", "Query", "ITEM"),
}


def test_no_column_is_read_that_check_did_not_name(tmp_path: Path) -> None:
    """Columns of two tools in any order and number; without the columns that check does not name, all is the same."""
    rng = random.Random(36)
    path, part = tmp_path / "run", tmp_path / "part"
    valid = 0
    for _ in range(500):
        one, other = rng.sample(list(NAMES_OF_TOOLS), 2)
        pool = [*NAMES_OF_TOOLS[one], *NAMES_OF_TOOLS[other]]
        names = list(dict.fromkeys(rng.sample(pool, rng.randint(2, min(8, len(pool))))))
        rows = [{name: f"{rng.randint(1, 9)}{at}" for name in names} for at in range(3)]
        way = rng.choice(["csv", "tsv", "jsonl", "json"])
        path.write_bytes(AS_FILES[way](rows))
        outcome = check(None, path, Rules(()))
        if isinstance(outcome, Rejected):
            continue
        assert isinstance(outcome, Scored)
        notes = [note for note in outcome.notes.lines() if note.startswith("how the columns are read")]
        if not notes:
            assert not USUAL_NAMES.intersection(map(plain, names)), names  # so it has no header
            continue
        read = dict(reversed(pair) for pair in re.findall(r'"([^"]+)" is the (\w+)', notes[0]))
        kept = {name: name for name in names if name in read.values()}
        part.write_bytes(AS_FILES[way]([{name: row[name] for name in kept} for row in rows]))
        assert ranking(path) == ranking(part), (names, read)
        shown = {column: [row[name] for row in rows] for column, name in read.items()}
        assert {query for query, _ in ranking(path)} == set(shown["query"]), (names, read)
        valid += 1
    assert valid > 40


def ranking(path: Path) -> list[tuple[str, Any]]:
    """Return all lists of a file."""
    target = path.with_suffix(".json")
    try:
        scorer.convert(path, target, kind="submission", ties="trec")
    except (ScorerError, ConversionError) as error:
        return [("error", re.sub(r"^\S+", "", str(error)))]
    return sorted(json.loads(target.read_text(encoding="utf-8")).items())


OTHER_NAMES = "session,track,plays\ns,t,1\n"
UNDETECTED = {
    "names of columns": (
        OTHER_NAMES,
        [
            '"session,track,plays"',
            "--submission-format NAME, as in delimited:query=Q,item=I,score=S",
            "query,item,score (delimited)",
        ],
    ),
    "three columns": ("q1 d1 0.5\nq1 d2 0.25\n", ['"q1 d1 0.5"', "query item rank (delimited)"]),
    "no first rank": ("q1\td1\t7\nq1\td2\t9\n", ["query item rank (delimited)"]),
}


@pytest.mark.parametrize(("text", "parts"), UNDETECTED.values(), ids=UNDETECTED.keys())
def test_a_format_that_cannot_be_detected_has_the_closest_layouts(text: str, parts: list[str], tmp_path: Path) -> None:
    """With the first line, and the options that name the format and the columns."""
    (tmp_path / "run").write_text(text, encoding="utf-8")
    with pytest.raises(scorer.SubmissionError) as caught:
        scorer.evaluate(QRELS, tmp_path / "run", "RR")

    assert "the format cannot be detected from" in str(caught.value)
    assert [part for part in parts if part not in str(caught.value)] == []


def zipped(files: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive; a name that ends with / is a folder."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return sink.getvalue()


def tarred(files: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a tar archive; a name that ends with / is a folder."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=form) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.type = len(content), tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            archive.addfile(member, io.BytesIO(content))
    return sink.getvalue()


PLAIN = b"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq2 Q0 d2 1 2 t\nq2 Q0 d3 2 1 t\n"
IN_FOLDER = {"out/": b"", "out/deep/": b"", "out/deep/run.txt": PLAIN}
LEFT_OVERS = {"__MACOSX/out/deep/._run.txt": b"\0\5\x16", "out/._run.txt": b"\0", "out/.DS_Store": b"\0"}
ARCHIVES = {
    "zip": zipped({"run.txt": PLAIN}),
    "zip, stored": zipped({"run.txt": PLAIN}, zipfile.ZIP_STORED),
    "zip, bzip2": zipped({"run.txt": PLAIN}, zipfile.ZIP_BZIP2),
    "zip of a folder": zipped(IN_FOLDER),
    "zip of macOS": zipped({**LEFT_OVERS, **IN_FOLDER}),
    "zip of a path": zipped({"../../etc/run.txt": PLAIN}),
    "zip of gzip": zipped({"run.txt.gz": gzip.compress(PLAIN)}),
    "tar": tarred({"run.txt": PLAIN}),
    "tar.gz": gzip.compress(tarred({"run.txt": PLAIN})),
    "tar.gz of macOS": gzip.compress(tarred({**LEFT_OVERS, **IN_FOLDER})),
    "tar.bz2": bz2.compress(tarred({"run.txt": PLAIN}, tarfile.USTAR_FORMAT)),
    "tar.gz of a long name": gzip.compress(tarred({f"{'x' * 300}/run.txt": PLAIN}, tarfile.GNU_FORMAT)),
    "bz2": bz2.compress(PLAIN),
    "two bz2 streams": bz2.compress(PLAIN[:9]) + bz2.compress(PLAIN[9:]),
}


@pytest.mark.parametrize("content", ARCHIVES.values(), ids=ARCHIVES.keys())
def test_an_archive_of_one_file_is_as_the_file(content: bytes, tmp_path: Path) -> None:
    """Also of a solution, and nothing is written anywhere."""
    (tmp_path / "run").write_bytes(content)
    (tmp_path / "qrels.zip").write_bytes(zipped({"qrels": b"q1 0 d1 1\nq2 0 d3 1\n"}))

    assert scorer.evaluate(tmp_path / "qrels.zip", tmp_path / "run", "RR")["RR"] == RR
    assert {path.name for path in tmp_path.iterdir()} == {"run", "qrels.zip"}


TWO = {"a.txt": PLAIN, "b/c.txt": PLAIN}
WRONG_ARCHIVES = {
    "two files": (zipped(TWO), 'found an archive of 2 files: "a.txt", "b/c.txt"; expected one'),
    "two files, tar": (tarred(TWO), 'found an archive of 2 files: "a.txt", "b/c.txt"; expected one'),
    "no file": (zipped({"out/": b""}), "found an archive of 0 files; expected one"),
    "many files": (zipped({f"{at}": b"" for at in range(1200)}), "more than 1,000 files"),
    "many files, tar": (tarred({f"{at}": b"" for at in range(1200)}), "more than 1,000 files"),
    "cut": (zipped({"run.txt": PLAIN})[:-9], "the archive cannot be read"),
    "cut, tar": (tarred({"run.txt": PLAIN})[:530], "the archive is cut short; send the whole file"),
    "cut, bz2": (bz2.compress(PLAIN)[:-9], "the compressed file is cut short; send the whole file"),
    "damaged": (
        zipped({"run.txt": PLAIN}, zipfile.ZIP_STORED).replace(b"Q0 d2", b"Q0 d9"),
        "the compressed file is damaged",
    ),
    "a hostile name": (zipped({"\x1b[2J": b"", "b": b""}), '"\\u001b[2J"'),
    "a size below 0": (
        tarred({"run": PLAIN}).replace(b"00000000074", b"-0000001000"),
        "the archive is cut short; send the whole file",
    ),
    "a size that is no number": (
        tarred({"run": PLAIN}).replace(b"00000000074", b"x0000000074"),
        "the archive cannot be read",
    ),
}


@pytest.mark.parametrize(("content", "message"), WRONG_ARCHIVES.values(), ids=WRONG_ARCHIVES.keys())
def test_other_archives_are_explained(content: bytes, message: str, tmp_path: Path) -> None:
    """Files are listed; damage is named."""
    (tmp_path / "run").write_bytes(content)
    with pytest.raises(scorer.SubmissionError, match=re.escape(message)):
        scorer.evaluate(QRELS, tmp_path / "run", "RR")


ZEROS = b"0" * 3_000_000
BOMBS = {
    "zip": (zipped({"run": ZEROS * 30}), Limits()),
    "bz2": (bz2.compress(ZEROS * 30), Limits()),
    "zip, size": (zipped({"run": ZEROS}), Limits(expanded_mb=1)),
    "zip of gzip": (zipped({"run": gzip.compress(ZEROS)}), Limits(expanded_mb=1)),
    "tar.gz": (gzip.compress(tarred({"run": ZEROS})), Limits(document_mb=1)),
}


@pytest.mark.parametrize(("content", "limits"), BOMBS.values(), ids=BOMBS.keys())
def test_what_an_archive_may_grow_to_is_limited(content: bytes, limits: Limits, tmp_path: Path) -> None:
    """As what gzip may grow to."""
    (tmp_path / "run").write_bytes(content)
    outcome = check(Solution.of_queries(QRELS), tmp_path / "run", Rules(()), limits=limits)

    assert isinstance(outcome, Rejected)
    assert outcome.limits


CHALLENGER = "Task,TestCase,Algorithm,MetricValue\nt,1,a,0.5\nt,2,a,0.25\nt,1,b,1\nt,2,b,0\n"
VALUES = [[0.5, 0.25], [1.0, 0.0]]
TABLES = {
    "challengeR": (CHALLENGER, "t", {}),
    "alg_name": (CHALLENGER.replace("Algorithm", "alg_name").lower(), "t", {}),
    "one task": ("alg_name,case,value\na,1,0.5\na,2,0.25\nb,1,1\nb,2,0\n", "values", {}),
    "names": (
        "method,image,dice,task\na,1,0.5,t\na,2,0.25,t\nb,1,1,t\nb,2,0,t\n",
        "t",
        {"algorithm": "method", "case": "image", "value": "DICE"},
    ),
    "a chosen column": (
        "alg_name,algorithm,case,value\na,x,1,0.5\na,x,2,0.25\nb,x,1,1\nb,x,2,0\n",
        "values",
        {"algorithm": "alg_name"},
    ),
}


@pytest.mark.parametrize("is_parquet", [False, True])
@pytest.mark.parametrize(("text", "task", "columns"), TABLES.values(), ids=TABLES.keys())
def test_tables_of_challenger_are_read(
    text: str, task: str, columns: Mapping[str, str], is_parquet: bool, tmp_path: Path
) -> None:
    """Its names, other names with options, and tables without a task."""
    rows = list(csv.DictReader(io.StringIO(text)))
    path = tmp_path / "values"
    path.write_bytes(as_parquet(rows) if is_parquet else text.encode())
    (found,) = read_table(path, columns=columns)

    assert (found.name, found.algorithms, found.cases) == (task, ("a", "b"), ("1", "2"))
    assert found.values.tolist() == VALUES


def test_report_names_the_columns_of_a_table(tmp_path: Path, terminal: Terminal) -> None:
    """By options, which the message names."""
    path = tmp_path / "values.csv"
    path.write_text("method,image,dice\na,1,0.5\na,2,0.25\nb,1,1\nb,2,0\n", encoding="utf-8")
    names = ("--algorithm", "method", "--case", "image", "--value", "dice")

    assert terminal.run("report", path, *names, "--format", "json").code == 0
    assert "name it, as in --algorithm NAME" in terminal.run("report", path, "--format", "json").err
    assert "--challenge, --track" in terminal.run("report", path, path, "--solution", path, *names).err


def test_two_columns_for_the_algorithm_are_an_error(tmp_path: Path) -> None:
    """It names both and the option."""
    (tmp_path / "values").write_text(TABLES["a chosen column"][0], encoding="utf-8")

    with pytest.raises(FileError, match=r'"alg_name" and "algorithm" both name the algorithm.*--algorithm alg_name'):
        read_table(tmp_path / "values")
