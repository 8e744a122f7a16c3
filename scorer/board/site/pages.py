"""The files of a site: the pages, rendered from boards, and the files that they need."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress

from jinja2 import BaseLoader, ChoiceLoader, Environment, PrefixLoader, TemplateNotFound
from markupsafe import Markup

from scorer.board.board import Board, rule_sections
from scorer.board.charts.svg import Cache
from scorer.board.reports.leaderboard import document_json, schema, to_bibtex, to_cff, to_csv, to_json
from scorer.board.site import templates
from scorer.board.site.context import (
    AnalysisPage,
    AnalysisView,
    BoardPage,
    ErrataPage,
    ErratumPage,
    EveryPage,
    FrontPage,
    LatePage,
    MeasurePage,
    MergedPage,
    MissingPage,
    OwnPage,
    PastPage,
    ReadingPage,
    RulesPage,
    TeamPages,
    TimelinePage,
    VerificationPage,
    participants_files,
)
from scorer.board.site.figures import analysis_figures, board_figures
from scorer.board.site.measure_page import definitions, kind_sections, worked_example
from scorer.board.site.team_pages import TeamPage, merged_pages, team_pages
from scorer.board.site.templates import (
    STATIC_FOLDER,
    PageContext,
    TemplateFolder,
    brand_of,
    environment_with,
    has_templates,
    markdown_pages,
    render_template,
    static_files,
)
from scorer.board.site.timeline import FEED, dates, feed, latest_entries, months, of_all_tracks, with_known_links
from scorer.board.site.views import (
    LATE,
    RULES,
    BoardView,
    board_view,
    erratum_rows,
    late_entries,
    measure_columns,
    past_path,
    past_rows,
)
from scorer.errors import ScorerError
from scorer.files import shipped_templates
from scorer.live.commitment import COMMITMENT, OPENING, RECEIPTS
from scorer.live.now import NO_LOG, PublishedLog
from scorer.live.timeline import NO_TIMELINE, Timeline
from scorer.settings.tracks import DARK, FILE, LIGHT, STATIC, Challenge, contrast, softened
from scorer.store.documents import CommitmentDocument
from scorer.store.log import public_pem

ASSETS = ("style.css", "board.js", "left.js", "team.css", "measures.css", "report.css", "analysis.css", "timeline.css")
"""Copied without rendering."""

LOG = "log.jsonl"

SHIPPED = "shipped"
"""The folder that a template names to extend a shipped template which it replaces."""

EXTRA = "extra.css"
"""The organiser's style sheet, which comes after the shipped ones."""

ACCENT = "accent.css"
"""The style sheet that sets the organiser's accent. The content policy allows no inline style."""

BAR_CONTRAST = 4.0
"""Of bars with the paper. WCAG 2.2 requires 3 of graphics (success criterion 1.4.11)."""


Analyses = Mapping[str, Callable[[], AnalysisView] | None]
"""By the names of the tracks, computed when its page is rendered; None: the track has no page with an analysis."""

Publish = Callable[[Mapping[str, str | bytes]], frozenset[str]]
"""Is called with the files so far, once the first page and the boards are rendered: it may publish these before the
others. Returns the paths that must be rendered before; it is called again once these are rendered.
"""


def publish_at_the_end(_: Mapping[str, str | bytes]) -> frozenset[str]:
    """Publish nothing before all is rendered."""
    return frozenset()


def site_files(
    challenge: Challenge,
    boards: Sequence[Board],
    analyses: Analyses | None = None,
    cache: Cache | None = None,
    timeline: Timeline = NO_TIMELINE,
    log: PublishedLog = NO_LOG,
    commitment: CommitmentDocument | None = None,
    publish: Publish = publish_at_the_end,
) -> dict[str, str | bytes]:
    """Return every file of the site by its relative path: the pages, the files for participants, the organiser's files.

    Raises ScorerError as `pages`; and if a list of queries or items cannot be read, a file of the organiser cannot be
    copied, or there is no such logo.
    """
    copied: dict[str, str | bytes] = {**participants_files(challenge, boards), **static_files(challenge.root)}
    logo = challenge.branding.logo
    if logo and f"{STATIC_FOLDER}/{logo}" not in copied:
        raise ScorerError(
            f"{challenge.root / FILE}: site.logo: names {challenge.root / STATIC / logo}, but there is no such file; "
            "create it or correct the path (hidden files and symbolic links are not copied)"
        )

    def with_copied(site: Mapping[str, str | bytes]) -> frozenset[str]:
        return publish({**site, **copied})

    return {**pages(challenge, boards, analyses, cache, timeline, log, commitment, with_copied), **copied}


