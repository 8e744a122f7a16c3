"""``scorer measures``: list or explain measures."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scorer.cli.arguments import WrongCallError
from scorer.cli.console import print_result
from scorer.errors import MeasureError

if TYPE_CHECKING:
    from scorer.measures import Kind, Value


SUBTOPICS = (
    "An item has a subtopic if its grade for the subtopic is relevant. Subtopics without a relevant item do not count. "
    "In a solution without subtopics, each query has one. Under ties=best and ties=worst, tied items are ordered by "
    "their highest grade, which need not give the highest or the lowest score."
)


def add_measure(parser: ArgumentParser) -> None:
    """Add the arguments of ``measures``."""
    parser.add_argument("name", nargs="?", metavar="MEASURE", help="the measure to explain; default: list all measures")


def measures(name: str | None) -> int:
    """List all measures, or explain one."""
    from scorer.measures import KINDS
    from scorer.wording.table import aligned

    if name is None:
        print_result(aligned([[kind.usage, kind.title, kind.summary] for kind in KINDS]))
        return 0
    try:
        kinds = _named(name)
    except MeasureError as error:
        raise WrongCallError(str(error)) from error
    print_result("\n\n".join(map(_explained, kinds)))
    return 0


def _named(name: str) -> list[Kind]:
    """Return the kinds that `name` names, with or without a cut-off and parameters, or as a set."""
    from scorer.measures import parse, registry

    try:
        return [registry.kind(name)]
    except MeasureError:
        return list(dict.fromkeys(measure.kind for measure in parse(name, cutoffs=[10])))


def remarks(kind: Kind) -> list[str]:
    """Return how the scores of queries are aggregated, whether ties=expected is possible, and what subtopics are."""
    ways = {"mean": "the mean", "sum": "the sum, not the mean", "geometric": "the geometric mean"}
    called = f", called {kind.mean_name}" if kind.mean_name else ""
    return [
        f"Over the queries: {ways[kind.aggregation]}{called}.",
        f"With ties=expected: {_expected(kind)}.",
        *([SUBTOPICS] if kind.subtopics else []),
    ]


def _expected(kind: Kind) -> str:
    if not kind.closed_form:
        return "refused, because no formula is known for the mean over the orders of tied items"
    text = "the mean over all orders of tied items"
    unknown = "because no formula is known"
    where_cut = " where a challenge cuts lists at list_length"
    if kind.closed_form_except:
        text += f"; refused with {_settings(kind.closed_form_except)}, {unknown}"
    if not kind.closed_form_when_cut:
        text += f"; refused{where_cut}, {unknown}"
    if kind.closed_form_when_cut_except:
        text += f"; refused with {_settings(kind.closed_form_when_cut_except)}{where_cut}, {unknown}"
    return text


def _settings(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _explained(kind: Kind) -> str:
    lines = [
        f"{kind.usage}: {kind.title}",
        kind.summary,
        f"  {kind.formula}",
        *(
            f"  {parameter.name}: {parameter.about.description} ({parameter.allowed}; default {parameter.default})"
            for parameter in kind.parameters
        ),
        kind.edge_cases,
        *remarks(kind),
        f"Source: {kind.source}",
    ]
    written = [*kind.aliases, *(f"{name} (without a cut-off)" for name in kind.whole_list_names)]
    if written:
        lines.append(f"Also written: {', '.join(written)}")
    return "\n".join(lines)
