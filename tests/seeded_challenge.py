"""A challenge with known teams, written from fixed seeds: teams that find more or fewer of the relevant items."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

ITEMS = [f"i{number}" for number in range(40)]
QUERIES = [f"q{number}" for number in range(60)]
QUALITY = {"amber-lamp": 0.85, "birch-gate": 0.8, "copper-wire": 0.45, "delta-fen": 0.42, "even-tide": 0.1}
BASELINE = "popular"

SETTINGS = """
name = "Certain"

[tracks.main]
title = "Main"
solution = "solutions/main.txt"
list_length = 10
cutoffs = [5, 10]
primary = "MARp"
measures = ["nDCG@10", "GMAP", "NumRelRet"]
stage = "final"
decimals = 3
baselines = ["popular"]
"""


def write_challenge(folder: Path, settings: str = SETTINGS, quality: Mapping[str, float] = QUALITY) -> None:
    """Write a challenge in which every fourth query is flagged, with teams that find more or fewer relevant items."""
    chance = random.Random(7)
    relevant = {query: chance.sample(ITEMS, 8) for query in QUERIES}
    graded = {
        query: "" if number % 10 == 3 else ",".join(f"{item}|{1 + chance.randrange(3)}" for item in items)
        for number, (query, items) in enumerate(relevant.items())
    }
    (folder / "solutions").mkdir(parents=True)
    (folder / "solutions" / "main.txt").write_text(
        "".join(f"{query}:{int(number % 4 == 0)}:{graded[query]}\n" for number, query in enumerate(QUERIES))
    )
    (folder / "submissions" / "main").mkdir(parents=True)
    for number, (team, share) in enumerate({**quality, BASELINE: 0.2}.items(), 10):
        write_submission(folder, team, number, share, relevant)
    (folder / "challenge.toml").write_text(settings)


def write_submission(folder: Path, team: str, number: int, quality: float, relevant: dict[str, list[str]]) -> None:
    """Write lists whose items are relevant with a probability."""
    chance = random.Random(number)
    lines = []
    for query in QUERIES:
        chosen: list[str] = []
        while len(chosen) < 10:
            item = chance.choice(relevant[query] if chance.random() < quality else ITEMS)
            chosen += [item] if item not in chosen else [next(each for each in ITEMS if each not in chosen)]
        lines.append(f"{query}:{','.join(chosen)}\n")
    (folder / "submissions" / "main" / f"20110418T{number % 24:02}0000Z-{team}.txt").write_text("".join(lines))
