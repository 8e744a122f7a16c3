"""The rules of a board in sentences."""

from __future__ import annotations

from scorer import options
from scorer.board.board import Board
from scorer.challenge.splits import share_text
from scorer.wording import counted, joined, sentence

MISSING = {
    "zero": "A query without a list scores 0.",
    "reject": "A file without a list for every query is rejected.",
}

EQUAL_RANKS = {
    "shared": "Teams with equal scores share a rank, as in 1, 1, 3.",
    "earlier": "Of teams with equal scores, the one with the earlier entry ranks higher.",
}


LOOKS = (
    "The board shows the looks of each team as long as it shows preliminary scores: the number of its scored entries, "
    "also withdrawn and replaced ones."
)


def rules(board: Board) -> tuple[str, ...]:
    """The rules that decide on this board, one or two sentences each, from the settings of the track."""
    return (*score_rules(board), *counting_rules(board))


def score_rules(board: Board) -> tuple[str, ...]:
    """The rules on scores and ranks."""
    track = board.track
    return (
        _ranked_by(board),
        *_queries(board),
        MISSING[track.missing],
        "Queries that are not in the solution are ignored.",
        f"Only the first {counted(track.list_length, 'item')} of a list count.",
        "An item that is listed twice counts once, at its first rank.",
        f"Items with equal run scores are {_ties(board)}.",
        _rounding(board),
        EQUAL_RANKS[track.equal_ranks],
        *(["Baselines are listed by their scores and have no rank."] if track.baselines else []),
        *_ladder(board),
        *([LOOKS] if board.shows_looks else []),
    )


def counting_rules(board: Board) -> tuple[str, ...]:
    """The rules on which entry of a team counts."""
    return (counting_rule(board), _never_counting(board))


def _rounding(board: Board) -> str:
    track = board.track
    if track.decimals is not None:
        return f"Scores are rounded to {counted(track.decimals, 'decimal')} before they are compared."
    final = f"final scores to {counted(track.final_decimals, 'decimal')}"
    if not board.preliminary_queries:
        return (
            "Scores are rounded before they are compared: preliminary scores to the decimals that the number of "
            f"preliminary queries justifies, {final}."
        )
    over = f"preliminary scores over {counted(board.preliminary_queries, 'query', 'queries')}"
    return (
        f"Scores are rounded before they are compared: {over} to {counted(track.preliminary_decimals, 'decimal')}, "
        f"{final}."
    )


def _ladder(board: Board) -> list[str]:
    """How the Ladder decides which preliminary scores are shown; none without it."""
    track = board.track
    if not track.has_ladder:
        return []
    queries = board.preliminary_queries
    if track.ladder_step is not None:
        step = share_text(track.ladder_step)
        form = (
            "The Ladder shows the preliminary score of an entry only if it exceeds the score shown last for its team "
            f"by more than {step}; what it lacks of 1 is rounded to a multiple of {step}."
        )
    else:
        over = f"the {queries:,} preliminary queries" if queries else "the queries"
        form = (
            "The Ladder shows the preliminary score of an entry only if it exceeds the score shown last for its team "
            f"by more than one standard error, that of the differences on {over} between the entry and the one whose "
            "score was shown last; the score is rounded to a multiple of one query"
            + (f", 1/{queries:,}." if queries else ".")
        )
    return [
        form,
        "The Ladder looks at the scored entries of a team in the order in which they were recorded, also at those that "
        "are withdrawn or replaced later; an entry waits while an earlier one has no result.",
        "While the Ladder is used, the best score that was shown for an entry which is there counts. Further measures, "
        "intervals and tests are not shown.",
    ]


def _ties(board: Board) -> str:
    meaning = options.TIES.values[board.track.ties]
    return f"ordered with {meaning}" if board.track.ties in {"best", "worst"} else meaning


def _ranked_by(board: Board) -> str:
    if board.track.hides_scores:
        phase = board.schedule.current(board.now)
        return f"The board shows no scores and no ranks during the phase {phase.name if phase else ''}."
    if board.track.shows_final:
        return f"The board is ranked by the final {board.columns[0]}."
    return f"The board is ranked by the preliminary {board.columns[0]}. Final scores are not shown yet."


def _queries(board: Board) -> list[str]:
    """Which queries the scores are means over."""
    queries, scored, preliminary = board.queries, board.scored_queries, board.preliminary_queries
    if not scored:
        return ["No entry has been scored yet."]
    sentences = [f"Scores are means over the {counted(queries, 'query', 'queries')} of the solution."]
    if scored < queries:
        sentences = [
            f"Scores are means over the queries for which they are defined: {scored:,} of the {queries:,} queries of "
            f"the solution for {board.columns[0]}."
        ]
    if preliminary:
        final = f"all {scored:,}" if board.track.final == "all" else f"the other {scored - preliminary:,}"
        sentences.append(f"Preliminary scores are means over {preliminary:,} of them, final scores over {final}.")
    elif not board.track.shows_final and not board.track.hides_scores:
        sentences.append("The solution flags no queries for preliminary scores, so there are no scores to show.")
    return sentences


def counting_rule(board: Board) -> str:
    """Which entry of a team counts."""
    if board.track.entry == "last":
        return "Of the entries of a team, the last scored one counts."
    score = f"{'preliminary ' if board.preliminary_queries else ''}{board.columns[0]}"
    if board.track.entry == "picks":
        return (
            f"Of the entries that a team picks, the one with the best {score} counts; of equal ones, the earliest. "
            f"If a team picks none, or if none of its picks may count, its entry with the best {score} counts."
        )
    return f"Of the entries of a team, the one with the best {score} counts; of equal ones, the earliest."


def _never_counting(board: Board) -> str:
    kinds = ["rejected", "replaced", "withdrawn", *(["early", "late"] if board.schedule.phases else [])]
    over = "entries over the quota or " if board.track.quota.limits_anything else ""
    return (
        f"{sentence(joined(kinds))} entries never count, nor do {over}entries whose time of receipt is not confirmed."
    )
