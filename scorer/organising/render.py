"""Rendering: the boards of a challenge as visitors may see them, the analyses of its tracks, and the site of one
snapshot.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from scorer.board.board import Board, PastBoard, PastRow, Row
from scorer.board.build import board as built_board
from scorer.board.build import with_changes, with_slices
from scorer.board.overall import overall_board
from scorer.board.reports.leaderboard import Listed
from scorer.board.site.analysis_page import Values, analysis_values
from scorer.board.site.folder import FRONT_PAGE, KeptPages, listed_files, write, write_first
from scorer.board.site.pages import SiteContent, site_files
from scorer.board.statistics import ScoredRows
from scorer.errors import MeasureError, ScorerError, StoreError, os_errors_as
from scorer.files import code_digest
from scorer.live.commitment import published_commitment
from scorer.live.entries import entries
from scorer.live.entry import rounded
from scorer.live.names import as_public
from scorer.live.now import Now, published_log
from scorer.live.rules import recorded_settings
from scorer.live.timeline import timeline
from scorer.measures import Measure
from scorer.options import Split
from scorer.organising.doctor import check_published, published_check
from scorer.organising.files import check_is_private
from scorer.organising.phases import check_preliminary
from scorer.organising.run import SHOWN, Rendered, note_shown, site_notes, site_state
from scorer.record.events import ArrivalBody, bodies
from scorer.record.log import RESOLUTION
from scorer.rules.phases import Phase
from scorer.scoring.analysis.compare import need_mean
from scorer.scoring.analysis.kept import Task, TaskWords, number_of
from scorer.scoring.outcomes import aggregated, split_masks
from scorer.scoring.statistics.units import units_within
from scorer.settings.tracks import Challenge, Track
from scorer.store.sidecar import Sidecar
from scorer.store.snapshot import Cache, Snapshot, cache_key
from scorer.store.store import Store
from scorer.wording import counted, quoted, suggestion

_PAST_BOARD = TypeAdapter(PastBoard)


def boards(
    view: Snapshot, tracks: Sequence[Track], cache: Cache | None = None, *, pending: bool = False
) -> list[Board]:
    """The boards of some tracks; without a cache, which is of the same snapshot, they have no statistics.

    If a track has no results by its current settings, its entries wait (`pending`), or StoreError says what to do.
    """
    made = []
    for declared in tracks:
        now = Now.of(view, declared)
        recorded, basis = now.public.recorded, now.public.basis
        if recorded is not None and basis is not None:
            check_preliminary(declared, basis, view.queries(basis.solution))
            if not recorded.basis.has_rules_of(basis) and not pending:
                raise StoreError(
                    f"{declared.name}: its settings have changed since it was scored, and it has no scores by the new "
                    "settings yet; `scorer run` computes them"
                )
        # The times of the phases are public during a freeze, too.
        shown = built_board(now.public, cache)
        shown = replace(shown, phases=now.phases, frozen_since=now.frozen_since, now=view.now)
        made.append(shown if cache is None else with_changes(shown))
    return made


def listed_entries(view: Snapshot, tracks: Sequence[Track]) -> Listed:
    """The entries of some tracks, each with the public board of its track."""
    return [
        (entries(Now.of(view, track)).all, board)
        for track, board in zip(tracks, boards(view, tracks, pending=True), strict=True)
    ]


def archived_boards(view: Snapshot, track: Track, cache: Cache) -> tuple[PastBoard, ...]:
    """The boards of a track as they were when its phases closed, in order of time; the cache has earlier ones."""
    past = []
    for phase in Now.of(view, track).phases.closed(view.now):
        now = at_close(view, track, phase)
        stored = cache.value(_parts(now, phase), partial(_computed_board, now, phase))
        past.append(_PAST_BOARD.validate_json(stored, strict=False))
    return tuple(past)


def at_close(view: Snapshot, track: Track, phase: Phase) -> Now:
    """The last moment of a phase that has closed, with the primary measure only.

    It has what was received and decided until then, also what was hidden by a freeze or by the phase: what a phase
    hides that shows nothing is shown as soon as it has closed; what the table [visibility] hides, once it is shown.
    """
    present = Now.of(view, track)
    closing = Now.of(Now.of(view, track).public.view.as_of(phase.closes - RESOLUTION), track)
    closing = closing.by(closing.rules.with_fields(measures=()), closing.basis).at_close()
    return closing.seen_by("organiser") if present.shows("board") and present.shows("score", phase.name) else closing


def _parts(now: Now, phase: Phase) -> list[object]:
    """What the board of a phase depends on: the events until its end, the rules, and which entries have a result."""
    view, track, basis = now.view, now.track, now.basis
    events = view.events()
    parts: list[object] = [
        *("past board", code_digest(), view.identity, track.name, view.hides_names),
        *(phase.recorded(), [stated.recorded() for stated in track.phases], recorded_settings(track)),
        [event.index for event in events],
        *([sorted(track.hidden)] if track.hidden else []),
    ]
    if basis is None:
        return parts
    digests = {arrival.digest for event, arrival in bodies(events, ArrivalBody) if event.track == track.name}
    failures = view.failures(basis)
    return [
        *parts,
        *(basis.solution, basis.matching, split_masks(view.flags(basis))["preliminary"].digest),
        sorted(digests & view.known_digests(basis)),
        sorted((digest, failure.attempts) for digest, failure in failures.items() if digest in digests),
    ]


def _computed_board(now: Now, phase: Phase) -> str:
    closing = built_board(now)
    rows = tuple(
        PastRow(
            placing=closing.placing(row),
            name=row.name,
            folder=row.folder,
            status=row.team.status,
            baseline=row.baseline,
            entries=len(row.present_entries),
        )
        for row in closing.rows
    )
    return _PAST_BOARD.dump_json(
        PastBoard(phase, closing.track.shown_decimals, closing.track.shows_final, rows)
    ).decode()


def _kept_analysis(now: Now, board: Board, cache: Cache) -> Callable[[], Values] | None:
    """Return what computes the analysis of a track, also once the snapshot is closed; None where no page shows one."""
    track, basis = board.track, now.basis
    ranked = [row for row in board.rows if row.rank is not None and row.entry is not None]
    if basis is None or len(ranked) < 2 or track.primary_measure.kind.aggregation != "mean" or not track.shows_queries:
        return None
    rows = [[row.name, row.rank, row.entry.digest if row.entry else ""] for row in ranked]
    preliminary = split_masks(now.view.flags(basis))["preliminary"].digest
    results = [basis.solution, basis.matching, preliminary, track.primary_measure.full]
    shown = [track.stage, track.final, track.shown_decimals]
    parts = ["analysis", code_digest(), results, shown, track.name, rows]
    if cache_key(parts) in cache:
        return lambda: json.loads(cache.value(parts, str))

    task = track_task(now, board, cache=cache)
    return lambda: json.loads(cache.value(parts, partial(_computed_analysis, task)))


def _computed_analysis(task: Task) -> str:
    from scorer.scoring.analysis.analysis import analysed  # noqa: PLC0415 (SciPy is slow to load)

    return json.dumps(analysis_values(analysed(task)))


_WORDS = TaskWords("track", "tracks", "team", "teams", "query", "queries")
"""What texts about a challenge call its algorithms and its cases."""

HIDDEN = "its phase publishes no statistics"

_LISTED = 10
"""The names of teams that a message has at most."""


def track_tasks(view: Snapshot, tracks: Sequence[Track]) -> tuple[tuple[Task, ...], tuple[str, ...]]:
    """Return tracks as tasks: their ranked teams on the primary measure, without baselines; and why others are none.

    Raises ScorerError if no track can be analysed.
    """
    tasks, notes = [], []
    for track, board in zip(tracks, boards(view, tracks), strict=True):
        reason = _reason(board)
        if reason:
            notes.append(f"Track {track.name} is not analysed: {reason}.")
        else:
            tasks.append(track_task(Now.of(view, track).public, board))
    if not tasks:
        raise ScorerError("\n".join(["no track can be analysed", *notes]))
    return tuple(tasks), tuple(notes)


def track_task(
    now: Now,
    board: Board,
    measure: Measure | None = None,
    rows: Sequence[Row] | None = None,
    cache: Cache | None = None,
) -> Task:
    """Return a track as a task, from its board at the same moment. A query without a score of any team is no case.

    Without a measure, which must be a mean, it is about the primary one; without rows, about the ranked teams. Each row
    has an entry that counts. `cache` has what is kept of the rows.
    """
    track, view, basis = board.track, now.view, now.basis
    if basis is None:
        raise ScorerError(f"{track.name}: no results yet; `scorer run` computes them")
    ranked_by = measure or track.primary_measure
    ranked = [row for row in board.rows if row.rank is not None]
    scored = ScoredRows(board, tuple(ranked if rows is None else rows), view, basis, view.flags(basis))
    kept = scored.kept(cache or Cache({}))
    scores, judges = scored.of_measure(ranked_by, kept)
    queries = np.flatnonzero(scored.mask.inside & ~np.isnan(scores).all(axis=0))
    values, ids = scores[:, queries], view.solution(basis.solution).query_ids
    means = [rounded(aggregated(row, "mean"), track.shown_decimals) for row in values]
    return Task(
        name=track.name,
        algorithms=tuple(row.name for row in scored.rows),
        cases=tuple(ids[query] for query in queries.tolist()),
        values=values,
        means=tuple(float("nan") if mean is None else mean for mean in means),
        ranked=len(ranked),
        decimals=track.shown_decimals,
        measure=ranked_by.mean_name,
        bounded=ranked_by.bounded,
        units=units_within(scored.units, queries),
        judges=judges and judges.within(queries),
        words=_WORDS,
        notes=_notes(track.shown_split, int(scored.mask.inside.sum()) - len(queries)),
        kept=kept.within(ranked_by.full, number_of(queries)),
    )


def measure_of(track: Track, name: str | None) -> Measure:
    """Return a measure by its name, with the cut-offs of the track; None: the primary one.

    Raises MeasureError if the measure is unknown, means several, or its aggregate is not a mean.
    """
    measures = (track.primary_measure,) if name is None else track.measures_named(name)
    if len(measures) > 1:
        raise MeasureError(f"{name} means {', '.join(map(str, measures))}; name one measure")
    need_mean(measures[0])
    return measures[0]


def teams_task(view: Snapshot, track: Track, names: Sequence[str], measure: Measure) -> Task:
    """Return the scores of some teams of a track, and of baselines, by their names on the board, as a task.

    Raises ScorerError if a team is unknown or has no scored entry, or the phase publishes no statistics.
    """
    (board,) = boards(view, [track])
    if board.track.shows != "score":
        raise ScorerError(f"track {track.name} is not analysed: {HIDDEN}")
    rows = {row.name: row for row in board.rows}
    for name in names:
        if name not in rows:
            more = f" and {len(rows) - _LISTED:,} more" if len(rows) > _LISTED else ""
            teams = ", ".join(list(rows)[:_LISTED]) + more
            raise ScorerError(
                f"no team of track {track.name} is called {quoted(name)}{suggestion(name, rows)}; "
                f"the teams are: {teams or 'none'}"
            )
        if rows[name].entry is None:
            raise ScorerError(f"team {quoted(name)} has no scored entry in track {track.name}")
    return track_task(Now.of(view, track).public, board, measure, [rows[name] for name in names])


def _notes(split: Split, left_out: int) -> tuple[str, ...]:
    """What the scores are based on."""
    based = {
        "preliminary": "This is based on the preliminary queries only.",
        "rest": "This is based on the final scores, which leave out the preliminary queries.",
        "all": "This is based on the final scores, over all queries.",
    }
    if not left_out:
        return (based[split],)
    verb = "is" if left_out == 1 else "are"
    return based[split], f"The measure is undefined for {counted(left_out, 'query', 'queries')}, which {verb} left out."


def _reason(board: Board) -> str:
    """Why a track cannot be analysed; empty if it can."""
    aggregation = board.track.primary_measure.kind.aggregation
    if aggregation != "mean":
        what = "a sum" if aggregation == "sum" else "a geometric mean"
        return f"{board.columns[0]} is {what} over the queries, and the statistics are about means"
    if board.track.shows != "score":
        return HIDDEN
    return "" if any(row.rank is not None for row in board.rows) else "no team is ranked"


def _content(
    record: Snapshot, challenge: Challenge, cache: Cache, *, pending: bool
) -> tuple[SiteContent, tuple[str, ...]]:
    """What the site of a snapshot is rendered from, and notes on it; `pending` is as for `boards`."""
    tracks, view = challenge.tracks, as_public(record, challenge.tracks)
    shown, notes = [], list(site_notes(record, challenge))
    for track, board in zip(tracks, boards(view, tracks, cache, pending=pending), strict=True):
        past = archived_boards(view, track, cache)
        sliced, note = with_slices(replace(board, past=past), Now.of(view, track).public, cache)
        shown.append(sliced)
        notes += [note] if note else []
    analyses = {
        board.track.name: _kept_analysis(Now.of(view, track).public, board, cache)
        for track, board in zip(tracks, shown, strict=True)
    }
    overall = overall_board(shown, tracks, view, cache)
    happened = timeline(view, tracks)
    errata = itertools.chain.from_iterable(happened.errata.values())
    log, commitment = published_log(record, tracks), published_commitment(record, challenge, errata)
    content = SiteContent(challenge, shown, analyses, cache, happened, log, commitment, overall=overall, failed={})
    return content, tuple(notes)


def render(
    challenge: Challenge, store: Store, *, pending: bool = False, as_of: datetime | int | None = None
) -> Rendered:
    """Write the site of a challenge, from one snapshot and without a lock on the database.

    `pending` is as for `boards`. The site shows the state of the record at `as_of`; None: that of now. The pages are
    rendered after the snapshot is closed, and the boards are written before the other pages are rendered. Raises
    ChallengeError as `check_published`, and ScorerError for pages that cannot be rendered, after all others are
    written.
    """
    check = published_check(challenge)

    def read(whole: Snapshot) -> ToRender:
        check(whole)
        view = whole.as_of(as_of)
        state = site_state(view, challenge, pending=pending)  # first: a file that changes later changes the state
        return to_render(view, challenge, store, state, pending=pending)

    return write_site(challenge, store, store.read(read), is_present=as_of is None)


@dataclass(frozen=True, slots=True)
class ToRender:
    """What the site of a snapshot is rendered from, once the snapshot is closed."""

    revision: int
    snapshot: str
    """The name of its revision."""
    state: str
    """As `site_state` returns it."""
    cache: Cache
    sidecar: Sidecar
    content: SiteContent
    notes: tuple[str, ...]


def to_render(view: Snapshot, challenge: Challenge, store: Store, state: str, *, pending: bool) -> ToRender:
    """What the site of a snapshot is rendered from; `pending` is as for `boards`."""
    sidecar = store.sidecar(challenge.root)
    cache = view.cache(sidecar)
    content, notes = _content(view, challenge, cache, pending=pending)
    return ToRender(view.revision, view.snapshot_name(view.revision), state, cache, sidecar, content, notes)


def write_site(challenge: Challenge, store: Store, source: ToRender, *, is_present: bool = True) -> Rendered:
    """Render and write a site. Without `is_present`, it shows an earlier state of the record. Raises as `render`."""
    folder, snapshot, notes = challenge.site_path, source.snapshot, source.notes

    def is_before(other: str) -> bool:
        """Whether the database had the state with this name after the one rendered here."""
        first = source.revision + 1
        return store.read(lambda view: other in map(view.snapshot_name, range(first, view.revision + 1)))

    kept = KeptPages(folder, _pages_before(store.beside(challenge.root, SHOWN)))
    content = replace(source.content, kept=kept)
    try:
        rendered = site_files(content, lambda first: write_first(first, folder, snapshot, is_before))
    finally:
        with suppress(StoreError):  # a database that cannot be written to can still be shown
            store.keep(source.cache)
            if is_present:
                source.sidecar.tidy()
    failed = content.failed or {}
    if write(rendered, folder, snapshot, is_before, failed) is None:
        notes += (f"{folder}: shows a later state of the database, so nothing was written",)
    elif is_present and not failed:
        note_shown(challenge, store, source.state, kept.made)
    if failed:
        raise ScorerError("\n".join(_failures(failed)))
    return Rendered(folder / FRONT_PAGE, notes)


def _pages_before(shown: Path) -> dict[str, tuple[str, str]]:
    """The states of the pages of the last render; none without that file, or if it is damaged."""
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        pages = json.loads(shown.read_bytes())["pages"].items()
        return {path: (str(state), str(sha256)) for path, (state, sha256) in pages}
    return {}


_PRIVATE = '<p class="organisers" role="note">'
_MARK = f"""\
{_PRIVATE}The organiser's view of {{}}, with what visitors do not see. Do not publish it.</p>"""


