"""``scorer leaderboard`` and ``measures``: what is known, in the terminal."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.calls import WrongCallError, add_folder, add_track
from scorer.cli.run import chosen
from scorer.cli.say import say
from scorer.errors import MeasureError

if TYPE_CHECKING:
    from scorer.leaderboard import Board
    from scorer.measures import Kind

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
    from scorer.challenge import Challenge
    from scorer.pipeline import boards
    from scorer.store import Store

    challenge = Challenge.read(folder, solutions=False)
    tracks = challenge.tracks if track is None else [chosen(challenge, track)]
    with Store.open(challenge.database_address, create=False) as store:
        shown = boards(store, tracks)
    say(_printed(shown, form))
    return 0


def _printed(boards: list[Board], form: str) -> str:
    from scorer.leaderboard import to_csv, to_json, to_markdown

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
    from scorer.leaderboard import export_columns, export_rows, printed
    from scorer.output import aligned

    rows = [list(export_columns(board))]
    rows += [[printed(cell, board.track.decimals) for cell in row.values()] for row in export_rows(board)]
    return f"{board.track.title}\n{aligned(rows, left=3)}"


def add_measure(parser: ArgumentParser) -> None:
    """What ``measures`` takes."""
    parser.add_argument("name", nargs="?", help="one of them, to have it explained")


def measures(name: str | None) -> int:
    """List the measures, or explain one."""
    from scorer.measures import KINDS, parse
    from scorer.output import aligned

    if name is None:
        say(aligned([[kind.usage, kind.title, kind.summary] for kind in KINDS], left=3))
        return 0
    try:
        kinds = list(dict.fromkeys(measure.kind for measure in parse(name, cutoffs=[10])))
    except MeasureError as error:
        raise WrongCallError(str(error)) from error
    say("\n\n".join(map(_explained, kinds)))
    return 0


def _explained(kind: Kind) -> str:
    told = [
        f"{kind.usage}: {kind.title}",
        kind.summary,
        f"  {kind.formula}",
        *(
            f"  {each.name}: {each.about.description} ({each.allowed}; default {each.default})"
            for each in kind.parameters
        ),
        kind.edge_cases,
        f"Source: {kind.source}",
    ]
    if kind.aliases:
        told.append(f"Also written: {', '.join(kind.aliases)}")
    return "\n".join(told)
