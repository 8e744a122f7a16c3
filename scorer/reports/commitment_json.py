"""The commitments of a challenge as JSON, for `scorer verify commitment`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from scorer.live.commitment import CommittedTrack, PublishedCommitment
from scorer.wording import iso_time

VERSION = 1
"""Of the document."""


def commitment_json(published: PublishedCommitment) -> str:
    """The document about the commitments of a challenge.

    Parameters
    ----------
    published
        What is public. Until the last commitment is revealed, the document says nothing about the solutions.
    """
    document: dict[str, object] = {
        "version": VERSION,
        "challenge": published.challenge,
        "commitments": [
            {"sha256": each.sha256, "index": each.index, "at": each.at and iso_time(each.at)}
            for each in published.commitments
        ],
        "receipts": published.receipts.hex(),
        "tracks": {each.name: _track(each) for each in published.tracks},
        "errata": [
            {"track": each.track, "number": each.number, "index": each.index, "changed": each.names}
            for each in published.errata
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
