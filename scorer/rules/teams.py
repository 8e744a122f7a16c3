"""Teams: their names, addresses, merges and decisions as the record has them; and the digests of their tokens."""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from scorer.record.events import Body, Event, HexDigest, Names, RecordedTime, bodies, known_values
from scorer.record.log import iso
from scorer.rules.tables import RESERVED, SettingsTable, sentences, split_url
from scorer.wording import INVISIBLE, printable, printable_name

_LONGEST_NAME = 200
LONGEST_TEXT = 1000
LONGEST_URL = 2000
MOST_LINKS = 10

_JOINERS = re.compile("(?<=[^\\s\u200c\u200d])(?:[\u200c\u200d](?=[^\\s\u200c\u200d])|[\ufe0e\ufe0f])")
"""Characters that show nothing and that some scripts and emoji need, between two characters that show."""

_UNSEEN = re.compile(f"[\u00ad\u200b-\u200d\u2060\ufeff]|{INVISIBLE.pattern}")


def _line(text: str, longest: int) -> str:
    if not text.strip():
        raise ValueError("is blank")
    if len(text) > longest:
        raise ValueError(f"has {len(text):,} characters, more than {longest:,}")
    plain = _JOINERS.sub("", text)
    if printable(plain) != plain:
        raise ValueError("has a character that does not show, or not in its place")
    return text


def _name(text: str) -> str:
    _line(text, _LONGEST_NAME)
    if text != " ".join(text.split()):
        raise ValueError("has a space at an end, or two in a row")
    return text


def line_text(text: str) -> str:
    """The text of a line. Raises ValueError if it is blank, too long, or has characters that do not show."""
    return _line(text, LONGEST_TEXT)


def url_text(text: str) -> str:
    """The URL of a page. Raises ValueError if it is none."""
    parts = split_url(_line(text, LONGEST_URL))
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise ValueError("is not a URL of this kind")
    return text


_A_NAME = f"a text of at most {_LONGEST_NAME} characters that all show"
_A_TEXT = f"a text of at most {LONGEST_TEXT:,} characters that all show"
_A_REASON = f"the reason, {_A_TEXT}"
_A_URL = f"a URL of at most {LONGEST_URL:,} characters that begins with http:// or https://, without a user name"
Name = Annotated[str, AfterValidator(_name)]
Line = Annotated[str, AfterValidator(line_text)]
Url = Annotated[str, AfterValidator(url_text)]

DECISIONS = ("merged_into", "disqualified", "withdrawn")
"""The keys of which a team has at most one."""


class TeamSettings(SettingsTable):
    """The table of a team in teams.toml."""

    never_recorded: ClassVar = frozenset({"reason"})

    name: Name | None = Field(None, description=_A_NAME)
    affiliation: Line | None = Field(None, description=_A_TEXT)
    links: tuple[Url, ...] = Field(
        (), strict=False, max_length=MOST_LINKS, description=f"a list of at most {MOST_LINKS} items, each {_A_URL}"
    )
    code: Url | None = Field(None, description=_A_URL)
    paper: Url | None = Field(None, description=_A_URL)
    merged_into: str | None = Field(None, description="the name of the folder of another team")
    disqualified: Line | None = Field(None, description=_A_REASON)
    withdrawn: Line | None = Field(None, description=_A_REASON)
    reason: Line | None = Field(None, description=f"why the last decision was taken, {_A_TEXT}")


def final_team(targets: Mapping[str, str], team: str) -> str:
    """The team at the end of a chain of merges; if that leads into a circle, a team of the circle.

    `targets` has the team that each merged team is merged into.
    """
    passed = {team}
    while (target := targets.get(team)) is not None and target not in passed:
        passed.add(target)
        team = target
    return team


def comparable_name(name: str) -> str:
    """A name as names are compared: equal for names that a reader takes for the same.

    That is NFKC with cases folded, without the characters that show nothing.
    """
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", _UNSEEN.sub("", name)))
    return " ".join(unicodedata.normalize("NFKC", plain.casefold()).split())


