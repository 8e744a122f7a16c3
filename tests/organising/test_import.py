"""The import of submissions: what arrives is recorded once, and nothing is withdrawn by mistake."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from scorer.board.reports.leaderboard import to_json
from scorer.board.site.pages import Publish, SiteContent, site_files
from scorer.files import FileBelow, digest
from scorer.limits import Limits
from scorer.lists.solution import Solution
from scorer.live.entry import arrival, submissions
from scorer.measures import gain
from scorer.organising.render import boards
from scorer.organising.run import carry_out, plan
from scorer.organising.scan import import_submissions, rechecking, scan
from scorer.scoring.executors.base import Serial
from scorer.scoring.outcomes import Rules
from scorer.scoring.submission import score
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import Challenge, Track
from scorer.store import rows
from scorer.store.events import Basis, Submission
from scorer.store.store import Store
from tests.commands import Terminal, here, process

TOML = """\
name = "Arrivals"

[tracks.main]
title = "Main"
solution = "solution.txt"
list_length = 5
cutoffs = [1, 5]
primary = "MARp"
measures = ["AP"]
"""

QUERIES = [f"q{number}" for number in range(30)]
ITEMS = [f"i{number}" for number in range(40)]


def lists(seed: str) -> str:
    """Five random items for each query, in VL.NET's format."""
    chance = random.Random(seed)
    return "".join(f"{query}:{','.join(chance.sample(ITEMS, 5))}\n" for query in QUERIES)


def solution(seed: str) -> str:
    """Four graded items for each query, in VL.NET's format; no query is flagged."""
    chance = random.Random(seed)
    return "".join(f"{query}:0:{','.join(f'{item}|1' for item in chance.sample(ITEMS, 4))}\n" for query in QUERIES)


def send(folder: Path, team: str, seed: str = "") -> Path:
    """Put a file of a team into the folder of submissions, as a careful upload does: complete, by renaming it."""
    file = folder / "submissions" / "main" / f"20110418T100000Z-{team}.txt"
    part = file.with_name(f".{file.name}")
    part.write_text(lists(seed or team), encoding="utf-8")
    part.rename(file)
    return file


