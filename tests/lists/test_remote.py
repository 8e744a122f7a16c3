"""Remote files: files behind URLs are scored as local ones, and their errors are reported."""

from __future__ import annotations

import builtins
import gzip
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import ChallengeError, SolutionError, SubmissionError
from scorer.files import Remote, digest, is_url, located, shown
from scorer.organising.files import SkippedFile, SubmissionFile, UploadInProgress, submission_files
from scorer.scoring.evaluation import evaluate
from scorer.settings.loading import read_challenge
from tests.commands import Answer, Terminal, process
from tests.databases import site_content
from tests.scoring.test_executors import write_challenge

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

SOLUTION = b"q1:1:a|2,b|1\nq2:0:c|1\n"
SUBMISSION = b"q1:b,a\nq2:x,c\n"
MEASURES = ["AP", "RR"]


@pytest.fixture
def memory() -> Iterator[Any]:
    """A remote store in this process, empty."""
    store = fsspec.filesystem("memory")
    store.store.clear()
    store.pseudo_dirs[:] = [""]
    yield store
    store.store.clear()
    store.pseudo_dirs[:] = [""]


@pytest.fixture
def files(memory: Any) -> str:
    """The URL of a folder with a solution and a submission."""
    memory.pipe({"/lists/solution.txt": SOLUTION, "/lists/submission.txt": SUBMISSION})
    return "memory://lists"


def served(memory: Any, folder: Path) -> None:
    """Move a challenge's files to the remote store."""
    for file in [folder / "solution.txt", *(folder / "submissions").rglob("*.txt")]:
        memory.pipe(f"/challenge/{file.relative_to(folder)}", file.read_bytes())
        file.unlink()
    toml = folder / "challenge.toml"
    toml.write_text(
        toml.read_text().replace('"solution.txt"', '"memory://challenge/solution.txt"')
        + 'submissions = "memory://challenge/submissions/main"\n'
    )


# Scoring


def test_scores_are_those_of_the_same_local_files(files: str, tmp_path: Path, terminal: Terminal) -> None:
    """From the command and the library. The command prints the URLs as given."""
    (tmp_path / "solution.txt").write_bytes(SOLUTION)
    (tmp_path / "submission.txt").write_bytes(SUBMISSION)

    def scores(folder: str | Path) -> Any:
        answer = terminal.run(
            "evaluate", f"{folder}/solution.txt", f"{folder}/submission.txt", "-m", "AP", "--format", "json"
        )
        assert answer.code == 0
        return json.loads(answer.out)["submissions"][0]

    here, there = scores(tmp_path), scores(files)
    assert there.pop("submission") == "memory://lists/submission.txt"
    here.pop("submission")
    assert here == there
    assert there["scores"] == {"AP": 0.75}
    found = evaluate(f"{files}/solution.txt", f"{files}/submission.txt", MEASURES)
    assert dict(found) == {"AP": 0.75, "RR": 0.75}


def test_a_compressed_file_is_read(memory: Any, files: str) -> None:
    """It is detected by its first bytes, as everywhere."""
    memory.pipe("/lists/submission.gz", gzip.compress(SUBMISSION))
    assert evaluate(f"{files}/solution.txt", f"{files}/submission.gz", "AP")["AP"] == 0.75


def test_a_large_file_is_read_whole(memory: Any, files: str) -> None:
    """In blocks, by threads, and with its digest."""
    text = SUBMISSION + b"".join(b"other-%d:x\n" % number for number in range(400_000))
    memory.pipe("/lists/large.txt", text)
    assert evaluate(f"{files}/solution.txt", f"{files}/large.txt", "AP")["AP"] == 0.75
    assert digest(f"{files}/large.txt") == sha256(text).hexdigest()


