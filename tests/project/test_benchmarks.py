"""The benchmarks work and measure what they claim. Speed is not tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmarks import certainty, generate, peers, picture, report
from benchmarks.__main__ import keep_parts
from benchmarks.boards import near
from benchmarks.meter import CommandError, Cost, measured
from benchmarks.parts import QUICK, Bench, side_by_side
from benchmarks.tools import LIBRARIES, MEASURES, READING, Tool, difference, reading, trec_eval, trec_files
from scorer import evaluate
from scorer.lists import READ_AS
from scorer.verification.log import read_log, verified_log
from tests.paths import ROOT

pytestmark = pytest.mark.ci


def python(code: str) -> list[str]:
    """Return the command line of a process that runs this code."""
    return [sys.executable, "-c", code]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `--quick` writes to."""
    folder = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-m", "benchmarks", "--quick", "--date", "2011-07-08", "--output", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def results(quick: Path) -> dict[str, Any]:
    """The results of `--quick`."""
    loaded: dict[str, Any] = json.loads((quick / "results.json").read_text())
    return loaded


@pytest.mark.endurance
def test_quick_run_measures_every_part(results: dict[str, Any]) -> None:
    """Each part has costs above zero."""
    costs = [results[part]["tools"]["scorer"] for part in ("run", "submissions")]
    costs += results["growth"]["tools"]["scorer"]
    batch = results["batch"]["executors"].values()

    assert all(value > 0 for each in batch for value in each["wall"])
    assert all(value > 0 for cost in costs for key in ("wall", "processor", "memory") for value in cost[key])
    assert [point["lines"] for point in results["growth"]["tools"]["scorer"]] == [20_000, 50_000, 100_000]


@pytest.mark.endurance
def test_quick_run_compares_the_scores(results: dict[str, Any]) -> None:
    """Both formats of the submissions, and both forms in memory, give the same scores."""
    forms = results["submissions"]["tools"]
    kernels = results["kernels"]["tools"]

    assert forms["scorer, TREC files"]["scores"] == forms["scorer"]["scores"]
    assert all(each["same"] for each in kernels.values())
    assert [point["judged"] for point in results["judged"]["points"]] == [50, 750, 50, 50]
    assert all(each["same"] for point in results["judged"]["points"] for each in point["tools"].values())
    assert set(MEASURES) == set(forms["scorer"]["scores"])


@pytest.mark.endurance
def test_quick_run_stores_the_same_results_with_all_executors(results: dict[str, Any]) -> None:
    """The stored results do not depend on the executor."""
    assert set(results["batch"]["executors"]) == {"serial", "processes:1", "processes:2"}
    assert results["batch"]["same"] is True


@pytest.mark.endurance
def test_quick_run_compares_the_statistics_with_those_of_scipy(results: dict[str, Any]) -> None:
    """The same intervals and p-values but for the random draws; scipy's time is that of all calls."""
    (board,) = results["statistics"]["boards"]
    compared = [board["tasks"][task] for task in certainty.TASKS]

    assert board["same"]
    assert [(each["calls"], each["measured"]) for each in compared] == [(4, 4), (4, 4), (6, 4)]
    assert all(0 < each["difference"] < 0.15 for each in compared)
    assert all(value > 0 for each in compared for tool in ("scorer", "scipy") for value in each[tool]["seconds"])
    assert set(board["tasks"]) == {*certainty.TASKS, certainty.BOARD}
    assert all(value > 0 for value in board["memory"].values())


@pytest.mark.endurance
def test_quick_run_verifies_a_log(results: dict[str, Any]) -> None:
    """scorer and the loop over the lines find the same last head."""
    part = results["verification"]

    assert (part["events"], part["same"]) == (1000, True)
    assert list(part["tools"]) == ["scorer verify log", "only the heads", "an empty process"]
    assert all(value > 0 for tool in part["tools"].values() for value in (*tool["wall"], *tool["memory"]))


