"""The log: a chain of hashes over the record, which shows that no event was changed, dropped or added later.

Each event has a leaf, and each leaf a head, which depends on all leaves until then. Whoever has the head of an event
can check that the record until this event is still the same. The nonce of an event keeps its text secret: without the
nonce, nobody can confirm a guessed text. Nonces follow from a secret key, so that the log of a record is always the
same.

    nonce = HMAC-SHA256(key, index || text)[:16]        index: 8 bytes, big-endian
    leaf  = SHA-256(0x00 || nonce || text)
    head  = SHA-256(0x01 || head of the event before || leaf)
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from scorer.store.canonical import encoded, iso

if TYPE_CHECKING:
    from scorer.store.events import Event

Kind = Literal[
    "arrival",
    "withdrawal",
    "return",
    "amendment",
    "forgetting",
    "basis",
    "phases",
    "extension",
    "pick",
    "team",
    "erratum",
    "commitment",
    "reveal",
    "token",
]
"""The kinds of events."""

KINDS: frozenset[str] = frozenset(get_args(Kind))

START = bytes(32)
"""The head before the first event."""

NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class LogLine:
    """What is public about an event."""

    index: int
    kind: str
    leaf: bytes
    head: bytes

    @property
    def text(self) -> str:
        """The line as it is published, without its end. `scorer.verification.log` accepts no other form."""
        return f'{{"index":{self.index},"kind":"{self.kind}","leaf":"{self.leaf.hex()}","head":"{self.head.hex()}"}}'


def event_text(event: Event) -> bytes:
    """The text of an event for its leaf: JSON in ASCII with sorted keys and without spaces."""
    at = None if event.at is None else iso(event.at)
    return text_of_fields(event.index, event.track, event.kind, at, event.body)


def text_of_fields(index: int, track: str, kind: str, at: str | None, body: Mapping[str, Any]) -> bytes:
    """The text of an event for its leaf, from its fields; `at` is as `iso` returns it."""
    fields = {"at": at, "body": body, "index": index, "kind": kind, "track": track}
    return encoded(fields).encode("ascii")


def nonce_of(key: bytes, index: int, text: bytes) -> bytes:
    """The nonce of an event, given its text."""
    return hmac.digest(key, index.to_bytes(8, "big") + text, "sha256")[:NONCE_BYTES]


def leaf_of(nonce: bytes, text: bytes) -> bytes:
    """The leaf of an event."""
    return hashlib.sha256(b"\x00" + nonce + text).digest()


def head_of(before: bytes, leaf: bytes) -> bytes:
    """The head of an event, given the head of the event before and the leaf."""
    return hashlib.sha256(b"\x01" + before + leaf).digest()


def log_lines(key: bytes, events: Iterable[Event], head: bytes = START) -> Iterator[LogLine]:
    """The log of events without a gap, which follow the event with this head."""
    return chained(key, ((event.index, event.kind, event_text(event)) for event in events), head)


def chained(key: bytes, texts: Iterable[tuple[int, str, bytes]], head: bytes = START) -> Iterator[LogLine]:
    """The log of events, given the index, the kind and the text of each, and the head of the event before."""
    for index, kind, text in texts:
        leaf = leaf_of(nonce_of(key, index, text), text)
        head = head_of(head, leaf)
        yield LogLine(index, kind, leaf, head)
