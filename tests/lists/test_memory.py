"""Submissions in memory: dicts and frames that are read without a copy of each id have the result of other readers."""

from __future__ import annotations

import sys
from collections import ChainMap, OrderedDict, defaultdict
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from types import FrameType
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer import SubmissionError, evaluate
from scorer.errors import Findings
from scorer.lists import match
from scorer.lists.ranked_lists import RankedDicts
from scorer.lists.reading import arrow, memory
from scorer.lists.solution import Solution
from scorer.measures import Measure, parse
from scorer.measures.matched import JudgedItems, Matched
from scorer.options import MISSING, NOTHING_RELEVANT, TIES, UNJUDGED
from scorer.scoring.evaluation import _score_table
from scorer.scoring.outcomes import Rejected, Rules, Scored
from tests import strategies

MEASURES = tuple(measure for name in ("nDCG", "RR", "P@2") for measure in parse(name))


class Colour(str, Enum):  # noqa: UP042 (the text of a StrEnum is its value)
    """Ids whose text is not what their type inherits."""

    RED = "a"


PLAIN_SCORES = (0.0, -0.0, 0.5, 0.5, 1, 1.0, -3, 2**53, 2**53 + 1, np.float64(0.5), np.float32(0.1), np.int64(1), 1e308)
BAD_SCORES = (float("nan"), float("inf"), True, None, "1.5", "x", 10**400, Decimal("0.5"), np.bool_(True), [1.0], 1j)
PLAIN_IDS = (*strategies.ITEMS, *strategies.JUNK, "", "é", "日本", "\U0001f600", "a\0", "?")
SPELLED_IDS = ("e\u0301", "\u0301", "a\u200b", "\u212b", "\u00a0")
"""Not in Unicode's form NFC, with an invisible character, or with a space that is not that of ASCII."""
BAD_IDS = (1, "1", True, np.str_("a"), Colour.RED, "\ud800", "\ud83d", "\ude00", None, 1.5, b"a", ("a",))


def lists(ids: tuple[Any, ...], scores: tuple[Any, ...], *unknown: str) -> st.SearchStrategy[dict[Any, Any]]:
    """Dicts of dicts with these ids and run scores; queries may be unknown, and lists may be empty."""
    queries = st.sampled_from([*strategies.QUERIES, "unknown", "é", *unknown])
    return st.dictionaries(queries, st.dictionaries(st.sampled_from(ids), st.sampled_from(scores), max_size=12))


def rules() -> st.SearchStrategy[Rules]:
    """Any rules for submissions in memory."""
    words = {
        option.name: st.sampled_from(tuple(option.values)) for option in (TIES, MISSING, NOTHING_RELEVANT, UNJUDGED)
    }
    return st.builds(Rules, st.just(MEASURES), tie_bounds=st.booleans(), **words)


def solution_of(grades: strategies.Solution, *ids: str) -> Solution:
    """Return the solution with these grades, and with two items whose ids are not ASCII, and those given."""
    whole = {**grades, "q1": {"c": 2.0, "é": 1.0, "?": 1.0, **grades.get("q1", {}), **dict.fromkeys(ids, 1.0)}}
    return Solution.of([memory.graded_of(whole, Findings())], Findings())


def described(solution: Solution, source: object, rules: Rules) -> object:
    """Return everything that the outcome of a submission consists of, as plain values."""
    outcome = _score_table(solution, source, rules)  # type: ignore[arg-type]
    if isinstance(outcome, Rejected):
        return outcome.problems.lines()
    assert isinstance(outcome, Scored)
    matches = [outcome.matched, *(outcome.matched.extremes or ())]
    scores = [outcome.scores, *(outcome.extremes or ())]
    return (
        [plain_match(each) for each in matches],
        [each.tobytes() for each in scores],
        outcome.counts,
        outcome.notes.lines(),
        outcome.notes.count,
    )


def plain_match(matched: Matched) -> object:
    """Return the arrays of a match as lists."""
    assert matched.answered is not None
    return plain_items(matched.found), matched.retrieved.tolist(), matched.answered.tolist()


def plain_items(items: JudgedItems) -> object:
    """Return the arrays of judged items as lists."""
    tied = None if items.tied is None else (items.tied.before.tolist(), items.tied.size.tolist())
    return items.query.tolist(), items.rank.tolist(), items.grade.tolist(), items.tie_rank.tolist(), tied


