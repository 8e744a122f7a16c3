"""``scorer report``: the analysis of a challenge or of a table of values."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scorer.cli.arguments import WrongCallError, add_analysis, add_form, add_track, number
from scorer.cli.console import print_message, print_result
from scorer.errors import ScorerError
from scorer.paths import is_standard_input, is_url, shown
from scorer.wording import printable, quoted

if TYPE_CHECKING:
    from scorer.analysis.analysis import Settings
    from scorer.analysis.report import Report
    from scorer.analysis.task import Na

FORMS = ("html", "markdown", "json")

CHALLENGE_FILE = "challenge.toml"

LARGEST = 1e100
"""As in `analysis.tables`, which a help text must not load."""


def add_report(parser: ArgumentParser) -> None:
    """Add the arguments of ``report``."""
    parser.add_argument(
        "source",
        nargs="?",
        default=".",
        metavar="SOURCE",
        help="a challenge (a folder with challenge.toml, or that file), or a table: a CSV or Parquet file with the "
        "columns task, algorithm, case and value, a URL, or - for standard input; default: the current folder",
    )
    add_form(parser, FORMS, "of the report")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write, or - for standard output; default: html is written to a file with the name of the "
        "source, the others to standard output",
    )
    add_track(parser)
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


def _na(text: str) -> float | Literal["drop"]:
    if text == "drop":
        return "drop"
    try:
        return number(-LARGEST, LARGEST)(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"found {quoted(text)}, expected drop or a number up to {LARGEST:g}") from None


def report(
    source: str,
    form: str,
    output: str | None,
    track: str | None,
    smaller_is_better: bool,
    na: Na,
    seed: int,
    resamples: int,
    all_pairs: bool,
    tukey: bool,
) -> int:
    """Analyse the ranking of a challenge, or of any table of values.

    The report says who is first, how certain the ranking is, which differences are significant, how stable the ranks
    are under resampling, and how the ranking rules agree. It is one self-contained HTML file, Markdown, or JSON.
    """
    from scorer.analysis.analysis import Settings

    settings = Settings(seed=seed, resamples=resamples, all_pairs=all_pairs, tukey=tukey)
    if _is_challenge(source):
        if smaller_is_better or na is not None:
            raise WrongCallError("--smaller-is-better and --na are for tables; the scores of a challenge are complete")
        found, templates = _of_challenge(Path(source), track, settings)
    else:
        found, templates = _of_table(source, track, smaller_is_better, na, settings), None
    text = _written(found, form, templates)
    if output is None and form == "html":
        output = _default_output(source)
    if output is None or output == "-":
        print_result(text)
        return 0
    _write(text, Path(output))
    print_result(printable(output))
    return 0


def _is_challenge(source: str) -> bool:
    if is_standard_input(source) or is_url(source):
        return False
    path = Path(source)
    return path.is_dir() or path.name == CHALLENGE_FILE


def _of_challenge(folder: Path, track: str | None, settings: Settings) -> tuple[Report, Path]:
    """The report of a challenge, and the folder of its templates."""
    from scorer.analysis.report import report as analysed
    from scorer.cli.arguments import open_challenge
    from scorer.organising.analysis import track_tasks
    from scorer.store.store import Store

    challenge, tracks = open_challenge(folder, track)
    with Store.open(challenge.database_address, create=False) as store:
        tasks, notes = store.read(lambda view: track_tasks(view, tracks))
    for note in notes:
        print_message(note)
    return analysed(challenge.name, tasks, settings, "drop", notes), challenge.root / "templates"


def _of_table(source: str, track: str | None, smaller_is_better: bool, na: Na, settings: Settings) -> Report:
    from scorer.analysis.report import report as analysed
    from scorer.analysis.tables import read_table

    tasks = read_table(source, larger_is_better=not smaller_is_better)
    chosen = [task for task in tasks if track in (None, task.name)]
    if not chosen:
        names = ", ".join(quoted(task.name) for task in tasks[:10])
        raise WrongCallError(f"--track: the table has no task called {quoted(track or '')}; its tasks are: {names}")
    name = "standard input" if is_standard_input(source) else Path(shown(source)).name
    try:
        return analysed(name, chosen, settings, na)
    except ScorerError as error:
        raise ScorerError(f"{printable(shown(source))}: {error}") from error


def _written(found: Report, form: str, templates: Path | None) -> str:
    """The report in a form, without a final line end."""
    if form == "json":
        from scorer.analysis.documents import json_text, report_document

        return json_text(report_document(found))
    if form == "markdown":
        from scorer.reports.report_text import report_markdown

        return report_markdown(found)
    from scorer.site.report_page import report_page

    return report_page(found, templates).rstrip("\n")


def _default_output(source: str) -> str:
    """The file that a page is written to: ``data-report.html`` for data.csv, in the current folder."""
    if is_standard_input(source):
        return "report.html"
    path = Path(source).absolute() if not is_url(source) else Path(source.partition("?")[0])
    path = path.parent if path.name == CHALLENGE_FILE else path.resolve() if path.is_dir() else path
    stem = path.name if path.is_dir() else path.name.partition(".")[0]
    return f"{stem}-report.html" if stem else "report.html"


def _write(text: str, path: Path) -> None:
    from scorer.paths.writing import replace_content

    try:
        replace_content(path, f"{text}\n".encode())
    except OSError as error:
        raise ScorerError(f"{printable(str(path))}: cannot be written: {error.strerror or error}") from error