def render_for_organiser(challenge: Challenge, store: Store, folder: Path) -> Rendered:
    """Write a site with all that is hidden from visitors into a folder that only this user can read.

    It has the final scores, the names, and the entries of now, each page says that it is private, and nothing of it
    is kept for the public site. The folder is new, empty, or has an earlier such site. Raises ScorerError otherwise,
    and as `render`.
    """
    check_published(challenge, store)
    check_is_private(challenge, folder)
    with os_errors_as(ScorerError, f"{folder}: cannot be used", "name another folder"):
        is_used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if is_used and not _is_private_site(folder):
            raise ScorerError(f"{folder}: has files that are no private site; name a new folder, or an empty one")
        folder.mkdir(0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)

    def read(view: Snapshot) -> tuple[str, SiteContent, tuple[str, ...]]:
        # Values that were derived for visitors are kept by what they depend on, which does not include the viewer.
        return view.identity, *_content(replace(view, hides_nothing=True), challenge, Cache({}), pending=True)

    snapshot, content, notes = store.read(read)
    mark = _MARK.format(escape(challenge.name))
    pages = {
        path: re.sub("<body[^>]*>", lambda body: f"{body[0]}\n{mark}", page, count=1)
        if path.endswith(".html") and isinstance(page, str)
        else page
        for path, page in site_files(content).items()
    }
    failed = content.failed or {}
    write(pages, folder, snapshot, failed=failed)
    if failed:
        raise ScorerError("\n".join(_failures(failed)))
    return Rendered(folder / FRONT_PAGE, notes)


def _is_private_site(folder: Path) -> bool:
    """Whether a folder that only its owner can read has an earlier private site, also one that was not completed."""
    if not folder.is_dir() or folder.stat().st_mode & 0o077 or not listed_files(folder):
        return False
    front = folder / FRONT_PAGE
    return not front.exists() or _PRIVATE in front.read_text(encoding="utf-8", errors="replace")


def _failures(failed: Mapping[str, str]) -> Iterator[str]:
    """A line for each reason, with the first page or folder that it concerns."""
    for reason in dict.fromkeys(failed.values()):
        first, *others = (path for path, why in failed.items() if why == reason)
        more = f" and {len(others):,} more" if others else ""
        yield f"{first}{more}: cannot be rendered, and stays as it was: {reason}"
