"""Broken files, hostile names and broken surroundings, through the commands: told in words, and no other suffers."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.commands import Answer, Terminal, command, process
from tests.databases import removed

GOOD = "q1:apple,pear\nq2:fig\nq3:lemon\n"
REPEATED = 1_000_000
SIDE_TRACK = """
[tracks.side]
title = "Side track"
solution = "solutions/side.txt"
list_length = 5
primary = "nDCG@5"
"""


@pytest.fixture
def challenge(tmp_path: Path, terminal: Terminal) -> Path:
    """A new challenge, as `scorer init` makes it: one track with two submissions."""
    folder = tmp_path / "challenge"
    assert terminal.run("init", folder).code == 0
    return folder


@pytest.fixture
def two_tracks(challenge: Path) -> Path:
    """The same with a second track, which has all that the first one has."""
    with (challenge / "challenge.toml").open("a", encoding="utf-8") as declared:
        declared.write(SIDE_TRACK)
    shutil.copy(challenge / "solutions" / "main.txt", challenge / "solutions" / "side.txt")
    shutil.copytree(challenge / "submissions" / "main", challenge / "submissions" / "side")
    return challenge


class Page(HTMLParser):
    """A page's elements and its text, as a browser takes them."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._text = ""
        self.feed(file.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self._text += data

    @property
    def text(self) -> str:
        return " ".join(self._text.split())


def submissions(challenge: Path) -> Path:
    """The folder of the first track's."""
    return challenge / "submissions" / "main"


def tree(folder: Path) -> dict[str, bytes]:
    """The content of every file in the folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("[!.]*") if path.is_file()}


def board(challenge: Path, track: str = "main") -> dict[str, dict[str, object]]:
    """The rows of a track's board by team, as the site exports them."""
    exported = json.loads((challenge / "site" / track / "leaderboard.json").read_text(encoding="utf-8"))
    return {row["team"]: row for row in exported["rows"]}


# Broken submissions

BROKEN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ": the file is empty"),
    "binary": (bytes(range(256)) * 9, ":1: a NUL byte; the file is binary"),
    "utf-16": (GOOD.encode("utf-16"), ": the file is in UTF-16; save it as UTF-8"),
    "latin-1": (GOOD.encode() + "q4:café\n".encode("latin-1"), ":4: byte 0xe9 at column 7 is not UTF-8"),
    "nul-bytes": (GOOD.encode() + b"q4:a\0b\n", ":4: a NUL byte"),
    "cut-gzip": (gzip.compress(GOOD.encode() * 999)[:40], ":1: the compressed file is cut short"),
    "damaged-gzip": (gzip.compress(GOOD.encode())[:-8] + b"8 bytes!", ":1: the compressed file is damaged"),
    "nan": (b"q1 Q0 apple 1 2 t\nq1 Q0 pear 2 nan t\n", ':2: found "nan" as the score; expected a finite number'),
    "inf": (b"query,item,score\nq1,apple,inf\n", ':2: found "inf" in the column score; expected a finite number'),
    "1e999": (b"query\titem\tscore\nq1\tapple\t-1e999\n", ':2: found "-1e999" in the column score; expected a finite'),
    "open-quote": (b'query,item,score\nq1,"apple,1\n', ':2: found "q1,\\"apple,1"; expected every quote closed'),
    "bare-comma": (b"query,item,score\nq1,app,le,1\n", ':2: found "q1,app,le,1"; expected 3 columns'),
    "markup": (GOOD.encode() + b"q4;<script>alert(1)</script>\n", ':4: found "q4;<script>alert(1)</script>"; expected'),
    "formula": (b"=cmd():apple\n", ": none of its queries is asked for"),
    "repeated-query": (b"q1:apple\n" * REPEATED, f": and {REPEATED - 1 - 20:,} more"),
}
"""A file's content, and what follows its name in a message about it. Each goes by its name here."""


