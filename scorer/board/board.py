"""The board as frozen plain values: rows, ranks, the certainty of scores, and the rules of a track in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from operator import itemgetter

from scorer import options
from scorer.live.entry import ColumnScores, Entry, counting_entry
from scorer.live.errata import Placing, erratum_rules
from scorer.live.ladder import ladder_rules
from scorer.live.phases import split_rules
from scorer.live.rules import SaltedDigest, entry_rule, pick_rules
from scorer.options import SELF
from scorer.rules.metadata import MetadataField, has_ended, metadata_rules, public_fields
from scorer.rules.overall import overall_rules
from scorer.rules.phases import Phase, Phases, phase_rules
from scorer.rules.quota import Left, quota_rules
from scorer.rules.tables import sentences
from scorer.rules.teams import TEAM_RULES, MergedTeam, Team, TeamStatus
from scorer.rules.visibility import visibility_rules
from scorer.scoring.analysis.kept import ExtremeQuery
from scorer.scoring.statistics.judges import JudgeCorrection
from scorer.settings.tracks import Track
from scorer.store.documents import SplitDocument
from scorer.wording import counted, joined, sentence

Interval = tuple[float, float]
"""The ends of a 95 % interval."""

CERTAINTY = ("low", "high", "rank from", "rank to", "tier", "separable_from_leader")
"""The columns of exports on the certainty of a row."""

BINS = 20
"""The number of bars of a histogram of scores from 0 to 1, each as wide as the others."""


@dataclass(frozen=True, slots=True)
class RowCertainty:
    """Of the score of a row on one measure."""

    interval: Interval | None
    """Of the mean; None where all scores are equal, but for 0 and 1, or too few are defined."""
    rank_range: tuple[int, int] | None
    """The ranks that the team may have, all teams taken together; None for a row without a rank."""
    tier: int | None
    """The position of its tier in `Certainty.tiers`; None for a row without a rank."""
    first: float | None
    """The share of the resamples in which the team has the best mean; None for a row without a rank."""
    histogram: tuple[int, ...]
    """How many queries have a score in each of `BINS` steps from 0 to 1; empty for a measure without these bounds, and
    where the scores of queries are hidden."""
    separable_from_leader: bool | None = None
    """Whether the team is significantly worse than the best one of its tier; None for a row without a rank."""
    correction: JudgeCorrection | None = None
    """What people who judged some of the queries changed of the mean; None with one judge."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Teams down to the last one that is not significantly worse than the best one of them, the leader."""

    rows: tuple[int, ...]
    """Positions in `Board.rows`, the leader first."""
    reach: float | None
    """The difference from the leader's score that is significant: the median over the other teams; None if the leader
    differs from no other team."""


@dataclass(frozen=True, slots=True)
class Certainty:
    """Of the ranking by one measure. Tiers and ranges of ranks come from the same decisions, on all pairs at once."""

    queries: int
    """How many queries have a score for every team."""
    tiers: tuple[Tier, ...]
    """The best first."""
    separable_neighbours: int
    """How many teams are significantly better than the next one in the ranking."""
    smallest_difference: float | None
    """The difference of scores that is significant: the median over all pairs of teams; None without two teams that
    differ."""
    clusters: int | None = None
    """How many clusters these queries are in; None if no two are in one."""


@dataclass(frozen=True, slots=True)
class RowPair:
    """The difference between two rows on the primary measure."""

    row: int
    """A position in `Board.rows`."""
    other: int
    """A later position."""
    difference: float
    """The mean score of `row` minus that of `other`, over the queries for which both are defined."""
    interval: Interval | None
    """Of the difference."""
    p_value: float
    """Of the randomisation test of this pair only."""
    is_separable: bool | None
    """Whether the difference is significant, all pairs of teams tested at once; None for a pair with a baseline."""
    wins: int | None
    """On how many queries `row` has the higher score; None, as the two below, where the scores of queries are
    hidden."""
    ties: int | None
    losses: int | None
    queries_needed: int | None
    """How many queries would separate the pair if the differences stayed as they are; None for a pair that is separable
    or does not differ, and for one with a baseline."""

    @property
    def is_clear(self) -> bool:
        """Whether it is not too close to call: its interval does not contain zero, and ranked teams are separable."""
        low, high = self.interval or (0.0, 0.0)
        return self.is_separable is not False and low * high > 0


