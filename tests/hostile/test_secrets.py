"""Secrets: no file that a team submits makes public what only the organiser knows.

Each siege checks so for what is never public; here are the scores that are not public yet.
"""

from __future__ import annotations

import os

import pytest

from tests.hostile import bombs
from tests.hostile.sieges import UNSEEN, Siege

GUESSES = {
    "finds-everything": f"q1:apple,pear,{UNSEEN[0]}\nq2:fig,grape,{UNSEEN[1]}\nq3:lemon,{UNSEEN[2]}\n",
    "finds-what-is-hidden": "q2:fig\nq3:plum,lemon\n",
    "finds-one-hidden-item": "q3:plum,peach,lemon\n",
    "finds-nothing": "q1:plum\n",
    "asks-for-items": "q4:apple,pear,fig,grape,lemon,plum,cherry\n",
    "asks-for-queries": "q1:apple\nq5:apple\nq6:apple\n",
    "breaks-behind-lists": "q1:apple,pear\nq2:fig\nq3;lemon\n",
    "has-a-score-that-is-none": "query,item,score\nq1,apple,1\nq2,fig,nan\n",
    "leaves-hidden-queries-out": "q1:apple,pear\n",
    "lists-items-again": "q2:fig,fig,fig\nq3:lemon,lemon\n",
}
"""Files that guess at the hidden part of the solution, by team."""


@pytest.fixture(scope="module")
def sieges(tmp_path_factory: pytest.TempPathFactory) -> tuple[Siege, Siege]:
    """The same challenge twice: while it is open, and when it is over."""
    pair = []
    for stage in "preliminary", "final":
        siege = Siege(tmp_path_factory.mktemp(stage) / "challenge", stage=stage)
        for team, content in GUESSES.items():
            (siege.main / team).mkdir()
            (siege.main / team / "lists.txt").write_text(content, encoding="utf-8")
        (siege.main / "link.txt").symlink_to("../../solutions/main.txt")
        (siege.main / "hard.txt").hardlink_to(siege.solution)
        (siege.main / "passwd.txt").symlink_to("/etc/passwd")
        (siege.main / "damaged.txt").write_bytes(bombs.broken_pages())
        siege.answer = siege.run("run")
        pair.append(siege)
    return pair[0], pair[1]


def public(siege: Siege) -> bytes:
    """All bytes of the site, hidden files included, and of the board in the terminal."""
    files = [path.read_bytes() for path in (siege.folder / "site").rglob("*") if path.is_file()]
    forms = [siege.run("leaderboard", "--format", form).out.encode() for form in ("table", "csv", "json", "markdown")]
    return b"".join((*files, *forms))


def test_no_final_score_is_public_before_its_time(sieges: tuple[Siege, Siege]) -> None:
    """No score of the final board that is not one of the preliminary board, too."""
    early, late = sieges
    shown = {f"{value:.4f}" for row in early.board().values() for value in row.values() if isinstance(value, float)}
    final = {
        f"{row[measure]:.4f}"
        for row in late.board().values()
        for measure in ("nDCG@5", "AP", "RR")
        if row[measure] is not None
    }
    hidden = final - shown
    assert len(hidden) > 5
    content = public(early)
    for score in hidden:
        assert score.encode() not in content, score


def test_the_preliminary_board_depends_on_no_hidden_query(sieges: tuple[Siege, Siege]) -> None:
    """Teams that differ only in hidden queries have the same scores."""
    rows = sieges[0].board()
    for team in "finds-what-is-hidden", "finds-one-hidden-item", "asks-for-items", "lists-items-again":
        assert [score for name, score in rows[team].items() if name.endswith(("nDCG@5", "AP", "RR"))] == [0, 0, 0]


@pytest.mark.parametrize("which", [0, 1], ids=["preliminary", "final"])
def test_nothing_of_the_solution_is_public(which: int, sieges: tuple[Siege, Siege]) -> None:
    """Nor of other files: what a team guesses is on no page either."""
    siege = sieges[which]
    siege.check_secrets()
    content = public(siege)
    passwd = os.fsencode("root:x:0:0")
    for secret in (passwd, b"fig|2", b"apple|3", b"Traceback", str(siege.folder.parent).encode()):
        assert secret not in content
