"""The rules of a board in sentences."""

from __future__ import annotations

from scorer.board.board import Board
from scorer.wording import counted

# The rule sheet


TIES = {
    "trec": "Items of equal run score are ordered by item id, descending.",
    "order": "Items of equal run score stay in the order of the file.",
    "expected": "Items of equal run score have no order: a score is the mean over all orders of them.",
    "best": "Of items of equal run score, those with the highest grade stand first.",
    "worst": "Of items of equal run score, those with the highest grade stand last.",
}


def rules(board: Board) -> tuple[str, ...]:
    """What decides on this board, in sentences made from the track's settings."""
    track = board.track
    return (
        _ranked_by(board),
        *_queries(board),
        "A query that a file leaves out scores 0."
        if track.missing == "zero"
        else "A file that leaves out a query is rejected.",
        "A query that the solution lacks is ignored.",
        f"What a list holds beyond its first {counted(track.list_length, 'item')} does not count.",
        "An item that stands twice in a list counts once, at its first place; its second place is lost.",
        TIES[track.ties],
        f"Scores are rounded to {counted(track.decimals, 'decimal')}, and then compared.",
        "Equal scores share a rank, and as many ranks after it are left out: 1, 1, 3."
        if track.equal_ranks == "shared"
        else "Of equal scores, the one received earlier stands higher.",
        _counts(board),
        "Rejected and withdrawn files never count.",
        *(["Baselines stand where their scores put them, and have no rank."] if track.baselines else []),
    )


def _ranked_by(board: Board) -> str:
    if board.track.stage == "preliminary":
        return f"The board is ranked by the preliminary {board.columns[0]}; final scores are not shown yet."
    return f"The board is ranked by the final {board.columns[0]}."


def _queries(board: Board) -> list[str]:
    """What the means are taken over."""
    queries, scored, preliminary = board.queries, board.scored_queries, board.preliminary_queries
    if not scored:
        return ["Nothing has been scored yet."]
    sentences = [f"Scores are means over the solution's {counted(queries, 'query', 'queries')}."]
    if scored < queries:
        sentences = [
            "Scores are means over the queries for which they are defined: "
            f"{scored:,} of the solution's {queries:,} for {board.columns[0]}."
        ]
    if preliminary:
        final = f"all {scored:,}" if board.track.final == "all" else f"the other {scored - preliminary:,}"
        sentences.append(f"Preliminary scores come from {preliminary:,} of them, final scores from {final}.")
    elif board.track.stage == "preliminary":
        sentences.append("The solution flags no query for preliminary scores, so there are none to show.")
    return sentences


def _counts(board: Board) -> str:
    if board.track.entry == "last":
        return "The last of a team's scored entries counts."
    score = "preliminary score" if board.preliminary_queries else "score"
    return f"The best of a team's entries counts, judged by its {score}; of equally good ones, the earliest."
