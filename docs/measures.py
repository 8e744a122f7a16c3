"""A page for each measure, made from the registry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from docs.examples import EXAMPLES, Example
from docs.peers import DIFFERENCES, PEERS
from scorer.cli.measures import remarks
from scorer.measures import KINDS, Kind, parse_one

OPTIONS = "What a tool does with missing queries, ties and the like is set by [options](../coming-from.md)."

WIDTH = 68


def write_pages(folder: Path) -> None:
    """Write the pages, and one that lists them, as Markdown."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """File name -> Markdown."""
    names = {f"{slug(kind)}.md": page(kind) for kind in KINDS}
    toctree = "\n".join(name.removesuffix(".md") for name in names)
    index = f"# Measures\n\n{_table()}\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"
    return {**names, "index.md": index}


def slug(kind: Kind) -> str:
    """A file name that differs from all others also where case does not count: ``R`` and ``RR`` are two, `r` is not."""
    return kind.name.lower()


def page(kind: Kind) -> str:
    """One measure: what it is, its parameters, edge cases, an example, other names, and where it comes from."""
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
        heads = "| parameter | what it says | allowed | without it |\n|---|---|---|---|"
        parts += ["## Parameters", "\n".join([heads, *parameters])]
    parts += ["## An example worked by hand", *_worked(EXAMPLES[kind.name])]
    if kind.aliases:
        parts += [
            "## Also written",
            "\n".join(f"- `{alias}`{_settled(settled)}" for alias, settled in kind.aliases.items()),
        ]
    parts += ["## In other tools", *_elsewhere(kind)]
    parts += ["## Source", kind.source]
    return "\n\n".join(parts) + "\n"


def _worked(example: Example) -> list[str]:
    """The list with its grades, and the way from there to the score."""
    parts = []
    for query, listed in example.lists.items():
        grades = example.solution[query]
        if len(example.lists) > 1:
            parts.append(f"Query {query}:")
        rows = [f"| {place} | {item} | {_grade(grades.get(item))} |" for place, item in enumerate(listed, 1)]
        rows += [f"| not listed | {item} | {_grade(grades[item])} |" for item in grades if item not in listed]
        parts.append("\n".join(["| place | item | grade |", "|---|---|---|", *rows]))
    return [*parts, example.working, _block(f"{example.measure} = {example.arithmetic} = {example.score:.4f}")]


def _block(text: str) -> str:
    """Set apart, in lines that the pages are wide enough for."""
    lines = fill(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return f"```text\n{lines}\n```"


def _grade(grade: float | None) -> str:
    return "not judged" if grade is None else f"{grade:g}"


def _elsewhere(kind: Kind) -> list[str]:
    """Its names in other tools, with our spelling of equal numbers, and the differences in words."""
    rows = [
        f"| {peer} | `{placed(theirs)}` | `{placed(ours)}` |"
        for peer, names in PEERS.items()
        for theirs, ours in names.items()
        if parse_one(ours.format(k=1, level=1)).kind is kind
    ]
    table = "\n".join(["| tool | there | the same number here |", "|---|---|---|", *rows])
    differences = "\n".join(f"- {difference}" for difference in DIFFERENCES.get(kind.name, ()))
    return [*([table, OPTIONS] if rows else []), differences]


def placed(template: str) -> str:
    """A name out of the peers' tables as the pages have it."""
    return template.format(k="k", level="recall")


def _settled(parameters: Mapping[str, object]) -> str:
    return "".join(f", with `{name}={value}`" for name, value in parameters.items())


def _table() -> str:
    rows = [f"| [{kind.name}]({slug(kind)}.md) | {kind.title} | {kind.summary} |" for kind in KINDS]
    return "\n".join(["| | | |", "|---|---|---|", *rows])
