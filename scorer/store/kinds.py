"""The kinds of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Kind = Literal[
    "arrival",
    "withdrawal",
    "return",
    "amendment",
    "forgetting",
    "basis",
    "phases",
    "extension",
    "pick",
    "team",
    "erratum",
    "commitment",
    "reveal",
]

KINDS: frozenset[str] = frozenset(get_args(Kind))

ABOUT_SUBMISSIONS = frozenset({"withdrawal", "return", "amendment", "forgetting"})
"""The kinds of events that name a submission which has arrived before."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "arrival": ("team", "file", "digest", "received", "source"),
    "withdrawal": ("file", "digest"),
    "return": ("file", "digest"),
    "amendment": ("file", "digest", "received", "reason"),
    "forgetting": ("file", "digest", "reason"),
    "basis": ("solution", "matching", "version_1", "settings", "generations"),
    "phases": ("phases",),
    "extension": ("phase", "end", "reason"),
    "pick": ("team", "picks", "source"),
    "team": ("team", "settings", "reason"),
    "erratum": ("number", "state", "reason", "basis"),
    "commitment": ("sha256", "opening"),
    "reveal": (),
}
"""What the body of each kind of event has at least."""
