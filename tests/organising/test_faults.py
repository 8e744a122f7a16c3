"""Invalid files, hostile names and failing systems, through the commands: a message, and other files are scored."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.commands import Answer, Terminal, command, here, measured, process
from tests.databases import removed, site_content, without_log
from tests.pages import read

GOOD = "q1:apple,pear\nq2:fig\nq3:lemon\n"
REPEATED = 30_000
SIDE_TRACK = """
[tracks.side]
title = "Side track"
solution = "solutions/side.txt"
list_length = 5
primary = "nDCG@5"
stage = "final"
"""


@pytest.fixture
def two_tracks(challenge: Path) -> Path:
    """A new challenge with a second track, a copy of the first one."""
    with (challenge / "challenge.toml").open("a", encoding="utf-8") as declared:
        declared.write(SIDE_TRACK)
    shutil.copy(challenge / "solutions" / "main.txt", challenge / "solutions" / "side.txt")
    shutil.copytree(challenge / "submissions" / "main", challenge / "submissions" / "side")
    return challenge


def submissions(challenge: Path) -> Path:
    """The folder of the submissions for the first track."""
    return challenge / "submissions" / "main"


def board(challenge: Path, track: str = "main") -> dict[str, dict[str, object]]:
    """The rows of a track's board by team, as the site exports them."""
    exported = json.loads((challenge / "site" / track / "leaderboard.json").read_text(encoding="utf-8"))
    return {row["team"]: row for row in exported["rows"]}


# Invalid submissions

INVALID: dict[str, tuple[bytes, str]] = {
    "empty": (b"", ": the file is empty"),
    "binary": (bytes(range(256)) * 9, ":1: a NUL byte; the file is binary"),
    "utf-16": (GOOD.encode("utf-16"), ": the file is in UTF-16; save it as UTF-8"),
    "latin-1": (GOOD.encode() + "q4:café\n".encode("latin-1"), ":4: byte 0xe9 at column 7 is not UTF-8"),
    "nul-bytes": (GOOD.encode() + b"q4:a\0b\n", ":4: a NUL byte"),
    "cut-gzip": (gzip.compress(GOOD.encode() * 999)[:40], ":1: the compressed file is cut short"),
    "damaged-gzip": (gzip.compress(GOOD.encode())[:-8] + b"8 bytes!", ":1: the compressed file is damaged"),
    "nan": (b"q1 Q0 apple 1 2 t\nq1 Q0 pear 2 nan t\n", ':2: found "nan" as the score; expected a finite number'),
    "inf": (b"query,item,score\nq1,apple,inf\n", ':2: found "inf" as the score; expected a finite number'),
    "1e999": (b"query\titem\tscore\nq1\tapple\t-1e999\n", ':2: found "-1e999" as the score; expected a finite'),
    "open-quote": (b'query,item,score\nq1,"apple,1\n', ':2: found "q1,\\"apple,1"; expected every quote closed'),
    "bare-comma": (b"query,item,score\nq1,app,le,1\n", ':2: found "q1,app,le,1"; expected 3 columns'),
    "markup": (GOOD.encode() + b"q4;<script>alert(1)</script>\n", ':4: found "q4;<script>alert(1)</script>"; expected'),
    "formula": (b"=cmd():apple\n", ": none of its queries is known"),
    "repeated-query": (b"q1:apple\n" * REPEATED, f": and {REPEATED - 1 - 20:,} more"),
}
"""The content of a file, and the message after the name of the file; the key is the file's name."""


def test_evaluate_and_check_report_every_invalid_file(challenge: Path, terminal: Terminal) -> None:
    """`evaluate` scores those before them and those after them."""
    first, second = sorted(submissions(challenge).iterdir())
    files = [challenge.parent / f"{name}.txt" for name in INVALID]
    for file, (content, _) in zip(files, INVALID.values(), strict=True):
        file.write_bytes(content)
    solution = challenge / "solutions" / "main.txt"

    answer = terminal.run("evaluate", solution, first, *files, second, "-m", "AP", "--format", "json")

    assert answer.code == 1
    assert [each["submission"] for each in json.loads(answer.out)["submissions"]] == [str(first), str(second)]
    for file, (_, message) in zip(files, INVALID.values(), strict=True):
        assert f"{file}{message}" in answer.err
        checked = terminal.run("check", file, "--track", "main", "--challenge", challenge)
        assert (checked.code, checked.out) == (1, "")
        assert f"{file}{message}" in checked.err
        assert f"{file}: invalid for track main: " in checked.err


