"""Measures of diversity and novelty, measures for incomplete judgements, and counts.

A subtopic is an aspect of a query, for which an item has its own grade. Source: Clarke et al., Novelty and Diversity in
Information Retrieval Evaluation, SIGIR 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from scorer.measures.gain import chunks, discounts
from scorer.measures.kinds import kind
from scorer.measures.matched import (
    About,
    Bools,
    Floats,
    Ints,
    JudgedItems,
    Matched,
    RankValues,
    Relevant,
    Subtopics,
    Threshold,
    is_relevant,
    once,
    ranges,
    ratio,
)

NEVER = np.iinfo(np.int64).max
"""The place of a kind whose item is not taken next."""


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Which subtopics the items of a solution are relevant to: a pair for each item and subtopic, by item.

    Only pairs with a relevant grade are in it. The subtopics of all queries are numbered together, by query. In a
    solution without subtopics, each query has one.
    """

    first: Ints
    """[entry of the ideal list + 1]: the index at which the pairs of each item begin, and the end of the last one."""
    subtopic: Ints
    """[pair]: the number of the subtopic, ascending for each item."""
    query: Ints
    """[subtopic]: the index of its query."""
    items: Ints
    """[subtopic]: the number of items that are relevant to it."""
    covered: Floats
    """[query]: the number of its subtopics that have a relevant item."""

    def pairs(self, entry: Ints) -> tuple[Ints, Ints]:
        """[pair]: the subtopics of these items of the ideal list; [pair]: the index in `entry` of the item."""
        pair, owner = ranges(self.first[entry], self.first[entry + 1])
        return self.subtopic[pair], owner


@once
def coverage(matched: Matched, rel: Threshold) -> Coverage:
    """Return which subtopics the items of the solution are relevant to; `rel` makes a grade relevant."""
    ideal, held = matched.ideal, matched.ideal.subtopics
    if held is None:
        relevant = is_relevant(ideal.grade, rel)
        lengths, subtopic = relevant.astype(np.int64), ideal.query[relevant]
        query = np.arange(matched.queries)
    else:
        entry = np.repeat(np.arange(len(ideal)), np.diff(held.first))
        last = np.full(matched.queries, -1, dtype=np.int64)
        np.maximum.at(last, ideal.query[entry], held.subtopic)
        before = np.cumsum(last + 1) - last - 1
        kept = is_relevant(held.grade, rel)
        lengths = np.bincount(entry[kept], minlength=len(ideal))
        subtopic = (before[ideal.query[entry]] + held.subtopic)[kept]
        query = np.repeat(np.arange(matched.queries), last + 1)
    items = np.bincount(subtopic, minlength=query.size)
    covered = np.bincount(query[items > 0], minlength=matched.queries)
    return Coverage(np.append(0, np.cumsum(lengths)), subtopic, query, items, covered.astype(np.float64))


def entries_by_subtopic(matched: Matched, hits: JudgedItems, rel: Threshold) -> tuple[JudgedItems, Ints, Ints]:
    """Return the items of a list once for each subtopic that they are relevant to.

    With them: [item]: the subtopic; [item]: the index in `hits`, which are such as ``matched.found.top(k)``.
    """
    if matched.ideal.subtopics is None or hits.entry is None:
        index = np.flatnonzero(is_relevant(hits.grade, rel))
        return hits.where(index), hits.query[index], index
    subtopic, index = coverage(matched, rel).pairs(hits.entry)
    return hits.where(index), subtopic, index


def count_so_far(subtopic: Ints) -> Ints:
    """[element]: how many elements up to and including this one have its subtopic."""
    by_subtopic = np.argsort(subtopic, kind="stable")
    start = np.flatnonzero(np.diff(subtopic[by_subtopic], prepend=-1))
    count = np.empty_like(subtopic)
    sizes = np.diff(start, append=subtopic.size)
    count[by_subtopic] = np.arange(1, subtopic.size + 1) - np.repeat(start, sizes)
    return count


def novelty(matched: Matched, k: int | None, alpha: float, rel: Threshold) -> RankValues:
    """Return the gain of each judged item of the lists, up to rank `k`.

    An item gains (1 - alpha)^c for each of its subtopics, where c is the number of earlier items with that subtopic.
    """
    hits = matched.found.top(k)
    _, subtopic, item = entries_by_subtopic(matched, hits, rel)
    earlier = count_so_far(subtopic) - 1
    gain = np.bincount(item, _powers(alpha, earlier)[earlier], minlength=len(hits))
    return RankValues(hits.query, hits.rank, np.asarray(gain, dtype=np.float64))


