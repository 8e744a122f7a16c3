"""The Ladder, decimals by the standard error, and looks: what a board shows of preliminary scores."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.board.board import Board, RowPair
from scorer.board.build import are_clear
from scorer.board.reports.leaderboard import entry_values, export_columns, to_csv, to_json
from scorer.board.statistics import SHARE_DECIMALS
from scorer.errors import ChallengeError, ScorerError
from scorer.live import ladder
from scorer.live.entry import key_of, rounded, submissions
from scorer.live.now import Now
from scorer.organising.errata import apply, preview_erratum
from scorer.organising.picks import forget_outcome, pick
from scorer.organising.render import (
    archived_boards,
    boards,
    listed_entries,
    measure_of,
    render,
    teams_task,
    track_tasks,
)
from scorer.rules.phases import Phase, Phases
from scorer.rules.tables import auto_decimals
from scorer.scoring.executors.base import Serial
from scorer.store.snapshot import Cache, Snapshot
from tests.databases import record_teams
from tests.live_challenges import (
    ANNOUNCED,
    END,
    INVALID,
    MICROSECOND,
    ONE,
    SECOND_END,
    SECOND_START,
    START,
    Live,
    lists,
    phase,
    ranking,
    solution,
)
from tests.oracles import automatic_decimals
from tests.strategies import examples

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)

STEP = phase("one", START, END, 'shows = "ladder"', "ladder_step = 0.3")
NOTHING = phase("two", SECOND_START, SECOND_END, 'shows = "nothing"')

# Decimals


@examples(200)
@given(st.one_of(st.integers(1, 10**7), st.integers(0, 6).map(lambda power: 25 * 10**power)))
def test_automatic_decimals_equal_the_oracle(queries: int) -> None:
    """Also where the logarithm is half a number."""
    assert auto_decimals(queries) == automatic_decimals(queries)


# The settings


@pytest.mark.parametrize(
    ("settings", "table", "message"),
    [
        ("", phase("one", START, END, "ladder_step = 0.1"), 'ladder_step: has no effect with shows = "score"'),
        ("", STEP.replace("0.3", "0.51"), "ladder_step: found 0.51, which is more than 0.5"),
        ("", STEP.replace("0.3", "0.0"), "ladder_step: found 0.0, which is not a number between 0 and 1"),
        ("", STEP.replace("0.3", '"small"'), 'ladder_step: found "small", which is not a number between 0 and 1'),
        ('measures = ["AP"]\ncutoffs = []', STEP.replace("ladder", "Ladder", 1), 'shows: found "Ladder"'),
        ("", phase("one", START, END, 'shows = "ladder"'), "phases[0].ladder_step: is missing, with shows"),
    ],
)
def test_invalid_settings_of_the_ladder_are_refused(tmp_path: Path, settings: str, table: str, message: str) -> None:
    """With the key and what is allowed."""
    live = Live.of(tmp_path, table, settings=settings)
    with pytest.raises(ChallengeError) as error:
        live.run(ANNOUNCED)
    assert message in str(error.value)


@pytest.mark.parametrize("measure", ["GMAP", "DCG@2", "NumRelRet"])
@pytest.mark.parametrize(("key", "table"), [("phases", STEP), ("decimals", ONE)])
def test_a_measure_that_is_no_mean_from_0_to_1_is_refused(tmp_path: Path, measure: str, key: str, table: str) -> None:
    """A geometric mean, a sum, and a mean without an upper bound."""
    live = Live.of(tmp_path, table, settings='decimals = "auto"' if key == "decimals" else "")
    toml = live.folder / "challenge.toml"
    text = toml.read_text().replace('primary = "P@1"', f'primary = "{measure}"')
    toml.write_text(text.replace("decimals = 3\n", "") if key == "decimals" else text)

    with pytest.raises(ChallengeError, match=rf"tracks\.main\.{key}: .*{measure} is not a mean of scores from 0 to 1"):
        live.run(ANNOUNCED)


@pytest.mark.parametrize("flagged", [0, 1])
def test_the_ladder_needs_two_preliminary_queries(tmp_path: Path, flagged: int) -> None:
    """With one, it shows the score of a single query."""
    live = Live.of(tmp_path, STEP, flagged=flagged)
    with pytest.raises(ChallengeError, match=rf"needs at least 2 preliminary queries .* found {flagged}; flag queries"):
        live.run(ANNOUNCED)


def test_preliminary_queries_without_a_defined_score_do_not_suffice(tmp_path: Path) -> None:
    """Two flagged ones, of which one has no relevant item."""
    live = Live.of(tmp_path, STEP, flagged=2)
    live.write_solution(solution(2).replace("q1:1:a|1", "q1:1:"))
    live.run(ANNOUNCED)
    live.put("a/1", found(1), START)
    live.run(START + HOUR)
    with pytest.raises(ChallengeError, match="needs at least 2 preliminary queries with a defined P@1; found 1"):
        live.board()


def test_a_recorded_step_is_exact_and_stays(tmp_path: Path) -> None:
    """As text without an exponent; once its phase has started, a run refuses another one."""
    written = Phase.model_validate(
        {"name": "one", "start": START, "end": END, "shows": "ladder", "ladder_step": "0.00001"}
    )
    recorded = json.loads(json.dumps(written.recorded()))
    assert recorded["ladder_step"] == "0.00001"
    assert Phase.of_record(recorded) == written
    assert "ladder_step" not in Phase.model_validate({"name": "one", "start": START, "end": END}).recorded()

    live = Live.of(tmp_path, STEP)
    live.run(ANNOUNCED)
    live.configure(STEP.replace("0.3", "0.2"))
    with pytest.raises(ChallengeError, match=r'ladder_step: found "0\.2", but .* announced with "0\.3"'):
        live.run(START)


# Which phase decides


def at_times(*shows: str) -> list[str | None]:
    """What two phases with these settings let the board show: before, in, between, in, and after them."""
    times = ((START, END), (SECOND_START, SECOND_END))
    plan = Phases(
        tuple(
            Phase.model_validate({"name": f"p{number}", "start": start, "end": end, "shows": each})
            for number, (each, (start, end)) in enumerate(zip(shows, times, strict=True))
        )
    )
    moments = (START - MICROSECOND, START, END, SECOND_START, SECOND_END)
    found = map(plan.deciding, moments)
    return [None if each is None else each.shows for each in found]


@pytest.mark.parametrize(
    ("shows", "expected"),
    [
        (("ladder", "score"), ["ladder", "ladder", "ladder", "score", None]),
        (("ladder", "nothing"), ["ladder", "ladder", "ladder", "nothing", None]),
        (("score", "ladder"), [None, "score", "score", "ladder", None]),
        (("nothing", "ladder"), [None, "nothing", "ladder", "ladder", None]),
        (("nothing", "score"), [None, "nothing", None, "score", None]),
    ],
)
def test_between_phases_the_last_one_decides(shows: tuple[str, str], expected: list[str | None]) -> None:
    """A phase that shows nothing only delays scores; exact ones are not shown before a phase with the Ladder."""
    assert at_times(*shows) == expected


# The board


def found(*queries: int, mark: str = "") -> str:
    """A submission that finds the items of these queries; the first five are preliminary."""
    return "".join(f"q{number}:{'a' if number in queries else 'b'},c{mark}\n" for number in range(10))


def with_entries(folder: Path, *tables: str, settings: str = "", files: Sequence[tuple[str, str]] = ()) -> Live:
    """A challenge in its first phase with these files, a minute after one another."""
    live = Live.of(folder, *tables, settings=settings)
    live.run(ANNOUNCED)
    for minute, (file, content) in enumerate(files):
        live.put(file, content, START + minute * MINUTE)
    live.run(START + HOUR)
    return live


STEPS = [("a/1", found(0)), ("a/2", found(0, 5, 6)), ("a/3", found(0, 1, 2)), ("a/4", found(0, 1, 2, 3))]
"""0.2, again 0.2, 0.6 and 0.8. With a step of 0.3, the losses 0.8 and 0.4 become 0.9 and 0.3, and then 0.2 is no
improvement."""


def answers(live: Live, moment: datetime | None = None) -> dict[str, tuple[str | None, float | None]]:
    """The answer of the Ladder and the released score of each entry that the board has."""
    return {
        entry.file.removeprefix("main/"): (entry.answer, entry.preliminary[0])
        for row in live.board(moment).rows
        for entry in sorted(row.entries, key=lambda entry: entry.index)
    }


@pytest.mark.holds(
    r"The Ladder shows the preliminary score of an entry only if .* by more than 0\.3; what it lacks of 1 is .*"
)
def test_only_improvements_are_shown(tmp_path: Path) -> None:
    """The board ranks by the last one; the true best is not marked. The pages say what the Ladder does."""
    live = with_entries(tmp_path, STEP, files=STEPS)

    assert answers(live) == {
        "a/1": ("improvement", 0.1),
        "a/2": ("no improvement", None),
        "a/3": ("improvement", 0.7),
        "a/4": ("no improvement", None),
    }
    (row,) = live.board().rows
    assert (row.rank, row.entry.file if row.entry else "", row.looks) == (1, "main/a/3", 4)

    files = site(live)
    assert "Preliminary scores by the Ladder" in files["main/index.html"]
    page = files["teams/a.html"]
    assert page.count("scored, no improvement") == 2
    assert "4 looks at the preliminary queries" in page
    assert "Final scores are not shown until the phase" in files["main/rules.html"]


@pytest.mark.parametrize("entry", ["best", "last", "picks"])
def test_final_scores_follow_the_exact_preliminary_ones(tmp_path: Path, entry: str) -> None:
    """By `entry`, which has no effect on the board before."""
    live = with_entries(tmp_path, STEP, settings=f'entry = "{entry}"', files=[*STEPS, ("a/5", found(9))])
    if entry == "picks":
        live.do(START + HOUR, lambda challenge, store: pick(challenge, store, ["main/a/1"]))
    live.run(START + 2 * HOUR)
    assert ranking(live.board()) == [(1, "a", 0.7)]

    counting = {"best": "main/a/4", "last": "main/a/5", "picks": "main/a/1"}[entry]
    (row,) = live.board(END).rows
    assert row.entry is not None
    assert row.entry.file == counting
    assert {each.answer for each in row.entries} == {None}
    assert [each.preliminary[0] for each in row.entries] == [0.0, 0.8, 0.6, 0.2, 0.2]


@pytest.mark.holds(
    r"While the Ladder is used, the best score that was shown for an entry which is there counts\. .* not shown\."
)
def test_an_entry_that_is_gone_was_looked_at(tmp_path: Path) -> None:
    """Its score does not count, and an entry that is no better is no improvement. A team may have no score left."""
    live = with_entries(tmp_path / "one", STEP, files=STEPS[:3])
    live.path("a/3").unlink()
    live.put("a/5", found(0, 1, 3), START + HOUR)
    live.run(START + 2 * HOUR)

    assert answers(live)["a/5"] == ("no improvement", None)
    assert answers(live)["a/3"] == ("improvement", 0.7)
    assert ranking(live.board()) == [(1, "a", 0.1)]
    assert live.board().rows[0].looks == 4

    live = with_entries(tmp_path / "two", STEP, files=[("a/1", found(0, 1)), ("a/2", found(0))])
    live.path("a/1").unlink()
    live.run(START + 2 * HOUR)

    assert ranking(live.board()) == [(None, "a", None)]
    page = site(live)["teams/a.html"]
    assert "The Ladder has released no score for the entries that are there." in page


@pytest.mark.holds(
    r"The Ladder looks at the scored entries of a team in the order .* waits while an earlier one has no result\."
)
def test_entries_wait_for_an_earlier_one_of_their_team(tmp_path: Path) -> None:
    """Until it is scored; other teams do not. Then all have the answers of the order of the record."""
    live = with_entries(tmp_path, STEP, files=[*STEPS, ("b/1", found(0, 1, mark="b"))])
    expected = answers(live)
    with live.store() as store:
        (second,) = (
            each.submission
            for each in store.read(lambda view: submissions(view.events("main")).values())
            if each.submission.file == "main/a/2"
        )
        forget_outcome(store, "main", key_of(second), "scored on a broken disk")
    assert answers(live) == expected | {"a/2": (None, None), "a/3": ("waits", None), "a/4": ("waits", None)}
    assert [row.looks for row in live.board().rows] == [1, 1]
    live.run(START + 2 * HOUR)

    assert answers(live) == expected


def test_entries_without_a_score_are_skipped(tmp_path: Path) -> None:
    """Rejected, late, early and over-quota ones."""
    live = Live.of(tmp_path, STEP, settings="quota = {per_day = 2}")
    live.run(ANNOUNCED)
    live.put("a/0", found(0, 1, 2, 3, mark="e"), START - MINUTE)
    live.put("a/1", INVALID, START)
    live.put("a/2", found(0), START + MINUTE)
    live.put("a/3", found(0, mark="d"), START + 2 * MINUTE)
    live.put("a/4", found(0, 1, 2), START + 3 * MINUTE)
    live.run(START + HOUR)

    assert answers(live) == {
        "a/0": (None, None),
        "a/1": (None, None),
        "a/2": ("improvement", 0.1),
        "a/3": ("no improvement", None),
        "a/4": (None, None),
    }
    assert live.board().rows[0].looks == 2


def test_a_merged_team_is_looked_at_again_as_one(tmp_path: Path) -> None:
    """In the order of the record; separated, each has its own answers again."""
    files = [("a/1", found(0, 1)), ("b/1", found(0, 2, mark="b")), ("b/2", found(0, 1, 2, 3, mark="b"))]
    live = with_entries(tmp_path, STEP, files=files)
    separate = answers(live)
    assert separate == {"a/1": ("improvement", 0.4), "b/1": ("improvement", 0.4), "b/2": ("improvement", 0.7)}
    with live.store() as store:
        record_teams(store, {"b": {"merged_into": "a"}}, {"b": "one team"})
    assert answers(live) == separate | {"b/1": ("no improvement", None)}
    with live.store() as store:
        record_teams(store, {"b": {}}, {"b": "two teams"})

    assert answers(live) == separate


def test_an_erratum_releases_all_scores_again(tmp_path: Path) -> None:
    """The page of the erratum compares what the Ladder releases by both solutions, not exact scores."""
    live = with_entries(tmp_path, STEP, files=STEPS)
    changed = solution()
    for query in ("q0", "q1", "q2"):
        changed = changed.replace(f"{query}:1:a|1", f"{query}:1:z|1")
    live.write_solution(changed)
    live.now = START + 2 * HOUR
    with live.store() as store:
        preview_erratum(live.challenge, store, live.track, Serial())
        _, changes = apply(live.challenge, store, live.track, "three were wrong", Serial())

    assert [(each.before.score, each.after.score) for each in changes.teams] == [(0.7, 0.1)]
    assert answers(live) == {
        "a/1": ("improvement", 0.1),
        "a/2": ("no improvement", None),
        "a/3": ("no improvement", None),
        "a/4": ("no improvement", None),
    }


def test_a_past_board_has_the_scores_of_the_ladder(tmp_path: Path) -> None:
    """Also after the end; that of a phase that showed nothing does not have exact scores either."""
    live = with_entries(tmp_path, STEP, NOTHING, files=STEPS)
    assert ranking(live.board(SECOND_START)) == [(None, "a", None)]
    with live.store(SECOND_END) as store:
        one, two = store.read(lambda view: archived_boards(view, live.track, view.cache()))

    assert [row.placing.score for row in one.rows] == [0.7]
    assert [row.placing.score for row in two.rows] == [0.7]
    assert ranking(live.board(SECOND_END)) == [(1, "a", 0.4)]


def test_released_scores_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A team is looked at again only if it has another entry, or the rules are others."""
    live = with_entries(tmp_path, STEP, files=[*STEPS, ("b/1", found(0, mark="b"))])
    done: list[int] = []
    folded = ladder._folded

    def counted(track: Any, sequence: Sequence[str], scores: Any) -> str:
        done.append(len(sequence))
        return folded(track, sequence, scores)

    monkeypatch.setattr(ladder, "_folded", counted)

    def shown() -> list[int]:
        done.clear()
        with live.store() as store:

            def found(view: Any) -> tuple[Cache, list[Board]]:
                cache = view.cache()
                return cache, boards(view, [live.track], cache)

            cache, _ = store.read(found)
            store.keep(cache)
        return list(done)

    assert shown() == [4, 1]
    assert shown() == []
    live.put("b/2", found(0, 1, mark="b"), START + HOUR)
    live.run(START + 2 * HOUR)
    assert shown() == [2]
    assert shown() == []


