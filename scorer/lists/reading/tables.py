"""Tables with a row for each item, as batches: the names of columns, fast readers of regular blocks, and stated
ranks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from scorer.errors import Findings, Problem
from scorer.lists.reading.arrow import (
    booleans,
    coded,
    floats,
    integers,
    keep,
    numbers,
    pc,
    run_starts,
    text_lengths,
    texts,
)
from scorer.lists.reading.blocks import BYTE_ORDER_MARK, Block, Graded, Ranked, UnreadableError
from scorer.measures.matched import Bools, Floats, Ints
from scorer.wording import counted, quoted

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "qid", "topic", "topic_id", "user", "user_id", "customer_id"),
    "item": (
        *("item", "item_id", "doc", "doc_id", "docno", "document", "document_id"),
        *("pid", "passage_id", "corpus_id", "movie_id"),
    ),
    "rank": ("rank", "position", "place"),
    "score": ("score", "run_score", "sim", "similarity", "prediction", "rating"),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "score", "rating"),
    "items": (
        *("items", "item_ids", "prediction", "predictions", "recommendations"),
        *("results", "references", "documents"),
    ),
    "scores": ("scores", "similarities"),
    "distances": ("distances",),
    "relevant": ("relevant", "positive_passages", "positive_docs", "positive_ids", "positives", "labels", "documents"),
    "flag": ("flag", "preliminary", "usage"),
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
    ({"query": "topic_id", "items": "references"}, ("topic",)),  # TREC RAG: the topic is a text
    ({"query": "query_id", "relevant": "positive_passages"}, ("query",)),  # Tevatron: the query is a text
)
"""Columns by their exact names, which only together are a known tool's, and its columns that are something else."""

COLUMN_OPTIONS: Mapping[str, str] = {name: f"the name of the column with the {name}" for name in [*COLUMNS][:-1]}
"""The options that choose a column by its name, as in ``delimited:query=session``: any but the iteration."""

SOLUTION_COLUMNS = ("query", "item", "grade", "flag", "subtopic", "iteration", "relevant")
SUBMISSION_COLUMNS = ("query", "item", "score", "rank", "items", "scores", "distances")
SIGNS = {"scores": 1, "distances": -1}
"""The numbers next to a list of items, and their sign as run scores."""

RECBOLE_TYPE = re.compile(r":(token|float)(_seq)?$")


class AmbiguousError(UnreadableError):
    """Several columns have names for the same, and no known tool explains them."""

    def __init__(self, wanted: str, names: Sequence[str]) -> None:
        number = "both" if len(names) == 2 else "all"
        super().__init__(f"{' and '.join(map(quoted, names))} {number} name the {wanted}; keep one")
        self.choice = f"{wanted}={names[0]}"
        """The option of the format that chooses the first one."""


@lru_cache(maxsize=1024)  # the names of a first line are compared with those of many columns
def plain(name: str) -> str:
    """Return a name without case, ``_``, ``-`` and a type, as in ``user_id:token`` of RecBole."""
    return RECBOLE_TYPE.sub("", name.strip().lower()).replace("_", "").replace("-", "")


USUAL_NAMES = {QUERY_OF_LIST, *(plain(name) for names in COLUMNS.values() for name in names)}
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
    """Whether each row has a list of items, or of relevant items, and not one item."""
    if "items" in options or "relevant" in options:
        return True
    lists = places(names, "items", options) or places(names, "relevant", options)
    return bool(lists) and not places(names, "item", options)


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
    lists = "items" if "items" in wanted else "relevant"
    found: dict[str, int] = {}
    for column in ("query", lists) if has_lists(names, options) else ("query", "item", number):
        at = place(names, column, options)
        if at is None:
            several = (column,) if column != number else ("score", "rank") if "rank" in wanted else ("grade",)
            known = ", ".join(name for number in several for name in COLUMNS[number])
            raise UnreadableError(f"no column for the {' or '.join(several)}; expected one of {known}")
        found[column] = at
    others = ["flag", "subtopic", "iteration", *(SIGNS if "items" in found else ())]
    also = {column: place(names, column, options) for column in others if column in wanted}
    return {**found, **{column: at for column, at in also.items() if at is not None}}


