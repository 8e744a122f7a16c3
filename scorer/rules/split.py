"""Splits: which queries of a track enter the preliminary scores, by a secret key."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer

from scorer.errors import ChallengeError, os_errors_as
from scorer.lists import cluster_by
from scorer.record.events import SHA256
from scorer.rules.tables import PathText, SettingsTable, valid
from scorer.wording import counted

KEY_FILE = "split.key"
"""The key file of a track that names no other one, in the folder of the challenge."""

_DECIMALS = 18
"""Decimals of the preliminary share at most: shares that differ by less than 2^-64 select the same queries."""

_KEY = re.compile(rb"([0-9A-Fa-f]{64})\r?\n?")


def share(value: object) -> Decimal:
    """The preliminary share: a decimal number between 0 and 1 without trailing zeros, never rounded.

    The value is a number of challenge.toml, or the text of the decimal, as in ``0.2``. Raises ValueError if it is
    anything else, also for a float, which is no exact decimal.
    """
    if isinstance(value, str) and re.fullmatch(r"0\.[0-9]+", value):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite() or not 0 < value < 1:
        raise ValueError("is not a number between 0 and 1")
    # The first condition comes first because the text of 1e-999999999 would not fit into memory.
    if value.adjusted() < -_DECIMALS or len(share_text(value)) > len("0.") + _DECIMALS:
        raise ValueError(f"has more than {_DECIMALS} decimals")
    return Decimal(share_text(value))


def share_text(value: Decimal) -> str:
    """The share as text, without an exponent: ``0.2``."""
    return format(value, "f").rstrip("0")


Share = Annotated[Decimal, BeforeValidator(share), PlainSerializer(share_text, when_used="json")]


class KeySplit(SettingsTable):
    """The table `split` of a track."""

    always_recorded: ClassVar = frozenset({"key_file", "key_sha256"})

    preliminary: Share = Field(description="a number between 0 and 1, as in 0.2")
    key_file: PathText = Field(KEY_FILE, description="the path of a file")
    key_sha256: Annotated[str, valid(lambda text: not text or SHA256.fullmatch(text), "is not a SHA-256")] = Field(
        "", description="the SHA-256 of the key, as `scorer split` prints it"
    )


@dataclass(frozen=True, slots=True)
class QuerySplit:
    """Decides which queries of a track enter the preliminary scores.

    A query does if the HMAC-SHA256 of track and query with the key, as a number from 0 to 1, is below the share. So
    each query is decided separately: a query that is dropped moves no other one. Those of a cluster stay together.
    """

    track: str
    preliminary: Decimal
    """The share; between 0 and 1."""
    key: bytes = field(repr=False)
    """32 secret bytes."""
    clusters: str = ""
    """The pattern of the clusters, which are selected in the place of queries; empty without clusters."""

    @property
    def key_sha256(self) -> str:
        """The SHA-256 of the key, in hexadecimal, which is public."""
        return hashlib.sha256(self.key).hexdigest()

    @property
    def threshold(self) -> int:
        """The share of 2^64, rounded down. No floating-point number is involved."""
        numerator, denominator = self.preliminary.as_integer_ratio()
        return (numerator << 64) // denominator

    def flags(self, queries: Iterable[str]) -> list[bool]:
        """For each query, whether it enters the preliminary scores."""
        prefix, threshold = self.track.encode() + b"\0", self.threshold
        # JSON can have lone surrogates in ids; surrogatepass keeps different ids different.
        units = (cluster_by(self.clusters, query) if self.clusters else query for query in queries)
        messages = (prefix + unit.encode("utf-8", "surrogatepass") for unit in units)
        return [int.from_bytes(hmac.digest(self.key, message, "sha256")[:8], "big") < threshold for message in messages]


def read_split_key(path: Path) -> bytes:
    """The key in a key file, which messages never repeat. Raises ChallengeError if no key can be read."""
    try:
        with path.open("rb") as stream:
            content = stream.read(1_000)
    except FileNotFoundError:
        raise ChallengeError(
            f"{path}: there is no such file, and a split needs the key in it; restore it from a copy, or make a new "
            "key with `scorer split` if none was used before: another key selects other queries"
        ) from None
    except OSError as error:
        raise ChallengeError(f"{path}: cannot be read: {error.strerror}; make it readable") from error
    match = _KEY.fullmatch(content)
    if match is None:
        found = f"{counted(len(content), 'byte')} of something else" if content.strip() else "a blank file"
        raise ChallengeError(
            f"{path}: expected the key of a split, 64 hexadecimal digits and a newline; found {found}; restore it from "
            "a copy, or delete it and make a new key with `scorer split` if none was used before"
        )
    return bytes.fromhex(match[1].decode())


def make_key(path: Path) -> bytes:
    """Write a new random key into a new file that only its owner can read. Raises ChallengeError if there is one."""
    key = secrets.token_bytes(32)
    with os_errors_as(ChallengeError, f"{path}: cannot write the key of a split"):
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii")
        try:
            with stream:
                stream.write(f"{key.hex()}\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise
    return key


def exposure(path: Path) -> str | None:
    """What to do about a key file that other users of this machine can read; None if only its owner can."""
    try:
        # On Windows the mode does not say who can read a file.
        exposed = os.name == "posix" and path.stat().st_mode & 0o077
    except OSError:
        return None
    return f"{path}: other users can read the key of the split; run chmod 600 on it" if exposed else None


def check_split(track: str, flagged: int, selected: int, queries: int) -> None:
    """Raise ChallengeError if the solution flags queries too, or a split selects none or all of the `queries`."""
    key = f"tracks.{track}.split"
    if flagged:
        raise ChallengeError(
            f"{key}: decides which queries are preliminary, but the solution flags "
            f"{counted(flagged, 'query', 'queries')}, too; remove the flags from the solution, or remove split"
        )
    if selected in (0, queries):
        found = "no query" if selected == 0 else "every query"
        better = "larger" if selected == 0 else "smaller"
        raise ChallengeError(
            f"{key}: selects {found} of {queries:,} for the preliminary scores; choose a {better} share, or, before "
            "the challenge opens, delete the key file and make another key with `scorer split`"
        )
