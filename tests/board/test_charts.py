"""The charts: what every chart has, and where each one draws its numbers."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise
from math import pi
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from scorer.board.build import RECALLS
from scorer.board.charts.over_time import (
    STEPS,
    History,
    Moved,
    TeamLine,
    leaders_over_time,
    precision_recall,
    preliminary_against_final,
)
from scorer.board.charts.panel import ACCENT, INK, INTERVAL, LINE, REFERENCE, REPORT_WIDTH, Svg, drawn, text_width
from scorer.board.charts.rankings import (
    blob_plot,
    query_boxes,
    ranking_rules,
    scores_with_intervals,
    significance_map,
)
from tests.accessibility import has_axe, violations
from tests.browser import Page, chromium
from tests.commands import process
from tests.drawings import CHARTS, FINDING, OPENED, digest, drawings, histories

NAMESPACE = "{http://www.w3.org/2000/svg}"

ELEMENTS = {"svg", "title", "desc", "g", "line", "circle", "path", "text", "tspan"}

GEOMETRY = {
    "svg": {"class", "viewBox", "width", "role", "direction", "font-family"},
    "line": {"x1", "y1", "x2", "y2"},
    "circle": {"cx", "cy", "r"},
    "path": {"d"},
    "text": {"x", "y", "paint-order", "stroke-linejoin"},
}

PAINT = {
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity"),
    *("text-anchor", "font-size", "font-weight", "font-style"),
}

COLOURS = {"--paper", "--ink", "--soft", "--accent", "--interval", "--reference", "--band", "--hair"}

HOSTILE = (
    "<script>alert(1)</script>",
    "]]><!-- &amp; \"'",
    "datum.x[0]['y']",
    "\u202eevil\u2066",
    "a\tb\nc\x00",
    "שלום",
    "標題" * 40,
    "x" * 300,
    "e" + "\u0301" * 50,
    "{{ 7 * 7 }} #{x} ${y}",
    "\ud800",
    "",
)


def parsed(svg: Svg) -> ET.Element:
    """The elements of a chart, without their namespace."""
    root = ET.fromstring(svg.text)
    for element in root.iter():
        assert element.tag.startswith(NAMESPACE)
        element.tag = element.tag.removeprefix(NAMESPACE)
    return root


@pytest.fixture(scope="module")
def charts() -> dict[str, Svg]:
    """Every chart of the small challenge."""
    return {name: draw().svg() for name, draw in drawings().items()}


def marks(svg: Svg, tag: str, **paint: str) -> list[ET.Element]:
    """The marks of a kind that have this paint, in order."""
    wanted = {name.replace("_", "-"): value for name, value in paint.items()}
    return [
        mark
        for group in parsed(svg).iter("g")
        if wanted.items() <= group.attrib.items()
        for mark in group
        if mark.tag == tag
    ]


def numbers(elements: list[ET.Element], name: str) -> list[float]:
    """One attribute of each element."""
    return [float(element.get(name, "")) for element in elements]


def corners(path: ET.Element) -> tuple[float, float, float, float]:
    """The left, top, right and bottom of a rectangle."""
    x, y, wide, high = (
        float(found)
        for found in re.fullmatch(r"M([^,]+),([^h]+)h([^v]+)v([^h]+)h[^Z]+Z", path.get("d", "")).groups()  # type: ignore[union-attr]
    )
    return min(x, x + wide), min(y, y + high), max(x, x + wide), max(y, y + high)


def shown_texts(svg: Svg) -> list[str]:
    """What a reader sees: the texts without their tooltips."""
    texts = []
    for element in parsed(svg).iter("text"):
        parts = [
            element.text or "",
            *((each.text or "") + (each.tail or "") for each in element if each.tag == "tspan"),
        ]
        texts.append("".join(parts))
    return texts


def at(svg: Svg, text: str) -> tuple[float, float]:
    """Where a text is."""
    (found,) = [each for each in parsed(svg).iter("text") if "".join(each.itertext()) == text]
    return float(found.get("x", "")), float(found.get("y", ""))


def proportional(drawn: list[float], values: list[float]) -> bool:
    """Whether positions are a linear function of values, within the rounding of positions."""
    slope, shift = np.polyfit(values, drawn, 1)
    return abs(slope) > 0 and bool(np.abs(slope * np.array(values) + shift - drawn).max() <= 0.12)


# Every chart


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_an_image_with_a_text_alternative(charts: dict[str, Svg], name: str) -> None:
    """The first children of an SVG image are its name and its description for assistive technology."""
    root, chart = parsed(charts[name]), drawings()[name]()
    assert (root.tag, root.get("role"), root.get("class")) == ("svg", "img", "chart")
    assert [child.tag for child in root[:2]] == ["title", "desc"]
    assert root[0].text == chart.title
    assert root[1].text == chart.description
    assert chart.description.endswith(".")


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_presentation_attributes_with_colours_of_the_page(charts: dict[str, Svg], name: str) -> None:
    """A page's policy blocks style attributes; there are no ids, events, links or roles of parts either.

    Each colour is a variable, with a value for an image without a page. Coordinates have one decimal, radii two.
    """
    colours = set()
    for element in parsed(charts[name]).iter():
        assert element.tag in ELEMENTS
        assert element.attrib.keys() <= PAINT | GEOMETRY.get(element.tag, set())
        colours |= {value for paint in ("fill", "stroke") if (value := element.get(paint, "none")) != "none"}
        for attribute in ("viewBox", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "d"):
            assert not re.search(r"\.\d\d|e-|-0(?![.\d])", element.get(attribute, ""))
    found = [re.fullmatch(r"var\((--\w+), #[0-9a-f]{6}\)", value) for value in colours]
    assert found != []
    assert {match and match[1] for match in found} <= COLOURS


@pytest.mark.parametrize("name", CHARTS)
def test_marks_are_inside_the_image(charts: dict[str, Svg], name: str) -> None:
    """Texts are too, if they are no wider than they are estimated to be."""
    root = parsed(charts[name])
    left, top, width, height = map(float, root.get("viewBox", "").split())
    places = [(float(each.get("cx", "")), float(each.get("cy", ""))) for each in root.iter("circle")]
    for group in root.iter("g"):
        size = float(group.get("font-size", "12"))
        share = {"middle": 0.5, "end": 1.0}.get(group.get("text-anchor", ""), 0.0)
        for text in group.findall("text"):
            x, y = float(text.get("x", "")), float(text.get("y", ""))
            wide = text_width("".join(text.itertext()), size)
            places += [(x - share * wide, y), (x + (1 - share) * wide, y)]
    assert places
    assert all(left <= x <= left + width and top <= y <= top + height for x, y in places)


def test_charts_are_the_same_in_another_process() -> None:
    """Another locale, time zone and hash seed change nothing."""
    environment = {"LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Auckland", "PYTHONHASHSEED": "5"}
    answer = process(program="from tests.drawings import digest; print(digest())", environment=environment)
    assert answer.out.strip() == digest()


def test_text_in_charts_is_hostile() -> None:
    """Markup, expressions and controls are text; long names are shortened, and complete in a tooltip."""
    for name, draw in drawings(HOSTILE).items():
        svg = draw().svg()
        root = parsed(svg)
        assert {element.tag for element in root.iter()} <= ELEMENTS, name
        assert not re.search("[\x00-\x08\u202a-\u202e]", svg.text)
        assert "".join(root.itertext()).isprintable() or "\u2068" in svg.text
        assert max(map(len, shown_texts(svg))) < 120
        svg.text.encode()
    root = parsed(drawings(HOSTILE)["scores_with_intervals"]().svg())
    texts = {"".join(element.itertext()) for element in root.iter("text")}
    assert {"<script>alert(1)</script>", "datum.x[0]['y']", "\u2068שלום\u2069"} <= {
        element.findtext("title") or "".join(element.itertext()) for element in root.iter("text")
    }
    assert any("x" * 300 in text for text in texts)
    assert "\\u202eevil\\u2066" in texts


@pytest.mark.parametrize("names", [(), ("tea-kettle",), ("tea-kettle", "tea-kettle")], ids=["none", "one", "equal"])
def test_few_teams_have_charts(names: tuple[str, ...]) -> None:
    """An empty chart says so in its description, which those of a report get from its text."""
    for draw in drawings(names).values():
        chart = draw()
        svg = chart.svg()
        assert parsed(svg).get("role") == "img"
        assert not re.search("(?i)nan|none,|inf", svg.text.replace("font", ""))
        if not names:
            assert chart.description == FINDING or chart.description.startswith("No ")


def test_charts_of_300_teams_are_small() -> None:
    """And say how many teams they show."""
    names = [f"team-{number}" for number in range(300)]
    for name, draw in drawings(names, 5704).items():
        svg = draw().svg()
        assert len(svg.text) < 60_000, name
        if name not in ("preliminary_against_final", "precision_recall", "r_precision_by_cutoff"):
            assert re.search(r"The first \d+ of (300|301) (teams|rows)\.", " ".join(shown_texts(svg))), name


def test_a_chart_is_drawn_once() -> None:
    """The cache has it by its content; other values and other words have other keys."""
    cache: dict[str, str] = {}
    teams = histories(["a", "b"], [0.5, 0.3])
    first = drawn(cache, leaders_over_time, teams, "MARp")
    (key,) = cache
    cache[key] = "taken from the cache"
    assert drawn(cache, leaders_over_time, teams, "MARp").text == "taken from the cache"
    assert drawn(None, leaders_over_time, teams, "MARp") == first
    drawn(cache, leaders_over_time, histories(["a", "b"], [0.5, 0.4]), "MARp")
    drawn(cache, leaders_over_time, teams, "AP")
    assert len(cache) == 3


# Where the numbers are


def test_means_and_intervals_are_on_one_axis() -> None:
    """In the order of the rows, the first at the top; an undefined interval has no mark."""
    means, intervals = [0.5, 0.3, 0.2, 0.25], [(0.4, 0.55), (0.2, 0.35), (0.1, 0.25), (np.nan, np.nan)]
    svg = scores_with_intervals(["t0", "t1", "t2", "t3"], means, intervals, "MARp", FINDING, 2).svg()
    dots, bars = marks(svg, "circle", fill=ACCENT), marks(svg, "line", stroke=INTERVAL)
    assert numbers(dots, "cy") == [9, 27, 45, 63]
    assert numbers(bars, "y1") == [9, 27, 45]
    ends = [*numbers(dots, "cx"), *numbers(bars, "x1"), *numbers(bars, "x2")]
    assert proportional(ends, [0.5, 0.3, 0.2, 0.25, 0.4, 0.2, 0.1, 0.55, 0.35, 0.25])
    assert {"0.50", "0.30", "0.20", "0.25", "t3"} <= set(shown_texts(svg))


def test_the_area_of_a_blob_is_its_share() -> None:
    """Rank 1 is on the left, the first team at the top; crosses are at medians, lines at the other quantiles."""
    svg = blob_plot(
        ["a", "b", "c"],
        [[0.64, 0.36, 0], [0.36, 0.48, 0.16], [0, 0.16, 0.84]],
        [(1, 1, 2), (1, 2, 3), (2, 3, 3)],
        [1, 2, 3],
        FINDING,
    ).svg()
    blobs = marks(svg, "circle", fill=INTERVAL)
    assert proportional(numbers(blobs, "cx"), [1, 2, 1, 2, 3, 2, 3])
    assert numbers(blobs, "cy") == [11, 11, 33, 33, 33, 55, 55]
    areas = [pi * radius**2 for radius in numbers(blobs, "r")]
    shares = [0.64, 0.36, 0.36, 0.48, 0.16, 0.16, 0.84]
    assert [area / share for area, share in zip(areas, shares, strict=True)] == pytest.approx(
        [areas[0] / 0.64] * 7, rel=0.01
    )
    lines = [line for line in marks(svg, "line", stroke=INK) if line.get("y1") == line.get("y2")]
    centre = dict(zip((1, 2, 1, 2, 3, 2, 3), numbers(blobs, "cx"), strict=True))
    assert numbers(lines, "x1") == [centre[1], centre[1], centre[2]]
    assert numbers(lines, "x2") == [centre[2], centre[3], centre[3]]
    crosses = [line for line in marks(svg, "line", stroke=INK) if line.get("y1") != line.get("y2")]
    middles = {
        (round((x1 + x2) / 2), round((y1 + y2) / 2))
        for x1, x2, y1, y2 in zip(*(numbers(crosses, name) for name in ("x1", "x2", "y1", "y2")), strict=True)
    }
    assert middles == {(round(centre[rank]), y) for rank, y in ((1, 11), (2, 33), (3, 55))}


def test_cells_are_filled_where_the_row_is_better() -> None:
    """Neighbours in a row are one rectangle."""
    svg = significance_map(
        ["a", "b", "c"], [[False, True, True], [False, False, False], [False, True, False]], FINDING
    ).svg()
    cell = 22.0
    assert [corners(box) for box in marks(svg, "path", fill=INTERVAL)] == [
        (cell, 0, 3 * cell, cell),
        (cell, 2 * cell, 2 * cell, 3 * cell),
    ]


def test_the_map_says_what_its_names_are() -> None:
    """Teams of a challenge, or algorithms of a table."""
    better = [[False] * 21 for _ in range(21)]
    for what in ("team", "algorithm"):
        svg = significance_map([f"n{at}" for at in range(21)], better, FINDING, what=what).svg()
        assert f"Which {what} is significantly better" in svg.text
        assert f"Filled: the {what} of the row is better." in shown_texts(svg)


def test_boxes_are_quartiles() -> None:
    """Dots are at all scores, the mean has a larger dot, whiskers end within 1.5 interquartile ranges."""
    scores = np.array([[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 2.0], [0.5, np.nan, 0.5, 0.5, 0.5, 0.5, 0.5]])
    svg = query_boxes(["a", "b"], scores, "RR", FINDING).svg()
    dots = marks(svg, "circle", fill=INTERVAL)
    assert len(dots) == 13
    assert proportional(numbers(dots[:7], "cx"), scores[0].tolist())
    unit = (float(dots[6].get("cx", "")) - float(dots[0].get("cx", ""))) / 2
    (box, flat) = [corners(path) for path in marks(svg, "path", stroke=INK)]
    assert (box[0], box[2]) == pytest.approx((0.15 * unit, 0.45 * unit), abs=0.11)
    assert (flat[0], flat[2]) == pytest.approx((0.5 * unit, 0.5 * unit), abs=0.11)
    assert numbers(marks(svg, "circle", fill=ACCENT), "cx") == pytest.approx([0.5 * unit, 0.5 * unit], abs=0.11)
    ends = [x for line in marks(svg, "line", stroke=INK) for x in numbers([line], "x1") + numbers([line], "x2")]
    assert min(ends) == 0
    assert max(ends) == pytest.approx(0.5 * unit, abs=0.11)


def test_rank_1_is_at_the_top_of_the_rules() -> None:
    """Lines of teams whose rank changes are darker, and names are in the order of the first rule."""
    ranks = {"mean": [1, 2, 3], "median": [1, 3, 2]}
    svg = ranking_rules(["a", "b", "c"], ranks, FINDING).svg()
    dots = marks(svg, "circle")
    assert numbers(dots, "cy") == [10, 10, 30, 50, 50, 30]
    assert numbers(dots, "cx") == numbers(dots, "cx")[:2] * 3
    (dark,) = marks(svg, "path", stroke=INK)
    assert dark.get("d", "").count("M") == 2
    assert at(svg, "a")[1] < at(svg, "b")[1] < at(svg, "c")[1]


def test_steps_end_at_the_best_score() -> None:
    """The best line of all is thick; an entry that does not count is a ring without a step."""
    day = timedelta(days=1)
    a, b = ((OPENED, 0.2), (OPENED + 4 * day, 0.6)), ((OPENED + 2 * day, 0.4),)
    teams = [
        History("a", a, entries=a),
        History("b", b, entries=(*b, (OPENED + 3 * day, 0.1))),
        History("base", ((OPENED, 0.3),), is_baseline=True, entries=((OPENED + 10 * day, 0.3),)),
    ]
    chart = leaders_over_time(teams, "MARp")
    svg = chart.svg()
    (best,) = marks(svg, "path", stroke=ACCENT)
    points = [tuple(map(float, each.split(","))) for each in re.findall(r"[\d.]+,[\d.]+", best.get("d", ""))]
    assert proportional([x for x, _ in points], [0, 2, 2, 4, 4, 10, 10])
    assert proportional([y for _, y in points], [0.2, 0.2, 0.4, 0.4, 0.6, 0.6, 0.6])
    assert len([dot for dot in marks(svg, "circle") if dot.get("r") == "2.5"]) == 4
    assert {"a 0.600, 22 Apr", "b 0.400, 20 Apr", "a 0.200, 18 Apr", "a 0.600", "b 0.400", "base 0.300"} == {
        text for text in shown_texts(svg) if text[0].isalpha() and " 0." in text
    }
    assert chart.description == "b led for 2 days; a passed it on 22 April. The best MARp is 0.600."


def test_a_line_ends_where_no_score_counts() -> None:
    """It goes on when one counts again; at the right end, only teams with a score have names."""
    day = timedelta(days=1)
    gone = ((OPENED, 0.5), (OPENED + 2 * day, None), (OPENED + 3 * day, 0.4), (OPENED + 6 * day, None))
    other = History("b", ((OPENED, 0.3),), entries=((OPENED + 10 * day, 0.3),))
    svg = leaders_over_time([other, History("a", gone)], "MARp").svg()
    (best,) = marks(svg, "path", stroke=ACCENT)
    (thin,) = marks(svg, "path", stroke=REFERENCE)

    assert proportional([x for x, _ in corner_points(best)], [0, 2, 2, 3, 3, 6, 6, 10, 10])
    assert proportional([y for _, y in corner_points(best)], [0.5, 0.5, 0.3, 0.3, 0.4, 0.4, 0.3, 0.3, 0.3])
    assert thin.get("d", "").count("M") == 3
    assert {"b 0.300", "a 0.500, 18 Apr", "b 0.300, 20 Apr"} <= set(shown_texts(svg))
    assert "a 0.400" not in shown_texts(svg)


def corner_points(path: ET.Element) -> list[tuple[float, ...]]:
    """The corners of a path."""
    return [tuple(map(float, each.split(","))) for each in re.findall(r"[-\d.]+,[-\d.]+", path.get("d", ""))]


def test_labels_of_lines_do_not_overlap() -> None:
    """Though all lines end at one score."""
    svg = leaders_over_time(histories([f"t{place}" for place in range(18)], [0.3] * 18), "MARp", width=358).svg()
    down = sorted(at(svg, f"t{place}")[1] for place in range(1, 18))
    assert len(down) == 17
    assert all(after - before > LINE - 0.2 for before, after in pairwise(down))


def test_many_entries_are_thinned() -> None:
    """The first and the last step stay."""
    entries = tuple((OPENED + timedelta(minutes=minute), minute / 20_000) for minute in range(20_000))
    svg = leaders_over_time([History("a", entries), History("b", entries[:5000])], "MARp").svg()
    (best,) = marks(svg, "path", stroke=ACCENT)
    assert best.get("d", "").count("L") <= 2 * STEPS
    assert "a 1.000" in shown_texts(svg)
    assert len(svg.text) < 60_000


def triangle(path: ET.Element) -> list[tuple[float, ...]]:
    """Its three corners, the point first."""
    return [tuple(map(float, corner.split(","))) for corner in re.findall(r"[-\d.]+,[-\d.]+", path.get("d", ""))]


def middle(corners: list[tuple[float, ...]]) -> tuple[float, float]:
    """Between the point and the base."""
    (x, point), (_, base), _ = corners
    return x, (point + base) / 2


def test_triangles_point_to_where_a_team_moved() -> None:
    """Both axes have the same scale."""
    teams = [Moved("a", 0.2, 0.5, 3, 1), Moved("b", 0.4, 0.4, 2, 2), Moved("c", 0.5, 0.3, 1, 3)]
    chart = preliminary_against_final(teams, "MARp")
    svg = chart.svg()
    (up,), (down,) = ([triangle(path) for path in marks(svg, "path", fill=fill)] for fill in (ACCENT, INK))
    assert up[0][1] < up[1][1] == up[2][1], "the first corner is the point, above the base"
    assert down[0][1] > down[1][1] == down[2][1]
    same = [(x, y) for dot in marks(svg, "circle") for x in numbers([dot], "cx") for y in numbers([dot], "cy")]
    points = [middle(up), *same, middle(down)]
    assert proportional([x for x, _ in points], [0.2, 0.4, 0.5])
    assert proportional([y for _, y in points], [0.5, 0.4, 0.3])
    assert middle(up)[1] == min(y for _, y in points)
    assert {"a ▲ 2", "b", "c ▼ 2"} <= set(shown_texts(svg))
    assert (
        chart.description
        == "1 of 3 teams kept their rank. a rose most, from rank 3 to 1. c fell most, from rank 1 to 3."
    )


def test_curves_have_their_values() -> None:
    """The first one is emphasised; undefined values are left out."""
    curves = [TeamLine("a", tuple(1 - level for level in RECALLS)), TeamLine("b", (None, *(0.5,) * 10))]
    chart = precision_recall(curves)
    svg = chart.svg()
    dots = marks(svg, "circle", fill=ACCENT)
    assert proportional(numbers(dots, "cx"), list(RECALLS))
    assert proportional(numbers(dots, "cy"), [1 - level for level in RECALLS])
    assert len(marks(svg, "circle")) == 21
    assert at(svg, "a")[1] < at(svg, "b")[1]
    assert chart.description == (
        "a goes from 1.000 at recall 0 to 0.000 at recall 1. a is highest at the start, b at the end."
    )


# In a browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, charts: dict[str, Svg], tab: Page) -> tuple[Page, str]:
    """A tab, and a page with all charts under the policy of the site."""
    folder = tmp_path_factory.mktemp("charts")
    (folder / "style.css").write_text(
        ":root { --accent: #0a4c7a } @media (prefers-color-scheme: dark) { :root { --accent: #8fc1e6 } }"
        ".chart { max-width: 100%; height: auto }"
    )
    policy = "default-src 'none'; style-src 'self' file:"
    (folder / "index.html").write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Charts</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><link rel="stylesheet" href="style.css">'
        f"</head><body><main><h1>Charts</h1>{''.join(svg.text for svg in charts.values())}</main></body></html>",
        encoding="utf-8",
    )
    return tab, (folder / "index.html").as_uri()


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")
class TestInABrowser:
    """Charts on a page."""

    @pytest.mark.parametrize(("dark", "colour"), [(False, "rgb(10, 76, 122)"), (True, "rgb(143, 193, 230)")])
    def test_colours_follow_the_theme(self, page: tuple[Page, str], dark: bool, colour: str) -> None:
        """Colours that a page lacks are those of the light theme. The policy blocks nothing, and nothing is fetched."""
        tab, address = page
        tab.open(address, dark=dark)
        assert tab.ask("getComputedStyle(document.querySelector('[fill*=accent] circle')).fill") == colour
        fallback = tab.ask("getComputedStyle(document.querySelector('[fill*=ink] text')).fill")
        assert fallback == "rgb(28, 27, 24)"
        assert tab.errors == []
        assert [Path(request).name for request in tab.requests] == ["index.html", "style.css"]

    def test_a_chart_fits_a_phone(self, page: tuple[Page, str], charts: dict[str, Svg]) -> None:
        """It is scaled as a whole; its text stays legible."""
        tab, address = page
        tab.open(address, width=390)
        assert tab.ask("document.documentElement.scrollWidth") == 390
        scales = tab.ask(
            "[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
        )
        by_name = dict(zip(CHARTS, scales, strict=True))
        widths = {name: float(parsed(svg).get("width", "0")) for name, svg in charts.items()}
        for name in by_name.keys() - {"leaders_over_time"}:
            # Charts that are only in reports are wider: reports are for paper and for large screens.
            assert by_name[name] > (0.8 if widths[name] < REPORT_WIDTH else 0.6), name

    @pytest.mark.parametrize("dark", [False, True])
    @pytest.mark.skipif(not has_axe(), reason="axe-core is not installed")
    def test_axe_finds_no_violation(self, page: tuple[Page, str], dark: bool) -> None:
        """By axe-core's rules for WCAG, best practices included."""
        tab, address = page
        tab.open(address, dark=dark)
        assert violations(tab) == []
