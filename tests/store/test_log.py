"""The log that the site publishes: a chain of hashes over the record, which stops at a freeze."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from scorer.live.now import PublishedLog, published_log
from scorer.organising.phases import extend
from scorer.organising.render import render
from scorer.organising.scan import import_submissions
from scorer.organising.teams import issue
from scorer.record.events import log_lines
from scorer.record.log import LogLine
from scorer.store.events import Submission
from scorer.store.schema import schema_table
from scorer.store.store import Store
from tests import boards
from tests.accessibility import has_axe, violations
from tests.boards import digest
from tests.browser import IN_BROWSER, Page
from tests.bundles import archive as sealed
from tests.bundles import members, with_manifest
from tests.commands import Terminal, failed, here
from tests.committed import Committed
from tests.databases import KINDS, NewPlace, changed, new_places, record_teams, seal
from tests.live_challenges import BEFORE, BEST, FAIR, GOOD, POOR, WEAK, Live, day
from tests.pages import read
from tests.public_archives import END, archived, decided
from tests.second_verifier import problems
from tests.store import schema_5
from tests.strangers import chain, lines_of, rows
from tests.strategies import rest

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge with two phases; the first one has a freeze from 19 January on. Two entries were received before."""
    live = Live.starter(tmp_path / "live", 'split = {preliminary = 0.5, key_file = "split.key"}', flags=False)
    live.put("alder/1.txt", WEAK, day(10, 1))
    live.run(day(11))
    live.put("birch/1.txt", FAIR, day(12, 1))
    live.run(day(13))
    return live


def lines(site: dict[str, str]) -> list[dict[str, object]]:
    """The lines of the published log."""
    return [json.loads(line) for line in site["log.jsonl"].splitlines()]


def heads_by_definition(live: Live) -> list[str]:
    """The heads of all events, computed from the texts of the events by the formulas."""
    found = []
    with live.store(day(31)) as store:
        key, events = store.read(lambda view: (view.secret("log"), view.events()))
    head = bytes(32)
    for event in events:
        at = None if event.at is None else event.at.astimezone(UTC).isoformat(timespec="microseconds")
        fields = {"index": event.index, "kind": event.kind, "track": event.track, "at": at, "body": event.values}
        text = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
        nonce = hmac.new(key, event.index.to_bytes(8, "big") + text, hashlib.sha256).digest()[:16]
        leaf = hashlib.sha256(b"\0" + nonce + text).digest()
        line = {"version": 2, "epoch": 1, "index": event.index, "kind": event.kind, "leaf": leaf.hex()}
        head = hashlib.sha256(b"\2" + head + json.dumps(line, separators=(",", ":")).encode()).digest()
        found.append(head.hex())
    return found


def test_the_log_has_a_line_for_each_event(live: Live) -> None:
    """With its version and epoch; the order of the keys and the heads are those of the definition, without spaces."""
    site = live.site(day(14))
    found = lines(site)

    assert [each["kind"] for each in found] == ["phases", "basis", "arrival", "arrival"]
    assert [each["index"] for each in found] == [1, 2, 3, 4]
    assert [each["head"] for each in found] == heads_by_definition(live)
    assert [list(each) for each in found] == 4 * [["version", "epoch", "index", "kind", "leaf", "head"]]
    assert site["log.jsonl"] == "".join(f"{json.dumps(each, separators=(',', ':'))}\n" for each in found)


def test_a_later_log_begins_with_the_earlier_one(live: Live) -> None:
    """Also after decisions."""
    before = live.site(day(14))["log.jsonl"]
    live.put("cedar/1.txt", BEST, day(15, 1))
    live.run(day(15))
    with live.store(day(16)) as store:
        record_teams(store, {"alder": {"name": "Elder"}}, {})
    after = live.site(day(16))["log.jsonl"]

    assert after.startswith(before)
    assert [each["kind"] for each in lines({"log.jsonl": after[len(before) :]})] == ["arrival", "team"]


def test_the_log_ends_at_a_freeze(live: Live) -> None:
    """With the last event that was recorded before; a file that claims to be from before adds none. It goes on when the
    phase has closed.
    """
    before = live.site(day(18))["log.jsonl"]
    live.put("alder/2.txt", BEST, day(15))
    live.put("cedar/1.txt", BEST, day(19, 1))
    live.run(day(19, 2))
    with live.store(day(19, 3)) as store:
        record_teams(store, {"alder": {"name": "Elder"}}, {})

    assert live.site(day(19, 23))["log.jsonl"] == before
    assert len(lines(live.site(day(20, 1)))) == 7