@dataclass(frozen=True, slots=True)
class QueryScores:
    """The scores of rows on single queries."""

    queries: tuple[int, ...]
    """The queries that enter the shown scores: positions in `Board.query_ids`."""
    of_rows: Mapping[int, tuple[float | None, ...]]
    """The score on each of `queries` by the position of the row in `Board.rows`; None where it is undefined. Rows
    without a score are left out."""


@dataclass(frozen=True, slots=True)
class ShakeUp:
    """How far the final ranking is from the preliminary one, and how far chance would move it."""

    moved: int
    """How many teams have another rank."""
    mean_move: float
    """The mean over the teams of the number of ranks that they moved."""
    expected_range: Interval
    """The same for random sets of preliminary queries of the same size: the middle 95 % of these sets."""


@dataclass(frozen=True, slots=True)
class Choice:
    """That the score of a row is the best of several, which chance makes higher."""

    entries: int
    """How many scored entries of the team it was chosen from, also withdrawn ones."""
    gain: float
    """By how much the best of so many equal entries exceeds its true mean, on average."""
    change: float | None
    """The final score minus the preliminary one that decided the choice; None where they are not both shown."""


LEAST_PRELIMINARY = 10
"""A slice with fewer preliminary queries has no preliminary scores: they would tell too much about each query."""


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A row of the board on the queries of a slice, by the primary measure. Numbers are rounded as the scores are."""

    row: int
    """A position in `Board.rows`."""
    rank: int | None
    """Among the teams that are ranked on the board."""
    score: float | None
    interval: Interval | None
    """Of the score, from the queries of the slice."""
    rank_range: tuple[int, int] | None
    """The ranks that the team may have, all pairs of teams tested at once on the queries of the slice."""


@dataclass(frozen=True, slots=True)
class SliceBoard:
    """The board on the queries of a slice."""

    label: str
    queries: int | None
    """How many of its queries enter the scores; None where they are too few to show."""
    rows: tuple[SliceRow, ...]
    """The best first; those with a score on the board."""
    separates: bool | None
    """Whether any two teams differ significantly, all pairs tested at once; None where they were not tested."""


NO_PHASES = Phases(())
EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """A team on the board of a track."""

    rank: int | None
    """From 1, by the scores that the board shows; None for baselines, for rows without a score, and for teams that are
    disqualified or withdrawn."""
    preliminary_rank: int | None
    """From 1, by preliminary scores; None as for `rank`."""
    team: Team
    baseline: bool
    entry: Entry | None
    """The team's counting entry; None where no entry is scored, and while scores are hidden."""
    entries: tuple[Entry, ...]
    """All entries, the latest first."""
    certainty: tuple[RowCertainty | None, ...] = ()
    """Of the score on each measure of the board; None where the measure has no statistics. Empty without an entry."""
    judged_bounds: tuple[Interval | None, ...] = ()
    """What unjudged items allow on each measure; None where it is not known. Empty unless the track has them."""
    best_queries: tuple[ExtremeQuery, ...] = ()
    """Those on which the team is the furthest above the field, and `worst_queries` the furthest below; empty where the
    scores of queries are hidden."""
    worst_queries: tuple[ExtremeQuery, ...] = ()
    deciles: tuple[float, ...] = ()
    """Of the scores of queries on the primary measure, the nine from 10 % to 90 %; empty where these are hidden."""
    choice: Choice | None = None
    """None where the score is not the best of several."""
    changes: tuple[str, ...] = ()
    """What changed for the team, and the gaps to others, in sentences; empty without a rank."""
    tag: str = ""
    """The name of the entry where each entry is a row; empty where the team is one."""
    left: tuple[Left, ...] = ()
    """What the team has left of its quota as of the time of its entries on the board; empty without a quota, for
    baselines, and once the last phase has closed."""

    @property
    def name(self) -> str:
        """Different rows have different names."""
        return f"{self.team.name}: {self.tag}" if self.tag else self.team.name

    @property
    def suffix(self) -> str:
        """A dot and the index of the entry; empty where the team is a row."""
        return f".{self.entry.index}" if self.tag and self.entry else ""

    @property
    def slug(self) -> str:
        """Safe in paths and URLs; different rows have different ones, because slugs of teams have no dot."""
        return f"{self.team.slug}{self.suffix}"

    @property
    def folder(self) -> str:
        """The name of the folder; different rows have different ones, because names of folders have no slash."""
        return self.team.folder + self.suffix.replace(".", "/")

    @property
    def present_entries(self) -> tuple[Entry, ...]:
        """The entries whose files are there, as they were recorded; at least one."""
        return tuple(entry for entry in self.entries if entry.presence == "present")

    @property
    def looks(self) -> int:
        """How many entries the team has learnt a preliminary score from, or that there is no improvement."""
        return sum(entry.is_look for entry in self.entries)

    @property
    def last_received(self) -> datetime | None:
        """When the last of `present_entries` was received; None if no time of receipt is possible."""
        return next((entry.received for entry in self.present_entries if entry.admission != "misdated"), None)

    @property
    def primary_certainty(self) -> RowCertainty | None:
        """Of the score on the primary measure."""
        return self.certainty[0] if self.certainty else None

    @property
    def correction(self) -> JudgeCorrection | None:
        """What people who judged some of the queries changed of the primary score."""
        return self.primary_certainty.correction if self.primary_certainty else None

    @property
    def primary_bounds(self) -> Interval | None:
        """What unjudged items allow on the primary measure."""
        return self.judged_bounds[0] if self.judged_bounds else None

    @property
    def histogram(self) -> tuple[int, ...]:
        """The histogram of the scores on the primary measure; empty where it has none."""
        return self.primary_certainty.histogram if self.primary_certainty else ()


