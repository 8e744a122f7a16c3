"""The commands that make files of runs or compare files: ``convert``, ``fuse``, ``overlap`` and ``agree``."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scorer.cli.evaluate import FileOptions, check_several, check_standard_input
from scorer.cli.output import errors_of_files, paths_by_name, print_message, print_notes, print_result
from scorer.cli.parameters import (
    ROW_NAME_OPTION,
    WrongCallError,
    argument,
    choice,
    form_of,
    format_of,
    group,
    known_format,
    of_challenge,
    open_store,
    option,
    whole_number,
    wrong_call,
)
from scorer.errors import ConversionError, FusionError, ScorerError, os_errors_as
from scorer.files import shown
from scorer.options import DEFAULT_SIMILARITIES, KAPPA_WEIGHTS, SEED, TIE_RULE, KappaWeights, RowName, TieRule
from scorer.wording import aligned, counted, printable, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scorer.runs import Run
    from scorer.runs.fuse import FusedCounts
    from scorer.runs.fusion import GivenParameter
    from scorer.runs.overlap import Overlaps
    from scorer.runs.tuning import Tuning


AGREE_MEASURE = "nDCG@10"
"""The default of `scorer.agree`, which takes long to import."""


def agree(
    first: str = argument("graded items, as by a machine: a path, a URL, or - for standard input"),
    second: str = argument("graded items, as by people: a path, a URL, or -"),
    runs: list[str] = argument("two or more files with ranked lists: paths or URLs", "run"),
    measure: str | None = option(
        f"the measure by which the runs are ranked; default: {AGREE_MEASURE}", "-m, --measure MEASURE"
    ),
    weights: KappaWeights = choice(KAPPA_WEIGHTS),
    form: str = form_of("the agreement", "table", "json"),
    row_name: RowName | None = ROW_NAME_OPTION,
    options: FileOptions = group(),
) -> None:
    """Measure how far two solutions agree about the same items, and whether it matters for the ranking of runs.

    Only the queries that both have count, and the pairs of a query and an item that both judge. With runs, it prints
    their means by both, the pairs of runs that swap, whom the first solution favours, and the weight that it deserves
    as a machine which judges for the people of the second one.
    """
    from scorer.board.reports.comparisons import agreement_text
    from scorer.lists.solution import excluded
    from scorer.scoring.analysis.agreement import agree as agreed

    if runs:
        check_several(runs, "run")
    elif measure is not None:
        raise WrongCallError("--measure ranks runs; name two or more after the solutions")
    if options.checked is not None:
        raise WrongCallError("--checked: corrects scores; name its file as one of the two solutions")
    check_standard_input(first, second)
    submissions = paths_by_name(runs, row_name, options.submission_format)
    policies = {**vars(options), "exclude": excluded(options.exclude)}
    with errors_of_files(submissions), wrong_call("--measure"):
        found = agreed(first, second, submissions or None, measure or AGREE_MEASURE, weights=weights, **policies)
    print_notes(found.notes, submissions)
    print_result(agreement_text(found, shown(first), shown(second), form))


STANDARD_OUTPUT = "-"

_OPTIONS = {"kind": "--kind", "source_format": "--from", "target_format": "--to", "ties": "--ties"}
"""By the parameters of `scorer.convert`."""

TO = option("the format to write, if the name does not determine it", "--to FORMAT", type=partial(known_format, "--to"))


def convert(
    source: str = argument("a solution or a submission: a path, a URL, or - for standard input", "IN"),
    target: str = argument(
        "the file to write, or - for standard output; its name determines the format, and .gz, .zst or .xz the "
        "compression",
        "OUT",
    ),
    target_format: str | None = TO,
    source_format: str | None = format_of("the format to read", "--from"),
    kind: Literal["solution", "submission"] | None = option("what IN is, if it could be either"),
    ties: TieRule | None = option(
        f"the order of {TIE_RULE.about}, needed for a format without run scores. {TIE_RULE.meanings}"
    ),
    best_of: str | None = option("make a run of passages one of documents, by the best passage (MaxP)", "MARK"),
) -> None:
    """Write a solution or a submission in another format.

    Options of a format name columns with other names, as in --from delimited:query=session,item=track. Content that
    the format cannot represent is an error, and nothing is written.
    """
    from scorer.lists.conversion import convert as converted

    try:
        converted(
            source,
            sys.stdout.buffer if target == STANDARD_OUTPUT else target,
            kind=kind,
            source_format=source_format,
            target_format=target_format,
            ties=ties,
            best_of=best_of,
        )
    except ConversionError as error:
        raise WrongCallError(f"{_OPTIONS[error.setting]}: {error.text}") from error
    sys.stdout.flush()


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ArgumentTypeError(f"found {quoted(text)}, expected NAME=VALUE, as in k=60")
    return name, value


@dataclass(frozen=True)
class TuningOptions:
    """The options for the best value of a parameter."""

    solution: str | None = option("the graded items: the parameter of the method gets its best value", "FILE")
    measure: str | None = option("the measure to be best by, as in -m AP", "-m, --measure MEASURE")
    step: float | None = option("the step between the values that are tried; for weights 0.1", "STEP")
    trials: str | None = option("write the score of each value to this file, as CSV", "FILE")
    solution_format: str | None = format_of("the solution's format", "--solution-format")

    def check(self) -> None:
        """Raise WrongCallError for options that are given without those that they need."""
        if (self.solution is None) != (self.measure is None):
            raise WrongCallError("tuning needs both --solution FILE and --measure MEASURE")
        if self.solution is None and any(each is not None for each in vars(self).values()):
            raise WrongCallError("--step, --trials and --solution-format are for tuning, which needs --solution FILE")


def fuse(
    runs: list[str] = argument("two or more runs: paths, URLs, or - for standard input", "run"),
    output: str = option(
        "the file to write; its name determines the format, and .gz, .zst or .xz the compression; default: standard "
        "output",
        "-o, --output FILE",
        default=STANDARD_OUTPUT,
    ),
    to_format: str | None = TO,
    method: str = option("the fusion method; default: rrf; `--methods` lists them", "NAME", default="rrf"),
    norm: str | None = option(
        "how run scores are normalised, for a method that uses them: min-max (the default), max, sum, zmuv, rank, "
        "borda, min-max-inverted (for distances) or none",
        "NAME",
    ),
    parameters: list[tuple[str, str]] = option(
        "a parameter of the method, as in -p k=60; repeatable", "-p, --parameter NAME=VALUE", type=_setting
    ),
    weights: str | None = option("a weight for each run: short for -p weights=W1,W2,...", "W1,W2,..."),
    depth: int | None = option("the number of items to keep in each list; default: all", "N", type=whole_number(1)),
    submission_format: str | None = format_of("the runs' format"),
    methods: bool = option("list the methods and the normalisations, and exit"),
    tuning: TuningOptions = group("tuning"),
) -> None:
    """Fuse two or more runs into one.

    Scores descend in each list of the fused run; equal scores are ordered by item id, descending. A run that does not
    have a query of another run is treated as if its list were empty.

    With --solution and --measure, the parameter of the method gets the value with which the fused run scores best.
    """
    from scorer.runs import runs_of
    from scorer.runs.fuse import METHODS, NORMALISATIONS, Fusion, fuse_to, target_format

    if methods:
        listed = [[f"--method {each.usage}", each.summary] for each in METHODS]
        print_result(aligned([*listed, *([f"--norm {each.name}", each.summary] for each in NORMALISATIONS)]))
        return
    given: Mapping[str, GivenParameter] = _parameters(parameters, weights)
    check_standard_input(*runs, *([tuning.solution] if tuning.solution else []))
    tuning.check()
    with wrong_call("--measure"), wrong_call(kind=FusionError):
        if tuning.solution is not None and tuning.measure is not None:
            if given:
                raise WrongCallError(f"tuning finds {next(iter(given))}; leave it out")
            if "-" in runs:
                raise WrongCallError("tuning reads the runs twice, and standard input (-) can be read only once")
            from scorer.runs.tuning import tune

            tuned = tune(
                tuning.solution,
                runs,
                tuning.measure,
                method,
                norm,
                step=tuning.step,
                depth=depth,
                solution_format=tuning.solution_format,
                submission_format=submission_format,
            )
            _report(tuned, tuning.trials)
            given = tuned.parameters
        named = runs_of(runs, submission_format)
        fusion = Fusion.named(method, norm, given, len(named))
        form = target_format(output, to_format)
        sys.stdout.flush()
        target = sys.stdout.buffer if output == STANDARD_OUTPUT else Path(output)
        counts = fuse_to(named, fusion, depth, target, form)
    sys.stdout.buffer.flush()
    print_message(*_fusion_notes(named, counts))


def _parameters(parameters: Sequence[tuple[str, str]], weights: str | None) -> dict[str, str]:
    given = [*parameters, *([("weights", weights)] if weights is not None else [])]
    names = [name for name, _ in given]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise WrongCallError(f"parameter {quoted(twice)} is given twice")
    return dict(given)


def _fusion_notes(runs: Sequence[Run], counts: FusedCounts) -> list[str]:
    lines = []
    for run, lists, repeated in zip(runs, counts.lists.tolist(), counts.repeated.tolist(), strict=True):
        if repeated:
            lines.append(f"{run.name}: {counted(repeated, 'repeated item')}; each item counts once, at its first rank")
        if lists < counts.queries:
            missing = counted(counts.queries - lists, "query", "queries")
            lines.append(f"{run.name}: no list for {missing} that other runs have")
    return lines


def _report(tuned: Tuning, trials: str | None) -> None:
    """Print the best value, and write all trials to a file if it is named."""
    value = tuned.best.value
    text = ",".join(f"{weight:g}" for weight in value) if isinstance(value, tuple) else f"{value:g}"
    print_message(
        f"{tuned.parameter}={text}: {tuned.measure} {tuned.best.score:.4f}, the best of "
        f"{counted(len(tuned.trials), 'trial')}"
    )
    if trials is None:
        return
    import csv

    unwritable = os_errors_as(ScorerError, f"{printable(trials)}: cannot be written")
    with unwritable, Path(trials).open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(tuned.columns())
        table.writerows(tuned.rows())


def pool(
    runs: list[str] = argument("files with ranked lists: paths, URLs, or - for standard input", "run"),
    solution: str | None = option("the graded items of every query, for files", "FILE"),
    track: str | None = option("the track whose scored entries are the runs, without files", "-t, --track NAME"),
    challenge: Path = of_challenge("runs"),
    depth: int = option("the ranks of each list; default: %(default)s", "N", type=whole_number(1), default=10),
    seed: int = option("decides the order; default: %(default)s", "NUMBER", type=whole_number(0), default=SEED),
    output: str = option("the file to write; default: standard output", "-o, --output FILE", default=STANDARD_OUTPUT),
    solution_format: str | None = format_of("the solution's format", "--solution-format"),
    submission_format: str | None = format_of("the runs' format"),
) -> None:
    """Write the unjudged items in the first ranks of all runs, for assessors to fill in their grades.

    The columns are query, item and an empty grade, with tabs between them. The order says nothing about ranks and
    runs. With the grades, the rows are new rows of the solution.
    """
    from scorer.lists.solution import Solution
    from scorer.runs import runs_of
    from scorer.runs.overlap import pool as pooled
    from scorer.runs.overlap import pool_text

    if bool(runs) == bool(track) or (solution is None) == bool(runs):
        raise WrongCallError("expected either runs and --solution FILE, or --track NAME of a challenge")
    check_standard_input(*runs, *([solution] if solution else []))
    if track is not None:
        from scorer.organising.run import scored_runs

        with open_store(challenge, track) as (opened, (chosen,), store):
            rules, _, of_entries = scored_runs(opened, store, chosen)
            entries = list(of_entries.values())
            pairs = pooled(rules.read_solution(), entries, depth, seed)
    else:
        entries = runs_of({path: path for path in runs}, submission_format)
        pairs = pooled(Solution.read(solution or "", solution_format), entries, depth, seed)
    queries = counted(len({query for query, _ in pairs}), "query", "queries")
    print_message(f"{counted(len(pairs), 'unjudged item')} of {queries}, from {counted(len(entries), 'run')}")
    if output == STANDARD_OUTPUT:
        print_result(pool_text(pairs).removesuffix("\n"))
    else:
        Path(output).write_text(pool_text(pairs), encoding="utf-8")


def similar(
    challenge: Path = of_challenge(),
    track: str = option("the track", "-t, --track NAME"),
    most: int = option("list so many pairs; default: %(default)s", "N", type=whole_number(1), default=20),
    form: str = form_of("the output", "table", "csv", "markdown", "json"),
) -> None:
    """List the entries of different teams that are too alike. Only the organiser can: the site shows nothing of it.

    Pairs with the same bytes come first, then those with the same lists, then those that share more items that are not
    relevant than the field explains. The first 20 are listed, and all with a p-value of at most 0.05: a reason to ask
    the teams, not a proof.
    """
    from scorer.board.reports.comparisons import similar_text
    from scorer.organising.run import similar_entries

    with open_store(challenge, track) as (opened, (chosen,), store):
        print_result(similar_text(similar_entries(opened, store, chosen, most), form))


_DEFAULT_SIMILARITIES = ",".join(DEFAULT_SIMILARITIES)


def overlap(
    runs: list[str] = argument("files with ranked lists, two or more: paths, URLs, or - for standard input", "run"),
    names: list[str] | None = option(
        "measures of similarity, as in RBO(p=0.95),Jaccard@10,Overlap@10,AO@10,tau,tauAP; repeatable; default: "
        + _DEFAULT_SIMILARITIES,
        "-m, --measure MEASURE",
    ),
    depth: int | None = option("compare the first N items of each list; default: all", "N", type=whole_number(1)),
    form: str = form_of("the similarities", "table", "json", "csv", "markdown", "latex"),
    per_query: bool = option("print a row for each query of each pair, and one for the mean", "-q, --per-query"),
    submission_format: str | None = format_of("the runs' format"),
    measures: bool = option("list the measures of similarity with their parameters, and exit"),
) -> None:
    """Measure how similar two or more runs are: which items they share, and in which order.

    No solution is needed. A query that only one run of a pair has is left out of the means of that pair.
    """
    from scorer.board.reports.comparisons import overlap_text
    from scorer.runs.overlap import overlap as compared

    if measures:
        print_result(_explained())
        return
    check_several(runs, "run")
    check_standard_input(*runs)
    with wrong_call("--measure"):
        overlaps = compared(runs, names or DEFAULT_SIMILARITIES, depth=depth, submission_format=submission_format)
    print_message(*_overlap_notes(overlaps))
    print_result(overlap_text(overlaps, form, per_query=per_query))


def _overlap_notes(overlaps: Overlaps) -> list[str]:
    """What the means leave out, in sentences."""
    lines = [
        f"{run}: {counted(number, 'repeated item')} left out; an item counts once, at its first rank"
        for run, number in overlaps.repeated.items()
        if number
    ]
    lines += [
        f"{run}: {counted(number, 'query', 'queries')} of {overlaps.queries:,} without a list, left out of the means "
        "of its pairs"
        for run, number in overlaps.missing.items()
        if number
    ]
    for measure in overlaps.measures:
        number = sum(pair.undefined[measure] for pair in overlaps.pairs)
        lists = sum(len(pair.queries) for pair in overlaps.pairs)
        if number:
            lines.append(
                f"{measure}: {number:,} of {counted(lists, 'pair')} of lists left out of the means: they share fewer "
                "than two items"
            )
    return lines


def _explained() -> str:
    from scorer.runs.overlap import SIMILARITIES

    parts = []
    for kind in SIMILARITIES:
        lines = [f"{kind.usage}: {kind.title}", f"{kind.summary} {kind.edge_cases}".strip(), f"  {kind.formula}"]
        lines += [
            f"  {parameter.name}: {parameter.about.description} ({parameter.allowed}; default {parameter.default})"
            for parameter in kind.parameters
        ]
        parts.append("\n".join([*lines, f"  Source: {kind.source}"]))
    return "\n\n".join(parts)
