"""``scorer phases``: the phases of the tracks and the rules on times, and a later end."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from scorer.cli.arguments import OrChallenge, Parser, WrongCallError, add_challenge, add_track, moment, open_challenge
from scorer.cli.console import print_result


def add_phases(parser: Parser) -> None:
    """Add the arguments of ``phases``."""
    parser.add_argument(
        "action", nargs="?", choices=OrChallenge(["extend"]), metavar="extend", help="give a phase a later end"
    )
    parser.add_argument("phase", nargs="?", help="the name of the phase to extend")
    parser.add_argument("--end", type=moment, metavar="TIME", help="the new end, with its offset from UTC")
    parser.add_argument("--reason", metavar="TEXT", help="why; it is recorded, and visitors read it")
    add_track(parser)
    add_challenge(parser, "action")


def phases(
    action: str | None, phase: str | None, end: datetime | None, reason: str | None, track: str | None, challenge: Path
) -> int:
    """Print the phases of the tracks with the exact rules on times; or extend one: scorer phases extend NAME.

    An extension needs --end and --reason. It is recorded; the board shows the old end, the new one and the reason. A
    phase is extended until it has closed, that is, until its end and its grace have passed. Without --track, it is
    extended in all tracks that have a phase with this name, or in none of them.
    """
    from scorer.live.phases import Phases, phase_lines
    from scorer.live.state import recorded_lines
    from scorer.organising.phases import extend
    from scorer.store.store import Store, now
    from scorer.wording import utc_moment

    settings, tracks = open_challenge(challenge, track)
    if action is None:
        if end is not None or reason is not None:
            raise WrongCallError("--end and --reason belong to `scorer phases extend NAME`")
        address = settings.database_address
        if isinstance(address, Path) and not address.exists():
            lines = [
                line for one in tracks for line in phase_lines(Phases(one.phases), one, now(), has_preliminary=True)
            ]
        else:
            with Store.open(address, create=False) as store:
                lines = store.read(lambda view: [line for one in tracks for line in recorded_lines(view, one)])
        print_result(*lines)
        return 0
    if phase is None or end is None or reason is None:
        raise WrongCallError("extend needs the name of a phase, --end TIME and --reason TEXT")
    with Store.open(settings.database_address) as store:
        extensions = extend(settings, store, track, phase, end, reason)
    for name, extension in extensions.items():
        before, after = map(utc_moment, (extension.before, extension.end))
        print_result(f"{name}: the phase {phase} ends at {after}, not at {before}; `scorer run` shows it")
    return 0
