"""Every measure as a slow loop from its definition; nothing here comes from scorer.

An oracle takes the grades of one query's items, the ranking, the cut-off as the measure has it, and the measure's
parameters. It gives the score, NaN where the measure is undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from scipy.interpolate import PchipInterpolator

Grades = Mapping[str, float]
Ranking = Sequence[str]
Cutoffs = tuple[int, ...]
Gain = Callable[[float], float]

UNDEFINED = math.nan


def relevant_items(grades: Grades, rel: float | str) -> set[str]:
    """The items that the solution has as relevant."""
    return {item for item, grade in grades.items() if (grade > 0 if rel == "positive" else grade >= float(rel))}


def counted(ranking: Ranking, wanted: set[str], k: int) -> int:
    """How many of the wanted items are among the first k places; one that stands twice counts once."""
    return len(wanted & set(ranking[:k]))


def first_places(ranking: Ranking, wanted: set[str]) -> list[int]:
    """The places, from 1, at which a wanted item stands for the first time."""
    return [place for place, item in enumerate(ranking, 1) if item in wanted and item not in ranking[: place - 1]]


def best_first(grades: Grades) -> list[str]:
    """The items of the solution, the highest grade first."""
    return sorted(grades, key=lambda item: -grades[item])


# --- R-precision ------------------------------------------------------------------------------------------------------


def r_precision_at(
    grades: Grades, ranking: Ranking, z: int, rel: float | str = "positive", *, all_right: bool = False
) -> float:
    """Rp@z: the best items are counted off, and then as many more as tie with the last of them."""
    right = [item for item in best_first(grades) if all_right or grades[item] > 0]
    right = [item for item in right if rel == "positive" or grades[item] >= float(rel)]
    if not right:
        return UNDEFINED
    best = count = min(len(right), z)
    while count < len(right) and grades[right[count]] == grades[right[best - 1]]:
        count += 1
    return counted(ranking, set(right[:count]), z) / best


def mean_r_precision(grades: Grades, ranking: Ranking, cutoffs: Cutoffs, **parameters: object) -> float:
    """MARp: the mean of Rp@z, summed in the order of the cut-offs."""
    total = 0.0
    for z in cutoffs:
        total += r_precision_at(grades, ranking, z, **parameters)  # type: ignore[arg-type]
    return total / len(cutoffs)


def r_precision(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """Rprec: precision at R."""
    wanted = relevant_items(grades, rel)
    return counted(ranking, wanted, len(wanted)) / len(wanted) if wanted else UNDEFINED


# --- Sets -------------------------------------------------------------------------------------------------------------


def precision(grades: Grades, ranking: Ranking, k: int, rel: float | str = "positive") -> float:
    """P@k, divided by k however short the list."""
    wanted = relevant_items(grades, rel)
    return counted(ranking, wanted, k) / k if wanted else UNDEFINED


def recall(grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """R@k, of all relevant items of the solution."""
    wanted = relevant_items(grades, rel)
    return counted(ranking, wanted, len(ranking) if k is None else k) / len(wanted) if wanted else UNDEFINED


def set_precision(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """SetP: precision at the length of the list."""
    if not ranking:
        return 0.0 if relevant_items(grades, rel) else UNDEFINED
    return precision(grades, ranking, len(ranking), rel)


def harmonic(p: float, r: float, beta: float) -> float:
    """F of a precision and a recall."""
    if math.isnan(p):
        return UNDEFINED
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p + r > 0 else 0.0


def f_measure(grades: Grades, ranking: Ranking, k: int, beta: float = 1.0, rel: float | str = "positive") -> float:
    """F@k."""
    return harmonic(precision(grades, ranking, k, rel), recall(grades, ranking, k, rel), beta)


def set_f_measure(grades: Grades, ranking: Ranking, _: None, beta: float = 1.0, rel: float | str = "positive") -> float:
    """SetF."""
    return harmonic(set_precision(grades, ranking, None, rel), recall(grades, ranking, None, rel), beta)


# --- Positions --------------------------------------------------------------------------------------------------------


def average_precision(grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """AP: precision at the place of each relevant item found, over R."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    within = [place for place in first_places(ranking, wanted) if k is None or place <= k]
    return sum(counted(ranking, wanted, place) / place for place in within) / len(wanted)


