"""The files of a site: the pages, rendered from boards, and the files that they need."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from jinja2 import Environment, TemplateNotFound
from markupsafe import Markup

from scorer.board.board import Board, checked_rules, counting_rule, rules
from scorer.board.charts.panel import Axis, ChartCache
from scorer.board.overall import OverallBoard, overall_csv, overall_json
from scorer.board.reports.leaderboard import (
    document_json,
    schema,
    slices_csv,
    slices_json,
    to_bibtex,
    to_cff,
    to_csv,
    to_json,
)
from scorer.board.site import captions, templates, track_pages
from scorer.board.site.analysis_page import Values, analysis_page
from scorer.board.site.figures import board_figures
from scorer.board.site.folder import FRONT_PAGE, KeptPages
from scorer.board.site.measure_page import measure_page
from scorer.board.site.preview import PREVIEW, preview
from scorer.board.site.templates import (
    STATIC_FOLDER,
    Navigation,
    Page,
    Sandbox,
    environment_of,
    markdown_pages,
    render_page,
    source,
    state_of,
    static_files,
)
from scorer.board.site.timeline import FEED, feed, front_page, timeline_page, with_known_links, with_news, xml
from scorer.board.site.track_pages import board_page, compare_pages, errata_pages, rules_and_past_pages, track_links
from scorer.board.site.views import BoardView, board_view, measure_columns
from scorer.errors import ScorerError
from scorer.files import code_digest
from scorer.limits import ATTEMPTS
from scorer.lists.conversion import convert
from scorer.lists.solution import excluded_pairs, read_ids
from scorer.live.commitment import COMMITMENT, OPENING, RECEIPTS
from scorer.live.entry import STATE_WORDS
from scorer.live.now import NO_LOG, PublishedLog
from scorer.live.timeline import NO_TIMELINE, Timeline
from scorer.options import RESAMPLES, SEED
from scorer.record.log import LOG, LOG_TEXTS
from scorer.record.signatures import public_pem
from scorer.rules.overall import OVERALL_FOLDER
from scorer.rules.phases import with_grace
from scorer.rules.quota import left_in_words, next_reset, zone_text
from scorer.scoring.statistics.judges import LEAST_CHECKED
from scorer.scoring.statistics.units import LEAST_UNITS
from scorer.settings.published import published_settings
from scorer.settings.tracks import DARK, FILE, LIGHT, LISTS, STATIC, Challenge, Track, contrast, public_lists, softened
from scorer.store.documents import CommitmentDocument
from scorer.wording import joined, ordinal, sentence, shared_ranks, shortened

SITE_ASSETS = (
    *("style.css", "team.css", "measures.css", "report.css", "analysis.css", "timeline.css"),
    *("board.js", "compare.js", "left.js", "own.js", "rows.js", "sort.js"),
)
"""Copied without rendering."""


ARCHIVE = "challenge-archive.zip"
PLACE = f"{STATIC_FOLDER}/{ARCHIVE}"
"""Where the site has the public archive: an organiser writes it into the folder of files that a render copies."""

KIT, SAMPLE = "kit.zip", "sample.txt"

MOST_OF_SAMPLE, MOST_OF_KIT = 20_000, 10_000_000
"""How many items the lists of a sample have together, and how large the files of the kit may be, for a fast render."""

EXTRA = "extra.css"
"""The organiser's style sheet, which comes after the shipped ones."""

_ACCENT = "accent.css"
"""The style sheet that sets the organiser's accent. The content policy allows no inline style."""

BAR_CONTRAST = 4.0
"""Of bars with the paper. WCAG 2.2 requires 3 of graphics (success criterion 1.4.11)."""


def minus(number: float | None, other: float | None) -> float | None:
    """A number minus another one; None where either is missing."""
    return None if number is None or other is None else number - other


