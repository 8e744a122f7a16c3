"""The sentences about the rank of a team: how far its neighbours are, and which of them are separable from it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from scorer.board.board import Row
from scorer.board.certainty import Pair
from scorer.live.entry import STATE_WORDS, State
from scorer.site.captions import significant
from scorer.site.neighbours import Field
from scorer.site.status import without_scores
from scorer.site.team_decisions import decision
from scorer.wording import counted, in_words, ordinal, sentence, shortened

NAMED = 2
"""How many of the nearest teams on each side the sentences name."""

LONGEST_NAME = 40
"""How many characters of a name a sentence has."""

MOST_QUERIES = 1_000_000
"""More queries than this are not a number that anyone could collect."""


def heading(row: Row) -> str:
    """What the sentences explain: ``Why ninth``."""
    return "Why no rank" if row.rank is None else f"Why {ordinal(row.rank)}"


def reasons(field: Field, position: int) -> tuple[Markup, ...]:
    """Explain the rank of a row, or why it has none, in sentences as HTML."""
    row = field.board.rows[position]
    if field.board.track.hides_scores:
        return (escape(without_scores(field.board)),)
    if row.team.is_excluded:
        return (escape(f"{decision(row.team)} Its entries stay visible and have no rank."),)
    if row.entry is None:
        return (_without_entry(row),)
    if field.score(position) is None:
        return (Markup("Its score is undefined, so it has no rank."),)
    if row.baseline:
        return (Markup("A baseline of the organisers has no rank."), _between(field, position))
    if len(field.ranked) == 1:
        return (Markup("No other team has a rank."),)
    sentences = [*_gaps(field, position), *_separation(field, position), *_needed(field, position)]
    if not field.board.track.shows_final:
        sentences.append(Markup("Final scores are not shown yet."))
    return tuple(sentences)


def summary(field: Field, position: int) -> str:
    """Describe the result of a row in plain text: ``rank 9 of 10 in Cold start, final MARp@5,10 0.0876``."""
    row, track = field.board.rows[position], field.board.track
    score = field.score(position)
    if score is None:
        return f"no score in {track.title}"
    place = "a baseline" if row.baseline else f"rank {row.rank} of {len(field.ranked)}"
    if row.team.is_excluded:
        place = row.team.status
    return f"{place} in {track.title}, {track.shown_stage} {field.board.columns[0]} {score:.{track.shown_decimals}f}"


def _name(field: Field, position: int) -> Markup:
    row = field.board.rows[position]
    name = Markup("<bdi>{}</bdi>").format(shortened(row.team.name, LONGEST_NAME))
    return Markup("the baseline {}").format(name) if row.baseline else name


def _listed(names: Sequence[Markup], last: str = "and") -> Markup:
    """``a``, ``a and b``, ``a, b and c``."""
    *most, end = names
    return escape(f" {last} ").join([Markup(", ").join(most), end]) if most else end


def _without_entry(row: Row) -> Markup:
    states = [entry.state for entry in row.present_entries]
    if "scored" in states:
        return Markup("The Ladder has released no score for the entries that are there.")
    predicates = {STATE_WORDS[state].predicate for state in states if STATE_WORDS[state].predicate}
    if len(predicates) != 1:
        return Markup("None of its {} entries is scored.").format(in_words(len(states)))
    which = "Its only entry" if len(states) == 1 else f"Each of its {in_words(len(states))} entries"
    return escape(f"{which} {predicates.pop()}.")


def _between(field: Field, position: int) -> Markup:
    """Between which ranked teams the score of a baseline is."""
    above = [other for other in field.ranked if other < position]
    below = [other for other in field.ranked if other > position]
    if above and below:
        return Markup("Its score is between those of {} and {}.").format(
            _placed(field, above[-1]), _placed(field, below[0])
        )
    if not above and not below:
        return Markup("No team has a rank yet.")
    return Markup("Every ranked team scores {}.").format("more" if above else "less")


def _placed(field: Field, position: int) -> Markup:
    return Markup("{} in {} place").format(_name(field, position), ordinal(field.board.rows[position].rank or 0))


def _gaps(field: Field, position: int) -> list[Markup]:
    """How far the next teams above and below are, and which teams share the rank."""
    rank = field.board.rows[position].rank
    ranks = {other: field.board.rows[other].rank or 0 for other in field.ranked}
    equal = [other for other in field.ranked if ranks[other] == rank and other != position]
    above = [other for other in field.ranked if ranks[other] < (rank or 0)]
    below = [other for other in field.ranked if ranks[other] > (rank or 0)]
    sentences = []
    if equal:
        names = _listed([_name(field, other) for other in equal[: 2 * NAMED]])
        more = f" and {counted(len(equal) - 2 * NAMED, 'other')}" if len(equal) > 2 * NAMED else ""
        sentences.append(Markup("It shares the rank with {}{}: their scores are equal.").format(names, more))
    parts = []
    if above:
        parts.append(Markup("{} less than {}").format(_gap(field, above[-1], position), _placed(field, above[-1])))
    if below:
        parts.append(Markup("{} more than {}").format(_gap(field, position, below[0]), _placed(field, below[0])))
    if parts:
        sentences.append(Markup("It scores {}.").format(_listed(parts)))
    return sentences


def _gap(field: Field, better: int, worse: int) -> Markup:
    """The difference of two scores: that of their pair, or of the printed scores."""
    pair = field.pairs.get(better, {}).get(worse)
    difference = abs(pair.difference) if pair else (field.score(better) or 0.0) - (field.score(worse) or 0.0)
    decimals = field.board.track.shown_decimals
    text = f"{difference:.{decimals}f}"
    if float(text) == 0.0:
        return Markup("<b>under {}</b>").format(f"{10.0**-decimals:.{decimals}f}")
    return Markup("<b>{}</b>").format(text)


def _tested(field: Field, position: int) -> dict[int, Pair]:
    """The pairs of a row with other teams, all pairs tested at once, by the position of the other team."""
    pairs = field.pairs.get(position, {})
    return {other: pair for other, pair in pairs.items() if pair.is_separable is not None}


def _separation(field: Field, position: int) -> list[Markup]:
    """Which of the nearest teams the queries separate from a row."""
    tested = _tested(field, position)
    certainty = field.board.primary_certainty
    if certainty is None or not tested:
        return []
    above = [other for other in sorted(tested) if other < position]
    below = [other for other in sorted(tested) if other > position]
    named = [*above[-NAMED:], *below[:NAMED]]
    separable = [_name(field, other) for other in named if tested[other].is_separable]
    others = [_name(field, other) for other in named if not tested[other].is_separable]
    start = Markup("The {}").format(counted(certainty.queries, "query", "queries"))
    if not others:
        return [Markup("{} separate it from {}.").format(start, _listed(separable))]
    if not separable:
        return [Markup("{} do not separate it from {}.").format(start, _listed(others, "or"))]
    return [Markup("{} separate it from {}, but not from {}.").format(start, _listed(separable), _listed(others, "or"))]


def _needed(field: Field, position: int) -> list[Markup]:
    """How many queries would separate a row from its neighbour in the ranking that is not separable."""
    tested = _tested(field, position)
    at = field.ranked.index(position)
    for other in (*field.ranked[:at][-1:], *field.ranked[at + 1 :][:1]):
        pair = tested.get(other)
        if pair and pair.is_separable is False and pair.queries_needed and pair.queries_needed <= MOST_QUERIES:
            return [
                Markup("If the differences stayed as they are, about {} queries would separate it from {}.").format(
                    significant(pair.queries_needed), _name(field, other)
                )
            ]
    return []


def hidden(field: Field, position: int) -> str:
    """Say why a team page shows no scores of queries; empty if it shows them."""
    row, primary = field.board.rows[position], field.board.track.primary_measure
    if row.entry is None or row.best_queries or row.worst_queries or row.histogram:
        return ""
    if primary.kind.aggregation != "mean":
        return f"{primary} is no mean over the queries, so single queries are not compared."
    if field.board.track.has_ladder:
        return "The Ladder decides which scores are shown, so the scores of single queries are hidden."
    if len(field.ranked) < 2:
        return "Without a second ranked team, there is nothing to compare the queries with."
    if field.board.primary_certainty is None:
        return "Intervals and tests are not computed for this board."
    if not primary.bounded:
        return f"The scores of {primary} have no upper bound, so their distribution is not drawn."
    if not field.board.track.shows_final:
        return "The scores of single queries are hidden while the challenge is open."
    return "The organisers do not show the scores of single queries."


def entries_in_words(row: Row) -> str:
    """The number of entries of a team and what became of them: ``2 entries, 1 rejected``."""
    statuses = [entry.state for entry in row.entries]
    counted_states: tuple[State, ...]
    counted_states = ("rejected", "withdrawn", "superseded", "misdated", "early", "late", "over-quota")
    parts = [
        f"{statuses.count(state):,} {STATE_WORDS[state].of_team or STATE_WORDS[state].label}"
        for state in counted_states
        if state in statuses
    ]
    waiting = sum(status in ("waiting", "failed") for status in statuses)
    parts += [f"{waiting:,} not scored yet"] if waiting else []
    return sentence(", ".join([counted(len(statuses), "entry", "entries"), *parts]))
