"""Names of files and teams in the database. Names are bytes, decoded with surrogateescape."""

from __future__ import annotations

import json
import re

from scorer.wording import printable

_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4}|[tnr])")


def encoded_name(name: str) -> str:
    """A name as JSON in ASCII: different names give different text, which every database accepts."""
    return json.dumps(name)


def decoded_name(text: str) -> str:
    """The name that `encoded_name` encoded."""
    return str(json.loads(text))


def unescaped(name: str) -> str:
    """The name that `printable` escaped.

    Schema 1 recorded names so. A name that has such an escape sequence itself is changed, too.
    """

    def character(match: re.Match[str]) -> str:
        found = match[0].encode("ascii").decode("unicode_escape")
        return found if printable(found) == match[0] else match[0]

    return _ESCAPE.sub(character, name)