def test_the_site_has_an_event_of_before_the_freeze_that_claims_a_later_time(live: Live) -> None:
    """The log and the pages show what was recorded before the freeze."""
    live.put("alder/2.txt", BEST, day(19, 0, 1))
    live.run(day(18, 23, 59))
    site = live.site(day(19, 2))

    assert len(lines(site)) == 5
    assert "alder/2.txt" in site["teams/alder.html"]


@pytest.fixture
def two_tracks(tmp_path: Path) -> Live:
    """A challenge with two tracks: the first is frozen from 19 January on until 20 January, 1:00, the second from 20
    January on until 22 January, 1:00.
    """
    live = Live.graded(tmp_path / "live", tracks=("main", "other"))
    text = (live.folder / "challenge.toml").read_text()
    first, second = text.split("[tracks.other]")
    second = second.replace("2027-01-20", "2027-01-22").replace('freeze = "24h"', 'freeze = "48h"')
    (live.folder / "challenge.toml").write_text(f"{first}[tracks.other]{second}")
    for name in ("main", "other"):
        live.chosen = name
        live.run(BEFORE)
        for team in ("amber", "birch"):
            live.put(f"{team}/1.txt", POOR, day(10))
        live.run(day(11))
    return live


def log_at(live: Live, at: datetime) -> PublishedLog:
    """The public log of all tracks at a time."""
    return live.do(at, lambda challenge, store: store.read(lambda view: published_log(view, challenge.tracks)))


def test_the_log_stops_at_the_first_of_several_freezes(two_tracks: Live) -> None:
    """They overlap for an hour. The log has what was recorded before all freezes of this moment."""
    live = two_tracks
    count = len(log_at(live, day(12)).lines)
    live.chosen = "main"
    for number in (18, 19, 21):
        live.put(f"amber/{number}.txt", GOOD, day(number))
        live.run(day(number))

    times = (day(19, 13), day(20, 0, 30), day(20, 2), day(21, 13), day(22, 1))
    assert [len(log_at(live, at).lines) - count for at in times] == [1, 1, 2, 2, 3]


def test_the_log_of_an_earlier_state_has_its_events(live: Live) -> None:
    """As of an event those until it; as of a time those that were recorded before the first later one."""
    with live.store(day(14)) as store:
        tracks = live.challenge.tracks
        counts = [
            store.read(lambda view: len(published_log(view.as_of(until), tracks).lines))  # noqa: B023
            for until in (0, 3, 4, day(5), day(12, 23), day(13))
        ]

    assert counts == [0, 3, 4, 2, 3, 4]


def test_line_returns_only_lines_of_the_log() -> None:
    """An event that follows from the schedule has the index 0, which no line has."""
    log = boards.published_log(3)

    assert [log.line(index) and log.line(index).index for index in (-1, 0, 1, 3, 4)] == [None, None, 1, 3, None]  # type: ignore[union-attr]
    assert (PublishedLog().head, PublishedLog().line(1)) == (None, None)


# What the site shows of it


def test_the_head_is_on_the_site_in_the_feed_and_in_the_data(live: Live) -> None:
    """The same everywhere."""
    site = live.site(day(14))
    head = str(lines(site)[-1]["head"])

    assert head in site["verification.html"]
    assert f"scorer verify log log.jsonl \\\n    --head 4:{head}" in re.sub(
        "</?span[^>]*>", "", site["verification.html"]
    )
    assert json.loads(site["main/leaderboard.json"])["log"] == {"index": 4, "head": head}
    assert ET.fromstring(site["feed.xml"]).findtext(f"{ATOM}subtitle") == f"Log: event 4, head {head}"


def test_the_commands_to_verify_fetch_what_they_read(live: Live) -> None:
    """From the address of the site, if it is set."""
    assert "curl" not in live.site(day(14))["verification.html"]
    file = live.challenge.root / "challenge.toml"
    file.write_text(file.read_text() + '\n[site]\nurl = "https://lectures.example/2027/"\n')

    page = live.site(day(14))["verification.html"]
    assert "curl -fO https://lectures.example/2027/log.jsonl\nscorer verify log log.jsonl" in page


