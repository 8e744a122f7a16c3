"""The columns of tables, whatever they stand in: what each is for, what it is called, the values that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scorer.errors import Findings
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
}
"""What a column is for, and the names that it goes by, whatever their case."""

OPTIONS: Mapping[str, str] = {name: f"the name of the column with the {name}" for name in COLUMNS}
"""How a column of another name is pointed at: ``delimited:query=session``."""

SOLUTION = ("query", "item", "grade", "flag")
SUBMISSION = ("query", "item", "score", "rank")

FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
"""What a flag may be, whatever its case."""

A_FLAG = "1 (preliminary) or 0"
A_RANK = "a whole number, 0 or more"


def are_ranks(values: Floats) -> Bools:
    """Which of the numbers can be ranks? Beyond 2^53 a float64 cannot tell one from the next."""
    whole: Bools = values == np.floor(values)
    return whole & (values >= 0) & (values <= 2.0**53)


def ranks(values: Floats, stated: Bools, findings: Findings) -> Bools:
    """Which of the `stated` values, one in each row, can be ranks; the others of them are reported."""
    fit = stated & are_ranks(values)
    wrong = np.flatnonzero(stated & ~fit)
    findings.add_each(wrong + 1, lambda at: f"found {values[wrong[at]]:g} as the rank; expected {A_RANK}")
    return fit


def flags(values: Sequence[object], findings: Findings) -> Bools:
    """Truth values, 0 and 1, and the words for them, one in each row; anything else is reported, and false."""
    words = [str(value).strip().lower() for value in values]
    wrong = [row for row, word in enumerate(words) if word not in FLAGS]
    findings.add_each(
        [row + 1 for row in wrong],
        lambda at: f"found {quoted(words[wrong[at]])} as the flag; expected {A_FLAG}",
    )
    return np.array([FLAGS.get(word, False) for word in words], dtype=bool)


def place(names: Sequence[str], wanted: str, options: Mapping[str, str]) -> int | None:
    """Where the column stands among `names`, which are in lower case; None where there is none.

    An option names it, else the first of its usual names that is there. Raises Unreadable where the option is wrong.
    """
    if wanted not in options:
        return next((names.index(name) for name in COLUMNS[wanted] if name in names), None)
    if (named := options[wanted].strip().lower()) not in names:
        raise UnreadableError(
            f"no column is called {quoted(options[wanted])}; there are {', '.join(map(quoted, names))}"
        )
    return names.index(named)


def needed(names: Sequence[str], wanted: str, options: Mapping[str, str]) -> int:
    """As `place`, for a column that there must be."""
    found = place(names, wanted, options)
    if found is None:
        raise UnreadableError(f"no column for the {wanted}; expected one of {', '.join(COLUMNS[wanted])}")
    return found


def order_by(names: Sequence[str], options: Mapping[str, str]) -> str:
    """Does a submission order by its score or its rank? By what an option names, else by the score, if it has one."""
    if "rank" in options and "score" not in options:
        return "rank"
    return "rank" if place(names, "score", options) is None and place(names, "rank", options) is not None else "score"