@pytest.fixture
def beside(challenge: Path) -> Callable[[str], Path]:
    """Puts one of the broken files outside the challenge."""

    def put(name: str) -> Path:
        file = challenge.parent / f"{name}.txt"
        file.write_bytes(BROKEN[name][0])
        return file

    return put


@pytest.mark.parametrize("name", BROKEN)
def test_evaluate_tells_a_broken_file_and_scores_the_others(
    name: str, challenge: Path, beside: Callable[[str], Path], terminal: Terminal
) -> None:
    """The ones before it and the ones behind it."""
    first, second = sorted(submissions(challenge).iterdir())
    file = beside(name)
    solution = challenge / "solutions" / "main.txt"

    answer = terminal.run("evaluate", solution, first, file, second, "-m", "AP", "--format", "json")

    assert answer.code == 1
    assert f"{file}{BROKEN[name][1]}" in answer.err
    assert [each["submission"] for each in json.loads(answer.out)["submissions"]] == [str(first), str(second)]


@pytest.mark.parametrize("name", BROKEN)
def test_check_tells_a_broken_file(
    name: str, challenge: Path, beside: Callable[[str], Path], terminal: Terminal
) -> None:
    """In the words of scoring, so that a participant knows before the organiser does."""
    file = beside(name)

    answer = terminal.run("check", file, "--track", "main", "--challenge", challenge)

    assert (answer.code, answer.out) == (1, "")
    assert f"{file}{BROKEN[name][1]}" in answer.err
    assert f"{file}: not fit for main" in answer.err


def test_run_tells_every_broken_file_and_scores_the_others(challenge: Path, terminal: Terminal) -> None:
    """All at once: in the terminal, on the board, and on the page of each team; and the next run remembers them."""
    for name, (content, _) in BROKEN.items():
        (submissions(challenge) / f"{name}.txt").write_bytes(content)

    answer = terminal.run("run", challenge)
    again = terminal.run("run", challenge)

    assert (answer.code, again.code) == (1, 1)
    assert f"main: 2 scored, 0 known, {len(BROKEN)} rejected" in answer.err
    assert f"main: 0 scored, {len(BROKEN) + 2} known, {len(BROKEN)} rejected" in again.err
    rows = board(challenge)
    assert rows.keys() == {"first-team", "most-popular", *BROKEN}
    assert [team for team, row in rows.items() if row["nDCG@5"] is not None] == ["first-team", "most-popular"]
    for name, (_, told) in BROKEN.items():
        assert f"main/{name}.txt{told}" in answer.err
        page = Page(challenge / "site" / "teams" / f"{name}.html")
        assert "rejected" in page.text
        assert re.sub(r"^:(\d+):", r"line \1", told).removeprefix(": ") in page.text
        assert not any(tag == "script" and "src" not in given for tag, given in page.elements)


def test_an_item_that_stands_a_million_times_counts_once(challenge: Path, terminal: Terminal) -> None:
    """The file is scored as if the item stood at its first place alone, and its author is told."""
    once, often = challenge.parent / "once.txt", challenge.parent / "often.txt"
    once.write_text("q1:plum\n", encoding="utf-8")
    often.write_text(f"q1:{'plum,' * REPEATED}\n", encoding="utf-8")

    answer = terminal.run(
        "evaluate", challenge / "solutions" / "main.txt", once, often, "-m", "AP", "-m", "nDCG", "--format", "json"
    )

    assert answer.code == 0
    assert f'{often}:1: item "plum" stands {REPEATED:,} times for query "q1" (first at place 1)' in answer.err
    alone, repeated = json.loads(answer.out)["submissions"]
    assert repeated["scores"] == alone["scores"]
    assert alone["scores"]["AP"] > 0


HOSTILE_IDS = (
    'query,item,score\nq1,"ap""ple,<b>",2\nq1,"ap""ple,<b>",1\nq2,fig,1\n"<script>alert(1)</script>",=cmd(),1\n'
)
NOTES_ON_IDS = [
    '3: item "ap\\"ple,<b>" stands twice for query "q1" (first at place 1); each item may stand once',
    '5: query "<script>alert(1)</script>" is not asked for; its list is ignored',
]


