"""``scorer evaluate``: score files, for people and for programs."""

from __future__ import annotations

import math
import os
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import WrongCallError, add_form, add_row_names, format_name, number
from scorer.cli.console import print_message, print_result, row_names, with_progress
from scorer.cli.evaluating import MEASURES_HELP, add_policies, check_standard_input
from scorer.cli.hints import challenge_hint, solution_message, stray_measures, submission_message, swapped_note
from scorer.errors import MeasureError, SolutionError, SubmissionError
from scorer.paths import is_regular, shown
from scorer.wording import counted, printable, quoted

if TYPE_CHECKING:
    from scorer.matching.solution import Solution
    from scorer.measures import Measure
    from scorer.options import RowName, Ties
    from scorer.scoring.evaluations import Evaluation

DEFAULT = "nDCG@10,AP,RR,P@10,R@100"
"""`scorer.measures.DEFAULT` as text, so that the help does not load the measures."""

FORMS = ("table", "json", "csv", "markdown", "latex", "trec")


def add_evaluation(parser: ArgumentParser) -> None:
    """Add the arguments of ``evaluate``."""
    parser.add_argument("solution", help="the graded items of every query: a path, a URL, or - for standard input")
    parser.add_argument(
        "submissions", nargs="*", metavar="submission", help="one or more files with ranked lists: paths, URLs, or -"
    )
    parser.add_argument(
        "-m",
        "--measure",
        dest="requested",
        action="append",
        metavar="MEASURE",
        help=f"measures: {MEASURES_HELP}, or a group such as official; repeatable; default: {DEFAULT}",
    )
    _add_output(parser)
    add_policies(parser)


def _add_output(parser: ArgumentParser) -> None:
    add_form(parser, FORMS, "of the scores")
    parser.add_argument(
        "--sort", action="store_true", help="list the submission with the best score first, by the first measure"
    )
    parser.add_argument("--sort-by", metavar="MEASURE", help="as --sort, by this measure")
    add_row_names(parser)
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
    requested: list[str] | None,
    form: str,
    sort: bool,
    sort_by: str | None,
    row_name: RowName | None,
    per_query: bool,
    side_by_side: bool,
    significance: float | None,
    tie_bounds: bool,
    exclude: str | None,
    solution_format: str | None,
    submission_format: str | None,
    **policies: Any,
) -> int:
    """Score submissions against a solution, and print the means over its queries.

    The errors of an invalid file are printed to standard error. The other files are still scored, and the exit code is
    1.
    """
    if significance is None:
        # Nothing else here uses linear algebra, for which numpy starts threads when it is loaded.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from scorer.formats.detection import run_tag
    from scorer.matching.exclusions import excluded
    from scorer.matching.solution import Solution
    from scorer.reports.scores import ScoreReport, written
    from scorer.scoring.evaluation import policies_named

    _check_form(form, side_by_side=side_by_side, significance=significance, tie_bounds=tie_bounds)
    _check_files(solution, submissions, requested)
    measures = _measures(requested or [DEFAULT], policies["ties"])
    best_by = _sorted_by(sort_by, measures) if sort_by is not None else next(iter(measures)) if sort else None
    try:
        graded = Solution.read(solution, solution_format and format_name(solution_format, "--solution-format"))
    except SolutionError as error:
        print_message(solution_message(error, solution, submissions))
        return 1
    file_format = submission_format and format_name(submission_format, "--submission-format")
    graded = graded.with_parts(excluded=excluded(exclude))
    settings = {**policies, "per_query": per_query, "tie_bounds": tie_bounds, "submission_format": file_format}
    results = _scored(graded, solution, submissions, measures, settings)
    if best_by is not None:
        results.sort(key=lambda result: _falling(result[1][best_by]))
    if results or form == "json":  # programs expect a document, even an empty one
        paths = [path for path, _ in results]
        tags = [run_tag(path, file_format) for path in paths]
        report = ScoreReport(
            [(shown(path), result) for path, result in results],
            measures,
            per_query,
            side_by_side,
            significance,
            policies["rel"],
            policies_named(**policies) | ({} if exclude is None else {"exclude": shown(exclude)}),
            row_names(paths, tags, row_name),
            tags,
        )
        print_result(written(form, report))
    return 1 if len(results) < len(submissions) else 0


