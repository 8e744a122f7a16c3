"""Figures 6 to 8 of Scheel, Lommatzsch and Albayrak, Performance Measures for Multi-Graded Relevance, SPIM 2011.

Eight strategies rank the documents of OHSUMED's 106 queries, each by one feature of LETOR's data set. The grades are
those of people (figure 6; 0, 1 and 2), or the values of two of the strategies: number 1, the term frequency of the
title (figure 7), and number 9, the TF-IDF of the title (figure 8).

The data is not part of the project: the five test folds of LETOR's OHSUMED, as ``Fold1/testset.txt`` to ``Fold5``, in
``../shared/data/ohsumed_letor`` or in ``ohsumed_letor`` of the folder that ``SCORER_REAL_DATA`` names. A line is
``query <tab> document <tab> 25 features <tab> grade``.

Where the paper is silent:

- Documents of equal score keep the order of the file.
- Judged by people, a query without a relevant document, or with none at a threshold, scores 0, as in the paper's
  table 1: all means are over 106 queries.
- Judged by a strategy, a query without a document at a threshold is left out of that MAP: otherwise the judge
  itself would not score 1 at every threshold, which the paper requires.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

import scorer
from scorer.measures.matched import Floats
from studies.drawing import STYLES, Axis, Drawing
from studies.study import AbsentError, Claim, Study, verdict

STRATEGIES = (1, 5, 9, 11, 15, 19, 21, 22)
FOLDS = 5
MEASURES = {"muMAP": "muAP", "mean NDCG": "MeanNDCG", "mean NDCNG": "MeanNDCNG"}
"""Name in the figures -> name in scorer."""

MOST_BARS, POINTS = 10, 100
"""The number of thresholds up to which they are drawn as bars, and the points of a line for more."""

Table = dict[str, dict[str, float]]
"""Query -> document -> number."""

Scores = dict[int, dict[str, float]]
"""Strategy -> measure -> score."""


@dataclass(frozen=True, slots=True, eq=False)
class Ohsumed:
    """The documents of all queries, in the order of the files."""

    query: list[str]
    document: list[str]
    features: Floats
    """``[document, feature]``; strategy s ranks by column s - 1."""
    grade: Floats
    """The grades that people gave."""

    @classmethod
    def read(cls, folder: Path | None = None) -> Ohsumed:
        """Read the five folds in `folder`, or in the default folder. Raises AbsentError."""
        folder = folder or data_folder()
        files = [folder / f"Fold{number}" / "testset.txt" for number in range(1, FOLDS + 1)]
        if not all(file.is_file() for file in files):
            raise AbsentError(f"OHSUMED not found in {folder}; SCORER_REAL_DATA names the folder above it")
        lines = [line for file in files for line in file.read_text(encoding="ascii").splitlines()]
        query, document, features, grade = zip(*(line.split("\t") for line in lines), strict=True)
        return cls(
            query=list(query),
            document=list(document),
            features=np.array([each.split() for each in features], dtype=np.float64),
            grade=np.array(grade, dtype=np.float64),
        )

    def by_strategy(self, number: int) -> Floats:
        """Return ``[document]``: the value of each document for this strategy."""
        column: Floats = self.features[:, number - 1]
        return column

    def table(self, numbers: Floats) -> Table:
        """Return a number for each document, in the form of solutions and submissions."""
        tables: Table = {}
        for query, document, number in zip(self.query, self.document, numbers.tolist(), strict=True):
            tables.setdefault(query, {})[document] = number
        return tables


def data_folder() -> Path:
    """Return the folder of the data."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("SCORER_REAL_DATA", default)) / "ohsumed_letor"


def scores(
    ohsumed: Ohsumed, reference: Floats, thresholds: Floats, undefined: Literal["skip", "zero"] = "skip"
) -> Scores:
    """Return the scores of every strategy: the three measures, and MAP at each threshold (``t=1``, ...).

    Parameters
    ----------
    reference : ``[document]``, the grades
    undefined : whether queries without a score are left out of the mean ("skip") or score 0 ("zero")
    """
    measures = MEASURES | {f"t={each:g}": f"AP(rel={each!r})" for each in thresholds.tolist()}
    solution = ohsumed.table(reference)
    found: Scores = {}
    for strategy in STRATEGIES:
        submission = ohsumed.table(ohsumed.by_strategy(strategy))
        result = scorer.evaluate(solution, submission, list(measures.values()), ties="order")
        left_out = result.left_out()
        counted = {measure: 1 - left_out[measure] / result.queries if undefined == "zero" else 1 for measure in result}
        found[strategy] = {name: result[measure] * counted[measure] for name, measure in measures.items()}
    return found


