"""The board: ranks, counting entries, shown scores, slugs, exports and rules."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.board.board import Board, rules
from scorer.board.build import board as build_board
from scorer.board.build import ranks
from scorer.board.reports.leaderboard import board_table, export_columns, export_rows, to_csv, to_json
from scorer.errors import Findings, Problem
from scorer.lists import Counts
from scorer.live.entry import Entry, recorded, rounded, submissions
from scorer.live.now import Now
from scorer.measures import parse
from scorer.organising.scan import import_submissions
from scorer.rules.teams import slugs
from scorer.scoring.outcomes import Failed, Rejected, Scored
from scorer.settings.tracks import Track
from scorer.store.events import Basis, BasisBody, Submission
from scorer.store.snapshot import Snapshot
from scorer.store.store import GENERATIONS, Store
from scorer.wording import markdown_table, printable_name
from tests.databases import NewPlace, record_basis
from tests.strategies import matched

BASIS = Basis("50" * 32, "settings" + "0" * 56)
FLAGGED = np.array([True, False, False, False, False])
NOTHING = matched({f"q{number}": {} for number in range(5)}, {})
START = datetime(2011, 4, 18, 10, tzinfo=UTC)
NAN = math.nan
STAGES = ("final", "preliminary")

HOSTILE = ("<script>alert(1)</script>", "=cmd()|' /C calc'!A0", "../../x", "a|b\\c", "con", "Ünïcode", "🦊", "x" * 300)


def track(**settings: object) -> Track:
    """A track with two measures."""
    plain = {
        "name": "cold-start",
        "title": "Cold start",
        "solution": "solution.txt",
        "list_length": 30,
        "primary": "MARp@5,10",
        "measures": ["RR"],
        "decimals": 3,
        "final": "rest",
    }
    return Track.model_validate(plain | settings)


def outcome(preliminary: float, rest: float | None = None, flagged: np.ndarray = FLAGGED) -> Scored:
    """A file with this primary score on the flagged query, and with `rest` (by default the same) on the others."""
    primary = np.where(FLAGGED, preliminary, preliminary if rest is None else rest)
    counts, notes = Counts(5, 5, 0, 150, 1, 0), Findings([Problem.of_form(2, "noted")], 1)
    return Scored(
        (*parse("MARp@5,10"), *parse("RR")), np.stack([primary, np.full(5, 0.25)]), flagged, NOTHING, counts, notes
    )


def rejected() -> Rejected:
    """A rejected file."""
    return Rejected(Findings([Problem.of_form(2, "no colon")], 7))


class Sent:
    """Records submissions in a store."""

    def __init__(self, store: Store, flagged: np.ndarray = FLAGGED) -> None:
        self.store = store
        self.flagged = flagged
        store.store_solution(BASIS.solution, [f"q{number}" for number in range(5)], flagged, NOTHING.ideal)
        record_basis(store, "cold-start", BasisBody.of(BASIS, None, GENERATIONS))

    def __call__(self, team: str, result: float | Scored | Rejected | None, hours: float = 0, file: str = "") -> None:
        """Record a file of a team; a number is its score on all queries, None means not scored yet."""
        name = f"cold-start/{team}/{file or hours}.txt"
        sent = Submission(
            "cold-start",
            team,
            name,
            sha256(name.encode("utf-8", "surrogatepass")).hexdigest(),
            START + timedelta(hours=hours),
        )
        import_submissions(self.store, "cold-start", [*self._present(), sent])
        if result is not None:
            scored = outcome(result, flagged=self.flagged) if isinstance(result, float) else result
            self.store.store_results([(sent.digest, scored.summary() if isinstance(scored, Scored) else scored)], BASIS)

    def withdraw(self, team: str, hours: float) -> None:
        """Withdraw the file that the team sent at that hour."""
        gone = START + timedelta(hours=hours)
        there = [each for each in self._present() if (each.team, each.received) != (team, gone)]
        import_submissions(self.store, "cold-start", there)

    def _present(self) -> list[Submission]:
        states = self.store.read(lambda view: submissions(view.events("cold-start")).values())
        return [state.submission for state in states if state.present]


def board(store: Store, track: Track) -> Board:
    """The board of a track by its recorded basis."""

    def built(view: Snapshot) -> Board:
        recorded = view.recorded_basis(track.name)
        return build_board(Now.of(view, track).by(track, recorded.basis if recorded else None))

    return store.read(built)


@pytest.fixture
def store(new_place: NewPlace) -> Iterator[Store]:
    """A new database."""
    with Store.open(new_place()) as store:
        yield store


@pytest.fixture
def sent(store: Store) -> Sent:
    """Records submissions for a solution that flags one of five queries."""
    return Sent(store)


def ranking(board: Board) -> list[tuple[int | None, str]]:
    """The rank and the name of each team."""
    return [(row.rank, row.team.name) for row in board.rows]


def counting(board: Board, team: str) -> Entry:
    """The counting entry of a team."""
    (row,) = [row for row in board.rows if row.team.name == team]
    assert row.entry is not None
    assert [entry for entry in row.entries if entry.is_counting] == [row.entry]
    return row.entry


CERTAINTY = ("low", "high", "rank from", "rank to", "tier", "separable_from_leader")
"""The last columns of every export."""


# Ranks


INDEXES = (9, 3, 1, 7, 4)


def test_ranks_follow_the_record_among_equal_scores() -> None:
    """With "earlier", no two entries share a rank."""
    assert ranks((0.7, 0.7, 0.9, 0.7, 0.7), INDEXES, "earlier") == (5, 2, 1, 4, 3)


@given(st.lists(st.none() | st.integers(-3, 3).map(lambda tenths: tenths / 10), max_size=12))
def test_a_rank_counts_the_better_scores(scores: list[float | None]) -> None:
    """The rank of a score is one more than the number of higher scores."""
    expected = [
        None if score is None else 1 + sum(other is not None and other > score for other in scores) for score in scores
    ]
    assert list(ranks(scores, range(len(scores)), "shared")) == expected


def test_preliminary_ranks_come_from_preliminary_scores(sent: Sent, store: Store) -> None:
    """A final board has both ranks; neither ranks baselines, and a preliminary board has the same preliminary ranks."""
    for team, (preliminary, rest) in {"a": (0.1, 0.9), "b": (0.4, 0.8), "random": (0.9, 0.1), "c": (0.4, 0.2)}.items():
        sent(team, outcome(preliminary, rest))

    final, preliminary_board = (board(store, track(stage=stage, baselines=["random"])) for stage in STAGES)

    assert [(row.team.name, row.rank, row.preliminary_rank) for row in final.rows] == [
        ("a", 1, 3),
        ("b", 2, 1),
        ("c", 3, 1),
        ("random", None, None),
    ]
    assert {row.team.name: (row.rank, row.preliminary_rank) for row in preliminary_board.rows} == {
        "random": (None, None),
        "b": (1, 1),
        "c": (1, 1),
        "a": (3, 3),
    }


def test_without_flags_there_are_no_preliminary_scores(store: Store) -> None:
    """The rules do not mention them, or say why a preliminary board is empty."""
    Sent(store, np.zeros(5, dtype=bool))("team", 0.5)

    found = board(store, track(final="all"))
    text = " ".join(rules(found))

    assert [(row.rank, row.preliminary_rank) for row in found.rows] == [(1, None)]
    assert export_columns(found) == ("rank", "team", "baseline", "MARp@5,10", "RR", "entries", "last entry", *CERTAINTY)
    assert "aseline" not in text
    assert "reliminary" not in text
    assert "the 5 queries of the solution." in text
    found = board(store, track(stage="preliminary"))
    assert ranking(found) == [(None, "team")]
    assert "The solution flags no queries for preliminary scores, so there are no scores to show." in rules(found)


def test_equal_scores_share_a_rank_and_baselines_take_none(sent: Sent, store: Store) -> None:
    """Ranks are 1, 1, 3; a baseline is listed by its score and does not change the ranks of the teams."""
    for hours, (team, score) in enumerate({"a": 0.4, "random": 0.35, "b": 0.5, "c": 0.5, "d": 0.3}.items()):
        sent(team, score, hours)

    found = board(store, track(baselines=["random"]))

    assert ranking(found) == [(1, "b"), (1, "c"), (3, "a"), (None, "random"), (4, "d")]
    assert [row.baseline for row in found.rows] == [False, False, False, True, False]


@pytest.mark.holds(
    r"Scores are rounded to 3 decimals before they are compared\.",
    r"Teams with equal scores share a rank, as in 1, 1, 3\.",
)
def test_scores_that_print_alike_share_a_rank(sent: Sent, store: Store) -> None:
    """Scores are compared after rounding to the track's decimals; of equal ones the first of the record comes first."""
    sent("b-earlier", 0.49951, 2)
    sent("a-later", 0.50049, 1)
    sent("c-next", 0.49949, 3)

    assert ranking(board(store, track(decimals=3))) == [(1, "b-earlier"), (1, "a-later"), (3, "c-next")]
    assert ranking(board(store, track(decimals=5))) == [(1, "a-later"), (2, "b-earlier"), (3, "c-next")]


