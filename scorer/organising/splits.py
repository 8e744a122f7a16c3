"""The splits of a challenge: their keys, whether they agree with the solutions, and how the keys are revealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.board.published_split import is_revealed
from scorer.challenge.settings import Challenge, Track, check_stage
from scorer.challenge.splits import QuerySplit, check_split, make_key, split_of
from scorer.entries.in_force import in_force
from scorer.errors import ChallengeError
from scorer.matching.solution import Solution
from scorer.store.events import Kind
from scorer.store.records import Basis, StoredQueries
from scorer.store.snapshot import Snapshot
from scorer.store.store import Store


def check_preliminary(track: Track, basis: Basis, queries: StoredQueries) -> None:
    """Check that the settings for preliminary scores agree with the solution.

    Parameters
    ----------
    track
        The track.
    basis
        Of its board, with its split.
    queries
        Of the solution.

    Raises
    ------
    ChallengeError
        They contradict each other, as `check_split` and `check_stage` say.
    """
    selected = int(basis.flags(queries).sum())
    if basis.split is not None:
        check_split(track.name, int(queries.flagged.sum()), selected, len(queries.ids))
    check_stage(track, selected)


def shows_final(view: Snapshot, track: Track) -> bool:
    """Whether the final scores of a track with preliminary queries are public, so that its split may be, too."""
    return in_force(view, track).stage == "final"


def make_keys(challenge: Challenge) -> list[Path]:
    """Make the key files that the tracks name and that do not exist. Tracks may share a file.

    Returns
    -------
    The files that were made.

    Raises
    ------
    ChallengeError
        No track has a split, or a file cannot be written.
    """
    paths = dict.fromkeys(track.key_path for track in with_split(challenge.tracks) if track.key_path)
    made = [path for path in paths if not path.exists()]
    for path in made:
        make_key(path)
    return made


def with_split(tracks: Sequence[Track]) -> list[Track]:
    """The tracks that have a split. Raises ChallengeError if no track has one."""
    found = [track for track in tracks if track.split is not None]
    if not found:
        names = ", ".join(track.name for track in tracks)
        raise ChallengeError(f"{names}: no split; add split = {{preliminary = 0.2}} to the table of a track")
    return found


def selected_queries(track: Track, split: QuerySplit) -> tuple[int, int]:
    """How many queries of the solution a split selects for the preliminary scores, and how many there are.

    Raises
    ------
    SolutionError
        The solution cannot be read.
    ChallengeError
        The split contradicts the solution, as `check_split` says.
    """
    solution = Solution.read(track.solution_path, track.solution_format)
    flags = split.flags(solution.queries.to_pylist())
    check_split(track.name, int(solution.flagged.sum()), sum(flags), len(flags))
    return sum(flags), len(flags)


def recorded_key(view: Snapshot, track: str) -> str | None:
    """The SHA-256 of the key that the board of a track is based on; None without a board or without a split."""
    recorded = view.recorded_basis(track)
    settings = recorded.settings if recorded is not None else None
    split = settings.get("split") if settings is not None else None
    return split["key_sha256"] if isinstance(split, dict) else None


@dataclass(frozen=True, slots=True)
class Reveal:
    """The key of a track that is public now."""

    track: str
    key_sha256: str
    is_new: bool
    """Whether it was not public before."""


def reveal(challenge: Challenge, store: Store, tracks: Sequence[Track]) -> Iterator[Reveal]:
    """Record that the keys of some tracks are public.

    Parameters
    ----------
    challenge, store
        The challenge and its database.
    tracks
        Tracks of the challenge; those without a split are left out.

    Yields
    ------
    Each track, once its key is recorded. All tracks are checked before the first key is recorded.

    Raises
    ------
    ChallengeError
        A track still hides final scores, or shares its key with one that does; or its key is not the one that its
        board is based on.
    StoreError
        The database fails.
    """
    chosen = [split for track in with_split(tracks) if (split := split_of(track)) is not None]

    def check_all(view: Snapshot) -> None:
        for split in chosen:
            _check_reveal(view, challenge, split)

    store.read(check_all)
    for split in chosen:
        is_new = False

        def event(view: Snapshot, split: QuerySplit = split) -> Sequence[tuple[Kind, Mapping[str, Any]]]:
            nonlocal is_new
            _check_reveal(view, challenge, split)
            is_new = not is_revealed(view, split)
            return [("reveal", {"split_key": split.key.hex()})] if is_new else []

        store.record(split.track, event)
        yield Reveal(split.track, split.key_sha256, is_new)


def _check_reveal(view: Snapshot, challenge: Challenge, split: QuerySplit) -> None:
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
