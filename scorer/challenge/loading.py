"""Reading challenge.toml: its faults, each with its place, what was found and what is allowed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scorer.challenge.settings import FILE, Challenge, SettingsTable, Track, located_in, nearest
from scorer.errors import ChallengeError, MeasureError
from scorer.paths import Location
from scorer.wording import quoted

PLACED = frozenset({"name", "root"})
"""Fields of a track that come from where its table stands, not from a key in it."""


def _file(path: Path) -> Path:
    try:
        file = path / FILE if path.is_dir() else path
        if file.is_file():
            return file
        found = "is not a file" if file.exists() else "no such file"
    except (OSError, ValueError) as error:
        raise ChallengeError(f"{quoted(str(path))}: cannot be read: {error}") from error
    raise ChallengeError(f"{file}: {found}; a challenge is a folder with a {FILE}, and `scorer init` makes a new one")


def _document(file: Path) -> dict[str, Any]:
    try:
        # Some editors write a byte order mark, which TOML does not know.
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        found = f"byte 0x{error.object[error.start]:02x} in line {line}"
        raise ChallengeError(f"{file}: not UTF-8 ({found}); save it in that encoding") from error
    except OSError as error:
        raise ChallengeError(f"{file}: cannot be read: {error.strerror}") from error
    if not text.strip():
        raise ChallengeError(f"{file}: is empty; `scorer init` in a new folder writes one to start from")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChallengeError(f"{file}: not TOML: {error}") from error


def _tables(document: Mapping[str, Any]) -> dict[str, Any]:
    tables = document.get("tracks")
    return tables if isinstance(tables, dict) else {}


def _with_places(document: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The document as Challenge takes it: the tracks in a row, each with its name and the folder."""
    placed = {**document, "root": root}
    if isinstance(document.get("tracks"), dict):
        placed["tracks"] = tuple(
            {**table, "name": name, "root": root} if isinstance(table, dict) else table
            for name, table in _tables(document).items()
        )
    return placed


def _misplaced(document: Mapping[str, Any]) -> Iterator[str]:
    """Keys that are no keys though a model has a field of that name."""
    if "root" in document:
        yield _unknown(("root",), Challenge)
    for name, table in _tables(document).items():
        for key in sorted(PLACED.intersection(table) if isinstance(table, dict) else ()):
            yield _unknown(("tracks", name, key), Track)


def _absent(document: Mapping[str, Any], root: Path, solutions: bool) -> Iterator[str]:
    """Files that are named and are not there."""
    for name, table in _tables(document).items():
        for key in ("solution", "queries") if solutions else ("queries",):
            path = table.get(key) if isinstance(table, dict) else None
            if isinstance(path, str) and path.strip() and "\0" not in path:
                yield from _absence(_key_text(("tracks", name, key)), located_in(root, path))


def _absence(place: str, file: Location) -> Iterator[str]:
    try:
        if not file.is_file():
            found = "it is not a file" if file.exists() else "there is no such file"
            yield f"{place}: names {file}, but {found}; put it there or correct the path"
    except OSError as error:
        yield f"{place}: names {quoted(str(file))}, which cannot be read: {error.strerror}"


def _fault_message(fault: ErrorDetails, names: Sequence[str]) -> str:
    """One of pydantic's findings in our words."""
    where: tuple[int | str, ...] = fault["loc"]
    model: type[SettingsTable] = Challenge
    if where[0] == "tracks" and len(where) > 1:
        where = ("tracks", names[int(where[1])], *where[2:])
        model = Track
    if fault["type"] == "extra_forbidden":
        return _unknown(where, model)
    if len(where) == 2:
        return f"{_key_text(where)}: found {_value_text(fault['input'])}; allowed: a table, as in [tracks.cold-start]"
    key = where[2] if model is Track else where[0]
    allowed = model.model_fields[str(key)].description
    place = _key_text(where[:2] if model is Track and key == "name" else where)
    if fault["type"] == "missing":
        return f"{place}: is missing; needed: {allowed}"
    reason = fault.get("ctx", {}).get("error")
    if isinstance(reason, MeasureError):
        return f"{place}: found {_value_text(fault['input'])}: {reason}"
    return f"{place}: found {_value_text(fault['input'])}{f', which {reason}' if reason else ''}; allowed: {allowed}"


def _unknown(where: Sequence[int | str], model: type[SettingsTable]) -> str:
    hidden = PLACED if model is Track else {"root"}
    known = [key for key in model.model_fields if key not in hidden]
    return f"{_key_text(where)}: unknown key{nearest(str(where[-1]), known)}; known: {', '.join(known)}"


def _key_text(where: Sequence[int | str]) -> str:
    """A key as TOML writes it, `tracks.cold-start.cutoffs[2]`; places in a list count from 0."""
    told = ""
    for part in where:
        if isinstance(part, int):
            told += f"[{part}]"
        else:
            told += f".{part}" if re.fullmatch(r"[\w-]+", part, re.ASCII) else f".{quoted(part)}"
    return told.removeprefix(".")


def _value_text(value: object) -> str:
    """A value much as the file writes it, on one line, and cut."""
    if isinstance(value, str):
        return quoted(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # a number of thousands of digits, a table of thousands of levels
        return "something too large to show"
    return quoted(text)[1:-1].replace('\\"', '"')


def read_challenge(path: str | Path, *, solutions: bool = True) -> Challenge:
    """The challenge in a folder, or in a file such as challenge.toml.

    Parameters
    ----------
    path
        The folder that holds challenge.toml, or the file itself, which may have another name.
    solutions
        Must the solution files be there? A participant who checks a file does not have them.

    Raises
    ------
    ChallengeError
        Naming every fault: the file, the key, what was found, what is allowed.
    """
    file = _file(Path(path))
    document, root = _document(file), file.parent.absolute()
    faults = [*_misplaced(document), *_absent(document, root, solutions)]
    try:
        challenge = Challenge.model_validate(_with_places(document, root))
    except ValidationError as error:
        faults = [*(_fault_message(fault, list(_tables(document))) for fault in error.errors()), *faults]
    if faults:
        raise ChallengeError("\n".join(f"{file}: {fault}" for fault in faults))
    return challenge
