"""A program changes, drops, doubles and renames each field of each line of a public archive, and signs all again.

What nobody finds is exactly the table "Not covered" of docs/verification-spec.md.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.forging import PUBLIC, Forger, answers, forger_of
from tests.second_verifier import canonical, sha256

pytestmark = pytest.mark.usefixtures("serial")

SPECIFICATION = Path(__file__).parents[2] / "docs" / "verification-spec.md"
OVERALL = '[overall]\ntracks = ["main", "lists"]\n'

Path_ = tuple[int, ...]


class Pairs(list[tuple[str, Any]]):
    """An object of JSON, which may have a key twice."""


def read(text: str) -> Any:
    """A value of JSON with objects as pairs."""
    return json.loads(text, object_pairs_hook=Pairs)


def written(value: Any, indent: int | None = 1, depth: int = 1) -> str:
    """The text of a value, as documents have it: with an indent of 1, or without spaces."""
    if not isinstance(value, list) or not value:
        return "{}" if isinstance(value, Pairs) else json.dumps(value, ensure_ascii=indent is None)
    colon = ":" if indent is None else ": "
    parts = [
        f"{json.dumps(each[0])}{colon}{written(each[1], indent, depth + 1)}"
        if isinstance(value, Pairs)
        else written(each, indent, depth + 1)
        for each in value
    ]
    opening, closing = "{}" if isinstance(value, Pairs) else "[]"
    if indent is None:
        return opening + ",".join(parts) + closing
    inner = ",".join(f"\n{' ' * depth}{part}" for part in parts)
    return f"{opening}{inner}\n{' ' * (depth - 1)}{closing}"


def other(value: Any) -> Any:
    """Another value of the same form."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if value is None:
        return 1
    if isinstance(value, str):
        if re.fullmatch("[0-9a-f]{2,}", value):
            return ("1" if value[0] == "0" else "0") + value[1:]
        if time := re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:)(\d\d)(:.*)", value):
            return f"{time[1]}{(int(time[2]) + 1) % 60:02}{time[3]}"
        return f"{value}x"
    return [] if value else [1]


