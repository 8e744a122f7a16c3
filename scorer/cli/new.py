"""``scorer init``: a challenge to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scorer.cli.say import say


def init(folder: Annotated[Path, typer.Argument(help="A new or an empty folder.")]) -> None:
    """Make a new challenge to start from: a commented challenge.toml, a tiny solution, two tiny submissions."""
    from scorer.starter import write_new

    write_new(folder)
    say(f"{folder} is ready; next: scorer run {folder}")
