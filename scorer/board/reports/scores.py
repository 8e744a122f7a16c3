"""The scores of submissions as tables, and as trec_eval 10 prints them, to the byte."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, zip_longest
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from scorer.measures.matched import Floats, Ints
from scorer.options import CORRECTION, UNJUDGED_ENDS, JudgedBounds
from scorer.scoring.evaluation import Evaluation
from scorer.scoring.outcomes import Scored, aggregated
from scorer.wording import SCORE_DECIMALS, TABLES, Cell, Column, Table, printable

if TYPE_CHECKING:
    from scorer.lists.slices import Slice
    from scorer.lists.solution import Solution
    from scorer.measures import Measure
    from scorer.measures.names import Printed


MEAN = "all"
"""What the row of the means has in place of a query, as in trec_eval's output."""


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """Scores of submissions, and how to print them."""

    submissions: Sequence[tuple[str, Evaluation]]
    """Each scored submission with its path as given."""
    measures: Mapping[str, Measure]
    """By the requested names, before `rel` is applied."""
    per_query: bool = False
    """Whether to print the scores of each query too."""
    side_by_side: bool = False
    """Whether the submissions are columns and the measures rows."""
    significance: float | None = None
    """The significance level; None to test no differences."""
    rel: float | None = None
    """The requested threshold for all measures."""
    policies: Mapping[str, str] = field(default_factory=dict)
    """The requested policies by name, also where no submission could be scored."""
    names: Sequence[str] = ()
    """What the submissions are called; empty: by their paths. JSON has the paths."""
    tags: Sequence[str | None] = ()
    """The tag of each run, None where its format has none; empty: all None. Only JSON has them."""
    slices: Sequence[Slice] = ()
    """Those of the split, whose means are printed too."""
    judged_bounds: JudgedBounds | None = None
    """Whose grades the bounds for unjudged items are over; None: there are no such bounds."""

    @property
    def called(self) -> Sequence[str]:
        """What the submissions are called."""
        return self.names or [path for path, _ in self.submissions]


def is_count(measure: Measure) -> bool:
    """Whether the measure counts something, rather than rates it."""
    return measure.kind.aggregation == "sum"


def scores_in_form(form: str, report: ScoreReport) -> str:
    """Return the report in a form of `TABLES` or `DOCUMENTS`, without a final line end."""
    return TABLES[form](tabulated(report)) if form in TABLES else DOCUMENTS[form](report)


def letter(index: int) -> str:
    """Return the letter of a submission: a, b, ..., z, a2, b2, ..., z2, a3, ...

    Each begins with its only letter, so several can follow one another without a separator.
    """
    alphabet, place = divmod(index, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(alphabet + 1) if alphabet else "")


# Tables


def tabulated(report: ScoreReport) -> Table:
    """Return the scores as a table: a row for each submission, or with `side_by_side` a column."""
    comparisons = _comparisons(report)
    names = list(report.called)
    if report.significance is not None:
        names = [f"({letter(index)}) {name}" for index, name in enumerate(names)]
    scores = [_scores(report, index, comparisons) for index in range(len(names))]
    # The bounds of a measure, if requested, follow its score.
    measures = tuple(dict.fromkeys(name for rows in scores[:1] for name in rows[-1][1]) or report.measures)
    if report.side_by_side:
        heads, numbers = ("measure",), tuple(names)
        rows = [
            [Cell(text) for text in (measure, *query)]
            + [submission[row][1].get(measure, _NO_SCORE) for submission in scores]
            for measure in measures
            for row, (query, _) in enumerate(scores[0] if scores else ())
        ]
    else:
        heads, numbers = ("submission",), measures
        rows = [
            [Cell(text) for text in (name, *query)] + [cells.get(measure, _NO_SCORE) for measure in measures]
            for name, submission in zip(names, scores, strict=True)
            for query, cells in submission
        ]
    texts = (*heads, "query") if report.per_query else (*heads, "slice") if report.slices else heads
    numbers = ("queries", *numbers) if report.slices else numbers
    columns = [*map(Column, texts), *(Column(name, numeric=True) for name in numbers)]
    return Table(columns, rows, blank="-", all_digits=True, note=_note(report))


_NO_SCORE = Cell(None)


