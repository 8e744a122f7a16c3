"""Pages that cannot be rendered, which stop no other one, and those that change while a challenge is watched."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import isgeneratorfunction
from pathlib import Path
from typing import Any

import pytest

from scorer.board.site import pages
from scorer.board.site.folder import SITE_MANIFEST
from scorer.errors import ScorerError
from scorer.organising.job import update
from scorer.organising.watch import RunLoop
from scorer.settings.loading import read_challenge
from tests.commands import Terminal
from tests.live_challenges import BEFORE, GOOD, OTHER, POOR, Live, day
from tests.paths import tree
from tests.service.test_service_processes import until

pytestmark = pytest.mark.usefixtures("no_pictures")

FAILING = """{% if board.track.name == "other" %}{{ ().0 }}{% endif %}"""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Live:
    """A challenge with two tracks and a team in both."""
    made = Live.graded(tmp_path_factory.mktemp("rendered") / "live", tracks=("main", "other"))
    made.run(BEFORE)
    made.submit("main/amber.txt", POOR, day(11))
    made.submit("other/amber.txt", POOR, day(11))
    made.run_and_render(day(11, 13))
    return made


@pytest.fixture
def live(rendered: Live, tmp_path: Path) -> Live:
    """A copy of it."""
    return replace(rendered, folder=shutil.copytree(rendered.folder, tmp_path / "live"))


def one_more(live: Live) -> dict[str, bytes]:
    """The site before another team hands in to both tracks."""
    before = content(live)
    live.submit("main/birch.txt", GOOD, day(12))
    live.submit("other/birch.txt", OTHER, day(12))
    live.run(day(12, 13))
    return before


def content(live: Live) -> dict[str, bytes]:
    """The files of the site."""
    return tree(live.folder / "site", "[!.]*")


def test_a_hidden_board_of_a_track_without_a_result_stops_no_page(tmp_path: Path) -> None:
    """The line below its first teams has nothing to count."""
    live = Live.graded(tmp_path, tracks=("main", "other"))
    live.edit('name = "Live"\n', 'name = "Live"\n[visibility]\nboard = "final"\n')
    live.render(BEFORE)
    assert {"main/embed.html", "other/embed.html", "main/index.html", "index.html"} <= content(live).keys()
    assert "The whole board</a> <span></span>" in live.page("other/embed.html")


def test_an_error_in_a_template_stops_only_the_page(live: Live) -> None:
    """It is reported with its track and its page, and the earlier page stays until the next render without an error."""
    before = one_more(live)
    (live.folder / "templates").mkdir()
    (live.folder / "templates" / "embed.html").write_text(FAILING)

    with pytest.raises(ScorerError, match=r"^other/embed.html: cannot be rendered, .*embed\.html:1: ") as raised:
        live.render(day(12, 13))

    assert "\n" not in str(raised.value)
    after = content(live)
    assert after.keys() >= before.keys()
    assert after["other/embed.html"] == before["other/embed.html"]
    for path in ("main/embed.html", "main/index.html", "other/index.html", "index.html", "other/leaderboard.csv"):
        assert after[path] != before[path]
    assert b"birch" in after["other/index.html"]
    assert "other/embed.html" in (live.folder / "site" / SITE_MANIFEST).read_text()
    with pytest.raises(ScorerError, match=r"^other/embed\.html: "):  # also where nothing else has changed
        live.do(day(12, 13), update)

    (live.folder / "templates" / "embed.html").unlink()
    live.render(day(12, 13))
    assert b"birch" in content(live)["other/embed.html"]


def _failing(real: Callable[..., Any], view: Any, *others: Any) -> Any:
    if getattr(view, "board", view).track.name == "other":
        if isgeneratorfunction(real):
            return map(_failed, [view])
        _failed(view)
    return real(view, *others)


def _failed(_: object) -> None:
    raise IndexError("no such row")


@pytest.mark.parametrize(
    "name", ["board_figures", "board_page", "compare_pages", "rules_and_past_pages", "errata_pages"]
)
def test_an_error_in_the_pages_of_a_track_stops_no_other_track(
    live: Live, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What could not be made of the track stays as it was."""
    before = one_more(live)
    monkeypatch.setattr(pages, name, partial(_failing, getattr(pages, name)))

    with pytest.raises(ScorerError, match=r"^other: cannot be rendered, and stays as it was: IndexError: no such row$"):
        live.render(day(12, 13))

    after = content(live)
    assert after.keys() >= before.keys()
    assert b"birch" in after["main/index.html"]
    assert b"birch" in after["index.html"]
    assert (b"birch" in after["other/index.html"]) == (name not in ("board_figures", "board_page"))
    monkeypatch.undo()
    live.render(day(12, 13))
    assert b"birch" in content(live)["other/index.html"]


def test_commands_say_which_page_failed(new_challenge: Path, terminal: Terminal) -> None:
    """And exit with 1; the site has all others."""
    (new_challenge / "templates").mkdir()
    (new_challenge / "templates" / "embed.html").write_text("{{ ().0 }}")
    for command in ("run", "render"):
        answer = terminal.run(command, new_challenge)
        assert answer.code == 1
        assert "main/embed.html: cannot be rendered, and stays as it was: " in answer.err
    site = new_challenge / "site"
    assert (site / "index.html").is_file()
    assert (site / "main" / "index.html").is_file()
    assert not (site / "main" / "embed.html").exists()


def test_a_watched_challenge_publishes_changed_pages_templates_and_files(live: Live) -> None:
    """Although nothing is recorded."""
    archive = live.folder / "templates" / "static" / "challenge-archive.zip"
    archive.parent.mkdir(parents=True)
    (live.folder / "pages").mkdir()
    count = len(live.events())
    with live.store() as store:
        errors: list[str] = []

        def render() -> None:
            update(read_challenge(live.folder), store)

        loop = RunLoop(store, errors.append, live.challenge, lambda _: None, render, every=0.05)
        thread = threading.Thread(target=loop)
        thread.start()
        try:
            for place, text in (
                ("pages/data.md", "# The data\n\nAbout birch trees.\n"),
                ("pages/data.md", "# The data\n\nAbout cedar trees.\n"),
                ("templates/extra.css", "main { color: cedar }"),
                ("templates/static/challenge-archive.zip", "an archive of cedar"),
            ):
                (live.folder / place).write_text(text, encoding="utf-8")
                until(partial(_is_shown, live.folder / "site", text.split()[-2]))
        finally:
            loop.stopped.set()
            thread.join()
    assert errors == []
    assert len(live.events()) == count


def _is_shown(site: Path, word: str) -> bool:
    return any(
        word.encode() in path.read_bytes() for path in site.rglob("*") if path.suffix in (".html", ".css", ".zip")
    )
