"""``scorer overlap``: how similar runs are, pair by pair."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

from scorer.cli.arguments import FORMAT_HELP, WrongCallError, add_form, add_tag, format_name, whole_number
from scorer.cli.console import print_message, print_result
from scorer.cli.evaluating import check_several, check_standard_input
from scorer.errors import MeasureError
from scorer.wording import counted

if TYPE_CHECKING:
    from scorer.runs.overlap import Overlaps

FORMS = ("table", "json", "csv", "markdown", "latex")

DEFAULT = ("RBO", "Jaccard@10", "tauAP")
"""The measures if none is named; the same as in `scorer.runs.similarity`, which takes long to import."""


def add_overlap(parser: ArgumentParser) -> None:
    """Add the arguments of ``overlap``."""
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="run",
        help="files with ranked lists, two or more: paths, URLs, or - for standard input",
    )
    parser.add_argument(
        "-m",
        "--measure",
        dest="names",
        action="append",
        metavar="MEASURE",
        help="measures of similarity, as in RBO(p=0.95),Jaccard@10,Overlap@10,AO@10,tau,tauAP; repeatable; default: "
        f"{','.join(DEFAULT)}",
    )
    parser.add_argument(
        "--depth", type=whole_number(1), metavar="N", help="compare the first N items of each list; default: all"
    )
    add_form(parser, FORMS, "of the similarities")
    parser.add_argument("-q", "--per-query", action="store_true", help="print a row for each query of each pair")
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the runs' format, {FORMAT_HELP}")
    add_tag(parser, "submission_format")
    parser.add_argument(
        "--measures", action="store_true", help="list the measures of similarity with their parameters, and exit"
    )


def overlap(
    runs: list[str],
    names: list[str] | None,
    depth: int | None,
    form: str,
    per_query: bool,
    submission_format: str | None,
    measures: bool,
) -> int:
    """Measure how similar two or more runs are: which items they share, and in which order.

    No solution is needed. A query that only one run of a pair has is left out of the means of that pair.
    """
    from scorer.reports.overlaps import overlap_text
    from scorer.runs.overlap import overlap as compared

    if measures:
        print_result(_explained())
        return 0
    check_several(runs, "run")
    check_standard_input(*runs)
    file_format = submission_format and format_name(submission_format, "--submission-format")
    try:
        overlaps = compared(runs, names or DEFAULT, depth=depth, submission_format=file_format)
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    print_message(*_notes(overlaps))
    print_result(overlap_text(overlaps, form, per_query=per_query))
    return 0


def _notes(overlaps: Overlaps) -> list[str]:
    """What the means leave out, in sentences."""
    lines = [
        f"{run}: {counted(number, 'repeated item')} left out; an item counts once, at its first rank"
        for run, number in overlaps.repeated.items()
        if number
    ]
    lines += [
        f"{run}: {counted(number, 'query', 'queries')} of {overlaps.queries:,} without a list, left out of the means "
        "of its pairs"
        for run, number in overlaps.missing.items()
        if number
    ]
    for measure in overlaps.measures:
        number = sum(pair.undefined[measure] for pair in overlaps.pairs)
        lists = sum(len(pair.queries) for pair in overlaps.pairs)
        if number:
            lines.append(
                f"{measure}: {number:,} of {counted(lists, 'pair')} of lists left out of the means: they share fewer "
                "than two items"
            )
    return lines


def _explained() -> str:
    """Return what each measure is."""
    from scorer.runs.similarity import SIMILARITIES

    parts = []
    for kind in SIMILARITIES:
        lines = [f"{kind.usage}: {kind.title}", f"{kind.summary} {kind.edge_cases}".strip(), f"  {kind.formula}"]
        lines += [
            f"  {parameter.name}: {parameter.about.description} ({parameter.allowed}; default {parameter.default})"
            for parameter in kind.parameters
        ]
        parts.append("\n".join([*lines, f"  Source: {kind.source}"]))
    return "\n\n".join(parts)