def fields(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all fields."""
    for number, each in enumerate(value if isinstance(value, list) else ()):
        yield (*path, number)
        yield from fields(each[1] if isinstance(value, Pairs) else each, (*path, number))


def name_of(value: Any, path: Path_) -> str:
    """The name of a field, the same one for each element of a list."""
    names = []
    for number in path:
        assert isinstance(number, int)
        names.append(value[number][0] if isinstance(value, Pairs) else "*")
        value = value[number][1] if isinstance(value, Pairs) else value[number]
    return ".".join(names)


def changed(value: Any, path: Path_, how: str) -> Any:
    """The value with one field changed."""
    value = deepcopy(value)
    place = value
    for number in path[:-1]:
        place = place[number][1] if isinstance(place, Pairs) else place[number]
    number = path[-1]
    assert isinstance(number, int)
    if how == "dropped":
        del place[number]
    elif how == "doubled":
        place.insert(number, place[number])
    elif isinstance(place, Pairs):
        key, content = place[number]
        place[number] = (f"{key}x", content) if how == "renamed" else (key, other(content))
    else:
        place[number] = other(place[number])
    return value


def without(name: str, forger: Forger) -> None:
    """Leave out a member."""
    del forger.members[name]


def of_text(path: Path_, how: str, text: str) -> str:
    """The text of a document with one field changed."""
    return f"{written(changed(read(text), path, how))}\n"


def member(name: str, content: bytes) -> Callable[[Forger], object]:
    """Replaces a member, or adds it."""
    return lambda forger: forger.members.update({name: content})


@dataclass(frozen=True)
class Tampering:
    """A change of an archive."""

    file: str
    field: str
    how: str
    apply: Callable[[Forger], object]

    @property
    def place(self) -> str:
        """What the table of the specification has."""
        return f"{self.file}: {self.field}" if self.field else self.file


def ways(value: Any, path: Path_) -> list[str]:
    """How a field can be changed."""
    place = value
    for number in path[:-1]:
        place = place[number][1] if isinstance(place, Pairs) else place[number]
    return ["changed", "dropped", "doubled", *(["renamed"] if isinstance(place, Pairs) else [])]


def of_document(name: str, text: str) -> Iterator[Tampering]:
    """The changes of a document in JSON."""
    value = read(text)
    assert f"{written(value)}\n" == text
    file = re.sub("(?<=public/)(main|lists)", "TRACK", name)
    for path in fields(value):
        for how in ways(value, path):
            new = f"{written(changed(value, path, how))}\n".encode()
            yield Tampering(file, name_of(value, path), how, member(name, new))


def of_lines(name: str, text: str) -> Iterator[Tampering]:
    """The changes of a member with an object a line; its texts of JSON are changed by other functions."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        value = read(line)

        def put(new: list[str], number: int = number) -> Callable[[Forger], object]:
            content = "".join(f"{each}\n" for each in (*lines[:number], *new, *lines[number + 1 :])).encode()
            return lambda forger: forger.members.update({name: content})

        yield Tampering(name, "", "dropped", put([]))
        yield Tampering(name, "", "doubled", put([line, line]))
        for path in fields(value):
            for how in ways(value, path):
                new = written(changed(value, path, how), None)
                yield Tampering(name, name_of(value, path), how, put([new]))


def of_events(original: Forger) -> Iterator[Tampering]:
    """The changes of the events, after which log, receipts and boards are signed and computed again."""
    for index, row in original.opened.items():
        value = read(row["event"])
        kind = original.events[index]["kind"]
        for path in fields(value):
            for how in ways(value, path):
                text = written(changed(value, path, how), None)

                def put(forger: Forger, index: int = index, text: str = text) -> None:
                    forger.texts[index] = text
                    forger.recompute()

                yield Tampering(f"{PUBLIC}events.jsonl", f"{kind}: {name_of(value, path)}", how, put)


def of_receipts(original: Forger) -> Iterator[Tampering]:
    """The changes of what a receipt says, which is signed again."""
    for number, row in enumerate(original.rows("receipts.jsonl")):
        value = read(row["receipt"].partition("\n")[0])
        for path in fields(value):
            for how in ways(value, path):
                text = written(changed(value, path, how), None)

                def put(forger: Forger, number: int = number, text: str = text) -> None:
                    rows = forger.rows("receipts.jsonl")
                    rows[number]["receipt"] = forger.signed(f"{text}\n")
                    forger.members[f"{PUBLIC}receipts.jsonl"] = "".join(f"{canonical(row)}\n" for row in rows).encode()

                yield Tampering(f"{PUBLIC}receipts.jsonl", f"receipt: {name_of(value, path)}", how, put)


def of_log(original: Forger) -> Iterator[Tampering]:
    """The changes of lines of the log, after which all heads are computed again."""
    kinds = {line["kind"] for line in original.lines}
    for number, line in enumerate(original.lines):
        is_hidden = line["index"] not in original.opened
        news = {("kind", kind) for kind in (kinds if is_hidden else {"token", "erratum"}) - {line["kind"]}}
        for key, new in sorted({*news, ("leaf", "ab" * 32)}):

            def put(forger: Forger, number: int = number, key: str = key, new: str = new) -> None:
                forger.lines[number][key] = new
                forger.recompute(keeps_leaves=True)

            field = f"{key} of an event without a text" if is_hidden else key
            yield Tampering(f"{PUBLIC}log.jsonl", field, f"changed to {new[:12]}", put)


def of_table(name: str, text: str) -> Iterator[Tampering]:
    """The changes of a CSV."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    file = re.sub("(?<=public/)(main|lists)", "TRACK", name)

    def put(new: list[list[str]]) -> Callable[[Forger], object]:
        target = io.StringIO(newline="")
        csv.writer(target).writerows(new)
        content = target.getvalue().encode()
        return lambda forger: forger.members.update({name: content})

    for number, row in enumerate(rows):
        yield Tampering(file, "row", "dropped", put([*rows[:number], *rows[number + 1 :]]))
        yield Tampering(file, "row", "doubled", put([*rows[: number + 1], *rows[number:]]))
        for column, cell in enumerate(row):
            new = deepcopy(rows)
            new[number][column] = f"{cell}1"
            yield Tampering(file, rows[0][column], "changed" if number else "renamed", put(new))
    for column, title in enumerate(rows[0]):
        yield Tampering(file, title, "dropped", put([[*row[:column], *row[column + 1 :]] for row in rows]))
        yield Tampering(file, title, "doubled", put([[*row[: column + 1], *row[column:]] for row in rows]))


def of_settings(name: str, text: str) -> Iterator[Tampering]:
    """The changes of challenge.toml, by lines."""
    lines, tables = text.splitlines(), ""
    for number, line in enumerate(lines):
        if line.startswith("["):
            tables = re.sub(r"^tracks\.[a-z]+", "tracks.TRACK", line.strip("[]")) + "."
        if not line:
            continue
        key, equals, value = line.partition(" = ")
        news = {"dropped": [], "doubled": [line, line], "renamed": [line.replace(key, f"{key}x", 1)]}
        if not equals:
            news["renamed"] = [line.replace("]", "x]", 1)]
        elif value.startswith('"'):
            news["changed"] = [f'{key} = {value[:-1]}x"']
        elif value in ("true", "false"):
            news["changed"] = [f"{key} = {'false' if value == 'true' else 'true'}"]
        elif value.startswith("["):
            news["changed"] = [f"{key} = []"]
        elif value[4:5] == "-":
            news["changed"] = [line.replace("-01-", "-02-", 1)]
        else:
            news["changed"] = [f"{line}1"]
        field = tables.rstrip(".") if not equals else f"{tables}{key}"
        for how, new in news.items():
            content = "".join(f"{each}\n" for each in (*lines[:number], *new, *lines[number + 1 :])).encode()
            yield Tampering(name, field, how, member(name, content))


def of_members(original: Forger) -> Iterator[Tampering]:
    """The changes of whole members, and members that nobody expects."""
    for name, content in original.members.items():
        file = re.sub("[0-9a-f]{64}", "HASH", re.sub("(?<=public/)(main|lists)", "TRACK", name))
        if name != "manifest.json":
            yield Tampering(file, "", "dropped", partial(without, name))
            yield Tampering(file, "", "emptied", member(name, b""))
            yield Tampering(file, "", "longer", member(name, content + b"\n"))
    extra = b"q1:1:a|1\n"
    names = ("public/more/leaderboard.json", "public/main/leaderboard2.csv", "challenge/more.txt", "tables/more.jsonl")
    for name in (*names, f"solutions/{sha256(extra)}", f"submissions/{sha256(extra)}"):
        yield Tampering("a member more", "", "added", member(name, extra))


def tamperings(original: Forger) -> Iterator[Tampering]:
    """All changes of an archive."""
    yield from of_members(original)
    yield from of_events(original)
    yield from of_receipts(original)
    yield from of_log(original)
    for name, content in original.members.items():
        text = content.decode()
        if name.endswith(".json") and name != "manifest.json":
            yield from of_document(name, text)
        elif name.endswith(".jsonl"):
            yield from of_lines(name, text)
        elif name.endswith(".csv"):
            yield from of_table(name, text)
        elif name.endswith(".toml"):
            yield from of_settings(name, text)
    yield from of_manifest(original)


def of_manifest(original: Forger) -> Iterator[Tampering]:
    """The changes of the manifest, but for the hashes of members."""
    value = read(original.members["manifest.json"].decode())
    for path in fields(value):
        for how in ways(value, path) if len(path) == 1 else ():

            def put(forger: Forger, path: Path_ = path, how: str = how) -> None:
                forger.change_manifest = partial(of_text, path, how)

            yield Tampering("manifest.json", name_of(value, path), how, put)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Forger:
    """The archive of a challenge with an overall ranking."""
    return forger_of(tmp_path_factory.mktemp("original"), OVERALL)


NOT_SPECIFIED = re.compile(
    r"public/overall/.*|public/TRACK/leaderboard\.(csv|json): (low|high|rank from|rank to|tier|separable_from_leader)|"
    r"public/TRACK/leaderboard\.json: (rules|phase|late|statistics|rows\.\*\.(low|high|rank from|rank to|tier|"
    r"separable_from_leader|status|choice|changes)|track\.decimals).*|challenge/challenge\.toml(: overall.*)?|"
    r"tables/result\.jsonl: .*|public/events\.jsonl: .*"
)
"""What the specification leaves to scorer: statistics, sentences, the overall ranking, other keys of results and
events."""


def survives(tampering: Tampering, original: Forger, path: Path) -> str:
    """Empty if it is found without a head; else whether a head that was kept shows it: "head" or "nothing"."""
    forger = deepcopy(original)
    tampering.apply(forger)
    archive = forger.sealed()
    by_scorer, by_second = map(bool, answers(archive, path))
    is_left = NOT_SPECIFIED.fullmatch(tampering.place)
    assert by_scorer == by_second or (by_scorer and is_left), f"{tampering}: scorer {by_scorer}, second {by_second}"
    return "" if by_scorer else "head" if all(answers(archive, path, original.head)) else "nothing"


def not_covered() -> set[str]:
    """The places in the table of the specification."""
    section = SPECIFICATION.read_text().partition("## Not covered")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def found_by_nobody(some: list[Tampering], original: Forger, folder: Path) -> set[str]:
    """The places of the changes that survive, also where a head was kept; without it, only events have such places."""
    survivors = {(each.place, survives(each, original, folder / "a.zip")) for each in some}
    hidden = {f"{PUBLIC}log.jsonl: {key} of an event without a text" for key in ("kind", "leaf")}
    assert all(
        place.startswith(f"{PUBLIC}events.jsonl: ") or place in hidden for place, how in survivors if how == "head"
    )
    return {place for place, how in survivors if how == "nothing"}


def test_a_sample_of_all_changes_is_found(original: Forger, tmp_path: Path) -> None:
    """Or it is in the table; both programs agree."""
    every = list(tamperings(original))

    assert answers(original.sealed(), tmp_path / "a.zip", original.head) == ([], [])
    assert found_by_nobody(random.Random(1).sample(every, 10), original, tmp_path) <= not_covered()


@pytest.mark.endurance
def test_what_survives_is_the_table(original: Forger, tmp_path: Path) -> None:
    """Each field of each line of each public file; both programs agree."""
    assert found_by_nobody(list(tamperings(original)), original, tmp_path) == not_covered()
