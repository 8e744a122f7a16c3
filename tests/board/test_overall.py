"""The overall ranking over several tracks, against plain loops over teams and tracks."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scorer.scoring.statistics.rankings import values_of_track
from scorer.scoring.statistics.resampling import sign_flips
from tests import challenger
from tests.accessibility import check_page
from tests.browser import IN_BROWSER, Page
from tests.commands import here
from tests.oracles import average_precision, mean_interval
from tests.overall import SOLUTIONS, STRENGTHS, write_challenge
from tests.pages import read

TRACKS = 'tracks = ["one", "two", "three"]\n'

Site = Callable[..., Path]
Scores = Mapping[str, Sequence[float | None]]
"""By team: its score in each track."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Renders a challenge with these lines of [overall], once, and returns the folder of the ranking."""
    made: dict[tuple[str, bool], Path] = {}

    def rendered(overall: str, *, shares: bool = True) -> Path:
        if (overall, shares) not in made:
            folder = tmp_path_factory.mktemp("three")
            write_challenge(folder, overall, shares=shares)
            assert here("run", folder).code == 0
            made[overall, shares] = folder / "site" / "overall"
        return made[overall, shares]

    return rendered


def document(folder: Path) -> dict[str, Any]:
    """The ranking as JSON."""
    found: dict[str, Any] = json.loads((folder / "leaderboard.json").read_text())
    return found


def query_scores(folder: Path) -> dict[str, list[list[float] | None]]:
    """By team: its average precision on the queries of each track; None without an entry."""
    found: dict[str, list[list[float] | None]] = {team: [] for team in STRENGTHS}
    for track in SOLUTIONS:
        solution = dict(line.split(":0:") for line in (folder / "solutions" / f"{track}.txt").read_text().split())
        for team, of_tracks in found.items():
            file = folder / "submissions" / track / f"{team}.txt"
            if not file.exists():
                of_tracks.append(None)
                continue
            lists = dict(line.split(":") for line in file.read_text().split())
            of_tracks.append(
                [
                    average_precision(
                        {each.split("|")[0]: 1.0 for each in solution[query].split(",")}, lists[query].split(","), None
                    )
                    for query in solution
                ]
            )
    return found


def value(rule: str, scores: Scores, team: str, track: int) -> float:
    """What a track contributes, by definition: loops over the other teams."""
    own = scores[team][track]
    others = [scores[other][track] for other in scores if other != team]
    if rule == "mean":
        return own or 0.0
    if own is None:
        return float(len(scores)) if rule == "rank" else 0.0
    if rule == "borda":
        return sum(1.0 if other is None or other < own else 0.5 if other == own else 0.0 for other in others)
    higher = sum(other is not None and other > own for other in others)
    equal = sum(other == own for other in others)
    return fmean(range(1 + higher, 2 + higher + equal))


def totals(rule: str, scores: Scores, weights: Sequence[float] = (1, 1, 1)) -> dict[str, float]:
    """The overall scores of the teams."""
    found = {}
    for team in scores:
        total = sum(weight * value(rule, scores, team, track) for track, weight in enumerate(weights))
        found[team] = total if rule == "borda" else total / sum(weights)
    return found


def ranks(rule: str, of_teams: Mapping[str, float]) -> dict[str, int]:
    """The ranks by overall scores; equal ones share a rank."""
    sign = -1 if rule == "rank" else 1
    return {team: 1 + sum(sign * other > sign * own for other in of_teams.values()) for team, own in of_teams.items()}


def rounded_totals(rule: str, scores: Scores, weights: Sequence[float]) -> dict[str, float]:
    """As they are shown."""
    return {team: round(total, 4 if rule == "mean" else 2) for team, total in totals(rule, scores, weights).items()}


