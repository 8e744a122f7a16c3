"""The first screen of the front page, and the files for those who take part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from scorer.board.site.pages import kit, participants_files
from scorer.settings.tracks import Branding, Challenge
from tests.boards import board, board_of, challenge, scored_row
from tests.commands import here
from tests.live_challenges import BEST, FAIR, WEAK, Live, day
from tests.pages import Element, pages, read


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Live]:
    """Returns a challenge with two phases and some settings."""
    return partial(Live.starter, tmp_path / "live")


def front(page: str) -> Element:
    """The first screen."""
    return read(page).of_class("front")


def facts(page: str) -> dict[str, str]:
    """The facts of the first screen by their names."""
    return {
        next(each.all("dt")).words(): "; ".join(value.words() for value in each.all("dd"))
        for each in next(front(page).all("dl")).all("div")
    }


def test_the_first_screen_says_until_when_and_has_one_button(build: Callable[..., Live]) -> None:
    """At the exact second of each change; the button leads to the steps, and is gone when all is over."""
    live = build()
    for now, dates in [
        (day(9), "opens 10 January 2027, 00:00 UTC"),
        (day(19, 23, 59, 59), "20 January 2027, 00:00 UTC, with 1 hour of grace"),
        (day(20, 0), "closed 20 January 2027, 00:00 UTC, with 1 hour of grace"),
        (day(20, 1), "opens 25 January 2027, 00:00 UTC"),
        (day(30, 0), "closed 30 January 2027, 00:00 UTC"),
    ]:
        page = live.site(now)["index.html"]
        found = facts(page)
        assert (found.get("Closes") or found.get("Dates")) == dates
        buttons = [
            (each.words(), each.attributes["href"]) for each in front(page).all("a") if "button" in each.classes()
        ]
        assert buttons == ([] if now == day(30, 0) else [("Take part", "#part")])
        assert (
            "For each query, list up to 5 items, the best first; hand in all lists as one file." in front(page).words()
        )


def test_the_first_screen_counts_teams_and_states_the_limits(build: Callable[..., Live]) -> None:
    """Without baselines, each team once; what arrives during a freeze is not counted."""
    live = build("\n[tracks.main.quota]\nper_day = 2\ntotal = 9\n")
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.put("alder/2.txt", BEST, day(10, 2))
    live.put("most-popular.txt", WEAK, day(10, 3))
    page = live.run_and_render(day(10, 4))["index.html"]
    assert facts(page)["Teams"] == "1"
    assert facts(page)["Entries of a team"] == "at most 2 a day, 9 in all"

    live.run(day(18))
    live.put("birch/1.txt", FAIR, day(19, 1))
    assert facts(live.run_and_render(day(19, 2))["index.html"])["Teams"] == "1"
    assert facts(live.run_and_render(day(20, 1))["index.html"])["Teams"] == "2"


def test_what_differs_between_tracks_has_their_titles() -> None:
    """Lengths are together in one sentence; limits that are the same are said once."""
    declared = challenge(quota={"per_phase": 1000}, phases=[{"name": "a", "start": day(1), "end": day(2)}])
    boards = [board_of(track, scored_row("solo", 0.3, 0.2, len(track.all_measures))) for track in declared.tracks]
    page = pages(declared, boards)["index.html"]
    assert "For each query of a track, list up to 10 or 30 items" in front(page).words()
    assert facts(page)["Entries of a team"] == "Cold start: at most 1,000 a phase; Pooled sequences: no limit"
    same = challenge()
    page = pages(same, [board(track) for track in same.tracks])["index.html"]
    assert facts(page)["Entries of a team"] == "no limit"
    assert "Dates" not in facts(page)


@pytest.mark.parametrize(
    ("contact", "link"),
    [
        ("lists+a@example.org", "mailto:lists+a@example.org"),
        ("https://example.org/a?b=<c>", "https://example.org/a?b=<c>"),
    ],
)
def test_the_contact_is_a_link_on_the_first_screen_and_in_the_steps(contact: str, link: str) -> None:
    """With a service, it is also where an invitation comes from."""
    for service in ("", "https://example.org/"):
        branding = Branding.model_validate({"contact": contact, "service": service})
        declared = challenge().model_copy(update={"branding": branding})
        page = read(pages(declared, [board(track) for track in declared.tracks])["index.html"])
        found = [each.words() for each in page.all("a") if each.attributes.get("href") == link]
        ask = ["Ask the organisers"]
        assert found == ([*ask, contact, *ask] if service else [contact, "the organisers"])


def test_without_a_contact_the_organisers_send_the_invitation() -> None:
    """Only where a service takes files."""
    declared = challenge().model_copy(update={"branding": Branding.model_validate({"service": "https://example.org/"})})
    site = pages(declared, [board(track) for track in declared.tracks])
    assert facts(site["index.html"])["Invitation"] == "The organisers send your team the link that signs it in"
    assert "Questions" not in facts(site["index.html"])
    plain = pages(challenge(), [board(track) for track in challenge().tracks])
    assert "Invitation" not in facts(plain["index.html"])


# The files


def with_lists(folder: Path, **settings: object) -> Challenge:
    """A challenge whose first track has three queries, and by default five candidates."""
    (folder / "queries.txt").write_text("1\n2\nb\n")
    (folder / "items.txt").write_text("a\nb\nc\nd\ne\n")
    (folder / "solution.txt").write_text("1:0:a\n")
    return challenge(
        folder, **{"queries": "queries.txt", "items": "items.txt", "list_length": 3, "cutoffs": [3], **settings}
    )


def files_of(declared: Challenge) -> dict[str, str]:
    """The files for participants."""
    return participants_files(declared, [board_of(track) for track in declared.tracks])


def test_the_sample_lists_the_first_candidates_for_each_query(tmp_path: Path) -> None:
    """But never a query for itself."""
    assert files_of(with_lists(tmp_path))["cold-start/sample.txt"] == "1:a,b,c\n2:a,b,c\nb:a,c,d\n"
    assert "pooled-sequences/sample.txt" not in files_of(with_lists(tmp_path))


def test_the_sample_has_made_up_items_without_candidates(tmp_path: Path) -> None:
    """The length of its lists is that of the track."""
    sample = files_of(with_lists(tmp_path, items=None))["cold-start/sample.txt"]
    assert sample.splitlines()[0] == "1:item-1,item-2,item-3"


def test_the_sample_has_the_format_of_the_track(tmp_path: Path) -> None:
    """A format that is no text has none."""
    sample = files_of(with_lists(tmp_path, submission_format="trec"))["cold-start/sample.txt"]
    assert sample.splitlines()[0].split()[:4] == ["1", "Q0", "a", "1"]
    assert "cold-start/sample.txt" not in files_of(with_lists(tmp_path, submission_format="parquet"))


def test_the_sample_of_many_queries_has_short_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At least one item each; with too many queries there is no sample."""
    for most, expected in ((6, "1:a,b\n2:a,b\nb:a,c\n"), (3, "1:a\n2:a\nb:a\n"), (2, None)):
        monkeypatch.setattr("scorer.board.site.pages.MOST_OF_SAMPLE", most)
        assert files_of(with_lists(tmp_path)).get("cold-start/sample.txt") == expected


