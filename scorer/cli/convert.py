"""``scorer convert``: a solution or a submission from one format to another."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scorer.cli.arguments import FORMAT_HELP, WrongCallError, format_name
from scorer.errors import ScorerError
from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.formats.detection import DetectedFormat

STANDARD_OUTPUT = "-"


def add_conversion(parser: ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("source", metavar="IN", help="a solution or a submission: a path, a URL, or - ")
    parser.add_argument(
        "target",
        metavar="OUT",
        help="the file to write, or - ; its name says the format, and .gz, .zst or .xz to compress it",
    )
    parser.add_argument(
        "--to", dest="target_format", metavar="FORMAT", help="the format to write, where the name does not say"
    )
    parser.add_argument("--from", dest="source_format", metavar="FORMAT", help=f"the format to read, {FORMAT_HELP}")
    parser.add_argument("--kind", choices=("solution", "submission"), help="what it is, where it could be either")
    parser.add_argument(
        "--ties",
        choices=("trec", "order"),
        help="equal run scores, for a format without scores: by item id, descending, or as listed",
    )


def convert(
    source: str,
    target: str,
    target_format: str | None,
    source_format: str | None,
    kind: Literal["solution", "submission"] | None,
    ties: Literal["trec", "order"] | None,
) -> int:
    """Write a solution or a submission in another format.

    Columns of other names are pointed at by options of the format, as in --from delimited:query=session,item=track.
    What the format cannot hold is an error, and nothing is written.
    """
    from scorer.formats.conversion import AmbiguousError, compressed, converted
    from scorer.formats.writing import UnwritableError

    written_as = _target(target, target_format)
    try:
        content = converted(
            source,
            written_as,
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


def _target(path: str, name: str | None) -> DetectedFormat:
    """The format to write."""
    from scorer.formats.conversion import NAMES, format_of
    from scorer.formats.detection import format_named

    if name is not None:
        return format_named(format_name(name, "--to"))
    told = format_of(path)
    if told is None:
        raise WrongCallError(
            f"the name {printable(path)} does not say which format to write ({', '.join(NAMES)} would); add --to FORMAT"
        )
    return told


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
