"""The forms in which scores are printed: all have the same values, and text from files stays text."""

from __future__ import annotations

import csv
import gzip
import json
import re
import subprocess
from collections.abc import Mapping
from io import StringIO
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scorer.board.reports.scores import DOCUMENTS, ScoreReport, letter, scores_in_form, tabulated, trec_name
from scorer.measures import KINDS, parse_one, registry
from scorer.scoring.evaluation import Evaluation, evaluate
from scorer.scoring.statistics.paired_tests import rounds_needed
from scorer.wording import TABLES, Cell, Column, Table, escape_latex, escape_markdown, guard_formula
from tests.commands import Terminal, command
from tests.paths import REAL_DATA

QUERIES = 12
SOLUTION = {f"q{number}": {"a": 2, "b": 1} for number in range(QUERIES)}
GOOD = {query: ["a", "b", "x"] for query in SOLUTION}
FAIR = {query: ["x", "a", "b"] for query in SOLUTION}
POOR = {query: ["x", "y", "b"] for query in SOLUTION}
HOSTILE = r"=a_b|c\d<script>&%$#{}~^[x](y)*`" + "\u202e\n"


def results(
    submissions: Mapping[str, Mapping[str, list[str]]], measures: tuple[str, ...] = ("RR", "P@2"), **settings: object
) -> ScoreReport:
    """The report of these submissions."""
    scored: list[tuple[str, Evaluation]] = [
        (name, evaluate(SOLUTION, submission, list(measures))) for name, submission in submissions.items()
    ]
    return ScoreReport(scored, registry.requested(list(measures)), **settings)  # type: ignore[arg-type]


THREE = {"good": GOOD, "fair": FAIR, "poor": POOR}


def test_a_table_has_a_row_for_each_submission_or_measure() -> None:
    """Scores have four decimals, aligned to the right."""
    assert scores_in_form("table", results(THREE)).splitlines() == [
        "submission      RR     P@2",
        "good        1.0000  1.0000",
        "fair        0.5000  0.5000",
        "poor        0.3333  0.0000",
    ]
    assert scores_in_form("table", results(THREE, side_by_side=True)).splitlines() == [
        "measure    good    fair    poor",
        "RR       1.0000  0.5000  0.3333",
        "P@2      1.0000  0.5000  0.0000",
    ]


@pytest.mark.parametrize(("form", "side_by_side"), [*product(sorted(TABLES), [True, False])])
def test_every_form_of_a_table_prints_the_same_values(form: str, side_by_side: bool) -> None:
    """Also the scores of each query; the test compares only numbers, rounded as they are printed."""
    asked = results(THREE, per_query=True, side_by_side=side_by_side)
    found = re.findall(r"(?<![\w.])\d\.\d+", scores_in_form(form, asked))
    expected = [
        f"{cell.value:.4f}" for cells in tabulated(asked).rows for cell in cells if isinstance(cell.value, float)
    ]

    assert len(expected) == (QUERIES + 1) * 3 * 2
    assert [f"{float(each):.4f}" for each in found] == expected


def test_counts_are_whole_numbers_and_never_the_best() -> None:
    """A number of items is not a score."""
    asked = results(THREE, ("NumRet", "P@2"))

    assert scores_in_form("table", asked).splitlines()[1].split() == ["good", "36", "1.0000"]
    assert r"& 36 & \textbf{1.0000}" in scores_in_form("latex", asked)


def test_csv_has_all_digits_and_no_formula() -> None:
    """Text that a spreadsheet would compute begins with a '."""
    asked = results({"=cmd()": POOR, "-1": GOOD}, ("RR",))

    assert list(csv.reader(StringIO(scores_in_form("csv", asked)))) == [
        ["submission", "RR"],
        ["'=cmd()", str(sum([1 / 3] * QUERIES) / QUERIES)],
        ["'-1", "1.0"],
    ]


