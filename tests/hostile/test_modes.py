"""Secrets and other users of the machine: the modes of files that have them, from the first byte on."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scorer.files.writing import replace_content
from scorer.store.store import Store
from tests.commands import Terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes say nothing on Windows")

STRANGER = 65_534
"""The id of a user without rights."""

OPENING = f"""
import json, os, sys
os.setgroups([]); os.setgid({STRANGER}); os.setuid({STRANGER})
opened = []
for path in json.loads(sys.argv[1]):
    try:
        os.close(os.open(path, os.O_RDONLY))
        opened.append(path)
    except PermissionError:
        pass
print(json.dumps(opened))
"""

WATCHED = """
import os, sys

def look(event, arguments):
    if event == "sqlite3.connect" and str(arguments[0]).startswith(FOLDER):
        print("connects", oct(os.stat(arguments[0]).st_mode & 0o777), file=sys.stderr)
    elif event == "os.chmod" and isinstance(arguments[0], (str, os.PathLike)):
        path = os.fspath(arguments[0])
        if "scores.db" in path:
            print("changes", oct(os.stat(path).st_mode & 0o077), file=sys.stderr)

FOLDER = sys.argv[-1]
sys.addaudithook(look)
from scorer.cli import main; main()
"""
"""The command, which says what modes files have that SQLite opens, and that files had before a change of the mode."""


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """The usual one: all may read what a program creates without a mode."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def folder(terminal: Terminal) -> Iterator[Path]:
    """A new challenge in a folder that every user can pass."""
    above = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
    above.chmod(0o755)
    assert terminal.run("init", above / "challenge").code == 0
    yield above / "challenge"
    shutil.rmtree(above)


def readable(paths: list[Path]) -> list[str]:
    """The files that another user of this machine can open; by their modes where the tests cannot become one."""
    if os.getuid() != 0:
        return [str(path) for path in paths if path.stat().st_mode & 0o004]
    texts = json.dumps([str(path) for path in paths])
    done = subprocess.run([sys.executable, "-c", OPENING, texts], check=True, capture_output=True, text=True)
    return [str(each) for each in json.loads(done.stdout)]


