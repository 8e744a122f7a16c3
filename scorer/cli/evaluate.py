"""The commands that evaluate and compare files: ``evaluate``, ``compare`` and ``measures``."""

from __future__ import annotations

import math
import os
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import (
    FORMAT_HELP,
    Parser,
    WrongCallError,
    add_challenge,
    add_form,
    add_row_names,
    add_tag,
    challenge_hint,
    format_name,
    number,
    open_challenge,
    print_message,
    print_result,
    row_names,
    solution_message,
    stray_measures,
    submission_message,
    swapped_note,
    whole_number,
    with_progress,
)
from scorer.errors import MeasureError, ScorerError, SolutionError, SubmissionError, SubmissionsError
from scorer.files import is_regular, shown
from scorer.options import MISSING, NOTHING_RELEVANT, SPLIT, TIES, UNJUDGED, RowName, Ties
from scorer.wording import TABLES, aligned, counted, printable, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.measures import Kind, Measure
    from scorer.scoring.analysis.analysis import Settings
    from scorer.scoring.analysis.compare import Comparison
    from scorer.scoring.analysis.kept import Task
    from scorer.scoring.evaluation import Evaluation


POLICIES = (SPLIT, MISSING, TIES, NOTHING_RELEVANT, UNJUDGED)


def add_policies(parser: ArgumentParser) -> None:
    """Add the options that decide how files are scored: queries, ties, unjudged items, and formats."""
    for option in POLICIES:
        parser.add_argument(
            f"--{option.name.replace('_', '-')}",
            choices=tuple(option.values),
            default=option.default,
            help=option.help,
        )
    parser.add_argument(
        "-l",
        "--rel",
        type=number(),
        metavar="GRADE",
        help="the lowest relevant grade, for all measures that have one; default: any positive grade is relevant",
    )
    parser.add_argument(
        "--exclude",
        metavar="self|FILE",
        help="items to remove from the lists before ranks are assigned; self: the item that has the id of its query; "
        "FILE: those that a file lists for each query",
    )
    parser.add_argument("--solution-format", metavar="FORMAT", help=f"the solution's format, {FORMAT_HELP}")
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the submissions' format, {FORMAT_HELP}")
    add_tag(parser, "submission_format")


def check_no_policies(values: Mapping[str, Any], problem: str) -> None:
    """Raise WrongCallError for the first given option, of `add_policies` or another; `problem` is the message."""
    defaults = {option.name: option.default for option in POLICIES}
    for name, value in values.items():
        if value != defaults.get(name):
            raise WrongCallError(f"--{name.replace('_', '-')} {problem}")


def add_analysis(parser: ArgumentParser) -> None:
    """Add the options of analyses and comparisons."""
    parser.add_argument(
        "--seed", type=whole_number(0), default=1, metavar="NUMBER", help="of the random numbers; default: %(default)s"
    )
    parser.add_argument(
        "--resamples",
        type=whole_number(100, 1_000_000),
        default=10_000,
        metavar="NUMBER",
        help="how many resamples the bootstrap draws; default: %(default)s",
    )
    parser.add_argument(
        "--all-pairs",
        action="store_true",
        help="test all pairs also if there are more than 60 algorithms; otherwise only neighbours in "
        "the ranking, and the first with all others",
    )


MEASURES_HELP = "one or several with commas between them, as in AP,nDCG@10,RR"


def check_several(names: Sequence[str], what: str) -> None:
    """Raise WrongCallError for fewer than two files or names of `what`, and for one that is listed twice."""
    if len(names) < 2:
        raise WrongCallError(f"found {counted(len(names), what)}; expected two or more to compare")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None and twice != "-":
        raise WrongCallError(f"{quoted(shown(twice))} is listed twice; list each {what} once")


def check_standard_input(*paths: str) -> None:
    """Raise WrongCallError if standard input is named more than once."""
    if paths.count("-") > 1:
        raise WrongCallError("standard input (-) can be read only once; name a file for the other")


DEFAULT = "nDCG@10,AP,RR,P@10,R@100"
"""`scorer.measures.DEFAULT` as text, so that the help does not load the measures."""

EVALUATION_FORMS = ("table", "json", "csv", "markdown", "latex", "trec")


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
    add_form(parser, EVALUATION_FORMS, "of the scores")
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
    from scorer.board.reports.scores import ScoreReport, written
    from scorer.lists.detection import run_tag
    from scorer.lists.solution import Solution, excluded
    from scorer.scoring.evaluation import Options

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
            Options(**policies, exclude=exclude).policies(),
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
    from scorer.lists.match import ALL_EQUAL
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
    from scorer.board.reports.scores import MARKED

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


COMPARISON_FORMS = ("table", "json", "csv", "markdown", "latex")