@pytest.mark.endurance
def test_quick_run_follows_a_record_that_grows(results: dict[str, Any]) -> None:
    """Each step of the loop and each command has a cost, at each number of entries."""
    part = results["record"]

    assert [point["entries"] for point in part["points"]] == [20, 40]
    for point in part["points"]:
        assert {*point["seconds"]} == {
            *("accept", "run, nothing new", "run, one more", "render, one more"),
            *("scorer run, nothing new", "scorer run, one more"),
        }
        assert all(value > 0 for seconds in point["seconds"].values() for value in seconds)
        assert point["memory"] > 0


def test_a_generated_log_is_valid(tmp_path: Path) -> None:
    """So the benchmark measures the verification of a log without a fault."""
    file = tmp_path / "log.jsonl"
    generate.main(["log", "25", str(file)])

    assert [each.contradiction for each in verified_log(file)] == 3 * [""]
    assert len(read_log(file)) == 25


@pytest.mark.parametrize(("scipys", "same"), [([0.2, 0.4], True), ([0.2, 0.6], False), ([0.1, 0.5], False)])
def test_intervals_that_random_draws_do_not_explain_are_reported(scipys: list[float], same: bool) -> None:
    """5 standard errors of a share of 10,000 draws, as a share of the width."""
    ours = [[0.0, 1.0], [0.201, 0.399]]

    found = near(ours, {"calls": 2, "measured": [1], "results": [scipys]}, draws=10_000)

    assert found["same"] is same
    assert found["measured"] == 1


@pytest.mark.endurance
def test_results_contain_no_paths_of_this_machine(quick: Path) -> None:
    """The published files describe the hardware, not the user."""
    for file in quick.iterdir():
        text = file.read_text()
        assert str(ROOT) not in text
        assert str(quick) not in text
        assert sys.executable not in text


@pytest.mark.endurance
def test_tables_and_picture_depend_only_on_the_results(quick: Path, results: dict[str, Any]) -> None:
    """They can be generated again from results.json."""
    assert (quick / "results.md").read_text() == report.tables(results) + "\n"
    assert (quick / "results.svg").read_text() == picture.drawn(results)
    assert results["date"] == "2011-07-08"


@pytest.mark.endurance
def test_picture_names_every_tool(results: dict[str, Any]) -> None:
    """Each has a bar or a curve with its name."""
    costs = results["run"]["tools"]["scorer"]
    all_tools = {**results, "run": {"lines": 1000, "tools": dict.fromkeys(picture.COLOURS, costs)}}
    words = "\n".join(ET.fromstring(picture.drawn(all_tools)).itertext())

    assert all(name in words for name in picture.COLOURS)


def test_parts_that_are_not_measured_are_kept_with_their_date() -> None:
    """Those of the same date and version have none; results of other sizes are not mixed."""
    head = {"quick": False, "date": "2026-01-02", "versions": {"scorer": "2"}}
    earlier = {**head, "run": 1, "growth": 2, "huge": 3, "earlier": {"huge": "2026-01-01, scorer 1"}}

    same: dict[str, Any] = {**head, "run": 4}
    keep_parts(same, earlier)
    assert (same["run"], same["growth"], same["huge"]) == (4, 2, 3)
    assert same["earlier"] == {"huge": "2026-01-01, scorer 1"}

    later: dict[str, Any] = {**head, "date": "2026-01-03", "run": 4}
    keep_parts(later, earlier)
    assert later["earlier"] == {"growth": "2026-01-02, scorer 2", "huge": "2026-01-01, scorer 1"}

    quick: dict[str, Any] = {**head, "quick": True}
    keep_parts(quick, earlier)
    assert quick == {**head, "quick": True}


def test_readme_has_the_stored_results() -> None:
    """The table in the README is that of results.json, if a full run is stored."""
    results = ROOT / "benchmarks" / "results.json"
    if not results.exists():
        pytest.skip("no results of a full run are stored: run `python -m benchmarks --output benchmarks`")
    stored = json.loads(results.read_text())

    assert report.run_table(stored) in (ROOT / "README.md").read_text()
    assert not stored["quick"]


def test_generated_run_has_distinct_items_and_relevant_ones_for_each_query() -> None:
    """Tools that treat repeated items or such queries differently give the same scores."""
    block = next(iter(generate.blocks(200)))

    assert all(len(set(row)) == generate.DEPTH for row in block.item.tolist())
    assert all(len(set(row)) == generate.JUDGED for row in block.matched.tolist())
    assert (block.grade > 0).any(axis=1).all()


