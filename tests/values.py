"""Tables of values for the tests of analyses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Values = Mapping[str, Mapping[str, Sequence[float | str | None]]]
"""Task -> algorithm -> a value for each case; None has no row."""

HEAD = "task,algorithm,case,value"


def rows(values: Values) -> list[tuple[str, str, str, str]]:
    """The rows of a table; cases are numbered from 1."""
    return [
        (task, algorithm, str(case), str(value))
        for task, algorithms in values.items()
        for algorithm, column in algorithms.items()
        for case, value in enumerate(column, 1)
        if value is not None
    ]


def csv(values: Values | Iterable[tuple[str, ...]]) -> str:
    """The text of a CSV file; fields are quoted."""
    listed = rows(values) if isinstance(values, Mapping) else values
    lines = (",".join('"' + field.replace('"', '""') + '"' for field in row) for row in listed)
    return "\n".join([HEAD, *lines]) + "\n"


def table(folder: Path, values: Values | Iterable[tuple[str, ...]], name: str = "values.csv") -> Path:
    """Write a CSV file."""
    file = folder / name
    file.write_text(csv(values), encoding="utf-8")
    return file


CLEAR = {
    "clear": {
        "low": [0.1 + case / 1000 for case in range(20)],
        "middle": [0.5 + case % 3 / 100 for case in range(20)],
        "high": [0.9 - case % 4 / 200 for case in range(20)],
    }
}
"""Three algorithms of which each is better than the next one on every case."""
