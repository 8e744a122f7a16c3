"""The files for participants: the public settings of the challenge, and the lists of queries and items."""

from __future__ import annotations

from collections.abc import Sequence

from scorer.board.board import Board
from scorer.challenge.published import LISTS, published_settings
from scorer.challenge.settings import FILE, Challenge
from scorer.matching.solution import Solution, read_ids


def participants_files(challenge: Challenge, boards: Sequence[Board]) -> dict[str, str]:
    """The files by their paths on the site. Raises SolutionError if a list cannot be read."""
    files = {FILE: published_settings(challenge, [board.track for board in boards])}
    for board in boards:
        track, folder = board.track, board.track.name
        if track.queries_path is not None:
            ids = Solution.read_queries(track.queries_path).queries.to_pylist()
            files[f"{folder}/{LISTS['queries']}"] = "".join(f"{one}\n" for one in ids)
        if track.items_path is not None:
            ids = read_ids(track.items_path).to_pylist()
            files[f"{folder}/{LISTS['items']}"] = "".join(f"{one}\n" for one in ids)
    return files
