"""The documents that `scorer verify` checks, as JSON: the commitments of a challenge, and the split of a track."""

from __future__ import annotations

import json
from collections.abc import Mapping

from scorer.live.commitment import CommittedTrack, PublishedCommitment
from scorer.live.splits import PublishedSplit
from scorer.wording import iso_time

VERSION = 1
"""Of both documents."""


def commitment_json(published: PublishedCommitment) -> str:
    """The commitments. Until the last one is revealed, the document says nothing about the solutions."""
    document: dict[str, object] = {
        "version": VERSION,
        "challenge": published.challenge,
        "commitments": [
            {"sha256": commitment.sha256, "index": commitment.index, "at": commitment.at and iso_time(commitment.at)}
            for commitment in published.commitments
        ],
        "receipts": published.receipts.hex(),
        "tracks": {track.name: _track(track) for track in published.tracks},
        "errata": [
            {"track": erratum.track, "number": erratum.number, "index": erratum.index, "changed": erratum.names}
            for erratum in published.errata
        ],
        "revealed": published.is_revealed,
    }
    if published.not_applied:
        document["not_applied"] = published.not_applied
    if published.event:
        document |= {"event": published.event, "nonce": published.nonce}
    return json.dumps(document, ensure_ascii=True, indent=1) + "\n"


def _track(track: CommittedTrack) -> Mapping[str, object]:
    key = {"key_sha256": track.key_sha256 or None}
    if track.rules is None:
        return key
    files = {"solution": track.solution, "items": track.items or None}
    return {**key, **files, "rules": track.rules, "phases": track.phases, "rescheduled": track.rescheduled}


def split_json(track: str, split: PublishedSplit) -> str:
    """The split: the hash of its key, and once the key is revealed, the key and the queries."""
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