HOSTILE_IDS = (
    'query,item,score\nq1,"ap""ple,<b>",2\nq1,"ap""ple,<b>",1\nq2,fig,1\n"<script>alert(1)</script>",=cmd(),1\n'
)
NOTES_ON_IDS = [
    '3: item "ap\\"ple,<b>" is listed twice for query "q1" (first at rank 1); list each item once',
    '5: query "<script>alert(1)</script>" is unknown; its list is ignored',
]


def test_ids_with_quotes_commas_and_markup_are_text(challenge: Path, terminal: Terminal) -> None:
    """They are read, matched, reported and shown as they are written."""
    file = submissions(challenge) / "20260131T120000Z-curious.csv"
    file.write_text(HOSTILE_IDS, encoding="utf-8")

    run = terminal.run("run", challenge)
    check = terminal.run("check", file, "--track", "main", "--challenge", challenge)
    evaluate = terminal.run("evaluate", challenge / "solutions" / "main.txt", file, "-m", "AP", "--format", "json")

    assert (run.code, check.code, evaluate.code) == (0, 0, 0)
    assert json.loads(evaluate.out)["submissions"][0]["scores"] == {"AP": (0 + 1 / 2 + 0) / 3}
    page = read((challenge / "site" / "teams" / "curious.html").read_text(encoding="utf-8"))
    for note in NOTES_ON_IDS:
        assert f"{file}:{note}" in check.err
        assert f"{file}:{note}" in evaluate.err
        assert f"line {note.replace(': ', ' ', 1)}" in page.words()
    assert not any(each.tag in ("b", "script") and "alert" in str(each.attributes) for each in page.all())


# A line of 200 MB

LONG = 200_000_000
MOST_MEMORY = 600 << 20
"""In bytes."""


@pytest.fixture(scope="module")
def long_line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file with one list of 200 MB."""
    file = tmp_path_factory.mktemp("long") / "long.txt"
    part = b"apple," * 1_000_000
    with file.open("wb") as stream:
        stream.write(b"q1:")
        for _ in range(LONG // len(part) + 1):
            stream.write(part)
    yield file
    file.unlink()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc, to measure the memory of a process")
@pytest.mark.parametrize(
    "name", ["evaluate", *(pytest.param(name, marks=pytest.mark.endurance) for name in ("run", "check"))]
)
def test_a_line_of_200_megabytes_is_refused_in_little_memory(name: str, long_line: Path, challenge: Path) -> None:
    """No command reads the whole line into memory."""
    assert long_line.stat().st_size >= LONG
    file = submissions(challenge) / "long.txt"
    long_line.rename(file)
    arguments: dict[str, list[str | Path]] = {
        "evaluate": ["evaluate", challenge / "solutions" / "main.txt", file, "-m", "AP"],
        "check": ["check", file, "--track", "main", "--challenge", challenge],
        "run": ["run", challenge],
    }

    answer, memory = measured(*arguments[name])

    file.rename(long_line)
    assert answer.code == 1
    assert "long.txt:1: the line has more than 16 MB; is this a file of ranked lists?; the limit is 16" in answer.err
    assert "Traceback" not in answer.err
    assert memory < MOST_MEMORY


# Folders, missing files and unreadable files


def test_evaluate_and_check_report_paths_without_a_file(challenge: Path, terminal: Terminal) -> None:
    """A folder, a missing file, a broken link, a name that no file can have."""
    link = challenge.parent / "link.txt"
    link.symlink_to("nowhere")
    good = next(submissions(challenge).iterdir())
    messages = {
        challenge: "a folder; a file was expected",
        challenge / "none.txt": "no such file",
        link: "no such file",
        challenge / ("x" * 300): "File name too long",
    }

    answer = terminal.run("evaluate", challenge / "solutions" / "main.txt", *messages, good, "-m", "AP")

    assert answer.code == 1
    assert str(good) in answer.out
    for path, message in messages.items():
        assert f"{path}: {message}" in answer.err
        checked = terminal.run("check", path, "--track", "main", "--challenge", challenge)
        assert (checked.code, checked.out) == (1, "")
        assert f"{path}: {message}" in checked.err


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that can be opened and not read")
def test_a_file_that_fails_while_it_is_read_is_reported(challenge: Path, terminal: Terminal) -> None:
    """A disk with a bad block does this."""
    failing = Path("/proc/self/mem")

    evaluate = terminal.run("evaluate", challenge / "solutions" / "main.txt", failing, "-m", "AP")

    assert evaluate.code == 1
    assert f"{failing}: Input/output error" in evaluate.err


def bound_by_permissions(*arguments: str | Path) -> Answer:
    """Run ``scorer`` in a process that is subject to permissions, also if root runs the tests."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root can read and write everything, and there is no setpriv to change that")
        prefix = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    done = subprocess.run([*prefix, *command(*arguments)], capture_output=True, text=True, check=False, timeout=120)
    return Answer(done.returncode, done.stdout, done.stderr)


