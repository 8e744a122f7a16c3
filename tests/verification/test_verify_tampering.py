"""A stranger changes what a challenge publishes, each field of each document: `scorer verify` finds it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import ScorerError
from scorer.organising.bundles import import_bundle
from scorer.record.log import EVENT_KINDS
from scorer.verification.commitment import HARMLESS
from tests.bundles import archive, edited, members, with_manifest
from tests.commands import Answer, failed, here
from tests.committed import Committed
from tests.live_challenges import day
from tests.strangers import (
    Place,
    Rows,
    at,
    fitted,
    lines_of,
    other,
    places,
    replaced,
    rows,
    without,
)
from tests.verification.documents_1.make import FOLDER, STATES, make

OPTIONS = {
    "commitment": ("--opening", "--log", "--key", "--split"),
    "split": ("--earlier", "--queries"),
    "receipt": ("--key", "--log", "--file"),
    "log": ("--earlier",),
}
NAMES = {"--opening": "commitment.txt", "--key": "receipts.pem", "--split": "split.json", "--file": "run.txt"}
FILES = {"commitment": "commitment.json", "split": "split.json", "receipt": "receipt.txt", "log": "log.jsonl"}


def verify(folder: Path, document: str) -> Answer:
    """Verify a document with everything that a visitor has; the copies in the folder `kept` are from before."""
    arguments: list[str | Path] = []
    for option in OPTIONS[document]:
        names = {**NAMES, "--log": "log.jsonl", "--queries": "queries.txt", "--earlier": f"kept/{FILES[document]}"}
        if (folder / names[option]).exists():
            arguments += [option, folder / names[option]]
    if document == "commitment":
        arguments += [text for track in ("main", "lists") for text in ("--solution", f"{track}={folder / track}.txt")]
    return here("verify", document, folder / FILES[document], *arguments)


def with_copies(source: Path, folder: Path) -> Path:
    """A folder with the late documents, and copies of all of them that a visitor kept."""
    shutil.copytree(source / "late", folder)
    shutil.copytree(source / "late", folder / "kept")
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents of `tests/verification/documents_1`, as this version publishes them."""
    folder = tmp_path_factory.mktemp("published")
    make(Committed.create(folder / "live"), folder)
    return folder


@pytest.fixture(params=["version 1", "now"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What a visitor holds in the end, of a released version and of this one."""
    source = FOLDER if request.param == "version 1" else request.getfixturevalue("published")
    return with_copies(source, tmp_path / "held")


# True documents


@pytest.mark.parametrize("state", STATES)
def test_documents_of_version_1_are_verified(state: str) -> None:
    """Before the reveal, all but the reveal."""
    found = {document: failed(verify(FOLDER / state, document)) for document in FILES}

    assert all("not revealed yet" in line for lines in found.values() for line in lines), found
    assert sum(map(len, found.values())) == (2 if state == "early" else 0)


def test_documents_of_this_version_are_verified(published: Path) -> None:
    """The log shows which errata were not applied."""
    for state in STATES:
        for document in FILES:
            assert all("not revealed yet" in line for line in failed(verify(published / state, document)))
    assert "not_applied" not in json.loads((published / "late" / "commitment.json").read_text())
    kinds = [line["kind"] for line in rows({"log": (published / "late" / "log.jsonl").read_bytes()}, "log")]
    assert [kinds[index - 1] for index in (14, 15, 16, 20)] == ["preview", "cancellation", "preview", "preview"]


# Attacks


def changed(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON document."""
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))


def test_another_share_with_lists_that_fit_is_found(held: Path) -> None:
    """By the opening of the commitment, and by an earlier copy."""
    document = json.loads((held / "split.json").read_text())
    forged = fitted(document, "0.9")
    assert forged["queries"] != document["queries"]
    (held / "split.json").write_text(json.dumps(forged))

    (by_opening,) = failed(verify(held, "commitment"))
    assert (
        by_opening == 'lists: the share of split.json is the one that was committed: committed "0.5", now "0.9", and '
        "the document has no change"
    )
    (by_copy,) = failed(verify(held, "split"))
    assert by_copy.endswith('those of the earlier copy: changed: "preliminary"')


