"""The pages of teams: the result and its reasons, the nearest teams, the queries, and the entries."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest
from markupsafe import Markup

from scorer.board.board import BINS, Board, Certainty, QueryScores, Row, RowCertainty, RowPair, Tier
from scorer.board.site.folder import write
from scorer.board.site.track_pages import Field, distribution, neighbours, p_text, summary
from scorer.errors import LONGEST, MOST_SHOWN, Problem
from scorer.lists import Counts
from scorer.live.entry import State
from scorer.rules.teams import Team
from scorer.scoring.analysis.kept import ExtremeQuery
from scorer.wording import day_and_month, printable_name
from tests.accessibility import check_page, has_axe, violations
from tests.board import test_site as structure
from tests.boards import (
    ERRORS,
    HOSTILE,
    baseline_row,
    board_of,
    challenge,
    entry,
    scored_row,
    team,
    without_final,
)
from tests.browser import IN_BROWSER, Page
from tests.pages import Element, board_row, pages, read, rows, said

COLUMNS = 5
HISTOGRAM = (6, 1, *(0,) * (BINS - 3), 3)


def row_of(name: str, score: float) -> Row:
    """A row with one entry, whose preliminary score is lower by 0.01."""
    return scored_row(name, score, round(score - 0.01, 4), COLUMNS)


def pair(row: int, other: int, difference: float, **changes: object) -> RowPair:
    """A pair of rows that is not separable, with these changes."""
    values: dict[str, object] = {
        "interval": (difference - 0.02, difference + 0.03),
        "p_value": 0.2,
        "is_separable": False,
        "wins": 5,
        "ties": 3,
        "losses": 2,
        "queries_needed": None,
    }
    return RowPair(row, other, difference, **{**values, **changes})  # type: ignore[arg-type]


def certain(board: Board, *pairs: RowPair, histogram: tuple[int, ...] = HISTOGRAM) -> Board:
    """The board with these pairs and with one tier of all ranked teams."""
    ranked = [position for position, row in enumerate(board.rows) if row.rank is not None]
    certainty = Certainty(484, (Tier(tuple(ranked), 0.05),), 0, 0.04)
    blank = (None,) * (len(board.columns) - 1)
    found = []
    for row in board.rows:
        score = row.entry.final[0] if row.entry else None
        of_row = None
        if score is not None:
            places = (1, len(ranked)) if row.rank else None
            tier = 0 if row.rank else None
            of_row = RowCertainty((score - 0.02, score + 0.02), places, tier, None, histogram)
        found.append(replace(row, certainty=(of_row, *blank) if row.entry else ()))
    return replace(board, rows=tuple(found), certainty=(certainty, *blank), pairs=pairs)


def why(macro: str, *values: object) -> Markup:
    """What a macro on a team says."""
    return said("reasons.html", macro, *values)


def plain(board: Board, position: int) -> str:
    """The reasons of a row without their markup."""
    return reasons(board, position).striptags()


def reasons(board: Board, position: int) -> Markup:
    """Why a row has its rank."""
    return why("reasons", Field(board), position, [entry.state for entry in board.rows[position].present_entries])


@pytest.fixture
def three() -> Board:
    """Three ranked teams with 0.3, 0.2 and 0.1, and a baseline between the last two."""
    track = challenge().tracks[0]
    rows_of_teams = (row_of("one", 0.3), row_of("two", 0.2), row_of("three", 0.1))
    return board_of(track, *rows_of_teams, baseline_row("most popular", 0.15, 0.14, COLUMNS))


# Why this rank


def test_a_ranked_team_is_compared_with_its_neighbours(three: Board) -> None:
    """The first has no team above it; baselines are no neighbours; without tests there are only gaps."""
    assert why("heading", three.rows[0]) == "Why first"
    assert plain(three, 0) == "It scores 0.1000 more than two in second place."
    assert plain(certain(three, pair(0, 1, 0.0987)), 0) == (
        "It scores 0.0987 more than two in second place. The 484 queries do not separate it from two."
    )

    tested = certain(three, pair(0, 1, 0.1, is_separable=True), pair(1, 3, 0.1))
    assert why("heading", tested.rows[1]) == "Why second"
    assert plain(tested, 1) == (
        "It scores 0.1000 less than one in first place and 0.1000 more than three in third place. "
        "The 484 queries separate it from one, but not from three."
    )

    last = certain(three, pair(0, 3, 0.2, is_separable=True), pair(1, 3, 0.1, is_separable=True))
    assert plain(last, 3) == (
        "It scores 0.1000 less than two in second place. The 484 queries separate it from one and two."
    )

    assert "separate" not in plain(three, 1)
    assert neighbours(Field(three), 1) is None
    assert distribution(Field(three), 1) is None
    assert why("hidden", Field(three), 1) == "Intervals and tests are not computed for this board."


def test_teams_that_share_a_rank_are_named() -> None:
    """They are neither above nor below."""
    track = challenge().tracks[0]
    board = board_of(track, row_of("one", 0.3), row_of("two", 0.3), row_of("three", 0.3), row_of("four", 0.2))
    assert plain(board, 0) == (
        "It shares the rank with two and three: their scores are equal. "
        "It scores 0.1000 more than four in fourth place."
    )
    many = board_of(track, *(row_of(f"team-{number}", 0.3) for number in range(9)))
    assert plain(many, 0).endswith("team-3 and team-4 and 4 others: their scores are equal.")


def test_a_difference_that_rounds_to_zero_is_not_called_zero() -> None:
    """Scores that differ in the last decimal may come from means that differ by less."""
    board = board_of(challenge().tracks[0], row_of("one", 0.1235), row_of("two", 0.1234))
    assert plain(certain(board, pair(0, 1, 0.00002)), 0).startswith("It scores under 0.0001 more than two")


@pytest.mark.parametrize(
    ("needed", "sentence"),
    [
        (1_712, "If the differences stayed as they are, about 1,700 queries would separate it from two."),
        (10**7, ""),
        (None, ""),
    ],
)
def test_the_number_of_queries_that_would_separate_neighbours(three: Board, needed: int | None, sentence: str) -> None:
    """It is rounded, and left out where nobody could collect so many."""
    text = plain(certain(three, pair(0, 1, 0.1, queries_needed=needed)), 0)
    assert text.partition("from two. ")[2] == sentence


def test_a_team_without_neighbours_or_a_score_says_so() -> None:
    """The only team has no table of nearest teams; an entry may be scored with an undefined primary score."""
    board = board_of(challenge().tracks[0], row_of("one", 0.3), baseline_row("random", 0.1, 0.1, COLUMNS))
    assert plain(board, 0) == "No other team has a rank."
    assert neighbours(Field(board), 0) is None

    board = board_of(challenge().tracks[0], baseline_row("x", 0.1, 0.1, COLUMNS))
    assert plain(board, 0) == "A baseline of the organisers has no rank. No team has a rank yet."

    row = row_of("solo", 0.3)
    blank = replace(row.entries[0], final=(None, *row.entries[0].final[1:]))
    board = board_of(challenge().tracks[0], replace(row, entry=blank, entries=(blank,)))
    assert plain(board, 0) == "Its score is undefined, so it has no rank."


@pytest.mark.parametrize(
    ("score", "wanted"),
    [
        (0.4, "Every ranked team scores less."),
        (0.25, "Its score is between those of one in first place and two in second place."),
        (0.05, "Every ranked team scores more."),
    ],
)
def test_a_baseline_has_no_rank(score: float, wanted: str) -> None:
    """The sentences say between which teams its score is."""
    track = challenge().tracks[0]
    board = board_of(
        track, row_of("one", 0.3), row_of("two", 0.2), row_of("three", 0.1), baseline_row("x", score, score, COLUMNS)
    )
    position = next(position for position, row in enumerate(board.rows) if row.baseline)
    assert why("heading", board.rows[position]) == "Why no rank"
    assert plain(board, position) == f"A baseline of the organisers has no rank. {wanted}"


def with_states(*states: State) -> Row:
    """A row without a scored entry, whose entries have these states."""
    blank = (None,) * COLUMNS
    sent = tuple(entry("solo", number, blank, blank, state=state) for number, state in enumerate(states, 1))
    return Row(None, None, team("solo"), False, None, sent[::-1])


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        (("rejected",), "Its only entry was rejected; the errors are in the table of entries."),
        (("rejected",) * 3, "Each of its three entries was rejected; the errors are in the table of entries."),
        (("waiting",), "Its only entry is not scored yet."),
        (("failed", "waiting"), "Each of its two entries is not scored yet."),
        (("misdated",), "Its only entry has a time of receipt that the organisers must confirm."),
        (("rejected", "waiting"), "None of its two entries is scored."),
        (("rejected", "withdrawn"), "Its only entry was rejected; the errors are in the table of entries."),
    ],
)
def test_a_team_without_a_scored_entry_sees_why(states: tuple[State, ...], wanted: str) -> None:
    """The reason is that of all its entries that are present."""
    board = board_of(challenge().tracks[0], with_states(*states))
    assert plain(board, 0) == wanted
    assert summary(Field(board), 0) == "no score in Cold start"


def test_a_preliminary_board_says_that_final_scores_are_hidden() -> None:
    """Gaps are those of preliminary scores."""
    track = challenge(stage="preliminary").tracks[0]
    board = board_of(track, *(without_final(row_of(name, score)) for name, score in (("one", 0.3), ("two", 0.2))))
    assert plain(board, 1) == "It scores 0.1000 less than one in first place. Final scores are not shown yet."
    assert summary(Field(board), 1) == "rank 2 of 2 in Cold start, preliminary MARp@5,10,15,20,25,30 0.2000"


def test_names_in_sentences_are_text_and_short() -> None:
    """Names are escaped, isolated from the direction of the sentence, and shortened."""
    board = board_of(challenge().tracks[0], row_of("one", 0.3), row_of(HOSTILE[0], 0.2), row_of(HOSTILE[5], 0.1))
    sentence = reasons(board, 1)
    assert "<script" not in sentence
    sentence = reasons(board, 2)
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>" in sentence
    assert f"<bdi>{'W' * 37}...</bdi>" in reasons(board, 1)


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        (("scored",), "1 entry"),
        (("scored", "rejected"), "2 entries, 1 rejected"),
        (("rejected", "withdrawn", "misdated", "waiting", "failed"),
         "5 entries, 1 rejected, 1 withdrawn, 1 without a confirmed time, 2 not scored yet"),
    ],
)  # fmt: skip
def test_the_entries_are_counted_in_words(states: tuple[State, ...], wanted: str) -> None:
    """Each state is named only if an entry has it."""
    assert why("entries_of", with_states(*states)) == wanted


# The nearest teams


def test_the_table_of_nearest_teams_is_that_of_the_pairs(three: Board) -> None:
    """A pair is turned where this team is its first row; the parts of a bar follow each other."""
    tested = certain(three, pair(0, 1, 0.1), pair(1, 2, 0.05, is_separable=None, p_value=0.0004), pair(1, 3, 0.09))
    found, _ = neighbours(Field(tested), 1) or ([], None)
    assert [each.position for each in found] == [0, 1, 2, 3]
    assert [each.difference for each in found] == [0.1, None, -0.05, -0.09]
    assert found[0].interval == pytest.approx((0.08, 0.13))
    assert found[2].interval == pytest.approx((-0.08, -0.03))
    assert [each.shares for each in found] == [(5, 3, 2), (), (2, 3, 5), (2, 3, 5)]
    assert [p_text(each.pair, tested) for each in found if each.pair] == ["0.200", "< 0.001", "0.200"]
    page = pages(challenge(), [tested])["teams/two.html"]
    assert [row[-1] for row in rows(page, "nearest")] == ["too close to call", "", "yes", "too close to call"]
    assert "Of pairs with a baseline, only the interval decides." in page

    places = [(part[:5], *part.split('"')[2:5:2]) for part in found[0].bar.split('class="')[1:]]
    assert places == [("part1", "0%", "50%"), ("part2", "50%", "30%"), ("part3", "80%", "20%")]


def test_the_table_has_the_leader_and_the_nearest_teams() -> None:
    """Of many compared teams it has the best one, three above and three below."""
    board = board_of(challenge().tracks[0], *(row_of(f"team-{n:02}", 0.5 - 0.02 * n) for n in range(12)))
    pairs = [pair(min(n, 7), max(n, 7), 0.1) for n in range(12) if n != 7]
    found, _ = neighbours(Field(certain(board, *pairs)), 7) or ([], None)
    assert [each.position for each in found] == [0, 4, 5, 6, 7, 8, 9, 10]


def test_the_table_has_all_teams_that_share_a_rank_and_a_baseline() -> None:
    """The nearest one below shares its rank with two others. Every team has a row for the best baseline."""
    scores = (0.9, 0.8, 0.7, 0.6, 0.6, 0.6, 0.5, 0.4)
    rows_of_board = [row_of(f"team-{number}", score) for number, score in enumerate(scores)]
    rows_of_board += [baseline_row(f"random-{number}", 0.1 / number, 0.1, COLUMNS) for number in (1, 2)]
    board = board_of(challenge().tracks[0], *rows_of_board)
    field = Field(certain(board, *(pair(*each, 0.1) for each in combinations(range(10), 2))))
    shown = {at: [each.position for each in (neighbours(field, at) or ([], None))[0]] for at in (0, 4, 6, 7, 9)}
    assert shown[0] == [0, 1, 2, 3, 4, 5, 8]
    assert shown[4] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert shown[6] == [0, 3, 4, 5, 6, 7, 8, 9]
    assert shown[7] == [0, 3, 4, 5, 6, 7, 8, 9]
    assert shown[9] == [0, 6, 7, 8, 9]


def test_counts_of_queries_are_left_out_where_they_are_hidden(three: Board) -> None:
    """The column disappears, and a sentence says why there is no distribution."""
    hidden_pair = pair(0, 1, 0.1, wins=None, ties=None, losses=None)
    tested = certain(three, hidden_pair, histogram=())
    found, _ = neighbours(Field(tested), 0) or ([], None)
    assert [each.shares for each in found] == [(), ()]
    page = pages(challenge(), [tested])["teams/one.html"]
    assert 'class="shares"' not in page
    assert "The organisers do not show the scores of single queries." in page
    assert 'class="distribution"' not in page


# The queries


def test_the_line_is_the_mean_of_the_other_ranked_teams(three: Board) -> None:
    """A baseline is compared with all ranked teams, a ranked team with the others, and the only team with nothing."""
    board = certain(three)
    changed = replace(board.rows[0].certainty[0], histogram=(0,) * (BINS - 1) + (10,))  # type: ignore[type-var]
    first = replace(board.rows[0], certainty=(changed, *board.rows[0].certainty[1:]))
    field = Field(replace(board, rows=(first, *board.rows[1:])))
    own, baseline = distribution(field, 1), distribution(field, 2)
    assert own is not None
    assert baseline is not None
    assert (own.others, baseline.others) == (2, 3)
    assert "Mean of the other teams: 3.0, 0.5, 0.0" in own.svg
    assert "Mean of the other teams: 4.0, 0.7, 0.0" in baseline.svg
    assert '"Queries from 0 to 1 in 20 steps of 0.05: 6, 1, 0,' in own.svg
    assert (sum(own.counts), own.counts[0], own.svg.count('class="bar"')) == (10, 6, 3)

    only = distribution(Field(certain(board_of(challenge().tracks[0], row_of("one", 0.3)))), 0)
    assert only is not None
    assert ("<path" in only.svg, "Mean" in only.svg) == (False, False)


@pytest.mark.parametrize(
    ("query", "shown", "public", "note"),
    [
        ("q<b>7", ["q<b>7"], "public", ""),
        ("", [], "hidden", " The organisers do not publish the ids of queries."),
        (
            "",
            [],
            "public",
            " The ids of queries are not shown, because they tell which ones a secret split selects.",
        ),
    ],
)
def test_ids_of_queries_are_shown_only_if_they_are_public(
    three: Board, query: str, shown: list[str], public: str, note: str
) -> None:
    """Without ids the table has no column of queries; an id is text."""
    first = replace(
        three.rows[0],
        best_queries=(ExtremeQuery(0, 0.9, 0.1), ExtremeQuery(0, 0.8, 0.1)),
        worst_queries=(ExtremeQuery(0, 0.0, 1.0),),
    )
    board = replace(certain(three), rows=(first, *certain(three).rows[1:]), query_ids=(query,) if query else ())
    board = replace(board, track=board.track.model_copy(update={"per_query": public}))
    page = pages(challenge(), [board])["teams/one.html"]
    found = rows(page, "queries")
    assert [row[:-1] for row in found] == [
        [*shown, "0.9000", "0.1000", "+0.8000"],
        [*shown, "0.8000", "0.1000", "+0.7000"],
        [*shown, "0.0000", "1.0000", "−1.0000"],
    ]
    assert f"Bar: the median of the other ranked teams.{note}<" in page
    assert "Its two best and one worst queries against the field." in page
    table = next(each for each in read(page).all("table") if "queries" in each.classes())
    assert [row.classes() for body in table.all("tbody") for row in body.children] == [[], [], ["worst"]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "The organisers do not show the scores of single queries."),
        ({"stage": "preliminary"}, "The scores of single queries are hidden while the challenge is open."),
        ({"primary": "NumRelRet"}, "NumRelRet is no mean over the queries, so single queries are not compared."),
        ({"primary": "DCG@10"}, "The scores of DCG@10 have no upper bound, so their distribution is not drawn."),
    ],
)
def test_a_sentence_says_why_queries_are_hidden(changes: dict[str, object], sentence: str) -> None:
    """Where the statistics are known and the scores of queries are not."""
    board = certain(
        board_of(challenge(Path("nowhere"), **changes).tracks[0], row_of("one", 0.3), row_of("two", 0.2)), histogram=()
    )
    assert why("hidden", Field(board), 0) == sentence
    assert why("hidden", Field(certain(board)), 0) == ""


# The result on the page


def result_of(page: str) -> Element:
    """The result in the first track of a page."""
    return read(page).of_class("result")


def test_the_page_shows_the_result_and_the_nearest_teams(three: Board) -> None:
    """The numbers are those of the board and of its pairs; the row of the team itself has none."""
    result = result_of(pages(challenge(), [certain(three, pair(0, 1, 0.1))])["teams/two.html"])
    assert result.of_class("place").words() == "Rank 2 1 to 3, of three Tier A"
    assert result.of_class("among").words().startswith("Final MARp 0.2000 0.180 to 0.220")
    assert "Tall tick: its preliminary score, 0.1900, rank 2 (same)." in result.words()
    assert result.of_class("reasons").words().startswith("Why second It scores 0.1000 less than one in first place")

    tested = certain(three, pair(0, 1, 0.1), pair(1, 2, 0.05, is_separable=None), pair(1, 3, 0.0987, is_separable=True))
    assert rows(pages(challenge(), [tested])["teams/two.html"], "nearest") == [
        ["1", "one", "0.3000", "+0.1000", "+0.080 to +0.130", "", "5 3 2", "0.200", "too close to call"],
        ["2", "two", "0.2000", "", "", "", "", "", ""],
        ["", "most popular baseline", "0.1500", "−0.0500", "−0.080 to −0.030", "", "2 3 5", "0.200", "yes"],
        ["3", "three", "0.1000", "−0.0987", "−0.129 to −0.079", "", "2 3 5", "0.200", "yes"],
    ]


# Entries


def test_a_team_page_shows_every_entry(site: dict[str, str]) -> None:
    """The latest first, with both scores and the whole SHA-256; captions are numbered in order."""
    page = site["teams/tea-kettle.html"]
    found = rows(page, "entries")
    assert [row[0] for row in found] == ["6", "5", "4", "3", "2", "1"]
    assert [row[1].split()[-1] for row in found] == ["counts"] + ["scored"] * 5
    assert found[0][4:] == ["0.3127", "0.3290", "498 of 500"]
    assert re.fullmatch(r"cold-start/tea-kettle/6\.txt [0-9a-f]{64}", found[0][2])
    assert found[0][3].startswith("3 unknown queries, ignored 2 repeated items, counted once 4 further measures")
    assert "AP0.2502, preliminary 0.2632" in found[0][3]
    for word in ("Table", "Figure"):
        numbers = [int(number) for number in re.findall(rf"<b>{word} (\d+)\.</b>", page)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) > 2
    assert found[-1][3].startswith("1 note line 3 a repeated item")
    assert "on the entry that counts" not in page


def test_remarks_on_an_entry_are_errors_notes_or_nothing() -> None:
    """The result links to the notes of the entry that counts; a rejected entry that was withdrawn has errors."""
    declared = challenge()

    def page_of(row: Row) -> str:
        return pages(declared, [board_of(declared.tracks[0], row)])["teams/solo.html"]

    scored = scored_row("solo", 0.3, 0.3, 5)
    clean = replace(scored.entries[0], counts=Counts(500, 500, 0, 15_000, 0, 0), findings=(), findings_count=0)
    shown = rows(page_of(replace(scored, entry=clean, entries=(clean,))), "entries")[0]
    assert shown[3].startswith("Nothing.")

    scores = (0.3, 0.2, 0.2, 0.2, 0.2)
    noted = entry("solo", 1, scores, scores, counting=True, findings=ERRORS[:1], more=1)
    page = page_of(replace(scored, entry=noted, entries=(noted,)))
    assert rows(page, "entries")[0][3].startswith(f"2 notes {ERRORS[0].text} and 1 more")
    which = read(page).of_class("which")
    assert which.words().endswith("There are 2 notes on the entry that counts.")
    assert [each.attributes["href"] for each in which.all("a")][1:] == ["#entry-cold-start-1"]

    gone = entry("solo", 2, (None,) * 5, (None,) * 5, state="withdrawn", findings=ERRORS)
    shown = rows(page_of(replace(scored, entries=(gone, *scored.entries))), "entries")[0]
    assert shown[1].endswith("withdrawn")
    assert shown[3].startswith("3 errors")


def with_entries(row: Row, *states: State) -> Row:
    """The row with a later entry in each state."""
    blank = (None,) * COLUMNS
    later = (entry(row.team.name, number, blank, blank, state=each) for number, each in enumerate(states, 2))
    return replace(row, entries=(*reversed(tuple(later)), *row.entries))


@pytest.mark.parametrize("state", ["waiting", "failed"])
def test_entries_without_a_result_are_shown_alike(state: State) -> None:
    """Pages say that an entry is not scored yet, whether it was tried or not, and the board counts such entries."""
    declared = challenge()
    row = with_entries(scored_row("solo", 0.3, 0.3, 5), state)
    site = pages(declared, [board_of(declared.tracks[0], row)])
    page = site["teams/solo.html"]
    assert [cells[1].partition(" UTC ")[2] for cells in rows(page, "entries")] == ["not scored yet", "counts"]
    assert "The team need not do anything." in page
    assert "failed" not in page
    assert "1 not scored yet" in site["cold-start/index.html"]
    assert board_row(site["cold-start/index.html"], "solo")["entries"] == "2"


def test_an_entry_without_a_possible_time_is_explained() -> None:
    """Its status and a sentence say that the organisers must confirm the time; the board ignores that time."""
    declared = challenge()
    row = scored_row("solo", 0.3, 0.3, 5)
    far = replace(
        entry("solo", 2, (0.9,) * 5, (0.9,) * 5, state="misdated"), received=datetime(9999, 12, 31, tzinfo=UTC)
    )
    site = pages(declared, [board_of(declared.tracks[0], replace(row, entries=(far, *row.entries)))])
    page, table = site["teams/solo.html"], site["cold-start/index.html"]
    assert rows(page, "entries")[0][1].endswith("time not confirmed")
    assert "The organisers must confirm the time of receipt" in page
    assert "timeline" not in page
    assert "1 whose time of receipt is not confirmed" in table
    shown = board_row(table, "solo")
    assert (shown["entries"], shown["last"]) == ("2", day_and_month(row.entries[0].received))
    only = replace(row, entry=None, entries=(far,))
    table = pages(declared, [board_of(declared.tracks[0], only)])["cold-start/index.html"]
    shown = board_row(table, "solo")
    assert (shown["entries"], shown["last"], shown["strip"]) == (
        *("1", "–", "Nothing scored. The time of receipt is not confirmed. See why"),
    )


# Pages of a team with many entries


def many_entries(count: int, counting: int, columns: int) -> Row:
    """The row of a team with this many scored entries; `counting` is the number of the one that counts."""
    sent = tuple(
        entry(
            "solo",
            number,
            (number / 10_000,) * columns,
            (0.1,) * columns,
            counting=number == counting,
            findings=ERRORS[:1] if number == counting else (),
        )
        for number in range(count, 0, -1)
    )
    return Row(None, None, team("solo"), False, sent[count - counting], sent)


@pytest.fixture(scope="module")
def long() -> dict[str, str]:
    """The site of a team with 120 entries in one track, the third of which counts, and 51 in another."""
    declared = challenge()
    first, second = declared.tracks
    return pages(
        declared,
        [
            board_of(first, many_entries(120, 3, 5), scored_row("short", 0.3, 0.3, 5)),
            board_of(second, without_final(many_entries(51, 51, 2))),
        ],
    )


SOLO = ("teams/solo.html", "teams/solo.2.html", "teams/solo.3.html")


def test_the_entries_of_a_team_are_on_several_pages(long: dict[str, str]) -> None:
    """Each page has at most 50 entries of each track, the latest first; every entry is on one page."""
    assert [path for path in sorted(long) if path.startswith("teams/solo")] == sorted(SOLO)
    captions = [
        [each.words() for each in read(long[path]).all("p") if "Entries " in each.text and "Page" not in each.text]
        for path in SOLO
    ]
    assert [[re.sub(r"^Table \d\. |[;,].*|\.$", "", words) for words in page] for page in captions] == [
        ["Entries 71 to 120 of 120", "Entries 2 to 51 of 51"],
        ["Entries 21 to 70 of 120", "Entries 1 to 1 of 51"],
        ["Entries 1 to 20 of 120"],
    ]
    found = [
        (table.attributes["aria-labelledby"], int(next(row.all("td")).words()))
        for path in SOLO
        for table in read(long[path]).all("table")
        if "entries" in table.classes()
        for body in table.all("tbody")
        for row in body.all("tr")
    ]
    assert sorted(found) == sorted(
        [("entries-cold-start", number) for number in range(1, 121)]
        + [("entries-pooled-sequences", number) for number in range(1, 52)]
    )


def test_the_pages_of_a_team_are_linked(long: dict[str, str]) -> None:
    """Each names its number and its neighbours; links have targets, and ids and landmarks differ."""
    structure.test_every_link_has_a_target(long)
    structure.test_every_page_is_well_formed(long)
    structure.test_tables_are_described(long)
    bars = [[each for each in read(long[path]).all("nav") if "pages" in each.classes()] for path in SOLO]
    assert [bar[0].words() for bar in bars] == [
        "Page 1 of 3 Older entries",
        "Newer entries Page 2 of 3 Older entries",
        "Newer entries Page 3 of 3",
    ]
    assert [[link.attributes["href"] for link in bar[0].all("a")] for bar in bars] == [
        ["solo.2.html"],
        ["solo.html", "solo.3.html"],
        ["solo.2.html"],
    ]
    assert 'class="pages"' not in long["teams/short.html"]

    for path in SOLO:
        page = read(long[path])
        labels = [each.attributes.get("aria-label") for each in page.all("nav")]
        labels += [each.attributes.get("aria-labelledby") for each in page.all("section")]
        assert None not in labels
        assert len(labels) == len(set(labels))


def test_the_first_page_has_the_result_and_the_chart(long: dict[str, str]) -> None:
    """Others have entries only. The result links to the entry that counts; a long chart is bounded."""
    assert [sum("result" in each.classes() for each in read(long[path]).all("div")) for path in SOLO] == [2, 0, 0]
    first = result_of(long[SOLO[0]])
    assert first.of_class("place").words() == "Rank 2 of two"
    assert "The entry that counts is entry 3." in first.words()
    assert 'href="solo.3.html#entry-cold-start-3"' in long[SOLO[0]]
    assert 'id="entry-cold-start-3" class="counts"' in long[SOLO[2]]
    assert [long[path].count("<figure") for path in SOLO] == [2, 0, 0]

    figure = next(read(long[SOLO[0]]).all("figure"))
    assert len(list(figure.all("circle"))) == 101
    assert [dot.words() for dot in figure.all("circle") if "class" in dot.attributes] == ["Entry 3: 0.0003"]
    assert "of each of the latest 100 scored entries and of the one that counts." in figure.words()


def test_the_size_of_a_page_is_bounded() -> None:
    """Two hundred rejected entries with the most and the longest errors give four pages of similar size."""
    declared = challenge()
    blank = (None,) * 5
    errors = tuple(Problem.of_form(line, "<" * 1000) for line in range(1, MOST_SHOWN + 1))
    sent = tuple(
        entry("solo", number, blank, blank, state="rejected", findings=errors, more=9) for number in range(200, 0, -1)
    )
    site = pages(declared, [board_of(declared.tracks[0], Row(None, None, team("solo"), False, None, sent))])
    sizes = [len(text.encode()) for path, text in site.items() if path.startswith("teams/")]
    assert len(sizes) == 4
    assert max(sizes) < 50 * MOST_SHOWN * (len("&lt;") * LONGEST + 100)


def test_the_marks_of_many_teams_are_few() -> None:
    """Marks that would cover each other are drawn once, so the pages of a long board stay small."""
    board = certain(board_of(challenge().tracks[0], *(row_of(f"team-{n:03}", 0.9 - n / 1000) for n in range(260))))
    page = pages(challenge(), [board])["teams/team-130.html"]
    assert 0 < page.count('class="other"') <= 201


def every_query(page: str) -> list[list[str]]:
    """The rows of the first table of all queries, or of deciles."""
    return rows(page, "plain")


def test_all_queries_are_listed_where_their_scores_are_public(three: Board) -> None:
    """Own score, the median of the other ranked teams, and the difference; ids are text. A blank score is a dash."""
    scores = {0: (0.5, 0.25, None), 1: (0.1, 0.1, 0.1), 2: (0.9, 0.9, 0.9), 3: (0.3, 0.2, 0.1)}
    assert [three.rows[row].baseline for row in scores] == [False, False, True, False]
    board = replace(certain(three), query_ids=("q<b>1", "q2", "q3", "q4"), query_scores=QueryScores((0, 2, 3), scores))
    site = pages(challenge(), [board])
    assert every_query(site["teams/one.html"]) == [
        ["q<b>1", "0.5000", "0.2000", "+0.3000"],
        ["q3", "0.2500", "0.1500", "+0.1000"],
        ["q4", "–", "0.1000", "–"],
    ]
    assert every_query(site["teams/most-popular.html"])[0] == ["q<b>1", "0.9000", "0.3000", "+0.6000"]
    assert every_query(site["teams/two.html"])[2] == ["q4", "0.1000", "–", "–"]
    assert "All three queries against the field." in site["teams/one.html"].replace("All 3 ", "All three ")
    assert '<script defer src="../sort.js">' in site["teams/one.html"]


def test_deciles_are_listed_where_queries_are_hidden(three: Board) -> None:
    """Without ids and without a script; without scores of queries, there is no table."""
    deciles = [tuple(0.1 * number + 0.01 * row for number in range(9)) for row in range(4)]
    found = certain(three)
    shown = [replace(row, deciles=each) for row, each in zip(found.rows, deciles, strict=True)]
    site = pages(challenge(), [replace(found, rows=tuple(shown))])
    listed = every_query(site["teams/one.html"])
    assert [row[0] for row in listed] == [f"{10 * number} %" for number in range(1, 10)]
    assert listed[1][1:] == ["0.1000", "0.1200", "−0.0200"]
    assert "sort.js" not in site["teams/one.html"]
    assert 'class="every"' not in pages(challenge(), [found])["teams/one.html"]


# In a browser


class TestInBrowser:
    """Pages of teams in Chromium."""

    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("width", [320, 760, 1280])
    def test_long_pages_and_names_fit(self, tab: Page, long: dict[str, str], tmp_path: Path, width: int) -> None:
        """The pages of a team with many entries and of one whose name is 255 escaped bytes do not scroll sideways."""
        declared = challenge()
        name = Team(printable_name("\udcff" * 255), "escaped")
        row = scored_row("solo", 0.3, 0.3, 5, entries=2)
        named = tuple(replace(each, file=f"cold-start/{name.name}/{name.name}.txt") for each in row.entries)
        row = replace(row, team=name, entry=named[0], entries=named)
        write(pages(declared, [board_of(track, row) for track in declared.tracks[:1]]), tmp_path / "escaped")
        write(long, tmp_path / "long")
        paths = ("escaped/index.html", "escaped/cold-start/index.html", "escaped/teams/escaped.html")
        for path in (*paths, *(f"long/{each}" for each in SOLO)):
            check_page(tab, f"{tmp_path.as_uri()}/{path}", width)

    def test_on_a_phone_the_reasons_are_as_wide_as_the_page_and_above_the_numbers(
        self, tab: Page, address: str
    ) -> None:
        """First the track and the rank, then why, then how many entries."""
        tab.open(f"{address}/teams/slow-lanterns.html", width=390)
        top, width = (
            f"document.querySelector('.result {{}}').getBoundingClientRect().{each}" for each in ("top", "width")
        )
        tops = [tab.ask(top.format(each)) for each in ("h2", ".place", ".reasons", ".which p")]

        assert tops == sorted(tops)
        assert tab.ask(width.format(".reasons")) > 350

    @pytest.mark.parametrize("width", [320, 390, 768, 1024, 1440, 2560])
    def test_no_number_is_cut_or_covered(self, tab: Page, address: str, width: int) -> None:
        """The text of each cell is inside the cell, and cells of a row do not overlap."""
        tab.open(f"{address}/teams/slow-lanterns.html", width=width)
        assert tab.ask("document.documentElement.scrollWidth") <= width
        cut = (
            "[...document.querySelectorAll('.track :is(th, td):not(.scale, .team, .source)')]"
            ".filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)"
            ".map(each => each.className + ': ' + each.textContent)"
        )
        assert tab.ask(cut) == []

    def test_the_dot_of_a_team_is_at_its_score(self, tab: Page, address: str) -> None:
        """The dot is between the ticks around the score, in proportion."""
        tab.open(f"{address}/teams/slow-lanterns.html", width=1440)
        middle = "(each => each.getBoundingClientRect().x + each.getBoundingClientRect().width / 2)"
        places = tab.ask(
            "[document.querySelector('svg.among .dot'),"
            f" ...document.querySelectorAll('svg.among text:not(.first, .last)')].slice(0, 3).map({middle})"
        )
        labels = tab.ask(
            "[...document.querySelectorAll('svg.among text:not(.first, .last)')].slice(0, 2).map(e => +e.textContent)"
        )
        dot, low, high = places
        score = labels[0] + (labels[1] - labels[0]) * (dot - low) / (high - low)
        assert score == pytest.approx(0.2120, abs=0.001)

    def test_the_page_works_with_the_keyboard_and_without_scripts(self, tab: Page, address: str) -> None:
        """Further measures unfold by the keyboard, and so do all queries."""
        tab.open(f"{address}/teams/slow-lanterns.html", scripts=False)
        tab.ask("document.querySelector('.entries summary').focus()")
        tab.press("Enter")
        assert tab.ask("document.querySelector('.entries details').open")
        assert tab.ask("document.querySelector('.entries dl').checkVisibility()")

    def test_the_queries_are_sorted_by_a_click(self, tab: Page, address: str) -> None:
        """Numbers begin with the highest, ids with the first, by the numbers in them; a second click reverses."""
        tab.open(f"{address}/teams/slow-lanterns.html")
        tab.ask("document.querySelector('details.every').open = true")
        column = "[...document.querySelectorAll('.sortable')[0].tBodies[0].rows].map(row => row.cells[{}].textContent)"
        given = tab.ask(column.format(0))
        for index, key in ((3, lambda text: float(text.replace("−", "-"))), (1, float)):
            for reverse in (True, False):
                tab.ask(f"document.querySelectorAll('.sortable thead button')[{index}].click()")
                found = list(map(key, tab.ask(column.format(index))))
                assert found == sorted(found, reverse=reverse)
                order = "descending" if reverse else "ascending"
                assert tab.ask(f"document.querySelectorAll('.sortable th')[{index}].getAttribute('aria-sort')") == order
        tab.ask("document.querySelector('.sortable thead button').click()")
        assert tab.ask(column.format(0)) == given == [f"q{number}" for number in range(1, len(given) + 1)]
        assert tab.errors == []

    def test_forced_colours_keep_the_marks(self, tab: Page, address: str) -> None:
        """Dots and intervals differ from the background."""
        tab.open(f"{address}/teams/slow-lanterns.html", forced_colours=True)
        paper = tab.ask("getComputedStyle(document.body).backgroundColor")
        for mark, attribute in ((".nearest .dot", "fill"), (".nearest line.span", "stroke"), (".part3", "fill")):
            assert tab.ask(f"getComputedStyle(document.querySelector('{mark}')).{attribute}") != paper, mark

    @pytest.mark.parametrize(
        ("name", "width", "dark"),
        [
            ("Slow Lanterns", 1440, False),
            pytest.param("Slow Lanterns", 1440, True, marks=pytest.mark.endurance),
            pytest.param("Slow Lanterns", 390, False, marks=pytest.mark.endurance),
            ("most popular", 1440, False),
            ("quiet-harbour", 390, True),
        ],
    )
    def test_the_page_is_sound(self, tab: Page, address: str, name: str, width: int, dark: bool) -> None:
        """Also where all queries are unfolded."""
        check_page(tab, f"{address}/teams/{team(name).slug}.html", width, dark=dark)
        if has_axe():
            tab.ask("document.querySelectorAll('details.every').forEach(each => { each.open = true; })")
            assert violations(tab) == []
