"""All rules of a track in sentences, in sections: the content of its rules page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scorer.board.board import Board
from scorer.board.live_rules import TEAM_RULES, entry_rules, erratum_rules, phase_rules, quota_rules
from scorer.board.rule_sheet import counting_rules, score_rules
from scorer.challenge.settings import Track
from scorer.limits import ATTEMPTS, Limits


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
    track, plan = board.track, board.schedule
    times = phase_rules(plan, track, has_preliminary=not board.lacks_preliminary)
    sections = (
        RuleSection("scores", "Scores and ranks", score_rules(board)),
        RuleSection("split", "Preliminary queries", _split_rules(board)),
        RuleSection("times", "Times", times or ("Entries are received at any time.",)),
        RuleSection("quota", "Number of entries", quota_rules(track) or ("The number of entries is not limited.",)),
        RuleSection("counting", "Which entry counts", (*counting_rules(board), *entry_rules(track))),
        RuleSection("teams", "Teams", TEAM_RULES),
        RuleSection("changes", "Changes", tuple(_change_rules(board))),
        RuleSection("files", "How files arrive", tuple(_file_rules(track))),
        RuleSection("limits", "Limits on files", _limit_rules(limits)),
    )
    return tuple(section for section in sections if section.rules)


def _split_rules(board: Board) -> tuple[str, ...]:
    split = board.split
    if split is None:
        return ()
    if split.key:
        return (
            f"A secret key decided which queries are preliminary, with a share of {split.share}. The key is published "
            "now, with the ids of the queries. The command scorer verify split confirms that they follow from it.",
        )
    return (
        f"A secret key decides which queries are preliminary, with a share of {split.share}. The SHA-256 of the key is "
        "published now, so the key cannot change. The key itself is published at the end.",
    )


def _change_rules(board: Board) -> Iterator[str]:
    yield from erratum_rules(board.schedule)
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
            "earlier, and in another phase or on another day of the quota, the entry does not count until the "
            "organiser corrects the time."
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
