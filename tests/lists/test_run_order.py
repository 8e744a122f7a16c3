"""Runs that contradict themselves: ranks and scores that disagree, equal scores, several run tags, ids with spaces."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.errors import SubmissionError
from scorer.lists import EQUAL_SCORES, READ_AS
from scorer.lists.detection import run_tag
from scorer.lists.reading.arrow import texts
from scorer.lists.reading.blocks import BLOCK
from scorer.lists.reading.tables import contradiction
from scorer.lists.solution import Solution
from scorer.scoring.outcomes import Rules, Scored
from scorer.scoring.submission import score
from tests.commands import Terminal

DISTANCES = "q1 Q0 d1 1 0.1 t\nq1 Q0 d2 2 0.9 t\nq2 Q0 d3 1 0.2 t\nq2 Q0 d1 2 0.7 t\n"
SWAPPED = "q1 Q0 d1 0.9 1 t\nq1 Q0 d2 0.8 2 t\nq2 Q0 d3 0.9 1 t\nq2 Q0 d1 0.7 2 t\n"
ONE_LESS = "q1 Q0 d1 9 1 t\nq1 Q0 d2 8 2 t\nq2 Q0 d3 3 1 t\nq2 Q0 d1 2 2 t\n"
EQUAL = "q1 Q0 d1 1 1 t\nq1 Q0 d2 2 1 t\nq2 Q0 d3 1 1 t\nq2 Q0 d4 2 1 t\n"
OUT_OF_ORDER = "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 1 t\nq2 Q0 d4 1 3 t\nq2 Q0 d5 2 1 t\nq2 Q0 d3 3 2 t\n"
TWO_RUNS = "q1 Q0 d1 1 2 a\nq2 Q0 d3 1 2 a\nq1 Q0 d2 1 3 b\nq2 Q0 d4 1 3 b\n"
SPACE = "q1 Q0 d9 1 3 t\nq1 Q0 d1 x 2 2 t\nq2 Q0 d3 1 2 t\n"


def csv(run: str) -> str:
    """A run in TREC's format as a table with ranks and scores."""
    rows = [line.split()[:5] for line in run.splitlines()]
    return "".join(",".join([query, item, rank, score]) + "\n" for query, _, item, rank, score in rows)


# Ranks and scores


@pytest.mark.parametrize(
    ("run", "value", "line", "note"),
    [
        pytest.param(DISTANCES, 0.5, "", "the run scores rise with the rank, as distances do; negate", id="distances"),
        pytest.param(SWAPPED, 0.5, "", "the two look swapped", id="swapped"),
        pytest.param(ONE_LESS, 0.5, "", "look swapped", id="swapped, scores that fall by one"),
        pytest.param(SWAPPED.replace("0.9", "30").replace("0.", ""), 0.5, "", "look swapped", id="swapped, whole"),
        pytest.param(EQUAL, 0.5, "", "all run scores are equal (1), so only the rule for ties", id="equal"),
        pytest.param(OUT_OF_ORDER, 0.75, ":5", "rank 3 has a higher run score, 2, than the rank", id="out of order"),
        pytest.param(
            "q1 Q0 d1 1 3 t\nq2 Q0 d2 1.5 2 t\n", 0.5, ":2", "the rank is no whole number, in 1 of", id="odd rank"
        ),
        pytest.param(
            "q1 Q0 d1 - 3 t\nq2 Q0 d3 - 2 t\n",
            1.0,
            ":1",
            "the rank is no whole number, in 2 of the first 2 rows",
            id="no rank",
        ),
    ],
)
@pytest.mark.parametrize("form", ["trec", "csv"])
def test_a_contradiction_is_noted(
    run: str, value: float, line: str, note: str, form: str, qrels_folder: Path, terminal: Terminal
) -> None:
    """By `evaluate` and in the notes of a result; the scores count as before, and the exit code is 0."""
    text = run if form == "trec" else f"query,item,rank,score\n{csv(run)}"
    (qrels_folder / "run").write_text(text, encoding="utf-8")
    answer = terminal.run("evaluate", "q.txt", "run", "-m", "RR", "--format", "trec")
    result = scorer.evaluate("q.txt", "run", "RR")

    at = f":{int(line[1:]) + (form == 'csv')}" if line else ""
    assert answer.code == 0
    assert answer.out.split()[-1] == f"{value:.4f}"
    assert answer.said.startswith(f"run{at}: ")
    assert note in answer.said
    assert note in str(result.notes.without(READ_AS).shown[0])


