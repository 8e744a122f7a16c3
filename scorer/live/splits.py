"""Splits: the hash of the key that decides which queries are preliminary, and once it is revealed, the key."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

from scorer.challenge.settings import Track
from scorer.challenge.splits import QuerySplit, share_text
from scorer.store.records import Basis, RecordedBasis
from scorer.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PublishedSplit:
    """The public part of a split. Without the key it does not show which queries are preliminary."""

    share: str
    """The preliminary share as a decimal: ``0.2``."""
    key_sha256: str
    """In hexadecimal."""
    key: str = ""
    """In hexadecimal; empty until the key is revealed."""
    preliminary: tuple[str, ...] = ()
    """The ids of the preliminary queries, sorted; empty until the key is revealed."""
    rest: tuple[str, ...] = ()
    """The ids of the other queries, sorted; empty until the key is revealed."""


def published_split(view: Snapshot, basis: Basis) -> PublishedSplit | None:
    """What is public about the split of a basis; None if the solution decides which queries are preliminary."""
    split = basis.split
    if split is None:
        return None
    share = share_text(split.preliminary)
    if not is_revealed(view, split):
        return PublishedSplit(share, split.key_sha256)
    ids, flags = view.queries(basis.solution).ids, view.flags(basis)
    preliminary, rest = (tuple(sorted(compress(ids, chosen))) for chosen in (flags, ~flags))
    return PublishedSplit(share, split.key_sha256, split.key.hex(), preliminary, rest)


def is_revealed(view: Snapshot, split: QuerySplit) -> bool:
    """Whether the key of a split, not only an earlier key of its track, was revealed."""
    events = view.events(split.track)
    return any(event.kind == "reveal" and event.body.get("split_key") == split.key.hex() for event in events)


def has_preliminary_queries(view: Snapshot, track: Track, recorded: RecordedBasis | None) -> bool:
    """Whether a track has preliminary queries; True as long as no basis is recorded."""
    return recorded is None or track.split is not None or bool(view.flags(recorded.basis).any())


def recorded_key(view: Snapshot, track: str) -> str | None:
    """The SHA-256 of the key that the board of a track is based on; None without a board or without a split."""
    recorded = view.recorded_basis(track)
    return None if recorded is None else recorded.key_sha256


def split_rules(split: PublishedSplit | None) -> tuple[str, ...]:
    """The rules on the split; none without one."""
    if split is None:
        return ()
    if split.key:
        return (
            f"A secret key decided which queries are preliminary, with a share of {split.share}. The key is published "
            "now, with the ids of the queries. The command scorer verify split confirms that they follow from it.",
        )
    return (
        f"A secret key decides which queries are preliminary, with a share of {split.share}. The SHA-256 of the key is "
        "published now, so the key cannot change. The key itself is published at the end.",
    )
