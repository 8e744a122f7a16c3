"""``scorer convert``: a solution or a submission from one format to another."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scorer.cli.arguments import FORMAT_HELP, WrongCallError, format_name
from scorer.errors import ScorerError
from scorer.options import TIE_RULE
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.formats.detection import DetectedFormat
    from scorer.options import TieRule

STANDARD_OUTPUT = "-"


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
    from scorer.formats.conversion import AmbiguousError, compressed, converted
    from scorer.formats.writing import UnwritableError

    written_format = _target_format(target, target_format)
    try:
        content = converted(
            source,
            written_format,
            kind=kind,
            source_format=source_format and format_name(source_format, "--from"),
            ties=ties,
        )
    except AmbiguousError as error:
        raise WrongCallError(f"{printable(str(error))}: --kind solution or --kind submission") from error
    except UnwritableError as error:
        raise ScorerError(f"{printable(target)}: {error}") from error
    _write(compressed(content, target), target)
    return 0


def _target_format(path: str, name: str | None) -> DetectedFormat:
    """The format that is requested, or that the name of the file determines."""
    from scorer.formats.conversion import NAMES, format_of
    from scorer.formats.detection import format_named

    if name is not None:
        return format_named(format_name(name, "--to"))
    detected = format_of(path)
    if detected is None:
        raise WrongCallError(
            f"the name {printable(path)} does not determine the format ({', '.join(NAMES)} would); add --to FORMAT"
        )
    return detected


def _write(content: bytes, path: str) -> None:
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise ScorerError(f"{printable(path)}: cannot be written: {error.strerror or error}") from error
