"""``scorer measures``: the measures, listed or explained."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scorer.cli.arguments import WrongCallError
from scorer.cli.console import print_result
from scorer.errors import MeasureError

if TYPE_CHECKING:
    from scorer.measures import Kind


def add_measure(parser: ArgumentParser) -> None:
    """What ``measures`` takes."""
    parser.add_argument("name", nargs="?", help="one of them, to have it explained")


def measures(name: str | None) -> int:
    """List the measures, or explain one."""
    from scorer.measures import KINDS
    from scorer.reports.table import aligned

    if name is None:
        print_result(aligned([[kind.usage, kind.title, kind.summary] for kind in KINDS], left=3))
        return 0
    try:
        kinds = _meant(name)
    except MeasureError as error:
        raise WrongCallError(str(error)) from error
    print_result("\n\n".join(map(_explained, kinds)))
    return 0


def _meant(name: str) -> list[Kind]:
    """The kinds that a name stands for: by itself, with a cut-off and parameters, or as a set of several."""
    from scorer.measures import parse, registry

    try:
        return [registry.kind(name)]
    except MeasureError:
        return list(dict.fromkeys(measure.kind for measure in parse(name, cutoffs=[10])))


def remarks(kind: Kind) -> list[str]:
    """How one score comes from those of the queries, and whether the mean over the orders of tied items is known."""
    ways = {"mean": "the mean", "sum": "the sum, not the mean", "geometric": "the geometric mean"}
    called = f", called {kind.mean_name}" if kind.mean_name else ""
    return [f"Over the queries: {ways[kind.aggregation]}{called}.", f"With ties=expected: {_expected(kind)}."]


def _expected(kind: Kind) -> str:
    if kind.expected is False:
        return "refused, as no formula is known for the mean over the orders of tied items"
    told = "the mean over all orders of tied items"
    for fact, where in ((kind.expected, ""), (kind.expected_when_cut, " where a challenge cuts lists at list_length")):
        if isinstance(fact, Mapping):
            settings = ", ".join(f"{name}={value}" for name, value in fact.items())
            told += f"; refused with {settings}{where}, as no formula is known"
        elif not fact:
            told += f"; refused{where}, as no formula is known"
    return told


def _explained(kind: Kind) -> str:
    told = [
        f"{kind.usage}: {kind.title}",
        kind.summary,
        f"  {kind.formula}",
        *(
            f"  {each.name}: {each.about.description} ({each.allowed}; default {each.default})"
            for each in kind.parameters
        ),
        kind.edge_cases,
        *remarks(kind),
        f"Source: {kind.source}",
    ]
    if kind.aliases:
        told.append(f"Also written: {', '.join(kind.aliases)}")
    return "\n".join(told)
