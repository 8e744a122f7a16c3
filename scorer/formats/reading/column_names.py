"""The names of columns, and which column is read as what: one table for all formats and for tables in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from scorer.formats.reading.bytes import UnreadableError
from scorer.wording import quoted

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "qid", "topic", "topic_id", "user", "user_id", "customer_id"),
    "item": (
        *("item", "item_id", "doc", "doc_id", "docno", "document", "document_id"),
        *("pid", "passage_id", "corpus_id", "movie_id"),
    ),
    "rank": ("rank", "position", "place"),
    "score": ("score", "run_score", "sim", "similarity", "prediction", "rating"),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "score", "rating"),
    "items": ("items", "item_ids", "prediction", "predictions", "recommendations"),
    "flag": ("flag", "preliminary"),
    "subtopic": ("subtopic", "subtopic_id"),
    "iteration": ("iteration",),
}
"""The usual names of each column, compared by `plain`. Two columns with names for the same are an error."""

QUERY_OF_LIST = "id"
"""A name of the query in tables with a list of items in each row, as Kaggle has them."""

PREDICTED = ("prediction", "rating")
"""The names of scores that order a list only where no column has the rank."""

TOOLS: Sequence[tuple[Mapping[str, str], Sequence[str]]] = (
    ({"query": "qid", "item": "docno"}, ("query", "docid")),  # PyTerrier: text, and a number of its index
    ({"grade": "grade"}, ("score",)),  # one table for both: the score is the run score
    ({"score": "score"}, ("rating",)),  # LensKit: the rating is the grade
    ({"score": "prediction"}, ("rating",)),  # Recommenders: the same
)
"""Columns by their exact names, which only together are a known tool's, and its columns that are something else."""

OPTIONS: Mapping[str, str] = {name: f"the name of the column with the {name}" for name in [*COLUMNS][:-1]}
"""The options that choose a column by its name, as in ``delimited:query=session``: any but the iteration."""

SOLUTION = ("query", "item", "grade", "flag", "subtopic", "iteration")
SUBMISSION = ("query", "item", "score", "rank", "items")

RECBOLE_TYPE = re.compile(r":(token|float)(_seq)?$")


class AmbiguousError(UnreadableError):
    """Several columns have names for the same, and no known tool explains them."""

    def __init__(self, wanted: str, names: Sequence[str]) -> None:
        number = "both" if len(names) == 2 else "all"
        super().__init__(f"{' and '.join(map(quoted, names))} {number} name the {wanted}; keep one")
        self.choice = f"{wanted}={names[0]}"
        """The option of the format that chooses the first one."""


def plain(name: str) -> str:
    """Return a name without case, ``_``, ``-`` and a type, as in ``user_id:token`` of RecBole."""
    return RECBOLE_TYPE.sub("", name.strip().lower()).replace("_", "").replace("-", "")


NAMES = {QUERY_OF_LIST, *(plain(name) for names in COLUMNS.values() for name in names)}
"""All usual names, as `plain` returns them."""


def places(
    names: Sequence[str], wanted: str, options: Mapping[str, str], usual: Mapping[str, Sequence[str]] = COLUMNS
) -> list[int]:
    """Return the positions in `names` of all columns for what is wanted: one, unless none or several may be meant.

    Those of the name that an option gives, if it does; else those of a known tool, else all with usual names.
    """
    lower = [name.strip().lower() for name in names]
    if wanted in options:
        chosen = options[wanted].strip().lower()
        exact = [at for at, name in enumerate(lower) if name == chosen]
        return exact or [at for at, name in enumerate(names) if plain(name) == plain(chosen)]
    known = {*map(plain, usual[wanted])}
    found = [at for at, name in enumerate(names) if plain(name) in known]
    if wanted == "query" and not found and has_lists(names, options):
        return [at for at, name in enumerate(lower) if name == QUERY_OF_LIST]
    called = {lower[at] for at in found}
    for columns, others in TOOLS if len(called) > 1 else ():
        if wanted in columns and {*columns.values()} <= {*lower} and called <= {columns[wanted], *others}:
            return [at for at in found if lower[at] == columns[wanted]]
    return found


def has_lists(names: Sequence[str], options: Mapping[str, str]) -> bool:
    """Whether each row has a list of items, and not one item."""
    return "items" in options or (not places(names, "item", options) and bool(places(names, "items", options)))


def place(
    names: Sequence[str], wanted: str, options: Mapping[str, str], usual: Mapping[str, Sequence[str]] = COLUMNS
) -> int | None:
    """Return the position in `names` of the column for what is wanted; None without one.

    Raises UnreadableError where no column has the name that an option gives, or several columns may be meant.
    """
    found = places(names, wanted, options, usual)
    if not found and wanted in options:
        raise UnreadableError(
            f"no column is called {quoted(options[wanted])}; there are {', '.join(map(quoted, names))}"
        )
    if len(found) > 1:
        called = dict.fromkeys(names[at].strip().lower() for at in found)
        if len(called) == 1:
            raise UnreadableError(f"several columns are called {quoted(*called)}; give each column its own name")
        raise AmbiguousError(wanted, [names[at] for at in found])
    return found[0] if found else None


def needed_places(names: Sequence[str], wanted: tuple[str, ...], options: Mapping[str, str]) -> dict[str, int]:
    """Return the positions in `names` of the columns to read. Raises UnreadableError without one."""
    number = order_by(names, options) if "rank" in wanted else "grade"
    lists = "items" in wanted and has_lists(names, options)
    found = {}
    for column in ("query", "items") if lists else ("query", "item", number):
        at = place(names, column, options)
        if at is None:
            several = (column,) if column != number else ("score", "rank") if "rank" in wanted else ("grade",)
            known = ", ".join(name for number in several for name in COLUMNS[number])
            raise UnreadableError(f"no column for the {' or '.join(several)}; expected one of {known}")
        found[column] = at
    also = {column: place(names, column, options) for column in ("flag", "subtopic", "iteration") if column in wanted}
    return {**found, **{column: at for column, at in also.items() if at is not None}}


def order_by(names: Sequence[str], options: Mapping[str, str]) -> str:
    """Return the column that orders a submission: the one that an option names, or else the score if there is one."""
    if ("rank" in options) != ("score" in options):
        return "rank" if "rank" in options else "score"
    scores = {plain(names[at]) for at in places(names, "score", options)}
    if not scores or ("score" not in options and scores <= {*PREDICTED}):
        return "rank" if places(names, "rank", options) else "score"
    return "score"