def test_the_kit_has_the_files_of_the_site_and_checks_its_sample(build: Callable[..., Live], tmp_path: Path) -> None:
    """Unpacked, it is a challenge for `scorer check`."""
    live = build()
    site = live.run_and_render(day(9))
    with ZipFile(live.folder / "site/kit.zip") as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            name: site[name] for name in ("challenge.toml", "main/queries.txt", "main/sample.txt")
        }
        archive.extractall(tmp_path / "kit")
    answer = here("check", tmp_path / "kit/main/sample.txt", "--challenge", tmp_path / "kit")
    assert (answer.code, "valid for track main" in answer.out) == (0, True)
    assert [each.attributes["href"] for each in front(site["index.html"]).all("a")] == [
        "#part",
        "kit.zip",
        "main/sample.txt",
    ]
    assert "kit.zip" in read(site["main/index.html"]).of_class("steps").words()


def test_the_kit_is_the_same_bytes_at_any_time_and_place() -> None:
    """Its members are sorted and have one date. Files that are too large have no kit."""
    (content,) = kit({"b": "x" * 1000, "a/é": "y"}).values()
    assert {"kit.zip": content} == kit({"a/é": "y", "b": "x" * 1000})
    with ZipFile(BytesIO(content)) as archive:
        assert [(each.filename, each.date_time, each.external_attr >> 16) for each in archive.infolist()] == [
            ("a/é", (1980, 1, 1, 0, 0, 0), 0o644),
            ("b", (1980, 1, 1, 0, 0, 0), 0o644),
        ]
    assert kit({"a": "x" * 10_000_001}) == {}