def test_ids_with_quotes_commas_and_markup_are_only_text(challenge: Path, terminal: Terminal) -> None:
    """They are read, matched, told and shown as they are written."""
    file = submissions(challenge) / "20260131T120000Z-curious.csv"
    file.write_text(HOSTILE_IDS, encoding="utf-8")

    run = terminal.run("run", challenge)
    check = terminal.run("check", file, "--track", "main", "--challenge", challenge)
    evaluate = terminal.run("evaluate", challenge / "solutions" / "main.txt", file, "-m", "AP", "--format", "json")

    assert (run.code, check.code, evaluate.code) == (0, 0, 0)
    assert json.loads(evaluate.out)["submissions"][0]["scores"] == {"AP": (0 + 1 / 2 + 0) / 3}
    page = Page(challenge / "site" / "teams" / "curious.html")
    for note in NOTES_ON_IDS:
        assert f"{file}:{note}" in check.err
        assert f"{file}:{note}" in evaluate.err
        assert f"line {note.replace(': ', ' ', 1)}" in page.text
    assert not any(tag in ("b", "script") and "alert" in str(given) for tag, given in page.elements)


# A line of 200 MB

LONG = 200_000_000
MOST_MEMORY = 600 << 10
"""In kB."""

MEASURED = """
import atexit, sys
from pathlib import Path
def tell():
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print("MEMORY", status["VmHWM"].split()[0], file=sys.stderr)
atexit.register(tell)
from scorer.cli import main
main()
"""


@pytest.fixture(scope="module")
def long_line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A list with more items than anyone reads."""
    file = tmp_path_factory.mktemp("long") / "long.txt"
    part = b"apple," * 1_000_000
    with file.open("wb") as stream:
        stream.write(b"q1:")
        for _ in range(LONG // len(part) + 1):
            stream.write(part)
    yield file
    file.unlink()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, to see how much memory a process took")
@pytest.mark.parametrize("name", ["evaluate", "check", "run"])
def test_a_line_of_200_megabytes_is_refused_in_little_memory(name: str, long_line: Path, challenge: Path) -> None:
    """By every command, without reading the line to its end into memory."""
    assert long_line.stat().st_size >= LONG
    sent = submissions(challenge) / "long.txt"
    sent.symlink_to(long_line)
    arguments: dict[str, list[str | Path]] = {
        "evaluate": ["evaluate", challenge / "solutions" / "main.txt", sent, "-m", "AP"],
        "check": ["check", sent, "--track", "main", "--challenge", challenge],
        "run": ["run", challenge],
    }

    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments[name])], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "long.txt:1: the line is longer than 16 MiB; is this a file of ranked lists?" in done.stderr
    assert "Traceback" not in done.stderr
    assert int(done.stderr.split("MEMORY")[1]) < MOST_MEMORY


# What is no file, or cannot be read


def test_evaluate_and_check_tell_what_is_no_file(challenge: Path, terminal: Terminal) -> None:
    """A folder, nothing at all, a link to nothing, a name that no file can have."""
    link = challenge.parent / "link.txt"
    link.symlink_to("nowhere")
    good = next(submissions(challenge).iterdir())
    faults = {
        challenge: "a folder; a file was expected",
        challenge / "none.txt": "no such file",
        link: "no such file",
        challenge / ("x" * 300): "File name too long",
    }

    answer = terminal.run("evaluate", challenge / "solutions" / "main.txt", *faults, good, "-m", "AP")

    assert answer.code == 1
    assert str(good) in answer.out
    for path, told in faults.items():
        assert f"{path}: {told}" in answer.err
        checked = terminal.run("check", path, "--track", "main", "--challenge", challenge)
        assert (checked.code, checked.out) == (1, "")
        assert f"{path}: {told}" in checked.err


def test_run_leaves_out_what_is_no_file(challenge: Path) -> None:
    """A pipe, which would keep it waiting, a socket, links to nothing and to themselves, a folder too deep: all are
    told, and the others scored. A hidden file is nobody's.
    """
    folder = submissions(challenge)
    os.mkfifo(folder / "pipe.txt")
    (folder / "broken.txt").symlink_to("nowhere")
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "team" / "deep").mkdir(parents=True)
    (folder / "team" / "deep" / "lost.txt").write_text(GOOD, encoding="utf-8")
    (folder / ".hidden.txt").write_text("no list at all", encoding="utf-8")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        home = Path.cwd()
        os.chdir(folder)  # the path of a socket must be short
        listening.bind("socket.txt")
        os.chdir(home)

    answer = process("run", challenge)

    assert answer.code == 1
    assert answer.err.splitlines() == [
        "main/broken.txt: a link to a file that is not there; left out",
        "main/loop.txt: a link to a file that is not there; left out",
        "main/pipe.txt: not a regular file; left out",
        "main/socket.txt: not a regular file; left out",
        "main/team/deep: a folder; expected a team's files right in the team's folder; left out",
        "main: 2 scored, 0 known, 0 rejected",
    ]
    assert board(challenge).keys() == {"first-team", "most-popular"}


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_that_fails_while_it_is_read_is_told(challenge: Path, terminal: Terminal) -> None:
    """As a disk with a bad block would."""
    failing = submissions(challenge) / "failing.txt"
    failing.symlink_to("/proc/self/mem")

    run = terminal.run("run", challenge)
    evaluate = terminal.run("evaluate", challenge / "solutions" / "main.txt", failing, "-m", "AP")

    assert (run.code, evaluate.code) == (1, 1)
    assert "main/failing.txt: cannot be read: Input/output error; left out" in run.err
    assert "2 scored" in run.err
    assert f"{failing}: Input/output error" in evaluate.err


def bound_by_permissions(*arguments: str | Path) -> Answer:
    """``scorer`` in a process that permissions hold for, also where the tests are run by root."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may read and write everything, and setpriv is not there to take that away")
        prefix = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    done = subprocess.run([*prefix, *command(*arguments)], capture_output=True, text=True, check=False, timeout=120)
    return Answer(done.returncode, done.stdout, done.stderr)


