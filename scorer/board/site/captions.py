"""The words of a board: what it shows, how sure it is, the status of its track, and what became of an entry."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from markupsafe import Markup, escape

from scorer.board.board import Board, Certainty, Row, counting_rule
from scorer.live.entry import STATE_WORDS, Answer, ColumnScores, Entry, State
from scorer.live.phases import closing, with_grace
from scorer.live.quotas import left_in_words, next_reset
from scorer.measures import Measure
from scorer.settings.rules import Phase
from scorer.wording import counted, day_and_month, exact_time, in_words, iso_time, joined, sentence, utc_time


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a track. It is the same whenever it is rendered, until the state changes."""

    phase: Markup
    """The phase, its state, and until when it lasts; HTML."""
    scores: Markup
    """Which scores the board shows, and since when or until when; HTML."""
    received: str
    """How many entries of teams were received: ``12 entries of 4 teams``."""
    frozen: Markup
    """That the board is frozen, and until when; HTML, empty if it is not."""
    open: Phase | None
    """The phase that is open; None while none is."""


def track_status(board: Board) -> Status | None:
    """The status of a track as of its board; None for a track without phases."""
    if not board.phases.all:
        return None
    return Status(_phase(board), _scores(board), _received(board), _frozen(board), _open(board))


def moment(when: datetime) -> Markup:
    """A time as HTML, as in ``8 July 2027, 12:00 UTC``."""
    return Markup('<time datetime="{}">{}</time>').format(iso_time(when), exact_time(when))


def _closing(phase: Phase) -> Markup:
    """As `closing`, as HTML."""
    return moment(phase.end) + with_grace(phase)


def _state(now: str, until: datetime, then: str) -> Markup:
    """A state in bold, and the words that a script puts in its place once its time is over."""
    return Markup('<b data-until="{}" data-then="{}">{}</b>').format(iso_time(until), then, now)


def _phase(board: Board) -> Markup:
    plan = board.phases
    phase = plan.shown_phase(board.now) or plan.all[0]
    state = plan.state(board.now)
    if state == "open":
        lead = _state(f"Phase {phase.name} is open", phase.closes, f"Phase {phase.name} was open")
        return lead + Markup(" until {}").format(_closing(phase))
    if state == "in its grace":
        lead = _state(f"Phase {phase.name} is in its grace", phase.closes, f"Phase {phase.name} is closed")
        return lead + Markup(": it was open until {}").format(_closing(phase))
    if state == "over":
        return Markup("<b>The track is over</b>: phase {} closed {}").format(phase.name, _closing(phase))
    lead = _state("Between phases" if state == "between phases" else "Not started", phase.start, "Started")
    left = Markup('<span class="left" data-until="{}"></span>').format(iso_time(phase.start))
    return lead + Markup(": phase {}, from {}{}").format(phase.name, moment(phase.start), left)


def _open(board: Board) -> Phase | None:
    return board.phases.current(board.now) if board.phases.state(board.now) == "open" else None


def _scores(board: Board) -> Markup:
    plan = board.phases
    phase, last = plan.current(board.now), plan.all[-1]
    sentences = []
    if board.track.why_hidden:
        sentences.append(escape(board.track.why_hidden))
    elif board.track.hides_scores and phase is not None:
        sentences.append(Markup("<b>No scores</b> are shown until the phase has closed; the board lists the teams."))
    elif board.lacks_preliminary and not plan.is_over(board.now):
        sentences.append(Markup("<b>Scores over all queries</b>: the track has no preliminary queries."))
    elif board.track.has_ladder:
        sentences.append(Markup("<b>Preliminary scores by the Ladder</b>: only clear improvements are shown."))
    else:
        sentences.append(Markup("<b>{} scores.</b>").format(board.track.shown_stage.capitalize()))
    if board.track.stage == "preliminary" and (phase is None or not phase.hides_scores or phase != last):
        final = Markup("Final scores are not shown until phase {} has closed{}{}.")
        at = ("", "") if phase == last else (", ", _closing(last))
        sentences.append(final.format(last.name, *at))
    return Markup(" ").join(sentences)


def _received(board: Board) -> str:
    teams = [row for row in board.rows if not row.baseline]
    entries = sum(len(row.present_entries) for row in teams)
    if not entries:
        return "Entries are not shown" if "board" in board.track.hidden else "No entries yet"
    return f"{counted(entries, 'entry', 'entries')} of {counted(len(teams), 'team')}"


def _frozen(board: Board) -> Markup:
    phase = board.phases.current(board.now)
    if phase is None or board.frozen_since is None:
        return Markup()
    return Markup(
        "<b>The board is frozen since {}.</b> It shows the record as of then; what is recorded later appears once the "
        "phase has closed."
    ).format(moment(board.frozen_since))


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


STATES: tuple[State, ...] = ("scored", "rejected", "waiting", "failed", "misdated", "early", "late", "over-quota")
"""The parts of the number of entries; withdrawn entries are not counted."""


