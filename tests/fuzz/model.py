"""Model: the meaning of a file, a solution and ranked lists as plain values, and its scores by the oracles."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scorer.measures import parse
from scorer.scoring.outcomes import Rules
from tests import oracles

MEASURES = tuple(each for name in ("AP", "nDCG", "nDCG@3", "P@5", "RR", "Rprec") for each in parse(name))
RULES = Rules(MEASURES)

SOME_RULES = (
    *(RULES, RULES, RULES, replace(RULES, ties="order", list_length=3), replace(RULES, ties="best", missing="skip")),
    *(replace(RULES, tie_bounds=True), replace(RULES, ties="worst", list_length=2), replace(RULES, unjudged="drop")),
    *(replace(RULES, missing="reject"), replace(RULES, nothing_relevant="zero", list_length=1)),
)

QUERIES = ("q1", "q2", "q3", "q10", "7", "19", "007", "NA", "null", "é", "Q", "q-1", "17a")
ITEMS = (
    *("a", "b", "c", "d", "e", "A", "0", "12", "340", "-5", "00", "nan", "None", "1.5", "true", "ü", "日本", "d_1"),
    "x-9",
    *("1e3", "clueweb09-en0000-00-00000", "https//example.org/p?q=1&r=2", "\U0001f600", "e\u0301"),
)
RICH = (
    *("a b", "x,y", "x;y", "p|q", "k:v", '"', 'say "a"', "'b'", "[c]", "{d}", "(e)", "#f", "g#h", "\\", "\\u0041"),
    "=1+1",
    *(
        "tab\there",
        "\u200b",
        "\u00a0",
        "i\u3000j",
        "\u202ex",
        "\x1fy",
        "z\x85",
        "\ufeffw",
        "query",
        "qid:1",
        "<b>",
        "a" * 40,
    ),
)
"""Ids that some of the formats cannot hold, or that hide the format from its detection."""

Lists = Mapping[str, Sequence[tuple[str, float]]]


@dataclass(frozen=True, slots=True)
class Model:
    """A solution, and ranked lists for it."""

    grades: Mapping[str, Mapping[str, float]]
    """Query -> item -> grade."""
    flagged: frozenset[str]
    """The queries of the preliminary board."""
    lists: Lists
    """Query -> items with their run scores, in the order of the file."""

    def ranking(self, query: str) -> list[str]:
        """The items of a list, the best first; by descending id where run scores are equal."""
        listed = sorted(self.lists.get(query, ()), key=lambda entry: entry[0].encode(), reverse=True)
        return [item for item, _ in sorted(listed, key=lambda entry: -entry[1])]

    def scores(self) -> dict[str, list[float]]:
        """The scores of the lists by the oracles: for each query of the solution, those of `MEASURES`."""
        return {
            query: [
                oracles.ORACLES[measure.kind.name](grades, self.ranking(query), measure.cutoff) for measure in MEASURES
            ]
            for query, grades in self.grades.items()
        }


@dataclass(frozen=True, slots=True)
class Needs:
    """What a format cannot hold."""

    unfit_query: re.Pattern[str]
    unfit_item: re.Pattern[str]
    rich: bool
    """Whether to draw ids that hide the format."""
    empty: bool = True
    """Whether a query may have no items."""
    flags: bool = True
    distinct: bool = False
    """Whether the run scores of a list descend, because the format holds no more than the order of its items."""


def drawn(rng: random.Random, needs: Needs) -> Model:
    """Return a model that the format can hold. At least one item is relevant, and at least one query has a list."""
    rich = RICH if needs.rich else ()
    queries = [each for each in (*QUERIES, *rich) if not needs.unfit_query.search(each)]
    items = [each for each in (*ITEMS, *rich) if not needs.unfit_item.search(each)]
    queries = rng.sample(queries, rng.randint(1, min(8, len(queries))))
    items = rng.sample(items, rng.randint(2, len(items)))
    known = queries[: rng.randint(1, len(queries))]
    levels = rng.choice([[0.0, 1.0], [0.0, 1.0, 2.0, 3.0], [-1.0, 0.0, 0.5, 1.0, 2.0, 40.0]])
    least = 0 if needs.empty else 1
    grades = {
        query: {item: rng.choice(levels) for item in rng.sample(items, rng.randint(least, len(items)))}
        for query in known
    }
    grades[known[0]] = {**grades[known[0]], rng.choice(items): levels[-1]}
    lists = {query: _ranked(rng, items, least, needs.distinct) for query in queries if rng.random() < 0.8}
    lists.setdefault(known[-1], _ranked(rng, items, 1, needs.distinct))
    some = rng.random() < 0.5 and needs.flags
    return Model(grades, frozenset(query for query in known if some and rng.random() < 0.5), lists)


def _ranked(rng: random.Random, items: Sequence[str], least: int, distinct: bool) -> list[tuple[str, float]]:
    count = rng.randint(least, len(items))
    listed = rng.sample(items, count)
    if rng.random() < 0.2:
        listed += rng.choices(items, k=rng.randint(1, 3))
    if distinct or rng.random() < 0.4:
        scores = [float(len(listed) - at) for at in range(len(listed))]
    elif rng.random() < 0.5:
        scores = [float(rng.randint(-2, 3)) for _ in listed]
    else:
        scores = [rng.choice([rng.uniform(-1, 1), rng.uniform(-1, 1) * 10 ** rng.randint(-30, 30)]) for _ in listed]
    listed_with_scores = list(zip(listed, scores, strict=True))
    return sorted(listed_with_scores, key=lambda entry: -entry[1]) if rng.random() < 0.5 else listed_with_scores
