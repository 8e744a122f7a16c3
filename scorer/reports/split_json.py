"""The split of a track as JSON, for `scorer verify split`."""

from __future__ import annotations

import json

from scorer.live.splits import PublishedSplit

VERSION = 1
"""Of the document."""


def split_json(track: str, split: PublishedSplit) -> str:
    """The document about the split of a track: the hash of the key, and once it is revealed, the key and the queries.

    Parameters
    ----------
    track
        The name of the track.
    split
        What is public about its split.
    """
    document: dict[str, object] = {
        "version": VERSION,
        "track": track,
        "preliminary": split.share,
        "key_sha256": split.key_sha256,
    }
    if split.key:
        document |= {"key": split.key, "queries": {"preliminary": split.preliminary, "rest": split.rest}}
    # Ids can have lone surrogates, which UTF-8 cannot encode.
    return json.dumps(document, ensure_ascii=True, indent=1) + "\n"
