"""Table 1 of Moniz, Torgo and Vinagre, Data-Driven Relevance Judgments for Ranking Evaluation, arXiv 1612.06136, 2016.

A recommender of news makes the same error on two days: the items at ranks 2 and 3 are exchanged. On the first day the
two items have similar popularity, on the second they do not. The paper has the popularity scores; this module computes
the relevance and the nDCGphi that follow from them.
"""

from __future__ import annotations

import numpy as np

import scorer
from scorer.measures.graded import relevance_curves
from scorer.measures.matched import Floats
from studies.drawing import STYLES, Axis, Drawing
from studies.rankings import matched
from studies.study import Claim, Study, verdict

DAYS = {
    "day 1": np.array([100.0, 80.0, 90.0, 15.0, 10.0]),
    "day 2": np.array([100.0, 20.0, 90.0, 15.0, 10.0]),
}
"""The final popularity of the items, in the order in which they were recommended."""

CUTOFF = 5


def relevance(popularity: Floats, of: Floats) -> Floats:
    """Return phi of the scores `of`, given the popularity of all items."""
    return relevance_curves(matched(popularity[np.newaxis]))(matched(of[np.newaxis]).found)


def data_driven(popularity: Floats) -> float:
    """Return nDCGphi@5."""
    return float(scorer.parse(f"nDCGphi@{CUTOFF}")[0](matched(popularity[np.newaxis]))[0])


def table_1() -> Study:
    """Return the study of both days."""
    title = "Moniz, Torgo and Vinagre 2016, table 1: the same error on two days"
    rows = [
        (day, rank, score, phi)
        for day, popularity in DAYS.items()
        for rank, (score, phi) in enumerate(
            zip(popularity.tolist(), relevance(popularity, popularity).tolist(), strict=True), start=1
        )
    ]
    scores = {day: data_driven(popularity) for day, popularity in DAYS.items()}
    wrong = {day: misplaced(popularity) for day, popularity in DAYS.items()}
    claims = (
        Claim(
            "The recommender makes the same error on both days: the items at ranks 2 and 3 are exchanged.",
            verdict(all(ranks == [2, 3] for ranks in wrong.values())),
            f"Ranks with another item than in the order of popularity: {wrong['day 1']} and {wrong['day 2']}.",
        ),
        Claim(
            "The error of the second day is the more serious one.",
            verdict(scores["day 2"] < scores["day 1"]),
            f"nDCGphi@5 is {scores['day 1']:.6f} on the first day and {scores['day 2']:.6f} on the second. Judged by "
            "rank, where the first ten items are worth the same, both days score 1.",
        ),
    )
    return Study(title, _drawn(title, scores), ("day", "rank", "popularity", "relevance"), rows, claims)


def misplaced(popularity: Floats) -> list[int]:
    """Return the ranks with another item than in the order of popularity."""
    best_first = np.argsort(-popularity, kind="stable")
    return (np.flatnonzero(best_first != np.arange(popularity.size)) + 1).tolist()


def _drawn(title: str, scores: dict[str, float]) -> str:
    drawing = Drawing(title, width=860)
    across = Axis.numbers("popularity", 0, 100, 20)
    up = Axis.numbers("relevance (phi)", 0, 1, 0.2, decimals=1)
    titles = [f"{day.capitalize()}: nDCGphi@5 = {score:.6f}" for day, score in scores.items()]
    for panel, popularity in zip(drawing.panels(*((each, across, up) for each in titles)), DAYS.values(), strict=True):
        steps = np.linspace(0, 100, 201)
        panel.line(steps.tolist(), relevance(popularity, steps).tolist(), STYLES[0])
        for rank, (score, phi) in enumerate(zip(popularity, relevance(popularity, popularity), strict=True), start=1):
            panel.dot(float(score), float(phi), STYLES[1], str(rank))
    drawing.legend(lines=[("relevance", STYLES[0])], patches=[("the items, with their ranks", STYLES[1])])
    return drawing.svg()
