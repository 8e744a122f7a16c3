"""Kept submissions: what was scored can be scored again, also after its team has replaced or removed the file."""

from __future__ import annotations

import gzip
import hashlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from scorer.errors import ChallengeError
from scorer.files import digest
from scorer.organising.doctor import examine
from scorer.organising.picks import forget
from scorer.organising.run import carry_out, plan
from scorer.scoring.executors.base import Processes
from scorer.scoring.executors.dask import Dask
from scorer.scoring.outcomes import Failed
from scorer.store.sidecar import KEPT_SUBMISSIONS, Archive
from tests.bundles import exported, imported, members
from tests.commands import Terminal
from tests.live_challenges import BEFORE, CORRECTED, GOOD, OTHER, POOR, Live, day, ranks, ranks_after_run
from tests.organising.test_kill import KILLED
from tests.scoring.test_executors import cluster_in

CEDAR = f"{GOOD}q9:a\n"
"""The lists of a file that cedar replaces."""
LATE = f"{OTHER}q9:b\n"
"""The lists of a file that comes too late."""
OTHERS = f"{POOR}q9:c\n"
"""The lists of a file that replaces another one after the close."""


def started(folder: Path, *, keeps: bool = True) -> Live:
    """A challenge after its first phase, with four entries that count, and two that are late."""
    live = Live.graded(folder)
    if not keeps:
        live.edit('name = "Live"\n', 'name = "Live"\nkeep_submissions = false\n')
    live.run(BEFORE)
    for hour, (team, lists) in enumerate((("amber", GOOD), ("birch", OTHER), ("cedar", CEDAR), ("dune", POOR))):
        live.put(f"{team}/1.txt", lists, day(10, hour))
    live.put("amber/late.txt", LATE, day(22))
    live.put("elm/late.txt", GOOD, day(22))
    live.run(day(23))
    return live


def vanish(live: Live) -> None:
    """After the close, teams replace and remove files, also late ones."""
    live.put("cedar/1.txt", OTHERS, day(23))
    live.put("amber/late.txt", OTHERS, day(23))
    for file in ("birch/1.txt", "dune/1.txt", "elm/late.txt"):
        (live.folder / "submissions" / "main" / file).unlink()
    live.run(day(23, 14))


def kept(live: Live) -> Archive:
    """The bytes that are kept."""
    return Archive(live.folder / f"scores.db{KEPT_SUBMISSIONS}", is_compressed=True)


def sha256(lists: str) -> str:
    """The digest of a file."""
    return hashlib.sha256(lists.encode()).hexdigest()


def outcomes(live: Live, number: int) -> list[tuple[str, str, object]]:
    """The entries of a board with their outcomes and scores, without the files that replaced others."""
    rows = live.board(day(number)).rows
    entries = sorted((each for row in rows for each in row.entries), key=lambda each: each.index)
    return [(each.file, each.outcome, each.preliminary) for each in entries if each.received < day(23)]


@pytest.mark.parametrize("name", ["processes", pytest.param("dask", marks=pytest.mark.endurance)])
def test_an_erratum_scores_what_teams_replaced_or_removed(name: str, tmp_path: Path) -> None:
    """Preview and apply work, and the boards are those of a challenge whose files stay in place. Workers of a cluster
    need not see the kept bytes.
    """
    found = []
    for change in (vanish, lambda _: None):
        live = started(tmp_path / change.__name__)
        change(live)
        with cluster_in(tmp_path) if name == "dask" and change is vanish else nullcontext() as cluster:
            live.executor = Processes(2) if cluster is None else Dask(cluster.address)
            live.write_solution(CORRECTED)
            previewed = live.preview(day(24))
            applied = live.apply(day(24, 13))[1]
        assert previewed == applied
        after = {each.team.folder: (each.before, each.after) for each in applied.teams}
        found.append((after, ranks(live.board(day(26))), outcomes(live, 26)))

    assert found[0] == found[1]
    assert found[0][1]["birch"] == (1, 1.0)
    assert {outcome for _, outcome, _ in found[0][2]} == {"scored"}