def _scores(
    report: ScoreReport, index: int, comparisons: Mapping[str, Floats]
) -> list[tuple[tuple[str, ...], dict[str, Cell]]]:
    """Return the rows of one submission, the means last: what is in the query's column, and the cells by measure."""
    _, evaluation = report.submissions[index]
    decimals = {name: 0 if is_count(measure) else SCORE_DECIMALS for name, measure in report.measures.items()}
    bounds, corrections = evaluation.bounds() or {}, evaluation.corrections()
    unjudged = evaluation.unjudged_bounds(report.judged_bounds) if report.judged_bounds else {}
    means: dict[str, Cell] = {}
    for name, value in evaluation.items():
        below = _letters_below(report, name, index, comparisons[name]) if name in comparisons else ""
        means[name] = Cell(value, decimals[name], _is_best(report, index, name), below)
        if corrections:
            machine, bias, ends, _ = corrections[name]
            numbers = zip(CORRECTION, (machine, bias, *(ends or (None, None))), strict=True)
            means |= {f"{name} {what}": Cell(number, decimals[name]) for what, number in numbers}
        if name in bounds:
            worst, best = bounds[name]
            means |= {f"{name} worst": Cell(worst, decimals[name]), f"{name} best": Cell(best, decimals[name])}
        if name in unjudged:
            means |= {f"{name} {end}": Cell(unjudged[name][at], decimals[name]) for at, end in enumerate(UNJUDGED_ENDS)}
    if report.slices:
        by_slice = zip(report.slices, evaluation.by_slice(report.slices).values(), strict=True)
        parts = [
            ((part.label, str(part.size)), {name: Cell(value, decimals[name]) for name, value in scores.items()})
            for part, scores in by_slice
        ]
        return [*parts, ((MEAN, str(evaluation.queries)), means)]
    if not report.per_query:
        return [((), means)]
    queries = [
        ((query,), {name: Cell(value, decimals[name]) for name, value in scores.items()})
        for query, scores in evaluation.by_query().items()
    ]
    return [*queries, ((MEAN,), means)]


def _is_best(report: ScoreReport, index: int, measure: str) -> bool:
    """Whether the printed mean is the highest of several; a count never is, and NaN never is."""
    if is_count(report.measures[measure]):
        return False
    printed = [round(evaluation[measure], SCORE_DECIMALS) for _, evaluation in report.submissions]
    return len(printed) > 1 and printed[index] == max((mean for mean in printed if not math.isnan(mean)), default=None)


def _letters_below(report: ScoreReport, measure: str, index: int, p_values: Floats) -> str:
    """Return the letters of the submissions whose scores are significantly lower than those of submission `index`."""
    means = [evaluation[measure] for _, evaluation in report.submissions]
    significant = np.flatnonzero(p_values[index] < report.significance).tolist()
    return "".join(letter(other) for other in significant if means[index] > means[other])


def _note(report: ScoreReport) -> str:
    if report.significance is None:
        return ""
    from scorer.scoring.statistics.paired_tests import rounds_needed  # noqa: PLC0415 (as below)

    of = "clusters of " if "clusters" in report.policies else ""
    further = " (after z come a2, b2, ...)" if len(report.submissions) > len(ascii_lowercase) else ""
    return (
        f"letters{further}: significantly higher than the submission of that letter, at the level "
        f"{report.significance:g}; "
        f"two-sided paired randomisation test over the {of}queries "
        f"({rounds_needed(len(report.submissions), report.significance):,} rounds), "
        "Holm's correction over the pairs of each measure"
    )


def _comparisons(report: ScoreReport) -> Mapping[str, Floats]:
    """Return the adjusted p-values of all pairs, [i, j], by each measure that is a mean; {} if no test is requested."""
    if report.significance is None:
        return {}
    from scorer.scoring.statistics.paired_tests import (  # noqa: PLC0415 (SciPy takes as long to load as the rest)
        holm_matrix,
        randomisation,
        rounds_needed,
    )

    rounds, (_, first) = rounds_needed(len(report.submissions), report.significance), report.submissions[0]
    return {
        name: holm_matrix(
            randomisation(
                np.array([evaluation.scores_of(name) for _, evaluation in report.submissions]),
                rounds,
                units=first.units,
            ),
            ordered=False,
        )
        for name, measure in report.measures.items()
        if measure.kind.aggregation == "mean"
    }