def test_entries_of_the_feed_have_the_heads_of_their_events(live: Live) -> None:
    """On a further line; what follows from the schedule or from ranks has none, nor has an event that is hidden yet."""
    with live.store(day(19, 7)) as store:
        extend(live.challenge, store, None, "one", day(20, 0) + timedelta(hours=6), "why")
    heads = {each["index"]: each["head"] for each in lines(live.site(day(20, 8)))}
    frozen, thawed = (ET.fromstring(live.site(now)["feed.xml"]) for now in (day(19, 8), day(20, 8)))

    def found(feed: ET.Element) -> list[list[str]]:
        """The further lines of the content of each entry, the earliest entry first."""
        contents = [each.findtext(f"{ATOM}content") or "" for each in reversed(feed.findall(f"{ATOM}entry"))]
        return [content.split("\n")[1:] for content in contents]

    assert found(frozen)[:2] == [[f"Log: event {index}, head {heads[index]}"] for index in (1, 2)]
    logged = {line for entry in found(frozen) for line in entry if line.startswith("Log: ")}
    assert logged == {f"Log: event {index}, head {heads[index]}" for index in (1, 2, 3, 4)}
    assert [] in found(frozen)
    assert [f"Log: event 5, head {heads[5]}"] in found(thawed)


def test_the_page_of_a_team_has_the_leaves_of_its_entries(live: Live) -> None:
    """With the numbers of their events; the whole leaf is in the title."""
    site = live.site(day(14))
    (link,) = [each for each in read(site["teams/birch.html"]).all("a") if each.attributes.get("class") == "leaf"]
    leaf = str(lines(site)[3]["leaf"])

    assert link.words() == f"#4 {leaf[:12]}"
    assert (link.attributes["href"], link.attributes["title"]) == ("../log.jsonl", leaf)


def test_an_entry_that_the_log_does_not_have_yet_shows_no_leaf(two_tracks: Live) -> None:
    """The board of its track is not frozen, another one is."""
    live = two_tracks
    live.chosen = "main"
    live.put("amber/late.txt", GOOD, day(21))
    live.run(day(21))
    live.do(day(21), render)
    page = read((live.challenge.site_path / "teams" / "amber.html").read_text())

    assert "late.txt" in page.words()
    assert len([each for each in page.all("a") if each.attributes.get("class") == "leaf"]) == 2


def test_every_page_links_to_the_page_about_verification(live: Live) -> None:
    """In its footer, but for the one that a server shows at any address, and those in frames of other sites."""
    site = live.site(day(14))
    pages = [name for name in site if name.endswith(".html") and not name.endswith(("404.html", "embed.html"))]

    assert len(pages) > 6
    for name in pages:
        (footer,) = read(site[name]).all("footer")
        assert "../" * name.count("/") + "verification.html" in [a.attributes.get("href") for a in footer.all("a")]


def test_the_page_has_the_hash_of_the_key_of_a_split(live: Live) -> None:
    """With the command that verifies it."""
    site = live.site(day(14))
    key = json.loads(site["main/split.json"])["key_sha256"]

    assert f"scorer verify split split.json \\\n    --key-sha256 {key}" in site["verification.html"]
    assert "The key is not revealed yet." in site["verification.html"]


def test_the_page_says_that_the_log_has_stopped(live: Live) -> None:
    """Only during a freeze."""
    sentence = "A board is frozen, so the log ends with the last event before that"

    assert sentence not in live.site(day(18))["verification.html"]
    assert sentence in live.site(day(19, 1))["verification.html"]


def test_the_board_in_json_has_the_head(live: Live, terminal: Terminal) -> None:
    """`scorer leaderboard` has that of the whole challenge, also for a single track."""
    site = live.site(day(14))
    answer = terminal.run("leaderboard", live.folder, "--format", "json", "-t", "main", "--as-of", "4")

    assert json.loads(answer.out)["log"] == json.loads(site["main/leaderboard.json"])["log"]


# The same log everywhere


def recorded(place: str) -> Sequence[str]:
    """The log of a new database with a fixed salt, after some events at fixed times."""
    moment = datetime(2027, 1, 1, tzinfo=UTC)
    with Store.open(place, clock=lambda: moment) as store:
        sent = [
            Submission("main", name, f"main/{name}/\u010daj.txt", digest(str(number)), moment - timedelta(hours=number))
            for number, name in enumerate(("amber", "b\udcffrch"))
        ]
        import_submissions(store, "main", sent, None)
        import_submissions(store, "main", sent[:1], None)
        record_teams(store, {"amber": {"name": "Ambér"}}, {})
    changed(place, f"UPDATE scorer_schema SET salt = '{'5a' * 32}'")
    seal(place, schema_table)
    with Store.open(place) as store:
        return store.read(lambda view: [line.text for line in log_lines(view.secret("log"), view.events())])


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_depends_only_on_the_events_and_the_salt(kind: str, tmp_path: Path) -> None:
    """SQLite and PostgreSQL have the same log, which is this one on any machine."""
    with new_places(kind, tmp_path) as new_place:
        found = recorded(new_place())

    assert [json.loads(line)["kind"] for line in found] == ["arrival", "arrival", "withdrawal", "team"]
    assert json.loads(found[-1])["head"] == "262883f8c0145b105902a9d446a71bd30df9242c1dd71cacfb060aa1ef6f6b37"