def pages(
    challenge: Challenge,
    boards: Sequence[Board],
    analyses: Analyses | None = None,
    cache: Cache | None = None,
    timeline: Timeline = NO_TIMELINE,
    log: PublishedLog = NO_LOG,
    commitment: CommitmentDocument | None = None,
    publish: Publish = publish_at_the_end,
) -> dict[str, str]:
    """Render the pages of a site, with their style sheets, scripts and data files, by their relative paths.

    There is one board for each track, in the order of the navigation. The same boards give the same text. The folder
    ``templates`` of the challenge takes precedence over the shipped templates. Raises ScorerError if a template cannot
    be read or rendered, or if a text in Markdown has a link that pages cannot have.
    """
    shipped = TemplateFolder(shipped_templates())
    folder = challenge.root / "templates"
    loader = ChoiceLoader([PrefixLoader({SHIPPED: shipped}), TemplateFolder(folder), shipped])
    environment = environment_with(loader, own=has_templates(folder))
    _check_markdown(challenge)
    columns = measure_columns(boards)
    of_tracks = [(analyses or {}).get(board.track.name) for board in boards]
    views = tuple(
        board_view(board, columns, board_figures(board, cache), has_analysis=analysis is not None)
        for board, analysis in zip(boards, of_tracks, strict=True)
    )
    own = markdown_pages(challenge.root)
    sheets = _style_sheets(challenge, loader)
    brand = brand_of(challenge, tuple(sheets))
    site = {asset: _source(loader, asset) for asset in ASSETS} | sheets

    def add(path: str, about: str, page: PageContext) -> None:
        every = EveryPage(challenge, brand, views, own, path, "../" * path.count("/"), about, timeline, log)
        site[path] = render_template(environment, page.template, vars(every) | vars(page))

    about = templates.to_text(challenge.description)
    add("index.html", about, FrontPage(latest_entries(views), dates(timeline, len(views))))
    for view in views:
        add(f"{view.track.name}/index.html", templates.to_text(view.track.description), BoardPage(view))
    teams = _published(views, site, add, publish)
    kinds = kind_sections(columns)
    examples = tuple(worked_example(track) for track in challenge.tracks)
    symbols = definitions(section.kind for section in kinds)
    about_measures = "How the scores on the boards are computed: symbols, formulas, edge cases and a worked example."
    add("measures.html", about_measures, MeasurePage(kinds, symbols, examples))
    add("reading.html", "What the tiers, ranges, intervals and p-values of the boards mean.", ReadingPage())
    for view, analysis in zip(views, of_tracks, strict=True):
        site |= _track_data(challenge, view.board, log)
        for path, text, page_of_track in _track_pages(view, challenge, cache, analysis):
            add(path, text, page_of_track)
    for page in teams:  # after the analyses, which take the most memory: there may be many pages
        _add_team(page, add)
    site["leaderboard-schema.json"] = schema()
    site |= _commitment_files(commitment)
    for merged in merged_pages(boards):
        add(merged.path, merged.about, MergedPage(merged))
    for path, text, page_of_timeline in _timeline_pages(timeline, views, site):
        add(path, text, page_of_timeline)
    site |= _record_files(challenge, timeline, log, site)
    if log.head is not None:
        splits = tuple(view for view in views if view.board.split is not None)
        about_log = f"What anybody can verify about {challenge.name}, with which files and commands."
        add("verification.html", about_log, VerificationPage(log.head, splits, commitment))
    for own_page in own:
        add(own_page.path, templates.to_text(own_page.text), OwnPage(own_page))
    style = sheets.get(ACCENT, "") + _source(loader, "404.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    add("404.html", about, MissingPage(Markup(style), digest))  # noqa: S704  a file of the organiser or ours
    return site


def _published(
    views: Sequence[BoardView], site: Mapping[str, str], add: Callable[[str, str, PageContext], None], publish: Publish
) -> Iterator[TeamPage]:
    """Publish the boards, first adding the pages of teams that they need; return the pages of the other teams."""
    missing = publish(site)
    teams = team_pages(views, missing)
    while missing and (page := next(teams, None)) is not None:
        _add_team(page, add)
        if missing <= site.keys():
            missing = publish(site)
    return teams


def _add_team(page: TeamPage, add: Callable[[str, str, PageContext], None]) -> None:
    add(page.path, page.about, TeamPages(page.team, page, page.sections))


def _track_pages(
    view: BoardView, challenge: Challenge, cache: Cache | None, analysis: Callable[[], AnalysisView] | None
) -> Iterator[tuple[str, str, PageContext]]:
    """The pages about a track but its board: path, description and context."""
    folder, title = view.track.name, view.track.title
    if analysis is not None:
        about = "How certain the ranking is: intervals, tests of all pairs, stability, and other ranking rules."
        found, of_team = analysis(), {row.row.team.name: row for row in view.rows}
        rows = tuple((of_team[row.team], row) for row in found.rows)
        yield f"{folder}/analysis.html", about, AnalysisPage(view, found, rows, analysis_figures(view.board, cache))
    about = f"All rules of {title}: scores, times, the number of entries, which entry counts, teams, and files."
    yield f"{folder}/{RULES}", about, RulesPage(view, rule_sections(view.board, challenge.limits))
    if view.board.late:
        about = f"Entries of {title} that were received before the first phase or after the end of one. "
        about += "They have no rank."
        yield f"{folder}/{LATE}", about, LatePage(view, late_entries(view.board))
    for past in view.board.past:
        about = f"The board of {title} as it was when the phase {past.phase.name} closed."
        yield past_path(view.board, past.phase), about, PastPage(view, past, past_rows(view.board, past))


def _track_data(challenge: Challenge, board: Board, log: PublishedLog) -> dict[str, str]:
    """The files of a track for programs."""
    folder = board.track.name
    files = {
        f"{folder}/leaderboard.csv": to_csv(board),
        f"{folder}/leaderboard.json": to_json(board, log.head),
        f"{folder}/citation.bib": to_bibtex(challenge, board),
        f"{folder}/citation.cff": to_cff(challenge, board),
    }
    return files if board.split is None else {**files, f"{folder}/split.json": document_json(board.split)}


def _commitment_files(commitment: CommitmentDocument | None) -> dict[str, str]:
    """The commitments, the opening of the last one once it is revealed, and the public key of receipts."""
    if commitment is None:
        return {}
    files = {RECEIPTS: public_pem(bytes.fromhex(commitment.receipts))}
    if commitment.commitments:
        files[COMMITMENT] = document_json(commitment)
    if commitment.revealed:
        files[OPENING] = commitment.opening
    return files


def _record_files(challenge: Challenge, timeline: Timeline, log: PublishedLog, paths: Container[str]) -> dict[str, str]:
    """The feed, which links to the pages of `paths`, and the log."""
    files = {}
    if timeline.happenings:
        files[FEED] = feed(challenge, with_known_links(timeline, paths).happenings, log)
    if log.head is not None:
        files[LOG] = "".join(f"{line.text}\n" for line in log.lines)
    return files


def _timeline_pages(
    timeline: Timeline, views: Sequence[BoardView], paths: Container[str]
) -> Iterator[tuple[str, str, PageContext]]:
    """The pages of errata and of the timeline, which link to those of `paths`: path, description and context."""
    for view in views:
        errata = timeline.errata.get(view.track.name, ())
        if errata:
            yield f"{view.track.name}/errata.html", f"The errata of {view.track.title}.", ErrataPage(view)
        for erratum in errata:
            yield erratum.path, erratum.changes.summary, ErratumPage(view, erratum, erratum_rows(erratum, paths))
    if timeline.happenings:
        linked = with_known_links(timeline, paths)
        about = "What happened: phases, extensions, errata and decisions about teams; and the dates to come."
        past, next_dates = (of_all_tracks(each, len(views)) for each in (linked.happenings, linked.upcoming))
        yield "timeline.html", about, TimelinePage(months(past), next_dates)


def _check_markdown(challenge: Challenge) -> None:
    """Check the links in the texts of challenge.toml. Raises ScorerError with the key."""
    texts = {"description": challenge.description, "site.footer": challenge.branding.footer}
    texts |= {f"tracks.{track.name}.description": track.description for track in challenge.tracks}
    for key, text in texts.items():
        templates.check(text, f"{challenge.root / FILE}: {key}")


def _source(loader: BaseLoader, name: str) -> str:
    """The text of a file of the templates, which is not rendered."""
    return loader.get_source(Environment(autoescape=True), name)[0]


def _style_sheets(challenge: Challenge, loader: BaseLoader) -> dict[str, str]:
    """The style sheets that the organiser adds, in their order on the pages."""
    sheets = {}
    if challenge.branding.accents:
        sheets[ACCENT] = _accent_sheet(*challenge.branding.accents)
    with suppress(TemplateNotFound):  # none is shipped
        sheets[EXTRA] = _source(loader, EXTRA)
    return sheets


def _accent_sheet(light: str, dark: str) -> str:
    """The style sheet that sets the accent, and softer tones for bars and for marked rows, as bright as shipped."""
    rules = (
        f":root {{ --accent: {accent}; --bar: {softened(accent, paper, BAR_CONTRAST)}; "
        f"--mark: {softened(accent, paper, contrast(mark, paper))}; }}"
        for accent, (paper, _, mark) in ((light, LIGHT), (dark, DARK))
    )
    return "@media screen {{ {} }}\n@media screen and (prefers-color-scheme: dark) {{ {} }}\n".format(*rules)
