"""``scorer teams``: the teams of a challenge, and decisions about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorer.cli.arguments import OrChallenge, Parser, WrongCallError, add_challenge, add_form, open_store, stated
from scorer.cli.console import print_result
from scorer.wording import iso_time, printable_name, quoted, suggestion, utc_time

if TYPE_CHECKING:
    from scorer.live.teams import Team
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
        choices=OrChallenge(["list", *ACTIONS]),
        metavar="ACTION",
        help="list (the default), rename TEAM NAME, merge TEAM INTO, unmerge TEAM, disqualify TEAM, withdraw TEAM, "
        f"reinstate TEAM, or set TEAM KEY=VALUE... with the keys {', '.join(KEYS)}; a blank value removes a key",
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


def teams(action: str, values: list[str], reason: str | None, form: str, challenge: Path) -> int:
    """List the teams of a challenge, or decide about one: its name, merges, disqualification, links.

    A decision is written to teams.toml, next to challenge.toml, and recorded with its reason and its time. `scorer run`
    records changes that were made in the file by hand. `scorer run` or `scorer render` shows them.
    """
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
    from scorer.reports.table import Cell, Column, Table, text_table

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