@pytest.mark.parametrize(
    "run",
    [
        pytest.param("q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq2 Q0 d3 1 1 t\n", id="in order"),
        pytest.param("q1 Q0 d2 2 2 t\nq1 Q0 d1 1 3 t\nq1 Q0 d4 4 1 t\nq1 Q0 d3 3 1 t\n", id="rows in another order"),
        pytest.param("q1 Q0 d1 0 3 t\nq1 Q0 d2 0 2 t\nq1 Q0 d4 0 9 t\n", id="one rank for all"),
        pytest.param("q1 Q0 d1 1 2 t\nq1 Q0 d2 2 2 t\nq1 Q0 d4 3 1 t\n", id="some equal scores"),
        pytest.param("q1 Q0 d1 1 2 t\nq2 Q0 d3 1 2 t\n", id="lists of one item"),
        pytest.param("q1 Q0 d2 3 1 t\nq1 Q0 d1 2 2 t\nq1 Q0 d4 1 3 t\n", id="the last rank first"),
    ],
)
def test_ranks_that_agree_with_the_scores_give_no_note(run: str, qrels_folder: Path) -> None:
    """For any order of the rows."""
    (qrels_folder / "run").write_text(run, encoding="utf-8")

    notes = scorer.evaluate("q.txt", "run", "RR").notes.without(READ_AS, EQUAL_SCORES, "tie-bounds")
    assert [note for note in notes if "no list" not in note.text] == []


def test_a_column_for_a_place_is_no_rank_next_to_a_score(qrels_folder: Path) -> None:
    """It may be a place on a map."""
    (qrels_folder / "run").write_text("query,item,place,score\nq1,d1,Ljubljana,2\nq2,d3,Bled,1\n", encoding="utf-8")

    assert not scorer.evaluate("q.txt", "run", "RR").notes


def test_equal_scores_are_noted_with_the_bounds_of_the_means(qrels_folder: Path, terminal: Terminal) -> None:
    """As `--tie-bounds` computes them; only where ties are ordered by id, and not twice."""
    (qrels_folder / "run").write_text(EQUAL, encoding="utf-8")
    bounds = "run: by the order of ties: RR 0.5000 to 1.0000, P@1 0.0000 to 1.0000\n"

    assert terminal.run("evaluate", "q.txt", "run", "-m", "RR,P@1").said.endswith(bounds)
    assert bounds not in terminal.run("evaluate", "q.txt", "run", "-m", "RR,P@1", "--tie-bounds").said
    assert terminal.run("evaluate", "q.txt", "run", "-m", "RR,P@1", "--ties", "order").said == ""


