"""What an organiser adds to the site: colours, logo, footer, pages, files, and changed templates."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.board.site import templates
from scorer.board.site.folder import write
from scorer.board.site.pages import SiteContent, site_files
from scorer.board.site.templates import SHIPPED, service_page
from scorer.errors import ChallengeError, ScorerError
from scorer.files import shipped_templates
from scorer.settings.loading import read_challenge
from scorer.settings.tracks import DARK, LIGHT, NO_BRANDING, Branding, Challenge
from tests.accessibility import check_page
from tests.boards import board_of, challenge, scored_row
from tests.browser import IN_BROWSER, Page
from tests.colours import contrast
from tests.pages import Element, html_of, metas, pages, read
from tests.paths import DOCS

SETTINGS = """
name = "Lectures"
{site}
[tracks.main]
title = "Main"
solution = "solution.txt"
list_length = 5
primary = "RR"
"""

WHOLE = ("404.html", "/embed.html")
"""The pages without the layout of the others."""

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"><script>document.title = 1</script></svg>'

Make = Callable[..., Challenge]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write files next to challenge.toml, and return the challenge with this table [site]."""

    def make(files: dict[str, bytes | str] | None = None, **branding: object) -> Challenge:
        for name, content in (files or {}).items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        settings = {"branding": Branding.model_validate(branding)}
        return challenge(tmp_path).model_copy(update=settings)

    return make


def rendered(declared: Challenge) -> dict[str, str]:
    """The pages of a challenge with one team."""
    scores = {track.name: len(track.all_measures) for track in declared.tracks}
    return pages(
        declared, [board_of(track, scored_row("solo", 0.3, 0.2, scores[track.name])) for track in declared.tracks]
    )


def links(page: str) -> dict[str, str]:
    """The address of each link of a page by its text."""
    return {each.words(): each.attributes.get("href") or "" for each in read(page).all("a")}


def first(page: str, tag: str) -> Element:
    """The first element of a page with this tag."""
    return next(read(page).all(tag))


# The table [site]


def read_site(tmp_path: Path, site: str) -> Challenge:
    """The challenge with this text for the site."""
    (tmp_path / "solution.txt").write_text("1:0:2|3\n")
    file = tmp_path / "challenge.toml"
    file.write_text(SETTINGS.format(site=site), encoding="utf-8")
    return read_challenge(file)


@pytest.mark.parametrize(("site", "folder"), [("", "site"), ('site = "out"', "out"), ('[site]\nfolder = "out"', "out")])
def test_the_site_is_a_path_or_a_table(tmp_path: Path, site: str, folder: str) -> None:
    """The path of the folder can be the value of `site`, or a key of the table."""
    declared = read_site(tmp_path, site)
    assert declared.site == folder
    assert declared.site_path == tmp_path / folder
    assert declared.branding.accents is None


