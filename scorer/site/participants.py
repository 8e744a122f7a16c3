"""The files for participants: the public settings of the challenge, and the lists of queries and items."""

from __future__ import annotations

import json
from collections.abc import Sequence

from scorer.board.board import Board
from scorer.challenge.lists import LISTS, public_lists
from scorer.challenge.published import published_settings
from scorer.challenge.settings import FILE, Challenge
from scorer.matching.exclusions import excluded_pairs
from scorer.matching.solution import read_ids


def participants_files(challenge: Challenge, boards: Sequence[Board]) -> dict[str, str]:
    """The files by their paths on the site. Raises SolutionError if a list cannot be read."""
    files = {FILE: published_settings(challenge, [board.track for board in boards])}
    for board in boards:
        track, folder = board.track, board.track.name
        for key, path in public_lists(track).items():
            if key == "exclude":
                pairs = zip(*(ids.to_pylist() for ids in excluded_pairs(path)), strict=True)
                lines = [json.dumps({"query": query, "items": [item]}) for query, item in pairs]
            else:
                lines = read_ids(path).to_pylist()
            files[f"{folder}/{LISTS[key]}"] = "".join(f"{line}\n" for line in lines)
    return files
