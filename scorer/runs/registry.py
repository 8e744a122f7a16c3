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

METHODS: tuple[Method, ...] = tuple(
    sorted(
        (each for family in (fusion, voting) for each in vars(family).values() if isinstance(each, Method)),
        key=lambda method: method.uses,
    )
)
"""All methods: those that use ranks, then those that use scores, in the order of their declarations."""

NORMALISATIONS: tuple[Normalisation, ...] = tuple(
    each for each in vars(normalisation).values() if isinstance(each, Normalisation)
)

TRAINED = ("bayesfuse", "mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse")
"""Methods of ranx that are left out, because they must be trained on other runs."""

Named = TypeVar("Named", bound=Method | Normalisation)


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


def _named(name: str, known: Sequence[Named], what: str) -> Named:
    for each in known:
        if name.casefold() in (each.name, *each.aliases):
            return each
    close = get_close_matches(name.casefold(), [declared.name for declared in known], 1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise FusionError(f"no {what} is called {quoted(name)}{hint}; {_known(known)}")


def _known(known: Sequence[Method | Normalisation]) -> str:
    return f"there are {', '.join(each.name for each in known)}"
