"""The statistics of a board: against the definitions, hidden where they must be, and computed once."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from contextlib import closing
from itertools import combinations
from pathlib import Path
from statistics import quantiles
from typing import get_args

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import scorer
from scorer.board.board import BINS, Board, Choice
from scorer.board.build import cutoffs
from scorer.board.charts.panel import Chart
from scorer.board.reports.leaderboard import LEADERBOARD_VERSION, schema, to_json
from scorer.board.statistics import measured, pairs
from scorer.live.entry import rounded
from scorer.options import Split
from scorer.organising.render import boards, render
from scorer.rules.phases import PhaseState
from scorer.scoring.evaluation import evaluate
from scorer.scoring.statistics.resampling import difference_intervals, mean_intervals, resampled_means, sign_flips
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.commands import here, process
from tests.databases import changed, rows
from tests.paths import DOCS
from tests.seeded_challenge import QUALITY, QUERIES, SETTINGS, write_challenge


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge that was run."""
    folder = tmp_path_factory.mktemp("certain") / "challenge"
    write_challenge(folder)
    assert here("run", folder).code == 0
    return folder


def board_of(folder: Path) -> Board:
    """The board with its statistics."""
    challenge = read_challenge(folder)
    with Store.open(challenge.database_address) as store:
        (found,) = store.read(lambda view: boards(view, challenge.tracks, view.cache()))
    return found


def scores_of(folder: Path, board: Board, measure: str, split: Split = "all") -> np.ndarray:
    """[row, query]: the scores of the counting entries, from their files."""
    found = []
    for row in board.rows:
        assert row.entry is not None
        evaluation = evaluate(
            folder / "solutions/main.txt", folder / "submissions" / row.entry.file, measure, per_query=True, split=split
        )
        found.append([next(iter(scores.values())) for scores in evaluation.by_query().values()])
    return np.array(found)


# Every number, from its definition


def defined(scores: np.ndarray) -> np.ndarray:
    """[row, query]: without the queries that have no score."""
    return scores[:, ~np.isnan(scores).all(axis=0)]


def test_intervals_are_those_of_the_scores(folder: Path) -> None:
    """Of every row, baselines too, on each measure that is a mean; queries without a score are left out."""
    board = board_of(folder)

    for column, measure in ((0, "MARp@5,10"), (1, "nDCG@10")):
        scores = defined(scores_of(folder, board, measure))
        intervals = mean_intervals(scores)
        assert scores.shape[1] == 54
        for row, interval in zip(board.rows, intervals.tolist(), strict=True):
            certainty = row.certainty[column]
            assert certainty is not None
            assert certainty.interval == tuple(interval)


def test_ranges_and_tiers_follow_from_the_tests_of_all_pairs(folder: Path) -> None:
    """Counted one by one: how many teams are significantly better, how many worse, and whom the leader separates."""
    board = board_of(folder)
    ranked = [place for place, row in enumerate(board.rows) if row.rank is not None]
    scores = defined(scores_of(folder, board, "MARp@5,10"))[ranked]
    tests = sign_flips(scores)
    better = tests.better()

    for number, place in enumerate(ranked):
        certainty = board.rows[place].certainty[0]
        assert certainty is not None
        above = sum(better[other, number] for other in range(len(ranked)))
        below = sum(better[number, other] for other in range(len(ranked)))
        assert certainty.rank_range == (1 + above, len(ranked) - below)
    left, tiers = list(range(len(ranked))), []
    while left:
        last = max(at for at, place in enumerate(left) if not better[left[0], place])
        tiers.append(left[: last + 1])
        left = left[last + 1 :]
    found = board.certainty[0]
    assert found is not None
    assert [list(tier.rows) for tier in found.tiers] == [[ranked[place] for place in tier] for tier in tiers]
    assert 1 < len(tiers) < len(ranked)
    assert found.separable_neighbours == sum(better[place, place + 1] for place in range(len(ranked) - 1))
    queries = int((~np.isnan(scores).any(axis=0)).sum())
    variances = [np.nanvar(scores[one] - scores[other]) for one, other in combinations(range(len(ranked)), 2)]
    differences = [tests.critical * math.sqrt(variance / (queries - tests.critical**2)) for variance in variances]
    assert found.queries == queries == 54
    assert found.smallest_difference == pytest.approx(np.median(differences), rel=1e-12)


