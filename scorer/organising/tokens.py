"""Tokens: the organiser issues and revokes them, and a team exchanges an invitation for one."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePosixPath

from scorer.errors import ChallengeError
from scorer.live.tokens import Token, Use, ended, issued, new_text, sha256_of, tokens
from scorer.organising.teams import team_called, team_read_as
from scorer.paths.writing import replace_content
from scorer.store.events import EVERY_TRACK
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import printable, printable_name, quoted, utc_time

USED = ".used"
"""Ends the name of the file, next to the database, with the times at which tokens were last used: no record needs them.
"""

LONGEST_FOLDER = 200
"""The bytes that the name of a new team's folder may have."""


class InvalidTokenError(Exception):
    """A token or an invitation that does not exist, has expired, was revoked or was used."""


def issue(store: Store, team: str, use: Use, label: str = "", expires: datetime | None = None) -> str:
    """Issue a token or an invitation and return its text, which is nowhere else.

    `team` is the name of a team's folder as messages show it, also of one that has no submission yet. Raises
    ChallengeError if no folder can have the name, or it reads as that of another team.
    """
    if expires is not None and expires <= store.now():
        raise ChallengeError("the time at which the token expires has passed; give a later one")
    text = new_text(use)
    store.record(
        EVERY_TRACK, lambda view: [("token", issued(text, folder_called(team, known_teams(view)), use, label, expires))]
    )
    return text


def redeem(store: Store, invitation: str) -> tuple[str, str]:
    """Exchange an invitation for a token; returns the team and the text of the token. Raises InvalidTokenError."""
    text, team = new_text("token"), ""

    def changed(view: Snapshot) -> Added:
        nonlocal team
        found = tokens(view.events()).get(sha256_of(invitation))
        if found is None or found.use != "invitation" or not found.is_valid(view.now):
            raise InvalidTokenError
        team = found.team
        return [("token", ended(found)), ("token", issued(text, team, "token", found.label, None))]

    store.record(EVERY_TRACK, changed)
    return team, text


def revoke(store: Store, name: str) -> Token:
    """Revoke the token or invitation with this name; returns it. Raises ChallengeError if it cannot be revoked."""
    chosen: list[Token] = []

    def changed(view: Snapshot) -> Added:
        named = [token for token in tokens(view.events()).values() if token.sha256.startswith(name.lower())]
        if len(named) != 1 or len(name) < len("1234"):
            raise ChallengeError(
                f"{quoted(name)} names {len(named) or 'no'} tokens; give the name that `scorer teams tokens` shows"
            )
        chosen[:] = named
        return [] if named[0].ended is not None else [("token", ended(named[0]))]

    store.record(EVERY_TRACK, changed)
    return chosen[0]


def listed(store: Store) -> tuple[Mapping[str, Token], datetime]:
    """All tokens and invitations by their SHA-256, and the time."""
    return store.read(lambda view: (tokens(view.events()), view.now))


def last_used(store: Store, root: Path) -> dict[str, str]:
    """When each token was last used, by its SHA-256; tokens of which it is not known are left out."""
    try:
        return {str(sha256): str(time) for sha256, time in json.loads(store.beside(root, USED).read_bytes()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def note_used(store: Store, root: Path, times: Mapping[str, datetime]) -> None:
    """Keep when tokens were last used."""
    used = last_used(store, root) | {sha256: utc_time(time) for sha256, time in times.items()}
    with suppress(OSError):
        replace_content(store.beside(root, USED), json.dumps(used).encode("ascii"))


def known_teams(view: Snapshot) -> tuple[str, ...]:
    """The folders of all teams with a submission or a token."""
    return tuple(dict.fromkeys((*view.teams, *(token.team for token in tokens(view.events()).values()))))


def folder_called(name: str, known: Collection[str]) -> str:
    """The folder of the team that messages call `name`; a new one if no team is. Raises ChallengeError."""
    team = team_called(name, known)
    if team is not None:
        return team
    is_part = bool(name) and name == name.strip() and PurePosixPath(name).name == name and "\\" not in name
    if not is_part or name.startswith(".") or printable(name) != name or len(name.encode()) > LONGEST_FOLDER:
        raise ChallengeError(
            f"{quoted(name)} cannot be the name of a team's folder; give at most {LONGEST_FOLDER} bytes that all show, "
            "without / and \\, not beginning with a dot"
        )
    alike = team_read_as(name, known)
    if alike is not None:
        raise ChallengeError(
            f"{quoted(name)} reads as the name of another team, {printable_name(alike)}; give that or another name"
        )
    return name
