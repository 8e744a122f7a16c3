"""The kinds of events."""

from __future__ import annotations

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