def test_a_participant_reads_the_contradiction_without_the_bounds(challenge: Path, terminal: Terminal) -> None:
    """`check` needs no solution, so it does not say what the orders of ties give; a scored entry has the same note."""
    file = challenge / "tied.run"
    file.write_text(EQUAL, encoding="utf-8")
    note = "all run scores are equal (1), so only the rule for ties orders the lists, by item id, descending; "
    expected = [f"{note}write scores that fall with the rank"]
    checked = terminal.run("check", file, "--challenge", challenge)
    outcome = score(Solution.read(challenge / "solutions" / "main.txt"), file, Rules(()))

    assert [line.partition(": ")[2] for line in checked.err.splitlines() if "run scores" in line] == expected
    assert isinstance(outcome, Scored)
    assert [note.text for note in outcome.notes if "run scores" in note.text] == expected


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8).map(
        lambda rows: sorted(rows, key=lambda row: row[0])
    )
)
def test_contradictions_equal_a_loop(rows: list[tuple[str, int, int]]) -> None:
    """Rows of a query are sorted by rank, then by their place; neighbours with different ranks are compared."""
    queries, ranks, scores = zip(*rows, strict=True)
    line = np.arange(1, len(rows) + 1)
    note = contradiction(texts(queries), texts(map(str, ranks)), np.array(scores, dtype=float), line)
    rising = falling = 0
    steps, lasts = [], []
    for query in "ab":
        listed = [row for row in rows if row[0] == query]
        lasts += [row[1] for row in listed[-1:]]
        steps += [(after[1] - row[1], after[2] - row[2]) for row, after in pairwise(listed)]
        for (_, rank, value), (_, next_rank, next_value) in pairwise(sorted(listed, key=lambda row: row[1])):
            rising += next_rank > rank and next_value > value
            falling += next_rank > rank and next_value < value

    if (
        steps
        and all(up == 1 for _, up in steps)
        and (any(abs(step) != 1 for step, _ in steps) or (max(lasts) > 1 and all(step < 0 for step, _ in steps)))
        and any(step for step, _ in steps)
    ):
        expected = "look swapped"
    elif rising:
        expected = f"so in {rising} of the first {len(rows)} row" if falling else "as distances do"
    else:
        expected = ""
    assert (note is None) == (not expected)
    assert note is None or expected in note.text


