"""``scorer collect``: receive files from a folder or a store, without a server."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from scorer.cli.arguments import Parser, add_challenge, only_track, open_store
from scorer.cli.console import print_message, print_result

SHOWN = 20
"""How many messages of a kind are printed."""


def add_source(parser: Parser) -> None:
    """Add the arguments of ``collect``."""
    parser.add_argument("source", metavar="SOURCE", help="the path or the URL of a folder with a folder for each team")
    parser.add_argument(
        "-t", "--track", metavar="NAME", help="the track that the files are for; needed if there are several"
    )
    add_challenge(parser)


def collect(source: str, track: str | None, challenge: Path) -> int:
    """Receive the new files of teams from a folder or a store, without a server.

    SOURCE has a folder for each team, with files and no further folders. Each new file becomes an entry, as if it was
    handed in to `scorer serve`: its signed receipt is written next to it, as FILE.receipt.txt. If a file is refused,
    FILE.errors.txt says why; it is read again once it has changed. The next `scorer run` scores the entries.

    The time of receipt is that of the store where its clients cannot set it, as on S3, and otherwise the time at which
    this command found the file. Repeat the command every few minutes, and once more just before a phase closes.

    Exit code 1 means that this call refused or skipped a file, or that a file could not be read or answered. What is
    received is printed to standard output, all else to standard error.
    """
    from scorer.service.collecting import collect as collect_files

    counts: Counter[str] = Counter()
    with open_store(challenge, track, create=True) as (settings, tracks, store):
        requested = only_track(tracks)
        for each in collect_files(store, settings, requested, source):
            counts[each.outcome] += 1
            if each.outcome == "received":
                print_result(f"{each.file}: {each.text}")
            elif each.outcome in ("refused", "failed", "skipped") and counts[each.outcome] <= SHOWN:
                print_message(f"{each.file}: {each.text}")
    listed = [f"{counts[outcome]:,} {outcome}" for outcome in ("received", "known", "refused")]
    listed += [f"{counts[each]:,} {each}" for each in ("failed", "skipped", "in progress") if counts[each]]
    print_result(f"{requested.name}: {', '.join(listed)}")
    return 1 if counts["refused"] or counts["failed"] or counts["skipped"] else 0
