"""``scorer trec_eval``: the command line and the output of trec_eval 10, to the byte.

Tests with trec_eval itself run where `SCORER_TREC_EVAL` names its program, version 10, or where it is on the path.
"""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import scorer
from scorer.board.reports.scores import trec_name
from scorer.measures import TREC_SETS, parse, parse_one, registry
from scorer.measures.names import printed_measures
from scorer.measures.trec_eval import GROUPS, TREC_EVAL, TREC_LEFT_OUT
from tests.commands import Answer, Terminal, command
from tests.paths import DOCS, REAL_DATA
from tests.values import TREC_EVAL_10

DATA = REAL_DATA
ROBUST, THEIR_TESTS = DATA / "trec2003_robust", DATA / "trec_eval_test"

PROGRAM = os.environ.get("SCORER_TREC_EVAL") or shutil.which("trec_eval")

with_trec_eval = pytest.mark.skipif(
    PROGRAM is None, reason="trec_eval not found: SCORER_TREC_EVAL names its program, version 10"
)

QRELS = """\
10 0 a 1
10 0 b 0
10 0 c 2
9 0 d 1
9 0 e -1
9 0 f 0
9 0 g 12
8 0 a 1
"""
RUN = """\
9 Q0 x 1 5.0 first
9 Q0 d 2 4.5 first
9 Q0 e 3 4.0 first
9 Q0 g 4 3.0 first
10 Q0 b 1 2.0 first
10 Q0 c 2 1.0 first
10 Q0 a 3 1.0 first
11 Q0 a 1 1.0 last
"""

