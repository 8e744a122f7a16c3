"""The public lists of a track: its queries, its candidate items, and the items that are excluded for each query."""

from __future__ import annotations

from scorer.challenge.settings import Track
from scorer.challenge.tables import located_in
from scorer.options import SELF
from scorer.paths import Location

LISTS = {"queries": "queries.txt", "items": "items.txt", "exclude": "exclude.jsonl"}
"""The lists by their keys, and their files in the folder of the track on the site."""


def public_lists(track: Track) -> dict[str, Location]:
    """The files of the lists that the track has, by their keys."""
    texts = {key: getattr(track, key) for key in LISTS}
    return {key: located_in(track.root, text) for key, text in texts.items() if text not in (None, SELF)}
