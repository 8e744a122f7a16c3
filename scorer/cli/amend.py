"""``scorer amend``: a wrong time of receipt is corrected."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from scorer.cli.arguments import ENTRY_HELP, Parser, add_challenge, add_reason, moment, open_store
from scorer.cli.console import print_result
from scorer.wording import printable_name, utc_moment


def add_time(parser: Parser) -> None:
    """Add the arguments of ``amend``."""
    parser.add_argument("entry", help=ENTRY_HELP)
    parser.add_argument(
        "--received",
        required=True,
        type=moment,
        metavar="TIME",
        help="when the entry was received, with its offset from UTC, as in 2011-04-18T10:00:00Z",
    )
    add_reason(parser)
    add_challenge(parser)


def amend(entry: str, received: datetime, reason: str, challenge: Path) -> int:
    """Correct the time at which an entry was received. The decision is recorded with its reason.

    An entry whose time of receipt is impossible, as in the future, does not count until then.
    """
    from scorer.organising.decisions import amend as amend_time

    with open_store(challenge) as (settings, _, store):
        state = amend_time(settings, store, entry, received, reason)
    before, after = map(utc_moment, (state.submission.received, received))
    print_result(f"{printable_name(state.submission.file)}: received {after}, not {before}; `scorer run` shows it")
    return 0
