"""The timeline: what happened in public, from the record and the schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scorer.board.site.folder import write
from scorer.board.site.timeline import months, of_all_tracks
from scorer.live.timeline import Happening, Timeline
from scorer.organising.commitment import reveal
from scorer.organising.phases import extend
from scorer.organising.picks import amend, forget, pick
from scorer.organising.teams import disqualify, merge, reinstate, rename, unmerge, withdraw
from scorer.settings.tracks import Challenge
from scorer.store.store import Store
from tests import boards
from tests.accessibility import has_axe, violations
from tests.boards import board, erratum
from tests.browser import IN_BROWSER, Page
from tests.live_challenges import BEFORE, CORRECTED, GOOD, OTHER, PHASES, POOR, Live, day
from tests.pages import pages, read

SPLIT = "split = {preliminary = 0.5}\n"


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge with two tracks, of which the other one has a longer phase without a freeze; three teams."""
    live = Live.graded(tmp_path / "live", tracks=("main", "other"))
    text = (live.folder / "challenge.toml").read_text()
    first, second = text.split("[tracks.other]")
    second = second.split("[[")[0] + PHASES.split("[[")[1].join(("[[", "")).format(name="other")
    second = second.replace('freeze = "24h"\n', "").replace("2027-01-20", "2027-02-20")
    (live.folder / "challenge.toml").write_text(f"{first}[tracks.other]{second}")
    live.run(BEFORE)
    for hour, (team, lists) in enumerate((("amber", GOOD), ("birch", OTHER), ("cedar", POOR))):
        live.put(f"{team}/1.txt", lists, day(10, hour))
    live.run(day(10))
    return live


def texts(found: Timeline, track: str | None = "main") -> list[str]:
    """The happenings of a track, or of all with their tracks, the earliest first."""
    each = reversed(found.happenings)
    return [one.text for one in each if track in (None, one.track)]


def kinds(happenings: Sequence[Happening]) -> list[tuple[str, datetime]]:
    """The kind and the time of each."""
    return [(each.kind, each.at) for each in happenings]


def later(live: Live, at: datetime, end: datetime, name: str = "one") -> None:
    """Extend a phase of the main track."""
    live.do(at, lambda challenge, store: extend(challenge, store, "main", name, end, "a  broken\n server\x01"))


def test_phases_are_announced_start_freeze_end_and_close(live: Live) -> None:
    """Only what has happened is listed, from its exact second on; dates to come are separate."""
    found = live.timeline(day(10))

    assert texts(found) == ["Phases announced", "Phase one started"]
    assert [(each.text, each.at) for each in found.upcoming if each.track == "main"] == [
        ("Board freezes for the end of phase one", day(19, 0)),
        ("Phase one closes, with 1 hour of grace", day(20, 0)),
        ("Phase two starts", day(25, 0)),
        ("Phase two closes", day(30, 0)),
    ]
    over = live.timeline(day(31))
    assert texts(over) == [
        "Phases announced",
        "Phase one started",
        "Board frozen for the end of phase one",
        "Phase one closed, with 1 hour of grace",
        "Phase two started",
        "Phase two closed",
    ]
    assert {each.track for each in over.upcoming} == {"other"}
    assert list(over.happenings) == sorted(over.happenings, key=lambda each: (each.at, each.index), reverse=True)

    announced = next(each for each in live.timeline(day(10)).happenings if each.kind == "announced")

    assert announced.detail in (
        "one: 10 January 2027, 00:00 UTC to 20 January 2027, 00:00 UTC, with 1 hour of grace, frozen from "
        "19 January 2027, 00:00 UTC; two: 25 January 2027, 00:00 UTC to 30 January 2027, 00:00 UTC",
        "one: 10 January 2027, 00:00 UTC to 20 February 2027, 00:00 UTC, with 1 hour of grace",
    )

    dates = {"started": day(10, 0), "frozen": day(19, 0), "closed": day(20, 0)}
    for kind, moment in dates.items():
        for at, has_passed in ((moment - timedelta(microseconds=1), False), (moment, True)):
            found = live.timeline(at)
            for listed, is_there in ((found.happenings, has_passed), (found.upcoming, not has_passed)):
                assert ((kind, moment) in kinds([each for each in listed if each.track == "main"])) is is_there


