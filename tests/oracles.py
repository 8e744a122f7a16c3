"""Every measure as a slow loop from its definition; nothing here comes from scorer.

An oracle takes the grades of one query's items, the ranking, the cut-off as the measure has it, and the measure's
parameters. It returns the score, NaN where the measure is undefined.
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


def r_precision(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """Rprec: precision at R."""
    wanted = relevant_items(grades, rel)
    return counted(ranking, wanted, len(wanted)) / len(wanted) if wanted else UNDEFINED


# --- Sets -------------------------------------------------------------------------------------------------------------


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


def set_precision(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """SetP: precision at the length of the list."""
    if not ranking:
        return 0.0 if relevant_items(grades, rel) else UNDEFINED
    return precision(grades, ranking, len(ranking), rel)


def harmonic(p: float, r: float, beta: float, weight: str) -> float:
    """F of a precision and a recall."""
    if math.isnan(p):
        return UNDEFINED
    w = beta**2 if weight == "squared" else beta
    return (1 + w) * p * r / (w * p + r) if p + r > 0 else 0.0


def f_measure(
    grades: Grades,
    ranking: Ranking,
    k: int,
    beta: float = 1.0,
    weight: str = "squared",
    rel: float | str = "positive",
) -> float:
    """F@k."""
    return harmonic(precision(grades, ranking, k, rel), recall(grades, ranking, k, rel=rel), beta, weight)


def set_f_measure(
    grades: Grades,
    ranking: Ranking,
    _: None,
    beta: float = 1.0,
    weight: str = "squared",
    rel: float | str = "positive",
) -> float:
    """SetF."""
    return harmonic(set_precision(grades, ranking, None, rel), recall(grades, ranking, None, rel=rel), beta, weight)


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
        grade = max(grade, 0.0)
        if isinstance(gain, tuple):
            return float(dict(gain).get(grade, grade))
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


def expected_reciprocal_rank(
    grades: Grades, ranking: Ranking, k: int | None, highest: float | str = "solution", *, highest_of_all: float = 0.0
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
            satisfied = (2 ** min(grades[item], top) - 1) / 2**top
            total += reading * satisfied / rank
            reading *= 1 - satisfied
    return total


def rank_biased_overlap(grades: Grades, ranking: Ranking, _: None, p: float = 0.95, normalise: str = "yes") -> float:
    """RBO, from the sets of the first d items for each depth d."""
    wanted = relevant_items(grades, "positive")
    if not wanted:
        return UNDEFINED
    where = {item: ranking.index(item) if item in ranking else len(ranking) for item in wanted}
    ideal = sorted(wanted, key=lambda item: (-grades[item], where[item]))
    depth = max(len(ranking), len(ideal))

    def overlap(one: Ranking) -> float:
        return sum(p ** (d - 1) * len(set(one[:d]) & set(ideal[:d])) / d for d in range(1, depth + 1))

    return overlap(ranking) / (overlap(ideal) if normalise == "yes" else sum(p**d for d in range(depth)))


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


# --- Counts -----------------------------------------------------------------------------------------------------------


def number_of_queries(_grades: Grades, _ranking: Ranking, _: None) -> float:
    """NumQ: one."""
    return 1.0


def number_retrieved(_grades: Grades, ranking: Ranking, _: None) -> float:
    """NumRet."""
    return float(len(ranking))


def number_relevant(grades: Grades, _ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """NumRel."""
    return float(len(relevant_items(grades, rel)))


def number_relevant_retrieved(grades: Grades, ranking: Ranking, _: None, rel: float | str = "positive") -> float:
    """NumRelRet."""
    return float(counted(ranking, relevant_items(grades, rel), len(ranking)))


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
    "SetAP": set_average_precision,
    "AP": average_precision,
    "GMAP": geometric_average_precision,
    "RR": reciprocal_rank,
    "Success": success,
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
    "Bpref": binary_preference,
    "infAP": inferred_average_precision,
    "Judged": judgement_rate,
    "NumQ": number_of_queries,
    "NumRet": number_retrieved,
    "NumRel": number_relevant,
    "NumRelRet": number_relevant_retrieved,
}
