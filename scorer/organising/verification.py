"""Checks of published documents, which anybody can repeat: they need neither the challenge nor its database."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from pathlib import Path
from typing import Any

from scorer.challenge.splits import SHA256, QuerySplit, share
from scorer.errors import ScorerError
from scorer.wording import counted, quoted

VERSION = 1
"""Of the documents that can be verified."""

TRACK = re.compile(r"[a-z0-9][a-z0-9-]*")
"""The name of a track."""

LISTED = 5
"""Queries that a line lists at most."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A statement of a document, and what contradicts it."""

    statement: str
    contradiction: str = ""
    """Empty if the statement is true."""


def verified_split(path: Path, key_sha256: str | None = None) -> Iterator[Verified]:
    """Verify which queries of a track are preliminary, from the revealed key.

    Parameters
    ----------
    path
        The file split.json of the track.
    key_sha256
        The SHA-256 of the key in an earlier copy of the file; None: only that of the file is compared.

    Yields
    ------
    Each statement of the file.

    Raises
    ------
    ScorerError
        The file is not such a document.
    """
    document = _document(path)
    published = _text(path, document, "key_sha256", SHA256)
    if key_sha256 is not None:
        differs = "" if key_sha256 == published else f"the file has {published}, the earlier copy {key_sha256}"
        yield Verified("the SHA-256 of the key is that of the earlier copy", differs)
    if "key" not in document:
        yield Verified("the key is revealed", "not revealed yet; the organiser publishes it after the challenge")
        return
    split = QuerySplit(
        track=_text(path, document, "track", TRACK),
        preliminary=_share(path, document),
        key=bytes.fromhex(_text(path, document, "key", SHA256)),
    )
    differs = "" if split.key_sha256 == published else f"its SHA-256 is {split.key_sha256}, not {published}"
    yield Verified("the key has the published SHA-256", differs)
    queries = document.get("queries")
    if not isinstance(queries, dict):
        raise _invalid(path, "queries", "an object with the lists preliminary and rest")
    preliminary, rest = (_ids(path, queries, side) for side in ("preliminary", "rest"))
    left_out = [not selected for selected in split.flags(preliminary)]
    statement = f"the key selects the {counted(len(preliminary), 'preliminary query', 'preliminary queries')}"
    yield Verified(statement, _listed("does not select", compress(preliminary, left_out)))
    statement = f"the key selects none of the {counted(len(rest), 'other query', 'other queries')}"
    yield Verified(statement, _listed("selects", compress(rest, split.flags(rest))))
    counts = Counter(preliminary + rest)
    yield Verified("no query is listed twice", _listed("twice:", (query for query in counts if counts[query] > 1)))


def _document(path: Path) -> Mapping[str, Any]:
    """The JSON object in a file, of a version that can be verified."""
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ScorerError(f"{path}: cannot be read: {error.strerror}; name a file that was downloaded") from error
    except (ValueError, RecursionError) as error:
        raise ScorerError(f"{path}: not JSON: {error}; download the file again") from error
    if not isinstance(document, dict):
        raise ScorerError(f"{path}: expected a JSON object; download the file again")
    if document.get("version") != VERSION:
        found = quoted(str(document.get("version")))
        raise ScorerError(f"{path}: found version {found}, expected {VERSION}; use the scorer that wrote the file")
    return document


def _text(path: Path, document: Mapping[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _invalid(path, key, f"a text of the form {pattern.pattern}")
    return value


def _share(path: Path, document: Mapping[str, Any]) -> Decimal:
    try:
        return share(document.get("preliminary"))
    except ValueError as error:
        raise _invalid(path, "preliminary", 'a decimal between 0 and 1 as text, as in "0.2"') from error


def _ids(path: Path, queries: Mapping[str, Any], side: str) -> list[str]:
    ids = queries.get(side)
    if not isinstance(ids, list) or not all(isinstance(query, str) for query in ids):
        raise _invalid(path, f"queries.{side}", "a list of ids, as texts")
    return ids


def _invalid(path: Path, key: str, expected: str) -> ScorerError:
    return ScorerError(f"{path}: {key}: expected {expected}; download the file again")


def _listed(verb: str, queries: Iterable[str]) -> str:
    """The first queries in a sentence, and how many more there are; empty without a query."""
    wrong = list(queries)
    if not wrong:
        return ""
    more = f" and {len(wrong) - LISTED:,} more" if len(wrong) > LISTED else ""
    return f"{verb} {', '.join(map(quoted, wrong[:LISTED]))}{more}"
