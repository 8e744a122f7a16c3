"""All fusion methods and normalisations, and how they are found by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TypeVar

from scorer.errors import FusionError
from scorer.runs import fusion, normalisation, voting
from scorer.runs.methods import Method
from scorer.runs.normalisation import Normalisation
from scorer.wording import quoted

METHODS: tuple[Method, ...] = (
    fusion.reciprocal_rank,
    fusion.inverse_square_rank,
    fusion.logarithmic_isr,
    fusion.smoothed_logarithmic_isr,
    fusion.rank_biased_centroid,
    voting.borda,
    voting.weighted_borda,
    voting.condorcet,
    voting.weighted_condorcet,
    fusion.comb_sum,
    fusion.comb_mnz,
    fusion.comb_gmnz,
    fusion.comb_anz,
    fusion.comb_max,
    fusion.comb_min,
    fusion.comb_med,
    fusion.weighted_sum,
    fusion.weighted_mnz,
    fusion.mixed,
)

NORMALISATIONS: tuple[Normalisation, ...] = (
    normalisation.min_max,
    normalisation.min_max_inverted,
    normalisation.by_maximum,
    normalisation.by_sum,
    normalisation.z_score,
    normalisation.by_rank,
    normalisation.by_borda,
    normalisation.unchanged,
)

TRAINED = ("bayesfuse", "mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse")
"""Methods of ranx that are left out, because they must be trained on other runs."""

Declared = TypeVar("Declared", bound=Method | Normalisation)


def method_named(name: str) -> Method:
    """Return the method of this name. Raises FusionError."""
    if name.casefold() in TRAINED:
        raise FusionError(f"{quoted(name)} must be trained on other runs, which scorer does not do; {_known(METHODS)}")
    return _named(name, METHODS, "method")


def normalisation_named(name: str | None, method: Method) -> Normalisation:
    """Return the normalisation of this name for a method; None: min-max. Raises FusionError.

    A method that uses ranks needs none, but for one that inverts the lists.
    """
    chosen = normalisation.min_max if name is None else _named(name, NORMALISATIONS, "normalisation")
    if method.uses == "ranks" and chosen is not normalisation.min_max_inverted:
        return normalisation.unchanged
    return chosen


def _named(name: str, known: Sequence[Declared], what: str) -> Declared:
    for each in known:
        if name.casefold() in (each.name, *each.aliases):
            return each
    close = get_close_matches(name.casefold(), [declared.name for declared in known], 1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise FusionError(f"no {what} is called {quoted(name)}{hint}; {_known(known)}")


def _known(known: Sequence[Method | Normalisation]) -> str:
    return f"there are {', '.join(each.name for each in known)}"
