"""A challenge in another folder, and what a site publishes of it for participants."""

from __future__ import annotations

import http.client
import os
import re
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scorer.errors import ChallengeError, os_errors_as
from scorer.files import is_url, shown
from scorer.limits import MB, SETTINGS_BYTES, Limits, is_quickly_parsed
from scorer.rules.tables import AUTO
from scorer.settings.loading import edited
from scorer.settings.tracks import FILE, LISTS, Challenge, Track, names_file
from scorer.wording import one_line, quoted, shortened

OUTSIDE = "outside"
"""The folder for files that are not in the folder of the challenge."""

SITE = "site"

SHARED = frozenset(
    {"abfs", "abfss", "adl", "az", "dbfs", "ftp", "gcs", "gs", "hdfs", "hf", "http", "https", "oci", "oss", "s3", "s3a"}
    | {"sftp", "smb", "ssh", "webdav", "webhdfs"}
)
"""Schemes of stores that any machine can read. Others name files or the memory of one machine, or chains of these."""

_Key = tuple[str, ...]
"""The path to a value in challenge.toml."""


@dataclass(frozen=True, slots=True)
class Portable:
    """A challenge whose files are all in its folder, and whose database has its default address."""

    settings: bytes
    """Of challenge.toml."""
    places: Mapping[tuple[str, str], str]
    """By the name of a track and "solution", "checked", "slices", "clusters", "submissions", "key_file" or one of
    `LISTS`: the relative path of the file or folder, with forward slashes. Those behind URLs are left out."""


def portable(file: Path, challenge: Challenge) -> Portable:
    """The settings of a challenge, as `read_challenge` read it from this file, for another folder on any machine.

    Paths in its folder stay as they are. A file outside of it gets a place in `OUTSIDE`, and a site outside of it
    becomes the folder `SITE`. Raises ChallengeError if the file cannot be read or edited, or names a file by a URL that
    other machines cannot read.
    """
    with os_errors_as(ChallengeError, f"{file}: cannot be read"):
        content = file.read_bytes()
    changes: dict[_Key, str | None] = {}
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
    try:
        return Portable(edited(text, changes).encode() if changes else content, places)
    except ValueError as error:
        names = ", ".join(".".join(key) for key in changes)
        raise ChallengeError(
            f"{file}: {names} cannot be changed by a command; give each table its own header, or name files in the "
            "folder of the challenge by relative paths, and leave out database"
        ) from error


def with_database(settings: bytes, address: str) -> bytes:
    """The settings that `portable` returned, with the address of a database."""
    import tomlkit  # noqa: PLC0415 (only commands that write need it)

    text = settings.decode("utf-8-sig")
    return f"database = {tomlkit.string(address).as_string()}\n{text}".encode()


def _paths(track: Track) -> Iterator[tuple[_Key, str]]:
    yield from (((key,), getattr(track, key)) for key in track.files)
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


PUBLIC_KEYS = ("name", "limits", "metadata", "tracks")
"""The keys of challenge.toml that are public."""

PUBLIC_TRACK_KEYS = (
    *("title", "queries", "items", "exclude", "list_length", "cutoffs", "primary", "measures", "decimals", "missing"),
    *("ties", "unjudged", "equal_ranks", "entry", "submission_format"),
)
"""The keys of a track that are public. Phases and quotas change by events, so only pages and the service have them."""

_NO_SOLUTION = "not-published"
"""The public value of the key `solution`, which a track must have."""

_COMMENT = "What participants need of the settings. `scorer check FILE --challenge FOLDER-OR-ADDRESS` uses it."

_TIMEOUT = 60.0
_LIST_BYTES = 1000 * MB


def published_settings(challenge: Challenge, tracks: Sequence[Track]) -> str:
    """The public challenge.toml, by the rules of these tracks."""
    import tomlkit  # noqa: PLC0415 (only a render needs it)

    limits = {name: value for name, value in asdict(challenge.limits).items() if value != getattr(Limits(), name)}
    document = {
        "name": challenge.name,
        "limits": limits,
        "metadata": [field.model_dump(exclude_defaults=True) for field in challenge.metadata],
        "tracks": {
            track.name: track.model_dump(include=set(PUBLIC_TRACK_KEYS), exclude_defaults=True)
            | ({"decimals": AUTO} if track.decimals is None else {})
            for track in tracks
        },
    }
    return f"# {_COMMENT}\n\n{tomlkit.dumps(_public(document))}"