@once
def ideal_novelty(matched: Matched, k: int | None, alpha: float, rel: Threshold) -> RankValues:
    """Return the gains of the ideal lists up to rank `k`: at each rank the item with the highest gain, which is greedy.

    Of several such items, the one with the highest id is taken, as in ndeval.
    """
    if matched.ideal.subtopics is None:
        ideal = matched.ideal.relevant(rel)
        position = ideal.position_in_query()
        inside = position <= (position.size if k is None else k)
        return RankValues(ideal.query[inside], position[inside], _powers(alpha, position)[position[inside] - 1])
    kinds = _Kinds.of(matched, matched.ideal.subtopics, rel)
    gain = np.ones(coverage(matched, rel).query.size)
    taken = np.zeros_like(kinds.size)
    starts = np.flatnonzero(np.diff(kinds.query, prepend=-1))
    owner = np.repeat(np.arange(starts.size), np.diff(starts, append=kinds.query.size))
    ranks: list[RankValues] = []
    while starts.size and (k is None or len(ranks) < k):
        gains = np.bincount(kinds.of_pair, gain[kinds.subtopic], minlength=kinds.size.size)
        gains[taken == kinds.size] = 0
        best = np.maximum.reduceat(gains, starts)
        gaining = np.flatnonzero(best)
        if not gaining.size:
            break
        following = kinds.id_rank[np.minimum(kinds.first + taken, kinds.id_rank.size - 1)]
        following[(gains == 0) | (gains < best[owner])] = NEVER
        chosen = (gains > 0) & (following == np.minimum.reduceat(following, starts)[owner])
        rank = np.full(gaining.size, len(ranks) + 1)
        ranks.append(RankValues(kinds.query[starts[gaining]], rank, best[gaining]))
        taken[chosen] += 1
        gain[kinds.subtopic[chosen[kinds.of_pair]]] *= 1 - alpha
    nothing = np.zeros(0, dtype=np.int64)
    query = np.concatenate([nothing, *(part.query for part in ranks)])
    order = np.argsort(query, kind="stable")
    return RankValues(
        query[order],
        np.concatenate([nothing, *(part.rank for part in ranks)])[order],
        np.concatenate([nothing, *(part.value for part in ranks)])[order].astype(np.float64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Kinds:
    """The relevant items of a solution in kinds: items of a query that have the same subtopics, by query."""

    query: Ints
    """[kind]: the index of the query."""
    size: Ints
    """[kind]: the number of items."""
    first: Ints
    """[kind]: the index in `id_rank` of its first item."""
    id_rank: Ints
    """[item]: by kind, ascending; see `Subtopics.id_rank`."""
    of_pair: Ints
    """[pair of a kind and a subtopic]: the kind."""
    subtopic: Ints
    """[pair of a kind and a subtopic]: the subtopic."""

    @classmethod
    def of(cls, matched: Matched, subtopics: Subtopics, rel: Threshold) -> _Kinds:
        """Return the kinds of the items of a solution."""
        covered = coverage(matched, rel)
        entry = np.flatnonzero(np.diff(covered.first))
        start, lengths = covered.first[entry], np.diff(covered.first)[entry]
        kind = np.zeros(entry.size, dtype=np.int64)
        for nth in range(int(lengths.max(initial=0))):
            subtopic = covered.subtopic[np.minimum(start + nth, covered.subtopic.size - 1)]
            key = kind * (covered.query.size + 1) + np.where(lengths > nth, subtopic + 1, 0)
            kind = np.unique(key, return_inverse=True)[1]
        order = np.lexsort((subtopics.id_rank[entry], kind))
        size = np.bincount(kind)
        first = np.cumsum(size) - size
        example = entry[order[first]]
        subtopic, of_pair = covered.pairs(example)
        return cls(matched.ideal.query[example], size, first, subtopics.id_rank[entry[order]], of_pair, subtopic)


def _powers(alpha: float, exponent: Ints) -> Floats:
    """Return (1 - alpha)^0, (1 - alpha)^1, and so on, up to the highest exponent."""
    return np.cumprod(np.append(1.0, np.full(int(exponent.max(initial=0)), 1 - alpha)))


Redundancy = Annotated[float, About(0, 1)]
_Patience = Annotated[float, About(0, 1)]

_Weights = Callable[[Ints], Floats]
"""Computes the weight of each rank."""

_diverse = partial(kind, closed_form=False, subtopics=True)


@_diverse(name="alpha-nDCG", aliases={"α-nDCG": {}}, bounded=False)
def alpha_ndcg(matched: Matched, k: int | None, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The discounted novelty of the items of the list, divided by that of the ideal list."""
    return _against_ideal(matched, k, alpha, rel, discounts)


@_diverse(name="alpha-DCG", aliases={"α-DCG": {}})
def alpha_dcg(matched: Matched, k: int, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The discounted novelty of the items, divided by that of items that have all subtopics of the query."""
    return _against_all(matched, k, alpha, rel, discounts)


@_diverse(name="ERR-IA")
def err_ia(matched: Matched, k: int, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item divided by its rank, as a share of that of items that have all subtopics."""
    return _against_all(matched, k, alpha, rel, lambda rank: 1 / rank)


@_diverse(name="nERR-IA", bounded=False)
def nerr_ia(matched: Matched, k: int | None, *, alpha: Redundancy = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item divided by its rank, as a share of that of the ideal list."""
    return _against_ideal(matched, k, alpha, rel, lambda rank: 1 / rank)


@_diverse(name="NRBP")
def nrbp(matched: Matched, *, alpha: Redundancy = 0.5, beta: _Patience = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item, weighted by the probability that a user looks at its rank."""
    sums = _weighted(matched, novelty(matched, None, alpha, rel), _persistence(beta))
    covered = coverage(matched, rel).covered
    return ratio(sums * (1 - (1 - alpha) * beta), np.maximum(covered, 1), covered > 0)


@_diverse(name="nNRBP", bounded=False)
def nnrbp(matched: Matched, *, alpha: Redundancy = 0.5, beta: _Patience = 0.5, rel: Relevant = "positive") -> Floats:
    """The novelty of each item, weighted by the probability of a look at its rank, against that of the ideal list."""
    return _against_ideal(matched, None, alpha, rel, _persistence(beta))


@kind(name="P-IA", subtopics=True)
def precision_ia(matched: Matched, k: int, *, rel: Relevant = "positive") -> Floats:
    """The mean over the subtopics of the precision at k."""
    hits, _, _ = entries_by_subtopic(matched, matched.found, rel)
    covered = coverage(matched, rel).covered
    return ratio(matched.count(hits, k), np.maximum(covered, 1) * k, covered > 0)


@_diverse(name="AP-IA", aliases={"MAP-IA": {}}, mean_name="MAP-IA")
def average_precision_ia(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The mean over the subtopics of the average precision."""
    hits, subtopic, _ = entries_by_subtopic(matched, matched.found, rel)
    judged = coverage(matched, rel)
    shares = count_so_far(subtopic) / hits.rank / judged.items[subtopic]
    return ratio(matched.total(hits, shares), np.maximum(judged.covered, 1), judged.covered > 0)


@_diverse(name="StRecall", aliases={"strec": {}})
def subtopic_recall(matched: Matched, k: int | None, *, rel: Relevant = "positive") -> Floats:
    """The share of the subtopics that the list covers."""
    hits, subtopic, _ = entries_by_subtopic(matched, matched.found.top(k), rel)
    covered = coverage(matched, rel).covered
    return ratio(matched.total(hits.where(count_so_far(subtopic) == 1)), np.maximum(covered, 1), covered > 0)


def _against_ideal(matched: Matched, k: int | None, alpha: float, rel: Threshold, weights: _Weights) -> Floats:
    """[query]: the weighted gains of the list up to rank `k`, divided by those of the ideal list."""
    best = _weighted(matched, ideal_novelty(matched, k, alpha, rel), weights)
    return ratio(_weighted(matched, novelty(matched, k, alpha, rel), weights), np.where(best > 0, best, 1), best > 0)


def _against_all(matched: Matched, k: int, alpha: float, rel: Threshold, weights: _Weights) -> Floats:
    """[query]: the weighted gains of the list up to rank `k`, divided by those of items that have all subtopics."""
    covered = coverage(matched, rel).covered
    best = np.maximum(covered, 1) * _shrinking(k, alpha, weights)
    return ratio(_weighted(matched, novelty(matched, k, alpha, rel), weights), best, covered > 0)


def _shrinking(k: int, alpha: float, weights: _Weights) -> float:
    """Return the sum of the weights of the ranks up to `k`, each times (1 - alpha)^(rank - 1)."""
    total = 0.0
    for ranks in chunks(k):
        terms = (1 - alpha) ** (ranks - 1.0) * weights(ranks)
        total += float(terms.sum())
        if not terms[-1]:
            break
    return total


def _weighted(matched: Matched, gains: RankValues, weights: _Weights) -> Floats:
    """[query]: the sum of the gains, each times the weight of its rank."""
    return matched.total(gains, gains.value * weights(gains.rank))


def _persistence(beta: float) -> _Weights:
    return lambda rank: np.asarray(beta ** (rank - 1.0), dtype=np.float64)


_EPSILON = 0.00001
"""What infAP adds to its counts, so that no denominator is 0; as in trec_eval."""


@kind(name="Bpref", closed_form=False)
def binary_preference(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """How rarely an item judged not relevant is ranked before a relevant item."""
    wanted, unwanted = matched.relevant_items(rel), matched.total(matched.ideal.where(judged_not(matched.ideal, rel)))
    before = matched.found.count_so_far(judged_not(matched.found, rel))
    relevant = is_relevant(matched.found.grade, rel)
    hits = matched.found.where(relevant)
    most = np.maximum(np.minimum(wanted, unwanted), 1)
    preferred = 1 - np.minimum(before[relevant], wanted[hits.query]) / most[hits.query]
    return ratio(matched.total(hits, preferred), wanted, wanted > 0)


@kind(name="GMBpref", closed_form=False, aggregation="geometric")
def geometric_binary_preference(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The binary preference, whose scores of all queries are averaged geometrically."""
    return binary_preference.function(matched, rel=rel)


@kind(name="infAP", closed_form=False)
def inferred_average_precision(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """An estimate of AP where only a sample of the pool is judged."""
    found, wanted = matched.found, matched.relevant_items(rel)
    relevant = is_relevant(found.grade, rel)
    hits = found.where(relevant)
    good = hits.position_in_query() - 1
    bad = found.count_so_far(judged_not(found, rel))[relevant]
    unjudged = found.count_so_far((found.grade < 0) & ~relevant)[relevant]
    share = (good + _EPSILON) / (good + bad + 2 * _EPSILON)
    return ratio(matched.total(hits, (1 + (good + bad + unjudged) * share) / hits.rank), wanted, wanted > 0)


def judged_not(hits: JudgedItems, rel: Threshold) -> Bools:
    """[entry]: whether the item is judged not relevant."""
    return (hits.grade >= 0) & ~is_relevant(hits.grade, rel)


@kind(name="Judged")
def judgement_rate(matched: Matched, k: int | None) -> Floats:
    """The share of the first k items that have a grade of 0 or more in the solution."""
    depth = matched.retrieved if k is None else np.minimum(matched.retrieved, k)
    found = matched.count(matched.found.where(matched.found.grade >= 0), k)
    return found / np.maximum(depth, 1)


@kind(name="Unjudged")
def unjudged_share(matched: Matched, k: int) -> Floats:
    """The number of items in the first k ranks without a grade of 0 or more in the solution, divided by k."""
    judged = matched.count(matched.found.where(matched.found.grade >= 0), k)
    return (np.minimum(matched.retrieved, k) - judged) / k


_count = partial(kind, aggregation="sum")


@_count(name="NumQ")
def number_of_queries(matched: Matched) -> Floats:
    """The number of queries, each of which counts 1."""
    return np.ones(matched.queries)


@_count(name="NumRet", bounded=False, redirected={"rel": {"*": "NumRelRet"}})
def number_retrieved(matched: Matched) -> Floats:
    """The number of items in the list, repeated items included."""
    return matched.retrieved.astype(np.float64)


@_count(name="NumRel", bounded=False)
def number_relevant(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items that the solution has for the query."""
    return matched.relevant_items(rel)


@_count(name="NumRelRet", bounded=False)
def number_relevant_retrieved(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of relevant items in the list."""
    return matched.relevant_found(rel)


@_count(name="NumNonrelJudgedRet", bounded=False)
def number_judged_not_relevant(matched: Matched, *, rel: Relevant = "positive") -> Floats:
    """The number of items in the list that are judged and not relevant."""
    return matched.count(matched.found.where(judged_not(matched.found, rel)))