def order_by(names: Sequence[str], options: Mapping[str, str]) -> str:
    """Return the column that orders a submission: the one that an option names, or else the score if there is one."""
    if ("rank" in options) != ("score" in options):
        return "rank" if "rank" in options else "score"
    scores = {plain(names[at]) for at in places(names, "score", options)}
    if not scores or ("score" not in options and scores <= {*PREDICTED}):
        return "rank" if places(names, "rank", options) else "score"
    return "score"


PIECE = 1 << 17


def split_columns(
    block: Block, delimiter: str, count: int, places: Mapping[str, int], number: str, *, skip: int = 0
) -> dict[str, pa.Array] | None:
    """Read the columns at these positions, of `count`: the one called `number` as finite numbers, others as text.

    A column called rank has numbers, too, which need not be finite. None where a line is not like the others: then the
    block must be read line by line, which also finds what is wrong with it, if anything is.
    """
    from pyarrow import csv  # noqa: PLC0415 (many files need no more than the lines)

    if block.content.startswith(BYTE_ORDER_MARK):  # Arrow would remove it
        return None
    names = [str(at) for at in range(count)]
    types = {**dict.fromkeys(places, pa.string()), number: pa.float64(), "rank": pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(block.content),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=len(block.content) + 1, column_names=names, skip_rows=skip
            ),
            parse_options=csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                check_utf8=False,
                include_columns=[names[at] for at in places.values()],
                column_types={names[at]: types[name] for name, at in places.items()},
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return None
    read = {name: _whole(table.column(names[at])) for name, at in places.items()}
    return read if np.isfinite(floats(read[number])).all() else None


def has_empty_column(block: Block) -> bool:
    """Whether white space follows white space, or begins or ends the block: a column or a line is empty."""
    content = block.content.replace(b"\r\n", b"\n") if block.holds(b"\r") else block.content
    codes = np.frombuffer(content, dtype=np.uint8)
    # In pieces that stay in the processor's cache.
    pieces = (codes[start : start + PIECE + 1] <= ord(" ") for start in range(0, codes.size, PIECE))
    if any((blank[1:] & blank[:-1]).any() for blank in pieces):
        return True
    return bool(codes[0] <= ord(" ")) or content.endswith((b" ", b"\t"))


def members(block: Block, types: Mapping[str, pa.DataType], needed: Collection[str]) -> dict[str, pa.Array] | None:
    """Return the members of the block's objects by name, one object on each line; there are those in `types`.

    Those in `needed` have no nulls. None as from `split_columns`, and where an object has a member that is not in
    `types`: somebody could name so many that their columns, in every row, take quadratic time.
    """
    from pyarrow import json  # noqa: PLC0415 (few files need it)

    # A line within an object would begin a nested value, and those are not read here.
    lines = block.lines
    if not booleans(pc.starts_with(lines, "{")).all():
        return None
    try:
        table = json.read_json(
            pa.BufferReader(block.content),
            read_options=json.ReadOptions(use_threads=False, block_size=len(block.content) + 1),
            parse_options=json.ParseOptions(
                explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="error"
            ),
        )
    except pa.ArrowInvalid:
        return None
    read = {name: _whole(table.column(name)) for name in table.column_names}
    if table.num_rows != len(lines) or any(read[name].null_count for name in needed):
        return None
    # JSON's readers differ on NaN, and on numbers beyond float64, also in a member that is not used.
    unused = (read[name] for name in read.keys() - set(needed) if pa.types.is_floating(read[name].type))
    return read if all((np.isfinite(floats(each)) | ~booleans(each.is_valid())).all() for each in unused) else None


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


DECIDE = "; the scores decide the order, and the rank column is ignored"