class TeamBody(Body, plain=("reason",)):
    """Of an event with all that is set for a team from then on."""

    team: str
    settings: Annotated[
        TeamSettings, BeforeValidator(lambda settings: TeamSettings(**known_values(TeamSettings, settings)))
    ]
    reason: str

    def _named(self, names: Names) -> dict[str, Any]:
        into = self.settings.merged_into
        shown = {key: getattr(self.settings, key) for key in ("disqualified", "withdrawn")}
        return {"settings": TeamSettings.model_construct(merged_into=into and names.team(into), **shown)}


Use = Literal["token", "invitation"]
"""A token hands in files. An invitation is exchanged for a token, once."""


class TokenBody(Body, plain=("state", "sha256")):
    """Of an event about a token that is issued, or ended."""

    state: Literal["issued", "ended"]
    sha256: HexDigest
    team: str


class IssuedTokenBody(TokenBody, plain=("use", "expires")):
    """Of an event that issues a token."""

    use: Use
    label: str
    expires: RecordedTime | None

    def _named(self, names: Names) -> dict[str, Any]:  # noqa: ARG002
        return {"label": ""}


PREFIXES: Mapping[Use, str] = {"token": "scorer_", "invitation": "invite_"}
"""Begin the texts, so that a search for secrets finds them."""

_SHOWN = 12
"""So many digits of the SHA-256 name a token in lists and commands."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token or an invitation of a team."""

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
        return self.sha256[:_SHOWN]

    def is_valid(self, now: datetime) -> bool:
        return self.ended is None and (self.expires is None or now < self.expires)

    def state(self, now: datetime) -> str:
        if self.ended is not None:
            return "used or revoked" if self.use == "invitation" else "revoked"
        return "valid" if self.is_valid(now) else "expired"


def new_text(use: Use) -> str:
    """The text of a new token, which nobody can guess."""
    return PREFIXES[use] + secrets.token_urlsafe(32)


def token_digest(text: str) -> str:
    """What the record has of a token."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def issued(text: str, team: str, use: Use, label: str, expires: datetime | None) -> dict[str, Any]:
    """The body of the event that issues a token."""
    return {
        "state": "issued",
        "sha256": token_digest(text),
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
    by_sha256 = dict(before or {})
    for event, body in bodies(events, TokenBody):
        sha256 = body.sha256
        if isinstance(body, IssuedTokenBody):
            by_sha256[sha256] = Token(sha256, body.team, body.use, body.label, event.at, body.expires)
        elif sha256 in by_sha256 and by_sha256[sha256].ended is None:
            by_sha256[sha256] = replace(by_sha256[sha256], ended=event.at)
    return by_sha256


TeamStatus = Literal["ranked", "disqualified", "withdrawn"]
ChangeKind = Literal["named", "renamed", "merged", "separated", "disqualified", "withdrawn", "reinstated"]

OF_NAMES: tuple[ChangeKind, ...] = ("named", "renamed")
"""Named: the team has its first display name."""


@dataclass(frozen=True, slots=True)
class TeamChange:
    """A change of a team's name, or a decision about it."""

    index: int
    """Of its event in the record."""
    at: datetime | None
    """When it was recorded, in UTC."""
    kind: ChangeKind
    before: str = ""
    """The earlier name, if the team was named or renamed; the other team, if it was separated from it."""
    after: str = ""
    """The new name, if the team was named or renamed; the other team, if it was merged into it.

    Other teams have the names of their folders, as `printable_name` returns them."""
    reason: str = ""
    """Empty if the team was named or renamed, or no reason was given."""