def test_ranks_are_compared_in_the_first_block(qrels_folder: Path) -> None:
    """That is what it costs little for; every row still counts for the scores."""
    row = "q1 Q0 d%07d %d %d t\n"
    rows = [row % (number, number, -number) for number in range(1, BLOCK // 20)]
    (qrels_folder / "run").write_text("".join([*rows, row % (0, len(rows) + 1, 1)]), encoding="utf-8")
    assert (qrels_folder / "run").stat().st_size > BLOCK

    result = scorer.evaluate({"q1": {"d0000000": 1}}, "run", "RR")
    assert result["RR"] == 1
    assert not result.notes.without(READ_AS)


# Run tags


def test_several_run_tags_are_refused_with_their_lines(qrels_folder: Path, terminal: Terminal) -> None:
    """Merged they scored 0.5; each run has 1.0 or 0.0."""
    (qrels_folder / "two.run").write_text(TWO_RUNS, encoding="utf-8")
    refused = terminal.run("evaluate", "q.txt", "two.run", "-m", "RR")
    alone = [terminal.run("evaluate", "q.txt", "two.run", "-m", "RR", "--tag", tag).out for tag in "ab"]
    merged = terminal.run("evaluate", "q.txt", "two.run", "-m", "RR", "--tag", "*")

    assert refused.code == 1
    assert refused.said == (
        'two.run:3: the file has several runs: the run tag is "a" from line 1 and "b" from line 3; submit one run, or '
        "choose the tag to read with --tag TAG (--tag '*' reads all rows as one run)\n"
    )
    assert [text.split()[-2:] for text in alone] == [["a", "1.0000"], ["b", "0.0000"]]
    assert merged.out.split()[-1] == "0.5000"
    assert run_tag("two.run", "trec:tag=b") == "b"


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "two.run", "one.run", "--solution", "q.txt", "-m", "RR"),
        ("fuse", "one.run", "two.run"),
        ("overlap", "one.run", "two.run"),
        ("convert", "two.run", "out.csv"),
    ],
)
def test_every_command_refuses_several_tags_and_reads_one(
    command: tuple[str, ...], qrels_folder: Path, terminal: Terminal
) -> None:
    """But `trec_eval`, which reads as trec_eval does."""
    (qrels_folder / "two.run").write_text(TWO_RUNS, encoding="utf-8")
    (qrels_folder / "one.run").write_text(TWO_RUNS[: len(TWO_RUNS) // 2], encoding="utf-8")
    refused, chosen = terminal.run(*command), terminal.run(*command, "--tag", "a")

    assert refused.code == 1
    assert "--tag TAG" in refused.said
    assert chosen.code == 0
    assert terminal.run("trec_eval", "-m", "recip_rank", "q.txt", "two.run").out.split()[-1] == "0.5000"


def test_a_tag_is_chosen_by_its_whole_text(qrels_folder: Path, terminal: Terminal) -> None:
    """It may have commas; one that no row has is an error."""
    (qrels_folder / "two.run").write_text(TWO_RUNS.replace(" b", " bm25,k1=0.9"), encoding="utf-8")
    arguments = ("evaluate", "q.txt", "two.run", "-m", "RR", "--tag")

    assert terminal.run(*arguments, "bm25,k1=0.9").out.split()[-1] == "0.0000"
    unknown = terminal.run(*arguments, "c")
    assert (unknown.code, unknown.err) == (1, 'two.run: no row has the run tag "c"; choose a tag of the file\n')


def test_another_tag_far_down_is_found(qrels_folder: Path) -> None:
    """In a later block, after rows that are read as columns and after a comment."""
    row = "q%06d Q0 d1 1 1 %s\n"
    rows = ["# a run\n", *(row % (number, "first") for number in range(BLOCK // 20))]
    (qrels_folder / "run").write_text("".join([*rows, row % (len(rows), "second")]), encoding="utf-8")
    assert (qrels_folder / "run").stat().st_size > BLOCK

    with pytest.raises(SubmissionError, match='"first" from line 2 and "second" from line') as refused:
        scorer.evaluate("q.txt", "run", "RR")
    assert refused.value.findings.shown[0].line == len(rows) + 1


def test_a_challenge_rejects_several_tags_with_this_reason(challenge: Path, terminal: Terminal) -> None:
    """And `check` before; the format of the track may name the tag."""
    file = challenge / "submissions" / "main" / "two.run"
    file.write_text("q1 Q0 apple 1 1 a\nq1 Q0 apple 1 1 b\n", encoding="utf-8")
    reason = 'the run tag is "a" from line 1 and "b" from line 2'

    assert reason in terminal.run("check", file, "--challenge", challenge).said
    tagged = terminal.run("check", file, "--challenge", challenge, "--tag", "b")
    assert (tagged.code, "valid as trec:tag=b, which is no verdict for track main" in tagged.out) == (0, True)
    assert "valid for track" not in tagged.said
    assert reason in terminal.run("score", challenge, "--executor", "serial").said


# Seven columns


def test_a_tag_may_have_spaces(qrels_folder: Path) -> None:
    """What follows its first word is ignored."""
    (qrels_folder / "run").write_text("q1 Q0 d1 1 2 BM25 + RM3\nq2 Q0 d3 1 2 BM25 + RM3\n", encoding="utf-8")
    result = scorer.evaluate("q.txt", "run", "RR")

    assert result["RR"] == 1
    assert not result.notes.without(READ_AS)


@pytest.mark.parametrize("line", ["q1 Q0 d1 x 2 2 t", "q 1 Q0 d1 2 2 t"])
def test_an_id_with_a_space_is_refused(line: str, qrels_folder: Path, terminal: Terminal) -> None:
    """`d1 x` was credited as `d1`: 0.75 instead of 0.5. trec_eval reads it in that way."""
    (qrels_folder / "run").write_text(f"{line}\n{SPACE}".replace("q1 Q0 d1 x 2 2 t\nq2", "q2"), encoding="utf-8")
    answer = terminal.run("evaluate", "q.txt", "run", "-m", "RR")

    assert answer.code == 1
    assert answer.said == (
        f'run:1: found "{line}"; expected six columns, "query Q0 item rank score tag"; ids have no spaces\n'
    )
    assert terminal.run("trec_eval", "-m", "recip_rank", "q.txt", "run").code == 0


def test_huge_scores_are_compared_without_a_warning(tmp_path: Path) -> None:
    """Their difference is infinite, and its sign is right."""
    run = tmp_path / "run"
    run.write_text("q1 Q0 a 1 1e308 t\nq1 Q0 b 2 -1.7e308 t\nq2 Q0 a 1 -1.7e308 t\nq2 Q0 b 2 1e308 t\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = scorer.evaluate({"q1": {"a": 1}, "q2": {"a": 1}}, run, "RR")
    assert "rank 2 has a higher run score, 1e+308" in str(result.notes.lines())
