"""Imports that are killed at any moment leave no part of a challenge, and can be repeated."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from scorer.record.events import Event
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.bundles import url_of
from tests.commands import command, here, process
from tests.databases import NewPlace
from tests.organising.test_kill import KILLED
from tests.paths import tree

KILLS = 12


def options(new_place: NewPlace) -> list[str]:
    """The arguments for a new database; none for a file in the folder."""
    url = url_of(new_place())
    return [] if url is None else ["--database", url]


def record(folder: Path) -> list[Event]:
    """All events of a challenge."""
    with Store.open(read_challenge(folder).database_address, create=False) as store:
        return store.read(lambda view: list(view.events()))


def repeated(bundle: Path, folder: Path, database: list[str]) -> Mapping[str, bytes]:
    """Import once more, after a kill that left nothing of the folder; return the files of the site."""
    assert not folder.exists()
    answer = process("import", bundle, folder, *database)
    assert answer.code == 0, answer.err
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    return tree(folder / "site")


@pytest.fixture
def undisturbed(bundle: Path, tmp_path: Path, new_place: NewPlace) -> tuple[Path, float]:
    """The folder of an import that was not killed, and the seconds that it took."""
    began = time.monotonic()
    folder = tmp_path / "undisturbed" / "challenge"
    assert process("import", bundle, folder, *options(new_place)).code == 0
    return folder, time.monotonic() - began


@pytest.mark.endurance
def test_an_import_killed_after_its_rows_were_stored_can_be_repeated(
    bundle: Path, undisturbed: tuple[Path, float], tmp_path: Path, new_place: NewPlace
) -> None:
    """Before the folder gets its name: a database on a server has all rows then, and the next import finds them."""
    folder, database = tmp_path / "killed" / "challenge", options(new_place)
    killed = subprocess.run(
        [*command("os.rename", str(folder), "import", bundle, folder, *database, program=KILLED)], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(list(folder.parent.iterdir())) == 2  # a temporary folder and its lock

    assert repeated(bundle, folder, database) == tree(undisturbed[0] / "site")
    assert record(folder) == record(undisturbed[0])


@pytest.mark.endurance
def test_an_import_killed_at_any_moment_can_be_repeated(
    bundle: Path, undisturbed: tuple[Path, float], tmp_path: Path, new_place: NewPlace
) -> None:
    """The log and the site are those of an import that was not killed."""
    chance = random.Random(KILLS)
    wanted, seconds = undisturbed
    hits = 0
    for number in range(KILLS):
        folder, database = tmp_path / f"{number}" / "challenge", options(new_place)
        with subprocess.Popen(
            command("import", bundle, folder, *database), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as running:
            time.sleep(seconds * (number + chance.random()) / KILLS)
            running.kill()
        if folder.exists():  # it was complete
            assert tree(folder / "site") == tree(wanted / "site")
            continue
        hits += 1
        assert repeated(bundle, folder, database) == tree(wanted / "site")
        assert record(folder) == record(wanted)
    assert hits >= KILLS // 2


def test_a_killed_export_leaves_no_bundle(bundle: Path, tmp_path: Path) -> None:
    """Before the file gets its name; the next export removes what was left."""
    target = tmp_path / "b.zip"
    arguments = ("export", target, "--challenge", bundle.parent / "challenge", "--solutions", "--files")
    killed = subprocess.run([sys.executable, "-c", KILLED, "os.rename", str(target), *map(str, arguments)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not target.exists()

    assert here(*arguments).code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]
    assert target.read_bytes() == bundle.read_bytes()
