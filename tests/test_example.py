"""The example challenge: made by its script to the byte, and showing what it is there to show."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

import pytest

from example.make import differing, files, write
from scorer.challenge.loading import read_challenge
from scorer.challenge.settings import Track
from scorer.paths import Location

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "example" / "make.py"
TRACKS = read_challenge(ROOT).tracks
MADE = files()
BROKEN = {"20110708T095900Z-loose-leaf.txt", "open-drawer/20110601T000130Z-first.txt"}

Right = dict[str, dict[str, int]]


def local(place: Location) -> Path:
    """The example's files are here."""
    assert isinstance(place, Path)
    return place


@pytest.fixture(params=TRACKS, ids=lambda track: track.name)
def track(request: pytest.FixtureRequest) -> Track:
    """Each track of the example."""
    found = request.param
    assert isinstance(found, Track)
    return found


def solution(track: Track) -> tuple[Right, set[str]]:
    """The graded items of each query, and the flagged queries."""
    right, flagged = {}, set()
    for line in local(track.solution_path).read_text().splitlines():
        query, flag, items = line.split(":")
        right[query] = {
            item: int(grade) for item, grade in (graded.split("|") for graded in items.split(",") if graded)
        }
        flagged |= {query} if flag == "1" else set()
    return right, flagged


def marp(track: Track, file: str) -> tuple[float, float]:
    """MARp of a submission over all queries and over the flagged ones, from the definition."""
    right, flagged = solution(track)
    sent = dict(line.split(":") for line in (local(track.submissions_path) / file).read_text().splitlines())
    scores = {query: marp_of(track, grades, sent[query].split(",")) for query, grades in right.items() if grades}
    return mean(scores.values()), mean(scores[query] for query in flagged)


def marp_of(track: Track, grades: dict[str, int], ranking: list[str]) -> float:
    """One query's."""
    precisions = []
    for cutoff in track.cutoffs:
        wanted = min(cutoff, len(grades))
        least = sorted(grades.values(), reverse=True)[wanted - 1]
        found = {item for item in ranking[:cutoff] if grades.get(item, 0) >= least}
        precisions.append(len(found) / wanted)
    return mean(precisions)


def sent_files(track: Track) -> set[str]:
    """The paths of the example's submissions, under the track's folder; not those that someone has put beside them."""
    folder = f"submissions/{track.name}/"
    return {path.removeprefix(folder) for path in MADE if path.startswith(folder)}


def sender(file: str) -> str:
    """The team: the file's folder, or its name without the time and the ending."""
    folder, _, name = file.rpartition("/")
    return folder or name.partition("-")[2].removesuffix(".txt")


def test_the_script_made_the_files() -> None:
    """Its bytes are the same everywhere, so what is checked in is what it writes."""
    assert differing(MADE, ROOT) == []


def test_the_check_sees_a_changed_and_a_missing_file(tmp_path: Path) -> None:
    """One byte is enough."""
    write(MADE, tmp_path)
    assert differing(MADE, tmp_path) == []

    (tmp_path / "queries/cold-start.txt").unlink()
    with (tmp_path / "solutions/cold-start.txt").open("ab") as file:
        file.write(b"\n")

    assert differing(MADE, tmp_path) == ["solutions/cold-start.txt", "queries/cold-start.txt"]


def test_the_check_is_a_command() -> None:
    """Silent and 0 where all is as it should be."""
    checked = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, check=False)

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_the_example_is_small() -> None:
    """Under 2 MB in all."""
    assert sum(len(text.encode()) for text in MADE.values()) < 2_000_000


def test_solutions_have_the_shape_of_the_original(track: Track) -> None:
    """300 to 600 queries with 0 to 60 items, few for most; grades descend, most of them tied."""
    right, _ = solution(track)
    lengths = [len(grades) for grades in right.values()]
    grades = [grade for items in right.values() for grade in items.values()]

    assert 300 <= len(right) <= 600
    assert isinstance(track.queries_path, Path)
    assert track.queries_path.read_text().split() == list(right)
    assert min(lengths) == 0
    assert 30 < max(lengths) <= 60
    assert lengths.count(1) > len(right) / 10
    assert all(list(items.values()) == sorted(items.values(), reverse=True) for items in right.values())
    assert Counter(grades)[2] > len(grades) / 2