def write_challenge(folder: Path) -> Path:
    """Write a challenge with two teams."""
    (folder / "challenge.toml").write_text(TOML, encoding="utf-8")
    (folder / "solution.txt").write_text(solution("solution"), encoding="utf-8")
    (folder / "submissions" / "main").mkdir(parents=True)
    send(folder, "amber")
    send(folder, "birch")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A challenge with two teams."""
    return write_challenge(tmp_path)


@pytest.fixture
def track(folder: Path) -> Track:
    """Its track."""
    return read_challenge(folder).tracks[0]


def scanned(track: Track) -> list[Submission]:
    """What a scan of the folder finds now."""
    return [submission for _, submission in scan(track, Limits(), {}, {}, ()).submissions]


def states(store: Store) -> dict[str, bool]:
    """Whether each submission is present, by its file and the first digits of its digest."""
    found = store.read(lambda view: submissions(view.events("main")).values())
    return {f"{each.submission.file} {each.submission.digest[:4]}": each.present for each in found}


def test_a_file_that_arrives_after_the_scan_is_not_withdrawn(folder: Path, track: Track) -> None:
    """One run scans; a file arrives, and another run records it; then the first run records its scan."""
    with Store.open(folder / "scores.db") as store:
        earlier = scanned(track)
        send(folder, "cedar")
        import_submissions(store, "main", scanned(track), rechecking(track, Limits()))
        import_submissions(store, "main", earlier, rechecking(track, Limits()))

        assert list(states(store).values()) == [True, True, True]
        assert {event.kind for event in store.read(lambda view: view.events())} == {"arrival"}


def test_a_file_replaced_after_the_scan_keeps_its_new_content(folder: Path, track: Track) -> None:
    """The scan with the old content does not bring it back."""
    with Store.open(folder / "scores.db") as store:
        earlier = scanned(track)
        file = send(folder, "amber", "other lists")
        import_submissions(store, "main", scanned(track), rechecking(track, Limits()))
        import_submissions(store, "main", earlier, rechecking(track, Limits()))

        present = [key for key, is_present in states(store).items() if is_present and "amber" in key]
    assert present == [f"main/{file.name} {digest(file)[:4]}"]


def test_submissions_of_another_source_are_never_withdrawn(folder: Path, track: Track) -> None:
    """An import of the folder knows only what it imported."""
    other = Submission("main", "delta", "uploads/1", "d" * 64, scanned(track)[0].received)
    with Store.open(folder / "scores.db") as store:
        with store.database.writing() as connection:
            store._append(connection, [("main", "arrival", arrival(other, "service"))])
        import_submissions(store, "main", scanned(track), rechecking(track, Limits()))

        assert states(store)["uploads/1 dddd"]


@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.endurance)])
def test_runs_at_the_same_time_while_files_arrive(count: int, folder: Path) -> None:
    """Nothing is withdrawn, nothing is lost, nobody is refused, and the last run leaves nothing to do."""
    teams = [f"team-{number}" for number in range(12)]

    def arrive() -> None:
        for team in teams:
            send(folder, team)
            time.sleep(0.05)

    with ThreadPoolExecutor(count + 1) as pool:
        arriving = pool.submit(arrive)
        answers = list(pool.map(lambda _: process("run", folder, timeout=600), range(count)))
        arriving.result()
    last = here("run", folder)

    assert {answer.code for answer in answers} == {0}, [answer.err for answer in answers if answer.code]
    assert (last.code, last.err) == (0, last.err)
    with Store.open(folder / "scores.db") as store:
        events = store.read(lambda view: view.events())
        board = store.read(lambda view: boards(view, read_challenge(folder).tracks))[0]
    assert [event.index for event in events] == list(range(1, len(events) + 1))
    assert {event.kind for event in events} == {"arrival", "basis"}
    assert sum(event.kind == "arrival" for event in events) == 14
    assert sum(row.rank is not None for row in board.rows) == 14
    assert {team for team in teams if f">{team}<" not in (folder / "site/main/index.html").read_text()} == set()


# Derived rows


def test_a_new_measure_reads_no_submission(folder: Path, terminal: Terminal) -> None:
    """Its means are computed from the stored judged items, and equal those of scoring the files."""
    assert terminal.run("run", folder).code == 0
    changed = TOML.replace('["AP"]', '["AP", "nDCG@5", "GMAP"]')
    (folder / "challenge.toml").write_text(changed, encoding="utf-8")

    answer = terminal.run("run", folder)

    assert "main: 0 scored, 2 known" in answer.err
    track = read_challenge(folder).tracks[0]
    read = Solution.read(track.solution_path)
    outcome = score(read, folder / "submissions/main/20110418T100000Z-amber.txt", Rules.of(track))
    with Store.open(folder / "scores.db") as store:
        (board,) = store.read(lambda view: boards(view, [track]))
    (row,) = [row for row in board.rows if row.team.name == "amber"]
    assert row.entry is not None
    assert row.entry.final == tuple(round(mean, 4) for mean in outcome.means())  # type: ignore[union-attr]


def test_a_render_shows_a_new_measure_before_the_next_run(folder: Path, terminal: Terminal) -> None:
    """The board does not depend on whether its means are stored."""
    assert terminal.run("run", folder).code == 0
    (folder / "challenge.toml").write_text(TOML.replace('["AP"]', '["AP", "RR"]'), encoding="utf-8")
    assert terminal.run("render", folder).code == 0
    before = json.loads((folder / "site/main/leaderboard.json").read_text())
    assert terminal.run("run", folder).code == 0
    after = json.loads((folder / "site/main/leaderboard.json").read_text())

    assert after == before | {"log": after["log"]}  # the run recorded a basis
    assert "RR" in before["columns"]


def test_means_of_earlier_versions_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 gave a negative grade the gain of grade 0. The board has the right score before the next run and after.

    The judged items are as they were, so nothing is scored again.
    """
    toml = '[tracks.main]\ntitle = "Main"\nsolution = "solution.csv"\nlist_length = 5\nstage = "final"\n'
    toml += 'primary = "nDCG(gain={0:1,1:4})"\n'
    (tmp_path / "challenge.toml").write_text(f'name = "Gains"\n{toml}', encoding="utf-8")
    (tmp_path / "solution.csv").write_text("query,item,grade\nq,a,1\nq,b,-1\nq,c,0\n", encoding="utf-8")
    (tmp_path / "submissions/main").mkdir(parents=True)
    (tmp_path / "submissions/main/amber.txt").write_text("q:b,a\n", encoding="utf-8")
    challenge = read_challenge(tmp_path)

    def shown() -> float | None:
        with Store.open(tmp_path / "scores.db") as store:
            (board,) = store.read(lambda view: boards(view, challenge.tracks))
        return board.shown_scores(board.rows[0].entry)[0]

    def run() -> int:
        with Store.open(tmp_path / "scores.db") as store:
            work = plan(store, challenge, challenge.tracks[0])
            return len(list(carry_out(store, work, Serial())))

    with monkeypatch.context() as earlier:
        mapped = gain._mapped_gains
        earlier.setattr(gain, "_mapped_gains", lambda table, grade: mapped(table, np.maximum(grade, 0)))
        earlier.setattr(rows, "MEASURE_GENERATION", 1)
        assert run() == 1
        assert shown() == 0.6868
    assert shown() == 0.545
    assert run() == 0
    assert shown() == 0.545


