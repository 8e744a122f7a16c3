"""Running examples as Python's prompt shows them."""

from __future__ import annotations

import doctest
from io import StringIO


def failures_of(text: str, name: str) -> str:
    """Run a doctest; return what differs from the output that it shows, empty if nothing does.

    White space at the end of a line does not count, since tables of pandas have it.
    """
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert test.examples, f"{name} has no example"
    report = StringIO()
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.write)
    return report.getvalue()
