"""Arguments of the commands that evaluate and compare files."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any

from scorer.cli.arguments import FORMAT_HELP, WrongCallError, add_tag, number, whole_number
from scorer.options import MISSING, NOTHING_RELEVANT, SPLIT, TIES, UNJUDGED
from scorer.paths import shown
from scorer.wording import counted, quoted

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
