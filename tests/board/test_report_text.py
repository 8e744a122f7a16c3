"""The report as a page and as Markdown: its sentences state what the numbers show, and text from files stays text."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from scorer.board.reports import comparisons
from scorer.board.reports.report_text import Captioned, Figure, task_sections
from scorer.board.site.report_page import CHARTS
from scorer.scoring.analysis.analysis import Settings, TaskAnalysis, analysed
from scorer.scoring.analysis.kept import Task
from tests.accessibility import check_page
from tests.boards import HOSTILE
from tests.browser import IN_BROWSER, Page
from tests.commands import Terminal, here
from tests.pages import read
from tests.values import CLEAR, Values, table

FEW = Settings(resamples=1000)


def analysis(*columns: list[float], settings: Settings = FEW, **changes: object) -> TaskAnalysis:
    """The analysis of algorithms A, B, ... with these values."""
    names = tuple("ABCDEFGHIJ"[: len(columns)])
    cases = tuple(f"case {number}" for number in range(len(columns[0])))
    task = Task("a task", names, cases, np.array(columns, dtype=np.float64), **changes)  # type: ignore[arg-type]
    return analysed(task, settings)


def text(found: TaskAnalysis) -> str:
    """All sentences about a task, captions included."""
    blocks = (block for section in task_sections(found) for block in section.blocks)
    return " ".join(block if isinstance(block, str) else block.caption for block in blocks)


EVEN = [0.1, 0.5, 0.3, 0.9, 0.2, 0.4, 0.6, 0.8] * 3
HIGH = [value + 0.5 + place / 1000 for place, value in enumerate(EVEN)]
MIXED = [0.3, 0.2, 0.6, 0.7, 0.4, 0.1, 0.8, 0.7] * 3


# Sentences about certainty


def test_the_text_says_how_many_tiers_are_separable() -> None:
    """Algorithms that are not separable share a tier; all others may be worse than the first."""
    found = analysis(EVEN, HIGH)
    assert "Undefined results" not in {section.title for section in task_sections(found)}
    assert found.better.tolist() == [[False, True], [False, False]]
    assert "2 algorithms are in 2 tiers; the two are separable." in text(found)
    assert "Of 1 pair, 1 is separable" in text(found)
    assert "Of 1 other algorithm, 1 is significantly worse than B." in text(found)

    found = analysis(EVEN, MIXED)
    assert not found.better.any()
    assert "The two algorithms are in one tier: none is significantly worse than the first." in text(found)
    assert "Of 1 pair, 0 are separable" in text(found)
    assert "significantly worse than A" not in text(found)
    assert f"significant from about {found.smallest_difference:.4f} (the median over all pairs)" in text(found)
    assert "significant from about" not in text(analysis(EVEN, EVEN))
    share = comparisons.percentage(float(found.resampling.first.max()))
    often = found.names[int(found.resampling.first.argmax())]
    assert f"In {share} of the resamples, {often} has the best mean" in text(found)

    found = analysis([value - 0.9 for value in HIGH], EVEN, HIGH)

    assert "3 algorithms are in 3 tiers; 2 of 2 pairs of neighbours are separable." in text(found)
    assert "All other algorithms are significantly worse than C." in text(found)


def test_algorithms_that_are_separable_within_a_tier_are_reported() -> None:
    """A lower algorithm may not be separable from the leader, if its differences vary more."""
    small = [value - 0.02 + (place % 2) / 500 for place, value in enumerate(HIGH)]
    wide = [value + (-0.9, 0.8)[place % 2] for place, value in enumerate(HIGH)]
    found = analysis(HIGH, small, wide)

    assert found.names == ("A", "B", "C")
    assert found.tiers == ((0, 1, 2),)
    assert found.separable_from_leader.tolist() == [False, True, False]
    assert "in one tier: the last is not significantly worse than the first" in text(found)
    assert "whose differences vary more: B." in text(found)
    assert "Separable from the leader" not in text(analysis(EVEN, HIGH))


def test_equal_means_share_the_first_rank() -> None:
    """In the sentence about the leader."""
    assert "All algorithms have the same mean, 0.4750, and share the first rank." in text(analysis(EVEN, EVEN[::-1]))
    assert "The first rank is shared by A and B, with a mean of 0.4750." in text(analysis(EVEN, EVEN[::-1], [0.0] * 24))


def test_the_lead_is_the_difference_of_the_first_two() -> None:
    """Above or below, as larger or smaller values are better."""
    low = [value - 0.25 for value in EVEN]

    assert "First is A with a mean of 0.4750, 0.2500 above B." in text(analysis(EVEN, low))
    assert "First is B with a mean of 0.2250, 0.2500 below A." in text(analysis(EVEN, low, larger_is_better=False))
    assert "smaller values are better" in text(analysis(EVEN, low, larger_is_better=False))


def test_the_agreement_of_rules_is_stated() -> None:
    """Which rules give the same ranking, and who is first by every rule."""
    assert "All rules give the same ranking." in text(analysis(EVEN, HIGH))
    assert "By every rule, B has the first rank." in text(analysis(EVEN, HIGH))
    skewed = [0.0] * 13 + [1.0] * 11
    other = analysis(skewed, [0.3] * 24)
    assert other.rules["median"].ranks.tolist() == [2, 1]
    assert "No algorithm has the first rank by every rule." in text(other)
    assert "median (tau-b -1.00)" in text(other)


def test_equal_rounded_means_are_never_decided_as_different() -> None:
    """Although a test of the values finds a difference: the board shows equal scores."""
    above = [value + 1e-5 for value in EVEN]
    exact = analysis(EVEN, above)
    rounded = analysis(EVEN, above, means=(0.475, 0.475), decimals=3)

    assert exact.better.any()
    assert not rounded.better.any()
    assert rounded.ranking.ranks.tolist() == [1, 1]
    assert rounded.simultaneous.tolist() == rounded.ranges.tolist() == [[1, 2], [1, 2]]
    assert "0 by a one-sided Wilcoxon signed-rank test, 0 by a paired t test and 0 by a randomisation test" in text(
        rounded
    )


def test_rank_ranges_contain_the_rank() -> None:
    """Simultaneous ranges contain the marginal ones; members of a tier are in the order of the ranking."""
    random = np.random.default_rng(3)
    for _ in range(20):
        base = random.normal(size=30)
        found = analysis(*(random.normal(scale=0.7, size=30) + base + place / 4 for place in range(6)))  # type: ignore[arg-type]
        for rank, marginal, simultaneous in zip(
            found.ranking.ranks.tolist(), found.ranges.tolist(), found.simultaneous.tolist(), strict=True
        ):
            assert simultaneous[0] <= marginal[0] <= rank <= marginal[1] <= simultaneous[1]
        assert sorted(at for tier in found.tiers for at in tier) == list(range(6))
        assert all(first < second for tier in found.tiers for first, second in pairwise(tier))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ([[0.5], [0.25]], "Intervals and ranks in resamples are undefined, because there is one case only."),
        ([[0.5], [0.25]], "Nothing is known about the stability"),
        ([[0.5, 0.25]], "are undefined, because there is one algorithm."),
        ([[0.5, 0.25]], "One algorithm cannot be compared."),
        ([EVEN, EVEN], "The Wilcoxon test is undefined for 1 pair: all differences are 0."),
        ([EVEN, EVEN], "The t test is undefined for 1 pair: all differences are equal"),
        ([EVEN, EVEN], "Kendall's tau is undefined: all algorithms share a rank."),
        ([EVEN, [0.3] * 24], "The BCa interval is undefined for B: all values are equal."),
        ([EVEN, [value + 0.125 for value in EVEN]], "The t test is undefined for 1 pair"),
    ],
)
def test_undefined_results_have_a_reason(columns: list[list[float]], sentence: str) -> None:
    """In the text."""
    assert sentence in text(analysis(*columns))


def test_many_algorithms_are_tested_in_part() -> None:
    """The text says which pairs are tested and why rules are undefined."""
    random = np.random.default_rng(1)
    values = random.normal(size=(80, 5))
    task = Task("t", tuple(f"n{place:02}" for place in range(80)), tuple("vwxyz"), values)
    found = text(analysed(task, Settings(resamples=100)))

    assert "Only neighbours in the ranking and pairs with the first algorithm are tested" in found
    assert "The rules that count wins are undefined, because not all pairs are tested." in found
    assert "The randomisation test has too few sign flips" in found
    assert "too few sign flips" not in text(analysis(EVEN, HIGH))


# Phrases


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 %"), (0.005, "less than 1 %"), (0.0051, "1 %"), (0.83, "83 %"), (0.995, "more than 99 %"), (1, "100 %")],
)
def test_a_share_is_certain_only_if_it_is(value: float, shown: str) -> None:
    """0 % and 100 % are exact."""
    assert comparisons.percentage(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1, "1.000"), (0.0123, "0.012"), (0.0004, "< 0.001"), (0, "< 0.001"), (float("nan"), "undefined")],
)
def test_a_p_value_is_never_shown_as_0(value: float, shown: str) -> None:
    """It has three decimals."""
    assert comparisons.p_value(value) == shown


@pytest.mark.parametrize(
    ("largest", "decimals"), [(0.8, 4), (8.0, 3), (12.3, 2), (12345.0, 0), (0.0003, 7), (0.0, 4), (1e-50, 12)]
)
def test_means_have_four_significant_digits(largest: float, decimals: int) -> None:
    """Of the largest one; zero has four decimals."""
    assert comparisons.decimals_of(analysis([largest] * 3, [largest / 2] * 3)) == decimals


def test_long_lists_of_names_are_cut() -> None:
    """The others are counted."""
    assert comparisons.names(["a", "b"], "team", "teams") == "a and b"
    assert comparisons.names(list("abcdefgh"), "team", "teams") == "a, b, c, d, e and 3 other teams"


# The page


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report whose tasks, algorithms, cases and file have hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    column = {name: [0.1 * place, 0.2, 0.3 + place / 50, 0.4] for place, name in enumerate(HOSTILE)}
    values: Values = {"<img src=x onerror=alert(3)>": column, "</style><script>alert(4)</script>": column}
    file = table(folder, values, "<svg onload=alert(5)>.csv")
    answer = here("report", file, "-o", folder / "report.html", "--resamples", "100")
    assert answer.code == 0, answer.err
    return folder / "report.html"


def test_the_page_of_hostile_names_is_closed(hostile_page: Path) -> None:
    """No element and no attribute comes from a name, and no address leads out of the page; ids are unique."""
    page = read(hostile_page.read_text(encoding="utf-8"))
    tags = [(each.tag, each.attributes) for each in page.all()]

    assert {tag for tag, _ in tags}.isdisjoint({"script", "img", "iframe", "object", "link", "foreignObject"})
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on") or name == "style"]
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in page.text

    addresses = [value or "" for _, each in tags for name, value in each.items() if name in ("href", "src")]
    assert addresses
    assert all(address.startswith("#") for address in addresses)
    assert "url(" not in page.text.replace("url(data:", "")
    assert any("default-src 'none'" in (each.get("content") or "") for tag, each in tags if tag == "meta")

    ids = [each["id"] for _, each in tags if "id" in each]
    links = [(value or "").removeprefix("#") for _, each in tags for name, value in each.items() if name == "href"]
    assert set(links) <= set(ids)
    assert len(ids) == len(set(ids))

    assert "Filled: the algorithm of the row is better." in page.text
    assert "Which algorithm is significantly better than which other" in page.text


def test_every_chart_and_table_of_the_text_has_its_place() -> None:
    """Every chart is in the text; tables and charts have captions, so that a reader knows what they show."""
    found = analysis(EVEN, MIXED, HIGH)
    blocks = [block for each in task_sections(found) for block in each.blocks]

    assert sorted(block.chart for block in blocks if isinstance(block, Figure)) == sorted(CHARTS)
    assert all(block.caption for block in blocks if isinstance(block, Captioned | Figure))


def test_numbers_of_the_page_are_those_of_the_analysis(tmp_path: Path, terminal: Terminal) -> None:
    """Means and intervals of JSON; Markdown has the same sentences. Each form is the same every time."""
    file = table(tmp_path, CLEAR)
    page, markdown, text = (
        terminal.run("report", file, "-o", "-", "--format", form).out for form in ("html", "markdown", "json")
    )
    document = json.loads(text)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]

    (task,) = document["tasks"]
    for rank, name in enumerate(task["algorithms"], 1):
        interval = task["intervals"][name]
        shown = [name, f"{interval['mean']:.4f}", f"{interval['bca'][0]:.4f} to {interval['bca'][1]:.4f}"]
        assert any(row[1] == str(rank) and row[3:6] == shown for row in rows), shown

    assert markdown.startswith("# Analysis of values.csv\n\n## Summary\n")
    assert "3 algorithms are in 3 tiers; 2 of 2 pairs of neighbours are separable." in markdown
    assert "3 algorithms are in 3 tiers; 2 of 2 pairs of neighbours are separable." in read(page).text
    assert "| A | 1 | 1 only | high | 0.8925 |" in markdown

    for form, first in {"html": page, "markdown": markdown, "json": text}.items():
        assert terminal.run("report", file, "-o", "-", "--format", form).out == first


def test_hostile_names_are_text_in_markdown(tmp_path: Path, terminal: Terminal) -> None:
    """No markup of a name is effective."""
    values: Values = {"*t* | x": {name: [1.0 * place, 2, 3] for place, name in enumerate(HOSTILE)}}
    markdown = terminal.run("report", table(tmp_path, values), "--format", "markdown", "--resamples", "100").out

    assert "<script>" not in markdown
    assert "<img" not in markdown
    assert r"## Task \*t\* \| x" in markdown


# The file


def test_the_page_is_written_to_a_file_with_the_name_of_the_source(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the current folder; the command prints its name. Other forms go to standard output."""
    monkeypatch.chdir(tmp_path)
    file = table(tmp_path, CLEAR)

    assert terminal.run("report", file).out == "values-report.html\n"
    assert (tmp_path / "values-report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert terminal.run("report", file, "--format", "json", "-o", "out/r.json").out == "out/r.json\n"
    assert json.loads((tmp_path / "out" / "r.json").read_text(encoding="utf-8"))["version"] == 3
    assert not list(tmp_path.rglob("*.part"))


def test_a_file_that_cannot_be_written_is_explained(tmp_path: Path, terminal: Terminal) -> None:
    """The earlier file stays."""
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")

    answer = terminal.run("report", table(tmp_path, CLEAR), "-o", blocked / "report.html", "--resamples", "100")
    assert (answer.code, answer.out) == (1, "")
    assert "cannot be written" in answer.err


# Challenges


def test_a_track_is_a_task(challenge: Path, terminal: Terminal) -> None:
    """Of the ranked teams, without baselines; the means are those of the board, over the queries with a score."""
    assert terminal.run("score", challenge).code == 0
    board = json.loads(terminal.run("leaderboard", challenge, "--format", "json").out)
    document = json.loads(terminal.run("report", challenge, "--format", "json").out)
    page = terminal.run("report", challenge / "challenge.toml", "-o", "-").out

    (task,) = document["tasks"]
    ranked = {row["team"]: row["nDCG@5"] for row in board["rows"] if row["rank"]}
    assert {name: each["value"] for name, each in task["rules"]["mean"].items()} == ranked
    assert task["cases"] == board["track"]["scored_queries"] == 3
    assert "This is based on the final scores, over all queries." in page
    assert "most-popular" not in page


def test_a_preliminary_report_has_preliminary_queries_only(new_challenge: Path, terminal: Terminal) -> None:
    """It says so; final scores are not computed, and ids of queries are not shown."""
    assert terminal.run("score", new_challenge).code == 0
    document = json.loads(terminal.run("report", new_challenge, "--format", "json").out)
    page = read(terminal.run("report", new_challenge, "-o", "-").out)

    assert document["tasks"][0]["cases"] == 1
    assert "This is based on the preliminary queries only." in page.text
    assert not re.search(r"\bq[1-4]\b", page.text)


def test_a_challenge_without_results_is_explained(new_challenge: Path, terminal: Terminal) -> None:
    """Nothing is written."""
    answer = terminal.run("report", new_challenge)

    assert (answer.code, answer.out) == (1, "")
    assert "scorer run" in answer.err


def test_a_track_by_a_sum_is_not_analysed(challenge: Path, terminal: Terminal) -> None:
    """The reason is given; no other track is left here."""
    settings = challenge / "challenge.toml"
    text = settings.read_text(encoding="utf-8").replace('primary = "nDCG@5"', 'primary = "num_rel_ret"')
    settings.write_text(text, encoding="utf-8")
    assert terminal.run("score", challenge).code == 0

    answer = terminal.run("report", challenge)
    assert (answer.code, answer.out) == (1, "")
    assert "is a sum over the queries, and the statistics are about means" in answer.err


def test_options_for_tables_are_refused_for_a_challenge(challenge: Path, terminal: Terminal) -> None:
    """Scores of a challenge are complete, and larger is better."""
    for option in (["--smaller-is-better"], ["--na", "0"]):
        assert terminal.run("report", challenge, *option).code == 2


# In a browser


class TestInBrowser:
    """The page opened from disk in Chromium."""

    pytestmark = IN_BROWSER

    @pytest.mark.parametrize(("width", "dark"), [(320, False), (768, True), (1440, False)])
    def test_the_page_is_sound(self, tab: Page, hostile_page: Path, width: int, dark: bool) -> None:
        """Nothing of a name runs, and nothing else is loaded."""
        check_page(tab, hostile_page.as_uri(), width, dark=dark)
        assert tab.requests == [hostile_page.as_uri()]
        colour = "rgb(23, 22, 19)" if dark else "rgb(253, 252, 248)"
        assert tab.ask("getComputedStyle(document.body).backgroundColor") == colour
