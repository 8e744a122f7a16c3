"""The pages of a challenge with phases: status, rules, late board, archive, team pages, and leaderboard.json."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from scorer.board.board import rule_sections
from scorer.board.build import board
from scorer.board.site.captions import track_status
from scorer.limits import ATTEMPTS, Limits
from scorer.live.entries import quota_line
from scorer.organising import render as organising_boards
from scorer.organising.commitment import reveal
from scorer.organising.picks import pick
from scorer.organising.render import at_close, boards
from tests.accessibility import check_page
from tests.browser import IN_BROWSER, Page
from tests.commands import Terminal
from tests.databases import record_teams
from tests.live_challenges import BEST, FAIR, INVALID, KEY, PHASES, WEAK, Live, day
from tests.pages import board_row, board_rows, html_of, read, rows, said

BOARD, RULES, LATE = "main/index.html", "main/rules.html", "main/late.html"

HIDING = PHASES.replace('name = "two"', 'name = "two"\nshows = "nothing"')


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge with two phases; the first one has a grace and a freeze."""
    return Live.starter(tmp_path / "live")


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Live]:
    """Returns a challenge with some settings."""
    return partial(Live.starter, tmp_path / "live")


def strip(site: dict[str, str], path: str = BOARD) -> str:
    """The text of the status on a board."""
    return read(site[path]).of_class("live").words()


def words(page: str) -> str:
    """The text of the main part of a page."""
    return next(read(page).all("main")).words()


def paths(site: dict[str, str], page: str) -> list[str]:
    """Where the links of a page lead."""
    return [each.attributes.get("href") or "" for each in read(site[page]).all("a")]


# The status


def test_status_has_the_phase_its_state_and_the_time_of_the_next_change(live: Live) -> None:
    """At the exact second of each change; times are absolute and have a zone."""
    for now, lead in [
        (day(9), "Not started: phase one, from 10 January 2027, 00:00 UTC"),
        (day(10, 0), "Phase one is open until 20 January 2027, 00:00 UTC, with 1 hour of grace"),
        (day(19, 23, 59, 59), "Phase one is open until 20 January 2027, 00:00 UTC, with 1 hour of grace"),
        (
            day(20, 0),
            "Phase one is in its grace: it was open until 20 January 2027, 00:00 UTC, with 1 hour of grace",
        ),
        (day(20, 1), "Between phases: phase two, from 25 January 2027, 00:00 UTC"),
        (day(25, 0), "Phase two is open until 30 January 2027, 00:00 UTC"),
        (day(30, 0), "The track is over: phase two closed 30 January 2027, 00:00 UTC"),
    ]:
        found = track_status(live.board(now))
        assert found.striptags() == lead


def test_status_has_the_numbers_of_entries_and_teams_and_the_last_change(live: Live) -> None:
    """Without those of baselines; the time of the last change is there for programs."""
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.put("alder/2.txt", WEAK, day(10, 2))
    live.put("most-popular.txt", WEAK, day(10, 3))
    site = live.run_and_render(day(10, 4))

    assert "2 entries of 1 team. Last change 10 January 2027, 04:00 UTC." in strip(site)
    times = [each.attributes["datetime"] for each in read(site[BOARD]).of_class("live").all("time")]
    end, final, last, opened, frozen, marked = times
    assert (final, last) == ("2027-01-30T00:00:00Z", "2027-01-10T04:00:00Z")
    assert (opened, frozen, end) == ("2027-01-10T00:00:00Z", "2027-01-19T00:00:00Z", "2027-01-20T00:00:00Z")
    assert marked == end


def test_status_says_when_final_scores_are_shown(live: Live) -> None:
    """Until the last phase has closed; then the scores are final."""
    live.put("alder/1.txt", FAIR, day(10, 1))

    final = "Final scores are not shown until phase two has closed"
    assert f"Preliminary scores. {final}, 30 January 2027, 00:00 UTC." in strip(live.run_and_render(day(10)))
    assert f"Preliminary scores. {final}." in strip(live.site(day(25)))
    assert "Final scores." in strip(live.run_and_render(day(30, 0)))
    assert "not shown until" not in strip(live.site(day(30, 0)))


