"""``scorer pick``: which entries of a team may count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorer.cli.arguments import ENTRY_HELP, Parser, WrongCallError, add_challenge, open_store, requested_track
from scorer.cli.console import print_message, print_result
from scorer.cli.submit import add_token, client_of
from scorer.wording import printable_name


def add_entries(parser: Parser) -> None:
    """Add the arguments of ``pick``."""
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=ENTRY_HELP)
    parser.add_argument("--clear", action="store_true", help="remove the picks of --team in --track")
    parser.add_argument("-t", "--track", metavar="NAME", help="with --clear or --server: the track")
    parser.add_argument("--team", metavar="TEAM", help="with --clear: the name of the team's folder")
    parser.add_argument(
        "--server", metavar="URL", help="for a team: the address of the service; ENTRY is the id of an entry"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; it is recorded, and visitors read it")
    add_token(parser)
    add_challenge(parser, "entries")


def pick(
    entries: Sequence[str],
    clear: bool,
    track: str | None,
    team: str | None,
    server: str | None,
    reason: str,
    token_file: Path | None,
    challenge: Path,
) -> int:
    """Pick the entries of a team of which the best one counts, in a track with entry = "picks".

    The entries are those of one team, at most as many as the track's `picks`, and replace its earlier picks. An entry
    that never counts is refused: one that is rejected, early, late or over the quota, or whose file is gone or replaced
    since its phase closed. A team can also write a file picks.toml into its folder; of the two, the later one counts.
    The timeline says that the organisers have picked for a team, and the reason.

    With --server, a team picks its own entries over the service, with its token.
    """
    if server is not None:
        return _pick_over_service(entries, clear, track, team, server, reason, token_file)
    if token_file is not None:
        raise WrongCallError("--token-file needs --server")
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
            clear_picks(store, requested_track(settings, track), folder, reason=reason)
            print_result(f"{printable_name(folder)}: no picks in {track}; `scorer run` shows it")
        else:
            folder, picked = pick_entries(settings, store, entries, reason=reason)
            for entry in picked:
                if not entry.may_count:
                    print_message(f"{entry.file}: does not count now ({status_words(entry)})")
            files = ", ".join(entry.file for entry in picked)
            print_result(f"{printable_name(folder)}: picks {files}; `scorer run` shows it")
    return 0


def _pick_over_service(
    entries: Sequence[str],
    clear: bool,
    track: str | None,
    team: str | None,
    server: str,
    reason: str,
    token_file: Path | None,
) -> int:
    if clear == bool(entries) or team is not None or reason:
        raise WrongCallError("expected ENTRY... or --clear, and neither --team nor --reason: the token says who picks")
    client = client_of(server, token_file)
    track = track or client.only_track()
    picked = client.pick(track, entries)
    print_result(f"{track}: picks {', '.join(map(str, picked))}" if picked else f"{track}: no picks")
    return 0
