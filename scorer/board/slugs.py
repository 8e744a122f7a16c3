"""Names of teams as parts of paths and URLs."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from scorer.challenge.settings import RESERVED

_SLUG_LENGTH = 60
_DIGEST_LENGTH = 16
"""64 bits, so that nobody can search for a name that has the slug of another team."""
_PLAIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_WITH_DIGEST = re.compile(rf"(.*-)?[0-9a-f]{{{_DIGEST_LENGTH}}}")


def slug(name: str) -> str:
    """The name of a team for paths and URLs: a-z, 0-9 and single hyphens, 1 to 60 characters.

    `name` is any text, also with the lone surrogates of a file name that is not UTF-8. A name of this form stays as it
    is, unless it is reserved or ends like a generated slug. The slug of any other name ends with part of its SHA-256:
    no two names share a slug, and a slug does not depend on the other teams.
    """
    if (
        len(name) <= _SLUG_LENGTH
        and _PLAIN.fullmatch(name)
        and name not in RESERVED
        and not _WITH_DIGEST.fullmatch(name)
    ):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    stem = re.sub("[^a-z0-9]+", "-", letters)[: _SLUG_LENGTH - _DIGEST_LENGTH - 1].strip("-")
    return f"{stem}-{digest}" if stem else digest
