"""Other systems: the core without calls that Linux has, in the processes of the commands and their children."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from scorer.files import RefusedError, files_in
from scorer.live.teams import slugs
from scorer.settings.tracks import RESERVED
from tests.commands import process
from tests.live_challenges import GOOD, Live
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
    assert process("init", tmp_path / "all").code == 0
    shutil.copytree(tmp_path / "all", tmp_path / "fewer")
    for name, environment in (("all", {}), ("fewer", fewer_calls)):
        folder = tmp_path / name
        (folder / "submissions" / "main" / "new.txt").write_bytes(b"q1:apple,pear\r\nq2:fig\r\nq3:lemon\r\nq4:pear\r\n")
        ran = process("run", folder, "--executor", "processes", environment=environment)
        assert ran.code == 0, ran.err
        assert ran.err.count(UNLIMITED) == (name == "fewer"), ran.err
        again = process("check", "-C", folder, folder / "submissions" / "main" / "new.txt", environment=environment)
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
    file, folder, plain = (below for below, _ in files_in(root))
    with plain.open() as stream:
        assert stream.read() == b"q1:a\r\n"
    plain.put_next(".json", b"{}")
    assert (root / "plain.txt.json").read_bytes() == b"{}"
    with pytest.raises(RefusedError):
        file.open()
    with pytest.raises(RefusedError):
        list(folder.list())


def test_pages_of_teams_have_names_on_every_system() -> None:
    """Names that differ only in case, devices of Windows and long names have different files, in lower case."""
    names = ["Alpha", "alpha", "ALPHA", "CON", "con", "aux.txt", "nul", "COM1", "x" * 300, "X" * 300, "a:b", "a.", "a "]
    found = list(slugs(names).values())
    assert len({name.lower() for name in found}) == len(names)
    assert not RESERVED.intersection(found)
    assert all(name == name.lower() and len(name) <= 60 for name in found)


def test_no_file_is_read_or_written_in_the_code_page_of_the_system(tmp_path: Path) -> None:
    """Python warns of each that is opened without an encoding; here the code page is ASCII."""
    environment = {"PYTHONWARNDEFAULTENCODING": "1", "PYTHONUTF8": "0", "LC_ALL": "C"}
    folder = tmp_path / "challenge"
    file = folder / "submissions" / "main" / "new.txt"
    for arguments in (("init", folder), ("run", folder), ("check", "-C", folder, file), ("doctor", "-C", folder)):
        answer = process(*arguments, environment=environment)
        own = [line for line in answer.err.splitlines() if "EncodingWarning" in line and "/scorer/" in line]
        assert own == []
        file.write_text("q1:apple,pear\nq2:fig\nq3:lemon\nq4:pear,é\n", encoding="utf-8")
    assert "Main track" in (folder / "site" / "main" / "index.html").read_text(encoding="utf-8")


def test_a_delivery_is_accepted_without_folders_that_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With lines that end as on Windows; the bytes stay as they are, and the next run scores them."""
    monkeypatch.setattr("scorer.files.BY_DESCRIPTOR", False)
    with served(Live.graded(tmp_path / "live")) as challenge:
        answer = challenge.put("Alpha", GOOD.replace("\n", "\r\n"))
        assert answer.status_code in (201, 202), answer.text
        challenge.run()
        assert challenge.entry("Alpha", answer.json()["id"])["state"] == "scored"