@pytest.mark.parametrize(("side", "query"), [("preliminary", "q1"), ("rest", "q2")])
def test_a_dropped_or_an_added_query_is_found(held: Path, side: str, query: str) -> None:
    """With the list of all queries."""
    document = json.loads((held / "split.json").read_text())
    chosen = document["queries"][side]
    dropped = chosen.pop()
    (held / "split.json").write_text(json.dumps(document))
    (found,) = failed(verify(held, "split"))
    assert found.endswith(f'the lists have the 8 queries, and no other: lacks "{dropped}"')

    (held / "queries.txt").write_text("".join(f"q{number}\n" for number in range(1, 9) if f"q{number}" != chosen[0]))
    (found,) = failed(verify(held, "split"))
    assert found.endswith(f'the lists have the 7 queries, and no other: lacks "{dropped}"; adds "{chosen[0]}"')


def hide_errata(document: dict[str, Any]) -> None:
    """The board is as it was committed."""
    document["errata"] = []


def hide_last_erratum(document: dict[str, Any]) -> None:
    """With the solution that was in force before it."""
    document["tracks"]["main"]["solution"] = "ab" * 32
    document["errata"].pop()


def hide_first_erratum(document: dict[str, Any]) -> None:
    """The last one is listed as the only one."""
    document["errata"].pop(0)
    document["errata"][0]["number"] = 1


def hide_extension(document: dict[str, Any]) -> None:
    """With the phases that were committed."""
    lists, main = document["tracks"]["lists"], document["tracks"]["main"]
    document["tracks"]["lists"] = {**lists, "phases": main["phases"], "rescheduled": []}


def hide_all(document: dict[str, Any]) -> None:
    """Nothing happened."""
    hide_errata(document)
    hide_extension(document)


@pytest.mark.parametrize(
    ("hide", "message"),
    [
        (hide_errata, "has the kind erratum, and the document does not have it"),
        (hide_last_erratum, "event 21 has the kind erratum, and the document does not have it"),
        (hide_first_erratum, "has the kind erratum, and the document does not have it"),
        (hide_extension, "event 23 has the kind extension, and the document does not have it"),
        (hide_all, "has the kind erratum, and the document does not have it"),
    ],
)
def test_what_happened_after_the_commitment_cannot_be_hidden(
    held: Path, hide: Callable[[dict[str, Any]], None], message: str
) -> None:
    """All else in the document is as it was committed."""
    changed(held, "commitment.json", hide)

    assert message in failed(verify(held, "commitment"))[0]


def test_errata_cannot_be_hidden_before_the_reveal(tmp_path: Path) -> None:
    """The document of this time says nothing about the solution."""
    folder = shutil.copytree(FOLDER / "early", tmp_path / "early")
    changed(folder, "commitment.json", hide_errata)

    assert "has the kind erratum, and the document does not have it" in failed(verify(folder, "commitment"))[0]


def test_an_invented_erratum_or_extension_is_found(held: Path) -> None:
    """A preview is no applied erratum, and an event is one thing only."""
    document = json.loads((held / "commitment.json").read_text())
    erratum, last = document["errata"][0], document["errata"][-1]
    preview = "is an erratum without a basis after it"
    if b'"version"' in (held / "log.jsonl").read_bytes():
        preview = "has the kind preview, expected erratum"
    cases = {
        f"event 14 {preview}": [{**erratum, "index": 14}, last],
        "the document has the same event twice": [erratum, {**last, "index": 18}],
        "event 8 has the kind arrival, expected erratum": [erratum, {**last, "index": 8}],
    }
    for message, errata in cases.items():
        fields = {key: value for key, value in document.items() if key != "not_applied"}
        (held / "commitment.json").write_text(json.dumps({**fields, "errata": errata}))
        assert message in failed(verify(held, "commitment"))[0]


