"""Every measure as a slow loop from its definition; nothing here comes from scorer.

An oracle takes the grades of one query's items, the ranking, the cut-off as the measure has it, and the measure's
parameters. It returns the score, NaN where the measure is undefined.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from scipy import optimize, stats
from scipy.interpolate import PchipInterpolator

from example.season_plan import Content, PhasePlan, QuotaPlan, Season, Step, TrackPlan

Grades = Mapping[str, float]
Ranking = Sequence[str]
Cutoffs = tuple[int, ...]
Gain = Callable[[float], float]

UNDEFINED = math.nan


def relevant_items(grades: Grades, rel: float | str) -> set[str]:
    """The items that are relevant in the solution."""
    return {item for item, grade in grades.items() if (grade > 0 if rel == "positive" else grade >= float(rel))}


def counted(ranking: Ranking, wanted: set[str], k: int) -> int:
    """How many of the wanted items are among the first k; a repeated item counts once."""
    return len(wanted & set(ranking[:k]))


def first_ranks(ranking: Ranking, wanted: set[str]) -> list[int]:
    """The ranks, from 1, of the first occurrence of each wanted item."""
    return [rank for rank, item in enumerate(ranking, 1) if item in wanted and item not in ranking[: rank - 1]]


def best_first(grades: Grades) -> list[str]:
    """The items of the solution, the highest grade first."""
    return sorted(grades, key=lambda item: -grades[item])


# --- R-precision ------------------------------------------------------------------------------------------------------


def r_precision_at(
    grades: Grades, ranking: Ranking, z: int, rel: float | str = "positive", *, listed_is_relevant: bool = False
) -> float:
    """Rp@z: the best items, and then all items with the same grade as the last of them."""
    relevant = [item for item in best_first(grades) if listed_is_relevant or grades[item] > 0]
    relevant = [item for item in relevant if rel == "positive" or grades[item] >= float(rel)]
    if not relevant:
        return UNDEFINED
    best = count = min(len(relevant), z)
    while count < len(relevant) and grades[relevant[count]] == grades[relevant[best - 1]]:
        count += 1
    return counted(ranking, set(relevant[:count]), z) / best


def mean_r_precision(grades: Grades, ranking: Ranking, cutoffs: Cutoffs, **parameters: object) -> float:
    """MARp: the mean of Rp@z, summed in the order of the cut-offs."""
    total = 0.0
    for z in cutoffs:
        total += r_precision_at(grades, ranking, z, **parameters)  # type: ignore[arg-type]
    return total / len(cutoffs)


def r_precision(grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """Rprec: precision at R, of a list that is cut at rank k."""
    wanted = relevant_items(grades, rel)
    return counted(ranking[:k], wanted, len(wanted)) / len(wanted) if wanted else UNDEFINED


# --- Sets -------------------------------------------------------------------------------------------------------------


def r_precision_at_multiple(grades: Grades, ranking: Ranking, multiple: float, rel: float | str = "positive") -> float:
    """RprecMult: precision at a multiple of R, rounded up if its fraction is at least 0.1."""
    wanted = relevant_items(grades, rel)
    depth = int(multiple * len(wanted) + 0.9)
    if not wanted:
        return UNDEFINED
    return counted(ranking, wanted, depth) / depth if depth else 0.0


def precision(grades: Grades, ranking: Ranking, k: int, rel: float | str = "positive") -> float:
    """P@k, divided by k also for a shorter list."""
    wanted = relevant_items(grades, rel)
    return counted(ranking, wanted, k) / k if wanted else UNDEFINED


def recall(
    grades: Grades, ranking: Ranking, k: int | None, denominator: str = "R", rel: float | str = "positive"
) -> float:
    """R@k, of all relevant items of the solution, or of at most k of them."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    depth = len(ranking) if k is None else k
    divisor = len(wanted) if denominator == "R" else min(len(wanted), depth)
    return counted(ranking, wanted, depth) / divisor if divisor else 0.0


