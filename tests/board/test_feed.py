"""The Atom feed: what RFC 4287 requires, hostile texts, and stable ids."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest

from scorer.board.site.pages import page_environment
from scorer.board.site.timeline import FORBIDDEN, feed
from scorer.live.timeline import Happening
from scorer.settings.tracks import Challenge
from tests.boards import HOSTILE, UPDATED, challenge, erratum, timeline
from tests.live_challenges import BEFORE, GOOD, POOR, Live, day

ATOM = "{http://www.w3.org/2005/Atom}"

CONTROLS = "a\x00b\x08c\x0bd\x1fe\ud800f\ufffeg\uffffh\x7fi"


def parsed(happenings: tuple[Happening, ...] | None = None, declared: Challenge | None = None) -> ET.Element:
    """The feed, read by a parser of XML."""
    found = timeline(erratum()).happenings if happenings is None else happenings
    return ET.fromstring(feed(page_environment(None), declared or challenge(), found).encode())


def text(parent: ET.Element, name: str) -> str:
    """The text of the only child of this name."""
    (element,) = parent.findall(f"{ATOM}{name}")
    return element.text or ""


def links(parent: ET.Element) -> dict[str, str]:
    """The addresses of links by their relations, of which each occurs once."""
    found = [(each.attrib["rel"], each.attrib["href"]) for each in parent.findall(f"{ATOM}link")]
    assert len(found) == len(dict(found))
    return dict(found)


def test_the_feed_has_what_the_standard_requires() -> None:
    """RFC 4287, section 4.1.1: id, title, updated and an author; section 4.1.2: id, title and updated."""
    root = parsed()
    entries = root.findall(f"{ATOM}entry")

    assert root.tag == f"{ATOM}feed"
    assert text(root, "title") == text(root.find(f"{ATOM}author") or root, "name") == "Lectures & lists"
    assert links(root) == {"self": "feed.xml", "alternate": "timeline.html"}
    assert len(entries) == len(timeline(erratum()).happenings)
    ids = [text(each, "id") for each in (root, *entries)]
    assert len(set(ids)) == len(ids)
    for urn in ids:
        assert urn.removeprefix("urn:uuid:") == str(UUID(urn))
        assert UUID(urn).version == 5
    for each in entries:
        assert text(each, "title")
        assert text(each, "content")
        assert [content.attrib for content in each.findall(f"{ATOM}content")] == [{"type": "text"}]
        assert datetime.fromisoformat(text(each, "updated")).utcoffset() == timedelta(0)


def test_entries_are_the_latest_first_with_track_and_reason() -> None:
    """What concerns all tracks has no track; without a reason, the title is the content."""
    root = parsed()
    entries = root.findall(f"{ATOM}entry")
    times = [text(each, "updated") for each in entries]

    assert times == sorted(times, reverse=True)
    assert text(root, "updated") == times[0] == "2011-07-20T01:30:00Z"
    assert [(text(each, "title"), text(each, "content"), links(each)["alternate"]) for each in entries[:2]] == [
        ("Cold start: Erratum 1 applied", "Two grades were swapped.", "cold-start/errata/1.html"),
        ("Team tea renamed to tea-kettle", "Why.", "teams/tea-kettle.html"),
    ]
    assert text(entries[3], "content") == "Cold start: Phase one started"
    assert links(entries[3]) == {"alternate": "timeline.html"}


def test_links_are_absolute_if_the_site_has_an_address() -> None:
    """As `url` in the table [site] states it."""
    declared = challenge()
    branding = declared.branding.model_validate({"url": "https://example.org/lists"})
    root = parsed(declared=declared.model_copy(update={"branding": branding}))

    assert links(root)["self"] == "https://example.org/lists/feed.xml"
    assert links(root.findall(f"{ATOM}entry")[0])["alternate"] == "https://example.org/lists/cold-start/errata/1.html"


@pytest.mark.parametrize("hostile", [*HOSTILE, "]]>", "&lt;b&gt; &amp; <!--", "<?xml?>", CONTROLS])
def test_hostile_texts_are_text(hostile: str) -> None:
    """They come back from the parser as they were, without characters that XML cannot have."""
    happening = Happening(UPDATED, "cold-start", "disqualified", hostile, hostile, hostile)
    declared = challenge()
    track = declared.tracks[0].model_copy(update={"title": hostile})
    root = parsed((happening,), declared.model_copy(update={"name": hostile, "tracks": (track, *declared.tracks[1:])}))
    legal = FORBIDDEN.sub("\ufffd", hostile)

    (entry,) = root.findall(f"{ATOM}entry")
    assert text(root, "title") == legal
    assert (text(entry, "title"), text(entry, "content")) == (f"{legal}: {legal}", legal)
    assert links(entry)["alternate"] == legal
    assert {each.tag.removeprefix(ATOM) for each in root.iter()} == {
        *("feed", "id", "title", "updated", "author", "name", "link"),
        *("entry", "published", "category", "content"),
    }


def test_forbidden_characters_are_those_of_xml() -> None:
    """XML 1.0, section 2.2: every character that the parser refuses is replaced, and no other one."""
    for code in (*range(0x100), 0x202E, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF):
        try:
            ET.fromstring(f"<a>{chr(code) if chr(code) not in '<&' else 'x'}</a>".encode("utf-8", "surrogatepass"))
            is_legal = True
        except ET.ParseError:
            is_legal = False
        assert bool(FORBIDDEN.match(chr(code))) is not is_legal, hex(code)


def test_ids_do_not_depend_on_what_happens_later() -> None:
    """Nor on the text of a title, which may have another name of a team later."""
    before, after = timeline().happenings, timeline(erratum()).happenings
    renamed = tuple(replace(each, text="another") for each in before)
    ids = [[text(each, "id") for each in parsed(found).findall(f"{ATOM}entry")] for found in (before, after, renamed)]

    assert ids[1][1:] == ids[0] == ids[2]


def test_the_feed_depends_on_what_happened_and_not_on_the_time_of_the_render(tmp_path: Path) -> None:
    """A render a day later, or from a copy of the folder, gives the same bytes."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    live.render(day(11))
    first = live.page("feed.xml")
    live.render(day(12))

    assert live.page("feed.xml") == first
    assert text(ET.fromstring(first), "updated") == "2027-01-10T00:00:00Z"


