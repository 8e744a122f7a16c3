"""The public lists of a track: its queries, its candidate items, and the items that are excluded for each query."""

from __future__ import annotations

from scorer.challenge.settings import Track
from scorer.challenge.tables import located_in
from scorer.options import SELF
from scorer.paths import Location

LISTS = {"queries": "queries.txt", "items": "items.txt", "exclude": "exclude.jsonl"}
"""The lists by their keys, and their files in the folder of the track on the site."""


def names_file(key: str, value: str | None) -> bool:
    """Whether the value of a key of a track is the path or the URL of a file: not None, and not "self" of `exclude`."""
    return value is not None and (key, value) != ("exclude", SELF)


def public_lists(track: Track) -> dict[str, Location]:
    """The files of the lists that the track has, by their keys."""
    texts = {key: getattr(track, key) for key in LISTS}
    return {key: located_in(track.root, text) for key, text in texts.items() if names_file(key, text)}