def decided(
    rule: str,
    rows: Sequence[Mapping[str, Any]],
    of_queries: Mapping[str, list[list[float] | None]],
    ids: list[list[str]],
    weights: Sequence[float],
) -> set[tuple[str, str]]:
    """The pairs of teams whose first one is above the other by more than chance; all pairs at once."""
    teams, units = [row["id"] for row in rows], sorted({name for names in ids for name in names})
    if rule == "mean":
        sums = np.zeros((len(teams), len(units)))
        for team, of_team in zip(teams, sums, strict=True):
            for weight, names, scores in zip(weights, ids, of_queries[team], strict=True):
                for name, score in zip(names, scores or [0.0] * len(names), strict=True):
                    of_team[units.index(name)] += weight * score / len(names)
        found = np.argwhere(sign_flips(sums).better()).tolist()
        own = {row["id"]: row["score"] for row in rows}
        return {(teams[one], teams[other]) for one, other in found if own[teams[one]] > own[teams[other]]}
    ahead = dict.fromkeys(((one, other) for one in teams for other in teams), 0.0)
    for track, weight in enumerate(weights):
        above = above_in_track(of_queries, track, len(weights))
        first = {team: 1 + sum((other, team) in above for other in teams) for team in teams}
        last = {team: len(teams) - sum((team, other) in above for other in teams) for team in teams}
        for one, other in ahead:
            places = first[other] - last[one]
            ahead[one, other] += weight * (max(places, 1) if (one, other) in above else places)
    return {pair for pair, places in ahead.items() if places > 0}


def above_in_track(of_queries: Mapping[str, list[list[float] | None]], track: int, tracks: int) -> set[tuple[str, str]]:
    """The pairs of teams whose first one is above the other in a track, at its part of the level."""
    known = {team: of for team, of_tracks in of_queries.items() if (of := of_tracks[track]) is not None}
    better = sign_flips(np.array(list(known.values())), level=0.05 / tracks).better()
    above = {(list(known)[one], list(known)[other]) for one, other in np.argwhere(better).tolist()}
    return above | {(one, other) for one in known for other in of_queries if other not in known}


def ends_of_ranks(
    rule: str, team: str, of_queries: Mapping[str, list[list[float] | None]], weights: Sequence[float]
) -> tuple[float, float]:
    """The least and the largest mean rank or sum of points that the decisions in the tracks leave a team."""
    ends = [0.0, 0.0]
    for track, weight in enumerate(weights):
        above = above_in_track(of_queries, track, len(weights))
        higher = sum((other, team) in above for other in of_queries)
        lower = sum((team, other) in above for other in of_queries)
        for end, places in enumerate((higher, len(of_queries) - 1 - lower)):
            ends[end] += weight * (places + 1 if rule == "rank" else len(of_queries) - 1 - places)
    low, high = sorted(each / sum(weights) if rule == "rank" else each for each in ends)
    return low, high


def tiers(order: Sequence[str], better: set[tuple[str, str]]) -> dict[str, str]:
    """The letter of each team: a tier opens with the best team in none, and has all down to the last it may equal."""
    found: dict[str, str] = {}
    while left := order[len(found) :]:
        last = max(at for at, team in enumerate(left) if (left[0], team) not in better)
        found |= dict.fromkeys(left[: last + 1], "ABCDEFG"[len(set(found.values()))])
    return found


CASES = [
    ("mean", ""),
    ("mean", "weights = [2, 1.5, 1]\n"),
    ("rank", ""),
    ("borda", ""),
    ("borda", "weights = [1, 1, 3]\n"),
]


@pytest.mark.parametrize(("rule", "more"), CASES)
def test_scores_ranks_and_contributions_are_those_of_the_loops(site: Site, rule: str, more: str) -> None:
    """Each overall score is what the rule says of the means of the tracks, with the lowest value for a missing one."""
    folder = site(f'{TRACKS}rule = "{rule}"\n{more}')
    found = document(folder)
    weights = found["settings"]["weights"] or (1, 1, 1)
    of_queries = query_scores(folder.parent.parent)
    means = {
        team: [None if each is None else round(fmean(each), 4) for each in tracks]
        for team, tracks in of_queries.items()
    }
    expected = rounded_totals(rule, means, weights)

    assert {row["id"]: row["score"] for row in found["rows"]} == pytest.approx(expected)
    assert {row["id"]: row["rank"] for row in found["rows"]} == ranks(rule, expected)
    for row in found["rows"]:
        for number, track in enumerate(SOLUTIONS):
            assert row[f"{track} score"] == means[row["id"]][number]
            assert row[f"{track} value"] == pytest.approx(value(rule, means, row["id"], number))


