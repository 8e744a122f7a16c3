"""The words of a board that more than its pages need: what it shows, the status of its track, and its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from markupsafe import Markup

from scorer.board.board import Board, Row
from scorer.live.entry import STATE_WORDS, Answer, Entry, State
from scorer.rules.phases import closing, with_grace
from scorer.wording import counted, exact_time, in_words, iso_time, sentence


def track_status(board: Board) -> Markup:
    """The phase, its state, and until when it lasts, as HTML; empty for a track without phases."""
    plan = board.phases
    if not plan.all:
        return Markup()
    phase = plan.shown_phase(board.now) or plan.all[0]
    state = plan.state(board.now)
    closes = _moment(phase.end) + with_grace(phase)
    if state == "open":
        lead = _state(f"Phase {phase.name} is open", phase.closes, f"Phase {phase.name} was open")
        return lead + Markup(" until {}").format(closes)
    if state == "in its grace":
        lead = _state(f"Phase {phase.name} is in its grace", phase.closes, f"Phase {phase.name} is closed")
        return lead + Markup(": it was open until {}").format(closes)
    if state == "over":
        return Markup("<b>The track is over</b>: phase {} closed {}").format(phase.name, closes)
    lead = _state("Between phases" if state == "between phases" else "Not started", phase.start, "Started")
    left = Markup('<span class="left" data-until="{}"></span>').format(iso_time(phase.start))
    return lead + Markup(": phase {}, from {}{}").format(phase.name, _moment(phase.start), left)


def _moment(when: datetime) -> Markup:
    """A time as HTML, as in ``8 July 2027, 12:00 UTC``."""
    return Markup('<time datetime="{}">{}</time>').format(iso_time(when), exact_time(when))


def _state(now: str, until: datetime, then: str) -> Markup:
    """A state in bold, and the words that a script puts in its place once its time is over."""
    return Markup('<b data-until="{}" data-then="{}">{}</b>').format(iso_time(until), then, now)


def without_scores(board: Board) -> str:
    """Why the board of a track with phases has no scores now, in one sentence; empty if nothing hides them."""
    plan = board.phases
    if board.track.why_hidden or not plan.all:
        return board.track.why_hidden
    if board.track.hides_scores and (phase := plan.current(board.now)) is not None:
        return f"Scores are not shown until phase {phase.name} has closed, {closing(phase)}."
    phase = plan.upcoming(board.now)
    if phase is not None and plan.state(board.now) == "not started":
        return f"No scores yet: phase {phase.name} starts {exact_time(phase.start)}."
    if board.rows:
        return ""
    if board.frozen_since is not None:
        return "No entries were recorded before the board was frozen."
    return "No entries were received." if plan.is_over(board.now) else "No entries yet."


def words_of(state: State) -> str:
    """What a part of the number of entries is called."""
    return STATE_WORDS[state].of_board or STATE_WORDS[state].label


def status_words(entry: Entry) -> str:
    """What became of an entry: its outcome, or why it does not matter, as in ``replaced, late``."""
    words: list[State | Answer] = []
    if entry.presence != "present":
        words.append(entry.presence)
    if entry.admission != "ok":
        words.append(entry.admission)
    return ", ".join(STATE_WORDS[word].label for word in words or [entry.answer or entry.outcome])


def ranked_positions(board: Board) -> list[int]:
    """The positions in `Board.rows` of the teams with a rank, the best first."""
    return [position for position, row in enumerate(board.rows) if row.rank is not None]


def separable_in_tiers(board: Board) -> list[Row]:
    """The teams that are separable from the best one of their tier, although a lower one of it is not."""
    return [row for row in board.rows if row.primary_certainty and row.primary_certainty.separable_from_leader]


def table_caption(board: Board) -> str:
    """What the table finds: ``Ten teams in five tiers; the first two are not separable.``."""
    ranked = ranked_positions(board)
    if not ranked:
        return _without_ranks(board)
    teams = sentence(counted_in_words(len(ranked), "team" if board.track.rows == "team" else "row"))
    by = "" if board.track.shows_final else " by preliminary scores"
    certainty = board.primary_certainty
    if certainty is None:
        return f"{teams}, ranked{by}." if len(ranked) > 1 else f"{teams}{by}."
    return f"{teams} in {counted_in_words(len(certainty.tiers), 'tier')}{by}; {leading(board)}."


def _without_ranks(board: Board) -> str:
    if reason := without_scores(board):
        return reason
    if not board.rows:
        return "No submissions yet."
    if all(row.entry is None for row in board.rows):
        return "No entry is scored yet."
    if all(row.entry is None for row in board.rows if not row.baseline):
        return "Baselines only; no entry of a team is scored yet."
    if any(row.team.is_excluded and row.entry for row in board.rows):
        return "No team is ranked."
    return "No team has a score yet."


def counted_in_words(count: int, singular: str) -> str:
    """``one tier``, ``twelve tiers``, ``13 tiers``."""
    return f"{in_words(count)} {counted(count, singular).rpartition(' ')[2]}"


def leading(board: Board) -> str:
    """What the first tier says about the teams at the top; empty without tiers."""
    ranked, tiers = ranked_positions(board), board.primary_certainty.tiers if board.primary_certainty else ()
    if not tiers:
        return ""
    first = tiers[0].rows
    apart = [row for row in separable_in_tiers(board) if row.primary_certainty and not row.primary_certainty.tier]
    others = len(first) - 1 - len(apart)
    if len(tiers) == len(ranked):
        return "all are separable"
    if not others:
        return "the first is separable from all others"
    if len(ranked) == 2:
        return "they are not separable"
    if len(tiers) == 1 and not apart:
        return "none is separable from the first"
    if apart:
        return f"the first is not separable from {counted_in_words(others, 'other')}"
    return (
        "the first two are not separable"
        if others == 1
        else f"the first is not separable from the next {in_words(others)}"
    )


def next_to_separate(board: Board, ranked: Sequence[int]) -> tuple[int | None, int | None, int | None]:
    """The ranks of the first neighbours that are not separable, and how many queries would separate them, or Nones."""
    pairs = {(pair.row, pair.other): pair for pair in board.pairs}
    for neighbours in pairwise(ranked):
        pair = pairs.get(neighbours)
        first, second = (board.rows[position].rank for position in neighbours)
        if pair and pair.is_separable is False and pair.queries_needed and first != second:
            return first, second, pair.queries_needed
    return None, None, None


def board_queries(board: Board) -> int:
    """How many queries the scores that the board is ranked by are means over."""
    if not board.track.shows_final:
        return board.preliminary_queries
    return board.scored_queries - (board.preliminary_queries if board.track.final == "rest" else 0)


def significant(number: float) -> str:
    """A positive number to two digits, as in ``0.061`` and ``1,700``."""
    places = 1 - math.floor(math.log10(number))
    return f"{round(number, places):,.{max(places, 0)}f}"


# The numbers


def counts(board: Board) -> tuple[str, ...]:
    """The numbers of teams without baselines, of entries with those of baselines, and of queries of the solution."""
    noun = "team" if board.track.rows == "team" else "row"
    teams = counted(sum(not row.baseline for row in board.rows), noun)
    entries = counted(sum(len(row.present_entries) for row in board.rows), "entry", "entries")
    queries = [counted(board.queries, "query", "queries")] if board.queries else []
    return (*(() if "board" in board.track.hidden else (teams, entries)), *queries)
