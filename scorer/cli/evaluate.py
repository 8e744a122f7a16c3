"""``scorer evaluate``: scores of files, for people and for scripts."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scorer.cli.say import FORMAT_HELP, complain, followed, format_name, say
from scorer.errors import MeasureError, SubmissionError, counted, printable

if TYPE_CHECKING:
    from scorer.scoring import Evaluation

Results = Sequence[tuple[str, "Evaluation"]]
"""The submissions, by their paths as given."""


class Output(StrEnum):
    """How the scores are printed."""

    table = "table"
    json = "json"
    csv = "csv"


class Split(StrEnum):
    """Which of the solution's queries."""

    all = "all"
    preliminary = "preliminary"
    rest = "rest"


class Missing(StrEnum):
    """What becomes of a submission that lacks a query."""

    zero = "zero"
    reject = "reject"


class Ties(StrEnum):
    """How equal run scores are ordered."""

    trec = "trec"
    order = "order"


def evaluate(
    solution: Annotated[Path, typer.Argument(help="What is right: the graded items of every query.", readable=False)],
    submissions: Annotated[list[Path], typer.Argument(help="Ranked lists, a file each.", readable=False)],
    measure: Annotated[list[str], typer.Option("-m", "--measure", help="A measure, as in nDCG@10; repeatable.")],
    output: Annotated[Output, typer.Option("--format", help="How to print the scores.")] = Output.table,
    per_query: Annotated[bool, typer.Option("--per-query", help="Print each query's scores too.")] = False,
    split: Annotated[Split, typer.Option(help="Which queries, by the solution's flags.")] = Split.all,
    missing: Annotated[
        Missing, typer.Option(help="A query without a list: scores 0, or reject the file.")
    ] = Missing.zero,
    ties: Annotated[
        Ties, typer.Option(help="Equal run scores: by item id, descending, as trec_eval does, or as listed.")
    ] = Ties.trec,
    solution_format: Annotated[str | None, typer.Option(help=f"The solution's format, {FORMAT_HELP}.")] = None,
    submission_format: Annotated[str | None, typer.Option(help=f"The submissions' format, {FORMAT_HELP}.")] = None,
) -> None:
    """Score submissions against a solution, and print the means over its queries.

    A file at fault is told on standard error, with all that is wrong in it; the others are still scored, and the exit
    code is 1.
    """
    from scorer.scoring import evaluate as evaluated
    from scorer.scoring import named
    from scorer.solution import Solution

    try:
        measures = named(measure)
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
                submission_format=file_format,
            )
        except SubmissionError as error:
            complain(str(error))
            continue
        for line in result.notes.lines(str(path)):
            complain(line)
        results.append((str(path), result))
    _tell_undefined(results)
    say(PRINTERS[output](results, list(measures), per_query))
    if len(results) < len(submissions):
        raise typer.Exit(1)


def _tell_undefined(results: Results) -> None:
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
                complain(f"{left_out} of {result.queries:,} left out of the means of {of}: undefined by the solution")


def _json(results: Results, _measures: Sequence[str], per_query: bool) -> str:
    told = []
    for path, result in results:
        entry: dict[str, Any] = {
            "submission": path,
            "scores": _defined(result),
            "queries": result.queries,
            "undefined": result.undefined,
        }
        if per_query:
            entry["per_query"] = {query: _defined(scores) for query, scores in result.by_query().items()}
        told.append(entry)
    return json.dumps({"submissions": told}, indent=2, ensure_ascii=False, allow_nan=False)


def _csv(results: Results, measures: Sequence[str], per_query: bool) -> str:
    """A row for each submission; with each query's scores, a row for each query, and one with the mean, called all."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["submission", *(["query"] if per_query else []), *measures])
    for path, result in results:
        for query, scores in result.by_query().items() if per_query else ():
            rows.writerow([path, query, *_defined(scores).values()])
        rows.writerow([path, *(["all"] if per_query else []), *_defined(result).values()])
    return text.getvalue().rstrip("\n")


def _table(results: Results, measures: Sequence[str], per_query: bool) -> str:
    rows = [["submission", *(["query"] if per_query else []), *measures]]
    for path, result in results:
        for query, scores in result.by_query().items() if per_query else ():
            rows.append([printable(path), printable(query), *map(_decimal, scores.values())])
        rows.append([printable(path), *(["all"] if per_query else []), *map(_decimal, result.values())])
    return aligned(rows, left=2 if per_query else 1)


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Rows of cells in columns, of which the first `left` are set flush left, the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _decimal(score: float) -> str:
    return "-" if math.isnan(score) else f"{score:.4f}"


def _defined(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(score) else score for name, score in scores.items()}


PRINTERS: Mapping[Output, Callable[[Results, Sequence[str], bool], str]] = {
    Output.table: _table,
    Output.json: _json,
    Output.csv: _csv,
}
