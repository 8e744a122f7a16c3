"""The study of how often intervals, ranges, tiers and tests are right, with few samples."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from scorer.scoring.statistics.rankings import weighted_sums
from scorer.scoring.statistics.resampling import sign_flips
from studies import choosing, coverage, judges, skewed, tracks
from studies.coverage import Alarms, Coverage, Decisions
from studies.populations import POPULATIONS, Population
from tests.paths import DOCS
from tests.project.test_studies import verdicts

pytestmark = pytest.mark.ci

DOCUMENT = (DOCS / "statistics.md").read_text(encoding="utf-8")


def tables() -> list[list[list[str]]]:
    """The cells of the tables about coverage in the documentation, without their headers."""
    section = DOCUMENT.partition("## How often the statements are true")[2].partition("\n## ")[0]
    blocks = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]] for block in blocks
    ]


def percent(cell: str) -> float:
    """The share that a cell shows."""
    return float(cell.removesuffix(" %")) / 100


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda population: population.name)
def test_means_of_populations_are_true(population: Population) -> None:
    """The means of many queries are within four standard errors."""
    shifts = np.array([0.0, 0.2, 0.5])

    (scores,) = population.draw(np.random.default_rng(1), shifts, 100_000)

    errors = scores.std(axis=1) / math.sqrt(100_000)
    assert (np.abs(scores.mean(axis=1) - population.means(shifts)) < 4 * errors).all()
    assert np.corrcoef(scores)[0, 1] > 0.2
    assert (np.diff(population.means(shifts)) > 0).all()


def test_populations_are_continuous_or_coarse() -> None:
    """AP has any value, RR eleven, P@1 two."""
    drawn = [np.unique(each.draw(np.random.default_rng(1), np.zeros(1), 5000)).size for each in POPULATIONS]

    assert drawn == [5000, 11, 2]


def test_documented_intervals_are_those_of_the_study() -> None:
    """With few queries and 300 samples, within five standard errors; those of boards are at least 94 %."""
    samples, counts = 300, (coverage.FEW, *coverage.QUERIES)
    documented = {
        (*row[:2], count): percent(cell) for row in tables()[0] for count, cell in zip(counts, row[2:], strict=True)
    }
    assert len(documented) == len(POPULATIONS) * len(counts) * len(coverage.METHODS)
    assert min(documented.values()) >= coverage.LEAST

    for each in coverage.coverages(samples, (coverage.FEW, 50)):
        if each.method == "boards":
            expected = documented[each.population, each.of, each.queries]
            assert each.covered == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / samples))
        else:
            low, high = (0.32, 0.96) if each.population == "P@1 near 1" else (0.86, 0.96)
            assert low - 0.08 < each.covered < high + 0.04


def test_documented_cells_of_skewed_scores_are_those_of_the_study() -> None:
    """With 300 samples, within five standard errors; at least 94 %."""
    documented = {
        (row[0], count): percent(cell)
        for row in tables()[1]
        for count, cell in zip(skewed.QUERIES, row[1:], strict=True)
    }
    assert min(documented.values()) >= coverage.LEAST
    assert [*dict.fromkeys(name for name, _ in documented)] == [*skewed.SHAPES]

    for each in skewed.mean_cells(300):
        expected = documented[each.shape, each.queries]
        assert each.covered == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / 300))


def test_documented_ranges_and_tiers_are_those_of_the_study() -> None:
    """With 50 queries and 60 boards of equal teams."""
    documented = {
        (*row[:2], truth): [float(number) / 100 for number in cell.split(", ")[:2]]
        for row in tables()[5]
        for truth, cell in zip(coverage.TRUTHS, row[2:], strict=True)
    }
    assert len(documented) == len(POPULATIONS) * len(coverage.QUERIES) * len(coverage.TRUTHS)

    for each in coverage.rank_ranges_and_tiers(60, (50,)).rows:
        assert isinstance(each, Decisions)
        covered, two_tiers = documented[each.population, f"{each.queries:,}", each.truth]
        assert each.covered == pytest.approx(covered, abs=0.15)
        assert each.two_tiers == pytest.approx(two_tiers, abs=0.35)


@pytest.mark.endurance
def test_documented_alarms_are_those_of_the_study() -> None:
    """With 30 boards."""
    documented = {(row[0], row[1]): percent(row[2]) for row in tables()[6]}

    for each in coverage.false_alarms(30).rows:
        assert isinstance(each, Alarms)
        assert each.share == pytest.approx(documented[each.population, each.test], abs=0.25)


@pytest.mark.endurance
def test_intervals_of_boards_cover_in_every_cell() -> None:
    """With up to 320 queries and 4,000 samples, the claims hold within three standard errors."""
    for each in coverage.coverages(4000, (coverage.FEW, 50, 320)):
        if each.method == "boards":
            assert each.covered >= coverage.LEAST - 3 * math.sqrt(0.94 * 0.06 / 4000)
            assert each.undefined == 0


def test_verdicts_on_intervals_depend_on_their_coverage() -> None:
    """At least 94 % by the method of boards in none, some or all."""
    found = [
        Coverage("RR", queries, of, method, covered, 0.0)
        for queries, shares in {50: (0.91, 0.93), 320: (0.91, 0.95), 5704: (0.94, 0.99)}.items()
        for of, share in zip(("mean", "difference"), shares, strict=True)
        for method, covered in (("boards", share), ("BCa", 0.9))
    ]

    claims = coverage.interval_claims(found)

    assert [claim.verdict for claim in claims] == ["does not hold", "holds in part", "holds"]
    assert "91.0%" in claims[0].found


def test_verdicts_on_ranges_depend_on_the_boards() -> None:
    """A share of false boards above 5 % by more than two standard errors, or tiers among equal teams."""

    def claims(covered: float, two_tiers: float) -> list[str]:
        found = [Decisions("RR", 50, truth, 1000, covered, two_tiers, 3.0) for truth in coverage.TRUTHS]
        return [claim.verdict for claim in coverage.decision_claims(found)]

    assert coverage.slack(1000) == pytest.approx(2 * math.sqrt(0.05 * 0.95 / 1000))
    assert claims(0.95, 0.05) == ["holds", "holds"]
    assert claims(0.93, 0.05) == ["does not hold", "holds"]
    assert claims(0.95, 0.07) == ["holds", "does not hold"]


def test_the_studentised_bootstrap_finds_differences() -> None:
    """Of teams that clearly differ, and none of equal scores."""
    scores = np.random.default_rng(1).random((4, 60)) + np.arange(4)[:, np.newaxis]

    assert coverage.studentised_bootstrap_decides(scores, seed=1)
    assert not coverage.studentised_bootstrap_decides(np.ones((3, 10)), seed=1)


def test_studies_of_coverage_have_figures_and_claims() -> None:
    """Each as an SVG with one line for each quantity, or one bar for each test."""
    intervals = coverage.intervals(20, (50, 60))
    ranges = coverage.rank_ranges_and_tiers(4, (50, 60))
    alarms = coverage.false_alarms(2, queries=20)

    assert intervals.figure.count("<polyline") == len(POPULATIONS) * 6
    assert ranges.figure.count("<polyline") == len(POPULATIONS) * len(coverage.TRUTHS)
    assert alarms.figure.count("<rect") == 1 + len(POPULATIONS) * 2 + 2
    assert [len(study.claims) for study in (intervals, ranges, alarms)] == [2, 2, 2]
    means, losses, overall = skewed.means(20), skewed.losses(20, (50,)), tracks.overall(3, (10, 50))
    assert means.figure.count("<polyline") == len(skewed.SHAPES)
    assert losses.figure.count("<rect") == 1 + 4 + 4
    assert overall.figure.count("<polyline") == len(POPULATIONS) * len(tracks.WAYS)
    assert [len(study.claims) for study in (means, losses, overall)] == [1, 1, 2]
    assert verdicts(ranges)[0] in {"holds", "does not hold"}
    assert alarms.table().startswith("population,test,share\n")


@pytest.mark.endurance
def test_the_gain_of_choosing_covers_what_happens() -> None:
    """Of 2 to 40 equal entries, which share the difficulty of the queries."""
    assert [claim.verdict for claim in choosing.choosing().claims] == ["holds"]


def test_tracks_with_the_same_queries_raise_no_alarms() -> None:
    """Of rankings of 20 equal teams, half were false where tracks were drawn apart, and intervals covered 84 %."""
    documented = {row[0]: (percent(row[1]), percent(row[2])) for row in tables()[4]}
    assert [*documented] == [*tracks.WAYS]
    assert all(alarms <= tracks.MOST and covered >= coverage.LEAST for alarms, covered in documented.values())

    same = next(tracks.cells(100, (50,), ("the same",)))

    assert max(same.alarms, same.by_rank) <= 0.05 + 1.5 * coverage.slack(100)
    assert same.covered >= coverage.LEAST - 3 * math.sqrt(0.06 * 0.94 / 100)


def test_equal_teams_that_are_better_in_one_track_each_seldom_differ() -> None:
    """The flips of their sums vary more than chance does."""
    random, units, alarms = np.random.default_rng(1), [np.arange(50), np.arange(50, 100)], 0
    for board in range(100):
        scores = [POPULATIONS[0].draw(random, np.array(shifts), 50)[0] for shifts in ([1.0, 0.0], [0.0, 1.0])]
        alarms += int(sign_flips(weighted_sums(scores, units, tracks.SHARES), 499, seed=board).better().any())

    assert alarms <= 5


def test_intervals_of_means_near_0_cover_rare_scores() -> None:
    """Before, they covered 46 to 93 % of Beta(1, 30) with 2 or 5 % of ones."""
    for each in skewed.mean_cells(1000, (10, 50, 100)):
        assert each.covered >= coverage.LEAST - 3 * math.sqrt(0.06 * 0.94 / 1000), each


def test_rare_large_losses_are_missed() -> None:
    """A third of the samples have no loss, and then a team that is as good as a baseline looks better."""
    (few,) = skewed.loss_cells(300, (50,))

    documented = [percent(cell) for cell in tables()[2][0][1:]]
    found = (few.covered, few.interval, few.t, few.flips, few.wilcoxon)
    assert few.no_loss == pytest.approx(0.364, abs=0.001)
    assert found == pytest.approx(documented, abs=0.15)


def test_scores_by_two_judges_are_as_documented() -> None:
    """Of fewer samples: each cell within five standard errors of the least that the page states; rare scores less."""
    of_judges = r"cover ([\d.]+) to .*?at least ([\d.]+) %.*?on ([\d.]+) % of the boards, the\s+correction on ([\d.]+)"
    found = re.search(of_judges, DOCUMENT.partition("300 checked")[2], re.DOTALL)
    assert found is not None
    usual, rare, alone, corrected = (float(each) / 100 for each in found.groups())
    missed = re.search(r"few samples\s+show it: ([\d.]+) %", DOCUMENT)
    assert missed is not None
    study = judges.judges(300, 60)

    for cell, _, *shares in study.rows:
        least = rare if str(cell).startswith("95 %") else usual
        least = float(missed[1]) / 100 if str(cell).endswith("rare errors") else least
        assert all(isinstance(share, float) and share > least - 5 * math.sqrt(0.05 / 300) for share in shares), cell
    assert [claim.verdict for claim in study.claims] == ["holds", "holds"]
    assert corrected <= judges.MOST < 0.6 < alone
    assert study.figure.count("<polyline") == 2