@pytest.mark.parametrize(
    ("rule", "more", "shares"),
    [
        *(("mean", CASES[1][1], True), ("rank", "", True), ("borda", "", False)),
        *(
            pytest.param(*case, shares, marks=pytest.mark.endurance)
            for case in CASES
            for shares in (True, False)
            if (*case, shares) not in ((*CASES[1], True), (*CASES[2], True), (*CASES[3], False))
        ),
    ],
)
def test_ranges_are_those_of_loops(site: Site, rule: str, more: str, *, shares: bool) -> None:
    """Queries with the same id in several tracks are one unit, whose scores are added.

    A mean of tracks has its interval from theirs: the products of the distances to the ends and of their correlations
    add up. Mean ranks and points have theirs from the ranks that a team may have in each track.
    """
    folder = site(f'{TRACKS}rule = "{rule}"\n{more}', shares=shares)
    found = document(folder)
    weights = found["settings"]["weights"] or (1, 1, 1)
    of_queries = query_scores(folder.parent.parent)
    ids = [[f"{'q' if shares else track}{query}" for query in range(count)] for track, count in SOLUTIONS.items()]

    better = decided(rule, found["rows"], of_queries, ids, weights)
    letter = tiers([row["id"] for row in sorted(found["rows"], key=lambda row: row["rank"])], better)
    for row in found["rows"]:
        if rule == "mean":
            low, high = interval_of_mean(of_queries[row["id"]], ids, weights)
        else:
            low, high = ends_of_ranks(rule, row["id"], of_queries, weights)
            assert low - 0.006 < row["score"] < high + 0.006
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=0.0051 if rule != "mean" else 0.000051)
        above = sum((other, row["id"]) in better for other in of_queries)
        below = sum((row["id"], other) in better for other in of_queries)
        assert (row["rank from"], row["rank to"]) == (1 + above, len(of_queries) - below)
        assert row["tier"] == letter[row["id"]]
        leader = next(team for team in letter if letter[team] == row["tier"])
        assert row["separable_from_leader"] == ((leader, row["id"]) in better)
    assert better or rule != "mean"


SEVEN = {f"track{number}": 6 + number for number in range(7)}
NAMED = f"tracks = {json.dumps([*SEVEN])}\n"


@pytest.mark.parametrize(("rule", "weights"), [("mean", [2, 1, 1, 1, 3, 1, 1]), ("rank", [1] * 7), ("borda", [1] * 7)])
def test_tracks_can_be_a_sample_of_tasks(tmp_path: Path, rule: str, weights: list[float]) -> None:
    """Scores are as without; intervals are Student's over the tracks, and flips of tracks decide."""
    write_challenge(tmp_path, f'{NAMED}rule = "{rule}"\nweights = {weights}\ntasks = "sample"\n', solutions=SEVEN)
    assert here("run", tmp_path).code == 0
    found = document(tmp_path / "site" / "overall")
    sample = {row["id"]: row for row in found["rows"]}

    scores = {team: [row[f"{track} score"] for track in SEVEN] for team, row in sample.items()}
    assert {team: row["score"] for team, row in sample.items()} == pytest.approx(rounded_totals(rule, scores, weights))
    values = np.array([[row[f"{track} value"] or 0 for track in SEVEN] for row in sample.values()])
    sign, most = (-1 if rule == "rank" else 1), {"mean": 1, "rank": len(sample), "borda": len(sample) - 1}[rule]
    better = sign_flips(sign * values * weights).better()
    for at, row in enumerate(sample.values()):
        mean = np.average(values[at], weights=weights)
        parts = np.array(weights) / fmean(weights) * (values[at] - mean)
        ends = [*mean + stats.t.interval(0.95, 6, scale=stats.sem(parts))]
        if rule != "mean":  # equal weights: as of the values themselves
            assert ends == pytest.approx(stats.ttest_1samp(values[at], 0).confidence_interval())
        ends = [min(max(end, int(rule == "rank")), most) * (7 if rule == "borda" else 1) for end in ends]
        assert [row["low"], row["high"]] == pytest.approx(ends, abs=0.0051 if rule != "mean" else 0.000051)
        assert row["rank from"] == 1 + int(better[:, at].sum())
        assert row["rank to"] == len(sample) - int(better[at].sum())
        assert row["tier"] is not None
    assert better.any() or rule != "mean"
    assert found["rules"][-1].startswith("The tracks are a sample of tasks")
    page = read((tmp_path / "site" / "overall" / "index.html").read_text()).words()
    assert "by Student's t over these" in page
    assert "Queries with the same id" not in page


