"""What submissions are called in the output."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from scorer.cli.console import print_message
from scorer.options import ROW_NAME
from scorer.paths import shown

if TYPE_CHECKING:
    from scorer.options import RowName


def add_row_names(parser: ArgumentParser) -> None:
    """Add the option for what submissions are called."""
    parser.add_argument(
        f"--{ROW_NAME.name}",
        dest="row_name",
        choices=tuple(ROW_NAME.values),
        help=f"{ROW_NAME.about}. {ROW_NAME.meanings}. If one has no name or two have the same, all are called by their "
        f"paths. Default: {ROW_NAME.default}",
    )


def row_names(paths: Sequence[str], tags: Sequence[str | None], requested: RowName | None) -> list[str]:
    """Return what the submissions are called: by their tags or files if each has another name, else by their paths.

    Prints a note if the requested names cannot be used.
    """
    by_path = [shown(path) for path in paths]
    chosen = requested or ROW_NAME.default
    if chosen == "path":
        return by_path
    names = list(tags) if chosen == "tag" else [PurePath(path).name for path in by_path]
    found = [name for name in names if name]
    if len(found) == len(set(found)) == len(by_path):
        return found
    if requested is not None:
        what = "have the same name" if len(found) == len(names) else "have no name"
        print_message(f"--{ROW_NAME.name} {requested}: some submissions {what}; all are called by their paths")
    return by_path
