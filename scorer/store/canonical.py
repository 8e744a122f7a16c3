"""Texts that are hashed: equal values give equal text, in any process and on any machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

RESOLUTION = timedelta(microseconds=1)
"""Of the times in the record."""


def iso(moment: datetime) -> str:
    """A time as text, in UTC and with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def encoded(body: Mapping[str, Any]) -> str:
    """An object as JSON in ASCII with sorted keys and without spaces."""
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
