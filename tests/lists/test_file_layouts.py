"""The layout of a file decides its number: that of the same lists in TREC's format, or it is refused."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.lists.formats import layouts
from tests.commands import READ_AS, Terminal
from tests.strategies import examples

MARKS = (" ", "\t", "  ", " \t")
QRELS = {"q1": {"d1": 1}, "q2": {"d3": 1}}
RUN = (("q1", "Q0", "d1", "1", "0.5", "t"), ("q1", "Q0", "d2", "2", "0.9", "t"), ("q2", "Q0", "d3", "1", "0.3", "t"))


def mixed(rows: tuple[tuple[str, ...], ...], marks: tuple[str, ...]) -> str:
    """Return lines with these marks between columns."""
    return "".join("".join(map("".join, zip(row, (*marks, "\n"), strict=True))) for row in rows)


@pytest.mark.parametrize("iteration", ["Q0", "0"])
@pytest.mark.parametrize("some", [MARKS[:2], pytest.param(MARKS, marks=pytest.mark.endurance)], ids=["32", "1,024"])
def test_every_mix_of_blanks_and_tabs_is_a_run(some: tuple[str, ...], iteration: str, tmp_path: Path) -> None:
    """All of one mark each, or of up to two; a tab after the query made a list of `Q0`, `d1`, `1`, `0.9`, `t`."""
    path = tmp_path / "run"
    rows = tuple((query, iteration, *others) for query, _, *others in RUN)
    trec_eval = pytest.importorskip("pytrec_eval").RelevanceEvaluator(QRELS, {"recip_rank"})
    for marks in product(some, repeat=5):
        path.write_text(text := mixed(rows, marks), encoding="utf-8")
        run: dict[str, dict[str, float]] = {}
        for query, _, item, _, score, _ in map(str.split, text.splitlines()):
            run.setdefault(query, {})[item] = float(score)
        expected = [values["recip_rank"] for values in trec_eval.evaluate(run).values()]
        assert scorer.evaluate(QRELS, path, "RR")["RR"] == sum(expected) / len(expected), text


def test_every_mix_of_blanks_and_tabs_is_a_solution(tmp_path: Path) -> None:
    """All 64."""
    path = tmp_path / "qrels"
    rows = (("q1", "0", "d1", "1"), ("q1", "0", "d2", "0"), ("q2", "0", "d3", "1"))
    for marks in product(MARKS, repeat=3):
        path.write_text(mixed(rows, marks), encoding="utf-8")
        assert scorer.evaluate(path, {"q1": ["d2", "d1"], "q2": ["d3"]}, "RR")["RR"] == 0.75


LISTS = {
    "a list of five numbers": ("1\t101 102 103 104 105\n", {"1": {"102": 1}}, 0.5),
    "a comma in an id of a pair": ("q1\tWind\nq1\tReport,_1992\nq2\tSea\n", {"q1": {"Report,_1992": 1}}, 0.5),
    "a blank in an id of a pair": ("q1\tWind\nq1\tNew York\nq2\tSea\n", {"q1": {"New York": 1}}, 0.5),
    "a comma in an id between blanks": ("q1\tWind Report,_1992 Sea\nq2\tSea Wind\n", {"q1": {"Report,_1992": 1}}, 0.5),
    "blanks after commas": ("q1\ta, b, c\nq2\tb, a, d\n", {"q1": {"b": 1}}, 0.5),
    "a cell between blanks": ('query,items\nq1,"Wind Report,_1992"\nq2,Sea\n', {"q1": {"Report,_1992": 1}}, 0.5),
    "rows of one item": ('query,items\nq1,Wind\nq1,"Report,_1992"\n', {"q1": {"Report,_1992": 1}}, 0.5),
    "brackets": ('q1\t["New York", "Report,_1992"]\n', {"q1": {"Report,_1992": 1}}, 0.5),
    "ranks after a tab": ("q1\td1 1\nq1\td2 2\n", {"q1": {"d2": 1}}, 0.5),
    "ids with blanks between tabs": ("q1\ta b c\t1\t2.5\nq1\td\t2\t1.5\n", {"q1": {"d": 1}}, 0.5),
}


@pytest.mark.parametrize(("text", "qrels", "value"), LISTS.values(), ids=LISTS.keys())
def test_one_mark_separates_items_in_the_whole_file(
    text: str, qrels: dict[str, dict[str, int]], value: float, tmp_path: Path
) -> None:
    """Where queries repeat over lines, each line has one item."""
    (tmp_path / "run").write_text(text, encoding="utf-8")

    assert scorer.evaluate(qrels, tmp_path / "run", "RR")["RR"] == value


BOTH = {
    "one comma in a line for each query": ("c1\tReport,_1992\nc2\tIce\n", ["one id with a comma, or a list"]),
    "one blank": ("c1\tNew York\nc2\tIce\n", ["one id with a blank, or a list"]),
    "a semicolon": ("query,items\nc1,d1;d2\nc2,d3\n", ["one id with marks, or a list"]),
    "semicolons and a blank": ('query,items\nc1,"New York;d2"\nc2,d3\n', ["one id with marks, or a list"]),
    "semicolons and a comma": ('query,items\nc1,"d1;d2;a,b"\nc2,d3\n', ["or a list"]),
    "one in brackets": ('query,items\nc1,"(a)"\nc2,[b]\n', ["one id with marks, or a list"]),
    "two marks": ("c1\tNew York, NY\nc2\tIce\n", ["one id with commas and blanks, or a list"]),
    "a cell": ('query,items\nc1,"Report,_1992"\nc2,Ice\n', ["one id with a comma, or a list"]),
    "one line of a run": ("1\t0 101 1 104 105\n", ["six columns: query, Q0, item", "query TAB items, between blanks"]),
    "qrels": ("1\t0 101 1\n2\t0 102 1\n", ["four columns: query, iteration", "query TAB items, between blanks"]),
    "ranks": ("1\t101 1\n2\t102 1\n", ["three columns: query, item, rank", "query TAB items"]),
}


@pytest.mark.parametrize(("text", "parts"), BOTH.values(), ids=BOTH.keys())
def test_lines_that_fit_two_layouts_are_refused(text: str, parts: list[str], tmp_path: Path) -> None:
    """With both readings, and how to write each."""
    (tmp_path / "run").write_text(text, encoding="utf-8")
    with pytest.raises(scorer.SubmissionError) as refused:
        scorer.evaluate({"1": {"101": 1}, "c1": {"Report,_1992": 1}}, tmp_path / "run", "RR")

    assert [part for part in (*parts, 'in brackets, as in ["d1", "d2"]') if part not in str(refused.value)] == []


@pytest.mark.parametrize("text", ["c1:Wind,Report,1992\n", "c1\tWind,Report,1992\n", 'c1,"[Wind,Report,1992]"\n'])
def test_a_list_cannot_have_ids_with_its_mark(text: str, tmp_path: Path) -> None:
    """If the track has such ids."""
    (tmp_path / "run").write_text(text, encoding="utf-8")
    with pytest.raises(scorer.SubmissionError, match='items have ",", which separates items'):
        scorer.evaluate({"c1": {"Report,1992": 1}}, tmp_path / "run", "RR")


def test_a_query_has_one_line_of_a_list(tmp_path: Path) -> None:
    """Beyond the lines that decide the layout, too."""
    lines = "".join(f"q{number}\ta,b,c\n" for number in range(2000))
    (tmp_path / "run").write_text(f"{lines}q7\td,e,f\n", encoding="utf-8")

    with pytest.raises(scorer.SubmissionError, match='2001: query "q7" is listed again'):
        scorer.evaluate({"q7": {"d": 1}}, tmp_path / "run", "RR")


def test_a_header_between_blanks_names_the_columns(tmp_path: Path) -> None:
    """It was taken as another run; without the names of a query and an item it is refused, as such."""
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    run.write_text("topic_id Q0 doc_id rank score run_id\nq1 Q0 d2 1 0.9 t\nq1 Q0 d1 2 0.8 t\n", encoding="utf-8")
    qrels.write_text("topic  iteration docno rel\nq1 0 d1 1\n", encoding="utf-8")

    assert scorer.evaluate(qrels, run, "RR")["RR"] == 0.5
    run.write_text("topic_id Q0 name rank score run_id\nq1 Q0 d1 1 0.9 t\n", encoding="utf-8")
    with pytest.raises(
        scorer.SubmissionError, match=r'run:1: found "topic_id .*", which is a header; remove the line$'
    ):
        scorer.evaluate(QRELS, run, "RR")
    qrels.write_text("topic iteration name rel\nq1 0 d1 1\n", encoding="utf-8")
    with pytest.raises(scorer.SolutionError, match=r'qrels:1: found "topic .*", which is a header; remove the line$'):
        scorer.evaluate(qrels, {"q1": ["d1"]}, "RR")


ROWS = '"query" "item" "score"\n"1" "q1" "d2" 0.9\n"2" "q1" "d1" 0.8\n"3" "q2" "d3" 0.7\n'


@pytest.mark.parametrize("mark", [" ", "\t", ",", ";"])
def test_the_numbers_of_rows_that_r_writes_are_no_column(mark: str, tmp_path: Path) -> None:
    """Where they are in quotes; any other column without a name is refused at once."""
    path = tmp_path / "run"
    path.write_text(ROWS.replace(" ", mark), encoding="utf-8")

    assert scorer.evaluate(QRELS, path, "RR")["RR"] == 0.75
    path.write_text(ROWS.replace(" ", mark).replace('"', ""), encoding="utf-8")
    with pytest.raises(scorer.SubmissionError, match="expected 3 columns, as in the header"):
        scorer.evaluate(QRELS, path, "RR")


VECTORS = "2 qid:1 1:0.1 2:0.7\n0 qid:1 1:0.9 2:0.2\n1 qid:2 1:0.4\n0 qid:2 1:0.6\n"


def test_predictions_belong_to_the_rows_of_a_letor_file(qrels_folder: Path, terminal: Terminal) -> None:
    """As LightGBM and XGBoost write them, a number a line; the rows of a query may be apart."""
    Path("feat.txt").write_text(VECTORS, encoding="utf-8")
    Path("named.txt").write_text("# head\n1 qid:2 1:1 # x\n2 qid:1 # y\n\n0 qid:1 # z\n0 qid:2 # w\n", encoding="utf-8")
    Path("pred.txt").write_text("0.3\n8e-1\n.9\n+0.1\n", encoding="utf-8")

    assert scorer.evaluate("feat.txt", "pred.txt", "nDCG@2")["nDCG@2"] == pytest.approx(0.8155, abs=5e-5)
    assert scorer.evaluate("named.txt", "pred.txt", "RR")["RR"] == pytest.approx((1 + 0.5) / 2)
    assert f"pred.txt: {READ_AS}one score a line" in terminal.run("evaluate", "feat.txt", "pred.txt").err
    for text, solution, why in (
        ("0.3\n0.8\n0.9\n", "feat.txt", "3 in all, .*; expected one for each row of the solution"),
        ("0.3\n\n0.8\n0.9\n0.1\n", "feat.txt", "without blank lines"),
        ("0.3\n0.8\n0.9\n0.1\n", QRELS, "expected a solution in LETOR's format"),
        ("0.3\nnan\n0.9\n0.1\n", "feat.txt", 'found "nan" as the score'),
    ):
        Path("pred.txt").write_text(text, encoding="utf-8")
        with pytest.raises(scorer.SubmissionError, match=why):
            scorer.evaluate(solution, "pred.txt", "RR")


def test_predictions_are_compared_where_the_solution_is(qrels_folder: Path, terminal: Terminal) -> None:
    """By `compare` and `report`, as by `evaluate`."""
    Path("feat.txt").write_text(VECTORS, encoding="utf-8")
    for name, text in (("one", "0.3\n0.8\n0.9\n0.1\n"), ("two", "0.9\n0.1\n0.9\n0.1\n")):
        Path(name).write_text(text, encoding="utf-8")

    compared = terminal.run("compare", "--solution", "feat.txt", "one", "two", "-m", "RR")
    assert (compared.code, "0.750  one" in compared.out, "1.000  two" in compared.out) == (0, True, True), compared
    assert terminal.run("report", "--solution", "feat.txt", "one", "two", "-m", "RR", "-o", "report.html").code == 0


@pytest.mark.parametrize("known", ["the public list", "nothing"])
def test_predictions_are_valid_as_to_form_without_the_solution(
    known: str, challenge: Path, terminal: Terminal, tmp_path: Path
) -> None:
    """They were invalid, although scoring reads them."""
    settings, file = challenge / "challenge.toml", tmp_path / "pred.txt"
    (challenge / "solutions/main.txt").unlink()
    if known == "nothing":
        settings.write_text(re.sub("(?m)^queries = .*\n", "", settings.read_text(encoding="utf-8")), encoding="utf-8")
    file.write_text("0.3\n8e-1\n.9\n", encoding="utf-8")
    answer = terminal.run("check", file, "--challenge", challenge)

    assert (answer.code, answer.err) == (0, "")
    assert "pred.txt: valid as to form: 3 finite numbers, " in answer.out
    assert "they cannot be compared with the solution here" in answer.out
    file.write_text("0.3\nnan\n", encoding="utf-8")
    answer = terminal.run("check", file, "--challenge", challenge)
    assert (answer.code, 'found "nan" as the score' in answer.err) == (1, True)


@pytest.mark.parametrize(
    ("items", "is_noted"),
    [(("D1#1", "D2#4", "D1#2"), True), (("D1%p0", "D1%p1"), True), (("D1#1", "D2#1"), False), (("D1#1", "D1"), False)],
)
def test_check_notes_passages_of_documents(
    items: tuple[str, ...], is_noted: bool, challenge: Path, terminal: Terminal, tmp_path: Path
) -> None:
    """Ids that repeat before a mark that all of them have; scoring says nothing."""
    file = tmp_path / "run.csv"
    file.write_text(
        "query,item,rank\n" + "".join(f"q1,{item},{at}\n" for at, item in enumerate(items)), encoding="utf-8"
    )
    noted = terminal.run("check", file, "--challenge", challenge).err

    mark = "#" if "#" in items[0] else "%p"
    assert (f"scorer convert RUN DOCUMENTS.run --best-of '{mark}'" in noted) == is_noted
    assert not [note for note in scorer.evaluate(QRELS, file, "RR").notes if "passages" in note.text]


def test_the_layout_is_decided_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was found again for messages, which takes as long as to read some lists."""
    decided: list[int] = []
    of = layouts.layout_of

    def counted(*given: Any) -> Any:
        decided.append(len(given))
        return of(*given)

    monkeypatch.setattr(layouts, "layout_of", counted)
    (tmp_path / "run").write_text("q1\td1,d2,d3\nq2\td3,d2,d1\n", encoding="utf-8")

    assert scorer.evaluate(QRELS, tmp_path / "run", "RR")["RR"] == 1.0
    assert decided.count(2) == 1  # with the first block