# Documents


def _json(report: ScoreReport) -> str:
    """Full precision, null where undefined; text as it is."""
    measures = {name: measure.at_threshold(report.rel).full for name, measure in report.measures.items()}
    document: dict[str, Any] = {
        "submissions": [
            _submission(path, tag, evaluation, report)
            for (path, evaluation), tag in zip_longest(report.submissions, report.tags)
        ],
        "policies": dict(report.policies),
        "measures": measures,
    }
    if report.significance is not None:
        document["significance"] = _significance(report, report.significance)
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def _submission(path: str, tag: str | None, evaluation: Evaluation, report: ScoreReport) -> dict[str, Any]:
    counts = {name: count for name, count in evaluation.counts._asdict().items() if count is not None}
    del counts["queries"]  # of the whole solution, unlike `queries` of the split
    entry: dict[str, Any] = {
        "submission": path,
        "tag": tag,
        "scores": _defined(evaluation),
        "queries": evaluation.queries,
        "undefined": evaluation.undefined,
        "counts": counts,
        "notes": evaluation.notes.lines(),
    }
    unjudged = None if report.judged_bounds is None else evaluation.unjudged_bounds(report.judged_bounds)
    for key, bounds in (("bounds", evaluation.bounds()), ("judged_bounds", unjudged)):
        if bounds is not None:
            entry[key] = {name: [_null_if_nan(worst), _null_if_nan(best)] for name, (worst, best) in bounds.items()}
    if corrections := evaluation.corrections():
        entry["corrections"] = {name: found._asdict() for name, found in corrections.items()}
    if report.slices:
        entry["slices"] = {
            part.label: {"queries": part.size, "scores": _defined(scores)}
            for part, scores in zip(report.slices, evaluation.by_slice(report.slices).values(), strict=True)
        }
    if report.per_query:
        entry["per_query"] = {query: _defined(scores) for query, scores in evaluation.by_query().items()}
    return entry


def _significance(report: ScoreReport, level: float) -> dict[str, Any]:
    from scorer.scoring.statistics.paired_tests import rounds_needed  # noqa: PLC0415 (as above)

    return {
        "test": "two-sided paired randomisation",
        "rounds": rounds_needed(len(report.submissions), level),
        "correction": "Holm, over the pairs of each measure",
        "level": level,
        "comparisons": [
            {
                "measure": measure,
                "submission": path,
                "other": other,
                "difference": _null_if_nan(first[measure] - second[measure]),
                "p_value": float(p_values[i, j]),
                "significant": bool(p_values[i, j] < level),
            }
            for measure, p_values in _comparisons(report).items()
            for (i, (path, first)), (j, (other, second)) in combinations(enumerate(report.submissions), 2)
        ],
    }


def _defined(scores: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _null_if_nan(score) for name, score in scores.items()}


def _null_if_nan(score: float) -> float | None:
    return None if math.isnan(score) else score


def trec_name(measure: Measure) -> str:
    """Return trec_eval's name of a measure; our name if trec_eval has none for its cut-off and parameters."""
    from scorer.measures import parse_one  # noqa: PLC0415 (no other form needs it)

    for theirs in measure.kind.in_trec_eval:
        if ("{" in theirs.template) == (measure.cutoff is not None):
            name = theirs.template.format(measure.cutoff)
            if parse_one(name) == measure:
                return name
    return str(measure)


def _trec_lines(report: ScoreReport) -> Iterator[str]:
    """Yield trec_eval's three columns: measure, query or `all`, score.

    An undefined score, or mean, has no line. With several submissions, a line ``runid`` with the name is above the
    scores of each.
    """
    for called, (_, evaluation) in zip(report.called, report.submissions, strict=True):
        if len(report.submissions) > 1:
            yield three_columns("runid", MEAN, printable(called))
        for query, scores in evaluation.by_query().items() if report.per_query else ():
            per_query = {name: score for name, score in scores.items() if report.measures[name].kind.trec_per_query}
            yield from _trec_scores(report, printable(query), per_query)
        yield from _trec_scores(report, MEAN, evaluation)