def test_the_shares_of_first_places_add_up(folder: Path) -> None:
    """Resamples in which two teams share the first place count for both, which hardly ever happens."""
    first = [row.certainty[0].first for row in board_of(folder).rows if row.certainty[0] and not row.baseline]

    assert 1 <= sum(share for share in first if share is not None) < 1.01
    assert first[0] == max(share for share in first if share is not None)


def test_histograms_count_the_queries(folder: Path) -> None:
    """Each query with a score is in one step; a score of 1 is in the last one."""
    board = board_of(folder)
    scores = scores_of(folder, board, "MARp@5,10")

    for place, row in enumerate(board.rows):
        certainty = row.certainty[0]
        assert certainty is not None
        steps = [min(int(score * BINS + 1e-9), BINS - 1) for score in scores[place] if not math.isnan(score)]
        assert list(certainty.histogram) == [steps.count(step) for step in range(BINS)]


def test_pairs_are_compared_on_their_differences(folder: Path) -> None:
    """All pairs of a short board: means, wins, ties and losses, counted one by one."""
    board = board_of(folder)
    scores = scores_of(folder, board, "MARp@5,10")

    assert [(pair.row, pair.other) for pair in board.pairs] == list(combinations(range(len(board.rows)), 2))
    for pair in board.pairs:
        differences = [
            one - other for one, other in zip(scores[pair.row], scores[pair.other], strict=True) if not math.isnan(one)
        ]
        assert pair.difference == pytest.approx(math.fsum(differences) / len(differences), abs=1e-15)
        assert (pair.wins, pair.ties, pair.losses) == (
            sum(each > 0 for each in differences),
            sum(each == 0 for each in differences),
            sum(each < 0 for each in differences),
        )
        both = np.array([scores[pair.row], scores[pair.other]])[:, ~np.isnan(scores[0])]
        (interval,) = difference_intervals(both[:1] - both[1:], bounded=True).tolist()
        assert pair.interval == tuple(interval)
        has_baseline = board.rows[pair.row].baseline or board.rows[pair.other].baseline
        assert (pair.is_separable is None) == has_baseline
        assert pair.queries_needed is None or pair.queries_needed > 54


@pytest.mark.parametrize("baselines", [1, 5])
def test_the_pairs_of_a_long_board(baselines: int) -> None:
    """With baselines on top, the leader is the best team; the best four baselines are compared with all rows."""
    rows = baselines + 60
    scores = np.random.default_rng(baselines).random((rows, 12))
    neighbours = {(one, other) for one, other in combinations(range(rows), 2) if other - one <= 3}
    task = measured(scores, (0.5,) * rows, (*[False] * baselines, *[True] * 60), queries=np.arange(12))

    found = pairs(task, range(baselines), has_counts=True)
    unranked = measured(scores, (0.5,) * rows, (False,) * rows, queries=np.arange(12))
    leaderless = pairs(unranked, has_counts=True)

    with_all = {*range(min(baselines, 4)), baselines}
    assert {(pair.row, pair.other) for pair in found} == neighbours | {
        (min(row, each), max(row, each)) for each in with_all for row in range(rows) if row != each
    }
    assert {(pair.row, pair.other) for pair in leaderless} == neighbours


def test_a_measure_that_is_no_mean_has_no_statistics(folder: Path) -> None:
    """Sums and geometric means have no interval, no tiers and no ranges; other further measures have intervals."""
    board = board_of(folder)

    assert board.columns == ("MARp@5,10", "nDCG@10", "GMAP", "NumRelRet")
    assert [each is not None for each in board.certainty] == [True, False, False, False]
    assert [each is not None for each in board.rows[0].certainty] == [True, True, False, False]