GRADED = {
    "q d grade": ("1 184 2\n1 29 2\n1 31 -1\n2 12 3\n", ""),
    "with commas": ("1,184,1\n1,29,1\n", ""),
    "levels": ("1 184 L2\n2 12 L0\n", ""),
    "TIME.REL": ("1  184 29\n2  12\n", "a query and numbers, which are the items .* or an item and its grade"),
    "no grades": ("1 0 184\n1 0 29\n", "a query and numbers"),
    "ranks": ("1 184 1\n1 29 2\n", "a query and numbers"),
    "one item a query": ("1 184 1\n2 29 1\n", "a query and numbers"),
    "prels": ("1 184 1 0 0.5\n1 29 0 1 0.25\n", "prels of TREC"),
}


@pytest.mark.parametrize(("text", "why"), GRADED.values(), ids=GRADED)
def test_a_solution_of_three_columns_is_read_where_it_is_clear(text: str, why: str, tmp_path: Path) -> None:
    """Where each line of a query has another item and a grade of one digit."""
    (tmp_path / "qrels").write_text(text, encoding="utf-8")
    if not why:
        assert scorer.evaluate(tmp_path / "qrels", {"1": ["x", "184"]}, "RR", missing="skip")["RR"] == 0.5
        return
    with pytest.raises(scorer.SolutionError, match=why):
        scorer.evaluate(tmp_path / "qrels", {"1": ["184"]}, "RR")


