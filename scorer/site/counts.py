"""The numbers of a board: teams, entries and queries, each with its parts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scorer.board.board import Board
from scorer.live.entry import STATE_WORDS, State

STATES: tuple[State, ...] = ("scored", "rejected", "waiting", "failed", "misdated", "early", "late", "over-quota")
"""The parts of the number of entries; withdrawn entries are not counted."""


def words_of(state: State) -> str:
    """What a part of the number of entries is called."""
    return STATE_WORDS[state].of_board or STATE_WORDS[state].label


@dataclass(frozen=True, slots=True)
class Count:
    """A number and its parts."""

    number: int
    noun: str
    parts: str
    """The numbers that add up to `number`; empty where nothing is counted."""

    def __str__(self) -> str:
        return f"{self.number:,} {self.noun}"


def counts(board: Board) -> tuple[Count, ...]:
    """The numbers of teams without baselines, of entries with those of baselines, and of queries of the solution."""
    return _teams(board), _entries(board), *([_queries(board)] if board.queries else [])


def _noun(count: int, singular: str, plural: str) -> str:
    return singular if count == 1 else plural


def _teams(board: Board) -> Count:
    teams = [row for row in board.rows if not row.baseline]
    baselines = len(board.rows) - len(teams)
    ranked = sum(row.rank is not None for row in teams)
    excluded = sum(row.team.is_excluded for row in teams)
    unscored = sum(row.entry is None and not row.team.is_excluded for row in teams)
    undefined = len(teams) - ranked - unscored - excluded
    listed = [
        (ranked, "ranked"),
        (undefined, "with an undefined score"),
        (unscored, "without a score"),
        (excluded, "disqualified or withdrawn"),
    ]
    parts = "" if board.track.hides_scores else _parts(listed)
    besides = f"; {baselines:,} {_noun(baselines, 'baseline', 'baselines')}" if baselines else ""
    return Count(len(teams), _noun(len(teams), "team", "teams"), f"{parts}{besides}".removeprefix("; "))


def _entries(board: Board) -> Count:
    sent = [(entry, row.baseline) for row in board.rows for entry in row.sent]
    by_words = Counter(words_of(entry.state) for entry, _ in sent)
    parts = _parts([(by_words[words], words) for words in dict.fromkeys(map(words_of, STATES))])
    of_baselines = sum(is_baseline for _, is_baseline in sent)
    besides = f"; {of_baselines:,} of baselines" if of_baselines else ""
    return Count(len(sent), _noun(len(sent), "entry", "entries"), parts + besides)


def _queries(board: Board) -> Count:
    return Count(board.queries, _noun(board.queries, "query", "queries"), _query_parts(board))


def _query_parts(board: Board) -> str:
    scored, preliminary = board.scored_queries, board.preliminary_queries
    left_out = (board.queries - scored, "left out")
    if not scored:
        return "none scored yet"
    if not board.track.shows_final:
        return _parts([(preliminary, "scored"), (scored - preliminary, "kept for the final scores"), left_out])
    if preliminary and board.track.final == "rest":
        return _parts([(scored - preliminary, "scored"), (preliminary, "preliminary only"), left_out])
    of_them = f" ({preliminary:,} preliminary)" if preliminary else ""
    return _parts([(scored, f"scored{of_them}"), left_out])


def _parts(parts: list[tuple[int, str]]) -> str:
    """``10 ranked, 1 without a score``: those that are not 0."""
    return ", ".join(f"{count:,} {words}" for count, words in parts if count)