@np.errstate(over="ignore")  # the difference of huge scores is infinite, with the right sign
def contradiction(query: pa.StringArray, stated: pa.Array, score: Floats, line: Ints) -> Problem | None:
    """Return the note about ranks, numbers or any texts, that contradict the run scores; None if they agree.

    The adjacent rows of a query are a list. Neighbours in the order of the ranks are compared.
    """
    rank = floats(stated) if pa.types.is_floating(stated.type) else numbers(stated)
    new = np.zeros(rank.size, dtype=bool)
    new[run_starts(query)] = True
    same, further, up = ~new[1:], np.diff(rank), np.diff(score)
    odd = np.flatnonzero(rank != np.floor(rank))
    is_swapped = same.any() and (up[same] == 1).all() and further[same].any()
    if is_swapped and not odd.size and (np.abs(further[same]) == 1).all():
        # Lists whose worst item is first have the ranks 3, 2, 1; what falls to another number is a score.
        is_swapped = (further[same] < 0).all() and rank[np.append(new[1:], True)].max() > 1
    if is_swapped:
        return Problem.of_form(
            0, f"the run scores of each list are 1, 2, 3, ... and its ranks are not: the two look swapped{DECIDE}"
        )
    first_odd = int(line[odd[0]]) if odd.size else 0
    if (further[same] < 0).any():  # the rows of a list are in another order than their ranks
        order = np.lexsort((rank, np.cumsum(new)))
        rank, score, line = rank[order], score[order], line[order]
        further, up = np.diff(rank), np.diff(score)
    below = same & (further > 0)
    rising = np.flatnonzero(below & (up > 0)) + 1
    rows = f"of the first {counted(rank.size, 'row')}{DECIDE}"
    if rising.size and not (below & (up < 0)).any():
        return Problem.of_form(0, f"the run scores rise with the rank, as distances do; negate distances{DECIDE}")
    if rising.size:
        where = f"rank {rank[rising[0]]:g} has a higher run score, {score[rising[0]]:g}, than the rank before it"
        return Problem.of_form(int(line[rising[0]]), f"{where}; so in {rising.size:,} {rows}")
    if not odd.size:
        return None
    return Problem.of_form(first_odd, f"the rank is no whole number, in {odd.size:,} {rows}")


ID_IN_LIST = re.compile(r"""'([^']*)'|"([^"]*)"|([^][(){}'",\s]+)""")
"""An id in a list of Python or JSON, with or without quotes."""

FLAGS = {"1": True, "true": True, "yes": True, "public": True}
FLAGS |= {"0": False, "false": False, "no": False, "private": False}
"""The values of a flag, in lower case."""

A_FLAG = "1 (preliminary) or 0"
A_RANK = "a whole number, 0 or more"


def are_ranks(values: Floats) -> Bools:
    """Return a mask of the numbers that can be ranks. Beyond 2^53, float64 does not hold every whole number."""
    whole: Bools = values == np.floor(values)
    return whole & (values >= 0) & (values <= 2.0**53)


Columns = Mapping[str, pa.Array]
"""Columns by what they are for, as `COLUMNS` names it; numbers and flags may be text."""


def graded_rows(held: Columns, line: Ints, findings: Findings, mark: str | None = None) -> Graded:
    """Return the rows of a solution, each with its line; invalid rows are reported and left out.

    `mark` is as for `ranked_rows`; the items of a list have the grade 1.
    """
    if "relevant" in held:
        flag = _flags(held["flag"], line, findings) if "flag" in held else None
        rows = _listed_rows({**held, "items": held["relevant"]}, line, findings, mark)
        flag = flag if flag is None else flag[np.isin(line, rows.line)]
        return Graded(rows.query, rows.line, rows.lengths, rows.item, np.ones(len(rows.item)), flag=flag)
    query, item = (id_texts(held[name], name, line, findings) for name in ("query", "item"))
    grades = held["grade"]
    if is_text(grades.type) and len(grades) and str(grades[0]).startswith("L"):  # NTCIR writes L2 for 2
        grades = pc.replace_substring_regex(grades, pattern="^L([0-9])$", replacement=r"\1")
    grade = _numbers(grades, "grade", line, findings)
    flag = _flags(held["flag"], line, findings) if "flag" in held else None
    divided = held.get("subtopic", held.get("iteration"))
    subtopic = None if divided is None else _filled_in(divided)
    sound = _filled(query) & _filled(item) & ~np.isnan(grade)
    return Graded(query, line, None, item, grade, subtopic, "subtopic" not in held, flag).where(sound)


