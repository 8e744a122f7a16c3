"""Teams: their tokens and invitations, what teams.toml says, and the decisions of the organiser about them."""

from __future__ import annotations

import csv
import hmac
import io
import json
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from scorer.errors import ChallengeError, os_errors_as
from scorer.files.writing import LockedError, locked, replace_content
from scorer.organising.files import check_is_private
from scorer.record.events import EVERY_TRACK, bodies
from scorer.record.log import EventKind
from scorer.rules.teams import (
    DECISIONS,
    TeamBody,
    TeamSettings,
    Token,
    Use,
    comparable_name,
    ended,
    issued,
    new_text,
    token_digest,
    tokens,
)
from scorer.settings.loading import TEAMS_FILE, edited, read_teams, teams_in
from scorer.settings.tracks import FILE, Challenge
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, csv_table, printable, printable_name, quoted, suggestion, table_of, utc_time

USED = ".used"
"""Ends the name of the file, next to the database, with the times at which tokens were last used: no record needs them.
"""

LONGEST_FOLDER = 200
"""The bytes that the name of a new team's folder may have."""

ON_WINDOWS = os.name == "nt"
_NOT_ON_WINDOWS = re.compile(r'.*[<>:"|?*].*|.*[. ]|(con|prn|aux|nul|(com|lpt)[\d¹²³]) *(\..*)?', re.IGNORECASE)
"""Names of which Windows makes no folder, or one with another name."""


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

    def changed(view: Snapshot) -> Added:
        known = dict.fromkeys((*view.teams, *(token.team for token in tokens(view.events()).values())))
        return [(EVERY_TRACK, "token", issued(text, folder_called(team, tuple(known)), use, label, expires))]

    store.record(changed)
    return text


def redeem(store: Store, invitation: str) -> tuple[str, str]:
    """Exchange an invitation for a token; returns the team and the text of the token. Raises InvalidTokenError."""
    text = new_text("token")

    def exchanged(view: Snapshot) -> tuple[Added, str]:
        token = tokens(view.events()).get(token_digest(invitation))
        if token is None or token.use != "invitation" or not token.is_valid(view.now):
            raise InvalidTokenError
        new = issued(text, token.team, "token", token.label, None)
        return [(EVERY_TRACK, "token", ended(token)), (EVERY_TRACK, "token", new)], token.team

    return store.record_with(exchanged), text


def revoke(store: Store, name: str) -> Token:
    """Revoke the token or invitation with this name; returns it. Raises ChallengeError if it cannot be revoked."""

    def revoked(view: Snapshot) -> tuple[Added, Token]:
        named = [token for token in tokens(view.events()).values() if token.sha256.startswith(name.lower())]
        if len(named) != 1 or len(name) < len("1234"):
            raise ChallengeError(
                f"{quoted(name)} names {len(named) or 'no'} tokens; give the name that `scorer teams tokens` shows"
            )
        return [] if named[0].ended is not None else [(EVERY_TRACK, "token", ended(named[0]))], named[0]

    return store.record_with(revoked)


def list_tokens(store: Store) -> tuple[Mapping[str, Token], datetime]:
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
        replace_content(store.beside(root, USED), json.dumps(used).encode("ascii"), is_private=True)


def folder_called(name: str, known: Collection[str]) -> str:
    """The folder of the team that messages call `name`; a new one if no team is. Raises ChallengeError."""
    team = team_called(name, known)
    if team is not None:
        return team
    is_part = bool(name) and name == name.strip() and PurePosixPath(name).name == name and "\\" not in name
    if ON_WINDOWS and _NOT_ON_WINDOWS.fullmatch(name):
        raise ChallengeError(f"{quoted(name)} cannot be the name of a folder on Windows; give another name")
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


def check_folders(teams: Iterable[str], root: Path) -> None:
    """Refuse teams that cannot have separate folders on the disk of the challenge at `root`. Raises ChallengeError."""
    same_in_lower_case, read_as = (root / FILE.upper()).exists(), dict[str, str]()
    for team in teams:
        shown, other = quoted(printable_name(team)), read_as.setdefault(comparable_name(team), team)
        if same_in_lower_case and other != team:
            raise ChallengeError(
                f"teams {quoted(printable_name(other))} and {shown} have one folder on this disk; use Linux"
            )
        if ON_WINDOWS and _NOT_ON_WINDOWS.fullmatch(team):
            raise ChallengeError(f"Windows has no folder for the team {shown}; use Linux")


_LOCK = ".teams.toml.lock"
"""Held while a command edits the file."""

_WAIT = 30.0
"""Seconds that a command waits for another one."""