def add_comparison(parser: Parser) -> None:
    """Add the arguments of ``compare``."""
    parser.add_argument(
        "names",
        nargs="+",
        metavar="submission",
        help="files (with --solution): paths, URLs, or - for standard input; or names of teams of a challenge (with "
        "--track); two or more",
    )
    parser.add_argument("--solution", metavar="FILE", help="the graded items of every query: compare files")
    parser.add_argument("-t", "--track", metavar="NAME", help="a track of the challenge: compare teams")
    add_challenge(parser, "")
    parser.add_argument(
        "-m",
        "--measure",
        metavar="MEASURE",
        help="the measure to compare by, as in nDCG@10; required for files; default for teams: the primary measure",
    )
    add_form(parser, COMPARISON_FORMS, "of the comparison")
    add_row_names(parser)
    add_analysis(parser)
    add_policies(parser)


def compare(
    names: list[str],
    solution: str | None,
    track: str | None,
    challenge: Path | None,
    measure: str | None,
    form: str,
    row_name: RowName | None,
    seed: int,
    resamples: int,
    all_pairs: bool,
    **policies: Any,
) -> int:
    """Compare two or more submissions: differences, intervals, p-values, and the queries that decide.

    Compares files by a solution and a measure, or the teams of a challenge by their entries on the board. The options
    on queries, ties and formats are for files; for teams, the rules of the track apply.
    """
    from scorer.board.reports.comparisons import comparison_text
    from scorer.scoring.analysis.analysis import Settings
    from scorer.scoring.analysis.compare import compared, one_measure

    check_several(names, "submission")
    settings = Settings(seed=seed, resamples=resamples, all_pairs=all_pairs)
    if solution is not None and track is None and challenge is None:
        if measure is None:
            check_standard_input(solution, *names)
            raise WrongCallError("--measure is required to compare files, as in --measure nDCG@10")
        (task,), notes = tasks_of_files(names, solution, lambda: dict([one_measure(measure)]), row_name, policies)
        comparison = replace(compared(task, settings), notes=notes)
    elif solution is None and track is not None:
        check_no_policies({"names": row_name, **policies}, "is for files; the rules of a track are in challenge.toml")
        comparison = _of_teams(names, challenge or Path(), track, measure, settings)
    else:
        raise WrongCallError("expected either --solution FILE to compare files, or --track NAME to compare teams")
    print_result(comparison_text(comparison, form))
    return 0


def tasks_of_files(
    paths: Sequence[str],
    solution: str,
    measures: Callable[[], Mapping[str, Measure]],
    row_name: RowName | None,
    policies: Mapping[str, Any],
) -> tuple[list[Task], dict[str, tuple[str, ...]]]:
    """Return the scores of files by each measure, and the notes on each file by its name, which are also printed.

    Raises MeasureError by `measures` as a WrongCallError.
    """
    from scorer.lists.detection import run_tag
    from scorer.lists.solution import excluded
    from scorer.scoring.analysis.compare import run_tasks

    check_standard_input(solution, *paths)
    file_format = policies["submission_format"] and format_name(policies["submission_format"], "--submission-format")
    tags = [run_tag(path, file_format) for path in paths]
    submissions = dict(zip(row_names(paths, tags, row_name), paths, strict=True))
    if policies["solution_format"]:
        format_name(policies["solution_format"], "--solution-format")
    exclude = excluded(policies["exclude"])
    try:
        tasks, notes = run_tasks(solution, submissions, measures(), **{**policies, "exclude": exclude})
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    except SolutionError as error:
        raise ScorerError(solution_message(error, solution, [])) from error
    except SubmissionsError as error:
        texts = [submission_message(reason, submissions[name], solution) for name, reason in error.errors.items()]
        raise ScorerError("\n".join(texts)) from error
    for name, lines in notes.items():
        for line in lines:
            print_message(f"{shown(submissions[name])}{line.removeprefix(printable(name))}")
    return tasks, notes


def _of_teams(names: list[str], folder: Path, track: str, measure: str | None, settings: Settings) -> Comparison:
    """Compare the entries of teams that count on the board."""
    from scorer.organising.render import measure_of, teams_task
    from scorer.scoring.analysis.compare import compared
    from scorer.store.store import Store

    challenge, (chosen,) = open_challenge(folder, track)
    try:
        by = measure_of(chosen, measure)
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    with Store.open(challenge.database_address, create=False) as store:
        task = store.read(lambda view: teams_task(view, chosen, names, by))
    print_message(*task.notes)
    return compared(task, settings)


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
    unknown = "because no formula is known"
    if kind.closed_form is False:
        return f"refused, {unknown} for the mean over the orders of tied items"
    text = "the mean over all orders of tied items"
    cut = " where a challenge cuts lists at list_length"
    for claim, where in ((kind.closed_form, ""), (kind.closed_form_when_cut, cut)):
        if claim is not True:
            settings = "" if claim is False else f" with {', '.join(f'{name}={claim[name]}' for name in claim)}"
            text += f"; refused{settings}{where}, {unknown}"
    return text


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
