"""``scorer teams``: the teams of a challenge, and decisions about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import (
    OrChallenge,
    Parser,
    WrongCallError,
    add_challenge,
    add_form,
    moment,
    open_store,
    stated,
)
from scorer.cli.console import print_result
from scorer.wording import iso_time, printable, printable_name, quoted, suggestion, utc_time

if TYPE_CHECKING:
    from scorer.live.teams import Team
    from scorer.live.tokens import Token
    from scorer.store.store import Store

TEXTS = ("affiliation", "code", "paper")
KEYS = (*TEXTS, "links")
"""The keys that ``set`` sets."""

VERSION = 1
"""Of the structure of the list as JSON."""


def add_action(parser: Parser) -> None:
    """Add the arguments of ``teams``."""
    parser.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=OrChallenge(["list", *ACTIONS, *OF_TOKENS]),
        metavar="ACTION",
        help="list (the default), rename TEAM NAME, merge TEAM INTO, unmerge TEAM, disqualify TEAM, withdraw TEAM, "
        f"reinstate TEAM, or set TEAM KEY=VALUE... with the keys {', '.join(KEYS)}; a blank value removes a key; "
        "for the service: token TEAM, invite TEAM, tokens (a list), or revoke TOKEN",
    )
    parser.add_argument(
        "values", nargs="*", metavar="VALUE", help="TEAM is the name of the team's folder, as messages show it"
    )
    parser.add_argument(
        "--reason",
        type=stated,
        metavar="TEXT",
        help="why; it is published and recorded; required by merge, unmerge, disqualify, withdraw and reinstate",
    )
    parser.add_argument("--label", default="", metavar="TEXT", help="with token and invite: what the token is for")
    parser.add_argument(
        "--expires", type=moment, metavar="TIME", help="with token and invite: when it ends, as 2011-04-18T10:00:00Z"
    )
    parser.add_argument(
        "--server",
        default="",
        metavar="URL",
        help="with invite: the address of the service; default: service or url in the table [site] of challenge.toml",
    )
    add_form(parser, ("table", "json"), "of the list")
    add_challenge(parser, "action")


@dataclass(frozen=True, slots=True)
class Action:
    """A decision about a team."""

    values: str
    """What follows the name of the action, for messages."""
    done: str
    """What is printed after the name of the team."""
    has_reason: bool = True


ACTIONS = {
    "rename": Action("TEAM NAME", "is renamed", has_reason=False),
    "merge": Action("TEAM INTO", "is merged"),
    "unmerge": Action("TEAM", "is separate again"),
    "disqualify": Action("TEAM", "is disqualified"),
    "withdraw": Action("TEAM", "is withdrawn"),
    "reinstate": Action("TEAM", "is ranked again"),
    "set": Action("TEAM KEY=VALUE...", "is described", has_reason=False),
}
"""By the names of their functions in `scorer.organising.teams`; that of ``set`` is `describe`."""

OF_TOKENS = {"token": 1, "invite": 1, "tokens": 0, "revoke": 1}
"""The actions on tokens, and how many values each has."""


def teams(
    action: str,
    values: list[str],
    reason: str | None,
    form: str,
    challenge: Path,
    label: str,
    expires: datetime | None,
    server: str,
) -> int:
    """List the teams of a challenge, or decide about one: its name, merges, disqualification, links.

    A decision is written to teams.toml, next to challenge.toml, and recorded with its reason and its time. `scorer run`
    records changes that were made in the file by hand. `scorer run` or `scorer render` shows them.

    `token` prints a token with which a team hands in files, and `invite` a link that the team opens once to take its
    token. Either is printed once and kept nowhere: the record has its SHA-256. The team may be new.
    """
    if action in OF_TOKENS:
        return _tokens(action, values, challenge, form, label, expires, server)
    chosen = ACTIONS.get(action)
    _check(action, chosen, values, reason)
    with open_store(challenge) as (settings, _, store):
        if chosen is None:
            _print_list(store, form)
            return 0
        from scorer.organising import teams as decisions

        team, *others = values
        if action == "set":
            decisions.describe(settings, store, team, _settings(others))
        else:
            stated_reason = [] if reason is None else [reason]
            getattr(decisions, action)(settings, store, *values, *stated_reason)
        print_result(f"{printable_name(team)}: {chosen.done}; `scorer render` shows it")
    return 0


def _tokens(
    action: str, values: Sequence[str], challenge: Path, form: str, label: str, expires: datetime | None, server: str
) -> int:
    from scorer.organising import tokens as issuing

    if len(values) != OF_TOKENS[action]:
        raise WrongCallError(f"expected {action}{' and one value' if OF_TOKENS[action] else ''}")
    with open_store(challenge, create=action in ("token", "invite")) as (settings, _, store):
        if action == "tokens":
            _print_tokens(*issuing.listed(store), used=issuing.last_used(store, settings.root), form=form)
        elif action == "revoke":
            revoked = issuing.revoke(store, values[0])
            print_result(f"{printable_name(revoked.team)}: {revoked.use} {revoked.name} is revoked")
        elif action == "token":
            print_result(issuing.issue(store, values[0], "token", label, expires))
        else:
            address = server or settings.branding.service or settings.branding.url
            if not address:
                raise WrongCallError("invite needs --server URL, or url in the table [site] of challenge.toml")
            code = issuing.issue(store, values[0], "invitation", label, expires)
            print_result(f"{address.rstrip('/')}/invite#{code}")
    return 0


def _print_tokens(listed: Mapping[str, Token], now: datetime, *, used: Mapping[str, str], form: str) -> None:
    import json

    from scorer.wording.table import Cell, Column, Table, text_table

    names = ("token", "team", "use", "state", "label", "issued", "expires", "last used")
    rows = [
        (
            token.name,
            printable_name(token.team),
            token.use,
            token.state(now),
            printable(token.label),
            utc_time(token.issued) if token.issued else "",
            utc_time(token.expires) if token.expires else "",
            used.get(token.sha256, ""),
        )
        for token in listed.values()
    ]
    if form == "json":
        keys = [name.replace(" ", "_") for name in names]
        document = {"version": VERSION, "tokens": [dict(zip(keys, row, strict=True)) for row in rows]}
        print_result(json.dumps(document, ensure_ascii=False, indent=1))
        return
    columns = [Column(name) for name in names]
    print_result(text_table(Table(columns, [[Cell(text) for text in row] for row in rows])))


def _check(action: str, chosen: Action | None, values: Sequence[str], reason: str | None) -> None:
    """Raise WrongCallError if values or the reason are missing or too many."""
    expected = 0 if chosen is None else len(chosen.values.split())
    is_open = chosen is not None and chosen.values.endswith("...")
    if len(values) < expected or (len(values) > expected and not is_open):
        raise WrongCallError(f"expected {action} {chosen.values}" if chosen else "list takes no values")
    if chosen and chosen.has_reason and reason is None:
        raise WrongCallError(f"{action} needs --reason TEXT, which is published")
    if reason is not None and not (chosen and chosen.has_reason):
        raise WrongCallError(f"{action} takes no --reason")


def _settings(texts: Sequence[str]) -> dict[str, Any]:
    """The settings in KEY=VALUE; links are separated by spaces, or given one by one."""
    settings: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in KEYS:
            hint = suggestion(key, KEYS) if equals else ""
            raise WrongCallError(f"found {quoted(text)}{hint}, expected KEY=VALUE with one of {', '.join(KEYS)}")
        if key == "links":
            settings[key] = [*(settings.get(key) or []), *value.split()] or None
        else:
            settings[key] = value if value.strip() else None
    return settings


def _print_list(store: Store, form: str) -> None:
    import json

    from scorer.live.teams import teams as all_teams

    listed = store.read(lambda view: [team for folder, team in all_teams(view).items() if folder in view.teams])
    if form == "json":
        document = {"version": VERSION, "teams": [_document(team) for team in listed]}
        print_result(json.dumps(document, ensure_ascii=False, indent=1))
        return
    from scorer.wording.table import Cell, Column, Table, text_table

    columns = [Column(name) for name in ("team", "name", "status", "since", "reason")]
    rows = []
    for team in listed:
        status = team.status if team.merged_into is None else f"merged into {printable_name(team.merged_into)}"
        since = "" if team.since is None else utc_time(team.since)
        rows.append([Cell(text) for text in (team.folder, team.name, status, since, team.reason)])
    print_result(text_table(Table(columns, rows)))


def _document(team: Team) -> dict[str, Any]:
    """A team for programs."""
    return {
        "team": team.folder,
        "name": team.name,
        "affiliation": team.affiliation,
        "links": list(team.links),
        "code": team.code,
        "paper": team.paper,
        "status": team.status,
        "merged_into": None if team.merged_into is None else printable_name(team.merged_into),
        "reason": team.reason,
        "since": None if team.since is None else iso_time(team.since),
        "history": [
            {
                "index": change.index,
                "at": None if change.at is None else iso_time(change.at),
                "kind": change.kind,
                "before": change.before,
                "after": change.after,
                "reason": change.reason,
            }
            for change in team.history
        ],
    }
