"""The rules of a track in sentences, in sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scorer import options
from scorer.board.board import Board
from scorer.challenge.settings import Track
from scorer.limits import ATTEMPTS, Limits
from scorer.live.errata import erratum_rules
from scorer.live.ladder import ladder_rules
from scorer.live.phases import phase_rules
from scorer.live.picks import pick_rules
from scorer.live.quotas import quota_rules
from scorer.live.splits import split_rules
from scorer.live.teams import TEAM_RULES
from scorer.options import SELF
from scorer.wording import counted, joined, sentence

MISSING = {
    "zero": "A query without a list scores 0.",
    "reject": "A file without a list for every query is rejected.",
}

EXCLUDED = {
    True: "The item that has the id of the query is removed from its list before ranks are assigned.",
    False: "Items that are excluded for a query, by a public list, are removed before ranks are assigned.",
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
        *([] if track.exclude is None else [EXCLUDED[track.exclude == SELF]]),
        f"Only the first {counted(track.list_length, 'item')} of a list count.",
        "An item that is listed twice counts once, at its first rank.",
        f"Items with equal run scores are {_ties(board)}.",
        _rounding(board),
        EQUAL_RANKS[track.equal_ranks],
        *(["Baselines are listed by their scores and have no rank."] if track.baselines else []),
        *ladder_rules(track, board.preliminary_queries),
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


def _ties(board: Board) -> str:
    meaning = options.TIES.values[board.track.ties]
    return f"ordered with {meaning}" if board.track.ties in {"best", "worst"} else meaning


def _ranked_by(board: Board) -> str:
    if board.track.hides_scores:
        phase = board.phases.current(board.now)
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
    kinds = ["rejected", "replaced", "withdrawn", *(["early", "late"] if board.phases.all else [])]
    over = "entries over the quota or " if board.track.quota.limits_anything else ""
    return (
        f"{sentence(joined(kinds))} entries never count, nor do {over}entries whose time of receipt is not confirmed."
    )


@dataclass(frozen=True, slots=True)
class RuleSection:
    """Rules on one subject."""

    name: str
    """For links: a word without spaces."""
    heading: str
    rules: tuple[str, ...]
    """In sentences."""


def rule_sections(board: Board, limits: Limits) -> tuple[RuleSection, ...]:
    """The rules of a track, from its settings and the limits on submissions; without sections that would be empty."""
    track, plan = board.track, board.phases
    times = phase_rules(plan, track, has_preliminary=not board.lacks_preliminary)
    sections = (
        RuleSection("scores", "Scores and ranks", score_rules(board)),
        RuleSection("split", "Preliminary queries", split_rules(board.split)),
        RuleSection("times", "Times", times or ("Entries are received at any time.",)),
        RuleSection("quota", "Number of entries", quota_rules(track) or ("The number of entries is not limited.",)),
        RuleSection("counting", "Which entry counts", (*counting_rules(board), *pick_rules(track))),
        RuleSection("teams", "Teams", TEAM_RULES),
        RuleSection("changes", "Changes", tuple(_change_rules(board))),
        RuleSection("files", "How files arrive", tuple(_file_rules(track))),
        RuleSection("limits", "Limits on files", _limit_rules(limits)),
    )
    return tuple(section for section in sections if section.rules)


def _change_rules(board: Board) -> Iterator[str]:
    yield from erratum_rules(board.phases)
    if board.salted_digest is not None:
        yield "The board shows a salted digest of the solution. It stays the same as long as the solution does."


def _file_rules(track: Track) -> Iterator[str]:
    yield "A submission is one file with a list of items for each query, the best item first."
    if track.submission_format:
        yield f"The format of the file is {track.submission_format}."
    yield (
        "The team of a file is the name of its folder, or else the name of the file. A file that has another content "
        "later is a new entry and replaces the earlier one."
    )
    yield (
        "A file whose name begins with a dot is an upload in progress and is not read. Copy a file under such a name, "
        "and rename it when it is complete."
    )
    yield (
        "The time of receipt is the UTC time at the beginning of the name, as in 20260131T120000Z-first.txt, or else "
        "the time of the last change of the file."
    )
    if not track.trusted_times and (track.phases or track.quota.counts_days):
        yield (
            "A look into the folder that did not find a file shows that it came later. If its time of receipt is "
            "earlier, and the look was outside of that phase or on another day of the quota, the entry does not count "
            "until the organiser corrects the time."
        )
    closed = " before its phase has closed" if track.phases else ""
    yield (
        f"A file that is removed withdraws its entry when the next run finds it gone{closed}. A file that returns with "
        f"the same content{closed} brings it back, with its first time of receipt. A team without a file has no row."
    )
    yield f"The command scorer check FILE --track {track.name} checks a file as it is checked when it is scored."


def _limit_rules(limits: Limits) -> tuple[str, ...]:
    return (
        f"A file has at most {limits.file_mb:,} MB. A compressed file has at most {limits.expanded_mb:,} MB after "
        f"decompression; a compressed file or a Parquet file grows to at most {limits.expansion:,} times its own size.",
        f"A JSON document or a Parquet file has at most {limits.document_mb:,} MB. The columns of a Parquet file take "
        f"at most {limits.table_mb:,} MB of memory. Values of JSON are nested at most {limits.nesting:,} deep.",
        f"A file has at most {limits.queries:,} lists with at most {limits.items:,} items in all. A line has at most "
        f"{limits.line_mb:,} MB, and the id of a query or an item at most {limits.id_bytes:,} bytes.",
        "A file that exceeds one of these limits is rejected.",
        f"A file that takes more than {limits.seconds:,} seconds, {limits.memory_mb:,} MB of memory or "
        f"{limits.temporary_mb:,} MB of disk space to score is not rejected. It is tried {ATTEMPTS} times; then the "
        "organiser decides.",
        f"A team has at most {limits.files_per_team:,} files in a track; further files are left out.",
    )
