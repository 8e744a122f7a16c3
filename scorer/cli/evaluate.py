"""The commands that evaluate and compare files: ``evaluate``, ``compare`` and ``trec_eval``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from scorer import options as choices
from scorer.cli.output import (
    challenge_hint,
    errors_of_files,
    paths_by_name,
    print_message,
    print_notes,
    print_result,
    row_names,
    swapped_note,
    with_progress,
)
from scorer.cli.parameters import (
    ROW_NAME_OPTION,
    WrongCallError,
    argument,
    choice,
    form_of,
    format_of,
    group,
    number,
    of_challenge,
    open_store,
    option,
    whole_number,
    wrong_call,
)
from scorer.errors import ContentError, Problem, ScorerError, SolutionError, SubmissionError
from scorer.files import is_regular, shown
from scorer.lists import READ_AS
from scorer.wording import TABLES, counted, printable, quoted

if TYPE_CHECKING:
    from scorer.lists.solution import Solution
    from scorer.measures import Measure
    from scorer.scoring.analysis.kept import Task
    from scorer.scoring.evaluation import Evaluation


@dataclass(frozen=True)
class FileOptions:
    """The options that decide how files are scored: queries, ties, unjudged items, and formats."""

    split: choices.Split = choice(choices.SPLIT)
    missing: choices.Missing = choice(choices.MISSING)
    ties: choices.Ties = choice(choices.TIES)
    nothing_relevant: choices.NothingRelevant = choice(choices.NOTHING_RELEVANT)
    unjudged: choices.Unjudged = choice(choices.UNJUDGED)
    rel: float | None = option(
        "the lowest relevant grade, for all measures that have one; default: any positive grade is relevant",
        "-l, --rel GRADE",
        type=number(),
    )
    exclude: str | None = option(
        "items to remove from the lists before ranks are assigned; self: the item that has the id of its query; "
        "FILE: those that a file lists for each query, in a format of submissions or as qrels; ./self: a file so named",
        "self|FILE",
    )
    clusters: str | None = option(
        "queries that belong together, for intervals and tests: a file with lines query,cluster, or a pattern for ids, "
        "where {cluster} is the cluster and * anything",
        "FILE|PATTERN",
    )
    checked: str | None = option(
        "a second solution, by people, for a random part of the queries: it corrects the scores of SOLUTION, which is "
        "by a machine",
        "FILE",
    )
    machine_weight: float = option(
        "with --checked, the weight of the scores by the machine; default: 1; `scorer agree` proposes one",
        "NUMBER",
        type=number(0, 10),
        default=1.0,
    )
    solution_format: str | None = format_of("the solution's format", "--solution-format")
    submission_format: str | None = format_of("the submissions' format")

    def check_unused(self, problem: str, **others: object) -> None:
        """Raise WrongCallError with a message for the first option that is given, of `others` or of these."""
        from scorer.scoring.evaluation import Options

        for name, value in {**others, **vars(self)}.items():
            if value != getattr(Options, name, None):
                raise WrongCallError(f"--{name.replace('_', '-')} {problem}")


@dataclass(frozen=True)
class AnalysisOptions:
    """The options of analyses and comparisons."""

    seed: int = option(
        "of the random numbers; default: %(default)s", "NUMBER", type=whole_number(0), default=choices.SEED
    )
    resamples: int = option(
        "how many resamples the bootstrap draws; default: %(default)s",
        "NUMBER",
        type=whole_number(100, 1_000_000),
        default=choices.RESAMPLES,
    )
    all_pairs: bool = option(
        "test all pairs also if there are more than 60 algorithms; otherwise only neighbours in the ranking, and the "
        "first with all others"
    )


MEASURES_HELP = "one or several with commas between them, as in AP,nDCG@10,RR"
_DEFAULT_MEASURES = ",".join(choices.DEFAULT_MEASURES)


def check_several(names: Sequence[str], what: str) -> None:
    """Raise WrongCallError for fewer than two files or names of `what`, and for one that is listed twice."""
    if len(names) < 2:
        raise WrongCallError(f"found {counted(len(names), what)}; expected two or more to compare")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None and twice != "-":
        raise WrongCallError(f"{quoted(shown(twice))} is listed twice; list each {what} once")


def check_standard_input(*paths: str | None) -> None:
    """Raise WrongCallError if standard input is named more than once."""
    if paths.count("-") > 1:
        raise WrongCallError("standard input (-) can be read only once; name a file for the other")


@dataclass(frozen=True)
class _Printed:
    """The options that decide what ``evaluate`` prints."""

    form: str = form_of("the scores", "table", "json", "csv", "markdown", "latex", "trec")
    sort: bool = option("list the submission with the best score first, by the first measure")
    sort_by: str | None = option("as --sort, by this measure", "MEASURE")
    row_name: choices.RowName | None = ROW_NAME_OPTION
    per_query: bool = option("print the scores of each query too", "-q, --per-query")
    side_by_side: bool = option("print a column for each submission and a row for each measure")
    significance: float | None = option(
        "mark differences that are significant at this level, as in 0.05", "LEVEL", type=number(0.0001, 0.5)
    )
    tie_bounds: bool = option("print the lowest and the highest mean that the orders of tied items allow")
    slices: str | None = option(
        "print the means over the queries of each label too: a file with lines query,label", "FILE"
    )
    judged_bounds: choices.JudgedBounds | None = option(
        f"print the lowest and the highest mean that unjudged items allow; {choices.JUDGED_BOUNDS.about}: "
        f"{choices.JUDGED_BOUNDS.meanings}"
    )

    def check(self) -> None:
        """Raise WrongCallError for a request that the form cannot show."""
        from scorer.board.reports.scores import MARKED

        if self.side_by_side and self.form not in TABLES:
            raise WrongCallError(f"--side-by-side: {self.form} is not a table; choose one of {', '.join(TABLES)}")
        for name, bounds in (("tie", self.tie_bounds), ("judged", self.judged_bounds)):
            if bounds and self.form == "trec":
                raise WrongCallError(f"--{name}-bounds: {self.form} cannot show bounds; choose another form")
        if self.slices is not None and self.form == "trec":
            raise WrongCallError(f"--slices: {self.form} cannot show slices; choose another form")
        if self.slices is not None and self.per_query and self.form != "json":
            raise WrongCallError(f"--slices: {self.form} shows either slices or queries; choose json for both")
        if self.significance is not None and self.form not in MARKED:
            raise WrongCallError(f"--significance: {self.form} cannot show it; choose one of {', '.join(MARKED)}")

    def first_by(self, measures: Mapping[str, Measure]) -> str | None:
        """The measure by which the best submission is listed first. Raises WrongCallError if it is not printed."""
        from scorer.measures import parse_one

        if self.sort_by is None:
            return next(iter(measures)) if self.sort else None
        if self.sort_by in measures:
            return self.sort_by
        with wrong_call("--sort-by"):
            wanted = parse_one(self.sort_by)
        for known, measure in measures.items():
            if measure == wanted:
                return known
        raise WrongCallError(f"--sort-by: {quoted(self.sort_by)} is not among the measures: {', '.join(measures)}")


def evaluate(
    solution: str = argument("the graded items of every query: a path, a URL, or - for standard input"),
    submissions: list[str] = argument("one or more files with ranked lists: paths, URLs, or -", "submission"),
    requested: list[str] | None = option(
        f"measures: {MEASURES_HELP}, or a group such as official; repeatable; default: {_DEFAULT_MEASURES}",
        "-m, --measure MEASURE",
    ),
    printed: _Printed = group(),
    options: FileOptions = group(),
) -> int:
    """Score submissions against a solution, and print the means over its queries.

    The errors of an invalid file are printed to standard error. The other files are still scored, and the exit code is
    1.
    """
    if printed.significance is None:
        # Nothing else here uses linear algebra, for which numpy starts threads when it is loaded.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from scorer.board.reports.scores import ScoreReport, scores_in_form
    from scorer.lists.detection import run_tag
    from scorer.lists.slices import read_slices
    from scorer.lists.solution import excluded
    from scorer.measures import registry
    from scorer.scoring.outcomes import split_masks

    policies = _checked_policies(printed, options)
    if not submissions:
        raise WrongCallError(challenge_hint(solution) or "the following arguments are required: submission")
    check_standard_input(solution, *submissions, options.checked)
    with wrong_call("--measure"):
        measures = registry.requested(requested or choices.DEFAULT_MEASURES)
        for measure in measures.values() if options.ties == "expected" else ():
            measure.need_closed_form()
    best_by = printed.first_by(measures)
    with errors_of_files({}):
        graded, checked = _solutions(solution, options)
    inside = split_masks(graded.flagged)[options.split].inside
    slices = () if printed.slices is None else read_slices(printed.slices, graded.queries.to_pylist())
    settings = {
        **vars(options),
        "exclude": excluded(options.exclude),
        "checked": checked,
        "per_query": printed.per_query,
        "tie_bounds": printed.tie_bounds,
    }
    results = _scored(graded, solution, submissions, measures, settings)
    if best_by is not None:
        results.sort(key=lambda result: (math.isnan(result[1][best_by]), -result[1][best_by]))
    if printed.judged_bounds:
        for name in [name for _, first in results[:1] for name in first if name not in first.unjudged_bounds()]:
            print_message(f"{name}: no bounds for unjudged items are known, or not with --ties and --unjudged as given")
    if results or printed.form == "json":  # programs expect a document, even an empty one
        paths = [path for path, _ in results]
        tags = [run_tag(path, options.submission_format) for path in paths]
        report = ScoreReport(
            [(shown(path), result) for path, result in results],
            measures,
            printed.per_query,
            printed.side_by_side,
            printed.significance,
            options.rel,
            policies,
            row_names(paths, tags, printed.row_name),
            tags,
            [part.within(inside) for part in slices],
            printed.judged_bounds,
        )
        print_result(scores_in_form(printed.form, report))
    return 1 if len(results) < len(submissions) else 0


def _checked_policies(printed: _Printed, options: FileOptions) -> dict[str, str]:
    """Return the policies as results have them. Raises WrongCallError for options that contradict each other."""
    from scorer.scoring.evaluation import Options

    printed.check()
    if options.clusters is not None and printed.significance is None and options.checked is None:
        raise WrongCallError("--clusters: decides about differences; add --significance LEVEL")
    if options.checked is not None and (printed.tie_bounds or printed.judged_bounds):
        raise WrongCallError("--checked: corrects scores, so bounds of scores by one solution do not hold; remove them")
    with wrong_call(kind=ValueError):
        return Options(**vars(options)).policies()


def _solutions(path: str, options: FileOptions) -> tuple[Solution, Solution | None]:
    """Read the solution and the checked queries. Raises SolutionError."""
    from scorer.lists.solution import Solution

    graded = Solution.read(path, options.solution_format)
    if options.checked is None:
        return graded, None
    checked = Solution.read(options.checked, options.solution_format)
    graded.with_checked(checked, shown(options.checked))  # raises their errors with their path
    return graded, checked


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
            print_message(challenge_hint(path) or str(error))
            continue
        except SolutionError as error:
            raise SolutionError(shown(solution), error.findings) from error
        if graded.read_as and not results:
            print_message(f"{printable(shown(solution))}: {Problem(0, READ_AS, {'layout': graded.read_as})}")
        print_message(*swapped_note(graded, solution, path), *result.notes.lines(shown(path)))
        results.append((path, result))
    for _, result in results[:1]:  # undefined scores depend on the solution, so one submission is enough
        _complain_of_undefined(result)
    return results


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


def compare(
    names: list[str] = argument(
        "files (with --solution): paths, URLs, or - for standard input; or names of teams of a challenge (with "
        "--track); two or more",
        "submission",
        nargs="+",
    ),
    solution: str | None = option("the graded items of every query: compare files", "FILE"),
    track: str | None = option("a track of the challenge: compare teams", "-t, --track NAME"),
    challenge: Path | None = of_challenge(""),
    measure: str | None = option(
        "the measure to compare by, as in nDCG@10; required for files; default for teams: the primary measure",
        "-m, --measure MEASURE",
    ),
    slices: str | None = option("also compare on the queries of each label: a file with lines query,label", "FILE"),
    against: list[str] = option(
        "a submission that all others are compared with: p-values are adjusted for these pairs only; repeatable", "NAME"
    ),
    correction: choices.PValueCorrection = choice(choices.P_VALUE_CORRECTION),
    margin: float | None = option(
        "also print whether the first submission, or each one with --against, is not worse by more than this, at a "
        "level of 0.025; exit code 3 if that is not shown",
        "NUMBER",
        type=number(0),
    ),
    power: bool = option(
        "print instead the smallest difference that these queries show with a probability of 0.8, and how many "
        "queries the difference of each pair needs"
    ),
    difference: float | None = option("as --power, for this difference", "NUMBER", type=number(0)),
    form: str = form_of("the comparison", "table", "json", "csv", "markdown", "latex"),
    row_name: choices.RowName | None = ROW_NAME_OPTION,
    analysis: AnalysisOptions = group(),
    options: FileOptions = group(),
) -> int:
    """Compare two or more submissions: differences, intervals, p-values, and the queries that decide.

    Compares files by a solution and a measure, or the teams of a challenge by their entries on the board. The options
    on queries, ties and formats are for files; for teams, the rules of the track apply.
    """
    from scorer.board.reports.comparisons import comparison_text, not_worse_lines, power_text
    from scorer.scoring.analysis.analysis import Settings
    from scorer.scoring.analysis.compare import check_baselines, comparison_of, one_measure

    check_several(names, "submission")
    if solution is not None and track is None and challenge is None:
        if measure is None:
            check_standard_input(solution, *names)
            raise WrongCallError("--measure is required to compare files, as in --measure nDCG@10")
        found = tasks_of_files(names, solution, lambda: dict([one_measure(measure)]), row_name, options, slices)
        (task, *parts), notes = found
    elif solution is None and track is not None:
        options.check_unused("is for files; the rules of a track are in challenge.toml", names=row_name)
        (task, *parts), notes = _of_teams(names, challenge or Path(), track, measure, slices), {}
    else:
        raise WrongCallError("expected either --solution FILE to compare files, or --track NAME to compare teams")
    print_message(*task.notes)
    called = dict(zip(names, task.algorithms, strict=True))
    baselines = tuple(called.get(each, each) for each in against)
    with wrong_call("--against", ValueError):
        check_baselines(baselines, task.algorithms)
    settings = Settings(**vars(analysis), against=baselines, correction=correction, margin=margin)
    comparison = replace(comparison_of(task, settings, parts), notes=notes)
    shows_power = power or difference is not None
    print_result(power_text(comparison, form, difference) if shows_power else comparison_text(comparison, form))
    if shows_power or form not in ("table", "json"):
        print_message(*not_worse_lines(comparison))
    return 3 if any(pair.is_not_worse is False for pair in comparison.pairs) else 0


def tasks_of_files(
    paths: Sequence[str],
    solution: str,
    measures: Callable[[], Mapping[str, Measure]],
    row_name: choices.RowName | None,
    options: FileOptions,
    slices: str | None = None,
) -> tuple[list[Task], dict[str, tuple[str, ...]]]:
    """Return the scores of files by each measure, on all queries and on each slice, and the notes on each file by its
    name, which are also printed.

    Raises MeasureError by `measures` as a WrongCallError.
    """
    from scorer.lists.slices import read_slices
    from scorer.lists.solution import Solution, excluded
    from scorer.scoring.analysis.compare import run_tasks, tasks_of_slices

    check_standard_input(solution, *paths, options.checked)
    submissions = paths_by_name(paths, row_name, options.submission_format)
    policies = {**vars(options), "exclude": excluded(options.exclude)}
    with errors_of_files(submissions):
        graded = Solution.read(solution, options.solution_format) if slices else solution
        with wrong_call("--measure"):
            tasks, notes = run_tasks(graded, submissions, measures(), **policies)
    if slices and isinstance(graded, Solution):
        queries = graded.queries.to_pylist()
        parts = read_slices(slices, queries)
        tasks = [part for task in tasks for part in tasks_of_slices(task, parts, queries)]
    print_notes(notes, submissions)
    return tasks, notes


def _of_teams(names: list[str], folder: Path, track: str, measure: str | None, slices: str | None) -> list[Task]:
    """Return the scores of the entries of teams that count on the board, on all queries and on each slice."""
    from scorer.lists.slices import read_slices
    from scorer.live.now import Now
    from scorer.organising.render import measure_of, teams_task
    from scorer.scoring.analysis.compare import tasks_of_slices

    with open_store(folder, track, checked=False) as (_, (chosen,), store):
        with wrong_call("--measure"):
            by = measure_of(store.read(lambda view: Now.of(view, chosen).declared), measure)
        task = store.read(lambda view: teams_task(view, chosen, names, by))
        basis = store.read(lambda view: Now.of(view, chosen).public.basis)
        queries = store.read(lambda view: view.queries(basis.solution).ids) if slices and basis else ()
    return tasks_of_slices(task, read_slices(slices, queries), queries) if slices else [task]


_FORMAT = "trec"

_REFUSED = {
    "--Debug_level": ("0", "it prints variables of trec_eval, which do not exist here; leave it out"),
    "--Zscore": (None, "Z scores are not computed; divide the differences from your means by your deviations"),
    "--Rel_info_format": ("qrels", "only qrels can be read; preferences and judgement groups are not computed"),
    "--Results_format": ("trec_results", "only trec_results can be read, the only format of trec_eval 10, too"),
}
"""Options of trec_eval that cannot be had, with the value that changes nothing, and the reason."""


def trec_eval(
    qrels: str | None = argument("the graded items of every query: a path or a URL"),
    run: str | None = argument("the ranked lists: a path, a URL, or - for standard input"),
    per_query: bool = option("print the scores of each query too", "-q, --query_eval_wanted"),
    no_summary: bool = option("print no means", "-n, --nosummary"),
    names: list[str] = option(
        "a measure or a group of trec_eval, as in P.5,10 or all_trec; repeatable; default: official",
        "-m, --measure MEASURE",
    ),
    complete: bool = option(
        "average over all queries of the qrels: a query without a list scores 0", "-c, --complete_rel_info_wanted"
    ),
    level: int = option(
        "the lowest grade that counts as relevant; default: 1",
        "-l, --level_for_rel NUM",
        type=whole_number(0),
        default=1,
    ),
    judged_only: bool = option("remove unjudged items from the lists before they are scored", "-J, --Judged_docs_only"),
    most: int | None = option(
        "the number of items of each list that count; default: all",
        "-M, --Max_retrieved_per_topic NUM",
        type=whole_number(1),
    ),
    collection: int = option(
        "the number of documents in the collection, which utility uses",
        "-N, --Number_docs_in_coll NUM",
        type=whole_number(0, 10**12),
        default=0,
    ),
    qrels_format: str = option("only qrels", "-R, --Rel_info_format FORMAT", default="qrels"),
    run_format: str = option("only trec_results", "-T, --Results_format FORMAT", default="trec_results"),
    old: bool = option(  # noqa: ARG001
        "ignored, as in trec_eval 10", "-o, --Output_old_results_format"
    ),
    debug: str = option("only 0", "-D, --Debug_level NUM", default="0"),
    z_scores: str | None = option("refused: Z scores are not computed", "-Z, --Zscore FILE"),
    version: bool = option("print the version and exit", "-v, --version"),
) -> None:
    """Score a run as trec_eval does: its options, its names of measures, its output.

    Names are read with their meaning in trec_eval 10, and the output is equal to the byte. The numbers are those of
    `scorer evaluate`. docs/trec-eval.md lists what differs, with the reason.
    """
    if version:
        from importlib.metadata import version as installed

        print_message(f"scorer {installed('challenge-scorer')}, with the options of trec_eval 10")
        return
    if qrels is None or run is None:
        raise WrongCallError("expected two files: the qrels, then the run")
    check_standard_input(qrels, run)
    _refuse({"--Debug_level": debug, "--Zscore": z_scores}, WrongCallError)
    _refuse({"--Rel_info_format": qrels_format, "--Results_format": run_format}, ScorerError)

    from scorer.board.reports.scores import TrecEvalOutput
    from scorer.lists.formats.trec import last_tag
    from scorer.measures import registry
    from scorer.measures.names import printed_measures
    from scorer.scoring.evaluation import score_source
    from scorer.scoring.outcomes import Rules

    with wrong_call("--measure"):
        printed = printed_measures(names, registry, collection=collection, level=level)
    measures = [line.measure for line in printed if line.measure is not None]
    solution = _qrels(qrels, measures)
    rules = Rules(
        tuple(dict.fromkeys(measures)),
        list_length=most,
        submission_format=f"{_FORMAT}:tag=*",
        unjudged="drop" if judged_only else "nonrelevant",
    )
    with _saved(run) as path:
        scored = score_source(solution, path, rules, shown(run))
        tag = last_tag(path)
    if scored.counts.repeated:
        found = f"{counted(scored.counts.repeated, 'item')} listed again in the same list"
        _stop(f"{shown(run)}: {found}; list each item once, as trec_eval requires")
    output = TrecEvalOutput(solution, scored, printed, tag, complete, per_query, not no_summary)
    if output.left_out:
        queries = counted(output.left_out, "query", "queries")
        print_message(f"{shown(run)}: {queries} of {len(solution.queries):,} left out without a list; -c scores them 0")
    if scored.counts.few_known:
        print_message(f"{shown(run)}: none or hardly any of its items is in the qrels; check the ids")
    if text := output.text():
        print_result(text)


def _refuse(given: Mapping[str, str | None], error: type[Exception]) -> None:
    for flag, value in given.items():
        harmless, reason = _REFUSED[flag]
        if value != harmless:
            raise error(f"{flag}: {reason}")


def _qrels(path: str, measures: list[Measure]) -> Solution:
    """Read the qrels, whose grades must be whole numbers."""
    from scorer.lists.formats import shortest
    from scorer.lists.reading.arrow import take
    from scorer.lists.solution import Solution
    from scorer.scoring.outcomes import check_gains

    try:
        solution = Solution.read(path, _FORMAT)
        check_gains(solution, measures, shown(path))
    except ContentError as error:
        _stop(str(error))
    fractions = (solution.ideal.grade % 1 != 0).nonzero()[0]
    if fractions.size:
        first = fractions[:1]
        query = take(solution.queries, solution.ideal.query[first])[0].as_py()
        found = f"query {quoted(query)} has the grade {shortest(float(solution.ideal.grade[first[0]]))}"
        expected = "expected whole numbers, or use `scorer evaluate`"
        raise ScorerError(f"{shown(path)}: {found}; trec_eval drops the fraction; {expected}")
    return solution


def _stop(text: str) -> NoReturn:
    """Print what is wrong with readable files, and exit with trec_eval's code for measures that it cannot compute."""
    print_message(text)
    raise SystemExit(4)


@contextmanager
def _saved(run: str) -> Iterator[str | Path]:
    """The path of the run; a temporary copy of what can be read only once, since the tag is read after the rows."""
    import shutil

    from scorer.files.writing import temporary_folder
    from scorer.lists.reading.blocks import UnreadableError, open_bytes

    if is_regular(run) or (run != "-" and not Path(run).exists()):
        yield run
        return
    with temporary_folder() as folder:
        copy = folder / "run"
        try:
            with open_bytes(run) as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file)
        except UnreadableError as error:
            raise ScorerError(f"{shown(run)}: {error}") from error
        yield copy
