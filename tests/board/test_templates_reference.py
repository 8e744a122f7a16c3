"""The reference of templates: it lists what the pages are rendered with, and is as generated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from jinja2 import Environment

from docs.templates import FILE, PAGES, attributes, page, values
from scorer.board.board import PastBoard
from scorer.board.site import pages as site_pages
from scorer.board.site import submit_page
from scorer.board.site.context import AnalysisRow, AnalysisView, EveryPage, PairMarks, ScoreMarks
from scorer.board.site.pages import pages
from scorer.board.site.submit_page import SignInPage, SubmitPage, service_page
from scorer.board.site.templates import FILTERS
from scorer.files import shipped_templates
from scorer.live.phases import Phases
from scorer.live.teams import MergedTeam
from scorer.settings.rules import Phase
from tests.boards import START, board_of, challenge, erratum, in_state, published_log, scored_row, team, timeline


def documented() -> dict[str, set[str]]:
    """The names in the tables of the page, by heading."""
    text = FILE.read_text(encoding="utf-8")
    sections = re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    return {title: set(re.findall(r"^\| `(\w+)[`(]", body, re.MULTILINE)) for title, body in sections}


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, set[str]]:
    """The names with which each template is rendered."""
    found: dict[str, set[str]] = {}

    def record(environment: Environment, template: str, context: Mapping[str, object]) -> str:
        found[template] = set(context)
        if template == SubmitPage.template:  # its documents are those of a service
            return ""
        return environment.get_template(template).render(context)

    for module in (site_pages, submit_page):
        monkeypatch.setattr(module, "render_template", record)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "rules.md").write_text("# Rules")
    declared = challenge(tmp_path)
    one = board_of(declared.tracks[0], scored_row("solo", 0.3, 0.2, 5))
    phase = Phase.model_validate({"name": "one", "start": START, "end": START + timedelta(days=1)})
    late = replace(one.rows[0], entries=(in_state(one.rows[0].entries[0], "early"),))
    merged = (MergedTeam(team("gone"), team("solo")),)
    past = (PastBoard(phase, 4, True, ()),)
    live = replace(one, merged=merged, phases=Phases((phase,)), late=(late,), past=past)
    scores = ScoreMarks("0 %", 1, ("0%", "9%"), ("0%", "5%"), "2%", "3%")
    row = AnalysisRow("solo", None, PairMarks((), 0, (), "0%"), (("1", False),), scores)
    analysis = AnalysisView((row,), (), (), (), ("mean",), ("",), "", "", (), "", "")
    analyses = {one.track.name: lambda: analysis}
    pages(declared, [live], analyses, timeline=timeline(erratum()), log=published_log())
    signed_in = SubmitPage("solo", "", live.track, {}, None, {}, (), {}, None, "", None)
    for of_service in (SignInPage("", "", ""), signed_in):
        service_page(declared, of_service)
    return found


def test_the_page_is_as_generated() -> None:
    """After a change of a class or a filter, `python -m docs.templates` writes the page again."""
    assert FILE.read_text(encoding="utf-8") == page()


def test_every_page_is_rendered_with_the_documented_names(contexts: dict[str, set[str]]) -> None:
    """Each template gets the names of every page and its own ones, and no other."""
    tables = documented()
    assert set(contexts) == {each.template for each in PAGES if hasattr(each, "template")}
    for each in PAGES:
        if hasattr(each, "template"):
            assert contexts[each.template] == tables[EveryPage.__name__] | tables[each.__name__], each


def test_every_page_has_a_template() -> None:
    """The shipped folder has the template of each page."""
    names = {path.name for path in shipped_templates().iterdir()}
    assert {each.template for each in PAGES if hasattr(each, "template")} <= names


def test_the_values_are_documented() -> None:
    """Each class of a value has a table with its public attributes."""
    tables = documented()
    for each in values():
        assert tables[each.__name__] == {re.sub(r"\(.*", "", name) for name, _, _ in attributes(each)}, each
    assert {"BoardView", "RowView", "TeamSection", "Pair", "QueryScore", "Entry"} <= set(tables)


def test_filters_are_documented() -> None:
    """Each filter has a sentence."""
    text = FILE.read_text(encoding="utf-8")
    for name in FILTERS:
        assert re.search(rf"^\| `{name}` \| \S.+ \|$", text, re.MULTILINE), name