def ranked_rows(held: Columns, line: Ints, findings: Findings, mark: str | None = None) -> Ranked:
    """Return the rows of a submission, by score, else by rank; invalid rows are reported and left out.

    `mark` separates the items in a text with a list; None: it is found. Ranks next to scores are compared with them.
    """
    if "items" in held:
        return _listed_rows(held, line, findings, mark)
    query, item = (id_texts(held[name], name, line, findings) for name in ("query", "item"))
    by = "score" if "score" in held else "rank"
    value = _numbers(held[by], by, line, findings)
    if by == "rank":
        wrong = ~np.isnan(value) & ~are_ranks(value)
        report_wrong(held[by], wrong, line, findings, f"the rank; expected {A_RANK}")
        value[wrong] = np.nan
    sound = _filled(query) & _filled(item) & ~np.isnan(value)
    rows = Ranked(query, line, None, item, value).where(sound)
    if by == "rank":
        return replace(rows, run_score=None, rank=value[sound].astype(np.int64))
    is_compared = "rank" in held and sound.all()
    return replace(rows, note=contradiction(query, held["rank"], value, line)) if is_compared else rows


def _listed_rows(held: Columns, line: Ints, findings: Findings, mark: str | None) -> Ranked:
    """Return rows with the items of a query, the best first, as lists or as text with this mark; None: find it."""
    query, lists = id_texts(held["query"], "query", line, findings), held["items"]
    if is_text(lists.type):
        cells = lists.to_pylist()
        if mark is None:
            are_scattered = len(coded([query])[1]) < len(query)
            mark = mark_between([*filter(None, cells)], are_scattered=are_scattered, are_lists=True)
        lists = pa.array((list_in(cell, mark) for cell in cells), pa.list_(pa.string()))
    wrong = ~booleans(lists.is_valid())
    report_wrong(
        held["items"], wrong, line, findings, 'the items; expected a list of ids, as in "a b", "a,b" or [a, b]'
    )
    sound = _filled(query) & ~wrong
    lists = keep(lists, sound)
    lengths = integers(pc.list_value_length(lists))
    item = id_texts(pc.list_flatten(lists), "items", np.repeat(line[sound], lengths), findings)
    by = next((column for column in SIGNS if column in held), None)
    scores = None if by is None else SIGNS[by] * _listed_numbers(keep(held[by], sound), lengths, line[sound], findings)
    return Ranked(keep(query, sound), line[sound], lengths, item, scores)


def _listed_numbers(column: pa.Array, lengths: Ints, line: Ints, findings: Findings) -> Floats:
    """Return the numbers next to lists of so many items; lists with another number of them are reported."""
    cells = column.to_pylist()
    lists = [(list_in(f"[{(cell or '').strip('[]')}]", "") or []) if is_text(column.type) else cell for cell in cells]
    counts = np.array([len(each or ()) for each in lists], dtype=np.int64)
    report_wrong(column, counts != lengths, line, findings, "the scores; expected one for each item")
    if (counts != lengths).any():
        return np.zeros(int(lengths.sum()))
    value = numbers(texts(str(number) for each in lists for number in each or ()))
    wrong = np.flatnonzero(np.isnan(value))
    findings.add_each(np.repeat(line, lengths)[wrong], lambda _: "found a score that is no finite number")
    return value


IN_BRACKETS, ONE_A_LINE = "[", "\n"
"""What separates items, besides "," and " ": brackets around each list, or lines."""

TIGHT_COMMA = re.compile(r",[^\s,]")
UNUSUAL = re.compile("[;|]")
"""Marks that no list has between items, as far as is known."""
_SEVERAL = re.compile(r"['\",\s]")
"""What is in lists of several ids, or of ids in quotes."""
ONE_IN_BRACKETS = re.compile(r"^.(?![0-9]+.$).+.$")
"""What is in brackets, but no number."""
LONE_BLANK = re.compile(r"[^\s,]\s+[^\s,]")
"""White space that is next to no comma."""


