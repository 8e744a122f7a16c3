"""``scorer evaluate``: score files, for people and for programs."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import TYPE_CHECKING

from scorer.cli.arguments import WrongCallError, add_form, add_policies, check_standard_input, format_name, number
from scorer.cli.console import print_message, print_result, with_progress
from scorer.errors import MeasureError, SubmissionError
from scorer.paths import shown
from scorer.wording import counted

if TYPE_CHECKING:
    from scorer.options import Missing, NothingRelevant, Split, Ties, Unjudged
    from scorer.scoring.evaluation import Evaluation

FORMS = ("table", "json", "csv", "markdown", "latex", "trec")


def add_evaluation(parser: ArgumentParser) -> None:
    """Add the arguments of ``evaluate``."""
    parser.add_argument("solution", help="the graded items of every query: a path, a URL, or - for standard input")
    parser.add_argument(
        "submissions", nargs="+", metavar="submission", help="files with ranked lists: paths, URLs, or -"
    )
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
    add_policies(parser)


def _add_output(parser: ArgumentParser) -> None:
    add_form(parser, FORMS, "of the scores")
    parser.add_argument("-q", "--per-query", action="store_true", help="print the scores of each query too")
    parser.add_argument(
        "--side-by-side", action="store_true", help="print a column for each submission and a row for each measure"
    )
    parser.add_argument(
        "--significance",
        type=number(0.0001, 0.5),
        metavar="LEVEL",
        help="mark differences that are significant at this level, as in 0.05",
    )
    parser.add_argument(
        "--tie-bounds",
        action="store_true",
        help="print the lowest and the highest mean that the orders of tied items allow",
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

    The errors of an invalid file are printed to standard error. The other files are still scored, and the exit code is
    1.
    """
    from scorer.matching.solution import Solution
    from scorer.reports.report import ScoreReport
    from scorer.reports.scores import written
    from scorer.scoring.evaluation import evaluate as evaluated
    from scorer.scoring.evaluation import measures_named, policies_named

    _check_form(form, side_by_side=side_by_side, significance=significance, tie_bounds=tie_bounds)
    check_standard_input(solution, *submissions)
    try:
        measures = measures_named(names)
        if ties == "expected":
            for each in measures.values():
                each.need_closed_form()
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    graded = Solution.read(solution, solution_format and format_name(solution_format, "--solution-format"))
    file_format = submission_format and format_name(submission_format, "--submission-format")
    policies = policies_named(
        split=split, missing=missing, ties=ties, nothing_relevant=nothing_relevant, unjudged=unjudged, rel=rel
    )
    results: list[tuple[str, Evaluation]] = []
    for path in with_progress(submissions, len(submissions), "scoring"):
        try:
            result = evaluated(
                graded,
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
    for _, result in results[:1]:  # undefined scores depend on the solution, so one submission is enough
        _complain_of_undefined(result)
    if results or form == "json":  # programs expect a document, even an empty one
        report = ScoreReport(results, measures, per_query, side_by_side, significance, rel, policies)
        print_result(written(form, report))
    return 1 if len(results) < len(submissions) else 0


def _check_form(form: str, *, side_by_side: bool, significance: float | None, tie_bounds: bool) -> None:
    """Raise WrongCallError for a request that the form cannot show."""
    from scorer.reports.scores import MARKED
    from scorer.reports.table import TABLES

    if side_by_side and form not in TABLES:
        raise WrongCallError(f"--side-by-side: {form} is not a table; choose one of {', '.join(TABLES)}")
    if tie_bounds and form == "trec":
        raise WrongCallError(f"--tie-bounds: {form} cannot show bounds; choose another form")
    if significance is not None and form not in MARKED:
        raise WrongCallError(f"--significance: {form} cannot show it; choose one of {', '.join(MARKED)}")


_EMPTY_SPLIT = {
    "all": "the solution has no queries, so there are no means",
    "preliminary": "the solution flags no query, so --split preliminary has no queries and no means",
    "rest": "the solution flags every query, so --split rest has no queries and no means",
}


def _complain_of_undefined(result: Evaluation) -> None:
    """Print how many queries the means leave out, and why."""
    if not result.queries:
        print_message(_EMPTY_SPLIT[result.policies["split"]])
        return
    by_count: dict[int, list[str]] = {}
    for measure, count in result.left_out().items():
        by_count.setdefault(count, []).append(measure)
    reason = " or without a list" if result.policies["missing"] == "skip" else " by the solution"
    for count, measures in by_count.items():
        if count:
            of = "all measures" if len(by_count) == 1 else ", ".join(measures)
            left_out = counted(count, "query", "queries")
            print_message(f"{left_out} of {result.queries:,} left out of the means of {of}: undefined{reason}")
