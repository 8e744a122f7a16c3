"""The folder of the site: what a render writes, in which order, and what interrupted and concurrent renders leave."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scorer.board.site import folder as site_folder
from scorer.board.site.folder import LOCK, SITE_MANIFEST, write
from scorer.board.site.pages import SITE_ASSETS
from scorer.errors import ScorerError
from scorer.files.writing import locked
from tests.boards import board, board_of, challenge
from tests.commands import Terminal
from tests.databases import removed
from tests.pages import pages

BEFORE = {"index.html": "one", "old/index.html": "gone", "teams/a.html": "A", "teams/b.html": "B"}
AFTER = {"index.html": "two", "new/index.html": "come", "teams/a.html": "A"}


def tree(folder: Path) -> dict[str, str | None]:
    """The content of each file in a folder, and None for each folder; without the lock file."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path.name != LOCK
    }


# Which files are written


def test_only_changes_are_written(tmp_path: Path) -> None:
    """Earlier pages are deleted, a page with the same content is not written, and the result lists what was."""
    write(BEFORE, tmp_path)
    unchanged = (tmp_path / "teams/a.html").stat()
    assert write(AFTER, tmp_path) == ["index.html", "new/index.html", "old/index.html", "teams/b.html"]
    assert (tmp_path / "teams/a.html").stat().st_mtime_ns == unchanged.st_mtime_ns
    assert (tmp_path / "teams/a.html").stat().st_ino == unchanged.st_ino
    assert write(AFTER, tmp_path) == []
    found = tree(tmp_path)
    assert {path: text for path, text in found.items() if text is not None and path != SITE_MANIFEST} == AFTER
    assert [path for path, text in found.items() if text is None] == ["new", "teams"]