@pytest.mark.parametrize("teams", [1, 2, 3, 4, 7])
def test_the_field_of_a_row_is_the_other_ranked_rows(teams: int) -> None:
    """Medians are those of the scores without the row's own; a baseline is compared with all ranked rows."""
    random = np.random.default_rng(teams)
    scores = random.integers(0, 4, size=(teams + 1, 30)) / 3
    found = measured(scores, (0.5,) * (teams + 1), (*[True] * teams, False), queries=np.arange(30))

    for row, (best, worst) in enumerate(found.extreme_queries(np.arange(30))):
        others = [other for other in range(teams) if other != row]
        if not others:
            assert (best, worst) == ((), ())
            continue
        medians = np.median(scores[others], axis=0)
        distance = scores[row] - medians
        assert [(each.score, each.median) for each in (*best, *worst)] == [
            (scores[row, each.query], medians[each.query]) for each in (*best, *worst)
        ]
        assert [distance[each.query] for each in best] == [each for each in sorted(distance)[:-6:-1] if each > 0]
        assert [distance[each.query] for each in worst] == [each for each in sorted(distance)[:5] if each < 0]


# What is hidden


def test_preliminary_statistics_see_preliminary_queries_only(folder: Path, tmp_path: Path) -> None:
    """Other scores on the other queries give the same pages, and single queries are hidden."""
    settings = SETTINGS.replace('stage = "final"', 'stage = "preliminary"')
    write_challenge(tmp_path / "challenge", settings)
    assert here("run", tmp_path / "challenge").code == 0

    board = board_of(tmp_path / "challenge")
    scores = defined(scores_of(tmp_path / "challenge", board, "MARp@5,10", "preliminary"))

    intervals = mean_intervals(scores)
    assert scores.shape[1] < 20
    for row, interval in zip(board.rows, intervals.tolist(), strict=True):
        certainty = row.certainty[0]
        assert certainty is not None
        assert certainty.interval == tuple(rounded(end, board.track.shown_decimals) for end in interval)
        assert certainty.histogram == ()
        assert (row.best_queries, row.worst_queries, row.deciles) == ((), (), ())
    assert {(pair.wins, pair.ties, pair.losses) for pair in board.pairs} == {(None, None, None)}


def test_ids_of_queries_are_hidden_unless_they_are_public(folder: Path, tmp_path: Path) -> None:
    """With per_query = "public" the page names the queries on which a team is best and worst."""
    hidden = board_of(folder)
    write_challenge(tmp_path / "challenge", SETTINGS + 'per_query = "public"\n')
    assert here("run", tmp_path / "challenge").code == 0

    public = board_of(tmp_path / "challenge")
    scores = dict(zip(QUERIES, scores_of(tmp_path / "challenge", public, "MARp@5,10")[0], strict=True))

    assert hidden.query_ids == ()
    assert [each.score for each in public.rows[0].best_queries] == [
        scores[public.query_ids[each.query]] for each in public.rows[0].best_queries
    ]
    assert [replaced.score for replaced in hidden.rows[0].best_queries] == [
        each.score for each in public.rows[0].best_queries
    ]