def files_of(folder: Path) -> list[Path]:
    """All files, those of the site last."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def secrets_of(folder: Path) -> list[Path]:
    """What has the secret of the record, the grades, or the bytes of submissions that are kept."""
    near = (path for path in files_of(folder) if folder / "site" not in path.parents)
    secret = [
        path for path in near if "scores.db" in f"{path.parent.name}/{path.name}" or path.suffix in {".key", ".zip"}
    ]
    return [*secret, folder / "solutions" / "main.txt"]


def test_no_other_user_can_read_a_secret(folder: Path, terminal: Terminal) -> None:
    """Of a new challenge: its database with the files next to it, also while it is open, backups and bundles. Its site
    can be read.
    """
    assert terminal.run("run", "--quiet", folder).code == 0
    assert "backup" in terminal.run("doctor", "--repair", folder).out
    assert terminal.run("export", folder / "bundle.zip", folder).code == 0
    with Store.open(folder / "scores.db") as store:
        store.note_run("main")
        secret = secrets_of(folder)
        names = {path.name for path in secret}
        assert {"scores.db-wal", "scores.db-shm", "scores.db.shown", "bundle.zip", "split.key"} <= names
        assert any(name.endswith(".backup") for name in names)
        assert readable(secret) == []

    site = files_of(folder / "site")
    assert readable(site) == [str(path) for path in site]


def test_an_imported_challenge_and_a_migrated_database_are_private(folder: Path, terminal: Terminal) -> None:
    """As the ones that they come from; the backup before the migration is, too."""
    terminal.run("run", folder)
    terminal.run("export", folder / "bundle.zip", folder, "--solutions", "--files")
    new = folder.parent / "new"
    assert terminal.run("import", folder / "bundle.zip", new).code == 0
    assert readable(secrets_of(new)) == []

    old = folder.parent / "scores.db"
    shutil.copyfile(Path(__file__).parents[1] / "store" / "schema_5" / "schema-5.db", old)
    old.chmod(0o600)
    with Store.open(old):
        assert readable([folder.parent / "scores.db.schema-5.backup"]) == []


def test_files_are_private_from_the_first_byte(folder: Path) -> None:
    """SQLite opens no file that others can read, and no mode is changed of one that they could read."""
    for command in (["score", "--executor", "serial"], ["doctor", "--repair"]):
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, *command, str(folder)], check=True, capture_output=True, text=True
        )
        seen = re.findall(r"(?:connects|changes) 0o[0-7]+", done.stderr)  # threads may write into one line
        assert "connects 0o600" in seen
        assert set(seen) <= {"connects 0o600", "changes 0o0"}


def test_new_files_take_the_mode_of_the_database(folder: Path, terminal: Terminal) -> None:
    """And its group. What an organiser has set stays."""
    terminal.run("run", folder)
    database = folder / "scores.db"
    database.chmod(0o640)
    if os.getuid() == 0:
        os.chown(database, -1, 12_345)
    for path in folder.glob("scores.db.*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    submission = folder / "submissions" / "main" / "20260131T120000Z-first-team.txt"
    shutil.copy(submission, submission.with_name("20260131T130000Z-first-team.txt"))
    assert terminal.run("run", "--quiet", folder).code == 0
    assert "backup" in terminal.run("doctor", "--repair", folder).out

    for path in folder.glob("scores.db.*"):
        assert path.stat().st_gid == database.stat().st_gid
        assert stat.S_IMODE(path.stat().st_mode) == (0o750 if path.is_dir() else 0o640)
        for inner in path.iterdir() if path.is_dir() else ():
            assert (stat.S_IMODE(inner.stat().st_mode), inner.stat().st_gid) == (0o640, database.stat().st_gid)
    assert len(list(folder.glob("scores.db.*"))) >= 4
    assert stat.S_IMODE(database.stat().st_mode) == 0o640


def test_a_run_says_what_others_can_read_and_how_to_mend_it(folder: Path, terminal: Terminal) -> None:
    """In one line, with a command; no mode is changed. No line is printed below a folder that others cannot pass."""
    words = "other users of this machine can read"
    terminal.run("run", folder)
    assert words not in terminal.run("run", folder).err
    for path in (folder / "scores.db", folder / "solutions" / "main.txt"):
        path.chmod(0o644)

    (line,) = [line for line in terminal.run("run", folder).err.splitlines() if words in line]
    assert line.endswith(f"main.txt {folder}/scores.db*`")
    assert stat.S_IMODE((folder / "scores.db").stat().st_mode) == 0o644
    assert words in terminal.run("score", "--quiet", folder).err
    assert words not in terminal.run("score", "--quiet", folder).err

    folder.parent.chmod(0o700)
    assert words not in terminal.run("run", folder).err
    folder.parent.chmod(0o755)
    subprocess.run(line.partition("run `")[2].rstrip("`"), check=True, shell=True)
    assert words not in terminal.run("run", folder).err
    assert readable(secrets_of(folder)) == []


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, folder: Path, terminal: Terminal) -> None:
    """As teams.toml, which commands edit; a part that a killed process left has no effect."""
    teams = folder / "teams.toml"
    teams.write_text('["first-team"]\nname = "First"\n', encoding="utf-8")
    teams.chmod(0o600)
    teams.with_name("teams.toml.part").touch(0o644)
    terminal.run("run", folder)
    assert terminal.run("teams", "rename", "first-team", "Second", "-C", folder).code == 0
    assert "Second" in teams.read_text(encoding="utf-8")
    assert stat.S_IMODE(teams.stat().st_mode) == 0o600

    for mode in (0o600, 0o664, 0o755):
        (tmp_path / "file").write_bytes(b"")
        (tmp_path / "file").chmod(mode)
        assert replace_content(tmp_path / "file", b"new")
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
        (tmp_path / "file").unlink()
