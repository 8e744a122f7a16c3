"""Metadata of submissions: where they are read in a folder, and how they are recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scorer.errors import ChallengeError
from scorer.files import RefusedError, chunks_of
from scorer.limits import Limits
from scorer.live.entry import Key, SubmissionState, key_of, recorded, stays
from scorer.live.metadata import body, value_text
from scorer.live.now import Now
from scorer.organising.files import Listing, SubmissionFile
from scorer.organising.picks import entry_named
from scorer.settings.metadata import MOST_BYTES, Given, MetadataError, Stated, Value, checked, of_head, read
from scorer.settings.tracks import Challenge, Track
from scorer.store.snapshot import Snapshot
from scorer.store.store import Added, Store
from scorer.wording import printable_name


def of_file(file: SubmissionFile, listing: Listing) -> Stated:
    """What the metadata files of a submission state; its own has priority. Raises MetadataError and OSError."""
    stated: dict[str, Given] = {}
    for path in listing.metadata_of(file):
        with path.open("rb") as stream:
            stated |= read(b"".join(chunks_of(stream, MOST_BYTES + 1)))
    return stated


def scanned_metadata(
    track: Track, file: SubmissionFile, listing: Listing, limits: Limits, is_new: bool, notes: list[str]
) -> Mapping[str, Mapping[str, Value]]:
    """What a scan finds stated of a file, by its name: of a new one, and of one that has a file of metadata.

    Raises RefusedError if those of a new file are invalid; of another one, `notes` says so, and the earlier ones stay.
    """
    if not track.metadata or not (is_new or any(listing.metadata_of(file))):
        return {}
    try:
        return {file.file: checked(track.metadata, {**of_head(file.path, limits), **of_file(file, listing)})}
    except MetadataError as error:
        if is_new:
            raise RefusedError(error.reason) from None
        notes.append(f"{printable_name(file.file)}: {error.reason}; the earlier ones stay")
        return {}


def amend_metadata(challenge: Challenge, store: Store, name: str, pairs: Sequence[str], reason: str) -> SubmissionState:
    """Correct values of an entry, each given as ``key=value``; the decision is recorded. Returns the entry."""
    state = store.read(lambda view: entry_named(view, challenge.tracks, name))
    stated = {key: Given(value) for key, _, value in (pair.partition("=") for pair in pairs)}
    track = challenge.track(state.submission.track)
    record_metadata(store, track, key_of(state.submission), stated, "command", reason)
    return state


def record_metadata(store: Store, track: Track, key: Key, stated: Stated, source: str, reason: str = "") -> None:
    """Record what is stated of a submission in place of what was; with a reason of the organiser, in addition.

    Raises MetadataError; and ChallengeError if the phase of the entry has closed, which does not concern the organiser.
    """

    def changed(view: Snapshot) -> Added:
        state = recorded(view, track.name)[key]
        if not reason and stays(state.submission, Now.of(view, track).phases, track, view.now):
            raise ChallengeError("the phase of the entry has closed, so its metadata stay; ask the organisers")
        known = state.metadata.values if reason else {}
        earlier = {each.name: Given(value_text(known.get(each.name))) for each in track.metadata}
        values = checked(track.metadata, {**earlier, **stated})
        return [] if values == state.metadata.values else [("metadata", body(track, key, values, source, reason))]

    store.record(track.name, changed)