def test_phases_that_change_before_their_start_are_listed(live: Live) -> None:
    """Only those that change, and those that are removed."""
    live.edit("start = 2027-01-25T00:00:00Z", 'shows = "nothing"\nstart = 2027-01-26T00:00:00Z')
    live.run(day(12))
    text = (live.folder / "challenge.toml").read_text()
    cut = text.index('[[tracks.main.phases]]\nname = "two"')
    (live.folder / "challenge.toml").write_text(text[:cut] + text[text.index("\n[tracks.other]") :])
    live.run(day(13))

    changed = [each.detail for each in live.timeline(day(14)).happenings if each.kind == "rescheduled"]

    assert changed == ["two: removed", "two: 26 January 2027, 00:00 UTC to 30 January 2027, 00:00 UTC, without scores"]


def test_an_extension_has_both_ends_and_the_reason(live: Live) -> None:
    """A date that did not pass by the phases of its time did not happen."""
    later(live, day(18), day(22))

    found = live.timeline(day(24))

    extended = next(each for each in found.happenings if each.kind == "extended")
    assert (
        extended.text == "Phase one extended: closes 22 January 2027, 12:00 UTC instead of 20 January 2027, 00:00 UTC"
    )
    assert extended.detail == "a broken server\\x01"
    main = [each for each in found.happenings if each.track == "main"]
    assert ("frozen", day(21)) in kinds(main)
    assert ("frozen", day(19, 0)) not in kinds(main)
    assert [at for kind, at in kinds(main) if kind == "closed"] == [day(22)]


def test_times_have_their_seconds(live: Live) -> None:
    """On the page too, where an extension may be shorter than a minute."""
    later(live, day(18), day(20, 0) + timedelta(seconds=30))
    found = live.timeline(day(24))
    live.render(day(24))
    page = read((live.folder / "site" / "timeline.html").read_text(encoding="utf-8"))

    extended = next(each for each in found.happenings if each.kind == "extended")
    assert extended.text.endswith("closes 20 January 2027, 00:00:30 UTC instead of 20 January 2027, 00:00 UTC")
    assert "20 January 2027, 00:00:30 UTC Main Phase one closed, with 1 hour of grace" in page.words()


def test_a_phase_that_closed_and_was_extended_closes_twice(live: Live) -> None:
    """During its grace. The board was frozen before, and is again."""
    later(live, day(20, 0, 30), day(23))

    main = [each for each in live.timeline(day(24)).happenings if each.track == "main"]

    assert [each for each in kinds(main[::-1]) if each[0] not in ("announced", "started")] == [
        ("frozen", day(19, 0)),
        ("closed", day(20, 0)),
        ("extended", day(20, 0, 30)),
        ("frozen", day(22)),
        ("closed", day(23)),
    ]


def decide(live: Live, number: int) -> None:
    """Decisions about teams, one an hour."""
    decisions = (
        lambda challenge, store: rename(challenge, store, "amber", "Ámber <b>"),
        lambda challenge, store: merge(challenge, store, "cedar", "amber", "one group"),
        lambda challenge, store: unmerge(challenge, store, "cedar", "two groups"),
        lambda challenge, store: disqualify(challenge, store, "birch", "two accounts"),
        lambda challenge, store: reinstate(challenge, store, "birch", "a mistake"),
        lambda challenge, store: withdraw(challenge, store, "birch", "no time"),
    )
    for hour, each in enumerate(decisions):
        live.do(day(number, hour), each)


def test_decisions_about_teams_are_listed_with_their_reasons(live: Live) -> None:
    """Teams have their present names."""
    decide(live, 12)

    found = [each for each in live.timeline(day(13)).happenings[::-1] if not each.track]

    assert [(each.text, each.detail) for each in found] == [
        ("Team amber named Ámber <b>", ""),
        ("Team cedar merged into Ámber <b>", "one group"),
        ("Team cedar separated from Ámber <b>", "two groups"),
        ("Team birch disqualified", "two accounts"),
        ("Team birch ranked again", "a mistake"),
        ("Team birch withdrawn", "no time"),
    ]
    assert {each.link for each in found} == {"teams/amber.html", "teams/birch.html", "teams/cedar.html"}