@pytest.mark.holds(r"Of teams with equal scores, the one with the earlier entry ranks higher\.")
def test_the_earlier_of_equal_scores_may_rank_higher(sent: Sent, store: Store) -> None:
    """With equal_ranks = "earlier", the order of the record decides; no two entries have the same index."""
    sent("first", 0.5, 3)
    sent("second", 0.5, 1)
    sent("also-second", 0.5, 1)

    assert ranking(board(store, track(equal_ranks="earlier"))) == [(1, "first"), (2, "second"), (3, "also-second")]


def test_a_blank_never_outranks_a_number(sent: Sent, store: Store) -> None:
    """A team with an undefined score is listed below 0, without a rank; teams without a scored entry follow by name."""
    sent("undefined", NAN, 1)
    sent("zero", 0.0, 2)
    sent("waiting", None, 3)
    sent("broken", rejected(), 4)

    found = board(store, track())

    assert ranking(found) == [(1, "zero"), (None, "undefined"), (None, "broken"), (None, "waiting")]
    assert [row.entry is None for row in found.rows] == [False, False, True, True]
    assert [row.entries[0].state for row in found.rows] == ["scored", "scored", "rejected", "waiting"]


@given(st.floats(-2, 2), st.floats(-2, 2), st.integers(0, 12))
def test_printed_scores_compare_like_ranked_scores(one: float, other: float, decimals: int) -> None:
    """A rounded score prints like the score itself, and two rounded scores compare like their printed forms."""
    first, second = rounded(one, decimals), rounded(other, decimals)
    assert first is not None
    assert second is not None
    printed = [Decimal(f"{value:.{decimals}f}") for value in (first, second)]

    assert printed == [Decimal(f"{value:.{decimals}f}") for value in (one, other)]
    assert (first < second, first == second) == (printed[0] < printed[1], printed[0] == printed[1])


