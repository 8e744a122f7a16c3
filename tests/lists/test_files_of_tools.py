"""Files as tools write them: which are read, and what a message says about the others."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import scorer
from scorer.errors import SolutionError, SubmissionError
from scorer.lists.match import difference
from tests.commands import Terminal

QRELS = {"q1": {"d1": 1}, "q2": {"d3": 1}}
RR = 0.75
"""Of lists with `d1` first and `d3` second."""

SCORES = {"q1": [("d2", 0.1), ("d1", 0.9)], "q2": [("d3", 0.2), ("d9", 0.8)]}
"""In an order that the scores contradict."""


def by_row(**names: str) -> list[dict[str, object]]:
    """Return a row for each query, with these names of the query, the items and the scores."""
    return [
        {names["query"]: query, names["items"]: [item for item, _ in pairs], names["scores"]: [at for _, at in pairs]}
        for query, pairs in SCORES.items()
    ]


PARALLEL = by_row(query="query", items="items", scores="scores")
DISTANCES = [{**row, "distances": [-score for score in row.pop("scores")]} for row in map(dict, PARALLEL)]  # type: ignore[attr-defined]
RUNS = {
    "scores next to items": "".join(f"{json.dumps(row)}\n" for row in PARALLEL),
    "distances next to items": json.dumps(DISTANCES),
    "similarities": json.dumps(by_row(query="qid", items="item_ids", scores="similarities")),
    "objects": json.dumps(
        {query: [{"id": item, "score": at} for item, at in pairs] for query, pairs in SCORES.items()}
    ),
    "objects with distances": json.dumps(
        {query: [{"_id": item, "distance": -at} for item, at in pairs] for query, pairs in SCORES.items()}
    ),
    "results": json.dumps(
        [
            {"qid": query, "results": [{"docid": item, "score": at} for item, at in pairs]}
            for query, pairs in SCORES.items()
        ]
    ),
    "pairs": "".join(f"{json.dumps({'query_id': query, 'results': pairs})}\n" for query, pairs in SCORES.items()),
    "TREC RAG": '{"topic_id": "q1", "topic": "why", "references": ["d1"]}\n'
    '{"topic_id": "q2", "topic": "how", "references": ["d9", "d3"]}\n',
    "BioASQ": '{"questions": [{"id": "q1", "documents": ["d1"]}, {"id": "q2", "documents": ["d9", "d3"]}]}',
    "cells of items": 'query,item_id\nq1,"d1 d2"\nq2,"d9 d3"\n',
    "rows of items": "query,item_id\nq1,d1\nq2,d9\nq2,d3\n",
    "lists of scores in cells": 'query;items;scores\nq1;d2 d1;[0.1, 0.9]\nq2;d3 d9;"0.2 0.8"\n',
    "positions": "q1 d1 0.9\nq2 d9 0.8\nq2 d3 0.7\n",
    "five columns": "x,q1,d1,0.9,y\nx,q2,d9,0.8,y\nx,q2,d3,0.7,y\n",
}
POSITIONS = {
    "positions": "delimited:header=no,query=1,item=2,score=3",
    "five columns": "delimited:header=no,query=2,item=3,score=4",
}


@pytest.mark.parametrize(("name", "text"), RUNS.items(), ids=RUNS.keys())
def test_a_run_is_read_as_its_tool_means_it(name: str, text: str, tmp_path: Path) -> None:
    """Numbers next to items order them; distances the other way round."""
    (tmp_path / "run").write_text(text, encoding="utf-8")

    assert scorer.evaluate(QRELS, tmp_path / "run", "RR", submission_format=POSITIONS.get(name))["RR"] == RR


def test_parallel_lists_in_tables_are_read(tmp_path: Path) -> None:
    """In Parquet and in DataFrames."""
    for rows in (PARALLEL, DISTANCES):
        frame = pd.DataFrame(rows)
        frame.to_parquet(tmp_path / "run.parquet")
        assert scorer.evaluate(QRELS, tmp_path / "run.parquet", "RR")["RR"] == RR
        assert scorer.evaluate(QRELS, frame, "RR")["RR"] == RR


@pytest.mark.parametrize(
    "text", ['{"query": "q1", "items": ["d1", "d2"], "scores": [0.5]}', "query;items;scores\nq1;d1 d2;0.5\n"]
)
def test_lists_of_other_lengths_are_refused(text: str, tmp_path: Path) -> None:
    """Scores without an item, and items without a score."""
    (tmp_path / "run").write_text(text, encoding="utf-8")

    with pytest.raises(SubmissionError, match=r"expected (one for each item|a finite number)"):
        scorer.evaluate(QRELS, tmp_path / "run", "RR")


SOLUTIONS = {
    "NTCIR": "q1 d1 L1\nq1 d2 L0\nq2 d3 L2\n",
    "Kaggle": "customer_id,labels,Usage\nq1,d1,Public\nq2,d3,Private\n",
    "Tevatron": '{"query_id": "q1", "query": "why", "positive_passages": [{"docid": "d1"}]}\n'
    '{"query_id": "q2", "query": "how", "positive_passages": [{"docid": "d3"}]}\n',
    "BioASQ": '{"questions": [{"id": "q1", "documents": ["d1"]}, {"id": "q2", "documents": ["d3"]}]}',
    "positions": "q1 d1 1\nq2 d3 2\n",
    "blanks below a header": "qid  cid  score\nq1   d1   1\nq2   d3   1\n",
}
CHOSEN = {
    "positions": "delimited:header=no,query=1,item=2,grade=3",
    "blanks below a header": "delimited:delimiter=blank,item=cid",
}


@pytest.mark.parametrize(("name", "text"), SOLUTIONS.items(), ids=SOLUTIONS.keys())
def test_a_solution_is_read_as_its_tool_means_it(name: str, text: str, tmp_path: Path) -> None:
    """Items that are listed as relevant have the grade 1."""
    (tmp_path / "qrels").write_text(text, encoding="utf-8")
    solution = scorer.Solution.read(tmp_path / "qrels", CHOSEN.get(name))

    assert scorer.evaluate(solution, {"q1": ["d1"], "q2": ["d9", "d3"]}, "RR")["RR"] == RR
    assert solution.flagged.tolist() == [name == "Kaggle", False]


def test_columns_of_lists_are_not_read_next_to_single_items(tmp_path: Path) -> None:
    """They mean something else there."""
    row = {"query": "q1", "item": "d1", "grade": 1, "relevant": True, "labels": "x", "scores": [1]}
    (tmp_path / "qrels.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "run.jsonl").write_text(json.dumps({**row, "score": 2.0}), encoding="utf-8")

    assert scorer.evaluate(tmp_path / "qrels.jsonl", tmp_path / "run.jsonl", "RR")["RR"] == 1


def workbook() -> bytes:
    """Return the beginning of a workbook of Excel."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("[Content_Types].xml", "")
        archive.writestr("xl/workbook.xml", "")
    return sink.getvalue()


