"""Reveals: the keys of splits and the opening of the commitment are published when the final scores are public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorer.challenge.settings import Challenge, Track
from scorer.challenge.splits import QuerySplit, split_of
from scorer.errors import ChallengeError
from scorer.live.commitment import commitments
from scorer.live.splits import is_revealed, recorded_key
from scorer.live.state import in_force, track_state
from scorer.organising.splits import shows_final, with_split
from scorer.store.events import EVERY_TRACK
from scorer.store.kinds import Kind
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store
from scorer.wording import utc_moment


@dataclass(frozen=True, slots=True)
class Reveal:
    """What is public now: the key of a split, or the opening of the commitment."""

    track: str
    """Of the key; empty for the commitment."""
    sha256: str
    """Of the key or of the opening."""
    is_new: bool
    """Whether it was not public before."""


def reveal(challenge: Challenge, store: Store, tracks: Sequence[Track]) -> tuple[Reveal, ...]:
    """Record that the keys of some tracks are public, and with all tracks, the opening of the commitment.

    Parameters
    ----------
    challenge, store
        The challenge and its database.
    tracks
        Tracks of the challenge; those without a split have no key.

    Returns
    -------
    What is public now: the keys in the order of the tracks, then the commitment.

    Raises
    ------
    ChallengeError
        There is nothing to reveal; or a track still hides final scores, or shares its key with one that does; or its
        key is not the one that its board is based on. Nothing is recorded then.
    StoreError
        The database fails.
    """
    splits = [split for track in tracks if (split := split_of(track)) is not None]
    is_whole = len(tracks) == len(challenge.tracks)
    found: list[Reveal] = []

    def revealed(view: Snapshot) -> Sequence[tuple[str, Kind, Mapping[str, Any]]]:
        last = commitments(view.events())[-1:] if is_whole else ()
        if not splits and not last:
            with_split(tracks)
        for split in splits:
            _check_key(view, challenge, split)
        for track in challenge.tracks if last else ():
            _check_over(view, track)
        found[:] = [Reveal(split.track, split.key_sha256, not is_revealed(view, split)) for split in splits]
        found.extend(Reveal(EVERY_TRACK, each.sha256, not each.is_revealed) for each in last)
        bodies: list[Mapping[str, Any]] = [{"split_key": split.key.hex()} for split in splits]
        bodies += [{"commitment": each.sha256} for each in last]
        return [(each.track, "reveal", body) for each, body in zip(found, bodies, strict=True) if each.is_new]

    store.record_all(revealed)
    return tuple(found)


def _check_key(view: Snapshot, challenge: Challenge, split: QuerySplit) -> None:
    for track in challenge.tracks:
        other = None if shows_final(view, track) else split_of(track)
        if other is None or other.key != split.key:
            continue
        shares = "" if track.name == split.track else f"the key of {split.track} is also that of {track.name}, and "
        raise ChallengeError(
            f"{split.track}: {shares}the final scores of {track.name} are not shown yet; the key would show which "
            "queries are preliminary; reveal it when the final scores are public"
        )
    if recorded_key(view, split.track) != split.key_sha256:
        raise ChallengeError(
            f"{split.track}: its board is not based on the key with the SHA-256 {split.key_sha256}; restore the key "
            "file that it is based on, or score it by this key with `scorer run`"
        )


def _check_over(view: Snapshot, track: Track) -> None:
    """Refuse to reveal the commitment while a track is not over, also one whose final scores are shown all the time."""
    end = track_state(view, track).phases.end
    is_over = in_force(view, track).shows_final if end is None else view.now >= end
    if not is_over:
        when = "shows no final scores yet" if end is None else f"is open until {utc_moment(end)}"
        raise ChallengeError(
            f"{track.name}: {when}; the opening of the commitment would show the SHA-256 of its solution; reveal it "
            "when all tracks show final scores, or only the key of a track with --track"
        )
