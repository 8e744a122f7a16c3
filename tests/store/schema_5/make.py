"""Writes a challenge with a database of schema 5, a bundle and a public archive of it; run once, with release 1.0.0.

They are never made again: tests open copies with the current version. The challenge is that of `tests.public_archives`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from scorer.organising.bundles import export
from scorer.settings.tracks import FILE
from tests.public_archives import END, archived, decided

FOLDER = Path(__file__).parent
NAME = "schema-5.db"


def make(folder: Path, target: Path) -> None:
    """Run the challenge in a folder, and copy what an organiser has of it in the end."""
    live = decided(folder)
    archived(live, target / "challenge-archive.zip")
    bundle = target / "challenge.zip"
    live.do(END, lambda opened, store: export(opened, store, folder / FILE, bundle, solutions=True, files=True))
    for name in ("solutions", "submissions"):
        shutil.copytree(folder / name, target / name)
        shutil.copytree(folder / f"scores.db.{name}", target / f"{NAME}.{name}")
    for name in ("split.key", "teams.toml"):
        shutil.copyfile(folder / name, target / name)
    shutil.copyfile(folder / "scores.db", target / NAME)
    settings = (folder / FILE).read_text(encoding="utf-8")
    (target / FILE).write_text(settings.replace("scores.db", NAME), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        make(Path(temporary) / "live", Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
