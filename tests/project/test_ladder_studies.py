"""The studies of the Ladder: two attacks on preliminary scores, and a fair team."""

from __future__ import annotations

import numpy as np
import pytest

import scorer
from studies import ladder_attack, ladder_cost
from studies.ladder_attack import MEASURES, QUERIES, Attack, Challenge, Point, relevance, swapped
from studies.shown_scores import LARGE_STEP, MECHANISMS, PLAIN, PRELIMINARY, ROUNDED, SMALL_STEP, Mechanism
from studies.study import Study
from tests.paths import DOCS

pytestmark = pytest.mark.ci


LOOKS = (1, 300, 600)


@pytest.fixture(scope="module")
def by_votes() -> Study:
    """The attack by votes, small."""
    return ladder_attack.by_votes(LOOKS, seeds=3)


@pytest.fixture(scope="module")
def by_changes() -> Study:
    """The attack by changes, small."""
    return ladder_attack.by_changes(LOOKS, seeds=3)


def last(study: Study, mechanism: Mechanism, measure: str) -> Point:
    """Return the board after the last look."""
    points = [Point._make(row) for row in study.rows]
    return [at for at in points if (at.mechanism, at.measure) == (mechanism.name, measure)][-1]


@pytest.mark.parametrize("measure", MEASURES)
def test_the_scores_of_a_choice_are_those_of_the_ranked_lists(measure: str) -> None:
    """They equal the scores of lists that `scorer.evaluate` reads, in both orders of the first two items."""
    grade = relevance(np.random.default_rng(5))
    challenge = Challenge.draw(np.random.default_rng(5), measure)
    solution = {f"q{query}": {f"i{rank}": value for rank, value in enumerate(row)} for query, row in enumerate(grade)}
    orders = [range(10), [1, 0, *range(2, 10)]]

    assert (swapped(swapped(grade)) == grade).all()
    assert grade.sum(axis=1).min() == 1
    for order, scores in zip(orders, challenge.scores, strict=True):
        lists = {query: [f"i{rank}" for rank in order] for query in solution}
        evaluated = scorer.evaluate(solution, lists, measure, per_query=True).by_query()
        np.testing.assert_allclose(scores, [evaluated[query][measure] for query in solution], rtol=1e-14)


def test_a_file_has_a_score_on_either_part_of_the_queries() -> None:
    """The first queries are preliminary; a choice changes the score of one query."""
    challenge = Challenge(np.array([np.zeros(QUERIES), np.ones(QUERIES)]))
    file = np.zeros(QUERIES, dtype=bool)
    file[[0, PRELIMINARY - 1, PRELIMINARY]] = True

    assert challenge.preliminary(file).tolist() == file[:PRELIMINARY].astype(float).tolist()
    assert challenge.final(file) == 1 / (QUERIES - PRELIMINARY)