FUNCTIONS: Mapping[str, Callable[..., object]] = {
    each.__name__: each
    for each in (
        captions.separable_in_tiers,
        captions.board_queries,
        captions.counted_in_words,
        captions.counts,
        captions.leading,
        captions.next_to_separate,
        captions.ranked_positions,
        captions.significant,
        captions.status_words,
        captions.table_caption,
        captions.track_status,
        captions.without_scores,
        captions.words_of,
        checked_rules,
        counting_rule,
        joined,
        left_in_words,
        minus,
        track_pages.decile_rows,
        track_pages.distribution,
        track_pages.neighbours,
        track_pages.p_text,
        track_pages.query_axis,
        track_pages.query_rows,
        next_reset,
        ordinal,
        Axis.percent,
        rules,
        sentence,
        shared_ranks,
        shortened,
        track_pages.other_marks,
        track_pages.over_time,
        track_links,
        with_grace,
        xml,
        zone_text,
    )
}
"""What the templates of pages apply to boards, rows and teams, as a filter."""

CONSTANTS: Mapping[str, object] = {
    "attempts": ATTEMPTS,
    "least_clusters": LEAST_UNITS,
    "least_checked": LEAST_CHECKED,
    "resamples": RESAMPLES,
    "seed": SEED,
    "state_words": STATE_WORDS,
}
"""Constants that templates show."""


@dataclass(frozen=True)
class SiteContent:
    """What a site is rendered from."""

    challenge: Challenge
    boards: Sequence[Board]
    """One for each track, in the order of the navigation."""
    analyses: Mapping[str, Callable[[], Values] | None] = field(default_factory=dict)
    """By the names of the tracks, computed when its page is rendered; None: the track has no page with an analysis."""
    cache: ChartCache | None = None
    """Has the pictures that were drawn before."""
    timeline: Timeline = NO_TIMELINE
    log: PublishedLog = NO_LOG
    commitment: CommitmentDocument | None = None
    files: Set[str] = frozenset()
    """The paths of the files that the site has next to its pages."""
    archived: int | None = None
    """How many events the public archive has; None without one."""
    overall: OverallBoard | None = None
    """The ranking over several tracks; None without one."""
    kept: KeptPages | None = None
    """Pages of the last render, which are not rendered again if they would be the same; None: all are rendered."""
    failed: dict[str, str] | None = None
    """Why a page was not rendered, by its path, or by the folder of all that could not be; None: an error is raised."""

    @cached_property
    def views(self) -> tuple[BoardView, ...]:
        """The view of each board, with its charts."""
        columns, views = measure_columns(self.boards), []
        for board in self.boards:
            with self.rendering(board.track.name):
                has_analysis, figures = bool(self.analyses.get(board.track.name)), board_figures(board, self.cache)
                views.append(board_view(board, columns, figures, has_analysis=has_analysis))
        return tuple(views)

    @contextmanager
    def rendering(self, path: str) -> Iterator[None]:
        """Let an error stop only the page with this path, or what is missing of the folder."""
        try:
            yield
        except Exception as error:
            if self.failed is None:
                raise
            self.failed[path] = str(error) if isinstance(error, ScorerError) else f"{type(error).__name__}: {error}"

    def each(self, folder: str, made: Iterable[Page]) -> Iterator[Page]:
        """Pages of a folder, as they are made."""
        with self.rendering(folder):
            yield from made


Publish = Callable[[Mapping[str, str | bytes]], frozenset[str]]
"""Is called with the files so far, once the first page and the boards are rendered: it may publish these before the
others. Returns the paths that must be rendered before; it is called again once these are rendered.
"""


def publish_at_the_end(_: Mapping[str, str | bytes]) -> frozenset[str]:
    """Publish nothing before all is rendered."""
    return frozenset()


