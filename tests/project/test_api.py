"""The reference of the library: each public name has a page, and an example that runs and uses all of its members."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest

import scorer
from docs.api import MEMBERS, documented, example, members, pages, slug
from docs.api_examples import EXAMPLES
from tests.examples import failures_of

NAMES = documented()


def sources(text: str) -> str:
    """The code of a doctest, without what it prints."""
    return "".join(each.source for each in doctest.DocTestParser().get_examples(text))


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line prints what the page shows."""
    monkeypatch.chdir(tmp_path)

    assert failures_of(example(name, NAMES[name]), name) == ""


@pytest.mark.parametrize("name", scorer.__all__)
def test_the_example_of_a_public_name_uses_it(name: str) -> None:
    """As ``scorer.<name>``, or it is the class of what another public name returns."""
    code = sources(example(name, NAMES[name]))
    returned = {
        "Challenge": "scorer.read_challenge(",
        "Comparison": "scorer.compare(",
        "Evaluation": "scorer.evaluate(",
        "Evaluations": "scorer.evaluate(",
        "JudgeAgreement": "scorer.agree(",
        "Measure": "scorer.parse(",
        "Overlaps": "scorer.overlap(",
        "Tuning": "scorer.tune(",
    }

    assert returned.get(name, f"scorer.{name}") in code


@pytest.mark.parametrize("name", NAMES)
def test_an_example_uses_every_member_of_its_class(name: str) -> None:
    """Attributes and methods, but for those that the page leaves out."""
    used = {
        node.attr
        for node in ast.walk(ast.parse(sources(example(name, NAMES[name]))))
        if isinstance(node, ast.Attribute)
    }

    assert {member for member, *_ in members(name, NAMES[name])} <= used


def test_the_table_of_members_names_members_that_exist() -> None:
    """A renamed attribute does not vanish from its page."""
    for name, chosen in MEMBERS.items():
        assert {member for member, *_ in members(name, NAMES[name])} == set(chosen)


@pytest.mark.parametrize("name", NAMES)
def test_every_member_has_a_description(name: str) -> None:
    """A docstring below the attribute, or that of the method."""
    assert all(text for *_, text in members(name, NAMES[name]))


def test_no_example_is_left_over() -> None:
    """Each belongs to a documented name whose docstring has none."""
    assert set(EXAMPLES) <= set(NAMES)
    assert all("Examples\n--------" not in (NAMES[name].__doc__ or "") for name in EXAMPLES)


def test_pages_have_distinct_names_and_descriptions() -> None:
    """Also where case is ignored; the list of pages has each."""
    index = pages()["index.md"]

    assert len({slug(name) for name in NAMES}) == len(NAMES)
    for name in NAMES:
        assert f"| [{name}]({slug(name)}.md) | " in index
        assert f"| [{name}]({slug(name)}.md) |  |" not in index


def test_a_page_has_the_parameters_the_errors_and_the_signature_of_a_function() -> None:
    """From the docstring and the function."""
    text = pages()["evaluate.md"]

    assert "measures=('nDCG@10', 'AP', 'RR', 'P@10', 'R@100')," in text
    assert "- `per_query`: Whether to give the scores of each query" in text
    assert "- `SubmissionsError`: Some of several submissions" in text
    assert ">>> scorer.evaluate(" in text
    assert "### Solution.read" in pages()["solution.md"]
