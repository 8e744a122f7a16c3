"""Updating a site: a run writes what a render from nothing writes, and nothing at all if no page would change."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

import pytest
from jinja2 import Environment
from sqlalchemy import Connection

from scorer.board.site.templates import Navigation, Page, render_page
from scorer.errors import ChallengeError, ScorerError
from scorer.organising import teams
from scorer.organising.doctor import restore
from scorer.organising.job import update
from scorer.organising.picks import forget, pick
from scorer.organising.render import render
from scorer.organising.rules import RuleSet
from scorer.organising.run import Work, carry_out, plan
from scorer.scoring.executors.base import Serial
from scorer.settings.tracks import Challenge
from scorer.store.sidecar import KEPT_SUBMISSIONS, Archive
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from tests.commands import here, process
from tests.databases import changed
from tests.live_challenges import BEFORE, GOOD, OTHER, POOR, SECOND, Live, day
from tests.paths import tree
from tests.shared import build_once
from tests.strategies import number

pytestmark = pytest.mark.usefixtures("no_pictures")

HOUR = timedelta(hours=1)

RULES = 'quota = {per_day = 2}\nentry = "picks"\nqueries = "queries.txt"\n'


def pages(folder: Path) -> dict[str, bytes]:
    """Every file of a site but the manifest."""
    return tree(folder, "[!.]*")


def times(folder: Path) -> dict[str, int]:
    """When each file of a site was last written."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def revision(live: Live) -> int:
    """The revision of the database."""
    with closing(sqlite3.connect(live.folder / "scores.db")) as connection:
        return int(connection.execute("SELECT revision FROM scorer_schema").fetchone()[0])


def run(live: Live, at: datetime) -> bool:
    """Run and update the site at a time; return whether a file of the site was written."""
    site = live.challenge.site_path
    before = times(site)
    live.run(at)
    live.do(at, update)
    return times(site) != before


