"""Clusters on a board: its intervals and tests count them, a split never cuts one, nothing else of them is public."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scorer.board.build import are_clear
from scorer.files import digest
from scorer.live.now import Now
from scorer.live.rules import recorded_settings
from scorer.rules.split import QuerySplit
from scorer.scoring.analysis.compare import compare
from scorer.scoring.evaluation import evaluate
from scorer.settings.loading import read_challenge
from scorer.store.documents import SplitDocument
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.verification.commitment import verified_split
from tests.commands import here
from tests.paths import tree
from tests.seeded_challenge import QUALITY, QUERIES, SETTINGS, write_challenge

# Every fourth query is flagged, so clusters have flagged queries or others.
CLUSTERS = {query: f"user-{number // 8}-{number % 4 == 0}" for number, query in enumerate(QUERIES)}
PRIMARY = SETTINGS.replace('primary = "MARp"', 'primary = "nDCG@10"').replace('"nDCG@10", "GMAP"', '"AP", "GMAP"')


def write_clusters(folder: Path, clusters: dict[str, str]) -> None:
    """Write the file of clusters."""
    lines = (f"{query},{cluster}\n" for query, cluster in clusters.items())
    (folder / "clusters.csv").write_text("query,cluster\n" + "".join(lines), encoding="utf-8")


def run(folder: Path, settings: str = 'clusters = "clusters.csv"\n') -> Path:
    """The site of a challenge with clusters that was run."""
    write_challenge(folder, PRIMARY + settings)
    write_clusters(folder, CLUSTERS)
    answer = here("run", folder)
    assert answer.code == 0, answer
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site of a challenge with clusters."""
    return run(tmp_path_factory.mktemp("clusters") / "c")


def statistics(site: Path) -> dict[str, Any]:
    """Those of the primary measure."""
    found: dict[str, Any] = json.loads((site / "main/leaderboard.json").read_text(encoding="utf-8"))
    return found


def of_primary(site: Path) -> dict[str, Any]:
    """The certainty of the ranking."""
    found: dict[str, Any] = statistics(site)["statistics"]["measures"]["nDCG@10"]
    return found


@pytest.mark.holds(r"Queries belong together in \d+ clusters; intervals and tests count these, not queries\.")
def test_intervals_and_pairs_are_those_of_evaluate_and_compare(site: Path, tmp_path: Path) -> None:
    """By the same clusters; the board says how many there are."""
    board = of_primary(site)
    files = {team: next((site.parent / "submissions/main").glob(f"*-{team}.txt")) for team in QUALITY}
    solution = site.parent / "solutions/main.txt"
    assert board["clusters"] == len(set(CLUSTERS.values()))
    for team, file in files.items():
        low, high = evaluate(solution, file, "nDCG@10", clusters=CLUSTERS).intervals()["nDCG@10"]
        shown = board["teams"][team]["interval"]
        assert shown == [pytest.approx(low, abs=0.0005 + 1e-9), pytest.approx(high, abs=0.0005 + 1e-9)]
    ranges = compare(solution, files, "nDCG@10", clusters=CLUSTERS).to_dict()["ranks"]
    assert isinstance(ranges, dict)
    for team in QUALITY:
        assert board["teams"][team]["range"] == ranges[team]["simultaneous"]
    assert "in 15 clusters" not in (site / "main/rules.html").read_text(encoding="utf-8")
    assert "in 16 clusters; intervals and tests count these" in (site / "main/rules.html").read_text(encoding="utf-8")


def test_a_board_after_changes_is_that_of_a_computation_from_nothing(site: Path, tmp_path: Path) -> None:
    """Another file of clusters, and one more team."""
    folder = tmp_path / "c"
    write_challenge(folder, PRIMARY + 'clusters = "clusters.csv"\n')
    write_clusters(folder, {query: f"{number % 4 == 0}{number // 5}" for number, query in enumerate(QUERIES)})
    (last,) = (folder / "submissions/main").glob("*even-tide.txt")
    aside = last.rename(tmp_path / last.name)
    assert here("run", folder).code == 0
    aside.rename(last)
    write_clusters(folder, CLUSTERS)

    assert here("run", folder).code == 0

    found, expected = statistics(folder / "site"), statistics(site)
    assert found["statistics"] == expected["statistics"]
    assert found["statistics"] != statistics(run(tmp_path / "without", ""))["statistics"]


def test_only_the_number_of_clusters_is_public(site: Path) -> None:
    """No file of the site has the name of a cluster, or that of the file."""
    for name, content in tree(site).items():
        assert b"user-" not in content, name
        assert b"clusters.csv" not in content, name