def mark_between(texts: Sequence[str], *, are_scattered: bool, are_lists: bool = False) -> str:
    """Return what separates the items in texts with the items of a query: the same in the whole file; "" if nothing is.

    Where queries repeat (`are_scattered`), each text is one item. Raises UnreadableError where it cannot be decided
    whether a text is one id or a list, unless there are blanks and they `are_lists`.
    """
    bare = [text for text in texts if not _is_bracketed(text)]
    if are_scattered:
        return ONE_A_LINE if bare else IN_BRACKETS
    plain = [*bare, *(text.strip()[1:-1] for text in texts if _is_bracketed(text) and not re.search("['\"]", text))]
    spaced = [text for text in plain if len(text.split(None, 1)) > 1]  # quicker than to search all
    odd = next((text for text in spaced if LONE_BLANK.search(text) and re.search(r",\s", text)), None)
    mark = " " if any(map(LONE_BLANK.search, spaced)) else "," if any("," in text for text in plain) else ""
    if mark == ",":  # as in Wikipedia's ids, or with blanks after some commas only
        tight = [text for text in plain if TIGHT_COMMA.search(text)]
        is_mixed = any(re.search(r",\s", text) for text in spaced)
        odd = next((text for text in tight if is_mixed or ",_" in text or _has_url(text)), None)
    unusual = (text for text in plain if UNUSUAL.search(text))
    odd = odd or next((text for text in unusual if mark != "," or text.count(";") >= text.count(",")), None)
    bracketed = [text.strip() for text in texts if _is_bracketed(text)]
    if not any(map(_SEVERAL.search, bracketed)):
        odd = odd or next(filter(ONE_IN_BRACKETS.search, bracketed), None)
    lists = [_parts(text, mark) for text in bare if mark in text]
    first, later = {parts[0] for parts in lists if parts}, {part for parts in lists for part in parts[1:]}
    is_clear = not lists or 2 * sum(len(parts) > 2 for parts in lists) >= len(bare) or bool(first & later)
    if odd is None and (not mark or is_clear or (are_lists and mark == " ")):
        return mark or ("" if bare else IN_BRACKETS)
    found = odd or next(text for text in bare if mark in text)
    odds = "commas and blanks" if mark and "," in (odd or "") else "marks"
    what = "a comma" if mark == "," else "a blank" if odd is None else odds
    raise UnreadableError(
        f"found {quoted(found)}, which is one id with {what}, or a list; write lists in brackets, "
        'as in ["d1", "d2"], or one item a line below the header query<TAB>item<TAB>rank, with tabs between columns'
    )


def _has_url(text: str) -> bool:
    """Whether some of the parts between commas are URLs, and others are not, as those of a URL with a comma."""
    return "://" in text and len({"://" in part for part in text.split(",")}) > 1


def _is_bracketed(text: str) -> bool:
    return text.strip()[:1] in ("[", "(")


