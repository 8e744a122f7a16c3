"""The columns of tables: their names and the values that they take, for all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scorer.formats.reading.bytes import UnreadableError
from scorer.measures.arrays import Bools, Floats
from scorer.wording import quoted

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "queryid", "qid", "q_id", "topic", "topic_id", "user", "user_id"),
    "item": ("item", "item_id", "itemid", "doc", "doc_id", "docid", "docno", "document", "document_id"),
    "rank": ("rank", "position", "place"),
    "score": ("score", "run_score", "sim", "similarity"),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "score"),
    "flag": ("flag", "preliminary"),
    "subtopic": ("subtopic", "subtopic_id"),
    "iteration": ("iteration",),
}
"""The usual names of each column, in lower case, by precedence."""

OPTIONS: Mapping[str, str] = {name: f"the name of the column with the {name}" for name in [*COLUMNS][:-1]}
"""The options that choose a column by its name, as in ``delimited:query=session``: any but the iteration."""

SOLUTION = ("query", "item", "grade", "flag", "subtopic", "iteration")
SUBMISSION = ("query", "item", "score", "rank")

FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
"""The values of a flag, in lower case."""

A_FLAG = "1 (preliminary) or 0"
A_RANK = "a whole number, 0 or more"


def are_ranks(values: Floats) -> Bools:
    """Return a mask of the numbers that can be ranks. Beyond 2^53, float64 does not hold every whole number."""
    whole: Bools = values == np.floor(values)
    return whole & (values >= 0) & (values <= 2.0**53)


def places(names: Sequence[str], wanted: str, options: Mapping[str, str]) -> list[int]:
    """Return the positions in `names`, which are in lower case, of all columns for what is wanted.

    Only those of the name that an option gives, if it does. A score is a grade only where no other column is.
    """
    if wanted in options:
        return [at for at, name in enumerate(names) if name == options[wanted].strip().lower()]
    found = [at for at, name in enumerate(names) if name in COLUMNS[wanted]]
    graded = [at for at in found if names[at] != "score"]
    return graded if wanted == "grade" and graded else found


def place(names: Sequence[str], wanted: str, options: Mapping[str, str]) -> int | None:
    """Return the position in `names`, which are in lower case, of the column for what is wanted; None without one.

    An option names it; otherwise it is the one that has the first of the usual names. Raises UnreadableError where no
    column has the name that the option gives, or several have the same name.
    """
    if wanted in options:
        name = options[wanted].strip().lower()
        if name not in names:
            raise UnreadableError(
                f"no column is called {quoted(options[wanted])}; there are {', '.join(map(quoted, names))}"
            )
    else:
        usual = next((name for name in COLUMNS[wanted] if name in names), None)
        if usual is None:
            return None
        name = usual
    if names.count(name) > 1:
        raise UnreadableError(f"several columns are called {quoted(name)}; give each column its own name")
    return names.index(name)


def needed_places(names: Sequence[str], wanted: tuple[str, ...], options: Mapping[str, str]) -> dict[str, int]:
    """Return the positions in `names`, which are in lower case, of the columns to read: SOLUTION's or SUBMISSION's.

    A submission is read by its score or by its rank. Raises UnreadableError where a column is missing.
    """
    numbers = ("score", "rank") if "rank" in wanted else ("grade",)
    number = order_by(names, options) if "rank" in wanted else "grade"
    found = {}
    for column in ("query", "item", number):
        at = place(names, column, options)
        if at is None:
            several = numbers if column == number else (column,)
            usual = ", ".join(name for each in several for name in COLUMNS[each])
            raise UnreadableError(f"no column for the {' or '.join(several)}; expected one of {usual}")
        found[column] = at
    also = {column: place(names, column, options) for column in ("flag", "subtopic", "iteration") if column in wanted}
    return {**found, **{column: at for column, at in also.items() if at is not None}}


def order_by(names: Sequence[str], options: Mapping[str, str]) -> str:
    """Return the column that orders a submission: the one that an option names, or else the score if there is one."""
    if "rank" in options and "score" not in options:
        return "rank"
    return "rank" if place(names, "score", options) is None and place(names, "rank", options) is not None else "score"
