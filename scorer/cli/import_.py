"""``scorer import``: a challenge from the archive that ``scorer export`` wrote."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

from scorer.cli.console import print_message, print_result
from scorer.wording import quoted


def add_imported(parser: ArgumentParser) -> None:
    """Add the arguments of ``import``."""
    parser.add_argument("bundle", type=Path, help="the file that `scorer export` wrote")
    parser.add_argument("folder", type=Path, help="a new or empty folder for the challenge")
    parser.add_argument(
        "--database",
        type=_url,
        metavar="URL",
        help="an empty database on a server, as in postgresql+psycopg://user@host/name; default: a file in the folder",
    )


def _url(text: str) -> str:
    if "://" not in text:
        raise ArgumentTypeError(f"found {quoted(text)}, expected a URL, as in postgresql+psycopg://user@host/name")
    return text


def import_(bundle: Path, folder: Path, database: str | None) -> int:
    """Make a challenge from the archive that `scorer export` wrote: its folder, its database and its site.

    A file with a changed byte is refused, and nothing is left of it. An import that was killed can be repeated.
    """
    from scorer.organising.bundles import import_bundle

    imported = import_bundle(bundle, folder, database)
    print_message(*imported.notes)
    print_message(f"{imported.events:,} events")
    print_result(str(imported.index))
    return 0