def _parts(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if mark == "," else text.split() if mark == " " else [text]


_ODD: Mapping[str, str] = {",": LONE_BLANK.pattern, " ": r",\s", "": r"[\s,]"}
"""What is in no text with this mark between ids."""


def list_in(text: str | None, mark: str) -> list[str] | None:
    """Return the ids in a text with this mark between them, or in brackets. None for other texts."""
    bare = (text or "").strip()
    if text is None or (mark == IN_BRACKETS and not _is_bracketed(bare)):
        return None
    if mark == ONE_A_LINE or not bare:
        return [bare] if bare else []
    if _is_bracketed(bare):
        inner = bare[1:-1]
        if bare[-1] not in "])" or ID_IN_LIST.sub("", inner).strip(" ,\n"):
            return None
        if not inner.strip() or "'" in inner or '"' in inner:
            return [next(filter(None, match.groups()), "") for match in ID_IN_LIST.finditer(inner)]
        bare = inner.strip(" ,\n")
        mark = mark if mark in (",", " ") else " " if LONE_BLANK.search(bare) else ","
    if mark == "," and len(bare.split(None, 1)) < 2:  # quicker than to search
        return bare.split(",")
    return None if re.search(_ODD[mark], bare) else _parts(bare, mark)


def columns_of(table: pa.Table, wanted: tuple[str, ...], options: Mapping[str, str]) -> Columns:
    """Return the columns to read, in one piece each. Raises UnreadableError where one is missing or of a wrong type."""
    places = needed_places(table.column_names, wanted, options)
    held = {name: whole_column(table.column(at)) for name, at in places.items()}
    for name, column in held.items():
        found = f"the column {quoted(table.column_names[places[name]])} is of type {column.type}"
        if name in ("query", "item", "subtopic", "iteration"):
            is_digits = is_numeric if name == "iteration" else pa.types.is_integer
            if not (is_text(column.type) or is_digits(column.type)):
                raise UnreadableError(f"{found}; expected text or whole numbers as ids")
        elif name in ("items", "relevant", *SIGNS):
            inner = column.type.value_type if is_list(column.type) else None
            known = is_numeric if name in SIGNS else pa.types.is_integer
            if not (is_text(inner or column.type) or (inner and known(inner))):
                expected = "numbers" if name in SIGNS else "text or whole numbers as ids"
                raise UnreadableError(f"{found}; expected lists of {expected}")
        elif name == "flag":
            if not (pa.types.is_boolean(column.type) or is_text(column.type) or is_numeric(column.type)):
                raise UnreadableError(f"{found}; expected {A_FLAG} as the flag")
        elif not is_numeric(column.type):
            raise UnreadableError(f"{found}; expected numbers as the {name}")
    return held


def whole_column(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece and without dictionaries."""
    # Empty pieces may lack the buffers that `concat_arrays` reads.
    pieces = [_resolved(piece) for piece in column.chunks if len(piece)]
    if not pieces:
        return pa.array([], pa.string() if pa.types.is_dictionary(column.type) else column.type)
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def _resolved(piece: pa.Array) -> pa.Array:
    """Return a piece without a dictionary."""
    if is_list(piece.type) and pa.types.is_dictionary(piece.type.value_type):
        return piece.cast(pa.list_(piece.type.value_type.value_type))
    if not pa.types.is_dictionary(piece.type):
        return piece
    values = piece.dictionary
    # Arrow takes values by their positions from plain strings only.
    return (values.cast(pa.string()) if is_text(values.type) else values).take(piece.indices)


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type has texts."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def is_list(type_: pa.DataType) -> bool:
    """Whether a column of this type has lists."""
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_))


def is_numeric(type_: pa.DataType) -> bool:
    """Whether a column of this type has numbers."""
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))


def id_texts(column: pa.Array, what: str, line: Ints, findings: Findings) -> pa.StringArray:
    """Return ids as text; a missing id is reported, and empty."""
    ids = _filled_in(column)
    findings.add_each(line[~_filled(ids)], lambda _: f"no id in the column {what}; expected one in each row")
    return ids


def _filled_in(column: pa.Array) -> pa.StringArray:
    """Return a column as text, empty for a null."""
    return pc.coalesce(column.cast(pa.string()), pa.scalar("", pa.string()))


def _filled(ids: pa.StringArray) -> Bools:
    return text_lengths(ids) > 0


def _numbers(column: pa.Array, what: str, line: Ints, findings: Findings) -> Floats:
    """Return a column as float64; a value that is no finite number is reported, and NaN."""
    value = numbers(column) if is_text(column.type) else floats(pc.cast(column, pa.float64(), safe=False))
    wrong = ~np.isfinite(value)
    report_wrong(column, wrong, line, findings, f"the {what}; expected a finite number")
    return np.where(wrong, np.nan, value)


def _flags(column: pa.Array, line: Ints, findings: Findings) -> Bools:
    """Return flags: booleans, 0 and 1, and the words for them; anything else is reported."""
    if pa.types.is_boolean(column.type) and not column.null_count:
        return booleans(column)
    words = column if is_text(column.type) else texts(map(str, column.to_pylist()))
    words = pc.ascii_lower(pc.ascii_trim_whitespace(_filled_in(words)))
    flag, plain = (
        booleans(pc.is_in(words, value_set=texts(word for word, flag in FLAGS.items() if flag == wanted)))
        for wanted in (True, False)
    )
    report_wrong(words, ~(flag | plain), line, findings, f"the flag; expected {A_FLAG}")
    return flag


THOUSANDS = re.compile(r"[-+]?[0-9]{1,3}([,.'\u2019_ \u00a0\u202f][0-9]{3})+([.,][0-9]+)?")


def report_wrong(column: pa.Array, wrong: Bools, line: Ints, findings: Findings, role: str) -> None:
    """Report the wrong values of a column."""
    at = np.flatnonzero(wrong)

    def found(number: int) -> str:
        value: Any = column[at[number]].as_py()
        has_comma = isinstance(value, str) and value.count(",") == 1 and value.replace(",", "").lstrip("+-").isdigit()
        comma = "; write a decimal point, not a comma" if has_comma else ""
        if isinstance(value, str) and not has_comma and THOUSANDS.fullmatch(value):
            comma = "; write numbers without marks between thousands, and with a decimal point"
        return f"found {quoted(value) if isinstance(value, str) else value} as {role}{comma}"

    findings.add_each(line[at], found)