def test_a_late_entry_never_holds_up_an_erratum(tmp_path: Path) -> None:
    """Also without kept bytes: only an entry that may count does."""
    live = started(tmp_path / "live", keeps=False)
    live.put("amber/late.txt", POOR, day(23))
    (live.folder / "submissions" / "main" / "elm" / "late.txt").unlink()
    live.run(day(23, 14))
    live.write_solution(CORRECTED)
    live.preview(day(24))

    assert live.apply(day(24, 13))[0].number == 1


def test_without_keeping_an_erratum_needs_the_files(tmp_path: Path) -> None:
    """`keep_submissions = false`: an entry without a file holds up an erratum, or loses its score."""
    live = started(tmp_path / "live", keeps=False)
    vanish(live)
    live.write_solution(CORRECTED)
    live.preview(day(24))

    with pytest.raises(ChallengeError, match="3 entries cannot be scored by the new rules"):
        live.apply(day(24, 13))
    live.apply(day(24, 13), without_missing=True)

    assert ranks(live.board(day(26)))["birch"] == (None, None)
    assert not kept(live).folder.exists()


def test_only_the_owner_can_read_kept_bytes(tmp_path: Path) -> None:
    """Each content is kept once, as it was."""
    live = started(tmp_path / "live")
    found = kept(live)

    assert stat.S_IMODE(found.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in found.folder.iterdir()} == {0o600}
    assert found.digests() == sorted(map(sha256, (GOOD, OTHER, CEDAR, POOR, LATE)))
    assert [digest(found.file(each)) for each in found.digests()] == found.digests()


def test_the_settings_of_rules_are_the_same(tmp_path: Path) -> None:
    """Whether bytes are kept is no rule: a changed value records nothing."""
    live = started(tmp_path / "live")
    before = live.events()
    live.edit('name = "Live"\n', 'name = "Live"\nkeep_submissions = false\n')

    live.run(day(24))

    assert live.events() == before


def test_a_run_keeps_what_was_scored_before(tmp_path: Path) -> None:
    """Of a database without kept bytes, as earlier versions made it: nothing is scored again."""
    live = started(tmp_path / "live", keeps=False)
    live.edit("keep_submissions = false\n", "")

    live.run(day(24))

    assert live.outcomes == []
    assert sha256(CEDAR) in kept(live)
    vanish(live)
    live.write_solution(CORRECTED)
    live.preview(day(25))
    assert live.apply(day(25, 13))[0].number == 1


def test_what_is_withdrawn_before_the_close_is_not_kept(tmp_path: Path) -> None:
    """Nothing needs its bytes; those of its copy in another folder stay."""
    live = Live.graded(tmp_path / "live")
    live.run(BEFORE)
    for team, lists in (("amber", GOOD), ("birch", OTHER), ("cedar", POOR), ("dune", GOOD)):
        file = live.put(f"{team}/1.txt", lists, day(10))
    live.run(day(10, 13))
    live.put("birch/1.txt", LATE, day(11))
    file.unlink()
    live.run(day(11, 13))
    assert kept(live).digests() == sorted(map(sha256, (GOOD, LATE, POOR)))

    live.put("birch/1.txt", OTHER, day(11, 14))
    live.run(day(11, 15))
    assert kept(live).digests() == sorted(map(sha256, (GOOD, OTHER, POOR)))


def test_forget_deletes_kept_bytes(tmp_path: Path, terminal: Terminal) -> None:
    """A run scores the file again, and keeps it again; without a file, nothing brings the score back."""
    live = started(tmp_path / "live")
    vanish(live)
    for file, lists in (("main/amber/1.txt", GOOD), ("main/birch/1.txt", OTHER)):
        live.do(day(24), lambda challenge, store: forget(challenge, store, file, "wrong"))  # noqa: B023
        assert sha256(lists) not in kept(live)

    board = ranks_after_run(live, day(24, 13))

    assert (board["amber"][0], board["birch"]) == (1, (None, None))
    assert (sha256(GOOD) in kept(live), sha256(OTHER) in kept(live)) == (True, False)
    answer = terminal.run("forget", "main/elm/late.txt", "--reason", "wrong", "--challenge", live.folder)
    assert "are dropped, as those of 1 other entry with the same content; `scorer run` scores it again" in answer.out


