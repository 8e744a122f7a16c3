"""What the pages say about a team, apart from its results: links, decisions, history, and merged teams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from scorer.board.board import Board
from scorer.live.teams import ChangeKind, MergedTeam, Team, TeamChange
from scorer.wording import long_time, shortened

LONGEST_LINK = 60
"""Characters of a URL that a page shows."""

_CHANGES: Mapping[ChangeKind, str] = {
    "named": "Named {after}",
    "renamed": "Renamed from {before} to {after}",
    "merged": "Merged into {after}",
    "separated": "Separated from {before} again",
    "disqualified": "Disqualified",
    "withdrawn": "Withdrawn",
    "reinstated": "Ranked again",
}


@dataclass(frozen=True, slots=True)
class TeamLink:
    """A link of a team, which is not trusted."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A change in the history of a team."""

    at: datetime | None
    """In UTC."""
    text: Markup
    """A sentence, as HTML."""


@dataclass(frozen=True, slots=True)
class MergedTeamPage:
    """The page of a team whose entries are in the row of another team."""

    team: Team
    into: Team
    has_target: bool
    """Whether the other team has a page."""

    @property
    def path(self) -> str:
        return f"teams/{self.team.slug}.html"

    @property
    def about(self) -> str:
        """The page in one sentence."""
        return f"{self.team.name} is merged into {self.into.name}."

    @property
    def history(self) -> tuple[HistoryLine, ...]:
        return history(self.team)


def merged_pages(boards: Sequence[Board]) -> tuple[MergedTeamPage, ...]:
    """The pages of merged teams, one for each."""
    shown = {row.team.slug for board in boards for row in board.rows}
    pages = {
        merged.team.slug: MergedTeamPage(merged.team, merged.into, merged.into.slug in shown)
        for board in boards
        for merged in board.merged
    }
    return tuple(pages.values())


def merged_into(team: Team, boards: Iterable[Board]) -> tuple[MergedTeam, ...]:
    """The teams whose entries are in the row of this one."""
    teams = {merged.team.slug: merged for board in boards for merged in board.merged if merged.into.slug == team.slug}
    return tuple(teams.values())


def links(team: Team) -> tuple[TeamLink, ...]:
    """The links of a team: code, paper, then the others by their addresses."""
    named = [TeamLink(url, text) for url, text in ((team.code, "Code"), (team.paper, "Paper")) if url]
    others = (TeamLink(url, shortened(url.partition("://")[2].rstrip("/"), LONGEST_LINK)) for url in team.links)
    return (*named, *others)


def decision(team: Team) -> str:
    """Why a team has no rank: ``Disqualified on 8 July 2011, 12:00 UTC: two accounts.``; empty if it may have one."""
    if not team.is_excluded:
        return ""
    when = f" on {long_time(team.since)}" if team.since else ""
    reason = f": {team.reason}" if team.reason else ""
    return f"{team.status.capitalize()}{when}{reason.rstrip('.')}."


def history(team: Team) -> tuple[HistoryLine, ...]:
    """The history of a team, the earliest change first."""
    return tuple(HistoryLine(change.at, _sentence(change)) for change in team.history)


def _sentence(change: TeamChange) -> Markup:
    names = {name: Markup("<bdi>{}</bdi>").format(getattr(change, name)) for name in ("before", "after")}
    text = Markup(_CHANGES[change.kind]).format(**names)  # noqa: S704  one of the texts above
    return text + Markup(": <bdi>{}</bdi>").format(change.reason) if change.reason else text
