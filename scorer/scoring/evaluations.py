"""The results of evaluate(): the scores of one submission, or of several by name, as mappings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from scorer.errors import Findings, MeasureError, Problem
from scorer.formats.reading.arrow import take
from scorer.matching.counts import Counts
from scorer.matching.notes import excluded_note
from scorer.matching.solution import Solution
from scorer.measures import Measure, parse
from scorer.measures.arrays import Bools
from scorer.options import Split
from scorer.scoring.means import split_masks
from scorer.scoring.outcomes import Scored
from scorer.scoring.rules import Rules
from scorer.wording import counted
from scorer.wording.table import Tabular

if TYPE_CHECKING:
    import pandas as pd

Form = Literal["wide", "long"]
"""How a frame holds the scores of queries: a column for each measure, or a row for each score."""

DECIMALS = 4
"""The decimals of a score in a notebook."""


@dataclass(frozen=True, eq=False)
class Request:
    """What `evaluate` computes for each submission."""

    names: Mapping[str, Measure]
    """The measures by name, as requested."""
    rules: Rules
    split: Split
    rel: float | None
    policies: Mapping[str, str]

    @cached_property
    def rows(self) -> dict[str, int]:
        """For each name, the row of its measure in the scores."""
        return {name: self.rules.measures.index(measure) for name, measure in self.names.items()}

    @cached_property
    def variants(self) -> dict[str, str]:
        """For each name, that of the measure with all parameters."""
        return {name: measure.full for name, measure in self.names.items()}


class Evaluation(Tabular, Mapping[str, float]):
    """The scores of one submission: a mapping from the names of the measures, as requested, to their means.

    A mean is NaN where no query has a defined score. Any other spelling of a requested measure is a key too.
    """

    counts: Counts
    """The numbers of queries, lists and items."""
    notes: Findings
    """Notes about the submission, such as repeated items and unknown queries."""
    policies: dict[str, str]
    """The value of each setting, by its name."""
    variants: dict[str, str]
    """For each measure, its name with all parameters."""

    def __init__(self, request: Request, scored: Scored, solution: Solution, *, per_query: bool = False) -> None:
        self._request, self._rows = request, request.rows
        self._means, self._bounds = scored.means(request.split), scored.bounds(request.split)
        self._scores, self._flagged = scored.scores, scored.flagged
        self._queries = solution.queries
        self._per_query = per_query
        self.counts = scored.counts
        self.notes = scored.notes
        for note in filter(None, (excluded_note(solution), solution.iterations.note(request.names.values()))):
            self.notes = Findings([Problem(0, note), *self.notes], self.notes.count + 1)
        self.policies = dict(request.policies)
        self.variants = dict(request.variants)

    @cached_property
    def _inside(self) -> Bools:
        """[query]: whether it is in the split."""
        return split_masks(self._flagged)[self._request.split].inside

    def bounds(self) -> dict[str, tuple[float, float]] | None:
        """For each measure, the mean with ties in their worst and in their best order; None if not requested."""
        if self._bounds is None:
            return None
        worst, best = self._bounds
        return {name: (float(worst[row]), float(best[row])) for name, row in self._rows.items()}

    @property
    def queries(self) -> int:
        """The number of queries in the split."""
        return int(self._inside.sum())

    @property
    def undefined(self) -> int:
        """The number of those queries for which no measure is defined, mostly because they have no relevant item."""
        return int(np.isnan(self._scores[:, self._inside]).all(axis=0).sum())

    def left_out(self) -> dict[str, int]:
        """For each measure, the number of queries that its mean leaves out because it is undefined for them."""
        undefined = np.isnan(self._scores[:, self._inside]).sum(axis=1)
        return {name: int(undefined[row]) for name, row in self._rows.items()}

    @property
    def per_query(self) -> pd.DataFrame | None:
        """A row for each query of the split, a column for each measure, NaN where undefined; None if not requested."""
        return self.to_frame("wide") if self._per_query else None

    def by_query(self) -> dict[str, dict[str, float]]:
        """Query -> measure -> score, NaN where undefined, in the solution's order."""
        inside = np.flatnonzero(self._inside)
        columns = {name: self._scores[row, inside].tolist() for name, row in self._rows.items()}
        ids = take(self._queries, inside).to_pylist()
        return {query: {name: column[at] for name, column in columns.items()} for at, query in enumerate(ids)}

    def to_frame(self, per_query: Form | None = None) -> pd.DataFrame:
        """Return the scores as a DataFrame of pandas.

        Parameters
        ----------
        per_query
            None: a row for each measure, with the columns score, and worst and best if the bounds of ties were
            requested. "wide": a row for each query, a column for each measure. "long": a row for each score, with the
            columns query, measure and score.
        """
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        if per_query is None:
            heads, rows = self._table()
            return pd.DataFrame.from_dict(rows, orient="index", columns=heads).rename_axis("measure")
        if check_form(per_query) == "wide":
            frame = pd.DataFrame.from_dict(self.by_query(), orient="index", columns=list(self._rows))
            return frame.rename_axis("query")
        inside, names = np.flatnonzero(self._inside), list(self._rows)
        scores = self._scores[list(self._rows.values())][:, inside]
        queries = np.array(take(self._queries, inside).to_pylist(), dtype=object)
        return pd.DataFrame(
            {
                "query": np.repeat(queries, len(names)),
                "measure": np.tile(np.array(names, dtype=object), len(inside)),
                "score": scores.T.ravel(),
            }
        )

    def _table(self) -> tuple[list[str], dict[str, list[float]]]:
        """The heads of the columns, and the numbers of each measure."""
        bounds = self.bounds()
        if bounds is None:
            return ["score"], {name: [score] for name, score in self.items()}
        return ["score", "worst", "best"], {name: [score, *bounds[name]] for name, score in self.items()}

    def _shown(self, name: str, score: float) -> str:
        """Return a score of a measure as tables show it: four decimals, a count without, "-" where undefined."""
        if math.isnan(score):
            return "-"
        return f"{score:.{0 if self._request.names[name].kind.aggregation == 'sum' else DECIMALS}f}"

    def _row(self, name: object) -> int:
        """The row of a measure by its requested name or by any other spelling. Raises KeyError."""
        if name in self._rows:
            return self._rows[name]
        try:
            meant = (name,) if isinstance(name, Measure) else parse(name) if isinstance(name, str) else ()
        except MeasureError:
            meant = ()
        wanted = [measure.at_threshold(self._request.rel) for measure in meant]
        for requested, measure in self._request.names.items():
            if wanted == [measure]:
                return self._rows[requested]
        raise KeyError(name)

    def __getitem__(self, name: str | Measure) -> float:
        return float(self._means[self._row(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Evaluation({dict(self)!r}, queries={self.queries}, undefined={self.undefined})"

    def _printed(self) -> tuple[list[str], list[list[str]], str]:
        heads, numbers = self._table()
        rows = [[name, *(self._shown(name, value) for value in values)] for name, values in numbers.items()]
        return ["measure", *heads], rows, _caption(self)


class Evaluations(Tabular, Mapping[str, Evaluation]):
    """The scores of several submissions by the same measures: a mapping from the name of each to its `Evaluation`."""

    def __init__(self, evaluations: Mapping[str, Evaluation]) -> None:
        self._evaluations = dict(evaluations)
        self._first = next(iter(self._evaluations.values()))

    @property
    def queries(self) -> int:
        """The number of queries in the split."""
        return self._first.queries

    @property
    def policies(self) -> dict[str, str]:
        """The value of each setting, by its name."""
        return self._first.policies

    @property
    def variants(self) -> dict[str, str]:
        """For each measure, its name with all parameters."""
        return self._first.variants

    @property
    def notes(self) -> dict[str, tuple[str, ...]]:
        """For each submission, notes about it, such as unknown queries."""
        return {name: tuple(evaluation.notes.lines()) for name, evaluation in self.items()}

    @property
    def per_query(self) -> pd.DataFrame | None:
        """A row for each query of the split; None if not requested.

        The columns have two levels, submission and measure, so ``per_query["a"]`` is that of the submission a.
        """
        return None if self._first.per_query is None else self.to_frame("wide")

    def to_frame(self, per_query: Form | None = None) -> pd.DataFrame:
        """Return the scores as a DataFrame of pandas.

        Parameters
        ----------
        per_query
            None: a row for each submission, a column for each measure. "wide": a row for each query, a column for each
            measure of each submission (two levels). "long": a row for each score, with the columns submission, query,
            measure and score.
        """
        import pandas as pd  # noqa: PLC0415 (slow to load, and needed only here)

        if per_query is None:
            rows = {name: list(evaluation.values()) for name, evaluation in self.items()}
            return pd.DataFrame.from_dict(rows, orient="index", columns=list(self._first)).rename_axis("submission")
        frames = {name: evaluation.to_frame(check_form(per_query)) for name, evaluation in self.items()}
        if per_query == "wide":
            return pd.concat(frames, axis="columns", names=["submission", "measure"])
        for name, frame in frames.items():
            frame.insert(0, "submission", name)
        return pd.concat(frames.values(), ignore_index=True)

    def __getitem__(self, name: str) -> Evaluation:
        return self._evaluations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._evaluations)

    def __len__(self) -> int:
        return len(self._evaluations)

    def __repr__(self) -> str:
        means = {name: dict(evaluation) for name, evaluation in self.items()}
        return f"Evaluations({means!r}, queries={self.queries})"

    def _printed(self) -> tuple[list[str], list[list[str]], str]:
        rows = [[name, *(scores._shown(*score) for score in scores.items())] for name, scores in self.items()]
        return ["submission", *self._first], rows, _caption(self._first)


def check_form(form: Form) -> Form:
    """Return the form of a frame. Raises ValueError where it is not an allowed word."""
    if form not in get_args(Form):
        raise ValueError(f'per_query is "wide", "long" or None; found {form!r}')
    return form


def _caption(evaluation: Evaluation) -> str:
    undefined = evaluation.undefined
    return counted(evaluation.queries, "query", "queries") + (f", {undefined:,} undefined" if undefined else "")
