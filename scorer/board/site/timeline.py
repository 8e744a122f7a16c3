"""The timeline as a page and as a feed in the Atom Syndication Format (RFC 4287), and the latest entries of all
boards.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import nlargest
from itertools import repeat
from typing import Literal
from uuid import UUID, uuid5
from xml.sax.saxutils import escape

from jinja2 import Environment
from markupsafe import Markup

from scorer.board.board import Row, score_at
from scorer.board.build import LONGEST_NAME, ranks_over_time, rows_with_gone
from scorer.board.site.captions import words_of
from scorer.board.site.templates import Page, render_template, to_text
from scorer.board.site.views import BoardView
from scorer.live.entry import STATE_WORDS, Entry
from scorer.live.now import NO_LOG, PublishedLog
from scorer.live.timeline import Happening, Timeline
from scorer.record.log import RESOLUTION
from scorer.settings.tracks import Challenge
from scorer.wording import MONTHS, counted, joined, ordinal, shortened

FEED = "feed.xml"

_IDS = UUID("6f0a1f5e-3d0c-4a53-9c5b-8f9d1d8f4a27")
"""The namespace of the ids of feeds and entries."""

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no notation for (section 2.2)."""

_DATES = frozenset({"started", "frozen", "closed"})
"""The kinds of happenings that are dates of phases."""

REPLACEMENT = "\ufffd"

