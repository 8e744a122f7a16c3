"""Tokens: what a team shows to the service, as the record has them. The record never has a token, only its SHA-256."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from scorer.store.canonical import iso
from scorer.store.events import Event, time_of

Use = Literal["token", "invitation"]
"""A token hands in files. An invitation is exchanged for a token, once."""

PREFIXES: Mapping[Use, str] = {"token": "scorer_", "invitation": "invite_"}
"""Begin the texts, so that a search for secrets finds them."""

_RANDOM_BYTES = 32

SHOWN = 12
"""So many digits of the SHA-256 name a token in lists and commands."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token or an invitation of a team."""

    index: int
    """Of the event that issued it."""
    sha256: str
    """Of its text, in hexadecimal."""
    team: str
    use: Use
    label: str
    """Empty without one."""
    issued: datetime | None
    expires: datetime | None
    """None: it does not expire."""
    ended: datetime | None = None
    """When it was revoked or, for an invitation, used; None: it was not."""

    @property
    def name(self) -> str:
        """What lists and commands call it."""
        return self.sha256[:SHOWN]

    def is_valid(self, now: datetime) -> bool:
        """Whether it can be used."""
        return self.ended is None and (self.expires is None or now < self.expires)

    def state(self, now: datetime) -> str:
        """Its state in a word."""
        if self.ended is not None:
            return "used or revoked" if self.use == "invitation" else "revoked"
        return "valid" if self.is_valid(now) else "expired"


def new_text(use: Use) -> str:
    """The text of a new token, which nobody can guess."""
    return PREFIXES[use] + secrets.token_urlsafe(_RANDOM_BYTES)


def sha256_of(text: str) -> str:
    """What the record has of a token."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def issued(text: str, team: str, use: Use, label: str, expires: datetime | None) -> dict[str, Any]:
    """The body of the event that issues a token."""
    return {
        "state": "issued",
        "sha256": sha256_of(text),
        "team": team,
        "use": use,
        "label": label,
        "expires": None if expires is None else iso(expires),
    }


def ended(token: Token) -> dict[str, Any]:
    """The body of the event that revokes a token, or says that an invitation was used."""
    return {"state": "ended", "sha256": token.sha256, "team": token.team}


def tokens(events: Iterable[Event], before: Mapping[str, Token] | None = None) -> dict[str, Token]:
    """The tokens and invitations by their SHA-256, given events in order; `before` has those of earlier events."""
    found = dict(before or {})
    for event in events:
        if event.kind != "token":
            continue
        body, sha256 = event.body, event.body["sha256"]
        if body["state"] == "issued":
            expires = None if body["expires"] is None else time_of(body["expires"])
            found[sha256] = Token(event.index, sha256, body["team"], body["use"], body["label"], event.at, expires)
        elif sha256 in found and found[sha256].ended is None:
            found[sha256] = replace(found[sha256], ended=event.at)
    return found
