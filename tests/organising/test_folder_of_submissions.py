"""What people leave in the folder of submissions: notes, folders, and files of others."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from scorer.limits import Limits
from scorer.live.rules import recorded_settings as settings
from scorer.organising.files import SkippedFile, SubmissionFile, submission_files
from scorer.organising.scan import import_submissions, scan
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.commands import Terminal

GOOD = "q1:apple,pear\nq2:fig\nq3:lemon\n"

LEFT = (
    *("README.md", "team/readme.TXT", "team/metadata.json", "team/Thumbs.db", "team/__MACOSX/x.txt", "desktop.ini"),
    *("team/tira/ir-metadata.yml", "team/tira/stdout.txt", "team/tira/stderr.txt", "team/tira/file-list.txt"),
)


@pytest.fixture
def submissions(challenge: Path) -> Path:
    """The folder of submissions of a new challenge, without any."""
    folder = challenge / "submissions" / "main"
    for file in folder.iterdir():
        file.unlink()
    return folder


def write(folder: Path, *names: str, content: str = GOOD) -> None:
    """Write files with the same content."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


def test_files_that_are_no_submissions_are_noted(challenge: Path, submissions: Path, terminal: Terminal) -> None:
    """They became rejected entries, and the exit code was 1."""
    write(submissions, *LEFT, content="no list")
    write(submissions, "team/tira/run.txt")
    answer = terminal.run("score", challenge, "--executor", "serial")

    assert answer.code == 0
    assert [line for line in answer.err.splitlines() if "skipped" in line] == [
        f"main/{name}: no submission by its name (the key ignore); skipped" for name in sorted(LEFT)
    ]
    assert answer.err.endswith("main: 1 scored, 0 known, 0 rejected\n")


def test_the_organiser_chooses_what_is_ignored(challenge: Path, submissions: Path) -> None:
    """The key replaces the default; it is no rule of scoring."""
    write(submissions, "README.md", "team/a.log", "team/logs/b.txt", "team/run.txt")
    track = read_challenge(challenge).track("main")
    other = track.model_copy(update={"ignore": ("*.LOG", "logs")})

    kinds = {file.file: type(file) for file in submission_files(other)}
    assert kinds == {
        "main/README.md": SubmissionFile,
        "main/team/a.log": SkippedFile,
        "main/team/logs/b.txt": SkippedFile,
        "main/team/run.txt": SubmissionFile,
    }
    assert settings(other) == settings(track)


def teams(terminal: Terminal, challenge: Path) -> list[str]:
    """Each present entry, by its file without the folder of the track, and its team."""
    rows = csv.DictReader(io.StringIO(terminal.run("entries", challenge, "--format", "csv").out))
    return sorted(f"{row['file'].removeprefix('main/')}: {row['team']}" for row in rows if row["state"] == "scored")


@pytest.mark.parametrize(
    ("pattern", "files", "found", "notes"),
    [
        (
            "",
            ("input.RED.gz", "input.BLUE.gz", "20260131T100000Z-en.f8.tfidf", "en.f8.bm25.run"),
            ("20260131T100000Z-en.f8.tfidf: en.f8.tfidf", "en.f8.bm25.run: en.f8.bm25", "input.BLUE.gz: input.BLUE"),
            0,
        ),
        ("input.{team}", ("input.RED.v2.gz", "input.BLUE"), ("input.BLUE: BLUE", "input.RED.v2.gz: RED.v2"), 0),
        ("{team}_{run}", ("red_a_b.txt", "red_c.txt"), ("red_a_b.txt: red", "red_c.txt: red"), 0),
        ("", ("red.txt", "red.run"), ("red.run: red", "red.txt: red"), 1),
    ],
    ids=["default", "team", "run", "same"],
)
def test_a_team_is_named_by_its_file(
    challenge: Path,
    submissions: Path,
    terminal: Terminal,
    pattern: str,
    files: Sequence[str],
    found: Sequence[str],
    notes: int,
) -> None:
    """Without known endings, or as a pattern says; `input.RED.gz` and `input.BLUE.gz` were one team."""
    toml = challenge / "challenge.toml"
    if pattern:
        key = f'title = "Main track"\nfile_names = "{pattern}"'
        toml.write_text(toml.read_text(encoding="utf-8").replace('title = "Main track"', key), encoding="utf-8")
        write(submissions, "other.txt")
    for number, file in enumerate(files):
        content = f"q1:apple,{'pear,' * number}fig\nq2:fig\nq3:lemon\n".encode()
        (submissions / file).write_bytes(gzip.compress(content) if file.endswith(".gz") else content)
    answer = terminal.run("score", challenge, "--executor", "serial")

    assert answer.code == bool(pattern)
    assert set(found) <= set(teams(terminal, challenge))
    assert answer.err.count("files are of one team") == notes
    assert ("main/other.txt: its name is not like" in answer.err) == bool(pattern)


