"""Verifies the log of a challenge: each head follows from the lines until it.

Heads of version 1 do not cover the kinds of events. So another kind in such a line is found only by an earlier copy, by
the event with which version 2 begins, or by the record in a bundle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from scorer.errors import ScorerError, os_errors_as
from scorer.record.log import ABOUT_RECORD, EVENT_KINDS, LOG_TEXTS, START, LogLine, kinds_digest, leaf_of
from scorer.wording import counted, quoted, shortened

READ_VERSION = 1
"""Of the documents that can be verified."""

_LISTED = 5
"""Names that a line lists at most."""


_Outcome = Literal["ok", "FAILED", "note", "open", "later"]
"""What became of a statement: it is true; it is false; it says what is not verified, or what the document is about; it
cannot be verified; another document is older, so that a later one may agree."""

EXIT_CODES: Mapping[_Outcome, int] = {"FAILED": 1, "open": 3, "later": 4}
"""Of the outcomes that are not good, the most important one first."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A statement of a document, and what contradicts it."""

    statement: str
    contradiction: str = ""
    """Empty if the statement is true."""
    kind: _Outcome = "FAILED"
    """What becomes of it if something contradicts it. Nothing contradicts a note."""

    @property
    def outcome(self) -> _Outcome:
        """What became of the statement."""
        return self.kind if self.contradiction or self.kind == "note" else "ok"


def compared(statement: str, is_true: object, differs: str) -> Verified:
    """A statement, and how something differs from it unless it is true."""
    return Verified(statement, "" if is_true else differs)


def read_bytes(path: Path) -> bytes:
    """The bytes of a published file. Raises ScorerError if it cannot be read."""
    with os_errors_as(ScorerError, f"{path}: cannot be read", "name a file that was downloaded"):
        return path.read_bytes()