IN_ATTRIBUTES = {'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"}


def front_page(challenge: Challenge, timeline: Timeline, views: Sequence[BoardView]) -> Page:
    """The front page, with the entries received last and the dates of all phases."""
    values = {"latest": latest_entries(views), "dates": dates(timeline, len(views))}
    return Page("index.html", "index.html", to_text(challenge.description), values)


def timeline_page(timeline: Timeline, tracks: int, paths: Container[str]) -> Page:
    """What happened and what comes next in the challenge, with links to pages among `paths`."""
    linked = with_known_links(timeline, paths)
    past, upcoming = (of_all_tracks(each, tracks) for each in (linked.happenings, linked.upcoming))
    about = "What happened: phases, extensions, errata and decisions about teams; and the dates to come."
    return Page("timeline.html", "timeline.html", about, {"months": months(past), "upcoming": upcoming})


def months(happenings: Iterable[Happening]) -> dict[str, list[Happening]]:
    """The happenings of each month in UTC, as ``July 2011``, in their order."""
    found: dict[str, list[Happening]] = defaultdict(list)
    for happening in happenings:
        at = happening.at.astimezone(UTC)
        found[f"{MONTHS[at.month - 1]} {at.year}"].append(happening)
    return found


def of_all_tracks(happenings: Sequence[Happening], tracks: int) -> tuple[Happening, ...]:
    """The happenings, where one that is the same in all of several tracks is one of the whole challenge."""
    alike: dict[tuple[object, ...], list[Happening]] = defaultdict(list)
    for happening in happenings:
        alike[happening.at, happening.kind, happening.text, happening.detail, happening.track == ""].append(happening)
    merged: dict[int, Happening] = {}
    for group in alike.values():
        if group[0].track and len({same.track for same in group}) == tracks > 1:
            links = {same.link for same in group}
            one = replace(group[0], track="", link=links.pop() if len(links) == 1 else "")
            merged |= {id(same): one for same in group}
    return tuple(dict.fromkeys(merged.get(id(happening), happening) for happening in happenings))


def dates(timeline: Timeline, tracks: int) -> tuple[Happening, ...]:
    """The dates of all phases, past ones and those to come, the first one first."""
    past = (happening for happening in reversed(timeline.happenings) if happening.kind in _DATES)
    return of_all_tracks([*past, *timeline.upcoming], tracks)


def with_known_links(timeline: Timeline, paths: Container[str]) -> Timeline:
    """The timeline without links to pages that the site does not have: a team has one only while it has entries."""

    def known(happenings: Iterable[Happening]) -> tuple[Happening, ...]:
        return tuple(happening if happening.link in paths else replace(happening, link="") for happening in happenings)

    return replace(timeline, happenings=known(timeline.happenings), upcoming=known(timeline.upcoming))


# The feed

_NEWS, _FIRST = 30, 3
"""The feed has so many of the last entries of a board at most, and the new ranks up to `_FIRST` that came at so many of
the last times at which a score changed."""


def with_news(timeline: Timeline, boards: Iterable[BoardView]) -> Timeline:
    """The timeline with what boards show of entries and ranks, as the feed has it."""
    happenings = [*timeline.happenings, *(each for board in boards for each in _news(board))]
    happenings.sort(key=lambda happening: (happening.at, happening.index), reverse=True)
    return replace(timeline, happenings=tuple(happenings))


def _news(view: BoardView) -> Iterator[Happening]:
    """The last entries with a score, and who came to one of the first ranks, by the scores that were shown then."""
    board = view.board
    if board.track.hides_scores:
        return
    track = board.track.name
    if board.shows_both:
        last = max((phase.closes for phase in board.phases.all), default=None)
        after = tuple(row.rank for row in board.rows)
        if last is not None and last <= board.now and any(after):
            yield _new_ranks(last, track, zip(board.rows, repeat(None), after, strict=False), " by final scores")
        board = replace(board, track=board.track.with_fields(stage="preliminary"))
    for shown in latest_entries([replace(view, board=board)], _NEWS):
        row, entry = shown.row, shown.entry
        if entry.state == "scored":
            text = f"New entry of {shortened(row.name, LONGEST_NAME)}: {shown.text}{shown.lead}"
            yield Happening(entry.received, track, "entry", text, "", f"teams/{row.team.slug}.html", entry.index)
    teams = rows_with_gone(board)
    moments, ranks_at = ranks_over_time(board, teams)
    for moment in moments[-_NEWS:]:
        before, after = ranks_at(moment - RESOLUTION), ranks_at(moment)
        # Teams without a row on the board are named nowhere.
        known = [rank if row.present_entries else None for row, rank in zip(teams, after, strict=True)]
        if any(rank and rank <= _FIRST and rank != then for rank, then in zip(known, before, strict=True)):
            yield _new_ranks(moment, track, zip(teams, before, known, strict=True))


def _new_ranks(
    at: datetime, track: str, ranks: Iterable[tuple[Row, int | None, int | None]], how: str = ""
) -> Happening:
    """That teams have new ranks among the first, given the rank of each before and after."""
    first = sorted(
        (rank, shortened(row.name, LONGEST_NAME), rank != then) for row, then, rank in ranks if rank and rank <= _FIRST
    )
    text = joined([f"{name} now {ordinal(rank)}" for rank, name, is_new in first if is_new])
    kind: Literal["lead", "rank"] = "lead" if (1, True) in {(rank, is_new) for rank, _, is_new in first} else "rank"
    detail = "; ".join(f"{rank}: {name}" for rank, name, _ in first)
    return Happening(at, track, kind, text + how, detail, f"{track}/index.html")


def feed(
    environment: Environment, challenge: Challenge, happenings: Sequence[Happening], log: PublishedLog = NO_LOG
) -> str:
    """The feed of happenings, the latest first.

    The ids of its entries depend on the name of the challenge and on the record, not on the time of the render. Links
    are relative to the feed where `challenge.toml` does not say the address of the site. The feed has the head of the
    log, and its entries have the heads of their events, so that subscribers keep heads. At least one
    happening is needed.
    """
    titles = {track.name: f"{track.title}: " for track in challenge.tracks}
    entries = [
        (_id(challenge.name, each.track, each.kind, each.index, each.at.isoformat(timespec="microseconds")), each)
        for each in happenings
    ]
    values = {"challenge": challenge, "id": _id(challenge.name), "entries": entries, "titles": titles, "log": log}
    return render_template(environment, "feed.xml", values)


def _id(*parts: object) -> str:
    return uuid5(_IDS, json.dumps(parts)).urn


def xml(text: str, *, quoted: bool = False) -> Markup:
    """A text in an element of XML, or in an attribute; what XML cannot have is replaced."""
    return Markup(escape(FORBIDDEN.sub(REPLACEMENT, text), IN_ATTRIBUTES if quoted else {}))  # noqa: S704  escaped


_SHOWN = 6
"""How many entries the front page lists."""


@dataclass(frozen=True, slots=True)
class LatestEntry:
    """An entry in the list of the front page."""

    boards: tuple[BoardView, ...]
    """The boards on which a team received the same at the same time, most often one."""
    row: Row
    entry: Entry
    text: str
    """What became of it: its score, or why it has none."""
    lead: str
    """That it took the lead; empty if it did not."""


def latest_entries(boards: Sequence[BoardView], number: int = _SHOWN) -> tuple[LatestEntry, ...]:
    """The entries received last, the latest first; without those whose time of receipt is not confirmed.

    What a team received at the same time and with the same result in several tracks is one.
    """
    candidates = [
        (board, view.row, entry)
        for board in boards
        for view in board.rows
        for entry in view.row.present_entries
        if entry.state != "misdated"
    ]
    latest = nlargest(
        number * len(boards), candidates, key=lambda shown: (shown[2].received, shown[1].team.slug, shown[2].file)
    )
    alike: dict[tuple[object, ...], LatestEntry] = {}
    for board, row, entry in latest:
        result = _result(board, row, entry)
        key = (row.team.slug, entry.received, entry.state == "rejected", *result)
        if key in alike and board not in alike[key].boards:
            alike[key] = replace(alike[key], boards=(board, *alike[key].boards))
        else:
            alike.setdefault(key, LatestEntry((board,), row, entry, *result))
    return tuple(alike.values())[:number]


def _result(board: BoardView, row: Row, entry: Entry) -> tuple[str, str]:
    """The text of an entry, and that it took the lead."""
    if entry.state == "rejected":
        return (f", {counted(entry.findings_count, 'error')}" if entry.findings_count else ""), ""
    if entry.state != "scored":
        return words_of(entry.state), ""
    if board.board.track.hides_scores:
        return "received", ""
    if entry.answer is not None and entry.answer != "improvement":
        return STATE_WORDS[entry.answer].label, ""
    score = board.board.shown_scores(entry)[0]
    if score is None:
        return "score undefined", ""
    if row.baseline:
        return f"{_printed(board, score)}, a baseline", ""
    if row.team.is_excluded:
        return f"{_printed(board, score)}, {row.team.status}", ""
    steps = board.counted[row.slug]
    before, after = score_at(steps, entry.received - RESOLUTION), score_at(steps, entry.received)
    if after != score:
        return f"{_printed(board, score)}; {_printed(board, after)} still counts", ""
    found = [
        score_at(board.counted[view.row.slug], entry.received)
        for view in board.rows
        if not view.row.baseline and not view.row.team.is_excluded and view.row is not row
    ]
    others = [other for other in found if other is not None]
    now = 1 + sum(other > score for other in others)
    then = None if before is None else 1 + sum(other > before for other in others)
    text = _printed(board, score) + ("" if before is None else f", from {_printed(board, before)}")
    if now == 1 and then != 1 and others:
        return f"{text}, ", "took the lead"
    joint = "; " if before is not None else ", "
    return f"{text}{joint}{'still' if now == then else 'now'} {ordinal(now)}", ""


def _printed(board: BoardView, score: float | None) -> str:
    return "no score" if score is None else f"{score + 0.0:.{board.board.track.shown_decimals}f}"
