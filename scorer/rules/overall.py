"""The overall ranking: several tracks as one."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from scorer import options
from scorer.rules.tables import Filled, OneMeasureName, SettingsTable, sentences
from scorer.wording import joined

OVERALL_FOLDER = "overall"
"""The folder of the site with the overall ranking."""

MEASURE_OF_ALL = "the name of a measure that all these tracks have"

_Weight = Annotated[
    float,
    BeforeValidator(lambda value: float(value) if isinstance(value, int | Decimal) else value),
    Field(gt=0, allow_inf_nan=False),
]


class Overall(SettingsTable):
    """How several tracks are ranked as one."""

    always_recorded: ClassVar = frozenset({"rule", "weights", "measure", "missing", "tie_break", "equal_ranks"})
    """Of what is published; only the keys that are set are recorded."""

    tracks: tuple[Filled, ...] = Field(strict=False, description='names of two or more tracks, as in ["one", "other"]')
    rule: options.OverallRule = Field("mean", description=options.OVERALL_RULE.allowed)
    weights: tuple[_Weight, ...] = Field((), strict=False, description="numbers above 0, one for each track")
    measure: OneMeasureName = Field("", description=MEASURE_OF_ALL)
    missing: options.OverallMissing = Field("lowest", description=options.OVERALL_MISSING.allowed)
    tie_break: OneMeasureName = Field("", description=MEASURE_OF_ALL)
    equal_ranks: options.EqualRanks = Field("shared", description=options.EQUAL_RANKS.allowed)
    tasks: options.OverallTasks = Field("fixed", description=options.OVERALL_TASKS.allowed)

    def recorded(self) -> dict[str, Any]:
        """The keys that are set, as they are recorded."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def shares(self) -> tuple[float, ...]:
        """The weight of each track."""
        return self.weights or (1.0,) * len(self.tracks)


LEAST_TASKS = 6
"""Fewer tracks decide nothing where they are a sample: two of 2^5 patterns of signs are more than 5 %."""

RANK_DECIMALS = 2
"""Of the mean ranks and of the points of an overall ranking."""


def overall_rules(overall: Overall) -> tuple[str, ...]:
    """How the overall score follows from the tracks, and the ranks from it."""
    names = (
        overall.rule,
        *(["weights"] if overall.weights else []),
        f"lowest_{overall.rule}" if overall.missing == "lowest" else "unranked",
        "rounded",
        *(["tie_break"] if overall.tie_break else []),
        *(overall.equal_ranks, "left_out"),
        *(["sample"] if overall.tasks == "sample" else []),
    )
    return sentences(
        "overall",
        *names,
        weighted="weighted " if overall.weights else "",
        by=f" by {overall.measure}" if overall.measure else "",
        tracks=joined(overall.tracks),
        weights=joined([f"{each:g}" for each in overall.weights]) if overall.weights else "",
        decimals="the decimals of the scores" if overall.rule == "mean" else f"{RANK_DECIMALS} decimals",
        tie_break=overall.tie_break,
        least=LEAST_TASKS,
    )
