"""The pages: what they say, that they hold together, that foreign text stays text, and how they reach a folder."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scorer.board.board import Board
from scorer.challenge.settings import Track
from scorer.charts.timeline import Point, timeline
from scorer.errors import ScorerError
from scorer.measures import KINDS, Kind
from scorer.site.folder import MANIFEST, write
from scorer.site.pages import ASSETS, pages
from scorer.site.templates import shipped_templates
from tests.boards import FAULTS, HOSTILE, START, board, challenge, scored_row, team
from tests.browser import Page, browser, chromium

VOID = frozenset({"meta", "link", "input", "br", "wbr", "img", "hr"})


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    """Two boards, their teams and their measures."""
    declared = challenge()
    return pages(declared, [board(track) for track in declared.tracks])


def html_of(site: dict[str, str]) -> dict[str, str]:
    """The pages among the files."""
    return {path: text for path, text in site.items() if path.endswith(".html")}


# Reading a page


@dataclass
class Element:
    """What a test looks at."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str = "") -> Iterator[Element]:
        """Itself and everything in it, of one tag or of any."""
        if tag in ("", self.tag):
            yield self
        for child in self.children:
            yield from child.all(tag)

    def words(self) -> str:
        return " ".join(self.text.split())


class Reader(HTMLParser):
    """Builds the tree of a page; an element closed by another's end tag, or never, is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(text)
        self.close()
        assert len(self.open) == 1, f"never closed: {[each.tag for each in self.open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def read(text: str) -> Element:
    """A page as a tree."""
    return Reader(text).open[0]


def rows(page: str, table: str) -> list[list[str]]:
    """The texts of the cells of a table's body."""
    found = next(each for each in read(page).all("table") if each.attributes.get("class") == table)
    body = next(found.all("tbody"))
    return [[cell.words() for cell in row.children if cell.tag in ("td", "th")] for row in body.all("tr")]


def row_of(page: str, name: str) -> list[str]:
    """A team's row on a board."""
    return next(row for row in rows(page, "board") if name in row[1])


# The pages hold together


def test_every_page_is_well_formed(site: dict[str, str]) -> None:
    """Every element is closed by its own end tag, and each page is a document with a language and a title."""
    for path, text in html_of(site).items():
        page = read(text)
        assert [each.attributes.get("lang") for each in page.all("html")] == ["en"], path
        assert next(page.all("title")).words(), path
        assert len(list(page.all("h1"))) == 1, path


def test_ids_are_unique(site: dict[str, str]) -> None:
    """No page has an id twice."""
    for path, text in html_of(site).items():
        ids = [each.attributes["id"] for each in read(text).all() if "id" in each.attributes]
        assert len(ids) == len(set(ids)), path


def test_every_link_leads_somewhere(site: dict[str, str]) -> None:
    """Every link and source is a file of the site, every fragment an id in it, every reference by id is met."""
    ids = {path: {each.attributes.get("id") for each in read(text).all()} for path, text in html_of(site).items()}
    for path, text in html_of(site).items():
        for each in read(text).all():
            for name in ("href", "src"):
                address = each.attributes.get(name)
                if address is None or address.startswith("data:image/svg+xml,"):
                    continue
                target, _, fragment = address.partition("#")
                found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
                assert found in site, f"{path}: {address}"
                assert not fragment or fragment in ids[found], f"{path}: {address}"
            for reference in (each.attributes.get("aria-labelledby") or "").split():
                assert reference in ids[path], f"{path}: {reference}"


def test_nothing_is_loaded_from_elsewhere(site: dict[str, str]) -> None:
    """Neither pages nor style sheet nor script name a resource on a network."""
    for path, text in html_of(site).items():
        loading = [each for each in read(text).all() if each.tag in ("link", "script", "img", "iframe")]
        sources = [each.attributes.get("src") or each.attributes.get("href") or "" for each in loading]
        assert all(source.startswith("data:") or "//" not in source for source in sources), path
    assert "@import" not in site["style.css"]
    assert "url(" not in site["style.css"]
    assert not re.search(r"fetch|XMLHttpRequest|import\(|https?:", site["board.js"])