def _public(document: Mapping[str, Any]) -> dict[str, Any]:
    """The public part of a challenge.toml. Its lists are at their places on the site."""
    public = {key: document[key] for key in PUBLIC_KEYS if document.get(key)}
    tracks = {}
    for name, table in public.get("tracks", {}).items():
        tracks[name] = {key: table[key] for key in PUBLIC_TRACK_KEYS if key in table} | {"solution": _NO_SOLUTION}
        tracks[name] |= {key: f"{name}/{file}" for key, file in LISTS.items() if names_file(key, table.get(key))}
    return public | {"tracks": tracks}


@contextmanager
def downloaded(address: str, track: str | None = None) -> Iterator[tuple[Path, str | None]]:
    """A folder with the public settings of a site, and the lists of its tracks, given the address of any of its pages.

    It is deleted at the end. Without `track`, the page may be that of one; the track is returned, too. Raises
    ChallengeError if the site cannot be reached, or publishes no settings.
    """
    import tomlkit  # noqa: PLC0415

    page = re.split("[?#]", address)[0].rstrip("/").removesuffix(f"/{FILE}")
    with TemporaryDirectory(prefix="scorer-") as temporary:
        folder = Path(temporary)
        site = _download_settings(page, folder / FILE)
        try:
            # What a site states is not trusted: only the public keys are taken, and no path that it names.
            text = (folder / FILE).read_text(encoding="utf-8")
            if not is_quickly_parsed(text):
                raise ValueError(text)  # noqa: TRY301
            document = _public(tomllib.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ChallengeError(f"{site}/{FILE}: not the public settings of a challenge") from error
        part = page.removeprefix(site).split("/")[1:2]
        track = track or next((name for name in document["tracks"] if [name] == part), None)
        left = _LIST_BYTES
        for name, table in document["tracks"].items():
            for key, file in LISTS.items():
                if track not in (None, name) and key != "queries":  # those tell for which track a file is
                    table.pop(key, None)
                elif names_file(key, table.get(key)):
                    path = folder / name / file
                    if path.parent.parent != folder or path.parent.name.startswith("."):
                        raise ChallengeError(f"{site}/{FILE}: {quoted(path.parent.name)} is no name of a track")
                    path.parent.mkdir(exist_ok=True)
                    download(f"{site}/{name}/{file}", path, left)
                    left -= path.stat().st_size
        (folder / FILE).write_text(tomlkit.dumps(document), encoding="utf-8")
        yield folder, track


def _download_settings(site: str, file: Path) -> str:
    """Write the public settings of the site that has a page, and return its address. Raises ChallengeError."""
    while True:
        try:
            download(f"{site}/{FILE}", file, SETTINGS_BYTES)
        except ChallengeError as error:
            above = site.rpartition("/")[0]
            if not isinstance(error.__cause__, urllib.error.HTTPError) or above.endswith(("/", ":")):
                raise
            site = above
        else:
            return site


def download(address: str, path: Path, most: int) -> None:
    """Write what is at an address into a file. Raises ChallengeError."""
    request = urllib.request.Request(address, headers={"User-Agent": "scorer"})  # noqa: S310 (a site over HTTP)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer, path.open("wb") as file:  # noqa: S310
            size = 0
            while block := answer.read(MB):
                size += len(block)
                if size > most:
                    raise ChallengeError(f"{address}: has more than {most:,} bytes")
                file.write(block)
    except urllib.error.HTTPError as error:
        hint = "; expected the address of the site of a challenge" if error.code in (403, 404, 410) else ""
        reason = shortened(one_line(str(error.reason)), 300)
        raise ChallengeError(f"{address}: the server answers {error.code} {reason}{hint}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = shortened(one_line(str(error.reason if isinstance(error, urllib.error.URLError) else error)), 300)
        raise ChallengeError(f"{address}: cannot be read: {reason}") from error