def test_a_record_goes_on_after_lost_events(new_place: NewPlace) -> None:
    """Their lines have the kind and the leaf that they had; an event begins the next epoch."""
    lost = [LogLine(2, "token", bytes(32), b"", 2, 1), LogLine(3, "arrival", bytes(31) + b"1", b"", 2, 1)]
    with Store.open(new_place()) as store:
        issue(store, "amber", "token")
        assert store.record_restored(lambda _: None) == 0
        assert store.record_restored(lambda _: lost) == 4
        issue(store, "birch", "token")
        lines = store.read(lambda view: list(log_lines(view.secret("log"), view.all_events)))

    assert [(line.epoch, line.index, line.kind) for line in lines] == [
        (1, 1, "token"),
        (1, 2, "token"),
        (1, 3, "arrival"),
        (2, 4, "restored"),
        (2, 5, "token"),
    ]
    assert [line.leaf for line in lines[1:3]] == [line.leaf for line in lost]


# A record of version 1 goes on


SCHEMA_5 = Path(schema_5.__file__).parent
BIRCH = {"name": "Birch & Sons"}


@dataclass
class Earlier(Committed):
    """The challenge of a database of schema 5, which release 1.0.0 wrote; it is over and revealed."""

    @classmethod
    def opened(cls, folder: Path) -> Earlier:
        shutil.copytree(SCHEMA_5, folder)
        return cls(folder, END)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.page("log.jsonl").splitlines()]

    def decide(self, name: str = "Elder") -> None:
        """Record an event, and render the site."""
        self.do(END, lambda _, store: record_teams(store, {"amber": {"name": name}, "birch": BIRCH}, {}))
        self.rendered(END)


@pytest.fixture
def earlier(tmp_path: Path) -> Earlier:
    """A copy."""
    return Earlier.opened(tmp_path / "earlier")


def test_the_next_event_goes_on_with_version_2(earlier: Earlier) -> None:
    """An event before it has the digest of the kinds of all events before; the earlier lines stay. It comes once."""
    earlier.rendered(END)
    before = earlier.page("log.jsonl")
    count = before.count("\n")
    assert "version" not in before
    earlier.decide()
    earlier.decide("Older")

    assert earlier.page("log.jsonl").startswith(before)
    assert [(each["version"], each["epoch"], each["kind"]) for each in earlier.lines[count:]] == [
        (2, 1, "log"),
        (2, 1, "team"),
        (2, 1, "team"),
    ]
    kinds = "".join(f"{each['kind']}\n" for each in earlier.lines[:count])
    (event,) = earlier.events("log")
    assert event.values == {"version": 2, "kinds": hashlib.sha256(kinds.encode()).hexdigest()}


def test_a_kind_that_was_changed_before_is_found_by_the_next_event(earlier: Earlier, tmp_path: Path) -> None:
    """By its text, which the site and the archive have."""
    earlier.decide()
    archived(earlier, tmp_path / "archive.zip")
    log, texts = (earlier.folder / "site" / name for name in ("log.jsonl", "log-texts.jsonl"))
    assert here("verify", "log", log, "--texts", texts).code == 0
    assert here("verify", "challenge", tmp_path / "archive.zip").code == 0
    assert problems(tmp_path / "archive.zip") == []
    changed_kind = earlier.page("log.jsonl").replace('"kind":"phases"', '"kind":"token"', 1)
    content = members(tmp_path / "archive.zip")
    (tmp_path / "archive.zip").write_bytes(
        sealed(with_manifest({**content, "public/log.jsonl": changed_kind.encode()}))
    )
    log.write_text(changed_kind)

    (found,) = failed(here("verify", "log", log, "--texts", texts))
    assert found.endswith("kinds of the 29 events before it: the kind of an event was changed")
    assert found in failed(here("verify", "challenge", tmp_path / "archive.zip"))
    assert problems(tmp_path / "archive.zip") != []
    note = here("verify", "log", log).out.splitlines()[-1]
    assert note == (
        "note    the heads of 29 events have version 1 and do not cover kinds: an earlier copy, or --texts "
        "log-texts.jsonl, shows whether one was changed"
    )