def test_latex_has_the_rules_of_booktabs_and_the_best_in_bold() -> None:
    """All equal printed scores are the best; one submission is not, and Markdown is as GitHub has it."""
    lines = scores_in_form("latex", results({"a": GOOD, "b": FAIR, "c": GOOD}, ("RR", "P@3"))).splitlines()

    assert lines[0].startswith("%")
    assert lines[1:] == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"submission & RR & P@3 \\",
        r"\midrule",
        r"a & \textbf{1.0000} & \textbf{0.6667} \\",
        r"b & 0.5000 & \textbf{0.6667} \\",
        r"c & \textbf{1.0000} & \textbf{0.6667} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]

    assert "textbf" not in scores_in_form("latex", results({"a": GOOD}))
    assert "**" not in scores_in_form("markdown", results({"a": GOOD}))

    assert scores_in_form("markdown", results({"a": GOOD, "b": FAIR}, ("RR",))).splitlines() == [
        "| submission | RR |",
        "| :--- | ---: |",
        "| a | **1.0000** |",
        "| b | 0.5000 |",
    ]


def test_hostile_text_stays_text_in_every_form() -> None:
    """It is one cell on one line; only JSON has it unchanged."""
    asked = results({HOSTILE: GOOD}, ("RR",))
    shown = HOSTILE.replace("\u202e\n", r"\u202e\n")

    table_row = scores_in_form("table", asked).splitlines()[1]
    markdown_row = scores_in_form("markdown", asked).splitlines()[2]
    latex_row = scores_in_form("latex", asked).splitlines()[5]
    assert table_row == f"{shown}  1.0000"
    assert len(re.findall(r"(?<!\\)\|", markdown_row)) == 3
    assert "<script>" not in markdown_row
    assert "[x](" not in markdown_row
    assert re.sub(r"\\text[a-z]+\{\}|\\[{}$&#%_]", "", latex_row) == r"=abcdscript[x](y)*`u202en & 1.0000 \\"
    assert next(csv.reader(StringIO(scores_in_form("csv", asked).partition("\n")[2])))[0] == "'" + HOSTILE
    assert json.loads(scores_in_form("json", asked))["submissions"][0]["submission"] == HOSTILE


@pytest.mark.parametrize(
    ("text", "in_latex", "in_markdown", "in_a_spreadsheet"),
    [
        ("a_b", r"a\_b", r"a\_b", "a_b"),
        ("x\\y", r"x\textbackslash{}y", r"x\\y", "x\\y"),
        ("a|b", r"a\textbar{}b", r"a\|b", "a|b"),
        ("<b>", r"\textless{}b\textgreater{}", "&lt;b&gt;", "<b>"),
        ("@x", "@x", "@x", "'@x"),
        ("50% & {more}", r"50\% \& \{more\}", "50% &amp; {more}", "50% & {more}"),
    ],
)
def test_text_is_escaped_as_each_notation_needs_it(
    text: str, in_latex: str, in_markdown: str, in_a_spreadsheet: str
) -> None:
    """Other text is unchanged."""
    assert (escape_latex(text), escape_markdown(text), guard_formula(text)) == (in_latex, in_markdown, in_a_spreadsheet)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
