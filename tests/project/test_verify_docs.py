"""The commands of docs/verify.md, as a participant runs them: on true files, and on files that were changed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from string import Template

import pytest

from tests.commands import here
from tests.committed import LISTS, Committed, whole
from tests.live_challenges import GOOD, day
from tests.paths import DOCS
from tests.strangers import chain, fitted

PAGE = DOCS / "verify.md"
SECTION = re.compile(r"^## ([^\n]*?): [^\n]*\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("bash", "openssl", "sha256sum")),
    reason="needs bash, openssl and sha256sum",
)


def blocks() -> dict[str, tuple[str, str]]:
    """By section of the page, the command of scorer, and the script that needs only openssl and sha256sum."""
    found = {}
    for title, text in SECTION.findall(PAGE.read_text(encoding="utf-8")):
        first, *others = BLOCK.findall(text)
        found[title] = (first, "".join(others))
    return found


@dataclass(frozen=True)
class Folder:
    """A folder with the files that the page names, and the hashes that a participant kept."""

    path: Path
    kept: Mapping[str, str]

    def run(self, script: str) -> tuple[int, str]:
        """Run a script in it; the first command that fails ends it. Returns the exit code and the output.

        A command of scorer runs in this process, which is faster.
        """
        if script.startswith("scorer "):
            with chdir(self.path):
                answer = here(*shlex.split(Template(script).substitute(self.kept))[1:])
            return answer.code, answer.out + answer.err
        search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.path,
            env={**os.environ, **self.kept, "PATH": search},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The files of a challenge that is over and revealed, and those of a participant."""
    live: Committed = whole(tmp_path_factory.mktemp("docs") / "live")
    site, folder = live.folder / "site", live.folder.parent / "kept"
    folder.mkdir()
    for name in ("log.jsonl", "receipts.pem", "commitment.json", "commitment.txt", "lists/split.json"):
        shutil.copyfile(site / name, folder / Path(name).name)
    lines = (site / "log.jsonl").read_text().splitlines(keepends=True)
    (folder / "early.jsonl").write_text("".join(lines[:5]))
    (folder / "receipt.txt").write_text(live.receipt("main/amber/1.txt"))
    (folder / "run.txt").write_text(GOOD)
    (folder / "lists.txt").write_text(LISTS)
    assert here("export", folder / "challenge.zip", "--challenge", live.folder).code == 0
    (folder / "queries.txt").write_text("".join(f"q{number}\n" for number in range(1, 9)))
    document, split = (json.loads((folder / name).read_text()) for name in ("commitment.json", "split.json"))
    early = {key: value for key, value in split.items() if key not in ("key", "queries")}
    (folder / "early-split.json").write_text(json.dumps(early, indent=1) + "\n")
    kept = {
        "head": json.loads(lines[6])["head"],
        "hash": document["commitments"][-1]["sha256"],
        "key_hash": split["key_sha256"],
    }
    assert live.events()[-1].at == day(31)
    return Folder(folder, kept)


@pytest.fixture
def folder(original: Folder, tmp_path: Path) -> Folder:
    """A copy."""
    path = tmp_path / "kept"
    shutil.copytree(original.path, path)
    return Folder(path, original.kept)


def test_the_page_has_both_ways_for_every_document() -> None:
    """A command of scorer, and a script without it."""
    found = blocks()

    assert list(found) == ["The log", "A receipt", "The commitment", "The split", "The bundle"]
    for command, script in found.values():
        assert re.fullmatch(r"scorer verify .*\n", command)
        assert "scorer " not in script
        programs = set(re.findall(r"\b(?:openssl|sha256sum|python3?|perl|awk|jq|xxd|od|bc)\b", script))
        assert programs <= {"openssl", "sha256sum"}


@pytest.mark.parametrize("title", blocks())
@pytest.mark.parametrize("way", [0, 1], ids=["scorer", "openssl"])
def test_true_files_are_verified(original: Folder, title: str, way: int) -> None:
    """Each command of the page succeeds."""
    code, output = original.run(blocks()[title][way])

    assert code == 0, output
    assert "FAILED" not in output


def changed(name: str, before: str, after: str) -> Callable[[Path], None]:
    """A change of the first text of a file."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_text(text.replace(before, after, 1))

    return change


def without_line(number: int) -> Callable[[Path], None]:
    """The log without an event."""

    def change(folder: Path) -> None:
        lines = (folder / "log.jsonl").read_text().splitlines(keepends=True)
        del lines[number]
        (folder / "log.jsonl").write_text("".join(lines))

    return change


def moved(folder: Path) -> None:
    """A query in the other list of split.json."""
    document = json.loads((folder / "split.json").read_text())
    document["queries"]["rest"].append(document["queries"]["preliminary"].pop())
    (folder / "split.json").write_text(json.dumps(document, indent=1) + "\n")


def other_share(folder: Path) -> None:
    """Another share, and the lists that fit it."""
    document = json.loads((folder / "split.json").read_text())
    (folder / "split.json").write_text(json.dumps(fitted(document, "0.9"), indent=1) + "\n")


def dropped(folder: Path) -> None:
    """A query in none of the lists of split.json."""
    document = json.loads((folder / "split.json").read_text())
    document["queries"]["rest"].pop()
    (folder / "split.json").write_text(json.dumps(document, indent=1) + "\n")


def changed_byte(folder: Path) -> None:
    """Another byte in the middle of the bundle."""
    content = bytearray((folder / "challenge.zip").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "challenge.zip").write_bytes(bytes(content))


def other_end(folder: Path) -> None:
    """A true log with another last event."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    lines[-1]["leaf"] = lines[-2]["leaf"]
    chain(lines)
    (folder / "log.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


CHANGES = {
    "a leaf of the log": ("The log", changed("log.jsonl", '"leaf":"', '"leaf":"0')),
    "a dropped event": ("The log", without_line(6)),
    "another early log": ("The log", changed("early.jsonl", "phases", "pick")),
    "a changed receipt": ("A receipt", changed("receipt.txt", "amber", "birch")),
    "another file": ("A receipt", changed("run.txt", "q1:a", "q1:b")),
    "a log without the entry": ("A receipt", without_line(5)),
    "a changed opening": ("The commitment", changed("commitment.txt", '"decimals":4', '"decimals":3')),
    "a swapped solution": ("The commitment", changed("lists.txt", "q1:0:a", "q1:0:b")),
    "another commitment": ("The commitment", changed("commitment.json", '"sha256": "', '"sha256": "0')),
    "another key": ("The split", changed("split.json", '"key": "0', '"key": "1')),
    "another share": ("The split", changed("split.json", '"0.5"', '"0.9"')),
    "another share with lists that fit": ("The split", other_share),
    "a moved query": ("The split", moved),
    "a dropped query": ("The split", dropped),
    "a changed byte of the bundle": ("The bundle", changed_byte),
    "another log than that of the bundle": ("The bundle", other_end),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("way", [0, 1], ids=["scorer", "openssl"])
def test_a_change_is_found(folder: Folder, name: str, way: int) -> None:
    """By each of the two ways."""
    title, change = CHANGES[name]
    change(folder.path)

    code, output = folder.run(blocks()[title][way])

    assert code == 1, output


def test_events_at_the_end_are_found_only_with_a_later_head(folder: Folder) -> None:
    """A log without its last event is a true log of an earlier time."""
    last = (folder.path / "log.jsonl").read_text().splitlines()[-1]
    without_line(-1)(folder.path)

    for script in blocks()["The log"]:
        assert folder.run(script)[0] == 0
        assert Folder(folder.path, {**folder.kept, "head": json.loads(last)["head"]}).run(script)[0] == 1