@dataclass(frozen=True, slots=True)
class Curve:
    """The scores of a row at points of a curve; rounded as all scores of the track, None where undefined."""

    row: int
    """A position in `Board.rows`."""
    precisions: tuple[float | None, ...]
    """The interpolated precision at each of `build.RECALLS`; empty where the rule for ties has no formula for it."""
    r_precisions: tuple[float | None, ...]
    """Rp@z at each of `build.cutoffs`; empty where the rule for ties has no formula for it."""


@dataclass(frozen=True)
class Board:
    """The leaderboard of a track. Every row and page reads it, so what is derived from all rows is computed once."""

    track: Track
    columns: tuple[str, ...]
    """Canonical names of the measures, the primary measure first."""
    rows: tuple[Row, ...]
    """The best first; baselines are listed by their scores. Teams without a scored entry follow, and teams that are
    disqualified or withdrawn come last."""
    queries: int
    """How many queries the solution has."""
    scored_queries: int
    """How many of them enter the mean of the primary measure, over all splits."""
    preliminary_queries: int
    """How many of `scored_queries` enter the preliminary scores; 0 if there are no preliminary queries."""
    salted_digest: SaltedDigest | None
    """Of the solution; None where the track was never scored."""
    certainty: tuple[Certainty | None, ...] = ()
    """Of the ranking by each measure; None for a measure that is a sum or a geometric mean, and without two ranked
    teams."""
    pairs: tuple[RowPair, ...] = ()
    """All pairs of rows on the primary measure; on a long board the pairs with the first ranked row, with neighbours
    and with the best baselines."""
    query_ids: Sequence[str] = ()
    """The ids of the queries of the solution; empty where they are hidden."""
    query_scores: QueryScores | None = None
    """On the primary measure; None where the scores of queries are not public, or are too many for pages."""
    shake_up: ShakeUp | None = None
    """None where preliminary and final scores are not both shown."""
    curves: tuple[Curve, ...] = ()
    """Of the first teams and baselines."""
    gone: tuple[Row, ...] = ()
    """Teams that have no row because all of their entries are withdrawn, unranked."""
    merged: tuple[MergedTeam, ...] = ()
    """The teams with entries in the track that have no row, in the order of their first arrival."""
    updated: datetime | None = None
    """When the last event of the track was recorded, in UTC; None without an event whose time is known."""
    late: tuple[Row, ...] = ()
    """The late board: teams with entries that were received before the first phase or after the end of one, unranked,
    the best first; empty until the last phase has closed, and without `late_board`."""
    phases: Phases = NO_PHASES
    """The phases in force."""
    frozen_since: datetime | None = None
    """Visitors see the board as of this time, in UTC; None if it is not frozen."""
    now: datetime = EPOCH
    """The time of the board, in UTC."""
    past: tuple[PastBoard, ...] = ()
    """The boards of the phases that have closed, in order of time; only the site has them."""
    slices: tuple[SliceBoard, ...] = ()
    """The boards of the slices of the queries; only the site has them, where visitors may see them."""
    split: SplitDocument | None = None
    """What is public about the key that decides which queries are preliminary; None where the solution decides it."""

    @property
    def lacks_preliminary(self) -> bool:
        """Whether there are no preliminary queries, so that the board shows scores over all queries all the time."""
        if self.preliminary_queries or self.track.stage == "preliminary":
            return False
        return self.scored_queries > 0 or not self.phases.is_over(self.now)

    @property
    def shows_looks(self) -> bool:
        """Whether the looks of each team are shown: as long as the board shows preliminary scores."""
        return not self.track.shows_final and not self.track.hides_scores

    @property
    def shows_both(self) -> bool:
        """Whether preliminary scores are shown next to the final ones."""
        return self.track.shows_final and self.preliminary_queries > 0

    @cached_property
    def checked_queries(self) -> int:
        """How many of the queries of the shown scores people have judged again; 0 with one judge."""
        return max((row.correction.checked for row in self.rows if row.correction), default=0)

    @cached_property
    def excludes_a_team(self) -> bool:
        """Whether a team is disqualified or withdrawn."""
        return any(row.team.is_excluded for row in self.rows)

    @property
    def primary_certainty(self) -> Certainty | None:
        """Of the ranking by the primary measure."""
        return self.certainty[0] if self.certainty else None

    @cached_property
    def metadata_fields(self) -> tuple[MetadataField, ...]:
        """The fields of metadata that visitors see now."""
        return public_fields(self.track.shown_metadata, ended=has_ended(self.phases, self.track.stage, self.now))

    def placing(self, row: Row | None) -> Placing:
        """The place of a team on the board, given its row; None: it has none."""
        return Placing(None, None) if row is None else Placing(row.rank, self.shown_scores(row.entry)[0])

    def shown_scores(self, entry: Entry | None) -> ColumnScores:
        """The scores of an entry that the board shows and ranks by; all None without an entry."""
        return (None,) * len(self.columns) if entry is None else entry.scores(final=self.track.shows_final)


