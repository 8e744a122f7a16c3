"""``scorer convert``: a solution or a submission from one format to another."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.say import FORMAT_HELP, format_name
from scorer.errors import ScorerError, printable

if TYPE_CHECKING:
    from scorer.formats import Told

STANDARD_OUTPUT = "-"


class Kind(StrEnum):
    """What a file is."""

    solution = "solution"
    submission = "submission"


class Ties(StrEnum):
    """How equal run scores are put in order."""

    trec = "trec"
    order = "order"


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A solution or a submission: a path, a URL, or - .")],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="The file to write, or - ; its name says the format, and .gz, .zst or .xz to compress it.",
        ),
    ],
    target_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="The format to write, where the name does not say.")
    ] = None,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help=f"The format to read, {FORMAT_HELP}.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="What it is, where it could be either.")] = None,
    ties: Annotated[
        Ties | None,
        typer.Option(help="Equal run scores, for a format without scores: by item id, descending, or as listed."),
    ] = None,
) -> None:
    """Write a solution or a submission in another format.

    Columns of other names are pointed at by options of the format, as in --from delimited:query=session,item=track.
    What the format cannot hold is an error, and nothing is written.
    """
    from scorer.formats.conversion import AmbiguousError, compressed, converted
    from scorer.formats.whole import Unwritable

    written_as = _target(target, target_format)
    try:
        content = converted(
            source,
            written_as,
            kind=None if kind is None else kind.value,
            source_format=source_format and format_name(source_format),
            ties=None if ties is None else ties.value,
        )
    except AmbiguousError as error:
        raise typer.BadParameter(f"{printable(str(error))}: --kind solution or --kind submission") from error
    except Unwritable as error:
        raise ScorerError(f"{printable(target)}: {error}") from error
    _write(compressed(content, target), target)


def _target(path: str, name: str | None) -> Told:
    """The format to write."""
    from scorer.formats import named
    from scorer.formats.conversion import NAMES, format_of

    if name is not None:
        return named(format_name(name))
    told = format_of(path)
    if told is None:
        raise typer.BadParameter(
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