def test_status_says_why_scores_over_all_queries_are_shown(build: Callable[..., Live]) -> None:
    """A track with phases and without preliminary queries shows them from the beginning."""
    live = build(flags=False)
    live.put("alder/1.txt", FAIR, day(10, 1))
    site = live.run_and_render(day(11))

    assert "Scores over all queries: the track has no preliminary queries." in strip(site)
    assert "The track has no preliminary queries" in words(site[RULES])
    assert "not shown until" not in words(site[RULES]) + strip(site)
    assert board_row(site[BOARD], "alder")["rank"] == "1"


def test_status_says_that_the_board_is_frozen(live: Live) -> None:
    """Since when, and when later entries appear; also on the front page and on the pages of teams."""
    live.put("alder/1.txt", WEAK, day(10, 1))
    live.run(day(18))
    live.put("alder/2.txt", BEST, day(19, 1))
    site = live.run_and_render(day(19, 2))

    assert (
        "The board is frozen since 19 January 2027, 00:00 UTC. It shows the record as of then; what is recorded later "
        "appears once the phase has closed." in strip(site)
    )
    assert "The board is frozen" in words(site["index.html"])
    assert "This page shows the record as of then." in words(site["teams/alder.html"])
    assert "1 entry of 1 team" in strip(site)
    assert "frozen" not in strip(live.site(day(20, 1)))


def test_a_phase_that_shows_nothing_lists_teams_without_scores(build: Callable[..., Live]) -> None:
    """In the order of their names, and nothing says which entry counts; the archive shows the scores later."""
    live = build("", HIDING)
    live.put("birch/1.txt", BEST, day(25, 1))
    live.put("alder/1.txt", WEAK, day(25, 2))
    site = live.run_and_render(day(26))

    assert "No scores are shown until the phase has closed; the board lists the teams." in strip(site)
    assert strip(site).count("30 January 2027, 00:00 UTC") == 1
    found = live.board(day(26))
    assert [(row.rank, row.team.name, row.entry) for row in found.rows] == [
        (None, "alder", None),
        (None, "birch", None),
    ]
    assert "Scores are not shown until phase two has closed, 30 January 2027, 00:00 UTC." in words(site[BOARD])
    assert "undefined" not in words(site["teams/alder.html"]) + words(site["index.html"])
    assert [row["strip"] for row in board_rows(site[BOARD])] == 2 * ["Scores are not shown yet. See why"]
    assert "0.2" not in words(site["teams/alder.html"]) + words(site["index.html"])
    assert [row[:2] for row in rows(live.site(day(30, 0))["main/phases/two.html"], "listed")] == [
        ["1", "birch"],
        ["2", "alder"],
    ]


def test_no_board_is_blank(live: Live) -> None:
    """It says why it shows no scores in one sentence, and so does the front page."""
    for now, sentence in [
        (day(9), "No scores yet: phase one starts 10 January 2027, 00:00 UTC."),
        (day(11), "No entries yet."),
        (day(19, 12), "No entries were recorded before the board was frozen."),
        (day(31), "No entries were received."),
    ]:
        site = live.site(now)
        assert sentence in words(site[BOARD])
        assert sentence in words(site["index.html"])


def test_the_front_page_has_one_status_of_tracks_in_the_same_phase_and_each_date_once(tmp_path: Path) -> None:
    """A file that fails in both tracks at the same time is one row; a track with other phases has its status."""
    live = Live.graded(tmp_path / "live", tracks=("main", "side"))
    live.run(day(8))
    for track in ("main", "side"):
        live.submit(f"{track}/birch/1.txt", INVALID, day(12))
    front = live.run_and_render(day(13))["index.html"]

    (line,) = (each for each in read(front).all("div") if "live" in (each.attributes.get("class") or "").split())
    assert "20 January 2027, 00:00 UTC, with 1 hour of grace in both tracks. Preliminary scores." in line.words()
    text = words(front)
    for date in ("Phase one started", "Board freezes for the end of phase one", "Phase one closes", "Phase two closes"):
        assert text.count(date) == 1, date
    assert text.count("Both tracks") == 1
    assert text.count("birch") == 1

    settings = live.folder / "challenge.toml"
    head, _, side = settings.read_text().rpartition('name = "one"')
    settings.write_text(f'{head}name = "first"{side}')
    other = Live.graded(tmp_path / "other", tracks=("main", "side"))
    (other.folder / "challenge.toml").write_text(settings.read_text())
    front = other.run_and_render(day(13))["index.html"]
    assert "in both tracks" not in words(front)
    assert "Phase one is open until" in words(front)
    assert "Phase first is open until" in words(front)
    assert "Side: Phase first started" in words(front)


