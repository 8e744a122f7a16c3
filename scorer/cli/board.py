"""``scorer leaderboard`` and ``measures``: what is known, in the terminal."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scorer.cli.run import chosen
from scorer.cli.say import Folder, TrackName, say
from scorer.errors import MeasureError

if TYPE_CHECKING:
    from scorer.leaderboard import Board
    from scorer.measures import Kind


class Output(StrEnum):
    """How a board is printed."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


def leaderboard(
    folder: Folder = Path(),
    track: TrackName = None,
    output: Annotated[Output, typer.Option("--format", help="How to print the board.")] = Output.table,
) -> None:
    """Print the board of each track, from what is kept."""
    from scorer.challenge import Challenge
    from scorer.pipeline import boards
    from scorer.store import Store

    challenge = Challenge.read(folder, solutions=False)
    tracks = challenge.tracks if track is None else [chosen(challenge, track)]
    with Store.open(challenge.database_address, create=False) as store:
        shown = boards(store, tracks)
    say(_printed(shown, output))


def _printed(boards: list[Board], output: Output) -> str:
    from scorer.leaderboard import to_csv, to_json, to_markdown

    if output is Output.json:
        # One board is an object, as in the site; several are a list of such objects.
        texts = [to_json(each).rstrip("\n") for each in boards]
        return texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]"
    if output is Output.csv:
        return "\n".join(to_csv(each).replace("\r\n", "\n") for each in boards).rstrip("\n")
    if output is Output.markdown:
        return "\n".join(f"## {each.track.title}\n\n{to_markdown(each)}" for each in boards).rstrip("\n")
    return "\n\n".join(map(_table, boards))


def _table(board: Board) -> str:
    from scorer.leaderboard import export_columns, export_rows, printed
    from scorer.output import aligned

    rows = [list(export_columns(board))]
    rows += [[printed(cell, board.track.decimals) for cell in row.values()] for row in export_rows(board)]
    return f"{board.track.title}\n{aligned(rows, left=3)}"


def measures(
    name: Annotated[str | None, typer.Argument(help="One of them, to have it explained.")] = None,
) -> None:
    """List the measures, or explain one."""
    from scorer.measures import KINDS, parse
    from scorer.output import aligned

    if name is None:
        say(aligned([[kind.usage, kind.title, kind.summary] for kind in KINDS], left=3))
        return
    try:
        kinds = list(dict.fromkeys(measure.kind for measure in parse(name, cutoffs=[10])))
    except MeasureError as error:
        raise typer.BadParameter(str(error), param_hint="NAME") from error
    say("\n\n".join(map(_explained, kinds)))


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