def test_every_key_of_the_table_is_read(tmp_path: Path) -> None:
    """The address ends with a slash."""
    branding = read_site(
        tmp_path,
        '[site]\nurl = "https://example.org/a"\naccent = "#0a4c7a"\naccent_dark = "#8fc1e6"\nlogo = "a/logo.svg"\n'
        'footer = "By *us*."\nlinks = [{ title = "Us", url = "mailto:a@b.org" }]\n',
    ).branding
    assert branding.url == "https://example.org/a/"
    assert branding.accents == ("#0a4c7a", "#8fc1e6")
    assert (branding.logo, branding.footer) == ("a/logo.svg", "By *us*.")
    assert [(each.title, each.url) for each in branding.links] == [("Us", "mailto:a@b.org")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('accent = "red"', 'site.accent: found "red", which is not a colour; allowed: a colour as in #0a4c7a'),
        (
            'accent = "#8fc1e6"',
            'site.accent: found "#8fc1e6", which has a contrast of only 1.6:1 with #e8eff6; allowed',
        ),
        (
            'accent = "#0a4c7a"\naccent_dark = "#0a4c7a"',
            'site.accent_dark: found "#0a4c7a", which has a contrast of only',
        ),
        ('accent_dark = "#ffffff"', 'site.accent_dark: found "#ffffff", which needs accent'),
        ('logo = "../solution.svg"', "which is not the path of a file in templates/static/"),
        ('logo = "/etc/logo.svg"', "which is not the path of a file in templates/static/"),
        ('logo = ".hidden.svg"', "which is not the path of a file in templates/static/"),
        ('logo = "logo.html"', "which is not the name of an image"),
        ('url = "example.org"', "which is not the address of a folder"),
        ('url = "https://example.org/?a"', "which is not the address of a folder"),
        ('url = "javascript:alert(1)"', "which is not the address of a folder"),
        ('contact = "@example"', "which is neither an email address nor such a URL; allowed: an email address, as in"),
        ('contact = "a@b.org?cc=c@d.org"', "which is neither an email address nor such a URL"),
        ('contact = "http://example.org"', "which is neither an email address nor such a URL"),
        ('contact = "javascript:alert(1)"', "which is neither an email address nor such a URL"),
        ('contact = "https://"', "which is neither an email address nor such a URL"),
        ('links = [{ title = "x", url = "javascript:alert(1)" }]', 'site.links[0].url: found "javascript:alert(1)"'),
        (
            'links = [{ title = "x", url = "rules.html" }]',
            "which is not a URL of this kind; allowed: a URL that begins with http://",
        ),
        ('links = [{ title = " ", url = "https://example.org" }]', 'site.links[0].title: found " ", which is blank'),
        ('links = [{ url = "https://example.org" }]', "site.links[0].title: is missing"),
        (
            'colour = "#0a4c7a"',
            "site.colour: unknown key; known: folder, url, service, contact, accent, accent_dark, logo, footer, links",
        ),
        ('folder = "."', 'site.folder: found ".", which contains the challenge itself'),
        ("folder = 3", "site.folder: found 3; allowed: the path of a folder"),
    ],
)
def test_an_invalid_value_is_reported(tmp_path: Path, line: str, message: str) -> None:
    """The message names the key in the table, what was found and what is allowed."""
    with pytest.raises(ChallengeError) as caught:
        read_site(tmp_path, f"[site]\n{line}")
    assert message in str(caught.value)


# Colours


def test_the_backgrounds_are_those_of_the_style_sheet() -> None:
    """Contrasts are checked against the colours that the pages have."""
    text = (shipped_templates() / "style.css").read_text(encoding="utf-8")
    for number, colours in enumerate((LIGHT, DARK)):
        block = re.findall(r":root \{(.*?)\}", text, re.DOTALL)[number]
        named = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
        assert colours == (named["paper"], named["raised"], named["mark"])


@pytest.mark.parametrize("accent", ["#0a4c7a", "#7a0a2e", "#1b5e20", "#000000", "#5b2a86"])
def test_an_accent_has_contrast_in_both_schemes(make: Make, accent: str) -> None:
    """The generated style sheet sets the accent, and tones of it that are readable too."""
    sheet = rendered(make(accent=accent))["accent.css"]
    found = re.findall(r"--accent: (#\w{6}); --bar: (#\w{6}); --mark: (#\w{6});", sheet)
    assert found[0][0] == accent
    for (text, bar, mark), backgrounds in zip(found, (LIGHT, DARK), strict=True):
        assert all(contrast(text, background) >= 4.5 for background in (*backgrounds, mark))
        assert contrast(mark, backgrounds[0]) == pytest.approx(contrast(backgrounds[2], backgrounds[0]), abs=0.06)
        assert contrast(bar, backgrounds[0]) >= 3


def test_pages_link_the_style_sheets_of_the_organiser_last(make: Make) -> None:
    """The accent comes after the shipped style sheets, and the organiser's own rules come last."""
    site = rendered(make({"templates/extra.css": "p { color: {{ red }} }"}, accent="#7a0a2e"))
    assert site["extra.css"] == "p { color: {{ red }} }"
    for path, root in (("index.html", ""), ("teams/solo.html", "../"), ("measures.html", "")):
        sheets = [
            each.attributes["href"] for each in read(site[path]).all("link") if each.attributes["rel"] == "stylesheet"
        ]
        assert sheets[0] == f"{root}style.css"
        assert sheets[-2:] == [f"{root}accent.css", f"{root}extra.css"]


