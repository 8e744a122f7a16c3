"""``scorer receipt``: signed receipts of entries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorer.cli.arguments import ENTRY_HELP, Parser, WrongCallError, add_challenge, add_track, open_store
from scorer.cli.console import print_result
from scorer.wording import counted


def add_entries(parser: Parser) -> None:
    """Add the arguments of ``receipt``."""
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=ENTRY_HELP)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the receipt of one entry to this file")
    parser.add_argument(
        "--all",
        dest="folder",
        type=Path,
        metavar="FOLDER",
        help="write the receipts of all entries into this folder, as TRACK/TEAM/ID-FILE.receipt.txt; those it has stay",
    )
    add_track(parser)
    add_challenge(parser, "entries")


def receipt(
    entries: Sequence[str], output: Path | None, folder: Path | None, track: str | None, challenge: Path
) -> int:
    """Print the signed receipt of an entry, for its team.

    A receipt shows that an entry is in the record and in the log that the site publishes. Its team verifies it with
    `scorer verify receipt` and the public key receipts.pem of the site. It has the name of the file and its SHA-256,
    but no score. The receipt of an entry is always the same, so it can be issued again.
    """
    from scorer.organising.receipts import named_receipts, write_receipt, write_receipts

    if (folder is None) != bool(entries) or (output is not None and len(entries) != 1):
        raise WrongCallError("expected ENTRY..., ENTRY with -o FILE, or --all FOLDER")
    with open_store(challenge, track) as (settings, tracks, store):
        if folder is not None:
            written, known = write_receipts(settings, store, tracks, folder)
            print_result(f"{folder}: {counted(written, 'receipt')} written, {known:,} there already")
            return 0
        receipts = named_receipts(settings, store, tracks, entries)
    if output is not None:
        write_receipt(output, receipts[0])
        return 0
    print_result("".join(receipts).removesuffix("\n"))
    return 0
