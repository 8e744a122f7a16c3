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
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from scorer.wording import printable

RESOLUTION = timedelta(microseconds=1)
"""Of the times in the record."""

_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4}|[tnr])")


def iso(moment: datetime) -> str:
    """A time as text, in UTC and with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def encoded(body: Mapping[str, Any]) -> str:
    """An object as JSON in ASCII with sorted keys and without spaces.

    For ASCII and whole numbers below 2^53, these are the bytes of RFC 8785. They stay others than those for U+007F and
    other characters, which are escaped, and for floats, which are as Python writes them: hashes depend on them.
    """
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)


def unescaped(name: str) -> str:
    """The name that `printable` escaped in schema 1. One that has such an escape sequence itself is changed, too."""

    def character(match: re.Match[str]) -> str:
        meant = match[0].encode("ascii").decode("unicode_escape")
        return meant if printable(meant) == match[0] else match[0]

    return _ESCAPE.sub(character, name)


Purpose = Literal["solutions", "snapshots", "log", "receipts", "commitment", "names", "deliveries", "invitations"]
"""What a secret is for: salted digests of solutions, names of snapshots, nonces of the log, the private key of
receipts, the salt of a commitment, pseudonyms, and what the record has in place of ids of deliveries and addresses."""

_PREFIX = "scorer-commitment-v1\n"


def secret_of(salt: str, purpose: Purpose) -> bytes:
    """A secret of 32 bytes for one purpose, from the salt of the database; publishing it tells nothing about others."""
    return hmac.digest(bytes.fromhex(salt), purpose.encode("ascii"), "sha256")


def head_statement(place: str, head: str, time: str, challenge: str) -> str:
    """What is signed about a head of the log, given the `place` of its event as a line has it."""
    epoch, _, index = place.rpartition(".")
    version = f"scorer-head-v2 {epoch}" if epoch else "scorer-head-v1"
    return f"{version} {index}:{head} {time} {challenge}\n"


# Commitments


def opening_of(secret: bytes, content: Mapping[str, Any]) -> str:
    """The opening of a commitment, in ASCII, given its content without the salt."""
    salt = hmac.digest(secret, encoded(content).encode("ascii"), "sha256").hex()
    return _PREFIX + encoded({**content, "salt": salt})


def sha256_of(opening: str) -> str:
    """The commitment, in hexadecimal."""
    return hashlib.sha256(opening.encode("ascii")).hexdigest()


def opened_content(opening: str) -> Mapping[str, Any]:
    """The content of an opening. Raises ValueError if the text is no opening."""
    if not opening.startswith(_PREFIX):
        raise ValueError(f"does not begin with the line {_PREFIX.strip()}")
    content = json.loads(opening.removeprefix(_PREFIX))
    if not isinstance(content, dict):
        raise ValueError("is no JSON object")  # noqa: TRY004  as for other texts that are no opening
    return content


OfEntries = Literal["arrival", "withdrawal", "return", "amendment", "forgetting", "metadata"]
Kind1 = Literal[OfEntries, "basis", "phases", "extension", "pick", "team", "erratum", "commitment", "reveal", "token"]
"""The kinds of events of version 1: those about an entry, and the others."""

EventKind = Literal[Kind1, "preview", "cancellation", "log", "restored", "lost"]
"""The kinds of events. The last three are about the record: from here on, its log has version 2; a backup was restored;
and an event that is lost since then, whose kind and leaf the log still has."""

LOST: EventKind = "lost"

EVENT_KINDS: Mapping[int, frozenset[str]] = {1: frozenset(get_args(Kind1)), 2: frozenset(get_args(EventKind)) - {LOST}}
"""The kinds that lines of the log have, by the version of the line."""

UNPUBLISHED: Mapping[int, frozenset[str]] = {
    1: frozenset({"token", "erratum"}),
    2: frozenset({"token", "preview", "cancellation"}),
}
"""The kinds of events whose texts may stay secret, by the version of the line. In version 1, an erratum that was
previewed or cancelled has the kind of one that was applied."""

ABOUT_RECORD: tuple[EventKind, ...] = ("log", "restored")
"""The kinds of events about the record whose texts the site has."""

LOG, LOG_TEXTS = "log.jsonl", "log-texts.jsonl"
"""The files of the site with the log, and with these texts."""

LOG_VERSION = 2
"""Of the lines that are written."""

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
    version: int = 1
    epoch: int = 1
    """From 1. An event of the kind `restored` begins the next one. Lines of version 1 are in the first one."""

    @property
    def text(self) -> str:
        """The line as it is published, without its end. `scorer.verification.log` accepts no other form."""
        return f'{self._before_head},"head":"{self.head.hex()}"}}'

    @property
    def _before_head(self) -> str:
        version = "" if self.version == 1 else f'"version":{self.version},"epoch":{self.epoch},'
        return f'{{{version}"index":{self.index},"kind":"{self.kind}","leaf":"{self.leaf.hex()}"'

    @property
    def place(self) -> str:
        """The index, after the epoch and a dot since version 2."""
        return str(self.index) if self.version == 1 else f"{self.epoch}.{self.index}"

    def head_after(self, before: bytes) -> bytes:
        """The head that follows from that of the event before and the leaf, since version 2 from the whole line."""
        if self.version == 1:
            return hashlib.sha256(b"\x01" + before + self.leaf).digest()
        return hashlib.sha256(b"\x02" + before + f"{self._before_head}}}".encode("ascii")).digest()


def text_of_fields(index: int, track: str, kind: str, at: str | None, body: str) -> bytes:
    """The text of an event for its leaf, from its fields; `at` is as `iso` returns it, `body` as `encoded` does."""
    before, _, after = encoded({"at": at, "body": 0, "index": index, "kind": kind, "track": track}).partition(
        '"body":0'
    )
    return f'{before}"body":{body}{after}'.encode("ascii")


def nonce_of(key: bytes, index: int, text: bytes) -> bytes:
    """The nonce of an event, given its text."""
    return hmac.digest(key, index.to_bytes(8, "big") + text, "sha256")[:NONCE_BYTES]


def leaf_of(nonce: bytes, text: bytes) -> bytes:
    """The leaf of an event."""
    return hashlib.sha256(b"\x00" + nonce + text).digest()


def public_kind(kind: str, body: str) -> str:
    """The kind of an event in the log, given that in the record: of a lost one, that of before."""
    return str(json.loads(body)["kind"]) if kind == LOST else kind


def kinds_digest(kinds: Iterable[str]) -> str:
    """The SHA-256 of the kinds of events, in hexadecimal, which an event of the kind `log` has."""
    return sha256_of("".join(f"{kind}\n" for kind in kinds))


Fields = tuple[int, str, str, str | None, str, int | None]
"""Of an event: index, track, kind, time, body as `encoded` returns it, and version of the log; None is version 1."""


def chained(key: bytes, events: Iterable[Fields], before: LogLine | None = None) -> Iterator[LogLine]:
    """The log of events, given the fields of each, and the line before."""
    head, epoch = (before.head, before.epoch) if before is not None else (START, 1)
    for index, track, kind, at, body, version in events:
        text = text_of_fields(index, track, kind, at, body)
        leaf = bytes.fromhex(json.loads(body)["leaf"]) if kind == LOST else leaf_of(nonce_of(key, index, text), text)
        epoch += public_kind(kind, body) == "restored"
        line = LogLine(index, public_kind(kind, body), leaf, b"", version or 1, epoch)
        head = line.head_after(head)
        yield replace(line, head=head)
