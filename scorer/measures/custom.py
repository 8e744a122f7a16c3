"""measure(): a function that becomes a measure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from scorer.errors import MeasureError
from scorer.measures.arrays import Floats
from scorer.measures.kinds import Kind, Measure
from scorer.measures.matched import Matched
from scorer.wording import quoted


def measure(function: Callable[[Matched], Floats], name: str) -> Measure:
    """Return a function as a measure, for `evaluate`, `compare` and `report`.

    Parameters
    ----------
    function
        Takes a `Matched`, the judged items that were found in the lists, and returns the score of each query: an array
        in the order of the solution, NaN where the measure is undefined.
    name
        The name of the measure in results.

    Raises
    ------
    MeasureError
        When it is computed: the function does not return a number for each query, or `ties` is "expected".

    Examples
    --------
    >>> import scorer
    >>> def found(matched):  # the share of the judged items that are in the list
    ...     return matched.total(matched.found) / matched.total(matched.ideal)
    >>> scorer.evaluate({"q1": {"d1": 2, "d2": 0}}, {"q1": ["d3", "d2"]}, [scorer.measure(found, "Found"), "RR"])
    Evaluation({'Found': 0.5, 'RR': 0.0}, queries=1, undefined=0)
    """
    checked = partial(_checked, function, name)
    kind = _Kind(checked, name, title=name, formula="", latex="", source="", bounded=False, closed_form=False)
    return kind.measure()


class _Kind(Kind):
    """A kind that is no attribute of a module, and so is pickled by its value."""

    __reduce__ = object.__reduce__


def _checked(function: Callable[[Matched], Floats], name: str, matched: Matched) -> Floats:
    scores = np.asarray(function(matched))
    if scores.shape != (matched.queries,) or scores.dtype.kind not in "fiub":
        raise MeasureError(
            f"{quoted(name)}: found {scores.dtype} of shape {scores.shape}; expected a number for each of "
            f"{matched.queries} queries"
        )
    return scores.astype(np.float64)