def test_files_without_permission_are_told_and_the_others_scored(two_tracks: Path) -> None:
    """Submissions, a team's whole folder, and the solution of one track."""
    (two_tracks / "solutions" / "side.txt").chmod(0)
    locked, locked_folder = submissions(two_tracks) / "locked.txt", submissions(two_tracks) / "shut"
    locked.write_text(GOOD, encoding="utf-8")
    locked.chmod(0)
    locked_folder.mkdir()
    locked_folder.chmod(0)

    run = bound_by_permissions("run", two_tracks)
    evaluate = bound_by_permissions("evaluate", two_tracks / "solutions" / "main.txt", locked, "-m", "AP")
    locked_folder.chmod(0o700)

    assert (run.code, evaluate.code) == (1, 1)
    assert "main/locked.txt: cannot be read: Permission denied; left out" in run.err
    assert "main/shut: cannot be read: Permission denied; left out" in run.err
    assert "main: 2 scored" in run.err
    assert "side.txt: cannot be read: Permission denied" in run.err
    assert f"{locked}: no permission to read it" in evaluate.err
    assert "Traceback" not in run.err + evaluate.err


# Hostile names

HOSTILE = {
    rb"x..\..\x": r"x..\..\x",
    b"%2e%2e%2fx": "%2e%2e%2fx",
    b"W" * 255: "W" * 255,
    b"bytes\xff\xfe": r"bytes\udcff\udcfe",
    "abc\u202egnp.exe".encode(): r"abc\u202egnp.exe",
    b"new\nline": r"new\nline",
    b"\x1b[2Jgone\x07": r"\x1b[2Jgone\x07",
    b"=cmd()|'calc'!A0": "=cmd()|'calc'!A0",
    b"@SUM(1)": "@SUM(1)",
    b"<script>alert(1)<x>": "<script>alert(1)<x>",
    b'"><img src=x onerror=alert(1)>': '"><img src=x onerror=alert(1)>',
    b"{{ 7 * 7 }}{% endblock %}": "{{ 7 * 7 }}{% endblock %}",
    b"a|b`c`*d*[e](f)": "a|b`c`*d*[e](f)",
    b"x'; DROP TABLE score; --": "x'; DROP TABLE score; --",
}
"""What a team calls its folder, and what that looks like as text on one line."""

