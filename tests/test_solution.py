"""Solution: reading, what is refused, and the digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from scorer.errors import SolutionError
from scorer.matching.solution import NOWHERE, Solution
from scorer.paths import digest


def written(tmp_path: Path, text: str) -> Path:
    """A solution, written down."""
    path = tmp_path / "solution.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_items_are_sorted_by_grade_whatever_the_order_of_the_file(tmp_path: Path) -> None:
    """Equal grades share a tie rank, as many better items as there are plus 1."""
    solution = Solution.read(written(tmp_path, "q:1:a|5,b|9,c|9,d|0\nr:0:\n"))

    assert solution.ideal.grade.tolist() == [9, 9, 5, 0]
    assert solution.ideal.rank.tolist() == [1, 2, 3, 4]
    assert solution.ideal.tie_rank.tolist() == [1, 1, 3, 4]
    assert solution.queries.to_pylist() == ["q", "r"]
    assert solution.flagged.tolist() == [True, False]


def test_only_positive_grades_are_right_where_judgements_are_listed(tmp_path: Path) -> None:
    """In VL.NET's format every listed item is right; in others a grade of 0 says that it is not."""
    solution = Solution.read(written(tmp_path, "q 0 a 2\nq 0 b 0\nq 0 c -1\n"))

    assert solution.ideal.tie_rank.tolist() == [1, 0, 0]


def test_pairs_are_found_and_others_are_not(tmp_path: Path) -> None:
    """An item known from another query is no hit."""
    solution = Solution.read(written(tmp_path, "q:1:a|5,b|9\nr:0:c|1\n"))
    query = solution.query_codes(solution.queries.take([0, 0, 1, 1]))
    items = solution.item_codes(solution.items.take([0, 1, 2, 0]))

    entries = solution.entries(query, items)

    assert solution.ideal.grade[entries[:3]].tolist() == [5, 9, 1]
    assert entries[3] == NOWHERE
    assert solution.entries(np.array([NOWHERE]), np.array([0])).tolist() == [NOWHERE]


REFUSED = {
    "item twice": ("q:1:a|1,b|2,a|3\n", '1: item "a" stands again for query "q"; each item may stand once'),
    "query twice": ("q:1:a|1\nr:0:b|1\nq:1:c|1\n", '3: query "q" stands again (first in line 1); each query may'),
    "nothing listed": ("q:1:\nr:0:\n", "no query has a relevant item, so nothing can be scored"),
    "nothing relevant": ("q 0 a 0\nr 0 b -1\n", "no query has a relevant item, so nothing can be scored"),
    "flags at odds": (
        "query,item,grade,flag\nq,a,1,1\nq,b,1,0\n",
        '3: query "q" is flagged in one line and not in another',
    ),
    "no rows": ("query,item,grade\n", "the file has no rows"),
    "no grade": ("query,item\nq,a\n", "1: no column for the grade; expected one of grade"),
}


@pytest.mark.parametrize(("text", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_a_solution_that_cannot_be_trusted_is_refused(text: str, told: str, tmp_path: Path) -> None:
    """With the file, the line and what was expected."""
    path = written(tmp_path, text)

    with pytest.raises(SolutionError) as caught:
        Solution.read(path)

    assert str(caught.value).startswith(f"{path}:")
    assert told in str(caught.value)


def test_queries_can_be_read_from_a_list(tmp_path: Path) -> None:
    """One id a line, blank lines left out."""
    assert Solution.read_queries(written(tmp_path, "q1\n\n q2 \r\n")).queries.to_pylist() == ["q1", "q2"]
    with pytest.raises(SolutionError, match="the file is empty"):
        Solution.read_queries(written(tmp_path, ""))


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    """So that anyone can check it with sha256sum."""
    path = written(tmp_path, "q:1:a|1\n")

    assert digest(path) == hashlib.sha256(path.read_bytes()).hexdigest()
