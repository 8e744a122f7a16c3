"""All measures, and the functions that read their names.

To add a measure, write a function with its declaration in one of the families here, its title, formula and so on in
the TOML file of that family, and a slow oracle of the same name in ``tests/oracles.py``. Help, pages, reports and the
tests over all measures follow from these.
"""

from __future__ import annotations

from scorer.measures import binary, diversity, gain, graded, user_models
from scorer.measures.kinds import Aggregation, Kind, Measure
from scorer.measures.matched import Cutoff, Parameter, ParameterValue
from scorer.measures.names import EarlierNames, Registry
from scorer.measures.trec_eval import TREC_SETS
from scorer.options import DEFAULT_MEASURES

FAMILIES = (binary, gain, graded, user_models, diversity)

KINDS: tuple[Kind, ...] = tuple(
    value for family in FAMILIES for value in vars(family).values() if isinstance(value, Kind)
)
"""Every kind that a family declares, in this order, which is that of help and pages."""

registry = Registry(KINDS, TREC_SETS)
earlier = EarlierNames(KINDS, TREC_SETS)
parse = registry.parse
parse_one = registry.parse_one

__all__ = [
    "DEFAULT_MEASURES",
    "KINDS",
    "TREC_SETS",
    "Aggregation",
    "Cutoff",
    "Kind",
    "Measure",
    "Parameter",
    "ParameterValue",
    "earlier",
    "parse",
    "parse_one",
    "registry",
]