@given(st.lists(st.tuples(*[st.text("=+-@;,\t\r\n \"'ab", max_size=12)] * 2), min_size=1, max_size=3))
@example([("x;=cmd()", 'x; "=cmd()')])
@example([("x\t=cmd()", "x;\t=cmd()")])
def test_no_delimiter_makes_a_formula_of_text(delimiter: str, rows: list[tuple[str, str]]) -> None:
    """A spreadsheet may split CSV at commas, semicolons or tabs: no cell begins with a formula, spaces ignored."""
    table = Table([Column("a"), Column("b")], [[Cell(text) for text in row] for row in rows])

    cells = [
        cell for row in csv.reader(StringIO(TABLES["csv"](table), newline=""), delimiter=delimiter) for cell in row
    ]

    assert not [cell for cell in cells if cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t"))]


def test_trec_has_three_columns() -> None:
    """Queries first if requested, means last; a path is above the scores of each of several submissions."""
    asked = results({"a": GOOD}, ("RR", "nDCG@10", "NumRet"), per_query=True)
    lines = scores_in_form("trec", asked).splitlines()

    assert lines[:3] == [
        "recip_rank            \tq0\t1.0000",
        "ndcg_cut_10           \tq0\t1.0000",
        "num_ret               \tq0\t3",
    ]
    assert lines[-1] == "num_ret               \tall\t36"
    assert len(lines) == 3 * (QUERIES + 1)

    assert scores_in_form("trec", results({"a": GOOD, "b": FAIR}, ("RR", "AP(rel=9)"))).splitlines() == [
        "runid                 \tall\ta",
        "recip_rank            \tall\t1.0000",
        "runid                 \tall\tb",
        "recip_rank            \tall\t0.5000",
    ]


def test_names_of_trec_eval_are_read_back() -> None:
    """Each is read back as the same measure; a measure that trec_eval does not have has our name."""
    templates = [theirs.template for kind in KINDS for theirs in kind.in_trec_eval]

    assert len(templates) == 36
    for template in templates:
        name = template.format(0.5 if "recall_{:" in template else 10)
        assert trec_name(parse_one(name)) == name
    assert trec_name(parse_one("nDCG(gain=exp)@10")) == "nDCG(gain=exp)@10"
    assert trec_name(parse_one("RR@10")) == "RR@10"


def test_names_of_trec_eval_stay_the_same_under_its_threshold(terminal: Terminal, files: Path) -> None:
    """The threshold of `-l` is not in the name, as in trec_eval; the threshold of a measure is."""
    (files / "solution").write_text("q1 0 a 3\nq2 0 a 3\n", encoding="utf-8")
    asked = ("-m", "map", "-m", "P.1", "-m", "map@5-l3", "-m", "num_rel", "-m", "ndcg", "--format", "trec")
    answer = terminal.run("evaluate", "solution", "one", *asked, "-l", "2")
    plain = terminal.run("evaluate", "solution", "one", "-m", "map", "-m", "AP(rel=2)", "--format", "trec")

    assert [line.split()[0] for line in answer.out.splitlines()] == ["map", "P_1", "AP(rel=3)@5", "num_rel", "ndcg"]
    assert [line.split()[0] for line in plain.out.splitlines()] == ["map", "AP(rel=2)"]


@pytest.mark.parametrize("form", [*TABLES, *DOCUMENTS])
def test_no_table_is_printed_if_every_file_is_invalid(form: str, terminal: Terminal, files: Path) -> None:
    """Only the error is printed; JSON has an empty list for programs."""
    answer = terminal.run("evaluate", "solution", "none", "-m", "map", "--format", form)

    assert (answer.code, answer.err) == (1, "none: no such file\n")
    assert json.loads(answer.out)["submissions"] == [] if form == "json" else answer.out == ""


def test_json_has_the_policies_when_every_file_is_rejected(terminal: Terminal, files: Path) -> None:
    """They are those that were requested, as in the result of a file that was scored."""
    arguments = ("-m", "map", "--format", "json", "--ties", "order", "--missing", "reject", "-l", "2")
    rejected = json.loads(terminal.run("evaluate", "solution", "none", *arguments).out)
    both = json.loads(terminal.run("evaluate", "solution", "one", "none", *arguments).out)

    assert rejected["policies"] == both["policies"]
    assert rejected["policies"] == {
        "split": "all",
        "missing": "reject",
        "ties": "order",
        "nothing_relevant": "skip",
        "unjudged": "nonrelevant",
        "rel": "2",
    }


def test_json_has_counts_and_notes(terminal: Terminal, files: Path) -> None:
    """A note has the number of its line."""
    (files / "odd").write_text("q1 Q0 a 1 2 t\nq9 Q0 a 1 2 t\n", encoding="utf-8")
    answer = terminal.run("evaluate", "solution", "odd", "-m", "map", "--format", "json")
    entry = json.loads(answer.out)["submissions"][0]

    assert entry["counts"].items() >= {"answered": 1, "unknown": 1, "items": 1, "repeated": 0, "overlong": 0}.items()
    assert any(note.startswith("2: ") and '"q9"' in note for note in entry["notes"])
    assert len(entry["notes"]) == sum(line.startswith("odd:") for line in answer.err.splitlines())


def test_letters_mark_what_is_significantly_higher() -> None:
    """A score has the letters of submissions with significantly lower scores; decimal points stay in one column."""
    lines = scores_in_form("latex", results(THREE, ("RR",), significance=0.05)).splitlines()

    assert lines[6:9] == [
        r"(a) good & \textbf{1.0000}\textsuperscript{bc} \\",
        r"(b) fair & 0.5000\textsuperscript{c} \\",
        r"(c) poor & 0.3333 \\",
    ]
    assert "level 0.05; two-sided paired randomisation test over the queries (10,000 rounds), Holm's" in lines[1]
    assert "**1.0000**<sup>bc</sup>" in scores_in_form("markdown", results(THREE, ("RR",), significance=0.05))

    lines = scores_in_form("table", results(THREE, ("RR",), significance=0.05)).splitlines()
    assert [line.index(".") for line in lines[1:4]] == [13, 13, 13]
    assert lines[1].endswith("1.0000 bc")
    assert lines[-1].startswith("letters: significantly higher")


def test_equal_submissions_do_not_differ_significantly() -> None:
    """Neither do submissions that differ only for a few queries."""
    few = {query: (GOOD if number < 3 else FAIR)[query] for number, query in enumerate(SOLUTION)}

    for others in ({"a": FAIR, "b": FAIR}, {"a": FAIR, "b": few}):
        assert "textsuperscript" not in scores_in_form("latex", results(others, ("RR",), significance=0.05))


def test_json_has_every_comparison() -> None:
    """Also those that are not significant, each with its p-value."""
    found = json.loads(scores_in_form("json", results(THREE, ("RR", "NumRet"), significance=0.05)))["significance"]

    assert (found["level"], found["rounds"]) == (0.05, 10_000)
    assert [(each["submission"], each["other"], each["measure"]) for each in found["comparisons"]] == [
        ("good", "fair", "RR"),
        ("good", "poor", "RR"),
        ("fair", "poor", "RR"),
    ]
    assert all(each["significant"] and each["p_value"] < 0.05 for each in found["comparisons"])
    assert found["comparisons"][0]["difference"] == 0.5
    assert [rounds_needed(2, 0.05), rounds_needed(100, 0.01)] == [10_000, 10 * 4_950 * 100]


def test_letters_go_on_after_z() -> None:
    """With a number, so that several letters can be read without separators."""
    assert [letter(place) for place in (0, 25, 26, 27, 51, 52)] == ["a", "z", "a2", "b2", "z2", "a3"]
    marks = "".join(map(letter, range(200)))
    assert re.findall("[a-z][0-9]*", marks) == list(map(letter, range(200)))


@pytest.mark.parametrize("form", ["table", "markdown", "latex"])
def test_letters_after_z_are_explained(form: str) -> None:
    """The note says what follows z, if there are so many submissions; marks have no separators."""
    many = {f"poor{number}": POOR for number in range(27)} | {"good": GOOD}
    text = scores_in_form(form, results(many, ("RR",), significance=0.5))

    assert "abcdefghijklmnopqrstuvwxyza2" in text
    assert "(b2) good" in text
    assert "letters (after z come a2, b2, ...): significantly higher" in text
    assert "after z" not in scores_in_form(form, results(THREE, ("RR",), significance=0.05))


MIXED = Table(
    [Column("rank", numeric=True), Column("team"), Column("baseline"), Column("RR", numeric=True)],
    [
        [Cell(1), Cell("a|b"), Cell(False), Cell(0.5, decimals=2)],
        [Cell(None), Cell("=c\x1b"), Cell(True), Cell(float("nan"))],
    ],
)


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("table", ["rank  team    baseline    RR", "   1  a|b     false     0.50", r"      =c\x1b  true"]),
        ("csv", ["rank,team,baseline,RR", "1,a|b,false,0.50", ",'=c\x1b,true,"]),
        (
            "markdown",
            [
                "| rank | team | baseline | RR |",
                "| ---: | :--- | :--- | ---: |",
                r"| 1 | a\|b | false | 0.50 |",
                r"|  | =c\\x1b | true |  |",
            ],
        ),
    ],
)
def test_every_form_has_texts_numbers_and_blanks(form: str, lines: list[str]) -> None:
    """A table has columns of any kind, with blanks; boards and scores have the same writers."""
    assert TABLES[form](MIXED).split("\n") == lines