def test_every_fifth_query_with_items_is_flagged(track: Track) -> None:
    """And none without."""
    right, flagged = solution(track)

    filled = [query for query, grades in right.items() if grades]
    assert flagged == set(filled[4::5])


def test_submissions_have_full_lists(track: Track) -> None:
    """But for the two broken files, a line for each query with list_length different items."""
    right, _ = solution(track)

    for file in sorted(sent_files(track) - BROKEN):
        sent = dict(line.split(":") for line in (local(track.submissions_path) / file).read_text().splitlines())
        assert list(sent) == list(right), file
        assert {len(set(items.split(","))) for items in sent.values()} == {track.list_length}, file


def test_a_file_says_when_it_was_received(track: Track) -> None:
    """In its name, so that a fresh clone renders the same pages; all while the challenge was open, no two at once."""
    times = [
        datetime.strptime(Path(file).name.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        for file in sent_files(track)
    ]

    assert datetime(2011, 4, 18, tzinfo=UTC) <= min(times)
    assert max(times) < datetime(2011, 7, 9, tzinfo=UTC)
    assert len(set(times)) == len(times)


def test_there_are_teams_enough(track: Track) -> None:
    """At least eight and the baselines; some with several files, and not the same ones in both tracks."""
    senders = [sender(file) for file in sent_files(track)]

    assert len(set(senders) - set(track.baselines)) >= 8
    assert set(track.baselines) == {"random", "most-popular"} <= set(senders)
    assert sum(count > 1 for count in Counter(senders).values()) >= 3
    assert {sender(file) for file in sent_files(TRACKS[0])} != {sender(file) for file in sent_files(TRACKS[1])}


def test_the_broken_files_are_broken_where_they_say(track: Track) -> None:
    """One team has no other file; the other mends it."""
    lone, first = ((local(track.submissions_path) / file).read_text().splitlines() for file in sorted(BROKEN))

    assert ":" not in lone[11]
    assert ",," in lone[39]
    assert lone[76] == lone[6]
    assert ":" not in first[-1]
    assert len(first) == len(solution(track)[0]) - 2
    assert Counter(map(sender, sent_files(track)))["loose-leaf"] == 1
    assert Counter(map(sender, sent_files(track)))["open-drawer"] == 2


def test_the_board_has_something_to_show(track: Track) -> None:
    """Teams of different strength above the random baseline, two with one score, and a lead that does not last."""
    scores = {file: marp(track, file) for file in sent_files(track) - BROKEN}
    ranked = sorted(scores, key=lambda file: scores[file], reverse=True)
    final = {sender(file): round(scores[file][0], track.decimals) for file in reversed(ranked)}
    preliminary = {sender(file): round(scores[file][1], track.decimals) for file in reversed(ranked)}

    assert 0.2 < max(final.values()) < 0.6
    assert final["random"] == min(final.values()) < final["most-popular"] < 0.1
    assert final["paper-boats"] == final["copper-wire"]
    others = set(final) - {"copper-wire"}
    assert len({final[team] for team in others}) == len(others)
    by_final = sorted(others, key=lambda team: final[team])
    assert by_final != sorted(others, key=lambda team: preliminary[team])


def test_a_later_file_is_not_always_better() -> None:
    """One team grows with each file, another falls."""
    cold_start = TRACKS[0]
    history: dict[str, list[float]] = {}
    for file in sorted(sent_files(cold_start) - BROKEN):
        history.setdefault(sender(file), []).append(marp(cold_start, file)[0])

    first, second, third = history["tea-kettle"]
    assert first < second < third
    assert history["slow-river"] == sorted(history["slow-river"], reverse=True)