def test_a_track_without_phases_keeps_its_stage(tmp_path: Path, terminal: Terminal) -> None:
    """No status, no script for it, and no late board; the rules have their page."""
    folder = tmp_path / "plain"
    terminal.run("init", folder)
    terminal.run("run", folder)
    page = (folder / "site" / BOARD).read_text(encoding="utf-8")

    assert "Preliminary scores. Last entry" in words(page)
    assert 'class="live"' not in page
    assert "left.js" not in page
    assert "Entries are received at any time." in words((folder / "site" / RULES).read_text(encoding="utf-8"))
    assert not (folder / "site" / LATE).exists()


def test_pages_depend_on_the_clock_only_through_the_state(live: Live) -> None:
    """The same record gives the same bytes at two times of a phase, on every page."""
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.run(day(10, 2))

    assert live.site(day(11)) == live.site(day(18, 23, 59, 59))
    assert live.site(day(18)) != live.site(day(19, 0))


# The rules


def test_rules_page_has_every_sentence_of_the_rule_sections(build: Callable[..., Live]) -> None:
    """Under headings, linked from the board, the front page and the pages of teams."""
    live = build('quota = {per_day = 3, total = 9, zone = "Asia/Tokyo", rejected_per_day = 2}\nentry = "picks"')
    live.put("alder/1.txt", FAIR, day(10, 1))
    site = live.run_and_render(day(11))
    sections = rule_sections(live.board(day(11)))

    page = words(site[RULES])
    assert all(" ".join(rule.split()) in page for section in sections for rule in section.rules)
    headings = [each.words() for each in read(site[RULES]).all("h2")]
    assert headings == [
        *("Scores and ranks", "Times", "Number of entries", "Which entry counts", "Teams", "Changes"),
        *("How files arrive", "Limits on files"),
    ]
    assert "rules.html" in paths(site, BOARD)
    assert RULES in paths(site, "index.html")
    assert f"../{RULES}" in paths(site, "teams/alder.html")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("", "Rejected, replaced, withdrawn, early and late entries never count, nor do entries whose time"),
        ("quota = {total = 9}", "nor do entries over the quota or entries whose time of receipt is not confirmed."),
        ("quota = {total = 9}", "A team has at most 9 scored entries in all."),
        ("", "The number of entries is not limited."),
        ('entry = "last"', "Of the entries of a team, the last scored one counts."),
        ('entry = "best"', "the one with the best preliminary nDCG@5 counts; of equal ones, the earliest."),
        ('entry = "picks"\npicks = 3', "A team may pick up to 3 entries."),
        ('entry = "picks"', "Of the entries that a team picks, the one with the best preliminary nDCG@5 counts"),
        ('entry = "picks"', "if none of its picks may count, its entry with the best preliminary nDCG@5 counts."),
        ("late_board = true", "They are listed on a late board after the last phase."),
        ('submission_format = "trec"', "The format of the file is trec."),
    ],
)
def test_rules_follow_the_settings(build: Callable[..., Live], settings: str, sentence: str) -> None:
    """Each setting has its sentence; the page has all of them."""
    live = build(settings)
    if "submission_format" not in settings:
        live.put("alder/1.txt", FAIR, day(10, 1))

    assert sentence in words(live.run_and_render(day(11))[RULES])


def test_rules_of_a_challenge_with_a_service_say_nothing_of_a_folder(build: Callable[..., Live]) -> None:
    """They say how files arrive, and what the time of receipt is; without one, they describe the folder."""
    quota = 'quota = {per_day = 3}\nentry = "picks"'
    live = build(quota)
    settings = live.folder / "challenge.toml"
    by_folder = words(live.site(day(11))[RULES])
    settings.write_text('site = {service = "https://example.org/"}\n' + settings.read_text())
    by_service = words(live.site(day(11))[RULES])

    for text, there in ((by_folder, True), (by_service, False)):
        for part in ("name of its folder", "at the beginning of its name", "deleted or replaced", "kept and marked"):
            assert (part in text) is there
    assert "folder" not in by_service
    for part in (
        "with the command scorer submit",
        "its last byte reached the service",
        "refuses a file over the quota",
    ):
        assert part in by_service
    assert "before its phase has closed" in by_service