def test_generated_qrels_have_the_number_of_judged_items(tmp_path: Path) -> None:
    """Half of them are in the list of their query."""
    for kind in ("qrels", "run"):
        generate.main([kind, "3", str(tmp_path / kind), "--judged", "750"])
    judged, listed = (
        {(line.split()[0], line.split()[2]) for line in (tmp_path / kind).read_text().splitlines()}
        for kind in ("qrels", "run")
    )

    assert len(judged) == 3 * 750
    assert len(judged & listed) == 3 * 375


def test_generated_run_has_no_ties_among_judged_items() -> None:
    """Run scores decrease, with ties that affect no score, and are distinct in single precision."""
    block = next(iter(generate.blocks(200)))
    tied = np.diff(block.score, axis=1) == 0
    matched = (block.item[:, :, None] == block.matched[:, None, :]).any(axis=2)
    single = (block.score / 100_000).astype(np.float32)

    assert tied.sum() > 1000
    assert not (tied & (matched[:, 1:] | matched[:, :-1])).any()
    assert (np.diff(single, axis=1)[~tied] < 0).all()


def test_smaller_generated_files_begin_larger_ones(tmp_path: Path) -> None:
    """A query has the same list at every size and in every run."""
    for queries in (3, 503):
        generate.main(["run", str(queries), str(tmp_path / str(queries))])
    small, large = ((tmp_path / name).read_text() for name in ("3", "503"))

    assert small.count("\n") == 3 * generate.DEPTH
    assert large.count("\n") == 503 * generate.DEPTH
    assert large.startswith(small)
    assert len({line.split()[0] for line in large.splitlines()}) == 503


def test_generated_challenge_is_the_same_in_both_formats(tmp_path: Path) -> None:
    """The TREC format of a submission ranks the same items for the same queries."""
    generate.main(["challenge", "2", str(tmp_path / "challenge"), "--queries", "20"])
    generate.main(["trec", "2", str(tmp_path / "trec"), "--queries", "20"])
    submission_files = sorted((tmp_path / "challenge" / "submissions" / "main").iterdir())
    run = [line.split() for line in (tmp_path / "trec" / "team-0001.run").read_text().splitlines()]

    listed = [
        (query, item)
        for query, items in (line.split(":") for line in submission_files[1].read_text().splitlines())
        for item in items.split(",")
    ]

    assert [(row[0], row[2]) for row in run] == listed
    assert len(set(listed)) == 20 * 30
    assert submission_files[0].read_bytes() != submission_files[1].read_bytes()


def test_generated_run_is_valid(tmp_path: Path) -> None:
    """It is scored without undefined scores, and without a note but that on its layout."""
    generate.main(["run", "20", str(tmp_path / "run")])
    generate.main(["qrels", "20", str(tmp_path / "qrels")])

    result = evaluate(tmp_path / "qrels", tmp_path / "run", MEASURES)

    assert result.queries == 20
    assert result.undefined == 0
    assert not result.notes.without(READ_AS)
    assert 0 < result["AP"] < 1


def test_meter_counts_the_memory_of_the_whole_process() -> None:
    """The peak counts, even if the memory is freed before the process ends."""
    # From a small process: a measured process starts with the size of its parent.
    code = """
from benchmarks.boards import near
from benchmarks.meter import measured
import sys
for size in (1, 300_000_000):
    cost, printed = measured([sys.executable, "-c", f"x = b'x' * {size}; x = None; print('done')"], time_limit=60)
    print(cost.memory, printed, end="")
"""
    done = subprocess.run(python(code), cwd=ROOT, capture_output=True, text=True, check=True)
    (small, *_), (large, last) = (line.split() for line in done.stdout.splitlines())

    assert last == "done"
    assert 280e6 < int(large) - int(small) < 320e6


def test_meter_counts_the_processes_that_a_process_starts() -> None:
    """The cost of a loop in the shell includes its programs."""
    work = "import time\nwhile time.process_time() < 0.3: pass"
    cost, _ = measured(["sh", "-c", 'for i in 1 2; do "$@"; done', "sh", *python(work)], time_limit=60)

    assert cost.processor >= 0.6


