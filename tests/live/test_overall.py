"""The overall ranking of a live challenge: it is a rule of its tracks, and shows only what their boards show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import ChallengeError
from scorer.organising.commitment import commit
from scorer.rules.overall import Overall, overall_rules
from scorer.settings.loading import read_challenge
from tests.live_challenges import BEFORE, GOOD, OTHER, POOR, SOLUTION, Live, day

OVERALL = '[overall]\ntracks = ["main", "other"]\nrule = "rank"\n'


def live_of(folder: Path, *, rules: str = "", solution: str = SOLUTION) -> Live:
    """A challenge with two tracks, which has the table."""
    live = Live.graded(folder, rules=rules, tracks=("main", "other"))
    live.edit('name = "Live"\n', f'name = "Live"\n{OVERALL}')
    (folder / "solutions" / "other.txt").write_text(solution)
    return live


def hand_in(live: Live, at: int = 11) -> None:
    """Files of three teams in both tracks."""
    for team, text in (("alder", GOOD), ("birch", OTHER), ("cedar", POOR)):
        for track in ("main", "other"):
            live.submit(f"{track}/{team}.txt", text, day(at))


def overall(live: Live) -> dict[str, Any]:
    """The ranking on the site."""
    found: dict[str, Any] = json.loads(live.page("overall/leaderboard.json"))
    return found


def test_a_changed_table_changes_nothing_once_a_phase_has_started(tmp_path: Path) -> None:
    """Before, the next run follows the file; afterwards an erratum of each track changes it."""
    live = live_of(tmp_path)
    live.run(BEFORE)
    live.edit('rule = "rank"', 'rule = "borda"')
    hand_in(live)
    live.run_and_render(day(9))
    assert overall(live)["settings"]["rule"] == "borda"
    live.run(day(11, 13))

    live.edit('rule = "borda"', 'rule = "mean"')
    live.run_and_render(day(11, 14))
    assert overall(live)["settings"]["rule"] == "borda"

    live.preview(day(11, 15))
    live.apply(day(11, 16), reason="The weights were wrong.")
    live.run_and_render(day(11, 17))
    assert overall(live)["settings"]["rule"] == "mean"
    assert "rule borda" in live.page("main/errata/1.html")


def test_the_table_is_committed_to(tmp_path: Path) -> None:
    """The opening has it among the rules of each of its tracks, and no other track has it."""
    live = live_of(tmp_path)
    live.edit('rule = "rank"\n', 'rule = "rank"\nweights = [2, 0.5]\n')
    commitment = live.do(BEFORE, commit)

    recorded = {"tracks": ["main", "other"], "rule": "rank", "weights": [2.0, 0.5]}
    assert [track["rules"]["overall"] for track in commitment.content["tracks"].values()] == [recorded, recorded]
    (tmp_path / "second").mkdir()
    plain = Live.graded(tmp_path / "second").do(BEFORE, commit)
    assert "overall" not in plain.content["tracks"]["main"]["rules"]


def test_final_scores_do_not_reach_it(tmp_path: Path) -> None:
    """Two challenges that differ only in the grades of queries that are not preliminary have the same ranking."""
    twins = []
    for name, solution in (
        ("one", SOLUTION),
        ("twin", SOLUTION.replace("f|2,g|1", "f|1,g|2").replace("a|1\n", "b|1\n")),
    ):
        (tmp_path / name).mkdir()
        live = live_of(tmp_path / name, solution=solution)
        live.run(BEFORE)
        hand_in(live)
        live.run_and_render(day(11, 13))
        document = overall(live)
        assert [row["rank"] for row in document["rows"]] == [1, 2, 3]
        assert document.pop("log")
        twins.append((document, live.page("overall/leaderboard.csv"), live.page("overall/index.html")))

    assert twins[0] == twins[1]


def test_a_freeze_stops_it_and_the_end_shows_final_scores(tmp_path: Path) -> None:
    """During the freeze it is that of the frozen boards; after the last phase, final scores enter."""
    live = live_of(tmp_path)
    live.run(BEFORE)
    live.submit("main/alder.txt", POOR, day(11))
    live.submit("other/alder.txt", POOR, day(11))
    live.run_and_render(day(11, 13))
    hand_in(live, at=19)
    live.run_and_render(day(19, 13))
    assert [row["id"] for row in overall(live)["rows"]] == ["alder"]
    live.run_and_render(day(31))

    assert overall(live)["tracks"]["main"]["stage"] == "final"
    assert len(overall(live)["rows"]) == 3


def test_it_is_not_there_while_a_track_hides_its_scores(tmp_path: Path) -> None:
    """The page says which track shows none."""
    live = live_of(tmp_path)
    text = live.folder / "challenge.toml"
    before, _, after = text.read_text().rpartition('name = "one"\n')
    text.write_text(f'{before}name = "one"\nshows = "nothing"\n{after}')
    live.run(BEFORE)
    hand_in(live)
    live.run_and_render(day(11, 13))

    assert overall(live)["rows"] == []
    assert "because Other shows no scores" in live.page("overall/index.html")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('tracks = ["main"]', "overall.tracks: found main; allowed: two or more tracks, each once"),
        ('tracks = ["main", "second"]', 'overall.tracks: found "second"; allowed: main, other'),
        ('tracks = ["main", "other"]\nrule = "sum"', 'overall.rule: found "sum"; allowed: "mean", "rank" or "borda"'),
        ('tracks = ["main", "other"]\nweights = [1]', "overall.weights: found 1 for 2 tracks; allowed: one for each"),
        ('tracks = ["main", "other"]\nweights = [1, 0]', "overall.weights\\[1\\]: found 0; allowed: numbers above 0"),
        ('tracks = ["main", "other"]\nmeasure = "RR"', 'overall.measure: found "RR", which is no measure of main'),
        ('tracks = ["main", "other"]\ntie_break = "Foo"', 'no measure is called "Foo"'),
        ('track = ["main", "other"]', "overall.track: unknown key"),
    ],
)
def test_a_table_that_contradicts_the_tracks_is_refused(tmp_path: Path, table: str, message: str) -> None:
    """The message has the key, what was found and what is allowed."""
    live = live_of(tmp_path)
    live.edit(OVERALL, f"[overall]\n{table}\n")

    with pytest.raises(ChallengeError, match=message):
        read_challenge(tmp_path)


@pytest.mark.parametrize(
    ("settings", "sentences"),
    [
        (
            {},
            [
                "The overall score of a team is the mean of its scores in the tracks main and other.",
                "In a track in which a team has no score, it scores 0.",
                "Overall scores are rounded to the decimals of the scores before they are compared.",
                "Equal teams share a rank, as in 1, 1, 3.",
            ],
        ),
        (
            {"rule": "rank", "measure": "RR", "weights": [2, 1], "tie_break": "AP", "equal_ranks": "earlier"},
            [
                "The overall score of a team is the weighted mean of its ranks by RR in the tracks main and other. "
                "Teams with equal scores share the mean of their ranks. The lowest overall score is first.",
                "The weights of the tracks are 2 and 1.",
                "In a track in which a team has no score, its rank is the last one, the number of teams.",
                "Overall scores are rounded to 2 decimals before they are compared.",
                "Equal teams are ordered by the mean of their scores by AP.",
                "Of equal teams, that whose last entry that counts was received earlier is first.",
            ],
        ),
        (
            {"rule": "borda", "missing": "unranked"},
            [
                "In each of the tracks main and other, a team gets a point for each other team with a lower score, and "
                "half a point for each with an equal one. The sum of its points is its overall score.",
                "A team without a score in one of the tracks has no overall rank, and does not affect the ranks "
                "of others.",
                "Overall scores are rounded to 2 decimals before they are compared.",
                "Equal teams share a rank, as in 1, 1, 3.",
            ],
        ),
    ],
    ids=["mean", "rank", "borda"],
)
def test_the_sentences_say_the_settings(settings: dict[str, Any], sentences: list[str]) -> None:
    """Each key that is set has its sentence."""
    last = "Baselines, and teams without a rank in any of these tracks, are left out."

    assert list(overall_rules(Overall(tracks=("main", "other"), **settings))) == [*sentences, last]