def test_without_settings_nothing_is_added() -> None:
    """No further style sheet, no logo and no footer."""
    site = rendered(challenge())
    assert not {"accent.css", "extra.css"} & set(site)
    assert "<img" not in site["index.html"]
    assert NO_BRANDING.links == ()


# Logo, footer and links


def test_the_logo_is_an_image_on_every_page(make: Make) -> None:
    """It is copied as it is and shown by an img element; without such a file the message names the key."""
    declared = make({"templates/static/logo.svg": SVG}, logo="logo.svg")
    site = site_files(SiteContent(declared, [board_of(track) for track in declared.tracks]))
    assert site["static/logo.svg"] == SVG
    for path, root in (("index.html", ""), ("cold-start/index.html", "../")):
        page = site[path]
        assert isinstance(page, str)
        assert first(page, "img").attributes == {"class": "logo", "src": f"{root}static/logo.svg", "alt": ""}
        assert "onload" not in page

    declared = make(logo="other.svg")
    with pytest.raises(
        ScorerError, match=r"challenge\.toml: site\.logo: names .*other\.svg, but there is no such file"
    ):
        site_files(SiteContent(declared, []))


def test_the_footer_and_its_links_are_on_every_page(make: Make) -> None:
    """The footer is Markdown, with relative links from each page; hostile titles are text."""
    title = "<script>alert(1)</script>"
    site = rendered(
        make(
            footer="By *us*: [rules](rules.html) <b>x</b>", links=[{"title": title, "url": "https://example.org/?a&b"}]
        )
    )
    for path, root in (("index.html", ""), ("teams/solo.html", "../")):
        footer = first(site[path], "footer")
        found = {each.words(): each.attributes["href"] for each in footer.all("a")}
        assert found["rules"] == f"{root}rules.html"
        assert found[title] == "https://example.org/?a&b"
        assert "By us: rules <b>x</b>" in footer.words()
        assert not list(footer.all("b"))


@pytest.mark.parametrize("key", ["description", "site.footer", "tracks.cold-start.description"])
def test_a_forbidden_link_in_a_setting_is_an_error(make: Make, key: str) -> None:
    """The message names the key."""
    text = "[x](javascript:alert(1))"
    declared = make(footer=text if key == "site.footer" else "")
    if key == "description":
        declared = declared.model_copy(update={"description": text})
    if key.startswith("tracks"):
        track = declared.tracks[0].model_copy(update={"description": text})
        declared = declared.model_copy(update={"tracks": (track, declared.tracks[1])})
    with pytest.raises(ScorerError, match=rf"challenge\.toml: {re.escape(key)}: found a link to"):
        rendered(declared)


def test_descriptions_are_markdown(make: Make) -> None:
    """On the front page and on the board; HTML in them is text."""
    text = "One **lecture** <b>a</b> day.\n\n# Data\n\nSee [the rules](rules.html)."
    declared = make()
    track = declared.tracks[0].model_copy(update={"description": text})
    site = rendered(declared.model_copy(update={"tracks": (track, declared.tracks[1]), "description": text}))
    for path, root in (("index.html", ""), ("cold-start/index.html", "../")):
        page = site[path]
        assert "One <strong>lecture</strong> &lt;b&gt;a&lt;/b&gt; day." in page
        assert links(page)["the rules"] == f"{root}rules.html"
        assert len(list(read(page).all("h1"))) == 1


# Pages


RULES = "# Rules of *the* challenge\n\nOne entry <b>a</b> day. See [measures](measures.html).\n\n## Prizes\n\nNone.\n"