@pytest.mark.parametrize(
    ("code", "limits", "message"),
    [
        ("import sys; print('no measure', file=sys.stderr); sys.exit(3)", {"time_limit": 60}, "ended with 3: no meas"),
        ("import time; time.sleep(60)", {"time_limit": 0.5}, r"not done within 0\.5 seconds"),
        ("bytes(2_000_000_000)", {"time_limit": 60, "memory_limit": 1_000_000_000}, "MemoryError"),
    ],
)
def test_meter_reports_why_a_command_failed(code: str, limits: dict[str, Any], message: str) -> None:
    """With its standard error; a tool that hangs or exceeds its memory does not block the others."""
    with pytest.raises(CommandError, match=message):
        measured(python(code), **limits)


def test_meter_reports_the_load_of_other_processes() -> None:
    """A concurrent process counts; the measured process itself does not."""
    work = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"
    with subprocess.Popen(python(work.format(5))) as neighbour:
        cost, _ = measured(python(work.format(1)), time_limit=60)
        neighbour.kill()

    if cost.others is None:
        pytest.skip("this system does not report the load of its cores")
    assert 0.3 / (os.cpu_count() or 1) < cost.others <= 1


SCORES = dict.fromkeys(MEASURES, 0.5)
FINE = f"print({json.dumps([SCORES])!r})"


def tool(name: str, code: str, called: list[str] | None = None) -> Tool:
    """Return a tool that runs a line of Python; it records its calls in `called`."""

    def command(_: object) -> list[str]:
        if called is not None:
            called.append(name)
        return python(code)

    return Tool(name, command, json.loads)


def side_by_side_of(*tools: Tool, rounds: int = 1, repeats: int = 0) -> dict[str, Any]:
    """Return the results of measuring these tools."""
    bench = Bench(tools, QUICK, Path(), time_limit=60, patience=0, repeats=repeats, say=lambda _: None)
    return side_by_side(bench, tools, trec_files(Path(), Path()), rounds)


def test_tools_take_turns() -> None:
    """Other load on the machine affects all tools."""
    called: list[str] = []

    results = side_by_side_of(tool("a", FINE, called), tool("b", FINE, called), rounds=2)

    assert called == ["a", "b", "a", "b"]
    assert [len(each["wall"]) for each in results.values()] == [2, 2]