def test_tables_are_described(site: dict[str, str]) -> None:
    """Every table has a caption, every heading a scope, and every row of data a heading."""
    for path, text in html_of(site).items():
        for table in read(text).all("table"):
            assert next(table.all("caption")).words(), path
            assert all(head.attributes.get("scope") in ("col", "row") for head in table.all("th")), path
            assert all(list(row.all("th")) for row in table.all("tr")), path


def test_the_same_boards_give_the_same_bytes(site: dict[str, str]) -> None:
    """Rendering has no memory and no clock."""
    declared = challenge()
    assert pages(declared, [board(track) for track in declared.tracks]) == site


# Foreign text stays text


def test_hostile_names_are_shown_as_they_are(site: dict[str, str]) -> None:
    """The full name stands as text on the board and on the team's page."""
    for name in HOSTILE:
        assert any(name in row[1] for row in rows(site["cold-start/index.html"], "board"))
        assert next(read(site[f"teams/{team(name).slug}.html"]).all("h1")).words() == name


def test_hostile_text_adds_no_element(site: dict[str, str]) -> None:
    """No script but the board's own, no image, no handler, no inline style, whatever names and messages say."""
    for path, text in html_of(site).items():
        elements = list(read(text).all())
        scripts = [each.attributes.get("src") for each in elements if each.tag == "script"]
        assert scripts == (["../board.js"] if path.endswith("/index.html") else []), path
        assert not {"img", "iframe", "object", "b" if path == "cold-start/index.html" else "i"} & {
            each.tag for each in elements
        }
        attributes = {name for each in elements for name in each.attributes}
        assert not any(name.startswith("on") or name == "style" for name in attributes), path


def test_paths_come_from_slugs_alone(site: dict[str, str]) -> None:
    """No path has anything in it but what is safe everywhere."""
    assert all(re.fullmatch(r"([a-z0-9-]+/)?[a-z0-9-]+\.(html|css|js|csv|json)", path) for path in site)


# What the board says


def test_a_shared_rank_is_marked(site: dict[str, str]) -> None:
    """Equal scores show the same rank with a sign; the next rank is left out."""
    ranks = [row[0] for row in rows(site["cold-start/index.html"], "board")]
    assert ranks[:6] == ["1", "2", "=3", "=3", "5", "6"]


def test_the_first_page_shows_all_that_share_the_third_rank(site: dict[str, str]) -> None:
    """The teams of the first three ranks stand there with their scores."""
    found = [row for row in rows(site["index.html"], "top") if row]
    assert [(row[0], row[2]) for row in found] == [("1", "0.3127"), ("2", "0.3004"), ("=3", "0.2871"), ("=3", "0.2871")]


def test_a_baseline_stands_in_place_without_a_rank(site: dict[str, str]) -> None:
    """A baseline is marked by a word, and not ranked."""
    table = rows(site["cold-start/index.html"], "board")
    place = next(place for place, row in enumerate(table) if "most popular" in row[1])
    assert table[place][0] == "–"
    assert "baseline" in table[place][1]
    assert (table[place - 1][0], table[place + 1][0]) == ("8", "9")


def test_a_row_shows_its_scores(site: dict[str, str]) -> None:
    """Final score, preliminary score, the change of rank in words, the other measures, entries, last entry."""
    row = row_of(site["cold-start/index.html"], "north-window")
    assert row[2:5] == ["0.3004", "0.2751", "▲ up 2"]
    assert row[-2:] == ["4", "2011-05-08 14:07"]