# What is public


def site(live: Live, moment: datetime | None = None) -> dict[str, str]:
    """The text files of the site."""
    with live.store(moment) as store:
        render(live.challenge, store)
    folder = live.folder / "site"
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".html", ".csv", ".json", ".xml", ".bib", ".cff")
    }


RICH = 'measures = ["AP", "RR"]\nper_query = "public"\n'
"""What would publish statistics, further measures and scores of queries."""

TEAMS = [(f"{name}/1", found(*range(number), mark=name)) for number, name in enumerate("abcde")]


SHOWS = {"ladder": ('shows = "ladder"', "ladder_step = 0.1"), "nothing": ('shows = "nothing"',)}


@pytest.mark.parametrize("shows", SHOWS)
def test_no_statistics_and_no_further_measures_are_published(tmp_path: Path, shows: str) -> None:
    """Neither on pages, nor in CSV and JSON, nor in the commands; a phase that shows scores has all of it."""
    live = with_entries(tmp_path, phase("one", START, END, *SHOWS[shows]), settings=RICH, files=TEAMS)
    with live.store() as store:
        (board,) = store.read(lambda view: boards(view, [live.track], view.cache()))
        with pytest.raises(ScorerError, match="publishes no statistics"):
            store.read(lambda view: track_tasks(view, [live.track]))
        with pytest.raises(ScorerError, match="publishes no statistics"):
            store.read(lambda view: teams_task(view, live.track, ["a", "b"], measure_of(live.track, None)))
    assert (board.certainty, board.pairs, board.curves, board.shake_up) == ((), (), (), None)
    assert board.columns == ("P@1",)
    assert {row.certainty for row in board.rows} == {()}
    assert {len(entry.preliminary) for row in board.rows for entry in row.entries} == {1}
    document = json.loads(to_json(board))
    assert document["statistics"]["measures"] == {}
    files = site(live)
    assert "main/analysis.html" not in files
    assert not any("95 % interval" in text for path, text in files.items() if path.endswith("main/index.html"))
    (head, *rows) = csv.reader(io.StringIO(to_csv(board)))
    blank = [head.index(name) for name in ("low", "high", "rank from", "rank to", "tier", "separable_from_leader")]
    assert {row[column] for row in rows for column in blank} == {""}

    other = with_entries(tmp_path / "other", ONE, settings=RICH, files=TEAMS)
    with other.store() as store:
        (board,) = store.read(lambda view: boards(view, [other.track], view.cache()))
        assert store.read(lambda view: track_tasks(view, [other.track]))[0]
    assert board.pairs
    assert len(board.columns) == 3
    assert "main/analysis.html" in site(other)