def test_a_file_that_changes_before_it_is_scored_has_no_result(tmp_path: Path) -> None:
    """The bytes that are kept are those that are scored: neither or both."""
    live = started(tmp_path / "live")
    file = live.put("cedar/1.txt", LATE.replace("b", "c"), day(26))
    found = sha256(file.read_text())

    def replaced(challenge: object, store: object) -> list[object]:
        work = plan(store, live.challenge, live.challenge.tracks[0])  # type: ignore[arg-type]
        file.write_text(POOR)
        return [outcome for _, outcome in carry_out(store, work, live.executor)]  # type: ignore[arg-type]

    (outcome,) = live.do(day(26), replaced)

    assert isinstance(outcome, Failed)
    assert not outcome.is_counted
    assert found not in kept(live)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_kept_bytes_are_scored_as_their_file(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """A large file of several blocks, and a compressed one."""
    live = started(tmp_path / "live")
    file = live.put("fir/large.txt", "", day(26))
    lists = "".join(f"x{number}:{','.join(f'{item:0100}' for item in range(5))}\n" for number in range(20_000))
    file.write_bytes(pack((OTHER + lists).encode()))
    os.utime(file, (day(26).timestamp(),) * 2)
    live.run(day(26))
    file.unlink()
    live.write_solution(CORRECTED)

    live.preview(day(31))
    live.apply(day(31))

    assert ranks_after_run(live, day(31))["fir"] == ranks_after_run(live, day(31))["birch"]


def test_a_bundle_has_kept_bytes_once(tmp_path: Path) -> None:
    """Also those of entries whose file is gone. The import scores them for an erratum, and exports the same bundle."""
    live = started(tmp_path / "live")
    vanish(live)
    exported(live, tmp_path / "b.zip", day(23, 15))
    names = [name for name in members(tmp_path / "b.zip") if name.startswith("submissions/") and len(name) > 70]
    assert names == sorted(f"submissions/{sha256(each)}" for each in (GOOD, OTHER, CEDAR, POOR, LATE, OTHERS))

    new = imported(tmp_path / "b.zip", tmp_path / "new", day(23, 16))

    assert kept(new).digests() == kept(live).digests()
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept(new).folder.iterdir()} == {0o600}
    exported(new, tmp_path / "again.zip", day(23, 17))
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    for each in (live, new):
        each.write_solution(CORRECTED)
        each.preview(day(24))
        each.apply(day(24, 13))
    assert ranks(new.board(day(26))) == ranks(live.board(day(26)))
    exported(new, tmp_path / "small.zip", day(26), files=False)
    assert not any(name.startswith("submissions/") and len(name) > 70 for name in members(tmp_path / "small.zip"))


def test_doctor_checks_kept_bytes(tmp_path: Path) -> None:
    """A file that is gone is no problem while its bytes are kept; damaged bytes are."""
    live = started(tmp_path / "live")
    vanish(live)

    def problems(challenge: object, store: object) -> list[str]:
        return [each for _, found in examine(challenge, store) for each in found]  # type: ignore[arg-type]

    assert live.do(day(24), problems) == []
    path = kept(live).path(sha256(OTHER))
    path.write_bytes(path.read_bytes()[:-1])
    (problem,) = live.do(day(24), problems)
    assert f"{path}: is damaged; delete it" in problem
    path.unlink()
    (problem,) = live.do(day(24), problems)
    assert problem == "main/birch/1.txt: is recorded and missing; restore it, it still counts, but errata need it"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_run_killed_while_it_keeps_bytes_leaves_no_incomplete_file(tmp_path: Path, terminal: Terminal) -> None:
    """The next run keeps and scores all, and removes what the killed one left."""
    live = Live.graded(tmp_path / "live", rules='stage = "final"\n', phases="")
    for team, lists in (("amber", GOOD), ("birch", OTHER)):
        live.put(f"{team}/1.txt", lists, day(10))

    killed = subprocess.run([sys.executable, "-c", KILLED, "os.rename", ".zst", "run", live.folder], check=False)

    assert killed.returncode == -signal.SIGKILL
    assert kept(live).digests() == []
    assert list(kept(live).folder.iterdir())
    assert terminal.run("run", live.folder).code == 0
    assert sorted(path.name for path in kept(live).folder.iterdir()) == sorted(
        f"{sha256(each)}.zst" for each in (GOOD, OTHER)
    )