def test_bars_and_strokes_share_a_scale(site: dict[str, str]) -> None:
    """The highest score on the board, be it final or preliminary, has the full width; others are in proportion."""
    page = read(site["cold-start/index.html"])
    first = next(row for row in page.all("tr") if row.attributes.get("id") == "team-tea-kettle")
    assert [bar.attributes["width"] for bar in first.all("rect")] == [f"{100 * 0.3127 / 0.3290:.1f}"]
    assert [stroke.attributes["d"] for stroke in first.all("path")] == ["M100.0 0v8"]


def test_a_change_of_rank_ignores_baselines(site: dict[str, str]) -> None:
    """The preliminary ranks are those of the ranked teams alone, equal ones shared."""
    changes = {row[0]: row[4] for row in rows(site["cold-start/index.html"], "board")}
    assert changes["6"] == "▼ down 1"
    assert changes["11"] == "same"


def test_equal_preliminary_scores_follow_the_rule_of_the_track() -> None:
    """Equal preliminary scores share a rank, or the earlier entry has the better one."""
    found = {}
    for rule in ("shared", "earlier"):
        declared = challenge(equal_ranks=rule)
        track = declared.tracks[0]
        two = (scored_row(1, "later-team", 0.3, 0.2, 5, entries=2), scored_row(2, "early", 0.2, 0.2, 5))
        page = pages(declared, [replace(board(track), rows=two)])["cold-start/index.html"]
        found[rule] = [row[4] for row in rows(page, "board")]
    assert found == {"shared": ["same", "▼ down 1"], "earlier": ["▲ up 1", "▼ down 1"]}


def test_a_team_with_nothing_scored_is_told_why(site: dict[str, str]) -> None:
    """Its row links to its page, which lists what was wrong, by line, and counts the rest."""
    assert "why" in row_of(site["cold-start/index.html"], "quiet-harbour")[1]
    told = [item.words() for item in read(site["teams/quiet-harbour.html"]).all("li")]
    assert FAULTS[0].text in told
    assert f"line 17 {FAULTS[1].text}" in told
    assert f"line 1,234 {FAULTS[2].text}" in told
    assert "and 9 more" in told


def test_a_team_page_shows_every_entry(site: dict[str, str]) -> None:
    """All entries, the latest first, with final and preliminary scores, and which of them counts."""
    found = rows(site["teams/tea-kettle.html"], "entries")
    assert [row[0] for row in found] == ["6", "5", "4", "3", "2", "1"]
    assert [("counts" in row[2]) for row in found] == [True] + [False] * 5
    assert found[0][3] == "0.3127, preliminary 0.3290"


def test_a_preliminary_board_shows_no_final_score(site: dict[str, str]) -> None:
    """While the stage is preliminary, there is one score, no change of rank, and no word of a final one."""
    page = site["pooled-sequences/index.html"]
    assert "Change" not in page
    assert "final" not in next(read(page).all("table")).text.lower()
    assert row_of(page, "tea-kettle")[2] == "0.3127"


def test_negative_zero_is_zero() -> None:
    """A score that rounds to zero from below is printed without a sign."""
    declared = challenge()
    one = replace(board(declared.tracks[0]), rows=(scored_row(1, "solo", -0.0, -0.0, 5),))
    assert row_of(pages(declared, [one])["cold-start/index.html"], "solo")[2] == "0.0000"