@dataclass(frozen=True, slots=True)
class PastRow:
    """A team on the board of a phase that has closed, with its name and its status of that time."""

    placing: Placing
    name: str
    folder: str
    """The name of its folder, as `printable_name` returns it; it never changes."""
    status: TeamStatus
    baseline: bool
    entries: int
    """How many of its entries were there."""


@dataclass(frozen=True, slots=True)
class PastBoard:
    """The board of a track as it was when a phase closed."""

    phase: Phase
    decimals: int
    """Of the scores."""
    shows_final: bool
    """Whether its scores are over all queries, because there were no preliminary ones."""
    rows: tuple[PastRow, ...]
    """The best first."""


Steps = tuple[tuple[datetime, float | None], ...]
"""The score that counts from each time on, where it changes, in order of time; None: no score counts."""


def counting_scores(board: Board, row: Row) -> Steps:
    """The score of a team that counted from each time on, as the board shows it; see `counting_over_time`."""
    steps = [(when, board.shown_scores(entry)[0]) for when, entry in counting_over_time(board, row)]
    befores = [None, *(score for _, score in steps)]
    return tuple(step for step, before in zip(steps, befores, strict=False) if step[1] != before)


def counting_over_time(board: Board, row: Row, *, gone: bool = False) -> tuple[tuple[datetime, Entry | None], ...]:
    """The entry of a team that counted from each time on.

    At each time, the rules of the board choose an entry of those received until then, by the picks of that time. None
    counts while the team is disqualified or withdrawn. Files that are gone are left out, or with `gone` from when they
    were. Merged teams are one.
    """
    listed = reversed(row.entries)
    if gone:
        listed = (replace(entry, presence="present") if entry.gone_at else entry for entry in listed)
    entries = [entry for entry in listed if entry.may_count and (row.tag or board.track.rows == "team")]
    changes: list[tuple[datetime, int, Entry | str]] = [
        *((entry.received, 0, entry) for entry in entries),
        *((at, 1, "picked") for at in {at for entry in row.entries for at, _ in entry.picks}),
        *((entry.gone_at, 1, "gone") for entry in entries if entry.gone_at),
        *((change.at, 2, change.kind) for change in row.team.history if change.at),
    ]
    steps: dict[datetime, Entry | None] = {}
    received: list[Entry] = []
    best, is_excluded = None, False
    for when, _, change in sorted(changes, key=itemgetter(0, 1)):
        if isinstance(change, Entry):
            received.append(change)
            among = [best, change] if best else [change]
        else:
            is_excluded = {"disqualified": True, "withdrawn": True, "reinstated": False}.get(change, is_excluded)
            among = [entry for entry in received if entry.gone_at is None or entry.gone_at > when]
        then = [
            replace(entry, picks=tuple(pick for pick in entry.picks if pick[0] <= when)) if entry.picks else entry
            for entry in among
        ]
        best = counting_entry(sorted(then, key=lambda entry: entry.index), board.track, board.preliminary_queries > 0)
        steps[when] = None if is_excluded else best
    return tuple(steps.items())


