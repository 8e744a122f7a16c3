"""``scorer doctor``: check a database, and repair it."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import Parser, add_challenge, open_store
from scorer.cli.console import print_message, print_result


def add_repair(parser: Parser) -> None:
    """Add the arguments of ``doctor``."""
    add_challenge(parser)
    parser.add_argument(
        "--repair",
        action="store_true",
        help="first delete damaged rows that `scorer run` can derive again, after a backup of the database file; "
        "what was recorded stays as it is",
    )


def doctor(challenge: Path, repair: bool) -> int:
    """Check the database of a challenge, and the files that it refers to.

    Prints a line for each check, and what to do about each problem. Exits with 1 if there is a problem.
    """
    from scorer.organising.doctor import examine, repair_store

    problems = 0
    with open_store(challenge) as (settings, _, store):
        for line in repair_store(store) if repair else []:
            print_result(f"{'repair':7}  {line}")
        for check in examine(settings, store):
            print_result(f"{'problem' if check.problems else 'ok':7}  {check.name}")
            problems += len(check.problems)
            print_message(*check.problems)
    return 1 if problems else 0
