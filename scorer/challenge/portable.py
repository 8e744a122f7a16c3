"""A challenge in another folder: where its files are there, and challenge.toml with these paths."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.challenge.lists import LISTS, names_file
from scorer.challenge.settings import Challenge, Track
from scorer.errors import ChallengeError
from scorer.paths import is_url, shown
from scorer.wording import quoted

OUTSIDE = "outside"
"""The folder for files that are not in the folder of the challenge."""

SITE = "site"

SHARED = frozenset(
    {"abfs", "abfss", "adl", "az", "dbfs", "ftp", "gcs", "gs", "hdfs", "hf", "http", "https", "oci", "oss", "s3", "s3a"}
    | {"sftp", "smb", "ssh", "webdav", "webhdfs"}
)
"""Schemes of stores that any machine can read. Others name files or the memory of one machine, or chains of these."""

Key = tuple[str, ...]
"""The path to a value in challenge.toml."""


@dataclass(frozen=True, slots=True)
class Portable:
    """A challenge whose files are all in its folder, and whose database has its default address."""

    settings: bytes
    """Of challenge.toml."""
    places: Mapping[tuple[str, str], str]
    """By the name of a track and "solution", "submissions", "key_file" or one of `LISTS`: the relative path of the file
    or folder, with forward slashes. Those behind URLs are left out, because they stay where they are."""


def portable(file: Path, challenge: Challenge) -> Portable:
    """The settings of a challenge, as `read_challenge` read it from this file, for another folder on any machine.

    Paths in its folder stay as they are. A file outside of it gets a place in `OUTSIDE`, and a site outside of it
    becomes the folder `SITE`. Raises ChallengeError if the file cannot be read or edited, or names a file by a URL that
    other machines cannot read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ChallengeError(f"{file}: cannot be read: {error.strerror}") from error
    changes: dict[Key, str | None] = {}
    places: dict[tuple[str, str], str] = {}
    for track in challenge.tracks:
        for key, path in _paths(track):
            if is_url(path) and key[-1] != "key_file":  # which is a path, also if it looks like a URL
                if path.partition("://")[0] not in SHARED or "::" in path:
                    raise ChallengeError(
                        f"{file}: tracks.{track.name}.{key[-1]}: names {quoted(shown(path))}, which is no URL of a "
                        "remote store; name a file of this machine by its path"
                    )
            else:
                place = _inside(challenge.root, path) or f"{OUTSIDE}/{track.name}/{key[-1]}/{Path(path).name}"
                places[track.name, key[-1]] = place
                if not _is_relative(path):
                    changes["tracks", track.name, *key] = place
    text = content.decode("utf-8-sig")
    document = tomllib.loads(text)
    if "database" in document:
        changes["database",] = None
    if not _is_relative(challenge.site):
        key = ("site", "folder") if isinstance(document.get("site"), dict) else ("site",)
        changes[key] = _inside(challenge.root, challenge.site) or SITE
    return Portable(_edited(file, text, changes).encode() if changes else content, places)


def with_database(settings: bytes, address: str) -> bytes:
    """The settings that `portable` returned, with the address of a database."""
    import tomlkit  # noqa: PLC0415 (only commands that write need it)

    text = settings.decode("utf-8-sig")
    return f"database = {tomlkit.string(address).as_string()}\n{text}".encode()


def _paths(track: Track) -> Iterator[tuple[Key, str]]:
    """The paths and URLs of a track with their keys."""
    for key in ("solution", *LISTS):
        if names_file(key, path := getattr(track, key)):
            yield (key,), path
    yield ("submissions",), track.submissions or f"submissions/{track.name}"
    if track.split is not None:
        yield ("split", "key_file"), track.split.key_file


def _inside(root: Path, path: str) -> str | None:
    """The path relative to the root; None if it is not in this folder."""
    absolute = Path(os.path.normpath(root / path))
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else None


def _is_relative(path: str) -> bool:
    """Whether a path stays in the folder that it starts from, under any name of this folder."""
    return not Path(path).is_absolute() and Path(os.path.normpath(path)).parts[:1] != ("..",)


def _edited(file: Path, text: str, changes: Mapping[Key, str | None]) -> str:
    """The text with these values; None removes one. Comments and the order stay. Raises ChallengeError."""
    import tomlkit  # noqa: PLC0415

    expected = tomllib.loads(text)
    document: Any = tomlkit.parse(text)
    for key, value in changes.items():
        _change(expected, key, value)
        _change(document, key, value)
    edited = tomlkit.dumps(document)
    try:
        is_expected = tomllib.loads(edited) == expected
    except ValueError:
        is_expected = False
    if not is_expected:
        names = ", ".join(".".join(key) for key in changes)
        raise ChallengeError(
            f"{file}: {names} cannot be changed by a command; give each table its own header, or name files in the "
            "folder of the challenge by relative paths, and leave out database"
        )
    return edited


def _change(table: Any, key: Key, value: str | None) -> None:
    for name in key[:-1]:
        table = table[name]
    if value is None:
        del table[key[-1]]
    else:
        table[key[-1]] = value
