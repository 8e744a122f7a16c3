"""``scorer entries``: what became of each submission."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from scorer.cli.arguments import Parser, add_as_of, add_challenge, add_form, add_track, open_store, selected
from scorer.cli.console import print_message, print_result

FORMS = ("table", "json", "csv")


def add_entries(parser: Parser) -> None:
    """Add the arguments of ``entries``."""
    add_challenge(parser)
    add_track(parser)
    add_form(parser, FORMS)
    add_as_of(parser)


def entries(challenge: Path, track: str | None, form: str, as_of: datetime | int | None) -> int:
    """Print every entry: when it was received, in which phase, its state, and whether it counts.

    The time at which it was recorded is there if a phase had closed since the time of receipt.

    The scores are those that visitors may see: no final scores before their time, and none of a frozen period.
    """
    from scorer.organising.boards import listed_entries
    from scorer.reports.entries import entries_json, entries_table, misdated_lines
    from scorer.wording.table import csv_table, text_table

    with open_store(challenge, track) as (_, tracks, store):
        listed = store.read(lambda view: listed_entries(selected(view, as_of), tracks))
    if form == "json":
        print_result(entries_json(listed))
    else:
        print_result((csv_table if form == "csv" else text_table)(entries_table(listed)))
    if form == "table":
        print_message(*misdated_lines(entry for track_entries in listed for entry in track_entries.entries))
    return 0
