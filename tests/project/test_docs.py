"""The documentation: its code runs, the pages of measures match the registry, and it builds without a warning."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import scorer
from docs.examples import EXAMPLES
from docs.measures import pages, placed, slug
from docs.peers import DIFFERENCES, PEERS
from docs.tables import MODELS, TABLE, filled, helps
from scorer.cli import COMMAND_GROUPS, COMMANDS
from scorer.cli.reports import remarks
from scorer.lists.reading.tables import COLUMNS
from scorer.measures import KINDS, Kind, parse, parse_one
from scorer.options import FORMAT_NAMES
from tests.blocks import run_blocks
from tests.commands import Terminal
from tests.html_links import broken_links
from tests.paths import DOCS, ROOT

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
PROSE = {
    *("architecture.md", "benchmarks.md", "challenge-toml.md", "changelog.md", "citing.md", "leaderboard-json.md"),
    "statistics.md",
    *("notebook.md", "publishing.md", "receiving.md", "releasing.md", "serving.md", "stability.md", "studies.md"),
    *("templates.md", "understanding-the-board.md", "upgrading.md", "verification-spec.md", "verify.md"),
}
"""Pages without code that runs here; test_verify_docs, test_serving_docs, test_recipes and test_notebook run that of
their pages."""


@cache
def measure_pages() -> dict[str, str]:
    """The pages of measures, which are generated."""
    return pages()


RUN_HERE = [document for document in PAGES if document.name not in {"gallery.md", "i-have.md"}]
"""All pages but those that tests/project/test_gallery.py and test_i_have.py run by sections, because they need data or
another tool."""


@pytest.mark.parametrize("document", RUN_HERE, ids=lambda document: document.name)
def test_every_code_block_runs(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    """Blocks run from top to bottom in an empty folder; commands exit with the stated code, or 0.

    A block of text has the output of the command before it.
    """
    monkeypatch.chdir(tmp_path)
    ran = run_blocks(document.read_text(encoding="utf-8"), document.name, terminal, {})
    assert ran or document.name in PROSE


def test_every_measure_has_a_page() -> None:
    """It has summary, formula, edge cases, parameters, other names and source; file names differ regardless of case."""
    assert len({slug(kind).casefold() for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        text = measure_pages()[f"{slug(kind)}.md"]
        texts = [kind.title, kind.summary, kind.edge_cases, kind.source, *kind.aliases, *remarks(kind)]
        assert all(words in text for words in texts)
        assert all(parameter.about.description in text for parameter in kind.parameters)


WHOLE = {"NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelJudgedRet", "Hits", "Success", "SetSuccess"}
"""Measures whose scores are always whole numbers."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_measure_has_an_example(kind: Kind) -> None:
    """The calculation gives the score that scorer computes and that the page shows; the score is not trivial."""
    example = EXAMPLES[kind.name]
    text = measure_pages()[f"{slug(kind)}.md"]
    signs = {"__builtins__": {}, "log2": math.log2, "ln": math.log, "exp": math.exp}

    assert parse_one(example.measure).kind is kind
    score = scorer.evaluate(example.source, example.lists, example.measure)[example.measure]
    assert eval(example.arithmetic, signs) == pytest.approx(score, rel=0, abs=1e-12)
    assert f"{example.measure} = {example.arithmetic} = {score:.4f}" in " ".join(text.split())
    assert example.working in text
    assert kind.name in WHOLE or not float(score).is_integer()


def test_every_example_belongs_to_a_measure() -> None:
    """No example is left over."""
    assert set(EXAMPLES) == {kind.name for kind in KINDS}


@pytest.mark.parametrize(
    ("peer", "theirs", "ours"), [(peer, *names) for peer, table in PEERS.items() for names in table.items()]
)
def test_every_name_of_a_peer_is_on_the_page_of_its_measure(peer: str, theirs: str, ours: str) -> None:
    """The page has the name and our spelling, which can be parsed."""
    kind = parse(ours.format(k=5, level=0.5))[0].kind

    assert f"| {peer} | `{placed(theirs)}` | `{placed(ours)}` |" in measure_pages()[f"{slug(kind)}.md"]


def test_differences_are_on_the_pages() -> None:
    """Each measure has names in other tools or a difference, and its page lists the differences."""
    named = {parse(ours.format(k=5, level=0.5))[0].kind.name for table in PEERS.values() for ours in table.values()}

    assert set(DIFFERENCES) <= {kind.name for kind in KINDS}
    assert named | set(DIFFERENCES) == {kind.name for kind in KINDS}
    for kind in KINDS:
        assert all(words in measure_pages()[f"{slug(kind)}.md"] for words in DIFFERENCES.get(kind.name, ()))


def test_spellings_in_the_differences_can_be_parsed() -> None:
    """Each setting that a difference mentions exists."""
    spellings = {
        name
        for differences in DIFFERENCES.values()
        for name in re.findall(r"`(\w+\((?:denominator|gain|discount|ideal|weight|p)=[^`]*)`", " ".join(differences))
    }

    assert len(spellings) > 5
    for name in spellings:
        assert str(parse_one(re.sub(r"@[kz]$", "@5", name)))


def page(name: str) -> str:
    """Return the text of a page of the documentation."""
    return (DOCS / name).read_text(encoding="utf-8")


