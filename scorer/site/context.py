"""What each page has in its context: the names that its template can use, as ``docs/templates.md`` lists them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from markupsafe import Markup

from scorer.board.board import PastBoard
from scorer.board.rules import RuleSection
from scorer.challenge.branding import Link
from scorer.challenge.settings import Challenge
from scorer.live.commitment import PublishedCommitment
from scorer.live.errata import PublishedErratum
from scorer.live.log import PublishedLog
from scorer.live.teams import Team
from scorer.live.timeline import Happening, Timeline
from scorer.site.errata import ErratumRow
from scorer.site.figures import Figure
from scorer.site.latest import LatestEntry
from scorer.site.markdown_pages import MarkdownPage
from scorer.site.measure_page import Definition, KindSection
from scorer.site.task_view import TaskView
from scorer.site.team_decisions import MergedTeamPage
from scorer.site.team_pages import TeamPage, TeamSection
from scorer.site.timeline import Month
from scorer.site.track_pages import LateEntry, PastRowView
from scorer.site.views import BoardView
from scorer.site.worked_example import WorkedExample
from scorer.store.log import LogLine


@dataclass(frozen=True, slots=True)
class Brand:
    """What the organiser adds to every page."""

    url: str
    """The address of the published site, which ends with a slash; empty if it is not set."""
    logo: str
    """The path of the logo in the site; empty without one."""
    footer: str
    """Markdown; the filter `markdown` makes HTML of it."""
    links: tuple[Link, ...]
    """The links of the footer, each with `title` and `url`."""
    style_sheets: tuple[str, ...]
    """The paths of further style sheets, which come after those of the page."""


class Context:
    """Names that a template can use: the fields of the dataclasses below."""

    def names(self) -> dict[str, object]:
        """Return each name with its value."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class EveryPage(Context):
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


class PageContext(Context):
    """What one page has, in addition to `EveryPage`."""

    template: ClassVar[str]
    """The name of its template."""


@dataclass(frozen=True, slots=True)
class FrontPage(PageContext):
    """The front page, ``index.html``."""

    template: ClassVar[str] = "index.html"

    latest: tuple[LatestEntry, ...]
    """The entries received last."""


@dataclass(frozen=True, slots=True)
class BoardPage(PageContext):
    """The page of a board, ``<track>/index.html``."""

    template: ClassVar[str] = "board.html"

    board: BoardView


@dataclass(frozen=True, slots=True)
class AnalysisPage(PageContext):
    """The analysis of a track by its primary measure, ``<track>/analysis.html``."""

    template: ClassVar[str] = "analysis.html"

    board: BoardView
    task: TaskView
    """The sections of the analysis."""
    figures: tuple[Figure, ...]
    """Further charts."""


@dataclass(frozen=True, slots=True)
class RulesPage(PageContext):
    """The rules of a track, ``<track>/rules.html``."""

    template: ClassVar[str] = "rules.html"

    board: BoardView
    sections: tuple[RuleSection, ...]


@dataclass(frozen=True, slots=True)
class LatePage(PageContext):
    """The late board of a track, ``<track>/late.html``."""

    template: ClassVar[str] = "late.html"

    board: BoardView
    entries: tuple[LateEntry, ...]
    """The best first; none has a rank."""


@dataclass(frozen=True, slots=True)
class PastPage(PageContext):
    """The board of a phase that has closed, ``<track>/phases/<phase>.html``."""

    template: ClassVar[str] = "phase.html"

    board: BoardView
    """The present one."""
    past: PastBoard
    """As it was when the phase closed."""
    rows: tuple[PastRowView, ...]
    """Its rows, the best first."""


@dataclass(frozen=True, slots=True)
class TeamPages(PageContext):
    """The pages of a team, ``teams/<team>.html``, ``teams/<team>.2.html``, ..."""

    template: ClassVar[str] = "team.html"

    team: Team
    page: TeamPage
    sections: tuple[TeamSection, ...]
    """One for each track with entries on the page."""


@dataclass(frozen=True, slots=True)
class MergedPage(PageContext):
    """The page of a team that is merged into another one, ``teams/<team>.html``."""

    template: ClassVar[str] = "merged.html"

    page: MergedTeamPage


@dataclass(frozen=True, slots=True)
class MeasurePage(PageContext):
    """The page of the measures, ``measures.html``."""

    template: ClassVar[str] = "measures.html"

    kinds: tuple[KindSection, ...]
    """The kinds of measures on the boards."""
    definitions: tuple[Definition, ...]
    """The words and the symbols that the formulas use."""
    examples: tuple[WorkedExample, ...]
    """One for each track."""


@dataclass(frozen=True, slots=True)
class TimelinePage(PageContext):
    """What happened in the challenge and what comes next, ``timeline.html``."""

    template: ClassVar[str] = "timeline.html"

    months: tuple[Month, ...]
    """The latest first."""
    upcoming: tuple[Happening, ...]
    """The next first."""


@dataclass(frozen=True, slots=True)
class VerificationPage(PageContext):
    """What anybody can verify about the challenge, and how, ``verification.html``."""

    template: ClassVar[str] = "verification.html"

    head: LogLine
    """The last line of the log."""
    splits: tuple[BoardView, ...]
    """The boards whose preliminary queries a key selects."""
    commitment: PublishedCommitment
    """The commitments, and the public key of receipts."""


@dataclass(frozen=True, slots=True)
class ErrataPage(PageContext):
    """The errata of a track, ``<track>/errata.html``."""

    template: ClassVar[str] = "errata.html"

    board: BoardView


@dataclass(frozen=True, slots=True)
class ErratumPage(PageContext):
    """An erratum, ``<track>/errata/<number>.html``."""

    template: ClassVar[str] = "erratum.html"

    board: BoardView
    erratum: PublishedErratum
    rows: tuple[ErratumRow, ...]
    """The teams, in the order of the board after the erratum."""


@dataclass(frozen=True, slots=True)
class OwnPage(PageContext):
    """A page that the organiser wrote, ``<name>.html``."""

    template: ClassVar[str] = "page.html"

    page: MarkdownPage


@dataclass(frozen=True, slots=True)
class MissingPage(PageContext):
    """The page that a server shows for an address without a page, ``404.html``.

    The server shows it at any depth, where relative links lead nowhere. So the page has no relative link, and its style
    sheet is in it.
    """

    template: ClassVar[str] = "404.html"

    style: Markup
    """The style sheet, from ``404.css``."""
    style_digest: str
    """The SHA-256 of `style` in Base64, with which the content policy allows it."""
