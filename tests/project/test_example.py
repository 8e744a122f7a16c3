"""The example challenge: its script writes it byte for byte, and it has the cases that it is an example of."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import mean

import pytest

from example.make import differing, files, write
from scorer.files import Location
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Track
from tests.paths import ROOT

SCRIPT = ROOT / "example" / "make.py"
TRACKS = read_challenge(ROOT).tracks
INVALID = {"20110708T095900Z-loose-leaf.txt", "open-drawer/20110601T000130Z-first.txt"}

Relevant = dict[str, dict[str, int]]


@cache
def made() -> dict[str, str]:
    """The files that the script makes."""
    return files()


def local(location: Location) -> Path:
    """The path of a file of the example, which is on this machine."""
    assert isinstance(location, Path)
    return location


@pytest.fixture(params=TRACKS, ids=lambda track: track.name)
def track(request: pytest.FixtureRequest) -> Track:
    """Each track of the example in turn."""
    found = request.param
    assert isinstance(found, Track)
    return found


def solution(track: Track) -> tuple[Relevant, set[str]]:
    """The graded items of each query, and the flagged queries."""
    relevant, flagged = {}, set()
    for line in local(track.solution_path).read_text().splitlines():
        query, flag, items = line.split(":")
        relevant[query] = {
            item: int(grade) for item, grade in (graded.split("|") for graded in items.split(",") if graded)
        }
        flagged |= {query} if flag == "1" else set()
    return relevant, flagged


def marp(track: Track, file: str) -> tuple[float, float]:
    """MARp of a submission over all queries and over the flagged queries, from its definition."""
    relevant, flagged = solution(track)
    lists = dict(line.split(":") for line in (local(track.submissions_path) / file).read_text().splitlines())
    scores = {query: marp_of(track, grades, lists[query].split(",")) for query, grades in relevant.items() if grades}
    return mean(scores.values()), mean(scores[query] for query in flagged)


def marp_of(track: Track, grades: dict[str, int], ranking: list[str]) -> float:
    """MARp of one query."""
    precisions = []
    for cutoff in track.cutoffs:
        wanted = min(cutoff, len(grades))
        lowest = sorted(grades.values(), reverse=True)[wanted - 1]
        found = {item for item in ranking[:cutoff] if grades.get(item, 0) >= lowest}
        precisions.append(len(found) / wanted)
    return mean(precisions)


def submissions(track: Track) -> set[str]:
    """The paths of the example's submissions under the track's folder; other files there do not count."""
    folder = f"submissions/{track.name}/"
    return {path.removeprefix(folder) for path in made() if path.startswith(folder)}


def team(file: str) -> str:
    """The team of a file: its folder, or its name without the time and the extension."""
    folder, _, name = file.rpartition("/")
    return folder or name.partition("-")[2].removesuffix(".txt")


def test_the_script_writes_the_files_of_the_repository() -> None:
    """It writes the same bytes everywhere."""
    assert differing(made(), ROOT) == []


def test_the_check_finds_a_changed_and_a_missing_file(tmp_path: Path) -> None:
    """One changed byte is enough."""
    write(made(), tmp_path)
    assert differing(made(), tmp_path) == []

    (tmp_path / "queries/cold-start.txt").unlink()
    with (tmp_path / "solutions/cold-start.txt").open("ab") as file:
        file.write(b"\n")

    assert differing(made(), tmp_path) == ["solutions/cold-start.txt", "queries/cold-start.txt"]


def test_the_check_is_a_command() -> None:
    """It prints nothing and exits with 0 if all files are as the script writes them."""
    checked = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, check=False)

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_the_example_is_small() -> None:
    """All files together have less than 2 MB."""
    assert sum(len(text.encode()) for text in made().values()) < 2_000_000


def test_the_public_items_have_all_items_of_the_solution(track: Track) -> None:
    """Each is listed once, and there are more than the solution has."""
    relevant, _ = solution(track)
    assert isinstance(track.files["items"], Path)
    candidates = track.files["items"].read_text().split()

    assert {item for grades in relevant.values() for item in grades} < set(candidates)
    assert len(set(candidates)) == len(candidates)


def test_submissions_have_full_lists(track: Track) -> None:
    """A line for each query, with list_length different items of the public list; but for the two invalid files."""
    relevant, _ = solution(track)
    assert isinstance(track.files["items"], Path)
    candidates = set(track.files["items"].read_text().split())

    for file in sorted(submissions(track) - INVALID):
        lists = dict(line.split(":") for line in (local(track.submissions_path) / file).read_text().splitlines())
        assert list(lists) == list(relevant), file
        assert {len(set(items.split(","))) for items in lists.values()} == {track.list_length}, file
        assert all(set(items.split(",")) <= candidates for items in lists.values()), file


def test_the_name_of_a_file_states_when_it_was_received(track: Track) -> None:
    """So a fresh clone renders the same pages. All times are within the challenge, and no two are equal."""
    times = [
        datetime.strptime(Path(file).name.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        for file in submissions(track)
    ]

    assert datetime(2011, 4, 18, tzinfo=UTC) <= min(times)
    assert max(times) < datetime(2011, 7, 9, tzinfo=UTC)
    assert len(set(times)) == len(times)


def test_the_invalid_files_have_the_intended_errors(track: Track) -> None:
    """One team has no other file; the other team corrects its file."""
    lone, first = ((local(track.submissions_path) / file).read_text().splitlines() for file in sorted(INVALID))

    assert ":" not in lone[11]
    assert ",," in lone[39]
    assert lone[76] == lone[6]
    assert ":" not in first[-1]
    assert len(first) == len(solution(track)[0]) - 2
    assert Counter(map(team, submissions(track)))["loose-leaf"] == 1
    assert Counter(map(team, submissions(track)))["open-drawer"] == 2


def test_the_boards_have_the_intended_cases(track: Track) -> None:
    """Teams of different strength above the random baseline, two equal ones, and ranks that change at the end."""
    scores = {file: marp(track, file) for file in submissions(track) - INVALID}
    ranked = sorted(scores, key=lambda file: scores[file], reverse=True)
    final = {team(file): round(scores[file][0], track.decimals) for file in reversed(ranked)}
    preliminary = {team(file): round(scores[file][1], track.decimals) for file in reversed(ranked)}

    assert 0.2 < max(final.values()) < 0.6
    assert final["random"] == min(final.values()) < final["most-popular"] < 0.1
    assert final["paper-boats"] == final["copper-wire"]
    others = set(final) - {"copper-wire"}
    assert len({final[team] for team in others}) == len(others)
    by_final = sorted(others, key=lambda team: final[team])
    assert by_final != sorted(others, key=lambda team: preliminary[team])
