"""A team that overfits the preliminary queries by probing the board, under each way to show preliminary scores.

The attacker knows nothing about relevance. For every query he has one choice: the order of the two items that he lists
first. He does not know which queries are preliminary. The scores are those of real ranked lists.

ladder-votes     He sends random choices. Then each look votes for its choices if it scored above the median, and
                 against them if below: the boosting attack of Blum and Hardt, The Ladder, ICML 2015.
ladder-changes   He changes some choices of the best file so far at each look, and keeps the change if the board shows
                 that it is no loss (rounded scores) or an improvement (Ladder).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import scorer
from scorer.measures.matched import Bools, Floats
from studies.drawing import STYLES, Axis, Drawing
from studies.rankings import matched
from studies.shown_scores import MECHANISMS, PLAIN, PRELIMINARY, Board, Mechanism
from studies.study import Claim, Study, verdict

SEED = 1
SEEDS = 10
"""Challenges, each with other queries and another attacker."""

QUERIES = 2_211
"""The first of them are preliminary; the others give the final score."""

LOOKS = (1, 10, 30, 100, 200, 400, 700, 1_000, 1_500, 2_000, 2_500, 3_000)
"""The numbers of looks after which the board is read, from the first look on."""

CHANGES = 50
"""The choices that the second attacker changes at each look, of all queries: about ten are of preliminary ones."""

MEASURES = ("AP", "P@1")
"""AP has many values. P@1 is 0 or 1, where a choice has the largest effect."""

SHOWN, FINAL = STYLES[1], STYLES[0]

RELEVANT = np.array([0.5, 0.5, 0.3, 0.25, 0.2, 0.15, 0.1, 0.1, 0.1, 0.1])
"""The probability that the item at each rank is relevant: the first two are equally likely."""

CLEAR = 0.05
"""A clear overfit."""

RESISTED = 0.25
"""A mechanism resists if the overfit is less than this share of that with 4 decimals."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """The scores of all choices: `scores[0]` of the order as listed, `scores[1]` with the first two items swapped."""

    scores: Floats

    @classmethod
    def draw(cls, random: np.random.Generator, measure: str) -> Challenge:
        """Return a challenge with random relevance, scored by a measure."""
        function = scorer.parse(measure)[0]
        grade = relevance(random)
        return cls(np.stack([function(matched(grade)), function(matched(swapped(grade)))]))

    def preliminary(self, files: Bools) -> Floats:
        """Return the scores of the preliminary queries, given the choices of files, [..., query]."""
        chosen: Floats = np.where(files[..., :PRELIMINARY], self.scores[1, :PRELIMINARY], self.scores[0, :PRELIMINARY])
        return chosen

    def final(self, file: Bools) -> float:
        """Return the mean score of the other queries."""
        return float(np.where(file[PRELIMINARY:], self.scores[1, PRELIMINARY:], self.scores[0, PRELIMINARY:]).mean())


def relevance(random: np.random.Generator) -> Floats:
    """Return the grade of each listed item, [query, rank]: 0 or 1; the last item is relevant if no other is."""
    grade = (random.random((QUERIES, RELEVANT.size)) < RELEVANT).astype(np.float64)
    grade[grade.sum(axis=1) == 0, -1] = 1
    return grade


def swapped(grade: Floats) -> Floats:
    """Return the grades of the lists with the first two items swapped."""
    return grade[:, [1, 0, *range(2, RELEVANT.size)]]


class Read(NamedTuple):
    """The board after a number of looks: the shown preliminary score, and the final score of the same file."""

    looks: int
    shown: float
    final: float


Attack = Callable[[Challenge, Mechanism, Sequence[int], np.random.Generator], Iterator[Read]]


def votes(
    challenge: Challenge, mechanism: Mechanism, looks: Sequence[int], random: np.random.Generator
) -> Iterator[Read]:
    """Yield the board after the file that combines the first looks, for each number of looks."""
    files = random.integers(0, 2, size=(looks[-1], QUERIES), dtype=np.int8).astype(bool)
    files[0] = False
    signs = np.where(files, np.float32(1), np.float32(-1))
    scores = challenge.preliminary(files)
    board = mechanism.board()
    seen: list[float] = []
    for count in looks:
        for at in range(len(seen), count):
            score = board.look(scores[at], files[at])
            # What is no improvement is below all that is one.
            seen.append(-1.0 if score is None else score)
        combined = weights(seen) @ signs[:count] > 0
        yield _read(challenge, board.after(challenge.preliminary(combined), combined), count)


def weights(seen: Sequence[float]) -> Floats:
    """Return 1 for a score above the median, -1 for one below, and 0 for the median itself."""
    return np.sign(np.asarray(seen) - np.median(seen)).astype(np.float32)


def changes(
    challenge: Challenge, mechanism: Mechanism, looks: Sequence[int], random: np.random.Generator
) -> Iterator[Read]:
    """Yield the board after each number of looks, of which each changes some choices of the file kept so far."""
    board = mechanism.board()
    kept = np.zeros(QUERIES, dtype=bool)
    known = board.look(challenge.preliminary(kept), kept)
    for look in range(1, looks[-1] + 1):
        if look > 1:
            file = kept.copy()
            file[random.integers(0, QUERIES, CHANGES)] ^= True
            score = board.look(challenge.preliminary(file), file)
            if score is not None and known is not None and score >= known:
                kept, known = file, score
        if look in looks:
            yield _read(challenge, board, look)


def _read(challenge: Challenge, board: Board, looks: int) -> Read:
    return Read(looks, board.shown, challenge.final(board.file))


class Point(NamedTuple):
    """A point of the curves: means over the challenges, and the middle 80 % of them."""

    measure: str
    mechanism: str
    looks: int
    shown: float
    shown_low: float
    shown_high: float
    final: float
    final_low: float
    final_high: float
    overfit: float
    """How much more the shown score has gained since the first look than the final score."""
    overfit_low: float
    overfit_high: float


def points(attack: Attack, looks: Sequence[int] = LOOKS, seeds: int = SEEDS) -> Iterator[Point]:
    """Yield the curves of all measures and mechanisms; every mechanism has the same challenges and attackers."""
    for measure in MEASURES:
        challenges = [Challenge.draw(np.random.default_rng((SEED, seed)), measure) for seed in range(seeds)]
        for mechanism in MECHANISMS:
            runs = [
                list(attack(challenge, mechanism, looks, np.random.default_rng((SEED, seed, 1))))
                for seed, challenge in enumerate(challenges)
            ]
            read = np.array(runs)
            for at, count in enumerate(looks):
                shown, final = read[:, at, 1], read[:, at, 2]
                gained = (shown - read[:, 0, 1]) - (final - read[:, 0, 2])
                yield Point(measure, mechanism.name, count, *_summary(shown), *_summary(final), *_summary(gained))


def _summary(values: Floats) -> tuple[float, float, float]:
    low, high = np.quantile(values, [0.1, 0.9]).tolist()
    return float(values.mean()), low, high


def by_votes(looks: Sequence[int] = LOOKS, seeds: int = SEEDS) -> Study:
    """Return the study of the attacker who combines random files."""
    return _study("Attack by votes on the board of AP: random files, then their combination", votes, looks, seeds)


def by_changes(looks: Sequence[int] = LOOKS, seeds: int = SEEDS) -> Study:
    """Return the study of the attacker who changes his best file."""
    return _study("Attack by changes on the board of AP: the best file, improved step by step", changes, looks, seeds)


def _study(title: str, attack: Attack, looks: Sequence[int], seeds: int) -> Study:
    found = list(points(attack, looks, seeds))
    return Study(title, _drawn(title, found), Point._fields, found, claims(found))


def claims(found: Sequence[Point]) -> tuple[Claim, ...]:
    """Return a claim about each mechanism, from the board after the last look."""
    last = {(point.mechanism, point.measure): point for point in found}
    looks = found[-1].looks
    plain = [last[PLAIN.name, measure] for measure in MEASURES]
    clear = [point.overfit_low > CLEAR for point in plain]
    outcome = [
        Claim(
            f"After {looks:,} looks, scores with 4 decimals are overfitted by more than {CLEAR}, "
            "in nine of ten challenges.",
            verdict(all(clear), any(clear)),
            _overfits(plain),
        )
    ]
    for mechanism in MECHANISMS:
        if mechanism is not PLAIN:
            these = [last[mechanism.name, measure] for measure in MEASURES]
            resisted = [each.overfit < RESISTED * of.overfit for each, of in zip(these, plain, strict=True)]
            text = f"With {mechanism.name}, the overfit is less than a quarter of that with 4 decimals."
            outcome.append(Claim(text, verdict(all(resisted), any(resisted)), _overfits(these)))
    return tuple(outcome)


def _overfits(found: Sequence[Point]) -> str:
    each = [f"{at.measure} {at.overfit:.3f} ({at.overfit_low:z.3f} to {at.overfit_high:.3f})" for at in found]
    return f"Overfit: {', '.join(each)}."


def _drawn(title: str, found: Sequence[Point]) -> str:
    drawing = Drawing(title, width=1280, height=400)
    across = Axis.numbers("looks", 0, found[-1].looks, found[-1].looks / 3)
    up = Axis.numbers("mean score", 0.56, 0.7, 0.02, decimals=2)
    panels = drawing.panels(*((mechanism.name, across, up) for mechanism in MECHANISMS))
    for panel, mechanism in zip(panels, MECHANISMS, strict=True):
        curve = [point for point in found if (point.measure, point.mechanism) == (MEASURES[0], mechanism.name)]
        looks = [point.looks for point in curve]
        panel.band(looks, [point.final_low for point in curve], [point.final_high for point in curve], FINAL)
        panel.band(looks, [point.shown_low for point in curve], [point.shown_high for point in curve], SHOWN)
        panel.line(looks, [point.final for point in curve], FINAL)
        panel.line(looks, [point.shown for point in curve], SHOWN)
    drawing.legend(
        "The bands have 80 % of the challenges:   ",
        lines=[("shown preliminary score", SHOWN), ("final score of the same file", FINAL)],
    )
    return drawing.svg()
