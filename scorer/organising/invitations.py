"""Invitations of many people at once, from a table of teams and addresses, for a mail merge."""

from __future__ import annotations

import csv
import hmac
import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scorer.errors import ChallengeError, os_errors_as
from scorer.files.writing import replace_content
from scorer.organising.files import check_is_private
from scorer.organising.teams import folder_called
from scorer.record.events import EVERY_TRACK
from scorer.record.log import EventKind
from scorer.rules.teams import Token, comparable_name, ended, issued, new_text, tokens
from scorer.settings.tracks import Challenge
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import counted, csv_table, printable_name, quoted, table_of, utc_time

_COLUMNS: Mapping[str, tuple[str, ...]] = {"team": ("team",), "address": ("mail", "address")}
"""The columns of the table, and what their heads contain."""

HEADS = ("team", "address", "link", "valid_until")
"""Of the file for the mail merge."""

_MOST_BYTES = 10_000_000
"""Of the table."""

_DIGITS = 16
"""Of the digest that the record has in the place of an address."""


@dataclass(frozen=True, slots=True)
class Invited:
    """What a call of `invite_all` did."""

    new: int
    """The links in the file."""
    signed_in: int
    """Those who have a token already."""


def invite_all(
    challenge: Challenge, store: Store, table: Path, output: Path, address: str, expires: datetime | None
) -> Invited:
    """Issue an invitation for each row of a table that has not used one, and write the links into a private CSV file.

    The file has the columns team, address, link and valid_until, for a mail merge. An earlier invitation of the same
    row ends; who has signed in gets none. The record has a digest of the address with a secret, never the address.

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
        written = f"{csv_table(table_of(HEADS, links, HEADS))}\n"
        with os_errors_as(ChallengeError, f"{output}: cannot be written", "name another file"):
            replace_content(output, written.encode(), is_private=True)
        return events, len(links)

    new = store.record_with(changed)
    return Invited(new, len(rows) - new)


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
    for name, parts in _COLUMNS.items():
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