def test_pages_are_in_the_navigation_in_the_order_of_their_numbers(make: Make) -> None:
    """Numbers sort by value; files without a number come last; hidden files and links are left out."""
    declared = make(
        {"pages/10-rules.md": RULES, "pages/2-data.md": "# Data", "pages/about.md": "# About", "pages/.x.md": ""}
    )
    (declared.root / "pages" / "linked.md").symlink_to(declared.root / "pages" / "about.md")
    site = rendered(declared)
    found = [(text, address) for text, address in links(site["teams/solo.html"]).items() if address.startswith("../")]
    assert found[3:7] == [
        ("Data", "../data.html"),
        ("Rules of the challenge", "../rules.html"),
        ("About", "../about.html"),
        ("Measures", "../measures.html"),
    ]
    assert "linked.html" not in site
    assert 'href="rules.html" aria-current="page"' in site["rules.html"]


def test_a_page_shows_its_text(make: Make) -> None:
    """The first heading is the title; HTML in the text is text."""
    page = rendered(make({"pages/10-rules.md": RULES}))["rules.html"]
    assert first(page, "title").words() == "Rules of the challenge – Lectures & lists"
    assert [each.words() for each in read(page).all("h1")] == ["Rules of the challenge"]
    assert [each.words() for each in read(page).all("h2")] == ["Prizes"]
    assert "One entry &lt;b&gt;a&lt;/b&gt; day." in page
    assert 'content="One entry &lt;b&gt;a&lt;/b&gt; day. See measures."' in page


def test_a_hostile_title_is_text(make: Make) -> None:
    """A title with HTML adds no element to the page, its title, or the navigation."""
    page = rendered(make({"pages/x.md": "# <script>alert(1)</script> \"'> & x"}))["x.html"]
    title = "<script>alert(1)</script> \"'> & x"
    assert [each.attributes.get("src") for each in read(page).all("script")] == ["own.js"]
    assert first(page, "h1").words() == title
    assert first(page, "title").words().startswith(title)
    assert links(page)[title] == "x.html"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.md", "Text.", r"a\.md:1: found no heading; expected a page that begins with one"),
        ("a.md", "", r"a\.md:1: found no heading"),
        ("a.md", "# A\n\nText.\n\n[x](javascript:x)\n", r"a\.md:5: found a link to"),
        ("a.md", b"# A\n\nx \xff\n", r"a\.md:3: found a byte that is not UTF-8"),
        ("Über.md", "# A", r"cannot be the name of a page; expected a-z, 0-9 and -"),
        ("a b.md", "# A", r"cannot be the name of a page"),
        ("1-index.md", "# A", r"is the name of another page"),
        ("measures.md", "# A", r"is the name of another page"),
        ("404.md", "# A", r"is the name of another page"),
        ("a.md", b"# A\n" + b"x" * 1_000_001, r"a\.md: has more than 1,000,000 bytes"),
    ],
)
def test_an_invalid_page_is_an_error(make: Make, name: str, content: bytes | str, message: str) -> None:
    """The message gives the file, and the line if there is one."""
    declared = make({f"pages/{name}": content})
    with pytest.raises(ScorerError, match=message):
        rendered(declared)


def test_two_pages_of_one_name_are_an_error(make: Make) -> None:
    """The numbers of files are not part of their names."""
    declared = make({"pages/1-a.md": "# A", "pages/2-a.md": "# B"})
    with pytest.raises(ScorerError, match=r"2-a\.md: has the name of 1-a\.md without the number"):
        rendered(declared)


# Static files


def test_static_files_are_copied_as_they_are(make: Make, tmp_path: Path) -> None:
    """Also in folders, and also if they are not text."""
    content = bytes(range(256))
    declared = make({"templates/static/a/b.bin": content, "templates/static/x.html": "<script>"})
    site = site_files(SiteContent(declared, [board_of(track) for track in declared.tracks]))
    assert {path: site[path] for path in site if path.startswith("static/")} == {
        "static/a/b.bin": content,
        "static/x.html": b"<script>",
    }
    write(site, tmp_path / "site")
    assert (tmp_path / "site" / "static" / "a" / "b.bin").read_bytes() == content


