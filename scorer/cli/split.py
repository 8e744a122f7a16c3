"""``scorer split``: the keys of the splits of a challenge."""

from __future__ import annotations

from pathlib import Path

from scorer.cli.arguments import Parser, add_challenge, open_challenge
from scorer.cli.console import print_message, print_result
from scorer.errors import ChallengeError, SolutionError
from scorer.wording import counted


def add_keys(parser: Parser) -> None:
    """Add the arguments of ``split``."""
    add_challenge(parser)


def split(challenge: Path) -> int:
    """Make the secret keys that decide which queries are preliminary, and print their SHA-256.

    A track has such a key if it has the key split in challenge.toml. A key file that exists is never changed. The
    output also says how many queries of the solution are preliminary; it is meant for the organiser only.
    """
    from scorer.challenge.splits import exposure, split_of
    from scorer.organising.splits import make_keys, selected_queries, with_split

    settings, tracks = open_challenge(challenge)
    for path in make_keys(settings):
        print_result(f"made {path}: keep it secret, and keep a copy of it until the key is revealed")
    succeeded = True
    for track in with_split(tracks):
        try:
            chosen = split_of(track)
            if chosen is None:
                continue
            print_result(f"{track.name}: the key has the SHA-256 {chosen.key_sha256}")
            selected, queries = selected_queries(track, chosen)
            print_result(f"{track.name}: {selected:,} of {counted(queries, 'query', 'queries')} are preliminary")
        except (ChallengeError, SolutionError) as error:
            print_message(str(error))
            succeeded = False
        if note := exposure(track.key_path) if track.key_path else None:
            print_message(note)
    return 0 if succeeded else 1
