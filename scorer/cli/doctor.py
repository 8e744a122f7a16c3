"""``scorer doctor``: check a database."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import opened
from scorer.cli.console import complain, say


def doctor(folder: Path) -> int:
    """Check the database of a challenge, and the files that it refers to.

    Prints a line for each check, and what to do about each problem. Exits with 1 if there is a problem.
    """
    from scorer.organising.doctor import examine
    from scorer.store.store import Store

    challenge, _ = opened(folder, None)
    problems = 0
    with Store.open(challenge.database_address, create=False) as store:
        for check in examine(challenge, store):
            say(f"{'problem' if check.problems else 'ok':7}  {check.name}")
            problems += len(check.problems)
            for problem in check.problems:
                complain(problem)
    return 1 if problems else 0
