"""Two judges: scores by the grades of a machine on all queries, corrected by those of people on some.

Source: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Prediction-Powered Inference, 2023.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scorer.measures.matched import Bools, Floats, Ints, ratio
from scorer.options import LEVEL
from scorer.scoring.statistics import special
from scorer.scoring.statistics.units import number_of_units, sums_of_units, unless_few

LEAST_CHECKED = 20
"""With fewer queries that people have judged, there is no interval: so few say too little about how judges differ."""


class JudgeCorrection(NamedTuple):
    """What people who judged some of the queries changed of a mean."""

    machine: float
    """The mean by the solution."""
    bias: float
    """The mean by the solution minus that by people, over the queries that both judged."""
    interval: tuple[float, float] | None
    """The ends of the 95 % interval of the bias; None with few queries, and where all differences are equal."""
    checked: int
    """How many queries people have judged that have a score by both."""

    def rounded(self, decimals: int) -> JudgeCorrection:
        """All but the number of queries, rounded; zero has no sign."""
        numbers = (self.machine, self.bias, *(self.interval or ()))
        machine, bias, *ends = (round(number, decimals) + 0.0 for number in numbers)
        return JudgeCorrection(machine, bias, (ends[0], ends[1]) if ends else None, self.checked)


@dataclass(frozen=True, eq=False)
class TwoJudges:
    """The scores of rows by two judges. People have judged a random part of the queries in each stage."""

    machine: Floats
    """[row, query]: by the machine; NaN where undefined."""
    people: Floats
    """[row, query]: by people; NaN where undefined, and where they have not judged."""
    flagged: Bools
    """[query]: whether it enters the preliminary scores."""
    weight: float = 1.0
    """Of the machine: with 0, only what people say counts."""

    @classmethod
    def of(cls, machine: Floats, people: Floats, checked: Ints, flagged: Bools, weight: float) -> TwoJudges:
        """The scores by both; `people` are [row, checked query], and `checked` the numbers of these queries."""
        by_people = np.full(machine.shape, np.nan)
        by_people[:, checked] = people
        return cls(machine, by_people, flagged, weight)

    @classmethod
    def together(cls, every: Sequence[TwoJudges]) -> TwoJudges:
        """The rows of several, which have the same queries."""
        machine, people = (np.vstack([getattr(each, name) for each in every]) for name in ("machine", "people"))
        return cls(machine, people, every[0].flagged, every[0].weight)

    def rows(self, rows: Ints) -> TwoJudges:
        """The same of some rows."""
        return TwoJudges(self.machine[rows], self.people[rows], self.flagged, self.weight)

    def within(self, queries: Ints | Bools) -> TwoJudges:
        """The same on some queries."""
        machine, people = self.machine[:, queries], self.people[:, queries]
        return TwoJudges(machine, people, self.flagged[queries], self.weight)

    def differences(self, first: Ints, second: Ints) -> TwoJudges:
        """The differences of pairs of rows, first minus second: the score of a difference is that of the scores."""
        one, other = self.rows(first), self.rows(second)
        return TwoJudges(one.machine - other.machine, one.people - other.people, self.flagged, self.weight)

    @property
    def checked(self) -> Bools:
        """[row, query]: whether both judges define a score."""
        return ~np.isnan(self.machine) & ~np.isnan(self.people)

    def _stages(self) -> Iterator[tuple[Bools, Bools, Floats, Floats, Floats]]:
        """Of each stage: the queries with a score, and those that are checked, [row, query]; how many these are, and
        the mean by the machine, [row, 1].
        """
        for stage in (self.flagged, ~self.flagged):
            known, both = ~np.isnan(self.machine) & stage, self.checked & stage
            if known.any():
                queries, checked = (each.sum(axis=1, keepdims=True).astype(np.float64) for each in (known, both))
                total = np.where(known, self.machine, 0).sum(axis=1, keepdims=True)
                yield known, both, queries, checked, ratio(total, queries, queries > 0)

    @property
    def values(self) -> Floats:
        """[row, query]: a value for each query, whose mean over a stage, and over all queries, is the score.

        It is the weight times the mean by the machine, plus the mean over the checked queries of the score by people
        minus the weight times that by the machine; over several stages, the mean of this by their numbers of queries.
        NaN for a row where a stage has no checked query.
        """
        values, lacking = np.full(self.machine.shape, np.nan), np.zeros((len(self.machine), 1), dtype=bool)
        for known, both, queries, checked, mean in self._stages():
            around = self.weight * (self.machine - mean)
            share = ratio(queries, checked, checked > 0)
            values = np.where(known, np.where(both, around + (self.people - around) * share, around), values)
            lacking |= (queries > 0) & (checked == 0)
        return np.where(lacking, np.nan, values)

    def intervals(self, units: Ints | None = None, level: float = LEVEL) -> Floats:
        """Return the interval of each score, [row, 2]; `units` are those of the queries.

        That of Student's t. In a stage with N queries, of which n are checked, the variance of the score is
        s²(h - w m) / n + w² s²(m) / N + 2 w Cov(m, h - w m) / N, for the scores m by the machine and h by people. With
        units, the sums of these vary. NaN with fewer than `LEAST_CHECKED` checked queries, and with few units.
        """
        scale = 1.0 if units is None else len(units) / (int(units.max()) + 1)
        values, variance, stages = self.values, np.zeros(len(self.machine)), 0
        total = (~np.isnan(values)).sum(axis=1)

        def varied(of: Bools, one: Floats, other: Floats) -> Floats:
            """The sum of products of the units' sums of two deviations, as of an unbiased variance."""
            count = (sums_of_units(of.astype(np.float64), units) > 0).sum(axis=1)
            sums = [scale * sums_of_units(np.where(of, each, 0), units) for each in (one, other)]
            return np.asarray((sums[0] * sums[1]).sum(axis=1) * count / (count - 1))

        with np.errstate(invalid="ignore", divide="ignore"):
            for known, both, queries, checked, mean in self._stages():
                apart = self.people - self.weight * self.machine
                apart = apart - np.where(both, apart, 0).sum(1, keepdims=True) / checked
                own = self.machine - np.where(both, self.machine, 0).sum(1, keepdims=True) / checked
                part = varied(both, apart, apart) / checked[:, 0] ** 2
                part += 2 * self.weight * varied(both, own, apart) / (checked * queries)[:, 0]
                around = self.machine - mean
                part += self.weight**2 * varied(known, around, around) / queries[:, 0] ** 2
                variance += np.maximum(part, 0) * (queries[:, 0] / total) ** 2
                stages += 1
            freedom = number_of_units(np.where(self.checked, 0.0, np.nan), units) - stages
            half = -special().stdtrit(freedom, level / 2) * np.sqrt(variance)
            score = np.nansum(values, axis=1) / total
        half[self.checked.sum(axis=1) < LEAST_CHECKED] = np.nan
        return unless_few(score[:, None] + np.column_stack([-half, half]), units)

    def corrections(self, units: Ints | None = None) -> list[JudgeCorrection]:
        """Return what people changed of each mean; `units` are those of the queries."""
        from scorer.scoring.statistics.rankings import means  # noqa: PLC0415 (not needed to score a submission)
        from scorer.scoring.statistics.resampling import difference_intervals  # noqa: PLC0415

        apart, checked = self.machine - self.people, self.checked.sum(axis=1)
        ends = difference_intervals(apart, units=units)
        ends[checked < LEAST_CHECKED] = np.nan
        intervals = [None if np.isnan(end).any() else (float(end[0]), float(end[1])) for end in ends]
        columns = means(self.machine).tolist(), means(apart).tolist(), intervals, checked.tolist()
        return list(map(JudgeCorrection, *columns))
