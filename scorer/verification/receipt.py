"""Verifies the receipt of an entry: its signature, its event, and its place in the log."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from scorer.errors import ScorerError
from scorer.paths import digest
from scorer.store.log import leaf_of
from scorer.store.secret import is_signed, key_of_pem
from scorer.verification.log import read_log, too_short
from scorer.verification.statement import VERSION, Verified, read_bytes
from scorer.wording import printable, quoted, utc_moment

TEXTS = {
    "challenge": re.compile(r"(?s).+"),
    "track": re.compile(r"[a-z0-9][a-z0-9-]*"),
    "team": re.compile(r"(?s).+"),
    "file": re.compile(r"(?s).+"),
    "digest": re.compile(r"[0-9a-f]{64}"),
    "received": re.compile(r"[0-9T:.+-]+"),
    "event": re.compile(r"\{[ -~]*\}"),
    "nonce": re.compile(r"[0-9a-f]{32}"),
    "leaf": re.compile(r"[0-9a-f]{64}"),
    "head": re.compile(r"[0-9a-f]{64}"),
}
"""The texts of a receipt and their forms."""

OF_BODY = ("team", "file", "digest", "received")
"""What the receipt repeats from the body of its event."""


def verified_receipt(path: Path, key: Path, log: Path | None = None, file: Path | None = None) -> Iterator[Verified]:
    """Verify the receipt of an entry with the file receipts.pem of the site.

    Yields each statement of the receipt. Without log.jsonl of the site, its place in the log is not verified; without
    the submission, the file is not compared. Raises ScorerError if a file cannot be read, or is not such a document.
    """
    public = read_key(key)
    message, line_end, signed = read_bytes(path).partition(b"\n")
    message += line_end
    yield Verified("the receipt is signed by the key", _forged(public, message, signed))
    fields = _fields(path, message)
    event = fields["event"].encode("ascii")
    leaf = leaf_of(bytes.fromhex(fields["nonce"]), event).hex()
    differs = "" if leaf == fields["leaf"] else f"the leaf of the event is {leaf}, not {fields['leaf']}"
    yield Verified("the receipt has the leaf of its event", differs)
    yield Verified("the event says what the receipt says", _difference(fields))
    if log is not None:
        statement = f"the log has this leaf and this head at event {fields['index']}"
        yield Verified(statement, _not_in_log(fields, log))
    if file is not None:
        found = _digest(file)
        differs = "" if found == fields["digest"] else f"its SHA-256 is {found}, that of the entry {fields['digest']}"
        yield Verified("the file is the one that was received", differs)
    yield Verified(_summary(fields), is_note=True)


def _summary(fields: Mapping[str, Any]) -> str:
    """What the receipt is about, for people."""
    received = fields["received"]
    with suppress(ValueError):
        received = utc_moment(datetime.fromisoformat(received))
    phase = f"in the phase {printable(fields['phase'])}" if isinstance(fields.get("phase"), str) else "in no phase"
    return f"{printable(fields['team'])} handed in {printable(fields['file'])}, received {received}, {phase}"


def read_key(path: Path) -> bytes:
    """The public key in a file. Raises ScorerError if it is another file."""
    try:
        return key_of_pem(read_bytes(path))
    except ValueError as error:
        raise ScorerError(f"{path}: {error}; download receipts.pem again") from error


def _forged(public: bytes, message: bytes, signed: bytes) -> str:
    text = signed.removesuffix(b"\n")
    try:
        decoded = base64.b64decode(text, validate=True)
    except binascii.Error:
        decoded = b""
    # Several texts decode to the same bytes; only one of them is the receipt.
    is_genuine = base64.b64encode(decoded) == text and is_signed(public, message, decoded)
    return "" if is_genuine else "the signature is wrong; the receipt was changed, or it was signed by another key"


def _fields(path: Path, message: bytes) -> Mapping[str, Any]:
    """What the receipt says. Raises ScorerError if it is another document."""
    try:
        fields = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise ScorerError(f"{path}: expected a receipt: a line of JSON, then a line with the signature") from error
    if not isinstance(fields, dict) or fields.get("version") != VERSION:
        raise ScorerError(f"{path}: expected a receipt of version {VERSION}; use the scorer that wrote it")
    for name, form in TEXTS.items():
        if not isinstance(fields.get(name), str) or not form.fullmatch(fields[name]):
            raise ScorerError(f"{path}: {name}: expected a text of the form {form.pattern}; is this a receipt?")
    if type(fields.get("index")) is not int or fields["index"] < 1:
        raise ScorerError(f"{path}: index: expected a whole number from 1; is this a receipt?")
    return fields


def _difference(fields: Mapping[str, Any]) -> str:
    """What the event says differently; empty if it says the same."""
    try:
        event = json.loads(fields["event"])
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("body"), dict):
        return "the event is no JSON object with a body"
    said = {name: event["body"].get(name) for name in OF_BODY}
    said |= {"index": event.get("index"), "track": event.get("track"), "kind": event.get("kind")}
    wanted = {**{name: fields[name] for name in ("index", "track", *OF_BODY)}, "kind": "arrival"}
    return "; ".join(
        f"{name}: the event has {quoted(str(said[name]))}, expected {quoted(str(value))}"
        for name, value in wanted.items()
        if said[name] != value
    )


def _not_in_log(fields: Mapping[str, Any], log: Path) -> str:
    """What the log has at the index of the receipt instead; empty if it has the same."""
    lines, index = read_log(log), fields["index"]
    if index > len(lines):
        return too_short(len(lines))
    line = lines[index - 1]
    found = {"index": line.index, "kind": line.kind, "leaf": line.leaf.hex(), "head": line.head.hex()}
    wanted = {"index": index, "kind": "arrival", "leaf": fields["leaf"], "head": fields["head"]}
    differing = [f"{name} {found[name]} instead of {value}" for name, value in wanted.items() if found[name] != value]
    return f"found {', '.join(differing)}" if differing else ""


def _digest(file: Path) -> str:
    try:
        return digest(file)
    except OSError as error:
        raise ScorerError(f"{file}: cannot be read: {error.strerror}; name the file that was submitted") from error