REFUSED = {
    "Elasticsearch": (
        b'{"took": 3, "hits": {"total": 1, "hits": [{"_id": "d1", "_score": 1}]}}',
        "jq '{q1: (.hits.hits",
    ),
    "_msearch": (b'{"responses": [{"hits": {"hits": [{"_id": "d1"}]}}]}', "answers of _msearch"),
    "Solr": (b'{"response": {"numFound": 1, "docs": [{"id": "d1"}]}}', "jq '{q1: (.response.docs"),
    "Weaviate": (b'{"data": {"Get": {"Doc": []}}}', "Weaviate"),
    "rank_eval": (b'{"requests": [{"id": "q1", "ratings": [{"_id": "d1", "rating": 1}]}]}', "jq '[.requests[]"),
    "CAsT": (b'{"turns": [{"turn_id": "1", "responses": []}]}', "jq '[.turns[]"),
    "no query": (b'{"_id": "q1", "items": ["d1"]}\n', 'call that member "query"'),
    "404": (b"404: Not Found", "an error page"),
    "RecSys 2018": (b"team_info,main,us,a@b.c\n1, spotify:track:1, spotify:track:2\n", "sed '/^team_info/d"),
    "Excel": (workbook(), "an Excel workbook; save it as CSV"),
    "bytes after gzip": (gzip.compress(b"q1 Q0 d1 1 1 t\n") + b"junk", "other bytes follow the compressed content"),
    "qrels": (b"q1 0 d1 1\nq1 0 d2 0\n", "this is a solution"),
    "no header": (b"q1 d1 0.5\n", "delimited:header=no,query=1,item=2,score=3"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_read_is_said_with_what_to_do(content: bytes, message: str, tmp_path: Path) -> None:
    """In one message."""
    (tmp_path / "run").write_bytes(content)
    with pytest.raises(SubmissionError) as refused:
        scorer.evaluate(QRELS, tmp_path / "run", "RR")

    assert message in str(refused.value)
    assert refused.value.findings.count == 1


def test_names_of_columns_that_are_numbers_stay_names(tmp_path: Path) -> None:
    """As pandas writes them; positions count from 1 and need header=no."""
    (tmp_path / "run").write_text("0,1,2\nq1,d1,0.9\nq2,d9,0.8\nq2,d3,0.7\n", encoding="utf-8")

    read = scorer.evaluate(QRELS, tmp_path / "run", "RR", submission_format="delimited:query=0,item=1,score=2")
    assert read["RR"] == RR
    with pytest.raises(SubmissionError, match='no column is called "4"'):
        scorer.evaluate(QRELS, tmp_path / "run", "RR", submission_format="delimited:header=no,query=1,item=2,score=4")
    with pytest.raises(SubmissionError, match="expected no, or leave it out"):
        scorer.evaluate(QRELS, tmp_path / "run", "RR", submission_format="delimited:header=yes,query=1")


DIFFERENCES = [
    ("Q1", "q1", "upper and lower case"),
    ("007", "7", "zeros at the beginning"),
    ("43.0", "43", "the end .0"),
    ("qid:1", "1", "a prefix"),
    ("31", "31_1", "a suffix"),
]


@pytest.mark.parametrize(("found", "known", "what"), DIFFERENCES)
def test_an_unknown_query_is_shown_with_a_known_one(found: str, known: str, what: str) -> None:
    """And with what they differ in."""
    with pytest.raises(SubmissionError, match=r"none of its queries is known") as refused:
        scorer.evaluate({known: {"d1": 1}}, {found: ["d1"]}, "RR")

    assert difference([found], [known]) == {"variant": "spelling", "found": found, "expected": known, "what": what}
    assert what == "the end .0" or what in str(refused.value)
    assert difference(["x"], ["y"]) == {"variant": "ids", "found": "x", "expected": "y"}


def test_an_unknown_item_is_shown_with_a_known_one(qrels_folder: Path, terminal: Terminal) -> None:
    """For those who have the solution."""
    (qrels_folder / "run").write_text("q1 Q0 D1 1 2 t\nq2 Q0 D3 1 2 t\n", encoding="utf-8")

    assert 'found "D1", expected "d1": they differ in upper' in terminal.run("evaluate", "q.txt", "run").err


def test_a_fault_of_all_lines_is_one_message(tmp_path: Path) -> None:
    """With the count and the cause; faults of some lines are listed."""
    rows = [f"q1 Q0 d{at} {at} {9 - at},5 t\n" for at in range(9)]
    (tmp_path / "run").write_text("".join(rows), encoding="utf-8")
    with pytest.raises(SubmissionError) as refused:
        scorer.evaluate(QRELS, tmp_path / "run", "RR")
    assert "write a decimal point, not a comma; so in all 9 lines" in str(refused.value)

    (tmp_path / "run").write_text("".join([*rows, "q1 Q0 d 1 1 t\n"]), encoding="utf-8")
    with pytest.raises(SubmissionError) as refused:
        scorer.evaluate(QRELS, tmp_path / "run", "RR")
    assert refused.value.findings.count == 9


def test_a_file_that_scores_0_for_certain_is_said_first(challenge: Path, tmp_path: Path, terminal: Terminal) -> None:
    """With --strict, the exit code is 1."""
    settings = challenge / "challenge.toml"
    text = settings.read_text(encoding="utf-8").replace("[tracks.main]", '[tracks.main]\nitems = "items.txt"', 1)
    settings.write_text(text, encoding="utf-8")
    (challenge / "items.txt").write_text("d1\nd2\n", encoding="utf-8")
    (tmp_path / "run").write_text("q1 Q0 D1 1 2 t\nq1 Q0 D2 2 1 t\n", encoding="utf-8")
    plain, strict = (
        terminal.run("check", tmp_path / "run", "--challenge", challenge, *more) for more in ((), ("--strict",))
    )

    assert plain.err.splitlines()[0].partition(": ")[2].startswith("it scores 0 for certain: none of its 2 items")
    assert 'found "D1", expected "d1"' in plain.err
    assert (plain.code, strict.code) == (0, 1)


def test_hit_rates_lead_to_success() -> None:
    """With the cut-off, and in any case. Hits@k is their number, and Accuracy@k of BEIR is another measure here."""
    for name in ("hit@10", "HR@10", "hr_10", "Hit-Ratio@10", "Accuracy@10"):
        with pytest.raises(scorer.MeasureError, match=r"write\s+Success@10\b"):
            scorer.evaluate(QRELS, {"q1": ["d1"]}, name)
    decided = scorer.evaluate(QRELS, {"q1": ["d1"]}, ["hits", "Hits@10", "Accuracy(rel=1)@10"])
    assert [*decided] == ["hits", "Hits@10", "Accuracy(rel=1)@10"]


def test_a_run_of_passages_becomes_one_of_documents(tmp_path: Path, terminal: Terminal) -> None:
    """By the best passage."""
    (tmp_path / "run.run").write_text("q1 Q0 d1#2 1 0.9 t\nq1 Q0 d1#0 2 0.8 t\nq1 Q0 d7#1 3 0.7 t\n", encoding="utf-8")
    terminal.run("convert", tmp_path / "run.run", tmp_path / "documents.run", "--best-of", "#")

    assert (tmp_path / "documents.run").read_text(encoding="utf-8") == "q1 Q0 d1 1 0.9 scorer\nq1 Q0 d7 2 0.7 scorer\n"


def test_equal_scores_are_noted_if_they_matter(qrels_folder: Path, terminal: Terminal) -> None:
    """With the share of items and the range of the means."""
    (qrels_folder / "run").write_text(
        "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 2 t\nq1 Q0 d4 3 1 t\nq2 Q0 d3 1 1 t\n", encoding="utf-8"
    )
    (qrels_folder / "fine").write_text(
        "q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq1 Q0 d4 3 1 t\nq2 Q0 d3 1 1 t\n", encoding="utf-8"
    )

    answer = terminal.run("evaluate", "q.txt", "run", "-m", "RR").err
    assert "equal run scores: 1 of 4 items (25.0%)" in answer
    assert "by the order of ties: RR 0.7500 to 1.0000" in answer
    assert "ties" not in terminal.run("evaluate", "q.txt", "fine", "-m", "RR").err


def test_a_solution_without_a_relevant_item_has_a_reason(tmp_path: Path) -> None:
    """CISI has the item in the second column."""
    (tmp_path / "qrels").write_text("1 28 0 0.0\n1 35 0 0.0\n", encoding="utf-8")

    with pytest.raises(SolutionError, match="if column 2 has the item"):
        scorer.evaluate(tmp_path / "qrels", {"1": ["28"]}, "AP")