def _trec_scores(report: ScoreReport, query: str, scores: Mapping[str, float]) -> Iterator[str]:
    for name, score in scores.items():
        if not math.isnan(score):
            measure = report.measures[name]
            yield three_columns(trec_name(measure), query, _value(measure, score))


def three_columns(measure: str, query: str, value: str) -> str:
    """Return a line of trec_eval's output."""
    return f"{measure:<22}\t{query}\t{value}"


DOCUMENTS: Mapping[str, Callable[[ScoreReport], str]] = {
    "json": _json,
    "trec": lambda report: "\n".join(_trec_lines(report)),
}
"""The forms that list submissions one after the other; they cannot be side by side."""

MARKED = ("table", "markdown", "latex", "json")
"""The forms that can show which differences are significant."""


RUN_TAG = "runid"
"""trec_eval's name of the line with the tag of the run."""


@dataclass(frozen=True)
class TrecEvalOutput:
    """What trec_eval prints for a run."""

    solution: Solution
    scored: Scored
    printed: Sequence[Printed]
    tag: str
    """The tag of the run."""
    complete: bool = False
    """Whether queries without a list count, as with -c."""
    per_query: bool = False
    summary: bool = True

    def text(self) -> str:
        """Return the lines, without a line end after the last one."""
        return "\n".join(self._lines())

    @cached_property
    def left_out(self) -> int:
        """The number of queries that are left out because they have no list."""
        return len(self.solution.queries) - self._inside.size

    @cached_property
    def _inside(self) -> Ints:
        """The queries that count, in the order of their bytes."""
        answered = self.scored.matched.answered
        ids = self.solution.queries.to_pylist()
        inside = [query for query in range(len(ids)) if self.complete or answered is None or answered[query]]
        return np.array(sorted(inside, key=lambda query: ids[query].encode()), dtype=np.int64)

    @cached_property
    def _columns(self) -> Mapping[str, list[float]]:
        """The scores of the queries that count, by the printed name; 0 where a measure is undefined."""
        rows = dict(zip(self.scored.measures, self.scored.scores, strict=True))
        return {
            printed.name: np.nan_to_num(rows[printed.measure][self._inside]).tolist()
            for printed in self.printed
            if printed.measure is not None
        }

    def _lines(self) -> Iterator[str]:
        if self.per_query:
            ids = self.solution.queries.to_pylist()
            for place, number in enumerate(self._inside.tolist()):
                yield from self._query_lines(printable(ids[number]), place, number)
        if self.summary:
            yield from self._summary_lines()

    def _query_lines(self, query: str, place: int, number: int) -> Iterator[str]:
        for printed in self.printed:
            if printed.measure is None:
                if printed.name != RUN_TAG:
                    yield three_columns(printed.name, query, f"'{self._grades(number, printed.length)}'")
            elif printed.measure.kind.trec_per_query:
                yield three_columns(printed.name, query, _value(printed.measure, self._columns[printed.name][place]))

    def _summary_lines(self) -> Iterator[str]:
        for printed in self.printed:
            if printed.measure is not None:
                mean = aggregated(np.array(self._columns[printed.name]), printed.measure.kind.aggregation)
                yield three_columns(printed.name, MEAN, _value(printed.measure, mean))
            elif printed.name == RUN_TAG:
                yield three_columns(printed.name, MEAN, printable(self.tag))

    def _grades(self, query: int, length: int) -> str:
        """Return a character for each of the first `length` items of a list.

        It is the grade; ``>`` for a grade above 9, ``.`` for a negative one, ``-`` for an item without a grade.
        """
        matched = self.scored.matched
        characters = ["-"] * min(length, int(matched.retrieved[query]))
        first, end = np.searchsorted(matched.found.query, [query, query + 1])
        ranks, grades = matched.found.rank[first:end].tolist(), matched.found.grade[first:end].tolist()
        for rank, grade in zip(ranks, grades, strict=True):
            if rank <= len(characters):
                characters[rank - 1] = "." if grade < 0 else ">" if grade > 9 else f"{grade:.0f}"
        return "".join(characters)


def _value(measure: Measure, score: float) -> str:
    return f"{score:.0f}" if is_count(measure) else f"{score:6.4f}"
