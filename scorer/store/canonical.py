"""Texts for the database and for hashes: equal values give equal text, in any process and on any machine.

Names of files and teams are bytes, decoded with surrogateescape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from scorer.wording import printable

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
