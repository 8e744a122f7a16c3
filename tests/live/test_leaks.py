"""What is hidden is in no public byte: sites of challenges that differ only in hidden information are the same."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import cast

import pytest
from markupsafe import escape
from sqlalchemy import select, update

from example.season import Simulation
from example.season_plan import Content, Grades, Season, Step, TrackPlan, season
from scorer.errors import Problem
from scorer.limits import ATTEMPTS
from scorer.live.now import Now
from scorer.organising import errata, picks
from scorer.organising.render import boards, render
from scorer.organising.run import plan
from scorer.scoring.outcomes import Failed
from scorer.store.schema import result_table
from tests.databases import connected, seal, site_content
from tests.live_challenges import ANNOUNCED, END, ONE, SECOND_END, SECOND_START, START, Live, lists, phase, ranking
from tests.oracles import preliminary_queries
from tests.strategies import rest, some

pytestmark = pytest.mark.usefixtures("no_pictures")

SIZE = {"teams": 10, "files": 24, "runs": 3}


def at(month: int, day: int, hour: int = 0) -> datetime:
    """A time of the season, in UTC."""
    return datetime(2027, month, day, hour, tzinfo=UTC)


def with_one_track(plan: Season, name: str) -> Season:
    """The season with one of its tracks, and without merges, so that all teams have a row."""
    steps = tuple(step for step in plan.steps if step.track in ("", name) and step.kind not in ("merge", "unmerge"))
    steps = tuple(step for step in steps if step.track or step.kind == "run")
    return replace(plan, tracks=(plan.track(name),), steps=steps)


def with_solution(plan: Season, name: str, solution: Grades) -> Season:
    """The season with another solution of a track, and without an erratum."""
    tracks = tuple(replace(track, solutions=(solution,)) if track.name == name else track for track in plan.tracks)
    steps = tuple(step for step in plan.steps if step.kind not in ("solution", "preview", "apply", "cancel"))
    return replace(plan, tracks=tracks, steps=steps)


def other_grades(track: TrackPlan, kept: Iterable[str]) -> Grades:
    """Other items and grades of all queries but some, and other queries instead of some that are not preliminary. How
    many queries there are, and how many have a relevant item, is public, so it stays.
    """
    chance = random.Random(track.name)
    kept, flagged = set(kept), set(preliminary(track))

    def other(query: str) -> str:
        names = (f"{query}-{number}" for number in range(99))
        return next(name for name in names if track.key is None or name not in preliminary(track, [name]))

    return {
        query if query in flagged or chance.random() < 0.5 else other(query): grades
        if query in kept or not grades
        else {
            f"{chance.choice('ij')}{item}": 1 + chance.randrange(9)
            for item in chance.sample(range(40), chance.randrange(1, 20))
        }
        for query, grades in track.solutions[0].items()
    }


def preliminary(track: TrackPlan, queries: Sequence[str] = ()) -> Iterable[str]:
    """The preliminary queries of a track, or those of some queries."""
    if track.key is None:
        return track.preliminary
    return preliminary_queries(track.key, track.share, track.name, queries or track.queries)


def public_bytes(simulation: Simulation, moment: datetime) -> dict[str, bytes]:
    """Every file of the site at a time, with the pictures of boards, which need an address."""
    settings = simulation.folder / "challenge.toml"
    if b"[site]" not in settings.read_bytes():
        settings.write_bytes(settings.read_bytes() + b'\n[site]\nurl = "https://example.org/"\n')
    simulation.until(moment)
    simulation.render()
    return content(simulation.folder / "site")


def scores(simulation: Simulation, moment: datetime) -> dict[str, float | None]:
    """The score of each team on the public board at a time."""
    simulation.until(moment)
    with simulation.opened() as (challenge, store):
        (board,) = store.read(lambda view: boards(view, challenge.tracks))
    return {row.team.name: board.shown_scores(row.entry)[0] for row in board.rows}


SNAPSHOT = re.compile(rb'"snapshot": "[0-9a-f]{64}"')
"""The name of a snapshot is an HMAC with the salt of its database."""


def content(site: Path) -> dict[str, bytes]:
    """Every file of a site, also hidden ones, without what depends on the salt of its database."""
    hidden = {path.name: SNAPSHOT.sub(b"", path.read_bytes()) for path in site.rglob(".*") if path.is_file()}
    return site_content(site) | hidden


def assert_same_bytes(first: dict[str, bytes], second: dict[str, bytes]) -> None:
    """Fail with the names of the files that differ."""
    assert sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)) == []


def test_a_phase_that_shows_nothing_publishes_no_score(tmp_path: Path) -> None:
    """Two challenges in which queries, items and grades differ: until the phase is over, every file is the same."""
    plan = with_one_track(season(**SIZE), "items")
    phases = tuple(replace(phase, shows="nothing", ladder_step="") for phase in plan.tracks[0].phases)
    track = replace(plan.tracks[0], phases=phases)
    sites, later = [], []
    for number, solution in enumerate((track.solutions[0], other_grades(track, ()))):
        chosen = replace(with_solution(plan, "items", solution), tracks=(replace(track, solutions=(solution,)),))
        simulation = Simulation(chosen, tmp_path / str(number))
        sites.append(public_bytes(simulation, at(2, 19)))
        later.append(scores(simulation, at(2, 22)))
    assert_same_bytes(*sites)
    assert later[0] != later[1]


QUERIES = [f"q{number}" for number in range(12)]
"""The first three are preliminary."""

CANDIDATES = [f"c{number}" for number in range(24)]

SHOWN = ['shows = "nothing"', 'shows = "ladder"\nladder_step = 0.1', 'shows = "score"', 'freeze = "24h"']


def probed(
    folder: Path, settings: str, shows: str, solution: str, files: Mapping[str, str], *, by_1_0: bool = False
) -> list[dict[str, bytes]]:
    """The site of a challenge with this solution and these files in its phase, in its freeze, after it with late
    entries, and once final scores are shown; `by_1_0` stores what was found in files as release 1.0 does.
    """
    live = Live.of(folder, phase("one", START, END, shows), phase("two", SECOND_START, SECOND_END), settings=settings)
    live.write_solution(solution)
    (folder / "items.txt").write_text("".join(f"{item}\n" for item in CANDIDATES))
    (folder / "queries.txt").write_text("".join(f"{query}\n" for query in QUERIES))
    live.run(ANNOUNCED)
    for place, text in files.items():
        live.put(place, text, START)
        live.put(f"{place}.late", text.replace(",z\n", ",y\n"), END)
    sites = []
    for now in (START, END - timedelta(hours=1), END, SECOND_END):
        live.run(now)
        if by_1_0:
            store_as_texts(str(live.challenge.database_address))
        live.render(now)
        sites.append(content(live.folder / "site"))
    return sites


def store_as_texts(place: str) -> None:
    """Store each finding of a result as its line and its text."""
    with connected(place) as connection:
        for digest, stored in connection.execute(select(result_table.c.digest, result_table.c.findings)).all():
            found = json.loads(stored)
            shown = [[each[0], Problem(*each).text] if len(each) > 2 else each for each in found["shown"]]
            new = update(result_table).where(result_table.c.digest == digest)
            connection.execute(new.values(findings=json.dumps({**found, "shown": shown})))
    seal(place, result_table)


@pytest.mark.parametrize("shows", some(SHOWN, SHOWN[3]))
def test_the_site_does_not_tell_which_items_the_hidden_solution_has(shows: str, tmp_path: Path) -> None:
    """A team sends a file of one item for each of 24 candidates, and some with more notes than a page lists. Until
    final scores are shown, every file of the site is the same for two hidden parts with other items. Then the page of
    the team has a note on those that are not in the solution.
    """
    files = {f"a/{item}": "".join(f"{query}:{item},z\n" for query in QUERIES) for item in CANDIDATES}
    unknown = "".join(f"u{number}:x\n" for number in range(30))
    files |= {f"a/{item}-more": files[f"a/{item}"] + unknown for item in CANDIDATES[8:16]}
    files |= {
        f"a/{item}-odd": "".join(f"{query} Q0 {item}\u200b 1 1 t\n" for query in QUERIES) for item in CANDIDATES[4:20:4]
    }
    hidden = [CANDIDATES[1:10], CANDIDATES[15:24]]
    solutions = ["".join(f"{query}:1:c0|1\n" for query in QUERIES[:3]) for _ in hidden]
    for number, items in enumerate(hidden):
        solutions[number] += "".join(f"{query}:0:{item}|1\n" for query, item in zip(QUERIES[3:], items, strict=True))
    settings = 'items = "items.txt"\nqueries = "queries.txt"'
    first, second = (
        probed(tmp_path / str(number), settings, shows, text, files) for number, text in enumerate(solutions)
    )
    for one, other in zip(first[:3], second[:3], strict=True):
        assert_same_bytes(one, other)
        assert b"is not a candidate item" in one["teams/a.html"]
        assert b"in the solution" not in one["teams/a.html"]
    assert b"is in the solution" in first[3]["teams/a.html"]
    assert first[3]["teams/a.html"] != second[3]["teams/a.html"]


LISTED = 'queries = "queries.txt"'


@pytest.mark.parametrize(("shows", "queries"), some(product(SHOWN, ("", LISTED)), (SHOWN[2], LISTED), (SHOWN[3], "")))
def test_the_site_does_not_tell_which_queries_the_hidden_solution_has(shows: str, queries: str, tmp_path: Path) -> None:
    """Files that lack lists, repeat items or list items that are no candidates for queries that may be in the solution,
    whether the public list has more queries, or the track has no list.
    """
    files = {
        f"a/{number}": "".join(f"{query}:c0,c{number},c0,x,z\n" for query in [*QUERIES[:2], *QUERIES[number:]])
        for number in range(2, 12)
    }
    hidden = [QUERIES[3:8], QUERIES[7:12]]
    solutions = [
        "".join(f"{query}:{int(query in QUERIES[:3])}:c0|1\n" for query in [*QUERIES[:3], *chosen]) for chosen in hidden
    ]
    settings = f'items = "items.txt"\n{queries}'
    first, second = (
        probed(tmp_path / str(number), settings, shows, text, files) for number, text in enumerate(solutions)
    )
    for one, other in zip(first[:3], second[:3], strict=True):
        assert_same_bytes(one, other)
    assert b"queries have no list" in first[3]["teams/a.html"]
    assert first[3]["teams/a.html"] != second[3]["teams/a.html"]


def test_a_team_reads_what_follows_from_public_files(tmp_path: Path) -> None:
    """Where the public list has exactly the queries of the solution, a team reads the notes on them at any time; else
    with the final scores.
    """
    files = {"a/1": "".join(f"{query}:c0,x,z\n" for query in [*QUERIES[:11], "u1", "u2"])}
    text = "".join(f"{query}:{number % 2}:c0|1\n" for number, query in enumerate(QUERIES))
    pages = {
        settings: [
            site["teams/a.html"].decode()
            for site in probed(tmp_path / str(number), settings, 'shows = "score"', text, files)
        ]
        for number, settings in enumerate(['queries = "queries.txt"', "", 'missing = "reject"'])
    }
    for page in pages['queries = "queries.txt"']:
        assert "1 of 12 queries have no list" in page
        assert "<span>11 <small>of 12</small></span>" in page
    for page in pages[""][:3]:
        assert "Shown with the final scores." in page
        assert "queries have no list" not in page
        assert "<span>13</span>" in page
    assert pages[""][3] == pages['queries = "queries.txt"'][3]
    for page in pages['missing = "reject"'][:3]:
        assert "<li>not every query has a list</li>" in page
    assert "1 of 12 queries have no list" in pages['missing = "reject"'][3]


def frozen_steps(plan: Season) -> Sequence[Step]:
    """What happens during the freeze of the second track: files, of which one was received before, picks, decisions
    about teams, an erratum, and outcomes that are forgotten.
    """
    track, moment = plan.tracks[0].name, at(4, 25, 1)
    own = [step for step in plan.steps if step.kind == "file" and step.at < at(4, 1)]
    files = Counter(step.file for step in plan.steps if step.kind == "file")
    team, other = own[0].team, own[1].team
    contents = [number for number, content in enumerate(plan.contents) if is_for(content, plan.tracks[0])]
    steps = [
        Step(moment, "rename", team=team, text="Renamed during the freeze"),
        Step(moment, "disqualify", team=other, text="Disqualified during the freeze"),
        Step(moment, "delete", track=track, team=team, file=own[0].file),
        Step(moment, "solution", track=track, content=1),
        Step(moment, "preview", track=track),
        Step(moment, "apply", track=track, text="The grades of an item were wrong."),
        *(Step(moment, "forget", track=track, file=step.file, text="Wrong.") for step in own if files[step.file] == 1),
    ]
    for number, name in enumerate([team, other, "a-new-team"]):
        file = f"{track}/{name}/frozen.txt"
        received = moment + timedelta(minutes=number) if number else at(4, 23)
        steps.append(Step(moment, "file", track=track, team=name, file=file, content=contents[number], time=received))
    return steps


def is_for(content: Content, track: TrackPlan) -> bool:
    """Whether a content is valid for a track."""
    return content.lists is not None and set(content.lists) == set(track.queries)


def test_the_site_does_not_depend_on_what_happens_during_a_freeze(tmp_path: Path) -> None:
    """Entries, picks, a deleted file, a new team, decisions about teams, an erratum, and forgotten outcomes: every file
    is the same, also hidden ones; after the freeze the boards differ.
    """
    plan = with_one_track(season(**SIZE | {"runs": 5}), "lists")
    steps = [step for step in plan.steps if step.kind not in ("extend", "solution", "preview", "cancel")]
    steps += [Step(at(4, day, 12), "run", time=at(4, day, 12)) for day in (24, 25)]
    quiet = sorted((step for step in steps if step.at < at(4, 24) or step.kind == "run"), key=lambda step: step.at)
    busy = sorted([*steps, *frozen_steps(plan)], key=lambda step: step.at)
    assert any(step.kind in ("picks", "pick") for step in busy if at(4, 24) < step.at < at(4, 26))
    sites, later, kinds = [], [], []
    for number, chosen in enumerate((quiet, busy)):
        simulation = Simulation(replace(plan, steps=tuple(chosen)), tmp_path / str(number))
        sites.append(public_bytes(simulation, at(4, 25, 23)))
        with simulation.opened() as (_, store):
            kinds.append(Counter(event.kind for event in store.read(lambda view: view.events())))
        later.append(scores(simulation, at(4, 27)))
    assert kinds[1] - kinds[0] >= Counter(arrival=3, pick=1, team=2, withdrawal=1, basis=1, forgetting=9)
    assert_same_bytes(*sites)
    assert b"Since the end of" in sites[0]["lists/leaderboard.json"]
    assert later[0] != later[1]


@pytest.mark.parametrize("shows", ["score", *rest(["ladder"])])
def test_a_freeze_keeps_the_outcomes_that_are_forgotten_during_it(shows: str, tmp_path: Path) -> None:
    """Also of entries that were given up, of an earlier phase, by rules that an erratum replaces, and of those that are
    forgotten twice. After the freeze, the scores are those of the new rules.
    """
    frozen = SECOND_END - timedelta(days=1)
    step = ["ladder_step = 0.1"] if shows == "ladder" else []
    table = phase("two", SECOND_START, SECOND_END, 'freeze = "24h"', f'shows = "{shows}"', *step)
    live = Live.of(tmp_path, ONE, table)
    live.run(ANNOUNCED)
    live.put("a/0", lists(1, 1), START)
    live.run(START)
    live.put("b/0", lists(4, 1), SECOND_START)
    live.do(SECOND_START, lambda challenge, store: plan(store, challenge, live.track))
    with live.store(SECOND_START) as store:
        basis = store.read(lambda view: Now.of(view, live.track).basis)
        assert basis is not None
        for _ in range(ATTEMPTS):
            store.store_results([(live.entry("b/0").digest, Failed("it took too long", "time"))], basis)
    live.put("a/1", lists(2, 1), SECOND_START)
    live.put("b/1", lists(3, 1), SECOND_START)
    live.run(frozen - timedelta(seconds=1))
    assert [row[2] for row in ranking(live.board())] == [0.6, 0.4]

    def public() -> dict[str, bytes]:
        live.render(SECOND_END - timedelta(hours=1))
        return content(live.folder / "site")

    def forget(*files: str) -> None:
        for file in files:
            live.do(frozen, lambda challenge, store: picks.forget(challenge, store, f"main/{file}", "wrong"))  # noqa: B023
        assert_same_bytes(public(), before)

    before = public()
    forget("b/0", "a/1", "a/0", "b/1")
    live.run(frozen)
    assert_same_bytes(public(), before)
    live.write_solution(chosen_solution("aaabaaaaaa", 5))
    live.do(frozen, lambda challenge, store: errata.preview_erratum(challenge, store, live.track))
    live.do(frozen, lambda challenge, store: errata.apply(challenge, store, live.track, "An item was wrong."))
    forget("a/1", "b/1", "b/1")
    live.run(frozen)
    assert_same_bytes(public(), before)
    live.run(SECOND_END)
    assert [row[2] for row in ranking(live.board())] == [0.5, 0.4]


def chosen_solution(relevant: Sequence[str], flagged: int) -> str:
    """A solution with one relevant item for each query; the first ones are preliminary."""
    lines = (f"q{number}:{int(number < flagged)}:{item}|1\n" for number, item in enumerate(relevant))
    return "".join(lines)


def listing(first: Sequence[str]) -> str:
    """A submission with this first item for each query."""
    return "".join(f"q{number}:{item},x\n" for number, item in enumerate(first))


def live_bytes(folder: Path, table: str, settings: str, text: str, files: Mapping[str, str]) -> dict[str, bytes]:
    """The site of a challenge with this solution and these files, which arrive a minute after one another."""
    live = Live.of(folder, table)
    live.choose_decimals(settings)
    live.write_solution(text)
    live.run(ANNOUNCED)
    for minute, (file, content_of_file) in enumerate(files.items()):
        live.put(file, content_of_file, START + timedelta(minutes=minute))
    live.run(START + timedelta(hours=1))
    with live.store() as store:
        render(live.challenge, store)
    return content(live.folder / "site")


def test_the_site_does_not_depend_on_scores_that_are_no_improvement(tmp_path: Path) -> None:
    """Two solutions by which the entries that are no improvement have other preliminary scores: every file is the same.
    A phase that shows scores has other files.
    """
    queries, flagged = 24, 20
    files = {
        "one/1": listing("a" * queries),
        "one/2": listing("b" * queries),
        "one/3": listing("c" * queries),
        "two/1": listing("a" * 15 + "d" * 9),
        "two/2": listing("c" * 10 + "b" * 14),
    }
    solutions = [chosen_solution("a" * 16 + each + "abca", flagged) for each in ("bbbb", "cccc", "bccc")]
    differ = {}
    for shows in ("ladder", "score"):
        table = phase("one", START, END, f'shows = "{shows}"', *(["ladder_step = 0.1"] if shows == "ladder" else []))
        sites = [
            live_bytes(tmp_path / shows / str(number), table, "3", text, files) for number, text in enumerate(solutions)
        ]
        differ[shows] = {name for site in sites for name in site if site[name] != sites[0].get(name)}
    assert differ["ladder"] == set()
    assert {"teams/one.html", "teams/two.html"} <= differ["score"]


def test_the_site_does_not_depend_on_digits_that_are_not_shown(tmp_path: Path) -> None:
    """With automatic decimals, a preliminary query that one team finds and another one does not is in no file; with
    four decimals it is in several.
    """
    queries = 400
    found = random.Random(9)
    lists = [["a" if found.random() < share else "b" for _ in range(queries)] for share in (0.2, 0.5, 0.8)]
    files = {f"{name}/1": listing([*first, "a"]) for name, first in zip(("one", "two", "three"), lists, strict=True)}
    place = next(place for place, items in enumerate(zip(*lists, strict=True)) if items == ("a", "b", "b"))
    relevant = ["a"] * queries
    other = [*relevant[:place], "z", *relevant[place + 1 :]]
    differ = {}
    for decimals in ('"auto"', "4"):
        sites = [
            live_bytes(
                tmp_path / decimals.strip('"') / str(number),
                ONE,
                decimals,
                chosen_solution([*each, "a"], queries),
                files,
            )
            for number, each in enumerate((relevant, other))
        ]
        differ[decimals] = {name for name in sites[0] if sites[0][name] != sites[1].get(name)}
    assert differ['"auto"'] == set()
    assert {"main/index.html", "main/leaderboard.json", "teams/one.html"} <= differ["4"]


FILES = {
    "good/a": "".join(f"{query}:c1,c2,c2\n" for query in QUERIES),
    "few/a": "q0:c1,c2\nu1:c3\n",
    "none/a": "u1:c1\nu2:c2\n",
    "wrong/a": "q0:c1,,\nq1:\n",
    "strange/a": "".join(f"{query}:x1\u200b,x2\n" for query in QUERIES),
    "equal/a": "".join(f"{query} Q0 {item} 1 0.5 t\n" for query in QUERIES for item in CANDIDATES[:3]),
}
"""Files of six teams: valid, of few queries, of none, invalid, with strange ids, with equal scores."""
SOLVED = "".join(f"{query}:{int(at < 3)}:c{at}|1,c{at + 1}|1\n" for at, query in enumerate(QUERIES))


def in_other_words(text: str) -> str:
    """A sentence with each word in reverse; ids in quotes and numbers stay."""
    parts = re.split(r'("[^"]*"|[0-9][0-9.,]*)', text)
    return "".join(
        part if number % 2 else re.sub(r"\w+", lambda word: word[0][::-1], part) for number, part in enumerate(parts)
    )


@pytest.mark.parametrize("settings", ["", *rest([LISTED, 'missing = "reject"'])])
def test_no_decision_uses_the_words_of_a_finding(
    settings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every sentence in other words, the site has the same sentences at the same places, and no other byte."""
    plain, sites = cast("property", vars(Problem)["text"]).fget, []
    assert plain is not None
    for reworded in (str, in_other_words):
        said: set[str] = set()

        def text(problem: Problem, reworded: Callable[[str], str] = reworded, said: set[str] = said) -> str:
            said.add(reworded(plain(problem)))
            return reworded(plain(problem))

        monkeypatch.setattr(Problem, "text", property(text))
        folder = tmp_path / reworded.__name__
        site: dict[str, bytes] = {}
        for number, pages in enumerate(probed(folder, settings, SHOWN[2], SOLVED, FILES)):
            marks = {escape(each).encode() for each in said}
            known = re.compile(b"|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True)))
            site |= {f"{number}/{name}": known.sub(b"SENTENCE", page) for name, page in pages.items()}
        sites.append(site)
    assert_same_bytes(*sites)
    assert any(b"SENTENCE" in page for page in sites[0].values())


@pytest.mark.parametrize("settings", ["", *rest([LISTED, 'missing = "reject"'])])
def test_findings_that_release_1_0_stored_are_shown_to_the_same_people(settings: str, tmp_path: Path) -> None:
    """Also without the advice that only the organiser can follow."""
    undetected = {"undetected/a": "one\n"}
    first, second = (
        probed(tmp_path / str(by_1_0), settings, SHOWN[2], SOLVED, FILES | undetected, by_1_0=by_1_0)
        for by_1_0 in (False, True)
    )
    for one, other in zip(first, second, strict=True):
        assert_same_bytes(one, other)
    assert b"the format cannot be detected" in first[0]["teams/undetected.html"]
    assert b"challenge.toml" not in first[0]["teams/undetected.html"]