def test_the_list_of_entries_says_why_there_is_no_score(tmp_path: Path) -> None:
    """For programs: the state is still that the entry is scored."""
    live = with_entries(tmp_path, STEP, files=STEPS[:2])
    with live.store() as store:
        values = entry_values(store.read(lambda view: listed_entries(view, [live.track])))

    assert [(each["state"], each["preliminary"], each["reason"]) for each in values] == [
        ("scored", 0.1, None),
        ("scored", None, "no improvement, so its preliminary score is not shown"),
    ]


@pytest.mark.holds(
    r"The board shows the looks of each team as long as it shows preliminary scores: .* withdrawn and replaced ones\."
)
@pytest.mark.parametrize(
    ("table", "columns"), [(ONE, True), (STEP, True), (phase("one", START, END, 'shows = "nothing"'), False)]
)
def test_looks_are_shown_with_preliminary_scores(tmp_path: Path, table: str, columns: bool) -> None:
    """In CSV and JSON, until final scores are shown; withdrawn and replaced entries are looks, too."""
    live = with_entries(tmp_path, table, files=STEPS)
    live.path("a/1").unlink()
    live.put("a/2", found(9), START + HOUR)
    live.run(START + 2 * HOUR)
    board = live.board()

    assert ("looks" in export_columns(board)) is columns
    assert [row.get("looks") for row in json.loads(to_json(board))["rows"]] == [5 if columns else None]
    assert "looks" not in export_columns(live.board(END))


