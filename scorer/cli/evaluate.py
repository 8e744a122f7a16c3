"""``scorer evaluate``: scores of files, for people and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.say import FORMAT_HELP, complain, followed, format_name, say
from scorer.errors import MeasureError, SubmissionError, counted
from scorer.paths import shown

if TYPE_CHECKING:
    from scorer.scoring import Evaluation


class Output(StrEnum):
    """How the scores are printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"
    trec = "trec"


class Split(StrEnum):
    """Which of the solution's queries."""

    all = "all"
    preliminary = "preliminary"
    rest = "rest"


class Missing(StrEnum):
    """What becomes of a submission that lacks a query."""

    zero = "zero"
    reject = "reject"
    skip = "skip"


class Ties(StrEnum):
    """How equal run scores are ordered."""

    trec = "trec"
    order = "order"
    expected = "expected"
    best = "best"
    worst = "worst"


class NothingRelevant(StrEnum):
    """What becomes of a query that the solution has nothing relevant for."""

    skip = "skip"
    zero = "zero"


class Unjudged(StrEnum):
    """What becomes of items that the solution does not list."""

    nonrelevant = "nonrelevant"
    drop = "drop"


def evaluate(
    solution: Annotated[str, typer.Argument(help="What is right: the graded items of every query. A path or a URL.")],
    submissions: Annotated[list[str], typer.Argument(help="Ranked lists, a file each, likewise.")],
    measure: Annotated[list[str], typer.Option("-m", "--measure", help="A measure, as in nDCG@10; repeatable.")],
    output: Annotated[Output, typer.Option("--format", help="How to print the scores.")] = Output.table,
    per_query: Annotated[bool, typer.Option("-q", "--per-query", help="Print each query's scores too.")] = False,
    side_by_side: Annotated[
        bool, typer.Option("--side-by-side", help="A column for each submission, a row for each measure.")
    ] = False,
    significance: Annotated[
        float | None,
        typer.Option(
            help="Mark differences that are significant at this level, as in 0.05.",
            min=0.0001,
            max=0.5,
            metavar="LEVEL",
        ),
    ] = None,
    split: Annotated[Split, typer.Option(help="Which queries, by the solution's flags.")] = Split.all,
    missing: Annotated[
        Missing, typer.Option(help="A query without a list: scores 0, reject the file, or left out of the means.")
    ] = Missing.zero,
    ties: Annotated[
        Ties,
        typer.Option(
            help="Equal run scores: by item id, descending, as trec_eval does; as listed; the mean over all orders; "
            "the best or the worst order."
        ),
    ] = Ties.trec,
    tie_bounds: Annotated[
        bool, typer.Option("--tie-bounds", help="Print the worst and the best that ties allow beside each score.")
    ] = False,
    nothing_relevant: Annotated[
        NothingRelevant, typer.Option(help="A query with nothing relevant: left out of the means, or scores 0.")
    ] = NothingRelevant.skip,
    unjudged: Annotated[
        Unjudged, typer.Option(help="Items that the solution does not list: not relevant, or dropped from the lists.")
    ] = Unjudged.nonrelevant,
    rel: Annotated[
        float | None,
        typer.Option("-l", "--rel", help="The least relevant grade, for all measures that have one; default: any > 0."),
    ] = None,
    solution_format: Annotated[str | None, typer.Option(help=f"The solution's format, {FORMAT_HELP}.")] = None,
    submission_format: Annotated[str | None, typer.Option(help=f"The submissions' format, {FORMAT_HELP}.")] = None,
) -> None:
    """Score submissions against a solution, and print the means over its queries.

    A file at fault is told on standard error, with all that is wrong in it; the others are still scored, and the exit
    code is 1.
    """
    from scorer.output import Results, written
    from scorer.scoring import evaluate as evaluated
    from scorer.scoring import named
    from scorer.solution import Solution

    _check_form(output.value, side_by_side=side_by_side, significance=significance, tie_bounds=tie_bounds)
    _check_standard_input(solution, *submissions)
    try:
        measures = named(measure)
        if rel is not None:
            measures = {name: each.at_threshold(rel) for name, each in measures.items()}
        if ties is Ties.expected:
            for each in measures.values():
                each.need_closed_form()
    except MeasureError as error:
        raise typer.BadParameter(str(error), param_hint="--measure") from error
    right = Solution.read(solution, solution_format and format_name(solution_format))
    file_format = submission_format and format_name(submission_format)
    results: list[tuple[str, Evaluation]] = []
    for path in followed(submissions, len(submissions), "scoring"):
        try:
            result = evaluated(
                right,
                path,
                measures,
                per_query,
                split=split.value,
                missing=missing.value,
                ties=ties.value,
                nothing_relevant=nothing_relevant.value,
                unjudged=unjudged.value,
                rel=rel,
                tie_bounds=tie_bounds,
                submission_format=file_format,
            )
        except SubmissionError as error:
            complain(str(error))
            continue
        for line in result.notes.lines(shown(path)):
            complain(line)
        results.append((shown(path), result))
    _tell_undefined(results)
    say(written(output.value, Results(results, measures, per_query, side_by_side, significance)))
    if len(results) < len(submissions):
        raise typer.Exit(1)


def _check_form(form: str, *, side_by_side: bool, significance: float | None, tie_bounds: bool) -> None:
    """What a form cannot show is a wrong call, told before anything is scored."""
    from scorer.output import MARKED, TABLES

    if side_by_side and form not in TABLES:
        told = f"{form} goes by submission; the forms that do not are {', '.join(TABLES)}"
        raise typer.BadParameter(told, param_hint="--side-by-side")
    if tie_bounds and form == Output.trec.value:
        raise typer.BadParameter(f"{form} has no place for them; the other forms have", param_hint="--tie-bounds")
    if significance is not None and form not in MARKED:
        raise typer.BadParameter(
            f"{form} has no place for it; these have: {', '.join(MARKED)}", param_hint="--significance"
        )


def _check_standard_input(*paths: str) -> None:
    if paths.count("-") > 1:
        raise typer.BadParameter("standard input (-) can be read once; name a file for the other")


def _tell_undefined(results: Sequence[tuple[str, Evaluation]]) -> None:
    """How many queries the means leave out, aloud, and once: it lies in the solution."""
    for _, result in results[:1]:
        if not result.queries:
            complain("the solution flags no query for this split, so there is nothing to take a mean over")
            continue
        by_count: dict[int, list[str]] = {}
        for measure, count in result.left_out().items():
            by_count.setdefault(count, []).append(measure)
        for count, measures in by_count.items():
            if count:
                of = "all measures" if len(by_count) == 1 else ", ".join(measures)
                left_out = counted(count, "query", "queries")
                complain(f"{left_out} of {result.queries:,} left out of the means of {of}: undefined{_reason(result)}")


def _reason(result: Evaluation) -> str:
    return " or without a list" if result.policies["missing"] == "skip" else " by the solution"
