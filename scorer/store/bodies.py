"""Checks of events whose author is not trusted: those of a bundle."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from scorer.challenge.phases import Phase, check_order
from scorer.challenge.splits import SHA256
from scorer.challenge.teams import TeamSettings
from scorer.store.canonical import iso
from scorer.store.kinds import KEYS, Kind
from scorer.store.secret import content_of

INVALID = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a check raises for an invalid value."""

DEEPEST = 20
"""How deep values may be nested."""


def read_json(text: str) -> Any:
    """The value of a text in JSON. Texts in it are UTF-8 or names of files, and numbers are finite and have 64 bits."""
    value = json.loads(text)
    _check_plain(value, DEEPEST)
    return value


def _check_plain(value: Any, depth: int) -> None:
    if isinstance(value, str):
        value.encode("utf-8", "surrogateescape")
    elif isinstance(value, dict | list):
        need(depth > 0)
        for each in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_plain(each, depth - 1)
    else:
        need(value is None or abs(value) < 1 << 63)


def need(condition: object) -> None:
    """Raise ValueError unless this is true."""
    if not condition:
        raise ValueError("another value")


def need_time(value: str, *, later: timedelta = timedelta(days=1_000_000)) -> None:
    """Raise an error unless this is a time with a zone, to which as much as a grace can be added."""
    need((datetime.fromisoformat(value) + later).tzinfo)
    iso(datetime.fromisoformat(value))


def need_digest(value: str) -> None:
    """Raise an error unless this is a SHA-256 in hexadecimal."""
    need(SHA256.fullmatch(value))


def is_whole(value: object) -> bool:
    """Whether this is a whole number from 0."""
    return type(value) is int and value >= 0


def _check_settings(settings: Mapping[str, Any] | None) -> None:
    if split := (settings or {}).get("split"):
        need_digest(split["key_sha256"])


def _check_picks(picks: list[Mapping[str, Any]]) -> None:
    for each in picks:
        _check_keys(each, ("file", "digest"))


def _check_changes(changes: Mapping[str, Any]) -> None:
    """As `recorded_changes` made them."""
    need(len(changes["scales"]) == 2 and type(changes["hidden"]) is bool)
    for measure, decimals, stage in changes["scales"]:
        need(isinstance(measure, str) and is_whole(decimals) and stage in ("preliminary", "final"))
    for team, baseline, *places in changes["teams"]:
        need(isinstance(team, str) and type(baseline) is bool and len(places) == 2)
        for rank, score in places:
            need((rank is None or is_whole(rank)) and isinstance(score, float | int | None))


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(
        ("team", "file", "source", "reason", "phase", "matching", "version_1"), lambda value: need(type(value) is str)
    ),
    **dict.fromkeys(("digest", "sha256", "solution"), need_digest),
    "received": partial(need_time, later=timedelta(0)),
    "end": need_time,
    "generations": lambda value: need(type(value) is dict),
    "settings": _check_settings,
    "number": lambda value: need(is_whole(value) and value > 0),
    "state": lambda value: need(value in ("previewed", "applied", "cancelled")),
    "basis": lambda value: _check_keys(value, KEYS["basis"]),
    "changes": _check_changes,
    "opening": lambda value: need(type(content_of(value)["tracks"]) is dict),
    "phases": lambda values: check_order(tuple(map(Phase.of_record, values))),
    "picks": _check_picks,
}


def check_event(kind: Kind, body: Mapping[str, Any]) -> None:
    """Check the kind and the body of an event. Raises an error of `INVALID`."""
    _check_keys(body, KEYS[kind])
    if "absent_at" in body:
        _CHECKS["received"](body["absent_at"])
    if kind == "team":
        TeamSettings.model_validate(body["settings"])
    if kind == "erratum" and body["state"] == "applied":
        _check_keys(body, ("changes",))


def _check_keys(body: Mapping[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        _CHECKS[key](body[key])
