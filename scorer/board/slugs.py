"""Teams' names as paths and addresses take them."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from scorer.challenge.settings import RESERVED

# Slugs

_SLUG_LENGTH = 60
_MARK_LENGTH = 12
_OWN_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_MARKED = re.compile(rf"(.*-)?[0-9a-f]{{{_MARK_LENGTH}}}")


def slug(name: str) -> str:
    """A team's name as a path and an address take it: a-z, 0-9 and single hyphens, 1 to 60 characters.

    A name that is one already stays as it is, unless it is reserved or ends as the others do. Any other gets a mark
    from its SHA-256, so that no two names share a slug and none depends on which other teams there are.
    """
    if len(name) <= _SLUG_LENGTH and _OWN_SLUG.fullmatch(name) and name not in RESERVED and not _MARKED.fullmatch(name):
        return name
    mark = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:_MARK_LENGTH]
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii").lower()
    stem = re.sub("[^a-z0-9]+", "-", letters)[: _SLUG_LENGTH - _MARK_LENGTH - 1].strip("-")
    return f"{stem}-{mark}" if stem else mark
