"""``scorer pick``: which entries of a team may count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorer.cli.arguments import ENTRY_HELP, Parser, WrongCallError, add_challenge, open_store, requested_track
from scorer.cli.console import print_message, print_result
from scorer.wording import printable_name


def add_entries(parser: Parser) -> None:
    """Add the arguments of ``pick``."""
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=ENTRY_HELP)
    parser.add_argument("--clear", action="store_true", help="remove the picks of --team in --track")
    parser.add_argument("-t", "--track", metavar="NAME", help="with --clear: the track")
    parser.add_argument("--team", metavar="TEAM", help="with --clear: the name of the team's folder")
    add_challenge(parser, "entries")


def pick(entries: Sequence[str], clear: bool, track: str | None, team: str | None, challenge: Path) -> int:
    """Pick the entries of a team of which the best one counts, in a track with entry = "picks".

    The entries are those of one team, at most as many as the track's `picks`, and replace its earlier picks. An entry
    that never counts is refused: one that is rejected, early, late or over the quota, or whose file is gone or replaced
    since its phase closed. A team can also write a file picks.toml into its folder; of the two, the later one counts.
    """
    from scorer.organising.picks import clear_picks
    from scorer.organising.picks import pick as pick_entries
    from scorer.organising.teams import known_team
    from scorer.site.entry_words import status_words

    given = (track is not None) + (team is not None)
    if clear == bool(entries) or given != (2 if clear else 0):
        raise WrongCallError("expected ENTRY..., or --clear --track NAME --team TEAM")
    with open_store(challenge) as (settings, _, store):
        if track is not None and team is not None:
            folder = known_team(team, store.read(lambda view: view.teams))
            clear_picks(store, requested_track(settings, track), folder)
            print_result(f"{printable_name(folder)}: no picks in {track}; `scorer run` shows it")
        else:
            folder, picked = pick_entries(settings, store, entries)
            for entry in picked:
                if not entry.may_count:
                    print_message(f"{entry.file}: does not count now ({status_words(entry)})")
            files = ", ".join(entry.file for entry in picked)
            print_result(f"{printable_name(folder)}: picks {files}; `scorer run` shows it")
    return 0
