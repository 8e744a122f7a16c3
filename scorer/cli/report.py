"""``scorer report``: the analysis of a challenge or of a table of values."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scorer.cli.arguments import (
    SETTINGS,
    Parser,
    WrongCallError,
    add_challenge,
    add_form,
    add_row_names,
    add_track,
    number,
    open_store,
)
from scorer.cli.compare import tasks_of_files
from scorer.cli.console import print_message, print_result
from scorer.cli.evaluating import MEASURES_HELP, add_analysis, add_policies, check_no_policies, check_several
from scorer.errors import ScorerError
from scorer.options import REPORT_FORMS
from scorer.paths import is_standard_input, is_url, shown
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.analysis.analysis import Report, Settings
    from scorer.analysis.task import Na
    from scorer.options import ReportForm, RowName

COLUMNS = ("task", "algorithm", "case", "value")
LARGEST = 1e100
"""As in `analysis.tables`, which a help text must not load."""


def add_report(parser: Parser) -> None:
    """Add the arguments of ``report``."""
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="a challenge (a folder with challenge.toml, or that file), or a table: a CSV or Parquet file with the "
        "columns task, algorithm, case and value, a URL, or - for standard input; without tasks, there is one; "
        "default: the current folder. "
        "With --solution: two or more submissions",
    )
    add_challenge(parser, "sources")
    parser.add_argument("--solution", metavar="FILE", help="the graded items of every query: report on submissions")
    parser.add_argument("-m", "--measure", metavar="MEASURE", help=f"with --solution: {MEASURES_HELP}")
    add_form(parser, REPORT_FORMS, "of the report")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write, or - for standard output; default: html is written to a file with the name of the "
        "source, the others to standard output",
    )
    add_track(parser)
    for column in COLUMNS:
        parser.add_argument(f"--{column}", metavar="COLUMN", help=f"what the column {column} of a table is called")
    parser.add_argument("--smaller-is-better", action="store_true", help="smaller values are better; only for a table")
    parser.add_argument(
        "--na",
        type=_na,
        metavar="NUMBER|drop",
        help="what to do with missing values of a table: put a number in their place, or drop them; default: they are "
        "an error",
    )
    add_analysis(parser)
    parser.add_argument("--tukey", action="store_true", help="add the randomised Tukey HSD test, which takes longer")
    add_row_names(parser)
    add_policies(parser)


def _na(text: str) -> float | Literal["drop"]:
    if text == "drop":
        return "drop"
    try:
        return number(-LARGEST, LARGEST)(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"found {quoted(text)}, expected drop or a number up to {LARGEST:g}") from None


def report(
    sources: list[str],
    challenge: Path,
    solution: str | None,
    measure: str | None,
    form: ReportForm,
    output: str | None,
    track: str | None,
    smaller_is_better: bool,
    na: Na,
    task: str | None,
    algorithm: str | None,
    case: str | None,
    value: str | None,
    seed: int,
    resamples: int,
    all_pairs: bool,
    tukey: bool,
    row_name: RowName | None,
    **policies: Any,
) -> int:
    """Analyse the ranking of a challenge, of submissions, or of any table of values.

    The report says who is first, how certain the ranking is, which differences are significant, how stable the ranks
    are under resampling, and how the ranking rules agree. It is one self-contained HTML file, Markdown, or JSON.

    With --solution and --measure, it is about the scores of submissions, which are files.
    """
    from scorer.analysis.analysis import Settings
    from scorer.site.report_page import written

    settings = Settings(seed=seed, resamples=resamples, all_pairs=all_pairs, tukey=tukey)
    named = zip(COLUMNS, (task, algorithm, case, value), strict=True)
    columns = {column: name for column, name in named if name is not None}
    about_values = smaller_is_better or na is not None or bool(columns)
    source = sources[0] if sources else str(challenge)
    templates = None
    if solution is not None:
        if challenge != Path() or track is not None or about_values:
            raise WrongCallError("--solution reports on files; --challenge, --track, and the options of tables do not")
        analysis = _of_files(sources, solution, measure, row_name, policies, settings)
        source = solution
    else:
        _check_source(sources, challenge)
        check_no_policies({"measure": measure, "names": row_name, **policies}, "is for files, with --solution FILE")
        if _is_challenge(source):
            if about_values:
                raise WrongCallError(
                    "--smaller-is-better, --na and names of columns are for tables; the scores of a challenge need none"
                )
            analysis, templates = _of_challenge(Path(source), track, settings)
        else:
            analysis = _of_table(source, track, smaller_is_better, na, columns, settings)
    text = written(analysis, form, templates)
    if output is None and form == "html":
        output = _default_output(source)
    if output is None or output == "-":
        print_result(text)
        return 0
    _write(text, Path(output))
    print_result(printable(output))
    return 0


def _check_source(sources: Sequence[str], challenge: Path) -> None:
    """Raise WrongCallError for several sources."""
    if len(sources) > 1:
        raise WrongCallError(
            f"found {len(sources)} sources, expected one; to report on submissions, add --solution FILE"
        )
    if sources and challenge != Path():
        raise WrongCallError(f"expected either a table or --challenge, found both: {quoted(shown(sources[0]))}")


def _of_files(
    paths: list[str],
    solution: str,
    measure: str | None,
    row_name: RowName | None,
    policies: Mapping[str, Any],
    settings: Settings,
) -> Report:
    """The report of submissions."""
    from scorer.analysis.analysis import analysed_tasks
    from scorer.scoring.evaluation import measures_named

    check_several(paths, "submission")
    if measure is None:
        raise WrongCallError("--measure is required to report on files, as in --measure nDCG@10")
    tasks, notes = tasks_of_files(paths, solution, lambda: measures_named(measure), row_name, policies)
    lines = [line for run in notes.values() for line in run]
    return analysed_tasks(_title(solution), tasks, settings, "drop", lines)


def _is_challenge(source: str) -> bool:
    if is_standard_input(source) or is_url(source):
        return False
    path = Path(source)
    return path.is_dir() or path.name == SETTINGS


def _of_challenge(folder: Path, track: str | None, settings: Settings) -> tuple[Report, Path]:
    """The report of a challenge, and the folder of its templates."""
    from scorer.analysis.analysis import analysed_tasks
    from scorer.organising.analysis import track_tasks

    with open_store(folder, track) as (challenge, tracks, store):
        tasks, notes = store.read(lambda view: track_tasks(view, tracks))
    print_message(*notes)
    return analysed_tasks(challenge.name, tasks, settings, "drop", notes), challenge.root / "templates"


def _of_table(
    source: str,
    track: str | None,
    smaller_is_better: bool,
    na: Na,
    columns: Mapping[str, str],
    settings: Settings,
) -> Report:
    from scorer.analysis.analysis import analysed_tasks
    from scorer.analysis.tables import read_table

    tasks = read_table(source, larger_is_better=not smaller_is_better, columns=columns)
    chosen = [task for task in tasks if track in (None, task.name)]
    if not chosen:
        names = ", ".join(quoted(task.name) for task in tasks[:10])
        raise WrongCallError(f"--track: the table has no task called {quoted(track or '')}; its tasks are: {names}")
    try:
        return analysed_tasks(_title(source), chosen, settings, na)
    except ScorerError as error:
        raise ScorerError(f"{printable(shown(source))}: {error}") from error


def _title(source: str) -> str:
    return "standard input" if is_standard_input(source) else Path(shown(source)).name


def _default_output(source: str) -> str:
    """The file that a page is written to: ``data-report.html`` for data.csv, in the current folder."""
    if is_standard_input(source):
        return "report.html"
    path = Path(source).absolute() if not is_url(source) else Path(source.partition("?")[0])
    path = path.parent if path.name == SETTINGS else path.resolve() if path.is_dir() else path
    stem = path.name if path.is_dir() else path.name.partition(".")[0]
    return f"{stem}-report.html" if stem else "report.html"


def _write(text: str, path: Path) -> None:
    from scorer.paths.writing import replace_content

    try:
        replace_content(path, f"{text}\n".encode())
    except OSError as error:
        raise ScorerError(f"{printable(str(path))}: cannot be written: {error.strerror or error}") from error
