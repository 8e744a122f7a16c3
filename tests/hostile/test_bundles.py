"""Bundles of attackers, through the command line: an import has one message, takes little, and leaves nothing."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from scorer.verification.bundle import INDEX
from tests.bundles import archive, edited, members, rerecorded, with_manifest
from tests.organising.test_bundle_archive import refusal
from tests.paths import ROOT
from tests.strangers import lines_of

SOLUTION, RESULT, LAST_RUN = (f"tables/{name}.jsonl" for name in ("solution", "result", "last_run"))

MOST_MEMORY, MOST_BYTES = 700, 450
"""Megabytes that a refused import may take, and that it may write. Without attacks, the command takes 120."""

MANY = 120_000_000

Members = dict[str, bytes]
Row = dict[str, Any]


@pytest.fixture
def content(bundle: Path) -> Members:
    """The members of a bundle with every kind of member."""
    return members(bundle)


def text_of(packed: bytes) -> str:
    """Bytes as a bundle has them."""
    return base64.b64encode(packed).decode()


def column(code: bytes, count: int, data: bytes) -> bytes:
    """A column of packed values."""
    return struct.pack("<3sI", code, count) + data


def packed(queries: int, *columns: bytes) -> str:
    """Packed columns for so many queries."""
    return text_of(struct.pack("<I", queries) + zlib.compress(b"".join(columns), 1))


def ones(count: int) -> bytes:
    """A column of ones."""
    return column(b"|u1", count, b"\1" * count)


def of_solution(**values: str) -> Callable[[Members], bytes]:
    """A bundle whose first solution has other values."""
    return lambda content: edited(content, SOLUTION, lambda rows: rows[0].update(values))


def of_result(**values: Any) -> Callable[[Members], bytes]:
    """A bundle in which the first result of a scored submission has other values."""

    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["status"] == "scored").update(values)

    return lambda content: edited(content, RESULT, change)


def of_event(kind: str, **values: Any) -> Callable[[Members], bytes]:
    """A bundle in which the body of the first event of a kind has other values."""

    def change(rows: list[Row]) -> None:
        next(row for row in rows if row["kind"] == kind)["body"].update(values)

    return lambda content: rerecorded(content, change)


def repeated(name: str) -> Callable[[Members], bytes]:
    """A bundle in which the first row of a member is there twice."""
    return lambda content: edited(content, name, lambda rows: rows.append(dict(rows[0])))


def one_member_500_times(content: Members) -> bytes:
    """An index that names a file of 3.6 MB for 500 teams."""
    data = bytes(3_600_000)
    digest = sha256(data).hexdigest()
    file = {"track": "main", "sha256": digest, "mtime_ns": 10**18}
    rows = [{**file, "path": [f"t{number}", "x.txt"]} for number in range(500)]
    return archive(with_manifest({**content, f"submissions/{digest}": data, INDEX: lines_of(rows)}))


FLOATS = column(b"<f8", 4, bytes(32))
EXPANDING: dict[str, Callable[[], Callable[[Members], bytes]]] = {
    "queries": lambda: of_solution(
        queries=text_of(zlib.compress(b'["' + b'","'.join([b"a" * 18] * (MANY // 21)) + b'"]', 9))
    ),
    "queries-that-are-lists": lambda: of_solution(
        queries=text_of(zlib.compress(b"[" + b"[]," * 10_000_000 + b"[]]", 9))
    ),
    "grades": lambda: of_solution(ideal=packed(4, ones(4), column(b"<f8", MANY // 8, bytes(MANY)), ones(MANY // 8))),
    "count-of-grades": lambda: of_solution(ideal=packed(4, column(b"<u4", 4, b"\x1e" * 16), FLOATS, ones(4))),
    "number-of-queries": lambda: of_solution(ideal=packed(2**32 - 1, ones(4), FLOATS, ones(4))),
    "empty-columns": lambda: of_solution(ideal=packed(4, column(b"|u1", 0, b"") * 4_000_000)),
    "column-of-objects": lambda: of_solution(ideal=packed(4, column(b"|O8", 4, b"\1" * 32), FLOATS, ones(4))),
    "judged-items": lambda: of_result(hits=packed(4, *[ones(MANY // 4)] * 4)),
    "queries-of-judged-items": lambda: of_result(hits=packed(2**31, *[ones(4)] * 4)),
    "length-of-lists": lambda: of_result(hits=packed(4, ones(4), column(b"<u4", 4, b"\x7f" * 16), ones(4), ones(4))),
    "rank-0": lambda: of_result(hits=packed(4, ones(4), ones(4), column(b"|u1", 4, bytes(4)), ones(4))),
    "findings": lambda: of_result(findings='{"shown":[' + '[1,""],' * 3_000_000 + '[1,""]],"count":1}'),
    "row-of-empty-lists": lambda: (
        lambda content: archive(with_manifest({**content, LAST_RUN: b'{"track":[' + b"[]," * 20_000_000 + b"[]]}\n"}))
    ),
    "one-member-500-times": lambda: one_member_500_times,
}
"""Made by the test: some hold 120 MB."""

PROGRAM = """\
import pathlib, re, sys
from tests.commands import here
def megabytes():
    facts = "".join(pathlib.Path("/proc/self", name).read_text() for name in ("status", "io"))
    memory, written = (int(re.search(f"{name}:\\s*([0-9]+)", facts)[1]) for name in ("VmHWM", "wchar"))
    return memory // 1_000, written // 1_000_000