def test_everything_but_the_schedule_stops_while_a_track_is_frozen(live: Live) -> None:
    """What concerns all tracks stops while any of them is frozen; it appears when the freeze is over."""
    quiet = live.timeline(day(19))
    decide(live, 19)
    live.write_solution(CORRECTED)
    live.preview(day(19))
    live.apply(day(19, 13))

    assert live.timeline(day(19, 14)).happenings == quiet.happenings
    assert live.timeline(day(19, 14)).errata == {}
    later(live, day(19, 15), day(20, 0, 30))
    assert "extended" in [kind for kind, _ in kinds(live.timeline(day(19, 16)).happenings)]

    thawed = live.timeline(day(21))
    assert len([each for each in thawed.happenings if not each.track]) == 6
    assert [each.number for each in thawed.errata["main"]] == [1]


def test_an_erratum_of_a_track_is_public_while_another_track_is_frozen(live: Live) -> None:
    """It says nothing about the frozen one."""
    live.chosen = "other"
    live.write_solution(CORRECTED)
    live.preview(day(19))
    live.apply(day(19, 13), "swapped <i>grades</i>")

    found = live.timeline(day(19, 14))

    assert list(found.errata) == ["other"]
    (applied,) = live.events("erratum")
    text, reason = "Erratum 1 applied: solution", "swapped <i>grades</i>"
    assert found.happenings[0] == Happening(
        day(19, 13), "other", "erratum", text, reason, "other/errata/1.html", applied.index
    )


def test_previews_and_cancelled_errata_are_not_public(live: Live) -> None:
    """Nor what arrives, is withdrawn or picked."""
    before = live.timeline(day(13))
    live.write_solution(CORRECTED)
    live.preview(day(11))
    live.cancel(day(12))
    live.put("delta/1.txt", GOOD, day(12))
    live.run(day(12))

    assert live.timeline(day(13)) == before


def test_rules_that_change_before_the_start_are_named(live: Live, tmp_path: Path) -> None:
    """Neither their values nor digests are listed. An erratum is no such change."""
    other = Live.graded(tmp_path / "other")
    other.run(BEFORE)
    other.edit("list_length = 3", "list_length = 2")
    other.edit('primary = "nDCG@3"', 'primary = "nDCG@2"\ndescription = "no rule"')
    other.write_solution(CORRECTED)
    other.run(day(8))
    other.edit('"no rule"', '"nothing"')
    other.run(day(9))
    other.edit("list_length = 2", "list_length = 4")
    other.run(day(11))
    other.preview(day(11))
    other.apply(day(12))
    other.run(day(13))

    found = [each for each in other.timeline(day(13)).happenings if each.kind in ("rules", "erratum")]

    assert [(each.at, each.text, each.detail) for each in reversed(found)] == [
        (day(8), "Scoring changed: list_length, primary, solution", ""),
        (day(12), "Erratum 1 applied: list_length", "wrong grades"),
    ]


def test_the_hash_of_a_split_is_public_at_the_start_and_its_key_at_the_end(tmp_path: Path) -> None:
    """The timeline has the hash only."""
    live = Live.graded(tmp_path / "live", rules=SPLIT)
    solution = "".join(f"q{number}:0:a|1\n" for number in range(40))
    live.write_solution(solution)
    (live.folder / "split.key").write_text(f"{1:064}\n")
    (live.folder / "split.key").chmod(0o600)
    live.run(BEFORE)
    live.run(day(10))

    def publish(challenge: Challenge, store: Store) -> None:
        list(reveal(challenge, store, challenge.tracks))

    live.do(day(31), publish)
    found = [each for each in live.timeline(day(31, 13)).happenings if each.kind in ("split", "revealed")]

    assert [(each.kind, each.at, each.link) for each in found] == [
        ("revealed", day(31), "main/split.json"),
        ("split", BEFORE, "main/split.json"),
    ]
    assert found[1].detail == "SHA-256: ec4916dd28fc4c10d78e287ca5d9cc51ee1ae73cbfde08c6b37324cbfaac8bc5"
    assert f"{1:064}" not in str(found)