def import_teams(challenge: Challenge, store: Store) -> tuple[str, ...]:
    """Record what teams.toml says, if it differs from the record; return notes on teams that have not submitted yet.

    Settings of a team are recorded once it has submitted a file. Nothing is recorded if the file is invalid;
    ChallengeError has one line for each error.
    """
    teams = read_teams(challenge.root)

    def changed(view: Snapshot) -> tuple[Added, list[str]]:
        settings, notes = _resolved(teams, view.teams, challenge.root / TEAMS_FILE)
        return team_events(view, settings), notes

    added, notes = store.read(changed)
    if added:
        notes = store.record_with(changed)
    return tuple(notes)


_NOTHING_SET = TeamSettings.model_validate({})


def team_events(view: Snapshot, settings: Mapping[str, TeamSettings]) -> Added:
    """The events that record what the organiser sets for teams: one for each whose settings differ from the last ones.

    A team that is not listed has no settings any more.
    """
    before = {body.team: body.settings for _, body in bodies(view.decisions(EVERY_TRACK), TeamBody)}
    events: list[tuple[str, EventKind, dict[str, Any]]] = []
    for team in sorted(before.keys() | settings.keys()):
        old, new = before.get(team, _NOTHING_SET), settings.get(team, _NOTHING_SET)
        if old.recorded() != new.recorded():
            is_decision = any(getattr(old, name) != getattr(new, name) for name in DECISIONS)
            reason = (new.disqualified or new.withdrawn or new.reason or "") if is_decision else ""
            body = {"team": team, "settings": new.recorded(), "reason": reason}
            events.append((EVERY_TRACK, "team", body))
    return events


def _resolved(
    teams: Mapping[str, TeamSettings], known: Sequence[str], file: Path
) -> tuple[Mapping[str, TeamSettings], list[str]]:
    """The settings by the folders of teams, and notes. Refuses a merge into a team without files."""
    settings: dict[str, TeamSettings] = {}
    notes: list[str] = []
    errors: list[str] = []
    for key, table in teams.items():
        team = team_called(key, known)
        if team is None:
            notes.append(f"{file}: no team is called {quoted(key)} yet{suggestion(key, known)}")
            continue
        if team in settings:
            errors.append(f"{quoted(key)}: is a second table of the same team; keep one of them")
        target = None
        if table.merged_into is not None:
            target = team_called(table.merged_into, known)
            if target is None:
                errors.append(
                    f"{quoted(key)}: merged_into: found {quoted(table.merged_into)}, but no team is called so"
                    f"{suggestion(table.merged_into, known)}; give the name of a folder with submissions"
                )
                continue
        settings[team] = table.model_copy(update={"merged_into": target})
    targets = {team: table.merged_into for team, table in settings.items() if table.merged_into is not None}
    for team, into in targets.items():
        if into == team or into in targets:  # the file may spell a name in two ways
            which = "the team itself" if into == team else "merged itself; merge into the final team"
            errors.append(f"{quoted(team)}: cannot be merged into {quoted(into)}, which is {which}")
    if errors:
        raise ChallengeError("\n".join(f"{file}: {error}" for error in errors))
    return settings, notes


def team_called(name: str, known: Collection[str]) -> str | None:
    """The team whose folder has this name, as messages and pages show it or as it is."""
    shown = {printable_name(team): team for team in known}
    return shown.get(name, name if name in known else None)


def team_read_as(name: str, known: Iterable[str]) -> str | None:
    """The team whose folder has a name that a reader takes for this one; None without one."""
    return next((team for team in known if comparable_name(printable_name(team)) == comparable_name(name)), None)


def known_team(name: str, known: Sequence[str]) -> str:
    """The folder of the team called `name`. Raises ChallengeError if no team of the record is called so."""
    team = team_called(name, known)
    if team is None:
        raise ChallengeError(
            f"no team is called {quoted(name)}{suggestion(name, known)}; give the name of its folder; `scorer teams` "
            "lists all of them"
        )
    return team


# Decisions


def rename(challenge: Challenge, store: Store, team: str, name: str) -> None:
    """Give a team a display name; the name of its folder removes it.

    Every decision below takes the team by the name of its folder, edits teams.toml and records the change.
    """
    known = store.read(lambda view: view.teams)
    folder = known_team(team, known)
    other = team_read_as(name, (other for other in known if other != folder))
    if other is not None:
        raise ChallengeError(
            f"{quoted(name)} reads as the name of the folder of another team, {printable_name(other)}; choose "
            "another name"
        )
    _decide(challenge, store, team, {"name": None if name == printable_name(folder) else name})


