"""Names: every name is text, has its own page, and takes nothing from another team."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Iterator
from io import StringIO

import pytest

from scorer.rules.teams import slugs
from scorer.wording import printable_name
from tests.hostile.sieges import LISTS, Siege, assert_printable
from tests.pages import PLAIN_PATH

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")

NAMES: dict[str, bytes] = {
    # Alike
    "latin-1": b"caf\xe9",
    "what-latin-1-prints-as": rb"caf\udce9",
    "composed": "café".encode(),
    "decomposed": "cafe\u0301".encode(),
    "cyrillic": "\u0430lpha".encode(),
    "full-width": "ａｌｐｈａ".encode(),
    "capitals": b"ALPHA",
    "space-before": b" alpha",
    "space-behind": b"alpha ",
    "no-break-space": b"alpha\xc2\xa0",
    "hangul-filler": "alpha\u3164".encode(),
    "what-a-filler-prints-as": rb"alpha\u3164",
    "grapheme-joiner": "al\u034fpha".encode(),
    "zero-width-space": "al\u200bpha".encode(),
    "soft-hyphen": "al\u00adpha".encode(),
    "variation-selector": "alpha\ufe0f".encode(),
    "tag": "alpha\U000e0041".encode(),
    "null-notehead": "alpha\U0001d159".encode(),
    "two-spaces": b"al  pha",
    "one-space": b"al pha",
    "ligature": "\ufb01rst".encode(),
    # Invisible, or out of place
    "nothing-but-a-filler": "\u3164".encode(),
    "nothing-but-a-space": b" ",
    "blank-braille": "\u2800".encode(),
    "right-to-left": "abc\u202egnp.exe".encode(),
    "right-to-left-letters": "אבג".encode(),
    "isolate-that-never-ends": "\u2066abc".encode(),
    "marks-on-marks": ("z" + "\u0301" * 120).encode(),
    "marks-without-a-letter": ("\u0489" * 127).encode(),
    "new-line": b"new\nline",
    "return": b"new\rline",
    "escape": b"\x1b[2J\x1b]0;gone\x07",
    "c1-control": "\x9b31mred".encode(),
    "delete": b"alpha\x7f",
    "all-bytes-that-are-not-utf-8": bytes(range(0x80, 0x100)),
    "255-bytes": b"W" * 255,
    "255-bytes-that-are-not-utf-8": b"\xff" * 255,
    "63-emojis": "🦊".encode() * 63,
    # Commands, paths, options, formulas, markup
    "option": b"--help",
    "short-option": b"-t",
    "dash": b"-",
    "backslashes": rb"x\..\..\..\x",
    "percent": b"%2e%2e%2f%2e%2e%2fx",
    "dots": b"x..",
    "drive": b"C:x",
    "url": b"s3:::x",
    "url-chain": b"simplecache::file:x",
    "shell": b"$(touch x);`touch x`|touch x",
    "wildcard": b"*?[a-z]",
    "sql": b"x'; DROP TABLE event; --",
    "null": b"null",
    "nan": b"NaN",
    "formula": b"=cmd()|'calc'!A0",
    "formula-behind-a-semicolon": b"x;=cmd()",
    "at": b"@SUM(1)",
    "markup": b"<script>alert(1)<x>",
    "attribute": b"\"><img src=x onerror='alert(1)'>",
    "template": b"{{ 7 * 7 }}{% endblock %}{# x #}",
    "markdown": b"|a`b`*c*[d](e)|",
    "reference": b"&lt;b&gt;&#0;",
    "javascript": b"javascript:alert(1)",
    # Names of pages and of devices
    "index": b"index",
    "index.html": b"index.html",
    "second-page-of-a-team": b"alpha.2",
    "second-page-of-a-team.html": b"alpha.2.html",
    "teams": b"teams",
    "con": b"con",
    "nul.txt": b"nul.txt",
    "com1": b"com1",
    "prototype": b"__proto__",
    "manifest": b"manifest.json",
    "slug-of-another": slugs(["alpha", "ALPHA"])["ALPHA"].encode(),
    "time": b"20110418T100000Z",
    "time-and-nothing": b"20110418T100000Z-.txt",
    "extensions": b".txt.gz"[1:],
}
"""What a team calls its folder and its file."""


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    """A team of each name, with a valid and an invalid file."""
    siege = Siege(tmp_path_factory.mktemp("siege") / "challenge")
    for name in NAMES.values():
        folder = siege.main / os.fsdecode(name)
        folder.mkdir()
        file = os.fsdecode(name[:200])
        (folder / f"{file}").write_text(LISTS, encoding="utf-8")
        (folder / f"20110418T110000Z-{file}").write_text(f"q4;{'x' * 70}\n{LISTS}", encoding="utf-8")
    siege.answer = siege.run("run")
    yield siege
    siege.restore()


@pytest.mark.parametrize("case", NAMES)
def test_each_is_another_team(case: str, siege: Siege) -> None:
    """With its row, its score, its page and its rejected file."""
    name = os.fsdecode(NAMES[case])
    row = siege.board()[printable_name(name)]
    assert (row["nDCG@5"], row["entries"]) == (0, 2)
    assert printable_name(name).isprintable()
    page = (siege.folder / "site" / "teams" / f"{row['id']}.html").read_text(encoding="utf-8")
    assert "rejected" in page


def test_nobody_else_is_harmed(siege: Siege) -> None:
    """All are scored, and no row is that of another team."""
    assert f"main: {len(NAMES)} scored, 4 known, {len(NAMES)} rejected" in siege.answer.err
    assert len(siege.board()) == len(NAMES) + len(siege.rows)
    siege.check_others(2 * len(NAMES))


def test_every_path_is_plain(siege: Siege) -> None:
    """Names of files of the site are unique, also without case, and are no path to elsewhere."""
    site = siege.folder / "site"
    files = [path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()]
    assert all(map(PLAIN_PATH.fullmatch, files))
    assert len({file.lower() for file in files}) == len(files)
    assert len([file for file in files if file.startswith("teams/")]) == len(NAMES) + len(siege.rows)
    assert {path.name for path in siege.folder.parent.iterdir()} == {"challenge", "honest", "outside.txt", "temporary"}


def test_pages_hold_no_code(siege: Siege) -> None:
    """Nor a character that does not print."""
    for path in (siege.folder / "site").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<img" not in text
        assert "<script>alert" not in text
        assert not re.search(r"<[^>]+ on\w+=", re.sub(r'"[^"]*"', '""', text))
        assert 'href="javascript:' not in text
        # Charts isolate labels that are written from right to left.
        unmarked = re.sub("\u2068([^\u2068\u2069]*)\u2069", r"\1", text)
        assert all(char.isprintable() or char == "\n" for char in unmarked)
        assert not re.search("[\u0300-\u036f\u0489]{5}", text), "marks that cover other rows"


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_exports_hold_no_code(form: str, siege: Siege) -> None:
    """No formula, no markup, no command for a terminal; a row for each team."""
    answer = siege.run("leaderboard", "--format", form)
    assert_printable(answer)
    count = len(NAMES) + len(siege.rows)
    if form == "csv":
        rows = list(csv.DictReader(StringIO(answer.out)))
        assert len(rows) == count
        assert not any(re.match(r"[=+\-@\t\r]", value) for row in rows for value in row.values())
    elif form == "json":
        assert len(json.loads(answer.out)["rows"]) == count
    elif form == "markdown":
        lines = answer.out.splitlines()[2:]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
        assert len(lines) == count + 2
        assert not re.search(r"<|(?<!\\)[`*\[\]]", answer.out)
    else:
        assert len(answer.out.splitlines()) == count + 2


@pytest.mark.parametrize("command", ["status", "doctor"])
def test_other_commands(command: str, siege: Siege) -> None:
    """They find nothing wrong."""
    answer = siege.run(command)
    assert answer.code == 0, answer.err
    assert_printable(answer)


@pytest.mark.parametrize("case", ["option", "dash", "url", "new-line", "escape", "255-bytes-that-are-not-utf-8"])
def test_check(case: str, siege: Siege) -> None:
    """A participant can check a file of any name."""
    name = os.fsdecode(NAMES[case])
    answer = siege.check(siege.main / name / name[:200])
    assert answer.code == 0, answer.err
    assert_printable(answer)
