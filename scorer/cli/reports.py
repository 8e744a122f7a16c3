"""The commands that show and explain: ``report``, ``leaderboard``, ``entries``, ``phases`` and ``measures``."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scorer.cli.evaluate import MEASURES_HELP, AnalysisOptions, FileOptions, check_several, tasks_of_files
from scorer.cli.output import CHALLENGE_FILE, print_message, print_result, write_file
from scorer.cli.parameters import (
    AS_OF,
    ONE_TRACK,
    REASON_HELP,
    ROW_NAME_OPTION,
    OrChallenge,
    WrongCallError,
    argument,
    form_of,
    group,
    moment,
    number,
    of_challenge,
    open_challenge,
    open_store,
    option,
    wrong_call,
)
from scorer.errors import MeasureError, ScorerError, need_libraries
from scorer.files import is_standard_input, is_url, shown
from scorer.options import REPORT_FORMS, ReportForm, RowName
from scorer.wording import TABLES, aligned, csv_table, printable, quoted, text_table, utc_moment

if TYPE_CHECKING:
    from scorer.board.board import Board
    from scorer.measures import Kind
    from scorer.record.log import LogLine
    from scorer.scoring.analysis.analysis import Report, Settings
    from scorer.store.snapshot import Snapshot


LARGEST_VALUE = 1e100
"""As in `scoring.analysis.tables`, which a help text must not load."""


def _na(text: str) -> float | Literal["drop"]:
    if text == "drop":
        return "drop"
    try:
        return number(-LARGEST_VALUE, LARGEST_VALUE)(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(f"found {quoted(text)}, expected drop or a number up to {LARGEST_VALUE:g}") from None


def _column(name: str) -> Any:
    """Declare the option for the name of a column."""
    return option(f"what the column {name} of a table is called", "COLUMN")


@dataclass(frozen=True)
class TableOptions:
    """The options for a table of values."""

    task: str | None = _column("task")
    algorithm: str | None = _column("algorithm")
    case: str | None = _column("case")
    value: str | None = _column("value")
    smaller_is_better: bool = option("smaller values are better; only for a table")
    na: float | Literal["drop"] | None = option(
        "what to do with missing values of a table: put a number in their place, or drop them; default: they are an "
        "error",
        "NUMBER|drop",
        type=_na,
    )

    @property
    def are_given(self) -> bool:
        """Whether any of them is given."""
        return self != TableOptions(None, None, None, None, smaller_is_better=False, na=None)

    @property
    def columns(self) -> dict[str, str]:
        """What the columns are called in the table, where they have other names."""
        names = ("task", "algorithm", "case", "value")
        return {column: name for column in names if (name := getattr(self, column)) is not None}


def report(
    sources: list[str] = argument(
        "a challenge (a folder with challenge.toml, or that file), or a table: a CSV or Parquet file with the columns "
        "task, algorithm, case and value, a URL, or - for standard input; without tasks, there is one; default: the "
        "current folder. With --solution: two or more submissions",
        "SOURCE",
    ),
    challenge: Path = of_challenge("sources"),
    solution: str | None = option("the graded items of every query: report on submissions", "FILE"),
    measure: str | None = option(f"with --solution: {MEASURES_HELP}", "-m, --measure MEASURE"),
    slices: str | None = option(
        "with --solution: add a part for the queries of each label: a file with lines query,label", "FILE"
    ),
    form: ReportForm = form_of("the report", *REPORT_FORMS),
    output: str | None = option(
        "the file to write, or - for standard output; default: html is written to SOURCE-report.html in the current "
        "folder, the others to standard output",
        "-o, --output FILE",
    ),
    track: str | None = ONE_TRACK,
    table: TableOptions = group(),
    analysis: AnalysisOptions = group(),
    tukey: bool = option("add the randomised Tukey HSD test, which permutes each case and takes longer"),
    row_name: RowName | None = ROW_NAME_OPTION,
    options: FileOptions = group(),
) -> None:
    """Analyse the ranking of a challenge, of submissions, or of any table of values.

    The report says who is first, how certain the ranking is, which differences are significant, how stable the ranks
    are under resampling, and how the ranking rules agree. It is one self-contained HTML file, Markdown, or JSON.

    With --solution and --measure, it is about the scores of submissions, which are files.
    """
    need_libraries("jinja2", "scipy")
    from scorer.board.site.report_page import report_in_form
    from scorer.scoring.analysis.analysis import Settings

    settings = Settings(**vars(analysis), tukey=tukey)
    source = sources[0] if sources else str(challenge)
    templates = None
    if solution is not None:
        if challenge != Path() or track is not None or table.are_given:
            raise WrongCallError("--solution reports on files; --challenge, --track, and the options of tables do not")
        analysed = _of_files(sources, solution, measure, row_name, options, settings, slices)
        source = solution
    else:
        if len(sources) > 1:
            found = f"found {len(sources)} sources, expected one"
            raise WrongCallError(f"{found}; to report on submissions, add --solution FILE")
        if sources and challenge != Path():
            raise WrongCallError(f"expected either a table or --challenge, found both: {quoted(shown(sources[0]))}")
        options.check_unused("is for files, with --solution FILE", measure=measure, names=row_name, slices=slices)
        if _is_challenge(source):
            if table.are_given:
                raise WrongCallError(
                    "--smaller-is-better, --na and names of columns are for tables; the scores of a challenge need none"
                )
            analysed, templates = _of_challenge(Path(source), track, settings)
        else:
            analysed = _of_table(source, track, table, settings)
    text = report_in_form(analysed, form, templates)
    if output is None and form == "html":
        output = _default_output(source)
    if output is None or output == "-":
        print_result(text)
        return
    write_file(Path(output), f"{text}\n".encode())
    print_result(printable(output))


def _of_files(
    paths: list[str],
    solution: str,
    measure: str | None,
    row_name: RowName | None,
    options: FileOptions,
    settings: Settings,
    slices: str | None,
) -> Report:
    from scorer.measures import registry
    from scorer.scoring.analysis.analysis import analysed_tasks

    check_several(paths, "submission")
    if measure is None:
        raise WrongCallError("--measure is required to report on files, as in --measure nDCG@10")
    tasks, notes = tasks_of_files(paths, solution, lambda: registry.requested(measure), row_name, options, slices)
    lines = [line for run in notes.values() for line in run]
    return analysed_tasks(_title(solution), tasks, settings, "drop", lines)


def _is_challenge(source: str) -> bool:
    if is_standard_input(source) or is_url(source):
        return False
    path = Path(source)
    return path.is_dir() or path.name == CHALLENGE_FILE


def _of_challenge(folder: Path, track: str | None, settings: Settings) -> tuple[Report, Path]:
    """The report of a challenge, and the folder of its templates."""
    from scorer.organising.render import track_tasks
    from scorer.scoring.analysis.analysis import analysed_tasks

    with open_store(folder, track) as (challenge, tracks, store):
        tasks, notes = store.read(lambda view: track_tasks(view, tracks))
    print_message(*notes)
    return analysed_tasks(challenge.name, tasks, settings, "drop", notes), challenge.root / "templates"


def _of_table(source: str, track: str | None, table: TableOptions, settings: Settings) -> Report:
    from scorer.scoring.analysis.analysis import analysed_tasks
    from scorer.scoring.analysis.tables import read_table

    tasks = read_table(source, larger_is_better=not table.smaller_is_better, columns=table.columns)
    chosen = [task for task in tasks if track in (None, task.name)]
    if not chosen:
        names = ", ".join(quoted(task.name) for task in tasks[:10])
        raise WrongCallError(f"--track: the table has no task called {quoted(track or '')}; its tasks are: {names}")
    try:
        return analysed_tasks(_title(source), chosen, settings, table.na)
    except ScorerError as error:
        raise ScorerError(f"{printable(shown(source))}: {error}") from error


def _title(source: str) -> str:
    return "standard input" if is_standard_input(source) else Path(shown(source)).name


def _default_output(source: str) -> str:
    """The file that a page is written to: ``data-report.html`` for data.csv, in the current folder."""
    if is_standard_input(source):
        return "report.html"
    path = Path(source).absolute() if not is_url(source) else Path(source.partition("?")[0])
    path = path.parent if path.name == CHALLENGE_FILE else path.resolve() if path.is_dir() else path
    stem = path.name if path.is_dir() else path.name.partition(".")[0]
    return f"{stem}-report.html" if stem else "report.html"


def leaderboard(
    challenge: Path = of_challenge(),
    track: str | None = ONE_TRACK,
    form: str = form_of("the output", "table", "json", "csv", "markdown"),
    as_of: datetime | int | None = AS_OF,
    organiser: bool = option("show final scores and all else that is hidden from visitors"),
) -> None:
    """Print the board of each track from the stored results, without scoring."""
    from scorer.board.reports.leaderboard import board_table, to_json
    from scorer.live.now import published_log
    from scorer.organising.render import boards
    from scorer.store.snapshot import Cache

    with open_store(challenge, track) as (settings, tracks, store):

        def read(whole: Snapshot) -> tuple[list[Board], LogLine | None]:
            view = replace(whole.as_of(as_of), hides_nothing=organiser)
            head = published_log(view, settings.tracks).head if form == "json" else None
            return boards(view, tracks, Cache({}) if organiser else whole.cache(store.sidecar(settings.root))), head

        shown, head = store.read(read)
    if form == "json":
        # One board is an object, as on the site; several boards are a list of such objects.
        texts = [to_json(board, head).rstrip("\n") for board in shown]
        print_result(texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]")
        return
    heads = {"table": "{}\n", "markdown": "## {}\n\n"}
    tables = [(board.track.title, TABLES[form](board_table(board))) for board in shown]
    print_result("\n\n".join(heads.get(form, "").format(title) + table for title, table in tables))


def paper(
    output: Path = argument("the folder to write; it must not exist, or be empty"), challenge: Path = of_challenge()
) -> None:
    """Write what the overview paper of a challenge needs: LaTeX tables and definitions, figures, citations, and data.

    The folder has overview.tex, which shows all parts: the boards, the systems, the measures with their sources, and
    how the statistics were computed. It has only what visitors of the site may see now, and each part says the head of
    the log that it comes from.
    """
    from scorer.organising.paper import paper_files

    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise ScorerError(f"{printable(str(output))}: exists and is not empty; name a new folder")
    with open_store(challenge) as (settings, _, store):
        files = store.read(lambda view: paper_files(view, settings, store))
    for name, content in files.items():
        write_file(output / name, content)
    print_result(str(output / "overview.tex"))


def entries(
    challenge: Path = of_challenge(),
    track: str | None = ONE_TRACK,
    form: str = form_of("the output", "table", "json", "csv"),
    as_of: datetime | int | None = AS_OF,
) -> None:
    """Print every entry: when it was received, in which phase, its state, and whether it counts.

    The time at which it was recorded is there if a phase had closed since the time of receipt.

    The scores are those that visitors may see: no final scores before their time, and none of a frozen period.
    """
    from scorer.board.reports.leaderboard import entries_json, entries_table, misdated_lines
    from scorer.organising.render import listed_entries

    with open_store(challenge, track) as (_, tracks, store):
        listed = store.read(lambda view: listed_entries(view.as_of(as_of), tracks))
    if form == "json":
        print_result(entries_json(listed))
    else:
        print_result((csv_table if form == "csv" else text_table)(entries_table(listed)))
    if form == "table":
        print_message(*misdated_lines(entry for track_entries in listed for entry in track_entries.entries))


def phases(
    action: str | None = argument("give a phase a later end", "extend", choices=OrChallenge(["extend"])),
    phase: str | None = argument("the name of the phase to extend"),
    end: datetime | None = option("the new end, with its offset from UTC", "TIME", type=moment),
    reason: str | None = option(REASON_HELP, "TEXT"),
    track: str | None = ONE_TRACK,
    challenge: Path = of_challenge("action"),
) -> None:
    """Print the phases of the tracks with the exact rules on times; or extend one: scorer phases extend NAME.

    An extension needs --end and --reason. It is recorded; the board shows the old end, the new one and the reason. A
    phase is extended until it has closed, that is, until its end and its grace have passed. Without --track, it is
    extended in all tracks that have a phase with this name, or in none of them.
    """
    from scorer.live.now import Now
    from scorer.live.phases import phase_lines
    from scorer.organising.phases import extend
    from scorer.rules.phases import Phases
    from scorer.store.store import Store, now

    settings, tracks = open_challenge(challenge, track)
    if action is None:
        if end is not None or reason is not None:
            raise WrongCallError("--end and --reason belong to `scorer phases extend NAME`")
        address = settings.database_address
        if isinstance(address, Path) and not address.exists():
            lines = [
                line for one in tracks for line in phase_lines(Phases(one.phases), one, now(), has_preliminary=True)
            ]
        else:
            with Store.open(address, create=False) as store:
                lines = store.read(lambda view: [line for one in tracks for line in Now.of(view, one).lines()])
        print_result(*lines)
        return
    if phase is None or end is None or reason is None:
        raise WrongCallError("extend needs the name of a phase, --end TIME and --reason TEXT")
    with open_store(challenge, create=True) as (settings, _, store):
        extensions = extend(settings, store, track, phase, end, reason)
    for name, extension in extensions.items():
        before, after = map(utc_moment, (extension.before, extension.end))
        print_result(f"{name}: the phase {phase} ends at {after}, not at {before}; `scorer run` shows it")


SUBTOPICS = (
    "An item has a subtopic if its grade for the subtopic is relevant. Subtopics without a relevant item do not count. "
    "In a solution without subtopics, each query has one. Under ties=best and ties=worst, tied items are ordered by "
    "their highest grade, which need not give the highest or the lowest score."
)


def measures(name: str | None = argument("the measure to explain; default: list all measures", "MEASURE")) -> None:
    """List all measures, or explain one."""
    from scorer.measures import KINDS, parse, registry

    if name is None:
        print_result(aligned([[kind.usage, kind.title, kind.summary] for kind in KINDS]))
        return
    with wrong_call():
        try:
            kinds = [registry.kind(name)]
        except MeasureError:  # a measure with a cut-off and parameters, or a set
            kinds = list(dict.fromkeys(measure.kind for measure in parse(name, cutoffs=[10])))
    print_result("\n\n".join(map(_explained, kinds)))


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
