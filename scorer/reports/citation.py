"""How to cite a board: as BibTeX and as a Citation File Format (CFF) document."""

from __future__ import annotations

import json

from scorer.board.board import Board
from scorer.challenge.settings import Challenge
from scorer.wording import counted, escape_latex, utc_time


def to_bibtex(challenge: Challenge, board: Board) -> str:
    """Return a BibTeX entry for the board, with the day of its last change."""
    day = "" if board.updated is None else utc_time(board.updated, "day")
    fields = {
        "title": _escaped(_title(challenge, board)),
        "author": f"{{{_escaped(f'The organisers of {challenge.name}')}}}",
        "note": _escaped(_state(board)),
        "url": _address(challenge, board),
    }
    if day:
        fields |= {"year": day[:4], "month": f"{int(day[5:7])}", "urldate": day}
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@misc{{{board.track.name}-leaderboard,\n{lines}\n}}\n"


def to_cff(challenge: Challenge, board: Board) -> str:
    """Return a CFF document, version 1.2.0, for the board. Texts are JSON strings, which YAML reads as they are."""
    lines = [
        "cff-version: 1.2.0",
        "message: Please cite this leaderboard as below.",
        "type: dataset",
        f"title: {_quoted(_title(challenge, board))}",
        f"abstract: {_quoted(_state(board))}",
        "authors:",
        f"  - name: {_quoted(f'The organisers of {challenge.name}')}",
    ]
    if board.updated is not None:
        lines.append(f"date-released: {utc_time(board.updated, 'day')}")
    if address := _address(challenge, board):
        lines.append(f"url: {_quoted(address)}")
    return "\n".join(lines) + "\n"


def _address(challenge: Challenge, board: Board) -> str:
    """The address of the board; empty if the challenge states none. BibTeX counts braces, also in a URL."""
    url = challenge.branding.url.replace("{", "%7B").replace("}", "%7D")
    return f"{url}{board.track.name}/index.html" if url else ""


def _title(challenge: Challenge, board: Board) -> str:
    return f"Leaderboard of the track {board.track.title}, {challenge.name}"


def _state(board: Board) -> str:
    """What the board showed: which scores, of how many teams, by which solution."""
    teams = counted(sum(row.rank is not None for row in board.rows), "ranked team")
    state = f"{board.track.shown_stage.capitalize()} {board.columns[0]} of {teams}"
    if board.salted_digest is None:
        return state
    return f"{state}; salted digest of the solution {board.salted_digest.salted}"


def _escaped(text: str) -> str:
    """The text for BibTeX, which counts braces even after a backslash."""
    escaped = escape_latex(" ".join(text.split()))
    return escaped.replace(r"\{", r"\textbraceleft{}").replace(r"\}", r"\textbraceright{}")


def _quoted(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)