def test_rules_have_every_limit() -> None:
    """Each limit on files, with its own value."""
    limits = Limits(**{name: 1_000 + number for number, name in enumerate(asdict(Limits()))})
    text = said("files.html", "limits", limits)

    assert all(f"{value:,}" in text for value in asdict(limits).values())
    assert f"It is tried {ATTEMPTS} times" in text


def test_rules_have_the_hash_of_the_key_of_a_split_and_later_the_key(build: Callable[..., Live]) -> None:
    """The key is on the page once it is revealed."""
    live = build('split = {preliminary = 0.5, key_file = "split.key"}', flags=False)
    live.put("alder/1.txt", FAIR, day(10, 1))
    site = live.run_and_render(day(11))

    board = live.board(day(11))
    assert board.split is not None
    assert board.split.key_sha256 in site[RULES]
    assert "with a share of 0.5" in words(site[RULES])
    assert "split.json" in paths(site, RULES)
    assert KEY not in site[RULES]
    with live.store(day(30)) as store:
        assert list(reveal(live.challenge, store, live.challenge.tracks))
    assert KEY in live.site(day(30))[RULES]


def test_rules_have_the_exact_second_of_a_deadline(build: Callable[..., Live]) -> None:
    """With the grace; the status has the second too, where it is not 0."""
    live = build("", PHASES.replace("end = 2027-01-20T00:00:00Z", "end = 2027-01-21T01:59:59+02:00"))
    site = live.site(day(11))

    assert (
        "The phase one receives entries from 10 January 2027, 00:00 UTC until 20 January 2027, 23:59:59 UTC, with "
        "1 hour of grace." in words(site[RULES])
    )
    assert "until 20 January 2027, 23:59:59 UTC, with 1 hour of grace." in strip(site)


# The late board


@pytest.fixture
def with_late(build: Callable[..., Live]) -> Live:
    """A challenge with early and late entries, better than those that count."""
    live = build("late_board = true")
    live.put("alder/early.txt", BEST, day(9, 22))
    live.run(day(9, 23))
    live.put("alder/1.txt", WEAK, day(10, 1))
    live.put("birch/1.txt", FAIR, day(10, 2))
    live.run(day(11))
    live.put("birch/late.txt", BEST, day(20, 2, 30))
    live.put("cedar/late.txt", FAIR, day(22))
    live.run(day(23))
    return live


def test_late_board_lists_entries_outside_of_the_phases_without_ranks(with_late: Live) -> None:
    """How late or early each was; no rank depends on them. JSON follows its schema, and links have targets."""
    site = with_late.site(day(30))

    table = rows(site[LATE], "listed")
    assert [(row[0], row[1], row[3]) for row in table] == [
        ("alder", "main/alder/early.txt", "2 hours early"),
        ("birch", "main/birch/late.txt", "2 hours late"),
        ("cedar", "main/cedar/late.txt", "2 days late"),
    ]
    assert table[0][2] == "9 January 2027, 22:00 UTC"
    assert [row[4] for row in table] == sorted((row[4] for row in table), reverse=True)
    assert "Rank" not in words(site[LATE])
    assert LATE in [path.removeprefix("../") for path in paths(site, BOARD)]
    ranks = {row.team.name: row.rank for row in with_late.board(day(30)).rows}
    assert ranks == {"birch": 1, "alder": 2, "cedar": None}

    document, schema = json.loads(site["main/leaderboard.json"]), json.loads(site["leaderboard-schema.json"])

    assert document.keys() == schema["properties"].keys() == set(schema["required"])
    assert document["phase"].keys() == schema["properties"]["phase"]["anyOf"][0]["properties"].keys()
    assert all(each.keys() == schema["properties"]["late"]["items"]["properties"].keys() for each in document["late"])
    assert {(each["team"], each["admission"], each["phase"]) for each in document["late"]} == {
        ("alder", "early", None),
        ("birch", "late", "one"),
        ("cedar", "late", "one"),
    }

    for path, text in html_of(site).items():
        page = read(text)
        ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
        assert len(ids) == len(set(ids)), path
        assert len(list(page.all("h1"))) == 1, path
        for link in paths(site, path):
            target, _, anchor = link.partition("#")
            if "://" in link or path == "404.html":
                continue
            folder = Path("/site") / Path(path).parent
            found = (folder / target).resolve().relative_to("/site").as_posix() if target else path
            assert with_late.has_page(found), (path, link)
            if "compare.html#a=" not in link:
                assert not anchor or anchor == "main" or f'id="{anchor}"' in site[found], (path, link)


