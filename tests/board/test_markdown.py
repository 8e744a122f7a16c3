"""Markdown of the organiser: what it becomes, and what is refused."""

from __future__ import annotations

import re

import pytest

from scorer.board.site import templates
from scorer.errors import ScorerError
from tests.pages import read

FORBIDDEN_LINKS = (
    "[x](javascript:alert(1))",
    "[x](JaVa&#115;cript:alert(1))",
    "[x]( javascript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](<\x01javascript:alert(1)>)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    "[![x](static/x.png)](javascript:alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](file:///etc/passwd)",
    "[x](ftp://example.org)",
    "[x](//example.org)",
    "[x](/index.html)",
    "[x](http:index.html)",
    "[x](../other/index.html)",
    "| a |\n|---|\n| [x](javascript:alert(1)) |",
)
FORBIDDEN_IMAGES = (
    "![x](http://example.org/x.png)",
    "![x](https://example.org/x.png)",
    "![x](//example.org/x.png)",
    "![x](data:image/svg+xml,<svg/onload=alert(1)>)",
    "![x](javascript:alert(1))",
    "![x](mailto:us@example.org)",
    "![x](../../etc/passwd)",
    "![x](static/../../solutions/main.txt)",
    "![x](%2e%2e/solutions/main.txt)",
    "![x](.%2E/solutions/main.txt)",
    "![x](static/&#46;&#46;/..)/../x.png",
    "![x][y]\n\n[y]: ../scores.db",
    "[![x](../scores.db)](index.html)",
)

HTML = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onclick=alert(1)>b</b>",
    "<style>* { display: none }</style>",
    '<a href="javascript:alert(1)">x</a>',
    "<!-- comment -->",
    "<div\nonclick=alert(1)>\n\nx\n</div>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    '![x](static/x.png "t\\" onerror=\\"alert(1)")',
    '[x](rules.html "\\"><script>alert(1)</script>")',
    "# <script>alert(1)</script>",
    "```\n</code></pre><script>alert(1)</script>\n```",
    '``` js"><script>\nx\n```',
)


@pytest.mark.parametrize("text", FORBIDDEN_LINKS)
def test_a_forbidden_link_is_refused(text: str) -> None:
    """The message gives the file, the line and what is allowed."""
    with pytest.raises(
        ScorerError, match=r"^pages/a\.md:\d+: found a link to \".*\"; allowed: http, https, mailto and"
    ):
        templates.check_text(f"A text.\n\n{text}", "pages/a.md", 1)


@pytest.mark.parametrize("text", FORBIDDEN_IMAGES)
def test_a_forbidden_image_is_refused(text: str) -> None:
    """Images are files of the site."""
    with pytest.raises(ScorerError, match=r"^pages/a\.md:3: found an image from \".*\"; allowed: relative paths"):
        templates.check_text(f"A text.\n\n{text}", "pages/a.md", 1)


def test_the_message_names_the_line_of_the_block() -> None:
    """Lines are counted from the first line of the text in its file; a text without lines has only its key."""
    with pytest.raises(ScorerError, match=r"^a\.md:14: "):
        templates.check_text("one\n\ntwo\n\n[x](javascript:x)", "a.md", 10)
    with pytest.raises(ScorerError, match=r"^challenge\.toml: description: found a link"):
        templates.check_text("[x](javascript:x)", "challenge.toml: description")


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://example.org/a?b=c#d)",
        "[x](http://example.org)",
        "[x](mailto:us@example.org)",
        "[x](rules.html#prizes)",
        "[x](#prizes)",
        "[x](cold-start/index.html)",
        "<https://example.org>",
        "![x](static/x.png)",
        "![x](static/a%20b.svg 'A title')",
        "![x](static/../static/x.png)",
        "![x](static/..x.png)",
    ],
)
def test_other_links_are_allowed(text: str) -> None:
    """Links to http, https and mailto, and relative ones; relative images."""
    templates.check_text(text, "a.md")
    assert re.search(r"<(a href|img src)=", templates.to_html(text))


@pytest.mark.parametrize("text", HTML)
def test_html_adds_no_element(text: str) -> None:
    """HTML in a text is text: no element, attribute or comment comes from it."""
    html = str(templates.to_html(text))
    found = list(read(html).all())
    assert {each.tag for each in found} <= {"", "p", "h2", "pre", "code", "a", "img"}
    assert {name for each in found for name in each.attributes} <= {"href", "src", "alt", "title", "class"}
    assert "<!--" not in html
    assert not any((each.attributes.get("href") or "").startswith("javascript") for each in found)


def test_relative_links_start_at_the_folder_of_the_site() -> None:
    """On a page in a folder they lead up first; other links and fragments stay."""
    html = templates.to_html("[a](rules.html) [b](https://example.org) [c](#x) ![d](static/d.png)", "../")
    assert re.findall(r'(?:href|src)="([^"]*)"', html) == [
        "../rules.html",
        "https://example.org",
        "#x",
        "../static/d.png",
    ]


@pytest.mark.parametrize(
    ("top", "levels"), [(2, ["2", "3", "2", "6"]), (3, ["3", "4", "3", "6"]), (1, ["1", "2", "1", "6"])]
)
def test_headings_are_below_those_of_the_page(top: int, levels: list[str]) -> None:
    """The highest heading of a text gets the given level, and the others follow."""
    assert re.findall(r"<h(\d)>", templates.to_html("# a\n\n## b\n\n# c\n\n###### d", top=top)) == levels
    assert re.findall(r"<h(\d)>", templates.to_html("### a\n\n#### b", top=top)) == [str(top), str(top + 1)]


def test_tables_have_no_inline_style() -> None:
    """The content policy allows no inline style, so the alignment of a column is a class; headings have a scope."""
    html = templates.to_html("| a | b |\n|--:|:-:|\n| 1 | 2 |")
    assert "style" not in html
    assert '<th class="right" scope="col">a</th>' in html
    assert '<td class="center">2</td>' in html


def test_a_text_has_a_first_paragraph_and_others() -> None:
    """One that begins otherwise has none; a description is the first one without markup, shortened."""
    text = "One *two*\nthree.\n\nFour.\n\n- five"
    assert str(templates.first_paragraph(text)) == "<p>One <em>two</em>\nthree.</p>\n"
    assert str(templates.further_paragraphs(text)).startswith("<p>Four.</p>\n<ul>")
    assert str(templates.first_paragraph("# A\n\nB")) == ""
    assert str(templates.further_paragraphs("# A\n\nB")) == "<h2>A</h2>\n<p>B</p>\n"
    assert str(templates.first_paragraph("")) == str(templates.further_paragraphs("")) == ""
    assert templates.to_text("# A\n\nOne *two* [three](a.html)\n`four` <b>five</b>.\n\nSix.") == (
        "One two three four <b>five</b>."
    )
    assert len(templates.to_text("word " * 100)) == templates.SUMMARY
    assert templates.to_text("# Only a heading") == ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# A *b* `c`\n\nText.\n", ("A b c", "\nText.\n", 1)),
        ("\n\n# A\nText.", ("A", "Text.", 3)),
        ("A\n=\nText.", ("A", "Text.", 2)),
        ("## A\n", None),
        ("Text.\n\n# A\n", None),
        ("#\n", None),
        ("", None),
    ],
)
def test_the_title_is_the_first_heading(text: str, wanted: tuple[str, str, int] | None) -> None:
    """A page begins with a heading of level 1 that is not empty."""
    assert templates.split_title(text) == wanted
