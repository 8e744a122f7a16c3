"""``scorer retry``: failed entries are tried again."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import ENTRY_HELP, Parser, add_challenge, open_store
from scorer.cli.console import print_result
from scorer.wording import counted


def add_entries(parser: Parser) -> None:
    """Add the arguments of ``retry``."""
    parser.add_argument("entries", nargs="*", metavar="entry", help=f"{ENTRY_HELP}; default: all that have failed")
    add_challenge(parser, "entries")


def retry(entries: list[str], challenge: Path) -> int:
    """Let the next run try entries again that were not scored because they took too much time or memory.

    An entry is given up after three attempts. This command sets the count back.
    """
    from scorer.organising.decisions import retry as retry_entries

    with open_store(challenge) as (settings, _, store):
        count = retry_entries(settings, store, entries)
    print_result(f"{counted(count, 'failed entry', 'failed entries')}; `scorer run` tries again")
    return 0