def test_a_withdrawn_leader_is_named_no_more(tmp_path: Path) -> None:
    """The next team is first from when the file is gone; a team without a row has no part in the feed."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    for at, team, lists in ((11, "north", POOR), (12, "south", GOOD)):
        live.put(f"{team}/one.txt", lists, day(at))
        live.run(day(at, 13))
    live.render(day(12, 13))
    before = titles(live)
    (live.folder / "submissions/main/south/one.txt").unlink()
    live.run(day(13))
    live.render(day(13))

    assert before[0].startswith("New entry of south: ")
    assert before[0].endswith(", took the lead")
    assert before[1] == "south now first and north now second"
    assert titles(live)[0] == "north now first"
    assert "south" not in live.page("feed.xml")


def test_nothing_is_added_during_a_freeze(tmp_path: Path) -> None:
    """What was there stays; the entry follows with its time of receipt once the phase has closed."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    found = []
    for at, team, lists in ((18, "north", POOR), (19, "south", GOOD), (21, "north", POOR)):
        if at < 21:
            live.put(f"{team}/one.txt", lists, day(at))
        live.run(day(at, 13))
        live.render(day(at, 13))
        found.append([each for each in titles(live) if "north" in each or "south" in each])

    assert found[0] == found[1]
    assert found[2] == [found[2][0], "south now first and north now second", *found[0]]
    assert found[2][0].startswith("New entry of south: ")


def titles(live: Live) -> list[str]:
    """The titles of the feed of a challenge with one track, without the title of the track."""
    entries = ET.fromstring(live.page("feed.xml")).findall(f"{ATOM}entry")
    return [text(each, "title").removeprefix("Main: ") for each in entries]