def test_a_challenge_without_submissions_has_pages() -> None:
    """Before anything was scored, the boards say so."""
    declared = challenge()
    empty = [Board(track, tuple(map(str, track.all_measures)), (), 0, 0, 0, "") for track in declared.tracks]
    site = pages(declared, empty)
    assert "Nothing is scored yet" in site["index.html"]
    assert "No team has sent anything" in site["cold-start/index.html"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_measure_is_explained(kind: Kind) -> None:
    """The page about measures has the title, the formula, the edge cases and the source of every kind there is."""
    name = kind.name + {"none": "", "optional": "", "required": "@10", "list": "@5,10", "level": "@0.1"}[kind.cutoff]
    declared = challenge(measures=[name])
    page = read(pages(declared, [board(declared.tracks[0])])["measures.html"]).words()
    for text in (kind.title, kind.summary, kind.formula, kind.edge_cases, kind.source):
        assert " ".join(text.split()) in page


def test_no_two_measures_share_an_anchor() -> None:
    """Two spellings of different measures never share an anchor on the page about measures."""
    declared = challenge(measures=["AP(rel=1.5)", "AP(rel=1)@5", "P@10", "Rp@10"])
    track: Track = declared.tracks[0]
    page = read(pages(declared, [board(track)])["measures.html"])
    ids = [each.attributes["id"] for each in page.all("li") if "id" in each.attributes]
    assert len(ids) == len(set(ids)) == len(track.all_measures)


def test_a_thousand_teams_fit_in_a_megabyte() -> None:
    """The board of 1,000 teams and ten measures stays under 1 MB."""
    measures = ["nDCG@10", "AP", "P@10", "RR", "R@10", "P@5", "nDCG@5", "R@5", "Rprec"]
    declared = challenge(measures=measures)
    track = declared.tracks[0]
    scores = tuple(0.1234 for _ in track.all_measures)
    row = scored_row(1, "a", 0.1, 0.1, 1)
    full = replace(row.entries[0], final=scores, preliminary=scores)
    many = tuple(
        replace(row, rank=1, team=team(f"team-with-a-name-{n}"), entry=full, entries=(full,)) for n in range(1000)
    )
    page = pages(declared, [replace(board(track), rows=many)])["cold-start/index.html"]
    assert page.count("<tr") == 1001
    assert len(page.encode()) < 1_000_000


# The organiser's templates


def test_the_shipped_templates_are_found() -> None:
    """Every page's template and every asset is where the package looks for it."""
    names = {path.name for path in shipped_templates().iterdir()}
    assert {*ASSETS, "layout.html", "index.html", "board.html", "team.html", "measures.html"} <= names


def own(folder: Path, name: str, content: bytes) -> Callable[[], dict[str, str]]:
    """A challenge with a template of its own; gives what renders it."""
    (folder / "templates").mkdir()
    (folder / "templates" / name).write_bytes(content)
    declared = challenge(folder)
    return lambda: pages(declared, [board(track) for track in declared.tracks])


def test_an_organisers_template_comes_first(tmp_path: Path) -> None:
    """A template beside challenge.toml replaces the shipped one of its name, and may build on the others."""
    render = own(tmp_path, "measures.html", b'{% extends "layout.html" %}{% block main %}<h1>Ours</h1>{% endblock %}')
    site = render()
    assert "<h1>Ours</h1>" in site["measures.html"]
    assert "<h1>Cold start</h1>" in site["cold-start/index.html"]


def test_an_organisers_style_sheet_comes_first(tmp_path: Path) -> None:
    """So does a style sheet, which is copied as it is."""
    assert own(tmp_path, "style.css", b"p { color: {{ red }} }")()["style.css"] == "p { color: {{ red }} }"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"<p>\n{% if %}", r"measures\.html:2: "),
        (b"<p>\n\n{{ nothing }}", r"measures\.html:3: .*nothing"),
        (b"{{ 1 // 0 }}", r"measures\.html:1: .*zero"),
        (b'\n{% include "absent.html" %}', r"measures\.html:2: .*absent\.html"),
        (b"\xff\xfe", r"measures\.html: .*UTF-8"),
    ],
)
def test_a_broken_template_is_told_with_its_place(tmp_path: Path, content: bytes, told: str) -> None:
    """The message names file and line."""
    with pytest.raises(ScorerError, match=told):
        own(tmp_path, "measures.html", content)()


# The pictures


def points(*scores: float, label: str = "") -> list[Point]:
    """A score a month, of which the first counts."""
    return [Point(START.replace(month=4 + n), score, label, n == 0) for n, score in enumerate(scores)]


