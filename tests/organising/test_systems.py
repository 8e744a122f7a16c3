"""Other systems: the core without calls that Linux has, in the processes of the commands and their children."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from scorer.errors import ChallengeError, ScorerError
from scorer.files import FileBelow, UnsafePathError
from scorer.organising.bundles import import_bundle
from scorer.organising.teams import check_folders, issue
from scorer.rules.tables import RESERVED
from scorer.rules.teams import slugs
from tests.bundles import exported, imported
from tests.commands import RUN, Terminal, command, here, in_terminal, process
from tests.live_challenges import GOOD, Live, day
from tests.served import served

pytestmark = pytest.mark.skipif(os.name != "posix", reason="takes away calls that only POSIX has")

FEWER_CALLS = """
import os, resource
for name in ("O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC", "getuid", "geteuid", "setpriority"):
    if hasattr(os, name):
        delattr(os, name)
os.supports_dir_fd = set()
opened = os.open

def refuse_folders(path, flags, mode=0o777, *, dir_fd=None):
    if dir_fd is not None or (not isinstance(path, int) and os.path.isdir(path)):
        raise PermissionError(13, "Permission denied", path)
    return opened(path, flags, mode)

def refuse(*_):
    raise ValueError("current limit exceeds maximum limit")

os.open = refuse_folders
resource.setrlimit = refuse
"""
"""What every process runs at its start."""

UNLIMITED = "this system does not limit, for a process that scores: "


@pytest.fixture
def fewer_calls(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that has fewer calls."""
    start = tmp_path / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(FEWER_CALLS, encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(start), *filter(None, [os.environ.get("PYTHONPATH")])])}


def test_a_challenge_runs_with_fewer_calls(tmp_path: Path, fewer_calls: dict[str, str]) -> None:
    """The board is the same; a run says once what is not limited, also if several children score."""
    boards = []
    assert here("init", tmp_path / "all").code == 0
    shutil.copytree(tmp_path / "all", tmp_path / "fewer")
    for name, call in (("all", here), ("fewer", partial(process, environment=fewer_calls))):
        folder = tmp_path / name
        (folder / "submissions" / "main" / "new.txt").write_bytes(b"q1:apple,pear\r\nq2:fig\r\nq3:lemon\r\nq4:pear\r\n")
        ran = call("run", folder, "--executor", "processes")
        assert ran.code == 0, ran.err
        assert ran.err.count(UNLIMITED) == (name == "fewer"), ran.err
        again = call("check", "-C", folder, folder / "submissions" / "main" / "new.txt")
        assert again.code == 0, again.err
        rows = json.loads((folder / "site" / "main" / "leaderboard.json").read_bytes())["rows"]
        boards.append([{**row, "last entry": "", "changes": []} for row in rows])
    assert boards[0] == boards[1]
    assert "new" in [row["team"] for row in boards[0]]


def test_a_link_is_refused_without_folders_that_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file, and of a folder on the way."""
    monkeypatch.setattr("scorer.files.BY_DESCRIPTOR", False)
    monkeypatch.setattr("scorer.files.A_FILE", os.O_RDONLY)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "1.txt").write_bytes(b"q1:a\r\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").symlink_to(tmp_path / "outside" / "1.txt")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "plain.txt").write_bytes(b"q1:a\r\n")
    file, folder, plain = (FileBelow(root, (name,)) for name, _ in FileBelow(root, ()).list())
    with plain.open() as stream:
        assert stream.read() == b"q1:a\r\n"
    plain.put_next(".json", b"{}")
    assert (root / "plain.txt.json").read_bytes() == b"{}"
    with pytest.raises(UnsafePathError):
        file.open()
    with pytest.raises(UnsafePathError):
        list(folder.list())


def test_pages_of_teams_have_names_on_every_system() -> None:
    """Names that differ only in case, devices of Windows and long names have different files, in lower case."""
    names = ["Alpha", "alpha", "ALPHA", "CON", "con", "aux.txt", "nul", "COM1", "x" * 300, "X" * 300, "a:b", "a.", "a "]
    found = list(slugs(names).values())
    assert len({name.lower() for name in found}) == len(names)
    assert not RESERVED.intersection(found)
    assert all(name == name.lower() and len(name) <= 60 for name in found)


SEVERAL = """
import sys
from scorer.cli import main
for line in sys.argv[1:]:
    sys.argv = ["scorer", *line.split()]
    try:
        main()
    except SystemExit as stop:
        print("exit code", stop.code or 0)
    else:
        print("exit code", 0)
