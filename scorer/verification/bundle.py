"""Verifies a bundle: no byte was changed, and its record has the log that the site publishes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from scorer.challenge.splits import SHA256
from scorer.store.canonical import iso
from scorer.store.log import START, LogLine, chained, text_of_fields
from scorer.store.secret import secret_of
from scorer.verification.bundle_archive import (
    INDEX,
    MANIFEST,
    NO_BUNDLE,
    SOLUTIONS,
    SUBMISSIONS,
    TABLES,
    Bundle,
    opened_bundle,
)
from scorer.verification.log import break_of, gap, read_log
from scorer.verification.statement import Verified, listed
from scorer.wording import counted

SCHEMA = f"{TABLES}scorer_schema.jsonl"
EVENTS = f"{TABLES}event.jsonl"


def verified_bundle(path: Path, log: Path | None = None) -> Iterator[Verified]:
    """Verify a bundle, and if log.jsonl of the site is given, compare the record with it.

    Yields each statement. Nothing is said about the content of a file whose bytes were changed. Raises ScorerError if a
    file cannot be read, or is not a bundle.
    """
    public = None if log is None else read_log(log)
    with opened_bundle(path) as bundle:
        yield from verified_content(bundle, public)


def verified_content(bundle: Bundle, public: Sequence[LogLine] | None = None) -> Iterator[Verified]:
    """As `verified_bundle`, for a bundle that is open and the lines of a log."""
    changed = bundle.changed_part()
    yield Verified("no byte was changed: the file has the SHA-256 at its end", changed and f"changed in {changed}")
    if changed:
        return
    manifest = bundle.read_directory()
    count = counted(len(manifest.members), "member")
    wrong = listed("changed:", bundle.wrong_members())
    yield Verified(f"each of the {count} has its SHA-256 in {MANIFEST}", wrong)
    if wrong:
        return
    files = {name: digest for name, digest in manifest.members.items() if name.startswith((SOLUTIONS, SUBMISSIONS))}
    wrong = listed("other bytes in", (name for name in files if name != INDEX and not name.endswith(files[name])))
    yield Verified("each solution and each submission has its SHA-256 as its name", wrong)
    lines = list(_lines(bundle))
    lacking = gap(lines) or ("" if len(lines) == manifest.events else f"found {counted(len(lines), 'event')}")
    yield Verified(f"the record has the events 1 to {manifest.events:,}, without a gap", lacking)
    head = (lines[-1].head if lines else START).hex()
    differs = "" if head == manifest.head else f"its head is {head}"
    yield Verified(f"the log of the record has the head {manifest.head}", differs)
    if public is not None:
        yield from _agreement(lines, public)


def _lines(bundle: Bundle) -> Iterator[LogLine]:
    """The log of the record in a bundle."""
    salts = [row.get("salt") for row in bundle.rows(SCHEMA)]
    if len(salts) != 1 or not isinstance(salts[0], str) or not SHA256.fullmatch(salts[0]):
        raise bundle.error(f"{SCHEMA} does not have the salt of one database", NO_BUNDLE)
    return chained(secret_of(salts[0], "log"), _events(bundle))


def _events(bundle: Bundle) -> Iterator[tuple[int, str, bytes]]:
    for number, row in enumerate(bundle.rows(EVENTS), 1):
        try:
            event = _event(row)
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            raise bundle.error(f"{EVENTS}, line {number:,}: not an event", NO_BUNDLE) from error
        yield event


def _event(row: dict[str, Any]) -> tuple[int, str, bytes]:
    """The index, the kind and the text of an event. Raises ValueError, LookupError or TypeError if it is none."""
    index, track, kind, at = row["index"], row["track"], row["kind"], row["at"]
    body = json.loads(row["body"])
    if type(index) is not int or index < 1 or not isinstance(body, dict):
        raise ValueError(row)
    if not isinstance(track, str) or not isinstance(kind, str):
        raise TypeError(row)
    recorded = None if at is None else iso(datetime.fromisoformat(at))
    return index, kind, text_of_fields(index, track, kind, recorded, body)


def _agreement(lines: Sequence[LogLine], public: Sequence[LogLine]) -> Iterator[Verified]:
    """Whether a public log is that of a record, as far as both go: either may be the later one."""
    broken = gap(public) or break_of(public)
    yield Verified(f"the heads of the {counted(len(public), 'event')} of the public log follow from its leaves", broken)
    common = min(len(lines), len(public))
    differing = next((mine.index for mine, theirs in zip(lines, public, strict=False) if mine != theirs), None)
    found = "" if differing is None else f"event {differing} differs: it is another one in the record"
    yield Verified(f"the public log has the {counted(common, 'event')} of the record until event {common}", found)