@dataclass(frozen=True, slots=True)
class Team:
    """A team."""

    name: str = ""
    """The display name, or else that of the folder as `printable_name` returns it: different teams have different
    names."""
    slug: str = ""
    """Safe in paths and URLs; unique among all teams, also when case is ignored. It comes from the folder."""
    folder: str = ""
    """The name of its folder, as `printable_name` returns it; it never changes."""
    affiliation: str = ""
    links: tuple[str, ...] = ()
    """URLs that begin with http:// or https://, as `code` and `paper`."""
    code: str = ""
    paper: str = ""
    merged_into: str | None = None
    """The folder of the team whose row has the entries of this team."""
    status: TeamStatus = "ranked"
    reason: str = ""
    """Of the last decision about the team; empty if none was given."""
    since: datetime | None = None
    """When the present status, or the merge, was recorded, in UTC; None if there was no decision."""
    history: tuple[TeamChange, ...] = ()
    """Changes of its name and decisions about it, the earliest first. Other teams have the names of their folders."""

    @property
    def is_excluded(self) -> bool:
        """Whether it is disqualified or withdrawn, so that it has no rank."""
        return self.status != "ranked"


UNCHANGED = Team()
"""A team for which nothing was ever set."""


@dataclass(frozen=True, slots=True)
class MergedTeam:
    """A team whose entries are in the row of another team."""

    team: Team
    into: Team


def set_teams(events: Iterable[Event]) -> Mapping[str, Team]:
    """What is set for each team for which something was ever set, by the name of its folder, given events in order.

    They have no slugs, and names only where a display name is set.
    """
    states: dict[str, Team] = {}
    for event, body in bodies(events, TeamBody):
        states[body.team] = _after(states.get(body.team, UNCHANGED), event, body)
    return states


def _after(before: Team, event: Event, body: TeamBody) -> Team:
    settings = body.settings
    status: TeamStatus = "ranked" if settings.withdrawn is None else "withdrawn"
    after = replace(
        before,
        name=settings.name or "",
        affiliation=settings.affiliation or "",
        links=settings.links,
        code=settings.code or "",
        paper=settings.paper or "",
        merged_into=settings.merged_into,
        status=status if settings.disqualified is None else "disqualified",
    )
    changes = tuple(_changes(before, after, event, body))
    if (before.status, before.merged_into) != (after.status, after.merged_into):
        after = replace(after, since=event.at)
    if any(change.kind not in OF_NAMES for change in changes):
        after = replace(after, reason=body.reason)
    return replace(after, history=(*before.history, *changes))


def _changes(before: Team, after: Team, event: Event, body: TeamBody) -> Iterable[TeamChange]:
    reason, folder = body.reason, printable_name(body.team)
    old, new = before.name or folder, after.name or folder
    if old != new:
        yield TeamChange(event.index, event.at, "renamed" if before.name else "named", old, new)
    if before.merged_into not in (None, after.merged_into):
        yield TeamChange(
            event.index, event.at, "separated", before=printable_name(before.merged_into or ""), reason=reason
        )
    if after.merged_into not in (None, before.merged_into):
        yield TeamChange(event.index, event.at, "merged", after=printable_name(after.merged_into or ""), reason=reason)
    if before.status != after.status or (after.status != "ranked" and reason and reason != before.reason):
        kind: ChangeKind = "reinstated" if after.status == "ranked" else after.status
        yield TeamChange(event.index, event.at, kind, reason=reason)


@dataclass(frozen=True)
class Merges:
    """Which teams count as one, at every index of the record."""

    steps: Sequence[tuple[int, Mapping[str, str]]]
    """From an index on, into which team each merged team is merged; the earliest first."""

    def targets(self, index: int | None = None) -> Mapping[str, str]:
        """Into which team each merged team is merged, after the event with this index; None: after the last one."""
        position = len(self.steps) if index is None else bisect_right(self.steps, index, key=itemgetter(0))
        return self.steps[position - 1][1] if position else {}

    def final(self, team: str, index: int | None = None) -> str:
        """The team whose row has the entries of `team`, after the event with this index; None: after the last one."""
        # One import may record the merges of a chain in any order.
        return final_team(self.targets(index), team)

    def members(self, team: str, index: int | None = None) -> tuple[str, ...]:
        """The teams that count as one with `team`, itself included, sorted; `index` as for `final`."""
        targets, final = self.targets(index), self.final(team, index)
        return tuple(sorted({final, *(merged for merged in targets if final_team(targets, merged) == final)}))

    @cached_property
    def together(self) -> Mapping[str, str]:
        """For each team that was ever merged, the first by name of those that ever counted as one with it."""
        firsts: dict[str, str] = {}
        for pair in (pair for _, targets in self.steps for pair in targets.items()):
            first, *others = sorted({firsts.get(team, team) for team in pair})
            firsts |= dict.fromkeys(pair, first)
            firsts |= {team: first for team, other in firsts.items() if other in others}
        return firsts