"""


def test_no_file_is_read_or_written_in_the_code_page_of_the_system(tmp_path: Path) -> None:
    """Python warns of each that is opened without an encoding; here the code page is ASCII."""
    environment = {"PYTHONWARNDEFAULTENCODING": "1", "PYTHONUTF8": "0", "LC_ALL": "C"}
    folder, file = tmp_path / "challenge", tmp_path / "new.txt"
    file.write_text("q1:apple,pear\nq2:fig\nq3:lemon\nq4:pear,é\n", encoding="utf-8")
    lines = [f"init {folder}", f"run {folder}", f"check -C {folder} {file}", f"doctor -C {folder}"]
    answer = process(*lines, environment=environment, program=SEVERAL)
    assert answer.out.count("exit code 0") == len(lines), answer
    assert [line for line in answer.err.splitlines() if "EncodingWarning" in line and "/scorer/" in line] == []
    assert "Main track" in (folder / "site" / "main" / "index.html").read_text(encoding="utf-8")


def test_a_delivery_is_accepted_without_folders_that_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With lines that end as on Windows; the bytes stay as they are, and the next run scores them."""
    monkeypatch.setattr("scorer.files.BY_DESCRIPTOR", False)
    with served(Live.graded(tmp_path / "live")) as challenge:
        answer = challenge.put("Alpha", GOOD.replace("\n", "\r\n"))
        assert answer.status_code in (201, 202), answer.text
        challenge.run()
        assert challenge.entry("Alpha", answer.json()["id"])["state"] == "scored"


# Encodings and ends of lines

