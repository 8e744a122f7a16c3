"""The decimals of scores: a number of challenge.toml, or those that the number of preliminary queries justifies."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

FULL_DECIMALS = 4
"""Of scores, where challenge.toml says nothing else."""

AUTO = "auto"

LARGEST_DEVIATION = 0.5
"""The standard deviation of scores from 0 to 1 is not larger."""

Decimals = Annotated[
    int | None,
    BeforeValidator(lambda value: None if value == AUTO else value),
    PlainSerializer(lambda value: AUTO if value is None else value, when_used="json"),
]
"""The value of the key `decimals`; None: "auto"."""


def auto_decimals(queries: int) -> int:
    """The decimals of preliminary scores with ``decimals = "auto"``: those of the standard error of their mean.

    Parameters
    ----------
    queries
        How many queries the mean is taken over; 0 if none is scored yet.
    """
    # This is -log10(d / √n), but exact where the result is half a number: 4 n is a power of ten there.
    return round(math.log10(queries / LARGEST_DEVIATION**2) / 2) if queries else 0
