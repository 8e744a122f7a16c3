"""``scorer init``: a new challenge to start from."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from scorer.cli.console import print_result


def add_new_folder(parser: ArgumentParser) -> None:
    """Add the arguments of ``init``."""
    parser.add_argument("folder", type=Path, help="a new or empty folder")


def init(folder: Path) -> int:
    """Write a new challenge to start from: challenge.toml with comments, a small solution, two submissions."""
    from scorer.challenge.starter import write_new

    write_new(folder)
    print_result(f"wrote a challenge into {folder}; next: scorer run {folder}")
    return 0