def test_a_timeline_tells_what_it_shows() -> None:
    """First, best and last score are in its description; the entry that counts is marked."""
    drawing = ET.fromstring(timeline(points(0.1, 0.3, 0.2), "Score over time", 2).text)
    assert drawing.findtext("title") == "Score over time"
    assert drawing.findtext("desc") == "First 0.10 on 2011-04-18, best 0.30 on 2011-05-18, last 0.20 on 2011-06-18."
    assert [dot.get("class") for dot in drawing.iter("circle")] == ["marked", None, None]


def test_a_timeline_goes_up_with_the_score() -> None:
    """Higher scores stand higher, later ones further right, whatever the order of the points."""
    drawing = ET.fromstring(timeline(points(0.1, 0.3, 0.2)[::-1], "", 2).text)
    across, down = ([float(dot.get(axis, "")) for dot in drawing.iter("circle")] for axis in ("cx", "cy"))
    assert across == sorted(across)
    assert down[1] < down[2] < down[0]


def test_a_timeline_of_equal_scores_is_level() -> None:
    """A scale of one value does not divide by zero."""
    drawing = ET.fromstring(timeline(points(0.2, 0.2), "", 2).text)
    assert len({dot.get("cy") for dot in drawing.iter("circle")}) == 1


def test_text_in_a_picture_is_escaped() -> None:
    """A label cannot become an element."""
    drawing = ET.fromstring(timeline(points(0.1, label="</svg><script>"), "<b>", 2).text)
    assert drawing.find(".//script") is None
    assert drawing.findtext("title") == "<b>"


