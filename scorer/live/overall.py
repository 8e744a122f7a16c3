"""The rules of the overall ranking, in sentences."""

from __future__ import annotations

from scorer.settings.overall import Overall
from scorer.wording import joined

DECIMALS = 2
"""Of mean ranks and of points."""

_SCORES = {
    "mean": "The overall score of a team is the {weighted}mean of its scores{by} in the tracks {tracks}.",
    "rank": "The overall score of a team is the {weighted}mean of its ranks{by} in the tracks {tracks}. Teams with "
    "equal scores share the mean of their ranks. The lowest overall score is first.",
    "borda": "In each of the tracks {tracks}, a team gets a point for each other team with a lower score{by}, and half "
    "a point for each with an equal one. The {weighted}sum of its points is its overall score.",
}

_MISSING = {
    "mean": "In a track in which a team has no score, it scores 0.",
    "rank": "In a track in which a team has no score, its rank is the last one, the number of teams.",
    "borda": "In a track in which a team has no score, it gets no points.",
}

_EQUAL = {
    "shared": "Equal teams share a rank, as in 1, 1, 3.",
    "earlier": "Of equal teams, that whose last entry that counts was received earlier is first.",
}


def overall_rules(overall: Overall) -> tuple[str, ...]:
    """How the overall score follows from the tracks, and the ranks from it."""
    weighted, by = "weighted " * bool(overall.weights), f" by {overall.measure}" * bool(overall.measure)
    decimals = "the decimals of the scores" if overall.rule == "mean" else f"{DECIMALS} decimals"
    sentences = (
        _SCORES[overall.rule].format(weighted=weighted, by=by, tracks=joined(overall.tracks)),
        bool(overall.weights) and f"The weights of the tracks are {joined([f'{each:g}' for each in overall.weights])}.",
        overall.missing == "lowest" and _MISSING[overall.rule],
        overall.missing == "unranked"
        and "A team without a score in one of the tracks has no overall rank, and does not affect the ranks of others.",
        f"Overall scores are rounded to {decimals} before they are compared.",
        overall.tie_break and f"Equal teams are ordered by the mean of their scores by {overall.tie_break}.",
        _EQUAL[overall.equal_ranks],
        "Baselines, and teams without a rank in any of these tracks, are left out.",
    )
    return tuple(each for each in sentences if each)