def site_files(content: SiteContent, publish: Publish = publish_at_the_end) -> dict[str, str | bytes]:
    """Return every file of the site by its relative path: the pages, the files for participants, the organiser's files.

    Raises ScorerError as `pages`; and if a list of queries or items cannot be read, a file of the organiser cannot be
    copied, or there is no such logo.
    """
    challenge = content.challenge
    files = participants_files(challenge, content.boards)
    copied: dict[str, str | bytes] = {**files, **kit(files), **static_files(challenge.root)}
    # Addresses of previews are absolute.
    previews = [f"{board.track.name}/{PREVIEW}" for board in content.boards if challenge.branding.url]
    archived = _events_of(copied.get(PLACE))
    content = replace(content, files=frozenset({*copied, *previews}), archived=archived)
    logo = challenge.branding.logo
    if logo and f"{STATIC_FOLDER}/{logo}" not in copied:
        raise ScorerError(
            f"{challenge.root / FILE}: site.logo: names {challenge.root / STATIC / logo}, but there is no such file; "
            "create it or correct the path (hidden files and symbolic links are not copied)"
        )
    site = pages(content, lambda site: publish({**site, **copied}))
    cache = {} if content.cache is None else content.cache
    for view in content.views if previews else ():
        with content.rendering(path := f"{view.board.track.name}/{PREVIEW}"):
            copied[path] = preview(challenge, view, cache)
    return {**site, **copied}


def _events_of(archive: str | bytes | None) -> int | None:
    """How many events a public archive has; None if it is none."""
    if not isinstance(archive, bytes):
        return None
    with suppress(BadZipFile, LookupError, ValueError, TypeError), ZipFile(BytesIO(archive)) as opened:
        return int(json.loads(opened.read("manifest.json"))["events"])
    return None


def participants_files(challenge: Challenge, boards: Sequence[Board]) -> dict[str, str]:
    """The files by their paths on the site. Raises SolutionError if a list cannot be read."""
    files = {FILE: published_settings(challenge, [board.track for board in boards])}
    for board in boards:
        track, folder, lists = board.track, board.track.name, dict[str, Sequence[str]]()
        for key, path in public_lists(track).items():
            if key == "exclude":
                pairs = zip(*(ids.to_pylist() for ids in excluded_pairs(path)), strict=True)
                lists[key] = [json.dumps({"query": query, "items": [item]}) for query, item in pairs]
            else:
                lists[key] = read_ids(path).to_pylist()
            files[f"{folder}/{LISTS[key]}"] = "".join(f"{line}\n" for line in lists[key])
        if sample := _sample(track, lists.get("queries", ()), lists.get("items", ())):
            files[f"{folder}/{SAMPLE}"] = sample
    return files


