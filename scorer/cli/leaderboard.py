"""``scorer leaderboard``: the boards in the terminal."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import Parser, add_as_of, add_challenge, add_form, add_track, open_store, selected
from scorer.cli.console import print_result

if TYPE_CHECKING:
    from scorer.board.board import Board
    from scorer.store.log import LogLine
    from scorer.store.snapshot import Snapshot

FORMS = ("table", "json", "csv", "markdown")


def add_board(parser: Parser) -> None:
    """Add the arguments of ``leaderboard``."""
    add_challenge(parser)
    add_track(parser)
    add_form(parser, FORMS)
    add_as_of(parser)


def leaderboard(challenge: Path, track: str | None, form: str, as_of: datetime | int | None) -> int:
    """Print the board of each track from the stored results, without scoring."""
    from scorer.live.log import published_log
    from scorer.organising.boards import boards

    with open_store(challenge, track) as (settings, tracks, store):

        def read(whole: Snapshot) -> tuple[list[Board], LogLine | None]:
            view = selected(whole, as_of)
            head = published_log(view, settings.tracks).head if form == "json" else None
            return boards(view, tracks, whole.cache(store.sidecar(settings.root))), head

        shown, head = store.read(read)
    print_result(_printed(shown, form, head))
    return 0


def _printed(boards: list[Board], form: str, head: LogLine | None) -> str:
    from scorer.reports.boards import board_table, to_markdown
    from scorer.reports.leaderboard import to_json
    from scorer.wording.table import csv_table, text_table

    if form == "json":
        # One board is an object, as on the site; several boards are a list of such objects.
        texts = [to_json(board, head).rstrip("\n") for board in boards]
        return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"
    if form == "csv":
        return "\n\n".join(csv_table(board_table(board)) for board in boards)
    if form == "markdown":
        return "\n".join(f"## {board.track.title}\n\n{to_markdown(board)}" for board in boards).rstrip("\n")
    return "\n\n".join(f"{board.track.title}\n{text_table(board_table(board))}" for board in boards)