def reciprocal_rank(grades: Grades, ranking: Ranking, k: int | None, rel: float | str = "positive") -> float:
    """RR: of the first relevant place."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    within = [place for place in first_places(ranking, wanted) if k is None or place <= k]
    return 1 / within[0] if within else 0.0


def interpolated_precision(grades: Grades, ranking: Ranking, level: float, rel: float | str = "positive") -> float:
    """IPrec: the best precision over all places of the list, hits or not, that reach the recall."""
    wanted = relevant_items(grades, rel)
    if not wanted:
        return UNDEFINED
    best = 0.0
    for place in range(1, len(ranking) + 1):
        found = counted(ranking, wanted, place)
        if found / len(wanted) >= level:
            best = max(best, found / place)
    return best


# --- Gain -------------------------------------------------------------------------------------------------------------


def gain_of(name: str) -> Gain:
    """What a grade is worth."""
    return (lambda grade: max(grade, 0.0)) if name == "linear" else (lambda grade: 2.0 ** max(grade, 0.0) - 1)


def discounted(grades: Grades, ranking: Ranking, k: int | None, gain: Gain, discount: str = "log2") -> float:
    """DCG: place by place, an item's gain at its first place only."""
    total = 0.0
    for place, item in enumerate(ranking if k is None else ranking[:k], 1):
        divisor = math.log2(place + 1) if discount == "log2" else max(1.0, math.log2(place))
        if item in grades and item not in ranking[: place - 1]:
            total += gain(grades[item]) / divisor
    return total


def cumulated_gain(
    grades: Grades, ranking: Ranking, k: int | None, gain: str = "linear", discount: str = "log2"
) -> float:
    """DCG, undefined where nothing is relevant."""
    if not relevant_items(grades, "positive"):
        return UNDEFINED
    return discounted(grades, ranking, k, gain_of(gain), discount)


def normalised(grades: Grades, ranking: Ranking, k: int | None, gain: Gain) -> float:
    """nDCG with the log2 discount, over all of the solution."""
    ideal = discounted(grades, best_first(grades), k, gain)
    return discounted(grades, ranking, k, gain) / ideal if ideal > 0 else UNDEFINED


def ndcg(
    grades: Grades,
    ranking: Ranking,
    k: int | None,
    gain: str = "linear",
    discount: str = "log2",
    ideal: str = "judged",
) -> float:
    """nDCG; with ideal=retrieved the best list is the list's own items in order of grade."""
    if not relevant_items(grades, "positive"):
        return UNDEFINED
    best_list = [item for item in best_first(grades) if ideal == "judged" or item in ranking]
    best = discounted(grades, best_list, k, gain_of(gain), discount)
    return discounted(grades, ranking, k, gain_of(gain), discount) / best if best > 0 else 0.0


# --- Graded -----------------------------------------------------------------------------------------------------------


def graded_average_precision(grades: Grades, ranking: Ranking, k: int | None) -> float:
    """muAP: average precision at each level, weighted by its distance from the one below."""
    levels = sorted({grade for grade in grades.values() if grade > 0})
    if not levels:
        return UNDEFINED
    steps = [level - below for level, below in zip(levels, [0.0, *levels], strict=False)]
    total = sum(average_precision(grades, ranking, k, level) * step for level, step in zip(levels, steps, strict=True))
    return total / sum(steps)


def normalised_gain(grades: Grades) -> Gain:
    """2^(g / M) - 1; any gain does where nothing is relevant."""
    highest = max([*grades.values(), 0.0]) or 1.0
    return lambda grade: 2.0 ** (max(grade, 0.0) / highest) - 1


def ndcng(grades: Grades, ranking: Ranking, k: int | None) -> float:
    """NDCNG."""
    return normalised(grades, ranking, k, normalised_gain(grades))


def mean_over_cutoffs(grades: Grades, ranking: Ranking, n: int | None, gain: Gain) -> float:
    """The mean of nDCG@1, nDCG@2, ... nDCG@n, each anew."""
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
    # A later point takes the place of an earlier one at the same grade, and is never lower.
    points = {0.0: 0.0, median: 0.0}
    points[upper] = 1 - (highest - upper) / (highest - lowest)
    points[highest] = 1.0
    curve = PchipInterpolator(list(points), list(points.values()))
    return lambda grade: float(curve(grade)) if grade > 0 else 0.0


def ndcg_phi(grades: Grades, ranking: Ranking, k: int | None, whisker: str = "observed") -> float:
    """nDCGphi."""
    phi = relevance(list(grades.values()), whisker)
    return UNDEFINED if phi is None else normalised(grades, ranking, k, lambda grade: 2.0 ** phi(grade) - 1)


ORACLES: dict[str, Callable[..., float]] = {
    "MARp": mean_r_precision,
    "Rp": r_precision_at,
    "Rprec": r_precision,
    "P": precision,
    "R": recall,
    "F": f_measure,
    "SetP": set_precision,
    "SetR": recall,
    "SetF": set_f_measure,
    "AP": average_precision,
    "RR": reciprocal_rank,
    "IPrec": interpolated_precision,
    "nDCG": ndcg,
    "DCG": cumulated_gain,
    "muAP": graded_average_precision,
    "NDCNG": ndcng,
    "nDCGphi": ndcg_phi,
    "MeanNDCG": mean_ndcg,
    "MeanNDCNG": mean_ndcng,
}
