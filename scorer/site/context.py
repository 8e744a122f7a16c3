"""What each page has in its context: the names that its template can use, as ``docs/templates.md`` lists them.

The names are the fields of the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from scorer.board.board import PastBoard
from scorer.board.rules import RuleSection
from scorer.challenge.settings import Challenge
from scorer.live.commitment import PublishedCommitment
from scorer.live.errata import PublishedErratum
from scorer.live.log import PublishedLog
from scorer.live.teams import Team
from scorer.live.timeline import Happening, Timeline
from scorer.site.analysis_view import AnalysisRow, AnalysisView
from scorer.site.figures import Figure
from scorer.site.latest import LatestEntry
from scorer.site.measure_page import Definition, KindSection
from scorer.site.own_files import MarkdownPage
from scorer.site.page import Brand, PageContext
from scorer.site.team_decisions import MergedTeamPage
from scorer.site.team_pages import TeamPage, TeamSection
from scorer.site.timeline import Month
from scorer.site.track_pages import ErratumRow, LateEntry, PastRowView
from scorer.site.views import BoardView, RowView
from scorer.site.worked_example import WorkedExample
from scorer.store.log import LogLine


@dataclass(frozen=True)
class EveryPage:
    """On every page."""

    challenge: Challenge
    """The settings."""
    brand: Brand
    boards: tuple[BoardView, ...]
    """The boards, in the order of the navigation."""
    site_pages: tuple[MarkdownPage, ...]
    """The organiser's pages, in the order of the navigation."""
    here: str
    """The path of the page in the site."""
    root: str
    """The relative path from the page to the folder of the site: "" or "../"."""
    about: str
    """What the page shows, in one sentence or two, for search engines and for previews of links."""
    timeline: Timeline
    """What happened in public; empty if nothing did, and then there is no page with it, and no feed."""
    log: PublishedLog
    """The log; empty without an event, and then there is no ``verification.html``, and no ``log.jsonl``."""


@dataclass(frozen=True)
class FrontPage(PageContext, template="index.html"):
    """The front page, ``index.html``."""

    latest: tuple[LatestEntry, ...]
    """The entries received last."""
    dates: tuple[Happening, ...]
    """The dates of all phases, the first one first; what is the same in all tracks once."""


@dataclass(frozen=True)
class BoardPage(PageContext, template="board.html"):
    """The page of a board, ``<track>/index.html``."""

    board: BoardView


@dataclass(frozen=True)
class AnalysisPage(PageContext, template="analysis.html"):
    """The analysis of a track by its primary measure, ``<track>/analysis.html``."""

    board: BoardView
    analysis: AnalysisView
    rows: tuple[tuple[RowView, AnalysisRow], ...]
    """The ranked teams, as on the board and in the analysis."""
    figures: tuple[Figure, ...]
    """Further charts."""


@dataclass(frozen=True)
class ReadingPage(PageContext, template="reading.html"):
    """What tiers, ranges, intervals and p-values of the boards mean, ``reading.html``."""


@dataclass(frozen=True)
class RulesPage(PageContext, template="rules.html"):
    """The rules of a track, ``<track>/rules.html``."""

    board: BoardView
    sections: tuple[RuleSection, ...]


@dataclass(frozen=True)
class LatePage(PageContext, template="late.html"):
    """The late board of a track, ``<track>/late.html``."""

    board: BoardView
    entries: tuple[LateEntry, ...]
    """The best first; none has a rank."""


@dataclass(frozen=True)
class PastPage(PageContext, template="phase.html"):
    """The board of a phase that has closed, ``<track>/phases/<phase>.html``."""

    board: BoardView
    """The present one."""
    past: PastBoard
    """As it was when the phase closed."""
    rows: tuple[PastRowView, ...]
    """Its rows, the best first."""


@dataclass(frozen=True)
class TeamPages(PageContext, template="team.html"):
    """The pages of a team, ``teams/<team>.html``, ``teams/<team>.2.html``, ..."""

    team: Team
    page: TeamPage
    sections: tuple[TeamSection, ...]
    """One for each track with entries on the page."""


@dataclass(frozen=True)
class MergedPage(PageContext, template="merged.html"):
    """The page of a team that is merged into another one, ``teams/<team>.html``."""

    page: MergedTeamPage


@dataclass(frozen=True)
class MeasurePage(PageContext, template="measures.html"):
    """The page of the measures, ``measures.html``."""

    kinds: tuple[KindSection, ...]
    """The kinds of measures on the boards."""
    definitions: tuple[Definition, ...]
    """The words and the symbols that the formulas use."""
    examples: tuple[WorkedExample, ...]
    """One for each track."""


@dataclass(frozen=True)
class TimelinePage(PageContext, template="timeline.html"):
    """What happened in the challenge and what comes next, ``timeline.html``."""

    months: tuple[Month, ...]
    """The latest first."""
    upcoming: tuple[Happening, ...]
    """The next first."""


@dataclass(frozen=True)
class VerificationPage(PageContext, template="verification.html"):
    """What anybody can verify about the challenge, and how, ``verification.html``."""

    head: LogLine
    """The last line of the log."""
    splits: tuple[BoardView, ...]
    """The boards whose preliminary queries a key selects."""
    commitment: PublishedCommitment
    """The commitments, and the public key of receipts."""


@dataclass(frozen=True)
class ErrataPage(PageContext, template="errata.html"):
    """The errata of a track, ``<track>/errata.html``."""

    board: BoardView


@dataclass(frozen=True)
class ErratumPage(PageContext, template="erratum.html"):
    """An erratum, ``<track>/errata/<number>.html``."""

    board: BoardView
    erratum: PublishedErratum
    rows: tuple[ErratumRow, ...]
    """The teams, in the order of the board after the erratum."""


@dataclass(frozen=True)
class OwnPage(PageContext, template="page.html"):
    """A page that the organiser wrote, ``<name>.html``."""

    page: MarkdownPage


@dataclass(frozen=True)
class MissingPage(PageContext, template="404.html"):
    """The page that a server shows for an address without a page, ``404.html``.

    The server shows it at any depth, where relative links lead nowhere. So the page has no relative link, and its style
    sheet is in it.
    """

    style: Markup
    """The style sheet, from ``404.css``."""
    style_digest: str
    """The SHA-256 of `style` in Base64, with which the content policy allows it."""