# The colours


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2.2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, as WCAG 2.2 defines it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_contrast(site: dict[str, str], scheme: int) -> None:
    """Every colour of text has 4.5 to 1 on every ground, the bars have 3 to 1, in light and in dark."""
    block = re.findall(r":root \{(.*?)\}", site["style.css"], re.DOTALL)[scheme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
    for ground in ("paper", "raised", "mark"):
        for text in ("ink", "soft", "accent", "up", "down"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["bar"], colours["paper"]) >= 3


# The folder


def tree(folder: Path) -> dict[str, str | None]:
    """Everything in a folder: the text of each file, None for a folder."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


BEFORE = {"index.html": "one", "old/index.html": "gone", "teams/a.html": "A", "teams/b.html": "B"}
AFTER = {"index.html": "two", "new/index.html": "come", "teams/a.html": "A"}


def test_writing_brings_the_folder_to_the_pages(tmp_path: Path) -> None:
    """Afterwards the folder holds the pages and the manifest, nothing else, and nothing that is no longer wanted."""
    write(BEFORE, tmp_path / "site")
    write(AFTER, tmp_path / "site")
    found = tree(tmp_path / "site")
    assert {path: text for path, text in found.items() if text is not None and path != MANIFEST} == AFTER
    assert [path for path, text in found.items() if text is None] == ["new", "teams"]


def test_only_what_changed_is_written(tmp_path: Path) -> None:
    """A page with the same bytes is left alone; what changed, came or went is told."""
    write(BEFORE, tmp_path)
    kept = (tmp_path / "teams/a.html").stat()
    assert write(AFTER, tmp_path) == ["index.html", "new/index.html", "old/index.html", "teams/b.html"]
    assert (tmp_path / "teams/a.html").stat().st_mtime_ns == kept.st_mtime_ns
    assert (tmp_path / "teams/a.html").stat().st_ino == kept.st_ino
    assert write(AFTER, tmp_path) == []


def test_an_organisers_own_files_are_left_alone(tmp_path: Path) -> None:
    """A file that no render wrote stays, also in a folder of the site, and also if it looks like ours."""
    for name in ("logo.svg", "teams/photo.html", "old/notes.txt", "old/index.html.part.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    write(BEFORE, tmp_path)
    write(AFTER, tmp_path)
    found = tree(tmp_path)
    assert [path for path, text in found.items() if text == "mine"] == [
        "logo.svg", "old/index.html.part.txt", "old/notes.txt", "teams/photo.html",
    ]  # fmt: skip


def test_a_foreign_file_in_the_place_of_a_page_is_not_overwritten(tmp_path: Path) -> None:
    """The message names the file; nothing is written."""
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(ScorerError, match=r"index\.html.* move it away"):
        write(BEFORE, tmp_path)
    assert tree(tmp_path) == {"index.html": "mine"}


class Killed(BaseException):
    """Nothing catches it, as nothing survives kill -9."""


def dying(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let the process end at the change to the disk with this number, a write when half of it is done."""
    left = iter(range(after, -1, -1))
    writing = Path.write_bytes

    def half(path: Path, content: bytes) -> int:
        if next(left) == 0:
            writing(path, content[: len(content) // 2])
            raise Killed
        return writing(path, content)

    monkeypatch.setattr(Path, "write_bytes", half)
    for name in ("replace", "unlink", "mkdir", "rmdir"):
        monkeypatch.setattr(Path, name, _dying(getattr(Path, name), left))


def _dying(change: Callable[..., object], left: Iterator[int]) -> Callable[..., object]:
    def changed(*arguments: object, **options: object) -> object:
        if next(left) == 0:
            raise Killed
        return change(*arguments, **options)

    return changed


def test_a_killed_render_is_taken_up_by_the_next(tmp_path: Path) -> None:
    """Killed before any one change to the disk, or in the middle of it, the next render ends as an undisturbed one."""
    write(BEFORE, tmp_path / "undisturbed")
    write(AFTER, tmp_path / "undisturbed")
    wanted = tree(tmp_path / "undisturbed")
    for moment in range(1000):
        folder = tmp_path / f"site-{moment}"
        write(BEFORE, folder)
        with pytest.MonkeyPatch.context() as patched:
            dying(patched, moment)
            try:
                write(AFTER, folder)
            except Killed:
                pass
            except StopIteration:
                raise AssertionError("the render went on after it was killed") from None
            else:
                break
        half_done = {path: text for path, text in tree(folder).items() if not path.endswith(".part")}
        assert all(
            text in (None, BEFORE.get(path), AFTER.get(path)) for path, text in half_done.items() if path != MANIFEST
        )
        write(AFTER, folder)
        assert tree(folder) == wanted, moment
    assert moment > 10


def test_a_killed_first_render_is_taken_up_by_the_next(tmp_path: Path) -> None:
    """The same from nothing: what a killed render left is not taken for the organiser's own, even if pages changed."""
    write(AFTER, tmp_path / "undisturbed")
    wanted = tree(tmp_path / "undisturbed")
    for moment in range(1000):
        folder = tmp_path / f"site-{moment}"
        with pytest.MonkeyPatch.context() as patched:
            dying(patched, moment)
            try:
                write(BEFORE, folder)
            except Killed:
                pass
            else:
                break
        write(AFTER, folder)
        assert tree(folder) == wanted, moment
    assert moment > 10


def test_a_manifest_that_leads_out_of_the_folder_removes_nothing(tmp_path: Path) -> None:
    """A path in it that is absolute or climbs is refused."""
    precious = tmp_path / "precious.txt"
    for path in ("../precious.txt", str(precious)):
        precious.write_text("mine")
        (tmp_path / "site").mkdir(exist_ok=True)
        (tmp_path / "site" / MANIFEST).write_text(f'{{"written by scorer": ["{path}"]}}')
        with pytest.raises(ScorerError, match="leads out"):
            write(AFTER, tmp_path / "site")
        assert precious.read_text() == "mine"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"written by scorer": 1}', "\0"])
def test_a_manifest_that_is_none_is_told(tmp_path: Path, content: str) -> None:
    """Rather than taking every page for foreign, the message says what to do."""
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(ScorerError, match=r"manifest\.json: is not the list"):
        write(AFTER, tmp_path)


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    """A message, not a traceback."""
    (tmp_path / "site").write_text("")
    with pytest.raises(ScorerError, match="cannot write the site"):
        write(AFTER, tmp_path / "site")


def test_a_full_disk_leaves_no_half_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that cannot be written whole keeps its old text, and its unfinished copy goes."""
    write(BEFORE, tmp_path)
    writing = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name.startswith("index.html"):
            writing(path, content[:1])
            raise OSError(28, "No space left on device", str(path))
        return writing(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ScorerError, match="No space left"):
        write(AFTER, tmp_path)
    assert (tmp_path / "index.html").read_text() == "one"
    assert not list(tmp_path.rglob("*.part"))


def test_the_real_site_is_written_whole(site: dict[str, str], tmp_path: Path) -> None:
    """What is read back is what was rendered, in UTF-8."""
    write(site, tmp_path)
    assert {path: (tmp_path / path).read_bytes().decode() for path in site} == site


# In a browser

in_browser = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")]


@pytest.fixture(scope="module")
def address(site: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the pages can be opened from."""
    folder = tmp_path_factory.mktemp("site")
    write(site, folder)
    return folder.as_uri()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One browser for all tests of this module."""
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


SHOWN = "[...document.querySelectorAll('#board tbody tr')].filter(row => !row.hidden)"
RANKS = f"{SHOWN}.map(row => row.cells[0].textContent)"


def column(number: int) -> str:
    """An expression for the texts of a column, from the top."""
    return f"{SHOWN}.map(row => row.cells[{number}].textContent.trim())"


class TestInBrowser:
    """Pages as Chromium shows them, opened from disk."""

    pytestmark = in_browser

    def test_pages_open_without_complaint_or_network(self, tab: Page, address: str, site: dict[str, str]) -> None:
        """No error, no breach of the content policy, no request but for files of the site; the style is applied."""
        for path in ("index.html", "cold-start/index.html", "teams/tea-kettle.html", "measures.html"):
            tab.open(f"{address}/{path}")
            assert tab.complaints == []
            assert {request.removeprefix(f"{address}/") for request in tab.requests} <= set(site)
            assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(252, 251, 248)"

    def test_the_address_sorts(self, tab: Page, address: str) -> None:
        """A link can hold the order; blanks come last in both directions."""
        tab.open(f"{address}/cold-start/index.html#sort=nDCG%4010&order=ascending")
        up = tab.ask(column(5))
        tab.open(f"{address}/cold-start/index.html#sort=nDCG%4010")
        down = tab.ask(column(5))
        assert up[-2:] == down[-2:] == ["–", "–"]
        assert [float(text) for text in up[:-2]] == sorted(float(text) for text in up[:-2])
        assert down[:-2] == up[:-2][::-1]
        assert tab.complaints == []

    def test_the_address_filters(self, tab: Page, address: str) -> None:
        """By part of a name, in any case, and by baseline; ranks stay."""
        tab.open(f"{address}/cold-start/index.html#team=ER")
        assert tab.ask(column(1)) == tab.ask(f"{column(1)}.filter(name => /er/i.test(name))")
        tab.open(f"{address}/cold-start/index.html#team=LANTERNS")
        assert tab.ask(RANKS) == ["6"]
        tab.open(f"{address}/cold-start/index.html#baselines=no")
        assert len(tab.ask(RANKS)) == 14
        assert "14 of 16" in tab.ask("document.getElementById('told').textContent")

    def test_a_click_sorts_and_a_second_turns(self, tab: Page, address: str) -> None:
        """The heading says its order, the address keeps it, equal values stay in the order of the ranking."""
        tab.open(f"{address}/cold-start/index.html")
        ranked = tab.ask(column(1))
        head = "document.querySelector('th[data-key=entries]')"
        tab.ask(f"{head}.querySelector('button').click()")
        assert tab.ask(f"{head}.getAttribute('aria-sort')") == "descending"
        assert tab.ask("document.querySelectorAll('[aria-sort]').length") == 1
        assert tab.ask("location.hash") == "#sort=entries"
        first = tab.ask(column(1))
        tab.ask(f"{head}.querySelector('button').click()")
        second = tab.ask(column(1))
        single = [name for name in ranked if name in second[: len(ranked) - 5]]
        assert first[0].startswith("Slow Lanterns")
        assert second[: len(single)] == single
        tab.ask("document.querySelector('#controls button').click()")
        assert tab.ask(column(1)) == ranked
        assert tab.ask("location.hash") == ""

    def test_every_heading_sorts_by_what_its_column_means(self, tab: Page, address: str) -> None:
        """Ranks and changes as numbers, teams as words, times as times."""
        for key, wanted in (
            ("rank", ["1", "2", "=3", "=3"]),
            ("change", ["2", "1", "0", "0"]),
            ("last", ["2011-07-19 01:28", "2011-05-29 17:12", "2011-05-16 07:33", "2011-05-08 14:07"]),
        ):
            tab.open(f"{address}/cold-start/index.html#sort={key}")
            cell = f"row.cells[document.querySelector('th[data-key={key}]').cellIndex]"
            text = f"({cell}.querySelector('data')?.value ?? {cell}.textContent.trim())"
            assert tab.ask(f"{SHOWN}.map(row => {text})")[:4] == wanted

    def test_typing_filters(self, tab: Page, address: str) -> None:
        """The box works as it is typed into, and leads to an address that does the same."""
        tab.open(f"{address}/cold-start/index.html")
        tab.ask("document.querySelector('#controls [type=search]').focus()")
        tab.send("Input.insertText", text="paper")
        assert tab.ask(RANKS) == ["=3"]
        assert tab.ask("location.hash") == "#team=paper"

    def test_without_scripts_all_is_there(self, tab: Page, address: str) -> None:
        """Every row is shown, headings link to the measures, and no control lies there dead."""
        tab.open(f"{address}/cold-start/index.html", scripts=False)
        visible = "[...document.querySelectorAll('button, input')].filter(each => each.checkVisibility())"
        assert tab.ask(f"{visible}.length") == 0
        assert len(tab.ask(RANKS)) == 16
        assert tab.ask("document.querySelectorAll('thead a').length") == 6

    @pytest.mark.parametrize("width", [320, 390, 600, 760, 1000, 1024, 1248, 1280, 1472, 1900])
    def test_no_page_scrolls_sideways(self, tab: Page, address: str, width: int) -> None:
        """Nothing is wider than the window, whatever the names; a wide table scrolls in its own box."""
        for path in ("index.html", "cold-start/index.html", "pooled-sequences/index.html", "measures.html"):
            tab.open(f"{address}/{path}", width=width)
            assert tab.ask("document.documentElement.scrollWidth") <= width, path
        for name in ("tea-kettle", HOSTILE[5], HOSTILE[1]):
            tab.open(f"{address}/teams/{team(name).slug}.html", width=width)
            assert tab.ask("document.documentElement.scrollWidth") <= width, name

    def test_on_a_phone_the_other_scores_unfold(self, tab: Page, address: str) -> None:
        """Rank, team and first score stay in line; the rest is a touch away, also without scripts."""
        tab.open(f"{address}/cold-start/index.html", width=390, scripts=False)
        shown = "[...document.querySelector('#team-tea-kettle').cells].filter(each => each.checkVisibility()).length"
        assert tab.ask(shown) == 3
        tab.ask("document.querySelector('#team-tea-kettle details').open = true")
        assert tab.ask(shown) == 11

    def test_a_row_can_be_linked(self, tab: Page, address: str) -> None:
        """A team's anchor highlights its row, and is not taken for an order."""
        tab.open(f"{address}/cold-start/index.html#team-kingfisher")
        assert tab.ask("document.querySelector('tr:target').cells[0].textContent") == "11"
        assert tab.ask(RANKS)[0] == "1"
        assert tab.ask("scrollY") > 0

    def test_dark_is_dark(self, tab: Page, address: str) -> None:
        """The page follows the colour scheme of the system."""
        tab.open(f"{address}/index.html", dark=True)
        assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