# trec_eval's own output

TREC_EVAL = REAL_DATA / "trec_eval_test"
OTHER = re.compile(r"runid|relstring|G |binG|Rndcg|ndcg_rel|Rprec_mult|gm_bpref|num_nonrel|rbp|unj_|utility")
"""Measures of trec_eval that we do not have; its rbp differs from ours."""


@pytest.mark.skipif(not TREC_EVAL.exists(), reason=f"real data not found: {TREC_EVAL} (SCORER_REAL_DATA names it)")
@pytest.mark.parametrize("expected", ["out.test", "out.test.aq"])
def test_output_equals_that_of_trec_eval_line_by_line(expected: str, terminal: Terminal) -> None:
    """Names, widths, digits, and the measures with a line for each query."""
    wanted = [line for line in (TREC_EVAL / expected).read_text(encoding="utf-8").splitlines() if not OTHER.match(line)]
    names = list(dict.fromkeys(line.split()[0] for line in wanted))
    measures = [argument for name in names for argument in ("-m", name)]
    queries = ["-q"] if expected.endswith("q") else []
    files = (TREC_EVAL / "qrels.test", TREC_EVAL / "results.test")

    answer = terminal.run("evaluate", *files, *measures, *queries, "--format", "trec")

    assert len(names) > 20
    assert sorted(answer.out.splitlines()) == sorted(wanted)