def test_hidden_files_and_symbolic_links_are_not_copied(make: Make, tmp_path: Path) -> None:
    """A link could lead to the solution; the same for the whole folder."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "secret.txt").write_text("secret")
    declared = make({"templates/static/a.txt": "a", "templates/static/.git/b": "b", "templates/static/.c": "c"})
    folder = tmp_path / "templates" / "static"
    (folder / "file.txt").symlink_to(tmp_path / "solutions" / "secret.txt")
    (folder / "folder").symlink_to(tmp_path / "solutions")
    assert templates.static_files(declared.root) == {"static/a.txt": b"a"}

    folder.rename(tmp_path / "aside")
    folder.symlink_to(tmp_path / "solutions")
    assert templates.static_files(tmp_path) == {}


def test_static_files_are_limited(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the folder and the limit; the suffix of files in progress is for these only."""
    declared = make({"templates/static/a": "x" * 60, "templates/static/b": "x" * 60})
    monkeypatch.setattr(templates, "MOST_TOGETHER", 100)
    with pytest.raises(ScorerError, match=r"templates/static: has more than 100 bytes"):
        templates.static_files(declared.root)

    declared = make({"templates/static/a.part": "x"})
    with pytest.raises(ScorerError, match=r"a\.part: files that end with \.part"):
        templates.static_files(declared.root)


def test_a_static_file_may_become_a_folder_and_back(tmp_path: Path) -> None:
    """A render deletes what is where it needs a folder or a file, and folders that are empty."""
    folder = tmp_path / "site"
    write({"index.html": "", "static/a": b"1"}, folder)
    write({"index.html": "", "static/a/b/c": b"2"}, folder)
    assert (folder / "static/a/b/c").read_bytes() == b"2"
    write({"index.html": "", "static/a": b"3"}, folder)
    assert (folder / "static/a").read_bytes() == b"3"
    write({"index.html": ""}, folder)
    assert not (folder / "static").exists()


# Templates


def test_one_block_of_a_shipped_template_can_be_replaced(make: Make) -> None:
    """The rest of the page is the shipped one, which extends the organiser's layout."""
    own = f'{{% extends "{SHIPPED}/board.html" %}}{{% block footer %}}<p>Prizes: none.</p>{{% endblock %}}'
    layout = f'{{% extends "{SHIPPED}/layout.html" %}}{{% block navigation %}}<li>Ours</li>{{% endblock %}}'
    declared = make({"templates/board.html": own, "templates/layout.html": layout})
    site = rendered(declared)
    page = site["cold-start/index.html"]
    assert "<p>Prizes: none.</p>" in page
    assert 'id="board"' in page
    assert all("<li>Ours</li>" in text for path, text in html_of(site).items() if not path.endswith(WHOLE))
    assert "<li>Ours</li>" in service_page(declared, "sign-in.html", problem="", asked={}, has_invitation=False)


@pytest.mark.parametrize("block", ["title", "head", "main", "footer"])
def test_every_page_has_the_promised_blocks(make: Make, block: str) -> None:
    """`docs/templates.md` promises these and the name `root`, the way to the folder of the site."""
    assert f"| `{block}` |" in (DOCS / "templates.md").read_text(encoding="utf-8")
    names = [path.name for path in shipped_templates().glob("*.html") if "extends" in path.read_text(encoding="utf-8")]
    assert len(names) > 10
    own = '{%% extends "%s/%s" %%}{%% block %s %%}<i>{{ root }}ours</i>{%% endblock %%}'
    site = rendered(make({f"templates/{name}": own % (SHIPPED, name, block) for name in names}))
    for path, text in html_of(site).items():
        root = "../" * path.count("/")
        assert path.endswith(WHOLE) or f"{root}ours" in text, path


def test_the_shipped_templates_cannot_be_replaced_under_their_prefix(make: Make) -> None:
    """A folder of that name in the organiser's templates is not used."""
    own = f'{{% extends "{SHIPPED}/measures.html" %}}'
    site = rendered(make({"templates/measures.html": own, f"templates/{SHIPPED}/measures.html": "<p>Ours</p>"}))
    assert "<h1>Measures</h1>" in site["measures.html"]


# Previews of links, and the page for missing pages


