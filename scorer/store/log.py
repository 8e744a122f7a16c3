"""The log, a chain of hashes over the record, which shows that no event was changed, dropped or added later; and
secrets.

Equal values give equal text for hashes, in any process and on any machine. Secrets follow from the salt of the
database: the nonce of an event, which keeps its text secret, the key of receipts (Ed25519, RFC 8032), and the salt of a
commitment.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, get_args

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from scorer.wording import printable

if TYPE_CHECKING:
    from scorer.store.events import Event


RESOLUTION = timedelta(microseconds=1)
"""Of the times in the record."""

_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4}|[tnr])")


def iso(moment: datetime) -> str:
    """A time as text, in UTC and with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def encoded(body: Mapping[str, Any]) -> str:
    """An object as JSON in ASCII with sorted keys and without spaces."""
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)


def unescaped(name: str) -> str:
    """The name that `printable` escaped in schema 1. One that has such an escape sequence itself is changed, too."""

    def character(match: re.Match[str]) -> str:
        meant = match[0].encode("ascii").decode("unicode_escape")
        return meant if printable(meant) == match[0] else match[0]

    return _ESCAPE.sub(character, name)


Purpose = Literal["solutions", "snapshots", "log", "receipts", "commitment", "names", "deliveries"]
"""What a secret is for: salted digests of solutions, names of snapshots, nonces of the log, the private key of
receipts, the salt of a commitment, pseudonyms, and what the record has in place of ids of deliveries."""

PREFIX = "scorer-commitment-v1\n"


def secret_of(salt: str, purpose: Purpose) -> bytes:
    """A secret of 32 bytes for one purpose, from the salt of the database; publishing it tells nothing about others."""
    return hmac.digest(bytes.fromhex(salt), purpose.encode("ascii"), "sha256")


# Signatures


def public_key(secret: bytes) -> bytes:
    """The public key of a private key: 32 bytes."""
    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def public_pem(key: bytes) -> str:
    """A public key in PEM, as OpenSSL reads it."""
    public = Ed25519PublicKey.from_public_bytes(key)
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def key_of_pem(pem: bytes) -> bytes:
    """The public key in PEM. Raises ValueError if it is anything else than a public key of Ed25519."""
    try:
        public = load_pem_public_key(pem)
    except Exception as error:  # unsupported kinds of keys have several errors
        raise ValueError("is no public key in PEM") from error
    if not isinstance(public, Ed25519PublicKey):
        raise ValueError("is a public key of another kind than Ed25519")  # noqa: TRY004  the type is an input
    return public.public_bytes_raw()


def signature(secret: bytes, message: bytes) -> bytes:
    """The signature of a message: 64 bytes, always the same."""
    return Ed25519PrivateKey.from_private_bytes(secret).sign(message)


def is_signed(key: bytes, message: bytes, signed: bytes) -> bool:
    """Whether `signed` is the signature of a message by the private key of a public key."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signed, message)
    except InvalidSignature:
        return False
    return True


def head_statement(index: int, head: str, time: str, challenge: str) -> str:
    """What is signed about a head of the log."""
    return f"scorer-head-v1 {index}:{head} {time} {challenge}\n"


# Commitments


def opening_of(secret: bytes, content: Mapping[str, Any]) -> str:
    """The opening of a commitment, in ASCII, given its content without the salt."""
    salt = hmac.digest(secret, encoded(content).encode("ascii"), "sha256").hex()
    return PREFIX + encoded({**content, "salt": salt})


def sha256_of(opening: str) -> str:
    """The commitment, in hexadecimal."""
    return hashlib.sha256(opening.encode("ascii")).hexdigest()


def content_of(opening: str) -> Mapping[str, Any]:
    """The content of an opening. Raises ValueError if the text is no opening."""
    if not opening.startswith(PREFIX):
        raise ValueError(f"does not begin with the line {PREFIX.strip()}")
    content = json.loads(opening.removeprefix(PREFIX))
    if not isinstance(content, dict):
        raise ValueError("is no JSON object")  # noqa: TRY004  as for other texts that are no opening
    return content


OfEntries = Literal["arrival", "withdrawal", "return", "amendment", "forgetting", "metadata"]
Kind = Literal[OfEntries, "basis", "phases", "extension", "pick", "team", "erratum", "commitment", "reveal", "token"]
"""The kinds of events: those about an entry, and the others."""

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