def merge(challenge: Challenge, store: Store, team: str, into: str, reason: str) -> None:
    """Merge a team into another one, whose row then has the entries of both."""
    target = known_team(into, store.read(lambda view: view.teams))
    _decide(challenge, store, team, {"merged_into": printable_name(target), "reason": reason})


def unmerge(challenge: Challenge, store: Store, team: str, reason: str) -> None:
    """Separate a merged team again."""
    _decide(challenge, store, team, {"merged_into": None, "reason": reason}, "is not merged into another team")


def disqualify(challenge: Challenge, store: Store, team: str, reason: str) -> None:
    """Disqualify a team: its row stays and has no rank."""
    _decide(challenge, store, team, {"disqualified": reason, "withdrawn": None, "reason": None})


def withdraw(challenge: Challenge, store: Store, team: str, reason: str) -> None:
    """Withdraw a team at its own wish: its row stays and has no rank."""
    _decide(challenge, store, team, {"withdrawn": reason, "reason": None})


def reinstate(challenge: Challenge, store: Store, team: str, reason: str) -> None:
    """Rank a disqualified or withdrawn team again."""
    values = {"disqualified": None, "withdrawn": None, "reason": reason}
    _decide(challenge, store, team, values, "is neither disqualified nor withdrawn")


def describe(challenge: Challenge, store: Store, team: str, values: Mapping[str, Any]) -> None:
    """Set the affiliation, links, code or paper of a team; None removes a value."""
    _decide(challenge, store, team, values)


def _decide(
    challenge: Challenge, store: Store, name: str, changes: Mapping[str, Any], nothing_to_end: str = ""
) -> None:
    """Change keys of a team's table, None removes one, and record it; `nothing_to_end`: the error if none is set."""
    known = store.read(lambda view: view.teams)
    team, file = known_team(name, known), challenge.root / TEAMS_FILE
    try:
        with os_errors_as(ChallengeError, f"{file}: cannot be written"), locked(challenge.root / _LOCK, _WAIT):
            teams = read_teams(challenge.root)
            # A command that was killed may have left an edit that is not recorded, with its reason.
            import_teams(challenge, store)
            key = next((key for key in teams if team_called(key, known) == team), printable_name(team))
            ended = [each for each, value in changes.items() if value is None]
            if nothing_to_end and all(getattr(teams.get(key), each, None) is None for each in ended):
                raise ChallengeError(f"{quoted(name)} {nothing_to_end}")
            _edit(file, known, key, changes)
            import_teams(challenge, store)
    except LockedError as error:
        raise ChallengeError(str(error)) from error


def _edit(file: Path, known: Sequence[str], key: str, changes: Mapping[str, Any]) -> None:
    """Change the table of a team in the file. Raises ChallengeError, OSError."""
    text = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    try:
        text = edited(text, {(key, name): value for name, value in changes.items()})
    except ValueError:
        raise ChallengeError(
            f"{file}: cannot be edited by a command; give the table of each team its own header"
        ) from None
    _resolved(teams_in(tomllib.loads(text), file), known, file)
    replace_content(file.resolve(), text.encode())


# Invitations of a whole table, for a mail merge


_TABLE_COLUMNS: Mapping[str, tuple[str, ...]] = {"team": ("team",), "address": ("mail", "address")}
"""The columns of the table, and what their heads contain."""

_MERGE_HEADS = ("team", "address", "link", "valid_until")
"""Of the file for the mail merge."""

_MOST_BYTES = 10_000_000
"""Of the table."""

_DIGITS = 16
"""Of the digest that the record has in the place of an address."""