def test_late_board_appears_when_the_last_phase_has_closed(with_late: Live) -> None:
    """Before, neither its page nor the scores of its entries are on the site, and without the setting never."""
    site = with_late.site(day(29, 23, 59, 59))

    assert LATE not in site
    assert not any("late.html" in path for path in paths(site, BOARD))
    assert json.loads(site["main/leaderboard.json"])["late"] == []
    toml = with_late.folder / "challenge.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("late_board = true", ""), encoding="utf-8")
    assert LATE not in with_late.site(day(30))


# Past phases


def test_past_phases_have_the_board_as_it_was_at_their_close(live: Live) -> None:
    """With what was received during the freeze and the grace, and without what came later."""
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.run(day(11))
    live.put("birch/1.txt", BEST, day(20, 0, 30))
    live.run(day(20, 0, 31))
    path = "main/phases/one.html"
    assert path not in live.site(day(20, 0, 59))
    site = live.site(day(20, 1))

    assert rows(site[path], "listed") == [["1", "birch", "1.0000", "1"], ["2", "alder", "0.8175", "1"]]
    assert path in [each.removeprefix("../") for each in paths(site, BOARD)]
    live.put("alder/2.txt", BEST, day(25, 1))
    live.put("cedar/1.txt", BEST, day(25, 2))
    live.put("birch/0.txt", BEST, day(20, 1))
    later = live.run_and_render(day(30))
    assert rows(later[path], "listed") == rows(site[path], "listed")
    assert [row[1] for row in rows(later["main/phases/two.html"], "listed")] == ["birch", "alder", "cedar"]
    assert "preliminary scores, without later decisions and errata" in words(later[path])


def test_the_board_of_a_close_has_no_statistics_and_one_measure(live: Live) -> None:
    """So that a site with many phases costs little."""
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.put("birch/1.txt", BEST, day(10, 2))
    live.run(day(11))
    (track,) = live.challenge.tracks
    phase = live.board(day(26)).phases.all[0]
    with live.store(day(26)) as store:
        found = store.read(lambda view: board(at_close(view, track, phase)))

    assert found.columns == ("nDCG@5",)
    assert found.certainty == ()
    assert found.now == day(20, 1) - timedelta(microseconds=1)


