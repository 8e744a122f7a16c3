"""What the Ladder costs a fair team, whose versions improve by small steps: how often a true improvement is shown.

Each version of a system is truly better than the one before by the same amount; on single queries it is better or
worse. The true means are known, so that it is also known how often a version that is no better is shown as better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from scorer.measures.matched import Floats
from studies.drawing import STYLES, Axis, Drawing
from studies.shown_scores import MECHANISMS, PLAIN, PRELIMINARY, SMALL_STEP, Mechanism
from studies.study import Claim, Study, verdict

SEED = 2
TEAMS = 200
VERSIONS = 20
START = 0.4
"""The true mean score of the first version."""

GAINS = (0.0, 0.002, 0.005, 0.01, 0.02)
"""How much better each version is than the one before."""

CHANGED = 0.05
"""The share of a version's variance over the queries that the next version draws again. The standard error of a
difference between two versions is then about 0.004."""


NOTICEABLE = 0.02
"""A smaller difference between two shares is none."""

LAG = 0.005
"""How much a shown score may be behind: less than half of the least difference that 2 decimals show."""


class Shown(NamedTuple):
    """What a mechanism shows of the versions of the teams."""

    mechanism: str
    gain: float
    improvements: float
    """The share of the versions, without the first, that are shown with a higher score than all before."""
    behind: float
    """How much the shown score is behind the preliminary score of the last version, on average."""


def versions(random: np.random.Generator, gain: float) -> Floats:
    """Return the scores of a team's versions, [version, query]: skewed between 0 and 1, as of AP."""
    means = START + gain * np.arange(VERSIONS)
    same = random.standard_normal(PRELIMINARY)
    ability = np.sqrt(1 - CHANGED) * same + np.sqrt(CHANGED) * random.standard_normal((VERSIONS, PRELIMINARY))
    # The mean of ndtr(x + shift), with x normal, is ndtr(shift / sqrt(2)).
    scores: Floats = ndtr(ability + np.sqrt(2) * ndtri(means)[:, np.newaxis])
    return scores


def shown(mechanism: Mechanism, scores: Floats) -> Floats:
    """Return the score on the board after each version."""
    board = mechanism.board()
    after = []
    for version in scores:
        board.look(version, np.zeros(0, dtype=bool))
        after.append(board.shown)
    return np.array(after)


def shown_to(teams: int) -> Iterator[Shown]:
    """Yield what each mechanism shows for each gain; all have the same teams."""
    for gain in GAINS:
        drawn = [versions(np.random.default_rng((SEED, team)), gain) for team in range(teams)]
        for mechanism in MECHANISMS:
            boards = np.array([shown(mechanism, scores) for scores in drawn])
            improvements = float((np.diff(boards, axis=1) > 0).mean())
            behind = float(np.mean([scores[-1].mean() for scores in drawn]) - boards[:, -1].mean())
            yield Shown(mechanism.name, gain, improvements, behind)


def fair_teams(teams: int = TEAMS) -> Study:
    """Return the study."""
    title = f"{teams:,} fair teams: how often a version is shown with a higher score"
    numbers = list(shown_to(teams))
    return Study(title, _drawn(title, numbers), Shown._fields, numbers, claims(numbers))


def claims(numbers: Sequence[Shown]) -> tuple[Claim, ...]:
    """Return claims about what is shown, and about how far the shown score is behind."""
    small, plain = _of(SMALL_STEP, numbers), _of(PLAIN, numbers)
    as_often = [each.improvements > of.improvements - NOTICEABLE for each, of in zip(small[1:], plain[1:], strict=True)]
    outcome = [
        Claim(
            "The Ladder with a step of 0.01 shows true improvements as often as 4 decimals do.",
            verdict(all(as_often), any(as_often)),
            f"By {_gains(small)}: {_shares(small[1:])} of the versions, and {_shares(plain[1:])}.",
        ),
        Claim(
            "It shows versions that are no better as improvements less than half as often.",
            verdict(small[0].improvements < plain[0].improvements / 2),
            f"{_shares(small[:1])} of the versions, and {_shares(plain[:1])}.",
        ),
    ]
    for mechanism in MECHANISMS:
        if mechanism.decimals is None:
            behind = [each.behind for each in _of(mechanism, numbers)[1:]]
            outcome.append(
                Claim(
                    f"After {VERSIONS} versions {mechanism.name} shows a score less than {LAG} behind.",
                    verdict(max(behind) < LAG, min(behind) < LAG),
                    f"By {_gains(small)}: {', '.join(f'{each:z.3f}' for each in behind)} behind.",
                )
            )
    return tuple(outcome)


def _of(mechanism: Mechanism, numbers: Sequence[Shown]) -> list[Shown]:
    """Return the numbers of a mechanism, the gain of 0 first."""
    return [each for each in numbers if each.mechanism == mechanism.name]


def _gains(numbers: Sequence[Shown]) -> str:
    return ", ".join(str(each.gain) for each in numbers[1:])


def _shares(numbers: Sequence[Shown]) -> str:
    return ", ".join(f"{each.improvements:.1%}" for each in numbers)


def _drawn(title: str, numbers: Sequence[Shown]) -> str:
    drawing = Drawing(title, width=1080)
    across = Axis.groups("true improvement of each version", [f"{gain:g}" for gain in GAINS])
    up = Axis.numbers("versions shown as improvements (%)", 0, 100, 20)
    (panel,) = drawing.panels((title, across, up))
    for group, gain in enumerate(GAINS):
        shares = [100 * each.improvements for each in numbers if each.gain == gain]
        panel.bars(group, shares, STYLES[: len(MECHANISMS)])
    drawing.legend(patches=[(each.name, style) for each, style in zip(MECHANISMS, STYLES, strict=False)])
    return drawing.svg()