def score_at(steps: Steps, when: datetime) -> float | None:
    """The score that counted at a time."""
    return next((score for since, score in reversed(steps) if since <= when), None)


def checked_rules(board: Board) -> tuple[str, ...]:
    """How scores by a machine are corrected by those of people for some queries; none without two judges."""
    track, queries = board.track, f"{board.checked_queries:,}" if board.checked_queries else "some"
    if track.checked is None:
        return ()
    times = ["weighted"] if track.machine_weight != 1 else []
    weighted = "".join(sentences("checked", *times, weight=f"{track.machine_weight.normalize():f}"))
    apart = ["stages"] if board.preliminary_queries and track.final == "all" else []
    return sentences("checked", "judged", "score", *apart, "outside", queries=queries, weighted=weighted)


def slice_rules(track: Track) -> tuple[str, ...]:
    """The rules on the slices of the queries; none without slices."""
    if track.slices is None:
        return ()
    return sentences("slices", "labels", track.slices_public, "no_rank", least=LEAST_PRELIMINARY)


def rules(board: Board) -> tuple[str, ...]:
    """The rules that decide on this board, one or two sentences each, from the settings of the track."""
    return (*score_rules(board), *counting_rules(board))


def score_rules(board: Board) -> tuple[str, ...]:
    """The rules on scores and ranks."""
    track = board.track
    rounded = "decimals" if track.decimals is not None else "each_stage" if board.preliminary_queries else "automatic"
    names = (
        f"missing_{track.missing}",
        "unknown",
        *([] if track.exclude is None else ["exclude_self" if track.exclude == SELF else "exclude_list"]),
        "length",
        *(["dropped"] if track.unjudged == "drop" else []),
        *([f"bounds_{track.judged_bounds}"] if track.judged_bounds else []),
        *("once", "ordered" if track.ties in {"best", "worst"} else "tied", rounded, f"ranks_{track.equal_ranks}"),
        *(["baselines"] if track.baselines else []),
    )
    values = {
        "length": counted(track.list_length, "item"),
        "ties": options.TIES.values[track.ties],
        "final": counted(track.final_decimals, "decimal"),
        "preliminary": counted(track.preliminary_decimals, "decimal"),
        "queries": counted(board.preliminary_queries, "query", "queries"),
    }
    looks = sentences("scores", "looks") if board.shows_looks else ()
    return (_ranked_by(board), *_queries(board), *sentences("scores", *names, **values), *ladder_rules(track), *looks)