def test_a_run_writes_the_site_of_the_same_local_challenge(memory: Any, tmp_path: Path, terminal: Terminal) -> None:
    """Byte for byte. The second run scores nothing, and withdraws a file that is gone."""

    def site(folder: Path) -> dict[str, bytes]:
        return site_content(folder)

    def run(folder: Path) -> Answer:
        # Other processes do not have this store in memory.
        answer = terminal.run("run", folder, "--executor", "serial")
        assert answer.code == 0
        return answer

    for name in ("here", "there"):
        write_challenge(tmp_path / name)
    served(memory, tmp_path / "there")
    assert run(tmp_path / "here").err == run(tmp_path / "there").err
    assert site(tmp_path / "here/site") == site(tmp_path / "there/site")

    memory.rm("/challenge/submissions/main/20110418T100000Z-team-3.txt")
    assert run(tmp_path / "there").err.endswith("main: 0 scored, 5 known, 0 rejected\n")


def test_processes_read_remote_files(tmp_path: Path) -> None:
    """Worker processes receive the remote files."""
    folder = tmp_path / "challenge"
    write_challenge(folder)
    toml = folder / "challenge.toml"
    toml.write_text(toml.read_text() + f'submissions = "file://{folder}/submissions/main"\n')
    answer = process("run", folder, "--executor", "processes:2")
    assert (answer.code, answer.err) == (0, "main: 6 scored, 0 known, 0 rejected\n")


def test_a_remote_file_can_be_checked(memory: Any, tmp_path: Path, terminal: Terminal) -> None:
    """By a participant, against a remote list of queries."""
    write_challenge(tmp_path)
    toml = tmp_path / "challenge.toml"
    toml.write_text(toml.read_text() + 'queries = "memory://lists/queries.txt"\n')
    memory.pipe("/lists/queries.txt", b"q1\nq2\n")
    (tmp_path / "submission.txt").write_bytes(SUBMISSION)
    answer = terminal.run("check", f"file://{tmp_path}/submission.txt", "--track", "main", "--challenge", tmp_path)
    assert answer.code == 0
    assert answer.out.endswith(f"sha256 {sha256(SUBMISSION).hexdigest()}\n")


# Listing


def track(folder: Path, submissions: str) -> Any:
    """A track with its submissions there."""
    write_challenge(folder)
    toml = folder / "challenge.toml"
    toml.write_text(toml.read_text() + f'submissions = "{submissions}"\n')
    return read_challenge(folder).track("main")


def test_submissions_are_listed_with_teams_and_times(memory: Any, tmp_path: Path) -> None:
    """As on this machine, in order of names. The time is that of the name, or else of the last change."""
    for name in (
        "tea-kettle/20110418T100000Z-a.txt",
        "tea-kettle/deep/x.txt",
        "tea-kettle/deep/down/x.txt",
        "paper-boats.txt",
        ".hidden",
    ):
        memory.pipe(f"/all/{name}", SUBMISSION)
    before = datetime.now(UTC).replace(microsecond=0)

    upload, boats, kettle, deep, deepest = submission_files(track(tmp_path, "memory://all/"))

    assert upload == UploadInProgress("main/.hidden")
    assert isinstance(boats, SubmissionFile)
    assert (boats.team, boats.file) == ("paper-boats", "main/paper-boats.txt")
    assert abs((boats.received - before).total_seconds()) < 60
    assert isinstance(kettle, SubmissionFile)
    assert (kettle.team, kettle.file) == ("tea-kettle", "main/tea-kettle/20110418T100000Z-a.txt")
    assert kettle.received == datetime(2011, 4, 18, 10, tzinfo=UTC)
    assert isinstance(deepest, SubmissionFile)
    assert (deepest.team, deepest.file) == ("tea-kettle", "main/tea-kettle/deep/x.txt")
    assert deep == SkippedFile(
        "main/tea-kettle/deep/down",
        "a folder in a folder of a team's folder; move its files up into the folder of the team",
    )