def test_readme_is_short_and_shows_the_board() -> None:
    """At most two screens; the picture is small enough to load quickly."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)

    assert len(text.splitlines()) <= 100
    assert (ROOT / picture).stat().st_size < 200_000


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_relative_links_lead_to_files(document: Path) -> None:
    """Links outside of code, to pages, files of the project and pictures; the pages of measures are generated."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text)

    # By the documentation, or examples of links on a site.
    generated = ("api/", "measures/", "fusion/", "measures.html", "static/")
    local = [link for link in links if "://" not in link and not link.startswith(generated)]
    assert all((document.parent / link).is_file() for link in local), local


def section_ids(document: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and the documentation make them."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_links_to_sections_lead_to_headings(document: Path) -> None:
    """In this page, and in other pages that are not generated."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    for name, place in re.findall(r"\]\(([\w./-]*)#([^)]+)\)", text):
        target = document.parent / name if name else document
        assert not target.is_file() or target.suffix != ".md" or place in section_ids(target), (name, place)


READERS = ("organise a challenge", "take part", "read a board", "evaluate runs")


def test_the_first_page_has_the_board_and_a_path_for_each_reader() -> None:
    """A paragraph for each, which begins with who the reader is and has links to pages."""
    text = page("index.md")

    assert "](board.png)" in text
    for reader in READERS:
        (path,) = re.findall(rf"^\*\*You {reader}\.\*\*.*?(?=\n\n)", text, re.MULTILINE | re.DOTALL)
        assert path.count(".md)") >= 2


def test_index_links_every_page() -> None:
    """No page is unreachable."""
    assert {file.stem for file in (ROOT / "docs").glob("*.md")} - {"index"} <= set(page("index.md").split())


def test_the_help_and_the_sections_have_the_order_of_the_commands(terminal: Terminal) -> None:
    """The help lists the groups; a section of the page is where its first command is."""
    shown = terminal.run("--help").out.partition("--version")[2]
    listed = re.findall(r"^(?:  ([a-z_]+)  |([a-z ]+):$)", shown, re.MULTILINE)
    sections = re.findall(r"^## ([a-z_]+)", page("commands.md"), re.MULTILINE)

    assert [command or group for command, group in listed] == [
        part for title, commands in COMMAND_GROUPS.items() for part in (title, *commands)
    ]
    assert sections == [name for name in COMMANDS if name in sections]


def test_the_tables_of_the_pages_are_those_of_the_code() -> None:
    """The pages have all tables, and what each key is; `python -m docs.tables` writes the rest."""
    texts = {document.name: document.read_text(encoding="utf-8") for document in PAGES}
    tables = [found for text in texts.values() for found in TABLE.findall(text)]

    assert [name for name, text in texts.items() if text != filled(text)] == [], "run `python -m docs.tables`"
    assert {name for kind, name, _ in tables if kind == "keys"} == MODELS.keys() - {"Link", "_Row"}
    assert not any("|  |" in table for kind, _, table in tables if kind == "keys"), "say what the key is"
    written = {name for kind, names, _ in tables if kind == "options" for name in names.split(", ")}
    assert written >= {name for name in COMMANDS if len(helps(name)) > 1}


def test_every_format_and_every_name_of_a_column_is_documented() -> None:
    """Each has its row in docs/formats.md."""
    rows = {line.split("|")[1].strip(): line for line in page("formats.md").splitlines() if line.startswith("| ")}

    assert {f"`{name}`" for name in FORMAT_NAMES} <= rows.keys()
    # Names without an underscore are read in both spellings; the table has one of them.
    for column, names in COLUMNS.items():
        documented = {name.replace("_", "") for name in re.findall(r"`([a-z_]+)`", rows[column])}
        assert documented == {name.replace("_", "") for name in names}


@pytest.mark.ci
def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    """Links, images and tables included; each link inside of the HTML leads to its file and place."""
    pytest.importorskip("sphinx", reason="the group `docs` is not installed")
    pytest.importorskip("furo", reason="the group `docs` is not installed")
    options = ["-q", "-W", "-b", "html", "-d", str(tmp_path / "cache"), "docs", str(tmp_path)]

    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert (tmp_path / "measures" / "marp.html").is_file()
    assert (tmp_path / "api" / "evaluate.html").is_file()
    assert "_images/board.png" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert list(broken_links(tmp_path)) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    """To a file that is missing, and to a place that no element has."""
    (tmp_path / "a.html").write_text('<a id="x" href="b.html#y">b</a><a href="c.html">c</a><a href="#x">x</a>')
    (tmp_path / "b.html").write_text('<p id="z"><a href="https://example.org/">elsewhere</a><a href="#q">q</a></p>')

    assert sorted(broken_links(tmp_path)) == ["a.html: b.html#y", "a.html: c.html", "b.html: #q"]


def test_each_promise_of_security_names_tests_that_exist() -> None:
    """Each row of its tables has a test."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| promise")]
    assert len(rows) > 20
    assert all("test_" in row.rstrip(" |").rpartition("|")[2] for row in rows)
    for file, name in re.findall(r"`(\w+/test_\w+\.py)(?:::(\w+))?`", text):
        content = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^\s*(class|def) {name or 'test_|^class Test'}", content, re.MULTILINE), (file, name)