# The command


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A solution and two runs in the current folder."""
    for name, text in {
        "solution": "q1 0 a 1\nq2 0 a 1\n",
        "one": "q1 Q0 a 1 2 t\nq2 Q0 x 1 2 t\nq2 Q0 a 2 1 t\n",
        "two": "q1 Q0 x 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 x 1 2 t\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_evaluate_prints_the_requested_form(files: Path, terminal: Terminal) -> None:
    """Each query with -q, submissions side by side, in any form."""
    trec = terminal.run("evaluate", "solution", "one", "-m", "map", "-q", "--format", "trec")
    beside = terminal.run("evaluate", "solution", "one", "two", "-m", "map", "--side-by-side", "--format", "markdown")
    marked = terminal.run(
        "evaluate", "solution", "one", "two", "-m", "map", "--significance", "0.05", "--format", "latex"
    )

    assert trec.out == (
        "map                   \tq1\t1.0000\nmap                   \tq2\t0.5000\nmap                   \tall\t0.7500\n"
    )
    assert beside.out.splitlines()[2] == "| map | **0.7500** | 0.2500 |"
    assert (marked.code, "(a) one" in marked.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "trec", "--side-by-side"), "trec is not a table; choose one of table, csv"),
        (("--format", "csv", "--significance", "0.05"), "csv cannot show it; choose one of table, markdown"),
        (("--significance", "2"), 'argument --significance: found "2", expected a number from 0.0001 to 0.5'),
        (("-",), "standard input (-) can be read only once"),
    ],
)
def test_a_request_that_a_form_cannot_show_is_an_error(
    arguments: tuple[str, ...], message: str, files: Path, terminal: Terminal
) -> None:
    """It is reported before anything is scored."""
    answer = terminal.run("evaluate", "solution" if arguments != ("-",) else "-", "one", *arguments, "-m", "map")

    assert (answer.code, answer.out) == (2, "")
    assert message in " ".join(answer.err.split())


def test_evaluate_reads_standard_input(files: Path) -> None:
    """The name - is a solution or a submission, compressed or not."""
    for arguments, content in (
        (("solution", "-"), (files / "one").read_bytes()),
        (("-", "one"), (files / "solution").read_bytes()),
    ):
        for piped in (content, gzip.compress(content)):
            done = subprocess.run(
                command("evaluate", *arguments, "-m", "map", "--format", "json"),
                input=piped, capture_output=True, check=False, timeout=60,
            )  # fmt: skip
            entry = json.loads(done.stdout)["submissions"][0]
            assert (entry["submission"], entry["scores"]) == (arguments[1], {"map": 0.75})
