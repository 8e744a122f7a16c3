"""A page for each measure, generated from the registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from docs.examples import EXAMPLES, Example
from docs.peers import DIFFERENCES, PEERS
from scorer.cli.measures import remarks
from scorer.measures import KINDS, Kind, parse_one

OPTIONS = "[Options](../coming-from.md) set how missing queries, ties and the like are treated."

WIDTH = 68


def write_pages(folder: Path) -> None:
    """Write the pages and an index as Markdown."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return file name -> Markdown."""
    names = {f"{slug(kind)}.md": page(kind) for kind in KINDS}
    toctree = "\n".join(name.removesuffix(".md") for name in names)
    index = f"# Measures\n\n{_table()}\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    return {**names, "index.md": index}


def slug(kind: Kind) -> str:
    """Return the name of the page, which differs from all others regardless of case."""
    return kind.name.lower()


def page(kind: Kind) -> str:
    """Return the page of a measure: definition, edge cases, parameters, example, other names and source."""
    parameters = [
        f"| `{each.name}` | {each.about.description} | {each.allowed} | `{each.default}` |" for each in kind.parameters
    ]
    parts = [
        f"# {kind.name}: {kind.title}",
        f"`{kind.usage}`",
        kind.summary,
        _block(kind.formula),
        kind.edge_cases,
        "\n".join(f"- {remark}" for remark in remarks(kind)),
    ]
    if parameters:
        heads = "| parameter | meaning | allowed | default |\n|---|---|---|---|"
        parts += ["## Parameters", "\n".join([heads, *parameters])]
    parts += ["## Worked example", *_worked(EXAMPLES[kind.name])]
    if kind.aliases:
        parts += [
            "## Other names",
            "\n".join(f"- `{alias}`{_settled(settled)}" for alias, settled in kind.aliases.items()),
        ]
    parts += ["## In other tools", *_elsewhere(kind)]
    parts += ["## Source", kind.source]
    return "\n\n".join(parts) + "\n"


def _worked(example: Example) -> list[str]:
    """Return the list with its grades and the calculation of the score."""
    parts = []
    for query, listed in example.lists.items():
        grades = example.solution[query]
        if len(example.lists) > 1:
            parts.append(f"Query {query}:")
        rows = [f"| {rank} | {item} | {_grade(grades.get(item))} |" for rank, item in enumerate(listed, 1)]
        rows += [f"| not listed | {item} | {_grade(grades[item])} |" for item in grades if item not in listed]
        parts.append("\n".join(["| rank | item | grade |", "|---|---|---|", *rows]))
    return [*parts, example.working, _block(f"{example.measure} = {example.arithmetic} = {example.score:.4f}")]


def _block(text: str) -> str:
    """Return a block of text with lines that fit the page."""
    lines = fill(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return f"```text\n{lines}\n```"


def _grade(grade: float | None) -> str:
    return "not judged" if grade is None else f"{grade:g}"


def _elsewhere(kind: Kind) -> list[str]:
    """Return the names in other tools, with our spelling for equal scores, and the differences."""
    rows = [
        f"| {peer} | `{shown(theirs)}` | `{shown(ours)}` |"
        for peer, names in PEERS.items()
        for theirs, ours in names.items()
        if parse_one(ours.format(k=1, level=1)).kind is kind
    ]
    table = "\n".join(["| tool | name there | same score here |", "|---|---|---|", *rows])
    differences = "\n".join(f"- {difference}" for difference in DIFFERENCES.get(kind.name, ()))
    return [*([table, OPTIONS] if rows else []), differences]


def shown(template: str) -> str:
    """Return a name from the tables of peers as the pages show it."""
    return template.format(k="k", level="recall")


def _settled(parameters: Mapping[str, object]) -> str:
    return "".join(f", with `{name}={value}`" for name, value in parameters.items())


def _table() -> str:
    rows = [f"| [{kind.name}]({slug(kind)}.md) | {kind.title} | {kind.summary} |" for kind in KINDS]
    return "\n".join(["| | | |", "|---|---|---|", *rows])