def test_scores_of_all_queries_are_there_if_they_are_public_and_few(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the queries that count, from the files. Deciles are there as well where queries are hidden."""
    hidden = board_of(folder)
    write_challenge(tmp_path / "challenge", SETTINGS + 'per_query = "public"\n')
    assert here("run", tmp_path / "challenge").code == 0

    public = board_of(tmp_path / "challenge")
    scores = scores_of(tmp_path / "challenge", public, "MARp@5,10")

    assert hidden.query_scores is None
    assert public.query_scores
    defined_queries = np.flatnonzero(~np.isnan(scores[0])).tolist()
    assert [public.query_ids[query] for query in public.query_scores.queries] == [QUERIES[q] for q in defined_queries]
    assert public.query_scores.of_rows == {row: tuple(of_row) for row, of_row in enumerate(defined(scores).tolist())}
    for board in (hidden, public):
        for row, of_row in zip(board.rows, defined(scores), strict=True):
            assert row.deciles == pytest.approx(quantiles(of_row.tolist(), n=10, method="inclusive"))
    monkeypatch.setattr("scorer.board.statistics.MOST_SCORES", defined(scores).size - 1)
    assert board_of(tmp_path / "challenge").query_scores is None


# The cache


def cached(folder: Path) -> list[tuple[object, ...]]:
    """The digests of the cached values."""
    return rows(str(folder / "scores.db"), "SELECT digest FROM cached ORDER BY digest")


def test_statistics_charts_and_analyses_are_computed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second render reads them from the database; its revision and the pages stay as they are."""
    before = cached(folder), rows(str(folder / "scores.db"), "SELECT revision FROM scorer_schema")
    pages = {path: path.read_bytes() for path in (folder / "site").rglob("*.html")}
    monkeypatch.setattr("scorer.board.statistics._computed", lambda *_: pytest.fail("computed again"))
    monkeypatch.setattr("scorer.organising.render._computed_analysis", lambda *_: pytest.fail("computed again"))
    monkeypatch.setattr(Chart, "svg", lambda _: pytest.fail("drawn again"))

    assert here("render", folder).code == 0
    assert before[0] != []
    assert (cached(folder), rows(str(folder / "scores.db"), "SELECT revision FROM scorer_schema")) == before
    assert {path: path.read_bytes() for path in (folder / "site").rglob("*.html")} == pages


def test_what_changed_is_computed_and_what_is_unused_is_deleted(folder: Path) -> None:
    """A measure that is added needs one more value; one that is removed takes its value with it."""
    settings = folder / "challenge.toml"
    only_primary = settings.read_text()
    text = only_primary.replace("decimals = 3", 'decimals = 3\nstatistics = "all"')
    try:
        settings.write_text(text)
        assert here("run", folder).code == 0
        before = set(cached(folder))
        settings.write_text(text.replace('"nDCG@10", ', '"nDCG@5", '))
        assert here("run", folder).code == 0
        after = set(cached(folder))
        settings.write_text(text)
        assert here("run", folder).code == 0
        again = set(cached(folder))
    finally:
        settings.write_text(only_primary)
        here("run", folder)

    assert len(before - after) == len(after - before) == 1
    assert again == before


def test_values_that_other_code_computed_are_not_used(folder: Path, tmp_path: Path) -> None:
    """A change of any module of the package counts: statistics, curves, charts and analyses depend on most of them."""
    shutil.copytree(folder, tmp_path / "challenge")
    package = Path(scorer.__file__).parent
    shutil.copytree(package, tmp_path / "scorer")
    shutil.copytree(package.with_name("templates"), tmp_path / "templates")
    module = tmp_path / "scorer" / "wording.py"
    module.write_text(module.read_text() + "\nCHANGED = True\n")

    answer = process("render", tmp_path / "challenge", prefix=("env", "-C", str(tmp_path), f"PYTHONPATH={tmp_path}"))

    assert answer.code == 0, answer.err
    assert len(cached(tmp_path / "challenge")) == len(cached(folder))
    assert set(cached(tmp_path / "challenge")).isdisjoint(cached(folder))


def test_a_damaged_value_is_noticed_and_repaired(folder: Path, tmp_path: Path) -> None:
    """A render reports it; after a repair it is computed again, with the same result."""
    write_challenge(tmp_path / "challenge")
    here("run", tmp_path / "challenge")
    site = (tmp_path / "challenge" / "site" / "main" / "index.html").read_bytes()
    changed(str(tmp_path / "challenge" / "scores.db"), "UPDATE cached SET value = '{}'")

    damaged = here("render", tmp_path / "challenge")
    repaired = here("doctor", "--repair", tmp_path / "challenge")
    rendered = here("render", tmp_path / "challenge")

    assert damaged.code == 1
    assert "is damaged: the cached value" in damaged.err
    assert "Traceback" not in damaged.err
    assert (repaired.code, rendered.code) == (0, 0)
    assert (tmp_path / "challenge" / "site" / "main" / "index.html").read_bytes() == site


def test_a_database_that_cannot_be_written_to_can_be_rendered(folder: Path) -> None:
    """The statistics are computed, and are not stored."""
    database = folder / "scores.db"
    changed(str(database), "DELETE FROM cached")
    site = folder / "site" / "main" / "index.html"
    before = site.read_bytes()
    site.unlink()
    with closing(sqlite3.connect(database, isolation_level=None)) as other, Store.open(database, wait=0.1) as store:
        other.execute("BEGIN IMMEDIATE")
        render(read_challenge(folder), store)

    assert site.read_bytes() == before
    assert cached(folder) == []
    assert here("render", folder).code == 0
    assert cached(folder) != []


# The export


def test_the_export_follows_its_schema(folder: Path) -> None:
    """With statistics; the schema refuses other structures."""
    document = json.loads((folder / "site" / "main" / "leaderboard.json").read_text())
    published = json.loads((folder / "site" / "leaderboard-schema.json").read_text())
    validator = Draft202012Validator(published)

    Draft202012Validator.check_schema(published)
    assert json.loads(schema()) == published
    assert published["properties"]["version"]["const"] == LEADERBOARD_VERSION
    assert published["properties"]["phase"]["anyOf"][0]["properties"]["state"]["enum"] == list(get_args(PhaseState))
    assert list(validator.iter_errors(document)) == []
    wrongs: tuple[dict[str, object], ...] = ({"version": 1}, {"rows": [{}]}, {"statistics": {}}, {"more": 1})
    for wrong in wrongs:
        assert list(validator.iter_errors(document | wrong)) != []


def test_the_export_has_the_numbers_of_the_board(folder: Path) -> None:
    """Rounded as the board shows them; tiers list the ids of teams."""
    board = board_of(folder)
    document = json.loads(to_json(board))
    published = json.loads((folder / "site" / "main" / "leaderboard.json").read_text())
    statistics = document["statistics"]["measures"]["MARp@5,10"]

    assert document == published | {"log": None}
    assert sorted(team for tier in statistics["tiers"] for team in tier) == sorted(QUALITY)
    for row in document["rows"]:
        team = statistics["teams"][row["id"]]
        assert [row["low"], row["high"]] == team["interval"]
        assert row["rank"] is None or (row["rank from"], row["rank to"]) == tuple(team["range"])
        assert row["rank"] is None or row["tier"] == "ABCDE"[team["tier"] - 1]
    assert "GMAP" not in document["statistics"]["measures"]
    others = document["statistics"]["measures"]["nDCG@10"]
    assert set(others) == {"teams"}
    for row, team in zip(board.rows, others["teams"].values(), strict=True):
        assert row.certainty[1] is not None
        assert (team["interval"] is None) == (row.certainty[1].interval is None)
        assert (team["range"], team["tier"], team["separable_from_leader"], team["first"]) == (None, None, None, None)


def keys_of(part: object) -> set[str]:
    """The keys that a JSON Schema declares."""
    if isinstance(part, list):
        return set().union(*map(keys_of, part))
    if not isinstance(part, dict):
        return set()
    return set(part.get("properties", ())) | set().union(*map(keys_of, part.values()))


def test_every_key_of_the_export_is_documented() -> None:
    """Each is in docs/leaderboard-json.md."""
    text = (DOCS / "leaderboard-json.md").read_text(encoding="utf-8")

    missing = {key for key in keys_of(json.loads(schema())) if f"`{key}`" not in text}

    assert missing == set()


# Chance in the choice of the best entry


def several(folder: Path, settings: str = SETTINGS) -> Board:
    """The board of a challenge in which one team handed in three files."""
    write_challenge(folder, settings)
    best = folder / "submissions" / "main" / "20110418T100000Z-amber-lamp.txt"
    for number, line in ((1, 3), (2, 20)):
        lines = best.read_text().splitlines(keepends=True)
        (best.parent / f"20110417T0{number}0000Z-amber-lamp.txt").write_text("".join(lines[line:] + lines[:line][1:]))
    assert here("run", folder).code == 0
    return board_of(folder)


def test_the_gain_of_choosing_is_the_mean_of_the_largest_deviation(tmp_path: Path) -> None:
    """By a plain loop over the resamples; only of the team with several entries, in all documents."""
    board = several(tmp_path)
    (row,) = (row for row in board.rows if row.choice)
    assert (row.team.name, len(row.entries)) == ("amber-lamp", 3)
    solution = tmp_path / "solutions/main.txt"
    results = [
        evaluate(solution, tmp_path / "submissions" / entry.file, "MARp@5,10", per_query=True, split="preliminary")
        for entry in row.entries
    ]
    scores = defined(np.array([[next(iter(each.values())) for each in found.by_query().values()] for found in results]))
    gains = [
        max(mean - sum(own) / len(own) for mean, own in zip(means, scores.tolist(), strict=True))
        for means in resampled_means(scores, 1_000).tolist()
    ]

    assert row.choice == Choice(3, round(sum(gains) / len(gains), 3), None if row.choice is None else row.choice.change)
    assert row.entry is not None
    assert row.choice.change == rounded((row.entry.final[0] or 0) - (row.entry.preliminary[0] or 0), 3)
    (published,) = (each["choice"] for each in json.loads(to_json(board))["rows"] if "choice" in each)
    assert published == {"entries": 3, "gain": row.choice.gain, "change": row.choice.change}


@pytest.mark.parametrize("rule", ["last", "picks"])
def test_only_the_best_entry_is_chosen_by_its_score(rule: str, tmp_path: Path) -> None:
    """The last entry, and those that the team picks, are not."""
    assert not any(row.choice for row in several(tmp_path, SETTINGS + f'entry = "{rule}"\n').rows)


# Curves


def test_curves_are_means_of_their_measures(folder: Path) -> None:
    """Interpolated precision at eleven levels of recall, and Rp@z at each z, of the first rows; from their files."""
    board = board_of(folder)
    ranked = [place for place, row in enumerate(board.rows) if row.rank is not None]

    assert [curve.row for curve in board.curves] == [*ranked, *(set(range(len(board.rows))) - set(ranked))]
    for curve in board.curves:
        entry = board.rows[curve.row].entry
        assert entry is not None
        names = [f"IPrec(reach=exact)@{level / 10}" for level in range(11)] + [f"Rp@{z}" for z in range(1, 11)]
        found = evaluate(folder / "solutions/main.txt", folder / "submissions" / entry.file, names)
        assert [*curve.precisions, *curve.r_precisions] == [round(found[name], 3) for name in names]


def test_long_lists_have_few_cutoffs() -> None:
    """The first and the last are among them, and each is there once."""
    for list_length in (1, 2, 40, 41, 1000, 10**6):
        found = cutoffs(list_length)
        assert (found[0], found[-1]) == (1, list_length)
        assert len(found) == min(list_length, 40) == len(set(found))
        assert list(found) == sorted(found)


def test_moves_are_compared_with_chance(folder: Path) -> None:
    """The moves are those of the board; random preliminary sets move teams, too."""
    board = board_of(folder)
    ranks = [(row.preliminary_rank, row.rank) for row in board.rows if row.rank is not None]
    moves = [abs((before or 0) - after) for before, after in ranks]

    found = board.shake_up
    assert found is not None
    assert (found.moved, found.mean_move) == (sum(map(bool, moves)), sum(moves) / len(moves))
    assert 0 <= found.expected_range[0] <= found.expected_range[1]
