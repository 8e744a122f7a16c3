"""Names of measures and of formats in challenge.toml."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

from scorer.measures import Measure, parse
from scorer.options import FORMAT_NAMES


def parsed(name: str, validated: ValidationInfo) -> tuple[Measure, ...]:
    """The measures that a name means with the track's cut-offs.

    Invalid cut-offs are a separate error, so the measures that would use them count as valid.
    """
    return parse(name, validated.data.get("cutoffs", (1,)))


def _measure_name(name: str, validated: ValidationInfo) -> str:
    parsed(name, validated)
    return name


def _one_measure_name(name: str, validated: ValidationInfo) -> str:
    measures = parsed(name, validated)
    if len(measures) > 1:
        raise ValueError(f"means {' and '.join(map(str, measures))}")
    return name


def _format_name(name: str) -> str:
    if name.partition(":")[0] not in FORMAT_NAMES:
        raise ValueError("is not a format")
    return name


def check_unit_mean(measure: Measure, what: str) -> None:
    """Raise ValueError unless a measure is a mean of scores from 0 to 1; `what` says what needs one."""
    if measure.kind.aggregation != "mean" or not measure.bounded:
        raise ValueError(f"{what}, but {measure} is not a mean of scores from 0 to 1")


FormatText = Annotated[str, AfterValidator(_format_name)]
"""The name of a format, with its options if it has any, as in ``letor:feature=21``."""

MeasureName = Annotated[str, AfterValidator(_measure_name)]
OneMeasureName = Annotated[str, AfterValidator(_one_measure_name)]
