"""``scorer export``: a challenge as one archive."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import Parser, add_challenge, open_store
from scorer.cli.console import print_message, print_result


def add_bundle(parser: Parser) -> None:
    """Add the arguments of ``export``."""
    parser.add_argument("bundle", type=Path, help="the file to write, such as challenge.zip; it must not exist")
    add_challenge(parser)
    parser.add_argument("--solutions", action="store_true", help="add the solutions, which a run needs")
    parser.add_argument("--files", action="store_true", help="add the files of the submissions")


def export(bundle: Path, challenge: Path, solutions: bool, files: bool) -> int:
    """Write the challenge into one archive, from which `scorer import` makes it again, with the same site.

    The archive has the settings, the record, the results, and what the pages need. It also has the secrets of the
    challenge, and with them the key that signs receipts, so keep it private.
    """
    from scorer.challenge.loading import settings_file
    from scorer.organising.bundles import export as write_bundle

    with open_store(challenge) as (opened, _, store):
        exported = write_bundle(opened, store, settings_file(challenge), bundle, solutions=solutions, files=files)
    print_message(*exported.notes)
    content = "has the solutions and the secrets" if solutions else "has the secrets"
    print_message(f"{bundle}: {content} of the challenge, and the key that signs receipts; keep it private")
    print_message(f"{exported.events:,} events, head {exported.head}")
    print_result(str(exported.path))
    return 0
