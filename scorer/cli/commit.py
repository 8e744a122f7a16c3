"""``scorer commit``: commit to the solutions and the rules before the start."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import open_challenge
from scorer.cli.console import print_result


def commit(challenge: Path) -> int:
    """Commit to the solutions, the rules and the keys of splits before the challenge starts.

    The site then publishes a SHA-256 of all of them with a secret salt. At the end, `scorer reveal` publishes what it
    was computed from, and anybody can verify with `scorer verify commitment` that nothing was changed. From now on,
    runs go on by what is committed, also if a file is changed. Before the start, a changed challenge can be committed
    again; the site lists all commitments.
    """
    from scorer.organising.commitment import commit as commit_files
    from scorer.store.store import Store

    settings, _ = open_challenge(challenge)
    with Store.open(settings.database_address) as store:
        made = commit_files(settings, store)
    print_result(f"the commitment has the SHA-256 {made.sha256} (event {made.index}); `scorer render` publishes it")
    return 0