NO_LISTS = {
    "q1 d1 x/y b 3 d2\n": "the format cannot be detected",
    "q1 d1 d2 3 4 d9\nq2 d5 d6 7 8 d1\n": "the format cannot be detected",
    'q1,"http://h/p?q=1,2,d1"\n': "is one id with a comma, or a list",
    "q1\ta, b,c, d\n": "is one id with a comma, or a list",
    "q1:Paris,_Texas,a\n": 'found "_Texas" as an item',
    "1 [3,1,2]\n2 [1, 2]\n": "ranks of candidates in their order, as in MIND",
    " query | item | score \n-------+------+-------\n q1 | d1 | 0.9\n": "a printed table; write it as CSV",
    "| query | item | score |\n|---|---|---|\n| q1 | d1 | 0.9 |\n": "a printed table",
    "+-------+------+\n| query | item |\n+-------+------+\n": "a printed table",
    "┌───────┬──────┐\n│ query ┆ item │\n": "a printed table",
    "   query item  score\n0     q1   d1    0.9\n1     q1   d2    0.8\n": "expected 3 columns, as in the header; so in",
    "q1 Q0 d1 1 1,234.5 t\n": "without marks between thousands",
    "query\titem\tscore\nq1\td1\t1 234.5\n": "without marks between thousands",
    "query\titem\tscore\nq1\td1\t1234,5\n": "write a decimal point",
}


