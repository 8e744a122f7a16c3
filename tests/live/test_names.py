"""Names hidden until a date: no public byte depends on what teams, their files or their owners are called."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from scorer.errors import ChallengeError
from scorer.live.names import as_public, shown_names
from scorer.organising import teams
from scorer.organising.commitment import commit, reveal
from scorer.organising.paper import paper_files
from scorer.organising.phases import extend
from scorer.organising.picks import amend, amend_metadata, forget, pick
from scorer.organising.public import export_public
from scorer.record.events import Body, Names
from scorer.record.log import EVENT_KINDS, encoded
from scorer.rules.teams import TeamSettings
from scorer.settings.loading import read_challenge
from scorer.store.events import BODIES, WITH_STATE, ChangesBody
from scorer.store.schema import event_table
from scorer.store.snapshot import Snapshot
from scorer.store.transfer import record_problems
from tests.commands import here
from tests.databases import connected, seal
from tests.live_challenges import BEFORE, CORRECTED, GOOD, OTHER, POOR, Live, day

NAMES = ("alder", "birch", "cedar", "dogwood")

OVERALL = '[overall]\ntracks = ["main", "other"]\nrule = "rank"\n'
HIDDEN = """[visibility]
names = "final"
[[metadata]]
name = "system"
title = "System"
"""
SITE = '[site]\nurl = "https://example.org/"\n'


def live_of(folder: Path, until: str = "final") -> Live:
    """A challenge with two tracks, slices, an overall ranking and hidden names."""
    folder.mkdir()
    slices = 'slices = "slices.csv"\nslices_public = "now"\n'
    live = Live.graded(folder, rules=slices, tracks=("main", "other"))
    (folder / "slices.csv").write_text("query,label\nq1,easy\nq2,hard\nq3,easy\nq4,hard\n")
    live.edit('name = "Live"\n', f'name = "Live"\n{OVERALL}[visibility]\nnames = "{until}"\n{SITE}')
    return live


def decided(folder: Path, one: str, two: str) -> Live:
    """A challenge after decisions about the entries of two teams with these names."""
    live = Live.graded(folder, rules='entry = "picks"\n')
    live.edit('name = "Live"\n', f'name = "Live"\n{HIDDEN}')
    live.do(BEFORE, commit)
    live.run(BEFORE)
    for minute, (file, text) in enumerate(((f"{one}/{one}.txt", GOOD), (f"{two}.txt", POOR), (f"{one}/b.txt", OTHER))):
        live.put(file, text, day(11, 12, minute))
    live.run(day(11, 13))
    index = {event.values["file"]: str(event.index) for event in live.events("arrival")}
    first, second, third = (index[f"main/{file}"] for file in (f"{one}/{one}.txt", f"{two}.txt", f"{one}/b.txt"))
    live.do(day(11, 14), lambda challenge, store: pick(challenge, store, [first, third], reason="By mail."))
    live.do(day(11, 14), lambda challenge, store: pick(challenge, store, [second], reason="By mail."))
    live.do(day(11, 15), lambda challenge, store: amend(challenge, store, third, day(11, 11), "A wrong clock."))
    live.do(day(11, 16), lambda challenge, store: forget(challenge, store, second, "A full disk."))
    stated = ["system=BM25"]
    live.do(day(11, 16), lambda challenge, store: amend_metadata(challenge, store, first, stated, "By mail."))
    live.run(day(11, 17))
    live.do(day(12), lambda challenge, store: teams.merge(challenge, store, two, one, "They work together."))
    live.do(day(12, 13), lambda challenge, store: teams.unmerge(challenge, store, two, "No more."))
    live.path(f"{one}/b.txt").unlink()
    live.run_and_render(day(13))
    return live


UNKNOWN = "who_it_is"


def with_unknown_keys(value: Any, path: str = "") -> Any:
    """The body of an event with another key that holds a name, at every depth, but within metadata, and
    within the tables of settings, which have models that refuse it.
    """
    if isinstance(value, dict) and not re.search(r"\.(values|public)$|settings\.", path):
        return {key: with_unknown_keys(inner, f"{path}.{key}") for key, inner in value.items()} | {UNKNOWN: "alder"}
    if isinstance(value, list):
        return [with_unknown_keys(inner, path) for inner in value]
    return value


def _always(added: list[Any], _: Snapshot) -> list[Any]:
    return added


def test_no_public_byte_has_a_key_that_the_record_does_not_know(tmp_path: Path) -> None:
    """An older record may have one with a name, in the body of any event or in what is nested there. The doctor names
    each, and no event with one is recorded.
    """
    live = decided(tmp_path / "one", "birch", "cedar")
    live.do(day(13, 13), lambda challenge, store: extend(challenge, store, "main", "one", day(21), "A storm."))
    live.do(day(13, 13), lambda _, store: teams.issue(store, "birch", "token"))
    live.write_solution(CORRECTED)
    live.preview(day(13, 14))
    live.apply(day(13, 15))
    events = live.events()
    assert {event.kind for event in events} == EVENT_KINDS[2] - {"reveal", "return", "cancellation", "log", "restored"}
    bodies = {event.index: with_unknown_keys(dict(event.values)) for event in events}
    with live.store(day(13, 16)) as store:
        for event in events:
            added = [(event.track, event.kind, event.values), (event.track, event.kind, bodies[event.index])]
            with pytest.raises(TypeError, match=f"the kind {event.kind} has no .*{UNKNOWN}; declare"):
                store.record(partial(_always, added))
    assert live.events() == events
    place = str(live.folder / "scores.db")
    with connected(place) as connection:
        for index, body in bodies.items():
            connection.execute(update(event_table).where(event_table.c.index == index).values(body=encoded(body)))
    seal(place, event_table)
    shutil.rmtree(live.folder / "site")  # its log is that of the events as they were

    site = live.run_and_render(day(13, 17))
    assert [path for path, text in site.items() if "alder" in text or UNKNOWN in text] == []
    paper = live.do(day(13, 17), lambda challenge, store: store.read(lambda view: paper_files(view, challenge, store)))
    assert not any(b"alder" in text for text in paper.values())
    problems = list(live.do(day(13, 17), lambda _, store: record_problems(store)))
    assert len(problems) == len(events)
    (first,) = [problem for problem in problems if problem.startswith("event 1 ")]
    assert first.startswith(f'event 1 (phases): has the unknown "{UNKNOWN}" and "phases.{UNKNOWN}"; pages leave')


NO_CHANGES = ChangesBody.model_construct(scales=[], teams=[("alder", False, (1, 0.5), (2, 0.4))], hidden=False)


@pytest.mark.parametrize(
    "model", dict.fromkeys([*BODIES.values(), *WITH_STATE.values()]), ids=lambda each: each.__name__
)
def test_a_new_key_of_an_event_is_hidden_with_names(model: type[Body]) -> None:
    """Visitors see the keys that a body lists, and no others; what they see of names has no name."""
    facts = dict.fromkeys(model.model_fields, "alder")
    parts = {"picks": (), "settings": TeamSettings.model_construct(merged_into="alder"), "changes": NO_CHANGES}
    plain = dict.fromkeys(model._plain, "plain")

    class Newer(model, plain=()):  # type: ignore[valid-type, misc, call-arg]
        captain: str = "nobody"

    body = Newer.model_construct(None, **facts | parts | plain, captain="alder")
    shown = body.without_names(Names(*[lambda _: "hidden"] * 3))
    assert shown.captain == "nobody"
    assert "alder" not in repr(shown)
    assert {key: getattr(shown, key) for key in plain} == plain


def test_names_are_never_public(tmp_path: Path) -> None:
    """Neither the site nor the paper has them after the end, and a baseline keeps its name."""
    live = live_of(tmp_path / "one", "never")
    live.run(BEFORE)
    for name in ("popular", *NAMES):
        live.submit(f"main/{name}/{name}.txt", GOOD, day(11))
    live.run(day(12))
    last = {name: text.encode() for name, text in live.run_and_render(day(31)).items()}
    paper = live.do(
        day(31, 15),
        lambda challenge, store: store.read(lambda view: paper_files(view, challenge, store)),
    )
    for text in (*last.values(), *paper.values()):
        assert not any(name.encode() in text for name in NAMES)
    assert b"popular" in last["main/index.html"]
    assert b"popular" in paper["table-main.tex"]


@pytest.mark.parametrize(
    ("until", "message"),
    [("never", "never become public, and"), ("reveal", "are not public until the opening of the commitment")],
)
def test_the_public_archive_is_refused_while_names_are_hidden(tmp_path: Path, until: str, message: str) -> None:
    """Its events have the names. Nothing was committed to here, so nothing reveals them."""
    live = live_of(tmp_path / "one", until)
    live.edit('name = "Live"\n', 'name = "Live"\nlicence = "CC BY 4.0"\n')
    live.run(BEFORE)
    live.submit("main/alder.txt", GOOD, day(11))
    live.run(day(31))
    settings, target = live.folder / "challenge.toml", tmp_path / "archive.zip"
    with pytest.raises(ChallengeError, match=f"the names of teams {message}"):
        live.do(day(31), lambda challenge, store: export_public(challenge, store, settings, target))
    assert not target.exists()


def test_a_changed_date_needs_an_erratum_once_a_phase_has_started(tmp_path: Path) -> None:
    """Before, the names stay hidden; the page of the erratum says what changed, and then has them."""
    live = Live.graded(tmp_path)
    live.edit('name = "Live"\n', 'name = "Live"\n[visibility]\nnames = "never"\n')
    live.run(BEFORE)
    live.put("alder.txt", GOOD, day(11))
    live.run_and_render(day(11, 13))
    live.edit('names = "never"', 'names = "now"')
    live.run_and_render(day(12))
    assert "alder" not in live.page("main/index.html")
    live.preview(day(12, 13))
    live.apply(day(12, 14), reason="All teams agree.")
    live.run_and_render(day(12, 15))
    assert "alder" in live.page("main/index.html")
    page = re.sub("(<[^>]+>|\\s)+", " ", live.page("main/errata/1.html"))
    assert "visibility names never names now" in page
    assert "alder" in page


def test_names_wait_for_the_opening_of_the_commitment(tmp_path: Path) -> None:
    """With "reveal", the end of the last phase does not show them."""
    live = live_of(tmp_path / "one", "reveal")
    live.do(BEFORE, commit)
    live.run(BEFORE)
    live.submit("main/alder.txt", GOOD, day(11))
    live.run_and_render(day(31))
    assert "alder" not in live.page("main/index.html")
    live.do(day(31, 13), lambda challenge, store: reveal(challenge, store, challenge.tracks))
    live.run_and_render(day(31, 14))
    assert "alder" in live.page("main/index.html")


def test_names_without_phases_wait_for_the_final_stage(tmp_path: Path) -> None:
    """And a track whose stage is not set is refused."""
    live = Live.graded(tmp_path, rules='stage = "preliminary"\n', phases="")
    live.edit('name = "Live"\n', 'name = "Live"\n[visibility]\nnames = "close"\n')
    live.submit("main/alder.txt", GOOD, day(11))
    live.run_and_render(day(12))
    assert "alder" not in live.page("main/index.html")
    live.edit('stage = "preliminary"', 'stage = "final"')
    live.run_and_render(day(13))
    assert "alder" in live.page("main/index.html")
    live.edit('stage = "final"\n', "")
    with pytest.raises(ChallengeError, match=r"visibility: .* waits for an end that main lacks"):
        read_challenge(tmp_path)
    live.edit('names = "close"', 'score = {team = "now", everyone = "never"}')
    assert read_challenge(tmp_path).visibility


def test_a_pseudonym_stays_and_the_organiser_sees_whose_it_is(tmp_path: Path) -> None:
    """Later teams change none; `scorer teams` lists true names with pseudonyms until the date."""
    live = live_of(tmp_path / "one", "never")
    live.run(BEFORE)
    live.submit("main/zinnia.txt", GOOD, day(11))
    live.run(day(11, 13))
    before = _shown(live)
    for number, name in enumerate(NAMES):
        live.submit(f"main/{name}.txt", GOOD, day(12) + timedelta(minutes=number))
    live.run(day(12, 13))
    after = _shown(live)

    assert list(before) == ["zinnia"]
    assert after["zinnia"] == before["zinnia"]
    assert len(set(after.values())) == len(after) == 5
    assert all(re.fullmatch("team [0-9a-f]{6}", name) for name in after.values())

    listed = json.loads(here("teams", "--format", "json", "--challenge", live.folder).out)["teams"]
    assert {team["team"]: team["shown_as"] for team in listed} == after
    lines = here("teams", "--challenge", live.folder).out.splitlines()
    assert lines[0].endswith("shown as")
    assert [line.split()[0] for line in lines[1:] if after[line.split()[0]] in line] == list(after)


def _shown(live: Live) -> Mapping[str, str]:
    return live.do(live.now, lambda challenge, store: store.read(lambda view: shown_names(view, challenge.tracks)))


def test_without_the_key_the_record_is_that_of_today(tmp_path: Path) -> None:
    """The same snapshot is public."""
    live = Live.graded(tmp_path)
    live.run(BEFORE)
    assert live.do(BEFORE, lambda challenge, store: store.read(lambda view: as_public(view, challenge.tracks) is view))