def _sample(track: Track, queries: Sequence[str], items: Sequence[str]) -> str:
    """A valid submission, with made-up items without candidates; empty if the format of the track is no text."""
    written = BytesIO()
    if 0 < len(queries) <= MOST_OF_SAMPLE:
        length = min(track.list_length, MOST_OF_SAMPLE // len(queries))
        first = items[: length + 1] or [f"item-{number}" for number in range(1, length + 1)]
        lists = {query: [item for item in first if item != query][:length] for query in queries}
        with suppress(ScorerError, UnicodeDecodeError):
            convert(lists, written, kind="submission", target_format=track.submission_format or "vlnet")
            return written.getvalue().decode()
    return ""


def kit(files: Mapping[str, str]) -> dict[str, bytes]:
    """The files for participants as an archive; none if they are too large."""
    return {} if sum(map(len, files.values())) > MOST_OF_KIT else {KIT: archived(files)}


def archived(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of files, whose bytes depend on nothing else."""
    written = BytesIO()
    with ZipFile(written, "w") as archive:
        for path in sorted(files):
            member = ZipInfo(path)  # of 1 January 1980
            member.create_system, member.external_attr = 3, 0o644 << 16
            archive.writestr(member, files[path], ZIP_DEFLATED, 1)
    return written.getvalue()


def page_environment(own: Path | None) -> Environment:
    """The environment of the pages of a site; the folder `own` is as for `environment_of`."""
    environment = environment_of(own)
    environment.filters |= FUNCTIONS
    environment.globals |= CONSTANTS
    return environment


def pages(content: SiteContent, publish: Publish = publish_at_the_end) -> dict[str, str]:
    """Render the pages of a site, with their style sheets, scripts and data files, by their relative paths.

    The same boards give the same text. The folder ``templates`` of the challenge takes precedence over the shipped
    templates. Raises ScorerError if a template cannot be read or rendered, or if a text in Markdown has a link that
    pages cannot have.
    """
    challenge, timeline, log = content.challenge, content.timeline, content.log
    environment = page_environment(challenge.root / "templates")
    _check_markdown(challenge)
    columns, views = measure_columns(content.boards), content.views
    # The heads count each arrival. While these are hidden, only the log and the page about it have heads.
    counting = NO_LOG if any("board" in board.track.hidden for board in content.boards) else log
    environment.globals |= {"boards": views, "timeline": timeline, "log": log, "downloads": content.files}
    environment.globals["overall"] = content.overall
    sheets = _style_sheets(challenge, environment)
    own = markdown_pages(challenge.root)
    navigation = Navigation(
        challenge=challenge,
        tracks=[board.track for board in content.boards],
        style_sheets=tuple(sheets),
        site_pages=own,
        has_timeline=bool(timeline.happenings),
        has_log=bool(log.lines),
    )
    rendered = _renderer(content, environment, navigation)
    site = {asset: source(environment, asset) for asset in SITE_ASSETS} | sheets

    def add(folder: str, made: Iterable[Page]) -> None:
        for page in content.each(folder, made):
            with content.rendering(page.path):
                site[page.path] = rendered(page)

    with content.rendering(FRONT_PAGE):
        add("", [front_page(challenge, timeline, views)])
    for view in views:
        add(view.board.track.name, map(board_page, [view]))
    add(OVERALL_FOLDER, _overall_page(content.overall))
    missing = publish(site)
    compared = (content.each(view.board.track.name, compare_pages(view)) for view in views)
    teams = chain(*compared, content.each("teams", track_pages.team_pages(views, missing, timeline, log)))
    while missing and (page := next(teams, None)) is not None:
        add("teams", [page])
        if missing <= site.keys():
            missing = publish(site)
    corrected = any(view.board.track.checked for view in views)
    add("", [measure_page(challenge.tracks, columns, corrected=corrected), READING])
    for view in views:
        with content.rendering(view.board.track.name):
            site |= track_data(challenge, view.board, counting)
        add(view.board.track.name, _track_pages(content, view))
    add("teams", teams)  # after the analyses, which take the most memory: there may be many pages
    add("teams", track_pages.merged_pages(content.boards))
    if content.overall is not None:
        site |= {f"{OVERALL_FOLDER}/leaderboard.csv": overall_csv(content.overall)}
        site |= {f"{OVERALL_FOLDER}/leaderboard.json": overall_json(content.overall, counting.head)}
    site |= {"leaderboard-schema.json": schema(), **commitment_files(content.commitment)}
    for view in views:
        add(view.board.track.name, errata_pages(view, timeline.errata.get(view.board.track.name, ()), site))
    if timeline.happenings:
        add("", [timeline_page(timeline, len(views), site)])
        with content.rendering(FEED):
            known = with_known_links(with_news(timeline, views), site)
            site[FEED] = feed(environment, challenge, known.happenings, counting)
    site |= {LOG: "\n".join([*(line.text for line in log.lines), ""])} if log.head is not None else {}
    site |= {LOG_TEXTS: "\n".join([*log.texts, ""])} if log.texts else {}
    add("", _further_pages(content, own, sheets.get(_ACCENT, "") + source(environment, "404.css")))
    return site


def _renderer(content: SiteContent, environment: Environment, navigation: Navigation) -> Callable[[Page], str]:
    """What renders a page; one with the state that it had in the last render is read from the folder of the site.

    A template of the organiser can use more than what the state of a page is made from, so all are rendered then.
    """
    kept = None if isinstance(environment, Sandbox) else content.kept
    if kept is None:
        return partial(render_page, environment, navigation)
    of_all = state_of([code_digest(), navigation, content.files])

    def rendered(page: Page) -> str:
        render = partial(render_page, environment, navigation, page)
        return kept.text(page.path, state_of([of_all, page.state]), render) if page.state else render()

    return rendered


def _track_pages(content: SiteContent, view: BoardView) -> Iterator[Page]:
    analysis = content.analyses.get(view.board.track.name)
    if analysis is not None:
        yield analysis_page(view, analysis(), content.cache)
    yield from rules_and_past_pages(view, content.challenge)


def _overall_page(board: OverallBoard | None) -> Iterator[Page]:
    if board is not None:
        about = f"The ranking of the teams over the tracks {joined([each.track.title for each in board.boards])}."
        yield Page(f"{OVERALL_FOLDER}/index.html", "overall.html", about, {"board": board})


READING = Page("reading.html", "reading.html", "What the tiers, ranges, intervals and p-values of the boards mean.")


def _further_pages(content: SiteContent, own: Sequence[templates.MarkdownPage], style: str) -> Iterator[Page]:
    """What anybody can verify, the pages that the organiser wrote, and the page for an address without a page.

    A server shows the last one at any depth, where relative links lead nowhere. So it has no relative link, and its
    style sheet is in it; the content policy allows the sheet with this digest.
    """
    challenge = content.challenge
    if content.log.head is not None:
        about = f"What anybody can verify about {challenge.name}, with which files and commands."
        verified = {"head": content.log.head, "commitment": content.commitment, "archived": content.archived}
        yield Page("verification.html", "verification.html", about, verified)
    for page in own:
        yield Page(page.path, "page.html", templates.to_text(page.text), {"page": page})
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    values = {"style": Markup(style), "style_digest": digest}  # noqa: S704  a file of the organiser or ours
    yield Page("404.html", "404.html", templates.to_text(challenge.description), values)


def track_data(challenge: Challenge, board: Board, log: PublishedLog) -> dict[str, str]:
    """The files of a track for programs."""
    folder = board.track.name
    files = {
        f"{folder}/leaderboard.csv": to_csv(board),
        f"{folder}/leaderboard.json": to_json(board, log.head),
        f"{folder}/citation.bib": to_bibtex(challenge, board),
        f"{folder}/citation.cff": to_cff(challenge, board),
    }
    if board.slices:
        files |= {f"{folder}/slices.csv": slices_csv(board), f"{folder}/slices.json": slices_json(board)}
    return files if board.split is None else {**files, f"{folder}/split.json": document_json(board.split)}


def commitment_files(commitment: CommitmentDocument | None) -> dict[str, str]:
    """The commitments, the opening of the last one once it is revealed, and the public key of receipts."""
    if commitment is None:
        return {}
    files = {RECEIPTS: public_pem(bytes.fromhex(commitment.receipts))}
    if commitment.commitments:
        files[COMMITMENT] = document_json(commitment)
    if commitment.revealed:
        files[OPENING] = commitment.opening
    return files


def _check_markdown(challenge: Challenge) -> None:
    """Check the links in the texts of challenge.toml. Raises ScorerError with the key."""
    texts = {"description": challenge.description, "site.footer": challenge.branding.footer}
    texts |= {f"tracks.{track.name}.description": track.description for track in challenge.tracks}
    for key, text in texts.items():
        templates.check_text(text, f"{challenge.root / FILE}: {key}")


def _style_sheets(challenge: Challenge, environment: Environment) -> dict[str, str]:
    """The style sheets that the organiser adds, in their order on the pages."""
    sheets = {}
    if challenge.branding.accents:
        sheets[_ACCENT] = _accent_sheet(*challenge.branding.accents)
    with suppress(TemplateNotFound):  # none is shipped
        sheets[EXTRA] = source(environment, EXTRA)
    return sheets


def _accent_sheet(light: str, dark: str) -> str:
    """The style sheet that sets the accent, and softer tones for bars and for marked rows, as bright as shipped."""
    rules = (
        f":root {{ --accent: {accent}; --bar: {softened(accent, paper, BAR_CONTRAST)}; "
        f"--mark: {softened(accent, paper, contrast(mark, paper))}; }}"
        for accent, (paper, _, mark) in ((light, LIGHT), (dark, DARK))
    )
    return "@media screen {{ {} }}\n@media screen and (prefers-color-scheme: dark) {{ {} }}\n".format(*rules)
