"""``scorer leaderboard``: the boards in the terminal."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import add_folder, add_track, opened
from scorer.cli.console import say

if TYPE_CHECKING:
    from scorer.board.board import Board


FORMS = ("table", "json", "csv", "markdown")


def add_board(parser: ArgumentParser) -> None:
    """What ``leaderboard`` takes."""
    add_folder(parser)
    add_track(parser)
    parser.add_argument(
        "--format",
        dest="form",
        choices=FORMS,
        default="table",
        help="how to print the board: %(choices)s; default: %(default)s",
        metavar="FORM",
    )


def leaderboard(folder: Path, track: str | None, form: str) -> int:
    """Print the board of each track, from what is kept."""
    from scorer.organising.render import boards
    from scorer.store.store import Store

    challenge, tracks = opened(folder, track)
    with Store.open(challenge.database_address, create=False) as store:
        shown = store.read(lambda view: boards(view, tracks))
    say(_printed(shown, form))
    return 0


def _printed(boards: list[Board], form: str) -> str:
    from scorer.reports.boards import to_csv, to_json, to_markdown

    if form == "json":
        # One board is an object, as in the site; several are a list of such objects.
        texts = [to_json(each).rstrip("\n") for each in boards]
        return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"
    if form == "csv":
        return "\n".join(to_csv(each).replace("\r\n", "\n") for each in boards).rstrip("\n")
    if form == "markdown":
        return "\n".join(f"## {each.track.title}\n\n{to_markdown(each)}" for each in boards).rstrip("\n")
    return "\n\n".join(map(_table, boards))


def _table(board: Board) -> str:
    from scorer.reports.boards import export_columns, export_rows, printed
    from scorer.reports.table import aligned

    rows = [list(export_columns(board))]
    rows += [[printed(cell, board.track.decimals) for cell in row.values()] for row in export_rows(board)]
    return f"{board.track.title}\n{aligned(rows, left=3)}"
