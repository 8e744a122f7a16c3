"""Receipts: a signed statement for a team that its entry is in the record, at a place of the log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorer.challenge.settings import Challenge, Track
from scorer.errors import ChallengeError
from scorer.live.receipts import receipt_name, receipts
from scorer.live.state import submissions_of
from scorer.live.teams import slugs
from scorer.organising.decisions import entry_named
from scorer.paths.writing import replace_content
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store


def named_receipts(challenge: Challenge, store: Store, tracks: Sequence[Track], names: Sequence[str]) -> list[str]:
    """The receipts of some entries, named as for `entry_named`."""

    def work(view: Snapshot) -> list[str]:
        indexes = [entry_named(view, tracks, name).index for name in names]
        texts = receipts(view, challenge.name, set(indexes))
        return [texts[index] for index in indexes]

    return store.read(work)


def write_receipts(challenge: Challenge, store: Store, tracks: Sequence[Track], folder: Path) -> tuple[int, int]:
    """Write the receipt of every entry of some tracks into a folder, as ``<track>/<team>/<index>-<file>.receipt.txt``.

    Returns how many receipts were written, and how many were there already; these are left as they are.
    """

    def work(view: Snapshot) -> list[tuple[Path, str]]:
        states = submissions_of(view, tracks)
        names, texts = slugs(view.teams), receipts(view, challenge.name, {state.index for state in states})
        return [
            (
                Path(state.submission.track, names[state.submission.team])
                / receipt_name(state.index, state.submission.file),
                texts[state.index],
            )
            for state in states
        ]

    listed = store.read(work)
    missing = [(folder / path, text) for path, text in listed if not _is_there(folder / path, text)]
    for path, text in missing:
        write_receipt(path, text)
    return len(missing), len(listed) - len(missing)


def _is_there(path: Path, text: str) -> bool:
    """Whether a file has this receipt. Raises ChallengeError if it has another one, or cannot be read."""
    try:
        if path.read_bytes() == text.encode("ascii"):
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ChallengeError(f"{path}: cannot be read: {error.strerror}; name another folder") from error
    raise ChallengeError(
        f"{path}: differs from the receipt of the record; receipts change only with the name of the challenge, or "
        "if the database is another one; restore what changed, or name another folder"
    )


def write_receipt(path: Path, text: str) -> None:
    """Write a receipt into a file. Raises ChallengeError if that is impossible."""
    try:
        replace_content(path, text.encode("ascii"))
    except OSError as error:
        raise ChallengeError(f"{path}: cannot be written: {error.strerror}; name another file") from error