def words_of(state: State) -> str:
    """What a part of the number of entries is called."""
    return STATE_WORDS[state].of_board or STATE_WORDS[state].label


NOT_THERE = (
    "A file was not in the folder yet when the organisers' machine looked into it after the time of receipt that the "
    "file states, outside of that phase or day of the quota. Ask the organisers to correct the time."
)
"""The note on such files."""


def status_words(entry: Entry) -> str:
    """What became of an entry: its outcome, or why it does not matter, as in ``replaced, late``."""
    words: list[State | Answer] = []
    if entry.presence != "present":
        words.append(entry.presence)
    if entry.admission != "ok":
        words.append(entry.admission)
    return ", ".join(STATE_WORDS[word].label for word in words or [entry.answer or entry.outcome])


def entry_notes(entries: Collection[Entry]) -> tuple[str, ...]:
    """The notes on the states of some entries."""
    states: set[str] = {entry.presence for entry in entries}
    states |= {entry.admission for entry in entries}
    if any(entry.state in ("waiting", "failed") for entry in entries):
        states.add("waiting")
    states |= {entry.answer for entry in entries if entry.answer is not None and entry.state == "scored"}
    absent = [NOT_THERE] if any(entry.absent_at for entry in entries) else []
    return (*absent, *(words.note for state, words in STATE_WORDS.items() if words.note and state in states))


def why_without_score(row: Row, scores: ColumnScores, *, hides_scores: bool) -> str:
    """Why a team has no score on a board; empty if it has one."""
    if hides_scores and any(entry.state == "scored" for entry in row.present_entries):
        return "Scores are not shown yet."
    if row.entry is not None:
        return "" if scores[0] is not None else "The score is undefined."
    last = row.present_entries[0]
    if last.state == "scored":
        return "No score is shown for the entries that are there."
    if last.state == "misdated":
        return "Nothing scored. The time of receipt is not confirmed."
    if last.state in ("early", "late", "over-quota"):
        return f"No rank: {STATE_WORDS[last.state].reason}."
    if last.state != "rejected":
        return f"Not scored yet: the file of {day_and_month(last.received)}."
    errors = f": {counted(last.findings_count, 'error')}" if last.findings_count else ""
    when = f"{day_and_month(last.received)}, {utc_time(last.received)[11:]}"
    return f"Nothing scored. The file of {when} was rejected{errors}."


def looks_in_words(board: Board, row: Row) -> str:
    """How many looks a team had, as a sentence; empty where they are not shown."""
    if not board.shows_looks:
        return ""
    return f"{counted(row.looks, 'look')} at the preliminary queries: its scored entries so far, also withdrawn ones."


def choice_in_words(board: Board, row: Row) -> str:
    """What the score of a row was chosen from, as a sentence; empty where it is not the best of several."""
    if row.choice is None:
        return ""
    decimals = board.track.shown_decimals
    text = (
        f"The score is the best of {row.choice.entries:,}: the best of so many equal entries exceeds its true mean by "
        f"about {row.choice.gain:.{decimals}f}."
    )
    if row.choice.change is None:
        return text
    if not row.choice.change:
        return f"{text} The final score equals the preliminary one, by which it was chosen."
    than = "lower" if row.choice.change < 0 else "higher"
    change = f"{abs(row.choice.change):.{decimals}f} {than}"
    return f"{text} The final score is {change} than the preliminary one, by which it was chosen."


def choice_in_short(board: Board, row: Row) -> str:
    """The same for a cell of the board."""
    if row.choice is None:
        return ""
    return f"best of {row.choice.entries:,}; choosing gains about {row.choice.gain:.{board.track.shown_decimals}f}"


def quota_left(board: Board, row: Row) -> Markup:
    """What the team has left of its quota, as a sentence of HTML; empty without a quota."""
    if not row.left:
        return Markup()
    phase = board.phases.current_or_next(board.now)
    words = left_in_words(row.left, phase.name if phase else None)
    lead = "Left of its quota" if board.frozen_since is None else "Left of its quota when the board was frozen"
    text = escape(f"{lead}: {words}.")
    reset = next_reset(row.left)
    if reset is None:
        return text
    zone = board.track.quota.zone
    begins = escape("" if zone == "UTC" else f" (midnight in {zone})")
    return text + Markup(" The limits of a day begin again {}{}.").format(moment(reset), begins)


MANY = 12
"""With more teams, a board says how many neighbouring ranks are separable, instead of what one pair would need."""


def ranked_positions(board: Board) -> list[int]:
    """The positions in `Board.rows` of the teams with a rank, the best first."""
    return [position for position, row in enumerate(board.rows) if row.rank is not None]


def are_interleaved(certainty: Certainty) -> bool:
    """Whether a team of one tier is between teams of another in the ranking."""
    positions = [position for tier in certainty.tiers for position in sorted(tier.rows)]
    return positions != sorted(positions)