OUTPUT = """\
P_1                   \t10\t0.0000
P_3                   \t10\t0.6667
relstring_5           \t10\t'021'
set_F_0.5             \t10\t0.7500
num_nonrel_judged_ret \t10\t1
unj_2                 \t10\t0.0000
P_1                   \t8\t0.0000
P_3                   \t8\t0.0000
relstring_5           \t8\t''
set_F_0.5             \t8\t0.0000
num_nonrel_judged_ret \t8\t0
unj_2                 \t8\t0.0000
P_1                   \t9\t0.0000
P_3                   \t9\t0.3333
relstring_5           \t9\t'-1.>'
set_F_0.5             \t9\t0.6000
num_nonrel_judged_ret \t9\t0
unj_2                 \t9\t0.5000
runid                 \tall\tlast
num_q                 \tall\t3
P_1                   \tall\t0.0000
P_3                   \tall\t0.3333
gm_bpref              \tall\t0.0005
set_F_0.5             \tall\t0.4500
num_nonrel_judged_ret \tall\t1
unj_2                 \tall\t0.1667
"""
"""The output of trec_eval 10, but for the string of query 8: it prints a list of one item there."""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The paths of qrels and a run: queries 9 and 10 have lists, 8 has none, 11 is unknown."""
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text(QRELS, encoding="utf-8")
    run.write_text(RUN, encoding="utf-8")
    return qrels, run


def lines(answer: Answer) -> list[tuple[str, ...]]:
    """The columns of the lines that a command printed."""
    assert answer.code == 0, answer.err
    return [tuple(column.strip() for column in line.split("\t")) for line in answer.out.splitlines()]


# --- Names ------------------------------------------------------------------------------------------------------------


def test_every_name_of_trec_eval_is_read_or_left_out_with_the_reason() -> None:
    """No name is missing, and none has two meanings."""
    names = [*(each.name for each in TREC_EVAL), *TREC_LEFT_OUT, *GROUPS]

    assert sorted(names) == sorted(TREC_EVAL_10)
    assert all(TREC_LEFT_OUT.values())


def test_the_documentation_lists_what_is_left_out() -> None:
    """The page has every name in the row of its reason, and every name that is read."""
    text = (DOCS / "trec-eval.md").read_text(encoding="utf-8")

    for name, reason in TREC_LEFT_OUT.items():
        assert any(f"`{name}`" in row and reason in row for row in text.splitlines()), name
    assert all(f"`{each.name}`" in text for each in TREC_EVAL)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_has_the_same_measures_in_every_command(group: str) -> None:
    """`scorer evaluate` has the numbers of a group, in the order in which trec_eval prints them; not its texts."""
    printed = {each.name: each.measure for each in printed_measures([group], registry) if each.measure is not None}
    if "set_F" in printed:
        assert str(printed["set_F"]) == "SetF(weight=plain)"  # the same number as SetF, whose β is 1
        printed["set_F"] = parse_one("SetF")

    assert [measure for name in TREC_SETS[group] for measure in parse(name)] == list(printed.values())
    assert [trec_name(measure) for measure in printed.values()] == list(printed)


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        (["map", "num_q", "runid"], ["runid", "num_q", "map"]),
        (["P.10,5"], ["P_5", "P_10"]),
        (["P.5", "P.10"], ["P_5"]),
        (["P", "P.7"], ["P_7"]),
        (["success"], ["success_1", "success_5", "success_10"]),
        (["unj"], ["unj_5", "unj_10", "unj_20"]),
        (["iprec_at_recall.0.5,.25"], ["iprec_at_recall_0.25", "iprec_at_recall_0.50"]),
        (["Rprec_mult.1.5,1"], ["Rprec_mult_1.00", "Rprec_mult_1.50"]),
        (["ndcg.1=3.5,2=9"], ["ndcg_1=3.5,2=9"]),
        (["rbp.p=0.8", "rbp_resid.p=0.8"], ["rbp_p=0.8", "rbp_resid_p=0.8"]),
        (["utility.1,-1,0,0"], ["utility_1,-1,0,0"]),
        (["set_F.0.5"], ["set_F_0.5"]),
    ],
)
def test_measures_are_printed_in_the_order_and_with_the_names_of_trec_eval(
    requested: Sequence[str], expected: Sequence[str]
) -> None:
    """Cut-offs ascend; the first parameters of a measure count."""
    assert [each.name for each in printed_measures(requested, registry)] == expected


def test_parameters_have_the_meaning_of_trec_eval() -> None:
    """The weight of set_F is not squared; -l changes the measures that count relevant items, and -N utility."""
    requested = ["set_F.0.5", "rbp.p=0.8", "ndcg.1=3.5,2=9", "utility.1,-1,0,0.5", "recall.5", "map"]

    printed = printed_measures(requested, registry, collection=100, level=2)

    assert [str(each.measure) for each in printed] == [
        "AP(rel=2)",
        "R(rel=2)@5",
        "Utility(rest=0.5,items=100,rel=2)",
        "nDCG(gain={1:3.5,2:9})",
        "SetF(beta=0.5,weight=plain,rel=2)",
        "RBP(p=0.8)",
    ]


REFUSED_NAMES = {
    "prefs": "pairs of items",
    "prefs_simp": "pairs of items",
    "map_avgjg": "several assessors",
    "yaap": "negative",
    "ideal_dcg": "property of the solution",
    "mapp": "the closest names are map",
    "nDCG@10": "no measure",
    "RR": "RR is a name of scorer",
    "P.": "nothing after the dot",
    "map.5": "map_cut.10",
    "official.5": "name a measure of the group",
    "11pt_avg.0.2,0.5": "iprec_at_recall",
}
"""Names that exit with 1."""

REFUSED_PARAMETERS = {
    "P.5,5": "listed twice",
    "P.0": "whole numbers above 0",
    "P.2.5": "whole numbers above 0",
    "P.1=3": "whole numbers above 0",
    "P.5,,10": "whole numbers above 0",
    "iprec_at_recall.2": "from 0 to 1",
    "ndcg.5": "1=3.5,2=9",
    "ndcg.1=-1": "no gain is negative",
    "ndcg.0=1": "level 0 has gain 0",
    "ndcg.1=2,01=3": "two gains",
    "ndcg.1=2,1=3": "expected parameters",
    "rbp.0.8": "p=0.8",
    "rbp.p=2": "from 0 to 0.9999",
    "rbp.1=0.5": "takes no gains",
    "utility.1,-1": "4 numbers",
    "set_F.x": "a number",
    "relstring.1,2": "a number",
}


@pytest.mark.parametrize("name", [*REFUSED_NAMES, *REFUSED_PARAMETERS])
def test_a_measure_that_cannot_be_had_is_refused_with_the_reason(
    name: str, files: tuple[Path, Path], terminal: Terminal
) -> None:
    """The message names the measure and says why, or what to write."""
    answer = terminal.run("trec_eval", "-m", name, *files)

    assert answer.code == (1 if name in REFUSED_NAMES else 2)
    assert not answer.out
    assert name.partition(".")[0] in answer.err
    assert (REFUSED_NAMES | REFUSED_PARAMETERS)[name] in answer.err


# --- The command line -------------------------------------------------------------------------------------------------

REQUESTED = ("relstring.5", "set_F.0.5", "P.3,1", "gm_bpref", "num_nonrel_judged_ret", "unj.2", "runid", "num_q")
MEASURES = [argument for name in REQUESTED for argument in ("-m", name)]


@pytest.mark.parametrize(
    "options", [["-q", "-c"], ["-qc"], ["-cq"], ["--query_eval_wanted", "--complete_rel_info_wanted"], ["-qco"]]
)
def test_the_output_is_that_of_trec_eval(options: list[str], files: tuple[Path, Path], terminal: Terminal) -> None:
    """Queries in the order of their bytes, the tag of the last line; flags may be combined, or written in words."""
    answer = terminal.run("trec_eval", *options, *MEASURES, *files)

    assert (answer.code, answer.out) == (0, OUTPUT)


def test_options_may_follow_the_files(files: tuple[Path, Path], terminal: Terminal) -> None:
    """As in trec_eval, which reads options at any place, also joined with their values."""
    before = terminal.run("trec_eval", "-q", "-l", "2", "-M", "3", "-m", "map", *files)
    after = terminal.run("trec_eval", files[0], "-mmap", files[1], "-ql2", "-M3")

    assert before.code == 0
    assert before.out == after.out


def test_the_official_measures_are_the_default(files: tuple[Path, Path], terminal: Terminal) -> None:
    """30 lines, without -q."""
    answer = terminal.run("trec_eval", *files)

    assert answer == terminal.run("trec_eval", "-m", "official", *files)
    assert len(answer.out.splitlines()) == 30


def test_queries_without_a_list_are_left_out_without_c(files: tuple[Path, Path], terminal: Terminal) -> None:
    """The means are over the queries with a list; a line on standard error says how many are left out."""
    answer = terminal.run("trec_eval", "-q", "-m", "num_q", "-m", "num_rel", *files)

    assert lines(answer) == [
        ("num_rel", "10", "2"),
        ("num_rel", "9", "2"),
        ("num_q", "all", "2"),
        ("num_rel", "all", "4"),
    ]
    assert "1 query of 3 left out" in answer.err


def test_n_prints_no_means(files: tuple[Path, Path], terminal: Terminal) -> None:
    """And nothing at all without -q."""
    assert {line[1] for line in lines(terminal.run("trec_eval", "-nq", "-m", "map", *files))} == {"10", "9"}
    assert terminal.run("trec_eval", "-n", "-m", "map", *files).out == ""


def test_unjudged_items_are_removed_with_j(files: tuple[Path, Path], terminal: Terminal) -> None:
    """After the list is cut with -M; an item with a negative grade is not judged."""
    answer = terminal.run("trec_eval", "-qJ", "-M", "3", "-m", "relstring", "-m", "num_ret", *files)

    assert lines(answer) == [
        *[("num_ret", "10", "3"), ("relstring", "10", "'021'"), ("num_ret", "9", "1"), ("relstring", "9", "'1'")],
        ("num_ret", "all", "4"),
    ]


def test_a_collection_has_a_size(files: tuple[Path, Path], terminal: Terminal) -> None:
    """-N is the number of documents that utility may reward for being left out."""
    answer = terminal.run("trec_eval", "-N", "100", "-m", "utility.0,0,0,1", *files)

    assert lines(answer) == [("utility_0,0,0,1", "all", "96.5000")]


def test_a_run_may_be_compressed_or_come_from_standard_input(files: tuple[Path, Path], terminal: Terminal) -> None:
    """Its tag is printed as for any file."""
    expected = terminal.run("trec_eval", "-q", *files).out
    packed = files[1].with_suffix(".gz")
    packed.write_bytes(gzip.compress(files[1].read_bytes()))

    assert terminal.run("trec_eval", "-q", files[0], packed).out == expected
    with files[1].open("rb") as stream:
        done = subprocess.run(
            command("trec_eval", "-q", files[0], "-"), stdin=stream, capture_output=True, check=True, text=True
        )
    assert done.stdout == expected


def test_values_that_change_nothing_are_accepted(files: tuple[Path, Path], terminal: Terminal) -> None:
    """The only formats, no debug output, and the obsolete -o."""
    plain = terminal.run("trec_eval", *files)

    assert terminal.run("trec_eval", "-R", "qrels", "-T", "trec_results", "-D", "0", "-o", *files) == plain


def test_version_and_missing_files(files: tuple[Path, Path], terminal: Terminal) -> None:
    """-v needs no files; anything else needs both."""
    assert "trec_eval 10" in terminal.run("trec_eval", "-v").err
    answer = terminal.run("trec_eval", files[0])
    assert answer.code == 1
    assert "the qrels, then the run" in answer.err


@pytest.mark.parametrize("text", ["\n{}", "{}\n  \n", "\ufeff{}", "# one\n# two\n{}# three\n"])
def test_blank_lines_comments_and_a_byte_order_mark_change_nothing(
    text: str, files: tuple[Path, Path], terminal: Terminal
) -> None:
    """In both files; docs/trec-eval.md says what trec_eval makes of them."""
    plain = terminal.run("trec_eval", "-q", *files)
    for file, content in zip(files, (QRELS, RUN), strict=True):
        file.write_text(text.format(content), encoding="utf-8")

    assert plain.code == 0
    assert terminal.run("trec_eval", "-q", *files) == plain


def test_the_official_measures_have_the_keys_that_trec_eval_prints(files: tuple[Path, Path]) -> None:
    """Two decimals in a level; any other spelling is a key too."""
    result = scorer.evaluate(*files, ["official", "Rprec_mult"], submission_format="trec:tag=*")

    assert "iprec_at_recall_0.00" in list(result)
    assert "Rprec_mult_0.20" in list(result)
    assert not [name for name in result if re.search(r"_\d\.\d$", name)]
    assert result["iprec_at_recall_0.0"] == result["iprec_at_recall_0.00"]


# --- trec_eval's own test files ---------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.skipif(not THEIR_TESTS.is_dir(), reason=f"real data not found: {THEIR_TESTS} (SCORER_REAL_DATA)")
@pytest.mark.parametrize(
    ("output", "options", "qrels", "run"),
    [
        ("out.test", [], "qrels.test", "results.test"),
        ("out.test.a", ["-m", "all_trec"], "qrels.test", "results.test"),
        ("out.test.aq", ["-m", "all_trec", "-q"], "qrels.test", "results.test"),
        ("out.test.aqc", ["-m", "all_trec", "-q", "-c"], "qrels.test", "results.trunc"),
        ("out.test.aqcM", ["-m", "all_trec", "-q", "-c", "-M100"], "qrels.test", "results.trunc"),
        ("out.test.aql", ["-m", "all_trec", "-m", "relstring.20", "-q", "-l2"], "qrels.rel_level", "results.test"),
    ],
)
def test_the_test_files_of_trec_eval_are_reproduced_to_the_byte(
    output: str, options: list[str], qrels: str, run: str, terminal: Terminal
) -> None:
    """The whole output, every measure and query."""
    answer = terminal.run("trec_eval", *options, THEIR_TESTS / qrels, THEIR_TESTS / run)

    assert answer.out == (THEIR_TESTS / output).read_text(encoding="utf-8")
    assert len(answer.out.splitlines()) >= 30


# --- trec_eval itself -------------------------------------------------------------------------------------------------


def compared(options: Sequence[str], qrels: Path, run: Path, terminal: Terminal) -> Iterator[tuple[str, str]]:
    """The pairs of unequal lines of trec_eval and `scorer trec_eval`; the lines are otherwise the same."""
    assert PROGRAM is not None
    arguments = [*options, str(qrels), str(run)]
    theirs = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True).stdout.splitlines()
    answer = terminal.run("trec_eval", *arguments)
    assert answer.code == 0, answer.err
    assert theirs
    ours = answer.out.splitlines()
    assert len(ours) == len(theirs)
    return ((their, our) for their, our in zip(theirs, ours, strict=True) if their != our)


@pytest.fixture(scope="module")
def version_10() -> None:
    """Skip with another version of trec_eval, whose differences docs/trec-eval.md lists."""
    assert PROGRAM is not None
    version = subprocess.run([PROGRAM, "-v"], capture_output=True, text=True, check=False).stderr
    if "version 10" not in version:
        pytest.skip(f"found {version.strip()}; expected version 10")


def is_uninitialised(line: str) -> bool:
    """Whether version 10 computes the line from uninitialised numbers."""
    return line.startswith(("rbp ", "rbp_p="))


RUNS = sorted((ROBUST / "runs").glob("*.gz")) or [ROBUST / "runs" / "missing"]


@pytest.mark.real_data
@pytest.mark.skipif(not ROBUST.is_dir(), reason=f"real data not found: {ROBUST} (SCORER_REAL_DATA names its folder)")
@with_trec_eval
@pytest.mark.usefixtures("version_10")
@pytest.mark.parametrize("run", [RUNS[0], *(pytest.param(run, marks=pytest.mark.endurance) for run in RUNS[1:])])
@pytest.mark.parametrize("options", ["", "-J", "-l 2", "-M 100", "-J -l 2 -M 100"])
def test_whole_outputs_for_real_runs_equal_those_of_trec_eval(
    run: Path, options: str, tmp_path: Path, terminal: Terminal
) -> None:
    """Every line of `-m all_trec -q -c`, but for rbp and for the sum of num_rel with -c and -l 2."""
    plain = tmp_path / "run"
    plain.write_bytes(gzip.decompress(run.read_bytes()))
    qrels = ROBUST / "qrels" / "robust03_qrels.txt"

    unequal = list(compared(["-m", "all_trec", "-q", "-c", *options.split()], qrels, plain, terminal))

    expected = re.compile(r"num_rel +\tall\t") if "-l" in options else None
    found = [their for their, _ in unequal if not is_uninitialised(their)]
    assert [line for line in found if expected is None or not expected.match(line)] == []
    assert len(found) == (expected is not None)


ODD: dict[str, tuple[int, str, list[str], str | None, str | None]] = {
    "an unknown option": (1, "-x", ["-x"], QRELS, RUN),
    "an option without its value": (1, "--measure", ["--measure"], QRELS, RUN),
    "a third file": (1, "third", ["third"], QRELS, RUN),
    "an unknown measure": (1, "none", ["-m", "none"], QRELS, RUN),
    "an unknown measure and no file": (1, "", ["-m", "none"], None, RUN),
    "nothing after the dot": (1, "", ["-m", "P."], QRELS, RUN),
    "a cut-off of 0": (2, "", ["-m", "P.0"], QRELS, RUN),
    "a cut-off twice": (2, "", ["-m", "P.5,5"], QRELS, RUN),
    "no pairs": (2, "", ["-m", "ndcg.5"], QRELS, RUN),
    "an unknown format of qrels": (2, "--Rel_info_format: only qrels", ["-R", "other"], QRELS, RUN),
    "an unknown format of the run": (2, "--Results_format: only trec_results", ["-T", "other"], QRELS, RUN),
    "no qrels": (2, "qrels", [], None, RUN),
    "no run": (2, "run", [], QRELS, None),
    "empty qrels": (2, "qrels", [], "", RUN),
    "an empty run": (2, "run", [], QRELS, ""),
    "three columns": (2, "qrels:9", [], f"{QRELS}10 g 1\n", RUN),
    "five columns": (2, "qrels:9", [], f"{QRELS}10 0 g 1 more\n", RUN),
    "a run with five columns": (2, "run:9", [], QRELS, f"{RUN}10 Q0 g 1 1.0\n"),
    "an item twice": (4, "listed again", [], f"{QRELS}10 0 a 0\n", RUN),
    "an item in two iterations": (4, "listed again", [], f"{QRELS}10 1 a 0\n", RUN),
    "an item twice in the run": (4, "1 item listed again", [], QRELS, f"{RUN}10 Q0 a 1 1.0 t\n"),
    "an item twice for an unknown query": (0, "", [], QRELS, f"{RUN}11 Q0 a 1 1.0 t\n"),
    "iterations": (0, "", ["-q"], re.sub("(?m) 0 (?=[a-c])", " 0.5 ", QRELS), RUN),
}
"""The exit code, words of the message, options, and both files; None for a file that is not there."""

OWN: dict[str, tuple[int, str, list[str], str | None, str | None]] = {
    "debug output": (1, "--Debug_level: it prints variables of trec_eval", ["-D", "1"], QRELS, RUN),
    "Z scores": (1, "--Zscore: Z scores are not computed", ["-Z", "file"], QRELS, RUN),
    "no item": (1, "1 or more", ["-M", "0"], QRELS, RUN),
    "a number in words": (1, "whole number", ["-M", "ten"], QRELS, RUN),
    "a negative level": (1, "-l", ["-l", "-1"], QRELS, RUN),
    "a collection of x": (1, "whole number", ["-N", "x"], QRELS, RUN),
    "a fraction": (2, "grade 1.5", [], "1 0 a 1.5\n", "1 Q0 a 1 1 t\n"),
    "unknown queries": (2, "none of its queries is known", [], "1 0 a 1\n", "2 Q0 a 1 1 t\n"),
    "a score in words": (2, '"one" as the score', [], "1 0 a 1\n", "1 Q0 a 1 one t\n"),
    "nothing relevant": (4, "no query has a relevant item", [], "1 0 a 0\n", "1 Q0 a 1 1 t\n"),
}
"""Calls that trec_eval accepts, or whose exit code it does not define."""


def odd(case: str, folder: Path) -> list[str]:
    """The arguments of an odd call, whose files are written into a folder."""
    _, _, options, *contents = {**ODD, **OWN}[case]
    names = [folder / "qrels", folder / "run"]
    for name, content in zip(names, contents, strict=True):
        if content is not None:
            name.write_text(content, encoding="utf-8")
    return [*map(str, names), *options]


@pytest.mark.parametrize("case", [*ODD, *OWN])
def test_an_odd_call_is_refused_with_the_reason(case: str, tmp_path: Path, terminal: Terminal) -> None:
    """With the exit code of trec_eval, with -c and without; nothing is printed as a result then."""
    code, words, *_ = {**ODD, **OWN}[case]
    arguments = odd(case, tmp_path)
    for flags in ([], ["-c"]):
        answer = terminal.run("trec_eval", *flags, *arguments)
        assert (answer.code, answer.out == "") == (code, code != 0)
        assert words in answer.err


@with_trec_eval
@pytest.mark.parametrize("case", ODD)
def test_odd_calls_have_the_exit_codes_of_trec_eval(case: str, tmp_path: Path) -> None:
    """Of options and names of measures, of files and parameters, and of items that are listed again."""
    call = [str(PROGRAM), "-c", *odd(case, tmp_path)]
    assert subprocess.run(call, capture_output=True, check=False).returncode == ODD[case][0]


REQUESTS = (
    *("all_trec", "official", "set", "dcg", "P.3,1,7", "ndcg_cut.3", "map_cut.2", "G.1=2,2=5", "ndcg_rel.1=1,2=7"),
    *("ndcg.1=3,2=9", "Rndcg.2=9", "set_F.0.5", "iprec_at_recall.0.33,0.05", "Rprec_mult.0.5,3", "success.2"),
    "recall.4",
    *("relative_P.3", "unj.2", "relstring", "utility", "rbp_resid"),
)


def drawn(numbers: random.Random) -> tuple[str, str, list[str]]:
    """Random qrels and a run with ties, unjudged items and missing queries, and options that fit."""
    queries = [str(number) for number in numbers.sample(range(1, 130), numbers.randint(1, 6))]
    items = [f"d{number}" for number in range(numbers.choice([4, 12, 40]))]
    pool = [*items, *(f"u{number}" for number in range(len(items) // 2))]
    top = numbers.choice([1, 2, 4, 12])
    qrels = [f"{query} 0 sure {numbers.randint(1, top)}" for query in queries]
    run = [f"{queries[0]} Q0 sure 0 0.5 tag"]
    for query in queries:
        judged = numbers.sample(items, numbers.randint(1, len(items)))
        qrels += [f"{query} 0 {item} {numbers.choice([-1, 0, 0, *range(top + 1)])}" for item in judged]
    for place, query in enumerate([*queries, "unknown"]):
        if not place or numbers.random() < 0.7:
            listed = numbers.sample(pool, numbers.randint(1, len(pool)))
            run += [
                f"{query} Q0 {item} 0 {numbers.choice([numbers.random(), numbers.randint(0, 3)])} tag"
                for item in listed
            ]
            run += [f"{query} Q0 sure 0 0.25 tag"] if place else []
    numbers.shuffle(qrels)
    numbers.shuffle(run)
    options = ["-q", "-c"]
    for option, values in (("-J", ("",)), ("-l", (1, 2, 3)), ("-M", (1, 5, 20)), ("-N", (100,)), ("-n", ("",))):
        if numbers.random() < 0.25 and not (option == "-M" and "-J" in options):
            options.append(f"{option}{numbers.choice(values)}")
    names = numbers.sample(REQUESTS, 3)
    if "dcg" in names:  # trec_eval frees the gains of dcg and ndcg twice
        names = ["dcg"]
    return "\n".join(qrels), "\n".join(run), [*options, *(word for name in names for word in ("-m", name))]


@with_trec_eval
@pytest.mark.usefixtures("version_10")
@pytest.mark.parametrize("seed", range(40))
def test_random_files_have_the_output_of_trec_eval(seed: int, tmp_path: Path, terminal: Terminal) -> None:
    """Every line, but for documented defects: rbp, the sum of num_rel with -l, and 0 / 0 for a missing list with -J."""
    qrels, run, options = drawn(random.Random(seed))
    (tmp_path / "qrels").write_text(qrels, encoding="utf-8")
    (tmp_path / "run").write_text(run, encoding="utf-8")

    unequal = list(compared(options, tmp_path / "qrels", tmp_path / "run", terminal))

    sums = re.compile(r"num_rel +\tall\t")
    found = [pair for pair in unequal if not is_uninitialised(pair[0]) and not sums.match(pair[0])]
    found = [pair for pair in found if "nan" not in pair[0]]
    assert found == [], options
