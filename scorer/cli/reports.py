"""The commands that show, explain and verify: ``report``, ``leaderboard``, ``entries``, ``phases``, ``measures`` and
``verify``.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
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
    parameters_of,
    wrong_call,
)
from scorer.errors import RENDERING, MeasureError, ScorerError, need_libraries
from scorer.files import is_standard_input, is_url, shown
from scorer.options import REPORT_FORMS, ReportForm, RowName
from scorer.wording import TABLES, aligned, csv_table, printable, quoted, text_table, utc_moment

if TYPE_CHECKING:
    from scorer.board.board import Board
    from scorer.measures import Kind
    from scorer.record.log import LogLine
    from scorer.scoring.analysis.analysis import Report, Settings
    from scorer.store.snapshot import Snapshot
    from scorer.verification.log import KnownHead, Verified


LARGEST_VALUE = 1e100
"""As in `scoring.analysis.tables`, which a help text must not load."""


def _na(text: str) -> float | Literal["drop"]:
    of_text = number(-LARGEST_VALUE, LARGEST_VALUE, f"drop or a number up to {LARGEST_VALUE:g}")
    return "drop" if text == "drop" else of_text(text)


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
    from scorer.board.reports.leaderboard import entries_json, entries_table
    from scorer.live.entry import misdated_lines
    from scorer.organising.render import listed_entries

    with open_store(challenge, track) as (_, tracks, store):
        listed = store.read(lambda view: listed_entries(view.as_of(as_of), tracks))
    if form == "json":
        print_result(entries_json(listed))
    else:
        print_result((csv_table if form == "csv" else text_table)(entries_table(listed)))
    if form == "table":
        print_message(*misdated_lines(entry for entries, _ in listed for entry in entries))


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


def _solution(text: str) -> tuple[str, Path]:
    track, equals, file = text.partition("=")
    if not (track and equals and file):
        raise ArgumentTypeError(f"found {quoted(text)}, expected TRACK=FILE, as in main=solution.txt")
    return track, Path(file)


def _sha256(text: str) -> str:
    digits = text.strip().lower()
    if not re.fullmatch("[0-9a-f]{64}", digits):
        raise ArgumentTypeError(f"found {quoted(text)}, expected 64 hexadecimal digits")
    return digits


def _known_head(text: str) -> KnownHead:
    from scorer.record.log import head_statement
    from scorer.verification.log import KnownHead

    number = "[1-9][0-9]{0,17}"
    place, digits = rf"((?:{number}\.)?{number})", "([0-9a-f]{64})"
    line = re.fullmatch(rf"{place}:{digits} (\S+) ([A-Za-z0-9+/=]{{88}}) (.+)", text.strip())
    match = line or re.fullmatch(f"(?:{place}:)?{digits}", text.strip().lower())
    if match is None:
        expected = (
            "the index of an event and 64 hexadecimal digits, as in 123:3f2a..., the digits only, or a line of `scorer "
            "heads`"
        )
        raise ArgumentTypeError(f"found {quoted(text)}, expected {expected}")
    place, head, *of_line = match.groups()
    epoch, _, index = (place or "").rpartition(".")
    signed = (head_statement(place, head, of_line[0], of_line[2]), of_line[1]) if line else ("", "")
    return KnownHead(bytes.fromhex(head), int(index) if index else None, int(epoch) if epoch else None, *signed)


_COMMITMENT = "verification.commitment"


@dataclass(frozen=True, slots=True)
class _Document:
    """A document that can be verified."""

    help: str
    """What it shows."""
    address: str
    """Of the function that takes the file and some of `Evidence` by name, and yields the statements."""
    needs: tuple[str, ...] = ()
    """The libraries that it needs, which no part of the statements may come before."""

    @property
    def verified(self) -> Callable[..., Iterator[Verified]]:
        """The function. Raises MissingError."""
        need_libraries(*self.needs)
        verified: Callable[..., Iterator[Verified]] = resolve_name(f"scorer.{self.address}")
        return verified

    @property
    def evidence(self) -> dict[str, bool]:
        """The names of the evidence that it takes, and whether each must be given."""
        parameters = list(signature(self.verified).parameters.values())[1:]
        return {each.name: each.default is each.empty for each in parameters}


_DOCUMENTS = {
    "log": _Document("log.jsonl: each head follows from the lines until it", "verification.log:verified_log"),
    "receipt": _Document(
        "a receipt: an entry is in the record and in the log", f"{_COMMITMENT}:verified_receipt", ("cryptography",)
    ),
    "commitment": _Document(
        "commitment.json: solutions, rules and keys are those of before the start", f"{_COMMITMENT}:verified_commitment"
    ),
    "split": _Document("split.json: which queries were preliminary", f"{_COMMITMENT}:verified_split"),
    "challenge": _Document(
        "challenge-archive.zip, a folder with a copy of the site, or its address: the boards follow from the files",
        "organising.derivation:verified_challenge",
        RENDERING,
    ),
    "bundle": _Document(
        "the file that `scorer export` wrote: its bytes, record and rows", "organising.bundles:verified_bundle"
    ),
}
"""What can be verified, by name."""

_DOCUMENTS_HELP = "; ".join(f"{name}: {document.help}" for name, document in _DOCUMENTS.items())


@dataclass(frozen=True)
class Evidence:
    """What documents are verified by, apart from themselves."""

    earlier: Path | None = option(
        "log, split: an earlier copy of the file; the log must begin with it, the split have its track, share and key",
        "FILE",
    )
    head: Any = option(
        "log, challenge: a head that the site, its feed or a receipt showed, or a line of `scorer heads`; the log must "
        "have it",
        "[[EPOCH.]INDEX:]HEAD",
        type=_known_head,
        required=False,
    )
    key: Path | None = option("receipt (required), commitment: receipts.pem, the public key of receipts", "FILE")
    log: Path | None = option(
        "receipt, commitment, bundle: log.jsonl of the site; it must have the event of the document, or the record in "
        "the bundle",
        "FILE",
    )
    texts: Path | None = option(
        "log, receipt, commitment: log-texts.jsonl of the site, if it has one; events of version 1 are compared with "
        "it, and it says which events were lost when a backup was restored",
        "FILE",
    )
    submission: Path | None = option("receipt: the submitted file; it must be the one that was received", "--file FILE")
    opening: Path | None = option("commitment: commitment.txt, which is published after the challenge", "FILE")
    sha256: str | None = option(
        "commitment: the commitment that the site showed earlier; it must be the same", "HASH", type=_sha256
    )
    solution: list[tuple[str, Path]] | None = option(
        "commitment: the published solution of a track; it must be the committed one; repeatable",
        "TRACK=FILE",
        type=_solution,
    )
    split: list[Path] | None = option(
        "commitment: split.json of a track; its key and its share must be the committed ones; repeatable", "FILE"
    )
    queries: Path | None = option(
        "split: the ids of all queries of the solution, one a line; the lists must have the same", "FILE"
    )
    key_sha256: str | None = option(
        "split: the SHA-256 of the key that the site showed when the challenge opened; it must be the same",
        "HASH",
        type=_sha256,
    )

    def of(self, document: str) -> dict[str, Any]:
        """What the document takes, by name. Raises WrongCallError for other evidence, and for what is missing."""
        taken = _DOCUMENTS[document].evidence
        options = {each.name: each.default.flags(each.name)[0] for each in parameters_of(Evidence)}
        for name, value in vars(self).items():
            if value is not None and name not in taken:
                known = ", ".join(options[each] for each in taken)
                raise WrongCallError(f"{options[name]}: no option of {document}; it takes {known}")
            if value is None and taken.get(name):
                raise WrongCallError(f"{document}: {options[name]} is missing")
        return {name: value for name in taken if (value := getattr(self, name)) is not None}


def verify(
    document: str = argument(f"what to verify. {_DOCUMENTS_HELP}", choices=tuple(_DOCUMENTS)),
    file: Path = argument("the file that the site publishes, such as log.jsonl"),
    evidence: Evidence = group(),
) -> int:
    """Verify a document that the organiser of a challenge has published.

    Prints a line for each check: ok; FAILED and what differs; open and why it cannot be verified; later if a document
    is older than another one, so that a later download may agree; and notes on what is not checked. Exit code 0: all is
    ok; 1: a check failed; 3: a part cannot be verified; 4: look again later.
    It needs neither the challenge nor its database.
    """
    from scorer.verification.log import EXIT_CODES

    outcomes = set()
    for statement in _DOCUMENTS[document].verified(file, **evidence.of(document)):
        outcomes.add(statement.outcome)
        difference = f": {statement.contradiction}" if statement.contradiction else ""
        print_result(f"{statement.outcome:6}  {printable(statement.statement + difference)}")
    return next((code for outcome, code in EXIT_CODES.items() if outcome in outcomes), 0)
