"""How often copies of another team's lists are found, and how often unrelated teams are suspected.

Teams draw lists from items that differ in popularity, so that unrelated teams share mistakes; a part of them begin with
the lists of one baseline. One more team hands in lists that were made from those of others that do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scorer.lists.solution import Solution
from scorer.options import LEVEL
from scorer.runs.aligned import Run
from scorer.runs.similar import similar, sketch
from studies.drawing import STYLES, Axis, Drawing
from studies.study import Claim, Study, verdict

SEED, CHALLENGES = 3, 20
TEAMS, ON_BASELINE = 30, 12
QUERIES, ITEMS, DEPTH, RELEVANT = 100, 1000, 20, 20
SHARED = 0.4
"""The part of its list that a team takes from the baseline."""

Lists = np.ndarray
"""[query, rank]: items."""

COPIES = (
    "the same lists",
    "shuffled",
    "cut to a half",
    "70 % of them, 30 % own",
    "two teams merged",
    "30 % of them, 70 % own",
)
"""How a copy is made of the lists of one or two other teams and of own ones."""


def _copied(name: str, random: np.random.Generator, one: Lists, other: Lists, own: Lists) -> Lists:
    match name:
        case "shuffled":
            return random.permuted(one, axis=1)
        case "cut to a half":
            return one[:, : DEPTH // 2]
        case "70 % of them, 30 % own":
            return _merged(one, own, 0.7)
        case "two teams merged":
            return _merged(one, other, 0.5)
        case "30 % of them, 70 % own":
            return _merged(own, one, 0.7)
    return one


class Found(NamedTuple):
    """How often a kind of copy is found."""

    copy: str
    found: float
    """The share of the challenges in which a pair with its source has p at most `LEVEL`."""
    first: float
    """The share in which no other pair is above it in the list."""
    alarms: float
    """The share in which a pair of unrelated teams has p at most `LEVEL`."""


def copies(challenges: int = CHALLENGES) -> Study:
    """Return the study of copies."""
    title = f"Copies that are found, in {challenges} challenges of {TEAMS} unrelated teams"
    found = [_found(name, challenges) for name in COPIES]
    return Study(title, _drawn(title, found), Found._fields, found, _claims(found))


def _found(name: str, challenges: int) -> Found:
    hits = np.zeros(3)
    for number in range(challenges):
        random = np.random.default_rng((SEED, number))
        relevant = np.array([random.choice(ITEMS, RELEVANT, replace=False) for _ in range(QUERIES)])
        baseline = _drawn_lists(random, relevant, 0.2)
        lists = []
        for team, quality in enumerate(np.linspace(0.15, 0.5, TEAMS + 1)[random.permutation(TEAMS + 1)]):
            own = _drawn_lists(random, relevant, quality)
            lists.append(_merged(baseline, own, SHARED) if team < ON_BASELINE else own)
        own = lists.pop()
        one, other = random.choice(np.arange(ON_BASELINE, TEAMS), 2, replace=False)
        lists.append(_copied(name, random, lists[one], lists[other], own))
        solution = Solution.read({f"q{query}": dict.fromkeys(map(str, of), 1) for query, of in enumerate(relevant)})
        pairs = similar(
            np.array([sketch(solution, Run.of(_run(each)), DEPTH) for each in lists]), list(map(str, range(TEAMS + 1)))
        )
        sources = {int(one), int(other)} if name == "two teams merged" else {int(one)}
        planted = [pair for pair in pairs if pair.second == TEAMS and pair.first in sources]
        unrelated = [pair for pair in pairs if pair.second < TEAMS]
        hits += (
            any(pair.p_value <= LEVEL for pair in planted),
            pairs[0] in planted,
            any(pair.p_value <= LEVEL for pair in unrelated),
        )
    return Found(name, *(hits / challenges).tolist())


def _drawn_lists(random: np.random.Generator, relevant: np.ndarray, quality: float) -> Lists:
    """Lists with relevant items with this probability at each rank, the others by popularity."""
    weights = 1 / np.arange(10.0, ITEMS + 10)
    lists = []
    for of_query in relevant:
        good = of_query[random.random(RELEVANT) < quality]
        others = random.choice(ITEMS, DEPTH, replace=False, p=weights / weights.sum())
        listed = np.concatenate([good, others[~np.isin(others, of_query)]])[:DEPTH]
        lists.append(np.append(listed, ITEMS + np.arange(DEPTH - listed.size)))
    return np.array(lists)


def _merged(one: Lists, other: Lists, share: float) -> Lists:
    """The first items of one, filled with those of the other that it does not have."""
    kept = round(share * DEPTH)
    lists = []
    for mine, theirs in zip(one, other, strict=True):
        first = mine[:kept]
        lists.append(np.concatenate([first, theirs[~np.isin(theirs, first)], mine[kept:]])[:DEPTH])
    return np.array(lists)


def _run(lists: Lists) -> dict[str, dict[str, float]]:
    ranks = -np.arange(float(lists.shape[1]))
    return {f"q{query}": dict(zip(map(str, of), ranks, strict=True)) for query, of in enumerate(lists.tolist())}


def _claims(found: Sequence[Found]) -> tuple[Claim, ...]:
    clear = [each for each in found if not each.copy.startswith("30 %")]
    return (
        Claim(
            "Every copy of half of another team's lists or more is found.",
            verdict(min(each.found for each in clear) == 1, any(each.found == 1 for each in clear)),
            "; ".join(f"{each.copy}: {each.found:.0%}, first of all pairs: {each.first:.0%}" for each in found) + ".",
        ),
        Claim(
            "Unrelated teams, also those that begin with the same baseline, are hardly ever suspected.",
            verdict(max(each.alarms for each in found) <= LEVEL),
            f"In at most {max(each.alarms for each in found):.0%} of the challenges.",
        ),
    )


def _drawn(title: str, found: Sequence[Found]) -> str:
    drawing = Drawing(title, width=1100)
    across = Axis.groups("copy", [each.copy for each in found])
    (panel,) = drawing.panels(("", across, Axis.numbers("challenges (%)", 0, 100, 20)))
    for at, each in enumerate(found):
        panel.bars(at, [100 * each.found, 100 * each.alarms], STYLES[:2])
    drawing.legend(patches=list(zip(("found", "unrelated teams suspected"), STYLES, strict=False)))
    return drawing.svg()