def test_no_score_prints_as_minus_zero() -> None:
    """A negative score that rounds to zero is zero; halves round to even; NaN is a blank."""
    assert f"{rounded(-0.00001, 3):.3f}" == "0.000"
    assert (rounded(0.125, 2), rounded(0.375, 2), rounded(0.5, 0)) == (0.12, 0.38, 0.0)
    assert (rounded(NAN, 3), rounded(None, 3)) == (None, None)


# Which entry counts


@pytest.mark.holds(
    r"Of the entries of a team, the one with the best preliminary P@1 counts; of equal ones, the earliest\."
)
def test_the_best_entry_is_chosen_by_its_preliminary_score(sent: Sent, store: Store) -> None:
    """Final scores do not decide which entry counts; of equal preliminary scores the earliest entry counts."""
    sent("team", outcome(0.5, 0.1), 2)
    sent("team", outcome(0.4, 0.9), 1)
    sent("team", outcome(0.5004, 0.2), 3)

    assert counting(board(store, track()), "team").received == START + timedelta(hours=2)


@pytest.mark.holds(r"Of the entries of a team, the one with the best P@1 counts; of equal ones, the earliest\.")
def test_without_flags_the_best_entry_is_chosen_by_its_final_score(store: Store) -> None:
    """Where the solution flags no queries, final scores decide which entry counts."""
    sent = Sent(store, np.zeros(5, dtype=bool))
    sent("team", 0.1, 1)
    sent("team", 0.3, 2)
    sent("team", 0.2, 3)

    found = board(store, track(final="all"))

    assert counting(found, "team").final == (0.3, 0.25)
    assert counting(found, "team").preliminary == (None, None)
    assert found.preliminary_queries == 0


@pytest.mark.holds(r"Of the entries of a team, the last scored one counts\.")
def test_the_last_valid_entry_may_count(sent: Sent, store: Store) -> None:
    """With entry = "last", neither better entries before it count, nor later ones that are rejected or withdrawn."""
    sent("team", 0.9, 1)
    sent("team", 0.2, 2)
    sent("team", 0.8, 3)
    sent("team", rejected(), 4)
    sent("team", None, 5)
    sent.withdraw("team", 3)

    found = board(store, track(entry="last"))

    assert counting(found, "team").received == START + timedelta(hours=2)
    assert [entry.state for entry in found.rows[0].entries] == ["waiting", "rejected", "withdrawn", "scored", "scored"]
    assert found.rows[0].last_received == START + timedelta(hours=5)