def test_past_boards_are_computed_once(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until what they depend on changes: here a file that the organiser imports after the close."""
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.run(day(11))
    live.site(day(21))
    with monkeypatch.context() as patch:
        patch.setattr(organising_boards, "_computed_board", lambda *_: pytest.fail("computed again"))
        live.site(day(26))
    live.put("birch/20270115T120000Z-1.txt", BEST, day(26))
    site = live.run_and_render(day(27))

    assert [row[1] for row in rows(site["main/phases/one.html"], "listed")] == ["birch", "alder"]


def test_teams_on_a_past_board_link_to_their_present_page(live: Live) -> None:
    """A team that is merged into another one since has no page."""
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.put("birch/1.txt", BEST, day(10, 2))
    live.run(day(11))
    (live.folder / "teams.toml").write_text('[birch]\nmerged_into = "alder"\n', encoding="utf-8")
    with live.store(day(22)) as store:
        record_teams(store, {"birch": {"merged_into": "alder"}}, {"birch": "one team"})
    site = live.site(day(23))

    assert [row[1] for row in rows(site["main/phases/one.html"], "listed")] == ["birch", "alder"]
    linked = [path for path in paths(site, "main/phases/one.html") if "teams/" in path]
    assert linked == ["../../teams/alder.html"]


# The pages of teams


def changes(site: dict[str, str], name: str) -> list[str]:
    """What the page of a team says on what changed, which `leaderboard.json` says, too, except for phases."""
    said = [item.words() for item in read(site[f"teams/{name}.html"]).of_class("changes").all("li")]
    (row,) = (row for row in json.loads(site["main/leaderboard.json"])["rows"] if row["team"] == name)
    assert row["changes"] == [sentence for sentence in said if not sentence.startswith("When")]
    return said


def test_a_team_sees_what_changed_since_the_day_before(live: Live) -> None:
    """A team that removed its only file was ahead; one that handed in passed it. The rank of a past phase stays."""
    live.put("alder/1.txt", FAIR, day(10, 1))
    birch = live.put("birch/1.txt", BEST, day(10, 2))
    live.run(day(11))
    live.put("cedar/1.txt", WEAK, day(12, 1))
    assert changes(live.run_and_render(day(12, 2)), "alder")[:2] == [
        "Since the end of 11 January 2027: rank 2 then and now; passed by no team.",
        "Since its last scored entry, 10 January 2027, 01:00 UTC: rank 1 then, 2 now; passed by birch.",
    ]
    birch.unlink()
    live.run(day(12, 3))
    live.put("dogwood/1.txt", BEST, day(12, 4))
    site = live.run_and_render(day(12, 5))
    assert changes(site, "alder")[:2] == [
        "Since the end of 11 January 2027: rank 2 then and now; passed by dogwood.",
        "Since its last scored entry, 10 January 2027, 01:00 UTC: rank 1 then, 2 now; passed by dogwood.",
    ]
    assert changes(site, "dogwood")[0] == "Since the end of 11 January 2027: no rank then, rank 1 now."
    assert changes(live.site(day(21)), "alder")[-1] == (
        "When phase one closed, 20 January 2027: rank 2 by preliminary scores."
    )


@pytest.fixture
def with_quota(build: Callable[..., Live]) -> Live:
    """A challenge with a quota in a zone ahead of UTC; a team has used some of it."""
    live = build('quota = {per_day = 2, per_phase = 5, total = 10, rejected_per_day = 1, zone = "Asia/Tokyo"}')
    live.put("alder/early.txt", FAIR, day(9))
    live.run(day(9, 13))
    for name, content, received in (
        ("alder/1.txt", FAIR, day(10, 1)),
        ("alder/2.txt", BEST, day(10, 2)),
        ("alder/3.txt", WEAK, day(10, 3)),
        ("birch/1.txt", INVALID, day(10, 4)),
        ("most-popular.txt", WEAK, day(10, 5)),
    ):
        live.put(name, content, received)
    live.run(day(10, 6))
    return live


def test_team_page_has_what_is_left_of_the_quota_and_when_it_resets(with_quota: Live) -> None:
    """By the calendar day of the zone of the quota; a baseline has no quota."""
    site = with_quota.site(day(10, 7))

    assert (
        "Left of its quota: 0 of 2 scored entries a day, 3 of 5 scored entries in the phase one, 8 of 10 scored "
        "entries in all, 1 of 1 rejected file a day. The limits of a day begin again 10 January 2027, 15:00 UTC "
        "(midnight in Asia/Tokyo)." in words(site["teams/alder.html"])
    )
    assert "0 of 1 rejected file a day" in words(site["teams/birch.html"])
    assert "quota:" not in words(site["teams/most-popular.html"])


def test_what_is_left_begins_again_with_the_day_and_the_phase(with_quota: Live) -> None:
    """The total stays; between phases, the limit of a phase is that of the next one; at the end nothing is left."""
    next_day = words(with_quota.site(day(10, 15))["teams/alder.html"])
    between = words(with_quota.site(day(22))["teams/alder.html"])

    assert "2 of 2 scored entries a day, 3 of 5 scored entries in the phase one, 8 of 10" in next_day
    assert "begin again" not in next_day
    assert "5 of 5 scored entries in the phase two, 8 of 10 scored entries in all" in between
    assert "quota:" not in words(with_quota.site(day(30))["teams/alder.html"])


def test_what_is_left_is_that_of_the_beginning_of_a_freeze(with_quota: Live) -> None:
    """An entry of the frozen period does not show."""
    with_quota.put("alder/4.txt", BEST, day(19, 1))
    page = words(with_quota.run_and_render(day(19, 2))["teams/alder.html"])

    assert "Left of its quota when the board was frozen: 2 of 2 scored entries a day, 3 of 5" in page


def test_team_page_has_phase_and_state_of_each_entry_in_plain_words(with_quota: Live) -> None:
    """And says below the table what the states mean."""
    with_quota.put("birch/1.txt", FAIR, day(11))
    (with_quota.folder / "submissions" / "main" / "alder" / "1.txt").unlink()
    with_quota.run(day(12))
    with_quota.put("birch/late.txt", FAIR, day(22))
    site = with_quota.run_and_render(day(23))

    alder = [row[1].partition(" UTC ")[2] for row in rows(site["teams/alder.html"], "entries")]
    birch = [row[1].partition(" UTC ")[2] for row in rows(site["teams/birch.html"], "entries")]
    assert alder == ["over the quota Phase one", "counts Phase one", "withdrawn Phase one", "early"]
    assert birch == ["late Phase one", "counts Phase one", "replaced Phase one"]
    for text in ("An entry over the quota is kept", "A withdrawn entry does not count", "An early entry was received"):
        assert text in words(site["teams/alder.html"])
        assert text not in words(site["teams/birch.html"])
    for text in ("A late entry was received when its phase had closed.", "A replaced entry does not count"):
        assert text in words(site["teams/birch.html"])


# Picks


def picked(live: Live, now: datetime, *names: str) -> str | None:
    """The file of the counting entry of the first team, once these entries are picked."""
    with live.store(now) as store:
        if names:
            pick(live.challenge, store, names)
        entry = store.read(lambda view: boards(view, live.challenge.tracks)[0]).rows[0].entry
    return None if entry is None else entry.file


def test_the_best_pick_counts(build: Callable[..., Live]) -> None:
    """Of the picks the best preliminary one; without picks, and if none may count, the best of all."""
    live = build('entry = "picks"')
    for number, content in enumerate((WEAK, FAIR, BEST, INVALID)):
        live.put(f"alder/{number}.txt", content, day(10, 1 + number))
    live.run(day(11))

    assert picked(live, day(11)) == "main/alder/2.txt"
    assert picked(live, day(11), "main/alder/0.txt", "main/alder/1.txt") == "main/alder/1.txt"
    assert picked(live, day(11), "main/alder/0.txt") == "main/alder/0.txt"
    assert picked(live, day(12, 1), "main/alder/0.txt", "main/alder/1.txt") == "main/alder/1.txt"
    marks = [row[1] for row in rows(live.site(day(12, 1))["teams/alder.html"], "entries")]
    assert ["Picked" in mark for mark in marks] == [False, False, True, True]
    assert picked(live, day(12, 1), "main/alder/0.txt") == "main/alder/0.txt"
    (live.folder / "submissions" / "main" / "alder" / "0.txt").unlink()
    live.run(day(13))
    assert picked(live, day(13)) == "main/alder/2.txt"


# leaderboard.json


def test_json_has_the_phase(live: Live) -> None:
    """Its times, the state of the track, and since when the board is frozen; null for a track without phases."""
    for now, name, state, frozen in [
        (day(9), "one", "not started", None),
        (day(11), "one", "open", None),
        (day(19, 1), "one", "open", "2027-01-19T00:00:00Z"),
        (day(20, 0, 30), "one", "in its grace", "2027-01-19T00:00:00Z"),
        (day(22), "two", "between phases", None),
        (day(26), "two", "open", None),
        (day(30), "two", "over", None),
    ]:
        phase = json.loads(live.site(now)["main/leaderboard.json"])["phase"]
        assert (phase["name"], phase["state"], phase["frozen_since"]) == (name, state, frozen)
        if name == "one":
            assert phase["start"] == "2027-01-10T00:00:00Z"
            assert (phase["end"], phase["closes"]) == ("2027-01-20T00:00:00Z", "2027-01-20T01:00:00Z")


# scorer check --team


def test_quota_line_has_what_a_team_has_left(with_quota: Live) -> None:
    """Now, also during a freeze; with the time at which the limits of a day begin again."""
    with_quota.put("alder/4.txt", BEST, day(19, 1))
    with_quota.run(day(19, 2))

    def line(team: str, now: datetime) -> str:
        with with_quota.store(now) as store:
            return store.read(lambda view: quota_line(view, with_quota.challenge.tracks[0], team))

    assert line("alder", day(19, 3)) == (
        "alder: left of its quota: 1 of 2 scored entries a day, 2 of 5 scored entries in the phase one, 7 of 10 scored "
        "entries in all, 1 of 1 rejected file a day; the limits of a day begin again at 2027-01-19 15:00:00 UTC"
    )
    assert line("most-popular", day(11)) == "most-popular: a baseline has no quota"
    assert "of its quota: 2 of 2 scored entries a day, 5 of 5" in line("elm", day(11))
    assert line("elm", day(11)).endswith("; no team has an entry under this name")
    assert line("alder", day(30)) == "alder: the last phase of the track main has closed"


def test_check_says_what_a_team_has_left(tmp_path: Path, terminal: Terminal) -> None:
    """After the check, from the database; without a database it says that nothing is known."""
    folder = tmp_path / "challenge"
    terminal.run("init", folder)
    toml = folder / "challenge.toml"
    toml.write_text(toml.read_text(encoding="utf-8") + "quota = {total = 5}\n", encoding="utf-8")
    file = tmp_path / "run.txt"
    file.write_text(FAIR, encoding="utf-8")
    arguments = ("check", file, "--track", "main", "--challenge", folder, "--team", "first-team")

    unknown = terminal.run(*arguments)
    assert unknown.code == 0
    assert unknown.out.splitlines()[-1].startswith("first-team: nothing is known about its quota (")
    assert not (folder / "scores.db").exists()
    terminal.run("run", folder)
    found = terminal.run(*arguments)

    assert found.out.splitlines()[-1] == "first-team: left of its quota: 4 of 5 scored entries in all"
    assert found.out.startswith(f"{file}: valid for track main")


def test_check_exits_with_1_for_an_invalid_file_also_with_a_team(tmp_path: Path, terminal: Terminal) -> None:
    """And still says what is left."""
    folder = tmp_path / "challenge"
    terminal.run("init", folder)
    terminal.run("run", folder)
    file = tmp_path / "run.txt"
    file.write_text(INVALID, encoding="utf-8")
    answer = terminal.run("check", file, "--track", "main", "--challenge", folder, "--team", "first-team")

    assert answer.code == 1
    assert answer.out == "first-team: the track main has no quota\n"


# All pages


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a site with each of the pages, whose last phase is open and shows nothing."""
    folder = tmp_path_factory.mktemp("live") / "live"
    settings = 'late_board = true\nquota = {per_day = 2}\nentry = "picks"'
    live = Live.starter(folder, settings, HIDING)
    live.put("alder/a-file-with-a-very-long-name-for-a-narrow-window.txt", FAIR, day(9))
    live.run(day(9, 13))
    live.put("birch/1.txt", BEST, day(10))
    live.run(day(10, 13))
    live.site(day(26))
    (folder / "site").rename(folder / "open")
    live.site(day(30))
    return folder.as_uri()


class TestInBrowser:
    """The new pages in a browser."""

    pytestmark = IN_BROWSER

    PAGES = (
        "open/index.html",
        "open/main/index.html",
        "open/teams/alder.html",
        f"site/{RULES}",
        f"site/{LATE}",
        "site/main/phases/one.html",
    )

    @pytest.mark.parametrize("path", PAGES)
    def test_pages_are_sound(self, tab: Page, shown: str, path: str) -> None:
        """In light and dark, and as wide as a small phone."""
        for dark, width in ((False, 1280), (True, 320)):
            check_page(tab, f"{shown}/{path}", width, dark=dark)

    def test_the_time_left_follows_the_time_without_moving_anything(self, tab: Page, shown: str) -> None:
        """The script fills a place that is there without it."""
        places = "[...document.querySelectorAll('main *')].map(each => each.getBoundingClientRect().top).join()"
        tab.open(f"{shown}/open/main/index.html")
        left, with_script = tab.ask("document.querySelector('.left').textContent"), tab.ask(places)
        tab.ask("document.querySelector('.left').textContent = ''; 0")

        assert re.fullmatch(r"(\(in \d+ (day|hour|minute)s?\))?", left)
        assert tab.ask(places) == with_script

    @pytest.mark.parametrize(
        ("at", "state", "left"),
        [
            (day(29, 22), "Phase two is open until", "(in 2 hours)"),
            (day(29, 23, 59, 59), "Phase two is open until", "(in 0 minutes)"),
            (day(30, 0), "Phase two was open until", ""),
        ],
    )
    def test_the_state_of_a_phase_follows_the_time_and_not_the_last_render(
        self, tab: Page, shown: str, at: datetime, state: str, left: str
    ) -> None:
        """From the second at which it closes, on board and front page. Without a script, the date is there."""
        clock = f"Date.now = () => {at.timestamp() * 1000:.0f}"
        script = tab.send("Page.addScriptToEvaluateOnNewDocument", source=clock)["identifier"]
        for path in ("open/main/index.html", "open/index.html"):
            tab.open(f"{shown}/{path}")
            text = tab.ask("document.querySelector('.live p').textContent")
            assert text.startswith(f"{state} 30 January 2027, 00:00 UTC.")
            assert tab.ask("document.querySelector('.left').textContent") == left
            tab.open(f"{shown}/{path}", scripts=False)
            text = tab.ask("document.querySelector('.live p').textContent")
            assert text.startswith("Phase two is open until 30 January 2027, 00:00 UTC.")
        tab.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
