"""The reference of the library, a page for each public name, generated from the docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import scorer
from docs.api_examples import EXAMPLES
from scorer.board.charts.panel import Chart
from scorer.errors import Findings
from scorer.lists import Counts
from scorer.measures.matched import JudgedItems, Matched
from scorer.scoring.analysis.agreement import Coefficient, JudgedRun, Swap
from scorer.scoring.analysis.compare import DecisiveCase, Pair, Power
from scorer.wording import Tabular

RESULTS: tuple[type, ...] = (
    *(Pair, Power, DecisiveCase, Coefficient, JudgedRun, Swap),
    *(Counts, Findings, Tabular, Chart, Matched, JudgedItems),
)
"""Classes of values in results; they are documented, and no user makes one."""

MEMBERS = {
    "Chart": ("title", "description", "svg"),
    "Challenge": ("name", "tracks", "track"),
    "Findings": ("count", "lines", "shown"),
    "JudgedItems": ("query", "rank", "grade", "relevant", "top"),
    "Matched": ("found", "ideal", "retrieved", "queries", "total", "relevant_items"),
    "Measure": ("full", "mean_name", "cutoff", "threshold", "bounded", "at_threshold"),
    "Solution": ("read", "queries", "items", "flagged"),
}
"""The public members of classes that have others, which may change with any version."""

SECTION = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)


def documented() -> dict[str, Any]:
    """Return the public names and the classes of results, with what they mean."""
    return {name: getattr(scorer, name) for name in scorer.__all__} | {each.__name__: each for each in RESULTS}


def pages() -> dict[str, str]:
    """Return the Markdown of each page by file name."""
    names = documented()
    toctree = "\n".join(map(slug, names))
    groups: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for name, value in names.items():
        row = f"| [{name}]({slug(name)}.md) | {_summary(value)} |"
        groups[_group(value)].append(row)
    tables = [f"## {group}\n\n| | |\n|---|---|\n" + "\n".join(rows) for group, rows in groups.items()]
    intro = "Everything below is `scorer.<name>`, except for the classes of values in results."
    index = "\n\n".join(["# Python library", intro, *tables, f"```{{toctree}}\n:hidden:\n\n{toctree}\n```"])
    return {f"{slug(name)}.md": page(name, value) for name, value in names.items()} | {"index.md": f"{index}\n"}


def slug(name: str) -> str:
    """Return the file name of a page, without extension; names are unique also where case is ignored."""
    return f"{name}-function" if name != name.title() and name.title() in scorer.__all__ else name.lower()


def page(name: str, value: Any) -> str:
    """Return the page of a public name: what it is, parameters or members, errors, and an example."""
    parts = [f"# {name}"]
    if inspect.isroutine(value):
        parts += [_signature(f"scorer.{name}", value), *_text(value)]
    else:
        base = value.__base__.__name__
        inherited = f"A [{base}]({slug(base)}.md)." if base in documented() else ""
        parts += [*_text(value), *([inherited] if inherited else []), *_members(name, value)]
    return "\n\n".join([*parts, "## Example", f"```pycon\n{example(name, value)}```"]) + "\n"


def example(name: str, value: Any) -> str:
    """Return the example of a public name, as a doctest: that of its docstring, or that of `EXAMPLES`."""
    text = _sections(value).get("Examples")
    return f"{text.strip()}\n" if text else EXAMPLES[name]


def members(name: str, value: Any) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name of each public attribute or method of a class, how it is written, its type, and what it is."""
    if not inspect.isclass(value):
        return
    for written, kind, text in attributes(value):
        member = written.partition("(")[0]
        if member in MEMBERS.get(name, (member,)):
            yield member, written.replace("(cls, ", "("), kind, text


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


def _plain(text: str) -> str:
    """The first paragraph of a docstring, on one line, as the cell of a table."""
    return _cell(" ".join(text.partition("\n\n")[0].split()).replace("``", "`"))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _members(name: str, value: type) -> Iterator[str]:
    found = list(members(name, value))
    if found:
        rows = [f"| `{written}` | `{kind}` | {text} |" for _, written, kind, text in found]
        yield "## Attributes and methods"
        yield "\n".join(["| name | type | what it is |", "|---|---|---|", *rows])
    if name in MEMBERS:
        yield "Other attributes are internal: they may change with any version."
    for member, *_ in found:
        function = getattr(value, member, None)
        if inspect.isroutine(function) and len(_sections(function)) > 1:
            yield f"### {name}.{member}"
            yield _signature(f"{name}.{member}", function)
            yield from _text(function)


def _group(value: Any) -> str:
    if inspect.isclass(value):
        return "Errors" if issubclass(value, Exception) else "Classes"
    return "Functions"


def _sections(value: Any) -> dict[str, str]:
    """Return the sections of a docstring by their titles; the text before them has the title ""."""
    first, *rest = SECTION.split(inspect.getdoc(value) or "")
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def _summary(value: Any) -> str:
    return _markdown(" ".join(_sections(value)[""].partition("\n\n")[0].split()))


def _markdown(text: str) -> str:
    return text.replace("``", "`")


def _text(value: Any) -> Iterator[str]:
    """The text of a docstring, and its sections but for the examples."""
    for title, text in _sections(value).items():
        if title == "":
            yield _markdown(text.strip())
        elif title != "Examples":
            yield f"**{title}**"
            yield "\n".join(_entries(_markdown(text), is_code=title != "Returns"))


def _entries(text: str, *, is_code: bool) -> Iterator[str]:
    """The entries of a section, each as an item of a list."""
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, _, body = entry.partition("\n")
        names = ", ".join(f"`{each}`" for each in head.split(", ")) if is_code else head
        yield f"- {names}: {' '.join(body.split())}" if body else f"- {head}"


def _signature(name: str, function: Any) -> str:
    """The call of a function, a line for each parameter if it is long."""
    parameters: list[str] = []
    for each in inspect.signature(function).parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        stars = "*" if each.kind == each.VAR_POSITIONAL else "**" if each.kind == each.VAR_KEYWORD else ""
        default = "" if each.default is each.empty else f"={each.default!r}"
        parameters.append(f"{stars}{each.name}{default}")
    line = f"{name}({', '.join(parameters)})"
    if len(line) > 88:
        line = "\n".join([f"{name}(", *(f"    {parameter}," for parameter in parameters), ")"])
    return f"```text\n{line}\n```"