# The caption


JUDGED_GAP = 0.1
"""Scores of teams are compared with care where their shares of judged items differ by as much."""


def judged_gap(board: Board) -> str:
    """A warning where the lists of ranked teams differ in how many of their items are judged; "" without one."""
    for column, measure in enumerate(board.track.all_measures):
        if measure.kind.name == "Judged":
            scores = [board.shown_scores(row.entry)[column] for row in board.rows if row.rank is not None]
            known = [score for score in scores if score is not None]
            if known and max(known) - min(known) >= JUDGED_GAP:
                return (
                    f"{measure} is from {min(known):.2f} to {max(known):.2f}: teams with fewer judged items may have "
                    "scores that are too low, because an unjudged item counts as not relevant."
                )
    return ""


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
    if not certainty.smallest_difference:  # 0 where all queries agree
        return f"{text}."
    return f"{text}; differences under about {significant(certainty.smallest_difference)} are not separable."


def first_in(row: Row) -> str:
    """How often a team is first if others may be: ``first in 89 of 100 resamplings``; empty for other teams."""
    certainty = row.primary_certainty
    if not certainty or certainty.first is None or not certainty.rank_range or certainty.rank_range[0] > 1:
        return ""
    share = f"{100 * certainty.first:.0f}"
    share = {"0": "fewer than 1", "100": "more than 99"}.get(share, share)
    return f"first in {share} of 100 resamplings" if certainty.rank_range[1] > 1 else ""


# How sure the board is


def how_sure(board: Board) -> tuple[str, str]:
    """What the queries separate, and what they do not: the first words, which are printed bold, and the rest."""
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
    if certainty.smallest_difference:
        difference = significant(certainty.smallest_difference)
        sentences.append(f"Differences under about {difference} are not separable.")
    if len(ranked) > MANY:
        neighbours = len(ranked) - 1
        sentences.append(f"{certainty.separable_neighbours:,} of {neighbours:,} neighbouring ranks are separable.")
    else:
        sentences += _needed(board, ranked)
    return lead, " ".join(sentences)


def _without_statistics(board: Board, ranked: int) -> tuple[str, str]:
    primary = board.track.primary_measure
    if board.track.hides_scores:
        return "No scores", f". {without_scores(board)}"
    if board.track.has_ladder:
        rest = (
            ": a new score is shown only for an entry that is clearly better than the one shown last for its team; "
            "there are no intervals and no tests until the final scores are shown."
        )
        return "Ladder", rest
    if not ranked:
        return "No ranks yet", "; a comparison needs two teams with a score."
    if ranked == 1:
        return "One team", "; a comparison needs two."
    if primary.kind.aggregation != "mean":
        kind = {"sum": "sum", "geometric": "geometric mean"}[primary.kind.aggregation]
        return "No intervals", f": {primary} is a {kind} over queries, not a mean."
    return "No intervals", ": they are not computed for this board."


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
    averaged = "Summed" if measure.kind.aggregation == "sum" else "Averaged"
    over = f" over {counted(queries, 'query', 'queries')}" if queries else " over queries"
    if 0 < queries < board.scored_queries:
        over = f": {queries:,} of {counted(board.queries, 'query', 'queries')} count{'s' * (queries == 1)} now"
    order = "" if track.equal_ranks == "shared" else " Of equal scores, the earlier entry is first."
    return f": {meaning(measure, in_short=True)}. {averaged}{over}.{order}"


def meaning(measure: Measure, *, in_short: bool = False) -> str:
    """What a measure is, in a part of a sentence."""
    first, *more = measure.cutoff if isinstance(measure.cutoff, tuple) else (0,)
    if measure.kind.name == "MARp" and more:
        start = f"how many of the {first} best items are among the first {first} of a list"
        if in_short:
            return f"{start}, and so on to {more[-1]}; the mean of these shares, from 0 to 1"
        rest = f"of the {more[0]} best among the first {more[0]}{', and so on' if more[1:] else ''}"
        return f"{start}, {rest}, and then the mean of these shares; 0 is none, 1 is all"
    summary = measure.kind.summary.rstrip(".")
    here = f", here {joined(list(map(str, (first, *more))))}" if more else ""
    return f"{summary[:1].lower()}{summary[1:]}{here}"


def which_counts(board: Board) -> str:
    """Which entry of a team counts, in a sentence."""
    if board.track.has_ladder:
        return "The entry with the best score that the Ladder has shown counts; of equal ones, the earliest."
    return counting_rule(board)


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
    teams = () if "board" in board.track.hidden else (_teams(board), _entries(board))
    return (*teams, *([queries] if board.queries else []))


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
    noun = "team" if board.track.rows == "team" else "row"
    return Count(len(teams), _noun(len(teams), noun, f"{noun}s"), f"{parts}{besides}".removeprefix("; "))


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