for file in sys.argv[1:]:
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the most memory begins again
    _, before = megabytes()
    answer = here("import", file, file.replace(".zip", "/new"))
    memory, written = megabytes()
    print(answer.code, memory, written - before, answer.err.replace("\\n", "|"))
"""


@pytest.mark.endurance
@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="Linux counts the bytes that a process writes")
def test_values_that_expand_are_refused(content: Members, tmp_path: Path) -> None:
    """Compressed values, counts, lists in rows, and a member that is listed again and again: each import has one
    message, takes little, and leaves nothing.
    """
    files = [tmp_path / f"{name}.zip" for name in EXPANDING]
    for file in files:
        file.write_bytes(EXPANDING[file.stem]()(content))
    command = [sys.executable, "-c", PROGRAM, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr

    for file, line in zip(files, done.stdout.splitlines(), strict=True):
        code, memory, written, message = line.split(" ", 3)
        assert (code, message.count("|")) == ("1", 1), line
        assert message.startswith(f"{file}: "), line
        assert "export it again" in message or "`scorer export` wrote" in message, line
        assert int(memory) < MOST_MEMORY, line
        assert int(written) < MOST_BYTES, line
        folder = tmp_path / file.stem
        assert not folder.exists() or list(folder.iterdir()) == [], line


INVALID: dict[str, tuple[Callable[[Members], bytes], str]] = {
    "deep-path": (
        lambda content: archive(with_manifest({**content, "challenge/" + "a/" * 1_500 + "x": b"x"})),
        "expected names of a bundle, relative, short and without ..",
    ),
    "surrogate-in-a-path": (
        lambda content: edited(content, INDEX, lambda rows: rows[0].update(path=["\ud800", "x.txt"])),
        "line 1: not a file of a submission",
    ),
    "file-twice": (repeated(INDEX), 'lists "1.txt" twice, or as names that are one on this disk; export it again'),
    "kind-of-a-later-version": (
        lambda content: rerecorded(content, lambda rows: rows[3].update(kind="arrivals")),
        "table event, row 4: its values cannot belong together; export it again",
    ),
    "surrogate-in-a-team": (of_event("arrival", team="\ud800"), "table event, row 3: its values cannot"),
    "surrogate-in-a-reason": (of_event("team", reason="\ud800"), "table event, row 8: its values cannot"),
    "time-without-zone": (of_event("arrival", received="2027-01-11T12:00:00"), "table event, row 3: its values cannot"),
    "time-at-the-end": (
        lambda content: rerecorded(content, lambda rows: rows[0].update(at="9999-12-31T23:59:59+00:00")),
        "table event, row 1: at is ",
    ),
    "number-as-team": (of_event("arrival", team=7), "table event, row 3: its values cannot"),
    "not-a-number": (of_event("basis", settings={"decimals": float("nan")}), "table event, row 2: its values cannot"),
    "link-to-a-script": (of_event("team", settings={"links": ["javascript:x"]}), "row 8: its values cannot"),
    "result-twice": (repeated(RESULT), "table result: two rows have the same key"),
    "solution-twice": (repeated(SOLUTION), "table solution: two rows have the same key"),
    "other-digest": (of_solution(digest="0" * 64), "or one names a solution that has no row; export it again"),
    "no-solution": (lambda content: edited(content, SOLUTION, list.clear), "that has no row; export it again"),
    "status": (of_result(status="scored "), 'row 1: status is "scored "; export it again'),
    "status-without-hits": (of_result(hits=None), "row 1: its values cannot belong together; export it again"),
    "limits": (of_result(limits='{"items":-1}'), "limits is "),
    "time-of-a-run": (lambda content: edited(content, LAST_RUN, lambda rows: rows[0].update(at="now")), 'at is "now"'),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_rows_and_paths_are_refused(name: str, content: Members, tmp_path: Path) -> None:
    """One line says what is wrong, and shows no statement of the database."""
    make, expected = INVALID[name]
    assert expected in refusal(make(content), tmp_path)