HIDDEN = rb"..\..\x"

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


@pytest.fixture
def hostile(challenge: Path, terminal: Terminal) -> tuple[Path, Answer]:
    """A challenge with a team of each hostile name, every one with a good file and a broken one, once it was run."""
    for name in (*HOSTILE, HIDDEN):
        folder = submissions(challenge) / os.fsdecode(name)
        folder.mkdir()
        (folder / f"20110418T100000Z-{os.fsdecode(name)[:200]}").write_text(GOOD, encoding="utf-8")
        (folder / f"20110418T110000Z-{os.fsdecode(name)[:200]}").write_text(f"{GOOD}q4;x\n", encoding="utf-8")
    return challenge, terminal.run("run", challenge)


@linux
def test_hostile_names_are_teams_like_others(hostile: tuple[Path, Answer]) -> None:
    """Each has its row, its score and its refused file; one that starts with a dot is hidden, as everywhere."""
    challenge, answer = hostile

    assert answer.code == 1
    assert f"main: {len(HOSTILE) + 2} scored, 0 known, {len(HOSTILE)} rejected" in answer.err
    rows = board(challenge)
    assert rows.keys() == {"first-team", "most-popular", *HOSTILE.values()}
    assert len({rows[name]["nDCG@5"] for name in HOSTILE.values()}) == 1
    assert all(rows[name]["entries"] == 2 for name in HOSTILE.values())


@linux
def test_hostile_names_lead_nowhere(hostile: tuple[Path, Answer], tmp_path: Path) -> None:
    """A run writes the database, and pages under plain names; every link leads to one of these."""
    challenge, _ = hostile
    site = challenge / "site"
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}

    assert {path.name for path in tmp_path.iterdir()} == {"challenge"}
    assert {path.name for path in challenge.iterdir()} == {
        *(
            "README.md",
            "challenge.toml",
            "queries",
            "scores.db",
            "scores.db.solutions",
            "site",
            "solutions",
            "submissions",
        ),
    }
    assert all(
        re.fullmatch(r"\.lock|\.manifest\.json|([a-z0-9-]+/)?[a-z0-9-]+\.(html|css|js|csv|json)", page)
        for page in pages
    )
    assert len([page for page in pages if page.startswith("teams/")]) == len(HOSTILE) + 2
    for page in pages:
        if not page.endswith(".html"):
            continue
        for _, given in Page(site / page).elements:
            link = given.get("href") or given.get("src") or ""
            target = link.partition("#")[0]
            if target and given.get("rel") != "icon":
                assert (site / page).parent.joinpath(target).resolve().relative_to(site).as_posix() in pages


@linux
def test_hostile_names_stay_text_in_every_page(hostile: tuple[Path, Answer]) -> None:
    """Each heads its own page, and stands on the board; none becomes an element, an attribute or code."""
    challenge, _ = hostile
    pages = {path: Page(path) for path in (challenge / "site").rglob("*.html")}
    on_the_board = pages[challenge / "site" / "main" / "index.html"].text

    for name in HOSTILE.values():
        shown = " ".join(name.split())
        assert shown in on_the_board
        assert len([path for path, page in pages.items() if path.parent.name == "teams" and shown in page.text]) == 1
    for path, page in pages.items():
        assert all(char.isprintable() or char == "\n" for char in path.read_text(encoding="utf-8")), path
        assert not any(tag == "img" for tag, _ in page.elements), path
        assert not any(key.startswith("on") for _, given in page.elements for key in given), path
        assert {given.get("src", "") for tag, given in page.elements if tag == "script"} <= {"../board.js", "board.js"}


