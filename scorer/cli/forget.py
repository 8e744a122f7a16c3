"""``scorer forget``: a wrong outcome is dropped."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import ENTRY_HELP, Parser, add_challenge, add_reason, open_store
from scorer.cli.console import print_result
from scorer.wording import counted, printable_name


def add_outcome(parser: Parser) -> None:
    """Add the arguments of ``forget``."""
    parser.add_argument("entry", help=ENTRY_HELP)
    add_reason(parser)
    add_challenge(parser)


def forget(entry: str, reason: str, challenge: Path) -> int:
    """Drop the outcome of an entry and its kept bytes, so that the next run scores its file again.

    An entry without a file loses its score. The decision is recorded with its reason.
    """
    from scorer.organising.decisions import forget as forget_outcome

    with open_store(challenge) as (settings, _, store):
        state, others = forget_outcome(settings, store, entry, reason)
    same = f", as those of {counted(others, 'other entry', 'other entries')} with the same content" if others else ""
    dropped = f"{printable_name(state.submission.file)}: its outcome and its kept bytes are dropped{same}"
    print_result(f"{dropped}; `scorer run` scores it again if its file is there")
    return 0