def merges(events: Iterable[Event]) -> Merges:
    """The merges of teams, given events in order."""
    steps: list[tuple[int, Mapping[str, str]]] = []
    targets: dict[str, str] = {}
    for event, body in bodies(events, TeamBody):
        team, target = body.team, body.settings.merged_into
        if targets.get(team) == target:
            continue
        targets = {merged: into for merged, into in targets.items() if merged != team}
        if target is not None:
            targets[team] = target
        steps.append((event.index, targets))
    return Merges(steps)


def team_names(teams: Iterable[str], states: Mapping[str, Team]) -> Mapping[str, str]:
    """The name that pages show for each team; no two are the same, or read as the same.

    A display name that reads as the folder of another team, or as an earlier display name, is followed by the folder
    of its team: a folder with that name may arrive after the display name was set.

    The folders are in the order of their first arrival.
    """
    folders = {team: printable_name(team) for team in teams}
    taken: dict[str, set[str]] = {}
    for team, folder in folders.items():
        taken.setdefault(comparable_name(folder), set()).add(team)
    shown = {}
    for team, folder in folders.items():
        name = states.get(team, UNCHANGED).name
        for candidate in (name, f"{name} ({folder})") if name else ():
            if taken.get(comparable_name(candidate), {team}) == {team}:
                shown[team] = candidate
                taken[comparable_name(candidate)] = {team}
                break
        else:
            shown[team] = folder
    return shown


def teams(names: Iterable[str], events: Iterable[Event]) -> Mapping[str, Team]:
    """All that is known of each team, by the names of their folders, in the order of their first arrivals."""
    states = set_teams(events)
    targets = (team.merged_into for team in states.values() if team.merged_into is not None)
    # A team may have a decision, but no file yet, as of an earlier time.
    folders = tuple(dict.fromkeys((*names, *states, *targets)))
    shown, addresses = team_names(folders, states), slugs(folders)
    return {
        folder: replace(
            states.get(folder, UNCHANGED), name=shown[folder], slug=addresses[folder], folder=printable_name(folder)
        )
        for folder in folders
    }


_LONGEST_SLUG = 60

_SLUG_DIGITS = (8, 16, 32, 64)
"""How many digits of the SHA-256 of a name a slug may end with; the first number that gives an unused slug is used."""


def slugs(names: Iterable[str]) -> dict[str, str]:
    """The slug of each team: a-z, 0-9 and single hyphens, 1 to 60 characters, and different for different names.

    A slug is the name in lower case, with a hyphen for everything else. Where an earlier team has this slug, or it is
    reserved or empty, part of the SHA-256 of the name is added.

    The names are in the order of their first arrival, so that a later team never changes the slug of an earlier one. A
    name is any text, also with the lone surrogates of a file name that is not UTF-8.
    """
    slugs: dict[str, str] = {}
    taken = set(RESERVED) | {""}
    for name in names:
        if name not in slugs:
            slugs[name] = next(slug for slug in _candidates(name) if slug not in taken)
            taken.add(slugs[name])
    return slugs


def _candidates(name: str) -> Iterable[str]:
    """The slugs that a team may have, the preferred one first."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    plain = re.sub("[^a-z0-9]+", "-", letters).strip("-")
    yield plain[:_LONGEST_SLUG].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    for digits in _SLUG_DIGITS:
        stem = plain[: max(0, _LONGEST_SLUG - digits - 1)].strip("-")
        yield f"{stem}-{digest[:digits]}" if stem else digest[: min(digits, _LONGEST_SLUG)]


TEAM_RULES = sentences("teams", "excluded", "merged")
"""The rules on teams."""