def described_by_the_general_reader(solution: Solution, source: object, rules: Rules) -> object:
    """Return the outcome of reading all ids and run scores as Arrow arrays first."""
    with patch.object(RankedDicts, "of", lambda *_: None):
        return described(solution, source, rules)


@strategies.examples(100)
@given(strategies.solutions(), lists(PLAIN_IDS, PLAIN_SCORES), st.booleans(), rules())
def test_dicts_of_plain_ids_have_the_outcome_of_the_general_reader(
    grades: strategies.Solution, source: dict[str, Any], is_whole: bool, rules: Rules
) -> None:
    """Matches, scores, counts, notes and problems, under every rule, with ties and any order of the items, also with
    lists for exactly the queries of the solution.
    """
    solution = solution_of(grades)
    if is_whole:
        source = {query: source.get(query) or {"c": 0.5, "x": 0.5} for query in solution.queries.to_pylist()}

    joined = ["".join(each) for each in (source, *source.values())]
    assert (RankedDicts.of(source, solution) is not None) == (
        bool(source) and all(each.isascii() or each.isprintable() for each in joined)
    )
    assert described(solution, source, rules) == described_by_the_general_reader(solution, source, rules)


@strategies.examples(100)
@given(
    strategies.solutions(),
    st.sets(st.sampled_from(SPELLED_IDS), max_size=1),
    lists(PLAIN_IDS + SPELLED_IDS, PLAIN_SCORES, "q1\u200b") | lists(PLAIN_IDS + BAD_IDS, PLAIN_SCORES + BAD_SCORES),
    rules(),
)
def test_other_dicts_have_the_outcome_of_the_general_reader(
    grades: strategies.Solution, judged: set[str], source: dict[Any, Any], rules: Rules
) -> None:
    """Ids that are not text, or not in UTF-8, or equal to others as text or in another spelling; scores that are not
    finite numbers.
    """
    solution = solution_of(grades, *judged)

    assert described(solution, source, rules) == described_by_the_general_reader(solution, source, rules)


@strategies.examples(100)
@given(strategies.solutions(), st.lists(lists(PLAIN_IDS, PLAIN_SCORES), max_size=3), strategies.measures())
def test_a_kept_solution_gives_each_submission_the_scores_of_a_fresh_one(
    grades: strategies.Solution, sources: list[dict[str, Any]], measure: Measure
) -> None:
    """What it keeps depends on the judgements and on the measure, never on an earlier submission."""
    kept, by_measure = solution_of(grades), Rules((measure,))

    for source in sources:
        assert described(kept, source, by_measure) == described(solution_of(grades), source, by_measure)


@pytest.mark.parametrize("bad", BAD_IDS, ids=repr)
def test_ids_that_need_conversion_are_left_to_the_general_reader(bad: object) -> None:
    """As the id of an item and as that of a query."""
    solution = solution_of({"q1": {"a": 1.0}})

    assert (RankedDicts.of({"q1": {bad: 1.0}}, solution) is None) == (bad != "1")
    assert (RankedDicts.of({bad: {"a": 1.0}}, solution) is None) == (bad != "1")


@pytest.mark.parametrize("bad", BAD_SCORES, ids=lambda bad: repr(bad)[:12])
def test_scores_that_need_a_message_are_left_to_the_general_reader(bad: object) -> None:
    """It reports them, or converts them."""
    assert RankedDicts.of({"q1": {"a": 1.0, "b": bad}}, solution_of({"q1": {"a": 1.0}})) is None


@pytest.mark.parametrize(
    "source",
    [{"q1": ["a"]}, {"q1": ChainMap({"a": 1.0})}, {"q1": OrderedDict(a=1.0)}, [("q1", "a", 1.0)], {}],
    ids=repr,
)
def test_anything_but_plain_dicts_of_run_scores_is_left_to_the_general_reader(source: object) -> None:
    """A subclass of dict may give other values than it holds."""
    assert RankedDicts.of(source, solution_of({"q1": {"a": 1.0}})) is None


def test_any_mapping_may_hold_the_lists() -> None:
    """As pytrec_eval's readers return them."""
    source = defaultdict(dict, {"q1": {"a": 1.0, "b": 2.0}})

    assert RankedDicts.of(source, solution_of({"q1": {"a": 1.0}})) is not None
    assert evaluate({"q1": {"a": 1}}, source, "RR")["RR"] == 0.5