def from_nothing(live: Live, at: datetime, folder: Path) -> dict[str, bytes]:
    """The pages that a render writes into an empty folder."""

    def rendered(challenge: Challenge, store: Store) -> None:
        render(challenge.model_copy(update={"site": folder}), store, pending=True)

    shown = live.folder / "scores.db.shown"
    kept = shown.read_bytes()
    live.do(at, rendered)
    shown.write_bytes(kept)
    return pages(folder)


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge after a run in its first phase, a copy of the same one for each test."""

    def build(folder: Path) -> None:
        live = Live.graded(folder, rules=RULES)
        (live.folder / "queries.txt").write_text("q1\nq2\nq3\nq4\n")
        live.run(BEFORE)
        live.put("amber/1.txt", GOOD, day(11))
        live.put("brass/1.txt", POOR, day(11))
        assert run(live, day(12))

    build_once(tmp_path / "challenge", "updated", build=build)
    return Live(tmp_path / "challenge", day(12))


def test_a_run_with_nothing_new_writes_nothing(live: Live) -> None:
    """Neither a page nor a revision. An entry whose file is gone after its phase stays; each run sees that again."""
    before = revision(live)
    assert not run(live, day(12) + HOUR)
    assert not run(live, day(12) + 2 * HOUR)
    assert revision(live) == before

    run(live, day(21))
    before = revision(live)
    (live.folder / "submissions/main/brass/1.txt").unlink()
    assert not run(live, day(21) + HOUR)
    assert not run(live, day(21) + 2 * HOUR)
    assert revision(live) == before


def test_a_file_that_is_there_again_after_its_phase_needs_no_solution(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entry stays withdrawn, and it is not scored, as after an erratum: reading the solution takes long."""
    file = live.folder / "submissions/main/brass/1.txt"
    kept = live.folder / "kept"
    file.rename(kept)
    run(live, day(12))
    kept.rename(file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for table, column in (("mean", "result_digest"), ("result", "digest")):
        gone = f"SELECT digest FROM result WHERE submission_digest = '{digest}'"
        changed(str(live.folder / "scores.db"), f"DELETE FROM {table} WHERE {column} IN ({gone})")
    run(live, day(21))

    def read(_: RuleSet) -> None:
        raise AssertionError("the solution was read")

    monkeypatch.setattr(RuleSet, "checked_solution", read)
    assert not run(live, day(21) + HOUR)


def test_a_run_reads_few_states_of_the_database(new_challenge: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no write separates is read from one snapshot: in a run of two files, and of none."""
    opened: list[Snapshot] = []
    snapshot = Store._snapshot

    def counted(store: Store, connection: Connection) -> Snapshot:
        opened.append(snapshot(store, connection))
        return opened[-1]

    monkeypatch.setattr(Store, "_snapshot", counted)
    for most in (10, 8):
        opened.clear()
        assert here("run", new_challenge).code == 0
        assert len(opened) <= most


def test_a_run_with_nothing_new_loads_no_library_for_pages(new_challenge: Path) -> None:
    """Each takes longer to load than such a run."""
    assert here("run", new_challenge).code == 0
    program = (
        "import sys\nfrom scorer.cli import main\ntry:\n    main()\nfinally:\n"
        "    heavy = {'jinja2', 'markdown_it', 'pyarrow', 'scipy', 'scorer.board.site.pages'}\n"
        "    print(sorted(heavy & set(sys.modules)))"
    )
    answer = process("run", new_challenge, program=program)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines() == [str(new_challenge / "site" / "index.html"), "[]"]


def new_file(live: Live) -> None:
    """Of another team."""
    live.put("copper/1.txt", OTHER, day(12))


def edited(name: str, text: str) -> Callable[[Live], object]:
    """Write a file of the challenge."""

    def edit(live: Live) -> None:
        path = live.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return edit


CHANGES: dict[str, Callable[[Live], object]] = {
    "a file": new_file,
    "a withdrawal": lambda live: live.path("brass/1.txt").unlink(),
    "a title": lambda live: live.edit('name = "Live"', 'name = "Alive"'),
    "a page": edited("pages/about.md", "# About\n"),
    "a template": edited("templates/404.css", "p {color: red}\n"),
    "a file of the organiser": edited("templates/static/note.txt", "hello\n"),
    "a list of queries": edited("queries.txt", "q1\nq2\nq3\nq4\nq5\n"),
    "a page that is deleted": lambda live: (live.folder / "site/main/index.html").unlink(),
    "a manifest that is deleted": lambda live: (live.folder / "site/.manifest.json").unlink(),
    "a site that is deleted": lambda live: shutil.rmtree(live.challenge.site_path),
    "an earlier board": lambda live: live.do(day(12), lambda *what: render(*what, as_of=BEFORE)),
    "a damaged file of the state": edited("scores.db.shown", "{"),
    "a page without a state": edited("scores.db.shown", '{"pages": {"teams/amber.html": []}}'),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_rendered(live: Live, tmp_path: Path, name: str) -> None:
    """The site is what a render from nothing writes, and another run with nothing new writes nothing."""
    CHANGES[name](live)
    run(live, day(12) + HOUR)
    assert pages(live.challenge.site_path) == from_nothing(live, day(12) + HOUR, tmp_path / "new")
    assert not run(live, day(12) + 2 * HOUR)


def test_each_moment_is_rendered(live: Live, tmp_path: Path) -> None:
    """Starts, freezes, ends, closes and days of quotas: the site is always what a render from nothing writes."""
    written = []
    moments = [
        day(13, 0) - SECOND,
        *(day(13, 0), day(13, 5), day(19, 0) - SECOND, day(19, 0), day(20, 0), day(20, 1) - SECOND, day(20, 1)),
        *(day(25, 0) - SECOND, day(25, 0), day(30, 0) - SECOND, day(30, 0), day(30, 5)),
    ]
    for step, moment in enumerate(moments):
        written.append(run(live, moment))
        assert pages(live.challenge.site_path) == from_nothing(live, moment, tmp_path / str(step)), moment
    changed = {moment for moment, is_written in zip(moments, written, strict=True) if is_written}
    assert changed >= {day(19, 0), day(20, 1), day(25, 0), day(30, 0)}
    assert changed.isdisjoint({day(13, 0) - SECOND, day(13, 5), day(20, 1) - SECOND, day(30, 5)})


CONTENTS = (GOOD, OTHER, POOR, "q1:a,x\nq2:e,d\nq3:f\nq4:b,a\n", "q1:a,,b\n")
"""Of files; the last one is rejected."""

FILES = ("amber", "brass", "copper", "dune", "popular")
"""The teams that they are of; the last one is a baseline."""


def any_decision(random: Random) -> Callable[[Challenge, Store], object]:
    """A decision about a team."""
    team, other, reason = random.choice(FILES), random.choice(FILES), f"reason {random.randrange(9)}"
    return random.choice(
        (
            *(
                partial(decide, team=team, reason=reason)
                for decide in (teams.disqualify, teams.withdraw, teams.reinstate)
            ),
            partial(teams.merge, team=team, into=other, reason=reason),
            partial(teams.unmerge, team=team, reason=reason),
            partial(teams.rename, team=team, name=random.choice((team, f"Team {other}", "<b>&amp;"))),
            partial(teams.describe, team=team, values={"affiliation": random.choice(("Here", "There", None))}),
        )
    )


def any_change(live: Live, random: Random, at: datetime) -> None:
    """Something that happens in a challenge or to its site."""
    team, site = random.choice(FILES), live.challenge.site_path
    pages_of_teams = sorted(site.glob("teams/*.html"))

    def tampered() -> None:
        page = random.choice(pages_of_teams)
        page.write_text(random.choice(("", page.read_text() + " ", random.choice(pages_of_teams).read_text())))
        arrived()  # without anything to render, the page stays
        run(live, at)

    def decided() -> None:
        with suppress(ScorerError):  # not twice, not of a team without entries, no two names that read alike
            live.do(at, any_decision(random))

    def forgotten() -> None:
        with suppress(ScorerError):  # there is no such entry, or it has no outcome
            live.do(at, lambda challenge, store: forget(challenge, store, str(random.randrange(30)), "It is wrong."))

    def designed() -> None:
        own = live.folder / "templates" / random.choice(("team.css", "team.html", "static/note.txt"))
        text = '{% extends "shipped/team.html" %}' if own.suffix == ".html" else f"/* {random.random()} */"
        own.unlink() if own.exists() else edited(f"templates/{own.relative_to(live.folder / 'templates')}", text)(live)

    def picked() -> None:
        index = random.choice(live.do(at, lambda _, store: store.read(lambda view: range(1, len(view.events()) + 1))))
        with suppress(ScorerError):  # no entry, or not one to pick
            live.do(at, lambda challenge, store: pick(challenge, store, [str(index)]))

    def withdrawn() -> None:
        for path in sorted((live.folder / "submissions/main").glob("*/*.txt"))[:1]:
            path.unlink()

    def edited_settings() -> None:
        live.edit('title = "', f'title = "{random.choice("XYZ")}')

    def arrived() -> None:
        live.put(f"{team}/{random.randrange(10**6)}.txt", random.choice(CONTENTS), at)

    changes = (
        [arrived] * 6
        + [decided] * 3
        + [picked, withdrawn, edited_settings, forgotten, designed, *([tampered] * 2 * bool(pages_of_teams))]
    )
    random.choice(changes)()


@pytest.mark.parametrize("seed", range(number(20)))
def test_after_any_changes_the_site_is_that_of_a_render_from_nothing(live: Live, tmp_path: Path, seed: int) -> None:
    """Pages that are not rendered again have the same bytes, and a page that somebody edited is restored."""
    random, at = Random(seed), day(12)
    for step in range(8):
        at += timedelta(hours=random.choice((1, 5, 30)))
        for _ in range(random.choice((1, 1, 2))):
            any_change(live, random, at)
        run(live, at)
        if step % 3:  # also after several runs
            assert pages(live.challenge.site_path) == from_nothing(live, at, tmp_path / str(step)), at


@pytest.mark.parametrize("seed", [50, *range(number(20))])  # 50: both of two equal files are withdrawn
def test_after_any_changes_a_loop_has_what_separate_runs_have(live: Live, tmp_path: Path, seed: int) -> None:
    """The same site, kept bytes and messages, although it follows the record and takes each scan from the last one."""
    loop = Live(tmp_path / "loop", live.now)
    shutil.copytree(live.folder, loop.folder, symlinks=True)
    randoms, at, last = (Random(seed), Random(seed)), day(12), dict[str, Work]()
    archives = [Archive(each.folder / f"scores.db{KEPT_SUBMISSIONS}", is_compressed=True) for each in (live, loop)]
    with Store.open(loop.challenge.database_address, clock=lambda: loop.now) as store:
        for _ in range(10):
            at += timedelta(hours=randoms[0].choice((1, 5, 30)))
            randoms[1].setstate(randoms[0].getstate())
            for each, random in zip((live, loop), randoms, strict=True):
                any_change(each, random, at)
            alone, loop.now = live.run(at), at
            live.do(at, update)
            work = plan(store, loop.challenge, loop.track, confirm_withdrawals=True, last=last.get("main"))
            list(carry_out(store, work, Serial()))
            update(loop.challenge, store)
            last["main"] = replace(work, solution=None)

            assert pages(loop.challenge.site_path) == pages(live.challenge.site_path), at
            assert archives[1].digests() == archives[0].digests(), at
            said = [(each.notes, each.warnings, each.not_kept, each.known) for each in (work, alone)]
            assert said[0] == said[1], at


def test_pages_of_teams_are_rendered_again_if_what_they_show_changes(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one team, if only its entries change; of all, if the ranking or a setting does; of none that was left as it
    is. A page that was edited or deleted is rendered again.
    """
    rendered: list[str] = []

    def noted(environment: Environment, navigation: Navigation, page: Page) -> str:
        rendered.append(page.path)
        return render_page(environment, navigation, page)

    monkeypatch.setattr("scorer.board.site.pages.render_page", noted)

    def rendered_teams(change: Callable[[], object]) -> set[str]:
        rendered.clear()
        change()
        run(live, live.now + HOUR)
        return {Path(path).stem for path in rendered if path.startswith("teams/")}

    site = live.challenge.site_path / "teams"
    run(live, day(12) + HOUR)
    assert rendered_teams(lambda: live.put("brass/2.txt", CONTENTS[-1], live.now)) == {"brass"}
    assert rendered_teams(lambda: live.put("copper/1.txt", OTHER, live.now)) == {"amber", "brass", "copper"}
    assert rendered_teams(lambda: live.put("amber/2.txt", CONTENTS[-1], live.now)) == {"amber"}
    assert rendered_teams((site / "amber.html").unlink) == {"amber"}
    assert rendered_teams(lambda: live.edit('name = "Live"', 'name = "Alive"')) == {"amber", "brass", "copper"}
    own = live.folder / "templates" / "page.html"
    own.parent.mkdir()
    assert rendered_teams(lambda: own.write_text("x")) == {"amber", "brass", "copper"}
    assert rendered_teams(lambda: own.write_text("y")) == {"amber", "brass", "copper"}


def test_a_freeze_hides_whether_anything_arrives(live: Live) -> None:
    """Not a byte and no time of a file changes, also of the manifest."""
    run(live, day(19, 1))
    before, written = tree(live.challenge.site_path), times(live.challenge.site_path)
    live.put("copper/1.txt", OTHER, day(19, 2))
    live.run(day(19, 3))
    live.do(day(19, 3), update)
    assert tree(live.challenge.site_path) == before
    assert times(live.challenge.site_path) == written
    run(live, day(20, 2))
    rows = json.loads((live.challenge.site_path / "main/leaderboard.json").read_text())["rows"]
    assert "copper" in [row["id"] for row in rows]


def test_a_restored_database_is_rendered(live: Live, tmp_path: Path) -> None:
    """Not before `scorer restore`: the site has published an event that the record lacks."""
    database = live.folder / "scores.db"
    saved = database.read_bytes()
    live.put("copper/1.txt", OTHER, day(12))
    run(live, day(12) + HOUR)
    database.write_bytes(saved)
    live.path("copper/1.txt").unlink()
    live.put("dune/1.txt", OTHER, day(12))
    with pytest.raises(ChallengeError, match="a backup was restored"):
        live.do(day(12) + HOUR, update)
    live.do(day(12) + HOUR, lambda challenge, store: restore(challenge, store, None, unpublished=False))
    run(live, day(12) + 2 * HOUR)
    assert pages(live.challenge.site_path) == from_nothing(live, day(12) + 2 * HOUR, tmp_path / "new")
    assert live.has_page("teams/dune.html")


def test_the_boards_are_written_first(challenge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends before the other pages are rendered leaves a board whose links have pages, also of new teams; the
    next run completes the site.
    """
    site = challenge / "site"
    (challenge / "submissions/main/third.txt").write_text("q1:plum\nq2:fig\nq3:apple\nq4:apple\n")
    assert here("run", challenge).code == 0
    pages_before = pages(site)
    (challenge / "submissions/main/newcomer.txt").write_text("q1:pear,apple\nq2:grape\nq3:fig\nq4:apple\n")

    def ended(_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("scorer.organising.render._computed_analysis", ended)
        assert here("run", challenge).code == 130

    shown = pages(site)
    assert b"newcomer" in shown["main/index.html"]
    assert b"newcomer" in shown["index.html"]
    assert "teams/newcomer.html" in shown
    assert shown["main/analysis.html"] == pages_before["main/analysis.html"]
    assert json.loads((site / ".manifest.json").read_text()).get("snapshot") is None

    assert here("run", challenge).code == 0
    completed = pages(site)
    shutil.rmtree(site)
    assert here("render", challenge).code == 0
    assert pages(site) == completed
    assert shown["main/index.html"] == completed["main/index.html"]
