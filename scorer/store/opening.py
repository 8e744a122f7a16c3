"""The opening of a commitment: the text whose SHA-256 is published before the start, and which is published at the end.

Its salt keeps a small solution secret: without it, nobody can confirm a guess. The salt follows from a secret and from
the rest of the text, so that the same challenge has the same opening, and another one has another salt.

    opening    = "scorer-commitment-v1" || newline || content as JSON
    salt       = HMAC-SHA256(secret, content without its salt, as JSON)
    commitment = SHA-256(opening)
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from scorer.store.canonical import encoded

PREFIX = "scorer-commitment-v1\n"


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