def counting_rules(board: Board) -> tuple[str, ...]:
    """The rules on which entry of a team counts."""
    kinds = ["rejected", "replaced", "withdrawn", *(["early", "late"] if board.phases.all else [])]
    over = "entries over the quota or " if board.track.quota.limits_anything else ""
    return (counting_rule(board), *sentences("scores", "never", kinds=sentence(joined(kinds)), over=over))


def _ranked_by(board: Board) -> str:
    if board.track.why_hidden:
        return board.track.why_hidden
    name = "hidden" if board.track.hides_scores else board.track.shown_stage
    phase = board.phases.current(board.now)
    return "".join(sentences("scores", name, phase=phase.name if phase else "", measure=board.columns[0]))


def _queries(board: Board) -> Iterator[str]:
    """Which queries the scores are means over."""
    scored, preliminary = board.scored_queries, board.preliminary_queries
    if not scored:
        yield from (*sentences("scores", "none"), *checked_rules(board))
        return
    names = ["defined" if scored < board.queries else "all"]
    if preliminary:
        names.append("stages")
    elif not board.track.shows_final and not board.track.hides_scores:
        names.append("unflagged")
    final = f"all {scored:,}" if board.track.final == "all" else f"the other {scored - preliminary:,}"
    values = {"scored": f"{scored:,}", "preliminary": f"{preliminary:,}", "final": final, "measure": board.columns[0]}
    yield from sentences("scores", *names, queries=counted(board.queries, "query", "queries"), **values)
    yield from checked_rules(board)
    if board.primary_certainty and (clusters := board.primary_certainty.clusters):
        yield from sentences("scores", "clusters", clusters=counted(clusters, "cluster"))


def counting_rule(board: Board) -> str:
    """Which entry of a team counts."""
    return entry_rule(board.track, f"{'preliminary ' if board.preliminary_queries else ''}{board.columns[0]}")


@dataclass(frozen=True, slots=True)
class RuleSection:
    """Rules on one subject."""

    name: str
    """For links: a word without spaces."""
    heading: str
    rules: tuple[str, ...]
    """In sentences."""


def rule_sections(board: Board, *, by_service: bool = False) -> tuple[RuleSection, ...]:
    """The rules of a track, from its settings; without sections that would be empty, and without those on files.

    `by_service`: as of `phase_rules`.
    """
    track, plan = board.track, board.phases
    times = phase_rules(
        plan,
        has_preliminary=not board.lacks_preliminary,
        has_late_board=track.late_board,
        has_baselines=bool(track.baselines),
        by_service=by_service,
    )
    number = quota_rules(track.quota, has_phases=bool(track.phases), by_service=by_service) or (
        "The number of entries is not limited.",
    )
    salted = sentences("solution", "salted") if board.salted_digest else ()
    sections = (
        RuleSection("scores", "Scores and ranks", score_rules(board)),
        RuleSection("overall", "Overall ranking", overall_rules(track.overall) if track.overall else ()),
        RuleSection("split", "Preliminary queries", split_rules(board.split)),
        RuleSection("slices", "Slices of the queries", slice_rules(track)),
        RuleSection("times", "Times", times or ("Entries are received at any time.",)),
        RuleSection("quota", "Number of entries", number),
        RuleSection("counting", "Which entry counts", (*counting_rules(board), *pick_rules(track))),
        RuleSection("visibility", "Who sees what", visibility_rules(track.visibility)),
        RuleSection("metadata", "Metadata", metadata_rules(track.metadata, has_phases=bool(track.phases))),
        RuleSection("teams", "Teams", TEAM_RULES),
        RuleSection("changes", "Changes", (*erratum_rules(board.phases), *salted)),
    )
    return tuple(section for section in sections if section.rules)
