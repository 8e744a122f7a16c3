"""Writes the bundle ``bundle-1.zip`` and the boards ``expected-<track>.json``, from a season with a fixed seed.

The secrets of a database are random, so that another run writes another bundle with the same boards. Once a version is
released, its bundle is never made again: a test imports it with the current version.
"""

from __future__ import annotations

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from example.season import Simulation
from example.season_plan import season
from scorer.organising.bundles import export
from scorer.organising.commitment import commit, reveal

FOLDER = Path(__file__).parent
BUNDLE = FOLDER / "bundle-1.zip"
NOW = datetime(2027, 5, 10, tzinfo=UTC)
"""The time of the boards: all phases are over, so they show preliminary and final scores."""


def main() -> None:
    """Commit, carry out a season until `NOW`, reveal, and write the files."""
    BUNDLE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(season(12, teams=10, files=40, runs=6), Path(folder) / "season")
        with simulation.opened() as (challenge, store):
            commit(challenge, store)
        simulation.until(NOW)
        with simulation.opened() as (challenge, store):
            reveal(challenge, store, challenge.tracks)
        simulation.render()
        with simulation.opened() as (challenge, store):
            export(challenge, store, simulation.folder / "challenge.toml", BUNDLE, solutions=True)
        for track in challenge.tracks:
            board = json.loads((challenge.site_path / track.name / "leaderboard.json").read_text(encoding="utf-8"))
            text = json.dumps({"rows": board["rows"]}, indent=1, ensure_ascii=False)
            (FOLDER / f"expected-{track.name}.json").write_text(f"{text}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