@pytest.mark.parametrize("text", NO_LISTS)
def test_other_files_are_refused_in_one_line(text: str, tmp_path: Path) -> None:
    """With what they are."""
    (tmp_path / "run").write_text(text, encoding="utf-8")
    with pytest.raises(scorer.SubmissionError, match=re.escape(NO_LISTS[text])) as refused:
        scorer.evaluate(QRELS, tmp_path / "run", "RR")
    assert len(str(refused.value).splitlines()) == 1


HOW = {
    "q1 Q0 d1 1 0.9 t\n": "six columns: query, Q0, item, rank, score, tag",
    "q1\td1\t1\n": "three columns: query, item, rank",
    "q1 d1 1 0.9\n": "four columns: query, item, rank, score",
    "q1\td1,d2,d3\n": "query TAB items, between commas",
    "q1\td1\nq1\td2\n": "query TAB item, one a line",
    'q1,"d1 d2 d3"\n': "query COMMA items, between blanks",
    "q1:d1,d2\n": "query:items, between commas",
}


@pytest.mark.parametrize(("text", "how"), HOW.items(), ids=HOW.values())
def test_a_line_says_how_a_file_without_a_header_is_read(
    text: str, how: str, challenge: Path, qrels_folder: Path, terminal: Terminal
) -> None:
    """By `evaluate`, `check` and in the notes of a result."""
    (qrels_folder / "run").write_text(text, encoding="utf-8")
    line = f"run: {READ_AS}{how}\n"

    assert line in terminal.run("evaluate", "q.txt", "run", "-m", "RR").err
    assert f"q.txt: {READ_AS}query iteration item grade\n" in terminal.run("evaluate", "q.txt", "run").err
    assert f"{READ_AS}{how}" in [note.text for note in scorer.evaluate("q.txt", "run", "RR").notes]
    assert line in terminal.run("check", "run", "--challenge", challenge).err


