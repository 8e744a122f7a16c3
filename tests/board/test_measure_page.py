"""The page of measures: formulas, symbols, and the worked examples of the tracks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer
from scorer.board.site.folder import write
from scorer.board.site.measure_page import WorkedExample, worked_example
from scorer.measures import KINDS, Kind
from scorer.settings.tracks import Track
from tests.accessibility import check_page
from tests.boards import board_of, challenge
from tests.browser import IN_BROWSER, Page
from tests.pages import Element, pages, read
from tests.strategies import examples

CUTOFF = {"none": "", "optional": "", "required": "@10", "list": "@5,10", "level": "@0.1", "multiple": "@0.5"}
"""A cut-off for each rule."""

EVERY = [kind.name + CUTOFF[kind.cutoff] for kind in KINDS]


def page_of(**changes: object) -> str:
    """The page of measures of a challenge; `changes` are keys of its first track."""
    declared = challenge(Path("nowhere"), **changes)
    return pages(declared, [board_of(track) for track in declared.tracks])["measures.html"]


@pytest.fixture(scope="module")
def every() -> Element:
    """The page of measures of a challenge with all of them."""
    return read(page_of(measures=EVERY))


def track_of(cutoffs: list[int], *measures: str, list_length: int = 30, primary: str = "MARp") -> Track:
    """A track with these cut-offs and measures."""
    changes = {"cutoffs": cutoffs, "list_length": list_length, "primary": primary, "measures": list(measures)}
    return challenge(Path("nowhere"), **changes).tracks[0]


def scores_by_hand(example: WorkedExample, name: str) -> float:
    """The score that the library computes for the query and the list that an example shows."""
    grades = {each.item: each.grade for each in example.items if each.grade is not None}
    listed = [each.item for each in example.items if each.rank is not None]
    return scorer.evaluate({"q": grades}, {"q": listed}, name)[name]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_measure_is_explained(every: Element, kind: Kind) -> None:
    """The page has the title, the formula, the edge cases, the parameters and the source of every kind."""
    words = every.words()
    for wanted in (kind.title, kind.summary, kind.edge_cases, kind.source):
        assert " ".join(wanted.split()) in words
    assert all(parameter.about.description in words for parameter in kind.parameters)
    assert kind.formula in [each.attributes.get("alttext") for each in every.all("math")]


# Worked examples


cutoff_lists = st.lists(st.integers(1, 40), min_size=1, max_size=6, unique=True).map(sorted)


@given(cutoff_lists, st.integers(1, 40), st.sampled_from(["MARp", "MARp(rel=2)", "MARp(rel=5)"]))
@examples(60)
def test_the_shown_counts_give_the_scores(cutoffs: list[int], list_length: int, primary: str) -> None:
    """For any cut-offs, hits divided by min(m, z) is Rp@z as the measure computes it, and their mean is MARp."""
    example = worked_example(
        track_of([z for z in cutoffs if z <= list_length] or [1], list_length=list_length, primary=primary)
    )
    for column, each in enumerate(example.cutoffs):
        marks = [item.marks[column] for item in example.items]
        assert each.relevant == sum(map(bool, marks)) >= each.divisor == min(example.m, each.z)
        assert each.hits == marks.count("hit")
        assert each.score == pytest.approx(each.hits / each.divisor, abs=1e-12)
    mean = sum(each.score for each in example.cutoffs) / len(example.cutoffs)
    primary_score = example.scores[0][1]
    assert primary_score == pytest.approx(mean, abs=5e-5)
    assert sum(item.rank is not None for item in example.items) <= list_length


def test_the_example_has_the_cut_offs_of_the_track() -> None:
    """The scores are those of the library; a track without cut-offs shows the list and the scores only."""
    track = track_of([5, 10], "Rp@7", "nDCG@3", "P", "RR")
    example = worked_example(track)
    assert [each.z for each in example.cutoffs] == [5, 7, 10]
    assert [str(measure) for measure, _ in example.scores] == [str(each) for each in track.all_measures]
    for measure, score in example.scores:
        assert score == round(scores_by_hand(example, str(measure)), track.decimals), measure

    example = worked_example(track_of([], "P@3", primary="nDCG@10"))
    assert not example.cutoffs
    assert not example.means
    assert [str(measure) for measure, _ in example.scores] == ["nDCG@10", "P@3"]


def test_the_example_shows_a_tie() -> None:
    """At the first cut-off more items are relevant than the divisor counts, and a sentence says why."""
    example = worked_example(track_of([5, 10, 30]))
    first = example.cutoffs[0]
    assert (first.relevant, first.divisor) == (7, 5)
    words = read(page_of(cutoffs=[5, 10, 30])).words()
    assert "3 items have this grade" in words
    assert "From z = 10, relevant(z) has all 8 relevant items, and the divisor is m." in words


def test_the_mean_is_written_with_its_terms() -> None:
    """Equal terms are written once with their number; the text alternative has each term."""
    (mean,) = worked_example(track_of([5, 10, 15])).means
    assert 'alttext="MARp@5,10,15 = (3/5 + 5/8 + 5/8) / 3 = 0.6167"' in mean
    assert mean.count("<mfrac>") == 3


def test_the_page_shows_the_examples_of_all_tracks() -> None:
    """Each track has its cut-offs, with the numbers of its example; the symbols of R-precision are defined in words."""
    tree = read(page_of())
    tables = [each for each in tree.all("table") if each.classes() == ["cutoffs"]]
    for track, table in zip(challenge().tracks, tables, strict=True):
        rows = [[cell.words() for cell in row.children] for body in table.all("tbody") for row in body.all("tr")]
        assert rows == [
            [str(each.z), str(each.relevant), str(each.hits), str(each.divisor), f"{each.score:.4f}"]
            for each in worked_example(track).cutoffs
        ]
    captions = [each.words() for each in tree.all("caption")]
    assert [re.findall(r"^Table (\d+)\.", text) for text in captions] == [[str(n)] for n in range(1, 7)]

    defined = [each.words() for each in tree.all("dd")]
    assert any(text.startswith("A cut-off that limits the relevant items too.") for text in defined)
    assert "The number of relevant items of the query, in the list or not." in defined
    assert any(text.startswith("The relevant set at") for text in defined)


# In a browser


class TestInBrowser:
    """The page with every measure, in Chromium."""

    pytestmark = IN_BROWSER

    @pytest.fixture(scope="class")
    @staticmethod
    def address(tmp_path_factory: pytest.TempPathFactory) -> str:
        """The URL of the page with every measure."""
        folder: Path = tmp_path_factory.mktemp("measures")
        declared = challenge(measures=EVERY)
        write(pages(declared, [board_of(track) for track in declared.tracks]), folder)
        return (folder / "measures.html").as_uri()

    @pytest.mark.parametrize(
        ("width", "dark"),
        [
            *((width, False) for width in (320, 390, 768, 1440, 2560)),
            pytest.param(1440, True, marks=pytest.mark.endurance),
        ],
    )
    def test_the_page_is_sound_and_formulas_fit_their_columns(
        self, tab: Page, address: str, width: int, dark: bool
    ) -> None:
        """No formula is wider than its column."""
        check_page(tab, address, width, dark=dark)
        wide = (
            "[...document.querySelectorAll('math')].filter(each => each.lastElementChild.getBoundingClientRect().right"
            " > each.closest('.formula, dd, dt, p').getBoundingClientRect().right + 1)"
            ".map(each => each.getAttribute('alttext'))"
        )
        assert tab.ask(wide) == []
