"""Statements of published documents, and how documents are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.errors import ScorerError
from scorer.wording import quoted

VERSION = 1
"""Of the documents that can be verified."""

LISTED = 5
"""Names that a line lists at most."""


@dataclass(frozen=True, slots=True)
class Verified:
    """A statement of a document, and what contradicts it."""

    statement: str
    contradiction: str = ""
    """Empty if the statement is true."""
    is_note: bool = False
    """Whether the statement is not verified, but says what cannot be, or what the document is about."""


def read_bytes(path: Path) -> bytes:
    """The bytes of a published file. Raises ScorerError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ScorerError(f"{path}: cannot be read: {error.strerror}; name a file that was downloaded") from error


def read_document(path: Path) -> Mapping[str, Any]:
    """The JSON object in a file, of a version that can be verified. Raises ScorerError if it is another file."""
    try:
        document = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise ScorerError(f"{path}: not JSON: {error}; download the file again") from error
    if not isinstance(document, dict):
        raise ScorerError(f"{path}: expected a JSON object; download the file again")
    if document.get("version") != VERSION:
        found = quoted(str(document.get("version")))
        raise ScorerError(f"{path}: found version {found}, expected {VERSION}; use the scorer that wrote the file")
    return document


def text_of(path: Path, document: Mapping[str, Any], key: str, pattern: re.Pattern[str]) -> str:
    """The text of a key, of the form of a pattern. Raises ScorerError if it is not."""
    value = document.get(key)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise invalid(path, key, f"a text of the form {pattern.pattern}")
    return value


def invalid(path: Path, key: str, expected: str) -> ScorerError:
    """The error of a document whose key has another value than expected."""
    return ScorerError(f"{path}: {key}: expected {expected}; download the file again")


def listed(verb: str, names: Iterable[str]) -> str:
    """The first names in a sentence, and how many more there are; empty without a name."""
    wrong = list(names)
    if not wrong:
        return ""
    more = f" and {len(wrong) - LISTED:,} more" if len(wrong) > LISTED else ""
    return f"{verb} {', '.join(map(quoted, wrong[:LISTED]))}{more}"