def test_a_rule_with_the_name_of_a_file_hides_nothing(held: Path) -> None:
    """The solution is another one, and what was committed is among the rules."""

    def forge(document: dict[str, Any]) -> None:
        track = document["tracks"]["lists"]
        track["rules"]["solution"], track["solution"] = track["solution"], "ab" * 32

    changed(held, "commitment.json", forge)
    (found, *_) = failed(verify(held, "commitment"))
    assert found.startswith("lists: the solution is the one that was committed: committed ")


def test_each_kind_of_event_is_accounted_for() -> None:
    """A new kind either changes no rule, or the document must have its events."""
    assert {"commitment", "erratum", "phases", "extension"} == (EVENT_KINDS[1] | EVENT_KINDS[2]) - HARMLESS


# Each field


INFORMATIONAL = {
    "commitment": {
        "commitments.0.at": "the time of a commitment that was replaced; its event is not published",
        "commitments.0.sha256": "known only to those who kept it",
        "tracks.lists.phases": "an event changed them; what it says is on the timeline, not in the log",
        "tracks.main.solution": "errata changed it; what they say is on their pages, not in the log",
        "errata.0.number": "a name for the erratum, as on its page",
        "errata.1.number": "a name for the erratum, as on its page",
    },
    "split": {},
    "receipt": {},
}
"""Fields whose change nobody finds without a copy, and why."""


def mutations(document: Any) -> Iterator[tuple[Place, Any]]:
    """Each value is removed, changed, emptied and exchanged with that of the other track."""
    for place in places(document):
        value = at(document, place)
        if value is not None:  # a rule without a value is as one that is missing
            yield place, without(document, place)
        yield place, replaced(document, place, other(value))
        if value:
            yield place, replaced(document, place, None)
        exchanged = tuple({"main": "lists", "lists": "main"}.get(str(key), key) for key in place)
        try:
            counterpart = at(document, exchanged)
        except (LookupError, TypeError):
            continue
        if counterpart != value:
            yield place, replaced(replaced(document, place, counterpart), exchanged, value)


@pytest.mark.parametrize("document", ["commitment", "split"])
def test_each_changed_field_is_found(held: Path, document: str) -> None:
    """Removed, changed, emptied, and swapped between tracks; all other fields are listed with the reason."""
    file = held / FILES[document]
    passed, tried = set(), 0
    for place, mutated in mutations(json.loads(file.read_text())):
        file.write_text(json.dumps(mutated))
        answer = verify(held, document)
        tried += 1
        assert "Traceback" not in answer.err
        if answer.code == 0:
            passed.add(".".join(map(str, place)))

    assert tried > 30
    known = INFORMATIONAL[document]
    assert {name for name in passed if not name.startswith(tuple(known))} == set()
    assert "tracks.main.phases" not in passed


def test_each_changed_field_of_the_log_is_found(held: Path) -> None:
    """In version 1, the kind only by an earlier copy."""
    lines = rows({"log": (held / "log.jsonl").read_bytes()}, "log")
    for number, line in enumerate(lines):
        for key, value in line.items():
            mutated = [*lines[:number], {**line, key: "pick" if key == "kind" else other(value)}, *lines[number + 1 :]]
            (held / "log.jsonl").write_bytes(lines_of(mutated))
            is_hidden = key == "kind" and "version" not in line
            assert here("verify", "log", held / "log.jsonl").code == (0 if is_hidden else 1)
            assert verify(held, "log").code == 1


def test_a_log_without_its_end_does_not_have_the_reveal(held: Path) -> None:
    """A true log of an earlier time would hide what followed."""
    lines = (held / "log.jsonl").read_text().splitlines(keepends=True)
    (held / "log.jsonl").write_text("".join(lines[:23]))

    (found, *_) = failed(verify(held, "commitment"))
    assert found.endswith("no event after event 7 reveals the commitment; download the log again")


# Bundles


NOW = day(27)


def found_in(content: bytes, folder: Path) -> str:
    """What `scorer verify bundle` finds; `scorer import` must refuse the same bundles."""
    file = folder / "b.zip"
    file.write_bytes(content)
    answer = here("verify", "bundle", file)
    shutil.rmtree(folder / "new", ignore_errors=True)
    try:
        import_bundle(file, folder / "new", clock=lambda: NOW)
    except ScorerError:
        is_refused = True
    else:
        is_refused = False
    assert answer.code == is_refused
    return answer.out + answer.err