def test_every_page_has_a_preview(make: Make) -> None:
    """Title and description, as text; a description for each page; the address only if it is known."""
    site = rendered(make())
    for path, page in html_of(site).items():
        if path.endswith(WHOLE):
            continue
        found = metas(page)
        assert found["og:type"] == "website"
        assert found["og:site_name"] == "Lectures & lists"
        assert found["og:title"] == first(page, "title").words()
        assert found["og:description"] == found["description"]
        assert not {"og:url", "og:image"} & set(found)
    assert metas(site["cold-start/index.html"])["description"] == (
        "Recommend thirty lectures for one just published. One team."
    )
    assert metas(site["teams/solo.html"])["description"] == (
        "solo: rank 1 of 1 in Cold start, final MARp@5,10,15,20,25,30 0.3000; "
        "rank 1 of 1 in Pooled sequences, preliminary MARp@5,10 0.2000."
    )


def test_a_preview_has_the_address_and_the_logo_if_they_are_known(make: Make) -> None:
    """Addresses in a preview are absolute, so an image needs both settings."""
    declared = make({"templates/static/logo.png": b""}, logo="logo.png", url="https://example.org/c")
    found = metas(rendered(declared)["cold-start/index.html"])
    assert found["og:url"] == "https://example.org/c/cold-start/index.html"
    assert found["og:image"] == "https://example.org/c/static/logo.png"
    assert "og:image" not in metas(rendered(make(url="https://example.org/c"))["index.html"])


def test_the_page_for_missing_pages_works_at_any_depth(make: Make) -> None:
    """Its style is in it, allowed by its digest; links are absolute or left out."""
    page = rendered(make())["404.html"]
    addresses = [each.attributes.get(name) for each in read(page).all() for name in ("href", "src")]
    assert set(addresses) == {None}
    declared = make(url="https://example.org/c/", accent="#7a0a2e")
    page = rendered(declared)["404.html"]
    assert links(page) == {
        "Front page": "https://example.org/c/",
        "Cold start": "https://example.org/c/cold-start/index.html",
        "Pooled sequences": "https://example.org/c/pooled-sequences/index.html",
    }
    assert "--accent: #7a0a2e" in first(page, "style").text

    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in page


# In a browser


class TestInBrowser:
    """A site with hostile files of the organiser, in Chromium."""

    pytestmark = IN_BROWSER

    @pytest.fixture
    def address(self, make: Make, tmp_path: Path) -> str:
        """The URL of the site, in a folder that is not its root."""
        text = (
            "# <img src=x onerror=alert(1)>\n\n![x](static/logo.svg)\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n    code\n"
        )
        declared = make(
            {"templates/static/logo.svg": SVG, "pages/hostile.md": text},
            logo="logo.svg",
            accent="#7a0a2e",
            footer="<script>document.title = 1</script>",
        )
        boards = [board_of(track, scored_row("solo", 0.3, 0.2, 5)) for track in declared.tracks[:1]]
        write(site_files(SiteContent(declared, boards)), tmp_path / "site")
        return (tmp_path / "site").as_uri()

    def test_nothing_runs(self, tab: Page, address: str) -> None:
        """Scripts in an SVG, in Markdown and in HTML do not run; nothing is refused by the content policy."""
        for path in ("hostile.html", "index.html", "404.html", "teams/solo.html"):
            tab.open(f"{address}/{path}")
            assert tab.errors == [], path
            assert tab.ask("document.title") != "1"
            assert tab.ask("document.querySelectorAll('svg script, main script').length") == 0
            assert all(request.startswith((address, "data:")) for request in tab.requests)

    def test_the_accent_and_the_style_apply(self, tab: Page, address: str) -> None:
        """In light and dark pages, and in the page for missing pages."""
        tab.open(f"{address}/teams/solo.html")
        colour = "getComputedStyle(document.querySelector('.entries .status')).color"
        assert tab.ask(colour) == "rgb(122, 10, 46)"
        tab.open(f"{address}/teams/solo.html", dark=True)
        assert tab.ask(colour) == "rgb(208, 169, 182)"
        tab.open(f"{address}/404.html")
        assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(253, 252, 248)"

    @pytest.mark.parametrize("path", ["hostile.html", "404.html"])
    def test_pages_are_sound(self, tab: Page, address: str, path: str) -> None:
        """Also on a phone."""
        check_page(tab, f"{address}/{path}", 320)
