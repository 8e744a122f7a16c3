"""The reference of what templates can use, generated from the classes of the context.

``python -m docs.templates`` writes it into ``docs/templates.md``.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from scorer.board.site import context, submit_page
from scorer.board.site.templates import FILTERS

FILE = Path(__file__).with_name("templates.md")

BEGIN, END = "<!-- generated: python -m docs.templates -->", "<!-- end of the generated part -->"

PAGES: tuple[type, ...] = (
    context.EveryPage,
    context.FrontPage,
    context.BoardPage,
    context.AnalysisPage,
    context.ReadingPage,
    context.RulesPage,
    context.LatePage,
    context.PastPage,
    context.TeamPages,
    context.MergedPage,
    context.MeasurePage,
    context.TimelinePage,
    context.VerificationPage,
    context.ErrataPage,
    context.ErratumPage,
    context.OwnPage,
    context.MissingPage,
    submit_page.SignInPage,
    submit_page.SubmitPage,
)
"""The classes whose fields are the names that a template can use."""

PACKAGES = (
    "scorer.board.board",
    "scorer.board.build",
    "scorer.board.reports.report_text",
    "scorer.board.site.",
    "scorer.board.statistics",
    "scorer.live.",
    "scorer.store.log",
)
"""Where the classes of the values are that the reference describes."""


def generated() -> str:
    """Return the generated part of the page as Markdown."""
    parts = ["## Pages", *(_page(each) for each in PAGES), "## Filters", _filters(), "## Values"]
    return "\n\n".join([*parts, *(_section(each, 3) for each in values())]) + "\n"


def values() -> list[type]:
    """Return the classes of the values in the contexts, in the order in which they are first mentioned."""
    found: dict[type, None] = {}
    waiting: list[type] = [*PAGES]
    while waiting:
        for mentioned in _mentioned(waiting.pop(0)):
            if mentioned not in found:
                found[mentioned] = None
                waiting.append(mentioned)
    return list(found)


def _mentioned(owner: type) -> Iterator[type]:
    """The classes of the project in the types of the attributes of a class."""
    hints = [hint for name, hint in get_type_hints(owner).items() if not name.startswith("_")]
    functions = [_function(member) for name, member in inspect.getmembers(owner) if not name.startswith("_")]
    hints += [get_type_hints(function).get("return") for function in functions if function is not None]
    for hint in hints:
        for each in _parts(hint):
            if isinstance(each, type) and is_dataclass(each) and each.__module__.startswith(PACKAGES):
                yield each


def _function(member: Any) -> Any:
    """The function of a property; None for other members."""
    return getattr(member, "fget", None) or getattr(member, "func", None)


def _parts(hint: Any) -> Iterator[Any]:
    """A type and the types in its brackets."""
    if get_origin(hint) is not ClassVar:
        yield hint
        for argument in get_args(hint):
            yield from _parts(argument)


def _page(page: type) -> str:
    text = _section(page, 3)
    template = getattr(page, "template", None)
    return text.replace("\n\n", f"\n\nTemplate: `{template}`. ", 1) if template else text


def _section(owner: type, level: int) -> str:
    """The description of a class and a table of its public attributes."""
    rows = [f"| `{name}` | `{kind}` | {text} |" for name, kind, text in attributes(owner)]
    table = "\n".join(["| name | type | what it is |", "|---|---|---|", *rows]) if rows else "No further names."
    return f"{'#' * level} {owner.__name__}\n\n{_plain(inspect.getdoc(owner) or '')}\n\n{table}"


def attributes(owner: type) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and description of each public field, property and method of a class."""
    for tree in ast.parse(dedent(inspect.getsource(owner))).body:
        if isinstance(tree, ast.ClassDef):
            yield from _fields(tree)
            yield from _properties(tree)


def _fields(tree: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind = ast.unparse(node.annotation)
            if not node.target.id.startswith("_") and not kind.startswith("ClassVar"):
                yield node.target.id, _cell(kind), _documentation(after)


def _properties(tree: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.returns:
            is_method = not any("property" in ast.unparse(each) for each in node.decorator_list)
            name = f"{node.name}({', '.join(each.arg for each in node.args.args[1:])})" if is_method else node.name
            yield name, _cell(ast.unparse(node.returns)), _plain(ast.get_docstring(node) or "")


def _documentation(node: ast.stmt | None) -> str:
    """The text of a string below a field."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return _plain(node.value.value)
    return ""


def _filters() -> str:
    rows = [f"| `{name}` | {_plain(inspect.getdoc(each) or '')} |" for name, each in FILTERS.items()]
    return "\n".join(["| filter | result |", "|---|---|", *rows])


def _plain(text: str) -> str:
    """The first paragraph of a docstring, on one line, as the cell of a table."""
    return _cell(" ".join(text.partition("\n\n")[0].split()).replace("``", "`"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def page() -> str:
    """Return the page with its generated part as it should be."""
    before, _, rest = FILE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n\n{generated()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
