"""How often copies of another team's lists are found, and how often unrelated teams are suspected.

Teams draw lists from items that differ in popularity, so that unrelated teams share mistakes; a part of them begin with
the lists of one baseline, and strong ones agree even more on easy queries. One more team hands in lists that were made
from those of others that do not begin with the baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scorer.lists.solution import Solution
from scorer.options import LEVEL
from scorer.runs import Run
from scorer.runs.similar import similar, sketch
from studies.drawing import STYLES, Axis, Drawing
from studies.study import Claim, Study, verdict

SEED, CHALLENGES = 3, 20
TEAMS, ON_BASELINE, STRONG = 30, 12, 6
"""The strong teams are not on the baseline."""
ITEMS, RELEVANT = 3000, 20
SHARED = 0.4
"""The part of its list that a team takes from the baseline."""
STRONGEST = 0.5
"""The share of the relevant items that strong teams find."""
EASY, AGREEMENT = 3, 3
"""Every third query is easy: there, the popularity of items has this power for strong teams."""


class Size(NamedTuple):
    """How large the lists of a challenge are."""

    queries: int
    depth: int


SHORT, LONG = Size(100, 20), Size(30, 1000)

Lists = np.ndarray
"""[query, rank]: items."""

NOT_CLEAR = SHUFFLED, THIRTY, MANY_TOOK = (
    "shuffled",
    "30 % of them, 70 % own",
    "what many took from the baseline",
)
"""The copies that are not half of the lists or more, or the first ranks, in about the order of the source."""


def _copies(random: np.random.Generator, one: Lists, other: Lists, own: Lists, baseline: Lists) -> dict[str, Lists]:
    """How copies are made of the lists of one or two other teams and of own ones."""
    rank = np.arange(one.shape[1])
    junk = np.broadcast_to(ITEMS + rank, one.shape)
    return {
        "the same lists": one,
        "half of the queries": np.where(np.arange(len(one))[:, None] % 2, one, own),
        "cut to a half": one[:, : rank.size // 2],
        "the first 10, then junk": np.where(rank < 10, one, junk),
        "the first 100, then junk": np.where(rank < 100, one, junk),
        "every second item": one[:, ::2],
        "every second item, own ones between": _listed(np.dstack([one, own])[:, ::2].reshape(one.shape), own),
        "shuffled by tens": np.hstack([random.permuted(tens, axis=1) for tens in np.hsplit(one, rank[::10][1:])]),
        "70 % of them, 30 % own": _merged(one, own, 0.7),
        "two teams merged": _merged(one, other, 0.5),
        SHUFFLED: random.permuted(one, axis=1),
        THIRTY: _merged(own, one, 0.7),
        MANY_TOOK: _merged(baseline, own, SHARED),
    }


class Found(NamedTuple):
    """How often a kind of copy is found."""

    copy: str
    depth: int
    """How many items a list has."""
    found: float
    """The share of the challenges in which a pair with its source has p at most `LEVEL`."""
    first: float
    """The share in which no other pair is above it in the list."""
    alarms: float
    """The share in which a pair of unrelated teams has p at most `LEVEL`."""


def copies(challenges: int = CHALLENGES) -> Study:
    """Return the study of copies."""
    title = f"Copies that are found, in {challenges} challenges of {TEAMS} unrelated teams"
    found = [each for size in (SHORT, LONG) for each in _found(size, challenges)]
    return Study(title, _drawn(title, found), Found._fields, found, _claims(found))


def _found(size: Size, challenges: int) -> list[Found]:
    hits: dict[str, list[tuple[bool, bool, bool]]] = {}
    for number in range(challenges):
        random = np.random.default_rng((SEED, number))
        relevant = np.array([random.choice(ITEMS, RELEVANT, replace=False) for _ in range(size.queries)])
        solution = Solution.read({f"q{query}": dict.fromkeys(map(str, of), 1) for query, of in enumerate(relevant)})
        qualities = [*random.uniform(0.15, STRONGEST, TEAMS - STRONG).tolist(), *STRONG * [STRONGEST]]
        lists = [_drawn_lists(random, relevant, size.depth, quality) for quality in qualities]
        baseline, own = (_drawn_lists(random, relevant, size.depth, quality) for quality in (0.2, 0.3))
        lists[:ON_BASELINE] = (_merged(baseline, each, SHARED) for each in lists[:ON_BASELINE])
        sketches = [_sketch(solution, each, size) for each in lists]
        one, other = random.choice(np.arange(ON_BASELINE, TEAMS), 2, replace=False).tolist()
        for name, copy in _copies(random, lists[one], lists[other], own, baseline).items():
            pairs = similar(np.array([*sketches, _sketch(solution, copy, size)]), list(map(str, range(TEAMS + 1))))
            sources = {"two teams merged": {one, other}, MANY_TOOK: set(range(ON_BASELINE))}.get(name, {one})
            planted = [pair for pair in pairs if pair.second == TEAMS and pair.first in sources]
            is_found = any(pair.p_value <= LEVEL for pair in planted)
            is_alarm = any(pair.p_value <= LEVEL for pair in pairs if pair.second < TEAMS)
            hits.setdefault(name, []).append((is_found, pairs[0] in planted, is_alarm))
    return [Found(name, size.depth, *np.mean(of, axis=0).tolist()) for name, of in hits.items()]


def _sketch(solution: Solution, lists: Lists, size: Size) -> np.ndarray:
    ranks = range(0, -lists.shape[1], -1)
    run = {f"q{query}": dict(zip(map(str, of), ranks, strict=True)) for query, of in enumerate(lists.tolist())}
    return sketch(solution, Run.of(run), size.depth)


def _drawn_lists(random: np.random.Generator, relevant: np.ndarray, depth: int, quality: float) -> Lists:
    """Lists with this share of the relevant items near the top, and others by popularity."""
    weights = np.tile(1 / np.arange(10.0, ITEMS + 10), (len(relevant), 1))
    good = random.random(relevant.shape) < quality
    np.put_along_axis(weights, relevant, np.where(good, 0.5, 1e-9), axis=1)
    agreement = np.where((np.arange(len(relevant)) % EASY == 0) & (quality == STRONGEST), AGREEMENT, 1)
    # The order of these sums is that of draws without replacement, by the weights to the power of the agreement.
    drawn = agreement[:, None] * np.log(weights) + random.gumbel(size=weights.shape)
    return np.argsort(-drawn, axis=1)[:, :depth]


def _merged(one: Lists, other: Lists, share: float) -> Lists:
    """The first items of one, filled with those of the other that it does not have."""
    return _listed(one[:, : round(share * one.shape[1])], other)


def _listed(first: Lists, then: Lists) -> Lists:
    """The items of both, each once, in as many ranks as the second has."""
    both = np.concatenate([first, then], axis=1).tolist()
    return np.array([list(dict.fromkeys(items))[: then.shape[1]] for items in both])


def _claims(found: Sequence[Found]) -> tuple[Claim, ...]:
    clear = [each for each in found if each.copy not in NOT_CLEAR]
    short = [each for each in found if each.copy == SHUFFLED and each.depth == SHORT.depth]
    long = [each for each in found if each.copy == SHUFFLED and each.depth == LONG.depth]
    thirty, many = ([each for each in found if each.copy == name] for name in (THIRTY, MANY_TOOK))
    alarms = max(each.alarms for each in found)
    return (
        Claim(
            "Every copy of half of another team's lists or more, or of their first 10, in about their order is found.",
            verdict(min(each.found for each in clear) == 1, any(each.found == 1 for each in clear)),
            _shares(clear),
        ),
        Claim(
            "Most copies that take 30 % of the lists are found.",
            verdict(min(each.found for each in thirty) > 0.5, any(each.found > 0.5 for each in thirty)),
            _shares(thirty),
        ),
        Claim(
            "Short lists that were shuffled as a whole are found, long ones not.",
            verdict(short[0].found == 1 and long[0].found == 0),
            _shares([*short, *long]),
        ),
        Claim(
            "A copy of what many teams took from the baseline is not found.",
            verdict(max(each.found for each in many) == 0),
            _shares(many),
        ),
        Claim(
            "Unrelated teams, also those that begin with the same baseline and strong ones on easy queries, are hardly "
            "ever suspected.",
            verdict(alarms <= LEVEL),
            f"In at most {alarms:.0%} of the challenges.",
        ),
    )


def _shares(found: Sequence[Found]) -> str:
    return "; ".join(f"{each.copy}, of {each.depth}: {each.found:.0%}, first: {each.first:.0%}" for each in found) + "."


def _drawn(title: str, found: Sequence[Found]) -> str:
    drawing = Drawing(title, width=2400)
    across = Axis.groups("copy", [f"{each.copy} ({each.depth})" for each in found])
    (panel,) = drawing.panels(("", across, Axis.numbers("challenges (%)", 0, 100, 20)))
    for at, each in enumerate(found):
        panel.bars(at, [100 * each.found, 100 * each.alarms], STYLES[:2])
    drawing.legend(patches=list(zip(("found", "unrelated teams suspected"), STYLES, strict=False)))
    return drawing.svg()