def test_few_tracks_of_a_sample_decide_nothing(site: Site) -> None:
    """There are intervals, and no tiers and ranges."""
    folder = site(f'{TRACKS}tasks = "sample"\n')
    found = document(folder)

    for row in found["rows"]:
        scores = [row[f"{track} value"] for track in SOLUTIONS]
        expected = np.clip(stats.ttest_1samp(scores, 0).confidence_interval(), 0, 1)
        assert [row["low"], row["high"]] == pytest.approx(expected, abs=0.000051)
        assert row["rank from"] is row["rank to"] is row["tier"] is row["separable_from_leader"] is None
    page = read((folder / "index.html").read_text()).words()
    assert "95 % interval" in page
    assert "Tier" not in page
    assert "Range." not in page


@pytest.mark.parametrize("tracks", [6, 12])
def test_a_sample_of_tasks_seldom_decides_about_equal_teams(tracks: int) -> None:
    """At most 5.5 % of 600 boards of 20 teams, whose scores in a track depend on each other and are skewed."""
    random = np.random.default_rng(tracks)
    boards = random.beta(2, 4, (600, 1, tracks)) * random.gamma(2, 0.5, (600, 20, tracks))

    assert sum(sign_flips(board, 2000, seed=at).better().any() for at, board in enumerate(boards)) <= 0.055 * 600


def interval_of_mean(
    tracks: list[list[float] | None], ids: list[list[str]], weights: Sequence[float]
) -> tuple[float, float]:
    """The interval of the weighted mean of the tracks of a team."""
    known = [
        (weight / sum(weights), dict(zip(names, each, strict=True)))
        for weight, names, each in zip(weights, ids, tracks, strict=True)
        if each
    ]
    total = sum(weight * fmean(each.values()) for weight, each in known)
    squares = [0.0, 0.0]
    for weight, one in known:
        for factor, other in known:
            means = fmean(one.values()), fmean(other.values())
            products = sum((one[name] - means[0]) * (other[name] - means[1]) for name in one if name in other)
            sizes = [
                sum((score - mean) ** 2 for score in each.values())
                for each, mean in zip((one, other), means, strict=True)
            ]
            for end in (0, 1):
                ends = [
                    abs(mean_interval(list(each.values()))[end] - mean)
                    for each, mean in zip((one, other), means, strict=True)
                ]
                squares[end] += weight * factor * math.prod(ends) * products / math.sqrt(math.prod(sizes))
    return total - squares[0] ** 0.5, total + squares[1] ** 0.5


@pytest.mark.parametrize("rule", ["mean", "rank", "borda"])
def test_swaps_are_those_of_leaving_each_team_out(site: Site, rule: str) -> None:
    """Each pair that changes its order without a third team is listed, and the page says how many."""
    folder = site(f'{TRACKS}rule = "{rule}"\n')
    found = document(folder)
    scores = {row["id"]: [row[f"{track} score"] for track in SOLUTIONS] for row in found["rows"]}
    sign = -1 if rule == "rank" else 1
    before = {team: sign * total for team, total in rounded_totals(rule, scores, (1, 1, 1)).items()}
    expected = set()
    for out in scores:
        rest = {team: each for team, each in scores.items() if team != out}
        after = {team: sign * total for team, total in rounded_totals(rule, rest, (1, 1, 1)).items()}
        expected |= {
            (out, one, other)
            for one in rest
            for other in rest
            if before[one] < before[other] and after[one] > after[other]
        }

    assert {(swap["without"], swap["above"], swap["below"]) for swap in found["examples"]} == expected
    assert found["swaps"] == len(expected)
    words = read((folder / "index.html").read_text()).words()
    if rule == "mean":
        assert not expected
        assert "does not depend on other teams" in words
    else:
        assert f"would swap {len(expected)} pairs of others" in words


def test_mean_ranks_and_points_by_hand() -> None:
    """Five teams, two of them equal, and one without a score: the last rank, and no points."""
    scores = np.array([0.9, 0.5, 0.5, np.nan, 0.1])

    assert values_of_track(scores, "rank").tolist() == [1, 2.5, 2.5, 5, 4]
    assert values_of_track(scores, "borda").tolist() == [4, 2.5, 2.5, 0, 1]
    assert values_of_track(scores, "mean").tolist() == [0.9, 0.5, 0.5, 0, 0.1]