def _scored(
    graded: Solution,
    solution: str,
    submissions: Sequence[str],
    measures: Mapping[str, Measure],
    settings: Mapping[str, Any],
) -> list[tuple[str, Evaluation]]:
    """Return the valid submissions with their scores; print the errors of the others, and notes."""
    from scorer.scoring.evaluation import evaluate as evaluated

    results: list[tuple[str, Evaluation]] = []
    for path in with_progress(submissions, len(submissions), "scoring"):
        try:
            result = evaluated(graded, path, measures, **settings)
        except SubmissionError as error:
            print_message(submission_message(error, path, solution))
            continue
        except SolutionError as error:
            raise SolutionError(shown(solution), error.findings) from error
        print_message(*swapped_note(graded, solution, path), *result.notes.lines(shown(path)))
        print_message(*_tie_bounds(graded, path, measures, settings, result))
        results.append((path, result))
    for _, result in results[:1]:  # undefined scores depend on the solution, so one submission is enough
        _complain_of_undefined(result)
    return results


def _tie_bounds(
    graded: Solution, path: str, measures: Mapping[str, Measure], settings: Mapping[str, Any], result: Evaluation
) -> list[str]:
    """Return the bounds of the means of a run whose scores are all equal, as a message; nothing for any other run."""
    from scorer.matching.notes import ALL_EQUAL
    from scorer.scoring.evaluation import evaluate as evaluated

    if settings["tie_bounds"] or not is_regular(path) or not any(ALL_EQUAL in note.text for note in result.notes):
        return []
    bounds = evaluated(graded, path, measures, **{**settings, "tie_bounds": True}).bounds() or {}
    ranges = ", ".join(f"{measure} {worst:.4f} to {best:.4f}" for measure, (worst, best) in bounds.items())
    return [f"{printable(shown(path))}: by the order of ties: {ranges}"]


def _check_files(solution: str, submissions: Sequence[str], requested: Sequence[str] | None) -> None:
    """Raise WrongCallError where a submission is missing, a measure is among the files, or - is named twice."""
    if requested and (hint := stray_measures(requested, [solution, *submissions])):
        raise WrongCallError(f"--measure: {hint}")
    if not submissions:
        raise WrongCallError(challenge_hint(solution) or "the following arguments are required: submission")
    check_standard_input(solution, *submissions)


def _measures(requested: Sequence[str], ties: Ties) -> dict[str, Measure]:
    """Return the measures by their names. Raises WrongCallError for those that cannot be computed."""
    from scorer.scoring.evaluation import measures_named

    try:
        measures = measures_named(requested)
        if ties == "expected":
            for measure in measures.values():
                measure.need_closed_form()
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    return measures


def _sorted_by(name: str, measures: Mapping[str, Measure]) -> str:
    """Return which of the measures a name means, in any spelling. Raises WrongCallError for any other name."""
    from scorer.measures import parse_one

    if name in measures:
        return name
    try:
        wanted = parse_one(name)
    except MeasureError as error:
        raise WrongCallError(f"--sort-by: {error}") from error
    for known, measure in measures.items():
        if measure == wanted:
            return known
    raise WrongCallError(f"--sort-by: {quoted(name)} is not among the measures: {', '.join(measures)}")


def _falling(score: float) -> float:
    """A key that sorts the highest score first, and an undefined one last."""
    return math.inf if math.isnan(score) else -score


def _check_form(form: str, *, side_by_side: bool, significance: float | None, tie_bounds: bool) -> None:
    """Raise WrongCallError for a request that the form cannot show."""
    from scorer.reports.scores import MARKED
    from scorer.wording.table import TABLES

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
