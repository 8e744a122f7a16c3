"""The test files of trec_eval: every measure that exists here too has the expected number."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from scorer.lists.solution import Solution
from scorer.measures import registry
from scorer.scoring.outcomes import Rules, Scored
from scorer.scoring.submission import score
from tests.paths import REAL_DATA

DATA = REAL_DATA / "trec_eval_test"

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"real data not found: {DATA} (SCORER_REAL_DATA names its folder)"),
]

NOT_HERE = ("runid", "relstring")
"""Texts, which only `scorer trec_eval` prints."""

Printed = Mapping[tuple[str, str], str]
"""By measure and query, or `all`."""


def expected(name: str) -> Printed:
    """The output of trec_eval."""
    rows = (line.split() for line in (DATA / name).read_text(encoding="utf-8").splitlines())
    return {(measure, query): value for measure, query, value in rows if not measure.startswith(NOT_HERE)}


def printed(theirs: Printed, qrels: str, results: str, rel: float | None, **rules: object) -> Printed:
    """The same measures, printed as in trec_eval."""
    solution = Solution.read(DATA / qrels)
    asked = registry.requested(list(dict.fromkeys(measure for measure, _ in theirs)))
    measures = tuple(measure if rel is None else measure.at_threshold(rel) for measure in asked.values())
    scored = score(solution, DATA / results, Rules(measures, nothing_relevant="zero", **rules))  # type: ignore[arg-type]
    assert isinstance(scored, Scored)
    columns = {query: scored.scores[:, place] for place, query in enumerate(solution.queries.to_pylist())}
    columns["all"] = scored.means()
    return {
        (name, query): f"{value:.0f}" if name.startswith("num_") else f"{value:.4f}"
        for query, values in columns.items()
        for name, value in zip(asked, values.tolist(), strict=True)
    }


@pytest.mark.parametrize(
    ("output", "qrels", "results", "rel", "rules"),
    [
        ("out.test", "qrels.test", "results.test", None, {}),
        ("out.test.a", "qrels.test", "results.test", None, {}),
        ("out.test.aq", "qrels.test", "results.test", None, {}),
        ("out.test.aqc", "qrels.test", "results.trunc", None, {}),
        ("out.test.aqcM", "qrels.test", "results.trunc", None, {"list_length": 100}),
        ("out.test.aql", "qrels.rel_level", "results.test", 2.0, {}),
    ],
)
def test_the_numbers_of_trec_eval(
    output: str, qrels: str, results: str, rel: float | None, rules: Mapping[str, object]
) -> None:
    """All printed digits of means, sums and each query are equal, also with -c, -M 100 and -l 2."""
    theirs = expected(output)
    got = printed(theirs, qrels, results, rel, **rules)

    assert {key: (got[key], value) for key, value in theirs.items() if got[key] != value} == {}
    assert len(theirs) > 20
