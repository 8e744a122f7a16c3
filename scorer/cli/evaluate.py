"""``scorer evaluate``: scores of files, for people and for scripts."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scorer.cli.arguments import FORMAT_HELP, WrongCallError, format_name, number
from scorer.cli.console import print_message, print_result, with_progress
from scorer.errors import MeasureError, SubmissionError
from scorer.paths import shown
from scorer.wording import counted

if TYPE_CHECKING:
    from scorer.options import Missing, NothingRelevant, Split, Ties, Unjudged
    from scorer.scoring.evaluation import Evaluation

FORMS = ("table", "json", "csv", "markdown", "latex", "trec")


def add_evaluation(parser: ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("solution", help="what is right: the graded items of every query; a path, a URL, or - ")
    parser.add_argument("submissions", nargs="+", metavar="submission", help="ranked lists, a file each, likewise")
    parser.add_argument(
        "-m",
        "--measure",
        dest="names",
        action="append",
        required=True,
        metavar="MEASURE",
        help="a measure, as in nDCG@10; repeatable",
    )
    _add_output(parser)
    _add_policies(parser)
    parser.add_argument("--solution-format", metavar="FORMAT", help=f"the solution's format, {FORMAT_HELP}")
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the submissions' format, {FORMAT_HELP}")


def _add_output(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        dest="form",
        choices=FORMS,
        default="table",
        metavar="FORM",
        help="how to print the scores: %(choices)s; default: %(default)s",
    )
    parser.add_argument("-q", "--per-query", action="store_true", help="print each query's scores too")
    parser.add_argument(
        "--side-by-side", action="store_true", help="a column for each submission, a row for each measure"
    )
    parser.add_argument(
        "--significance",
        type=number(0.0001, 0.5),
        metavar="LEVEL",
        help="mark differences that are significant at this level, as in 0.05",
    )
    parser.add_argument(
        "--tie-bounds", action="store_true", help="print the worst and the best that ties allow beside each score"
    )


def _add_policies(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--split",
        choices=("all", "preliminary", "rest"),
        default="all",
        help="which queries, by the solution's flags; default: %(default)s",
    )
    parser.add_argument(
        "--missing",
        choices=("zero", "reject", "skip"),
        default="zero",
        help="a query without a list: scores 0, reject the file, or left out of the means; default: %(default)s",
    )
    parser.add_argument(
        "--ties",
        choices=("trec", "order", "expected", "best", "worst"),
        default="trec",
        help="equal run scores: by item id, descending, as trec_eval does; as listed; the mean over all orders; the "
        "best or the worst order; default: %(default)s",
    )
    parser.add_argument(
        "--nothing-relevant",
        choices=("skip", "zero"),
        default="skip",
        help="a query with nothing relevant: left out of the means, or scores 0; default: %(default)s",
    )
    parser.add_argument(
        "--unjudged",
        choices=("nonrelevant", "drop"),
        default="nonrelevant",
        help="items that the solution does not list: not relevant, or dropped from the lists; default: %(default)s",
    )
    parser.add_argument(
        "-l",
        "--rel",
        type=number(),
        metavar="GRADE",
        help="the least relevant grade, for all measures that have one; default: any > 0",
    )


def evaluate(
    solution: str,
    submissions: list[str],
    names: list[str],
    form: str,
    per_query: bool,
    side_by_side: bool,
    significance: float | None,
    tie_bounds: bool,
    split: Split,
    missing: Missing,
    ties: Ties,
    nothing_relevant: NothingRelevant,
    unjudged: Unjudged,
    rel: float | None,
    solution_format: str | None,
    submission_format: str | None,
) -> int:
    """Score submissions against a solution, and print the means over its queries.

    A file at fault is told on standard error, with all that is wrong in it; the others are still scored, and the exit
    code is 1.
    """
    from scorer.matching.solution import Solution
    from scorer.reports.report import ScoreReport
    from scorer.reports.scores import written
    from scorer.scoring.evaluation import evaluate as evaluated
    from scorer.scoring.evaluation import measures_named

    _check_form(form, side_by_side=side_by_side, significance=significance, tie_bounds=tie_bounds)
    _check_standard_input(solution, *submissions)
    try:
        measures = measures_named(names)
        if ties == "expected":
            for each in measures.values():
                each.need_closed_form()
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    right = Solution.read(solution, solution_format and format_name(solution_format, "--solution-format"))
    file_format = submission_format and format_name(submission_format, "--submission-format")
    results: list[tuple[str, Evaluation]] = []
    for path in with_progress(submissions, len(submissions), "scoring"):
        try:
            result = evaluated(
                right,
                path,
                measures,
                per_query,
                split=split,
                missing=missing,
                ties=ties,
                nothing_relevant=nothing_relevant,
                unjudged=unjudged,
                rel=rel,
                tie_bounds=tie_bounds,
                submission_format=file_format,
            )
        except SubmissionError as error:
            print_message(str(error))
            continue
        for line in result.notes.lines(shown(path)):
            print_message(line)
        results.append((shown(path), result))
    _tell_undefined(results)
    if results or form == "json":  # a program reads an empty list, a person no head of an empty table
        print_result(written(form, ScoreReport(results, measures, per_query, side_by_side, significance, rel)))
    return 1 if len(results) < len(submissions) else 0


def _check_form(form: str, *, side_by_side: bool, significance: float | None, tie_bounds: bool) -> None:
    """What a form cannot show is a wrong call, told before anything is scored."""
    from scorer.reports.scores import MARKED
    from scorer.reports.table import TABLES

    if side_by_side and form not in TABLES:
        told = f"{form} goes by submission; the forms that do not are {', '.join(TABLES)}"
        raise WrongCallError(f"--side-by-side: {told}")
    if tie_bounds and form == "trec":
        raise WrongCallError(f"--tie-bounds: {form} has no place for them; the other forms have")
    if significance is not None and form not in MARKED:
        raise WrongCallError(f"--significance: {form} has no place for it; these have: {', '.join(MARKED)}")


def _check_standard_input(*paths: str) -> None:
    if paths.count("-") > 1:
        raise WrongCallError("standard input (-) can be read once; name a file for the other")


def _tell_undefined(results: Sequence[tuple[str, Evaluation]]) -> None:
    """How many queries the means leave out, aloud, and once: it lies in the solution."""
    for _, result in results[:1]:
        if not result.queries:
            print_message("the solution flags no query for this split, so there is nothing to take a mean over")
            continue
        by_count: dict[int, list[str]] = {}
        for measure, count in result.left_out().items():
            by_count.setdefault(count, []).append(measure)
        for count, measures in by_count.items():
            if count:
                of = "all measures" if len(by_count) == 1 else ", ".join(measures)
                left_out = counted(count, "query", "queries")
                print_message(
                    f"{left_out} of {result.queries:,} left out of the means of {of}: undefined{_reason(result)}"
                )


def _reason(result: Evaluation) -> str:
    return " or without a list" if result.policies["missing"] == "skip" else " by the solution"
