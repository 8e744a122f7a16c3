"""What a site publishes for participants: the settings that a check needs, and the lists of queries and items.

The public settings name nothing that only the organisers know. `downloaded` makes a folder of them again, with which
`scorer check` works as with the folder of the challenge.
"""

from __future__ import annotations

import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scorer.challenge.lists import LISTS, names_file
from scorer.challenge.settings import FILE, Challenge, Track
from scorer.errors import ChallengeError
from scorer.limits import MB, Limits
from scorer.wording import quoted

PUBLIC_KEYS = ("name", "limits", "tracks")
"""The keys of challenge.toml that are public."""

PUBLIC_TRACK_KEYS = (
    "title",
    "queries",
    "items",
    "exclude",
    "list_length",
    "cutoffs",
    "primary",
    "measures",
    "decimals",
    "missing",
    "ties",
    "equal_ranks",
    "entry",
    "submission_format",
)
"""The keys of a track that are public. Phases and quotas change by events, so only pages and the service have them."""

_NO_SOLUTION = "not-published"
"""The public value of the key `solution`, which a track must have."""

_COMMENT = "What participants need of the settings. `scorer check FILE --challenge ADDRESS-OF-THIS-SITE` uses it."

_TIMEOUT = 60.0
_SETTINGS_BYTES = MB
_LIST_BYTES = 1000 * MB


def published_settings(challenge: Challenge, tracks: Sequence[Track]) -> str:
    """The public challenge.toml, by the rules of these tracks."""
    import tomlkit  # noqa: PLC0415 (only a render needs it)

    limits = {name: value for name, value in asdict(challenge.limits).items() if value != getattr(Limits(), name)}
    document = {
        "name": challenge.name,
        "limits": limits,
        "tracks": {track.name: _track_table(track) for track in tracks},
    }
    return f"# {_COMMENT}\n\n{tomlkit.dumps(_public(document))}"


def _track_table(track: Track) -> Mapping[str, Any]:
    table = track.model_dump(include=set(PUBLIC_TRACK_KEYS), exclude_defaults=True)
    return table | ({"decimals": "auto"} if track.decimals is None else {})


def _public(document: Mapping[str, Any]) -> dict[str, Any]:
    """The public part of a challenge.toml. Its lists are at their places on the site."""
    public = {key: document[key] for key in PUBLIC_KEYS if document.get(key)}
    tracks = {}
    for name, table in public.get("tracks", {}).items():
        tracks[name] = {key: table[key] for key in PUBLIC_TRACK_KEYS if key in table} | {"solution": _NO_SOLUTION}
        tracks[name] |= {key: f"{name}/{file}" for key, file in LISTS.items() if names_file(key, table.get(key))}
    return public | {"tracks": tracks}


@contextmanager
def downloaded(address: str, track: str | None = None) -> Iterator[Path]:
    """A folder with the public settings of a site, and the lists of one track; None: of all. It is deleted at the end.

    Raises ChallengeError if the site cannot be reached, or publishes no settings.
    """
    import tomlkit  # noqa: PLC0415

    site = address.rstrip("/").removesuffix(f"/{FILE}")
    with TemporaryDirectory(prefix="scorer-") as temporary:
        folder = Path(temporary)
        _download(f"{site}/{FILE}", folder / FILE, _SETTINGS_BYTES)
        try:
            # What a site states is not trusted: only the public keys are taken, and no path that it names.
            document = _public(tomllib.loads((folder / FILE).read_text(encoding="utf-8")))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ChallengeError(f"{site}/{FILE}: not the public settings of a challenge") from error
        for name, table in document["tracks"].items():
            for key, file in LISTS.items():
                if track not in (None, name):
                    table.pop(key, None)
                elif names_file(key, table.get(key)):
                    path = folder / name / file
                    _check_inside(folder, path, site)
                    path.parent.mkdir(exist_ok=True)
                    _download(f"{site}/{name}/{file}", path, _LIST_BYTES)
        (folder / FILE).write_text(tomlkit.dumps(document), encoding="utf-8")
        yield folder


def _check_inside(folder: Path, path: Path, site: str) -> None:
    if path.parent.parent != folder or path.parent.name.startswith("."):
        raise ChallengeError(f"{site}/{FILE}: {quoted(path.parent.name)} is no name of a track")


def _download(address: str, path: Path, most: int) -> None:
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
        raise ChallengeError(f"{address}: the server answers {error.code} {error.reason}{hint}") from error
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise ChallengeError(f"{address}: cannot be read: {reason}") from error
