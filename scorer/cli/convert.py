"""``scorer convert``: a solution or a submission from one format to another."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Literal

from scorer.cli.arguments import FORMAT_HELP, WrongCallError, add_tag
from scorer.errors import ConversionError
from scorer.options import TIE_RULE

if TYPE_CHECKING:
    from scorer.options import TieRule

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
    from scorer.formats.conversion import convert as converted

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
