"""``scorer init``: a challenge to start from."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from scorer.cli.console import say


def add_new_folder(parser: ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("folder", type=Path, help="a new or an empty folder")


def init(folder: Path) -> int:
    """Make a new challenge to start from: a commented challenge.toml, a tiny solution, two tiny submissions."""
    from scorer.challenge.starter import write_new

    write_new(folder)
    say(f"{folder} is ready; next: scorer run {folder}")
    return 0
