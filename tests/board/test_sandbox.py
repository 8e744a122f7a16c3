"""Templates that are not shipped may come with a bundle, so they read the values of their context and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scorer.errors import ScorerError
from scorer.files import shipped_templates
from scorer.settings.tracks import Challenge
from tests.boards import board, board_of, erratum, published_log, timeline
from tests.boards import challenge as settings
from tests.commands import Terminal
from tests.pages import pages

OWN = "templates/page.html"


@pytest.fixture
def challenge(tmp_path: Path) -> Challenge:
    """The settings of a challenge with a page, in a folder with a secret."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "templates").mkdir()
    (tmp_path / "pages" / "own.md").write_text("# Own\n\nText.")
    (tmp_path / "secret.txt").write_text("the secret")
    return settings(tmp_path)


def rendered(challenge: Challenge) -> dict[str, str]:
    """All pages, with entries, a timeline and a log."""
    boards = [board(track) for track in challenge.tracks]
    return pages(challenge, boards, timeline=timeline(erratum()), log=published_log())


@pytest.mark.parametrize(
    "expression",
    [
        '(challenge.root / "secret.txt").read_text()',
        'challenge.root.joinpath("secret.txt").read_text()',
        'challenge.root.joinpath("new.txt").write_text("x")',
        'challenge.root.joinpath("secret.txt").unlink()',
        'challenge.parse_file("secret.txt")',
        'challenge.tracks[0].solution_path.open("rb").read()',
        "challenge.__class__.__mro__",
        'cycler.__init__.__globals__["os"].getcwd()',
        '"{0.__class__}".format(challenge)',
        "challenge.model_dump()",
        'site_pages.__class__("x")',
    ],
)
def test_a_template_reaches_nothing_but_its_context(challenge: Challenge, expression: str) -> None:
    """No file, no module, no method of a library; the error names the template."""
    (challenge.root / OWN).write_text(f"{{{{ {expression} }}}}")

    with pytest.raises(ScorerError, match=r"templates/page\.html"):
        pages(challenge, [board_of(track) for track in challenge.tracks])
    assert (challenge.root / "secret.txt").read_text() == "the secret"
    assert not (challenge.root / "new.txt").exists()


def test_a_template_uses_values_macros_and_filters(challenge: Challenge) -> None:
    """Text, numbers and the values of the page."""
    (challenge.root / OWN).write_text(
        "{% macro shout(text) %}{{ text.upper() }}!{% endmacro %}{{ shout(page.title) }} {{ page.text | markdown }} "
        '{{ challenge.track("cold-start").name }} {{ 3 | counted("team") }} '
        "{{ brand.links | length }} {{ log.line(99) }}"
    )

    text = rendered(challenge)["own.html"]
    assert "OWN!" in text
    assert "cold-start 3 teams 0 None" in text


def test_the_shipped_templates_render_the_same_in_the_sandbox(challenge: Challenge, tmp_path: Path) -> None:
    """An organiser may copy them all, to change some."""
    shutil.rmtree(tmp_path / "templates")
    plain = rendered(challenge)
    shutil.copytree(shipped_templates(), tmp_path / "templates")

    assert rendered(challenge) == plain


def test_a_report_is_the_same_in_the_sandbox(tmp_path: Path, terminal: Terminal) -> None:
    """Its templates, too, may be those of the challenge."""
    folder = tmp_path / "challenge"
    assert terminal.run("init", folder).code == 0
    assert terminal.run("run", folder).code == 0
    assert terminal.run("report", folder, "-o", tmp_path / "plain.html").code == 0
    shutil.copytree(shipped_templates(), folder / "templates")

    assert terminal.run("report", folder, "-o", tmp_path / "own.html").code == 0
    assert (tmp_path / "own.html").read_text() == (tmp_path / "plain.html").read_text()
