"""The commands that make files of runs or compare them: ``convert``, ``fuse`` and ``overlap``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scorer.cli.arguments import (
    FORMAT_HELP,
    WrongCallError,
    add_form,
    add_tag,
    format_name,
    print_message,
    print_result,
    whole_number,
)
from scorer.cli.evaluate import check_several, check_standard_input
from scorer.errors import ConversionError, FusionError, MeasureError, ScorerError
from scorer.options import TIE_RULE, TieRule
from scorer.wording import aligned, counted, printable, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorer.runs.aligned import Run
    from scorer.runs.fuse import Counts
    from scorer.runs.overlap import Overlaps
    from scorer.runs.tuning import Tuning


STANDARD_OUTPUT = "-"

OPTIONS = {"kind": "--kind", "source_format": "--from", "target_format": "--to", "ties": "--ties"}
"""By the parameters of `scorer.convert`."""


def add_conversion(parser: ArgumentParser) -> None:
    """Add the arguments of ``convert``."""
    parser.add_argument(
        "source", metavar="IN", help="a solution or a submission: a path, a URL, or - for standard input"
    )
    parser.add_argument(
        "target",
        metavar="OUT",
        help="the file to write, or - for standard output; its name determines the format, and .gz, .zst or .xz "
        "the compression",
    )
    parser.add_argument(
        "--to", dest="target_format", metavar="FORMAT", help="the format to write, if the name does not determine it"
    )
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help=f"the format to read, {FORMAT_HELP}")
    add_tag(parser, "source_format")
    parser.add_argument("--kind", choices=("solution", "submission"), help="what IN is, if it could be either")
    parser.add_argument(
        "--ties",
        choices=tuple(TIE_RULE.values),
        help=f"the order of {TIE_RULE.about}, needed for a format without run scores. {TIE_RULE.meanings}",
    )


def convert(
    source: str,
    target: str,
    target_format: str | None,
    source_format: str | None,
    kind: Literal["solution", "submission"] | None,
    ties: TieRule | None,
) -> int:
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
        )
    except ConversionError as error:
        raise WrongCallError(f"{OPTIONS[error.setting]}: {error.text}") from error
    sys.stdout.flush()
    return 0


def add_fusion(parser: ArgumentParser) -> None:
    """Add the arguments of ``fuse``."""
    parser.add_argument("runs", nargs="*", metavar="run", help="two or more runs: paths, URLs, or - for standard input")
    parser.add_argument(
        "-o",
        "--output",
        default=STANDARD_OUTPUT,
        metavar="FILE",
        help="the file to write; its name determines the format, and .gz, .zst or .xz the compression; default: "
        "standard output",
    )
    parser.add_argument(
        "--to", dest="to_format", metavar="FORMAT", help="the format to write, if the name does not determine it"
    )
    parser.add_argument(
        "--method", default="rrf", metavar="NAME", help="the fusion method; default: rrf; `--methods` lists them"
    )
    parser.add_argument(
        "--norm",
        metavar="NAME",
        help="how run scores are normalised, for a method that uses them: min-max (the default), max, sum, zmuv, rank, "
        "borda, min-max-inverted (for distances) or none",
    )
    parser.add_argument(
        "-p",
        "--parameter",
        dest="parameters",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="a parameter of the method, as in -p k=60; repeatable",
    )
    parser.add_argument("--weights", metavar="W1,W2,...", help="a weight for each run: short for -p weights=W1,W2,...")
    parser.add_argument(
        "--depth", type=whole_number(1), metavar="N", help="the number of items to keep in each list; default: all"
    )
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the runs' format, {FORMAT_HELP}")
    add_tag(parser, "submission_format")
    parser.add_argument("--methods", action="store_true", help="list the methods and the normalisations, and exit")
    tuning = parser.add_argument_group("tuning")
    tuning.add_argument(
        "--solution", metavar="FILE", help="the graded items: the parameter of the method gets its best value"
    )
    tuning.add_argument("-m", "--measure", metavar="MEASURE", help="the measure to be best by, as in -m AP")
    tuning.add_argument(
        "--step", type=float, metavar="STEP", help="the step between the values that are tried; for weights 0.1"
    )
    tuning.add_argument("--trials", metavar="FILE", help="write the score of each value to this file, as CSV")
    tuning.add_argument("--solution-format", metavar="FORMAT", help=f"the solution's format, {FORMAT_HELP}")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise ArgumentTypeError(f"found {quoted(text)}, expected NAME=VALUE, as in k=60")
    return name, value


def fuse(
    runs: list[str],
    output: str,
    to_format: str | None,
    method: str,
    norm: str | None,
    parameters: list[tuple[str, str]],
    weights: str | None,
    depth: int | None,
    submission_format: str | None,
    methods: bool,
    solution: str | None,
    measure: str | None,
    step: float | None,
    trials: str | None,
    solution_format: str | None,
) -> int:
    """Fuse two or more runs into one.

    Scores descend in each list of the fused run; equal scores are ordered by item id, descending. A run that does not
    have a query of another run is treated as if its list were empty.

    With --solution and --measure, the parameter of the method gets the value with which the fused run scores best.
    """
    if methods:
        return _list_methods()
    given = _parameters(parameters, weights)
    check_standard_input(*runs, *([solution] if solution else []))
    if (solution is None) != (measure is None):
        raise WrongCallError("tuning needs both --solution FILE and --measure MEASURE")
    if solution is None and (step is not None or trials is not None or solution_format is not None):
        raise WrongCallError("--step, --trials and --solution-format are for tuning, which needs --solution FILE")
    run_format = submission_format and format_name(submission_format, "--submission-format")
    try:
        if solution is not None and measure is not None:
            if given:
                raise WrongCallError(f"tuning finds {next(iter(given))}; leave it out")
            if "-" in runs:
                raise WrongCallError("tuning reads the runs twice, and standard input (-) can be read only once")
            from scorer.runs.tuning import tune

            solution_form = solution_format and format_name(solution_format, "--solution-format")
            tuned = tune(
                solution,
                runs,
                measure,
                method,
                norm,
                step=step,
                depth=depth,
                solution_format=solution_form,
                submission_format=run_format,
            )
            _report(tuned, trials)
            given = _spelled(tuned)
        return _fused(runs, run_format, method, norm, given, depth, output, to_format)
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    except FusionError as error:
        raise WrongCallError(str(error)) from error


def _parameters(parameters: Sequence[tuple[str, str]], weights: str | None) -> dict[str, str]:
    """The parameters of the method by name."""
    given = [*parameters, *([("weights", weights)] if weights is not None else [])]
    names = [name for name, _ in given]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise WrongCallError(f"parameter {quoted(twice)} is given twice")
    return dict(given)


def _fused(
    runs: list[str],
    run_format: str | None,
    method: str,
    norm: str | None,
    given: dict[str, str],
    depth: int | None,
    output: str,
    to_format: str | None,
) -> int:
    """Write the fused run, and print what was fused."""
    from scorer.runs.aligned import runs_of
    from scorer.runs.fuse import Fusion, fuse_to, target_format

    named = runs_of(runs, run_format)
    fusion = Fusion.named(method, norm, given, len(named))
    form = target_format(output, to_format and format_name(to_format, "--to"))
    sys.stdout.flush()
    target = sys.stdout.buffer if output == STANDARD_OUTPUT else Path(output)
    counts = fuse_to(named, fusion, depth, target, form)
    sys.stdout.buffer.flush()
    print_message(*_fusion_notes(named, counts))
    return 0


def _fusion_notes(runs: Sequence[Run], counts: Counts) -> list[str]:
    """What a reader should know about the runs."""
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

    try:
        with Path(trials).open("w", encoding="utf-8", newline="") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(tuned.columns())
            table.writerows(tuned.rows())
    except OSError as error:
        raise ScorerError(f"{printable(trials)}: cannot be written: {error.strerror or error}") from error


def _spelled(tuned: Tuning) -> dict[str, str]:
    """The parameter with its best value, as text without rounding."""
    value = tuned.best.value
    return {tuned.parameter: ",".join(map(repr, value)) if isinstance(value, tuple) else repr(value)}


def _list_methods() -> int:
    """Print the methods and the normalisations."""
    from scorer.runs.fuse import METHODS, NORMALISATIONS

    methods = [[f"--method {method.usage}", method.summary] for method in METHODS]
    print_result(aligned([*methods, *([f"--norm {norm.name}", norm.summary] for norm in NORMALISATIONS)]))
    return 0


FORMS = ("table", "json", "csv", "markdown", "latex")

DEFAULT = ("RBO", "Jaccard@10", "tauAP")
"""The measures if none is named; the same as in `scorer.runs.overlap`, which takes long to import."""


def add_overlap(parser: ArgumentParser) -> None:
    """Add the arguments of ``overlap``."""
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="run",
        help="files with ranked lists, two or more: paths, URLs, or - for standard input",
    )
    parser.add_argument(
        "-m",
        "--measure",
        dest="names",
        action="append",
        metavar="MEASURE",
        help="measures of similarity, as in RBO(p=0.95),Jaccard@10,Overlap@10,AO@10,tau,tauAP; repeatable; default: "
        f"{','.join(DEFAULT)}",
    )
    parser.add_argument(
        "--depth", type=whole_number(1), metavar="N", help="compare the first N items of each list; default: all"
    )
    add_form(parser, FORMS, "of the similarities")
    parser.add_argument("-q", "--per-query", action="store_true", help="print a row for each query of each pair")
    parser.add_argument("--submission-format", metavar="FORMAT", help=f"the runs' format, {FORMAT_HELP}")
    add_tag(parser, "submission_format")
    parser.add_argument(
        "--measures", action="store_true", help="list the measures of similarity with their parameters, and exit"
    )


def overlap(
    runs: list[str],
    names: list[str] | None,
    depth: int | None,
    form: str,
    per_query: bool,
    submission_format: str | None,
    measures: bool,
) -> int:
    """Measure how similar two or more runs are: which items they share, and in which order.

    No solution is needed. A query that only one run of a pair has is left out of the means of that pair.
    """
    from scorer.board.reports.comparisons import overlap_text
    from scorer.runs.overlap import overlap as compared

    if measures:
        print_result(_explained())
        return 0
    check_several(runs, "run")
    check_standard_input(*runs)
    file_format = submission_format and format_name(submission_format, "--submission-format")
    try:
        overlaps = compared(runs, names or DEFAULT, depth=depth, submission_format=file_format)
    except MeasureError as error:
        raise WrongCallError(f"--measure: {error}") from error
    print_message(*_overlap_notes(overlaps))
    print_result(overlap_text(overlaps, form, per_query=per_query))
    return 0


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
    """Return what each measure is."""
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