def parsed_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError if it is none, or has a key twice, and RecursionError."""
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise ValueError(f"the key {quoted(twice)} is there twice")
    return members


def read_document(path: Path) -> Mapping[str, Any]:
    """The JSON object in a file, of a version that can be verified. Raises ScorerError if it is another file."""
    try:
        document = parsed_json(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise ScorerError(f"{path}: not JSON: {error}; download the file again") from error
    if not isinstance(document, dict):
        raise ScorerError(f"{path}: expected a JSON object; download the file again")
    if document.get("version") != READ_VERSION:
        found = quoted(str(document.get("version")))
        raise ScorerError(f"{path}: found version {found}, expected {READ_VERSION}; use the scorer that wrote the file")
    return document


def invalid(path: Path, key: str, expected: str) -> ScorerError:
    """The error of a document whose key has another value than expected."""
    return ScorerError(f"{path}: {key}: expected {expected}; download the file again")


def listed(verb: str, names: Iterable[str]) -> str:
    """The first names in a sentence, and how many more there are; empty without a name."""
    wrong = list(names)
    if not wrong:
        return ""
    more = f" and {len(wrong) - _LISTED:,} more" if len(wrong) > _LISTED else ""
    return f"{verb} {', '.join(map(quoted, wrong[:_LISTED]))}{more}"


_LINE = re.compile(
    rb'\{(?:"version":(2),"epoch":([1-9][0-9]{0,17}),)?'
    rb'"index":([1-9][0-9]{0,17}),"kind":"([a-z]+)","leaf":"([0-9a-f]{64})","head":"([0-9a-f]{64})"\}'
)
"""A line of the log, of version 2 or 1. Nothing else is accepted, so that each change of a byte is found."""

_EXPECTED = (
    '{"version":2,"epoch":1,"index":1,"kind":"arrival","leaf":"(64 hexadecimal digits)","head":"(64 hexadecimal '
    'digits)"}, in version 1 without version and epoch'
)

_NEWLINE = b"\n"

LONGEST_QUOTE = 120
"""Characters of a malformed line or of a value that a message has at most."""


@dataclass(frozen=True, slots=True)
class KnownHead:
    """A head that a participant has."""

    head: bytes
    index: int | None = None
    """Of its event; None if it is not known."""
    epoch: int | None = None
    """Of its event; None if it is not known, or in version 1."""
    statement: str = ""
    """What `scorer heads` signs; empty if the head was kept in another way."""
    signature: str = ""
    """In Base64."""


def verified_log(
    path: Path, earlier: Path | None = None, head: KnownHead | None = None, texts: Path | None = None
) -> Iterator[Verified]:
    """Verify that each head of a log, the file log.jsonl of a site, follows from the head before and the line.

    Yields each statement of the file; those that cannot be checked since a line is malformed are left out. The file may
    be compared with an `earlier` copy, with a `head` that the site, its feed or a receipt showed, and with `texts`, the
    file log-texts.jsonl of the site. Raises ScorerError if a file cannot be read.
    """
    data = read_bytes(path)
    copy = None if earlier is None else read_bytes(earlier)
    lines, malformed = _parsed(data)
    yield Verified(f"the log has {counted(len(lines), 'event')}, and each line has the form of an event", malformed)
    if copy is not None:
        events = counted(copy.count(b"\n"), "event")
        statement = f"the log begins with the {events} of the earlier copy"
        ends = f"the log ends before event {data.count(_NEWLINE) + 1} of the copy: download the log again"
        is_shorter = len(data) < len(copy) and copy.startswith(data)
        yield Verified(statement, ends if is_shorter else _difference(data, copy), "later" if is_shorter else "FAILED")
    if malformed:
        return
    yield Verified(f"the events are 1 to {len(lines):,}, without a gap", gap(lines) or disorder(lines))
    yield Verified(f"each head follows from the leaves until it; the last is {lines[-1].head.hex()}", break_of(lines))
    if head is not None:
        yield _known(lines, head)
    yield from about_record(lines, {} if texts is None else read_texts(texts, lines))


def read_log(path: Path) -> list[LogLine]:
    """The lines of a log. Raises ScorerError if it cannot be read, or if a line is malformed."""
    lines, malformed = _parsed(read_bytes(path))
    if malformed:
        raise ScorerError(f"{path}: {malformed}; download the file again")
    return lines


def _parsed(data: bytes) -> tuple[list[LogLine], str]:
    """The lines until the first malformed one, and what is wrong with this one; empty if all lines are well-formed."""
    lines: list[LogLine] = []
    texts = data.split(b"\n")
    end = texts.pop()
    for number, text in enumerate(texts, 1):
        match = _LINE.fullmatch(text)
        if match is None:
            shown = quoted(shortened(text.decode("utf-8", "backslashreplace"), LONGEST_QUOTE))
            return lines, f"line {number:,}: found {shown}, expected {_EXPECTED}"
        version, epoch, index, kind, leaf, head = (group.decode("ascii") for group in match.groups(b"1"))
        if kind not in EVENT_KINDS[int(version)]:
            return lines, f'line {number:,}: found the kind "{kind}", expected one that this version of scorer has'
        hashes = bytes.fromhex(leaf), bytes.fromhex(head)
        lines.append(LogLine(int(index), kind, *hashes, int(version), int(epoch)))
    if end:
        return lines, f"line {len(lines) + 1:,}: the line has no end; the file is incomplete"
    return lines, "" if lines else f"the file is empty; expected a line for each event: {_EXPECTED}"


def gap(lines: Sequence[LogLine]) -> str:
    """The first line whose index is not its number, and what that means; empty without such a line."""
    for number, line in enumerate(lines, 1):
        if line.index > number:
            return f"line {number:,} has event {line.index}: event {number} is missing"
        if line.index < number:
            return f"line {number:,} has event {line.index}: this event is repeated"
    return ""


def disorder(lines: Sequence[LogLine]) -> str:
    """The first line whose version or epoch is impossible after the lines before it; empty without one."""
    version, epoch = lines[0].version if lines else 1, 1
    for number, line in enumerate(lines, 1):
        epoch += line.kind == "restored"
        if line.version < version:
            return f"line {number:,} has version 1 after a line of version 2"
        if (line.kind == "log") != (line.version > version):
            return f"line {number:,} has the kind {line.kind}: an event of the kind log begins version 2, and no other"
        if line.epoch != epoch:
            return f"line {number:,} has epoch {line.epoch}, expected {epoch}"
        version = line.version
    return ""


def break_of(lines: Sequence[LogLine]) -> str:
    """The first line whose head does not follow from the lines before, and what that means; empty without one."""
    before = START
    for number, line in enumerate(lines, 1):
        wanted = line.head_after(before)
        if line.head != wanted:
            return (
                f"line {number:,} (event {line.index}): found {line.head.hex()}, expected {wanted.hex()}; this line "
                "was changed, or an event before it was changed, dropped or added"
            )
        before = line.head
    return ""


def _difference(data: bytes, earlier: bytes) -> str:
    """The first event of an earlier copy that a log does not have; empty without one."""
    if data.startswith(earlier):
        return ""
    pairs = zip_longest(BytesIO(data), BytesIO(earlier))
    number = next(number for number, (now, then) in enumerate(pairs, 1) if then is not None and now != then)
    return f"event {number} differs: it was changed, or an event until it was dropped or added"


def _known(lines: Sequence[LogLine], known: KnownHead) -> Verified:
    """Whether the log has a head that a participant has."""
    if known.index is None:
        index = next((line.index for line in lines if line.head == known.head), None)
        where = "an event" if index is None else f"event {index}"
        lost = "no event has it; an event of the log was changed, dropped or added, or the log is shorter than yours"
        return compared(f"{where} has the head {known.head.hex()}", index is not None, lost)
    statement = f"event {known.index} has the head {known.head.hex()}"
    if known.index > len(lines):
        return until_end(statement, known.index, lines)
    head, epoch = lines[known.index - 1].head, lines[known.index - 1].epoch
    if known.epoch is not None and known.epoch < epoch:
        return Verified(statement, f"found epoch {epoch}: the event was lost when a backup was restored")
    differs = f"found {head.hex()}; an event until {known.index} was changed, dropped or added"
    return compared(statement, head == known.head, differs)


def read_texts(path: Path, lines: Sequence[LogLine]) -> dict[int, Mapping[str, Any]]:
    """The bodies of events about the record by index, from a file with texts and nonces of events.

    Raises ScorerError if one is not the text of its event in the log, or if one is missing that was not lost.
    """
    about = {line.index: line for line in lines if line.kind in ABOUT_RECORD}
    bodies: dict[int, Mapping[str, Any]] = {}
    for number, text in enumerate(read_bytes(path).splitlines(), 1):
        try:
            row = json.loads(text)
            if line := about.get(row["index"]):
                bodies[line.index] = _body_of(line, row["event"].encode("ascii"), bytes.fromhex(row["nonce"]))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            expected = "expected an event of the log, its text and its nonce"
            raise ScorerError(f"{path}: line {number:,}: {expected}; download the file and the log again") from error
    lost = lost_events(lines, bodies)
    if lacking := [str(index) for index in about if index not in bodies and index not in lost]:
        raise ScorerError(f"{path}: lacks the text of event {', '.join(lacking)}; download the file and the log again")
    return bodies


def _body_of(line: LogLine, text: bytes, nonce: bytes) -> Mapping[str, Any]:
    """The body of an event about the record. Raises ValueError, LookupError or TypeError for another text."""
    event = json.loads(text)
    body: Mapping[str, Any] = event["body"]
    if leaf_of(nonce, text) != line.leaf or (event["index"], event["kind"]) != (line.index, line.kind):
        raise ValueError("another event")
    check_about_record(line.index, line.kind, body)
    return body


def check_about_record(index: int, kind: str, body: Mapping[str, Any]) -> None:
    """Check the body of an event about the record. Raises ValueError, LookupError or TypeError."""
    if kind == "restored":
        start, end = body["from"], body["to"]
        if type(start) is not int or type(end) is not int or not 0 <= start <= end < index:
            raise ValueError("no range of earlier events")
    elif kind == "log" and type(body["kinds"]) is not str:
        raise TypeError("no digest")


def about_record(lines: Sequence[LogLine], bodies: Mapping[int, Mapping[str, Any]]) -> Iterator[Verified]:
    """What events about the record say of others, given the bodies that are known, and what their heads cannot show."""
    old = [line.kind for line in lines if line.version == 1]
    first = next((line.index for line in lines if line.kind == "log"), 0)
    if first in bodies:
        differs = "the kind of an event was changed"
        statement = f"event {first} has the SHA-256 of the kinds of the {counted(len(old), 'event')} before it"
        yield compared(statement, bodies[first]["kinds"] == kinds_digest(old), differs)
    elif old:
        how = "an earlier copy shows" if not first else f"an earlier copy, or --texts {LOG_TEXTS}, shows"
        yield Verified(
            f"the heads of {counted(len(old), 'event')} have version 1 and do not cover kinds: {how} whether one was "
            "changed",
            kind="note",
        )
    for line in lines:
        if line.kind == "restored":
            yield Verified(_restored(line, bodies.get(line.index)), kind="note")


def _restored(line: LogLine, body: Mapping[str, Any] | None) -> str:
    """What is known of a backup that was restored."""
    what = f"--texts {LOG_TEXTS} says which events were lost"
    if body is not None:
        what = f"{events_between(body['from'] + 1, body['to'])} lost"
        if body["from"] == body["to"]:
            what = "no event of this log was lost, but receipts of the epoch before may be void"
    return f"a backup was restored at event {line.index}, with which epoch {line.epoch} begins: {what}"


def events_between(first: int, last: int) -> str:
    """The indexes of lost events, with a verb."""
    return f"event {first} is" if first == last else f"the events {first} to {last} are"


def lost_events(lines: Sequence[LogLine], bodies: Mapping[int, Mapping[str, Any]]) -> dict[int, LogLine]:
    """By the indexes of the events that were lost: the line of the event `restored` that says so."""
    return {
        index: line
        for line in lines
        if line.kind == "restored" and line.index in bodies
        for index in range(bodies[line.index]["from"] + 1, bodies[line.index]["to"] + 1)
    }


def until_end(statement: str, index: int, lines: Sequence[LogLine], differs: str = "") -> Verified:
    """A statement about an event, and how a log differs; if it does not have the event yet, a later one may agree."""
    if differs or index <= len(lines):
        return Verified(statement, differs)
    ends = f"the log ends with event {len(lines)}, and was published before event {index}"
    return Verified(statement, f"{ends}: download it again later, after a freeze when it is over", "later")