def test_a_challenge_that_has_begun_keeps_its_names(challenge: Path, submissions: Path, terminal: Terminal) -> None:
    """A scan renames, withdraws and adds nothing; files that arrive later have names by the same rule."""
    toml = challenge / "challenge.toml"
    toml.write_text(toml.read_text(encoding="utf-8").replace("stage = ", 'rows = "entry"\nstage = '), encoding="utf-8")
    write(submissions, "input.RED", "stdout.txt", "team/en.f8.tfidf")
    track = read_challenge(challenge).track("main")
    old = track.model_copy(update={"file_names": None})
    with Store.open(challenge / "scores.db") as store:
        import_submissions(store, "main", [each for _, each in scan(old, Limits(), {}, {}, ()).submissions])
    first = terminal.run("run", challenge, "--executor", "serial")
    key = 'title = "Main track"\nfile_names = "input.{team}"'
    toml.write_text(toml.read_text(encoding="utf-8").replace('title = "Main track"', key), encoding="utf-8")
    write(submissions, "input.BLUE", content="q1:pear\n")
    write(submissions, "input.RED", content="q1:pear,apple\n")
    second = terminal.run("run", challenge, "--executor", "serial")

    assert "skipped" not in first.err + second.err
    assert first.err.count("of one team") == first.err.count("file_names") == 0
    assert "main: file_names: has no effect, because files had arrived when it was set" in second.err
    assert "main/input.BLUE, main/input.RED: by their names, these 2 files are of one team" in second.err
    assert teams(terminal, challenge) == [
        "input.BLUE: input",
        "input.RED: input",
        "stdout.txt: stdout",
        "team/en.f8.tfidf: team",
    ]
    board = json.loads((challenge / "site" / "main" / "leaderboard.json").read_text(encoding="utf-8"))
    assert sorted(f"{row['team']}: {row['run']}" for row in board["rows"]) == [
        "input: input (2)",
        "input: input (3)",
        "stdout: stdout",
        "team: en",
    ]


def test_an_entry_that_is_ignored_now_stays(challenge: Path, submissions: Path, terminal: Terminal) -> None:
    """It is not withdrawn by a new version of scorer, which ignores its name."""
    toml = challenge / "challenge.toml"
    before = toml.read_text(encoding="utf-8")
    toml.write_text(before.replace('title = "Main track"', 'title = "Main track"\nignore = []'), encoding="utf-8")
    write(submissions, "team/README.md")
    assert "1 scored" in terminal.run("score", challenge, "--executor", "serial").err
    toml.write_text(before, encoding="utf-8")

    assert terminal.run("score", challenge, "--executor", "serial").code == 0
    assert "team/README.md" in terminal.run("entries", challenge).out
    assert "withdrawn" not in terminal.run("entries", challenge).out


def test_a_file_in_a_folder_of_a_team_is_an_entry_of_the_team(
    challenge: Path, submissions: Path, terminal: Terminal
) -> None:
    """The team was invisible. Picks are only in the team's own folder."""
    write(submissions, "team/sub/run.txt")
    write(submissions, "team/sub/deep/run.txt", content="q1:fig\n")
    first = terminal.run("score", challenge, "--executor", "serial")
    again = terminal.run("score", challenge, "--executor", "serial")
    entries = terminal.run("entries", challenge, "--format", "csv").out

    assert first.code == 1
    assert "main/team/sub/deep: a folder in a folder of a team's folder" in first.err
    assert "main: 1 scored, 0 known, 0 rejected" in first.err
    assert "main: 0 scored, 1 known, 0 rejected" in again.err
    assert "main/team/sub/run.txt" in entries
    (submissions / "team" / "sub" / "run.txt").unlink()
    assert terminal.run("score", challenge, "--executor", "serial", "--confirm-withdrawals").code == 1
    assert "withdrawn" in terminal.run("entries", challenge).out


def test_skipped_files_of_all_folders_of_a_team_are_bounded(
    challenge: Path, submissions: Path, terminal: Terminal
) -> None:
    """However many folders there are."""
    write(submissions, *(f"team/{number}/{name}/x.txt" for number in range(9) for name in "abcd"))
    answer = terminal.run("score", challenge, "--executor", "serial")

    assert len([line for line in answer.err.splitlines() if "a folder in a folder" in line]) == 20
    assert "main/team: and 16 more files" in answer.err


def test_the_same_bytes_of_several_teams_are_reported(challenge: Path, submissions: Path, terminal: Terminal) -> None:
    """To the organiser, without another exit code; two files of one team are no copy."""
    write(submissions, "ant/one.txt", "ant/two.txt", "bee/run.txt", "cat.txt")
    write(submissions, "dog/one.txt", "dog/two.txt", content="q1:pear\n")
    answer = terminal.run("score", challenge, "--executor", "serial")

    assert answer.code == 0
    assert [line for line in answer.err.splitlines() if "same bytes" in line] == [
        "main/ant/one.txt, main/bee/run.txt, main/cat.txt: the same bytes from 3 teams"
    ]