@linux
def test_hostile_names_stay_text_in_every_export(hostile: tuple[Path, Answer], terminal: Terminal) -> None:
    """A spreadsheet takes none for a formula, Markdown none for markup, and the terminal none for a command."""
    challenge, run = hostile
    written = (challenge / "site" / "main" / "leaderboard.csv").read_text(encoding="utf-8")
    markdown = terminal.run("leaderboard", challenge, "--format", "markdown").out
    table = terminal.run("leaderboard", challenge)

    teams = [row["team"] for row in csv.DictReader(StringIO(written))]
    assert {team.removeprefix("'") for team in teams} == {"first-team", "most-popular", *HOSTILE.values()}
    assert not any(team.startswith(("=", "+", "-", "@", "\t", "\r")) for team in teams)
    lines = markdown.splitlines()[2:]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    assert len(lines) == 2 + 2 + len(HOSTILE)
    assert "<" not in markdown
    assert not re.search(r"(?<!\\)[`*\[\]]", markdown)
    assert len(table.out.splitlines()) == 2 + 2 + len(HOSTILE)
    for text in (run.err, table.out, markdown):
        assert all(char.isprintable() or char == "\n" for char in text)


@linux
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[2:22])
def test_hostile_names_stay_text_in_evaluate_and_check(name: bytes, challenge: Path, terminal: Terminal) -> None:
    """JSON gives the path as it was given, byte for byte; what is for people to read prints on one line."""
    folder = challenge.parent / "sent"
    folder.mkdir()
    good, broken = folder / os.fsdecode(name), challenge / os.fsdecode(name)
    good.write_text(GOOD, encoding="utf-8")
    broken.write_text("q1;x\n", encoding="utf-8")
    call = ("evaluate", challenge / "solutions" / "main.txt", broken, good, "-m", "AP")

    written = terminal.run(*call, "--format", "json")
    table = terminal.run(*call)
    fit = terminal.run("check", good, "--track", "main", "--challenge", challenge)
    unfit = terminal.run("check", broken, "--track", "main", "--challenge", challenge)

    assert (written.code, table.code, fit.code, unfit.code) == (1, 1, 0, 1)
    given = json.loads(written.out)["submissions"][0]["submission"]
    assert os.fsencode(given) == os.fsencode(good)
    assert f"{challenge}/{HOSTILE[name]}:1: the format cannot be told" in written.err
    assert f"{folder}/{HOSTILE[name]}  " in table.out
    assert f"{folder}/{HOSTILE[name]}: fit for main" in fit.out
    assert f"{challenge}/{HOSTILE[name]}: not fit for main" in unfit.err
    for answer in (table, fit, unfit):
        assert all(char.isprintable() or char == "\n" for char in answer.out + answer.err)


@linux
def test_a_path_that_the_terminal_cannot_say_is_no_error(challenge: Path) -> None:
    """It is printed with escapes, also where Python is told to be strict."""
    folder = challenge.parent / os.fsdecode(b"caf\xe9")
    shutil.copytree(challenge, folder)

    answer = process("run", folder, environment={"PYTHONIOENCODING": "utf-8:strict"})

    assert (answer.code, answer.out) == (0, f"{challenge.parent}/caf\\udce9/site/index.html\n")
    assert "Traceback" not in answer.err


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a file system that keeps any time")
def test_a_time_that_no_calendar_has_is_the_last_it_has(challenge: Path, terminal: Terminal) -> None:
    """The file is scored all the same, and its page has a time."""
    with TemporaryDirectory(dir="/dev/shm") as memory:
        folder = Path(memory) / "challenge"
        shutil.copytree(challenge, folder)
        file = submissions(folder) / "late.txt"
        file.write_text(GOOD, encoding="utf-8")
        os.utime(file, (1e12, 1e12))

        answer = terminal.run("run", folder)

        assert answer.code == 0
        assert board(folder)["late"]["last entry"] == "9999-12-31T23:59:59Z"