def test_files_of_the_organiser_are_not_changed(tmp_path: Path) -> None:
    """Files that no render wrote stay, also in folders of the site and under similar names."""
    for name in ("logo.svg", "teams/photo.html", "old/notes.txt", "old/index.html.part.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    write(BEFORE, tmp_path)
    write(AFTER, tmp_path)
    found = tree(tmp_path)
    assert [path for path, text in found.items() if text == "mine"] == [
        "logo.svg", "old/index.html.part.txt", "old/notes.txt", "teams/photo.html",
    ]  # fmt: skip


def test_a_foreign_file_with_the_name_of_a_page_is_not_overwritten(tmp_path: Path) -> None:
    """The message names the file; nothing is written."""
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(ScorerError, match=r"index\.html.* move the file away"):
        write(BEFORE, tmp_path)
    assert tree(tmp_path) == {"index.html": "mine"}


def test_a_whole_site_is_read_back(tmp_path: Path) -> None:
    """Files hold the rendered text in UTF-8."""
    declared = challenge()
    site = pages(declared, [board(track) for track in declared.tracks])
    write(site, tmp_path)
    assert {path: (tmp_path / path).read_bytes().decode() for path in site} == site


# The order


def replaced_files(monkeypatch: pytest.MonkeyPatch, folder: Path, after_each: Callable[[], None]) -> list[str]:
    """A list that fills with the files of the folder as they are replaced and deleted; calls `after_each` each time."""
    changed: list[str] = []
    replacing, unlinking = Path.replace, Path.unlink

    def replace_(path: Path, target: Path) -> Path:
        result = replacing(path, target)
        changed.append(target.relative_to(folder).as_posix())
        after_each()
        return result

    def unlink(path: Path, missing_ok: bool = False) -> None:
        existed = path.exists()
        unlinking(path, missing_ok=missing_ok)
        if existed:
            changed.append(f"- {path.relative_to(folder).as_posix()}")
            after_each()

    monkeypatch.setattr(Path, "replace", replace_)
    monkeypatch.setattr(Path, "unlink", unlink)
    return changed


def test_files_are_written_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assets come first, then new pages, then changed pages, then the front page, then deletions."""
    before = {"index.html": "1", "a/index.html": "1", "teams/old.html": "1", "style.css": "1"}
    after = {"index.html": "2", "a/index.html": "2", "z/data.csv": "2", "teams/x.html": "2", "style.css": "2"}
    write(before, tmp_path)
    changed = replaced_files(monkeypatch, tmp_path, lambda: None)
    write({**after, "board.js": "2"}, tmp_path)
    assert changed == [
        SITE_MANIFEST, "board.js", "style.css", "teams/x.html", "z/data.csv", "a/index.html", "index.html",
        "- teams/old.html", SITE_MANIFEST,
    ]  # fmt: skip


def missing_targets(folder: Path) -> set[str]:
    """The targets that do not exist among the links of the front page and of all pages that it leads to."""
    missing, seen, waiting = set(), {"index.html"}, ["index.html"] if (folder / "index.html").exists() else []
    while waiting:
        page = waiting.pop()
        for link in re.findall(r'(?:href|src)="(?!data:)([^"#]+)', (folder / page).read_text()):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
            if not (folder / target).exists():
                missing.add(f"{page}: {target}")
            elif target.endswith(".html") and target not in seen:
                seen.add(target)
                waiting.append(target)
    return missing


def test_links_have_targets_during_a_render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New teams, a new track and teams that are gone never leave a reachable page with a link to nothing."""
    declared = challenge()
    first, second = (board(track) for track in declared.tracks)
    one_track = declared.model_copy(update={"tracks": declared.tracks[:1]})
    smaller = pages(one_track, [board_of(first.track, *first.rows[3:])])
    larger = pages(declared, [board_of(first.track, *first.rows[:-3]), second])
    missing: set[str] = set()
    changed = replaced_files(monkeypatch, tmp_path, lambda: missing.update(missing_targets(tmp_path)))
    for site in (smaller, larger, smaller):
        write(site, tmp_path)
    assert missing == set()
    assert len(changed) > len(smaller) + len(larger)


# Snapshots


def test_a_snapshot_is_rendered_again_and_an_older_one_is_not(tmp_path: Path) -> None:
    """It returns None and changes nothing; templates may change while the database does not."""
    write(AFTER, tmp_path, "eighth")
    shown = tree(tmp_path)
    assert write(BEFORE, tmp_path, "seventh", lambda name: name == "eighth") is None
    assert tree(tmp_path) == shown
    write(BEFORE, tmp_path, "seventh")
    assert write(AFTER, tmp_path, "seventh", lambda _: True)
    assert (tmp_path / "index.html").read_text() == "two"


def test_a_new_database_may_be_rendered(new_challenge: Path, terminal: Terminal) -> None:
    """It has fewer changes than the site shows. The manifest does not count them, as a freeze hides them."""
    assert terminal.run("run", new_challenge).code == 0
    document = json.loads((new_challenge / "site" / SITE_MANIFEST).read_text())
    assert document.keys() == {"written by scorer", "snapshot"}
    assert re.fullmatch("[0-9a-f]{64}", document["snapshot"])
    assert terminal.run("run", new_challenge).code == 0
    removed(new_challenge / "scores.db")
    answer = terminal.run("run", new_challenge)
    assert "later state" not in answer.err


def test_a_manifest_of_an_earlier_version_is_accepted(tmp_path: Path) -> None:
    """Renders of version 0.1 recorded no snapshot, those of version 0.2 a number."""
    for values in ({}, {"snapshot": 7, "database": "x"}):
        (tmp_path / SITE_MANIFEST).write_text(json.dumps({"written by scorer": [], **values}))
        assert write(BEFORE, tmp_path)
        assert json.loads((tmp_path / SITE_MANIFEST).read_text()) == {"written by scorer": sorted(BEFORE)}
        assert write({}, tmp_path)


# Interrupted renders


class Killed(BaseException):
    """Ends a render as ``kill -9`` does: no code catches it."""


def dying(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Raise Killed at the change to the disk with this number; a write is half done then."""
    left = iter(range(after, -1, -1))
    writing = Path.write_bytes

    def half(path: Path, content: bytes) -> int:
        if next(left) == 0:
            writing(path, content[: len(content) // 2])
            raise Killed
        return writing(path, content)

    monkeypatch.setattr(Path, "write_bytes", half)
    for name in ("replace", "unlink", "mkdir", "rmdir"):
        monkeypatch.setattr(Path, name, _dying(getattr(Path, name), left))


def _dying(change: Callable[..., object], left: Iterator[int]) -> Callable[..., object]:
    def changed(*arguments: object, **options: object) -> object:
        if next(left) == 0:
            raise Killed
        return change(*arguments, **options)

    return changed


@pytest.mark.parametrize("is_first", [False, True])
def test_a_killed_render_is_completed_by_the_next(tmp_path: Path, is_first: bool) -> None:
    """Killed before or during any change to the disk, the next one ends like an undisturbed one.

    The pages may change after a first one, whose files are not taken for files of the organiser.
    """
    for site in [AFTER] if is_first else [BEFORE, AFTER]:
        write(site, tmp_path / "undisturbed")
    wanted = tree(tmp_path / "undisturbed")
    for moment in range(1000):
        folder = tmp_path / f"site-{moment}"
        if not is_first:
            write(BEFORE, folder)
        with pytest.MonkeyPatch.context() as patched:
            dying(patched, moment)
            try:
                write(BEFORE if is_first else AFTER, folder)
            except Killed:
                pass
            except StopIteration:
                raise AssertionError("the render went on after it was killed") from None
            else:
                break
        half_done = {path: text for path, text in tree(folder).items() if not path.endswith(".part")}
        assert all(
            text in (None, BEFORE.get(path), AFTER.get(path))
            for path, text in half_done.items()
            if path != SITE_MANIFEST
        )
        write(AFTER, folder)
        assert tree(folder) == wanted, moment
    assert moment > 10


# The lock

HOLDER = """
import sys
from pathlib import Path
from scorer.settings.tracks import Challenge
from scorer.files.writing import locked
with locked(Path(sys.argv[1]), 0):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other_render(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock of the folder until its standard input ends."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / LOCK)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_a_render_waits_for_another(
    tmp_path: Path, other_render: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A render writes nothing while another process holds the lock, and goes on once that process is killed."""
    monkeypatch.setattr(site_folder, "_WAIT", 0.2)
    with pytest.raises(ScorerError, match=r"\.lock: another process has held the lock for 0\.2 seconds; wait"):
        write(AFTER, tmp_path)
    assert tree(tmp_path) == {}
    other_render.kill()
    other_render.wait()
    monkeypatch.undo()
    assert write(AFTER, tmp_path)


def test_the_lock_is_released(tmp_path: Path) -> None:
    """The lock is free after a render, also after one that fails."""
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(ScorerError, match="move the file away"):
        write(BEFORE, tmp_path)
    with locked(tmp_path / LOCK, 0):
        pass


# Folders that cannot be written


@pytest.mark.parametrize("climbs", [True, False])
def test_a_manifest_with_a_path_outside_the_folder_is_refused(tmp_path: Path, climbs: bool) -> None:
    """An absolute path, or one with "..", is never deleted."""
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    (tmp_path / "site").mkdir()
    listed = ["../precious.txt" if climbs else str(precious)]
    (tmp_path / "site" / SITE_MANIFEST).write_text(json.dumps({"written by scorer": listed}))
    with pytest.raises(ScorerError, match="is outside of"):
        write(AFTER, tmp_path / "site")
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"written by scorer": 1}', "\0"])
def test_a_broken_manifest_is_refused(tmp_path: Path, content: str) -> None:
    """The message says what to do."""
    (tmp_path / SITE_MANIFEST).write_text(content)
    with pytest.raises(ScorerError, match=r"manifest\.json: not a manifest .* render again"):
        write(AFTER, tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    """The message says that the site cannot be written."""
    (tmp_path / "site").write_text("")
    with pytest.raises(ScorerError, match="cannot write the site"):
        write(AFTER, tmp_path / "site")


def test_a_full_disk_leaves_no_partial_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that cannot be written keeps its content, and the partial file is deleted."""
    write(BEFORE, tmp_path)
    writing = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name.startswith(".index.html"):
            writing(path, content[:1])
            raise OSError(28, "No space left on device", str(path))
        return writing(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ScorerError, match="No space left"):
        write(AFTER, tmp_path)
    assert (tmp_path / "index.html").read_text() == "one"
    assert not list(tmp_path.rglob("*.part"))


def test_assets_are_known_by_their_suffixes() -> None:
    """Every asset of the site is written before the pages."""
    assert all(asset.endswith(site_folder.ASSET_SUFFIXES) for asset in SITE_ASSETS)