def test_files_without_permission_are_reported_and_the_others_scored(two_tracks: Path) -> None:
    """A submission, the folder of a team, and the solution of one track."""
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
    assert "main/locked.txt: cannot be read: Permission denied; skipped" in run.err
    assert "main/shut: cannot be read: Permission denied; skipped" in run.err
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

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


@linux
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[2:22])
def test_hostile_names_stay_text_in_evaluate_and_check(name: bytes, challenge: Path, terminal: Terminal) -> None:
    """JSON has the path as it was given, byte for byte; messages and tables have it on one line."""
    folder = challenge.parent / "valid"
    folder.mkdir()
    good, invalid = folder / os.fsdecode(name), challenge / os.fsdecode(name)
    good.write_text(GOOD, encoding="utf-8")
    invalid.write_text("q1;x\n", encoding="utf-8")
    call = ("evaluate", challenge / "solutions" / "main.txt", invalid, good, "-m", "AP")

    written = terminal.run(*call, "--format", "json")
    table = terminal.run(*call)
    accepted = terminal.run("check", good, "--track", "main", "--challenge", challenge)
    refused = terminal.run("check", invalid, "--track", "main", "--challenge", challenge)

    assert (written.code, table.code, accepted.code, refused.code) == (1, 1, 0, 1)
    given = json.loads(written.out)["submissions"][0]["submission"]
    assert os.fsencode(given) == os.fsencode(good)
    assert f"{challenge}/{HOSTILE[name]}:1: the format cannot be detected" in written.err
    assert f"{folder}/{HOSTILE[name]}  " in table.out
    assert f"{folder}/{HOSTILE[name]}: valid for track main" in accepted.out
    assert f"{challenge}/{HOSTILE[name]}: invalid for track main" in refused.err
    for answer in (table, accepted, refused):
        assert all(char.isprintable() or char == "\n" for char in answer.out + answer.err)


@linux
def test_a_path_outside_the_encoding_of_the_terminal_is_not_an_error(challenge: Path) -> None:
    """It is printed with escapes, also if PYTHONIOENCODING is strict."""
    folder = challenge.parent / os.fsdecode(b"caf\xe9")
    shutil.copytree(challenge, folder)

    answer = process("run", folder, environment={"PYTHONIOENCODING": "utf-8:strict"})

    assert (answer.code, answer.out) == (0, f"{challenge.parent}/caf\\udce9/site/index.html\n")
    assert "Traceback" not in answer.err


# Invalid solutions

INVALID_SOLUTIONS: dict[str, tuple[bytes | None, str]] = {
    "no such file": (None, "no such file"),
    "empty": (b"", "the file is empty"),
    "binary": (bytes(range(256)), "a NUL byte"),
    "Latin-1": ("q1:1:café|1\n".encode("latin-1"), "byte 0xe9"),
    "cut gzip": (gzip.compress(b"q1:1:apple|1\n" * 999)[:40], "the compressed file is cut short"),
    "nan": (b"q1:1:apple|nan\n", 'found "apple|nan"; expected item|score, with a finite number'),
    "1e999": (b"q1 0 apple 1e999\n", 'found "1e999" as the grade; expected a finite number'),
    "duplicate item": (b"q1:1:apple|1,apple|2\n", 'item "apple" is listed again for query "q1"'),
    "duplicate query": (b"q1:1:apple|1\nq1:1:pear|2\n", 'query "q1" is listed again (first in line 1)'),
    "many duplicates": (b"q1 0 apple 1\n" * REPEATED, f"and {REPEATED - 1 - 20:,} more"),
    "nothing relevant": (b"q1 0 apple 0\nq2 0 pear 0\n", "no query has a relevant item, so nothing can be scored"),
    "a submission": (GOOD.encode(), 'found "q1:apple,pear"; expected "query:flag:item|score,item|score,..."'),
}
"""The content of a solution, None for no file, and the message."""

SOME = ("no such file", "cut gzip", "many duplicates", "nothing relevant")