def test_a_bundle_without_solutions_has_the_same_site(site: Path, tmp_path: Path) -> None:
    """The pages need the clusters, not the grades."""
    assert here("export", tmp_path / "small.zip", "--challenge", site.parent).code == 0
    answer = here("import", tmp_path / "small.zip", tmp_path / "new")
    assert answer.code == 0, answer.err
    assert not (tmp_path / "new/solutions").exists()
    assert tree(tmp_path / "new/site") == tree(site)


def are_two_clear(folder: Path) -> bool | None:
    """What a team reads of two entries: whether that of amber-lamp is clearly better than that of even-tide."""
    challenge = read_challenge(folder)
    files = (next((folder / "submissions/main").glob(f"*-{team}.txt")) for team in ("amber-lamp", "even-tide"))
    digests = [digest(file) for file in files]

    def read(view: Snapshot) -> bool | None:
        now = Now.of(view, challenge.tracks[0])
        return are_clear(now, now.track, digests)

    with Store.open(challenge.database_address) as store:
        return store.read(read)


def test_two_entries_of_a_team_are_compared_by_clusters(site: Path, tmp_path: Path) -> None:
    """As two teams of the board: with few clusters, nothing is clear."""
    assert are_two_clear(site.parent) is True
    write_challenge(tmp_path / "c", PRIMARY + 'clusters = "clusters.csv"\n')
    write_clusters(tmp_path / "c", {query: f"{number % 8}" for number, query in enumerate(QUERIES)})
    assert here("run", tmp_path / "c").code == 0
    assert are_two_clear(tmp_path / "c") is False


def test_the_head_of_the_board_says_how_many_clusters_speak(site: Path, tmp_path: Path) -> None:
    """And why there are no intervals with fewer than ten."""
    text = "The queries are in 16 clusters."
    assert text in (site / "main/index.html").read_text(encoding="utf-8")
    assert "16 clusters may miss losses on up to 17 % of all clusters." in json.dumps(statistics(site)["rows"])
    write_challenge(tmp_path / "c", PRIMARY + 'clusters = "clusters.csv"\n')
    write_clusters(tmp_path / "c", {query: f"{number % 8}" for number, query in enumerate(QUERIES)})
    assert here("run", tmp_path / "c").code == 0
    few = (tmp_path / "c/site/main/index.html").read_text(encoding="utf-8")
    assert "The queries are in 8 clusters: too few for intervals." in few


def test_a_cluster_that_is_cut_and_a_file_with_a_split_are_errors(tmp_path: Path) -> None:
    """The messages say what to change."""
    write_challenge(tmp_path / "c", PRIMARY + 'clusters = "clusters.csv"\n')
    write_clusters(tmp_path / "c", dict.fromkeys(QUERIES, "all"))
    assert 'the cluster "all" has preliminary queries and others; flag' in here("run", tmp_path / "c").err
    (tmp_path / "c/challenge.toml").write_text(f'{PRIMARY}clusters = "clusters.csv"\nsplit = {{preliminary = 0.5}}\n')
    assert "is a file; split needs a pattern" in here("run", tmp_path / "c").err


def test_a_split_selects_whole_clusters_and_is_verified_by_its_pattern(tmp_path: Path) -> None:
    """Without the pattern, the lists are not those that the key selects."""
    queries = [f"{cluster}_{turn}" for cluster in range(40) for turn in range(3)]
    split = QuerySplit("main", Decimal("0.5"), bytes(32), "{cluster}_*")
    flags = split.flags(queries)
    assert flags == [flag for flag in flags[::3] for _ in range(3)]
    assert 10 < sum(flags[::3]) < 30

    lists = {
        name: [q for q, flag in zip(queries, flags, strict=True) if flag == inside]
        for name, inside in (("preliminary", True), ("rest", False))
    }
    document = {"version": 1, "track": "main", "preliminary": "0.5", "key_sha256": split.key_sha256}
    document |= {"clusters": "{cluster}_*", "key": bytes(32).hex(), "queries": lists}
    assert SplitDocument.model_validate(document).values() == document
    path = tmp_path / "split.json"
    for shown, fails in ((document, False), ({k: v for k, v in document.items() if k != "clusters"}, True)):
        path.write_text(json.dumps(shown), encoding="utf-8")
        found = [each.contradiction for each in verified_split(path, queries=queries) if each.kind != "note"]
        assert any(found) is fails


def test_a_pattern_is_recorded_as_a_rule_and_a_file_is_not(tmp_path: Path) -> None:
    """So a pattern stays in force, and the path of a file is not published."""
    for text, recorded in (("{cluster}_*", {"clusters": "{cluster}_*"}), ("secret.csv", {}), (None, {})):
        folder = tmp_path / str(len(text or ""))
        write_challenge(folder, PRIMARY + (f'clusters = "{text}"\n' if text else ""))
        file = folder / "challenge.toml"
        (track,) = read_challenge(file).tracks
        settings = recorded_settings(track)
        assert {key: value for key, value in settings.items() if key == "clusters"} == recorded
