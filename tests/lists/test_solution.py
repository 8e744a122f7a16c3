"""Solution: reading, invalid files, lists of ids, and the digest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scorer.errors import SolutionError
from scorer.lists.solution import UNKNOWN, Solution, read_ids


def written(tmp_path: Path, text: str) -> Path:
    """A file with this text."""
    path = tmp_path / "solution.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_items_are_sorted_by_grade(tmp_path: Path) -> None:
    """For any order of the file. Equal grades share a tie rank: 1 plus the number of better items."""
    solution = Solution.read(written(tmp_path, "q:1:a|5,b|9,c|9,d|0\nr:0:\n"))

    assert solution.ideal.grade.tolist() == [9, 9, 5, 0]
    assert solution.ideal.rank.tolist() == [1, 2, 3, 4]
    assert solution.ideal.tie_rank.tolist() == [1, 1, 3, 4]
    assert solution.queries.to_pylist() == ["q", "r"]
    assert solution.flagged.tolist() == [True, False]


def test_only_judged_pairs_are_found(tmp_path: Path) -> None:
    """An item that is judged only for another query is not found."""
    solution = Solution.read(written(tmp_path, "q:1:a|5,b|9\nr:0:c|1\n"))
    query = solution.query_codes(solution.queries.take([0, 0, 1, 1]))
    items = solution.ids.item_codes(solution.items.take([0, 1, 2, 0]))

    entries = solution.ids.entries(query, items)

    assert solution.ideal.grade[entries[:3]].tolist() == [5, 9, 1]
    assert entries[3] == UNKNOWN
    assert solution.ids.entries(np.array([UNKNOWN]), np.array([0])).tolist() == [UNKNOWN]


INVALID = {
    "item twice": ("q:1:a|1,b|2,a|3\n", '1: item "a" is listed again for query "q"; list each item once'),
    "query twice": ("q:1:a|1\nr:0:b|1\nq:1:c|1\n", '3: query "q" is listed again (first in line 1); give each query'),
    "nothing listed": ("q:1:\nr:0:\n", "no query has a relevant item, so nothing can be scored"),
    "nothing relevant": ("q 0 a 0\nr 0 b -1\n", "no query has a relevant item, so nothing can be scored"),
    "flags at odds": (
        "query,item,grade,flag\nq,a,1,1\nq,b,1,0\n",
        '3: query "q" is flagged in one line and not in another',
    ),
    "no rows": ("query,item,grade\n", "the file has no rows"),
    "no grade": ("query,item\nq,a\n", "1: no column for the grade; expected one of grade"),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID.keys())
def test_an_invalid_solution_is_an_error(text: str, message: str, tmp_path: Path) -> None:
    """The message has the file, the line and what was expected."""
    path = written(tmp_path, text)

    with pytest.raises(SolutionError) as caught:
        Solution.read(path)

    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)


def test_ids_can_be_read_from_a_list(tmp_path: Path) -> None:
    """One a line, each once, in the order of the file; blank lines are ignored. So are the ids of queries."""
    file = written(tmp_path, "b\n a \r\n\nb\né\n")
    assert read_ids(file).to_pylist() == Solution.read_queries(file).queries.to_pylist() == ["b", "a", "é"]
    for path, reason in ((tmp_path / "none.txt", r"none\.txt: no such file"), (written(tmp_path, ""), "is empty")):
        with pytest.raises(SolutionError, match=reason):
            read_ids(path)


def test_a_solution_with_candidates_is_otherwise_the_same(tmp_path: Path) -> None:
    """The candidates are a list of ids, or an array as `read_ids` returns it."""
    solution = Solution.read(written(tmp_path, "q:1:a|5,b|9\n"))
    candidates = read_ids(written(tmp_path, "a\nb\nc\n"))

    for given in (candidates, ["a", "b", "c"]):
        changed = solution.with_candidates(given)
        assert changed.candidates is not None
        assert changed.candidates.to_pylist() == ["a", "b", "c"]
        assert changed.ideal is solution.ideal
    assert solution.candidates is None
