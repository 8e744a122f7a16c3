"""Files below a folder that others write to: no link is followed, and nothing but a regular file is opened."""

from __future__ import annotations

import os
import pickle
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.files import BY_DESCRIPTOR, FileBelow, UnsafePathError, digest, is_regular

pytestmark = pytest.mark.skipif(not BY_DESCRIPTOR, reason="needs files that are opened relative to a folder")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file of a team, next to a secret."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "root" / "team").mkdir(parents=True)
    (tmp_path / "root" / "team" / "file").write_text("lists")
    return tmp_path / "root"


def test_a_file_is_read(root: Path) -> None:
    """By its name below the folder; the folder itself may be a link of the organiser's."""
    link = root.parent / "link"
    link.symlink_to(root)
    for folder in (root, link):
        file = FileBelow(folder, ("team", "file"))
        with file.open() as stream:
            assert stream.read() == b"lists"
        assert file.stat().st_size == 5
        assert is_regular(file)
        assert digest(file) == digest(root / "team" / "file")
        assert pickle.loads(pickle.dumps(file)) == file


LINKS: dict[str, tuple[tuple[str, ...], Callable[[Path], object]]] = {
    "a link to a file": (("evil",), lambda root: (root / "evil").symlink_to(root.parent / "secret")),
    "a relative link": (("evil",), lambda root: (root / "evil").symlink_to("../secret")),
    "a link to a neighbour": (("evil",), lambda root: (root / "evil").symlink_to("team/file")),
    "a link to nothing": (("evil",), lambda root: (root / "evil").symlink_to("nothing")),
    "a link to itself": (("evil",), lambda root: (root / "evil").symlink_to("evil")),
    "a link on the way": (("evil", "secret"), lambda root: (root / "evil").symlink_to(root.parent)),
    "a link to a folder": (("evil", "file"), lambda root: (root / "evil").symlink_to("team")),
}


@pytest.mark.parametrize("case", LINKS)
def test_a_link_is_refused(case: str, root: Path) -> None:
    """Wherever it leads."""
    parts, make = LINKS[case]
    make(root)
    with pytest.raises(UnsafePathError, match="a link; links are not followed"):
        FileBelow(root, parts).open()


def listen(path: Path) -> None:
    """Leave a socket."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, listen], ids=["pipe", "folder", "socket"])
def test_what_is_no_regular_file_is_refused(make: Callable[[Path], object], root: Path) -> None:
    """At once: opening a named pipe does not wait for a writer."""
    make(root / "odd")
    with pytest.raises(UnsafePathError, match="not a regular file"):
        FileBelow(root, ("odd",)).open()


def test_a_device_is_refused() -> None:
    """It is opened, which does nothing, and closed."""
    with pytest.raises(UnsafePathError, match="not a regular file"):
        FileBelow(Path("/dev"), ("zero",)).open()


def test_a_folder_is_listed_without_following_links(root: Path) -> None:
    """In order of the names, which are bytes."""
    (root / "evil").symlink_to(root.parent / "secret")
    (root / os.fsdecode(b"caf\xe9")).write_text("")
    (root / "caf\\udce9").write_text("")

    names = [name for name, _ in FileBelow(root, ()).list()]

    assert names == sorted(names)
    assert len(names) == 4
    assert {os.fsencode(name) for name in names} == {b"team", b"evil", b"caf\xe9", b"caf\\udce9"}
    (root / "folder").symlink_to(root / "team")
    with pytest.raises(UnsafePathError, match="a link"):
        list(FileBelow(root, ("folder",)).list())


def test_a_swap_while_files_are_opened_never_reveals_the_secret(root: Path) -> None:
    """A team that replaces its folder by a link at the right moment wins nothing."""
    team, aside = root / "team", root / "aside"
    (root.parent / "file").write_text("secret")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            team.rename(aside)
            team.symlink_to(root.parent)
            team.unlink()
            aside.rename(team)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    end = time.monotonic() + 1
    try:
        while time.monotonic() < end:
            try:
                with FileBelow(root, ("team", "file")).open() as stream:
                    seen.add(stream.read())
            except OSError:
                continue
    finally:
        stop.set()
        swapping.join()
    assert seen == {b"lists"}