def invite_all(
    challenge: Challenge, store: Store, table: Path, output: Path, address: str, expires: datetime | None
) -> tuple[int, int]:
    """Issue an invitation for each row of a table that has not used one, and write the links into a private CSV file.

    The file has the columns team, address, link and valid_until, for a mail merge. An earlier invitation of the same
    row ends; who has signed in gets none. The record has a digest of the address with a secret, never the address.
    Returns how many links are in the file, and how many rows have a token already.

    Raises ChallengeError with a line for each row that is wrong; then nothing is recorded, as where the file cannot be
    written.
    """
    if expires is not None and expires <= store.now():
        raise ChallengeError("the time at which the invitations expire has passed; give a later one")
    rows = read_people(table)
    _check_output(output, table)
    check_is_private(challenge, output)

    def changed(view: Snapshot) -> tuple[Added, int]:
        before = tokens(view.events())
        alike = defaultdict[str, list[str]](list)  # teams by what is compared, as a challenge may have thousands
        for team in dict.fromkeys((*view.teams, *(token.team for token in before.values()))):
            alike[comparable_name(printable_name(team))].append(team)
        by_label: dict[tuple[str, str], list[Token]] = {}
        for token in before.values():
            by_label.setdefault((token.team, token.label), []).append(token)
        events: list[tuple[str, EventKind, dict[str, Any]]] = []
        links, problems = [], []
        for line, (name, whom) in rows.items():
            try:
                known = alike[comparable_name(name)]
                team = folder_called(name, known)
            except ChallengeError as error:
                problems.append(f"{table}:{line}: {error}")
                continue
            known += [] if team in known else [team]
            label = hmac.digest(view.secret("invitations"), whom.casefold().encode(), "sha256").hex()[:_DIGITS]
            earlier = by_label.get((team, label), ())
            if any(token.use == "token" for token in earlier):
                continue
            events += [(EVERY_TRACK, "token", ended(token)) for token in earlier if token.ended is None]
            text = new_text("invitation")
            events.append((EVERY_TRACK, "token", issued(text, team, "invitation", label, expires)))
            until = "" if expires is None else utc_time(expires)
            links.append((printable_name(team), whom, f"{address}/invite#{text}", until))
        if problems:
            raise ChallengeError("\n".join(problems))
        written = f"{csv_table(table_of(_MERGE_HEADS, links, _MERGE_HEADS))}\n"
        with os_errors_as(ChallengeError, f"{output}: cannot be written", "name another file"):
            replace_content(output, written.encode(), is_private=True)
        return events, len(links)

    new = store.record_with(changed)
    return new, len(rows) - new


def _check_output(output: Path, table: Path) -> None:
    """Refuse files for the links that other users can read, or that have something else. Raises ChallengeError."""
    with os_errors_as(ChallengeError, f"{output}: cannot be written", "name another file"):
        if output.is_dir() or (output.exists() and output.samefile(table)):
            what = "is a folder" if output.is_dir() else "is the table that is read"
            raise ChallengeError(f"{output}: {what}; name a new file")
        is_readable = output.exists() and output.stat().st_mode & 0o077
    if is_readable:
        raise ChallengeError(f"{output}: other users can read it; name a new file, or run `chmod 600 {output}`")


def read_people(table: Path) -> dict[int, tuple[str, str]]:
    """The teams and addresses of a CSV file with a header, by line; a pair that is repeated has its first line.

    Raises ChallengeError.
    """
    with os_errors_as(ChallengeError, f"{table}: cannot be read", "name a CSV file with the columns team and address"):
        content = table.read_bytes()
    if len(content) > _MOST_BYTES:
        raise ChallengeError(f"{table}: has {len(content):,} bytes; expected at most {_MOST_BYTES:,}")
    try:
        text = content.decode("utf-8-sig")
        first = text.partition("\n")[0]
        mark = max(",;\t", key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
        lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except UnicodeDecodeError:
        raise ChallengeError(f"{table}: is not UTF-8 text; save the table as CSV in UTF-8") from None
    except csv.Error as error:
        raise ChallengeError(f"{table}: is no CSV file ({error}); save the table as CSV") from None
    places = _places(table, lines[0][1] if lines else [])
    people: dict[tuple[str, str], int] = {}
    problems = []
    for line, cells in lines[1:]:
        if any(cells):
            team, whom = (cells[place] if place < len(cells) else "" for place in places)
            problems += [f"{table}:{line}: {each}" for each in _problems(team, whom)]
            people.setdefault((team, whom), line)
    if problems or not people:
        raise ChallengeError("\n".join(problems) or f"{table}: has no rows below its header")
    return {line: pair for pair, line in people.items()}


def _places(table: Path, heads: Sequence[str]) -> list[int]:
    """Where the columns are."""
    places = []
    for name, parts in _TABLE_COLUMNS.items():
        exact = [place for place, head in enumerate(heads) if head.casefold() == name]
        like = [place for place, head in enumerate(heads) if any(part in head.casefold() for part in parts)]
        if len(exact or like) != 1:
            which = "no column" if not like else counted(len(like), "column")
            raise ChallengeError(
                f"{table}:1: {which} for the {name} among {', '.join(map(quoted, heads)) or 'no heads'}; "
                f'call it "{name}"'
            )
        places.append((exact or like)[0])
    return places


def _problems(team: str, whom: str) -> Iterator[str]:
    if not team:
        yield "has no team"
    if not whom:
        yield "has no address"
    elif whom.count("@") != 1 or any(map(str.isspace, whom)) or not whom.isprintable():
        yield f"found {quoted(whom)} as the address; expected one, as in name@example.org"