# What is shown


@pytest.mark.holds(r"Preliminary scores are means over 5 of them, final scores over the other 5\.")
def test_final_scores_come_from_the_declared_queries(sent: Sent, store: Store) -> None:
    """`final = "all"` includes the flagged queries, `"rest"` leaves them out; preliminary scores use only these."""
    sent("team", outcome(0.5, 0.25))

    rest, everything = (board(store, track(final=split)) for split in ("rest", "all"))

    assert (rest.rows[0].entries[0].final[0], everything.rows[0].entries[0].final[0]) == (0.25, 0.3)
    assert rest.rows[0].entries[0].preliminary == everything.rows[0].entries[0].preliminary == (0.5, 0.25)
    assert (rest.columns, rest.queries, rest.scored_queries, rest.preliminary_queries) == (("MARp@5,10", "RR"), 5, 5, 1)


@pytest.mark.holds(
    r"Scores are means over the queries for which they are defined: 10 of the 11 queries of the solution for P@1\."
)
def test_queries_without_a_score_are_not_counted(sent: Sent, store: Store) -> None:
    """The board counts the queries for which the primary measure is defined."""
    result = outcome(0.5)
    result.scores[0, [0, 2]] = NAN
    sent("team", result)

    found = board(store, track())

    assert (found.queries, found.scored_queries, found.preliminary_queries) == (5, 3, 0)


def test_a_preliminary_board_shows_no_final_score(sent: Sent, store: Store) -> None:
    """While the stage is preliminary, no board and no export has final scores, and they do not decide ranks."""
    sent("a", outcome(0.2, 0.777))
    sent("b", outcome(0.3, 0.111))

    found = board(store, track(stage="preliminary"))

    assert ranking(found) == [(1, "b"), (2, "a")]
    assert {entry.final for row in found.rows for entry in row.entries} == {(None, None)}
    assert export_columns(found) == (
        "rank",
        "team",
        "baseline",
        "preliminary MARp@5,10",
        "preliminary RR",
        "entries",
        "looks",
        "last entry",
        *CERTAINTY,
    )
    for shown in (repr(found), to_csv(found), to_json(found), markdown_table(board_table(found))):
        assert "0.2" in shown
        assert not re.search(r"0\.777|0\.111|0\.66|0\.14", shown)


def test_an_entry_has_its_file_and_findings(sent: Sent, store: Store) -> None:
    """A rejected entry has errors and no scores; a scored entry has counts and notes."""
    sent("team", 0.5, 1)
    sent("team", rejected(), 2)

    broken, good = board(store, track()).rows[0].entries

    assert (broken.file, broken.findings, broken.findings_count) == (
        "cold-start/team/2.txt",
        (Problem.of_form(2, "no colon"),),
        7,
    )
    assert (broken.counts, broken.final, broken.preliminary) == (None, (None, None), (None, None))
    assert (good.counts, good.findings) == (Counts(5, 5, 0, 150, 1, 0), (Problem.of_form(2, "noted"),))


def test_a_track_that_was_never_scored_has_an_empty_board(store: Store) -> None:
    """The board has no rows and no queries; exports have a heading only."""
    found = board(store, track())

    assert (found.rows, found.queries, found.scored_queries, found.salted_digest) == ((), 0, 0, None)
    columns = ",".join(CERTAINTY)
    assert to_csv(found) == f'rank,team,baseline,"MARp@5,10",RR,entries,last entry,{columns}\r\n'
    assert "No entry has been scored yet." in rules(found)


def test_a_failed_entry_has_its_own_status(sent: Sent, store: Store) -> None:
    """It was tried, unlike a pending one; it counts among the entries, and its team has no scored entry."""
    sent("tried", None, 1)
    sent("new", None, 2)
    sent("scored", 0.5, 3)
    tried = next(digest for file, digest in store.read(partial(recorded, track=track().name)) if "tried" in file)
    store.store_results([(tried, Failed("the reason for the organiser", "memory"))], BASIS)

    found = board(store, track())

    assert {row.team.name: row.entries[0].state for row in found.rows} == {
        "scored": "scored",
        "tried": "failed",
        "new": "waiting",
    }
    assert ranking(found) == [(1, "scored"), (None, "new"), (None, "tried")]
    assert [len(row.present_entries) for row in found.rows] == [1, 1, 1]
    assert "the reason" not in repr(found)


