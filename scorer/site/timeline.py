"""The timeline: by months on its page, and as a feed in the Atom Syndication Format (RFC 4287)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from itertools import groupby
from uuid import UUID, uuid5
from xml.etree import ElementTree as ET

from scorer.challenge.settings import Challenge
from scorer.live.log import NO_LOG, PublishedLog
from scorer.live.timeline import Happening, Timeline
from scorer.store.log import LogLine
from scorer.wording import MONTHS, iso_time

FEED = "feed.xml"

NAMESPACE = "http://www.w3.org/2005/Atom"

IDS = UUID("6f0a1f5e-3d0c-4a53-9c5b-8f9d1d8f4a27")
"""The namespace of the ids of feeds and entries."""

FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no notation for (section 2.2)."""

DATES = frozenset({"started", "frozen", "ended", "closed"})
"""The kinds of happenings that are dates of phases."""

REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class Month:
    """What happened in a month."""

    name: str
    """In UTC: ``July 2011``."""
    anchor: str
    """Of its section on the page: ``2011-07``."""
    happenings: tuple[Happening, ...]
    """The latest first."""


def months(happenings: Iterable[Happening]) -> tuple[Month, ...]:
    """The months of happenings, the latest first, as the happenings are."""

    def month(happening: Happening) -> tuple[int, int]:
        at = happening.at.astimezone(UTC)
        return at.year, at.month

    return tuple(
        Month(f"{MONTHS[number - 1]} {year}", f"{year:04}-{number:02}", tuple(group))
        for (year, number), group in groupby(happenings, month)
    )


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
    past = (happening for happening in reversed(timeline.happenings) if happening.kind in DATES)
    return of_all_tracks([*past, *timeline.upcoming], tracks)


def with_known_links(timeline: Timeline, paths: Container[str]) -> Timeline:
    """The timeline without links to pages that the site does not have: a team has one only while it has entries."""

    def known(happenings: Iterable[Happening]) -> tuple[Happening, ...]:
        return tuple(happening if happening.link in paths else replace(happening, link="") for happening in happenings)

    return replace(timeline, happenings=known(timeline.happenings), upcoming=known(timeline.upcoming))


# The feed


def feed(challenge: Challenge, happenings: Sequence[Happening], log: PublishedLog = NO_LOG) -> str:
    """The feed of happenings, the latest first.

    The ids of its entries depend on the name of the challenge and on the record, not on the time of the render. Links
    are relative to the feed where `challenge.toml` does not say the address of the site. The feed has the head of the
    log, and its entries have the heads of their events, so that subscribers keep heads. At least one
    happening is needed.
    """
    titles = {track.name: track.title for track in challenge.tracks}
    root = ET.Element("feed", {"xmlns": NAMESPACE})
    _add(root, "id", _id(challenge.name))
    _add(root, "title", challenge.name)
    if log.head is not None:
        _add(root, "subtitle", _head(log.head))
    _add(root, "updated", iso_time(happenings[0].at))
    _add(_add(root, "author"), "name", challenge.name)
    _link(root, challenge, "self", FEED, "application/atom+xml")
    _link(root, challenge, "alternate", "timeline.html", "text/html")
    for happening in happenings:
        entry = _add(root, "entry")
        title = f"{titles[happening.track]}: {happening.text}" if happening.track in titles else happening.text
        exact = happening.at.isoformat(timespec="microseconds")
        _add(entry, "id", _id(challenge.name, happening.track, happening.kind, happening.index, exact))
        _add(entry, "title", title)
        _add(entry, "updated", iso_time(happening.at))
        _add(entry, "published", iso_time(happening.at))
        _link(entry, challenge, "alternate", happening.link or "timeline.html")
        _add(entry, "category", term=happening.kind)
        line = log.line(happening.index)
        content = happening.detail or title
        _add(entry, "content", content if line is None else f"{content}\n{_head(line)}", type="text")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _head(line: LogLine) -> str:
    return f"Log: event {line.index}, head {line.head.hex()}"


def _id(*parts: object) -> str:
    return uuid5(IDS, json.dumps(parts)).urn


def _link(parent: ET.Element, challenge: Challenge, relation: str, path: str, kind: str = "") -> None:
    attributes = {"rel": relation, "href": f"{challenge.branding.url}{path}"}
    _add(parent, "link", **attributes, **({"type": kind} if kind else {}))


def _add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, name, {key: _legal(value) for key, value in attributes.items()})
    element.text = _legal(text) or None
    return element


def _legal(text: str) -> str:
    return FORBIDDEN.sub(REPLACEMENT, text)
