"""Folders of the private site of an organiser: those that are refused, and one whose render was stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scorer.board.site import folder as site_folder
from tests.commands import here
from tests.live_challenges import BEFORE, GOOD, Live, day
from tests.paths import tree

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.fixture(scope="module")
def challenge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge with a public site."""
    live = Live.graded(tmp_path_factory.mktemp("private") / "live")
    live.run(BEFORE)
    live.submit("main/amber.txt", GOOD, day(11))
    live.run_and_render(day(11, 13))
    return live.folder


def test_folders_that_others_read_are_refused(challenge: Path, tmp_path: Path) -> None:
    """Those of the public site, of the submissions, of any other files, and a public site that nobody else reads."""
    (tmp_path / "link").symlink_to(challenge / "site")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("text")
    shutil.copytree(challenge / "site", tmp_path / "old")
    (tmp_path / "old").chmod(0o700)
    before = tree(challenge / "site"), tree(tmp_path / "old"), tree(challenge / "submissions")
    for folder, why in {
        challenge / "site": "its files become public",
        challenge / "site" / "own": "its files become public",
        tmp_path / "link": "its files become public",
        challenge / "submissions" / "main" / "own": "a run reads its files",
        challenge / "solutions": "has files that are no private site",
        tmp_path / "old": "has files that are no private site",
        tmp_path / "file": "has files that are no private site",
        tmp_path / "file" / "own": "cannot be used: Not a directory; name another folder",
        tmp_path / "loop": "cannot be used: ",
    }.items():
        answer = here("render", "--organiser", folder, "-C", challenge)
        assert (answer.code, answer.out) == (1, "")
        assert answer.err.startswith(f"{folder}: {why}"), answer
        assert answer.err.count("\n") == 1
    assert before == (tree(challenge / "site"), tree(tmp_path / "old"), tree(challenge / "submissions"))


def test_a_render_that_was_stopped_is_completed(
    challenge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next one, in the same folder."""
    call = "render", "--organiser", tmp_path / "own", "-C", challenge
    written, replace = [], site_folder._replace

    def stopped(file: Path, content: bytes) -> bool:
        written.append(file)
        if len(written) == 5:
            raise KeyboardInterrupt
        return replace(file, content)

    with monkeypatch.context() as patch:
        patch.setattr(site_folder, "_replace", stopped)
        assert here(*call).code == 130
    assert here(*call).code == 0
    whole = here("render", "--organiser", tmp_path / "whole", "-C", challenge)
    assert whole.code == 0
    assert tree(tmp_path / "own") == tree(tmp_path / "whole")