def test_names_that_print_alike_remain_two_teams(sent: Sent, store: Store) -> None:
    """A name that is not UTF-8, and one that looks like its escaped form, have different rows and slugs."""
    for name in ("caf\udce9", "caf\\udce9"):
        sent(name, 0.5)

    found = board(store, track(baselines=["caf\\udce9"]))

    assert sorted(row.team.name for row in found.rows) == ["caf\\\\udce9", "caf\\udce9"]
    assert len({row.team.slug for row in found.rows}) == 2


@pytest.mark.parametrize("baseline", ["abc\u202egnp", "abc\\u202egnp"], ids=["raw", "printable"])
def test_a_baseline_is_given_by_its_raw_or_its_printable_name(sent: Sent, store: Store, baseline: str) -> None:
    """A name with a control character is escaped; both forms name the baseline."""
    sent("abc\u202egnp", 0.5)

    (row,) = board(store, track(baselines=[baseline])).rows

    assert row.team.name == "abc\\u202egnp"
    assert row.baseline


# Slugs


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("tea-kettle", "tea-kettle"),
        ("2011", "2011"),
        ("PirCrba1", "pircrba1"),
        ("Tea Kettle", "tea-kettle"),
        ("a--b ", "a-b"),
        ("Café", "cafe"),
        ("../../x", "x"),
        ("x" * 61, "x" * 60),
    ],
)
def test_a_slug_is_the_name_in_lower_case(name: str, slug: str) -> None:
    """Only letters, digits and hyphens remain."""
    assert slugs([name]) == {name: slug}


@pytest.mark.parametrize("name", ["", "con", "COM1", "nul", "teams", "🦊", "日本"])
def test_a_name_without_a_possible_slug_gets_a_digest(name: str) -> None:
    """Reserved names and names without a letter or a digit get part of their SHA-256."""
    (slug,) = slugs([name]).values()

    assert re.fullmatch(r"([a-z0-9]+-)?[0-9a-f]{8}", slug)


@given(st.lists(st.text(max_size=80) | st.text("aA-é ", max_size=4), max_size=30))
def test_no_two_names_share_a_slug(names: list[str]) -> None:
    """Slugs are unique, and safe in paths and URLs."""
    found = slugs(names)

    assert len(set(found.values())) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each) and len(each) <= 60 for each in found.values())


@given(st.lists(st.text("aA-é ", max_size=4), max_size=12), st.lists(st.text("aA-é ", max_size=4), max_size=12))
def test_later_teams_change_no_slug(names: list[str], later: list[str]) -> None:
    """A link to the page of a team stays valid."""
    assert slugs(names).items() <= slugs([*names, *later]).items()


def test_the_first_arrival_keeps_the_plain_slug() -> None:
    """Also where a later team has the plain name, or copies the slug of another."""
    found = slugs(["Tea Kettle", "tea-kettle"])
    copied = found["tea-kettle"]

    assert found["Tea Kettle"] == "tea-kettle"
    assert re.fullmatch("tea-kettle-[0-9a-f]{8}", copied)
    assert slugs([copied, "Tea Kettle", "tea-kettle"])["tea-kettle"] != copied


def test_the_slug_belongs_to_the_team_that_arrived_first(sent: Sent, store: Store) -> None:
    """The order of the record decides, not the order of the board."""
    sent("Alpha", 0.25)
    sent("alpha", 0.5, 10)

    found = {row.team.name: row.team.slug for row in board(store, track()).rows}

    assert found["Alpha"] == "alpha"
    assert re.fullmatch("alpha-[0-9a-f]{8}", found["alpha"])


# Exports


@pytest.fixture
def hostile(sent: Sent, store: Store) -> Board:
    """A board with hostile names, a blank score, a baseline and a rejected entry."""
    for hours, team in enumerate(HOSTILE):
        sent(team, 0.5 + hours / 100, hours)
    sent("undefined", NAN)
    sent("random", outcome(0.125, 0.0625), 20)
    sent("broken", rejected())
    return board(store, track(baselines=["random"]))


