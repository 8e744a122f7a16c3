"""What is hidden is in no public byte: sites of challenges that differ only in hidden information are the same."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from example.season import Simulation
from example.season_plan import Content, Grades, Season, Step, TrackPlan, season
from scorer.organising.render import boards
from tests.databases import site_content
from tests.oracles import preliminary_queries

SIZE = {"teams": 10, "files": 60, "runs": 10}


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
    """Other grades of all queries but some. How many queries have a relevant item is public, so it stays."""
    chance = random.Random(track.name)
    kept = set(kept)
    return {
        query: grades
        if query in kept or not grades
        else {f"i{item}": 1 + chance.randrange(9) for item in chance.sample(range(40), chance.randrange(1, 20))}
        for query, grades in track.solutions[0].items()
    }


def preliminary(track: TrackPlan) -> Iterable[str]:
    """The preliminary queries of a track."""
    if track.key is None:
        return track.preliminary
    return preliminary_queries(track.key, track.share, track.name, track.queries)


def public_bytes(simulation: Simulation, moment: datetime) -> dict[str, bytes]:
    """Every file of the site at a time."""
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


@pytest.mark.parametrize("name", ["items", "lists"])
def test_the_site_does_not_depend_on_the_hidden_grades(name: str, tmp_path: Path) -> None:
    """Two solutions with the same preliminary queries and grades of these, flagged or selected by a key: before the end
    every file is the same, also those about a past phase. After the end the scores differ.
    """
    plan = with_one_track(season(**SIZE), name)
    track = plan.tracks[0]
    sites, boards_at_the_end = [], []
    for number, solution in enumerate((track.solutions[0], other_grades(track, preliminary(track)))):
        simulation = Simulation(with_solution(plan, name, solution), tmp_path / str(number))
        sites.append(public_bytes(simulation, at(3, 20)))
        boards_at_the_end.append(scores(simulation, at(4, 29)))
    assert_same_bytes(*sites)
    assert boards_at_the_end[0] != boards_at_the_end[1]


def test_a_phase_that_shows_nothing_publishes_no_score(tmp_path: Path) -> None:
    """Two challenges in which all grades differ: until the phase is over, every file is the same."""
    plan = with_one_track(season(**SIZE), "items")
    track = replace(plan.tracks[0], phases=tuple(replace(phase, shows="nothing") for phase in plan.tracks[0].phases))
    sites, later = [], []
    for number, solution in enumerate((track.solutions[0], other_grades(track, ()))):
        chosen = replace(with_solution(plan, "items", solution), tracks=(replace(track, solutions=(solution,)),))
        simulation = Simulation(chosen, tmp_path / str(number))
        sites.append(public_bytes(simulation, at(2, 19)))
        later.append(scores(simulation, at(2, 22)))
    assert_same_bytes(*sites)
    assert later[0] != later[1]


def frozen_steps(plan: Season) -> Sequence[Step]:
    """What happens during the freeze of the second track: files, picks, and decisions about teams."""
    track, moment = plan.tracks[0].name, at(4, 25, 1)
    own = [step for step in plan.steps if step.kind == "file" and step.at < at(4, 1)]
    team, other = own[0].team, own[1].team
    contents = [number for number, content in enumerate(plan.contents) if is_for(content, plan.tracks[0])]
    steps = [
        Step(moment, "rename", team=team, text="Renamed during the freeze"),
        Step(moment, "disqualify", team=other, text="Disqualified during the freeze"),
        Step(moment, "delete", track=track, team=team, file=own[0].file),
    ]
    for number, name in enumerate([team, other, "a-new-team"]):
        file = f"{track}/{name}/frozen.txt"
        received = moment + timedelta(minutes=number)
        steps.append(Step(moment, "file", track=track, team=name, file=file, content=contents[number], time=received))
    return steps


def is_for(content: Content, track: TrackPlan) -> bool:
    """Whether a content is valid for a track."""
    return content.lists is not None and set(content.lists) == set(track.queries)


def test_the_site_does_not_depend_on_what_happens_during_a_freeze(tmp_path: Path) -> None:
    """Entries, picks, a deleted file, a new team, and decisions about teams: every file is the same, also hidden ones;
    after the freeze the boards differ.
    """
    plan = with_one_track(season(**SIZE), "lists")
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
    assert kinds[1] - kinds[0] >= Counter(arrival=3, pick=1, team=2, withdrawal=1)
    assert_same_bytes(*sites)
    assert later[0] != later[1]