def test_an_archive_of_version_1_is_verified(tmp_path: Path) -> None:
    """With a note on what its heads cannot show, but for its statistics; a second program agrees."""
    answer = here("verify", "challenge", SCHEMA_5 / "challenge-archive.zip")

    assert answer.code == 3
    assert "note    the heads of 29 events have version 1 and do not cover kinds: " in answer.out
    assert problems(SCHEMA_5 / "challenge-archive.zip") == []


def test_receipts_and_heads_of_version_1_stay_as_they_are(earlier: Earlier, tmp_path: Path) -> None:
    """Those of later events have version 2 and an epoch; both are verified."""
    earlier.rendered(END)
    first = here("receipt", "main/amber/1.txt", "--challenge", earlier.folder).out
    head = here("heads", "--challenge", earlier.folder).out
    assert re.match(r"29:[0-9a-f]{64} ", head)
    assert (json.loads(first.splitlines()[0])["version"], "epoch" in first.splitlines()[0]) == (1, False)
    earlier.put("elm/1.txt", GOOD, END)
    earlier.run(END)
    earlier.rendered(END)
    second = here("receipt", "main/elm/1.txt", "--challenge", earlier.folder).out
    assert (json.loads(second.splitlines()[0])["version"], json.loads(second.splitlines()[0])["epoch"]) == (2, 1)
    later = here("heads", "--challenge", earlier.folder).out
    assert re.match(r"1\.31:[0-9a-f]{64} ", later)

    assert here("receipt", "main/amber/1.txt", "--challenge", earlier.folder).out == first
    site = earlier.folder / "site"
    for text in (first, second):
        (tmp_path / "receipt.txt").write_text(text)
        options = ("--key", site / "receipts.pem", "--log", site / "log.jsonl")
        assert failed(here("verify", "receipt", tmp_path / "receipt.txt", *options)) == []
    for line in (head, later):
        assert here("verify", "log", site / "log.jsonl", "--head", line.strip()).code == 0


def test_the_event_that_is_recorded_next_has_the_next_index(earlier: Earlier) -> None:
    """Also before the log is switched over: the names of delivered files have it."""
    for _ in range(2):
        (index,) = earlier.do(END, lambda _, store: [store.read(lambda view: view.next_index)])
        earlier.decide(f"Elder {index}")
        assert earlier.events()[-1].index == index


@pytest.mark.parametrize("kind", ["arrival", *rest(["team", "pick", "erratum", "phases", "commitment"])])
def test_a_hidden_event_is_found_by_a_head(kind: str, tmp_path: Path) -> None:
    """It has the kind of one whose text may be secret, its text is dropped, and all heads are computed again."""
    live = decided(tmp_path / "live")
    archive = archived(live, tmp_path / "archive.zip")
    content = members(archive)
    lines, texts = rows(content, "public/log.jsonl"), rows(content, "public/events.jsonl")
    honest = lines[-1]["head"]
    line = next((each for each in lines if each["kind"] == kind), lines[3])
    hidden = [row for row in texts if row["index"] != line["index"]]
    line["kind"] = "token"
    for again in (False, True):
        if again:
            chain(lines)
        document = {"public/log.jsonl": lines_of(lines), "public/events.jsonl": lines_of(hidden)}
        archive.write_bytes(sealed(with_manifest({**content, **document})))
        assert here("verify", "challenge", archive, *(("--head", honest) if again else ())).code == 1
        assert problems(archive, honest if again else "") != []


class TestInTheBrowser:
    """What only a browser shows."""

    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("dark", [False, True])
    @pytest.mark.parametrize("width", [390, 1440])
    @pytest.mark.parametrize("path", ["verification.html", "teams/alder.html"])
    def test_the_pages_fit_and_are_accessible(self, path: str, width: int, dark: bool, tab: Page, live: Live) -> None:
        """On phones and on wide windows, though a hash is one long word."""
        live.site(day(14))
        tab.open((live.challenge.site_path / path).as_uri(), width=width, dark=dark)

        assert tab.ask("document.documentElement.scrollWidth") <= width
        assert tab.errors == []
        if has_axe():
            assert violations(tab) == []
