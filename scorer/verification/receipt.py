"""Verifies the receipt of an entry, its signature, its event and its place in the log; and which queries are
preliminary.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from itertools import compress
from pathlib import Path
from typing import Any

from scorer.errors import ScorerError
from scorer.files import digest
from scorer.settings.rules import SHA256, QuerySplit, share, share_text
from scorer.store.documents import OF_BODY, Receipt
from scorer.store.log import is_signed, key_of_pem, leaf_of
from scorer.verification.log import (
    VERSION,
    Verified,
    invalid,
    listed,
    read_bytes,
    read_document,
    read_log,
    text_of,
    too_short,
)
from scorer.wording import counted, printable, quoted, utc_moment

TRACK = re.compile(r"[a-z0-9][a-z0-9-]*")
"""The name of a track."""


def verified_split(
    path: Path, key_sha256: str | None = None, earlier: Path | None = None, queries: Sequence[str] | None = None
) -> Iterator[Verified]:
    """Verify which queries of a track are preliminary, from the revealed key in its file split.json.

    Yields each statement of the file. It is compared with an `earlier` copy, or with `key_sha256`, the SHA-256 of the
    key in one, and with `queries`, the ids of all queries of the solution; None is not compared. Raises ScorerError if
    a file is not such a document.
    """
    document = read_document(path)
    published = text_of(path, document, "key_sha256", SHA256)
    if key_sha256 is not None:
        differs = "" if key_sha256 == published else f"the file has {published}, the earlier copy {key_sha256}"
        yield Verified("the SHA-256 of the key is that of the earlier copy", differs)
    if earlier is not None:
        copy = read_document(earlier)
        changed = (key for key in ("track", "preliminary", "key_sha256") if document.get(key) != copy.get(key))
        yield Verified("track, share and SHA-256 of the key are those of the earlier copy", listed("changed:", changed))
    if "key" not in document:
        yield Verified("the key is revealed", "not revealed yet; the organiser publishes it after the challenge")
        return
    split = QuerySplit(
        track=text_of(path, document, "track", TRACK),
        preliminary=_share(path, document),
        key=bytes.fromhex(text_of(path, document, "key", SHA256)),
    )
    differs = "" if split.key_sha256 == published else f"its SHA-256 is {split.key_sha256}, not {published}"
    yield Verified("the key has the published SHA-256", differs)
    lists = document.get("queries")
    if not isinstance(lists, dict):
        raise invalid(path, "queries", "an object with the lists preliminary and rest")
    preliminary, rest = (_ids(path, lists, side) for side in ("preliminary", "rest"))
    left_out = [not selected for selected in split.flags(preliminary)]
    count = counted(len(preliminary), "preliminary query", "preliminary queries")
    statement = f"with the share {share_text(split.preliminary)}, the key selects the {count}"
    yield Verified(statement, listed("does not select", compress(preliminary, left_out)))
    statement = f"the key selects none of the {counted(len(rest), 'other query', 'other queries')}"
    yield Verified(statement, listed("selects", compress(rest, split.flags(rest))))
    counts = Counter(preliminary + rest)
    yield Verified("no query is listed twice", listed("twice:", (query for query in counts if counts[query] > 1)))
    if earlier is None:
        yield Verified("the share was not compared with an earlier copy, nor with the commitment", is_note=True)
    if queries is None:
        yield Verified("the lists were not compared with all queries of the solution", is_note=True)
    else:
        lacking, added = (sorted(some) for some in (set(queries) - counts.keys(), counts.keys() - set(queries)))
        found = filter(None, (listed("lacks", lacking), listed("adds", added)))
        yield Verified(
            f"the lists have the {counted(len(queries), 'query', 'queries')}, and no other", "; ".join(found)
        )


def _share(path: Path, document: Mapping[str, Any]) -> Decimal:
    try:
        return share(document.get("preliminary"))
    except ValueError as error:
        raise invalid(path, "preliminary", 'a decimal between 0 and 1 as text, as in "0.2"') from error


def _ids(path: Path, queries: Mapping[str, Any], side: str) -> list[str]:
    ids = queries.get(side)
    if not isinstance(ids, list) or not all(isinstance(query, str) for query in ids):
        raise invalid(path, f"queries.{side}", "a list of ids, as texts")
    return ids


def verified_receipt(path: Path, key: Path, log: Path | None = None, file: Path | None = None) -> Iterator[Verified]:
    """Verify the receipt of an entry with the file receipts.pem of the site.

    Yields each statement of the receipt. Without log.jsonl of the site, its place in the log is not verified; without
    the submission, the file is not compared. Raises ScorerError if a file cannot be read, or is not such a document.
    """
    public = read_key(key)
    message, line_end, signed = read_bytes(path).partition(b"\n")
    message += line_end
    yield Verified("the receipt is signed by the key", _forged(public, message, signed))
    receipt = _read(path, message)
    event = receipt.event.encode("ascii")
    leaf = leaf_of(bytes.fromhex(receipt.nonce), event).hex()
    differs = "" if leaf == receipt.leaf else f"the leaf of the event is {leaf}, not {receipt.leaf}"
    yield Verified("the receipt has the leaf of its event", differs)
    yield Verified("the event says what the receipt says", _difference(receipt))
    if log is not None:
        statement = f"the log has this leaf and this head at event {receipt.index}"
        yield Verified(statement, _not_in_log(receipt, log))
    if file is not None:
        found = _digest(file)
        differs = "" if found == receipt.digest else f"its SHA-256 is {found}, that of the entry {receipt.digest}"
        yield Verified("the file is the one that was received", differs)
    yield Verified(_summary(receipt), is_note=True)


def _summary(receipt: Receipt) -> str:
    """What the receipt is about, for people."""
    received = receipt.received
    with suppress(ValueError):
        received = utc_moment(datetime.fromisoformat(received))
    phase = f"in the phase {printable(receipt.phase)}" if receipt.phase is not None else "in no phase"
    return f"{printable(receipt.team)} handed in {printable(receipt.file)}, received {received}, {phase}"


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


def _read(path: Path, message: bytes) -> Receipt:
    """What the receipt says. Raises ScorerError if it is another document."""
    try:
        values = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise ScorerError(f"{path}: expected a receipt: a line of JSON, then a line with the signature") from error
    if not isinstance(values, dict) or values.get("version") != VERSION:
        raise ScorerError(f"{path}: expected a receipt of version {VERSION}; use the scorer that wrote it")
    return Receipt.read(path, values, "is this a receipt?")


def _difference(receipt: Receipt) -> str:
    """What the event says differently; empty if it says the same."""
    try:
        event = json.loads(receipt.event)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict) or not isinstance(event.get("body"), dict):
        return "the event is no JSON object with a body"
    said = {name: event.get(name) for name in ("index", "track", "kind")}
    said |= {name: event["body"].get(name) for name in OF_BODY}
    wanted = {"index": receipt.index, "track": receipt.track, "kind": "arrival"}
    wanted |= receipt.model_dump(include=set(OF_BODY))
    return "; ".join(
        f"{name}: the event has {quoted(str(said[name]))}, expected {quoted(str(value))}"
        for name, value in wanted.items()
        if said[name] != value
    )


def _not_in_log(receipt: Receipt, log: Path) -> str:
    """What the log has at the index of the receipt instead; empty if it has the same."""
    lines, index = read_log(log), receipt.index
    if index > len(lines):
        return too_short(len(lines))
    line = lines[index - 1]
    found = {"index": line.index, "kind": line.kind, "leaf": line.leaf.hex(), "head": line.head.hex()}
    wanted = {"index": index, "kind": "arrival", "leaf": receipt.leaf, "head": receipt.head}
    differing = [f"{name} {found[name]} instead of {value}" for name, value in wanted.items() if found[name] != value]
    return f"found {', '.join(differing)}" if differing else ""


def _digest(file: Path) -> str:
    try:
        return digest(file)
    except OSError as error:
        raise ScorerError(f"{file}: cannot be read: {error.strerror}; name the file that was submitted") from error