def hits(grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """Hits: the number of relevant items up to rank k."""
    wanted = relevant_items(grades, rel)
    return float(counted(ranking, wanted, len(ranking) if k is None else k)) if wanted else UNDEFINED


def set_precision(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """SetP: precision at the length of the list."""
    if not ranking:
        return 0.0 if relevant_items(grades, rel) else UNDEFINED
    return precision(grades, ranking, len(ranking), rel)


def f_measure(
    grades: Grades,
    ranking: Ranking,
    k: int | None,
    beta: float = 1.0,
    weight: str = "squared",
    rel: float | str = "positive",
) -> float:
    """F@k; without k SetF, at the length of the list."""
    p = set_precision(grades, ranking, None, rel) if k is None else precision(grades, ranking, k, rel)
    r = recall(grades, ranking, k, rel=rel)
    if math.isnan(p):
        return UNDEFINED
    w = beta**2 if weight == "squared" else beta
    return (1 + w) * p * r / (w * p + r) if p + r > 0 else 0.0


def utility(
    grades: Grades,
    ranking: Ranking,
    _: None,
    relevant: float = 1.0,
    other: float = -1.0,
    missed: float = 0.0,
    rest: float = 0.0,
    items: float = 0.0,
    rel: float | str = "positive",
) -> float:
    """Utility: the worth of every item of a collection, by whether it is relevant and whether it is listed."""
    wanted = relevant_items(grades, rel)
    hits = counted(ranking, wanted, len(ranking))
    others, missing = len(ranking) - hits, len(wanted) - hits
    return relevant * hits + other * others + missed * missing + rest * (items - len(ranking) - missing)


def set_average_precision(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """SetAP: precision times recall."""
    return set_precision(grades, ranking, None, rel) * recall(grades, ranking, None, rel=rel)


# --- Positions --------------------------------------------------------------------------------------------------------


def average_precision(
    grades: Grades, ranking: Ranking, k: int | None, denominator: str = "R", rel: float | str = "positive"
) -> float:
    """AP: the precision at the rank of each relevant item found, divided by R or another denominator."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    depth = len(ranking) if k is None else k
    within = [rank for rank in first_ranks(ranking, wanted) if rank <= depth]
    divisor = {"R": len(wanted), "min": min(len(wanted), depth), "k": depth, "hits": len(within)}[denominator]
    return sum(counted(ranking, wanted, rank) / rank for rank in within) / divisor if within else 0.0


def geometric_average_precision(
    grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive"
) -> float:
    """GMAP of one query."""
    return average_precision(grades, ranking, k, rel=rel)


def reciprocal_rank(grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """RR: of the first relevant item."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    within = [rank for rank in first_ranks(ranking, wanted) if k is None or rank <= k]
    return 1 / within[0] if within else 0.0


def success(grades: Grades, ranking: Ranking, k: int, rel: float | str = "positive") -> float:
    """Success: 1 if there is a relevant item."""
    wanted = relevant_items(grades, rel)
    return float(counted(ranking, wanted, k) > 0) if wanted else UNDEFINED


def interpolated_precision(
    grades: Grades, ranking: Ranking, level: float, reach: str = "exact", rel: float | str = "positive"
) -> float:
    """IPrec: the highest precision over all ranks of the list, hits or not, that reach the recall."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    rounded = {"nearest": math.floor(level * len(wanted) + 0.5), "up": math.floor(level * len(wanted) + 0.9)}
    best = 0.0
    for rank in range(1, len(ranking) + 1):
        found = counted(ranking, wanted, rank)
        if found >= rounded[reach] if reach in rounded else found / len(wanted) >= level:
            best = max(best, found / rank)
    return best


def eleven_point_average(
    grades: Grades, ranking: Ranking, _: None, reach: str = "nearest", rel: float | str = "positive"
) -> float:
    """11pt_avg."""
    return sum(interpolated_precision(grades, ranking, tenth / 10, reach, rel) for tenth in range(11)) / 11


def accuracy(grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """Accuracy: pair by pair."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    top = ranking if k is None else ranking[:k]
    good = set(first_ranks(top, wanted))
    pairs = [(mine, other) for mine in good for other in range(1, len(top) + 1) if other not in good]
    return sum(mine < other for mine, other in pairs) / len(pairs) if pairs else float(bool(good))


# --- Gain -------------------------------------------------------------------------------------------------------------


GainMap = tuple[tuple[float, float], ...]


def gain_of(gain: str | GainMap, rel: float | str = "positive") -> Gain:
    """The gain of a grade."""

    def gain_of_grade(grade: float) -> float:
        if rel != "positive" and grade < float(rel):
            return 0.0
        if isinstance(gain, tuple) and grade in dict(gain):
            return float(dict(gain)[grade])
        grade = max(grade, 0.0)
        if isinstance(gain, tuple):
            return grade
        return float({"linear": grade, "exp": 2.0 ** min(grade, 1000.0) - 1, "binary": grade > 0}[gain])

    return gain_of_grade


def discount_at(rank: int, discount: str) -> float:
    """The factor of the gain at a rank."""
    return 1 / (math.log2(rank + 1) if discount == "log2" else max(1.0, math.log2(rank)))


def discounted(grades: Grades, ranking: Ranking, k: int | None, gain: Gain, discount: str = "log2") -> float:
    """DCG: rank by rank, each item's gain only at its first rank."""
    total = 0.0
    for rank, item in enumerate(ranking if k is None else ranking[:k], 1):
        if item in grades and item not in ranking[: rank - 1]:
            total += gain(grades[item]) * discount_at(rank, discount)
    return total


def gained(grades: Grades, rel: float | str) -> bool:
    """Whether an item has a positive grade, and an item has a grade of at least the threshold."""
    return bool(relevant_items(grades, "positive")) and bool(relevant_items(grades, rel))


def cumulated_gain(
    grades: Grades,
    ranking: Ranking,
    k: int | None,
    gain: str | GainMap = "linear",
    discount: str = "log2",
    rel: float | str = "positive",
) -> float:
    """DCG, undefined for a query without relevant items."""
    return discounted(grades, ranking, k, gain_of(gain, rel), discount) if gained(grades, rel) else UNDEFINED


def normalised(grades: Grades, ranking: Ranking, k: int | None, gain: Gain) -> float:
    """nDCG with the log2 discount, with an ideal list of all items of the solution."""
    ideal = discounted(grades, best_first(grades), k, gain)
    return discounted(grades, ranking, k, gain) / ideal if ideal > 0 else UNDEFINED


def ndcg(
    grades: Grades,
    ranking: Ranking,
    k: int | None,
    gain: str | GainMap = "linear",
    discount: str = "log2",
    ideal: str = "judged",
    rel: float | str = "positive",
) -> float:
    """nDCG; the ideal list has the items of the list for ideal=retrieved, the best item at each rank for ideal=full."""
    if not gained(grades, rel):
        return UNDEFINED
    gain_at = gain_of(gain, rel)
    if ideal == "full":
        ranks = range(1, (len(ranking) if k is None else k) + 1)
        best = max(map(gain_at, grades.values())) * sum(discount_at(rank, discount) for rank in ranks)
    else:
        items = [item for item in grades if ideal == "judged" or item in ranking]
        best = discounted(grades, sorted(items, key=lambda item: -gain_at(grades[item])), k, gain_at, discount)
    return discounted(grades, ranking, k, gain_at, discount) / best if best > 0 else 0.0


# --- Graded -----------------------------------------------------------------------------------------------------------


def graded_average_precision(grades: Grades, ranking: Ranking, k: int | None) -> float:
    """muAP: average precision at each level, weighted by its distance from the one below."""
    levels = sorted({grade for grade in grades.values() if grade > 0})
    if not levels:
        return UNDEFINED
    steps = [level - below for level, below in zip(levels, [0.0, *levels], strict=False)]
    total = sum(
        average_precision(grades, ranking, k, rel=level) * step for level, step in zip(levels, steps, strict=True)
    )
    return total / sum(steps)


def normalised_gain(grades: Grades) -> Gain:
    """2^(g / M) - 1; M = 1 for a query without relevant items."""
    highest = max([*grades.values(), 0.0]) or 1.0
    return lambda grade: 2.0 ** (max(grade, 0.0) / highest) - 1


def ndcng(grades: Grades, ranking: Ranking, k: int | None) -> float:
    """NDCNG."""
    return normalised(grades, ranking, k, normalised_gain(grades))


def mean_over_cutoffs(grades: Grades, ranking: Ranking, n: int | None, gain: Gain) -> float:
    """The mean of nDCG@1, nDCG@2, ..., nDCG@n, each computed from the beginning."""
    cutoffs = range(1, (len(ranking) if n is None else n) + 1)
    if not relevant_items(grades, "positive"):
        return UNDEFINED
    return sum(normalised(grades, ranking, k, gain) for k in cutoffs) / max(len(cutoffs), 1)


def mean_ndcg(grades: Grades, ranking: Ranking, n: int | None) -> float:
    """MeanNDCG."""
    return mean_over_cutoffs(grades, ranking, n, gain_of("exp"))


def mean_ndcng(grades: Grades, ranking: Ranking, n: int | None) -> float:
    """MeanNDCNG."""
    return mean_over_cutoffs(grades, ranking, n, normalised_gain(grades))


def five_numbers(values: Sequence[float]) -> list[float]:
    """Tukey's: minimum, lower hinge, median, upper hinge, maximum."""
    ordered = sorted(values)
    count = len(ordered)
    hinge = (count + 3) // 2 / 2
    depths = [1, hinge, (count + 1) / 2, count + 1 - hinge, count]
    return [(ordered[math.floor(depth) - 1] + ordered[math.ceil(depth) - 1]) / 2 for depth in depths]


def relevance(grades: Sequence[float], whisker: str = "observed") -> Gain | None:
    """phi of these grades as a function, by scipy's interpolation; None where it is undefined."""
    positive = [grade for grade in grades if grade > 0]
    if len(set(positive)) < 2:
        return None
    lowest, low, median, high, highest = five_numbers(positive)
    fence = high + 1.5 * (high - low)
    upper = min(fence, highest) if whisker == "fence" else max(grade for grade in positive if grade <= fence)
    # A later point replaces an earlier point at the same grade, and is never lower.
    points = {0.0: 0.0, median: 0.0}
    points[upper] = 1 - (highest - upper) / (highest - lowest)
    points[highest] = 1.0
    curve = PchipInterpolator(list(points), list(points.values()))
    return lambda grade: float(curve(grade)) if grade > 0 else 0.0


def ndcg_phi(grades: Grades, ranking: Ranking, k: int | None, whisker: str = "observed") -> float:
    """nDCGphi."""
    phi = relevance(list(grades.values()), whisker)
    return UNDEFINED if phi is None else normalised(grades, ranking, k, lambda grade: 2.0 ** phi(grade) - 1)


# --- Users ------------------------------------------------------------------------------------------------------------


def rank_biased_precision(
    grades: Grades,
    ranking: Ranking,
    k: int | None,
    p: float = 0.9,
    gain: str = "share",
    rel: float | str = "positive",
) -> float:
    """RBP: rank by rank, the user goes on with probability p."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    gains: dict[str, Gain] = {
        "binary": lambda _: 1.0,
        "linear": lambda grade: max(grade, 0.0),
        "share": lambda grade: max(grade, 0.0) / (max(grades.values()) if max(grades.values()) > 0 else 1.0),
    }
    gains["share"] = gains["share"] if rel == "positive" else gains["binary"]
    total, reading = 0.0, 1.0
    ranks = first_ranks(ranking, wanted)
    for rank, item in enumerate(ranking if k is None else ranking[:k], 1):
        if rank in ranks:
            total += (1 - p) * reading * gains[gain](grades[item])
        reading *= p
    return total


def rank_biased_residual(grades: Grades, ranking: Ranking, _: None, p: float = 0.9) -> float:
    """RBPresidual: what unjudged items of the list, and everything after its end, could add to RBP."""
    residual = p ** len(ranking)
    unjudged = 0
    for rank, item in enumerate(ranking):
        if grades.get(item, -1) < 0 or item in ranking[:rank]:
            residual += (1 - p) * p**rank
            unjudged += 1
    return residual if unjudged else 0.0


def expected_reciprocal_rank(
    grades: Grades,
    ranking: Ranking,
    k: int | None,
    highest: float | str = "solution",
    gain: str = "exp",
    *,
    highest_of_all: float = 0.0,
) -> float:
    """ERR: the sum over the ranks of the probability to stop there, divided by the rank."""
    wanted = relevant_items(grades, "positive")
    if not wanted:
        return UNDEFINED
    top = highest_of_all if highest == "solution" else float(highest)
    total, reading = 0.0, 1.0
    ranks = first_ranks(ranking, wanted)
    for rank, item in enumerate(ranking if k is None else ranking[:k], 1):
        if rank in ranks:
            grade = min(grades[item], top)
            # 2**top may be too large
            satisfied = 2 ** (grade - top) - 2**-top if gain == "exp" else grade / (top + 1)
            total += reading * satisfied / rank
            reading *= 1 - satisfied
    return total


def normalised_err(grades: Grades, ranking: Ranking, k: int | None, **parameters: Any) -> float:
    """nERR: ERR divided by that of the best list."""
    best = expected_reciprocal_rank(grades, best_first(grades), k, **parameters)
    return expected_reciprocal_rank(grades, ranking, k, **parameters) / best


def ideal_in_the_order_of(ranking: Ranking, grades: Grades) -> list[str]:
    """The relevant items by descending grade; of equal ones, those of the list first, in its order."""
    where = {item: ranking.index(item) if item in ranking else len(ranking) for item in grades}
    return sorted(relevant_items(grades, "positive"), key=lambda item: (-grades[item], where[item]))


def rank_biased_overlap(grades: Grades, ranking: Ranking, _: None, p: float = 0.95) -> float:
    """RBO: the sum of the agreement at each depth, seen or supposed, depth by depth, to a depth without weight."""
    ideal = ideal_in_the_order_of(ranking, grades)
    if not ideal or not ranking:
        return 0.0 if ideal else UNDEFINED
    short, long = sorted((list(ranking), ideal), key=len)
    end, longer_end = len(short), len(long)

    def shared(d: int) -> int:
        return len(set(short[:d]) & set(long[:d]))

    def agreement(d: int) -> float:
        supposed = shared(end) * (d - end) / end if d > end else 0.0
        return (shared(d) + supposed) / d

    total = sum((1 - p) * p ** (d - 1) * agreement(d) for d in range(1, longer_end + 1))
    return total + agreement(longer_end) * p**longer_end


def compatibility(
    grades: Grades,
    ranking: Ranking,
    _: None,
    p: float = 0.95,
    normalise: str = "yes",
    depth: float | str = 1000.0,
) -> float:
    """Compat, from the sets of the first d items for each depth d."""
    ideal = ideal_in_the_order_of(ranking, grades)
    if not ideal:
        return UNDEFINED
    last = max(len(ranking), len(ideal)) if depth == "list" else int(depth)

    def overlap(one: Ranking) -> float:
        both, first, second, total = 0, set[str](), set[str](), 0.0
        for d in range(1, last + 1):
            first |= set(one[d - 1 : d])
            second |= set(ideal[d - 1 : d])
            if d <= max(len(one), len(ideal)):
                both = len(first & second)
            total += p ** (d - 1) * both / d
        return total

    return overlap(ranking) / (overlap(ideal) if normalise == "yes" else sum(p**d for d in range(last)))


def blended_ratios(grades: Grades, ranking: Ranking, beta: float, gain: str | GainMap) -> dict[int, float]:
    """The ratio of Sakai at the rank of each relevant item: (items + beta gains) / (rank + beta gains of the best)."""
    wanted = relevant_items(grades, "positive")
    values = {item: gain_of(gain)(grades[item]) for item in wanted}
    best = sorted(values.values(), reverse=True)
    ratios: dict[int, float] = {}
    for number, rank in enumerate(first_ranks(ranking, wanted), 1):
        gained = sum(values[item] for item in set(ranking[:rank]) & wanted)
        ratios[rank] = (number + beta * gained) / (rank + beta * sum(best[:rank]))
    return ratios


def q_measure(
    grades: Grades, ranking: Ranking, k: int | None, beta: float = 1.0, gain: str | GainMap = "linear"
) -> float:
    """Q: the sum of the ratios, divided by R, or by k if that is lower."""
    wanted = len(relevant_items(grades, "positive"))
    ratios = blended_ratios(grades, ranking[:k], beta, gain)
    return sum(ratios.values()) / min(wanted, k or wanted) if wanted else UNDEFINED


def p_plus(grades: Grades, ranking: Ranking, _: None, beta: float = 1.0, gain: str | GainMap = "linear") -> float:
    """P-plus: the mean of the ratios up to the first item with the highest grade of the list."""
    wanted = relevant_items(grades, "positive")
    found = [grades[item] for item in ranking if item in wanted]
    if not wanted or not found:
        return 0.0 if wanted else UNDEFINED
    end = next(rank for rank, item in enumerate(ranking, 1) if grades.get(item) == max(found))
    ratios = blended_ratios(grades, ranking[:end], beta, gain)
    return sum(ratios.values()) / len(ratios)


def scaled_gain(highest_of_all: float, min_rel: float, max_rel: float | str) -> Gain:
    """The gain of a grade on the scale from min_rel, with gain 0, to max_rel, with gain 1."""
    top = highest_of_all if max_rel == "solution" else float(max_rel)

    def gain(grade: float) -> float:
        if grade <= min_rel:
            return 0.0
        return 1.0 if grade >= top else (grade - min_rel) / (top - min_rel)

    return gain


def continued(
    grades: Grades,
    ranking: Ranking,
    k: int | None,
    gain: Gain,
    goes_on: Callable[[int, float, float], float],
) -> float:
    """The gain per item of a user who goes on with a probability that depends on rank, gain, and total gain so far."""
    if not relevant_items(grades, "positive"):
        return UNDEFINED
    total = gained_so_far = weights = 0.0
    reading = 1.0
    for rank in range(1, min(k or 1000, 1000) + 1):
        item = ranking[rank - 1] if rank <= len(ranking) else None
        is_new = item in grades and item not in ranking[: rank - 1]
        here = gain(grades[item]) if is_new and item is not None else 0.0
        gained_so_far += here
        total += reading * here
        weights += reading
        reading *= goes_on(rank, here, gained_so_far)
    return total / weights


def with_goal(goes_on: Callable[[int, float, float], float]) -> Callable[..., float]:
    """The user goes on with a probability that depends on rank, T, and total gain so far."""

    def oracle(
        grades: Grades,
        ranking: Ranking,
        k: int | None,
        T: float = 1.0,  # noqa: N803 (as the measure has it)
        min_rel: float = 0.0,
        max_rel: float | str = "solution",
        *,
        highest_of_all: float = 0.0,
    ) -> float:
        gain = scaled_gain(highest_of_all, min_rel, max_rel)
        return continued(grades, ranking, k, gain, lambda rank, _, so_far: goes_on(rank, T, so_far))

    return oracle


def scaled_dcg(
    grades: Grades,
    ranking: Ranking,
    k: int,
    discount: str = "log2",
    min_rel: float = 0.0,
    max_rel: float | str = "solution",
    *,
    highest_of_all: float = 0.0,
) -> float:
    """SDCG: the user goes on as the discounts decrease."""

    def goes_on(rank: int, _: float, __: float) -> float:
        return discount_at(rank + 1, discount) / discount_at(rank, discount)

    return continued(grades, ranking, k, scaled_gain(highest_of_all, min_rel, max_rel), goes_on)


def nearly_err(patience: Callable[[int, float, float], float]) -> Callable[..., float]:
    """NERR: the user goes on with 1 minus the gain, times a factor that depends on rank, p and T."""

    def oracle(
        grades: Grades,
        ranking: Ranking,
        k: int | None,
        T: float = 1.0,  # noqa: N803 (as the measure has it)
        p: float = 0.9,
        min_rel: float = 0.0,
        max_rel: float | str = "solution",
        *,
        highest_of_all: float = 0.0,
    ) -> float:
        def goes_on(rank: int, here: float, _: float) -> float:
            return patience(rank, p, T) * (1 - here)

        return continued(grades, ranking, k, scaled_gain(highest_of_all, min_rel, max_rel), goes_on)

    return oracle


# --- Diversity --------------------------------------------------------------------------------------------------------

Judged = Mapping[str, float | Mapping[str, float]]
"""Item -> grade, or item -> subtopic -> grade."""


def subtopics_of(grades: Judged, rel: float | str) -> dict[str, list[str]]:
    """Item -> the subtopics that it is relevant to, numbers ascending. An item with a plain grade has one subtopic."""
    found = {}
    for item, given in grades.items():
        by_subtopic = given if isinstance(given, Mapping) else {"0": given}
        relevant = relevant_items(by_subtopic, rel)
        found[item] = sorted(relevant, key=lambda subtopic: (len(subtopic), subtopic))
    return found


def number_of_subtopics(covers: Mapping[str, list[str]]) -> int:
    """How many subtopics have a relevant item."""
    return len({subtopic for subtopics in covers.values() for subtopic in subtopics})


def novelties(covers: Mapping[str, list[str]], ranking: Ranking, alpha: float) -> list[float]:
    """The novelty of the item at each rank; a repeated item has none."""
    worth: dict[str, float] = {}
    values = []
    for rank, item in enumerate(ranking, 1):
        subtopics = covers.get(item, []) if item not in ranking[: rank - 1] else []
        value = 0.0
        for subtopic in subtopics:
            value += worth.setdefault(subtopic, 1.0)
            worth[subtopic] *= 1 - alpha
        values.append(value)
    return values


def most_novel_first(covers: Mapping[str, list[str]], alpha: float) -> list[str]:
    """The greedy ideal list; of items that are equally novel, the one with the highest id comes first."""
    chosen: list[str] = []
    while len(chosen) < len(covers):
        left = [item for item in covers if item not in chosen]
        chosen.append(max(left, key=lambda item: (novelties(covers, [*chosen, item], alpha)[-1], item.encode())))
    return chosen


def against_ideal(
    grades: Judged, ranking: Ranking, k: int | None, alpha: float, rel: float | str, weight: Callable[[int], float]
) -> float:
    """The weighted novelty of the list, divided by that of the ideal list."""
    covers = subtopics_of(grades, rel)
    sums = []
    for items in (ranking, most_novel_first(covers, alpha)):
        values = novelties(covers, items, alpha)[:k]
        sums.append(sum(value * weight(rank) for rank, value in enumerate(values, 1)))
    return sums[0] / sums[1] if sums[1] else UNDEFINED


def against_all(
    grades: Judged, ranking: Ranking, k: int, alpha: float, rel: float | str, weight: Callable[[int], float]
) -> float:
    """The weighted novelty of the list, divided by that of k items that have all subtopics."""
    covers = subtopics_of(grades, rel)
    if not number_of_subtopics(covers):
        return UNDEFINED
    found = sum(value * weight(rank) for rank, value in enumerate(novelties(covers, ranking, alpha)[:k], 1))
    best = sum(number_of_subtopics(covers) * (1 - alpha) ** (rank - 1) * weight(rank) for rank in range(1, k + 1))
    return found / best


def discount(rank: int) -> float:
    """The discount of DCG."""
    return 1 / math.log2(rank + 1)


def alpha_ndcg(
    grades: Judged, ranking: Ranking, k: int | None, alpha: float = 0.5, rel: float | str = "positive"
) -> float:
    """alpha-nDCG: discounted novelty against the ideal list."""
    return against_ideal(grades, ranking, k, alpha, rel, discount)


def alpha_dcg(grades: Judged, ranking: Ranking, k: int, alpha: float = 0.5, rel: float | str = "positive") -> float:
    """alpha-DCG: discounted novelty against items that have all subtopics."""
    return against_all(grades, ranking, k, alpha, rel, discount)


def err_ia(grades: Judged, ranking: Ranking, k: int, alpha: float = 0.5, rel: float | str = "positive") -> float:
    """ERR-IA: novelty by rank against items that have all subtopics."""
    return against_all(grades, ranking, k, alpha, rel, lambda rank: 1 / rank)


def nerr_ia(
    grades: Judged, ranking: Ranking, k: int | None, alpha: float = 0.5, rel: float | str = "positive"
) -> float:
    """nERR-IA: novelty by rank against the ideal list."""
    return against_ideal(grades, ranking, k, alpha, rel, lambda rank: 1 / rank)


def novelty_biased_precision(
    grades: Judged,
    ranking: Ranking,
    _: None,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: float | str = "positive",
) -> float:
    """NRBP: novelty by the probability of a look, divided by that of an endless list of items with all subtopics."""
    covers = subtopics_of(grades, rel)
    found = sum(value * beta**rank for rank, value in enumerate(novelties(covers, ranking, alpha)))
    count = number_of_subtopics(covers)
    return found * (1 - (1 - alpha) * beta) / count if count else UNDEFINED


def normalised_novelty_biased_precision(
    grades: Judged,
    ranking: Ranking,
    _: None,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: float | str = "positive",
) -> float:
    """nNRBP: the same against the ideal list."""
    return against_ideal(grades, ranking, None, alpha, rel, lambda rank: beta ** (rank - 1))


def over_subtopics(grades: Judged, rel: float | str, score: Callable[[Grades], float]) -> float:
    """The mean of a binary measure over the subtopics that have a relevant item."""
    covers = subtopics_of(grades, rel)
    every = sorted({subtopic for subtopics in covers.values() for subtopic in subtopics})
    scores = [score({item: float(each in covers[item]) for item in covers}) for each in every]
    return sum(scores) / len(scores) if scores else UNDEFINED


def precision_ia(grades: Judged, ranking: Ranking, k: int, rel: float | str = "positive") -> float:
    """P-IA: the mean of precision."""
    return over_subtopics(grades, rel, lambda binary: precision(binary, ranking, k))


def average_precision_ia(grades: Judged, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """AP-IA: the mean of average precision."""
    return over_subtopics(grades, rel, lambda binary: average_precision(binary, ranking, None))


def subtopic_recall(grades: Judged, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """StRecall: the share of the subtopics with a relevant item in the list."""
    return over_subtopics(grades, rel, lambda binary: success(binary, ranking, len(ranking) if k is None else k))


# --- Incomplete judgements --------------------------------------------------------------------------------------------


def binary_preference(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """Bpref: for each relevant item found, the items judged not relevant before it, at most R of them."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    unwanted = {item for item, grade in grades.items() if grade >= 0} - wanted
    total = 0.0
    for rank in first_ranks(ranking, wanted):
        before = len(set(ranking[:rank]) & unwanted)
        total += 1 - min(before, len(wanted)) / min(len(unwanted), len(wanted)) if before else 1
    return total / len(wanted)


def inferred_average_precision(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """infAP: the expected precision at each relevant item found, given the judgements of the items before it."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    total = 0.0
    for rank in first_ranks(ranking, wanted):
        above = set(ranking[: rank - 1])
        good = len(above & wanted)
        bad = len({item for item in above - wanted if grades.get(item, -1) >= 0})
        pooled = len(above & set(grades))
        if rank == 1:
            total += 1
        else:
            estimate = (good + 0.00001) / (good + bad + 0.00002)
            total += 1 / rank + (rank - 1) / rank * (pooled / (rank - 1)) * estimate
    return total / len(wanted)


def judgement_rate(grades: Grades, ranking: Ranking, k: int | None) -> float:
    """Judged: the share of the first k, or fewer, items that are judged."""
    top = ranking if k is None else ranking[:k]
    matched = {item for item, grade in grades.items() if grade >= 0}
    return len(matched & set(top)) / len(top) if top else 0.0


def unjudged_share(grades: Grades, ranking: Ranking, k: int) -> float:
    """Unjudged: the first k ranks, without judged items and their repetitions, divided by k."""
    matched = {item for item, grade in grades.items() if grade >= 0}
    return (len(ranking[:k]) - len(matched & set(ranking[:k]))) / k


# --- Gains of trec_eval -----------------------------------------------------------------------------------------------


def binary_gain(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """binG: each relevant item found is discounted by the other items before it."""
    wanted = relevant_items(grades, rel)
    ranks = first_ranks(ranking, wanted)
    total = sum(1 / math.log2(2 + rank - hits) for hits, rank in enumerate(ranks, 1))
    return total / len(wanted) if wanted else UNDEFINED


def gain_by_loss(grades: Grades, ranking: Ranking, _: None, gain: str | GainMap = "linear") -> float:
    """G: rank by rank, each gain is discounted by what the list has lost so far; an ideal rank is worth at least 1."""
    if not gained(grades, "positive"):
        return UNDEFINED
    gain_at = gain_of(gain)
    ideal = sorted(map(gain_at, grades.values()), reverse=True)
    cost = reached = total = 0.0
    for rank, item in enumerate(ranking):
        own = gain_at(grades[item]) if item in grades and item not in ranking[:rank] else 0.0
        cost += max(ideal[rank] if rank < len(ideal) else 0.0, 1.0)
        reached += own
        total += own / math.log2(2 + cost - reached)
    return total / sum(ideal) if sum(ideal) else 0.0


def ndcg_over_relevant(grades: Grades, ranking: Ranking, _: None, gain: str | GainMap = "linear") -> float:
    """nDCGrel: nDCG at the rank of each item with a gain; at the end of the list for a missing one."""
    if not gained(grades, "positive"):
        return UNDEFINED
    wanted = {item for item, grade in grades.items() if gain_of(gain)(grade) > 0}
    ranks = first_ranks(ranking, wanted)
    missing: list[int | None] = [None] * (len(wanted) - len(ranks))
    scores = [ndcg(grades, ranking, rank, gain) for rank in [*ranks, *missing]]
    return sum(scores) / len(scores) if scores else 0.0


def ndcg_over_levels(
    grades: Grades, ranking: Ranking, _: None, gain: str | GainMap = "linear", rel: float | str = "positive"
) -> float:
    """Rndcg: nDCG after the last item of each gain of the ideal list, and at the end of a longer list."""
    if not gained(grades, rel):
        return UNDEFINED
    gains = sorted((gain_of(gain)(grade) for grade in grades.values() if gain_of(gain)(grade) > 0), reverse=True)
    ends: list[int | None] = [
        rank for rank in range(1, len(gains) + 1) if gains[rank - 1 : rank + 1] != [gains[rank - 1]] * 2
    ]
    if len(ranking) > len(gains) + 1:
        ends.append(None)
    return sum(ndcg(grades, ranking, end, gain) for end in ends) / len(ends) if ends else 0.0


# --- Counts -----------------------------------------------------------------------------------------------------------


def number_relevant_retrieved(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """NumRelRet."""
    return float(counted(ranking, relevant_items(grades, rel), len(ranking)))


def number_judged_not_relevant(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """NumNonrelJudgedRet."""
    judged = {item for item, grade in grades.items() if grade >= 0}
    return float(counted(ranking, judged - relevant_items(grades, rel), len(ranking)))


# --- Splits -----------------------------------------------------------------------------------------------------------

BLOCK = 64
"""Bytes of a block of SHA-256."""


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """HMAC of RFC 2104 with SHA-256, for a key of at most one block."""
    padded = key + bytes(BLOCK - len(key))
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in padded) + inner).digest()


@cache
def split_number(key: bytes, track: str, query: str) -> int:
    """The number that decides about a query: the first 8 bytes of the HMAC, the most significant one first."""
    number = 0
    for byte in hmac_sha256(key, track.encode() + b"\0" + query.encode("utf-8", "surrogatepass"))[:8]:
        number = 256 * number + byte
    return number


def preliminary_queries(key: bytes, share: str, track: str, queries: Iterable[str]) -> list[str]:
    """The queries whose number is below the share of 2^64, in their order; the share is a decimal."""
    below = math.floor(Fraction(share) * 2**64)
    return [query for query in queries if split_number(key, track, query) < below]


# --- The Ladder -------------------------------------------------------------------------------------------------------
#
# Both forms by the definition, in exact arithmetic. They take the losses of one team's entries, one list for each entry
# and one loss for each query, and return what each entry releases: a loss, or None if it is no improvement. A float
# is taken for the nearest fraction with a denominator of at most 10,000.

Losses = Sequence[Sequence[Fraction | float]]


def ladder_fixed(losses_by_entry: Losses, step: Fraction | float) -> list[Fraction | None]:
    """A mean is released, rounded to a multiple of the step, if it is lower by more."""
    step = _fraction(step)
    released: Fraction | None = None
    shown: list[Fraction | None] = []
    for losses in losses_by_entry:
        mean = sum(map(_fraction, losses)) / Fraction(len(losses))
        if released is None or mean < released - step:
            released = round(mean / step) * step
            shown.append(released)
        else:
            shown.append(None)
    return shown


def _fraction(value: Fraction | float) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(value).limit_denominator(10_000)


ORACLES: dict[str, Callable[..., float]] = {
    "MARp": mean_r_precision,
    "Rp": r_precision_at,
    "Rprec": r_precision,
    "P": precision,
    "R": recall,
    "Hits": hits,
    "F": f_measure,
    "SetP": set_precision,
    "SetR": recall,
    "SetF": f_measure,
    "SetAP": set_average_precision,
    "AP": average_precision,
    "GMAP": geometric_average_precision,
    "RR": reciprocal_rank,
    "Success": success,
    "SetSuccess": lambda grades, ranking, _, **rel: success(grades, ranking, len(ranking), **rel),
    "IPrec": interpolated_precision,
    "11pt_avg": eleven_point_average,
    "Accuracy": accuracy,
    "nDCG": ndcg,
    "DCG": cumulated_gain,
    "muAP": graded_average_precision,
    "NDCNG": ndcng,
    "nDCGphi": ndcg_phi,
    "MeanNDCG": mean_ndcg,
    "MeanNDCNG": mean_ndcng,
    "RBP": rank_biased_precision,
    "ERR": expected_reciprocal_rank,
    "RBO": rank_biased_overlap,
    "Compat": compatibility,
    "Q": q_measure,
    "P-plus": p_plus,
    "nERR": normalised_err,
    "BPM": with_goal(lambda _, goal, so_far: float(so_far < goal)),
    "INST": with_goal(lambda rank, goal, so_far: ((rank + 2 * goal - so_far - 1) / (rank + 2 * goal - so_far)) ** 2),
    "INSQ": with_goal(lambda rank, goal, _: ((rank + 2 * goal - 1) / (rank + 2 * goal)) ** 2),
    "SDCG": scaled_dcg,
    "NERR8": nearly_err(lambda _, __, ___: 1.0),
    "NERR9": nearly_err(lambda rank, _, __: rank / (rank + 1)),
    "NERR10": nearly_err(lambda _, p, __: p),
    "NERR11": nearly_err(lambda rank, _, goal: ((rank + 2 * goal - 1) / (rank + 2 * goal)) ** 2),
    "alpha-nDCG": alpha_ndcg,
    "alpha-DCG": alpha_dcg,
    "ERR-IA": err_ia,
    "nERR-IA": nerr_ia,
    "NRBP": novelty_biased_precision,
    "nNRBP": normalised_novelty_biased_precision,
    "P-IA": precision_ia,
    "AP-IA": average_precision_ia,
    "StRecall": subtopic_recall,
    "Bpref": binary_preference,
    "infAP": inferred_average_precision,
    "Judged": judgement_rate,
    "NumQ": lambda *_: 1.0,
    "NumRet": lambda _, ranking, __: float(len(ranking)),
    "NumRel": lambda grades, _, __, rel="positive": float(len(relevant_items(grades, rel))),
    "NumRelRet": number_relevant_retrieved,
    "RprecMult": r_precision_at_multiple,
    "Utility": utility,
    "nDCGrel": ndcg_over_relevant,
    "Rndcg": ndcg_over_levels,
    "G": gain_by_loss,
    "binG": binary_gain,
    "RBPresidual": rank_biased_residual,
    "GMBpref": binary_preference,
    "Unjudged": unjudged_share,
    "NumNonrelJudgedRet": number_judged_not_relevant,
}

OF_THE_WHOLE_SOLUTION = ("ERR", "nERR", "BPM", "INST", "INSQ", "SDCG", "NERR8", "NERR9", "NERR10", "NERR11")
"""The measures that depend on the highest grade of the whole solution; their oracles take it as `highest_of_all`."""


# --- Quotas -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuotaEntry:
    """An entry that takes part in the quotas; the outcome is "scored", "rejected", "failed" or "open"."""

    team: str
    received: datetime
    phase: str | None
    outcome: str


OUTCOMES = ("scored", "rejected", "failed")


def admitted(
    entries: Sequence[QuotaEntry], limits: Mapping[str, int], zone: str, pool: Callable[[str, int], Collection[str]]
) -> list[bool | None]:
    """Whether each entry is within the quota: under every combination of outcomes that the open entries may have.

    None: it depends on them. `pool` gives the teams that count as one with a team at the position of an entry.
    """
    unknown = [position for position, entry in enumerate(entries) if entry.outcome == "open"]
    found: list[set[bool]] = [set() for _ in entries]
    for combination in itertools.product(OUTCOMES, repeat=len(unknown)):
        outcomes = [entry.outcome for entry in entries]
        for position, outcome in zip(unknown, combination, strict=True):
            outcomes[position] = outcome
        for position, is_within in enumerate(_within(entries, outcomes, limits, zone, pool)):
            found[position].add(is_within)
    return [None if len(each) > 1 else each.pop() for each in found]


def _within(
    entries: Sequence[QuotaEntry],
    outcomes: Sequence[str],
    limits: Mapping[str, int],
    zone: str,
    pool: Callable[[str, int], Collection[str]],
) -> list[bool]:
    """The same if every outcome is known: an entry is refused if as many as a limit allows came before it."""
    within: list[bool] = []
    for position, entry in enumerate(entries):
        before = [
            other
            for other in range(position)
            if within[other] and entries[other].team in {entry.team, *pool(entry.team, position)}
        ]
        today = [
            other for other in before if local_day(entries[other].received, zone) == local_day(entry.received, zone)
        ]
        here = [other for other in before if entries[other].phase == entry.phase]
        counts = {
            "per_day": sum(outcomes[other] == "scored" for other in today),
            "per_phase": sum(outcomes[other] == "scored" for other in here),
            "total": sum(outcomes[other] == "scored" for other in before),
            "rejected_per_day": sum(outcomes[other] == "rejected" for other in today),
        }
        within.append(all(counts[name] < limit for name, limit in limits.items()))
    return within


def local_day(moment: datetime, zone: str) -> date:
    """The calendar day of a moment in a zone."""
    return moment.astimezone(ZoneInfo(zone)).date()


def next_local_day(moment: datetime, zone: str) -> datetime:
    """The first minute after a moment at which another calendar day is shown in a zone."""
    later = moment.replace(second=0, microsecond=0)
    while local_day(later, zone) == local_day(moment, zone):
        later += timedelta(minutes=1)
    return later


# --- Decimals of preliminary scores -----------------------------------------------------------------------------------


def automatic_decimals(queries: int) -> int:
    """round(-log10(0.5 / √n)) for n queries, which is log10(4n) / 2, with integers only; halves are rounded to even."""
    decimals = 0
    while 4 * queries > 10 ** (2 * decimals + 1):
        decimals += 1
    is_half = 4 * queries == 10 ** (2 * decimals + 1)
    return decimals + (is_half and decimals % 2)


# --- A live challenge -------------------------------------------------------------------------------------------------
#
# `LiveRecord` carries out the plan of a simulated challenge on plain lists: it says which events the record has, and
# which contents have a result. `live_entries` and `live_board` follow from these, as of any event or time.


Until = tuple[datetime | int, ...]
"""Selects events: those until an index, or those received (files) and recorded (others) until a time."""

MICROSECOND = timedelta(microseconds=1)
MISDATED = timedelta(minutes=5)
TEAM_STEPS = ("rename", "merge", "unmerge", "disqualify", "withdraw", "reinstate")


@dataclass(frozen=True)
class LiveEvent:
    """A row of the record."""

    index: int
    track: str
    kind: str
    at: datetime
    body: Mapping[str, Any]


@dataclass
class LiveEntry:
    """A file as the challenge received it."""

    index: int
    team: str
    file: str
    digest: str
    received: datetime
    present: bool
    misdated: bool
    absent: datetime | None = None
    """The last look that did not find it; None once its time is amended."""
    since: int = 0
    """The index of the event that says that its file has its content."""
    presence: str = "present"
    phase: str | None = None
    admission: str = "ok"
    outcome: str = "waiting"
    cost: str = "waiting"
    """What the quota counts it as: its outcome; if its file is gone, also that by an earlier solution."""
    was_scored: bool = False
    """Whether its file is gone, and an earlier solution scored it: its team has seen the score."""
    waits: bool = False
    counts: bool = False
    preliminary: float | None = None
    final: float | None = None
    answer: str | None = None
    """Of the Ladder."""


@dataclass(frozen=True)
class LiveRow:
    """A team on the board: ranks, the index of the counting entry, its score, and its looks; -1: not shown."""

    rank: int | None
    preliminary_rank: int | None
    entry: int | None
    score: float | None
    looks: int


class LiveRecord:
    """The record of a season after its steps until a moment."""

    def __init__(self, season: Season) -> None:
        self.season = season
        self.events: list[LiveEvent] = []
        self.scored: set[tuple[str, str, int]] = set()
        """Track, digest and number of the solution, of each content with a result."""
        self.contents = {content.digest: content for content in season.contents}
        self.folder: dict[str, tuple[str, str, datetime]] = {}
        self.uploads: dict[str, tuple[str, str, datetime]] = {}
        """In progress, by the names that they will have."""
        self.solution = {track.name: 0 for track in season.tracks}
        self.looks: dict[str, list[tuple[datetime, set[tuple[str, str]]]]] = {}
        """Of each track, in the order of the runs: when its folder was listed, and the files and digests in it."""
        self.open_erratum: dict[str, int] = {}
        self.done = 0
        self.means: dict[tuple[str, str, int, bool], float] = {}
        self.losses: dict[tuple[str, str, int], list[Fraction]] = {}

    def until(self, moment: datetime) -> None:
        """Do the steps until a moment, itself included."""
        while self.done < len(self.season.steps) and self.season.steps[self.done].at <= moment:
            self._do(self.season.steps[self.done])
            self.done += 1

    def _append(self, track: str, kind: str, at: datetime, body: Mapping[str, Any]) -> None:
        self.events.append(LiveEvent(len(self.events) + 1, track, kind, at, body))

    def _do(self, step: Step) -> None:
        digest = self.season.contents[step.content].digest if step.content >= 0 else ""
        match step.kind:
            case "file" | "upload":
                files = self.folder if step.kind == "file" else self.uploads
                files[step.file] = (step.team, digest, step.time)
            case "complete":
                self.folder[step.file] = self.uploads.pop(step.file)
            case "delete":
                del self.folder[step.file]
            case "solution":
                self.solution[step.track] = step.content
            case "run":
                for track in self.season.tracks:
                    self._run(track.name, step.time)
            case "pick" if self._is_refused(step) or self._is_picked(step):
                pass
            case "preview" | "apply" | "cancel":
                self._erratum(step)
            case _:
                self._append("" if step.kind in TEAM_STEPS else step.track, *self._decision(step, digest))

    def _is_refused(self, step: Step) -> bool:
        """Whether a picked file had several contents, or a picked entry is rejected, early, late or over the quota."""
        entries = live_entries(self, step.track, (), step.at, live_solution(self.events, (), step.track))
        picked = [each for each in entries if each.file in step.files]
        return len(picked) > len(step.files) or any(
            each.admission in ("early", "late", "over-quota") or each.outcome == "rejected" for each in picked
        )

    def _is_picked(self, step: Step) -> bool:
        """Whether the last picks of the team are the same."""
        _, _, body = self._decision(step, "")
        earlier = [event.body for event in self.events if event.kind == "pick" and event.body["team"] == body["team"]]
        return bool(earlier) and earlier[-1]["keys"] == body["keys"]

    def _decision(self, step: Step, digest: str) -> tuple[str, datetime, dict[str, Any]]:
        """The kind, the time and the body of the event of a decision."""
        match step.kind:
            case "pick":
                keys = [(file, self.folder[file][1]) for file in step.files]
                team = live_targets(self.events).get(step.team, step.team)
                return "pick", step.at, {"team": team, "keys": keys, "source": "command"}
            case "amend":
                return "amendment", step.at, {"file": step.file, "digest": digest, "received": step.time}
            case "extend":
                return "extension", step.at, {"phase": step.text, "end": step.time}
            case "reveal":
                return "reveal", step.at, {}
        return "team", step.at, {"team": step.team, "decision": step.kind, "text": step.text}

    def _erratum(self, step: Step) -> None:
        if step.kind == "preview":
            self._run(step.track, step.at)
            self.open_erratum[step.track] = self.solution[step.track]
        if step.kind == "apply":
            self._run(step.track, step.at)
        kinds = {"preview": "preview", "apply": "erratum", "cancel": "cancellation"}
        self._append(step.track, kinds[step.kind], step.at, {})
        if step.kind == "preview":
            self._run(step.track, step.at)
            return
        solution = self.open_erratum.pop(step.track)
        if step.kind == "apply":
            self._append(step.track, "basis", step.at, {"solution": solution})

    def _run(self, track: str, clock: datetime) -> None:
        if not any(event.kind == "phases" and event.track == track for event in self.events):
            self._append(track, "phases", clock, {})
        self._import(track, clock)
        basis = live_solution(self.events, (), track)
        self._score(track, 0 if basis is None else basis, clock)
        if basis is None:
            self._append(track, "basis", clock, {"solution": 0})
        if track in self.open_erratum:
            self._score(track, self.open_erratum[track], clock)

    def _import(self, track: str, clock: datetime) -> None:
        """Arrivals in order of (received, team, file), then changes of presence in order of (file, digest)."""
        before = {(each.file, each.digest): each for each in live_states(self.events, (), track)}
        here = {file: found for file, found in self.folder.items() if file.startswith(f"{track}/")}
        looks = self.looks.setdefault(track, [])
        new = [
            (received, team, file, digest)
            for file, (team, digest, received) in here.items()
            if (file, digest) not in before
        ]
        for received, team, file, digest in sorted(new):
            lacking = [min(look, clock) for look, seen in looks if (file, digest) not in seen]
            absent = lacking[-1] if lacking else None
            body = {"team": team, "file": file, "digest": digest, "received": received, "absent": absent}
            self._append(track, "arrival", clock, body)
        looks.append((clock, {(file, digest) for file, (_, digest, _) in (self.folder | self.uploads).items()}))
        for (file, digest), entry in sorted(before.items()):
            is_there = file in here and here[file][1] == digest
            if is_there != entry.present and not self._has_closed(track, entry, clock):
                now = here[file][1] if file in here else None
                body = {"file": file, "digest": digest, "now": now}
                self._append(track, "return" if is_there else "withdrawal", clock, body)

    def _has_closed(self, track: str, entry: LiveEntry, clock: datetime) -> bool:
        """Whether the phase of an entry has closed, so that it stays as it is when its file vanishes or returns."""
        phases = live_phases(self.season.track(track), self.events, ())
        if entry.team in self.season.track(track).baselines:
            return False
        mine = [phase for phase in phases if phase.start <= entry.received] or [phases[0]]
        return clock >= mine[-1].end + mine[-1].grace

    def _score(self, track: str, solution: int, clock: datetime) -> None:
        """Score what is admitted, from its file or from the bytes that are kept once they are scored."""
        there = {digest for file, (_, digest, _) in self.folder.items() if file.startswith(f"{track}/")}
        there |= {digest for _, digest, _ in self.scored}
        while True:
            new = {
                (track, each.digest, solution)
                for each in live_entries(self, track, (), clock, solution)
                if each.present and each.admission != "over-quota" and not each.waits and each.digest in there
            }
            if new <= self.scored:
                return
            self.scored |= new

    def score(self, track: str, digest: str, solution: int, *, preliminary: bool) -> float:
        """The mean MARp of a content, rounded."""
        key = track, digest, solution, preliminary
        if key not in self.means:
            self.means[key] = live_mean(self.season.track(track), self.contents[digest], solution, preliminary)
        return self.means[key]

    def losses_of(self, plan: TrackPlan, digest: str, solution: int) -> list[Fraction]:
        """The losses of a content on the preliminary queries."""
        key = plan.name, digest, solution
        if key not in self.losses:
            scores = live_scores(plan, self.contents[digest], solution, preliminary=True)
            self.losses[key] = [1 - Fraction(value).limit_denominator(10**6) for value in scores]
        return self.losses[key]


def live_mean(track: TrackPlan, content: Content, solution: int, preliminary: bool) -> float:
    """The mean MARp over all queries, or over the preliminary ones; undefined queries are left out."""
    values = live_scores(track, content, solution, preliminary)
    total = 0.0
    for value in values:
        total += value
    return round(total / len(values), live_decimals(track, len(values), preliminary))


def live_scores(track: TrackPlan, content: Content, solution: int, preliminary: bool) -> list[float]:
    """MARp on all queries, or on the preliminary ones, for which it is defined."""
    chosen: Collection[str] = track.queries
    if preliminary:
        by_key = track.key is not None
        chosen = (
            preliminary_queries(track.key or b"", track.share, track.name, track.queries)
            if by_key
            else (track.preliminary)
        )
    assert content.lists is not None
    values = [
        mean_r_precision(track.solutions[solution][query], content.lists.get(query, ()), track.cutoffs)
        for query in track.queries
        if query in chosen
    ]
    return [value for value in values if not math.isnan(value)]


def live_decimals(track: TrackPlan, queries: int, preliminary: bool) -> int:
    """The decimals of scores over some number of queries."""
    if track.decimals is not None:
        return track.decimals
    return automatic_decimals(queries) if preliminary else 4


def live_selected(events: Iterable[LiveEvent], until: Until, track: str | None = None) -> list[LiveEvent]:
    """The events of a track, with those of the whole challenge, that a view as of something has."""
    found = []
    for event in events:
        at = event.body["received"] if event.kind == "arrival" else event.at
        is_in = all(event.index <= limit if isinstance(limit, int) else at <= limit for limit in until)
        if is_in and (track is None or event.track in (track, "")):
            found.append(event)
    return found


def live_solution(events: Sequence[LiveEvent], until: Until, track: str) -> int | None:
    """The number of the solution that the board is based on: the last one, or the first one before any is recorded."""
    every = [event for event in events if event.kind == "basis" and event.track == track]
    chosen = list(live_selected(every, until))
    if not every:
        return None
    return int((chosen[-1] if chosen else every[0]).body["solution"])


def live_phases(track: TrackPlan, events: Sequence[LiveEvent], until: Until) -> list[PhasePlan]:
    """The phases with the ends in force."""
    phases = list(track.phases)
    for event in live_selected(events, until, track.name):
        if event.kind == "extension":
            phases = [
                replace(phase, end=event.body["end"]) if phase.name == event.body["phase"] else phase
                for phase in phases
            ]
    return phases


def live_targets(events: Iterable[LiveEvent], index: float = math.inf) -> dict[str, str]:
    """Into which team each merged team is merged, after the event with this index."""
    targets: dict[str, str] = {}
    for event in events:
        if event.kind == "team" and event.index <= index:
            if event.body["decision"] == "merge":
                targets[event.body["team"]] = event.body["text"]
            if event.body["decision"] == "unmerge":
                del targets[event.body["team"]]
    return targets


def live_excluded(events: Iterable[LiveEvent]) -> set[str]:
    """The teams that are disqualified or withdrawn."""
    found: set[str] = set()
    for event in events:
        if event.kind == "team" and event.body["decision"] in ("disqualify", "withdraw"):
            found.add(event.body["team"])
        if event.kind == "team" and event.body["decision"] == "reinstate":
            found.discard(event.body["team"])
    return found


def live_states(events: Sequence[LiveEvent], until: Until, track: str) -> list[LiveEntry]:
    """The entries of a track in the order of the record: what was received when, and what is there."""
    found: dict[tuple[str, str], LiveEntry] = {}
    announced: datetime | None = None
    for event in live_selected(events, until, track):
        if event.kind == "phases" and announced is None:
            announced = event.at
        if event.kind == "arrival":
            body = event.body
            received = body["received"]
            is_old = announced is not None and received < announced - MISDATED
            misdated = received > event.at + MISDATED or received.year < 1990 or is_old
            key = body["file"], body["digest"]
            found[key] = LiveEntry(
                event.index, body["team"], *key, received, True, misdated, body["absent"], event.index
            )
        if event.kind in ("withdrawal", "return"):
            found[event.body["file"], event.body["digest"]].present = event.kind == "return"
            if event.body["now"] is not None:
                found[event.body["file"], event.body["now"]].since = event.index
        if event.kind == "amendment":
            entry = found[event.body["file"], event.body["digest"]]
            entry.received = event.body["received"]
            entry.absent = None
            entry.misdated = entry.received > event.at + MISDATED or entry.received.year < 1990
    return list(found.values())


def live_entries(live: LiveRecord, track: str, until: Until, now: datetime, solution: int | None) -> list[LiveEntry]:
    """The entries of a track, with presence, admission and outcome, and the scores that visitors may see."""
    plan = live.season.track(track)
    phases = live_phases(plan, live.events, until)
    entries = live_states(live.events, until, track)
    earlier = [event.body["solution"] for event in live_selected(live.events, until, track) if event.kind == "basis"]
    for entry in entries:
        _place(entry, entries, plan, phases)
        entry.outcome = _outcome(live, track, entry, solution)
        entry.cost = entry.outcome
        for number in earlier:
            if entry.outcome == "waiting" and not entry.present and _outcome(live, track, entry, number) != "waiting":
                entry.cost = _outcome(live, track, entry, number)
                entry.was_scored = entry.cost == "scored"
    claims = [each for each in entries if each.admission == "ok" and each.team not in plan.baselines]
    _admit(plan.quota, claims, live_selected(live.events, until))
    for entry in entries:
        if entry.waits or entry.admission == "over-quota":
            entry.outcome = "waiting"
    if solution is None:
        return entries
    shows, step = live_shows(phases, now)
    if shows == "ladder":
        targets = live_targets(live_selected(live.events, until))
        for team in {targets.get(entry.team, entry.team) for entry in entries}:
            own = [entry for entry in entries if targets.get(entry.team, entry.team) == team]
            _release(live, plan, own, solution, step)
    if shows == "score":
        _show(live, track, entries, solution, over=now >= phases[-1].end + phases[-1].grace)
    return entries


def _show(live: LiveRecord, track: str, entries: Iterable[LiveEntry], solution: int, *, over: bool) -> None:
    """Set the exact scores that visitors may see."""
    for entry in entries:
        is_shown = entry.admission == "ok" or (over and entry.admission in ("early", "late"))
        if is_shown and entry.outcome == "scored":
            entry.preliminary = live.score(track, entry.digest, solution, preliminary=True)
            if over:
                entry.final = live.score(track, entry.digest, solution, preliminary=False)


def _outcome(live: LiveRecord, track: str, entry: LiveEntry, solution: int | None) -> str:
    """What scoring an entry gave by a solution."""
    if solution is None or (track, entry.digest, solution) not in live.scored:
        return "waiting"
    return "rejected" if live.contents[entry.digest].lists is None else "scored"


def _place(entry: LiveEntry, entries: Iterable[LiveEntry], plan: TrackPlan, phases: Iterable[PhasePlan]) -> None:
    """Set the presence, the phase and the admission of an entry, apart from the quota."""
    if not entry.present:
        others = [each for each in entries if each.file == entry.file and each.present and each.since > entry.since]
        entry.presence = "superseded" if others else "withdrawn"
    if entry.team in plan.baselines:
        return
    scope = _scope(entry.received, plan, phases)
    is_backdated = entry.absent is not None and entry.received < entry.absent
    if entry.misdated or (is_backdated and entry.absent and _scope(entry.absent, plan, phases) != scope):
        entry.admission = "misdated"
    else:
        entry.phase, entry.admission, _ = scope


def _scope(moment: datetime, plan: TrackPlan, phases: Iterable[PhasePlan]) -> tuple[str | None, str, date | None]:
    """The phase at a moment, how it admits an entry, and the day of the quota of an entry in it."""
    begun = [phase for phase in phases if phase.start <= moment]
    if not begun:
        return None, "early", None
    if moment >= begun[-1].end + begun[-1].grace:
        return begun[-1].name, "late", None
    return begun[-1].name, "ok", moment.astimezone(ZoneInfo(plan.quota.zone)).date()


def live_shows(phases: Sequence[PhasePlan], now: datetime) -> tuple[str, str]:
    """What the board shows, and the step of the Ladder.

    The phase of the moment decides; between phases the last one that shows more than nothing, or else the next one if
    it has the Ladder.
    """
    before = [phase for phase in phases if phase.end + phase.grace <= now]
    if len(before) == len(phases):
        return "score", ""
    for phase in phases:
        if phase.start <= now < phase.end + phase.grace:
            return phase.shows, phase.ladder_step
    for phase in reversed(before):
        if phase.shows != "nothing":
            return phase.shows, phase.ladder_step
    following = phases[len(before)]
    return ("ladder", following.ladder_step) if following.shows == "ladder" else ("score", "")


def _release(live: LiveRecord, plan: TrackPlan, own: Iterable[LiveEntry], solution: int, step: str) -> None:
    """Set what the Ladder answers to the entries of a team, and the scores that it releases."""
    seen: list[LiveEntry] = []
    stopped = False
    for entry in own:
        if entry.admission == "ok":
            stopped |= entry.waits or (entry.present and entry.outcome == "waiting")
            if entry.outcome == "scored":
                entry.answer = "waits" if stopped else "no improvement"
                seen += [] if stopped else [entry]
    losses = [live.losses_of(plan, entry.digest, solution) for entry in seen]
    shown = ladder_fixed(losses, Fraction(step))
    for entry, loss in zip(seen, shown, strict=True):
        if loss is not None:
            entry.answer = "improvement"
            decimals = live_decimals(plan, len(losses[0]), preliminary=True)
            entry.preliminary = round(float(max(Fraction(0), 1 - loss)), decimals)


def _admit(quota: QuotaPlan, claims: Sequence[LiveEntry], events: Sequence[LiveEvent]) -> None:
    """Mark the entries that are over the quota, and those that wait for the outcome of an earlier one."""

    def day(entry: LiveEntry) -> date:
        return entry.received.astimezone(ZoneInfo(quota.zone)).date()

    decisions = [event for event in events if event.kind == "team"]
    admitted: dict[str, list[LiveEntry]] = {claim.team: [] for claim in claims}
    for claim in claims:
        targets = live_targets(decisions, claim.index)
        us = targets.get(claim.team, claim.team)
        ours = [each for team, own in admitted.items() if targets.get(team, team) == us for each in own]
        today = [each for each in ours if day(each) == day(claim)]
        here = [each for each in ours if each.phase == claim.phase]
        least = most = True
        for limit, kind, scope in (
            (quota.per_day, "scored", today),
            (quota.per_phase, "scored", here),
            (quota.total, "scored", ours),
            (quota.rejected_per_day, "rejected", today),
        ):
            certain = sum(each.cost == kind and not each.waits for each in scope)
            unknown = sum(each.waits or (each.cost == "waiting" and each.present) for each in scope)
            least &= certain < limit
            most &= certain + unknown < limit
        if not least:
            claim.admission = "over-quota"
            continue
        claim.waits = not most
        admitted[claim.team].append(claim)


def live_public(live: LiveRecord, track: str, now: datetime) -> tuple[Until, datetime]:
    """What visitors may see. During a freeze, this is the record as it was when the freeze began: it ends before the
    first event that was recorded later.
    """
    for phase in live_phases(live.season.track(track), live.events, ()):
        frozen = phase.end - phase.freeze
        if phase.freeze and phase.start <= now < phase.end + phase.grace and now >= frozen:
            first_later = min((each.index for each in live.events if each.at >= frozen), default=len(live.events) + 1)
            return (first_later - 1,), frozen - MICROSECOND
    return (), now


def live_log_end(live: LiveRecord, now: datetime) -> int:
    """The index of the last event of the public log: the first of the ends that the freezes of all tracks set."""
    ends = [len(live.events)]
    for track in live.season.tracks:
        until, _ = live_public(live, track.name, now)
        ends += [each for each in until if isinstance(each, int)]
    return min(ends)


def live_board(live: LiveRecord, track: str, until: Until, now: datetime) -> tuple[dict[str, LiveRow], list[LiveEntry]]:
    """The board of a track: a row for each team, and all entries with the counting ones marked."""
    plan = live.season.track(track)
    events = live_selected(live.events, until)
    entries = live_entries(live, track, until, now, live_solution(live.events, until, track))
    phases = live_phases(plan, live.events, until)
    shows_final = now >= phases[-1].end + phases[-1].grace
    shows, _ = live_shows(phases, now)
    targets = live_targets(events)
    by_team: dict[str, list[LiveEntry]] = {}
    for entry in entries:
        by_team.setdefault(targets.get(entry.team, entry.team), []).append(entry)
    chosen: dict[str, LiveEntry | None] = {}
    for team, own in by_team.items():
        if any(entry.present for entry in own):
            chosen[team] = None if shows == "nothing" else _counting(plan, events, team, own, shows)
    ranked = [team for team in chosen if team not in plan.baselines and team not in live_excluded(events)]

    def score(team: str, *, final: bool) -> float | None:
        entry = chosen[team]
        return None if entry is None else entry.final if final else entry.preliminary

    def rank(team: str, *, final: bool) -> int | None:
        mine = score(team, final=final)
        if mine is None or team not in ranked:
            return None
        others = [score(other, final=final) for other in ranked]
        return 1 + sum(other is not None and other > mine for other in others)

    rows = {}
    for team, counting in chosen.items():
        if counting is not None:
            counting.counts = True
        rows[team] = LiveRow(
            rank(team, final=shows_final),
            rank(team, final=False),
            None if counting is None else counting.index,
            score(team, final=shows_final),
            -1 if shows_final or shows == "nothing" else sum(map(_is_look, by_team[team])),
        )
    return rows, entries


def _is_look(entry: LiveEntry) -> bool:
    is_scored = entry.outcome == "scored" or entry.was_scored
    return entry.admission == "ok" and is_scored and entry.answer != "waits"


def _counting(
    plan: TrackPlan, events: Sequence[LiveEvent], team: str, own: Sequence[LiveEntry], shows: str
) -> LiveEntry | None:
    """The entry with the best preliminary score, the earliest of equals; of the picked ones, if any of them counts."""
    candidates = [each for each in own if each.present and each.admission == "ok" and each.outcome == "scored"]
    if shows == "ladder":
        candidates = [each for each in candidates if each.answer == "improvement"]
    elif plan.entry == "picks":
        picks: list[tuple[str, str]] = []
        for event in events:
            if event.kind == "pick" and event.track == plan.name and event.body["team"] == team:
                picks = event.body["keys"]
        picked = [each for each in candidates if (each.file, each.digest) in picks]
        candidates = picked or candidates
    best: LiveEntry | None = None
    for each in candidates:
        if best is None or (each.preliminary or 0.0) > (best.preliminary or 0.0):
            best = each
    return best


def live_late(entries: Iterable[LiveEntry], events: Sequence[LiveEvent]) -> dict[str, int]:
    """The late board: of each team the early or late entry with the best final score."""
    found: dict[str, LiveEntry] = {}
    targets = live_targets(events)
    for entry in entries:
        team = targets.get(entry.team, entry.team)
        is_late = entry.admission in ("early", "late") and entry.present and entry.final is not None
        if is_late and (team not in found or (entry.final or 0.0) > (found[team].final or 0.0)):
            found[team] = entry
    return {team: entry.index for team, entry in found.items()}


# Intervals


def mean_interval(scores: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of scores from 0 to 1, its ends found by bisection."""
    count, mean = len(scores), math.fsum(scores) / len(scores)
    variance = math.fsum((score - mean) ** 2 for score in scores) / (count - 1) if count > 1 else 0.0
    if count == 1 or (variance < 1e-20 and 0 < mean < 1):
        return mean, mean
    larger = stats.t.ppf(0.975, count - 1) / stats.norm.ppf(0.975)
    trials = max(count, count * mean * (1 - mean) / (variance * larger**2)) if variance > 1e-20 else count
    half = sum(score in {0, 1} for score in scores) / count / 2

    def end(first: float, second: float, share: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if stats.beta.cdf(middle, first, second) < share else (low, middle)
        return low

    hits, misses = trials * mean, trials * (1 - mean)
    ends = (
        0.0 if mean == 0 else end(hits + 0.5 - half, misses + 0.5 + half, 0.025),
        1.0 if mean == 1 else end(hits + 0.5 + half, misses + 0.5 - half, 0.975),
    )
    return (
        min(ends[0], 1 - gaffke_bound([1 - x for x in scores]))
        if sum(x <= 0.5 for x in scores) <= count / 20
        else ends[0],
        max(ends[1], gaffke_bound(scores)) if sum(x >= 0.5 for x in scores) <= count / 20 else ends[1],
    )


def gaffke_bound(scores: Sequence[float]) -> float:
    """Gaffke's upper bound of the mean at 95 %, by the saddlepoint of the weights' cumulants for each candidate."""
    numbers = [*scores, 1.0]
    count, mean = len(numbers), math.fsum(numbers) / len(numbers)

    def distance(bound: float) -> float:
        away = [x - bound for x in numbers]
        tilt = optimize.brentq(
            lambda s: math.fsum(a / (1 - s * a) for a in away), 0, (1 - 1e-13) / max(away), xtol=1e-14, rtol=1e-14
        )
        root = math.sqrt(2 * math.fsum(math.log1p(-tilt * a) for a in away))
        slope = tilt * math.sqrt(math.fsum((a / (1 - tilt * a)) ** 2 for a in away))
        return root + math.log(slope / root) / root - float(stats.norm.ppf(0.95))

    return 1.0 if mean == 1 else float(optimize.brentq(distance, mean + 0.1 * (1 - mean) / count, 1 - 1e-9, xtol=1e-13))
