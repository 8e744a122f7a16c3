"""Tables of values as tasks: CSV and Parquet with the columns task, algorithm, case and value."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

import numpy as np
import pyarrow as pa

from scorer.errors import FileError, Findings
from scorer.files import shown
from scorer.limits import MB, OWN_FILES
from scorer.lists.formats.delimited import DELIMITERS, Header
from scorer.lists.formats.layouts import fields
from scorer.lists.formats.parquet import MAGIC, errors_in_words, read_columns
from scorer.lists.reading import tables
from scorer.lists.reading.arrow import booleans, coded, floats, numbers, pc, texts
from scorer.lists.reading.blocks import Block, UnreadableError, line_blocks, open_bytes, read_chunk, reported
from scorer.lists.reading.tables import AmbiguousError, place, places
from scorer.measures.matched import Floats, Ints
from scorer.scoring.analysis.kept import Task
from scorer.wording import counted, quoted

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "task": ("task",),
    "algorithm": ("algorithm", "alg_name"),
    "case": ("case", "test_case"),
    "value": ("value", "metric_value"),
}
"""The columns of a table and their names, compared as those of other tables; others are ignored."""
_IDS = ("task", "algorithm", "case")

MISSING_VALUES = ("", "na", "nan", "n/a", "null", "none")
"""What a missing value is written as, in lower case."""

_LARGEST = 1e100
"""The largest absolute value. The squares of larger ones would exceed the floating-point numbers."""

MOST_VALUES = 200_000_000
"""The values that the algorithms of a task may have on its cases, with the missing ones."""


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of a part of a table."""

    ids: dict[str, pa.StringArray]
    """The task, the algorithm and the case of each row."""
    value: Floats
    """NaN where missing."""
    line: Ints


def read_table(
    path: str | os.PathLike[str], *, larger_is_better: bool = True, columns: Mapping[str, str] | None = None
) -> list[Task]:
    """Read a CSV or Parquet file, or a URL of one, also compressed, with a row for each value; "-" is standard input.

    The tasks, their algorithms and their cases are sorted by name, so that the order of the rows changes nothing. A
    pair of an algorithm and a case of the same task without a row has a missing value, which a note of the task
    reports. A table without a column of tasks has one, with the name of the file. `columns` has the names of columns
    that are called something else, by those of `_COLUMNS`. Raises FileError with all errors if the file cannot be read
    or is invalid.
    """
    findings = Findings()
    parts: list[_Rows] = []
    with reported(findings):
        parts.extend(_parts(path, columns or {}, findings))
    if not findings and not any(part.value.size for part in parts):
        findings.add(0, "the table has no rows")
    for part in parts:
        if "task" not in part.ids:
            part.ids["task"] = texts([PurePath(shown(path)).name] * part.line.size)
    tasks = [] if findings else _tasks(parts, findings, larger_is_better)
    if findings:
        raise FileError(shown(path), findings)
    return tasks


def _parts(path: str | os.PathLike[str], options: Mapping[str, str], findings: Findings) -> Iterator[_Rows]:
    """Yield the rows of a file, block by block."""
    with open_bytes(path) as stream:
        start = read_chunk(stream)
        if start.startswith(MAGIC.encode()):
            rest = [start]
            while rest[-1]:
                rest.append(read_chunk(stream))
                if sum(map(len, rest)) > OWN_FILES.document_mb * MB:
                    raise UnreadableError("the file is too large to be read as a whole")
            with errors_in_words():
                yield _parquet(Block(b"".join(rest), 1), options, findings)
            return
        header = None
        for block in line_blocks(stream, start):
            if header is None and block.content.strip():
                header = Header.of(block, partial(_delimiter, options), partial(_places, options))
            if header is not None:
                yield _checked(*header.rows(block, findings), findings)
        if header is None:
            raise UnreadableError("the file is empty")


def _delimiter(options: Mapping[str, str], header: str) -> str:
    """Return the delimiter that finds most columns: a name may contain the other ones."""

    def found(mark: str) -> int:
        return sum(bool(places(fields([header], mark)[0], name, options, _COLUMNS)) for name in _COLUMNS)

    return max(DELIMITERS.values(), key=found)


def _places(options: Mapping[str, str], names: Sequence[str]) -> dict[str, int]:
    """Return the positions of the columns. Raises UnreadableError where one is missing or several may be meant."""
    try:
        found = {name: place(names, name, options, _COLUMNS) for name in _COLUMNS}
    except AmbiguousError as error:
        raise UnreadableError(f"{error}, or choose one with --{error.choice.replace('=', ' ', 1)}") from None
    missing = [name for name, at in found.items() if at is None and name != "task"]
    if missing:
        read = ", ".join(map(quoted, names[:10]))
        raise UnreadableError(
            f"no column {' and no column '.join(missing)}; found {read}; "
            f"name it, as in --{missing[0]} NAME; usual names are {', '.join(_COLUMNS[missing[0]])}"
        )
    return {name: at for name, at in found.items() if at is not None}