def test_a_rebuilt_bundle_is_accepted(bundle: Path, tmp_path: Path) -> None:
    """What the tests below change is what is found. The last line says what is not verified."""
    *lines, note = found_in(archive(with_manifest(members(bundle))), tmp_path).splitlines()

    assert all(line.startswith("ok") for line in lines)
    assert note == ("note    no file was scored again; `scorer evaluate` scores the files of a bundle")


@pytest.mark.parametrize("folder", ["solutions", "submissions"])
def test_files_with_other_bytes_than_their_name_are_found(folder: str, bundle: Path, tmp_path: Path) -> None:
    """Although the manifest and the SHA-256 at the end fit them."""
    content = members(bundle)
    name = next(name for name in content if re.fullmatch(rf"{folder}/[0-9a-f]{{64}}", name))
    found = found_in(archive(with_manifest({**content, name: content[name] + b"\n"})), tmp_path)

    assert (
        f'FAILED  each solution and each submission has its SHA-256 as its name: other bytes in "{name[:40]}' in found
    )


def test_two_submissions_that_changed_places_are_found(bundle: Path, tmp_path: Path) -> None:
    """Each has bytes of the challenge."""
    content = members(bundle)
    first, second, *_ = (name for name in content if re.fullmatch(r"submissions/[0-9a-f]{64}", name))
    found = found_in(archive(with_manifest({**content, first: content[second], second: content[first]})), tmp_path)

    assert f'other bytes in "{first[:40]}' in found
    assert f', "{second[:40]}' in found


@pytest.mark.parametrize(
    "change",
    [
        {"queries": 5},
        {"items": 8},
        {"items": 10},
        {"items": "9"},
        {"answered": 5},
        {"answered": 0},
        {"overlong": 5},
        {"repeated": -1},
        {"unknown": -1},
        {"in_solution": 99},
        {"in_solution": 0},
        {"more": 1},
    ],
)
def test_counts_that_contradict_the_lists_are_found(change: dict[str, Any], bundle: Path, tmp_path: Path) -> None:
    """In the text of a result; the lists are those that the scores are computed from."""

    def changed_counts(results: Rows) -> None:
        row = next(row for row in results if row["counts"])
        row["counts"] = json.dumps({**json.loads(row["counts"]), **change})

    assert "has other counts than its lists; export it again" in found_in(
        edited(members(bundle), "tables/result.jsonl", changed_counts), tmp_path
    )


DERIVED = {
    "event": set(),
    "scorer_schema": {"version", "scorer", "identity", "revision"},
    "solution": {"flagged"},
    "result": {"findings", "limits"},
    "last_run": {"track", "at"},
}
"""By table, the columns that another value may have: what is derived, and what names a state of the database."""


POSSIBLE = {"findings": '{"count": 1, "shown": [[0, "another note"]]}', "limits": '{"file_mb": 7}'}
"""By column, another value that an import accepts where `other` has none."""

KEYS = {"solution": {"digest"}, "result": {"solution_digest"}}
"""Columns by which rows refer to each other; an import refuses other values."""


@pytest.mark.parametrize("table", DERIVED)
def test_each_changed_column_of_a_bundle_is_found_or_derived(table: str, bundle: Path, tmp_path: Path) -> None:
    """What is recorded is in the log. The other columns are derived from files, and a run derives them again."""
    content, name = members(bundle), f"tables/{table}.jsonl"
    passed = set()
    for column, value in rows(content, name)[0].items():
        if column in KEYS.get(table, ()):
            continue

        def change(found: Rows, column: str = column, value: Any = value) -> None:
            found[0][column] = POSSIBLE.get(column) or other(value)

        file = tmp_path / "b.zip"
        file.write_bytes(edited(content, name, change))
        if here("verify", "bundle", file).code == 0:
            passed.add(column)

    assert passed == DERIVED[table]
