"""The sentences of a board: what it shows, how sure it is, and what it is ranked by; and its numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from scorer.board.board import Board
from scorer.board.certainty import Certainty
from scorer.measures import Measure
from scorer.site.entry_words import STATES, words_of
from scorer.site.status import without_scores
from scorer.wording import counted, in_words, joined, sentence

MANY = 12
"""With more teams, a board says how many neighbouring ranks are separable, instead of what one pair would need."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or several."""

    lead: str
    """The first words, which are printed bold."""
    rest: str


def ranked_positions(board: Board) -> list[int]:
    """The positions in `Board.rows` of the teams with a rank, the best first."""
    return [position for position, row in enumerate(board.rows) if row.rank is not None]


def are_interleaved(certainty: Certainty) -> bool:
    """Whether a team of one tier is between teams of another in the ranking."""
    positions = [position for tier in certainty.tiers for position in sorted(tier.rows)]
    return positions != sorted(positions)


# The caption


def table_caption(board: Board) -> str:
    """What the table finds: ``Ten teams in five tiers; the first two are not separable.``."""
    ranked = ranked_positions(board)
    if not ranked:
        return _without_ranks(board)
    teams = sentence(counted_in_words(len(ranked), "team"))
    by = "" if board.track.shows_final else " by preliminary scores"
    certainty = board.primary_certainty
    if certainty is None:
        return f"{teams}, ranked{by}." if len(ranked) > 1 else f"{teams}{by}."
    return f"{teams} in {counted_in_words(len(certainty.tiers), 'tier')}{by}; {_leading(ranked, certainty)}."


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


def _leading(ranked: Sequence[int], certainty: Certainty) -> str:
    """What the first tier says about the teams at the top."""
    first = certainty.tiers[0].rows
    others = len(first) - 1
    if len(certainty.tiers) == len(ranked):
        return "all are separable"
    if not others:
        return "the first is separable from all others"
    if len(ranked) == 2:
        return "they are not separable"
    if len(certainty.tiers) == 1:
        return "none is separable from the first"
    if sorted(first) != list(ranked[: len(first)]):
        return f"the first is not separable from {counted_in_words(others, 'other')}"
    return (
        "the first two are not separable"
        if others == 1
        else f"the first is not separable from the next {in_words(others)}"
    )


def front_summary(board: Board) -> str:
    """What the front page says about the leading teams of a board."""
    ranked, certainty = ranked_positions(board), board.primary_certainty
    if certainty is None or len(certainty.tiers) < 2:
        return table_caption(board)
    text = f"{sentence(_leading(ranked, certainty))}. {sentence(counted_in_words(len(certainty.tiers), 'tier'))} in all"
    if certainty.smallest_difference is None:
        return f"{text}."
    return f"{text}; differences under about {significant(certainty.smallest_difference)} are not separable."


# How sure the board is


def how_sure(board: Board) -> Statement:
    """What the queries separate, and what they do not."""
    ranked, certainty = ranked_positions(board), board.primary_certainty
    if certainty is None:
        return _without_statistics(board, len(ranked))
    tiers = len(certainty.tiers)
    if tiers == len(ranked):
        lead, rest = "All separable", "; each team is significantly better than every team after it."
    elif tiers == 1:
        lead, rest = "One tier", "; no team is separable from the first."
    else:
        lead = sentence(counted_in_words(tiers, "tier"))
        rest = "; within one, no team is separable from its best."
    sentences = [rest]
    if certainty.smallest_difference is not None:
        difference = significant(certainty.smallest_difference)
        sentences.append(f"Differences under about {difference} are not separable.")
    if len(ranked) > MANY:
        neighbours = len(ranked) - 1
        sentences.append(f"{certainty.separable_neighbours:,} of {neighbours:,} neighbouring ranks are separable.")
    else:
        sentences += _needed(board, ranked)
    return Statement(lead, " ".join(sentences))


