"""Fixtures of several test modules."""

from __future__ import annotations

import compileall
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from scorer.board.site.folder import write
from scorer.scoring.executors import base
from tests.boards import board
from tests.boards import challenge as declared_challenge
from tests.browser import Page, browser
from tests.bundles import exported, rich_challenge
from tests.commands import Terminal
from tests.databases import KINDS, NewPlace, new_places
from tests.live_challenges import day
from tests.pages import pages
from tests.shared import compiling_once, sharing, undrawn
from tests.strategies import number

# No test measures time: by default Hypothesis fails an example that takes more than 0.2 seconds. `make test` always
# draws the same examples, so that a checkout passes or fails each time; `make endurance` draws new ones.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=number(100))
settings.register_profile("random", deadline=None, max_examples=number(100))
settings.load_profile("random" if "SCORER_TEST_EXAMPLES" in os.environ else "fixed")

MEMORY = Path("/dev/shm")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package once, because many tests start processes, and let pytest keep the tests that it has compiled,
    because that takes each worker ten seconds. Python may be set to write no bytecode.

    Folders of tests are in memory where there is room, because databases wait for a disk at each commit.
    """
    sys.dont_write_bytecode = False
    if not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parents[1] / "scorer", quiet=1)
        if in_memory():
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Free no garbage while tests are collected, and do not look at them again: it takes each worker seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def in_memory(least: int = 4 << 30) -> bool:
    """Whether `MEMORY` is a file system with this many bytes of room, which runs programs."""
    if not os.access(MEMORY, os.W_OK) or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(MEMORY).free >= least


@pytest.fixture(scope="session", autouse=True)
def derived_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Statistics are derived once by all workers of a run, since many tests render the same boards; each
    worker compiles a statement for the database once.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    with sharing(folder), compiling_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def garbage_is_collected() -> Iterator[None]:
    """Commands, which end with their process elsewhere, let Python keep all objects that there are at their end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.freeze", lambda: None)
        yield


@pytest.fixture(scope="module")
def no_pictures() -> Iterator[None]:
    """Sites have digests of charts instead of charts, for tests that compare sites whose charts no other test has."""
    with undrawn():
        yield


@pytest.fixture(scope="session")
def ranx() -> Iterator[Any]:
    """ranx without compilation, which takes half a minute and does not change the numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_DISABLE_JIT", "1")
        yield pytest.importorskip("ranx")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A terminal that runs ``scorer`` commands."""
    return Terminal(monkeypatch, capsys)


@pytest.fixture
def qrels_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the solution of two queries in `q.txt`."""
    (tmp_path / "q.txt").write_text("q1 0 d1 1\nq2 0 d3 1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def new_challenge(tmp_path: Path, terminal: Terminal) -> Path:
    """The folder of a new challenge, as `scorer init` writes it: one track, two submissions, preliminary scores."""
    folder = tmp_path / "challenge"
    assert terminal.run("init", folder).code == 0
    return folder


@pytest.fixture
def challenge(new_challenge: Path) -> Path:
    """A new challenge that shows final scores."""
    settings = new_challenge / "challenge.toml"
    text = settings.read_text(encoding="utf-8")
    assert 'stage = "preliminary"' in text
    settings.write_text(text.replace('stage = "preliminary"', 'stage = "final"'), encoding="utf-8")
    return new_challenge


@pytest.fixture
def serial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Submissions are scored in this process, also where commands use others."""
    monkeypatch.setattr(base, "Processes", lambda _: base.Serial())


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle with every kind of member, next to the folder of its challenge."""
    folder = tmp_path_factory.mktemp("bundle")
    exported(rich_challenge(folder / "challenge"), folder / "b.zip", day(27))
    return folder / "b.zip"


@pytest.fixture(params=KINDS)
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """Returns a place for a new database, of each kind in turn."""
    with new_places(request.param, tmp_path) as new_place:
        yield new_place


@pytest.fixture
def place(new_place: NewPlace) -> str:
    """A place for a new database."""
    return new_place()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The mount point of a disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None or shutil.which("umount") is None:
        pytest.skip("needs mount, to make a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs permission to mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture(scope="session")
def site() -> dict[str, str]:
    """The files of the site of two boards."""
    declared = declared_challenge()
    return pages(declared, [board(track) for track in declared.tracks])


@pytest.fixture(scope="session")
def address(site: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the site, written to a folder."""
    folder = tmp_path_factory.mktemp("site")
    write(site, folder)
    return folder.as_uri()


@pytest.fixture(scope="session")
def only_tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The tab of one browser for all tests of a process."""
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def tab(only_tab: Page) -> Page:
    """A tab that remembers nothing of the tests of other modules."""
    only_tab.send("Storage.clearDataForOrigin", origin="file://", storageTypes="all")
    return only_tab