# Broken solutions

BROKEN_SOLUTIONS: dict[str, tuple[bytes | None, str]] = {
    "no such file": (None, "no such file"),
    "empty": (b"", "the file is empty"),
    "binary": (bytes(range(256)), "a NUL byte"),
    "Latin-1": ("q1:1:café|1\n".encode("latin-1"), "byte 0xe9"),
    "cut gzip": (gzip.compress(b"q1:1:apple|1\n" * 999)[:40], "the compressed file is cut short"),
    "nan": (b"q1:1:apple|nan\n", 'found "apple|nan"; expected item|score, with a finite number'),
    "1e999": (b"q1 0 apple 1e999\n", 'found "1e999" as the grade; expected a finite number'),
    "duplicate item": (b"q1:1:apple|1,apple|2\n", 'item "apple" stands again for query "q1"'),
    "duplicate query": (b"q1:1:apple|1\nq1:1:pear|2\n", 'query "q1" stands again (first in line 1)'),
    "a million duplicates": (b"q1 0 apple 1\n" * REPEATED, f"and {REPEATED - 1 - 20:,} more"),
    "nothing relevant": (b"q1 0 apple 0\nq2 0 pear 0\n", "no query has a relevant item, so nothing can be scored"),
    "a submission": (GOOD.encode(), 'found "q1:apple,pear"; expected "query:flag:item|score,item|score,..."'),
}
"""A solution's content, None for no file, and what is told."""


@pytest.mark.parametrize("name", BROKEN_SOLUTIONS)
def test_a_broken_solution_is_told_and_the_other_track_scored(name: str, two_tracks: Path, terminal: Terminal) -> None:
    """By `evaluate`, which then prints nothing, and by `run`, which renders all boards, scored or not."""
    content, told = BROKEN_SOLUTIONS[name]
    solution = two_tracks / "solutions" / "main.txt"
    solution.unlink()
    if content is not None:
        solution.write_bytes(content)

    evaluate = terminal.run("evaluate", solution, next(submissions(two_tracks).iterdir()), "-m", "AP")
    run = terminal.run("run", two_tracks)

    assert (evaluate.code, evaluate.out, run.code) == (1, "", 1)
    assert f"{solution}:" in evaluate.err
    assert told in evaluate.err
    assert f"{solution}:" in run.err
    assert told in run.err
    assert "main: not scored; its board stays as it was" in run.err
    assert "side: 2 scored, 0 known, 0 rejected" in run.err
    assert board(two_tracks, "side").keys() == {"first-team", "most-popular"}
    assert board(two_tracks, "main") == {}
    assert "No entry has been scored yet" in Page(two_tracks / "site" / "main" / "index.html").text


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_solution_that_is_no_file_is_told(make: Callable[[Path], None], two_tracks: Path) -> None:
    """A pipe would keep the run waiting for ever."""
    solution = two_tracks / "solutions" / "main.txt"
    solution.unlink()
    make(solution)

    answer = process("run", two_tracks)

    assert answer.code == 1
    assert f"{solution}: not a regular file" in answer.err
    assert "side: 2 scored" in answer.err


def test_a_folder_of_submissions_that_is_a_file_stops_no_other_track(two_tracks: Path, terminal: Terminal) -> None:
    """What was scored of its track stays on its board."""
    terminal.run("run", two_tracks)
    before = tree(two_tracks / "site")
    shutil.rmtree(submissions(two_tracks))
    submissions(two_tracks).write_text(GOOD, encoding="utf-8")
    (two_tracks / "submissions" / "side" / "20260131T120000Z-late.txt").write_text(GOOD, encoding="utf-8")

    answer = terminal.run("run", two_tracks)

    assert answer.code == 1
    assert f"{submissions(two_tracks)}: cannot be read: Not a directory; expected the folder" in answer.err
    assert "main: not scored; its board stays as it was" in answer.err
    assert "side: 1 scored, 2 known" in answer.err
    assert "late" in board(two_tracks, "side")
    assert tree(two_tracks / "site" / "main") == {
        path.removeprefix("main/"): text for path, text in before.items() if path.startswith("main/")
    }


