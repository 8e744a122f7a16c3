"""``scorer erratum``: a changed solution or rule is previewed, applied, or cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scorer.cli.arguments import Parser, WrongCallError, add_challenge, add_track, open_store
from scorer.cli.console import print_result

if TYPE_CHECKING:
    from scorer.live.errata import Changes

ACTIONS = {
    "preview": "score all entries by the files as they are now, and print what changes",
    "apply": "change the board, and publish the erratum with its reason",
    "cancel": "discard the preview",
}


def add_erratum(parser: Parser) -> None:
    """Add the arguments of ``erratum``."""
    described = "; ".join(f"{name}: {about}" for name, about in ACTIONS.items())
    parser.add_argument("action", choices=tuple(ACTIONS), metavar="|".join(ACTIONS), help=described)
    parser.add_argument("--reason", metavar="TEXT", help="with apply: why; it is recorded, and visitors read it")
    parser.add_argument(
        "--without-missing",
        action="store_true",
        help="with apply: leave entries unscored whose files are gone, as after the close of their phase",
    )
    add_track(parser)
    add_challenge(parser)


def erratum(action: str, reason: str | None, without_missing: bool, track: str | None, challenge: Path) -> int:
    """Change the solution or the rules of a track after its first phase has started.

    Once a phase has started, runs go on by the recorded solution and rules, also if the files have changed. A preview
    scores all entries by the changed files and prints every team's score and rank before and after. Apply changes the
    whole board in one step. Entries that arrive in between are scored by both.
    """
    from scorer.organising.errata import apply, cancel, preview, track_of_erratum

    if (action == "apply") != (reason is not None):
        raise WrongCallError("apply needs --reason TEXT" if reason is None else "--reason belongs to apply")
    with open_store(challenge, track) as (settings, _, store):
        chosen = track_of_erratum(settings, store, track)
        if action == "preview":
            print_result(_table(preview(settings, store, chosen)))
            print_result(f"{chosen.name}: `scorer erratum apply --reason TEXT` publishes it, `cancel` discards it")
        elif reason is not None:
            applied, changes = apply(settings, store, chosen, reason, without_missing=without_missing)
            print_result(
                f"{_table(changes)}\n{chosen.name}: erratum {applied.number} is applied; `scorer run` shows it"
            )
        else:
            print_result(f"{chosen.name}: erratum {cancel(store, chosen).number} is cancelled")
    return 0


def _table(changes: Changes) -> str:
    from scorer.wording.table import Cell, Column, Table, text_table

    before, after = changes.before, changes.after
    heads = ("team", "rank before", "rank after", f"{before.measure} before", f"{after.measure} after")
    rows = [
        [
            Cell(team.team.name),
            Cell(team.before.rank),
            Cell(team.after.rank),
            Cell(team.before.score, before.decimals),
            Cell(team.after.score, after.decimals),
        ]
        for team in changes.teams
    ]
    table = text_table(Table([Column(head, numeric=head != "team") for head in heads], rows))
    return f"{table}\n{changes.summary}"