def thresholds_to_draw(reference: Floats) -> Floats:
    """Return the distinct grades above 0, ascending; if there are many, those next to evenly spaced points."""
    levels = np.unique(reference[reference > 0])
    if levels.size <= MOST_BARS:
        return levels
    return levels[np.unique(np.searchsorted(levels, np.linspace(levels[0], levels[-1], POINTS)))]


def figure_6(ohsumed: Ohsumed | None = None) -> Study:
    """Return figure 6: judged by people."""
    ohsumed = ohsumed or Ohsumed.read()
    found = scores(ohsumed, ohsumed.grade, thresholds_to_draw(ohsumed.grade), undefined="zero")
    mean_of_maps = (found[1]["t=1"] + found[1]["t=2"]) / 2
    claims = (
        Claim(
            "On three grades, muMAP is the mean of the MAPs at thresholds 1 and 2.",
            verdict(mean_of_maps == found[1]["muMAP"], in_part=abs(mean_of_maps - found[1]["muMAP"]) < 0.01),
            f"Strategy 1: muMAP {found[1]['muMAP']:.6f}, mean of the two MAPs {mean_of_maps:.6f}. muAP uses the levels "
            "of a query, and four queries with a relevant document have none of grade 2.",
        ),
        _claim_of_difference(found),
    )
    return _study(6, "OHSUMED, judged by people", ohsumed.grade, found, claims)


def figure_7(ohsumed: Ohsumed | None = None) -> Study:
    """Return figure 7: judged by strategy 1."""
    ohsumed = ohsumed or Ohsumed.read()
    reference = ohsumed.by_strategy(1)
    found = scores(ohsumed, reference, thresholds_to_draw(reference))
    levels = np.unique(reference).size
    maps = [found[9][name] for name in found[9] if name not in MEASURES]
    claims = (
        Claim("Strategy 1 has 9 levels of relevance.", verdict(levels == 9), f"{levels} distinct values."),
        _claim_of_perfection(found, 1),
        _claim_of_nearness(found, 1, 9),
        Claim(
            "muMAP is the mean of 8 MAPs.",
            verdict(False, in_part=levels == 9),
            "Not of 8 equal parts: the levels are 0 to 7 and 9, so the last one weighs twice, and a query has its own. "
            f"Strategy 9: muMAP {found[9]['muMAP']:.6f}, mean of its {len(maps)} MAPs {np.mean(maps):.6f}.",
        ),
    )
    return _study(7, "OHSUMED, judged by strategy 1 (TF of the title)", reference, found, claims)


def figure_8(ohsumed: Ohsumed | None = None) -> Study:
    """Return figure 8: judged by strategy 9."""
    ohsumed = ohsumed or Ohsumed.read()
    reference, coarse = ohsumed.by_strategy(9), ohsumed.by_strategy(1)
    found = scores(ohsumed, reference, thresholds_to_draw(reference))
    by_1 = scores(ohsumed, coarse, np.zeros(0))
    levels = np.unique(reference).size
    correlation = float(np.corrcoef(coarse, reference)[0, 1])
    claims = (
        Claim("Strategy 9 has 158 levels of relevance.", verdict(levels == 158), f"{levels} distinct values."),
        Claim(
            "The values of strategies 1 and 9 correlate with 0.96 (Pearson).",
            verdict(round(correlation, 2) == 0.96),
            f"{correlation:.4f} over all documents.",
        ),
        _claim_of_perfection(found, 9),
        _claim_of_nearness(found, 9, 1),
        _claim_of_collapse(by_1, found),
    )
    return _study(8, "OHSUMED, judged by strategy 9 (TF-IDF of the title)", reference, found, claims)