CODE_PAGE = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
"""The environment of a process whose output has the encoding of Windows in western Europe."""


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "qrels.txt", "łódź.run", "-m", "RR", "-q", "--format", "json", "--names", "path"),
        ("convert", "łódź.run", "-", "--to", "delimited"),
        *(
            pytest.param(arguments, marks=pytest.mark.endurance)
            for arguments in (
                ("evaluate", "qrels.txt", "łódź.run", "-m", "RR", "-q", "--format", "csv", "--names", "path"),
                ("pool", "łódź.run", "--solution", "qrels.txt"),
                ("fuse", "łódź.run", "other.run"),
            )
        ),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_is_redirected_is_utf_8(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """In each code page: item ids stay as they are, and JSON can be read."""
    (tmp_path / "qrels.txt").write_text("frage 0 brez 1\n", encoding="utf-8")
    for name in ("łódź.run", "other.run"):
        (tmp_path / name).write_text("frage Q0 čaj✨ 1 2 ł\nfrage Q0 brez 2 1 ł\n", encoding="utf-8")
    done = subprocess.run(
        command(*arguments), cwd=tmp_path, env={**os.environ, **CODE_PAGE}, capture_output=True, check=True
    )
    text = done.stdout.decode("utf-8")
    if "json" in arguments:
        assert json.loads(text)["submissions"][0]["submission"] == "łódź.run"
    else:
        assert "čaj✨" in text or "łódź" in text
    assert "\\u" not in text or "json" in arguments


def test_a_terminal_keeps_its_encoding(tmp_path: Path) -> None:
    """What it cannot show is an escape."""
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n", encoding="utf-8")
    (tmp_path / "café✨.run").write_text("q Q0 a 1 2 t\n", encoding="utf-8")
    arguments = [sys.executable, "-c", RUN, "evaluate", "qrels.txt", "café✨.run", "-m", "RR", "--names", "path"]
    shown = b""
    with in_terminal(arguments, tmp_path, CODE_PAGE) as (keyboard, running):
        while b"1.0000" not in shown:
            shown += os.read(keyboard, 1000)
        running.wait(60)
    assert b"caf\xe9\\u2728.run" in shown


def test_a_challenge_edited_on_windows_has_the_same_board(tmp_path: Path) -> None:
    """Each file has lines that end as there, and begins with a mark of its encoding, also teams.toml and a page."""
    boards = []
    assert here("init", tmp_path / "plain").code == 0
    (tmp_path / "plain" / "pages").mkdir()
    (tmp_path / "plain" / "pages" / "10-rules.md").write_bytes("# Rules\n\nOne entry – a day.\n".encode())
    (tmp_path / "plain" / "teams.toml").write_bytes('[first-team]\nname = "Zürich"\n'.encode())
    shutil.copytree(tmp_path / "plain", tmp_path / "edited")
    for file in (tmp_path / "edited").rglob("*"):
        if file.is_file():
            mark = b"\xef\xbb\xbf" if file.suffix != ".key" else b""
            file.write_bytes(mark + file.read_bytes().replace(b"\n", b"\r\n"))
    for name in ("plain", "edited"):
        ran = here("run", tmp_path / name)
        assert ran.code == 0, ran.err
        renamed = here("teams", "set", "first-team", "affiliation=Zürich", "-C", tmp_path / name)
        assert renamed.code == 0, renamed.err
        assert here("render", tmp_path / name).code == 0
        board = json.loads((tmp_path / name / "site" / "main" / "leaderboard.json").read_bytes())
        assert "One entry – a day" in (tmp_path / name / "site" / "rules.html").read_text(encoding="utf-8")
        boards.append([{**row, "last entry": ""} for row in board["rows"]])
    assert boards[0] == boards[1]
    assert "Zürich" in [row["team"] for row in boards[0]]


def test_a_key_with_another_end_of_line_is_the_same_key(tmp_path: Path, terminal: Terminal) -> None:
    """Git on Windows may change it."""
    found = []
    for name, end in (("plain", b"\n"), ("edited", b"\r\n")):
        assert terminal.run("init", tmp_path / name).code == 0
        settings = tmp_path / name / "challenge.toml"
        settings.write_bytes(settings.read_bytes().replace(b"# split =", b"split ="))
        solution = tmp_path / name / "solutions" / "main.txt"
        solution.write_bytes(solution.read_bytes().replace(b":1:", b":0:"))
        (tmp_path / name / "split.key").write_bytes(b"%064d" % 1 + end)
        found.append(terminal.run("split", tmp_path / name).out.partition("\n")[0])
    assert found[0] == found[1] != ""


# Processes


def test_submissions_are_scored_without_fork(
    tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By processes that start as on Windows; a file that takes too long is ended as everywhere."""
    monkeypatch.setattr("scorer.scoring.executors.isolation.sys", SimpleNamespace(**{**vars(sys), "platform": "win32"}))
    assert terminal.run("init", tmp_path / "challenge").code == 0
    ran = terminal.run("run", tmp_path / "challenge", "--executor", "processes:2")
    assert ran.code == 0, ran.err
    assert "2 scored" in ran.err


# Names and paths


def case_insensitive(path: Path) -> bool:
    """Whether a disk that does not distinguish upper and lower case has the path."""
    names = path.parent.iterdir() if path.parent.is_dir() else ()
    return path.name.lower() in {each.name.lower() for each in names}


def test_teams_that_differ_in_case_need_a_disk_that_distinguishes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their bundle is imported here; where both would have one folder, it is refused, and nothing is left."""
    live = Live.graded(tmp_path / "live")
    for name in ("Alpha", "alpha"):
        live.put(f"{name}/1.txt", GOOD, day(2))
    live.run(day(3))
    exported(live, tmp_path / "challenge.zip", day(3))
    new = imported(tmp_path / "challenge.zip", tmp_path / "new", day(3))
    assert {"Alpha", "alpha"} == {path.parent.name for path in new.folder.rglob("*.txt") if path.read_text() == GOOD}

    monkeypatch.setattr(Path, "exists", case_insensitive)
    with pytest.raises(ScorerError, match='teams "Alpha" and "alpha" have one folder on this disk'):
        import_bundle(tmp_path / "challenge.zip", tmp_path / "other")
    assert not (tmp_path / "other").is_dir()


NOT_ON_WINDOWS = ["CON", "aux.txt", "nul", "com1", "LPT³.tar.gz", "a.", "a:b", "what?", "CON .txt"]


@pytest.mark.parametrize("name", NOT_ON_WINDOWS)
def test_a_team_whose_folder_windows_cannot_have_gets_no_token_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deliveries would get lost; here it gets one."""
    with Live.graded(tmp_path / "live").store() as store:
        monkeypatch.setattr("scorer.organising.teams.ON_WINDOWS", True)
        with pytest.raises(ChallengeError, match="cannot be the name of a folder on Windows"):
            issue(store, name, "token")
        with pytest.raises(ChallengeError, match="Windows has no folder"):
            check_folders(["a", name], tmp_path)
        check_folders(["console", "auxiliary", "com", "a.b", "équipe 1"], tmp_path)
        monkeypatch.setattr("scorer.organising.teams.ON_WINDOWS", False)
        assert issue(store, name, "token")
        check_folders(["Alpha", "alpha", name], tmp_path)


def test_long_paths_and_names(tmp_path: Path) -> None:
    """A path that is longer than Windows had allowed, the longest name of a folder, and a long one of a file."""
    folder = tmp_path / ("f" * 100) / ("g" * 100) / ("h" * 50) / "challenge"
    folder.parent.mkdir(parents=True)
    assert len(str(folder)) > 260
    assert here("init", folder).code == 0
    team = "é" * 100
    (folder / "submissions" / "main" / team).mkdir()
    (folder / "submissions" / "main" / team / f"{'r' * 240}.txt").write_text("q1:apple\n", encoding="utf-8")
    ran = here("run", folder, "--executor", "processes")
    assert ran.code == 0, ran.err
    rows = json.loads((folder / "site" / "main" / "leaderboard.json").read_bytes())["rows"]
    assert team in [row["team"] for row in rows]
    assert all(len(path.name) < 80 for path in (folder / "site").rglob("*"))