def test_looks_above_the_median_vote_for_their_choices() -> None:
    """Those below vote against them; the median, and what most looks have, is no vote."""
    assert ladder_attack.weights([0.3, 0.5, 0.4]).tolist() == [-1, 1, 0]
    assert ladder_attack.weights([0.5, -1, -1, 0.6, -1, -1, -1]).tolist() == [1, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_a_board_shows_the_best_score_of_a_team(mechanism: Mechanism) -> None:
    """A worse file changes nothing, and a look at a copy does not change the board."""
    board = mechanism.board()
    half, worse, better = (np.repeat([1.0, 0.0], [count, PRELIMINARY - count]) for count in (220, 100, 400))
    files = [np.array([number], dtype=np.int64) == 1 for number in range(3)]
    board.look(half, files[0])
    board.look(worse, files[1])
    after = board.after(better, files[2])

    assert board.shown == pytest.approx(220 / 443, abs=0.026)
    assert board.file is files[0]
    assert after.shown == pytest.approx(400 / 443, abs=0.026)
    assert after.file is files[2]


@pytest.mark.parametrize("measure", MEASURES)
def test_votes_overfit_rounded_scores_and_not_the_ladder(by_votes: Study, measure: str) -> None:
    """600 looks overfit 4 decimals and `decimals = "auto"` clearly; the Ladder shows less than a quarter of it."""
    plain = last(by_votes, PLAIN, measure)

    assert plain.overfit_low > {"AP": 0.04, "P@1": 0.18}[measure]
    assert last(by_votes, ROUNDED, measure).overfit > 0.8 * plain.overfit
    for ladder in (SMALL_STEP, LARGE_STEP):
        assert last(by_votes, ladder, measure).overfit < 0.25 * plain.overfit


@pytest.mark.parametrize("measure", MEASURES)
def test_changes_overfit_all_but_the_ladder_with_a_large_step(by_changes: Study, measure: str) -> None:
    """4 decimals show small changes, and a step of 0.05 hides them."""
    plain = last(by_changes, PLAIN, measure)

    assert plain.overfit_low > {"AP": 0.035, "P@1": 0.15}[measure]
    assert last(by_changes, LARGE_STEP, measure).overfit < 0.25 * plain.overfit


@pytest.mark.parametrize("attack", [ladder_attack.votes, ladder_attack.changes])
def test_an_attack_does_not_change_the_final_score(attack: Attack) -> None:
    """The other queries teach nothing: the final score stays within three standard errors of a difference."""
    challenge = Challenge.draw(np.random.default_rng(3), "P@1")
    finals = [read.final for read in attack(challenge, PLAIN, LOOKS, np.random.default_rng(4))]

    assert finals == pytest.approx([finals[0]] * 3, abs=3 * 0.5 * (2 / (QUERIES - PRELIMINARY)) ** 0.5)
    assert len(set(finals)) > 1


@pytest.mark.parametrize("measure", MEASURES)
def test_the_ladder_shows_the_luckiest_random_file(measure: str) -> None:
    """After votes it shows no more than the best of the files that were sent, rounded; 4 decimals show far more."""
    challenge = Challenge.draw(np.random.default_rng(3), measure)
    files = np.random.default_rng(4).integers(0, 2, size=(LOOKS[-1], QUERIES), dtype=np.int8).astype(bool)
    files[0] = False
    luckiest = challenge.preliminary(files).mean(axis=1).max()
    plain, small = (
        list(ladder_attack.votes(challenge, mechanism, LOOKS, np.random.default_rng(4)))[-1].shown
        for mechanism in (PLAIN, SMALL_STEP)
    )

    assert plain > luckiest + 0.02
    assert small <= luckiest + 0.5 * 0.01


def test_the_studies_of_attacks_have_figures_and_claims(by_votes: Study, by_changes: Study) -> None:
    """Two curves with their bands for each mechanism, a row for each point, and a claim for each mechanism."""
    for study in (by_votes, by_changes):
        assert study.figure.count("<polyline") == study.figure.count("<polygon") == 2 * len(MECHANISMS)
        assert len(study.rows) == len(MEASURES) * len(MECHANISMS) * len(LOOKS)
        assert len(study.claims) == len(MECHANISMS)
    assert [claim.verdict for claim in by_votes.claims[1:]] == ["does not hold", "holds", "holds"]
    assert by_changes.claims[-1].verdict == "holds"


def test_the_same_seeds_give_the_same_study(by_changes: Study) -> None:
    """The figure and the numbers are the same bytes."""
    again = ladder_attack.by_changes(LOOKS, seeds=3)

    assert (again.figure, again.table()) == (by_changes.figure, by_changes.table())


def test_a_fair_team_sees_most_of_its_improvements() -> None:
    """A small step shows small ones later, but is hardly behind in the end; a large step is."""
    study = ladder_cost.fair_teams(teams=30)
    rows = {(row.mechanism, row.gain): row for row in map(ladder_cost.Shown._make, study.rows)}
    small, large = 0.002, 0.02

    assert rows[SMALL_STEP.name, small].improvements < 0.6 * rows[PLAIN.name, small].improvements
    assert rows[SMALL_STEP.name, large].improvements > 0.95
    assert rows[SMALL_STEP.name, 0.0].improvements < 0.5 * rows[PLAIN.name, 0.0].improvements
    assert abs(rows[SMALL_STEP.name, small].behind) < ladder_cost.LAG < 0.02 < rows[LARGE_STEP.name, small].behind
    assert [claim.verdict for claim in study.claims] == ["does not hold", "holds", "holds", "does not hold"]
    assert study.figure.count("<rect") == 1 + len(MECHANISMS) * (len(ladder_cost.GAINS) + 1)


def test_versions_have_their_true_means() -> None:
    """The mean over many teams is the true mean of each version."""
    drawn = np.mean([ladder_cost.versions(np.random.default_rng(seed), 0.02) for seed in range(200)], axis=(0, 2))

    assert drawn == pytest.approx(0.4 + 0.02 * np.arange(20), abs=0.004)


@pytest.mark.endurance
def test_the_documentation_shows_the_studies() -> None:
    """The pictures are those that the studies draw, and the tables have their numbers."""
    page = (DOCS / "studies.md").read_text(encoding="utf-8")
    attacks = {"votes": ladder_attack.by_votes(), "changes": ladder_attack.by_changes()}
    for name, study in attacks.items():
        assert (DOCS / f"ladder-{name}.svg").read_text(encoding="utf-8") == study.figure
        points = {(row.measure, row.mechanism, row.looks): row.overfit for row in map(Point._make, study.rows)}
        for mechanism in MECHANISMS:
            cells = [f"{points[measure, mechanism.name, looks]:z.3f}" for measure in MEASURES for looks in (100, 3000)]
            assert f"| {name} | {mechanism.name} | {' | '.join(cells)} |\n" in page
    rows = list(map(ladder_cost.Shown._make, ladder_cost.fair_teams().rows))
    for mechanism in MECHANISMS:
        own = [row for row in rows if row.mechanism == mechanism.name]
        cells = [f"{100 * row.improvements:.0f} %" for row in own] + [f"{own[1].behind:z.3f}"]
        assert f"| {mechanism.name} | {' | '.join(cells)} |\n" in page