IDS = ["a", "b", "c7", "12", "3", "Report,_1992", "Paris,_Texas,_USA", "u#1", "x/y", "http://h/p?q=1,2", "a:b", "Q0"]
IDS += ["x;y", "k|v", "(a)", "[x]", "D1#1", "D1#2", "d_1", "0.5"]
WITH_BLANKS = ["New York", "The Old Man, a tale"]


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[str, list[str]], str]:
    """Return lists, and a file that means them in a layout that somebody may choose without looking at the ids."""
    mark = draw(st.sampled_from(["\t", " ", ","]))
    layout = draw(st.sampled_from(["run", "pairs", "ranks", "scores", "lists", "cells", "vlnet", "json"]))
    between = draw(st.sampled_from([",", ", ", " ", ";"]))
    pool = (
        [*IDS, *WITH_BLANKS] if layout == "json" or (mark == "\t" and layout in ("pairs", "ranks", "scores")) else IDS
    )
    names = draw(st.lists(st.sampled_from(["q1", "7", "31_1", "u#2"]), min_size=1, max_size=3, unique=True))
    least = draw(st.sampled_from([1, 3]))
    lists = {name: draw(st.lists(st.sampled_from(pool), min_size=least, max_size=5, unique=True)) for name in names}
    mark = mark if mark != "," or layout in ("lists", "cells") else " "
    lines = []
    for query, items in lists.items():
        for rank, item in enumerate(items, 1):
            row = {
                "run": [query, "Q0", item, str(rank), str(10 - rank), "t"],
                "pairs": [query, item],
                "ranks": [query, item, str(rank)],
                "scores": [query, item, str(rank), str(9.5 - rank)],
            }.get(layout)
            lines += [mark.join(row)] if row else []
        listed = between.join(items)
        if layout == "lists":
            lines.append(f'{query},"{listed}"' if mark == "," else f"{query}\t{listed}")
        if layout == "cells":
            lines += [*([] if lines else ["query,items"]), f'{query},"{listed}"']
        if layout == "vlnet":
            lines.append(f"{query}:{','.join(items)}")
    if layout == "json":
        return lists, scorer_json(lists)
    return lists, "".join(f"{line}\n" for line in lines)


def scorer_json(lists: dict[str, list[str]]) -> str:
    """Return the lists as JSON."""
    import json

    return json.dumps(lists)


@given(drawn=files(), data=st.data())
@examples(1000)
def test_a_file_has_the_number_of_its_lists_or_is_refused(
    drawn: tuple[dict[str, list[str]], str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Never another number, for every layout, mark and kind of id, of which any are judged."""
    lists, text = drawn
    pool = st.sets(st.sampled_from(sorted({item for items in lists.values() for item in items})))
    relevant = {query: data.draw(st.sampled_from(items)) for query, items in lists.items()}
    judged = {query: {*data.draw(pool), relevant[query]} for query in lists}
    qrels = {query: {item: int(item == relevant[query]) for item in judged[query]} for query in lists}
    path = tmp_path_factory.mktemp("layouts") / "run"
    path.write_text(text, encoding="utf-8")
    expected = scorer.evaluate(qrels, lists, ["RR", "nDCG@10"])
    try:
        found = scorer.evaluate(qrels, path, ["RR", "nDCG@10"])
    except scorer.SubmissionError:
        return
    assert dict(found) == pytest.approx(dict(expected)), text
