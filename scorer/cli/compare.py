"""``scorer compare``: the differences between submissions, and how certain they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import (
    Parser,
    WrongCallError,
    add_challenge,
    add_form,
    add_row_names,
    format_name,
    open_challenge,
)
from scorer.cli.console import print_message, print_result, row_names
from scorer.cli.evaluating import add_analysis, add_policies, check_no_policies, check_several, check_standard_input
from scorer.cli.hints import solution_message, submission_message
from scorer.errors import MeasureError, ScorerError, SolutionError, SubmissionsError
from scorer.paths import shown
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.analysis.analysis import Settings
    from scorer.analysis.comparison import Comparison
    from scorer.analysis.task import Task
    from scorer.measures import Measure
    from scorer.options import RowName

FORMS = ("table", "json", "csv", "markdown", "latex")


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
    add_form(parser, FORMS, "of the comparison")
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
    from scorer.analysis.analysis import Settings
    from scorer.analysis.compare import compared, one_measure
    from scorer.reports.comparisons import comparison_text

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
    from scorer.analysis.compare import run_tasks
    from scorer.formats.detection import run_tag
    from scorer.matching.exclusions import excluded

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
    from scorer.analysis.compare import compared
    from scorer.organising.analysis import measure_of, teams_task
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