def test_names_in_a_store_are_never_addresses(memory: Any, tmp_path: Path) -> None:
    """A team that names its file like a URL, or a chain of URLs, gets no other file read."""
    (tmp_path / "secret.txt").write_text("q1:a,b\n")
    memory.pipe("/all/x::file:", SUBMISSION)
    memory.pipe("/all/%2e%2e%2fsecret.txt", SUBMISSION)
    found = submission_files(track(tmp_path, "memory://all"))
    assert [type(each) for each in found] == [SubmissionFile] * 2
    assert {digest(each.path) for each in found if isinstance(each, SubmissionFile)} == {sha256(SUBMISSION).hexdigest()}


def test_a_store_without_times_needs_them_in_the_names(
    memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file without a time is skipped, and the message says what to do."""

    def modified(_self: object, _path: str) -> datetime:
        raise NotImplementedError

    memory.pipe({"/all/20110418T100000Z-a.txt": SUBMISSION, "/all/b.txt": SUBMISSION})
    monkeypatch.setattr(type(memory), "modified", modified)
    first, second = submission_files(track(tmp_path, "memory://all"))
    assert isinstance(first, SubmissionFile)
    assert isinstance(second, SkippedFile)
    assert "begin its name with the time" in second.reason


def test_a_missing_folder_has_no_submissions(memory: Any, tmp_path: Path) -> None:
    """As on this machine before the first submission."""
    assert not list(submission_files(track(tmp_path, "memory://nothing")))


# What goes wrong


def test_a_missing_file_is_reported_and_the_others_are_scored(files: str, terminal: Terminal) -> None:
    """The message has its URL."""
    answer = terminal.run(
        "evaluate", f"{files}/solution.txt", f"{files}/none.txt", f"{files}/submission.txt", "-m", "AP"
    )
    assert answer.code == 1
    assert "memory://lists/none.txt: no such file" in answer.err
    assert "memory://lists/submission.txt" in answer.out


def test_a_missing_solution_is_an_error(tmp_path: Path, memory: Any, terminal: Terminal) -> None:
    """In the library, in challenge.toml, and in a run."""
    with pytest.raises(SolutionError, match=r"memory://none\.txt: no such file"):
        evaluate("memory://none.txt", "memory://none.txt", "AP")
    write_challenge(tmp_path)
    served(memory, tmp_path)
    memory.rm("/challenge/solution.txt")
    with pytest.raises(ChallengeError, match=r"names memory://challenge/solution\.txt, but there is no such file"):
        read_challenge(tmp_path)
    answer = terminal.run("run", tmp_path)
    assert answer.code == 1
    assert "memory://challenge/solution.txt: no such file" in answer.err
    assert "Traceback" not in answer.err


class StoreFaultError(Exception):
    """An exception of a store that is not an OSError."""


@pytest.mark.parametrize("method", ["info", "ls", "open", "modified"])
def test_a_store_that_fails_withdraws_nothing(
    memory: Any, tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Its exception becomes a message, and earlier submissions stay on the board."""
    write_challenge(tmp_path)
    served(memory, tmp_path)
    memory.pipe("/challenge/submissions/main/timeless.txt", SUBMISSION)
    assert terminal.run("run", tmp_path).code == 1  # the last one has other queries
    board = (tmp_path / "site/main/leaderboard.json").read_bytes()

    def fail(*_given: object, **_named: object) -> object:
        raise StoreFaultError("the  store\nis tired")

    with monkeypatch.context() as broken:
        broken.setattr(type(memory), method, fail)
        answer = terminal.run("run", tmp_path)
    assert answer.code == 1
    assert "StoreFaultError: the store is tired" in answer.err
    assert "Traceback" not in answer.err
    if method in {"info", "ls"}:
        assert (tmp_path / "site/main/leaderboard.json").read_bytes() == board


def test_a_file_that_is_read_in_part_is_not_scored(memory: Any, files: str) -> None:
    """A store that fails in the middle of a file is an error."""

    class Torn:
        def read(self, _count: int) -> bytes:
            raise StoreFaultError("connection reset")

        def close(self) -> None:
            pass

    def opened(_self: object, path: str, _mode: str) -> object:
        return Torn()

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(type(memory), "open", opened)
        with pytest.raises(SubmissionError, match="StoreFaultError: connection reset"):
            evaluate({"q1": {"a": 1}}, f"{files}/submission.txt", "AP")


def test_an_unknown_protocol_is_an_error(terminal: Terminal, tmp_path: Path) -> None:
    """The message has the URL and the text of fsspec."""
    (tmp_path / "solution.txt").write_bytes(SOLUTION)
    answer = terminal.run("evaluate", tmp_path / "solution.txt", "nosuch://x/y", "-m", "AP")
    assert answer.code == 1
    assert "nosuch://x/y: ValueError: Protocol not known: nosuch" in answer.err


def test_without_the_extra_the_message_says_what_to_install(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra of the package, not the missing module."""
    genuine = builtins.__import__

    def without(name: str, *given: Any) -> Any:
        if name.startswith("fsspec"):
            raise ModuleNotFoundError(name)
        return genuine(name, *given)

    (tmp_path / "solution.txt").write_bytes(SOLUTION)
    monkeypatch.setattr(builtins, "__import__", without)
    answer = terminal.run("evaluate", tmp_path / "solution.txt", "memory://x", "-m", "AP")
    assert answer.code == 1
    assert "memory://x: fsspec is not installed; install it with `pip install 'challenge-scorer[remote]'`" in answer.err


def test_a_site_is_written_to_a_folder(tmp_path: Path) -> None:
    """A URL is an error, not the name of a folder."""
    write_challenge(tmp_path)
    toml = tmp_path / "challenge.toml"
    toml.write_text('site = "s3://bucket/site"\n' + toml.read_text())
    with pytest.raises(ChallengeError, match='site: found "s3://bucket/site", which is a URL'):
        read_challenge(tmp_path)


NAMES = ["http:", "a::b", "a::file:", "simplecache::a", "a#b", "a?b=c", "%2e%2e%2fsecret.txt", "file:", "a b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_listing_is_never_parsed(memory: Any, name: str) -> None:
    """Neither here nor in another process; universal-pathlib reads another file for some of these names."""
    memory.pipe({f"/all/{name}": SUBMISSION, "/all/a": b"another file", "/all/x": b"another file"})
    (listed,) = [file for file in Remote("memory://all").iterdir() if file.name == name]

    for file in (listed, pickle.loads(pickle.dumps(listed))):
        assert (file.name, file.is_file(), file.stat().st_size) == (name, True, len(SUBMISSION))
        assert file.open().read() == SUBMISSION


# Paths and URLs


@pytest.mark.parametrize(
    ("text", "url"),
    [("s3://b/x", True), ("FILE:///x", True), ("a/b://c", False), ("c://x", False), ("x", False), ("://x", False)],
)
def test_a_url_has_a_scheme(text: str, url: bool) -> None:
    """The scheme has two letters or more; other texts are paths."""
    assert is_url(text) is url
    assert isinstance(located(text), Remote if url else Path)


def test_a_password_in_a_url_is_not_shown(memory: Any) -> None:
    """Neither in the text nor in the path of the file."""
    url = "sftp://me:ses@me@host/lists/x.txt"
    assert shown(url) == str(Remote(url)) == os.fspath(Remote(url)) == "sftp://me:***@host/lists/x.txt"


def test_a_remote_file_survives_a_pickle(memory: Any, files: str) -> None:
    """With the facts of its listing, as it is sent to other processes."""
    (solution, submission) = sorted(Remote(files).iterdir(), key=lambda file: file.name)
    assert solution.name == "solution.txt"
    again = pickle.loads(pickle.dumps(submission))
    assert again == submission
    assert again.open().read() == SUBMISSION


def test_fsspec_is_loaded_only_for_urls(tmp_path: Path) -> None:
    """A run of local files does not import it."""
    write_challenge(tmp_path)
    code = f"""
import sys
from scorer.cli import main
sys.argv = ["scorer", "run", {str(tmp_path)!r}, "--executor", "serial"]
try:
    main()
finally:
    print({{"fsspec", "dask", "psutil", "psycopg"}} & {{*sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
