"""The files of deliveries: where they are while they are received, and how they get their final names."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from scorer.challenge.settings import Track
from scorer.errors import ChallengeError
from scorer.limits import MB
from scorer.live.presence import delivered_files, recorded
from scorer.organising.submission_files import INCOMING
from scorer.paths import digest
from scorer.paths.writing import PART
from scorer.store.store import Store
from scorer.wording import printable

RESERVE = 100 * MB
"""Bytes that stay free on the disk: the database and the site need room, too."""

READY = ".ready"
"""Ends the name of a complete file in the folder of incoming files while its arrival is being recorded: nothing else
takes it away."""

ABANDONED = 3600.0
"""Seconds after which a file in the folder of incoming files was left by a process that was killed."""


def submissions_folder(track: Track) -> Path:
    """The folder of a track's submissions. Raises ChallengeError if it is on another machine."""
    folder = track.submissions_path
    if not isinstance(folder, Path):
        raise ChallengeError(
            f"tracks.{track.name}.submissions: found {printable(str(folder))}, but files can be handed in only to a "
            "folder of this machine; name one"
        )
    return folder


def incoming_folder(track: Track) -> Path:
    """The folder of files that are being handed in; it is on the file system of the final files."""
    return submissions_folder(track) / INCOMING


def prepare_incoming(store: Store, track: Track) -> Path:
    """Make the folder of incoming files, and complete what an earlier process left; returns the folder.

    Raises ChallengeError and OSError.
    """
    folder = incoming_folder(track)
    folder.mkdir(parents=True, exist_ok=True)
    states = store.read(partial(recorded, track=track.name))
    put_in_place(track, delivered_files(states.values()))
    return folder


def remove_incomplete(folder: Path, seconds: float = ABANDONED) -> None:
    """Delete what was left in a folder of incoming files, and has not changed for some seconds.

    With 0 seconds, files go that are being received; another process then refuses them. Complete ones stay for longer.
    """
    now = time.time()
    for path in folder.iterdir():
        with suppress(OSError):
            least = seconds if path.name.endswith(PART) else max(seconds, ABANDONED)
            if now - path.stat().st_mtime >= least:
                path.unlink()


def final_path(track: Track, file: str) -> Path:
    """The path of a file that was handed in, by its name in the record."""
    return submissions_folder(track).joinpath(*file.split("/")[1:])


def put_in_place(track: Track, delivered: Mapping[str, str]) -> None:
    """Complete deliveries: the event is recorded, and a crash left the file in the folder of incoming files.

    `delivered` has the digests of the files that were handed in. What cannot be completed is missing in the scan. What
    was abandoned is deleted.
    """
    if not isinstance(track.submissions_path, Path) or not incoming_folder(track).is_dir():
        return
    paths = {sha256: final_path(track, file) for file, sha256 in delivered.items()}
    missing = {sha256: path for sha256, path in paths.items() if not path.exists()}
    for received in sorted(incoming_folder(track).iterdir()) if missing else ():
        try:
            sha256 = digest(received)
            if sha256 in missing:
                move(received, missing.pop(sha256))
        except OSError:  # another process has just moved it
            continue
    remove_incomplete(incoming_folder(track))


def move(received: Path, path: Path) -> None:
    """Give a received file its final name; afterwards it survives a crash of the machine. Raises OSError."""
    made = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    received.replace(path)
    sync_folder(path.parent)
    if made:
        sync_folder(path.parent.parent)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