def _without_statistics(board: Board, ranked: int) -> Statement:
    primary = board.track.primary_measure
    if board.track.hides_scores:
        return Statement("No scores", f". {without_scores(board)}")
    if board.track.has_ladder:
        return Statement(
            "Ladder",
            ": a new score is shown only for an entry that is clearly better than the one shown last for its team; "
            "there are no intervals and no tests until the final scores are shown.",
        )
    if not ranked:
        return Statement("No ranks yet", "; a comparison needs two teams with a score.")
    if ranked == 1:
        return Statement("One team", "; a comparison needs two.")
    if primary.kind.aggregation != "mean":
        kind = {"sum": "sum", "geometric": "geometric mean"}[primary.kind.aggregation]
        return Statement("No intervals", f": {primary} is a {kind} over queries, not a mean.")
    return Statement("No intervals", ": they are not computed for this board.")


def _needed(board: Board, ranked: Sequence[int]) -> list[str]:
    """How many queries would separate the first neighbours in the ranking that are not separable."""
    pairs = {(pair.row, pair.other): pair for pair in board.pairs}
    for neighbours in pairwise(ranked):
        pair = pairs.get(neighbours)
        first, second = (board.rows[position].rank for position in neighbours)
        if pair and pair.is_separable is False and pair.queries_needed and first != second:
            needed = significant(pair.queries_needed)
            return [
                f"Separating ranks {first} and {second} would take about {needed} queries instead of "
                f"{board_queries(board):,}."
            ]
    return []


def board_queries(board: Board) -> int:
    """How many queries the scores that the board is ranked by are means over."""
    if not board.track.shows_final:
        return board.preliminary_queries
    return board.scored_queries - (board.preliminary_queries if board.track.final == "rest" else 0)


def significant(number: float) -> str:
    """A positive number to two digits, as in ``0.061`` and ``1,700``."""
    places = 1 - math.floor(math.log10(number))
    return f"{round(number, places):,.{max(places, 0)}f}"


def shake_up(board: Board) -> str:
    """How far the final ranking is from the preliminary one, and how far chance moves it; empty without both."""
    change = board.shake_up
    if change is None:
        return ""
    low, high = change.expected_range
    usual = f"{low:.1f} to {high:.1f}" if f"{low:.1f}" != f"{high:.1f}" else f"{low:.1f}"
    chosen = f"a random choice of {counted(board.preliminary_queries, 'preliminary query', 'preliminary queries')}"
    return f"Teams moved by {change.mean_move:.1f} ranks on average; {chosen} would move them by {usual}."


# What is ranked


def what_is_ranked(board: Board) -> str:
    """What the primary measure is, and the order of equal scores if they share no rank, as the text after its name."""
    measure, track, queries = board.track.primary_measure, board.track, board_queries(board)
    summary = measure.kind.summary.rstrip(".")
    text = f": {summary[:1].lower()}{summary[1:]}{_cutoffs(measure)}."
    averaged = {"mean": "Averaged", "sum": "Summed", "geometric": "Averaged"}[measure.kind.aggregation]
    over = f" over {counted(queries, 'query', 'queries')}" if queries else " over queries"
    order = "" if track.equal_ranks == "shared" else " Of equal scores, the earlier entry is first."
    return f"{text} {averaged}{over}.{order}"


def _cutoffs(measure: Measure) -> str:
    """The cut-offs of a measure that is a mean over several."""
    if not isinstance(measure.cutoff, tuple) or len(measure.cutoff) < 2:
        return ""
    return f", here {joined(list(map(str, measure.cutoff)))}"


# The numbers


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
    queries = Count(board.queries, _noun(board.queries, "query", "queries"), _query_parts(board))
    return _teams(board), _entries(board), *([queries] if board.queries else [])


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
    besides = f"; {counted(baselines, 'baseline')}" if baselines else ""
    return Count(len(teams), _noun(len(teams), "team", "teams"), f"{parts}{besides}".removeprefix("; "))


def _entries(board: Board) -> Count:
    entries = [(entry, row.baseline) for row in board.rows for entry in row.present_entries]
    by_words = Counter(words_of(entry.state) for entry, _ in entries)
    parts = _parts([(by_words[words], words) for words in dict.fromkeys(map(words_of, STATES))])
    of_baselines = sum(is_baseline for _, is_baseline in entries)
    besides = f"; {of_baselines:,} of baselines" if of_baselines else ""
    return Count(len(entries), _noun(len(entries), "entry", "entries"), parts + besides)


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
