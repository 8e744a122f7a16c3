"""The splits of a challenge: their keys, and whether they agree with the solutions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scorer.challenge.settings import Challenge, Track
from scorer.challenge.splits import QuerySplit, check_ladder, check_split, check_stage, make_key
from scorer.errors import ChallengeError
from scorer.store.records import Basis, StoredQueries


def check_preliminary(track: Track, basis: Basis, queries: StoredQueries) -> None:
    """Check that the settings for preliminary scores agree with the queries of the solution; `basis` has the split."""
    selected = int(basis.flags(queries).sum())
    if basis.split is not None:
        check_split(track.name, int(queries.flagged.sum()), selected, len(queries.ids))
    check_stage(track, selected)
    check_ladder(track, selected)


def make_keys(challenge: Challenge) -> list[Path]:
    """Make the key files that the tracks name and that do not exist, and return them. Tracks may share a file."""
    paths = dict.fromkeys(track.key_path for track in with_split(challenge.tracks) if track.key_path)
    made = [path for path in paths if not path.exists()]
    for path in made:
        make_key(path)
    return made


def with_split(tracks: Sequence[Track]) -> list[Track]:
    """The tracks that have a split. Raises ChallengeError if no track has one."""
    with_key = [track for track in tracks if track.split is not None]
    if not with_key:
        names = ", ".join(track.name for track in tracks)
        raise ChallengeError(f"{names}: no split; add split = {{preliminary = 0.2}} to the table of a track")
    return with_key


def selected_queries(track: Track, split: QuerySplit) -> tuple[int, int]:
    """How many queries of the solution a split selects for the preliminary scores, and how many there are."""
    from scorer.matching.solution import Solution  # noqa: PLC0415 (Arrow is slow to load)

    solution = Solution.read(track.solution_path, track.solution_format)
    flags = split.flags(solution.queries.to_pylist())
    check_split(track.name, int(solution.flagged.sum()), sum(flags), len(flags))
    return sum(flags), len(flags)