@challenger.needs_challenger
@pytest.mark.parametrize("rule", ["mean", "median"])
def test_mean_ranks_are_the_consensus_of_challenger(rule: str) -> None:
    """Over the three tasks of its example, with the scores that it aggregates."""
    numbers = challenger.reference()["D1"]
    name = challenger.RULES[rule]
    tasks = [numbers["rules"][name][task]["value"] for task in challenger.TASKS]
    by_track = [values_of_track(np.array([each[team] for team in challenger.ALGORITHMS]), "rank") for each in tasks]
    expected = numbers["consensus_euclidean"][name]["value"]

    assert np.mean(by_track, axis=0) == pytest.approx([expected[team] for team in challenger.ALGORITHMS])


def test_a_team_that_lacks_a_track_can_be_without_a_rank(site: Site) -> None:
    """It is listed last, and the others are ranked among each other."""
    found = document(site(f'{TRACKS}rule = "rank"\nmissing = "unranked"\n'))
    lacking = [row for row in found["rows"] if row["rank"] is None]

    assert [row["id"] for row in lacking] == ["cedar", "elder"]
    assert all(row["score"] is row["one value"] is row["rank from"] is None for row in lacking)
    of_ranked = {row["id"]: [row[f"{track} score"] for track in SOLUTIONS] for row in found["rows"][:-2]}
    assert {row["id"]: row["score"] for row in found["rows"][:-2]} == rounded_totals("rank", of_ranked, (1, 1, 1))


def test_equal_teams_can_be_ordered_by_a_measure_and_by_their_entries(site: Site) -> None:
    """Two teams have the same lists, and two others the same mean rank."""
    shared = {row["id"]: row["rank"] for row in document(site(f'{TRACKS}rule = "rank"\n'))["rows"]}
    broken = document(site(f'{TRACKS}rule = "rank"\ntie_break = "RR"\nequal_ranks = "earlier"\n'))["rows"]

    assert shared["alder"] == shared["fir"] == 3
    assert shared["birch"] == shared["dogwood"] == 1
    assert [row["rank"] for row in broken] == [1, 2, 3, 4, 5, 6]
    assert {row["id"] for row in broken[:2]} == {"birch", "dogwood"}


def test_the_measure_can_be_another_one(site: Site) -> None:
    """The scores are those of that measure on the boards."""
    folder = site(f'{TRACKS}measure = "RR"\n')
    board = json.loads((folder.parent / "one" / "leaderboard.json").read_text())
    expected = {row["id"]: row["RR"] for row in board["rows"]}

    assert {row["id"]: row["one score"] for row in document(folder)["rows"] if row["one score"]} == expected


def test_the_files_and_the_pages_agree(site: Site) -> None:
    """CSV has the rows of JSON; each track's rules have those of the ranking, and each page a link to it."""
    folder = site(f"{TRACKS}")
    found = document(folder)
    lines = list(csv.DictReader(io.StringIO((folder / "leaderboard.csv").read_text())))

    assert [line["team"] for line in lines] == [row["team"] for row in found["rows"]]
    assert [float(line["score"]) for line in lines] == [row["score"] for row in found["rows"]]
    page = read((folder / "index.html").read_text())
    rules = read((folder.parent / "two" / "rules.html").read_text()).words()
    assert all(sentence in page.words() and sentence in rules for sentence in found["rules"])
    first, *_ = found["rows"]
    front = read((folder.parent / "index.html").read_text()).words()
    assert f"over 3 tracks: =1 {first['team']} {first['score']:.4f}" in front
    assert 'href="../overall/index.html"' in (folder.parent / "one" / "index.html").read_text()


def test_without_the_table_nothing_is_there(tmp_path: Path) -> None:
    """No page, no link, no rule."""
    write_challenge(tmp_path)
    assert here("run", tmp_path).code == 0

    assert not (tmp_path / "site" / "overall").exists()
    assert all("verall" not in file.read_text() for file in (tmp_path / "site").rglob("*.html"))


class TestInTheBrowser:
    """The page as it looks."""

    pytestmark = IN_BROWSER

    @pytest.mark.parametrize(("width", "dark"), [(390, True), (1440, False)])
    def test_it_is_sound(self, tab: Page, site: Site, width: int, dark: bool) -> None:
        """Only the table scrolls."""
        check_page(tab, (site(f'{TRACKS}rule = "rank"\n') / "index.html").as_uri(), width, dark=dark)