def test_a_challenge_without_phases_and_decisions_has_no_timeline(tmp_path: Path) -> None:
    """Its pages have neither a link to one nor to a feed."""
    live = Live.graded(tmp_path / "live", phases='stage = "preliminary"\n')
    live.put("amber/1.txt", GOOD, day(10))
    live.run(day(11))
    live.render(day(11))

    assert live.timeline(day(12)) == Timeline()
    assert not live.has_page("timeline.html")
    assert not live.has_page("feed.xml")
    assert "timeline.html" not in live.page("index.html")
    assert "atom" not in live.page("main/index.html")


# The page


def test_months_have_their_happenings() -> None:
    """The latest first."""
    found = months(boards.timeline(erratum()).happenings)

    assert {month: len(listed) for month, listed in found.items()} == {"July 2011": 3, "April 2011": 1, "March 2011": 1}
    assert list(found) == ["July 2011", "April 2011", "March 2011"]
    assert 'id="2011-07"' in site()["timeline.html"]


def site(detail: str = "Why.") -> dict[str, str]:
    """The files of a site with a timeline."""
    declared = boards.challenge()
    return pages(
        declared, [board(track) for track in declared.tracks], timeline=boards.timeline(erratum(), detail=detail)
    )


def test_the_page_has_every_happening_with_its_time_and_track() -> None:
    """Newest first, below the dates to come; links lead to pages that exist."""
    page = read(site()["timeline.html"])
    rows = [[cell.words() for cell in row.children] for body in page.all("tbody") for row in body.children]
    links = [link.attributes["href"] for row in page.all("tbody") for link in row.all("a")]

    assert rows == [
        ["18 August 2011, 01:30 UTC", "Cold start", "Phase one closes"],
        ["20 July 2011, 01:30 UTC", "Cold start", "Erratum 1 applied Two grades were swapped."],
        ["19 July 2011, 01:30 UTC", "All tracks", "Team tea renamed to tea-kettle Why."],
        ["19 July 2011, 01:30 UTC", "All tracks", "Team gone disqualified Why."],
        ["18 April 2011, 08:15 UTC", "Cold start", "Phase one started"],
        ["9 March 2011, 08:15 UTC", "Pooled sequences", "Phases announced Why."],
    ]
    assert links == ["cold-start/errata/1.html", "teams/tea-kettle.html"]


def test_hostile_texts_are_text() -> None:
    """No tag of a reason becomes one of the page."""
    page = site(" ".join(boards.HOSTILE))["timeline.html"]

    assert "<script>alert" not in page
    assert "<img" not in page
    assert read(page).children


def test_pages_link_the_timeline_and_the_feed() -> None:
    """From every depth."""
    files = site()

    for path, root in (("index.html", ""), ("cold-start/index.html", "../"), ("cold-start/errata/1.html", "../../")):
        page = read(files[path])
        feeds = [link for link in page.all("link") if link.attributes.get("rel") == "alternate"]
        assert [(each.attributes["type"], each.attributes["href"]) for each in feeds] == [
            ("application/atom+xml", f"{root}feed.xml")
        ]
        assert f"{root}timeline.html" in [link.attributes.get("href") for link in page.all("a")]