def test_a_score_beyond_floating_point_numbers_is_reported() -> None:
    """It is no finite number."""
    with pytest.raises(SubmissionError, match="not every score is a number"):
        evaluate({"q1": {"a": 1}}, {"q1": {"a": 10**400}}, "RR")


MESSAGES = {match.difference, match._spelled_alike, match.short_lists}
"""What only messages need, besides arrays of Arrow."""


def called(work: Callable[[], object]) -> set[str]:
    """The functions that a call used of those for messages and of those that make arrays of Arrow."""
    found, codes = set(), {each.__code__ for each in MESSAGES}

    def look(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and (frame.f_code in codes or frame.f_code.co_filename == arrow.__file__):
            found.add(frame.f_code.co_name)

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("name", ["q", "é"])
def test_a_call_that_finds_nothing_to_say_costs_no_message(name: str) -> None:
    """Neither with unknown queries, missing ones, empty lists and tied items of which none is judged."""
    solution = Solution.read({name: {"a": 1, "é": 2}, "q2": {"a": 1}, "q3": {"b": 0}})
    run = {name: {"a": 3.0, "é": 2.0, "x": 1.0, "y": 1.0}, "q2": {}, "other": {"a": 1.0}}
    evaluate(solution, run, ["AP", "nDCG"])

    assert called(lambda: evaluate(solution, run, ["AP", "nDCG"])) == set()
    assert called(lambda: evaluate(solution, {"q2.0": {"a": 1.0}, **run}, "AP")) >= {"texts"}


# Frames

TEXTS = st.sampled_from([*strategies.ITEMS, "é", ""])
COLUMNS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "texts": (TEXTS, "str"),
    "texts of pandas 2": (TEXTS, object),
    "texts or nothing": (TEXTS | st.none(), "str"),
    "categories": (TEXTS, "category"),
    "categories or nothing": (TEXTS | st.none(), "category"),
    "categories of numbers": (st.integers(0, 9), "category"),
    "categories of fractions": (st.sampled_from([0.5, 1.5]), "category"),
    "whole numbers": (st.integers(0, 9), "int64"),
    "small whole numbers": (st.integers(0, 9), "uint8"),
    "whole numbers or nothing": (st.integers(0, 9) | st.none(), "Int64"),
    "texts of Arrow": (TEXTS, pd.ArrowDtype(pa.large_string())),
    "whole numbers of Arrow": (st.integers(0, 9), pd.ArrowDtype(pa.int32())),
    "booleans": (st.booleans(), "bool"),
    "booleans of Arrow": (st.booleans(), pd.ArrowDtype(pa.bool_())),
    "fractions": (st.sampled_from([0.5, 1.0]), "float64"),
    "times": (st.just("2011-04-18"), "datetime64[ns]"),
    "anything": (st.sampled_from(PLAIN_IDS + BAD_IDS), object),
}


@pytest.mark.parametrize("name", COLUMNS)
@strategies.examples(10)
@given(data=st.data())
def test_columns_of_pandas_have_the_outcome_of_their_values(name: str, data: st.DataObject) -> None:
    """For every type, also with missing values, a single row or none."""
    values, kind = COLUMNS[name]
    listed = data.draw(st.lists(values, max_size=6, unique_by=repr))
    frame = pd.DataFrame({"item": pd.Series(listed, dtype=object).astype(kind), "score": np.arange(len(listed))})
    frame["query"] = "q1"
    solution = solution_of({"q1": {"1": 1.0, "a": 2.0}})
    rules = Rules(MEASURES)

    outcome = described(solution, frame, rules)

    with patch.object(memory, "arrow_ids", lambda _: None):
        assert described(solution, frame, rules) == outcome


@pytest.mark.parametrize("name", ["texts", "categories", "categories of numbers", "whole numbers", "texts of Arrow"])
def test_columns_of_ids_are_read_without_a_python_object_for_each(name: str) -> None:
    """Their values are in Arrow's or numpy's arrays already."""
    kind = COLUMNS[name][1]
    column = pd.Series([1, 2, 1] if "numbers" in name else ["a", "b", "a"]).astype(kind)

    if pd.Series(["a"]).astype(COLUMNS["texts"][1]).dtype == object and name in {"texts", "categories"}:
        pytest.skip("texts are objects before pandas 3")
    assert memory.arrow_ids(column) is not None