# Broken surroundings

DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "another file": (lambda content: b"x" * len(content), "is not a database"),
    "cut in half": (lambda content: content[: len(content) // 2], "is damaged"),
    "zeros": (lambda content: content[:4096] + bytes(len(content) - 4096), "is damaged"),
    "no UTF-8": (
        lambda content: content.replace(b'"shown"', b'"sh\xffwn"'),
        "cannot be used: Could not decode to UTF-8",
    ),
    "no JSON": (lambda content: content.replace(b'{"shown"', b'!"shown"'), "is damaged"),
    "other tables": (lambda content: content.replace(b"solution_digest", b"solution-digest"), "is damaged"),
}
"""What becomes of the database's bytes, and what is told of it."""


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_database_is_told_and_left_alone(name: str, challenge: Path, terminal: Terminal) -> None:
    """And so is the site. Once it is moved away, as the message says, all is scored anew."""
    terminal.run("run", challenge)
    database, site = challenge / "scores.db", tree(challenge / "site")
    damage, told = DAMAGE[name]
    damaged = damage(database.read_bytes())
    database.write_bytes(damaged)

    for name_of_command in ("run", "score", "render", "leaderboard"):
        answer = terminal.run(name_of_command, challenge)
        assert (answer.code, answer.out) == (1, "")
        assert f"{database}: {told}" in answer.err
    assert database.read_bytes() == damaged
    assert tree(challenge / "site") == site
    removed(database)
    assert terminal.run("run", challenge).code == 0
    assert tree(challenge / "site") == site


def test_a_database_that_is_a_folder_is_told(challenge: Path, terminal: Terminal) -> None:
    """Before anything is scored or rendered."""
    (challenge / "scores.db").mkdir()

    answer = terminal.run("run", challenge)

    assert (answer.code, answer.out) == (1, "")
    assert "scores.db: is a folder; give the path of a database file" in answer.err
    assert not (challenge / "site").exists()


def test_a_read_only_folder_of_the_database_is_told(challenge: Path, terminal: Terminal) -> None:
    """What was kept is not touched, and the next run goes on from there once the folder can be written to."""
    terminal.run("run", challenge)
    before = (challenge / "scores.db").read_bytes()
    (submissions(challenge) / "20260131T120000Z-late.txt").write_text(GOOD, encoding="utf-8")
    (challenge / "scores.db").chmod(0o400)
    challenge.chmod(0o500)

    answer = bound_by_permissions("run", challenge)
    challenge.chmod(0o700)
    (challenge / "scores.db").chmod(0o600)

    assert answer.code == 1
    assert f"{challenge / 'scores.db'}: cannot be" in answer.err
    assert "writable" in answer.err
    assert "Traceback" not in answer.err
    assert (challenge / "scores.db").read_bytes() == before
    assert "1 scored, 2 known" in terminal.run("run", challenge).err


def test_a_site_that_is_a_file_is_told(challenge: Path, terminal: Terminal) -> None:
    """It is left as it is; the scores are kept, and the next run renders them."""
    (challenge / "site").write_text("mine", encoding="utf-8")

    answer = terminal.run("run", challenge)

    assert (answer.code, answer.out) == (1, "")
    assert "2 scored" in answer.err
    assert "cannot write the site (Not a directory)" in answer.err
    assert (challenge / "site").read_text(encoding="utf-8") == "mine"
    (challenge / "site").unlink()
    again = terminal.run("run", challenge)
    assert again.code == 0
    assert "0 scored, 2 known" in again.err
    assert board(challenge).keys() == {"first-team", "most-popular"}