def _claim_of_difference(found: Scores) -> Claim:
    alike = {strategy: [other for other in STRATEGIES if found[other] == found[strategy]] for strategy in STRATEGIES}
    groups = [group for strategy, group in alike.items() if len(group) > 1 and group[0] == strategy]
    different = sum(group[0] == strategy for strategy, group in alike.items())
    return Claim(
        "The eight strategies are chosen to behave differently.",
        verdict(different == len(STRATEGIES), in_part=different > 1),
        f"They are {different} different rankings: "
        + ", ".join(f"{' and '.join(map(str, group))} are the same" for group in groups)
        + ". Strategies 5 and 15 give one value to all documents of a query, so they rank as the file does.",
    )


def _claim_of_perfection(found: Scores, judge: int) -> Claim:
    own = {name: found[judge][name] for name in MEASURES}
    return Claim(
        f"Strategy {judge}, which judges, scores 1 itself under all three measures.",
        verdict(bool(np.allclose(list(own.values()), 1, rtol=0, atol=1e-12))),
        _listed(own) + ".",
    )


def _claim_of_nearness(found: Scores, judge: int, nearest: int) -> Claim:
    others = [strategy for strategy in STRATEGIES if strategy != judge]
    best = {name: max(others, key=lambda strategy: found[strategy][name]) for name in MEASURES}
    return Claim(
        f"All measures have strategy {nearest} nearest to strategy {judge}.",
        verdict(set(best.values()) == {nearest}),
        f"Strategy {nearest}: {_listed({name: found[nearest][name] for name in MEASURES})}.",
    )


def _claim_of_collapse(coarse: Scores, fine: Scores) -> Claim:
    others = [strategy for strategy in STRATEGIES if strategy not in (1, 9)]
    falls = {name: [coarse[each][name] - fine[each][name] for each in others] for name in MEASURES}
    largest = {name: float(np.abs(fall).max()) for name, fall in falls.items()}
    ndcg = falls["mean NDCG"]
    return Claim(
        "From figure 7 to 8, strategies other than 1 and 9 fall in NDCG, and hardly change in muMAP and NDCNG.",
        verdict(min(ndcg) > 5 * max(largest["muMAP"], largest["mean NDCNG"])),
        f"Their mean NDCG falls by {min(ndcg):.3f} to {max(ndcg):.3f}; their muMAP changes by at most "
        f"{largest['muMAP']:.3f}, their mean NDCNG by at most {largest['mean NDCNG']:.3f}.",
    )


def _listed(named: dict[str, float]) -> str:
    return ", ".join(f"{name} {score:.6f}" for name, score in named.items())


def _study(number: int, what: str, reference: Floats, found: Scores, claims: tuple[Claim, ...]) -> Study:
    title = f"Scheel, Lommatzsch and Albayrak 2011, figure {number}: {what}"
    rows = [(strategy, name, score) for strategy, named in found.items() for name, score in named.items()]
    return Study(title, _drawn(title, reference, found), ("strategy", "measure", "score"), rows, claims)


def _drawn(title: str, reference: Floats, found: Scores) -> str:
    drawing = Drawing(title)
    thresholds = thresholds_to_draw(reference)
    few = thresholds.size <= MOST_BARS
    up = Axis.numbers("mean over queries", 0, 1, 0.2, decimals=1)
    names = [f"{each:g}" for each in thresholds.tolist()]
    across = Axis.groups("threshold", names) if few else Axis.numbers("threshold", 0, 50, 10)
    maps, means = drawing.panels(
        ("MAP at each threshold", across, up), ("All levels at once", Axis.groups("", list(MEASURES)), up)
    )
    by_threshold = np.array([[named[f"t={name}"] for name in names] for named in found.values()])
    if few:
        for group, heights in enumerate(by_threshold.T.tolist()):
            maps.bars(group, heights, STYLES)
    else:
        for heights, style in zip(by_threshold.tolist(), STYLES, strict=True):
            maps.line(thresholds.tolist(), heights, style)
    for group, name in enumerate(MEASURES):
        means.bars(group, [named[name] for named in found.values()], STYLES)
    drawing.legend("Strategy", patches=[(str(each), style) for each, style in zip(found, STYLES, strict=True)])
    return drawing.svg()
