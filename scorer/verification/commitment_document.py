"""The document commitment.json, which is not trusted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.challenge.splits import SHA256
from scorer.verification.statement import invalid, read_document, text_of

NONCE = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class ListedCommitment:
    """A commitment that the document lists."""

    sha256: str
    index: int
    at: object
    """A time as text, or None."""


@dataclass(frozen=True, slots=True)
class CommitmentDocument:
    """The file commitment.json."""

    path: Path
    challenge: str
    receipts: str
    commitments: Sequence[ListedCommitment]
    tracks: Mapping[str, Mapping[str, Any]]
    errata: Sequence[Mapping[str, Any]]
    not_applied: Sequence[int]
    """The indexes of the errata that were previewed or cancelled; documents of earlier versions do not have them."""
    is_revealed: bool
    event: str
    """Of the last commitment; empty until it is revealed."""
    nonce: str

    @classmethod
    def read(cls, path: Path) -> CommitmentDocument:
        """Read the file. Raises ScorerError if it is another document."""
        document = read_document(path)
        listed = [
            ListedCommitment(
                text_of(path, commitment, "sha256", SHA256), _index(path, commitment), commitment.get("at")
            )
            for commitment in _objects(path, document, "commitments")
        ]
        if not listed:
            raise invalid(path, "commitments", "at least one commitment")
        tracks = document.get("tracks")
        if not isinstance(tracks, dict):
            raise invalid(path, "tracks", "an object")
        if not all(isinstance(track, dict) for track in tracks.values()):
            raise invalid(path, "tracks", "an object for each track")
        errata = _objects(path, document, "errata")
        for erratum in errata:
            _index(path, erratum)
            if not isinstance(erratum.get("changed"), list):
                raise invalid(path, "changed", "a list of names for each erratum")
        is_public = "event" in document
        return cls(
            path=path,
            challenge=text_of(path, document, "challenge", re.compile("(?s).+")),
            receipts=text_of(path, document, "receipts", SHA256),
            commitments=listed,
            tracks=tracks,
            errata=errata,
            not_applied=_indexes(path, document, "not_applied"),
            is_revealed=document.get("revealed") is True,
            event=text_of(path, document, "event", re.compile(r"\{[ -~]*\}")) if is_public else "",
            nonce=text_of(path, document, "nonce", NONCE) if is_public else "",
        )

    def rescheduled(self, track: str) -> list[int]:
        """The indexes of the events that changed the phases of a track since the commitment."""
        return _indexes(self.path, self.tracks[track], "rescheduled")

    def errata_of(self, track: str) -> list[Mapping[str, Any]]:
        """The errata of a track, the earliest first."""
        return [erratum for erratum in self.errata if erratum.get("track") == track]


def _objects(path: Path, document: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    value = document.get(key)
    if not isinstance(value, list) or not all(isinstance(member, dict) for member in value):
        raise invalid(path, key, "a list of objects")
    return value


def _indexes(path: Path, document: Mapping[str, Any], key: str) -> list[int]:
    value = document.get(key, [])
    if not isinstance(value, list) or not all(type(index) is int and index >= 1 for index in value):
        raise invalid(path, key, "a list of indexes of events")
    return value


def _index(path: Path, document: Mapping[str, Any]) -> int:
    value = document.get("index")
    if type(value) is not int or value < 1:
        raise invalid(path, "index", "a whole number from 1")
    return value