def test_rendering_holds_no_lock(folder: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """While pages are rendered, another process may write without waiting; the page shows the earlier state."""
    assert terminal.run("run", folder).code == 0

    def files_while_another_writes(content: SiteContent, publish: Publish) -> dict[str, str | bytes]:
        send(folder, "cedar")
        with Store.open(folder / "scores.db", wait=0.0) as other:
            list(carry_out(other, plan(other, content.challenge, content.challenge.tracks[0])))
        return site_files(content, publish)

    monkeypatch.setattr("scorer.organising.render.site_files", files_while_another_writes)
    assert terminal.run("render", folder).code == 0
    assert ">cedar<" not in (folder / "site/main/index.html").read_text()

    monkeypatch.undo()
    assert terminal.run("render", folder).code == 0
    assert ">cedar<" in (folder / "site/main/index.html").read_text()


# Solutions


def test_an_earlier_solution_can_be_scored_again(folder: Path, terminal: Terminal) -> None:
    """Its bytes are stored by digest, for the owner only. Until the next run, a render shows the earlier scores."""
    assert terminal.run("run", folder).code == 0
    first = digest(folder / "solution.txt")
    before = terminal.run("leaderboard", folder, "--format", "csv").out
    board = (folder / "site/main/leaderboard.json").read_text()
    (folder / "solution.txt").write_text(solution("corrected"), encoding="utf-8")
    rendered = terminal.run("render", folder)
    assert (rendered.code, "the solution has changed since the track was scored" in rendered.err) == (0, True)
    assert (folder / "site/main/leaderboard.json").read_text() == board
    assert terminal.run("run", folder).code == 0
    assert terminal.run("leaderboard", folder, "--format", "csv").out != before

    stored = folder / "scores.db.solutions"
    assert {file.name for file in stored.iterdir()} == {first, digest(folder / "solution.txt")}
    assert stored.stat().st_mode & 0o777 == 0o700
    assert (stored / first).stat().st_mode & 0o777 == 0o600
    shutil.copy(stored / first, folder / "solution.txt")
    answer = terminal.run("run", folder)
    assert "main: 0 scored, 2 known" in answer.err
    assert terminal.run("leaderboard", folder, "--format", "csv").out == before


def test_bases_are_recorded_with_all_settings(folder: Path, terminal: Terminal) -> None:
    """A changed setting adds a basis; the same settings add none."""
    for toml in (TOML, TOML, TOML.replace("list_length = 5", "list_length = 5\ndecimals = 2")):
        (folder / "challenge.toml").write_text(toml, encoding="utf-8")
        assert terminal.run("run", folder).code == 0

    with Store.open(folder / "scores.db") as store:
        bases = [event for event in store.read(lambda view: view.events()) if event.kind == "basis"]
    assert [event.values["settings"]["decimals"] for event in bases] == [4, 2]
    assert bases[0].values["settings"]["primary"] == "MARp"
    assert bases[0].values["generations"] == {"matching": 1, "measures": 3}
    assert all(event.at is not None for event in bases)


def test_boards_are_the_same_on_every_store(folder: Path) -> None:
    """The same files give the same boards, regardless of the identity and the times of the database."""
    challenge: Challenge = read_challenge(folder)
    seen = []
    for name in ("one.db", "two.db"):
        with Store.open(folder / name) as store:
            list(carry_out(store, plan(store, challenge, challenge.tracks[0])))
            seen.append([to_json(board) for board in store.read(lambda view: boards(view, challenge.tracks))])
    assert seen[0] == seen[1]


def test_a_basis_without_rules_of_schema_2_is_compared_by_the_digest_of_schema_1() -> None:
    """Only then: a basis of schema 2 has its own digest."""
    assert Basis("s", "", "v1").has_rules_of(Basis("s", "m", "v1"))
    assert not Basis("s", "", "v1").has_rules_of(Basis("s", "m", "other"))
    assert not Basis("s", "n", "v1").has_rules_of(Basis("s", "m", "v1"))


# Files that have not changed


@pytest.fixture
def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the submissions that are opened, in order."""
    names: list[str] = []
    genuine = FileBelow.open

    def open_file(file: FileBelow, mode: str = "rb") -> object:
        names.append(file.name)
        return genuine(file, mode)

    monkeypatch.setattr(FileBelow, "open", open_file)
    return names


def planned(folder: Path, *, verify: bool = False) -> set[str]:
    """Plan a run; return the digests of the pending submissions."""
    challenge = read_challenge(folder)
    with Store.open(folder / "scores.db") as store:
        work = plan(store, challenge, challenge.tracks[0], verify_files=verify)
    return {submission.digest for _, submission in work.pending}


def test_a_settled_file_is_not_read_again(
    folder: Path, opened_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its digest is stored, but not at once: times of file systems are coarse. `--verify-files` reads all."""
    digests = planned(folder)
    assert len(digests) == len(opened_files) == 2
    assert planned(folder) == digests
    assert len(opened_files) == 4
    monkeypatch.setattr("scorer.organising.files.SETTLED", 0.0)
    assert planned(folder) == digests
    opened_files.clear()

    assert planned(folder) == digests
    assert opened_files == []
    assert planned(folder, verify=True) == digests
    assert len(opened_files) == 2


def test_a_changed_file_with_its_old_size_and_time_is_read_again(
    folder: Path, opened_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time at which its status changed cannot be set."""
    monkeypatch.setattr("scorer.organising.files.SETTLED", 0.0)
    before = planned(folder)
    opened_files.clear()
    file = next(iter((folder / "submissions" / "main").iterdir()))
    status, text = file.stat(), file.read_text()
    time.sleep(0.05)
    file.write_text(text[:-2] + ("1" if text[-2] != "1" else "2") + "\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)

    after = planned(folder)

    assert opened_files[:1] == [file.name]
    assert len(after - before) == 1
