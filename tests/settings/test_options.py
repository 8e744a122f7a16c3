"""The words of each option: those of its type, in the same order, each with its meaning."""

from __future__ import annotations

from typing import get_args

import pytest

from scorer import options

OPTIONS = {name: value for name, value in vars(options).items() if isinstance(value, options.Option)}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_has_the_words_of_its_type(name: str) -> None:
    """Types and texts are in two files."""
    kind = getattr(options, name.title().replace("_", ""))

    assert tuple(OPTIONS[name].values) == get_args(kind)
    assert all(OPTIONS[name].values.values())
    assert OPTIONS[name].about