def test_exports_show_the_same_rows(hostile: Board) -> None:
    """None, null or an empty cell for a blank; CSV follows RFC 4180, and an apostrophe guards formulas."""
    first, *_, undefined, broken = export_rows(hostile)

    assert first == {
        "rank": 1,
        "team": "x" * 300,
        "baseline": False,
        "MARp@5,10": 0.57,
        "RR": 0.25,
        "preliminary MARp@5,10": 0.57,
        "entries": 1,
        "last entry": "2011-04-18T17:00:00Z",
        **dict.fromkeys(CERTAINTY),
    }
    assert tuple(first) == export_columns(hostile)
    assert (undefined["rank"], undefined["MARp@5,10"], undefined["RR"]) == (None, None, 0.25)
    assert (broken["rank"], broken["MARp@5,10"], broken["RR"], broken["entries"]) == (None, None, None, 1)

    text = to_csv(hostile)
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)

    assert text.count("\r\n") == text.count("\n") == len(rows) + 1
    assert tuple(head) == export_columns(hostile)
    assert {len(row) for row in rows} == {len(head)}
    names = {printable_name(name) for name in HOSTILE} - {HOSTILE[1]} | {"'" + HOSTILE[1]}
    assert {row[1] for row in rows} == names | {"undefined", "random", "broken"}
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row)
    assert ["", "random", "true", "0.062", "0.250", "0.125", "1", "2011-04-19T06:00:00Z", *[""] * 6] in rows
    assert ["", "broken", "false", "", "", "", "1", "2011-04-18T10:00:00Z", *[""] * 6] in rows

    found = json.loads(to_json(hostile))

    assert found["version"] == 3
    assert found["track"] == {
        "name": "cold-start",
        "title": "Cold start",
        "stage": "final",
        "primary": "MARp@5,10",
        "decimals": 3,
        "queries": 5,
        "scored_queries": 5,
        "preliminary_queries": 1,
    }
    assert found["rules"] == list(rules(hostile))
    assert found["columns"] == list(export_columns(hostile))
    assert [without_id(row) for row in found["rows"]] == list(export_rows(hostile))
    assert {row["team"] for row in found["rows"]} >= {printable_name(name) for name in HOSTILE}


def without_id(row: dict[str, object]) -> dict[str, object]:
    """A row of `leaderboard.json` with the columns of every export."""
    return {name: value for name, value in row.items() if name not in ("id", "status", "changes")}


# Rules


SENTENCES: list[tuple[dict[str, object], str]] = [
    ({}, "The board is ranked by the final MARp@5,10."),
    ({"stage": "preliminary"}, "The board is ranked by the preliminary MARp@5,10. Final scores are not shown yet."),
    (
        {},
        "Scores are means over the queries for which they are defined: 4 of the 5 queries of the solution for "
        "MARp@5,10.",
    ),
    ({"final": "all"}, "Preliminary scores are means over 1 of them, final scores over all 4."),
    ({"final": "rest"}, "Preliminary scores are means over 1 of them, final scores over the other 3."),
    ({"missing": "zero"}, "A query without a list scores 0."),
    ({"missing": "reject"}, "A file without a list for every query is rejected."),
    ({"list_length": 10}, "Only the first 10 items of a list count."),
    ({"ties": "trec"}, "Items with equal run scores are ordered by item id, descending, as in trec_eval."),
    ({"ties": "order"}, "Items with equal run scores are ordered as listed in the file."),
    ({"ties": "expected"}, "Items with equal run scores are not ordered: a score is the mean over all orders."),
    ({"ties": "best"}, "Items with equal run scores are ordered with the highest grade first."),
    ({"ties": "worst"}, "Items with equal run scores are ordered with the highest grade last."),
    ({"decimals": 1}, "Scores are rounded to 1 decimal before they are compared."),
    ({"decimals": 0}, "Scores are rounded to 0 decimals before they are compared."),
    ({"equal_ranks": "shared"}, "Teams with equal scores share a rank, as in 1, 1, 3."),
    ({"equal_ranks": "earlier"}, "Of teams with equal scores, the one with the earlier entry ranks higher."),
    (
        {"entry": "best"},
        "Of the entries of a team, the one with the best preliminary MARp@5,10 counts; of equal ones, the earliest.",
    ),
    ({"entry": "last"}, "Of the entries of a team, the last scored one counts."),
    ({"baselines": ["random"]}, "Baselines are listed by their scores and have no rank."),
]


def test_the_rule_sheet_follows_the_settings(sent: Sent, store: Store) -> None:
    """Each setting has its sentence."""
    result = outcome(0.5)
    result.scores[0, 4] = NAN
    sent("team", result)

    for settings, sentence in SENTENCES:
        assert sentence in rules(board(store, track(**settings)))
