"""Templates that are not shipped may come with a bundle, so they read the values of their context and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from jinja2 import Environment

from scorer.board.site import templates
from scorer.board.site.templates import CompiledTemplates
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


def test_one_template_of_the_feed_is_rendered_in_the_sandbox(challenge: Challenge) -> None:
    """It is the only one whose name does not end as those of pages."""
    (challenge.root / "templates/feed.xml").write_text("{{ challenge.__class__.__mro__ }}")
    with pytest.raises(ScorerError, match=r"templates/feed\.xml"):
        rendered(challenge)


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


# Templates that are compiled, which other processes execute


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for compiled templates."""
    folder = tmp_path / "cache" / "scorer"
    forget(folder, monkeypatch)
    return folder


def forget(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the templates be compiled as by a new process; returns the names of those that are, once they are."""
    names: list[str] = []
    compile_template = Environment.compile

    def noted(environment: Environment, source: str, name: str, filename: str) -> object:
        names.append(name)
        return compile_template(environment, source, name, filename)

    monkeypatch.setattr(Environment, "compile", noted)
    monkeypatch.setattr(templates, "COMPILED", {False: CompiledTemplates(folder), True: CompiledTemplates()})
    return names


def test_shipped_templates_are_compiled_once_for_all_processes(
    challenge: Challenge, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only this user can use what is kept; another version of scorer, or other bytes, are not used."""
    plain = rendered(challenge)
    kept = {path: path.read_bytes() for path in compiled.iterdir()}
    assert len(kept) > 20
    assert compiled.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    compiled_again = forget(compiled, monkeypatch)
    assert rendered(challenge) == plain
    assert not compiled_again

    for path, content in kept.items():
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    compiled_again = forget(compiled, monkeypatch)
    assert rendered(challenge) == plain
    assert len(compiled_again) == len(kept)
    assert {path: path.read_bytes() for path in compiled.iterdir()} == kept

    monkeypatch.setattr(templates, "code_digest", lambda: "of another version")
    compiled_again = forget(compiled, monkeypatch)
    assert rendered(challenge) == plain
    assert len(compiled_again) == len(kept)


@pytest.mark.parametrize("what", ["others can use it", "a link", "a file"])
def test_a_folder_that_others_can_use_is_not_used(
    challenge: Challenge, compiled: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """No code is read from it, and none is written."""
    plain = rendered(challenge)
    if what == "others can use it":
        compiled.chmod(0o770)
    else:
        other = compiled.rename(compiled.with_name("other"))
        compiled.symlink_to(other) if what == "a link" else compiled.write_bytes(b"")
    before = compiled.lstat().st_mtime_ns, sorted(compiled.parent.rglob("*"))
    compiled_again = forget(compiled, monkeypatch)
    assert rendered(challenge) == plain
    assert len(compiled_again) > 20
    assert before == (compiled.lstat().st_mtime_ns, sorted(compiled.parent.rglob("*")))


def test_what_an_organiser_wrote_is_compiled_by_each_process(challenge: Challenge, compiled: Path) -> None:
    """Nor are the shipped templates kept that are rendered with one: their code is that of the sandbox."""
    (challenge.root / OWN).write_text("{{ page.title }}")
    rendered(challenge)
    assert not compiled.exists()


def test_a_report_is_the_same_in_the_sandbox(tmp_path: Path, terminal: Terminal) -> None:
    """Its templates, too, may be those of the challenge."""
    folder = tmp_path / "challenge"
    assert terminal.run("init", folder).code == 0
    assert terminal.run("run", folder).code == 0
    assert terminal.run("report", folder, "-o", tmp_path / "plain.html").code == 0
    shutil.copytree(shipped_templates(), folder / "templates")

    assert terminal.run("report", folder, "-o", tmp_path / "own.html").code == 0
    assert (tmp_path / "own.html").read_text() == (tmp_path / "plain.html").read_text()