class TestInTheBrowser:
    """What only a browser shows."""

    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("width", [390, 1440])
    @pytest.mark.parametrize("path", ["timeline.html", "cold-start/errata.html", "cold-start/errata/1.html"])
    def test_the_pages_fit_and_are_accessible(self, path: str, width: int, tab: Page, tmp_path: Path) -> None:
        """On phones and on wide windows, also with a very long word."""
        write(site(boards.HOSTILE[5]), tmp_path)
        tab.open(f"{tmp_path.as_uri()}/{path}", width=width)

        assert tab.ask("document.documentElement.scrollWidth") <= width
        assert tab.errors == []
        if has_axe():
            assert violations(tab) == []

    @pytest.mark.parametrize("width", [320, 390, 720, 1024, 1440])
    def test_the_time_of_a_row_never_touches_its_track(self, width: int, tab: Page, tmp_path: Path) -> None:
        """The longest time has seconds."""
        write(site(), tmp_path)
        tab.open(f"{tmp_path.as_uri()}/timeline.html", width=width)
        longest = "30 September 2027, 23:59:59 UTC"
        tab.ask(f"for (const time of document.querySelectorAll('tbody time')) time.textContent = '{longest}'")
        gaps = tab.ask("""[...document.querySelectorAll('tbody tr')].map(row => {
          const words = document.createRange();
          words.selectNodeContents(row.querySelector('.where'));
          const [time, track] = [row.querySelector('time').getBoundingClientRect(), words.getBoundingClientRect()];
          return track.top >= time.bottom ? 99 : track.left - time.right;
        })""")

        assert min(gaps) >= 8

    def test_tracks_can_be_hidden_without_scripts(self, tab: Page, tmp_path: Path) -> None:
        """Each track has a box."""
        write(site(), tmp_path)
        tab.open(f"{tmp_path.as_uri()}/timeline.html")
        shown = "[...document.querySelectorAll('tbody tr')].filter(row => row.getClientRects().length).length"

        assert tab.ask(shown) == 6
        tab.ask("document.querySelector('#show-1').click()")
        assert tab.ask(shown) == 3


def test_what_is_the_same_in_all_tracks_is_one_row() -> None:
    """Without a link if the tracks have different ones; what differs in anything keeps its track."""
    at = datetime(2026, 9, 28, 8, tzinfo=UTC)
    same = [Happening(at, track, "started", "Phase one started", link=f"{track}/rules.html") for track in ("a", "b")]
    only = Happening(at, "a", "closed", "Phase warm-up closed")
    later = Happening(at + timedelta(hours=1), "b", "started", "Phase one started")

    assert of_all_tracks([later, *same, only], 2) == (later, Happening(at, "", "started", "Phase one started"), only)
    assert of_all_tracks([later, *same, only], 3) == (later, *same, only)
    assert of_all_tracks(same[:1], 1) == tuple(same[:1])


DECISIONS: list[tuple[Callable[[Challenge, Store, str], object], str]] = [
    (
        lambda challenge, store, index: amend(challenge, store, index, day(10, 5), "the <server> was down"),
        "Time of receipt of entry {index} of amber corrected to 10 January 2027, 05:00 UTC",
    ),
    (
        lambda challenge, store, index: forget(challenge, store, index, "the <server> was down"),
        "Entry {index} of amber to be scored again",
    ),
    (
        lambda challenge, store, index: pick(challenge, store, [index], reason="the <server> was down"),
        "Picks of amber recorded by the organisers",
    ),
]


@pytest.mark.parametrize(("decide", "text"), DECISIONS)
def test_decisions_on_entries_are_on_the_timeline_and_the_page_of_the_team(
    tmp_path: Path, decide: Callable[[Challenge, Store, str], object], text: str
) -> None:
    """With the reason, for all to see, and escaped."""
    live = Live.graded(tmp_path / "live", rules='entry = "picks"\n')
    live.run(BEFORE)
    live.put("amber/1.txt", GOOD, day(10))
    live.run(day(10))
    index = live.entries(day(10)).all[0].index
    live.do(day(11), lambda challenge, store: decide(challenge, store, str(index)))
    live.run(day(12))
    last = next(one for one in live.timeline(day(12)).happenings if one.kind == "decided")
    assert last.text == text.format(index=index)
    assert (last.detail, last.link, last.at) == ("the <server> was down", "teams/amber.html", day(11))
    site = live.site(day(12))
    for page in ("timeline.html", "teams/amber.html"):
        assert last.text in site[page]
        assert "the &lt;server&gt; was down" in site[page]
    of_entry = "Time corrected: <bdi>the &lt;server&gt; was down</bdi>"
    assert (of_entry in site["teams/amber.html"]) is text.startswith("Time of receipt")
