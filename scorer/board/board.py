"""The board as frozen plain values, and the score of a team that counted at each time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import itemgetter

from scorer.board.certainty import Certainty, Pair, QueryScore, RowCertainty, ShakeUp
from scorer.challenge.phases import Phase
from scorer.challenge.settings import Track
from scorer.live.entry import ColumnScores, Entry, counting_entry
from scorer.live.phases import Phases
from scorer.live.quotas import Left
from scorer.live.rules import SaltedDigest
from scorer.live.splits import PublishedSplit
from scorer.live.teams import MergedTeam, Team, TeamStatus

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
    best_queries: tuple[QueryScore, ...] = ()
    """Those on which the team is the furthest above the field, and `worst_queries` the furthest below; empty where the
    scores of queries are hidden."""
    worst_queries: tuple[QueryScore, ...] = ()
    left: tuple[Left, ...] = ()
    """What the team has left of its quota as of the time of its entries on the board; empty without a quota, for
    baselines, and once the last phase has closed."""

    picks_problems: tuple[str, ...] = ()
    """What is wrong with the file `picks.toml` in its folder, a sentence each."""

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
    def histogram(self) -> tuple[int, ...]:
        """The histogram of the scores on the primary measure; empty where it has none."""
        return self.primary_certainty.histogram if self.primary_certainty else ()


@dataclass(frozen=True, slots=True)
class Curve:
    """The scores of a row at points of a curve; rounded as all scores of the track, None where undefined."""

    row: int
    """A position in `Board.rows`."""
    precisions: tuple[float | None, ...]
    """The interpolated precision at each of `curves.RECALLS`; empty where the rule for ties has no formula for it."""
    r_precisions: tuple[float | None, ...]
    """Rp@z at each of `curves.cutoffs`; empty where the rule for ties has no formula for it."""


@dataclass(frozen=True, slots=True)
class Board:
    """The leaderboard of a track."""

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
    pairs: tuple[Pair, ...] = ()
    """Each row with the first ranked one and with its neighbours on the board, on the primary measure."""
    shake_up: ShakeUp | None = None
    """None where preliminary and final scores are not both shown."""
    curves: tuple[Curve, ...] = ()
    """Of the first teams and baselines."""
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
    split: PublishedSplit | None = None
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

    @property
    def primary_certainty(self) -> Certainty | None:
        """Of the ranking by the primary measure."""
        return self.certainty[0] if self.certainty else None

    def shown_scores(self, entry: Entry | None) -> ColumnScores:
        """The scores of an entry that the board shows and ranks by; all None without an entry."""
        return (None,) * len(self.columns) if entry is None else entry.scores(final=self.track.shows_final)


@dataclass(frozen=True, slots=True)
class PastRow:
    """A team on the board of a phase that has closed, with its name and its status of that time."""

    rank: int | None
    """From 1; None for baselines, and for teams without a score or without a rank."""
    name: str
    folder: str
    """The name of its folder, as `printable_name` returns it; it never changes."""
    status: TeamStatus
    baseline: bool
    score: float | None
    """On the primary measure, rounded."""
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
    """The score of a team that counted from each time on, as the board shows it.

    At each time, the rules of the board choose an entry of those received until then, by the picks of that time. None
    counts while the team is disqualified or withdrawn. Files that are gone are left out, and merged teams are one.
    """
    changes: list[tuple[datetime, int, Entry | str]] = [
        *((entry.received, 0, entry) for entry in reversed(row.entries) if entry.may_count),
        *((at, 1, "picked") for at in {at for entry in row.entries for at, _ in entry.picks}),
        *((change.at, 2, change.kind) for change in row.team.history if change.at),
    ]
    steps: dict[datetime, float | None] = {}
    received: list[Entry] = []
    best, is_excluded = None, False
    for when, _, change in sorted(changes, key=itemgetter(0, 1)):
        if isinstance(change, Entry):
            received.append(change)
            among = [best, change] if best else [change]
        else:
            is_excluded = {"disqualified": True, "withdrawn": True, "reinstated": False}.get(change, is_excluded)
            among = received
        then = [_as_of(entry, when) if entry.picks else entry for entry in among]
        best = counting_entry(sorted(then, key=lambda entry: entry.index), board.track, board.preliminary_queries > 0)
        steps[when] = None if is_excluded else board.shown_scores(best)[0]
    befores = [None, *steps.values()]
    return tuple(step for step, before in zip(steps.items(), befores, strict=False) if step[1] != before)


def _as_of(entry: Entry, when: datetime) -> Entry:
    """The entry with the picks until a time."""
    return replace(entry, picks=tuple(pick for pick in entry.picks if pick[0] <= when))


def score_at(steps: Steps, when: datetime) -> float | None:
    """The score that counted at a time."""
    return next((score for since, score in reversed(steps) if since <= when), None)