@pytest.mark.parametrize(
    "name", [name if name in SOME else pytest.param(name, marks=pytest.mark.endurance) for name in INVALID_SOLUTIONS]
)
def test_an_invalid_solution_is_reported_and_the_other_track_scored(
    name: str, two_tracks: Path, terminal: Terminal
) -> None:
    """By `evaluate`, which then prints no result, and by `run`, which renders all boards."""
    content, message = INVALID_SOLUTIONS[name]
    solution = two_tracks / "solutions" / "main.txt"
    solution.unlink()
    if content is not None:
        solution.write_bytes(content)

    evaluate = terminal.run("evaluate", solution, next(submissions(two_tracks).iterdir()), "-m", "AP")
    run = terminal.run("run", two_tracks)

    assert (evaluate.code, evaluate.out, run.code) == (1, "", 1)
    assert f"{solution}:" in evaluate.err
    assert message in evaluate.err
    assert f"{solution}:" in run.err
    assert message in run.err
    assert "main: not scored; its board is unchanged" in run.err
    assert "side: 2 scored, 0 known, 0 rejected" in run.err
    assert board(two_tracks, "side").keys() == {"first-team", "most-popular"}
    assert board(two_tracks, "main") == {}
    assert "No entry has been scored yet" in (two_tracks / "site" / "main" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_solution_that_is_not_a_regular_file_is_reported(make: Callable[[Path], None], two_tracks: Path) -> None:
    """A pipe would block the run."""
    solution = two_tracks / "solutions" / "main.txt"
    solution.unlink()
    make(solution)

    answer = here("run", two_tracks)

    assert answer.code == 1
    assert f"{solution}: not a regular file" in answer.err
    assert "side: 2 scored" in answer.err


def test_a_file_instead_of_the_folder_of_submissions_stops_no_other_track(two_tracks: Path, terminal: Terminal) -> None:
    """The board of the track is unchanged."""
    terminal.run("run", two_tracks)
    before = without_log(site_content(two_tracks / "site"))
    shutil.rmtree(submissions(two_tracks))
    submissions(two_tracks).write_text(GOOD, encoding="utf-8")
    (two_tracks / "submissions" / "side" / "20260131T120000Z-late.txt").write_text(GOOD, encoding="utf-8")

    answer = terminal.run("run", two_tracks)

    assert answer.code == 1
    assert f"{submissions(two_tracks)}: cannot be read: Not a directory; expected the folder" in answer.err
    assert "main: not scored; its board is unchanged" in answer.err
    assert "side: 1 scored, 2 known" in answer.err
    assert "late" in board(two_tracks, "side")
    assert without_log(site_content(two_tracks / "site" / "main")) == {
        path.removeprefix("main/"): text for path, text in before.items() if path.startswith("main/")
    }


# Failing systems

DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "another file": (lambda content: b"x" * len(content), "is not a database"),
    "cut in half": (lambda content: content[: len(content) // 2], "is damaged"),
    "zeros": (lambda content: content[:4096] + bytes(len(content) - 4096), "is damaged"),
    "no UTF-8": (lambda content: content.replace(b'"shown"', b'"sh\xffwn"'), "is damaged"),
    "no JSON": (lambda content: content.replace(b'{"shown"', b'!"shown"'), "is damaged"),
    "other tables": (lambda content: content.replace(b"solution_digest", b"solution-digest"), "is damaged"),
}
"""What happens to the bytes of the database, and the message."""


@pytest.mark.parametrize(
    "name",
    [
        *("cut in half", "no JSON", "other tables"),
        *(pytest.param(name, marks=pytest.mark.endurance) for name in ("another file", "zeros", "no UTF-8")),
    ],
)
def test_a_damaged_database_is_reported_and_unchanged(name: str, challenge: Path, terminal: Terminal) -> None:
    """The site is unchanged too. Without the database, as the message advises, a run scores everything again."""
    terminal.run("run", challenge)
    database, site = challenge / "scores.db", site_content(challenge / "site")
    damage, message = DAMAGE[name]
    damaged = damage(database.read_bytes())
    database.write_bytes(damaged)

    for name_of_command in ("run", "score", "render", "leaderboard"):
        answer = terminal.run(name_of_command, challenge)
        assert (answer.code, answer.out) == (1, "")
        assert f"{database}: {message}" in answer.err
    assert database.read_bytes() == damaged
    assert site_content(challenge / "site") == site
    removed(database)
    shutil.rmtree(challenge / "site")  # it has the log of the database
    assert terminal.run("run", challenge).code == 0
    assert site_content(challenge / "site") == site


def test_a_read_only_database_is_reported(challenge: Path, terminal: Terminal) -> None:
    """The stored results are unchanged, and a run continues from them once the folder is writable."""
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


def test_a_site_that_is_a_file_is_reported(challenge: Path, terminal: Terminal) -> None:
    """It is unchanged. The scores are stored, and the next run renders them."""
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
