"""Tables of values: CSV and Parquet with the columns task, algorithm, case and value."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from scorer.cli.reports import LARGEST_VALUE
from scorer.errors import FileError, ScorerError
from scorer.scoring.analysis.kept import Task, without_missing
from scorer.scoring.analysis.tables import MISSING_VALUES, read_table
from tests.commands import Terminal
from tests.values import HEAD, csv, table

ROWS = [("t", "b", "2", "0.25"), ("t", "a", "1", "0.5"), ("t", "a", "2", "1e-3"), ("t", "b", "1", "-4")]


def plain(tasks: list[Task]) -> dict[str, object]:
    """Tasks as plain values."""
    return {task.name: (task.algorithms, task.cases, task.values.tolist()) for task in tasks}


EXPECTED = {"t": (("a", "b"), ("1", "2"), [[0.5, 0.001], [-4.0, 0.25]])}


@pytest.mark.parametrize(
    "text",
    [
        csv(ROWS),
        csv(ROWS).replace('"', ""),
        csv(ROWS).replace('"', "").replace(",", "\t"),
        csv(ROWS).replace('"', "").replace(",", ";"),
        "\ufeff\n\n"
        + csv(ROWS).replace("\n", "\r\n").upper().replace('"T"', '"t"').replace("A", "a").replace("B", "b"),
        csv(ROWS).rstrip("\n"),
        "\n".join(",".join([row[3], "x", *row[:3]]) for row in [(*HEAD.split(","),), *ROWS]),
    ],
)
def test_a_csv_file_is_read(tmp_path: Path, text: str) -> None:
    """With commas, tabs or semicolons; quoted; heads in any case and any order; other columns are ignored."""
    file = tmp_path / "values"
    for content in (text.encode(), gzip.compress(text.encode())):
        file.write_bytes(content)
        assert plain(read_table(file)) == EXPECTED


@pytest.mark.parametrize("kind", ["text", "integers", "dictionaries", "large text", "decimals"])
def test_a_parquet_file_is_read(tmp_path: Path, kind: str) -> None:
    """Ids as text, whole numbers or dictionaries; values as numbers or as text."""
    tasks, algorithms, cases, values = (list(column) for column in zip(*ROWS, strict=True))
    columns = {
        "other": pa.array([[1]] * 4),
        "Value": pa.array(values) if kind == "text" else pa.array(map(float, values)),
        "task": pa.array(tasks).dictionary_encode() if kind == "dictionaries" else pa.array(tasks),
        "algorithm": pa.array(algorithms, pa.large_string() if kind == "large text" else pa.string()),
        "case": pa.array(map(int, cases)) if kind == "integers" else pa.array(cases),
    }
    if kind == "decimals":
        columns["Value"] = columns["Value"].cast(pa.decimal128(10, 4))
    file = tmp_path / "values.parquet"
    parquet.write_table(pa.table(columns), file)

    assert plain(read_table(file)) == EXPECTED


@pytest.mark.parametrize("word", MISSING_VALUES)
def test_a_missing_value_is_nan(tmp_path: Path, word: str) -> None:
    """Written as R, pandas and databases write it, in upper or lower case."""
    (task,) = read_table(table(tmp_path, [*ROWS, ("t", "a", "3", word.upper()), ("t", "b", "3", "1")]))

    assert np.isnan(task.values[0, 2])
    assert task.notes == ()


def test_a_null_of_parquet_is_missing(tmp_path: Path) -> None:
    """As well as NaN."""
    file = tmp_path / "values.parquet"
    columns = {"task": ["t"] * 3, "algorithm": ["a"] * 3, "case": [1, 2, 3], "value": [None, float("nan"), 0.5]}
    parquet.write_table(pa.table(columns), file)

    assert np.isnan(read_table(file)[0].values).tolist() == [[True, True, False]]


def test_absent_pairs_are_inserted_as_missing_and_reported(tmp_path: Path) -> None:
    """A pair of an algorithm and a case of the same task; other tasks have other cases."""
    one, other = read_table(table(tmp_path, [*ROWS, ("t", "a", "3", "1"), ("u", "a", "9", "1")]))

    assert np.isnan(one.values[1, 2])
    assert one.notes == ("The table has no row for 1 pair of an algorithm and a case; it counts as missing.",)
    assert (other.cases, other.notes) == (("9",), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n \n", "the file is empty"),
        (HEAD, "the table has no rows"),
        ("PAR1" + "x" * 100, "no whole Parquet file"),
        ("task,algo,case,score\n", '1: no column algorithm and no column value; found "task", "algo", "case", "score"'),
        ("\ntask,algorithm,case,value,Value\n", '2: several columns are called "value"; give each'),
        (f"{HEAD}\nt,a,1,x\n", '2: found "x" as the value; expected a finite number up to 1e+100, or NA'),
        (f"{HEAD}\nt,a,1,inf\n", '2: found "inf" as the value; expected a finite number'),
        (f"{HEAD}\nt,a,1,-Infinity\n", '2: found "-Infinity" as the value; expected a finite number'),
        (f"{HEAD}\nt,a,1,1e101\n", '2: found "1e101" as the value; expected a finite number up to 1e+100'),
        (f"{HEAD}\nt,a,1,0x10\n", '2: found "0x10" as the value'),
        (f"{HEAD}\nt,a,1,1\n,a,2,1\n", "3: no id in the column task; expected one in each row"),
        (f"{HEAD}\nt, ,1,1\n", "2: no id in the column algorithm"),
        (f"{HEAD}\nt,a,,1\n", "2: no id in the column case"),
        (f"{HEAD}\nt,a,1\n", '2: found "t,a,1"; expected 4 columns, as in the header'),
        (f"{HEAD}\nt,a,1,2,3\n", '2: found "t,a,1,2,3"; expected 4 columns'),
        (f'{HEAD}\nt,"a,1,2\n', "2: found"),
        (f"{HEAD}\nt,a,1,2\nt,b,1,2\nt,a,1,3\nt,a,1,4\n", '4: algorithm "a" has case "1" twice (first in line 2)'),
    ],
)
def test_an_invalid_table_is_explained(tmp_path: Path, text: str, message: str) -> None:
    """With the line, what was found and what was expected."""
    file = tmp_path / "values.csv"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(FileError, match=re.escape(message)):
        read_table(file)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("value", [True], "the column value is of type bool; expected numbers"),
        ("value", [float("-inf")], "1: found -inf as the value"),
        ("case", [1.5], "the column case is of type double; expected text or whole numbers"),
        ("task", [None], "1: no id in the column task"),
    ],
)
def test_an_invalid_parquet_file_is_explained(tmp_path: Path, column: str, values: list[object], message: str) -> None:
    """With the number of the row."""
    columns = {"task": ["t"], "algorithm": ["a"], "case": ["1"], "value": [0.5], column: values}
    if column == "task":
        columns["task"] = pa.array(values, pa.string())
    file = tmp_path / "values.parquet"
    parquet.write_table(pa.table(columns), file)

    with pytest.raises(FileError, match=re.escape(message)):
        read_table(file)


def test_all_errors_are_reported_together(tmp_path: Path) -> None:
    """By line."""
    rows = [("t", "a", "1", "x"), ("", "a", "2", "1"), ("t", "a", "3", "inf")]
    with pytest.raises(FileError) as caught:
        read_table(table(tmp_path, rows))

    assert [problem.line for problem in caught.value.findings] == [2, 3, 4]


GAP = [("t", "a", "1", "0.5"), ("t", "a", "2", "NA"), ("t", "b", "1", "0.25")]
"""Two of four values are missing, one of them without a row."""


def test_a_missing_value_is_an_error_by_default(tmp_path: Path, terminal: Terminal) -> None:
    """It says how many, which first, and what to do."""
    answer = terminal.run("report", table(tmp_path, GAP), "--format", "json")

    assert (answer.code, answer.out) == (1, "")
    assert '2 values of 4 are missing, first that of algorithm "a" on case "2"' in answer.err
    assert "--na NUMBER replaces missing values by a number, --na drop leaves them out" in answer.err


def test_missing_values_can_be_replaced(tmp_path: Path) -> None:
    """By a number, with a note."""
    (task,) = read_table(table(tmp_path, GAP))
    done = without_missing(task, 0.125)

    assert done.values.tolist() == [[0.5, 0.125], [0.25, 0.125]]
    assert done.notes[1].endswith("They count as 0.125.")


def test_missing_values_can_be_dropped(tmp_path: Path) -> None:
    """A case without any value is removed; the other values stay."""
    (task,) = read_table(table(tmp_path, [*GAP, ("t", "b", "3", "1")]))
    done = without_missing(task, "drop")

    assert done.cases == ("1", "3")
    assert np.isnan(done.values).tolist() == [[False, True], [False, False]]
    assert "4 values of 6" not in done.notes[1]
    assert "3 values of 6 are missing" in done.notes[1]


def test_an_algorithm_without_any_value_is_an_error(tmp_path: Path) -> None:
    """Also with drop."""
    (task,) = read_table(table(tmp_path, [*ROWS, ("t", "c", "1", "NA")]))

    with pytest.raises(ScorerError, match='algorithm "c" has no value'):
        without_missing(task, "drop")


def test_the_limit_of_values_is_the_same_in_the_help(tmp_path: Path) -> None:
    """The number that replaces missing values may be as large as the values of a table."""
    (task,) = read_table(table(tmp_path, [("t", "a", "1", repr(LARGEST_VALUE))]))

    assert task.values.tolist() == [[LARGEST_VALUE]]
