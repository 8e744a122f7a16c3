"""``scorer compare``: the differences between submissions, and how certain they are."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import (
    WrongCallError,
    add_analysis,
    add_form,
    add_policies,
    check_several,
    check_standard_input,
    format_name,
    open_challenge,
)
from scorer.cli.console import print_message, print_result
from scorer.cli.hints import solution_message, submission_message
from scorer.cli.row_names import add_row_names, row_names
from scorer.errors import MeasureError, ScorerError, SolutionError, SubmissionsError
from scorer.options import MISSING, NOTHING_RELEVANT, SPLIT, TIES, UNJUDGED
from scorer.paths import shown
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.analysis.analysis import Settings
    from scorer.analysis.comparison import Comparison
    from scorer.options import Missing, NothingRelevant, RowName, Split, Ties, Unjudged

FORMS = ("table", "json", "csv", "markdown", "latex")


def add_comparison(parser: ArgumentParser) -> None:
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
    parser.add_argument(
        "--challenge",
        type=Path,
        metavar="FOLDER",
        help="the folder with challenge.toml, to compare teams; default: the current folder",
    )
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
    split: Split,
    missing: Missing,
    ties: Ties,
    nothing_relevant: NothingRelevant,
    unjudged: Unjudged,
    rel: float | None,
    solution_format: str | None,
    submission_format: str | None,
) -> int:
    """Compare two or more submissions: differences, intervals, p-values, and the queries that decide.

    Compares files by a solution and a measure, or the teams of a challenge by their entries on the board. The options
    on queries, ties and formats are for files; for teams, the rules of the track apply.
    """
    from scorer.analysis.analysis import Settings
    from scorer.analysis.compare import compare as compared
    from scorer.formats.detection import run_tag
    from scorer.reports.comparisons import comparison_text

    check_several(names, "submission")
    if solution is not None and track is None and challenge is None:
        check_standard_input(solution, *names)
        if measure is None:
            raise WrongCallError("--measure is required to compare files, as in --measure nDCG@10")
        file_format = submission_format and format_name(submission_format, "--submission-format")
        tags = [run_tag(name, file_format) for name in names]
        found = _of_files(
            solution,
            dict(zip(row_names(names, tags, row_name), names, strict=True)),
            partial(
                compared,
                solution,
                measure=measure,
                seed=seed,
                resamples=resamples,
                all_pairs=all_pairs,
                split=split,
                missing=missing,
                ties=ties,
                nothing_relevant=nothing_relevant,
                unjudged=unjudged,
                rel=rel,
                solution_format=solution_format and format_name(solution_format, "--solution-format"),
                submission_format=file_format,
            ),
        )
    elif solution is None and track is not None:
        chosen = {SPLIT: split, MISSING: missing, TIES: ties, NOTHING_RELEVANT: nothing_relevant, UNJUDGED: unjudged}
        given = [option.name for option, value in chosen.items() if value != option.default]
        values = {
            "names": row_name,
            "rel": rel,
            "solution_format": solution_format,
            "submission_format": submission_format,
        }
        given += [name for name, value in values.items() if value is not None]
        if given:
            raise WrongCallError(
                f"--{given[0].replace('_', '-')} is for files; the rules of a track are in challenge.toml"
            )
        settings = Settings(seed=seed, resamples=resamples, all_pairs=all_pairs)
        found = _of_teams(names, challenge or Path(), track, measure, settings)
    else:
        raise WrongCallError("expected either --solution FILE to compare files, or --track NAME to compare teams")
    print_result(comparison_text(found, form))
    return 0


def _of_files(
    solution: str, submissions: dict[str, str], compared: Callable[[dict[str, str]], Comparison]
) -> Comparison:
    """Compare files, by what they are called; notes about them are printed with their paths."""
    try:
        found = compared(submissions)
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    except SolutionError as error:
        raise ScorerError(solution_message(error, solution, [])) from error
    except SubmissionsError as error:
        texts = [submission_message(each, submissions[name], solution) for name, each in error.errors.items()]
        raise ScorerError("\n".join(texts)) from error
    for name, lines in found.notes.items():
        for line in lines:
            print_message(f"{shown(submissions[name])}{line.removeprefix(printable(name))}")
    return found


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
    for note in task.notes:
        print_message(note)
    return compared(task, settings)