def _parquet(block: Block, options: Mapping[str, str], findings: Findings) -> _Rows:
    """Read a Parquet file; the line of a finding is the number of the row."""
    table = read_columns(block, lambda names: sorted(_places(options, names).values()))
    held = {name: tables.whole_column(table.column(at)) for name, at in _places(options, table.column_names).items()}
    for name, column in held.items():
        found = f"the column {name} is of type {column.type}"
        if name == "value":
            if not (tables.is_numeric(column.type) or tables.is_text(column.type) or pa.types.is_null(column.type)):
                raise UnreadableError(f"{found}; expected numbers")
        elif not (tables.is_text(column.type) or pa.types.is_integer(column.type)):
            raise UnreadableError(f"{found}; expected text or whole numbers")
    return _checked(held, np.arange(1, table.num_rows + 1, dtype=np.int64), findings)


def _checked(held: tables.Columns, line: Ints, findings: Findings) -> _Rows:
    """Return the rows; ids that are blank and values that are no finite number are reported."""
    ids = {name: tables.id_texts(held[name], name, line, findings) for name in _IDS if name in held}
    column = held["value"]
    if tables.is_text(column.type):
        column = pc.coalesce(column.cast(pa.string()), pa.scalar("", pa.string()))
        missing = booleans(pc.is_in(pc.ascii_lower(column), value_set=texts(MISSING_VALUES)))
        value = numbers(column)
    else:
        value = floats(pc.cast(column, pa.float64(), safe=False))
        missing = np.isnan(value)
    wrong = ~missing & ~(np.abs(value) <= _LARGEST)
    expected = f"a finite number up to {_LARGEST:g}, or NA where it is missing"
    tables.report_wrong(column, wrong, line, findings, f"the value; expected {expected}")
    return _Rows(ids, np.where(missing | wrong, np.nan, value), line)


def _tasks(parts: Sequence[_Rows], findings: Findings, larger_is_better: bool) -> list[Task]:
    """Return the tasks of all rows; a case that an algorithm has twice is reported."""
    (task, tasks), (algorithm, algorithms), (case, cases) = (
        _coded([part.ids[name] for part in parts]) for name in _IDS
    )
    value = np.concatenate([part.value for part in parts])
    line = np.concatenate([part.line for part in parts])
    _report_twice([task, algorithm, case], [algorithms, cases], line, findings)
    if findings:
        return []
    by_task = np.argsort(task, kind="stable")
    bounds = np.searchsorted(task[by_task], np.arange(len(tasks) + 1))
    complete = []
    for number, name in enumerate(tasks):
        rows = by_task[bounds[number] : bounds[number + 1]]
        mine, row = np.unique(algorithm[rows], return_inverse=True)
        theirs, column = np.unique(case[rows], return_inverse=True)
        if mine.size * theirs.size > MOST_VALUES:
            findings.add(
                0,
                f"task {quoted(name)} has {counted(mine.size, 'algorithm')} and {counted(theirs.size, 'case')}; "
                f"expected at most {MOST_VALUES:,} values",
            )
            continue
        values = np.full((mine.size, theirs.size), np.nan)
        values[row, column] = value[rows]
        absent = values.size - rows.size
        pairs, verb = counted(absent, "pair"), "it counts" if absent == 1 else "they count"
        note = f"The table has no row for {pairs} of an algorithm and a case; {verb} as missing."
        complete.append(
            Task(
                name=name,
                algorithms=tuple(algorithms[at] for at in mine),
                cases=tuple(cases[at] for at in theirs),
                values=values,
                larger_is_better=larger_is_better,
                notes=(note,) if absent else (),
            )
        )
    return complete


def _coded(parts: Sequence[pa.StringArray]) -> tuple[Ints, list[str]]:
    """Return the number of each text among the distinct texts, and these in ascending order."""
    code, distinct = coded(parts)
    names: list[str] = distinct.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    position = np.empty(len(names), dtype=np.int64)
    position[order] = np.arange(len(names))
    return position[code], [names[at] for at in order]


def _report_twice(codes: Sequence[Ints], names: Sequence[Sequence[str]], line: Ints, findings: Findings) -> None:
    """Report each row whose task, algorithm and case an earlier row has."""
    task, algorithm, case = codes
    algorithms, cases = names
    order = np.lexsort((np.arange(line.size), case, algorithm, task))
    same = np.ones(max(line.size - 1, 0), dtype=bool)
    for code in codes:
        same &= code[order][1:] == code[order][:-1]
    first = np.arange(line.size)
    for at in np.flatnonzero(same) + 1:
        first[order[at]] = first[order[at - 1]]
    again = np.sort(order[1:][same])
    findings.add_each(
        line[again],
        lambda at: (
            f"algorithm {quoted(algorithms[algorithm[again[at]]])} has case {quoted(cases[case[again[at]]])} twice "
            f"(first in line {line[first[again[at]]]}); give each case one row"
        ),
    )
