"""Challenges with an overall ranking over three tracks, and the numbers of it by plain loops."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

SOLUTIONS = {"one": 12, "two": 12, "three": 7}
"""Tracks, and the numbers of their queries; two tracks have equally many."""

STRENGTHS = {
    "alder": (0.9, 0.5, 0.6),
    "birch": (0.7, 0.8, 0.5),
    "cedar": (0.6, 0.7, None),
    "dogwood": (0.4, 0.6, 0.8),
    "elder": (None, 0.5, 0.5),
    "fir": (0.9, 0.5, 0.6),
}
"""Teams, and how good they are in each track; None: they have no entry there. Two teams have the same lists."""


def write_challenge(
    folder: Path,
    overall: str = "",
    tracks: str = "",
    seed: int = 1,
    *,
    shares: bool = True,
    solutions: Mapping[str, int] = SOLUTIONS,
) -> Mapping[str, dict[str, list[str]]]:
    """Write a challenge with these lines of [overall] and of each track; return the relevant items of queries.

    Tracks after the third have the strengths of the first ones. `shares`: the queries of the shorter track have the ids
    of some of the others. Otherwise, each has its own id.
    """
    draw = random.Random(seed)
    text = f'name = "Three"\n{f"[overall]{chr(10)}{overall}" if overall else ""}\n'
    relevant = {}
    for number, (track, queries) in enumerate(solutions.items()):
        relevant[track] = {
            f"{'q' if shares else track}{query}": draw.sample("abcdefghij", 3) for query in range(queries)
        }
        (folder / "solutions").mkdir(parents=True, exist_ok=True)
        lines = [f"{query}:0:{','.join(f'{item}|1' for item in items)}" for query, items in relevant[track].items()]
        (folder / "solutions" / f"{track}.txt").write_text("\n".join(lines))
        text += f'[tracks.{track}]\ntitle = "Track {track}"\nsolution = "solutions/{track}.txt"\nlist_length = 5\n'
        text += f'primary = "AP"\nmeasures = ["RR", "P@5"]\n{tracks}\n'
        for team, strengths in STRENGTHS.items():
            if (strength := strengths[number % len(strengths)]) is None:
                continue
            chosen = random.Random(f"{seed} {strengths} {track}")
            place = folder / "submissions" / track / f"{team}.txt"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(
                "\n".join(f"{query}:{_list(chosen, items, strength)}" for query, items in relevant[track].items())
            )
    (folder / "challenge.toml").write_text(text)
    return relevant


def _list(chosen: random.Random, items: list[str], strength: float) -> str:
    weights = {item: chosen.random() * (strength if item in items else 1 - strength) for item in "abcdefghij"}
    return ",".join(sorted(weights, key=lambda item: -weights[item])[:5])