def test_the_least_disturbed_measurement_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disturbed measurement is repeated; its time does not decide which one counts."""
    shares = iter([0.5, 0.2, 0.4, 0.05])
    walls = iter([1.0, 3.0, 2.0, 4.0])

    def disturbed(*_: object, **__: object) -> tuple[Cost, str]:
        return Cost(next(walls), 1.0, 1, next(shares)), json.dumps([SCORES])

    monkeypatch.setattr("benchmarks.parts.measured", disturbed)

    results = side_by_side_of(tool("a", FINE), rounds=2, repeats=2)

    assert results["a"]["wall"] == [3.0, 4.0]
    assert results["a"]["others"] == [0.2, 0.05]


def test_tool_with_other_scores_is_reported() -> None:
    """Its results are marked as different."""
    other = f"print({json.dumps([{**SCORES, 'AP': 0.6}])!r})"

    results = side_by_side_of(tool("ours", FINE), tool("theirs", other))

    assert [each["same"] for each in results.values()] == [True, False]


def test_a_part_of_the_work_is_measured_without_scores() -> None:
    """Reading has a cost, and no scores to be compared."""
    part = Tool("a part", lambda _: python("pass"), lambda _: [], scores=False)

    results = side_by_side_of(tool("ours", FINE), part)

    assert set(results["a part"]) == {"wall", "processor", "memory", "others"}
    assert results["a part"]["wall"][0] > 0


def test_reading_finds_the_columns_of_the_files(tmp_path: Path) -> None:
    """The command fails if it does not find the columns."""
    files = trec_files(tmp_path / "qrels", tmp_path / "run")
    generate.main(["qrels", "2", str(files.qrels)])
    generate.main(["run", "2", str(files.runs[0])])

    cost, printed = measured(reading().command(files), time_limit=60)

    assert (cost.wall > 0, printed) == (True, "")
    (tmp_path / "run").write_text("no columns\n")
    with pytest.raises(CommandError, match="Expected 6 columns"):
        measured(reading().command(files), time_limit=60)


def test_limits_compare_medians_of_a_full_run() -> None:
    """1.7 times the time of reading, 1.5 times that of importing, and shares of pytrec_eval's."""
    results = {
        "quick": False,
        "run": {"lines": 100, "tools": {"scorer": {"wall": [3.0, 1.7, 1.0]}, READING: {"wall": [1.0, 1.0, 9.0]}}},
        "start": {"lines": 10, "tools": {"scorer": {"wall": [1.6]}, LIBRARIES: {"wall": [1.0]}}},
        "kernels": {
            "lines": 100,
            "tools": {
                "scorer, dicts": {"seconds": [2.0]},
                "pytrec-eval-terrier, dicts": {"seconds": [4.0]},
                "scorer, pandas": {"seconds": [2.0]},
                "pytrec-eval-terrier, pandas": {"seconds": [4.0]},
            },
        },
        "judged": {
            "points": [
                {
                    "queries": queries,
                    "judged": 750,
                    "depth": depth,
                    "tools": {
                        "scorer, kept": {"seconds": [3.0]},
                        "scorer, not kept": {"seconds": [9.0]},
                        "pytrec-eval-terrier, kept": {"seconds": [4.0]},
                        "pytrec-eval-terrier, not kept": {"seconds": [4.0]},
                    },
                }
                for queries, depth in ((50, 1000), (50, 100), (1, 1000), (2, 1000))
            ]
        },
    }

    found = report.limits(results)

    assert [(round(each.times, 3), each.most, each.held) for each in found] == [
        (1.7, 1.7, True),
        (1.6, 1.5, False),
        (0.5, 0.67, True),
        (0.5, 0.25, False),
        (0.75, 1.0, True),
        (0.75, 1.6, True),
        (0.75, 1.2, True),
    ]
    assert found[1].sentence == f"scorer on 10 lines, as a multiple of {LIBRARIES}: 1.60; not at most 1.5"
    assert report.limits({**results, "quick": True}) == []


def test_frames_become_the_dicts_that_they_were_made_of() -> None:
    """So both tools evaluate the same run."""
    run = {"q2": {"b": 2.0, "a": 1.0}, "q1": {"a": 3.0}}

    converted = {name: peers.CONVERSIONS[name](frame) for name, frame in peers.frames(run).items()}

    assert "pandas" in converted
    assert all(each == run for each in converted.values())


def test_peer_that_fails_is_left_out() -> None:
    """The others are measured."""
    results = side_by_side_of(tool("ours", FINE), tool("broken", "1/0"), tool("theirs", FINE))

    assert list(results) == ["ours", "theirs"]


def test_failure_of_scorer_stops_the_run() -> None:
    """The others have nothing to be compared with."""
    with pytest.raises(CommandError, match="ZeroDivisionError"):
        side_by_side_of(tool("ours", "1/0"), tool("theirs", FINE))


def test_output_of_trec_eval_is_read_for_each_run() -> None:
    """It prints a row for each measure, in another order, once for each run."""
    values = {"map": 0.1, "Rprec": 0.2, "recip_rank": 0.3, "P_10": 0.4, "ndcg": 0.5}
    text = "".join(f"{name:22}\tall\t{value:.4f}\n" for name, value in values.items())

    first, second = trec_eval(Path("trec_eval")).read(text + text.replace("0.5000", "0.6000"))

    assert first == {"AP": 0.1, "Rprec": 0.2, "RR": 0.3, "P@10": 0.4, "nDCG": 0.5}
    assert second == {**first, "nDCG": 0.6}


def test_difference_is_the_largest_over_all_scores() -> None:
    """A single different score of one submission is found."""
    ours = [dict.fromkeys(MEASURES, 0.5), dict.fromkeys(MEASURES, 0.25)]
    theirs = [dict(ours[0]), {**ours[1], "Rprec": 0.26}]

    assert difference(ours, ours) == 0
    assert difference(ours, theirs) == pytest.approx(0.01)