# Rounding


def floats(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """All numbers with a fraction in a value, with the names of their places."""
    if isinstance(value, float):
        yield path, value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from floats(each, path)
    elif is_dataclass(value):
        for field in fields(value):
            yield from floats(getattr(value, field.name), f"{path}.{field.name}")


def many(queries: int) -> str:
    """A solution with so many preliminary queries, and one more."""
    return "".join(f"q{number}:{int(number < queries)}:a|1\n" for number in range(queries + 1))


def some(queries: int, share: float, mark: str) -> str:
    """A submission that finds about this share of the items, others for another mark."""
    chance = np.random.default_rng(ord(mark))
    hits = chance.random(queries + 1) < share
    return "".join(f"q{number}:{'a' if hit else 'b'},c{mark}\n" for number, hit in enumerate(hits))


@pytest.mark.holds(
    r"Scores are rounded before they are compared: preliminary scores over 5 queries to 1 decimal, final .*",
    r"Scores are rounded before they are compared: preliminary scores to the decimals that .* final .* 4 decimals\.",
)
@pytest.mark.parametrize(("decimals", "expected"), [('"auto"', 1), ("3", 3), ("0", 0)])
def test_all_preliminary_numbers_of_a_board_are_rounded(tmp_path: Path, decimals: str, expected: int) -> None:
    """As its scores are; p-values and shares have two decimals. A final board has all digits, and its preliminary
    scores are those that were shown.
    """
    queries = 60
    live = Live.of(tmp_path, ONE)
    live.choose_decimals(f'{decimals}\nmeasures = ["AP"]')
    live.write_solution(many(queries))
    live.run(ANNOUNCED)
    for minute, mark in enumerate("abcdefg"):
        live.put(f"{mark}/1", some(queries, 0.3 + minute / 20, mark), START + minute * MINUTE)
    live.run(START + HOUR)

    def shown(moment: datetime) -> Board:
        with live.store(moment) as store:
            return store.read(lambda view: boards(view, [live.track], view.cache()))[0]

    board = shown(START + HOUR)
    numbers = [each for row in board.rows for each in floats(row)]
    numbers += floats(board.certainty) if expected else []
    numbers += [*floats(board.pairs), *floats(board.curves)]
    assert len(numbers) > 100
    for place, number in numbers:
        assert number == rounded(number, SHARE_DECIMALS if place in (".certainty.first", ".p_value") else expected)
    assert all(len(str(pair.queries_needed or 0).rstrip("0")) <= 2 for pair in board.pairs)

    final = shown(END)
    assert any(number != rounded(number, 4) for _, number in floats(final.pairs))
    assert [row.entry.preliminary for row in sorted(final.rows, key=lambda row: row.team.name) if row.entry] == [
        row.entry.preliminary for row in sorted(board.rows, key=lambda row: row.team.name) if row.entry
    ]
    assert final.track.shown_decimals == (4 if decimals == '"auto"' else expected)


def test_the_pair_of_a_rounded_board_is_still_a_decision(tmp_path: Path) -> None:
    """Rounding changes no decision: the pairs that are separable are those of the exact scores."""
    decisions: list[list[bool | None]] = []
    for decimals in ("1", "9"):
        live = Live.of(tmp_path / decimals, ONE)
        live.choose_decimals(decimals)
        live.write_solution(many(60))
        live.run(ANNOUNCED)
        for minute, mark in enumerate("abc"):
            live.put(f"{mark}/1", some(60, 0.2 + 0.3 * minute, mark), START + minute * MINUTE)
        live.run(START + HOUR)
        with live.store() as store:
            pairs: tuple[RowPair, ...] = store.read(lambda view: boards(view, [live.track], view.cache()))[0].pairs  # noqa: B023
        decisions.append([pair.is_separable for pair in pairs])

    assert decisions[0] == decisions[1]
    assert True in decisions[0]


@pytest.mark.parametrize(("found", "is_clear"), [(9, True), (2, False)])
def test_two_entries_of_a_team_differ_clearly_as_two_teams_do(found: int, is_clear: bool, tmp_path: Path) -> None:
    """By the same test, on the queries of the scores that are shown; the Ladder says nothing."""
    for name, clear in (("score", is_clear), ("ladder", None)):
        more = ["ladder_step = 0.1"] if name == "ladder" else []
        live = Live.of(tmp_path / name, phase("one", START, END, f'shows = "{name}"', *more), flagged=10)
        live.run(ANNOUNCED)
        for team, number in (("a", found), ("b", 0)):
            live.put(f"{team}/one.txt", lists(number, 0) if number < 5 else lists(5, number - 5), START)
        live.run(START)

        def found_by(view: Snapshot, live: Live = live) -> tuple[bool | None, list[bool]]:
            (board,) = boards(view, [live.track], view.cache())
            digests = [row.entry.digest for row in board.rows if row.entry]
            own = Now.of(view, live.track).seen_by("team")
            return are_clear(own, board.track, digests), [pair.is_clear for pair in board.pairs]

        with live.store(START) as store:
            assert store.read(found_by) == (clear, [] if clear is None else [clear])
