"""The figures of the papers: generated inputs, numbers and verdicts."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import scorer
from scorer.measures.matched import Floats
from studies import moniz_news, moniz_permutations, scheel_ohsumed, scheel_swaps
from studies.__main__ import STUDIES, main
from studies.drawing import STYLES, Axis, Drawing
from studies.rankings import matched
from studies.study import Claim, Study, verdict

pytestmark = pytest.mark.ci

SVG = "{http://www.w3.org/2000/svg}"


def verdicts(study: Study) -> list[str]:
    """Return the verdicts on the claims, in order."""
    return [claim.verdict for claim in study.claims]


# Rankings


@pytest.mark.parametrize("name", ["muAP", "MeanNDCG", "MeanNDCNG", "nDCGphi@10", "Rp@5", "MARp@5,10", "AP(rel=2)"])
def test_many_rankings_at_once_score_as_separate_ones(name: str) -> None:
    """A matrix of grades gives the scores of the same lists as dicts, with ties and items that are not relevant."""
    grade = np.random.default_rng(7).integers(-1, 5, size=(30, 12)).astype(float)
    items = [f"i{rank}" for rank in range(grade.shape[1])]
    solution = {f"q{at}": dict(zip(items, row, strict=True)) for at, row in enumerate(grade.tolist())}

    apart = scorer.evaluate(solution, {query: list(listed) for query, listed in solution.items()}, name, per_query=True)

    expected = [scores[name] for scores in apart.by_query().values()]
    np.testing.assert_allclose(scorer.parse(name)[0](matched(grade)), expected, rtol=1e-14)


# Scheel, Lommatzsch and Albayrak, figures 4 and 5


def test_each_swap_exchanges_two_ranks() -> None:
    """After s swaps a ranking has the same items, and at most 2 s have moved; after one swap, exactly two."""
    order = scheel_swaps.swapped(np.random.default_rng(1), 5)
    moved = (order != np.arange(100)).sum(axis=2)

    assert order.shape == (100, 5, 100)
    assert (np.sort(order, axis=2) == np.arange(100)).all()
    assert (moved <= 2 * np.arange(100)[:, np.newaxis]).all()
    assert (moved[1] == 2).all()
    assert (moved[99] > 60).all()


def test_all_pairs_of_ranks_are_swapped() -> None:
    """No rank is swapped with itself, and all are equally frequent."""
    one, other = scheel_swaps.two_ranks(np.random.default_rng(1), (1000, 100))

    assert (one != other).all()
    for places in (one, other):
        assert np.bincount(places.ravel(), minlength=100) == pytest.approx(1000, abs=200)


@pytest.mark.parametrize("levels", scheel_swaps.LEVELS)
def test_uniform_levels_have_equal_numbers_of_items(levels: int) -> None:
    """Grades are 0 to k - 1, each for 100 / k items, best first."""
    grade = scheel_swaps.uniform(levels)

    assert np.unique(grade, return_counts=True)[0].tolist() == list(range(levels))
    assert set(np.unique(grade, return_counts=True)[1]) == {100 // levels}
    assert (np.diff(grade) <= 0).all()


def test_random_levels_have_random_numbers_of_items() -> None:
    """Grades are at most k - 1, best first, and not all 0; with 50 levels some are empty."""
    random = np.random.default_rng(3)
    two, fifty = (scheel_swaps.non_uniform(random, levels, 200) for levels in (2, 50))

    assert (np.diff(fifty, axis=1) <= 0).all()
    assert set(np.unique(two)) == {0, 1}
    assert (two.max(axis=1) == 1).all()
    assert fifty.max() == 49
    assert min(np.unique(row).size for row in fifty) < 45
    assert np.ptp(two.sum(axis=1)) > 50


def test_figure_4_has_the_scores_of_an_independent_implementation() -> None:
    """The means of 20 rankings with 25 and 99 swaps are those of other code."""
    order = scheel_swaps.swapped(np.random.default_rng(0), 20)
    curves = scheel_swaps.mean_scores({k: scheel_swaps.uniform(k)[np.newaxis] for k in scheel_swaps.LEVELS}, order)

    def scores(measure: str, swaps: int) -> list[float]:
        return [float(np.mean(curves[measure][levels][swaps - 1 : swaps + 1])) for levels in scheel_swaps.LEVELS]

    assert scores("muMAP", 99) == pytest.approx([0.562, 0.560, 0.573, 0.572], abs=0.03)
    assert scores("mean NDCG", 99) == pytest.approx([0.622, 0.469, 0.394, 0.301], abs=0.06)
    assert scores("mean NDCNG", 99) == pytest.approx([0.622, 0.634, 0.664, 0.662], abs=0.04)
    assert scores("mean NDCG", 25) == pytest.approx([0.856, 0.749, 0.735, 0.721], abs=0.06)
    assert scores("mean NDCNG", 25) == pytest.approx([0.856, 0.832, 0.846, 0.852], abs=0.03)


def test_on_two_levels_new_measures_equal_binary_ones() -> None:
    """NDCNG equals NDCG, and muMAP equals MAP."""
    order = scheel_swaps.swapped(np.random.default_rng(0), 3)
    reference = scheel_swaps.uniform(2)
    curves = scheel_swaps.mean_scores({2: reference[np.newaxis]}, order)
    average_precision = scorer.parse("AP")[0](matched(reference[order].reshape(-1, 100))).reshape(100, 3)

    np.testing.assert_allclose(curves["mean NDCG"][2], curves["mean NDCNG"][2], rtol=1e-13)
    np.testing.assert_allclose(curves["muMAP"][2], average_precision.mean(axis=1), rtol=1e-13)


def test_verdicts_on_figure_4() -> None:
    """NDCG depends on the number of levels; muMAP and NDCNG hardly do, and differ from each other."""
    study = scheel_swaps.figure_4(rankings=15)

    assert verdicts(study) == ["holds", "holds", "holds", "holds in part", "holds in part", "does not hold"]
    assert len(study.rows) == 4 * 100


def test_verdicts_on_figure_5() -> None:
    """The same for the mean over many references; but each score depends on the number of items on a level."""
    study = scheel_swaps.figure_5()

    assert verdicts(study)[:6] == ["holds", "holds", "holds", "holds in part", "holds in part", "does not hold"]
    assert verdicts(study)[6:] == ["does not hold"]


def test_scores_increase_with_the_number_of_relevant_items() -> None:
    """With 99 swaps a ranking is close to a random one, whose AP is close to the share of relevant items."""
    order = scheel_swaps.swapped(np.random.default_rng(0), 20)
    curves = scheel_swaps.mean_scores({n: scheel_swaps.two_levels(n)[np.newaxis] for n in (20, 80)}, order)

    assert scheel_swaps.two_levels(20).sum() == 20
    assert curves["muMAP"][20][99] == pytest.approx(0.27, abs=0.06)
    assert curves["muMAP"][80][99] == pytest.approx(0.84, abs=0.03)


def test_verdicts_depend_on_the_curves() -> None:
    """If muMAP and NDCNG differ between levels and NDCG does not, the verdicts change."""
    falling = {levels: np.linspace(1, 1 / levels, 100) for levels in scheel_swaps.LEVELS}
    level = {levels: np.ones(100) for levels in scheel_swaps.LEVELS}

    claims = scheel_swaps.claims({"muMAP": falling, "mean NDCG": level, "mean NDCNG": falling})

    assert [claim.verdict for claim in claims] == ["holds", *["does not hold"] * 4, "holds"]


# Scheel, Lommatzsch and Albayrak, figures 6 to 8

needs_ohsumed = pytest.mark.skipif(
    not scheel_ohsumed.data_folder().is_dir(),
    reason=f"real data not found: {scheel_ohsumed.data_folder()} (SCORER_REAL_DATA names the folder above it)",
)


@pytest.fixture(scope="module")
def ohsumed() -> scheel_ohsumed.Ohsumed:
    """The real data set."""
    return scheel_ohsumed.Ohsumed.read()


def scores_of(found: scheel_ohsumed.Scores, strategy: int) -> list[float]:
    """Return the scores of a strategy: muMAP, mean NDCG, mean NDCNG, and MAP at the thresholds."""
    return list(found[strategy].values())


@needs_ohsumed
@pytest.mark.real_data
def test_ohsumed_is_the_data_set_of_the_paper(ohsumed: scheel_ohsumed.Ohsumed) -> None:
    """It has 106 queries, 16140 documents and 9 levels of strategy 1, but 1126 of strategy 9 instead of 158."""
    assert len(set(ohsumed.query)) == 106
    assert np.unique(ohsumed.grade, return_counts=True)[1].tolist() == [11303, 2585, 2252]
    assert np.unique(ohsumed.by_strategy(1)).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 9]
    assert np.unique(ohsumed.by_strategy(9)).size == 1126
    assert np.corrcoef(ohsumed.by_strategy(1), ohsumed.by_strategy(9))[0, 1] == pytest.approx(0.9598, abs=5e-5)


@needs_ohsumed
@pytest.mark.real_data
def test_scores_on_ohsumed_judged_by_people(ohsumed: scheel_ohsumed.Ohsumed) -> None:
    """Six decimals, over 106 queries."""
    found = scheel_ohsumed.scores(ohsumed, ohsumed.grade, np.array([1.0, 2.0]), undefined="zero")

    assert scores_of(found, 1) == pytest.approx([0.343768, 0.492893, 0.501824, 0.411364, 0.273575], abs=5e-7)
    assert scores_of(found, 9) == pytest.approx([0.356222, 0.506891, 0.515843, 0.422696, 0.287023], abs=5e-7)
    assert scores_of(found, 21) == pytest.approx([0.354990, 0.507468, 0.516685, 0.425344, 0.281528], abs=5e-7)
    assert found[22] == found[21]
    assert found[15] == found[5]


@needs_ohsumed
@pytest.mark.real_data
def test_scores_on_ohsumed_over_queries_with_a_relevant_document(ohsumed: scheel_ohsumed.Ohsumed) -> None:
    """The query without relevant documents is left out of the means."""
    found = scheel_ohsumed.scores(ohsumed, ohsumed.grade, np.zeros(0))

    assert found[1]["muMAP"] == pytest.approx(0.343768 * 106 / 105, abs=1e-6)


@needs_ohsumed
@pytest.mark.real_data
def test_scores_on_ohsumed_judged_by_strategies(ohsumed: scheel_ohsumed.Ohsumed) -> None:
    """Six decimals, judged by strategies 1 and 9."""
    none = np.zeros(0)
    by_1 = scheel_ohsumed.scores(ohsumed, ohsumed.by_strategy(1), none)
    by_9 = scheel_ohsumed.scores(ohsumed, ohsumed.by_strategy(9), none)

    assert scores_of(by_1, 1) == pytest.approx([1, 1, 1], abs=1e-12)
    assert scores_of(by_9, 1) == pytest.approx([0.927341, 0.890906, 0.971138], abs=5e-7)
    assert scores_of(by_1, 9) == pytest.approx([0.982221, 0.990022, 0.993304], abs=5e-7)
    assert scores_of(by_9, 9) == pytest.approx([1, 1, 1], abs=1e-12)
    for strategy in (21, 22):
        assert scores_of(by_1, strategy) == pytest.approx([0.587318, 0.717252, 0.789612], abs=5e-7)
        assert scores_of(by_9, strategy) == pytest.approx([0.607390, 0.513871, 0.798747], abs=5e-7)


@needs_ohsumed
@pytest.mark.real_data
def test_verdicts_on_figures_6_to_8(ohsumed: scheel_ohsumed.Ohsumed) -> None:
    """The claims about the scores hold; three of the numbers do not, or not exactly."""
    assert verdicts(scheel_ohsumed.figure_6(ohsumed)) == ["holds in part", "holds in part"]
    assert verdicts(scheel_ohsumed.figure_7(ohsumed)) == ["holds", "holds", "holds", "holds in part"]
    assert verdicts(scheel_ohsumed.figure_8(ohsumed)) == ["does not hold", "holds", "holds", "holds", "holds"]


def test_at_most_a_hundred_thresholds_are_drawn() -> None:
    """All positive levels if there are at most ten; otherwise up to a hundred, from the lowest to the highest."""
    many = scheel_ohsumed.thresholds_to_draw(np.linspace(0, 50, 1127) ** 2)

    assert scheel_ohsumed.thresholds_to_draw(np.array([3.0, 0.0, 1.0, 3.0])).tolist() == [1, 3]
    assert many[0] > 0
    assert many[-1] == 2500
    assert 50 < many.size <= 100


def test_ohsumed_is_read_from_the_files_of_letor(tmp_path: Path) -> None:
    """Tabs separate columns, spaces separate features; the folds are read in order."""
    features = " ".join(str(number / 2) for number in range(25))
    for number in range(1, 6):
        (tmp_path / f"Fold{number}").mkdir()
        (tmp_path / f"Fold{number}" / "testset.txt").write_text(f"{number}\td{number}\t{features}\t{number % 3}\n")

    read = scheel_ohsumed.Ohsumed.read(tmp_path)

    assert read.query == ["1", "2", "3", "4", "5"]
    assert read.grade.tolist() == [1, 2, 0, 1, 2]
    assert read.by_strategy(9).tolist() == [4] * 5
    assert read.table(read.grade)["3"] == {"d3": 0}


# Moniz, Torgo and Vinagre, figure 2 and table 1


@pytest.fixture(scope="module")
def cells() -> moniz_permutations.Cells:
    """The samples of the figure."""
    return moniz_permutations.data_driven()


def test_quartiles_are_those_of_the_published_figure(cells: moniz_permutations.Cells) -> None:
    """They differ by at most 0.003, with 1000 samples as in the figure and with 10,000."""
    assert cells["scenario 1", "balanced"].shape == (1000,)
    assert moniz_permutations.distance(cells) <= 0.003
    assert moniz_permutations.distance(moniz_permutations.data_driven(10_000, seed=7)) <= 0.003


def test_quartiles_of_scores_drawn_as_in_the_text(cells: moniz_permutations.Cells) -> None:
    """They are those of an independent run of 400 samples."""
    found = moniz_permutations.quartiles(cells)

    assert found["scenario 1", "imbalanced, 90 : 10"] == pytest.approx([0.9899, 0.9944, 0.9974], abs=0.003)
    assert found["scenario 2", "imbalanced, 90 : 10"] == pytest.approx([0.7325, 0.7637, 0.7948], abs=0.01)


def test_all_samples_score_the_same_if_judged_by_rank() -> None:
    """Scenario 1 loses 4 / log2(11) of a gain of 7 at each of ten ranks; scenario 2 loses nothing."""
    ideal = 7 * (1 / np.log2(np.arange(2, 12))).sum()
    scores = moniz_permutations.ad_hoc()

    assert scores["scenario 1"] == pytest.approx(1 - 4 / np.log2(11) / ideal, abs=1e-12)
    assert scores["scenario 1"] == pytest.approx(0.963645, abs=5e-7)
    assert scores["scenario 2"] == pytest.approx(1, abs=1e-12)


def test_scenarios_permute_the_first_ranks() -> None:
    """Ranks 10 and 11 are exchanged, or ranks 1 to 10 reversed; the others do not change."""
    ranks = np.arange(1.0, 101)[np.newaxis]

    assert moniz_permutations.scenario_1(ranks)[0, 8:12].tolist() == [9, 11, 10, 12]
    assert moniz_permutations.scenario_2(ranks)[0, :11].tolist() == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 11]
    for permuted in (moniz_permutations.scenario_1(ranks), moniz_permutations.scenario_2(ranks)):
        assert (permuted[0, 11:] == ranks[0, 11:]).all()


@pytest.mark.parametrize(
    ("scores", "outlying"),
    [
        ([17.0, 9, 8, 7, 6, 5, 4, 3, 2, 1], True),  # hinges 8 and 3: the fence is at 15.5
        ([15.5, 9, 8, 7, 6, 5, 4, 3, 2, 1], False),
        ([9.0, 9, 8, 7, 6, 5, 4, 3, 2, -5], True),
    ],
)
def test_outliers_are_beyond_the_fences(scores: list[float], outlying: bool) -> None:
    """The fences are 1.5 times the distance of the hinges away from them."""
    assert moniz_permutations.has_outlier(np.array([scores])).tolist() == [outlying]


def test_scores_are_drawn_as_in_the_published_code() -> None:
    """They are whole numbers in their ranges, highest first; every imbalanced sample has outliers."""
    random = np.random.default_rng(5)
    balanced, imbalanced, by_text = (draw(random, 50) for draw in moniz_permutations.DISTRIBUTIONS.values())

    for scores in (balanced, imbalanced, by_text):
        assert scores.shape == (50, 100)
        assert (np.diff(scores, axis=1) <= 0).all()
        assert scores.min() >= 1
        assert scores.max() <= 1000
    assert moniz_permutations.has_outlier(imbalanced).all()
    assert ((imbalanced >= 500).sum(axis=1) >= 20).all()
    assert np.median((imbalanced > 500).sum(axis=1)) <= 20
    assert ((by_text >= 500).sum(axis=1) >= 10).all()
    assert np.median((by_text > 500).sum(axis=1)) <= 10


def test_verdicts_on_figure_2() -> None:
    """Quartiles and errors of nDCG are as published; the effect of imbalance holds for scores as in the text."""
    study = moniz_permutations.figure_2()

    assert verdicts(study) == ["holds", "holds", "holds", "holds", "holds in part"]
    assert len(study.rows) == 6


@pytest.mark.parametrize(
    ("day", "phi", "score"), [("day 1", [1, 0, 0.35, 0, 0], 0.969360), ("day 2", [1, 0, 0.784766, 0, 0], 0.935004)]
)
def test_table_1_has_the_relevance_and_the_scores(day: str, phi: list[float], score: float) -> None:
    """Six decimals."""
    popularity = moniz_news.DAYS[day]

    assert moniz_news.relevance(popularity, popularity) == pytest.approx(phi, abs=5e-7)
    assert moniz_news.data_driven(popularity) == pytest.approx(score, abs=5e-7)


def test_verdicts_on_table_1() -> None:
    """The same ranks are wrong on both days, and the error of the second day costs more."""
    assert verdicts(moniz_news.table_1()) == ["holds", "holds"]


# Figures, and the command


def attributes_of(drawing: ET.Element, tag: str, name: str) -> Floats:
    """Return one attribute of all elements with this tag."""
    return np.array([float(element.get(name, "nan")) for element in drawing.iter(SVG + tag)])


def test_a_line_passes_through_its_points() -> None:
    """The lower left corner of the panel is the low end of both scales, the upper right corner the high end."""
    drawing = Drawing("t", width=400, height=300)
    (panel,) = drawing.panels(("p", Axis.numbers("x", 0, 10, 5), Axis.numbers("y", 0, 1, 0.5, decimals=1)))
    panel.line([0, 5, 10], [0, 0.5, 1], STYLES[0])

    line = ET.fromstring(drawing.svg()).find(f".//{SVG}polyline")

    assert line is not None
    left, top, right, bottom = panel.left, panel.top, panel.right, panel.bottom
    points = [(left, bottom), ((left + right) / 2, (top + bottom) / 2), (right, top)]
    assert line.get("points") == " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def test_a_box_plot_shows_quartiles_whiskers_and_outliers() -> None:
    """The box extends from the first to the third quartile; a dot marks an outlier."""
    drawing = Drawing("t", width=400, height=300)
    (panel,) = drawing.panels(("p", Axis.groups("g", ["one"]), Axis.numbers("y", 0, 100, 50)))
    panel.box_plot(0, np.array([10.0, 20, 30, 40, 50, 95]), STYLES[0])

    root = ET.fromstring(drawing.svg())

    assert attributes_of(root, "circle", "cy") == pytest.approx([panel.y(95)], abs=0.06)
    assert attributes_of(root, "rect", "y")[1:] == pytest.approx([panel.y(47.5)], abs=0.06)
    assert attributes_of(root, "rect", "height")[1:] == pytest.approx([panel.y(22.5) - panel.y(47.5)], abs=0.06)
    assert {f"{panel.y(10):.1f}", f"{panel.y(50):.1f}"} <= {line.get("y1") for line in root.iter(SVG + "line")}


def test_bars_start_at_the_bottom_of_the_scale() -> None:
    """Their heights are their numbers, and they do not touch."""
    drawing = Drawing("t", width=400, height=300)
    (panel,) = drawing.panels(("p", Axis.groups("g", ["one"]), Axis.numbers("y", 0, 1, 0.5)))
    panel.bars(0, [0.25, 1.0], STYLES[:2])

    root = ET.fromstring(drawing.svg())
    left, width = attributes_of(root, "rect", "x")[1:], attributes_of(root, "rect", "width")[1:]

    assert attributes_of(root, "rect", "y")[1:] == pytest.approx([panel.y(0.25), panel.y(1)], abs=0.06)
    assert left[0] + width[0] < left[1]


def test_a_band_is_the_area_between_two_lines() -> None:
    """Its outline follows the lower line, and the upper one back."""
    drawing = Drawing("t", width=400, height=300)
    (panel,) = drawing.panels(("p", Axis.numbers("x", 0, 10, 5), Axis.numbers("y", 0, 1, 0.5)))
    panel.band([0, 10], [0.25, 0.5], [0.5, 1], STYLES[0])

    (outline,) = ET.fromstring(drawing.svg()).iter(SVG + "polygon")
    corners = [(0, 0.25), (10, 0.5), (10, 1), (0, 0.5)]

    assert outline.get("points") == " ".join(f"{panel.x(x):.1f},{panel.y(y):.1f}" for x, y in corners)


def test_text_in_figures_is_escaped() -> None:
    """No title or name becomes markup."""
    drawing = Drawing("<b>&")
    drawing.panels(("<script>", Axis.groups("a & b", ["<i>"]), Axis.numbers("y", 0, 1, 1)))
    drawing.legend("<u>", patches=[("</svg>", STYLES[0])])

    written = [element.text for element in ET.fromstring(drawing.svg()).iter(SVG + "text")]

    assert {"<script>", "a & b", "<i>", "<u>", "</svg>"} <= set(written)


def test_the_command_writes_figures_and_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An SVG and a CSV for each requested study, the same bytes each time, and the verdicts on the terminal."""
    main(["moniz-table-1", "--output", str(tmp_path / "first")])
    printed = capsys.readouterr().out
    main(["moniz-table-1", "--output", str(tmp_path / "second")])

    assert [file.name for file in sorted((tmp_path / "first").iterdir())] == ["moniz-table-1.csv", "moniz-table-1.svg"]
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes()
    assert "holds" in printed
    assert "0.969360" in printed
    with (tmp_path / "first" / "moniz-table-1.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["popularity"] for row in rows if row["day"] == "day 2"] == ["100.0", "20.0", "90.0", "15.0", "10.0"]


def test_studies_without_their_data_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the folder; the other studies run."""
    monkeypatch.setenv("SCORER_REAL_DATA", str(tmp_path / "nowhere"))

    main(["scheel-figure-8", "moniz-table-1", "--output", str(tmp_path)])

    printed = capsys.readouterr().out
    assert f"scheel-figure-8: skipped: OHSUMED not found in {tmp_path / 'nowhere' / 'ohsumed_letor'}" in printed
    assert [file.name for file in sorted(tmp_path.glob("*.svg"))] == ["moniz-table-1.svg"]


def test_an_unknown_study_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The message lists the studies."""
    with pytest.raises(SystemExit):
        main(["figure-9"])

    printed = capsys.readouterr().err
    assert all(name in printed for name in STUDIES)


def test_a_report_has_claims_and_numbers() -> None:
    """The title, then each verdict with its numbers."""
    study = Study("A title", "", ("n",), [(0.1,)], (Claim("The moon is round.", verdict(False, in_part=True), "Ish."),))

    assert [line.split() for line in study.report().splitlines()] == [
        ["A", "title"],
        ["holds", "in", "part", "The", "moon", "is", "round."],
        ["Ish."],
    ]
    assert study.table() == "n\n0.1\n"
    assert study.grid() == "n\n0.1"
